// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the hooks that the scheduler and mm call.
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
 *    runnable and waits. The former, while queued, is PSI_TASK_THROTTLED: fair.c reports
 *    the tasks that are queued in a group when throttling begins and ends, and enqueue
 *    checks those that come later. deadline.c reports a throttled task that loses its CPU
 *    to hotplug, as that one moves without being queued.
 *
 * PSI's own threads contribute nothing and make nobody wait: a task that they preempt
 * counts as on the CPU until another task runs there or it is moved away. Otherwise
 * measuring pressure would cause some.
 *
 * Clock: the runqueue's, which the scheduler has usually updated before it calls. Where
 * it has not, the clock is read here and kept in rq->psi_clock. psi_rq_clock() is the
 * later of the two, so that a CPU's times are written in the order of its clock. Readers
 * use cpu_clock(), which may be a little ahead of that.
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
 * so. Only this file and psi_debug.c know struct rq.
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

#include "psi_node.c"

/* Version of the series, for bug reports. */
#define PSI_VERSION	"v1"
MODULE_VERSION(PSI_VERSION);

DEFINE_STATIC_KEY_FALSE(psi_enabled);

/* If false, tasks are PSI_TASK_EXEMPT. See psi_set_counting(). */
static bool psi_counting __read_mostly;

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
 * psi_init - enable accounting, before there is a second task
 *
 * If it is not wanted, the system has its group all the same, and nothing happens in it.
 */
void __init psi_init(void)
{
	int cpu;

	psi_node_setup();

	for_each_possible_cpu(cpu) {
		seqcount_init(&cpu_rq(cpu)->psi_seq);
		psi_node_init(per_cpu_ptr(&psi_system_nodes, cpu), NULL);
		per_cpu_ptr(&psi_system_nodes, cpu)->group = &psi_system;
		psi_node_set_idle(per_cpu_ptr(&psi_system_nodes, cpu));
	}
	psi_group_init(&psi_system, &psi_system_nodes, &psi_system_active,
		       local_clock());
	psi_system.id = 1;
	psi_debug_group_add(&psi_system);

	if (psi_wanted && !psi_system_add_causes(GFP_NOWAIT)) {
		psi_counting = true;
		static_branch_enable(&psi_enabled);
	}
	pr_info("series %s, accounting is %s\n", PSI_VERSION, str_on_off(psi_counting));
}

/**
 * psi_system_add_causes - allocate the system's counters of causes, if it has none
 * @gfp: how to allocate; they are never freed
 *
 * Return: 0 or -ENOMEM.
 */
int psi_system_add_causes(gfp_t gfp)
{
	struct psi_cause_shard *shards;

	if (psi_system.causes.shards)
		return 0;
	shards = psi_cause_shards_alloc(gfp);
	if (!shards)
		return -ENOMEM;
	psi_causes_init(&psi_system.causes, shards, psi_cause_nr_shards(), NULL);
	return 0;
}

/* --------------------------- Tasks to nodes --------------------------- */

static noinline void find_node(struct task_struct *p, int cpu)
{
	struct psi_group *acct = READ_ONCE(p->psi.group->acct_group);

	p->psi.node = acct ? per_cpu_ptr(acct->nodes, cpu) : NULL;
	p->psi.cpu = cpu;
}

/**
 * psi_rq_clock - the time by which PSI writes about a CPU
 * @rq: its runqueue, locked
 *
 * Return: the runqueue's clock, or PSI's own later reading of it; ns.
 */
u64 psi_rq_clock(const struct rq *rq)
{
	return max(rq->clock, rq->psi_clock);
}

/* For calls from the scheduler, units. */
static u32 sched_now(struct rq *rq)
{
	return psi_units(psi_rq_clock(rq));
}

/*
 * For callers whose rq->clock may be old, ns. It stays as it is: update_rq_clock() also
 * accounts irq, steal and load, which costs more than a whole switch.
 */
static u64 read_clock(struct rq *rq)
{
	rq->psi_clock = max(psi_rq_clock(rq), sched_clock_cpu(cpu_of(rq)));
	return rq->psi_clock;
}

