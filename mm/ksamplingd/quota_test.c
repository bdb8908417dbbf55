// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of quota.c: the loop, closed over a thread and a load that exist on paper
 * only. Beside the rules of R-23, each mistake of earlier samplers has a case.
 */
#include <kunit/test.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/time64.h>

#include "quota.h"

#define WINDOW_NS	NSEC_PER_SEC
#define PARTS		50		/* of a window, in which rings may fill up */

/* A machine that is sampled. */
struct plant {
	u64 accesses;		/* per second */
	u32 base_ns;		/* a round, whatever it finds */
	u32 record_ns;
	u32 ring;		/* records that fit */
	bool coarse;		/* levels side by side have the same period */
	bool steep;		/* many records cost more each than few */
	u32 noise_percent;
	struct rnd_state rnd;

	struct ks_tuning tuning;
	struct ks_quota quota;

	u64 waiting;		/* records in the ring */
	u32 use_ppm;		/* really used in the last window */
	u64 lost;
	int changes;		/* of the level */
};

static struct plant new_plant(u32 quota_permille, u32 policy)
{
	struct plant p = {
		.base_ns = 8000,
		.record_ns = 1200,
		.ring = 2048,
		.noise_percent = 10,
		.tuning = { quota_permille, policy, .sleep_us = 2000 },
	};

	prandom_seed_state(&p.rnd, quota_permille + 1);
	ks_quota_start(&p.quota, &p.tuning, 17);
	return p;
}

/* So many accesses use up the quota with the period of a level. */
static void set_load(struct plant *p, int level, u32 percent)
{
	u64 room = p->tuning.quota_permille * (NSEC_PER_SEC / 1000);

	room -= min(room / 2, p->base_ns * (NSEC_PER_SEC / 2000000ULL));
	p->accesses = div_u64(room * ks_periods[KS_LOADS][level] * percent,
			      100 * p->record_ns);
}

static u64 noisy(struct plant *p, u64 value)
{
	u32 percent = 100 - p->noise_percent +
		      prandom_u32_state(&p->rnd) % (2 * p->noise_percent + 1);

	return div_u64(value * percent, 100);
}

static u32 period_of(const struct plant *p)
{
	u32 period = ks_periods[KS_LOADS][p->quota.level];

	return p->coarse ? rounddown(period, 199) : period;
}

/* Some rounds. Return: how full the ring was found, permille. */
static u32 run_part(struct plant *p, struct ks_usage *u)
{
	u64 record_ns = p->record_ns;
	u64 round_ns = p->quota.sleep_us * NSEC_PER_USEC + p->base_ns;
	u64 rounds = div_u64(WINDOW_NS / PARTS, round_ns) + 1;
	u64 fit = div_u64(rounds * ks_quota_budget_ns(&p->quota, &p->tuning), p->record_ns);
	u64 came = noisy(p, div_u64(p->accesses / PARTS, period_of(p)));
	/* What comes between two rounds; what waits already comes on top. */
	u64 most = div64_u64(came, rounds) + p->waiting;
	u64 taken, room;

	room = rounds * p->ring;
	if (came > room) {
		p->lost += came - room;
		came = room;
	}
	taken = min(p->waiting + came, min(fit, rounds * p->ring));
	p->waiting += came - taken;
	if (p->waiting > p->ring) {
		p->lost += p->waiting - p->ring;
		p->waiting = p->ring;
	}

	if (p->steep)
		record_ns = div_u64(record_ns * taken, 400);
	u->wall_ns += WINDOW_NS / PARTS;
	u->rounds += rounds;
	u->drain_ns += taken * record_ns;
	u->run_ns += taken * record_ns + rounds * p->base_ns;
	return div_u64(most * 1000, p->ring);
}

static void run_window(struct plant *p)
{
	struct ks_usage u = {};
	int part;
	u32 fill;

	for (part = 0; part < PARTS; part++) {
		fill = run_part(p, &u);
		u.fill_permille = max(u.fill_permille, fill);
		if (fill > KS_FULL)
			p->changes += ks_quota_ring_full(&p->quota, &p->tuning, u.wall_ns,
							 WINDOW_NS, fill);
	}
	p->use_ppm = div64_u64(u.run_ns * KS_WHOLE, u.wall_ns);
	p->changes += ks_quota_window(&p->quota, &p->tuning, &u);
}

static bool is_settled(const struct plant *p)
{
	u32 quota = p->tuning.quota_permille * KS_PERMILLE;

	return abs_diff(p->use_ppm, quota) <= max(5 * KS_PERMILLE, quota / 8);
}

