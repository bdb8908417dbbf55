// SPDX-License-Identifier: GPL-2.0
/* KUnit test of psi_window.c: when a trigger has an event. */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "psi_window.h"

#define MS	((u64)NSEC_PER_MSEC)
#define S	((u64)NSEC_PER_SEC)

/* A trigger on a system whose clock does not begin at 0. */
#define BEGIN	(77 * S)

/* One trigger, and a track for it alone. */
struct alone {
	struct psi_track	track;
	struct psi_window	window;
	u64			stall;	/* as of the last sample */
};

static void add(struct alone *a, u64 threshold, u64 size, u64 now, u64 total)
{
	a->window.threshold = threshold;
	a->window.size = size;
	psi_track_init(&a->track, div_u64(size, PSI_SAMPLES_PER_WINDOW), now, total);
	psi_window_begin(&a->window, now, total);
}

static struct alone *new_trigger(struct kunit *test, u64 threshold, u64 size, u64 total)
{
	struct alone *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	add(a, threshold, size, BEGIN, total);
	return a;
}

/*
 * Sample as psi_trigger.c does, which leaves the window alone if there is nothing to see.
 * Return: was there an event?
 */
static bool sample(struct alone *a, u64 now, u64 total)
{
	return psi_track_sample(&a->track, now, total) &&
	       (a->track.point_total >= psi_window_least_total(&a->window) ||
		a->track.point >= a->window.end) &&
	       psi_window_check(&a->window, &a->track, &a->stall);
}

/* When the next sample is due. */
static u64 next_sample(const struct alone *a, u64 now)
{
	return psi_track_next(&a->track, now, psi_window_least_total(&a->window), a->window.end);
}

static void ignores_the_past(struct kunit *test)
{
	struct alone *a = new_trigger(test, 1 * MS, 500 * MS, 400 * S);

	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 50 * MS, 400 * S));
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 600 * MS, 400 * S));
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 650 * MS, 400 * S + MS));
}

static void threshold_counts(struct kunit *test)
{
	struct alone *a = new_trigger(test, 100 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 500 * MS, 100 * MS - 1));
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 600 * MS, 100 * MS));
	KUNIT_EXPECT_EQ(test, a->stall, 100 * MS);
}

/*
 * 800 ms in the window before: the part that has not left the last second counts, plus
 * what has come since.
 */
struct between {
	const char	*name;
	u64		elapsed, growth;	/* since the window began, ms */
	u64		stall_us;
};

static const struct between between[] = {
	{ "a tenth",		100,	0,	720000 },
	{ "half",		500,	0,	400000 },
	{ "half, and more",	500,	300,	700000 },
	{ "nearly over",	900,	0,	80000 },
	{ "over",		1000,	50,	50000 },
};

KUNIT_ARRAY_PARAM_DESC(between, between, name);

/* Is a threshold reached, after a window with 800 ms? */
static bool reaches(struct kunit *test, const struct between *b, u64 threshold)
{
	struct alone *a = new_trigger(test, U64_MAX, 1000 * MS, 0);
	u64 begin = BEGIN + 1000 * MS;

	sample(a, begin, 800 * MS);
	a->window.threshold = threshold;
	return sample(a, begin + b->elapsed * MS, (800 + b->growth) * MS);
}

static void window_before_fades(struct kunit *test)
{
	const struct between *b = test->param_value;

	KUNIT_EXPECT_TRUE(test, reaches(test, b, b->stall_us * NSEC_PER_USEC));
	KUNIT_EXPECT_FALSE(test, reaches(test, b, b->stall_us * NSEC_PER_USEC + 1));
}

/* Stalled all the time, and sampled when due. */
static void one_event_a_window(struct kunit *test)
{
	static const u64 sizes[] = { 10 * MS, 500 * MS, 2 * S, 10 * S };
	struct alone *a;
	u64 now, last;
	int i, events;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		a = new_trigger(test, sizes[i] >> 1, sizes[i], 0);
		events = 0;
		last = 0;
		for (now = BEGIN; now <= BEGIN + 12 * sizes[i];
		     now = next_sample(a, now)) {
			if (!sample(a, now, now - BEGIN))
				continue;
			if (events++)
				KUNIT_EXPECT_EQ(test, now - last, sizes[i]);
			last = now;
		}
		KUNIT_EXPECT_EQ(test, events, 12);
	}
}

