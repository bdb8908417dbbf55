// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: switching it on and off at run time (kernel.psi).
 *
 * While it is off, the hooks in the scheduler are patched-out branches, and nobody records
 * what tasks do. The branches are patched one by one, and what a task is doing began before.
 * So between off and on there is a state in which the hooks are called, but all tasks are
 * exempt (PSI_TASK_EXEMPT). From there tasks begin to be counted, or stop, one after the
 * other, each under the lock of its runqueue and by its state at that moment:
 *
 *	off		tasks are exempt, hooks are not called
 *	      |  ^
 *	      v  |	psi_enabled
 *	idle		tasks are exempt, hooks are called
 *	      |  ^
 *	      v  |	psi_set_counting(), then task by task
 *	on		tasks are counted
 *
 * On the way up, groups, threads and the system's counters of causes are made before the
 * hooks are called, and files when all tasks are counted. The way down, or back if there
 * is no memory, is the reverse. The system's totals go on from where they were.
 *
 * psi_counting decides about a new task when it wakes up for the first time. All others
 * are found in the table of processes. exec() gives a thread other than the leader the
 * leader's number, which may have been passed already; that happens to a thread once, so
 * two visits find all tasks. A task that exits leaves the table while it is still
 * counted, until it is off its CPU; switching off waits for it (psi_exit_srcu). A task
 * that begins to exit before it is counted never is.
 *
 * A task knows the cause of its memory stall section (psi_task::cause) even with
 * accounting off. When it is counted again, the section is accounted as if it began then;
 * its end finds it recorded, or not (psi_task::cause_shard).
 *
 * Removing /proc/pressure waits for read() and write() calls there: for ever, if their
 * buffer is on a page that another program has to provide, and does not. So a work item
 * does that, before anything else. The writer that waits for it can be killed; the next
 * one does the rest.
 *
 * Locking: psi_enable_lock for all of this. Inside of it cgroup_mutex, for one cgroup after
 * the other; holders of that never wait for psi_enable_lock. The hooks take neither.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/srcu.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>

#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_hooks.h"
#include "psi_enable.h"
#include "psi_trigger.h"

static DEFINE_MUTEX(psi_enable_lock);
static bool psi_has_proc;		/* psi_enable_lock; not while it is removed */
static DECLARE_COMPLETION(psi_proc_is_removed);

/* From before a task leaves the table of processes until it is off its CPU. */
DEFINE_STATIC_SRCU(psi_exit_srcu);

/**
 * psi_exit_begin - the current task may leave the table of processes from now on
 *
 * psi_disable() cannot find it there any more, and waits for it. So from here on, the task
 * must not wait for others, as the first process of a pid namespace does for all others.
 *
 * Context: process context; tasklist_lock held.
 */
void psi_exit_begin(void)
{
	if (static_branch_unlikely(&psi_enabled)) {
		current->psi.exit_index = 1 + srcu_down_read(&psi_exit_srcu);
		__release(&psi_exit_srcu);	/* for sparse, begin and end are in two functions */
	}
}

/**
 * psi_exit_end - the current task is about to leave its CPU for good
 *
 * Context: process context, preemption off until then.
 */
void psi_exit_end(void)
{
	if (!current->psi.exit_index)
		return;
	__acquire(&psi_exit_srcu);
	srcu_up_read(&psi_exit_srcu, current->psi.exit_index - 1);
}

static struct task_struct *next_task_of(int *nr)
{
	struct task_struct *task = NULL;
	struct pid *pid;

	guard(rcu)();
	while (!task) {
		pid = find_ge_pid(*nr, &init_pid_ns);
		if (!pid)
			return NULL;
		*nr = pid_nr(pid) + 1;
		task = pid_task(pid, PIDTYPE_PID);
	}
	return get_task_struct(task);
}

static void visit_tasks_once(void (*visit)(struct task_struct *task))
{
	struct task_struct *task;
	int nr = 1;

	while ((task = next_task_of(&nr))) {
		visit(task);
		put_task_struct(task);
		cond_resched();
	}
}

static void visit_tasks(void (*visit)(struct task_struct *task))
{
	visit_tasks_once(visit);
	visit_tasks_once(visit);	/* see above */
}

static void begin_counting(void)
{
	psi_set_counting(true);
	visit_tasks(cgroup_pressure_count);
}

