// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the thread that folds.
 *
 * Only this thread, psi_fold, folds the times of CPUs into totals and averages. The
 * periods of all groups end together, at fixed times, and it comes soon after that. If a
 * period ended at about the time of the fold, one fold would be too early for it, and the
 * next one late by a whole period.
 *
 * The times of CPUs over two seconds do not say how many were busy at once, nor whether
 * that was when something stalled. So with several CPUs, the thread samples forty times a
 * second how many are busy, in groups that have stalled in the last period or begin to in
 * this one. The moments follow from the clock alone, at irregular intervals, as loads may
 * have regular ones. At first each sample is a fold as well, later every other one, as a
 * group may change within a period, and fewer where there are many CPUs to visit. Five
 * samples a second do for a group that stalls so little that they hardly matter (PSI_DOUBT_NS),
 * or in which some CPU is always busy; if there are no others, the thread wakes up no more often.
 *
 * What is not active costs nothing: a fold visits the CPUs on which something has happened in
 * the group, and the thread the groups that have such CPUs. Without any it has no timer.
 *
 * psi.c calls down to psi_group_activate() and psi_group_stalled(). This file calls down
 * to psi_avgs.c, and reaches nodes and runqueues by psi_cpu.h.
 *
 * Locking: the thread owns psi_group::fold and psi_node::folded, and writes them under
 * psi_group::seq, a few CPUs at a time. psi_fold_lock (may sleep) protects the lists of groups
 * and what is in them; a group cannot be freed while it is held. It is never held for longer
 * than it takes to fold one group. Order: psi_fold_lock, rq lock.
 */
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>
#include <linux/sysctl.h>

#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_trigger.h"

/* kernel.psi_interval_weights: take the usual sum, from the next period on */
static u8 psi_interval_weights;

/* ------------------------------ The fold ------------------------------ */

/* CPUs per section with preemption off. */
#define PSI_FOLD_CPUS	16

enum fold_why { FOLD_PERIOD, FOLD_SAMPLE };

/*
 * At the end of a period an idle CPU drops out. But if something has happened there, in a
 * group that is active in each period, it will be back soon, and to fold it is cheaper.
 * Return: true if it is busy.
 */
static bool fold_cpu(struct psi_group *group, int cpu, enum fold_why why)
{
	struct psi_node *node = per_cpu_ptr(group->nodes, cpu);
	u32 times[PSI_NR_STATES], grown, left;
	u16 states;

	states = psi_cpu_times(node, cpu, times);
	grown = psi_growth(node->folded, times, PSI_ALL_STATES);
	if (grown)
		psi_sum_add(&group->fold.sum, times, grown);
	for (left = grown; left; left &= left - 1)
		node->folded[__ffs(left)] += times[__ffs(left)];
	if (unlikely(READ_ONCE(node->flags) & PSI_NODE_MISCOUNTED))
		pr_warn_once("psi: CPU %d: a count of cgroup %llu fell below zero\n", cpu,
			     group->id);
	if (why == FOLD_PERIOD && !states && !(grown && group->steady))
		psi_cpu_idle(node, cpu);
	return states;
}

/* Readers that meet it retry, so it has to be short. */
static void change_begin(struct psi_group *group)
{
	preempt_disable();
	write_seqcount_begin(&group->seq);
}

static void change_end(struct psi_group *group)
{
	write_seqcount_end(&group->seq);
	preempt_enable();
}

static void group_fold(struct psi_group *group, enum fold_why why)
{
	int cpu = cpumask_first(group->active), n;
	struct psi_fold *fold = &group->fold;
	unsigned int busy = 0;

	do {
		change_begin(group);
		for (n = 0; n < PSI_FOLD_CPUS && cpu < nr_cpu_ids; n++) {
			busy += fold_cpu(group, cpu, why);
			cpu = cpumask_next(cpu, group->active);
		}
		if (cpu >= nr_cpu_ids) {
			if (why == FOLD_SAMPLE)
				psi_fold_sample(fold, busy);
			/* Clocks of two CPUs may be in the wrong order. */
			psi_fold_end(fold, max(local_clock(), fold->at));
			fold->sum.weighted = READ_ONCE(psi_interval_weights);
		}
		change_end(group);
		cond_resched();
	} while (cpu < nr_cpu_ids);
}

