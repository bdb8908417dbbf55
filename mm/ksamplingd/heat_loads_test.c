// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of heat.c: which pages it calls hot, held against the loads that make the
 * samples. R-29.
 *
 * A load is what matters of one: how many samples there are for each page of the target.
 * With 43 000 samples a second and 64 GB of fast memory that is one in 6 minutes.
 */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/time64.h>

#include "heat.h"
#include "test_seed.h"

enum shape {
	ZIPF,		/* the page of rank n has 1 / n of the accesses of the first one */
	STEP,		/* 15 % of the pages have 90 % of them */
};

/**
 * struct load - who accesses what
 * @shape:   of the distribution of accesses
 * @pages:   folios
 * @target:  of them that fit into fast memory
 * @per_s:   samples
 * @order:   of the folios
 * @windows: that it takes, of a second each
 * @held:    percent of the accesses that the best placement has, on average
 */
struct load {
	enum shape shape;
	u32 pages;
	u32 target;
	u32 per_s;
	u8 order;
	u32 windows;
	u32 held;
};

/**
 * struct sim - a load, and what is known of it
 * @load:  the load
 * @shift: the page of rank n is the (n + shift)th
 * @sum:   of the weights up to each rank
 * @page:  heat
 * @hist:  of it
 * @limits: what it takes to be hot
 * @epoch: number of epochs
 * @this_epoch: this one
 * @window: number of windows
 * @length: of the last epoch, in windows
 * @rnd:   where samples come from
 */
struct sim {
	const struct load *load;
	u32 shift;
	u64 *sum;
	struct ks_heat *page;
	struct ks_histogram hist;
	struct ks_limits limits;
	u32 epoch;
	struct ks_epoch this_epoch;
	u32 window;
	u32 length;
	struct rnd_state rnd;
};

static u64 weight_of(const struct load *l, u32 rank)
{
	u32 few = l->pages * 15 / 100;

	if (l->shape == ZIPF)
		return div_u64(BIT_ULL(32), rank + 1);
	return rank < few ? div_u64(9 * BIT_ULL(32), few) : div_u64(BIT_ULL(32), l->pages - few);
}

