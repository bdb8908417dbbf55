// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: promotion of hot pages from slow to fast memory.
 *
 * The sampler calls told_of_hot() for a page that has become hot. If the page was sampled
 * in more than one window, and its node is to be emptied and not of the top tier, the page
 * goes to the queue of that node. The thread kspromoted takes it from there, outside of the
 * sampler's quota and with a rate of its own, checks that all of this still holds, and
 * migrates the page to the top-tier node nearest to the CPU that was seen to use it. It
 * migrates in batches, which share the cost of TLB flushes. Folios are migrated as a whole.
 *
 * If the target node has no room, kswapd is woken up, which demotes cold pages if
 * demotion is enabled (/sys/kernel/mm/numa/demotion_enabled). In that case promotion uses
 * memory down to the low watermark, below which kswapd starts by itself. Otherwise it
 * stops at the high watermark, so that nothing is reclaimed for promoted pages. A page
 * that cannot be migrated at the moment is tried again.
 *
 * At any time, all base pages that told_of_hot() has counted are accounted for:
 *
 *	told = promoted + failed, by reason + dropped + queued
 *
 * Pages that are demoted again soon are remembered, see promote_past.c.
 *
 * Locking: ks_control (a mutex, may sleep) serializes start and stop. ks_lock (a
 * spinlock) protects the queues and counters and is held for nothing else. The batch and
 * the rate belong to the thread.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cpuset.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/ksamplingd.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/memory-tiers.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rmap.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/sysctl.h>
#include <linux/vmstat.h>
#include <linux/wait.h>
/* Needs mm.h. */
#include <linux/compaction.h>

#include "../internal.h"
#include "../page_alloc.h"
#include "internal.h"
#include "pages.h"
#include "promote_past.h"
#include "promote_plan.h"

#define CREATE_TRACE_POINTS
#include <trace/events/ksamplingd_promote.h>

#define BATCH_PAGES	512		/* base pages; a huge page may exceed it */
#define MOST_USERS	8		/* maximum mappings of a promoted page */
#define UNLISTED_TRIES	2		/* tries before per-CPU lists are drained */
#define DRAIN_S		10		/* at least, between two drains */
#define NAP_MS		10		/* sleep when nothing can be done now */

/* Why a page is not promoted. In the order of the events in vm_event_item.h. */
enum ks_failure {
	KS_NO_FAILURE,
	KS_GONE,		/* freed, or moved to another node */
	KS_COLD,
	KS_BARRED,		/* it was demoted soon, and is not hot enough for another try */
	KS_ORDER,		/* split or merged since */
	KS_PINNED,		/* mlocked, or pinned for DMA */
	KS_SPECIAL,		/* not memory of programs, or not migratable */
	KS_SHARED,		/* mapped by too many */
	KS_POLICY,		/* mempolicy or cpuset of a user */
	KS_BUSY,		/* in use otherwise, or dirty, at all tries */
	KS_NO_ROOM,		/* no room on the target, at all tries */
	KS_NR_FAILURES,
};

static const char *const reasons[KS_NR_FAILURES] = {
	[KS_GONE] = "gone",
	[KS_COLD] = "cold",
	[KS_BARRED] = "barred",
	[KS_ORDER] = "order",
	[KS_PINNED] = "pinned",
	[KS_SPECIAL] = "special",
	[KS_SHARED] = "shared",
	[KS_POLICY] = "policy",
	[KS_BUSY] = "busy",
	[KS_NO_ROOM] = "full",
};

/**
 * struct ks_item - a page of a batch
 * @c:	    its candidate
 * @folio:  isolated
 * @memcg:  of the folio; with a reference
 * @nid:    node of the folio
 * @target: node to migrate to
 * @heat:   present heat
 * @was_active: it was on the active list
 * @sent:   it was passed to migrate_pages()
 * @moved:  it has been migrated
 */
struct ks_item {
	struct ks_candidate *c;
	struct folio *folio;
	struct mem_cgroup *memcg;
	int nid;
	int target;
	u32 heat;
	bool was_active;
	bool sent;
	bool moved;
};

/**
 * struct ks_batch - pages that are migrated together
 * @item:  the pages
 * @nr:	   number of items
 * @pages: the same in base pages
 */
struct ks_batch {
	struct ks_item item[BATCH_PAGES];
	u32 nr;
	u32 pages;
};

