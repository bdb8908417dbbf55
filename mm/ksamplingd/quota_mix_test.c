// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of quota.c: two kinds of accesses, whose records come in batches.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota_model.h"

static struct delivery *new_mix(struct kunit *test, u32 quota_permille, int cpus,
				u32 load_share_permille)
{
	/* Every second one is idle. */
	struct delivery *d = new_delivery(test, quota_permille, cpus, (cpus + 1) / 2);

	d->plant.noise_percent = 10;
	d->window_percent = 5;
	d->plant.tuning.load_share_permille = load_share_permille;
	start_at(&d->plant.quota, &d->plant.tuning, 17);
	return d;
}

/* A tenth more than the rule: the loop sees the mix with noise. */
static u32 allowed_ppm(u32 load_share_permille)
{
	u32 smaller = min(load_share_permille, 1000 - load_share_permille);

	return max(25, smaller / 8) * KS_PERMILLE * 11 / 10;
}

static u32 mix_error_ppm(const struct delivery *d, u32 loads_ppm)
{
	return abs_diff(loads_ppm, d->plant.tuning.load_share_permille * KS_PERMILLE);
}

/* No period is at an end of its table, where the mix may be what it wants. */
static bool is_free(const struct ks_quota *q)
{
	return q->level[KS_LOADS] % (KS_NR_LEVELS - 1) &&
	       q->level[KS_STORES] % (KS_NR_LEVELS - 1);
}

/* In the last window, as far as the noise of one lets it be told. */
static bool is_mixed(const struct delivery *d)
{
	u32 band = allowed_ppm(d->plant.tuning.load_share_permille);
	u32 quota = d->plant.tuning.quota_permille * KS_PERMILLE;

	return abs_diff(d->plant.use_ppm, quota) <= max(5 * KS_PERMILLE, quota / 8) * 5 / 4 &&
	       (!is_free(&d->plant.quota) || mix_error_ppm(d, d->loads_ppm) <= 2 * band);
}

/* Return: after how many windows use and mix were right, and stayed for three. */
static int settle_mix(struct delivery *d, int most)
{
	int windows, good = 0;

	for (windows = 0; windows < most; windows++) {
		run_delivery(d);
		good = is_mixed(d) ? good + 1 : 0;
		if (good == 3)
			return windows - 2;
	}
	return most;
}

static u32 loads_ppm(const struct delivery *d)
{
	return div64_u64(d->records[KS_LOADS] * KS_WHOLE,
			 max(d->records[KS_LOADS] + d->records[KS_STORES], 1));
}

/* Return: number of what did not hold, of three. */
static int hold_mix(struct kunit *test, int cpus, u64 loads, u64 stores, u32 share)
{
	struct delivery *d = new_mix(test, 30, cpus, share);
	u32 use_ppm;
	int failed;

	d->accesses[KS_LOADS] = loads;
	d->accesses[KS_STORES] = stores;
	run_deliveries(d, 20);
	run_deliveries(d, 60);
	failed = d->plant.changes > 1;
	failed += is_free(&d->plant.quota) && mix_error_ppm(d, loads_ppm(d)) > allowed_ppm(share);
	use_ppm = mean_use(d, 10);
	/* The quota is met in any case, unless both end at the same end. */
	failed += (d->plant.quota.level[KS_LOADS] || d->plant.quota.level[KS_STORES]) &&
		  abs_diff(use_ppm, 30000U) > 5500;
	if (failed)
		kunit_info(test, "%d CPUs, %llu/%llu, share %u: %d changes, use %u, loads %u ppm\n",
			   cpus, loads, stores, share, d->plant.changes, use_ppm, loads_ppm(d));
	kunit_kfree(test, d);
	return failed;
}

/* As many as a CPU makes: some million loads that miss, a hundred times as many stores. */
static void R28_shares_are_held(struct kunit *test)
{
	static const u64 loads[] = { 3000000, 20000000 };
	static const u64 stores[] = { 300000000, 1000000000 };
	static const u32 shares[] = { 800, 500, 200, 950 };
	static const int cpus[] = { 1, 4, 16, 192 };
	int c, i, failed = 0, trials = 0;

	for (c = 0; c < ARRAY_SIZE(cpus); c++)
		for (i = 0; i < 16; i++, trials += 3)
			failed += hold_mix(test, cpus[c], loads[i / 8], stores[i / 4 % 2],
					   shares[i % 4]);
	holds_in_95_of_100(test, "quota and shares are held", trials, failed);
}

