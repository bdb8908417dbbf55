// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: may a hot page be promoted, and where to? See promote.c.
 *
 * A page has to be hot still, in place, on an LRU list, neither pinned nor in other use, and
 * each process that maps it has to allow the target node.
 *
 * Locking: called by the thread alone. It takes the lock of the folio and those of its
 * mappings with trylock only: their holders may wait for what the thread has isolated.
 */
#include <linux/cleanup.h>
#include <linux/cpuset.h>
#include <linux/memcontrol.h>
#include <linux/memory-tiers.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/rmap.h>
#include <linux/sched/task.h>
#include <linux/swap.h>
/* Needs mm.h. */
#include <linux/compaction.h>

#include "../internal.h"
#include "../page_alloc.h"
#include "pages.h"
#include "promote.h"

#define MOST_USERS	8		/* maximum mappings of a promoted page */
#define UNLISTED_TRIES	2		/* tries before per-CPU lists are drained */

/**
 * ks_promote_is_source - are hot pages of a node to be promoted?
 * @nid: the node
 *
 * Context: any.
 * Return: true if so.
 */
bool ks_promote_is_source(int nid)
{
	return !node_is_toptier(nid) &&
	       (!READ_ONCE(ks_promote_knobs.nodes_named) ||
		node_isset(nid, ks_promote_knobs.nodes));
}

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
static enum ks_failure why_not_lru(struct ks_item *item)
{
	struct folio *folio = item->folio;

	if (folio_test_slab(folio) || page_has_type(&folio->page) ||
	    !READ_ONCE(folio->mapping) || page_has_movable_ops(&folio->page))
		return KS_SPECIAL;
	/* A page on its way to a list is there sooner. */
	item->unlisted = item->c->tries >= UNLISTED_TRIES;
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

static enum ks_failure look_at_folio(struct ks_item *item)
{
	const struct ks_candidate *c = item->c;
	struct folio *folio = item->folio;

	if (folio_nid(folio) != item->nid)
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
		return why_not_lru(item);
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

/**
 * ks_promote_prepare - isolate a folio if it can be promoted now
 * @item:	of a candidate; has @c and @nid, and gets the rest
 * @more_pages: that are isolated for the same batch, base pages
 *
 * If the target has no room, kswapd or kcompactd is woken up to make some.
 *
 * Context: the promotion thread.
 * Return: KS_NO_FAILURE with the folio isolated, or why it cannot be promoted.
 */
enum ks_failure ks_promote_prepare(struct ks_item *item, u32 more_pages)
{
	const struct ks_candidate *c = item->c;
	enum ks_failure why;

	item->heat = ks_pages_hot_heat(c->pfn, c->order);
	item->target = target_of(item->nid, c->from_nid);
	item->folio = ks_pages_folio(c->pfn);
	/* A split or a migration in progress lets nobody else get a reference. */
	if (!item->folio)
		return item->heat ? KS_BUSY : KS_GONE;

	why = item->heat ? look_at_folio(item) : KS_COLD;
	if (!why && !ks_promote_is_source(item->nid))
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
