/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of the screen, which keys change and which is drawn.
 */
#ifndef PSI_TOOLS_SCREEN_H
#define PSI_TOOLS_SCREEN_H

#include "explain.h"
#include "output.h"

struct screen {
	struct tree		*tree;
	struct options		*options;
	struct view		*view;
	bool			help;
	bool			typing;		/* the filter */
	bool			paused;
	bool			explained;	/* the chosen group is */
	bool			now;		/* if there is no room for avg10 as well */
	bool			quit;
	char			*chosen;	/* the key of the chosen group */
	int			chosen_row;
	int			first_row;	/* the first that is seen */
	int			page;		/* rows that are seen at a time */
	struct columns		columns;
	struct explanation	why;
};

void draw(struct screen *screen);

#endif
