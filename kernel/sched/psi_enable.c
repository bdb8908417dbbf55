// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: switched on and off while the system runs (kernel.psi, R-10).
 *
 * While it is off, the hooks in the scheduler are branches that are patched out, and nobody
 * writes down what tasks do. The branches are patched one by one, and what a task is doing
 * has begun before. So between off and on there is a state in which the hooks are called, but
 * no task is counted: each is PSI_TASK_EXEMPT. From there a task becomes one that is counted,
 * or back, under the lock of its runqueue, by what is true of it at that moment. That is done
 * for one after the other.
 *
 *	off		tasks are exempt, hooks are not called
 *	      |  ^
 *	      v  |	psi_enabled
 *	idle		tasks are exempt, hooks are called
 *	      |  ^
 *	      v  |	psi_set_counting(), then task by task
 *	on		tasks are counted
 *
 * On the way up, groups, threads and the system's place for causes are made before the hooks
 * are called, and files appear when all tasks are counted. On the way down all of that goes in
 * the other order. If there is no memory for something, what has been done is taken back.
 *
 * A new task is what psi_counting says, when it wakes up for the first time. All tasks are
 * found in the table of processes. A program that a thread other than its first one executes
 * gives that thread the first one's number, which may have been passed already. That happens
 * to a thread once, so two visits find everybody. One that exits leaves the table while it is
 * still counted, and is so until it is off its CPU. Whoever switches off waits for those
 * (psi_exit_srcu); one that begins to exit before it was counted never is.
 *
 * Sections of memory stalls: a task knows in which one it is (psi_task::cause) whether anything
 * is accounted or not. When it is counted again, its section is as if it began then; its end
 * finds it written down, or not (psi_task::cause_shard).
 *
 * The system's totals go on from where they were, as if nothing had happened while it was off.
 *
 * The end of /proc/pressure waits for those who are in the middle of a read() or write()
 * there: for ever, if their buffer is on a page that another program has to provide, and does
 * not. So a work item does that, first of all. Who waits for it can be killed; what is to be
 * done then is left to whoever comes next.
 *
 * Locking: psi_enable_lock for all of this. Inside of it cgroup_mutex, for one cgroup after
 * the other; those who hold that never wait for this one. What the hooks call takes no notice.
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

/* ------------------------------- Tasks ------------------------------- */

/* From before a task leaves the table of processes until it is off its CPU. */
DEFINE_STATIC_SRCU(psi_exit_srcu);

/**
 * psi_exit_begin - the current task may leave the table of processes from now on
 *
 * Whoever switches accounting off does not find it there any more, and waits for it. So
 * nothing may come from here on that waits for what others do, as the first process of a
 * pid namespace does for all others of that.
 *
 * Context: process context; tasklist_lock held.
 */
void psi_exit_begin(void)
{
	if (static_branch_unlikely(&psi_enabled)) {
		current->psi.exit_index = 1 + srcu_down_read(&psi_exit_srcu);
		__release(&psi_exit_srcu);	/* sparse wants that in one function */
	}
}

/**
 * psi_exit_end - what the current task will do next is to leave its CPU, for good
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
	 * Of those who exit there is none left but on its way off a CPU, with preemption off
	 * and then interrupts. A grace period does not wait for all of that: where schedule()
	 * begins, its CPU has passed one. It has not passed the next one.
	 */
	synchronize_srcu(&psi_exit_srcu);
	synchronize_rcu();
	synchronize_rcu();
}

/* ----------------------------- All of it ----------------------------- */

/* From off to idle. Return: 0, or -ENOMEM and the like. */
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
	/* Those who have found it off are done with what they do because of that. */
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
	/* And those who have found it on. */
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
	/* Somebody was killed who wanted it off. */
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
