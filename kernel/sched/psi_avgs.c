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
 * as they change. The periods of the averages do not depend on who folds. Those
 * of all groups end together, and the thread folds them all soon after that: if a
 * period ended at about the time of the fold, one fold would be too early for it,
 * and the next one late by a whole period.
 *
 * What is not active costs nothing (the third part). A group knows the CPUs on
 * which something has happened; a fold visits those. The folding thread knows
 * the groups that have such CPUs; it visits those, and if there are none it has
 * no timer.
 *
 * Anybody may read, as often as he likes. Those who read a group at the same
 * time sleep until it is their turn, and take over a fold that has begun after they
 * came. PSI's own threads do not wait for readers, who may get no CPU: psi_fold comes
 * again a little later, and triggers go by the last fold that was made.
 *
 * psi.c calls down to psi_group_activate(). This file calls down to nobody; of nodes
 * and runqueues it knows what psi_cpu.h offers.
 *
 * Locking: psi_group::lock (may sleep) for totals and averages; node times are read
 * as psi_cpu_times() says. psi_fold_lock (may sleep) for the lists of groups to fold;
 * a group cannot be freed while it is held. It is never held for longer than it takes
 * to fold one group. Order: psi_fold_lock, psi_group::lock, rq lock.
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
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/seqlock.h>
#include <linux/slab.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"
#include "psi_debug.h"
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

	for (s = 0; s < PSI_NR_STATES; s++)
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
	for (s = 0; s < PSI_NR_STATES; s++)
		sum->weighted[s] += times[s] * weight;
}

/**
 * psi_sum_ns - the stall time of the whole group
 * @sum:   all CPUs
 * @state: which of the stalls, or of the two that are because of a quota
 *
 *	t[i] = time stalled, w[i] = time not idle, of CPU i
 *	result = sum(t[i] * w[i]) / sum(w[i])
 *
 * Return: ns, at most the time since the last fold; 0 if all were idle.
 */
u64 psi_sum_ns(const struct psi_sum *sum, enum psi_state state)
{
	u64 units, rest;

	if (!sum->weighted[state])
		return 0;

	units = div64_u64_rem(sum->weighted[state], sum->weight, &rest);
	return (units << PSI_UNIT_SHIFT) +
	       div64_u64(rest << PSI_UNIT_SHIFT, sum->weight);
}

/* So many periods of the same percentage, fixed point. */
static void avg_periods(unsigned long avg[], unsigned long percent, u64 nr)
{
	int i;

	for (i = 0; nr && i < PSI_NR_AVGS; i++)
		avg[i] = calc_load_n(avg[i], psi_decay[i], percent,
				     min(nr, (u64)UINT_MAX));
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

	avg_periods(avg, 0, missed);
	for (i = 0; i < PSI_NR_AVGS; i++)
		avg[i] = calc_load(avg[i], psi_decay[i], percent);
}

/**
 * psi_stall_average - bring what a total has grown by into its averages
 * @stall:  the stall
 * @missed: number of periods that have gone by without a fold, before the last one
 * @span:   length of the last one, ns
 *
 * The growth fills the time from its end: the last period, then those that were
 * missed, as many as it suffices for. What was before them counts as zeros:
 *
 *	missed:  0   0   part  100 %  100 %   last: 100 %
 *	                 |<------- growth -------->|
 *
 * What is more than all of that, because clocks of two CPUs do not agree, stays for
 * the next period, but no more than that can take.
 */
void psi_stall_average(struct psi_stall *stall, u64 missed, u64 span)
{
	u64 stalled = stall->total - stall->averaged;
	u64 last = min(stalled, span), left = 0;
	u64 full, part;

	full = div64_u64_rem(stalled - last, PSI_PERIOD_NS, &part);
	if (full < missed) {
		psi_avg_sample(stall->avg, missed - full - 1, part, PSI_PERIOD_NS);
	} else {
		left = min(stalled - last - missed * PSI_PERIOD_NS, PSI_PERIOD_NS);
		full = missed;
	}
	avg_periods(stall->avg, 100 * FIXED_1, full);
	psi_avg_sample(stall->avg, 0, last, span);
	stall->averaged = stall->total - left;
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
	u64 missed = div64_u64(now - group->avgs_due, PSI_PERIOD_NS);
	u64 span = now - group->avgs_at - missed * PSI_PERIOD_NS;
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		if (!is_still(&group->stall[s]))
			psi_stall_average(&group->stall[s], missed, span);

	group->avgs_at = now;
	group->avgs_due += (missed + 1) * PSI_PERIOD_NS;
}

