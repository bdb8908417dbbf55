// SPDX-License-Identifier: GPL-2.0
/*
 * no sample is lost without being counted, whatever happens.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ks_util.h"

#define PAGES	1024

/* Produced = counted + discarded + lost, to the last one. */
static void expect_all(unsigned long long produced_before)
{
	unsigned long long produced;

	switch_off();
	produced = get_test_pmu("produced") - produced_before;
	psi_note("%llu samples, %llu of them lost", produced, get_status("lost"));
	EXPECT(produced > 0, "no samples");
	EXPECT(accounted() == produced, "%llu of %llu samples accounted for", accounted(),
	       produced);
}

static enum psi_result all_are_accounted_for(void)
{
	unsigned long long before;

	use_test_pmu(PAGES, 10000000);
	before = get_test_pmu("produced");
	switch_on();
	sleep_ms(3000);
	expect_all(before);
	EXPECT(get_status("lost") == 0, "%llu lost", get_status("lost"));
	return PSI_PASS;
}

/* Half of them have no address, or one of nothing; and vmstat knows. */
static enum psi_result strange_addresses(void)
{
	unsigned long long samples, discarded, before;

	use_test_pmu(PAGES, 10000000);
	EXPECT(!write_text(TEST_PMU "strange", "Y"), "strange");
	samples = get_vmstat("ksamplingd_samples");
	discarded = get_vmstat("ksamplingd_discarded");
	before = get_test_pmu("produced");
	switch_on();
	sleep_ms(2000);
	expect_all(before);
	EXPECT(get_status("no_address") > 0, "no sample without an address");
	EXPECT(get_status("no_page") > 0, "no sample of what is no memory");
	EXPECT(get_vmstat("ksamplingd_samples") - samples == get_status("samples"),
	       "vmstat: samples");
	EXPECT(get_vmstat("ksamplingd_discarded") - discarded ==
	       get_status("no_address") + get_status("no_page"), "vmstat: discarded");
	return PSI_PASS;
}

/* A program's from memory, from a cache, from nobody knows where; and the kernel's. */
static enum psi_result only_memory(void)
{
	unsigned long long before, samples, discarded, kernel;

	use_test_pmu(PAGES, 10000000);
	EXPECT(!set_knob("source", "test-levels"), "source");
	before = get_test_pmu("produced");
	switch_on();
	sleep_ms(2000);
	expect_all(before);
	samples = get_status("samples");
	discarded = get_status("not_memory");
	kernel = get_status("kernel");
	EXPECT(samples > 100, "%llu samples", samples);
	EXPECT(discarded * 10 > samples * 15 && discarded * 10 < samples * 25,
	       "%llu not from memory, %llu from there", discarded, samples);
	EXPECT(kernel * 10 > samples * 7 && kernel * 10 < samples * 13,
	       "%llu of the kernel, %llu of programs", kernel, samples);
	EXPECT(get_status("no_address") + get_status("bad_record") == 0, "others");
	return PSI_PASS;
}

#define STARVES	" is counted for "

/* perf takes the event, and never counts it, because others have the counters. */
static enum psi_result no_counter(void)
{
	int log = open_new_log(), times;
	char line[256] = "";

	use_test_pmu(PAGES, 10000000);
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	switch_on();
	wait_windows(2);
	EXPECT(get_event("test-loads", "running_permille") > 900, "%llu permille",
	       get_event("test-loads", "running_permille"));
	EXPECT(!count_in_log(log, STARVES, line, sizeof(line)), "%s", line);

	/* It is said once for each event, when that begins. */
	EXPECT(!write_text(TEST_PMU "refuse", "Y"), "refuse");
	EXPECT(!set_knob("ring_pages", "16"), "ring_pages");
	wait_windows(4);
	EXPECT(get_event("test-loads", "running_permille") < 100, "%llu permille",
	       get_event("test-loads", "running_permille"));
	times = count_in_log(log, STARVES, line, sizeof(line));
	EXPECT(times == 2, "it says so %d times: %s", times, line);
	EXPECT(get_event("test-loads", "enabled_ns") >
	       get_event("test-loads", "running_ns") + 2 * NSEC_PER_SEC, "it was counted");

