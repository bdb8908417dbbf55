/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which groups are shown, in which order, and in which columns.
 */
#ifndef PSI_TOOLS_VIEW_H
#define PSI_TOOLS_VIEW_H

#include "tree.h"

#define FILTER_SIZE	64
#define ALL		NR_RESOURCES

enum sort {
	BY_NOW,
	BY_AVG10,
	BY_TOTAL,
	BY_NAME,
	NR_SORTS,
};

extern const char *const sort_names[NR_SORTS];

struct row {
	struct group	*group;
	int		depth;
};

struct view {
	/* what the user asks for */
	unsigned int	resource;	/* the one that counts, or ALL */
	enum sort	sort;
	bool		flat;		/* all groups in one list instead of the tree */
	bool		steady;		/* groups of nearly equal pressure keep their places */
	bool		pressed;	/* only groups with pressure in the last round */
	char		filter[FILTER_SIZE];	/* only groups with this in their path */

	/* the result */
	struct row	*row;
	int		nr_rows, max_rows;
	int		nr_matches;
	unsigned int	key_resource;	/* for which groups' keys were computed */
	enum sort	key_sort;
};

void view_build(struct view *view, struct tree *tree);
double shown_pct(const struct reading *reading, enum line line, bool now);
bool is_shown(const struct reading *reading, enum line line, bool now);
int view_rows(struct view *view, struct tree *tree, unsigned long most);
const char *shown_name(const struct group *group);
const struct reading *worst_reading(const struct view *view, const struct group *group);

enum column_kind {
	NAME,
	NUMBER,
	LONGEST,	/* memory stall */
	GRAPH,
};

struct column {
	enum column_kind	kind;
	enum resource		resource;
	enum line		line;
	bool			now;	/* else avg10 */
	int			x, width;
};

#define MAX_COLUMNS	(2 * NR_RESOURCES * NR_LINES + 3)

struct columns {
	int		nr;
	bool		both;		/* now and avg10 of each */
	bool		now;		/* if not both: now, else avg10 */
	struct column	column[MAX_COLUMNS];
};

#define TITLE_SIZE	16
#define CELL_SIZE	8
#define NUMBER_WIDTH	6
#define LONGEST_WIDTH	9

void columns_fit(struct columns *columns, int width, unsigned int resource, bool now, bool longest);
void columns_all(struct columns *columns, unsigned int resource);
void column_titles(const struct columns *columns, int i, char title[2][TITLE_SIZE]);
void number_text(const struct group *group, const struct column *column, char *text);

#endif
