// SPDX-License-Identifier: GPL-2.0
/*
 * What pressure.causes says of cpu: is what a group waits for other tasks, or a quota?
 *
 * It is compared with what was configured, and with the kernel's own statistics:
 * throttled_usec of cpu.stat.local is for how long the tasks of a group were held back,
 * by its cpu.max or that of a group above. There it is known only when it ends, so the
 * two may differ by a period.
 *
 * Loads are on CPU 0. The watcher is on the last one, which is the same one if there is
 * only one.
 */
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define NO_CPU_MAX	"needs the cpu controller, with CONFIG_CFS_BANDWIDTH"

#define PERIOD_US	100000
#define WATCH_MS	4000

/*
 * Percent. A task is throttled at the next tick, of 4 ms or less, and gets that much
 * less in the next period; the watcher needs the CPU now and then.
 */
#define TOLERANCE	6.0

/* The same for what has two measures: a period of WATCH_MS at either end. */
#define STAT_TOLERANCE	3.0

enum cause { CONTENTION, QUOTA, NR_CAUSES };

static const char * const cause_names[NR_CAUSES] = { "contention", "quota" };

/* us */
struct causes {
	unsigned long long some[NR_CAUSES], full[NR_CAUSES];
};

/* ---- reading ---- */

/* The first two lines; psi_causes.c looks at the rest. */
static void read_causes(const char *group, struct causes *c)
{
	char path[GROUP_PATH], text[2048];

	EXPECT(read_text(group_file(path, group, "pressure.causes"), text, sizeof(text)) > 0,
	       "cannot read %s", path);
	EXPECT(sscanf(text, "cpu.contention some=%llu full=%llu\ncpu.quota some=%llu full=%llu\n",
		      &c->some[CONTENTION], &c->full[CONTENTION], &c->some[QUOTA],
		      &c->full[QUOTA]) == 4, "%s:\n%s", path, text);
}

/* A number of the kernel's own statistics, us. @key ends with a blank. */
static unsigned long long read_stat(const char *group, const char *file, const char *key)
{
	char path[GROUP_PATH], text[1024];
	unsigned long long us;
	const char *line;

	EXPECT(read_text(group_file(path, group, file), text, sizeof(text)) > 0,
	       "cannot read %s", path);
	line = strstr(text, key);
	EXPECT(line && sscanf(line + strlen(key), "%llu", &us) == 1, "%s has no %s", path, key);
	return us;
}

/* ---- groups ---- */

/* The top group, in which groups have a cpu.max. */
static const char *need_cpu_max(void)
{
	const char *group = make_group(NULL, "with_cpu");
	char path[GROUP_PATH];

	REQUIRE(!enable_controller(group, "+cpu") &&
		!access(group_file(path, group, "cpu.max"), W_OK), NO_CPU_MAX);
	return top_group();
}

/* In percent of one CPU; 0: none. */
static void set_quota(const char *group, unsigned int percent)
{
	char path[GROUP_PATH];
	int ret;

	group_file(path, group, "cpu.max");
	if (percent)
		ret = write_text(path, "%u %u", percent * PERIOD_US / 100, PERIOD_US);
	else
		ret = write_text(path, "max");
	EXPECT(!ret, "%s: %s", path, strerror(-ret));
}

/* ---- what is shown, against what should be ---- */

/*
 * What should be shown is a share in percent, or one of these. How long a group waits for
 * others before its quota is used up is up to the scheduler: as long as it runs in most
 * periods, twice as long in others.
 */
#define ANY		-1.0	/* not looked at */
#define HELD		-2.0	/* as long as the last group with a quota was throttled */
#define NOT_HELD	-3.0	/* all the rest */
#define MAX_GROUPS	6

/*
 * A group of a case: what it should show, in percent, and what it has. Unless it is plain
 * it has a task group of the scheduler.
 */
struct quota_group {
	const char *path;		/* below the top group; that itself if it is empty */
	double some[NR_CAUSES];
	double full[NR_CAUSES];
	unsigned int quota;		/* percent of one CPU; 0: none */
	int tasks, cpu;
	bool plain;
};

/* The groups as they are made, by their places in the table, and the last task of each. */
struct made {
	const char *group[MAX_GROUPS];
	pid_t pid[MAX_GROUPS];
	size_t count;
};

struct quota_case {
	struct quota_group group[MAX_GROUPS];
	void (*change)(const struct made *made);	/* what happens before we watch */
};

