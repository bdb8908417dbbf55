// SPDX-License-Identifier: GPL-2.0
/*
 * anybody may own a lot of triggers and groups, and have them looked after at
 * normal priority. What the kernel does for that is spread over time, and right.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define IO		"/proc/pressure/io"
#define CPU		"/proc/pressure/cpu"

#define NOBODY		65534	/* somebody without any privilege */

#define NO_DISK		"needs null_blk with configfs"

/* Fewer of all things in a kernel that checks itself. */
static int scaled(int count)
{
	return count / psi_slowness();
}

/* Somebody waits for the disk all the time, which costs next to nothing. */
static void start_io_stall(void)
{
	const char *disk = slow_disk(50);

	REQUIRE(disk, NO_DISK);
	start_load(online_cpus() - 1, read_disk, (void *)disk);
}

/* ---- the threads that look at triggers ---- */

#define PRIVILEGED	"psi_poll"
#define COMMON		"psi_poll_user"

static pid_t must_find(const char *name)
{
	pid_t pid = find_task(name);

	EXPECT(pid, "no thread %s", name);
	return pid;
}

static void expect_policy(const char *name, int policy, int priority)
{
	struct sched_param param = { .sched_priority = -1 };
	pid_t pid = must_find(name);

	EXPECT(sched_getscheduler(pid) == policy, "%s has policy %d, not %d",
	       name, sched_getscheduler(pid), policy);
	EXPECT(!sched_getparam(pid, &param) && param.sched_priority == priority,
	       "%s has priority %d, not %d", name, param.sched_priority,
	       priority);
}

/* It may be that there is none until somebody needs it. */
static unsigned long switches_of(const char *name)
{
	pid_t pid = find_task(name);

	return pid ? voluntary_switches(pid) : 0;
}

/* Five windows long, and a look at the end of each at least. */
static void expect_busy(int fd, const char *busy, const char *other)
{
	struct events events;
	unsigned long b, o;

	b = switches_of(busy);
	o = switches_of(other);
	count_events(fd, 10000, &events);
	b = switches_of(busy) - b;
	o = switches_of(other) - o;
	psi_note("%s: %lu switches, %s: %lu", busy, b, other, o);
	EXPECT(events.count >= 4, "%u events", events.count);
	EXPECT(b >= events.count, "%s hardly looks", busy);
	EXPECT(!o, "%s looks as well", other);
}

static void expect_served(bool privileged, const char *by, const char *other)
{
	int fd = must_open_trigger(IO, privileged, "some 1000000 2000000");

	sleep_ms(1000);
	expect_policy(by, privileged ? SCHED_FIFO : SCHED_OTHER, privileged);
	expect_busy(fd, by, other);
	close(fd);
}

static enum psi_result threads(void)
{
	start_io_stall();
	expect_served(false, COMMON, PRIVILEGED);
	expect_served(true, PRIVILEGED, COMMON);
	return PSI_PASS;
}

/* ---- 2000 triggers of a user ---- */

#define TRIGGERS	2000
#define WINDOW_MS	2000
#define WINDOWS		4

/* What the user does, and what comes of it. */
struct collector {
	int nr;
	atomic_int error;
	atomic_bool ready, counted, closed;
	atomic_int close_ms;
	unsigned int events[TRIGGERS];
	double shortest_ms;
};

static int open_all(struct collector *c)
{
	struct epoll_event event = { .events = EPOLLPRI };
	int epoll = epoll_create1(0);
	int i, fd;

	for (i = 0; i < c->nr; i++) {
		fd = open_trigger(IO, "some 1000000 2000000");
		event.data.u32 = i;
		if (fd < 0)
			c->error = -fd;
		else if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			c->error = errno;
		if (c->error)
			break;
	}
	return epoll;
}

static void note_events_of_all(struct collector *c, int epoll, __u64 *last)
{
	struct epoll_event events[64];
	int i, n, trigger;
	double ms;

	n = epoll_wait(epoll, events, ARRAY_SIZE(events), 100);
	for (i = 0; i < n; i++) {
		trigger = events[i].data.u32;
		ms = (now_ns() - last[trigger]) / 1e6;
		if (last[trigger] && ms < c->shortest_ms)
			c->shortest_ms = ms;
		last[trigger] = now_ns();
		c->events[trigger]++;
	}
}

/* They are closed when some have fired and the others are about to. */
static void close_amid_events(struct collector *c, int epoll)
{
	struct epoll_event event;
	__u64 start;

	epoll_wait(epoll, &event, 1, 2 * WINDOW_MS);
	start = now_ns();
	close_range(3, ~0U, 0);
	c->close_ms = (now_ns() - start) / NSEC_PER_MSEC;
	c->closed = true;
}

