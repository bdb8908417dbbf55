// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of psi.c in the running system.
 *
 * Threads sleep, wait for io, stall, migrate, change their class, move between groups and die
 * in a stall; CPUs come and go, and groups are switched off and on. Meanwhile psi_debug.c
 * checks again and again that the counts agree with the scheduler's own fields.
 *
 * In the guest it can be repeated under any load, also with cgroups:
 *	echo 1 > /sys/kernel/debug/kunit/psi_live/run
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/psi.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>

#include "sched.h"
#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_debug.h"

#define NR_OWN		6	/* groups of the test, besides the cgroups */

/* A thread to be watched, and what only it knows. */
struct churn {
	struct task_struct	*thread;
	int			own;	/* which of the test's groups, or -1 */
	bool			wrong;	/* is it in a stall? */
};

struct live {
	struct psi_group *own[NR_OWN];
	struct churn	*churn;
	int		nr_churn;
};

/* The test's groups: 0 and 4 below the system, 1, 2 and 3 a chain below 0. */
static int own_parent(int i)
{
	static const int parent[NR_OWN] = { -1, 0, 1, 2, -1, 4 };

	return parent[i];
}

/* Only the task itself knows. */
static void expect_stalled(struct churn *churn, bool stalled)
{
	if (stalled != !!(READ_ONCE(current->psi.flags) & PSI_TASK_MEMSTALL))
		WRITE_ONCE(churn->wrong, true);
}

static void stall(struct churn *churn, void (*work)(void))
{
	unsigned long flags;

	expect_stalled(churn, false);
	psi_memstall_enter(&flags);
	expect_stalled(churn, true);
	work();
	expect_stalled(churn, true);
	psi_memstall_leave(&flags);
	expect_stalled(churn, false);
}

static void work(void)
{
	udelay(get_random_u32_below(200));
	cond_resched();
}

static void doze(void)
{
	usleep_range(50, 500);
}

static void wait_for_io(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	io_schedule_timeout(1);
}

static int random_cpu(void)
{
	guard(preempt)();
	return cpumask_any_distribute(cpu_online_mask);
}

/* A thread's life: a bit of everything that is reported to PSI. */
static int churn_thread(void *arg)
{
	struct churn *churn = arg;

	while (!kthread_should_stop()) {
		switch (get_random_u32_below(8)) {
		case 0:
		case 1:
			work();
			break;
		case 2:
			wait_for_io();
			break;
		case 3:
			stall(churn, work);
			break;
		case 4:
			stall(churn, doze);
			break;
		case 5:
			stall(churn, wait_for_io);
			break;
		case 6:
			set_cpus_allowed_ptr(current, get_random_u32_below(4) ?
					     cpu_possible_mask : cpumask_of(random_cpu()));
			break;
		default:
			doze();
			break;
		}
	}
	return 0;
}

/* A thread that dies as if by an oops: inside the section. */
static int doomed_thread(void *unused)
{
	unsigned long flags;

	psi_memstall_enter(&flags);
	return 0;
}

/*
 * 6.12's deadline class itself has trouble with PREEMPT_RT at any time, and when CPUs go
 * away: it divides by zero if a task leaves the class while its CPU is off. So they take
 * turns.
 */
#define HAVE_DEADLINES		(!IS_ENABLED(CONFIG_PREEMPT_RT))

/* Change nice and class, in whatever state the task is. */
static void bother(struct task_struct *p, bool deadlines)
{
	/* Less runtime than work() wants: throttled most of the time. */
	struct sched_attr deadline = {
		.size		= sizeof(deadline),
		.sched_policy	= SCHED_DEADLINE,
		.sched_runtime	= 50 * NSEC_PER_USEC,
		.sched_deadline	= 5ULL * NSEC_PER_MSEC,
		.sched_period	= 5ULL * NSEC_PER_MSEC,
	};

	switch (get_random_u32_below(4)) {
	case 0:
		sched_set_fifo_low(p);
		break;
	case 1:
		/* Refused if the task may not run everywhere. That is fine, too. */
		if (deadlines)
			sched_setattr_nocheck(p, &deadline);
		break;
	default:
		sched_set_normal(p, (int)get_random_u32_below(40) - 20);
		break;
	}
}