	/* The counters are free again; and gone again. */
	EXPECT(!write_text(TEST_PMU "refuse", "N"), "refuse");
	EXPECT(!set_knob("ring_pages", "32"), "ring_pages");
	wait_windows(3);
	EXPECT(get_event("test-loads", "running_permille") > 900, "%llu permille",
	       get_event("test-loads", "running_permille"));
	EXPECT(!count_in_log(log, STARVES, line, sizeof(line)), "again: %s", line);
	EXPECT(!write_text(TEST_PMU "refuse", "Y"), "refuse");
	EXPECT(!set_knob("ring_pages", "16"), "ring_pages");
	wait_windows(3);
	EXPECT(count_in_log(log, STARVES, line, sizeof(line)) == 2, "not again");
	close(log);
	return PSI_PASS;
}

static enum psi_result overflows_are_counted(void)
{
	unsigned long long before, lost = get_vmstat("ksamplingd_lost");

	use_test_pmu(PAGES, 300000000);
	EXPECT(!set_knob("ring_pages", "1"), "ring_pages");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "1999"), "period");
	before = get_test_pmu("produced");
	switch_on();
	sleep_ms(3000);
	expect_all(before);
	EXPECT(get_status("lost") > 0, "no ring was full");
	EXPECT(get_vmstat("ksamplingd_lost") - lost == get_status("lost"), "vmstat: lost");
	return PSI_PASS;
}

/* perf pauses events for a tick now and then. Of a ring that is full it cannot say so. */
static enum psi_result throttled(void)
{
	unsigned long long before, produced;

	/* 20 000 samples a second, some hundred interrupts: more than one in a tick */
	use_test_pmu(PAGES, 40000000);
	EXPECT(!set_knob("cpus", "0"), "cpus");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("ring_pages", "256"), "ring_pages");
	EXPECT(!write_text(TEST_PMU "throttle", "Y"), "throttle");
	/* A CPU that is idle has no tick, and perf lets events go on with that. */
	start_load(0, spin, NULL);
	before = get_test_pmu("produced");
	switch_on();
	sleep_ms(1000);
	produced = get_test_pmu("produced") - before;
	sleep_ms(1000);
	EXPECT(get_test_pmu("produced") - before > produced, "it stays so");
	EXPECT(get_status("throttled") > 0, "throttled %llu times",
	       get_status("throttled"));
	expect_all(before);
	EXPECT(get_status("lost") == 0, "%llu lost", get_status("lost"));
	return PSI_PASS;
}

/* Knobs that make it open all rings anew. */
static enum psi_result knobs_under_load(void)
{
	unsigned long long before;
	int i;

	use_test_pmu(PAGES, 20000000);
	before = get_test_pmu("produced");
	switch_on();
	for (i = 0; i < 200; i++) {
		EXPECT(!set_knob("ring_pages", "%d", 1 << i % 5), "ring_pages");
		EXPECT(!set_knob("load_period", "%d", 500 + i), "load_period");
		EXPECT(!set_knob("cpus", i % 2 ? "0" : "0-%d", online_cpus() - 1), "cpus");
		sleep_ms(random_below(14));
	}
	expect_all(before);
	return PSI_PASS;
}

/* Of two CPUs that access memory, one is sampled. */
static enum psi_result chosen_cpus(void)
{
	unsigned long long both, one;

