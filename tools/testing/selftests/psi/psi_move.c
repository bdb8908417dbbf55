// SPDX-License-Identifier: GPL-2.0
/*
 * What tasks take along when they move from one cgroup to another, and groups that are
 * switched off and on meanwhile.
 *
 * The watcher is on the last CPU and the loads are on CPU 0, which is the
 * same one if there is only one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

/*
 * Percent. The scheduler decides at ticks of 4 ms, and a task that has just been
 * moved may have one more turn than its share.
 */
#define TOLERANCE	2.0
#define WATCH_MS	2000

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

/* A task that is stalled all the time, but for a little. */
struct stall {
	enum psi_resource res;
	unsigned int ms;
	double tolerance;
};

static const struct stall in_io = { PSI_IO, 1000, TOLERANCE };

/* Between two stalls, of 2 s each, are a few ms: see psi_memory.c. */
static const struct stall in_memory_stall = { PSI_MEMORY, 4000, 3 };

static pid_t start_stall(const struct stall *s, const char *group)
{
	const char *disk;

	watch_from_afar();
	if (s->res == PSI_MEMORY)
		return start_held_back(0, group, top_group());
	disk = slow_disk(LONG_READ_MS);
	REQUIRE(disk, "needs null_blk");
	return start_in_group(group, 0, read_disk, (void *)disk);
}

static void expect_stalled(const struct stall *s, const char *group)
{
	expect_share(group, s->res, 100, 100, s->ms, s->tolerance);
}

static enum psi_result move_stalled(const void *stall)
{
	const struct stall *s = stall;
	const char *from = make_group(NULL, "from");
	const char *to = make_group(NULL, "to");
	const struct expected e[] = {
		{ from, s->res, 0, 0 }, { to, s->res, 100, 100 },
	};
	pid_t pid = start_stall(s, from);

	settle();
	expect_stalled(s, from);
	must_move(to, pid);
	expect_shares(e, ARRAY_SIZE(e), s->ms, s->tolerance);
	expect_still(from);
	if (s->res == PSI_IO) {
		must_move(from, pid);
		expect_stalled(s, from);
		expect_still(to);
		must_move(CGROUP_ROOT, pid);
		expect_still(from);
	} else {
		stop_all_loads();
		expect_still(to);
	}
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

/* For the movers; 0 while it has not started. */
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

static enum psi_result off_and_on_in_stall(const void *stall)
{
	const struct stall *s = stall;
	const char *group = make_group(NULL, "g");
	pid_t pid = start_stall(s, group);

	settle();
	must_switch(group, false);
	settle();
	must_switch(group, true);
	expect_stalled(s, group);
	must_switch(group, false);
	must_move(CGROUP_ROOT, pid);
	must_switch(group, true);
	expect_still(group);
	if (s->res == PSI_MEMORY)
		return PSI_PASS;
	must_switch(group, false);
	must_move(group, pid);
	must_switch(group, true);
	expect_stalled(s, group);
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

#define IN_STALL(fn, s)	.run_with = (fn), .arg = &(s)

static const struct psi_case cases[] = {
	{ "R-14 tasks that are moved while they wait for a CPU", move_waiting },
	{ "R-14 a task that moves itself", move_itself },
	{ "R-14 a task that is moved while it runs", move_running, 2 },
	{ "R-14 a task that is moved while it waits for io",
	  IN_STALL(move_stalled, in_io) },
	{ "R-14 a task that is moved while it is stalled on memory",
	  IN_STALL(move_stalled, in_memory_stall) },
	{ "R-14 tasks that are moved across levels", move_across_levels },
	{ "R-14 a process of several threads that is moved", move_process },
	{ "R-14 threads that are moved within a threaded domain",
	  move_threads },

	{ "R-14 each level off and on: the others see nothing of it",
	  off_and_on_levels },
	{ "R-14 all levels off and on", off_and_on_all_levels },
	{ "R-14 tasks that come and go while a group is off",
	  come_and_go_while_off },
	{ "R-14 off and on while a task waits for io",
	  IN_STALL(off_and_on_in_stall, in_io) },
	{ "R-14 off and on while a task is stalled on memory",
	  IN_STALL(off_and_on_in_stall, in_memory_stall) },
	{ "R-14 a deep hierarchy", deep },
	{ "R-14 groups that leave while each stall has triggers", off_with_triggers },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
