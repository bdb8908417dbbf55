// SPDX-License-Identifier: GPL-2.0
/*
 * What scripts/bench measures and user space cannot do. It is built into each
 * of the kernels that are compared.
 *
 * "stall N", written to /proc/psi_bench, makes N memory stall sections, one after
 * the other.
 *
 * psi_bench=native on the command line: two threads hand the CPU to each other,
 * in different groups, before there is any user space. The time per switch is
 * printed, and the machine switched off. So user-mode Linux will do, on hosts
 * with more registers than it can give to a process, too.
 */
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/init_syscalls.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/proc_fs.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#ifdef CONFIG_PSI
#include <linux/psi.h>
#else
static void psi_memstall_enter(unsigned long *flags) { }
static void psi_memstall_leave(unsigned long *flags) { }
#endif

/* ------------------------- Memory stall sections ------------------------- */

static void stall(unsigned int count)
{
	unsigned long flags;

	while (count--) {
		psi_memstall_enter(&flags);
		psi_memstall_leave(&flags);
	}
}

static ssize_t bench_write(struct file *file, const char __user *from,
			   size_t size, loff_t *pos)
{
	char text[32];
	unsigned int count;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	text[size] = '\0';
	if (sscanf(text, "stall %u", &count) != 1)
		return -EINVAL;
	stall(count);
	return size;
}

static const struct proc_ops bench_ops = {
	.proc_write = bench_write,
};

/* ------------------------------- Switches ------------------------------- */

#define ROOT	"/psi_bench"
#define COUNT	200000

static struct bench_side {
	struct task_struct *task;
	struct completion turn;
} sides[2];

static DECLARE_COMPLETION(bench_done);
static unsigned int turns_left;		/* only the task whose turn it is looks at it */

static int take_turns(void *arg)
{
	struct bench_side *me = arg, *other = &sides[me == sides];

	for (;;) {
		wait_for_completion(&me->turn);
		if (--turns_left)
			complete(&other->turn);
		else
			complete(&bench_done);
	}
	return 0;
}

static u64 __init hand_over(unsigned int count)
{
	u64 start = ktime_get_ns();

	turns_left = count;
	complete(&sides[0].turn);
	wait_for_completion(&bench_done);
	return ktime_get_ns() - start;
}

static int __init join(const char *group, struct bench_side *side)
{
	char text[64];
	struct file *file;
	ssize_t ret;

	snprintf(text, sizeof(text), "%s/cgroup.procs", group);
	file = filp_open(text, O_WRONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	snprintf(text, sizeof(text), "%d", side->task->pid);
	ret = kernel_write(file, text, strlen(text), NULL);
	filp_close(file, NULL);
	return ret < 0 ? ret : 0;
}

/* The two are in one group, or in two that part at the root. */
static int __init measure(int depth, int branches)
{
	char path[48] = ROOT;
	int i, level, ret;
	u64 ns;

	for (i = 0; i < 2; i++) {
		path[strlen(ROOT)] = '\0';
		for (level = 0; level < depth; level++) {
			strcat(path, i % branches ? "/b" : "/a");
			init_mkdir(path, 0755);
		}
		ret = join(path, &sides[i]);
		if (ret)
			return ret;
	}
	hand_over(COUNT / 10);
	ns = hand_over(COUNT);
	pr_info("bench native %s %d %llu.%03llu ns\n",
		branches > 1 ? "root" : "same", depth, ns / COUNT,
		ns % COUNT * 1000 / COUNT);
	return 0;
}

static int __init native(void)
{
	static const int depths[] __initconst = { 0, 4, 16 };
	int i, ret;

	init_mkdir(ROOT, 0755);
	ret = init_mount("none", ROOT, "cgroup2", 0, NULL);

	for (i = 0; i < 2 && !ret; i++) {
		init_completion(&sides[i].turn);
		sides[i].task = kthread_run(take_turns, &sides[i], "psi_bench");
		ret = PTR_ERR_OR_ZERO(sides[i].task);
	}
	/* A thread that has not run yet cannot be moved. */
	if (!ret)
		hand_over(2);
	for (i = 0; i < ARRAY_SIZE(depths) && !ret; i++) {
		ret = measure(depths[i], 1);
		if (!ret && depths[i])
			ret = measure(depths[i], 2);
	}
	pr_info("guest: end psi_bench %d\n", ret);
	kernel_power_off();
	return ret;
}

static char *what;
core_param(psi_bench, what, charp, 0);

static int __init bench_init(void)
{
	if (what && !strcmp(what, "native"))
		return native();
	return proc_create("psi_bench", 0200, NULL, &bench_ops) ? 0 : -ENOMEM;
}
late_initcall(bench_init);
