// SPDX-License-Identifier: GPL-2.0
/*
 * CPU pressure of the system with loads whose answer is known beforehand. What tasks of
 * one CPU show, psi_cgroup has for groups.
 */
#include "psi_cgroup_util.h"

/*
 * Percent. What else runs on the system for a moment (a kworker, this program
 * when it wakes up) waits for a CPU or makes one wait, and weighs in as a busy
 * CPU. That is a few wakeups a second of less than a tick each.
 */
#define TOLERANCE	2.0

#define WATCH_MS	4000

/* So many tasks on each of four CPUs, and what the system shows. */
struct cpu_case {
	int tasks[4];
	int watcher;		/* where waiting for a CPU is nothing new, or that is left */
	double some;
};

static enum psi_result run_cpu_case(const void *arg)
{
	const struct cpu_case *c = arg;
	struct psi_share share;
	int cpu, task;

	for (cpu = 0; cpu < 4; cpu++)
		for (task = 0; task < c->tasks[cpu]; task++)
			start_load(cpu, spin, NULL);
	pin_to_cpu(c->watcher);
	settle();
	share = psi_watch(PSI_CPU, WATCH_MS);
	EXPECT(close_to(share.some, c->some, TOLERANCE),
	       "expected %.0f %% +- %.0f", c->some, TOLERANCE);
	return PSI_PASS;
}

static const struct cpu_case three_on_four = { { 1, 1, 1, 0 }, 3, 0 };
static const struct cpu_case five_on_four = { { 2, 1, 1, 1 }, 0, 25 };
static const struct cpu_case six_on_four = { { 2, 2, 1, 1 }, 0, 50 };
static const struct cpu_case two_of_four_idle = { { 2, 1, 0, 0 }, 0, 50 };

/* Two readings 10 ms apart while two tasks share the only CPU. */
static int read_pair(struct psi_sample *a, struct psi_sample *b)
{
	int ret;

	ret = psi_read(PSI_CPU, a);
	if (ret)
		return ret;
	sleep_ms(10);
	return psi_read(PSI_CPU, b);
}

#define PAIRS	100

/* At least half of the time, which nothing that lags behind could show. */
static enum psi_result total_grows(void)
{
	struct psi_sample a, b;
	int i;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	settle();
	for (i = 0; i < PAIRS; i++) {
		EXPECT(!read_pair(&a, &b), "cannot read");
		EXPECT(psi_share(&a, &b).some > 50, "%.1f %% of %.3f s",
		       psi_share(&a, &b).some, psi_share(&a, &b).seconds);
	}
	return PSI_PASS;
}

/*
 * What is read grows exactly as the clock does: by no less than from the end of
 * the first reading to the beginning of the second, by no more than from
 * beginning to end. Only units are lost: 1 us of the text and about 1 us of the
 * kernel's counters, at either end.
 */
#define UNITS_US	4

static enum psi_result total_is_exact(void)
{
	struct psi_sample a, b;
	long long growth, least, most;
	int i;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	settle();
	for (i = 0; i < 3 * PAIRS; i++) {
		EXPECT(!read_pair(&a, &b), "cannot read");
		growth = b.some.total - a.some.total;
		least = (b.before - a.after) / NSEC_PER_USEC - UNITS_US;
		most = (b.after - a.before) / NSEC_PER_USEC + UNITS_US;
		EXPECT(growth >= least && growth <= most,
		       "pair %d: %lld us, which is not in %lld .. %lld",
		       i, growth, least, most);
	}
	return PSI_PASS;
}

#define CPU_CASE(c)	.run_with = run_cpu_case, .arg = &(c)

static const struct psi_case cases[] = {
	{ "R-4 a task on each of three CPUs is 0 %", CPU_CASE(three_on_four), .min_cpus = 4 },
	{ "R-4 five tasks on four CPUs are 25 %", CPU_CASE(five_on_four), .min_cpus = 4,
	  .max_cpus = 4 },
	{ "R-4 six tasks on four CPUs, two shared, are 50 %", CPU_CASE(six_on_four),
	  .min_cpus = 4, .max_cpus = 4 },
	{ "R-4 of two busy CPUs one shared is 50 %, idle ones do not count",
	  CPU_CASE(two_of_four_idle), .min_cpus = 4 },
	{ "R-6 total grows while a stall is going on", total_grows, 0, 1 },
	/* The base drops up to a tick when its worker comes between two reads. */
	{ "D-1 R-6 total is exact while a stall is going on",
	  total_is_exact, 0, 1 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
