/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksamplingd tells other parts of the kernel which pages are hot.
 */
#ifndef _LINUX_KSAMPLINGD_H
#define _LINUX_KSAMPLINGD_H

#include <linux/list.h>

/**
 * struct ks_consumer - somebody who acts on hot pages
 * @hot:  a folio has become one of the hottest: its first @pfn, @order (2 MiB at
 *	  most), and node. It may have been freed or split since; look it up.
 *	  Context: ksamplingd, with get_online_mems(): may sleep, but take neither that
 *	  again nor cpus_read_lock(). The time counts for the quota.
 * @list: internal
 */
struct ks_consumer {
	void (*hot)(struct ks_consumer *c, unsigned long pfn, unsigned int order, int nid);
	struct list_head list;
};

#ifdef CONFIG_KSAMPLINGD
void ksamplingd_register(struct ks_consumer *c);
void ksamplingd_unregister(struct ks_consumer *c);
#else
static inline void ksamplingd_register(struct ks_consumer *c) {}
static inline void ksamplingd_unregister(struct ks_consumer *c) {}
#endif

#endif /* _LINUX_KSAMPLINGD_H */