static struct psi_group *above(struct live *live, int i)
{
	return own_parent(i) < 0 ? &psi_system : live->own[own_parent(i)];
}

static void move_thread(struct live *live, struct churn *churn)
{
	churn->own = (int)get_random_u32_below(NR_OWN + 1) - 1;
	psi_move_task(churn->thread, churn->own < 0 ? &psi_system :
						      live->own[churn->own]);
}

/* Switch a group off or on; the callees find out what changes. */
static void turn_switch(struct live *live, int which)
{
	bool on = !psi_group_is_on(live->own[which]);
	int i;

	psi_debug_switch_begin();

	for (i = which; i < NR_OWN; i++) {
		if (i == which ? on : psi_group_is_on(live->own[i]))
			WRITE_ONCE(live->own[i]->acct_group, live->own[i]);
		else
			WRITE_ONCE(live->own[i]->acct_group, above(live, i)->acct_group);
	}
	for (i = 0; i < NR_OWN; i++)
		psi_set_parents(&live->own[i], 1, above(live, i)->acct_group);
	for (i = 0; i < live->nr_churn; i++)
		psi_recount_task(live->churn[i].thread);
	psi_debug_switch_end();
}

/* Take the last CPU away, or bring it back. */
static void toggle_cpu(bool *off)
{
	int cpu = nr_cpu_ids - 1;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || num_possible_cpus() == 1)
		return;
	if (!(*off ? add_cpu(cpu) : remove_cpu(cpu)))
		*off = !*off;
}

#define LOOKS	100

static void counts_match_the_facts(struct kunit *test)
{
	int nr = 3 * num_online_cpus() + 2, i, n;
	struct psi_debug_seen before, seen;
	struct live *live;
	struct psi_stall stalls[2];
	const char *wrong;
	bool cpu_off = false, deadlines;

	if (!static_branch_unlikely(&psi_enabled))
		kunit_skip(test, "psi=0");

	live = kunit_kzalloc(test, sizeof(*live), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, live);
	live->churn = kunit_kcalloc(test, nr, sizeof(*live->churn), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, live->churn);

	for (i = 0; i < NR_OWN; i++) {
		live->own[i] = psi_group_alloc(above(live, i));
		KUNIT_ASSERT_NOT_NULL(test, live->own[i]);
	}

	for (; live->nr_churn < nr; live->nr_churn++) {
		struct churn *churn = &live->churn[live->nr_churn];

		churn->thread = kthread_run(churn_thread, churn, "psi_churn/%d",
					    live->nr_churn);
		if (IS_ERR(churn->thread))
			break;
	}
	KUNIT_EXPECT_EQ(test, live->nr_churn, nr);

	wrong = psi_debug_check(&before);
	for (n = 0; n < LOOKS && !wrong; n++) {
		deadlines = HAVE_DEADLINES && n < LOOKS / 2;
		for (i = 0; i < live->nr_churn; i++) {
			if (n == LOOKS / 2)
				sched_set_normal(live->churn[i].thread, 0);
			if (!get_random_u32_below(8))
				bother(live->churn[i].thread, deadlines);
			if (!get_random_u32_below(2))
				move_thread(live, &live->churn[i]);
		}
		if (n % 4 == 3)
			turn_switch(live, get_random_u32_below(NR_OWN));
		kthread_run(doomed_thread, NULL, "psi_doomed");
		if (n > LOOKS / 2 && n % 5 == 0)
			toggle_cpu(&cpu_off);
		usleep_range(1000, 10000);

		wrong = psi_debug_check(&seen);
	}
	KUNIT_EXPECT_NULL_MSG(test, wrong, "%s", wrong);

	/* A check that has seen nothing proves nothing. */
	if (!wrong) {
		KUNIT_EXPECT_GT(test, seen.checks, before.checks + LOOKS / 2);
		KUNIT_EXPECT_GT(test, seen.tasks, before.tasks + LOOKS / 2);
		KUNIT_EXPECT_GT(test, seen.following, before.following);
		kunit_info(test, "%lu checks, %lu tasks counted, %lu nodes following\n",
			   seen.checks - before.checks, seen.tasks - before.tasks,
			   seen.following - before.following);
	}

	if (cpu_off)
		toggle_cpu(&cpu_off);
	for (i = 0; i < live->nr_churn; i++) {
		/* A throttled thread would take its time to notice. */
		sched_set_normal(live->churn[i].thread, 0);
		psi_move_task(live->churn[i].thread, &psi_system);
		kthread_stop(live->churn[i].thread);
		KUNIT_EXPECT_FALSE(test, live->churn[i].wrong);
	}
	for (i = NR_OWN - 1; i >= 0; i--) {
		/* Somewhere below there were stalls; folding has not lost them. */
		psi_group_read(live->own[i], PSI_MEM, stalls);
		if (psi_group_is_on(live->own[i]))
			KUNIT_EXPECT_GT(test, stalls[0].total, 0);
		psi_group_free(live->own[i]);
	}
}

