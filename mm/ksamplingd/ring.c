// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: one event on one CPU, and its ring.
 *
 * A round takes a bounded batch from each ring. A ring that was found more than 80 % full
 * is drained until it is below 20 %, as far as the time of the round allows. Each ring
 * has its own state for that.
 *
 * Each sample that the event makes is counted once: for a page, as discarded, or as lost. The
 * event itself counts records that do not fit into the ring; samples that the hardware had no
 * room for are reported by a record, if at all. (perf counts any record that does not fit. If
 * it is one that says that the event was throttled, lost is one too high.)
 *
 * Locking: only the thread opens, reads and closes rings. Anything may read ks_counts at
 * any time.
 */
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>
#include <linux/sched/clock.h>
#include <linux/topology.h>
#include <linux/vmstat.h>

#define CREATE_TRACE_POINTS
#include <trace/events/ksamplingd.h>

#include "record.h"
#include "ring.h"
#include "source.h"

/* records between two checks of the clock */
#define MIN_BATCH	8
#define MAX_BATCH	64

static void count(u64 *counter, u64 more)
{
	WRITE_ONCE(*counter, *counter + more);
}

static void count_sample(struct ks_counts *counts, enum ks_discard why)
{
	count(why ? &counts->discarded[why] : &counts->samples, 1);
	count_vm_event(why ? KSAMPLINGD_DISCARDED : KSAMPLINGD_SAMPLES);
}

static void lose(struct ks_counts *counts, u64 lost)
{
	count(&counts->lost, lost);
	count_vm_events(KSAMPLINGD_LOST, lost);
}

static void take_sample(struct ks_ring *ring, const struct ks_record *r)
{
	enum ks_discard why = ks_record_filter(r, &ring->event->attr);

	if (!why)
		why = ks_pages_sample(r->phys, ring->nid, ring->store);
	trace_ksamplingd_sample(r->pid, r->tid, r->addr, r->phys, why);
	count_sample(ring->counts, why);
}

static void take_record(const struct perf_event_header *header, void *data)
{
	struct ks_ring *ring = data;
	struct ks_counts *counts = ring->counts;
	struct ks_record r = ks_record_parse(header, &ring->event->attr);

	switch (r.type) {
	case KS_SAMPLE:
		take_sample(ring, &r);
		break;
	case KS_LOST:
		lose(counts, r.lost);
		break;
	case KS_THROTTLED:
		count(&counts->throttled, 1);
		break;
	case KS_BROKEN:
		count_sample(counts, KS_BAD_RECORD);
		break;
	case KS_DROPPED:	/* see count_lost() */
	case KS_UNTHROTTLED:
	case KS_OTHER:
		break;
	}
}

/* Counts records that did not fit into the ring. */
static void count_lost(struct ks_ring *ring)
{
	u64 lost = perf_kernel_ring_lost(ring->event);

	if (lost == ring->lost)
		return;
	trace_ksamplingd_lost(ring->event->cpu, lost - ring->lost);
	lose(ring->counts, lost - ring->lost);
	ring->lost = lost;
}

/**
 * ks_ring_open - begin to sample an event on a CPU
 * @ring:   a ring that is not open
 * @source: the source
 * @what:   an event of @source
 * @cpu:    the CPU
 * @period: as from ks_source_period()
 * @pages:  size of the ring, a power of two
 * @counts: where to count samples
 *
 * Context: the thread.
 * Return: 0, or an error of ks_source_open() or perf_kernel_ring_attach(); the ring is
 * not open then.
 */
int ks_ring_open(struct ks_ring *ring, const struct ks_source *source,
		 const struct ks_event *what, int cpu, u32 period, unsigned int pages,
		 struct ks_counts *counts)
{
	struct perf_event *event = ks_source_open(source, what, cpu, period);
	int err;

	if (IS_ERR(event))
		return PTR_ERR(event);
	err = perf_kernel_ring_attach(event, pages);
	if (err) {
		perf_event_release_kernel(event);
		return err;
	}

	*ring = (struct ks_ring) {
		.event = event,
		.counts = counts,
		.nid = cpu_to_node(cpu),
		.store = what->kind == KS_STORES,
		.period = period,
	};
	perf_event_enable(event);
	return 0;
}

/* Return: true if there may be more. */
static bool take_batch(struct ks_ring *ring, int batch)
{
	int taken = perf_kernel_ring_consume(ring->event, batch, take_record, ring);

	if (taken < 0)
		count(&ring->counts->broken, 1);
	return taken == batch;
}

/* Drains a ring to which nothing is added any more. */
static void empty(struct ks_ring *ring)
{
	while (take_batch(ring, MAX_BATCH))
		cond_resched();
	count_lost(ring);
}

