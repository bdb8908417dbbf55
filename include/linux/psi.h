/* SPDX-License-Identifier: GPL-2.0 */
/* Pressure stall information: for callers outside of kernel/sched. */
#ifndef _LINUX_PSI_H
#define _LINUX_PSI_H

#include <linux/jump_label.h>
#include <linux/psi_types.h>
#include <linux/sched.h>

#ifdef CONFIG_PSI

DECLARE_STATIC_KEY_FALSE(psi_enabled);

void psi_memstall_enter(unsigned long *flags);
void psi_memstall_leave(unsigned long *flags);
u64 psi_system_some_us(enum psi_resource res);

/**
 * psi_memstall_enter_cause - psi_memstall_enter() with a cause
 * @flags: kept for psi_memstall_leave()
 * @cause: why, not PSI_CAUSE_NONE
 *
 * It calls psi_memstall_enter(), so that tracing that one function shows all sections.
 *
 * Context: process context, interrupts on.
 */
static inline void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause)
{
	if (static_branch_unlikely(&psi_enabled))
		current->psi.next_cause = cause;
	psi_memstall_enter(flags);
}

#else /* !CONFIG_PSI */

static inline void psi_memstall_enter(unsigned long *flags) { }
static inline void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause) { }
static inline void psi_memstall_leave(unsigned long *flags) { }
static inline u64 psi_system_some_us(enum psi_resource res) { return 0; }

#endif /* CONFIG_PSI */

#endif /* _LINUX_PSI_H */
