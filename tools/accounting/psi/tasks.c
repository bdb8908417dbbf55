// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks of a group are delayed. The wait for a CPU is in /proc, and everybody may read
 * it; other delays are what taskstats tell.
 *
 * Nothing of this is opened before somebody asks for tasks. A task is read at most once in a
 * round, however many groups it belongs to.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tasks.h"
#include "units.h"

#define NS_PER_MS	1e6

static bool read_proc(const struct tasks *tasks, const char *dir, const char *file, char *text)
{
	int fd = open_below(tasks->proc_fd, dir, file, O_RDONLY);
	bool done;

	if (fd < 0)
		return false;
	done = read_whole(fd, text);
	close(fd);
	return done;
}

static struct tasks *first_use(const struct tree *tree)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		err(1, "no memory for the tasks");
	tasks->proc_fd = open(tree->source->proc_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tasks->taskstats.fd = -1;
	return tasks;
}

static int compare_tids(const void *left, const void *right)
{
	const struct task *a = left, *b = right;

	return a->delays.tid < b->delays.tid ? -1 : a->delays.tid > b->delays.tid;
}

static struct task *find_task(void *const *root, pid_t tid)
{
	const struct task key = { .delays.tid = tid };
	struct task **found = tfind(&key, root, compare_tids);

	return found ? *found : NULL;
}

static void begin_round(struct tasks *tasks, unsigned int round)
{
	char text[TEXT_SIZE];

	if (tasks->round == round)
		return;
	/* Kernels before 5.14 do not tell. */
	tasks->off = read_proc(tasks, "/sys/kernel", "task_delayacct", text) && text[0] == '0';
	if (!tasks->off && tasks->taskstats.fd < 0 && !tasks->taskstats.error)
		taskstats_open(&tasks->taskstats);
	tdestroy(tasks->before, free);
	tasks->before = tasks->now;
	tasks->now = NULL;
	if (tasks->round != round - 1) {
		tdestroy(tasks->before, free);
		tasks->before = NULL;
	}
	tasks->round = round;
	tasks->nr_read = 0;
}

/* Return: NULL if the task went. */
static struct task *read_task(struct tasks *tasks, pid_t tid)
{
	char dir[32], text[TEXT_SIZE];
	unsigned long long cpu_ns;
	struct task *task;

	snprintf(dir, sizeof(dir), "/%d", tid);
	if (!read_proc(tasks, dir, "comm", text))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task)
		err(1, "no memory for the tasks");
	task->delays.tid = tid;
	if (!tsearch(task, &tasks->now, compare_tids))
		err(1, "no memory for the tasks");
	text[strcspn(text, "\n")] = '\0';
	snprintf(task->name, sizeof(task->name), "%.*s", TASK_NAME_SIZE - 1, text);
	task->at_s = now_s();
	if (read_proc(tasks, dir, "schedstat", text) && sscanf(text, "%*u %llu", &cpu_ns) == 1) {
		task->delays.total_ns[DELAY_CPU] = cpu_ns;
		task->delays.known = 1 << DELAY_CPU;
	}
	tasks->nr_read++;
	tasks->fresh[tasks->nr_fresh++] = &task->delays;
	return task;
}

static void add_task(struct tasks *tasks, pid_t tid)
{
	struct task *task = find_task(&tasks->now, tid);

	if (!task && tasks->nr_read == MAX_TASKS) {
		tasks->nr_unread++;
		return;
	}
	if (!task)
		task = read_task(tasks, tid);
	/* A file may name a task twice if it moves meanwhile. */
	if (!task || task->list == tasks->list)
		return;
	task->list = tasks->list;
	tasks->task[tasks->nr++] = task;
}

static void add_tasks(struct tree *tree, const struct group *group)
{
	int fd = open_below(tree->source->cgroup_fd, group->dir, "cgroup.threads", O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	pid_t tid;
	int i;

	while (file && fscanf(file, "%d", &tid) == 1) {
		/* 0 is a task of another PID namespace. */
		if (tid > 0)
			add_task(tree->tasks, tid);
	}
	if (file)
		fclose(file);
	for (i = 0; i < group->nr_children; i++)
		add_tasks(tree, group->child[i]);
}

static void set_rates(struct tasks *tasks, struct task *task)
{
	const struct task *before = find_task(&tasks->before, task->delays.tid);
	double span_s = before ? task->at_s - before->at_s : 0;
	uint64_t from_ns, to_ns;
	int i;

	task->sum_ms = 0;
	for (i = 0; i < NR_DELAYS; i++) {
		task->rate_ms[i] = -1;
		if (span_s <= 0 || !(task->delays.known & before->delays.known & 1 << i))
			continue;
		from_ns = before->delays.total_ns[i];
		to_ns = task->delays.total_ns[i];
		/* A smaller total is that of another task. */
		if (to_ns < from_ns)
			continue;
		task->rate_ms[i] = (to_ns - from_ns) / NS_PER_MS / span_s;
		task->sum_ms += task->rate_ms[i];
		tasks->compared = true;
	}
}

static int compare_delays(const void *left, const void *right)
{
	const struct task *a = *(struct task **)left, *b = *(struct task **)right;

	if (a->sum_ms != b->sum_ms)
		return a->sum_ms > b->sum_ms ? -1 : 1;
	return compare_tids(a, b);
}

/**
 * group_tasks - read the tasks of a group and its descendants
 * @tree:  the tree of the group
 * @group: the group
 *
 * Delays per second are known of tasks that were read in the previous round, too.
 *
 * Return: the tasks, up to the next call.
 */
const struct tasks *group_tasks(struct tree *tree, struct group *group)
{
	struct tasks *tasks = tree->tasks;
	int i;

	if (!tasks) {
		tasks = first_use(tree);
		tree->tasks = tasks;
	}
	begin_round(tasks, tree->round);
	tasks->list++;
	tasks->nr = 0;
	tasks->nr_unread = 0;
	tasks->nr_fresh = 0;
	tasks->compared = false;
	add_tasks(tree, group);
	if (!tasks->off)
		taskstats_read(&tasks->taskstats, tasks->fresh, tasks->nr_fresh);
	for (i = 0; i < tasks->nr; i++)
		set_rates(tasks, tasks->task[i]);
	qsort(tasks->task, tasks->nr, sizeof(*tasks->task), compare_delays);
	return tasks;
}

/**
 * tasks_note - say why not all delays are known
 * @tree: the tree of the groups
 *
 * Return: a sentence for the user; NULL if they are known, or nobody asked for tasks.
 */
const char *tasks_note(const struct tree *tree)
{
	const struct tasks *tasks = tree->tasks;

	if (!tasks)
		return NULL;
	if (tasks->off)
		return "only cpu delays are known: sysctl kernel.task_delayacct=1";
	if (tasks->taskstats.error == EPERM)
		return "only cpu delays are known: others take CAP_NET_ADMIN";
	if (tasks->taskstats.error)
		return "only cpu delays are known: others take a kernel with CONFIG_TASKSTATS";
	return NULL;
}
