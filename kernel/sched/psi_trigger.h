/* SPDX-License-Identifier: GPL-2.0 */
/* Triggers: waiting for pressure. See psi_trigger.c. */
#ifndef _KERNEL_SCHED_PSI_TRIGGER_H
#define _KERNEL_SCHED_PSI_TRIGGER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/poll.h>
#include <linux/psi_types.h>
#include <linux/types.h>

#include "psi_node.h"

struct file;
struct psi_group;
struct psi_trigger;

/* Files opened with CAP_SYS_RESOURCE have a thread of real-time priority. */
enum psi_poller_kind {
	PSI_POLLER_PRIVILEGED,
	PSI_POLLER_USER,
	PSI_NR_POLLERS,
};

/**
 * struct psi_monitors - what one of the two pollers has to do for a group
 * @watched:  states with triggers; psi_poller::lock, read by the scheduler without
 * @resting:  those of @watched that the poller does not sample until it is notified;
 *            psi_poller::lock, read by psi_debug.c without
 * @notified: states of which the poller knows, or will, that they have begun; atomic, see
 *            psi_trigger_notify()
 * @pending:  link of psi_poller::pending
 * @monitors: one for each state that has triggers; psi_poller::lock
 */
struct psi_monitors {
	u8			watched;
	u8			resting;
	atomic_t		notified;
	struct llist_node	pending;
	struct list_head	monitors;
};

/**
 * struct psi_listener - an open pressure file
 * @trigger: its only trigger, or NULL
 * @wait:    its waiters; lives until the file is closed, as poll entries stay in it until
 *           then, whatever becomes of the group
 * @ended:   the file is open, but its group was removed or switched off
 */
struct psi_listener {
	struct psi_trigger	*trigger;
	wait_queue_head_t	*wait;
	bool			ended;
};

int psi_trigger_write(struct psi_listener *l, struct psi_group *group,
		      enum psi_resource res, struct file *file, char *text);
__poll_t psi_trigger_poll(struct psi_listener *l, struct file *file,
			  poll_table *pt);
void psi_trigger_close(struct psi_listener *l);

/* for psi.c */
void psi_trigger_notify(struct psi_group *group, u8 states);

/* for psi_debug.c */
u8 psi_trigger_resting(const struct psi_group *group);

/* for psi_fold.c and psi_group.c, where groups are made and freed */
void psi_monitors_init(struct psi_group *group);
void psi_trigger_detach(struct psi_group *group);

#endif /* _KERNEL_SCHED_PSI_TRIGGER_H */
