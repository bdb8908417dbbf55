// SPDX-License-Identifier: GPL-2.0
/*
 * A ring for the records of a perf event that the kernel itself owns.
 *
 * An overflow handler is not enough for an event that is sampled by hardware in
 * batches: of a batch it is called for the last record only. The others go to
 * the ring of the event, which so far has come from mmap() alone.
 *
 * The ring is the one that mmap() makes, with the kernel in the place of the
 * user: perf is the only writer of data_head, and the consumer the only one of
 * data_tail. Both count bytes and never go back. A record that does not fit is
 * dropped and counted, because the ring is not one that overwrites.
 *
 * Locking: the caller owns the event, and calls these functions one at a time
 * for each. They need nothing from the writer, which may be in an NMI on another
 * CPU. The ring lives as long as the event: perf_event::rb is set once, under
 * perf_event::mmap_mutex, before the event is enabled, and the owner of the event reads
 * it without.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>
#include <linux/string.h>

#include <asm/barrier.h>

#include "internal.h"

/* Nobody takes the ring away before the event goes. */
static struct perf_buffer *ring_of(const struct perf_event *event)
{
	return event->rb;
}

/* What has been written and not been consumed. */
static unsigned long bytes_used(const struct perf_buffer *rb)
{
	const struct perf_event_mmap_page *page = rb->user_page;

	return READ_ONCE(page->data_head) - page->data_tail;
}

/**
 * perf_kernel_ring_attach - give an event a ring
 * @event: an event of perf_event_create_kernel_counter(), without an overflow
 *	   handler, and disabled
 * @pages: size of the ring; a power of two
 *
 * It goes with the event, by perf_event_release_kernel().
 *
 * Context: process context; may sleep.
 * Return: 0, -EINVAL if the size is not possible, -EBUSY if there is one, -ENOMEM.
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
		rb_free(rb);
	return err;
}

/**
 * perf_kernel_ring_size - how much fits
 * @event: an event with a ring
 *
 * Return: bytes.
 */
unsigned long perf_kernel_ring_size(const struct perf_event *event)
{
	return perf_data_size(ring_of(event));
}

/**
 * perf_kernel_ring_used - how much waits to be consumed
 * @event: an event with a ring
 *
 * Return: bytes.
 */
unsigned long perf_kernel_ring_used(const struct perf_event *event)
{
	return bytes_used(ring_of(event));
}

/*
 * The record at @tail in one piece, of which @used bytes are there; @copy is for
 * one that is not. NULL if it cannot be a record.
 */
static const struct perf_event_header *record_at(struct perf_buffer *rb, u64 tail,
						 u64 used, void *copy)
{
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	unsigned long offset = tail & (page_size - 1), first = page_size - offset;
	unsigned long page = tail / page_size;
	const struct perf_event_header *record;
	u16 size;

	/* Sizes are multiples of 8, and so a header is never in two pieces. */
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

/* see perf_kernel_ring_consume() */
int perf_buffer_consume(struct perf_buffer *rb, unsigned int most,
			perf_kernel_record_t consume, void *data)
{
	u64 copy[PERF_KERNEL_RECORD_MAX / sizeof(u64)];
	const struct perf_event_header *record;
	u64 tail = rb->user_page->data_tail;
	u64 head, used;
	int done = 0;

	/* Nothing of a record is read before the head that covers it. */
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

	/* The writer may have the place when all of it has been read. */
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
 * @most:    how many, at most
 * @consume: is called with each; the record is valid until it returns
 * @data:    for @consume
 *
 * What is written meanwhile is left for the next time.
 *
 * Context: any in which @consume may be called.
 * Return: how many records were taken; -EIO if something was found that is not a
 * record, or a longer one than PERF_KERNEL_RECORD_MAX: it has been dropped, with all
 * that came after it. What came before it has been taken.
 */
int perf_kernel_ring_consume(struct perf_event *event, unsigned int most,
			     perf_kernel_record_t consume, void *data)
{
	return perf_buffer_consume(ring_of(event), most, consume, data);
}

/**
 * perf_kernel_ring_lost - how many records did not fit
 * @event: an event with a ring
 *
 * Return: number of records, since the event was made.
 */
u64 perf_kernel_ring_lost(const struct perf_event *event)
{
	return atomic64_read(&event->lost_samples);
}
