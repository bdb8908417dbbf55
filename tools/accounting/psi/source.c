// SPDX-License-Identifier: GPL-2.0
/*
 * Find the pressure files, and tell the user what is wrong if there are none.
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

/* Take the mount point from a line of mountinfo. Return: false if it is not of cgroup2. */
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
 * source_open - open the directories with the pressure files
 * @source:     to be filled in
 * @system_dir: replaces /proc/pressure, unless NULL
 * @cgroup_dir: replaces the mount point of cgroup2, unless NULL
 *
 * The descriptor of a directory that cannot be opened is -1.
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

/* Return: 0, or why the files cannot be read although their directory is there. */
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
 * source_system_error - explain why the pressure of the system cannot be read
 * @source: after source_open()
 * @text:   gets the reason and what to do about it, without a newline
 * @size:   size of @text
 *
 * Return: @text; NULL if nothing is wrong.
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
			 "%s: no pressure here: boot a kernel that has CONFIG_PSI=y with psi=1",
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
 * cgroup_below - understand the path of a cgroup that the user gives
 * @cgroup_dir: mount point of cgroup2; NULL if not mounted
 * @path:       path below the mount point, or one that includes the mount point
 *
 * Return: the path below the mount point, "" or "/a/b", which the caller frees; NULL if there
 * is no memory.
 */
char *cgroup_below(const char *cgroup_dir, const char *path)
{
	size_t len = cgroup_dir ? strlen(cgroup_dir) : 0;
	char *dir;

	if (len && !strncmp(path, cgroup_dir, len) && (!path[len] || path[len] == '/'))
		path += len;
	path += strspn(path, "/");
	if (asprintf(&dir, "%s%s", *path ? "/" : "", path) < 0)
		return NULL;
	for (len = strlen(dir); len && dir[len - 1] == '/'; len--)
		dir[len - 1] = '\0';
	return dir;
}

/**
 * source_cgroup - find a cgroup by the path that the user gives
 * @source: after source_open()
 * @path:   as for cgroup_below()
 *
 * Return: as cgroup_below(); NULL with errno set if there is no such cgroup.
 */
char *source_cgroup(const struct source *source, const char *path)
{
	char *dir = cgroup_below(source->cgroup_dir, path);
	int fd;

	if (!dir)
		return NULL;
	fd = open_below(source->cgroup_fd, dir, "", O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		free(dir);
		return NULL;
	}
	close(fd);
	return dir;
}

/**
 * source_has_pressure - check if a cgroup has readable pressure files
 * @source: after source_open()
 * @dir:    the group, "" or "/a/b"
 *
 * Return: true if so.
 */
bool source_has_pressure(const struct source *source, const char *dir)
{
	int fd = open_below(source->cgroup_fd, dir, "cpu.pressure", O_RDONLY);
	char text[TEXT_SIZE];
	bool has;

	if (fd < 0)
		return false;
	/* With psi=0, some kernels have the files, but reading them fails. */
	has = read_whole(fd, text);
	close(fd);
	return has;
}

/**
 * open_below - open a file in a directory
 * @root_fd: the directory to which @dir is relative
 * @dir:     path of the directory, "" or "/a/b"
 * @file:    name of the file; "" for the directory itself
 * @flags:   as for open()
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
 * @text: buffer of TEXT_SIZE; gets a NUL at the end
 *
 * Return: true on success; false with errno set.
 */
bool read_whole(int fd, char *text)
{
	ssize_t len = pread(fd, text, TEXT_SIZE - 1, 0);

	if (len < 0)
		return false;
	text[len] = '\0';
	return true;
}
