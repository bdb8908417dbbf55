// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: CONFIG_PSI_DEBUG, does the accounting hold what it should?
 *
 * psi.c adds up differences. If an event is missed, what it holds is wrong from then on,
 * and nobody may notice. So this is checked:
 *
 *  - At each write: a task's contribution changes only on the CPU that counts it. The
 *    clock does not go backwards. The times of one node, another one after each check,
 *    are added up from its states once more.
 *  - 20 times a second, on each CPU, at its tick: what each of the CPU's tasks should
 *    contribute, by the scheduler's own fields; what follows for the counts and states of
 *    each node, and, by the hierarchy of groups, to which node it should belong. No state
 *    has lasted longer than the time not idle, nor "full" longer than "some". Nodes
 *    notify of what resting pollers rely on.
 *  - When asked: the same, for CPUs that are offline as well (psi_debug_check()).
 *
 * The first difference is reported, with the last changes of that CPU. Nothing is checked
 * after that, as one mistake causes many.
 *
 * Locking: the rq lock, with which all of this is called, for what belongs to a CPU.
 * check_lock, inside of that, for the list of groups, and against switching one of them
 * on or off; a check that finds it taken waits for a later tick. Sleeping tasks are woken
 * without the rq lock, see is_here().
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "sched.h"
#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_debug.h"
#include "psi_hooks.h"
#include "psi_trigger.h"

#define NR_CHANGES	32

/* A change of what a task contributes. */
struct change {
	char	comm[TASK_COMM_LEN];
	pid_t	pid;
	u32	now;
	u8	flags;
	u8	old;
	u8	new;
};

/**
 * struct debug_cpu - what is kept of a CPU
 * @tasks:      all that it counts
 * @last:       time of the last write, units
 * @next_check: jiffies
 * @change:     the last changes, a ring
 * @nr_changes: how many there have been
 * @node:       whose times are added up, or NULL
 * @states:     in which states @node is
 * @times:      its times, added up here, units
 */
struct debug_cpu {
	struct hlist_head	tasks;
	u32			last;
	unsigned long		next_check;
	struct change		change[NR_CHANGES];
	unsigned int		nr_changes;

	const struct psi_node	*node;
	u16			states;
	u32			times[PSI_NR_STATES];
};

static DEFINE_PER_CPU(struct debug_cpu, debug_cpus) = {
	.next_check = INITIAL_JIFFIES,
};

static DEFINE_RAW_SPINLOCK(check_lock);
static LIST_HEAD(all_groups);			/* check_lock */
static unsigned int nr_switching;		/* check_lock */
static struct psi_debug_seen seen;		/* check_lock */

static atomic_t nr_failures = ATOMIC_INIT(0);

/* The first failure; written once. */
static char failure[256];
static int failure_cpu;
static bool failure_is_written, failure_is_reported;

static bool has_failed(void)
{
	return atomic_read(&nr_failures);
}

static __printf(2, 3) void fail(int cpu, const char *format, ...)
{
	va_list args;

	if (atomic_cmpxchg(&nr_failures, 0, 1))
		return;

	failure_cpu = cpu;
	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
	/* Pairs with psi_debug_report(). */
	smp_store_release(&failure_is_written, true);
}

static void print_change(const struct change *c)
{
	pr_warn("psi: %u: %s/%d flags %02x: %02x -> %02x\n", c->now, c->comm, c->pid,
		c->flags, c->old, c->new);
}

/**
 * psi_debug_report - report the first failure, once
 *
 * Context: process context.
 */
void psi_debug_report(void)
{
	struct debug_cpu *d;
	unsigned int i;

	/* Pairs with fail(). */
	if (failure_is_reported || !smp_load_acquire(&failure_is_written))
		return;

	failure_is_reported = true;
	WARN(1, "psi: CPU %d: %s\n", failure_cpu, failure);
	d = per_cpu_ptr(&debug_cpus, failure_cpu);
	for (i = 0; i < min_t(unsigned int, d->nr_changes, NR_CHANGES); i++)
		print_change(&d->change[(d->nr_changes + i) % NR_CHANGES]);
}

