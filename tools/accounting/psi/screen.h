/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of the screen: keys change it, draw() shows it.
 */
#ifndef PSI_TOOLS_SCREEN_H
#define PSI_TOOLS_SCREEN_H

#include "explain.h"
#include "output.h"

#define ESCAPE		27
#define DATE_SIZE	32
#define HEAD_LINES	3	/* above the table */

/* What is shown of the chosen group below the table. */
enum below {
	BELOW_NOTHING,
	BELOW_CAUSES,
	BELOW_TASKS,
};

struct screen {
	struct tree		*tree;
	struct options		*options;
	struct view		*view;
	bool			help;
	bool			typing;		/* the user types a filter */
	bool			dating;		/* the user types a time */
	char			date[DATE_SIZE];
	bool			paused;
	enum below		below;
	bool			now;		/* not avg10, if only one of them fits */
	bool			quit;
	char			*chosen;	/* the key of the chosen group */
	int			chosen_row;
	int			first_row;	/* the first visible one */
	int			page;		/* number of visible rows */
	int			why_lines;	/* below them */
	bool			has_longest;	/* the kernel tells of longest stalls */
	struct columns		columns;
	struct explanation	why;
};

/* draw.c */
void draw(struct screen *screen);
bool is_visible(const struct screen *screen, int row);

/* screen.c */
bool edit_key(char *text, size_t size, int key);

/* screen_replay.c */
void replay_key(struct screen *screen, int key);
void date_key(struct screen *screen, int key);

#endif
