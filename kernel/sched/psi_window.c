// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: when a trigger has something to say (R-12, R-13,
 *
 *
 * A trigger asks for an event if a group stalls for more than a threshold within
 * any window of a given size. To know that at every moment would take the whole
 * history of the window. Instead, windows follow each other, the total is looked
 * at ten times in each of them, and of the window before it is assumed that its
 * stall was spread evenly:
 *
 *	       before          growth
 *	|------------------|-----------              > time
 *	         [-- counts for --]^ now
 *
 *	stall = growth + before * (size - elapsed) / size
 *
 * An event is not lost because it comes too early: it stays pending until a
 * window's length has gone by since the last one. What has made an event is not
 * counted again, so that the end of a burst does not make a second one.
 *
 * Only arithmetic is here: the clock and the total are arguments.
 *
 * Locking: the caller's.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "psi_window.h"

static void window_begin(struct psi_window *w, u64 now, u64 total, u64 before)
{
	w->start = now;
	w->start_total = total;
	w->before = before;
}

/**
 * psi_window_init - a new trigger: what has been so far does not count
 * @w:         the window
 * @threshold: stall time that is an event, ns
 * @size:      of a window, ns
 * @now:       ns
 * @total:     the group's stall time until now, ns
 */
void psi_window_init(struct psi_window *w, u64 threshold, u64 size, u64 now,
		     u64 total)
{
	memset(w, 0, sizeof(*w));
	w->threshold = threshold;
	w->size = size;
	w->seen = total;
	w->busy = now;
	window_begin(w, now, total, 0);
}

/**
 * psi_window_resume - look again, after nothing has happened for a while
 * @w:   a window that was quiet when it was last looked at
 * @now: ns
 */
void psi_window_resume(struct psi_window *w, u64 now)
{
	w->busy = now;
	window_begin(w, now, w->seen, 0);
}

/* Stall time within one window's length, as far as is known. */
static u64 stall_in_window(struct psi_window *w, u64 now, u64 total)
{
	u64 elapsed = now - w->start;
	u64 growth = total - w->start_total;

	if (elapsed < w->size)
		return growth + mul_u64_u64_div_u64(w->before, w->size - elapsed,
						    w->size);

	/*
	 * Nobody is on time to the nanosecond, so one look too late is usual, and
	 * two may be. More is not, and would count too much.
	 */
	if (elapsed > w->size + 2 * div_u64(w->size, PSI_LOOKS_PER_WINDOW))
		growth = mul_u64_u64_div_u64(growth, w->size, elapsed);

	window_begin(w, now, total, growth);
	return growth;
}

/**
 * psi_window_look - take a look
 * @w:     the window
 * @now:   ns, not before the last look
 * @total: the group's stall time until now, ns
 *
 * Return: true if there is an event now.
 */
bool psi_window_look(struct psi_window *w, u64 now, u64 total)
{
	if (total != w->seen) {
		w->seen = total;
		w->busy = now;
	}
	if (stall_in_window(w, now, total) >= w->threshold)
		w->pending = true;

	if (!w->pending || now < w->next_event)
		return false;

	w->pending = false;
	w->next_event = now + w->size;
	window_begin(w, now, total, 0);
	return true;
}

/**
 * psi_window_next_look - when to look again
 * @w:   the window
 * @now: ns
 *
 * The looks at all windows of one size come at the same moments.
 *
 * Return: ns, after @now.
 */
u64 psi_window_next_look(const struct psi_window *w, u64 now)
{
	u64 step = div_u64(w->size, PSI_LOOKS_PER_WINDOW);
	u64 next = (div64_u64(now, step) + 1) * step;

	return w->pending ? min(next, w->next_event) : next;
}

/**
 * psi_window_is_quiet - is there no need to look again, until a stall begins?
 * @w:   the window
 * @now: ns
 *
 * Return: true if nothing was stalled for a whole window and no event waits.
 */
bool psi_window_is_quiet(const struct psi_window *w, u64 now)
{
	return !w->pending && now - w->busy >= w->size;
}
