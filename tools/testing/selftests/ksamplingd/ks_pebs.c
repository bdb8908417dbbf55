// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of the processor, where it is one that an emulator makes and that knows the
 * truth; see ks_truth.h.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_truth.h"
#include "ks_util.h"

/* Of a process on any CPU, or of all tasks on one CPU; stopped. */
static int open_event(uint64_t config, pid_t pid, int cpu, bool pinned)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_RAW, .config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, .pinned = pinned,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT(fd >= 0, "event %llx on CPU %d", (unsigned long long)config, cpu);
	return fd;
}

static int open_counter(uint64_t config, int cpu)
{
	return open_event(config, -1, cpu, false);
}

#define MAX_CPUS	64

/* One event, on all CPUs. */
struct counter {
	int		nr;
	int		fd[MAX_CPUS];
};

static void open_all(struct counter *c, uint64_t config)
{
	int cpus = online_cpus();

	for (c->nr = 0; c->nr < cpus && c->nr < MAX_CPUS; c->nr++)
		c->fd[c->nr] = open_counter(config, c->nr);
}

static void control_all(struct counter *c, unsigned long what)
{
	int i;

	for (i = 0; i < c->nr; i++)
		EXPECT(!ioctl(c->fd[i], what, 0), "ioctl");
}

/* Return: what they have counted together. */
static uint64_t close_all(struct counter *c)
{
	uint64_t sum = 0, count[3];
	int i;

	for (i = 0; i < c->nr; i++) {
		EXPECT(read(c->fd[i], count, sizeof(count)) == sizeof(count), "read");
		sum += count[0];
		close(c->fd[i]);
	}
	return sum;
}

/* Many lines, in an order that no cache likes. */
static void walk(uint32_t *lines, size_t nr, unsigned int rounds)
{
	size_t at = 0;

	for (; rounds; rounds--)
		for (size_t i = 0; i < nr; i++) {
			at = (at * 1664525 + 1013904223) % nr;
			lines[at * 16]++;
		}
}

#define LINES		(128 * 1024UL)