/* The same, units. */
static u32 read_now(struct rq *rq)
{
	return psi_units(read_clock(rq));
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
						     u8 contrib)
{
	struct psi_change c = { p->psi.node, p->psi.contrib, contrib };

	psi_debug_contrib(rq, p, contrib);
	p->psi.contrib = contrib;
	return c;
}

/* The same for any change. Looks up the node if none counts the task yet. */
static __always_inline struct psi_change contrib_change(struct rq *rq,
							struct task_struct *p, u8 contrib)
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

/* Nearly all changes end in @node. */
static __always_inline void write_change(struct rq *rq, struct psi_node *node, u32 old,
					 u32 new, u32 now)
{
	/* Rare bits are counted inline only if the compiler knows that they change. */
	const bool rare = __builtin_constant_p(is_rare(old, new)) && is_rare(old, new);
	u32 before, notify;

	if (!node || old == new)
		return;

	nodes_write_begin(rq, now);
	if (unlikely(node->flags || (!rare && is_rare(old, new)))) {
		write_change_slowly(rq, (struct psi_change) { node, old, new }, now);
		return;
	}

	before = node->contrib;
	node_count(node, old, new, rare);
	if (node->contrib != before) {
		notify = node_update_states(node, now);
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
					    u8 contrib, u32 now)
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

/* ------------------------------ The hooks ------------------------------ */

/**
 * psi_idle_task - idle tasks do not count
 * @idle: the idle task of a CPU, before it runs
 */
void psi_idle_task(struct task_struct *idle)
{
	idle->psi.flags = PSI_TASK_EXEMPT;
}

/* For a task that is queued. */
static noinline void set_throttled(struct rq *rq, struct task_struct *p, bool throttled)
{
	if (throttled)
		p->psi.flags |= PSI_TASK_THROTTLED;
	else
		p->psi.flags &= ~PSI_TASK_THROTTLED;

	/* On the CPU, the switch will count it; asleep, it contributes the same. */
	if ((p->psi.flags & (PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)) == PSI_TASK_RUNNABLE)
		account_task(rq, p, sched_now(rq));
}

#ifdef CONFIG_CFS_BANDWIDTH
/* Is the task, if queued, throttled by a cpu.max? */
static bool is_throttled(const struct task_struct *p)
{
	return p->sched_class == &fair_sched_class && p->se.cfs_rq->throttle_count;
}

void __psi_throttle(struct rq *rq, struct cfs_rq *cfs_rq, bool throttled)
{
	struct sched_entity *se = cfs_rq->curr;
	struct rb_node *rb;

	/* Not a task that has just blocked: nothing would clear its flag. */
	if (se && se->on_rq && entity_is_task(se))
		set_throttled(rq, task_of(se), throttled);
	for (rb = rb_first_cached(&cfs_rq->tasks_timeline); rb; rb = rb_next(rb)) {
		se = rb_entry(rb, struct sched_entity, run_node);
		if (entity_is_task(se))
			set_throttled(rq, task_of(se), throttled);
	}
}
#else
static bool is_throttled(const struct task_struct *p)
{
	return false;
}
#endif

static __always_inline void enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	if (flags & ENQUEUE_RESTORE)
		return;

	if (flags & (ENQUEUE_WAKEUP | ENQUEUE_INITIAL | ENQUEUE_DELAYED)) {
		p->psi.flags |= PSI_TASK_RUNNABLE;
		p->psi.flags &= ~PSI_TASK_IOWAIT;
	}

	/* Woken on its way off the CPU: the switch will count it. */
	if (p->psi.flags & PSI_TASK_ONCPU)
		return;

	account_task(rq, p, sched_now(rq));
}

/* The task has slept, or has changed its CPU, class or group. */
static noinline void enqueue_throttle_changed(struct rq *rq, struct task_struct *p, int flags)
{
	set_throttled(rq, p, is_throttled(p));
	enqueue(rq, p, flags);
}

