// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the heat of all pages, by physical address.
 *
 * Each page has a word of 8 bytes, in blocks for 2 MiB of memory. A block is allocated when
 * one of its pages is sampled for the first time, and freed when all of them are cold or
 * sampling ends. So heat takes memory only while sampling is on, and only for memory in use.
 * If it is to take less than that, blocks without a hot page are dropped in turn, so that
 * the pages of others can become hot.
 *
 * Heat belongs to the contents of a page. It moves along when a folio is migrated,
 * and is dropped when a page is freed. When a folio is split, its first page keeps the
 * heat until it is sampled again or freed, and the others start cold. Pages that are
 * copied into a larger folio do not bring their heat along. A hugetlb page keeps its heat
 * while it waits in the pool for its next user. Movable pages that are not folios, as
 * those of zsmalloc, are not followed.
 *
 * These change a word:
 *
 *	the thread		for a sample; clears cold words and consumer bits
 *	ksamplingd_freed()	to 0; on any CPU, in any context but NMI
 *	ksamplingd_migrated()	the old one to 0, the new one to the old heat; likewise
 *	ksamplingd_ask_again()	consumer bits; in any context but NMI and hard interrupts
 *
 * All of them use cmpxchg() or xchg(), so that each replacement knows what it replaced,
 * and takes exactly that out of the histogram. Only the thread writes the histograms. The
 * hooks add up in ks_node::moved what each bin is to gain or lose; the thread folds that
 * in once in a window, and before it shifts the bins. (If an epoch ends after a hook has
 * read the epoch and before it updates the bin, one page is counted one bin too high, and
 * leaves the histogram an epoch later.) A page is not freed while it is sampled, because
 * the thread holds a reference to its folio.
 *
 * Locking: RCU protects the lookup and use of blocks and of ks_nodes; both are freed after a
 * grace period. ks_follower is called under RCU as well. The lock of ks_blocks, with
 * interrupts off, serializes adding and removing blocks: some callers of
 * ksamplingd_migrated() hold spinlocks and have interrupts off. ks_consumers_lock (a mutex)
 * serializes registration. Consumers are called under ks_consumers_srcu and nothing else.
 *
 * Lifetime of struct page: memory is taken offline before its struct pages may be freed,
 * and in between, after the memory has been marked offline, the notifier MEM_OFFLINE
 * runs. memory_goes() waits for a grace period there. So after pfn_to_online_page() finds
 * a page under RCU, its struct page may be read until the end of that RCU section. If the
 * reader gets a reference within the section, the page is in use, and memory with such
 * pages does not get through offlining. Hence nothing here waits for hotplug, which may
 * take long, and in particular get_online_mems() is not needed.
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/ksamplingd.h>
#include <linux/memory.h>
#include <linux/memory-tiers.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/vmstat.h>
#include <linux/xarray.h>

#include "pages_internal.h"

DEFINE_STATIC_KEY_FALSE(ks_pages_have_heat);

DEFINE_XARRAY_FLAGS(ks_blocks, XA_FLAGS_LOCK_IRQ);
static bool ks_takes_blocks;			/* under the lock of ks_blocks */
atomic_long_t ks_nr_blocks;
unsigned long ks_most_blocks;			/* as far as hot pages leave a choice */
struct ks_node __rcu *ks_nodes;		/* NULL: there is no thread */

/* Written by the thread, or while there is none. */
u32 ks_epoch;
u32 ks_window;
struct ks_epoch ks_this_epoch;
struct ks_hits ks_hits;			/* in this window */
struct ks_limits ks_limits = { .heat = 1, .samples = 1 };
static u32 ks_run;				/* number of starts */
static const struct ks_follower __rcu *ks_follower;

static struct ks_consumer __rcu *ks_consumers[KS_MAX_CONSUMERS];
static DEFINE_MUTEX(ks_consumers_lock);
DEFINE_STATIC_SRCU(ks_consumers_srcu);
static unsigned long ks_slots;			/* with a consumer */
unsigned long ks_stale_slots;		/* words may have bits of a former consumer */

/*
 * Number of blocks, of heat or of pasts, by their index modulo the size of the table, which
 * has an entry for each 2 MiB of memory that there is at the first start; with much more memory
 * later, entries are shared. So one load tells of nearly all pages that are freed that nothing
 * is kept of them. Never freed.
 */
static atomic_t *ks_held __read_mostly;
static unsigned long ks_held_mask __read_mostly;