/**
 * psi_group_account - what a fold has found becomes totals and averages
 * @group:  the group
 * @now:    time of the fold, ns
 * @growth: what each of PSI_NR_STALLS has grown by since the last one, ns
 *
 * If averages are late by whole periods, there was nobody to see to them:
 * nothing happened, the thread got no CPU, or a virtual machine was stopped.
 */
void psi_group_account(struct psi_group *group, u64 now, const u64 growth[])
{
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		group->stall[s].total += growth[s];

	if (now >= group->avgs_due)
		account_averages(group, now);
}

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
	group->acct_group = group;
	group->active = active;
	INIT_LIST_HEAD(&group->to_fold);
	mutex_init(&group->lock);
	seqcount_init(&group->seq);
	group->avgs_at = now;
	group->avgs_due = now + PSI_PERIOD_NS;
	psi_monitors_init(group);
}

/* One CPU's part of it. If nothing happens there any more, it need not be looked at again. */
static void fold_cpu(struct psi_group *group, int cpu, bool may_idle, struct psi_sum *sum)
{
	struct psi_node *node = per_cpu_ptr(group->nodes, cpu);
	u32 times[PSI_NR_STATES];
	bool idle;

	idle = !psi_cpu_times(node, cpu, times);
	if (psi_take_growth(node->folded, times))
		psi_sum_add(sum, times);
	if (idle && may_idle)
		psi_cpu_idle(node, cpu);
	if (unlikely(READ_ONCE(node->flags) & PSI_NODE_MISCOUNTED))
		pr_warn_once("psi: CPU %d: a count of cgroup %llu fell below zero\n", cpu,
			     group->id);
}

/* Bring totals, and averages if they are due, up to date. */
static void group_fold(struct psi_group *group, bool may_idle)
{
	struct psi_sum sum = { };
	u64 growth[PSI_NR_STATES], now;
	int cpu, s;

	lockdep_assert_held(&group->lock);

	WRITE_ONCE(group->folds, group->folds + 1);
	smp_mb();	/* pairs with lock_and_fold() */

	for_each_cpu(cpu, group->active) {
		fold_cpu(group, cpu, may_idle, &sum);
		cond_resched();
	}
	for (s = 0; s < PSI_NR_STATES; s++)
		growth[s] = psi_sum_ns(&sum, s);

	/* Somebody, somewhere, is always on a CPU: no such state */
	if (group == &psi_system) {
		growth[PSI_CPU_FULL] = 0;
		growth[PSI_QUOTA_FULL] = 0;
	}

	preempt_disable();
	write_seqcount_begin(&group->seq);
	/* Clocks of two CPUs may be in the wrong order. */
	now = max(local_clock(), group->avgs_at);
	psi_group_account(group, now, growth);
	group->quota_total[0] += growth[PSI_QUOTA_SOME];
	group->quota_total[1] += growth[PSI_QUOTA_FULL];
	group->folded_at = ktime_get_ns();
	write_seqcount_end(&group->seq);
	preempt_enable();
}

/* Bring a group up to date, and keep it. Leaves with psi_group::lock held. */
static void lock_and_fold(struct psi_group *group)
{
	unsigned int before;

	smp_mb();	/* what happened before we came is seen by a fold after that */
	before = READ_ONCE(group->folds);

	mutex_lock(&group->lock);
	if (group->folds == before)
		group_fold(group, false);
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
	lock_and_fold(group);
	memcpy(readings, &group->stall[first], nr * sizeof(*readings));
	mutex_unlock(&group->lock);
}

/**
 * psi_group_read_split - why a group's tasks have waited for a CPU, up to now
 * @group: the group
 * @split: is filled in; all of it is of one moment
 *
 * Context: may sleep.
 */
void psi_group_read_split(struct psi_group *group, struct psi_cpu_split *split)
{
	int i;

	lock_and_fold(group);
	for (i = 0; i < 2; i++) {
		split->quota[i] = group->quota_total[i];
		split->contention[i] = group->stall[PSI_CPU_SOME + i].total -
				       group->quota_total[i];
	}
	mutex_unlock(&group->lock);
}

/**
 * psi_group_total - stall time, for PSI's own threads
 * @group: the group
 * @stall: which stall
 * @when:  CLOCK_MONOTONIC, ns: in, of what time it should be at least; out, of what
 *         time it is. That is earlier if somebody who reads has not finished yet.
 *
 * Context: may sleep, but does not wait for readers.
 * Return: ns.
 */
