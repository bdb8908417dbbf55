// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: what perf writes into a ring.
 *
 * The layout is that of include/uapi/linux/perf_event.h for KS_SAMPLE_TYPE without
 * sample_id_all. Nothing beyond perf_event_header::size is looked at.
 */
#include <linux/build_bug.h>
#include <linux/perf_event.h>

#include "record.h"

/* with KS_SAMPLE_TYPE */
struct sample {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr;
	u64 phys;
};

static_assert(sizeof(struct sample) == KS_SAMPLE_BYTES);

struct lost {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

struct lost_samples {
	struct perf_event_header header;
	u64 lost;
};

/**
 * ks_record_parse - understand one record
 * @header: the record, as many bytes as its size says, aligned to 8
 *
 * Return: what it says; KS_BROKEN if it is too short for that.
 */
struct ks_record ks_record_parse(const struct perf_event_header *header)
{
	const struct sample *sample = (const void *)header;
	const struct lost *lost = (const void *)header;
	const struct lost_samples *lost_samples = (const void *)header;
	struct ks_record r = { .type = KS_BROKEN };

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		if (header->size != sizeof(*sample))
			return r;
		r.type = KS_SAMPLE;
		r.pid = sample->pid;
		r.tid = sample->tid;
		r.addr = sample->addr;
		r.phys = sample->phys;
		return r;
	case PERF_RECORD_LOST:
		if (header->size < sizeof(*lost))
			return r;
		r.type = KS_DROPPED;
		r.lost = lost->lost;
		return r;
	case PERF_RECORD_LOST_SAMPLES:
		if (header->size < sizeof(*lost_samples))
			return r;
		r.type = KS_LOST;
		r.lost = lost_samples->lost;
		return r;
	case PERF_RECORD_THROTTLE:
		r.type = KS_THROTTLED;
		return r;
	case PERF_RECORD_UNTHROTTLE:
		r.type = KS_UNTHROTTLED;
		return r;
	default:
		r.type = KS_OTHER;
		return r;
	}
}
