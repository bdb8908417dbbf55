/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of rounds: JSON, or a screen.
 */
#ifndef KSAMPLINGD_TOP_OUTPUT_H
#define KSAMPLINGD_TOP_OUTPUT_H

#include "state.h"

struct options {
	double		delay_s;	/* between rounds */
	unsigned long	count;		/* rounds; 0: unlimited */
	bool		colour;
	bool		ascii;
};

void json_round(const struct state *state);
void screen(struct state *state, struct options *options);

#endif
