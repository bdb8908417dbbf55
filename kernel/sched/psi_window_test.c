// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of psi_window.c: when a trigger has something to say.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/time64.h>

#include "psi_window.h"

#define MS	NSEC_PER_MSEC
#define S	NSEC_PER_SEC

/* A trigger on a system whose clock does not begin at 0. */
#define BEGIN	(77 * S)

static struct psi_window new_window(u64 threshold, u64 size, u64 total)
{
	struct psi_window w;

	psi_window_init(&w, threshold, size, BEGIN, total);
	return w;
}

static void ignores_the_past(struct kunit *test)
{
	struct psi_window w = new_window(1 * MS, 500 * MS, 400 * S);

	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, BEGIN + 50 * MS, 400 * S));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, BEGIN + 600 * MS, 400 * S));
	KUNIT_EXPECT_TRUE(test, psi_window_look(&w, BEGIN + 650 * MS, 400 * S + MS));
}

static void threshold_counts(struct kunit *test)
{
	struct psi_window w = new_window(100 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, BEGIN + 500 * MS, 100 * MS - 1));
	KUNIT_EXPECT_TRUE(test, psi_window_look(&w, BEGIN + 600 * MS, 100 * MS));
}

/*
 * 800 ms in the window before, of which what has not yet left the last second
 * counts, plus what has come since.
 */
struct between {
	const char	*name;
	u64		elapsed, growth;	/* since the window began, ms */
	u64		stall_us;
};

static const struct between between[] = {
	{ "just begun",		0,	0,	800000 },
	{ "a tenth",		100,	0,	720000 },
	{ "half",		500,	0,	400000 },
	{ "half, and more",	500,	300,	700000 },
	{ "nearly over",	999,	0,	800 },
	{ "over",		1000,	50,	50000 },
};

KUNIT_ARRAY_PARAM_DESC(between, between, name);

/* Is a threshold reached, after a window with 800 ms? */
static bool reaches(const struct between *b, u64 threshold)
{
	struct psi_window w = new_window(1000 * MS, 1000 * MS, 0);
	u64 begin = BEGIN + 1000 * MS;

	psi_window_look(&w, begin, 800 * MS);
	w.threshold = threshold;
	return psi_window_look(&w, begin + b->elapsed * MS, (800 + b->growth) * MS);
}

static void window_before_fades(struct kunit *test)
{
	const struct between *b = test->param_value;

	KUNIT_EXPECT_TRUE(test, reaches(b, b->stall_us * NSEC_PER_USEC));
	KUNIT_EXPECT_FALSE(test, reaches(b, b->stall_us * NSEC_PER_USEC + 1));
}

/* Stalled all the time, looked at as it asks for. */
static void one_event_a_window(struct kunit *test)
{
	static const u64 sizes[] = { 10 * MS, 500 * MS, 2 * S, 10 * S };
	struct psi_window w;
	u64 now, last;
	int i, events;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		w = new_window(sizes[i] / 2, sizes[i], 0);
		events = 0;
		last = 0;
		for (now = BEGIN; now <= BEGIN + 12 * sizes[i];
		     now = psi_window_next_look(&w, now)) {
			if (!psi_window_look(&w, now, now - BEGIN))
				continue;
			if (events++)
				KUNIT_EXPECT_EQ(test, now - last, sizes[i]);
			last = now;
		}
		KUNIT_EXPECT_EQ(test, events, 12);
	}
}

/* The second burst comes too soon. Its event does not, and is not lost. */
static void held_back_event_comes(struct kunit *test)
{
	struct psi_window w = new_window(10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	KUNIT_EXPECT_TRUE(test, psi_window_look(&w, now, 20 * MS));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, now + 100 * MS, 20 * MS));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, now + 300 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, now + 999 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, psi_window_is_quiet(&w, now + 999 * MS));
	KUNIT_EXPECT_EQ(test, psi_window_next_look(&w, now + 999 * MS), now + 1000 * MS);
	KUNIT_EXPECT_TRUE(test, psi_window_look(&w, now + 1000 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, now + 2000 * MS, 40 * MS));
}

/* One burst is one event, however long it stays in the window. */
static void one_burst_is_one_event(struct kunit *test)
{
	struct psi_window w = new_window(10 * MS, 1000 * MS, 0);
	int i, events = 0;

	for (i = 0; i < 50; i++)
		events += psi_window_look(&w, BEGIN + i * 100 * MS,
					  i < 3 ? 0 : 500 * MS);
	KUNIT_EXPECT_EQ(test, events, 1);
}

/* 40 % for three windows in which nobody looked is not 120 % of one. */
static void late_look_counts_one_window(struct kunit *test)
{
	struct psi_window w = new_window(500 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, BEGIN + 3 * S, 1200 * MS));
	KUNIT_EXPECT_EQ(test, w.before, 400 * MS);
}

