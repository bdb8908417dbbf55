// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_avgs.c: sums over CPUs, and averages.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/psi.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>

#include "psi_avgs.h"
#include "psi_seed.h"

/* ------------------------- many CPUs ------------------------- */

/* Without samples. */
static u64 sum_ns(const struct psi_sum *sum, enum psi_state state, u64 span)
{
	struct psi_samples unseen = { };

	return psi_sum_ns(sum, state, psi_sum_busy(sum, span, &unseen));
}

/* Fold nr nodes that have been as they are since 0 and were never folded. */
static u64 sum_nodes(struct psi_node *nodes, int nr, u64 now, enum psi_state stall)
{
	u32 times[PSI_NR_STATES];
	struct psi_sum sum = { };
	int i;

	for (i = 0; i < nr; i++) {
		psi_node_times(&nodes[i], psi_units(now), times);
		psi_sum_add(&sum, times, PSI_ALL_STATES);
	}
	return sum_ns(&sum, stall, psi_units(now));
}

static void add_task(struct psi_node *node, u8 task)
{
	psi_node_change((struct psi_change) { node, 0, psi_task_contrib(task) }, 0);
}

#define RUN	PSI_TASK_RUNNABLE
#define CPU	(PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)
#define SEC	((u64)NSEC_PER_SEC)

/* Percent in fixed point, to hundredths of a percent. */
static u64 hundredths(unsigned long avg)
{
	return DIV_ROUND_CLOSEST_ULL((u64)avg * 100, FIXED_1);
}

