/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups of cgroup2 for the PSI selftests. All of them are below one that is
 * made with the first, and are gone, with everything in them, when the case
 * ends.
 *
 * A group is known by its path, which is valid until then.
 */
#ifndef PSI_CGROUP_UTIL_H
#define PSI_CGROUP_UTIL_H

#include "psi_util.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"

#define GROUP_PATH	256	/* longest path, with a file and the 0 */

/* ---- groups ---- */

/* Should groups have pressure files? */
bool have_groups(void);
#define NO_GROUPS	"needs cgroup2, and psi switched on for it"

/*
 * The group that all others are in. Made if it is not there yet, unless the case
 * has to be skipped. Not to be called by loads, nor is make_group().
 */
const char *top_group(void);

/* Makes @name in @parent, or in the top group if that is NULL. */
const char *make_group(const char *parent, const char *name);

/* 0 or -errno. Waits for tasks that have been killed to leave. */
int remove_group(const char *group);

/*
 * Kills all tasks in them, and removes the groups; 0 or -errno. A case that has
 * to undo something else as well has to call this there.
 */
int remove_all_groups(void);

/* "+memory" and the like. No task may be in a group above @group then. */
int enable_controller(const char *group, const char *controller);

/* ---- their files ---- */

/* Fills in and returns @path, which has room for GROUP_PATH. */
const char *group_file(char *path, const char *group, const char *file);

/* Like open(2), but -errno if it fails; the latter opens a pressure file. */
int open_in_group(const char *group, const char *file, int flags);
int open_group(const char *group, enum psi_resource res, int flags);

/* Reads one of the pressure files and parses it; 0 or -errno. */
int read_group(const char *group, enum psi_resource res,
	       struct psi_sample *sample);

/* Those that there are: all, or all but the last one, irq. */
int nr_resources(const char *group);

/* Switches accounting on or off, via cgroup.pressure; 0 or -errno, or the case has failed. */
int set_pressure(const char *group, bool on);
void must_switch(const char *group, bool on);
/* For undo_later(); no group is left then. */
void switch_root_on(void);

/* ---- triggers ---- */

/* Opens a pressure file and writes @trigger to it; an fd or -errno. */
int add_trigger(const char *group, enum psi_resource res, const char *trigger);

/*
 * Ways to wait up to @ms for an event of an fd; what has happened, as in revents,
 * or 0. An fd that has been in an epoll set is taken out of it again.
 */
int wait_by_poll(int fd, int ms);
int wait_by_epoll(int fd, int ms);
int wait_by_select(int fd, int ms);

/* ---- tasks in them ---- */

/* 0 or -errno */
int move_to_group(const char *group, pid_t pid);
int move_thread_to_group(const char *group, pid_t tid);
void must_move(const char *group, pid_t pid);

/* start_load(), and it is in @group before @fn begins, and on return. */
pid_t start_in_group(const char *group, int cpu, void (*fn)(void *arg),
		     void *arg);

/* So many busy tasks on CPU 0. */
void start_spinners(const char *group, int count);

/*
 * Starts a task in @group that is far over the memory.high of @limited, which is that group
 * or one above, and held back for that for 2 s at a time. Needs the memory controller.
 */
pid_t start_held_back(int cpu, const char *group, const char *limited);

/* ---- trace events ---- */

#define TRACING		"/sys/kernel/tracing/"
#define PSI_EVENTS	TRACING "events/psi/"

/* Nothing of psi is traced, and the trace is empty; so it is when the case ends. */
void need_tracing(void);
void stop_tracing(void);

/* What events call a group. */
__u64 group_id(const char *group);

/* ---- what they show ---- */

/* Loads are on CPU 0, and the watcher is on the last one, which may be the same. */
void watch_from_afar(void);
/* Until loads have started, and are where they belong. */
void settle(void);

/* What a group should show, in percent. */
struct expected {
	const char *group;
	enum psi_resource res;
	double some, full;
};

/*
 * Watches all of them during the same @ms milliseconds. The case has failed if
 * one is not within @tolerance.
 */
void expect_shares(const struct expected *e, size_t count, unsigned int ms,
		   double tolerance);
void expect_share(const char *group, enum psi_resource res, double some,
		  double full, unsigned int ms, double tolerance);

/* The case has failed if any total of @group grows within 500 ms. */
void expect_still(const char *group);
void expect_all_still(const char * const *groups, size_t count);

#endif /* PSI_CGROUP_UTIL_H */
