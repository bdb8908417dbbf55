// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel files, the numbers in them, their growth and their history.
 */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figures.h"

/* A histogram has a line of up to 350 bytes for each node. */
#define TEXT_SIZE	(512 * 1024)

/**
 * file_init - set the path of a file
 * @file:   the file; it is opened when it is read
 * @root:   directory to use as /, or ""
 * @format: path below @root, as for printf()
 */
void file_init(struct file *file, const char *root, const char *format, ...)
{
	va_list args;
	char *path;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0 || asprintf(&file->path, "%s%s", root, path) < 0)
		err(1, "no memory");
	va_end(args);
	free(path);
	file->fd = -1;
}

static void file_close(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/**
 * file_free - close a file and free its path
 * @file: after file_init()
 */
void file_free(struct file *file)
{
	file_close(file);
	free(file->path);
}

/* Return: 0 or an errno. */
static int read_all(int fd, char *text)
{
	size_t len = 0;
	ssize_t part;

	do {
		part = pread(fd, text + len, TEXT_SIZE - 1 - len, len);
		if (part < 0)
			return errno;
		len += part;
	} while (part && len < TEXT_SIZE - 1);
	text[len] = '\0';
	return 0;
}

/**
 * file_text - read a file
 * @file: after file_init()
 *
 * Return: the contents, valid until the next call; NULL with errno set if it cannot be read.
 */
const char *file_text(struct file *file)
{
	static char text[TEXT_SIZE];
	int error;

	if (file->fd >= 0) {
		if (!read_all(file->fd, text))
			return text;
		/* The object of the file is gone, and may be back. */
		file_close(file);
	}
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return NULL;
	error = read_all(file->fd, text);
	if (!error)
		return text;
	file_close(file);
	errno = error;
	return NULL;
}

static int find_name(const char *const *names, int nr, const char *word, size_t len)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (!strncmp(names[i], word, len) && !names[i][len])
			return i;
	}
	return -1;
}

/* A counter that is smaller than before has started again. */
static void set_figure(struct figure *figure, uint64_t value, double span_s)
{
	bool grows = figure->known && value >= figure->value && span_s > 0;

	figure->per_s = grows ? (value - figure->value) / span_s : -1;
	figure->value = value;
	figure->known = true;
}

static void forget(struct figure *figure)
{
	*figure = (struct figure) { .per_s = -1 };
}

/**
 * figures_read - find numbers by the word before them
 * @figures: get the numbers; those that @text lacks become unknown
 * @names:   the words
 * @nr:      number of words, at most 64
 * @text:    words and numbers; NULL: none at all
 * @span_s:  time since the previous round; 0: there was none
 */
void figures_read(struct figure *figures, const char *const *names, int nr, const char *text,
		  double span_s)
{
	static const char space[] = { ' ', '\n', '\0' };
	uint64_t found = 0;
	size_t len;
	int i;

	for (text = text ?: ""; *(text += strspn(text, space)); text += len) {
		len = strcspn(text, space);
		i = find_name(names, nr, text, len);
		if (i < 0)
			continue;
		text += len;
		text += strspn(text, space);
		len = strcspn(text, space);
		if (!isdigit((unsigned char)*text))
			continue;
		set_figure(&figures[i], strtoull(text, NULL, 10), span_s);
		found |= 1ULL << i;
	}
	for (i = 0; i < nr; i++) {
		if (!(found & 1ULL << i))
			forget(&figures[i]);
	}
}

/**
 * figure_value - value of a figure
 * @figure: after figures_read()
 *
 * Return: the number; -1 if it is not known.
 */
double figure_value(const struct figure *figure)
{
	return figure->known ? figure->value : -1.0;
}

/**
 * history_add - record the value of a number in a round
 * @history: of the number
 * @round:   the round
 * @value:   the value; < 0: not known
 */
void history_add(struct history *history, unsigned int round, double value)
{
	history->value[round % HISTORY] = value;
}

/**
 * history_value - value of a number in an earlier round
 * @history: of the number
 * @round:   the last round
 * @ago:     number of rounds before that
 *
 * Return: the value; < 0: not known.
 */
double history_value(const struct history *history, unsigned int round, unsigned int ago)
{
	return ago < HISTORY && ago < round ? history->value[(round - ago) % HISTORY] : -1;
}