	use_test_pmu(PAGES, 10000000);
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("cpus", "0-1"), "cpus");
	switch_on();
	sleep_ms(1000);
	EXPECT(get_status("rings") == 4, "%llu rings of two CPUs", get_status("rings"));
	both = get_status("samples");
	switch_off();
	EXPECT(!set_knob("cpus", "1"), "cpus");
	switch_on();
	sleep_ms(1000);
	EXPECT(get_status("rings") == 2, "%llu rings of one CPU", get_status("rings"));
	one = get_status("samples");
	EXPECT(one * 10 > both * 4 && one * 10 < both * 6, "%llu samples of one CPU, %llu of two",
	       one, both);
	return PSI_PASS;
}

static unsigned long long made_in_half_a_second(void)
{
	unsigned long long before = get_test_pmu("produced");

	sleep_ms(500);
	return get_test_pmu("produced") - before;
}

static enum psi_result cpus_come_and_go(void)
{
	unsigned long long before, made, again;
	int i, cpus = online_cpus();

	undo_later(all_online);
	use_test_pmu(PAGES, 10000000);
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	before = get_test_pmu("produced");
	switch_on();
	expect_rings(2ULL * cpus);
	made = made_in_half_a_second();
	for (i = 0; i < 100; i++) {
		EXPECT(!set_online(1 + i % (cpus - 1), false), "offline");
		if (i % 3)
			sleep_ms(10);
		EXPECT(!set_online(1 + i % (cpus - 1), true), "online");
		if (i % 5)
			sleep_ms(10);
	}
	expect_rings(2ULL * cpus);
	/* perf has taken the events out of service. It needs new ones for all of them. */
	again = made_in_half_a_second();
	EXPECT(again * 10 > made * 9, "%llu samples at first, %llu now", made, again);
	expect_all(before);
	return PSI_PASS;
}

/* Two nodes with two CPUs each. */
static enum psi_result nodes(void)
{
	char list[64] = "";

	read_text("/sys/devices/system/node/node1/cpulist", list, sizeof(list));
	REQUIRE(!strcmp(list, "2-3\n"), "no such nodes");
	undo_later(all_online);
	use_test_pmu(PAGES, 1000000);
	switch_on();
	expect_affinity("0-1");
	EXPECT(!set_knob("nodes", "1"), "nodes");
	expect_affinity("2-3");
	EXPECT(!set_knob("nodes", "0-1"), "nodes");
	expect_affinity("0-3");

	/* Where no CPU is left it runs anywhere, and comes back. */
	EXPECT(!set_knob("nodes", "1"), "nodes");
	EXPECT(!set_online(2, false) && !set_online(3, false), "offline");
	expect_affinity("0-3");
	expect_rings(4);
	EXPECT(!set_online(3, true), "online");
	expect_affinity("3");
	EXPECT(!set_online(2, true), "online");
	expect_affinity("2-3");
	return PSI_PASS;
}

static unsigned long long free_kb(void)
{
	char text[8192], *at;

	/* What is free but for a grace period, or on a CPU's list, should come back. */
	write_text("/proc/sys/vm/drop_caches", "3");
	sleep_ms(500);
	EXPECT(read_text("/proc/meminfo", text, sizeof(text)) > 0, "meminfo");
	at = strstr(text, "MemFree:");
	EXPECT(at, "meminfo");
	return strtoull(at + 8, NULL, 10);
}

static void on_and_off(int times)
{
	int i;

	for (i = 0; i < times; i++) {
		switch_on();
		if (i % 4 == 0)
			sleep_ms(i % 7);
		switch_off();
	}
}

/*
 * 1000 leaks of one page would be 4 MB, each time. What others take, KASAN above all,
 * which keeps back what is freed, they do not take each time.
 */
static enum psi_result start_and_stop(void)
{
	unsigned long long before, after;
	int tries = 5;

	use_test_pmu(PAGES, 1000000);
	on_and_off(50);
	after = free_kb();
	do {
		before = after;
		on_and_off(1000);
		after = free_kb();
		psi_note("%llu kB free before, %llu kB after", before, after);
	} while (after + 1000 < before && --tries);
	EXPECT(tries, "%lld kB are gone each time", (long long)(before - after));
	/* EBUSY as long as there are events */
	EXPECT(!set_test_pmu("pages", PAGES), "events are left");
	return PSI_PASS;
}

