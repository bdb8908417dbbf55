// SPDX-License-Identifier: GPL-2.0
/*
 * The columns of the table: as many as fit.
 */
#include <stdio.h>
#include <string.h>

#include "compat.h"
#include "view.h"

#define MIN_NAME	20
#define SHORT_NAME	12
#define MAX_NAME	60
#define MIN_GRAPH	8
#define MAX_GRAPH	32

/* A choice of columns: the name, numbers of these resources, and the graph. */
struct plan {
	unsigned int	resources;	/* bit mask */
	bool		both;
	bool		now;
	bool		full;		/* not only "some" */
	int		min_name;
};

static struct column *add(struct columns *columns, enum column_kind kind, int width)
{
	struct column *column = &columns->column[columns->nr++];

	memset(column, 0, sizeof(*column));
	column->kind = kind;
	column->width = width;
	return column;
}

static void add_number(struct columns *columns, enum resource resource, enum line line, bool now)
{
	struct column *column = add(columns, NUMBER, NUMBER_WIDTH);

	column->resource = resource;
	column->line = line;
	column->now = now;
}

static void add_numbers(struct columns *columns, const struct plan *plan, enum resource resource)
{
	enum line line;

	for (line = SOME; line < NR_LINES; line++) {
		if (resource == IRQ ? line != FULL : line == FULL && !plan->full)
			continue;
		if (plan->both || plan->now)
			add_number(columns, resource, line, true);
		if (plan->both || !plan->now)
			add_number(columns, resource, line, false);
	}
}

static void build(struct columns *columns, const struct plan *plan)
{
	enum resource resource;

	columns->nr = 0;
	columns->both = plan->both;
	columns->now = plan->now;
	add(columns, NAME, 0);
	for (resource = CPU; resource < NR_RESOURCES; resource++) {
		if (plan->resources & 1 << resource)
			add_numbers(columns, plan, resource);
	}
}

/*
 * Share the width that the numbers leave. The longest stall takes nothing from a graph or a name
 * that have the least they need. Return: false if the name gets too little.
 */
static bool share(struct columns *columns, int width, int min_name, bool longest)
{
	int left = width - (columns->nr - 1) * NUMBER_WIDTH, graph = 0, x = 0, i;

	if (left < min_name)
		return false;
	if (longest && left > MIN_NAME + MIN_GRAPH + LONGEST_WIDTH) {
		add(columns, LONGEST, LONGEST_WIDTH);
		left -= LONGEST_WIDTH;
	}
	if (left > MIN_NAME + MIN_GRAPH) {
		graph = (left - MIN_NAME) / 2;
		graph = graph < MIN_GRAPH ? MIN_GRAPH : graph > MAX_GRAPH ? MAX_GRAPH : graph;
		add(columns, GRAPH, graph)->width--;
		columns->column[columns->nr - 1].x = 1;		/* a space before it */
	}
	left -= graph;
	columns->column[0].width = left > MAX_NAME ? MAX_NAME : left;
	for (i = 0; i < columns->nr; i++) {
		x += columns->column[i].x;
		columns->column[i].x = x;
		x += columns->column[i].width;
	}
	return true;
}

/**
 * columns_fit - choose the columns that fit on a terminal
 * @columns:  to be filled in
 * @width:    of the terminal
 * @resource: the one to show, or ALL
 * @now:      if only one of now and avg10 fits: show now
 * @longest:  show the longest memory stall, if it is about memory
 */
void columns_fit(struct columns *columns, int width, unsigned int resource, bool now, bool longest)
{
	const unsigned int all = resource == ALL ? (1 << NR_RESOURCES) - 1 : 1 << resource;
	const unsigned int main = resource == ALL ? all & ~(1 << IRQ) : all;
	const unsigned int one = resource == ALL ? 1 << CPU : all;
	const struct plan plans[] = {
		{ .resources = all, .both = true, .full = true, .min_name = MIN_NAME },
		{ .resources = main, .both = true, .full = true, .min_name = MIN_NAME },
		{ .resources = main, .now = now, .full = true, .min_name = MIN_NAME },
		{ .resources = main, .now = now, .min_name = SHORT_NAME },
		{ .resources = one, .now = now, .min_name = SHORT_NAME },
	};
	size_t i;

	longest &= all >> MEMORY & 1;
	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		build(columns, &plans[i]);
		if (share(columns, width, plans[i].min_name, longest))
			return;
	}
	columns->nr = 1;
	columns->column[0].width = width;
}

/**
 * columns_all - choose all columns of numbers, for output of unlimited width
 * @columns:  to be filled in
 * @resource: the one to show, or ALL
 */
void columns_all(struct columns *columns, unsigned int resource)
{
	const struct plan plan = {
		.resources = resource == ALL ? (1 << NR_RESOURCES) - 1 : 1 << resource,
		.both = true,
		.full = true,
	};

	build(columns, &plan);
}

/**
 * column_titles - the two lines above a column
 * @columns: all columns
 * @i:       index of the column
 * @title:   gets the lines; the first one may extend into the next column
 */
void column_titles(const struct columns *columns, int i, char title[2][TITLE_SIZE])
{
	const struct column *column = &columns->column[i], *before = column - 1;
	const char *resource = resource_names[column->resource];
	bool same = i && before->kind == NUMBER && before->resource == column->resource;

	title[0][0] = '\0';
	title[1][0] = '\0';
	if (column->kind == NAME)
		snprintf(title[1], TITLE_SIZE, "GROUP");
	if (column->kind == LONGEST) {
		snprintf(title[0], TITLE_SIZE, "%*s", LONGEST_WIDTH, "longest");
		snprintf(title[1], TITLE_SIZE, "%*s", LONGEST_WIDTH, "stall");
	}
	if (column->kind != NUMBER)
		return;
	if (columns->both) {
		if (!same || before->line != column->line)
			snprintf(title[0], TITLE_SIZE, "%7s %s", resource,
				 line_names[column->line]);
		snprintf(title[1], TITLE_SIZE, "%6s", column->now ? "now" : "avg10");
		return;
	}
	if (!same)
		snprintf(title[0], TITLE_SIZE, "%6s", resource);
	snprintf(title[1], TITLE_SIZE, "%6s", line_names[column->line]);
}

/**
 * number_text - format the number of a group for a column
 * @group:  the group
 * @column: the column, a NUMBER
 * @text:   buffer of CELL_SIZE; gets "-" if there is no number
 */
void number_text(const struct group *group, const struct column *column, char *text)
{
	const struct reading *reading = &group->reading[column->resource];
	double pct = shown_pct(reading, column->line, column->now);

	/* Nearly all groups are idle: printf() of a double costs more than all else here. */
	if (!is_shown(reading, column->line, column->now))
		strcpy(text, "-");
	else if (!pct)
		strcpy(text, "0.0");
	else
		snprintf(text, CELL_SIZE, "%.1f", pct);
}
