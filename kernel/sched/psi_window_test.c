// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of psi_window.c: when a trigger has something to say.
 */
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

/* One trigger, and a monitor for it alone. */
struct alone {
	struct psi_monitor	monitor;
	struct psi_threshold	threshold;
	struct psi_window	window;
};

static void add(struct alone *a, u64 threshold, u64 size, u64 now, u64 total)
{
	a->threshold.ns = threshold;
	psi_monitor_init(&a->monitor, size, now, total);
	psi_monitor_add(&a->monitor, &a->threshold, &a->window, now, total);
}

static struct alone *new_trigger(struct kunit *test, u64 threshold, u64 size, u64 total)
{
	struct alone *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	add(a, threshold, size, BEGIN, total);
	return a;
}

/* Look, as psi_trigger.c does. Return: was there an event? */
static bool look(struct alone *a, u64 now, u64 total)
{
	struct psi_threshold *event;
	bool any = false;

	psi_monitor_look(&a->monitor, now, total);
	while (psi_monitor_step(&a->monitor, now, &event))
		any |= !!event;
	return any;
}

/* When it wants to be looked at again. */
static u64 next_look(const struct psi_monitor *m, u64 now)
{
	return min(psi_monitor_next_look(m, now), psi_monitor_next_held(m));
}

static void ignores_the_past(struct kunit *test)
{
	struct alone *a = new_trigger(test, 1 * MS, 500 * MS, 400 * S);

	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 50 * MS, 400 * S));
	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 600 * MS, 400 * S));
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 650 * MS, 400 * S + MS));
}

static void threshold_counts(struct kunit *test)
{
	struct alone *a = new_trigger(test, 100 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 500 * MS, 100 * MS - 1));
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 600 * MS, 100 * MS));
	KUNIT_EXPECT_EQ(test, a->threshold.growth, 100 * MS);
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
	{ "nearly over",	900,	0,	80000 },
	{ "over",		1000,	50,	50000 },
};

KUNIT_ARRAY_PARAM_DESC(between, between, name);

/* Is a threshold reached, after a window with 800 ms? */
static bool reaches(struct kunit *test, const struct between *b, u64 threshold)
{
	struct alone *a = new_trigger(test, U64_MAX, 1000 * MS, 0);
	u64 begin = BEGIN + 1000 * MS;

	look(a, begin, 800 * MS);
	a->threshold.ns = threshold;
	return look(a, begin + b->elapsed * MS, (800 + b->growth) * MS);
}

static void window_before_fades(struct kunit *test)
{
	const struct between *b = test->param_value;

	KUNIT_EXPECT_TRUE(test, reaches(test, b, b->stall_us * NSEC_PER_USEC));
	KUNIT_EXPECT_FALSE(test, reaches(test, b, b->stall_us * NSEC_PER_USEC + 1));
}

/* Stalled all the time, looked at as it asks for. */
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
		     now = next_look(&a->monitor, now)) {
			if (!look(a, now, now - BEGIN))
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
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	KUNIT_EXPECT_TRUE(test, look(a, now, 20 * MS));
	KUNIT_EXPECT_FALSE(test, look(a, now + 100 * MS, 20 * MS));
	KUNIT_EXPECT_FALSE(test, look(a, now + 300 * MS, 40 * MS));
	KUNIT_EXPECT_FALSE(test, psi_monitor_is_empty(&a->monitor));
	KUNIT_EXPECT_FALSE(test, look(a, now + 999 * MS, 40 * MS));
	KUNIT_EXPECT_EQ(test, psi_monitor_next_held(&a->monitor), now + 1000 * MS);
	KUNIT_EXPECT_TRUE(test, look(a, now + 1000 * MS, 40 * MS));
	KUNIT_EXPECT_EQ(test, psi_monitor_next_held(&a->monitor), U64_MAX);
	KUNIT_EXPECT_FALSE(test, look(a, now + 2000 * MS, 40 * MS));
}

/* One burst is one event, however long it stays in the window. */
static void one_burst_is_one_event(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	int i, events = 0;

	for (i = 0; i < 50; i++)
		events += look(a, BEGIN + i * 100 * MS, i < 3 ? 0 : 500 * MS);
	KUNIT_EXPECT_EQ(test, events, 1);
}

/*
 * Two bursts, and two events: the second one is held back, and comes with a look that is
 * late. Another trigger has a window then that ends with that look, and has seen both.
 */