/**
 * struct ks_promote_counts - what has become of hot pages, base pages
 * @told:     of nodes to be emptied, and sampled in more than one window
 * @promoted: migrated to fast memory
 * @dropped:  the queue was full, or promotion was switched off
 * @failed:   by reason
 */
struct ks_promote_counts {
	u64 told;
	u64 promoted;
	u64 dropped;
	u64 failed[KS_NR_FAILURES];
};

static struct {
	u32 mb_per_s;
	bool nodes_named;
	nodemask_t nodes;
} knobs = { .mb_per_s = 100 };

static DEFINE_MUTEX(ks_control);
static struct task_struct *ks_promoter;
static DECLARE_WAIT_QUEUE_HEAD(ks_wait);

static DEFINE_SPINLOCK(ks_lock);
static struct ks_queue *ks_queues;		/* by node */
static struct ks_promote_counts ks_promoted;
static atomic_long_t ks_returned;		/* base pages */

/* The thread's own; start() and stop() use them while there is none. */
static struct ks_batch *ks_batch;
static struct ks_rate ks_rate;
static struct ks_returns ks_returns;
static int ks_next_nid;				/* the node that is next */
static bool ks_saw_unlisted;			/* a page was on no LRU list */
static u64 ks_next_drain_s;

static bool is_source(int nid)
{
	return !node_is_toptier(nid) &&
	       (!READ_ONCE(knobs.nodes_named) || node_isset(nid, knobs.nodes));
}

/* --------------------------------- Accounting --------------------------------- */

/* Under ks_lock. */
static void count_failed(enum ks_failure why, unsigned long pages)
{
	ks_promoted.failed[why] += pages;
	count_vm_events(KSAMPLINGD_FAILED_GONE + (why - KS_GONE), pages);
}

/* Under ks_lock. */
static void count_dropped(unsigned long pages)
{
	ks_promoted.dropped += pages;
	count_vm_events(KSAMPLINGD_DROPPED, pages);
}

/* ---------------------------------- Consumer ---------------------------------- */

static enum ks_answer told_of_hot(struct ks_consumer *consumer, const struct ks_hot_page *page)
{
	unsigned long pages = BIT(page->order);
	enum ks_answer answer = KS_LATER;
	struct ks_queue *q;
	bool allowed;

	if (!is_source(page->nid))
		return KS_DONE;
	/* A page that is read once, sequentially, has many samples within one window only. */
	if (!page->again)
		return KS_LATER;
	allowed = ks_past_allows(ks_past_of(page->pfn), ktime_get_seconds(), page->heat,
				 ks_pages_hot_from(page->order));

	spin_lock(&ks_lock);
	q = &ks_queues[page->nid];
	ks_promoted.told += pages;
	count_vm_events(KSAMPLINGD_TOLD, pages);
	if (!allowed)
		count_failed(KS_BARRED, pages);
	else if (ks_queue_put(q, page->pfn, page->order, page->from_nid, page->heat))
		answer = KS_DONE;
	else
		count_dropped(pages);
	spin_unlock(&ks_lock);

	if (answer == KS_DONE)
		wake_up(&ks_wait);
	return answer;
}

static struct ks_consumer consumer = { .hot = told_of_hot };

static void page_freed(unsigned long pfn, unsigned int order)
{
	unsigned long i;

	for (i = 0; i < BIT(order); i += BIT(KS_MAX_ORDER))
		ks_past_take(pfn + i);
}

static void page_moved(struct folio *to, struct folio *from)
{
	bool was_fast = node_is_toptier(folio_nid(from));
	bool is_fast = node_is_toptier(folio_nid(to));
	struct ks_past p = ks_past_take(folio_pfn(from));
	u64 now_s = ktime_get_seconds();
	bool returned;

	if (!was_fast && is_fast && current == READ_ONCE(ks_promoter)) {
		p = ks_past_promoted(p, now_s);
	} else if (was_fast && !is_fast) {
		p = ks_past_demoted(p, now_s, &returned);
		if (returned) {
			atomic_long_add(folio_nr_pages(to), &ks_returned);
			count_vm_events(KSAMPLINGD_RETURNED, folio_nr_pages(to));
		}
	}
	ks_past_give(folio_pfn(to), p);
}

static const struct ks_follower follower = {
	.freed = page_freed,
	.moved = page_moved,
};

/* ----------------------------------- Checks ----------------------------------- */

