// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: when the events of a CPU are read.
 *
 * The hardware keeps some hundred records back and interrupts the CPU when it has no room
 * for more; that takes as long as it takes to decode them all. Reading an event makes the
 * CPU hand over what there is. So each CPU is read so often that a read finds few records:
 *
 *	reads in a window = records that those in the last one found / 64, at least two
 *
 * A read that finds more than 128 raises that at once, and it falls by half in a window. (A
 * CPU that switches often hands its records over then, and reads find next to nothing.)
 * The reads of a CPU are evenly spread over the window, and those of different CPUs over
 * the time between two, so that each window sees the records of one window's length.
 *
 * A read that finds next to nothing is a look: it costs the same with any period. What
 * others cost is the price of their records.
 *
 * Nothing here knows a clock, an event or a CPU. Locking: the caller's.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "reads.h"

#define LEAST_NS	NSEC_PER_MSEC			/* between two reads of a CPU */
#define FEW_RECORDS	(KS_READ_RECORDS / 8)

static void set_next(struct ks_reads *r, u64 window_ns)
{
	u64 turn = ((u64)r->done + 1) * 256 - r->phase;

	if (r->done >= r->wanted)
		r->next = U64_MAX;
	else	/* rounded up, so that ks_reads_done() counts this one */
		r->next = min(mul_u64_u64_div_u64(window_ns, turn, (u64)r->wanted * 256) + 1,
			      window_ns);
}

static u32 most_reads(u64 window_ns)
{
	return max(div_u64(window_ns, LEAST_NS), 1);
}

/**
 * ks_reads_start - begin to read a CPU, at the begin of a window
 * @r:	       to be initialized
 * @cpu:       the CPU
 * @least:     reads in a window, at least; 0: it needs none
 * @window_ns: length of a window
 */
void ks_reads_start(struct ks_reads *r, int cpu, u32 least, u64 window_ns)
{
	/* By the golden section, the CPUs up to any number are evenly spread. */
	*r = (struct ks_reads) { .wanted = least, .phase = (u32)cpu * 159 };
	set_next(r, window_ns);
}

/**
 * ks_reads_window - begin a window
 * @r:	       the CPU
 * @least:     as for ks_reads_start(); up to 1, it is the number of reads
 * @window_ns: length of the window
 */
void ks_reads_window(struct ks_reads *r, u32 least, u64 window_ns)
{
	u64 fit = div_u64(r->records + KS_READ_RECORDS - 1, KS_READ_RECORDS);

	if (least > 1)
		r->wanted = max(min(max(fit, r->wanted / 2), most_reads(window_ns)), least);
	else
		r->wanted = least;
	r->records = 0;
	r->at = 0;
	r->done = 0;
	set_next(r, window_ns);
}

/**
 * ks_reads_done - a CPU has been read, or was idle and need not be
 * @r:	       the CPU
 * @found:     records that it has handed over because of that
 * @part_ns:   time since the window began
 * @window_ns: its length
 */
void ks_reads_done(struct ks_reads *r, u32 found, u64 part_ns, u64 window_ns)
{
	part_ns = min(part_ns, window_ns);
	r->late = (part_ns - min(r->at, part_ns)) * r->wanted >= 2 * window_ns;
	r->at = part_ns;
	r->records += found;
	if (found > KS_MOST_RECORDS && r->wanted > 1)
		r->wanted = min((u64)r->wanted * found / KS_READ_RECORDS, most_reads(window_ns));
	/* Those that are late are not made up for. */
	r->done = div_u64(mul_u64_u64_div_u64(part_ns, (u64)r->wanted * 256, window_ns) +
			  r->phase, 256);
	set_next(r, window_ns);
}

/**
 * ks_reads_is_look - is what a read has cost the same with any period?
 * @found: records
 *
 * Return: true if there were too few to be what it was for.
 */
bool ks_reads_is_look(u32 found)
{
	return found < FEW_RECORDS;
}