/* The same, where the poller checks the window at each sample because of other triggers. */
static void one_event_a_window_beside_others(struct kunit *test)
{
	struct alone *a = new_trigger(test, 500 * MS, 1000 * MS, 0);
	u64 now, last = 0;
	int events = 0;

	for (now = BEGIN; now <= BEGIN + 12 * S; now += 100 * MS) {
		if (!psi_track_sample(&a->track, now, now - BEGIN) ||
		    !psi_window_check(&a->window, &a->track, &a->stall))
			continue;
		if (events++)
			KUNIT_EXPECT_EQ(test, now - last, S);
		last = now;
	}
	KUNIT_EXPECT_EQ(test, events, 12);
}

/* The second burst comes too soon. Its event waits, and is not lost. */
static void held_back_event_comes(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	KUNIT_EXPECT_TRUE(test, sample(a, now, 20 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, now + 100 * MS, 20 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, now + 300 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, now + 999 * MS, 40 * MS));
	KUNIT_EXPECT_EQ(test, a->window.end, now + 1000 * MS);
	KUNIT_EXPECT_TRUE(test, sample(a, now + 1000 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, now + 2000 * MS, 40 * MS));
}

/* One burst is one event, however long it stays in the window. */
static void one_burst_is_one_event(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	int i, events = 0;

	for (i = 0; i < 50; i++)
		events += sample(a, BEGIN + i * 100 * MS, i < 3 ? 0 : 500 * MS);
	KUNIT_EXPECT_EQ(test, events, 1);
}

/* 40 % for three windows without a sample is not 120 % of one. */
static void late_sample_counts_one_window(struct kunit *test)
{
	struct alone *a = new_trigger(test, 500 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 3 * S, 1200 * MS));
	KUNIT_EXPECT_EQ(test, a->window.before, 400 * MS);
}

/* Of the windows without a sample, the one with most stall time counts. */
static void late_sample_finds_the_worst_window(struct kunit *test)
{
	struct alone *a = new_trigger(test, 500 * MS, 1000 * MS, 0);

	/* 640 ms in the first one, 400 ms in each of those that follow */
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 400 * MS, 400 * MS));
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 3 * S, 1440 * MS));
}

/* A total that grows by 2^32 ns at once is one event, and nothing is cut off. */
static void a_jump_of_32_bits(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * S, 10 * S, 0);
	u64 total = BIT_ULL(32), now = BEGIN;
	int i, events = 0;

	KUNIT_EXPECT_FALSE(test, sample(a, now += 1 * S, total));
	KUNIT_EXPECT_FALSE(test, sample(a, now += 1 * S, total += BIT_ULL(32)));
	KUNIT_EXPECT_TRUE(test, sample(a, now += 1 * S, total += BIT_ULL(32)));
	for (i = 0; i < 30; i++)
		events += sample(a, now += 1 * S, total);
	KUNIT_EXPECT_EQ(test, events, 0);
}

static void rests_and_resumes(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	sample(a, now, 5 * MS);
	sample(a, now + 900 * MS, 5 * MS);
	KUNIT_EXPECT_EQ(test, a->track.grown_at, now);

	/* What was before does not count; what made it resume does. */
	now += 100 * S;
	psi_track_resume(&a->track, now);
	KUNIT_EXPECT_EQ(test, a->track.grown_at, now);
	KUNIT_EXPECT_FALSE(test, sample(a, now, 14 * MS));
	KUNIT_EXPECT_TRUE(test, sample(a, now + 100 * MS, 15 * MS));

	/* Growth since the sample before has not been even. */
	now += 200 * S;
	psi_track_resume(&a->track, now);
	KUNIT_EXPECT_TRUE(test, sample(a, now + 100 * MS, 25 * MS));
}