/* Return: the top-tier node nearest to the CPU that uses the page, or NUMA_NO_NODE. */
static int target_of(int nid, int from_nid)
{
	int from = from_nid == NUMA_NO_NODE ? nid : from_nid;
	int best = NUMA_NO_NODE, node;

	for_each_node_state(node, N_MEMORY) {
		if (!node_is_toptier(node))
			continue;
		if (best == NUMA_NO_NODE ||
		    node_distance(from, node) < node_distance(from, best))
			best = node;
	}
	return best;
}

static bool can_demote(int nid)
{
	nodemask_t targets;

	node_get_allowed_targets(NODE_DATA(nid), &targets);
	return READ_ONCE(numa_demotion_enabled) && !nodes_empty(targets);
}

/* Some zone can take the pages, with that order, above the watermark that it is to keep. */
static bool has_room(int nid, unsigned int order, unsigned long pages)
{
	struct zone *zones = NODE_DATA(nid)->node_zones, *zone;
	bool to_low = can_demote(nid);
	unsigned long keep;

	for (zone = zones; zone < zones + MAX_NR_ZONES; zone++) {
		if (!managed_zone(zone))
			continue;
		keep = to_low ? low_wmark_pages(zone) : high_wmark_pages(zone);
		if (zone_watermark_ok(zone, order, keep + pages, ZONE_MOVABLE, ALLOC_CMA))
			return true;
	}
	return false;
}

static void make_room(int nid, unsigned int order)
{
	struct zone *zones = NODE_DATA(nid)->node_zones;
	int i = MAX_NR_ZONES - 1;

	if (order && has_room(nid, 0, BIT(order))) {
		wakeup_kcompactd(NODE_DATA(nid), order, ZONE_MOVABLE);
		return;
	}
	if (!can_demote(nid))
		return;
	while (i && !managed_zone(&zones[i]))
		i--;
	wakeup_kswapd(&zones[i], 0, 0, ZONE_MOVABLE);
}

static bool policy_allows(const struct mempolicy *pol, int nid, int target)
{
	switch (pol->mode) {
	case MPOL_BIND:
		return node_isset(target, pol->nodes);
	case MPOL_PREFERRED:
	case MPOL_PREFERRED_MANY:
		return !node_isset(nid, pol->nodes) || node_isset(target, pol->nodes);
	case MPOL_INTERLEAVE:
	case MPOL_WEIGHTED_INTERLEAVE:
		/* Its place serves to spread the pages. */
		return false;
	default:
		return true;
	}
}

#ifdef CONFIG_MEMCG
/* mm->owner stands for all tasks of the mm. */
static bool owner_allows(struct mm_struct *mm, bool has_policy, int nid, int target)
{
	struct task_struct *owner;
	nodemask_t allowed;
	bool ok = true;

	guard(rcu)();
	owner = rcu_dereference(mm->owner);
	if (!owner)
		return true;
	allowed = cpuset_mems_allowed(owner);
	if (!node_isset(target, allowed))
		return false;
	if (has_policy)
		return true;
	task_lock(owner);
	if (owner->mempolicy)
		ok = policy_allows(owner->mempolicy, nid, target);
	task_unlock(owner);
	return ok;
}
#else
static bool owner_allows(struct mm_struct *mm, bool has_policy, int nid, int target)
{
	return true;
}
#endif

/**
 * struct ks_users - state of a walk over the mappings of a folio
 * @nid:    node of the folio
 * @target: node to migrate to
 * @why:    why a mapping forbids that
 */
struct ks_users {
	int nid;
	int target;
	enum ks_failure why;
};

/* Called with the mmap lock held, which keeps the policy. */
static enum ks_failure ask_user(struct folio *folio, struct vm_area_struct *vma,
				unsigned long addr, int nid, int target)
{
	struct mempolicy *pol;
	bool ok = true;
	pgoff_t unused;

	if (vma->vm_flags & VM_LOCKED)
		return KS_PINNED;
	if (!vma_migratable(vma))
		return KS_SPECIAL;
	/* Shared code serves all processes that run it, not just the CPU that was seen. */
	if (folio_is_file_lru(folio) && vma->vm_flags & VM_EXEC &&
	    folio_maybe_mapped_shared(folio))
		return KS_SHARED;
	pol = __get_vma_policy(vma, addr, &unused);
	if (pol) {
		ok = policy_allows(pol, nid, target);
		mpol_cond_put(pol);
	}
	return ok && owner_allows(vma->vm_mm, pol, nid, target) ? KS_NO_FAILURE : KS_POLICY;
}