/* 257 runnable tasks on 256 CPUs is 0.4 % some, not 100 %. */
static void tasks_257_on_256_cpus(struct kunit *test)
{
	struct psi_node *nodes;
	u64 some;
	int i;

	nodes = kunit_kcalloc(test, 256, sizeof(*nodes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nodes);
	for (i = 0; i < 256; i++) {
		psi_node_init(&nodes[i], NULL);
		add_task(&nodes[i], CPU);
	}
	add_task(&nodes[17], RUN);

	some = sum_nodes(nodes, 256, 2 * SEC, PSI_CPU_SOME);
	KUNIT_EXPECT_EQ(test, some, (2 * SEC / 1024) * 1024 / 256);
	KUNIT_EXPECT_EQ(test, sum_nodes(nodes, 256, 2 * SEC, PSI_CPU_FULL), 0);
}

/* 4 tasks on 4 CPUs with one stalled on memory is 25 % full. */
static void one_of_four_stalled_on_memory(struct kunit *test)
{
	struct psi_node nodes[4];
	u64 quarter = (2 * SEC / 1024) * 1024 / 4;
	int i;

	for (i = 0; i < 4; i++) {
		psi_node_init(&nodes[i], NULL);
		add_task(&nodes[i], i == 2 ? PSI_TASK_MEMSTALL : CPU);
	}
	KUNIT_EXPECT_EQ(test, sum_nodes(nodes, 4, 2 * SEC, PSI_MEM_FULL), quarter);
	KUNIT_EXPECT_EQ(test, sum_nodes(nodes, 4, 2 * SEC, PSI_MEM_SOME), quarter);
}

/* idle CPUs do not count. */
static void idle_cpus_do_not_count(struct kunit *test)
{
	struct psi_node *nodes;
	int i;

	nodes = kunit_kcalloc(test, 64, sizeof(*nodes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nodes);
	for (i = 0; i < 64; i++)
		psi_node_init(&nodes[i], NULL);
	KUNIT_EXPECT_EQ(test, sum_nodes(nodes, 64, 2 * SEC, PSI_CPU_SOME), 0);

	add_task(&nodes[3], CPU);
	add_task(&nodes[3], RUN);
	KUNIT_EXPECT_EQ(test, sum_nodes(nodes, 64, 2 * SEC, PSI_CPU_SOME),
			(2 * SEC / 1024) * 1024);
}

/* a weight is time, however short; 1 us of 2 s is not nothing (D-1). */
static void short_times_have_weight(struct kunit *test)
{
	u32 times[PSI_NR_STATES] = { };
	struct psi_sum sum = { };

	times[PSI_CPU_SOME] = 1;
	times[PSI_NONIDLE] = 1;
	psi_sum_add(&sum, times, PSI_ALL_STATES);
	KUNIT_EXPECT_EQ(test, sum_ns(&sum, PSI_CPU_SOME, 2000000), 1024);
}

/* whole sums, against both formulas in exact arithmetic. */
static void sums_are_exact(struct kunit *test)
{
	u32 t[64], w[64], times[PSI_NR_STATES] = { }, longest;
	u64 num, den, all, seed = new_seed(test), span, busy;
	struct psi_sum sum, usual;
	struct rnd_state rnd;
	struct psi_samples third;
	int n, i, nr;

	prandom_seed_state(&rnd, seed);

	for (n = 0; n < 10000; n++) {
		/* 21 + 21 + 10 + 6 bits: fits */
		nr = 1 + prandom_u32_state(&rnd) % 64;
		num = 0;
		den = 0;
		all = 0;
		longest = 0;
		sum = (struct psi_sum) { };
		usual = (struct psi_sum) { .weighted = true };
		for (i = 0; i < nr; i++) {
			w[i] = prandom_u32_state(&rnd) % (1 << (n % 21 + 1));
			t[i] = w[i] ? prandom_u32_state(&rnd) % (w[i] + 1) : 0;
			num += (u64)t[i] * w[i];
			den += w[i];
			all += t[i];
			longest = max(longest, w[i]);
			times[PSI_IO_SOME] = t[i];
			times[PSI_NONIDLE] = w[i];
			psi_sum_add(&sum, times, PSI_ALL_STATES);
			psi_sum_add(&usual, times, PSI_ALL_STATES);
		}
		KUNIT_ASSERT_EQ(test, psi_sum_ns(&usual, PSI_IO_SOME, 0),
				den ? div64_u64(num * 1024, den) : 0);

		span = longest + prandom_u32_state(&rnd) % (longest + 1);
		/* One CPU is busy in a third of the samples: W decides alone. */
		third = (struct psi_samples) { .nr = 30, .busy = 10, .cpus = 10, .squares = 10 };
		busy = clamp(den, (u64)longest, max_t(u64, min(span, den), longest));
		KUNIT_ASSERT_EQ(test, psi_sum_busy(&sum, span, &third), busy);
		KUNIT_ASSERT_EQ(test, psi_sum_ns(&sum, PSI_IO_SOME, busy),
				den ? div64_u64(all * 1024 * busy, den) : 0);
	}
}

/* Samples fade, and do not round alike: no division by zero, no wild number. */
static void any_samples_will_do(struct kunit *test)
{
	struct psi_sum sum = { .weight = 3000, .longest = 1000 };
	struct psi_samples samples = {
		.nr = 28672, .busy = 28671, .cpus = 28672, .squares = 28672 };
	u64 seed = new_seed(test), busy, n;
	struct rnd_state rnd;
	int i;

	busy = psi_sum_busy(&sum, 2000, &samples);
	KUNIT_EXPECT_TRUE(test, busy >= 1000 && busy <= 2000);

	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 100000; i++) {
		n = prandom_u32_state(&rnd) % 3 ? prandom_u32_state(&rnd) % 3 :
		    prandom_u32_state(&rnd) % 8193;
		samples.nr += PSI_SAMPLE_ONE;
		samples.busy += n ? PSI_SAMPLE_ONE : 0;
		samples.cpus += n * PSI_SAMPLE_ONE;
		samples.squares += n * n * PSI_SAMPLE_ONE;
		if (prandom_u32_state(&rnd) % 40 == 0) {
			samples.nr -= samples.nr / 8;
			samples.busy -= samples.busy / 8;
			samples.cpus -= samples.cpus / 8;
			samples.squares -= samples.squares / 8;
		}
		busy = psi_sum_busy(&sum, 2000, &samples);
		KUNIT_ASSERT_TRUE(test, busy >= 1000 && busy <= 2000);
	}
}

/* D-5: a late fold loses nothing, up to 73 minutes on 8192 CPUs. */
static void late_sums_fit(struct kunit *test)
{
	static const u64 late[] = { 2, 4, 5, 17, 34, 35, 68, 300, 4379 };
	u32 times[PSI_NR_STATES] = { };
	struct psi_sum sum;
	bool weighted;
	u32 units;
	u64 some;
	int i, cpu;

	for (i = 0; i < 2 * ARRAY_SIZE(late); i++) {
		weighted = i % 2;
		units = psi_units(late[i / 2] * SEC);

		/* every CPU stalled all the time */
		times[PSI_NONIDLE] = units;
		times[PSI_CPU_SOME] = units;
		sum = (struct psi_sum) { .weighted = weighted };
		for (cpu = 0; cpu < 8192; cpu++)
			psi_sum_add(&sum, times, PSI_ALL_STATES);
		KUNIT_EXPECT_EQ(test, sum_ns(&sum, PSI_CPU_SOME, units),
				(u64)units << PSI_UNIT_SHIFT);

		/* one half of them stalled, the others not: 50 % within 2^-18 */
		sum = (struct psi_sum) { .weighted = weighted };
		for (cpu = 0; cpu < 8192; cpu++) {
			times[PSI_CPU_SOME] = cpu % 2 ? units : 0;
			psi_sum_add(&sum, times, PSI_ALL_STATES);
		}
		some = sum_ns(&sum, PSI_CPU_SOME, units);
		KUNIT_EXPECT_LE(test, abs_diff(some, (u64)units << 9), (units >> 8) + 1);
	}
}

/* Where one CPU has been busy for long, another does not lose its minute. */
static void late_sums_keep_short_times(struct kunit *test)
{
	u32 busy[PSI_NR_STATES] = { }, stalled[PSI_NR_STATES] = { };
	u64 hour = psi_units(3600 * SEC), minute = psi_units(60 * SEC), exact;
	struct psi_sum sum = { .weighted = true };

	busy[PSI_NONIDLE] = hour;
	stalled[PSI_NONIDLE] = minute;
	stalled[PSI_IO_FULL] = minute;
	exact = div64_u64(minute * minute, hour + minute);

	/* in either order; the second shortens what the first has added */
	psi_sum_add(&sum, stalled, PSI_ALL_STATES);
	psi_sum_add(&sum, busy, PSI_ALL_STATES);
	KUNIT_EXPECT_LE(test, abs_diff(psi_sum_ns(&sum, PSI_IO_FULL, 0) >> PSI_UNIT_SHIFT, exact),
			exact >> 10);

	sum = (struct psi_sum) { .weighted = true };
	psi_sum_add(&sum, busy, PSI_ALL_STATES);
	psi_sum_add(&sum, stalled, PSI_ALL_STATES);
	KUNIT_EXPECT_LE(test, abs_diff(psi_sum_ns(&sum, PSI_IO_FULL, 0) >> PSI_UNIT_SHIFT, exact),
			exact >> 10);
}

/* -------------------------- averages -------------------------- */

#define PCT(x)	((unsigned long)(x) << FSHIFT)

/* The example of R-5, in hundredths of a percent. */
static void example_of_the_contract(struct kunit *test)
{
	unsigned long avg[PSI_NR_AVGS] = { 0 };

	psi_avg_sample(avg, 0, SEC / 2, 2 * SEC);
	KUNIT_EXPECT_EQ(test, hundredths(avg[0]), 453);

	avg[0] = PCT(50);		/* 40.94 + 4.53 */
	psi_avg_sample(avg, 0, SEC / 2, 2 * SEC);
	KUNIT_EXPECT_EQ(test, hundredths(avg[0]), 4547);
}

static const struct {
	const char	*name;
	u64		decay[PSI_NR_AVGS];	/* times 2^32 */
	unsigned long	within[PSI_NR_AVGS];	/* hundredths of a percent */
} reference[] = {
	/*
	 * The factors of R-5: what is left is the rounding, at most one of
	 * 2^11 a sample, which adds up to 1 / (1 - e) of them: 5.5, 31, 146.
	 */
	{ "given factors", { 1677ULL << 21, 1981ULL << 21, 2034ULL << 21 },
	  { 1, 2, 8 } },
	/*
	 * exp(-2/10), exp(-2/60), exp(-2/300). With 11 bits the last has a
	 * time constant that is 2.8 % too short, which is worth up to
	 * 2.8 % / e of a step of 100.
	 */
	{ "exact exponential", { 3516421809ULL, 4154161520ULL, 4266429413ULL },
	  { 8, 12, 115 } },
};

/* Loads that last from one to 200 periods, followed for half an hour. */
static void averages_follow_the_exponential(struct kunit *test)
{
	u64 seed = new_seed(test), exact[PSI_NR_AVGS], percent, error;
	unsigned long avg[PSI_NR_AVGS];
	struct rnd_state rnd;
	int r, n, i, left;

	for (r = 0; r < ARRAY_SIZE(reference); r++) {
		prandom_seed_state(&rnd, seed);
		memset(avg, 0, sizeof(avg));
		memset(exact, 0, sizeof(exact));
		left = 0;
		for (n = 0; n < 900; n++) {
			if (!left--) {
				left = prandom_u32_state(&rnd) % 200;
				percent = prandom_u32_state(&rnd) % 101;
			}
			psi_avg_sample(avg, 0, percent * 20 * NSEC_PER_MSEC, 2 * SEC);
			for (i = 0; i < PSI_NR_AVGS; i++) {
				/* 2^24 of a percent, so that the product fits */
				exact[i] = (exact[i] * reference[r].decay[i] +
					    (percent << 24) *
					    (BIT_ULL(32) - reference[r].decay[i])) >> 32;
				error = abs_diff(hundredths(avg[i]), exact[i] * 100 >> 24);
				KUNIT_ASSERT_LE_MSG(test, error,
						    reference[r].within[i] + 1,
						    "%s, average %d, period %d",
						    reference[r].name, i, n);
			}
		}
	}
}

static void averages_stay_within_0_and_100(struct kunit *test)
{
	unsigned long avg[PSI_NR_AVGS] = { 0 };
	int n, i;

	for (n = 0; n < 5000; n++)
		psi_avg_sample(avg, 0, 2 * SEC, 2 * SEC);
	for (i = 0; i < PSI_NR_AVGS; i++)
		KUNIT_EXPECT_EQ(test, avg[i], PCT(100));
	for (n = 0; n < 5000; n++)
		psi_avg_sample(avg, 0, 0, 2 * SEC);
	for (i = 0; i < PSI_NR_AVGS; i++)
		KUNIT_EXPECT_EQ(test, avg[i], 0);
}

/* missed periods decay as zeros, one by one or all at once. */
static void missed_periods_are_zeros(struct kunit *test)
{
	unsigned long once[PSI_NR_AVGS], each[PSI_NR_AVGS];
	int missed, n, i;

	for (missed = 0; missed < 400; missed += 7) {
		for (i = 0; i < PSI_NR_AVGS; i++)
			once[i] = PCT(90);
		memcpy(each, once, sizeof(each));
		psi_avg_sample(once, missed, SEC, 2 * SEC);
		for (n = 0; n < missed; n++)
			psi_avg_sample(each, 0, 0, 2 * SEC);
		psi_avg_sample(each, 0, SEC, 2 * SEC);
		/*
		 * calc_load_n() keeps the power of the factor in 11 bits too,
		 * a square at a time, which is worth up to a quarter of
		 * a percent for the slowest.
		 */
		for (i = 0; i < PSI_NR_AVGS; i++)
			KUNIT_EXPECT_LE(test, hundredths(abs_diff(once[i], each[i])), 25);
	}
}

/* ------------------- folds that come late ------------------- */

struct late_case {
	const char	*name;
	u64		start;
};

static const struct late_case late_cases[] = {
	{ "R-5 late folds, clock near 0", 0 },
	{ "R-5 late folds, clock near 2^32 ns", BIT_ULL(32) - 3 * SEC },
	{ "R-5 late folds, clock near 2^63 ns", BIT_ULL(63) - 3 * SEC },
};

static void late_name(const struct late_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(late, late_cases, late_name);

static struct psi_group *new_group(struct kunit *test, u64 start)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, group);
	psi_group_init(group, NULL, NULL, start);
	return group;
}

