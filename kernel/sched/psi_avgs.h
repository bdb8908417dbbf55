/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the CPUs of a group to its totals and averages. See psi_avgs.c.
 */
#ifndef _KERNEL_SCHED_PSI_AVGS_H
#define _KERNEL_SCHED_PSI_AVGS_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/cpumask_types.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/psi_types.h>
#include <linux/seqlock_types.h>
#include <linux/spinlock_types.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "psi_cause.h"
#include "psi_node.h"
#include "psi_trigger.h"

#define PSI_PERIOD_JIFFIES	(2 * HZ + 1)
#define PSI_PERIOD_NS		((u64)PSI_PERIOD_JIFFIES * TICK_NSEC)
#define PSI_NR_AVGS		3

/**
 * struct psi_sum - times of the CPUs, to be combined to one number
 * @time:     for each state, sum of times, units; with @weighted of time * weight
 * @weight:   sum of the times not idle, units
 * @longest:  the longest of those
 * @states:   mask of those that have grown on any CPU
 * @shift:    low bits that weights lack, so that the sums fit; with @weighted
 * @weighted: the usual sum, kernel.psi_interval_weights
 */
struct psi_sum {
	u64		time[PSI_NR_STATES];
	u64		weight;
	u32		longest;
	u16		states;
	u8		shift;
	bool		weighted;
};

/* Weight of one sample in struct psi_samples: large, so that fading loses little. */
#define PSI_SAMPLE_ONE		1024

/**
 * struct psi_samples - how many CPUs of a group, n, are not idle when it is sampled
 * @nr:      number of samples; older ones fade, by an eighth per period, as in all below
 * @busy:    samples that found any
 * @cpus:    sum of n
 * @squares: sum of n * n
 *
 * In PSI_SAMPLE_ONE.
 */
struct psi_samples {
	u64	nr;
	u64	busy;
	u64	cpus;
	u64	squares;
};

/**
 * struct psi_stall - one stall of a group
 * @total:    time folded so far, ns
 * @averaged: the part of @total that has gone into @avg, ns
 * @avg:      percent of the last 10, 60 and 300 s, fixed point (FSHIFT)
 */
struct psi_stall {
	u64		total;
	u64		averaged;
	unsigned long	avg[PSI_NR_AVGS];
};

/**
 * struct psi_fold - a group as of the last fold
 * @stall:    totals and averages
 * @quota_total: the part of PSI_CPU_SOME and PSI_CPU_FULL that is because of a cpu.max, ns
 * @at:       time of the fold, local_clock(), ns
 * @avgs_at:  when the totals last went into the averages, ns
 * @avgs_due: when they have to next, ns
 * @sum:      the CPUs folded so far, in the middle of a fold
 * @samples:  taken before the fold
 * @seen:     taken since; of no use if nothing has run
 * @stalled:  something has stalled in this period
 * @doubt:    how much of the growth of totals in this period depends on samples, ns
 * @sure:     it was at most PSI_DOUBT_NS in the last period with activity, as where nothing
 *	      has stalled, and is in this one
 * @periods_sampled: for how many periods it has been sampled; 2 stands for more as well
 * @is_system: the system's, which is never "full" of cpu
 */
struct psi_fold {
	struct psi_stall	stall[PSI_NR_STALLS];
	u64			quota_total[2];
	u64			at;
	u64			avgs_at;
	u64			avgs_due;
	struct psi_sum		sum;
	struct psi_samples	samples;
	struct psi_samples	seen;
	u64			doubt;
	bool			sure;
	bool			stalled;
	u8			periods_sampled;
	bool			is_system;
};

/*
 * Groups are sampled once in each PSI_SAMPLE_NS, or PSI_RARE_SAMPLE_NS; see
 * psi_sample_is_rare(). Samples make little difference if it is at most PSI_DOUBT_NS a period.
 */
#define PSI_SAMPLE_NS		(25 * NSEC_PER_MSEC)
#define PSI_RARE_SAMPLE_NS	(8 * PSI_SAMPLE_NS)
#define PSI_DOUBT_NS		(PSI_PERIOD_NS / 100)

