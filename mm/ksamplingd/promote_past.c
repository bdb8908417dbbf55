// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the past of promoted pages, by physical address.
 *
 * Each page has a word of 4 bytes, in blocks for 2 MiB of memory. A block exists as long
 * as one of its pages has a past. As with heat (see pages.c), the past belongs to the
 * contents of a page: it moves along, and is dropped when the page is freed.
 *
 * A word is changed by whatever migrates or frees the page, one at a time, and by the sweep,
 * which clears only values that it has seen. A past that comes into a block while the sweep
 * finds it empty is lost, as is one for which there is no memory.
 *
 * Locking: RCU protects the lookup and use of blocks. The lock of ks_pasts, with
 * interrupts off, serializes adding and removing them.
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "pages.h"
#include "promote_past.h"

#define BLOCK_PAGES	BIT(KS_MAX_ORDER)
#define SWEEP_BLOCKS	64		/* of 2 KiB, in one sweep */

static DEFINE_XARRAY_FLAGS(ks_pasts, XA_FLAGS_LOCK_IRQ);
static atomic_long_t ks_nr_pasts;
static unsigned long ks_past_next;	/* the sweep continues at this block */

/* Called under RCU. */
static struct ks_past *place_of(unsigned long pfn)
{
	struct ks_past *block = xa_load(&ks_pasts, pfn / BLOCK_PAGES);

	return block ? &block[pfn % BLOCK_PAGES] : NULL;
}

/* Called under RCU. */
static struct ks_past *add_block(unsigned long index)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC;
	struct ks_past *block, *other;
	unsigned long flags;

	block = kcalloc(BLOCK_PAGES, sizeof(*block), gfp);
	if (!block)
		return NULL;
	ks_pages_hold(index, 1);
	xa_lock_irqsave(&ks_pasts, flags);
	other = __xa_cmpxchg(&ks_pasts, index, NULL, block, gfp);
	if (!other)
		atomic_long_inc(&ks_nr_pasts);
	xa_unlock_irqrestore(&ks_pasts, flags);
	if (!other)
		return block;
	ks_pages_hold(index, -1);
	kfree(block);
	return xa_is_err(other) ? NULL : other;
}

static void drop_block(unsigned long index)
{
	struct ks_past *block;
	unsigned long flags;

	xa_lock_irqsave(&ks_pasts, flags);
	block = __xa_erase(&ks_pasts, index);
	xa_unlock_irqrestore(&ks_pasts, flags);
	kvfree_rcu_mightsleep(block);
	ks_pages_hold(index, -1);
	atomic_long_dec(&ks_nr_pasts);
}

/**
 * ks_past_of - get the past of a page
 * @pfn: first page of a folio
 *
 * Context: any but NMI.
 * Return: its past; all 0 if it has none.
 */
struct ks_past ks_past_of(unsigned long pfn)
{
	struct ks_past *place, p = {};

	guard(rcu)();
	place = place_of(pfn);
	if (place)
		p.word = READ_ONCE(place->word);
	return p;
}

/**
 * ks_past_take - the contents of a page are gone: take its past
 * @pfn: first page of a folio
 *
 * Context: any but NMI.
 * Return: its past.
 */
struct ks_past ks_past_take(unsigned long pfn)
{
	struct ks_past *place, p = {};

	guard(rcu)();
	place = place_of(pfn);
	if (place && READ_ONCE(place->word))
		p.word = xchg(&place->word, 0);
	return p;
}

/**
 * ks_past_give - a page gets new contents: set its past
 * @pfn: first page of a folio
 * @p:	 their past
 *
 * Context: any but NMI.
 */
void ks_past_give(unsigned long pfn, struct ks_past p)
{
	struct ks_past *place, *block;

	guard(rcu)();
	place = place_of(pfn);
	if (!place && p.word) {
		block = add_block(pfn / BLOCK_PAGES);
		place = block ? &block[pfn % BLOCK_PAGES] : NULL;
	}
	if (place)
		WRITE_ONCE(place->word, p.word);
}

/* Return: false if no page of the block has a past. */
static bool sweep_block(struct ks_past *block, u64 now_s)
{
	bool used = false;
	struct ks_past p;
	int i;

	for (i = 0; i < BLOCK_PAGES; i++) {
		p.word = READ_ONCE(block[i].word);
		if (!p.word)
			continue;
		if (!ks_past_is_over(p, now_s) || cmpxchg(&block[i].word, p.word, 0) != p.word)
			used = true;
	}
	return used;
}

/**
 * ks_past_sweep - forget pasts that are over, in a part of all blocks
 * @now_s: time
 *
 * Context: process context; callers serialize themselves.
 */
void ks_past_sweep(u64 now_s)
{
	struct ks_past *block;
	int left;

	for (left = SWEEP_BLOCKS; left; left--) {
		/* Nothing else removes blocks meanwhile. */
		block = xa_find(&ks_pasts, &ks_past_next, ULONG_MAX, XA_PRESENT);
		if (!block) {
			ks_past_next = 0;
			return;
		}
		if (!sweep_block(block, now_s))
			drop_block(ks_past_next);
		ks_past_next++;
		cond_resched();
	}
}

/**
 * ks_past_drop_all - forget all pasts
 *
 * Context: process context; callers serialize this with itself and ks_past_sweep().
 */
void ks_past_drop_all(void)
{
	struct ks_past *block;
	unsigned long index;

	xa_for_each(&ks_pasts, index, block) {
		drop_block(index);
		cond_resched();
	}
}

/**
 * ks_past_bytes - get the memory used by pasts
 *
 * Return: bytes.
 */
unsigned long ks_past_bytes(void)
{
	return atomic_long_read(&ks_nr_pasts) * BLOCK_PAGES * sizeof(struct ks_past);
}
