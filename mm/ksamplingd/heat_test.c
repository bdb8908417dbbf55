// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of heat.c, against a model that halves every page at each epoch and
 * counts them all; and R-29, what is hot.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "heat.h"

#define PAGES	64

static const struct ks_limits no_limits = { .heat = 1, .samples = 1 };

struct model {
	u32 heat[PAGES];
	u8 order[PAGES];
};

static void model_sample(struct model *m, int page, u8 order)
{
	m->heat[page] = min(m->heat[page] + 512ULL / (1U << order), (u64)U32_MAX);
	m->order[page] = order;
}

static void model_cool(struct model *m)
{
	int page;

	for (page = 0; page < PAGES; page++)
		m->heat[page] /= 2;
}

static unsigned long model_bin(const struct model *m, int bin)
{
	unsigned long pages = 0;
	int page;

	for (page = 0; page < PAGES; page++)
		if (m->heat[page] >= 1ULL << bin && m->heat[page] < 2ULL << bin)
			pages += 1UL << m->order[page];
	return pages;
}

static u32 sample(struct ks_heat *h, struct ks_histogram *hist, u32 epoch, u8 order)
{
	struct ks_heat before = *h;

	ks_heat_sample(h, epoch, order, no_limits);
	ks_histogram_replace(hist, before, *h, epoch);
	return h->heat;
}

/* As a page that is freed. */
static void forget(struct ks_heat *h, struct ks_histogram *hist, u32 epoch)
{
	ks_histogram_add(hist, ks_heat_bin(*h, epoch), -BIT(h->order));
	h->word = 0;
}

static void any_history(struct kunit *test)
{
	struct ks_heat *pages = kunit_kcalloc(test, PAGES, sizeof(*pages), GFP_KERNEL);
	struct ks_histogram hist = {};
	struct model m = {};
	struct rnd_state rnd;
	u32 epoch = U32_MAX - 500;	/* it wraps */
	int step, page, bin;
	u8 order;
	u32 heat;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	prandom_seed_state(&rnd, 5);
	for (page = 0; page < PAGES; page++)
		pages[page].epoch = epoch;

	for (step = 0; step < 50000; step++) {
		/* Some pages are much hotter than others. */
		page = prandom_u32_state(&rnd) % PAGES;
		page = page * page / PAGES;
		order = prandom_u32_state(&rnd) % 8 ? m.order[page] :
			prandom_u32_state(&rnd) % (KS_MAX_ORDER + 1);
		model_sample(&m, page, order);
		heat = sample(&pages[page], &hist, epoch, order);
		KUNIT_ASSERT_EQ(test, heat, m.heat[page]);

		if (prandom_u32_state(&rnd) % 8 == 0) {
			page = prandom_u32_state(&rnd) % PAGES;
			forget(&pages[page], &hist, epoch);
			m.heat[page] = 0;
		}

		while (prandom_u32_state(&rnd) % 40 == 0) {
			model_cool(&m);
			ks_histogram_cool(&hist);
			epoch++;
		}
		for (page = 0; page < PAGES; page++)
			KUNIT_ASSERT_EQ(test, ks_heat_now(pages[page], epoch), m.heat[page]);
		for (bin = 0; bin < KS_NR_BINS; bin++)
			KUNIT_ASSERT_EQ(test, hist.bin[bin], model_bin(&m, bin));
	}
}

/* A huge page that is sampled 512 times is as hot as one base page after one sample. */
static void huge_pages_compare_with_base_pages(struct kunit *test)
{
	struct ks_heat base = {}, huge = {};
	struct ks_histogram hist = {};
	int i;

	sample(&base, &hist, 0, 0);
	for (i = 0; i < 512; i++)
		sample(&huge, &hist, 0, 9);
	KUNIT_EXPECT_EQ(test, base.heat, huge.heat);
	KUNIT_EXPECT_EQ(test, hist.bin[9], 513);
}

/* It neither wraps nor stays for ever. */
static void heat_has_an_end(struct kunit *test)
{
	struct ks_histogram hist = {};
	u32 epoch = 7;
	struct ks_heat h = { .heat = U32_MAX - 1000, .epoch = epoch };
	int i;

	hist.bin[31] = 1;
	for (i = 0; i < 10; i++)
		sample(&h, &hist, epoch, 0);
	KUNIT_EXPECT_EQ(test, hist.bin[31], 1);
	KUNIT_EXPECT_EQ(test, ks_heat_now(h, epoch), U32_MAX);
	KUNIT_EXPECT_EQ(test, ks_heat_now(h, epoch + 31), 1);
	KUNIT_EXPECT_EQ(test, ks_heat_now(h, epoch + 32), 0);
	KUNIT_EXPECT_EQ(test, ks_heat_now(h, epoch + 64), 0);
	KUNIT_EXPECT_EQ(test, ks_heat_now(h, epoch - 1), 0);
}