/**
 * ks_pages_hold - something is kept of pages, or is no longer
 * @index: of a block for 2 MiB of memory: pfn / 512
 * @by:	   1 before the block can be found, -1 when it cannot be found any more
 *
 * Whoever writes to the block holds a reference to the page, so that is ordered before the
 * page is freed.
 *
 * Context: any but NMI.
 */
void ks_pages_hold(unsigned long index, int by)
{
	atomic_add(by, &ks_held[index & ks_held_mask]);
}

static bool is_held(unsigned long pfn, unsigned int order)
{
	unsigned long index = pfn / KS_BLOCK_PAGES, end = (pfn + BIT(order) - 1) / KS_BLOCK_PAGES;

	for (; index <= end; index++)
		if (atomic_read(&ks_held[index & ks_held_mask]))
			return true;
	return false;
}

/* ------------------------------- Start and stop ------------------------------- */

static int make_held(void)
{
	unsigned long size = roundup_pow_of_two(totalram_pages() / KS_BLOCK_PAGES + 1);

	if (ks_held)
		return 0;
	ks_held = kvcalloc(size, sizeof(*ks_held), GFP_KERNEL);
	ks_held_mask = size - 1;
	return ks_held ? 0 : -ENOMEM;
}

static void take_blocks(bool take)
{
	unsigned long flags;

	xa_lock_irqsave(&ks_blocks, flags);
	ks_takes_blocks = take;
	xa_unlock_irqrestore(&ks_blocks, flags);
}

/**
 * ks_drop_block - free a block
 * @index: its index in ks_blocks
 *
 * Context: the thread, or once it has ended; may sleep.
 */
void ks_drop_block(unsigned long index)
{
	struct ks_heat *block;
	unsigned long flags;

	xa_lock_irqsave(&ks_blocks, flags);
	block = __xa_erase(&ks_blocks, index);
	xa_unlock_irqrestore(&ks_blocks, flags);
	kvfree_rcu_mightsleep(block);
	ks_pages_hold(index, -1);
	atomic_long_dec(&ks_nr_blocks);
}

/**
 * ks_pages_start - begin with all pages cold
 *
 * Context: process context; there is no thread.
 * Return: 0 or -ENOMEM.
 */
int ks_pages_start(void)
{
	struct ks_node *nodes;

	if (make_held())
		return -ENOMEM;
	nodes = kvcalloc(nr_node_ids, sizeof(*nodes), GFP_KERNEL);
	if (!nodes)
		return -ENOMEM;
	/* No page is hot before there is a threshold. */
	WRITE_ONCE(ks_limits.heat, U32_MAX);
	/* All words start at 0, so none has bits of a former consumer. */
	WRITE_ONCE(ks_stale_slots, 0);
	ks_windows_start();
	WRITE_ONCE(ks_run, ks_run + 1);
	rcu_assign_pointer(ks_nodes, nodes);
	take_blocks(true);
	static_branch_enable(&ks_pages_have_heat);
	return 0;
}

/**
 * ks_pages_stop - drop all heat
 *
 * Context: process context; the thread has ended.
 */
void ks_pages_stop(void)
{
	struct ks_node *nodes = ks_own_node(0);
	struct ks_heat *block;
	unsigned long index;

	static_branch_disable(&ks_pages_have_heat);
	take_blocks(false);
	/* A hook that has begun must not end in the next run. */
	synchronize_rcu();
	xa_for_each(&ks_blocks, index, block) {
		ks_drop_block(index);
		cond_resched();
	}
	xa_destroy(&ks_blocks);
	RCU_INIT_POINTER(ks_nodes, NULL);
	kvfree_rcu_mightsleep(nodes);
}

/* --------------------------------- Consumers --------------------------------- */

/**
 * ksamplingd_register - notify a consumer of hot pages from now on
 * @c: the consumer
 *
 * It is also called for pages that are hot already, when they are sampled next. A consumer
 * that gets the slot of one that has just unregistered is not called for some windows.
 *
 * Context: process context; also within ks_consumer::hot of another consumer.
 * Return: 0, or -EBUSY if there are four consumers already.
 */
