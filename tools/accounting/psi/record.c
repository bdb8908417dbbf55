// SPDX-License-Identifier: GPL-2.0
/*
 * Record rounds in a file. Each is written as soon as it is read. Some rounds are written once
 * more, whole, so that one can begin to read there.
 */
#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "coder.h"
#include "journal.h"
#include "record.h"
#include "units.h"

/* From one whole round to the next. */
#define FRAME_ROUNDS	64

struct recorder {
	struct journal	journal;
	struct coder	coder;
	double		keep_rounds;
	unsigned int	rounds;		/* since the last whole round */
};

/**
 * record_begin - open the file to record in
 * @tree:        after tree_init()
 * @file:        name of the file
 * @causes:      record causes, too
 * @keep_rounds: number of rounds after which the file becomes the older one, and another
 *               one begins; 0: never
 *
 * Return: the recorder. Exits if the file cannot be written.
 */
struct recorder *record_begin(struct tree *tree, const char *file, bool causes, double keep_rounds)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	const char *wrong;

	if (!recorder)
		err(1, "no memory for a round");
	recorder->keep_rounds = keep_rounds;
	recorder->coder.tree = tree;
	recorder->coder.causes = causes;
	wrong = journal_extend(&recorder->journal, file);
	if (wrong)
		errx(WRONG_USAGE, "%s: %s", file, wrong);
	return recorder;
}

static bool append(struct recorder *recorder, enum record_kind kind)
{
	struct coder *coder = &recorder->coder;

	coder_write(coder, kind != CHANGE);
	return journal_append(&recorder->journal, kind,
			      llround(coder->tree->date_s * US_PER_S), coder->stream.byte,
			      coder->stream.at);
}

/* The file becomes the older one only here, since it has to begin with a whole round. */
static bool end_frame(struct recorder *recorder)
{
	recorder->rounds = 0;
	if (!journal_sync(&recorder->journal))
		return false;
	if (recorder->keep_rounds && recorder->journal.nr >= recorder->keep_rounds &&
	    !journal_rotate(&recorder->journal))
		return false;
	return append(recorder, AGAIN);
}

/**
 * record_round - record the round that the tree has
 * @recorder: from record_begin(); NULL: nothing is recorded
 *
 * Return: true on success; false with errno set.
 */
bool record_round(struct recorder *recorder)
{
	if (!recorder)
		return true;
	if (!append(recorder, recorder->coder.nr_slots ? CHANGE : FIRST))
		return false;
	return ++recorder->rounds < FRAME_ROUNDS || end_frame(recorder);
}