/* Return: after how many windows the use was at the quota, and stayed there for three. */
static int settle(struct plant *p, int most)
{
	int windows, good = 0;

	for (windows = 0; windows < most; windows++) {
		run_window(p);
		good = is_settled(p) ? good + 1 : 0;
		if (good == 3)
			return windows - 2;
	}
	return most;
}

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
	int i, percent;

	p.coarse = true;
	for (percent = 20; percent <= 300; percent += 5) {
		/* of what meets it with a period that is 1.4 times the shortest */
		set_load(&p, 2, percent);
		for (i = 0; i < 20; i++)
			run_window(&p);
		p.changes = 0;
		for (i = 0; i < 100; i++)
			run_window(&p);
		KUNIT_EXPECT_LE_MSG(test, p.changes, 12, "%d %% of the load", percent);
	}
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
		level = p.quota.level;
		run_window(&p);
		KUNIT_EXPECT_LE(test, abs_diff(p.quota.level, level), 1);
	}
	KUNIT_EXPECT_TRUE_MSG(test, is_settled(&p), "quota %u", quota);
}

static void R23_policy_step(struct kunit *test)
{
	quotas(test, steps);
}

/* One window: the use is told, nothing else. */
static bool tell(struct ks_quota *q, const struct ks_tuning *t, u32 use_ppm)
{
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.drain_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.rounds = 500,
	};

	return ks_quota_window(q, t, &u);
}

/* The average has four parts old and one part new, in each window and not the first. */
static void R23_smoothing(struct kunit *test)
{
	struct ks_tuning t = { 300, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
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
	KUNIT_EXPECT_EQ(test, q.level, ks_level_of(KS_LOADS, ks_periods[KS_LOADS][10] * 7 / 15));
}

/* After a change the average is what the new period would have given. */
static void R23_average_follows_the_period(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 200000));
	KUNIT_EXPECT_EQ(test, q.level, 15);
	KUNIT_EXPECT_EQ(test, q.use_ppm, 200000ULL * 809 / 1619);
}

/* What is off is brought to the middle, not to where it is just good enough. */
static void R23_nearest_level(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 111000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 200000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 111000));
	KUNIT_EXPECT_EQ(test, q.level, 16);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 100000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 111000));

	/* So is what a ring has raised; of the window of that, nothing is concluded. */
	KUNIT_EXPECT_TRUE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 1000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 50000));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 89000));
}

/* However many bursts raise the period, it comes back each time. */
static void R23_bursts(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int i;

	ks_quota_start(&q, &t, 10);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_TRUE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 1000));
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, 50000));
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 50000));
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, 100000));
		KUNIT_EXPECT_EQ_MSG(test, q.level, 10, "burst %d", i);
	}
}

/* What comes at once with any period is no reason for a longer one. */
static void R23_full_whatever_the_period_is(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_FALSE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 0));
	KUNIT_EXPECT_FALSE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 400));
	KUNIT_EXPECT_EQ(test, q.level, 10);
	/* Nor is the window lost for that. */
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 50000));
}

/* Neither is what the other predicts: the one that was nearer is taken, for good. */
static void R23_between_two_levels(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 114000));
	KUNIT_EXPECT_EQ(test, q.level, 11);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 80000));
	KUNIT_EXPECT_EQ(test, q.level, 10);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 112000));

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 114000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 87000));
	KUNIT_EXPECT_EQ(test, q.level, 11);
}

/* With a small quota, to lose half of the load is less than the band. */
static void R23_small_quota(struct kunit *test)
{
	struct ks_tuning t = { 10, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int i;

	ks_quota_start(&q, &t, 30);
	for (i = 0; i < 3; i++)
		tell(&q, &t, i ? 9900 : 16000);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 9900));
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 4930));
}

/* One window where the use is far too much below a level, far too little from there on. */
static bool tell_cliff(struct ks_quota *q, const struct ks_tuning *t, int cliff)
{
	return tell(q, t, q->level < cliff ? 280000 : 30000);
}

