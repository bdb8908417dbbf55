// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure files of groups, written, polled and closed at the same time, and as fast as it can
 * be done, while the groups are switched off or go. What is checked is that nobody gets an
 * answer that makes no sense, and that nothing is left thereafter; psi_splat has to be run
 * after it.
 *
 * Racers that share open files are threads of one load.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_race_util.h"

#define QUIET_TRIGGER	"some 1000000 1000000"
#define EAGER_TRIGGER	"some 1000 500000"

/* ---- racers that share open files ---- */

/*
 * A place for a file, which threads may use without asking: its number stays the
 * same, and there is always some file behind it. What was there is closed when
 * another one is put there, unless somebody is just using it.
 */
#define NR_PLACES	4

static int places[NR_PLACES];

static void open_places(void)
{
	int i;

	for (i = 0; i < NR_PLACES; i++) {
		places[i] = open("/dev/null", O_RDWR);
		if (places[i] < 0)
			_exit(1);
	}
}

/* @fd: a new file, or -errno */
static void put_in_place(int place, int fd)
{
	if (!did(CLOSES, fd))
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
		did(WRITES, fd);
		pause_us(200);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static void write_triggers(void)
{
	open_places();
	start_thread(renew, 0);
	start_thread(write_shared, 0);
	start_thread(write_shared, 0);
	start_thread(write_fresh, 0);
	write_fresh(NULL);
}

/* ---- the first trigger of a group against off ---- */

/*
 * The first trigger may need a thread, and for as long as it takes to make one
 * no lock is held. Just then the group is switched off, which ends the file, and
 * others are opened, which get what memory the file had. A racer that still writes
 * there gives them a trigger that they have not asked for.
 */
#define NR_OTHERS	8
#define KTHREADD	2

/* The racer that makes threads comes after all others. */
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

static void write_first_trigger(void)
{
	int fd = open_group(race->group[0], PSI_CPU, O_RDWR);

	if (fd < 0) {
		pause_us(200);
		return;
	}
	race->writing = true;
	race->checking = true;
	did(WRITES, ask_for_trigger(fd, QUIET_TRIGGER));
	race->writing = false;
	while (race->checking)
		pause_us(100);
	close(fd);
}

static void switch_off_while_written(void)
{
	int fds[NR_OTHERS];
	int i;

	while (!race->checking)
		sched_yield();
	did(TOGGLES, set_pressure(race->group[0], false));
	/*
	 * The first one, in sysfs, needs one such piece of memory, those of a group need
	 * another one for what belongs to cgroups. That is what is to be had again.
	 */
	fds[0] = open("/sys/devices/system/cpu/online", O_RDONLY);
	for (i = 1; i < NR_OTHERS; i++)
		fds[i] = open_group(race->group[1], PSI_IO, O_RDWR);
	while (race->writing)
		pause_us(100);
	/* A trigger can be written to each, for there is none. */
	for (i = 1; i < NR_OTHERS; i++)
		did(OTHERS, ask_for_trigger(fds[i], QUIET_TRIGGER));
	for (i = 0; i < NR_OTHERS; i++)
		close(fds[i]);
	race->checking = false;
	did(TOGGLES, set_pressure(race->group[0], true));
}

static enum psi_result first_trigger_against_off(void)
{
	static const struct race_case c = {
		.groups = { "g", "other" },
		.racers = { write_first_trigger, switch_off_while_written },
		.ms = RACE_MS, .needed = DEED(WRITES) | DEED(TOGGLES) | DEED(OTHERS),
	};

	begin_groups(&c);
	undo_later(kthreadd_as_ever);
	EXPECT(!set_kthreadd_policy(SCHED_IDLE), "cannot slow down kthreadd");
	start_racers(&c);
	return finish_race(&c);
}

/* ---- close against fire ---- */

static void *renew_trigger(void *place)
{
	for (;;) {
		put_in_place((long)place, add_trigger(any_group(), PSI_CPU, EAGER_TRIGGER));
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

static void renew_and_poll(void)
{
	int i;

	open_places();
	for (i = 0; i < NR_PLACES; i++)
		start_thread(renew_trigger, i);
	for (;;)
		poll_places();
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

/* A group, a poller of it, and no such group any more. */
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
	char path[GROUP_PATH];
	int round;

	snprintf(path, sizeof(path), "%s/g%ld", race->group[0], (long)number);
	for (round = 0; ; round++)
		wake_by_removal(path, round);
	return NULL;
}

static void wake_many_sleepers(void)
{
	start_thread(wake_sleepers, 1);
	start_thread(wake_sleepers, 2);
	wake_sleepers((void *)3);
}

/* ---- removal against fold ---- */

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
	static const struct race_case c = {
		.groups = { "g0", "g1", "g2", "g3", "g4", "g5" },
		.racers = { read_files, read_files },
		.ms = 9000, .needed = DEED(MAKES) | DEED(REMOVALS) | DEED(READS),
	};
	int i;

	begin_groups(&c);
	for (i = 0; i < race->groups; i++)
		EXPECT(!remove_group(race->group[i]), "it cannot be removed");
	for (i = 0; i < race->groups; i++)
		start_load(-1, make_load_and_remove, (void *)race->group[i]);
	start_racers(&c);
	return finish_race(&c);
}

static const struct psi_case cases[] = {
	{ "R-14 write against toggle",
	  RACE(.groups = { "g", "g/child", "g/other" }, .spinners = 1, .spin_in = 1,
	       .racers = { write_triggers, toggle, toggle }, .ms = RACE_MS,
	       .needed = DEED(WRITES) | DEED(TOGGLES) | DEED(CLOSES)) },
	{ "R-12 close against fire",
	  RACE(.groups = { "g" }, .spinners = 2, .racers = { renew_and_poll }, .ms = RACE_MS,
	       .needed = DEED(CLOSES) | DEED(FIRES)) },
	{ "R-14 removal against poll",
	  RACE(.groups = { "parent" }, .spinners = 1,
	       .racers = { wake_many_sleepers, read_files }, .ms = RACE_MS,
	       .needed = DEED(WAKEUPS) | DEED(REMOVALS)) },
	{ "R-14 removal against fold", removal_against_fold },
	{ "D-6 R-14 the first trigger of a group against off",
	  first_trigger_against_off, 0, 1 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