/* Each bin goes down by one, and what comes back more than once is not less than nothing. */
static void histogram_has_ends(struct kunit *test)
{
	struct ks_histogram hist = { .bin = { [0] = 9, [1] = 1, [30] = 30, [31] = 31 } };

	ks_histogram_cool(&hist);
	KUNIT_EXPECT_EQ(test, hist.bin[0], 1);
	KUNIT_EXPECT_EQ(test, hist.bin[1], 0);
	KUNIT_EXPECT_EQ(test, hist.bin[29], 30);
	KUNIT_EXPECT_EQ(test, hist.bin[30], 31);
	KUNIT_EXPECT_EQ(test, hist.bin[31], 0);
	ks_histogram_add(&hist, 30, -512);
	KUNIT_EXPECT_EQ(test, hist.bin[30], 0);
	ks_histogram_add(&hist, -1, 512);
	KUNIT_EXPECT_EQ(test, hist.bin[0], 1);
}

static void threshold(struct kunit *test)
{
	struct ks_histogram hist = { .bin = { [2] = 1000, [5] = 100, [9] = 20, [31] = 4 } };

	/* Everything has a place, */
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 5000), 1);
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 1124), 1);
	/* all but one page, */
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 1123), 5);
	/* all bins but one, and no page of that, */
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 124), 7);
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 24), 63);
	/* half of a bin, */
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 14), 683);
	/* and less than the hottest bin has. */
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 4), 1023);
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 2), 2863311531U);
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 0), U32_MAX);

	/* More pages than 64 bits can be multiplied with. */
	hist.bin[31] = 1ULL << 48;
	KUNIT_EXPECT_EQ(test, ks_histogram_threshold(&hist, 1ULL << 47), 2863311531U);
}

/* What it was made for: the page of rank n is n times less hot than the first. */
static void threshold_of_zipf(struct kunit *test)
{
	struct ks_histogram hist = {};
	unsigned int n, places, heat;

	for (n = 1; n <= 8192; n++)
		hist.bin[ilog2(60000 / n)]++;
	for (places = 8; places <= 2000; places++) {
		heat = ks_histogram_threshold(&hist, places);
		KUNIT_EXPECT_LE(test, 60000 / heat, places + places / 10 + 2);
		KUNIT_EXPECT_GE(test, 60000 / heat + places / 10 + 2, places);
	}
}

/* As many samples as are wanted, of any order, and no fewer. */
static void R29_enough_samples(struct kunit *test)
{
	static const u32 wanted[] = { 1, 2, 3, 1000 };
	struct ks_limits limits = { .heat = 1 };
	struct ks_heat h;
	int i, n;
	u8 order;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		limits.samples = wanted[i];
		for (order = 0; order <= KS_MAX_ORDER; order++) {
			h.word = 0;
			for (n = 1; n <= 2 * wanted[i]; n++) {
				KUNIT_EXPECT_EQ(test, ks_heat_sample(&h, 0, order, limits),
						n == wanted[i]);
				KUNIT_EXPECT_EQ(test, (bool)h.hot, n >= wanted[i]);
				KUNIT_EXPECT_EQ(test, ks_heat_is_hot(h, 0, limits), (bool)h.hot);
			}
		}
	}
}

/* One that is among the hottest has had enough of them as well. */
static void R29_threshold_and_samples(struct kunit *test)
{
	struct ks_limits limits = { .heat = 1600, .samples = 2 };
	struct ks_heat h = {};
	int n;

	for (n = 1; n <= 6; n++)
		KUNIT_EXPECT_EQ(test, ks_heat_sample(&h, 0, 0, limits), n == 4);
	h.word = 0;
	limits.heat = 10;
	for (n = 1; n <= 20; n++)
		KUNIT_EXPECT_EQ(test, ks_heat_sample(&h, 0, 9, limits), n == 11);
}

