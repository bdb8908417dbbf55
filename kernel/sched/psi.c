// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: tasks, as the scheduler and mm report them, on their CPUs.
 *
 * A hook records its event in psi_task::flags; nothing is inferred later from the state
 * of a runqueue. psi_task::contrib is what the task's node has counted, and
 * account_task() brings the node up to date. The two differ in these cases:
 *
 *  - Blocking: __schedule() reports a blocking task before it picks the next one. The
 *    switch counts both tasks together, because most of what they change cancels out. The
 *    rq lock may be dropped in between; a wakeup that comes in then updates the flags,
 *    and the switch counts what is true by then. Without a switch the task has never
 *    stopped, and the count is right.
 *  - Delayed dequeue: a blocked task may stay queued in the fair class. It has blocked
 *    all the same: its wakeup comes with ENQUEUE_DELAYED, and its late dequeue changes
 *    nothing here.
 *  - Migration: dequeue takes the task off the old CPU's node and leaves the flags alone;
 *    enqueue counts it on the new CPU, runnable or not.
 *  - Wakeup elsewhere: a task in iowait or in a memory stall is counted where it fell
 *    asleep. psi_wake_migrate() takes it off there.
 *  - Class or sched group changes: DEQUEUE_SAVE and ENQUEUE_RESTORE come in pairs on one
 *    runqueue, and change nothing.
 *  - Cgroup changes: psi_move_task() takes what is counted to the other group's node,
 *    lagging behind or not.
 *  - Throttling: a task out of its cpu.max, or a deadline task out of its runtime, stays
 *    runnable and waits. The former is PSI_TASK_THROTTLED: fair.c reports each task whose
 *    throttling begins or ends, and enqueue checks those that come later. deadline.c
 *    reports a throttled task that loses its CPU to hotplug, as that one moves without
 *    being queued.
 *
 * PSI's own threads contribute nothing and make nobody wait: a task that they preempt
 * counts as on the CPU until another task runs there or it is moved away. Otherwise
 * measuring pressure would cause some.
 *
 * Clock: the runqueue's, and no other, so that a CPU's times are written in the order of
 * its clock. The scheduler has updated it before it calls (see psi_needs_clock()); other
 * callers use update_now(). Readers use cpu_clock(), which may be a little ahead of that.
 *
 * Calls: the scheduler calls the hooks, and these call psi_node.c. When a state begins
 * that PSI's threads wait for, they call down to psi_fold.c (psi_group_activate() and
 * psi_group_stalled()) and psi_trigger.c (psi_trigger_notify()), which only leave a note
 * for their threads. Threads, readers and cgroups reach the nodes of a CPU by psi_cpu.h.
 *
 * Locking: the nodes of a CPU are written under its rq lock, between nodes_write_begin()
 * and nodes_write_end(). Readers do not take that lock: they retry by rq->psi_seq, and
 * RCU keeps the nodes that they look at (psi_cpu_times()). A task's contribution changes
 * under the lock of the runqueue that it belongs to. A function that takes a rq lock says
 * so.
 *
 * This file counts tasks in nodes. It includes psi_hooks.c, which are the hooks, and
 * psi_cpu.c, which is what the rest of PSI needs of CPUs. Only these and psi_debug.c know
 * struct rq.
 */
#define pr_fmt(fmt) "psi: " fmt

#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>
#include <linux/string_choices.h>

#ifdef CONFIG_SCHED_ALT
#error "BMQ and PDS (SCHED_ALT) do not tell PSI of tasks: choose either SCHED_ALT=n or PSI=n"
#endif

#include "sched.h"
#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_hooks.h"
#include "psi_trigger.h"

#include <trace/events/psi.h>

#include "psi_node.c"

/* Version of the series, for bug reports. */
#define PSI_VERSION	"v1"
MODULE_VERSION(PSI_VERSION);

/* Set at boot or never. Modules test it in psi_memstall_enter_cause(). */
DEFINE_STATIC_KEY_FALSE(psi_enabled);
EXPORT_SYMBOL_GPL(psi_enabled);

static bool psi_wanted __initdata = !IS_ENABLED(CONFIG_PSI_DEFAULT_DISABLED);

static DEFINE_PER_CPU(struct psi_node, psi_system_nodes);
static struct cpumask psi_system_active;
struct psi_group psi_system;

