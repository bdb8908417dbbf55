// SPDX-License-Identifier: GPL-2.0
/*
 * Rounds as bytes, and back: what there is of groups, and what their files said.
 *
 * A round is coded by what has changed since the one before. A whole round is coded as if
 * there was nothing before, and stands for itself. Each group has a slot for as long as it
 * is there; the slot of a group comes after that of its parent.
 *
 * What is derived from the files (growth, histories) is not stored: a reader derives it by
 * the same functions.
 */
#include <err.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coder.h"
#include "units.h"

/* More is no number of groups. */
#define MAX_SLOTS	1000000

struct slot {
	struct group	*group;		/* NULL: it is gone */
	bool		known;		/* it was there in the round before */
	bool		alive;		/* it is there in this round */
	struct numbers	before;
	size_t		place;		/* of the next number in before */
};

static uint64_t code(struct coder *coder, struct slot *slot, uint64_t value)
{
	return stream_change(&coder->stream, &slot->before, slot->place++, value);
}

static void code_bytes(struct coder *coder, struct slot *slot, char *byte, size_t size)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < size; i += sizeof(value)) {
		memcpy(&value, byte + i, sizeof(value));
		value = code(coder, slot, value);
		memcpy(byte + i, &value, sizeof(value));
	}
}

static uint64_t to_us(double time_s)
{
	return llround(time_s * US_PER_S);
}

/* When a file was read in a round. */
enum when {
	NEVER,
	AT_BEGIN,
	LATER,
};

/*
 * The time of a reading, by the time that was coded last. Without a reading it is the begin
 * of the round. Return: true if there is a reading.
 */
static bool code_time(struct coder *coder, struct slot *slot, bool given, double *time_s)
{
	double round_s = coder->tree->round_s;
	enum when when = !given ? NEVER : *time_s == round_s ? AT_BEGIN : LATER;

	when = code(coder, slot, when);
	if (when == LATER) {
		coder->last_us += stream_signed(&coder->stream, to_us(*time_s) - coder->last_us);
		*time_s = (double)coder->last_us / US_PER_S;
	} else {
		*time_s = round_s;
	}
	return when != NEVER;
}

/* The kernel's averages have two decimals. */
static void code_average(struct coder *coder, struct slot *slot, double *avg_pct)
{
	uint64_t hundredths = *avg_pct > 0 && *avg_pct < 1e6 ? *avg_pct * 100 + 0.5 : 0;

	*avg_pct = code(coder, slot, hundredths) / 100.0;
}

static void code_pressure(struct coder *coder, struct slot *slot, struct pressure *pressure)
{
	struct stall *line;
	int i, j;

	for (i = 0; i < NR_LINES; i++) {
		line = &pressure->line[i];
		line->present = code(coder, slot, line->present);
		for (j = 0; j < NR_AVERAGES; j++)
			code_average(coder, slot, &line->avg_pct[j]);
		line->total_us = code(coder, slot, line->total_us);
	}
}

static void code_reading(struct coder *coder, struct slot *slot, struct reading *reading)
{
	double at_s = reading->at_s;
	struct pressure pressure = reading->pressure;
	bool taken, good;

	taken = code_time(coder, slot, reading->read_s >= coder->tree->round_s, &at_s);
	good = code(coder, slot, reading->state == GOOD);
	code_pressure(coder, slot, &pressure);
	if (!coder->stream.reading)
		return;
	if (taken || coder->whole)
		reading_take(coder->tree, reading, good ? &pressure : NULL, at_s);
	else
		reading_keep(reading, at_s);
}

static void code_cause(struct coder *coder, struct slot *slot, struct cause *cause)
{
	int i;

	cause->of = code(coder, slot, cause->of) % NR_RESOURCES;
	code_bytes(coder, slot, cause->name, sizeof(cause->name));
	cause->name[sizeof(cause->name) - 1] = '\0';
	for (i = 0; i < NR_CAUSE_VALUES; i++)
		cause->value[i] = code(coder, slot, cause->value[i]);
}

