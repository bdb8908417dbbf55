/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler's hooks for PSI. See psi.c.
 *
 * All but psi_init(), psi_fork(), psi_idle_task(), psi_task_dead() and psi_wake_migrate() are
 * called with the rq lock held. With psi=0 each frequent hook is one patched-out branch.
 */
#ifndef _KERNEL_SCHED_PSI_HOOKS_H
#define _KERNEL_SCHED_PSI_HOOKS_H

#include <linux/jump_label.h>
#include <linux/psi.h>
#include <linux/sched.h>

struct rq;

#ifdef CONFIG_PSI

void psi_init(void);
void psi_idle_task(struct task_struct *idle);
void psi_fork(struct task_struct *p);
void __psi_enqueue(struct rq *rq, struct task_struct *p, int flags);
void __psi_dequeue(struct rq *rq, struct task_struct *p, int flags);
void __psi_switch(struct rq *rq, struct task_struct *prev,
		  struct task_struct *next);
void __psi_wake_migrate(struct task_struct *p);
void __psi_task_dead(struct task_struct *p);
void __psi_tick(struct rq *rq, struct task_struct *curr);
void __psi_throttle(struct rq *rq, struct task_struct *p, bool throttled);

/**
 * psi_enqueue - a task wakes up, or arrives from another CPU
 * @rq:    its runqueue
 * @p:     the task
 * @flags: ENQUEUE_*
 */
static inline void psi_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_enqueue(rq, p, flags);
}

/**
 * psi_dequeue - a task blocks, or leaves for another CPU
 * @rq:    its runqueue
 * @p:     the task; it blocks even if its class keeps it queued for a while
 * @flags: DEQUEUE_*
 */
static inline void psi_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_dequeue(rq, p, flags);
}

/**
 * psi_needs_clock - does schedule() have to update the clock?
 *
 * After a wakeup that preempts it would go by the time of the wakeup. How long ago that was
 * is how long the task has waited.
 *
 * Return: true if so.
 */
static inline bool psi_needs_clock(void)
{
	return static_branch_unlikely(&psi_enabled);
}

/**
 * psi_switch - the CPU goes from one task to another
 * @rq:   the runqueue
 * @prev: the task that had it
 * @next: the task that gets it, not @prev
 */
static inline void psi_switch(struct rq *rq, struct task_struct *prev,
			      struct task_struct *next)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_switch(rq, prev, next);
}

/**
 * psi_wake_migrate - a sleeping task will wake up on another CPU
 * @p: the task, with p->pi_lock held, neither queued nor running; task_cpu() is the old CPU
 */
static inline void psi_wake_migrate(struct task_struct *p)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_wake_migrate(p);
}

/**
 * psi_tick - a task goes on running
 * @rq:   the runqueue, its clock up to date
 * @curr: the task
 */
static inline void psi_tick(struct rq *rq, struct task_struct *curr)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_tick(rq, curr);
}

/**
 * psi_waits_for_io - if this task sleeps, does it wait for io?
 * @p: the task, current or asleep, with its rq lock held
 *
 * Return: true if so. In io_uring_enter() a task is in iowait whatever is in flight,
 * which helps cpufreq; it waits for io only if some of that is for storage.
 */
static inline bool psi_waits_for_io(const struct task_struct *p)
{
#ifdef CONFIG_PSI_IO_URING
	return p->in_iowait && !p->iowait_no_storage;
#else
	return p->in_iowait;
#endif
}

/**
 * psi_throttle - a cpu.max begins or ends to throttle a task
 * @rq:        the CPU's runqueue, its clock up to date
 * @p:         the task, which is runnable
 * @throttled: it begins
 */
static inline void psi_throttle(struct rq *rq, struct task_struct *p, bool throttled)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_throttle(rq, p, throttled);
}

/**
 * psi_task_dead - a task has left its last CPU for good
 * @p: the task; it counts only if an oops killed it inside a memory stall section
 *
 * Context: no locks held.
 */
static inline void psi_task_dead(struct task_struct *p)
{
	if (static_branch_unlikely(&psi_enabled))
		__psi_task_dead(p);
}

#else /* !CONFIG_PSI */

static inline void psi_init(void) { }
static inline void psi_idle_task(struct task_struct *idle) { }
static inline void psi_task_dead(struct task_struct *p) { }
static inline void psi_enqueue(struct rq *rq, struct task_struct *p, int flags) { }
static inline void psi_dequeue(struct rq *rq, struct task_struct *p, int flags) { }
static inline void psi_switch(struct rq *rq, struct task_struct *prev,
			      struct task_struct *next) { }
static inline bool psi_needs_clock(void) { return false; }
static inline void psi_wake_migrate(struct task_struct *p) { }
static inline void psi_tick(struct rq *rq, struct task_struct *curr) { }
static inline void psi_fork(struct task_struct *p) { }
static inline void psi_throttle(struct rq *rq, struct task_struct *p, bool throttled) { }

#endif /* CONFIG_PSI */

/* fair.c: does any group have a cpu.max? */
#if defined(CONFIG_CFS_BANDWIDTH) && defined(CONFIG_JUMP_LABEL)
extern struct static_key __cfs_bandwidth_used;
#define psi_quotas_are_used()	static_key_false(&__cfs_bandwidth_used)
#else
#define psi_quotas_are_used()	IS_ENABLED(CONFIG_CFS_BANDWIDTH)
#endif

#endif /* _KERNEL_SCHED_PSI_HOOKS_H */
