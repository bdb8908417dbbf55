// SPDX-License-Identifier: GPL-2.0
/*
 * A round as metrics, in the text format that Prometheus and its node_exporter read: all samples
 * of a metric together, after what it is. Names keep their meaning; the manual has them, and
 * psi-dashboard.json uses them.
 */
#include <err.h>
#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat.h"
#include "output.h"
#include "units.h"

/* A group, and its name as the value of a label. */
struct member {
	struct group	*group;
	char		*label;
};

struct metrics {
	FILE			*out;
	struct tree		*tree;
	struct member		*member;
	int			nr;
	const struct metric	*metric;	/* that is being printed */
	bool			begun;		/* it has a sample */
};

struct metric {
	const char	*name, *help, *type;
	bool		causes;
	void		(*samples)(struct metrics *metrics, const struct member *member,
				   int value);
	int		value;
};

/* The first label is the group; others are those of the format. */
static void __printf(4, 5) sample(struct metrics *metrics, const struct member *member,
				  double value, const char *labels, ...)
{
	const struct metric *metric = metrics->metric;
	va_list args;

	if (!metrics->begun)
		fprintf(metrics->out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
	metrics->begun = true;
	fprintf(metrics->out, "%s{cgroup=\"%s\"", metric->name, member->label);
	va_start(args, labels);
	vfprintf(metrics->out, labels, args);
	va_end(args);
	fprintf(metrics->out, "} %.15g\n", value);
}

static double seconds(uint64_t us)
{
	return (double)us / US_PER_S;
}

static void total(struct metrics *metrics, const struct member *member, int line)
{
	const struct reading *reading = member->group->reading;
	int i;

	for (i = 0; i < NR_RESOURCES; i++) {
		if (is_shown(&reading[i], line, false))
			sample(metrics, member, seconds(reading[i].pressure.line[line].total_us),
			       ",resource=\"%s\"", resource_names[i]);
	}
}

static void average(struct metrics *metrics, const struct member *member, int line)
{
	static const char *const windows[NR_AVERAGES] = { "10s", "60s", "300s" };
	const struct reading *reading = member->group->reading;
	int i, j;

	for (i = 0; i < NR_RESOURCES; i++) {
		for (j = 0; j < NR_AVERAGES && is_shown(&reading[i], line, false); j++)
			sample(metrics, member, reading[i].pressure.line[line].avg_pct[j] / 100,
			       ",resource=\"%s\",window=\"%s\"", resource_names[i], windows[j]);
	}
}

static void cpu_cause(struct metrics *metrics, const struct member *member, int value)
{
	const struct causes *causes = group_causes(metrics->tree, member->group, ALL_CAUSES);
	int i;

	for (i = 0; causes && i < causes->nr; i++) {
		if (causes->cause[i].of == CPU)
			sample(metrics, member, seconds(causes->cause[i].value[value]),
			       ",cause=\"%s\"", causes->cause[i].name);
	}
}

static void memory_cause(struct metrics *metrics, const struct member *member, int value)
{
	const struct causes *causes = group_causes(metrics->tree, member->group, ALL_CAUSES);
	const struct cause *cause;
	int i;

	for (i = 0; causes && i < causes->nr; i++) {
		cause = &causes->cause[i];
		if (cause->of == MEMORY)
			sample(metrics, member, value == COUNT ? (double)cause->value[value] :
			       seconds(cause->value[value]), ",cause=\"%s\",kind=\"%s\"",
			       cause->name, kind_names[cause_kind(cause)]);
	}
}

/* For kernels without pressure.causes. */
static void throttled(struct metrics *metrics, const struct member *member, int value)
{
	const struct causes *stat = NULL;
	int i;

	if (!group_causes(metrics->tree, member->group, ALL_CAUSES))
		stat = group_causes(metrics->tree, member->group, CPU_STAT);
	i = stat ? find_cause(stat, "throttled_usec") : -1;
	if (i >= 0)
		sample(metrics, member, seconds(stat->cause[i].value[value]), "%s", "");
}

static const struct metric all[] = {
	{ "psi_cgroup_pressure_some_seconds_total",
	  "Time in which at least one task was stalled.", "counter", false, total, SOME },
	{ "psi_cgroup_pressure_full_seconds_total",
	  "Time in which tasks were stalled and none was working.", "counter", false, total, FULL },
	{ "psi_cgroup_pressure_some_ratio",
	  "The kernel's average over the window of the time in which at least one task was stalled.",
	  "gauge", false, average, SOME },
	{ "psi_cgroup_pressure_full_ratio",
	  "The kernel's average over the window of the time in which tasks were stalled and none was working.",
	  "gauge", false, average, FULL },
	{ "psi_cgroup_cpu_cause_some_seconds_total",
	  "Time of cpu pressure (some) by its cause: contention, or quota (cpu.max).",
	  "counter", true, cpu_cause, SOME_US },
	{ "psi_cgroup_cpu_cause_full_seconds_total",
	  "Time of cpu pressure (full) by its cause: contention, or quota (cpu.max).",
	  "counter", true, cpu_cause, FULL_US },
	{ "psi_cgroup_memory_stalls_total",
	  "Memory stalls by their cause.", "counter", true, memory_cause, COUNT },
	{ "psi_cgroup_memory_stall_seconds_total",
	  "Time of memory stalls, summed over tasks, by their cause.",
	  "counter", true, memory_cause, TOTAL_US },
	{ "psi_cgroup_memory_stall_longest_seconds",
	  "The longest memory stall since the cgroup was made, by its cause.",
	  "gauge", true, memory_cause, MAX_US },
	{ "psi_cgroup_throttled_seconds_total",
	  "Time for which cpu.max throttled the cgroup, summed over CPUs.",
	  "counter", true, throttled, 0 },
};

/* Return: the value of a label, which the caller frees. */
static char *new_label(const char *name)
{
	char valid[VALID_SIZE], *label, *to;
	const char *from = valid_utf8(name, valid);

	label = malloc(2 * strlen(valid) + 1);
	if (!label)
		err(1, "no memory for the metrics");
	for (to = label; *from; from++) {
		if (strchr("\\\"\n", *from))
			*to++ = '\\';
		*to++ = *from == '\n' ? 'n' : *from;
	}
	*to = '\0';
	return label;
}

static int compare_labels(const void *left, const void *right)
{
	return strcmp(((const struct member *)left)->label, ((const struct member *)right)->label);
}

static void no_free(void *node)
{
	(void)node;
}

/* Of groups that have the same name after bytes were replaced, only the first is a member. */
static void find_members(struct metrics *metrics, struct options *options)
{
	int nr = view_rows(&options->view, metrics->tree, options->rows), i;
	struct member *member;
	void *labels = NULL;

	metrics->nr = 0;
	metrics->member = calloc(nr ?: 1, sizeof(*metrics->member));
	if (!metrics->member)
		err(1, "no memory for the metrics");
	for (i = 0; i < nr; i++) {
		member = &metrics->member[metrics->nr];
		member->group = options->view.row[i].group;
		member->label = new_label(shown_name(member->group));
		if (*(struct member **)tsearch(member, &labels, compare_labels) == member)
			metrics->nr++;
		else
			free(member->label);
	}
	tdestroy(labels, no_free);
}

/**
 * openmetrics_round - print the metrics of all groups
 * @tree:    after tree_sample()
 * @options: which groups to print, and whether with causes
 * @out:     where to
 */
void openmetrics_round(struct tree *tree, struct options *options, FILE *out)
{
	struct metrics metrics = { .out = out, .tree = tree };
	const struct metric *metric;
	int i;

	find_members(&metrics, options);
	for (metric = all; metric < all + ARRAY_SIZE(all); metric++) {
		if (metric->causes && !options->causes)
			continue;
		metrics.metric = metric;
		metrics.begun = false;
		for (i = 0; i < metrics.nr; i++)
			metric->samples(&metrics, &metrics.member[i], metric->value);
	}
	for (i = 0; i < metrics.nr; i++)
		free(metrics.member[i].label);
	free(metrics.member);
}

/**
 * openmetrics_write - replace a file by the metrics of all groups
 * @tree:    as for openmetrics_round()
 * @options: likewise
 * @path:    the file; who reads it sees either the old or the new one
 *
 * Exits, and leaves the old file, if it cannot be written.
 */
void openmetrics_write(struct tree *tree, struct options *options, const char *path)
{
	char made[PATH_MAX];
	FILE *out;
	int fd;

	/* The collector reads *.prom only. */
	if (snprintf(made, sizeof(made), "%s.tmp", path) >= (int)sizeof(made))
		errx(1, "%s: the name is too long", path);
	fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		err(1, "cannot write %s", made);
	openmetrics_round(tree, options, out);
	if ((ferror(out) | fclose(out)) || rename(made, path)) {
		warn("cannot write %s", path);
		unlink(made);
		exit(1);
	}
}
