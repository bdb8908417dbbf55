// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of the processor, where it is one that an emulator makes and that knows the
 * truth: how many loads, misses and stores there have been, and how many records it has
 * written. It says so in the memory of a PCI device.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_util.h"

enum { LOADS, MISSES, STORES, NR_KINDS };

/* As the emulator has it. */
struct truth {
	char		magic[8];
	uint64_t	pages;
	uint64_t	user[NR_KINDS];
	uint64_t	written, dropped, interrupts;
	uint64_t	all[NR_KINDS];
};

#define DEVICES		"/sys/bus/pci/devices/"
#define TRUTH_BYTES	(8 * 1024 * 1024UL)
#define NO_TRUTH	"needs the emulated processor"

static uint64_t device_id(const char *device, const char *file)
{
	char path[512], text[32];

	snprintf(path, sizeof(path), DEVICES "%s/%s", device, file);
	return read_text(path, text, sizeof(text)) > 0 ? strtoul(text, NULL, 16) : 0;
}

static struct truth *map_truth(const char *device)
{
	char path[512];
	void *map;
	int fd;

	snprintf(path, sizeof(path), DEVICES "%s/enable", device);
	write_text(path, "1");
	snprintf(path, sizeof(path), DEVICES "%s/resource2", device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, TRUTH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED || memcmp(map, "PEBSTRUE", 8) ? NULL : map;
}

/* It goes on counting. */
static uint64_t look_at(uint64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* NULL: it is some other machine. */
static struct truth *get_truth(void)
{
	struct truth *truth = NULL;
	struct dirent *entry;
	DIR *dir = opendir(DEVICES);

	while (dir && !truth && (entry = readdir(dir)))
		if (device_id(entry->d_name, "vendor") == 0x1af4 &&
		    device_id(entry->d_name, "device") == 0x1110)
			truth = map_truth(entry->d_name);
	if (dir)
		closedir(dir);
	return truth;
}

/* On one CPU, whoever runs there; stopped. */
static int open_counter(uint64_t config, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_RAW, .config = config,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT(fd >= 0, "event %llx on CPU %d", (unsigned long long)config, cpu);
	return fd;
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
	uint64_t sum = 0, count;
	int i;

	for (i = 0; i < c->nr; i++) {
		EXPECT(read(c->fd[i], &count, sizeof(count)) == sizeof(count), "read");
		sum += count;
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

static const struct psi_case cases[] = {
	{ "R-20 pebs: perf counts all stores", counts_stores },
	{ "R-20 pebs: perf counts all loads", counts_loads },
	{ "R-20 pebs: perf counts all loads that miss", counts_misses },
	{ "R-20 pebs: each record is a sample, or accounted for", all_accounted },
	{ "R-21 pebs: CPUs and others who count come and go", hotplug_and_perf },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
