/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CONFIG_PSI_DEBUG: does the accounting hold what it should? See psi_debug.c.
 */
#ifndef _KERNEL_SCHED_PSI_DEBUG_H
#define _KERNEL_SCHED_PSI_DEBUG_H

#include <linux/types.h>

struct psi_group;
struct rq;
struct task_struct;

/**
 * struct psi_debug_seen - what checks have looked at so far
 * @checks:    number of checks, each of one CPU
 * @tasks:     tasks that contribute anything
 * @following: nodes that follow another one
 */
struct psi_debug_seen {
	unsigned long	checks;
	unsigned long	tasks;
	unsigned long	following;
};

#ifdef CONFIG_PSI_DEBUG

void psi_debug_group_add(struct psi_group *group);
void psi_debug_group_del(struct psi_group *group);
void psi_debug_switch_begin(void);
void psi_debug_switch_end(void);
void psi_debug_contrib(struct rq *rq, struct task_struct *p, u8 contrib);
void psi_debug_clock(struct rq *rq, u32 now);
void psi_debug_written(struct rq *rq);
void psi_debug_tick(struct rq *rq);
void psi_debug_report(void);
const char *psi_debug_check(struct psi_debug_seen *so_far);

#else /* !CONFIG_PSI_DEBUG */

static inline void psi_debug_group_add(struct psi_group *group) { }
static inline void psi_debug_group_del(struct psi_group *group) { }
static inline void psi_debug_switch_begin(void) { }
static inline void psi_debug_switch_end(void) { }
static inline void psi_debug_contrib(struct rq *rq, struct task_struct *p, u8 contrib) { }
static inline void psi_debug_clock(struct rq *rq, u32 now) { }
static inline void psi_debug_written(struct rq *rq) { }
static inline void psi_debug_tick(struct rq *rq) { }
static inline void psi_debug_report(void) { }

#endif /* CONFIG_PSI_DEBUG */

#endif /* _KERNEL_SCHED_PSI_DEBUG_H */
