// SPDX-License-Identifier: GPL-2.0
/*
 * CPU use is held at the quota, whatever the load does.
 */
#include <stdlib.h>

#include "ks_util.h"

#define PAGES		4096
#define SETTLE		5		/* windows */
#define SETTLE_SLOWLY	7		/* where the test PMU needs all of the CPU at first */
#define STEADY_S	60

static double band(unsigned int quota)
{
	return quota / 8.0 > 5 ? quota / 8.0 : 5;
}

struct cpu_time {
	unsigned long long run, wall;
};

static struct cpu_time get_cpu_time(void)
{
	return (struct cpu_time) { get_status("run_ns"), get_status("wall_ns") };
}

/* CPU use, permille, by the thread's own run time. */
static double use_since(struct cpu_time from)
{
	struct cpu_time to = get_cpu_time();

	return 1000.0 * (to.run - from.run) / (to.wall - from.wall);
}

static double window_use(void)
{
	struct cpu_time from = get_cpu_time();

	wait_windows(1);
	return use_since(from);
}

static unsigned long long period_of_loads(void)
{
	return get_event("test-loads", "period");
}

/*
 * The loop goes by what is smoothed. One window may differ from that by so much, as ends of
 * rounds do not fall together with its own.
 */
#define NOISE	1	/* permille */

/* A window may have a batch more or less, which takes 3 permille. */
static double batch;

static bool at_quota(unsigned int quota)
{
	double use = get_status("use_last_window_permille"), by = band(quota) + NOISE + batch;

	/* rounded down */
	return use + 1 > quota - by && use <= quota + by;
}

/* Return: after how many windows it was there, and stayed for three. */
static int settle(unsigned int quota, int most)
{
	char trail[512] = "";
	int windows, good = 0, length = 0;

	for (windows = 1; windows < most + 3 && good < 3; windows++) {
		wait_windows(1);
		good = at_quota(quota) ? good + 1 : 0;
		if (length < (int)sizeof(trail))
			length += snprintf(trail + length, sizeof(trail) - length, " %llu/%llu",
					   period_of_loads(),
					   get_status("use_last_window_permille"));
	}
	psi_note("period/permille by window:%s", trail);
	return windows - 3;
}

static void load(unsigned long long accesses_per_s)
{
	EXPECT(!set_test_pmu("accesses_per_s", accesses_per_s), "accesses_per_s");
}

/* The load with which the quota is met in the middle of the table of periods. */
#define MIDDLE	6500

static unsigned long long middle_load(unsigned int quota)
{
	unsigned long long accesses = 3000000, period;
	int i;

	for (i = 0; i < 4; i++) {
		load(accesses);
		settle(quota, 3 * SETTLE);
		period = period_of_loads();
		if (period > MIDDLE * 3 / 4 && period < MIDDLE * 4 / 3)
			break;
		accesses = accesses * MIDDLE / period;
	}
	return accesses;
}

static enum psi_result holds(unsigned int quota)
{
	double use, mean, least = 1000, most = 0;
	unsigned long long middle, changes;
	struct cpu_time from;
	int windows, s;

	REQUIRE(quota == 30 || !is_quick(), "it takes long, and one quota is much as another");
	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("quota_permille", "%u", quota), "quota");
	switch_on();
	middle = middle_load(quota);

	load(middle / 10);
	settle(quota, 30);
	load(middle * 10);
	windows = settle(quota, 30);
	psi_note("quota %u: 100 times the load: %d windows", quota, windows);
	EXPECT(windows <= (quota < 100 ? SETTLE : SETTLE_SLOWLY),
	       "100 times the load: %d windows", windows);
	load(middle / 10);
	windows = settle(quota, 30);
	psi_note("quota %u: 100 times less: %d windows", quota, windows);
	EXPECT(windows <= SETTLE, "100 times less: %d windows", windows);
	load(middle);
	windows = settle(quota, 30);
	EXPECT(windows <= SETTLE, "back again: %d windows", windows);

	changes = get_status("period_changes");
	from = get_cpu_time();
	for (s = 0; s < STEADY_S; s++) {
		use = window_use();
		least = use < least ? use : least;
		most = use > most ? use : most;
	}
	mean = use_since(from);
	changes = get_status("period_changes") - changes;
	psi_note("quota %u: %.1f permille, %.1f to %.1f, in %u s, %llu changes of the period",
		 quota, mean, least, most, STEADY_S, changes);
	EXPECT(mean >= quota - band(quota) && mean <= quota + band(quota), "%.1f permille", mean);
	EXPECT(least >= quota - band(quota) - NOISE, "only %.1f permille", least);
	EXPECT(most <= quota + band(quota) + NOISE, "%.1f permille", most);
	EXPECT(changes <= STEADY_S / 60, "%llu changes of the period", changes);
	return PSI_PASS;
}

