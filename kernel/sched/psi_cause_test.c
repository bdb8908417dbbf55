// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_cause.c: sections, readers and groups above groups. The clock is an
 * argument, and nothing here is a task. The second suite is about sections of a task
 * that runs, in groups of its own.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"
#include "psi_hooks.h"

#include <trace/events/psi.h>

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
	psi_cause_test_begin(shard, cause, now);
	local_irq_restore(flags);
}

static u64 end(struct psi_cause_shard *shard, enum psi_cause cause, u64 begun, u64 now)
{
	unsigned long flags;
	u64 ns;

	local_irq_save(flags);
	ns = psi_cause_test_end(shard, cause, begun, now);
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
	prandom_seed_state(&rnd, 14);
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

/* ------------------------- Tasks and groups ------------------------- */

#define NAP_MS		20
#define NAP_NS		((u64)NAP_MS * NSEC_PER_MSEC)

/* The group that the test runs in, one below that, and one beside it. */
struct place {
	struct psi_group	*here;
	struct psi_group	*below;
	struct psi_group	*beside;
};

static int go_there(struct kunit *test)
{
	struct place *at = kunit_kzalloc(test, sizeof(*at), GFP_KERNEL);

	if (!static_key_enabled(&psi_enabled))
		kunit_skip(test, "PSI is off");
	KUNIT_ASSERT_NOT_NULL(test, at);
	at->here = psi_group_alloc(&psi_system);
	at->beside = psi_group_alloc(&psi_system);
	KUNIT_ASSERT_NOT_NULL(test, at->here);
	KUNIT_ASSERT_NOT_NULL(test, at->beside);
	at->below = psi_group_alloc(at->here);
	KUNIT_ASSERT_NOT_NULL(test, at->below);
	test->priv = at;
	return 0;
}

static void leave_there(struct kunit *test)
{
	struct place *at = test->priv;

	if (!at)
		return;
	psi_group_free(at->below);
	psi_group_free(at->here);
	psi_group_free(at->beside);
}

static struct psi_cause_sum read_sum(struct psi_group *group, enum psi_cause cause)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };

	psi_causes_add(&group->causes, local_clock, sums);
	psi_causes_show(&group->causes, sums);
	return sums[cause - 1];
}

/* Does any section last? */
static bool is_open(const struct psi_group *group)
{
	unsigned int i;
	int c;

	for (i = 0; i < group->causes.nr_shards; i++)
		for (c = 0; c < PSI_NR_CAUSES; c++)
			if (group->causes.shards[i].open[c].active)
				return true;
	return false;
}

static bool is_stalled(void)
{
	return current->psi.flags & PSI_TASK_MEMSTALL;
}

/* nested sections belong to the outermost cause. */
static void nested_sections(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long outer, middle, inner;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&outer, PSI_CAUSE_BLKCG_THROTTLE);
	psi_memstall_enter_cause(&middle, PSI_CAUSE_SWAPIN);
	psi_memstall_enter(&inner);
	psi_memstall_leave(&inner);
	psi_memstall_leave(&middle);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&outer);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	psi_move_task(current, &psi_system);

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_BLKCG_THROTTLE).count, 1);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_SWAPIN).count, 0);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_OTHER).count, 0);
}

/* code that names no cause. */
static void section_without_cause(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long flags;

	psi_move_task(current, at->here);
	psi_memstall_enter(&flags);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_OTHER).count, 1);
}

/* reclaim that was asked for is no stall, but a stall nested in it is one. */
static void requested_is_no_stall(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long outer, inner;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&outer, PSI_CAUSE_REQUESTED_RECLAIM);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	psi_memstall_enter_cause(&inner, PSI_CAUSE_REQUESTED_RECLAIM);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	psi_memstall_leave(&inner);
	psi_memstall_enter_cause(&inner, PSI_CAUSE_DIRECT_RECLAIM);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&inner);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	psi_memstall_leave(&outer);
	KUNIT_EXPECT_EQ(test, (int)current->psi.cause, PSI_CAUSE_NONE);
	psi_move_task(current, &psi_system);

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_REQUESTED_RECLAIM).count, 2);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_DIRECT_RECLAIM).count, 1);
}

/* asked for by a stalled task, it is part of the stall. */
static void requested_within_a_stall(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long outer, inner;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&outer, PSI_CAUSE_MEMCG_MAX);
	psi_memstall_enter_cause(&inner, PSI_CAUSE_REQUESTED_RECLAIM);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&inner);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&outer);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	psi_move_task(current, &psi_system);

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_MEMCG_MAX).count, 1);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_REQUESTED_RECLAIM).count, 0);
}

/* a reading in the middle of a section includes it so far. */
static void read_while_it_lasts(struct kunit *test)
{
	struct place *at = test->priv;
	struct psi_cause_sum first, second;
	u64 begun = local_clock(), ended;
	unsigned long flags;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_THRASHING);
	msleep(NAP_MS);
	first = read_sum(at->here, PSI_CAUSE_THRASHING);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
	ended = local_clock();
	second = read_sum(at->here, PSI_CAUSE_THRASHING);

	KUNIT_EXPECT_EQ(test, first.count, 0);
	KUNIT_EXPECT_GE(test, first.total, NAP_NS);
	KUNIT_EXPECT_EQ(test, second.count, 1);
	KUNIT_EXPECT_GE(test, second.total, first.total);
	KUNIT_EXPECT_LE(test, second.total, ended - begun);
	KUNIT_EXPECT_EQ(test, second.max, second.total);
}

