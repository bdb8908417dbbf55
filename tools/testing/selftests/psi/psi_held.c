// SPDX-License-Identifier: GPL-2.0
/*
 * tasks that block, wake up, move, change their class or die while a cpu.max holds their
 * group back. What pressure.causes says of cpu is held against what the tasks measure
 * themselves, or against what must be.
 *
 * Loads are on CPU 0. The watcher is on the last one, which is the same one if there is
 * only one.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define NO_CPU_MAX	"needs the cpu controller, with CONFIG_CFS_BANDWIDTH"

enum cause { CONTENTION, QUOTA, NR_CAUSES };

static const char * const cause_names[NR_CAUSES] = { "contention", "quota" };

/* us */
struct causes {
	__u64 some[NR_CAUSES], full[NR_CAUSES];
};

static struct causes read_causes(const char *group)
{
	char path[GROUP_PATH], text[2048], key[32];
	struct causes c;
	int i;

	EXPECT(read_text(group_file(path, group, "pressure.causes"), text, sizeof(text)) > 0,
	       "cannot read %s", path);
	for (i = 0; i < NR_CAUSES; i++) {
		snprintf(key, sizeof(key), "cpu.%s some=", cause_names[i]);
		c.some[i] = number_after(text, key);
		c.full[i] = number_after(strstr(text, key) ?: "", "full=");
	}
	return c;
}

/* A group with a cpu.max. */
static const char *make_limited(const char *cpu_max)
{
	const char *group = make_group(NULL, "limited");

	REQUIRE(!enable_controller(group, "+cpu") &&
		!set_cgroup(group, "cpu.max", cpu_max), NO_CPU_MAX);
	pin_to_cpu(online_cpus() - 1);
	return group;
}

/* ---- against what tasks measure ---- */

#define WORKERS		3
#define MAX_SPANS	8192
#define WORK_MS		4000
#define SETTLE_MS	2100		/* until then it is provisional */

/* A task that has not looked at the clock for so long was off the CPU, ns. */
#define GAP_NS		300000
#define STEP_NS		20000

/*
 * Percent of WORK_MS. What the kernel does for a task, from its wakeup until it runs in user
 * mode or is held back, the task takes for waiting: 2.2 % where an instruction takes 8 ns,
 * 0.6 % at 2 ns.
 */
#define TOLERANCE	1.0

struct span {
	__u64 from, to;
};

struct spans {
	unsigned int nr, at;
	struct span span[MAX_SPANS];
};

/* When a task wanted the CPU, and when it had it. */
struct worker {
	struct spans wants, has;
	const char *group;
	atomic_int done;
	__u64 begin, end;
};

/* ns */
struct truth {
	__u64 some[NR_CAUSES];
};

static struct span *begin_span(struct spans *s, __u64 from)
{
	struct span *span = &s->span[s->nr];

	if (s->nr < MAX_SPANS - 1)
		s->nr++;
	*span = (struct span){ from, from };
	return span;
}

/* Wants the CPU since @from, until it has had it for so long. */
static __u64 work_for(struct worker *w, __u64 from, __u64 ns)
{
	struct span *wants = begin_span(&w->wants, from), *has = begin_span(&w->has, from);
	__u64 last = from, now, had = 0;

	while (had < ns) {
		now = now_ns();
		if (now - last > GAP_NS) {
			has->to = last;
			has = begin_span(&w->has, now);
		} else {
			had += now - last;
		}
		last = now;
	}
	wants->to = last;
	has->to = last;
	return last;
}

/* Blocks before the quota is used up, just when it is, or after it was. */
static void work_and_sleep(void *worker)
{
	struct worker *w = worker;
	__u64 wakeup = w->begin, work, rest;

	prctl(PR_SET_TIMERSLACK, 1);
	while (wakeup < w->end) {
		work = random_below(5000) * NSEC_PER_USEC;
		rest = random_below(15000) * NSEC_PER_USEC;
		sleep_until(wakeup);
		wakeup = work_for(w, wakeup, work) + rest;
	}
	w->done = 1;
	for (;;)
		pause();
}

