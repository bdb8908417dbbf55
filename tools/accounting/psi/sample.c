// SPDX-License-Identifier: GPL-2.0
/*
 * A round: read the pressure of all groups.
 *
 * A stalled task counts in its group and in all ancestors. If no total of a group has grown,
 * none of its descendants' has either, and nothing is read there. So the cost of a round
 * depends on the groups that have pressure, not on all groups.
 */
#include <stdio.h>

#include "tree.h"
#include "units.h"

/* The kernel updates averages every 2 s, or a little later. */
#define AVERAGES_S	2.5
/* Time until a missing file is tried again: its group may have been switched on. */
#define RETRY_S		5

static bool has_averages(const struct pressure *pressure)
{
	int i, j;

	for (i = 0; i < NR_LINES; i++) {
		for (j = 0; j < NR_AVERAGES; j++) {
			if (pressure->line[i].avg_pct[j] > 0)
				return true;
		}
	}
	return false;
}

/* Does the group have to be read? Its parent is done already in this round. */
static bool is_due(const struct tree *tree, const struct group *group, enum resource resource)
{
	const struct reading *own = &group->reading[resource], *above = NULL;
	double age_s = tree->round_s - own->read_s;

	if (group->parent)
		above = &group->parent->reading[resource];
	if (own->state == UNREAD)
		return true;
	if (own->state == ABSENT)
		return age_s >= RETRY_S;
	if (!above || above->state != GOOD || above->grew)
		return true;
	return (own->unsettled || has_averages(&own->pressure)) && age_s >= AVERAGES_S;
}

/* In the rounds between, the file was not read because it had no growth. */
static void put_history(const struct tree *tree, struct reading *reading, double pct)
{
	unsigned int round = reading->history_round;

	if (tree->round - round > HISTORY)
		round = tree->round - HISTORY;
	while (++round != tree->round)
		reading->history_pct[round % HISTORY] = 0;
	reading->history_pct[round % HISTORY] = pct + 0.5;
	reading->history_round = round;
}

/**
 * history_pct - pressure of some rounds ago
 * @tree:    after tree_sample()
 * @reading: the pressure file; its line "some" counts, or "full" if it has no other
 * @ago:     number of rounds, less than HISTORY; 0 is the last one
 *
 * Return: the pressure in %; 0 if it was not read yet.
 */
int history_pct(const struct tree *tree, const struct reading *reading, unsigned int ago)
{
	unsigned int behind = tree->round - reading->history_round;

	if (ago < behind || ago - behind >= HISTORY || ago >= tree->round)
		return 0;
	return reading->history_pct[(tree->round - ago) % HISTORY];
}

/* Growth of a total in % of the time. A smaller total is that of another group. */
static double growth_pct(const struct stall *before, const struct stall *stall, double span_s)
{
	double pct;

	if (!before->present || !stall->present || stall->total_us < before->total_us)
		return 0;
	pct = (stall->total_us - before->total_us) / span_s / US_PER_S * 100;
	return pct < 100 ? pct : 100;
}

/**
 * reading_keep - take a pressure file to be as before
 * @reading: the file
 * @at_s:    the time up to which its totals have not grown
 */
void reading_keep(struct reading *reading, double at_s)
{
	int i;

	reading->at_s = at_s;
	reading->grew = false;
	reading->has_now = reading->state == GOOD;
	for (i = 0; i < NR_LINES; i++)
		reading->now_pct[i] = 0;
}

static void compare(struct reading *reading, const struct pressure *before, double span_s)
{
	const struct stall *line = reading->pressure.line;
	int i;

	reading->grew = false;
	for (i = 0; i < NR_LINES; i++) {
		reading->now_pct[i] = growth_pct(&before->line[i], &line[i], span_s);
		reading->grew |= line[i].total_us != before->line[i].total_us;
	}
}

/**
 * reading_take - take over what a pressure file says now
 * @tree:     the tree of the group
 * @reading:  the file
 * @pressure: what it says; NULL if it cannot be read
 * @at_s:     the time of reading
 */
void reading_take(const struct tree *tree, struct reading *reading,
		  const struct pressure *pressure, double at_s)
{
	struct pressure before = reading->pressure;

	reading->read_s = at_s;
	if (!pressure) {
		reading->state = ABSENT;
		reading_keep(reading, at_s);
		return;
	}

	reading->pressure = *pressure;
	reading->has_now = reading->state == GOOD && at_s > reading->at_s;
	if (reading->has_now)
		compare(reading, &before, at_s - reading->at_s);
	else
		reading->grew = true;
	reading->unsettled = reading->grew;
	reading->state = GOOD;
	/* As for files that are not read, which takes no room in a record. */
	reading->at_s = reading->grew ? at_s : tree->round_s;
	put_history(tree, reading,
		    reading->now_pct[reading->pressure.line[SOME].present ? SOME : FULL]);
}

static void sample(struct tree *tree, struct group *group, enum resource resource)
{
	struct reading *reading = &group->reading[resource];
	char file[32], text[TEXT_SIZE];
	struct pressure pressure;
	double at_s = now_s();
	bool good;

	snprintf(file, sizeof(file), "%s%s", resource_names[resource],
		 group->is_system ? "" : ".pressure");
	good = group_read(tree, group, group->is_system, file, &reading->fd, text) &&
	       pressure_parse(text, &pressure);
	reading_take(tree, reading, good ? &pressure : NULL, at_s);
}

static void sample_group(struct tree *tree, struct group *group)
{
	int i;

	for (i = 0; i < NR_RESOURCES; i++) {
		if (is_due(tree, group, i))
			sample(tree, group, i);
		else
			reading_keep(&group->reading[i], tree->round_s);
	}
	for (i = 0; i < group->nr_children; i++)
		sample_group(tree, group->child[i]);
}

/**
 * tree_sample - read the pressure of all groups
 * @tree: after tree_init()
 *
 * From the second round on, the growth of totals since the previous one is known.
 */
void tree_sample(struct tree *tree)
{
	tree->date_s = date_s();
	tree->round++;
	tree->round_s = now_s();
	sample_group(tree, tree->root);
}

/**
 * group_close - close all files of a group
 * @tree:  the tree of the group
 * @group: the group
 */
void group_close(struct tree *tree, struct group *group)
{
	int i;

	for (i = 0; i < NR_RESOURCES; i++)
		kept_close(tree, &group->reading[i].fd);
	for (i = 0; i < NR_CAUSES_FILES; i++)
		kept_close(tree, &group->causes[i].fd);
}
