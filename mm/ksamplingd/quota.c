// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: how much sampling the quota allows, and of what.
 *
 * The thread costs something for each round, whatever it finds, and something for
 * each record. The number of records of a kind of access goes with 1 / period:
 *
 *	use = base + cost * (loads / period of loads + stores / period of stores)
 *
 * So the sleep between rounds is made long enough for the base to fit into half of
 * the quota, and the periods are moved until the use is at the quota, and each kind has
 * its share of the records. Once in a window of time, the caller tells what was
 * used:
 *
 *	use within quota +- max(5 permille, quota / 8), and the share of loads within what
 *	is wanted +- max(25 permille, smaller share / 8), but of neither less than half:
 *							nothing changes
 *	policy step					one level up or down: both kinds, or
 *							the one that is off its share
 *	policy proportional				period of a kind *= its part of
 *							(use - base) / its share of
 *							(quota - base), by a factor of 16 at
 *							most; and so in the next windows,
 *							until the use and the mix are within
 *							half of that, or these are the levels
 *							where they are; back again half as
 *							far at most, as the use may go with
 *							more than 1 / period
 *
 * The periods of both kinds are moved together, to where the quota and the shares are met
 * at once. It takes an interrupt for each event, and what the hardware keeps back is
 * delivered then, so the mix alone is moved as rarely as the use is.
 *
 * The quota comes first. A kind with less than its share that cannot be sampled more often,
 * because its period is the shortest or its rings hold no more, leaves the rest to the
 * other kind; one with more than its share, whose period is the longest, takes it from the
 * other. Nor is a mix judged by a few records. A kind that has no share is left alone.
 *
 * If the caller wants it so, what records cost the programs that are sampled is part of the
 * use: so many ns for each record.
 *
 * Records that were made before may wait in rings, for many windows after a burst; others
 * are lost. What counts is what reading those would take that were made in the window.
 *
 * What is compared is smoothed, four parts old and one part new. A window that
 * is so far off that it cannot be noise starts the average anew; otherwise a load that
 * ends would take minutes to be noticed. So does a change of the period: what the use
 * will be with the new one is only a guess, which the average would hide for long.
 *
 * A burst is not averaged. A budget for each round bounds what one can take; what a
 * ring cannot hold until then is lost, and counted. A ring of which more than
 * 80 % has come between two looks raises the period before the window ends, by as much as
 * that is too much.
 * Nor does the period become shorter than what the rings can hold, however much of the
 * quota is left. What the hardware delivers at once, with any period, does not count here.
 * (The sleep is not shortened for a full ring. If it is longer than what is wanted, that
 * is because looking more often would take more than half of the quota.)
 *
 * Nothing here knows a clock, a thread or a ring. Locking: that of the caller.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "quota.h"

/*
 * Events between two samples, 15 % from one to the next. They are primes, so that no
 * loop in a program has the same length. The longest fit 192 CPUs with 5 * 10^9 operations
 * a second each, which is what IBS counts, into 3 %, at 1 us a sample.
 */
const u32 ks_periods[KS_NR_KINDS][KS_NR_LEVELS] = {
	[KS_LOADS] = {
		199, 229, 263, 307, 347, 401, 461, 523, 607, 701,
		809, 929, 1063, 1223, 1409, 1619, 1861, 2141, 2459, 2833,
		3257, 3739, 4297, 4951, 5693, 6551, 7537, 8663, 9967, 11467,
		13177, 15149, 17419, 20047, 23053, 26513, 30491, 35069, 40343, 46399,
		53359, 61363, 70571, 81157, 93329, 107323, 123419, 141931, 163223, 187711,
		215863, 248243, 285473, 328291, 377537, 434167, 499283, 574169,
		660299, 759329, 873209, 1004209, 1154849, 1328077, 1527289, 1756393,
		2019851, 2322821, 2671241, 3071927, 3532717, 4062623, 4672021, 5372821,
		6178747, 7105573,
	},
	[KS_STORES] = {
		1009, 1163, 1327, 1531, 1759, 2029, 2333, 2683, 3089, 3547,
		4079, 4691, 5399, 6211, 7129, 8209, 9439, 10859, 12487, 14369,
		16519, 19001, 21839, 25117, 28879, 33211, 38197, 43933, 50513, 58099,
		66809, 76829, 88339, 101603, 116849, 134371, 154523, 177691, 204353, 235007,
		270269, 310801, 357421, 411031, 472687, 543593, 625133, 718901, 826729, 950737,
		1093357, 1257359, 1445963, 1662851, 1912277, 2199121, 2528989, 2908333,
		3344587, 3846277, 4423207, 5086691, 5849693, 6727139, 7736213, 8896651,
		10231153, 11765813, 13530701, 15560309, 17894351, 20578511, 23665289, 27215077,
		31297339, 35991953,
	},
};