/**
 * ks_ring_read - flush what the hardware has buffered of an event, and read its times
 * @ring: the ring
 *
 * This interrupts the CPU if the event is being counted.
 *
 * Context: the thread.
 */
void ks_ring_read(struct ks_ring *ring)
{
	u64 enabled, running;

	if (!ring->event)
		return;
	perf_event_read_value(ring->event, &enabled, &running);
	count(&ring->counts->enabled_ns, enabled - ring->enabled_ns);
	count(&ring->counts->running_ns, running - ring->running_ns);
	ring->enabled_ns = enabled;
	ring->running_ns = running;
}

/**
 * ks_ring_close - end sampling and take the remaining records
 * @ring: the ring, open or not
 *
 * Context: the thread.
 */
void ks_ring_close(struct ks_ring *ring)
{
	if (!ring->event)
		return;
	perf_event_disable(ring->event);
	ks_ring_read(ring);
	empty(ring);
	perf_event_release_kernel(ring->event);
	ring->event = NULL;
}

/**
 * ks_ring_set_period - change the period
 * @ring:   the ring
 * @period: events
 *
 * This interrupts the CPU, unless the period is the same.
 *
 * Context: the thread.
 * Return: false if perf has refused.
 */
bool ks_ring_set_period(struct ks_ring *ring, u32 period)
{
	if (!ring->event || ring->period == period)
		return true;
	if (perf_event_period(ring->event, period))
		return false;
	ring->period = period;
	return true;
}

/**
 * ks_ring_is_draining - tell whether a ring is to be drained
 * @draining: it was so far
 * @used:     bytes in it
 * @size:     bytes that fit
 *
 * Return: true from above 80 % on until below 20 %.
 */
bool ks_ring_is_draining(bool draining, unsigned long used, unsigned long size)
{
	return draining ? used >= size / 5 : used > size / 5 * 4;
}

/**
 * ks_ring_goes_on - tell whether to take another batch in this round
 * @draining: the ring is to be drained
 * @more:     there may be more than the last batch
 * @done:     bytes taken
 * @size:     bytes that fit
 *
 * Return: false if nothing is left, or half of the ring was taken and it is not draining.
 */
bool ks_ring_goes_on(bool draining, bool more, unsigned long done, unsigned long size)
{
	return more && (draining || done < size / 2);
}

/* Size of a sample in the ring. */
static unsigned int sample_bytes(const struct perf_event *event)
{
	bool from = event->attr.sample_type & PERF_SAMPLE_DATA_SRC;

	return KS_SAMPLE_BYTES + (from ? sizeof(u64) : 0);
}

/* Share of the ring that the records since the last round take, or would if they had fit. */
static u32 fill_permille(const struct ks_ring *ring, unsigned long used, unsigned long size)
{
	u64 lost = perf_kernel_ring_lost(ring->event) - ring->lost;

	used -= min(used, ring->left);
	return min((used + lost * sample_bytes(ring->event)) * 1000 / size, U32_MAX);
}

/**
 * ks_ring_waits - get the number of samples that wait to be read
 * @ring: the ring
 *
 * Context: the thread.
 * Return: samples; 0 if the ring is not open.
 */
u64 ks_ring_waits(const struct ks_ring *ring)
{
	if (!ring->event)
		return 0;
	return perf_kernel_ring_used(ring->event) / sample_bytes(ring->event);
}

/**
 * ks_ring_drain - take the records of one round
 * @ring:  the ring, open
 * @until: no batch begins after this time of local_clock(), ns
 *
 * Unless the ring is draining, up to half of it is taken. So a ring that is at most half
 * full between two rounds is emptied in one.
 *
 * Context: the thread.
 * Return: how much was filled since the last round, permille, see struct ks_usage.
 */
u32 ks_ring_drain(struct ks_ring *ring, u64 until)
{
	unsigned long size = perf_kernel_ring_size(ring->event);
	unsigned long used = perf_kernel_ring_used(ring->event), found = used;
	u32 fill = fill_permille(ring, used, size);
	unsigned long done = 0;		/* bytes, if all are samples */
	s64 left_ns;
	int batch;
	bool more;

	ring->draining = ks_ring_is_draining(ring->draining, used, size);
	while (used) {
		left_ns = until - local_clock();
		if (left_ns <= 0)
			break;
		/* An eighth of the time left, at 1 us a record. */
		batch = clamp(left_ns >> 13, MIN_BATCH, MAX_BATCH);
		more = take_batch(ring, batch);

		used = perf_kernel_ring_used(ring->event);
		ring->draining = ks_ring_is_draining(ring->draining, used, size);
		done += batch * sample_bytes(ring->event);
		if (!ks_ring_goes_on(ring->draining, more, done, size))
			break;
		cond_resched();
	}
	/* What has come meanwhile belongs to the next round. */
	ring->left = min(used, found);
	count_lost(ring);
	return fill;
}
