// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of reads.c, and of quota.c with records that come in batches and CPUs of which
 * many are idle.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota_model.h"

/* ------------------------------- Batches ------------------------------- */

static const u64 usual[KS_NR_KINDS] = { 2000000, 300000000 };

static struct delivery *new_machine(struct kunit *test, int cpus, int busy, u32 idle_ns)
{
	struct delivery *d = new_delivery(test, 30, cpus, busy);

	d->window_percent = 5;
	d->idle_ns = idle_ns;
	d->plant.tuning.load_share_permille = 800;
	ks_quota_tune(&d->plant.quota, &d->plant.tuning);
	memcpy(d->accesses, usual, sizeof(usual));
	return d;
}

/*
 * What the quota allows in 60 windows at the lower end of its band, beside rounds and two
 * reads of each busy CPU, at what a record costs with 64 in a read. Of that, 9 of 10.
 */
static u64 enough_records(const struct delivery *d, int busy)
{
	u64 room_ns = 25 * NSEC_PER_MSEC, used;

	used = div_u64(d->plant.quota.round_ns * NSEC_PER_SEC,
		       d->plant.quota.sleep_us * NSEC_PER_USEC + d->plant.quota.round_ns) +
	       busy * KS_READS_LEAST * 4000;
	return div_u64((room_ns - used) * 60 * 9,
		       10 * (450 + (d->switches ? 0 : 250 + 4000 / KS_READ_RECORDS)));
}

/* Return: number of what did not hold. */
static int hold(struct kunit *test, int cpus, int busy, u32 idle_ns, bool switches)
{
	struct delivery *d = new_machine(test, cpus, busy, idle_ns);
	int failed = 0;
	u32 use;

	d->switches = switches;
	run_deliveries(d, 20);
	run_deliveries(d, 0);
	use = mean_use(d, 60);
	failed += abs_diff(use, 30000U) > 5500;
	failed += d->plant.changes > 1;
	failed += d->records[KS_LOADS] + d->records[KS_STORES] < enough_records(d, busy);
	failed += d->most > KS_MOST_RECORDS;
	if (failed)
		kunit_info(test, "%d of %d CPUs busy, %u us%s: %u ppm, %d changes, %llu records, %u at once\n",
			   busy, cpus, idle_ns / 1000, switches ? ", switch" : "", use,
			   d->plant.changes, d->records[KS_LOADS] + d->records[KS_STORES],
			   d->most);
	kunit_kfree(test, d);
	return failed;
}

static void R27_quota_is_held_whoever_is_idle(struct kunit *test)
{
	static const struct { int cpus, busy; } machines[] = {
		{ 1, 1 }, { 4, 2 }, { 4, 4 }, { 16, 2 }, { 16, 8 }, { 16, 16 }, { 64, 2 },
		{ 64, 8 }, { 64, 64 }, { 224, 2 }, { 224, 32 }, { 224, 112 }, { 224, 224 },
		{ 448, 2 }, { 448, 56 }, { 448, 448 },
	};
	static const u32 idle_ns[] = { 3000, 100000, 290000 };
	int i, trials = 0, failed = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(machines); i++, trials += 4)
		failed += hold(test, machines[i / 2].cpus, machines[i / 2].busy,
			       idle_ns[i % ARRAY_SIZE(idle_ns)], i % 2);
	holds_in_95_of_100(test, "the quota is held", trials, failed);
}

/* Otherwise the test above would prove nothing. */
static void R27_idle_cpus_that_are_woken_break_the_quota(struct kunit *test)
{
	struct delivery *d = new_machine(test, 224, 2, 100000);

	d->wakes = true;
	run_deliveries(d, 20);
	KUNIT_EXPECT_GT(test, mean_use(d, 10), 50000);
}

/* Nor does the loop settle if nobody reads, and buffers come when they are full. */
static void R27_batches_that_wait_make_it_hunt(struct kunit *test)
{
	struct delivery *d = new_delivery(test, 30, 224, 224);

	d->reads = false;
	d->accesses[KS_LOADS] = 2000000;
	run_deliveries(d, 20);
	run_deliveries(d, 60);
	KUNIT_EXPECT_GT(test, d->plant.changes, 20);
}

/* CPUs that were idle when the periods changed get them when they are busy. */
static void R27_others_become_busy(struct kunit *test)
{
	struct delivery *d = new_machine(test, 64, 8, 100000);
	int round, cpu;

	for (round = 0; round < 4; round++) {
		for (cpu = 0; cpu < 64; cpu++)
			d->cpu[cpu].busy = cpu % 4 == round && cpu < 8 << round;
		run_deliveries(d, 10);
		KUNIT_EXPECT_LE_MSG(test, abs_diff(mean_use(d, 5), 30000U), 6000, "round %d",
				    round);
		for (cpu = 0; cpu < 64; cpu++)
			if (d->cpu[cpu].busy)
				KUNIT_EXPECT_EQ(test, d->cpu[cpu].level[KS_LOADS],
						d->plant.quota.level[KS_LOADS]);
	}
}

/* ------------------------------- When to read ------------------------------- */

#define MOST_READS	(WINDOW_NS / NSEC_PER_MSEC)

/*
 * Rounds of a window, one each @round_ns, of a CPU that makes @rate records in it. Return:
 * number of reads. @most: the most records that one has found.
 */
