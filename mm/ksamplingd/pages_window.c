// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the heat of all pages, at the end of windows and epochs, and as others see it.
 *
 * Locking: as in pages.c; only the thread ends windows and epochs.
 */
#include <linux/cleanup.h>
#include <linux/ktime.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "pages_internal.h"

#define SWEEP_NS	(60ULL * NSEC_PER_SEC)	/* for all blocks */
/* Blocks swept in a window, at least; the second while a consumer slot waits to be clean. */
#define SWEEP_BLOCKS	32
#define HASTY_SWEEP	1024
/* Epochs after which all words are visited, as the epoch of cold ones wraps some time. */
#define CLEAR_EPOCHS	BIT(KS_EPOCH_BITS - 2)

enum warmth {
	COLD,			/* all pages are */
	WARM,
	HOT,			/* a page is */
};

/* Written by the thread, or while there is none. */
static unsigned long ks_target;
static unsigned long ks_sweep;			/* the sweep continues at this block */
static unsigned long ks_cleaning;		/* stale slots that this sweep cleans */
static u64 ks_swept_ns;				/* time of its last part */
static u64 ks_epoch_ns;				/* length of the last epoch, or of this one */
static u32 ks_cleared_epoch;			/* when the last one began that visited all words */
static bool ks_clearing;			/* this one does */
static unsigned long ks_nr_dropped;

/**
 * ks_windows_start - begin the first window and epoch
 *
 * Context: there is no thread.
 */
void ks_windows_start(void)
{
	ks_cleaning = 0;
	ks_sweep = 0;
	ks_swept_ns = ktime_get_ns();
	ks_epoch_ns = 0;
	WRITE_ONCE(ks_nr_dropped, 0);
	ks_this_epoch = (struct ks_epoch) { .began_ns = ktime_get_ns() };
	ks_hits = (struct ks_hits) {};
}

/* Folds what the hooks have left into the histograms. */
static void fold(void)
{
	struct ks_node *node;
	int nid, bin;

	for (nid = 0; nid < nr_node_ids; nid++) {
		node = ks_own_node(nid);
		for (bin = 0; bin < KS_NR_BINS; bin++)
			if (atomic_long_read(&node->moved[bin]))
				ks_histogram_add(&node->hist, bin,
						 atomic_long_xchg(&node->moved[bin], 0));
	}
}

/* The hottest pages of all nodes that fit into the target are above it. */
static void set_threshold(void)
{
	struct ks_histogram sum = {};
	int nid, bin;

	for (nid = 0; nid < nr_node_ids; nid++)
		for (bin = 0; bin < KS_NR_BINS; bin++)
			sum.bin[bin] += ks_own_node(nid)->hist.bin[bin];
	WRITE_ONCE(ks_limits.heat, ks_histogram_threshold(&sum, ks_target));
}

/* Is there less memory for blocks than is wanted? */
static bool is_short(void)
{
	return atomic_long_read(&ks_nr_blocks) >= ks_most_blocks - ks_most_blocks / 8;
}

/* Clears cold words, and bits of stale slots; without @all, up to the first warm page only. */
static enum warmth sweep_block(struct ks_heat *block, bool all)
{
	enum warmth warmth = COLD;
	struct ks_heat old, new;
	int i;

	for (i = 0; i < KS_BLOCK_PAGES && (all || warmth == COLD); i++) {
		old.word = READ_ONCE(block[i].word);
		do {
			new = old;
			if (ks_heat_now(old, ks_epoch))
				new.told &= ~ks_cleaning;
			else
				new.word = 0;
		} while (new.word != old.word && !try_cmpxchg(&block[i].word, &old.word, new.word));
		if (new.word)
			warmth = max(warmth, ks_heat_is_hot(new, ks_epoch, ks_limits) ? HOT : WARM);
	}
	return warmth;
}

/* Takes the heat of a block out of the histogram of its node. */
static void forget_block(struct ks_heat *block, unsigned long index)
{
	struct page *page;
	struct ks_heat h;
	int i, nid;

	scoped_guard(rcu) {
		page = pfn_to_online_page(index * KS_BLOCK_PAGES);
		/* All pages of memory that is offline have been freed. */
		nid = page ? page_to_nid(page) : NUMA_NO_NODE;
	}
	for (i = 0; i < KS_BLOCK_PAGES && nid != NUMA_NO_NODE; i++) {
		h.word = xchg(&block[i].word, 0);
		ks_histogram_add(&ks_own_node(nid)->hist, ks_heat_bin(h, ks_epoch), -BIT(h.order));
	}
	WRITE_ONCE(ks_nr_dropped, ks_nr_dropped + 1);
}

