// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: when triggers have something to say (R-12, R-13,
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
 * Looks are due at the points of a grid, and nobody is exactly on time. So a look
 * stands for the point at which it was due: what the total has grown by since the
 * look before is thought to be spread evenly, and what belongs to the time after
 * the point is left for the next look. Otherwise a window that ends between two
 * looks would have more than its share, or less.
 *
 *	look                 point   look
 *	 |--------------------|------|               > time
 *	   part of the growth   rest of it
 *
 * An event is not lost because it comes too early: it is held back until a window's
 * length has gone by since the last one. What has made an event is not counted
 * again, so that the end of a burst does not make a second one: a trigger that has
 * had one begins with a new window at that point.
 *
 * Looking at many triggers costs what looking at one does. All that look at one
 * total with windows of one size are a monitor. As windows begin at points of the
 * grid, there are few that differ in anything: those that begin at the same point,
 * and have the same before them, are one. A window has its thresholds sorted, so that
 * only those are visited that are reached. Windows that have become equal are joined,
 * the work for which is paid by the triggers that were added, or had an event.
 *
 * psi_monitor_look() is arithmetic only. What follows from it is done by
 * psi_monitor_step() in pieces of limited size, between which the caller may do
 * something else.
 *
 * The clock and the total are arguments.
 *
 * Locking: the caller's.
 */
#include <linux/container_of.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "psi_window.h"

/* Thresholds that one psi_monitor_step() moves. */
#define PSI_STEP_MOVES	16

#define to_threshold(n)	rb_entry(n, struct psi_threshold, node)

static bool lower(struct rb_node *a, const struct rb_node *b)
{
	return to_threshold(a)->ns < to_threshold(b)->ns;
}

static bool sooner(struct rb_node *a, const struct rb_node *b)
{
	return to_threshold(a)->next_event < to_threshold(b)->next_event;
}

static struct psi_threshold *first_of(const struct rb_root_cached *root)
{
	struct rb_node *first = rb_first_cached(root);

	return first ? to_threshold(first) : NULL;
}

/* ------------------------------ Windows ------------------------------ */

static u64 grid_point(const struct psi_monitor *m, u64 now)
{
	return div64_u64(now, m->step) * m->step;
}

/* There is always a spare one: each threshold has brought one. */
static struct psi_window *new_window(struct psi_monitor *m, u64 start, u64 start_total)
{
	struct psi_window *w;

	w = list_first_entry(&m->spare, struct psi_window, member);
	list_move(&w->member, &m->windows);
	w->start = start;
	w->start_total = start_total;
	w->before = 0;
	w->stall = 0;
	w->same = NULL;
	w->thresholds = RB_ROOT_CACHED;
	return w;
}

static void join(struct psi_window *w, struct psi_threshold *t)
{
	t->window = w;
	rb_add_cached(&t->node, &w->thresholds, lower);
}

static bool is_same(const struct psi_window *a, const struct psi_window *b)
{
	return a->start == b->start && a->start_total == b->start_total &&
	       a->before == b->before;
}

/* Another window that is equal and stays. */
static struct psi_window *find_same(struct psi_monitor *m, const struct psi_window *w)
{
	struct psi_window *other;

	list_for_each_entry(other, &m->windows, member)
		if (other != w && !other->same && is_same(other, w))
			return other;
	return NULL;
}

static void leave(struct psi_monitor *m, struct psi_threshold *t)
{
	struct psi_window *w = t->window, *other;

	rb_erase_cached(&t->node, &w->thresholds);
	t->window = NULL;
	if (!RB_EMPTY_ROOT(&w->thresholds.rb_root))
		return;

	if (m->made == w)
		m->made = NULL;
	list_for_each_entry(other, &m->windows, member)
		if (other->same == w)
			other->same = w->same;
	list_move(&w->member, &m->spare);
}

/* A trigger begins anew, with nothing counted yet. */
static void restart(struct psi_monitor *m, struct psi_threshold *t)
{
	struct psi_window begun = { .start = m->point, .start_total = m->point_total };
	struct psi_window *w = find_same(m, &begun);

	/* What another one has seen before that point is not for this trigger. */
	if (!w || w->stall)
		w = new_window(m, begun.start, begun.start_total);
	join(w, t);
}

/* ------------------------------- Looks ------------------------------- */

