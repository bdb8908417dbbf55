/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of rounds: JSON, or a screen.
 */
#ifndef KSAMPLINGD_TOP_OUTPUT_H
#define KSAMPLINGD_TOP_OUTPUT_H

#include "arguments.h"
#include "state.h"

void json_round(const struct state *state);
void screen(struct state *state, struct watch_options *options);

#endif
