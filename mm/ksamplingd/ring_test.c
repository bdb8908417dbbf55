// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of ring.c: which rings are to be emptied, and how much a round takes.
 */
#include <kunit/test.h>
#include <linux/minmax.h>

#include "ring.h"

static void R22_hysteresis(struct kunit *test)
{
	static const struct { unsigned long used; bool draining; } steps[] = {
		{ 0, false }, { 500, false }, { 800, false }, { 801, true }, { 700, true },
		{ 200, true }, { 199, false }, { 500, false }, { 1000, true }, { 0, false },
	};
	bool draining = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		draining = ks_ring_is_draining(draining, steps[i].used, 1000);
		KUNIT_EXPECT_EQ_MSG(test, draining, steps[i].draining, "step %d", i);
	}
}

/* Bytes with bytes: not half a page of a ring, but four fifths of it. */
static void R22_of_any_size(struct kunit *test)
{
	unsigned long size;

	for (size = PAGE_SIZE; size <= 4096 * PAGE_SIZE; size *= 2) {
		KUNIT_EXPECT_FALSE(test, ks_ring_is_draining(false, size * 79 / 100, size));
		KUNIT_EXPECT_TRUE(test, ks_ring_is_draining(false, size * 81 / 100, size));
		KUNIT_EXPECT_TRUE(test, ks_ring_is_draining(true, size * 21 / 100, size));
		KUNIT_EXPECT_FALSE(test, ks_ring_is_draining(true, size * 19 / 100, size));
	}
}

/* A ring as a round sees it, nothing is added meanwhile. Return: what was taken. */
static unsigned long drain(bool *draining, unsigned long used, unsigned long size,
			   unsigned long batch)
{
	unsigned long done = 0, part;
	bool more;

	*draining = ks_ring_is_draining(*draining, used, size);
	do {
		part = min(batch, used);
		more = used > batch;
		done += part;
		used -= part;
		*draining = ks_ring_is_draining(*draining, used, size);
	} while (ks_ring_goes_on(*draining, more, done, size));
	return done;
}

static void R22_bounded_batch(struct kunit *test)
{
	bool calm = false, busy = false;

	KUNIT_EXPECT_EQ(test, drain(&calm, 400, 1000, 10), 400);
	KUNIT_EXPECT_EQ(test, drain(&calm, 800, 1000, 10), 500);
	/* Too full: until it is below a fifth. */
	KUNIT_EXPECT_EQ(test, drain(&busy, 810, 1000, 10), 620);
	KUNIT_EXPECT_EQ(test, drain(&busy, 1000, 1000, 10), 810);
	/* If that took several rounds, the next one goes on. */
	busy = true;
	KUNIT_EXPECT_EQ(test, drain(&busy, 750, 1000, 10), 560);
	KUNIT_EXPECT_FALSE(test, busy);
	/* What the busy one does is its own. */
	KUNIT_EXPECT_EQ(test, drain(&calm, 750, 1000, 10), 500);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(R22_hysteresis),
	KUNIT_CASE(R22_of_any_size),
	KUNIT_CASE(R22_bounded_batch),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "ksamplingd_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
