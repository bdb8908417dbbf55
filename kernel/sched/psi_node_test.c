// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_node.c: the rules row by row, and time. See psi_history_test.c for
 * random histories, and psi_follow_test.c for nodes that follow.
 */
#include <kunit/test.h>

#include "psi_avgs.h"
#include "psi_node.h"

/* ------------------------- R-3, row by row ------------------------- */

struct rule_case {
	const char	*name;
	u8		tasks[4];	/* PSI_TASK_*, 0 ends the list */
	u16		states;
};

#define RUN	PSI_TASK_RUNNABLE
#define CPU	(PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)
#define IO	PSI_TASK_IOWAIT
#define MEM	PSI_TASK_MEMSTALL
#define THROTTLED	(PSI_TASK_RUNNABLE | PSI_TASK_THROTTLED)
#define S(x)	BIT(PSI_##x)

static const struct rule_case rule_cases[] = {
	{ "R-3 nobody", { }, 0 },
	{ "R-3 one task alone on the CPU: no cpu stall", { CPU }, S(NONIDLE) },
	{ "R-3 one waits while one runs: CPU_SOME", { CPU, RUN },
	  S(NONIDLE) | S(CPU_SOME) },
	{ "R-3 one waits and none runs: CPU_FULL", { RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 all wait: CPU_FULL", { RUN, RUN, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 iowait and nobody runs: IO_FULL", { IO },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) },
	{ "R-3 iowait and one runs: IO_SOME", { IO, CPU },
	  S(NONIDLE) | S(IO_SOME) },
	{ "R-3 iowait and one is runnable: IO_SOME only", { IO, RUN },
	  S(NONIDLE) | S(IO_SOME) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 asleep in memstall: MEM_FULL", { MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 asleep in memstall, one productive: MEM_SOME", { MEM, CPU },
	  S(NONIDLE) | S(MEM_SOME) },
	{ "R-3 reclaiming on the CPU alone: MEM_FULL", { CPU | MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 reclaiming on the CPU, a productive one waits: MEM_FULL",
	  { CPU | MEM, RUN },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) | S(CPU_SOME) },
	{ "R-3 a productive one on the CPU, a reclaimer waits: MEM_SOME",
	  { CPU, RUN | MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(CPU_SOME) },
	{ "R-3 reclaimers wait, none productive: MEM_FULL",
	  { RUN | MEM, MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 iowait inside memstall: both", { IO | MEM },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 all at once", { IO, MEM, CPU, RUN },
	  S(NONIDLE) | S(IO_SOME) | S(MEM_SOME) | S(CPU_SOME) },
	{ "R-19 held back by a cpu.max: a quota", { THROTTLED },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) | S(QUOTA_FULL) },
	{ "R-19 one is held back while one runs: a quota, some", { THROTTLED, CPU },
	  S(NONIDLE) | S(CPU_SOME) | S(QUOTA_SOME) },
	{ "R-19 one is held back, one contends: contention", { THROTTLED, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-19 one is held back, one contends, one runs", { THROTTLED, RUN, CPU },
	  S(NONIDLE) | S(CPU_SOME) },
	{ "R-19 a task on the CPU is not held back yet", { CPU | PSI_TASK_THROTTLED }, S(NONIDLE) },
	{ "R-19 a task that sleeps is not held back", { IO | PSI_TASK_THROTTLED },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) },
	{ "R-19 R-3 held back, it is runnable: no IO_FULL", { THROTTLED, IO },
	  S(NONIDLE) | S(IO_SOME) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) |
	  S(QUOTA_FULL) },
	{ "R-19 R-3 held back, it is productive: no MEM_FULL", { THROTTLED, MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) |
	  S(QUOTA_FULL) },
	{ "R-5 an exempt task is nobody", { CPU | MEM | PSI_TASK_EXEMPT }, 0 },
	{ "R-5 waiting for an exempt task is waiting",
	  { CPU | PSI_TASK_EXEMPT, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
};

static void rule_name(const struct rule_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rule, rule_cases, rule_name);

static void rules(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	for (i = 0; i < ARRAY_SIZE(c->tasks) && c->tasks[i]; i++)
		psi_node_change((struct psi_change) {
			&node, 0, psi_task_contrib(c->tasks[i]) }, 0);
	KUNIT_EXPECT_EQ(test, node.states, c->states);

	/* And all of it goes away again. */
	while (i--)
		psi_node_change((struct psi_change) {
			&node, psi_task_contrib(c->tasks[i]), 0 }, 0);
	KUNIT_EXPECT_EQ(test, node.states, 0);
	KUNIT_EXPECT_EQ(test, node.contrib, 0);
}

/* ----------------------------- Time ----------------------------- */

/*
 * Units cut off up to 1023 ns of every interval, and give it to its neighbour: the time
 * of a state is off by less than one unit in all, however often it was interrupted.
 */
static void units_have_no_bias(struct kunit *test)
{
	struct psi_change run = { .old = 0, .new = PSI_ONCPU | PSI_PRODUCTIVE };
	struct psi_change stop = { .old = run.new, .new = 0 };
	u64 now = 12345, busy = 0;
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	run.node = &node;
	stop.node = &node;

	for (i = 0; i < 100000; i++) {
		psi_node_change(run, psi_units(now));
		now += 700 + i % 13;		/* always less than a unit */
		busy += 700 + i % 13;
		psi_node_change(stop, psi_units(now));
		now += 11 * 1024 + i % 1024;
	}

	/* Random phase: the error is a random walk of sqrt(n) halves. */
	busy /= 1024;
	KUNIT_EXPECT_GE(test, (u64)node.times[PSI_NONIDLE], busy - 1000);
	KUNIT_EXPECT_LE(test, (u64)node.times[PSI_NONIDLE], busy + 1000);
}

static void adjoining_intervals_are_exact(struct kunit *test)
{
	struct psi_change a = { .old = 0, .new = PSI_IOWAIT };
	struct psi_change b = { .old = 0, .new = PSI_WAITING | PSI_PRODUCTIVE };
	u64 start = BIT_ULL(42) - 7777, now = start;
	u32 times[PSI_NR_STATES];
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	a.node = &node;
	b.node = &node;
	psi_node_change(a, psi_units(now));

	/* IO_SOME lasts, IO_FULL comes and goes */
	for (i = 0; i < 100001; i++) {
		now += 100 + i % 1500;
		psi_node_change(b, psi_units(now));
		swap(b.old, b.new);
	}
	psi_node_times(&node, psi_units(now), times);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_SOME],
			(u32)((now >> 10) - (start >> 10)));
	KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], times[PSI_IO_SOME]);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_FULL] + times[PSI_CPU_FULL],
			times[PSI_IO_SOME]);
}