static uint32_t *map_lines(void)
{
	void *map = mmap(NULL, LINES * 64, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	EXPECT(map != MAP_FAILED, "mmap");
	return map;
}

/* Between two looks at the truth and the counter there are some accesses. */
#define SLACK		2000

static enum psi_result counts(uint64_t config, int kind)
{
	struct truth *truth = get_truth();
	uint64_t from, is, should;
	struct counter c;
	uint32_t *lines;

	REQUIRE(truth, NO_TRUTH);
	lines = map_lines();
	open_all(&c, config);

	from = look_at(&truth->user[kind]);
	control_all(&c, PERF_EVENT_IOC_ENABLE);
	walk(lines, LINES, 10);
	control_all(&c, PERF_EVENT_IOC_DISABLE);
	should = look_at(&truth->user[kind]) - from;

	is = close_all(&c);
	psi_note("counted %llu, there were %llu", (unsigned long long)is,
		 (unsigned long long)should);
	EXPECT(is > 10 * LINES / 2, "too few to tell");
	EXPECT(is <= should && should - is < SLACK, "it does not count right");
	munmap(lines, LINES * 64);
	return PSI_PASS;
}

static enum psi_result counts_stores(void)
{
	return counts(0x82d0, STORES);
}

static enum psi_result counts_loads(void)
{
	return counts(0x81d0, LOADS);
}

static enum psi_result counts_misses(void)
{
	return counts(0x20d1, MISSES);
}

/* What others measure: says how much there is to be found in it. */
static int walk_and_tell(void)
{
	uint32_t *lines = map_lines();
	struct truth *truth = get_truth();
	uint64_t from[NR_KINDS];
	int kind;

	for (kind = 0; kind < NR_KINDS; kind++)
		from[kind] = look_at(&truth->user[kind]);
	walk(lines, LINES, 20);
	for (kind = 0; kind < NR_KINDS; kind++)
		printf("%llu\n", (unsigned long long)(look_at(&truth->user[kind]) - from[kind]));
	return 0;
}

#define PERF		"/usr/bin/perf"
#define MYSELF		"/proc/self/exe"
/* lines with two numbers that are not 0 */
#define COUNT_BOTH	"grep -c '[1-9a-f].* .*[1-9a-f]'"

/* The numbers at the beginning of the lines that a command prints. */
static void run(const char *command, uint64_t *number, int nr)
{
	char line[256];
	FILE *output;
	int i = 0;

	output = popen(command, "re");
	EXPECT(output, "%s", command);
	while (fgets(line, sizeof(line), output))
		if (i < nr && line[0] >= '0' && line[0] <= '9')
			number[i++] = strtoull(line, NULL, 10);
	EXPECT(!pclose(output) && i == nr, "%s: %d numbers", command, i);
}

static void get_own_path(char *path, size_t size)
{
	ssize_t length = readlink(MYSELF, path, size - 1);

	EXPECT(length > 0, "readlink");
	path[length] = '\0';
}

/* Starting and ending the program is in what it counts. */
static enum psi_result perf_stat(void)
{
	uint64_t number[2 * NR_KINDS];
	char command[512], self[256];
	int kind;

	REQUIRE(get_truth(), NO_TRUTH);
	REQUIRE(!access(PERF, X_OK), "needs perf");
	get_own_path(self, sizeof(self));
	snprintf(command, sizeof(command), PERF
		 " stat -x, -e r81d0:u,r20d1:u,r82d0:u %s walk 2>&1", self);
	run(command, number, 2 * NR_KINDS);
	for (kind = 0; kind < NR_KINDS; kind++) {
		uint64_t should = number[kind], is = number[NR_KINDS + kind];

		psi_note("perf stat counted %llu, there were %llu", (unsigned long long)is,
			 (unsigned long long)should);
		EXPECT(should > LINES && is >= should && is - should < should / 50 + SLACK,
		       "kind %d", kind);
	}
	return PSI_PASS;
}

static enum psi_result perf_record(void)
{
	struct truth *truth = get_truth();
	char command[1024], self[256];
	uint64_t number[NR_KINDS + 1], written;

	REQUIRE(truth, NO_TRUTH);
	REQUIRE(!access(PERF, X_OK), "needs perf");
	get_own_path(self, sizeof(self));
	written = look_at(&truth->written);
	snprintf(command, sizeof(command), PERF
		 " record -q -o /tmp/perf.data -c 997 -d --phys-data -e r20d1:upp %s walk && "
		 PERF " script -i /tmp/perf.data -F addr,phys_addr | " COUNT_BOTH, self);
	run(command, number, NR_KINDS + 1);
	written = look_at(&truth->written) - written;
	psi_note("perf record has %llu records, %llu were written, of %llu misses",
		 (unsigned long long)number[NR_KINDS], (unsigned long long)written,
		 (unsigned long long)number[MISSES]);
	EXPECT(number[NR_KINDS] == written, "they are not the same");
	/* A counter that overflows just before its task is switched out has no record. */
	EXPECT(written > number[MISSES] / 997 * 99 / 100 &&
	       written < number[MISSES] / 997 * 11 / 10,
	       "they are not as many as they should be");
	return PSI_PASS;
}

static void walk_for_ever(void *unused)
{
	uint32_t *lines = map_lines();

	for (;;)
		walk(lines, LINES, 1);
}

/* On each CPU, but for the last one if there is more than one: that one is idle. */
static void start_walking(void)
{
	int cpus = online_cpus(), cpu;

	for (cpu = 0; cpu < cpus && (cpu == 0 || cpu < cpus - 1); cpu++)
		start_load(cpu, walk_for_ever, NULL);
}

static void use_pebs(void)
{
	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_knob("source", "auto"), "source");
}

/* It is read to its end, so each text needs one of its own. */
static void expect_not_in_log(int log, const char *text)
{
	char line[256];

	EXPECT(!count_in_log(log, text, line, sizeof(line)), "%s", line);
	close(log);
}

/* Written = counted + discarded + lost, to the last one. */
static enum psi_result all_accounted(void)
{
	struct truth *truth = get_truth();
	uint64_t written, dropped;
	int nmi = open_new_log(), stuck = open_new_log();
	char text[4096];

	REQUIRE(truth, NO_TRUTH);
	use_pebs();
	written = look_at(&truth->written);
	dropped = look_at(&truth->dropped);
	start_walking();
	switch_on();
	sleep_ms(4000);
	EXPECT(read_text(VIEWS "status", text, sizeof(text)) > 0 &&
	       strstr(text, "source pebs\n"), "it does not sample by PEBS");
	switch_off();

	written = look_at(&truth->written) - written;
	dropped = look_at(&truth->dropped) - dropped;
	psi_note("%llu records written, %llu dropped, %llu samples, %llu lost",
		 (unsigned long long)written, (unsigned long long)dropped,
		 get_status("samples"), get_status("lost"));
	EXPECT(get_status("samples") > 1000, "too few samples to tell");
	EXPECT(accounted() == written, "%llu of %llu accounted for", accounted(),
	       (unsigned long long)written);
	expect_not_in_log(nmi, "unknown reason");
	expect_not_in_log(stuck, "perfevents");
	return PSI_PASS;
}