/* Two triggers that are made between two samples, with a stall in between. */
static void not_what_was_before_the_second(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);

	psi_window_begin(&a->window, BEGIN + 30 * MS, 20 * MS);
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 100 * MS, 20 * MS));
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 200 * MS, 30 * MS));

	/* A trigger whose event is taken late begins with the next point. */
	a->window.start = PSI_WINDOW_NEXT;
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 3200 * MS, 900 * MS));
	KUNIT_EXPECT_EQ(test, a->window.start, BEGIN + 3200 * MS);
	KUNIT_EXPECT_EQ(test, a->window.start_total, 900 * MS);
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 3300 * MS, 910 * MS - 1));
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 3400 * MS, 910 * MS));
}

/* A wrong or provisional total makes no event of centuries. */
static void totals_that_go_back(struct kunit *test)
{
	struct alone *a = new_trigger(test, 800 * MS, 1000 * MS, 500 * MS);

	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 100 * MS, 500 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 200 * MS, 400 * MS));
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 150 * MS, 900 * MS));
	KUNIT_EXPECT_EQ(test, a->track.seen, 500 * MS);
	psi_window_begin(&a->window, BEGIN + 250 * MS, 600 * MS);
	KUNIT_EXPECT_FALSE(test, sample(a, BEGIN + 2500 * MS, 550 * MS));
	KUNIT_EXPECT_LT(test, a->window.before, 1000 * MS);
}

/* Ten points a window at most, and the same ones for all. */
static void samples_are_on_a_grid(struct kunit *test)
{
	struct psi_track a, b;
	u64 now, next;
	int i;

	psi_track_init(&a, 50 * MS, BEGIN, 0);
	psi_track_init(&b, 50 * MS, BEGIN + 123, 7);
	for (i = 0; i < 1000; i++) {
		now = BEGIN + i * 7777777ULL;
		next = psi_track_next(&a, now, 0, 1);
		KUNIT_EXPECT_GT(test, next, now);
		KUNIT_EXPECT_LE(test, next, now + 50 * MS);
		KUNIT_EXPECT_EQ(test, psi_track_next(&b, next - 1, 0, 1), next);
	}
}

/*
 * Bursts at random, each longer than the threshold. Each is answered by an event: at the
 * first sample after it, or as soon as the window allows. And for each event there was a
 * burst since the last one.
 */
static void random_bursts(struct kunit *test, struct rnd_state *rnd)
{
	u64 size = (10 + prandom_u32_state(rnd) % 9991) * MS;
	u64 threshold = 1000 + prandom_u32_state(rnd) % (u32)div_u64(size, 20);
	struct alone *a = new_trigger(test, threshold, size, 0);
	u64 total = 0, now = BEGIN, next, allowed = 0;
	bool unanswered = false;
	int i;

	for (i = 0; i < 2000; i++) {
		next = next_sample(a, now);
		/* A burst fits between two samples that are not close. */
		if (prandom_u32_state(rnd) % 20 == 0 && next - now > div_u64(size, 20)) {
			/* The share that belongs after the point is left for later. */
			total += threshold + (threshold >> 3) + prandom_u32_state(rnd) % 1000;
			unanswered = true;
		}
		/* Samples are hardly ever exactly on time. */
		now = next + prandom_u32_state(rnd) % 50000;

		if (sample(a, now, total)) {
			KUNIT_EXPECT_TRUE_MSG(test, unanswered, "sample %d", i);
			KUNIT_EXPECT_GE(test, a->track.point, allowed);
			unanswered = false;
			allowed = a->track.point + size;
		} else if (unanswered) {
			KUNIT_EXPECT_LT_MSG(test, a->track.point, allowed, "sample %d", i);
		}
	}
}

static void every_burst_has_its_event(struct kunit *test)
{
	struct rnd_state rnd;
	int seed;

	for (seed = 0; seed < 50; seed++) {
		prandom_seed_state(&rnd, seed);
		random_bursts(test, &rnd);
	}
}

