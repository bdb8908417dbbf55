// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: /proc/pressure and the text of a pressure file.
 *
 * Locking: printing takes no lock, as psi_group_read() returns values of one moment.
 * psi_trigger.c says how listeners live, pressure_ns.c how long a file of a container does.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_trigger.h"

static void show_line(struct seq_file *m, const char *name,
		      const struct psi_stall *stall)
{
	seq_printf(m, "%s avg10=%lu.%02lu avg60=%lu.%02lu avg300=%lu.%02lu total=%llu\n",
		   name,
		   LOAD_INT(stall->avg[0]), LOAD_FRAC(stall->avg[0]),
		   LOAD_INT(stall->avg[1]), LOAD_FRAC(stall->avg[1]),
		   LOAD_INT(stall->avg[2]), LOAD_FRAC(stall->avg[2]),
		   div_u64(stall->total, NSEC_PER_USEC));
}

/**
 * psi_show - print a pressure file
 * @m:     where to
 * @group: whose pressure
 * @res:   of what
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP for PSI_IRQ if the clock for interrupts is no good any more.
 */
int psi_show(struct seq_file *m, struct psi_group *group, enum psi_resource res)
{
	struct psi_stall r[2];

	if (res == PSI_IRQ && !irqtime_is_measured())
		return -EOPNOTSUPP;

	psi_group_read(group, res, r);
	if (res != PSI_IRQ)
		show_line(m, "some", &r[0]);
	show_line(m, "full", &r[res != PSI_IRQ]);
	return 0;
}

static void show_cpu_cause(struct seq_file *m, const char *name, const u64 ns[])
{
	seq_printf(m, "cpu.%s some=%llu full=%llu\n", name, div_u64(ns[0], NSEC_PER_USEC),
		   div_u64(ns[1], NSEC_PER_USEC));
}

/**
 * psi_show_cpu_causes - print why tasks wait for a CPU
 * @m:     where to
 * @group: whose
 *
 * Context: may sleep.
 */
void psi_show_cpu_causes(struct seq_file *m, struct psi_group *group)
{
	struct psi_cpu_split split;

	psi_group_read_split(group, &split);
	show_cpu_cause(m, "contention", split.contention);
	show_cpu_cause(m, "quota", split.quota);
}

#ifdef CONFIG_PROC_FS

/* Anybody may read and have triggers. */
#define PSI_FILE_MODE	0666

/* An open file. */
struct psi_file {
	struct psi_group	*group;
	struct psi_ns_file	ns;
	wait_queue_head_t	wait;
	struct rcu_head		rcu;	/* psi_ns_end() may be about to wake @wait */
};

static struct psi_file *psi_file_of(struct file *file)
{
	return ((struct seq_file *)file->private_data)->private;
}

static enum psi_resource resource_of(const struct file *file)
{
	return (uintptr_t)pde_data(file_inode(file));
}

static int psi_proc_show(struct seq_file *m, void *unused)
{
	struct psi_file *f = m->private;

	return psi_show(m, f->group, resource_of(m->file));
}

static int psi_proc_open(struct inode *inode, struct file *file)
{
	struct psi_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!f)
		return -ENOMEM;

	init_waitqueue_head(&f->wait);
	f->ns.listener.wait = &f->wait;
	f->group = psi_ns_open(inode, &f->ns);
	if (IS_ERR(f->group)) {
		ret = PTR_ERR(f->group);
		goto free;
	}

	ret = single_open(file, psi_proc_show, f);
	if (!ret)
		return 0;

	psi_ns_close(&f->ns);
free:
	kfree_rcu(f, rcu);
	return ret;
}

static int psi_proc_release(struct inode *inode, struct file *file)
{
	struct psi_file *f = psi_file_of(file);

	psi_trigger_close(&f->ns.listener);
	psi_ns_close(&f->ns);
	kfree_rcu(f, rcu);
	return single_release(inode, file);
}

static ssize_t psi_proc_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	if (READ_ONCE(psi_file_of(iocb->ki_filp)->ns.listener.ended))
		return -ENODEV;
	return seq_read_iter(iocb, iter);
}

static ssize_t psi_proc_write(struct file *file, const char __user *ubuf,
			      size_t len, loff_t *ppos)
{
	struct psi_file *f = psi_file_of(file);
	char *text;
	int ret;

	if (!len || len > PAGE_SIZE)
		return -EINVAL;

	text = memdup_user_nul(ubuf, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = psi_trigger_write(&f->ns.listener, f->group, resource_of(file), file, text);
	kfree(text);

	return ret ?: len;
}

static __poll_t psi_proc_poll(struct file *file, poll_table *pt)
{
	return psi_trigger_poll(&psi_file_of(file)->ns.listener, file, pt);
}

static const struct proc_ops psi_proc_ops = {
	.proc_open	= psi_proc_open,
	.proc_read_iter	= psi_proc_read_iter,
	.proc_lseek	= seq_lseek,
	.proc_write	= psi_proc_write,
	.proc_poll	= psi_proc_poll,
	.proc_release	= psi_proc_release,
};

static int __init psi_proc_init(void)
{
	static const char * const paths[PSI_NR_RESOURCES] __initconst = {
		[PSI_IO]	= "pressure/io",
		[PSI_MEM]	= "pressure/memory",
		[PSI_CPU]	= "pressure/cpu",
		[PSI_IRQ]	= "pressure/irq",
	};
	uintptr_t res;
	bool done;

	if (!static_key_enabled(&psi_enabled))
		return 0;

	done = proc_mkdir("pressure", NULL);
	for (res = 0; done && res < PSI_NR_RESOURCES; res++)
		if (res != PSI_IRQ || irqtime_is_measured())
			done = proc_create_data(paths[res], PSI_FILE_MODE, NULL, &psi_proc_ops,
						(void *)res);
	return done ? 0 : -ENOMEM;
}
fs_initcall(psi_proc_init);

#endif /* CONFIG_PROC_FS */
