// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: from the CPUs of a group to its totals and averages.
 *
 * The first half is arithmetic on its arguments, for psi_fold.c; the second half reads.
 *
 * A fold adds the growth of the CPUs' times to the totals, and at the end of a period of
 * 2 s makes it a sample of the averages. Nobody else changes any of that. A reader adds
 * up in a copy what has grown since, and shows what a fold would make of it now. That may
 * become less when other CPUs get busy, but no total that is shown may go back, so
 * psi_group::shown keeps what was.
 *
 * Locking: psi_group::fold and psi_node::folded are read under psi_group::seq, the times
 * of nodes by psi_cpu_times(). psi_group::shown_lock (no preemption, a few instructions)
 * protects what has been shown.
 */
#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "psi_avgs.h"
#include "psi_cpu.h"

/* exp(-2 s / T) for T of 10, 60, 300 s, with FSHIFT = 11 bits */
static const unsigned long psi_decay[PSI_NR_AVGS] = { 1677, 1981, 2034 };

/* ---------------------------- Arithmetic ---------------------------- */

/*
 * With n bits in the longest time and weight, and up to 2^13 CPUs, the sum of the
 * products has 2n + 13 bits. Beyond n = 25 (34 s; a period has 21) weights must give up
 * as many low bits as it takes to stay within 64. After 73 minutes they still have 19.
 */
static unsigned int sum_shift(u32 longest)
{
	return max(2 * fls(longest) + 13 - 64, 0);
}

static void sum_shorten(struct psi_sum *sum, unsigned int shift)
{
	unsigned int more = shift - sum->shift;
	int s;

	for (s = 0; s < PSI_NR_STATES; s++)
		sum->time[s] >>= more;
	sum->weight >>= more;
	sum->shift = shift;
}

static void sum_add_weighted(struct psi_sum *sum, const u32 times[], u32 states)
{
	unsigned int shift = sum_shift(times[PSI_NONIDLE]);
	u64 weight;

	if (shift > sum->shift)
		sum_shorten(sum, shift);

	weight = times[PSI_NONIDLE] >> sum->shift;
	sum->weight += weight;
	for (; states; states &= states - 1)
		sum->time[__ffs(states)] += times[__ffs(states)] * weight;
}

/**
 * psi_sum_add - add one CPU
 * @sum:    the sum; before the first CPU all zeros, except for @weighted
 * @times:  growth of its times since the last fold, units; none is longer than the time not
 *          idle
 * @states: mask of those that have grown, PSI_NONIDLE among them
 */
void psi_sum_add(struct psi_sum *sum, const u32 times[], u16 states)
{
	u32 left;

	sum->states |= states;
	if (unlikely(sum->weighted)) {
		sum_add_weighted(sum, times, states);
		return;
	}
	for (left = states; left; left &= left - 1)
		sum->time[__ffs(left)] += times[__ffs(left)];
	sum->weight += times[PSI_NONIDLE];
	sum->longest = max(sum->longest, times[PSI_NONIDLE]);
}

/* In how much of @span was any CPU not idle, at most? At least in @longest. In units. */
static u64 most_busy(const struct psi_sum *sum, u64 span)
{
	return max(min(span, sum->weight), sum->longest);
}

/* To begin with, four samples of one busy CPU, so that chance does not count for much. */
#define PRIOR_SAMPLES	(4 * PSI_SAMPLE_ONE)

static void add_samples(struct psi_samples *samples, const struct psi_samples *more)
{
	if (!samples->nr)
		*samples = (struct psi_samples) {
			PRIOR_SAMPLES, PRIOR_SAMPLES, PRIOR_SAMPLES, PRIOR_SAMPLES
		};
	samples->nr += more->nr;
	samples->busy += more->busy;
	samples->cpus += more->cpus;
	samples->squares += more->squares;
}

/**
 * psi_fold_sample - note how many CPUs are busy
 * @fold: the group as of the last fold
 * @cpus: how many are not idle
 */
