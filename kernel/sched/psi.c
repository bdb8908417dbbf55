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
 * The time is the runqueue's clock, which the scheduler has just brought up to
 * date when it calls (see psi_needs_clock()); only what others tell needs to
 * look at a clock.
 *
 * The nodes of one CPU are written under its rq lock. Readers do not take it:
 * psi_rq::seq tells them when to try again, and RCU keeps the nodes that they
 * look at (psi_cpu_times()).
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

#include "psi_node.c"

DEFINE_STATIC_KEY_FALSE(psi_enabled);

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
 * psi_init - switch accounting on, before there is a second task
 */
void __init psi_init(void)
{
	int cpu;

	psi_node_setup();
	if (!psi_wanted)
		return;

	for_each_possible_cpu(cpu) {
		seqcount_init(&cpu_rq(cpu)->psi.seq);
		psi_node_init(per_cpu_ptr(&psi_system_nodes, cpu), NULL);
		per_cpu_ptr(&psi_system_nodes, cpu)->group = &psi_system;
	}
	psi_group_init(&psi_system, &psi_system_nodes, &psi_system_active,
		       local_clock());

	static_branch_enable(&psi_enabled);
}

/* --------------------------- Tasks to nodes --------------------------- */

/* Look up where the task is to be counted. */
static noinline void find_node(struct task_struct *p, int cpu)
{
	struct psi_group *target = READ_ONCE(p->psi.group->target);

	p->psi.node = target ? per_cpu_ptr(target->nodes, cpu) : NULL;
	p->psi.cpu = cpu;
}

/* The time of what the scheduler tells, units. */
static u32 sched_now(struct rq *rq)
{
	return psi_units(rq->clock);
}

/* The time, for those who may come when the rq's clock is old. */
static u32 clock_now(int cpu)
{
	return psi_units(cpu_clock(cpu));
}

static void nodes_write_begin(struct rq *rq)
{
	lockdep_assert_rq_held(rq);
	write_seqcount_begin(&rq->psi.seq);
}

static void nodes_write_end(struct rq *rq)
{
	write_seqcount_end(&rq->psi.seq);
}

/*
 * In a node, or above it, something has begun that it has to tell of. @more are
 * states that have no beginning and end.
 */
