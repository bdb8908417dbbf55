// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the text of pressure files.
 *
 * Fields are found by name, not by position. Unknown lines and fields are skipped, so that
 * newer kernels may add some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"
#include "pressure.h"

const char *const resource_names[NR_RESOURCES] = { "cpu", "memory", "io", "irq" };
const char *const line_names[NR_LINES] = { "some", "full" };
const char *const kind_names[NR_KINDS] = { "tasks", "background", "requested" };

static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line ? line + 1 : NULL;
}

/* Find the value of "key=value" in this line. Return: NULL if there is none. */
static const char *field(const char *line, const char *key)
{
	const char *end = line + strcspn(line, "\n");
	size_t len = strlen(key);

	for (; line < end; line += strcspn(line, "\n ")) {
		line += strspn(line, " ");
		if (!strncmp(line, key, len) && line[len] == '=')
			return line + len + 1;
	}
	return NULL;
}

static bool field_us(const char *line, const char *key, uint64_t *value)
{
	const char *text = field(line, key);
	char *end;

	if (!text)
		return false;
	*value = strtoull(text, &end, 10);
	return end != text;
}

static bool stall_parse(const char *line, struct stall *stall)
{
	static const char *const keys[NR_AVERAGES] = { "avg10", "avg60", "avg300" };
	const char *text;
	int i;

	for (i = 0; i < NR_AVERAGES; i++) {
		text = field(line, keys[i]);
		if (!text)
			return false;
		stall->avg_pct[i] = strtod(text, NULL);
	}
	stall->present = field_us(line, "total", &stall->total_us);
	return stall->present;
}

/**
 * pressure_parse - parse the text of a pressure file
 * @text:     the whole text, with a NUL at the end
 * @pressure: to be filled in; lines that the text lacks are not present
 *
 * Return: true if there was any line.
 */
bool pressure_parse(const char *text, struct pressure *pressure)
{
	bool any = false;
	int i;

	memset(pressure, 0, sizeof(*pressure));
	for (; text; text = next_line(text)) {
		for (i = 0; i < NR_LINES; i++) {
			if (!strncmp(text, line_names[i], 4) && text[4] == ' ')
				any |= stall_parse(text, &pressure->line[i]);
		}
	}
	return any;
}

/* A line begins with the name of a resource that has causes, and a dot. */
static bool resource_parse(const char **line, enum resource *resource)
{
	static const enum resource resources[] = { CPU, MEMORY };
	size_t len = strcspn(*line, ".\n "), i;

	for (i = 0; i < ARRAY_SIZE(resources); i++) {
		*resource = resources[i];
		if ((*line)[len] == '.' && len == strlen(resource_names[*resource]) &&
		    !strncmp(*line, resource_names[*resource], len)) {
			*line += len + 1;
			return true;
		}
	}
	return false;
}

static bool cause_parse(const char *line, struct cause *cause)
{
	static const char *const keys[][NR_CAUSE_VALUES] = {
		[CPU]		= { "some", "full", NULL },
		[MEMORY]	= { "count", "total", "max" },
	};
	enum resource resource;
	bool any = false;
	size_t len;
	int i;

	if (!resource_parse(&line, &resource))
		return false;
	len = strcspn(line, "\n ");
	if (!len || len >= sizeof(cause->name))
		return false;
	memset(cause, 0, sizeof(*cause));
	cause->of = resource;
	memcpy(cause->name, line, len);
	for (i = 0; i < NR_CAUSE_VALUES && keys[resource][i]; i++)
		any |= field_us(line, keys[resource][i], &cause->value[i]);
	return any;
}

/**
 * causes_parse - parse the text of pressure.causes
 * @text:   the whole text, with a NUL at the end
 * @causes: room for MAX_CAUSES
 *
 * Return: the number of causes, of CPU and MEMORY together.
 */
int causes_parse(const char *text, struct cause *causes)
{
	int nr = 0;

	for (; text && nr < MAX_CAUSES; text = next_line(text)) {
		if (cause_parse(text, &causes[nr]))
			nr++;
	}
	return nr;
}

/**
 * stats_parse - parse the text of a file with lines of "KEY NUMBER", such as cpu.stat
 * @text:   the whole text, with a NUL at the end
 * @causes: room for MAX_CAUSES; the number becomes the first value
 *
 * Return: the number of lines.
 */
int stats_parse(const char *text, struct cause *causes)
{
	unsigned long long value;
	int nr = 0;

	for (; text && nr < MAX_CAUSES; text = next_line(text)) {
		memset(&causes[nr], 0, sizeof(*causes));
		if (sscanf(text, "%31s %llu", causes[nr].name, &value) == 2)
			causes[nr++].value[0] = value;
	}
	return nr;
}

/**
 * cause_kind - tell whose time a cause counts
 * @cause: a cause of memory stalls
 *
 * Return: the kind by the prefix of its name, which also works for new causes.
 */
enum cause_kind cause_kind(const struct cause *cause)
{
	if (!strncmp(cause->name, "background_", strlen("background_")))
		return BACKGROUND;
	if (!strncmp(cause->name, "requested_", strlen("requested_")))
		return REQUESTED;
	return TASKS;
}
