// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: from the CPUs of a group to its totals and
 * averages.
 *
 * The first half is arithmetic and knows nothing but its arguments. The second
 * half is the fold: the times that the CPUs have added since the last fold
 * become part of the group's totals. It is done every two seconds while there
 * is activity, and whenever somebody reads. Once in two seconds, what the totals
 * have grown by becomes a sample of the averages.
 *
 * Readers take nothing away. A fold leaves nothing behind that it has not
 * added up, however short the time since the last one: times and weights are in
 * the units that nodes count in, and what a CPU has not got a weight for yet
 * stays with that CPU. Folding more often only follows the weights more closely
 * as they change. The periods of the averages do not depend on who folds. Those of all
 * groups end together, and the thread folds them all soon after that: if a period ended
 * at about the time of the fold, one fold would be too early for it, and the next one
 * late by a whole period.
 *
 * What is not active costs nothing (the third part). A group knows the CPUs on
 * which something has happened; a fold visits those. The folding thread knows
 * the groups that have such CPUs; it visits those, and if there are none it has
 * no timer.
 *
 * Locking: psi_group::lock (process context, interrupts on) for totals and
 * averages; node times are read as psi_cpu_times() says. psi_fold_lock (may
 * sleep) for the list of groups to fold; a group cannot be freed while it is
 * held. Order: psi_fold_lock, psi_group::lock, rq lock.
 */
#include <linux/cleanup.h>
#include <linux/cpumask.h>
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
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "psi_avgs.h"
#include "psi_hooks.h"
#include "psi_trigger.h"

/* exp(-2 s / T) for T of 10, 60, 300 s, with FSHIFT = 11 bits */
static const unsigned long psi_decay[PSI_NR_AVGS] = { 1677, 1981, 2034 };

/* ---------------------------- Arithmetic ---------------------------- */

/*
 * With n bits in the longest time and weight, and up to 2^13 CPUs, the sum of
 * the products has 2n + 13 bits. Beyond n = 25 (34 s; a period has 21) weights
 * must give up as many low bits as it takes to stay within 64. After 73 minutes
 * they still have 19.
 */
static unsigned int sum_shift(u32 longest)
{
	return max(2 * fls(longest) + 13 - 64, 0);
}

/* From now on, weights have fewer bits. */
static void sum_shorten(struct psi_sum *sum, unsigned int shift)
{
	unsigned int more = shift - sum->shift;
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		sum->weighted[s] >>= more;
	sum->weight >>= more;
	sum->shift = shift;
}

/**
 * psi_sum_add - add one CPU
 * @sum:   the sum, zeroed before the first CPU
 * @times: what its PSI_NR_STATES times have grown by since the last fold, units;
 *         none is longer than the time not idle
 */
void psi_sum_add(struct psi_sum *sum, const u32 times[])
{
	unsigned int shift = sum_shift(times[PSI_NONIDLE]);
	u64 weight;
	int s;

	if (shift > sum->shift)
		sum_shorten(sum, shift);

	weight = times[PSI_NONIDLE] >> sum->shift;
	sum->weight += weight;
	for (s = 0; s < PSI_NR_STALLS; s++)
		sum->weighted[s] += times[s] * weight;
}

/**
 * psi_sum_ns - the stall time of the whole group
 * @sum:   all CPUs
 * @stall: which of the stalls
 *
 *	t[i] = time stalled, w[i] = time not idle, of CPU i
 *	result = sum(t[i] * w[i]) / sum(w[i])
 *
 * Return: ns, at most the time since the last fold; 0 if all were idle.
 */
u64 psi_sum_ns(const struct psi_sum *sum, enum psi_state stall)
{
	u64 units, rest;

	if (!sum->weight)
		return 0;

	units = div64_u64_rem(sum->weighted[stall], sum->weight, &rest);
	return (units << PSI_UNIT_SHIFT) +
	       div64_u64(rest << PSI_UNIT_SHIFT, sum->weight);
}

/**
 * psi_avg_sample - decay averages by one sample
 * @avg:     PSI_NR_AVGS averages, percent, fixed point
 * @missed:  number of periods without a sample, before this one
 * @stalled: stall time, ns
 * @span:    time in which it happened, ns, not less than @stalled
 *
 *	avg = avg * e + 100 * stalled / span * (1 - e),  e = exp(-2 s / T)
 */
void psi_avg_sample(unsigned long avg[], u64 missed, u64 stalled, u64 span)
{
	unsigned long percent = div64_u64(stalled * (100 * FIXED_1), span);
	int i;

	for (i = 0; i < PSI_NR_AVGS; i++) {
		if (missed)
			avg[i] = calc_load_n(avg[i], psi_decay[i], 0,
					     min(missed, (u64)UINT_MAX));
		avg[i] = calc_load(avg[i], psi_decay[i], percent);
	}
}

