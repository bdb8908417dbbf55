/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksamplingd: what its parts share. See core.c.
 */
#ifndef _MM_KSAMPLINGD_INTERNAL_H
#define _MM_KSAMPLINGD_INTERNAL_H

#include <linux/cpumask.h>
#include <linux/nodemask.h>
#include <linux/types.h>

#include "quota.h"
#include "ring.h"
#include "source.h"

/**
 * struct ks_knobs - what the administrator has set
 * @tuning:	    quota, policy, sleep, shares, and what a record costs
 * @window_ms:	    how long CPU use is measured before the loop acts
 * @load_period:    events between two samples of loads: to begin with, and with quota 0
 * @store_period:   the same of stores
 * @ring_pages:	    size of each ring, a power of two
 * @source:	    index into ks_sources
 * @cool_ms:	    how long it takes until heat is halved
 * @hot_target_mb:  how much memory is called hot; 0: what the fast nodes have
 * @hot_samples:    so many samples it takes at least
 * @cpus:	    which are sampled, if @cpus_named
 * @cpus_named:	    otherwise they are those of ks_wanted_cpus()
 * @nodes:	    on whose CPUs the thread runs
 *
 * The thread reads them while they change; each is good alone, a list when its writer has
 * told so. Of those that are about
 * what is sampled, ks_knobs_changed() is to tell it; the others it looks at by itself.
 */
struct ks_knobs {
	struct ks_tuning tuning;
	u32 window_ms;
	u32 load_period;
	u32 store_period;
	u32 ring_pages;
	u32 source;
	u32 cool_ms;
	u32 hot_target_mb;
	u32 hot_samples;
	struct cpumask cpus;
	bool cpus_named;
	nodemask_t nodes;
};

/**
 * struct ks_status - what the thread is doing
 * @source:    what is sampled, NULL if there is nothing
 * @period:    of each kind, events; 0 of one that is not sampled
 * @rings:     how many are open
 * @use_ppm:   what the quota limits, smoothed
 * @now_ppm:   what the quota limits, in the last window
 * @loads_ppm: share of loads in the last window that had records
 * @workload_ppm: what the records of the last window have cost those who are sampled
 * @sleep_us:  between two rounds
 * @rounds:    how many there were
 * @windows:   how many there were
 * @changes:   how often the period was changed
 * @run_ns:    how long the thread has run, since it was started
 * @wall_ns:   how long ago that was
 *
 * Written by the thread alone; anybody may read it at any time.
 */
struct ks_status {
	const struct ks_source *source;
	u32 period[KS_NR_KINDS];
	u32 rings;
	u32 use_ppm;
	u32 now_ppm;
	u32 loads_ppm;
	u32 workload_ppm;
	u32 sleep_us;
	u64 rounds;
	u64 windows;
	u64 changes;
	u64 run_ns;
	u64 wall_ns;
};

extern struct ks_knobs ks_knobs;
extern struct ks_status ks_status;
extern struct ks_counts ks_counts[KS_MAX_EVENTS];

int ks_start(void);
void ks_stop(void);
bool ks_is_on(void);
void ks_knobs_changed(void);
void ks_wanted_cpus(struct cpumask *mask);

struct ctl_table;

int ks_sysctl_number(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		     loff_t *ppos, bool (*check)(u32 value), void (*tell)(void));
int ks_sysctl_list(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		   loff_t *ppos, unsigned long *list, int (*set)(unsigned long *list));

#endif /* _MM_KSAMPLINGD_INTERNAL_H */
