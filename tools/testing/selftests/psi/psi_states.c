// SPDX-License-Identifier: GPL-2.0
/*
 * The trace events psi_state_begin and psi_state_end: do they tell what the files show?
 */
#include <string.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define WATCH_MS	2000

/* Percent. Reading the files, and switching the events, takes a moment. */
#define TOLERANCE	1.0

/* All events of one group. What begins while we see it ends while we do. */
static void start_tracing(const char *group)
{
	stop_tracing();
	EXPECT(!write_text(PSI_EVENTS "psi_state_begin/filter", "group == %llu", group_id(group)) &&
	       !write_text(PSI_EVENTS "psi_state_end/filter", "group == %llu", group_id(group)) &&
	       !write_text(PSI_EVENTS "psi_state_end/enable", "1") &&
	       !write_text(PSI_EVENTS "psi_state_begin/enable", "1"), "cannot trace");
}

/* ---- what the events say ---- */

struct traced {
	double seconds;		/* that the state lasted */
	double begun;		/* when; 0 if it does not last */
	unsigned int begins, ends;
};

/* "task-12 [000] d.... 1.234567: psi_state_begin: group=12 cpu=0 state=cpu_some" */
static void add_event(struct traced *t, const char *line, const char *state)
{
	const char *event = strstr(line, ": psi_state_"), *at = event;
	char name[32];
	double time;

	if (!event || sscanf(strstr(event, "state=") ?: "", "state=%31s", name) != 1 ||
	    strcmp(name, state))
		return;
	while (at > line && at[-1] != ' ')
		at--;
	EXPECT(sscanf(at, "%lf", &time) == 1, "no time: %s", line);

	if (strstr(event, "psi_state_begin")) {
		EXPECT(!t->begun, "it begins twice: %s", line);
		t->begins++;
		t->begun = time;
		return;
	}
	t->ends++;
	if (t->begun)
		t->seconds += time - t->begun;
	t->begun = 0;
}

static struct traced read_trace(const char *state)
{
	struct traced t = { };
	char line[512];
	FILE *trace = fopen(TRACING "trace", "r");

	EXPECT(trace, "no trace");
	while (fgets(line, sizeof(line), trace))
		add_event(&t, line, state);
	fclose(trace);
	psi_note("%s: %u begins, %u ends, %.3f s", state, t.begins, t.ends, t.seconds);
	return t;
}

/* ---- the cases ---- */

/* Wants the CPU for a while, again and again. */
static void come_and_go(void *unused)
{
	for (;;) {
		burn_ms(7);
		sleep_ms(10);
	}
}

/* @group is in the state cpu some for as long as the events say. */
static void expect_traced(const char *group, const char *where)
{
	struct psi_sample from, to;
	struct traced t;
	double shown;

	pin_to_cpu(online_cpus() - 1);
	start_in_group(where, 0, come_and_go, NULL);
	start_in_group(where, 0, come_and_go, NULL);
	sleep_ms(200);
	start_tracing(group);
	EXPECT(!read_group(group, PSI_CPU, &from), "no cpu.pressure");
	sleep_ms(WATCH_MS);
	EXPECT(!read_group(group, PSI_CPU, &to), "no cpu.pressure");
	write_text(PSI_EVENTS "psi_state_begin/enable", "0");
	stop_all_loads();
	write_text(PSI_EVENTS "psi_state_end/enable", "0");

	t = read_trace("cpu_some");
	EXPECT(t.begins > 20 && t.ends > 20, "too few events");
	shown = (to.some.total - from.some.total) / 1e6;
	EXPECT(close_to(100 * t.seconds / (WATCH_MS / 1e3), 100 * shown / (WATCH_MS / 1e3),
			TOLERANCE), "%.3f s, the file says %.3f s", t.seconds, shown);
}

static enum psi_result one_group(void)
{
	const char *group;

	need_tracing();
	group = make_group(NULL, "g");
	expect_traced(group, group);
	return PSI_PASS;
}

/* The tasks are further down: it is in the state of its only child. */
static enum psi_result above_the_tasks(void)
{
	const char *group;

	need_tracing();
	group = make_group(NULL, "g");
	expect_traced(group, make_group(make_group(group, "below"), "below"));
	return PSI_PASS;
}

/* ---- what it costs ---- */

#define TURNS	100

/* Two tasks that wake each other, and how long the shortest round took. */
struct pair {
	int there[2], back[2];
	atomic_ullong rounds, shortest_ns;
};

static bool pass_on(const int *from, const int *to)
{
	char c;

	return read(from[0], &c, 1) == 1 && write(to[1], &c, 1) == 1;
}

static void answer(void *arg)
{
	const struct pair *p = arg;

	while (pass_on(p->there, p->back))
		;
}

static void ask(void *arg)
{
	struct pair *p = arg;
	__u64 begun, ns;
	int turn;

	if (write(p->there[1], "", 1) != 1)
		return;
	for (;;) {
		begun = now_ns();
		for (turn = 0; turn < TURNS; turn++)
			if (!pass_on(p->back, p->there))
				return;
		ns = now_ns() - begun;
		if (!p->shortest_ns || ns < p->shortest_ns)
			p->shortest_ns = ns;
		p->rounds++;
	}
}

static __u64 turns_ns(struct pair *p)
{
	/* One round has begun before. */
	p->rounds = 0;
	EXPECT(wait_until(p->rounds > 0, 10000), "nobody takes turns");
	p->rounds = 0;
	p->shortest_ns = 0;
	EXPECT(wait_until(p->rounds > 300, 10000), "nobody takes turns");
	return p->shortest_ns;
}

/* Nobody tells what states there are when they are no longer asked for: no time is lost. */
static enum psi_result off(void)
{
	struct pair *p = shared_alloc(sizeof(*p));
	__u64 before, traced, after;
	const char *group;

	need_tracing();
	group = make_group(NULL, "g");
	EXPECT(!pipe(p->there) && !pipe(p->back), "no pipe");
	pin_to_cpu(online_cpus() - 1);
	start_in_group(group, 0, answer, p);
	start_in_group(group, 0, ask, p);

	before = turns_ns(p);
	/* The events of another group, so that nothing is written down. */
	start_tracing(make_group(NULL, "other"));
	traced = turns_ns(p);
	stop_tracing();
	after = turns_ns(p);
	psi_note("%d turns: %llu ns, traced %llu, thereafter %llu", TURNS, before, traced, after);
	REQUIRE(traced > before + before / 50, "too little to tell");
	EXPECT(after < before + (traced - before) / 8, "something is done that nobody asks for");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-3 states that begin and end are traced", one_group },
	{ "R-3 states of a group above the tasks are traced", above_the_tasks },
	{ "R-3 nothing is done for traces unless somebody asks for it", off },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