static void group_sample(struct psi_group *group, u64 now)
{
	unsigned int busy = 0;
	int cpu;

	if (psi_sample_is_rare(&group->fold) ||
	    psi_sample_is_fold(&group->fold, atomic_read(&group->nr_active), now,
			       (group->id % 2) * PSI_SAMPLE_NS)) {
		group_fold(group, FOLD_SAMPLE);
		return;
	}
	for_each_cpu(cpu, group->active)
		busy += psi_cpu_is_busy(per_cpu_ptr(group->nodes, cpu), cpu);
	change_begin(group);
	psi_fold_sample(&group->fold, busy);
	change_end(group);
}

/* ----------------------------- What to fold ----------------------------- */

/*
 * A node that is not idle has its CPU in its group's @active, and such a group is queued:
 * in the thread's list, or in psi_fold_pending on the way there. The node notifies
 * (psi_node::notify) when it leaves idleness. Only the thread takes back what is idle,
 * when its turn comes:
 *
 *  - a CPU under its rq lock, together with making the node notify,
 *  - a group in unqueue(),
 *  - the timer if no group is in the list. Adding one to an empty psi_fold_pending starts
 *    it, unless it is queued for no later time.
 *
 * The thread is exempt from accounting: neither its wakeup nor its sleep is a change, and
 * a system in which nothing else happens stays without a timer.
 */
static LLIST_HEAD(psi_fold_pending);
static LLIST_HEAD(psi_sample_pending);
static LIST_HEAD(psi_fold_list);	/* psi_fold_lock */
static LIST_HEAD(psi_fold_round);	/* psi_fold_lock; left in this round */
static LIST_HEAD(psi_sample_list);	/* psi_fold_lock; to be sampled */
static LIST_HEAD(psi_rare_list);	/* psi_fold_lock; the same, rarely */
static LIST_HEAD(psi_sample_round);	/* psi_fold_lock; left at this moment */
static DEFINE_MUTEX(psi_fold_lock);	/* those lists; keeps groups alive */

/* Hard, because ksoftirqd, which may have to run for a soft one, would be activity. */
static struct hrtimer psi_fold_timer;	/* the end of a period */
static struct hrtimer psi_sample_timer;	/* a sample in between */
static struct task_struct *psi_fold_task;
static bool psi_fold_fired;
static bool psi_sample_fired;

