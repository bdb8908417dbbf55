// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: which pages are promoted next, and how many. Arithmetic only: it knows no
 * page, no clock and no lock; promote.c has these. Locking: the caller's.
 *
 * Each node has a queue of candidates. A slot is free, fresh, waiting for another try, or
 * taken by the promoter. A candidate counts as queued until the promoter is done with it,
 * so at any time every candidate is promoted, failed, dropped or queued. All retries wait
 * for the same time, so the waiting list is sorted without effort. A full queue refuses
 * new candidates; the sampler offers them again while they are hot.
 *
 * The rate is a budget of bytes that grows with time, up to what a tenth of a second
 * gives, or 2 MiB if that is more. While it is positive, the next folio goes; a folio
 * larger than the budget makes it negative, and the next ones wait.
 *
 * A page that is promoted and comes back within a minute was not worth it. The next time
 * it must be twice as hot, then four times, at most eight times, until it has been left
 * alone for ten minutes. If too large a share of all promoted pages comes back, the rate
 * is halved at the end of each half minute, down to a sixteenth, and doubled again when
 * the share is below half of that limit.
 */
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include "promote_plan.h"

#define HOUR_NS		(3600ULL * NSEC_PER_SEC)
#define WHEN_MASK	GENMASK(27, 0)

/* ---------------------------------- Queue ---------------------------------- */

static void append(struct ks_queue *q, struct ks_line *line, struct ks_candidate *c)
{
	u16 slot = c - q->slots;

	c->next = KS_NO_SLOT;
	if (line->first == KS_NO_SLOT)
		line->first = slot;
	else
		q->slots[line->last].next = slot;
	line->last = slot;
}

static struct ks_candidate *remove_first(struct ks_queue *q, struct ks_line *line)
{
	struct ks_candidate *c;

	if (line->first == KS_NO_SLOT)
		return NULL;
	c = &q->slots[line->first];
	line->first = c->next;
	return c;
}

/**
 * ks_queue_init - initialize an empty queue
 * @q:	   the queue
 * @slots: memory for the candidates
 * @nr:	   number of slots; less than KS_NO_SLOT
 */
void ks_queue_init(struct ks_queue *q, struct ks_candidate *slots, u32 nr)
{
	const struct ks_line none = { KS_NO_SLOT, KS_NO_SLOT };
	u32 i;

	*q = (struct ks_queue) {
		.slots = slots, .nr = nr, .free = none, .fresh = none, .waiting = none,
	};
	for (i = 0; i < nr; i++)
		append(q, &q->free, &slots[i]);
}

/**
 * ks_queue_put - add a candidate
 * @q:	      queue of its node
 * @pfn:      first page
 * @order:    of the folio
 * @from_nid: node of the CPU that uses it, or NUMA_NO_NODE
 * @heat:     present heat
 *
 * Return: false if the queue is full.
 */
bool ks_queue_put(struct ks_queue *q, unsigned long pfn, u8 order, int from_nid, u32 heat)
{
	struct ks_candidate *c = remove_first(q, &q->free);

	if (!c)
		return false;
	*c = (struct ks_candidate) {
		.pfn = pfn, .order = order, .from_nid = from_nid, .heat = heat,
	};
	append(q, &q->fresh, c);
	q->pages += BIT(order);
	return true;
}

static bool is_due(const struct ks_queue *q, u64 now_ns)
{
	u16 slot = q->waiting.first;

	return slot != KS_NO_SLOT && q->slots[slot].after_ns <= now_ns;
}

/**
 * ks_queue_has - tell whether a candidate can be tried
 * @q:	    the queue
 * @now_ns: time
 *
 * Return: true if there is one.
 */
bool ks_queue_has(const struct ks_queue *q, u64 now_ns)
{
	return q->fresh.first != KS_NO_SLOT || is_due(q, now_ns);
}

/**
 * ks_queue_take - take the next candidate to try
 * @q:	    the queue
 * @now_ns: time
 *
 * Retries that are due go first, as they are older.
 *
 * Return: the candidate, or NULL if there is none now. It keeps its slot until
 * ks_queue_done(), ks_queue_again() or ks_queue_back().
 */
struct ks_candidate *ks_queue_take(struct ks_queue *q, u64 now_ns)
{
	return remove_first(q, is_due(q, now_ns) ? &q->waiting : &q->fresh);
}

/**
 * ks_queue_again - queue a candidate for another try
 * @q:	    the queue
 * @c:	    taken from it
 * @now_ns: time
 *
 * Return: false if it has been tried often enough; then it stays taken.
 */
bool ks_queue_again(struct ks_queue *q, struct ks_candidate *c, u64 now_ns)
{
	if (++c->tries >= KS_MOST_TRIES)
		return false;
	c->after_ns = now_ns + KS_RETRY_NS;
	append(q, &q->waiting, c);
	return true;
}

/**
 * ks_queue_back - return a candidate that was not tried
 * @q: the queue
 * @c: taken from it; becomes the first of the fresh ones
 */
void ks_queue_back(struct ks_queue *q, struct ks_candidate *c)
{
	u16 slot = c - q->slots;

	if (q->fresh.first == KS_NO_SLOT)
		q->fresh.last = slot;
	c->next = q->fresh.first;
	q->fresh.first = slot;
}