static void collect(void *collector)
{
	static __u64 last[TRIGGERS];
	struct collector *c = collector;
	__u64 end;
	int epoll;

	if (setgid(NOBODY) || setuid(NOBODY)) {
		c->error = errno;
		return;
	}
	epoll = open_all(c);
	c->ready = true;
	end = now_ns() + WINDOWS * WINDOW_MS * NSEC_PER_MSEC;
	while (!c->error && now_ns() < end)
		note_events_of_all(c, epoll, last);
	c->counted = true;
	if (!c->error)
		close_amid_events(c, epoll);
	for (;;)
		pause();
}

static void wait_for(atomic_bool *flag, unsigned int ms, const char *what)
{
	EXPECT(wait_until(*flag, ms), "they are not %s", what);
}

static void expect_events_of_all(const struct collector *c)
{
	unsigned int least = ~0U, most = 0;
	int i;

	for (i = 0; i < c->nr; i++) {
		if (c->events[i] < least)
			least = c->events[i];
		if (c->events[i] > most)
			most = c->events[i];
	}
	psi_note("%d triggers with %u to %u events, at least %.1f ms apart", c->nr,
		 least, most, c->shortest_ms);
	EXPECT(least >= WINDOWS - 1 && most <= WINDOWS, "not an event per window");
	/* An event may have waited for up to a look's time, the next one not at all. */
	EXPECT(c->shortest_ms >= WINDOW_MS - WINDOW_MS / 10,
	       "more than one event in a window");
}

static enum psi_result many_triggers(void)
{
	struct rlimit limit = { 2 * TRIGGERS, 2 * TRIGGERS };
	struct collector *c = shared_alloc(sizeof(*c));

	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit), "cannot raise the limit");
	c->nr = scaled(TRIGGERS);
	c->shortest_ms = 1e9;
	start_io_stall();
	start_load(0, collect, c);
	wait_for(&c->ready, 10000, "there");
	EXPECT(!c->error, "no trigger: %s", strerror(c->error));
	wait_for(&c->counted, 2 * WINDOWS * WINDOW_MS, "counted");
	expect_events_of_all(c);
	wait_for(&c->closed, 10000, "closed");
	psi_note("closed within %d ms", c->close_ms);

	must_open_trigger(IO, true, "some 1000000 2000000");
	stop_all_loads();
	/* It looks once a window now, and has to have seen nothing for one. */
	sleep_ms(4 * WINDOW_MS);
	EXPECT(!switches_during(3000), "somebody still looks");
	return PSI_PASS;
}

/* ---- 1000 groups, each in the one before ---- */

#define DEPTH		1000
#define DEEP		"deep"	/* all of them have that name */

static const int looked_at[] = { 1, 10, 100, 500, DEPTH };

#define NR_LOOKED_AT	ARRAY_SIZE(looked_at)

/* No path is as long as that, so steps are taken one by one. */
static int step_to(int dir, const char *name)
{
	int next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	close(dir);
	return next;
}

/* Upwards from the last one, each is empty when it is its turn. */
static int remove_nested(void)
{
	int depth = 0, dir, tries = 0;

	dir = open(top_group(), O_RDONLY | O_DIRECTORY);
	while (dir >= 0 && !faccessat(dir, DEEP, F_OK, 0)) {
		dir = step_to(dir, DEEP);
		depth++;
	}
	while (dir >= 0 && depth--) {
		dir = step_to(dir, "..");
		while (unlinkat(dir, DEEP, AT_REMOVEDIR) && errno == EBUSY && tries++ < 1000)
			sleep_ms(10);
	}
	if (dir < 0)
		return -errno;
	depth = faccessat(dir, DEEP, F_OK, 0) ? 0 : -EBUSY;
	close(dir);
	return depth;
}

static void undo_nested(void)
{
	set_cgroup(top_group(), "cgroup.kill", "1");
	remove_nested();
}

/* Descriptors of those that are looked at; the last one is of the deepest. */
static void make_nested(int depth, int *dirs)
{
	int dir = open(top_group(), O_RDONLY | O_DIRECTORY);
	size_t nr = 0;
	int i;

	undo_later(undo_nested);
	for (i = 1; i <= depth; i++) {
		EXPECT(!mkdirat(dir, DEEP, 0755), "depth %d: %s", i,
		       strerror(errno));
		dir = step_to(dir, DEEP);
		EXPECT(dir >= 0, "depth %d: %s", i, strerror(errno));
		if (i == looked_at[nr] || i == depth)
			dirs[nr++] = dup(dir);
	}
	close(dir);
}

