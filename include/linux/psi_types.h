/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pressure stall information: names and structures that others embed.
 */
#ifndef _LINUX_PSI_TYPES_H
#define _LINUX_PSI_TYPES_H

#include <linux/types.h>

struct psi_cause_shard;
struct psi_group;
struct psi_node;
struct task_struct;

/* What tasks can be short of; each has a pressure file. */
enum psi_resource {
	PSI_IO,
	PSI_MEM,
	PSI_CPU,
	PSI_IRQ,
	PSI_NR_RESOURCES,
};

/* Why a task is stalled on memory, in the order of pressure.causes. */
enum psi_cause {
	PSI_CAUSE_NONE,
	PSI_CAUSE_DIRECT_RECLAIM,
	PSI_CAUSE_DIRECT_COMPACTION,
	PSI_CAUSE_NODE_RECLAIM,
	PSI_CAUSE_MEMCG_MAX,
	PSI_CAUSE_MEMCG_HIGH,
	PSI_CAUSE_THRASHING,		/* waits for a page that is being read back */
	PSI_CAUSE_READBACK,		/* reads it back */
	PSI_CAUSE_SWAPIN,
	PSI_CAUSE_BLKCG_THROTTLE,
	PSI_CAUSE_OTHER,
	/* No task waits for these. */
	PSI_CAUSE_BACKGROUND_KSWAPD,
	PSI_CAUSE_BACKGROUND_KCOMPACTD,
	/* Reclaim that was asked for is no stall. */
	PSI_CAUSE_REQUESTED_RECLAIM,
	PSI_CAUSE_LAST = PSI_CAUSE_REQUESTED_RECLAIM,
};

/**
 * struct psi_task - what PSI knows of a task
 * @group:	where the task belongs
 * @node:	where the task is counted on @cpu; NULL: nowhere
 * @cpu:	the CPU of @node; -1: @node is not known
 * @flags:	what the scheduler and mm have reported: PSI_TASK_* of psi_node.h
 * @contrib:	what @node has counted of it: PSI_* bits of psi_node.h
 * @cause:	enum psi_cause of the section that it is in; written by the task itself
 * @next_cause: from psi_memstall_enter_cause() to psi_memstall_enter(); the task's own
 * @cause_begun: begin of that section, or since when it is in @group, ns
 * @cause_shard: where the section is recorded; NULL: nowhere
 * @link:	tasks that @cpu counts, with CONFIG_PSI_DEBUG
 *
 * @contrib lags behind @flags while a task is on its way off the CPU, and is 0 while it is
 * between two CPUs.
 *
 * Locking: written under the lock of the runqueue that the task belongs to. @contrib of a
 * task that is neither queued nor running may be read under p->pi_lock alone, as nobody
 * else can move or wake the task then. A task reads its own @cause without a lock.
 */
struct psi_task {
	struct psi_group *group;
	struct psi_node	*node;
	int		cpu;
	u8		flags;
	u8		contrib;
	u8		cause;
	u8		next_cause;
	u64		cause_begun;
	struct psi_cause_shard *cause_shard;
#ifdef CONFIG_PSI_DEBUG
	struct hlist_node link;
#endif
};

/**
 * struct psi_rq - what PSI keeps with each runqueue, beside rq->psi_seq
 * @irq_ns:	interrupt time that has been counted or is nobody's, ns: as far as
 *		irq_time_read() had come
 * @preempted:	whose CPU a thread of PSI has at the moment, or NULL
 *
 * Locking: the rq lock.
 */
struct psi_rq {
	u64			irq_ns;
	struct task_struct	*preempted;
};

#endif /* _LINUX_PSI_TYPES_H */