/*
 * in a fold that is late by whole periods, the growth fills the last ones. At most
 * one period is filled in part, and those before it are zeros.
 */
static void late_growth_fills_the_last_periods(struct kunit *test)
{
	static const struct { u64 late, growth; } cases[] = {
		{ 10 * SEC, 10 * SEC }, { 10 * SEC, 5 * SEC }, { 10 * SEC, SEC },
		{ 600 * SEC, 600 * SEC }, { 600 * SEC, 60 * SEC }, { 600 * SEC, 3 * SEC },
		{ 3600 * SEC, 3599 * SEC }, { 3600 * SEC, 0 },
	};
	const struct late_case *c = test->param_value;
	u64 growth[PSI_NR_STATES] = { 0 }, left, stalled, span;
	unsigned long avg[PSI_NR_AVGS];
	struct psi_group *group = new_group(test, c->start);
	struct psi_stall *io = &group->fold.stall[PSI_IO_SOME];
	int i, n, p, periods;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(group, 0, sizeof(*group));
		psi_group_init(group, NULL, NULL, c->start);
		growth[PSI_IO_SOME] = cases[i].growth;
		psi_fold_account(&group->fold, c->start + cases[i].late, growth);

		/* Period by period, the first one first: how much of it is filled? */
		memset(avg, 0, sizeof(avg));
		periods = div64_u64(cases[i].late, PSI_PERIOD_NS);
		for (p = 0; p < periods; p++) {
			/* the last one is longer, and full first */
			span = PSI_PERIOD_NS;
			left = cases[i].late - (p + 1) * PSI_PERIOD_NS;
			if (p == periods - 1) {
				span += left;
				left = 0;
			}
			stalled = max(cases[i].growth, left) - left;
			psi_avg_sample(avg, 0, min(stalled, span), span);
		}
		for (n = 0; n < PSI_NR_AVGS; n++)
			KUNIT_EXPECT_LE_MSG(test, hundredths(abs_diff(io->avg[n], avg[n])), 30,
					    "case %d, average %d: %lu", i, n, io->avg[n]);
		KUNIT_EXPECT_EQ(test, io->total, cases[i].growth);
		KUNIT_EXPECT_EQ(test, io->averaged, io->total);
	}
}

