/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of a round: lines of text, JSON, or a screen.
 */
#ifndef PSI_TOOLS_OUTPUT_H
#define PSI_TOOLS_OUTPUT_H

#include "arguments.h"
#include "view.h"

struct options {
	struct watch_options	watch;
	unsigned long		rows;		/* groups per round; 0: all */
	bool			causes;
	bool			tasks;
	struct view		view;
};

void text_round(struct tree *tree, struct options *options);
void json_round(struct tree *tree, struct options *options);
void screen(struct tree *tree, struct options *options);

#endif