/* Why that is so: with both at one level of their tables, stores are nearly all. */
static void R28_one_level_for_both_is_no_mix(struct kunit *test)
{
	u32 level;

	for (level = 0; level < KS_NR_LEVELS; level++)
		KUNIT_EXPECT_GT(test, 1000000000 / ks_periods[KS_STORES][level],
				7 * (20000000 / ks_periods[KS_LOADS][level]));
}

/* Programs that do something else all of a sudden. Return: number of what did not hold. */
static int phases(struct kunit *test, int cpus, u32 quota)
{
	static const struct { u64 loads, stores; } phase[] = {
		{ 20000000, 10000000 }, { 20000000, 1000000000 }, { 20000000, 10000000 },
		{ 3000000, 10000000 }, { 20000000, 300000000 }, { 3000000, 1000000000 },
		{ 0, 1000000000 }, { 20000000, 1000000000 }, { 20000000, 0 },
		{ 10000000, 300000000 },
	};
	struct delivery *d = new_mix(test, quota, cpus, 800);
	int i, windows, failed = 0;

	for (i = 0; i < ARRAY_SIZE(phase); i++) {
		d->accesses[KS_LOADS] = phase[i].loads;
		d->accesses[KS_STORES] = phase[i].stores;
		windows = settle_mix(d, 60);
		run_deliveries(d, 10);
		run_deliveries(d, 60);
		failed += (windows > 5) + (d->plant.changes > 1);
		if (windows > 5 || d->plant.changes > 1)
			kunit_info(test, "%d CPUs, quota %u, phase %d: %d windows, %d changes\n",
				   cpus, quota, i, windows, d->plant.changes);
	}
	kunit_kfree(test, d);
	return failed;
}

static void R28_settles_within_five_windows(struct kunit *test)
{
	int failed = phases(test, 16, 30) + phases(test, 64, 30) + phases(test, 64, 100);

	holds_in_95_of_100(test, "settles, and stays there", 60, failed);
}

/* What is different in each of some windows is nothing to run after. */
static void R28_phases_that_are_short(struct kunit *test)
{
	int trial, i, failed = 0;
	struct delivery *d;

	for (trial = 0; trial < 20; trial++) {
		d = new_mix(test, 30, 8, 800);
		d->accesses[KS_LOADS] = 10000000;
		for (i = 0; i < 120; i++) {
			d->accesses[KS_STORES] = i % 2 ? 600000000 : 400000000;
			if (i == 60)
				run_deliveries(d, 0);
			run_delivery(d);
		}
		failed += d->plant.changes > 2;
		failed += mix_error_ppm(d, loads_ppm(d)) > allowed_ppm(800);
		kunit_kfree(test, d);
	}
	holds_in_95_of_100(test, "stays where it is", 2 * trial, failed);
}

/* A program whose data are in the cache: the quota is for its stores then. */
static void R28_quota_comes_first(struct kunit *test)
{
	struct delivery *d = new_mix(test, 30, 16, 800);

	d->accesses[KS_LOADS] = 20000;
	d->accesses[KS_STORES] = 300000000;
	KUNIT_EXPECT_LE(test, settle_mix(d, 60), 10);
	run_deliveries(d, 10);
	run_deliveries(d, 60);
	KUNIT_EXPECT_EQ(test, d->plant.quota.level[KS_LOADS], 0);
	KUNIT_EXPECT_GT(test, d->records[KS_LOADS], 0);

	/* Too many stores with the longest period, from one that is 3000 times too short. */
	d = new_mix(test, 30, 192, 990);
	d->accesses[KS_LOADS] = 20000000;
	d->accesses[KS_STORES] = 1000000000;
	KUNIT_EXPECT_LE(test, settle_mix(d, 60), 12);
	run_deliveries(d, 10);
	KUNIT_EXPECT_EQ(test, d->plant.quota.level[KS_STORES], KS_NR_LEVELS - 1);
}

