/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pressure stall information: what the kernel outside of kernel/sched calls.
 */
#ifndef _LINUX_PSI_H
#define _LINUX_PSI_H

#include <linux/psi_types.h>
#include <linux/sched.h>

#ifdef CONFIG_PSI

void psi_memstall_enter(unsigned long *flags);
void psi_memstall_leave(unsigned long *flags);
void psi_exit_begin(void);
void psi_exit_end(void);
u64 psi_system_some_us(enum psi_resource res);

/**
 * psi_memstall_enter_cause - psi_memstall_enter() of code that names a cause
 * @flags: kept for psi_memstall_leave()
 * @cause: why, not PSI_CAUSE_NONE
 *
 * Each section goes through psi_memstall_enter(), which is what people trace.
 *
 * Context: process context, interrupts on.
 */
static inline void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause)
{
	current->psi.next_cause = cause;
	psi_memstall_enter(flags);
}

#else /* !CONFIG_PSI */

static inline void psi_memstall_enter(unsigned long *flags) { }
static inline void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause) { }
static inline void psi_memstall_leave(unsigned long *flags) { }
static inline void psi_exit_begin(void) { }
static inline void psi_exit_end(void) { }
static inline u64 psi_system_some_us(enum psi_resource res) { return 0; }

#endif /* CONFIG_PSI */

#endif /* _LINUX_PSI_H */
