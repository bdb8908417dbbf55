// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of triggers share. See psi_trigger_util.h.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "psi_trigger_util.h"

/* ---- making triggers ---- */

static void undo(void)
{
	close_range(3, ~0U, 0);
}

int open_pressure(const char *path, int flags)
{
	int fd = open(path, flags);

	undo_later(undo);
	return fd < 0 ? -errno : fd;
}

/* Takes CAP_SYS_RESOURCE out of what is effective, or puts it back there. */
static void set_privilege(bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		ksft_exit_fail_perror("capget");
	if (on)
		data[0].effective |= 1U << CAP_SYS_RESOURCE;
	else
		data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &head, data))
		ksft_exit_fail_perror("capset");
}

int open_unprivileged(const char *path, int flags)
{
	int fd;

	set_privilege(false);
	fd = open_pressure(path, flags);
	set_privilege(true);
	return fd;
}

int write_trigger(int fd, const void *text, size_t length)
{
	ssize_t n = write(fd, text, length);

	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

int open_trigger(const char *path, const char *text)
{
	int fd = open_pressure(path, O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return fd;
	ret = write_trigger(fd, text, strlen(text) + 1);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int must_open_trigger(const char *path, bool privileged, const char *format, ...)
{
	int fd = privileged ? open_pressure(path, O_RDWR) :
			      open_unprivileged(path, O_RDWR);
	char text[64];
	va_list args;
	int ret;

	EXPECT(fd >= 0, "open: %d", fd);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ret = write_trigger(fd, text, strlen(text) + 1);
	EXPECT(!ret, "%s: %d", text, ret);
	return fd;
}

/* ---- waiting for events ---- */

int poll_event(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	return poll(&p, 1, ms) > 0 ? p.revents : 0;
}

void note_event(struct events *events, __u64 now)
{
	if (events->count == MAX_EVENTS)
		ksft_exit_fail_msg("more than %d events\n", MAX_EVENTS);
	events->at[events->count++] = now;
}

/* Until an event or @end. */
static int poll_until(struct pollfd *polls, unsigned int nr, __u64 end)
{
	__u64 now = now_ns();
	struct timespec left;

	if (now >= end)
		return 0;
	left.tv_sec = (end - now) / NSEC_PER_SEC;
	left.tv_nsec = (end - now) % NSEC_PER_SEC;
	return ppoll(polls, nr, &left, NULL);
}

void watch_events(const int *fds, unsigned int nr, __u64 end,
		  struct events *events)
{
	struct pollfd polls[8];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		polls[i] = (struct pollfd){ .fd = fds[i], .events = POLLPRI };
		events[i].count = 0;
	}
	be_realtime(URGENT);
	while (poll_until(polls, nr, end) > 0)
		for (i = 0; i < nr; i++)
			if (polls[i].revents & POLLPRI)
				note_event(&events[i], now_ns());
	be_realtime(0);
}

void count_events(int fd, unsigned int ms, struct events *events)
{
	watch_events(&fd, 1, now_ns() + ms * NSEC_PER_MSEC, events);
}

double shortest_gap(const struct events *events)
{
	double gap, shortest = 1e9;
	unsigned int i;

	for (i = 1; i < events->count; i++) {
		gap = (events->at[i] - events->at[i - 1]) / 1e6;
		if (gap < shortest)
			shortest = gap;
	}
	return shortest;
}

/* ---- load ---- */

void contend(int cpu)
{
	start_load(cpu, spin, NULL);
	start_load(cpu, spin, NULL);
}

int contended_trigger(void)
{
	contend(0);
	return must_open_trigger(psi_path(PSI_CPU), true, "some 100000 500000");
}

struct bursts {
	__u64 start;
	unsigned int ms, period_ms;
};

/*
 * The end of a burst is a moment, not an amount of CPU time. So two of these
 * contend until then, however the scheduler lets them take turns.
 */
static void burst(void *arg)
{
	const struct bursts *b = arg;
	__u64 next = b->start;

	for (;;) {
		sleep_until(next);
		spin_until(next + b->ms * NSEC_PER_MSEC);
		next += b->period_ms * NSEC_PER_MSEC;
	}
}

void contend_in_bursts(int cpu, __u64 start, unsigned int ms,
		       unsigned int period_ms)
{
	struct bursts b = { start, ms, period_ms };

	start_load(cpu, burst, &b);
	start_load(cpu, burst, &b);
}

void stall_on(int cpu, const char *disk, unsigned int ms)
{
	pid_t reader = start_load(cpu, read_disk, (void *)disk);

	sleep_ms(ms);
	stop_load(reader);
}

/* ---- the kernel's side ---- */

struct pollers find_pollers(void)
{
	static const char * const names[] = { "psi_poll", "psi_poll_user", "psimon" };
	struct pollers pollers = { 0 };
	pid_t pids[64];
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		n = find_tasks(names[i], pids, ARRAY_SIZE(pids));
		pollers.count += n;
		while (n--)
			pollers.switches += voluntary_switches(pids[n]);
	}
	return pollers;
}

unsigned long switches_during(unsigned int ms)
{
	struct pollers before, after;

	before = find_pollers();
	sleep_ms(ms);
	after = find_pollers();
	psi_note("%u threads, %lu switches", after.count,
		 after.switches - before.switches);
	REQUIRE(before.count, "no thread that looks at triggers");
	EXPECT(before.count <= MAX_POLLERS && after.count == before.count,
	       "too many threads");
	return after.switches - before.switches;
}