static void R28_band(struct kunit *test)
{
	static const struct { u32 share, few, many; } bands[] = {
		{ 800, 7750, 8250 }, { 500, 4375, 5625 }, { 200, 1750, 2250 },
		{ 900, 8750, 9250 }, { 990, 9650, 9950 }, { 20, 100, 450 },
	};
	struct ks_quota q;
	int i, policy;

	for (i = 0; i < ARRAY_SIZE(bands); i++) {
		for (policy = 0; policy < KS_NR_POLICIES; policy++) {
			struct ks_tuning t = { 100, policy, 2000, bands[i].share };
			u32 few = bands[i].few, many = bands[i].many;

			start_at(&q, &t, 20);
			KUNIT_EXPECT_FALSE(test, tell_mix(&q, &t, 100000, few, 10000 - few));
			KUNIT_EXPECT_FALSE(test, tell_mix(&q, &t, 100000, many, 10000 - many));
			start_at(&q, &t, 20);
			few = few * 9 / 10;
			KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 100000, few, 10000 - few));
			KUNIT_EXPECT_LE(test, q.level[KS_LOADS], 20);
			KUNIT_EXPECT_GE(test, q.level[KS_STORES], 20);
			start_at(&q, &t, 20);
			many = 10000 - (10000 - many) * 9 / 10;
			KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 100000, many, 10000 - many));
			KUNIT_EXPECT_GE(test, q.level[KS_LOADS], 20);
			KUNIT_EXPECT_LE(test, q.level[KS_STORES], 20);
		}
	}
}

/* Both at once: the quota and the shares. */
static void R28_one_change_for_use_and_mix(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 800 };
	struct ks_quota q;

	start_at(&q, &t, 30);
	KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 200000, 1000, 9000));
	/* Loads from 20000 ppm to 80000, stores from 180000 to 20000. */
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS],
			ks_level_of(KS_LOADS, ks_periods[KS_LOADS][30] / 4));
	KUNIT_EXPECT_EQ(test, q.level[KS_STORES],
			ks_level_of(KS_STORES, ks_periods[KS_STORES][30] * 9));
	KUNIT_EXPECT_LE(test, abs_diff(q.use_ppm, 100000U), 8000);
	KUNIT_EXPECT_LE(test, abs_diff(q.loads_ppm, 800000U), 15000);
}

static void R28_a_few_records_tell_no_mix(struct kunit *test)
{
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 800 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 30);
	KUNIT_EXPECT_FALSE(test, tell_mix(&q, &t, 30000, 0, 4));
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_FALSE(test, tell_mix(&q, &t, 30000, i % 3, i % 5));
	/* Nor do none. */
	KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 0, 0, 0));
}

/* A kind without a share is not sampled: its level is what it was. */
static void R28_no_share(struct kunit *test)
{
	struct ks_quota q;
	int policy, kind, i;

	for (policy = 0; policy < KS_NR_POLICIES; policy++) {
		for (kind = 0; kind < KS_NR_KINDS; kind++) {
			struct ks_tuning t = { 100, policy, 2000, kind == KS_LOADS ? 0 : 1000 };

			start_at(&q, &t, 30);
			for (i = 0; i < 60; i++)
				tell_mix(&q, &t, i < 20 ? 300000 : 20000, 0, 0);
			KUNIT_EXPECT_EQ(test, q.level[kind], 30);
			KUNIT_EXPECT_NE(test, q.level[1 - kind], 30);
			KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 300000, 0, 0));
		}
	}
}

/* One level at a time, and to the mix all the same. */
static void R28_policy_step(struct kunit *test)
{
	struct delivery *d = new_mix(test, 30, 16, 800);
	u8 *level = d->plant.quota.level, before[KS_NR_KINDS];
	int i, kind;

	d->plant.tuning.policy = KS_STEP;
	d->accesses[KS_LOADS] = 10000000;
	d->accesses[KS_STORES] = 500000000;
	for (i = 0; i < 80; i++) {
		memcpy(before, level, sizeof(before));
		run_delivery(d);
		for (kind = 0; kind < KS_NR_KINDS; kind++)
			KUNIT_EXPECT_LE(test, abs_diff(level[kind], before[kind]), 1);
	}
	run_deliveries(d, 60);
	KUNIT_EXPECT_LE(test, mix_error_ppm(d, loads_ppm(d)), allowed_ppm(800));
	KUNIT_EXPECT_TRUE(test, is_settled(&d->plant));
	KUNIT_EXPECT_LE(test, d->plant.changes, 2);
}

/* Where policy step goes from level 20 with so much use, if only half of it is loads. */
static void step_of_mix(struct kunit *test, u32 use_ppm, u8 loads, u8 stores)
{
	struct ks_tuning t = { 100, KS_STEP, 2000, 800 };
	struct ks_quota q;

	start_at(&q, &t, 20);
	tell_mix(&q, &t, use_ppm, 5000, 5000);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], loads);
	KUNIT_EXPECT_EQ(test, q.level[KS_STORES], stores);
}

