// SPDX-License-Identifier: GPL-2.0
/*
 * what a group of several tasks says, held against what follows from the
 * scheduler's events: T * U / W of each two seconds, by when, and on which CPU, each task was
 * busy or kept waiting. The tasks rest in between, as most do.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define WINDOW_MS	10000
#define PERIOD_US	2000000
#define MOVE_MS		50
#define POINTS		3
#define MAX_TASKS	16
#define MAX_SPANS	65536

struct crowd {
	int nr;
	const char *disk;
	pid_t pids[MAX_TASKS];
};

static struct crowd *crowd;

/* ---- what the tasks do: something, perhaps something that takes a while, and nothing ---- */

static void read_and_rest(void *unused)
{
	int fd = open(crowd->disk, O_RDONLY | O_DIRECT);
	void *buf;

	if (fd < 0 || posix_memalign(&buf, 4096, 4096))
		return;
	for (;;) {
		burn_ms(1 + random_below(10));
		if (pread(fd, buf, 4096, 0) != 4096)
			return;
		pause_us(40000);
	}
}

static void work_and_rest(void *unused)
{
	for (;;) {
		spin_until(now_ns() + (5 + random_below(40)) * NSEC_PER_MSEC);
		pause_us(40000);
	}
}

/* ---- where they are ---- */

enum place { PINNED, FREE, MOVED };

static void move_all(void *arg)
{
	const struct crowd *c = arg;
	int i;

	for (;;) {
		for (i = 0; i < c->nr; i++)
			pin_task(c->pids[i], random_below(online_cpus()));
		sleep_ms(MOVE_MS);
	}
}

/* ---- the truth ---- */

/* A time in which a task did not rest, us. */
struct span {
	__u64 from;
	__u64 to;
	int cpu;
	bool stalled;
};

static struct span busy[MAX_SPANS], any[MAX_SPANS], stalled[MAX_SPANS];
static int nr_busy, nr_stalled;

enum doing { RESTS, RUNS, QUEUED, READS };

struct member {
	enum doing doing;
	int cpu;
	__u64 since;
};

/* What it has done until now is noted. */
static void goes_on(struct member *m, enum psi_resource res, __u64 now, enum doing next, int cpu)
{
	struct span s = { m->since, now, m->cpu };

	EXPECT(nr_busy < MAX_SPANS, "too much happens to be noted");
	s.stalled = m->doing == (res == PSI_IO ? READS : QUEUED);
	if (m->doing != RESTS && m->since)
		busy[nr_busy++] = s;
	if (s.stalled && m->since)
		stalled[nr_stalled++] = s;
	*m = (struct member) { next, cpu, now };
}

static int index_of(const char *event, const char *field)
{
	const char *at = strstr(event, field);
	pid_t pid = at ? atoi(at + strlen(field)) : 0;
	int i;

	for (i = 0; i < crowd->nr; i++)
		if (crowd->pids[i] == pid)
			return i;
	return -1;
}

static void switched(struct member *members, enum psi_resource res, __u64 now, int cpu,
		     const char *event)
{
	int prev = index_of(event, "prev_pid="), next = index_of(event, "next_pid=");
	const char *state = strstr(event, "prev_state=");
	enum doing doing = QUEUED;

	if (prev >= 0) {
		if (state[11] == 'D')
			doing = READS;
		else if (state[11] != 'R')
			doing = RESTS;
		goes_on(&members[prev], res, now, doing, cpu);
	}
	if (next >= 0)
		goes_on(&members[next], res, now, RUNS, cpu);
}

