// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of record.c.
 */
#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "record.h"

static struct ks_record parse(const u64 *words, u32 type, u16 size)
{
	struct perf_event_header *header = (void *)words;

	header->type = type;
	header->size = size;
	return ks_record_parse(header);
}

static void a_sample(struct kunit *test)
{
	u64 words[] = { 0, 7ULL << 32 | 5, 0xabcd, 0x12345000 };
	struct ks_record r = parse(words, PERF_RECORD_SAMPLE, sizeof(words));

	KUNIT_EXPECT_EQ(test, r.type, KS_SAMPLE);
	KUNIT_EXPECT_EQ(test, r.pid, 5);
	KUNIT_EXPECT_EQ(test, r.tid, 7);
	KUNIT_EXPECT_EQ(test, r.addr, 0xabcd);
	KUNIT_EXPECT_EQ(test, r.phys, 0x12345000);
}

/* Two records that sound alike: only one of them is not counted by the event. */
static void lost_is_not_lost_samples(struct kunit *test)
{
	u64 words[] = { 0, 100, 42 };
	struct ks_record r;

	r = parse(words, PERF_RECORD_LOST, 24);
	KUNIT_EXPECT_EQ(test, r.type, KS_DROPPED);
	KUNIT_EXPECT_EQ(test, r.lost, 42);
	r = parse(words, PERF_RECORD_LOST_SAMPLES, 16);
	KUNIT_EXPECT_EQ(test, r.type, KS_LOST);
	KUNIT_EXPECT_EQ(test, r.lost, 100);
}

static void every_type(struct kunit *test)
{
	u64 words[8] = {};
	int type;

	for (type = 0; type <= 100; type++) {
		enum ks_record_type expected = KS_OTHER;

		if (type == PERF_RECORD_SAMPLE)
			expected = KS_BROKEN;	/* of another size */
		else if (type == PERF_RECORD_LOST)
			expected = KS_DROPPED;
		else if (type == PERF_RECORD_LOST_SAMPLES)
			expected = KS_LOST;
		else if (type == PERF_RECORD_THROTTLE)
			expected = KS_THROTTLED;
		else if (type == PERF_RECORD_UNTHROTTLE)
			expected = KS_UNTHROTTLED;
		KUNIT_EXPECT_EQ(test, parse(words, type, sizeof(words)).type, expected);
	}
}

/* In memory of just that size, so that KASAN sees a look beyond the end. */
static void random_bytes(struct kunit *test)
{
	struct rnd_state rnd;
	struct ks_record r;
	int round;
	u64 *words;
	u16 size;

	prandom_seed_state(&rnd, 13);
	for (round = 0; round < 20000; round++) {
		size = 8 + 8 * (prandom_u32_state(&rnd) % 6);
		words = kmalloc(size, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, words);
		prandom_bytes_state(&rnd, words, size);
		r = parse(words, prandom_u32_state(&rnd) % 24, size);
		KUNIT_EXPECT_LE(test, r.type, KS_BROKEN);
		if (r.type == KS_SAMPLE)
			KUNIT_EXPECT_EQ(test, size, 32);
		kfree(words);
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(a_sample),
	KUNIT_CASE(every_type),
	KUNIT_CASE(lost_is_not_lost_samples),
	KUNIT_CASE(random_bytes),
	{}
};

static struct kunit_suite record_suite = {
	.name = "ksamplingd_record",
	.test_cases = record_cases,
};

kunit_test_suite(record_suite);
