// SPDX-License-Identifier: GPL-2.0
/*
 * What a record of PEBS costs the program that is sampled, on a processor that knows how
 * many it has written (ks_truth.h), and whose clock counts instructions. Prints
 *
 *	figure interrupt_ns N	when the buffer fills up, and an interrupt empties it
 *	figure read_ns N	when the event is read before that
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_truth.h"
#include "ks_util.h"

#define MISSES_EVENT	0x20d1
#define LINES		(128 * 1024UL)
#define ROUNDS		200
#define PERIOD		1999
#define RING_PAGES	64

static struct perf_event_mmap_page *ring;

/* As ksamplingd has them; with the longest period there is no record at all. */
static int open_event(__u64 period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_RAW, .config = MISSES_EVENT,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR,
		.sample_period = period, .precise_ip = 2, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT(fd >= 0, "perf_event_open");
	ring = mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(ring != MAP_FAILED, "mmap");
	return fd;
}

static void close_event(int fd)
{
	munmap(ring, (RING_PAGES + 1) * 4096);
	close(fd);
}

/* Each line is a miss. */
static void walk(__u32 *lines)
{
	size_t at = 0, i;

	for (i = 0; i < LINES; i++) {
		at = (at * 1664525 + 1013904223) % LINES;
		lines[at * 16]++;
	}
}

struct cost {
	__u64 ns, records, interrupts;
};

/* Nobody looks at the records; the ring is as good as empty. */
static struct cost measure(__u32 *lines, __u64 period, bool reads)
{
	struct truth *truth = get_truth();
	int fd = open_event(period), round;
	struct cost c = { now_ns(), look_at(&truth->written), look_at(&truth->interrupts) };
	__u64 count;

	for (round = 0; round < ROUNDS; round++) {
		walk(lines);
		ring->data_tail = ring->data_head;
		if (reads)
			EXPECT(read(fd, &count, sizeof(count)) == sizeof(count), "read");
	}
	c.ns = now_ns() - c.ns;
	c.records = look_at(&truth->written) - c.records;
	c.interrupts = look_at(&truth->interrupts) - c.interrupts;
	close_event(fd);
	return c;
}

static void report(const char *name, const struct cost *with, const struct cost *without)
{
	psi_note("%s: %llu records, %llu interrupts, %llu ns more", name,
		 (unsigned long long)with->records, (unsigned long long)with->interrupts,
		 (unsigned long long)(with->ns - without->ns));
	printf("figure %s_ns %.1f\n", name, (double)(with->ns - without->ns) / with->records);
}

static enum psi_result figures(void)
{
	struct cost without, with;
	__u32 *lines;

	REQUIRE(get_truth(), NO_TRUTH);
	EXPECT(!pin_to_cpu(0), "CPU 0");
	lines = mmap(NULL, LINES * 64, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(lines != MAP_FAILED, "mmap");

	without = measure(lines, 1ULL << 31, false);
	with = measure(lines, PERIOD, false);
	EXPECT(with.interrupts, "no interrupt");
	report("interrupt", &with, &without);

	without = measure(lines, 1ULL << 31, true);
	with = measure(lines, PERIOD, true);
	EXPECT(!with.interrupts, "%llu interrupts", (unsigned long long)with.interrupts);
	report("read", &with, &without);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "figures", figures },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
