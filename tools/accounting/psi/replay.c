// SPDX-License-Identifier: GPL-2.0
/*
 * Show recorded rounds.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coder.h"
#include "compat.h"
#include "journal.h"
#include "record.h"
#include "units.h"

#define NONE	((size_t)-1)

struct replay {
	struct journal	journal;
	struct coder	coder;
	struct tree	all;		/* the groups of the round */
	struct tree	*shown;		/* those below top */
	char		*top;		/* NULL: all */
	size_t		current;	/* record that all has, or NONE */
};

static bool is_round(const struct replay *replay, size_t i)
{
	return replay->journal.record[i].kind == CHANGE;
}

/* The round after or before record @i. Return: NONE if there is none. */
static size_t next_round(const struct replay *replay, size_t i, int step)
{
	/* NONE is before the first one, and what is below 0 is NONE. */
	do
		i += step;
	while (i < replay->journal.nr && !is_round(replay, i));
	return i < replay->journal.nr ? i : NONE;
}

/* The same round once more has nothing new, but slots change. */
static bool is_repeated(const struct replay *replay, size_t i)
{
	const struct record *record = &replay->journal.record[i];

	return record->kind == AGAIN && i && replay->current == i - 1 &&
	       record->date_us == record[-1].date_us;
}

/* What the user has folded remains so. */
static void fold_as(struct group *group, const struct group *before)
{
	int i, j;

	group->folded = before->folded;
	for (i = 0; i < group->nr_children; i++) {
		for (j = 0; j < before->nr_children; j++) {
			if (!strcmp(group->child[i]->name, before->child[j]->name))
				fold_as(group->child[i], before->child[j]);
		}
	}
}

/* Read a whole round into a new tree. */
static bool replant(struct replay *replay, uint8_t *byte, size_t size)
{
	struct tree before = { .root = replay->all.root };
	bool good;

	replay->all.root = NULL;
	good = coder_read(&replay->coder, true, byte, size);
	if (!replay->all.root) {
		replay->all.root = before.root;
	} else if (before.root) {
		fold_as(replay->all.root, before.root);
		tree_clear(&before);
	}
	return good;
}

static bool load(struct replay *replay, size_t i)
{
	size_t size;
	uint8_t *byte = journal_load(&replay->journal, i, &size);
	bool good;

	if (!byte)
		return false;
	if (is_round(replay, i))
		good = coder_read(&replay->coder, false, byte, size);
	else
		good = replant(replay, byte, size);
	free(byte);
	return good;
}

static bool apply(struct replay *replay, size_t i)
{
	bool good = true;

	if (is_repeated(replay, i))
		coder_drop_dead(&replay->coder);
	else
		good = load(replay, i);
	replay->all.date_s = (double)replay->journal.record[i].date_us / US_PER_S;
	replay->current = good ? i : NONE;
	return good;
}

/* The record from which to read on to a round, so far before it that graphs are complete. */
static size_t first_record(const struct replay *replay, size_t round)
{
	const struct record *record = replay->journal.record;
	size_t i = round;

	while (i && (record[i].kind == CHANGE ||
		     (record[i].kind == AGAIN && round - i < HISTORY)))
		i--;
	return replay->current != NONE && replay->current >= i && replay->current <= round ?
	       replay->current + 1 : i;
}

/* Let all be as in a round. */
static bool read_round(struct replay *replay, size_t round)
{
	bool good = true;
	size_t i;

	for (i = first_record(replay, round); good && i <= round; i++)
		good = apply(replay, i);
	return good;
}

static struct group *find_group(struct group *group, const char *dir)
{
	struct group *found = NULL;
	int i;

	if (!strcmp(group->dir, dir))
		return group;
	for (i = 0; !found && i < group->nr_children; i++)
		found = find_group(group->child[i], dir);
	return found;
}

static int count_groups(const struct group *group)
{
	int nr = !group->is_system, i;

	for (i = 0; i < group->nr_children; i++)
		nr += count_groups(group->child[i]);
	return nr;
}

/* Show what was read. Return: false if the group at the top is not there. */
static bool show(struct replay *replay)
{
	struct group *all = replay->all.root, *top = all;

	if (replay->top)
		top = find_group(all, replay->top);
	*replay->shown = replay->all;
	replay->shown->root = top ?: all;
	replay->shown->nr_groups = count_groups(top ?: all);
	return top;
}

/* Go to a round, or on from there until the group at the top is there. */
static bool go_on(struct replay *replay, size_t round, int step)
{
	size_t before = replay->current;

	for (; round != NONE; round = next_round(replay, round, step)) {
		if (read_round(replay, round) && show(replay))
			return true;
	}
	if (before != NONE) {
		read_round(replay, before);
		show(replay);
	}
	return false;
}

/**
 * replay_move - go to the next round or the one before
 * @replay: from replay_begin()
 * @step:   1 or -1
 *
 * Return: false if there is none.
 */
bool replay_move(struct replay *replay, int step)
{
	return go_on(replay, next_round(replay, replay->current, step), step);
}

/**
 * replay_go - go to a time
 * @replay:  from replay_begin()
 * @date_s:  the time, in seconds since 1970
 * @nearest: if all rounds are before that, go to the last one
 *
 * Return: false if there is no round at that time or after it.
 */
bool replay_go(struct replay *replay, double date_s, bool nearest)
{
	size_t round = NONE, last;

	do {
		last = round;
		round = next_round(replay, round, 1);
	} while (round != NONE && replay->journal.record[round].date_us < date_s * US_PER_S);
	if (round != NONE || !nearest)
		return go_on(replay, round, 1);
	return go_on(replay, last, -1);
}

/**
 * replay_date - understand a time that the user gives
 * @replay: from replay_begin()
 * @text:   local time, as in "2026-11-28 03:15", or only the time of day, which is the last
 *          one in the record then
 * @date_s: gets the time in seconds since 1970
 *
 * Return: false if @text is not a time.
 */
bool replay_date(const struct replay *replay, const char *text, double *date_s)
{
	static const char *const formats[] = {
		"%H:%M", "%H:%M:%S", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
	};
	time_t last = replay->journal.record[replay->journal.nr - 1].date_us / US_PER_S, date;
	const char *end;
	struct tm tm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!localtime_r(&last, &tm))
			return false;
		tm.tm_hour = 0;
		tm.tm_min = 0;
		tm.tm_sec = 0;
		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		tm.tm_isdst = -1;
		date = mktime(&tm);
		if (date > last && !strchr(text, '-')) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			date = mktime(&tm);
		}
		*date_s = date;
		return true;
	}
	return false;
}

/**
 * replay_begin - open a record
 * @tree: gets the groups of the round that is shown
 * @file: name of the file
 * @top:  the group, "" or "/a/b", to show with its descendants; NULL for all
 *
 * Return: the replay, before its first round. Exits if there is no record.
 */
struct replay *replay_begin(struct tree *tree, const char *file, char *top)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	const char *wrong;

	if (!replay)
		err(1, "no memory for a round");
	replay->coder.tree = &replay->all;
	replay->shown = tree;
	replay->top = top;
	replay->current = NONE;
	wrong = journal_read(&replay->journal, file);
	if (!wrong && next_round(replay, NONE, 1) == NONE)
		wrong = "no record of psitop, or not a round in it";
	if (wrong)
		errx(WRONG_USAGE, "%s: %s", file, wrong);
	return replay;
}
