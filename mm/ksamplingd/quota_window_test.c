// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of quota.c: what it does at the end of a window of a given use.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota_model.h"

/* Of no records. */
static bool tell(struct ks_quota *q, const struct ks_tuning *t, u32 use_ppm)
{
	return tell_mix(q, t, use_ppm, 0, 0);
}

/* The average has four parts old and one part new, in each window and not the first. */
static void R23_smoothing(struct kunit *test)
{
	struct ks_tuning t = { 300, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	tell(&q, &t, 300000);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 300000);
	tell(&q, &t, 310000);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 302000);
	tell(&q, &t, 290000);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 299600);
	KUNIT_EXPECT_EQ(test, q.now_ppm, 290000);
	/* This is not noise any more. */
	tell(&q, &t, 140000);
	KUNIT_EXPECT_EQ(test, q.now_ppm, 140000);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS],
			ks_level_of(KS_LOADS, ks_periods[KS_LOADS][10] * 7 / 15));
}

/* So has that of the base. */
static void R23_smoothing_of_the_base(struct kunit *test)
{
	struct ks_tuning t = { 300, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 10 * 3,
		.drain_ns = WINDOW_NS / 10 * 2,
		.rounds = 500,
	};
	struct ks_quota q;

	start_at(&q, &t, 10);
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.base_ppm, 100000);
	u.drain_ns = WINDOW_NS / 20 * 3;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.base_ppm, 110000);
}

/* What was measured, or raised, for what was wanted before, is over. */
static void R23_tuned_anew(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	tell(&q, &t, 100000);
	ks_quota_tune(&q, &t);
	tell(&q, &t, 105000);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 105000);

	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	ks_quota_tune(&q, &t);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 50000));
}

/* Few of many records were read: they say what all would take, up to 16 times as much. */
static void R23_records_that_were_not_read(struct kunit *test)
{
	struct ks_tuning t = { 0, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 1000,
		.drain_ns = WINDOW_NS / 1000,
		.read = 100,
		.made = 1500,
	};
	struct ks_quota q;

	start_at(&q, &t, 10);
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 15000);
	u.made = 100000;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 15200);
}

/* Too much base: neither fewer records nor more of them are a remedy. */
static void R23_base_that_is_too_much(struct kunit *test)
{
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 1000 * 41,
		.drain_ns = WINDOW_NS / 1000,
		.rounds = 500,
	};
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, ks_quota_window(&q, &t, &u));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 10);
}

/* A factor of 16 at most, as the use may go with more than 1 / period. */
static void R23_not_too_far_at_once(struct kunit *test)
{
	struct ks_tuning t = { 10, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 900000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 30);
	start_at(&q, &t, 60);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 100));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 40);
}

/* After a change the average is what the new period would have given. */
static void R23_average_follows_the_period(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 200000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 15);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 200000ULL * 809 / 1619);
}

/* What is off is brought to the middle, not to where it is just good enough. */
static void R23_nearest_level(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 111000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 200000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 111000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 16);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 100000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 111000));

	/* So is what a ring has raised; of the window of that, nothing is concluded. */
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 50000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 89000));
}

/* However many bursts raise the period, it comes back each time. */
static void R23_bursts(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 10);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, 50000));
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 50000));
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, 100000));
		KUNIT_EXPECT_EQ_MSG(test, q.level[KS_LOADS], 10, "burst %d", i);
	}
}

/* In a window in which a ring was full, only what is too much with the new period counts. */
static void R23_window_of_two_periods(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	/* 200000 ppm become 100000 with twice the period. */
	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 200000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 15);

	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 400000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 20);

	/* One level a window is what policy step does, and that has been more. */
	t.policy = KS_STEP;
	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 400000));
}

/* What comes at once with any period is no reason for a longer one. */
static void R23_full_whatever_the_period_is(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, ring_full(&q, &t, 0, 0));
	KUNIT_EXPECT_FALSE(test, ring_full(&q, &t, 0, 400));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 10);
	/* Nor is the window lost for that. */
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 50000));
}

