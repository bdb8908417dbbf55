// SPDX-License-Identifier: GPL-2.0
/*
 * nothing of ours runs while the system is idle.
 *
 * Which timer, work item or thread that would be is the implementation's
 * business, so all of them are traced, and those that have psi in their names
 * are taken for it.
 *
 * No system is idle for long: the kernel has timers and threads that run every
 * few seconds, and what they do is folded into the totals afterwards, as it
 * should be. But it is folded once, and not again before something else has
 * run. The fewer such things there are the better; booting with
 * cgroup_disable=memory takes one away that comes every 2 s.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "psi_util.h"

#define TRACING		"/sys/kernel/tracing"
#define IDLE_MS		120000

/*
 * Folds for nothing, that is with no activity since the fold before. One may
 * come of activity that is too close to a fold to be told apart; a timer that
 * never stops makes many of them in 2 min.
 */
#define ALLOWED		1

/* Events this close together are of the same fold. */
#define SAME_FOLD_S	0.1

/* So often something else runs and yet leaves most periods idle. */
#define QUIET		(IDLE_MS / 3000)

/*
 * What keeps a system from being idle: kcompactd looks around twice a second,
 * statistics are brought up to date every second.
 */
static struct knob {
	const char *path, *quiet;
	char usual[32];
} knobs[] = {
	{ "/proc/sys/vm/compaction_proactiveness", "0" },
	{ "/proc/sys/vm/stat_interval", "3600" },
};

static void quieten(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		read_text(knobs[i].path, knobs[i].usual,
			  sizeof(knobs[i].usual));
		write_text(knobs[i].path, "%s", knobs[i].quiet);
	}
}

static void make_usual(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		write_text(knobs[i].path, "%s", knobs[i].usual);
}

static const char * const events[] = {
	"timer/timer_expire_entry",
	"timer/hrtimer_expire_entry",
	"workqueue/workqueue_execute_start",
	"sched/sched_switch",
};

static int trace(const char *what)
{
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACING "/events/%s/enable",
			 events[i]);
		if (write_text(path, "%s", what))
			return -1;
	}
	return 0;
}

enum kind { NOTHING, OURS, OTHER };

/* What follows @key in @line: is it something of ours? */
static bool is_psi(const char *line, const char *key)
{
	const char *value = strstr(line, key);

	return value && !strncmp(value + strlen(key), "psi", 3);
}

/* A worker or a timer by what it calls, any other task by its name. */
static enum kind classify(const char *line)
{
	if (is_psi(line, "function=") || is_psi(line, "function ") ||
	    is_psi(line, "next_comm="))
		return OURS;
	if (strstr(line, "workqueue_execute_start"))
		return OTHER;
	if (strstr(line, "next_comm=") && !strstr(line, "next_comm=swapper") &&
	    !strstr(line, "next_comm=kworker"))
		return OTHER;
	return NOTHING;
}

/* A line is "task-pid [cpu] flags seconds: event: ...". */
static double seconds(const char *line)
{
	const char *at = strstr(line, "] ");
	double value;

	return at && sscanf(at + 2, "%*s %lf", &value) == 1 ? value : 0;
}

struct counts {
	int folds, for_nothing, others;
};

static struct counts count(char *text)
{
	struct counts counts = { 0 };
	enum kind kind, last = OTHER;
	double now, before = 0;
	char *line, *save;
	int in_a_row = 0;

	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		kind = *line == '#' ? NOTHING : classify(line);
		if (kind == NOTHING)
			continue;
		now = seconds(line);
		if (kind == OTHER) {
			counts.others += last != OTHER;
			in_a_row = 0;
		} else if (last == OTHER || now - before > SAME_FOLD_S) {
			counts.folds++;
			counts.for_nothing += ++in_a_row > 1;
			before = now;
		}
		last = kind;
	}
	return counts;
}

static enum psi_result trace_idle_time(void)
{
	static char text[1 << 20];
	struct counts counts;

	EXPECT(!trace("1") && !write_text(TRACING "/trace", "\n"),
	       "cannot trace");
	sleep_ms(IDLE_MS);
	EXPECT(!trace("0"), "cannot stop tracing");
	EXPECT(read_text(TRACING "/trace", text, sizeof(text)) > 0,
	       "no trace");

	EXPECT(strstr(text, "timer"), "the trace is empty");
	counts = count(text);
	psi_note("in %d s %d folds, %d of them for nothing; active %d times",
		 IDLE_MS / 1000, counts.folds, counts.for_nothing,
		 counts.others);
	EXPECT(counts.for_nothing <= ALLOWED, "more than %d", ALLOWED);
	REQUIRE(counts.others <= QUIET, "that is not idle");
	return PSI_PASS;
}

static enum psi_result nothing_runs(void)
{
	/* Every line names the task that was interrupted. */
	prctl(PR_SET_NAME, "idle-test");
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	REQUIRE(!access(TRACING "/events/workqueue", F_OK),
		"needs trace events");
	quieten();
	undo_later(make_usual);
	sleep_ms(5000);
	return trace_idle_time();
}

static const struct psi_case cases[] = {
	{ "R-5 nothing of psi runs while the system is idle", nothing_runs },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
