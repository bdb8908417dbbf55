// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_cause.[ch]: sections, readers and groups above groups. The clock is an
 * argument, and nothing here is a task. See psi_cause_live_test.c for tasks.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/prandom.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_seed.h"

#define MAX_GROUPS	6
#define NR_SHARDS	3
#define MAX_SECTIONS	40

/* The causes under test; no clock begins at 0. */
struct world {
	struct psi_causes	group[MAX_GROUPS];
	struct psi_cause_shard	shard[MAX_GROUPS][NR_SHARDS];
	const int		*above;		/* of each group, which comes after it; or -1 */
	int			nr;
	u64			now;
};

static struct world *new_world(struct kunit *test, int nr, const int above[])
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->now = 1000000007;
	w->above = above;
	w->nr = nr;
	for (i = 0; i < nr; i++)
		psi_causes_init(&w->group[i], w->shard[i], NR_SHARDS,
				above[i] < 0 ? NULL : &w->group[above[i]]);
	return w;
}

static bool is_in(const struct world *w, int group, int above)
{
	while (group >= 0 && group != above)
		group = w->above[group];
	return group >= 0;
}

static u64 test_now;

static u64 test_clock(void)
{
	return test_now;
}

static void add_all(struct world *w, int group, u64 now, struct psi_cause_sum sums[])
{
	int g;

	test_now = now;
	for (g = group; g < w->nr; g++)
		if (is_in(w, g, group))
			psi_causes_add(&w->group[g], test_clock, sums);
}

static void read_at(struct world *w, int group, u64 now)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };

	add_all(w, group, now, sums);
	psi_causes_show(&w->group[group], sums);
}

static void switch_on_at(struct world *w, int group, u64 now)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };

	add_all(w, group, now, sums);
	psi_causes_hide(&w->group[group], sums);
}

static void hand_over_at(struct world *w, int group, u64 now)
{
	test_now = now;
	psi_causes_hand_over(&w->group[group], test_clock);
}

static const int alone[] = { -1 };
static const int chain[] = { -1, 0, 1 };

static void begin(struct psi_cause_shard *shard, enum psi_cause cause, u64 now)
{
	unsigned long flags;

	local_irq_save(flags);
	psi_shard_begin(shard, cause, now);
	local_irq_restore(flags);
}

static u64 end(struct psi_cause_shard *shard, enum psi_cause cause, u64 begun, u64 now)
{
	unsigned long flags;
	u64 ns;

	local_irq_save(flags);
	ns = psi_shard_end(shard, cause, begun, now);
	local_irq_restore(flags);
	return ns;
}

static void expect(struct kunit *test, struct psi_causes *causes, enum psi_cause cause,
		   u64 count, u64 total, u64 max)
{
	const struct psi_cause_sum *sum = &causes->shown[cause - 1];

	KUNIT_EXPECT_EQ(test, sum->count, count);
	KUNIT_EXPECT_EQ(test, sum->total, total);
	KUNIT_EXPECT_EQ(test, sum->max, max);
}

/* number, sum and longest of the sections that have ended, each cause by itself. */
static void sections_that_have_ended(struct kunit *test)
{
	struct world *w = new_world(test, 1, alone);
	struct psi_cause_shard *shard = w->shard[0];
	u64 t = w->now;
	int c;

	begin(shard, PSI_CAUSE_SWAPIN, t);
	KUNIT_EXPECT_EQ(test, end(shard, PSI_CAUSE_SWAPIN, t, t + 300), 300);
	begin(shard, PSI_CAUSE_SWAPIN, t + 1000);
	KUNIT_EXPECT_EQ(test, end(shard, PSI_CAUSE_SWAPIN, t + 1000, t + 1050), 50);
	begin(shard, PSI_CAUSE_LAST, t + 1000);
	end(shard, PSI_CAUSE_LAST, t + 1000, t + 1007);

	read_at(w, 0, t + 2000);
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 2, 350, 300);
	expect(test, &w->group[0], PSI_CAUSE_LAST, 1, 7, 7);
	for (c = 1; c <= PSI_NR_CAUSES; c++)
		if (c != PSI_CAUSE_SWAPIN && c != PSI_CAUSE_LAST)
			expect(test, &w->group[0], c, 0, 0, 0);
}

