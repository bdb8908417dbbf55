/* SPDX-License-Identifier: GPL-2.0 */
/* The records that perf writes into a ring. See record.c. */
#ifndef _MM_KSAMPLINGD_RECORD_H
#define _MM_KSAMPLINGD_RECORD_H

#include <linux/types.h>

#include "pages.h"

struct perf_event_attr;
struct perf_event_header;

/*
 * Requested for each sample; PERF_SAMPLE_DATA_SRC comes on top for events that cannot be
 * limited to memory. More would cost room, or keep PEBS from batching.
 */
#define KS_SAMPLE_TYPE	(PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR)
#define KS_SAMPLE_BYTES	32	/* in the ring */

enum ks_record_type {
	KS_SAMPLE,
	KS_LOST,		/* the hardware had no room for samples */
	KS_DROPPED,		/* the ring had none; the event counts these itself */
	KS_THROTTLED,		/* too many interrupts: paused for a tick */
	KS_UNTHROTTLED,
	KS_OTHER,		/* ignored */
	KS_BROKEN,		/* wrong size for its type */
};

/**
 * struct ks_record - one decoded record
 * @type: type of the record
 * @pid:  of a sample: process
 * @tid:  of a sample: thread
 * @addr: of a sample: virtual address, or 0
 * @phys: of a sample: physical address, or 0
 * @from: of a sample: union perf_mem_data_src, or 0 if it was not requested
 * @lost: of KS_LOST and KS_DROPPED: number of samples
 */
struct ks_record {
	enum ks_record_type type;
	u32 pid;
	u32 tid;
	u64 addr;
	u64 phys;
	u64 from;
	u64 lost;
};

struct ks_record ks_record_parse(const struct perf_event_header *header,
				 const struct perf_event_attr *attr);
enum ks_discard ks_record_filter(const struct ks_record *r,
				 const struct perf_event_attr *attr);

#endif /* _MM_KSAMPLINGD_RECORD_H */
