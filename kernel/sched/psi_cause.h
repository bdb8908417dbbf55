/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why tasks are stalled on memory, and for how long. See psi_cause.c.
 */
#ifndef _KERNEL_SCHED_PSI_CAUSE_H
#define _KERNEL_SCHED_PSI_CAUSE_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp_types.h>
#include <linux/minmax.h>
#include <linux/psi_types.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define PSI_NR_CAUSES		(PSI_CAUSE_LAST)	/* PSI_CAUSE_NONE is none */

/* CPUs that write to the same cache lines. */
#define PSI_CPUS_PER_SHARD	16

/**
 * struct psi_cause_sum - sections of one cause
 * @count: number that have ended
 * @total: their time, including those that still last, ns
 * @max:   the longest that has ended, ns
 */
struct psi_cause_sum {
	u64	count;
	u64	total;
	u64	max;
};

/**
 * struct psi_cause_open - the same, as it is written down
 * @count:  sections that have ended
 * @total:  for each of them its end less its begin, for each that still lasts less
 *          its begin, ns
 * @max:    the longest of those that have ended, ns
 * @active: how many still last
 *
 * At any time @now, @total + @active * @now is how long they took, modulo 2^64.
 */
struct psi_cause_open {
	u64	count;
	u64	total;
	u64	max;
	u32	active;
};

/**
 * struct psi_cause_shard - what some CPUs have written down for a group
 * @lock:    for writers; with interrupts off
 * @seq:     for readers
 * @used:    there is something to be read
 * @open:    by cause, less PSI_CAUSE_NONE
 */
struct psi_cause_shard {
	raw_spinlock_t		lock;
	seqcount_raw_spinlock_t	seq;
	bool			used;
	struct psi_cause_open	open[PSI_NR_CAUSES];
} ____cacheline_aligned_in_smp;

/**
 * struct psi_causes - why the tasks of a group are stalled on memory
 * @shards:    one for PSI_CPUS_PER_SHARD CPUs; fixed
 * @nr_shards: how many; fixed
 * @above:     the group above, or NULL; fixed
 * @lock:      for the rest
 * @shown:     by cause, less PSI_CAUSE_NONE, of the group and all below it
 * @hidden:    what came while it was off
 */
struct psi_causes {
	struct psi_cause_shard	*shards;
	unsigned int		nr_shards;
	struct psi_causes	*above;

	raw_spinlock_t		lock;	/* for @shown and @hidden */
	struct psi_cause_sum	shown[PSI_NR_CAUSES];
	struct { u64 count, total; } hidden[PSI_NR_CAUSES];
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

/**
 * psi_shard_begin - record that a section begins
 * @shard: of the group and the CPU
 * @cause: why, not PSI_CAUSE_NONE
 * @now:   clock of the CPU, ns
 *
 * Context: interrupts off.
 */
static __always_inline void psi_shard_begin(struct psi_cause_shard *shard,
					    enum psi_cause cause, u64 now)
{
	struct psi_cause_open *open = &shard->open[cause - 1];

	raw_spin_lock(&shard->lock);
	write_seqcount_begin(&shard->seq);
	open->active++;
	open->total -= now;
	WRITE_ONCE(shard->used, true);
	write_seqcount_end(&shard->seq);
	raw_spin_unlock(&shard->lock);
}

/**
 * psi_shard_end - record that a section ends
 * @shard: where it has begun
 * @cause: why, not PSI_CAUSE_NONE
 * @begun: when it has begun, ns
 * @now:   clock of the CPU, ns; if that is another one's, it may be a little behind
 *
 * Context: interrupts off.
 * Return: length of the section, ns.
 */
static __always_inline u64 psi_shard_end(struct psi_cause_shard *shard, enum psi_cause cause,
					 u64 begun, u64 now)
{
	struct psi_cause_open *open = &shard->open[cause - 1];
	u64 ns;

	now = max(now, begun);
	ns = now - begun;

	raw_spin_lock(&shard->lock);
	write_seqcount_begin(&shard->seq);
	open->active--;
	open->count++;
	open->total += now;
	if (unlikely(ns > open->max))
		open->max = ns;
	write_seqcount_end(&shard->seq);
	raw_spin_unlock(&shard->lock);

	return ns;
}

/* without tasks */
void psi_causes_init(struct psi_causes *causes, struct psi_cause_shard *shards,
		     unsigned int nr_shards, struct psi_causes *above);
void psi_causes_add(struct psi_causes *causes, u64 (*clock)(void), struct psi_cause_sum sums[]);
void psi_causes_hand_over(struct psi_causes *causes, u64 (*clock)(void));
void psi_causes_show(struct psi_causes *causes, struct psi_cause_sum sums[]);
void psi_causes_hide(struct psi_causes *causes, const struct psi_cause_sum sums[]);

/* trace events; the section is still, or already, that of p->psi.cause */
void psi_cause_trace_begin(const struct task_struct *p);
void psi_cause_trace_end(const struct task_struct *p, u64 ns);

/* groups */
unsigned int psi_cause_nr_shards(void);
struct psi_cause_shard *psi_cause_shards_alloc(gfp_t gfp);

/* the file */
struct seq_file;
void psi_show_memory_causes(struct seq_file *m, const struct psi_cause_sum sums[]);

#endif /* _KERNEL_SCHED_PSI_CAUSE_H */
