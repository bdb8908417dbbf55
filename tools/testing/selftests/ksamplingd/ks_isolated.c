// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that were isolated are not sampled, unless that is asked for. R-27: idle
 * ones are not interrupted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ks_util.h"

#define PAGES	1024
#define CGROUPS	"/sys/fs/cgroup/"
#define OURS	CGROUPS "ks_isolated/"

static void read_line(const char *path, char *line, size_t size)
{
	EXPECT(read_text(path, line, size) >= 0, "cannot read %s", path);
	line[strcspn(line, "\n")] = '\0';
}

static void expect_sampled(const char *cpus, unsigned int count)
{
	char line[64];

	read_line(KNOBS "cpus", line, sizeof(line));
	EXPECT(!strcmp(line, cpus), "the knob says %s, not %s", line, cpus);
	/* two events on each */
	expect_rings(2ULL * count);
}

static void use_default_cpus(void)
{
	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("cpus", "\n"), "no list");
}

static void write_nothing(void)
{
	int fd = open(KNOBS "cpus", O_WRONLY);

	EXPECT(fd >= 0 && write(fd, "", 0) == 0, "cannot write nothing");
	close(fd);
}

/* A list is taken as it is. */
static void expect_named(void)
{
	EXPECT(!set_knob("cpus", "2-3"), "cpus");
	expect_sampled("2-3", 2);
	EXPECT(!set_knob("cpus", "0-3"), "cpus");
	expect_sampled("0-3", 4);
}

/* With isolcpus=3, or nohz_full=3 */
static enum psi_result since_boot(void)
{
	char line[64];

	read_line("/sys/devices/system/cpu/isolated", line, sizeof(line));
	REQUIRE(!strcmp(line, "3"), "no isolcpus=3");
	/* Nobody has written a list. */
	read_line(KNOBS "cpus", line, sizeof(line));
	EXPECT(!strcmp(line, "0-2"), "after boot, the knob says %s", line);

	use_default_cpus();
	switch_on();
	expect_sampled("0-2", 3);
	/* Nor does the thread run there, whatever it samples. */
	expect_affinity("0-2");
	expect_named();
	expect_affinity("0-2");
	EXPECT(!set_knob("cpus", "\n"), "no list");
	expect_sampled("0-2", 3);
	return PSI_PASS;
}

static void drop_partition(void)
{
	write_text(OURS "cpuset.cpus.partition", "member");
	rmdir(OURS);
	write_text(CGROUPS "cgroup.subtree_control", "-cpuset");
}

/*
 * A period that is far from the one to begin with, and from now on moves by a step of 15 %
 * in each window only: all rings that are opened again would have another one for long.
 */
static unsigned long long find_period(void)
{
	unsigned long long period = 0;

	EXPECT(!set_test_pmu("accesses_per_s", 100000000), "accesses_per_s");
	EXPECT(wait_slowly((period = get_event("test-loads", "period")) > 4 * 1999, 10000),
	       "the period is %llu", period);
	EXPECT(!set_knob("policy", "0"), "policy");
	wait_windows(2);
	return get_event("test-loads", "period");
}

static void expect_kept(unsigned long long period)
{
	unsigned long long now = get_event("test-loads", "period");

	EXPECT(now > period / 2, "the period was %llu, and is %llu", period, now);
}

/* A cpuset isolates a CPU, and gives it back, while it is sampled. */
static enum psi_result by_a_cpuset(void)
{
	unsigned long long period;
	char line[64];

	read_line("/sys/devices/system/cpu/isolated", line, sizeof(line));
	REQUIRE(!*line, "CPUs are isolated already");
	REQUIRE(!write_text(CGROUPS "cgroup.subtree_control", "+cpuset"), "no cpusets");
	undo_later(drop_partition);
	EXPECT(!mkdir(OURS, 0755) || errno == EEXIST, "mkdir");
	EXPECT(!write_text(OURS "cpuset.cpus", "3"), "cpuset.cpus");

	use_default_cpus();
	switch_on();
	expect_sampled("0-3", 4);
	period = find_period();
	/* Nothing at all is not a list. */
	write_nothing();
	EXPECT(!write_text(OURS "cpuset.cpus.partition", "isolated"), "partition");
	read_line(OURS "cpuset.cpus.partition", line, sizeof(line));
	REQUIRE(!strcmp(line, "isolated"), "the partition is %s", line);
	expect_sampled("0-2", 3);
	expect_kept(period);
	expect_named();
	EXPECT(!set_knob("cpus", "\n"), "no list");
	expect_sampled("0-2", 3);
	EXPECT(!write_text(OURS "cpuset.cpus.partition", "member"), "partition");
	expect_sampled("0-3", 4);
	expect_kept(period);
	return PSI_PASS;
}

