// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of psi.c in the running system.
 *
 * psi.c is told of events; this looks at the facts. With all CPUs stopped, what
 * each task contributes must follow from the fields that the scheduler itself
 * goes by, it must be counted where its group says, and what each node has counted
 * must be the sum over its tasks and children. Threads that sleep, wait for io,
 * stall, migrate, change their class, move between groups and die in a stall make
 * sure that there is something to see; CPUs come and go, and groups are switched
 * off and on.
 *
 * In the guest it can be repeated under any load, also with cgroups:
 *	echo 1 > /sys/kernel/debug/kunit/psi_live/run
 */
#include <kunit/test.h>
#include <linux/cgroup.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>	/* for sched.h */
#include <linux/psi.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <uapi/linux/sched/types.h>

#include "sched.h"
#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_hooks.h"

#define NR_OWN		6	/* groups of the test, beside the cgroups */
#define MAX_GROUPS	256

/* A thread that makes something to see, and what only it knows. */
struct churn {
	struct task_struct	*thread;
	int			own;	/* which of the test's groups, or -1 */
	enum { UNSURE, STALLED, NOT_STALLED } memory;
};

struct look {
	struct psi_group *group[MAX_GROUPS];
	int		nr_groups;
	struct psi_group *own[NR_OWN];
	struct churn	*churn;
	int		nr_churn;
	unsigned int	tasks;
	unsigned int	counted;	/* tasks that contribute anything */
	unsigned int	following;	/* nodes */
	unsigned int	wrong_tasks;
	unsigned int	wrong_nodes;
	char		what[128];	/* the last thing that was wrong */
};

/* The test's groups: 0 and 4 below the system, 1, 2 and 3 a chain below 0. */
static int own_parent(int i)
{
	static const int parent[NR_OWN] = { -1, 0, 1, 2, -1, 4 };

	return parent[i];
}

/* What the task should contribute, from the scheduler's own fields. */
static u8 contrib_by_facts(struct task_struct *p)
{
	u8 flags = p->psi.flags & (PSI_TASK_MEMSTALL | PSI_TASK_EXEMPT | PSI_TASK_PREEMPTED);

	if (task_on_rq_queued(p) && !p->se.sched_delayed)
		flags |= PSI_TASK_RUNNABLE;
	else if (psi_waits_for_io(p))
		flags |= PSI_TASK_IOWAIT;
	if (task_on_cpu(task_rq(p), p) || flags & PSI_TASK_PREEMPTED)
		flags |= PSI_TASK_ONCPU;
#ifdef CONFIG_CFS_BANDWIDTH
	if (p->sched_class == &fair_sched_class && p->se.cfs_rq->throttle_count)
		flags |= PSI_TASK_HELD;
#endif

	return psi_task_contrib(flags);
}

static void look_at_task(struct look *look, struct task_struct *p)
{
	u8 contrib = p->psi.contrib;
	struct psi_group *acct;
	struct psi_node *node;

	look->tasks++;
	look->counted += !!contrib;

	/* A wakeup that is on its way may already have been taken off its CPU. */
	if (READ_ONCE(p->__state) == TASK_WAKING)
		return;

	acct = contrib ? p->psi.group->acct_group : NULL;
	node = acct ? per_cpu_ptr(acct->nodes, task_cpu(p)) : NULL;
	if (psi_cause_is_stall(p->psi.cause) != !!(p->psi.flags & PSI_TASK_MEMSTALL) ||
	    contrib != contrib_by_facts(p) ||
	    (contrib && (p->psi.node != node || p->psi.cpu != task_cpu(p)))) {
		look->wrong_tasks++;
		snprintf(look->what, sizeof(look->what),
			 "%s/%d on CPU %d counts %02x, is %02x (flags %02x)%s",
			 p->comm, p->pid, task_cpu(p), contrib, contrib_by_facts(p),
			 p->psi.flags, p->psi.node != node ? " elsewhere" : "");
	}
}

/* A thread knows whether it is in a memory stall section. */
static void look_at_churn(struct look *look, struct churn *churn)
{
	bool stalled = churn->thread->psi.flags & PSI_TASK_MEMSTALL;

	if (churn->memory == UNSURE || churn->memory == (stalled ? STALLED : NOT_STALLED))
		return;

	look->wrong_tasks++;
	snprintf(look->what, sizeof(look->what), "%s: stalled is %d",
		 churn->thread->comm, stalled);
}

