// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: how much sampling the quota allows, and of what.
 *
 * Each round costs the thread something, whatever it finds, and so does each record. The
 * number of records of a kind of access is proportional to 1 / period:
 *
 *	use = base + cost * (loads / period of loads + stores / period of stores)
 *
 * The base is of rounds, of looks at CPUs that have few records, and of changes of the
 * periods. The sleep between rounds is made long enough for the rounds to fit into half of
 * the quota, and the periods are moved until the use is at the quota and each kind has its
 * share of the records. At the end of each window, the caller passes what was used:
 *
 *	use within quota +- max(5 permille, quota / 8), and share of loads within the wanted
 *	share +- max(25 permille, smaller share / 8), but neither below half of what is wanted:
 *							nothing changes
 *	else			period of a kind *= its part of (use - base) / its share of
 *				(quota - base), by a factor of 16 at most with policy
 *				proportional, and by one level with policy step
 *
 * This is a search: it repeats in the next windows until use and mix are within half of the
 * above, or there are no better levels. A kind that turns back goes less and less far, as
 * the use may not be quite proportional to 1 / period.
 *
 * The periods of both kinds move together, to where the quota and the shares are met at once.
 * A change interrupts each event and flushes what the hardware has buffered, so the mix alone
 * is corrected as rarely as the use is.
 *
 * The quota comes first. If a kind has less than its share and cannot be sampled more often,
 * because its period is the shortest or its rings hold no more, the other kind gets the rest.
 * If a kind has more than its share at its longest period, the other kind gets less. The mix
 * is not judged by a few records. A kind with a share of 0 is left alone.
 *
 * On request, the use includes what records cost the sampled programs: a fixed number of
 * ns for each record.
 *
 * After a burst, old records may wait in the rings for many windows, and others are lost.
 * So the use counts what reading the records made in this window would cost.
 *
 * The use is smoothed before it is compared, four parts old and one part new. A window
 * that is too far off to be noise restarts the average; otherwise the end of a load would
 * go unnoticed for minutes. A change of the period also restarts it: the use with the new
 * period is a guess at first, which the average would hide for long.
 *
 * A burst is not averaged. A budget for each round bounds its cost; what does not fit
 * into a ring until the next round is lost and counted. A ring of which more than 80 %
 * was filled between two rounds lengthens the period before the window ends, in
 * proportion to the excess. Nor is a period made shorter than what the rings can hold,
 * whatever is left of the quota. What the hardware delivers at once with any period does
 * not count here. (The sleep is not shortened for a full ring: a sleep longer than wanted
 * means that more rounds would take more than half of the quota.)
 *
 * Nothing here knows a clock, a thread or a ring. Locking: the caller's.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota.h"

#define TOP		(KS_NR_LEVELS - 1)
#define MAX_MOVE	20	/* levels at once: a factor of 16 */
#define RAISES		10	/* by full rings, in a window */
#define MAX_WINDOWS	60	/* off quota or mix before another search */
#define GOOD_FILL	500	/* permille of a ring: twice as many fit */
#define MAX_MADE	16	/* most records made, as a multiple of those read */
#define MIN_RECORDS	256	/* with fewer, the mix may be chance */
#define MIN_ROUNDS	16	/* with fewer, the window's ends weigh too much */
#define MIX_BAND	25	/* permille of the records, at least */

static u32 share_permille(const struct ks_tuning *t, enum ks_kind kind)
{
	return kind == KS_LOADS ? t->load_share_permille : 1000 - t->load_share_permille;
}

/* Otherwise there is no mix to control. */
static bool has_both(const struct ks_tuning *t)
{
	return share_permille(t, KS_LOADS) && share_permille(t, KS_STORES);
}

static enum ks_kind other(enum ks_kind kind)
{
	return kind == KS_LOADS ? KS_STORES : KS_LOADS;
}

/**
 * ks_quota_tune - adopt new settings of the administrator
 * @q: state of the loop
 * @t: the new settings
 *
 * Averages and search results are dropped: they belong to the old settings.
 */
