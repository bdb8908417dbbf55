// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of promote_plan.c.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include "promote_plan.h"

#define SLOTS	8

static struct ks_candidate slots[SLOTS];

static struct ks_queue new_queue(void)
{
	struct ks_queue q;

	ks_queue_init(&q, slots, SLOTS);
	return q;
}

static unsigned long take_pfn(struct ks_queue *q, u64 now_ns)
{
	struct ks_candidate *c = ks_queue_take(q, now_ns);
	unsigned long pfn = c ? c->pfn : 0;

	if (c)
		ks_queue_done(q, c);
	return pfn;
}

static void R31_first_come_first_taken(struct kunit *test)
{
	struct ks_queue q = new_queue();
	struct ks_candidate *c;
	int i;

	KUNIT_EXPECT_FALSE(test, ks_queue_has(&q, 0));
	KUNIT_EXPECT_PTR_EQ(test, ks_queue_take(&q, 0), NULL);
	for (i = 1; i <= 3; i++)
		KUNIT_EXPECT_TRUE(test, ks_queue_put(&q, i, 0, -1, 1024));
	KUNIT_EXPECT_TRUE(test, ks_queue_put(&q, 512, 9, 2, 77));
	KUNIT_EXPECT_TRUE(test, ks_queue_has(&q, 0));
	KUNIT_EXPECT_EQ(test, q.pages, 3 + 512);
	for (i = 1; i <= 3; i++)
		KUNIT_EXPECT_EQ(test, take_pfn(&q, 0), i);
	c = ks_queue_take(&q, 0);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_EXPECT_EQ(test, c->pfn, 512);
	KUNIT_EXPECT_EQ(test, c->order, 9);
	KUNIT_EXPECT_EQ(test, c->from_nid, 2);
	KUNIT_EXPECT_EQ(test, c->heat, 77);
	/* It is queued until somebody is done with it. */
	KUNIT_EXPECT_EQ(test, q.pages, 512);
	ks_queue_done(&q, c);
	KUNIT_EXPECT_EQ(test, q.pages, 0);
}

/* What is taken has its place until then, so that it can always go back. */
static void R31_full_queue_refuses(struct kunit *test)
{
	struct ks_queue q = new_queue();
	struct ks_candidate *c;
	int i;

	for (i = 1; i <= SLOTS; i++)
		KUNIT_EXPECT_TRUE(test, ks_queue_put(&q, i, 0, -1, 0));
	KUNIT_EXPECT_FALSE(test, ks_queue_put(&q, 99, 0, -1, 0));
	c = ks_queue_take(&q, 0);
	KUNIT_EXPECT_FALSE(test, ks_queue_put(&q, 99, 0, -1, 0));
	ks_queue_back(&q, c);
	KUNIT_EXPECT_EQ(test, take_pfn(&q, 0), 1);
	KUNIT_EXPECT_TRUE(test, ks_queue_put(&q, 99, 0, -1, 0));
	KUNIT_EXPECT_EQ(test, q.pages, SLOTS);
}

static void R31_tried_again_with_a_limit(struct kunit *test)
{
	struct ks_queue q = new_queue();
	struct ks_candidate *c;
	u64 now = 1000;
	int tries;

	ks_queue_put(&q, 7, 0, -1, 0);
	for (tries = 1; tries < KS_MOST_TRIES; tries++) {
		c = ks_queue_take(&q, now);
		KUNIT_ASSERT_NOT_NULL(test, c);
		KUNIT_EXPECT_TRUE(test, ks_queue_again(&q, c, now));
		KUNIT_EXPECT_FALSE(test, ks_queue_has(&q, now + KS_RETRY_NS - 1));
		KUNIT_EXPECT_PTR_EQ(test, ks_queue_take(&q, now + KS_RETRY_NS - 1), NULL);
		now += KS_RETRY_NS;
		KUNIT_EXPECT_TRUE(test, ks_queue_has(&q, now));
	}
	c = ks_queue_take(&q, now);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_EXPECT_FALSE(test, ks_queue_again(&q, c, now));
	KUNIT_EXPECT_EQ(test, q.pages, 1);
	ks_queue_done(&q, c);
	KUNIT_EXPECT_EQ(test, q.pages, 0);
	KUNIT_EXPECT_FALSE(test, ks_queue_has(&q, U64_MAX));
}

/* One that waits keeps nobody else from being tried. */
static void R31_who_waits_is_passed(struct kunit *test)
{
	struct ks_queue q = new_queue();

	ks_queue_put(&q, 1, 0, -1, 0);
	ks_queue_put(&q, 2, 0, -1, 0);
	ks_queue_put(&q, 3, 0, -1, 0);
	ks_queue_again(&q, ks_queue_take(&q, 0), 0);
	KUNIT_EXPECT_EQ(test, take_pfn(&q, 1), 2);
	KUNIT_EXPECT_EQ(test, take_pfn(&q, KS_RETRY_NS), 1);
	KUNIT_EXPECT_EQ(test, take_pfn(&q, KS_RETRY_NS), 3);
}

