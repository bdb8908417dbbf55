// SPDX-License-Identifier: GPL-2.0
/*
 * A screen that is redrawn while it takes keys. However the program ends, the terminal is
 * restored.
 */
#include <err.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "compat.h"
#include "terminal.h"
#include "units.h"

static const double delays_s[] = { 0.1, 0.2, 0.5, 1, 2, 5, 10 };

#define NR_DELAYS	((int)ARRAY_SIZE(delays_s))

attr_t attr_high, attr_medium;

static bool unicode;

/* The mask while waiting. SIGWINCH is blocked at other times, so that no wait misses it. */
static sigset_t signals_of_wait;

/* Find out what the terminal can show. */
static void find_look(bool colour, bool ascii)
{
	unicode = !ascii && !strcmp(nl_langinfo(CODESET), "UTF-8");
	attr_high = A_BOLD | A_UNDERLINE;
	attr_medium = A_BOLD;
	if (!colour || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_RED, -1);
	init_pair(2, COLOR_YELLOW, -1);
	attr_high = A_BOLD | COLOR_PAIR(1);
	attr_medium = COLOR_PAIR(2);
}

static void restore(void)
{
	if (!isendwin())
		endwin();
}

static void on_fatal(int number)
{
	endwin();
	raise(number);			/* has its default action now */
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

/**
 * terminal_begin - set up the terminal; endwin() restores it
 * @colour: use colours, if the terminal has some
 * @ascii:  use only ASCII characters
 *
 * Exits if there is no terminal.
 */
void terminal_begin(bool colour, bool ascii)
{
	sigset_t size_changed;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		errx(1, "not a terminal: use --batch or --json");
	if (!newterm(NULL, stdout, stdin))
		errx(1, "unknown terminal %s: set TERM, or use --batch",
		     getenv("TERM") ?: "");
	restore_at_end();
	sigemptyset(&size_changed);
	sigaddset(&size_changed, SIGWINCH);
	sigprocmask(SIG_BLOCK, &size_changed, &signals_of_wait);
	cbreak();
	noecho();
	nodelay(stdscr, true);
	keypad(stdscr, true);
	set_escdelay(50);
	curs_set(0);
	find_look(colour, ascii);
}

/**
 * terminal_wait - wait for a key or for a change of the terminal's size
 * @until_s: time by now_s() until which to wait
 *
 * Exits if the terminal is gone.
 */
void terminal_wait(double until_s)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	double left_s = until_s - now_s();
	long left_ms = left_s > 0 ? left_s * 1000 + 1 : 0;
	struct timespec left = { left_ms / 1000, left_ms % 1000 * 1000000 };

	ppoll(&input, 1, &left, &signals_of_wait);
	if (input.revents & (POLLHUP | POLLERR)) {
		endwin();
		exit(0);
	}
}

/**
 * terminal_delay_s - next longer or shorter delay
 * @delay_s: current delay between two rounds
 * @step:    1 for longer, -1 for shorter
 *
 * Return: seconds; @delay_s at either end.
 */
double terminal_delay_s(double delay_s, int step)
{
	int i = 0;

	while (i < NR_DELAYS - 1 && delays_s[i] < delay_s)
		i++;
	i += step;
	return i >= 0 && i < NR_DELAYS ? delays_s[i] : delay_s;
}

/**
 * put - write as much of a text as fits
 * @y:     line
 * @x:     column
 * @width: columns that it may take
 * @text:  any bytes; wide characters take two columns
 */
void put(int y, int x, int width, const char *text)
{
	mbstate_t state = { };
	wchar_t wide;
	size_t len;
	int places;

	if (x + width > COLS)
		width = COLS - x;
	/* With only one column, ncurses reads memory before the line. */
	if (y >= LINES || COLS < 2 || move(y, x) == ERR)
		return;
	for (; *text && width > 0; text += len) {
		len = mbrtowc(&wide, text, strlen(text), &state);
		if ((ssize_t)len <= 0) {
			len = 1;
			wide = L'?';
			memset(&state, 0, sizeof(state));
		}
		places = wcwidth(wide);
		if (places < 0) {
			wide = L'?';
			places = 1;
		}
		if (places > width)
			break;
		addnwstr(&wide, 1);
		width -= places;
	}
}

/**
 * put_bar - draw a bar of a graph
 * @y:   line
 * @x:   column
 * @pct: height in %; anything above 0 is visible
 */
void put_bar(int y, int x, int pct)
{
	static const char *const blocks[] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const letters[] = {
		" ", ".", ":", "-", "=", "+", "*", "%", "#",
	};

	put(y, x, 1, (unicode ? blocks : letters)[(pct * 8 + 99) / 100]);
}

/**
 * put_rule - draw a line across the screen
 * @y: line
 */
void put_rule(int y)
{
	if (COLS > 1)
		mvhline(y, 0, unicode ? 0 : '-', COLS);
}