/* the total has what still lasts; count and max have it when it ends. */
static void a_section_that_lasts(struct kunit *test)
{
	struct world *w = new_world(test, 1, alone);
	struct psi_cause_shard *shard = w->shard[0];
	u64 t = w->now;

	begin(shard, PSI_CAUSE_THRASHING, t);
	begin(shard, PSI_CAUSE_THRASHING, t + 10);
	read_at(w, 0, t + 100);
	expect(test, &w->group[0], PSI_CAUSE_THRASHING, 0, 100 + 90, 0);

	end(shard, PSI_CAUSE_THRASHING, t, t + 120);
	read_at(w, 0, t + 200);
	expect(test, &w->group[0], PSI_CAUSE_THRASHING, 1, 120 + 190, 120);

	end(shard, PSI_CAUSE_THRASHING, t + 10, t + 210);
	read_at(w, 0, t + 1000);
	expect(test, &w->group[0], PSI_CAUSE_THRASHING, 2, 120 + 200, 200);
}

/* two tasks that are stalled together are stalled for the sum. */
static void time_of_tasks(struct kunit *test)
{
	struct world *w = new_world(test, 1, alone);
	u64 t = w->now;
	int i;

	for (i = 0; i < MAX_SECTIONS; i++)
		begin(&w->shard[0][i % NR_SHARDS], PSI_CAUSE_MEMCG_HIGH, t);
	for (i = 0; i < MAX_SECTIONS; i++)
		end(&w->shard[0][i % NR_SHARDS], PSI_CAUSE_MEMCG_HIGH, t, t + 1000);
	read_at(w, 0, t + 1000);
	expect(test, &w->group[0], PSI_CAUSE_MEMCG_HIGH, MAX_SECTIONS,
	       MAX_SECTIONS * 1000, 1000);
}

/* a group includes the groups below it, and the longest of all. */
static void groups_above(struct kunit *test)
{
	struct world *w = new_world(test, 3, chain);
	u64 t = w->now;
	int i;

	for (i = 0; i < 3; i++) {
		begin(w->shard[i], PSI_CAUSE_READBACK, t);
		end(w->shard[i], PSI_CAUSE_READBACK, t, t + 10 * (i + 1));
	}
	for (i = 0; i < 3; i++)
		read_at(w, i, t + 100);
	expect(test, &w->group[2], PSI_CAUSE_READBACK, 1, 30, 30);
	expect(test, &w->group[1], PSI_CAUSE_READBACK, 2, 50, 30);
	expect(test, &w->group[0], PSI_CAUSE_READBACK, 3, 60, 30);

	/* Nothing twice. */
	for (i = 2; i >= 0; i--)
		read_at(w, i, t + 200);
	expect(test, &w->group[0], PSI_CAUSE_READBACK, 3, 60, 30);
}

/*
 * what was in a group that is removed stays in those above, also if it goes on, and
 * if a reader has been there before and looks at the removed one after.
 */
static void a_group_that_is_removed(struct kunit *test)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct world *w = new_world(test, 3, chain);
	u64 t = w->now;

	begin(&w->shard[2][1], PSI_CAUSE_OTHER, t);
	begin(&w->shard[2][2], PSI_CAUSE_OTHER, t);
	end(&w->shard[2][2], PSI_CAUSE_OTHER, t, t + 40);
	read_at(w, 1, t + 50);
	expect(test, &w->group[1], PSI_CAUSE_OTHER, 1, 50 + 40, 40);

	test_now = t + 60;
	psi_causes_add(&w->group[1], test_clock, sums);
	hand_over_at(w, 2, t + 60);
	psi_causes_add(&w->group[2], test_clock, sums);
	psi_causes_show(&w->group[1], sums);
	expect(test, &w->group[1], PSI_CAUSE_OTHER, 1, 50 + 40, 40);

	read_at(w, 1, t + 70);
	expect(test, &w->group[1], PSI_CAUSE_OTHER, 1, 70 + 40, 40);
	read_at(w, 2, t + 70);
	expect(test, &w->group[2], PSI_CAUSE_OTHER, 0, 10, 0);
	end(&w->shard[2][1], PSI_CAUSE_OTHER, t, t + 80);
	hand_over_at(w, 2, t + 90);
	hand_over_at(w, 1, t + 90);
	read_at(w, 0, t + 100);
	expect(test, &w->group[0], PSI_CAUSE_OTHER, 2, 80 + 40, 80);
}