static enum psi_result holds_10(void)
{
	return holds(10);
}

static enum psi_result holds_30(void)
{
	return holds(30);
}

static enum psi_result holds_100(void)
{
	return holds(100);
}

/* So many samples would take the CPU more time to make than to read. Trace them. */
static enum psi_result holds_300(void)
{
	trace_samples();
	return holds(300);
}

static void no_batch(void)
{
	batch = 0;
}

/*
 * As from PEBS, which has a buffer of its own. A ring is as full as that whatever the
 * period is, and with a long period some windows have no sample.
 */
static enum psi_result batches(void)
{
	static const unsigned int rings[] = { 32, 16 };
	static const unsigned int percent[] = { 1000, 10, 100 };
	unsigned long long middle, lost;
	size_t ring, i;
	int windows;

	undo_later(no_batch);
	batch = 3;
	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("source", "test-batches"), "source");
	for (ring = 0; ring < ARRAY_SIZE(rings); ring++) {
		EXPECT(!set_knob("ring_pages", "%u", rings[ring]), "ring_pages");
		switch_on();
		middle = middle_load(30);
		for (i = 0; i < ARRAY_SIZE(percent); i++) {
			load(middle * percent[i] / 100);
			windows = settle(30, 30);
			psi_note("rings of %u pages, %u %% of the load: %d windows",
				 rings[ring], percent[i], windows);
			EXPECT(windows <= SETTLE, "rings of %u pages, %u %%: %d windows",
			       rings[ring], percent[i], windows);
		}
		lost = get_status("lost");
		wait_windows(3);
		EXPECT(get_status("lost") == lost, "%llu are lost in 3 windows",
		       get_status("lost") - lost);
		switch_off();
	}
	return PSI_PASS;
}

/* While it runs, between quotas that are met; not what was found for the one before. */
static enum psi_result another_quota(void)
{
	static const unsigned int quotas[] = { 100, 10, 30 };
	size_t i;
	int windows;

	use_test_pmu(PAGES, 1000000);
	switch_on();
	middle_load(30);
	for (i = 0; i < ARRAY_SIZE(quotas); i++) {
		EXPECT(!set_knob("quota_permille", "%u", quotas[i]), "quota");
		windows = settle(quotas[i], 30);
		psi_note("quota %u: %d windows", quotas[i], windows);
		EXPECT(windows <= SETTLE, "quota %u: %d windows", quotas[i], windows);
	}
	return PSI_PASS;
}

/* So many tell a share of 800 permille from one of 825. */
#define ENOUGH	1000

struct mix {
	unsigned long long loads, stores;
	double share;			/* of loads, permille */
};

/* By the samples of some windows */
static struct mix get_mix(unsigned int windows)
{
	struct mix m = {
		get_event("test-loads", "samples"), get_event("test-stores", "samples"),
	};

	wait_windows(windows);
	m.loads = get_event("test-loads", "samples") - m.loads;
	m.stores = get_event("test-stores", "samples") - m.stores;
	psi_note("%llu loads, %llu stores, use in the last window %llu", m.loads, m.stores,
		 get_status("use_last_window_permille"));
	EXPECT(m.loads + m.stores >= ENOUGH, "too few to tell");
	m.share = 1000.0 * m.loads / (m.loads + m.stores);
	return m;
}

/* Of two events that are both too much, neither is always the last one. */
static enum psi_result turns(void)
{
	struct mix m;

	use_test_pmu(PAGES, 1000000000000);
	EXPECT(!set_test_pmu("stores_per_s", 1000000000000), "stores_per_s");
	EXPECT(!set_knob("quota_permille", "10"), "quota");
	switch_on();
	wait_windows(6);
	m = get_mix(3);
	EXPECT(m.loads < 2 * m.stores && m.stores < 2 * m.loads, "one is always the last");
	return PSI_PASS;
}