/* Neither is what the other predicts: the one below the quota is taken, for good. */
static void R23_between_two_levels(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int i, changes = 0;

	start_at(&q, &t, 10);
	for (i = 0; i < 60; i++)
		changes += tell(&q, &t, q.level[KS_LOADS] <= 10 ? 114000 : 80000);
	KUNIT_EXPECT_LE(test, changes, 3);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 11);
	changes = 0;
	/* Another load. */
	for (i = 0; i < 10 && !changes; i++)
		changes = tell(&q, &t, 60000);
	KUNIT_EXPECT_LT(test, q.level[KS_LOADS], 11);
}

/* What was measured after the first move was of both loads: that is no reason to stay. */
static void R23_turns_back_by_more_than_it_went(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 20);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 114000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 21);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 40000));
	KUNIT_EXPECT_LE(test, q.level[KS_LOADS], 15);
}

/* With a small quota, to lose half of the load is less than the band. */
static void R23_small_quota(struct kunit *test)
{
	struct ks_tuning t = { 10, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 30);
	for (i = 0; i < 3; i++)
		tell(&q, &t, i ? 9900 : 16000);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 9900));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 4930));
}

/* One window where the use is far too much below a level, far too little from there on. */
static bool tell_cliff(struct ks_quota *q, const struct ks_tuning *t, int cliff)
{
	return tell(q, t, q->level[KS_LOADS] < cliff ? 280000 : 30000);
}

/* Nowhere near the quota, with any period. */
static void R23_cliff(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int cliff, i, changes;

	for (cliff = 1; cliff < KS_NR_LEVELS; cliff++) {
		start_at(&q, &t, 17);
		changes = 0;
		for (i = 0; i < 120; i++) {
			if (i == 60)
				changes = 0;
			changes += tell_cliff(&q, &t, cliff);
		}
		KUNIT_EXPECT_LE_MSG(test, changes, 20, "cliff at level %d", cliff);
	}
}

/* That a search has ended somewhere does not keep policy step from moving on. */
static void R23_policy_step_after_a_search(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 17);
	for (i = 0; i < 20; i++)
		tell_cliff(&q, &t, 20);
	KUNIT_EXPECT_FALSE(test, tell_cliff(&q, &t, 20));
	t.policy = KS_STEP;
	ks_quota_tune(&q, &t);
	KUNIT_EXPECT_TRUE(test, tell_cliff(&q, &t, 20));
}

/* Nor do windows that are off by chance, however many. */
static void R23_policy_step_with_noise(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_STEP, 2000, 1000 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 17);
	for (i = 0; i < 20; i++)
		tell(&q, &t, i % 2 ? 80000 : 130000);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 80000));
}

/* One round cannot break the quota, but can show by how much it is too small. */
static void R22_budget(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_LE(test, ks_quota_budget_ns(&q, &t), 4 * 2000 * 1000 / 10 * 2);
	KUNIT_EXPECT_GE(test, ks_quota_budget_ns(&q, &t), 4 * 2000 * 1000 / 10);
	start_at(&q, &t, KS_NR_LEVELS - 1);
	/* a tenth of sleep and round together */
	KUNIT_EXPECT_EQ(test, ks_quota_budget_ns(&q, &t), 2000 * 1000 / 9);
	/* Rounds that take all of the quota by themselves leave something for records. */
	q.base_ppm = KS_WHOLE;
	KUNIT_EXPECT_EQ(test, ks_quota_budget_ns(&q, &t), 2000 * 1000 / 39);
}

