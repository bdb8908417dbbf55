// SPDX-License-Identifier: GPL-2.0
/*
 * Where pressure files are, and what to tell who asks if there are none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

#define SYSTEM_DIR	"/proc/pressure"

/* The mount point in a line of mountinfo if it is one of cgroup2. */
static bool is_cgroup2(const char *line, char *mount_point)
{
	const char *type = strstr(line, " - ");

	return type && !strncmp(type + 3, "cgroup2 ", 8) &&
	       sscanf(line, "%*s %*s %*s %*s %4095s", mount_point) == 1;
}

static char *find_cgroup2(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *found = NULL, mount_point[PATH_MAX];
	size_t size = 0;

	while (mounts && !found && getline(&line, &size, mounts) > 0) {
		if (is_cgroup2(line, mount_point))
			found = strdup(mount_point);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return found;
}

/**
 * source_open - open the directories below which pressure files are
 * @source:     to be filled in
 * @system_dir: instead of /proc/pressure; NULL for that
 * @cgroup_dir: instead of where cgroup2 is mounted; NULL for that
 *
 * What cannot be opened has a descriptor of -1.
 */
void source_open(struct source *source, const char *system_dir, const char *cgroup_dir)
{
	source->system_dir = system_dir ?: SYSTEM_DIR;
	source->cgroup_dir = cgroup_dir ?: find_cgroup2();
	source->system_fd = open(source->system_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	source->system_error = source->system_fd < 0 ? errno : 0;
	source->cgroup_fd = -1;
	if (source->cgroup_dir)
		source->cgroup_fd = open(source->cgroup_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* What a directory is for that is there, but whose files do not tell anything. */
static int first_error(const struct source *source)
{
	char text[TEXT_SIZE];
	int fd, error = 0;

	fd = open_below(source->system_fd, "", "cpu", O_RDONLY);
	if (fd < 0)
		return errno;
	if (!read_whole(fd, text))
		error = errno;
	close(fd);
	return error;
}

/**
 * source_system_error - why there is no pressure of the system
 * @source: after source_open()
 * @text:   where to write the reason and what to do about it, without a newline
 * @size:   how much of @text there is
 *
 * Return: @text; NULL if there is nothing wrong.
 */
const char *source_system_error(const struct source *source, char *text, size_t size)
{
	int error = source->system_error ?: first_error(source);

	switch (error) {
	case 0:
		return NULL;
	case ENOENT:
	case EOPNOTSUPP:
		snprintf(text, size,
			 "%s: no pressure here: boot with psi=1, a kernel with CONFIG_PSI=y",
			 source->system_dir);
		return text;
	case EACCES:
	case EPERM:
		snprintf(text, size, "%s: no permission to read: run as root", source->system_dir);
		return text;
	}
	snprintf(text, size, "%s: %s", source->system_dir, strerror(error));
	return text;
}

/**
 * source_cgroup - find a cgroup by what a user calls it
 * @source: after source_open()
 * @path:   below the mount point, or with the mount point before it
 *
 * Return: the path below the mount point, "" or "/a/b", to be freed; NULL with errno set
 * if there is no such group.
 */
char *source_cgroup(const struct source *source, const char *path)
{
	size_t len = source->cgroup_dir ? strlen(source->cgroup_dir) : 0;
	char *dir;
	int fd;

	if (len && !strncmp(path, source->cgroup_dir, len) && (!path[len] || path[len] == '/'))
		path += len;
	path += strspn(path, "/");
	if (asprintf(&dir, "%s%s", *path ? "/" : "", path) < 0)
		return NULL;
	for (len = strlen(dir); len && dir[len - 1] == '/'; len--)
		dir[len - 1] = '\0';

	fd = open_below(source->cgroup_fd, dir, "", O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		free(dir);
		return NULL;
	}
	close(fd);
	return dir;
}

/**
 * source_has_pressure - whether a cgroup has pressure files that can be read
 * @source: after source_open()
 * @dir:    the group, "" or "/a/b"
 *
 * Return: that.
 */
bool source_has_pressure(const struct source *source, const char *dir)
{
	int fd = open_below(source->cgroup_fd, dir, "cpu.pressure", O_RDONLY);
	char text[TEXT_SIZE];
	bool has;

	if (fd < 0)
		return false;
	/* Some kernels have the files with psi=0 as well, and no pressure in them. */
	has = read_whole(fd, text);
	close(fd);
	return has;
}

/**
 * open_below - open a file in a directory
 * @root_fd: where the path of the directory begins
 * @dir:     that path, "" or "/a/b"
 * @file:    what is in it; "" for itself
 * @flags:   as those of open()
 *
 * Return: the descriptor; -1 with errno set.
 */
int open_below(int root_fd, const char *dir, const char *file, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), ".%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(root_fd, path, flags | O_CLOEXEC);
}

/**
 * read_whole - read a file from its beginning
 * @fd:   the file
 * @text: room for TEXT_SIZE; gets a NUL at the end
 *
 * Return: whether it could be read; errno is set if not.
 */
bool read_whole(int fd, char *text)
{
	ssize_t len = pread(fd, text, TEXT_SIZE - 1, 0);

	if (len < 0)
		return false;
	text[len] = '\0';
	return true;
}
