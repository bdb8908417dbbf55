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
#include <linux/psi_types.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

#include "psi_node.h"

#define PSI_PERIOD_JIFFIES	(2 * HZ + 1)
#define PSI_PERIOD_NS		((u64)PSI_PERIOD_JIFFIES * TICK_NSEC)
#define PSI_NR_AVGS		3

/**
 * struct psi_sum - per-CPU times on their way to one number
 * @weighted: for each stall, sum of time * weight
 * @weight:   sum of the weights
 * @shift:    low bits that weights lack, so that the sums fit
 */
struct psi_sum {
	u64		weighted[PSI_NR_STALLS];
	u64		weight;
	unsigned int	shift;
};

/**
 * struct psi_stall - one stall of a group
 * @total:    time folded so far, ns
 * @averaged: how much of @total has gone into @avg, ns
 * @avg:      percent of the last 10, 60 and 300 s, fixed point (FSHIFT)
 */
struct psi_stall {
	u64		total;
	u64		averaged;
	unsigned long	avg[PSI_NR_AVGS];
};

/**
 * struct psi_group - what is measured together: the system, or a cgroup
 * @nodes:    one per possible CPU; written under the rq locks
 * @target:   where its tasks are counted: the group itself, or if it is switched
 *            off the nearest one above that is not, or NULL
 * @told:     states of which psi_trigger.c knows that they have begun, see there
 * @active:   CPUs on which there may be something to fold, see psi_avgs.c
 * @queued:   the group is on the way to, or in, the list of those to fold
 * @fresh:    link on that way
 * @to_fold:  link in that list
 * @lock:     protects all down to @stall, and the nodes' @folded
 * @averaged: when the totals last went into the averages, ns
 * @due:      when they have to go there next, ns
 * @polled:   the time for which psi_group_total() has last folded, ns
 * @stall:    what is shown
 * @triggers: these three are psi_trigger.c's
 * @nr_triggers: of each stall
 * @begun:    link to the poller
 * @rcu:      for the end
 */
struct psi_group {
	struct psi_node __percpu *nodes;
	struct psi_group	*target;
	atomic_t		told;

	struct cpumask		*active;
	atomic_t		queued;
	struct llist_node	fresh;
	struct list_head	to_fold;

	/* Above, what a wakeup reads; here, what folds and readers write. */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u64			averaged;
	u64			due;
	u64			polled;
	struct psi_stall	stall[PSI_NR_STALLS];

	struct list_head	triggers;
	unsigned int		nr_triggers[PSI_NR_STALLS];
	struct llist_node	begun;

	struct rcu_head		rcu;
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
void psi_sum_add(struct psi_sum *sum, const u32 times[]);
u64 psi_sum_ns(const struct psi_sum *sum, enum psi_state stall);
void psi_avg_sample(unsigned long avg[], u64 missed, u64 stalled, u64 span);
void psi_stall_average(struct psi_stall *stall, u64 missed, u64 span);
void psi_group_account(struct psi_group *group, u64 now, const u64 growth[]);
u64 psi_first_due(u64 now, u64 due);

/* groups */
extern struct psi_group psi_system;
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    struct cpumask *active, u64 now);
struct psi_group *psi_group_alloc(struct psi_group *parent);
void psi_group_free(struct psi_group *group);
void psi_group_activate(struct psi_group *group, int cpu);
void psi_group_read(struct psi_group *group, enum psi_state first,
		    unsigned int nr, struct psi_stall *readings);

u64 psi_group_total(struct psi_group *group, enum psi_state stall, u64 now);

/**
 * psi_group_is_on - is the group accounted?
 * @group: the group
 *
 * Return: true unless it is switched off.
 */
static inline bool psi_group_is_on(const struct psi_group *group)
{
	return READ_ONCE(group->target) == group;
}

/* the text of a pressure file, psi_show.c */
struct seq_file;
int psi_show(struct seq_file *m, struct psi_group *group, enum psi_resource res);

/* what psi.c does for the others, as it knows the clocks and the runqueues */
u8 psi_cpu_times(const struct psi_node *node, int cpu, u32 times[]);
void psi_cpu_rests(struct psi_node *node, int cpu);
bool psi_cpu_is_in(const struct psi_node *node, int cpu, enum psi_state state);
void psi_cpu_tell(struct psi_node *node, int cpu, enum psi_state state, bool tell);
void psi_observe(void);
void psi_set_parent(struct psi_group *group, struct psi_group *parent);
void psi_forget(struct psi_group *group);
void psi_move_task(struct task_struct *p, struct psi_group *group);
void psi_recount_task(struct task_struct *p);

#endif /* _KERNEL_SCHED_PSI_AVGS_H */
