// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of source.c: what can be said of sources without having them.
 */
#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#ifdef CONFIG_X86
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#include <asm/perf_event.h>
#endif

#include "reads.h"
#include "record.h"
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

/* An automatic source knows hot pages from cold ones; else there is none. */
static void R21_what_auto_may_choose(struct kunit *test)
{
	const struct ks_source *s;

	for (s = ks_sources + KS_AUTO + 1; s < ks_sources + ks_nr_sources; s++)
		KUNIT_EXPECT_EQ_MSG(test, s->automatic,
				    !strcmp(s->name, "pebs") || !strcmp(s->name, "ibs"),
				    "%s", s->name);
}

static void R27_how_often_events_are_read(struct kunit *test)
{
	const struct ks_source *s;

	for (s = ks_sources + KS_AUTO + 1; s < ks_sources + ks_nr_sources; s++) {
		if (!strcmp(s->name, "pebs"))
			KUNIT_EXPECT_EQ(test, ks_source_reads(s), KS_READS_LEAST);
		if (!strcmp(s->name, "ibs"))
			KUNIT_EXPECT_EQ(test, ks_source_reads(s), 1);
		if (!strcmp(s->name, "faults"))
			KUNIT_EXPECT_EQ(test, ks_source_reads(s), 0);
	}
}

#ifdef CONFIG_X86
static void R20_processors_with_known_events(struct kunit *test)
{
	static const u32 known[] = {
		INTEL_SKYLAKE_X, INTEL_ICELAKE_X, INTEL_SAPPHIRERAPIDS_X,
		INTEL_GRANITERAPIDS_X, INTEL_SKYLAKE_L, INTEL_KABYLAKE, INTEL_COMETLAKE,
		INTEL_ICELAKE_L, INTEL_TIGERLAKE, INTEL_ROCKETLAKE,
	};
	static const u32 hybrid[] = {
		INTEL_ALDERLAKE, INTEL_RAPTORLAKE, INTEL_METEORLAKE_L, INTEL_LUNARLAKE_M,
		INTEL_ARROWLAKE,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		KUNIT_EXPECT_NULL_MSG(test, ks_pebs_missing(known[i], false), "%d", i);
	for (i = 0; i < ARRAY_SIZE(hybrid); i++) {
		KUNIT_EXPECT_NOT_NULL(test, strstr(ks_pebs_missing(hybrid[i], true), "hybrid"));
		/* even if the BIOS has switched off all of one kind */
		KUNIT_EXPECT_NOT_NULL(test, ks_pebs_missing(hybrid[i], false));
	}
	/* Same codes, other events. */
	KUNIT_EXPECT_NOT_NULL(test, ks_pebs_missing(INTEL_BROADWELL_X, false));
	KUNIT_EXPECT_NOT_NULL(test, ks_pebs_missing(INTEL_ATOM_CRESTMONT_X, false));
	KUNIT_EXPECT_NOT_NULL(test, ks_pebs_missing(0, false));
}

/* Where the hardware can leave out what caches had, and where that is seen later. */
static void R20_ibs_and_the_last_cache(struct kunit *test)
{
	struct perf_event_attr zen4 = { .config = BIT(19), .sample_type = KS_SAMPLE_TYPE };
	struct perf_event_attr zen3 = zen4;

	ks_ibs_tune(&zen4, IBS_CAPS_DEFAULT | IBS_CAPS_OPCNT | IBS_CAPS_ZEN4);
	KUNIT_EXPECT_EQ(test, zen4.config, BIT(19) | BIT(16));
	KUNIT_EXPECT_EQ(test, zen4.sample_type, KS_SAMPLE_TYPE);
	ks_ibs_tune(&zen3, IBS_CAPS_DEFAULT | IBS_CAPS_OPCNT);
	KUNIT_EXPECT_EQ(test, zen3.config, BIT(19));
	KUNIT_EXPECT_EQ(test, zen3.sample_type, KS_SAMPLE_TYPE | PERF_SAMPLE_DATA_SRC);
}
#endif

/* One kind has all, whatever is wanted; nor would a source without events be one. */
static void R28_shares_that_a_source_can_have(struct kunit *test)
{
	const struct ks_source *s;
	u32 share;

	for (s = ks_sources + KS_AUTO + 1; s < ks_sources + ks_nr_sources; s++) {
		for (share = 0; share <= 1000; share += 500) {
			if (!strcmp(s->name, "pebs"))
				KUNIT_EXPECT_EQ(test, ks_source_load_share(s, share), share);
			if (!strcmp(s->name, "ibs"))
				KUNIT_EXPECT_EQ(test, ks_source_load_share(s, share), 0);
			if (!strcmp(s->name, "faults"))
				KUNIT_EXPECT_EQ(test, ks_source_load_share(s, share), 1000);
		}
	}
}

static struct kunit_case source_cases[] = {
#ifdef CONFIG_X86
	KUNIT_CASE(R20_ibs_and_the_last_cache),
	KUNIT_CASE(R20_processors_with_known_events),
#endif
	KUNIT_CASE(R21_sources),
	KUNIT_CASE(R21_what_auto_may_choose),
	KUNIT_CASE(R24_periods_that_a_source_can_have),
	KUNIT_CASE(R27_how_often_events_are_read),
	KUNIT_CASE(R28_shares_that_a_source_can_have),
	{}
};

static struct kunit_suite source_suite = {
	.name = "ksamplingd_source",
	.test_cases = source_cases,
};

kunit_test_suite(source_suite);
