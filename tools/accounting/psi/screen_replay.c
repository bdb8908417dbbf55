// SPDX-License-Identifier: GPL-2.0
/*
 * The keys with which the user goes through a record.
 */
#include <ncurses.h>

#include "record.h"
#include "screen.h"

static void move_rounds(struct screen *screen, int step)
{
	if (!replay_move(screen->options->replay, step))
		beep();
}

static void move_time(struct screen *screen, double step_s)
{
	if (!replay_go(screen->options->replay, screen->tree->date_s + step_s, true))
		beep();
}

/**
 * replay_key - go to where a key leads
 * @screen: state of the screen
 * @key:    the key
 */
void replay_key(struct screen *screen, int key)
{
	switch (key) {
	case ',':
		move_rounds(screen, -1);
		break;
	case '.':
		move_rounds(screen, 1);
		break;
	case '[':
		move_time(screen, -60);
		break;
	case ']':
		move_time(screen, 60);
		break;
	case '{':
		move_time(screen, -3600);
		break;
	case '}':
		move_time(screen, 3600);
		break;
	case '@':
		screen->dating = true;
		break;
	}
}

/**
 * date_key - let a key change the time that the user types
 * @screen: state of the screen
 * @key:    the key; Enter goes there
 */
void date_key(struct screen *screen, int key)
{
	struct replay *replay = screen->options->replay;
	double date_s;

	screen->dating = edit_key(screen->date, sizeof(screen->date), key);
	if (screen->dating || !screen->date[0])
		return;
	if (!replay_date(replay, screen->date, &date_s) || !replay_go(replay, date_s, false))
		beep();
	screen->date[0] = '\0';
}
