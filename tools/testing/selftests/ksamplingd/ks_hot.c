// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages are hot: what it says, against what the test PMU does.
 */
#include <stdlib.h>
#include <string.h>

#include "ks_util.h"

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

/* The pages of the histogram are those that were sampled. */
static enum psi_result histogram(void)
{
	unsigned long long pages = 0, n;
	char text[4096], *at, *save;

	use_test_pmu(64, 20000000);
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	switch_on();
	sleep_ms(2000);
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

static const struct psi_case cases[] = {
	{ "hot pages are those that are accessed most", zipf },
	{ "hot pages cool down, and consumers are told of hot ones", cools_down },
	{ "a huge page is one page", huge_pages },
	{ "the histogram has every page", histogram },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
