// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the records that perf writes into a ring.
 *
 * The layout is that of include/uapi/linux/perf_event.h for KS_SAMPLE_TYPE, optionally with
 * PERF_SAMPLE_DATA_SRC, and without sample_id_all. Nothing beyond perf_event_header::size is
 * read. Locking: none; only the record and constant attributes are read.
 */
#include <linux/build_bug.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>

#include "record.h"

/* with KS_SAMPLE_TYPE */
struct sample {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr;
	u64 phys;
};

static_assert(sizeof(struct sample) == KS_SAMPLE_BYTES);

/* with PERF_SAMPLE_DATA_SRC as well */
struct sample_from {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr;
	u64 from;
	u64 phys;
};

struct lost {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

struct lost_samples {
	struct perf_event_header header;
	u64 lost;
};

static struct ks_record parse_sample(const struct perf_event_header *header, bool from)
{
	const struct sample_from *more = (const void *)header;
	const struct sample *sample = (const void *)header;
	struct ks_record r = { .type = KS_BROKEN };

	if (header->size != (from ? sizeof(*more) : sizeof(*sample)))
		return r;
	r.type = KS_SAMPLE;
	r.pid = sample->pid;
	r.tid = sample->tid;
	r.addr = sample->addr;
	r.phys = from ? more->phys : sample->phys;
	r.from = from ? more->from : 0;
	return r;
}

/**
 * ks_record_parse - decode one record
 * @header: the record, with perf_event_header::size bytes, aligned to 8
 * @attr:   of the event that has written it
 *
 * Return: what it says; type KS_BROKEN if its size is wrong for its type.
 */
struct ks_record ks_record_parse(const struct perf_event_header *header,
				 const struct perf_event_attr *attr)
{
	const struct lost *lost = (const void *)header;
	const struct lost_samples *lost_samples = (const void *)header;
	struct ks_record r = { .type = KS_BROKEN };

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return parse_sample(header, attr->sample_type & PERF_SAMPLE_DATA_SRC);
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

/*
 * Memory, be it near, far, persistent or behind CXL. Newer PMUs fill in mem_lvl_num, and
 * only that can express all of these; older ones fill in mem_lvl alone.
 */
static bool is_memory(union perf_mem_data_src from)
{
	switch (from.mem_lvl_num) {
	case PERF_MEM_LVLNUM_RAM:
	case PERF_MEM_LVLNUM_PMEM:
	case PERF_MEM_LVLNUM_CXL:
		return true;
	case PERF_MEM_LVLNUM_NA:
	case 0:
		return from.mem_lvl & (PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 |
				       PERF_MEM_LVL_REM_RAM2);
	default:
		return false;
	}
}

/**
 * ks_record_filter - discard samples that are not wanted
 * @r:	  a sample
 * @attr: of the event that has made it
 *
 * What the attributes of an event exclude already is not checked again.
 *
 * Return: KS_NOT_DISCARDED; KS_KERNEL if the event samples the kernel as well and the
 * address is one of the kernel, whatever has accessed it; KS_NOT_MEMORY if the event
 * reports data sources, and this one is unknown or not memory.
 */
enum ks_discard ks_record_filter(const struct ks_record *r,
				 const struct perf_event_attr *attr)
{
	union perf_mem_data_src from = { .val = r->from };

	if (!attr->exclude_kernel && r->addr >= TASK_SIZE_MAX)
		return KS_KERNEL;
	if (r->phys && (attr->sample_type & PERF_SAMPLE_DATA_SRC) && !is_memory(from))
		return KS_NOT_MEMORY;
	return KS_NOT_DISCARDED;
}