/* The last two by the scheduler's statistics, us. */
struct watched {
	struct causes causes;
	unsigned long long held, ran;
};

static bool has_file(const char *group, const char *file)
{
	char path[GROUP_PATH];

	return !access(group_file(path, group, file), R_OK);
}

static void look(const char *group, struct watched *w)
{
	memset(w, 0, sizeof(*w));
	read_causes(group, &w->causes);
	if (!has_file(group, "cpu.max"))
		return;
	w->held = read_stat(group, "cpu.stat.local", "throttled_usec ");
	w->ran = read_stat(group, "cpu.stat", "usage_usec ");
}

static double percent(unsigned long long from, unsigned long long to, __u64 ns)
{
	return 100.0 * (to - from) * NSEC_PER_USEC / ns;
}

static bool is_good(double is, double should, double held)
{
	if (should == HELD)
		return close_to(is, held, STAT_TOLERANCE);
	if (should == NOT_HELD)
		return close_to(is, 100 - held, STAT_TOLERANCE);
	return should == ANY || close_to(is, should, TOLERANCE);
}

static bool line_is_good(const char *group, enum cause cause, double some, double full,
			 const struct quota_group *e, double held)
{
	bool good = is_good(some, e->some[cause], held) && is_good(full, e->full[cause], held);

	if (some > 0 || !good)
		psi_note("%s: %s %.2f %.2f %%%s", strrchr(group, '/') + 1,
			 cause_names[cause], some, full, good ? "" : ", wrong");
	return good;
}

/*
 * Against the scheduler's statistics; of a group with tasks of its own. When one with a
 * quota neither runs nor is held back, all of it waits for others. (That it runs is without
 * interrupts, which take several percent of those that run all the time.)
 */
static bool stats_are_good(const struct watched *from, const struct watched *to, __u64 ns,
			   bool has_quota)
{
	double others = percent(from->causes.full[CONTENTION], to->causes.full[CONTENTION], ns);
	double held = percent(from->causes.some[QUOTA], to->causes.some[QUOTA], ns);
	double stat_held = percent(from->held, to->held, ns);
	double ran = percent(from->ran, to->ran, ns);

	if (close_to(held, stat_held, STAT_TOLERANCE) &&
	    (!has_quota || close_to(others, 100 - stat_held - ran, STAT_TOLERANCE)))
		return true;
	psi_note("the scheduler says: held back %.2f %%, ran %.2f %%, wrong", stat_held, ran);
	return false;
}

/* Watches all of them at the same time. */
static void expect_causes(const struct quota_group *e, const struct made *made)
{
	struct watched from[MAX_GROUPS], to[MAX_GROUPS];
	double held = 0;
	bool good = true;
	__u64 begin, ns;
	size_t i;
	int c;

	/* All have started, and been throttled. */
	sleep_ms(500);
	begin = now_ns();
	for (i = 0; i < made->count; i++)
		look(made->group[i], &from[i]);
	sleep_until(begin + WATCH_MS * NSEC_PER_MSEC);
	ns = now_ns() - begin;
	for (i = 0; i < made->count; i++)
		look(made->group[i], &to[i]);

	for (i = 0; i < made->count; i++)
		if (e[i].quota)
			held = percent(from[i].held, to[i].held, ns);
	for (i = 0; i < made->count; i++) {
		for (c = 0; c < NR_CAUSES; c++)
			good &= line_is_good(made->group[i], c,
					     percent(from[i].causes.some[c],
						     to[i].causes.some[c], ns),
					     percent(from[i].causes.full[c],
						     to[i].causes.full[c], ns),
					     &e[i], held);
		if (e[i].tasks && has_file(made->group[i], "cpu.max"))
			good &= stats_are_good(&from[i], &to[i], ns, e[i].quota);
	}
	EXPECT(good, "not what was configured");
}

/* When nothing happens: the lines add up to what cpu.pressure says. */
static void expect_sums(const char *group)
{
	unsigned long long some = 0, full = 0;
	struct psi_sample sample;
	struct causes causes;
	int c;

	EXPECT(!read_group(group, PSI_CPU, &sample), "no cpu.pressure in %s", group);
	read_causes(group, &causes);
	for (c = 0; c < NR_CAUSES; c++) {
		some += causes.some[c];
		full += causes.full[c];
	}
	/* Each line is cut to microseconds. */
	EXPECT(some <= sample.some.total && some + NR_CAUSES >= sample.some.total &&
	       full <= sample.full.total && full + NR_CAUSES >= sample.full.total,
	       "%s: %llu and %llu us, should add up to %llu and %llu", group, some, full,
	       (unsigned long long)sample.some.total, (unsigned long long)sample.full.total);
}