#define TOP		(KS_NR_LEVELS - 1)
#define MAX_MOVE	20	/* levels at once, which is a factor of 16 */
#define RAISES		10	/* by rings that are full, in a window */
#define MAX_STEPS	6	/* of a search, of any length */
#define MAX_WINDOWS	60	/* without looking again for what was not found */
#define GOOD_FILL	500	/* permille of a ring; what comes may be twice as much */
#define MAX_MADE	16	/* times what was read, at most, is taken to have been made */
#define MIN_RECORDS	256	/* with fewer, the shares may be chance */
#define MIN_ROUNDS	16	/* with fewer, the ends of the window are too much of it */
#define MIX_BAND	25	/* permille of the records, at least */

/**
 * ks_level_of - the level whose period is nearest to a given one
 * @kind:   which table
 * @period: events
 *
 * Return: the level, by ratio; the first or the last if @period is outside.
 */
u8 ks_level_of(enum ks_kind kind, u32 period)
{
	const u32 *periods = ks_periods[kind];
	u8 level = 0;

	while (level < TOP &&
	       (u64)periods[level] * periods[level + 1] < (u64)period * period)
		level++;
	return level;
}

/**
 * ks_reads_due - how many times events should have been read in this window
 * @part_ns:   how much of it has gone by
 * @window_ns: its length
 * @events:    how many there are
 *
 * The hardware keeps records back until it has some hundred of them, so that a window
 * may see none and the next one those of both. Whoever reads an event gets them
 * out. Evenly spread and as often in each window, that makes every window see as many
 * as came in the time of one.
 *
 * Return: KS_READS for each when the window ends.
 */
u32 ks_reads_due(u64 part_ns, u64 window_ns, u32 events)
{
	return div64_u64(min(part_ns, window_ns) * events * KS_READS, window_ns);
}

static u32 share_permille(const struct ks_tuning *t, enum ks_kind kind)
{
	return kind == KS_LOADS ? t->load_share_permille : 1000 - t->load_share_permille;
}

/* Only then there is a mix. */
static bool has_both(const struct ks_tuning *t)
{
	return share_permille(t, KS_LOADS) && share_permille(t, KS_STORES);
}

static enum ks_kind other(enum ks_kind kind)
{
	return kind == KS_LOADS ? KS_STORES : KS_LOADS;
}

/**
 * ks_quota_tune - the administrator wants something else
 * @q: state of the loop
 * @t: what is wanted now
 *
 * What has been found, or was being looked for, was for what was wanted before.
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
 * ks_quota_start - begin with a level for each kind
 * @q:	   what is to be initialised
 * @t:	   what the administrator wants
 * @level: each below KS_NR_LEVELS
 */
void ks_quota_start(struct ks_quota *q, const struct ks_tuning *t,
		    const u8 level[KS_NR_KINDS])
{
	*q = (struct ks_quota) {};
	memcpy(q->level, level, sizeof(q->level));
	memcpy(q->began, level, sizeof(q->began));
	ks_quota_tune(q, t);
}

/* How far from the quota is near enough, ppm. */
static u32 band_ppm(const struct ks_tuning *t)
{
	return max(5 * KS_PERMILLE, t->quota_permille * KS_PERMILLE / 8);
}

/* So that a small quota has a lower bound as well. */
static u32 lower_bound_ppm(const struct ks_tuning *t)
{
	u32 quota = t->quota_permille * KS_PERMILLE;

	return quota - min(band_ppm(t), quota / 2);
}

/* How far from the share that is wanted is near enough, ppm of the records. */
static u32 mix_band_ppm(const struct ks_tuning *t)
{
	u32 smaller = min(share_permille(t, KS_LOADS), share_permille(t, KS_STORES));

	return max(MIX_BAND * KS_PERMILLE, smaller * KS_PERMILLE / 8);
}

/* What is left for records, ppm; of a base that is too large, a quarter all the same. */
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

