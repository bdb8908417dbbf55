/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For unit tests: random numbers that can be had again. A test prints its seed, and takes
 * another one at boot: psi_history_test.seed=7.
 */
#ifndef _KERNEL_SCHED_PSI_SEED_H
#define _KERNEL_SCHED_PSI_SEED_H

#include <kunit/test.h>
#include <linux/moduleparam.h>
#include <linux/random.h>

static unsigned long long given_seed;
module_param_named(seed, given_seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random numbers; 0: another one each time");

static u64 new_seed(struct kunit *test)
{
	u64 seed = given_seed ?: get_random_u64();

	kunit_info(test, "seed %llu\n", seed);
	return seed;
}

#endif /* _KERNEL_SCHED_PSI_SEED_H */