static bool look_at_user(struct folio *folio, struct vm_area_struct *vma, unsigned long addr,
			 void *data)
{
	DEFINE_FOLIO_VMA_WALK(walk, folio, vma, addr, 0);
	struct ks_users *users = data;
	bool mapped = false;

	/* Walk to the end: only that drops the page table lock. */
	while (page_vma_mapped_walk(&walk))
		mapped = true;
	/* This mm has its own copy. */
	if (!mapped)
		return true;
	/* Its holder may wait for a lock that is held here. */
	if (!mmap_read_trylock(vma->vm_mm)) {
		users->why = KS_BUSY;
		return false;
	}
	users->why = ask_user(folio, vma, addr, users->nid, users->target);
	mmap_read_unlock(vma->vm_mm);
	return !users->why;
}

/* Return: why a mapping of the folio forbids to migrate it, or 0. */
static enum ks_failure look_at_users(struct folio *folio, int nid, int target)
{
	struct ks_users users = { .nid = nid, .target = target };
	struct rmap_walk_control walk = {
		.rmap_one = look_at_user,
		.arg = &users,
		.try_lock = true,
		/* Only this keeps the anon_vma: the folio may be unmapped at any time. */
		.anon_lock = folio_lock_anon_vma_read,
	};

	if (!folio_trylock(folio))
		return KS_BUSY;
	if (folio_mapped(folio) && folio_raw_mapping(folio))
		rmap_walk(folio, &walk);
	folio_unlock(folio);
	return walk.contended ? KS_BUSY : users.why;
}

/* Not on an LRU list: not there yet, or not meant to be. */
static enum ks_failure why_not_lru(struct folio *folio, u8 tries)
{
	if (folio_test_slab(folio) || page_has_type(&folio->page) ||
	    !READ_ONCE(folio->mapping) || page_has_movable_ops(&folio->page))
		return KS_SPECIAL;
	/* A page on its way to a list is there sooner. */
	if (tries >= UNLISTED_TRIES)
		ks_saw_unlisted = true;
	return KS_BUSY;
}

/* References besides the mappings, the page cache, and the one of the caller. */
static bool has_other_references(struct folio *folio)
{
	int refs = folio_mapcount(folio) + folio_test_private(folio) + 1;

	if (!folio_test_anon(folio) || folio_test_swapcache(folio))
		refs += folio_nr_pages(folio);
	return folio_ref_count(folio) > refs;
}

static bool has_too_many_users(struct folio *folio)
{
	if (folio_test_ksm(folio))
		return true;
	return folio_test_large(folio) && folio_test_pmd_mappable(folio) ?
	       folio_entire_mapcount(folio) > MOST_USERS :
	       !folio_test_large(folio) && folio_mapcount(folio) > MOST_USERS;
}

static enum ks_failure look_at_folio(struct folio *folio, const struct ks_candidate *c, int nid)
{
	if (folio_nid(folio) != nid)
		return KS_GONE;
	if (folio_pfn(folio) != c->pfn || folio_order(folio) != c->order)
		return KS_ORDER;
	if (folio_is_zone_device(folio) || folio_test_hugetlb(folio))
		return KS_SPECIAL;
	/* It is about to be split, and migration would do that. */
	if (folio_test_large(folio) && folio_test_partially_mapped(folio))
		return KS_ORDER;
	if (folio_test_mlocked(folio) || folio_test_unevictable(folio) ||
	    folio_maybe_dma_pinned(folio))
		return KS_PINNED;
	if (!folio_test_lru(folio))
		return why_not_lru(folio, c->tries);
	if (has_too_many_users(folio))
		return KS_SHARED;
	/* Migration would only find these after unmapping it. */
	if (has_other_references(folio))
		return KS_BUSY;
	/* Not every filesystem can migrate dirty folios without waiting. */
	if (folio_test_writeback(folio) || (folio_is_file_lru(folio) && folio_test_dirty(folio)))
		return KS_BUSY;
	return KS_NO_FAILURE;
}

static enum ks_failure isolate(struct ks_item *item)
{
	struct folio *folio = item->folio;

	if (!folio_isolate_lru(folio))
		return KS_BUSY;
	/* It was mlocked in between. While it is isolated, this cannot change. */
	if (folio_test_unevictable(folio)) {
		folio_putback_lru(folio);
		return KS_PINNED;
	}
	node_stat_mod_folio(folio, NR_ISOLATED_ANON + folio_is_file_lru(folio),
			    folio_nr_pages(folio));
	/* Reclaim does not know yet that it is used, and must not demote it next. */
	item->was_active = folio_test_active(folio);
	folio_set_active(folio);
	return KS_NO_FAILURE;
}