/* Nowhere near the quota, with any period. */
static void R23_cliff(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int cliff, i, changes;

	for (cliff = 1; cliff < KS_NR_LEVELS; cliff++) {
		ks_quota_start(&q, &t, 17);
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
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int i;

	ks_quota_start(&q, &t, 17);
	for (i = 0; i < 20; i++)
		tell_cliff(&q, &t, 20);
	KUNIT_EXPECT_FALSE(test, tell_cliff(&q, &t, 20));
	t.policy = KS_STEP;
	KUNIT_EXPECT_TRUE(test, tell_cliff(&q, &t, 20));
}

/* One round cannot break the quota, but can show by how much it is too small. */
static void R22_budget(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	KUNIT_EXPECT_LE(test, ks_quota_budget_ns(&q, &t), 4 * 2000 * 1000 / 10 * 2);
	KUNIT_EXPECT_GE(test, ks_quota_budget_ns(&q, &t), 4 * 2000 * 1000 / 10);
	ks_quota_start(&q, &t, KS_NR_LEVELS - 1);
	KUNIT_EXPECT_LE(test, ks_quota_budget_ns(&q, &t), 2000 * 1000 / 10 * 5 / 4);
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
			struct ks_tuning t = { bands[i].quota, policy, 2000 };

			ks_quota_start(&q, &t, 10);
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, bands[i].low));
			ks_quota_start(&q, &t, 10);
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, bands[i].high));
			ks_quota_start(&q, &t, 10);
			KUNIT_EXPECT_TRUE(test, tell(&q, &t, bands[i].low * 8 / 10));
			KUNIT_EXPECT_LT(test, q.level, 10);
			ks_quota_start(&q, &t, 10);
			KUNIT_EXPECT_TRUE(test, tell(&q, &t, bands[i].high * 12 / 10));
			KUNIT_EXPECT_GT(test, q.level, 10);
		}
	}
}

/* Neither end of the tables is passed, and at the end nothing is a change. */
static void R23_ends_of_the_tables(struct kunit *test)
{
	struct ks_quota q;
	int policy, i;

	for (policy = 0; policy < KS_NR_POLICIES; policy++) {
		struct ks_tuning t = { 30, policy, 2000 };

		ks_quota_start(&q, &t, KS_NR_LEVELS - 2);
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 900000));
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, 900000));
		KUNIT_EXPECT_EQ(test, q.level, KS_NR_LEVELS - 1);
		KUNIT_EXPECT_FALSE(test, ks_quota_ring_full(&q, &t, WINDOW_NS, WINDOW_NS,
							    900));

		ks_quota_start(&q, &t, 1);
		KUNIT_EXPECT_TRUE(test, tell(&q, &t, 0));
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_FALSE(test, tell(&q, &t, 0));
		KUNIT_EXPECT_EQ(test, q.level, 0);
	}
}

static void R23_quota_0_is_a_fixed_period(struct kunit *test)
{
	struct ks_tuning t = { 0, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int i;

	ks_quota_start(&q, &t, 10);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_FALSE(test, tell(&q, &t, i * 100000));
		KUNIT_EXPECT_FALSE(test, ks_quota_ring_full(&q, &t, WINDOW_NS, WINDOW_NS,
							    900));
		KUNIT_EXPECT_GE(test, q.sleep_us, 2000);
		/* It sleeps at least as long as it works. */
		KUNIT_EXPECT_LE(test, ks_quota_budget_ns(&q, &t), q.sleep_us * NSEC_PER_USEC);
	}
	KUNIT_EXPECT_EQ(test, q.level, 10);
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
static void R23_base_of_rounds_that_are_interrupted(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000 };
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = WINDOW_NS / 10,
		.round_ns = WINDOW_NS / 5,
		.drain_ns = WINDOW_NS / 10,
		.rounds = 500,
	};
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
	ks_quota_window(&q, &t, &u);
	KUNIT_EXPECT_EQ(test, q.base_ppm, KS_WHOLE / 20);
}

/* More accesses than the longest period can do with. */
/* With few rounds, it is chance what is left of their time; sleep does not follow that. */
static void R23_sleep_is_not_hasty(struct kunit *test)
{
	struct ks_usage u = { .wall_ns = WINDOW_NS, .rounds = 30, .run_ns = 30000000 };
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;

	ks_quota_start(&q, &t, 10);
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
	KUNIT_EXPECT_EQ(test, p.quota.level, KS_NR_LEVELS - 1);
}

