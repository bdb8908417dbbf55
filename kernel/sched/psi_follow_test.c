// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_node.c: nodes that follow the only node that contributes to them.
 */
#include <kunit/test.h>

#include "psi_avgs.h"
#include "psi_node.h"

#define RUN	PSI_TASK_RUNNABLE
#define CPU	(PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)
#define THROTTLED	(PSI_TASK_RUNNABLE | PSI_TASK_THROTTLED)

#define DEEP	16
#define ENOUGH	40	/* turns until all nodes follow that may */

/* Two chains of nodes below a root, or one twice. */
struct forks {
	struct psi_node root, chain[2][DEEP];
	struct psi_node *leaf[2];
	u32 now;
};

static struct forks *plant(struct kunit *test, bool one)
{
	struct forks *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, f);
	psi_node_init(&f->root, NULL);
	for (i = 0; i < 2; i++)
		for (j = 0; j < DEEP; j++)
			psi_node_init(&f->chain[i][j],
				      j ? &f->chain[i][j - 1] : &f->root);
	f->leaf[0] = &f->chain[0][DEEP - 1];
	f->leaf[1] = &f->chain[!one][DEEP - 1];

	/* the first one runs */
	psi_node_change((struct psi_change) { f->leaf[0], 0, psi_task_contrib(CPU) }, 0);
	return f;
}

/* Two tasks take turns to wake each other up, 10 units waiting and 10 without. */
static void take_turns(struct forks *f, int turns)
{
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	int i, a = 0;

	for (i = 0; i < 2 * turns; i++, a = !a) {
		psi_node_change((struct psi_change) { f->leaf[!a], 0, run }, f->now += 10);
		psi_node_switch((struct psi_change) { f->leaf[a], cpu, 0 },
				(struct psi_change) { f->leaf[!a], run, cpu }, f->now += 10);
	}
}

static int count_following(const struct forks *f, int i)
{
	int j, nr = 0;

	for (j = 0; j < DEEP; j++)
		nr += psi_node_follows(&f->chain[i][j]);
	return nr;
}

static void expect_time(struct kunit *test, struct forks *f, struct psi_node *node,
			enum psi_state state, u32 time)
{
	u32 times[PSI_NR_STATES];

	psi_node_times(node, f->now, times);
	KUNIT_EXPECT_EQ(test, times[state], time);
}

/* Two tasks in one group: only that is visited, at any depth. */
static void one_busy_group_is_followed(struct kunit *test)
{
	struct forks *f = plant(test, true);
	struct psi_node above;

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	KUNIT_EXPECT_NULL(test, f->leaf[0]->acct_parent);

	above = f->chain[0][DEEP - 2];
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_MEMEQ(test, &above, &f->chain[0][DEEP - 2], sizeof(above));

	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	expect_time(test, f, &f->chain[0][7], PSI_CPU_SOME, f->now / 2);
}

/* In two groups: these, and the one where they part. */
static void two_busy_groups_meet_once(struct kunit *test)
{
	struct forks *f = plant(test, false);

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_EQ(test, count_following(f, 1), DEEP - 1);
	KUNIT_EXPECT_FALSE(test, psi_node_follows(&f->root));
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[0]->acct_parent, &f->root);
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[1]->acct_parent, &f->root);

	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	expect_time(test, f, &f->chain[1][7], PSI_CPU_SOME, f->now / 4);
}

/* the first stall after idleness is notified of, and no other; nodes above follow. */
static void a_first_stall_is_told(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0], *middle = &f->chain[0][7];
	u8 run = psi_task_contrib(RUN);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, group);
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	for (i = 0; i < DEEP; i++)
		f->chain[0][i].group = group;
	leaf->group = group;
	leaf->notify = 0;
	middle->notify = 0;

	psi_node_set_idle(middle);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_EQ(test, leaf->notify, BIT(PSI_NONIDLE) | PSI_SOME_STATES);
	leaf->notify &= ~BIT(PSI_NONIDLE);
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);
	leaf->notify &= psi_trigger_watched(group);
	KUNIT_EXPECT_FALSE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	KUNIT_EXPECT_FALSE(test, psi_node_set_unstalled(middle));
	leaf->notify = 0;
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);

	/* A period without one, though never idle. */
	KUNIT_EXPECT_TRUE(test, psi_node_set_unstalled(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);
}

/* the same of a node that counts again, as there is a task beside what it followed. */
static void a_first_stall_is_told_by_who_counts_again(struct kunit *test)
{
	struct forks *f = plant(test, true);
	struct psi_node *middle = &f->chain[0][7];

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_set_unstalled(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) {
		middle, 0, psi_task_contrib(RUN) }, f->now));
}

/* the same of a node that begins to follow. */
static void a_first_stall_is_told_of_who_follows_now(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *middle = &f->chain[0][7];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, group);
	for (i = 0; i < DEEP; i++)
		f->chain[0][i].group = group;
	KUNIT_EXPECT_TRUE(test, psi_node_set_unstalled(middle));
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) {
		f->leaf[0], 0, psi_task_contrib(RUN) }, f->now));
}