/* ------------------------------ Each write ------------------------------ */

/**
 * psi_debug_contrib - what a task contributes is about to change
 * @rq:      the runqueue that counts it
 * @p:       the task
 * @contrib: PSI_* bits
 *
 * Context: rq lock held.
 */
void psi_debug_contrib(struct rq *rq, struct task_struct *p, u8 contrib)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));
	struct change *c = &d->change[d->nr_changes % NR_CHANGES];

	if (has_failed())
		return;

	*c = (struct change) {
		.pid = p->pid, .now = psi_units(rq->clock), .flags = p->psi.flags,
		.old = p->psi.contrib, .new = contrib,
	};
	memcpy(c->comm, p->comm, sizeof(c->comm));
	c->comm[sizeof(c->comm) - 1] = '\0';
	d->nr_changes++;

	if (p->psi.cpu != cpu_of(rq)) {
		fail(cpu_of(rq), "%s/%d is counted on CPU %d", c->comm, p->pid, p->psi.cpu);
		return;
	}
	if (!p->psi.contrib && contrib)
		hlist_add_head(&p->psi.link, &d->tasks);
	else if (p->psi.contrib && !contrib)
		hlist_del_init(&p->psi.link);
}

/**
 * psi_debug_clock - nodes of a CPU are about to be written
 * @rq:  its runqueue
 * @now: by which clock, units
 *
 * Context: rq lock held.
 */
void psi_debug_clock(struct rq *rq, u32 now)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));

	if (has_failed())
		return;
	if ((s32)(now - d->last) < 0)
		fail(cpu_of(rq), "a write at %u after one at %u", now, d->last);

	if (d->node) {
		unsigned long states = d->states;
		int s;

		for_each_set_bit(s, &states, PSI_NR_STATES)
			d->times[s] += now - d->last;
	}
	d->last = now;
}

/**
 * psi_debug_written - nodes of a CPU have been written
 * @rq: its runqueue
 *
 * Context: rq lock held.
 */
void psi_debug_written(struct rq *rq)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));

	if (has_failed() || !d->node)
		return;
	d->states = psi_node_states(d->node);
}

/* ------------------------------- Checks ------------------------------- */

static void add_contrib(struct psi_node *node, u8 contrib)
{
	int bit;

	for (bit = 0; bit < PSI_NR_COUNTS; bit++)
		node->debug.count[bit] += !!(contrib & BIT(bit));
	node->debug.contrib |= contrib;
}

/* The nearest group that is on, from @group upwards. */
static struct psi_group *next_on(struct psi_group *group)
{
	while (group && !psi_group_is_on(group))
		group = group->parent;
	return group;
}

static struct psi_node *node_of(struct psi_group *group, int cpu)
{
	return group ? per_cpu_ptr(group->nodes, cpu) : NULL;
}

/* What the task should contribute, by the scheduler's own fields. */
static u8 contrib_by_facts(struct rq *rq, struct task_struct *p)
{
	u8 flags = p->psi.flags & (PSI_TASK_MEMSTALL | PSI_TASK_EXEMPT);

	if (task_on_rq_queued(p) && !task_has_blocked(p))
		flags |= PSI_TASK_RUNNABLE;
	else if (psi_waits_for_io(p))
		flags |= PSI_TASK_IOWAIT;
	if (rcu_access_pointer(rq->curr) == p || rq->psi.preempted == p)
		flags |= PSI_TASK_ONCPU;
	if (task_waits_for_quota(p))
		flags |= PSI_TASK_THROTTLED;

	return psi_task_contrib(flags);
}

/* Does the task belong to this CPU, is it alive, and not on its way to another one? */
static bool is_here(struct rq *rq, struct task_struct *p)
{
	unsigned int state;

	if (task_cpu(p) != cpu_of(rq))
		return false;
	smp_rmb();	/* pairs with the smp_wmb() in __set_task_cpu() */
	if (task_on_rq_queued(p))
		return true;
	state = READ_ONCE(p->__state);
	return !task_on_rq_migrating(p) && state != TASK_WAKING && state != TASK_DEAD;
}