/* It leaves well below where it has entered, and enters only there again. */
static void R29_hysteresis(struct kunit *test)
{
	struct ks_limits limits = { .heat = 4000, .samples = 2 };
	struct ks_heat h = { .heat = 4500 };

	KUNIT_EXPECT_TRUE(test, ks_heat_is_hot(h, 0, limits));
	h.heat = 4499;
	KUNIT_EXPECT_FALSE(test, ks_heat_is_hot(h, 0, limits));
	h.hot = 1;
	KUNIT_EXPECT_TRUE(test, ks_heat_is_hot(h, 0, limits));
	h.heat = 3500;
	KUNIT_EXPECT_TRUE(test, ks_heat_is_hot(h, 0, limits));
	h.heat = 3499;
	KUNIT_EXPECT_FALSE(test, ks_heat_is_hot(h, 0, limits));

	/* Before the first window nothing is. */
	limits.heat = U32_MAX;
	h = (struct ks_heat) { .heat = U32_MAX };
	KUNIT_EXPECT_FALSE(test, ks_heat_is_hot(h, 0, limits));

	/* Of what samples give, half */
	limits.heat = 1;
	h = (struct ks_heat) { .heat = 512, .hot = 1 };
	KUNIT_EXPECT_TRUE(test, ks_heat_is_hot(h, 0, limits));
	h.heat = 511;
	KUNIT_EXPECT_FALSE(test, ks_heat_is_hot(h, 0, limits));
	/* A sample that brings it back above that is too late. */
	KUNIT_EXPECT_FALSE(test, ks_heat_sample(&h, 0, 0, limits));
	KUNIT_EXPECT_FALSE(test, h.hot);
	KUNIT_EXPECT_TRUE(test, ks_heat_sample(&h, 0, 0, limits));
}

/* Return: how often a page becomes hot that has so many samples in each of 100 epochs. */
static int entries(u8 order, int samples, int epochs, u32 limit)
{
	struct ks_limits limits = { .heat = 1, .samples = limit };
	struct ks_heat h = {};
	int epoch, i, n = 0;

	for (epoch = 0; epoch < 100; epoch++)
		for (i = 0; epoch % epochs == 0 && i < samples; i++)
			n += ks_heat_sample(&h, epoch, order, limits);
	return n;
}

/* What is sampled at a steady rate is told of once, or never. */
static void R29_no_flapping(struct kunit *test)
{
	u8 order;
	int n;

	for (order = 0; order <= KS_MAX_ORDER; order++) {
		/* Fewer than half of what it takes */
		KUNIT_EXPECT_EQ(test, entries(order, 1, 2, 3), 0);
		for (n = 2; n < 20; n++)
			KUNIT_EXPECT_EQ(test, entries(order, n, 1, 2), 1);
		/* There may be an epoch without samples in between. */
		KUNIT_EXPECT_EQ(test, entries(order, 4, 2, 2), 1);
	}
	/* A huge page that is sampled once at a time */
	for (n = 1; n < 10; n++)
		KUNIT_EXPECT_EQ(test, entries(KS_MAX_ORDER, 1, n, 2), 0);
}

/* A consumer told of another folio, or before the page was cold, was not told of this one. */
static void R29_told_of_what_is_there(struct kunit *test)
{
	struct ks_limits limits = { .heat = 1, .samples = 2 };
	struct ks_heat h = { .heat = 1024, .hot = 1, .told = 5 };

	KUNIT_EXPECT_FALSE(test, ks_heat_sample(&h, 0, 0, limits));
	KUNIT_EXPECT_EQ(test, (u32)h.told, 5);
	KUNIT_EXPECT_TRUE(test, ks_heat_sample(&h, 0, 1, limits));
	KUNIT_EXPECT_EQ(test, (u32)h.told, 0);

	h = (struct ks_heat) { .heat = 1024, .hot = 1, .told = 5 };
	KUNIT_EXPECT_FALSE(test, ks_heat_sample(&h, 2, 0, limits));
	KUNIT_EXPECT_EQ(test, (u32)h.told, 0);
	KUNIT_EXPECT_TRUE(test, ks_heat_sample(&h, 2, 0, limits));
}

static struct kunit_case heat_cases[] = {
	KUNIT_CASE(R29_enough_samples),
	KUNIT_CASE(R29_hysteresis),
	KUNIT_CASE(R29_no_flapping),
	KUNIT_CASE(R29_threshold_and_samples),
	KUNIT_CASE(R29_told_of_what_is_there),
	KUNIT_CASE(any_history),
	KUNIT_CASE(heat_has_an_end),
	KUNIT_CASE(histogram_has_ends),
	KUNIT_CASE(huge_pages_compare_with_base_pages),
	KUNIT_CASE(threshold),
	KUNIT_CASE(threshold_of_zipf),
	{}
};

static struct kunit_suite heat_suite = {
	.name = "ksamplingd_heat",
	.test_cases = heat_cases,
};

kunit_test_suite(heat_suite);