/* To be asked for later and later times. */
static bool is_in(struct spans *s, __u64 ns)
{
	while (s->at < s->nr && s->span[s->at].to <= ns)
		s->at++;
	return s->at < s->nr && s->span[s->at].from <= ns;
}

/*
 * Nobody else is on the CPU: a worker that waits while one of them runs contends, else it is
 * held back. The last one of @truth is of all of them.
 */
static void find_truth(struct worker *workers, struct truth *truth)
{
	bool waits[WORKERS + 1], runs, wants, has;
	__u64 ns;
	int i;

	for (ns = workers->begin; ns < workers->end + NSEC_PER_SEC; ns += STEP_NS) {
		runs = false;
		waits[WORKERS] = false;
		for (i = 0; i < WORKERS; i++) {
			wants = is_in(&workers[i].wants, ns);
			has = is_in(&workers[i].has, ns);
			waits[i] = wants && !has;
			waits[WORKERS] |= waits[i];
			runs |= has;
		}
		for (i = 0; i <= WORKERS; i++)
			truth[i].some[runs ? CONTENTION : QUOTA] += waits[i] ? STEP_NS : 0;
	}
}

static double percent(__u64 ns)
{
	return 100.0 * ns / (WORK_MS * NSEC_PER_MSEC);
}

static bool is_true(const char *group, bool alone, const struct causes *from,
		    const struct truth *truth)
{
	struct causes to = read_causes(group);
	double some[NR_CAUSES], full[NR_CAUSES], should;
	__u64 sum_some = 0, sum_full = 0;
	struct psi_sample sample;
	bool good = true;
	int c;

	for (c = 0; c < NR_CAUSES; c++) {
		sum_some += to.some[c];
		sum_full += to.full[c];
		some[c] = percent((to.some[c] - from->some[c]) * NSEC_PER_USEC);
		full[c] = percent((to.full[c] - from->full[c]) * NSEC_PER_USEC);
		should = percent(truth->some[c]);
		good &= close_to(some[c], should, TOLERANCE) &&
			close_to(full[c], alone || c == QUOTA ? should : 0, TOLERANCE);
		psi_note("%s: %s %.2f %.2f, measured %.2f %%%s", strrchr(group, '/') + 1,
			 cause_names[c], some[c], full[c], should, good ? "" : ", wrong");
	}

	EXPECT(!read_group(group, PSI_CPU, &sample), "no cpu.pressure in %s", group);
	/* Each line is cut to microseconds. */
	EXPECT(sum_some <= sample.some.total && sum_some + NR_CAUSES >= sample.some.total &&
	       sum_full <= sample.full.total && sum_full + NR_CAUSES >= sample.full.total,
	       "%s: %llu and %llu us, should add up to %llu and %llu", group, sum_some, sum_full,
	       sample.some.total, sample.full.total);
	return good;
}

/* Each of them in a group of its own: its states are those of the task. */
static enum psi_result run_workers(const void *arg)
{
	const bool *task_groups = arg;
	const char *limited = make_limited("5000 20000");
	struct worker *w = shared_alloc(WORKERS * sizeof(*w));
	struct truth truth[WORKERS + 1] = { };
	struct causes from[WORKERS + 1];
	__u64 begin = now_ns() + 500 * NSEC_PER_MSEC;
	bool good = true;
	char name[32];
	int i;

	for (i = 0; i < WORKERS; i++) {
		sprintf(name, "limited/%d", i);
		w[i].group = make_group(NULL, name);
		w[i].begin = begin;
		w[i].end = begin + WORK_MS * NSEC_PER_MSEC;
	}
	EXPECT(!*task_groups || !enable_controller(w[0].group, "+cpu"), "no cpu controller");
	for (i = 0; i < WORKERS; i++)
		start_in_group(w[i].group, 0, work_and_sleep, &w[i]);
	EXPECT(now_ns() < begin, "too late");

