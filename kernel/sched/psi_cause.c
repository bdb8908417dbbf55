// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: why tasks are stalled on memory, and for how long.
 *
 * A section has a cause, named by the code that begins it. For each cause a group
 * shows how many sections there were, how long they took all together, and how long
 * the longest one took, in the group and all groups below it. This is time of tasks:
 * two that are stalled for a second are two seconds, whatever their CPUs do.
 *
 * What a section costs does not depend on the depth of the group: begin and end are
 * written down in the task's own group only, and nothing is done at a context switch.
 * Who reads folds what is there into the group, and hands it on to the group above,
 * from the leaves up to the group that is read:
 *
 *	section -> shard of its group -> shown there
 *				      -> group above -> shown there, ...
 *
 * So nothing is added up twice, nothing is lost when a group is removed, and whoever
 * reads visits the groups below, and of these only does something for those in which
 * something has happened. cgroup_rstat is like that, but it would fold the statistics
 * of all controllers as well, one CPU after the other, with one lock for all readers.
 *
 * A section that lasts is in the total as it goes on. For that, its begin is
 * subtracted when it begins, and its end added when it ends; in between, the time of
 * the fold stands for the end.
 *
 * A shard is for 8 CPUs, because there are many groups and few that stall on many
 * CPUs at the same time: 64 bytes a CPU, where a node has 128. They are allocated
 * with the group, since where a stall begins nothing can be.
 *
 * The first half is pure: it knows no tasks, and is told the time. That is the
 * clock of a CPU where a section begins and ends, and local_clock() in a fold. Clocks
 * of two CPUs may differ a little; a section ends no earlier than it has begun, and a fold
 * that would have to take something back leaves it for the next one. So no number ever
 * decreases.
 *
 * Locking: psi_cause_shard::lock is a leaf, taken under a rq lock. It is never held for
 * longer than it takes to look at all causes once, and those who read take one that
 * belongs to CPUs only if something has happened there. psi_causes::below_lock is another
 * one, not taken by the scheduler. psi_causes::lock (may sleep) is held for one group at a
 * time, until what was folded is handed on to the group above, so that a reader of that
 * one finds it. Nobody who has cgroup_mutex waits for it: readers may be slow.
 * psi_task::cause is written by the task itself, all that goes with it under the lock of
 * its runqueue.
 */
#include <linux/build_bug.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_hooks.h"

#define CREATE_TRACE_POINTS
#include <trace/events/psi.h>

static const char * const psi_cause_names[] = {
	[PSI_CAUSE_DIRECT_RECLAIM]	= "direct_reclaim",
	[PSI_CAUSE_DIRECT_COMPACTION]	= "direct_compaction",
	[PSI_CAUSE_NODE_RECLAIM]	= "node_reclaim",
	[PSI_CAUSE_MEMCG_MAX]		= "memcg_max",
	[PSI_CAUSE_MEMCG_HIGH]		= "memcg_high",
	[PSI_CAUSE_THRASHING]		= "thrashing",
	[PSI_CAUSE_READBACK]		= "readback",
	[PSI_CAUSE_SWAPIN]		= "swapin",
	[PSI_CAUSE_BLKCG_THROTTLE]	= "blkcg_throttle",
	[PSI_CAUSE_OTHER]		= "other",
	[PSI_CAUSE_BACKGROUND_KSWAPD]	= "background_kswapd",
	[PSI_CAUSE_BACKGROUND_KCOMPACTD] = "background_kcompactd",
	[PSI_CAUSE_REQUESTED_RECLAIM]	= "requested_reclaim",
};

/* ------------------------------ Sections ------------------------------ */

static struct psi_cause_open *open_of(struct psi_cause_shard *shard, enum psi_cause cause)
{
	return &shard->open[cause - 1];
}

static __always_inline void write_begin(struct psi_cause_shard *shard, enum psi_cause cause,
					u64 now)
{
	struct psi_cause_open *open = open_of(shard, cause);

	raw_spin_lock(&shard->lock);
	open->active++;
	open->total -= now;
	WRITE_ONCE(shard->pending, true);
	raw_spin_unlock(&shard->lock);
}