static void rests_and_resumes(struct kunit *test)
{
	struct psi_window w = new_window(10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	psi_window_look(&w, now, 5 * MS);
	psi_window_look(&w, now + 900 * MS, 5 * MS);
	KUNIT_EXPECT_FALSE(test, psi_window_is_quiet(&w, now + 900 * MS));
	psi_window_look(&w, now + 1000 * MS, 5 * MS);
	KUNIT_EXPECT_TRUE(test, psi_window_is_quiet(&w, now + 1000 * MS));

	/* What was before does not count; what made it resume does. */
	now += 100 * S;
	psi_window_resume(&w, now);
	KUNIT_EXPECT_FALSE(test, psi_window_is_quiet(&w, now));
	KUNIT_EXPECT_FALSE(test, psi_window_look(&w, now, 14 * MS));
	KUNIT_EXPECT_TRUE(test, psi_window_look(&w, now + 100 * MS, 15 * MS));
}

/* A tenth of a window at most, and everybody at the same time. */
static void looks_are_on_a_grid(struct kunit *test)
{
	struct psi_window a = new_window(MS, 500 * MS, 0), b = a;
	u64 now, next;
	int i;

	for (i = 0; i < 1000; i++) {
		now = BEGIN + i * 7777777ULL;
		next = psi_window_next_look(&a, now);
		KUNIT_EXPECT_GT(test, next, now);
		KUNIT_EXPECT_LE(test, next, now + 50 * MS);
		KUNIT_EXPECT_EQ(test, psi_window_next_look(&b, next - 1), next);
	}
}

/*
 * Bursts at random, every one of them longer than the threshold. Each is answered
 * by an event: at the first look after it, or as soon as the window allows. And
 * for each event there was a burst since the last one.
 */
static void random_bursts(struct kunit *test, struct rnd_state *rnd)
{
	u64 size = (10 + prandom_u32_state(rnd) % 9991) * MS;
	u64 threshold = 1 + prandom_u32_state(rnd) % (u32)(size / 20);
	struct psi_window w = new_window(threshold, size, 0);
	u64 total = 0, now = BEGIN, next, allowed = 0;
	bool unanswered = false;
	int i;

	for (i = 0; i < 2000; i++) {
		next = psi_window_next_look(&w, now);
		/* A burst fits between two looks that are not close. */
		if (prandom_u32_state(rnd) % 20 == 0 && next - now > size / 20) {
			total += threshold + prandom_u32_state(rnd) % 1000;
			unanswered = true;
		}
		/* Hardly ever is somebody exactly on time. */
		now = next + prandom_u32_state(rnd) % 50000;

		if (psi_window_look(&w, now, total)) {
			KUNIT_EXPECT_TRUE_MSG(test, unanswered, "look %d", i);
			KUNIT_EXPECT_GE(test, now, allowed);
			unanswered = false;
			allowed = now + size;
		} else if (unanswered) {
			KUNIT_EXPECT_LT_MSG(test, now, allowed, "look %d", i);
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

/* A steady stall of so many permille: events if and only if they are enough. */
static void steady_stall_is_exact(struct kunit *test)
{
	u64 size = 1000 * MS, threshold = 300 * MS, now;
	int permille, events;
	struct psi_window w;

	for (permille = 10; permille <= 1000; permille += 10) {
		w = new_window(threshold, size, 0);
		events = 0;
		for (now = BEGIN; now < BEGIN + 20 * S;
		     now = psi_window_next_look(&w, now))
			events += psi_window_look(&w, now, (now - BEGIN) / 1000 * permille);
		KUNIT_EXPECT_EQ_MSG(test, events > 0, permille >= 300, "%d permille",
				    permille);
		if (permille > 300)
			KUNIT_EXPECT_GE_MSG(test, events, 19, "%d permille", permille);
	}
}

static struct kunit_case psi_window_cases[] = {
	{ .name = "R-18 what was before does not count", .run_case = ignores_the_past },
	{ .name = "R-12 the threshold counts, not less", .run_case = threshold_counts },
	{ .name = "R-13 the window before fades", .run_case = window_before_fades,
	  .generate_params = between_gen_params },
	{ .name = "R-13 stalled all the time: one event a window",
	  .run_case = one_event_a_window },
	{ .name = "R-13 an event that is held back comes in time",
	  .run_case = held_back_event_comes },
	{ .name = "R-13 one burst is one event", .run_case = one_burst_is_one_event },
	{ .name = "R-13 a late look counts one window's length",
	  .run_case = late_look_counts_one_window },
	{ .name = "R-13 rests after a quiet window, and resumes",
	  .run_case = rests_and_resumes },
	{ .name = "R-13 ten looks a window, on a grid", .run_case = looks_are_on_a_grid },
	{ .name = "R-13 every burst has its event (random)",
	  .run_case = every_burst_has_its_event },
	{ .name = "R-13 a steady stall above the threshold, and none below",
	  .run_case = steady_stall_is_exact },
	{ }
};

static struct kunit_suite psi_window_suite = {
	.name = "psi_window",
	.test_cases = psi_window_cases,
};

kunit_test_suite(psi_window_suite);

MODULE_DESCRIPTION("Pressure stall information: windows of triggers");
MODULE_LICENSE("GPL");
