/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One event on one CPU. See ring.c.
 */
#ifndef _MM_KSAMPLINGD_RING_H
#define _MM_KSAMPLINGD_RING_H

#include <linux/types.h>

#include "pages.h"

struct ks_event;
struct ks_source;
struct perf_event;

/**
 * struct ks_counts - what became of the samples of an event
 * @samples:   counted for a page
 * @discarded: not counted, by reason
 * @lost:      never read: the ring, or the hardware, had no place
 * @throttled: how often perf has paused the event
 * @broken:    how often a ring was found to hold what is no record; what was left in it
 *	       is not counted
 * @enabled_ns: how long it was to be sampled, summed up over CPUs, as far as was looked
 * @running_ns: for how much of that perf has had a counter for it
 * @running_permille: @running_ns of @enabled_ns, in the last window
 */
struct ks_counts {
	u64 samples;
	u64 discarded[KS_NR_DISCARDS];
	u64 lost;
	u64 throttled;
	u64 broken;
	u64 enabled_ns;
	u64 running_ns;
	u32 running_permille;
};

/**
 * struct ks_ring - one event on one CPU
 * @event:    NULL: not open
 * @counts:   where to count what is read
 * @nid:      node of the CPU
 * @store:    is it an event of stores?
 * @lost:     what the event has told of lost records so far
 * @enabled_ns: how long it was enabled, when that was read last
 * @running_ns: how long it was counted by then
 * @left:     bytes that the last round has left in it
 * @period:   of the event
 * @draining: it was found more than 80 % full, and is being emptied to 20 %
 */
struct ks_ring {
	struct perf_event *event;
	struct ks_counts *counts;
	int nid;
	bool store;
	u64 lost;
	u64 enabled_ns;
	u64 running_ns;
	unsigned long left;
	u32 period;
	bool draining;
};

int ks_ring_open(struct ks_ring *ring, const struct ks_source *source,
		 const struct ks_event *what, int cpu, u32 period, unsigned int pages,
		 struct ks_counts *counts);
void ks_ring_close(struct ks_ring *ring);
bool ks_ring_set_period(struct ks_ring *ring, u32 period);
void ks_ring_read(struct ks_ring *ring);
u64 ks_ring_waits(const struct ks_ring *ring);
u32 ks_ring_drain(struct ks_ring *ring, u64 until);
bool ks_ring_is_draining(bool draining, unsigned long used, unsigned long size);
bool ks_ring_goes_on(bool draining, bool more, unsigned long done, unsigned long size);

#endif /* _MM_KSAMPLINGD_RING_H */
