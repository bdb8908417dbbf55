// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: how much sampling the quota allows.
 *
 * The thread costs something for each round, whatever it finds, and something for
 * each record. The number of records goes with 1 / period:
 *
 *	use = base + cost * accesses / period
 *
 * So the sleep between rounds is made long enough for the base to fit into half of
 * the quota, and the period is moved until the use is at the quota. Once in a window
 * of time, the caller tells what was used:
 *
 *	use within quota +- max(5 permille, quota / 8)	nothing changes
 *	policy step					one level up or down
 *	policy proportional				period *= (use - base) / (quota - base),
 *							by a factor of 16 at most; and so in
 *							the next windows, until that is the
 *							level where it is; back again half
 *							as far at most, as the use may go
 *							with more than 1 / period
 *
 * What is compared is smoothed, four parts old and one part new. A window that
 * is so far off that it cannot be noise starts the average anew; otherwise a load that
 * ends would take minutes to be noticed. So does a change of the period: what the use
 * will be with the new one is only a guess, which the average would hide for long.
 *
 * A burst is not averaged. A budget for each round bounds what one can take; what a
 * ring cannot hold until then is lost, and counted. A ring that is fuller than 80 % when
 * it is looked at raises the period before the window ends, by as much as it is too full.
 * Nor does the period become shorter than what the rings can hold, however much of the
 * quota is left. What the hardware delivers at once, with any period, does not count here.
 * (The sleep is not shortened for a full ring. If it is longer than what is wanted, that
 * is because looking more often would take more than half of the quota.)
 *
 * All kinds of events stand at the same level of their own table, so that none can
 * reach its end before the others.
 *
 * Nothing here knows a clock, a thread or a ring. Locking: that of the caller.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
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
#define MAX_FACTOR	16	/* by which a period changes at once */
#define RAISES		10	/* by rings that are full, in a window */
#define MAX_STEPS	6	/* of a search, of any length */
#define MAX_WINDOWS	60	/* without looking again for what was not found */
#define GOOD_FILL	500	/* permille of a ring; what comes may be twice as much */

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
	q->raises = 0;
	q->measured = false;
	q->steady = true;
	q->found_windows = MAX_WINDOWS;
}

/**
 * ks_quota_start - begin with a level
 * @q:	   what is to be initialised
 * @t:	   what the administrator wants
 * @level: below KS_NR_LEVELS
 */
void ks_quota_start(struct ks_quota *q, const struct ks_tuning *t, u8 level)
{
	*q = (struct ks_quota) { .level = level };
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
	return min(div64_u64(part_ns * KS_WHOLE, wall_ns), KS_WHOLE);
}

/* What the rounds as such took. If others ran meanwhile, they did so all over the rounds. */
static u64 base_ns(const struct ks_usage *u)
{
	u64 drain_ns = u->drain_ns;

	if (u->round_ns > u->run_ns)
		drain_ns = mul_u64_u64_div_u64(drain_ns, u->run_ns, u->round_ns);
	return u->run_ns - min(drain_ns, u->run_ns);
}

/* What the records took. */
static u32 records_ppm(const struct ks_quota *q)
{
	return q->use_ppm - min(q->base_ppm, q->use_ppm);
}

static void measure(struct ks_quota *q, const struct ks_tuning *t, const struct ks_usage *u)
{
	u32 base = share_ppm(base_ns(u), u->wall_ns);
	/* The base is there whatever the load does, and may be half of the use. */
	u32 far = max(records_ppm(q) / 2, band_ppm(t) / 2);

	q->now_ppm = share_ppm(u->run_ns, u->wall_ns);
	if (!q->measured || abs_diff(q->now_ppm, q->use_ppm) > far) {
		q->use_ppm = q->now_ppm;
		q->base_ppm = base;
		q->measured = true;
	} else {
		q->use_ppm = smooth(q->use_ppm, q->now_ppm);
		q->base_ppm = smooth(q->base_ppm, base);
	}
}

/*
 * What a round as such takes. Where there are few in a window, what their records took
 * may look like all of it: one such window must not let all the next ones be many.
 */