/* The total at a time that is not after the last look's point. */
static u64 total_at(const struct psi_monitor *m, u64 time)
{
	if (time <= m->prev_point)
		return m->prev_total;
	return m->prev_total + mul_u64_u64_div_u64(m->point_total - m->prev_total,
						   time - m->prev_point,
						   m->point - m->prev_point);
}

/*
 * The window has ended, and perhaps more since the last look. Return: the most that
 * one of them had.
 */
static u64 end_windows(struct psi_monitor *m, struct psi_window *w)
{
	u64 end = w->start + m->size, growth = total_at(m, end) - w->start_total;
	u64 more = div64_u64(m->point - end, m->size);

	w->before = growth;
	if (more) {
		end += more * m->size;
		w->before = total_at(m, end) - total_at(m, end - m->size);
	}
	w->start_total = total_at(m, end);

	/* The first one began when the trigger was made; from now on, on the grid. */
	w->start = grid_point(m, end);
	return max(growth, w->before);
}

/* Stall time within one window's length, as far as is known. */
static u64 stall_in_window(struct psi_monitor *m, struct psi_window *w)
{
	u64 most = 0, elapsed, stall;

	/* It was made after that point. */
	if (w->start > m->point)
		return 0;
	if (m->point - w->start >= m->size) {
		most = end_windows(m, w);
		if (w == m->made)
			m->made = NULL;
		w->same = find_same(m, w);
	}

	elapsed = m->point - w->start;
	stall = mul_u64_u64_div_u64(w->before, m->size - elapsed, m->size);
	if (m->point_total > w->start_total)
		stall += m->point_total - w->start_total;
	return max(most, stall);
}

/* Which point does the look stand for, and what was the total there? */
static bool next_point(struct psi_monitor *m, u64 now, u64 total)
{
	u64 point = grid_point(m, now);

	if (point <= m->point)
		return false;

	m->prev_point = m->point;
	m->prev_total = m->point_total;
	m->point = point;
	m->point_total = m->seen;
	if (point > m->seen_at)
		m->point_total += mul_u64_u64_div_u64(total - m->seen, point - m->seen_at,
						      now - m->seen_at);
	return true;
}

/**
 * psi_monitor_look - take a look
 * @m:     the monitor; psi_monitor_step() has nothing left to do for it
 * @now:   ns, not before the last look
 * @total: the group's stall time until now, ns
 */
void psi_monitor_look(struct psi_monitor *m, u64 now, u64 total)
{
	struct psi_window *w;

	if (next_point(m, now, total))
		list_for_each_entry(w, &m->windows, member)
			w->stall = stall_in_window(m, w);
	if (total != m->seen)
		m->busy_at = now;
	m->seen = total;
	m->seen_at = now;
}

/**
 * psi_monitor_resume - look again, after nothing has happened for a while
 * @m:   a monitor that was quiet when it was last looked at
 * @now: ns; may be older than that look
 *
 * What the total has grown by since then, it has just begun to grow by.
 */
void psi_monitor_resume(struct psi_monitor *m, u64 now)
{
	now = max(now, m->seen_at);
	m->busy_at = now;
	m->seen_at = now;
	m->point = grid_point(m, now);
	m->point_total = m->seen;
}

/**
 * psi_monitor_is_quiet - is there no need to look again, until a stall begins?
 * @m:   the monitor
 * @now: ns
 *
 * Return: true if nothing was stalled for a whole window.
 */
bool psi_monitor_is_quiet(const struct psi_monitor *m, u64 now)
{
	return now >= m->busy_at + m->size;
}

/**
 * psi_monitor_next_look - when to look again
 * @m:   the monitor
 * @now: ns
 *
 * The looks at all windows of one size come at the same moments.
 *
 * Return: ns, after @now.
 */
u64 psi_monitor_next_look(const struct psi_monitor *m, u64 now)
{
	return grid_point(m, now) + m->step;
}

/**
 * psi_monitor_next_held - when may an event come that is held back?
 * @m: the monitor
 *
 * Return: ns; U64_MAX if there is none.
 */
u64 psi_monitor_next_held(const struct psi_monitor *m)
{
	struct psi_threshold *t = first_of(&m->held);

	return t ? t->next_event : U64_MAX;
}

/* ------------------------------- Events ------------------------------- */

/* Some of the thresholds of a window go to the one that it is equal to. */
static void move_some(struct psi_monitor *m, struct psi_window *w)
{
	struct psi_window *same = w->same;
	struct psi_threshold *t;
	int n;

	for (n = 0; n < PSI_STEP_MOVES; n++) {
		t = first_of(&w->thresholds);
		if (!t)
			return;
		leave(m, t);
		join(same, t);
	}
}