/* a virtual machine is stopped for 600 s. When the stall is over, averages fall. */
static void averages_fall_after_a_late_fold(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct psi_group *group = new_group(test, c->start);
	struct psi_stall *io = &group->fold.stall[PSI_IO_SOME];
	u64 growth[PSI_NR_STATES] = { 0 };
	unsigned long before[PSI_NR_AVGS];
	int n, i;

	growth[PSI_IO_SOME] = 600 * SEC;
	psi_fold_account(&group->fold, c->start + 600 * SEC, growth);
	KUNIT_EXPECT_GE(test, io->avg[0], PCT(99));
	KUNIT_EXPECT_GE(test, io->avg[1], PCT(99));
	KUNIT_EXPECT_GE(test, io->avg[2], PCT(85));

	growth[PSI_IO_SOME] = 0;
	for (n = 0; n < 30; n++) {
		memcpy(before, io->avg, sizeof(before));
		psi_fold_account(&group->fold, group->fold.avgs_due, growth);
		for (i = 0; i < PSI_NR_AVGS; i++)
			KUNIT_EXPECT_LT(test, io->avg[i], before[i]);
	}
	KUNIT_EXPECT_LE(test, io->avg[0], PCT(1));
	KUNIT_EXPECT_EQ(test, io->total, 600 * SEC);
}

