/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksamplingd: what core.c, the thread, and cpus.c, the rings that it reads, share.
 */
#ifndef _MM_KSAMPLINGD_THREAD_H
#define _MM_KSAMPLINGD_THREAD_H

#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched/clock.h>
#include <linux/types.h>

#include "internal.h"

/**
 * struct ks_thread - private state of the thread
 * @quota:     the control loop
 * @tuning:    the knobs of the loop, as used in this window
 * @load_share_permille: the knob, as it was when the rings were opened
 * @source:    what is sampled, or NULL
 * @tried:     the source that was wanted when the log last listed what works and what does not
 * @said:      the source that the log named then, or NULL
 * @counted:   the source whose samples are in ks_counts
 * @want:      CPUs that are to be sampled
 * @open:      CPUs whose rings are open
 * @failed:    CPUs for which the log has said that their rings do not open
 * @next:      CPU with which the next round begins
 * @usage:     of this window; its wall_ns, run_ns, records, read and made are only set at
 *	       its end
 * @began_ns:  start of the thread
 * @window_ns: start of the window
 * @run_ns:    CPU time of the thread at the start of the window
 * @records:   records of each kind at the start of the window
 * @read_records: records read at the start of the window
 * @waited:    records in the rings at the start of the window
 * @enabled_ns: time each event had been enabled at the start of the window, on all CPUs
 * @running_ns: part of it that perf had counted the event
 * @starves:   the log has said that other users have the counters of this event
 * @cooled_ns: time of the last cooling
 */
struct ks_thread {
	struct ks_quota quota;
	struct ks_tuning tuning;
	u32 load_share_permille;
	const struct ks_source *source;
	const struct ks_source *tried;
	const struct ks_source *said;
	const struct ks_source *counted;
	struct cpumask want;
	struct cpumask open;
	struct cpumask failed;
	int next;
	struct ks_usage usage;
	u64 began_ns;
	u64 window_ns;
	u64 run_ns;
	u64 records[KS_NR_KINDS];
	u64 read_records;
	u64 waited;
	u64 enabled_ns[KS_MAX_EVENTS];
	u64 running_ns[KS_MAX_EVENTS];
	bool starves[KS_MAX_EVENTS];
	u64 cooled_ns;
};

extern struct cpumask ks_up;	/* CPUs that can be sampled; see core.c */

/* The clock of another CPU may be behind. */
static inline u64 ks_since(u64 local_ns)
{
	return max_t(s64, local_clock() - local_ns, 0);
}

/* The knob may be written concurrently. */
static inline u64 ks_knob_ns(const u32 *knob_ms)
{
	return READ_ONCE(*knob_ms) * NSEC_PER_MSEC;
}

bool ks_show_periods(const struct ks_thread *t);
void ks_set_periods(struct ks_thread *t);
void ks_close_cpu(struct ks_thread *t, int cpu);
void ks_open_missing(struct ks_thread *t);
void ks_choose_source(struct ks_thread *t);
u32 ks_nr_rings(const struct ks_thread *t);
u64 ks_sum_waiting(const struct ks_thread *t);
void ks_begin_reads(const struct ks_thread *t);
u32 ks_read_events(struct ks_thread *t);
void ks_drain_cpu(struct ks_thread *t, int cpu, u64 until, u32 fill[KS_NR_KINDS]);

#endif /* _MM_KSAMPLINGD_THREAD_H */