void psi_fold_sample(struct psi_fold *fold, u64 cpus)
{
	fold->seen.nr += PSI_SAMPLE_ONE;
	fold->seen.busy += cpus ? PSI_SAMPLE_ONE : 0;
	fold->seen.cpus += cpus * PSI_SAMPLE_ONE;
	fold->seen.squares += cpus * cpus * PSI_SAMPLE_ONE;
}

/**
 * psi_sum_busy - time in which at least one CPU was not idle
 * @sum:     all CPUs
 * @span:    the time since the last fold, units
 * @samples: those before that fold
 *
 * n = CPUs that are not idle at a sample, b = is there any, W = sum(w[i]), P = @span:
 *
 *	U = P * mean(b) + (W - P * mean(n)) * cov(b, n) / var(n)
 *
 * (a regression estimate). W is known, and corrects the samples: it decides alone where n
 * is always 0 or the same number, and not at all where some CPU is always busy. Without
 * samples, what is certain.
 *
 * Return: units.
 */
u64 psi_sum_busy(const struct psi_sum *sum, u64 span, const struct psi_samples *samples)
{
	u64 least = sum->longest, busy, weight, cov, var;

	if (!samples->busy)
		return least;

	busy = mul_u64_u64_div_u64(span, samples->busy, samples->nr);
	weight = mul_u64_u64_div_u64(span, samples->cpus, samples->nr);
	cov = samples->cpus * (samples->nr - samples->busy);
	/* n is an integer, so this is no less than cov; but the sums have lost a little. */
	var = max(samples->squares * samples->nr - samples->cpus * samples->cpus, cov);
	if (cov && sum->weight >= weight)
		busy += mul_u64_u64_div_u64(sum->weight - weight, cov, var);
	else if (cov)
		busy -= min(busy, mul_u64_u64_div_u64(weight - sum->weight, cov, var));
	return clamp(busy, least, most_busy(sum, span));
}

/**
 * psi_sum_ns - the stall time of a group
 * @sum:   all CPUs
 * @state: one of the stalls, or of the two that are because of a quota
 * @busy:  psi_sum_busy()
 *
 *	t[i] = time stalled, w[i] = time not idle, of CPU i, U = @busy
 *	result = sum(t[i]) * U / sum(w[i])
 *	with @weighted: sum(t[i] * w[i]) / sum(w[i])
 *
 * Return: ns, at most the time since the last fold; 0 if all were idle.
 */
u64 psi_sum_ns(const struct psi_sum *sum, enum psi_state state, u64 busy)
{
	u64 units, rest;

	if (!sum->time[state])
		return 0;
	if (!sum->weighted)
		return mul_u64_u64_div_u64(sum->time[state] << PSI_UNIT_SHIFT, busy, sum->weight);

	units = div64_u64_rem(sum->time[state], sum->weight, &rest);
	return (units << PSI_UNIT_SHIFT) +
	       div64_u64(rest << PSI_UNIT_SHIFT, sum->weight);
}

/* @nr periods of the same percentage, which is fixed point. */
static void avg_periods(unsigned long avg[], unsigned long percent, u64 nr)
{
	int i;

	for (i = 0; nr && i < PSI_NR_AVGS; i++)
		avg[i] = calc_load_n(avg[i], psi_decay[i], percent,
				     min(nr, (u64)UINT_MAX));
}

/**
 * psi_avg_sample - decay averages by one sample
 * @avg:     PSI_NR_AVGS averages, percent, fixed point
 * @missed:  number of periods without a sample, before this one
 * @stalled: stall time, ns
 * @span:    time in which it happened, ns, not less than @stalled
 *
 *	avg = avg * e + 100 * stalled / span * (1 - e),  e = exp(-2 s / T)
 */
void psi_avg_sample(unsigned long avg[], u64 missed, u64 stalled, u64 span)
{
	unsigned long percent = div64_u64(stalled * (100 * FIXED_1), span);
	int i;

	avg_periods(avg, 0, missed);
	for (i = 0; i < PSI_NR_AVGS; i++)
		avg[i] = calc_load(avg[i], psi_decay[i], percent);
}