static void toggle_last_cpu(void *unused)
{
	int cpu = online_cpus() - 1;

	for (;;) {
		set_online(cpu, false);
		sleep_ms(50);
		set_online(cpu, true);
		sleep_ms(50);
	}
}

/* Another user of the counters comes and goes. */
static void count_for_ever(void *unused)
{
	int fd;

	for (;;) {
		fd = open_counter(0x82d0, 0);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		sleep_ms(20);
		close(fd);
	}
}

static enum psi_result hotplug_and_perf(void)
{
	int nmi = open_new_log(), stuck = open_new_log(), cpus = online_cpus();

	REQUIRE(get_truth(), NO_TRUTH);
	REQUIRE(cpus > 1, "needs two CPUs");
	use_pebs();
	start_walking();
	start_load(0, count_for_ever, NULL);
	switch_on();
	start_load(0, toggle_last_cpu, NULL);
	sleep_ms(5000);
	stop_all_loads();
	set_online(cpus - 1, true);
	switch_off();
	EXPECT(get_status("samples") > 1000, "too few samples to tell");
	expect_not_in_log(nmi, "unknown reason");
	expect_not_in_log(stuck, "perfevents");
	return PSI_PASS;
}

/* The events of ours can be counted by four counters, and so can these. */
#define NR_COUNTERS	4

static int held[NR_COUNTERS] = { -1, -1, -1, -1 };

static void free_counters(void)
{
	int i;

	for (i = 0; i < NR_COUNTERS; i++) {
		if (held[i] >= 0)
			close(held[i]);
		held[i] = -1;
	}
}

static void hold_counters(int nr, pid_t pid, int cpu, bool pinned)
{
	int i;

	undo_later(free_counters);
	for (i = 0; i < nr; i++) {
		held[i] = open_event(0x82d0, pid, cpu, pinned);
		ioctl(held[i], PERF_EVENT_IOC_ENABLE, 0);
	}
}

static unsigned int running_permille(void)
{
	return get_event("MEM_INST_RETIRED.ALL_STORES", "running_permille");
}

#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define USUAL_RATE	100000	/* after boot */

static unsigned long max_rate(void)
{
	char text[32];

	EXPECT(read_text(MAX_RATE, text, sizeof(text)) > 0, MAX_RATE);
	return strtoul(text, NULL, 10);
}

static void restore_rate(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", USUAL_RATE);
	write_text(MAX_RATE, text);
}

/* Records of misses that nobody takes out of the hardware's buffer before it is full. */
static void fill_buffers(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_RAW, .config = 0x20d1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR,
		.sample_period = 199, .precise_ip = 2, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT(fd >= 0, "perf_event_open");
	sleep_ms(2000);
	close(fd);
}

/*
 * perf lowers the rate of samples for everybody if its interrupts take long. Those that empty
 * full buffers do; ksamplingd empties them before, so there are none.
 */
static enum psi_result no_interrupts(void)
{
	struct truth *truth = get_truth();
	uint64_t interrupts;

	REQUIRE(truth, NO_TRUTH);
	use_pebs();
	undo_later(restore_rate);
	restore_rate();
	REQUIRE(max_rate() == USUAL_RATE, "the rate cannot be set");
	start_walking();
	interrupts = look_at(&truth->interrupts);
	fill_buffers();
	psi_note("with full buffers: %llu interrupts, then at most %lu samples a second",
		 (unsigned long long)(look_at(&truth->interrupts) - interrupts), max_rate());
	EXPECT(max_rate() < USUAL_RATE, "that costs nothing");

	EXPECT(!set_knob("quota_permille", "10"), "quota");
	switch_on();
	wait_windows(6);
	restore_rate();
	interrupts = look_at(&truth->interrupts);
	wait_windows(4);
	interrupts = look_at(&truth->interrupts) - interrupts;
	psi_note("ksamplingd: %llu interrupts, then at most %lu samples a second",
		 (unsigned long long)interrupts, max_rate());
	EXPECT(!interrupts, "%llu interrupts", (unsigned long long)interrupts);
	EXPECT(max_rate() == USUAL_RATE, "%lu samples a second", max_rate());
	return PSI_PASS;
}

#define STARVES		" is counted for "