void ks_quota_tune(struct ks_quota *q, const struct ks_tuning *t)
{
	q->sleep_us = t->sleep_us;
	q->loads_ppm = share_permille(t, KS_LOADS) * KS_PERMILLE;
	q->raises = 0;
	q->measured = false;
	q->steady = true;
	q->found_windows = MAX_WINDOWS;
}

/**
 * ks_quota_start - initialize the loop
 * @q:	   the state to initialize
 * @t:	   the settings
 * @level: initial level of each kind, below KS_NR_LEVELS
 */
void ks_quota_start(struct ks_quota *q, const struct ks_tuning *t,
		    const u8 level[KS_NR_KINDS])
{
	*q = (struct ks_quota) {};
	memcpy(q->level, level, sizeof(q->level));
	memcpy(q->began, level, sizeof(q->began));
	ks_quota_tune(q, t);
}

/* Tolerance of the use, ppm. */
static u32 band_ppm(const struct ks_tuning *t)
{
	return max(5 * KS_PERMILLE, t->quota_permille * KS_PERMILLE / 8);
}

/* A small quota needs a lower bound above 0. */
static u32 lower_bound_ppm(const struct ks_tuning *t)
{
	u32 quota = t->quota_permille * KS_PERMILLE;

	return quota - min(band_ppm(t), quota / 2);
}

/* Tolerance of the share of loads, ppm of the records. */
static u32 mix_band_ppm(const struct ks_tuning *t)
{
	u32 smaller = min(share_permille(t, KS_LOADS), share_permille(t, KS_STORES));

	return max(MIX_BAND * KS_PERMILLE, smaller * KS_PERMILLE / 8);
}

/* What is left for records, ppm; at least a quarter of the quota, however large the base. */
static u32 room_ppm(const struct ks_quota *q, const struct ks_tuning *t)
{
	u32 quota = t->quota_permille * KS_PERMILLE;

	return quota - min(q->base_ppm, quota - quota / 4);
}

static u32 smooth(u32 old, u32 new)
{
	return (80 * (u64)old + 20 * (u64)new) / 100;
}

static u32 share_ppm(u64 part_ns, u64 wall_ns)
{
	part_ns = min(part_ns, wall_ns * (KS_MOST_PPM / KS_WHOLE));
	return mul_u64_u64_div_u64(part_ns, KS_WHOLE, wall_ns);
}

/* Time spent on going to sleep and waking up. */
static u64 wakeups_ns(const struct ks_usage *u)
{
	return u->round_run_ns ? u->run_ns - min(u->round_run_ns, u->run_ns) : 0;
}

/*
 * If the thread runs on a sampled CPU, perf flushes the hardware buffer at each switch to
 * and from the thread, which takes longer after a longer sleep. The minimum seen is the
 * cost of a wakeup alone.
 */
static void measure_wakeup(struct ks_quota *q, const struct ks_usage *u)
{
	u32 wakeup_ns;

	if (u->rounds < MIN_ROUNDS || !u->round_run_ns)
		return;
	wakeup_ns = min(div_u64(wakeups_ns(u), u->rounds), U32_MAX);
	if (!q->wakeup_ns || wakeup_ns < q->wakeup_ns)
		q->wakeup_ns = max(wakeup_ns, 1);
}

/*
 * What the thread ran in a part of the time of rounds. If other tasks ran during rounds,
 * their time is taken to be spread evenly over them.
 */
static u64 run_in(const struct ks_usage *u, u64 ns)
{
	u64 round_run_ns = u->round_run_ns ?: u->run_ns;

	return u->round_ns > round_run_ns ?
	       mul_u64_u64_div_u64(ns, round_run_ns, u->round_ns) : ns;
}

/* Cost of all but the records. */
static u64 base_ns(const struct ks_quota *q, const struct ks_usage *u)
{
	u64 wakeups = wakeups_ns(u), records = run_in(u, u->drain_ns);

	records += wakeups - min(wakeups, (u64)q->wakeup_ns * u->rounds);
	return u->run_ns - min(records, u->run_ns);
}

static u32 records_ppm(const struct ks_quota *q)
{
	return q->use_ppm - min(q->base_ppm, q->use_ppm);
}