u64 psi_group_total(struct psi_group *group, enum psi_state stall, u64 *when)
{
	unsigned int seq;
	u64 total, at;

	if (mutex_trylock(&group->lock)) {
		if (group->folded_at < *when)
			group_fold(group, false);
		mutex_unlock(&group->lock);
	}

	do {
		seq = read_seqcount_begin(&group->seq);
		total = group->stall[stall].total;
		at = group->folded_at;
	} while (read_seqcount_retry(&group->seq, seq));

	*when = at;
	return total;
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

/* -------------------------- Who is to be folded -------------------------- */

/*
 * A node that is not idle has its CPU in its group's @active, and such a group
 * is queued: in the thread's list, or in psi_fold_pending on the way there. The
 * node notifies (psi_node::notify) when it leaves idleness; the thread, and nobody
 * else, takes back what is idle when its turn comes:
 *
 *	CPU	under its rq lock, together with telling the node to notify
 *	group	see unqueue()
 *	timer	runs only while there is a group in the list. Whoever puts one
 *		into an empty psi_fold_pending starts it, unless it is queued.
 *
 * The thread is exempt from accounting: neither its wakeup nor its sleep is a
 * change, and a system in which nothing else happens stays without a timer.
 */
static LLIST_HEAD(psi_fold_pending);
static LIST_HEAD(psi_fold_list);	/* psi_fold_lock */
static LIST_HEAD(psi_fold_round);	/* psi_fold_lock; still to come in this round */
static LIST_HEAD(psi_fold_again);	/* psi_fold_lock; somebody was reading them */
static DEFINE_MUTEX(psi_fold_lock);	/* those lists, and that groups live */

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

/* When the periods of all groups have begun, local_clock(), ns; set once. */
static u64 psi_periods_begin;

/* To come again for a group that somebody was reading. */
#define PSI_RETRY_NS	(10ULL * NSEC_PER_MSEC)

/* After the end of a period, for clocks that do not run alike. */
#define PSI_SLACK_NS	NSEC_PER_MSEC

/* Until a little after the next end of a period. */
static u64 until_due(void)
{
	u64 past;

	div64_u64_rem(local_clock() - psi_periods_begin, PSI_PERIOD_NS, &past);
	return PSI_PERIOD_NS - past + PSI_SLACK_NS;
}

static void start_timer(u64 ns)
{
	hrtimer_start(&psi_fold_timer, ns_to_ktime(ns), HRTIMER_MODE_REL_HARD);
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
	if (!llist_add(&group->pending, &psi_fold_pending))
		return;

	/*
	 * If the timer is queued, or has fired, the thread will look. Before
	 * there is a thread there is no need: the first thing it does is a fold.
	 */
	if (smp_load_acquire(&psi_fold_task) && !hrtimer_is_queued(&psi_fold_timer))
		start_timer(until_due());
}

/* Under psi_fold_lock. Return: false if there is none. */
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

static void take_pending(void)
{
	bool more;

	do {
		scoped_guard(mutex, &psi_fold_lock)
			more = take_one_pending();
		cond_resched();
	} while (more);
}

/* If a period has ended, all are to be folded; else those that are left from before. */
static void begin_round(void)
{
	static u64 due;

	take_pending();
	if (local_clock() < due)
		return;

	due = local_clock() + until_due() - PSI_SLACK_NS;
	guard(mutex)(&psi_fold_lock);
	list_splice_tail_init(&psi_fold_list, &psi_fold_round);
}

/* Return: false if it could not be done, because somebody is reading. */
static bool fold_one(struct psi_group *group)
{
	if (!mutex_trylock(&group->lock))
		return false;
	group_fold(group, true);
	mutex_unlock(&group->lock);

	unqueue(group);
	return true;
}

static void end_round(void)
{
	u64 ns = until_due();

	if (!list_empty(&psi_fold_again)) {
		list_splice_init(&psi_fold_again, &psi_fold_round);
		start_timer(min(ns, PSI_RETRY_NS));
	} else if (!list_empty(&psi_fold_list)) {
		start_timer(ns);
	}
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
	if (!fold_one(group))
		list_move_tail(&group->to_fold, &psi_fold_again);
	return true;
}

static int psi_fold_thread(void *unused)
{
	psi_exempt_current();

	while (!kthread_should_stop()) {
		/* Before a look at what is pending: who comes later starts the timer. */
		smp_store_mb(psi_fold_fired, false);
		begin_round();
		while (fold_next())
			cond_resched();
		psi_debug_report();

		set_current_state(TASK_IDLE);
		if (!READ_ONCE(psi_fold_fired) && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/**
 * psi_fold_start - let there be a thread that folds
 *
 * The first thing that it does is a fold of what has been left pending.
 *
 * Context: may sleep; there is none.
 * Return: 0, or why there cannot be one.
 */
int psi_fold_start(void)
{
	struct task_struct *task;

	task = kthread_create(psi_fold_thread, NULL, "psi_fold");
	if (IS_ERR(task))
		return PTR_ERR(task);

	get_task_struct(task);
	hrtimer_init(&psi_fold_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	psi_fold_timer.function = psi_fold_timer_fn;
	/* Pairs with psi_group_activate(): who finds a thread finds its timer. */
	smp_store_release(&psi_fold_task, task);
	wake_up_process(task);
	return 0;
}

/**
 * psi_fold_stop - the end of that thread
 *
 * What has not been folded of the system is, so that it does not look new later.
 *
 * Context: may sleep; nothing activates a group any more.
 */
void psi_fold_stop(void)
{
	struct task_struct *task = psi_fold_task;

	lock_and_fold(&psi_system);
	mutex_unlock(&psi_system.lock);
	if (!task)
		return;
	kthread_stop(task);
	/* It may fire until here. */
	hrtimer_cancel(&psi_fold_timer);
	psi_fold_task = NULL;
	put_task_struct(task);
}

static int __init psi_fold_init(void)
{
	psi_periods_begin = psi_system.avgs_due - PSI_PERIOD_NS;
	return static_key_enabled(&psi_enabled) ? psi_fold_start() : 0;
}
subsys_initcall(psi_fold_init);

/* --------------------------- Life of a group --------------------------- */

/**
 * psi_group_alloc - a group for a new cgroup
 * @parent: the group above, of which nobody turns the switch meanwhile
 * @gfp:    GFP_KERNEL_ACCOUNT if current is to pay for it, else GFP_KERNEL
 *
 * Context: cgroup_mutex held, may sleep.
 * Return: the group, switched on; NULL if there is no memory.
 */
struct psi_group *psi_group_alloc(struct psi_group *parent, gfp_t gfp)
{
	struct psi_cause_shard *shards;
	struct psi_node __percpu *nodes;
	struct psi_group *group;
	struct psi_node *node;
	u64 now;
	int cpu;

	group = kzalloc(sizeof(*group) + cpumask_size(), gfp);
	nodes = alloc_percpu_gfp(struct psi_node, gfp);
	shards = psi_cause_shards_alloc(gfp);
	if (!group || !nodes || !shards) {
		kvfree(shards);
		free_percpu(nodes);
		kfree(group);
		return NULL;
	}

	now = local_clock();
	psi_group_init(group, nodes, (void *)(group + 1), now);
	psi_causes_init(&group->causes, shards, psi_cause_nr_shards(), &parent->causes);
	group->parent = parent;
	refcount_set(&group->refs, 1);
	if (parent->parent)
		refcount_inc(&parent->refs);
	group->avgs_due = psi_first_due(now, psi_periods_begin);
	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(nodes, cpu);
		psi_node_init(node, parent->acct_group ?
			      per_cpu_ptr(parent->acct_group->nodes, cpu) : NULL);
		/* What is between here and there may be switched on later. */
		node->level = min(per_cpu_ptr(parent->nodes, cpu)->level + 1, U8_MAX);
		node->group = group;
	}
	psi_trace_group_add(group);
	psi_debug_group_add(group);
	return group;
}

static void free_group(struct rcu_head *rcu);

static void put_group(struct psi_group *group)
{
	if (group->parent && refcount_dec_and_test(&group->refs))
		call_rcu(&group->rcu, free_group);
}

static void free_group(struct rcu_head *rcu)
{
	struct psi_group *group = container_of(rcu, struct psi_group, rcu);

	put_group(group->parent);
	kvfree(group->causes.shards);
	free_percpu(group->nodes);
	kfree(group);
}

/* The group may be in a list of those to fold, or on the way there. */
static void forget_fold(struct psi_group *group)
{
	bool waits;

	do {
		scoped_guard(mutex, &psi_fold_lock) {
			waits = atomic_read(&group->queued) && list_empty(&group->to_fold);
			if (waits)
				take_one_pending();
			else
				list_del_init(&group->to_fold);
		}
		cond_resched();
	} while (waits);
}

/**
 * psi_group_free - the end of a group without tasks, files and readers
 * @group: the group, or NULL
 *
 * Nothing happens in it any more, but it may still be in a list of those in
 * which something has happened, and its nodes may be followed. Groups below it that have
 * left the hierarchy may come later: accounting may be switched off in between.
 *
 * Context: may sleep.
 */
void psi_group_free(struct psi_group *group)
{
	if (!group)
		return;

	psi_trace_group_del(group);
	forget_fold(group);
	psi_trigger_forget(group);
	psi_gather_causes(group);	/* its ancestors keep them */

	psi_forget(group);
	psi_debug_group_del(group);
	put_group(group);
}
