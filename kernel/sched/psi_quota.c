// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: who is held back by a cpu.max, and by whose.
 *
 * Tasks of a group that is throttled stay runnable and wait. psi_node.c counts them
 * like all others, and tells whether a quota is what they wait for. This file tells it
 * of the task groups: which of them have a cpu.max, or are below one that has, and on
 * which CPUs it is used up at the moment. What the scheduler knows of that is read in
 * one place, throttle_state(). A group is held (back) on a CPU if it is throttled there, or
 * one above it is; its limit is the group by whose task group that is known.
 *
 * Where the cpu controller is not enabled, groups have no task group of their own. They
 * are held back with the nearest one above that has (psi_group::limit), and need not be
 * told when that is throttled:
 *
 *	a	cpu.max			limit: itself
 *	|
 *	b	task group, no cpu.max	limit: itself; told when a is throttled
 *	|
 *	c	no task group		limit: b
 *
 * Above a, limit is NULL. Those groups have a psi_node::quota all the same, in which
 * they count what is held back below them.
 *
 * A group that is switched off is not in psi_node.c's tree. It has its limit, for those
 * below it. Its tasks count in the group above, which cannot tell that they are held
 * back. Limits of the cpu controller of cgroup1 are not known here, and neither are those
 * of real-time and deadline tasks and of a scheduler that is loaded (sched_ext): none of
 * them is a cpu.max. All that waits in a group while its fair tasks are held back counts
 * as held back.
 *
 * Locking: cgroup_mutex for psi_group::limit and who has a quota; the CPU's rq lock for
 * what is throttled, and for psi_group::tg. That is cleared first when a task group
 * goes: who comes with a rq lock after that does not find it any more.
 */
#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/percpu.h>

#include "../cgroup/cgroup-internal.h"
#include "sched.h"
#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_hooks.h"

/* ------------------------- What the scheduler knows ------------------------- */

/* Is the task group throttled on this CPU? Is it, or one above it? */
static void throttle_state(struct task_group *tg, int cpu, bool *throttled, bool *held)
{
	const struct cfs_rq *cfs_rq = tg->cfs_rq[cpu];

	*throttled = cfs_rq->throttled;
	*held = cfs_rq->throttled || cfs_rq->throttle_count;
}

/* Has it a cpu.max of its own? Who changes that calls psi_quota_written() afterwards. */
static bool has_cpu_max(struct task_group *tg)
{
	bool has;

	raw_spin_lock_irq(&tg->cfs_bandwidth.lock);
	has = tg->cfs_bandwidth.quota != RUNTIME_INF;
	raw_spin_unlock_irq(&tg->cfs_bandwidth.lock);
	return has;
}

/* see psi_throttle() */
void __psi_throttle(struct rq *rq, struct task_group *tg)
{
	struct cgroup *cgrp = tg->css.cgroup;
	struct psi_group *group = cgrp ? READ_ONCE(cgrp->psi) : NULL;
	bool throttled, held;
	struct psi_quota *q;

	lockdep_assert_rq_held(rq);

	if (!group || READ_ONCE(group->tg) != tg)
		return;
	throttle_state(tg, cpu_of(rq), &throttled, &held);
	/* Of groups that hold each other back, not much is to be done at most calls. */
	q = per_cpu_ptr(group->quota, cpu_of(rq));
	if (q->throttled == throttled && q->held == held)
		return;
	psi_cpu_set_throttled(rq, per_cpu_ptr(group->nodes, cpu_of(rq)), throttled, held);
}

/* ------------------------- Which groups have a limit ------------------------- */

static void set_nodes_limit(struct psi_group *group, struct psi_group *limit)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		psi_cpu_set_limit(per_cpu_ptr(group->nodes, cpu), cpu,
				  per_cpu_ptr(group->quota, cpu),
				  limit ? per_cpu_ptr(limit->quota, cpu) : NULL);
		cond_resched();
	}
}

/* Allocate psi_quota for the group and all above it but the system. */
static int add_quotas(struct psi_group *group)
{
	struct psi_quota __percpu *quota;

	for (; group->parent; group = group->parent) {
		if (group->quota)
			continue;
		quota = alloc_percpu(struct psi_quota);
		if (!quota)
			return -ENOMEM;
		WRITE_ONCE(group->quota, quota);
		set_nodes_limit(group, NULL);
	}
	return 0;
}

static void clear_throttled_on(struct psi_group *group, int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	guard(rq_lock_irq)(rq);
	update_rq_clock(rq);
	psi_cpu_set_throttled(rq, per_cpu_ptr(group->nodes, cpu), false, false);
}

static void read_throttled_on(struct task_group *tg, int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	guard(rq_lock_irq)(rq);
	update_rq_clock(rq);
	__psi_throttle(rq, tg);
}

