// SPDX-License-Identifier: GPL-2.0
/* KUnit test of psi_hooks.c: how long does a task wait that has been woken? */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "psi_avgs.h"
#include "psi_cpu.h"

#define WAKEUPS		40
#define BUSY_MS		3	/* a tick in between updates all clocks */

/**
 * struct sleeper - a thread that sleeps whenever it has the CPU
 * @group: of its own
 * @ran:   when it has had the CPU last, ns
 * @least: for how long it certainly had to wait for that, in all, ns
 * @most:  the same with all that there is before and after, ns
 */
struct sleeper {
	struct psi_group	*group;
	u64			ran;
	u64			least;
	u64			most;
};

static int sleeps(void *arg)
{
	struct sleeper *s = arg;

	psi_move_task(current, s->group);
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		s->ran = local_clock();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	psi_move_task(current, &psi_system);
	return 0;
}

/* It is woken here, but cannot have the CPU for a while. */
static void wake_and_keep_cpu(struct task_struct *p, struct sleeper *s)
{
	u64 begun, woken;

	scoped_guard(preempt) {
		begun = local_clock();
		wake_up_process(p);
		woken = local_clock();
		mdelay(BUSY_MS);
		s->least += local_clock() - woken;
	}
	usleep_range(500, 1500);	/* meanwhile it has had it */
	s->most += s->ran - begun;
}

/*
 * a task that preempts has waited until the other one is off the CPU. Left to itself, the
 * scheduler goes by the time of the wakeup.
 */
static void waits_to_preempt(struct kunit *test)
{
	int i, cpu = cpumask_first(cpu_online_mask);
	u64 total, when, units = WAKEUPS << PSI_UNIT_SHIFT;
	struct sleeper s = { };
	struct task_struct *p;

	if (!static_key_enabled(&psi_enabled))
		kunit_skip(test, "PSI is off");
	s.group = psi_group_alloc(&psi_system);
	KUNIT_ASSERT_NOT_NULL(test, s.group);
	p = kthread_create(sleeps, &s, "psi_woken");
	KUNIT_ASSERT_FALSE(test, IS_ERR(p));
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	kthread_bind(p, cpu);
	sched_set_fifo_low(p);
	wake_up_process(p);
	msleep(20);

	total = psi_group_total(s.group, PSI_CPU_SOME, &when);
	for (i = 0; i < WAKEUPS; i++)
		wake_and_keep_cpu(p, &s);
	total = psi_group_total(s.group, PSI_CPU_SOME, &when) - total;
	kunit_info(test, "waited for %llu to %llu ns, total %llu\n", s.least, s.most, total);
	KUNIT_EXPECT_GE(test, total + units, s.least);
	KUNIT_EXPECT_LE(test, total, s.most + units);

	kthread_stop(p);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	psi_group_free(s.group);
}

static struct kunit_case wakeup_cases[] = {
	KUNIT_CASE(waits_to_preempt),
	{ }
};

static struct kunit_suite wakeup_suite = {
	.name = "psi_wakeup",
	.test_cases = wakeup_cases,
};

kunit_test_suite(wakeup_suite);