/* Of a source that has one of its two events, nothing is left. */
static enum psi_result half_a_source(void)
{
	char line[256] = "";
	int log = open_new_log();

	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("source", "test-half"), "source");
	switch_on();
	wait_windows(2);
	EXPECT(get_status("rings") == 0, "%llu rings", get_status("rings"));
	EXPECT(count_in_log(log, "cannot sample by test-half", line, sizeof(line)) == 1,
	       "the log has: %s", line);
	EXPECT(!set_test_pmu("pages", PAGES), "an event is left");
	EXPECT(!set_knob("source", "test"), "source");
	wait_windows(2);
	EXPECT(get_status("samples") > 0, "no samples");
	return PSI_PASS;
}

/* Two that write to it at the same time. */
static void toggle(void *unused)
{
	for (;;) {
		set_knob("enabled", "1");
		set_knob("enabled", "0");
	}
}

static enum psi_result many_at_once(void)
{
	unsigned long long produced;

	use_test_pmu(PAGES, 1000000);
	start_load(-1, toggle, NULL);
	start_load(-1, toggle, NULL);
	sleep_ms(2000);
	stop_all_loads();
	switch_off();
	EXPECT(wait_until(!find_task("ksamplingd"), 1000), "a thread is left");
	produced = get_test_pmu("produced");
	sleep_ms(100);
	EXPECT(get_test_pmu("produced") == produced, "there are samples still");
	/* EBUSY as long as there are events */
	EXPECT(!set_test_pmu("pages", PAGES), "events are left");

	/* Nothing of it is in the way of the next one. */
	switch_on();
	wait_windows(2);
	EXPECT(get_test_pmu("produced") > produced, "nothing is sampled any more");
	switch_off();
	return PSI_PASS;
}

static enum psi_result reports_at_the_end(void)
{
	unsigned long long run, wall, permille;
	int log = open_new_log();
	char line[256] = "";

	__u64 from, most;

	use_test_pmu(PAGES, 1000000);
	from = now_ns();
	switch_on();
	sleep_ms(1500);
	switch_off();
	most = (now_ns() - from) / NSEC_PER_MSEC + 1;
	EXPECT(count_in_log(log, "ksamplingd: has run", line, sizeof(line)) == 1,
	       "no report, or some");
	close(log);
	EXPECT(sscanf(line, "ksamplingd: has run for %llu ms of %llu ms, %llu permille", &run,
		      &wall, &permille) == 3, "it says: %s", line);
	EXPECT(wall >= 1400 && wall <= most, "wall time %llu ms", wall);
	EXPECT(run > 0 && llabs((long long)(run * 1000 / wall - permille)) <= 1,
	       "%llu ms of %llu ms are not %llu permille", run, wall, permille);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-20 all samples are accounted for", all_are_accounted_for },
	{ "R-20 samples of nothing are discarded, and counted", strange_addresses },
	{ "R-20 what did not come from memory is discarded, and counted", only_memory },
	{ "R-20 overflows are counted", overflows_are_counted },
	{ "R-20 events for which there is no counter", no_counter },
	{ "R-20 events that perf throttles", throttled },
	{ "R-20 knobs are written under load", knobs_under_load },
	{ "R-21 only the chosen CPUs are sampled", chosen_cpus, .min_cpus = 2 },
	{ "R-21 it runs on the CPUs of its nodes", nodes, .min_cpus = 4 },
	{ "R-21 CPUs come and go", cpus_come_and_go, .min_cpus = 2 },
	{ "R-20 a source that has one of its two events", half_a_source },
	{ "R-20 start and stop a thousand times", start_and_stop },
	{ "R-20 many start and stop at once", many_at_once },
	{ "R-25 a report at the end", reports_at_the_end },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
