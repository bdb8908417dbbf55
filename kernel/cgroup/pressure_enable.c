// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information of cgroups: switching it on and off at run time.
 *
 * psi_enable.c says in which order these functions are called. There may be thousands of
 * cgroups, and each of them needs cgroup_mutex; so that is taken for one after the other.
 * New cgroups follow cgroup_pressure_stage, which is set before the first visit.
 *
 * Locking: cgroup_mutex for the psi_group pointers of cgroups, their files and the stage.
 * Only two kinds of users read such a pointer without it: accounting, while psi_enabled
 * is set (under RCU, or with interrupts off), and file operations, for which the removal
 * of the files waits. Both have ended when groups are removed.
 */
#include <linux/cgroup.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "../sched/psi_avgs.h"
#include "../sched/psi_cause.h"
#include "../sched/psi_cpu.h"
#include "../sched/psi_hooks.h"
#include "../sched/psi_enable.h"
#include "cgroup-internal.h"
#include "pressure.h"

/*
 * Call @fn for each cgroup, parents first or last, with cgroup_mutex held each time. A
 * cgroup that is made meanwhile is visited unless its parent was before.
 */
static int visit_all(int (*fn)(struct cgroup *cgrp), bool above_first)
{
	struct cgroup_subsys_state *css = NULL, *root = &cgrp_dfl_root.cgrp.self;
	int ret = 0;

	rcu_read_lock();
	while (!ret) {
		css = above_first ? css_next_descendant_pre(css, root) :
				    css_next_descendant_post(css, root);
		if (!css)
			break;
		if (!css_tryget(css))
			continue;
		rcu_read_unlock();

		cgroup_lock();
		ret = fn(css->cgroup);
		cgroup_unlock();
		cond_resched();

		rcu_read_lock();
		css_put(css);
	}
	rcu_read_unlock();
	return ret;
}

static void set_stage(enum cgroup_pressure_stage stage)
{
	cgroup_lock();
	cgroup_pressure_stage = stage;
	cgroup_unlock();
}

static int add_group(struct cgroup *cgrp)
{
	/* A removed cgroup will never be asked. */
	if (cgrp->psi || cgroup_is_dead(cgrp))
		return 0;
	return cgroup_pressure_alloc(cgrp, cgroup_parent(cgrp), GFP_KERNEL);
}

/* Only groups below may still use it. */
static int remove_group(struct cgroup *cgrp)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct psi_group *group = cgrp->psi;

	if (group == &psi_system) {
		/* Next time, all begin switched on. */
		psi_causes_add(&group->causes, local_clock, sums);
		if (!psi_group_is_on(group))
			psi_causes_hide(&group->causes, sums);
		WRITE_ONCE(group->acct_group, group);
	} else if (group) {
		WRITE_ONCE(cgrp->psi, NULL);
		psi_group_free(group);
	}
	return 0;
}

/**
 * cgroup_pressure_add_groups - make a group for each cgroup
 *
 * Context: may sleep; takes cgroup_mutex, for one after the other. Nothing is accounted.
 * Return: 0 or -ENOMEM; there are none then.
 */
int cgroup_pressure_add_groups(void)
{
	int ret;

	if (cgroup_pressure_disabled())
		return 0;
	set_stage(PRESSURE_GROUPS);
	ret = visit_all(add_group, true);
	if (ret)
		cgroup_pressure_remove_groups();
	return ret;
}

/**
 * cgroup_pressure_remove_groups - remove the groups of all cgroups
 *
 * Context: may sleep; takes cgroup_mutex, for one after the other. Nothing is accounted,
 * and there are no files.
 */
void cgroup_pressure_remove_groups(void)
{
	set_stage(PRESSURE_NOTHING);
	visit_all(remove_group, false);
}

/**
 * cgroup_pressure_count - count a task from now on, in the group of its cgroup
 * @task: the task
 *
 * Context: any without p->pi_lock.
 */
void cgroup_pressure_count(struct task_struct *task)
{
	struct cgroup *cgrp;

	/* The task cannot move meanwhile. */
	spin_lock_irq(&css_set_lock);
	cgrp = task_css_set(task)->dfl_cgrp;
	psi_count_task(task, cgrp->psi ?: &psi_system);
	spin_unlock_irq(&css_set_lock);
}

static int add_files(struct cgroup *cgrp)
{
	if (!(cgrp->self.flags & CSS_VISIBLE) || cgroup_pressure_has_files(cgrp))
		return 0;
	return cgroup_add_pressure_files(cgrp);
}

static int remove_files(struct cgroup *cgrp)
{
	if (cgroup_pressure_has_files(cgrp))
		cgroup_remove_pressure_files(cgrp);
	return 0;
}

/**
 * cgroup_pressure_add_files - make the files of each cgroup
 *
 * Context: may sleep; takes cgroup_mutex, for one cgroup after the other.
 * Return: 0 or -ENOMEM; there are none then.
 */
int cgroup_pressure_add_files(void)
{
	int ret;

	if (cgroup_pressure_disabled())
		return 0;
	set_stage(PRESSURE_FILES);
	ret = visit_all(add_files, true);
	if (ret)
		cgroup_pressure_remove_files();
	return ret;
}

/**
 * cgroup_pressure_remove_files - remove the files of all cgroups, and wake their pollers
 *
 * Context: may sleep, and waits for reads and writes to end; takes cgroup_mutex, for one
 * cgroup after the other.
 */
void cgroup_pressure_remove_files(void)
{
	if (cgroup_pressure_disabled())
		return;
	set_stage(PRESSURE_GROUPS);
	visit_all(remove_files, true);
}
