// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of quota.c: the loop, closed over a machine whose records come one by
 * one. Beside the rules of R-23, each mistake of earlier samplers has a case.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota_model.h"

static void quotas(struct kunit *test, void (*check)(struct kunit *test, u32 quota))
{
	static const u32 permille[] = { 10, 30, 100, 300 };
	int i;

	for (i = 0; i < ARRAY_SIZE(permille); i++)
		check(test, permille[i]);
}

static void jumps(struct kunit *test, u32 quota)
{
	static const struct { int level, percent; } loads[] = {
		{ 2, 100 }, { 36, 100 }, { 2, 90 }, { 35, 110 }, { 10, 100 },
	};
	struct plant p = new_plant(quota, KS_PROPORTIONAL);
	int i, windows;

	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		set_load(&p, loads[i].level, loads[i].percent);
		windows = settle(&p, 60);
		KUNIT_EXPECT_LE_MSG(test, windows, 5, "quota %u, load %d", quota, i);
	}
}

static void R23_settles_within_five_windows(struct kunit *test)
{
	quotas(test, jumps);
}

/*
 * A load that ends, while the use was near the lower bound and half of it is the base:
 * it does not fall by much, and is off the quota all the same.
 */
static void ends(struct kunit *test, u32 quota)
{
	struct plant p = new_plant(quota, KS_PROPORTIONAL);
	int i;

	p.base_ns = 9000;
	set_load(&p, 36, 100);
	settle(&p, 60);
	p.accesses = p.accesses * 7 / 10;
	for (i = 0; i < 10; i++)
		run_window(&p);
	set_load(&p, 2, 100);
	KUNIT_EXPECT_LE_MSG(test, settle(&p, 60), 5, "quota %u", quota);
}

static void R23_a_load_that_ends(struct kunit *test)
{
	quotas(test, ends);
}

/*
 * Rings of many CPUs that a burst has filled, and which take more than a window to be
 * emptied: that says nothing of the period which there is by then.
 */
static void R23_backlog(struct kunit *test)
{
	struct plant p = new_plant(30, KS_PROPORTIONAL);
	u8 right, least, most;
	int i;

	p.base_ns = 300000;
	p.record_ns = 30000;
	p.ring = 16384;
	set_load(&p, 40, 100);
	settle(&p, 60);
	right = p.quota.level[KS_LOADS];
	set_load(&p, 5, 100);
	for (i = 0; i < 20; i++)
		run_window(&p);
	p.waiting = p.ring / 2;
	set_load(&p, 40, 100);
	least = right;
	most = 0;
	for (i = 0; i < 30; i++) {
		run_window(&p);
		most = max(most, p.quota.level[KS_LOADS]);
		if (i > 5)
			least = min(least, p.quota.level[KS_LOADS]);
	}
	KUNIT_EXPECT_LE(test, most, right + 4);
	KUNIT_EXPECT_GE(test, least, right - 4);
	KUNIT_EXPECT_TRUE(test, is_settled(&p));
}

/* Use that goes with 1 / period^2: what is proportional to that is far too much. */
static void R23_settles_where_use_is_steep(struct kunit *test)
{
	static const u64 accesses[] = { 100000000, 10000000, 1000000000, 50000000 };
	struct plant p = new_plant(100, KS_PROPORTIONAL);
	int i;

	p.steep = true;
	p.noise_percent = 2;
	for (i = 0; i < ARRAY_SIZE(accesses); i++) {
		p.accesses = accesses[i];
		KUNIT_EXPECT_LE(test, settle(&p, 60), 12);
	}
}

/* Nor is a quota looked for without end that no period meets. */
static void R23_stays_where_periods_are_coarse(struct kunit *test)
{
	struct plant p = new_plant(30, KS_PROPORTIONAL);
	int i, percent, trials = 0, failed = 0;

	p.coarse = true;
	for (percent = 20; percent <= 300; percent += 5, trials++) {
		/* of what meets it with a period that is 1.4 times the shortest */
		set_load(&p, 2, percent);
		for (i = 0; i < 20; i++)
			run_window(&p);
		p.changes = 0;
		for (i = 0; i < 100; i++)
			run_window(&p);
		failed += p.changes > 12;
	}
	holds_in_95_of_100(test, "few changes", trials, failed);
}

/* What was found for the old quota is no reason to stay there. */
static void R23_a_quota_that_is_changed(struct kunit *test)
{
	static const u32 permille[] = { 100, 30, 300, 10, 30 };
	struct plant p = new_plant(30, KS_PROPORTIONAL);
	int i;

	set_load(&p, 25, 100);
	settle(&p, 60);
	for (i = 0; i < ARRAY_SIZE(permille); i++) {
		p.tuning.quota_permille = permille[i];
		ks_quota_tune(&p.quota, &p.tuning);
		KUNIT_EXPECT_LE_MSG(test, settle(&p, 60), 5, "quota %u", permille[i]);
	}
}