/* Return: 0 with the folio isolated, or why it cannot be promoted. */
static enum ks_failure prepare(struct ks_item *item, u32 more_pages)
{
	const struct ks_candidate *c = item->c;
	enum ks_failure why;

	item->heat = ks_pages_hot_heat(c->pfn, c->order);
	item->target = target_of(item->nid, c->from_nid);
	item->folio = ks_pages_folio(c->pfn);
	/* A split or a migration in progress lets nobody else get a reference. */
	if (!item->folio)
		return item->heat ? KS_BUSY : KS_GONE;

	why = item->heat ? look_at_folio(item->folio, c, item->nid) : KS_COLD;
	if (!why && !is_source(item->nid))
		why = KS_POLICY;
	if (!why && item->target == NUMA_NO_NODE)
		why = KS_NO_ROOM;
	if (!why)
		why = look_at_users(item->folio, item->nid, item->target);
	if (!why && !has_room(item->target, c->order, BIT(c->order) + more_pages)) {
		make_room(item->target, c->order);
		why = KS_NO_ROOM;
	}
	if (!why)
		why = isolate(item);
	/* Isolation has taken a reference of its own. */
	folio_put(item->folio);
	return why;
}

/* ----------------------------------- Batches ----------------------------------- */

/* Return: the next candidate, or NULL if there is none now. */
static struct ks_candidate *take_next(int *nid)
{
	struct ks_candidate *c = NULL;
	u64 now = ktime_get_ns();
	int i;

	spin_lock(&ks_lock);
	for (i = 0; !c && i < nr_node_ids; i++) {
		*nid = ks_next_nid;
		c = ks_queue_take(&ks_queues[*nid], now);
		ks_next_nid = (ks_next_nid + 1) % nr_node_ids;
	}
	spin_unlock(&ks_lock);
	return c;
}

static void give_back(int nid, struct ks_candidate *c)
{
	spin_lock(&ks_lock);
	ks_queue_back(&ks_queues[nid], c);
	spin_unlock(&ks_lock);
}

static bool is_for_now(enum ks_failure why)
{
	return why == KS_BUSY || why == KS_NO_ROOM;
}

/* Ends a try of a candidate, which is queued again if it may succeed later. */
static void settle(int nid, struct ks_candidate *c, enum ks_failure why)
{
	unsigned long pfn = c->pfn, pages = BIT(c->order);
	struct ks_queue *q = &ks_queues[nid];
	bool done;

	spin_lock(&ks_lock);
	done = !is_for_now(why) || !ks_queue_again(q, c, ktime_get_ns());
	if (done) {
		if (why) {
			count_failed(why, pages);
		} else {
			ks_promoted.promoted += pages;
			count_vm_events(KSAMPLINGD_PROMOTED, pages);
		}
		ks_queue_done(q, c);
	}
	spin_unlock(&ks_lock);

	/* Ask anew while it is hot. A cold page may be hot again before a sample finds it cold. */
	if (done && (is_for_now(why) || why == KS_COLD))
		ksamplingd_ask_again(&consumer, pfn);
}

static void count_candidate(const struct ks_item *item)
{
#ifdef CONFIG_NUMA_BALANCING
	mod_node_page_state(NODE_DATA(item->target), PGPROMOTE_CANDIDATE, BIT(item->c->order));
#endif
}

static void count_success(const struct ks_item *item)
{
#ifdef CONFIG_NUMA_BALANCING
	mod_lruvec_state(mem_cgroup_lruvec(item->memcg, NODE_DATA(item->target)),
			 PGPROMOTE_SUCCESS, BIT(item->c->order));
#endif
}

/* Fills a batch with pages that can be migrated now. Return: true if any was tried. */
static bool gather(struct ks_batch *b)
{
	struct ks_item *item;
	enum ks_failure why;
	bool looked = false;

	b->nr = 0;
	b->pages = 0;
	while (b->nr < BATCH_PAGES && b->pages < BATCH_PAGES && !kthread_should_stop()) {
		item = &b->item[b->nr];
		*item = (struct ks_item) {};
		item->c = take_next(&item->nid);
		if (!item->c)
			break;
		if (!ks_rate_take(&ks_rate, PAGE_SIZE << item->c->order)) {
			give_back(item->nid, item->c);
			break;
		}
		looked = true;
		why = prepare(item, b->pages);
		if (why) {
			ks_rate_give(&ks_rate, PAGE_SIZE << item->c->order);
			settle(item->nid, item->c, why);
		} else {
			item->memcg = get_mem_cgroup_from_folio(item->folio);
			if (!item->c->tries)
				count_candidate(item);
			b->pages += BIT(item->c->order);
			b->nr++;
		}
		cond_resched();
	}
	return looked;
}

