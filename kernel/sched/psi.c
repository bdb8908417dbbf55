// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: what the scheduler and mm call.
 *
 * The scheduler tells of each event, and it is written down in the task's
 * psi_task::state; nothing is inferred later from what a runqueue looks like.
 * psi_task::counted is what the task's node has been told so far, and
 * count_task() brings the node up to date. The two differ in these cases:
 *
 *   a task that blocks	is told of in __schedule(), before the scheduler looks
 *			for another one; it is counted at the switch, together
 *			with the next task, because most of what the two change
 *			cancels out. In between the rq lock may be dropped. A
 *			wakeup that comes in then is written down like any
 *			other, and the switch counts what is true by then. If
 *			no switch follows, the task never stopped, and what is
 *			counted is right.
 *
 *   delayed dequeue	a task that blocks may stay queued in the fair class. It
 *			has blocked all the same. Its wakeup comes with
 *			ENQUEUE_DELAYED; its late dequeue changes nothing here.
 *
 *   migration		dequeue takes the task off the old CPU's node and leaves
 *			the state alone; enqueue counts it on the new CPU,
 *			runnable or not.
 *
 *   wakeup elsewhere	a task in iowait or in a memory stall is counted where
 *			it fell asleep. psi_wake_migrate() takes it off there.
 *
 *   class or sched	DEQUEUE_SAVE and ENQUEUE_RESTORE come in pairs on one
 *   group changes	runqueue: nothing has happened.
 *
 *   cgroup changes	psi_move_task() takes what is counted to the other group's
 *			node, lagging behind or not.
 *
 *   throttling		a group out of its cpu.max, or a deadline task out of its
 *			runtime, stays runnable and waits. If a throttled
 *			deadline task loses its CPU to hotplug it is moved
 *			without being queued; deadline.c tells of it.
 *
 * An observer, a thread of PSI itself, counts for nothing, and neither does it make
 * anybody wait: a task that it takes the CPU from lends it, and is on the CPU as
 * far as accounting goes until some other task runs or it is moved away. Otherwise
 * each look at the pressure would make some.
 *
 * The nodes of one CPU are written under its rq lock. Readers do not take it:
 * psi_seq tells them when to try again (psi_cpu_times()).
 *
 * This is the only file of PSI that knows struct rq.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>

#include "sched.h"
#include "psi_avgs.h"
#include "psi_hooks.h"
#include "psi_trigger.h"

DEFINE_STATIC_KEY_FALSE(psi_enabled);

static bool psi_wanted __initdata = !IS_ENABLED(CONFIG_PSI_DEFAULT_DISABLED);

static DEFINE_PER_CPU_ALIGNED(struct psi_node, psi_system_nodes);
static struct cpumask psi_system_active;
struct psi_group psi_system;

/* Odd while the nodes of the CPU are being written; under its rq lock. */
static DEFINE_PER_CPU(seqcount_t, psi_seq) = SEQCNT_ZERO(psi_seq);

/* Whose CPU an observer has; under the rq lock. */
static DEFINE_PER_CPU(struct task_struct *, psi_lender);

/* Interrupt time that has been told of, ns; under the rq lock. */
static DEFINE_PER_CPU(u64, psi_irq_ns);

static int __init psi_setup(char *arg)
{
	return !kstrtobool(arg, &psi_wanted);
}
__setup("psi=", psi_setup);

/**
 * psi_init - switch accounting on, before there is a second task
 */
void __init psi_init(void)
{
	int cpu;

	if (!psi_wanted)
		return;

	for_each_possible_cpu(cpu) {
		psi_node_init(per_cpu_ptr(&psi_system_nodes, cpu), NULL);
		per_cpu_ptr(&psi_system_nodes, cpu)->group = &psi_system;
	}
	psi_group_init(&psi_system, &psi_system_nodes, &psi_system_active,
		       local_clock());

	static_branch_enable(&psi_enabled);
}

/* --------------------------- Tasks to nodes --------------------------- */

/* Where the task is to be counted, or NULL. */
static struct psi_node *node_of_task(struct task_struct *p, int cpu)
{
	struct psi_group *target = READ_ONCE(p->psi.group->target);

	return target ? per_cpu_ptr(target->nodes, cpu) : NULL;
}

static u32 psi_now(int cpu)
{
	return psi_units(cpu_clock(cpu));
}

static void nodes_write_begin(struct rq *rq)
{
	lockdep_assert_rq_held(rq);
	write_seqcount_begin(per_cpu_ptr(&psi_seq, cpu_of(rq)));
}