/* Pinned events get all counters; that is noticed, and logged once for each event of ours. */
static enum psi_result all_counters_held(void)
{
	int log = open_new_log(), times;
	char line[256] = "";

	REQUIRE(get_truth(), NO_TRUTH);
	use_pebs();
	EXPECT(!set_knob("cpus", "0"), "cpus");
	start_load(0, walk_for_ever, NULL);
	switch_on();
	wait_windows(2);
	EXPECT(running_permille() > 900, "%u permille", running_permille());
	EXPECT(!count_in_log(log, STARVES, line, sizeof(line)), "%s", line);

	hold_counters(NR_COUNTERS, -1, 0, true);
	wait_windows(4);
	EXPECT(running_permille() < 100, "%u permille", running_permille());
	times = count_in_log(log, STARVES, line, sizeof(line));
	EXPECT(times == 2, "it says so %d times: %s", times, line);

	free_counters();
	wait_windows(3);
	EXPECT(running_permille() > 900, "%u permille", running_permille());
	close(log);
	return PSI_PASS;
}

/* Two counters are left for three events of a task, which take turns. Ours need not. */
static enum psi_result tasks_come_after(void)
{
	uint64_t count[3];
	pid_t pid;
	int i;

	REQUIRE(get_truth(), NO_TRUTH);
	use_pebs();
	EXPECT(!set_knob("cpus", "0"), "cpus");
	pid = start_load(0, walk_for_ever, NULL);
	switch_on();
	sleep_ms(100);
	hold_counters(3, pid, -1, false);
	wait_windows(3);
	EXPECT(running_permille() > 950, "%u permille", running_permille());
	for (i = 0; i < 3; i++) {
		EXPECT(read(held[i], count, sizeof(count)) == sizeof(count), "read");
		psi_note("event %d of the task: %llu of %llu ms", i,
			 (unsigned long long)(count[2] / NSEC_PER_MSEC),
			 (unsigned long long)(count[1] / NSEC_PER_MSEC));
		EXPECT(count[2] < count[1] / 10 * 9, "it is counted all the time");
	}
	return PSI_PASS;
}

/* A twentieth of the time, so that the emulator is done with the hour soon. */
static void walk_now_and_then(void *unused)
{
	uint32_t *lines = map_lines();
	__u64 until;

	for (;;) {
		until = now_ns() + 50 * NSEC_PER_MSEC;
		while (now_ns() < until)
			walk(lines, LINES / 64, 1);
		sleep_ms(950);
	}
}

/* With CPUs and other users of the counters that come and go from time to time. */
static enum psi_result for_hours(void)
{
	int nmi = open_new_log(), stuck = open_new_log(), cpus = online_cpus(), cpu, i;
	const char *hours = getenv("ks_hours");
	struct counter c;

	REQUIRE(get_truth(), NO_TRUTH);
	REQUIRE(hours, "takes long: set ks_hours");
	use_pebs();
	for (cpu = 0; cpu < cpus; cpu++)
		start_load(cpu, walk_now_and_then, NULL);
	switch_on();
	for (i = 0; i < atoi(hours) * 360; i++) {
		open_all(&c, 0x82d0);
		control_all(&c, PERF_EVENT_IOC_ENABLE);
		sleep_ms(5000);
		close_all(&c);
		if (cpus > 1)
			set_online(cpus - 1, false);
		sleep_ms(5000);
		if (cpus > 1)
			set_online(cpus - 1, true);
	}
	switch_off();
	psi_note("%llu samples", get_status("samples"));
	EXPECT(get_status("samples") > 100000, "too few samples to tell");
	expect_not_in_log(nmi, "unknown reason");
	expect_not_in_log(stuck, "perfevents");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-20 pebs: perf counts all stores", counts_stores },
	{ "R-20 pebs: perf counts all loads", counts_loads },
	{ "R-20 pebs: perf counts all loads that miss", counts_misses },
	{ "R-20 pebs: perf stat of Debian counts what there is", perf_stat },
	{ "R-20 pebs: perf record of Debian has each record", perf_record },
	{ "R-20 pebs: each record is a sample, or accounted for", all_accounted },
	{ "R-27 pebs: no interrupt empties a buffer", no_interrupts },
	{ "R-20 pebs: others hold all counters", all_counters_held },
	{ "R-20 pebs: events of tasks come after ours", tasks_come_after },
	{ "R-21 pebs: CPUs and other users of counters come and go", hotplug_and_perf },
	{ "R-20 pebs: hours without an NMI that nobody expects", for_hours },
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "walk"))
		return walk_and_tell();
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
