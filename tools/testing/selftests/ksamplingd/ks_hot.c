// SPDX-License-Identifier: GPL-2.0
/*
 * which pages are hot, and which consumers hear of them: what it says,
 * against what the test PMU does. To the sample, that is in ks_heat.c.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "ks_util.h"

/* So few samples are taken that what is hot is chance. */
#define TOO_SLOW	"needs a kernel that does not check itself"

#define MAX_PAGES	4096
#define HOT_PAGES	256		/* 1 MB */
#define PER_S		20000000	/* accesses */

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
	static struct hot_page pages[2 * MAX_PAGES];
	struct score s = { .listed = read_hot_pages(pages, ARRAY_SIZE(pages)) };
	int i;

	for (i = 0; i < s.listed; i++) {
		EXPECT(pages[i].order == order, "order %u", pages[i].order);
		s.right += is_rank_below(pages[i].pfn, hot);
	}
	return s;
}

/* How often consumers have been told of a page since then, or were asked. */
static void expect_since(unsigned long long before, const char *what, unsigned int times)
{
	EXPECT(get_test_pmu(what) == before + times, "%s of %llu pages, not %u", what,
	       get_test_pmu(what) - before, times);
}

/* The rarest page may be sampled late. */
static void expect_soon(unsigned long long before, const char *what, unsigned int times)
{
	wait_slowly(get_test_pmu(what) >= before + times, 5000);
	expect_since(before, what, times);
}

static enum psi_result zipf(void)
{
	double precision, recall;
	struct score s;

	REQUIRE(psi_slowness() == 1, TOO_SLOW);
	use_test_pmu(MAX_PAGES, PER_S);
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
	use_test_pmu(64, PER_S);
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
	expect_since(told, "told", 64);

	/* and of each once more when it is hot again */
	EXPECT(!set_test_pmu("accesses_per_s", PER_S), "accesses_per_s");
	expect_soon(told, "told", 128);

	/* and a late consumer is told of all that are hot */
	EXPECT(!set_test_pmu("consumer", 0) && !set_test_pmu("consumer", 1), "consumer");
	expect_soon(told, "told", 192);
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
	EXPECT(!set_test_pmu("accesses_per_s", PER_S), "accesses_per_s");
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
	use_test_pmu(64, PER_S);
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	switch_on();
	sleep_ms(2000);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	wait_round();
	EXPECT(warm_pages(-1) == 64, "%llu pages", warm_pages(-1));
	return PSI_PASS;
}

/* What is cold needs no memory. */
static enum psi_result gives_back(void)
{
	unsigned long long bytes;

	use_test_pmu(MAX_PAGES, PER_S);
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
	EXPECT(!set_test_pmu("accesses_per_s", PER_S), "accesses_per_s");
	sleep_ms(1000);
	EXPECT(get_status("heat_bytes") > 0, "no heat");
	return PSI_PASS;
}

/*
 * 32 huge pages, and memory for the heat of eight. Those that are accessed most are found all
 * the same, as the others take turns.
 */
static enum psi_result bounded(void)
{
	const unsigned long long bytes = 8 * PAGE;
	unsigned long long memory = number_in("/proc/meminfo", "MemTotal:") * 1024, most = 0;
	int i;

	use_test_pmu(1, PER_S / 50);
	EXPECT(!set_test_pmu("order", 9), "order");
	EXPECT(!set_test_pmu("pages", 32), "pages");
	EXPECT(read_truth() == 32, "truth");
	EXPECT(!set_knob("hot_target_mb", "8"), "target");
	EXPECT(!set_knob("window_ms", "200"), "window");
	EXPECT(!set_knob("heat_memory_ppm", "%llu", bytes * 1000000 / memory + 1), "memory");
	switch_on();
	/* Three rounds of a minute */
	for (i = 0; i < 180; i++) {
		sleep_ms(1000);
		if (get_status("heat_bytes") > most)
			most = get_status("heat_bytes");
	}
	psi_note("%llu bytes at most, %llu blocks dropped", most,
		 get_status("heat_blocks_dropped"));
	EXPECT(most == bytes, "%llu bytes", most);
	EXPECT(get_status("heat_blocks_dropped") >= 6, "the others have no turn");
	EXPECT(get_status("heat_blocks_dropped") <= 24, "they are dropped too soon");
	EXPECT(score_list(3, 9).right == 3, "not all that are accessed most are hot");
	/* none of it stays behind */
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	wait_windows(10);
	EXPECT(warm_pages(-1) <= 512 * 8, "%llu pages are warm", warm_pages(-1));
	return PSI_PASS;
}

