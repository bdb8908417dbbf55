// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of perf_buffer_consume(). There is no event here: the test is the
 * writer, and its own memory of what it wrote is the model.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kfifo.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include "internal.h"

#define MAX_WORDS	(PERF_KERNEL_RECORD_MAX / sizeof(u64))

struct ring {
	struct kunit *test;
	struct perf_buffer *rb;
	struct rnd_state rnd;
	u64 written, read;		/* how many records */
	DECLARE_KFIFO(words, u8, SZ_4K); /* length of each that is in the ring */
};

static unsigned long ring_size(struct ring *ring)
{
	return perf_data_size(ring->rb);
}

static u64 *word_at(struct ring *ring, u64 at)
{
	unsigned long page_size = PAGE_SIZE << page_order(ring->rb);

	at &= ring_size(ring) - 1;
	return ring->rb->data_pages[at / page_size] + at % page_size;
}

static unsigned int below(struct ring *ring, unsigned int limit)
{
	return prandom_u32_state(&ring->rnd) % limit;
}

/* What stands in the record with a number. */
static u64 content(u64 number, unsigned int word)
{
	return number * MAX_WORDS + word;
}

static void put_header(struct ring *ring, u16 size)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };

	memcpy(word_at(ring, ring->rb->user_page->data_head), &header, sizeof(header));
}

/* Return: false if there is no place. */
static bool put(struct ring *ring, unsigned int words)
{
	struct perf_event_mmap_page *page = ring->rb->user_page;
	unsigned int i;

	if (page->data_head - page->data_tail + words * 8 > ring_size(ring))
		return false;

	put_header(ring, words * 8);
	for (i = 1; i < words; i++)
		*word_at(ring, page->data_head + i * 8) = content(ring->written, i);
	page->data_head += words * 8;
	kfifo_put(&ring->words, words);
	ring->written++;
	return true;
}

static void expect_next(const struct perf_event_header *record, void *data)
{
	const u64 *got = (const u64 *)record;
	struct ring *ring = data;
	u8 words = 0;
	int i;

	KUNIT_ASSERT_TRUE(ring->test, kfifo_get(&ring->words, &words));
	KUNIT_ASSERT_EQ(ring->test, record->size, words * 8);
	for (i = 1; i < words; i++)
		KUNIT_ASSERT_EQ(ring->test, got[i], content(ring->read, i));
	ring->read++;
}

static int take(struct ring *ring, unsigned int most)
{
	return perf_buffer_consume(ring->rb, most, expect_next, ring);
}

static struct ring *new_ring(struct kunit *test, int pages)
{
	struct ring *ring = kunit_kzalloc(test, sizeof(*ring), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	ring->test = test;
	INIT_KFIFO(ring->words);
	prandom_seed_state(&ring->rnd, 20);
	ring->rb = rb_alloc(pages, 0, -1, RING_BUFFER_WRITABLE);
	KUNIT_ASSERT_NOT_NULL(test, ring->rb);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, (kunit_action_t *)ring_buffer_put,
						  ring->rb));
	return ring;
}

static void R22_in_order(struct kunit *test)
{
	struct ring *ring = new_ring(test, 1);

	KUNIT_EXPECT_EQ(test, take(ring, 10), 0);
	put(ring, 1);
	put(ring, 5);
	put(ring, 3);
	KUNIT_EXPECT_EQ(test, take(ring, 0), 0);
	KUNIT_EXPECT_EQ(test, take(ring, 2), 2);
	KUNIT_EXPECT_EQ(test, take(ring, 2), 1);
	KUNIT_EXPECT_EQ(test, ring->read, 3);
	KUNIT_EXPECT_EQ(test, ring->rb->user_page->data_tail, 9 * 8);
}

