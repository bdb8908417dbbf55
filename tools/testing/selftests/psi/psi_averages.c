// SPDX-License-Identifier: GPL-2.0
/*
 * the averages over 10, 60 and 300 s.
 *
 * They move once a period. A period's share of time p turns an average a into
 *
 *	a * f + p * (1 - f)		f = factor / 2048
 *
 * so every single step can be held against the step before.
 */
#include <math.h>

#include "psi_util.h"

static const double factors[NR_AVGS] = {
	1677 / 2048.0, 1981 / 2048.0, 2034 / 2048.0,
};

#define PERIOD_MS	2000

/*
 * Percent. Two decimals are printed, cut off: an error of up to 0.01 in either
 * average. Fixed point of 11 bits adds half of a thousandth.
 */
#define PRINT_TOLERANCE	0.02

/* Percent. A period's share may have been cut off to a whole number. */
#define SHARE_UNIT	1.0

/* Percent. Once in a period this program and a kworker may want the CPU together. */
#define NOISE		0.1

static double percent(const struct psi_line *line, int avg)
{
	return line->avg[avg] / 100.0;
}

static double step(double average, int avg, double share)
{
	return average * factors[avg] + share * (1 - factors[avg]);
}

/* Reads every 20 ms until the averages of some differ from those of @from. */
static int next_step(enum psi_resource res, const struct psi_sample *from,
		     struct psi_sample *to)
{
	__u64 deadline = now_ns() + 3 * PERIOD_MS * NSEC_PER_MSEC;
	int ret;

	do {
		sleep_ms(20);
		ret = psi_read(res, to);
		if (ret)
			return ret;
		if (to->some.avg[AVG10] != from->some.avg[AVG10])
			return 0;
	} while (now_ns() < deadline);
	return -1;
}

/* Is the step that of a share between @least and @most? */
static void check_step(const struct psi_sample *from,
		       const struct psi_sample *to, double least, double most)
{
	int avg;

	for (avg = 0; avg < NR_AVGS; avg++) {
		double old = percent(&from->some, avg);
		double new = percent(&to->some, avg);
		double low = step(old, avg, least) - PRINT_TOLERANCE;
		double high = step(old, avg, most) + PRINT_TOLERANCE;

		EXPECT(new > low && new < high,
		       "average %d: from %.2f to %.2f, not in %.3f .. %.3f",
		       avg, old, new, low, high);
	}
}

/*
 * A period is 2 s and may be late by a tick (10 ms at HZ=100). We look every
 * 20 ms, and then may have to wait for our turn on the CPU: 20 ms more.
 */
static void check_period(const struct psi_sample *from,
			 const struct psi_sample *to)
{
	double ms = (double)(to->after - from->after) / NSEC_PER_MSEC;

	EXPECT(close_to(ms, PERIOD_MS, 50), "%.1f ms between two steps", ms);
}

/* Steps from @from on, each of which must be that of the share @share. */
static void follow(struct psi_sample *from, int steps, double share)
{
	struct psi_sample to;
	int i;

	for (i = 0; i < steps; i++) {
		EXPECT(!next_step(PSI_CPU, from, &to), "no step");
		check_step(from, &to, share - SHARE_UNIT, share + NOISE);
		check_period(from, &to);
		*from = to;
	}
}

static enum psi_result steps_of_full_load_and_none(void)
{
	struct psi_sample start, from;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	pin_to_cpu(0);
	EXPECT(!psi_read(PSI_CPU, &start), "cannot read");
	/* That period has begun before the load. */
	EXPECT(!next_step(PSI_CPU, &start, &from), "no step");

	follow(&from, 6, 100);
	stop_all_loads();

	/* And this one before its end. */
	start = from;
	EXPECT(!next_step(PSI_CPU, &start, &from), "no step");
	follow(&from, 5, 0);
	return PSI_PASS;
}

/*
 * Two of these take turns for 40 ms in every 100 ms, so that 20 to 40 % of the
 * time somebody waits.
 */
static void burst(void *start)
{
	__u64 next = *(__u64 *)start;

	for (;;) {
		sleep_until(next);
		burn_ms(20);
		next += 100 * NSEC_PER_MSEC;
	}
}

