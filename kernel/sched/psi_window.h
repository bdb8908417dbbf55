/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a trigger has something to say. See psi_window.c.
 */
#ifndef _KERNEL_SCHED_PSI_WINDOW_H
#define _KERNEL_SCHED_PSI_WINDOW_H

#include <linux/types.h>

#define PSI_SAMPLES_PER_WINDOW	10

/**
 * struct psi_track - a total at the points of a grid
 * @step:        between two points, ns
 * @seen:        the total at the last look, ns
 * @seen_at:     the last look, ns
 * @grown_at:    the last look at which the total had grown, ns
 * @point:       the point that the last look stood for, ns
 * @point_total: the total there, as far as can be told, ns
 * @prev_point:  the one before that
 * @prev_total:  the total there
 *
 * Locking: the caller's.
 */
struct psi_track {
	u64		step;
	u64		seen;
	u64		seen_at;
	u64		grown_at;
	u64		point;
	u64		point_total;
	u64		prev_point;
	u64		prev_total;
};

/**
 * struct psi_window - what a trigger waits for, and its window
 * @size:        ns
 * @threshold:   stall time within a window that is an event, ns
 * @start:       when the window began, ns; PSI_WINDOW_NEXT: it will, at the next point
 * @start_total: the total at that time, ns
 * @end:         when it ends, ns; until then at most @size
 * @before:      stall time within a window's length, when it began, ns
 * @is_first:    it began with its trigger, or with an event, when others may not
 * @had_event:   it began with an event, so there is none before it ends
 *
 * Locking: the caller's.
 */
struct psi_window {
	u64		size;
	u64		threshold;
	u64		start;
	u64		start_total;
	u64		end;
	u64		before;
	bool		is_first;
	bool		had_event;
};

#define PSI_WINDOW_NEXT	U64_MAX

void psi_track_init(struct psi_track *t, u64 step, u64 now, u64 total);
bool psi_track_sample(struct psi_track *t, u64 now, u64 total);
void psi_track_resume(struct psi_track *t, u64 now);
u64 psi_track_next(const struct psi_track *t, u64 now, u64 total, u64 end);
void psi_window_begin(struct psi_window *w, u64 now, u64 total);
bool psi_window_check(struct psi_window *w, const struct psi_track *t, u64 *stall);
bool psi_window_is_same(const struct psi_window *a, const struct psi_window *b);
u64 psi_window_least_total(const struct psi_window *w);

#endif /* _KERNEL_SCHED_PSI_WINDOW_H */
