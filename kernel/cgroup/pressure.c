// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information of cgroups: their files, their groups, and the switch.
 *
 * A cgroup of the default hierarchy has a psi_group, the root that of the system. Tasks and
 * child groups are contributors of the group that they are in. A group that is switched off
 * (cgroup.pressure) has no contributors and costs nothing: its tasks are counted in the next
 * group above that is on, and so are its children. Switching moves one task, or up to
 * PSI_SET_PARENTS_MAX children on one CPU, per hold of a rq lock, and may yield after that.
 * Meanwhile the group shows some of them; its files are hidden then.
 *
 * psi_group::acct_group is the group itself if it is on, else that of the parent. Always:
 *
 *  - The nodes of a group contribute to acct_group of the parent.
 *  - The tasks of a group count in acct_group of the group once they have been visited,
 *    awake or not. A task that exits may be missed. It stays where it is: above the
 *    group (nowhere, if that is the root's), or in the group itself.
 *
 * Locking: psi_group::acct_group and the parents of nodes change under cgroup_mutex. File
 * operations need it only for the switch: kernfs keeps the cgroup, and the listener of
 * the open file, for as long as the operation takes.
 *
 * Lifetimes: a psi_group is made by mkdir, and freed by css_free_rwork_fn(), after its
 * readers under RCU, and before the parent is put, as it hands over to that one's group.
 * Until then any task, css_set or child holds the cgroup. The listener of an open file is
 * released by close, rmdir or switching off, whichever is first: kernfs_drain() waits for
 * operations and lets none begin, and of->priv is NULL after that. See psi_trigger.c for
 * triggers. of->wait lives until close; its pollers hold the file.
 */
#include <linux/cgroup.h>
#include <linux/kernfs.h>
#include <linux/psi.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "../sched/psi_avgs.h"
#include "../sched/psi_cause.h"
#include "../sched/psi_cpu.h"
#include "../sched/psi_debug.h"
#include "../sched/psi_trigger.h"
#include "cgroup-internal.h"

/* ------------------------------- Groups ------------------------------- */

/**
 * psi_cgroup_alloc - make the group of a new cgroup
 * @cgrp: the cgroup, which has its directory; nobody else sees it yet
 *
 * Context: cgroup_mutex held.
 * Return: 0 or -ENOMEM.
 */
int psi_cgroup_alloc(struct cgroup *cgrp)
{
	struct psi_group *group;

	lockdep_assert_held(&cgroup_mutex);

	if (!cgroup_on_dfl(cgrp) || !cgroup_psi_enabled())
		return 0;

	group = psi_group_alloc(cgroup_parent(cgrp)->psi);
	if (!group)
		return -ENOMEM;
	group->id = cgroup_id(cgrp);
	cgrp->psi = group;
	return 0;
}

/**
 * cgroup_pressure_offline - a cgroup is removed, and its files have gone
 * @cgrp: the cgroup, not a root
 *
 * What its tasks were stalled for stays with the groups above. Tasks that are exiting may
 * add to it; psi_group_free() hands that on.
 *
 * Context: cgroup_mutex held.
 */
void cgroup_pressure_offline(struct cgroup *cgrp)
{
	if (!cgrp->psi)
		return;
	psi_ns_end(cgrp->psi);
	psi_causes_hand_over(&cgrp->psi->causes, local_clock);
}

/**
 * psi_cgroup_free - a cgroup is about to be freed
 * @cgrp: the cgroup, not a root
 */
void psi_cgroup_free(struct cgroup *cgrp)
{
	psi_group_free(cgrp->psi);
}

/**
 * cgroup_move_task - let a task be in the cgroups of a css_set
 * @task: the task
 * @to:   the css_set
 *
 * Context: css_set_lock held.
 */
void cgroup_move_task(struct task_struct *task, struct css_set *to)
{
	rcu_assign_pointer(task->cgroups, to);
	if (cgroup_psi_enabled())
		psi_move_task(task, to->dfl_cgrp->psi);
}

/* ------------------------------ Causes ------------------------------ */

/* Of a cgroup and all below it, those above first. RCU is left after each few. */
static void sum_causes(struct cgroup *cgrp, struct psi_cause_sum sums[])
{
	struct cgroup_subsys_state *css;
	unsigned int nr = 0;

	rcu_read_lock();
	css_for_each_descendant_pre(css, &cgrp->self) {
		psi_causes_add(&css->cgroup->psi->causes, local_clock, sums);
		if ((++nr % 32 && !need_resched()) || !css_tryget(css))
			continue;
		rcu_read_unlock();

		cond_resched();

		rcu_read_lock();
		css_put(css);
	}
	rcu_read_unlock();
}

/* ------------------------------ The switch ------------------------------ */

static void recount_tasks(struct cgroup *cgrp)
{
	struct css_task_iter it;
	struct task_struct *task;

	css_task_iter_start(&cgrp->self, 0, &it);
	while ((task = css_task_iter_next(&it))) {
		psi_recount_task(task);
		cond_resched();
	}
	css_task_iter_end(&it);
}

/* Moves all tasks and children that counted elsewhere. */
static void pressure_switch(struct cgroup *cgrp, bool on)
{
	struct psi_group *above = cgrp->psi->parent;
	struct psi_group *acct = on ? cgrp->psi : above ? above->acct_group : NULL;
	struct psi_group *children[PSI_SET_PARENTS_MAX];
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct cgroup_subsys_state *css;
	unsigned int nr = 0;
	struct cgroup *pos;

	sum_causes(cgrp, sums);
	if (on)
		psi_causes_hide(&cgrp->psi->causes, sums);
	else
		psi_causes_show(&cgrp->psi->causes, sums);

	psi_debug_switch_begin();
	WRITE_ONCE(cgrp->psi->acct_group, acct);
	recount_tasks(cgrp);

	css_for_each_descendant_pre(css, &cgrp->self) {
		pos = css->cgroup;
		if (pos == cgrp)
			continue;

		/* All groups between this one and @cgrp are off. */
		children[nr++] = pos->psi;
		if (nr == ARRAY_SIZE(children)) {
			psi_set_parents(children, nr, acct);
			nr = 0;
		}
		if (psi_group_is_on(pos->psi)) {
			css = css_rightmost_descendant(css);
			continue;
		}
		WRITE_ONCE(pos->psi->acct_group, acct);
		recount_tasks(pos);
	}
	if (nr)
		psi_set_parents(children, nr, acct);
	psi_debug_switch_end();
}

/* All but the switch. */
static void show_files(struct cgroup *cgrp, bool show)
{
	struct kernfs_node *kn;
	struct cftype *cft;

	for (cft = cgroup_psi_files; cft->name[0]; cft++) {
		if (!strcmp(cft->name, "cgroup.pressure"))
			continue;
		kn = kernfs_find_and_get(cgrp->kn, cft->name);
		if (!kn)
			continue;
		kernfs_show(kn, show);
		kernfs_put(kn);
	}
	if (show)
		psi_ns_begin(cgrp->psi);
	else
		psi_ns_end(cgrp->psi);
}

static int pressure_switch_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%d\n", psi_group_is_on(seq_css(m)->cgroup->psi));
	return 0;
}