static void same_states_are_not_touched(struct kunit *test)
{
	struct psi_node node;
	struct psi_change c = { .node = &node, .new = psi_task_contrib(RUN) };
	u32 times[PSI_NR_STATES];

	psi_node_init(&node, NULL);
	psi_node_change(c, 100);
	memcpy(times, node.times, sizeof(times));
	psi_node_change(c, 200);
	psi_node_change(c, 300);
	KUNIT_EXPECT_MEMEQ(test, times, node.times, sizeof(times));
	KUNIT_EXPECT_EQ(test, psi_node_count(&node, PSI_COUNT_WAITING), 3);
}

/* what cancels out in a switch is not seen where the two paths meet. */
static void a_switch_cancels_out_above(struct kunit *test)
{
	static struct psi_node root, deep[3], flat;
	struct psi_change prev, next;
	int i;

	psi_node_init(&root, NULL);
	psi_node_init(&flat, &root);
	for (i = 0; i < 3; i++)
		psi_node_init(&deep[i], i ? &deep[i - 1] : &root);

	prev = (struct psi_change) { &deep[2], psi_task_contrib(CPU), psi_task_contrib(RUN) };
	next = (struct psi_change) { &flat, psi_task_contrib(RUN), psi_task_contrib(CPU) };
	psi_node_change((struct psi_change) { prev.node, 0, prev.old }, 100);
	psi_node_change((struct psi_change) { next.node, 0, next.old }, 100);

	for (i = 0; i < 10; i++) {
		struct psi_node before = root;

		psi_node_switch(prev, next, 200 + i);
		KUNIT_EXPECT_MEMEQ(test, &root, &before, sizeof(root));
		KUNIT_EXPECT_EQ(test, root.states, S(NONIDLE) | S(CPU_SOME));
		KUNIT_EXPECT_EQ(test, psi_node_states(&deep[0]) & S(CPU_SOME),
				i % 2 ? 0 : S(CPU_SOME));

		/* and back */
		swap(prev, next);
		swap(prev.old, prev.new);
		swap(next.old, next.new);
	}
}

/* a task that waits moves to where another one runs; above, nothing changes. */
static void moves_leave_the_running_task_alone(struct kunit *test)
{
	struct psi_node root, from, to;

	psi_node_init(&root, NULL);
	psi_node_init(&from, &root);
	psi_node_init(&to, &root);
	psi_node_change((struct psi_change) { &to, 0, psi_task_contrib(CPU) }, 100);
	psi_node_change((struct psi_change) { &from, 0, psi_task_contrib(RUN) }, 100);

	psi_node_switch((struct psi_change) { &from, psi_task_contrib(RUN), 0 },
			(struct psi_change) { &to, 0, psi_task_contrib(RUN) }, 200);
	KUNIT_EXPECT_EQ(test, psi_node_states(&root), S(NONIDLE) | S(CPU_SOME));
	KUNIT_EXPECT_EQ(test, psi_node_states(&to), S(NONIDLE) | S(CPU_SOME));
	KUNIT_EXPECT_EQ(test, psi_node_states(&from), 0);
}

