/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages are promoted next, and how many. See promote_plan.c.
 */
#ifndef _MM_KSAMPLINGD_PROMOTE_PLAN_H
#define _MM_KSAMPLINGD_PROMOTE_PLAN_H

#include <linux/types.h>

#define KS_QUEUE_SLOTS		4096
#define KS_MOST_TRIES		20
#define KS_RETRY_NS		200000000ULL	/* between two tries */
#define KS_MINUTE_S		60
#define KS_FORGET_S		600		/* after this, a past is forgotten */
#define KS_MOST_RETURNS		3
#define KS_RETURNS_S		30		/* half of the minute of the share */
#define KS_RETURNS_LIMIT	250		/* permille of promoted pages */
#define KS_RETURNS_FEW		4096		/* base pages a minute; fewer count as this */
#define KS_MOST_SHIFT		4

/**
 * struct ks_candidate - a folio to be promoted
 * @pfn:      first page
 * @after_ns: earliest time of the next try
 * @heat:     when it was queued
 * @from_nid: node of the CPU that uses it, or NUMA_NO_NODE
 * @next:     next slot of the list
 * @order:    of the folio, when it was queued
 * @tries:    failed tries
 */
struct ks_candidate {
	unsigned long pfn;
	u64 after_ns;
	u32 heat;
	int from_nid;
	u16 next;
	u8 order;
	u8 tries;
};

/**
 * struct ks_line - a list of slots
 * @first: first slot; KS_NO_SLOT if the list is empty
 * @last:  last slot
 */
struct ks_line {
	u16 first;
	u16 last;
};

#define KS_NO_SLOT		U16_MAX

/**
 * struct ks_queue - candidates of a node
 * @slots:   all slots; NULL: there are none
 * @nr:      number of slots
 * @free:    unused slots
 * @fresh:   candidates never tried, by age
 * @waiting: candidates to be tried again, by time
 * @pages:   base pages of all candidates, including taken ones
 */
struct ks_queue {
	struct ks_candidate *slots;
	u32 nr;
	struct ks_line free;
	struct ks_line fresh;
	struct ks_line waiting;
	unsigned long pages;
};

/**
 * struct ks_rate - budget of a rate
 * @bytes:     bytes left; negative if moved ahead of time
 * @filled_ns: time of the last ks_rate_fill()
 */
struct ks_rate {
	s64 bytes;
	u64 filled_ns;
};

/**
 * struct ks_returns - share of promoted pages that come back within a minute
 * @up:	      base pages promoted, in the last half minute and in this one
 * @back:     base pages that came back, likewise
 * @until_s:  end of this half minute
 * @permille: share in the minute that ended last
 * @shift:    how often the rate is halved because of it
 */
struct ks_returns {
	unsigned long up[2];
	unsigned long back[2];
	u64 until_s;
	u32 permille;
	u32 shift;
};

/**
 * struct ks_past - what is remembered of a page; all 0: nothing
 * @when_s:   time when it was promoted, or came back
 * @up:	      it was promoted and has not been demoted since
 * @came_back: how often it came back, lately
 * @word:     all of these
 */
struct ks_past {
	union {
		struct {
			u32 when_s:28;
			u32 up:1;
			u32 came_back:3;
		};
		u32 word;
	};
};

void ks_queue_init(struct ks_queue *q, struct ks_candidate *slots, u32 nr);
bool ks_queue_put(struct ks_queue *q, unsigned long pfn, u8 order, int from_nid, u32 heat);
struct ks_candidate *ks_queue_take(struct ks_queue *q, u64 now_ns);
bool ks_queue_again(struct ks_queue *q, struct ks_candidate *c, u64 now_ns);
void ks_queue_back(struct ks_queue *q, struct ks_candidate *c);
void ks_queue_done(struct ks_queue *q, struct ks_candidate *c);
bool ks_queue_has(const struct ks_queue *q, u64 now_ns);

void ks_rate_fill(struct ks_rate *r, u32 mb_per_s, u32 shift, u64 now_ns);
bool ks_rate_take(struct ks_rate *r, u64 bytes);
void ks_rate_give(struct ks_rate *r, u64 bytes);

void ks_returns_window(struct ks_returns *r, u64 now_s);

struct ks_past ks_past_promoted(struct ks_past p, u64 now_s);
struct ks_past ks_past_demoted(struct ks_past p, u64 now_s, bool *returned);
u32 ks_past_returns(struct ks_past p, u64 now_s);
bool ks_past_is_over(struct ks_past p, u64 now_s);
bool ks_past_allows(struct ks_past p, u64 now_s, u32 heat, u64 hot_from);

#endif /* _MM_KSAMPLINGD_PROMOTE_PLAN_H */
