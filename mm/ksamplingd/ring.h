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
 * @lost:      never read: no room in the ring or in the hardware
 * @throttled: how often perf has throttled the event
 * @broken:    how often a ring held something that is not a record; what was left in it is not
 *	       counted
 * @enabled_ns: time that the event was enabled, over all CPUs, as of the last reads
 * @running_ns: part of it that perf had a counter for the event
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
 * @counts:   where to count samples
 * @nid:      node of the CPU
 * @store:    the event counts stores
 * @lost:     lost records that the event has reported so far
 * @enabled_ns: time that it was enabled, as of the last read
 * @running_ns: time that it was counted, as of the last read
 * @left:     bytes that the last round has left in the ring
 * @period:   of the event
 * @draining: it was found more than 80 % full and is being drained to 20 %
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
