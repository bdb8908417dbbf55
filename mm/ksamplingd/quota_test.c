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
#include <linux/string.h>
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

static void start_at(struct ks_quota *q, const struct ks_tuning *t, u8 level)
{
	const u8 levels[KS_NR_KINDS] = { level, level };

	ks_quota_start(q, t, levels);
}

/* Of loads. */
static bool ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns,
		      u32 fill_permille)
{
	const u32 fill[KS_NR_KINDS] = { [KS_LOADS] = fill_permille };

	return ks_quota_ring_full(q, t, part_ns, WINDOW_NS, fill);
}

static struct plant new_plant(u32 quota_permille, u32 policy)
{
	struct plant p = {
		.base_ns = 8000,
		.record_ns = 1200,
		.ring = 2048,
		.noise_percent = 10,
		.tuning = {
			.quota_permille = quota_permille,
			.policy = policy,
			.sleep_us = 2000,
			.load_share_permille = 1000,
		},
	};

	prandom_seed_state(&p.rnd, quota_permille + 1);
	start_at(&p.quota, &p.tuning, 17);
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
	u32 period = ks_periods[KS_LOADS][p->quota.level[KS_LOADS]];

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
	/* What comes between two rounds. */
	u64 most = div64_u64(came, rounds);
	u64 taken, room, made = came;

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
	u->records[KS_LOADS] += taken;
	u->read += taken;
	u->made += made;
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
		u.fill_permille[KS_LOADS] = max(u.fill_permille[KS_LOADS], fill);
		if (fill > KS_FULL)
			p->changes += ring_full(&p->quota, &p->tuning, u.wall_ns, fill);
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

/* Neither is what the other predicts: the one that was nearer is taken, for good. */
static void R23_between_two_levels(struct kunit *test)
{
	struct ks_tuning t = { 100, KS_PROPORTIONAL, 2000, 1000 };
	struct ks_quota q;

	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 114000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 11);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 80000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 10);
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 112000));

	start_at(&q, &t, 10);
	KUNIT_EXPECT_TRUE(test, tell(&q, &t, 114000));
	KUNIT_EXPECT_FALSE(test, tell(&q, &t, 87000));
	KUNIT_EXPECT_EQ(test, q.level[KS_LOADS], 11);
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
	KUNIT_EXPECT_TRUE(test, tell_cliff(&q, &t, 20));
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

/* ------------------------------- Batches ------------------------------- */

#define MAX_CPUS	192
#define HW_BATCH	1000	/* records that the hardware keeps back */

/* Records of loads and stores that are delivered as PEBS does it. */
struct delivery {
	int cpus;
	bool reads;		/* events are read, as ks_reads_due() says */
	bool switches;		/* programs sleep often, and perf empties buffers then */
	u64 accesses[KS_NR_KINDS];		/* per second, of a CPU that is not idle */
	u32 rest[KS_NR_KINDS][MAX_CPUS];	/* of them, since the last record */
	u32 kept[KS_NR_KINDS][MAX_CPUS];	/* records that are kept back */
	u32 delivered[KS_NR_KINDS];
	u32 fill[KS_NR_KINDS];	/* permille, all rings together */
	u32 done;		/* reads in this window */
	u32 window_percent;	/* how much the rate of a kind varies between windows */
	u64 records[KS_NR_KINDS];	/* since somebody has set it to 0 */
	u64 lost;
	u32 loads_ppm;		/* of the records of the last window */
	struct plant plant;
};

/* What rings have no place for is lost. */
static void deliver(struct delivery *d, int cpu, struct ks_usage *u)
{
	u32 room = d->cpus * d->plant.ring;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		d->delivered[kind] += d->kept[kind][cpu];
		d->kept[kind][cpu] = 0;
		d->fill[kind] = max_t(u32, d->fill[kind],
				      div_u64(d->delivered[kind] * 1000ULL, room));
		if (d->delivered[kind] <= room)
			continue;
		u->records[kind] += d->delivered[kind] - room;
		d->lost += d->delivered[kind] - room;
		d->delivered[kind] = room;
	}
}

/* To change the period stops the event, which empties its buffer. */
static void change_periods(struct delivery *d, struct ks_usage *u)
{
	int cpu;

	d->plant.changes++;
	for (cpu = 0; cpu < d->cpus; cpu++)
		deliver(d, cpu, u);
}

/* As a round does. */
static void look_at_rings(struct delivery *d, int part, struct ks_usage *u)
{
	/* What comes at once with any period is no matter of the period. */
	u32 batch = HW_BATCH * 1000 / (d->plant.ring * d->cpus);
	u32 full[KS_NR_KINDS] = {};
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		d->fill[kind] -= min(d->fill[kind], batch);
		u->fill_permille[kind] = max(u->fill_permille[kind], d->fill[kind]);
		if (d->fill[kind] > KS_FULL)
			full[kind] = d->fill[kind];
		d->fill[kind] = 0;
	}
	if (ks_quota_ring_full(&d->plant.quota, &d->plant.tuning, part, PARTS, full))
		change_periods(d, u);
}

