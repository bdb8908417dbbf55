/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of containers share: proc mounts with pressure=cgroup, and cgroup
 * namespaces. A case puts itself into namespaces, and is in that of the system when it
 * ends. Groups are always seen through the mount of the system.
 */
#ifndef PSI_CONTAINER_UTIL_H
#define PSI_CONTAINER_UTIL_H

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define QUIET_TRIGGER	"some 1000000 1000000"
#define MAX_TEXT	2048

/* ---- mounts ---- */

/* A new proc mount; 0 or -errno. It is there until the case ends, as is the latter's. */
int try_mount(const char *options);
const char *mount_proc(const char *options);
int remount(const char *proc, const char *options);	/* 0 or -errno */

/* ---- namespaces ---- */

bool groups_are_used(void);
/*
 * We are in a namespace that begins at @group, but in no group of it. NULL: there are none.
 * 0 or -errno.
 */
int try_enter(const char *group);
void enter(const char *group);
void back_to_system(void);
/* A group in which nothing has ever happened, and we are in its namespace. */
const char *enter_idle_group(void);

/* ---- files ---- */

/* Valid until it is called again, which the others do. */
const char *pressure_file(const char *proc, const char *name);
/* A descriptor or -errno. */
int open_in_proc(const char *proc, const char *name, int flags);
int must_open(const char *proc, const char *name, int flags);
/* Is @fd that error, or no error as it should be? Then it is closed. */
void expect_opened(int fd, int expected, const char *format, ...) __printf(3, 4);

ssize_t read_proc(const char *proc, const char *name, char *text);
__u64 some_total(const char *text);
__u64 cpu_total(const char *proc);

void make_system_busy(void);
bool is_the_systems(const char *proc);
/* Of a group in which nobody was but we ourselves, on the way into its namespace. */
bool is_idle(__u64 total);

/* ---- cases ---- */

/* Each has a proc mount with pressure=cgroup, made in the system's namespace. */
struct container_case {
	void (*run)(const char *proc);
};

enum psi_result run_container_case(const void *container_case);

#define CONTAINER(run)	.run_with = run_container_case, \
			.arg = &(const struct container_case){ run }

#endif /* PSI_CONTAINER_UTIL_H */
