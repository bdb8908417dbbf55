// SPDX-License-Identifier: GPL-2.0
/*
 * The tree of groups: the system, and below it the directories of cgroup2.
 *
 * The directories are scanned once. From then on, inotify tells which are made and removed;
 * where it cannot, they are scanned again every few seconds.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"
#include "units.h"

#define SCAN_S	5

static void *resized(void *memory, size_t nr, size_t size)
{
	memory = reallocarray(memory, nr, size);
	if (!memory)
		err(1, "no memory for the groups");
	return memory;
}

static struct group *new_group(struct group *parent, const char *dir, const char *name)
{
	struct group *group = resized(NULL, 1, sizeof(*group));
	int i;

	memset(group, 0, sizeof(*group));
	if (asprintf(&group->dir, "%s%s%s", dir, *name ? "/" : "", name) < 0)
		err(1, "no memory for the groups");
	group->name = strrchr(group->dir, '/') ? strrchr(group->dir, '/') + 1 : "/";
	group->has_dir = true;
	group->watch = -1;
	group->parent = parent;
	for (i = 0; i < NR_RESOURCES; i++)
		group->reading[i].fd = NEVER_READ;
	for (i = 0; i < NR_CAUSES_FILES; i++)
		group->causes[i].fd = NEVER_READ;
	return group;
}

/**
 * group_add - add a group to the tree
 * @tree:  the tree
 * @group: its parent
 * @name:  its name; empty at the root of a container, below the system
 *
 * Return: the new group, of which nothing is read yet.
 */
struct group *group_add(struct tree *tree, struct group *group, const char *name)
{
	struct group *child = new_group(group, group->dir, name);

	group->child = resized(group->child, group->nr_children + 1, sizeof(*group->child));
	group->child[group->nr_children++] = child;
	tree->nr_groups++;
	return child;
}

/* Search the first nr children. */
static struct group *find_child(struct group *group, const char *name, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(group->child[i]->name, name))
			return group->child[i];
	}
	return NULL;
}

static struct group **watch_list(struct tree *tree, int watch)
{
	return &tree->by_watch[(unsigned int)watch % NR_WATCH_LISTS];
}

static struct group *watched(struct tree *tree, int watch)
{
	struct group *group = *watch_list(tree, watch);

	while (group && group->watch != watch)
		group = group->next_watch;
	return group;
}

static void watch(struct tree *tree, struct group *group)
{
	struct group **list;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", tree->source->cgroup_dir, group->dir) >=
	    (int)sizeof(path))
		return;
	group->watch = inotify_add_watch(tree->inotify_fd, path,
					 IN_CREATE | IN_DELETE | IN_ONLYDIR);
	if (group->watch < 0) {
		tree->unwatched |= errno != ENOENT;
		return;
	}
	list = watch_list(tree, group->watch);
	group->next_watch = *list;
	*list = group;
}

static void unwatch(struct tree *tree, struct group *group)
{
	struct group **link;

	if (group->watch < 0)
		return;
	link = watch_list(tree, group->watch);
	while (*link != group)
		link = &(*link)->next_watch;
	*link = group->next_watch;
	inotify_rm_watch(tree->inotify_fd, group->watch);
}

/* Free a group and its descendants. */
static void free_group(struct tree *tree, struct group *group)
{
	int i;

	for (i = 0; i < group->nr_children; i++)
		free_group(tree, group->child[i]);
	unwatch(tree, group);
	group_close(tree, group);
	group_free_causes(group);
	tree->nr_groups--;
	free(group->child);
	free(group->dir);
	free(group);
}

static void remove_child(struct tree *tree, struct group *group, int i)
{
	struct group *child = group->child[i];

	group->child[i] = group->child[--group->nr_children];
	free_group(tree, child);
}

static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.')
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st.st_mode);
}

