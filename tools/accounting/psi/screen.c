// SPDX-License-Identifier: GPL-2.0
/*
 * The screen: rounds as time goes by, and what keys do.
 */
#include <err.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat.h"
#include "screen.h"
#include "units.h"

#define ESCAPE	27

static const double delays_s[] = { 0.1, 0.2, 0.5, 1, 2, 5, 10 };

#define NR_DELAYS	((int)ARRAY_SIZE(delays_s))

static struct group *chosen_group(const struct screen *screen)
{
	return screen->view->nr_rows ? screen->view->row[screen->chosen_row].group : NULL;
}

/* What a group is known by, as the group itself may be gone in the next round. */
static const char *key_of(const struct group *group)
{
	return group->is_system ? group->name : group->dir;
}

static void choose(struct screen *screen, int row)
{
	if (row >= screen->view->nr_rows)
		row = screen->view->nr_rows - 1;
	screen->chosen_row = row < 0 ? 0 : row;
	free(screen->chosen);
	screen->chosen = screen->view->nr_rows ? strdup(key_of(chosen_group(screen))) : NULL;
}

/* The chosen group stays so wherever it has gone. */
static void find_chosen(struct screen *screen)
{
	int i;

	for (i = 0; screen->chosen && i < screen->view->nr_rows; i++) {
		if (!strcmp(screen->chosen, key_of(screen->view->row[i].group))) {
			screen->chosen_row = i;
			return;
		}
	}
	choose(screen, screen->chosen_row);
}

static void rebuild(struct screen *screen)
{
	view_build(screen->view, screen->tree);
	find_chosen(screen);
	if (screen->explained && screen->view->nr_rows)
		explain(screen->tree, chosen_group(screen), &screen->why);
}

static void round_of(struct screen *screen)
{
	if (!tree_update(screen->tree)) {
		endwin();
		errx(1, "%s: the group is gone", screen->tree->root->dir);
	}
	tree_sample(screen->tree);
}

static void fold_below(struct group *group, bool folded)
{
	int i;

	group->folded = folded && group->parent;
	for (i = 0; i < group->nr_children; i++)
		fold_below(group->child[i], folded);
}

static void fold_or_rise(struct screen *screen)
{
	struct group *group = chosen_group(screen);

	if (!group)
		return;
	if (group->nr_children && !group->folded) {
		group->folded = true;
	} else if (group->parent) {
		free(screen->chosen);
		screen->chosen = strdup(key_of(group->parent));
	}
}

static void change_delay(struct screen *screen, int step)
{
	double *delay_s = &screen->options->delay_s;
	int i = 0;

	while (i < NR_DELAYS - 1 && delays_s[i] < *delay_s)
		i++;
	i += step;
	if (i >= 0 && i < NR_DELAYS)
		*delay_s = delays_s[i];
}

static void move_key(struct screen *screen, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		choose(screen, screen->chosen_row - 1);
		break;
	case KEY_DOWN:
	case 'j':
		choose(screen, screen->chosen_row + 1);
		break;
	case KEY_PPAGE:
		choose(screen, screen->chosen_row - screen->page);
		break;
	case KEY_NPAGE:
		choose(screen, screen->chosen_row + screen->page);
		break;
	case KEY_HOME:
	case 'g':
		choose(screen, 0);
		break;
	case KEY_END:
	case 'G':
		choose(screen, screen->view->nr_rows - 1);
		break;
	}
}

static void fold_key(struct screen *screen, int key)
{
	struct group *group = chosen_group(screen);

	switch (key) {
	case ' ':
	case '\n':
	case '\r':
	case KEY_ENTER:
		if (group && group->nr_children)
			group->folded = !group->folded;
		break;
	case KEY_RIGHT:
		if (group)
			group->folded = false;
		break;
	case KEY_LEFT:
		fold_or_rise(screen);
		break;
	case '+':
		fold_below(screen->tree->root, false);
		break;
	case '-':
		fold_below(screen->tree->root, true);
		break;
	}
}