/**
 * psi_stall_average - bring what a total has grown by into its averages
 * @stall:  the stall
 * @missed: number of periods without a sample, before this one
 * @span:   length of this one, ns
 *
 * What does not fit into @span stays for the next sample, because a fold that
 * came late finds more than one period's worth.
 */
void psi_stall_average(struct psi_stall *stall, u64 missed, u64 span)
{
	u64 stalled = min(stall->total - stall->averaged, span);

	stall->averaged += stalled;
	psi_avg_sample(stall->avg, missed, stalled, span);
}

/* Nothing to bring into the averages, and nothing in them that decays. */
static bool is_still(const struct psi_stall *stall)
{
	return stall->total == stall->averaged &&
	       !(stall->avg[0] | stall->avg[1] | stall->avg[2]);
}

/* One period has ended, and perhaps more before it. */
static void account_averages(struct psi_group *group, u64 now)
{
	u64 missed = div64_u64(now - group->due, PSI_PERIOD_NS);
	u64 span = now - group->averaged - missed * PSI_PERIOD_NS;
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		if (!is_still(&group->stall[s]))
			psi_stall_average(&group->stall[s], missed, span);

	group->averaged = now;
	group->due += (missed + 1) * PSI_PERIOD_NS;
}

/**
 * psi_group_account - what a fold has found becomes totals and averages
 * @group:  the group
 * @now:    time of the fold, ns
 * @growth: what each of PSI_NR_STALLS has grown by since the last one, ns
 *
 * If averages are late by whole periods, there was nobody to see to them:
 * nothing happened, or the thread got no CPU. Those periods count as zeros; the
 * last one is the sample, and what was stalled in more than that goes into the
 * next ones.
 */
void psi_group_account(struct psi_group *group, u64 now, const u64 growth[])
{
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		group->stall[s].total += growth[s];

	if (now >= group->due)
		account_averages(group, now);
}

/* ----------------------------- The fold ----------------------------- */

/**
 * psi_group_init - a group, never measured
 * @group:  the group
 * @nodes:  its nodes
 * @active: room for a mask of CPUs, all clear
 * @now:    local_clock(), ns
 */
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    struct cpumask *active, u64 now)
{
	memset(group, 0, sizeof(*group));
	group->nodes = nodes;
	group->target = group;
	group->active = active;
	INIT_LIST_HEAD(&group->to_fold);
	spin_lock_init(&group->lock);
	group->averaged = now;
	group->due = now + PSI_PERIOD_NS;
	INIT_LIST_HEAD(&group->triggers);
}

/* Turn times into what they have grown by since the last fold. Return: is it any? */
static bool take_growth(struct psi_node *node, u32 times[])
{
	int s;

	for (s = 0; s < PSI_NR_STATES; s++)
		times[s] = psi_elapsed(node->folded[s], times[s]);

	/* Without a weight there is nothing to add; the next fold finds it. */
	if (!times[PSI_NONIDLE])
		return false;

	for (s = 0; s < PSI_NR_STATES; s++)
		node->folded[s] += times[s];
	return true;
}

/*
 * Bring totals, and averages if they are due, up to date. CPUs on which nothing
 * happens any more may @rest.
 */
static void group_fold(struct psi_group *group, bool rest)
{
	u64 growth[PSI_NR_STALLS], now;
	u32 times[PSI_NR_STATES];
	struct psi_sum sum = { };
	struct psi_node *node;
	bool idle;
	int cpu, s;

	lockdep_assert_held(&group->lock);

	for_each_cpu(cpu, group->active) {
		node = per_cpu_ptr(group->nodes, cpu);
		idle = !psi_cpu_times(node, cpu, times);
		if (take_growth(node, times))
			psi_sum_add(&sum, times);
		if (idle && rest)
			psi_cpu_rests(node, cpu);
	}
	for (s = 0; s < PSI_NR_STALLS; s++)
		growth[s] = sum.weighted[s] ? psi_sum_ns(&sum, s) : 0;

	/* Somebody, somewhere, is always on a CPU: no such state */
	if (group == &psi_system)
		growth[PSI_CPU_FULL] = 0;

	/* Clocks of two CPUs may be in the wrong order. */
	now = max(local_clock(), group->averaged);
	psi_group_account(group, now, growth);
}

/**
 * psi_group_read - what a group's stalls amount to now
 * @group:    the group
 * @first:    first stall to read
 * @nr:       how many
 * @readings: room for @nr; all are of one moment
 *
 * Context: process context, or at least interrupts on.
 */
void psi_group_read(struct psi_group *group, enum psi_state first,
		    unsigned int nr, struct psi_stall *readings)
{
	spin_lock(&group->lock);
	group_fold(group, false);
	memcpy(readings, &group->stall[first], nr * sizeof(*readings));
	spin_unlock(&group->lock);
}