/* Use of one kind: a record of either costs the same. */
static u32 kind_ppm(const struct ks_quota *q, enum ks_kind kind)
{
	u32 records = records_ppm(q);
	u32 loads = div_u64((u64)records * q->loads_ppm, KS_WHOLE);

	return kind == KS_LOADS ? loads : records - loads;
}

static u64 sum_of_records(const struct ks_usage *u)
{
	return u->records[KS_LOADS] + u->records[KS_STORES];
}

/* What the records have cost the sampled programs. */
static u64 workload_ns(const struct ks_tuning *t, const struct ks_usage *u)
{
	return sum_of_records(u) * t->record_cost_ns;
}

static bool tells_the_mix(const struct ks_tuning *t, const struct ks_usage *u)
{
	return has_both(t) && sum_of_records(u) >= MIN_RECORDS;
}

/*
 * The use if exactly the records made in this window had been read. Records of a burst
 * may fill rings for many windows and say nothing about the present periods; lost ones
 * take no time.
 */
static u64 use_ns(const struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u64 base = base_ns(q, u), records = u->run_ns - base;

	if (u->read)
		records = mul_u64_u64_div_u64(records, min(u->made, MAX_MADE * u->read), u->read);
	if (t->quota_has_workload)
		records += workload_ns(t, u);
	return base + records;
}

/* May this window belong to the present average? */
static bool may_be_noise(const struct ks_quota *q, const struct ks_tuning *t,
			 const struct ks_usage *u, u32 now_ppm)
{
	/* The base is independent of the load and may be half of the use. */
	u32 far = max(records_ppm(q) / 2, band_ppm(t) / 2);
	u32 smaller = min(q->loads_ppm, KS_WHOLE - q->loads_ppm);

	if (abs_diff(now_ppm, q->use_ppm) > far)
		return false;
	return !tells_the_mix(t, u) ||
	       abs_diff(q->loads_now_ppm, q->loads_ppm) <= max(smaller / 2, 2 * mix_band_ppm(t));
}

static void measure(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u64 records = sum_of_records(u), workload = workload_ns(t, u);
	u32 base = share_ppm(base_ns(q, u), u->wall_ns);
	u32 use = share_ppm(use_ns(q, t, u), u->wall_ns);

	q->workload_ppm = share_ppm(workload, u->wall_ns);
	q->now_ppm = share_ppm(u->run_ns + (t->quota_has_workload ? workload : 0),
			       u->wall_ns);
	if (records)
		q->loads_now_ppm = mul_u64_u64_div_u64(u->records[KS_LOADS], KS_WHOLE, records);

	if (!q->measured || !may_be_noise(q, t, u, use)) {
		q->use_ppm = use;
		q->base_ppm = base;
		if (has_both(t) && records)
			q->loads_ppm = q->loads_now_ppm;
		q->measured = true;
	} else {
		q->use_ppm = smooth(q->use_ppm, use);
		q->base_ppm = smooth(q->base_ppm, base);
		if (tells_the_mix(t, u))
			q->loads_ppm = smooth(q->loads_ppm, q->loads_now_ppm);
	}
}

/*
 * Smooths the cost of a round. With few rounds in a window, the cost of records may look
 * like part of it: one such window must not make all the next rounds many.
 */
static void measure_round(struct ks_quota *q, const struct ks_usage *u)
{
	u64 base = base_ns(q, u);
	u32 round_ns = min(div_u64(base - min(run_in(u, u->look_ns), base), u->rounds), U32_MAX);

	q->round_ns = round_ns > 2 * (u64)q->round_ns ? round_ns : smooth(q->round_ns, round_ns);
}

/* Long enough for the rounds alone to take half of the quota. */
static void set_sleep(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u64 sleep_us;

	q->sleep_us = t->sleep_us;
	if (!u->rounds || !t->quota_permille)
		return;

	measure_round(q, u);
	/* ns per permille is us */
	sleep_us = div_u64(2 * (u64)q->round_ns, t->quota_permille);
	q->sleep_us = clamp(sleep_us, t->sleep_us, max(t->sleep_us, KS_MAX_SLEEP_US));
}