static void check_facts(struct rq *rq, struct task_struct *p)
{
	u8 contrib = p->psi.contrib, should = contrib_by_facts(rq, p);
	bool stalled = p->psi.flags & PSI_TASK_MEMSTALL;
	int cpu = p->psi.cpu, cause = p->psi.cause;

	if (contrib == should && (!contrib || cpu == cpu_of(rq)) &&
	    stalled == psi_cause_is_stall(cause))
		return;
	/* A task that is still here has been all the time: coming back takes the rq lock. */
	smp_rmb();
	if (is_here(rq, p))
		fail(cpu_of(rq),
		     "%s/%d contributes %02x on CPU %d, should %02x (flags %02x, cause %d)",
		     p->comm, p->pid, contrib, cpu, should, p->psi.flags, cause);
}

static void check_tasks(struct rq *rq)
{
	struct task_struct *g, *p;

	guard(rcu)();
	for_each_process_thread(g, p)
		if (is_here(rq, p))
			check_facts(rq, p);
}

/* A counted task: is it in the right place, and what follows for the nodes? */
static void add_task(struct rq *rq, struct task_struct *p)
{
	struct psi_group *group = p->psi.group;
	int cpu = cpu_of(rq);

	if (task_cpu(p) != cpu)
		fail(cpu, "%s/%d is on CPU %d, and counted", p->comm, p->pid, task_cpu(p));

	/* A task that exits may have been missed when a group was switched, the root as well. */
	if (p->flags & PF_EXITING)
		group = p->psi.node ? p->psi.node->group : NULL;
	else
		group = next_on(group);
	if (p->psi.node != node_of(group, cpu))
		fail(cpu, "%s/%d of %llu is counted in %llu, should be in %llu", p->comm, p->pid,
		     p->psi.group->id, p->psi.node ? p->psi.node->group->id : 0,
		     group ? group->id : 0);
	if (p->psi.node)
		add_contrib(p->psi.node, p->psi.contrib);
	seen.tasks++;
	for (; group; group = next_on(group->parent))
		node_of(group, cpu)->debug.below |= p->psi.contrib;
}

/* A node that counts: what follows for the one above it? */
static void add_node(struct psi_group *group, int cpu)
{
	struct psi_node *node = node_of(group, cpu);

	if (!psi_node_follows(node) && node->acct_parent)
		add_contrib(node->acct_parent, node->contrib);
}

static void check_counts(const struct psi_node *node, int cpu)
{
	int bit;

	if (psi_node_follows(node)) {
		seen.following++;
		return;
	}
	for (bit = 0; bit < PSI_NR_COUNTS; bit++)
		if (psi_node_count(node, bit) != node->debug.count[bit])
			fail(cpu, "level %d counts %u of bit %d, should %u", node->level,
			     psi_node_count(node, bit), bit, node->debug.count[bit]);
	if (node->contrib != node->debug.contrib)
		fail(cpu, "level %d contributes %02x, should %02x", node->level, node->contrib,
		     node->debug.contrib);
}

static bool is_above(const struct psi_node *above, const struct psi_node *node)
{
	do {
		node = node->parent;
	} while (node && node != above);
	return node;
}

static void check_place(struct psi_group *group, const struct psi_node *node, int cpu)
{
	u16 states = psi_node_states(node), should = psi_states(node->debug.below);

	if (states != should)
		fail(cpu, "level %d is in states %02x, should be in %02x", node->level, states,
		     should);
	/* A removed group is idle, and gets no new parent. */
	if (node->debug.below && node->parent != node_of(next_on(group->parent), cpu))
		fail(cpu, "level %d is not below what is above it", node->level);
	if (psi_node_follows(node) && psi_node_followed(node)->parent != node)
		fail(cpu, "level %d follows what is not below it", node->level);
	if (node->debug.below && !psi_node_follows(node) && node->acct_parent &&
	    !is_above(node->acct_parent, node))
		fail(cpu, "level %d contributes to what is not above it", node->level);
}

