/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arguments of options.
 */
#ifndef WATCH_ARGUMENTS_H
#define WATCH_ARGUMENTS_H

#define EXIT_USAGE	2

unsigned long argument_number(const char *option, const char *text);
double argument_delay_s(const char *text);

#endif
