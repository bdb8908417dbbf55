// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_cause.c: sections of a task that runs, in groups of its own.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"

#include <trace/events/psi.h>

#define NAP_MS		20
#define NAP_NS		((u64)NAP_MS * NSEC_PER_MSEC)

/* The group that the test runs in, one below that, and one beside it. */
struct place {
	struct task_struct	*task;
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
	at->task = get_task_struct(current);
	psi_move_task(current, at->here);
	return 0;
}

static void leave_there(struct kunit *test)
{
	struct place *at = test->priv;

	if (!at)
		return;
	/* Not current: KUnit calls this from another thread. */
	psi_move_task(at->task, &psi_system);
	put_task_struct(at->task);
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

	psi_memstall_enter_cause(&outer, PSI_CAUSE_BLKCG_THROTTLE);
	psi_memstall_enter_cause(&middle, PSI_CAUSE_SWAPIN);
	psi_memstall_enter(&inner);
	psi_memstall_leave(&inner);
	psi_memstall_leave(&middle);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&outer);
	KUNIT_EXPECT_FALSE(test, is_stalled());

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_BLKCG_THROTTLE).count, 1);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_SWAPIN).count, 0);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_OTHER).count, 0);
}

/* code that names no cause. */
static void section_without_cause(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long flags;

	psi_memstall_enter(&flags);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&flags);

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_OTHER).count, 1);
}

/* reclaim that was asked for is no stall, but a stall nested in it is one. */
static void requested_is_no_stall(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long outer, inner;

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

	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_REQUESTED_RECLAIM).count, 2);
	KUNIT_EXPECT_EQ(test, read_sum(at->here, PSI_CAUSE_DIRECT_RECLAIM).count, 1);
}

/* asked for by a stalled task, it is part of the stall. */
static void requested_within_a_stall(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long outer, inner;

	psi_memstall_enter_cause(&outer, PSI_CAUSE_MEMCG_MAX);
	psi_memstall_enter_cause(&inner, PSI_CAUSE_REQUESTED_RECLAIM);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&inner);
	KUNIT_EXPECT_TRUE(test, is_stalled());
	psi_memstall_leave(&outer);
	KUNIT_EXPECT_FALSE(test, is_stalled());

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

	psi_memstall_enter_cause(&flags, PSI_CAUSE_THRASHING);
	msleep(NAP_MS);
	first = read_sum(at->here, PSI_CAUSE_THRASHING);
	psi_memstall_leave(&flags);
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

	psi_memstall_enter_cause(&flags, PSI_CAUSE_READBACK);
	msleep(NAP_MS);
	psi_move_task(current, at->beside);
	from = read_sum(at->here, PSI_CAUSE_READBACK);
	msleep(NAP_MS);
	psi_memstall_leave(&flags);
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
	psi_memstall_enter_cause(&flags, PSI_CAUSE_READBACK);
	psi_move_task(current, at->beside);
	unregister_trace_psi_stall_end(note_cause, &cause);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, cause, PSI_CAUSE_READBACK);
	psi_memstall_leave(&flags);
}

/* sections that are not left in order do no harm. */
static void left_out_of_order(struct kunit *test)
{
	struct place *at = test->priv;
	unsigned long first, second;

	psi_memstall_enter_cause(&first, PSI_CAUSE_THRASHING);
	psi_memstall_enter_cause(&second, PSI_CAUSE_SWAPIN);
	psi_memstall_leave(&first);
	psi_memstall_leave(&second);
	KUNIT_EXPECT_FALSE(test, is_stalled());
	KUNIT_EXPECT_EQ(test, (int)current->psi.cause, PSI_CAUSE_NONE);
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
	psi_move_task(current, at->here);
	below = read_sum(at->below, PSI_CAUSE_MEMCG_HIGH);

	psi_move_task(current, at->below);
	psi_memstall_enter_cause(&flags, PSI_CAUSE_MEMCG_HIGH);
	msleep(NAP_MS);
	psi_memstall_leave(&flags);
	psi_move_task(current, at->here);
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

kunit_test_suite(live_suite);