static int must_open_at(int dir, const char *file, int flags)
{
	int fd = openat(dir, file, flags);

	EXPECT(fd >= 0, "%s: %s", file, strerror(errno));
	return fd;
}

static void read_all(const int *dirs, size_t nr, struct psi_sample *samples)
{
	size_t i;
	int fd;

	for (i = 0; i < nr; i++) {
		fd = must_open_at(dirs[i], "io.pressure", O_RDONLY);
		EXPECT(!psi_read_fd(fd, PSI_IO, &samples[i]), "cannot read");
		close(fd);
	}
}

/* All are to be within 1 % of the first, which is to be of nearly all the time. */
static void expect_same_shares(const int *dirs, size_t nr)
{
	struct psi_sample from[NR_LOOKED_AT], to[NR_LOOKED_AT];
	struct psi_share first, share;
	size_t i;

	read_all(dirs, nr, from);
	sleep_ms(3000);
	read_all(dirs, nr, to);
	first = psi_share(&from[0], &to[0]);
	EXPECT(close_to(first.some, 97, 3), "some %.2f %%", first.some);
	for (i = 0; i < nr; i++) {
		share = psi_share(&from[i], &to[i]);
		psi_note("depth %d: some %.2f %% full %.2f %%", looked_at[i],
			 share.some, share.full);
		EXPECT(close_to(share.some, first.some, 1) &&
		       close_to(share.full, first.some, 1), "that is not the same");
	}
}

static void join_at(int dir, pid_t pid)
{
	int fd = must_open_at(dir, "cgroup.procs", O_WRONLY);

	EXPECT(dprintf(fd, "%d", pid) > 0, "cannot move: %s", strerror(errno));
	close(fd);
}

static enum psi_result deep(void)
{
	int dirs[NR_LOOKED_AT];
	const char *disk = slow_disk(50);
	__u64 start = now_ns();
	size_t i;
	int ret;

	REQUIRE(disk, NO_DISK);
	top_group();
	make_nested(DEPTH, dirs);
	psi_note("made within %llu ms", (now_ns() - start) / NSEC_PER_MSEC);
	join_at(dirs[NR_LOOKED_AT - 1],
		start_load(0, read_disk, (void *)disk));
	sleep_ms(500);
	expect_same_shares(dirs, NR_LOOKED_AT);

	stop_all_loads();
	for (i = 0; i < NR_LOOKED_AT; i++)
		close(dirs[i]);
	start = now_ns();
	ret = remove_nested();
	psi_note("removed within %llu ms", (now_ns() - start) / NSEC_PER_MSEC);
	EXPECT(!ret, "they cannot be removed: %s", strerror(-ret));
	return PSI_PASS;
}

/* ---- a group with 2000 children, off and on ---- */

#define CHILDREN	2000
#define BUSY_CHILDREN	4
#define TOGGLES		20

/* It runs for 1 ms in 7 and sleeps, so that it is in any state when others see it. */
static void nap(void *unused)
{
	__u64 next;

	for (next = now_ns();; next += 7 * NSEC_PER_MSEC) {
		sleep_until(next);
		burn_ms(1);
	}
}

static const char *make_children(int count)
{
	const char *parent = make_group(NULL, "parent");
	char name[16];
	int i;

	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		make_group(parent, name);
	}
	return parent;
}

static const char *child(const char *parent, int i)
{
	static char paths[BUSY_CHILDREN][GROUP_PATH];
	char name[16];

	snprintf(name, sizeof(name), "g%d", i * (scaled(CHILDREN) - 1) / (BUSY_CHILDREN - 1));
	return group_file(paths[i], parent, name);
}

static void toggle(const char *group)
{
	__u64 start, longest = 0;
	int i;

	for (i = 0; i < TOGGLES; i++) {
		start = now_ns();
		EXPECT(!set_pressure(group, i % 2), "cannot switch");
		if (now_ns() - start > longest)
			longest = now_ns() - start;
		sleep_ms(10 + i);
	}
	psi_note("switched within %llu us", longest / NSEC_PER_USEC);
}

/* First with tasks that are anything now and then, then with two that share a CPU. */
static enum psi_result many_children(void)
{
	const char *parent = make_children(scaled(CHILDREN));
	struct expected e[] = {
		{ child(parent, 0), PSI_CPU, 50, 50 },
		{ child(parent, 1), PSI_CPU, 0, 0 },
		{ child(parent, BUSY_CHILDREN - 1), PSI_CPU, 50, 50 },
	};
	struct psi_sample from, to;
	struct psi_share share;
	double others;
	pid_t pid[2];
	__u64 ran;
	int i;