/* Use of the records of a kind, measured at one level, at another level. */
static u32 use_from_to(const struct ks_quota *q, enum ks_kind kind, u8 from, u8 to)
{
	return min(div_u64((u64)kind_ppm(q, kind) * ks_periods[kind][from],
			   ks_periods[kind][to]), KS_MOST_PPM);
}

static u32 use_at(const struct ks_quota *q, enum ks_kind kind, u8 level)
{
	return use_from_to(q, kind, q->level[kind], level);
}

/* Converts the averages to what they would be with other periods. */
static void scale_use(struct ks_quota *q, const u8 from[KS_NR_KINDS], const u8 to[KS_NR_KINDS])
{
	u32 base = q->use_ppm - records_ppm(q);
	u64 loads = use_from_to(q, KS_LOADS, from[KS_LOADS], to[KS_LOADS]);
	u64 records = loads + use_from_to(q, KS_STORES, from[KS_STORES], to[KS_STORES]);

	q->use_ppm = min(base + records, KS_MOST_PPM);
	if (records)
		q->loads_ppm = div64_u64(loads * KS_WHOLE, records);
	/* A guess until the next window measures it. */
	q->measured = false;
}

static bool set_levels(struct ks_quota *q, const u8 level[KS_NR_KINDS])
{
	if (!memcmp(level, q->level, sizeof(q->level)))
		return false;

	scale_use(q, q->level, level);
	memcpy(q->level, level, sizeof(q->level));
	return true;
}

/* The lowest level at which no ring would have been more than half full in this window. */
static u8 level_of_rings(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind)
{
	u32 period = ks_periods[kind][q->level[kind]];

	return ks_level_of(kind, div_u64((u64)period * min(u->fill_permille[kind], GOOD_FILL),
					 GOOD_FILL));
}

/* The level at which a kind uses what is wanted, or its rings hold no more. */
static u8 level_for(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind,
		    u32 wanted_ppm)
{
	u64 period = div_u64((u64)kind_ppm(q, kind) * ks_periods[kind][q->level[kind]],
			     max(wanted_ppm, 1));

	return max(ks_level_of(kind, min(period, U32_MAX)), level_of_rings(q, u, kind));
}

/* Can a kind use as much as is wanted, at a level within reach of one step? */
static bool can_take(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind,
		     u32 wanted_ppm)
{
	u8 reach = max(q->level[kind] - MAX_MOVE, 0);

	return use_at(q, kind, max(level_of_rings(q, u, kind), reach)) >= wanted_ppm &&
	       use_at(q, kind, TOP) <= wanted_ppm;
}

/* The levels at which the quota is met and each kind has its share of it. */
static void wanted_levels(const struct ks_quota *q, const struct ks_tuning *t,
			  const struct ks_usage *u, u8 level[KS_NR_KINDS])
{
	enum ks_kind more = share_permille(t, KS_LOADS) >= 500 ? KS_LOADS : KS_STORES;
	enum ks_kind less = other(more);
	u32 room = room_ppm(q, t), wanted_more, wanted_less;

	/* If the base is what is too much, more samples do not help. */
	if (q->use_ppm > t->quota_permille * KS_PERMILLE)
		room = min(room, records_ppm(q));
	wanted_less = room * share_permille(t, less) / 1000;
	wanted_more = room - wanted_less;

	memcpy(level, q->level, sizeof(q->level));
	level[more] = level_for(q, u, more, wanted_more);
	if (!has_both(t))
		return;

	/* A level is off by up to 7 %. With the same error in both kinds, the mix is right. */
	level[less] = level_for(q, u, less, div_u64((u64)use_at(q, more, level[more]) *
						    share_permille(t, less),
						    share_permille(t, more)));
	if (!can_take(q, u, more, wanted_more))
		level[less] = level_for(q, u, less, room -
					min(use_at(q, more, level[more]), room));
	if (!can_take(q, u, less, wanted_less))
		level[more] = level_for(q, u, more, room -
					min(use_at(q, less, level[less]), room));
}

/* Return: the kind that has too few of the records, or KS_NR_KINDS if neither has. */
static enum ks_kind rarer(const struct ks_tuning *t, u32 loads_ppm)
{
	u32 share = share_permille(t, KS_LOADS) * KS_PERMILLE;

