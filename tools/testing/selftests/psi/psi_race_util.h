/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Races in groups, for the PSI selftests: what racers do to them, which tasks are in them, and what
 * has to be so when it is over. The racers are loads (see psi_util.h), so each is killed in
 * the midst of what it is doing.
 */
#ifndef PSI_RACE_UTIL_H
#define PSI_RACE_UTIL_H

#include "psi_cgroup_util.h"

#define RACE_MS		4000

#define MAX_GROUPS	8
#define MAX_TASKS	32
#define MAX_RACERS	8

/* What has been done; see did(). */
enum {
	WRITES, OTHERS, FIRES, CLOSES, WAKEUPS, TOGGLES, READS, MAKES,
	REMOVALS, MOVES, FORKS, HOTPLUGS, QUOTAS, CONTROLLERS, NR_DEEDS
};

/* Of the case that runs; shared by all racers. */
struct race {
	const char *group[MAX_GROUPS];
	int groups;
	pid_t task[MAX_TASKS];
	int tasks;
	pid_t racer[MAX_RACERS];
	int cpus;
	atomic_bool writing, checking;
};

extern struct race *race;

/* Tasks in groups, and what is done to them meanwhile. */
struct race_case {
	const char *groups[MAX_GROUPS];		/* below the top group */
	void (*racers[MAX_RACERS])(void);	/* again and again */
	int spinners, spin_in;			/* on CPU 0, and in which group */
	int sleepers, memory_users, tasks;	/* in all groups */
	void (*task)(void *unused);
	bool hotplug;				/* CPUs go, and there is a task more than CPUs */
	unsigned int ms, needed;
};

#define RACE(...)	.run_with = run_race, .arg = &(const struct race_case){ __VA_ARGS__ }

enum psi_result run_race(const void *race_case);
/* Its parts: groups, all tasks, racers, and what the case then expects. */
void begin_groups(const struct race_case *c);
void begin_race(const struct race_case *c);
void start_racers(const struct race_case *c);
enum psi_result finish_race(const struct race_case *c);

int error_if(bool failed);	/* 0 or -errno */
const char *any_group(void);
pid_t any_task(void);

/* Racers. */
void toggle(void);
void read_files(void);
void move_tasks(void);
void make_and_remove(void);	/* the last of the groups */

/* Tasks. */
void nap(void *unused);
void add_task(const char *group, int cpu, void (*fn)(void *arg), void *arg);
/* A child of a task; it ends with it. */
pid_t fork_task(void (*fn)(void *arg));

#endif /* PSI_RACE_UTIL_H */