/* The node whose times and states this one has. */
static struct psi_node *end_of_chain(struct psi_node *node)
{
	while (psi_node_follows(node))
		node = psi_node_followed(node);
	return node;
}

static bool is_below(struct psi_node *node, struct psi_node *above)
{
	while (node && node != above)
		node = node->parent;
	return node;
}

/* Tasks and nodes that are there, and what they come to. */
struct sum {
	u32	count[PSI_NR_COUNTS];
	u8	contrib;
};

static void add_contrib(struct sum *sum, u8 contrib)
{
	int bit;

	for (bit = 0; bit < PSI_NR_COUNTS; bit++)
		sum->count[bit] += !!(contrib & BIT(bit));
	sum->contrib |= contrib;
}

static void wrong_node(struct look *look, struct psi_node *node, int cpu,
		       const char *what, const struct sum *sum)
{
	u32 is[PSI_NR_COUNTS];
	int bit;

	for (bit = 0; bit < PSI_NR_COUNTS; bit++)
		is[bit] = psi_node_count(node, bit);
	look->wrong_nodes++;
	snprintf(look->what, sizeof(look->what),
		 "level %d on CPU %d: %s: %u %u %u %u %u %02x, has %u %u %u %u %u %02x",
		 node->level, cpu, what, is[0], is[1], is[2], is[3], is[4], node->contrib,
		 sum->count[0], sum->count[1], sum->count[2], sum->count[3], sum->count[4],
		 sum->contrib);
}

/* Is the node in the state of all tasks below it, whoever follows whom? */
static void look_at_states(struct look *look, struct psi_node *node, int cpu)
{
	struct psi_node *end = end_of_chain(node);
	struct task_struct *g, *p;
	struct sum sum = { };

	for_each_process_thread(g, p)
		if (p->psi.contrib && is_below(p->psi.node, node))
			add_contrib(&sum, p->psi.contrib);

	if (end->contrib != sum.contrib || psi_node_states(node) != psi_states(sum.contrib))
		wrong_node(look, end, cpu, "tasks below", &sum);
	if (psi_node_follows(node) && !is_below(end, node))
		wrong_node(look, end, cpu, "follows a stranger", &sum);
	if (node->parent && !psi_node_follows(node) && !is_below(node->parent, node->acct_parent) &&
	    node->acct_parent)
		wrong_node(look, end, cpu, "is accounted by a stranger", &sum);
}

/* Is a node's count the sum over who contributes to it? */
static void look_at_count(struct look *look, struct psi_node *node, int cpu)
{
	struct task_struct *g, *p;
	struct psi_node *other;
	struct sum sum = { };
	bool same = true;
	int i;

	if (psi_node_follows(node))
		return;

	for_each_process_thread(g, p)
		if (p->psi.contrib && p->psi.node == node)
			add_contrib(&sum, p->psi.contrib);
	for (i = 0; i < look->nr_groups; i++) {
		other = per_cpu_ptr(look->group[i]->nodes, cpu);
		if (!psi_node_follows(other) && other->acct_parent == node)
			add_contrib(&sum, other->contrib);
	}

	for (i = 0; i < PSI_NR_COUNTS; i++)
		same &= psi_node_count(node, i) == sum.count[i];
	if (!same || node->contrib != sum.contrib)
		wrong_node(look, node, cpu, "contributors", &sum);
}

static void look_at_node(struct look *look, struct psi_node *node, int cpu)
{
	look->following += psi_node_follows(node);
	look_at_count(look, node, cpu);
	look_at_states(look, node, cpu);
}

/* All other CPUs spin with interrupts off: nobody is in the middle of anything. */
static int look_around(void *arg)
{
	struct look *look = arg;
	struct task_struct *g, *p;
	int cpu, i;

	for_each_process_thread(g, p)
		look_at_task(look, p);
	for (i = 0; i < look->nr_churn; i++)
		look_at_churn(look, &look->churn[i]);
	for_each_possible_cpu(cpu)
		for (i = 0; i < look->nr_groups; i++)
			look_at_node(look, per_cpu_ptr(look->group[i]->nodes, cpu), cpu);
	return 0;
}