static void stays(struct kunit *test, u32 quota)
{
	struct plant p = new_plant(quota, KS_PROPORTIONAL);
	int window, outside = 0;

	set_load(&p, 12, 100);
	settle(&p, 60);
	p.changes = 0;
	for (window = 0; window < 300; window++) {
		run_window(&p);
		outside += !is_settled(&p);
	}
	KUNIT_EXPECT_LE_MSG(test, outside, 3, "quota %u", quota);
	KUNIT_EXPECT_LE_MSG(test, p.changes, 5, "quota %u", quota);
}

static void R23_stays_there(struct kunit *test)
{
	quotas(test, stays);
}

static void steps(struct kunit *test, u32 quota)
{
	struct plant p = new_plant(quota, KS_STEP);
	u8 level;
	int i;

	set_load(&p, 8, 100);
	for (i = 0; i < 40 && !is_settled(&p); i++) {
		level = p.quota.level[KS_LOADS];
		run_window(&p);
		KUNIT_EXPECT_LE(test, abs_diff(p.quota.level[KS_LOADS], level), 1);
	}
	KUNIT_EXPECT_TRUE_MSG(test, is_settled(&p), "quota %u", quota);
}

static void R23_policy_step(struct kunit *test)
{
	quotas(test, steps);
}

/* Many CPUs, small quota: rounds become rarer, and the quota holds. */
static void R23_base_above_the_quota(struct kunit *test)
{
	struct plant p = new_plant(10, KS_PROPORTIONAL);

	p.base_ns = 100000;	/* 50 permille, every 2 ms */
	set_load(&p, 10, 100);
	KUNIT_EXPECT_LE(test, settle(&p, 60), 5);
	KUNIT_EXPECT_GE(test, p.quota.sleep_us, 19000);
	KUNIT_EXPECT_LE(test, p.quota.sleep_us, 21000);

	p.base_ns = 10000000;
	run_window(&p);
	run_window(&p);
	KUNIT_EXPECT_EQ(test, p.quota.sleep_us, KS_MAX_SLEEP_US);

	/* The administrator's own word counts for more than that limit. */
	p.tuning.sleep_us = 2 * KS_MAX_SLEEP_US;
	run_window(&p);
	KUNIT_EXPECT_EQ(test, p.quota.sleep_us, 2 * KS_MAX_SLEEP_US);
}

/* Half of the time that the rounds took belonged to others. */
/* More accesses than the longest period can do with. */
static void R22_overload_is_lost_not_used(struct kunit *test)
{
	struct plant p = new_plant(30, KS_PROPORTIONAL);
	int i;

	set_load(&p, KS_NR_LEVELS - 1, 1000);
	run_window(&p);
	run_window(&p);
	p.lost = 0;
	for (i = 0; i < 20; i++) {
		run_window(&p);
		KUNIT_EXPECT_LE(test, p.use_ppm, 35000);
		KUNIT_EXPECT_GE(test, p.use_ppm, 25000);
	}
	KUNIT_EXPECT_GT(test, p.lost, 0);
	KUNIT_EXPECT_EQ(test, p.quota.level[KS_LOADS], KS_NR_LEVELS - 1);
}

/* A ring that is full raises the period at once, by as much as it is too full. */
/* The quota would allow more than what the rings can hold. That is no way to lose. */
static void R22_small_rings(struct kunit *test)
{
	struct plant p = new_plant(300, KS_PROPORTIONAL);
	int policy, i;

	p.ring = 32;
	p.accesses = 100 * 1000 * 1000;
	for (policy = 0; policy < KS_NR_POLICIES; policy++) {
		p.tuning.policy = policy;
		for (i = 0; i < 30; i++)
			run_window(&p);
		p.changes = 0;
		p.lost = 0;
		for (i = 0; i < 300; i++) {
			run_window(&p);
			KUNIT_ASSERT_LE(test, p.use_ppm, 50000);
			KUNIT_ASSERT_GE(test, p.use_ppm, 5000);
		}
		KUNIT_EXPECT_EQ(test, p.lost, 0);
		KUNIT_EXPECT_LE(test, p.changes, 5);
	}
}

/* A ring that is fuller than half, and not too full: the period stays. */

static struct kunit_case quota_cases[] = {
	KUNIT_CASE(R22_overload_is_lost_not_used),
	KUNIT_CASE(R22_small_rings),
	KUNIT_CASE(R23_a_load_that_ends),
	KUNIT_CASE(R23_a_quota_that_is_changed),
	KUNIT_CASE(R23_backlog),
	KUNIT_CASE(R23_base_above_the_quota),
	KUNIT_CASE(R23_policy_step),
	KUNIT_CASE(R23_settles_where_use_is_steep),
	KUNIT_CASE(R23_settles_within_five_windows),
	KUNIT_CASE(R23_stays_there),
	KUNIT_CASE(R23_stays_where_periods_are_coarse),
	{}
};

static struct kunit_suite quota_suite = {
	.name = "ksamplingd_quota",
	.init = model_init,
	.test_cases = quota_cases,
};

kunit_test_suite(quota_suite);
