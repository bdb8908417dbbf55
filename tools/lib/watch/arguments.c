// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of options. A wrong one ends the program with one line.
 */
#include <err.h>
#include <errno.h>
#include <stdlib.h>

#include "arguments.h"
#include "units.h"

/**
 * argument_number - parse a number of rounds or rows
 * @option: name of the option, without --
 * @text:   its argument
 *
 * Return: the number. Exits with EXIT_USAGE if @text is not a number in range.
 */
unsigned long argument_number(const char *option, const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || !value || value > 1000000000)
		errx(EXIT_USAGE, "--%s %s: must be a number from 1 to 1000000000", option, text);
	return value;
}

/**
 * argument_delay_s - parse the time between two rounds
 * @text: argument of --delay
 *
 * Return: seconds. Exits with EXIT_USAGE if @text is not a time, or too short.
 */
double argument_delay_s(const char *text)
{
	uint64_t us;

	if (!time_parse(text, &us) || us < 20 * US_PER_MS)
		errx(EXIT_USAGE, "--delay %s: must be a time of at least 20ms, with a unit",
		     text);
	return (double)us / US_PER_S;
}
