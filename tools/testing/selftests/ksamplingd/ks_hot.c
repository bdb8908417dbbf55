// SPDX-License-Identifier: GPL-2.0
/*
 * which pages are hot, and who is told: what it says, against what the test PMU
 * does, and to the sample, against what this program does to a page that is watched.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_util.h"

/* So few samples are taken that what is hot is chance. */
#define TOO_SLOW	"needs a kernel that does not check itself"

#define MAX_PAGES	4096
#define HOT_PAGES	256		/* 1 MB */

struct truth {
	unsigned long pfn;
	unsigned int ppm;
};

static struct truth truth[MAX_PAGES];

/* By rank. Return: how many. */
static int read_truth(void)
{
	FILE *file = fopen(TEST_PMU "truth", "r");
	int n = 0;

	EXPECT(file, "no truth");
	while (n < MAX_PAGES &&
	       fscanf(file, "0x%lx %u\n", &truth[n].pfn, &truth[n].ppm) == 2)
		n++;
	fclose(file);
	return n;
}

static bool is_rank_below(unsigned long pfn, int rank)
{
	int i;

	for (i = 0; i < rank; i++)
		if (truth[i].pfn == pfn)
			return true;
	return false;
}

struct score {
	int listed, right;
};

/* Of the pages that are said to be hot, how many are among the first @hot? */
static struct score score_list(int hot, unsigned int order)
{
	FILE *file = fopen(VIEWS "hot_pages", "r");
	unsigned int listed_order, heat;
	struct score s = {};
	unsigned long pfn;
	int node;

	EXPECT(file, "no hot_pages");
	while (fscanf(file, "%d 0x%lx %u %u\n", &node, &pfn, &listed_order, &heat) == 4) {
		EXPECT(listed_order == order, "order %u", listed_order);
		s.listed++;
		s.right += is_rank_below(pfn, hot);
	}
	fclose(file);
	return s;
}

static enum psi_result zipf(void)
{
	double precision, recall;
	struct score s;

	REQUIRE(psi_slowness() == 1, TOO_SLOW);
	use_test_pmu(MAX_PAGES, 20000000);
	EXPECT(read_truth() == MAX_PAGES, "truth");
	EXPECT(!set_knob("hot_target_mb", "%d", HOT_PAGES * 4 / 1024), "target");
	EXPECT(!set_knob("window_ms", "200"), "window");
	/* An emulated CPU is slow, and so there are few samples in the usual 10 s. */
	EXPECT(!set_knob("cool_ms", "20000"), "cool_ms");
	switch_on();
	sleep_ms(50000);
	s = score_list(HOT_PAGES, 0);
	EXPECT(s.listed, "no hot pages");
	precision = (double)s.right / s.listed;
	recall = (double)s.right / HOT_PAGES;
	psi_note("%d pages are hot of %d; precision %.3f, recall %.3f at %llu permille",
		 s.listed, MAX_PAGES, precision, recall, get_status("use_permille"));
	EXPECT(precision >= 0.9, "precision %.3f", precision);
	EXPECT(recall >= 0.9, "recall %.3f", recall);
	return PSI_PASS;
}

/* Where the load goes elsewhere, its old pages do not stay hot for ever. */
static enum psi_result cools_down(void)
{
	unsigned long long told;
	struct score s;

	REQUIRE(psi_slowness() == 1, TOO_SLOW);
	use_test_pmu(64, 20000000);
	told = get_test_pmu("told");
	EXPECT(!set_knob("cool_ms", "500"), "cool_ms");
	EXPECT(!set_knob("window_ms", "100"), "window");
	switch_on();
	sleep_ms(2000);
	EXPECT(read_truth() == 64, "truth");
	s = score_list(64, 0);
	EXPECT(s.listed > 32, "only %d pages are hot", s.listed);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	sleep_ms(16000);
	s = score_list(64, 0);
	EXPECT(!s.listed, "%d pages are still hot", s.listed);
	EXPECT(get_test_pmu("told") == told + 64, "told of %llu pages of 64",
	       get_test_pmu("told") - told);

	/* and of each once more when it is hot again */
	EXPECT(!set_test_pmu("accesses_per_s", 20000000), "accesses_per_s");
	sleep_ms(2000);
	EXPECT(get_test_pmu("told") == told + 128, "told of %llu pages of 128",
	       get_test_pmu("told") - told);