/**
 * psi_group_total - stall time until now, for somebody who asks often
 * @group: the group
 * @stall: which stall
 * @now:   any clock, ns. Who asks again for the same time gets the same answer,
 *         without a fold.
 *
 * Context: process context, or at least interrupts on.
 * Return: ns.
 */
u64 psi_group_total(struct psi_group *group, enum psi_state stall, u64 now)
{
	u64 total;

	spin_lock(&group->lock);
	if (group->polled != now) {
		group_fold(group, false);
		group->polled = now;
	}
	total = group->stall[stall].total;
	spin_unlock(&group->lock);

	return total;
}

/**
 * psi_system_some_us - stall time of the system, up to this moment
 * @res: the resource; not PSI_IRQ, which has no "some"
 *
 * Context: process context, or at least interrupts on.
 * Return: total of the "some" line of /proc/pressure, us; 0 if PSI is off.
 */
u64 psi_system_some_us(enum psi_resource res)
{
	struct psi_stall some;

	if (!static_branch_unlikely(&psi_enabled))
		return 0;

	psi_group_read(&psi_system, psi_first_stall(res), 1, &some);
	return div_u64(some.total, NSEC_PER_USEC);
}

/* -------------------------- Who is to be folded -------------------------- */

/*
 * A node that is not idle has its CPU in its group's @active, and such a group
 * is queued: in the thread's list, or in psi_fold_fresh on the way there. The
 * node tells (psi_node::tell) when it leaves idleness; the thread, and nobody
 * else, takes back what is idle when its turn comes:
 *
 *	CPU	under its rq lock, together with telling the node to tell
 *	group	see unqueue()
 *	timer	runs only while there is a group in the list. Whoever puts one
 *		into an empty psi_fold_fresh starts it, unless it is queued.
 *
 * The thread is exempt from accounting: neither its wakeup nor its sleep is a
 * change, and a system in which nothing else happens stays without a timer.
 */
static LLIST_HEAD(psi_fold_fresh);
static LIST_HEAD(psi_fold_list);	/* under psi_fold_lock */
static DEFINE_MUTEX(psi_fold_lock);	/* the list, and that groups live */

/* When the next fold is due, or was while the timer rests; CLOCK_MONOTONIC. */
static ktime_t psi_fold_due;

/*
 * A hard one, because otherwise ksoftirqd may have to run for it, which would be
 * activity.
 */
static struct hrtimer psi_fold_timer;
static struct task_struct *psi_fold_task;
static bool psi_fold_fired;

static enum hrtimer_restart psi_fold_timer_fn(struct hrtimer *unused)
{
	WRITE_ONCE(psi_fold_fired, true);
	wake_up_process(psi_fold_task);
	return HRTIMER_NORESTART;
}

/*
 * When averages are due if the time since has gone by without activity: at the
 * next end of a period, not a whole period from now, which would make the first
 * sample longer than the others.
 */
static ktime_t next_due(void)
{
	ktime_t due = READ_ONCE(psi_fold_due);
	s64 late = ktime_sub(ktime_get(), due);
	u64 periods = late < 0 ? 0 : div64_u64(late, PSI_PERIOD_NS) + 1;

	return ktime_add_ns(due, periods * PSI_PERIOD_NS);
}

/**
 * psi_group_activate - there is something to fold on a CPU where there was not
 * @group: the group
 * @cpu:   the CPU, whose rq lock is held
 */
void psi_group_activate(struct psi_group *group, int cpu)
{
	cpumask_set_cpu(cpu, group->active);

	/* Pairs with the one in unqueue(). */
	smp_mb__after_atomic();
	if (atomic_read(&group->queued) || atomic_xchg(&group->queued, 1))
		return;
	if (!llist_add(&group->fresh, &psi_fold_fresh))
		return;

	/*
	 * If the timer is queued, or has fired, the thread will look. Before
	 * there is a thread there is no need: the first thing it does is a fold.
	 */
	if (smp_load_acquire(&psi_fold_task) && !hrtimer_is_queued(&psi_fold_timer))
		hrtimer_start(&psi_fold_timer, next_due(), HRTIMER_MODE_ABS_HARD);
}

/* Under psi_fold_lock. */
static void take_fresh(void)
{
	struct psi_group *group, *next;

	lockdep_assert_held(&psi_fold_lock);

	llist_for_each_entry_safe(group, next, llist_del_all(&psi_fold_fresh), fresh)
		list_add(&group->to_fold, &psi_fold_list);
}

/* If nothing is left to fold, take the group off the list. */
static void unqueue(struct psi_group *group)
{
	if (!cpumask_empty(group->active))
		return;

	list_del_init(&group->to_fold);
	atomic_set(&group->queued, 0);

	/*
	 * Whoever sets a bit from now on queues the group; one that was set
	 * before is seen here. If both happens, one of the two is the first.
	 */
	smp_mb();
	if (!cpumask_empty(group->active) && !atomic_xchg(&group->queued, 1))
		list_add(&group->to_fold, &psi_fold_list);
}