static struct sim *new_sim(struct kunit *test, const struct load *l)
{
	struct sim *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 rank;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->sum = kunit_kcalloc(test, l->pages, sizeof(*s->sum), GFP_KERNEL);
	s->page = kunit_kcalloc(test, l->pages, sizeof(*s->page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s->sum);
	KUNIT_ASSERT_NOT_NULL(test, s->page);
	s->load = l;
	s->limits = (struct ks_limits) { .heat = U32_MAX, .samples = 2 };
	for (rank = 0; rank < l->pages; rank++)
		s->sum[rank] = weight_of(l, rank) + (rank ? s->sum[rank - 1] : 0);
	prandom_seed_state(&s->rnd, ks_test_seed(test));
	return s;
}

/* The rank at which the sum of weights passes a random one. */
static u32 random_rank(struct sim *s)
{
	u64 at = mul_u64_u32_shr(s->sum[s->load->pages - 1], prandom_u32_state(&s->rnd), 32);
	u32 low = 0, high = s->load->pages - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (s->sum[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sample_page(struct sim *s, struct ks_hits *hits)
{
	struct ks_heat *h = &s->page[(random_rank(s) + s->shift) % s->load->pages];
	struct ks_heat before = *h;

	ks_heat_sample(h, s->epoch, s->load->order, s->limits);
	ks_histogram_replace(&s->hist, before, *h, s->epoch);
	hits->samples++;
	if (h->hot) {
		hits->hits++;
		hits->heat += BIT(KS_MAX_ORDER - s->load->order);
	}
}

static void set_threshold(struct sim *s)
{
	s->limits.heat = ks_histogram_threshold(&s->hist,
						(unsigned long)s->load->target << s->load->order);
}

/* As the thread does it, with so many windows in an epoch, or when it is over. */
static void run_window(struct sim *s, u32 windows)
{
	u64 now = ++s->window * (u64)NSEC_PER_SEC;
	struct ks_hits hits = {};
	bool over;

	while (hits.samples < s->load->per_s)
		sample_page(s, &hits);
	set_threshold(s);
	over = ks_epoch_is_over(&s->this_epoch, now, s->limits, &hits);
	if (windows)
		over = s->window % windows == 0;
	if (!over)
		return;
	s->length = div_u64(now - s->this_epoch.began_ns, NSEC_PER_SEC);
	s->this_epoch.began_ns = now;
	s->epoch++;
	ks_histogram_cool(&s->hist);
	set_threshold(s);
}

/* Accesses of hot pages, in percent of those that the best ones have. */
static u32 held(const struct sim *s)
{
	const struct load *l = s->load;
	u64 sum = 0;
	u32 rank;

	for (rank = 0; rank < l->pages; rank++)
		if (ks_heat_is_hot(s->page[(rank + s->shift) % l->pages], s->epoch, s->limits))
			sum += weight_of(l, rank);
	return div64_u64(sum * 100, s->sum[l->target - 1]);
}

static const struct load loads[] = {
	/* 128 MB of which 16 are fast, as with sqlite3: 1500, 400, 85 samples a second */
	{ ZIPF, 8192, 1024, 375, 0, 400, 95 },
	{ ZIPF, 8192, 1024, 100, 0, 600, 95 },
	{ ZIPF, 8192, 1024, 21, 0, 2400, 90 },
	/* 64 of 320 GB, 43 000 a second, base pages and huge ones */
	{ STEP, 8192, 1638, 4, 0, 3600, 90 },
	{ STEP, 8192, 1638, 40, 0, 1800, 95 },
	{ STEP, 8192, 1638, 2000, 9, 120, 95 },
	{ ZIPF, 8192, 1638, 2000, 9, 120, 95 },
	/* a small memory, and many samples */
	{ STEP, 2048, 409, 4000, 0, 60, 95 },
};

/* Heat that is halved by the clock finds nothing where memory is large. */
static void R29_a_clock_is_right_for_one_size(struct kunit *test)
{
	struct sim *s = new_sim(test, &loads[3]);

	while (s->window < 1200)
		run_window(s, 10);
	KUNIT_EXPECT_LE(test, held(s), 10);
}

/* Other pages become hot: within two epochs, nine of ten accesses are held again. */
static void others_become_hot(struct kunit *test, struct sim *s, long load)
{
	u32 from = s->window, most = max(2 * s->length, 20U);

	s->shift = s->load->pages / 2;
	while (held(s) < 90 && s->window < 3 * s->load->windows)
		run_window(s, 0);
	kunit_info(test, "load %ld: after %u s\n", load, s->window - from);
	KUNIT_EXPECT_LE_MSG(test, s->window - from, most, "load %ld", load);
}

/*
 * Of the second half of the time. Heat that has just been halved tells some pages less well,
 * so it takes an average, and no moment is to be far from that.
 */
static void expect_held(struct kunit *test, struct sim *s, long load)
{
	u32 sum = 0, least = U32_MAX, nr = 0, now;

	while (s->window < s->load->windows) {
		run_window(s, 0);
		if (s->window <= s->load->windows / 2 || s->window % 5)
			continue;
		now = held(s);
		sum += now;
		least = min(least, now);
		nr++;
	}
	kunit_info(test, "load %ld: %u %% held, %u at least, epochs of %u s\n", load, sum / nr,
		   least, s->length);
	KUNIT_EXPECT_GE_MSG(test, sum / nr, s->load->held, "load %ld", load);
	KUNIT_EXPECT_GE_MSG(test, least, 85, "load %ld", load);
	/* As much memory as fits. */
	KUNIT_EXPECT_LE_MSG(test, sum / nr, 110, "load %ld", load);
}

static void R29_hot_at_any_size(struct kunit *test)
{
	const struct load *l;
	struct sim *s;

	for (l = loads; l < loads + ARRAY_SIZE(loads); l++) {
		s = new_sim(test, l);
		expect_held(test, s, l - loads);
		if (l->held >= 95)
			others_become_hot(test, s, l - loads);
	}
}

/* Half of the samples hit hot pages, and then a tenth: that ends an epoch of any age. */
static void R29_an_epoch_that_ends_early(struct kunit *test)
{
	const struct ks_limits limits = { .heat = 512, .samples = 2 };
	struct ks_hits hits = { .samples = 1000, .hits = 500, .heat = 500 * 512 };
	struct ks_epoch e = {};
	u64 now = 0;
	int i;

	for (i = 0; i < 60; i++) {
		now += NSEC_PER_SEC;
		KUNIT_EXPECT_FALSE(test, ks_epoch_is_over(&e, now, limits, &hits));
	}
	hits.hits = 100;
	hits.heat = 100 * 512;
	KUNIT_EXPECT_TRUE(test, ks_epoch_is_over(&e, now + NSEC_PER_SEC, limits, &hits));
	/* But not one that has just begun, nor by a few samples. */
	e.began_ns = now;
	KUNIT_EXPECT_FALSE(test, ks_epoch_is_over(&e, now + NSEC_PER_SEC, limits, &hits));
	hits.samples = 50;
	hits.hits = 5;
	KUNIT_EXPECT_FALSE(test, ks_epoch_is_over(&e, now + 9ULL * NSEC_PER_SEC, limits, &hits));
}

static struct kunit_case heat_loads_cases[] = {
	KUNIT_CASE(R29_a_clock_is_right_for_one_size),
	KUNIT_CASE(R29_an_epoch_that_ends_early),
	KUNIT_CASE_SLOW(R29_hot_at_any_size),
	{}
};

static struct kunit_suite heat_loads_suite = {
	.name = "ksamplingd_heat_loads",
	.test_cases = heat_loads_cases,
};

kunit_test_suite(heat_loads_suite);