/* what clocks that disagree make too much is carried over, at most one period. */
static void one_period_is_carried_over(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct psi_group *group = new_group(test, c->start);
	struct psi_stall *io = &group->fold.stall[PSI_IO_SOME];
	u64 growth[PSI_NR_STATES] = { 0 };
	unsigned long avg[PSI_NR_AVGS];

	growth[PSI_IO_SOME] = PSI_PERIOD_NS + SEC / 2;
	psi_fold_account(&group->fold, group->fold.avgs_due, growth);
	KUNIT_EXPECT_EQ(test, io->total - io->averaged, SEC / 2);
	KUNIT_EXPECT_EQ(test, hundredths(io->avg[0]), 1812);	/* of 100 % */

	growth[PSI_IO_SOME] = 0;
	psi_fold_account(&group->fold, group->fold.avgs_due, growth);
	KUNIT_EXPECT_EQ(test, io->averaged, io->total);
	KUNIT_EXPECT_GT(test, hundredths(io->avg[0]), 1812 * 1677 / 2048 + 400);

	memcpy(avg, io->avg, sizeof(avg));
	growth[PSI_IO_SOME] = 100 * SEC;
	psi_fold_account(&group->fold, group->fold.avgs_due + PSI_PERIOD_NS, growth);
	KUNIT_EXPECT_EQ(test, io->total - io->averaged, PSI_PERIOD_NS);
	KUNIT_EXPECT_LE(test, io->avg[0], PCT(100));

	/* These were two periods: averages rise by that, and not by 100 s. */
	psi_avg_sample(avg, 0, PSI_PERIOD_NS, PSI_PERIOD_NS);
	psi_avg_sample(avg, 0, PSI_PERIOD_NS, PSI_PERIOD_NS);
	KUNIT_EXPECT_LE(test, hundredths(abs_diff(io->avg[2], avg[2])), 1);
}