static void add_group(struct look *look, struct psi_group *group)
{
	if (group && look->nr_groups < MAX_GROUPS)
		look->group[look->nr_groups++] = group;
}

#ifdef CONFIG_CGROUPS
/* No cgroup is made, removed or switched. */
static void hold_groups(struct look *look)
{
	struct cgroup_subsys_state *css;

	cgroup_lock();
	css_for_each_descendant_pre(css, &cgrp_dfl_root.cgrp.self)
		if (css != &cgrp_dfl_root.cgrp.self)
			add_group(look, css->cgroup->psi);
}

static void release_groups(void)
{
	cgroup_unlock();
}
#else
static void hold_groups(struct look *look) { }
static void release_groups(void) { }
#endif

static bool take_a_look(struct look *look)
{
	int i;

	look->tasks = 0;
	look->counted = 0;
	look->following = 0;
	look->wrong_tasks = 0;
	look->wrong_nodes = 0;
	look->nr_groups = 0;

	add_group(look, &psi_system);
	hold_groups(look);
	for (i = 0; i < NR_OWN; i++)
		add_group(look, look->own[i]);
	stop_machine(look_around, look, NULL);
	release_groups();

	return !look->wrong_tasks && !look->wrong_nodes;
}

static void stall(struct churn *churn, void (*work)(void))
{
	unsigned long flags;

	WRITE_ONCE(churn->memory, UNSURE);
	psi_memstall_enter(&flags);
	WRITE_ONCE(churn->memory, STALLED);
	work();
	WRITE_ONCE(churn->memory, UNSURE);
	psi_memstall_leave(&flags);
	WRITE_ONCE(churn->memory, NOT_STALLED);
}

static void work(void)
{
	udelay(get_random_u32_below(200));
	cond_resched();
}

static void doze(void)
{
	usleep_range(50, 500);
}

static void wait_for_io(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	io_schedule_timeout(1);
}

static int random_cpu(void)
{
	guard(preempt)();
	return cpumask_any_distribute(cpu_online_mask);
}

/* One thread's life: a bit of everything that PSI is told of. */
static int churn_thread(void *arg)
{
	struct churn *churn = arg;

	while (!kthread_should_stop()) {
		switch (get_random_u32_below(8)) {
		case 0:
		case 1:
			work();
			break;
		case 2:
			wait_for_io();
			break;
		case 3:
			stall(churn, work);
			break;
		case 4:
			stall(churn, doze);
			break;
		case 5:
			stall(churn, wait_for_io);
			break;
		case 6:
			set_cpus_allowed_ptr(current, get_random_u32_below(4) ?
					     cpu_possible_mask : cpumask_of(random_cpu()));
			break;
		default:
			doze();
			break;
		}
	}
	return 0;
}

/* One that dies as if by an oops: inside the section. */
static int doomed_thread(void *unused)
{
	unsigned long flags;

	psi_memstall_enter(&flags);
	return 0;
}

/*
 * 6.12's own deadline class has trouble there, which scripts/variants looks for
 * without PSI: with PREEMPT_RT at any time, with the others when CPUs go away.
 */
#define NO_DEADLINES		IS_ENABLED(CONFIG_PREEMPT_RT)
#define DEADLINE_OR_HOTPLUG						\
	(NO_DEADLINES || IS_ENABLED(CONFIG_SCHED_CORE) || !IS_ENABLED(CONFIG_64BIT))

/* Change nice and class, in whatever state the task is. */
static void bother(struct task_struct *p, bool deadlines)
{
	/* Less runtime than work() wants: throttled most of the time. */
	struct sched_attr deadline = {
		.size		= sizeof(deadline),
		.sched_policy	= SCHED_DEADLINE,
		.sched_runtime	= 50 * NSEC_PER_USEC,
		.sched_deadline	= 5ULL * NSEC_PER_MSEC,
		.sched_period	= 5ULL * NSEC_PER_MSEC,
	};

	switch (get_random_u32_below(4)) {
	case 0:
		sched_set_fifo_low(p);
		break;
	case 1:
		/* Refused if it may not run everywhere; then it may not. */
		if (deadlines)
			sched_setattr_nocheck(p, &deadline);
		break;
	default:
		sched_set_normal(p, (int)get_random_u32_below(40) - 20);
		break;
	}
}

