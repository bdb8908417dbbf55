// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that can be done to a group, at the same time, and as fast as it
 * can be done. What is checked is that nobody gets an answer that makes no sense,
 * and that nothing is left thereafter; psi_splat has to be run after it.
 *
 * The racers are loads (see psi_util.h), so each is killed in the midst of what
 * it is doing. Those that share open files are threads of one load.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)

#define RACE_MS		4000

#define QUIET_TRIGGER	"some 1000000 1000000"
#define EAGER_TRIGGER	"some 1000 500000"

/* ---- what has been done ---- */

enum {
	WRITES, OTHERS, FIRES, CLOSES, WAKEUPS, TOGGLES, READS, MAKES,
	REMOVALS, MOVES, FORKS, HOTPLUGS, QUOTAS, CONTROLLERS, NR_DEEDS
};

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

#define MAX_GROUPS	8
#define MAX_TASKS	32

/* Of the case that runs; shared by all racers. */
static struct race {
	const char *group[MAX_GROUPS];
	int groups;
	pid_t task[MAX_TASKS];
	int tasks;
	atomic_bool writing, checking;
} *race;

static int error_if(bool failed)
{
	return failed ? -errno : 0;
}

/* ---- chance ---- */

static const char *any_group(void)
{
	return race->group[random_below(race->groups)];
}

static pid_t any_task(void)
{
	return race->task[random_below(race->tasks)];
}

/* ---- racers that need no more than the groups ---- */

static void toggle(void *unused)
{
	const char *group;

	for (;;) {
		group = any_group();
		did(TOGGLES, set_pressure(group, false));
		pause_us(300);
		did(TOGGLES, set_pressure(group, true));
		pause_us(300);
	}
}

static void read_files(void *unused)
{
	struct psi_sample sample;

	for (;;) {
		did(READS, read_group(any_group(), random_below(PSI_IRQ),
				      &sample));
		if (!random_below(16))
			pause_us(1000);
	}
}

static void move_tasks(void *unused)
{
	for (;;) {
		did(MOVES, move_to_group(any_group(), any_task()));
		if (!random_below(8))
			pause_us(500);
	}
}

/* The last of the groups, which tasks may be in by then. */
static void make_and_remove(void *unused)
{
	const char *group = race->group[race->groups - 1];

	for (;;) {
		did(REMOVALS, error_if(rmdir(group)));
		pause_us(500);
		did(MAKES, error_if(mkdir(group, 0755)));
		pause_us(500);
	}
}

/* ---- tasks ---- */

static void nap(void *unused)
{
	for (;;) {
		pause_us(3000);
		burn_ms(1);
	}
}

static void add_task(const char *group, int cpu, void (*fn)(void *arg),
		     void *arg)
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

/* ---- beginning and end ---- */

static void prepare(void)
{
	begin_deeds(deeds, NR_DEEDS);
	race = shared_alloc(sizeof(*race));
	top_group();
}

static void add_group(const char *parent, const char *name)
{
	race->group[race->groups++] = make_group(parent, name);
}

/* Six of them, nested. */
static void add_groups(void)
{
	add_group(NULL, "a");
	add_group(race->group[0], "b");
	add_group(race->group[1], "c");
	add_group(race->group[0], "d");
	add_group(NULL, "e");
	add_group(race->group[1], "f");
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
	pin_to_cpu(online_cpus() - 1);
	start_in_group(group, 0, spin, NULL);
	start_in_group(group, 0, spin, NULL);
	sleep_ms(200);
	expect_share(group, PSI_CPU, 100, 0, 1000, 3);
	stop_all_loads();
	expect_still(group);
}

static void run(unsigned int ms, unsigned int needed)
{
	await_deeds(ms, needed);
	stop_all_loads();
}

static enum psi_result finish(unsigned int ms, unsigned int needed)
{
	run(ms, needed);
	expect_deeds(needed);
	expect_nothing_left();
	return PSI_PASS;
}

/* ---- racers that share open files ---- */

/*
 * A place for a file, which threads may use without asking: its number stays the
 * same, and there is always some file behind it. What was there is closed when
 * another one is put there, unless somebody is just using it.
 */
#define NR_PLACES	4

static int places[NR_PLACES];

