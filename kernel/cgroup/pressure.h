/* SPDX-License-Identifier: GPL-2.0 */
/* How far the pressure of cgroups is switched on. See pressure.c and pressure_enable.c. */
#ifndef _KERNEL_CGROUP_PRESSURE_H
#define _KERNEL_CGROUP_PRESSURE_H

/* What each cgroup has, or will when it is visited; new cgroups have it at once. */
enum cgroup_pressure_stage {
	PRESSURE_NOTHING,
	PRESSURE_GROUPS,	/* a psi_group */
	PRESSURE_FILES,		/* and files */
};

/* Under cgroup_mutex. */
extern enum cgroup_pressure_stage cgroup_pressure_stage;

#endif /* _KERNEL_CGROUP_PRESSURE_H */