/* @stalled fills @missed periods from their end. Return: what is left for the next one. */
static u64 average_missed(struct psi_stall *stall, u64 missed, u64 stalled)
{
	u64 full, part, left = 0;

	full = div64_u64_rem(stalled, PSI_PERIOD_NS, &part);
	if (full < missed) {
		psi_avg_sample(stall->avg, missed - full - 1, part, PSI_PERIOD_NS);
	} else {
		left = min(stalled - missed * PSI_PERIOD_NS, PSI_PERIOD_NS);
		full = missed;
	}
	avg_periods(stall->avg, 100 * FIXED_1, full);
	return left;
}

/*
 * Bring the growth of a total into its averages. @missed: number of periods without a fold,
 * before the last one. @span: length of that one, ns.
 *
 * The growth fills the time from its end: the last period, then as many of the missed
 * ones as it suffices for. Those before count as zeros:
 *
 *	missed:  0   0   part  100 %  100 %   last: 100 %
 *	                 |<------- growth -------->|
 *
 * What is more than all of that, because clocks of two CPUs do not agree, stays for the
 * next period, but at most as much as that can take.
 */
static void stall_average(struct psi_stall *stall, u64 missed, u64 span)
{
	u64 stalled = stall->total - stall->averaged;
	u64 last = min(stalled, span), before = stalled - last, left = 0;

	if (missed || before)
		left = average_missed(stall, missed, before);
	psi_avg_sample(stall->avg, 0, last, span);
	stall->averaged = stall->total - left;
}

/* Is there growth to be averaged, or an average that decays? */
static bool is_alive(const struct psi_stall *stall)
{
	return stall->total != stall->averaged || stall->avg[0] | stall->avg[1] | stall->avg[2];
}

/* Has a period ended, or more? */
static void account_averages(struct psi_fold *fold, u64 now)
{
	struct psi_stall *stall;
	u64 missed, span;

	if (now < fold->avgs_due)
		return;

	missed = div64_u64(now - fold->avgs_due, PSI_PERIOD_NS);
	span = now - fold->avgs_at - missed * PSI_PERIOD_NS;
	for (stall = fold->stall; stall < fold->stall + PSI_NR_STALLS; stall++)
		if (is_alive(stall))
			stall_average(stall, missed, span);

	fold->avgs_at = now;
	fold->avgs_due += (missed + 1) * PSI_PERIOD_NS;
}

/**
 * psi_fold_account - add what a fold has found to totals and averages
 * @fold:   the group as of the last fold
 * @now:    time of this fold, ns
 * @growth: growth of each of PSI_NR_STATES since the last one, ns
 *
 * Averages are late by whole periods if nothing happened, the thread got no CPU, or a
 * virtual machine was stopped.
 */
void psi_fold_account(struct psi_fold *fold, u64 now, const u64 growth[])
{
	int s;

	for (s = 0; s < PSI_NR_STALLS; s++)
		fold->stall[s].total += growth[s];
	fold->quota_total[0] += growth[PSI_QUOTA_SOME];
	fold->quota_total[1] += growth[PSI_QUOTA_FULL];
	account_averages(fold, now);
}

/* How much of a stall's growth depends on samples, ns. */
static u64 doubt_of(const struct psi_sum *sum, u64 span)
{
	u64 apart = most_busy(sum, span) - sum->longest, time = 0;
	int s;

	if (!apart || sum->weighted)
		return 0;
	for (s = 0; s < PSI_NR_STALLS; s++)
		time = max(time, sum->time[s]);
	return mul_u64_u64_div_u64(time << PSI_UNIT_SHIFT, apart, sum->weight);
}

/*
 * A group that stalls more than it did will be sampled often. The samples so far may not
 * hold any more: count what is certain.
 */
static u64 busy_since(const struct psi_fold *fold, u64 span)
{
	if (fold->sure && fold->doubt + doubt_of(&fold->sum, span) > PSI_DOUBT_NS)
		return fold->sum.longest;
	return psi_sum_busy(&fold->sum, span, &fold->samples);
}

/**
 * psi_fold_growth - growth of a group's states since the last fold
 * @fold:   the group as of that; all CPUs are in its sum
 * @now:    ns
 * @growth: PSI_NR_STATES of them, ns
 */
