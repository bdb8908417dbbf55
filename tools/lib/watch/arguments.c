// SPDX-License-Identifier: GPL-2.0
/*
 * Options, and their arguments. A wrong one ends the program with one line.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "compat.h"
#include "units.h"

#define LETTERS		"d:bj1n:h"
#define MAX_OPTIONS	32

enum {
	NO_COLOR = 256,
	ASCII,
};

static const struct option common[] = {
	{ "delay",	required_argument,	NULL, 'd' },
	{ "batch",	no_argument,		NULL, 'b' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "once",	no_argument,		NULL, '1' },
	{ "count",	required_argument,	NULL, 'n' },
	{ "no-color",	no_argument,		NULL, NO_COLOR },
	{ "ascii",	no_argument,		NULL, ASCII },
	{ "help",	no_argument,		NULL, 'h' },
};

/**
 * argument_number - parse a number of rounds or rows
 * @option: name of the option, without --
 * @text:   its argument
 *
 * Return: the number. Exits with WRONG_USAGE if @text is not a number in range.
 */
unsigned long argument_number(const char *option, const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || !value || value > 1000000000)
		errx(WRONG_USAGE, "--%s %s: must be a number from 1 to 1000000000", option, text);
	return value;
}

/**
 * argument_time_s - parse a time
 * @option: name of the option, without --
 * @text:   its argument
 * @min_us: the least it may be
 *
 * Return: seconds. Exits with WRONG_USAGE if @text is not a time, or too short.
 */
double argument_time_s(const char *option, const char *text, uint64_t min_us)
{
	char min[32];
	uint64_t us;

	if (!time_parse(text, &us) || us < min_us)
		errx(WRONG_USAGE, "--%s %s: must be a time of at least %s, with a unit", option,
		     text, time_text(min_us, min, sizeof(min)));
	return (double)us / US_PER_S;
}

/**
 * argument_choice - find the word that the user gives among those there are
 * @status: exit status if it is none of them
 * @what:   what the words are
 * @word:   the user's
 * @words:  all there are
 * @nr:     how many
 *
 * Return: its index.
 */
unsigned int argument_choice(int status, const char *what, const char *word,
			     const char *const *words, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(word, words[i]))
			return i;
	}
	errx(status, "unknown %s %s: see %s --help", what, word, program_invocation_short_name);
}

/**
 * watch_defaults - set what holds without any option
 * @options: to be filled in
 */
void watch_defaults(struct watch_options *options)
{
	const char *no_color = getenv("NO_COLOR");

	*options = (struct watch_options){ .delay_s = 1, .colour = !no_color || !*no_color };
}

/**
 * watch_getopt - getopt_long() for the options in common and those of a program
 * @argc:    as that of main()
 * @argv:    likewise
 * @letters: of the program's own options
 * @own:     its own long options
 *
 * Return: as getopt_long(). Exits with WRONG_USAGE if words are left after the options.
 */
int watch_getopt(int argc, char **argv, const char *letters, const struct option *own)
{
	struct option all[MAX_OPTIONS] = { };
	char all_letters[64];
	size_t nr = ARRAY_SIZE(common);
	int option;

	memcpy(all, common, sizeof(common));
	while (own->name && nr < MAX_OPTIONS - 1)
		all[nr++] = *own++;
	snprintf(all_letters, sizeof(all_letters), LETTERS "%s", letters);
	option = getopt_long(argc, argv, all_letters, all, NULL);
	if (option < 0 && optind < argc)
		errx(WRONG_USAGE, "%s: unexpected argument: see --help", argv[optind]);
	return option;
}

/**
 * watch_option - take an option that programs have in common
 * @options: what it changes
 * @option:  as watch_getopt() returns it; its argument is in optarg
 * @usage:   the text for --help
 *
 * Exits with WRONG_USAGE for any other option, which watch_getopt() has told of.
 */
void watch_option(struct watch_options *options, int option, const char *usage)
{
	switch (option) {
	case 'd':
		options->delay_s = argument_time_s("delay", optarg, 20 * US_PER_MS);
		break;
	case 'b':
		options->batch = true;
		break;
	case 'j':
		options->json = true;
		break;
	case '1':
		options->batch = true;
		options->count = 1;
		break;
	case 'n':
		options->count = argument_number("count", optarg);
		break;
	case NO_COLOR:
		options->colour = false;
		break;
	case ASCII:
		options->ascii = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		exit(WRONG_USAGE);
	}
}
