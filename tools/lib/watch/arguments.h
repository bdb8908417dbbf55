/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options, and their arguments.
 */
#ifndef WATCH_ARGUMENTS_H
#define WATCH_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#define WRONG_USAGE	2

/* What programs with a screen have in common. */
struct watch_options {
	double		delay_s;	/* between rounds */
	unsigned long	count;		/* rounds; 0: unlimited */
	bool		batch;
	bool		json;
	bool		colour;
	bool		ascii;
};

#define OWN_OPTIONS	512		/* the first value that a program may use for one */

unsigned long argument_number(const char *option, const char *text);
double argument_time_s(const char *option, const char *text, uint64_t min_us);
unsigned int argument_choice(int status, const char *what, const char *word,
			     const char *const *words, unsigned int nr);
void watch_defaults(struct watch_options *options);
int watch_getopt(int argc, char **argv, const char *letters, const struct option *own);
void watch_option(struct watch_options *options, int option, const char *usage);

#endif
