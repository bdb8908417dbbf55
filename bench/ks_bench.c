// SPDX-License-Identifier: GPL-2.0
/*
 * What sampling costs, and how soon the quota is met again when the load has changed.
 * In a guest whose clock advances by 1 ns for each instruction, ns are instructions.
 *
 *	bench NAME VALUE UNIT
 *	window POLICY SECOND ACCESSES_PER_S PERIOD USE_PERMILLE
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "ks_util.h"

#define PAGES	4096

static void report(const char *name, double value, const char *unit)
{
	printf("bench %s %.1f %s\n", name, value, unit);
	fflush(stdout);
}

struct growth {
	unsigned long long run_ns, wall_ns, samples, rounds;
};

static struct growth now(void)
{
	wait_windows(1);
	return (struct growth) {
		get_status("run_ns"), get_status("wall_ns"), get_status("samples"),
		get_status("rounds"),
	};
}

static struct growth watch(unsigned int s)
{
	struct growth from = now(), to;

	sleep_ms(s * 1000);
	to = now();
	return (struct growth) {
		to.run_ns - from.run_ns, to.wall_ns - from.wall_ns,
		to.samples - from.samples, to.rounds - from.rounds,
	};
}

/* With a fixed period: few samples, and many. */
static enum psi_result cost(void)
{
	struct growth few, many;
	double per_sample;

	use_test_pmu(PAGES, 1999 * 1000);
	set_knob("cpus", "0");
	set_knob("quota_permille", "0");
	switch_on();
	sleep_ms(3000);
	few = watch(5);
	set_test_pmu("accesses_per_s", 1999 * 20000ULL);
	sleep_ms(2000);
	many = watch(5);
	per_sample = ((double)many.run_ns / many.wall_ns - (double)few.run_ns / few.wall_ns) /
		     ((double)many.samples / many.wall_ns - (double)few.samples / few.wall_ns);
	report("sample", per_sample, "ns");
	report("round", (few.run_ns - per_sample * few.samples) / few.rounds, "ns");
	return PSI_PASS;
}

#define FREED	4096

/* Return: ns for each page that a program gives back. */
static double free_pages(void)
{
	__u64 ns = 0;
	int round;
	char *mem;

	for (round = 0; round < 100; round++) {
		mem = mmap(NULL, FREED * 4096UL, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		EXPECT(mem != MAP_FAILED, "mmap");
		ns -= now_ns();
		munmap(mem, FREED * 4096UL);
		ns += now_ns();
	}
	return (double)ns / round / FREED;
}

/* Off; and while other memory is sampled, but not by the thread: that sleeps. */
static enum psi_result freeing(void)
{
	double off, on;

	EXPECT(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "PR_SET_THP_DISABLE");
	use_test_pmu(PAGES, 1000000000);
	set_knob("cpus", "0");
	set_knob("cool_ms", "3600000");
	off = free_pages();
	switch_on();
	sleep_ms(5000);
	set_test_pmu("accesses_per_s", 0);
	sleep_ms(5000);
	set_knob("sleep_us", "1000000");
	on = free_pages();
	report("free_page_off", off, "ns");
	report("free_page_on", on, "ns");
	return PSI_PASS;
}

static enum psi_result rate(void)
{
	struct growth g;

	use_test_pmu(PAGES, 1000000000);
	set_knob("cpus", "0");
	switch_on();
	sleep_ms(10000);
	g = watch(10);
	report("samples_at_30_permille", g.samples * 1e9 / g.wall_ns, "1/s");
	return PSI_PASS;
}

static int at_quota(void)
{
	int use = get_status("use_last_window_permille");

	return use >= 25 && use <= 35;
}

/* Return: after how many windows the quota was met, and stayed so for three. */
static int settle(const char *policy, unsigned long long accesses, int windows, int *second)
{
	int w, good = 0, settled = -1;

	set_test_pmu("accesses_per_s", accesses);
	for (w = 1; w <= windows; w++) {
		wait_windows(1);
		printf("window %s %d %llu %llu %llu\n", policy, (*second)++, accesses,
		       get_event("test-loads", "period"),
		       get_status("use_last_window_permille"));
		good = at_quota() ? good + 1 : 0;
		if (good == 3 && settled < 0)
			settled = w - 2;
	}
	return settled;
}

static enum psi_result policies(void)
{
	static const struct {
		const char *what;
		unsigned long long accesses;
	} steps[] = {
		{ "start", 650000000 }, { "10_times_more", 6500000000 },
		{ "100_times_less", 65000000 }, { "100_times_more", 6500000000 },
		{ "10_times_less", 650000000 },
	};
	static const char * const policy[] = { "step", "proportional" };
	char name[64];
	int second;
	size_t i, p;

	for (p = 0; p < ARRAY_SIZE(policy); p++) {
		use_test_pmu(PAGES, steps[0].accesses);
		set_knob("cpus", "0");
		set_knob("policy", "%zu", p);
		switch_on();
		second = 0;
		for (i = 0; i < ARRAY_SIZE(steps); i++) {
			snprintf(name, sizeof(name), "settle_%s_%s", policy[p],
				 steps[i].what);
			report(name, settle(policy[p], steps[i].accesses, p ? 15 : 50, &second),
			       "windows");
		}
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "cost", cost },
	{ "freeing", freeing },
	{ "rate", rate },
	{ "policies", policies },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