/* Return: how long it was, ns. */
static __always_inline u64 write_end(struct psi_cause_shard *shard, enum psi_cause cause,
				     u64 begun, u64 now)
{
	struct psi_cause_open *open = open_of(shard, cause);
	u64 ns;

	now = max(now, begun);
	ns = now - begun;

	raw_spin_lock(&shard->lock);
	open->active--;
	open->count++;
	open->total += now;
	if (unlikely(ns > open->max))
		open->max = ns;
	WRITE_ONCE(shard->pending, true);
	raw_spin_unlock(&shard->lock);

	return ns;
}

/* ------------------------------ The fold ------------------------------ */

static void sum_add(struct psi_cause_sum *sum, const struct psi_cause_sum *more)
{
	sum->count += more->count;
	sum->total += more->total;
	sum->max = max(sum->max, more->max);
}

/* What has come up until @now; from here on that is where it begins. */
static void take_open(struct psi_cause_open *open, u64 now, struct psi_cause_sum *sum)
{
	u64 lasting = open->active * now;
	s64 grown = open->total + lasting;
	struct psi_cause_sum more = { .count = open->count, .max = open->max };

	open->count = 0;
	open->max = 0;
	if (grown > 0) {
		more.total = grown;
		open->total = -lasting;
	}
	sum_add(sum, &more);
}

static void take_shard(struct psi_cause_shard *shard, u64 (*clock)(void),
		       struct psi_cause_sum sums[])
{
	unsigned long flags;
	bool lasts = false;
	u64 now;
	int c;

	raw_spin_lock_irqsave(&shard->lock, flags);
	/* Not before: it would be older than sections that have begun since. */
	now = clock();
	for (c = 0; c < PSI_NR_CAUSES; c++) {
		take_open(&shard->open[c], now, &sums[c]);
		lasts |= shard->open[c].active;
	}
	/* Pairs with psi_causes_are_pending(): who sees this sees that we have the mutex. */
	smp_store_release(&shard->pending, lasts);
	raw_spin_unlock_irqrestore(&shard->lock, flags);
}

static void take_below(struct psi_causes *causes, struct psi_cause_sum sums[])
{
	int c;

	spin_lock(&causes->below_lock);
	for (c = 0; c < PSI_NR_CAUSES; c++)
		sum_add(&sums[c], &causes->below[c]);
	memset(causes->below, 0, sizeof(causes->below));
	smp_store_release(&causes->below_pending, false);	/* as in take_shard() */
	spin_unlock(&causes->below_lock);
}

/* Let a group have what was in one below it. */
static void give_above(struct psi_causes *above, const struct psi_cause_sum sums[])
{
	int c;

	if (!above)
		return;

	spin_lock(&above->below_lock);
	for (c = 0; c < PSI_NR_CAUSES; c++)
		sum_add(&above->below[c], &sums[c]);
	WRITE_ONCE(above->below_pending, true);
	spin_unlock(&above->below_lock);
}

/**
 * psi_causes_init - no section yet
 * @causes:    of a group that is switched on
 * @shards:    zeroed
 * @nr_shards: how many
 * @above:     of the group above, which stays at least as long, or NULL
 */
void psi_causes_init(struct psi_causes *causes, struct psi_cause_shard *shards,
		     unsigned int nr_shards, struct psi_causes *above)
{
	unsigned int i;

	memset(causes, 0, sizeof(*causes));
	for (i = 0; i < nr_shards; i++)
		raw_spin_lock_init(&shards[i].lock);
	causes->shards = shards;
	causes->nr_shards = nr_shards;
	causes->above = above;
	spin_lock_init(&causes->below_lock);
	mutex_init(&causes->lock);
	causes->on = true;
}

static bool is_pending(const struct psi_causes *causes)
{
	unsigned int i;

	for (i = 0; i < causes->nr_shards; i++)
		if (READ_ONCE(causes->shards[i].pending))
			return true;
	return READ_ONCE(causes->below_pending);
}

/**
 * psi_causes_are_pending - is there something to fold?
 * @causes: of a group
 *
 * Context: any.
 * Return: false if what can be shown of all that has happened is in @shown, and handed on
 * to the group above.
 */
bool psi_causes_are_pending(struct psi_causes *causes)
{
	if (is_pending(causes))
		return true;

	/* Whoever has just taken it has the mutex until he has handed it on. */
	smp_rmb();
	if (mutex_is_locked(&causes->lock))
		return true;

	/* What he has handed on is seen by who looks at the group above next. */
	smp_acquire__after_ctrl_dep();
	return false;
}

