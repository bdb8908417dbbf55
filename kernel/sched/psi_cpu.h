/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What psi.c, which knows runqueues, their locks and clocks, does for the rest of PSI. In
 * the other direction, psi.c calls psi_group_activate(), psi_group_stalled() and
 * psi_trigger_notify() when something begins.
 */
#ifndef _KERNEL_SCHED_PSI_CPU_H
#define _KERNEL_SCHED_PSI_CPU_H

#include "psi_node.h"

struct psi_group;
struct rq;
struct task_struct;

/* for folds and triggers */
u16 psi_cpu_times(const struct psi_node *node, int cpu, u32 times[]);
bool psi_cpu_is_busy(const struct psi_node *node, int cpu);
void psi_cpu_idle(struct psi_node *node, int cpu);
bool psi_cpu_unstalled(struct psi_node *node, int cpu);
bool psi_cpu_watch(struct psi_node *node, int cpu, enum psi_state state);
void psi_exempt_current(void);

/* Groups per hold of a rq lock: some thousand instructions. */
#define PSI_SET_PARENTS_MAX	16

/* for cgroups */
void psi_set_parents(struct psi_group * const groups[], unsigned int nr,
		     struct psi_group *parent);
void psi_nodes_detach(struct psi_group *group);
void psi_move_task(struct task_struct *p, struct psi_group *group);
void psi_recount_task(struct task_struct *p);

#endif /* _KERNEL_SCHED_PSI_CPU_H */
