// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go and come back, under load and under the eyes of readers.
 */
#include <unistd.h>

#include "psi_util.h"

#define ROUNDS		3

struct watcher {
	enum psi_resource res;
	atomic_ulong reads, wrong;
};

static void watch_total(void *arg)
{
	struct watcher *w = arg;
	struct psi_sample last = { 0 }, sample;

	for (;;) {
		sleep_ms(1);
		if (psi_read(w->res, &sample) ||
		    sample.some.total < last.some.total ||
		    sample.full.total < last.full.total)
			w->wrong++;
		last = sample;
		w->reads++;
	}
}

static void go_and_come_back(int last)
{
	int round, cpu;

	for (round = 0; round < ROUNDS; round++) {
		for (cpu = 1; cpu <= last; cpu++) {
			EXPECT(!set_online(cpu, 0), "CPU %d stays", cpu);
			sleep_ms(50);
		}
		sleep_ms(100);
		for (cpu = 1; cpu <= last; cpu++)
			EXPECT(!set_online(cpu, 1), "CPU %d is lost", cpu);
		sleep_ms(50);
	}
}

static enum psi_result hotplug(void)
{
	struct watcher *w = shared_alloc(PSI_NR_RESOURCES * sizeof(*w));
	const char *disk = slow_disk(5);
	int last = online_cpus() - 1;
	enum psi_resource res;
	int cpu;

	REQUIRE(have_hotplug(), "needs CONFIG_HOTPLUG_CPU");
	for (cpu = 0; cpu <= last; cpu++) {
		start_load(-1, spin, NULL);
		if (disk)
			start_load(-1, read_disk, (void *)disk);
	}
	for (res = PSI_CPU; res <= PSI_IO; res++) {
		w[res].res = res;
		start_load(-1, watch_total, &w[res]);
	}

	go_and_come_back(last);
	stop_all_loads();
	for (res = PSI_CPU; res <= PSI_IO; res++) {
		psi_note("%s: %lu reads, %lu wrong", psi_name(res),
			 w[res].reads, w[res].wrong);
		EXPECT(w[res].reads > 20, "too few reads to tell");
		EXPECT(!w[res].wrong, "a total went backwards, or was not there");
	}
	return PSI_PASS;
}

/* What a CPU that has come back counts is right again. */
static enum psi_result after_coming_back(void)
{
	struct psi_share share;
	int last = online_cpus() - 1;

	REQUIRE(have_hotplug(), "needs CONFIG_HOTPLUG_CPU");
	start_load(last, spin, NULL);
	start_load(last, spin, NULL);
	sleep_ms(200);
	EXPECT(!set_online(last, 0), "CPU %d stays", last);
	stop_all_loads();
	sleep_ms(500);
	EXPECT(!set_online(last, 1), "CPU %d is lost", last);

	/* Nothing runs: nothing may seem to have been left there (2 %: noise). */
	pin_to_cpu(0);
	share = psi_watch(PSI_CPU, 3000);
	EXPECT(close_to(share.some, 0, 2), "ghosts");

	start_load(last, spin, NULL);
	start_load(last, spin, NULL);
	/* The kernel, too, settles in on the CPU; that lasts for a second. */
	sleep_ms(2000);
	share = psi_watch(PSI_CPU, 3000);
	EXPECT(close_to(share.some, 100, 2), "it does not count");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-17 totals never go backwards while CPUs come and go", hotplug, 2 },
	{ "R-3 a CPU that has come back counts what it should",
	  after_coming_back, 2 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