	sleep_until(begin - NSEC_PER_MSEC);
	for (i = 0; i < WORKERS; i++)
		from[i] = read_causes(w[i].group);
	from[WORKERS] = read_causes(limited);
	sleep_until(begin + WORK_MS * NSEC_PER_MSEC);
	for (i = 0; i < WORKERS; i++)
		EXPECT(wait_until(w[i].done, 1000), "a task goes on");
	sleep_ms(SETTLE_MS);

	find_truth(w, truth);
	for (i = 0; i < WORKERS; i++)
		good &= is_true(w[i].group, true, &from[i], &truth[i]);
	good &= is_true(limited, false, &from[WORKERS], &truth[WORKERS]);
	EXPECT(good, "not what the tasks have measured");
	return PSI_PASS;
}

/* ---- changes while a group is held back ---- */

static struct {
	const char *limited, *free;
	pid_t task, sleeper, rival;
} held;

/* Ahead of all but the watcher, once it is told to go on. */
static void be_a_rival(void *unused)
{
	be_realtime(2);
	raise(SIGSTOP);
	spin(NULL);
}

/* It will be killed, which start_load() takes for a failure. */
static pid_t start_sleeper(const char *group)
{
	pid_t pid = fork();

	EXPECT(pid >= 0, "cannot fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin_to_cpu(0);
		for (;;)
			pause();
	}
	EXPECT(!move_to_group(group, pid), "cannot move");
	return pid;
}

static void set_class(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	EXPECT(!sched_setscheduler(held.task, policy, &param), "cannot change the class");
}

/* To move a task may take an RCU grace period, for which others have to run now and then. */
static void rival_is_fair(void)
{
	struct sched_param param = { };

	EXPECT(!sched_setscheduler(held.rival, SCHED_OTHER, &param), "cannot change the class");
}

static void nothing(void) { }
static void rival_runs(void) { kill(held.rival, SIGCONT); }
static void real_time(void) { set_class(SCHED_FIFO, 1); }
static void fair_again(void) { set_class(SCHED_OTHER, 0); }
static void leaves(void) { EXPECT(!move_to_group(held.free, held.task), "cannot move"); }
static void comes_back(void) { EXPECT(!move_to_group(held.limited, held.task), "cannot move"); }
static void comes_new(void) { start_in_group(held.limited, 0, spin, NULL); }
static void sleeper_dies(void) { kill(held.sleeper, SIGKILL); }

/* A task of a group that is held back, later more of them, and a rival: percent. */
static const struct {
	const char *what;
	void (*change)(void);
	double should[NR_CAUSES];
} steps[] = {
	{ "is held back", nothing, { 0, 100 } },
	{ "a rival runs", rival_runs, { 0, 100 } },
	{ "is of real time", real_time, { 100, 0 } },
	{ "is fair again", fair_again, { 0, 100 } },
	{ "the rival is fair", rival_is_fair, { 0, 100 } },
	{ "leaves the group, and shares", leaves, { 50, 0 } },
	{ "comes back", comes_back, { 0, 100 } },
	{ "another one sleeps there, and is killed", sleeper_dies, { 0, 100 } },
	{ "a new one comes", comes_new, { 0, 100 } },
};

#define STEP_MS		60

static void rest(void)
{
	be_realtime(0);
}

static __u64 times_throttled(const char *group)
{
	char path[GROUP_PATH], text[1024];

	EXPECT(read_text(group_file(path, group, "cpu.stat"), text, sizeof(text)) > 0,
	       "cannot read %s", path);
	return number_after(text, "nr_throttled ");
}

static enum psi_result changes(void)
{
	struct causes from, to;
	bool good = true;
	__u64 times, begin;
	double is;
	size_t i;
	int c;

	held.limited = make_limited("20000 1000000");
	held.free = make_group(NULL, "free");
	undo_later(rest);
	be_realtime(3);
	held.rival = start_load(0, be_a_rival, NULL);
	held.sleeper = start_sleeper(held.limited);
	held.task = start_in_group(held.limited, 0, spin, NULL);

