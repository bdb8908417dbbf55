// SPDX-License-Identifier: GPL-2.0
/*
 * Times with units, as users write them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compat.h"
#include "units.h"

static const struct {
	const char	*name;
	uint64_t	us;
} units[] = {
	{ "d",		24 * 3600 * US_PER_S },
	{ "h",		3600 * US_PER_S },
	{ "min",	60 * US_PER_S },
	{ "s",		US_PER_S },
	{ "ms",		US_PER_MS },
	{ "us",		1 },
};

#define MAX_US		(1000 * 3600 * US_PER_S)

/**
 * time_parse - read a time with its unit, as in "150ms" or "1.5s"
 * @text: the time, and nothing else
 * @us:   gets the time in us
 *
 * A number without a unit is not a time: some programs take it for seconds, the kernel for
 * us.
 *
 * Return: false, with @us unchanged, if @text is not a time, or more than 1000 hours.
 */
bool time_parse(const char *text, uint64_t *us)
{
	double number;
	char *unit;
	size_t i;

	if (!isdigit((unsigned char)text[0]))
		return false;
	number = strtod(text, &unit);
	if (strspn(text, "0123456789.") != (size_t)(unit - text))
		return false;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		number *= units[i].us;
		if (number > MAX_US)
			return false;
		*us = number + 0.5;
		return true;
	}
	return false;
}

/**
 * time_text - format a time in the largest unit, up to seconds, that it fills
 * @us:   the time
 * @text: buffer
 * @size: size of @text
 *
 * Return: @text.
 */
const char *time_text(uint64_t us, char *text, size_t size)
{
	if (us >= 1000 * US_PER_S)
		snprintf(text, size, "%.0fs", (double)us / US_PER_S);
	else if (us >= US_PER_S)
		snprintf(text, size, "%.4gs", (double)us / US_PER_S);
	else if (us >= US_PER_MS)
		snprintf(text, size, "%.4gms", (double)us / US_PER_MS);
	else
		snprintf(text, size, "%uus", (unsigned int)us);
	return text;
}

/* Whole microseconds, which a program can write down and read back without a difference. */
static double clock_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)(ts.tv_sec * US_PER_S + ts.tv_nsec / 1000) / US_PER_S;
}

/**
 * now_s - read the monotonic clock
 *
 * Return: seconds, in whole microseconds.
 */
double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

/**
 * date_s - read the clock of the system
 *
 * Return: seconds since 1970, in whole microseconds.
 */
double date_s(void)
{
	return clock_s(CLOCK_REALTIME);
}

/**
 * date_text - format a date as the user's local time
 * @date_s: seconds since 1970
 * @format: as for strftime()
 * @text:   buffer
 * @size:   size of @text
 *
 * Return: @text.
 */
const char *date_text(double date_s, const char *format, char *text, size_t size)
{
	time_t seconds = date_s;
	struct tm *local = localtime(&seconds);

	if (!local || !strftime(text, size, format, local))
		text[0] = '\0';
	return text;
}

/**
 * wait_until - sleep until then, even if signals arrive
 * @until_s: time by now_s()
 */
void wait_until(double until_s)
{
	double left_s = until_s - now_s();
	struct timespec left = { .tv_sec = left_s };

	if (left_s <= 0)
		return;
	left.tv_nsec = (left_s - left.tv_sec) * 1e9;
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}