/* A ring that is full raises the period at once, by as much as it is too full. */
static void R22_full_rings_raise_the_period(struct kunit *test)
{
	struct ks_tuning t = { 30, KS_PROPORTIONAL, 2000 };
	struct ks_quota q;
	int ms, raised = 0;

	ks_quota_start(&q, &t, 0);
	KUNIT_EXPECT_TRUE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 1000));
	KUNIT_EXPECT_EQ(test, q.level, 5);
	/* but not ten times at once */
	KUNIT_EXPECT_FALSE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, 1000));
	for (ms = 1; ms < 1000; ms++)
		raised += ks_quota_ring_full(&q, &t, ms * NSEC_PER_MSEC, WINDOW_NS, 801);
	KUNIT_EXPECT_EQ(test, raised, 9);
	KUNIT_EXPECT_EQ(test, q.level, 32);

	/* A ring that overflows says nothing of how much more there was. */
	ks_quota_start(&q, &t, 0);
	KUNIT_EXPECT_TRUE(test, ks_quota_ring_full(&q, &t, 0, WINDOW_NS, U32_MAX));
	KUNIT_EXPECT_EQ(test, q.level, ks_level_of(KS_LOADS, 16 * 199));
}

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
	int i;

	prandom_seed_state(&rnd, 23);
	t = (struct ks_tuning) { 30, KS_PROPORTIONAL, 2000 };
	ks_quota_start(&q, &t, 17);

	for (i = 0; i < 100000; i++) {
		u32 r = prandom_u32_state(&rnd);

		if (r % 50 == 0)
			t = (struct ks_tuning) { prandom_u32_state(&rnd) % 901, r / 50 % 2,
						 100 + prandom_u32_state(&rnd) % 1000000 };
		u.wall_ns = 1 + prandom_u32_state(&rnd) * (r % 3 ? 1ULL : 1000ULL);
		u.run_ns = prandom_u32_state(&rnd) * (r % 5 ? 1ULL : 1000ULL);
		u.drain_ns = prandom_u32_state(&rnd);
		u.rounds = prandom_u32_state(&rnd) % 1000;
		u.fill_permille = prandom_u32_state(&rnd) >> r % 32;
		if (r % 7)
			ks_quota_window(&q, &t, &u);
		else
			ks_quota_ring_full(&q, &t, u.wall_ns, WINDOW_NS, u.fill_permille);

		KUNIT_ASSERT_LT(test, q.level, KS_NR_LEVELS);
		KUNIT_ASSERT_LE(test, q.use_ppm, KS_WHOLE);
		KUNIT_ASSERT_LE(test, q.base_ppm, KS_WHOLE);
		KUNIT_ASSERT_LE(test, q.sleep_us, max(KS_MAX_SLEEP_US, 1000100U));
		KUNIT_ASSERT_LE(test, ks_quota_budget_ns(&q, &t),
				9ULL * q.sleep_us * NSEC_PER_USEC);
	}
}

/* ------------------------------- Batches ------------------------------- */

#define MAX_CPUS	192
#define HW_BATCH	1000	/* records that the hardware keeps back */

/* Records that are delivered as PEBS does it. */
struct delivery {
	int cpus;
	bool reads;		/* events are read, as ks_reads_due() says */
	bool switches;		/* programs sleep often, and perf empties buffers then */
	u64 accesses[MAX_CPUS];	/* per second */
	u32 rest[MAX_CPUS];	/* of them, since the last record */
	u32 kept[MAX_CPUS];	/* records that are kept back */
	u32 delivered;
	u32 done;		/* reads in this window */
	struct plant plant;
};

/* What rings have no place for is lost. */
static void deliver(struct delivery *d, int cpu)
{
	d->delivered = min(d->delivered + d->kept[cpu], d->cpus * d->plant.ring);
	d->kept[cpu] = 0;
}

static void make_records(struct delivery *d, int cpu)
{
	u64 accesses = d->rest[cpu] + noisy(&d->plant, div_u64(d->accesses[cpu], PARTS));

	d->kept[cpu] += div_u64_rem(accesses, period_of(&d->plant), &d->rest[cpu]);
	if (d->switches || d->kept[cpu] >= HW_BATCH)
		deliver(d, cpu);
}

static void run_delivery(struct delivery *d)
{
	struct plant *p = &d->plant;
	struct ks_usage u = { .rounds = 500 };
	u64 base_ns = 4000000, taken;
	int part, cpu;
	u32 due;

	d->done = 0;
	for (part = 1; part <= PARTS; part++) {
		for (cpu = 0; cpu < d->cpus; cpu++)
			make_records(d, cpu);
		due = d->reads ? ks_reads_due(part, PARTS, d->cpus) : 0;
		for (; d->done < due; d->done++)
			deliver(d, d->done % d->cpus);
		taken = min_t(u32, d->delivered, div_u64(WINDOW_NS / PARTS / 2, p->record_ns));
		d->delivered -= taken;
		u.drain_ns += taken * p->record_ns;
	}
	u.wall_ns = WINDOW_NS;
	u.run_ns = u.drain_ns + base_ns;
	p->use_ppm = div64_u64(u.run_ns * KS_WHOLE, u.wall_ns);
	if (!ks_quota_window(&p->quota, &p->tuning, &u))
		return;
	/* To change the period stops the event, which empties its buffer. */
	p->changes++;
	for (cpu = 0; cpu < d->cpus; cpu++)
		deliver(d, cpu);
}