	if (loads_ppm < share - min(mix_band_ppm(t), share / 2))
		return KS_LOADS;
	share = KS_WHOLE - share;
	if (KS_WHOLE - loads_ppm < share - min(mix_band_ppm(t), share / 2))
		return KS_STORES;
	return KS_NR_KINDS;
}

static bool can_go_down(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind)
{
	return q->level[kind] && level_of_rings(q, u, kind) < q->level[kind];
}

static u32 error_ppm(u32 use_ppm, const struct ks_tuning *t)
{
	return abs_diff(use_ppm, t->quota_permille * KS_PERMILLE);
}

static void begin_search(struct ks_quota *q)
{
	memset(q->moved, 0, sizeof(q->moved));
	memset(q->most, MAX_MOVE, sizeof(q->most));
	q->moves = 0;
}

/*
 * How far a kind goes that is to go @by levels. With policy proportional, the limit is
 * halved each time that it turns back, so a search ends whatever the use has to do with the
 * levels: of two side by side, with the one below the quota. To turn back by far more than
 * it went means that what was measured before was of another load; else it goes no further
 * than it came.
 */
static int limit_move(struct ks_quota *q, const struct ks_tuning *t, enum ks_kind kind, int by)
{
	int went = abs(q->moved[kind]);

	/* On a long way, windows that turn it back by chance are no reason to stop. */
	if (t->policy == KS_STEP)
		return clamp(by, -1, 1);
	if (by * q->moved[kind] < 0)
		q->most[kind] = min(q->most[kind] / 2, abs(by) > 2 * went ? MAX_MOVE : went);
	return clamp(by, -q->most[kind], max(q->most[kind], 1));
}

/* One move towards the levels that are wanted. */
static bool move_levels(struct ks_quota *q, const struct ks_tuning *t,
			const struct ks_usage *u)
{
	u8 level[KS_NR_KINDS];
	int kind, by;

	if (q->steady)
		begin_search(q);
	q->steady = true;
	wanted_levels(q, t, u, level);
	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		by = limit_move(q, t, kind, level[kind] - q->level[kind]);
		level[kind] = q->level[kind] + by;
		if (!by)
			continue;
		q->moved[kind] = by;
		q->steady = false;
	}
	/* There are no better levels. */
	if (q->steady) {
		q->found_ppm = q->use_ppm;
		q->found_loads_ppm = q->loads_ppm;
		q->found_windows = 0;
	}
	q->moves = min(q->moves + 1, U8_MAX);
	return set_levels(q, level);
}

static bool is_near(u32 use_ppm, const struct ks_tuning *t)
{
	return use_ppm >= lower_bound_ppm(t) &&
	       use_ppm <= t->quota_permille * KS_PERMILLE + band_ppm(t);
}

/* Or as near as it can get. */
static bool mix_is_near(const struct ks_quota *q, const struct ks_tuning *t,
			const struct ks_usage *u, u32 loads_ppm)
{
	enum ks_kind rare = rarer(t, loads_ppm);

	return rare == KS_NR_KINDS || !tells_the_mix(t, u) || !can_go_down(q, u, rare) ||
	       q->level[other(rare)] == TOP;
}

/* Near enough to end a search, given that windows differ a bit. */
static bool is_nearest(const struct ks_quota *q, const struct ks_tuning *t)
{
	u32 mix_error = abs_diff(q->loads_ppm, share_permille(t, KS_LOADS) * KS_PERMILLE);

	return error_ppm(q->use_ppm, t) <= band_ppm(t) / 2 && mix_error <= mix_band_ppm(t) / 2;
}

/* What is off was off by as much when the last search found no better levels. */
static bool is_as_found(const struct ks_quota *q, const struct ks_tuning *t,
			const struct ks_usage *u)
{
	if (!is_near(q->use_ppm, t) &&
	    (is_near(q->found_ppm, t) || abs_diff(q->use_ppm, q->found_ppm) > band_ppm(t)))
		return false;
	return mix_is_near(q, t, u, q->loads_ppm) ||
	       (!mix_is_near(q, t, u, q->found_loads_ppm) &&
		abs_diff(q->loads_ppm, q->found_loads_ppm) <= mix_band_ppm(t));
}