/* Return: a threshold that is reached; an event, or held back. */
static struct psi_threshold *reached(struct psi_monitor *m)
{
	struct psi_threshold *t;
	struct psi_window *w;

	list_for_each_entry(w, &m->windows, member) {
		t = first_of(&w->thresholds);
		if (t->ns <= w->stall)
			return t;
	}
	return NULL;
}

/* All that are reached have been seen to. Return: false if there are none to join. */
static bool join_windows(struct psi_monitor *m)
{
	struct psi_window *w;

	list_for_each_entry(w, &m->windows, member) {
		if (w->same) {
			w->same->stall = 0;
			move_some(m, w);
			return true;
		}
	}
	return false;
}

static struct psi_threshold *take_held(struct psi_monitor *m, u64 now)
{
	struct psi_threshold *t = first_of(&m->held);

	if (!t || now < t->next_event)
		return NULL;
	rb_erase_cached(&t->node, &m->held);
	return t;
}

/**
 * psi_monitor_step - do a little of what follows from the last look
 * @m:     the monitor
 * @now:   ns
 * @event: where to say whose event this is; NULL if it was not one
 *
 * Return: true if there may be more to do now.
 */
bool psi_monitor_step(struct psi_monitor *m, u64 now, struct psi_threshold **event)
{
	struct psi_threshold *t;

	*event = NULL;
	t = reached(m);
	if (t) {
		t->growth = t->window->stall;
		leave(m, t);
		if (now < t->next_event) {
			rb_add_cached(&t->node, &m->held, sooner);
			return true;
		}
	} else {
		t = take_held(m, now);
	}
	if (!t)
		return join_windows(m);

	t->next_event = now + m->size;
	restart(m, t);
	*event = t;
	return true;
}

/* ------------------------------ Thresholds ------------------------------ */

/**
 * psi_monitor_init - a monitor without thresholds
 * @m:     the monitor
 * @size:  of its windows, ns, a multiple of ten
 * @now:   ns
 * @total: the group's stall time until now, ns
 */
void psi_monitor_init(struct psi_monitor *m, u64 size, u64 now, u64 total)
{
	memset(m, 0, sizeof(*m));
	m->size = size;
	m->step = div_u64(size, PSI_LOOKS_PER_WINDOW);
	m->seen = total;
	m->seen_at = now;
	m->busy_at = now;
	m->point = grid_point(m, now);
	m->point_total = total;
	m->prev_point = m->point;
	m->prev_total = total;
	INIT_LIST_HEAD(&m->windows);
	INIT_LIST_HEAD(&m->spare);
	m->held = RB_ROOT_CACHED;
}

/**
 * psi_monitor_add - a new trigger: what has been so far does not count
 * @m:     the monitor
 * @t:     the trigger's threshold, @t->ns is set
 * @spare: memory for a window
 * @now:   ns
 * @total: the group's stall time until now, ns
 *
 * Those that are added between two points of the grid begin together, when the last
 * of them is added. @now and @total may be older than the last look.
 */
void psi_monitor_add(struct psi_monitor *m, struct psi_threshold *t,
		     struct psi_window *spare, u64 now, u64 total)
{
	list_add(&spare->member, &m->spare);
	if (!m->made || grid_point(m, m->made->start) != grid_point(m, now))
		m->made = new_window(m, now, total);
	m->made->start = max(m->made->start, now);
	m->made->start_total = max(m->made->start_total, total);
	m->busy_at = max(m->busy_at, now);
	t->next_event = now;
	join(m->made, t);
}

/**
 * psi_monitor_del - a trigger goes
 * @m: the monitor
 * @t: the trigger's threshold
 *
 * Return: memory of a window, to be freed.
 */
struct psi_window *psi_monitor_del(struct psi_monitor *m, struct psi_threshold *t)
{
	struct psi_window *w;

	if (t->window)
		leave(m, t);
	else
		rb_erase_cached(&t->node, &m->held);

	w = list_first_entry(&m->spare, struct psi_window, member);
	list_del(&w->member);
	return w;
}

/**
 * psi_monitor_is_empty - are there no thresholds left?
 * @m: the monitor
 *
 * Return: true if so; then all memory of windows was given back.
 */
bool psi_monitor_is_empty(const struct psi_monitor *m)
{
	return list_empty(&m->windows) && RB_EMPTY_ROOT(&m->held.rb_root);
}