static void take_all(struct psi_causes *causes, u64 (*clock)(void), struct psi_cause_sum sums[])
{
	unsigned int i;

	for (i = 0; i < causes->nr_shards; i++)
		if (READ_ONCE(causes->shards[i].pending))
			take_shard(&causes->shards[i], clock, sums);
	if (READ_ONCE(causes->below_pending))
		take_below(causes, sums);
}

static void fold_locked(struct psi_causes *causes, u64 (*clock)(void))
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	int c;

	lockdep_assert_held(&causes->lock);

	take_all(causes, clock, sums);
	for (c = 0; READ_ONCE(causes->on) && c < PSI_NR_CAUSES; c++)
		sum_add(&causes->shown[c], &sums[c]);
	give_above(causes->above, sums);
}

/**
 * psi_causes_fold - show what has happened in a group, and tell the one above
 * @causes: of the group; those below it were folded before
 * @clock:  the time, ns; called with interrupts off
 *
 * A group that is switched off shows nothing of it, and hands it on all the same.
 *
 * Context: may sleep.
 */
void psi_causes_fold(struct psi_causes *causes, u64 (*clock)(void))
{
	guard(mutex)(&causes->lock);

	if (is_pending(causes))
		fold_locked(causes, clock);
}

/**
 * psi_causes_drain - tell the group above what has happened in one that nobody reads
 * @causes: of the group
 * @clock:  the time, ns; called with interrupts off
 *
 * Does not wait for whoever still reads. If there is one, a reader of the group above may
 * for a moment not find what we hand on.
 *
 * Context: any, but not in interrupts.
 */
void psi_causes_drain(struct psi_causes *causes, u64 (*clock)(void))
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };

	if (!is_pending(causes))
		return;
	if (mutex_trylock(&causes->lock)) {
		fold_locked(causes, clock);
		mutex_unlock(&causes->lock);
		return;
	}

	take_all(causes, clock, sums);
	give_above(causes->above, sums);
}

/**
 * psi_causes_switch - show what happens from now on, or nothing of it
 * @causes: of a group; those below it were folded before
 * @on:     the former
 * @clock:  the time, ns; called with interrupts off
 *
 * Does not wait for whoever reads; it is not more exact than his reading then.
 *
 * Context: any, but not in interrupts; nobody else switches.
 */
void psi_causes_switch(struct psi_causes *causes, bool on, u64 (*clock)(void))
{
	if (mutex_trylock(&causes->lock)) {
		fold_locked(causes, clock);
		mutex_unlock(&causes->lock);
	}
	WRITE_ONCE(causes->on, on);
}

/* ------------------------------- Tasks ------------------------------- */

/* Out of the way, with all that they have to look up. */
static noinline void tell_of_begin(const struct task_struct *p)
{
	trace_psi_stall_begin(p->psi.group->id, p->pid, psi_cause_names[p->psi.cause]);
}

static noinline void tell_of_end(const struct task_struct *p, enum psi_cause cause, u64 ns)
{
	trace_psi_stall_end(p->psi.group->id, p->pid, psi_cause_names[cause], ns);
}

/* In the group and shard that @p is in now. */
static __always_inline void begin_here(struct task_struct *p, unsigned int cpu, u64 now)
{
	struct psi_cause_shard *shard =
		&p->psi.group->causes.shards[cpu / PSI_CPUS_PER_SHARD];

	p->psi.cause_begun = now;
	p->psi.cause_shard = shard;
	write_begin(shard, p->psi.cause, now);
	if (trace_psi_stall_begin_enabled())
		tell_of_begin(p);
}

static __always_inline void end_here(struct task_struct *p, u64 now)
{
	enum psi_cause cause = p->psi.cause;
	u64 ns = write_end(p->psi.cause_shard, cause, p->psi.cause_begun, now);

	if (trace_psi_stall_end_enabled())
		tell_of_end(p, cause, ns);
}

/**
 * psi_cause_begin - a section of a task begins
 * @p:     the task, in no section; the current one
 * @cause: why, not PSI_CAUSE_NONE
 * @cpu:   the CPU of the runqueue that it belongs to
 * @now:   clock of that, ns
 *
 * Context: rq lock held.
 */
void psi_cause_begin(struct task_struct *p, enum psi_cause cause, unsigned int cpu, u64 now)
{
	p->psi.cause = cause;
	if (likely(!(p->psi.flags & PSI_TASK_EXEMPT)))
		begin_here(p, cpu, now);
}

