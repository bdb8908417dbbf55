// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the trace events psi_state_begin and psi_state_end.
 *
 * While one of them is enabled all nodes have PSI_NODE_TRACED, those of groups that are
 * made meanwhile as well. Such a node does not follow, and tells of each change of its
 * states by itself. Otherwise nothing is done for it.
 *
 * Locking: cgroup_mutex for who is traced, as it keeps groups from coming and going.
 * (Trace events are enabled one at a time, so that without cgroups there is no need.)
 * psi_trace_states() is called with the CPU's rq lock held.
 */
#include <linux/bitops.h>
#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_hooks.h"

#define CREATE_TRACE_POINTS
#include <trace/events/psi.h>

/* The class psi_state of trace events has them as numbers. */
static_assert(PSI_CPU_FULL == 5 && PSI_NONIDLE == 7);

bool psi_is_traced;			/* cgroup_mutex */
static unsigned int nr_enabled;		/* cgroup_mutex; of the two events */

/* Nearly always it is the one that tells. */
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
void psi_trace_states(const struct psi_node *node, u8 was)
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
		psi_cpu_set_traced(per_cpu_ptr(group->nodes, cpu), cpu, psi_is_traced);
		cond_resched();
	}
}

#ifdef CONFIG_CGROUPS

/* Of cgroups; the root's is that of the system. */
static void trace_cgroups(void)
{
	struct cgroup_subsys_state *css;
	struct psi_group *group;

	css_for_each_descendant_pre(css, &cgrp_dfl_root.cgrp.self) {
		group = css->cgroup->psi;
		if (group && group != &psi_system)
			trace_group(group);
	}
}

#else

static void trace_cgroups(void) { }

#endif

static void set_enabled(int more)
{
	if (!static_branch_unlikely(&psi_enabled))
		return;

	cgroup_lock();
	nr_enabled += more;
	if (psi_is_traced == !nr_enabled) {
		psi_is_traced = nr_enabled;
		trace_group(&psi_system);
		trace_cgroups();
	}
	cgroup_unlock();
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
