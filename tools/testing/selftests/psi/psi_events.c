// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers: how many events come of a stall, when, and to whom.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define CPU		"/proc/pressure/cpu"
#define IO		"/proc/pressure/io"

/* Somebody without any privilege. */
#define NOBODY		65534

#define LATE_MS		10	/* ticks by which timers of the kernel are late */

/*
 * An event is seen some time after it has come, and the next one perhaps at once:
 * then they seem to be closer. Emulated CPUs take turns, which makes that longer.
 */
static double early_ms(void)
{
	return online_cpus() > 1 ? 50 : 5;
}

/* ---- which trigger gets which event ---- */

static enum psi_result read_it_too(void)
{
	struct psi_sample a, b;
	int fd = contended_trigger();
	int i;

	EXPECT(!psi_read_fd(fd, PSI_CPU, &a), "cannot read");
	for (i = 0; i < 5; i++) {
		EXPECT(poll_event(fd, 1000) == POLLPRI, "no event %d", i);
		EXPECT(!psi_read_fd(fd, PSI_CPU, &b), "cannot read again");
		EXPECT(b.some.total > a.some.total, "total does not grow");
		a = b;
	}
	return PSI_PASS;
}

struct waiter {
	int fd;
	struct events *events;
	__u64 end;
};

static void wait_for_events(void *arg)
{
	struct waiter *w = arg;

	watch_events(&w->fd, 1, w->end, w->events);
	for (;;)
		pause();
}

static enum psi_result two_waiters(void)
{
	struct waiter a = { .end = now_ns() + 10 * NSEC_PER_SEC };
	struct waiter b = a;
	struct events own;
	unsigned int sum;
	int fd;

	a.events = shared_alloc(sizeof(*a.events));
	b.events = shared_alloc(sizeof(*b.events));
	a.fd = contended_trigger();
	b.fd = a.fd;
	fd = must_open_trigger(CPU, true, "some 100000 500000");
	start_load(0, wait_for_events, &a);
	start_load(0, wait_for_events, &b);
	watch_events(&fd, 1, a.end, &own);
	sleep_ms(100);

	sum = a.events->count + b.events->count;
	psi_note("alone %u events, two waiters %u and %u", own.count,
		 a.events->count, b.events->count);
	EXPECT(own.count >= 17, "too few events");
	EXPECT(sum + 1 >= own.count, "events are lost");
	EXPECT(sum <= own.count + 1, "events are seen twice");
	return PSI_PASS;
}

/*
 * 200 ms of every second: with what is interpolated of the window before, never
 * 600 ms.
 */
static enum psi_result three_triggers(void)
{
	static const unsigned int thresholds[] = { 100000, 100000, 600000 };
	struct events events[3];
	int fds[3];
	int i;

	contend_in_bursts(0, now_ns() + 100 * NSEC_PER_MSEC, 200, 1000);
	for (i = 0; i < 3; i++)
		fds[i] = must_open_trigger(CPU, true, "some %u 1000000", thresholds[i]);
	watch_events(fds, 3, now_ns() + 10 * NSEC_PER_SEC, events);
	psi_note("%u, %u and %u events", events[0].count, events[1].count,
		 events[2].count);
	EXPECT(events[0].count >= 9 && events[0].count <= 10,
	       "the first trigger");
	EXPECT(events[1].count >= 9 && events[1].count <= 10,
	       "the second trigger");
	EXPECT(!events[2].count, "a threshold that is not reached");
	return PSI_PASS;
}

/* ---- what was before ---- */

/* Stalls of 60 ms afterwards, so that there is something to look at. */
static enum psi_result expect_no_event(int fd)
{
	struct events events;
	__u64 start = now_ns();

	contend_in_bursts(0, start + 300 * NSEC_PER_MSEC, 60, 2500);
	count_events(fd, 9000, &events);
	EXPECT(!events.count, "an event after %.0f ms",
	       (events.at[0] - start) / 1e6);
	return PSI_PASS;
}

static enum psi_result after_long_stall(const void *privileged)
{
	contend(0);
	sleep_ms(3000);
	stop_all_loads();
	sleep_ms(100);
	return expect_no_event(must_open_trigger(CPU, *(const bool *)privileged,
						 "some 1900000 2000000"));
}

