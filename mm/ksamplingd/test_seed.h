/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers of the unit tests, which can be had again. */
#ifndef _MM_KSAMPLINGD_TEST_SEED_H
#define _MM_KSAMPLINGD_TEST_SEED_H

#include <linux/types.h>

struct kunit;

u64 ks_test_seed(struct kunit *test);

#endif /* _MM_KSAMPLINGD_TEST_SEED_H */
