// SPDX-License-Identifier: GPL-2.0
/*
 * Rounds as text, for logs. The name comes last, as it may be long.
 */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "explain.h"
#include "output.h"
#include "units.h"

#define MOST_TASKS	10	/* of a group */

static void print_titles(const struct columns *columns)
{
	char title[MAX_COLUMNS][2][TITLE_SIZE];
	int i, at = 0;

	for (i = 1; i < columns->nr; i++) {
		column_titles(columns, i, title[i]);
		if (title[i][0][0])
			at += printf("%*s%s", (i - 1) * NUMBER_WIDTH - at, "", title[i][0]);
	}
	putchar('\n');
	for (i = 1; i < columns->nr; i++)
		printf("%*s", NUMBER_WIDTH, title[i][1]);
	puts("  GROUP");
}

/* A name may have any bytes: print none that controls a terminal. */
static void print_clean(const char *name)
{
	/* Most names have nothing else. */
	static const char plain[] =
		" -./0123456789:@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
	mbstate_t state = { };
	wchar_t wide;
	size_t len;

	for (; *name; name += len) {
		len = strspn(name, plain);
		if (len) {
			fwrite(name, 1, len, stdout);
			continue;
		}
		len = mbrtowc(&wide, name, strlen(name), &state);
		if ((ssize_t)len <= 0) {
			memset(&state, 0, sizeof(state));
			len = 1;
			putchar('?');
		} else if (wcwidth(wide) < 0) {
			putchar('?');
		} else {
			fwrite(name, 1, len, stdout);
		}
	}
	putchar('\n');
}

static void print_lines(const struct explanation *why)
{
	int i;

	for (i = 0; i < why->nr; i++) {
		printf("        ");
		print_clean(why->line[i]);
	}
}

static void print_why(struct tree *tree, struct group *group, const struct options *options)
{
	struct explanation why;

	if (options->causes) {
		explain(tree, group, &why);
		print_lines(&why);
	}
	if (options->tasks) {
		explain_tasks(tree, group, MOST_TASKS, &why);
		print_lines(&why);
	}
}

static void print_row(const struct columns *columns, const struct group *group)
{
	char cell[CELL_SIZE];
	int i;

	for (i = 1; i < columns->nr; i++) {
		number_text(group, &columns->column[i], cell);
		printf("%*s", NUMBER_WIDTH, cell);
	}
	printf("  ");
	print_clean(shown_name(group));
}

/**
 * text_round - print the groups, in the order of the view
 * @tree:    after tree_sample()
 * @options: which groups to print, and whether with causes and tasks
 */
void text_round(struct tree *tree, struct options *options)
{
	struct view *view = &options->view;
	struct columns columns;
	char clock[32];
	int i, nr;

	date_text(tree->date_s, "%F %T", clock, sizeof(clock));
	printf("%s  %d group%s\n", clock, tree->nr_groups, tree->nr_groups == 1 ? "" : "s");
	columns_all(&columns, view->resource);
	print_titles(&columns);
	nr = view_rows(view, tree, options->rows);
	for (i = 0; i < nr; i++) {
		print_row(&columns, view->row[i].group);
		print_why(tree, view->row[i].group, options);
	}
	putchar('\n');
}