void __psi_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	if (psi_quotas_are_used() &&
	    unlikely(is_throttled(p) != !!(p->psi.flags & PSI_TASK_THROTTLED)))
		enqueue_throttle_changed(rq, p, flags);
	else
		enqueue(rq, p, flags);
}

/* A task that a PSI thread has preempted loses the CPU. */
static void end_preempted(struct rq *rq, struct task_struct *p)
{
	p->psi.flags &= ~(PSI_TASK_PREEMPTED | PSI_TASK_ONCPU);
	rq->psi.preempted = NULL;
}

void __psi_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	if (flags & DEQUEUE_SAVE)
		return;

	if (unlikely(p->psi.flags & PSI_TASK_PREEMPTED))
		end_preempted(rq, p);

	if (!(flags & DEQUEUE_SLEEP)) {
		p->psi.flags &= ~PSI_TASK_THROTTLED;
		unaccount_task(rq, p, sched_now(rq));
		return;
	}

	p->psi.flags &= ~(PSI_TASK_RUNNABLE | PSI_TASK_THROTTLED);
	if (psi_waits_for_io(p))
		p->psi.flags |= PSI_TASK_IOWAIT;

	/* On the CPU, the switch will count it. */
	if (!(p->psi.flags & PSI_TASK_ONCPU))
		account_task(rq, p, sched_now(rq));
}

static noinline void switch_any(struct rq *rq, struct task_struct *prev,
				struct task_struct *next)
{
	struct psi_change from, to;

	from = contrib_change(rq, prev, psi_task_contrib(prev->psi.flags));
	to = contrib_change(rq, next, psi_task_contrib(next->psi.flags));
	write_switch(rq, from, to, sched_now(rq));
}

/* Finish a switch between siblings: their common parent contributed @before until now. */
static noinline void switch_above(struct rq *rq, struct psi_node *from, struct psi_node *to,
				  u32 before, u32 now, u32 notify)
{
	struct psi_node *above = from->acct_parent;

	if (above->contrib != before)
		notify |= climb_from(above, before, now);
	write_end_notify(rq, from, notify);
	if (notify)
		notify_from(to, cpu_of(rq), 0);
}

static noinline void switch_tasks(struct rq *rq, struct task_struct *prev,
				  struct task_struct *next)
{
	u32 now = sched_now(rq), before, notify;
	struct psi_change from, to;

	prev->psi.flags &= ~PSI_TASK_ONCPU;
	next->psi.flags |= PSI_TASK_ONCPU;
	from = (struct psi_change) {
		prev->psi.node, prev->psi.contrib, psi_task_contrib(prev->psi.flags),
	};
	to = (struct psi_change) {
		next->psi.node, next->psi.contrib, psi_task_contrib(next->psi.flags),
	};
	if (!from.old || !to.old || !are_siblings(from, to)) {
		switch_any(rq, prev, next);
		return;
	}
	set_contrib(rq, prev, from.new);
	set_contrib(rq, next, to.new);

	nodes_write_begin(rq, now);
	if (switch_siblings(from, to, now, &before, &notify) || unlikely(notify))
		switch_above(rq, from.node, to.node, before, now, notify);
	else
		nodes_write_end(rq);
}

/*
 * Both tasks are in one group, and @next contributes on the CPU what @prev did: all that
 * changes is which task waits, if any. Return: false if that is not so.
 */
static __always_inline bool switch_in_group(struct rq *rq, struct task_struct *prev,
					    struct task_struct *next)
{
	u8 prev_flags = prev->psi.flags & ~PSI_TASK_ONCPU;
	u8 next_flags = next->psi.flags | PSI_TASK_ONCPU;
	u32 oncpu = prev->psi.contrib, waiting = next->psi.contrib, off;

	if (prev->psi.node != next->psi.node || !waiting ||
	    psi_task_contrib(next_flags) != oncpu)
		return false;

	off = psi_task_contrib(prev_flags);
	prev->psi.flags = prev_flags;
	next->psi.flags = next_flags;
	set_contrib(rq, prev, off);
	set_contrib(rq, next, oncpu);