static void read_events(enum psi_resource res)
{
	struct member members[MAX_TASKS] = { };
	FILE *trace = fopen(TRACING "trace", "r");
	unsigned int seconds, us;
	char line[512], *event;
	int cpu, pid;
	__u64 now;

	EXPECT(trace, "no events");
	while (fgets(line, sizeof(line), trace)) {
		event = strstr(line, "] ");
		if (!event || sscanf(event - 3, "%d] %*s %u.%u:", &cpu, &seconds, &us) != 3)
			continue;
		now = seconds * 1000000ULL + us;
		if (strstr(event, "sched_switch:")) {
			switched(members, res, now, cpu, event);
		} else if (strstr(event, "sched_wakeup:")) {
			pid = index_of(event, " pid=");
			cpu = atoi(strstr(event, "target_cpu=") + 11);
			if (pid >= 0 && members[pid].doing != RUNS)
				goes_on(&members[pid], res, now, QUEUED, cpu);
		} else if (strstr(event, "sched_migrate_task:")) {
			pid = index_of(event, " pid=");
			cpu = atoi(strstr(event, "dest_cpu=") + 9);
			if (pid >= 0 && members[pid].doing == QUEUED)
				goes_on(&members[pid], res, now, QUEUED, cpu);
		}
	}
	fclose(trace);
}