/* From now on the group is told, by this task group, or not any more. */
static void set_task_group(struct psi_group *group, struct task_group *tg)
{
	int cpu;

	WRITE_ONCE(group->tg, tg);
	for_each_possible_cpu(cpu) {
		if (tg)
			read_throttled_on(tg, cpu);
		else
			clear_throttled_on(group, cpu);
		cond_resched();
	}
}

static void set_limit(struct psi_group *group, struct psi_group *limit, struct task_group *tg)
{
	if (group->tg)
		set_task_group(group, NULL);
	group->limit = limit;
	set_nodes_limit(group, limit);
	if (limit == group)
		set_task_group(group, tg);
}

/* Nobody can tell any more what the group, and those above it, wait for. */
static void set_unsplit(struct psi_group *group)
{
	for (; group->parent; group = group->parent)
		WRITE_ONCE(group->unsplit, true);
}

/*
 * Takes the group's own task group, or NULL. Return: false if nothing has changed, neither
 * for those below.
 */
static bool update_limit(struct psi_group *group, struct task_group *tg)
{
	struct psi_group *limit = group->parent->limit;

	if (tg)
		limit = limit || has_cpu_max(tg) ? group : NULL;
	if (group->parent->unsplit)
		WRITE_ONCE(group->unsplit, true);
	if (limit == group->limit && (limit != group || tg == group->tg))
		return false;

	if (limit && add_quotas(group))
		set_unsplit(group);
	else
		set_limit(group, limit, tg);
	return true;
}

static struct task_group *own_task_group(struct cgroup *cgrp)
{
	struct cgroup_subsys_state *css;

	css = rcu_dereference_protected(cgrp->subsys[cpu_cgrp_id],
					lockdep_is_held(&cgroup_mutex));
	return css ? container_of(css, struct task_group, css) : NULL;
}

/* The cgroup has this task group now, or NULL, or that has another cpu.max. */
static void update_limits(struct cgroup *cgrp, struct task_group *tg)
{
	struct cgroup_subsys_state *css;
	struct cgroup *pos;

	lockdep_assert_held(&cgroup_mutex);

	psi_debug_switch_begin();
	css_for_each_descendant_pre(css, &cgrp->self) {
		pos = css->cgroup;
		/*
		 * One that has been removed has no tasks, but may stay for long. Perhaps it
		 * has no group, either.
		 */
		if (pos != cgrp && cgroup_is_dead(pos)) {
			css = css_rightmost_descendant(css);
			continue;
		}
		if (!update_limit(pos->psi, pos == cgrp ? tg : own_task_group(pos)))
			css = css_rightmost_descendant(css);
		cond_resched();
	}
	psi_debug_switch_end();
}

/*
 * Neither of the root, which has no cpu.max, nor of cgroup1, nor while nothing is. Under
 * cgroup_mutex: with that held, all that live have a group while psi_enabled is set.
 */
static bool is_measured(struct cgroup *cgrp)
{
	return static_branch_unlikely(&psi_enabled) && cgrp->psi && cgrp->psi->parent;
}

/**
 * psi_quota_begin - accounting has been switched on
 * @cgrp: a cgroup; those above it have come before
 *
 * Context: cgroup_mutex held.
 * Return: 0 or -ENOMEM.
 */
int psi_quota_begin(struct cgroup *cgrp)
{
	if (!is_measured(cgrp))
		return 0;
	psi_debug_switch_begin();
	update_limit(cgrp->psi, own_task_group(cgrp));
	psi_debug_switch_end();
	return cgrp->psi->unsplit ? -ENOMEM : 0;
}

/**
 * psi_quota_written - somebody has written to cpu.max
 * @of: the open file
 *
 * Context: a write operation of kernfs; takes cgroup_mutex.
 */
void psi_quota_written(struct kernfs_open_file *of)
{
	struct cgroup *cgrp = of_css(of)->cgroup;

	if (!static_branch_unlikely(&psi_enabled) || !cgroup_kn_lock_live(of->kn, false))
		return;
	if (is_measured(cgrp))
		update_limits(cgrp, own_task_group(cgrp));
	cgroup_kn_unlock(of->kn);
}

/**
 * psi_task_group_online - a cgroup gets a task group of its own
 * @tg: the task group, not used so far
 *
 * Context: cgroup_mutex held.
 */
void psi_task_group_online(struct task_group *tg)
{
	if (is_measured(tg->css.cgroup))
		update_limits(tg->css.cgroup, tg);
}

/**
 * psi_task_group_offline - a cgroup does not use its task group any more
 * @tg: the task group
 *
 * Context: cgroup_mutex held.
 */
void psi_task_group_offline(struct task_group *tg)
{
	struct psi_group *group = tg->css.cgroup->psi;

	if (is_measured(tg->css.cgroup))
		update_limits(tg->css.cgroup, NULL);
	else if (group && group->parent)
		WRITE_ONCE(group->tg, NULL);	/* it is about to go as well */
}