int ksamplingd_register(struct ks_consumer *c)
{
	unsigned int slot;

	guard(mutex)(&ks_consumers_lock);
	/* Prefer a free slot without stale bits. */
	slot = ffz(ks_slots | READ_ONCE(ks_stale_slots));
	if (slot >= KS_MAX_CONSUMERS)
		slot = ffz(ks_slots);
	if (slot >= KS_MAX_CONSUMERS)
		return -EBUSY;
	WRITE_ONCE(c->slot, slot);
	rcu_assign_pointer(ks_consumers[slot], c);
	WRITE_ONCE(ks_slots, ks_slots | BIT(slot));
	return 0;
}

/**
 * ksamplingd_unregister - end notifications
 * @c: the consumer; it is not called any more when this returns
 *
 * Context: process context, but not within any ks_consumer::hot, nor with a lock that one
 * of them takes: this waits for a call in progress.
 */
void ksamplingd_unregister(struct ks_consumer *c)
{
	scoped_guard(mutex, &ks_consumers_lock) {
		RCU_INIT_POINTER(ks_consumers[c->slot], NULL);
		WRITE_ONCE(ks_slots, ks_slots & ~BIT(c->slot));
		/* The thread may still set the bit of this slot: such words are swept later. */
		/* A sweep that sees this sees that it is not listening either. */
		smp_mb__before_atomic();
		set_bit(c->slot, &ks_stale_slots);
	}
	synchronize_srcu(&ks_consumers_srcu);
}

static unsigned long listeners(void)
{
	return READ_ONCE(ks_slots) & ~READ_ONCE(ks_stale_slots);
}

/* Return: the slots to notify. Their bits are set in @h, which the caller stores. */
static unsigned long whom_to_tell(struct ks_heat *h, bool entered, bool first_in_window)
{
	unsigned long ask = h->hot ? listeners() & ~h->told : 0;

	if (!entered && !first_in_window)
		return 0;
	h->told |= ask;
	return ask;
}

/**
 * ks_place_of - get the word of a page
 * @pfn: the page
 *
 * Context: under RCU.
 * Return: the word, or NULL if there is none.
 */
struct ks_heat *ks_place_of(unsigned long pfn)
{
	struct ks_heat *block = xa_load(&ks_blocks, pfn / KS_BLOCK_PAGES);

	return block ? &block[pfn % KS_BLOCK_PAGES] : NULL;
}

static void ask_later(unsigned long pfn, unsigned long slots)
{
	struct ks_heat *place, old, new;

	guard(rcu)();
	place = ks_place_of(pfn);
	if (!place)
		return;
	old.word = READ_ONCE(place->word);
	do {
		if (!old.hot)
			return;
		new = old;
		new.told &= ~slots;
	} while (!try_cmpxchg(&place->word, &old.word, new.word));
}

/**
 * ksamplingd_ask_again - notify a consumer again, as if it had answered KS_LATER
 * @c:	 a consumer that has answered KS_DONE
 * @pfn: of that call
 *
 * Nothing happens if the page is not hot any more, or @c is not registered.
 *
 * Context: any but NMI and hard interrupts.
 */
void ksamplingd_ask_again(struct ks_consumer *c, unsigned long pfn)
{
	unsigned int slot;
	int index;

	/* While SRCU is held, a consumer that is found in its slot keeps it. */
	index = srcu_read_lock(&ks_consumers_srcu);
	slot = READ_ONCE(c->slot);
	if (srcu_dereference(ks_consumers[slot], &ks_consumers_srcu) == c)
		ask_later(pfn, BIT(slot));
	srcu_read_unlock(&ks_consumers_srcu, index);
}

static void tell(const struct ks_hot_page *page, unsigned long slots)
{
	unsigned long later = 0;
	struct ks_consumer *c;
	unsigned int slot;

	scoped_guard(srcu, &ks_consumers_srcu) {
		for_each_set_bit(slot, &slots, KS_MAX_CONSUMERS) {
			c = srcu_dereference(ks_consumers[slot], &ks_consumers_srcu);
			if (c && c->hot(c, page) == KS_LATER)
				later |= BIT(slot);
		}
	}
	if (later)
		ask_later(page->pfn, later);
}

/* ---------------------------------- Samples ---------------------------------- */