/* Whatever is done, no slot is lost and none is there twice. */
static void R31_no_slot_is_lost(struct kunit *test)
{
	struct ks_queue q = new_queue();
	struct ks_candidate *taken[SLOTS];
	struct rnd_state rnd;
	unsigned long pfn = 0;
	int nr = 0, i, step;
	u64 now = 0;

	prandom_seed_state(&rnd, 31);
	for (step = 0; step < 20000; step++) {
		u32 what = prandom_u32_state(&rnd) % 6;

		now += prandom_u32_state(&rnd) % (KS_RETRY_NS / 4);
		if (what < 2)
			ks_queue_put(&q, ++pfn, 0, -1, 0);
		else if (what == 2 && nr < SLOTS && ks_queue_has(&q, now))
			taken[nr++] = ks_queue_take(&q, now);
		else if (what == 3 && nr && ks_queue_again(&q, taken[nr - 1], now))
			nr--;
		else if (what == 4 && nr)
			ks_queue_done(&q, taken[--nr]);
		else if (what == 5 && nr)
			ks_queue_back(&q, taken[--nr]);
	}
	while (nr)
		ks_queue_done(&q, taken[--nr]);
	while (take_pfn(&q, U64_MAX))
		;
	KUNIT_EXPECT_EQ(test, q.pages, 0);
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_TRUE(test, ks_queue_put(&q, i + 1, 0, -1, 0));
	KUNIT_EXPECT_FALSE(test, ks_queue_put(&q, 99, 0, -1, 0));
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, take_pfn(&q, 0), i + 1);
}

/* Return: bytes that can be moved in a time, in folios of this size. */
static u64 move_for(struct ks_rate *r, u32 mb, u32 shift, u64 from_ns, u64 ns, u64 step_ns,
		    u64 size)
{
	u64 moved = 0, now;

	for (now = from_ns + step_ns; now <= from_ns + ns; now += step_ns) {
		ks_rate_fill(r, mb, shift, now);
		while (ks_rate_take(r, size))
			moved += size;
	}
	return moved;
}

static void expect_near(struct kunit *test, u64 is, u64 wanted, u64 by)
{
	KUNIT_EXPECT_GE(test, is + by, wanted);
	KUNIT_EXPECT_LE(test, is, wanted + by);
}

static void R31_rate(struct kunit *test)
{
	struct ks_rate r = {};

	/* Base pages and huge pages, often and seldom */
	expect_near(test, move_for(&r, 100, 0, 0, 10 * NSEC_PER_SEC, NSEC_PER_MSEC, SZ_4K),
		    1000ULL * SZ_1M, SZ_4K);
	r = (struct ks_rate) {};
	expect_near(test, move_for(&r, 100, 0, 0, 10 * NSEC_PER_SEC, 50 * NSEC_PER_MSEC, SZ_2M),
		    1000ULL * SZ_1M, SZ_2M);
	/* At 1 MB/s, 2 MiB at once are paid for later. */
	r = (struct ks_rate) {};
	expect_near(test, move_for(&r, 1, 0, 0, 60 * NSEC_PER_SEC, 10 * NSEC_PER_MSEC, SZ_2M),
		    60 * SZ_1M, SZ_2M);
	/* Halved twice */
	r = (struct ks_rate) {};
	expect_near(test, move_for(&r, 64, 2, 0, 10 * NSEC_PER_SEC, NSEC_PER_MSEC, SZ_4K),
		    160 * SZ_1M, SZ_4K);
}

/* After a pause there is no more than a tenth of a second gives, or a huge page. */
static void R31_bursts_have_a_limit(struct kunit *test)
{
	struct ks_rate r = {};
	u64 hour = 3600ULL * NSEC_PER_SEC;

	KUNIT_EXPECT_EQ(test, move_for(&r, 100, 0, 0, hour, hour, SZ_4K), 10 * SZ_1M);
	KUNIT_EXPECT_EQ(test, move_for(&r, 1, 0, hour, hour, hour, SZ_4K), SZ_2M);
	/* The most that can be, for as long as can be */
	r = (struct ks_rate) {};
	ks_rate_fill(&r, 100000, 0, S64_MAX);
	KUNIT_EXPECT_EQ(test, r.bytes, 100000LL * SZ_1M / 10);
}

static void R31_what_failed_costs_nothing(struct kunit *test)
{
	struct ks_rate r = { .bytes = SZ_4K };

	KUNIT_EXPECT_TRUE(test, ks_rate_take(&r, SZ_2M));
	KUNIT_EXPECT_FALSE(test, ks_rate_take(&r, SZ_4K));
	ks_rate_give(&r, SZ_2M);
	KUNIT_EXPECT_TRUE(test, ks_rate_take(&r, SZ_4K));
	KUNIT_EXPECT_FALSE(test, ks_rate_take(&r, SZ_4K));
}

/* Return: the shift after some minutes of the same. */
static u32 after_minutes(struct ks_returns *r, u64 *now_s, u32 minutes, u32 up, u32 back)
{
	u64 end = *now_s + 60 * minutes;

	for (; *now_s < end; ++*now_s) {
		r->up[1] += up;
		r->back[1] += back;
		ks_returns_window(r, *now_s);
	}
	return r->shift;
}

