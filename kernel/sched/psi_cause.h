/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why tasks are stalled on memory, and for how long. See psi_cause.c.
 */
#ifndef _KERNEL_SCHED_PSI_CAUSE_H
#define _KERNEL_SCHED_PSI_CAUSE_H

#include <linux/cache.h>
#include <linux/gfp_types.h>
#include <linux/mutex.h>
#include <linux/psi_types.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

#define PSI_NR_CAUSES		(PSI_CAUSE_LAST)	/* PSI_CAUSE_NONE is none */

/* CPUs that write to the same cache lines. */
#define PSI_CPUS_PER_SHARD	8

/**
 * struct psi_cause_sum - sections of one cause
 * @count: how many have ended
 * @total: how long all together, ns, those that still last included
 * @max:   the longest of those that have ended, ns
 */
struct psi_cause_sum {
	u64	count;
	u64	total;
	u64	max;
};

/**
 * struct psi_cause_open - the same, on its way to where it is shown
 * @count:  sections that have ended since the last fold
 * @total:  for each of them its end less its begin, for each that still lasts less
 *          its begin, and so much more or less that at the last fold it was 0, ns
 * @max:    the longest of those that have ended, ns
 * @active: how many still last
 *
 * At any time @now, @total + @active * @now is what has to be added.
 */
struct psi_cause_open {
	u64	count;
	u64	total;
	u64	max;
	u32	active;
};

/**
 * struct psi_cause_shard - what some CPUs have written down for a group
 * @lock:    for all of it; with interrupts off
 * @pending: there may be something to fold; may be read without @lock
 * @open:    by cause, less PSI_CAUSE_NONE
 */
struct psi_cause_shard {
	raw_spinlock_t		lock;
	bool			pending;
	struct psi_cause_open	open[PSI_NR_CAUSES];
} ____cacheline_aligned_in_smp;

/**
 * struct psi_causes - why the tasks of a group are stalled on memory
 * @shards:    what has not been folded yet, one for PSI_CPUS_PER_SHARD CPUs; fixed
 * @nr_shards: how many; fixed
 * @above:     the group above, or NULL; fixed
 * @below_lock: for @below
 * @below_pending: there is something in @below; may be read without the lock
 * @below:     what groups below have handed on and was not folded yet
 * @lock:      for @shown
 * @on:        what is folded is shown; changes under cgroup_mutex
 * @shown:     by cause, less PSI_CAUSE_NONE, of the group and all below it
 */
struct psi_causes {
	struct psi_cause_shard	*shards;
	unsigned int		nr_shards;
	struct psi_causes	*above;

	spinlock_t		below_lock;	/* see above */
	bool			below_pending;
	struct psi_cause_sum	below[PSI_NR_CAUSES];

	struct mutex		lock;		/* see above */
	bool			on;
	struct psi_cause_sum	shown[PSI_NR_CAUSES];
};

/**
 * psi_cause_is_stall - do sections of this cause count in memory.pressure?
 * @cause: the cause, or PSI_CAUSE_NONE
 *
 * Return: true if so.
 */
static inline bool psi_cause_is_stall(enum psi_cause cause)
{
	return cause != PSI_CAUSE_NONE && cause != PSI_CAUSE_REQUESTED_RECLAIM;
}

/* without tasks */
void psi_causes_init(struct psi_causes *causes, struct psi_cause_shard *shards,
		     unsigned int nr_shards, struct psi_causes *above);
void psi_causes_fold(struct psi_causes *causes, u64 (*clock)(void));
void psi_causes_drain(struct psi_causes *causes, u64 (*clock)(void));
void psi_causes_switch(struct psi_causes *causes, bool on, u64 (*clock)(void));
bool psi_causes_are_pending(struct psi_causes *causes);
void psi_cause_test_begin(struct psi_cause_shard *shard, enum psi_cause cause, u64 now);
u64 psi_cause_test_end(struct psi_cause_shard *shard, enum psi_cause cause, u64 begun, u64 now);

/* sections of tasks; for psi.c */
void psi_cause_begin(struct task_struct *p, enum psi_cause cause, unsigned int cpu, u64 now);
void psi_cause_end(struct task_struct *p, u64 now);
void psi_cause_resume(struct task_struct *p, unsigned int cpu, u64 now);
void psi_cause_suspend(struct task_struct *p, u64 now);
void psi_cause_move(struct task_struct *p, struct psi_group *group, unsigned int cpu, u64 now);

/* groups */
unsigned int psi_cause_nr_shards(void);
struct psi_cause_shard *psi_cause_shards_alloc(gfp_t gfp);

/* the file */
struct psi_group;
struct seq_file;
void psi_gather_causes(struct psi_group *group);
void psi_show_memory_causes(struct seq_file *m, struct psi_group *group);

#endif /* _KERNEL_SCHED_PSI_CAUSE_H */
