// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure of cgroup2 groups: the files, what they show, and switching accounting off
 * and on. Moving tasks is for psi_move.c, and groups that go away for psi_gone.c.
 *
 * The watcher is on the last CPU and the loads are on CPU 0, which is the
 * same one if there is only one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

/*
 * Percent. The scheduler decides at ticks of 4 ms, and a task that has just been
 * moved may have one more turn than its share.
 */
#define TOLERANCE	2.0
#define WATCH_MS	2000

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
		ret = set_cgroup(group, "cgroup.pressure", values[i].text);
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

static const char * const files_of_groups[] = {
	"cpu.pressure", "memory.pressure", "io.pressure", "irq.pressure", "pressure.causes",
};

static void expect_hidden(const char *group)
{
	const char *file;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(files_of_groups); i++) {
		file = files_of_groups[i];
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

static enum psi_result off_counts_nothing(void)
{
	const char *group = make_group(NULL, "g");

	watch_from_afar();
	start_spinners(group, 2);
	settle();
	must_switch(group, false);
	must_switch(group, true);
	expect_not_counted(group, NULL);
	expect_share(group, PSI_CPU, 100, 0, 200, TOLERANCE);
	return PSI_PASS;
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

/* ---- nothing at all ---- */

static void expect_no_files(const char *group)
{
	char path[GROUP_PATH];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files_of_groups); i++)
		EXPECT(access(group_file(path, group, files_of_groups[i]), F_OK),
		       "%s is there", path);
	EXPECT(access(group_file(path, group, "cgroup.pressure"), F_OK), "%s is there", path);
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

#define MAX_SHOWN	3

/* Groups, what they show, and how many of their tasks are busy on CPU 0 and 1. */
struct situation {
	struct {
		const char *path;
		double some, full;
		int tasks[2];
	} group[MAX_SHOWN];
	int outsiders;		/* busy tasks of no group on CPU 0 */
};

static enum psi_result expect_situation(const void *situation)
{
	const struct situation *s = situation;
	struct expected e[MAX_SHOWN];
	size_t i, n;
	int task;

	watch_from_afar();
	for (task = 0; task < s->outsiders; task++)
		start_load(0, spin, NULL);
	for (n = 0; n < MAX_SHOWN && s->group[n].path; n++)
		e[n] = (struct expected) { make_group(NULL, s->group[n].path), PSI_CPU,
					   s->group[n].some, s->group[n].full };
	for (i = 0; i < n; i++) {
		start_spinners(e[i].group, s->group[i].tasks[0]);
		for (task = 0; task < s->group[i].tasks[1]; task++)
			start_in_group(e[i].group, 1, spin, NULL);
	}
	settle();
	expect_shares(e, n, WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

static const struct situation alone = { { { "g", 0, 0, { 1 } } } };
static const struct situation waits_for_outsider = { { { "g", 50, 50, { 1 } } }, 1 };
static const struct situation two_of_one_group = { { { "g", 100, 0, { 2 } } } };

static const struct situation children_contend = { {
	{ "parent", 100, 0 }, { "parent/a", 50, 50, { 1 } }, { "parent/b", 50, 50, { 1 } },
} };

/* On two CPUs, one of which is contended. */
static const struct situation half_contended = { {
	{ "parent", 50, 0 }, { "parent/a", 50, 50, { 1 } }, { "parent/b", 25, 25, { 1, 1 } },
} };

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

/* Ticks and periods begin together, so that the first task on the CPU is always the same. */
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

#define SITUATION(s)	.run_with = expect_situation, .arg = &(s)

static const struct psi_case cases[] = {
	{ "R-14 every group has the files, in the exact format", files },
	{ "R-14 the root group has them, too", root_files },
	{ "R-14 the root group and /proc/pressure agree", root_agrees },
	{ "R-14 cgroup.pressure takes 0 and 1, and nothing else",
	  switch_values },
	{ "R-14 R-19 while a group is off its files are not there",
	  off_hides_files },
	{ "R-14 while a group is off its totals do not grow",
	  off_counts_nothing },
	{ "R-14 while a group is off what is below it does not count there",
	  off_counts_no_children },
	{ "R-14 while the root is off the system stands still, and groups go on",
	  off_at_the_root, 0, 1 },
	{ "R-10 R-14 R-19 with psi=0 no group has a pressure file", psi_off },
	{ "R-14 R-19 cgroup_disable=pressure is for groups only", cgroup_disabled },

	{ "R-3 a group of one task alone has no cpu pressure", SITUATION(alone) },
	{ "R-3 a group that waits for an outsider is cpu some and full, 50 %",
	  SITUATION(waits_for_outsider) },
	{ "R-3 a group of two tasks on one CPU is cpu some, never full",
	  SITUATION(two_of_one_group) },
	{ "R-5 R-14 a group has averages of its own", averages },
	{ "R-3 two groups on one CPU: their parent is cpu some, never full",
	  SITUATION(children_contend) },
	{ "R-4 a group on two CPUs, one contended, is 50 %",
	  SITUATION(half_contended), .min_cpus = 4 },
	{ "R-3 io: a group that waits is full, its busy parent is not",
	  io_of_one_group },
	{ "D-1 R-17 bursts of a group are not lost to readers",
	  bursts_survive_readers },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
