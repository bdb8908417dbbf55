// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the periods that there are. Locking: none; all is constant.
 */
#include <linux/types.h>

#include "quota.h"

/*
 * Events between two samples, in steps of 15 %. Primes, so that no loop in a program has
 * the same length. The longest fit 192 CPUs with 5 * 10^9 operations a second each, which
 * is what IBS counts, into 3 %, at 1 us a sample.
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

/**
 * ks_level_of - get the level whose period is nearest to a given one
 * @kind:   which table
 * @period: events
 *
 * Return: the level, nearest by ratio; the first or the last if @period is outside.
 */
u8 ks_level_of(enum ks_kind kind, u32 period)
{
	const u32 *periods = ks_periods[kind];
	u8 level = 0;

	while (level < KS_NR_LEVELS - 1 &&
	       (u64)periods[level] * periods[level + 1] < (u64)period * period)
		level++;
	return level;
}
