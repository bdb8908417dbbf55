// SPDX-License-Identifier: GPL-2.0
/*
 * A round as lines of text. A line has the most important part first, and parts that do not
 * fit are left out as a whole.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compat.h"
#include "report.h"
#include "units.h"

#define NUMBER_SIZE	16
#define RANGE_SIZE	(2 * NUMBER_SIZE)

/* Format a number with three digits and a unit; "-" if it is not known. */
static const char *number_text(double number, double unit, const char *units, char *text)
{
	int i = 0;

	if (number < 0) {
		snprintf(text, NUMBER_SIZE, "-");
		return text;
	}
	for (; number >= unit * 0.9995 && units[i + 1]; i++)
		number /= unit;
	if (!i)
		snprintf(text, NUMBER_SIZE, "%.0f", number);
	else
		snprintf(text, NUMBER_SIZE, "%.*f%c", number < 9.95 ? 1 : 0, number, units[i]);
	return text;
}

static const char *count(double number, char *text)
{
	return number_text(number, 1000, " kMGT", text);
}

static const char *bytes(double number, char *text)
{
	return number_text(number, 1024, " KMGTP", text);
}

static const char *pct(double number, char *text)
{
	if (number < 0)
		snprintf(text, NUMBER_SIZE, "-");
	else
		snprintf(text, NUMBER_SIZE, "%.1f%%", number);
	return text;
}

static double pct_of(const struct figure *permille)
{
	return permille->known ? permille->value / 10.0 : -1;
}

static struct line *new_line(struct report *report, const char *name)
{
	struct line *line = &report->line[report->nr];

	if (report->nr < MAX_LINES - 1)
		report->nr++;
	*line = (struct line) { };
	if (name)
		snprintf(line->text, sizeof(line->text), "%-11.*s", report->width, name);
	return line;
}

__printf(3, 4)
static void append(const struct report *report, struct line *line, const char *format, ...)
{
	int len = strlen(line->text), most = LINE_SIZE - 1, added;
	va_list args;

	if (report->width < most)
		most = report->width;
	va_start(args, format);
	added = vsnprintf(line->text + len, LINE_SIZE - len, format, args);
	va_end(args);
	line->full |= len + added > most;
	if (line->full)
		line->text[len] = '\0';
}

static void show_history(struct line *line, const struct history *history, double scale)
{
	line->history = history;
	line->scale = scale > 0 ? scale : 0;
}

static const struct {
	const char	*title;
	int		width;
} tier_columns[] = {
	{ "TIER", -9 }, { "NODES", -7 }, { "HOT", 12 }, { "SERVED", 9 }, { "PROMOTED", 10 },
	{ "DEMOTED", 9 }, { "SIZE", 8 }, { "FREE", 8 },
}, event_columns[] = {
	{ "EVENT", -18 }, { "RUNNING", 8 }, { "PERIOD", 10 }, { "SAMPLES", 9 }, { "LOST", 8 },
	{ "DISCARDED", 11 }, { "THROTTLED", 11 },
};

static double sum(const double *number, int nr)
{
	double sum = 0;
	int i;

	for (i = 0; i < nr; i++) {
		if (number[i] < 0)
			return -1;
		sum += number[i];
	}
	return sum;
}

/* Format a range, or only @most if both ends are nearly the same. */
static const char *range(double least, double most, char *text)
{
	char number[2][NUMBER_SIZE];

	snprintf(text, RANGE_SIZE, "%s", bytes(most, number[0]));
	if (least >= 0 && most > least * 1.1)
		snprintf(text, RANGE_SIZE, "%s-%s", bytes(least, number[1]), number[0]);
	return text;
}

static void show_tier(struct report *report, const struct tier *tier)
{
	char cell[ARRAY_SIZE(tier_columns)][sizeof(tier->nodes)];
	struct line *line = new_line(report, NULL);
	size_t i;

	if (tier->number < 0)
		snprintf(cell[0], sizeof(cell[0]), "-");
	else
		snprintf(cell[0], sizeof(cell[0]), "%d %s", tier->number,
			 tier->fast ? "fast" : "slow");
	snprintf(cell[1], sizeof(cell[1]), "%s", tier->nodes);
	range(tier->hot_bytes, tier->hot_most_bytes, cell[2]);
	pct(tier->served_pct, cell[3]);
	bytes(tier->promoted_per_s, cell[4]);
	bytes(sum(tier->demoted_per_s, NR_DEMOTED), cell[5]);
	bytes(tier->total_bytes, cell[6]);
	bytes(tier->free_bytes, cell[7]);
	for (i = 0; i < ARRAY_SIZE(tier_columns); i++)
		append(report, line, "%*s", tier_columns[i].width, cell[i]);
	show_history(line, &tier->hot, 0);
}