/* Records of all lengths at all places, in rings of one page and of more. */
static void R22_any_history(struct kunit *test)
{
	static const int pages[] = { 1, 2, 8 };
	unsigned int most;
	struct ring *ring;
	int p, step;
	u64 before;

	for (p = 0; p < ARRAY_SIZE(pages); p++) {
		ring = new_ring(test, pages[p]);
		/* Positions go past 2^32 on the way. */
		ring->rb->user_page->data_head = U32_MAX - ring_size(ring) + 1;
		ring->rb->user_page->data_tail = ring->rb->user_page->data_head;

		for (step = 0; step < 20000; step++) {
			while (below(ring, 8) && put(ring, 1 + below(ring, MAX_WORDS)))
				;
			most = below(ring, 12);
			before = kfifo_len(&ring->words);
			KUNIT_ASSERT_EQ(test, take(ring, most), min(before, most));
		}
		while (kfifo_len(&ring->words))
			KUNIT_ASSERT_GT(test, take(ring, 100), 0);
		KUNIT_EXPECT_EQ(test, ring->read, ring->written);
		KUNIT_EXPECT_GT(test, ring->rb->user_page->data_tail, (u64)U32_MAX);
	}
}

/* A ring that is full to the last byte is not an empty one. */
static void R22_full(struct kunit *test)
{
	struct ring *ring = new_ring(test, 2);
	int records = 0;

	while (put(ring, 4))
		records++;
	KUNIT_EXPECT_EQ(test, records, ring_size(ring) / 32);
	KUNIT_EXPECT_EQ(test, take(ring, INT_MAX), records);
}

/* Nothing that is in the ring makes the reader loop, or read what is not there. */
static void R22_garbage(struct kunit *test)
{
	static const u16 sizes[] = { 0, 4, 7, 9, 12, 48, 0x7fff, 0xfff8, 0xffff };
	struct perf_event_mmap_page *page;
	struct ring *ring;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ring = new_ring(test, 2);
		page = ring->rb->user_page;
		put(ring, 3);
		put_header(ring, sizes[i]);
		page->data_head += 40;

		KUNIT_EXPECT_EQ(test, take(ring, INT_MAX), -EIO);
		KUNIT_EXPECT_EQ(test, ring->read, 1);
		KUNIT_EXPECT_EQ(test, page->data_tail, page->data_head);

		/* and it goes on */
		put(ring, 3);
		ring->read = 1;
		KUNIT_EXPECT_EQ(test, take(ring, INT_MAX), 1);
	}
}

/* Wherever it lies: not only where it would have to be copied. */
static void R22_too_long(struct kunit *test)
{
	static const int starts[] = { 0, PAGE_SIZE - 16 };
	struct perf_event_mmap_page *page;
	struct ring *ring;
	int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		ring = new_ring(test, 2);
		page = ring->rb->user_page;
		page->data_tail = starts[i];
		page->data_head = starts[i];
		put_header(ring, PERF_KERNEL_RECORD_MAX + 8);
		page->data_head += PERF_KERNEL_RECORD_MAX + 8;
		KUNIT_EXPECT_EQ(test, take(ring, 1), -EIO);
		KUNIT_EXPECT_EQ(test, page->data_tail, page->data_head);
	}
}

static void ignore(const struct perf_event_header *record, void *data)
{
	(*(unsigned int *)data) += record->size;
}

static void R22_random_bytes(struct kunit *test)
{
	struct ring *ring = new_ring(test, 4);
	struct perf_event_mmap_page *page = ring->rb->user_page;
	unsigned int round, bytes;
	u64 used;
	int i;

	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 4; i++)
			prandom_bytes_state(&ring->rnd, ring->rb->data_pages[i], PAGE_SIZE);
		/* Records that could be, of nonsense. */
		for (i = 0; below(ring, 4) && i < ring_size(ring); i += 8 + 8 * below(ring, 80))
			((struct perf_event_header *)word_at(ring, i))->size &= 0x1f8;

		used = below(ring, ring_size(ring) + 64);
		page->data_head = page->data_tail + used;
		bytes = 0;
		while (page->data_head != page->data_tail &&
		       perf_buffer_consume(ring->rb, 3, ignore, &bytes) > 0)
			;
		KUNIT_ASSERT_LE(test, (u64)bytes, used);
		KUNIT_ASSERT_EQ(test, page->data_head, page->data_tail);
	}
}

