// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: what is remembered of pages that were promoted, by physical address.
 *
 * A page has a word of 4 bytes, in blocks for 2 MiB of memory; a block is there as long as
 * something is to be remembered of one of its pages. As heat does, see pages.c, it belongs
 * to what is in the page: it moves along, and is gone when the page is freed.
 *
 * Words are changed by who migrates or frees the page, which is one at a time, and by the
 * sweep, which takes only what it has seen. If a block is found empty while something comes
 * into it, that is lost. So is what there is no memory for.
 *
 * Locking: blocks are found, and stay while they are in use, under RCU. The lock of
 * ks_pasts, with interrupts off, is for who adds or takes away one.
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "heat.h"
#include "promote_past.h"

#define BLOCK_PAGES	BIT(KS_MAX_ORDER)
#define SWEEP_BLOCKS	64		/* of 2 KiB, at a time */

static DEFINE_XARRAY_FLAGS(ks_pasts, XA_FLAGS_LOCK_IRQ);
static atomic_long_t ks_nr_pasts;
static unsigned long ks_past_next;	/* block at which the sweep goes on */

/* Under RCU. */
static struct ks_past *place_of(unsigned long pfn)
{
	struct ks_past *block = xa_load(&ks_pasts, pfn / BLOCK_PAGES);

	return block ? &block[pfn % BLOCK_PAGES] : NULL;
}

/* Under RCU. */
static struct ks_past *add_block(unsigned long index)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC;
	struct ks_past *block, *other;
	unsigned long flags;

	block = kcalloc(BLOCK_PAGES, sizeof(*block), gfp);
	if (!block)
		return NULL;
	xa_lock_irqsave(&ks_pasts, flags);
	other = __xa_cmpxchg(&ks_pasts, index, NULL, block, gfp);
	if (!other)
		atomic_long_inc(&ks_nr_pasts);
	xa_unlock_irqrestore(&ks_pasts, flags);
	if (!other)
		return block;
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
	atomic_long_dec(&ks_nr_pasts);
}

/**
 * ks_past_of - what is known of a page?
 * @pfn: first page of a folio
 *
 * Context: any but NMI.
 * Return: that; all 0: nothing.
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
 * ks_past_take - what was in a page is gone
 * @pfn: first page of a folio
 *
 * Context: any but NMI.
 * Return: what was known of it.
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
 * ks_past_give - something comes into a page
 * @pfn: first page of a folio
 * @p:	 what is known of it
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

/* Return: false if there is nothing to be remembered in the block. */
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
 * ks_past_sweep - forget what is over, in a part of all blocks
 * @now_s: time
 *
 * Context: process context; one at a time.
 */
void ks_past_sweep(u64 now_s)
{
	struct ks_past *block;
	int left;

	for (left = SWEEP_BLOCKS; left; left--) {
		/* Nobody else takes one away. */
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
 * ks_past_drop_all - forget everything
 *
 * Context: process context; one at a time, and not while it is swept.
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
 * ks_past_bytes - memory that this takes
 *
 * Return: bytes.
 */
unsigned long ks_past_bytes(void)
{
	return atomic_long_read(&ks_nr_pasts) * BLOCK_PAGES * sizeof(struct ks_past);
}
