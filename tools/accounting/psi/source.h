/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the pressure files, and tell the user what is wrong if there are none.
 */
#ifndef PSI_TOOLS_SOURCE_H
#define PSI_TOOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* Larger than any of the files. */
#define TEXT_SIZE	4096

struct source {
	const char	*system_dir;	/* /proc/pressure */
	const char	*cgroup_dir;	/* mount point of cgroup2; NULL if not mounted */
	int		system_fd;	/* -1: see system_error */
	int		system_error;	/* the errno of opening system_dir */
	int		cgroup_fd;	/* -1: not open */
	const char	*proc_dir;	/* /proc, for tasks */
};

void source_open(struct source *source, const char *system_dir, const char *cgroup_dir);
const char *source_system_error(const struct source *source, char *text, size_t size);
char *cgroup_below(const char *cgroup_dir, const char *path);
char *source_cgroup(const struct source *source, const char *path);
bool source_has_pressure(const struct source *source, const char *dir);
bool read_whole(int fd, char *text);
int open_below(int root_fd, const char *dir, const char *file, int flags);

#endif
