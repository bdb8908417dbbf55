// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure of cgroup2 groups: the files, what they show, what tasks take along
 * when they move, switching accounting off and on, and groups that go away.
 *
 * Whoever watches is on the last CPU and the loads are on CPU 0, which is the
 * same one if there is only one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

/*
 * Percent. Who runs is decided at ticks of 4 ms, and a task that has just been
 * moved may have one more turn than its share.
 */
#define TOLERANCE	2.0
#define WATCH_MS	2000

/* A trigger that nothing here makes fire. */
#define QUIET_TRIGGER	"some 1000000 1000000"

static void watch_from_afar(void)
{
	pin_to_cpu(online_cpus() - 1);
}

static void start_spinners(const char *group, int count)
{
	while (count--)
		start_in_group(group, 0, spin, NULL);
}

static void settle(void)
{
	sleep_ms(200);
}

static void must_move(const char *group, pid_t pid)
{
	int ret = move_to_group(group, pid);

	EXPECT(!ret, "cannot move to %s: %s", group, strerror(-ret));
}

static void must_switch(const char *group, bool on)
{
	int ret = set_pressure(group, on);

	EXPECT(!ret, "cannot switch %s %s: %s", group, on ? "on" : "off",
	       strerror(-ret));
}

/* ---- the files ---- */

static void expect_mode(const char *group, const char *file)
{
	char path[GROUP_PATH];
	struct stat st;

	EXPECT(!stat(group_file(path, group, file), &st), "no %s", path);
	EXPECT(st.st_mode == (S_IFREG | 0644), "%s: mode %o", path, st.st_mode);
}

/* irq is missing where the whole system has none. */
static void expect_pressure_file(const char *group, enum psi_resource res)
{
	struct psi_sample sample;
	char file[32];
	int ret;

	ret = read_group(group, res, &sample);
	if (res == PSI_IRQ && ret && ret == psi_read(PSI_IRQ, &sample))
		return;
	EXPECT(!ret, "%s pressure of %s: %s", psi_name(res), group,
	       strerror(-ret));
	snprintf(file, sizeof(file), "%s.pressure", psi_name(res));
	expect_mode(group, file);
}

static void expect_switch(const char *group, const char *expected)
{
	char path[GROUP_PATH], text[16];
	ssize_t n;

	n = read_text(group_file(path, group, "cgroup.pressure"), text,
		      sizeof(text));
	EXPECT(n >= 0, "cannot read %s", path);
	EXPECT(!strcmp(text, expected), "%s reads \"%s\"", path, text);
}

static void expect_files(const char *group)
{
	enum psi_resource res;

	for (res = 0; res < PSI_NR_RESOURCES; res++)
		expect_pressure_file(group, res);
	expect_mode(group, "cgroup.pressure");
	expect_switch(group, "1\n");
}

static enum psi_result files(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *child = make_group(parent, "child");

	expect_files(parent);
	expect_files(child);
	/* With something in them, too. */
	start_spinners(child, 2);
	sleep_ms(2500);
	expect_files(parent);
	expect_files(child);
	return PSI_PASS;
}

static enum psi_result root_files(void)
{
	REQUIRE(have_groups(), NO_GROUPS);
	expect_files(CGROUP_ROOT);
	return PSI_PASS;
}

/* @b was read between @a and @c, and is about the same. */
static bool in_between(const struct psi_line *a, const struct psi_line *b,
		       const struct psi_line *c)
{
	return a->total <= b->total && b->total <= c->total &&
	       (!memcmp(a->avg, b->avg, sizeof(b->avg)) ||
		!memcmp(c->avg, b->avg, sizeof(b->avg)));
}

static void expect_root_agrees(enum psi_resource res)
{
	struct psi_sample before, root, after;

	EXPECT(!psi_read(res, &before) && !read_group(CGROUP_ROOT, res, &root) &&
	       !psi_read(res, &after), "cannot read %s", psi_name(res));
	EXPECT(in_between(&before.some, &root.some, &after.some) &&
	       in_between(&before.full, &root.full, &after.full),
	       "%s: the root group shows something else", psi_name(res));
}

static enum psi_result root_agrees(void)
{
	const char *disk = slow_disk(5);
	int i, res;

	REQUIRE(have_groups(), NO_GROUPS);
	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	if (disk)
		start_load(0, read_disk, (void *)disk);
	for (i = 0; i < 30; i++) {
		sleep_ms(100);
		for (res = 0; res < nr_resources(CGROUP_ROOT); res++)
			expect_root_agrees(res);
	}
	return PSI_PASS;
}

/* ---- the switch ---- */

/* 0 or -errno */
static int write_to_group(const char *group, const char *file, const char *text)
{
	int fd = open_in_group(group, file, O_WRONLY);
	int ret = 0;

	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

static enum psi_result switch_values(void)
{
	static const struct {
		const char *text;
		int error;
		const char *then;
	} values[] = {
		{ "0", 0, "0\n" },		{ "1", 0, "1\n" },
		{ "0\n", 0, "0\n" },		{ "0\n", 0, "0\n" },
		{ "1\n", 0, "1\n" },		{ "1\n", 0, "1\n" },
		{ "2", ERANGE, "1\n" },		{ "-1", ERANGE, "1\n" },
		{ "2\n", ERANGE, "1\n" },	{ "off", EINVAL, "1\n" },
		{ "0 1", EINVAL, "1\n" },	{ "\n", EINVAL, "1\n" },
		{ "0x", EINVAL, "1\n" },	{ "0", 0, "0\n" },
		{ "2", ERANGE, "0\n" },		{ "on", EINVAL, "0\n" },
	};
	const char *group = make_group(NULL, "g");
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		ret = write_to_group(group, "cgroup.pressure", values[i].text);
		EXPECT(ret == -values[i].error, "value %zu (%s): %s", i,
		       values[i].text, strerror(-ret));
		expect_switch(group, values[i].then);
	}
	return PSI_PASS;
}

static bool is_listed(const char *group, const char *file)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	dir = opendir(group);
	EXPECT(dir, "cannot open %s", group);
	while ((entry = readdir(dir)))
		found |= !strcmp(entry->d_name, file);
	closedir(dir);
	return found;
}

