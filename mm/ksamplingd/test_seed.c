// SPDX-License-Identifier: GPL-2.0
/* Random numbers of the unit tests, which can be had again: test_seed.seed=7 at boot. */
#include <kunit/test.h>
#include <linux/moduleparam.h>
#include <linux/random.h>

#include "test_seed.h"

static unsigned long long given_seed;
module_param_named(seed, given_seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random numbers; 0: another one each time");

/**
 * ks_test_seed - get the seed of a test
 * @test: the test, which prints it
 *
 * Return: the one that was given at boot, or a random one.
 */
u64 ks_test_seed(struct kunit *test)
{
	u64 seed = given_seed ?: get_random_u32();

	kunit_info(test, "seed %llu\n", seed);
	return seed;
}