static void code_causes(struct coder *coder, struct slot *slot, struct causes *causes)
{
	bool given = causes->nr && causes->round == coder->tree->round;
	struct cause cause[MAX_CAUSES] = { };
	double at_s = causes->at_s;
	int nr, i;

	if (given && !coder->stream.reading)
		memcpy(cause, causes->cause, causes->nr * sizeof(*cause));
	given = code_time(coder, slot, given, &at_s);
	nr = code(coder, slot, given ? causes->nr : 0) % (MAX_CAUSES + 1);
	for (i = 0; i < nr; i++)
		code_cause(coder, slot, &cause[i]);
	if (coder->stream.reading && given)
		causes_take(coder->tree, causes, cause, nr, at_s);
}

/* Read just before they are coded, so that times differ little from slot to slot. */
static void read_causes(struct coder *coder, struct group *group)
{
	if (coder->stream.reading || !coder->causes ||
	    group_causes(coder->tree, group, ALL_CAUSES))
		return;
	group_causes(coder->tree, group, CPU_STAT);
	group_causes(coder->tree, group, MEMORY_EVENTS);
}

static void code_state(struct coder *coder, struct slot *slot)
{
	int i;

	slot->place = 0;
	for (i = 0; i < NR_RESOURCES; i++)
		code_reading(coder, slot, &slot->group->reading[i]);
	read_causes(coder, slot->group);
	for (i = 0; i < NR_CAUSES_FILES; i++)
		code_causes(coder, slot, &slot->group->causes[i]);
}

/* What the path of a group adds to that of its parent. */
static const char *own_part(const struct group *group)
{
	const char *part = group->dir;

	if (!group->parent)
		return part;
	part += strlen(group->parent->dir);
	return part + (*part == '/');
}

/* Only the first group has no parent, and only below that a name may be empty. */
static struct group *make_group(struct coder *coder, size_t own, size_t parent, bool is_system,
				const char *name)
{
	struct group *above;

	if (!own && !parent)
		return tree_plant(coder->tree, is_system ? NULL : name);
	if (!parent || parent > own || (parent > 1 && !*name))
		return NULL;
	above = coder->slot[parent - 1].group;
	if (!above || strlen(above->dir) + strlen(name) >= PATH_MAX)
		return NULL;
	return group_add(coder->tree, above, name);
}

static void code_identity(struct coder *coder, struct slot *slot)
{
	const struct group *group = slot->group;
	size_t own = slot - coder->slot, parent = 0, i;
	struct stream *stream = &coder->stream;
	bool is_system = false;
	char name[PATH_MAX] = "";

	if (group) {
		parent = group->parent ? group->parent->slot : 0;
		is_system = group->is_system;
		snprintf(name, sizeof(name), "%s", own_part(group));
	}
	parent = stream_number(stream, parent);
	is_system = stream_number(stream, is_system);
	for (i = 0; i < sizeof(name) - 1; i++) {
		name[i] = stream_number(stream, (unsigned char)name[i]);
		if (!name[i])
			break;
	}
	if (!group)
		slot->group = make_group(coder, own, parent, is_system, name);
	stream->bad |= !slot->group;
}

static void add_slots(struct coder *coder, size_t nr)
{
	if (nr > coder->max_slots) {
		coder->max_slots = nr > 2 * coder->max_slots ? nr : 2 * coder->max_slots;
		coder->slot = reallocarray(coder->slot, coder->max_slots, sizeof(*coder->slot));
		if (!coder->slot)
			err(1, "no memory for a round");
	}
	memset(coder->slot + coder->nr_slots, 0, (nr - coder->nr_slots) * sizeof(*coder->slot));
	coder->nr_slots = nr;
}

static void bury(struct slot *slot)
{
	numbers_clear(&slot->before);
	slot->known = false;
}

/* Find the slots of all groups, or give them one. The rest is gone. */
static void claim_slots(struct coder *coder, struct group *group)
{
	int i;

	if (!group->slot) {
		add_slots(coder, coder->nr_slots + 1);
		group->slot = coder->nr_slots;
	}
	coder->slot[group->slot - 1].group = group;
	for (i = 0; i < group->nr_children; i++)
		claim_slots(coder, group->child[i]);
}

