/* SPDX-License-Identifier: GPL-2.0 */
/* Cgroups when accounting is switched on and off. See psi_enable.c. */
#ifndef _KERNEL_SCHED_PSI_ENABLE_H
#define _KERNEL_SCHED_PSI_ENABLE_H

#include "psi_avgs.h"
#include "psi_cpu.h"

struct task_struct;

/* pressure_enable.c */
#ifdef CONFIG_CGROUPS

int cgroup_pressure_add_groups(void);
void cgroup_pressure_remove_groups(void);
void cgroup_pressure_count(struct task_struct *task);
int cgroup_pressure_add_files(void);
void cgroup_pressure_remove_files(void);

#else /* !CONFIG_CGROUPS */

static inline int cgroup_pressure_add_groups(void) { return 0; }
static inline void cgroup_pressure_remove_groups(void) { }

static inline void cgroup_pressure_count(struct task_struct *task)
{
	psi_count_task(task, &psi_system);
}

static inline int cgroup_pressure_add_files(void) { return 0; }
static inline void cgroup_pressure_remove_files(void) { }

#endif /* CONFIG_CGROUPS */

#endif /* _KERNEL_SCHED_PSI_ENABLE_H */
