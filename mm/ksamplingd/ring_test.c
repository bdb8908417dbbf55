// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of ring.c: which rings are to be emptied.
 */
#include <kunit/test.h>

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

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(R22_hysteresis),
	KUNIT_CASE(R22_of_any_size),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "ksamplingd_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