static DIR *open_directory(struct tree *tree, struct group *group)
{
	int fd = open_below(tree->source->cgroup_fd, group->dir, "", O_RDONLY | O_DIRECTORY);
	struct stat st;
	DIR *dir;

	if (fd < 0)
		return NULL;
	if (!group->ino && !fstat(fd, &st))
		group->ino = st.st_ino;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

/* Update the children of a group from its directory. */
static void scan_one(struct tree *tree, struct group *group)
{
	int i, before = group->nr_children;
	struct dirent *entry;
	struct group *child;
	DIR *dir;

	dir = open_directory(tree, group);
	if (!dir) {
		tree->incomplete |= errno != ENOENT;
		return;
	}

	for (i = 0; i < before; i++)
		group->child[i]->seen = false;
	while ((entry = readdir(dir))) {
		if (!is_directory(dir, entry))
			continue;
		child = find_child(group, entry->d_name, before);
		/* Another group of that name: the old one remains unseen. */
		if (child && child->ino && child->ino != entry->d_ino)
			child = NULL;
		if (!child)
			child = group_add(tree, group, entry->d_name);
		child->ino = entry->d_ino;
		child->seen = true;
	}
	closedir(dir);

	for (i = group->nr_children - 1; i >= 0; i--) {
		if (!group->child[i]->seen)
			remove_child(tree, group, i);
	}
}

/* Watch a directory before reading it, so that no change is missed. */
static void scan(struct tree *tree, struct group *group)
{
	int i;

	if (group->has_dir) {
		if (group->watch < 0)
			watch(tree, group);
		scan_one(tree, group);
	}
	for (i = 0; i < group->nr_children; i++)
		scan(tree, group->child[i]);
}

static void scan_all(struct tree *tree)
{
	tree->incomplete = false;
	tree->scanned_s = now_s();
	scan(tree, tree->root);
}

static void child_made(struct tree *tree, struct group *group, const char *name)
{
	if (!find_child(group, name, group->nr_children))
		scan(tree, group_add(tree, group, name));
}

/**
 * group_remove - remove a group with its descendants
 * @tree:  the tree
 * @group: the group, not the one at the top
 */
void group_remove(struct tree *tree, struct group *group)
{
	struct group *parent = group->parent;
	int i = 0;

	while (parent->child[i] != group)
		i++;
	remove_child(tree, parent, i);
}

static void child_removed(struct tree *tree, struct group *group, const char *name)
{
	struct group *child = find_child(group, name, group->nr_children);

	if (child)
		group_remove(tree, child);
}

static void handle(struct tree *tree, const struct inotify_event *event)
{
	struct group *group = watched(tree, event->wd);

	if (event->mask & IN_Q_OVERFLOW)
		scan_all(tree);
	else if (!group || !(event->mask & IN_ISDIR) || event->name[0] == '.')
		return;
	else if (event->mask & IN_CREATE)
		child_made(tree, group, event->name);
	else if (event->mask & IN_DELETE)
		child_removed(tree, group, event->name);
}

static void handle_all(struct tree *tree)
{
	union {
		struct inotify_event	first;
		char			bytes[65536];
	} buffer;
	const struct inotify_event *event;
	ssize_t len, at;

	while ((len = read(tree->inotify_fd, &buffer, sizeof(buffer))) > 0) {
		for (at = 0; at < len; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(buffer.bytes + at);
			handle(tree, event);
		}
	}
}

/* Only in a container is the mounted directory not the root cgroup. */
static bool is_nested(const struct source *source)
{
	return !faccessat(source->cgroup_fd, "cgroup.type", F_OK, 0);
}

/**
 * tree_clear - remove all groups, also the one at the top
 * @tree: the tree
 */
void tree_clear(struct tree *tree)
{
	if (tree->root)
		free_group(tree, tree->root);
	tree->root = NULL;
}

/**
 * tree_plant - begin with the group at the top only
 * @tree: the tree, which has no groups
 * @top:  the group, "" or "/a/b"; NULL for the system
 *
 * Return: the group.
 */
struct group *tree_plant(struct tree *tree, const char *top)
{
	tree->root = new_group(NULL, top ?: "", "");
	tree->nr_groups = !!top;
	if (!top) {
		tree->root->is_system = true;
		tree->root->name = "system";
	}
	return tree->root;
}

/**
 * tree_init - find all groups
 * @tree:   to be filled in
 * @source: where the files are
 * @top:    the group, "" or "/a/b", to show with its descendants; NULL for the system
 *          with all groups
 */
void tree_init(struct tree *tree, const struct source *source, const char *top)
{
	memset(tree, 0, sizeof(*tree));
	tree->source = source;
	tree->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	files_init(tree);

	tree_plant(tree, top);
	if (!top) {
		tree->root->has_dir = source->cgroup_fd >= 0 && !is_nested(source);
		if (source->cgroup_fd >= 0 && is_nested(source))
			group_add(tree, tree->root, "");
	}
	scan_all(tree);
}

/**
 * tree_update - add new groups and drop removed ones
 * @tree: after tree_init()
 *
 * Pointers to groups are invalid afterwards.
 *
 * Return: false if the group at the top is gone.
 */
bool tree_update(struct tree *tree)
{
	const struct group *root = tree->root;
	struct stat st;
	bool same;
	int fd;

	handle_all(tree);
	if (tree->unwatched && now_s() - tree->scanned_s >= SCAN_S)
		scan_all(tree);
	if (root->is_system)
		return true;

	fd = open_below(tree->source->cgroup_fd, root->dir, "", O_PATH | O_DIRECTORY);
	if (fd < 0)
		return false;
	same = !fstat(fd, &st) && st.st_ino == root->ino;
	close(fd);
	return same;
}

/**
 * tree_note - say what cannot be shown, although the rest can
 * @tree: after tree_init()
 *
 * Return: a sentence for the user, NULL if there is nothing to say.
 */
const char *tree_note(const struct tree *tree)
{
	if (tree->source && tree->source->cgroup_fd < 0)
		return "no cgroup2 is mounted: only the system is shown";
	if (tree->incomplete)
		return "some cgroup directories cannot be read: run as root";
	if (!tree->nr_groups)
		return "there are no cgroups";
	return NULL;
}