/* What it took to go to sleep and to wake up. */
static u64 wakeups_ns(const struct ks_usage *u)
{
	return u->round_run_ns ? u->run_ns - min(u->round_run_ns, u->run_ns) : 0;
}

/*
 * Where the CPU of the thread is one that is sampled, perf gets records out of the hardware
 * whenever the thread goes or comes, and so that takes longer the longer it sleeps. The
 * least that was seen is what a wakeup as such takes.
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

/* What the rounds as such took. If others ran meanwhile, they did so all over the rounds. */
static u64 base_ns(const struct ks_quota *q, const struct ks_usage *u)
{
	u64 round_run_ns = u->round_run_ns ?: u->run_ns;
	u64 wakeups = wakeups_ns(u), records = u->drain_ns;

	if (u->round_ns > round_run_ns)
		records = mul_u64_u64_div_u64(records, round_run_ns, u->round_ns);
	records += wakeups - min(wakeups, (u64)q->wakeup_ns * u->rounds);
	return u->run_ns - min(records, u->run_ns);
}

/* What the records took. */
static u32 records_ppm(const struct ks_quota *q)
{
	return q->use_ppm - min(q->base_ppm, q->use_ppm);
}

/* Those of one kind. One costs as much as the other. */
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

/* What they have cost those who are sampled. */
static u64 workload_ns(const struct ks_tuning *t, const struct ks_usage *u)
{
	return sum_of_records(u) * t->record_cost_ns;
}

static bool tells_the_mix(const struct ks_tuning *t, const struct ks_usage *u)
{
	return has_both(t) && sum_of_records(u) >= MIN_RECORDS;
}

