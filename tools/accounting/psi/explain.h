/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a group has pressure, as lines of text.
 */
#ifndef PSI_TOOLS_EXPLAIN_H
#define PSI_TOOLS_EXPLAIN_H

#include "tree.h"

#define MAX_LINES	(2 * MAX_CAUSES)
#define LINE_SIZE	128

struct explanation {
	int	nr;
	char	line[MAX_LINES][LINE_SIZE];
};

void explain(struct tree *tree, struct group *group, struct explanation *why);
void explain_tasks(struct tree *tree, struct group *group, int most, struct explanation *why);

#endif