/* How often another CPU has called a function there, as reading an event does. */
static unsigned long long calls_on(int cpu)
{
	unsigned long long calls = 0;
	char text[16384], *at;

	EXPECT(read_text("/proc/interrupts", text, sizeof(text)) > 0, "no interrupts");
	at = strstr(text, "CAL:");
	REQUIRE(at, "calls of functions are not counted");
	for (at += 4; cpu >= 0; cpu--)
		calls = strtoull(at, &at, 10);
	return calls;
}

/*
 * Of two CPUs that are sampled, and whose periods change, one is idle. The kernel calls
 * functions there up to 15 times in 5 s for reasons of its own.
 */
static enum psi_result idle_cpus(void)
{
	unsigned long long busy, idle, usual, changes;
	int i;

	use_test_pmu(PAGES, 250000);
	EXPECT(!set_knob("source", "test-batches"), "source");
	EXPECT(!write_text(TEST_PMU "busy_only", "Y"), "busy_only");
	EXPECT(!set_knob("cpus", "2-3"), "cpus");
	EXPECT(!set_knob("window_ms", "200"), "window");
	EXPECT(!pin_to_cpu(0), "pin_to_cpu");
	start_load(2, spin, NULL);
	usual = calls_on(3);
	sleep_ms(5000);
	usual = calls_on(3) - usual;
	switch_on();
	EXPECT(!pin_task(find_task("ksamplingd"), 0), "pin_task");
	wait_windows(2);
	busy = calls_on(2);
	idle = calls_on(3);
	changes = get_status("period_changes");
	for (i = 1; i <= 25; i++) {
		EXPECT(!set_test_pmu("accesses_per_s", i % 2 ? 8000000 : 250000), "rate");
		wait_windows(1);
	}
	busy = calls_on(2) - busy;
	idle = calls_on(3) - idle;
	changes = get_status("period_changes") - changes;
	psi_note("%llu changes, %llu calls on a busy CPU, %llu on an idle one, else %llu",
		 changes, busy, idle, usual);
	EXPECT(changes >= 15, "only %llu changes", changes);
	EXPECT(busy >= 50, "the busy one had %llu calls", busy);
	EXPECT(idle <= usual + 5, "the idle one had %llu calls", idle);
	return PSI_PASS;
}

/*
 * A CPU may have records and yet be idle whenever it is looked at. (The test PMU samples
 * an idle one.) It gets the period that is shown, or the quota would never be met.
 */
static enum psi_result idle_at_each_look(void)
{
	const unsigned long long accesses_per_s = 50000000;
	unsigned long long samples, period, due;

	use_test_pmu(PAGES, accesses_per_s);
	EXPECT(!set_knob("cpus", "3"), "cpus");
	EXPECT(!pin_to_cpu(0), "pin_to_cpu");
	switch_on();
	EXPECT(!pin_task(find_task("ksamplingd"), 0), "pin_task");
	wait_windows(10);
	period = get_event("test-loads", "period");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "%llu", 4 * period), "period");
	wait_windows(2);
	samples = get_event("test-loads", "samples");
	sleep_ms(2000);
	samples = get_event("test-loads", "samples") - samples;
	due = 2 * accesses_per_s / (4 * period);
	psi_note("period %llu, then %llu: %llu samples, %llu due", period, 4 * period, samples,
		 due);
	EXPECT(period != 1999, "the period has not changed");
	EXPECT(samples > due * 8 / 10 && samples < due * 12 / 10, "%llu samples, not %llu",
	       samples, due);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-21 CPUs that are isolated since boot", since_boot, .min_cpus = 4, .max_cpus = 4 },
	{ "R-21 CPUs that a cpuset isolates", by_a_cpuset, .min_cpus = 4, .max_cpus = 4 },
	{ "R-27 idle CPUs are not interrupted", idle_cpus, .min_cpus = 4 },
	{ "R-27 a CPU that is idle at each look", idle_at_each_look, .min_cpus = 4 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