	/* and who comes late is told of all that are hot */
	EXPECT(!set_test_pmu("consumer", 0) && !set_test_pmu("consumer", 1), "consumer");
	sleep_ms(1000);
	EXPECT(get_test_pmu("told") == told + 192, "told of %llu pages of 192",
	       get_test_pmu("told") - told);
	return PSI_PASS;
}

/* One line for a huge page, by its first pfn. */
static enum psi_result huge_pages(void)
{
	struct score s;

	use_test_pmu(1, 0);
	EXPECT(!set_test_pmu("order", 9), "order");
	if (set_test_pmu("pages", 8))
		return PSI_SKIP;
	EXPECT(!set_test_pmu("accesses_per_s", 20000000), "accesses_per_s");
	EXPECT(!set_knob("window_ms", "200"), "window");
	switch_on();
	sleep_ms(3000);
	EXPECT(read_truth() == 8, "truth");
	s = score_list(8, 9);
	EXPECT(s.listed == 8 && s.right == 8, "%d of %d are right", s.right, s.listed);
	return PSI_PASS;
}

/*
 * The pages of the histogram are those that were sampled. It is read bin by bin, so that
 * while there are samples, a page may be on its way from one bin to another.
 */
static enum psi_result histogram(void)
{
	unsigned long long pages = 0, n;
	char text[4096], *at, *save;

	use_test_pmu(64, 20000000);
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	switch_on();
	sleep_ms(2000);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	wait_round();
	EXPECT(read_text(VIEWS "histogram", text, sizeof(text)) > 0, "no histogram");
	for (at = strstr(text, "pages"); at; at = strstr(at, "pages")) {
		int bin;

		at += strlen("pages");
		for (bin = 0; bin < 16; bin++) {
			n = strtoull(at, &save, 10);
			EXPECT(save != at, "bin %d of %s", bin, text);
			pages += n;
			at = save;
		}
	}
	EXPECT(pages == 64, "%llu pages: %s", pages, text);
	return PSI_PASS;
}

/* ------------------------- A page, sample for sample ------------------------- */

#define CHUNK	1024
#define MAX_CHUNKS 96

struct listed {
	int node;
	unsigned int order, heat;
};