static void seen_by_another_is_no_event(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	struct alone *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->threshold.ns = 500 * MS;
	psi_monitor_add(&a->monitor, &b->threshold, &b->window, BEGIN, 0);
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 500 * MS, 100 * MS));
	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 600 * MS, 200 * MS));
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 3000 * MS, 200 * MS));
	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 4100 * MS, 200 * MS));
}

/* 40 % for three windows in which nobody looked is not 120 % of one. */
static void late_look_counts_one_window(struct kunit *test)
{
	struct alone *a = new_trigger(test, 500 * MS, 1000 * MS, 0);

	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 3 * S, 1200 * MS));
	KUNIT_EXPECT_EQ(test, a->window.before, 400 * MS);
}

/* Of the windows in which nobody looked, it is the one with most that counts. */
static void late_look_finds_the_worst_window(struct kunit *test)
{
	struct alone *a = new_trigger(test, 500 * MS, 1000 * MS, 0);

	/* 640 ms in the first one, 400 ms in each of those that follow */
	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 400 * MS, 400 * MS));
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 3 * S, 1440 * MS));
}

/* A total that grows by 2^32 ns at once is one event, and nothing is cut off. */
static void a_jump_of_32_bits(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * S, 10 * S, 0);
	u64 total = BIT_ULL(32), now = BEGIN;
	int i, events = 0;

	KUNIT_EXPECT_FALSE(test, look(a, now += 1 * S, total));
	KUNIT_EXPECT_FALSE(test, look(a, now += 1 * S, total += BIT_ULL(32)));
	KUNIT_EXPECT_TRUE(test, look(a, now += 1 * S, total += BIT_ULL(32)));
	for (i = 0; i < 30; i++)
		events += look(a, now += 1 * S, total);
	KUNIT_EXPECT_EQ(test, events, 0);
}

static void rests_and_resumes(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	u64 now = BEGIN + 100 * MS;

	look(a, now, 5 * MS);
	look(a, now + 900 * MS, 5 * MS);
	KUNIT_EXPECT_FALSE(test, psi_monitor_is_quiet(&a->monitor, now + 900 * MS));
	look(a, now + 1000 * MS, 5 * MS);
	KUNIT_EXPECT_TRUE(test, psi_monitor_is_quiet(&a->monitor, now + 1000 * MS));

	/* What was before does not count; what made it resume does. */
	now += 100 * S;
	psi_monitor_resume(&a->monitor, now);
	KUNIT_EXPECT_FALSE(test, psi_monitor_is_quiet(&a->monitor, now));
	KUNIT_EXPECT_FALSE(test, look(a, now, 14 * MS));
	KUNIT_EXPECT_TRUE(test, look(a, now + 100 * MS, 15 * MS));

	/* It has not been growing evenly since the look before. */
	now += 200 * S;
	psi_monitor_resume(&a->monitor, now);
	KUNIT_EXPECT_TRUE(test, look(a, now + 100 * MS, 25 * MS));
}

/* Two triggers that are made between two looks, with a stall in between. */
static void not_what_was_before_the_second(struct kunit *test)
{
	struct alone *a = new_trigger(test, 10 * MS, 1000 * MS, 0);
	struct alone *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->threshold.ns = 10 * MS;
	psi_monitor_add(&a->monitor, &b->threshold, &b->window, BEGIN + 30 * MS, 20 * MS);
	KUNIT_EXPECT_FALSE(test, look(a, BEGIN + 100 * MS, 20 * MS));
	KUNIT_EXPECT_TRUE(test, look(a, BEGIN + 200 * MS, 30 * MS));
}

/* Who comes when all is quiet is looked after for a window. */
static void a_new_trigger_ends_the_rest(struct kunit *test)
{
	struct alone *a = new_trigger(test, U64_MAX, 1000 * MS, 0);
	struct alone *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	u64 now = BEGIN + 100 * S + 30 * MS;

	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_TRUE(test, psi_monitor_is_quiet(&a->monitor, now));
	b->threshold.ns = 10 * MS;
	psi_monitor_add(&a->monitor, &b->threshold, &b->window, now, 0);
	KUNIT_EXPECT_FALSE(test, psi_monitor_is_quiet(&a->monitor, now + 1000 * MS - 1));
	KUNIT_EXPECT_TRUE(test, psi_monitor_is_quiet(&a->monitor, now + 1000 * MS));
	/* This look stands for a point of the grid before it was made. */
	KUNIT_EXPECT_FALSE(test, look(a, now + 10 * MS, 0));
	KUNIT_EXPECT_TRUE(test, look(a, now + 170 * MS, 10 * MS));
}

