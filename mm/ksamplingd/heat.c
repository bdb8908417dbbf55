// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: how hot pages are. Arithmetic only; pages.c keeps the numbers.
 *
 * The unit is the folio. A sample heats it by 2^(9 - order), so that heat is per base
 * page: 512 samples of a 2 MiB page say as much of each part of it as one sample says
 * of a 4 KiB page.
 *
 * Heat is halved once in an epoch. That is done when the page is seen next, from the
 * number of epochs that have gone by; nobody walks over the pages. A node's histogram
 * counts base pages by the logarithm of their heat, and to halve all of them is to
 * move each bin to the next lower one. So the histogram says at any time what counting
 * all pages would say, to the last page: heat has 32 bits, and 32 bins.
 *
 * A page becomes hot when its heat reaches both an eighth more than those have that just
 * fit into the target, and that of a number of samples, of a folio of its order, in one
 * epoch. So a huge page needs no more samples than a base page, but what it has after
 * one sample is not taken for more than that. It stays hot until it has an eighth less than
 * the one, or less than half of the other. Half, because that is what the end of an epoch
 * takes away from the page and not from the number of samples. The first goes down
 * together with the heat of all pages; about as many that are hot have less than it as
 * others have more, so that those that are hot are as much as fits.
 */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "heat.h"

/**
 * ks_heat_now - heat of a page, cooled to this epoch
 * @h:	   the page as it was when it was last seen
 * @epoch: the present one
 *
 * Return: heat; 0: it has not been seen for long enough.
 */
u32 ks_heat_now(struct ks_heat h, u32 epoch)
{
	u32 epochs = (epoch - h.epoch) & GENMASK(KS_EPOCH_BITS - 1, 0);

	return epochs < KS_NR_BINS ? h.heat >> epochs : 0;
}

/**
 * ks_heat_bin - where the histogram has a page
 * @h:	   the page as it was when it was last seen
 * @epoch: the present one
 *
 * Return: the bin, or -1: nowhere, because it is cold.
 */
int ks_heat_bin(struct ks_heat h, u32 epoch)
{
	u32 heat = ks_heat_now(h, epoch);

	return heat ? ilog2(heat) : -1;
}

static u32 floor_of(u8 order, struct ks_limits limits)
{
	return limits.samples << (KS_MAX_ORDER - order);
}

/**
 * ks_heat_hot_from - from which heat on does a page become hot?
 * @order:  of the folio that it is the first one of; at most KS_MAX_ORDER
 * @limits: what that takes
 *
 * Return: heat; it may be more than there is.
 */
u64 ks_heat_hot_from(u8 order, struct ks_limits limits)
{
	return max(limits.heat + (u64)limits.heat / 8, floor_of(order, limits));
}

static bool is_hot(bool was, u32 heat, u8 order, struct ks_limits limits)
{
	if (was)
		return heat && heat >= max(limits.heat - limits.heat / 8,
					   floor_of(order, limits) / 2);
	return heat >= ks_heat_hot_from(order, limits);
}

/**
 * ks_heat_is_hot - is it one of the hottest?
 * @h:	    the page as it was when it was last seen
 * @epoch:  the present one
 * @limits: what that takes
 *
 * Return: true if so.
 */
bool ks_heat_is_hot(struct ks_heat h, u32 epoch, struct ks_limits limits)
{
	return is_hot(h.hot, ks_heat_now(h, epoch), h.order, limits);
}

/**
 * ks_heat_sample - a page was accessed
 * @h:	    the page
 * @epoch:  the present one
 * @order:  of the folio that the page is the first one of; at most KS_MAX_ORDER
 * @limits: what it takes to be hot
 *
 * Return: true if it has become hot by that; nobody has been told then.
 */
bool ks_heat_sample(struct ks_heat *h, u32 epoch, u8 order, struct ks_limits limits)
{
	/* It may have become cold, or another folio, without being seen. */
	bool was = h->hot && h->order == order && ks_heat_is_hot(*h, epoch, limits);

	h->heat = min(ks_heat_now(*h, epoch) + BIT_ULL(KS_MAX_ORDER - order), U32_MAX);
	h->epoch = epoch;
	h->order = order;
	h->hot = is_hot(was, h->heat, order, limits);
	if (!was)
		h->told = 0;
	return h->hot && !was;
}

/**
 * ks_histogram_add - some memory more, or less, is so hot
 * @hist:  of the node
 * @bin:   as ks_heat_bin() says; nothing is done for -1
 * @pages: base pages
 */
void ks_histogram_add(struct ks_histogram *hist, int bin, long pages)
{
	unsigned long before;

	if (bin < 0)
		return;
	/* A page may come back whose epoch has wrapped meanwhile. */
	before = hist->bin[bin];
	WRITE_ONCE(hist->bin[bin], before + max(pages, -(long)before));
}

/**
 * ks_histogram_replace - a page was sampled
 * @hist:   histogram of its node
 * @before: the page as it was
 * @after:  the page as it is; it may have been split or merged
 * @epoch:  the present one
 */
void ks_histogram_replace(struct ks_histogram *hist, struct ks_heat before,
			  struct ks_heat after, u32 epoch)
{
	ks_histogram_add(hist, ks_heat_bin(before, epoch), -BIT(before.order));
	ks_histogram_add(hist, ks_heat_bin(after, epoch), BIT(after.order));
}

/**
 * ks_histogram_cool - an epoch ends
 * @hist: the histogram of a node
 */
void ks_histogram_cool(struct ks_histogram *hist)
{
	int i;

	for (i = 0; i + 1 < KS_NR_BINS; i++)
		WRITE_ONCE(hist->bin[i], hist->bin[i + 1]);
	WRITE_ONCE(hist->bin[KS_NR_BINS - 1], 0);
}

/**
 * ks_histogram_threshold - from which heat on is a page one of the hottest?
 * @hist:  how much memory is how hot
 * @pages: how many base pages there is place for
 *
 * Within a bin the number of pages that reach a heat is taken to go with 1 / heat, as
 * if each page were twice as hot as the one that ranks twice as high:
 *
 *	pages = hotter + bin * (2 * low / heat - 1),  from low to 2 * low
 *
 * Return: heat, from 1 on. If the hottest bin alone has no place, part of that.
 */
u32 ks_histogram_threshold(const struct ks_histogram *hist, unsigned long pages)
{
	u64 hotter = 0, low;
	int i;

	for (i = KS_NR_BINS - 1; i > 0; i--) {
		if (hotter + hist->bin[i] > pages)
			break;
		hotter += hist->bin[i];
	}

	low = BIT_ULL(i);
	if (hotter + hist->bin[i] <= pages)
		return low;
	return min(mul_u64_u64_div_u64(2 * low, hist->bin[i], hist->bin[i] + pages - hotter) + 1,
		   2 * low - 1);
}
