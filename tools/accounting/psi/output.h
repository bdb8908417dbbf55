/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of a round: lines of text, JSON, or a screen.
 */
#ifndef PSI_TOOLS_OUTPUT_H
#define PSI_TOOLS_OUTPUT_H

#include "view.h"

struct options {
	double		delay_s;	/* between rounds */
	unsigned long	count;		/* rounds; 0: unlimited */
	unsigned long	rows;		/* groups per round; 0: all */
	bool		causes;
	bool		colour;
	bool		ascii;
	struct view	view;
};

void text_round(struct tree *tree, struct options *options);
void json_round(struct tree *tree, struct options *options);
void screen(struct tree *tree, struct options *options);

#endif