/* Allocates on that node or not at all, and without reclaim. */
static struct folio *new_folio(struct folio *old, unsigned long nid)
{
	unsigned int order = folio_order(old);
	gfp_t gfp = GFP_TRANSHUGE_LIGHT | __GFP_THISNODE | __GFP_NORETRY;

	/* The node may just have gone. */
	return node_state(nid, N_MEMORY) ? __folio_alloc_node(gfp, order, nid) : NULL;
}

static void put_back(struct ks_batch *b, struct list_head *left)
{
	struct folio *folio;
	u32 i;

	if (list_empty(left))
		return;
	list_for_each_entry(folio, left, lru) {
		for (i = 0; i < b->nr; i++) {
			if (b->item[i].folio != folio)
				continue;
			b->item[i].moved = false;
			if (!b->item[i].was_active)
				folio_clear_active(folio);
		}
	}
	putback_movable_pages(left);
	/* So that the next try finds them on a list. */
	lru_add_drain();
}

static void migrate_to(struct ks_batch *b, int target)
{
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < b->nr; i++) {
		if (b->item[i].target != target)
			continue;
		b->item[i].sent = true;
		b->item[i].moved = true;
		list_add_tail(&b->item[i].folio->lru, &list);
	}
	migrate_pages(&list, new_folio, NULL, target, MIGRATE_ASYNC, MR_NUMA_MISPLACED, NULL);
	put_back(b, &list);
}

static void settle_item(struct ks_item *item)
{
	struct ks_candidate *c = item->c;

	if (item->moved) {
		trace_ksamplingd_promote(c->pfn, c->order, item->nid, item->target, item->heat,
					 c->tries);
		count_success(item);
	} else {
		ks_rate_give(&ks_rate, PAGE_SIZE << c->order);
	}
	mem_cgroup_put(item->memcg);
	settle(item->nid, c, item->moved ? KS_NO_FAILURE : KS_BUSY);
}

/* Return: true if there was something to do. */
static bool one_batch(struct ks_batch *b)
{
	bool any;
	u32 i;

	ks_rate_fill(&ks_rate, READ_ONCE(knobs.mb_per_s), ks_returns.shift, ktime_get_ns());
	any = gather(b);
	for (i = 0; i < b->nr; i++)
		if (!b->item[i].sent)
			migrate_to(b, b->item[i].target);
	for (i = 0; i < b->nr; i++)
		settle_item(&b->item[i]);
	return any;
}

/* ----------------------------------- Thread ----------------------------------- */

static bool has_work(void)
{
	u64 now = ktime_get_ns();
	bool has = false;
	int nid;

	spin_lock(&ks_lock);
	for (nid = 0; !has && nid < nr_node_ids; nid++)
		has = ks_queue_has(&ks_queues[nid], now);
	spin_unlock(&ks_lock);
	return has;
}

/* Nothing wakes the thread up when a retry is due. */
static long most_jiffies_to_wait(void)
{
	bool queued = false;
	int nid;

	spin_lock(&ks_lock);
	for (nid = 0; !queued && nid < nr_node_ids; nid++)
		queued = ks_queues[nid].pages;
	spin_unlock(&ks_lock);
	return queued ? nsecs_to_jiffies(KS_RETRY_NS) : HZ;
}

/* Also for nodes that were added. Without memory for a queue, its node is not emptied. */
static void make_queues(void)
{
	struct ks_candidate *slots;
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		if (ks_queues[nid].slots || !is_source(nid))
			continue;
		slots = kvcalloc(KS_QUEUE_SLOTS, sizeof(*slots),
				 GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
		if (!slots)
			continue;
		spin_lock(&ks_lock);
		ks_queue_init(&ks_queues[nid], slots, KS_QUEUE_SLOTS);
		spin_unlock(&ks_lock);
	}
}