/* ---- the cases ---- */

static enum psi_result new_group(void)
{
	const char *group = make_group(NULL, "g");
	struct causes c;
	int i;

	read_causes(group, &c);
	for (i = 0; i < NR_CAUSES; i++)
		EXPECT(!c.some[i] && !c.full[i], "a new group has waited");
	return PSI_PASS;
}

static enum psi_result run_quota_case(const void *quota_case)
{
	const struct quota_case *c = quota_case;
	struct made made = { };
	size_t i;

	need_cpu_max();
	watch_from_afar();
	for (i = 0; i < MAX_GROUPS && c->group[i].path; i++) {
		const struct quota_group *g = &c->group[i];
		const char *group = *g->path ? make_group(NULL, g->path) : top_group();

		made.group[made.count++] = group;
		EXPECT(g->plain || !enable_controller(group, "+cpu"), "no cpu controller in %s",
		       group);
		if (g->quota)
			set_quota(group, g->quota);
	}
	for (i = 0; i < made.count; i++) {
		int task;

		for (task = 0; task < c->group[i].tasks; task++)
			made.pid[i] = start_in_group(made.group[i], c->group[i].cpu, spin, NULL);
	}
	if (c->change)
		c->change(&made);

	expect_causes(c->group, &made);
	stop_all_loads();
	/* The period ends: what has been shown until then is provisional. */
	sleep_ms(2100);
	for (i = 0; i < made.count; i++)
		expect_sums(made.group[i]);
	return PSI_PASS;
}

/* A group with 20 % of a CPU, its parent and a child, which has a task group or not. */
static const struct quota_case limit_above_task_group = { {
	{ "", { 0, 80 }, { 0, 80 } },
	{ "parent", { 0, 80 }, { 0, 80 } },
	{ "parent/limited", { 0, 80 }, { 0, 80 }, .quota = 20 },
	{ "parent/limited/child", { 0, 80 }, { 0, 80 }, .tasks = 1 },
} };

static const struct quota_case limit_above_no_task_group = { {
	{ "", { 0, 80 }, { 0, 80 } },
	{ "parent", { 0, 80 }, { 0, 80 } },
	{ "parent/limited", { 0, 80 }, { 0, 80 }, .quota = 20 },
	{ "parent/limited/child", { 0, 80 }, { 0, 80 }, .tasks = 1, .plain = true },
} };

/* Two groups that share a CPU, and nobody has a cpu.max. */
static const struct quota_case contention = { {
	{ "parent", { 100, 0 }, { 0, 0 } },
	{ "parent/a", { 50, 0 }, { 50, 0 }, .tasks = 1 },
	{ "parent/b", { 50, 0 }, { 50, 0 }, .tasks = 1 },
} };

/*
 * Both: one has 20 %, for which it takes turns with the other one. That one waits for as
 * long as the first one runs, and has the CPU while it is throttled.
 */
static const struct quota_case limit_and_contention = { {
	{ "parent", { NOT_HELD, HELD }, { 0, 0 } },
	{ "parent/limited", { ANY, HELD }, { ANY, HELD }, .quota = 20, .tasks = 1 },
	{ "parent/other", { 20, 0 }, { 20, 0 }, .tasks = 1 },
} };

/* A task that waits behind one that is not held back does not make that a quota's. */
static const struct quota_case contention_beside_a_limit = { {
	{ "parent", { 100, 0 }, { 0, 0 } },
	{ "parent/limited", { ANY, HELD }, { ANY, HELD }, .quota = 10, .tasks = 1 },
	{ "parent/other", { 100, 0 }, { 10, 0 }, .tasks = 2 },
} };

/* The inner one is the smaller one, and it is the one that is used up. */
static const struct quota_case inner_limit = { {
	{ "outer", { 0, 80 }, { 0, 80 }, .quota = 60 },
	{ "outer/inner", { 0, 80 }, { 0, 80 }, .quota = 20, .tasks = 1 },
} };

static const struct quota_case outer_limit = { {
	{ "outer", { 0, 80 }, { 0, 80 }, .quota = 20 },
	{ "outer/inner", { 0, 80 }, { 0, 80 }, .quota = 60, .tasks = 1 },
} };

/*
 * Both are used up, one after the other: 30 % for two tasks that take turns, of which one has
 * no more than 10 %.
 */
