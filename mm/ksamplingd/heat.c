// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: how hot pages are. Arithmetic only; pages.c keeps the numbers. Locking:
 * the caller's.
 *
 * The unit is the folio. A sample heats it by 2^(9 - order), so that heat is per base
 * page: 512 samples of a 2 MiB page say as much about each part of it as one sample says
 * about a 4 KiB page.
 *
 * Heat is halved once in an epoch, which lasts until samples have told enough: until the
 * pages that just fit into the target have twice the samples that a hot page needs. That
 * are seconds if memory is small or samples are many, and up to a quarter of an hour. If
 * far fewer samples hit hot pages than before, others have become hot, and it ends early.
 *
 * The halving is done when the page is sampled next, from the
 * number of epochs that have passed; nothing walks the pages. The histogram of a node
 * counts base pages by the logarithm of their heat, and to halve them all is to move each
 * bin to the next lower one. Heat has 32 bits and there are 32 bins, so the histogram
 * says at any time exactly what counting all pages would say.
 *
 * The target heat is that of the pages that just fit into the target. The floor is what a
 * number of samples in one epoch give a folio of that order; so a huge page needs as many of
 * them as a base page. A page becomes hot when its heat reaches the floor and 9/8 of the target
 * heat. It stays hot until its heat is below 7/8 of the target heat or half of the floor: half
 * is what the end of an epoch takes away from the page, but not from the number of samples. The
 * target heat falls together with the heat of all pages. About as many hot pages are below it
 * as others are above it, so the hot pages are as much memory as fits.
 */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "heat.h"

#define LEAST_EPOCH_NS	(2ULL * NSEC_PER_SEC)
#define MOST_EPOCH_NS	(900ULL * NSEC_PER_SEC)
#define ENOUGH_SAMPLES	64	/* in a window, to judge by its hits */
#define ENOUGH_HITS	100000	/* ppm of the samples, to miss them */

/**
 * ks_heat_now - get the heat of a page in this epoch
 * @h:	   the page, as of its last sample
 * @epoch: the present one
 *
 * Return: heat; 0 if the page has not been sampled for long enough.
 */
u32 ks_heat_now(struct ks_heat h, u32 epoch)
{
	u32 epochs = (epoch - h.epoch) & GENMASK(KS_EPOCH_BITS - 1, 0);

	return epochs < KS_NR_BINS ? h.heat >> epochs : 0;
}

/**
 * ks_heat_bin - get the histogram bin of a page
 * @h:	   the page, as of its last sample
 * @epoch: the present one
 *
 * Return: the bin, or -1 if the page is cold and in none.
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
 * ks_heat_hot_from - get the heat at which a page becomes hot
 * @order:  of the folio; at most KS_MAX_ORDER
 * @limits: what it takes to be hot
 *
 * Return: heat; it may be more than 32 bits can hold.
 */
u64 ks_heat_hot_from(u8 order, struct ks_limits limits)
{
	return max(limits.heat + (u64)limits.heat / 8, floor_of(order, limits));
}

static u32 smooth(u32 old, u32 new)
{
	return (9 * (u64)old + new) / 10;
}

/* Do far fewer samples hit hot pages than usual? */
static bool others_are_hot(struct ks_epoch *e, const struct ks_hits *hits)
{
	u32 usual = e->hits_ppm, now;

	if (hits->samples < ENOUGH_SAMPLES)
		return false;
	now = div_u64(hits->hits * 1000000ULL, hits->samples);
	e->hits_ppm = smooth(usual, now);
	return usual > ENOUGH_HITS && now < usual / 2;
}

/**
 * ks_epoch_is_over - is heat to be halved?
 * @e:	    the epoch
 * @now:    ns
 * @limits: what it takes to be hot
 * @hits:   samples of the window that has ended
 *
 * Huge pages are told by few samples as well as base pages are: what a sample adds to those
 * that are hot is the unit.
 *
 * Return: true if so.
 */
bool ks_epoch_is_over(struct ks_epoch *e, u64 now, struct ks_limits limits,
		      const struct ks_hits *hits)
{
	bool others = others_are_hot(e, hits);
	u64 age_ns = now - e->began_ns;

	if (hits->hits)
		e->heat = smooth(e->heat ?: BIT(KS_MAX_ORDER), div_u64(hits->heat, hits->hits));
	if (age_ns < LEAST_EPOCH_NS)
		return false;
	return others || age_ns >= MOST_EPOCH_NS ||
	       limits.heat >= 2ULL * limits.samples * (e->heat ?: BIT(KS_MAX_ORDER));
}

static bool is_hot(bool was, u32 heat, u8 order, struct ks_limits limits)
{
	if (was)
		return heat && heat >= max(limits.heat - limits.heat / 8,
					   floor_of(order, limits) / 2);
	return heat >= ks_heat_hot_from(order, limits);
}

/**
 * ks_heat_is_hot - tell whether a page is hot now
 * @h:	    the page, as of its last sample
 * @epoch:  the present one
 * @limits: what it takes to be hot
 *
 * Return: true if it is.
 */
bool ks_heat_is_hot(struct ks_heat h, u32 epoch, struct ks_limits limits)
{
	return is_hot(h.hot, ks_heat_now(h, epoch), h.order, limits);
}

/**
 * ks_heat_sample - count a sample of a page
 * @h:	    the page
 * @epoch:  the present one
 * @order:  of the folio whose first page this is; at most KS_MAX_ORDER
 * @limits: what it takes to be hot
 *
 * Return: true if the page has become hot by this sample; no consumer knows of it then.
 */
bool ks_heat_sample(struct ks_heat *h, u32 epoch, u8 order, struct ks_limits limits)
{
	/* Unnoticed, it may have become cold or part of another folio. */
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
 * ks_histogram_add - change the amount of memory in a bin
 * @hist:  of the node
 * @bin:   as from ks_heat_bin(); nothing is done for -1
 * @pages: base pages; may be negative
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
 * ks_histogram_replace - update the histogram for a sampled page
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
 * ks_histogram_cool - halve the heat of all pages, at the end of an epoch
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
 * ks_histogram_threshold - get the heat that the hottest pages have
 * @hist:  how much memory is how hot
 * @pages: base pages that may be called hot
 *
 * Within a bin, the number of pages above a heat is taken to be proportional to 1 / heat,
 * as if each page were twice as hot as the one at twice its rank:
 *
 *	pages = hotter + bin * (2 * low / heat - 1),  from low to 2 * low
 *
 * Return: heat, at least 1. If not even the hottest bin fits, a heat within that bin.
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