/* Called once in a second. */
static void look_back(u64 *promoted, long *returned)
{
	u64 now_s = ktime_get_seconds(), up;
	long back = atomic_long_read(&ks_returned);

	spin_lock(&ks_lock);
	up = ks_promoted.promoted;
	spin_unlock(&ks_lock);
	ks_returns.up[1] += up - *promoted;
	ks_returns.back[1] += back - *returned;
	*promoted = up;
	*returned = back;
	ks_returns_window(&ks_returns, now_s);

	make_queues();
	/* The page may wait in a per-CPU batch for others to come. */
	if (ks_saw_unlisted && now_s >= ks_next_drain_s) {
		lru_add_drain_all();
		ks_next_drain_s = now_s + DRAIN_S;
	}
	ks_saw_unlisted = false;
	ks_past_sweep(now_s);
}

/* If sampling was off in between, pages have changed unnoticed. */
static void forget_run(u32 *run)
{
	u32 now = ks_pages_run();

	if (*run != now)
		ks_past_drop_all();
	*run = now;
}

static int kspromoted(void *data)
{
	long returned = atomic_long_read(&ks_returned);
	u64 promoted = ks_promoted.promoted;
	unsigned long next = jiffies;
	u32 run = ks_pages_run();

	set_freezable();
	while (!kthread_freezable_should_stop(NULL)) {
		wait_event_freezable_timeout(ks_wait, kthread_should_stop() || has_work(),
					     most_jiffies_to_wait());
		/* Before anything is promoted that is to be remembered. */
		forget_run(&run);
		if (time_after_eq(jiffies, next)) {
			look_back(&promoted, &returned);
			next = jiffies + HZ;
		}
		if (has_work() && !one_batch(ks_batch))
			schedule_timeout_idle(msecs_to_jiffies(NAP_MS));
	}
	return 0;
}

/* ------------------------------- Start and stop ------------------------------- */

/* The queues are not in use any more. */
static void drop_queues(void)
{
	struct ks_queue *queues = ks_queues;
	int nid;

	spin_lock(&ks_lock);
	ks_queues = NULL;
	for (nid = 0; queues && nid < nr_node_ids; nid++)
		count_dropped(queues[nid].pages);
	spin_unlock(&ks_lock);
	for (nid = 0; queues && nid < nr_node_ids; nid++)
		kvfree(queues[nid].slots);
	kvfree(queues);
	kvfree(ks_batch);
	ks_batch = NULL;
}

static int make_all(void)
{
	struct ks_queue *queues = kvcalloc(nr_node_ids, sizeof(*queues), GFP_KERNEL);
	int nid;

	ks_batch = kvzalloc_obj(*ks_batch, GFP_KERNEL);
	if (!queues || !ks_batch) {
		kvfree(queues);
		kvfree(ks_batch);
		ks_batch = NULL;
		return -ENOMEM;
	}
	for (nid = 0; nid < nr_node_ids; nid++)
		ks_queue_init(&queues[nid], NULL, 0);
	spin_lock(&ks_lock);
	ks_queues = queues;
	spin_unlock(&ks_lock);
	make_queues();
	ks_rate = (struct ks_rate) { .filled_ns = ktime_get_ns() };
	ks_returns = (struct ks_returns) { .until_s = ktime_get_seconds() + KS_RETURNS_S };
	ks_next_nid = 0;
	ks_saw_unlisted = false;
	ks_next_drain_s = 0;
	return 0;
}

/* The consumer must be unregistered. */
static void end_thread(void)
{
	kthread_stop(ks_promoter);
	WRITE_ONCE(ks_promoter, NULL);
	ks_pages_follow(NULL);
	ks_past_drop_all();
	drop_queues();
}

static void stop(void)
{
	ksamplingd_unregister(&consumer);
	end_thread();
}

/* Of all nodes: which ones are wanted may change while promotion is on. */
static bool has_lower_tier(void)
{
	int nid;

	for_each_node_state(nid, N_MEMORY)
		if (!node_is_toptier(nid))
			return true;
	return false;
}

static int start(void)
{
	struct task_struct *task;
	int err;

	if (!has_lower_tier())
		return -ENODEV;
	err = make_all();
	if (err)
		return err;
	task = kthread_run(kspromoted, NULL, "kspromoted");
	if (IS_ERR(task)) {
		drop_queues();
		return PTR_ERR(task);
	}
	WRITE_ONCE(ks_promoter, task);
	ks_pages_follow(&follower);
	err = ksamplingd_register(&consumer);
	if (err)
		end_thread();
	return err;
}

/* ----------------------------------- Knobs ----------------------------------- */