	write_change(rq, prev->psi.node, waiting, off, sched_now(rq));
	return true;
}

/* Either is a thread of PSI, and a task that one of those preempts keeps the CPU. */
static noinline void switch_kthread(struct rq *rq, struct task_struct *prev,
				    struct task_struct *next)
{
	struct task_struct *owner = rq->psi.preempted ?: prev;

	if (next->psi.flags & PSI_TASK_KTHREAD) {
		if (owner->psi.flags & PSI_TASK_RUNNABLE &&
		    !(owner->psi.flags & PSI_TASK_EXEMPT)) {
			owner->psi.flags |= PSI_TASK_PREEMPTED;
			rq->psi.preempted = owner;
			return;
		}
	} else if (rq->psi.preempted) {
		end_preempted(rq, owner);
	}
	switch_tasks(rq, owner, next);
}

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
static u64 irq_ns(struct rq *rq)
{
	return irq_time_read(cpu_of(rq));
}
#else
static u64 irq_ns(struct rq *rq)
{
	return 0;
}
#endif

/* Account interrupt time to the task on the CPU. */
static void take_irq_time(struct rq *rq, struct task_struct *p)
{
	u32 units = psi_units(irq_ns(rq)) - psi_units(rq->psi.irq_ns);
	bool notify;

	rq->psi.irq_ns = irq_ns(rq);
	if (!units || !(p->psi.contrib & PSI_ONCPU))
		return;

	nodes_write_begin(rq, sched_now(rq));
	notify = psi_node_irq(p->psi.node, units);
	nodes_write_end(rq);

	if (unlikely(notify))
		notify_from(p->psi.node, cpu_of(rq), BIT(PSI_IRQ_FULL));
}

void __psi_tick(struct rq *rq, struct task_struct *curr)
{
	if (rq->psi.irq_ns != irq_ns(rq))
		take_irq_time(rq, curr);
	psi_debug_tick(rq);
}

static noinline void switch_after_irq(struct rq *rq, struct task_struct *prev,
				      struct task_struct *next)
{
	take_irq_time(rq, prev);
	__psi_switch(rq, prev, next);
}

void __psi_schedule(struct rq *rq)
{
	read_clock(rq);
}

void __psi_switch(struct rq *rq, struct task_struct *prev,
		  struct task_struct *next)
{
	if (unlikely(rq->psi.irq_ns != irq_ns(rq)))
		switch_after_irq(rq, prev, next);
	else if (unlikely((prev->psi.flags | next->psi.flags) & PSI_TASK_KTHREAD))
		switch_kthread(rq, prev, next);
	else if (!switch_in_group(rq, prev, next))
		switch_tasks(rq, prev, next);
}

/* Take a task that is on no runqueue off its last CPU, whose rq lock this takes. */
static void unaccount_sleeper(struct task_struct *p)
{
	/* Nobody else can move the task now: no need to check task_rq() under the lock. */
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	unaccount_task(rq, p, read_now(rq));
}

void __psi_wake_migrate(struct task_struct *p)
{
	if (p->psi.contrib)
		unaccount_sleeper(p);
}

/* End a section that its task will not end. Takes the rq lock. */
static void end_cause(struct task_struct *p)
{
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	psi_cause_end(p, read_clock(rq));
}

/**
 * psi_task_dead - a task has left its last CPU for good
 * @p: the task; it counts only if an oops killed it inside a memory stall section
 *
 * Context: no locks held.
 */
void psi_task_dead(struct task_struct *p)
{
	if (unlikely(p->psi.cause_shard))
		end_cause(p);
	if (unlikely(p->psi.contrib))
		unaccount_sleeper(p);
}

static noinline void account_current(struct rq *rq, u32 now)
{
	account_task(rq, current, now);
}

/* What a running task contributes outside of a memory stall section, and inside. */
#define RUNNING			(PSI_PRODUCTIVE | PSI_ONCPU)
#define RUNNING_STALLED		(PSI_MEMSTALL | PSI_ONCPU | PSI_ONCPU_MEMSTALL)

