/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much sampling the quota allows. See quota.c.
 */
#ifndef _MM_KSAMPLINGD_QUOTA_H
#define _MM_KSAMPLINGD_QUOTA_H

#include <linux/types.h>

/* Kinds of accesses; each has a table of periods. */
enum ks_kind {
	KS_LOADS,
	KS_STORES,
	KS_NR_KINDS,
};

#define KS_NR_LEVELS	76

extern const u32 ks_periods[KS_NR_KINDS][KS_NR_LEVELS];

enum ks_policy {
	KS_STEP,		/* one level in a window */
	KS_PROPORTIONAL,	/* at once to where the quota should be met */
	KS_NR_POLICIES,
};

#define KS_PERMILLE	1000U		/* ppm */
#define KS_WHOLE	1000000U	/* ppm */
#define KS_MOST_PPM	(1000 * KS_WHOLE)	/* upper bound of a use */
#define KS_MAX_SLEEP_US	100000U
#define KS_FULL		800U	/* permille of a ring */

/**
 * struct ks_tuning - settings of the loop
 * @quota_permille: share of one CPU that the thread may use; 0: periods stay fixed
 * @policy:	    enum ks_policy
 * @sleep_us:	    shortest sleep between two rounds
 * @load_share_permille: share of loads among the samples, the rest being stores; a kind with
 *		    a share of 0 is not sampled
 * @record_cost_ns: what a record costs the sampled program
 * @quota_has_workload: 1: the quota includes that cost; 0: it does not
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
 * struct ks_usage - what the thread has done in a window
 * @wall_ns:  length of the window
 * @run_ns:   CPU time
 * @round_ns: time spent in rounds, including waiting for a CPU
 * @round_run_ns: part of @run_ns in rounds, 0 if unknown; the rest is spent on going to sleep
 *	      and waking up
 * @drain_ns: part of @round_ns spent on records; the rest is what rounds cost with nothing to
 *	      read
 * @look_ns:  part of that rest which does not depend on the number of rounds
 * @records:  records of each kind: read, and lost
 * @read:     records read
 * @made:     records made: @records, less those that waited in rings when the window began,
 *	      plus those that wait now
 * @rounds:   number of rounds
 * @fill_permille: most of a ring of each kind that was filled between two rounds. It includes
 *	      records that did not fit, so it may exceed 1000, but not what the hardware
 *	      delivers at once with any period.
 */
struct ks_usage {
	u64 wall_ns;
	u64 run_ns;
	u64 round_ns;
	u64 round_run_ns;
	u64 drain_ns;
	u64 look_ns;
	u64 records[KS_NR_KINDS];
	u64 read;
	u64 made;
	u32 rounds;
	u32 fill_permille[KS_NR_KINDS];
};

/**
 * struct ks_quota - state of the loop
 * @use_ppm:   use that the quota limits, smoothed, of one CPU
 * @base_ppm:  part of it that does not depend on the periods, smoothed
 * @loads_ppm: share of loads among the records, smoothed
 * @now_ppm:   use that the quota limits, in the last window
 * @loads_now_ppm: share of loads in the last window that had records
 * @workload_ppm: what the records of the last window have cost the sampled programs, summed
 *	       over all CPUs, of one CPU
 * @sleep_us:  sleep between rounds
 * @round_ns:  cost of a round with nothing to read, smoothed
 * @wakeup_ns: part of it for going to sleep and waking up, minimum seen
 * @level:     index of each kind into its table of periods; higher is longer
 * @began:     @level at the start of the window
 * @raises:    how often full rings have raised a level in this window
 * @measured:  the averages are valid
 * @steady:    no search is in progress: the nearest levels have been found
 * @moved:     levels that each kind went when it was last moved in the search
 * @most:      levels that it may go at once
 * @moves:     number of its moves
 * @found_ppm: use with the levels that were found
 * @found_loads_ppm: share of loads with them
 * @found_windows: windows since in which use or mix was off
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
	u8 most[KS_NR_KINDS];
	u8 moves;
	u8 found_windows;
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
u8 ks_level_of(enum ks_kind kind, u32 period);

#endif /* _MM_KSAMPLINGD_QUOTA_H */
