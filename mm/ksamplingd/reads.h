/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the events of a CPU are read. See reads.c.
 */
#ifndef _MM_KSAMPLINGD_READS_H
#define _MM_KSAMPLINGD_READS_H

#include <linux/types.h>

#define KS_READS_LEAST	2	/* in a window, where the hardware keeps records back */
#define KS_READ_RECORDS	64	/* that a read is to find */
#define KS_MOST_RECORDS	128	/* that one may find */

/**
 * struct ks_reads - reads of one CPU
 * @next:    when the next one is due, ns since the window began; U64_MAX: not in this window
 * @at:      when it was read last, or when the window began, likewise
 * @records: that reads have found in this window
 * @wanted:  number of reads in a window
 * @done:    of these
 * @late:    reads are rarer than wanted: whoever reads does not come more often
 * @phase:   where in the interval between two reads this CPU has its own, of 256
 */
struct ks_reads {
	u64 next;
	u64 at;
	u64 records;
	u32 wanted;
	u32 done;
	bool late;
	u8 phase;
};

void ks_reads_start(struct ks_reads *r, int cpu, u32 least, u64 window_ns);
void ks_reads_window(struct ks_reads *r, u32 least, u64 window_ns);
void ks_reads_done(struct ks_reads *r, u32 found, u64 part_ns, u64 window_ns);
bool ks_reads_is_look(u32 found);

#endif /* _MM_KSAMPLINGD_READS_H */
