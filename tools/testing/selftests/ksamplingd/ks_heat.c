// SPDX-License-Identifier: GPL-2.0
/*
 * the heat of a page, to the sample: what is said of it, against what this program does
 * to a page that is watched; and where the heat goes when the page goes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_util.h"

/* Is it hot? */
static bool is_listed(unsigned long pfn, struct hot_page *is)
{
	struct hot_page pages[64];
	unsigned int nr = read_hot_pages(pages, ARRAY_SIZE(pages));

	while (nr--) {
		*is = pages[nr];
		if (is->pfn == pfn)
			return true;
	}
	return false;
}

/* Where the page is that was sampled last. */
static unsigned long watched_pfn(void)
{
	FILE *file = fopen(TRACING "trace", "r");
	unsigned long long addr, phys;
	unsigned long pfn = 0;
	unsigned int pid, tid;
	char line[512], *at;

	EXPECT(file, "no trace");
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, "ksamplingd_sample: ");
		if (at && sscanf(at, "ksamplingd_sample: pid=%u tid=%u addr=0x%llx phys=0x%llx",
				 &pid, &tid, &addr, &phys) == 4 &&
		    addr == (unsigned long)WATCHED)
			pfn = phys / PAGE;
	}
	fclose(file);
	EXPECT(pfn, "no sample of the page");
	return pfn;
}

/* All that is sampled fits. */
static void watch_page(void)
{
	use_breakpoint(WATCHED);
	EXPECT(!set_knob("window_ms", "100"), "window");
	trace_samples();
	map_watched();
	/* It is there, and nobody has seen how that came. */
	WATCHED[0] = 1;
	start_sampling();
	wait_windows(2);
}

static enum psi_result enough_samples(void)
{
	unsigned long long told;
	struct hot_page is;
	unsigned long pfn;

	watch_page();
	told = get_test_pmu("told");
	touch_watched(1);
	pfn = watched_pfn();
	EXPECT(!is_listed(pfn, &is), "sampled once, it is hot, with a heat of %u", is.heat);
	EXPECT(get_test_pmu("told") == told, "consumers are told so");
	touch_watched(1);
	EXPECT(is_listed(pfn, &is) && is.heat == 1024, "sampled twice, it is not hot");
	EXPECT(get_test_pmu("told") == told + 1, "consumers are not told");
	touch_watched(20);
	EXPECT(get_test_pmu("told") == told + 1, "consumers are told again");

	/* With another limit */
	EXPECT(!set_knob("hot_samples", "100"), "hot_samples");
	wait_windows(2);
	EXPECT(!is_listed(pfn, &is), "sampled 22 times, it is hot");
	touch_watched(78);
	EXPECT(is_listed(pfn, &is) && is.heat == 51200, "sampled 100 times, it is not hot");
	EXPECT(get_test_pmu("told") == told + 2, "consumers are not told");
	return PSI_PASS;
}

/* ------------------------------ Pages that go ------------------------------ */

#define CHUNK		1024
#define MAX_CHUNKS	96

typedef bool (*is_wanted_t)(unsigned long pfn, unsigned long by);

/* Where a page of ours is, or 0. */
static unsigned long pfn_of(const char *page)
{
	FILE *file = fopen("/proc/self/pagemap", "r");
	unsigned long long entry = 0;

	if (file) {
		fseek(file, (unsigned long)page / PAGE * sizeof(entry), SEEK_SET);
		if (fread(&entry, sizeof(entry), 1, file) != 1)
			entry = 0;
		fclose(file);
	}
	return entry & ((1ULL << 55) - 1);
}

/* Return: does a page of this memory come to be the one that is watched? */
static bool watch_wanted(char *mem, is_wanted_t is_wanted, unsigned long by)
{
	int n;

	for (n = 0; n < CHUNK; n++) {
		mem[n * PAGE] = 1;
		if (is_wanted(pfn_of(mem + n * PAGE), by))
			return mremap(mem + n * PAGE, PAGE, PAGE,
				      MREMAP_MAYMOVE | MREMAP_FIXED, WATCHED) == WATCHED;
	}
	return false;
}