	/* nr_throttled grows when the next period begins, of which all of the steps are. */
	times = times_throttled(held.limited);
	EXPECT(wait_until(times_throttled(held.limited) > times, 3000), "is not throttled");
	sleep_ms(40);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		steps[i].change();
		begin = now_ns();
		from = read_causes(top_group());
		sleep_ms(STEP_MS);
		to = read_causes(top_group());
		for (c = 0; c < NR_CAUSES; c++) {
			is = 100.0 * (to.some[c] - from.some[c]) * NSEC_PER_USEC /
			     (now_ns() - begin);
			good &= close_to(is, steps[i].should[c], 10);
			psi_note("%s: %s %.2f of %.2f %%%s", steps[i].what, cause_names[c], is,
				 steps[i].should[c], good ? "" : ", wrong");
		}
	}
	EXPECT(times_throttled(held.limited) == times + 1, "another period has begun");
	EXPECT(good, "not what it should be");

	/* It dies when it is not held back any more. */
	stop_all_loads();
	EXPECT(waitpid(held.sleeper, NULL, 0) == held.sleeper, "is not dead");
	expect_still(top_group());
	return PSI_PASS;
}

/* ---- a limit that goes ---- */

#define ROUNDS		20
#define WAIT_MS		20

static struct {
	int pipe[2];
	__u64 until;		/* is to run until then */
} *sleeper;

static void run_when_told(void *unused)
{
	char c;

	while (read(sleeper->pipe[0], &c, 1) == 1)
		spin_until(sleeper->until);
}

static void wake(__u64 until)
{
	sleeper->until = until;
	EXPECT(write(sleeper->pipe[1], "", 1) == 1, "cannot write");
}

/*
 * A task blocks when its group is throttled, or just before or after that, and sleeps when
 * the last limit that there is goes. From then on there is no quota, whatever waits.
 */
static enum psi_result limit_goes(void)
{
	const char *limited = make_limited("max");
	struct causes from, to;
	pid_t rival;
	int i;

	undo_later(rest);
	be_realtime(3);
	sleeper = shared_alloc(sizeof(*sleeper));
	EXPECT(!pipe(sleeper->pipe), "no pipe");
	rival = start_load(0, be_a_rival, NULL);
	start_in_group(limited, 0, run_when_told, NULL);
	/* It began on another CPU: while that is in the same period, totals are provisional. */
	sleep_ms(SETTLE_MS);

	for (i = 0; i < ROUNDS; i++) {
		sleep_ms(30);
		EXPECT(!set_cgroup(limited, "cpu.max", "5000 50000"), "cpu.max");
		/* A tick comes each 4 ms or more often, and finds that the 5 ms are over. */
		wake(now_ns() + 5 * NSEC_PER_MSEC + random_below(4000) * NSEC_PER_USEC);
		sleep_ms(20);
		EXPECT(!set_cgroup(limited, "cpu.max", "max"), "cpu.max");

		/* It may not have blocked yet. */
		sleep_ms(10);
		from = read_causes(limited);
		kill(rival, SIGCONT);
		wake(0);
		sleep_ms(WAIT_MS);
		kill(rival, SIGSTOP);
		to = read_causes(limited);
		EXPECT(to.some[QUOTA] == from.some[QUOTA] &&
		       to.some[CONTENTION] - from.some[CONTENTION] > WAIT_MS / 2 * 1000,
		       "round %d: contention %llu us, quota %llu us of %u ms", i,
		       to.some[CONTENTION] - from.some[CONTENTION],
		       to.some[QUOTA] - from.some[QUOTA], WAIT_MS);
	}
	return PSI_PASS;
}

static const bool no_task_groups = false, with_task_groups = true;

static const struct psi_case cases[] = {
	/* The first one: a group that is removed with its cpu.max counts as one for ever. */
	{ "R-19 the last limit goes while its task sleeps", limit_goes },
	{ "R-19 tasks that block and wake up while throttled", .run_with = run_workers,
	  .arg = &no_task_groups },
	{ "R-19 the same in task groups of their own", .run_with = run_workers,
	  .arg = &with_task_groups },
	{ "R-19 R-14 what else happens to a task that is held back", changes },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