static const struct quota_case both_limits = { {
	{ "outer", { NOT_HELD, HELD }, { 0, 70 }, .quota = 30 },
	{ "outer/inner", { ANY, HELD }, { ANY, HELD }, .quota = 10, .tasks = 1 },
	{ "outer/beside", { 10, 70 }, { 10, 70 }, .tasks = 1 },
} };

/* Two CPUs, of which one has a group that is throttled: half of all. */
static const struct quota_case on_one_of_two_cpus = { {
	{ "parent", { 0, 40 }, { 0, 40 } },
	{ "parent/limited", { 0, 80 }, { 0, 80 }, .quota = 20, .tasks = 1 },
	{ "parent/other", { 0, 0 }, { 0, 0 }, .tasks = 1, .cpu = 1 },
} };

/* ---- changes while it is throttled ---- */

/* From now on, nothing is because of a quota. */
static void expect_no_quotas(const char *group)
{
	struct causes from, to;

	sleep_ms(2 * PERIOD_US / 1000);
	read_causes(group, &from);
	sleep_ms(1000);
	read_causes(group, &to);
	EXPECT(from.some[QUOTA] == to.some[QUOTA] && from.full[QUOTA] == to.full[QUOTA],
	       "%s: quota goes on", group);
}

/* And then it is limited once more. */
static void take_limit_away(const struct made *made)
{
	size_t i;

	set_quota(made->group[1], 5);
	sleep_ms(550);
	set_quota(made->group[1], 0);
	for (i = 0; i < made->count; i++)
		expect_no_quotas(made->group[i]);
	set_quota(made->group[1], 20);
}

static const struct quota_case no_limit_any_more = { {
	{ "parent", { 0, 80 }, { 0, 80 } },
	{ "parent/limited", { 0, 80 }, { 0, 80 } },
	{ "parent/limited/child", { 0, 80 }, { 0, 80 }, .tasks = 1, .plain = true },
}, take_limit_away };

/* The limited one, or what is below it, off and on again. */
static void switch_often(const struct made *made)
{
	int i;

	for (i = 0; i < 10; i++) {
		EXPECT(!set_pressure(made->group[1 + i % 2], false), "cannot switch it off");
		sleep_ms(27);
		EXPECT(!set_pressure(made->group[1 + i % 2], true), "cannot switch it on");
		sleep_ms(27);
	}
}

static const struct quota_case switched = { {
	{ "parent", { 0, 80 }, { 0, 80 } },
	{ "parent/limited", { 0, 80 }, { 0, 80 }, .quota = 20 },
	{ "parent/limited/between", { 0, 80 }, { 0, 80 }, .plain = true },
	{ "parent/limited/between/child", { 0, 80 }, { 0, 80 }, .tasks = 1,
	  .plain = true },
}, switch_often };

/* The group below gets a task group while it is throttled, and loses it. */
static void switch_controller(const struct made *made)
{
	int i;

	for (i = 0; i < 10; i++) {
		EXPECT(!set_cgroup(made->group[0], "cgroup.subtree_control",
				   i % 2 ? "-cpu" : "+cpu"), "cannot switch the controller");
		sleep_ms(53);
	}
}

static const struct quota_case controller_comes_and_goes = { {
	{ "limited", { 0, 80 }, { 0, 80 }, .quota = 20 },
	{ "limited/child", { 0, 80 }, { 0, 80 }, .tasks = 1, .plain = true },
}, switch_controller };

/* A task comes into a group that is throttled, and from there. */
static void move_often(const struct made *made)
{
	int i;

	for (i = 0; i <= 20; i++) {
		EXPECT(!move_to_group(made->group[1 + i % 2], made->pid[2]), "cannot move a task");
		sleep_ms(27);
	}
}

/* They take turns for a fifth of the time. */
static const struct quota_case task_moves = { {
	{ "", { 20, 80 }, { 0, 80 } },
	{ "limited", { 20, 80 }, { 0, 80 }, .quota = 20, .tasks = 1 },
	{ "other", { 0, 0 }, { 0, 0 }, .tasks = 1 },
}, move_often };

/* A group that may use so much of a CPU, in percent, and wants all of it. */
static const char *one_that_spins(int quota)
{
	const char *group;

	need_cpu_max();
	group = make_group(NULL, "limited");
	set_quota(group, quota);
	watch_from_afar();
	start_in_group(group, 0, spin, NULL);
	sleep_ms(500);
	return group;
}