/* Is it hot? */
static bool is_listed(unsigned long pfn, struct listed *is)
{
	FILE *file = fopen(VIEWS "hot_pages", "r");
	unsigned long other;
	bool found = false;

	EXPECT(file, "no hot_pages");
	while (!found && fscanf(file, "%d 0x%lx %u %u\n", &is->node, &other, &is->order,
				&is->heat) == 4)
		found = other == pfn;
	fclose(file);
	return found;
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

/* Base pages that have any heat, on a node, or on all of them if that is negative. */
static unsigned long long warm_pages(int node)
{
	unsigned long long pages = 0;
	char text[4096], *at = text, *end;
	int n, bin;

	EXPECT(read_text(VIEWS "histogram", text, sizeof(text)) > 0, "no histogram");
	while ((at = strstr(at, "\nnode "))) {
		n = strtol(at + 6, &end, 10);
		at = strstr(end, "pages");
		EXPECT(at, "histogram: %s", text);
		at += strlen("pages");
		for (bin = 0; bin < 16; bin++) {
			pages += node < 0 || n == node ? strtoull(at, &end, 10) : 0;
			strtoull(at, &at, 10);
		}
	}
	return pages;
}

static enum psi_result enough_samples(void)
{
	unsigned long long told;
	struct listed is;
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

struct reuse {
	unsigned long pfn;
	atomic_int ready, free, got, go, done;
};

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
static bool watch_wanted(char *mem, bool (*is_wanted)(unsigned long pfn, unsigned long by),
			 unsigned long by)
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
static bool get_page(bool (*is_wanted)(unsigned long pfn, unsigned long by),
		     unsigned long by)
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

/* Another program */
static void reuse_page(void *arg)
{
	struct reuse *r = arg;

	/* What it needs itself it has before the page is free. */
	pfn_of((char *)r);
	r->ready = 1;
	while (!r->free)
		sleep_ms(5);
	if (!get_page(is_same, r->pfn)) {
		r->got = -1;
		for (;;)
			pause();
	}
	WATCHED[0] = 1;
	r->got = 1;
	while (!r->go)
		sleep_ms(5);
	WATCHED[0] = 2;
	r->done = 1;
	for (;;)
		pause();
}

static enum psi_result freed(void)
{
	struct reuse *r = shared_alloc(sizeof(*r));
	unsigned long long told;
	struct listed is;

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
	struct listed is, was;
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
	struct listed is, was;
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
	use_test_pmu(MAX_PAGES, 20000000);
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

/* What is cold needs no memory. */
static enum psi_result gives_back(void)
{
	unsigned long long bytes;

	use_test_pmu(MAX_PAGES, 20000000);
	EXPECT(!set_knob("cool_ms", "100"), "cool_ms");
	EXPECT(!set_knob("window_ms", "100"), "window");
	switch_on();
	sleep_ms(2000);
	bytes = get_status("heat_bytes");
	EXPECT(bytes > 0, "no heat");
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	sleep_ms(5000);
	EXPECT(!get_status("heat_bytes"), "of %llu bytes, %llu are left", bytes,
	       get_status("heat_bytes"));
	/* and can be had again */
	EXPECT(!set_test_pmu("accesses_per_s", 20000000), "accesses_per_s");
	sleep_ms(1000);
	EXPECT(get_status("heat_bytes") > 0, "no heat");
	return PSI_PASS;
}

/* The sum of what zones have for users; all nodes are of the fastest tier. */
static unsigned long long most_kb(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	unsigned long long pages = 0, high = 0, n;
	char line[256];

	EXPECT(file, "no zoneinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " high %llu", &n) == 1)
			high = n;
		if (sscanf(line, " managed %llu", &n) == 1)
			pages += n - (n < high ? n : high);
	}
	fclose(file);
	return pages * 4;
}

static enum psi_result target(void)
{
	unsigned long long kb, target_kb;
	int i = 0;

	use_test_pmu(1, 0);
	EXPECT(!set_knob("window_ms", "100"), "window");
	switch_on();
	/* Watermarks may be boosted for a while. */
	do {
		kb = most_kb();
		wait_windows(2);
		target_kb = get_status("hot_target_kb");
	} while (kb != most_kb() && i++ < 20);
	EXPECT(target_kb == kb, "%llu kB for %llu kB", target_kb, kb);
	EXPECT(!set_knob("hot_target_mb", "3"), "hot_target_mb");
	wait_windows(2);
	EXPECT(get_status("hot_target_kb") == 3072, "%llu kB of 3 MB",
	       get_status("hot_target_kb"));
	return PSI_PASS;
}

/* -------------------------------- Consumers -------------------------------- */

static void no_second(void)
{
	set_test_pmu("second", 0);
	write_text(TEST_PMU "later", "N");
}

static void use_consumers(void)
{
	use_test_pmu(64, 20000000);
	REQUIRE(!access(TEST_PMU "second", F_OK), "no second consumer");
	undo_later(no_second);
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	EXPECT(!set_knob("window_ms", "200"), "window");
}

/* Who wants to be asked later is, and nobody else. */
static enum psi_result later(void)
{
	unsigned long long told, asked, windows;

	REQUIRE(psi_slowness() == 1, TOO_SLOW);
	use_consumers();
	EXPECT(!write_text(TEST_PMU "later", "Y"), "later");
	EXPECT(!set_test_pmu("second", 1), "second");
	told = get_test_pmu("told");
	asked = get_test_pmu("asked");
	switch_on();
	sleep_ms(3000);
	EXPECT(!write_text(TEST_PMU "later", "N"), "later");
	windows = get_status("windows");
	asked = get_test_pmu("asked") - asked;
	psi_note("asked %llu times of 64 pages in %llu windows", asked, windows);
	EXPECT(get_test_pmu("told") - told == 64, "who does not ask for it is told %llu times",
	       get_test_pmu("told") - told);
	EXPECT(asked > 64 * windows * 3 / 4, "asked %llu times of 64 pages", asked);
	EXPECT(asked <= 64 * (windows + 1), "asked %llu times of 64 pages", asked);

	sleep_ms(1000);
	asked = get_test_pmu("asked");
	sleep_ms(1000);
	EXPECT(get_test_pmu("asked") == asked, "asked again, which nobody wants");
	EXPECT(get_test_pmu("told") - told == 64, "told of %llu pages of 64",
	       get_test_pmu("told") - told);
	EXPECT(!get_test_pmu("stray"), "called without being registered");
	return PSI_PASS;
}

struct told {
	unsigned long pfn;
	unsigned int order, heat;
	int nid, from_nid, store;
};

/* Sampled on one CPU, by loads or stores: what are consumers told? */
static struct told told_on(int cpu, bool stores)
{
	struct told t = {};
	char text[128];

	EXPECT(!set_knob("cpus", "%d", cpu), "cpus");
	EXPECT(!set_test_pmu("accesses_per_s", stores ? 0 : 20000000), "accesses_per_s");
	EXPECT(!set_test_pmu("stores_per_s", stores ? 200000000 : 0), "stores_per_s");
	switch_on();
	sleep_ms(1000);
	switch_off();
	EXPECT(read_text(TEST_PMU "last", text, sizeof(text)) > 0, "last");
	EXPECT(sscanf(text, "0x%lx %u %d %d %u %d", &t.pfn, &t.order, &t.nid, &t.from_nid,
		      &t.heat, &t.store) == 6, "last: %s", text);
	EXPECT(is_rank_below(t.pfn, 64), "told of 0x%lx", t.pfn);
	EXPECT(!t.order && t.heat >= 1024, "order %u, heat %u", t.order, t.heat);
	EXPECT(t.store == stores, "%d, not %d stores", t.store, stores);
	return t;
}

static enum psi_result what_is_told(void)
{
	int last = online_cpus() - 1, node, kinds;
	struct told t;

	use_consumers();
	EXPECT(read_truth() == 64, "truth");
	node = !access("/sys/devices/system/node/node1", F_OK);
	for (kinds = 0; kinds < 2; kinds++) {
		t = told_on(0, kinds);
		EXPECT(!t.from_nid, "accessed from node %d", t.from_nid);
		t = told_on(last, kinds);
		EXPECT(t.from_nid == node, "accessed from node %d, not %d", t.from_nid, node);
	}
	return PSI_PASS;
}

/* It comes and goes; it is not called when it has gone, and others do not notice. */
static enum psi_result come_and_go(void)
{
	unsigned long long told, asked;
	int i;

	REQUIRE(psi_slowness() == 1, TOO_SLOW);
	use_consumers();
	told = get_test_pmu("told");
	EXPECT(!write_text(TEST_PMU "later", "Y"), "later");
	switch_on();
	for (i = 0; i < 200; i++) {
		EXPECT(!set_test_pmu("second", i % 2), "second");
		sleep_ms(i % 20);
	}
	EXPECT(!set_test_pmu("second", 0), "second");
	EXPECT(!get_test_pmu("stray"), "called without being registered");
	asked = get_test_pmu("asked");
	sleep_ms(1000);
	EXPECT(get_test_pmu("asked") == asked, "called without being registered");
	EXPECT(get_test_pmu("told") == told + 64, "another one was told of %llu pages of 64",
	       get_test_pmu("told") - told);
	EXPECT(!write_text(TEST_PMU "later", "N"), "later");
	EXPECT(!set_test_pmu("second", 1), "second");
	sleep_ms(1000);
	EXPECT(get_test_pmu("asked") == asked + 64, "told of %llu pages that were hot, of 64",
	       get_test_pmu("asked") - asked);
	return PSI_PASS;
}

/* Four have place, also while pages become hot, and one may let in another when it is called. */
static enum psi_result places(void)
{
	int i;

	use_consumers();
	EXPECT(get_test_pmu("places") == 3, "one is there, %llu more have place",
	       get_test_pmu("places"));
	EXPECT(!write_text(TEST_PMU "invites", "Y"), "invites");
	switch_on();
	for (i = 0; i < 20; i++) {
		get_test_pmu("places");
		sleep_ms(50);
	}
	EXPECT(get_test_pmu("second") == 1, "it was not called, or could not register");
	EXPECT(get_test_pmu("places") == 2, "two are there, %llu more have place",
	       get_test_pmu("places"));
	EXPECT(get_test_pmu("asked") > 0, "who was let in is told of nothing");
	EXPECT(!get_test_pmu("stray"), "called without being registered");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "hot pages are those that are accessed most", zipf },
	{ "hot pages cool down, and consumers are told of hot ones", cools_down },
	{ "a huge page is one page", huge_pages },
	{ "the histogram has every page", histogram },
	{ "R-29 hot is what has been sampled twice", enough_samples },
	{ "R-29 heat is gone when a page is freed", freed },
	{ "R-29 heat goes along with a page that is moved", migrated },
	{ "R-29 heat goes along when memory goes", memory_goes },
	{ "R-29 memory comes and goes while it is sampled", memory_goes_and_comes },
	{ "R-29 what is cold takes no memory", gives_back },
	{ "R-29 what may be hot fits into the fast nodes", target },
	{ "R-30 who says later is asked again", later },
	{ "R-30 what a consumer is told", what_is_told },
	{ "R-30 consumers come and go", come_and_go },
	{ "R-30 there is place for four consumers", places },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
