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
 * Pages that are demoted again soon are remembered, see promote_past.c. What a page is
 * checked for is in promote_check.c, the knobs are in promote_knobs.c.
 *
 * Locking: the mutex of promote_knobs.c (it may sleep) serializes start and stop. ks_lock (a
 * spinlock) protects the queues and counters and is held for nothing else. The batch and
 * the rate belong to the thread.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/ksamplingd.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/memory-tiers.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/vmstat.h>
#include <linux/wait.h>

#include "../internal.h"
#include "internal.h"
#include "pages.h"
#include "promote.h"
#include "promote_past.h"

#define CREATE_TRACE_POINTS
#include <trace/events/ksamplingd_promote.h>

#define BATCH_PAGES	512		/* base pages; a huge page may exceed it */
#define DRAIN_S		10		/* at least, between two drains */
#define NAP_MS		10		/* sleep when nothing can be done now */

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

	if (!ks_promote_is_source(page->nid))
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
		why = ks_promote_prepare(item, b->pages);
		if (item->unlisted)
			ks_saw_unlisted = true;
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

	ks_rate_fill(&ks_rate, READ_ONCE(ks_promote_knobs.mb_per_s), ks_returns.shift,
		     ktime_get_ns());
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
		if (ks_queues[nid].slots || !ks_promote_is_source(nid))
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

/**
 * ks_promote_stop - switch promotion off; it is on
 *
 * Context: under the mutex of the knobs.
 */
void ks_promote_stop(void)
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

/**
 * ks_promote_start - switch promotion on; it is off
 *
 * Context: under the mutex of the knobs. May sleep.
 * Return: 0, -ENODEV if all memory is of one tier, -ENOMEM, or what kthread_run() returns.
 */
int ks_promote_start(void)
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

/**
 * ks_promote_is_on - is promotion switched on?
 *
 * Context: any; it may change unless under the mutex of the knobs.
 * Return: true if so.
 */
bool ks_promote_is_on(void)
{
	return READ_ONCE(ks_promoter);
}

/**
 * ks_promote_pause - no page is queued until ks_promote_resume(); promotion is on
 *
 * Context: under the mutex of the knobs. May sleep.
 */
void ks_promote_pause(void)
{
	ksamplingd_unregister(&consumer);
}

/**
 * ks_promote_resume - begin again after ks_promote_pause(), with all pages that are hot
 *
 * Context: under the mutex of the knobs. May sleep.
 * Return: 0, or -EBUSY with promotion switched off: other consumers have taken all places.
 */
int ks_promote_resume(void)
{
	int err = ksamplingd_register(&consumer);

	if (err)
		end_thread();
	return err;
}

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

	seq_printf(m, "promote %d\n", ks_promote_is_on());
	seq_printf(m, "promote_kb_per_s_now %u\n",
		   (READ_ONCE(ks_promote_knobs.mb_per_s) * SZ_1K) >> READ_ONCE(ks_returns.shift));
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

static int __init ks_promote_view_init(void)
{
	struct dentry *dir = debugfs_lookup("ksamplingd", NULL);

	/* The directory exists unless debugfs does not. */
	if (!IS_ERR_OR_NULL(dir)) {
		debugfs_create_file("promotion", 0400, dir, NULL, &promotion_fops);
		dput(dir);
	}
	return 0;
}
late_initcall(ks_promote_view_init);