/* Return: changes of the period in 60 windows, when it has had 20 to settle. */
static int hunt(struct kunit *test, int cpus, bool reads, bool switches)
{
	struct delivery *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, d);
	d->plant = new_plant(30, KS_PROPORTIONAL);
	d->plant.noise_percent = 5;
	d->cpus = cpus;
	d->reads = reads;
	d->switches = switches;
	/* Every second one is idle. */
	for (i = 0; i < cpus; i += 2)
		d->accesses[i] = 500000000;
	for (i = 0; i < 20; i++)
		run_delivery(d);
	d->plant.changes = 0;
	for (i = 0; i < 60; i++)
		run_delivery(d);
	if (reads || switches)
		KUNIT_EXPECT_TRUE_MSG(test, is_settled(&d->plant), "%d CPUs: use %u ppm", cpus,
				      d->plant.use_ppm);
	return d->plant.changes;
}

static void R27_batches_that_wait(struct kunit *test)
{
	static const int cpus[] = { 1, 4, 16, 64, 192 };
	int i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		KUNIT_EXPECT_LE_MSG(test, hunt(test, cpus[i], true, false), 1, "%d CPUs", cpus[i]);
		KUNIT_EXPECT_LE_MSG(test, hunt(test, cpus[i], true, true), 1,
				    "%d CPUs that switch", cpus[i]);
	}
	/* Otherwise this would prove nothing. */
	KUNIT_EXPECT_GT(test, hunt(test, 64, false, false), 20);
}

static void R27_each_is_read_as_often_in_each_window(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ks_reads_due(0, WINDOW_NS, 64), 0);
	KUNIT_EXPECT_EQ(test, ks_reads_due(WINDOW_NS / 2, WINDOW_NS, 64), KS_READS * 32);
	KUNIT_EXPECT_EQ(test, ks_reads_due(WINDOW_NS, WINDOW_NS, 64), KS_READS * 64);
	KUNIT_EXPECT_EQ(test, ks_reads_due(3 * WINDOW_NS, WINDOW_NS, 64), KS_READS * 64);
	KUNIT_EXPECT_EQ(test, ks_reads_due(WINDOW_NS, WINDOW_NS, 0), 0);
	/* 60 s, 8192 CPUs */
	KUNIT_EXPECT_EQ(test, ks_reads_due(60 * WINDOW_NS, 60 * WINDOW_NS, 8192),
			KS_READS * 8192);
}

static struct kunit_case quota_cases[] = {
	KUNIT_CASE(R22_budget),
	KUNIT_CASE(R22_full_rings_raise_the_period),
	KUNIT_CASE(R22_overload_is_lost_not_used),
	KUNIT_CASE(R22_small_rings),
	KUNIT_CASE(R23_a_load_that_ends),
	KUNIT_CASE(R23_a_quota_that_is_changed),
	KUNIT_CASE(R23_any_history),
	KUNIT_CASE(R23_average_follows_the_period),
	KUNIT_CASE(R23_base_above_the_quota),
	KUNIT_CASE(R23_base_of_rounds_that_are_interrupted),
	KUNIT_CASE(R23_between_two_levels),
	KUNIT_CASE(R23_bursts),
	KUNIT_CASE(R23_cliff),
	KUNIT_CASE(R23_dead_band),
	KUNIT_CASE(R23_ends_of_the_tables),
	KUNIT_CASE(R23_full_whatever_the_period_is),
	KUNIT_CASE(R23_nearest_level),
	KUNIT_CASE(R23_policy_step),
	KUNIT_CASE(R23_policy_step_after_a_search),
	KUNIT_CASE(R23_quota_0_is_a_fixed_period),
	KUNIT_CASE(R23_settles_where_use_is_steep),
	KUNIT_CASE(R23_settles_within_five_windows),
	KUNIT_CASE(R23_sleep_is_not_hasty),
	KUNIT_CASE(R23_small_quota),
	KUNIT_CASE(R23_smoothing),
	KUNIT_CASE(R23_stays_there),
	KUNIT_CASE(R23_stays_where_periods_are_coarse),
	KUNIT_CASE(R23_tables),
	KUNIT_CASE(R27_batches_that_wait),
	KUNIT_CASE(R27_each_is_read_as_often_in_each_window),
	{}
};

static struct kunit_suite quota_suite = {
	.name = "ksamplingd_quota",
	.test_cases = quota_cases,
};

kunit_test_suite(quota_suite);
