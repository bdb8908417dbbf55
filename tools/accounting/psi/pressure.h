/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parse the text of pressure files. Nothing here opens a file.
 */
#ifndef PSI_TOOLS_PRESSURE_H
#define PSI_TOOLS_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resource {
	CPU,
	MEMORY,
	IO,
	IRQ,
	NR_RESOURCES,
};

enum line {
	SOME,
	FULL,
	NR_LINES,
};

enum average {
	AVG10,
	AVG60,
	AVG300,
	NR_AVERAGES,
};

extern const char *const resource_names[NR_RESOURCES];
extern const char *const line_names[NR_LINES];

/* A line of a pressure file. irq has only one line, and on old kernels so does cpu. */
struct stall {
	bool		present;
	double		avg_pct[NR_AVERAGES];
	uint64_t	total_us;
};

struct pressure {
	struct stall	line[NR_LINES];
};

bool pressure_parse(const char *text, struct pressure *pressure);

/* Whose time a cause counts. */
enum cause_kind {
	TASKS,			/* tasks that wait */
	BACKGROUND,		/* the kernel, ahead of need */
	REQUESTED,		/* a writer to memory.reclaim or similar */
	NR_KINDS,
};

extern const char *const kind_names[NR_KINDS];

enum memory_value {
	COUNT,
	TOTAL_US,
	MAX_US,
};

enum cpu_value {
	SOME_US,
	FULL_US,
};

#define NR_CAUSE_VALUES		3
#define CAUSE_NAME_SIZE		32
#define MAX_CAUSES		32

/* A line of a causes file. value[] is indexed by memory_value or cpu_value, or has one number. */
struct cause {
	enum resource	of;		/* CPU or MEMORY */
	char		name[CAUSE_NAME_SIZE];
	uint64_t	value[NR_CAUSE_VALUES];
};

int causes_parse(const char *text, struct cause *causes);
int stats_parse(const char *text, struct cause *causes);
enum cause_kind cause_kind(const struct cause *cause);

#endif