static void measure_round(struct ks_quota *q, const struct ks_usage *u)
{
	u32 round_ns = min(div_u64(base_ns(u), u->rounds), U32_MAX);

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

/* The average becomes what it would have been with the new period. */
static bool set_level(struct ks_quota *q, u8 level)
{
	u32 of_records = records_ppm(q);
	u32 base = q->use_ppm - of_records;

	if (level == q->level)
		return false;

	q->use_ppm = min(base + div_u64((u64)of_records * ks_periods[KS_LOADS][q->level],
					ks_periods[KS_LOADS][level]), KS_WHOLE);
	/* Until it is measured. */
	q->measured = false;
	q->level = level;
	return true;
}

/* The shortest period with which no ring is more than half full, by this window. */
static u64 period_of_rings(const struct ks_quota *q, const struct ks_usage *u)
{
	return div_u64((u64)ks_periods[KS_LOADS][q->level] * u->fill_permille, GOOD_FILL);
}

static u8 proportional_level(const struct ks_quota *q, const struct ks_tuning *t,
			     const struct ks_usage *u)
{
	u64 period = ks_periods[KS_LOADS][q->level];
	u64 wanted = div_u64(period * records_ppm(q), room_ppm(q, t));

	/* If it is the base that is too much, more samples are no remedy. */
	if (q->use_ppm > t->quota_permille * KS_PERMILLE)
		wanted = max(wanted, period);
	wanted = max(wanted, min(period_of_rings(q, u), period));

	return ks_level_of(KS_LOADS, clamp(wanted, period / MAX_FACTOR, period * MAX_FACTOR));
}

/* One level in the direction in which the use is wrong. */
static u8 next_level(const struct ks_quota *q, const struct ks_tuning *t,
		     const struct ks_usage *u)
{
	if (q->use_ppm > t->quota_permille * KS_PERMILLE)
		return min(q->level + 1, TOP);
	if (!q->level || period_of_rings(q, u) > ks_periods[KS_LOADS][q->level - 1])
		return q->level;
	return q->level - 1;
}

static u32 error_ppm(u32 use_ppm, const struct ks_tuning *t)
{
	return abs_diff(use_ppm, t->quota_permille * KS_PERMILLE);
}

/*
 * One step of a search, which ends whatever the use has to do with the level: back again
 * it goes half as far at most, of two levels side by side it takes the better one, and
 * after some steps each is at most half as long as the one before.
 */
static bool search_level(struct ks_quota *q, const struct ks_tuning *t, u8 nearest)
{
	int by = nearest - q->level, half;
	bool turns, back;

	if (q->steady) {
		q->moved = 0;
		q->steps = 0;
	}
	half = abs(q->moved) / 2;
	turns = by * q->moved < 0;
	back = turns && !half && error_ppm(q->before_ppm, t) < error_ppm(q->use_ppm, t);
	if (turns || q->steps > MAX_STEPS)
		by = back ? -q->moved : clamp(by, -half, half);

	q->steady = !by || back;
	q->found_ppm = back ? q->before_ppm : q->use_ppm;
	q->found_windows = 0;
	q->before_ppm = q->use_ppm;
	q->moved = by;
	q->steps++;
	return set_level(q, q->level + by);
}

static bool is_near(u32 use_ppm, const struct ks_tuning *t)
{
	return use_ppm >= lower_bound_ppm(t) &&
	       use_ppm <= t->quota_permille * KS_PERMILLE + band_ppm(t);
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
	measure(q, t, u);
	set_sleep(q, t, u);
	if (q->raises) {
		/* It was not one period that this comes from. */
		q->raises = 0;
		q->measured = false;
		return false;
	}
	if (!t->quota_permille)
		return false;

	if (t->policy == KS_STEP)
		return !is_near(q->use_ppm, t) && set_level(q, next_level(q, t, u));

	if (q->steady && is_near(q->use_ppm, t))
		return false;
	/* There was no better one, and the use is still what it was then. */
	if (q->steady && !is_near(q->found_ppm, t) &&
	    abs_diff(q->use_ppm, q->found_ppm) <= band_ppm(t) &&
	    q->found_windows++ < MAX_WINDOWS)
		return false;
	return search_level(q, t, proportional_level(q, t, u));
}

/**
 * ks_quota_ring_full - a ring was found fuller than KS_FULL
 * @q:	     state of the loop
 * @t:	     what the administrator wants
 * @part_ns: how much of the window has gone by
 * @window_ns: its length
 * @fill_permille: as in struct ks_usage
 *
 * If that is less than half of the ring, a longer period would not help.
 *
 * Return: has ks_quota::level changed?
 */
bool ks_quota_ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns,
			u64 window_ns, u32 fill_permille)
{
	u64 period = ks_periods[KS_LOADS][q->level];
	u64 wanted = div_u64(period * fill_permille, GOOD_FILL);
	u8 level = ks_level_of(KS_LOADS, min(wanted, period * MAX_FACTOR));

	if (!t->quota_permille || level <= q->level ||
	    q->raises * window_ns > part_ns * RAISES)
		return false;

	/* From there, a search begins. */
	q->raises++;
	q->steady = false;
	q->moved = 0;
	q->steps = 0;
	return set_level(q, level);
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

	if (q->level < TOP)
		share *= 4;
	if (!t->quota_permille)
		share = KS_WHOLE / 2;
	share = min(share, KS_WHOLE / 10 * 9);

	/* The sleep is the rest of the time. */
	return div_u64((u64)q->sleep_us * NSEC_PER_USEC * share, KS_WHOLE - share);
}