/*
 * What would have been used if exactly the records had been read that were made. Those of
 * a burst may fill rings for many windows, and say nothing of the periods of now; and what
 * is lost takes no time.
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

/* Can that be one of those whose average there is? */
static bool may_be_noise(const struct ks_quota *q, const struct ks_tuning *t,
			 const struct ks_usage *u, u32 now_ppm)
{
	/* The base is there whatever the load does, and may be half of the use. */
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
 * What a round as such takes. Where there are few in a window, what their records took
 * may look like all of it: one such window must not let all the next ones be many.
 */
static void measure_round(struct ks_quota *q, const struct ks_usage *u)
{
	u32 round_ns = min(div_u64(base_ns(q, u), u->rounds), U32_MAX);

	q->round_ns = round_ns > 2 * (u64)q->round_ns ? round_ns : smooth(q->round_ns, round_ns);
}

/* Long enough for the rounds as such to take half of the quota. */
static void set_sleep(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u64 sleep_us;

	q->sleep_us = t->sleep_us;
	if (!u->rounds || !t->quota_permille)
		return;

	measure_round(q, u);
	/* ns by permille is us */
	sleep_us = div_u64(2 * (u64)q->round_ns, t->quota_permille);
	q->sleep_us = clamp(sleep_us, t->sleep_us, max(t->sleep_us, KS_MAX_SLEEP_US));
}

/* What the records of a kind, which are those of one level, would take with another one. */
static u32 use_from_to(const struct ks_quota *q, enum ks_kind kind, u8 from, u8 to)
{
	return min(div_u64((u64)kind_ppm(q, kind) * ks_periods[kind][from],
			   ks_periods[kind][to]), KS_MOST_PPM);
}

static u32 use_at(const struct ks_quota *q, enum ks_kind kind, u8 level)
{
	return use_from_to(q, kind, q->level[kind], level);
}

/* The averages become what they would have been with other periods. */
static void scale_use(struct ks_quota *q, const u8 from[KS_NR_KINDS], const u8 to[KS_NR_KINDS])
{
	u32 base = q->use_ppm - records_ppm(q);
	u64 loads = use_from_to(q, KS_LOADS, from[KS_LOADS], to[KS_LOADS]);
	u64 records = loads + use_from_to(q, KS_STORES, from[KS_STORES], to[KS_STORES]);

	q->use_ppm = min(base + records, KS_MOST_PPM);
	if (records)
		q->loads_ppm = div64_u64(loads * KS_WHOLE, records);
	/* Until they are measured. */
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

/* The level of the shortest period with which no ring is more than half full, by this window. */
static u8 level_of_rings(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind)
{
	u32 period = ks_periods[kind][q->level[kind]];

	return ks_level_of(kind, div_u64((u64)period * min(u->fill_permille[kind], GOOD_FILL),
					 GOOD_FILL));
}

/* Where the records of a kind would take so much, or the rings as much as they can. */
static u8 level_for(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind,
		    u32 wanted_ppm)
{
	u64 period = div_u64((u64)kind_ppm(q, kind) * ks_periods[kind][q->level[kind]],
			     max(wanted_ppm, 1));

	return max(ks_level_of(kind, min(period, U32_MAX)), level_of_rings(q, u, kind));
}

/* Is there a period with which they do, not too far away to go there at once? */
static bool can_take(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind,
		     u32 wanted_ppm)
{
	u8 reach = max(q->level[kind] - MAX_MOVE, 0);

	return use_at(q, kind, max(level_of_rings(q, u, kind), reach)) >= wanted_ppm &&
	       use_at(q, kind, TOP) <= wanted_ppm;
}

/* Where the quota is met, and by each kind its share of it. */
static void proportional_levels(const struct ks_quota *q, const struct ks_tuning *t,
				const struct ks_usage *u, u8 level[KS_NR_KINDS])
{
	enum ks_kind more = share_permille(t, KS_LOADS) >= 500 ? KS_LOADS : KS_STORES;
	enum ks_kind less = other(more);
	u32 room = room_ppm(q, t), wanted_more, wanted_less;

	/* If it is the base that is too much, more samples are no remedy. */
	if (q->use_ppm > t->quota_permille * KS_PERMILLE)
		room = min(room, records_ppm(q));
	wanted_less = room * share_permille(t, less) / 1000;
	wanted_more = room - wanted_less;

	memcpy(level, q->level, sizeof(q->level));
	level[more] = level_for(q, u, more, wanted_more);
	if (!has_both(t))
		return;

	/* A level is off by up to 7 %. If both are so in the same way, the mix is not. */
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

/* Return: the kind that has too few of the records; KS_NR_KINDS: neither. */
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

static bool can_step(const struct ks_quota *q, const struct ks_usage *u, enum ks_kind kind,
		     bool down)
{
	return down ? can_go_down(q, u, kind) : q->level[kind] < TOP;
}

/* One level in the direction in which the use, or else the mix, is wrong. */
static void next_levels(const struct ks_quota *q, const struct ks_tuning *t,
			const struct ks_usage *u, bool use_near, u8 level[KS_NR_KINDS])
{
	enum ks_kind rare = rarer(t, q->loads_ppm), kind;
	bool down = q->use_ppm <= t->quota_permille * KS_PERMILLE, worse;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		level[kind] = q->level[kind];
		if (use_near)
			down = kind == rare;
		/* To move the other one is enough, if that is possible. */
		worse = rare != KS_NR_KINDS && (kind == rare) != down;
		if (worse && can_step(q, u, other(kind), down))
			continue;
		if (share_permille(t, kind) && can_step(q, u, kind, down))
			level[kind] += down ? -1 : 1;
	}
}

static u32 error_ppm(u32 use_ppm, const struct ks_tuning *t)
{
	return abs_diff(use_ppm, t->quota_permille * KS_PERMILLE);
}

/*
 * One step of a search, which ends whatever the use has to do with the levels: back again
 * a kind goes half as far at most, of levels side by side the better ones are taken, and
 * after some steps each is at most half as long as the one before.
 */
static bool search_levels(struct ks_quota *q, const struct ks_tuning *t,
			  const struct ks_usage *u)
{
	bool turns[KS_NR_KINDS], turned = false, moves = false, back;
	u8 level[KS_NR_KINDS];
	int kind, by[KS_NR_KINDS], half;

	if (q->steady) {
		memset(q->moved, 0, sizeof(q->moved));
		q->steps = 0;
	}
	proportional_levels(q, t, u, level);
	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		by[kind] = clamp(level[kind] - q->level[kind], -MAX_MOVE, MAX_MOVE);
		turns[kind] = by[kind] * q->moved[kind] < 0;
		half = abs(q->moved[kind]) / 2;
		if (turns[kind] || q->steps > MAX_STEPS)
			by[kind] = clamp(by[kind], -half, half);
		turned |= turns[kind];
		moves |= by[kind] != 0;
	}
	back = !moves && turned && error_ppm(q->before_ppm, t) < error_ppm(q->use_ppm, t);

	q->steady = !moves;
	q->found_ppm = back ? q->before_ppm : q->use_ppm;
	q->found_loads_ppm = q->loads_ppm;
	q->found_windows = 0;
	q->before_ppm = q->use_ppm;
	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		if (back && turns[kind])
			by[kind] = -q->moved[kind];
		q->moved[kind] = by[kind];
		level[kind] = q->level[kind] + by[kind];
	}
	q->steps++;
	return set_levels(q, level);
}