void psi_fold_growth(const struct psi_fold *fold, u64 now, u64 growth[])
{
	u64 busy = busy_since(fold, (now - fold->at) >> PSI_UNIT_SHIFT);
	u32 left;

	memset(growth, 0, PSI_NR_STATES * sizeof(*growth));
	for (left = fold->sum.states & ~BIT(PSI_NONIDLE); left; left &= left - 1)
		growth[__ffs(left)] = psi_sum_ns(&fold->sum, __ffs(left), busy);

	/* The system has no such state: some task is always on a CPU. */
	if (fold->is_system) {
		growth[PSI_CPU_FULL] = 0;
		growth[PSI_QUOTA_FULL] = 0;
	}
}

/**
 * psi_fold_end - finish a fold
 * @fold: the group as of the last fold; all CPUs are in its sum
 * @now:  ns
 */
void psi_fold_end(struct psi_fold *fold, u64 now)
{
	u64 growth[PSI_NR_STATES];

	/* Quotas are part of these. */
	if (fold->sum.states & PSI_STALLS) {
		psi_fold_growth(fold, now, growth);
		psi_fold_account(fold, now, growth);
		fold->stalled = true;
		fold->doubt += doubt_of(&fold->sum, (now - fold->at) >> PSI_UNIT_SHIFT);
		fold->sure &= fold->doubt <= PSI_DOUBT_NS;
	} else {
		account_averages(fold, now);
	}
	/* Samples of a time in which nothing ran do not tell how much runs at once. */
	if (fold->seen.nr && fold->sum.weight)
		add_samples(&fold->samples, &fold->seen);

	fold->seen = (struct psi_samples) { };
	fold->at = now;
	fold->sum = (struct psi_sum) { };
}

/**
 * psi_fold_next - begin the next period
 * @fold:    the group, after a fold
 * @sampled: will it be sampled?
 */
void psi_fold_next(struct psi_fold *fold, bool sampled)
{
	struct psi_samples *samples = &fold->samples;

	fold->stalled = false;
	fold->sure = fold->doubt <= PSI_DOUBT_NS;
	fold->doubt = 0;
	if (!sampled) {
		*samples = (struct psi_samples) { };
		fold->periods_sampled = 0;
		return;
	}
	fold->periods_sampled = min(fold->periods_sampled + 1, 2);
	samples->nr -= samples->nr / 8;
	samples->busy -= samples->busy / 8;
	samples->cpus -= samples->cpus / 8;
	samples->squares -= samples->squares / 8;
}

/**
 * psi_first_due - when the first period of a new group ends
 * @now: local_clock(), ns
 * @due: end of a period of the system, ns, at most a period after @now
 *
 * Return: the end of a period of the system that is nearest to a period after @now.
 */
u64 psi_first_due(u64 now, u64 due)
{
	u64 latest = now + PSI_PERIOD_NS + PSI_PERIOD_NS / 2;

	return due + div64_u64(latest - due, PSI_PERIOD_NS) * PSI_PERIOD_NS;
}

/* ------------------------------ Reading ------------------------------ */

static void add_cpu(struct psi_group *group, int cpu, u16 states, struct psi_sum *sum)
{
	struct psi_node *node = per_cpu_ptr(group->nodes, cpu);
	u32 times[PSI_NR_STATES];

	psi_cpu_times(node, cpu, times);
	states = psi_growth(node->folded, times, states);
	if (states)
		psi_sum_add(sum, times, states);
}

/* All stalls of one resource. */
static u16 stalls_of(enum psi_state stall)
{
	return stall == PSI_IRQ_FULL ? BIT(stall) : 3 << (stall & ~1);
}

/*
 * What a fold would find of these states now, at one moment. A write of the thread, which
 * makes it retry, happens some dozen times in 2 s.
 */
