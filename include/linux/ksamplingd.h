/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksamplingd tells other parts of the kernel which pages are hot, and is told by mm what
 * becomes of pages.
 */
#ifndef _LINUX_KSAMPLINGD_H
#define _LINUX_KSAMPLINGD_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct folio;
struct page;

/**
 * struct ks_hot_page - what a consumer is told of
 * @pfn:      the page, or the first one of a folio
 * @order:    of the folio, 9 (2 MiB) at most; a larger one is told of in parts
 * @nid:      node that the page is on
 * @from_nid: node of the CPU that was seen to access it; NUMA_NO_NODE if that is unknown
 * @heat:     512 for each sample of a base page, 1 for each of 2 MiB; halved once in
 *	      vm.ksamplingd.cool_ms
 * @again:    it was sampled in an earlier window as well, has been warm since, and this is
 *	      its first sample in this window
 * @store:    the sample is of an event that counts stores, and not one of loads. What
 *	      cannot tell (IBS) says store.
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
 * enum ks_answer - what a consumer makes of it
 * @KS_DONE:  no more of this page, unless it becomes hot anew, or gets to another node, or
 *	       ksamplingd_ask_again() asks for it
 * @KS_LATER: ask again, if it is still hot: at its first sample in a later window,
 *	       or at one after that if eight windows have gone by
 */
enum ks_answer {
	KS_DONE,
	KS_LATER,
};

/**
 * struct ks_consumer - somebody who acts on hot pages
 * @hot:  a page has become one of the hottest. It may have been freed or split since;
 *	  who wants to touch it takes a reference and looks again.
 *	  Context: ksamplingd, which holds no lock and no page: may sleep, and take any
 *	  lock that nobody holds who unregisters a consumer, but not do that itself. The
 *	  time counts for the quota, and no sample is read meanwhile.
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

/* On while there is heat to look after. */
DECLARE_STATIC_KEY_FALSE(ks_pages_have_heat);

void __ksamplingd_freed(struct page *page, unsigned int order);
void __ksamplingd_migrated(struct folio *to, struct folio *from);

/* A page goes back to the allocator: what is in it is gone. Context: any but NMI. */
static inline void ksamplingd_freed(struct page *page, unsigned int order)
{
	if (static_branch_unlikely(&ks_pages_have_heat))
		__ksamplingd_freed(page, order);
}

/* What was in a folio is in another one now. Context: any but NMI; both are referenced. */
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
