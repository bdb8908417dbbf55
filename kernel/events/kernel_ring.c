// SPDX-License-Identifier: GPL-2.0
/*
 * A ring for the records of a perf event that the kernel owns.
 *
 * An overflow handler is not enough for an event that the hardware samples in batches: it
 * is called for the last record of a batch only. The other records go to the ring of the
 * event, which until now only mmap() could create.
 *
 * This is the ring that mmap() creates, with the kernel in the role of the user: only perf
 * writes data_head, and only the consumer writes data_tail. Both count bytes and never go
 * back. The ring does not overwrite: a record that does not fit is dropped and counted.
 *
 * Locking: the caller owns the event and serializes its calls for each event. No lock is
 * shared with the writer, which may be in an NMI on another CPU. The ring lives as long
 * as the event: perf_event::rb is set once, under perf_event::mmap_mutex, before the
 * event is enabled, and the owner of the event reads it without that mutex.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>
#include <linux/string.h>

#include <asm/barrier.h>

#include "internal.h"

/* The ring stays until the event is released. */
static struct perf_buffer *ring_of(const struct perf_event *event)
{
	return event->rb;
}

/* Bytes written and not consumed yet. */
static unsigned long bytes_used(const struct perf_buffer *rb)
{
	const struct perf_event_mmap_page *page = rb->user_page;

	return READ_ONCE(page->data_head) - page->data_tail;
}

/**
 * perf_kernel_ring_attach - give an event a ring
 * @event: an event of perf_event_create_kernel_counter(), without an overflow handler, and
 *	   disabled
 * @pages: size of the ring; a power of two
 *
 * perf_event_release_kernel() frees the ring.
 *
 * Context: process context; may sleep.
 * Return: 0; -EINVAL if the size is invalid or the event writes backwards; -EBUSY if
 * there is a ring already; -ENOMEM.
 */
int perf_kernel_ring_attach(struct perf_event *event, unsigned int pages)
{
	struct perf_buffer *rb;
	int err;

	if (!is_power_of_2(pages) || event->attr.write_backward)
		return -EINVAL;

	rb = rb_alloc(pages, 0, event->cpu, RING_BUFFER_WRITABLE);
	if (!rb)
		return -ENOMEM;

	err = perf_event_attach_ring(event, rb);
	if (err)
		ring_buffer_put(rb);
	return err;
}

/**
 * perf_kernel_ring_size - get the size of a ring
 * @event: an event with a ring
 *
 * Return: bytes.
 */
unsigned long perf_kernel_ring_size(const struct perf_event *event)
{
	return perf_data_size(ring_of(event));
}

/**
 * perf_kernel_ring_used - get the amount of records that wait to be consumed
 * @event: an event with a ring
 *
 * Return: bytes.
 */
unsigned long perf_kernel_ring_used(const struct perf_event *event)
{
	return bytes_used(ring_of(event));
}

/* Returns the record at @tail, in @copy if it wraps; NULL if the @used bytes hold none. */
static const struct perf_event_header *record_at(struct perf_buffer *rb, u64 tail,
						 u64 used, void *copy)
{
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	unsigned long offset = tail & (page_size - 1), first = page_size - offset;
	unsigned long page = tail / page_size;
	const struct perf_event_header *record;
	u16 size;

	/* Sizes are multiples of 8, so a header never wraps. */
	if (first < sizeof(*record) || used < sizeof(*record))
		return NULL;
	record = rb->data_pages[page & (rb->nr_pages - 1)] + offset;
	size = record->size;
	if (size < sizeof(*record) || size > PERF_KERNEL_RECORD_MAX || size > used ||
	    !IS_ALIGNED(size, 8))
		return NULL;
	if (size <= first)
		return record;

	memcpy(copy, record, first);
	memcpy(copy + first, rb->data_pages[(page + 1) & (rb->nr_pages - 1)], size - first);
	return copy;
}

/* Documented at perf_kernel_ring_consume(). */
int perf_buffer_consume(struct perf_buffer *rb, unsigned int most,
			perf_kernel_record_t consume, void *data)
{
	u64 copy[PERF_KERNEL_RECORD_MAX / sizeof(u64)];
	const struct perf_event_header *record;
	u64 tail = rb->user_page->data_tail;
	u64 head, used;
	int done = 0;

	/* Read records after the head that covers them. Pairs with perf_output_put_handle(). */
	head = smp_load_acquire(&rb->user_page->data_head);
	used = head - tail;
	if (used > perf_data_size(rb))
		goto broken;

	while (used && done < most) {
		record = record_at(rb, tail, used, copy);
		if (!record)
			goto broken;
		consume(record, data);
		tail += record->size;
		used -= record->size;
		done++;
	}

	/* The writer may reuse the space only after all of it has been read. */
	smp_store_release(&rb->user_page->data_tail, tail);
	return done;

broken:
	/* As above. */
	smp_store_release(&rb->user_page->data_tail, head);
	return -EIO;
}

/**
 * perf_kernel_ring_consume - take records out of a ring, oldest first
 * @event:   an event with a ring
 * @most:    maximum number of records
 * @consume: called with each; the record is valid until it returns
 * @data:    for @consume
 *
 * Records written meanwhile are left for the next call.
 *
 * Context: any in which @consume may be called.
 * Return: number of records taken; -EIO on something that is not a record, or is longer
 * than PERF_KERNEL_RECORD_MAX. Then that and everything after it has been dropped; what
 * came before it has been consumed.
 */
int perf_kernel_ring_consume(struct perf_event *event, unsigned int most,
			     perf_kernel_record_t consume, void *data)
{
	return perf_buffer_consume(ring_of(event), most, consume, data);
}

/**
 * perf_kernel_ring_lost - get the number of records that did not fit
 * @event: an event with a ring
 *
 * Return: number of records since the event was created.
 */
u64 perf_kernel_ring_lost(const struct perf_event *event)
{
	return atomic64_read(&event->lost_samples);
}
