/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a trigger has something to say. See psi_window.c.
 */
#ifndef _KERNEL_SCHED_PSI_WINDOW_H
#define _KERNEL_SCHED_PSI_WINDOW_H

#include <linux/types.h>

#define PSI_LOOKS_PER_WINDOW	10

/**
 * struct psi_window - what a trigger wants to know, and what it has seen
 * @size:        of a window, ns
 * @threshold:   stall time within one window that is an event, ns
 * @start:       when the present window began, ns
 * @start_total: the group's total at that time, ns
 * @before:      growth in the window before, ns
 * @seen:        the total at the last look, ns
 * @busy:        the last look at which the total had grown, ns
 * @next_event:  no event before this, ns
 * @pending:     an event waits for @next_event
 */
struct psi_window {
	u64	size;
	u64	threshold;
	u64	start;
	u64	start_total;
	u64	before;
	u64	seen;
	u64	busy;
	u64	next_event;
	bool	pending;
};

void psi_window_init(struct psi_window *w, u64 threshold, u64 size, u64 now,
		     u64 total);
void psi_window_resume(struct psi_window *w, u64 now);
bool psi_window_look(struct psi_window *w, u64 now, u64 total);
u64 psi_window_next_look(const struct psi_window *w, u64 now);
bool psi_window_is_quiet(const struct psi_window *w, u64 now);

#endif /* _KERNEL_SCHED_PSI_WINDOW_H */