/*
 * The current task leaves a section for @was and enters one for @cause; PSI_CAUSE_NONE
 * stands for none. Its contribution normally goes from @old to @new. Takes the rq lock.
 */
static __always_inline void toggle_current(u8 flags, u32 old, u32 new, enum psi_cause was,
					   enum psi_cause cause)
{
	struct task_struct *p = current;
	struct rq_flags rf;
	struct rq *rq;
	u64 clock;
	u32 now;

	rq = this_rq_lock_irq(&rf);
	clock = read_clock(rq);
	now = psi_units(clock);
	if (was != PSI_CAUSE_NONE)
		psi_cause_end(p, clock);
	if (cause != PSI_CAUSE_NONE)
		psi_cause_begin(p, cause, cpu_of(rq), clock);
	p->psi.flags ^= flags;
	if (likely(p->psi.contrib == old && psi_task_contrib(p->psi.flags) == new)) {
		set_contrib(rq, p, new);
		write_change(rq, p->psi.node, old, new, now);
	} else {
		account_current(rq, now);
	}
	rq_unlock_irq(rq, &rf);
}

/*
 * With accounting off a task still records its cause, in case accounting is switched on
 * in the middle of the section. Return: false if that has happened.
 */
static noinline bool set_cause_while_off(enum psi_cause cause)
{
	/* psi_enable() waits for tasks that have seen psi_enabled off (RCU). */
	guard(preempt)();

	if (static_branch_unlikely(&psi_enabled))
		return false;
	current->psi.cause = cause;
	return true;
}

/* Into or out of a section that is no stall, or a stall nested in one. */
static noinline void toggle_requested(enum psi_cause was, enum psi_cause cause)
{
	bool stalls = psi_cause_is_stall(cause) != psi_cause_is_stall(was);

	toggle_current(stalls ? PSI_TASK_MEMSTALL : 0, RUNNING, RUNNING, was, cause);
}

/**
 * psi_memstall_enter - begin of a section that a lack of memory makes necessary
 * @flags: kept for psi_memstall_leave()
 *
 * The task counts as stalled on memory until psi_memstall_leave(), asleep or running.
 * Sections nest; only the outermost one counts. Its cause is that of
 * psi_memstall_enter_cause(), or else "other".
 *
 * PSI_CAUSE_REQUESTED_RECLAIM is no stall, as nothing is short; only its time is
 * measured. A stall nested in it interrupts it.
 *
 * Context: process context, interrupts on.
 */
void psi_memstall_enter(unsigned long *flags)
{
	enum psi_cause was = current->psi.cause;
	enum psi_cause cause = current->psi.next_cause ?: PSI_CAUSE_OTHER;

	*flags = was;
	current->psi.next_cause = PSI_CAUSE_NONE;
	if (!static_branch_unlikely(&psi_enabled) &&
	    set_cause_while_off(psi_cause_is_stall(was) ? was : cause))
		return;

	if (likely(was == PSI_CAUSE_NONE && psi_cause_is_stall(cause)))
		toggle_current(PSI_TASK_MEMSTALL, RUNNING, RUNNING_STALLED, PSI_CAUSE_NONE, cause);
	else if (!psi_cause_is_stall(was) && was != cause)
		toggle_requested(was, cause);
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
	enum psi_cause was = current->psi.cause;

	if (was == *flags || was == PSI_CAUSE_NONE)
		return;
	if (!static_branch_unlikely(&psi_enabled) && set_cause_while_off(*flags))
		return;
	/* toggle_current() asks only whether there was a cause: pass a constant. */
	if (likely(*flags == PSI_CAUSE_NONE && was != PSI_CAUSE_REQUESTED_RECLAIM))
		toggle_current(PSI_TASK_MEMSTALL, RUNNING_STALLED, RUNNING,
			       PSI_CAUSE_OTHER, PSI_CAUSE_NONE);
	else
		toggle_requested(was, *flags);
}
EXPORT_SYMBOL_GPL(psi_memstall_leave);

/* ------------------------------- Cgroups ------------------------------- */

