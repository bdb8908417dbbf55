/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A round as lines, for the screen or for printing.
 */
#ifndef KSAMPLINGD_TOP_REPORT_H
#define KSAMPLINGD_TOP_REPORT_H

#include "state.h"

#define LINE_SIZE	256
#define MAX_LINES	64

enum line_kind {
	PLAIN,
	TITLE,
	WARNING,		/* samples are lost */
};

struct line {
	enum line_kind		kind;
	bool			full;		/* the last addition did not fit */
	char			text[LINE_SIZE];
	const struct history	*history;	/* NULL: there is no graph */
	double			scale;		/* value of a full bar; 0: the highest one */
};

struct report {
	int		width;		/* of a line */
	int		nr;
	struct line	line[MAX_LINES];
};

void report_build(struct report *report, const struct state *state, int width);

#endif