static void begin_sweep(void)
{
	ks_sweep = 0;
	ks_clearing = ks_epoch - ks_cleared_epoch >= CLEAR_EPOCHS;
	if (ks_clearing)
		ks_cleared_epoch = ks_epoch;
}

/* No word has bits any more of the consumers that had unregistered before it began. */
static void end_sweep(void)
{
	unsigned long stale;

	for (stale = ks_cleaning; stale; stale &= stale - 1)
		clear_bit(__ffs(stale), &ks_stale_slots);
	ks_cleaning = 0;
	begin_sweep();
}

/*
 * Number of blocks to be swept now. Where blocks are dropped for others, all have had their
 * turn after an epoch, not earlier: so long it takes to tell whether a page is hot.
 */
static unsigned long sweep_size(u64 now)
{
	u64 all_ns = is_short() ? max(SWEEP_NS, ks_epoch_ns) : SWEEP_NS;
	u64 part_ns = min(now - ks_swept_ns, all_ns);
	u64 blocks = atomic_long_read(&ks_nr_blocks);
	u64 size = div64_u64(blocks * part_ns, all_ns);

	if (ks_cleaning)
		size = max(size, HASTY_SWEEP);
	else if (!is_short())
		size = max(size, SWEEP_BLOCKS);
	if (size)
		ks_swept_ns = now;
	return size;
}

/*
 * Sweeps a part of all blocks and frees the cold ones, and while blocks are short also those
 * that are only warm. Heat that a migration brings into one of these at the same time is lost.
 */
static void sweep(u64 now)
{
	unsigned long stale = READ_ONCE(ks_stale_slots), left;
	struct ks_heat *block;
	enum warmth warmth;
	bool few;

	if (stale & ~ks_cleaning) {
		/* A migration that has not seen them may yet give a word one of these bits. */
		synchronize_rcu();
		ks_cleaning = stale;
		begin_sweep();
	}
	for (left = sweep_size(now); left; left--) {
		block = xa_find(&ks_blocks, &ks_sweep, ULONG_MAX, XA_PRESENT);
		if (!block) {
			end_sweep();
			return;
		}
		/* A hasty sweep would not leave pages the time to become hot. */
		few = is_short() && !ks_cleaning;
		warmth = sweep_block(block, few || ks_cleaning || ks_clearing);
		if (warmth == WARM && few) {
			forget_block(block, ks_sweep);
			warmth = COLD;
		}
		if (warmth == COLD)
			ks_drop_block(ks_sweep);
		ks_sweep++;
		cond_resched();
	}
}

/**
 * ks_pages_limit - set how much memory the heat of pages may take
 * @bytes: what it may take; at least one block is allowed
 *
 * What blocks with hot pages take is not given back for that.
 *
 * Context: any; callers serialize themselves.
 */
void ks_pages_limit(u64 bytes)
{
	u64 blocks = div_u64(bytes, KS_BLOCK_PAGES * sizeof(struct ks_heat));

	WRITE_ONCE(ks_most_blocks, max(blocks, 1));
}

/**
 * ks_pages_window - end of a window: update the threshold and sweep
 * @target:  how much memory may be called hot, base pages
 * @samples: minimum number of samples of a hot page
 * @now:     ktime_get_ns()
 *
 * Context: the thread; may sleep.
 * Return: true if samples have told enough to halve all heat.
 */
bool ks_pages_window(unsigned long target, u32 samples, u64 now)
{
	bool over;

	WRITE_ONCE(ks_target, target);
	WRITE_ONCE(ks_limits.samples, samples);
	ks_window++;
	fold();
	set_threshold();
	ks_epoch_ns = max(ks_epoch_ns, now - ks_this_epoch.began_ns);
	sweep(now);
	over = ks_epoch_is_over(&ks_this_epoch, now, ks_limits, &ks_hits);
	ks_hits = (struct ks_hits) {};
	return over;
}

/**
 * ks_pages_cool - end of an epoch: halve all heat
 * @now: ktime_get_ns()
 *
 * Context: the thread; may sleep.
 */
void ks_pages_cool(u64 now)
{
	int nid;

	ks_epoch_ns = now - ks_this_epoch.began_ns;
	ks_this_epoch.began_ns = now;
	fold();
	WRITE_ONCE(ks_epoch, ks_epoch + 1);
	for (nid = 0; nid < nr_node_ids; nid++)
		ks_histogram_cool(&ks_own_node(nid)->hist);
	set_threshold();
}

/* ------------------------------------ Views ------------------------------------ */