/*
 * Percent. The share of a period is known from the totals, which are read up to
 * 40 ms after the end of it (see check_period()): a burst more or less in 2 s.
 */
#define BURST_SHARE	2.0

static enum psi_result steps_follow_totals(void)
{
	struct psi_sample start, from, to;
	__u64 begin = now_ns();
	int i;

	start_load(0, burst, &begin);
	start_load(0, burst, &begin);
	pin_to_cpu(0);
	EXPECT(!psi_read(PSI_CPU, &start), "cannot read");
	EXPECT(!next_step(PSI_CPU, &start, &from), "no step");

	for (i = 0; i < 6; i++) {
		double share;

		EXPECT(!next_step(PSI_CPU, &from, &to), "no step");
		share = psi_share(&from, &to).some;
		psi_note("share %.2f %%, avg10 %.2f", share,
			 percent(&to.some, AVG10));
		EXPECT(share > 15 && share < 45, "that is not the load");
		check_step(&from, &to, share - BURST_SHARE - SHARE_UNIT,
			   share + BURST_SHARE);
		from = to;
	}
	return PSI_PASS;
}

/* What an average has become after @periods of which nobody heard. */
static double decayed(const struct psi_sample *from, int avg, int periods)
{
	return percent(&from->some, avg) * pow(factors[avg], periods);
}

static enum psi_result missed_periods(void)
{
	struct psi_sample from, to;
	int avg, periods;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	sleep_ms(3 * PERIOD_MS);
	EXPECT(!psi_read(PSI_CPU, &from), "cannot read");
	stop_all_loads();
	/* The last of the load is in the averages when the next step is done. */
	EXPECT(!next_step(PSI_CPU, &from, &to), "no step");
	from = to;

	sleep_ms(10 * PERIOD_MS);
	EXPECT(!psi_read(PSI_CPU, &to), "cannot read");

	/*
	 * Periods are longer than 2 s by up to a tick, so nine or ten of them
	 * have ended. Nothing has run but ourselves, for a moment.
	 */
	for (avg = 0; avg < NR_AVGS; avg++) {
		double value = percent(&to.some, avg);
		bool good = false;

		for (periods = 9; periods <= 10; periods++)
			good |= close_to(value, decayed(&from, avg, periods),
					 0.05);
		EXPECT(good, "average %d: %.2f became %.2f", avg,
		       percent(&from.some, avg), value);
	}
	return PSI_PASS;
}

/*
 * A load held for some time, as a user sees it. The averages begin and end at
 * any moment of a period, so the time that they know of may be shorter by one,
 * and the period that the load begins in may have been quiet but for its last
 * moment. Sampling once in 2 s is off by up to 0.5 % from the exponential.
 */
static enum psi_result held_load(void)
{
	static const int seconds[NR_AVGS] = { 10, 60, 300 };
	struct psi_sample from, to;
	int avg;

	/* What came before us is in the averages then, to the last period. */
	sleep_ms(2 * PERIOD_MS);
	EXPECT(!psi_read(PSI_CPU, &from), "cannot read");
	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	sleep_ms(15000);
	EXPECT(!psi_read(PSI_CPU, &to), "cannot read");

	for (avg = 0; avg < NR_AVGS; avg++) {
		double time = (double)(to.after - from.before) / NSEC_PER_SEC;
		double old = percent(&from.some, avg);
		double most = 100 - (100 - old) * exp(-time / seconds[avg]);
		double least;

		time -= PERIOD_MS / 1000.0;
		old *= factors[avg];
		least = 100 - (100 - old) * exp(-time / seconds[avg]);
		psi_note("avg%d %.2f, between %.2f and %.2f", seconds[avg],
			 percent(&to.some, avg), least, most);
		EXPECT(percent(&to.some, avg) > least - 0.5 &&
		       percent(&to.some, avg) < most + 0.5, "out of bounds");
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-5 averages of a load held for 15 s", held_load, 0, 1 },
	{ "R-5 a quiet time is made up for as zeros", missed_periods, 0, 1 },
	{ "R-5 every step has the published factors, once in 2 s",
	  steps_of_full_load_and_none, 0, 1 },
	{ "R-5 averages follow the totals", steps_follow_totals, 0, 1 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