static void expect_hidden(const char *group)
{
	enum psi_resource res;
	char file[32];
	int fd;

	for (res = 0; res < PSI_NR_RESOURCES; res++) {
		snprintf(file, sizeof(file), "%s.pressure", psi_name(res));
		fd = open_in_group(group, file, O_RDONLY);
		EXPECT(fd == -ENOENT, "%s: %s", file,
		       fd < 0 ? strerror(-fd) : "it is there");
		EXPECT(!is_listed(group, file), "%s is listed", file);
	}
	expect_switch(group, "0\n");
}

static enum psi_result off_hides_files(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *child = make_group(parent, "child");

	must_switch(parent, false);
	expect_hidden(parent);
	expect_files(child);
	must_switch(child, false);
	must_switch(parent, true);
	expect_files(parent);
	expect_hidden(child);
	must_switch(child, true);
	expect_files(child);
	/* Removed while it is off. */
	must_switch(child, false);
	EXPECT(!remove_group(child), "it cannot be removed");
	return PSI_PASS;
}

/*
 * A group was on at @before, then off for OFF_MS, and on at @after. Switching
 * takes its time, longer in a kernel that checks itself; the group may have
 * counted then. A tick may pass before those who run notice.
 */
#define OFF_MS	1000
#define TICK_US	8000

static void expect_only_while_on(const struct psi_sample *before,
				 const struct psi_sample *after)
{
	__u64 counted = after->some.total - before->some.total;
	__u64 on = (after->after - before->before - OFF_MS * NSEC_PER_MSEC) /
		   NSEC_PER_USEC;

	EXPECT(after->some.total >= before->some.total, "total goes backwards");
	EXPECT(counted < on + TICK_US,
	       "%llu us, and it was on for %llu us", counted, on);
}

static enum psi_result off_counts_nothing(void)
{
	const char *group = make_group(NULL, "g");
	struct psi_sample on, off, again;

	watch_from_afar();
	start_spinners(group, 2);
	settle();
	must_switch(group, false);
	must_switch(group, true);
	EXPECT(!read_group(group, PSI_CPU, &on), "cannot read");
	must_switch(group, false);
	sleep_ms(OFF_MS);
	must_switch(group, true);
	EXPECT(!read_group(group, PSI_CPU, &off), "cannot read");
	expect_only_while_on(&on, &off);
	sleep_ms(200);
	EXPECT(!read_group(group, PSI_CPU, &again), "cannot read");
	EXPECT(close_to(psi_share(&off, &again).some, 100, TOLERANCE),
	       "%.1f %% thereafter", psi_share(&off, &again).some);
	return PSI_PASS;
}

/* While it is off, nothing is counted in @off, and all in @busy, if there is one. */
static void expect_not_counted(const char *off, const char *busy)
{
	struct psi_sample before, after, from, to;

	EXPECT(!read_group(off, PSI_CPU, &before), "cannot read");
	must_switch(off, false);
	EXPECT(!busy || !read_group(busy, PSI_CPU, &from), "cannot read");
	sleep_ms(OFF_MS);
	EXPECT(!busy || !read_group(busy, PSI_CPU, &to), "cannot read");
	must_switch(off, true);
	EXPECT(!read_group(off, PSI_CPU, &after), "cannot read");
	expect_only_while_on(&before, &after);
	if (busy)
		EXPECT(close_to(psi_share(&from, &to).some, 100, TOLERANCE),
		       "%.1f %% in the group that was on",
		       psi_share(&from, &to).some);
}

static enum psi_result off_counts_no_children(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *child = make_group(parent, "child");
	const char *grandchild = make_group(child, "grandchild");

	watch_from_afar();
	start_spinners(grandchild, 2);
	settle();
	expect_not_counted(parent, grandchild);
	/* What is in a group that is off itself counts one level up, or not. */
	must_switch(child, false);
	expect_not_counted(parent, grandchild);
	must_switch(child, true);
	must_switch(grandchild, false);
	must_switch(child, false);
	expect_not_counted(parent, NULL);
	return PSI_PASS;
}

static void switch_root_on(void)
{
	set_pressure(CGROUP_ROOT, true);
	remove_all_groups();
}

static enum psi_result off_at_the_root(void)
{
	const char *group = make_group(NULL, "g");
	struct psi_share share;

	undo_later(switch_root_on);
	start_spinners(group, 2);
	settle();
	must_switch(CGROUP_ROOT, false);
	share = psi_watch(PSI_CPU, 500);
	EXPECT(share.some == 0, "the system goes on: %.1f %%", share.some);
	expect_share(group, PSI_CPU, 100, 0, 500, TOLERANCE);
	must_switch(CGROUP_ROOT, true);
	share = psi_watch(PSI_CPU, 500);
	EXPECT(close_to(share.some, 100, TOLERANCE), "%.1f %% thereafter", share.some);
	return PSI_PASS;
}

static short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	EXPECT(poll(&p, 1, 0) >= 0, "poll: %s", strerror(errno));
	return p.revents;
}

/* The file has gone from under it. */
static void expect_dead(int fd)
{
	char text[512];

	EXPECT(pread(fd, text, sizeof(text), 0) < 0 && errno == ENODEV,
	       "it can be read");
	EXPECT(write(fd, QUIET_TRIGGER, strlen(QUIET_TRIGGER)) < 0 &&
	       errno == ENODEV, "it can be written");
	EXPECT(poll_now(fd) & POLLERR, "poll has nothing to say");
}

static enum psi_result open_file_is_dead(void)
{
	const char *group = make_group(NULL, "g");
	int unused, read_once, triggered;
	struct psi_sample sample;

	unused = open_group(group, PSI_IO, O_RDWR);
	read_once = open_group(group, PSI_CPU, O_RDWR);
	triggered = add_trigger(group, PSI_MEMORY, QUIET_TRIGGER);
	EXPECT(unused >= 0 && read_once >= 0 && triggered >= 0, "cannot open");
	EXPECT(!psi_read_fd(read_once, PSI_CPU, &sample), "cannot read");
	EXPECT(!(poll_now(triggered) & (POLLERR | POLLPRI)), "it fires");

	must_switch(group, false);
	expect_dead(unused);
	expect_dead(read_once);
	expect_dead(triggered);
	must_switch(group, true);
	expect_dead(unused);
	expect_dead(read_once);
	expect_dead(triggered);
	close(unused);
	close(read_once);
	close(triggered);

