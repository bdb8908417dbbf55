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
#define KS_MAX_SLEEP_US	100000U
#define KS_FULL		800U	/* permille of a ring */
#define KS_READS	4	/* of each event in a window */

/**
 * struct ks_tuning - what the administrator wants
 * @quota_permille: share of one CPU that the thread may use; 0: the periods stay as
 *		    they are
 * @policy:	    enum ks_policy
 * @sleep_us:	    the shortest sleep between two rounds
 */
struct ks_tuning {
	u32 quota_permille;
	u32 policy;
	u32 sleep_us;
};

/**
 * struct ks_usage - what the thread has done, since it was looked at last
 * @wall_ns:  time that went by
 * @run_ns:   time on a CPU
 * @round_ns: time that went by in rounds, also while the thread had to wait for a CPU
 * @drain_ns: part of it that went into records; the rest is what the rounds cost even
 *	      if there is nothing to read
 * @rounds:   how many
 * @fill_permille: how full a ring was at most when it was looked at; with what did not
 *	      fit into it, so this may be more than 1000; without what the hardware
 *	      delivers at once, whatever the period is
 */
struct ks_usage {
	u64 wall_ns;
	u64 run_ns;
	u64 round_ns;
	u64 drain_ns;
	u32 rounds;
	u32 fill_permille;
};

/**
 * struct ks_quota - state of the loop
 * @use_ppm:   CPU use, smoothed, of one CPU
 * @base_ppm:  part of it that does not depend on the period, smoothed
 * @now_ppm:   CPU use in the last window
 * @sleep_us:  how long to sleep between rounds
 * @round_ns:  what a round takes if there is nothing to read, smoothed
 * @level:     place in the tables of periods; the higher, the longer
 * @raises:    how often a ring has raised the level in this window
 * @measured:  has there been a window yet?
 * @steady:    since the use was off the quota last, has the nearest level been found?
 * @moved:     until then, by how many levels it went last
 * @steps:     until then, how many there were
 * @before_ppm: the use before the last step
 * @found_ppm: the use with the level that was found
 * @found_windows: how often it was off the quota since
 */
struct ks_quota {
	u32 use_ppm;
	u32 base_ppm;
	u32 now_ppm;
	u32 sleep_us;
	u32 round_ns;
	u8 level;
	u8 raises;
	bool measured;
	bool steady;
	s8 moved;
	u8 steps;
	u8 found_windows;
	u32 before_ppm;
	u32 found_ppm;
};

void ks_quota_start(struct ks_quota *q, const struct ks_tuning *t, u8 level);
void ks_quota_tune(struct ks_quota *q, const struct ks_tuning *t);
bool ks_quota_window(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u);
bool ks_quota_ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns,
			u64 window_ns, u32 fill_permille);
u64 ks_quota_budget_ns(const struct ks_quota *q, const struct ks_tuning *t);
u32 ks_reads_due(u64 part_ns, u64 window_ns, u32 events);
u8 ks_level_of(enum ks_kind kind, u32 period);

#endif /* _MM_KSAMPLINGD_QUOTA_H */
