/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers: who wants to be woken by pressure. See psi_trigger.c.
 */
#ifndef _KERNEL_SCHED_PSI_TRIGGER_H
#define _KERNEL_SCHED_PSI_TRIGGER_H

#include <linux/poll.h>
#include <linux/psi_types.h>
#include <linux/types.h>

struct file;
struct psi_group;
struct psi_trigger;

/**
 * struct psi_listener - an open pressure file
 * @trigger: its trigger, or NULL; there is never a second one
 * @wait:    who polls it. Must live until the file is closed, because poll
 *           entries stay in it until then, whatever becomes of the group.
 */
struct psi_listener {
	struct psi_trigger	*trigger;
	wait_queue_head_t	*wait;
};

int psi_trigger_write(struct psi_listener *l, struct psi_group *group,
		      enum psi_resource res, struct file *file, char *text);
__poll_t psi_trigger_poll(struct psi_listener *l, struct file *file,
			  poll_table *pt);
void psi_trigger_close(struct psi_listener *l);

/* psi.c, psi_avgs.c */
void psi_trigger_begun(struct psi_group *group, u8 states);
void psi_trigger_forget(struct psi_group *group);

#endif /* _KERNEL_SCHED_PSI_TRIGGER_H */