static bool open_places(void)
{
	int i;

	for (i = 0; i < NR_PLACES; i++) {
		places[i] = open("/dev/null", O_RDWR);
		if (places[i] < 0)
			return false;
	}
	return true;
}

/* @fd: a new file, or -errno */
static void put_in_place(int place, int fd)
{
	did(CLOSES, fd < 0 ? fd : 0);
	if (fd < 0)
		return;
	dup2(fd, places[place]);
	close(fd);
}

static void start_thread(void *(*fn)(void *arg), long arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, (void *)arg))
		_exit(1);
}

static int ask_for_trigger(int fd, const char *trigger)
{
	return error_if(write(fd, trigger, strlen(trigger)) < 0);
}

/* ---- write against toggle ---- */

static void *renew(void *unused)
{
	for (;;) {
		put_in_place(0, open_group(any_group(), PSI_CPU, O_RDWR));
		pause_us(1000);
	}
	return NULL;
}

static void *write_shared(void *unused)
{
	for (;;) {
		did(WRITES, ask_for_trigger(places[0], EAGER_TRIGGER));
		pause_us(100);
	}
	return NULL;
}

static void *write_fresh(void *unused)
{
	int fd;

	for (;;) {
		fd = add_trigger(any_group(), PSI_CPU, EAGER_TRIGGER);
		did(WRITES, fd < 0 ? fd : 0);
		pause_us(200);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static void write_triggers(void *unused)
{
	if (!open_places())
		return;
	start_thread(renew, 0);
	start_thread(write_shared, 0);
	start_thread(write_shared, 0);
	start_thread(write_fresh, 0);
	write_fresh(NULL);
}

static enum psi_result write_against_toggle(void)
{
	prepare();
	add_group(NULL, "g");
	add_group(race->group[0], "child");
	add_group(race->group[0], "other");
	add_task(race->group[1], 0, spin, NULL);
	start_load(-1, write_triggers, NULL);
	start_load(-1, toggle, NULL);
	start_load(-1, toggle, NULL);
	return finish(RACE_MS, DEED(WRITES) | DEED(TOGGLES) | DEED(CLOSES));
}

/* ---- the first trigger of a group against off ---- */

/*
 * The first trigger may need a thread, and for as long as it takes to make one
 * no lock is held. Just then the group is switched off, which ends the file, and
 * others are opened, which get what memory the file had. Whoever still writes
 * there gives them a trigger that they have not asked for.
 */
#define NR_OTHERS	8
#define KTHREADD	2

/* Who makes threads, comes after everybody else. */
static int set_kthreadd_policy(int policy)
{
	struct sched_param param = { .sched_priority = 0 };

	return error_if(sched_setscheduler(KTHREADD, policy, &param));
}

static void kthreadd_as_ever(void)
{
	set_kthreadd_policy(SCHED_OTHER);
	remove_all_groups();
}

static void write_first_trigger(void *unused)
{
	int fd;

	for (;;) {
		fd = open_group(race->group[0], PSI_CPU, O_RDWR);
		if (fd < 0) {
			pause_us(200);
			continue;
		}
		race->writing = true;
		race->checking = true;
		did(WRITES, ask_for_trigger(fd, QUIET_TRIGGER));
		race->writing = false;
		while (race->checking)
			pause_us(100);
		close(fd);
	}
}

/*
 * The first one, in sysfs, needs one such piece of memory, those of a group need
 * another one for what belongs to cgroups. That is what is to be had again.
 */
static void open_others(int *fds)
{
	int i;

	fds[0] = open("/sys/devices/system/cpu/online", O_RDONLY);
	for (i = 1; i < NR_OTHERS; i++)
		fds[i] = open_group(race->group[1], PSI_IO, O_RDWR);
}

/* A trigger can be written to each, for there is none. */
static void use_others(const int *fds)
{
	int i;

	for (i = 1; i < NR_OTHERS; i++)
		did(OTHERS, ask_for_trigger(fds[i], QUIET_TRIGGER));
	for (i = 0; i < NR_OTHERS; i++)
		close(fds[i]);
}

static void switch_off_while_written(void *unused)
{
	int fds[NR_OTHERS];

	for (;;) {
		while (!race->checking)
			sched_yield();
		did(TOGGLES, set_pressure(race->group[0], false));
		open_others(fds);
		while (race->writing)
			pause_us(100);
		use_others(fds);
		race->checking = false;
		did(TOGGLES, set_pressure(race->group[0], true));
	}
}

static enum psi_result first_trigger_against_off(void)
{
	prepare();
	undo_later(kthreadd_as_ever);
	add_group(NULL, "g");
	add_group(NULL, "other");
	EXPECT(!set_kthreadd_policy(SCHED_IDLE), "cannot slow down kthreadd");
	start_load(-1, write_first_trigger, NULL);
	start_load(-1, switch_off_while_written, NULL);
	return finish(RACE_MS, DEED(WRITES) | DEED(TOGGLES) | DEED(OTHERS));
}

/* ---- close against fire ---- */

static void *renew_trigger(void *place)
{
	for (;;) {
		put_in_place((long)place, add_trigger(any_group(), PSI_CPU,
						      EAGER_TRIGGER));
		/* Every tenth of the window it is looked at. */
		pause_us(random_below(2) ? 100 : 120000);
	}
	return NULL;
}

static void poll_places(void)
{
	struct pollfd p[NR_PLACES];
	int i;

	for (i = 0; i < NR_PLACES; i++)
		p[i] = (struct pollfd) { places[i], POLLPRI };
	if (poll(p, NR_PLACES, 1) < 0)
		did(FIRES, -errno);
	for (i = 0; i < NR_PLACES; i++)
		if (p[i].revents & POLLPRI)
			did(FIRES, 0);
}

static void renew_and_poll(void *unused)
{
	int i;

	if (!open_places())
		return;
	for (i = 0; i < NR_PLACES; i++)
		start_thread(renew_trigger, i);
	for (;;)
		poll_places();
}

static enum psi_result close_against_fire(void)
{
	prepare();
	add_group(NULL, "g");
	add_task(race->group[0], 0, spin, NULL);
	add_task(race->group[0], 0, spin, NULL);
	start_load(-1, renew_and_poll, NULL);
	return finish(RACE_MS, DEED(CLOSES) | DEED(FIRES));
}

/* ---- removal against poll ---- */

#define WAKEUP_MS	1000

struct sleeper {
	int fd;
	int (*wait)(int fd, int ms);
	bool closed;	/* maybe before it begins to wait */
};

static void *sleep_in_poll(void *sleeper)
{
	struct sleeper *s = sleeper;
	bool woken = s->wait(s->fd, WAKEUP_MS) & POLLERR;

	if (!s->closed)
		did(WAKEUPS, woken ? 0 : -ETIME);
	return NULL;
}

/* A group, somebody who waits there, and no such group any more. */
static void wake_by_removal(const char *group, int round)
{
	static int (* const ways[])(int fd, int ms) = {
		wait_by_poll, wait_by_epoll, wait_by_select,
	};
	struct sleeper s = {
		.wait = ways[round % ARRAY_SIZE(ways)],
		.closed = round % 2,
	};
	pthread_t thread;

	did(MAKES, error_if(mkdir(group, 0755)));
	s.fd = add_trigger(group, PSI_CPU, QUIET_TRIGGER);
	if (s.fd < 0)
		did(WAKEUPS, s.fd);
	if (s.fd < 0 || pthread_create(&thread, NULL, sleep_in_poll, &s))
		_exit(1);
	pause_us(1000);
	if (round % 4 >= 2)
		did(TOGGLES, set_pressure(group, false));
	did(REMOVALS, error_if(rmdir(group)));
	if (!s.closed)
		pthread_join(thread, NULL);
	close(s.fd);
	if (s.closed)
		pthread_join(thread, NULL);
}

static void *wake_sleepers(void *number)
{
	char path[GROUP_PATH], name[16];
	int round;

	snprintf(name, sizeof(name), "g%ld", (long)number);
	group_file(path, race->group[0], name);
	for (round = 0; ; round++)
		wake_by_removal(path, round);
	return NULL;
}

static void wake_many_sleepers(void *unused)
{
	start_thread(wake_sleepers, 1);
	start_thread(wake_sleepers, 2);
	wake_sleepers((void *)3);
}

static enum psi_result removal_against_poll(void)
{
	prepare();
	add_group(NULL, "parent");
	add_task(race->group[0], 0, spin, NULL);
	start_load(-1, wake_many_sleepers, NULL);
	start_load(-1, read_files, NULL);
	return finish(RACE_MS, DEED(WAKEUPS) | DEED(REMOVALS));
}

/* ---- removal against fold ---- */

static pid_t fork_task(void (*fn)(void *arg))
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

/* Every 2 s (and a tick) a group is folded: many are removed at that time. */
static unsigned int lifetime_us(void)
{
	if (random_below(2))
		return 1000 * random_below(50);
	return 1000 * (1980 + random_below(50));
}

static void make_load_and_remove(void *arg)
{
	const char *group = arg;
	pid_t pid;

	for (;;) {
		did(MAKES, error_if(mkdir(group, 0755)));
		pid = fork_task(random_below(2) ? spin : nap);
		did(MOVES, pid < 0 ? -errno : move_to_group(group, pid));
		sleep_until(now_ns() + lifetime_us() * NSEC_PER_USEC);
		if (pid > 0)
			kill(pid, SIGKILL);
		did(FORKS, error_if(waitpid(pid, NULL, 0) != pid));
		did(REMOVALS, remove_group(group));
	}
}

static enum psi_result removal_against_fold(void)
{
	char name[8];
	int i;

	prepare();
	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		add_group(NULL, name);
		EXPECT(!remove_group(race->group[i]), "it cannot be removed");
	}
	for (i = 0; i < 6; i++)
		start_load(-1, make_load_and_remove, (void *)race->group[i]);
	start_load(-1, read_files, NULL);
	start_load(-1, read_files, NULL);
	return finish(9000, DEED(MAKES) | DEED(REMOVALS) | DEED(READS));
}

/* ---- move against everything ---- */

/* So many that sleep, and as many that wait for a disk, if there is one. */
static void add_sleepers(int number)
{
	const char *disk = slow_disk(3);

	add_tasks(number, nap, NULL);
	if (disk)
		add_tasks(number, read_disk, (void *)disk);
}

/* Tasks of all kinds in six groups, and what is done to them meanwhile. */
struct race_case {
	void (*racers[8])(void *unused);
	void (*task)(void *unused);
	int sleepers, memory_users, tasks;
	unsigned int ms, needed;
};

static void begin_race(const struct race_case *c)
{
	size_t i;

	prepare();
	add_groups();
	if (c->sleepers)
		add_sleepers(c->sleepers);
	if (c->memory_users)
		add_memory_users(c->memory_users);
	add_tasks(c->tasks, c->task, NULL);
	for (i = 0; i < ARRAY_SIZE(c->racers) && c->racers[i]; i++)
		start_load(-1, c->racers[i], NULL);
}

static enum psi_result run_race(const void *race_case)
{
	const struct race_case *c = race_case;

	begin_race(c);
	return finish(c->ms, c->needed);
}

static const struct race_case move_against_everything = {
	.sleepers = 4, .memory_users = 4, .tasks = 4, .task = spin,
	.racers = { move_tasks, move_tasks, toggle, read_files, make_and_remove },
	.ms = RACE_MS,
	.needed = DEED(MOVES) | DEED(TOGGLES) | DEED(READS) | DEED(REMOVALS),
};

/* ---- fork and exit against toggle ---- */

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
		did(FORKS, pid < 0 ? -errno : 0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static const struct race_case fork_against_toggle = {
	.tasks = 4, .task = fork_for_ever,
	.racers = { toggle, toggle, read_files, move_tasks },
	.ms = RACE_MS,
	.needed = DEED(FORKS) | DEED(TOGGLES) | DEED(READS) | DEED(MOVES),
};

/* ---- CPU hotplug against moves and toggles ---- */

static void all_online_and_no_groups(void)
{
	all_online();
	remove_all_groups();
}

static enum psi_result hotplug_against_all(void)
{
	int cpus = online_cpus();

	REQUIRE(have_hotplug(), "needs CONFIG_HOTPLUG_CPU");
	prepare();
	undo_later(all_online_and_no_groups);
	add_groups();
	add_tasks(cpus < 9 ? cpus + 1 : 10, spin, NULL);
	add_sleepers(4);
	start_hotplug(HOTPLUGS, 20000);
	start_load(-1, move_tasks, NULL);
	start_load(-1, toggle, NULL);
	start_load(-1, read_files, NULL);
	run(RACE_MS, DEED(HOTPLUGS) | DEED(MOVES) | DEED(TOGGLES));
	all_online();
	EXPECT(online_cpus() == cpus, "a CPU is lost");
	return finish(0, DEED(HOTPLUGS) | DEED(MOVES) | DEED(TOGGLES));
}

/* ---- quotas against everything ---- */

/* So little that it is used up most of the time. */
static void limit(void *unused)
{
	static const char * const quotas[] = { "1000 5000", "2000 20000", "max", "1000 50000" };

	for (;;) {
		did(QUOTAS, set_cgroup(any_group(), "cpu.max",
				       quotas[random_below(ARRAY_SIZE(quotas))]));
		pause_us(random_below(4) ? 1000 : 50000);
	}
}

/* Of those that have one below, and no task: see below. */
static void switch_controllers(void *unused)
{
	for (;;) {
		did(CONTROLLERS, set_cgroup(race->group[random_below(2)],
					    "cgroup.subtree_control",
					    random_below(2) ? "+cpu" : "-cpu"));
		pause_us(20000);
	}
}

static void read_causes(void *unused)
{
	char path[GROUP_PATH], text[2048];
	const char *group;
	ssize_t ret;

	for (;;) {
		group = random_below(4) ? any_group() : CGROUP_ROOT;
		ret = read_text(group_file(path, group, "pressure.causes"), text, sizeof(text));
		did(READS, ret < 0 ? ret : 0);
		pause_us(500);
	}
}

/* Below the first two, which have no tasks, so that the controller can be in them. */
static void move_tasks_below(void *unused)
{
	for (;;) {
		did(MOVES, move_to_group(race->group[2 + random_below(race->groups - 2)],
					 any_task()));
		pause_us(5000);
	}
}

/* In which way the tasks of a group wait, us. */
struct waits {
	__u64 contention, quota;
};

static bool read_waits(const char *group, struct waits *w)
{
	char path[GROUP_PATH], text[2048];

	if (read_text(group_file(path, group, "pressure.causes"), text, sizeof(text)) <= 0)
		return false;
	w->contention = number_after(text, "cpu.contention some=");
	w->quota = number_after(text, "cpu.quota some=");
	return true;
}

/* For how long the scheduler has throttled the group and those above it, us. */
static __u64 throttled_us(const char *group)
{
	char path[GROUP_PATH], text[1024];
	__u64 sum = 0;

	while (strcmp(group, CGROUP_ROOT)) {
		if (read_text(group_file(path, group, "cpu.stat"), text, sizeof(text)) > 0)
			sum += number_after(text, "throttled_usec ");
		group = strndupa(group, strrchr(group, '/') - group);
	}
	return sum;
}

#define NR_RACERS	6

static pid_t racers[NR_RACERS];

/* How many groups were held back by a limit for long. Each of them has to say so. */
static int check_limits(void)
{
	struct waits from[MAX_GROUPS] = { }, to;
	__u64 throttled[MAX_GROUPS];
	bool is_there[MAX_GROUPS];
	int i, checked = 0;

	for (i = 0; i < race->groups; i++) {
		is_there[i] = read_waits(race->group[i], &from[i]);
		throttled[i] = throttled_us(race->group[i]);
	}
	sleep_ms(1000);
	for (i = 0; i < race->groups; i++) {
		if (!is_there[i] || !read_waits(race->group[i], &to) ||
		    to.contention + to.quota < from[i].contention + from[i].quota + 100000 ||
		    throttled_us(race->group[i]) - throttled[i] < 500000)
			continue;
		checked++;
		EXPECT(to.quota > from[i].quota,
		       "%s is held back, and shows nothing but contention", race->group[i]);
	}
	return checked;
}

/* Those that stop leave limits behind. If it is none, tasks get one now. */
static void expect_limits_known(void)
{
	int i, left, checked;

	for (i = 0; i < NR_RACERS; i++)
		stop_load(racers[i]);
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
static void start_quotas(int tasks)
{
	int i = 0;

	prepare();
	add_group(NULL, "a");
	add_group(race->group[0], "b");
	add_group(race->group[1], "c");
	add_group(race->group[1], "d");
	add_group(race->group[0], "e");
	add_group(race->group[2], "f");
	REQUIRE(!enable_controller(race->group[2], "+cpu"), "needs the cpu controller");
	while (tasks--)
		add_task(race->group[2 + tasks % 4], -1, tasks % 4 ? spin : nap, NULL);
	start_load(-1, read_causes, NULL);
	racers[i++] = start_load(-1, limit, NULL);
	racers[i++] = start_load(-1, limit, NULL);
	racers[i++] = start_load(-1, switch_controllers, NULL);
	racers[i++] = start_load(-1, move_tasks_below, NULL);
	racers[i++] = start_load(-1, toggle, NULL);
}

static enum psi_result quotas_against_everything(void)
{
	const unsigned int needed = DEED(QUOTAS) | DEED(CONTROLLERS) | DEED(TOGGLES) |
				    DEED(MOVES) | DEED(READS) | DEED(REMOVALS);

	start_quotas(6);
	racers[NR_RACERS - 1] = start_load(-1, make_and_remove, NULL);
	await_deeds(2 * RACE_MS, needed);
	expect_limits_known();
	return finish(0, needed);
}

/* ---- causes against everything ---- */

/* Tasks that are held back, moved and killed in the midst of it, and those who look. */
static const struct race_case causes_against_everything = {
	.sleepers = 2, .memory_users = 3,
	.racers = { move_tasks, toggle, make_and_remove, read_causes, read_causes },
	.ms = 2 * RACE_MS,
	.needed = DEED(MOVES) | DEED(TOGGLES) | DEED(REMOVALS) | DEED(READS),
};

static enum psi_result hotplug_against_quotas(void)
{
	int cpus = online_cpus();

	REQUIRE(have_hotplug(), "needs CONFIG_HOTPLUG_CPU");
	undo_later(all_online_and_no_groups);
	start_quotas(8);
	start_hotplug(HOTPLUGS, 20000);
	run(2 * RACE_MS, DEED(HOTPLUGS) | DEED(QUOTAS) | DEED(TOGGLES));
	all_online();
	EXPECT(online_cpus() == cpus, "a CPU is lost");
	return finish(0, DEED(HOTPLUGS) | DEED(QUOTAS) | DEED(TOGGLES));
}

/* ---- the facts ---- */

#define LIVE_TEST	"/sys/kernel/debug/kunit/psi_live/"
#define LIVE_RUNS	5

/* The kernel's own test has all counts compared with what the tasks are doing. */
static void expect_facts(void)
{
	char results[4096];

	EXPECT(!write_text(LIVE_TEST "run", "1"), "cannot run psi_live");
	EXPECT(read_text(LIVE_TEST "results", results, sizeof(results)) > 0,
	       "psi_live has no results");
	if (strstr(results, "not ok") || !strstr(results, "ok 1 "))
		leave_case(PSI_FAIL, "psi_live says: %s", results);
}

static enum psi_result facts_amid_everything(void)
{
	static const struct race_case facts = {
		.sleepers = 3, .memory_users = 3, .tasks = 3, .task = fork_for_ever,
		.racers = { move_tasks, toggle, make_and_remove },
	};
	int i;

	REQUIRE(!access(LIVE_TEST "run", W_OK),
		"needs CONFIG_PSI_DEBUG, CONFIG_PSI_KUNIT_TEST and kunit.enable=1");
	begin_race(&facts);
	for (i = 0; i < LIVE_RUNS; i++)
		expect_facts();
	return finish(0, DEED(MOVES) | DEED(TOGGLES) | DEED(FORKS) | DEED(REMOVALS));
}

#define RACE(c)	.run_with = run_race, .arg = &(c)

static const struct psi_case cases[] = {
	{ "R-14 write against toggle", write_against_toggle },
	{ "R-12 close against fire", close_against_fire },
	{ "R-14 removal against poll", removal_against_poll },
	{ "R-14 removal against fold", removal_against_fold },
	{ "R-14 move against everything", RACE(move_against_everything) },
	{ "R-14 fork and exit in groups against toggle", RACE(fork_against_toggle) },
	{ "R-14 CPU hotplug against moves and toggles", hotplug_against_all, 2 },
	{ "R-19 R-14 quotas against everything", quotas_against_everything },
	{ "R-19 R-14 causes against everything", RACE(causes_against_everything) },
	{ "R-19 CPU hotplug against quotas", hotplug_against_quotas, 2 },
	{ "R-14 what is counted is what is so, amid everything",
	  facts_amid_everything },
	{ "D-6 R-14 the first trigger of a group against off",
	  first_trigger_against_off, 0, 1 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
