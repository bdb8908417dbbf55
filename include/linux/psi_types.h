/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pressure stall information: names and structures that others embed.
 */
#ifndef _LINUX_PSI_TYPES_H
#define _LINUX_PSI_TYPES_H

#include <linux/types.h>

struct psi_group;
struct psi_node;

/* What tasks can be short of; one pressure file each. */
enum psi_resource {
	PSI_IO,
	PSI_MEM,
	PSI_CPU,
	PSI_IRQ,
	PSI_NR_RESOURCES,
};

/**
 * struct psi_task - what PSI knows of one task
 * @group:	where the task belongs
 * @node:	where the task is counted; meaningful while @counted is not 0
 * @state:	what the scheduler and mm have told: PSI_TASK_* of psi_node.h
 * @counted:	what @node has been told: PSI_* bits of psi_node.h
 *
 * @counted lags behind @state while a task is on its way off the CPU, and is
 * 0 while a task is between two CPUs.
 *
 * Locking: written under the lock of the runqueue that the task belongs to. Of a
 * task that is neither queued nor running, @counted may be read under p->pi_lock
 * alone, because nobody else may move or wake it then.
 */
struct psi_task {
	struct psi_group *group;
	struct psi_node	*node;
	u8		state;
	u8		counted;
};

#endif /* _LINUX_PSI_TYPES_H */