/* Move what is counted of the task to the node where it belongs now. */
static void recount(struct rq *rq, struct task_struct *p, u32 now)
{
	struct psi_change from = { .node = p->psi.node, .old = p->psi.contrib };
	struct psi_change to = { .new = p->psi.contrib };

	if (!p->psi.contrib) {
		p->psi.cpu = -1;
		return;
	}

	/* Interrupt time so far belongs to the old group. */
	if (p->psi.contrib & PSI_ONCPU)
		take_irq_time(rq, p);
	find_node(p, cpu_of(rq));
	to.node = p->psi.node;
	if (to.node != from.node)
		write_switch(rq, from, to, now);
}

static void set_group(struct rq *rq, struct task_struct *p, struct psi_group *group, u32 now)
{
	if (p->psi.group == group)
		return;
	if (unlikely(p->psi.cause_shard))
		psi_cause_move(p, group, cpu_of(rq), psi_rq_clock(rq));
	p->psi.group = group;
	recount(rq, p, now);
}

/**
 * psi_move_task - a task moves to another group and takes its state along
 * @p:     the task
 * @group: the group, which lives as long as @p is in it
 *
 * Context: any without p->pi_lock; nobody else moves the task.
 */
void psi_move_task(struct task_struct *p, struct psi_group *group)
{
	struct rq_flags rf;
	struct rq *rq;
	u32 now;

	rq = task_rq_lock(p, &rf);
	now = read_now(rq);
	/* After psi_set_counting(false), tasks leave their groups, which are then freed. */
	set_group(rq, p, READ_ONCE(psi_counting) ? group : &psi_system, now);
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

/**
 * psi_recount_task - psi_group::acct_group of a task's group has changed
 * @p: the task
 *
 * Context: any without p->pi_lock.
 */
void psi_recount_task(struct task_struct *p)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = task_rq_lock(p, &rf);
	recount(rq, p, read_now(rq));
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

/* The old and the new parent may be NULL. */
static void set_node_parent(struct rq *rq, struct psi_node *node,
			    struct psi_node *parent, u32 now)
{
	struct psi_node *was = node->parent;
	bool notify;

	nodes_write_begin(rq, now);
	notify = psi_node_set_parent(node, parent, now);
	nodes_write_end(rq);
	/* With one contributor less, "full" may begin. */
	if (notify && was)
		notify_from(was, cpu_of(rq), 0);
	if (notify && parent)
		notify_from(parent, cpu_of(rq), 0);
}

static void set_parents_on(struct rq *rq, struct psi_group * const groups[], unsigned int nr,
			   struct psi_group *parent)
{
	int cpu = cpu_of(rq);
	unsigned int i;
	u32 now;

	guard(rq_lock_irq)(rq);
	now = read_now(rq);
	for (i = 0; i < nr; i++)
		set_node_parent(rq, per_cpu_ptr(groups[i]->nodes, cpu),
				parent ? per_cpu_ptr(parent->nodes, cpu) : NULL, now);
}

/**
 * psi_set_parents - let groups contribute to another one
 * @groups: the groups
 * @nr:     how many, up to PSI_SET_PARENTS_MAX
 * @parent: an ancestor of all of them that is switched on, or NULL
 *
 * Context: may sleep; takes one rq lock after the other.
 */
void psi_set_parents(struct psi_group * const groups[], unsigned int nr,
		     struct psi_group *parent)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		set_parents_on(cpu_rq(cpu), groups, nr, parent);
		cond_resched();
	}
}

static void detach_node(struct rq *rq, struct psi_node *node)
{
	guard(rq_lock_irq)(rq);

	nodes_write_begin(rq, sched_now(rq));
	psi_node_detach(node);
	nodes_write_end(rq);
}

/**
 * psi_nodes_detach - make all but readers under RCU let go of a group's nodes
 * @group: the group, in which nothing can happen
 *
 * Context: may sleep; takes one rq lock after the other.
 */
void psi_nodes_detach(struct psi_group *group)
{
	struct psi_node *node;
	int cpu;

	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(group->nodes, cpu);
		if (psi_node_is_followed(node))
			detach_node(cpu_rq(cpu), node);
		cond_resched();
	}
}