static void R31_returns_lower_the_rate(struct kunit *test)
{
	struct ks_returns r = {};
	u64 now = 1000;

	/* A quarter is not too many, more is. */
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 10, 1000, 250), 0);
	KUNIT_EXPECT_EQ(test, r.permille, 250);
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 1, 1000, 300), 1);
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 1, 1000, 300), 3);
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 1000, 300), KS_MOST_SHIFT);
	/* Between the limits nothing changes, */
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 1000, 200), KS_MOST_SHIFT);
	/* and below it comes back. */
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 1000, 100), 0);
	/* More can come back than went up in that minute. */
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 1000, 9000), KS_MOST_SHIFT);
	KUNIT_EXPECT_EQ(test, r.permille, 1000);
	/* Nothing at all is no reason to be slow. */
	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 0, 0), 0);
}

static void R31_few_returns_do_not_count(struct kunit *test)
{
	struct ks_returns r = {};
	u64 now = 0;

	KUNIT_EXPECT_EQ(test, after_minutes(&r, &now, 9, 10, 10), 0);
}

static void R31_a_page_that_came_back_has_to_be_hotter(struct kunit *test)
{
	struct ks_past p = {};
	bool returned;
	u64 now = 50;
	int n;

	KUNIT_EXPECT_TRUE(test, ks_past_is_over(p, now));
	KUNIT_EXPECT_TRUE(test, ks_past_allows(p, now, 1, 1024));
	for (n = 1; n <= 5; n++) {
		p = ks_past_promoted(p, now);
		p = ks_past_demoted(p, now + 59, &returned);
		KUNIT_EXPECT_TRUE(test, returned);
		now += 60;
		KUNIT_EXPECT_EQ(test, ks_past_returns(p, now), min(n, 3));
		KUNIT_EXPECT_FALSE(test, ks_past_allows(p, now, (1024 << min(n, 3)) - 1, 1024));
		KUNIT_EXPECT_TRUE(test, ks_past_allows(p, now, 1024 << min(n, 3), 1024));
	}
	/* It is down: to be moved further down is not to come back again. */
	p = ks_past_demoted(p, now, &returned);
	KUNIT_EXPECT_FALSE(test, returned);
	KUNIT_EXPECT_EQ(test, ks_past_returns(p, now), 3);
	/* The bar has no end that heat would reach by wrapping. */
	KUNIT_EXPECT_FALSE(test, ks_past_allows(p, now, U32_MAX, U32_MAX));
	/* Forgotten */
	now += KS_FORGET_S - 1;
	KUNIT_EXPECT_FALSE(test, ks_past_is_over(p, now - 1));
	KUNIT_EXPECT_TRUE(test, ks_past_is_over(p, now));
	KUNIT_EXPECT_TRUE(test, ks_past_allows(p, now, 1, 1024));
	p = ks_past_promoted(p, now);
	KUNIT_EXPECT_EQ(test, ks_past_returns(p, now), 0);
}

static void R31_only_a_minute_is_a_return(struct kunit *test)
{
	struct ks_past p = ks_past_promoted((struct ks_past) {}, 100);
	bool returned;

	p = ks_past_demoted(p, 160, &returned);
	KUNIT_EXPECT_FALSE(test, returned);
	KUNIT_EXPECT_EQ(test, p.word, 0);

	/* What nobody has promoted does not come back. */
	p = ks_past_demoted((struct ks_past) {}, 20, &returned);
	KUNIT_EXPECT_FALSE(test, returned);
	KUNIT_EXPECT_EQ(test, p.word, 0);

	/* Time wraps, with 28 bits of it. */
	p = ks_past_promoted((struct ks_past) {}, BIT_ULL(28) - 1);
	p = ks_past_demoted(p, BIT_ULL(28) + 1, &returned);
	KUNIT_EXPECT_TRUE(test, returned);
	KUNIT_EXPECT_EQ(test, ks_past_returns(p, BIT_ULL(28) + 2), 1);
}

static struct kunit_case plan_cases[] = {
	KUNIT_CASE(R31_first_come_first_taken),
	KUNIT_CASE(R31_full_queue_refuses),
	KUNIT_CASE(R31_tried_again_with_a_limit),
	KUNIT_CASE(R31_who_waits_is_passed),
	KUNIT_CASE(R31_no_slot_is_lost),
	KUNIT_CASE(R31_rate),
	KUNIT_CASE(R31_bursts_have_a_limit),
	KUNIT_CASE(R31_what_failed_costs_nothing),
	KUNIT_CASE(R31_returns_lower_the_rate),
	KUNIT_CASE(R31_few_returns_do_not_count),
	KUNIT_CASE(R31_a_page_that_came_back_has_to_be_hotter),
	KUNIT_CASE(R31_only_a_minute_is_a_return),
	{}
};

static struct kunit_suite plan_suite = {
	.name = "ksamplingd_promote",
	.test_cases = plan_cases,
};

kunit_test_suite(plan_suite);