/* after a long idle time the old load is gone. */
static void idle_time_decays(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct psi_group *group = new_group(test, c->start);
	struct psi_stall *io = &group->fold.stall[PSI_IO_SOME];
	u64 growth[PSI_NR_STATES] = { 0 };
	int n;

	growth[PSI_IO_SOME] = PSI_PERIOD_NS;
	for (n = 0; n < 60; n++)
		psi_fold_account(&group->fold, group->fold.avgs_due, growth);
	KUNIT_EXPECT_GE(test, io->avg[0], PCT(99));

	growth[PSI_IO_SOME] = 0;
	psi_fold_account(&group->fold, group->fold.avgs_due + 30 * PSI_PERIOD_NS, growth);
	/* exp(-31 * 2 / 10) = 0.2 %, exp(-31 * 2 / 60) = 35.6 % of 86.5 % */
	KUNIT_EXPECT_LE(test, io->avg[0], PCT(1) / 4);
	KUNIT_EXPECT_GE(test, io->avg[1], PCT(30));
	KUNIT_EXPECT_LE(test, io->avg[1], PCT(32));
	KUNIT_EXPECT_EQ(test, io->total, 60 * PSI_PERIOD_NS);

	/* Each of them to 0, the slower ones last. */
	for (n = 0; n < 5000; n++)
		psi_fold_account(&group->fold, group->fold.avgs_due, growth);
	for (n = 0; n < PSI_NR_AVGS; n++)
		KUNIT_EXPECT_EQ(test, io->avg[n], 0);
}