static void nodes_write_end(struct rq *rq)
{
	write_seqcount_end(per_cpu_ptr(&psi_seq, cpu_of(rq)));
}

/*
 * In a node, or above it, something has begun that it has to tell of. @more are
 * states that have no beginning and end.
 */
static void tell_from(struct psi_node *node, int cpu, u8 more)
{
	u8 begun;

	for (; node; node = node->parent) {
		begun = (node->states | more) & node->tell;
		if (begun & BIT(PSI_NONIDLE)) {
			node->tell &= ~BIT(PSI_NONIDLE);
			psi_group_activate(node->group, cpu);
		}
		begun &= ~BIT(PSI_NONIDLE);
		if (begun)
			psi_trigger_begun(node->group, begun);
	}
}

/* Take down what the node must be told of @p, and that it has been. */
static struct psi_change task_change(struct rq *rq, struct task_struct *p,
				     u8 bits)
{
	struct psi_change c = { .old = p->psi.counted, .new = bits };

	if (c.old == c.new)
		return c;

	if (!c.old)
		p->psi.node = node_of_task(p, cpu_of(rq));
	c.node = p->psi.node;
	p->psi.counted = bits;
	return c;
}

static void change_task(struct rq *rq, struct task_struct *p, u8 bits)
{
	struct psi_change c = task_change(rq, p, bits);
	bool tell;

	if (!c.node)
		return;

	nodes_write_begin(rq);
	tell = psi_node_change(c, psi_now(cpu_of(rq)));
	nodes_write_end(rq);

	if (unlikely(tell))
		tell_from(c.node, cpu_of(rq), 0);
}

static void apply_switch(struct rq *rq, struct psi_change from,
			 struct psi_change to)
{
	bool tell;

	if (!from.node && !to.node)
		return;

	nodes_write_begin(rq);
	tell = psi_node_switch(from, to, psi_now(cpu_of(rq)));
	nodes_write_end(rq);

	if (unlikely(tell)) {
		tell_from(from.node, cpu_of(rq), 0);
		tell_from(to.node, cpu_of(rq), 0);
	}
}

/* Make the node's view of the task true. */
static void count_task(struct rq *rq, struct task_struct *p)
{
	change_task(rq, p, psi_task_bits(p->psi.state));
}

/* The task leaves this CPU, and keeps its state. */
static void uncount_task(struct rq *rq, struct task_struct *p)
{
	change_task(rq, p, 0);
}

/* ------------------------------ The hooks ------------------------------ */

/**
 * psi_idle_task - an idle task is not a task
 * @idle: the idle task of a CPU, which does not run yet
 */
void psi_idle_task(struct task_struct *idle)
{
	idle->psi.state = PSI_TASK_EXEMPT;
}

/* see psi_enqueue() */
void __psi_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	if (flags & ENQUEUE_RESTORE)
		return;

	if (flags & (ENQUEUE_WAKEUP | ENQUEUE_INITIAL | ENQUEUE_DELAYED)) {
		p->psi.state |= PSI_TASK_RUNNABLE;
		p->psi.state &= ~PSI_TASK_IOWAIT;
	}

	/* Woken on its way off the CPU: the switch will count it. */
	if (p->psi.state & PSI_TASK_ONCPU)
		return;

	count_task(rq, p);
}

/* The CPU that the task lent is not its own any more. */
static void end_lending(struct rq *rq, struct task_struct *p)
{
	p->psi.state &= ~(PSI_TASK_LENT | PSI_TASK_ONCPU);
	*per_cpu_ptr(&psi_lender, cpu_of(rq)) = NULL;
}

/* see psi_dequeue() */
void __psi_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	if (flags & DEQUEUE_SAVE)
		return;

	if (unlikely(p->psi.state & PSI_TASK_LENT))
		end_lending(rq, p);

	if (!(flags & DEQUEUE_SLEEP)) {
		uncount_task(rq, p);
		return;
	}

	p->psi.state &= ~PSI_TASK_RUNNABLE;
	if (p->in_iowait)
		p->psi.state |= PSI_TASK_IOWAIT;

	/* If it is on the CPU, the switch will count it. */
	if (!(p->psi.state & PSI_TASK_ONCPU))
		count_task(rq, p);
}

static void switch_tasks(struct rq *rq, struct task_struct *prev,
			 struct task_struct *next)
{
	struct psi_change from, to;