	triggered = add_trigger(group, PSI_MEMORY, QUIET_TRIGGER);
	EXPECT(triggered >= 0, "no new trigger after on");
	EXPECT(!(poll_now(triggered) & POLLERR), "a new trigger is dead");
	close(triggered);
	return PSI_PASS;
}

/* ---- nothing at all ---- */

static void expect_no_files(const char *group)
{
	static const char * const names[] = {
		"cpu.pressure", "memory.pressure", "io.pressure",
		"irq.pressure", "cgroup.pressure",
	};
	char path[GROUP_PATH];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT(access(group_file(path, group, names[i]), F_OK),
		       "%s is there", path);
}

#define GROUP_WITHOUT	CGROUP_ROOT "/psi_none"

static void remove_group_without(void)
{
	remove_group(GROUP_WITHOUT);
}

static void expect_no_group_files(void)
{
	REQUIRE(!access(CGROUP_ROOT "/cgroup.controllers", F_OK),
		"needs cgroup2");
	expect_no_files(CGROUP_ROOT);
	undo_later(remove_group_without);
	EXPECT(!mkdir(GROUP_WITHOUT, 0755), "cannot make a group");
	start_in_group(GROUP_WITHOUT, 0, spin, NULL);
	settle();
	expect_no_files(GROUP_WITHOUT);
	stop_all_loads();
	EXPECT(!remove_group(GROUP_WITHOUT), "it cannot be removed");
}

static enum psi_result psi_off(void)
{
	REQUIRE(booted_with("psi=0"), "needs psi=0");
	expect_no_group_files();
	return PSI_PASS;
}

static enum psi_result cgroup_disabled(void)
{
	struct psi_share share;

	REQUIRE(booted_with("cgroup_disable=pressure"),
		"needs cgroup_disable=pressure");
	expect_no_group_files();
	watch_from_afar();
	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	settle();
	share = psi_watch(PSI_CPU, WATCH_MS);
	EXPECT(close_to(share.some, 100, TOLERANCE), "/proc/pressure is wrong");
	return PSI_PASS;
}

/* ---- what a group shows ---- */

