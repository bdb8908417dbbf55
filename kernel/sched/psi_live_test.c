// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of psi.c in the running system.
 *
 * psi.c is told of events; this looks at the facts. With all CPUs stopped, what
 * each task contributes must follow from the fields that the scheduler itself
 * goes by, and what each CPU's node has counted must be the sum over the tasks.
 * Threads that sleep, wait for io, stall, migrate, change their class and die in
 * a stall make sure that there is something to see, and CPUs come and go.
 *
 * In the guest it can be repeated under any load:
 *	echo 1 > /sys/kernel/debug/kunit/psi_live/run
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/psi.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <uapi/linux/sched/types.h>

#include "sched.h"
#include "psi_avgs.h"
#include "psi_hooks.h"

struct cpu_view {
	u32	count[PSI_NR_COUNTS];
	u8	single;
};

/* A thread that makes something to see, and what only it knows. */
struct churn {
	struct task_struct	*thread;
	enum { UNSURE, STALLED, NOT_STALLED } memory;
};

struct look {
	struct cpu_view	*cpu;		/* nr_cpu_ids of them */
	struct churn	*churn;
	int		nr_churn;
	unsigned int	tasks;
	unsigned int	counted;	/* tasks that contribute anything */
	unsigned int	wrong_tasks;
	unsigned int	wrong_cpus;
	char		what[128];	/* the last thing that was wrong */
};

/* What the task should contribute, from the scheduler's own fields. */
static u8 bits_by_facts(struct task_struct *p)
{
	u8 state = p->psi.state & (PSI_TASK_MEMSTALL | PSI_TASK_EXEMPT);

	if (task_on_rq_queued(p) && !p->se.sched_delayed)
		state |= PSI_TASK_RUNNABLE;
	else if (p->in_iowait)
		state |= PSI_TASK_IOWAIT;
	if (task_on_cpu(task_rq(p), p))
		state |= PSI_TASK_ONCPU;

	return psi_task_bits(state);
}

static void look_at_task(struct look *look, struct task_struct *p)
{
	u8 bits = p->psi.counted;
	struct cpu_view *view = &look->cpu[task_cpu(p)];
	int bit;

	look->tasks++;
	look->counted += !!bits;
	for (bit = 0; bit < PSI_NR_COUNTS; bit++)
		view->count[bit] += !!(bits & BIT(bit));
	view->single |= bits & PSI_SINGLE_BITS;

	/* A wakeup that is on its way may already have been taken off its CPU. */
	if (READ_ONCE(p->__state) == TASK_WAKING)
		return;

	if (bits != bits_by_facts(p) ||
	    (bits && p->psi.node != per_cpu_ptr(psi_system.nodes, task_cpu(p)))) {
		look->wrong_tasks++;
		snprintf(look->what, sizeof(look->what),
			 "%s/%d on CPU %d counts %02x, is %02x (state %02x)",
			 p->comm, p->pid, task_cpu(p), bits, bits_by_facts(p),
			 p->psi.state);
	}
}

/* A thread knows whether it is in a memory stall section. */
static void look_at_churn(struct look *look, struct churn *churn)
{
	bool stalled = churn->thread->psi.state & PSI_TASK_MEMSTALL;

	if (churn->memory == UNSURE || churn->memory == (stalled ? STALLED : NOT_STALLED))
		return;

	look->wrong_tasks++;
	snprintf(look->what, sizeof(look->what), "%s: stalled is %d",
		 churn->thread->comm, stalled);
}

static void look_at_cpu(struct look *look, int cpu)
{
	struct psi_node *node = per_cpu_ptr(psi_system.nodes, cpu);
	struct cpu_view *view = &look->cpu[cpu];

	if (!memcmp(node->count, view->count, sizeof(node->count)) &&
	    (node->bits & PSI_SINGLE_BITS) == view->single)
		return;

	look->wrong_cpus++;
	snprintf(look->what, sizeof(look->what),
		 "CPU %d counts io %u mem %u prod %u wait %u, has %u %u %u %u", cpu,
		 node->count[0], node->count[1], node->count[2], node->count[3],
		 view->count[0], view->count[1], view->count[2], view->count[3]);
}

/* All other CPUs spin with interrupts off: nobody is in the middle of anything. */
static int look_around(void *arg)
{
	struct look *look = arg;
	struct task_struct *g, *p;
	int cpu, i;

	for_each_process_thread(g, p)
		look_at_task(look, p);
	for (i = 0; i < look->nr_churn; i++)
		look_at_churn(look, &look->churn[i]);
	for_each_possible_cpu(cpu)
		look_at_cpu(look, cpu);
	return 0;
}

