// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: why tasks are stalled on memory, and for how long.
 *
 * A section has a cause, named by the code that begins it. For each cause a group shows
 * the number of sections, their time in all, and the longest one, in the group and all
 * its descendants. This is time of tasks: two that are stalled for a second are two
 * seconds, whatever their CPUs do.
 *
 * What a section costs does not depend on the depth of the group: its begin and end are
 * written down in the task's own group, and nothing is done at a context switch. A reader
 * adds up its group and all below it, those above first. A group that is removed hands what
 * it has to the group above. That goes up while the reader goes down, so it may be missed
 * until the next reading, but is never found twice. No reader shows less than an earlier
 * one. cgroup_rstat would flush the statistics of all controllers as well.
 *
 * A section that lasts is in the total as it goes on. For that, its begin is
 * subtracted when it begins, and its end added when it ends; in between, the time of
 * the reading stands for the end.
 *
 * A shard serves 16 CPUs, because there are many groups, of which few stall on many CPUs
 * at once: 28 bytes a CPU, where a node has 128. Shards are allocated with the group, as
 * nothing can be allocated where a stall begins.
 *
 * All but the end of this file is pure: it knows no tasks, and is told the time. That is the
 * clock of a CPU where a section begins and ends (psi_hooks.c has that), and local_clock()
 * for a reader. Clocks of two CPUs may differ a little; a section ends no earlier than it has
 * begun.
 *
 * Locking: psi_cause_shard::lock is for writers, and a leaf, taken under a rq lock.
 * Readers go by psi_cause_shard::seq, so that they hold up neither sections nor each
 * other. psi_causes::lock is for what is shown; nothing is taken under it.
 * psi_causes_hide() and handing over at rmdir are under cgroup_mutex. psi_task::cause is
 * written by the task itself, all that goes with it under the lock of its runqueue.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "psi_avgs.h"
#include "psi_cause.h"

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

/* ----------------------------- Adding up ----------------------------- */

/* What there is of a cause at the time @now. */
static struct psi_cause_sum sum_at(const struct psi_cause_open *open, u64 now)
{
	return (struct psi_cause_sum) {
		.count = open->count,
		.total = open->total + open->active * now,
		.max = open->max,
	};
}

static void sum_add(struct psi_cause_sum *sum, struct psi_cause_sum more)
{
	sum->count += more.count;
	sum->total += more.total;
	sum->max = max(sum->max, more.max);
}

/**
 * psi_causes_init - initialise the causes of a group
 * @causes:    of the group, zeroed
 * @shards:    zeroed
 * @nr_shards: how many
 * @above:     of the group above, which stays at least as long, or NULL
 */
void psi_causes_init(struct psi_causes *causes, struct psi_cause_shard *shards,
		     unsigned int nr_shards, struct psi_causes *above)
{
	unsigned int i;

	for (i = 0; i < nr_shards; i++) {
		raw_spin_lock_init(&shards[i].lock);
		seqcount_raw_spinlock_init(&shards[i].seq, &shards[i].lock);
	}
	causes->shards = shards;
	causes->nr_shards = nr_shards;
	causes->above = above;
	raw_spin_lock_init(&causes->lock);
}

static void add_shard(struct psi_cause_shard *shard, u64 (*clock)(void),
		      struct psi_cause_sum sums[])
{
	struct psi_cause_sum seen[PSI_NR_CAUSES];
	unsigned int seq;
	u64 now;
	int c;

	do {
		seq = read_seqcount_begin(&shard->seq);
		/* Not before: it would be older than sections that have begun since. */
		now = clock();
		for (c = 0; c < PSI_NR_CAUSES; c++)
			seen[c] = sum_at(&shard->open[c], now);
	} while (read_seqcount_retry(&shard->seq, seq));

	for (c = 0; c < PSI_NR_CAUSES; c++)
		sum_add(&sums[c], seen[c]);
}

/**
 * psi_causes_add - add up what there is in one group
 * @causes: of the group; those above it were added before
 * @clock:  the time, ns
 * @sums:   PSI_NR_CAUSES of them, to which it is added
 *
 * Context: any.
 */
void psi_causes_add(struct psi_causes *causes, u64 (*clock)(void), struct psi_cause_sum sums[])
{
	unsigned int i;

	for (i = 0; i < causes->nr_shards; i++)
		if (READ_ONCE(causes->shards[i].used))
			add_shard(&causes->shards[i], clock, sums);
}

/* Leaves what still lasts, as if it began now. */
static void take_shard(struct psi_cause_shard *shard, u64 (*clock)(void),
		       struct psi_cause_sum sums[])
{
	struct psi_cause_open *open;
	unsigned long flags;
	bool lasts = false;
	u64 now;
	int c;