static void long_states_last_68_minutes(struct kunit *test)
{
	u64 start = 5ULL * NSEC_PER_SEC, minutes68 = 68ULL * 60 * NSEC_PER_SEC;
	u32 times[PSI_NR_STATES];
	struct psi_node node;

	psi_node_init(&node, NULL);
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT },
			psi_units(start));
	psi_node_times(&node, psi_units(start + minutes68), times);
	KUNIT_EXPECT_EQ(test, (u64)psi_elapsed(0, times[PSI_IO_FULL]),
			(start + minutes68) / 1024 - start / 1024);
}

static void clocks_may_disagree(struct kunit *test)
{
	u32 times[PSI_NR_STATES];
	struct psi_node node;

	psi_node_init(&node, NULL);
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);

	/* A reader, then a writer, whose clocks are behind: nothing to fold yet. */
	psi_node_times(&node, 998, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 0);
	psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 }, 999);
	psi_node_times(&node, 1000, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 0);

	/* The error does not grow. */
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);
	psi_node_times(&node, 2000, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 999);
}

/* What a node did before it went idle does not matter, however long ago. */
static void idle_nodes_keep_no_time(struct kunit *test)
{
	static const u32 later[] = { 1, BIT(31), -(u32)PSI_CLOCK_SKEW, -5 };
	struct psi_node node;
	int i;

	for (i = 0; i < ARRAY_SIZE(later); i++) {
		psi_node_init(&node, NULL);
		psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);
		psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 }, 1010);
		psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT },
				1010 + later[i]);
		psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 },
				1010 + later[i] + 7);
		KUNIT_EXPECT_EQ(test, node.times[PSI_IO_SOME], 17);
	}
}

static void a_wrong_count_mends(struct kunit *test)
{
	static const u8 flags[] = { RUN, THROTTLED, IO, MEM };
	struct psi_change c;
	struct psi_node node;
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		/* Taken away though it never came. */
		psi_node_init(&node, NULL);
		c = (struct psi_change) { &node, psi_task_contrib(flags[i]), 0 };
		psi_node_change(c, 10);
		KUNIT_EXPECT_EQ(test, node.states, 0);
		for (bit = 0; bit < PSI_NR_COUNTS; bit++)
			KUNIT_EXPECT_TRUE(test, !psi_node_count(&node, bit) || c.old & BIT(bit));
		swap(c.old, c.new);
		psi_node_change(c, 20);
		KUNIT_EXPECT_EQ(test, node.states, psi_states(c.new));
		for (bit = 0; bit < PSI_NR_COUNTS; bit++)
			KUNIT_EXPECT_EQ(test, psi_node_count(&node, bit), !!(c.new & BIT(bit)));
		swap(c.old, c.new);
		psi_node_change(c, 30);
		KUNIT_EXPECT_EQ(test, node.states, 0);

		/* Only this node has it noted. */
		KUNIT_EXPECT_TRUE(test, node.flags & PSI_NODE_MISCOUNTED);
	}
}

/* As many as there is room for, and none is taken for one of another kind. */
static void rare_counts_do_not_touch_each_other(struct kunit *test)
{
	static const u8 bits[] = { PSI_IOWAIT, PSI_MEMSTALL, PSI_THROTTLED };
	struct psi_node node;
	int i, n;

	psi_node_init(&node, NULL);
	for (n = 0; n < PSI_RARE_MAX - 1; n++)
		for (i = 0; i < ARRAY_SIZE(bits); i++)
			psi_node_change((struct psi_change) { &node, 0, bits[i] }, 0);
	for (i = 0; i < PSI_NR_RARE; i++)
		KUNIT_EXPECT_EQ(test, psi_node_count(&node, i), PSI_RARE_MAX - 1);

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		for (n = 0; n < PSI_RARE_MAX - 1; n++)
			psi_node_change((struct psi_change) { &node, bits[i], 0 }, 0);
		KUNIT_EXPECT_FALSE(test, node.contrib & bits[i]);
	}
	KUNIT_EXPECT_EQ(test, node.contrib, 0);
	KUNIT_EXPECT_EQ(test, node.rare, 0);
	KUNIT_EXPECT_FALSE(test, node.flags);
}

/* Times of a node that grow by so much. */
static void add_growth(u32 times[], u32 io_some, u32 io_full, u32 irq, u32 nonidle)
{
	times[PSI_IO_SOME] += io_some;
	times[PSI_IO_FULL] += io_full;
	times[PSI_IRQ_FULL] += irq;
	times[PSI_NONIDLE] += nonidle;
}