static struct psi_group *above(struct look *look, int i)
{
	return own_parent(i) < 0 ? &psi_system : look->own[own_parent(i)];
}

static void move_thread(struct look *look, struct churn *churn)
{
	churn->own = (int)get_random_u32_below(NR_OWN + 1) - 1;
	psi_move_task(churn->thread, churn->own < 0 ? &psi_system :
						      look->own[churn->own]);
}

/* Switch a group off or on, and leave it to the callees to find out what changes. */
static void turn_switch(struct look *look, int which)
{
	bool on = !psi_group_is_on(look->own[which]);
	int i;

	psi_debug_switch_begin();

	for (i = which; i < NR_OWN; i++) {
		if (i == which ? on : psi_group_is_on(look->own[i]))
			WRITE_ONCE(look->own[i]->acct_group, look->own[i]);
		else
			WRITE_ONCE(look->own[i]->acct_group, above(look, i)->acct_group);
	}
	for (i = 0; i < NR_OWN; i++)
		psi_set_parent(look->own[i], above(look, i)->acct_group);
	for (i = 0; i < look->nr_churn; i++)
		psi_recount_task(look->churn[i].thread);
	psi_debug_switch_end();
}

/* Take the last CPU away, or bring it back. */
static void toggle_cpu(bool *off)
{
	int cpu = nr_cpu_ids - 1;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || num_possible_cpus() == 1)
		return;
	if (!(*off ? add_cpu(cpu) : remove_cpu(cpu)))
		*off = !*off;
}

#define LOOKS	100

static void counts_match_the_facts(struct kunit *test)
{
	int nr = 3 * num_online_cpus() + 2, i, n, bad;
	struct look *look;
	struct psi_stall stalls[2];
	unsigned int most = 0, following = 0;
	bool cpu_off = false, deadlines, hotplug;

	if (!static_branch_unlikely(&psi_enabled))
		kunit_skip(test, "psi=0");

	look = kunit_kzalloc(test, sizeof(*look), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, look);
	look->churn = kunit_kcalloc(test, nr, sizeof(*look->churn), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, look->churn);

	for (i = 0; i < NR_OWN; i++) {
		look->own[i] = psi_group_alloc(above(look, i), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, look->own[i]);
	}

	for (; look->nr_churn < nr; look->nr_churn++) {
		struct churn *churn = &look->churn[look->nr_churn];

		churn->thread = kthread_run(churn_thread, churn, "psi_churn/%d",
					    look->nr_churn);
		if (IS_ERR(churn->thread))
			break;
	}
	KUNIT_EXPECT_EQ(test, look->nr_churn, nr);

	for (n = 0; n < LOOKS; n++) {
		deadlines = !NO_DEADLINES && (!DEADLINE_OR_HOTPLUG || n < LOOKS / 2);
		hotplug = !DEADLINE_OR_HOTPLUG || !deadlines;
		for (i = 0; i < look->nr_churn; i++) {
			if (n == LOOKS / 2 && !deadlines)
				sched_set_normal(look->churn[i].thread, 0);
			if (!get_random_u32_below(8))
				bother(look->churn[i].thread, deadlines);
			if (!get_random_u32_below(2))
				move_thread(look, &look->churn[i]);
		}
		if (n % 4 == 3)
			turn_switch(look, get_random_u32_below(NR_OWN));
		kthread_run(doomed_thread, NULL, "psi_doomed");
		if (hotplug && n % 10 == 5)
			toggle_cpu(&cpu_off);
		usleep_range(1000, 10000);

		/*
		 * A task that exits is still counted when it is on no list any
		 * more. That is soon over; a wrong count stays.
		 */
		for (bad = 0; bad < 3 && !take_a_look(look); bad++)
			msleep(20);
		KUNIT_EXPECT_LT_MSG(test, bad, 3, "%u tasks, %u nodes wrong: %s",
				    look->wrong_tasks, look->wrong_nodes, look->what);
		most = max(most, look->counted);
		following += look->following;
		if (bad == 3)
			break;
	}

	/* Seeing nothing proves nothing. */
	KUNIT_EXPECT_GT(test, most, 1);
	KUNIT_EXPECT_GT(test, following, 0);
	kunit_info(test, "%d looks, %u tasks, up to %u of them counted, %u nodes following\n",
		   n, look->tasks, most, following);

	if (cpu_off)
		toggle_cpu(&cpu_off);
	for (i = 0; i < look->nr_churn; i++) {
		/* One that is throttled would take its time to hear of it. */
		sched_set_normal(look->churn[i].thread, 0);
		psi_move_task(look->churn[i].thread, &psi_system);
		kthread_stop(look->churn[i].thread);
	}
	for (i = NR_OWN - 1; i >= 0; i--) {
		/* Somewhere below there were stalls; folding has not lost them. */
		psi_group_read(look->own[i], PSI_MEM_SOME, 2, stalls);
		if (psi_group_is_on(look->own[i]))
			KUNIT_EXPECT_GT(test, stalls[0].total, 0);
		psi_group_free(look->own[i]);
	}
}