/* Nobody in the system but one that is held back, and there is no "full" of all. */
static enum psi_result the_root(void)
{
	struct causes from, to;
	__u64 begin, ns;
	double some;

	one_that_spins(20);
	begin = now_ns();
	read_causes(CGROUP_ROOT, &from);
	sleep_ms(WATCH_MS);
	read_causes(CGROUP_ROOT, &to);
	ns = now_ns() - begin;
	some = percent(from.some[QUOTA], to.some[QUOTA], ns);
	psi_note("quota %.2f %%", some);
	EXPECT(some > 70 && some < 84, "quota some is %.2f %%", some);
	EXPECT(from.full[QUOTA] == to.full[QUOTA] && from.full[CONTENTION] == to.full[CONTENTION],
	       "full has grown");
	return PSI_PASS;
}

static void wake_often(void *unused)
{
	for (;;)
		sleep_ms(7);
}

/* A task that wakes up there is held back as well. */
static void one_that_wakes_up(const struct made *made)
{
	start_in_group(made->group[0], 0, wake_often, NULL);
}

static const struct quota_case wakeups = { {
	{ "limited", { 0, 80 }, { 0, 80 }, .quota = 20, .tasks = 1 },
}, one_that_wakes_up };

/* While it is of real time, nothing holds it back. */
static void real_time_for_a_while(const struct made *made)
{
	struct sched_param fifo = { .sched_priority = 1 }, normal = { };
	int i;

	for (i = 0; i < 10; i++) {
		EXPECT(!sched_setscheduler(made->pid[0], SCHED_FIFO, &fifo), "SCHED_FIFO");
		sleep_ms(7);
		EXPECT(!sched_setscheduler(made->pid[0], SCHED_OTHER, &normal), "SCHED_OTHER");
		sleep_ms(31);
	}
}

static const struct quota_case class_changes = { {
	{ "limited", { 0, 80 }, { 0, 80 }, .quota = 20, .tasks = 1 },
}, real_time_for_a_while };

/* A service with next to nothing: its pressure is as before, and wakes its pollers. */
static enum psi_result pressure_is_as_before(void)
{
	const char *group = one_that_spins(2);
	int fd;

	fd = add_trigger(group, PSI_CPU, "full 200000 2000000");
	EXPECT(fd >= 0, "no trigger");
	EXPECT(wait_by_poll(fd, 4000) == POLLPRI, "no event");
	expect_share(group, PSI_CPU, 98, 98, WATCH_MS, TOLERANCE);
	return PSI_PASS;
}

#define QUOTA_CASE(c)	.run_with = run_quota_case, .arg = &(c)

static const struct psi_case cases[] = {
	{ "R-19 a new group has not waited for a quota", new_group },
	{ "R-19 a limit holds back its group, and all above and below",
	  QUOTA_CASE(limit_above_task_group) },
	{ "R-19 the same without a task group below", QUOTA_CASE(limit_above_no_task_group) },
	{ "R-19 two tasks that compete: contention", QUOTA_CASE(contention) },
	{ "R-19 a task that competes and has a limit: both", QUOTA_CASE(limit_and_contention) },
	{ "R-19 contention of others beside a limit", QUOTA_CASE(contention_beside_a_limit) },
	{ "R-19 two limits, the inner one is used up", QUOTA_CASE(inner_limit) },
	{ "R-19 two limits, the outer one is used up", QUOTA_CASE(outer_limit) },
	{ "R-19 two limits, both are used up", QUOTA_CASE(both_limits) },
	{ "R-19 R-4 a limit on one of two CPUs", QUOTA_CASE(on_one_of_two_cpus), .min_cpus = 2 },
	{ "R-19 a limit that goes while it is used up", QUOTA_CASE(no_limit_any_more) },
	{ "R-19 R-14 switched off and on while throttled", QUOTA_CASE(switched) },
	{ "R-19 a task group that comes and goes while throttled",
	  QUOTA_CASE(controller_comes_and_goes) },
	{ "R-19 R-14 tasks that move while throttled", QUOTA_CASE(task_moves) },
	{ "R-19 a task that wakes up while its group is throttled", QUOTA_CASE(wakeups) },
	{ "R-19 a task that changes its class while throttled", QUOTA_CASE(class_changes) },
	{ "R-19 the root knows of quotas, too", the_root },
	{ "R-19 R-12 cpu.pressure counts quotas as ever", pressure_is_as_before },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
