// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: /proc/pressure of a cgroup namespace, for proc mounts with
 * pressure=cgroup.
 *
 * Such a file shows the group at the root of its opener's namespace. It keeps the cgroup,
 * but ends when that is removed or switched off, as the cgroup's own files do.
 *
 * Locking: ns_files_lock for psi_group::ns_files and ns_ended.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../sched/psi_avgs.h"
#include "../sched/psi_trigger.h"
#include "cgroup-internal.h"

static DEFINE_SPINLOCK(ns_files_lock);

static struct psi_group *add_file(struct psi_ns_file *file, struct cgroup *cgrp)
{
	struct psi_group *group = cgrp->psi;

	spin_lock(&ns_files_lock);
	if (group && !group->ns_ended) {
		cgroup_get(cgrp);
		file->cgrp = cgrp;
		hlist_add_head(&file->link, &group->ns_files);
	} else {
		group = ERR_PTR(cgroup_is_dead(cgrp) ? -ENODEV : -EOPNOTSUPP);
	}
	spin_unlock(&ns_files_lock);
	return group;
}

/**
 * psi_ns_open - whose pressure does a file of /proc/pressure show?
 * @inode: of the file
 * @file:  of the open file, all zeros except for its listener
 *
 * Context: may sleep; current opens the file. psi_ns_close() has to follow.
 * Return: the group, which is the system's unless the mount has pressure=cgroup and
 *	current's cgroup namespace another root than the hierarchy; or
 *	-ENODEV		the cgroup was removed,
 *	-EOPNOTSUPP	it is not accounted: it is switched off, or all are
 *			(cgroup_disable=pressure), or nobody has ever mounted cgroup2.
 */
struct psi_group *psi_ns_open(struct inode *inode, struct psi_ns_file *file)
{
	struct cgroup_namespace *ns = current->nsproxy->cgroup_ns;
	struct cgroup *cgrp;

	if (READ_ONCE(proc_sb_info(inode->i_sb)->pressure) != PROC_PRESSURE_CGROUP ||
	    ns == &init_cgroup_ns)
		return &psi_system;
	if (!READ_ONCE(cgrp_dfl_visible))
		return ERR_PTR(-EOPNOTSUPP);

	/* The namespace keeps its css_set, which keeps the cgroup. */
	cgrp = ns->root_cset->dfl_cgrp;
	return cgroup_parent(cgrp) ? add_file(file, cgrp) : &psi_system;
}

/**
 * psi_ns_close - a file is closed, and has no trigger any more
 * @file: as psi_ns_open() left it
 *
 * Context: may sleep.
 */
void psi_ns_close(struct psi_ns_file *file)
{
	if (!file->cgrp)
		return;

	spin_lock(&ns_files_lock);
	hlist_del_init(&file->link);
	spin_unlock(&ns_files_lock);
	cgroup_put(file->cgrp);
}

/* The lock keeps the file from being closed; RCU keeps the wait queue. */
static bool end_one(struct psi_group *group)
{
	wait_queue_head_t *wait = NULL;
	struct psi_ns_file *file;

	guard(rcu)();

	spin_lock(&ns_files_lock);
	group->ns_ended = true;
	file = hlist_entry_safe(group->ns_files.first, struct psi_ns_file, link);
	if (file) {
		hlist_del_init(&file->link);
		WRITE_ONCE(file->listener.ended, true);
		wait = file->listener.wait;
	}
	spin_unlock(&ns_files_lock);

	if (wait)
		wake_up_all(wait);
	return file;
}

/**
 * psi_ns_end - a cgroup is removed or switched off
 * @group: its group
 *
 * Context: may sleep.
 */
void psi_ns_end(struct psi_group *group)
{
	while (end_one(group))
		cond_resched();
}

/**
 * psi_ns_begin - a cgroup has been switched on
 * @group: its group
 *
 * Context: process.
 */
void psi_ns_begin(struct psi_group *group)
{
	spin_lock(&ns_files_lock);
	group->ns_ended = false;
	spin_unlock(&ns_files_lock);
}
