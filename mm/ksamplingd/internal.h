/* SPDX-License-Identifier: GPL-2.0 */
/* ksamplingd: shared by its parts. See core.c. */
#ifndef _MM_KSAMPLINGD_INTERNAL_H
#define _MM_KSAMPLINGD_INTERNAL_H

#include <linux/cpumask.h>
#include <linux/nodemask.h>
#include <linux/types.h>

#include "quota.h"
#include "ring.h"
#include "source.h"

/**
 * struct ks_knobs - settings of the administrator
 * @tuning:	    quota, policy, sleep, shares, and the cost of a record
 * @window_ms:	    length of a window, after which the loop adapts
 * @load_period:    events between two samples of loads: at the start, and with quota 0
 * @store_period:   likewise for stores
 * @ring_pages:	    size of each ring, a power of two
 * @source:	    index into ks_sources
 * @cool_ms:	    time in which heat is halved; 0: when samples have told enough
 * @hot_target_mb:  amount of memory that is called hot; 0: what could be replaced by hot
 *		    pages in the fast nodes
 * @hot_samples:    minimum number of samples of a hot page
 * @heat_memory_ppm: share of memory that the heat of pages may take
 * @cpus:	    the CPUs to sample, if @cpus_named
 * @cpus_named:	    false: those of ks_wanted_cpus()
 * @nodes:	    the thread runs on the CPUs of these
 *
 * The thread reads them while they change. Each is consistent on its own; a list is once
 * its writer has called ks_knobs_changed(). That is to be called for all knobs that
 * concern the rings; the thread polls the others.
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
	u32 heat_memory_ppm;
	struct cpumask cpus;
	bool cpus_named;
	nodemask_t nodes;
};

/**
 * struct ks_status - what the thread is doing
 * @source:    what is sampled, NULL if nothing is
 * @period:    of each kind, events; 0 if the kind is not sampled
 * @rings:     number of open rings
 * @use_ppm:   use that the quota limits, smoothed, of one CPU
 * @now_ppm:   the same in the last window
 * @loads_ppm: share of loads in the last window that had records
 * @workload_ppm: what the records of the last window have cost the sampled programs
 * @sleep_us:  sleep between two rounds
 * @rounds:    number of rounds
 * @windows:   number of windows
 * @changes:   number of changes of the period
 * @run_ns:    CPU time of the thread
 * @wall_ns:   time since its start
 *
 * Only the thread writes; anything may read at any time.
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
void ks_cpus_changed(void);
void ks_wanted_cpus(struct cpumask *mask);

struct ctl_table;

int ks_sysctl_number(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		     loff_t *ppos, bool (*check)(u32 value), void (*tell)(void));
int ks_sysctl_list(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		   loff_t *ppos, unsigned long *list, int (*set)(unsigned long *list));

#endif /* _MM_KSAMPLINGD_INTERNAL_H */