/* a task that moves takes the section along; each group has its part. */
static void moved_within_a_section(struct kunit *test)
{
	struct place *at = test->priv;
	struct psi_cause_sum from, to;
	unsigned long flags;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_READBACK);
	msleep(NAP_MS);
	psi_move_task(current, at->beside);
	from = read_sum(at->here, PSI_CAUSE_READBACK);
	msleep(NAP_MS);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
	to = read_sum(at->beside, PSI_CAUSE_READBACK);

	KUNIT_EXPECT_EQ(test, from.count, 1);
	KUNIT_EXPECT_GE(test, from.total, NAP_NS);
	KUNIT_EXPECT_EQ(test, from.max, from.total);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_READBACK).total, from.total);
	KUNIT_EXPECT_EQ(test, to.count, 1);
	KUNIT_EXPECT_GE(test, to.total, NAP_NS);
	KUNIT_EXPECT_EQ(test, to.max, to.total);
}

static void note_cause(void *cause, u64 group, pid_t pid, const char *name, u64 ns)
{
	*(int *)cause = current->psi.cause;
}

/*
 * a task checks without a lock whether it is in a section, and has to find that it
 * is even while it is being moved.
 */
static void in_a_section_while_it_moves(struct kunit *test)
{
	struct place *at = test->priv;
	int cause = PSI_CAUSE_NONE;
	unsigned long flags;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "there are no trace events");
	KUNIT_ASSERT_EQ(test, register_trace_psi_stall_end(note_cause, &cause), 0);
	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_READBACK);
	psi_move_task(current, at->beside);
	unregister_trace_psi_stall_end(note_cause, &cause);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, cause, PSI_CAUSE_READBACK);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
}

/* sections that are not left in order do no harm. */
static void left_out_of_order(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long first, second;

	psi_move_task(current, at->here);
	psi_memstall_enter_cause(&first, PSI_CAUSE_THRASHING);
	psi_memstall_enter_cause(&second, PSI_CAUSE_SWAPIN);
	psi_memstall_leave(&first);
	psi_memstall_leave(&second);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	KUNIT_EXPECT_EQ(test, (int)current->psi.cause, PSI_CAUSE_NONE);
	psi_move_task(current, &psi_system);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_THRASHING).count, 1);
	KUNIT_EXPECT_FALSE(test, is_open(at->here));
}

/* the group above keeps what was in a group that is gone. */
static void group_is_removed(struct kunit *test)
{
	struct place *at = test->priv;
	struct psi_cause_sum below;
	unsigned long flags;

	psi_move_task(current, at->below);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_MEMCG_HIGH);
	msleep(NAP_MS);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
	below = read_sum(at->below, PSI_CAUSE_MEMCG_HIGH);

	psi_move_task(current, at->below);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_MEMCG_HIGH);
	msleep(NAP_MS);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
	psi_group_free(at->below);
	at->below = NULL;

	KUNIT_EXPECT_EQ(test, below.count, 1);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_MEMCG_HIGH).count, 2);
	KUNIT_EXPECT_GT(test, read_sum(at->here, PSI_CAUSE_MEMCG_HIGH).total, below.total);
}

static int die_in_a_section(void *group)
{
	unsigned long flags;

	psi_move_task(current, group);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_SWAPIN);
	return 0;
}

/* the section of a dead task ends. */
static void dead_within_a_section(struct kunit *test)
{
	struct place *at = test->priv;
	struct task_struct *p;
	int ms;

	p = kthread_run(die_in_a_section, at->here, "psi_doomed");
	KUNIT_ASSERT_FALSE(test, IS_ERR(p));
	for (ms = 0; ms < 100 * NAP_MS && !read_sum(at->here, PSI_CAUSE_SWAPIN).count; ms += NAP_MS)
		msleep(NAP_MS);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_SWAPIN).count, 1);
	KUNIT_EXPECT_FALSE(test, is_open(at->here));
}

static DECLARE_COMPLETION(exempt_is_done);

static int stall_exempt(void *group)
{
	unsigned long flags;

	psi_exempt_current();
	psi_move_task(current, group);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_SWAPIN);
	psi_memstall_leave(&flags);
	psi_move_task(current, &psi_system);
	complete(&exempt_is_done);
	return 0;
}

/* PSI's own threads do not count. */
static void exempt_within_a_section(struct kunit *test)
{
	struct place *at = test->priv;

	reinit_completion(&exempt_is_done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(stall_exempt, at->here, "psi_exempted")));
	wait_for_completion(&exempt_is_done);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_SWAPIN).count, 0);
}

static struct kunit_case live_cases[] = {
	KUNIT_CASE(nested_sections),
	KUNIT_CASE(section_without_cause),
	KUNIT_CASE(requested_is_no_stall),
	KUNIT_CASE(requested_within_a_stall),
	KUNIT_CASE(read_while_it_lasts),
	KUNIT_CASE(moved_within_a_section),
	KUNIT_CASE(in_a_section_while_it_moves),
	KUNIT_CASE(left_out_of_order),
	KUNIT_CASE(group_is_removed),
	KUNIT_CASE(dead_within_a_section),
	KUNIT_CASE(exempt_within_a_section),
	{}
};

static struct kunit_suite live_suite = {
	.name = "psi_cause_live",
	.init = go_there,
	.exit = leave_there,
	.test_cases = live_cases,
};

kunit_test_suites(&cause_suite, &live_suite);
