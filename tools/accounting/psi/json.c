// SPDX-License-Identifier: GPL-2.0
/*
 * Rounds as JSON: one line with an object for each group. Keys keep their meaning; they are
 * described in Documentation/accounting/psi-tools.rst.
 */
#include <stdio.h>

#include "json_number.h"
#include "output.h"
#include "tasks.h"
#include "units.h"

static json_object *new_string(const char *text)
{
	char valid[VALID_SIZE];

	return json_object_new_string(valid_utf8(text, valid));
}

static json_object *stall_object(const struct reading *reading, enum line line)
{
	static const char *const keys[NR_AVERAGES] = { "avg10_pct", "avg60_pct", "avg300_pct" };
	const struct stall *stall = &reading->pressure.line[line];
	json_object *object = json_object_new_object();
	int i;

	json_add_rate(object, "now_pct", reading->has_now ? reading->now_pct[line] : -1, 1);
	for (i = 0; i < NR_AVERAGES; i++)
		json_add_double(object, keys[i], stall->avg_pct[i]);
	json_add_u64(object, "total_us", stall->total_us);
	return object;
}

static json_object *reading_object(const struct reading *reading)
{
	json_object *object = json_object_new_object();
	int i;

	for (i = 0; i < NR_LINES; i++) {
		if (reading->pressure.line[i].present)
			json_object_object_add(object, line_names[i], stall_object(reading, i));
	}
	return object;
}

static json_object *cpu_cause(const struct causes *causes, int i)
{
	json_object *object = json_object_new_object();

	json_add_u64(object, "some_us", causes->cause[i].value[SOME_US]);
	json_add_u64(object, "full_us", causes->cause[i].value[FULL_US]);
	json_add_rate(object, "some_now_pct", cause_rate(causes, i, SOME_US), US_PER_S / 100.0);
	json_add_rate(object, "full_now_pct", cause_rate(causes, i, FULL_US), US_PER_S / 100.0);
	return object;
}

static json_object *memory_cause(const struct causes *causes, int i)
{
	const struct cause *cause = &causes->cause[i];
	json_object *object = json_object_new_object();

	json_object_object_add(object, "kind",
			       json_object_new_string(kind_names[cause_kind(cause)]));
	json_add_u64(object, "count", cause->value[COUNT]);
	json_add_u64(object, "total_us", cause->value[TOTAL_US]);
	json_add_u64(object, "max_us", cause->value[MAX_US]);
	json_add_rate(object, "now_per_s", cause_rate(causes, i, COUNT), 1);
	json_add_rate(object, "now_ms_per_s", cause_rate(causes, i, TOTAL_US), US_PER_MS);
	return object;
}

static void add_causes(json_object *object, const char *key, const struct causes *causes,
		       enum resource resource,
		       json_object *(*one)(const struct causes *causes, int i))
{
	json_object *all = json_object_new_object();
	int i;

	for (i = 0; i < causes->nr; i++) {
		if (causes->cause[i].of == resource)
			json_object_object_add(all, causes->cause[i].name, one(causes, i));
	}
	json_object_object_add(object, key, all);
}

/* For kernels without pressure.causes. */
static void add_throttled(json_object *object, struct tree *tree, struct group *group)
{
	const struct causes *stat = group_causes(tree, group, CPU_STAT);
	int i = stat ? find_cause(stat, "throttled_usec") : -1;

	if (i < 0)
		return;
	json_add_u64(object, "throttled_us", stat->cause[i].value[0]);
	json_add_rate(object, "throttled_now_ms_per_s", cause_rate(stat, i, 0), US_PER_MS);
}

static void add_all_causes(json_object *object, struct tree *tree, struct group *group)
{
	const struct causes *causes = group_causes(tree, group, ALL_CAUSES);
	uint64_t longest_us;

	if (!causes) {
		add_throttled(object, tree, group);
		return;
	}
	add_causes(object, "cpu_causes", causes, CPU, cpu_cause);
	add_causes(object, "memory_causes", causes, MEMORY, memory_cause);
	if (group_longest(tree, group, &longest_us))
		json_add_u64(object, "memory_longest_us", longest_us);
}

static json_object *task_object(const struct task *task)
{
	json_object *object = json_object_new_object();
	char key[32];
	int i;

	json_add_u64(object, "tid", task->delays.tid);
	json_object_object_add(object, "name", new_string(task->name));
	for (i = 0; i < NR_DELAYS; i++) {
		snprintf(key, sizeof(key), "%s_ms_per_s", delay_names[i]);
		if (task->delays.known & 1 << i)
			json_add_rate(object, key, task->rate_ms[i], 1);
	}
	return object;
}

static void add_tasks(json_object *object, struct tree *tree, struct group *group)
{
	const struct tasks *tasks = group_tasks(tree, group);
	json_object *all = json_object_new_array();
	int i;

	for (i = 0; i < tasks->nr; i++)
		json_object_array_add(all, task_object(tasks->task[i]));
	json_object_object_add(object, "tasks", all);
	if (tasks->nr_unread)
		json_add_u64(object, "tasks_unread", tasks->nr_unread);
}

static json_object *group_object(struct tree *tree, struct group *group,
				 const struct options *options)
{
	json_object *object = json_object_new_object();
	int i;

	json_add_time(object, tree->date_s);
	json_object_object_add(object, "group", new_string(shown_name(group)));
	for (i = 0; i < NR_RESOURCES; i++) {
		if (group->reading[i].state == GOOD)
			json_object_object_add(object, resource_names[i],
					       reading_object(&group->reading[i]));
	}
	if (options->causes)
		add_all_causes(object, tree, group);
	if (options->tasks)
		add_tasks(object, tree, group);
	return object;
}

/**
 * json_round - print an object for each group, in the order of the view
 * @tree:    after tree_sample()
 * @options: which groups to print, and whether with causes and tasks
 */
void json_round(struct tree *tree, struct options *options)
{
	struct view *view = &options->view;
	int i, nr = view_rows(view, tree, options->rows);

	for (i = 0; i < nr; i++)
		json_print(group_object(tree, view->row[i].group, options));
}