/* An idle node need not notify: it does when it leaves idleness. */
static void check_watched(const struct psi_group *group, const struct psi_node *node, int cpu)
{
	u8 should = psi_trigger_resting(group);

	if (cpumask_test_cpu(cpu, group->active) && should &&
	    (should & ~node->notify || psi_node_follows(node)))
		fail(cpu, "level %d notifies of %02x, should of %02x", node->level, node->notify,
		     should);
}

/* No time is longer than the one that it is a part of. */
static void check_times(struct psi_node *node, int cpu, u32 now)
{
	static const s8 part_of[PSI_NR_STATES] = {
		[PSI_IO_SOME] = PSI_NONIDLE,	[PSI_IO_FULL] = PSI_IO_SOME,
		[PSI_MEM_SOME] = PSI_NONIDLE,	[PSI_MEM_FULL] = PSI_MEM_SOME,
		[PSI_CPU_SOME] = PSI_NONIDLE,	[PSI_CPU_FULL] = PSI_CPU_SOME,
		[PSI_IRQ_FULL] = -1,		[PSI_NONIDLE] = -1,
		[PSI_QUOTA_SOME] = PSI_CPU_SOME, [PSI_QUOTA_FULL] = PSI_CPU_FULL,
	};
	u32 times[PSI_NR_STATES], growth[PSI_NR_STATES], elapsed = now - node->debug.at;
	int s;

	psi_node_times(node, now, times);
	for (s = 0; s < PSI_NR_STATES; s++) {
		growth[s] = times[s] - node->debug.times[s];
		node->debug.times[s] = times[s];
	}
	if (node->debug.is_timed) {
		if (growth[PSI_NONIDLE] > elapsed)
			fail(cpu, "level %d: %u units not idle in %u", node->level,
			     growth[PSI_NONIDLE], elapsed);
		for (s = 0; s < PSI_NR_STATES; s++)
			if (part_of[s] >= 0 && growth[s] > growth[part_of[s]])
				fail(cpu, "level %d: %u units of state %d, %u of %d", node->level,
				     growth[s], s, growth[part_of[s]], part_of[s]);
	}
	node->debug.is_timed = true;
	node->debug.at = now;
}

/* Are the times that were added up those of the node? Another one comes next. */
static void check_added(struct rq *rq, u32 now)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));
	u32 times[PSI_NR_STATES];
	int s;

	if (!d->node)
		return;
	psi_node_times(d->node, now, times);
	for (s = 0; s < PSI_NR_STATES; s++)
		if (s != PSI_IRQ_FULL && times[s] != d->times[s])
			fail(cpu_of(rq), "level %d: state %d has lasted %u units, should %u",
			     d->node->level, s, times[s], d->times[s]);
}

static void begin_adding(struct rq *rq, const struct psi_node *node, u32 now)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));

	d->node = node;
	d->states = psi_node_times(node, now, d->times);
}

static void check_cpu(struct rq *rq)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));
	unsigned int nr = 0, chosen = 0;
	struct psi_group *group;
	struct task_struct *p;
	struct psi_node *node;
	int cpu = cpu_of(rq);
	u32 now = psi_units(rq->clock);

	lockdep_assert_held(&check_lock);

	psi_debug_clock(rq, now);
	check_added(rq, now);

	list_for_each_entry(group, &all_groups, debug_link) {
		node = node_of(group, cpu);
		memset(node->debug.count, 0, sizeof(node->debug.count));
		node->debug.contrib = 0;
		node->debug.below = 0;
		nr++;
	}
	hlist_for_each_entry(p, &d->tasks, psi.link)
		add_task(rq, p);
	list_for_each_entry(group, &all_groups, debug_link)
		add_node(group, cpu);
	chosen = seen.checks % nr;
	list_for_each_entry(group, &all_groups, debug_link) {
		node = node_of(group, cpu);
		check_counts(node, cpu);
		check_place(group, node, cpu);
		check_watched(group, node, cpu);
		check_times(node, cpu, now);
		if (!chosen--)
			begin_adding(rq, node, now);
	}
	check_tasks(rq);
	seen.checks++;
}

