// SPDX-License-Identifier: GPL-2.0
/*
 * Which groups are shown, and in which order: those with the most pressure first, in the
 * tree among the children of the same parent.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

const char *const sort_names[NR_SORTS] = { "now", "avg10", "total", "name" };

/**
 * is_shown - check if there is a number to show
 * @reading: a pressure file
 * @line:    which of its lines
 * @now:     show the growth since the previous round, else avg10
 *
 * Return: true if so.
 */
bool is_shown(const struct reading *reading, enum line line, bool now)
{
	return reading->state == GOOD && reading->pressure.line[line].present &&
	       (!now || reading->has_now);
}

/**
 * shown_pct - the number to show
 * @reading: a pressure file
 * @line:    which of its lines
 * @now:     show the growth since the previous round, else avg10
 *
 * Return: the number in %; 0 if there is none.
 */
double shown_pct(const struct reading *reading, enum line line, bool now)
{
	if (!is_shown(reading, line, now))
		return 0;
	return now ? reading->now_pct[line] : reading->pressure.line[line].avg_pct[AVG10];
}

/* Sort by "some"; irq has only "full". */
static double reading_key(const struct reading *reading, enum sort sort)
{
	enum line line = reading->pressure.line[SOME].present ? SOME : FULL;

	if (sort == BY_TOTAL)
		return is_shown(reading, line, false) ? reading->pressure.line[line].total_us : 0;
	return shown_pct(reading, line, sort == BY_NOW);
}

/* The highest key of all resources, or that of the one that counts. */
static double group_key(const struct view *view, const struct group *group, enum sort sort)
{
	double key, most = 0;
	unsigned int i;

	for (i = 0; i < NR_RESOURCES; i++) {
		if (view->resource != ALL && view->resource != i)
			continue;
		key = reading_key(&group->reading[i], sort);
		if (key > most)
			most = key;
	}
	return most;
}

/**
 * worst_reading - find the pressure of a group to show in its graph
 * @view:  what the user asks for
 * @group: the group
 *
 * Return: that of the resource that counts, or else of the one with the most pressure now.
 */
const struct reading *worst_reading(const struct view *view, const struct group *group)
{
	const struct reading *worst = &group->reading[CPU];
	int i;

	if (view->resource != ALL)
		return &group->reading[view->resource];
	for (i = 0; i < NR_RESOURCES; i++) {
		if (reading_key(&group->reading[i], BY_NOW) > reading_key(worst, BY_NOW))
			worst = &group->reading[i];
	}
	return worst;
}

/* With @steady, a pressure that changes by less than a tenth, or than this, keeps its place. */
#define STEADY_PCT	1.0

static void set_key(double *key, double pct, bool steady)
{
	double least = *key / 10 > STEADY_PCT ? *key / 10 : STEADY_PCT;

	if (!steady || !*key || !pct || pct > *key + least || pct < *key - least)
		*key = pct;
}

static void set_keys(const struct view *view, struct group *group, bool steady)
{
	enum sort first = view->sort == BY_NAME ? BY_NOW : view->sort;

	set_key(&group->key[0], group_key(view, group, first), steady && first != BY_TOTAL);
	set_key(&group->key[1], group_key(view, group, BY_AVG10), steady);
	group->key[2] = group_key(view, group, BY_TOTAL);
}

static int compare(const void *left, const void *right, void *data)
{
	const struct group *a = *(struct group **)left, *b = *(struct group **)right;
	const struct view *view = data;
	int i;

	for (i = 0; i < 3 && view->sort != BY_NAME; i++) {
		if (a->key[i] != b->key[i])
			return a->key[i] > b->key[i] ? -1 : 1;
	}
	return strcmp(a->dir, b->dir);
}

static int compare_rows(const void *left, const void *right, void *data)
{
	return compare(&((const struct row *)left)->group,
		       &((const struct row *)right)->group, data);
}

static bool is_wanted(const struct view *view, const struct group *group)
{
	if (view->pressed && group_key(view, group, BY_NOW) <= 0)
		return false;
	return !view->filter[0] || strcasestr(group->dir, view->filter);
}

static bool prepare(struct view *view, struct group *group, bool steady)
{
	bool below = false;
	int i;

	set_keys(view, group, steady);
	for (i = 0; i < group->nr_children; i++)
		below |= prepare(view, group->child[i], steady);
	group->matches = is_wanted(view, group);
	view->nr_matches += group->matches && !group->is_system;
	if (!view->flat)
		group->matches |= below;
	return group->matches || below;
}

static void add_row(struct view *view, struct group *group, int depth)
{
	if (view->nr_rows == view->max_rows) {
		view->max_rows = 2 * view->max_rows + 64;
		view->row = reallocarray(view->row, view->max_rows, sizeof(*view->row));
		if (!view->row)
			err(1, "no memory for the rows");
	}
	view->row[view->nr_rows++] = (struct row){ group, depth };
}

static void add_rows(struct view *view, struct group *group, int depth)
{
	int i;

	if (group->matches)
		add_row(view, group, view->flat ? 0 : depth);
	if (group->folded && !view->flat && !view->filter[0])
		return;
	if (!view->flat && group->nr_children)
		qsort_r(group->child, group->nr_children, sizeof(*group->child), compare, view);
	for (i = 0; i < group->nr_children; i++)
		add_rows(view, group->child[i], depth + 1);
}

/**
 * view_build - find out which groups are shown, and in which order
 * @view: what the user asks for; gets the rows
 * @tree: the groups; sorts the children of each
 */
void view_build(struct view *view, struct tree *tree)
{
	bool same = view->max_rows && view->key_sort == view->sort &&
		    view->key_resource == view->resource;

	view->key_resource = view->resource;
	view->key_sort = view->sort;
	view->nr_rows = 0;
	view->nr_matches = 0;
	prepare(view, tree->root, view->steady && same);
	add_rows(view, tree->root, 0);
	if (view->flat)
		qsort_r(view->row, view->nr_rows, sizeof(*view->row), compare_rows, view);
}

/**
 * view_rows - view_build() for output that may be limited
 * @view: as for view_build()
 * @tree: likewise
 * @most: number of groups; 0: all
 *
 * Return: the number of rows to print.
 */
int view_rows(struct view *view, struct tree *tree, unsigned long most)
{
	view_build(view, tree);
	return most && most < (unsigned long)view->nr_rows ? (int)most : view->nr_rows;
}

/**
 * shown_name - how a group is called in output
 * @group: the group
 *
 * Return: "system", or the path of the cgroup, which may have any bytes.
 */
const char *shown_name(const struct group *group)
{
	return group->is_system ? group->name : *group->dir ? group->dir : "/";
}
