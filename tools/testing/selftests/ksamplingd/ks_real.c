// SPDX-License-Identifier: GPL-2.0
/*
 * Real events: the addresses that are sampled are those that a program has touched.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ks_util.h"

#define PAGES		200

/* Samples of this process with an address from @from on, by @size bytes. */
static int traced(unsigned long from, unsigned long size, bool seen[])
{
	FILE *file = fopen(TRACING "trace", "r");
	unsigned long long addr, phys;
	unsigned int pid, tid;
	char line[512], *at;
	int count = 0;

	EXPECT(file, "no trace");
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, "ksamplingd_sample: ");
		if (!at || sscanf(at, "ksamplingd_sample: pid=%u tid=%u addr=0x%llx phys=0x%llx",
				  &pid, &tid, &addr, &phys) != 4)
			continue;
		if (pid != (unsigned int)getpid() || addr < from || addr >= from + size)
			continue;
		EXPECT(phys % PAGE == addr % PAGE, "0x%llx at 0x%llx", addr, phys);
		count++;
		seen[(addr - from) / PAGE] = true;
	}
	fclose(file);
	return count;
}

/* Every second page is touched. Each of those makes one fault, at the address. */
static enum psi_result page_faults(void)
{
	static bool seen[PAGES];
	int i, count;
	char *mem;

	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_knob("source", "faults"), "source");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "199"), "period");
	trace_samples();
	memset(seen, 0, sizeof(seen));
	mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	EXPECT(mem != MAP_FAILED, "mmap");
	madvise(mem, PAGES * PAGE, MADV_NOHUGEPAGE);

	start_sampling();
	for (i = 0; i < PAGES; i += 2)
		__atomic_store_n(mem + i * PAGE + 8 * i, 1, __ATOMIC_RELAXED);
	wait_round();
	switch_off();

	count = traced((unsigned long)mem, PAGES * PAGE, seen);
	for (i = 0; i < PAGES; i++)
		EXPECT(seen[i] == !(i % 2), "page %d %s", i, seen[i] ? "seen" : "not seen");
	EXPECT(count == PAGES / 2, "%d samples of %d faults", count, PAGES / 2);
	munmap(mem, PAGES * PAGE);
	return PSI_PASS;
}

static long watched[64];

/* Each access to one variable, and none to its neighbours. */
static enum psi_result breakpoints(void)
{
	static bool seen[1];
	int i, count;

	use_breakpoint(&watched[10]);
	trace_samples();
	start_sampling();
	for (i = 0; i < 640; i++)
		__atomic_store_n(&watched[i % 64], i, __ATOMIC_RELAXED);
	wait_round();
	switch_off();

	count = traced((unsigned long)&watched[10], sizeof(long), seen);
	EXPECT(count == 10, "%d samples of 10 accesses", count);
	return PSI_PASS;
}

/* What a machine does not have is said, and harms nobody. */
static enum psi_result not_there(void)
{
	int log = open_new_log(), times, i;
	char line[256];

	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_knob("source", "pebs"), "source");
	switch_on();
	for (i = 0; i < 8; i++) {
		sleep_ms(50);
		EXPECT(!set_knob("ring_pages", "%d", 1 << i), "ring_pages");
	}
	EXPECT(get_knob("enabled"), "it has given up");
	REQUIRE(get_status("rings") == 0, "this machine has PEBS");
	times = count_in_log(log, "ksamplingd: cannot sample by pebs", line, sizeof(line));
	EXPECT(times == 1, "it says so %d times", times);
	/* With an automatic source the log says so as well, once. */
	EXPECT(!set_knob("source", "auto"), "source");
	sleep_ms(300);
	EXPECT(!set_knob("ring_pages", "2"), "ring_pages");
	sleep_ms(300);
	times = count_in_log(log, "ksamplingd: cannot sample by pebs", line, sizeof(line));
	EXPECT(times == 1, "it says so %d times", times);
	/* It does not make do with page faults: what is new is not hot. */
	EXPECT(get_status("rings") == 0, "auto samples something else");
	close(log);
	/* They are sampled if asked for; and sampling goes on as soon as it can. */
	EXPECT(!set_knob("source", "faults"), "source");
	EXPECT(wait_until(get_status("rings") > 0, 1000), "it does not sample");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-20 page faults have the addresses that were touched", page_faults },
	{ "R-20 breakpoints have the address that was touched", breakpoints },
	{ "R-20 a source that is not there", not_there },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