/* what happens while a group is off is only in the groups above. */
static void switched_off_and_on(struct kunit *test)
{
	struct world *w = new_world(test, 3, chain);
	u64 t = w->now;
	int i;

	begin(w->shard[1], PSI_CAUSE_SWAPIN, t);
	read_at(w, 1, t + 100);			/* off */
	begin(w->shard[1], PSI_CAUSE_READBACK, t + 200);
	end(w->shard[1], PSI_CAUSE_READBACK, t + 200, t + 700);
	switch_on_at(w, 1, t + 1000);
	end(w->shard[1], PSI_CAUSE_SWAPIN, t, t + 1005);
	begin(w->shard[1], PSI_CAUSE_READBACK, t + 1100);
	end(w->shard[1], PSI_CAUSE_READBACK, t + 1100, t + 1107);
	for (i = 0; i < 3; i++)
		read_at(w, i, t + 2000);
	expect(test, &w->group[1], PSI_CAUSE_SWAPIN, 1, 105, 1005);
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 1, 1005, 1005);
	expect(test, &w->group[1], PSI_CAUSE_READBACK, 1, 7, 500);
	expect(test, &w->group[0], PSI_CAUSE_READBACK, 2, 507, 500);

	read_at(w, 1, t + 3000);
	switch_on_at(w, 1, t + 4000);
	read_at(w, 1, t + 5000);
	expect(test, &w->group[1], PSI_CAUSE_SWAPIN, 1, 105, 1005);
	expect(test, &w->group[1], PSI_CAUSE_READBACK, 1, 7, 500);
}

/* switched on while something from below is on its way, which nobody finds. */
static void switched_on_by_a_sum_that_misses_some(struct kunit *test)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct world *w = new_world(test, 3, chain);
	u64 t = w->now;

	begin(w->shard[2], PSI_CAUSE_SWAPIN, t);
	end(w->shard[2], PSI_CAUSE_SWAPIN, t, t + 400);
	read_at(w, 1, t + 500);			/* off */
	test_now = t + 600;
	psi_causes_add(&w->group[1], test_clock, sums);
	hand_over_at(w, 2, t + 700);
	psi_causes_add(&w->group[2], test_clock, sums);
	psi_causes_hide(&w->group[1], sums);
	read_at(w, 1, t + 800);
	expect(test, &w->group[1], PSI_CAUSE_SWAPIN, 1, 400, 400);
}

/* clocks of two CPUs differ. No number goes back, and nothing is lost. */
static void clocks_that_differ(struct kunit *test)
{
	struct world *w = new_world(test, 1, alone);
	struct psi_cause_shard *shard = w->shard[0];
	u64 t = w->now;

	begin(shard, PSI_CAUSE_SWAPIN, t);
	read_at(w, 0, t - 5);		/* read before it began */
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 0, 0, 0);
	read_at(w, 0, t + 100);
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 0, 100, 0);
	end(shard, PSI_CAUSE_SWAPIN, t, t + 90);	/* ends before that */
	read_at(w, 0, t + 101);
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 1, 100, 90);

	/* The next section makes up for the 10 too many. */
	begin(shard, PSI_CAUSE_SWAPIN, t + 200);
	KUNIT_EXPECT_EQ(test, end(shard, PSI_CAUSE_SWAPIN, t + 200, t + 230), 30);
	read_at(w, 0, t + 300);
	expect(test, &w->group[0], PSI_CAUSE_SWAPIN, 2, 120, 90);

	KUNIT_EXPECT_EQ(test, end(shard, PSI_CAUSE_SWAPIN, t + 400, t + 399), 0);
}

/* a clock near its end, and sections that last for a year. */
static void large_times(struct kunit *test)
{
	struct world *w = new_world(test, 1, alone);
	u64 year = 365ULL * 86400 * 1000000000;
	u64 t = U64_MAX / 2 - year;
	int i;

	for (i = 0; i < 100; i++)
		begin(w->shard[0], PSI_CAUSE_THRASHING, t);
	read_at(w, 0, t + year);
	expect(test, &w->group[0], PSI_CAUSE_THRASHING, 0, 100 * year, 0);
}

/* ----------------------- Random histories ----------------------- */

struct section {
	bool			open;
	int			group;
	int			shard;
	enum psi_cause		cause;
	u64			begun;
};

struct sums {
	struct psi_cause_sum	of[MAX_GROUPS][PSI_NR_CAUSES];
};

static const int tree[MAX_GROUPS] = { -1, 0, 0, 1, 1, 3 };

/* The naive way: each section that has ended, to all groups above. */
static void model_end(struct sums *sums, const struct section *s, u64 ns)
{
	struct psi_cause_sum *sum;
	int g;

	for (g = s->group; g >= 0; g = tree[g]) {
		sum = &sums->of[g][s->cause - 1];
		sum->count++;
		sum->total += ns;
		sum->max = max(sum->max, ns);
	}
}

