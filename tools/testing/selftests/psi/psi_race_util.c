// SPDX-License-Identifier: GPL-2.0
/*
 * Races in groups, for the PSI selftests. See psi_race_util.h.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_race_util.h"

#define MB		(1024UL * 1024)

struct race *race;

/* ---- what has been done ---- */

/* The group or file may be just gone. */
static const struct deed deeds[NR_DEEDS] = {
	[WRITES]	= { "writes", { EBUSY, ENOENT, ENODEV } },
	[OTHERS]	= { "writes to other files" },
	[FIRES]		= { "events" },
	[CLOSES]	= { "closes", { ENOENT, ENODEV } },
	[WAKEUPS]	= { "wakeups" },
	[TOGGLES]	= { "toggles", { ENOENT, ENODEV } },
	[READS]		= { "reads", { ENOENT, ENODEV } },
	[MAKES]		= { "groups made", { EEXIST } },
	[REMOVALS]	= { "groups removed", { EBUSY, ENOENT } },
	[MOVES]		= { "moves", { ENOENT, ENODEV, ESRCH } },
	[FORKS]		= { "forks" },
	[HOTPLUGS]	= { "CPUs off and on", { EBUSY } },
	[QUOTAS]	= { "limits", { ENOENT, ENODEV } },
	[CONTROLLERS]	= { "controllers on and off", { EBUSY, ENOENT, ENODEV } },
};

int error_if(bool failed)
{
	return failed ? -errno : 0;
}

const char *any_group(void)
{
	return race->group[random_below(race->groups)];
}

pid_t any_task(void)
{
	return race->task[random_below(race->tasks)];
}

/* ---- racers ---- */

void toggle(void)
{
	const char *group = any_group();

	did(TOGGLES, set_pressure(group, false));
	pause_us(300);
	did(TOGGLES, set_pressure(group, true));
	pause_us(300);
}

void read_files(void)
{
	struct psi_sample sample;

	did(READS, read_group(any_group(), random_below(PSI_IRQ), &sample));
	if (!random_below(16))
		pause_us(1000);
}

void move_tasks(void)
{
	did(MOVES, move_to_group(any_group(), any_task()));
	if (!random_below(8))
		pause_us(500);
}

/* The last of the groups, which tasks may be in by then. */
void make_and_remove(void)
{
	const char *group = race->group[race->groups - 1];

	did(REMOVALS, error_if(rmdir(group)));
	pause_us(500);
	did(MAKES, error_if(mkdir(group, 0755)));
	pause_us(500);
}

/* ---- tasks ---- */

void nap(void *unused)
{
	for (;;) {
		pause_us(3000);
		burn_ms(1);
	}
}

pid_t fork_task(void (*fn)(void *arg))
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		fn(NULL);
	_exit(1);
}

void add_task(const char *group, int cpu, void (*fn)(void *arg), void *arg)
{
	race->task[race->tasks++] = start_in_group(group, cpu, fn, arg);
}

static void add_tasks(int count, void (*fn)(void *arg), void *arg)
{
	while (count--)
		add_task(race->group[count % race->groups], -1, fn, arg);
}

/*
 * All memory belongs to the top group, over the memory.high of which they are.
 * Does nothing without a memory controller.
 */
static void add_memory_users(int count)
{
	static struct memory_user users[4];
	const char *top = top_group();
	int i;

	if (enable_controller(top, "+memory"))
		return;
	for (i = 0; i < count; i++) {
		users[i] = (struct memory_user){ race->group[i], 8 * MB, .grow = true };
		race->task[race->tasks++] = start_memory_user(-1, &users[i]);
	}
	for (i = 0; i < count; i++)
		await_memory_user(&users[i]);
	EXPECT(!set_cgroup(top, "memory.high", "4M"), "memory.high");
}

/* So many that sleep, and as many that wait for a disk, if there is one. */
static void add_sleepers(int number)
{
	const char *disk = slow_disk(3);

	add_tasks(number, nap, NULL);
	if (disk)
		add_tasks(number, read_disk, (void *)disk);
}

/* ---- beginning and end ---- */

static void all_online_and_no_groups(void)
{
	all_online();
	remove_all_groups();
}

void begin_groups(const struct race_case *c)
{
	REQUIRE(!c->hotplug || have_hotplug(), "needs CONFIG_HOTPLUG_CPU");
	begin_deeds(deeds, NR_DEEDS);
	race = shared_alloc(sizeof(*race));
	race->cpus = online_cpus();
	top_group();
	if (c->hotplug)
		undo_later(all_online_and_no_groups);
	while (race->groups < MAX_GROUPS && c->groups[race->groups]) {
		race->group[race->groups] = make_group(NULL, c->groups[race->groups]);
		race->groups++;
	}
}

static void repeat(void *racer)
{
	void (* const *fn)(void) = racer;

	for (;;)
		(*fn)();
}

void start_racers(const struct race_case *c)
{
	int i;

	if (c->hotplug)
		start_hotplug(HOTPLUGS, 20000);
	for (i = 0; i < MAX_RACERS && c->racers[i]; i++)
		race->racer[i] = start_load(-1, repeat, (void *)&c->racers[i]);
}

void begin_race(const struct race_case *c)
{
	int i;

	begin_groups(c);
	for (i = 0; i < c->spinners; i++)
		add_task(race->group[c->spin_in], 0, spin, NULL);
	if (c->sleepers)
		add_sleepers(c->sleepers);
	if (c->memory_users)
		add_memory_users(c->memory_users);
	if (c->hotplug)
		add_tasks(race->cpus < 9 ? race->cpus + 1 : 10, c->task, NULL);
	add_tasks(c->tasks, c->task, NULL);
	start_racers(c);
}

/*
 * Nobody does anything: what is counted nevertheless would be here for ever, and not until the
 * kernel's own threads are done with what the case has left them.
 */
static void expect_quiet_system(void)
{
	enum psi_resource res;
	struct psi_share share;
	int i;

	for (res = 0; res < PSI_IRQ; res++) {
		for (i = 0; i < 10; i++) {
			share = psi_watch(res, 500);
			if (close_to(share.some, 0, 5) && close_to(share.full, 0, 5))
				break;
		}
		EXPECT(i < 10, "%s pressure is left in the system", psi_name(res));
	}
}

static void expect_nothing_left(void)
{
	const char *group;
	int ret;

	ret = remove_all_groups();
	EXPECT(!ret, "the groups cannot be removed: %s", strerror(-ret));
	expect_quiet_system();
	group = make_group(NULL, "fresh");
	watch_from_afar();
	start_spinners(group, 2);
	settle();
	expect_share(group, PSI_CPU, 100, 0, 1000, 3);
	stop_all_loads();
	expect_still(group);
}

enum psi_result finish_race(const struct race_case *c)
{
	await_deeds(c->ms, c->needed);
	stop_all_loads();
	if (c->hotplug)
		all_online();
	EXPECT(!c->hotplug || online_cpus() == race->cpus, "a CPU is lost");
	expect_deeds(c->needed);
	expect_nothing_left();
	return PSI_PASS;
}

enum psi_result run_race(const void *race_case)
{
	begin_race(race_case);
	return finish_race(race_case);
}
