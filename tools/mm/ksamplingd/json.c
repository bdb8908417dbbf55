// SPDX-License-Identifier: GPL-2.0
/*
 * A round as JSON: one line with an object. Keys keep their meaning; they are described in
 * ksamplingd-top.8. Unknown values are null.
 */
#include <unistd.h>

#include "json_number.h"
#include "output.h"

static void add_total(json_object *object, const char *key, const struct figure *figure)
{
	if (figure->known)
		json_add_u64(object, key, figure->value);
	else
		json_object_object_add(object, key, NULL);
}

static void add_bytes(json_object *object, const char *key, double bytes)
{
	if (bytes < 0)
		json_object_object_add(object, key, NULL);
	else
		json_add_u64(object, key, bytes);
}

static void add_pct(json_object *object, const char *key, const struct figure *permille)
{
	json_add_rate(object, key, figure_value(permille), 10);
}

static void add_pages(json_object *object, const char *key, const struct figure *figure)
{
	json_add_rate(object, key, figure->per_s, 1.0 / sysconf(_SC_PAGESIZE));
}

static json_object *rates_object(const struct figure *figures, const char *const *names, int nr)
{
	json_object *object = json_object_new_object();
	int i;

	for (i = 0; i < nr; i++)
		add_pages(object, names[i], &figures[i]);
	return object;
}

static json_object *tier_object(const struct tier *tier)
{
	json_object *object = json_object_new_object(), *demoted = json_object_new_object();
	int i;

	json_object_object_add(object, "tier", tier->number < 0 ? NULL :
			       json_object_new_int(tier->number));
	json_object_object_add(object, "fast", json_object_new_boolean(tier->fast));
	json_object_object_add(object, "nodes", json_object_new_string(tier->nodes));
	add_bytes(object, "total_bytes", tier->total_bytes);
	add_bytes(object, "free_bytes", tier->free_bytes);
	add_bytes(object, "hot_bytes", tier->hot_bytes);
	add_bytes(object, "hot_most_bytes", tier->hot_most_bytes);
	json_add_rate(object, "served_pct", tier->served_pct, 1);
	json_add_rate(object, "promoted_bytes_per_s", tier->promoted_per_s, 1);
	for (i = 0; i < NR_DEMOTED; i++)
		json_add_rate(demoted, demoted_names[i], tier->demoted_per_s[i], 1);
	json_object_object_add(object, "demoted_bytes_per_s", demoted);
	return object;
}

static json_object *event_object(const struct event *event)
{
	json_object *object = json_object_new_object(), *totals = json_object_new_object();
	int i;

	json_object_object_add(object, "event", json_object_new_string(event->name));
	add_total(object, "period", &event->figure[PERIOD]);
	add_pct(object, "running_pct", &event->figure[RUNNING_PERMILLE]);
	json_add_rate(object, "samples_per_s", event->figure[EVENT_SAMPLES].per_s, 1);
	json_add_rate(object, "lost_per_s", event->figure[EVENT_LOST].per_s, 1);
	for (i = EVENT_SAMPLES; i < RUNNING_PERMILLE; i++)
		add_total(totals, event_names[i], &event->figure[i]);
	json_object_object_add(object, "totals", totals);
	return object;
}

static void add_thread(json_object *object, const struct state *state)
{
	const struct figure *status = state->status;

	add_pct(object, "quota_pct", &state->knob[QUOTA_PERMILLE]);
	add_pct(object, "use_pct", &status[USE_PERMILLE]);
	add_pct(object, "use_last_window_pct", &status[LAST_USE_PERMILLE]);
	add_pct(object, "workload_pct", &status[WORKLOAD_PERMILLE]);
	add_pct(object, "load_share_pct", &status[LOADS_PERMILLE]);
	add_total(object, "sleep_us", &status[SLEEP_US]);
	add_total(object, "heat_bytes", &status[HEAT_BYTES]);
	add_bytes(object, "hot_target_bytes", figure_value(&status[HOT_TARGET_KB]) * 1024);
	add_total(object, "hot_from", &state->hot_from);
	json_add_rate(object, "samples_per_s", state->vm[SAMPLES].per_s, 1);
	json_add_rate(object, "discarded_per_s", state->vm[DISCARDED].per_s, 1);
	json_add_rate(object, "lost_per_s", state->vm[LOST].per_s, 1);
	json_add_rate(object, "fast_pct", state->fast_pct, 1);
}

static json_object *promotion_object(const struct state *state)
{
	const struct figure *told = state->promotion, *on = &state->knob[PROMOTE];
	json_object *object = json_object_new_object();

	json_object_object_add(object, "on", on->known ? json_object_new_boolean(on->value) : NULL);
	add_bytes(object, "most_bytes_per_s",
		  figure_value(&state->knob[PROMOTE_MB_PER_S]) * 1024 * 1024);
	add_bytes(object, "most_now_bytes_per_s", figure_value(&told[KB_PER_S_NOW]) * 1024);
	add_bytes(object, "queued_bytes", figure_value(&told[QUEUED]) * sysconf(_SC_PAGESIZE));
	add_pct(object, "returned_pct", &told[RETURNED_PERMILLE]);
	add_total(object, "past_bytes", &told[PAST_BYTES]);
	add_pages(object, "told_bytes_per_s", &state->vm[TOLD]);
	add_pages(object, "bytes_per_s", &state->vm[PROMOTED]);
	add_pages(object, "dropped_bytes_per_s", &state->vm[DROPPED]);
	add_pages(object, "returned_bytes_per_s", &state->vm[RETURNED]);
	json_object_object_add(object, "failed_bytes_per_s",
			       rates_object(&state->vm[FAILED], failed_names, NR_FAILED));
	return object;
}

/* The keys are the names in /proc/vmstat. */
static json_object *totals_object(const struct state *state)
{
	json_object *object = json_object_new_object();
	int i;

	for (i = 0; i < NR_VM; i++)
		add_total(object, vm_names[i], &state->vm[i]);
	return object;
}

/**
 * json_round - print a round
 * @state: after state_read()
 */
void json_round(const struct state *state)
{
	json_object *object = json_object_new_object(), *list;
	const char *note = state_note(state);
	int i;

	json_add_time(object, state->date_s);
	json_object_object_add(object, "note", note ? json_object_new_string(note) : NULL);
	json_object_object_add(object, "enabled", state->knob[ENABLED].known ?
			       json_object_new_boolean(state_is_on(state)) : NULL);
	json_object_object_add(object, "source", state->source[0] ?
			       json_object_new_string(state->source) : NULL);
	add_thread(object, state);
	json_object_object_add(object, "promotion", promotion_object(state));
	json_add_rate(object, "promoted_bytes_per_s", state->promoted_per_s,
		      1.0 / sysconf(_SC_PAGESIZE));
	json_object_object_add(object, "demoted_bytes_per_s",
			       rates_object(&state->vm[DEMOTED], demoted_names, NR_DEMOTED));
	list = json_object_new_array();
	for (i = 0; i < state->nr_tiers; i++)
		json_object_array_add(list, tier_object(&state->tier[i]));
	json_object_object_add(object, "tiers", list);
	list = json_object_new_array();
	for (i = 0; i < state->nr_events; i++)
		json_object_array_add(list, event_object(&state->event[i]));
	json_object_object_add(object, "events", list);
	json_object_object_add(object, "totals", totals_object(state));
	json_print(object);
}