static void show_tiers(struct report *report, const struct state *state)
{
	struct line *line = new_line(report, NULL);
	size_t i;
	int j;

	line->kind = TITLE;
	for (i = 0; i < ARRAY_SIZE(tier_columns); i++)
		append(report, line, "%*s", tier_columns[i].width, tier_columns[i].title);
	for (j = 0; j < state->nr_tiers; j++)
		show_tier(report, &state->tier[j]);
	new_line(report, NULL);
}

static void show_cost(struct report *report, const struct state *state)
{
	char use[NUMBER_SIZE], quota[NUMBER_SIZE], last[NUMBER_SIZE], cost[NUMBER_SIZE];
	const struct figure *status = state->status;
	struct line *line;

	line = new_line(report, "quota");
	append(report, line, "%s of %s of a CPU",
	       pct(pct_of(&status[USE_PERMILLE]), use),
	       pct(pct_of(&state->knob[QUOTA_PERMILLE]), quota));
	append(report, line, "  last window %s", pct(pct_of(&status[LAST_USE_PERMILLE]), last));
	/* A use that meets the quota has half of the height. */
	show_history(line, &state->history[USE_HISTORY],
		     2 * figure_value(&state->knob[QUOTA_PERMILLE]));

	line = new_line(report, "workload");
	append(report, line, "%s of a CPU", pct(pct_of(&status[WORKLOAD_PERMILLE]), cost));
	append(report, line, " for being sampled");
	show_history(line, &state->history[WORKLOAD_HISTORY], 0);
}

static void show_samples(struct report *report, const struct state *state)
{
	char good[NUMBER_SIZE], lost[NUMBER_SIZE], bad[NUMBER_SIZE], share[2][NUMBER_SIZE];
	struct line *line;

	line = new_line(report, "samples");
	append(report, line, "%s/s", count(state->vm[SAMPLES].per_s, good));
	append(report, line, "  lost %s/s", count(state->vm[LOST].per_s, lost));
	append(report, line, "  discarded %s/s", count(state->vm[DISCARDED].per_s, bad));
	if (state->vm[LOST].per_s > 0)
		line->kind = WARNING;
	show_history(line, &state->history[SAMPLES_HISTORY], 0);

	line = new_line(report, "accesses");
	append(report, line, "fast %s  slow %s", pct(state->fast_pct, share[0]),
	       pct(state->fast_pct < 0 ? -1 : 100 - state->fast_pct, share[1]));
	append(report, line, "  loads %s", pct(pct_of(&state->status[LOADS_PERMILLE]), share[0]));
	show_history(line, &state->history[FAST_HISTORY], 100);
}

static void show_hot(struct report *report, const struct state *state)
{
	double target = state->status[HOT_TARGET_KB].known ?
			state->status[HOT_TARGET_KB].value * 1024.0 : -1;
	char hot[RANGE_SIZE], text[NUMBER_SIZE], from[NUMBER_SIZE];
	struct line *line = new_line(report, "hot set");
	double sum = 0, most = 0;
	int i;

	for (i = 0; i < state->nr_tiers; i++) {
		sum += state->tier[i].hot_bytes;
		most += state->tier[i].hot_most_bytes;
	}
	if (!state->hot_from.known)
		most = -1;
	append(report, line, "%s of %s", range(sum, most, hot), bytes(target, text));
	append(report, line, "  from heat %s", count(figure_value(&state->hot_from), from));
	append(report, line, "  kept in %s", bytes(figure_value(&state->status[HEAT_BYTES]), from));
}