/*
 * The stall goes on for another 260 ms, and the next one takes 60. Because of
 * another trigger the kernel looks at stalls already, but rarely.
 */
static enum psi_result amid_stall(void)
{
	__u64 start = now_ns() + 100 * NSEC_PER_MSEC, made;
	int fd;

	must_open_trigger(CPU, true, "some 10000000 10000000");
	contend_in_bursts(0, start, 500, 60000);
	/* It may be on the same CPU. */
	be_realtime(URGENT);
	sleep_until(start + 240 * NSEC_PER_MSEC);
	fd = must_open_trigger(CPU, true, "some 380000 1000000");
	made = now_ns();
	be_realtime(0);
	EXPECT(made < start + 300 * NSEC_PER_MSEC, "too late");
	return expect_no_event(fd);
}

/* ---- what was before, for somebody without any privilege ---- */

#define OLD_STALL_MS	65000

/* What the user does, and what comes of it. */
struct user_story {
	atomic_int error;
	atomic_bool opened, quiet_over;
	struct events quiet, stalled;
};

static void wait_as_nobody(void *user_story)
{
	struct user_story *s = user_story;
	int fd;

	if (setgid(NOBODY) || setuid(NOBODY)) {
		s->error = errno;
		return;
	}
	fd = open_trigger(IO, "some 150000 2000000");
	s->error = fd < 0 ? -fd : 0;
	s->opened = true;
	if (fd < 0)
		return;
	count_events(fd, 10000, &s->quiet);
	s->quiet_over = true;
	count_events(fd, 4000, &s->stalled);
	for (;;)
		pause();
}

static enum psi_result nobody_after_a_minute(void)
{
	struct user_story *s = shared_alloc(sizeof(*s));
	const char *disk = slow_disk(50);
	struct psi_sample from, to;

	REQUIRE(disk, "needs null_blk with configfs");
	EXPECT(!psi_read(PSI_IO, &from), "cannot read");
	stall_on(0, disk, OLD_STALL_MS);
	sleep_ms(1000);
	EXPECT(!psi_read(PSI_IO, &to), "cannot read");
	EXPECT(psi_share(&from, &to).some > 90, "that was no stall");

	start_load(-1, wait_as_nobody, s);
	sleep_ms(10500);
	EXPECT(s->opened && !s->error, "no trigger: %s", strerror(s->error));
	EXPECT(s->quiet_over, "it does not wait");
	EXPECT(!s->quiet.count, "an event without a stall");
	stall_on(0, disk, 300);
	sleep_ms(4000);
	EXPECT(s->stalled.count == 1, "%u events of a stall of 300 ms",
	       s->stalled.count);
	return PSI_PASS;
}

/* ---- how many events ---- */

static void read_every_ms(void *path)
{
	int fd = open(path, O_RDONLY);
	__u64 next = now_ns();
	char text[512];

	while (pread(fd, text, sizeof(text), 0) > 0) {
		next += NSEC_PER_MSEC;
		sleep_until(next);
	}
}

struct trigger_case {
	bool privileged, reader;
	unsigned int window_ms;
};

static enum psi_result steady(const void *trigger_case)
{
	const struct trigger_case *c = trigger_case;
	unsigned int window_ms = c->window_ms, windows = is_quick() ? 6 : 12;
	struct events events;
	double gap;
	int fd;

	contend(0);
	if (c->reader)
		start_load(0, read_every_ms, CPU);
	sleep_ms(100);
	fd = must_open_trigger(CPU, c->privileged, "some %u %u", window_ms * 500,
			       window_ms * 1000);
	count_events(fd, windows * window_ms, &events);
	gap = shortest_gap(&events);
	psi_note("%u events, at least %.1f ms from one to the next",
		 events.count, gap);
	EXPECT(events.count + 1 >= windows && events.count <= windows + 1, "not %u events",
	       windows);
	EXPECT(gap >= window_ms - early_ms(), "more than one event in a window");
	return PSI_PASS;
}

/* ---- exact stalls ---- */

/*
 * A realtime task takes the CPU from an ordinary one for TAKEN_MS of every period, by
 * the clock. So much is stalled, evenly, and nothing else is. A window is 50 periods.
 */
#define EXACT_PERIODS	50
#define TAKEN_MS	3
#define TAKER		20	/* its priority */

/* The ordinary one is there from a little earlier until a little later. */
#define MARGIN_NS	(300 * NSEC_PER_USEC)

