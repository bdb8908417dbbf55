// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of source.c: what can be said of sources without having them.
 */
#include <kunit/test.h>
#include <linux/string.h>

#include "source.h"

/* The lowest bits of IBS's counter are not there, and perf refuses what has some set. */
static void R24_periods_that_a_source_can_have(struct kunit *test)
{
	const struct ks_source *s;
	int level, kind, steps = 0;
	u32 period;

	for (s = ks_sources + KS_AUTO + 1; s < ks_sources + ks_nr_sources; s++) {
		if (!strcmp(s->name, "ibs")) {
			KUNIT_EXPECT_EQ(test, s->period_step, 16);
			/* The hardware is not made for shorter ones. */
			KUNIT_EXPECT_EQ(test, ks_source_period(s, 1), 0x90);
			steps++;
		}
		for (kind = 0; kind < KS_NR_KINDS; kind++) {
			for (level = 0; level < KS_NR_LEVELS; level++) {
				period = ks_source_period(s, ks_periods[kind][level]);
				KUNIT_EXPECT_GE(test, period, 1);
				KUNIT_EXPECT_LE(test, period, ks_periods[kind][level]);
				if (s->period_step)
					KUNIT_EXPECT_EQ(test, period % s->period_step, 0);
			}
		}
		/* A knob may say so little. */
		KUNIT_EXPECT_GE(test, ks_source_period(s, 1), max(s->period_step, 1));
	}
	KUNIT_EXPECT_EQ(test, steps, 1);
}

/* Addresses need precise events, or ones that have an address anyway. */
static void R21_sources(struct kunit *test)
{
	const struct ks_source *s;
	int e;

	KUNIT_EXPECT_STREQ(test, ks_sources[KS_AUTO].name, "auto");
	for (s = ks_sources + KS_AUTO + 1; s < ks_sources + ks_nr_sources; s++) {
		KUNIT_EXPECT_GE(test, s->nr, 1);
		KUNIT_EXPECT_LE(test, s->nr, KS_MAX_EVENTS);
		for (e = 0; e < s->nr; e++) {
			KUNIT_EXPECT_NOT_NULL(test, s->events[e].name);
			if (!strcmp(s->name, "pebs"))
				KUNIT_EXPECT_EQ(test, s->events[e].skid, 2);
		}
	}
}

static struct kunit_case source_cases[] = {
	KUNIT_CASE(R21_sources),
	KUNIT_CASE(R24_periods_that_a_source_can_have),
	{}
};

static struct kunit_suite source_suite = {
	.name = "ksamplingd_source",
	.test_cases = source_cases,
};

kunit_test_suite(source_suite);
