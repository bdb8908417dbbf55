// SPDX-License-Identifier: GPL-2.0
/*
 * The screen: rounds at intervals, and what keys do.
 */
#include <stdio.h>

#include "compat.h"
#include "output.h"
#include "report.h"
#include "terminal.h"
#include "units.h"

#define MIN_TEXT	64	/* columns that text needs before there is a graph */
#define MIN_GRAPH	6

struct screen {
	struct state		*state;
	struct watch_options	*options;
	bool			help;
	bool			paused;
	bool			quit;
};

static void draw_status(const struct screen *screen, int y)
{
	const struct state *state = screen->state;
	char clock[16], delay[16], text[128];

	date_text(date_s(), "%T", clock, sizeof(clock));
	time_text(screen->options->delay_s * US_PER_S + 0.5, delay, sizeof(delay));
	snprintf(text, sizeof(text), "ksamplingd-top  %s  every %s%s  %s%s", clock, delay,
		 screen->paused ? " (paused)" : "", state->source[0] ? "by " : "",
		 state->source);
	attrset(A_BOLD);
	put(y, 0, COLS, text);
}

/* Without a scale, the highest visible value makes a full bar. */
static void draw_graph(const struct screen *screen, int y, int x, int width,
		       const struct line *line)
{
	unsigned int round = screen->state->round;
	double most = line->scale, value;
	int i;

	for (i = 0; i < width && !line->scale; i++) {
		value = history_value(line->history, round, i);
		most = value > most ? value : most;
	}
	for (i = 0; i < width; i++) {
		value = history_value(line->history, round, width - 1 - i);
		if (value > 0)
			put_bar(y, x + i, value < most ? value / most * 100 + 0.5 : 100);
	}
}

static void draw_report(const struct screen *screen)
{
	static const attr_t none = A_NORMAL, title = A_UNDERLINE;
	const attr_t *attrs[] = { [PLAIN] = &none, [TITLE] = &title, [WARNING] = &attr_medium };
	int graph = COLS - MIN_TEXT - 1, i;
	static struct report report;
	const struct line *line;

	if (graph > HISTORY)
		graph = HISTORY;
	if (graph < MIN_GRAPH)
		graph = 0;
	report_build(&report, screen->state, graph ? COLS - graph - 1 : COLS);
	for (i = 0; i < report.nr && 2 + i < LINES - 1; i++) {
		line = &report.line[i];
		attrset(*attrs[line->kind]);
		put(2 + i, 0, COLS, line->text);
		if (line->history)
			draw_graph(screen, 2 + i, COLS - graph, graph, line);
	}
}

static void draw_foot(void)
{
	static const char keys[] = "h help  p pause  < > faster, slower  q quit";

	if (LINES < 3)
		return;
	attrset(A_DIM);
	put(LINES - 1, 0, COLS, COLS < (int)sizeof(keys) ? "h help  q quit" : keys);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"p      pause",
		"< >    faster, slower",
		"h ?    this help",
		"q      quit",
		"",
		"HOT: hot memory, estimated from the histogram, as a number or a range.",
		"SERVED: share of the accesses, by samples. PROMOTED: to the tier, and",
		"DEMOTED: from it, per second, by ksamplingd and others. quota: CPU time",
		"of the thread. workload: cost for the programs. RUNNING: share of the",
		"time in which an event has a counter. Graphs: newest on the right; for",
		"accesses the share of fast memory, for a tier its hot memory, for an event",
		"RUNNING. Full height is 100 %, twice the quota, or the highest value.",
	};
	int i;

	attrset(A_BOLD);
	put(0, 0, COLS, "ksamplingd-top: keys (any key goes back)");
	attrset(A_NORMAL);
	for (i = 0; i < (int)ARRAY_SIZE(lines); i++)
		put(2 + i, 0, COLS, lines[i]);
}

/* What is missing comes first. Else there is an empty line below the status. */
static void draw_head(const struct screen *screen)
{
	const char *note = state_note(screen->state);

	draw_status(screen, note ? 1 : 0);
	if (!note)
		return;
	attrset(attr_medium);
	put(0, 0, COLS, note);
}

static void draw(const struct screen *screen)
{
	erase();
	if (screen->help) {
		draw_help();
	} else {
		draw_head(screen);
		draw_report(screen);
		draw_foot();
	}
	refresh();
}

static void handle_key(struct screen *screen, int key)
{
	double *delay_s = &screen->options->delay_s;

	if (key == KEY_RESIZE) {
		clear();
		return;
	}
	if (screen->help) {
		screen->help = false;
		return;
	}
	switch (key) {
	case '<':
		*delay_s = terminal_delay_s(*delay_s, -1);
		break;
	case '>':
		*delay_s = terminal_delay_s(*delay_s, 1);
		break;
	case 'p':
		screen->paused = !screen->paused;
		break;
	case 'h':
	case '?':
	case KEY_F(1):
		screen->help = true;
		break;
	case 'q':
		screen->quit = true;
		break;
	}
}

/**
 * screen - show rounds until the user quits
 * @state:   after state_init()
 * @options: what to show at first; keys change it
 *
 * Exits if there is no terminal.
 */
void screen(struct state *state, struct watch_options *options)
{
	struct screen screen = { .state = state, .options = options };
	double round_s = 0;
	int key;

	terminal_begin(options->colour, options->ascii);
	while (!screen.quit) {
		if (now_s() >= round_s + options->delay_s) {
			round_s = now_s();
			if (!screen.paused)
				state_read(state);
		}
		draw(&screen);
		terminal_wait(round_s + options->delay_s);
		while ((key = getch()) != ERR)
			handle_key(&screen, key);
	}
	endwin();
}