/* A steady stall of @permille: events if and only if it is enough. */
static void steady_stall_is_exact(struct kunit *test)
{
	u64 size = 1000 * MS, threshold = 300 * MS, now;
	int permille, events;
	struct alone *a;

	for (permille = 10; permille <= 1000; permille += 10) {
		a = new_trigger(test, threshold, size, 0);
		events = 0;
		for (now = BEGIN; now < BEGIN + 20 * S; now = next_sample(a, now))
			events += sample(a, now, div_u64(now - BEGIN, 1000) * permille);
		KUNIT_EXPECT_EQ_MSG(test, events > 0, permille >= 300, "%d permille",
				    permille);
		if (permille > 300)
			KUNIT_EXPECT_GE_MSG(test, events, 19, "%d permille", permille);
	}
}

/* How late a sample is, ns. */
struct jitter {
	const char	*name;
	u64		size;
	u64		least, most;
};

static const struct jitter jitters[] = {
	{ "1 us, 10 ms windows",		10 * MS,  1000,	   1000 },
	{ "up to 3 us, 500 ms windows",		500 * MS, 0,	   3000 },
	{ "10 to 90 us, 500 ms windows",	500 * MS, 10000,   90000 },
	{ "up to half a step, 10 ms windows",	10 * MS,  0,	   500000 },
	{ "up to half a step, 500 ms windows",	500 * MS, 0,	   25 * MS },
	{ "up to half a step, 2 s windows",	2 * S,	  0,	   100 * MS },
	{ "half a step, 10 s windows",		10 * S,	  500 * MS, 500 * MS },
};

KUNIT_ARRAY_PARAM_DESC(jitter, jitters, name);

/* A stall of @permille of the threshold, in 200 windows. Return: number of events. */
static int steady_with_jitter(struct kunit *test, const struct jitter *j, int permille,
			      u64 begin, struct rnd_state *rnd)
{
	u64 threshold = div_u64(j->size, 2), now = begin, last = 0;
	struct alone *a = new_trigger(test, threshold, j->size, 0);
	int events = 0;

	add(a, threshold, j->size, begin, 0);
	while (now < begin + 200 * j->size) {
		now = next_sample(a, now) + j->least;
		if (j->most > j->least)
			now += prandom_u32_state(rnd) % (u32)(j->most - j->least + 1);
		if (!sample(a, now, div_u64((now - begin) * permille, 2000)))
			continue;
		if (events++)
			KUNIT_EXPECT_EQ(test, a->track.point - last, j->size);
		last = a->track.point;
	}
	return events;
}

static void late_samples_change_nothing(struct kunit *test)
{
	const struct jitter *j = test->param_value;
	struct rnd_state rnd;
	int seed, permille;
	u64 begin;

	for (seed = 0; seed < 20; seed++) {
		prandom_seed_state(&rnd, seed);
		begin = BEGIN + prandom_u32_state(&rnd) % (u32)min_t(u64, j->size, U32_MAX);
		for (permille = 900; permille < 1000; permille += permille < 990 ? 10 : 9)
			KUNIT_EXPECT_EQ_MSG(test, 0, steady_with_jitter(test, j, permille, begin,
									&rnd),
					    "%d permille", permille);
		/* Each comes a little late, and makes the next one later by that. */
		for (permille = 1001; permille < 1100; permille += 29)
			KUNIT_EXPECT_GE_MSG(test, steady_with_jitter(test, j, permille, begin,
								     &rnd),
					    189, "%d permille", permille);
	}
}

