/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long tasks were delayed, by kinds of delay, as the kernel's taskstats tell.
 */
#ifndef PSI_TOOLS_TASKSTATS_H
#define PSI_TOOLS_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the order of struct taskstats. */
enum delay {
	DELAY_CPU,
	DELAY_BLKIO,
	DELAY_SWAPIN,
	DELAY_RECLAIM,
	DELAY_THRASHING,
	DELAY_COMPACT,
	DELAY_WPCOPY,
	DELAY_IRQ,
	NR_DELAYS,
};

extern const char *const delay_names[NR_DELAYS];

struct delays {
	pid_t		tid;
	unsigned int	known;		/* a bit for each kind of which the total is known */
	uint64_t	total_ns[NR_DELAYS];
};

struct taskstats_socket {
	int		fd;		/* -1: not open */
	unsigned int	family;
	int		error;		/* an errno: why nothing can be asked */
};

void taskstats_open(struct taskstats_socket *taskstats);
void taskstats_read(struct taskstats_socket *taskstats, struct delays **delays, int nr);
int taskstats_parse(const void *message, size_t len, struct delays *delays);

#endif