/* Full rings have raised periods in this window. Would these periods alone exceed the quota? */
static bool was_raised_too_little(struct ks_quota *q, const struct ks_tuning *t)
{
	q->raises = 0;
	scale_use(q, q->began, q->level);
	return t->policy == KS_PROPORTIONAL &&
	       q->use_ppm > t->quota_permille * KS_PERMILLE + band_ppm(t);
}

static bool adapt(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	bool near;

	measure_wakeup(q, u);
	measure(q, t, u);
	set_sleep(q, t, u);
	if (!t->quota_permille)
		return false;
	/* Several periods are behind this use, so it does not show which one is right. */
	if (q->raises && !was_raised_too_little(q, t))
		return false;

	near = is_near(q->use_ppm, t) && mix_is_near(q, t, u, q->loads_ppm);
	/* One level is no search that could end too early, or fail. */
	if (t->policy == KS_STEP)
		return !near && move_levels(q, t, u);
	if (near && (q->steady || q->moves > 1 || is_nearest(q, t))) {
		q->steady = true;
		return false;
	}
	if (q->steady && is_as_found(q, t, u) && q->found_windows++ < MAX_WINDOWS)
		return false;
	return move_levels(q, t, u);
}

/**
 * ks_quota_window - adapt at the end of a window
 * @q: state of the loop
 * @t: settings
 * @u: usage in the window; @wall_ns is not 0
 *
 * Return: true if ks_quota::level has changed. ks_quota::sleep_us may have changed as well.
 */
bool ks_quota_window(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	bool changed = adapt(q, t, u);

	memcpy(q->began, q->level, sizeof(q->began));
	return changed;
}

/**
 * ks_quota_ring_full - react to a ring fuller than KS_FULL
 * @q:	     state of the loop
 * @t:	     settings
 * @part_ns: time since the window began
 * @window_ns: its length
 * @fill_permille: as in struct ks_usage; 0 for a kind without such a ring
 *
 * Only a kind with such a ring gets a longer period. With less than half of the ring in
 * @fill_permille, a longer period would not help.
 *
 * Return: true if ks_quota::level has changed.
 */
bool ks_quota_ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns,
			u64 window_ns, const u32 fill_permille[KS_NR_KINDS])
{
	u8 level[KS_NR_KINDS];
	bool raised = false;
	u64 wanted;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		level[kind] = q->level[kind];
		wanted = div_u64((u64)ks_periods[kind][level[kind]] * fill_permille[kind],
				 GOOD_FILL);
		level[kind] = clamp(ks_level_of(kind, min(wanted, U32_MAX)), level[kind],
				    min(level[kind] + MAX_MOVE, TOP));
		raised |= level[kind] != q->level[kind];
	}
	if (!t->quota_permille || !raised || q->raises * window_ns > part_ns * RAISES)
		return false;

	/* A search starts from here. */
	q->raises++;
	q->steady = false;
	begin_search(q);
	return set_levels(q, level);
}

/* Does a sampled kind have a longer period to go to? */
static bool can_go_up(const struct ks_quota *q, const struct ks_tuning *t)
{
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++)
		if (share_permille(t, kind) && q->level[kind] < TOP)
			return true;
	return false;
}

/**
 * ks_quota_budget_ns - get the time that a round may spend on records
 * @q: state of the loop
 * @t: settings
 *
 * While a longer period exists, this is four times what the quota allows, so that the
 * loop sees how far the use is off. At the longest periods it is the quota itself.
 *
 * Return: ns; without a quota, half of the time.
 */
u64 ks_quota_budget_ns(const struct ks_quota *q, const struct ks_tuning *t)
{
	u32 share = room_ppm(q, t);

	if (can_go_up(q, t))
		share *= 4;
	if (!t->quota_permille)
		share = KS_WHOLE / 2;
	share = min(share, KS_WHOLE / 10 * 9);

	/* The sleep is the rest of the time. */
	return div_u64((u64)q->sleep_us * NSEC_PER_USEC * share, KS_WHOLE - share);
}