static void make_records(struct delivery *d, int cpu, const u64 rate[], struct ks_usage *u)
{
	bool full = false;
	u64 accesses;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		accesses = d->rest[kind][cpu] + noisy(&d->plant, div_u64(rate[kind], PARTS));
		d->kept[kind][cpu] += div_u64_rem(accesses,
						  ks_periods[kind][d->plant.quota.level[kind]],
						  &d->rest[kind][cpu]);
		full |= d->kept[kind][cpu] >= HW_BATCH;
	}
	/* All events of a CPU share its buffer. */
	if (d->switches || full)
		deliver(d, cpu, u);
}

static void take_records(struct delivery *d, int part, struct ks_usage *u)
{
	u32 time = div_u64(WINDOW_NS / PARTS / 2, d->plant.record_ns), taken;
	int i, kind;

	/* Each of them is the first one in turn. */
	for (i = 0; i < KS_NR_KINDS; i++) {
		kind = (part + i) % KS_NR_KINDS;
		taken = min(d->delivered[kind], time);
		time -= taken;
		d->delivered[kind] -= taken;
		u->records[kind] += taken;
		u->drain_ns += taken * d->plant.record_ns;
	}
}

static void run_delivery(struct delivery *d)
{
	struct plant *p = &d->plant;
	struct ks_usage u = { .rounds = 500 };
	u64 base_ns = 4000000, rate[KS_NR_KINDS];
	int part, cpu, kind;
	u32 due;

	for (kind = 0; kind < KS_NR_KINDS; kind++)
		rate[kind] = div_u64(d->accesses[kind] *
				     (100 - d->window_percent +
				      prandom_u32_state(&p->rnd) % (2 * d->window_percent + 1)),
				     100);
	d->done = 0;
	for (part = 1; part <= PARTS; part++) {
		/* Every second one is idle. */
		for (cpu = 0; cpu < d->cpus; cpu += 2)
			make_records(d, cpu, rate, &u);
		due = d->reads ? ks_reads_due(part, PARTS, d->cpus) : 0;
		for (; d->done < due; d->done++)
			deliver(d, d->done % d->cpus, &u);
		look_at_rings(d, part, &u);
		take_records(d, part, &u);
	}
	u.wall_ns = WINDOW_NS;
	u.run_ns = u.drain_ns + base_ns;
	p->use_ppm = div64_u64(u.run_ns * KS_WHOLE, u.wall_ns);
	d->loads_ppm = div64_u64(u.records[KS_LOADS] * KS_WHOLE,
				 max(u.records[KS_LOADS] + u.records[KS_STORES], 1));
	for (kind = 0; kind < KS_NR_KINDS; kind++)
		d->records[kind] += u.records[kind];
	if (ks_quota_window(&p->quota, &p->tuning, &u))
		change_periods(d, &u);
}

static struct delivery *new_delivery(struct kunit *test, u32 quota_permille)
{
	struct delivery *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, d);
	d->plant = new_plant(quota_permille, KS_PROPORTIONAL);
	d->plant.noise_percent = 5;
	d->reads = true;
	return d;
}