static __u64 exact_start, exact_period;

static void take_the_cpu(void *unused)
{
	__u64 next = exact_start;

	if (be_realtime(TAKER))
		return;
	for (;; next += exact_period) {
		sleep_until(next);
		spin_until(next + TAKEN_MS * NSEC_PER_MSEC);
	}
}

static void lose_the_cpu(void *unused)
{
	__u64 next = exact_start;

	for (;; next += exact_period) {
		sleep_until(next - MARGIN_NS);
		spin_until(next + TAKEN_MS * NSEC_PER_MSEC + MARGIN_NS);
	}
}

/* The next multiple of @ns, by the clock. */
static __u64 next_point(__u64 ns)
{
	return (now_ns() / ns + 1) * ns;
}

/*
 * Looks are due at multiples of a tenth of a window. A stall never goes on then, so
 * that no part of it is counted or not, depending on how late somebody is.
 */
static const char *start_exact_stalls(unsigned int window_ms)
{
	const char *group = make_group(NULL, "exact");

	exact_period = window_ms * NSEC_PER_MSEC / EXACT_PERIODS;
	exact_start = next_point(10 * exact_period) + exact_period / 2;
	start_in_group(group, 0, take_the_cpu, NULL);
	start_in_group(group, 0, lose_the_cpu, NULL);
	sleep_until(exact_start);
	sleep_ms(500);
	return group;
}

static double stalled_us(int fd)
{
	struct psi_sample sample;

	EXPECT(!psi_read_fd(fd, PSI_CPU, &sample), "cannot read");
	return sample.some.total;
}

/*
 * What is stalled in @ms: to wake up, and to fall asleep, takes both tasks some us
 * more than they are asked for. That is measured, and must be next to nothing.
 */
static double exact_stall_us(int fd, unsigned int ms)
{
	double expected = EXACT_PERIODS * TAKEN_MS * 1000.0;
	__u64 start = now_ns();
	double us = stalled_us(fd);

	sleep_until(start + ms * NSEC_PER_MSEC);
	us = stalled_us(fd) - us;
	psi_note("%.1f ms stalled of %u", us / 1000, ms);
	EXPECT(close_to(us, expected, expected * 0.05), "that is not %.1f",
	       expected / 1000);
	return us;
}

#define EXACT_WINDOWS	20

static enum psi_result exact(const char *path, bool privileged,
			     unsigned int window_ms)
{
	static const int percent[] = { 92, 97, 103 };
	struct events events[ARRAY_SIZE(percent)];
	int fds[ARRAY_SIZE(percent)];
	double us;
	size_t i;

	sleep_until(next_point(window_ms * NSEC_PER_MSEC / 10));
	us = exact_stall_us(open_pressure(path, O_RDONLY), window_ms);
	sleep_until(next_point(window_ms * NSEC_PER_MSEC / 10));
	for (i = 0; i < ARRAY_SIZE(percent); i++)
		fds[i] = must_open_trigger(path, privileged, "some %.0f %u", us * 100 / percent[i],
					   window_ms * 1000);
	watch_events(fds, ARRAY_SIZE(percent), now_ns() +
		     EXACT_WINDOWS * window_ms * NSEC_PER_MSEC, events);
	for (i = 0; i < ARRAY_SIZE(percent); i++)
		psi_note("%d %% of the threshold: %u events", percent[i],
			 events[i].count);
	EXPECT(!events[0].count && !events[1].count,
	       "events below the threshold");
	EXPECT(events[2].count >= EXACT_WINDOWS - 1 &&
	       events[2].count <= EXACT_WINDOWS, "not an event per window");
	EXPECT(shortest_gap(&events[2]) >= window_ms - early_ms(),
	       "more than one event in a window");
	return PSI_PASS;
}

static enum psi_result exact_system(void)
{
	start_exact_stalls(500);
	return exact(CPU, true, 500);
}

static enum psi_result exact_group(const void *trigger_case)
{
	const struct trigger_case *c = trigger_case;
	char path[GROUP_PATH];

	group_file(path, start_exact_stalls(c->window_ms), "cpu.pressure");
	return exact(path, c->privileged, c->window_ms);
}

/* ---- an event among many other wakeups ---- */

#define STORM_WINDOWS	20