/* Called under RCU. Returns NULL rather than reclaim, or use reserves from within reclaim. */
static struct ks_heat *add_block(unsigned long index, bool may_exceed)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC;
	struct ks_heat *block, *other;
	unsigned long flags;

	if (!may_exceed && atomic_long_read(&ks_nr_blocks) >= READ_ONCE(ks_most_blocks))
		return NULL;
	block = kcalloc(KS_BLOCK_PAGES, sizeof(*block), gfp);
	if (!block)
		return NULL;
	ks_pages_hold(index, 1);
	xa_lock_irqsave(&ks_blocks, flags);
	other = ks_takes_blocks ? __xa_cmpxchg(&ks_blocks, index, NULL, block, gfp) :
				  XA_ERROR(-ESHUTDOWN);
	if (!other)
		atomic_long_inc(&ks_nr_blocks);
	xa_unlock_irqrestore(&ks_blocks, flags);
	if (!other)
		return block;
	ks_pages_hold(index, -1);
	kfree(block);
	return xa_is_err(other) ? NULL : other;
}

/* Likewise; what is hot may exceed the limit, as blocks of hot pages may. */
static struct ks_heat *make_place(unsigned long pfn, bool hot)
{
	struct ks_heat *place = ks_place_of(pfn), *block;

	if (place)
		return place;
	block = add_block(pfn / KS_BLOCK_PAGES, hot);
	return block ? &block[pfn % KS_BLOCK_PAGES] : NULL;
}

/**
 * ks_pages_folio - get a reference to the folio of a page
 * @pfn: the page
 *
 * Return: the folio, or NULL if it is not in use.
 */
struct folio *ks_pages_folio(unsigned long pfn)
{
	struct folio *folio;
	struct page *page;

	guard(rcu)();
	page = pfn_to_online_page(pfn);
	if (!page)
		return NULL;
	folio = page_folio(page);
	if (!folio_try_get(folio))
		return NULL;
	/* It may have been split, or freed and reused, in between. */
	if (page_folio(page) == folio)
		return folio;
	folio_put(folio);
	return NULL;
}

/**
 * ks_pages_sample - count one access
 * @phys:     physical address, 0 if it is not known
 * @from_nid: node of the CPU, or NUMA_NO_NODE
 * @store:    the event counts stores
 *
 * Context: the thread.
 * Return: KS_NOT_DISCARDED, or why the access could not be counted.
 */
enum ks_discard ks_pages_sample(u64 phys, int from_nid, bool store)
{
	struct ks_hot_page page = { .from_nid = from_nid, .store = store };
	struct ks_heat *place, old, new;
	struct folio *folio;
	u32 window = ks_window & GENMASK(KS_WINDOW_BITS - 1, 0);
	bool entered, first;
	unsigned long ask;

	if (!phys)
		return KS_NO_ADDRESS;
	folio = ks_pages_folio(PHYS_PFN(phys));
	if (!folio)
		return KS_NO_PAGE;
	page.order = min(folio_order(folio), KS_MAX_ORDER);
	page.pfn = round_down(PHYS_PFN(phys), BIT(page.order));
	page.nid = folio_nid(folio);

	rcu_read_lock();
	place = make_place(page.pfn, false);
	if (!place) {
		rcu_read_unlock();
		folio_put(folio);
		return KS_NO_MEMORY;
	}
	old.word = READ_ONCE(place->word);
	do {
		new = old;
		entered = ks_heat_sample(&new, ks_epoch, page.order, ks_limits);
		first = old.window != window;
		new.window = window;
		ask = whom_to_tell(&new, entered, first);
		/* Ordered after the epoch that it holds, see hot_show(). */
	} while (!try_cmpxchg(&place->word, &old.word, new.word));
	rcu_read_unlock();
	ks_histogram_replace(&ks_own_node(page.nid)->hist, old, new, ks_epoch);
	count_vm_event(node_is_toptier(page.nid) ? KSAMPLINGD_SAMPLES_FAST :
						   KSAMPLINGD_SAMPLES_SLOW);
	/* A consumer may want to migrate the folio, which a reference would prevent. */
	folio_put(folio);

	ks_hits.samples++;
	if (new.hot) {
		ks_hits.hits++;
		ks_hits.heat += BIT(KS_MAX_ORDER - page.order);
	}
	page.heat = new.heat;
	page.again = first && ks_heat_now(old, ks_epoch);
	if (ask)
		tell(&page, ask);
	return KS_NOT_DISCARDED;
}

/* --------------------------- Freeing and migration --------------------------- */