/* jitter of the fold does not move the periods. */
static void periods_do_not_drift(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct psi_group *group = new_group(test, c->start);
	u64 growth[PSI_NR_STATES] = { 0 };
	int n;

	for (n = 1; n <= 1000; n++)
		psi_fold_account(&group->fold,
				 group->fold.avgs_due + n * 7919 % (NSEC_PER_SEC / 3), growth);
	KUNIT_EXPECT_EQ(test, group->fold.avgs_due, c->start + 1001 * PSI_PERIOD_NS);
}

/*
 * the thread folds 1 to 21 ms after the end of each period of the system. Whenever a
 * group was made, none of its periods counts as missed, and none is twice as long.
 */
static void no_group_is_between_two_folds(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	u64 growth[PSI_NR_STATES] = { 0 }, made, now, before;
	struct psi_group *group = new_group(test, c->start);
	struct psi_stall *io = &group->fold.stall[PSI_IO_SOME];
	unsigned long avg;
	int ms, n;

	for (ms = 0; ms < 2000; ms += 3) {
		made = c->start + ms * NSEC_PER_MSEC;
		memset(group, 0, sizeof(*group));
		psi_group_init(group, NULL, NULL, made);
		group->fold.avgs_due = psi_first_due(made, c->start + PSI_PERIOD_NS);
		KUNIT_EXPECT_GT(test, group->fold.avgs_due, made + PSI_PERIOD_NS / 2);
		KUNIT_EXPECT_LE(test, group->fold.avgs_due, made + 3 * PSI_PERIOD_NS / 2);

		before = made;
		avg = 0;
		for (n = 1; n < 50; n++) {
			now = c->start + n * PSI_PERIOD_NS +
			      (1 + n * 13 % 21) * NSEC_PER_MSEC;
			growth[PSI_IO_SOME] = now - before;
			psi_fold_account(&group->fold, now, growth);
			before = now;
			KUNIT_ASSERT_GE_MSG(test, io->avg[0], avg, "made at %d ms", ms);
			avg = io->avg[0];
		}
		KUNIT_ASSERT_EQ_MSG(test, io->averaged, io->total, "made at %d ms", ms);
	}
}

/* folds in between do not change averages and totals. */
static void readers_take_nothing_away(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct psi_group *quiet = new_group(test, c->start);
	struct psi_group *read = new_group(test, c->start);
	u64 growth[PSI_NR_STATES] = { 0 }, now, due;
	int n, i;

	for (n = 0; n < 100; n++) {
		/* 30 % some of io, reported at once, or 0.3 ms every ms */
		due = quiet->fold.avgs_due;
		growth[PSI_IO_SOME] = div_u64(PSI_PERIOD_NS * 3, 10);
		psi_fold_account(&quiet->fold, due, growth);

		growth[PSI_IO_SOME] = 300 * NSEC_PER_USEC;
		for (now = due - PSI_PERIOD_NS + NSEC_PER_MSEC; now < due;
		     now += NSEC_PER_MSEC) {
			psi_fold_account(&read->fold, now, growth);
			KUNIT_ASSERT_EQ(test, read->fold.avgs_due, due);
		}
		growth[PSI_IO_SOME] = quiet->fold.stall[PSI_IO_SOME].total -
				      read->fold.stall[PSI_IO_SOME].total;
		psi_fold_account(&read->fold, due, growth);

		KUNIT_EXPECT_LE(test, growth[PSI_IO_SOME], NSEC_PER_MSEC);
		for (i = 0; i < PSI_NR_AVGS; i++)
			KUNIT_ASSERT_EQ(test, read->fold.stall[PSI_IO_SOME].avg[i],
					quiet->fold.stall[PSI_IO_SOME].avg[i]);
	}
}

