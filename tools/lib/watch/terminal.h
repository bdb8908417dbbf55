/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A screen that is redrawn while it takes keys.
 */
#ifndef WATCH_TERMINAL_H
#define WATCH_TERMINAL_H

#include <ncurses.h>
#include <stdbool.h>

/* For what stands out: with colours, or else bold and underlined. */
extern attr_t attr_high, attr_medium;

void terminal_begin(bool colour, bool ascii);
void terminal_wait(double until_s);
double terminal_delay_s(double delay_s, int step);
void put(int y, int x, int width, const char *text);
void put_bar(int y, int x, int pct);
void put_rule(int y);

#endif