/**
 * psi_sample_is_fold - is a group to be folded when it is sampled?
 * @fold:   as of its last fold
 * @cpus:   on how many CPUs it is active
 * @now:    local_clock(), ns
 * @offset: so that not all are at the same time, ns
 *
 * Return: true in its first two periods, then at the first of two samples: folds have to
 * cover little time, as triggers go by what is known so far. A fold visits all of @cpus, and
 * the more there are, the less one of them counts: at one of four samples with 16, of ten
 * with 64.
 */
static inline bool psi_sample_is_fold(const struct psi_fold *fold, unsigned int cpus, u64 now,
				      u64 offset)
{
	u64 step = (2 + cpus / 8) * PSI_SAMPLE_NS;

	return fold->periods_sampled < 2 ||
	       div64_u64(now + offset, step) != div64_u64(fold->at + offset, step);
}

/**
 * psi_sample_is_rare - is a group to be sampled once in PSI_RARE_SAMPLE_NS, and folded then?
 * @fold: as of its last fold
 *
 * Return: true if samples make little difference, or nearly all of them have found a CPU busy.
 */
static inline bool psi_sample_is_rare(const struct psi_fold *fold)
{
	const struct psi_samples *samples = &fold->samples;

	return fold->sure || (fold->periods_sampled == 2 &&
			      samples->nr - samples->busy < samples->nr / 128);
}

/**
 * struct psi_cpu_split - why tasks of a group wait for a CPU
 * @contention: for others; of PSI_CPU_SOME and PSI_CPU_FULL, ns
 * @quota:      because of a cpu.max; the same
 */
struct psi_cpu_split {
	u64		contention[2];
	u64		quota[2];
};

/**
 * struct psi_group - what is measured together: the system, or a cgroup
 * @nodes:    one per possible CPU; locking: see psi_node.h
 * @acct_group: where its tasks are counted: the group itself, or if it is switched off the
 *            nearest one above that is not, or NULL. Written under cgroup_mutex, read at any
 *            time.
 * @parent:   the group above, switched on or not; fixed
 * @monitors: its triggers, by psi_trigger.c's threads; see there
 * @active:   CPUs on which there may be something to fold. Set under a CPU's rq lock, cleared
 *            under that by the thread that folds.
 * @nr_active: how many; atomic
 * @queued:   the group is in psi_fold_pending or in a list of those to fold; atomic, see
 *            psi_group_activate()
 * @pending:  link of psi_fold_pending
 * @to_fold:  link of the list; psi_fold_lock
 * @stalled:  it has stalled in the last period, or does in this one
 * @sampled:  the group is in psi_sample_pending or in the list of those to sample; atomic,
 *            see psi_group_stalled()
 * @sample_pending: link of psi_sample_pending
 * @to_sample: link of the list; psi_fold_lock
 * @period:   the last one at whose end it was folded; the thread's, as the next one
 * @steady:   it was at the end of the one before as well
 * @seq:      odd while the thread changes @fold and psi_node::folded
 * @fold:     as of the last fold; the thread's
 * @shown_lock: for @shown and @shown_split
 * @shown:    totals that a reader has seen, ns
 * @shown_split: the same of why tasks wait for a CPU
 * @ns_files: open files of /proc/pressure that show it; see pressure_ns.c
 * @ns_ended: there may be none
 * @causes:   why its tasks are stalled on memory; see psi_cause.c
 * @id:       of the cgroup, as user space knows it; 1 is the system
 * @rcu:      to free it
 * @debug_link: of all groups, with CONFIG_PSI_DEBUG; see psi_debug.c
 */
struct psi_group {
	struct psi_node __percpu *nodes;
	struct psi_group	*acct_group;
	struct psi_group	*parent;

	struct cpumask		*active;
	atomic_t		nr_active;
	atomic_t		queued;
	struct llist_node	pending;
	struct list_head	to_fold;
	bool			stalled;
	atomic_t		sampled;
	struct llist_node	sample_pending;
	struct list_head	to_sample;
	u32			period;
	bool			steady;

