/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings for the records of perf events that the kernel owns. See
 * kernel/events/kernel_ring.c.
 */
#ifndef _LINUX_PERF_KERNEL_RING_H
#define _LINUX_PERF_KERNEL_RING_H

#include <linux/types.h>

struct perf_event;
struct perf_event_header;

/* Maximum length of a record of such an event, bytes. */
#define PERF_KERNEL_RECORD_MAX	512

/**
 * typedef perf_kernel_record_t - process a record
 * @record: the record, aligned to 8 bytes and contiguous
 * @data:   as given to perf_kernel_ring_consume()
 */
typedef void (*perf_kernel_record_t)(const struct perf_event_header *record, void *data);

int perf_kernel_ring_attach(struct perf_event *event, unsigned int pages);
unsigned long perf_kernel_ring_size(const struct perf_event *event);
unsigned long perf_kernel_ring_used(const struct perf_event *event);
int perf_kernel_ring_consume(struct perf_event *event, unsigned int most,
			     perf_kernel_record_t consume, void *data);
u64 perf_kernel_ring_lost(const struct perf_event *event);
int perf_pmu_type(const char *name);

#endif /* _LINUX_PERF_KERNEL_RING_H */