/* Takes memory until it has a page that is wanted; gives back the others. */
static bool get_page(is_wanted_t is_wanted, unsigned long by)
{
	bool found = false;
	char *mem[MAX_CHUNKS];
	int nr;

	EXPECT(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "PR_SET_THP_DISABLE");
	for (nr = 0; !found && nr < MAX_CHUNKS; nr++) {
		mem[nr] = mmap(NULL, CHUNK * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem[nr] == MAP_FAILED)
			break;
		found = watch_wanted(mem[nr], is_wanted, by);
	}
	while (nr--)
		munmap(mem[nr], CHUNK * PAGE);
	return found;
}

static bool is_same(unsigned long pfn, unsigned long other)
{
	return pfn == other;
}

struct reuse {
	unsigned long pfn;
	atomic_int ready, free, got, go, done;
};

/* Another program */
static void reuse_page(void *arg)
{
	struct reuse *r = arg;

	/* What it needs itself it has before the page is free. */
	pfn_of((char *)r);
	r->ready = 1;
	while (!r->free)
		sleep_ms(5);
	if (get_page(is_same, r->pfn)) {
		WATCHED[0] = 1;
		r->got = 1;
		while (!r->go)
			sleep_ms(5);
		WATCHED[0] = 2;
		r->done = 1;
	} else {
		r->got = -1;
	}
	for (;;)
		pause();
}

static enum psi_result freed(void)
{
	struct reuse *r = shared_alloc(sizeof(*r));
	unsigned long long told;
	struct hot_page is;

	/* A page that is freed goes to a list of its CPU first. */
	EXPECT(!pin_to_cpu(0), "CPU 0");
	start_load(0, reuse_page, r);
	EXPECT(wait_until(r->ready, 5000), "nobody begins");
	watch_page();
	told = get_test_pmu("told");
	touch_watched(4);
	r->pfn = watched_pfn();
	EXPECT(is_listed(r->pfn, &is), "it is not hot");
	EXPECT(get_test_pmu("told") == told + 1, "consumers are not told");

	munmap(WATCHED, PAGE);
	/* A batch of pages on their way to a list may still have it, and this drains those. */
	write_text("/proc/sys/vm/drop_caches", "1");
	EXPECT(!is_listed(r->pfn, &is), "it is free, and hot");
	wait_windows(2);
	EXPECT(!warm_pages(-1), "the histogram has it");

	r->free = 1;
	EXPECT(wait_until(r->got, 60000), "nobody looks for that page");
	REQUIRE(r->got > 0, "nobody gets that page");
	wait_round();
	EXPECT(!is_listed(r->pfn, &is), "another program's page is hot by what was there");
	EXPECT(get_test_pmu("told") == told + 1, "consumers are told so");
	r->go = 1;
	EXPECT(wait_until(r->done, 5000), "nobody touches it");
	wait_round();
	EXPECT(is_listed(r->pfn, &is) && is.heat == 1024, "it does not become hot");
	EXPECT(get_test_pmu("told") == told + 2, "consumers are not told of it");
	return PSI_PASS;
}

static enum psi_result migrated(void)
{
	void *page = WATCHED;
	struct hot_page is, was;
	unsigned long long told;
	unsigned long pfn;
	int node, status;

	REQUIRE(!access("/sys/devices/system/node/node1", F_OK), "one node");
	watch_page();
	touch_watched(4);
	told = get_test_pmu("told");
	pfn = watched_pfn();
	EXPECT(is_listed(pfn, &was), "it is not hot");
	node = !was.node;
	REQUIRE(!syscall(SYS_move_pages, 0, 1, &page, &node, &status, 2 /* MPOL_MF_MOVE */) &&
		status == node, "it cannot be moved: %d", status);

	EXPECT(!is_listed(pfn, &is), "what it was moved from is hot, on node %d", is.node);
	wait_windows(2);
	EXPECT(warm_pages(node) == 1 && !warm_pages(!node),
	       "the histogram has %llu pages there, and %llu here", warm_pages(node),
	       warm_pages(!node));
	EXPECT(get_test_pmu("told") == told, "consumers are told of what was not sampled");
	touch_watched(1);
	pfn = watched_pfn();
	EXPECT(is_listed(pfn, &is) && is.node == node && is.heat == was.heat + 512,
	       "its heat was %u, and is %u on node %d", was.heat, is.heat, is.node);
	EXPECT(get_test_pmu("told") == told + 1, "consumers are not told of where it is now");
	touch_watched(1);
	EXPECT(get_test_pmu("told") == told + 1, "consumers are told of that again");
	return PSI_PASS;
}

