/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much sampling the quota allows. See quota.c.
 */
#ifndef _MM_KSAMPLINGD_QUOTA_H
#define _MM_KSAMPLINGD_QUOTA_H

#include <linux/types.h>

/* Kinds of events; each has a table of periods. */
enum ks_kind {
	KS_LOADS,
	KS_STORES,
	KS_NR_KINDS,
};

#define KS_NR_LEVELS	76

extern const u32 ks_periods[KS_NR_KINDS][KS_NR_LEVELS];

enum ks_policy {
	KS_STEP,		/* one level in a window */
	KS_PROPORTIONAL,	/* at once where the quota is expected to be met */
	KS_NR_POLICIES,
};

#define KS_PERMILLE	1000U		/* ppm */
#define KS_WHOLE	1000000U	/* ppm */
#define KS_MOST_PPM	(1000 * KS_WHOLE)	/* that a use is told to be */
#define KS_MAX_SLEEP_US	100000U
#define KS_FULL		800U	/* permille of a ring */
#define KS_READS	4	/* of each event in a window */

/**
 * struct ks_tuning - what the administrator wants
 * @quota_permille: share of one CPU that the thread may use; 0: the periods stay as
 *		    they are
 * @policy:	    enum ks_policy
 * @sleep_us:	    the shortest sleep between two rounds
 * @load_share_permille: how many of the samples are to be of loads, the others are
 *		    of stores; a kind whose share is 0 is not sampled
 * @record_cost_ns: what a record costs the program that is sampled
 * @quota_has_workload: 1: that is part of what the quota limits; 0: it is not
 */
struct ks_tuning {
	u32 quota_permille;
	u32 policy;
	u32 sleep_us;
	u32 load_share_permille;
	u32 record_cost_ns;
	u32 quota_has_workload;
};

/**
 * struct ks_usage - what the thread has done, since it was looked at last
 * @wall_ns:  time that went by
 * @run_ns:   time on a CPU
 * @round_ns: time that went by in rounds, also while the thread had to wait for a CPU
 * @round_run_ns: part of @run_ns in rounds, 0 if that is not known; the rest is what it takes
 *	      to go to sleep and to wake up
 * @drain_ns: part of @round_ns that went into records; the rest is what the rounds cost even
 *	      if there is nothing to read
 * @records:  how many there were of each kind: read, and lost
 * @read:     how many were read
 * @made:     how many were made: those of @records, less those that waited in rings when
 *	      the window began, and those that wait now
 * @rounds:   how many
 * @fill_permille: how much of a ring of each kind came at most from one look at it to the
 *	      next; with what did not fit into it, so this may be more than 1000; without
 *	      what the hardware delivers at once, whatever the period is
 */
struct ks_usage {
	u64 wall_ns;
	u64 run_ns;
	u64 round_ns;
	u64 round_run_ns;
	u64 drain_ns;
	u64 records[KS_NR_KINDS];
	u64 read;
	u64 made;
	u32 rounds;
	u32 fill_permille[KS_NR_KINDS];
};

/**
 * struct ks_quota - state of the loop
 * @use_ppm:   what the quota limits, smoothed, of one CPU
 * @base_ppm:  part of it that does not depend on the periods, smoothed
 * @loads_ppm: share of loads among the records, smoothed
 * @now_ppm:   what the quota limits, in the last window
 * @loads_now_ppm: share of loads in the last window that had records
 * @workload_ppm: what the records of the last window have cost those who are sampled, all
 *	       CPUs together, of one CPU
 * @sleep_us:  how long to sleep between rounds
 * @round_ns:  what a round takes if there is nothing to read, smoothed
 * @wakeup_ns: part of that to go to sleep and to wake up, the least that was seen
 * @level:     place of each kind in its table of periods; the higher, the longer
 * @began:     the same when the window began
 * @raises:    how often a ring has raised a level in this window
 * @measured:  has there been a window yet?
 * @steady:    since the use or the mix was off last, have the nearest levels been found?
 * @moved:     until then, by how many levels each kind went last
 * @steps:     until then, how many there were
 * @before_ppm: the use before the last step
 * @found_ppm: the use with the levels that were found
 * @found_loads_ppm: the share of loads then
 * @found_windows: how often one of both was off since
 */
struct ks_quota {
	u32 use_ppm;
	u32 base_ppm;
	u32 loads_ppm;
	u32 now_ppm;
	u32 loads_now_ppm;
	u32 workload_ppm;
	u32 sleep_us;
	u32 round_ns;
	u32 wakeup_ns;
	u8 level[KS_NR_KINDS];
	u8 began[KS_NR_KINDS];
	u8 raises;
	bool measured;
	bool steady;
	s8 moved[KS_NR_KINDS];
	u8 steps;
	u8 found_windows;
	u32 before_ppm;
	u32 found_ppm;
	u32 found_loads_ppm;
};

void ks_quota_start(struct ks_quota *q, const struct ks_tuning *t,
		    const u8 level[KS_NR_KINDS]);
void ks_quota_tune(struct ks_quota *q, const struct ks_tuning *t);
bool ks_quota_window(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u);
bool ks_quota_ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns,
			u64 window_ns, const u32 fill_permille[KS_NR_KINDS]);
u64 ks_quota_budget_ns(const struct ks_quota *q, const struct ks_tuning *t);
u32 ks_reads_due(u64 part_ns, u64 window_ns, u32 events);
u8 ks_level_of(enum ks_kind kind, u32 period);

#endif /* _MM_KSAMPLINGD_QUOTA_H */
