// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are read again and again. They stay open, since opening a file costs more than
 * reading it, unless there are more of them than a process may open. Files of idle groups
 * are read once, and once more when their averages have settled. They leave room for the others:
 * a file stays open from its third reading on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tree.h"

/* Descriptors that are left for everything else. */
#define SPARE		64
/* Each open file that was read takes a page of kernel memory. */
#define MAX_OPEN	8192

/**
 * files_init - find out how many files may be kept open
 * @tree: the tree that keeps them open
 */
void files_init(struct tree *tree)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max < MAX_OPEN ? limit.rlim_max : MAX_OPEN;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > SPARE)
		tree->max_open = limit.rlim_cur - SPARE;
}

/**
 * kept_close - close a file that group_read() may have kept open
 * @tree:    the tree that keeps it open
 * @kept_fd: the file; NEVER_READ afterwards
 */
void kept_close(struct tree *tree, int *kept_fd)
{
	if (*kept_fd >= 0) {
		close(*kept_fd);
		tree->nr_open--;
	}
	*kept_fd = NEVER_READ;
}

/**
 * group_read - read a file of a group
 * @tree:    the tree of the group
 * @group:   the group
 * @in_proc: the file is in /proc/pressure, and not in the group's directory
 * @file:    name of the file
 * @kept_fd: descriptor of the file, or NEVER_READ to READ_TWICE if it is not open; updated
 * @text:    buffer of TEXT_SIZE
 *
 * Return: true on success; false with errno set, and the file is not open.
 */
bool group_read(struct tree *tree, struct group *group, bool in_proc, const char *file,
		int *kept_fd, char *text)
{
	int fd, error;

	if (*kept_fd >= 0) {
		if (read_whole(*kept_fd, text))
			return true;
		/* Accounting of the group was switched off, and maybe on again. */
		kept_close(tree, kept_fd);
	}

	if (in_proc)
		fd = open_below(tree->source->system_fd, "", file, O_RDONLY);
	else
		fd = open_below(tree->source->cgroup_fd, group->dir, file, O_RDONLY);
	if (fd < 0)
		return false;
	if (!read_whole(fd, text)) {
		error = errno;
		close(fd);
		errno = error;
		return false;
	}
	if (*kept_fd == READ_TWICE && tree->nr_open < tree->max_open) {
		*kept_fd = fd;
		tree->nr_open++;
	} else {
		if (*kept_fd != READ_TWICE)
			--*kept_fd;
		close(fd);
	}
	return true;
}