	raw_spin_lock_irqsave(&shard->lock, flags);
	write_seqcount_begin(&shard->seq);
	now = clock();
	for (c = 0; c < PSI_NR_CAUSES; c++) {
		open = &shard->open[c];
		sum_add(&sums[c], sum_at(open, now));
		*open = (struct psi_cause_open) {
			.total = -(open->active * now),
			.active = open->active,
		};
		lasts |= open->active;
	}
	WRITE_ONCE(shard->used, lasts);
	write_seqcount_end(&shard->seq);
	raw_spin_unlock_irqrestore(&shard->lock, flags);
}

/**
 * psi_causes_hand_over - the group above has it from now on
 * @causes: of a group that is being removed
 * @clock:  the time, ns
 *
 * Context: any.
 */
void psi_causes_hand_over(struct psi_causes *causes, u64 (*clock)(void))
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct psi_cause_shard *above = causes->above->shards;
	unsigned long flags;
	bool used = false;
	unsigned int i;
	int c;

	for (i = 0; i < causes->nr_shards; i++) {
		if (!READ_ONCE(causes->shards[i].used))
			continue;
		take_shard(&causes->shards[i], clock, sums);
		used = true;
	}
	if (!used)
		return;

	raw_spin_lock_irqsave(&above->lock, flags);
	write_seqcount_begin(&above->seq);
	for (c = 0; c < PSI_NR_CAUSES; c++) {
		above->open[c].count += sums[c].count;
		above->open[c].total += sums[c].total;
		above->open[c].max = max(above->open[c].max, sums[c].max);
	}
	WRITE_ONCE(above->used, true);
	write_seqcount_end(&above->seq);
	raw_spin_unlock_irqrestore(&above->lock, flags);
}

/* As far as it is more: a sum may be older than what is shown, or miss something. */
static void grow(u64 *what, u64 to)
{
	if ((s64)(to - *what) > 0)
		*what = to;
}

/**
 * psi_causes_show - what a group shows
 * @causes: of a group that is switched on
 * @sums:   of it and all groups below; what it shows is returned here
 *
 * Context: any, but not in interrupts.
 */
void psi_causes_show(struct psi_causes *causes, struct psi_cause_sum sums[])
{
	struct psi_cause_sum *shown = causes->shown;
	int c;

	raw_spin_lock(&causes->lock);
	for (c = 0; c < PSI_NR_CAUSES; c++) {
		grow(&shown[c].count, sums[c].count - causes->hidden[c].count);
		grow(&shown[c].total, sums[c].total - causes->hidden[c].total);
		grow(&shown[c].max, sums[c].max);
		sums[c] = shown[c];
	}
	raw_spin_unlock(&causes->lock);
}

/**
 * psi_causes_hide - a group is switched on again, and shows nothing of what came since it was off
 * @causes: of the group; psi_causes_show() when it was switched off
 * @sums:   of it and all groups below, just now
 *
 * The longest section is that of all times.
 *
 * Context: any, but not in interrupts.
 */
void psi_causes_hide(struct psi_causes *causes, const struct psi_cause_sum sums[])
{
	int c;

	raw_spin_lock(&causes->lock);
	for (c = 0; c < PSI_NR_CAUSES; c++) {
		grow(&causes->hidden[c].count, sums[c].count - causes->shown[c].count);
		grow(&causes->hidden[c].total, sums[c].total - causes->shown[c].total);
	}
	raw_spin_unlock(&causes->lock);
}

/* ------------------------------ Trace events ------------------------------ */

/* Out of line, with all that they have to look up. */
void psi_cause_trace_begin(const struct task_struct *p)
{
	trace_psi_stall_begin(p->psi.group->id, p->pid, psi_cause_names[p->psi.cause]);
}

void psi_cause_trace_end(const struct task_struct *p, u64 ns)
{
	trace_psi_stall_end(p->psi.group->id, p->pid, psi_cause_names[p->psi.cause], ns);
}

/* ------------------------------ Groups and files ------------------------------ */

/**
 * psi_cause_nr_shards - number of shards of a group
 *
 * Return: enough for all CPUs.
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

/**
 * psi_show_memory_causes - print the causes of memory stalls
 * @m:     where to
 * @sums:  PSI_NR_CAUSES of them
 *
 * Context: may sleep.
 */
void psi_show_memory_causes(struct seq_file *m, const struct psi_cause_sum sums[])
{
	int c;

	BUILD_BUG_ON(ARRAY_SIZE(psi_cause_names) != PSI_NR_CAUSES + 1);

	for (c = 0; c < PSI_NR_CAUSES; c++)
		seq_printf(m, "memory.%s count=%llu total=%llu max=%llu\n",
			   psi_cause_names[c + 1], sums[c].count,
			   div_u64(sums[c].total, NSEC_PER_USEC),
			   div_u64(sums[c].max, NSEC_PER_USEC));
}
