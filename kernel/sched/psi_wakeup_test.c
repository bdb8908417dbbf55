// SPDX-License-Identifier: GPL-2.0
/* KUnit test of psi_hooks.c: how long does a task wait that has been woken? */
#include <kunit/test.h>
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

/* It is in a group of its own, and sleeps whenever it has the CPU. */
static int sleeps(void *group)
{
	psi_move_task(current, group);
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	psi_move_task(current, &psi_system);
	return 0;
}

/* Return: for how long the task could not have the CPU that it was woken on, ns. */
static u64 wake_and_keep_cpu(struct task_struct *p)
{
	u64 begun;

	guard(preempt)();
	begun = local_clock();
	wake_up_process(p);
	mdelay(BUSY_MS);
	return local_clock() - begun;
}

/*
 * a task that preempts has waited until the other one is off the CPU. Left to itself, the
 * scheduler goes by the time of the wakeup.
 */
static void waits_to_preempt(struct kunit *test)
{
	int i, cpu = cpumask_first(cpu_online_mask);
	u64 waited = 0, total, when;
	struct psi_group *group;
	struct task_struct *p;

	if (!static_key_enabled(&psi_enabled))
		kunit_skip(test, "PSI is off");
	group = psi_group_alloc(&psi_system);
	KUNIT_ASSERT_NOT_NULL(test, group);
	p = kthread_create(sleeps, group, "psi_woken");
	KUNIT_ASSERT_FALSE(test, IS_ERR(p));
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	kthread_bind(p, cpu);
	sched_set_fifo_low(p);
	wake_up_process(p);
	msleep(20);

	total = psi_group_total(group, PSI_CPU_SOME, &when);
	for (i = 0; i < WAKEUPS; i++) {
		waited += wake_and_keep_cpu(p);
		usleep_range(500, 1500);
	}
	total = psi_group_total(group, PSI_CPU_SOME, &when) - total;
	kunit_info(test, "waited for %llu ns, total %llu ns\n", waited, total);
	KUNIT_EXPECT_GE(test, total, waited - waited / 50);
	KUNIT_EXPECT_LE(test, total, waited + waited / 50);

	kthread_stop(p);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	psi_group_free(group);
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