/* Return: changes of the period in 60 windows, when it has had 20 to settle. */
static int hunt(struct kunit *test, int cpus, bool reads, bool switches)
{
	struct delivery *d = new_delivery(test, 30);
	int i;

	d->cpus = cpus;
	d->reads = reads;
	d->switches = switches;
	d->accesses[KS_LOADS] = 500000000;
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

/* -------------------------------- The mix -------------------------------- */

static struct delivery *new_mix(struct kunit *test, u32 quota_permille, int cpus,
				u32 load_share_permille)
{
	struct delivery *d = new_delivery(test, quota_permille);

	d->cpus = cpus;
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

static void run_deliveries(struct delivery *d, int windows)
{
	d->plant.changes = 0;
	memset(d->records, 0, sizeof(d->records));
	while (windows--)
		run_delivery(d);
}

static u32 loads_ppm(const struct delivery *d)
{
	return div64_u64(d->records[KS_LOADS] * KS_WHOLE,
			 max(d->records[KS_LOADS] + d->records[KS_STORES], 1));
}

static void holds_mix(struct kunit *test, int cpus, u64 loads, u64 stores, u32 share)
{
	struct delivery *d = new_mix(test, 30, cpus, share);
	u32 use_ppm = 0;
	int i;

	d->accesses[KS_LOADS] = loads;
	d->accesses[KS_STORES] = stores;
	run_deliveries(d, 20);
	run_deliveries(d, 60);
	KUNIT_EXPECT_LE_MSG(test, d->plant.changes, 1, "%d CPUs, %llu/%llu, share %u", cpus, loads,
			    stores, share);
	if (is_free(&d->plant.quota))
		KUNIT_EXPECT_LE_MSG(test, mix_error_ppm(d, loads_ppm(d)), allowed_ppm(share),
				    "%d CPUs, %llu/%llu, share %u: %u ppm", cpus, loads, stores,
				    share, loads_ppm(d));
	for (i = 0; i < 10; i++) {
		run_delivery(d);
		use_ppm += d->plant.use_ppm / 10;
	}
	/* The quota is met in any case, unless both end at the same end. */
	if (d->plant.quota.level[KS_LOADS] || d->plant.quota.level[KS_STORES])
		KUNIT_EXPECT_LE_MSG(test, abs_diff(use_ppm, 30000U), 5500,
				    "%d CPUs, %llu/%llu, share %u: use %u ppm", cpus, loads,
				    stores, share, use_ppm);
}

/* As many as a CPU makes: some million loads that miss, a hundred times as many stores. */
static void R28_shares_are_held(struct kunit *test)
{
	static const u64 loads[] = { 3000000, 20000000 };
	static const u64 stores[] = { 300000000, 1000000000 };
	static const u32 shares[] = { 800, 500, 200, 950 };
	static const int cpus[] = { 1, 4, 16, 64, 192 };
	int c, l, s, i;

	for (c = 0; c < ARRAY_SIZE(cpus); c++)
		for (l = 0; l < ARRAY_SIZE(loads); l++)
			for (s = 0; s < ARRAY_SIZE(stores); s++)
				for (i = 0; i < ARRAY_SIZE(shares); i++)
					holds_mix(test, cpus[c], loads[l], stores[s], shares[i]);
}

/* Why that is so: with both at one level of their tables, stores are nearly all. */
static void R28_one_level_for_both_is_no_mix(struct kunit *test)
{
	u32 level;

	for (level = 0; level < KS_NR_LEVELS; level++)
		KUNIT_EXPECT_GT(test, 1000000000 / ks_periods[KS_STORES][level],
				7 * (20000000 / ks_periods[KS_LOADS][level]));
}

/* Programs that do something else all of a sudden. */
static void phases(struct kunit *test, int cpus, u32 quota)
{
	static const struct { u64 loads, stores; } phase[] = {
		{ 20000000, 10000000 }, { 20000000, 1000000000 }, { 20000000, 10000000 },
		{ 3000000, 10000000 }, { 20000000, 300000000 }, { 3000000, 1000000000 },
		{ 0, 1000000000 }, { 20000000, 1000000000 }, { 20000000, 0 },
		{ 10000000, 300000000 },
	};
	struct delivery *d = new_mix(test, quota, cpus, 800);
	int i, windows;

	for (i = 0; i < ARRAY_SIZE(phase); i++) {
		d->accesses[KS_LOADS] = phase[i].loads;
		d->accesses[KS_STORES] = phase[i].stores;
		windows = settle_mix(d, 60);
		KUNIT_EXPECT_LE_MSG(test, windows, 5, "%d CPUs, quota %u, phase %d: %u/%u", cpus,
				    quota, i, d->plant.use_ppm, d->loads_ppm);
		run_deliveries(d, 10);
		run_deliveries(d, 60);
		KUNIT_EXPECT_LE_MSG(test, d->plant.changes, 1, "%d CPUs, quota %u, phase %d", cpus,
				    quota, i);
	}
}

static void R28_settles_within_five_windows(struct kunit *test)
{
	phases(test, 16, 30);
	phases(test, 64, 30);
	phases(test, 64, 100);
}

/* What is different in each of some windows is nothing to run after. */
static void R28_phases_that_are_short(struct kunit *test)
{
	struct delivery *d = new_mix(test, 30, 16, 800);
	int i;

	d->accesses[KS_LOADS] = 10000000;
	for (i = 0; i < 120; i++) {
		d->accesses[KS_STORES] = i % 2 ? 600000000 : 400000000;
		if (i == 60)
			run_deliveries(d, 0);
		run_delivery(d);
	}
	KUNIT_EXPECT_LE(test, d->plant.changes, 1);
	KUNIT_EXPECT_LE(test, mix_error_ppm(d, loads_ppm(d)), allowed_ppm(800));
}

/* A program whose data are in the cache: the quota is for its stores then. */
static void R28_quota_comes_first(struct kunit *test)
{
	struct delivery *d = new_mix(test, 30, 16, 800);

	d->accesses[KS_LOADS] = 20000;
	d->accesses[KS_STORES] = 300000000;
	KUNIT_EXPECT_LE(test, settle_mix(d, 60), 5);
	run_deliveries(d, 10);
	run_deliveries(d, 60);
	KUNIT_EXPECT_EQ(test, d->plant.quota.level[KS_LOADS], 0);
	KUNIT_EXPECT_LE(test, d->plant.changes, 1);
	KUNIT_EXPECT_GT(test, d->records[KS_LOADS], 0);

	/* Too many stores with the longest period. */
	d = new_mix(test, 30, 192, 990);
	d->accesses[KS_LOADS] = 20000000;
	d->accesses[KS_STORES] = 1000000000;
	/* From a period that is 3000 times too short. */
	KUNIT_EXPECT_LE(test, settle_mix(d, 60), 7);
	run_deliveries(d, 10);
	run_deliveries(d, 60);
	KUNIT_EXPECT_EQ(test, d->plant.quota.level[KS_STORES], KS_NR_LEVELS - 1);
	KUNIT_EXPECT_LE(test, d->plant.changes, 1);
}

/* One window of records; the use is at the quota, unless it is told otherwise. */
static bool tell_mix(struct ks_quota *q, const struct ks_tuning *t, u32 use_ppm, u64 loads,
		     u64 stores)
{
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.drain_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.rounds = 500,
		.records = { [KS_LOADS] = loads, [KS_STORES] = stores },
	};

	return ks_quota_window(q, t, &u);
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

/* Too much use, too little, and none of both: what makes the mix worse is not moved. */
static void R28_steps_of_use_and_mix(struct kunit *test)
{
	step_of_mix(test, 200000, 20, 21);
	step_of_mix(test, 50000, 19, 20);
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

static struct kunit_case quota_cases[] = {
	KUNIT_CASE(R22_budget),
	KUNIT_CASE(R22_full_rings_raise_the_period),
	KUNIT_CASE(R22_overload_is_lost_not_used),
	KUNIT_CASE(R22_rings_that_just_hold),
	KUNIT_CASE(R22_small_rings),
	KUNIT_CASE(R23_a_load_that_ends),
	KUNIT_CASE(R23_a_quota_that_is_changed),
	KUNIT_CASE(R23_any_history),
	KUNIT_CASE(R23_average_follows_the_period),
	KUNIT_CASE(R23_backlog),
	KUNIT_CASE(R23_base_above_the_quota),
	KUNIT_CASE(R23_base_of_rounds_that_are_interrupted),
	KUNIT_CASE(R23_base_that_is_too_much),
	KUNIT_CASE(R23_between_two_levels),
	KUNIT_CASE(R23_bursts),
	KUNIT_CASE(R23_cliff),
	KUNIT_CASE(R23_dead_band),
	KUNIT_CASE(R23_ends_of_the_tables),
	KUNIT_CASE(R23_full_whatever_the_period_is),
	KUNIT_CASE(R23_nearest_level),
	KUNIT_CASE(R23_not_too_far_at_once),
	KUNIT_CASE(R23_policy_step),
	KUNIT_CASE(R23_policy_step_after_a_search),
	KUNIT_CASE(R23_quota_0_is_a_fixed_period),
	KUNIT_CASE(R23_records_that_were_not_read),
	KUNIT_CASE(R23_settles_where_use_is_steep),
	KUNIT_CASE(R23_settles_within_five_windows),
	KUNIT_CASE(R23_sleep_is_not_hasty),
	KUNIT_CASE(R23_small_quota),
	KUNIT_CASE(R23_smoothing),
	KUNIT_CASE(R23_smoothing_of_the_base),
	KUNIT_CASE(R23_stays_there),
	KUNIT_CASE(R23_stays_where_periods_are_coarse),
	KUNIT_CASE(R23_tables),
	KUNIT_CASE(R23_tuned_anew),
	KUNIT_CASE(R23_window_of_two_periods),
	KUNIT_CASE(R23_workload),
	KUNIT_CASE(R23_wakeups_that_have_records),
	KUNIT_CASE(R27_batches_that_wait),
	KUNIT_CASE(R27_each_is_read_as_often_in_each_window),
	KUNIT_CASE(R28_a_few_records_tell_no_mix),
	KUNIT_CASE(R28_a_ring_of_one_kind),
	KUNIT_CASE(R28_band),
	KUNIT_CASE(R28_no_share),
	KUNIT_CASE(R28_one_change_for_use_and_mix),
	KUNIT_CASE(R28_one_level_for_both_is_no_mix),
	KUNIT_CASE(R28_phases_that_are_short),
	KUNIT_CASE(R28_policy_step),
	KUNIT_CASE(R28_quota_comes_first),
	KUNIT_CASE(R28_steps_of_use_and_mix),
	KUNIT_CASE_SLOW(R28_settles_within_five_windows),
	KUNIT_CASE_SLOW(R28_shares_are_held),
	{}
};

static struct kunit_suite quota_suite = {
	.name = "ksamplingd_quota",
	.test_cases = quota_cases,
};

kunit_test_suite(quota_suite);