static void fold_listed(void)
{
	struct psi_group *group, *next;

	list_for_each_entry_safe(group, next, &psi_fold_list, to_fold) {
		spin_lock(&group->lock);
		group_fold(group, true);
		spin_unlock(&group->lock);

		unqueue(group);
		cond_resched();
	}
}

/*
 * The system's averages set the pace, even if it is switched off and nothing
 * happens in it. Return: ns until they are due.
 */
static u64 until_due(void)
{
	u64 now, left;

	spin_lock(&psi_system.lock);
	if (list_empty(&psi_system.to_fold))
		group_fold(&psi_system, false);
	now = local_clock();
	left = now < psi_system.due ? psi_system.due - now : 0;
	spin_unlock(&psi_system.lock);

	/* A little more, for clocks that do not run alike. */
	return left + NSEC_PER_MSEC;
}

static void fold_all(void)
{
	guard(mutex)(&psi_fold_lock);

	take_fresh();
	fold_listed();
	WRITE_ONCE(psi_fold_due, ktime_add_ns(ktime_get(), until_due()));
	if (!list_empty(&psi_fold_list))
		hrtimer_start(&psi_fold_timer, psi_fold_due, HRTIMER_MODE_ABS_HARD);
}

static int psi_fold_thread(void *unused)
{
	psi_observe();

	for (;;) {
		WRITE_ONCE(psi_fold_fired, false);
		fold_all();
		if (psi_node_miscounted())
			pr_warn_once("psi: a count fell below zero\n");

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

	if (!static_branch_unlikely(&psi_enabled))
		return 0;

	task = kthread_create(psi_fold_thread, NULL, "psi_fold");
	if (IS_ERR(task))
		return PTR_ERR(task);

	hrtimer_init(&psi_fold_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	psi_fold_timer.function = psi_fold_timer_fn;
	/* Pairs with psi_group_activate(): who finds a thread finds its timer. */
	smp_store_release(&psi_fold_task, task);
	wake_up_process(task);
	return 0;
}
subsys_initcall(psi_fold_init);

/* --------------------------- Life of a group --------------------------- */

/**
 * psi_first_due - when the first period of a new group ends
 * @now: local_clock(), ns
 * @due: end of a period of the system, ns, at most a period after @now
 *
 * Return: the end of a period of the system that is nearest to a period after @now.
 */
u64 psi_first_due(u64 now, u64 due)
{
	u64 latest = now + PSI_PERIOD_NS + PSI_PERIOD_NS / 2;

	return due + div64_u64(latest - due, PSI_PERIOD_NS) * PSI_PERIOD_NS;
}

/**
 * psi_group_alloc - a group for a new cgroup
 * @parent: the group above, whose switch nobody turns meanwhile
 *
 * Context: may sleep.
 * Return: the group, switched on; NULL if there is no memory.
 */
struct psi_group *psi_group_alloc(struct psi_group *parent)
{
	struct psi_node __percpu *nodes;
	struct psi_group *group;
	struct psi_node *node;
	u64 now;
	int cpu;

	group = kzalloc(sizeof(*group) + cpumask_size(), GFP_KERNEL);
	nodes = alloc_percpu(struct psi_node);
	if (!group || !nodes) {
		free_percpu(nodes);
		kfree(group);
		return NULL;
	}

	now = local_clock();
	psi_group_init(group, nodes, (void *)(group + 1), now);
	spin_lock(&psi_system.lock);
	group->due = psi_first_due(now, psi_system.due);
	spin_unlock(&psi_system.lock);
	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(nodes, cpu);
		psi_node_init(node, parent->target ?
			      per_cpu_ptr(parent->target->nodes, cpu) : NULL);
		/* What is between here and there may be switched on later. */
		node->level = min(per_cpu_ptr(parent->nodes, cpu)->level + 1, U8_MAX);
		node->group = group;
	}
	return group;
}

static void free_group(struct rcu_head *rcu)
{
	struct psi_group *group = container_of(rcu, struct psi_group, rcu);

	free_percpu(group->nodes);
	kfree(group);
}

/**
 * psi_group_free - the end of a group without tasks, children, files and readers
 * @group: the group, or NULL
 *
 * Nothing happens in it any more, but it may still be in a list of those in
 * which something has happened, and its nodes may be followed.
 *
 * Context: may sleep.
 */
void psi_group_free(struct psi_group *group)
{
	if (!group)
		return;

	scoped_guard(mutex, &psi_fold_lock) {
		take_fresh();
		list_del(&group->to_fold);
	}
	psi_trigger_forget(group);

	psi_forget(group);
	call_rcu(&group->rcu, free_group);
}
