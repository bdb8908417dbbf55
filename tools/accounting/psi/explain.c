// SPDX-License-Identifier: GPL-2.0
/*
 * Why a group has pressure, as lines of text: the causes that it has had, the one that grows
 * fastest first, or the tasks that are delayed. On kernels without pressure.causes, other files
 * tell a little.
 */
#include <stdio.h>
#include <stdlib.h>

#include "explain.h"
#include "tasks.h"
#include "units.h"

/* Less is 0.0. */
#define LEAST_MS	0.05

/* A cause and its sort keys. */
struct entry {
	int		i;
	double		rate;
	uint64_t	total;
};

static char *new_line(struct explanation *why)
{
	return why->nr < MAX_LINES ? why->line[why->nr++] : NULL;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->rate != b->rate)
		return a->rate > b->rate ? -1 : 1;
	return a->total == b->total ? 0 : a->total > b->total ? -1 : 1;
}

/* Sort the causes that the group has had. Return: their number. */
static int in_order(const struct causes *causes, enum resource resource, int value,
		    struct entry *entry)
{
	int nr = 0, i;

	for (i = 0; i < causes->nr; i++) {
		if (causes->cause[i].of != resource || !causes->cause[i].value[value])
			continue;
		entry[nr].i = i;
		entry[nr].rate = cause_rate(causes, i, value);
		entry[nr++].total = causes->cause[i].value[value];
	}
	qsort(entry, nr, sizeof(*entry), compare);
	return nr;
}

static void cpu_line(const struct causes *causes, const struct entry *entry, char *line)
{
	const struct cause *cause = &causes->cause[entry->i];
	double full = cause_rate(causes, entry->i, FULL_US);
	char some_text[32], full_text[32];

	if (entry->rate >= 0) {
		snprintf(line, LINE_SIZE, "cpu     %-22s some %5.1f %%   full %5.1f %%",
			 cause->name, entry->rate / US_PER_S * 100, full / US_PER_S * 100);
		return;
	}
	snprintf(line, LINE_SIZE, "cpu     %-22s some %s, full %s in all", cause->name,
		 time_text(cause->value[SOME_US], some_text, sizeof(some_text)),
		 time_text(cause->value[FULL_US], full_text, sizeof(full_text)));
}

static void memory_line(const struct causes *causes, const struct entry *entry, char *line)
{
	static const char *const notes[] = {
		[TASKS]		= "",
		[BACKGROUND]	= "  (ahead of need)",
		[REQUESTED]	= "  (asked for)",
	};
	const struct cause *cause = &causes->cause[entry->i];
	double count = cause_rate(causes, entry->i, COUNT);
	const char *note = notes[cause_kind(cause)];
	char total[32], max[32];

	time_text(cause->value[MAX_US], max, sizeof(max));
	if (entry->rate >= 0) {
		snprintf(line, LINE_SIZE, "memory  %-22s %7.1f ms/s %8.1f/s  longest %s%s",
			 cause->name, entry->rate / US_PER_MS, count, max, note);
		return;
	}
	snprintf(line, LINE_SIZE, "memory  %-22s %s in all, %llu times, longest %s%s",
		 cause->name, time_text(cause->value[TOTAL_US], total, sizeof(total)),
		 (unsigned long long)cause->value[COUNT], max, note);
}

static void throttled_line(struct tree *tree, struct group *group, struct explanation *why)
{
	const struct causes *stat = group_causes(tree, group, CPU_STAT);
	int i = stat ? find_cause(stat, "throttled_usec") : -1;
	double rate;
	char *line;

	if (i < 0 || !stat->cause[i].value[0])
		return;
	rate = cause_rate(stat, i, 0);
	line = new_line(why);
	if (line && rate >= 0)
		snprintf(line, LINE_SIZE, "cpu     %-22s %7.1f ms/s, summed over CPUs",
			 "throttled (cpu.stat)", rate / US_PER_MS);
	else if (line)
		snprintf(line, LINE_SIZE, "cpu     %-22s %.1f s in all, summed over CPUs",
			 "throttled (cpu.stat)", (double)stat->cause[i].value[0] / US_PER_S);
}

static void events_line(struct tree *tree, struct group *group, struct explanation *why)
{
	const struct causes *events = group_causes(tree, group, MEMORY_EVENTS);
	int high = events ? find_cause(events, "high") : -1;
	int max = events ? find_cause(events, "max") : -1;
	char *line;

	if (high < 0 || max < 0)
		return;
	if (!events->cause[high].value[0] && !events->cause[max].value[0])
		return;
	line = new_line(why);
	if (line)
		snprintf(line, LINE_SIZE, "memory  %-22s high %llu, max %llu times",
			 "limits (memory.events)",
			 (unsigned long long)events->cause[high].value[0],
			 (unsigned long long)events->cause[max].value[0]);
}

static void lines(const struct causes *causes, enum resource resource, int value,
		  struct explanation *why,
		  void (*write)(const struct causes *causes, const struct entry *entry,
				char *line))
{
	struct entry entry[MAX_CAUSES];
	int nr = in_order(causes, resource, value, entry), i;
	char *line;

	for (i = 0; i < nr; i++) {
		line = new_line(why);
		if (line)
			write(causes, &entry[i], line);
	}
}

/**
 * explain - say why a group has pressure
 * @tree:  the tree of the group
 * @group: the group
 * @why:   gets the lines; none if there is nothing to say
 */
void explain(struct tree *tree, struct group *group, struct explanation *why)
{
	const struct causes *causes;

	why->nr = 0;
	causes = group_causes(tree, group, ALL_CAUSES);
	if (!causes) {
		throttled_line(tree, group, why);
		events_line(tree, group, why);
		return;
	}
	lines(causes, CPU, SOME_US, why, cpu_line);
	lines(causes, MEMORY, TOTAL_US, why, memory_line);
}

static void task_line(const struct task *task, char *line)
{
	int at, i;

	at = snprintf(line, LINE_SIZE, "%7d  %-15s", task->delays.tid, task->name);
	for (i = 0; i < NR_DELAYS && at < LINE_SIZE; i++) {
		if (task->rate_ms[i] >= LEAST_MS)
			at += snprintf(line + at, LINE_SIZE - at, "  %s %.1f", delay_names[i],
				       task->rate_ms[i]);
	}
}

/**
 * explain_tasks - say which tasks of a group are delayed, the most delayed first
 * @tree:  the tree of the group
 * @group: the group
 * @most:  number of tasks, at most MAX_LINES - 2
 * @why:   gets the lines; none if no task was delayed
 */
void explain_tasks(struct tree *tree, struct group *group, int most, struct explanation *why)
{
	const struct tasks *tasks = group_tasks(tree, group);
	int i;

	why->nr = 0;
	if (tasks->nr_unread)
		snprintf(new_line(why), LINE_SIZE, "%d more tasks were not read",
			 tasks->nr_unread);
	if (tasks->nr && !tasks->compared)
		snprintf(new_line(why), LINE_SIZE, "delays are known from the next round on");
	for (i = 0; i < tasks->nr && i < most && tasks->task[i]->sum_ms >= LEAST_MS; i++)
		task_line(tasks->task[i], new_line(why));
}
