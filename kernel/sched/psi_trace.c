// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: its trace events, and what psi_state_begin and psi_state_end
 * need.
 *
 * While one of these two is enabled all nodes have PSI_NODE_TRACED, those of groups that
 * are made meanwhile as well. Such a node does not follow, and tells of each change of its
 * states by itself. Otherwise nothing is done for it.
 *
 * Locking: psi_trace_mutex for the groups that there are and who is traced. Groups come and
 * go with cgroup_mutex held, and trace events are enabled with locks of tracing held. Inside
 * of it nothing but rq locks is taken, one after the other, so that it ties none of these
 * together. Whoever enables one (that takes CAP_PERFMON or root) makes all who make groups
 * wait. psi_trace_states() is called with the CPU's rq lock held.
 */
#include <linux/bitops.h>
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_hooks.h"

#define CREATE_TRACE_POINTS
#include <trace/events/psi.h>

/* The class psi_state of trace events has them as numbers. */
static_assert(PSI_CPU_FULL == 5 && PSI_NONIDLE == 7 && PSI_QUOTA_FULL == 9);

static DEFINE_MUTEX(psi_trace_mutex);
static LIST_HEAD(groups);		/* all but that of the system */
static unsigned int nr_enabled;		/* of the two events */
static bool is_traced;

/* Most often it is the one that tells. If not, who traces pays for a look at all. */
static int cpu_of_node(const struct psi_node *node)
{
	int cpu = raw_smp_processor_id();

	if (per_cpu_ptr(node->group->nodes, cpu) == node)
		return cpu;
	for_each_possible_cpu(cpu)
		if (per_cpu_ptr(node->group->nodes, cpu) == node)
			break;
	return cpu;
}

/**
 * psi_trace_states - states of a node with PSI_NODE_TRACED may have changed
 * @node: the node
 * @was:  in which states it was
 *
 * Context: rq lock held.
 */
void psi_trace_states(const struct psi_node *node, u16 was)
{
	unsigned long begun = node->states & ~was, ended = was & ~node->states;
	int cpu, s;

	/* One of a test has no group. */
	if (was == node->states || !node->group)
		return;

	cpu = cpu_of_node(node);
	for_each_set_bit(s, &ended, PSI_NR_STATES)
		trace_psi_state_end(node->group->id, cpu, s);
	for_each_set_bit(s, &begun, PSI_NR_STATES)
		trace_psi_state_begin(node->group->id, cpu, s);
}

static void trace_group(struct psi_group *group)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		psi_cpu_set_traced(per_cpu_ptr(group->nodes, cpu), cpu, is_traced);
		cond_resched();
	}
}

/**
 * psi_trace_group_add - a group has been made
 * @group: the group
 *
 * Context: may sleep.
 */
void psi_trace_group_add(struct psi_group *group)
{
	guard(mutex)(&psi_trace_mutex);

	list_add_tail(&group->trace_link, &groups);
	if (is_traced)
		trace_group(group);
}

/**
 * psi_trace_group_del - a group is about to be freed
 * @group: the group
 *
 * Context: may sleep.
 */
void psi_trace_group_del(struct psi_group *group)
{
	guard(mutex)(&psi_trace_mutex);

	list_del(&group->trace_link);
}

static void set_enabled(int more)
{
	struct psi_group *group;

	guard(mutex)(&psi_trace_mutex);

	nr_enabled += more;
	if (is_traced == !!nr_enabled)
		return;
	is_traced = nr_enabled;
	trace_group(&psi_system);
	list_for_each_entry(group, &groups, trace_link)
		trace_group(group);
}

/* Somebody enables one of the two events, and nobody had. */
int psi_trace_states_begin(void)
{
	set_enabled(1);
	return 0;
}

/* Nobody has it enabled any more. */
void psi_trace_states_end(void)
{
	set_enabled(-1);
}
