/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pressure stall information: what the kernel outside of kernel/sched calls.
 */
#ifndef _LINUX_PSI_H
#define _LINUX_PSI_H

#include <linux/psi_types.h>

#ifdef CONFIG_PSI

void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause);
void psi_memstall_leave(unsigned long *flags);
void psi_exit_begin(void);
void psi_exit_end(void);
u64 psi_system_some_us(enum psi_resource res);

#else /* !CONFIG_PSI */

static inline void psi_memstall_enter_cause(unsigned long *flags, enum psi_cause cause) { }
static inline void psi_memstall_leave(unsigned long *flags) { }
static inline void psi_exit_begin(void) { }
static inline void psi_exit_end(void) { }
static inline u64 psi_system_some_us(enum psi_resource res) { return 0; }

#endif /* CONFIG_PSI */

/**
 * psi_memstall_enter - psi_memstall_enter_cause() of code that names no cause
 * @flags: kept for psi_memstall_leave()
 *
 * It counts as "other".
 *
 * Context: process context, interrupts on.
 */
static inline void psi_memstall_enter(unsigned long *flags)
{
	psi_memstall_enter_cause(flags, PSI_CAUSE_OTHER);
}

#endif /* _LINUX_PSI_H */