/* No more than the ring can hold is believed. */
static void R22_impossible_head(struct kunit *test)
{
	struct ring *ring = new_ring(test, 1);
	struct perf_event_mmap_page *page = ring->rb->user_page;

	put(ring, 2);
	page->data_head += ring_size(ring);
	KUNIT_EXPECT_EQ(test, take(ring, 5), -EIO);
	KUNIT_EXPECT_EQ(test, ring->read, 0);
	KUNIT_EXPECT_EQ(test, page->data_tail, page->data_head);
}

static void expect_words(const struct perf_event_header *record, void *data)
{
	struct kunit *test = data;

	KUNIT_EXPECT_EQ(test, record->type, PERF_RECORD_SAMPLE);
	KUNIT_EXPECT_EQ(test, record->size, 4 * sizeof(u64));
}

/* An event of the kernel's own, and what perf really writes to its ring. */
static void R20_records_of_an_event(struct kunit *test)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR,
		.disabled = 1,
	};
	struct perf_event *event;
	int i;

	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_attach(event, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_attach(event, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_attach(event, 1), 0);
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_attach(event, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_size(event), PAGE_SIZE);

	perf_event_enable(event);
	for (i = 0; i < 10; i++)
		fsleep(USEC_PER_MSEC);
	perf_event_disable(event);
	KUNIT_EXPECT_GE(test, perf_kernel_ring_consume(event, 100, expect_words, test), 10);
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_used(event), 0);

	/* No reader: it fills up, and the rest is counted. */
	perf_event_enable(event);
	for (i = 0; i < PAGE_SIZE / 32 + 10; i++)
		fsleep(USEC_PER_MSEC);
	perf_event_disable(event);
	KUNIT_EXPECT_GE(test, perf_kernel_ring_lost(event), 10);
	/* perf leaves one byte free. */
	KUNIT_EXPECT_EQ(test, perf_kernel_ring_consume(event, 1000, expect_words, test),
			PAGE_SIZE / 32 - 1);
	perf_event_release_kernel(event);
}

struct attachment {
	struct work_struct work;
	struct perf_event *event;
	int err;
};

static void attach(struct work_struct *work)
{
	struct attachment *a = container_of(work, struct attachment, work);

	a->err = perf_kernel_ring_attach(a->event, 1);
}

/* As mmap() does: nobody else changes perf_event::rb meanwhile. */
static void R20_attaches_under_the_lock(struct kunit *test)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.disabled = 1,
	};
	struct attachment a = { .err = 1 };

	a.event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a.event));
	INIT_WORK_ONSTACK(&a.work, attach);

	mutex_lock(&a.event->mmap_mutex);
	schedule_work(&a.work);
	fsleep(50 * USEC_PER_MSEC);
	KUNIT_EXPECT_NULL(test, READ_ONCE(a.event->rb));
	mutex_unlock(&a.event->mmap_mutex);
	flush_work(&a.work);
	KUNIT_EXPECT_EQ(test, a.err, 0);
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(a.event->rb));

	destroy_work_on_stack(&a.work);
	perf_event_release_kernel(a.event);
}

static struct kunit_case kernel_ring_cases[] = {
	KUNIT_CASE(R20_attaches_under_the_lock),
	KUNIT_CASE(R20_records_of_an_event),
	KUNIT_CASE(R22_in_order),
	KUNIT_CASE(R22_any_history),
	KUNIT_CASE(R22_full),
	KUNIT_CASE(R22_garbage),
	KUNIT_CASE(R22_too_long),
	KUNIT_CASE(R22_random_bytes),
	KUNIT_CASE(R22_impossible_head),
	{}
};

static struct kunit_suite kernel_ring_suite = {
	.name = "perf_kernel_ring",
	.test_cases = kernel_ring_cases,
};

kunit_test_suite(kernel_ring_suite);
