// SPDX-License-Identifier: GPL-2.0
/*
 * Draw the screen: a status line, the table, why the chosen group has pressure, and a line
 * of keys.
 */
#include <stdio.h>
#include <string.h>

#include "compat.h"
#include "screen.h"
#include "tasks.h"
#include "terminal.h"
#include "units.h"

#define MIN_ROWS	3
#define HIGH_PCT	50
#define MEDIUM_PCT	10

static attr_t attr_of(double pct)
{
	return pct >= HIGH_PCT ? attr_high : pct >= MEDIUM_PCT ? attr_medium :
	       pct >= 0.05 ? A_NORMAL : A_DIM;
}

static void draw_number(int y, const struct group *group, const struct column *column, attr_t attr)
{
	const struct reading *reading = &group->reading[column->resource];
	attr_t own = attr_of(shown_pct(reading, column->line, column->now));
	char cell[CELL_SIZE], text[CELL_SIZE + NUMBER_WIDTH];

	number_text(group, column, cell);
	snprintf(text, sizeof(text), "%*s", NUMBER_WIDTH, cell);
	attrset(attr | own);
	put(y, column->x, column->width, text);
}

/* Of visible groups only, as the kernel sums up all descendants to tell it. */
static void draw_longest(int y, const struct screen *screen, struct group *group,
			 const struct column *column, attr_t attr)
{
	char time[32] = "-", text[LONGEST_WIDTH + sizeof(time)];
	uint64_t us;

	if (group_longest(screen->tree, group, &us))
		time_text(us, time, sizeof(time));
	snprintf(text, sizeof(text), "%*s", LONGEST_WIDTH, time);
	attrset(attr | (us ? A_NORMAL : A_DIM));
	put(y, column->x, column->width, text);
}

static void draw_graph(int y, const struct screen *screen, const struct group *group,
		       const struct column *column)
{
	const struct reading *reading = worst_reading(screen->view, group);
	int i, pct;

	for (i = 0; i < column->width; i++) {
		pct = history_pct(screen->tree, reading, column->width - 1 - i);
		put_bar(y, column->x + i, pct);
	}
}

static void draw_name(int y, const struct screen *screen, const struct row *row,
		      const struct column *column)
{
	const struct group *group = row->group;
	const char *name = screen->view->flat && *group->dir ? group->dir : group->name;
	int indent = row->depth < 8 ? row->depth : 8;
	bool folded = group->folded && !screen->view->flat && !screen->view->filter[0];
	char mark[2] = { group->nr_children ? folded ? '+' : '-' : ' ' };

	if (screen->view->flat)
		mark[0] = ' ';
	put(y, column->x + indent, 1, mark);
	put(y, column->x + indent + 1, column->width - indent - 2, name);
}

static void draw_row(int y, const struct screen *screen, const struct row *row, bool chosen)
{
	attr_t attr = chosen ? A_REVERSE : A_NORMAL;
	const struct column *column;
	int i;

	attrset(attr);
	if (chosen)
		mvhline(y, 0, ' ' | attr, COLS);
	for (i = 0; i < screen->columns.nr; i++) {
		column = &screen->columns.column[i];
		attrset(attr);
		if (column->kind == NUMBER)
			draw_number(y, row->group, column, attr);
		else if (column->kind == LONGEST)
			draw_longest(y, screen, row->group, column, attr);
		else if (column->kind == GRAPH)
			draw_graph(y, screen, row->group, column);
		else
			draw_name(y, screen, row, column);
	}
}

static void draw_status(const struct screen *screen)
{
	const struct view *view = screen->view;
	char clock[32], delay[16], filter[FILTER_SIZE + 16] = "", matches[32] = "", text[320];
	char date[DATE_SIZE + 16] = "";

	date_text(screen->tree->date_s, screen->options->replay ? "%F %T" : "%T", clock,
		  sizeof(clock));
	time_text(screen->options->watch.delay_s * US_PER_S + 0.5, delay, sizeof(delay));
	if (view->filter[0] || screen->typing)
		snprintf(filter, sizeof(filter), " with /%s%s", view->filter,
			 screen->typing ? "_" : "");
	if (filter[0] || view->pressed)
		snprintf(matches, sizeof(matches), "  %d%s", view->nr_matches,
			 view->pressed ? " pressed" : "");
	if (screen->dating)
		snprintf(date, sizeof(date), "  go to %s_", screen->date);
	snprintf(text, sizeof(text), "psitop  %s%s  every %s%s  %d group%s%s%s  %s  by %s", clock,
		 date, delay, screen->paused ? " (paused)" : "", screen->tree->nr_groups,
		 screen->tree->nr_groups == 1 ? "" : "s", matches, filter,
		 screen->columns.both ? "% of the time" :
		 screen->columns.now ? "% now" : "% avg10", sort_names[view->sort]);
	attrset(A_BOLD);
	put(0, 0, COLS, text);
}

static void draw_titles(const struct screen *screen)
{
	const struct columns *columns = &screen->columns;
	char title[2][TITLE_SIZE];
	int i, y;

	for (i = 0; i < columns->nr; i++) {
		column_titles(columns, i, title);
		for (y = 0; y < 2; y++) {
			attrset(y ? A_UNDERLINE : A_NORMAL);
			if (title[y][0])
				put(1 + y, columns->column[i].x, TITLE_SIZE, title[y]);
		}
	}
}