static void R23_dead_band(struct kunit *test)
{
	static const struct { u32 quota, low, high; } bands[] = {
		{ 1, 500, 6000 }, { 5, 2500, 10000 }, { 10, 5000, 15000 },
		{ 30, 25000, 35000 }, { 80, 70000, 90000 }, { 300, 262500, 337500 },
	};
	struct ks_quota q;
	int i, policy;

	for (i = 0; i < ARRAY_SIZE(bands); i++) {
		for (policy = 0; policy < KS_NR_POLICIES; policy++) {
			struct ks_tuning t = { bands[i].quota, policy, 2000, 1000 };

			start_at(&q, &t, 10);
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, bands[i].low));
			start_at(&q, &t, 10);
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, bands[i].high));
			start_at(&q, &t, 10);
			KUNIT_EXPECT_TRUE(test, tell(&q, &t, bands[i].low * 8 / 10));
			KUNIT_EXPECT_LT(test, q.level[KS_LOADS], 10);
			start_at(&q, &t, 10);
			KUNIT_EXPECT_TRUE(test, tell(&q, &t, bands[i].high * 12 / 10));
			KUNIT_EXPECT_GT(test, q.level[KS_LOADS], 10);
		}
	}
}

/* Neither end of the tables is passed, and at the end nothing is a change. */
static void R23_ends_of_the_tables(struct kunit *test)
{
	struct ks_quota q;
	int policy, i;

	for (policy = 0; policy < KS_NR_POLICIES; policy++) {
		struct ks_tuning t = { 30, policy, 2000, 1000 };

		start_at(&q, &t, KS_NR_LEVELS - 2);
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 900000));
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, 900000));
		KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], KS_NR_LEVELS - 1);
		KUNIT_EXPECT_FALSE(test, ring_full(&q, &t, WINDOW_NS, 900));

		start_at(&q, &t, 1);
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 0));
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, 0));
		KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 0);
	}
}

static void R23_quota_0_is_a_fixed_period(struct kunit *test)
{
	struct ks_tuning t = { 0, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 10);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, i * 100000));
		KUNIT_EXPECT_FALSE(test, ring_full(&q, &t, WINDOW_NS, 900));
		KUNIT_EXPECT_GE(test, q.sleep_us, 2000);
		/* It sleeps at least as long as it works. */
		KUNIT_EXPECT_LE(test, ks_quota_budget_ns(&q, &t), q.sleep_us * NSEC_PER_USEC);
	}
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 10);
}

static void R23_base_of_rounds_that_are_interrupted(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 10,
		.round_ns = WINDOW_NS / 5,
		.drain_ns = WINDOW_NS / 10,
		.rounds = 500,
	};
	struct ks_quota q;

	start_at(&q, &t, 10);
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.base_ppm, KS_WHOLE / 20);
}

/* With few rounds, it is chance what is left of their time; sleep does not follow that. */
static void R23_sleep_is_not_hasty(struct kunit *test)
{
	struct ks_usage u = { .wall_ns = WINDOW_NS, .rounds = 30, .run_ns = 30000000 };
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	/* 15 permille for rounds, so each has 500 us. */
	u.drain_ns = 15000000;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.sleep_us, 33333);
	u.drain_ns = 30000000;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_GT(test, q.sleep_us, 25000);
	/* Many CPUs have come. */
	u.drain_ns = 0;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.sleep_us, 66666);
}

/* Looks at CPUs take 12 ms, however many rounds there are: only the rounds grow rarer. */
static void R23_looks_are_no_rounds(struct kunit *test)
{
	struct ks_usage u = {
		.wall_ns = WINDOW_NS, .run_ns = 30000000, .drain_ns = 10000000,
		.look_ns = 12000000, .rounds = 500,
	};
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.base_ppm, 20000);
	KUNIT_EXPECT_EQ(test, q.sleep_us, 2000);
	/* Without looks, rounds take 20 of 15 ms. */
	u.look_ns = 0;
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.sleep_us, 2666);
}

/*
 * Each wakeup takes 80 us, and 5 us for each record that perf gets out then, of 2000 in a
 * second. That these take longer together if the thread sleeps longer is no reason for that.
 */