static void ring(void *bell)
{
	__u64 next, one = 1;

	for (next = now_ns();; next += NSEC_PER_MSEC) {
		sleep_until(next);
		if (write(*(int *)bell, &one, sizeof(one)) < 0)
			return;
	}
}

/* Asks for something else, so that no event may go to this one. */
static void ask_for_input(void *fd)
{
	struct pollfd p = { .fd = *(int *)fd, .events = POLLIN };

	while (poll(&p, 1, 0) >= 0)
		sleep_ms(1);
}

static int start_storm(int fd, int *bell)
{
	struct epoll_event event = { .events = EPOLLPRI, .data.fd = fd }, rung;
	int epoll = epoll_create1(0);

	*bell = eventfd(0, EFD_NONBLOCK);
	rung = (struct epoll_event){ .events = EPOLLIN, .data.fd = *bell };
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) &&
	       !epoll_ctl(epoll, EPOLL_CTL_ADD, *bell, &rung), "epoll_ctl");
	start_load(-1, ring, bell);
	start_load(-1, ring, bell);
	start_load(-1, ask_for_input, &fd);
	return epoll;
}

/* Return: how often the bell rang. */
static unsigned int watch_amid_storm(int epoll, int bell, __u64 end,
				     struct events *events)
{
	struct epoll_event event;
	unsigned int rung = 0;
	__u64 count;

	events->count = 0;
	be_realtime(URGENT);
	while (now_ns() < end) {
		if (epoll_wait(epoll, &event, 1, 100) != 1)
			continue;
		if (event.data.fd != bell)
			note_event(events, now_ns());
		else if (read(bell, &count, sizeof(count)) == sizeof(count))
			rung += count;
	}
	be_realtime(0);
	return rung;
}

static enum psi_result epoll_in_a_storm(void)
{
	struct events events;
	unsigned int rung;
	int epoll, bell;

	epoll = start_storm(contended_trigger(), &bell);
	rung = watch_amid_storm(epoll, bell, now_ns() +
				STORM_WINDOWS * 500 * NSEC_PER_MSEC, &events);
	psi_note("%u events, at least %.1f ms apart, and %u other wakeups",
		 events.count, shortest_gap(&events), rung);
	EXPECT(rung >= STORM_WINDOWS * 500, "that is no storm");
	EXPECT(events.count >= STORM_WINDOWS - 1 &&
	       events.count <= STORM_WINDOWS + 1, "not an event per window");
	EXPECT(shortest_gap(&events) >= 500 - early_ms(),
	       "more than one event in a window");
	return PSI_PASS;
}

/* ---- D-4: short windows ---- */

#define BURSTS		40
#define BURST_MS	3
/* No multiple of a tick, so that bursts begin anywhere within one. */
#define PERIOD_MS	101

static void watch_bursts(unsigned int window_ms, __u64 *start,
			 struct events *events)
{
	int fd = must_open_trigger(CPU, true, "some 2000 %u", window_ms * 1000);
	double gap;

	*start = now_ns() + 200 * NSEC_PER_MSEC;
	contend_in_bursts(0, *start, BURST_MS, PERIOD_MS);
	watch_events(&fd, 1, *start + BURSTS * PERIOD_MS * NSEC_PER_MSEC,
		     events);
	gap = shortest_gap(events);
	psi_note("%u events of %d bursts, at least %.1f ms apart",
		 events->count, BURSTS, gap);
	EXPECT(gap >= window_ms - early_ms(), "more than one event in a window");
}

static enum psi_result every_burst(const void *window_ms)
{
	bool seen[BURSTS] = { false };
	unsigned int i, count = 0;
	struct events events;
	__u64 start, at;

	watch_bursts(*(const unsigned int *)window_ms, &start, &events);
	for (i = 0; i < events.count; i++) {
		if (events.at[i] < start)
			continue;
		at = (events.at[i] - start) / (PERIOD_MS * NSEC_PER_MSEC);
		if (at < BURSTS && !seen[at]) {
			seen[at] = true;
			count++;
		}
	}
	EXPECT(count >= BURSTS * 9 / 10, "%u bursts are seen", count);
	return PSI_PASS;
}

/* One less, because the first and the last window may not be whole. */
static enum psi_result every_window(const void *arg)
{
	unsigned int window_ms = *(const unsigned int *)arg;
	unsigned int windows = BURSTS * PERIOD_MS / window_ms;
	struct events events;
	__u64 start;