static bool take_a_look(struct look *look)
{
	look->tasks = 0;
	look->counted = 0;
	look->wrong_tasks = 0;
	look->wrong_cpus = 0;
	memset(look->cpu, 0, nr_cpu_ids * sizeof(*look->cpu));
	stop_machine(look_around, look, NULL);
	return !look->wrong_tasks && !look->wrong_cpus;
}

static void stall(struct churn *churn, void (*work)(void))
{
	unsigned long flags;

	WRITE_ONCE(churn->memory, UNSURE);
	psi_memstall_enter(&flags);
	WRITE_ONCE(churn->memory, STALLED);
	work();
	WRITE_ONCE(churn->memory, UNSURE);
	psi_memstall_leave(&flags);
	WRITE_ONCE(churn->memory, NOT_STALLED);
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

/* One thread's life: a bit of everything that PSI is told of. */
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
			set_cpus_allowed_ptr(current,
					     get_random_u32_below(4) ? cpu_possible_mask :
					     cpumask_of(cpumask_any_distribute(cpu_online_mask)));
			break;
		default:
			doze();
			break;
		}
	}
	return 0;
}

/* One that dies as if by an oops: inside the section. */
static int doomed_thread(void *unused)
{
	unsigned long flags;

	psi_memstall_enter(&flags);
	return 0;
}

/* Change nice and class, in whatever state the task is. */
static void bother(struct task_struct *p)
{
	/* Less runtime than work() wants: throttled most of the time. */
	struct sched_attr deadline = {
		.size		= sizeof(deadline),
		.sched_policy	= SCHED_DEADLINE,
		.sched_runtime	= 50 * NSEC_PER_USEC,
		.sched_deadline	= 5 * NSEC_PER_MSEC,
		.sched_period	= 5 * NSEC_PER_MSEC,
	};

	switch (get_random_u32_below(4)) {
	case 0:
		sched_set_fifo_low(p);
		break;
	case 1:
		/* Refused if it may not run everywhere; then it may not. */
		sched_setattr_nocheck(p, &deadline);
		break;
	default:
		sched_set_normal(p, (int)get_random_u32_below(40) - 20);
		break;
	}
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

static void counts_match_the_facts(struct kunit *test)
{
	int nr = 3 * num_online_cpus() + 2, i, n, bad;
	struct look look = { };
	unsigned int most = 0;
	bool cpu_off = false;

	if (!static_branch_unlikely(&psi_enabled))
		kunit_skip(test, "psi=0");

	look.churn = kunit_kcalloc(test, nr, sizeof(*look.churn), GFP_KERNEL);
	look.cpu = kunit_kcalloc(test, nr_cpu_ids, sizeof(*look.cpu), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, look.churn);
	KUNIT_ASSERT_NOT_NULL(test, look.cpu);

	for (; look.nr_churn < nr; look.nr_churn++) {
		struct churn *churn = &look.churn[look.nr_churn];

		churn->thread = kthread_run(churn_thread, churn, "psi_churn/%d",
					    look.nr_churn);
		if (IS_ERR(churn->thread))
			break;
	}
	KUNIT_EXPECT_EQ(test, look.nr_churn, nr);

	for (n = 0; n < 100; n++) {
		for (i = 0; i < look.nr_churn; i++)
			if (!get_random_u32_below(8))
				bother(look.churn[i].thread);
		kthread_run(doomed_thread, NULL, "psi_doomed");
		if (n % 10 == 5)
			toggle_cpu(&cpu_off);
		usleep_range(1000, 10000);

		/*
		 * A task that exits is still counted when it is on no list any
		 * more. That is soon over; a wrong count stays.
		 */
		for (bad = 0; bad < 3 && !take_a_look(&look); bad++)
			msleep(20);
		KUNIT_EXPECT_LT_MSG(test, bad, 3, "%u tasks, %u CPUs wrong: %s",
				    look.wrong_tasks, look.wrong_cpus, look.what);
		most = max(most, look.counted);
		if (bad == 3)
			break;
	}

	/* Seeing nothing proves nothing. */
	KUNIT_EXPECT_GT(test, most, 1);
	kunit_info(test, "%d looks, %u tasks, up to %u of them counted\n", n,
		   look.tasks, most);

	if (cpu_off)
		toggle_cpu(&cpu_off);
	for (i = 0; i < look.nr_churn; i++) {
		/* One that is throttled would take its time to hear of it. */
		sched_set_normal(look.churn[i].thread, 0);
		kthread_stop(look.churn[i].thread);
	}
}

static struct kunit_case psi_live_cases[] = {
	KUNIT_CASE_SLOW(counts_match_the_facts),
	{ }
};

static struct kunit_suite psi_live_suite = {
	.name = "psi_live",
	.test_cases = psi_live_cases,
};

kunit_test_suite(psi_live_suite);

MODULE_DESCRIPTION("Pressure stall information: the hooks against the facts");
MODULE_LICENSE("GPL");