static void end_counting(void)
{
	psi_set_counting(false);
	visit_tasks(psi_uncount_task);

	/*
	 * All tasks that exit are on their way off a CPU by now, with preemption and then
	 * interrupts off. One grace period does not wait for all of that, as schedule()
	 * begins with a quiescent state of its CPU. The next one does.
	 */
	synchronize_srcu(&psi_exit_srcu);
	synchronize_rcu();
	synchronize_rcu();
}

/* From off to idle. Return: 0 or a negative errno. */
static int make_all(void)
{
	int ret;

	ret = psi_system_add_causes(GFP_KERNEL);
	if (ret)
		return ret;
	ret = psi_fold_start();
	if (ret)
		return ret;
	ret = psi_pollers_start();
	if (ret)
		goto stop_fold;
	ret = cgroup_pressure_add_groups();
	if (ret)
		goto stop_pollers;

	psi_debug_begin();
	static_branch_enable(&psi_enabled);
	/* Tasks that have seen it off have finished what they do because of that. */
	synchronize_rcu();
	return 0;

stop_pollers:
	psi_pollers_stop();
stop_fold:
	psi_fold_stop();
	return ret;
}

static void remove_all(void)
{
	static_branch_disable(&psi_enabled);
	/* The same for those that have seen it on. */
	synchronize_rcu();

	psi_pollers_stop();
	psi_fold_stop();
	cgroup_pressure_remove_groups();
}

static int add_proc(void)
{
	int ret = psi_proc_add();

	psi_has_proc = !ret;
	return ret;
}

static void remove_proc_work_fn(struct work_struct *work)
{
	psi_proc_remove();
	complete_all(&psi_proc_is_removed);
}

static DECLARE_WORK(remove_proc_work, remove_proc_work_fn);

/* Return: 0, or -EINTR if killed; the work goes on. */
static int remove_proc(void)
{
	if (psi_has_proc) {
		psi_has_proc = false;
		reinit_completion(&psi_proc_is_removed);
		queue_work(system_unbound_wq, &remove_proc_work);
	}
	return wait_for_completion_killable(&psi_proc_is_removed) ? -EINTR : 0;
}

static int add_files(void)
{
	int ret = cgroup_pressure_add_files();

	if (ret)
		return ret;
	ret = add_proc();
	if (ret)
		cgroup_pressure_remove_files();
	return ret;
}

static int psi_enable(void)
{
	int ret = make_all();

	if (ret)
		return ret;
	begin_counting();
	ret = add_files();
	if (ret) {
		end_counting();
		remove_all();
	}
	return ret;
}

static int psi_disable(void)
{
	int ret = remove_proc();

	if (ret)
		return ret;
	cgroup_pressure_remove_files();
	end_counting();
	remove_all();
	return 0;
}

static int psi_set_enabled(bool on)
{
	if (!static_key_enabled(&psi_enabled))
		return on ? psi_enable() : 0;
	if (!on)
		return psi_disable();
	if (psi_has_proc)
		return 0;
	/* A writer that wanted it off was killed. */
	return remove_proc() ?: add_proc();
}

static int psi_enable_sysctl(const struct ctl_table *table, int write, void *buffer,
			     size_t *lenp, loff_t *ppos)
{
	int on, ret;
	struct ctl_table value = {
		.procname = table->procname,
		.data = &on,
		.maxlen = sizeof(on),
		.mode = table->mode,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	};

	if (write && !capable(CAP_SYS_ADMIN))
		return -EPERM;

	on = static_key_enabled(&psi_enabled);
	ret = proc_dointvec_minmax(&value, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;

	if (mutex_lock_killable(&psi_enable_lock))
		return -EINTR;
	ret = psi_set_enabled(on);
	mutex_unlock(&psi_enable_lock);
	return ret;
}

static struct ctl_table psi_enable_sysctls[] = {
	{
		.procname	= "psi",
		.mode		= 0644,
		.proc_handler	= psi_enable_sysctl,
	},
};

static int __init psi_enable_init(void)
{
	psi_has_proc = static_key_enabled(&psi_enabled);
	register_sysctl_init("kernel", psi_enable_sysctls);
	return 0;
}
late_initcall(psi_enable_init);