static int busy_thread(void *unused)
{
	while (!kthread_should_stop())
		cond_resched();
	return 0;
}

/* Return: where the thread, out of runtime for a while, waits for more; or -1. */
static int throttle(struct task_struct *p)
{
	struct sched_attr deadline = {
		.size		= sizeof(deadline),
		.sched_policy	= SCHED_DEADLINE,
		.sched_runtime	= NSEC_PER_MSEC,
		.sched_deadline	= 500ULL * NSEC_PER_MSEC,
		.sched_period	= 500ULL * NSEC_PER_MSEC,
	};
	int i;

	/* It may go anywhere again, or it gets no deadline. */
	set_cpus_allowed_ptr(p, cpumask_of(nr_cpu_ids - 1));
	set_cpus_allowed_ptr(p, cpu_possible_mask);
	if (sched_setattr_nocheck(p, &deadline))
		return -1;
	for (i = 0; i < 10 && !p->dl.dl_throttled; i++)
		msleep(20);
	return p->dl.dl_throttled ? (int)task_cpu(p) : -1;
}

/* It is moved without being queued, and deadline.c has to tell of it. */
static void throttled_task_loses_its_cpu(struct kunit *test)
{
	struct task_struct *p;
	struct look *look;
	int cpu = -1, i;

	if (!static_branch_unlikely(&psi_enabled))
		kunit_skip(test, "psi=0");
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || num_online_cpus() == 1 || DEADLINE_OR_HOTPLUG)
		kunit_skip(test, "no CPU can go away, or not with deadline tasks");

	look = kunit_kzalloc(test, sizeof(*look), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, look);
	p = kthread_run(busy_thread, NULL, "psi_throttled");
	KUNIT_ASSERT_FALSE(test, IS_ERR(p));

	/* The first CPU stays. */
	for (i = 0; i < 20 && cpu <= 0; i++) {
		sched_set_normal(p, 0);
		cpu = throttle(p);
	}
	KUNIT_EXPECT_GT(test, cpu, 0);
	if (cpu > 0 && !remove_cpu(cpu)) {
		for (i = 0; i < 50 && task_cpu(p) == cpu; i++)
			msleep(20);
		KUNIT_EXPECT_NE(test, task_cpu(p), cpu);
		for (i = 0; i < 3 && !take_a_look(look); i++)
			msleep(20);
		KUNIT_EXPECT_LT_MSG(test, i, 3, "%s", look->what);
		add_cpu(cpu);
	}
	sched_set_normal(p, 0);
	kthread_stop(p);
}

static struct kunit_case psi_live_cases[] = {
	KUNIT_CASE_SLOW(counts_match_the_facts),
	KUNIT_CASE_SLOW(throttled_task_loses_its_cpu),
	{ }
};

static struct kunit_suite psi_live_suite = {
	.name = "psi_live",
	.test_cases = psi_live_cases,
};

kunit_test_suite(psi_live_suite);

MODULE_DESCRIPTION("Pressure stall information: the hooks against the facts");
MODULE_LICENSE("GPL");
