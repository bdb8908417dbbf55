// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the life of a group.
 *
 * A group is made with its cgroup, and its nodes are in no list: the first task that comes to
 * it puts it there. It is freed after a grace period, as nodes are walked under RCU, and after
 * those below it, which hand their causes over to it.
 *
 * Locking: groups are made under cgroup_mutex. A group that is freed is not used any more.
 */
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "psi_avgs.h"
#include "psi_cause.h"
#include "psi_cpu.h"
#include "psi_debug.h"
#include "psi_trigger.h"

/* Each with a mask of CPUs. A cache of their own, as kmalloc() would take up to twice as much. */
static struct kmem_cache *psi_group_cache __ro_after_init;

static int __init psi_group_setup(void)
{
	psi_group_cache = kmem_cache_create("psi_group",
					    sizeof(struct psi_group) + cpumask_size(),
					    __alignof__(struct psi_group),
					    SLAB_PANIC | SLAB_ACCOUNT, NULL);
	return 0;
}
core_initcall(psi_group_setup);

/**
 * psi_group_alloc - a group for a new cgroup
 * @parent: the group above, which is not switched on or off meanwhile
 *
 * Context: cgroup_mutex held, may sleep; current is charged.
 * Return: the group; NULL if there is no memory.
 */
struct psi_group *psi_group_alloc(struct psi_group *parent)
{
	struct psi_cause_shard *shards;
	struct psi_node __percpu *nodes;
	struct psi_group *group;
	struct psi_node *node;
	u64 now;
	int cpu;

	group = kmem_cache_zalloc(psi_group_cache, GFP_KERNEL);
	nodes = alloc_percpu_gfp(struct psi_node, GFP_KERNEL_ACCOUNT);
	shards = psi_cause_shards_alloc(GFP_KERNEL_ACCOUNT);
	if (!group || !nodes || !shards) {
		kvfree(shards);
		free_percpu(nodes);
		if (group)
			kmem_cache_free(psi_group_cache, group);
		return NULL;
	}

	now = local_clock();
	psi_group_init(group, nodes, (void *)(group + 1), now);
	psi_causes_init(&group->causes, shards, psi_cause_nr_shards(), &parent->causes);
	group->parent = parent;
	group->fold.avgs_due = psi_first_due(now, psi_periods_begin);
	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(nodes, cpu);
		psi_node_init(node, parent->acct_group ?
			      per_cpu_ptr(parent->acct_group->nodes, cpu) : NULL);
		/* Groups between this node and its parent may be switched on later. */
		node->level = min(per_cpu_ptr(parent->nodes, cpu)->level + 1, U8_MAX);
		node->group = group;
		psi_node_set_idle(node);
	}
	psi_debug_group_add(group);
	return group;
}

static void free_group(struct rcu_head *rcu)
{
	struct psi_group *group = container_of(rcu, struct psi_group, rcu);

	kvfree(group->causes.shards);
	free_percpu(group->nodes);
	kmem_cache_free(psi_group_cache, group);
}

/**
 * psi_group_free - free a group without tasks, files and readers
 * @group: the group, or NULL; those below it were freed before
 *
 * It may still be in a list of groups in which something has happened, and its nodes may be
 * followed.
 *
 * Context: may sleep.
 */
void psi_group_free(struct psi_group *group)
{
	if (!group)
		return;

	psi_fold_detach(group);
	psi_trigger_detach(group);
	psi_causes_hand_over(&group->causes, local_clock);

	psi_nodes_detach(group);
	psi_debug_group_del(group);
	call_rcu(&group->rcu, free_group);
}
