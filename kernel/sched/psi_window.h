/* SPDX-License-Identifier: GPL-2.0 */
/* When a trigger has an event. See psi_window.c. Locking: the caller's. */
#ifndef _KERNEL_SCHED_PSI_WINDOW_H
#define _KERNEL_SCHED_PSI_WINDOW_H

#include <linux/types.h>

#define PSI_SAMPLES_PER_WINDOW	10

/**
 * struct psi_track - a total at the points of a grid
 * @step:        between two points, ns
 * @seen:        the total at the last sample, ns
 * @seen_at:     time of the last sample, ns
 * @grown_at:    time of the last sample at which the total had grown, ns
 * @point:       the point that the last sample stood for, ns
 * @point_total: estimate of the total there, ns
 * @prev_point:  the point before that, ns
 * @prev_total:  the total there, ns
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
 * struct psi_window - a trigger's window, and what it waits for
 * @size:        ns
 * @threshold:   stall time within a window that is an event, ns
 * @start:       begin of the window, ns; PSI_WINDOW_NEXT: it begins at the next point
 * @start_total: the total then, ns
 * @end:         its end, ns; at most @size after @start
 * @before:      stall time within a window's length before @start, ns
 * @is_first:    it began with its trigger or an event, unlike others, which begin together
 * @had_event:   it began with an event, so there is none before it ends
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