static int busy_thread(void *unused)
{
	while (!kthread_should_stop())
		cond_resched();
	return 0;
}

/* Return: the CPU where the thread waits for runtime; or -1. */
static int throttle(struct task_struct *p)
{
	struct sched_attr deadline = {
		.size		= sizeof(deadline),
		.sched_policy	= SCHED_DEADLINE,
		.sched_runtime	= NSEC_PER_MSEC,
		.sched_deadline	= 500ULL * NSEC_PER_MSEC,
		.sched_period	= 500ULL * NSEC_PER_MSEC,
	};
	int i;

	/* It may go anywhere again, or it gets no deadline. */
	set_cpus_allowed_ptr(p, cpumask_of(nr_cpu_ids - 1));
	set_cpus_allowed_ptr(p, cpu_possible_mask);
	if (sched_setattr_nocheck(p, &deadline))
		return -1;
	for (i = 0; i < 10 && !p->dl.dl_throttled; i++)
		msleep(20);
	return p->dl.dl_throttled ? (int)task_cpu(p) : -1;
}

/* It moves without being queued, and deadline.c has to report that. */
static void throttled_task_loses_its_cpu(struct kunit *test)
{
	struct psi_debug_seen seen;
	struct task_struct *p;
	const char *wrong;
	int cpu = -1, i;

	if (!static_branch_unlikely(&psi_enabled))
		kunit_skip(test, "psi=0");
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || num_online_cpus() == 1 || !HAVE_DEADLINES ||
	    IS_ENABLED(CONFIG_SCHED_CORE) || !IS_ENABLED(CONFIG_64BIT))
		kunit_skip(test, "no CPU can go away, or not with deadline tasks");

	p = kthread_run(busy_thread, NULL, "psi_throttled");
	KUNIT_ASSERT_FALSE(test, IS_ERR(p));

	/* The first CPU stays. */
	for (i = 0; i < 20 && cpu <= 0; i++) {
		sched_set_normal(p, 0);
		cpu = throttle(p);
	}
	KUNIT_EXPECT_GT(test, cpu, 0);
	if (cpu > 0 && !remove_cpu(cpu)) {
		for (i = 0; i < 50 && task_cpu(p) == cpu; i++)
			msleep(20);
		KUNIT_EXPECT_NE(test, task_cpu(p), cpu);
		wrong = psi_debug_check(&seen);
		KUNIT_EXPECT_NULL_MSG(test, wrong, "%s", wrong);
		add_cpu(cpu);
	}
	sched_set_normal(p, 0);
	kthread_stop(p);
}

static struct kunit_case psi_live_cases[] = {
	KUNIT_CASE_SLOW(counts_match_the_facts),
	KUNIT_CASE_SLOW(throttled_task_loses_its_cpu),
	{ }
};

static struct kunit_suite psi_live_suite = {
	.name = "psi_live",
	.test_cases = psi_live_cases,
};

kunit_test_suite(psi_live_suite);

MODULE_DESCRIPTION("Pressure stall information: the hooks against the facts");
MODULE_LICENSE("GPL");
