// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the hooks that the scheduler and mm call. Part of psi.c, which
 * describes the cases, the clock and the locks.
 */

/**
 * psi_idle_task - idle tasks do not count
 * @idle: the idle task of a CPU, before it runs
 */
void psi_idle_task(struct task_struct *idle)
{
	idle->psi.flags = PSI_TASK_EXEMPT;
}

/**
 * psi_fork - a new task, which is not visible yet
 * @p: the task, a copy of its parent
 */
void psi_fork(struct task_struct *p)
{
	p->psi = (struct psi_task) { .group = &psi_system, .cpu = -1 };
}

void __psi_throttle(struct rq *rq, struct task_struct *p, bool throttled)
{
	if (throttled)
		p->psi.flags |= PSI_TASK_THROTTLED;
	else
		p->psi.flags &= ~PSI_TASK_THROTTLED;

	/* On the CPU, the switch will count it; asleep, it contributes the same. */
	if ((p->psi.flags & (PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)) == PSI_TASK_RUNNABLE)
		account_task(rq, p, sched_now(rq));
}

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
	__psi_throttle(rq, p, task_waits_for_quota(p));
	enqueue(rq, p, flags);
}

void __psi_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	if (psi_quotas_are_used() &&
	    unlikely(task_waits_for_quota(p) != !!(p->psi.flags & PSI_TASK_THROTTLED)))
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

/* All but a task that blocks on the CPU: no switch will count these. */
static noinline void dequeue_account(struct rq *rq, struct task_struct *p, int flags)
{
	if (p->psi.flags & PSI_TASK_PREEMPTED)
		end_preempted(rq, p);

	if (flags & DEQUEUE_SLEEP) {
		account_task(rq, p, sched_now(rq));
	} else {
		p->psi.flags &= ~PSI_TASK_THROTTLED;
		unaccount_task(rq, p, sched_now(rq));
	}
}

void __psi_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	if (flags & DEQUEUE_SAVE)
		return;

	if (flags & DEQUEUE_SLEEP) {
		p->psi.flags &= ~(PSI_TASK_RUNNABLE | PSI_TASK_THROTTLED);
		if (psi_waits_for_io(p))
			p->psi.flags |= PSI_TASK_IOWAIT;

		/* The switch will count a task that has the CPU. */
		if (likely((p->psi.flags & (PSI_TASK_ONCPU | PSI_TASK_PREEMPTED)) ==
			   PSI_TASK_ONCPU))
			return;
	}
	dequeue_account(rq, p, flags);
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
 * changes is which task waits, if any. Return: false if that is not so. It is never so if
 * either is a thread of PSI: that contributes nothing, and a task on the CPU something.
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

	if (waiting != off)
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
/*
 * Not rq->prev_irq_time: what an interrupt takes after it has woken a task on an idle CPU
 * gets there only when that task runs.
 */
static u64 irq_ns(struct rq *rq)
{
	return irq_time_read(cpu_of(rq));
}

/* The same for this CPU. With interrupts off nobody writes it, so no retry is needed. */
static u64 irq_ns_here(void)
{
	return __this_cpu_read(cpu_irqtime.total);
}
#else
static u64 irq_ns(struct rq *rq)
{
	return 0;
}

static u64 irq_ns_here(void)
{
	return 0;
}
#endif

/* Account interrupt time to the task on the CPU. */
static void take_irq_time(struct rq *rq, struct task_struct *p)
{
	u32 units = -psi_units(rq->psi.irq_ns);
	bool notify;

	/* Another CPU's may grow: count what is stored, whatever it is by now. */
	rq->psi.irq_ns = irq_ns(rq);
	units += psi_units(READ_ONCE(rq->psi.irq_ns));
	if (!units || !(p->psi.contrib & PSI_ONCPU))
		return;

	nodes_write_begin(rq, sched_now(rq));
	notify = psi_node_irq(p->psi.node, units);
	nodes_write_end(rq);

	if (unlikely(notify))
		notify_from(p->psi.node, cpu_of(rq), BIT(PSI_IRQ_FULL));
}

/* While a thread of PSI runs, interrupts take time from no task. */
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

/* @rq is this CPU's. Threads of PSI come late, as switch_in_group() is false for them. */
void __psi_switch(struct rq *rq, struct task_struct *prev,
		  struct task_struct *next)
{
	if (unlikely(rq->psi.irq_ns != irq_ns_here()))
		switch_after_irq(rq, prev, next);
	else if (switch_in_group(rq, prev, next))
		return;
	else if (unlikely((prev->psi.flags | next->psi.flags) & PSI_TASK_KTHREAD))
		switch_kthread(rq, prev, next);
	else
		switch_tasks(rq, prev, next);
}