/* the same of a node that would follow if it had no trigger, of another state. */
static void a_first_stall_is_told_beside_a_trigger(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *middle = &f->chain[0][7];

	KUNIT_ASSERT_NOT_NULL(test, group);
	group->monitors[0].watched = BIT(PSI_MEM_SOME);
	middle->group = group;
	psi_node_set_notify(middle, BIT(PSI_MEM_SOME));
	KUNIT_EXPECT_TRUE(test, psi_node_set_unstalled(middle));
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_FALSE(test, psi_node_follows(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) {
		middle, 0, psi_task_contrib(RUN) }, f->now));
}

/* a group with a trigger counts, until it has none. */
static void a_trigger_ends_following(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *middle = &f->chain[0][7];

	KUNIT_ASSERT_NOT_NULL(test, group);
	group->monitors[1].watched = BIT(PSI_CPU_SOME);
	middle->group = group;

	take_turns(f, ENOUGH);
	psi_node_set_notify(middle, BIT(PSI_CPU_SOME));
	KUNIT_EXPECT_FALSE(test, psi_node_follows(middle));
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[0]->acct_parent, middle);
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) {
		f->leaf[0], 0, psi_task_contrib(RUN) }, f->now));
	psi_node_change((struct psi_change) { f->leaf[0], psi_task_contrib(RUN), 0 }, f->now);

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_FALSE(test, psi_node_follows(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	expect_time(test, f, middle, PSI_CPU_SOME, f->now / 2);

	group->monitors[1].watched = 0;
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, middle->notify, BIT(PSI_NONIDLE));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	expect_time(test, f, middle, PSI_CPU_SOME, f->now / 2);
}

/* what a removed group did stays with the groups above. */
static void a_followed_group_can_go(struct kunit *test)
{
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0], *above = leaf->parent;
	const u8 cpu = psi_task_contrib(CPU);

	take_turns(f, ENOUGH);
	psi_node_change((struct psi_change) { leaf, cpu, 0 }, f->now);
	KUNIT_EXPECT_TRUE(test, psi_node_is_followed(leaf));

	psi_node_detach(leaf);
	KUNIT_EXPECT_FALSE(test, psi_node_is_followed(leaf));
	KUNIT_EXPECT_FALSE(test, psi_node_follows(above));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(above->parent));
	memset(leaf, POISON_FREE, sizeof(*leaf));

	psi_node_change((struct psi_change) { above, 0, cpu }, f->now);
	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	KUNIT_EXPECT_EQ(test, psi_node_states(&f->root), BIT(PSI_NONIDLE));
}

/*
 * Two changes at once, the second of which makes a node count again that the first one
 * has bypassed. The top may be about to follow, at any of these times.
 */
static void following_ends_on_the_way(struct kunit *test)
{
	const u8 run = psi_task_contrib(CPU), wait = psi_task_contrib(RUN);
	static struct psi_node top, middle, aside, leaf[2];
	int turns, i;
	u8 now, then;

	for (turns = 0; turns < 40; turns++) {
		psi_node_init(&top, NULL);
		psi_node_init(&aside, &top);
		psi_node_init(&middle, &top);
		psi_node_init(&leaf[0], &middle);
		psi_node_init(&leaf[1], &middle);

		/* Both follow, and then the top not any more. */
		for (i = 0; i < ENOUGH; i++)
			psi_node_change((struct psi_change) {
				&leaf[0], i % 2 ? run : 0, i % 2 ? 0 : run }, 1);
		psi_node_change((struct psi_change) { &aside, 0, wait }, 2);
		psi_node_change((struct psi_change) { &aside, wait, 0 }, 2);

		now = turns % 2 ? run : wait;
		psi_node_change((struct psi_change) { &leaf[0], 0, now }, 3);
		for (i = 0; i < turns / 2; i++, now = then) {
			then = now == run ? wait : run;
			psi_node_change((struct psi_change) { &leaf[0], now, then }, 3);
		}

		then = now == run ? wait : run;
		psi_node_switch((struct psi_change) { &leaf[0], now, then },
				(struct psi_change) { &leaf[1], 0, wait }, 4);
		psi_node_change((struct psi_change) { &leaf[0], then, 0 }, 5);
		psi_node_change((struct psi_change) { &leaf[1], wait, 0 }, 6);
		KUNIT_EXPECT_EQ(test, psi_node_states(&middle), 0);
		KUNIT_EXPECT_EQ(test, psi_node_states(&top), 0);
	}
}