	prev->psi.state &= ~PSI_TASK_ONCPU;
	next->psi.state |= PSI_TASK_ONCPU;

	from = task_change(rq, prev, psi_task_bits(prev->psi.state));
	to = task_change(rq, next, psi_task_bits(next->psi.state));
	apply_switch(rq, from, to);
}

/* One of the two is an observer. */
static void switch_observer(struct rq *rq, struct task_struct *prev,
			    struct task_struct *next)
{
	struct task_struct **lender = per_cpu_ptr(&psi_lender, cpu_of(rq));
	struct task_struct *owner = *lender ?: prev;

	if (next->psi.state & PSI_TASK_OBSERVER) {
		if (owner->psi.state & PSI_TASK_RUNNABLE &&
		    !(owner->psi.state & PSI_TASK_EXEMPT)) {
			owner->psi.state |= PSI_TASK_LENT;
			*lender = owner;
			return;
		}
	} else if (*lender) {
		end_lending(rq, owner);
	}
	switch_tasks(rq, owner, next);
}

/* see psi_switch() */
void __psi_switch(struct rq *rq, struct task_struct *prev,
		  struct task_struct *next)
{
	if (unlikely((prev->psi.state | next->psi.state) & PSI_TASK_OBSERVER))
		switch_observer(rq, prev, next);
	else
		switch_tasks(rq, prev, next);
}

/* Take a task that is on no runqueue off the CPU where it last ran. */
static void uncount_sleeper(struct task_struct *p)
{
	/* Nobody else may move it now, so there is no need to look again. */
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	uncount_task(rq, p);
}

/* see psi_wake_migrate() */
void __psi_wake_migrate(struct task_struct *p)
{
	if (p->psi.counted)
		uncount_sleeper(p);
}

/**
 * psi_task_dead - a task has left its last CPU for good
 * @p: the task
 *
 * It is counted no more, unless it died of an oops inside a memory stall
 * section. Then nobody else would ever take it off.
 *
 * Context: no locks held.
 */
void psi_task_dead(struct task_struct *p)
{
	if (unlikely(p->psi.counted))
		uncount_sleeper(p);
}

/* see psi_irq_time() */
void __psi_irq_time(struct rq *rq, u64 delta_ns)
{
	u64 *told = per_cpu_ptr(&psi_irq_ns, cpu_of(rq));
	u32 before = psi_units(*told);
	struct task_struct *curr;
	u32 units;
	bool tell;

	*told += delta_ns;
	units = psi_units(*told) - before;
	curr = rcu_dereference_protected(rq->curr, lockdep_is_held(__rq_lockp(rq)));
	if (!units || !(curr->psi.counted & PSI_ONCPU))
		return;

	nodes_write_begin(rq);
	tell = psi_node_irq(curr->psi.node, units);
	nodes_write_end(rq);

	if (unlikely(tell))
		tell_from(curr->psi.node, cpu_of(rq), BIT(PSI_IRQ_FULL));
}

/* Something about the current task that only it can tell. */
static void tell_of_current(u8 bits, bool on)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = this_rq_lock_irq(&rf);
	if (on)
		current->psi.state |= bits;
	else
		current->psi.state &= ~bits;
	count_task(rq, current);
	rq_unlock_irq(rq, &rf);
}

/**
 * psi_memstall_enter - begin of a section that lack of memory makes necessary
 * @flags: kept for psi_memstall_leave()
 *
 * The task counts as stalled on memory until psi_memstall_leave(), asleep or
 * running. Sections nest; only the outermost one counts.
 *
 * Context: process context, interrupts on.
 */
void psi_memstall_enter(unsigned long *flags)
{
	if (!static_branch_unlikely(&psi_enabled))
		return;

	*flags = current->psi.state & PSI_TASK_MEMSTALL;
	if (!*flags)
		tell_of_current(PSI_TASK_MEMSTALL, true);
}
EXPORT_SYMBOL_GPL(psi_memstall_enter);

/**
 * psi_memstall_leave - end of a memory stall section
 * @flags: as psi_memstall_enter() left it
 *
 * Context: process context, interrupts on.
 */
void psi_memstall_leave(unsigned long *flags)
{
	if (!static_branch_unlikely(&psi_enabled))
		return;

	if (!*flags)
		tell_of_current(PSI_TASK_MEMSTALL, false);
}
EXPORT_SYMBOL_GPL(psi_memstall_leave);

/* ------------------------------- Cgroups ------------------------------- */