/**
 * ks_queue_done - free the slot of a candidate, promoted or failed for good
 * @q: the queue
 * @c: taken from it
 */
void ks_queue_done(struct ks_queue *q, struct ks_candidate *c)
{
	q->pages -= BIT(c->order);
	append(q, &q->free, c);
}

/* ----------------------------------- Rate ----------------------------------- */

/**
 * ks_rate_fill - add the bytes of the time since the last call
 * @r:	      the rate
 * @mb_per_s: rate of the knob, MiB/s
 * @shift:    how often it is halved
 * @now_ns:   time
 */
void ks_rate_fill(struct ks_rate *r, u32 mb_per_s, u32 shift, u64 now_ns)
{
	u64 per_s = ((u64)mb_per_s * SZ_1M) >> shift;
	s64 most = max(per_s / 10, (u64)SZ_2M);
	/* An hour fills any budget, and keeps the product below from overflowing. */
	u64 ns = min(now_ns - r->filled_ns, HOUR_NS);

	r->bytes += mul_u64_u64_div_u64(per_s, ns, NSEC_PER_SEC);
	r->bytes = min(r->bytes, most);
	r->filled_ns = now_ns;
}

/**
 * ks_rate_take - charge a folio to the budget
 * @r:	   the rate
 * @bytes: size of the folio
 *
 * Return: false if the budget is used up; nothing is charged then.
 */
bool ks_rate_take(struct ks_rate *r, u64 bytes)
{
	if (r->bytes <= 0)
		return false;
	r->bytes -= bytes;
	return true;
}

/**
 * ks_rate_give - return the charge of a folio that was not migrated
 * @r:	   the rate
 * @bytes: size of the folio
 */
void ks_rate_give(struct ks_rate *r, u64 bytes)
{
	r->bytes += bytes;
}

/* ---------------------------------- Returns ---------------------------------- */

/**
 * ks_returns_window - adapt the rate at the end of each half minute
 * @r:	   the counts; the caller adds to up[1] and back[1]
 * @now_s: time
 *
 * With fewer than KS_RETURNS_FEW pages promoted in a minute, the share is taken of that
 * many: so few do not matter.
 */
void ks_returns_window(struct ks_returns *r, u64 now_s)
{
	if (now_s < r->until_s)
		return;
	r->permille = min(div64_u64(1000ULL * (r->back[0] + r->back[1]),
				    max(r->up[0] + r->up[1], KS_RETURNS_FEW)), 1000ULL);
	if (r->permille > KS_RETURNS_LIMIT && r->shift < KS_MOST_SHIFT)
		r->shift++;
	else if (r->permille < KS_RETURNS_LIMIT / 2 && r->shift)
		r->shift--;

	r->up[0] = r->up[1];
	r->back[0] = r->back[1];
	r->up[1] = 0;
	r->back[1] = 0;
	/* After a long pause, one step and not one for each half minute. */
	r->until_s = now_s + KS_RETURNS_S;
}

static u32 age_s(struct ks_past p, u64 now_s)
{
	return ((u32)now_s - p.when_s) & WHEN_MASK;
}

/**
 * ks_past_is_over - tell whether a page can be forgotten
 * @p:	   its past
 * @now_s: time
 *
 * Return: true if it can.
 */
bool ks_past_is_over(struct ks_past p, u64 now_s)
{
	return !p.word || age_s(p, now_s) >= KS_FORGET_S;
}

/**
 * ks_past_returns - get how often a page has come back lately
 * @p:	   its past
 * @now_s: time
 *
 * Return: at most KS_MOST_RETURNS.
 */
u32 ks_past_returns(struct ks_past p, u64 now_s)
{
	return ks_past_is_over(p, now_s) ? 0 : p.came_back;
}

/**
 * ks_past_promoted - a page is promoted
 * @p:	   its past
 * @now_s: time
 *
 * Return: its new past.
 */
struct ks_past ks_past_promoted(struct ks_past p, u64 now_s)
{
	return (struct ks_past) {
		.when_s = now_s & WHEN_MASK, .up = 1, .came_back = ks_past_returns(p, now_s),
	};
}

/**
 * ks_past_demoted - a page is demoted, by whatever
 * @p:	      its past
 * @now_s:    time
 * @returned: set to whether it was promoted within the last minute
 *
 * Return: its new past.
 */
struct ks_past ks_past_demoted(struct ks_past p, u64 now_s, bool *returned)
{
	*returned = p.up && age_s(p, now_s) < KS_MINUTE_S;
	if (*returned)
		return (struct ks_past) {
			.when_s = now_s & WHEN_MASK,
			.came_back = min(p.came_back + 1, KS_MOST_RETURNS),
		};
	p.up = 0;
	return p.came_back && !ks_past_is_over(p, now_s) ? p : (struct ks_past) {};
}

/**
 * ks_past_allows - tell whether a page is hot enough to be promoted
 * @p:	      its past
 * @now_s:    time
 * @heat:     present heat
 * @hot_from: heat at which a page becomes hot
 *
 * Return: true if it is.
 */
bool ks_past_allows(struct ks_past p, u64 now_s, u32 heat, u64 hot_from)
{
	u32 returns = ks_past_returns(p, now_s);

	return !returns || heat >= hot_from << returns;
}
