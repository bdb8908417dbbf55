// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: /proc/pressure of a cgroup namespace, for proc mounts
 * with pressure=cgroup.
 *
 * Such a file has no life of its own. It is an open file of the group at the root of
 * the opener's namespace, which psi_show.c hands everything on to. Who may do what,
 * triggers, and what becomes of them when the group goes, are those of that file.
 *
 * The group's file is found from the kernel's own mount of the whole hierarchy. To
 * mount the namespace's part instead would take cgroup_mutex at each open, and find a
 * new group of the same name where the namespace's has been removed. It is only made by
 * tasks outside of the initial namespace, as it would change the hierarchy's flags there.
 *
 * Locking: whole_lock, for making that mount; nothing is taken in it that opening or
 * mounting anything else waits for. Otherwise none: the task keeps its namespace, that
 * its css_set, and that the group.
 *
 *	object		made by			freed by		and until then
 *	whole.mnt,	first open in a		never
 *	whole.cred	namespace
 *	file of a group	open			close of the file	its operations are
 *						in /proc		those of the file in
 *									/proc, which keeps it
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kernfs.h>
#include <linux/mount.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/wait.h>

#include "../sched/psi_hooks.h"
#include "cgroup-internal.h"

/* What groups are looked up with. Does not change once mnt is there. */
static struct {
	struct vfsmount *mnt;
	const struct cred *cred;
} whole;

static DEFINE_MUTEX(whole_lock);

static int make_whole(void)
{
	struct vfsmount *mnt;

	/* With it comes cred. */
	if (smp_load_acquire(&whole.mnt))
		return 0;

	guard(mutex)(&whole_lock);
	if (whole.mnt)
		return 0;

	if (!whole.cred)
		whole.cred = prepare_kernel_cred(&init_task);
	if (!whole.cred)
		return -ENOMEM;

	mnt = kern_mount(&cgroup2_fs_type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	/* After cred: see above. */
	smp_store_release(&whole.mnt, mnt);
	return 0;
}

/* The directories above the namespace's root are nothing that its tasks need a right to. */
static struct dentry *dentry_of(struct cgroup *cgrp)
{
	const struct cred *cred = override_creds(whole.cred);
	struct dentry *dentry;

	dentry = kernfs_node_dentry(cgrp->kn, whole.mnt->mnt_sb);
	revert_creds(cred);

	/* It was looked up by name, and there may be another one by now. */
	if (!IS_ERR(dentry) && kernfs_node_from_dentry(dentry) != cgrp->kn) {
		dput(dentry);
		return ERR_PTR(-ENOENT);
	}
	return dentry;
}

static struct file *open_in(struct cgroup *cgrp, const char *name, int flags)
{
	struct path dir;
	struct file *file;
	int ret;

	ret = make_whole();
	if (ret)
		return ERR_PTR(ret);

	dir.mnt = whole.mnt;
	dir.dentry = dentry_of(cgrp);
	if (IS_ERR(dir.dentry))
		return ERR_CAST(dir.dentry);

	file = file_open_root(&dir, name, flags, 0);
	dput(dir.dentry);
	return file;
}

/**
 * psi_open_of_namespace - open what a file of /proc/pressure is in a cgroup namespace
 * @inode: of the file in /proc
 * @file:  the same, which current is opening
 * @name:  of the group's file
 *
 * Context: may sleep.
 * Return: the group's file, which the caller has to fput(); NULL if it is that of the
 *	system, as it is unless the mount has pressure=cgroup and current's cgroup
 *	namespace another root than the hierarchy; or
 *	-ENODEV		the group was removed,
 *	-EOPNOTSUPP	there is no such pressure: the group is switched off, or all
 *			are (cgroup_disable=pressure), or nobody has ever mounted cgroup2,
 *	-EACCES and others that opening the group's file fails with.
 */
struct file *psi_open_of_namespace(struct inode *inode, struct file *file, const char *name)
{
	struct cgroup_namespace *ns;
	struct cgroup *cgrp;
	struct file *opened;

	if (READ_ONCE(proc_sb_info(inode->i_sb)->pressure) != PROC_PRESSURE_CGROUP)
		return NULL;
	ns = current->nsproxy->cgroup_ns;
	if (ns == &init_cgroup_ns)
		return NULL;
	if (!READ_ONCE(cgrp_dfl_visible))
		return ERR_PTR(-EOPNOTSUPP);

	/* The same for the css_set's life. */
	cgrp = ns->root_cset->dfl_cgrp;
	if (!cgroup_parent(cgrp))
		return NULL;

	opened = open_in(cgrp, name, file->f_flags & (O_ACCMODE | O_NONBLOCK));
	if (opened != ERR_PTR(-ENOENT) && opened != ERR_PTR(-ENODEV))
		return opened;
	return ERR_PTR(cgroup_is_dead(cgrp) ? -ENODEV : -EOPNOTSUPP);
}

/**
 * psi_wait_of - in which queue is who polls such a file?
 * @file: as psi_open_of_namespace() has returned it
 *
 * Context: any.
 * Return: the queue, which lives as long as the file.
 */
wait_queue_head_t *psi_wait_of(struct file *file)
{
	struct kernfs_open_file *of = ((struct seq_file *)file->private_data)->private;

	return &of->wait;
}
