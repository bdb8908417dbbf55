// SPDX-License-Identifier: GPL-2.0
/*
 * What options have behind them. Whatever is wrong ends the program, in one line.
 */
#include <err.h>
#include <errno.h>
#include <stdlib.h>

#include "arguments.h"
#include "units.h"

/**
 * argument_number - a number of rounds or rows
 * @option: its name, without --
 * @text:   what was typed
 *
 * Return: the number. Exits with EXIT_USAGE if it is none.
 */
unsigned long argument_number(const char *option, const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || !value || value > 1000000000)
		errx(EXIT_USAGE, "--%s %s: a number from 1 to 1000000000 is needed", option, text);
	return value;
}

/**
 * argument_delay_s - the time between two rounds
 * @text: what was typed for --delay
 *
 * Return: seconds. Exits with EXIT_USAGE if it is no time, or too short.
 */
double argument_delay_s(const char *text)
{
	uint64_t us;

	if (!time_parse(text, &us) || us < 20 * US_PER_MS)
		errx(EXIT_USAGE, "--delay %s: a time of 20ms or more is needed, with its unit",
		     text);
	return (double)us / US_PER_S;
}