/* A tenth of a window at most, and everybody at the same time. */
static void looks_are_on_a_grid(struct kunit *test)
{
	struct psi_monitor a, b;
	u64 now, next;
	int i;

	psi_monitor_init(&a, 500 * MS, BEGIN, 0);
	psi_monitor_init(&b, 500 * MS, BEGIN + 123, 7);
	for (i = 0; i < 1000; i++) {
		now = BEGIN + i * 7777777ULL;
		next = psi_monitor_next_look(&a, now);
		KUNIT_EXPECT_GT(test, next, now);
		KUNIT_EXPECT_LE(test, next, now + 50 * MS);
		KUNIT_EXPECT_EQ(test, psi_monitor_next_look(&b, next - 1), next);
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
	u64 threshold = 1000 + prandom_u32_state(rnd) % (u32)div_u64(size, 20);
	struct alone *a = new_trigger(test, threshold, size, 0);
	u64 total = 0, now = BEGIN, next, allowed = 0;
	bool unanswered = false;
	int i;

	for (i = 0; i < 2000; i++) {
		next = next_look(&a->monitor, now);
		/* A burst fits between two looks that are not close. */
		if (prandom_u32_state(rnd) % 20 == 0 && next - now > div_u64(size, 20)) {
			/* The share that belongs after the point is left for later. */
			total += threshold + (threshold >> 3) + prandom_u32_state(rnd) % 1000;
			unanswered = true;
		}
		/* Hardly ever is somebody exactly on time. */
		now = next + prandom_u32_state(rnd) % 50000;

		if (look(a, now, total)) {
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
	struct alone *a;

	for (permille = 10; permille <= 1000; permille += 10) {
		a = new_trigger(test, threshold, size, 0);
		events = 0;
		for (now = BEGIN; now < BEGIN + 20 * S; now = next_look(&a->monitor, now))
			events += look(a, now, div_u64(now - BEGIN, 1000) * permille);
		KUNIT_EXPECT_EQ_MSG(test, events > 0, permille >= 300, "%d permille",
				    permille);
		if (permille > 300)
			KUNIT_EXPECT_GE_MSG(test, events, 19, "%d permille", permille);
	}
}

/* How late a look is, ns. */
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

/* So many permille of the threshold, in 200 windows. Return: how many events. */
static int steady_with_jitter(struct kunit *test, const struct jitter *j, int permille,
			      u64 begin, struct rnd_state *rnd)
{
	u64 threshold = div_u64(j->size, 2), now = begin, last = 0;
	struct alone *a = new_trigger(test, threshold, j->size, 0);
	int events = 0;

	add(a, threshold, j->size, begin, 0);
	while (now < begin + 200 * j->size) {
		now = next_look(&a->monitor, now) + j->least;
		if (j->most > j->least)
			now += prandom_u32_state(rnd) % (u32)(j->most - j->least + 1);
		if (!look(a, now, div_u64((now - begin) * permille, 2000)))
			continue;
		if (events++) {
			KUNIT_EXPECT_GE(test, now - last, j->size);
			KUNIT_EXPECT_LE(test, now - last, j->size + div_u64(j->size, 20));
		}
		last = now;
	}
	return events;
}

static void late_looks_change_nothing(struct kunit *test)
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
		/* Each comes a little late, and allows the next one that much later. */
		for (permille = 1001; permille < 1100; permille += 29)
			KUNIT_EXPECT_GE_MSG(test, steady_with_jitter(test, j, permille, begin,
								     &rnd),
					    189, "%d permille", permille);
	}
}

#define NR_SHARED	150
#define MAX_WINDOWS	60

/* What all of them see: stalls that come, go, and last. */
struct world {
	struct rnd_state rnd;
	u64	now, total;
	int	percent, left;
};

static void pass_time(struct world *w, u64 until)
{
	if (!w->left--) {
		w->left = prandom_u32_state(&w->rnd) % 40;
		w->percent = prandom_u32_state(&w->rnd) % 3 ? 0 :
			     prandom_u32_state(&w->rnd) % 101;
	}
	w->total += div_u64((until - w->now) * w->percent, 100);
	w->now = until;
}

/*
 * many triggers that share a monitor have the events that each would have if it
 * were alone, and share a few windows.
 */
static void shared_as_if_alone(struct kunit *test)
{
	struct alone *alone, *shared, *a, *sh;
	struct psi_threshold *event;
	struct psi_window *window;
	bool *had, *is_made;
	struct psi_monitor m;
	int i, n, seed, windows, most = 0, events = 0;
	struct world w = { };
	u64 next, made = 0;

	alone = kunit_kcalloc(test, NR_SHARED, sizeof(*alone), GFP_KERNEL);
	shared = kunit_kcalloc(test, NR_SHARED, sizeof(*shared), GFP_KERNEL);
	had = kunit_kcalloc(test, NR_SHARED, sizeof(*had), GFP_KERNEL);
	is_made = kunit_kcalloc(test, NR_SHARED, sizeof(*is_made), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, alone && shared && had && is_made);

	for (seed = 0; seed < 20; seed++) {
		prandom_seed_state(&w.rnd, seed);
		w.now = BEGIN;
		psi_monitor_init(&m, S, w.now, w.total);
		memset(is_made, 0, NR_SHARED * sizeof(*is_made));

		for (n = 0; n < 2000; n++) {
			next = next_look(&m, w.now);
			pass_time(&w, next + prandom_u32_state(&w.rnd) % 30000000);

			psi_monitor_look(&m, w.now, w.total);
			memset(had, 0, NR_SHARED * sizeof(*had));
			while (psi_monitor_step(&m, w.now, &event)) {
				if (!event)
					continue;
				sh = container_of(event, struct alone, threshold);
				had[sh - shared] = true;
				events++;
			}
			for (i = 0; i < NR_SHARED; i++)
				if (is_made[i])
					KUNIT_ASSERT_EQ_MSG(test, had[i],
							    look(&alone[i], w.now, w.total),
							    "seed %d, look %d, trigger %d",
							    seed, n, i);

			/* One comes or goes; of one step, those that come begin together. */
			i = prandom_u32_state(&w.rnd) % NR_SHARED;
			a = &alone[i];
			sh = &shared[i];
			if (!is_made[i] && psi_monitor_next_look(&m, w.now) != made) {
				made = psi_monitor_next_look(&m, w.now);
				add(a, 1000 + prandom_u32_state(&w.rnd) % NSEC_PER_SEC, S, w.now,
				    w.total);
				sh->threshold.ns = a->threshold.ns;
				window = kmalloc(sizeof(*window), GFP_KERNEL);
				KUNIT_ASSERT_NOT_NULL(test, window);
				psi_monitor_add(&m, &sh->threshold, window, w.now, w.total);
				is_made[i] = true;
			} else if (is_made[i] && n % 8 == 0) {
				kfree(psi_monitor_del(&m, &sh->threshold));
				is_made[i] = false;
			}

			windows = list_count_nodes(&m.windows);
			most = max(most, windows);
		}
		for (i = 0; i < NR_SHARED; i++)
			if (is_made[i])
				kfree(psi_monitor_del(&m, &shared[i].threshold));
		KUNIT_EXPECT_TRUE(test, psi_monitor_is_empty(&m));
		KUNIT_EXPECT_TRUE(test, list_empty(&m.spare));
	}

	kunit_info(test, "%d events, %d windows at most\n", events, most);
	KUNIT_EXPECT_GT(test, events, 1000);
	KUNIT_EXPECT_LE(test, most, MAX_WINDOWS);
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
	{ .name = "R-13 what another trigger has seen is no event",
	  .run_case = seen_by_another_is_no_event },
	{ .name = "R-13 a late look counts one window's length",
	  .run_case = late_look_counts_one_window },
	{ .name = "R-13 a late look finds the worst window",
	  .run_case = late_look_finds_the_worst_window },
	{ .name = "R-18 what was before the second trigger does not count",
	  .run_case = not_what_was_before_the_second },
	{ .name = "R-13 a new trigger ends the rest", .run_case = a_new_trigger_ends_the_rest },
	{ .name = "D-5 a total that jumps by 2^32 ns", .run_case = a_jump_of_32_bits },
	{ .name = "R-13 rests after a quiet window, and resumes",
	  .run_case = rests_and_resumes },
	{ .name = "R-13 ten looks a window, on a grid", .run_case = looks_are_on_a_grid },
	{ .name = "R-13 every burst has its event (random)",
	  .run_case = every_burst_has_its_event },
	{ .name = "R-13 a steady stall above the threshold, and none below",
	  .run_case = steady_stall_is_exact },
	{ .name = "R-13 late looks change nothing", .run_case = late_looks_change_nothing,
	  .generate_params = jitter_gen_params },
	{ .name = "R-8 many triggers are as good as alone, and share windows",
	  .run_case = shared_as_if_alone },
	{ }
};

static struct kunit_suite psi_window_suite = {
	.name = "psi_window",
	.test_cases = psi_window_cases,
};

kunit_test_suite(psi_window_suite);

MODULE_DESCRIPTION("Pressure stall information: windows of triggers");
MODULE_LICENSE("GPL");
