/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks of a group, and what delays them.
 */
#ifndef PSI_TOOLS_TASKS_H
#define PSI_TOOLS_TASKS_H

#include "taskstats.h"
#include "tree.h"

#define MAX_TASKS	2000	/* that are read in a round */
#define TASK_NAME_SIZE	64

struct task {
	struct delays	delays;
	double		rate_ms[NR_DELAYS];	/* ms/s; negative: not known */
	double		sum_ms;			/* of those that are known */
	double		at_s;			/* time of the reading */
	unsigned int	list;			/* the last one that it was in */
	char		name[TASK_NAME_SIZE];
};

struct tasks {
	int			proc_fd;
	bool			off;		/* delay accounting */
	struct taskstats_socket	taskstats;
	unsigned int		round;
	void			*now, *before;	/* by tid: those read in this round and the last */
	int			nr_read;	/* in this round */
	int			nr_fresh;	/* of these, by this call */
	struct delays		*fresh[MAX_TASKS];
	unsigned int		list;		/* counts calls */
	/* of the group that was asked for last, the most delayed first */
	int			nr;
	int			nr_unread;
	bool			compared;	/* any has a rate */
	struct task		*task[MAX_TASKS];
};

const struct tasks *group_tasks(struct tree *tree, struct group *group);
const char *tasks_note(const struct tree *tree);

#endif