/* Fixed periods, and it sleeps all the same. */
static enum psi_result quota_0(void)
{
	unsigned long long rounds;
	__u64 from;
	double use;

	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "777"), "period");
	EXPECT(!set_knob("ring_pages", "1"), "ring_pages");
	switch_on();
	wait_windows(2);
	from = now_ns();
	rounds = get_status("rounds");
	use = window_use();
	rounds = get_status("rounds") - rounds;
	EXPECT(period_of_loads() == 777, "period %llu", period_of_loads());
	EXPECT(get_status("period_changes") == 0, "the period was changed");
	EXPECT(rounds <= (now_ns() - from) / NSEC_PER_MSEC / 2 + 1, "%llu rounds", rounds);
	EXPECT(use < 700, "%.1f permille", use);
	EXPECT(get_status("samples") > ENOUGH, "%llu samples", get_status("samples"));

	/* A load that is too much for one CPU is lost, not worked on for ever. */
	load(1000000000);
	wait_windows(1);
	use = window_use();
	EXPECT(use < 700, "%.1f permille under overload", use);
	EXPECT(get_status("lost") > 0, "nothing is lost");
	return PSI_PASS;
}

/* Looking at the rings alone would cost more. */
static enum psi_result below_the_floor(void)
{
	unsigned long long samples;
	double use;

	use_test_pmu(PAGES, 1000000);
	EXPECT(!set_knob("quota_permille", "1"), "quota");
	EXPECT(!set_knob("sleep_us", "100"), "sleep");
	switch_on();
	wait_windows(8);
	samples = get_status("samples");
	use = window_use();
	samples = get_status("samples") - samples;
	psi_note("quota 1: %.1f permille, sleeps %llu us, %llu samples", use,
		 get_status("sleep_us"), samples);
	EXPECT(use <= 6, "%.1f permille", use);
	EXPECT(samples > 0, "it does not sample");
	EXPECT(get_status("sleep_us") > 1000, "sleeps %llu us", get_status("sleep_us"));
	return PSI_PASS;
}

/* One level in a window, and it gets there. */
static enum psi_result step(void)
{
	unsigned long long period, before;
	bool there = false;
	int windows;

	use_test_pmu(PAGES, 50000000);
	EXPECT(!set_knob("policy", "0"), "policy");
	EXPECT(!set_knob("cpus", "0"), "cpus");
	EXPECT(!set_knob("window_ms", "200"), "window");
	switch_on();
	wait_windows(1);
	before = period_of_loads();
	for (windows = 0; windows < 60 && !there; windows++) {
		wait_windows(1);
		period = period_of_loads();
		/* two, if the window has ended twice meanwhile */
		EXPECT(period * 100 <= before * 140 && before * 100 <= period * 140,
		       "from %llu to %llu", before, period);
		before = period;
		there = at_quota(30);
	}
	EXPECT(there, "not there after %d windows", windows);
	return PSI_PASS;
}

/* A fast CPU has many more stores than loads that miss. */
#define MISSES	4000000ULL
#define STORES	(100 * MISSES)

static enum psi_result mix(void)
{
	static const struct { unsigned int wanted, band; } shares[] = {
		{ 800, 25 }, { 500, 62 }, { 200, 25 },
	};
	unsigned long long changes;
	struct cpu_time from;
	double share, use;
	size_t i;

	use_test_pmu(PAGES, MISSES);
	EXPECT(!set_test_pmu("stores_per_s", STORES), "stores_per_s");
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		EXPECT(!set_knob("load_share_permille", "%u", shares[i].wanted), "share");
		switch_on();
		wait_windows(2 * SETTLE);
		changes = get_status("period_changes");
		from = get_cpu_time();
		share = get_mix(20).share;
		use = use_since(from);
		changes = get_status("period_changes") - changes;
		psi_note("share %u: %.1f permille (last window %llu), use %.1f, %llu changes",
			 shares[i].wanted, share, get_status("load_share_permille"), use,
			 changes);
		EXPECT(share >= shares[i].wanted - shares[i].band &&
		       share <= shares[i].wanted + shares[i].band, "share %u: %.1f permille",
		       shares[i].wanted, share);
		EXPECT(use >= 30 - band(30) && use <= 30 + band(30), "%.1f permille", use);
		EXPECT(changes <= 1, "%llu changes of the period", changes);
		switch_off();
	}
	return PSI_PASS;
}

/* 100 times as many stores, and the loads keep their share. */
static enum psi_result mix_of_stores_that_grow(void)
{
	double share;
	int windows;