static int __init psi_setup(char *arg)
{
	return !kstrtobool(arg, &psi_wanted);
}
__setup("psi=", psi_setup);

/**
 * psi_init - enable accounting, if it is wanted, before there is a second task
 */
void __init psi_init(void)
{
	struct psi_cause_shard *shards = NULL;
	int cpu;

	psi_node_setup();	/* unit tests of nodes need it, too */
	if (psi_wanted)
		shards = psi_cause_shards_alloc(GFP_NOWAIT);
	pr_info("series %s, accounting is %s\n", PSI_VERSION, str_on_off(shards));
	if (!shards)
		return;

	for_each_possible_cpu(cpu) {
		seqcount_init(&cpu_rq(cpu)->psi_seq);
		psi_node_init(per_cpu_ptr(&psi_system_nodes, cpu), NULL);
		per_cpu_ptr(&psi_system_nodes, cpu)->group = &psi_system;
		psi_node_set_idle(per_cpu_ptr(&psi_system_nodes, cpu));
	}
	psi_group_init(&psi_system, &psi_system_nodes, &psi_system_active,
		       local_clock());
	psi_system.id = 1;
	psi_causes_init(&psi_system.causes, shards, psi_cause_nr_shards(), NULL);
	psi_debug_group_add(&psi_system);
	static_branch_enable(&psi_enabled);
}

/* --------------------------- Tasks to nodes --------------------------- */

static noinline void find_node(struct task_struct *p, int cpu)
{
	struct psi_group *acct = READ_ONCE(p->psi.group->acct_group);

	p->psi.node = acct ? per_cpu_ptr(acct->nodes, cpu) : NULL;
	p->psi.cpu = cpu;
}

/* For calls from the scheduler, units. */
static u32 sched_now(struct rq *rq)
{
	return psi_units(rq->clock);
}

/* For callers whose rq->clock may be old, units. */
static u32 update_now(struct rq *rq)
{
	update_rq_clock(rq);
	return sched_now(rq);
}

static u32 reader_now(int cpu)
{
	return psi_units(cpu_clock(cpu));
}

/* All writes up to nodes_write_end() have the time @now, units. */
static __always_inline void nodes_write_begin(struct rq *rq, u32 now)
{
	lockdep_assert_rq_held(rq);
	psi_debug_clock(rq, now);
	write_seqcount_begin(&rq->psi_seq);
}

static __always_inline void nodes_write_end(struct rq *rq)
{
	write_seqcount_end(&rq->psi_seq);
	psi_debug_written(rq);
}

static noinline void watch_states(struct psi_node *node, int cpu, u8 states)
{
	struct rq *rq = cpu_rq(cpu);

	nodes_write_begin(rq, sched_now(rq));
	psi_node_set_notify(node, states);
	nodes_write_end(rq);
}

/* The node leaves idleness. Return: the states that it has to notify of. */
static u8 activate(struct psi_node *node, int cpu)
{
	u8 watched;

	psi_group_activate(node->group, cpu);
	/* After the barrier there, which pairs with rearm_nodes() of psi_trigger.c. */
	watched = psi_trigger_watched(node->group);
	if (watched & ~node->notify)
		watch_states(node, cpu, watched);
	return watched;
}

/*
 * A state of psi_node::notify has begun in @node or above it. @instant: states that do
 * not last.
 */
static noinline void notify_from(struct psi_node *node, int cpu, u8 instant)
{
	u16 states = psi_node_states(node);
	bool stalled = states & PSI_SOME_STATES;
	u8 begun;

	for (; node; node = node->parent) {
		/* A node that follows is in the states of the one below. */
		if (!psi_node_follows(node))
			states = node->states;

		begun = (states | instant) & node->notify;
		node->notify &= ~begun;
		if (begun & BIT(PSI_NONIDLE))
			begun |= (states | instant) & activate(node, cpu);
		if (begun & ~BIT(PSI_NONIDLE))
			psi_trigger_notify(node->group, begun);
		if (stalled)
			psi_group_stalled(node->group);
	}
}

/* @notify: a state has begun in @node or above it. */
static __always_inline void write_end_notify(struct rq *rq, struct psi_node *node, u32 notify)
{
	nodes_write_end(rq);
	if (unlikely(notify))
		notify_from(node, cpu_of(rq), 0);
}

