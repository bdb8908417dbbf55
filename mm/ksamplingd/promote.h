/* SPDX-License-Identifier: GPL-2.0 */
/* Promotion of hot pages, shared by its parts. See promote.c. */
#ifndef _MM_KSAMPLINGD_PROMOTE_H
#define _MM_KSAMPLINGD_PROMOTE_H

#include <linux/nodemask.h>
#include <linux/types.h>

#include "promote_plan.h"

struct folio;
struct mem_cgroup;

/* Why a page is not promoted. In the order of the events in vm_event_item.h. */
enum ks_failure {
	KS_NO_FAILURE,
	KS_GONE,		/* freed, or moved to another node */
	KS_COLD,
	KS_BARRED,		/* it was demoted soon, and is not hot enough for another try */
	KS_ORDER,		/* split or merged since */
	KS_PINNED,		/* mlocked, or pinned for DMA */
	KS_SPECIAL,		/* not memory of programs, or not migratable */
	KS_SHARED,		/* mapped by too many */
	KS_POLICY,		/* mempolicy or cpuset of a user */
	KS_BUSY,		/* in use otherwise, or dirty, at all tries */
	KS_NO_ROOM,		/* no room on the target, at all tries */
	KS_NR_FAILURES,
};

/**
 * struct ks_item - a page of a batch
 * @c:	    its candidate
 * @folio:  isolated
 * @memcg:  of the folio; with a reference
 * @nid:    node of the folio
 * @target: node to migrate to
 * @heat:   present heat
 * @was_active: it was on the active list
 * @unlisted: it has been on no LRU list for some tries
 * @sent:   it was passed to migrate_pages()
 * @moved:  it has been migrated
 */
struct ks_item {
	struct ks_candidate *c;
	struct folio *folio;
	struct mem_cgroup *memcg;
	int nid;
	int target;
	u32 heat;
	bool was_active;
	bool unlisted;
	bool sent;
	bool moved;
};

/**
 * struct ks_promote_knobs - settings of the administrator
 * @mb_per_s:	 limit of the rate
 * @nodes_named: false: all nodes of lower tiers are to be emptied
 * @nodes:	 those that are, if @nodes_named
 *
 * They change under the mutex of promote_knobs.c, while the thread and the sampler read them.
 */
struct ks_promote_knobs {
	u32 mb_per_s;
	bool nodes_named;
	nodemask_t nodes;
};

extern struct ks_promote_knobs ks_promote_knobs;

bool ks_promote_is_source(int nid);
enum ks_failure ks_promote_prepare(struct ks_item *item, u32 more_pages);

int ks_promote_start(void);
void ks_promote_stop(void);
bool ks_promote_is_on(void);
void ks_promote_pause(void);
int ks_promote_resume(void);

#endif /* _MM_KSAMPLINGD_PROMOTE_H */