static u32 read_window(struct ks_reads *r, u32 rate, u64 round_ns, u32 *most)
{
	u32 reads = 0, found, taken = 0;
	u64 ns;

	*most = 0;
	for (ns = round_ns; ns <= WINDOW_NS; ns += round_ns) {
		if (ns < r->next)
			continue;
		found = div_u64(rate * ns, WINDOW_NS) - taken;
		taken += found;
		*most = max(*most, found);
		ks_reads_done(r, found, ns, WINDOW_NS);
		reads++;
	}
	ks_reads_window(r, KS_READS_LEAST, WINDOW_NS);
	return reads;
}

static void R27_reads_by_what_they_find(struct kunit *test)
{
	static const u32 rates[] = { 0, 10, 128, 2000, 20000, 100, 15000 };
	struct ks_reads r;
	u32 reads, most;
	int cpu, i, w;

	for (cpu = 0; cpu < 8; cpu++) {
		ks_reads_start(&r, cpu, KS_READS_LEAST, WINDOW_NS);
		for (i = 0; i < ARRAY_SIZE(rates); i++) {
			/* It falls by half in a window. */
			for (w = 0; w < 10; w++)
				read_window(&r, rates[i], NSEC_PER_MSEC, &most);
			reads = read_window(&r, rates[i], NSEC_PER_MSEC, &most);
			KUNIT_EXPECT_LE_MSG(test, most, KS_MOST_RECORDS, "rate %u", rates[i]);
			KUNIT_EXPECT_GE(test, reads, KS_READS_LEAST);
			KUNIT_EXPECT_LE(test, reads,
					KS_READS_LEAST + 2 * rates[i] / KS_READ_RECORDS);
			/* In each window as many as in the last one. */
			KUNIT_EXPECT_EQ(test, reads,
					read_window(&r, rates[i], NSEC_PER_MSEC, &most));
		}
	}
}

/* A program starts: the first read that shows it is followed by others in this window. */
static void R27_reads_get_more_at_once(struct kunit *test)
{
	struct ks_reads r;

	ks_reads_start(&r, 0, KS_READS_LEAST, WINDOW_NS);
	ks_reads_done(&r, 1000, WINDOW_NS / 2, WINDOW_NS);
	KUNIT_EXPECT_EQ(test, r.wanted, 2 * 1000 / KS_READ_RECORDS);
	KUNIT_EXPECT_LE(test, r.next, WINDOW_NS / 2 + WINDOW_NS / 30);
	KUNIT_EXPECT_FALSE(test, r.late);
	/* There is a limit. */
	ks_reads_done(&r, 1000000, WINDOW_NS / 4 * 3, WINDOW_NS);
	KUNIT_EXPECT_EQ(test, r.wanted, MOST_READS);
}

/* Reads that are wanted more often than the thread comes: only a longer period helps. */
static void R27_reads_that_are_late(struct kunit *test)
{
	struct ks_reads r;
	u32 most;
	int w;

	ks_reads_start(&r, 3, KS_READS_LEAST, WINDOW_NS);
	for (w = 0; w < 5; w++)
		read_window(&r, 20000, 10 * NSEC_PER_MSEC, &most);
	KUNIT_EXPECT_GE(test, r.wanted, 200);
	ks_reads_done(&r, 200, 10 * NSEC_PER_MSEC, WINDOW_NS);
	KUNIT_EXPECT_TRUE(test, r.late);
	ks_reads_done(&r, 60, 11 * NSEC_PER_MSEC, WINDOW_NS);
	KUNIT_EXPECT_FALSE(test, r.late);
}

/* Without a buffer, as often as the source says, and spread over the window. */
static void R27_reads_of_others(struct kunit *test)
{
	struct ks_reads r;
	u32 early = 0;
	int cpu;

	for (cpu = 0; cpu < 64; cpu++) {
		ks_reads_start(&r, cpu, 1, WINDOW_NS);
		early += r.next < WINDOW_NS / 2;
		ks_reads_done(&r, 1000, WINDOW_NS, WINDOW_NS);
		KUNIT_EXPECT_EQ(test, r.wanted, 1);
		KUNIT_EXPECT_TRUE(test, r.next == U64_MAX);
		ks_reads_window(&r, 1, WINDOW_NS);
		KUNIT_EXPECT_EQ(test, r.wanted, 1);
	}
	KUNIT_EXPECT_GE(test, early, 24);
	KUNIT_EXPECT_LE(test, early, 40);

	/* None at all. */
	ks_reads_start(&r, 5, 0, WINDOW_NS);
	KUNIT_EXPECT_TRUE(test, r.next == U64_MAX);
	ks_reads_window(&r, 0, WINDOW_NS);
	KUNIT_EXPECT_TRUE(test, r.next == U64_MAX);
}

static void R27_what_a_look_is(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ks_reads_is_look(0));
	KUNIT_EXPECT_FALSE(test, ks_reads_is_look(KS_READ_RECORDS / 2));
}

static struct kunit_case reads_cases[] = {
	KUNIT_CASE(R27_batches_that_wait_make_it_hunt),
	KUNIT_CASE(R27_idle_cpus_that_are_woken_break_the_quota),
	KUNIT_CASE(R27_others_become_busy),
	KUNIT_CASE_SLOW(R27_quota_is_held_whoever_is_idle),
	KUNIT_CASE(R27_reads_by_what_they_find),
	KUNIT_CASE(R27_reads_get_more_at_once),
	KUNIT_CASE(R27_reads_of_others),
	KUNIT_CASE(R27_reads_that_are_late),
	KUNIT_CASE(R27_what_a_look_is),
	{}
};

static struct kunit_suite reads_suite = {
	.name = "ksamplingd_reads",
	.init = model_init,
	.test_cases = reads_cases,
};

kunit_test_suite(reads_suite);