	watch_bursts(window_ms, &start, &events);
	EXPECT(events.count + 1 >= windows * 9 / 10,
	       "%u windows are seen of %u", events.count, windows);
	return PSI_PASS;
}

/* ---- when events come ---- */

/*
 * Two bursts, 500 ms from one to the next, then nothing for long. The first
 * event comes within the first one, or soon after. The second one may be late by
 * the time from one look to the next.
 */
static enum psi_result held_back(void)
{
	__u64 start = now_ns() + 200 * NSEC_PER_MSEC;
	int fd = must_open_trigger(CPU, true, "some 50000 1000000");
	struct events events;
	double first, gap;

	contend_in_bursts(0, start, 100, 500);
	watch_events(&fd, 1, start + 650 * NSEC_PER_MSEC, &events);
	EXPECT(events.count == 1, "%u events of the first burst", events.count);
	stop_all_loads();
	first = events.at[0] / 1e6;
	count_events(fd, 3000, &events);
	EXPECT(events.count == 1, "%u events of the second burst",
	       events.count);
	gap = events.at[0] / 1e6 - first;
	psi_note("%.1f ms from one to the next", gap);
	EXPECT(gap >= 1000 - early_ms(), "too early");
	EXPECT(gap <= 1000 + 100 + LATE_MS, "too late");
	return PSI_PASS;
}

#define WINDOW(fn, ms)	.run_with = (fn), .arg = &(const unsigned int){ ms }
#define AFTER(p)	.run_with = after_long_stall, .arg = &(const bool){ p }
#define TRIGGER(fn, ...) .run_with = (fn), .arg = &(const struct trigger_case){ __VA_ARGS__ }

static const struct psi_case cases[] = {
	{ "R-12 events of a file that is read as well", read_it_too },
	{ "R-12 of two waiters one gets each event", two_waiters },
	{ "R-12 triggers do not share their events", three_triggers },
	{ "R-18 a new trigger ignores 3 s of stall before it", AFTER(true) },
	{ "D-3 R-18 an unprivileged one does, too", AFTER(false) },
	{ "D-3 R-18 a trigger made amid a stall counts the rest of it",
	  amid_stall },
	{ "R-18 R-12 nobody hears of a minute of stall that is over",
	  nobody_after_a_minute },
	{ "R-13 100 % contention is an event per window", TRIGGER(steady, true, false, 2000) },
	{ "R-13 the same with a reader every ms", TRIGGER(steady, true, true, 2000) },
	{ "R-13 unprivileged, windows of 500 ms", TRIGGER(steady, false, false, 500) },
	{ "R-13 unprivileged, windows of 1 s", TRIGGER(steady, false, false, 1000) },
	{ "R-13 unprivileged, the same on one CPU", .max_cpus = 1,
	  TRIGGER(steady, false, false, 2000) },
	{ "D-2 R-13 unprivileged, the same on four CPUs", .min_cpus = 4,
	  TRIGGER(steady, false, false, 2000) },
	{ "D-2 R-13 unprivileged, the same with a reader every ms",
	  TRIGGER(steady, false, true, 2000) },
	{ "D-4 R-13 short bursts, a window of 10 ms", WINDOW(every_burst, 10) },
	{ "D-4 R-13 short bursts, a window of 20 ms", WINDOW(every_burst, 20) },
	{ "D-4 R-13 short bursts, a window of 50 ms", WINDOW(every_burst, 50) },
	{ "D-4 R-13 short bursts, a window of 100 ms", WINDOW(every_burst, 100) },
	{ "D-4 R-13 short bursts, a window of 200 ms", WINDOW(every_window, 200) },
	{ "D-4 R-13 short bursts, a window of 500 ms", WINDOW(every_window, 500) },
	{ "R-13 exact stalls of the system, windows of 500 ms", exact_system, 0, 1 },
	{ "R-13 exact stalls of a group, windows of 500 ms",
	  TRIGGER(exact_group, true, false, 500) },
	{ "R-13 exact stalls of a group, unprivileged, windows of 1 s",
	  TRIGGER(exact_group, false, false, 1000) },
	{ "R-13 an epoll client in a storm", epoll_in_a_storm },
	{ "R-13 an event is held back, not lost", held_back },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