static void look_ahead(struct psi_group *group, u16 states, struct psi_fold *fold, u64 *when)
{
	u64 growth[PSI_NR_STATES], now;
	unsigned int seq;
	int cpu;

	do {
		seq = read_seqcount_begin(&group->seq);
		*fold = group->fold;
		cond_resched();
		for_each_cpu(cpu, group->active)
			add_cpu(group, cpu, states, &fold->sum);
		/* Clocks of two CPUs may be in the wrong order. */
		now = max(local_clock(), fold->at);
		*when = ktime_get_ns();
	} while (read_seqcount_retry(&group->seq, seq));

	psi_fold_growth(fold, now, growth);
	/*
	 * Leave averages to the thread, unless the group is idle or the thread does not come.
	 */
	if (fold->sum.weight && now < fold->avgs_due + PSI_PERIOD_NS)
		fold->avgs_due = max(fold->avgs_due, now + 1);
	psi_fold_account(fold, now, growth);
}

/*
 * Show no less than before. Where all are stalled some are, so "full" grows by no more
 * than "some", even if both were too high a moment ago.
 */
static void show_stalls(u64 shown[], struct psi_stall *readings, unsigned int nr)
{
	u64 some = max(shown[0], readings[0].total);

	if (nr > 1) {
		readings[1].total = clamp(readings[1].total, shown[1],
					  shown[1] + (some - shown[0]));
		shown[1] = readings[1].total;
	}
	readings[0].total = some;
	shown[0] = some;
}

/**
 * psi_group_read - read a group's stalls as of now
 * @group:    the group
 * @res:      of which resource
 * @readings: its "some" and "full", of PSI_IRQ only one; all are of one moment
 *
 * Context: process.
 */
void psi_group_read(struct psi_group *group, enum psi_resource res, struct psi_stall *readings)
{
	enum psi_state first = psi_first_stall(res);
	unsigned int nr = res == PSI_IRQ ? 1 : 2;
	struct psi_fold fold;
	u64 when;

	look_ahead(group, stalls_of(first), &fold, &when);
	memcpy(readings, &fold.stall[first], nr * sizeof(*readings));

	raw_spin_lock(&group->shown_lock);
	show_stalls(&group->shown[first], readings, nr);
	raw_spin_unlock(&group->shown_lock);
}

/**
 * psi_group_read_split - why a group's tasks have waited for a CPU, as of now
 * @group: the group
 * @split: is filled in; all of it is of one moment
 *
 * Context: process.
 */
void psi_group_read_split(struct psi_group *group, struct psi_cpu_split *split)
{
	u64 when, total, quota, grown;
	struct psi_fold fold;
	int i;

	look_ahead(group, stalls_of(PSI_CPU_SOME) | BIT(PSI_QUOTA_SOME) | BIT(PSI_QUOTA_FULL),
		   &fold, &when);
	raw_spin_lock(&group->shown_lock);
	show_stalls(&group->shown[PSI_CPU_SOME], &fold.stall[PSI_CPU_SOME], 2);
	for (i = 0; i < 2; i++) {
		/* The two add up to what cpu.pressure shows, and neither goes back. */
		total = fold.stall[PSI_CPU_SOME + i].total;
		quota = group->shown_split.quota[i];
		grown = total - quota - group->shown_split.contention[i];
		split->quota[i] = clamp(fold.quota_total[i], quota, quota + grown);
		split->contention[i] = total - split->quota[i];
	}
	group->shown_split = *split;
	raw_spin_unlock(&group->shown_lock);
}

/**
 * psi_group_total - stall time of a group, and when
 * @group: the group
 * @stall: which stall
 * @when:  CLOCK_MONOTONIC, ns
 *
 * Context: process.
 * Return: ns. As part of it is provisional, it may go back a little.
 */
u64 psi_group_total(struct psi_group *group, enum psi_state stall, u64 *when)
{
	struct psi_fold fold;

	look_ahead(group, stalls_of(stall), &fold, when);
	return fold.stall[stall].total;
}

/**
 * psi_system_some_us - stall time of the system, as of now
 * @res: the resource; not PSI_IRQ, which has no "some"
 *
 * Context: process.
 * Return: total of the "some" line of /proc/pressure, us; 0 if PSI is off.
 */
u64 psi_system_some_us(enum psi_resource res)
{
	u64 when;

	if (!static_branch_unlikely(&psi_enabled))
		return 0;

	return div_u64(psi_group_total(&psi_system, psi_first_stall(res), &when), NSEC_PER_USEC);
}
