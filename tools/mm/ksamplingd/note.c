// SPDX-License-Identifier: GPL-2.0
/*
 * What keeps ksamplingd from its work, and what to do about it.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define LOW_PERMILLE	500	/* with less running time, the kernel log warns, too */
#define MAX_SLEEP_US	100000	/* the kernel makes its sleep no longer to save CPU time */
#define LASTING_S	10	/* the kernel takes some windows to find the right period */

/**
 * is_short_of_counters - check if an event is counted for less than half of the time
 * @event: an event of which samples are taken
 *
 * Return: true if so: others have the counters.
 */
bool is_short_of_counters(const struct event *event)
{
	const struct figure *running = &event->figure[RUNNING_PERMILLE];

	return running->known && running->value < LOW_PERMILLE;
}

/*
 * The thread is to use its quota. The quota is used up if that does not do: samples are lost, it
 * sleeps as long as it may, or it is above the quota by more than the kernel tolerates.
 */
static bool is_quota_used_up(const struct state *state)
{
	const struct figure *quota = &state->knob[QUOTA_PERMILLE];
	double use = figure_value(&state->status[USE_PERMILLE]), slack = quota->value / 8.0;

	if (!quota->known || !quota->value || use < quota->value)
		return false;
	return state->vm[LOST].per_s > 0 || use > quota->value + (slack > 5 ? slack : 5) ||
	       figure_value(&state->status[SLEEP_US]) >= MAX_SLEEP_US;
}

static bool is_any_short_of_counters(const struct state *state)
{
	int i;

	for (i = 0; i < state->nr_events; i++) {
		if (is_short_of_counters(&state->event[i]))
			return true;
	}
	return false;
}

/**
 * note_round - look at what has to last before it is worth a word
 * @state: at the end of a round
 */
void note_round(struct state *state)
{
	if (!is_any_short_of_counters(state))
		state->had_counters_s = state->round_s;
	if (!is_quota_used_up(state))
		state->had_quota_s = state->round_s;
}

/* What is there, but not enough of it. */
static const char *shortage(const struct state *state)
{
	int i;

	if (state->round_s - state->had_counters_s >= LASTING_S)
		return "others have the counters: end perf, or sample less (cpus, source)";
	if (state->round_s - state->had_quota_s >= LASTING_S)
		return "the quota is used up: raise quota_permille, or name fewer CPUs in cpus";
	for (i = 0; i < state->nr_tiers; i++) {
		if (!state->tier[i].fast)
			return NULL;
	}
	return "no slow tier: nothing to promote until slow memory is online as a node";
}

/**
 * state_note - say why something is missing, or short
 * @state: after state_read()
 *
 * Return: the reason and what to do about it, in one line; NULL if nothing is missing or short.
 */
const char *state_note(const struct state *state)
{
	if (!state->present)
		return "this kernel has no ksamplingd: build one with CONFIG_KSAMPLINGD";
	switch (state->status_error) {
	case 0:
		break;
	case ENOENT:
		return "debugfs is not mounted: mount -t debugfs none /sys/kernel/debug";
	case EACCES:
	case EPERM:
		return "only root sees the samples: run as root";
	default:
		return "the status in /sys/kernel/debug/ksamplingd cannot be read";
	}
	if (!state_is_on(state))
		return "ksamplingd is off: echo 1 >/proc/sys/vm/ksamplingd/enabled";
	if (!strcmp(state->source, "none"))
		return "no PMU to sample by: see dmesg and /proc/sys/vm/ksamplingd/source";
	return shortage(state);
}
