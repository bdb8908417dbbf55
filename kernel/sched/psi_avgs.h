/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the CPUs of a group to its totals and averages. See psi_avgs.c.
 */
#ifndef _KERNEL_SCHED_PSI_AVGS_H
#define _KERNEL_SCHED_PSI_AVGS_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/psi_types.h>
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
 * @nodes:  one per possible CPU; written under the rq locks
 * @lock:   protects all of the below, and the nodes' @folded
 * @averaged: when the totals last went into the averages, ns
 * @due:    when they have to go there next, ns
 * @stall:  what is shown
 */
struct psi_group {
	struct psi_node __percpu *nodes;

	struct mutex		lock;	/* the rest, and the nodes' @folded */
	u64			averaged;
	u64			due;
	struct psi_stall	stall[PSI_NR_STALLS];
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

/* groups */
extern struct psi_group psi_system;
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    u64 now);
void psi_group_read(struct psi_group *group, enum psi_state first,
		    unsigned int nr, struct psi_stall *readings);

/* the text of a pressure file, psi_show.c */
struct seq_file;
int psi_show(struct seq_file *m, struct psi_group *group, enum psi_resource res);

/* the fold timer */
extern atomic_t psi_fold_armed;
void psi_fold_arm(void);

/* what psi.c does for the fold, as it knows the clocks and the runqueues */
void psi_cpu_times(const struct psi_node *node, int cpu, u32 times[]);
bool psi_cpu_is_idle(const struct psi_node *node, int cpu);
void psi_exempt_current(void);

#endif /* _KERNEL_SCHED_PSI_AVGS_H */