/* however deep a tree is, walks along a chain are short. */
static void chains_are_short(struct kunit *test)
{
	const int deep = 400;
	const u8 run = psi_task_contrib(CPU);
	int i, length, following = 0, longest = 0;
	struct psi_node *node, *n;
	u32 times[PSI_NR_STATES];

	node = kunit_kcalloc(test, deep, sizeof(*node), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, node);
	for (i = 0; i < deep; i++)
		psi_node_init(&node[i], i ? &node[i - 1] : NULL);

	/* From the end of the chain, later from a place higher up, and from the end again. */
	for (i = 0; i < 3000; i++) {
		n = &node[i < 1000 || i >= 2000 ? deep - 1 : deep / 2];
		psi_node_change((struct psi_change) { n, 0, run }, 20 * i);
		psi_node_change((struct psi_change) { n, run, 0 }, 20 * i + 10);
	}

	for (i = 0; i < deep; i++) {
		for (n = &node[i], length = 0; psi_node_follows(n); n = psi_node_followed(n))
			length++;
		longest = max(longest, length);
		following += length > 0;
		psi_node_times(&node[i], 20 * 3000, times);
		KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], i <= deep / 2 ? 30000 : 20000);
	}
	KUNIT_EXPECT_LE(test, longest, 64);
	KUNIT_EXPECT_GT(test, following, deep * 9 / 10);
}

/* Two nodes that take turns are not followed: that would be more work. */
static void alternating_groups_are_not_followed(struct kunit *test)
{
	const u8 run = psi_task_contrib(CPU);
	struct forks *f = plant(test, false);
	int i;

	psi_node_change((struct psi_change) { f->leaf[0], run, 0 }, 1);
	for (i = 0; i < ENOUGH; i++) {
		psi_node_change((struct psi_change) { f->leaf[i % 2], 0, run }, 2 * i);
		psi_node_change((struct psi_change) { f->leaf[i % 2], run, 0 }, 2 * i + 1);
		KUNIT_EXPECT_FALSE(test, psi_node_follows(&f->root));
	}
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_EQ(test, count_following(f, 1), DEEP - 1);
}

/* groups whose cpu.max is used up follow, and are followed, like all others. */
static void groups_that_are_held_back_are_followed(struct kunit *test)
{
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	const u8 throttled = psi_task_contrib(THROTTLED);
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0];
	u32 times[PSI_NR_STATES];
	int i;

	/* 10 units on the CPU, 5 throttled, 5 in contention. */
	for (i = 0; i < ENOUGH; i++) {
		psi_node_change((struct psi_change) { leaf, cpu, throttled }, f->now += 10);
		psi_node_change((struct psi_change) { leaf, throttled, run }, f->now += 5);
		psi_node_change((struct psi_change) { leaf, run, cpu }, f->now += 5);
	}
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	for (i = 0; i < DEEP; i++) {
		psi_node_times(&f->chain[0][i], f->now, times);
		KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], 20 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_FULL], 10 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 5 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 5 * ENOUGH);
	}
}

/* Further down than a node can tell its level. */
static void very_deep_trees_count_right(struct kunit *test)
{
	const int deep = 300, fork = 280;
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	u32 times[PSI_NR_STATES], waits;
	struct psi_node *node, *leaf[2];
	int i;

	/* A chain, and a second leaf that branches off where levels are the same. */
	node = kunit_kcalloc(test, deep + 1, sizeof(*node), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, node);
	for (i = 0; i < deep; i++)
		psi_node_init(&node[i], i ? &node[i - 1] : NULL);
	psi_node_init(&node[deep], &node[fork]);
	leaf[0] = &node[deep - 1];
	leaf[1] = &node[deep];

	/* Two tasks take turns, 100 units each; the first begins. */
	psi_node_change((struct psi_change) { leaf[0], 0, cpu }, 100);
	psi_node_change((struct psi_change) { leaf[1], 0, run }, 100);
	for (i = 0; i < 99; i++)
		psi_node_switch((struct psi_change) { leaf[i % 2], cpu, run },
				(struct psi_change) { leaf[!(i % 2)], run, cpu },
				200 + 100 * i);

	for (i = 0; i <= deep; i++) {
		psi_node_times(&node[i], 10100, times);
		waits = i <= fork ? 10000 : 5000;
		KUNIT_EXPECT_EQ(test, psi_node_count(&node[i], PSI_COUNT_PRODUCTIVE),
				i == fork ? 2 : 1);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_SOME], waits);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_FULL], i <= fork ? 0 : waits);
	}
}

static struct kunit_case psi_follow_cases[] = {
	KUNIT_CASE(groups_that_are_held_back_are_followed),
	KUNIT_CASE(one_busy_group_is_followed),
	KUNIT_CASE(two_busy_groups_meet_once),
	KUNIT_CASE(a_trigger_ends_following),
	KUNIT_CASE(a_followed_group_can_go),
	KUNIT_CASE(following_ends_on_the_way),
	KUNIT_CASE(a_first_stall_is_told),
	KUNIT_CASE(a_first_stall_is_told_by_who_counts_again),
	KUNIT_CASE(a_first_stall_is_told_of_who_follows_now),
	KUNIT_CASE(a_first_stall_is_told_beside_a_trigger),
	KUNIT_CASE(chains_are_short),
	KUNIT_CASE(alternating_groups_are_not_followed),
	KUNIT_CASE(very_deep_trees_count_right),
	{ }
};

static struct kunit_suite psi_follow_suite = {
	.name = "psi_follow",
	.test_cases = psi_follow_cases,
};

kunit_test_suite(psi_follow_suite);

MODULE_DESCRIPTION("Pressure stall information: nodes that follow");
MODULE_LICENSE("GPL");
