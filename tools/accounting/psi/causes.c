// SPDX-License-Identifier: GPL-2.0
/*
 * The causes of the pressure of a group.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"
#include "units.h"

/* Time until a missing file is tried again. */
#define RETRY_S		5

static const char *const files[NR_CAUSES_FILES] = {
	[ALL_CAUSES]	= "pressure.causes",
	[CPU_STAT]	= "cpu.stat",
	[MEMORY_EVENTS]	= "memory.events",
};

/* The system has only causes: those of the root cgroup, unless the root is a container's. */
static bool has_file(const struct group *group, enum causes_file which)
{
	return !group->is_system || (group->has_dir && which == ALL_CAUSES);
}

/* The last reading becomes the previous one. */
static void shift(struct causes *causes)
{
	struct cause *before = causes->before;

	causes->before = causes->cause;
	causes->nr_before = causes->nr;
	causes->cause = before;
	causes->nr = 0;
}

static bool store(struct causes *causes, const struct cause *cause, int nr)
{
	free(causes->cause);
	causes->cause = calloc(nr, sizeof(*cause));
	if (!causes->cause)
		return false;
	memcpy(causes->cause, cause, nr * sizeof(*cause));
	causes->nr = nr;
	return true;
}

static bool is_same(const struct causes *causes)
{
	return causes->nr == causes->nr_before &&
	       !memcmp(causes->cause, causes->before, causes->nr * sizeof(*causes->cause));
}

/**
 * causes_take - take over what a causes file says now
 * @tree:   the tree of the group
 * @causes: the file
 * @cause:  what it says
 * @nr:     the number of causes
 * @at_s:   the time of reading
 *
 * What has not grown is known up to the begin of the round, as with pressure.
 *
 * Return: false if there is no cause.
 */
bool causes_take(const struct tree *tree, struct causes *causes, const struct cause *cause, int nr,
		 double at_s)
{
	bool fresh = causes->nr && causes->round == tree->round - 1;

	shift(causes);
	if (!nr || !store(causes, cause, nr))
		return false;
	causes->span_s = fresh ? at_s - causes->at_s : 0;
	causes->at_s = fresh && is_same(causes) ? tree->round_s : at_s;
	causes->round = tree->round;
	return true;
}

/* A replayed group has no files. */
static bool is_due(const struct tree *tree, const struct group *group, enum causes_file which,
		   double at_s)
{
	double absent_s = group->causes[which].absent_s;

	return tree->source && has_file(group, which) &&
	       (!absent_s || at_s - absent_s >= RETRY_S);
}

/**
 * group_causes - read a causes file of a group, at most once per round
 * @tree:  the tree of the group
 * @group: the group
 * @which: the file
 *
 * The growth of the values is known only if the file was read in the previous round, too.
 *
 * Return: the causes in the file; NULL if there is no such file, as on other kernels.
 */
const struct causes *group_causes(struct tree *tree, struct group *group, enum causes_file which)
{
	struct causes *causes = &group->causes[which];
	struct cause cause[MAX_CAUSES];
	char text[TEXT_SIZE];
	double at_s = now_s();
	int nr;

	if (causes->nr && causes->round == tree->round)
		return causes;
	if (!is_due(tree, group, which, at_s))
		return NULL;
	if (!group_read(tree, group, false, files[which], &causes->fd, text)) {
		causes->absent_s = at_s;
		return NULL;
	}
	causes->absent_s = 0;
	nr = which == ALL_CAUSES ? causes_parse(text, cause) : stats_parse(text, cause);
	return causes_take(tree, causes, cause, nr, at_s) ? causes : NULL;
}

/* Return: the previous value of the cause; 0 if the cause is new. */
static uint64_t value_before(const struct causes *causes, const struct cause *cause, int value)
{
	const struct cause *before = causes->before;
	int i;

	for (i = 0; i < causes->nr_before; i++) {
		if (before[i].of == cause->of && !strcmp(before[i].name, cause->name))
			return before[i].value[value];
	}
	return 0;
}

/**
 * find_cause - find a cause by its name
 * @causes: from group_causes()
 * @name:   name of the cause
 *
 * Return: its index; -1 if there is none.
 */
int find_cause(const struct causes *causes, const char *name)
{
	int i;

	for (i = 0; i < causes->nr; i++) {
		if (!strcmp(causes->cause[i].name, name))
			return i;
	}
	return -1;
}

/**
 * cause_rate - growth per second of a value of a cause
 * @causes: from group_causes()
 * @i:      index of the cause
 * @value:  index of the value: a memory_value, a cpu_value, or 0
 *
 * Return: the growth since the previous round, in units of the value; negative if not known.
 */
double cause_rate(const struct causes *causes, int i, int value)
{
	const struct cause *cause = &causes->cause[i];
	uint64_t before = value_before(causes, cause, value);

	if (causes->span_s <= 0 || cause->value[value] < before)
		return -1;
	return (cause->value[value] - before) / causes->span_s;
}

/**
 * group_longest - find the longest time for which a task of a group was stalled on memory
 * @tree:  the tree of the group
 * @group: the group
 * @us:    gets the time in us; 0 if no task ever was. What the kernel does ahead of need, or
 *         at request, is no stall of a task.
 *
 * Return: false if the kernel does not tell.
 */
bool group_longest(struct tree *tree, struct group *group, uint64_t *us)
{
	const struct causes *causes = group_causes(tree, group, ALL_CAUSES);
	const struct cause *cause;
	bool told = false;
	int i;

	*us = 0;
	for (i = 0; causes && i < causes->nr; i++) {
		cause = &causes->cause[i];
		if (cause->of != MEMORY || cause_kind(cause) != TASKS)
			continue;
		told = true;
		if (cause->value[MAX_US] > *us)
			*us = cause->value[MAX_US];
	}
	return told;
}

static void read_all(struct tree *tree, struct group *group)
{
	int i;

	if (!group_causes(tree, group, ALL_CAUSES))
		group_causes(tree, group, CPU_STAT);
	for (i = 0; i < group->nr_children; i++)
		read_all(tree, group->child[i]);
}

/**
 * tree_read_causes - read all causes, for their growth to be known in the next round
 * @tree: after tree_sample()
 */
void tree_read_causes(struct tree *tree)
{
	read_all(tree, tree->root);
}

/**
 * group_free_causes - free what group_causes() keeps
 * @group: the group
 */
void group_free_causes(struct group *group)
{
	int i;

	for (i = 0; i < NR_CAUSES_FILES; i++) {
		free(group->causes[i].cause);
		free(group->causes[i].before);
	}
}
