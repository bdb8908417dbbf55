/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The heat of all pages: what pages.c and pages_window.c share. Locking: see pages.c.
 */
#ifndef _MM_KSAMPLINGD_PAGES_INTERNAL_H
#define _MM_KSAMPLINGD_PAGES_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#include "pages.h"

#define KS_BLOCK_PAGES	BIT(KS_MAX_ORDER)

/**
 * struct ks_node - how hot a node is
 * @hist:  its histogram; written by the thread alone
 * @moved: base pages to be added to each bin, left by the hooks
 */
struct ks_node {
	struct ks_histogram hist;
	atomic_long_t moved[KS_NR_BINS];
};

extern struct xarray ks_blocks;
extern atomic_long_t ks_nr_blocks;
extern unsigned long ks_most_blocks;
extern struct ks_node __rcu *ks_nodes;
extern u32 ks_epoch;
extern u32 ks_window;
extern struct ks_epoch ks_this_epoch;
extern struct ks_hits ks_hits;
extern struct ks_limits ks_limits;
extern unsigned long ks_stale_slots;

/* For the thread, and for ks_pages_stop() after it: nothing else frees ks_nodes. */
static inline struct ks_node *ks_own_node(int nid)
{
	return &rcu_dereference_protected(ks_nodes, true)[nid];
}

void ks_drop_block(unsigned long index);
struct ks_heat *ks_place_of(unsigned long pfn);
void ks_windows_start(void);

#endif /* _MM_KSAMPLINGD_PAGES_INTERNAL_H */
