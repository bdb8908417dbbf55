// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the heat of all pages, by physical address.
 *
 * A page has 8 bytes, in blocks for 2 MiB of memory that are allocated when something
 * of a block is sampled for the first time, and dropped when sampling ends. So it costs
 * memory only while it is on, and only for memory that is used. A page that is freed
 * keeps its heat, and cools down unless its next owner heats it again.
 *
 * Which folio a page is part of is looked at without a reference to it. It may be split
 * or freed at the same time; then the sample counts for what the page was or will be.
 *
 * Locking: only the thread changes anything. Whoever else looks sees each page, and
 * each bin, as it was at some moment; ks_pages_lock keeps them meanwhile. The epoch that
 * is read after a page is not older than that page's.
 * ks_consumers_lock is held while one of them is called. Order: ks_pages_lock, then
 * get_online_mems(), then ks_consumers_lock.
 */
#include <linux/ksamplingd.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "pages.h"

#define BLOCK_PAGES	BIT(KS_MAX_ORDER)

static DEFINE_XARRAY(ks_blocks);
static DEFINE_MUTEX(ks_pages_lock);
static unsigned long ks_nr_blocks;

static u32 ks_epoch;
static u32 ks_threshold = 1;
static unsigned long ks_target;
static struct ks_histogram *ks_histograms;	/* NULL: there is no thread */

static LIST_HEAD(ks_consumers);
static DEFINE_MUTEX(ks_consumers_lock);
static bool ks_newcomer;	/* a consumer that has not been told of what is hot already */

/**
 * ks_pages_start - begin with pages that are all cold
 *
 * Context: process context; there is no thread.
 * Return: 0 or -ENOMEM.
 */
int ks_pages_start(void)
{
	guard(mutex)(&ks_pages_lock);
	ks_histograms = kvcalloc(nr_node_ids, sizeof(*ks_histograms), GFP_KERNEL);
	ks_threshold = U32_MAX;		/* until there is something to compare */
	WRITE_ONCE(ks_newcomer, false);	/* nobody has been told of anything */
	return ks_histograms ? 0 : -ENOMEM;
}

/**
 * ks_pages_stop - forget everything
 *
 * Context: process context; there is no thread any more.
 */
void ks_pages_stop(void)
{
	struct ks_heat *block;
	unsigned long index;

	guard(mutex)(&ks_pages_lock);
	xa_for_each(&ks_blocks, index, block) {
		kfree(block);
		cond_resched();
	}
	xa_destroy(&ks_blocks);
	WRITE_ONCE(ks_nr_blocks, 0);
	kvfree(ks_histograms);
	ks_histograms = NULL;
}

/**
 * ksamplingd_register - be told of hot pages from now on
 * @c: who
 *
 * Of those that are hot already as well, when they are sampled next; then so is everybody
 * else once more.
 *
 * Context: process context.
 */
void ksamplingd_register(struct ks_consumer *c)
{
	guard(mutex)(&ks_consumers_lock);
	list_add_tail(&c->list, &ks_consumers);
	WRITE_ONCE(ks_newcomer, true);
}

/**
 * ksamplingd_unregister - be told no more
 * @c: who; not called any more when this returns
 *
 * Context: process context, not within ks_consumer::hot.
 */
void ksamplingd_unregister(struct ks_consumer *c)
{
	guard(mutex)(&ks_consumers_lock);
	list_del(&c->list);
}

static void tell_consumers(unsigned long pfn, u8 order, int nid)
{
	struct ks_consumer *c;

	guard(mutex)(&ks_consumers_lock);
	list_for_each_entry(c, &ks_consumers, list)
		c->hot(c, pfn, order, nid);
}

/* Rather than reclaim for it, what there is no memory for is discarded. */
static struct ks_heat *new_block(unsigned long index)
{
	struct ks_heat *block;

	block = kcalloc(BLOCK_PAGES, sizeof(*block), GFP_NOWAIT | __GFP_NOWARN);
	if (!block)
		return NULL;
	if (xa_is_err(xa_store(&ks_blocks, index, block, GFP_NOWAIT | __GFP_NOWARN))) {
		kfree(block);
		return NULL;
	}
	WRITE_ONCE(ks_nr_blocks, ks_nr_blocks + 1);
	return block;
}

static struct ks_heat *heat_of(unsigned long pfn)
{
	unsigned long index = pfn / BLOCK_PAGES;
	struct ks_heat *block = xa_load(&ks_blocks, index) ?: new_block(index);

	return block ? &block[pfn % BLOCK_PAGES] : NULL;
}

/**
 * ks_pages_sample - count one access
 * @phys: physical address, 0 if it is not known
 *
 * Context: the thread, with get_online_mems().
 * Return: KS_NOT_DISCARDED, or why it could not be counted.
 */
enum ks_discard ks_pages_sample(u64 phys)
{
	unsigned long pfn = PHYS_PFN(phys);
	struct ks_heat *place, h;
	struct page *page;
	bool hot;
	u8 order;
	int nid;

	if (!phys)
		return KS_NO_ADDRESS;
	page = pfn_to_online_page(pfn);
	if (!page)
		return KS_NO_PAGE;