static noinline void tell_from(struct psi_node *node, int cpu, u8 more)
{
	u8 begun;

	for (; node; node = node->parent) {
		begun = (psi_node_states(node) | more) & node->tell;
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
static __always_inline struct psi_change task_change(struct rq *rq,
						     struct task_struct *p, u8 bits)
{
	struct psi_change c = { .old = p->psi.counted, .new = bits };

	if (c.old == c.new)
		return c;

	if (!c.old && unlikely(p->psi.cpu != cpu_of(rq)))
		find_node(p, cpu_of(rq));
	c.node = p->psi.node;
	p->psi.counted = bits;
	return c;
}

/* The rest of a change: @node had other bits @before. */
static noinline void finish_change(struct rq *rq, struct psi_node *node, u32 before,
				   u32 now, u32 tell)
{
	tell |= change_above(node, before, now);
	nodes_write_end(rq);

	if (unlikely(tell))
		tell_from(node, cpu_of(rq), 0);
}

static noinline void change_followed(struct rq *rq, struct psi_change c, u32 now)
{
	bool tell = psi_node_change(c, now);

	nodes_write_end(rq);
	if (tell)
		tell_from(c.node, cpu_of(rq), 0);
}

/* Nearly always it ends where it begins. */
static __always_inline void apply_change(struct rq *rq, struct psi_node *node, u32 old,
					 u32 new, u32 now)
{
	u32 before, tell;

	if (!node || old == new)
		return;

	nodes_write_begin(rq);
	if (unlikely(node->following)) {
		change_followed(rq, (struct psi_change) { node, old, new }, now);
		return;
	}

	before = node->bits;
	node_count(node, old, new);
	if (node->bits != before) {
		tell = node_settle(node, now);
		if (unlikely(tell) || node->up) {
			finish_change(rq, node, before, now, tell);
			return;
		}
	}
	nodes_write_end(rq);
}

/* Two changes at once. */
static __always_inline void apply_switch(struct rq *rq, struct psi_change from,
					 struct psi_change to, u32 now)
{
	u32 tell;

	if (!from.node) {
		apply_change(rq, to.node, to.old, to.new, now);
		return;
	}
	if (!to.node) {
		apply_change(rq, from.node, from.old, from.new, now);
		return;
	}

	nodes_write_begin(rq);
	tell = switch_nodes(from, to, now);
	nodes_write_end(rq);

	if (unlikely(tell)) {
		tell_from(from.node, cpu_of(rq), 0);
		tell_from(to.node, cpu_of(rq), 0);
	}
}

static __always_inline void change_task(struct rq *rq, struct task_struct *p, u8 bits,
					u32 now)
{
	struct psi_change c = task_change(rq, p, bits);

	apply_change(rq, c.node, c.old, c.new, now);
}

/* Make the node's view of the task true. */
static __always_inline void count_task(struct rq *rq, struct task_struct *p, u32 now)
{
	change_task(rq, p, psi_task_bits(p->psi.state), now);
}

/* The task leaves this CPU, and keeps its state. */
static void uncount_task(struct rq *rq, struct task_struct *p, u32 now)
{
	change_task(rq, p, 0, now);
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

	count_task(rq, p, sched_now(rq));
}

/* The CPU that the task lent is not its own any more. */
static void end_lending(struct rq *rq, struct task_struct *p)
{
	p->psi.state &= ~(PSI_TASK_LENT | PSI_TASK_ONCPU);
	rq->psi.lender = NULL;
}

/* see psi_dequeue() */
void __psi_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	u8 state = p->psi.state;

	if (flags & DEQUEUE_SAVE)
		return;

	if (unlikely(state & PSI_TASK_LENT)) {
		end_lending(rq, p);
		state = p->psi.state;
	}

	if (!(flags & DEQUEUE_SLEEP)) {
		uncount_task(rq, p, sched_now(rq));
		return;
	}

	state &= ~PSI_TASK_RUNNABLE;
	if (p->in_iowait)
		state |= PSI_TASK_IOWAIT;
	p->psi.state = state;

	/* If it is on the CPU, the switch will count it. */
	if (!(state & PSI_TASK_ONCPU))
		count_task(rq, p, sched_now(rq));
}

static noinline void switch_tasks(struct rq *rq, struct task_struct *prev,
				  struct task_struct *next)
{
	u8 prev_state = prev->psi.state & ~PSI_TASK_ONCPU;
	u8 next_state = next->psi.state | PSI_TASK_ONCPU;
	struct psi_change from, to;

	prev->psi.state = prev_state;
	next->psi.state = next_state;

	from = task_change(rq, prev, psi_task_bits(prev_state));
	to = task_change(rq, next, psi_task_bits(next_state));
	apply_switch(rq, from, to, sched_now(rq));
}

/*
 * Two tasks of one group, and the one is on the CPU as the other was: then all
 * that changes is that another one waits, or none. Return: false if it is not so.
 */
static __always_inline bool switch_in_group(struct rq *rq, struct task_struct *prev,
					    struct task_struct *next)
{
	u8 prev_state = prev->psi.state & ~PSI_TASK_ONCPU;
	u8 next_state = next->psi.state | PSI_TASK_ONCPU;
	u32 oncpu = prev->psi.counted, waiting = next->psi.counted, off;

	if (prev->psi.node != next->psi.node || !waiting ||
	    psi_task_bits(next_state) != oncpu)
		return false;

	off = psi_task_bits(prev_state);
	prev->psi.state = prev_state;
	next->psi.state = next_state;
	prev->psi.counted = off;
	next->psi.counted = oncpu;

	apply_change(rq, prev->psi.node, waiting, off, sched_now(rq));
	return true;
}

/* One of the two is an observer. */
static noinline void switch_observer(struct rq *rq, struct task_struct *prev,
				     struct task_struct *next)
{
	struct task_struct *owner = rq->psi.lender ?: prev;

	if (next->psi.state & PSI_TASK_OBSERVER) {
		if (owner->psi.state & PSI_TASK_RUNNABLE &&
		    !(owner->psi.state & PSI_TASK_EXEMPT)) {
			owner->psi.state |= PSI_TASK_LENT;
			rq->psi.lender = owner;
			return;
		}
	} else if (rq->psi.lender) {
		end_lending(rq, owner);
	}
	switch_tasks(rq, owner, next);
}

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
static u64 irq_ns(struct rq *rq)
{
	return rq->prev_irq_time;
}
#else
static u64 irq_ns(struct rq *rq)
{
	return 0;
}
#endif

/* Interrupts took time from the task that has the CPU. */
static void take_irq_time(struct rq *rq, struct task_struct *p)
{
	u32 units = psi_units(irq_ns(rq)) - psi_units(rq->psi.irq_ns);
	bool tell;

	rq->psi.irq_ns = irq_ns(rq);
	if (!units || !(p->psi.counted & PSI_ONCPU))
		return;

	nodes_write_begin(rq);
	tell = psi_node_irq(p->psi.node, units);
	nodes_write_end(rq);

	if (unlikely(tell))
		tell_from(p->psi.node, cpu_of(rq), BIT(PSI_IRQ_FULL));
}

/* see psi_tick() */
void __psi_tick(struct rq *rq, struct task_struct *curr)
{
	if (rq->psi.irq_ns != irq_ns(rq))
		take_irq_time(rq, curr);
}

static noinline void switch_after_irq(struct rq *rq, struct task_struct *prev,
				      struct task_struct *next)
{
	take_irq_time(rq, prev);
	__psi_switch(rq, prev, next);
}

/* see psi_switch() */
void __psi_switch(struct rq *rq, struct task_struct *prev,
		  struct task_struct *next)
{
	if (unlikely(rq->psi.irq_ns != irq_ns(rq)))
		switch_after_irq(rq, prev, next);
	else if (unlikely((prev->psi.state | next->psi.state) & PSI_TASK_OBSERVER))
		switch_observer(rq, prev, next);
	else if (!switch_in_group(rq, prev, next))
		switch_tasks(rq, prev, next);
}

/* Take a task that is on no runqueue off the CPU where it last ran. */
static void uncount_sleeper(struct task_struct *p)
{
	/* Nobody else may move it now, so there is no need to look again. */
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	uncount_task(rq, p, clock_now(cpu_of(rq)));
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
	count_task(rq, current, clock_now(cpu_of(rq)));
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

	find_node(p, cpu_of(rq));
	to.node = p->psi.node;
	if (p->psi.counted && to.node != from.node)
		apply_switch(rq, from, to, clock_now(cpu_of(rq)));
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
	bool tell;

	nodes_write_begin(rq);
	tell = psi_node_set_parent(node, parent, clock_now(cpu_of(rq)));
	nodes_write_end(rq);

	if (tell)
		tell_from(parent, cpu_of(rq), 0);
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

/**
 * psi_forget - nobody looks at the nodes of a group any more, but for readers
 * @group: the group, in which nothing can happen
 *
 * They may go when readers under RCU are gone.
 *
 * Context: process context.
 */
void psi_forget(struct psi_group *group)
{
	struct psi_node *node;
	int cpu;

	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(group->nodes, cpu);
		if (!psi_node_is_followed(node))
			continue;

		guard(rq_lock_irq)(cpu_rq(cpu));
		nodes_write_begin(cpu_rq(cpu));
		psi_node_forget(node);
		nodes_write_end(cpu_rq(cpu));
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
 * Return: mask of the states that the node is in.
 */
u8 psi_cpu_times(const struct psi_node *node, int cpu, u32 times[])
{
	seqcount_t *seq = &cpu_rq(cpu)->psi.seq;
	unsigned int start;
	u8 states;

	guard(rcu)();
	do {
		start = read_seqcount_begin(seq);
		states = psi_node_times(node, clock_now(cpu), times);
	} while (read_seqcount_retry(seq, start));

	return states;
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
	u32 times[PSI_NR_STATES];

	guard(rq_lock_irq)(cpu_rq(cpu));

	if (psi_node_states(node))
		return;
	psi_node_times(node, 0, times);		/* none of them lasts */
	if (psi_elapsed(node->folded[PSI_NONIDLE], times[PSI_NONIDLE]))
		return;

	/* Together: from here on, the node's next activity sets it again. */
	cpumask_clear_cpu(cpu, node->group->active);
	psi_node_set_tell(node, PSI_NONIDLE, true);
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

	return psi_node_states(node) & BIT(state);
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

	nodes_write_begin(cpu_rq(cpu));
	psi_node_set_tell(node, state, tell);
	nodes_write_end(cpu_rq(cpu));
}