/* Free beyond the watermarks, or on LRU lists; all nodes are of the fastest tier. */
static unsigned long long usable_kb(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	unsigned long long pages = 0, free = 0, n;
	char line[256];

	EXPECT(file, "no zoneinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " pages free %llu", &n) == 1)
			free = n;
		if (sscanf(line, " high %llu", &n) == 1)
			pages += free - (n < free ? n : free);
		if (sscanf(line, " nr_zone_inactive_%*s %llu", &n) == 1 ||
		    sscanf(line, " nr_zone_active_%*s %llu", &n) == 1)
			pages += n;
	}
	fclose(file);
	return pages * 4;
}

static unsigned long long target_kb(void)
{
	wait_windows(2);
	return get_status("hot_target_kb");
}

/* Memory that cannot be replaced by hot pages is not for them. */
static enum psi_result target(void)
{
	const size_t size = 32 << 20;
	unsigned long long kb;
	void *locked;

	use_test_pmu(1, 0);
	EXPECT(!set_knob("window_ms", "100"), "window");
	switch_on();
	/* What the last case has used is still being freed. */
	EXPECT(wait_slowly(close_to(get_status("hot_target_kb"), kb = usable_kb(), 1024), 5000),
	       "%llu kB for %llu kB", target_kb(), kb);

	locked = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(locked != MAP_FAILED && !mlock(locked, size), "mlock");
	EXPECT(target_kb() + (size >> 10) < kb + 2048, "%llu kB of %llu with %zu mlocked",
	       target_kb(), kb, size >> 10);
	munmap(locked, size);

	EXPECT(!set_knob("hot_target_mb", "3"), "hot_target_mb");
	EXPECT(target_kb() == 3072, "%llu kB of 3 MB", target_kb());
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
	use_test_pmu(64, PER_S);
	REQUIRE(!access(TEST_PMU "second", F_OK), "no second consumer");
	undo_later(no_second);
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	EXPECT(!set_knob("window_ms", "200"), "window");
}

/* A consumer that wants to be asked later is, and no other. */
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
	expect_since(told, "told", 64);
	EXPECT(asked > 64 * windows * 3 / 4, "asked %llu times of 64 pages", asked);
	EXPECT(asked <= 64 * (windows + 1), "asked %llu times of 64 pages", asked);

	/* Of each once more, at its next sample; of the rarest there are four a second. */
	sleep_ms(5000);
	asked = get_test_pmu("asked");
	sleep_ms(1000);
	EXPECT(get_test_pmu("asked") == asked, "asked again, which nobody wants");
	expect_since(told, "told", 64);
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
	EXPECT(!set_test_pmu("accesses_per_s", stores ? 0 : PER_S), "accesses_per_s");
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
	expect_since(told, "told", 64);
	EXPECT(!write_text(TEST_PMU "later", "N"), "later");
	EXPECT(!set_test_pmu("second", 1), "second");
	expect_soon(asked, "asked", 64);
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
	EXPECT(get_test_pmu("asked") > 0, "the consumer that was let in is told of nothing");
	EXPECT(!get_test_pmu("stray"), "called without being registered");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "hot pages are those that are accessed most", zipf },
	{ "hot pages cool down, and consumers are told of hot ones", cools_down },
	{ "a huge page is one page", huge_pages },
	{ "the histogram has every page", histogram },
	{ "R-29 what is cold takes no memory", gives_back },
	{ "R-29 heat takes no more memory than it may", bounded },
	{ "R-29 what may be hot is what can be replaced in the fast nodes", target },
	{ "R-30 a consumer that says later is asked again", later },
	{ "R-30 what a consumer is told", what_is_told },
	{ "R-30 consumers come and go", come_and_go },
	{ "R-30 there is place for four consumers", places },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
