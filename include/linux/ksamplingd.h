/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksamplingd notifies consumers in the kernel of hot pages. mm notifies ksamplingd when
 * pages are freed or migrated.
 */
#ifndef _LINUX_KSAMPLINGD_H
#define _LINUX_KSAMPLINGD_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct folio;
struct page;

/**
 * struct ks_hot_page - a hot page, as passed to consumers
 * @pfn:      the page, or the first page of a folio
 * @order:    of the folio, at most 9 (2 MiB); a larger one is passed in parts
 * @nid:      node of the page
 * @from_nid: node of the CPU that was seen to access it; NUMA_NO_NODE if that is unknown
 * @heat:     512 for each sample of a base page, 1 for each of 2 MiB; halved when samples
 *	      have told enough, or once in vm.ksamplingd.cool_ms
 * @again:    it was sampled in an earlier window as well, has been warm since, and this is
 *	      its first sample in this window
 * @store:    the sample is from an event that counts stores, not loads. An event that cannot
 *	      tell them apart (IBS) is one of stores.
 */
struct ks_hot_page {
	unsigned long pfn;
	unsigned int order;
	int nid;
	int from_nid;
	u32 heat;
	bool again;
	bool store;
};

/**
 * enum ks_answer - answer of a consumer
 * @KS_DONE:  do not call again for this page unless it becomes hot anew, gets to another
 *	       node, or ksamplingd_ask_again() asks for it
 * @KS_LATER: call again, if it is still hot, at its first sample in a later window, or at one
 *	       after that if eight windows have passed
 */
enum ks_answer {
	KS_DONE,
	KS_LATER,
};

/**
 * struct ks_consumer - a user of the information which pages are hot
 * @hot:  called when a page has become one of the hottest. It may have been freed or split
 *	  since; a consumer that touches it takes a reference and checks again.
 *	  Context: ksamplingd, which holds no lock and no page: may sleep. It may take any
 *	  lock that nobody holds while unregistering a consumer, but must not unregister one
 *	  itself. The time counts for the quota, and no sample is read meanwhile.
 * @slot: internal
 */
struct ks_consumer {
	enum ks_answer (*hot)(struct ks_consumer *c, const struct ks_hot_page *page);
	unsigned int slot;
};

#ifdef CONFIG_KSAMPLINGD
int ksamplingd_register(struct ks_consumer *c);
void ksamplingd_unregister(struct ks_consumer *c);
void ksamplingd_ask_again(struct ks_consumer *c, unsigned long pfn);

/* Enabled while there is heat to keep up to date. */
DECLARE_STATIC_KEY_FALSE(ks_pages_have_heat);

void __ksamplingd_freed(struct page *page, unsigned int order);
void __ksamplingd_migrated(struct folio *to, struct folio *from);

/* Pages go back to the allocator: drop their heat. Context: any but NMI. */
static inline void ksamplingd_freed(struct page *page, unsigned int order)
{
	if (static_branch_unlikely(&ks_pages_have_heat))
		__ksamplingd_freed(page, order);
}

/* The contents of a folio have moved to another one. Context: any but NMI; both referenced. */
static inline void ksamplingd_migrated(struct folio *to, struct folio *from)
{
	if (static_branch_unlikely(&ks_pages_have_heat))
		__ksamplingd_migrated(to, from);
}
#else
static inline int ksamplingd_register(struct ks_consumer *c) { return 0; }
static inline void ksamplingd_unregister(struct ks_consumer *c) {}
static inline void ksamplingd_ask_again(struct ks_consumer *c, unsigned long pfn) {}
static inline void ksamplingd_freed(struct page *page, unsigned int order) {}
static inline void ksamplingd_migrated(struct folio *to, struct folio *from) {}
#endif

#endif /* _LINUX_KSAMPLINGD_H */
