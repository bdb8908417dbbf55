/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is shown of a round: lines, on the screen or not.
 */
#ifndef KSAMPLINGD_TOP_REPORT_H
#define KSAMPLINGD_TOP_REPORT_H

#include "state.h"

#define LINE_SIZE	256
#define MAX_LINES	64

enum line_kind {
	PLAIN,
	TITLE,
	WARNING,		/* something is lost */
};

struct line {
	enum line_kind		kind;
	bool			full;		/* what came last did not fit */
	char			text[LINE_SIZE];
	const struct history	*history;	/* NULL: there is no graph */
	double			scale;		/* what makes a full bar; 0: the most there is */
};

struct report {
	int		width;		/* that a line may have */
	int		nr;
	struct line	line[MAX_LINES];
};

void report_build(struct report *report, const struct state *state, int width);

#endif