/**
 * psi_cause_resume - write down the section that a task is in, as if it began here
 * @p:   the task, in a section of which nothing is written down
 * @cpu: the CPU of the runqueue that it belongs to
 * @now: clock of that, ns
 *
 * Context: rq lock held.
 */
void psi_cause_resume(struct task_struct *p, unsigned int cpu, u64 now)
{
	begin_here(p, cpu, now);
}

/**
 * psi_cause_suspend - write down the section that a task is in, as if it ended here
 * @p:   the task, in a section that is written down
 * @now: clock of its runqueue, ns
 *
 * Context: rq lock held.
 */
void psi_cause_suspend(struct task_struct *p, u64 now)
{
	end_here(p, now);
	p->psi.cause_shard = NULL;
}

/**
 * psi_cause_end - the section that a task is in ends
 * @p:   the task, in the group in which that began; the current one, or dead
 * @now: clock of its runqueue, ns
 *
 * Context: rq lock held.
 */
void psi_cause_end(struct task_struct *p, u64 now)
{
	if (likely(p->psi.cause_shard))
		psi_cause_suspend(p, now);
	p->psi.cause = PSI_CAUSE_NONE;
}

/**
 * psi_cause_move - a task takes the section that it is in to another group
 * @p:     the task, in a section that is written down
 * @group: the other one
 * @cpu:   the CPU of the runqueue that it belongs to
 * @now:   clock of that, ns
 *
 * To the task itself, which may be running, and looks without a lock, it stays in it.
 *
 * Context: rq lock held.
 */
void psi_cause_move(struct task_struct *p, struct psi_group *group, unsigned int cpu, u64 now)
{
	end_here(p, now);
	p->psi.group = group;
	begin_here(p, cpu, now);
}

#if IS_ENABLED(CONFIG_PSI_KUNIT_TEST)

/* For tests of sections without tasks; interrupts are off. */
void psi_cause_test_begin(struct psi_cause_shard *shard, enum psi_cause cause, u64 now)
{
	write_begin(shard, cause, now);
}

u64 psi_cause_test_end(struct psi_cause_shard *shard, enum psi_cause cause, u64 begun, u64 now)
{
	return write_end(shard, cause, begun, now);
}

#endif /* CONFIG_PSI_KUNIT_TEST */

/* ------------------------------- Groups ------------------------------- */

/**
 * psi_cause_nr_shards - how many shards a group has
 *
 * Return: so many that there is one for each CPU.
 */
unsigned int psi_cause_nr_shards(void)
{
	return DIV_ROUND_UP(nr_cpu_ids, PSI_CPUS_PER_SHARD);
}

/**
 * psi_cause_shards_alloc - shards for a group
 * @gfp: how to allocate
 *
 * Return: psi_cause_nr_shards() of them, for kvfree(), or NULL.
 */
struct psi_cause_shard *psi_cause_shards_alloc(gfp_t gfp)
{
	return kvcalloc(psi_cause_nr_shards(), sizeof(struct psi_cause_shard), gfp);
}

/* ------------------------------ The file ------------------------------ */

/**
 * psi_gather_causes - one group's part of bringing totals up to date
 * @group: the group; those below it come first
 *
 * Context: may sleep.
 */
void psi_gather_causes(struct psi_group *group)
{
	psi_causes_fold(&group->causes, local_clock);
}

/**
 * psi_show_memory_causes - print the causes of memory stalls
 * @m:     where to
 * @group: whose; its totals are up to date
 *
 * Context: may sleep.
 */
void psi_show_memory_causes(struct seq_file *m, struct psi_group *group)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES];
	int c;

	BUILD_BUG_ON(ARRAY_SIZE(psi_cause_names) != PSI_NR_CAUSES + 1);

	scoped_guard(mutex, &group->causes.lock)
		memcpy(sums, group->causes.shown, sizeof(sums));

	for (c = 0; c < PSI_NR_CAUSES; c++)
		seq_printf(m, "memory.%s count=%llu total=%llu max=%llu\n",
			   psi_cause_names[c + 1], sums[c].count,
			   div_u64(sums[c].total, NSEC_PER_USEC),
			   div_u64(sums[c].max, NSEC_PER_USEC));
}
