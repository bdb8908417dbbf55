/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How hot pages are. See heat.c.
 */
#ifndef _MM_KSAMPLINGD_HEAT_H
#define _MM_KSAMPLINGD_HEAT_H

#include <linux/types.h>

#define KS_NR_BINS	32
#define KS_EPOCH_BITS	20
#define KS_WINDOW_BITS	3
#define KS_MAX_ORDER	9	/* 2 MiB; a larger folio counts as several of these */
#define KS_MAX_CONSUMERS 4

/**
 * struct ks_heat - one page, or one folio by its first page; all 0: never sampled
 * @heat:   at the last sample; halved for each epoch since
 * @epoch:  of the last sample; wraps, but not before the page has been found cold
 * @order:  of the folio that it was counted as
 * @hot:    it was hot at the last sample
 * @told:   one bit for each consumer that knows and has not asked for another call
 * @window: of the last sample, lowest bits
 * @word:   all of these, to be read and written at once
 */
struct ks_heat {
	union {
		struct {
			u32 heat;
			u32 epoch:KS_EPOCH_BITS;
			u32 order:4;
			u32 hot:1;
			u32 told:KS_MAX_CONSUMERS;
			u32 window:KS_WINDOW_BITS;
		};
		u64 word;
	};
};

/**
 * struct ks_limits - what it takes to be hot
 * @heat:    lowest heat of the hottest pages that fit into the target
 * @samples: minimum number of samples
 */
struct ks_limits {
	u32 heat;
	u32 samples;
};

/**
 * struct ks_hits - samples of a window
 * @samples: all that were counted for a page
 * @hits:    those of hot pages
 * @heat:    that these have added
 */
struct ks_hits {
	u32 samples;
	u32 hits;
	u64 heat;
};

/**
 * struct ks_epoch - how long heat lasts
 * @began_ns: begin of the epoch
 * @hits_ppm: share of samples that hit hot pages, smoothed
 * @heat:     what a sample adds to a hot page, smoothed
 */
struct ks_epoch {
	u64 began_ns;
	u32 hits_ppm;
	u32 heat;
};

/**
 * struct ks_histogram - how much memory is how hot
 * @bin: base pages whose heat has bit n as its highest
 */
struct ks_histogram {
	unsigned long bin[KS_NR_BINS];
};

bool ks_epoch_is_over(struct ks_epoch *e, u64 now, struct ks_limits limits,
		      const struct ks_hits *hits);
u32 ks_heat_now(struct ks_heat h, u32 epoch);
int ks_heat_bin(struct ks_heat h, u32 epoch);
u64 ks_heat_hot_from(u8 order, struct ks_limits limits);
bool ks_heat_is_hot(struct ks_heat h, u32 epoch, struct ks_limits limits);
bool ks_heat_sample(struct ks_heat *h, u32 epoch, u8 order, struct ks_limits limits);
void ks_histogram_add(struct ks_histogram *hist, int bin, long pages);
void ks_histogram_replace(struct ks_histogram *hist, struct ks_heat before,
			  struct ks_heat after, u32 epoch);
void ks_histogram_cool(struct ks_histogram *hist);
u32 ks_histogram_threshold(const struct ks_histogram *hist, unsigned long pages);

#endif /* _MM_KSAMPLINGD_HEAT_H */