/* Leaves a change of the histogram of a node to the thread. Called under RCU. */
static void count_moved(int nid, struct ks_heat h, int sign)
{
	struct ks_node *nodes = rcu_dereference(ks_nodes);
	int bin = ks_heat_bin(h, READ_ONCE(ks_epoch));

	if (nodes && bin >= 0)
		atomic_long_add(sign * (long)BIT(h.order), &nodes[nid].moved[bin]);
}

/* Clears the word of a page. Called under RCU. Return: the old word. */
static struct ks_heat take_heat(unsigned long pfn, int nid)
{
	struct ks_heat *place = ks_place_of(pfn);
	struct ks_heat h = {};

	/* Nearly always, there is nothing to write. */
	if (!place || !READ_ONCE(place->word))
		return h;
	h.word = xchg(&place->word, 0);
	count_moved(nid, h, -1);
	return h;
}

/* Called under RCU. */
static void give_heat(unsigned long pfn, int nid, struct ks_heat h)
{
	struct ks_heat *place = make_place(pfn, h.hot);
	struct ks_heat before;

	if (!place)
		return;
	/* Add before another CPU can take it away again, so that no bin goes below zero. */
	count_moved(nid, h, 1);
	before.word = xchg(&place->word, h.word);
	count_moved(nid, before, -1);
}

static noinline void drop_kept(struct page *page, unsigned int order)
{
	unsigned long pfn = page_to_pfn(page), i;
	const struct ks_follower *follower;

	guard(rcu)();
	for (i = 0; i < BIT(order); i += KS_BLOCK_PAGES)
		take_heat(pfn + i, page_to_nid(page));
	follower = rcu_dereference(ks_follower);
	if (follower)
		follower->freed(pfn, order);
}

/**
 * __ksamplingd_freed - the contents of pages are gone
 * @page:  the first page
 * @order: of the pages that go back to the allocator
 *
 * Context: any but NMI.
 */
void __ksamplingd_freed(struct page *page, unsigned int order)
{
	/* Nearly always not: the rest is a function of its own, with registers to save. */
	if (is_held(page_to_pfn(page), order))
		drop_kept(page, order);
}

/**
 * __ksamplingd_migrated - the contents of a folio have moved to another one
 * @to:   the new folio
 * @from: the old folio, of the same size
 *
 * On another node, consumers are notified of the page again.
 *
 * Context: any but NMI; the caller holds references to both.
 */
void __ksamplingd_migrated(struct folio *to, struct folio *from)
{
	int to_nid = folio_nid(to), from_nid = folio_nid(from);
	const struct ks_follower *follower;
	unsigned long stale;
	struct ks_heat h;
	long i;

	guard(rcu)();
	/* Before heat is taken from where a sweep would have cleared these bits. */
	stale = smp_load_acquire(&ks_stale_slots);
	follower = rcu_dereference(ks_follower);
	if (follower)
		follower->moved(to, from);
	for (i = 0; i < folio_nr_pages(from); i += KS_BLOCK_PAGES) {
		h = take_heat(folio_pfn(from) + i, from_nid);
		/* Device memory is never sampled. */
		if (!ks_heat_now(h, READ_ONCE(ks_epoch)) || folio_is_zone_device(to)) {
			take_heat(folio_pfn(to) + i, to_nid);
			continue;
		}
		h.told &= to_nid == from_nid ? ~stale : 0;
		/* The folio may have been split since it was sampled. */
		h.order = min(folio_order(to), KS_MAX_ORDER);
		give_heat(folio_pfn(to) + i, to_nid, h);
	}
}

/**
 * ks_pages_follow - set the follower, which is called while there is heat
 * @follower: replaces the current one. NULL removes it: the current one is not called any
 *	      more when this returns.
 *
 * Context: process context; callers serialize themselves.
 */
void ks_pages_follow(const struct ks_follower *follower)
{
	rcu_assign_pointer(ks_follower, follower);
	if (!follower)
		synchronize_rcu();
}

/**
 * ks_pages_run - identify the current run
 *
 * Return: a number that changes at each start. While it stays the same, the follower has
 * seen everything that happened to pages.
 */
u32 ks_pages_run(void)
{
	return READ_ONCE(ks_run);
}

/* Lookups that have found one of these pages online have ended then, see the top. */
static int memory_goes(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action == MEM_OFFLINE)
		synchronize_rcu();
	return NOTIFY_OK;
}

static int __init ks_pages_init(void)
{
	return hotplug_memory_notifier(memory_goes, DEFAULT_CALLBACK_PRI);
}
subsys_initcall(ks_pages_init);
