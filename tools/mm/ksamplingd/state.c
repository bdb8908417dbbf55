// SPDX-License-Identifier: GPL-2.0
/*
 * Read what the kernel tells about ksamplingd, once per round. What is missing, because the
 * kernel does not have it or the user is not root, is unknown; everything else is shown.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state.h"
#include "units.h"

static const char *const knob_names[NR_KNOBS] = {
	[ENABLED]		= "enabled",
	[QUOTA_PERMILLE]	= "quota_permille",
	[HOT_SAMPLES]		= "hot_samples",
	[PROMOTE]		= "promote",
	[PROMOTE_MB_PER_S]	= "promote_mb_per_s",
};

static const char *const status_names[NR_STATUS] = {
	[USE_PERMILLE]		= "use_permille",
	[LAST_USE_PERMILLE]	= "use_last_window_permille",
	[WORKLOAD_PERMILLE]	= "workload_permille",
	[LOADS_PERMILLE]	= "load_share_permille",
	[SLEEP_US]		= "sleep_us",
	[HEAT_BYTES]		= "heat_bytes",
	[HOT_TARGET_KB]		= "hot_target_kb",
};

static const char *const promotion_names[NR_PROMOTION] = {
	[KB_PER_S_NOW]		= "promote_kb_per_s_now",
	[RETURNED_PERMILLE]	= "returned_permille",
	[QUEUED]		= "queued",
	[PAST_BYTES]		= "past_bytes",
};

#define FAILED_PREFIX	"ksamplingd_failed_"
#define DEMOTED_PREFIX	"pgdemote_"

const char *const vm_names[NR_VM] = {
	[SAMPLES]	= "ksamplingd_samples",
	[DISCARDED]	= "ksamplingd_discarded",
	[LOST]		= "ksamplingd_lost",
	[FAST_SAMPLES]	= "ksamplingd_samples_fast",
	[SLOW_SAMPLES]	= "ksamplingd_samples_slow",
	[TOLD]		= "ksamplingd_told",
	[PROMOTED]	= "ksamplingd_promoted",
	[DROPPED]	= "ksamplingd_dropped",
	[RETURNED]	= "ksamplingd_returned",
	[FAILED]	= FAILED_PREFIX "gone",
	[FAILED + 1]	= FAILED_PREFIX "cold",
	[FAILED + 2]	= FAILED_PREFIX "barred",
	[FAILED + 3]	= FAILED_PREFIX "order",
	[FAILED + 4]	= FAILED_PREFIX "pinned",
	[FAILED + 5]	= FAILED_PREFIX "special",
	[FAILED + 6]	= FAILED_PREFIX "shared",
	[FAILED + 7]	= FAILED_PREFIX "policy",
	[FAILED + 8]	= FAILED_PREFIX "busy",
	[FAILED + 9]	= FAILED_PREFIX "full",
	[ALL_PROMOTED]	= "pgpromote_success",
	[DEMOTED]	= DEMOTED_PREFIX "kswapd",
	[DEMOTED + 1]	= DEMOTED_PREFIX "direct",
	[DEMOTED + 2]	= DEMOTED_PREFIX "khugepaged",
};

const char *const failed_names[NR_FAILED] = {
	"gone", "cold", "barred", "order", "pinned", "special", "shared", "policy", "busy", "full",
};

const char *const demoted_names[NR_DEMOTED] = { "kswapd", "direct", "khugepaged" };

const char *const event_names[NR_EVENT_FIGURES] = {
	[PERIOD]		= "period",
	[EVENT_SAMPLES]		= "samples",
	[EVENT_LOST]		= "lost",
	[EVENT_THROTTLED]	= "throttled",
	[EVENT_BROKEN]		= "broken",
	[EVENT_DISCARDED]	= "no_address",
	[EVENT_DISCARDED + 1]	= "no_page",
	[EVENT_DISCARDED + 2]	= "no_memory",
	[EVENT_DISCARDED + 3]	= "bad_record",
	[EVENT_DISCARDED + 4]	= "not_memory",
	[EVENT_DISCARDED + 5]	= "kernel",
	[RUNNING_PERMILLE]	= "running_permille",
};

/**
 * state_init - set the paths of the files
 * @state: to be filled in
 * @root:  directory to use as /, or ""
 */
void state_init(struct state *state, const char *root)
{
	int i;

	*state = (struct state) { .root = root };
	state->had_counters_s = now_s();
	state->had_quota_s = now_s();
	for (i = 0; i < NR_KNOBS; i++)
		file_init(&state->knob_file[i], root, "/proc/sys/vm/ksamplingd/%s", knob_names[i]);
	file_init(&state->status_file, root, "/sys/kernel/debug/ksamplingd/status");
	file_init(&state->promotion_file, root, "/sys/kernel/debug/ksamplingd/promotion");
	file_init(&state->histogram_file, root, "/sys/kernel/debug/ksamplingd/histogram");
	file_init(&state->vmstat_file, root, "/proc/vmstat");
	tiers_init(state);
}

