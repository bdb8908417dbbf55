// SPDX-License-Identifier: GPL-2.0
/*
 * The screen: rounds at intervals, and what keys do.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "screen.h"
#include "terminal.h"
#include "units.h"

#define WHEEL_ROWS	3

static struct group *chosen_group(const struct screen *screen)
{
	return screen->view->nr_rows ? screen->view->row[screen->chosen_row].group : NULL;
}

/* The key that finds a group again: a pointer may be invalid in the next round. */
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

/* The chosen group stays chosen in whichever row it is now. */
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
	if (screen->below == BELOW_CAUSES && screen->view->nr_rows)
		explain(screen->tree, chosen_group(screen), &screen->why);
	if (screen->below == BELOW_TASKS && screen->view->nr_rows)
		explain_tasks(screen->tree, chosen_group(screen), MAX_LINES - 2, &screen->why);
}

static void live_round(struct screen *screen)
{
	if (!tree_update(screen->tree)) {
		endwin();
		errx(1, "%s: the cgroup is gone", screen->tree->root->dir);
	}
	tree_sample(screen->tree);
	if (!record_round(screen->options->recorder)) {
		endwin();
		err(1, "cannot record");
	}
}

static void round_of(struct screen *screen)
{
	if (!screen->options->replay)
		live_round(screen);
	else if (!replay_move(screen->options->replay, 1))
		screen->paused = true;
	rebuild(screen);
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

/* A press above or below the table chooses nothing. */
static void move_mouse(struct screen *screen)
{
	MEVENT event;
	int row;

	if (getmouse(&event) != OK)
		return;
	row = screen->first_row + event.y - HEAD_LINES;
	if (event.bstate & BUTTON4_PRESSED)
		choose(screen, screen->chosen_row - WHEEL_ROWS);
	else if (event.bstate & BUTTON5_PRESSED)
		choose(screen, screen->chosen_row + WHEEL_ROWS);
	else if (event.bstate & BUTTON1_PRESSED && event.y >= HEAD_LINES &&
		 is_visible(screen, row))
		choose(screen, row);
}

static void move_key(struct screen *screen, int key)
{
	switch (key) {
	case KEY_MOUSE:
		move_mouse(screen);
		break;
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
	case 'n':
		screen->now = !screen->now;
		break;
	case 'l':
		view->flat = !view->flat;
		break;
	case 'o':
		view->pressed = !view->pressed;
		break;
	case 'e':
		screen->below = screen->below == BELOW_CAUSES ? BELOW_NOTHING : BELOW_CAUSES;
		break;
	case 't':
		/* A record has no tasks. */
		if (!screen->options->replay)
			screen->below = screen->below == BELOW_TASKS ? BELOW_NOTHING : BELOW_TASKS;
		break;
	}
}

static void other_key(struct screen *screen, int key)
{
	double *delay_s = &screen->options->watch.delay_s;

	switch (key) {
	case '/':
		screen->typing = true;
		break;
	case ESCAPE:
		screen->view->filter[0] = '\0';
		break;
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
 * edit_key - let a key change a text
 * @text: the text; escape clears it
 * @size: size of @text
 * @key:  the key
 *
 * Return: false if the key ends the text.
 */
bool edit_key(char *text, size_t size, int key)
{
	size_t len = strlen(text);

	if (key == '\n' || key == '\r' || key == KEY_ENTER)
		return false;
	if (key == ESCAPE) {
		text[0] = '\0';
		return false;
	}
	if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len)
		text[len - 1] = '\0';
	if (key >= ' ' && key < 256 && key != 127 && len < size - 1) {
		text[len] = key;
		text[len + 1] = '\0';
	}
	return true;
}

static void handle_key(struct screen *screen, int key)
{
	if (key == KEY_RESIZE) {
		clear();
	} else if (screen->help) {
		screen->help = false;
	} else if (screen->typing) {
		screen->typing = edit_key(screen->view->filter, FILTER_SIZE, key);
	} else if (screen->dating) {
		date_key(screen, key);
	} else {
		move_key(screen, key);
		fold_key(screen, key);
		view_key(screen, key);
		other_key(screen, key);
		if (screen->options->replay)
			replay_key(screen, key);
	}
	/* For the next key, which may be pending already. */
	rebuild(screen);
}

/**
 * screen - show the groups until the user quits
 * @tree:    after tree_init()
 * @options: what to show at first
 *
 * Exits if there is no terminal, or the group at the top is gone.
 */
void screen(struct tree *tree, struct options *options)
{
	struct screen screen = {
		.tree = tree, .options = options, .view = &options->view,
		.below = options->tasks ? BELOW_TASKS :
			 options->causes ? BELOW_CAUSES : BELOW_NOTHING,
		.now = true,
	};
	double round_s = 0;
	int key;

	options->view.steady = true;
	terminal_begin(options->watch.colour, options->watch.ascii);
	/*
	 * Without a mouse, this does nothing. getch() waits for another key, in spite of nodelay(),
	 * after an event that is not in the mask; and it waits whether a press becomes a click.
	 */
	mousemask(ALL_MOUSE_EVENTS | REPORT_MOUSE_POSITION, NULL);
	mouseinterval(0);
	if (options->replay) {
		screen.paused = true;
		rebuild(&screen);
	}
	while (!screen.quit) {
		if (now_s() >= round_s + options->watch.delay_s) {
			round_s = now_s();
			if (!screen.paused)
				round_of(&screen);
		}
		draw(&screen);
		terminal_wait(round_s + options->watch.delay_s);
		while ((key = getch()) != ERR)
			handle_key(&screen, key);
	}
	endwin();
}