/* what is not due to a cpu.max is contention. */
static void split_adds_up(struct kunit *test)
{
	struct psi_cpu_split split;
	struct psi_group *group;

	if (!static_key_enabled(&psi_enabled))
		kunit_skip(test, "psi=0");
	group = psi_group_alloc(&psi_system);
	KUNIT_ASSERT_NOT_NULL(test, group);
	group->fold.stall[PSI_CPU_SOME].total = 1000;
	group->fold.quota_total[0] = 10;
	group->fold.stall[PSI_CPU_FULL].total = 100;
	group->fold.quota_total[1] = 1;
	psi_group_read_split(group, &split);
	psi_group_free(group);

	KUNIT_EXPECT_EQ(test, split.contention[0], 990);
	KUNIT_EXPECT_EQ(test, split.contention[1], 99);
	KUNIT_EXPECT_EQ(test, split.quota[0], 10);
	KUNIT_EXPECT_EQ(test, split.quota[1], 1);
}

/* one CPU of two waits for a quota. */
static void quotas_have_the_weights_of_stalls(struct kunit *test)
{
	u32 one[PSI_NR_STATES] = {
		[PSI_CPU_SOME] = 800, [PSI_CPU_FULL] = 700, [PSI_NONIDLE] = 1000,
		[PSI_QUOTA_SOME] = 600, [PSI_QUOTA_FULL] = 500,
	};
	u32 other[PSI_NR_STATES] = { [PSI_NONIDLE] = 1000 };
	struct psi_sum sum = { };

	psi_sum_add(&sum, one, PSI_ALL_STATES);
	psi_sum_add(&sum, other, PSI_ALL_STATES);
	KUNIT_EXPECT_EQ(test, sum_ns(&sum, PSI_CPU_SOME, 1000), 400 * 1024);
	KUNIT_EXPECT_EQ(test, sum_ns(&sum, PSI_QUOTA_SOME, 1000), 300 * 1024);
	KUNIT_EXPECT_EQ(test, sum_ns(&sum, PSI_QUOTA_FULL, 1000), 250 * 1024);
}

/* the files may be there after the clock for interrupts has failed. */
static void irq_without_a_clock(struct kunit *test)
{
	if (irqtime_is_measured())
		kunit_skip(test, "there is one");
	KUNIT_EXPECT_EQ(test, psi_show(NULL, &psi_system, PSI_IRQ), -EOPNOTSUPP);
}

static struct kunit_case psi_avgs_cases[] = {
	KUNIT_CASE(tasks_257_on_256_cpus),
	KUNIT_CASE(one_of_four_stalled_on_memory),
	KUNIT_CASE(idle_cpus_do_not_count),
	KUNIT_CASE(short_times_have_weight),
	KUNIT_CASE(sums_are_exact),
	KUNIT_CASE(any_samples_will_do),
	KUNIT_CASE(late_sums_fit),
	KUNIT_CASE(late_sums_keep_short_times),
	KUNIT_CASE(example_of_the_contract),
	KUNIT_CASE(averages_follow_the_exponential),
	KUNIT_CASE(averages_stay_within_0_and_100),
	KUNIT_CASE(missed_periods_are_zeros),
	KUNIT_CASE_PARAM(late_growth_fills_the_last_periods, late_gen_params),
	KUNIT_CASE_PARAM(averages_fall_after_a_late_fold, late_gen_params),
	KUNIT_CASE_PARAM(one_period_is_carried_over, late_gen_params),
	KUNIT_CASE_PARAM(idle_time_decays, late_gen_params),
	KUNIT_CASE_PARAM(periods_do_not_drift, late_gen_params),
	KUNIT_CASE_PARAM(no_group_is_between_two_folds, late_gen_params),
	KUNIT_CASE_PARAM(readers_take_nothing_away, late_gen_params),
	KUNIT_CASE(split_adds_up),
	KUNIT_CASE(quotas_have_the_weights_of_stalls),
	KUNIT_CASE(irq_without_a_clock),
	{ }
};

static struct kunit_suite psi_avgs_suite = {
	.name = "psi_avgs",
	.test_cases = psi_avgs_cases,
};

kunit_test_suite(psi_avgs_suite);

MODULE_DESCRIPTION("Pressure stall information: sums and averages");
MODULE_LICENSE("GPL");