	pin_to_cpu(online_cpus() - 1);
	for (i = 0; i < BUSY_CHILDREN; i++)
		start_in_group(child(parent, i), -1, nap, NULL);
	toggle(parent);
	stop_all_loads();

	pid[0] = start_in_group(e[0].group, 0, spin, NULL);
	pid[1] = start_in_group(e[2].group, 0, spin, NULL);
	toggle(parent);
	sleep_ms(200);
	ran = task_times(pid[0]).ran_ns + task_times(pid[1]).ran_ns;
	EXPECT(!read_group(parent, PSI_CPU, &from), "cannot read");
	expect_shares(e, ARRAY_SIZE(e), 1500, 2);
	EXPECT(!read_group(parent, PSI_CPU, &to), "cannot read");
	ran = task_times(pid[0]).ran_ns + task_times(pid[1]).ran_ns - ran;

	/* Full is when others run: this process, and what earlier cases have left. */
	share = psi_share(&from, &to);
	others = 100 - ran / (share.seconds * 1e7);
	psi_note("parent: some %.2f %% full %.2f %%, others %.2f %%", share.some, share.full,
		 others);
	EXPECT(close_to(share.some, 100, 2) && share.full <= others + 0.5,
	       "full is not when others run");
	stop_all_loads();
	expect_still(parent);
	EXPECT(!remove_all_groups(), "they cannot be removed");
	return PSI_PASS;
}

/* ---- memory of groups ---- */

#define PAID		500
#define NODE_SIZE	128	/* at least, for each CPU */
#define FREE_SIZE	32768	/* of the first chunk of percpu memory, nothing is charged */

static long percpu_of(const char *group)
{
	char path[GROUP_PATH], text[4096];
	const char *at;

	EXPECT(read_text(group_file(path, group, "memory.stat"), text, sizeof(text)) > 0,
	       "no memory.stat");
	at = strstr(text, "percpu ");
	EXPECT(at, "no memory of CPUs in memory.stat");
	return atol(at + strlen("percpu "));
}

static void make_groups(void *group)
{
	char name[16], path[GROUP_PATH];
	int i;

	for (i = 0; i < PAID; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		mkdir(group_file(path, group, name), 0755);
	}
	pause();
}

static enum psi_result paid(void)
{
	const char *group = make_group(NULL, "payer");
	long before, needed = (long)(PAID * NODE_SIZE - FREE_SIZE) * online_cpus();

	REQUIRE(!enable_controller(group, "+memory"), "needs the memory controller");
	before = percpu_of(group);
	start_in_group(group, -1, make_groups, (void *)group);
	EXPECT(wait_until(percpu_of(group) - before >= needed, 30000),
	       "%ld bytes for %d groups", percpu_of(group) - before, PAID);
	return PSI_PASS;
}

/* ---- thresholds that are reached, and others ---- */

#define STEPS	100

/* Is there an event of all up to one threshold, and of none from another one on? */
static void expect_events_of_steps(const int *fds, int all_ms, int none_ms)
{
	struct pollfd p = { .events = POLLPRI };
	int i, ms;

	for (i = 0; i < STEPS; i++) {
		p.fd = fds[i];
		ms = 100 + 9 * i;
		if (ms <= all_ms)
			EXPECT(poll(&p, 1, 0) == 1, "no event of %d ms", ms);
		else if (ms >= none_ms)
			EXPECT(poll(&p, 1, 0) == 0, "an event of %d ms", ms);
		else
			poll(&p, 1, 0);
	}
}

/* Until 4 % become 50 %, their windows are the same. */
static enum psi_result steps(void)
{
	int fds[STEPS], i, n;

	contend_in_bursts(0, now_ns(), 4, 100);
	for (i = 0; i < STEPS; i++)
		fds[i] = must_open_trigger(CPU, true, "some %d 1000000", (100 + 9 * i) * 1000);
	sleep_ms(5000);
	expect_events_of_steps(fds, 0, 100);
	close(fds[STEPS / 3]);
	fds[STEPS / 3] = must_open_trigger(CPU, true, "some 397000 1000000");

	stop_all_loads();
	contend_in_bursts(0, now_ns(), 50, 100);
	for (n = 0; n < 3; n++) {
		sleep_ms(2500);
		expect_events_of_steps(fds, 450, 560);
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-8 R-13 of 100 thresholds those that are reached have events", steps },
	{ "R-8 triggers without privilege have a thread of normal priority", threads },
	{ "R-8 2000 triggers of a user fire, once in a window each", many_triggers },
	{ "R-8 1000 nested groups", deep },
	{ "R-8 a group with 2000 children, off and on", many_children },
	{ "R-8 the memory of a group is charged to the cgroup that makes it", paid },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