static bool is_near(u32 use_ppm, const struct ks_tuning *t)
{
	return use_ppm >= lower_bound_ppm(t) &&
	       use_ppm <= t->quota_permille * KS_PERMILLE + band_ppm(t);
}

/* Or as near as it gets. */
static bool mix_is_near(const struct ks_quota *q, const struct ks_tuning *t,
			const struct ks_usage *u, u32 loads_ppm)
{
	enum ks_kind rare = rarer(t, loads_ppm);

	return rare == KS_NR_KINDS || !tells_the_mix(t, u) || !can_go_down(q, u, rare) ||
	       q->level[other(rare)] == TOP;
}

/* Near enough to look no further, as each window is a bit different. */
static bool is_nearest(const struct ks_quota *q, const struct ks_tuning *t)
{
	u32 mix_error = abs_diff(q->loads_ppm, share_permille(t, KS_LOADS) * KS_PERMILLE);

	return error_ppm(q->use_ppm, t) <= band_ppm(t) / 2 && mix_error <= mix_band_ppm(t) / 2;
}

/* What is off was so when there were no better levels, and is as it was then. */
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

/* Rings have raised periods meanwhile. Would it be too much with these from the beginning? */
static bool was_raised_too_little(struct ks_quota *q, const struct ks_tuning *t)
{
	q->raises = 0;
	scale_use(q, q->began, q->level);
	return t->policy == KS_PROPORTIONAL &&
	       q->use_ppm > t->quota_permille * KS_PERMILLE + band_ppm(t);
}

static bool adapt(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u8 level[KS_NR_KINDS];
	bool use_near, near;

	measure_wakeup(q, u);
	measure(q, t, u);
	set_sleep(q, t, u);
	if (!t->quota_permille)
		return false;
	/* It was not one period that this comes from. */
	if (q->raises && !was_raised_too_little(q, t))
		return false;

	use_near = is_near(q->use_ppm, t);
	near = use_near && mix_is_near(q, t, u, q->loads_ppm);
	if (t->policy == KS_STEP) {
		if (near)
			return false;
		next_levels(q, t, u, use_near, level);
		return set_levels(q, level);
	}

	if (near && (q->steady || q->steps > 1 || is_nearest(q, t))) {
		q->steady = true;
		return false;
	}
	if (q->steady && is_as_found(q, t, u) && q->found_windows++ < MAX_WINDOWS)
		return false;
	return search_levels(q, t, u);
}

/**
 * ks_quota_window - a window has ended: adapt
 * @q: state of the loop
 * @t: what the administrator wants
 * @u: what was used in the window, whose @wall_ns is not 0
 *
 * Return: has ks_quota::level changed? ks_quota::sleep_us may have as well.
 */
bool ks_quota_window(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	bool changed = adapt(q, t, u);

	memcpy(q->began, q->level, sizeof(q->began));
	return changed;
}

/**
 * ks_quota_ring_full - a ring was found fuller than KS_FULL
 * @q:	     state of the loop
 * @t:	     what the administrator wants
 * @part_ns: how much of the window has gone by
 * @window_ns: its length
 * @fill_permille: as in struct ks_usage; 0 of a kind that has no such ring
 *
 * If that is less than half of the ring, a longer period would not help. The kind whose
 * ring it is gets one, and the other kind keeps its own.
 *
 * Return: has ks_quota::level changed?
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

	/* From there, a search begins. */
	q->raises++;
	q->steady = false;
	memset(q->moved, 0, sizeof(q->moved));
	q->steps = 0;
	return set_levels(q, level);
}

/* Is there a longer period to go to? */
static bool can_go_up(const struct ks_quota *q, const struct ks_tuning *t)
{
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++)
		if (share_permille(t, kind) && q->level[kind] < TOP)
			return true;
	return false;
}

/**
 * ks_quota_budget_ns - how long a round may work on records
 * @q: state of the loop
 * @t: what the administrator wants
 *
 * While there is a longer period to go to, four times of what the quota allows, so
 * that the loop sees by how much it is wrong. Then the quota itself.
 *
 * Return: ns; with no quota, half of the time.
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