static void R23_wakeups_that_have_records(struct kunit *test)
{
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = { .wall_ns = WINDOW_NS };
	struct ks_quota q;
	int i;

	start_at(&q, &t, 10);
	for (i = 0; i < 60; i++) {
		u.rounds = NSEC_PER_SEC / NSEC_PER_USEC / q.sleep_us;
		u.drain_ns = 2000 * 1000;
		u.round_run_ns = u.drain_ns + u.rounds * 20000;
		u.round_ns = u.round_run_ns;
		u.run_ns = u.round_run_ns + u.rounds * 80000 + 2000 * 5000;
		ks_quota_window(&q, &t, &u);
	}
	KUNIT_EXPECT_GE(test, q.sleep_us, 6666);
	KUNIT_EXPECT_LE(test, q.sleep_us, 10000);
}

static void R22_full_rings_raise_the_period(struct kunit *test)
{
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;
	int ms, raised = 0;

	start_at(&q, &t, 0);
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, 1000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 5);
	/* but not ten times at once */
	KUNIT_EXPECT_FALSE(test, ring_full(&q, &t, 0, 1000));
	for (ms = 1; ms < 1000; ms++)
		raised += ring_full(&q, &t, ms * NSEC_PER_MSEC, 801);
	KUNIT_EXPECT_EQ(test, raised, 9);
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 32);

	/* A ring that overflows says nothing of how much more there was. */
	start_at(&q, &t, 0);
	KUNIT_EXPECT_TRUE(test, ring_full(&q, &t, 0, U32_MAX));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], ks_level_of(KS_LOADS, 16 * 199));
}

/* The quota would allow more than what the rings can hold. That is no way to lose. */
/* A ring that is fuller than half, and not too full: the period stays. */
static void R22_rings_that_just_hold(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 20,
		.drain_ns = WINDOW_NS / 20,
		.rounds = 500,
		.fill_permille = { [KS_LOADS] = 750 },
	};
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, ks_quota_window(&q, &t, &u));
	/* Where there is place, it gets shorter until they are half full. */
	start_at(&q, &t, 10);
	u.fill_permille[KS_LOADS] = 400;
	KUNIT_EXPECT_TRUE(test, ks_quota_window(&q, &t, &u));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS],
			ks_level_of(KS_LOADS, ks_periods[KS_LOADS][10] * 4 / 5));
}

static void R23_tables(struct kunit *test)
{
	int kind, i;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		const u32 *p = ks_periods[kind];

		for (i = 0; i < KS_NR_LEVELS; i++) {
			KUNIT_EXPECT_EQ(test, p[i] % 2, 1);
			KUNIT_EXPECT_EQ(test, ks_level_of(kind, p[i]), i);
			if (!i)
				continue;
			KUNIT_EXPECT_GE(test, p[i] * 100, p[i - 1] * 112);
			KUNIT_EXPECT_LE(test, p[i] * 100, p[i - 1] * 118);
			KUNIT_EXPECT_EQ(test, ks_level_of(kind, p[i] - 1), i);
		}
		KUNIT_EXPECT_EQ(test, ks_level_of(kind, 0), 0);
		KUNIT_EXPECT_EQ(test, ks_level_of(kind, U32_MAX), KS_NR_LEVELS - 1);
	}
}