/* So many busy tasks of a group, and of nobody's, on one CPU. */
static enum psi_result expect_group(int tasks, int outsiders, double some,
				    double full)
{
	const char *group = make_group(NULL, "g");

	watch_from_afar();
	while (outsiders--)
		start_load(0, spin, NULL);
	start_spinners(group, tasks);
	settle();
	expect_share(group, PSI_CPU, some, full, WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

static enum psi_result waits_for_outsider(void)
{
	return expect_group(1, 1, 50, 50);
}

static enum psi_result alone(void)
{
	return expect_group(1, 0, 0, 0);
}

static enum psi_result two_of_one_group(void)
{
	return expect_group(2, 0, 100, 0);
}

/*
 * Nobody looks for 10 s: the group's own periods of 2 s are 4 or 5 then, and the
 * first of them may have begun before the load.
 */
static enum psi_result averages(void)
{
	const char *group = make_group(NULL, "g");
	struct psi_sample sample;
	unsigned int avg10;

	watch_from_afar();
	start_spinners(group, 2);
	sleep_ms(10000);
	EXPECT(!read_group(group, PSI_CPU, &sample), "cannot read");
	avg10 = sample.some.avg[AVG10];
	psi_note("avg10=%u.%02u", avg10 / 100, avg10 % 100);
	EXPECT(avg10 > 5000 && avg10 < 6800, "it should be from 55 to 63");
	return PSI_PASS;
}

static enum psi_result children_contend(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *a = make_group(parent, "a");
	const char *b = make_group(parent, "b");
	const struct expected e[] = {
		{ parent, PSI_CPU, 100, 0 },
		{ a, PSI_CPU, 50, 50 },
		{ b, PSI_CPU, 50, 50 },
	};

	watch_from_afar();
	start_spinners(a, 1);
	start_spinners(b, 1);
	settle();
	expect_shares(e, ARRAY_SIZE(e), WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

/* On two CPUs, one of which is contended. */
static enum psi_result half_contended(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *a = make_group(parent, "a");
	const char *b = make_group(parent, "b");
	const struct expected e[] = {
		{ parent, PSI_CPU, 50, 0 },
		{ a, PSI_CPU, 50, 50 },
		{ b, PSI_CPU, 25, 25 },
	};

	watch_from_afar();
	start_spinners(a, 1);
	start_spinners(b, 1);
	start_in_group(b, 1, spin, NULL);
	settle();
	expect_shares(e, ARRAY_SIZE(e), WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

static enum psi_result io_of_one_group(void)
{
	const char *parent = make_group(NULL, "parent");
	const char *waits = make_group(parent, "waits");
	const char *works = make_group(parent, "works");
	const struct expected e[] = {
		{ parent, PSI_IO, 100, 0 },
		{ waits, PSI_IO, 100, 100 },
		{ works, PSI_IO, 0, 0 },
	};
	const char *disk = slow_disk(50);

	REQUIRE(disk, "needs null_blk");
	watch_from_afar();
	start_in_group(waits, 0, read_disk, (void *)disk);
	start_spinners(works, 1);
	settle();
	expect_shares(e, ARRAY_SIZE(e), WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

/* ---- D-1: readers ---- */

#define BURST_MS	1	/* less than a tick, even if both do */
#define PERIOD_MS	10

/* Ticks and periods begin together, so who has the CPU first does not vary. */
#define IN_STEP_MS	20

/* Reads (or spends that time otherwise) when the bursts of a period are over. */
struct burst_reader {
	__u64 start;
	const char *group;
	bool reads;
};

#define TURN_NS		(300 * NSEC_PER_USEC)
#define TURN_AFTER_NS	(7 * NSEC_PER_MSEC)

static void bursts(void *start)
{
	__u64 next = *(__u64 *)start;

	for (;;) {
		sleep_until(next);
		burn_ms(BURST_MS);
		next += PERIOD_MS * NSEC_PER_MSEC;
	}
}

static void read_between_bursts(void *arg)
{
	const struct burst_reader *r = arg;
	__u64 next = r->start + TURN_AFTER_NS;
	struct psi_sample sample;
	__u64 end;

	for (;;) {
		sleep_until(next);
		end = thread_cpu_ns() + TURN_NS;
		if (r->reads && read_group(r->group, PSI_CPU, &sample))
			return;
		while (thread_cpu_ns() < end)
			;
		next += PERIOD_MS * NSEC_PER_MSEC;
	}
}

static double burst_pressure(const char *group, bool reads)
{
	struct burst_reader r = { .group = group, .reads = reads };
	struct psi_sample from, to;
	double percent;

	r.start = (now_ns() / (IN_STEP_MS * NSEC_PER_MSEC) + 10) * IN_STEP_MS *
		  NSEC_PER_MSEC;
	start_in_group(group, 0, bursts, &r.start);
	start_in_group(group, 0, bursts, &r.start);
	start_load(0, read_between_bursts, &r);
	sleep_until(r.start + 505 * NSEC_PER_MSEC);
	EXPECT(!read_group(group, PSI_CPU, &from), "cannot read");
	sleep_until(r.start + 5505 * NSEC_PER_MSEC);
	EXPECT(!read_group(group, PSI_CPU, &to), "cannot read");
	percent = psi_share(&from, &to).some;
	psi_note("%s: %.2f %%", reads ? "read" : "not read", percent);
	stop_all_loads();
	return percent;
}

static enum psi_result bursts_survive_readers(void)
{
	const char *group = make_group(NULL, "g");
	double without, with;

	pin_to_cpu(0);
	without = burst_pressure(group, false);
	with = burst_pressure(group, true);
	EXPECT(without > 5, "that is no load");
	EXPECT(close_to(with, without, without * TOLERANCE / 100),
	       "readers see %.2f %%, without them there is %.2f %%", with,
	       without);
	return PSI_PASS;
}

/* ---- moving ---- */

static enum psi_result move_waiting(void)
{
	const char *from = make_group(NULL, "from");
	const char *to = make_group(NULL, "to");
	const double third = 100.0 / 3;
	const struct expected one[] = {
		{ from, PSI_CPU, 100, third }, { to, PSI_CPU, 2 * third, 2 * third },
	}, two[] = {
		{ from, PSI_CPU, 2 * third, 2 * third }, { to, PSI_CPU, 100, third },
	}, three[] = {
		{ from, PSI_CPU, 0, 0 }, { to, PSI_CPU, 100, 0 },
	};
	pid_t pids[3];
	int i;

	watch_from_afar();
	for (i = 0; i < 3; i++)
		pids[i] = start_in_group(from, 0, spin, NULL);
	settle();
	expect_share(from, PSI_CPU, 100, 0, WATCH_MS, TOLERANCE);
	must_move(to, pids[0]);
	expect_shares(one, ARRAY_SIZE(one), WATCH_MS, TOLERANCE);
	must_move(to, pids[1]);
	expect_shares(two, ARRAY_SIZE(two), WATCH_MS, TOLERANCE);
	must_move(to, pids[2]);
	expect_shares(three, ARRAY_SIZE(three), WATCH_MS, TOLERANCE);
	expect_still(from);
	stop_all_loads();
	expect_still(to);
	return PSI_PASS;
}

#define HOPS	101

/* Two groups, and a task that has been moved to the second, at last. */
struct hops {
	const char *group[2];
	atomic_bool done;
};

static struct hops *make_hops(void)
{
	struct hops *h = shared_alloc(sizeof(*h));

	h->group[0] = make_group(NULL, "from");
	h->group[1] = make_group(NULL, "to");
	return h;
}

static void hop_and_spin(void *hops)
{
	struct hops *h = hops;
	int i;

	for (i = 1; i <= HOPS; i++) {
		burn_ms(1);
		if (join_cgroup(h->group[i % 2]))
			return;
	}
	h->done = true;
	spin(NULL);
}

/* It shares the CPU with an outsider. */
static enum psi_result expect_hopped(const struct hops *h)
{
	const struct expected e[] = {
		{ h->group[0], PSI_CPU, 0, 0 },
		{ h->group[1], PSI_CPU, 50, 50 },
	};

	expect_shares(e, ARRAY_SIZE(e), WATCH_MS, TOLERANCE);
	expect_all_still(h->group, 1);
	stop_all_loads();
	expect_all_still(h->group, 2);
	return PSI_PASS;
}

static enum psi_result move_itself(void)
{
	struct hops *h = make_hops();

	watch_from_afar();
	start_load(0, spin, NULL);
	start_in_group(h->group[0], 0, hop_and_spin, h);
	EXPECT(wait_until(h->done, 10000), "it does not get there");
	return expect_hopped(h);
}

static enum psi_result move_running(void)
{
	struct hops *h = make_hops();
	pid_t pid;
	int i;

	watch_from_afar();
	start_load(0, spin, NULL);
	pid = start_in_group(h->group[0], 0, spin, NULL);
	for (i = 1; i <= HOPS; i++) {
		sleep_ms(1);
		must_move(h->group[i % 2], pid);
	}
	return expect_hopped(h);
}

/*
 * A single read takes longer than all that is done meanwhile, but not the 5 s
 * after which null_blk gives up.
 */
#define LONG_READ_MS	4500

static enum psi_result move_in_io(void)
{
	const char *from = make_group(NULL, "from");
	const char *to = make_group(NULL, "to");
	const struct expected e[] = {
		{ from, PSI_IO, 0, 0 }, { to, PSI_IO, 100, 100 },
	};
	const char *disk = slow_disk(LONG_READ_MS);
	pid_t pid;

	REQUIRE(disk, "needs null_blk");
	watch_from_afar();
	pid = start_in_group(from, 0, read_disk, (void *)disk);
	settle();
	expect_share(from, PSI_IO, 100, 100, 500, TOLERANCE);
	must_move(to, pid);
	expect_shares(e, ARRAY_SIZE(e), 1000, TOLERANCE);
	expect_still(from);
	must_move(from, pid);
	expect_share(from, PSI_IO, 100, 100, 500, TOLERANCE);
	expect_still(to);
	must_move(CGROUP_ROOT, pid);
	expect_still(from);
	return PSI_PASS;
}

static enum psi_result move_in_memory_stall(void)
{
	const char *from = make_group(NULL, "from");
	const char *to = make_group(NULL, "to");
	const struct expected e[] = {
		{ from, PSI_MEMORY, 0, 0 }, { to, PSI_MEMORY, 100, 100 },
	};
	pid_t pid;

	watch_from_afar();
	pid = start_held_back(0, from, top_group());
	/* Between two stalls, of 2 s each, are a few ms: see psi_memory.c. */
	expect_share(from, PSI_MEMORY, 100, 100, 4000, 3);
	must_move(to, pid);
	expect_shares(e, ARRAY_SIZE(e), 4000, 3);
	expect_still(from);
	stop_all_loads();
	expect_still(to);
	return PSI_PASS;
}

/* From the deepest group to another deep one, and to their common parent. */
static enum psi_result move_across_levels(void)
{
	const char *common = make_group(NULL, "common");
	const char *a = make_group(common, "a");
	const char *a_leaf = make_group(a, "leaf");
	const char *b = make_group(common, "b");
	const char *b_leaf = make_group(b, "leaf");
	const char *all[5] = { common, a, a_leaf, b, b_leaf };
	const struct expected leaves[] = {
		{ common, PSI_CPU, 100, 0 },
		{ a, PSI_CPU, 50, 50 }, { a_leaf, PSI_CPU, 50, 50 },
		{ b, PSI_CPU, 50, 50 }, { b_leaf, PSI_CPU, 50, 50 },
	}, up[] = {
		{ common, PSI_CPU, 100, 0 },
		{ a, PSI_CPU, 0, 0 }, { a_leaf, PSI_CPU, 0, 0 },
		{ b, PSI_CPU, 50, 50 }, { b_leaf, PSI_CPU, 0, 0 },
	};
	pid_t first, second;

	watch_from_afar();
	first = start_in_group(a_leaf, 0, spin, NULL);
	second = start_in_group(a_leaf, 0, spin, NULL);
	must_move(b_leaf, second);
	settle();
	expect_shares(leaves, ARRAY_SIZE(leaves), WATCH_MS, TOLERANCE);
	must_move(common, first);
	must_move(b, second);
	expect_shares(up, ARRAY_SIZE(up), WATCH_MS, TOLERANCE);
	expect_all_still(&all[1], 2);
	stop_all_loads();
	expect_all_still(all, ARRAY_SIZE(all));
	return PSI_PASS;
}

/* ---- threads ---- */

#define NR_THREADS	3

/* Known to those who move them; 0 while it has not started. */
struct spinning_process {
	atomic_int tid[NR_THREADS];
};

static void *spin_thread(void *tid)
{
	*(atomic_int *)tid = gettid();
	spin(NULL);
	return NULL;
}

/* The first thread only sleeps. */
static void spin_in_threads(void *process)
{
	struct spinning_process *p = process;
	pthread_t thread;
	int i;

	for (i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread, NULL, spin_thread, &p->tid[i]))
			return;
	for (;;)
		pause();
}

static pid_t start_threads(struct spinning_process *p, const char *group)
{
	pid_t pid = start_in_group(group, 0, spin_in_threads, p);
	int i;

	for (i = 0; i < NR_THREADS; i++)
		EXPECT(wait_until(p->tid[i], 5000), "a thread does not start");
	settle();
	return pid;
}

static enum psi_result move_process(void)
{
	struct spinning_process *p = shared_alloc(sizeof(*p));
	const char *from = make_group(NULL, "from");
	const char *to = make_group(NULL, "to");
	const struct expected e[] = {
		{ from, PSI_CPU, 0, 0 }, { to, PSI_CPU, 100, 0 },
	};
	pid_t pid;

	watch_from_afar();
	pid = start_threads(p, from);
	expect_share(from, PSI_CPU, 100, 0, WATCH_MS, TOLERANCE);
	must_move(to, pid);
	expect_shares(e, ARRAY_SIZE(e), WATCH_MS, TOLERANCE);
	expect_still(from);
	return PSI_PASS;
}

static void must_move_thread(const char *group, pid_t tid)
{
	int ret = move_thread_to_group(group, tid);

	EXPECT(!ret, "cannot move a thread to %s: %s", group, strerror(-ret));
}

static enum psi_result move_threads(void)
{
	struct spinning_process *p = shared_alloc(sizeof(*p));
	const char *domain = make_group(NULL, "domain");
	const char *one = make_group(domain, "one");
	const char *two = make_group(domain, "two");
	const double third = 100.0 / 3;
	const struct expected split[] = {
		{ domain, PSI_CPU, 100, 0 },
		{ one, PSI_CPU, 100, third },
		{ two, PSI_CPU, 2 * third, 2 * third },
	}, back[] = {
		{ domain, PSI_CPU, 100, 0 },
		{ one, PSI_CPU, 2 * third, 2 * third },
		{ two, PSI_CPU, 0, 0 },
	};

	EXPECT(!set_cgroup(one, "cgroup.type", "threaded") &&
	       !set_cgroup(two, "cgroup.type", "threaded"), "cgroup.type");
	watch_from_afar();
	start_threads(p, domain);
	must_move_thread(one, p->tid[0]);
	must_move_thread(one, p->tid[1]);
	must_move_thread(two, p->tid[2]);
	expect_shares(split, ARRAY_SIZE(split), WATCH_MS, TOLERANCE);
	must_move_thread(domain, p->tid[0]);
	must_move_thread(domain, p->tid[2]);
	expect_shares(back, ARRAY_SIZE(back), WATCH_MS, TOLERANCE);
	expect_still(two);
	must_move_thread(domain, p->tid[1]);
	expect_still(one);
	return PSI_PASS;
}

/* ---- off and on under load ---- */

#define LEVELS		5

/*
 * Four tasks on one CPU: two in the leaf, one each at levels 1 and 2. What the
 * levels show, from the top, is a matter of how many of them are below each.
 */
static const double full_of_level[LEVELS] = { 0, 0, 25, 50, 50 };

static void make_levels(const char *levels[LEVELS])
{
	char name[8];
	int level;

	for (level = 0; level < LEVELS; level++) {
		snprintf(name, sizeof(name), "level%d", level);
		levels[level] = make_group(level ? levels[level - 1] : NULL,
					   name);
	}
}

/* All levels but one. */
static void expect_levels(const char * const levels[LEVELS], int but,
			  unsigned int ms, double tolerance)
{
	struct expected e[LEVELS];
	int level, n = 0;

	for (level = 0; level < LEVELS; level++)
		if (level != but)
			e[n++] = (struct expected) {
				levels[level], PSI_CPU, 100,
				full_of_level[level]
			};
	expect_shares(e, n, ms, tolerance);
}

/*
 * Four tasks of 4 ms a turn: 304 ms are whole rounds. What one round more or
 * less makes of that is 1.3 %.
 */
#define RIGHT_AT_ONCE_MS	304

static enum psi_result off_and_on_levels(void)
{
	const char *levels[LEVELS];
	pid_t leaver;
	int level;

	make_levels(levels);
	watch_from_afar();
	start_spinners(levels[LEVELS - 1], 2);
	start_spinners(levels[2], 1);
	leaver = start_in_group(levels[1], 0, spin, NULL);
	settle();
	expect_levels(levels, -1, WATCH_MS, TOLERANCE);
	for (level = 0; level < LEVELS; level++) {
		must_switch(levels[level], false);
		expect_levels(levels, level, 1000, TOLERANCE);
		/* Goes where it is not counted, and comes back. */
		must_move(levels[LEVELS - 1], leaver);
		sleep_ms(20);
		must_move(levels[1], leaver);
		must_switch(levels[level], true);
		expect_levels(levels, -1, RIGHT_AT_ONCE_MS, 3);
	}
	stop_all_loads();
	expect_all_still(levels, LEVELS);
	return PSI_PASS;
}

/* Several levels at a time, and on again in the other order. */
static enum psi_result off_and_on_all_levels(void)
{
	const char *levels[LEVELS];
	int level;

	make_levels(levels);
	watch_from_afar();
	for (level = 0; level < LEVELS; level++)
		must_switch(levels[level], false);
	start_spinners(levels[LEVELS - 1], 2);
	start_spinners(levels[2], 1);
	start_spinners(levels[1], 1);
	settle();
	for (level = LEVELS - 1; level >= 0; level--)
		must_switch(levels[level], true);
	expect_levels(levels, -1, RIGHT_AT_ONCE_MS, 3);
	for (level = LEVELS - 1; level >= 0; level--)
		must_switch(levels[level], false);
	stop_all_loads();
	for (level = 0; level < LEVELS; level++)
		must_switch(levels[level], true);
	expect_all_still(levels, LEVELS);
	return PSI_PASS;
}

static enum psi_result come_and_go_while_off(void)
{
	const char *group = make_group(NULL, "g");
	const char *child = make_group(group, "child");
	pid_t first, second;

	watch_from_afar();
	must_switch(group, false);
	first = start_in_group(child, 0, spin, NULL);
	second = start_in_group(child, 0, spin, NULL);
	settle();
	must_switch(group, true);
	expect_share(group, PSI_CPU, 100, 0, RIGHT_AT_ONCE_MS, TOLERANCE);
	must_switch(group, false);
	stop_load(first);
	must_switch(group, true);
	expect_share(group, PSI_CPU, 0, 0, RIGHT_AT_ONCE_MS, TOLERANCE);
	must_switch(group, false);
	must_move(CGROUP_ROOT, second);
	must_switch(group, true);
	expect_still(group);
	expect_still(child);
	return PSI_PASS;
}

static enum psi_result off_and_on_in_io(void)
{
	const char *group = make_group(NULL, "g");
	const char *disk = slow_disk(LONG_READ_MS);
	pid_t pid;

	REQUIRE(disk, "needs null_blk");
	watch_from_afar();
	pid = start_in_group(group, 0, read_disk, (void *)disk);
	settle();
	must_switch(group, false);
	settle();
	must_switch(group, true);
	expect_share(group, PSI_IO, 100, 100, 500, TOLERANCE);
	must_switch(group, false);
	must_move(CGROUP_ROOT, pid);
	must_switch(group, true);
	expect_still(group);
	must_switch(group, false);
	must_move(group, pid);
	must_switch(group, true);
	expect_share(group, PSI_IO, 100, 100, 500, TOLERANCE);
	return PSI_PASS;
}

static enum psi_result off_and_on_in_memory_stall(void)
{
	const char *group = make_group(NULL, "g");
	pid_t pid;

	watch_from_afar();
	pid = start_held_back(0, group, top_group());
	must_switch(group, false);
	settle();
	must_switch(group, true);
	expect_share(group, PSI_MEMORY, 100, 100, 4000, 3);
	must_switch(group, false);
	must_move(CGROUP_ROOT, pid);
	must_switch(group, true);
	expect_still(group);
	return PSI_PASS;
}

/* Not below the top group, so that the root has another child. */
#define BESIDE	CGROUP_ROOT "/psi_beside"

static void remove_beside(void)
{
	set_cgroup(BESIDE, "cgroup.kill", "1");
	remove_group(BESIDE);
}

/* A trigger for each stall of the system, or of a group. */
static void watch_all(const char *group, int fds[])
{
	enum psi_resource res;
	size_t nr = 0;

	for (res = PSI_CPU; res <= PSI_IO; res++) {
		if (group) {
			fds[nr++] = add_trigger(group, res, "some 1000 2000000");
			fds[nr++] = add_trigger(group, res, "full 1000 2000000");
		} else {
			fds[nr++] = open_trigger(psi_path(res), "some 1000 2000000");
			fds[nr++] = open_trigger(psi_path(res), "full 1000 2000000");
		}
		EXPECT(fds[nr - 1] >= 0 && fds[nr - 2] >= 0, "no trigger for %s", psi_name(res));
	}
}

static void leave_and_come_back(const char *group)
{
	int fds[2][6];
	size_t i;

	watch_all(NULL, fds[0]);
	watch_all(group, fds[1]);
	must_switch(group, false);
	sleep_ms(20);
	must_switch(group, true);
	for (i = 0; i < ARRAY_SIZE(fds[0]); i++) {
		close(fds[0][i]);
		close(fds[1][i]);
	}
}

/*
 * Where a busy group leaves, the others may be all stalled from then on. That is noticed
 * where it was, and not where it goes, which may be nowhere.
 */
static enum psi_result off_with_triggers(void)
{
	const char *outer = make_group(NULL, "outer"), *inner = make_group(outer, "inner");
	const char * const groups[] = { CGROUP_ROOT, top_group(), outer, inner, BESIDE };
	const char *disk = slow_disk(LONG_READ_MS);
	pid_t spinner;
	size_t i;

	REQUIRE(disk, "needs null_blk");
	undo_later(remove_beside);
	undo_later(switch_root_on);
	watch_from_afar();
	/* The one that has the CPU leaves first, as it was made first. */
	EXPECT(!mkdir(BESIDE, 0755), "mkdir: %s", strerror(errno));
	start_in_group(inner, 0, spin, NULL);
	spinner = start_in_group(BESIDE, 0, spin, NULL);
	settle();
	for (i = 0; i < 4 * ARRAY_SIZE(groups); i++)
		leave_and_come_back(groups[i % ARRAY_SIZE(groups)]);
	stop_load(spinner);

	start_in_group(BESIDE, 0, read_disk, (void *)disk);
	start_held_back(0, BESIDE, BESIDE);
	settle();
	for (i = 0; i < 4 * ARRAY_SIZE(groups); i++)
		leave_and_come_back(groups[i % ARRAY_SIZE(groups)]);
	stop_all_loads();
	for (i = 1; i < ARRAY_SIZE(groups); i++)
		expect_still(groups[i]);
	return PSI_PASS;
}

/* ---- triggers ---- */

/* Has it fired within @ms? */
static bool fires(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	EXPECT(poll(&p, 1, ms) >= 0, "poll: %s", strerror(errno));
	EXPECT(!(p.revents & POLLERR), "the trigger has gone");
	return p.revents & POLLPRI;
}

static enum psi_result trigger_of_one_group(void)
{
	const char *busy = make_group(NULL, "busy");
	const char *idle = make_group(NULL, "idle");
	int busy_fd, idle_fd;

	watch_from_afar();
	busy_fd = add_trigger(busy, PSI_CPU, "some 100000 1000000");
	idle_fd = add_trigger(idle, PSI_CPU, "some 100000 1000000");
	EXPECT(busy_fd >= 0 && idle_fd >= 0, "no trigger");
	EXPECT(!fires(busy_fd, 2000), "it fires without load");
	start_spinners(busy, 2);
	EXPECT(fires(busy_fd, 2000), "it does not fire");
	EXPECT(!fires(idle_fd, 2000), "it fires for others");
	close(busy_fd);
	close(idle_fd);
	return PSI_PASS;
}

/* ---- delegation ---- */

#define NOBODY		65534

/* What an ordinary user may do; all of it 0 or -errno. */
struct delegated {
	const char *parent, *group;
	int off, on;
	int half_second, short_window;
	int parent_switch, parent_trigger;
	bool fired;
};

static void try_delegated(struct delegated *d)
{
	struct pollfd p = { .events = POLLPRI };

	d->off = set_pressure(d->group, false);
	d->on = set_pressure(d->group, true);
	d->short_window = add_trigger(d->group, PSI_CPU, "some 100000 499999");
	p.fd = add_trigger(d->group, PSI_CPU, "some 100000 500000");
	d->half_second = p.fd < 0 ? p.fd : 0;
	d->fired = poll(&p, 1, 8000) == 1 && p.revents & POLLPRI &&
		   !(p.revents & POLLERR);
	d->parent_switch = set_pressure(d->parent, false);
	d->parent_trigger = add_trigger(d->parent, PSI_CPU,
					"some 100000 2000000");
}

static void as_nobody(struct delegated *d)
{
	pid_t pid = fork();

	EXPECT(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		try_delegated(d);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void give_to_nobody(const char *group, const char *file)
{
	char path[GROUP_PATH];

	EXPECT(!chown(group_file(path, group, file), NOBODY, NOBODY),
	       "chown %s", path);
}

static enum psi_result delegation(void)
{
	struct delegated *d = shared_alloc(sizeof(*d));

	d->off = 1;	/* which is not what it will be */
	d->parent = make_group(NULL, "parent");
	d->group = make_group(d->parent, "child");
	give_to_nobody(d->group, "");
	give_to_nobody(d->group, "cgroup.pressure");
	give_to_nobody(d->group, "cpu.pressure");
	start_spinners(d->group, 2);
	settle();
	as_nobody(d);
	EXPECT(!d->off && !d->on, "the switch: %s, %s", strerror(-d->off),
	       strerror(-d->on));
	EXPECT(!d->half_second, "a window of 500 ms: %s", strerror(-d->half_second));
	EXPECT(d->fired, "the trigger does not fire");
	EXPECT(d->short_window == -EINVAL, "a shorter one: %d", d->short_window);
	EXPECT(d->parent_switch == -EACCES, "the parent's switch: %d",
	       d->parent_switch);
	EXPECT(d->parent_trigger == -EACCES, "the parent's trigger: %d",
	       d->parent_trigger);
	return PSI_PASS;
}

/* ---- groups that go away ---- */

struct waiter {
	const char *name;
	int (*wait)(int fd, int ms);
	int fd;
	int happened;
	atomic_bool woken;
	pthread_t thread;
};

static void *wait_for_trigger(void *waiter)
{
	struct waiter *w = waiter;

	w->happened = w->wait(w->fd, 20000);
	w->woken = true;
	return NULL;
}

#define NR_WAITERS	3

/* Not on the stack: if they are not woken they outlive the case. */
static struct waiter *start_waiters(const char *group)
{
	static const struct waiter ways[NR_WAITERS] = {
		{ "poll", wait_by_poll },
		{ "epoll", wait_by_epoll },
		{ "select", wait_by_select },
	};
	struct waiter *w = calloc(NR_WAITERS, sizeof(*w));
	int i;

	EXPECT(w, "no memory");
	for (i = 0; i < NR_WAITERS; i++) {
		w[i] = ways[i];
		w[i].fd = add_trigger(group, PSI_CPU, QUIET_TRIGGER);
		EXPECT(w[i].fd >= 0, "no trigger: %s", strerror(-w[i].fd));
		EXPECT(!pthread_create(&w[i].thread, NULL, wait_for_trigger,
				       &w[i]), "no thread");
	}
	sleep_ms(1500);
	for (i = 0; i < NR_WAITERS; i++)
		EXPECT(!w[i].woken, "%s returns: %x", w[i].name, w[i].happened);
	return w;
}

static void expect_woken(struct waiter *w)
{
	int i;

	for (i = 0; i < NR_WAITERS; i++) {
		EXPECT(wait_until(w[i].woken, 1000), "%s is not woken", w[i].name);
		pthread_join(w[i].thread, NULL);
		EXPECT(w[i].happened & POLLERR, "%s says %x", w[i].name,
		       w[i].happened);
		expect_dead(w[i].fd);
	}
}

static void close_waiters(struct waiter *w)
{
	int i;

	for (i = 0; i < NR_WAITERS; i++)
		close(w[i].fd);
	free(w);
}

static enum psi_result removal_wakes(void)
{
	const char *group = make_group(NULL, "g");
	struct waiter *w = start_waiters(group);

	EXPECT(!remove_group(group), "it cannot be removed");
	expect_woken(w);
	/* Another one of that name is none of their business. */
	group = make_group(NULL, "g");
	expect_dead(w[0].fd);
	close_waiters(w);
	return PSI_PASS;
}

static enum psi_result off_wakes(void)
{
	const char *group = make_group(NULL, "g");
	struct waiter *w = start_waiters(group);
	int i;

	must_switch(group, false);
	expect_woken(w);
	must_switch(group, true);
	for (i = 0; i < NR_WAITERS; i++)
		expect_dead(w[i].fd);
	EXPECT(!remove_group(group), "it cannot be removed");
	for (i = 0; i < NR_WAITERS; i++)
		expect_dead(w[i].fd);
	close_waiters(w);
	return PSI_PASS;
}

/* The epoll set outlives the group, and the trigger's fd the removal. */
static enum psi_result epoll_after_removal(void)
{
	struct epoll_event event = { .events = EPOLLPRI };
	const char *group = make_group(NULL, "g");
	int deleted, closed, epfd;

	deleted = add_trigger(group, PSI_CPU, QUIET_TRIGGER);
	closed = add_trigger(group, PSI_IO, QUIET_TRIGGER);
	epfd = epoll_create1(0);
	EXPECT(deleted >= 0 && closed >= 0 && epfd >= 0, "cannot open");
	EXPECT(!epoll_ctl(epfd, EPOLL_CTL_ADD, deleted, &event) &&
	       !epoll_ctl(epfd, EPOLL_CTL_ADD, closed, &event), "epoll_ctl");
	EXPECT(!remove_group(group), "it cannot be removed");
	sleep_ms(1000);
	EXPECT(epoll_wait(epfd, &event, 1, 0) == 1 && event.events & EPOLLERR,
	       "no error");
	EXPECT(!epoll_ctl(epfd, EPOLL_CTL_DEL, deleted, NULL), "EPOLL_CTL_DEL");
	close(closed);
	EXPECT(!epoll_wait(epfd, &event, 1, 0), "still something to report");
	close(epfd);
	close(deleted);
	return PSI_PASS;
}

/* ---- deep ---- */

#define DEPTH		40

static enum psi_result deep(void)
{
	const char *groups[DEPTH];
	struct expected e[DEPTH];
	pid_t climber;
	char name[8];
	int i;

	watch_from_afar();
	for (i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "%d", i);
		groups[i] = make_group(i ? groups[i - 1] : NULL, name);
		e[i] = (struct expected) { groups[i], PSI_CPU, 100, 0 };
	}
	start_spinners(groups[DEPTH - 1], 1);
	climber = start_in_group(groups[DEPTH - 1], 0, spin, NULL);
	settle();
	expect_shares(e, DEPTH, WATCH_MS, TOLERANCE);

	must_move(groups[DEPTH / 2], climber);
	for (i = DEPTH / 2 + 1; i < DEPTH; i++)
		e[i] = (struct expected) { groups[i], PSI_CPU, 50, 50 };
	must_switch(groups[DEPTH / 4], false);
	must_switch(groups[DEPTH / 4], true);
	expect_shares(e, DEPTH, WATCH_MS, TOLERANCE);

	stop_all_loads();
	expect_all_still(groups, DEPTH);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-14 every group has the files, in the exact format", files },
	{ "R-14 the root group has them, too", root_files },
	{ "R-14 the root group and /proc/pressure agree", root_agrees },
	{ "R-14 cgroup.pressure takes 0 and 1, and nothing else",
	  switch_values },
	{ "R-14 while a group is off its files are not there",
	  off_hides_files },
	{ "R-14 while a group is off its totals do not grow",
	  off_counts_nothing },
	{ "R-14 while a group is off what is below it does not count there",
	  off_counts_no_children },
	{ "R-14 while the root is off the system stands still, and groups go on",
	  off_at_the_root, 0, 1 },
	{ "R-14 a file that was open when the group was off is dead",
	  open_file_is_dead },
	{ "R-10 R-14 with psi=0 no group has a pressure file", psi_off },
	{ "R-14 cgroup_disable=pressure is for groups only", cgroup_disabled },

	{ "R-3 a group of one task alone has no cpu pressure", alone },
	{ "R-3 a group that waits for an outsider is cpu some and full, 50 %",
	  waits_for_outsider },
	{ "R-3 a group of two tasks on one CPU is cpu some, never full",
	  two_of_one_group },
	{ "R-5 R-14 a group has averages of its own", averages },
	{ "R-3 two groups on one CPU: their parent is cpu some, never full",
	  children_contend },
	{ "R-4 a group on two CPUs, one contended, is 50 %",
	  half_contended, 4 },
	{ "R-3 io: a group that waits is full, its busy parent is not",
	  io_of_one_group },
	{ "D-1 R-17 bursts of a group are not lost to readers",
	  bursts_survive_readers },

	{ "R-14 tasks that are moved while they wait for a CPU", move_waiting },
	{ "R-14 a task that moves itself", move_itself },
	{ "R-14 a task that is moved while it runs", move_running, 2 },
	{ "R-14 a task that is moved while it waits for io", move_in_io },
	{ "R-14 a task that is moved while it is stalled on memory",
	  move_in_memory_stall },
	{ "R-14 tasks that are moved across levels", move_across_levels },
	{ "R-14 a process of several threads that is moved", move_process },
	{ "R-14 threads that are moved within a threaded domain",
	  move_threads },

	{ "R-14 each level off and on: the others see nothing of it",
	  off_and_on_levels },
	{ "R-14 all levels off and on", off_and_on_all_levels },
	{ "R-14 tasks that come and go while a group is off",
	  come_and_go_while_off },
	{ "R-14 off and on while a task waits for io", off_and_on_in_io },
	{ "R-14 off and on while a task is stalled on memory",
	  off_and_on_in_memory_stall },
	{ "R-14 groups that leave while each stall has triggers", off_with_triggers },

	{ "R-12 R-14 a trigger of a group fires for that group",
	  trigger_of_one_group },
	{ "R-12 R-14 a user to whom a group is delegated", delegation },
	{ "R-14 removing a group wakes who waits there", removal_wakes },
	{ "R-14 switching a group off wakes who waits there", off_wakes },
	{ "R-14 epoll after a group has been removed", epoll_after_removal },
	{ "R-14 a deep hierarchy", deep },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
