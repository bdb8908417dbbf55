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

static void add(struct ks_histogram *hist, u32 heat, u8 order)
{
	unsigned long *bin = &hist->bin[heat ? ilog2(heat) : 0];

	if (heat)
		WRITE_ONCE(*bin, *bin + BIT(order));
}

static void subtract(struct ks_histogram *hist, u32 heat, u8 order)
{
	unsigned long *bin = &hist->bin[heat ? ilog2(heat) : 0];

	/* A page may come back whose epoch has wrapped meanwhile. */
	if (heat)
		WRITE_ONCE(*bin, *bin - min(*bin, BIT(order)));
}

/**
 * ks_heat_sample - a page was accessed
 * @h:	   the page
 * @hist:  histogram of its node
 * @epoch: the present one
 * @order: of the folio that the page is the first one of; at most KS_MAX_ORDER
 *
 * Return: its heat now, from 1 on.
 */
u32 ks_heat_sample(struct ks_heat *h, struct ks_histogram *hist, u32 epoch, u8 order)
{
	u32 before = ks_heat_now(*h, epoch);
	u32 heat = min(before + BIT_ULL(KS_MAX_ORDER - order), U32_MAX);

	/* It may have been split or merged since. */
	subtract(hist, before, h->order);
	add(hist, heat, order);
	h->epoch = epoch;
	h->heat = heat;
	h->order = order;
	return heat;
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