/* By CPU, and then by time. */
static int in_order(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu - y->cpu;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* How long is any of these, of each CPU, between two times? They are in order. */
static double length_of(const struct span *spans, int nr, __u64 from, __u64 to)
{
	__u64 sum = 0, until = from, begin, end;
	int i;

	for (i = 0; i < nr; i++) {
		if (i && spans[i].cpu != spans[i - 1].cpu)
			until = from;
		begin = spans[i].from > until ? spans[i].from : until;
		end = spans[i].to < to ? spans[i].to : to;
		if (end <= begin)
			continue;
		sum += end - begin;
		until = end;
	}
	return sum;
}

/* What R-4 says of this time, of at most one period, us. */
static double stall_of(__u64 from, __u64 to)
{
	double t = length_of(stalled, nr_stalled, from, to);
	double w = length_of(busy, nr_busy, from, to);

	return w ? t * length_of(any, nr_busy, from, to) / w : 0;
}

static double true_stall(enum psi_resource res, __u64 from, __u64 to)
{
	double sum = 0;
	__u64 end;
	int i;

	nr_busy = 0;
	nr_stalled = 0;
	read_events(res);
	/* Of all CPUs, as if they were one. */
	for (i = 0; i < nr_busy; i++)
		any[i] = (struct span) { busy[i].from, busy[i].to };
	qsort(any, nr_busy, sizeof(*any), in_order);
	qsort(busy, nr_busy, sizeof(*busy), in_order);
	qsort(stalled, nr_stalled, sizeof(*stalled), in_order);
	for (; from < to; from = end) {
		end = from + PERIOD_US < to ? from + PERIOD_US : to;
		sum += stall_of(from, end);
	}
	return sum;
}

/* ---- cases ---- */

struct crowd_case {
	enum psi_resource res;
	int tasks;
	enum place place;
	bool watched;
};

static void read_all_the_time(void *name)
{
	const char *group = name;
	struct psi_sample sample;

	for (;;) {
		read_group(group, PSI_IO, &sample);
		read_group(group, PSI_CPU, &sample);
		pause_us(3000);
	}
}

static void stop_events(void)
{
	write_text(TRACING "events/enable", "0");
	write_text(TRACING "events/sched/sched_switch/filter", "0");
}

static void trace_setting(const char *file, const char *value)
{
	char path[128];
	int ret;

	snprintf(path, sizeof(path), TRACING "%s", file);
	ret = write_text(path, "%s", value);
	EXPECT(!ret, "%s: %s", file, strerror(-ret));
}

static void trace_tasks(void)
{
	need_tracing();
	undo_later(stop_events);
	trace_setting("trace_clock", "mono");
	trace_setting("buffer_size_kb", "2048");
	trace_setting("events/sched/sched_switch/filter",
		      "prev_comm == \"psi_crowd\" || next_comm == \"psi_crowd\"");
	trace_setting("events/sched/sched_wakeup/filter", "comm == \"psi_crowd\"");
	trace_setting("events/sched/sched_migrate_task/filter", "comm == \"psi_crowd\"");
	trace_setting("events/sched/sched_switch/enable", "1");
	trace_setting("events/sched/sched_wakeup/enable", "1");
	trace_setting("events/sched/sched_migrate_task/enable", "1");
	trace_setting("tracing_on", "1");
}

static void start_crowd(const struct crowd_case *c, const char *group)
{
	void (*fn)(void *) = c->res == PSI_IO ? read_and_rest : work_and_rest;
	int cpu = -1, i;

	crowd = shared_alloc(sizeof(*crowd));
	crowd->nr = c->tasks;
	if (c->res == PSI_IO) {
		crowd->disk = slow_disk(5);
		REQUIRE(crowd->disk, "needs null_blk with configfs");
	}
	for (i = 0; i < c->tasks; i++) {
		if (c->place == PINNED)
			cpu = i / 2 % online_cpus();
		crowd->pids[i] = start_in_group(group, cpu, fn, NULL);
	}
	if (c->place == MOVED)
		start_load(-1, move_all, crowd);
}

static enum psi_result told_truly(const void *arg)
{
	const struct crowd_case *c = arg;
	const char *group = make_group(NULL, "crowd");
	struct psi_sample from, to;
	double told, truth, ns;

	start_crowd(c, group);
	if (c->watched) {
		start_load(-1, read_all_the_time, (void *)group);
		EXPECT(add_trigger(group, c->res, "some 300000 500000") >= 0, "no trigger");
	}
	trace_tasks();
	sleep_ms(1000);
	EXPECT(!read_group(group, c->res, &from), "cannot be read");
	sleep_ms(WINDOW_MS);
	EXPECT(!read_group(group, c->res, &to), "cannot be read");
	trace_setting("tracing_on", "0");
	stop_all_loads();

	ns = to.before - from.before;
	told = (to.some.total - from.some.total) * 1e5 / ns;
	truth = true_stall(c->res, from.before / 1000, to.before / 1000) * 1e5 / ns;
	psi_note("told %.1f %%, in truth %.1f %%", told, truth);
	EXPECT(truth > 3, "too little happens to tell");
	EXPECT(close_to(told, truth, POINTS), "told %.1f %% of %.1f %%", told, truth);
	return PSI_PASS;
}

#define CASE(res, tasks, where, seen)						\
	.run_with = told_truly, .arg = &(const struct crowd_case) { res, tasks, where, seen }

static const struct psi_case cases[] = {
	{ "R-4 R-17 io, 2 tasks that are moved, watched", CASE(PSI_IO, 2, MOVED, true) },
	{ "R-4 io, 8 tasks that are moved", CASE(PSI_IO, 8, MOVED, false) },
	{ "R-4 io, 16 tasks", CASE(PSI_IO, 16, FREE, false) },
	{ "R-4 R-17 cpu, 8 tasks that are moved, watched", CASE(PSI_CPU, 8, MOVED, true) },
	{ "R-4 cpu, 8 tasks that stay", CASE(PSI_CPU, 8, PINNED, false) },
#define QUICK_CASES	5
	{ "R-4 io, 2 tasks that stay", CASE(PSI_IO, 2, PINNED, false) },
	{ "R-4 io, 2 tasks", CASE(PSI_IO, 2, FREE, false) },
	{ "R-4 R-17 io, 8 tasks that stay, watched", CASE(PSI_IO, 8, PINNED, true) },
	{ "R-4 io, 8 tasks", CASE(PSI_IO, 8, FREE, false) },
	{ "R-4 R-17 io, 16 tasks that are moved, watched", CASE(PSI_IO, 16, MOVED, true) },
	{ "R-4 cpu, 2 tasks that stay", CASE(PSI_CPU, 2, PINNED, false) },
	{ "R-4 cpu, 16 tasks that are moved", CASE(PSI_CPU, 16, MOVED, false) },
};

int main(int argc, char **argv)
{
	size_t nr = ARRAY_SIZE(cases);

	if (is_quick())
		nr = QUICK_CASES;
	return psi_main(argc, argv, cases, nr);
}