static struct ks_limits limits_now(void)
{
	return (struct ks_limits) {
		.heat = READ_ONCE(ks_limits.heat),
		.samples = READ_ONCE(ks_limits.samples),
	};
}

/**
 * ks_pages_hot_heat - get the heat of a page if it is hot now
 * @pfn:   first page of a folio
 * @order: of the folio, as in struct ks_hot_page
 *
 * Context: any but NMI.
 * Return: its heat, or 0 if it is not hot or was sampled with another order.
 */
u32 ks_pages_hot_heat(unsigned long pfn, unsigned int order)
{
	u32 epoch = READ_ONCE(ks_epoch);
	struct ks_heat *place, h = {};

	scoped_guard(rcu) {
		place = ks_place_of(pfn);
		if (place)
			h.word = READ_ONCE(place->word);
	}
	if (h.order != order || !ks_heat_is_hot(h, epoch, limits_now()))
		return 0;
	return ks_heat_now(h, epoch);
}

/**
 * ks_pages_hot_from - get the heat at which a page becomes hot
 * @order: of the folio
 *
 * Return: heat.
 */
u64 ks_pages_hot_from(unsigned int order)
{
	return ks_heat_hot_from(order, limits_now());
}

/**
 * ks_pages_threshold - get the heat above which pages fit into the target
 *
 * Return: heat; a hot page needs a minimum of samples besides.
 */
u32 ks_pages_threshold(void)
{
	return READ_ONCE(ks_limits.heat);
}

/**
 * ks_pages_target - get the amount of memory that may be called hot
 *
 * Return: base pages, as of the last window.
 */
unsigned long ks_pages_target(void)
{
	return READ_ONCE(ks_target);
}

/**
 * ks_pages_histogram - copy the histogram of a node
 * @nid:  the node
 * @hist: for the result; a page that is sampled meanwhile may be in no bin, or in two
 */
void ks_pages_histogram(int nid, struct ks_histogram *hist)
{
	struct ks_node *nodes;
	int bin;

	*hist = (struct ks_histogram) {};
	guard(rcu)();
	nodes = rcu_dereference(ks_nodes);
	for (bin = 0; nodes && bin < KS_NR_BINS; bin++)
		hist->bin[bin] = READ_ONCE(nodes[nid].hist.bin[bin]);
}

/**
 * ks_pages_bytes - get the memory used by the heat of pages
 *
 * Return: bytes.
 */
unsigned long ks_pages_bytes(void)
{
	return atomic_long_read(&ks_nr_blocks) * KS_BLOCK_PAGES * sizeof(struct ks_heat);
}

/**
 * ks_pages_dropped - get the number of blocks dropped for lack of memory since the start
 *
 * Return: number of blocks, each for 2 MiB of memory.
 */
unsigned long ks_pages_dropped(void)
{
	return READ_ONCE(ks_nr_dropped);
}

/* Iterates over block indices + 1: a block may be gone before it is shown. */
static void *hot_block(loff_t *pos)
{
	unsigned long index = *pos;

	if (!xa_find(&ks_blocks, &index, ULONG_MAX, XA_PRESENT))
		return NULL;
	*pos = index;
	return (void *)(index + 1);
}

static void *hot_start(struct seq_file *m, loff_t *pos)
{
	return hot_block(pos);
}

static void *hot_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	cond_resched();
	return hot_block(pos);
}

static void hot_stop(struct seq_file *m, void *v)
{
}

static void show_if_hot(struct seq_file *m, unsigned long pfn, struct ks_heat h)
{
	u32 epoch = READ_ONCE(ks_epoch);
	struct page *page;

	if (!ks_heat_is_hot(h, epoch, limits_now()))
		return;
	page = pfn_to_online_page(pfn);
	if (page)
		seq_printf(m, "%d 0x%lx %u %u\n", page_to_nid(page), pfn, h.order,
			   ks_heat_now(h, epoch));
}

static int hot_show(struct seq_file *m, void *v)
{
	unsigned long index = (unsigned long)v - 1;
	struct ks_heat *block, h;
	int i;

	guard(rcu)();
	block = xa_load(&ks_blocks, index);
	for (i = 0; block && i < KS_BLOCK_PAGES; i++) {
		/* Pairs with ks_pages_sample(): ks_epoch is read after the word. */
		h.word = smp_load_acquire(&block[i].word);
		show_if_hot(m, index * KS_BLOCK_PAGES + i, h);
	}
	return 0;
}

/* One line for each hot page: node, pfn, order, heat. */
const struct seq_operations ks_hot_pages_sops = {
	.start = hot_start,
	.next = hot_next,
	.stop = hot_stop,
	.show = hot_show,
};