/**
 * psi_debug_tick - check the CPU if it is time to
 * @rq: a runqueue, its clock up to date
 *
 * Context: rq lock held.
 */
void psi_debug_tick(struct rq *rq)
{
	struct debug_cpu *d = per_cpu_ptr(&debug_cpus, cpu_of(rq));

	/* Only on its own CPU there is certainly no task in the middle of schedule(). */
	if (has_failed() || cpu_of(rq) != smp_processor_id() ||
	    time_before(jiffies, d->next_check))
		return;

	if (!raw_spin_trylock(&check_lock))
		return;
	if (!nr_switching) {
		d->next_check = jiffies + HZ / 20;
		check_cpu(rq);
	}
	raw_spin_unlock(&check_lock);
}

static void check_now(void *of_rq)
{
	struct rq *rq = of_rq;

	guard(rq_lock_irqsave)(rq);

	scoped_guard(raw_spinlock, &check_lock)
		if (!has_failed() && !nr_switching) {
			update_rq_clock(rq);
			check_cpu(rq);
		}
}

/**
 * psi_debug_check - check all CPUs now, unless a group is being switched
 * @so_far: what all checks since boot have looked at
 *
 * Context: may sleep; PSI is on.
 * Return: what was found to be wrong, now or before, or NULL.
 */
const char *psi_debug_check(struct psi_debug_seen *so_far)
{
	int cpu;

	/* For the same reason on each CPU itself, unless it is offline. */
	cpus_read_lock();
	for_each_possible_cpu(cpu)
		if (smp_call_function_single(cpu, check_now, cpu_rq(cpu), true))
			check_now(cpu_rq(cpu));
	cpus_read_unlock();

	scoped_guard(raw_spinlock_irqsave, &check_lock) {
		*so_far = seen;
	}
	/* Pairs with fail(). */
	return smp_load_acquire(&failure_is_written) ? failure : NULL;
}

/* ------------------------------- Groups ------------------------------- */

/**
 * psi_debug_group_add - there is a new group
 * @group: the group
 */
void psi_debug_group_add(struct psi_group *group)
{
	scoped_guard(raw_spinlock_irqsave, &check_lock)
		list_add_tail(&group->debug_link, &all_groups);
}

/**
 * psi_debug_group_del - a group is about to be freed
 * @group: the group
 *
 * Context: may sleep.
 */
void psi_debug_group_del(struct psi_group *group)
{
	struct debug_cpu *d;
	int cpu;

	scoped_guard(raw_spinlock_irqsave, &check_lock)
		list_del(&group->debug_link);

	/* A check may have chosen one of its nodes; later ones do not. */
	for_each_possible_cpu(cpu) {
		d = per_cpu_ptr(&debug_cpus, cpu);
		guard(rq_lock_irq)(cpu_rq(cpu));
		if (d->node == node_of(group, cpu))
			d->node = NULL;
	}
}

/**
 * psi_debug_switch_begin - a group is about to be switched on or off
 */
void psi_debug_switch_begin(void)
{
	scoped_guard(raw_spinlock_irqsave, &check_lock)
		nr_switching++;
}

/**
 * psi_debug_switch_end - it has been switched
 */
void psi_debug_switch_end(void)
{
	scoped_guard(raw_spinlock_irqsave, &check_lock)
		nr_switching--;
}

static int __init psi_debug_files(void)
{
	struct dentry *dir = debugfs_create_dir("psi", NULL);

	debugfs_create_ulong("checks", 0444, dir, &seen.checks);
	debugfs_create_atomic_t("failures", 0444, dir, &nr_failures);
	return 0;
}
late_initcall(psi_debug_files);