/* Read a file that holds one number. */
static void read_knob(struct state *state, enum knob knob)
{
	const char *number = file_text(&state->knob_file[knob]);
	char text[64];

	if (knob == ENABLED)
		state->present = number || errno != ENOENT;
	snprintf(text, sizeof(text), "%s %s", knob_names[knob], number ?: "");
	figures_read(&state->knob[knob], &knob_names[knob], 1, text, 0);
}

/**
 * state_is_on - check if ksamplingd is enabled
 * @state: after state_read()
 *
 * Return: true if so.
 */
bool state_is_on(const struct state *state)
{
	return state->knob[ENABLED].known && state->knob[ENABLED].value;
}

/* Read a line of an event, which may be another one than in the previous round. */
static void read_event(struct state *state, char *line)
{
	struct event *event = &state->event[state->nr_events];
	char name[sizeof(event->name)];
	int used = 0;

	if (state->nr_events == MAX_EVENTS ||
	    sscanf(line, "event %31s%n", name, &used) != 1)
		return;
	if (strcmp(name, event->name)) {
		*event = (struct event) { };
		memcpy(event->name, name, sizeof(name));
	}
	figures_read(event->figure, event_names, NR_EVENT_FIGURES, line + used, state->span_s);
	history_add(&event->running, state->round, figure_value(&event->figure[RUNNING_PERMILLE]));
	state->nr_events++;
}

/* While ksamplingd is off, the status is stale: ignore it. */
static void read_status(struct state *state)
{
	char copy[16 * 1024], *rest = copy, *events, *line;
	const char *text = file_text(&state->status_file);

	state->status_error = text ? 0 : errno;
	snprintf(copy, sizeof(copy), "%s", text && state_is_on(state) ? text : "");
	events = strstr(copy, "\nevent ") ?: copy + strlen(copy);
	rest = events;
	if (*events)
		*rest++ = '\0';
	if (sscanf(strstr(copy, "source ") ?: "", "source %15s", state->source) != 1)
		state->source[0] = '\0';
	figures_read(state->status, status_names, NR_STATUS, copy, state->span_s);
	state->nr_events = 0;
	while ((line = strsep(&rest, "\n")))
		read_event(state, line);
}

/**
 * sum_per_s - growth of several counters together
 * @figures: the first of them
 * @nr:      number of counters
 *
 * Return: the growth per second; < 0 if that of any counter is not known.
 */
double sum_per_s(const struct figure *figures, int nr)
{
	double sum = 0;
	int i;

	for (i = 0; i < nr; i++) {
		if (figures[i].per_s < 0)
			return -1;
		sum += figures[i].per_s;
	}
	return sum;
}

static void read_vmstat(struct state *state)
{
	const struct figure *vm = state->vm;
	double both;

	figures_read(state->vm, vm_names, NR_VM, file_text(&state->vmstat_file), state->span_s);
	both = sum_per_s(&vm[FAST_SAMPLES], 2);
	state->fast_pct = both > 0 ? vm[FAST_SAMPLES].per_s / both * 100 : -1;
	/* Only kernels with NUMA balancing count all that is promoted. */
	state->promoted_per_s = vm[vm[ALL_PROMOTED].known ? ALL_PROMOTED : PROMOTED].per_s;
}

static void add_histories(struct state *state)
{
	const double values[NR_HISTORIES] = {
		[USE_HISTORY]		= figure_value(&state->status[LAST_USE_PERMILLE]),
		[WORKLOAD_HISTORY]	= figure_value(&state->status[WORKLOAD_PERMILLE]),
		[SAMPLES_HISTORY]	= state->vm[SAMPLES].per_s,
		[FAST_HISTORY]		= state->fast_pct,
		[PROMOTED_HISTORY]	= state->promoted_per_s,
		[DEMOTED_HISTORY]	= sum_per_s(&state->vm[DEMOTED], NR_DEMOTED),
	};
	int i;

	for (i = 0; i < NR_HISTORIES; i++)
		history_add(&state->history[i], state->round, values[i]);
}

/**
 * state_read - read everything
 * @state: after state_init(); has growth rates from the second round on
 */
void state_read(struct state *state)
{
	double before_s = state->round_s;
	int i;

	state->date_s = date_s();
	state->round_s = now_s();
	state->span_s = state->round++ ? state->round_s - before_s : 0;
	for (i = 0; i < NR_KNOBS; i++)
		read_knob(state, i);
	read_status(state);
	/* Pages may be queued while nothing is sampled, too. */
	figures_read(state->promotion, promotion_names, NR_PROMOTION,
		     file_text(&state->promotion_file), 0);
	read_vmstat(state);
	tiers_read(state);
	add_histories(state);
	note_round(state);
}
