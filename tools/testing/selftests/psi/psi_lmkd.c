// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for memory pressure as lmkd does, Android's low memory killer: three
 * monitors, written with the NUL that ends the text, in one epoll. An event has
 * it look around every 10 ms for as long as a window, and a further event begins
 * that anew.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>

#include "psi_trigger_util.h"

#define MEMORY		"/proc/pressure/memory"
#define WINDOW_MS	1000
#define POLL_MS		10
#define WATCH_MS	10000

static const char * const monitors[] = {
	"some 70000 1000000",
	"some 100000 1000000",
	"full 70000 1000000",
};

#define NR_MONITORS	ARRAY_SIZE(monitors)

struct lmkd {
	int epoll;
	__u64 polling_until;
	unsigned int events[NR_MONITORS];
	unsigned int polls, errors;
};

static void add_monitor(struct lmkd *d, unsigned int level)
{
	struct epoll_event event = { .events = EPOLLPRI, .data.u32 = level };
	int fd = open_pressure(MEMORY, O_WRONLY | O_CLOEXEC);
	int ret;

	EXPECT(fd >= 0, "open: %d", fd);
	ret = write_trigger(fd, monitors[level], strlen(monitors[level]) + 1);
	EXPECT(!ret, "\"%s\": %d", monitors[level], ret);
	EXPECT(!epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event),
	       "epoll_ctl: %s", strerror(errno));
}

/* It runs ahead of all that is ordinary. */
static struct lmkd new_lmkd(void)
{
	struct sched_param param = { .sched_priority = 1 };
	struct lmkd d = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
	unsigned int level;

	for (level = 0; level < NR_MONITORS; level++)
		add_monitor(&d, level);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
	return d;
}

/* What it decides by, when there is pressure. */
static void look_around(struct lmkd *d)
{
	static char text[1 << 16];

	d->polls++;
	if (read_text("/proc/meminfo", text, sizeof(text)) <= 0 ||
	    read_text("/proc/vmstat", text, sizeof(text)) <= 0 ||
	    read_text("/proc/zoneinfo", text, sizeof(text)) <= 0)
		d->errors++;
}

static void handle(struct lmkd *d, const struct epoll_event *event)
{
	if (event->events & (EPOLLERR | EPOLLHUP)) {
		d->errors++;
		return;
	}
	d->events[event->data.u32]++;
	d->polling_until = now_ns() + WINDOW_MS * NSEC_PER_MSEC;
}

static unsigned int timeout_ms(const struct lmkd *d, __u64 now, __u64 end)
{
	if (now < d->polling_until)
		return POLL_MS;
	return (end - now) / NSEC_PER_MSEC + 1;
}

static void run_lmkd(struct lmkd *d, unsigned int ms)
{
	__u64 end = now_ns() + ms * NSEC_PER_MSEC;
	struct epoll_event events[NR_MONITORS];
	__u64 now;
	int i, n;

	while ((now = now_ns()) < end) {
		n = epoll_wait(d->epoll, events, NR_MONITORS,
			       timeout_ms(d, now, end));
		for (i = 0; i < n; i++)
			handle(d, &events[i]);
		if (n || now_ns() < d->polling_until)
			look_around(d);
	}
	psi_note("%u, %u and %u events, looked around %u times", d->events[0],
		 d->events[1], d->events[2], d->polls);
}

static void be_ordinary(void)
{
	struct sched_param param = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_OTHER, &param);
}

/* Under a load that stalls for more of the time than any monitor asks for. */
static enum psi_result thrashing(void)
{
	unsigned int level;
	struct lmkd d;

	REQUIRE(start_thrashing(), "needs the memory controller and zram");
	d = new_lmkd();
	run_lmkd(&d, WATCH_MS);
	be_ordinary();
	EXPECT(!d.errors, "%u errors", d.errors);
	for (level = 0; level < NR_MONITORS; level++) {
		EXPECT(d.events[level] >= WATCH_MS / WINDOW_MS - 3,
		       "too few events of \"%s\"", monitors[level]);
		/* The first window has begun a little earlier. */
		EXPECT(d.events[level] <= WATCH_MS / WINDOW_MS + 1,
		       "too many events of \"%s\"", monitors[level]);
	}
	return PSI_PASS;
}

static enum psi_result at_ease(void)
{
	struct lmkd d = new_lmkd();
	unsigned int level;

	run_lmkd(&d, WATCH_MS);
	be_ordinary();
	EXPECT(!d.errors, "%u errors", d.errors);
	for (level = 0; level < NR_MONITORS; level++)
		EXPECT(!d.events[level], "events of \"%s\"", monitors[level]);
	EXPECT(!d.polls, "it was not at rest");
	return PSI_PASS;
}

/* Pressure comes and goes under monitors that stay. */
static enum psi_result afterwards(void)
{
	struct lmkd d;

	REQUIRE(start_thrashing(), "needs the memory controller and zram");
	d = new_lmkd();
	run_lmkd(&d, 3000);
	be_ordinary();
	EXPECT(d.events[0] && d.events[1] && d.events[2], "too few events");
	stop_all_loads();
	/* An event may have been held back for a window. */
	run_lmkd(&d, 2 * WINDOW_MS);
	memset(d.events, 0, sizeof(d.events));
	d.polls = 0;
	run_lmkd(&d, 5000);
	EXPECT(!d.events[0] && !d.events[1] && !d.events[2],
	       "events without pressure");
	EXPECT(d.polls <= WINDOW_MS / POLL_MS, "it does not come to rest");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-12 lmkd: three monitors under thrashing", thrashing },
	{ "R-12 lmkd: three monitors without load", at_ease },
	{ "R-12 lmkd: monitors are quiet after thrashing", afterwards },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