static ssize_t pressure_switch_write(struct kernfs_open_file *of, char *buf,
				     size_t nbytes, loff_t off)
{
	struct cgroup *cgrp;
	int on, ret;

	ret = kstrtoint(strstrip(buf), 0, &on);
	if (ret)
		return ret;
	if (on < 0 || on > 1)
		return -ERANGE;

	cgrp = cgroup_kn_lock_live(of->kn, false);
	if (!cgrp)
		return -ENOENT;

	if (on && !psi_group_is_on(cgrp->psi)) {
		pressure_switch(cgrp, true);
		show_files(cgrp, true);
	} else if (!on && psi_group_is_on(cgrp->psi)) {
		show_files(cgrp, false);
		pressure_switch(cgrp, false);
	}

	cgroup_kn_unlock(of->kn);
	return nbytes;
}

/* ------------------------------- The files ------------------------------- */

static int pressure_show(struct seq_file *m, void *v)
{
	return psi_show(m, seq_css(m)->cgroup->psi, seq_cft(m)->private);
}

static int pressure_open(struct kernfs_open_file *of)
{
	struct cgroup_file_ctx *ctx = of->priv;

	ctx->pressure.wait = &of->wait;
	return 0;
}

static ssize_t pressure_write(struct kernfs_open_file *of, char *buf,
			      size_t nbytes, loff_t off)
{
	struct cgroup_file_ctx *ctx = of->priv;

	return psi_trigger_write(&ctx->pressure, of_css(of)->cgroup->psi,
				 of_cft(of)->private, of->file, buf) ?: nbytes;
}

static __poll_t pressure_poll(struct kernfs_open_file *of, poll_table *pt)
{
	struct cgroup_file_ctx *ctx = of->priv;

	return psi_trigger_poll(&ctx->pressure, of->file, pt);
}

static void pressure_release(struct kernfs_open_file *of)
{
	struct cgroup_file_ctx *ctx = of->priv;

	psi_trigger_close(&ctx->pressure);
}

static int causes_show(struct seq_file *m, void *v)
{
	struct psi_cause_sum sums[PSI_NR_CAUSES] = { };
	struct cgroup *cgrp = seq_css(m)->cgroup;

	psi_show_cpu_causes(m, cgrp->psi);
	sum_causes(cgrp, sums);
	psi_causes_show(&cgrp->psi->causes, sums);
	psi_show_memory_causes(m, sums);
	return 0;
}

#define PRESSURE_FILE(res_name, res)					\
	{								\
		.name = res_name ".pressure",				\
		.private = (res),					\
		.open = pressure_open,					\
		.seq_show = pressure_show,				\
		.write = pressure_write,				\
		.poll = pressure_poll,					\
		.release = pressure_release,				\
	}

struct cftype cgroup_psi_files[] = {
	PRESSURE_FILE("io", PSI_IO),
	PRESSURE_FILE("memory", PSI_MEM),
	PRESSURE_FILE("cpu", PSI_CPU),
	{
		.name = "pressure.causes",
		.seq_show = causes_show,
	},
	{
		.name = "cgroup.pressure",
		.seq_show = pressure_switch_show,
		.write = pressure_switch_write,
	},
	PRESSURE_FILE("irq", PSI_IRQ),	/* the last one: see cgroup_pressure_init() */
	{ }
};

/**
 * cgroup_pressure_init - give the root the system's group
 *
 * Context: once at boot, before there are files.
 */
void __init cgroup_pressure_init(void)
{
	struct cftype *irq = &cgroup_psi_files[ARRAY_SIZE(cgroup_psi_files) - 2];

	cgrp_dfl_root.cgrp.psi = &psi_system;
	/* Without measured interrupt time, the list ends before this file. */
	if (!irqtime_is_measured())
		irq->name[0] = '\0';
}