/* As the fold does. @times: 0 for those that have not grown */
static bool take_growth(u32 folded[], u32 times[])
{
	u32 grown = psi_growth(folded, times, PSI_ALL_STATES);
	int s;

	for (s = 0; s < PSI_NR_STATES; s++) {
		times[s] = grown & BIT(s) ? times[s] : 0;
		folded[s] += times[s];
	}
	return grown;
}

static void expect_growth(struct kunit *test, u32 folded[], const u32 now[], u32 io_some,
			  u32 io_full, u32 irq, u32 nonidle)
{
	u32 times[PSI_NR_STATES];

	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_EQ(test, take_growth(folded, times), nonidle > 0);
	if (!nonidle)
		return;
	KUNIT_EXPECT_EQ(test, times[PSI_IO_SOME], io_some);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_FULL], io_full);
	KUNIT_EXPECT_EQ(test, times[PSI_IRQ_FULL], irq);
	KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], nonidle);
}

/* what has no weight yet is not lost, but left for the next fold. */
static void growth_without_weight_stays(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, now[PSI_NR_STATES] = { };

	add_growth(now, 0, 0, 5, 0);
	expect_growth(test, folded, now, 0, 0, 0, 0);
	add_growth(now, 0, 0, 2, 10);
	expect_growth(test, folded, now, 0, 0, 7, 10);
	expect_growth(test, folded, now, 0, 0, 0, 0);
}

/* no stall is longer than the time not idle, nor "full" than "some". */
static void growth_is_no_longer_than_what_it_is_part_of(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, now[PSI_NR_STATES] = { };

	/* A reader's clock was a little ahead of the one by which a state then began. */
	add_growth(now, 7, 12, 0, 10);
	expect_growth(test, folded, now, 7, 7, 0, 10);
	add_growth(now, 25, 1, 30, 20);
	expect_growth(test, folded, now, 20, 6, 20, 20);
	add_growth(now, 0, 0, 0, 100);
	expect_growth(test, folded, now, 5, 0, 10, 100);

	/* Times go back a little; that must not look like 73 minutes. */
	add_growth(now, -3, 0, 0, 4);
	expect_growth(test, folded, now, 0, 0, 0, 4);
}

/* quotas are no longer than the stall that they are a part of; the rest stays. */
static void quota_growth_is_no_longer_than_the_stall(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, times[PSI_NR_STATES];
	u32 now[PSI_NR_STATES] = {
		[PSI_CPU_SOME] = 10, [PSI_CPU_FULL] = 4, [PSI_NONIDLE] = 20,
		[PSI_QUOTA_SOME] = 13, [PSI_QUOTA_FULL] = 5,
	};

	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_TRUE(test, take_growth(folded, times));
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 10);
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 4);

	now[PSI_CPU_SOME] += 5;
	now[PSI_CPU_FULL] += 5;
	now[PSI_NONIDLE] += 5;
	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_TRUE(test, take_growth(folded, times));
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 3);
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 1);
}

static void changes_touch_one_cache_line(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, offsetof(struct psi_node, times[PSI_QUOTA_SOME]), 64);
	if (!IS_ENABLED(CONFIG_PSI_DEBUG))
		KUNIT_EXPECT_LE(test, sizeof(struct psi_node), 128);
}

static struct kunit_case psi_node_cases[] = {
	KUNIT_CASE_PARAM(rules, rule_gen_params),
	KUNIT_CASE(quota_growth_is_no_longer_than_the_stall),
	KUNIT_CASE(units_have_no_bias),
	KUNIT_CASE(adjoining_intervals_are_exact),
	KUNIT_CASE(same_states_are_not_touched),
	KUNIT_CASE(a_switch_cancels_out_above),
	KUNIT_CASE(moves_leave_the_running_task_alone),
	KUNIT_CASE(long_states_last_68_minutes),
	KUNIT_CASE(clocks_may_disagree),
	KUNIT_CASE(idle_nodes_keep_no_time),
	KUNIT_CASE(a_wrong_count_mends),
	KUNIT_CASE(rare_counts_do_not_touch_each_other),
	KUNIT_CASE(growth_without_weight_stays),
	KUNIT_CASE(growth_is_no_longer_than_what_it_is_part_of),
	KUNIT_CASE(changes_touch_one_cache_line),
	{ }
};

static struct kunit_suite psi_node_suite = {
	.name = "psi_node",
	.test_cases = psi_node_cases,
};

kunit_test_suite(psi_node_suite);

MODULE_DESCRIPTION("Pressure stall information: the rules of nodes");
MODULE_LICENSE("GPL");