static enum hrtimer_restart psi_fold_timer_fn(struct hrtimer *unused)
{
	/* Pairs with llist_add(): a caller that finds this timer queued has added its group. */
	smp_mb();
	WRITE_ONCE(psi_fold_fired, true);
	wake_up_process(psi_fold_task);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart psi_sample_timer_fn(struct hrtimer *timer)
{
	WRITE_ONCE(psi_sample_fired, true);
	return psi_fold_timer_fn(timer);
}

/* When the first period of all groups began, local_clock(), ns; set once. */
u64 psi_periods_begin;

static u32 psi_period;		/* the one that has begun with this round */

/* Wake up that much after the end of a period, as clocks do not run alike. */
#define PSI_SLACK_NS	NSEC_PER_MSEC

static u64 until_due(void)
{
	u64 past;

	div64_u64_rem(local_clock() - psi_periods_begin, PSI_PERIOD_NS, &past);
	return PSI_PERIOD_NS - past + PSI_SLACK_NS;
}

/* Groups that are sampled at a moment, and at a rare one; the others are next. */
#define PSI_SAMPLES_MAX		100
#define PSI_RARE_SAMPLES_MAX	(8 * PSI_SAMPLES_MAX)

static u64 psi_rare_at;		/* next rare moment, local_clock(), ns */

/* Each @step ns has one moment, at a pseudo-random place. Return: that of the next ones. */
static u64 next_sample(u64 now, u64 step)
{
	u64 next = div64_u64(now, step) + 1;

	return next * step + mul_u64_u32_shr(step, hash_64(next, 32), 32);
}

static u64 until_sample(void)
{
	u64 now = local_clock();

	return next_sample(now, PSI_SAMPLE_NS) - now;
}

static void start_timer(struct hrtimer *timer, u64 ns)
{
	hrtimer_start(timer, ns_to_ktime(ns), HRTIMER_MODE_REL_HARD);
}

static void start_if_later(struct hrtimer *timer, u64 ns)
{
	/*
	 * If the timer is queued for about then, the thread will find what is pending.
	 * Before there is a thread there is no need: it begins with a fold.
	 */
	if (smp_load_acquire(&psi_fold_task) &&
	    (!hrtimer_is_queued(timer) ||
	     hrtimer_get_remaining(timer) > (s64)(ns + PSI_SLACK_NS)))
		start_timer(timer, ns);
}

/**
 * psi_group_activate - there is something to fold on a CPU where there was not
 * @group: the group
 * @cpu:   the CPU, whose rq lock is held
 */
void psi_group_activate(struct psi_group *group, int cpu)
{
	bool several = !cpumask_test_and_set_cpu(cpu, group->active) &&
		       atomic_inc_return(&group->nr_active) > 1;

	/* Pairs with unqueue(), and with rearm_nodes() of psi_trigger.c. */
	smp_mb__after_atomic();
	if (!atomic_read(&group->queued) && !atomic_xchg(&group->queued, 1) &&
	    llist_add(&group->pending, &psi_fold_pending))
		start_if_later(&psi_fold_timer, until_due());
	if (several && READ_ONCE(group->stalled))
		psi_group_stalled(group);
}

/**
 * psi_group_stalled - a CPU of the group is, or may be, stalled again
 * @group: the group, whose CPU's rq lock is held; sampled until the end of the period if it
 *	   is active on several CPUs
 */
void psi_group_stalled(struct psi_group *group)
{
	if (nr_cpu_ids == 1)
		return;

	WRITE_ONCE(group->stalled, true);
	/* Either the next CPU sees @stalled in psi_group_activate(), or it is seen here. */
	smp_mb();
	if (atomic_read(&group->nr_active) > 1 && !atomic_read(&group->sampled) &&
	    !atomic_xchg(&group->sampled, 1) &&
	    llist_add(&group->sample_pending, &psi_sample_pending))
		start_if_later(&psi_sample_timer, until_sample());
}

/* Return: false if there is none. */
static bool take_one_pending(void)
{
	struct llist_node *node;

	lockdep_assert_held(&psi_fold_lock);

	node = llist_del_first(&psi_fold_pending);
	if (!node)
		return false;
	list_add(&llist_entry(node, struct psi_group, pending)->to_fold, &psi_fold_list);
	return true;
}

static void sample_later(struct psi_group *group)
{
	list_move_tail(&group->to_sample,
		       psi_sample_is_rare(&group->fold) ? &psi_rare_list : &psi_sample_list);
}

/* End sampling, unless the group has stalled meanwhile and is active on several CPUs. */
static void reconsider_sampling(struct psi_group *group)
{
	if (!list_empty(&group->to_sample)) {
		list_del_init(&group->to_sample);
		atomic_set(&group->sampled, 0);
	}
	/* Pairs with psi_group_stalled(), which may have found @sampled set. */
	smp_mb();
	if (READ_ONCE(group->stalled) && atomic_read(&group->nr_active) > 1 &&
	    !atomic_xchg(&group->sampled, 1))
		sample_later(group);
}

/* Return: false if there is none. */
static bool take_one_stalled(void)
{
	struct llist_node *node;
	struct psi_group *group;

	lockdep_assert_held(&psi_fold_lock);

	node = llist_del_first(&psi_sample_pending);
	if (!node)
		return false;
	group = llist_entry(node, struct psi_group, sample_pending);
	sample_later(group);
	/* No CPU is active any more, and fold_one(), which ends sampling, has been there. */
	if (!atomic_read(&group->queued))
		reconsider_sampling(group);
	return true;
}

/* Take the group off the list if nothing is left to fold. */
static void unqueue(struct psi_group *group)
{
	if (!cpumask_empty(group->active))
		return;

	list_del_init(&group->to_fold);
	atomic_set(&group->queued, 0);

	/*
	 * A CPU that sets its bit from now on queues the group; a bit that was set before
	 * is seen here. If both happens, the xchg decides.
	 */
	smp_mb();
	if (!cpumask_empty(group->active) && !atomic_xchg(&group->queued, 1))
		list_add(&group->to_fold, &psi_fold_list);
}

static void take_pending(void)
{
	bool more;

	do {
		scoped_guard(mutex, &psi_fold_lock)
			more = take_one_pending() | take_one_stalled();
		cond_resched();
	} while (more);
}

/* Fold all groups if a period has ended, else those that are left from the last round. */
static void begin_round(void)
{
	static u64 due;

	take_pending();
	if (local_clock() < due)
		return;

	due = local_clock() + until_due() - PSI_SLACK_NS;
	psi_period = div64_u64(due - psi_periods_begin + PSI_PERIOD_NS / 2, PSI_PERIOD_NS);
	guard(mutex)(&psi_fold_lock);
	list_splice_tail_init(&psi_fold_list, &psi_fold_round);
}

/*
 * Nothing has stalled for a period: let each CPU notify of the next stall. (A stall that
 * begins and ends meanwhile is found at the end of the period.)
 */
static void end_stall(struct psi_group *group)
{
	int cpu;

	for_each_cpu(cpu, group->active) {
		if (!psi_cpu_unstalled(per_cpu_ptr(group->nodes, cpu), cpu))
			WRITE_ONCE(group->stalled, true);
		cond_resched();
	}
}

static void fold_one(struct psi_group *group)
{
	bool sampled = atomic_read(&group->nr_active) > 1, was_stalled = group->stalled;
	struct psi_fold *fold = &group->fold;

	group->steady = psi_period - group->period == 1;
	group->period = psi_period;
	/* A stall that begins from here on is found by the fold, or sets it again. */
	smp_store_mb(group->stalled, false);
	group_fold(group, FOLD_PERIOD);
	unqueue(group);
	if (nr_cpu_ids == 1)
		return;

	if (fold->stalled && !fold->sum.weighted)
		WRITE_ONCE(group->stalled, true);
	else if (was_stalled && !fold->stalled)
		end_stall(group);
	sampled &= READ_ONCE(group->stalled);

	change_begin(group);
	psi_fold_next(fold, sampled);
	change_end(group);

	if (!sampled || !atomic_read(&group->queued) || !atomic_read(&group->sampled))
		reconsider_sampling(group);
	else if (!list_empty(&group->to_sample))
		sample_later(group);
}

static void end_round(void)
{
	u64 now = local_clock();

	/* It is queued after a mere sample. */
	if (!list_empty(&psi_fold_list) && !hrtimer_is_queued(&psi_fold_timer))
		start_timer(&psi_fold_timer, until_due());
	/* Not served for that long: until now there was no group to sample rarely. */
	if (psi_rare_at + PSI_RARE_SAMPLE_NS < now)
		psi_rare_at = next_sample(now, PSI_RARE_SAMPLE_NS);
	if (list_empty(&psi_sample_list) && !list_empty(&psi_rare_list))
		start_timer(&psi_sample_timer,
			    max_t(s64, psi_rare_at - now, 0) + PSI_SLACK_NS);
	/*
	 * Pairs with llist_add(): a group added from now on finds the timer queued for later.
	 */
	smp_mb();
	if (!list_empty(&psi_sample_list) || !llist_empty(&psi_sample_pending))
		start_timer(&psi_sample_timer, until_sample());
}

/* Return: false at the end of the round. */
static bool fold_next(void)
{
	struct psi_group *group;

	guard(mutex)(&psi_fold_lock);

	group = list_first_entry_or_null(&psi_fold_round, struct psi_group, to_fold);
	if (!group) {
		end_round();
		return false;
	}
	list_move_tail(&group->to_fold, &psi_fold_list);
	fold_one(group);
	return true;
}

/* Sample up to @max groups of @list; the others come first next time. */
static void sample_groups(struct list_head *list, unsigned int max)
{
	u64 now = local_clock();
	struct psi_group *group;
	unsigned int n;

	scoped_guard(mutex, &psi_fold_lock)
		list_splice_init(list, &psi_sample_round);
	for (n = 0; n < max; n++) {
		scoped_guard(mutex, &psi_fold_lock) {
			group = list_first_entry_or_null(&psi_sample_round, struct psi_group,
							 to_sample);
			if (!group)
				return;
			/* The usual sum is over a whole period. */
			if (!group->fold.sum.weighted)
				group_sample(group, now);
			sample_later(group);
		}
		cond_resched();
	}
	scoped_guard(mutex, &psi_fold_lock)
		list_splice_init(&psi_sample_round, list);
}

/* Not when a period ends, or the moments would not be the fixed ones. */
static void sample_if_due(void)
{
	if (!READ_ONCE(psi_sample_fired))
		return;
	WRITE_ONCE(psi_sample_fired, false);
	sample_groups(&psi_sample_list, PSI_SAMPLES_MAX);
	if (local_clock() < psi_rare_at)
		return;
	sample_groups(&psi_rare_list, PSI_RARE_SAMPLES_MAX);
	psi_rare_at = next_sample(local_clock(), PSI_RARE_SAMPLE_NS);
}

static int psi_fold_thread(void *unused)
{
	psi_exempt_current();

	for (;;) {
		/* Before taking what is pending: what is added later starts the timer. */
		smp_store_mb(psi_fold_fired, false);
		sample_if_due();
		begin_round();
		while (fold_next())
			cond_resched();
		psi_debug_report();

		set_current_state(TASK_IDLE);
		if (!READ_ONCE(psi_fold_fired))
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int __init psi_fold_init(void)
{
	struct task_struct *task;

	if (!static_key_enabled(&psi_enabled))
		return 0;

	psi_periods_begin = psi_system.fold.at;
	task = kthread_create(psi_fold_thread, NULL, "psi_fold");
	if (IS_ERR(task))
		return PTR_ERR(task);

	hrtimer_setup(&psi_fold_timer, psi_fold_timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_setup(&psi_sample_timer, psi_sample_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
	/* Pairs with start_if_later(), which finds the timers with the thread. */
	smp_store_release(&psi_fold_task, task);
	wake_up_process(task);
	return 0;
}
subsys_initcall(psi_fold_init);

/* ---------------------------- Life of a group ---------------------------- */

/**
 * psi_group_init - initialise a group
 * @group:  the group, zeroed
 * @nodes:  its nodes
 * @active: room for a mask of CPUs, all clear
 * @now:    local_clock(), ns
 */
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    struct cpumask *active, u64 now)
{
	group->nodes = nodes;
	group->acct_group = group;
	group->active = active;
	INIT_LIST_HEAD(&group->to_fold);
	INIT_LIST_HEAD(&group->to_sample);
	seqcount_init(&group->seq);
	raw_spin_lock_init(&group->shown_lock);
	group->fold.is_system = group == &psi_system;
	group->fold.sum.weighted = READ_ONCE(psi_interval_weights);
	group->fold.at = now;
	group->fold.avgs_at = now;
	group->fold.avgs_due = now + PSI_PERIOD_NS;
	psi_monitors_init(group);
}

/**
 * psi_fold_detach - take a group that is about to be freed off all lists
 * @group: the group, in which nothing happens any more
 *
 * Context: may sleep.
 */
void psi_fold_detach(struct psi_group *group)
{
	bool waits;

	do {
		scoped_guard(mutex, &psi_fold_lock) {
			waits = (atomic_read(&group->queued) && list_empty(&group->to_fold)) ||
				(atomic_read(&group->sampled) && list_empty(&group->to_sample));
			if (waits) {
				take_one_pending();
				take_one_stalled();
			} else {
				list_del_init(&group->to_fold);
				list_del_init(&group->to_sample);
			}
		}
		cond_resched();
	} while (waits);
}

#ifdef CONFIG_SYSCTL
static const struct ctl_table psi_fold_sysctls[] = {
	{
		.procname	= "psi_interval_weights",
		.data		= &psi_interval_weights,
		.maxlen		= sizeof(psi_interval_weights),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init psi_fold_sysctl_init(void)
{
	register_sysctl_init("kernel", psi_fold_sysctls);
	return 0;
}
late_initcall(psi_fold_sysctl_init);
#endif