static u64 model_total(const struct world *w, const struct sums *sums, const struct section *s,
		       int group, int c)
{
	u64 total = sums->of[group][c].total;
	int i;

	for (i = 0; i < MAX_SECTIONS; i++)
		if (s[i].open && s[i].cause == c + 1 && is_in(w, s[i].group, group))
			total += w->now - s[i].begun;
	return total;
}

static void step(struct world *w, struct section *s, struct sums *sums, struct rnd_state *rnd)
{
	u64 ns;

	if (s->open) {
		ns = end(&w->shard[s->group][s->shard], s->cause, s->begun, w->now);
		model_end(sums, s, ns);
		s->open = false;
		return;
	}
	*s = (struct section) {
		.open = true,
		.group = prandom_u32_state(rnd) % MAX_GROUPS,
		.shard = prandom_u32_state(rnd) % NR_SHARDS,
		.cause = prandom_u32_state(rnd) % PSI_NR_CAUSES + 1,
		.begun = w->now,
	};
	begin(&w->shard[s->group][s->shard], s->cause, w->now);
}

static void compare(struct kunit *test, struct world *w, int group, const struct sums *sums,
		    const struct section *s)
{
	const struct psi_cause_sum *is, *should;
	int c;

	for (c = 0; c < PSI_NR_CAUSES; c++) {
		is = &w->group[group].shown[c];
		should = &sums->of[group][c];
		KUNIT_ASSERT_EQ(test, is->count, should->count);
		KUNIT_ASSERT_EQ(test, is->total, model_total(w, sums, s, group, c));
		KUNIT_ASSERT_EQ(test, is->max, should->max);
	}
}

/* whatever is read when, each group shows what the model does. */
static void random_histories(struct kunit *test)
{
	struct section *s = kunit_kcalloc(test, MAX_SECTIONS, sizeof(*s), GFP_KERNEL);
	struct sums *sums = kunit_kzalloc(test, sizeof(*sums), GFP_KERNEL);
	struct world *w = new_world(test, MAX_GROUPS, tree);
	struct rnd_state rnd;
	int i, group;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, sums);
	prandom_seed_state(&rnd, new_seed(test));
	for (i = 0; i < 20000; i++) {
		w->now += prandom_u32_state(&rnd) % 5000;
		step(w, &s[prandom_u32_state(&rnd) % MAX_SECTIONS], sums, &rnd);
		if (prandom_u32_state(&rnd) % 8)
			continue;
		group = prandom_u32_state(&rnd) % MAX_GROUPS;
		read_at(w, group, w->now);
		compare(test, w, group, sums, s);
	}
}

static struct psi_cause_shard *watched;

/* The first time, a section begins while the clock is being read, which then is too old. */
static u64 clock_that_takes_long(void)
{
	u64 now = test_now;

	if (test_now < 1100000000) {
		test_now = 1100000000;
		begin(watched, PSI_CAUSE_SWAPIN, test_now - 50);
	}
	return now;
}

/* a reading's time is no older than what has begun before it. */
static void time_of_a_reading(struct kunit *test)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct world *w = new_world(test, 1, alone);

	watched = &w->shard[0][1];
	begin(watched, PSI_CAUSE_SWAPIN, w->now);
	test_now = w->now + 100;
	psi_causes_add(&w->group[0], clock_that_takes_long, sums);
	KUNIT_EXPECT_EQ(test, sums[PSI_CAUSE_SWAPIN - 1].total, 1100000000 - w->now + 50);
}

static struct kunit_case cause_cases[] = {
	KUNIT_CASE(sections_that_have_ended),
	KUNIT_CASE(a_section_that_lasts),
	KUNIT_CASE(time_of_tasks),
	KUNIT_CASE(groups_above),
	KUNIT_CASE(a_group_that_is_removed),
	KUNIT_CASE(switched_off_and_on),
	KUNIT_CASE(switched_on_by_a_sum_that_misses_some),
	KUNIT_CASE(clocks_that_differ),
	KUNIT_CASE(large_times),
	KUNIT_CASE(time_of_a_reading),
	KUNIT_CASE(random_histories),
	{}
};

static struct kunit_suite cause_suite = {
	.name = "psi_cause",
	.test_cases = cause_cases,
};

kunit_test_suite(cause_suite);
