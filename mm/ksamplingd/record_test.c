// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of record.c.
 */
#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "record.h"

static const struct perf_event_attr plain = {
	.sample_type = KS_SAMPLE_TYPE,
	.exclude_kernel = 1,
};

/* as of IBS before Zen 4 */
static const struct perf_event_attr with_from = {
	.sample_type = KS_SAMPLE_TYPE | PERF_SAMPLE_DATA_SRC,
};

static struct ks_record parse_as(const struct perf_event_attr *attr, const u64 *words,
				 u32 type, u16 size)
{
	struct perf_event_header *header = (void *)words;

	header->type = type;
	header->size = size;
	return ks_record_parse(header, attr);
}

static struct ks_record parse(const u64 *words, u32 type, u16 size)
{
	return parse_as(&plain, words, type, size);
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
	KUNIT_EXPECT_EQ(test, r.from, 0);
}

static void R20_a_sample_with_its_origin(struct kunit *test)
{
	u64 words[] = { 0, 7ULL << 32 | 5, 0xabcd, PERF_MEM_S(LVLNUM, RAM), 0x12345000 };
	struct ks_record r = parse_as(&with_from, words, PERF_RECORD_SAMPLE, sizeof(words));

	KUNIT_EXPECT_EQ(test, r.type, KS_SAMPLE);
	KUNIT_EXPECT_EQ(test, r.pid, 5);
	KUNIT_EXPECT_EQ(test, r.tid, 7);
	KUNIT_EXPECT_EQ(test, r.addr, 0xabcd);
	KUNIT_EXPECT_EQ(test, r.phys, 0x12345000);
	KUNIT_EXPECT_EQ(test, r.from, PERF_MEM_S(LVLNUM, RAM));

	/* Neither is taken for the other. */
	r = parse(words, PERF_RECORD_SAMPLE, sizeof(words));
	KUNIT_EXPECT_EQ(test, r.type, KS_BROKEN);
	r = parse_as(&with_from, words, PERF_RECORD_SAMPLE, KS_SAMPLE_BYTES);
	KUNIT_EXPECT_EQ(test, r.type, KS_BROKEN);
}

static enum ks_discard filter(const struct perf_event_attr *attr, u64 addr, u64 phys,
			      u64 from)
{
	u64 words[] = { 0, 0, addr, from, phys };
	struct ks_record r = parse_as(attr, words, PERF_RECORD_SAMPLE, sizeof(words));

	return ks_record_filter(&r, attr);
}

/* What perf makes of IBS's numbers: perf_ibs_get_mem_lvl(). */
static void R20_only_what_came_from_memory(struct kunit *test)
{
	static const struct { u64 from; bool memory; } origins[] = {
		{ PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, RAM), true },
		{ PERF_MEM_S(LVL, REM_RAM1) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, RAM) |
		  PERF_MEM_S(REMOTE, REMOTE) | PERF_MEM_S(HOPS, 1), true },
		{ PERF_MEM_S(LVLNUM, PMEM), true },
		{ PERF_MEM_S(LVLNUM, PMEM) | PERF_MEM_S(REMOTE, REMOTE), true },
		{ PERF_MEM_S(LVLNUM, CXL), true },
		{ PERF_MEM_S(LVL, LOC_RAM), true },	/* without a number */
		{ PERF_MEM_S(LVL, REM_RAM2), true },
		{ PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L1), false },
		{ PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L2), false },
		{ PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L3), false },
		{ PERF_MEM_S(LVL, REM_CCE2) | PERF_MEM_S(LVLNUM, ANY_CACHE), false },
		{ PERF_MEM_S(LVL, LFB) | PERF_MEM_S(LVLNUM, LFB), false },
		{ PERF_MEM_S(LVL, IO) | PERF_MEM_S(LVLNUM, IO), false },
		{ PERF_MEM_S(LVL, UNC) | PERF_MEM_S(LVLNUM, UNC), false },
		{ PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA), false },
		{ PERF_MEM_NA, false },
		{ 0, false },
	};
	enum ks_discard expected;
	int i;

	for (i = 0; i < ARRAY_SIZE(origins); i++) {
		expected = origins[i].memory ? KS_NOT_DISCARDED : KS_NOT_MEMORY;
		KUNIT_EXPECT_EQ_MSG(test, expected,
				    filter(&with_from, 0x1000, 0x2000, origins[i].from),
				    "origin %d", i);
	}
	/* What has no address is discarded for that, by the code that looks for the page. */
	KUNIT_EXPECT_EQ(test, filter(&with_from, 0, 0, PERF_MEM_NA), KS_NOT_DISCARDED);
}

static void R20_not_the_kernel(struct kunit *test)
{
	struct perf_event_attr hardware_does = with_from;
	u64 ram = PERF_MEM_S(LVLNUM, RAM);

	KUNIT_EXPECT_EQ(test, filter(&with_from, ULONG_MAX, 0x2000, ram), KS_KERNEL);
	KUNIT_EXPECT_EQ(test, filter(&with_from, TASK_SIZE_MAX, 0x2000, ram), KS_KERNEL);
	KUNIT_EXPECT_EQ(test, filter(&with_from, TASK_SIZE_MAX - 1, 0x2000, ram),
			KS_NOT_DISCARDED);
	/* Also of what is in no cache, and has no physical address. */
	KUNIT_EXPECT_EQ(test, filter(&with_from, ULONG_MAX, 0, PERF_MEM_NA), KS_KERNEL);
	hardware_does.exclude_kernel = 1;
	KUNIT_EXPECT_EQ(test, filter(&hardware_does, ULONG_MAX, 0x2000, ram),
			KS_NOT_DISCARDED);
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
		r = parse_as(round % 2 ? &with_from : &plain, words,
			     prandom_u32_state(&rnd) % 24, size);
		KUNIT_EXPECT_LE(test, r.type, KS_BROKEN);
		if (r.type == KS_SAMPLE)
			KUNIT_EXPECT_EQ(test, size, round % 2 ? 40 : 32);
		kfree(words);
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(a_sample),
	KUNIT_CASE(R20_a_sample_with_its_origin),
	KUNIT_CASE(R20_only_what_came_from_memory),
	KUNIT_CASE(R20_not_the_kernel),
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
