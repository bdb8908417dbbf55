/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where pressure files are, and what to tell who asks if there are none.
 */
#ifndef PSI_TOOLS_SOURCE_H
#define PSI_TOOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* More than any of the files has. */
#define TEXT_SIZE	4096

struct source {
	const char	*system_dir;	/* /proc/pressure */
	const char	*cgroup_dir;	/* where cgroup2 is mounted; NULL if nowhere */
	int		system_fd;	/* -1: see system_error */
	int		system_error;	/* the errno of opening system_dir */
	int		cgroup_fd;	/* -1: there is none */
};

void source_open(struct source *source, const char *system_dir, const char *cgroup_dir);
const char *source_system_error(const struct source *source, char *text, size_t size);
char *source_cgroup(const struct source *source, const char *path);
bool source_has_pressure(const struct source *source, const char *dir);
bool read_whole(int fd, char *text);
int open_below(int root_fd, const char *dir, const char *file, int flags);

#endif
