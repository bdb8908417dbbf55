/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Record rounds in a file, and show them again.
 */
#ifndef PSI_TOOLS_RECORD_H
#define PSI_TOOLS_RECORD_H

#include <err.h>

#include "arguments.h"
#include "tree.h"

struct recorder;
struct replay;

#ifdef HAVE_ZLIB
/* record.c */
struct recorder *record_begin(struct tree *tree, const char *file, bool causes, double keep_rounds);
bool record_round(struct recorder *recorder);

/* replay.c */
struct replay *replay_begin(struct tree *tree, const char *file, char *top);
bool replay_move(struct replay *replay, int step);
bool replay_go(struct replay *replay, double date_s, bool nearest);
bool replay_date(const struct replay *replay, const char *text, double *date_s);
#else
#define NO_ZLIB	"psitop was built without zlib (Debian: zlib1g-dev)"

static inline struct recorder *record_begin(struct tree *tree, const char *file, bool causes,
					    double keep_rounds)
{
	(void)tree, (void)file, (void)causes, (void)keep_rounds;
	errx(WRONG_USAGE, "--record: " NO_ZLIB);
}

static inline struct replay *replay_begin(struct tree *tree, const char *file, char *top)
{
	(void)tree, (void)file, (void)top;
	errx(WRONG_USAGE, "--replay: " NO_ZLIB);
}

static inline bool record_round(struct recorder *recorder)
{
	return !recorder;
}

static inline bool replay_move(struct replay *replay, int step)
{
	return replay && step;
}

static inline bool replay_go(struct replay *replay, double date_s, bool nearest)
{
	return replay && date_s && nearest;
}

static inline bool replay_date(const struct replay *replay, const char *text, double *date_s)
{
	return replay && text && date_s;
}
#endif

#endif
