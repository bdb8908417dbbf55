/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of a round: lines of text, JSON, or a screen.
 */
#ifndef PSI_TOOLS_OUTPUT_H
#define PSI_TOOLS_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "arguments.h"
#include "view.h"

struct recorder;
struct replay;

struct options {
	struct watch_options	watch;
	unsigned long		rows;		/* groups per round; 0: all */
	bool			causes;
	bool			tasks;
	struct recorder		*recorder;	/* NULL: nothing is recorded */
	struct replay		*replay;	/* NULL: what is shown is there now */
	struct view		view;
};

/* Of a path of which each byte is replaced by three. */
#define VALID_SIZE	(3 * PATH_MAX)

const char *valid_utf8(const char *text, char *valid);
void text_round(struct tree *tree, struct options *options);
void json_round(struct tree *tree, struct options *options);
void openmetrics_round(struct tree *tree, struct options *options, FILE *out);
void openmetrics_write(struct tree *tree, struct options *options, const char *path);
void screen(struct tree *tree, struct options *options);

#endif