	use_test_pmu(PAGES, MISSES);
	EXPECT(!set_test_pmu("stores_per_s", STORES / 100), "stores_per_s");
	switch_on();
	wait_windows(2 * SETTLE);
	EXPECT(!set_test_pmu("stores_per_s", STORES), "stores_per_s");
	windows = settle(30, 30);
	EXPECT(windows <= SETTLE, "%d windows", windows);
	share = get_mix(5).share;
	psi_note("%d windows, share of loads %.1f permille", windows, share);
	EXPECT(share >= 775 && share <= 825, "%.1f permille", share);
	return PSI_PASS;
}

/* A kind whose share is 0 has no event; the other one has the quota. */
static enum psi_result no_share(void)
{
	unsigned long long rings;

	use_test_pmu(PAGES, MISSES);
	EXPECT(!set_test_pmu("stores_per_s", STORES), "stores_per_s");
	switch_on();
	wait_windows(1);
	rings = get_status("rings");
	EXPECT(!set_knob("load_share_permille", "1000"), "share");
	wait_windows(2 * SETTLE);
	EXPECT(get_status("rings") * 2 == rings, "%llu rings", get_status("rings"));
	EXPECT(get_event("test-stores", "period") == 0, "stores have a period");
	EXPECT(get_mix(2).share == 1000, "there are stores");
	EXPECT(at_quota(30), "%llu permille", get_status("use_last_window_permille"));
	EXPECT(!set_knob("load_share_permille", "0"), "share");
	wait_windows(2 * SETTLE);
	EXPECT(get_event("test-loads", "period") == 0, "loads have a period");
	EXPECT(get_mix(2).share == 0, "there are loads");
	EXPECT(at_quota(30), "%llu permille", get_status("use_last_window_permille"));
	return PSI_PASS;
}

/* By the samples of that time, and as part of the quota. */
static enum psi_result costs_of_records(void)
{
	unsigned long long samples, wall;
	double is, use;

	use_test_pmu(PAGES, MISSES);
	EXPECT(!set_knob("record_cost_ns", "2000"), "cost");
	switch_on();
	wait_windows(2 * SETTLE);
	samples = accounted();
	wall = get_status("wall_ns");
	wait_windows(5);
	samples = accounted() - samples;
	wall = get_status("wall_ns") - wall;
	is = 2000.0 * 1000 * samples / wall;
	psi_note("workload %llu permille, by samples %.1f", get_status("workload_permille"), is);
	EXPECT(is >= 5 && get_status("workload_permille") >= is * 0.7 - 1 &&
	       get_status("workload_permille") <= is * 1.3 + 1, "%llu permille, not %.1f",
	       get_status("workload_permille"), is);

	EXPECT(!set_knob("quota_has_workload", "1"), "quota_has_workload");
	wait_windows(2 * SETTLE);
	EXPECT(at_quota(30), "%llu permille", get_status("use_last_window_permille"));
	use = window_use();
	psi_note("with it: %.1f permille of the thread, %llu of others", use,
		 get_status("workload_permille"));
	EXPECT(use + get_status("workload_permille") <= 30 + 2 * band(30), "%.1f permille", use);
	EXPECT(use < 25, "%.1f permille of the thread", use);

	EXPECT(!set_knob("record_cost_ns", "0"), "cost");
	wait_windows(2);
	EXPECT(get_status("workload_permille") == 0, "%llu permille",
	       get_status("workload_permille"));
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	/* The clock that counts instructions counts those of all CPUs. */
	{ "R-23 holds a quota of 10 permille", holds_10, 0, 1 },
	{ "R-23 holds a quota of 30 permille", holds_30, 0, 1 },
	{ "R-23 holds a quota of 100 permille", holds_100, 0, 1 },
	{ "R-23 holds a quota of 300 permille", holds_300, 0, 1 },
	{ "R-23 another quota while it runs", another_quota, 0, 1 },
	{ "R-23 samples that come in batches", batches, 0, 1 },
	{ "R-28 shares of loads and stores are held", mix, 0, 1 },
	{ "R-28 a hundred times as many stores", mix_of_stores_that_grow, 0, 1 },
	{ "R-28 a kind without a share is not sampled", no_share, 0, 1 },
	{ "R-23 what records cost the sampled programs", costs_of_records, 0, 1 },
	{ "R-22 events take turns under overload", turns, 0, 1 },
	{ "R-23 quota 0 is a fixed period", quota_0 },
	{ "R-23 a quota below the floor", below_the_floor },
	{ "R-23 policy step", step },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
