/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How hot pages are. See heat.c.
 */
#ifndef _MM_KSAMPLINGD_HEAT_H
#define _MM_KSAMPLINGD_HEAT_H

#include <linux/types.h>

#define KS_NR_BINS	32
#define KS_EPOCH_BITS	27
#define KS_MAX_ORDER	9	/* 2 MiB; what is larger counts as several of these */

/**
 * struct ks_heat - one page, or one folio as its first page
 * @heat:  at the last sample; halved for each epoch since
 * @epoch: of the last sample; wraps, after 155 days of epochs of 100 ms
 * @order: of the folio that it was counted as
 * @told:  all consumers know that it is hot
 * @word:  all of that, to be read and written at once
 */
struct ks_heat {
	union {
		struct {
			u32 heat;
			u32 epoch:KS_EPOCH_BITS;
			u32 order:4;
			u32 told:1;
		};
		u64 word;
	};
};

/**
 * struct ks_histogram - how much memory is how hot
 * @bin: base pages whose heat has the highest bit n
 */
struct ks_histogram {
	unsigned long bin[KS_NR_BINS];
};

u32 ks_heat_now(struct ks_heat h, u32 epoch);
u32 ks_heat_sample(struct ks_heat *h, struct ks_histogram *hist, u32 epoch, u8 order);
void ks_histogram_cool(struct ks_histogram *hist);
u32 ks_histogram_threshold(const struct ks_histogram *hist, unsigned long pages);

#endif /* _MM_KSAMPLINGD_HEAT_H */