static int promote(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		   loff_t *ppos)
{
	u32 before, on = !!READ_ONCE(ks_promoter);
	const struct ctl_table copy = {
		.data = &on, .maxlen = sizeof(on),
		.extra1 = table->extra1, .extra2 = table->extra2,
	};
	int err;

	if (!write)
		return proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (!perfmon_capable())
		return -EPERM;

	guard(mutex)(&ks_control);
	before = !!ks_promoter;
	on = before;
	err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (err || on == before)
		return err;
	if (on)
		return start();
	stop();
	return 0;
}

static int change_rate(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		       loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, NULL, NULL);
}

/* An empty list means all nodes of lower tiers. Registering anew offers all hot pages again. */
static int set_nodes(unsigned long *list)
{
	bool named = !bitmap_empty(list, MAX_NUMNODES);
	int err;

	if (!bitmap_subset(list, nodes_addr(node_possible_map), MAX_NUMNODES))
		return -EINVAL;
	if (named == knobs.nodes_named &&
	    (!named || bitmap_equal(list, nodes_addr(knobs.nodes), MAX_NUMNODES)))
		return 0;
	if (ks_promoter)
		ksamplingd_unregister(&consumer);
	if (named)
		bitmap_copy(nodes_addr(knobs.nodes), list, MAX_NUMNODES);
	WRITE_ONCE(knobs.nodes_named, named);
	if (!ks_promoter)
		return 0;
	err = ksamplingd_register(&consumer);
	/* All slots are taken by now. */
	if (err)
		end_thread();
	return err;
}

static int change_nodes(const struct ctl_table *table, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	nodemask_t list = NODE_MASK_NONE;
	int nid;

	if (write && !perfmon_capable())
		return -EPERM;

	guard(mutex)(&ks_control);
	if (knobs.nodes_named)
		list = knobs.nodes;
	else
		for_each_node_state(nid, N_MEMORY)
			if (is_source(nid))
				node_set(nid, list);
	return ks_sysctl_list(table, write, buffer, lenp, ppos, nodes_addr(list), set_nodes);
}

static const unsigned int most_mb_per_s = 100000;

static const struct ctl_table ks_promote_sysctls[] = {
	{
		.procname = "promote",
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = promote,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "promote_mb_per_s",
		.data = &knobs.mb_per_s,
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = change_rate,
		.extra1 = SYSCTL_ONE,
		.extra2 = (void *)&most_mb_per_s,
	}, {
		.procname = "promote_nodes",
		.maxlen = MAX_NUMNODES,
		.mode = 0644,
		.proc_handler = change_nodes,
	},
};

/* ------------------------------------ View ------------------------------------ */

static int promotion_show(struct seq_file *m, void *unused)
{
	struct ks_promote_counts counts;
	unsigned long queued = 0;
	int nid, why;

	spin_lock(&ks_lock);
	counts = ks_promoted;
	for (nid = 0; ks_queues && nid < nr_node_ids; nid++)
		queued += ks_queues[nid].pages;
	spin_unlock(&ks_lock);

	seq_printf(m, "promote %d\n", !!READ_ONCE(ks_promoter));
	seq_printf(m, "promote_kb_per_s_now %u\n",
		   (READ_ONCE(knobs.mb_per_s) * SZ_1K) >> READ_ONCE(ks_returns.shift));
	seq_printf(m, "returned_permille %u\n", READ_ONCE(ks_returns.permille));
	seq_printf(m, "returned %ld\n", atomic_long_read(&ks_returned));
	seq_printf(m, "past_bytes %lu\n", ks_past_bytes());
	seq_printf(m, "told %llu\n", counts.told);
	seq_printf(m, "promoted %llu\n", counts.promoted);
	seq_printf(m, "queued %lu\n", queued);
	seq_printf(m, "dropped %llu\n", counts.dropped);
	for (why = KS_GONE; why < KS_NR_FAILURES; why++)
		seq_printf(m, "failed_%s %llu\n", reasons[why], counts.failed[why]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(promotion);

static int __init ks_promote_init(void)
{
	struct dentry *dir = debugfs_lookup("ksamplingd", NULL);

	register_sysctl_init("vm/ksamplingd", ks_promote_sysctls);
	/* The directory exists unless debugfs does not. */
	if (!IS_ERR_OR_NULL(dir)) {
		debugfs_create_file("promotion", 0400, dir, NULL, &promotion_fops);
		dput(dir);
	}
	return 0;
}
late_initcall(ks_promote_init);