/* Whatever is told, in whatever order: all stays within bounds. */
static void R23_any_history(struct kunit *test)
{
	struct rnd_state rnd;
	struct ks_tuning t;
	struct ks_usage u;
	struct ks_quota q;
	int i, kind;

	prandom_seed_state(&rnd, 23);
	t = (struct ks_tuning) { 30, KS_PROPORTIONAL, 2000, 1000 };
	start_at(&q, &t, 17);

	for (i = 0; i < 100000; i++) {
		u32 r = prandom_u32_state(&rnd);

		if (r % 50 == 0) {
			t = (struct ks_tuning) { prandom_u32_state(&rnd) % 901, r / 50 % 2,
						 100 + prandom_u32_state(&rnd) % 1000000,
						 prandom_u32_state(&rnd) % 1001,
						 prandom_u32_state(&rnd) % 100001, r / 100 % 2 };
			if (r % 3)
				ks_quota_tune(&q, &t);
		}
		u.wall_ns = 1 + prandom_u32_state(&rnd) * (r % 3 ? 1ULL : 1000ULL);
		u.run_ns = prandom_u32_state(&rnd) * (r % 5 ? 1ULL : 1000ULL);
		u.drain_ns = prandom_u32_state(&rnd);
		u.rounds = prandom_u32_state(&rnd) % 1000;
		for (kind = 0; kind < KS_NR_KINDS; kind++) {
			u.records[kind] = prandom_u32_state(&rnd) >> r % 31;
			u.fill_permille[kind] = prandom_u32_state(&rnd) >> r % 32;
		}
		if (r % 7)
			ks_quota_window(&q, &t, &u);
		else
			ks_quota_ring_full(&q, &t, u.wall_ns, WINDOW_NS, u.fill_permille);

		for (kind = 0; kind < KS_NR_KINDS; kind++)
			KUNIT_ASSERT_LT(test, q.level[kind], KS_NR_LEVELS);
		KUNIT_ASSERT_LE(test, q.use_ppm, KS_MOST_PPM);
		KUNIT_ASSERT_LE(test, q.base_ppm, KS_MOST_PPM);
		KUNIT_ASSERT_LE(test, q.loads_ppm, KS_WHOLE);
		KUNIT_ASSERT_LE(test, q.loads_now_ppm, KS_WHOLE);
		KUNIT_ASSERT_LE(test, q.sleep_us, max(KS_MAX_SLEEP_US, 1000100U));
		KUNIT_ASSERT_LE(test, ks_quota_budget_ns(&q, &t),
				9ULL * q.sleep_us * NSEC_PER_USEC);
	}
}

static struct kunit_case quota_window_cases[] = {
	KUNIT_CASE(R22_budget),
	KUNIT_CASE(R22_full_rings_raise_the_period),
	KUNIT_CASE(R22_rings_that_just_hold),
	KUNIT_CASE(R23_any_history),
	KUNIT_CASE(R23_average_follows_the_period),
	KUNIT_CASE(R23_base_of_rounds_that_are_interrupted),
	KUNIT_CASE(R23_base_that_is_too_much),
	KUNIT_CASE(R23_between_two_levels),
	KUNIT_CASE(R23_bursts),
	KUNIT_CASE(R23_cliff),
	KUNIT_CASE(R23_dead_band),
	KUNIT_CASE(R23_ends_of_the_tables),
	KUNIT_CASE(R23_full_whatever_the_period_is),
	KUNIT_CASE(R23_nearest_level),
	KUNIT_CASE(R23_looks_are_no_rounds),
	KUNIT_CASE(R23_not_too_far_at_once),
	KUNIT_CASE(R23_policy_step_after_a_search),
	KUNIT_CASE(R23_policy_step_with_noise),
	KUNIT_CASE(R23_quota_0_is_a_fixed_period),
	KUNIT_CASE(R23_records_that_were_not_read),
	KUNIT_CASE(R23_sleep_is_not_hasty),
	KUNIT_CASE(R23_small_quota),
	KUNIT_CASE(R23_smoothing),
	KUNIT_CASE(R23_smoothing_of_the_base),
	KUNIT_CASE(R23_tables),
	KUNIT_CASE(R23_tuned_anew),
	KUNIT_CASE(R23_turns_back_by_more_than_it_went),
	KUNIT_CASE(R23_wakeups_that_have_records),
	KUNIT_CASE(R23_window_of_two_periods),
	{}
};

static struct kunit_suite quota_window_suite = {
	.name = "ksamplingd_quota_window",
	.test_cases = quota_window_cases,
};

kunit_test_suite(quota_window_suite);