/* Too much use, too little, and none of both: each kind goes where it is wanted. */
static void R28_steps_of_use_and_mix(struct kunit *test)
{
	step_of_mix(test, 200000, 21, 21);
	step_of_mix(test, 160000, 20, 21);
	step_of_mix(test, 50000, 19, 21);
	step_of_mix(test, 30000, 19, 19);
	step_of_mix(test, 100000, 19, 21);
}

/* The one whose ring is full has a longer period then, and the other one has not. */
static void R28_a_ring_of_one_kind(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 800 };
	u32 fill[KS_NR_KINDS] = { [KS_STORES] = 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 10,
		.drain_ns = WINDOW_NS / 10,
		.rounds = 500,
		.records = { [KS_LOADS] = 9000, [KS_STORES] = 1000 },
		.fill_permille = { [KS_STORES] = 480 },
	};
	struct ks_quota q;

	start_at(&q, &t, 30);
	KUNIT_EXPECT_TRUE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, fill));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 30);
	KUNIT_EXPECT_EQ(test, q.level[KS_STORES], 35);

	/* There are too few stores, but no more fit into their ring; the loads may. */
	start_at(&q, &t, 30);
	KUNIT_EXPECT_FALSE(test, ks_quota_window(&q, &t, &u));
	u.run_ns /= 4;
	u.drain_ns /= 4;
	KUNIT_EXPECT_TRUE(test, ks_quota_window(&q, &t, &u));
	KUNIT_EXPECT_LT(test, q.level[KS_LOADS], 30);
	KUNIT_EXPECT_EQ(test, q.level[KS_STORES], 30);
}

/* What records cost the sampled programs, and whether the quota is for that as well. */
static void R23_workload(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 800, .record_cost_ns = 300 };
	struct ks_quota q;

	/* 100 000 records a second, 30 ms */
	start_at(&q, &t, 30);
	KUNIT_EXPECT_FALSE(test, tell_mix(&q, &t, 100000, 80000, 20000));
	KUNIT_EXPECT_EQ(test, q.workload_ppm, 30000);
	KUNIT_EXPECT_EQ(test, q.now_ppm, 100000);

	t.quota_has_workload = 1;
	start_at(&q, &t, 30);
	KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 100000, 80000, 20000));
	KUNIT_EXPECT_EQ(test, q.now_ppm, 130000);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 32);
	KUNIT_EXPECT_EQ(test, q.level[KS_STORES], 32);

	/* It may be more than one CPU has. */
	t.quota_permille = 900;
	start_at(&q, &t, 30);
	KUNIT_EXPECT_TRUE(test, tell_mix(&q, &t, 100000, 16000000, 4000000));
	KUNIT_EXPECT_EQ(test, q.workload_ppm, 6000000);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS],
			ks_level_of(KS_LOADS, ks_periods[KS_LOADS][30] / 9 * 61));

	t.record_cost_ns = 0;
	start_at(&q, &t, 30);
	tell_mix(&q, &t, 100000, 80000, 20000);
	KUNIT_EXPECT_EQ(test, q.workload_ppm, 0);
	KUNIT_EXPECT_EQ(test, q.now_ppm, 100000);
}

static struct kunit_case quota_mix_cases[] = {
	KUNIT_CASE(R23_workload),
	KUNIT_CASE(R28_a_few_records_tell_no_mix),
	KUNIT_CASE(R28_a_ring_of_one_kind),
	KUNIT_CASE(R28_band),
	KUNIT_CASE(R28_no_share),
	KUNIT_CASE(R28_one_change_for_use_and_mix),
	KUNIT_CASE(R28_one_level_for_both_is_no_mix),
	KUNIT_CASE(R28_phases_that_are_short),
	KUNIT_CASE(R28_policy_step),
	KUNIT_CASE(R28_quota_comes_first),
	KUNIT_CASE_SLOW(R28_settles_within_five_windows),
	KUNIT_CASE_SLOW(R28_shares_are_held),
	KUNIT_CASE(R28_steps_of_use_and_mix),
	{}
};

static struct kunit_suite quota_mix_suite = {
	.name = "ksamplingd_quota_mix",
	.init = model_init,
	.test_cases = quota_mix_cases,
};

kunit_test_suite(quota_mix_suite);