/* Take a task that is on no runqueue off its last CPU, whose rq lock this takes. */
static void unaccount_sleeper(struct task_struct *p)
{
	/* Nobody else can move the task now: no need to check task_rq() under the lock. */
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	unaccount_task(rq, p, update_now(rq));
}

void __psi_wake_migrate(struct task_struct *p)
{
	if (p->psi.contrib)
		unaccount_sleeper(p);
}

/* ------------------------ Memory stall sections ------------------------ */

/* Here and below: rq->clock is up to date. */
static __always_inline void section_begin_here(struct rq *rq, struct task_struct *p)
{
	struct psi_cause_shard *shards = p->psi.group->causes.shards;

	p->psi.cause_begun = rq->clock;
	p->psi.cause_shard = &shards[(unsigned int)cpu_of(rq) / PSI_CPUS_PER_SHARD];
	psi_shard_begin(p->psi.cause_shard, p->psi.cause, rq->clock);
	if (trace_psi_stall_begin_enabled())
		psi_cause_trace_begin(p);
}

static __always_inline void section_end_here(struct rq *rq, struct task_struct *p)
{
	u64 ns = psi_shard_end(p->psi.cause_shard, p->psi.cause, p->psi.cause_begun, rq->clock);

	if (trace_psi_stall_end_enabled())
		psi_cause_trace_end(p, ns);
}

/* The current task, which is in none, begins a section; @cause is not PSI_CAUSE_NONE. */
static __always_inline void section_begin(struct rq *rq, struct task_struct *p,
					  enum psi_cause cause)
{
	p->psi.cause = cause;
	if (likely(!(p->psi.flags & PSI_TASK_EXEMPT)))
		section_begin_here(rq, p);
}

/* The task, current or dead, is in the group in which its section began. */
static __always_inline void section_end(struct rq *rq, struct task_struct *p)
{
	if (likely(p->psi.cause_shard)) {
		section_end_here(rq, p);
		p->psi.cause_shard = NULL;
	}
	p->psi.cause = PSI_CAUSE_NONE;
}

/* The task is in a section that is recorded. While it runs, it sees the section go on. */
static void section_move(struct rq *rq, struct task_struct *p, struct psi_group *group)
{
	section_end_here(rq, p);
	p->psi.group = group;
	section_begin_here(rq, p);
}

/* End a section that its task will not end. Takes the rq lock. */
static void end_section(struct task_struct *p)
{
	struct rq *rq = task_rq(p);

	guard(rq_lock_irqsave)(rq);
	update_rq_clock(rq);
	section_end(rq, p);
}

void __psi_task_dead(struct task_struct *p)
{
	if (unlikely(p->psi.cause_shard))
		end_section(p);
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
	u32 now;

	rq = this_rq_lock_irq(&rf);
	now = update_now(rq);
	if (was != PSI_CAUSE_NONE)
		section_end(rq, p);
	if (cause != PSI_CAUSE_NONE)
		section_begin(rq, p, cause);
	p->psi.flags ^= flags;
	if (likely(p->psi.contrib == old && psi_task_contrib(p->psi.flags) == new)) {
		set_contrib(rq, p, new);
		if (old != new)
			write_change_bits(rq, p->psi.node, old, new, now, true);
	} else {
		account_current(rq, now);
	}
	rq_unlock_irq(rq, &rf);
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
	enum psi_cause was, cause;

	if (!static_branch_unlikely(&psi_enabled))
		return;
	was = current->psi.cause;
	cause = current->psi.next_cause ?: PSI_CAUSE_OTHER;
	*flags = was;
	current->psi.next_cause = PSI_CAUSE_NONE;

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
	enum psi_cause was;

	if (!static_branch_unlikely(&psi_enabled))
		return;
	was = current->psi.cause;
	if (was == *flags || was == PSI_CAUSE_NONE)
		return;
	/* toggle_current() asks only whether there was a cause: pass a constant. */
	if (likely(*flags == PSI_CAUSE_NONE && was != PSI_CAUSE_REQUESTED_RECLAIM))
		toggle_current(PSI_TASK_MEMSTALL, RUNNING_STALLED, RUNNING,
			       PSI_CAUSE_OTHER, PSI_CAUSE_NONE);
	else
		toggle_requested(was, *flags);
}
EXPORT_SYMBOL_GPL(psi_memstall_leave);