/* ------------------------ Switching on and off ------------------------ */

/* Stop counting a task. It still records what it does itself. */
static void exempt(struct rq *rq, struct task_struct *p, u8 flags, u32 now)
{
	if (p->psi.contrib & PSI_ONCPU)
		take_irq_time(rq, p);
	if (p->psi.flags & PSI_TASK_PREEMPTED)
		end_preempted(rq, p);
	if (p->psi.cause_shard)
		psi_cause_suspend(p, psi_rq_clock(rq));
	p->psi.flags |= PSI_TASK_EXEMPT | flags;
	account_task(rq, p, now);
	p->psi.cpu = -1;
}

void __psi_wake_new(struct task_struct *p)
{
	if (READ_ONCE(psi_counting))
		p->psi.flags &= ~PSI_TASK_EXEMPT;
}

/* The flags that hooks would have set, by the state of the scheduler and the task. */
static u8 flags_by_facts(struct rq *rq, struct task_struct *p)
{
	u8 flags = 0;

	if (task_on_rq_queued(p) && is_throttled(p))
		flags |= PSI_TASK_THROTTLED;
	if (task_on_rq_queued(p) && !p->se.sched_delayed)
		flags |= PSI_TASK_RUNNABLE;
	else if (psi_waits_for_io(p))
		flags |= PSI_TASK_IOWAIT;
	if (psi_cause_is_stall(p->psi.cause))
		flags |= PSI_TASK_MEMSTALL;
	if (rcu_access_pointer(rq->curr) == p)
		flags |= PSI_TASK_ONCPU;
	return flags;
}

static void begin_counting(struct rq *rq, struct task_struct *p, u32 now)
{
	u8 flags = flags_by_facts(rq, p);

	/* Interrupt time up to here belongs to nobody. */
	if (flags & PSI_TASK_ONCPU)
		rq->psi.irq_ns = irq_ns(rq);
	p->psi.flags = flags;
	if (p->psi.cause != PSI_CAUSE_NONE)
		psi_cause_resume(p, cpu_of(rq), psi_rq_clock(rq));

	/* A task that has blocked and is on its way off the CPU runs until the switch. */
	if (flags & PSI_TASK_ONCPU)
		flags = (flags & ~PSI_TASK_IOWAIT) | PSI_TASK_RUNNABLE;
	account_contrib(rq, p, psi_task_contrib(flags), now);
}

/**
 * psi_count_task - count a task from now on, by its present state
 * @p:     the task, which nobody moves; skipped if it exits, or is a thread of PSI
 * @group: its group; a task that is counted already moves there
 *
 * Context: any without p->pi_lock; after psi_set_counting(true).
 */
void psi_count_task(struct task_struct *p, struct psi_group *group)
{
	struct rq_flags rf;
	struct rq *rq;
	bool was_exempt;
	u32 now;

	rq = task_rq_lock(p, &rf);
	now = read_now(rq);
	was_exempt = p->psi.flags & PSI_TASK_EXEMPT;
	/* A task that is not PF_EXITING here will see psi_enabled in psi_exit_begin(). */
	if (!was_exempt || !(p->flags & PF_EXITING)) {
		set_group(rq, p, group, now);
		if (was_exempt && !(p->psi.flags & PSI_TASK_KTHREAD))
			begin_counting(rq, p, now);
	}
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

/**
 * psi_uncount_task - take a task out of its group and stop counting it
 * @p: the task
 *
 * Context: any without p->pi_lock; after psi_set_counting(false).
 */
void psi_uncount_task(struct task_struct *p)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = task_rq_lock(p, &rf);
	exempt(rq, p, 0, read_now(rq));
	p->psi.group = &psi_system;
	task_rq_unlock(rq, p, &rf);
	__release(rq->lock);	/* sparse does not see it in there */
}

