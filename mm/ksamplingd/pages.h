/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The heat of all pages. See pages.c.
 */
#ifndef _MM_KSAMPLINGD_PAGES_H
#define _MM_KSAMPLINGD_PAGES_H

#include <linux/numa.h>
#include <linux/seq_file.h>
#include <linux/types.h>

#include "heat.h"

struct folio;

extern const struct seq_operations ks_hot_pages_sops;

/* Why a sample could not be counted. */
enum ks_discard {
	KS_NOT_DISCARDED,
	KS_NO_ADDRESS,		/* no physical address: the page was gone by then */
	KS_NO_PAGE,		/* not an address of memory in use */
	KS_NO_MEMORY,		/* no memory for its heat */
	KS_BAD_RECORD,		/* record of the wrong size */
	KS_NOT_MEMORY,		/* from a cache, or from an unknown source */
	KS_KERNEL,		/* address of the kernel */
	KS_NR_DISCARDS,
};

/**
 * struct ks_follower - callbacks for what happens to any page
 * @freed: as ksamplingd_freed(), by pfn
 * @moved: as ksamplingd_migrated()
 *
 * Context of both: any but NMI; under RCU.
 */
struct ks_follower {
	void (*freed)(unsigned long pfn, unsigned int order);
	void (*moved)(struct folio *to, struct folio *from);
};

int ks_pages_start(void);
void ks_pages_limit(u64 bytes);
void ks_pages_stop(void);
enum ks_discard ks_pages_sample(u64 phys, int from_nid, bool store);
void ks_pages_cool(u64 now);
bool ks_pages_window(unsigned long target, u32 samples, u64 now);

void ks_pages_hold(unsigned long index, int by);
void ks_pages_follow(const struct ks_follower *follower);
u32 ks_pages_run(void);
struct folio *ks_pages_folio(unsigned long pfn);
u32 ks_pages_hot_heat(unsigned long pfn, unsigned int order);
u64 ks_pages_hot_from(unsigned int order);

u32 ks_pages_threshold(void);
unsigned long ks_pages_target(void);
void ks_pages_histogram(int nid, struct ks_histogram *hist);
unsigned long ks_pages_bytes(void);
unsigned long ks_pages_dropped(void);

#endif /* _MM_KSAMPLINGD_PAGES_H */