/* Record with the task what its node is about to count of it. */
static __always_inline struct psi_change set_contrib(struct rq *rq, struct task_struct *p,
						     u32 contrib)
{
	struct psi_change c = { p->psi.node, p->psi.contrib, contrib };

	psi_debug_contrib(rq, p, contrib);
	p->psi.contrib = contrib;
	return c;
}

/* The same for any change. Looks up the node if none counts the task yet. */
static __always_inline struct psi_change contrib_change(struct rq *rq,
							struct task_struct *p, u32 contrib)
{
	if (p->psi.contrib == contrib)
		return (struct psi_change) { .node = NULL };

	if (!p->psi.contrib && unlikely(p->psi.cpu != cpu_of(rq)))
		find_node(p, cpu_of(rq));
	return set_contrib(rq, p, contrib);
}

/* write_above() where nodes begin or end to follow, and for rare bits: from @left on. */
static noinline void write_and_follow(struct rq *rq, struct psi_node *node,
				      struct psi_node *left, u32 before, u32 now, u32 notify)
{
	notify |= climb_from(left, before, now);
	write_end_notify(rq, node, notify);
}

/*
 * Finish a write of bits that are not rare: @node contributed @before until now. @notify
 * is from node_update_states().
 */
static noinline void write_above(struct rq *rq, struct psi_node *node, u32 before,
				 u32 now, u32 notify)
{
	struct psi_node *left = climb_quickly(node, &before, now, &notify);

	if (unlikely(left)) {
		write_and_follow(rq, node, left, before, now, notify);
		return;
	}
	write_end_notify(rq, node, notify);
}

static noinline void write_change_slowly(struct rq *rq, struct psi_change c, u32 now)
{
	write_end_notify(rq, c.node, psi_node_change(c, now));
}

/* Nearly all changes end in @node. @rare: rare bits are known to change. @old != @new. */
static __always_inline void write_change_bits(struct rq *rq, struct psi_node *node, u32 old,
					      u32 new, u32 now, bool rare)
{
	u32 before, after, notify;

	if (!node)
		return;

	nodes_write_begin(rq, now);
	if (unlikely(node->flags || (!rare && is_rare(old, new)))) {
		write_change_slowly(rq, (struct psi_change) { node, old, new }, now);
		return;
	}

	before = node->contrib;
	after = node_count(node, old, new, rare);
	if (after != before) {
		notify = node_update_states(node, after, now);
		if (unlikely(notify) || node->acct_parent) {
			if (rare)
				write_and_follow(rq, node, node, before, now, notify);
			else
				write_above(rq, node, before, now, notify);
			return;
		}
	}
	nodes_write_end(rq);
}

static __always_inline void write_change(struct rq *rq, struct psi_node *node, u32 old,
					 u32 new, u32 now)
{
	write_change_bits(rq, node, old, new, now, false);
}

static __always_inline void write_switch(struct rq *rq, struct psi_change from,
					 struct psi_change to, u32 now)
{
	u32 notify;

	if (!from.node) {
		write_change(rq, to.node, to.old, to.new, now);
		return;
	}
	if (!to.node) {
		write_change(rq, from.node, from.old, from.new, now);
		return;
	}

	nodes_write_begin(rq, now);
	notify = climb_and_meet(from, to, now);
	write_end_notify(rq, from.node, notify);
	if (unlikely(notify))
		notify_from(to.node, cpu_of(rq), 0);
}

static __always_inline void account_contrib(struct rq *rq, struct task_struct *p,
					    u32 contrib, u32 now)
{
	struct psi_change c = contrib_change(rq, p, contrib);

	write_change(rq, c.node, c.old, c.new, now);
}

/* Bring the node up to date with the task's flags. */
static __always_inline void account_task(struct rq *rq, struct task_struct *p, u32 now)
{
	account_contrib(rq, p, psi_task_contrib(p->psi.flags), now);
}

/* The task leaves this CPU and keeps its flags. */
static void unaccount_task(struct rq *rq, struct task_struct *p, u32 now)
{
	account_contrib(rq, p, 0, now);
}

#include "psi_hooks.c"
#include "psi_cpu.c"
