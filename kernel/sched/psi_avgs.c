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
 * as they change. The periods of the averages do not depend on who folds.
 *
 * Locking: psi_group::lock (may sleep) for all but the node times, which are
 * read as psi_cpu_times() says. The timer is a matter of psi_fold_armed, see
 * there.
 */
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/timer.h>
#include <linux/wait.h>

#include "psi_avgs.h"
#include "psi_hooks.h"

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

/* One period has ended, and perhaps more before it. */
static void account_averages(struct psi_group *group, u64 now)
{
	u64 missed = div64_u64(now - group->due, PSI_PERIOD_NS);
	u64 span = now - group->averaged - missed * PSI_PERIOD_NS;
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
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
 * @group: the group
 * @nodes: its nodes, initialized
 * @now:   local_clock(), ns
 */
void psi_group_init(struct psi_group *group, struct psi_node __percpu *nodes,
		    u64 now)
{
	memset(group, 0, sizeof(*group));
	group->nodes = nodes;
	mutex_init(&group->lock);
	group->averaged = now;
	group->due = now + PSI_PERIOD_NS;
}

/* What a node has grown by since the last fold. Return: is it any? */
static bool take_growth(struct psi_node *node, int cpu, u32 times[])
{
	int s;

	psi_cpu_times(node, cpu, times);
	for (s = 0; s < PSI_NR_STATES; s++)
		times[s] = psi_elapsed(node->folded[s], times[s]);

	/* Without a weight there is nothing to add; the next fold finds it. */
	if (!times[PSI_NONIDLE])
		return false;

	for (s = 0; s < PSI_NR_STATES; s++)
		node->folded[s] += times[s];
	return true;
}

/* Bring totals, and averages if they are due, up to date. Return: now, ns. */
static u64 group_fold(struct psi_group *group)
{
	u64 growth[PSI_NR_STALLS], now;
	u32 times[PSI_NR_STATES];
	struct psi_sum sum = { };
	int cpu, s;

	lockdep_assert_held(&group->lock);

	for_each_possible_cpu(cpu) {
		if (take_growth(per_cpu_ptr(group->nodes, cpu), cpu, times))
			psi_sum_add(&sum, times);
	}
	for (s = 0; s < PSI_NR_STALLS; s++)
		growth[s] = psi_sum_ns(&sum, s);

	/* Clocks of two CPUs may be in the wrong order. */
	now = max(local_clock(), group->averaged);
	psi_group_account(group, now, growth);
	return now;
}

/**
 * psi_group_read - what a group's stalls amount to now
 * @group:    the group
 * @first:    first stall to read
 * @nr:       how many
 * @readings: room for @nr; all are of one moment
 *
 * Context: may sleep.
 */
void psi_group_read(struct psi_group *group, enum psi_state first,
		    unsigned int nr, struct psi_stall *readings)
{
	guard(mutex)(&group->lock);

	group_fold(group);
	memcpy(readings, &group->stall[first], nr * sizeof(*readings));
}

/**
 * psi_system_some_us - stall time of the system, up to this moment
 * @res: the resource; not PSI_IRQ, which has no "some"
 *
 * Context: may sleep.
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

/* ------------------------- The fold's timer ------------------------- */

/*
 * 1: the timer is armed, or has fired and is being served. 0: the next change
 * of any node arms it. The thread that serves it is exempt from accounting, so
 * neither its wakeup nor its sleep is such a change, and a system in which
 * nothing else happens stays without a timer.
 *
 * Set by whoever arms, cleared by the thread. It starts out as 1, because
 * nobody may arm before there is a thread.
 */
atomic_t psi_fold_armed __read_mostly = ATOMIC_INIT(1);

/* When a fold is due, jiffies; does not change while psi_fold_armed is 0. */
static unsigned long psi_fold_due;

static bool psi_fold_fired;
static DECLARE_WAIT_QUEUE_HEAD(psi_fold_wait);

static void psi_fold_timer_fn(struct timer_list *unused)
{
	WRITE_ONCE(psi_fold_fired, true);
	wake_up(&psi_fold_wait);
}

static DEFINE_TIMER(psi_fold_timer, psi_fold_timer_fn);

/**
 * psi_fold_arm - start the timer of the fold if it does not run
 *
 * Context: any, in particular with rq locks held.
 */
void psi_fold_arm(void)
{
	unsigned long due, now = jiffies;

	if (atomic_xchg(&psi_fold_armed, 1))
		return;

	/*
	 * If the time has gone by without activity, averages are due at the next
	 * end of a period: not a whole period from now, which would make the
	 * first sample longer than the others.
	 */
	due = READ_ONCE(psi_fold_due);
	if (due - now > PSI_PERIOD_JIFFIES + 1)
		due += ((now - due) / PSI_PERIOD_JIFFIES + 1) * PSI_PERIOD_JIFFIES;
	mod_timer(&psi_fold_timer, due);
}

/* Return: jiffies until averages are due again. */
static unsigned long fold_system(void)
{
	u64 now;

	guard(mutex)(&psi_system.lock);

	now = group_fold(&psi_system);
	return nsecs_to_jiffies(psi_system.due - now) + 1;
}

/* Look at all CPUs, without their locks. */
static bool system_seems_idle(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu_ptr(psi_system.nodes, cpu)->bits))
			return false;
	}
	return true;
}

/* Look at all CPUs, ordered against every change of them. */
static bool system_is_idle(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!psi_cpu_is_idle(per_cpu_ptr(psi_system.nodes, cpu), cpu))
			return false;
	}
	return true;
}

/* The timer has fired and the fold is done: what now? */
static void rearm_unless_idle(void)
{
	if (!system_seems_idle()) {
		mod_timer(&psi_fold_timer, psi_fold_due);
		return;
	}

	/*
	 * A change made before its CPU is looked at below is seen there. One
	 * made after that comes after our rq lock section as well, and so finds
	 * the 0. Release: whoever finds it finds psi_fold_due.
	 */
	atomic_set_release(&psi_fold_armed, 0);
	if (!system_is_idle())
		psi_fold_arm();
}

static int psi_fold_thread(void *unused)
{
	psi_exempt_current();

	for (;;) {
		WRITE_ONCE(psi_fold_fired, false);
		WRITE_ONCE(psi_fold_due, jiffies + fold_system());
		rearm_unless_idle();
		wait_event_idle(psi_fold_wait, READ_ONCE(psi_fold_fired));
	}
	return 0;
}

static int __init psi_fold_init(void)
{
	if (!static_branch_unlikely(&psi_enabled))
		return 0;

	return PTR_ERR_OR_ZERO(kthread_run(psi_fold_thread, NULL, "psi_fold"));
}
subsys_initcall(psi_fold_init);
