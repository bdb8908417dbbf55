// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: when a trigger has an event.
 *
 * A trigger asks for an event if the stall of a group reaches a threshold within any window
 * of a given size. To know that at every moment would take the whole history of the window.
 * Instead, windows follow each other, the total is sampled ten times in each, and the stall
 * of the window before is assumed to have been spread evenly:
 *
 *	       before          growth
 *	|------------------|-----------              > time
 *	         [-- counts for --]^ now
 *
 *	stall = growth + before * (size - elapsed) / size
 *
 * Samples are due at the points of a grid, and are never exactly on time. So a sample
 * stands for the point at which it was due: growth since the last one is assumed to be
 * spread evenly, and its part after the point is left for the next sample. Otherwise a
 * window that ends between two samples would have more than its share, or less.
 *
 *	sample               point   sample
 *	 |--------------------|------|               > time
 *	   part of the growth   rest of it
 *
 * An event begins a window, so that what has caused it does not cause another one at the
 * end of the burst. No other event comes before that window ends, and none is lost
 * because of that: the growth of the window is known at its end.
 *
 * A window that begins with its trigger or an event has the full length. The one after it may
 * be shorter, as from then on the windows of one size end together, to be handled together.
 *
 * The clock and the total are arguments. Locking: the caller's.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "psi_window.h"

static u64 grid_point(const struct psi_track *t, u64 now)
{
	return div64_u64(now, t->step) * t->step;
}

/**
 * psi_track_init - begin to sample a total
 * @t:     the track
 * @step:  between two samples, ns
 * @now:   ns
 * @total: the total, ns
 */
void psi_track_init(struct psi_track *t, u64 step, u64 now, u64 total)
{
	*t = (struct psi_track) {
		.step = step,
		.seen = total,
		.seen_at = now,
		.point_total = total,
		.prev_total = total,
	};
	psi_track_resume(t, now);
	t->prev_point = t->point;
}

/**
 * psi_track_sample - take a sample
 * @t:     the track
 * @now:   ns
 * @total: the total at that moment, ns; if lower than before, as it may be provisional, it
 *         has not grown
 *
 * Return: true if the sample stands for another point than the last one.
 */
bool psi_track_sample(struct psi_track *t, u64 now, u64 total)
{
	u64 point = grid_point(t, now);
	bool is_new = point > t->point;

	/* Too late: a later one has been taken. */
	if (now <= t->seen_at)
		return false;
	total = max(total, t->seen);

	if (is_new) {
		t->prev_point = t->point;
		t->prev_total = t->point_total;
		t->point = point;
		t->point_total = t->seen;
		if (point > t->seen_at)
			t->point_total += mul_u64_u64_div_u64(total - t->seen, point - t->seen_at,
							      now - t->seen_at);
	}
	if (total > t->seen)
		t->grown_at = now;
	t->seen = total;
	t->seen_at = now;
	return is_new;
}

/**
 * psi_track_resume - go on sampling after a rest
 * @t:   the track
 * @now: ns; may be older than the last sample. Growth since that is taken to begin now.
 */
void psi_track_resume(struct psi_track *t, u64 now)
{
	now = max(now, t->seen_at);
	t->grown_at = now;
	t->seen_at = now;
	t->point = grid_point(t, now);
	t->point_total = t->seen;
}

/**
 * psi_track_next - when to take the next sample
 * @t:     the track
 * @now:   ns
 * @total: it is needed when the total is so high, or U64_MAX,
 * @end:   or when it is so late, ns
 *
 * Return: ns, after @now. Samples before that are left out, as a total does not grow
 * faster than the clock.
 */
u64 psi_track_next(const struct psi_track *t, u64 now, u64 total, u64 end)
{
	if (total < U64_MAX)
		end = min(end, t->seen_at + (total > t->seen ? total - t->seen : 0));
	return max(grid_point(t, now), grid_point(t, end - 1)) + t->step;
}

/* The total at a time up to the point of the last sample. */
static u64 total_at(const struct psi_track *t, u64 time)
{
	if (time == t->point)
		return t->point_total;
	if (time <= t->prev_point)
		return t->prev_total;
	return t->prev_total + mul_u64_u64_div_u64(t->point_total - t->prev_total,
						   time - t->prev_point, t->point - t->prev_point);
}

/**
 * psi_window_begin - begin a window; what has been so far does not count
 * @w:     the window; its size and threshold are set
 * @now:   ns
 * @total: the total at that moment, ns
 */
void psi_window_begin(struct psi_window *w, u64 now, u64 total)
{
	w->start = now;
	w->end = now + w->size;
	w->start_total = total;
	w->before = 0;
	w->is_first = true;
	w->had_event = false;
}

/* Stall time within a window's length up to @time, which is in the window. */
static u64 stall_at(const struct psi_window *w, u64 time, u64 total)
{
	u64 growth = total > w->start_total ? total - w->start_total : 0;
	u64 left = w->size - (time - w->start);

	if (!w->before || !left)
		return growth;
	if (left == w->size)
		return growth + w->before;
	return growth + mul_u64_u64_div_u64(w->before, left, w->size);
}

/*
 * The window has ended since the last sample, and perhaps more. The next one ends together
 * with those of all triggers of this size. Return: the most stall time of any that ended.
 */
static u64 end_windows(struct psi_window *w, const struct psi_track *t)
{
	u64 end = w->end, total = total_at(t, end), most = stall_at(w, end, total);

	w->before = most;
	if (t->point - end >= w->size) {
		end += div64_u64(t->point - end, w->size) * w->size;
		total = total_at(t, end);
		w->before = total - total_at(t, end - w->size);
	}
	/* Nearly always the window has the full length and begins with the others. */
	if (end - w->start == w->size && !w->is_first)
		w->end = end + w->size;
	else
		w->end = (div64_u64(end, w->size) + 1) * w->size;
	w->start = end;
	w->is_first = false;
	w->start_total = total;
	w->had_event = false;
	return max(most, w->before);
}

/**
 * psi_window_check - does a sample make an event?
 * @w:     the window
 * @t:     the track, which has come to another point
 * @stall: set to the stall time within a window's length, ns
 *
 * Return: true if so.
 */
bool psi_window_check(struct psi_window *w, const struct psi_track *t, u64 *stall)
{
	u64 most = 0;

	*stall = 0;
	if (w->start == PSI_WINDOW_NEXT)
		psi_window_begin(w, t->point, t->point_total);
	/* The window was begun after that point. */
	if (w->start > t->point)
		return false;

	while (t->point >= w->end)
		most = max(most, end_windows(w, t));
	*stall = min(max(most, stall_at(w, t->point, t->point_total)), w->size);

	if (w->had_event || *stall < w->threshold)
		return false;
	psi_window_begin(w, t->point, t->point_total);
	w->had_event = true;
	return true;
}

/**
 * psi_window_is_same - will two windows stay the same until one of them has an event?
 * @a: a window
 * @b: another one
 *
 * Return: true if so.
 */
bool psi_window_is_same(const struct psi_window *a, const struct psi_window *b)
{
	return a->size == b->size && a->start == b->start && a->end == b->end &&
	       a->start_total == b->start_total && a->before == b->before &&
	       !a->is_first && !b->is_first;
}

/**
 * psi_window_least_total - the total below which the window has no event before it ends
 * @w: the window
 *
 * Return: ns.
 */
u64 psi_window_least_total(const struct psi_window *w)
{
	if (w->had_event)
		return U64_MAX;
	return w->start_total + (w->threshold > w->before ? w->threshold - w->before : 0);
}