/* What is promoted in all, and by ksamplingd if the kernel supports that. */
static void show_promotion(struct report *report, const struct state *state, double page)
{
	const struct figure *told = state->promotion, *on = &state->knob[PROMOTE];
	struct line *line = new_line(report, "promotion");
	char text[2][NUMBER_SIZE];
	double most;

	append(report, line, "%s/s in all", bytes(state->promoted_per_s * page, text[0]));
	show_history(line, &state->history[PROMOTED_HISTORY], 0);
	if (!on->known)
		return;
	most = told[KB_PER_S_NOW].known ? told[KB_PER_S_NOW].value * 1024.0 :
		figure_value(&state->knob[PROMOTE_MB_PER_S]) * 1024 * 1024;
	if (!on->value && state->nr_tiers == 1) {
		append(report, line, "  ksamplingd off: all memory is of one tier");
		return;
	}
	append(report, line, "  ksamplingd %s%s/s of %s/s", on->value ? "" : "off ",
	       bytes(state->vm[PROMOTED].per_s * page, text[0]), bytes(most, text[1]));
	append(report, line, "  queued %s", bytes(figure_value(&told[QUEUED]) * page, text[0]));
	append(report, line, "  returned %s", pct(pct_of(&told[RETURNED_PERMILLE]), text[0]));
}

/* Rates by reason, without those that are 0. */
static void show_reasons(struct report *report, struct line *line, const struct figure *figures,
			 const char *const *names, int nr, double page)
{
	char text[NUMBER_SIZE];
	int i;

	append(report, line, "%s/s", bytes(sum_per_s(figures, nr) * page, text));
	for (i = 0; i < nr; i++) {
		if (figures[i].per_s > 0)
			append(report, line, "  %s %s/s", names[i],
			       bytes(figures[i].per_s * page, text));
	}
}

static void show_moves(struct report *report, const struct state *state)
{
	double page = sysconf(_SC_PAGESIZE);
	char text[NUMBER_SIZE];
	struct line *line;

	show_promotion(report, state, page);
	if (state->vm[TOLD].known) {
		line = new_line(report, "not moved");
		append(report, line, "of %s/s told  ", bytes(state->vm[TOLD].per_s * page, text));
		append(report, line, "dropped %s/s  failed ",
		       bytes(state->vm[DROPPED].per_s * page, text));
		show_reasons(report, line, &state->vm[FAILED], failed_names, NR_FAILED, page);
	}
	line = new_line(report, "demotion");
	show_reasons(report, line, &state->vm[DEMOTED], demoted_names, NR_DEMOTED, page);
	show_history(line, &state->history[DEMOTED_HISTORY], 0);
	new_line(report, NULL);
}

static void show_event(struct report *report, const struct event *event)
{
	const struct figure *figure = event->figure;
	char cell[ARRAY_SIZE(event_columns)][sizeof(event->name)];
	struct line *line = new_line(report, NULL);
	size_t i;

	snprintf(cell[0], sizeof(cell[0]), "%.17s", event->name);
	pct(pct_of(&figure[RUNNING_PERMILLE]), cell[1]);
	snprintf(cell[2], sizeof(cell[2]), figure[PERIOD].known ? "%.0f" : "-",
		 figure_value(&figure[PERIOD]));
	count(figure[EVENT_SAMPLES].per_s, cell[3]);
	count(figure[EVENT_LOST].per_s, cell[4]);
	count(sum_per_s(&figure[EVENT_DISCARDED], EVENT_DISCARDED_LAST - EVENT_DISCARDED + 1),
	      cell[5]);
	count(figure[EVENT_THROTTLED].per_s, cell[6]);
	for (i = 0; i < ARRAY_SIZE(event_columns); i++)
		append(report, line, "%*s", event_columns[i].width, cell[i]);
	if (is_short_of_counters(event))
		line->kind = WARNING;
	show_history(line, &event->running, 1000);
}

static void show_events(struct report *report, const struct state *state)
{
	struct line *line;
	size_t i;
	int j;

	if (!state->nr_events)
		return;
	line = new_line(report, NULL);
	line->kind = TITLE;
	for (i = 0; i < ARRAY_SIZE(event_columns); i++)
		append(report, line, "%*s", event_columns[i].width, event_columns[i].title);
	for (j = 0; j < state->nr_events; j++)
		show_event(report, &state->event[j]);
}

/**
 * report_build - format a round as lines
 * @report: gets the lines, which have pointers into @state
 * @state:  after state_read()
 * @width:  maximum width of a line
 */
void report_build(struct report *report, const struct state *state, int width)
{
	report->width = width;
	report->nr = 0;
	show_tiers(report, state);
	if (state->present) {
		show_cost(report, state);
		show_samples(report, state);
		show_hot(report, state);
	}
	show_moves(report, state);
	show_events(report, state);
}