/* Take what is counted of the task to where it is to be counted now. */
static void recount(struct rq *rq, struct task_struct *p)
{
	struct psi_change from = { .node = p->psi.node, .old = p->psi.counted };
	struct psi_change to = { .new = p->psi.counted };

	if (!p->psi.counted)
		return;

	to.node = node_of_task(p, cpu_of(rq));
	if (to.node == from.node)
		return;

	p->psi.node = to.node;
	apply_switch(rq, from, to);
}

/**
 * psi_move_task - a task goes to another group, and takes its state along
 * @p:     the task
 * @group: the group, which lives as long as @p is in it
 *
 * Context: any without p->pi_lock; nobody else moves the task.
 */
void psi_move_task(struct task_struct *p, struct psi_group *group)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = task_rq_lock(p, &rf);
	p->psi.group = group;
	recount(rq, p);
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

/**
 * psi_recount_task - psi_group::target of a task's group has changed
 * @p: the task
 *
 * Context: any without p->pi_lock.
 */
void psi_recount_task(struct task_struct *p)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = task_rq_lock(p, &rf);
	recount(rq, p);
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

static void set_node_parent(struct rq *rq, struct psi_node *node,
			    struct psi_node *parent)
{
	struct psi_change from = { .node = node->parent, .old = node->bits };
	struct psi_change to = { .node = parent, .new = node->bits };

	if (from.node == to.node)
		return;

	node->parent = parent;
	if (node->bits)
		apply_switch(rq, from, to);
}

/**
 * psi_set_parent - a group contributes to another one from now on
 * @group:  the group
 * @parent: the other one, an ancestor that is switched on, or NULL
 *
 * Context: process context.
 */
void psi_set_parent(struct psi_group *group, struct psi_group *parent)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		guard(rq_lock_irq)(cpu_rq(cpu));
		set_node_parent(cpu_rq(cpu), per_cpu_ptr(group->nodes, cpu),
				parent ? per_cpu_ptr(parent->nodes, cpu) : NULL);
	}
}

/* ---------------------- What folds and triggers need ---------------------- */

/**
 * psi_observe - this task's own running is nothing to account
 *
 * Context: process context, interrupts on.
 */
void psi_observe(void)
{
	tell_of_current(PSI_TASK_EXEMPT | PSI_TASK_OBSERVER, true);
}

/**
 * psi_cpu_times - times of a node, up to this moment
 * @node:  the node
 * @cpu:   the CPU it belongs to
 * @times: PSI_NR_STATES of them, units modulo 2^32
 *
 * Context: any without the CPU's rq lock.
 */
void psi_cpu_times(const struct psi_node *node, int cpu, u32 times[])
{
	seqcount_t *seq = per_cpu_ptr(&psi_seq, cpu);
	unsigned int start;

	do {
		start = read_seqcount_begin(seq);
		psi_node_times(node, psi_now(cpu), times);
	} while (read_seqcount_retry(seq, start));
}

/**
 * psi_cpu_rests - take a CPU out of @active, unless there is something to fold
 * @node: the group's node
 * @cpu:  the CPU it belongs to
 *
 * The node then tells of its next activity, see tell_from().
 *
 * Context: psi_group::lock held, interrupts on.
 */
void psi_cpu_rests(struct psi_node *node, int cpu)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	if (node->states ||
	    psi_elapsed(node->folded[PSI_NONIDLE], node->times[PSI_NONIDLE]))
		return;

	/* Together: from here on, the node's next activity sets it again. */
	cpumask_clear_cpu(cpu, node->group->active);
	node->tell |= BIT(PSI_NONIDLE);
}

/**
 * psi_cpu_is_in - is the node in a state?
 * @node:  the node
 * @cpu:   the CPU it belongs to
 * @state: the state
 *
 * Changes of the node are ordered against this, by the rq lock.
 *
 * Context: interrupts on.
 * Return: true if so.
 */
bool psi_cpu_is_in(const struct psi_node *node, int cpu, enum psi_state state)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	return node->states & BIT(state);
}

/**
 * psi_cpu_tell - is psi_trigger_begun() to be called when a state begins?
 * @node:  the node
 * @cpu:   the CPU it belongs to
 * @state: the state
 * @tell:  is it?
 *
 * Context: interrupts on.
 */
void psi_cpu_tell(struct psi_node *node, int cpu, enum psi_state state, bool tell)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	if (tell)
		node->tell |= BIT(state);
	else
		node->tell &= ~BIT(state);
}
