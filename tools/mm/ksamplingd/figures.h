/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel files, the numbers in them, their growth and their history.
 */
#ifndef KSAMPLINGD_TOP_FIGURES_H
#define KSAMPLINGD_TOP_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#define HISTORY		48	/* rounds */

/* A file that is read in each round, and stays open. */
struct file {
	char		*path;
	int		fd;	/* -1: not open */
};

struct figure {
	bool		known;
	uint64_t	value;
	double		per_s;	/* growth since the previous round; < 0: not known */
};

/* A ring, indexed by round; < 0: not known. */
struct history {
	float		value[HISTORY];
};

__printf(3, 4)
void file_init(struct file *file, const char *root, const char *format, ...);
const char *file_text(struct file *file);
void file_free(struct file *file);

void figures_read(struct figure *figures, const char *const *names, int nr, const char *text,
		  double span_s);
double figure_value(const struct figure *figure);

void history_add(struct history *history, unsigned int round, double value);
double history_value(const struct history *history, unsigned int round, unsigned int ago);

#endif