/* ------------------------- Memory that comes and goes ------------------------- */

#define BLOCKS	"/sys/devices/system/memory/"

static int block_going = -1;

static int set_block(int block, const char *state)
{
	char path[64];

	snprintf(path, sizeof(path), BLOCKS "memory%d/state", block);
	return write_text(path, state);
}

static void block_comes_back(void)
{
	if (block_going >= 0)
		set_block(block_going, "online_movable");
	block_going = -1;
}

static unsigned long pages_of_block(void)
{
	char text[32];

	REQUIRE(read_text(BLOCKS "block_size_bytes", text, sizeof(text)) > 0,
		"no memory hotplug");
	return strtoul(text, NULL, 16) / PAGE;
}

/* The kernel has nothing of its own there. */
static bool is_movable(int block)
{
	char path[64], zones[64];

	snprintf(path, sizeof(path), BLOCKS "memory%d/valid_zones", block);
	return read_text(path, zones, sizeof(zones)) > 0 && !strncmp(zones, "Movable", 7);
}

/* Return: one that can go, and is back; -1: there is none. */
static int find_block(void)
{
	undo_later(block_comes_back);
	for (block_going = 0; block_going < 64; block_going++)
		if (is_movable(block_going) && !set_block(block_going, "offline"))
			return set_block(block_going, "online_movable") ? -1 : block_going;
	block_going = -1;
	return -1;
}

static bool is_in_block(unsigned long pfn, unsigned long block)
{
	return pfn / pages_of_block() == block;
}

/* A page moves because the memory that it is in goes; its heat is not left behind. */
static enum psi_result memory_goes(void)
{
	int block, tries, err = -1;
	struct hot_page is, was;
	unsigned long pfn;

	pages_of_block();
	block = find_block();
	REQUIRE(block >= 0, "no block of memory can go");
	/* on whose node it is */
	EXPECT(!pin_to_cpu(0), "CPU 0");
	watch_page();
	REQUIRE(get_page(is_in_block, block), "nobody gets a page of block %d", block);
	touch_watched(4);
	pfn = watched_pfn();
	EXPECT(is_in_block(pfn, block), "it is elsewhere");
	EXPECT(is_listed(pfn, &was), "it is not hot");

	for (tries = 0; err && tries < 20; tries++)
		err = set_block(block, "offline");
	EXPECT(!err, "block %d does not go: %d", block, err);
	EXPECT(!is_listed(pfn, &is), "what has gone is hot");
	wait_windows(2);
	EXPECT(warm_pages(-1) == 1, "the histogram has %llu pages", warm_pages(-1));
	touch_watched(1);
	EXPECT(!is_in_block(watched_pfn(), block), "it is where it was");
	EXPECT(is_listed(watched_pfn(), &is) && is.heat == was.heat + 512,
	       "its heat was %u, and is %u", was.heat, is.heat);

	block_comes_back();
	EXPECT(!is_listed(pfn, &is), "what has come back is hot");
	return PSI_PASS;
}

static void toggle_block(void *unused)
{
	for (;;) {
		set_block(block_going, "offline");
		sleep_ms(20);
		set_block(block_going, "online_movable");
		sleep_ms(20);
	}
}

/*
 * Nobody waits for the other, and nothing is left of what goes. How many samples
 * the quota is enough for is not asked: KASAN makes them ten times as dear.
 */
static enum psi_result memory_goes_and_comes(void)
{
	unsigned long long samples;

	pages_of_block();
	REQUIRE(find_block() >= 0, "no block of memory can go");
	use_test_pmu(4096, 20000000);
	start_load(0, toggle_block, NULL);
	switch_on();
	wait_windows(1);
	samples = get_status("samples");
	sleep_ms(5000);
	samples = get_status("samples") - samples;
	psi_note("%llu samples in 5 s", samples);
	EXPECT(samples > 0, "nothing was sampled");
	switch_off();
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-29 hot is what has been sampled twice", enough_samples },
	{ "R-29 heat is gone when a page is freed", freed },
	{ "R-29 heat goes along with a page that is moved", migrated },
	{ "R-29 heat goes along when memory goes", memory_goes },
	{ "R-29 memory comes and goes while it is sampled", memory_goes_and_comes },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