static void draw_why(const struct screen *screen, int y, int nr)
{
	const struct group *group = screen->view->row[screen->chosen_row].group;
	bool tasks = screen->below == BELOW_TASKS;
	char title[256];
	int i;

	attrset(A_NORMAL);
	put_rule(y);
	snprintf(title, sizeof(title), " %s%s ", shown_name(group),
		 tasks ? ": delays of its tasks, ms/s" : "");
	attrset(A_BOLD);
	put(y, 2, COLS - 4, title);
	attrset(A_NORMAL);
	for (i = 0; i < nr && i < screen->why.nr; i++)
		put(y + 1 + i, 0, COLS, screen->why.line[i]);
	if (!screen->why.nr)
		put(y + 1, 0, COLS, tasks ? "no task was delayed since the last look" :
		    "no causes are known");
}

static void draw_foot(const struct screen *screen)
{
	static const char typing[] = "type part of a path, Enter ends, Esc clears";
	static const char dating[] = "type a time, as 03:15 or 2026-11-28 03:15, and Enter";
	static const char keys[] =
		"h help  / filter  s sort  0-4 resource  space fold  e why  t who  q quit";
	static const char replay[] =
		", . round  [ ] minute  { } hour  @ time  p play  h help  q quit";

	const char *note = tree_note(screen->tree) ?:
			   screen->below == BELOW_TASKS ? tasks_note(screen->tree) : NULL;
	const char *foot = keys;
	char text[160];

	if (LINES <= HEAD_LINES)
		return;
	if (screen->options->replay)
		foot = replay;
	if (note) {
		snprintf(text, sizeof(text), "%s  (h help  q quit)", note);
		foot = text;
	}
	if (screen->typing)
		foot = typing;
	if (screen->dating)
		foot = dating;
	attrset(A_DIM);
	put(LINES - 1, 0, COLS, foot);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"up down pgup pgdn home end   choose a group (also j k g G,",
		"                             a click, the wheel)",
		"space enter                  fold or unfold it",
		"left right                   fold, or go to its parent; unfold",
		"+ - l                        unfold all, fold all; list or tree",
		"o                            only what has pressure now, or all",
		"0 1 2 3 4                    all, cpu, memory, io, irq",
		"s                            sort by now, avg10, total or name",
		"n                            now or avg10, if only one fits",
		"/                            filter by part of the path",
		"< > p                        faster, slower; pause",
		"e                            explain the chosen group or hide that",
		"t                            show its tasks or hide them",
		", . [ ] { } @                replay: one round, a minute, an hour back",
		"                             or on; go to a time",
		"h ? q                        this help; quit",
		"",
		"some: share of the time in which at least one task was stalled. full:",
		"in which tasks were stalled and none was working. now: since the",
		"previous round, from the totals. avg10: the kernel's average over",
		"10 s. ms/s: summed over tasks. The graph shows some (irq: full) of the",
		"resource with the most pressure, newest on the right.",
	};
	int i;

	attrset(A_BOLD);
	put(0, 0, COLS, "psitop: keys (any key goes back)");
	attrset(A_NORMAL);
	for (i = 0; i < (int)ARRAY_SIZE(lines); i++)
		put(2 + i, 0, COLS, lines[i]);
}

/* Make the chosen row visible. */
static void scroll_to(struct screen *screen)
{
	if (screen->first_row > screen->chosen_row)
		screen->first_row = screen->chosen_row;
	if (screen->first_row < screen->chosen_row - screen->page + 1)
		screen->first_row = screen->chosen_row - screen->page + 1;
	if (screen->first_row > screen->view->nr_rows - screen->page)
		screen->first_row = screen->view->nr_rows - screen->page;
	if (screen->first_row < 0)
		screen->first_row = 0;
}

/* Number of lines for the explanation, with its title. */
static int why_lines(const struct screen *screen, int room)
{
	int want = 1 + (screen->why.nr ?: 1), most = room / 2;

	if (!screen->below || !screen->view->nr_rows || room - 2 < MIN_ROWS)
		return 0;
	return want < most ? want : most;
}

/**
 * is_visible - check if a row is on the screen, below the first one that is
 * @screen: state of the screen, which was drawn
 * @row:    the row, not before screen->first_row
 *
 * Return: true if so.
 */
bool is_visible(const struct screen *screen, int row)
{
	return row < screen->view->nr_rows && row - screen->first_row < screen->page;
}

/* Share the lines. */
static void fit_lines(struct screen *screen)
{
	int room = LINES - HEAD_LINES - 1;

	screen->why_lines = why_lines(screen, room);
	screen->page = room - screen->why_lines > 1 ? room - screen->why_lines : 1;
	scroll_to(screen);
}

/* Once a visible group has a longest stall, the column stays. */
static void look_for_longest(struct screen *screen)
{
	uint64_t us;
	int i;

	for (i = screen->first_row; !screen->has_longest && is_visible(screen, i); i++)
		screen->has_longest = group_longest(screen->tree, screen->view->row[i].group, &us);
}

static void draw_table(const struct screen *screen)
{
	const struct view *view = screen->view;
	int why = screen->why_lines, i;

	for (i = screen->first_row; is_visible(screen, i); i++)
		draw_row(HEAD_LINES + i - screen->first_row, screen, &view->row[i],
			 i == screen->chosen_row);
	if (!view->nr_rows)
		put(HEAD_LINES, 0, COLS, !view->pressed ? "no group has that in its path" :
		    view->filter[0] ? "no group with that in its path has pressure (o shows all)" :
		    "no group has pressure now (o shows all)");
	if (why)
		draw_why(screen, LINES - 1 - why, why - 1);
}

/**
 * draw - draw the screen
 * @screen: its state
 */
void draw(struct screen *screen)
{
	erase();
	if (screen->help) {
		draw_help();
	} else {
		fit_lines(screen);
		if (screen->options->causes)
			look_for_longest(screen);
		columns_fit(&screen->columns, COLS, screen->view->resource, screen->now,
			    screen->has_longest);
		draw_status(screen);
		draw_titles(screen);
		draw_table(screen);
		draw_foot(screen);
	}
	refresh();
}