/**
 * psi_set_counting - count new tasks when they wake up for the first time, or do not
 * @counting: true to count them
 *
 * With false, tasks that move get the system's group. Returns when nobody acts on the old
 * value any more. Existing tasks stay counted or not until psi_count_task() or
 * psi_uncount_task().
 *
 * Context: may sleep; psi_enabled is true, and callers exclude each other.
 */
void psi_set_counting(bool counting)
{
	WRITE_ONCE(psi_counting, counting);
	synchronize_rcu();
}

/* ------------------------- Folds and triggers ------------------------- */

/**
 * psi_exempt_current - do not account the current task, a thread of PSI
 *
 * Context: process context, interrupts on; takes the rq lock.
 */
void psi_exempt_current(void)
{
	struct rq_flags rf;
	struct rq *rq;

	rq = this_rq_lock_irq(&rf);
	exempt(rq, current, PSI_TASK_KTHREAD, read_now(rq));
	rq_unlock_irq(rq, &rf);
}

/**
 * psi_cpu_times - times of a node, up to now
 * @node:  the node
 * @cpu:   its CPU
 * @times: PSI_NR_STATES of them, units modulo 2^32
 *
 * Context: any without the CPU's rq lock.
 * Return: mask of the states that the node is in.
 */
u16 psi_cpu_times(const struct psi_node *node, int cpu, u32 times[])
{
	seqcount_t *seq = &cpu_rq(cpu)->psi_seq;
	unsigned int start;
	u16 states;

	guard(rcu)();
	do {
		start = read_seqcount_begin(seq);
		states = psi_node_times(node, reader_now(cpu), times);
	} while (read_seqcount_retry(seq, start));

	return states;
}

/**
 * psi_cpu_is_busy - is the node not idle?
 * @node: the node
 * @cpu:  its CPU
 *
 * Context: any without the CPU's rq lock.
 * Return: true if it is not.
 */
bool psi_cpu_is_busy(const struct psi_node *node, int cpu)
{
	seqcount_t *seq = &cpu_rq(cpu)->psi_seq;
	unsigned int start;
	u16 states;

	guard(rcu)();
	do {
		start = read_seqcount_begin(seq);
		states = psi_node_states(node);
	} while (read_seqcount_retry(seq, start));

	return states;
}

/**
 * psi_cpu_idle - take a CPU out of psi_group::active, unless it is busy or not folded
 * @node: the group's node; then notifies of its next activity and first stall (notify_from())
 * @cpu:  its CPU
 *
 * Context: the thread that folds, interrupts on; takes the CPU's rq lock.
 */
void psi_cpu_idle(struct psi_node *node, int cpu)
{
	u32 times[PSI_NR_STATES];

	guard(rq_lock_irq)(cpu_rq(cpu));

	if (psi_node_states(node))
		return;
	psi_node_times(node, 0, times);		/* no state lasts */
	if (psi_elapsed(node->folded[PSI_NONIDLE], times[PSI_NONIDLE]))
		return;

	/* Under one rq lock: the node's next activity sets the bit again. */
	cpumask_clear_cpu(cpu, node->group->active);
	atomic_dec(&node->group->nr_active);
	psi_node_set_idle(node);
}

/**
 * psi_cpu_unstalled - let a node notify of the next stall
 * @node: the group's node, in which nothing has stalled for a period
 * @cpu:  its CPU
 *
 * Context: the thread that folds, interrupts on; takes the CPU's rq lock.
 * Return: false if it is stalled now.
 */
bool psi_cpu_unstalled(struct psi_node *node, int cpu)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	return psi_node_set_unstalled(node);
}

/**
 * psi_cpu_watch - call psi_trigger_notify() when a state begins
 * @node:  the node
 * @cpu:   its CPU
 * @state: the state, which has triggers
 *
 * Context: interrupts on; takes the CPU's rq lock, which orders this against changes of
 * the node.
 * Return: true if the node is in that state.
 */
bool psi_cpu_watch(struct psi_node *node, int cpu, enum psi_state state)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	if (!(node->notify & BIT(state)))
		watch_states(node, cpu, BIT(state));
	return psi_node_states(node) & BIT(state);
}