static void view_key(struct screen *screen, int key)
{
	struct view *view = screen->view;

	switch (key) {
	case '0':
		view->resource = ALL;
		break;
	case '1' ... '0' + NR_RESOURCES:
		view->resource = key - '1';
		break;
	case 's':
		view->sort = (view->sort + 1) % NR_SORTS;
		break;
	case 't':
		screen->now = !screen->now;
		break;
	case 'l':
		view->flat = !view->flat;
		break;
	case 'e':
		screen->explained = !screen->explained;
		break;
	}
}

static void other_key(struct screen *screen, int key)
{
	switch (key) {
	case '/':
		screen->typing = true;
		break;
	case ESCAPE:
		screen->view->filter[0] = '\0';
		break;
	case '<':
		change_delay(screen, -1);
		break;
	case '>':
		change_delay(screen, 1);
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

static void filter_key(struct screen *screen, int key)
{
	char *filter = screen->view->filter;
	size_t len = strlen(filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ESCAPE)
		screen->typing = false;
	if (key == ESCAPE)
		filter[0] = '\0';
	if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len)
		filter[len - 1] = '\0';
	if (key >= ' ' && key < 256 && key != 127 && len < FILTER_SIZE - 1) {
		filter[len] = key;
		filter[len + 1] = '\0';
	}
}

static void handle_key(struct screen *screen, int key)
{
	if (key == KEY_RESIZE) {
		clear();
	} else if (screen->help) {
		screen->help = false;
	} else if (screen->typing) {
		filter_key(screen, key);
	} else {
		move_key(screen, key);
		fold_key(screen, key);
		view_key(screen, key);
		other_key(screen, key);
	}
}

static void wait_for_key(double until_s)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	double left_s = until_s - now_s();

	if (left_s > 0)
		poll(&input, 1, left_s * 1000 + 1);
	if (input.revents & (POLLHUP | POLLERR)) {
		endwin();
		exit(0);
	}
}

/* Leave the terminal as it was, however this ends. */
static void restore(void)
{
	if (!isendwin())
		endwin();
}

static void on_fatal(int number)
{
	endwin();
	raise(number);			/* which is handled as usual now */
}

static void restore_at_end(void)
{
	static const int fatal[] = { SIGHUP, SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGSEGV };
	struct sigaction action = {
		.sa_handler = on_fatal,
		.sa_flags = SA_RESETHAND | SA_NODEFER,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fatal); i++)
		sigaction(fatal[i], &action, NULL);
	atexit(restore);
}

static void begin(struct screen *screen)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		errx(1, "this is no terminal: use --batch or --json");
	if (!newterm(NULL, stdout, stdin))
		errx(1, "the terminal %s is not known: set TERM, or use --batch",
		     getenv("TERM") ?: "");
	restore_at_end();
	cbreak();
	noecho();
	nodelay(stdscr, true);
	keypad(stdscr, true);
	set_escdelay(50);
	curs_set(0);
	draw_init(screen->options);
}

/**
 * screen - show the groups until the user has seen enough
 * @tree:    after tree_init()
 * @options: what is to be shown at first
 *
 * Exits if there is no terminal, or the group at the top is gone.
 */
void screen(struct tree *tree, struct options *options)
{
	struct screen screen = {
		.tree = tree, .options = options, .view = &options->view,
		.explained = options->causes, .now = true,
	};
	double round_s = 0;
	int key;

	begin(&screen);
	while (!screen.quit) {
		if (now_s() >= round_s + options->delay_s) {
			round_s = now_s();
			if (!screen.paused)
				round_of(&screen);
		}
		rebuild(&screen);
		draw(&screen);
		wait_for_key(round_s + options->delay_s);
		while ((key = getch()) != ERR)
			handle_key(&screen, key);
	}
	endwin();
}