/* whenever they were made, and whatever happened to them. */
static void ends_together(struct kunit *test)
{
	struct alone *a = new_trigger(test, 400 * MS, 1000 * MS, 0);
	struct alone *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	u64 now;

	KUNIT_ASSERT_NOT_NULL(test, b);
	add(b, 400 * MS, 1000 * MS, BEGIN + 330 * MS, 0);
	KUNIT_EXPECT_TRUE(test, sample(a, BEGIN + 700 * MS, 500 * MS));
	for (now = BEGIN + 800 * MS; now <= BEGIN + 4500 * MS; now += 100 * MS) {
		sample(a, now, 500 * MS);
		sample(b, now, 500 * MS);
	}
	KUNIT_EXPECT_EQ(test, a->window.end, BEGIN + 5000 * MS);
	KUNIT_EXPECT_EQ(test, b->window.end, BEGIN + 5000 * MS);
	KUNIT_EXPECT_EQ(test, a->window.start, BEGIN + 4000 * MS);
	KUNIT_EXPECT_TRUE(test, psi_window_is_same(&a->window, &b->window));
}

/* Windows of other sizes have made samples closer, at moments that do not suit this one. */
static void any_size_on_any_grid(struct kunit *test)
{
	static const u64 sizes[] = { 500 * MS, 530 * MS, 999 * MS, 2 * S, 9999 * MS };
	int i, permille, events;
	struct alone *a;
	u64 now;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (permille = 970; permille <= 1030; permille += 60) {
			a = new_trigger(test, div_u64(sizes[i], 2), sizes[i], 0);
			a->track.step = 50 * MS;
			events = 0;
			for (now = BEGIN; now < BEGIN + 100 * sizes[i];
			     now = next_sample(a, now))
				events += sample(a, now, div_u64((now - BEGIN) * permille, 2000));
			if (permille < 1000)
				KUNIT_EXPECT_EQ(test, events, 0);
			else	/* each begins at a point of the grid */
				KUNIT_EXPECT_GE_MSG(test, events, 90, "%llu ms",
						    div_u64(sizes[i], MS));
		}
	}
}

static struct kunit_case psi_window_cases[] = {
	{ .name = "R-18 what was before does not count", .run_case = ignores_the_past },
	{ .name = "R-12 the threshold counts, not less", .run_case = threshold_counts },
	{ .name = "R-13 the window before fades", .run_case = window_before_fades,
	  .generate_params = between_gen_params },
	{ .name = "R-13 stalled all the time: one event a window",
	  .run_case = one_event_a_window },
	{ .name = "R-13 one event a window, beside other triggers",
	  .run_case = one_event_a_window_beside_others },
	{ .name = "R-13 an event that is held back comes in time",
	  .run_case = held_back_event_comes },
	{ .name = "R-13 one burst is one event", .run_case = one_burst_is_one_event },
	{ .name = "R-13 a late sample counts one window's length",
	  .run_case = late_sample_counts_one_window },
	{ .name = "R-13 a late sample finds the worst window",
	  .run_case = late_sample_finds_the_worst_window },
	{ .name = "R-18 what was before the second trigger does not count",
	  .run_case = not_what_was_before_the_second },
	{ .name = "R-13 totals that go back are no growth", .run_case = totals_that_go_back },
	{ .name = "D-5 a total that jumps by 2^32 ns", .run_case = a_jump_of_32_bits },
	{ .name = "R-13 rests after a quiet window, and resumes",
	  .run_case = rests_and_resumes },
	{ .name = "R-13 ten samples a window, on a grid", .run_case = samples_are_on_a_grid },
	{ .name = "R-13 every burst has its event (random)",
	  .run_case = every_burst_has_its_event },
	{ .name = "R-13 a steady stall above the threshold, and none below",
	  .run_case = steady_stall_is_exact },
	{ .name = "R-13 late samples change nothing", .run_case = late_samples_change_nothing,
	  .generate_params = jitter_gen_params },
	{ .name = "R-8 windows of one size end together", .run_case = ends_together },
	{ .name = "R-13 windows of any size on any grid", .run_case = any_size_on_any_grid },
	{ }
};

static struct kunit_suite psi_window_suite = {
	.name = "psi_window",
	.test_cases = psi_window_cases,
};

kunit_test_suite(psi_window_suite);

MODULE_DESCRIPTION("Pressure stall information: windows of triggers");
MODULE_LICENSE("GPL");