/* Children have come after their parent, and go before it. */
static bool code_alive(struct coder *coder)
{
	struct slot *slot;
	bool change;
	size_t i;

	for (i = coder->nr_slots; i-- > 0 && !coder->stream.bad;) {
		slot = &coder->slot[i];
		change = stream_number(&coder->stream, !!slot->group != slot->known);
		slot->alive = slot->known != change;
		if (slot->alive || !slot->known)
			continue;
		if (coder->stream.reading) {
			if (!slot->group->parent || slot->group->nr_children)
				return false;
			group_remove(coder->tree, slot->group);
			slot->group = NULL;
		}
		bury(slot);
	}
	return !coder->stream.bad;
}

static bool code_groups(struct coder *coder)
{
	struct slot *slot;
	size_t i;

	if (!code_alive(coder))
		return false;
	for (i = 0; i < coder->nr_slots; i++) {
		slot = &coder->slot[i];
		if (!slot->alive)
			continue;
		if (!slot->known)
			code_identity(coder, slot);
		slot->known = true;
		if (coder->stream.bad)
			return false;
		code_state(coder, slot);
	}
	return coder->slot[0].alive && !coder->stream.bad;
}

static bool code_round(struct coder *coder)
{
	struct stream *stream = &coder->stream;
	struct tree *tree = coder->tree;
	size_t nr;

	coder->last_us = stream_number(stream, to_us(tree->round_s));
	tree->round_s = (double)coder->last_us / US_PER_S;
	tree->incomplete = stream_number(stream, tree->incomplete);
	nr = stream_number(stream, coder->nr_slots);
	if (!nr || nr < coder->nr_slots || nr > MAX_SLOTS)
		return false;
	add_slots(coder, nr);
	return code_groups(coder);
}

/**
 * coder_write - code a round
 * @coder: has the tree; coder->stream has the result, coder->stream.at bytes
 * @whole: code all that there is, and not only what has changed
 *
 * Reads the causes of all groups, if coder->causes.
 */
void coder_write(struct coder *coder, bool whole)
{
	size_t i;

	for (i = 0; i < coder->nr_slots; i++)
		coder->slot[i].group = NULL;
	claim_slots(coder, coder->tree->root);
	if (whole) {
		coder_drop_dead(coder);
		for (i = 0; i < coder->nr_slots; i++)
			bury(&coder->slot[i]);
	}
	coder->whole = whole;
	coder->stream.at = 0;
	code_round(coder);
	stream_end(&coder->stream);
}

/**
 * coder_read - let the tree be as in a round
 * @coder: has the tree, as it was in the round before; without any group if @whole
 * @whole: the round was coded without those before
 * @byte:  the coded round
 * @size:  size of @byte
 *
 * Return: false if @byte is no round; the next one has to be a whole one then.
 */
bool coder_read(struct coder *coder, bool whole, uint8_t *byte, size_t size)
{
	struct stream stream = { .reading = true, .byte = byte, .size = size };

	if (whole) {
		coder_clear(coder);
		coder->tree->round = 0;
	}
	coder->tree->round++;
	coder->whole = whole;
	coder->stream = stream;
	return code_round(coder);
}

/**
 * coder_drop_dead - drop the slots of groups that are gone
 * @coder: the coder
 *
 * Writing a whole round does so. A reader that passes over one has to do the same.
 */
void coder_drop_dead(struct coder *coder)
{
	size_t i, nr = 0;

	for (i = 0; i < coder->nr_slots; i++) {
		if (!coder->slot[i].group) {
			bury(&coder->slot[i]);
			continue;
		}
		coder->slot[nr] = coder->slot[i];
		coder->slot[nr].group->slot = nr + 1;
		nr++;
	}
	coder->nr_slots = nr;
}

/**
 * coder_clear - drop all slots
 * @coder: the coder
 */
void coder_clear(struct coder *coder)
{
	size_t i;

	for (i = 0; i < coder->nr_slots; i++)
		bury(&coder->slot[i]);
	coder->nr_slots = 0;
}