	/* Above: what a wakeup reads, except for triggers. From here on: what folds write. */
	seqcount_t		seq ____cacheline_aligned_in_smp;
	struct psi_fold		fold;
	raw_spinlock_t		shown_lock;
	u64			shown[PSI_NR_STALLS];
	struct psi_cpu_split	shown_split;

	struct psi_monitors	monitors[PSI_NR_POLLERS];
	bool			ns_ended;
	struct hlist_head	ns_files;
	struct psi_causes	causes;
	u64			id;
	struct rcu_head		rcu;
#ifdef CONFIG_PSI_DEBUG
	struct list_head	debug_link;
#endif
};

/**
 * psi_first_stall - the stalls of a resource
 * @res: the resource
 *
 * Return: its "some", which its "full" follows; of PSI_IRQ its only one, "full".
 */
static inline enum psi_state psi_first_stall(enum psi_resource res)
{
	return res * 2;
}

/* pure */
void psi_sum_add(struct psi_sum *sum, const u32 times[], u16 states);
u64 psi_sum_busy(const struct psi_sum *sum, u64 span, const struct psi_samples *samples);
u64 psi_sum_ns(const struct psi_sum *sum, enum psi_state state, u64 busy);
void psi_avg_sample(unsigned long avg[], u64 missed, u64 stalled, u64 span);
void psi_fold_account(struct psi_fold *fold, u64 now, const u64 growth[]);
void psi_fold_growth(const struct psi_fold *fold, u64 now, u64 growth[]);
void psi_fold_sample(struct psi_fold *fold, u64 cpus);
void psi_fold_end(struct psi_fold *fold, u64 now);
void psi_fold_next(struct psi_fold *fold, bool sampled);
u64 psi_first_due(u64 now, u64 due);

/* groups; psi_group_activate() and _stalled() are for psi.c */
extern struct psi_group psi_system;
extern u64 psi_periods_begin;
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    struct cpumask *active, u64 now);
struct psi_group *psi_group_alloc(struct psi_group *parent);
void psi_group_free(struct psi_group *group);
void psi_fold_detach(struct psi_group *group);
void psi_group_activate(struct psi_group *group, int cpu);
void psi_group_stalled(struct psi_group *group);
void psi_group_read(struct psi_group *group, enum psi_resource res, struct psi_stall *readings);
void psi_group_read_split(struct psi_group *group, struct psi_cpu_split *split);
u64 psi_group_total(struct psi_group *group, enum psi_state stall, u64 *when);

/**
 * psi_group_is_on - is the group accounted?
 * @group: the group
 *
 * Return: true unless it is switched off.
 */
static inline bool psi_group_is_on(const struct psi_group *group)
{
	return READ_ONCE(group->acct_group) == group;
}

/**
 * struct psi_ns_file - whose pressure an open file of /proc/pressure shows
 * @listener: of the open file
 * @cgrp:     that cgroup, or NULL if it is the system
 * @link:     of psi_group::ns_files
 */
struct psi_ns_file {
	struct psi_listener	listener;
	struct cgroup		*cgrp;
	struct hlist_node	link;
};

struct inode;
#ifdef CONFIG_PROC_PRESSURE_CGROUP
struct psi_group *psi_ns_open(struct inode *inode, struct psi_ns_file *file);
void psi_ns_close(struct psi_ns_file *file);
void psi_ns_begin(struct psi_group *group);
void psi_ns_end(struct psi_group *group);
#else
static inline struct psi_group *psi_ns_open(struct inode *inode, struct psi_ns_file *file)
{
	return &psi_system;
}

static inline void psi_ns_close(struct psi_ns_file *file) { }
static inline void psi_ns_begin(struct psi_group *group) { }
static inline void psi_ns_end(struct psi_group *group) { }
#endif

/* the text of a pressure file, psi_show.c */
struct seq_file;
int psi_show(struct seq_file *m, struct psi_group *group, enum psi_resource res);
void psi_show_cpu_causes(struct seq_file *m, struct psi_group *group);

#endif /* _KERNEL_SCHED_PSI_AVGS_H */
