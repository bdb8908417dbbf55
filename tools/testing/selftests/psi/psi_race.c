// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that can be done to a group and its tasks, at the same time, and as fast as it
 * can be done. What is checked is that nobody gets an answer that makes no sense, and that
 * nothing is left thereafter; psi_splat has to be run after it. Open files are in
 * psi_race_files.c.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_race_util.h"

#define SIX_GROUPS	.groups = { "a", "a/b", "a/b/c", "a/d", "e", "a/b/f" }

/* ---- fork and exit ---- */

static void do_nothing(void *unused)
{
}

/* A child that leaves a child. */
static void fork_and_exit(void *unused)
{
	fork_task(do_nothing);
}

static void fork_for_ever(void *unused)
{
	pid_t pid;

	for (;;) {
		pid = fork_task(random_below(2) ? do_nothing : fork_and_exit);
		did(FORKS, error_if(pid < 0));
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

/* ---- quotas against everything ---- */

/* So little that it is used up most of the time. */
static void limit(void)
{
	static const char * const quotas[] = { "1000 5000", "2000 20000", "max", "1000 50000" };

	did(QUOTAS, set_cgroup(any_group(), "cpu.max", quotas[random_below(ARRAY_SIZE(quotas))]));
	pause_us(random_below(4) ? 1000 : 50000);
}

/* Of those that have one below, and no task: see below. */
static void switch_controllers(void)
{
	did(CONTROLLERS, set_cgroup(race->group[random_below(2)], "cgroup.subtree_control",
				    random_below(2) ? "+cpu" : "-cpu"));
	pause_us(20000);
}

/* @text has room for 2048; its length, or -errno. */
static ssize_t causes_of(const char *group, char *text)
{
	char path[GROUP_PATH];

	return read_text(group_file(path, group, "pressure.causes"), text, 2048);
}

static void read_causes(void)
{
	char text[2048];

	did(READS, causes_of(random_below(4) ? any_group() : CGROUP_ROOT, text));
	pause_us(500);
}

/* Below the first two, which have no tasks, so that the controller can be in them. */
static void move_tasks_below(void)
{
	did(MOVES, move_to_group(race->group[2 + random_below(race->groups - 2)], any_task()));
	pause_us(5000);
}

/*
 * In which way the tasks of a group wait, and for how long the scheduler has throttled it and
 * those above it, us.
 */
struct waits {
	__u64 contention, quota, throttled;
};

static bool read_waits(const char *group, struct waits *w)
{
	char path[GROUP_PATH], text[2048];

	if (causes_of(group, text) <= 0)
		return false;
	w->contention = number_after(text, "cpu.contention some=");
	w->quota = number_after(text, "cpu.quota some=");
	w->throttled = 0;
	while (strcmp(group, CGROUP_ROOT)) {
		if (read_text(group_file(path, group, "cpu.stat"), text, sizeof(text)) > 0)
			w->throttled += number_after(text, "throttled_usec ");
		group = strndupa(group, strrchr(group, '/') - group);
	}
	return true;
}

/* How many groups were held back by a limit for long. Each of them has to say so. */
static int check_limits(void)
{
	struct waits from[MAX_GROUPS] = { }, to;
	bool is_there[MAX_GROUPS];
	int i, checked = 0;

	for (i = 0; i < race->groups; i++)
		is_there[i] = read_waits(race->group[i], &from[i]);
	sleep_ms(1000);
	for (i = 0; i < race->groups; i++) {
		if (!is_there[i] || !read_waits(race->group[i], &to) ||
		    to.contention + to.quota < from[i].contention + from[i].quota + 100000 ||
		    to.throttled - from[i].throttled < 500000)
			continue;
		checked++;
		EXPECT(to.quota > from[i].quota,
		       "%s is held back, and shows nothing but contention", race->group[i]);
	}
	return checked;
}

/* All racers but the reader stop, and leave limits behind. If it is none, tasks get one now. */
static void expect_limits_known(void)
{
	int i, left, checked;

	for (i = 1; i < MAX_RACERS && race->racer[i]; i++)
		stop_load(race->racer[i]);
	for (i = 0; i < race->groups; i++)
		set_pressure(race->group[i], true);
	left = check_limits();
	checked = left;
	if (!left) {
		enable_controller(race->group[2], "+cpu");
		for (i = 2; i < race->groups; i++)
			set_cgroup(race->group[i], "cpu.max", "1000 50000");
		checked = check_limits();
	}
	psi_note("%d groups held back by what was left, %d in all", left, checked);
	EXPECT(checked, "too few limits to tell");
}

/* All levels have the controller and a limit, at times. */
static void begin_quotas(const struct race_case *c)
{
	int i;

	begin_groups(c);
	REQUIRE(!enable_controller(race->group[2], "+cpu"), "needs the cpu controller");
	for (i = 0; i < c->tasks; i++)
		add_task(race->group[2 + i % 4], -1, i % 4 ? spin : nap, NULL);
	start_racers(c);
}

#define QUOTA_GROUPS	.groups = { "a", "a/b", "a/b/c", "a/b/d", "a/e", "a/b/c/f" }
#define QUOTA_RACERS(last)	.racers = { read_causes, limit, limit, switch_controllers, \
					    move_tasks_below, toggle, last }

static enum psi_result quotas_against_everything(void)
{
	static const struct race_case c = {
		QUOTA_GROUPS, .tasks = 6, QUOTA_RACERS(make_and_remove),
		.needed = DEED(QUOTAS) | DEED(CONTROLLERS) | DEED(TOGGLES) | DEED(MOVES) |
			  DEED(READS) | DEED(REMOVALS),
	};

	begin_quotas(&c);
	await_deeds(2 * RACE_MS, c.needed);
	expect_limits_known();
	return finish_race(&c);
}

static enum psi_result hotplug_against_quotas(void)
{
	static const struct race_case c = {
		QUOTA_GROUPS, .tasks = 8, QUOTA_RACERS(NULL), .hotplug = true,
		.ms = 2 * RACE_MS, .needed = DEED(HOTPLUGS) | DEED(QUOTAS) | DEED(TOGGLES),
	};

	begin_quotas(&c);
	return finish_race(&c);
}

/* ---- the facts ---- */

#define LIVE_RUNS	5

static enum psi_result facts_amid_everything(void)
{
	static const struct race_case facts = {
		SIX_GROUPS, .sleepers = 3, .memory_users = 3, .tasks = 3, .task = fork_for_ever,
		.racers = { move_tasks, toggle, make_and_remove },
		.needed = DEED(MOVES) | DEED(TOGGLES) | DEED(FORKS) | DEED(REMOVALS),
	};
	int i;

	require_facts();
	begin_race(&facts);
	for (i = 0; i < LIVE_RUNS; i++)
		expect_facts();
	return finish_race(&facts);
}

static const struct psi_case cases[] = {
	{ "R-14 move against everything",
	  RACE(SIX_GROUPS, .sleepers = 4, .memory_users = 4, .tasks = 4, .task = spin,
	       .racers = { move_tasks, move_tasks, toggle, read_files, make_and_remove },
	       .ms = RACE_MS,
	       .needed = DEED(MOVES) | DEED(TOGGLES) | DEED(READS) | DEED(REMOVALS)) },
	{ "R-14 fork and exit in groups against toggle",
	  RACE(SIX_GROUPS, .tasks = 4, .task = fork_for_ever,
	       .racers = { toggle, toggle, read_files, move_tasks }, .ms = RACE_MS,
	       .needed = DEED(FORKS) | DEED(TOGGLES) | DEED(READS) | DEED(MOVES)) },
	{ "R-14 CPU hotplug against moves and toggles", .min_cpus = 2,
	  RACE(SIX_GROUPS, .sleepers = 4, .task = spin, .hotplug = true,
	       .racers = { move_tasks, toggle, read_files }, .ms = RACE_MS,
	       .needed = DEED(HOTPLUGS) | DEED(MOVES) | DEED(TOGGLES)) },
	{ "R-19 R-14 quotas against everything", quotas_against_everything },
	/* Tasks that are held back, moved and killed in the midst of it, and readers. */
	{ "R-19 R-14 causes against everything",
	  RACE(SIX_GROUPS, .sleepers = 2, .memory_users = 3,
	       .racers = { move_tasks, toggle, make_and_remove, read_causes, read_causes },
	       .ms = 2 * RACE_MS,
	       .needed = DEED(MOVES) | DEED(TOGGLES) | DEED(REMOVALS) | DEED(READS)) },
	{ "R-19 CPU hotplug against quotas", hotplug_against_quotas, 2 },
	{ "R-14 what is counted is what is so, amid everything", facts_amid_everything },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
