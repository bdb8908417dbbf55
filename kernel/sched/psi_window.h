/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When triggers have something to say. See psi_window.c.
 */
#ifndef _KERNEL_SCHED_PSI_WINDOW_H
#define _KERNEL_SCHED_PSI_WINDOW_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#define PSI_LOOKS_PER_WINDOW	10

/**
 * struct psi_threshold - what a trigger wants to know
 * @ns:         stall time within one window that is an event
 * @growth:     the stall time that reached it last, ns
 * @next_event: no event before this, ns
 * @window:     the present one, or NULL if an event is held back
 * @node:       of psi_window::thresholds, or of psi_monitor::held
 */
struct psi_threshold {
	u64			ns;
	u64			growth;
	u64			next_event;
	struct psi_window	*window;
	struct rb_node		node;
};

/**
 * struct psi_window - windows that follow each other, and whose thresholds they have
 * @start:       when the present one began, ns
 * @start_total: the total at that time, ns
 * @before:      growth in the one before, ns
 * @stall:       stall time within one window's length, at the last look, ns
 * @same:        another one that has become equal, where the thresholds are to go
 * @thresholds:  the lowest first
 * @member:      of psi_monitor::windows, or of psi_monitor::spare
 */
struct psi_window {
	u64			start;
	u64			start_total;
	u64			before;
	u64			stall;
	struct psi_window	*same;
	struct rb_root_cached	thresholds;
	struct list_head	member;
};

/**
 * struct psi_monitor - windows of one size, on one total
 * @size:       of a window, ns
 * @step:       between two looks, ns
 * @seen:       the total at the last look, ns
 * @seen_at:    the last look, ns
 * @busy_at:    the last look at which the total had grown, ns
 * @point:      the point of the grid that the last look stood for, ns
 * @point_total: the total there, as far as can be told, ns
 * @prev_point: the one before that
 * @prev_total: the total there
 * @made:       the window of those thresholds that were added last, or NULL
 * @windows:    all that have thresholds
 * @spare:      others; there is one window for each threshold
 * @held:       thresholds that were reached too soon, by psi_threshold::next_event
 *
 * Locking: the caller's.
 */
struct psi_monitor {
	u64			size;
	u64			step;
	u64			seen;
	u64			seen_at;
	u64			busy_at;
	u64			point;
	u64			point_total;
	u64			prev_point;
	u64			prev_total;
	struct psi_window	*made;
	struct list_head	windows;
	struct list_head	spare;
	struct rb_root_cached	held;
};

void psi_monitor_init(struct psi_monitor *m, u64 size, u64 now, u64 total);
void psi_monitor_add(struct psi_monitor *m, struct psi_threshold *t,
		     struct psi_window *spare, u64 now, u64 total);
struct psi_window *psi_monitor_del(struct psi_monitor *m, struct psi_threshold *t);
bool psi_monitor_is_empty(const struct psi_monitor *m);
void psi_monitor_look(struct psi_monitor *m, u64 now, u64 total);
void psi_monitor_resume(struct psi_monitor *m, u64 now);
bool psi_monitor_step(struct psi_monitor *m, u64 now, struct psi_threshold **event);
bool psi_monitor_is_quiet(const struct psi_monitor *m, u64 now);
u64 psi_monitor_next_look(const struct psi_monitor *m, u64 now);
u64 psi_monitor_next_held(const struct psi_monitor *m);

#endif /* _KERNEL_SCHED_PSI_WINDOW_H */