	order = min(compound_order(compound_head(page)), KS_MAX_ORDER);
	pfn = round_down(pfn, BIT(order));
	place = heat_of(pfn);
	if (!place)
		return KS_NO_MEMORY;

	h = *place;
	/* It may have become cold, or another folio, without being seen. */
	if (ks_heat_now(h, ks_epoch) < ks_threshold || h.order != order)
		h.told = false;
	nid = page_to_nid(page);
	hot = ks_heat_sample(&h, &ks_histograms[nid], ks_epoch, order) >= ks_threshold;
	if (hot && !h.told)
		tell_consumers(pfn, order, nid);
	h.told = hot;
	/* After the epoch that it has, see hot_show(). */
	smp_store_release(&place->word, h.word);
	return KS_NOT_DISCARDED;
}

/* The hottest that fit into the target, over all nodes. */
static void set_threshold(void)
{
	struct ks_histogram sum = {};
	int nid, bin;

	for (nid = 0; nid < nr_node_ids; nid++)
		for (bin = 0; bin < KS_NR_BINS; bin++)
			sum.bin[bin] += ks_histograms[nid].bin[bin];
	WRITE_ONCE(ks_threshold, ks_histogram_threshold(&sum, ks_target));
}

/* Whoever is hot is told of again. */
static void forget_told(void)
{
	struct ks_heat *block, h;
	unsigned long index;
	int i;

	xa_for_each(&ks_blocks, index, block) {
		for (i = 0; i < BLOCK_PAGES; i++) {
			h = block[i];
			if (!h.told)
				continue;
			h.told = false;
			/* As in ks_pages_sample(). */
			smp_store_release(&block[i].word, h.word);
		}
		cond_resched();
	}
}

/**
 * ks_pages_window - a window has ended: the heat has changed
 * @target: how much memory may be called hot, base pages
 *
 * Context: the thread.
 */
void ks_pages_window(unsigned long target)
{
	ks_target = target;
	set_threshold();
	/* Nearly always there is no need to write it. */
	if (READ_ONCE(ks_newcomer) && xchg(&ks_newcomer, false))
		forget_told();
}

/**
 * ks_pages_cool - all heat is halved
 *
 * Context: the thread.
 */
void ks_pages_cool(void)
{
	int nid;

	WRITE_ONCE(ks_epoch, ks_epoch + 1);
	for (nid = 0; nid < nr_node_ids; nid++)
		ks_histogram_cool(&ks_histograms[nid]);
	set_threshold();
}

/**
 * ks_pages_threshold - from which heat on is a page hot?
 *
 * Return: heat.
 */
u32 ks_pages_threshold(void)
{
	return READ_ONCE(ks_threshold);
}

/**
 * ks_pages_histogram - how much memory of a node is how hot
 * @nid:  the node
 * @hist: for the answer
 */
void ks_pages_histogram(int nid, struct ks_histogram *hist)
{
	int bin;

	*hist = (struct ks_histogram) {};
	guard(mutex)(&ks_pages_lock);
	for (bin = 0; ks_histograms && bin < KS_NR_BINS; bin++)
		hist->bin[bin] = READ_ONCE(ks_histograms[nid].bin[bin]);
}

/**
 * ks_pages_bytes - memory that the heat of pages takes
 *
 * Return: bytes.
 */
unsigned long ks_pages_bytes(void)
{
	return READ_ONCE(ks_nr_blocks) * BLOCK_PAGES * sizeof(struct ks_heat);
}

/* One block at a time; ks_pages_lock is held while the reader's buffer is filled. */
static void *hot_block(loff_t *pos)
{
	unsigned long index = *pos;
	struct ks_heat *block = xa_find(&ks_blocks, &index, ULONG_MAX, XA_PRESENT);

	if (block)
		*pos = index;
	return block;
}

static void *hot_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&ks_pages_lock);
	return hot_block(pos);
}

static void *hot_next(struct seq_file *m, void *block, loff_t *pos)
{
	++*pos;
	cond_resched();
	return hot_block(pos);
}

static void hot_stop(struct seq_file *m, void *block)
{
	mutex_unlock(&ks_pages_lock);
}

static int hot_show(struct seq_file *m, void *v)
{
	unsigned long pfn = m->index * BLOCK_PAGES;
	const struct ks_heat *block = v;
	struct ks_heat h;
	struct page *page;
	u32 heat;
	int i;

	get_online_mems();
	for (i = 0; i < BLOCK_PAGES; i++) {
		/* The epoch is not older, see ks_pages_sample(). */
		h.word = smp_load_acquire(&block[i].word);
		heat = ks_heat_now(h, READ_ONCE(ks_epoch));
		page = heat >= ks_pages_threshold() ? pfn_to_online_page(pfn + i) : NULL;
		if (page)
			seq_printf(m, "%d 0x%lx %u %u\n", page_to_nid(page), pfn + i,
				   h.order, heat);
	}
	put_online_mems();
	return 0;
}

/* A line for each hot page: node, pfn, order, heat. */
const struct seq_operations ks_hot_pages_sops = {
	.start = hot_start,
	.next = hot_next,
	.stop = hot_stop,
	.show = hot_show,
};
