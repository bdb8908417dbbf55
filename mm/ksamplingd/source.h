/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be sampled. See source.c.
 */
#ifndef _MM_KSAMPLINGD_SOURCE_H
#define _MM_KSAMPLINGD_SOURCE_H

#include <linux/types.h>

#include "quota.h"

#define KS_MAX_EVENTS	2
#define KS_MAX_SOURCES	16

struct perf_event;
struct perf_event_attr;

/**
 * struct ks_event - an event that tells which address was accessed
 * @name:   for people
 * @kind:   which table of periods is its own
 * @pmu:    name of a PMU whose type is not known beforehand, or NULL
 * @type:   perf_event_attr::type, if @pmu is NULL
 * @config: perf_event_attr::config
 * @skid:   0 if the address is that of the event anyway; otherwise the most precise
 *	    perf_event_attr::precise_ip to try. A lower one is taken if it must be, but
 *	    never 0, because there would be no address.
 * @kernel: it cannot tell what the kernel does from what programs do. Samples with an
 *	    address of the kernel are discarded.
 * @tune:   sets what else the event needs, or NULL
 */
struct ks_event {
	const char *name;
	enum ks_kind kind;
	const char *pmu;
	u32 type;
	u64 config;
	u8 skid;
	bool kernel;
	void (*tune)(struct perf_event_attr *attr);
};

/**
 * struct ks_source - events that are sampled together
 * @name:	    for people, and vm.ksamplingd.source
 * @nr:		    how many of @events
 * @events:	    the events
 * @period_step:    periods are multiples of this, if it is not 0
 * @least_period:   none is shorter
 * @batch:	    so many records at most may come at once, with any period, because the
 *		    hardware has a buffer of its own; 0 if they come one by one
 * @divide:	    periods are shorter by this, if it is not 0, because what is sampled
 *		    is rare
 * @automatic:	    "auto" may choose it
 * @missing:	    what this machine lacks for it, in words, or NULL; a NULL function: its
 *		    events can be made if it lacks nothing
 */
struct ks_source {
	const char *name;
	int nr;
	struct ks_event events[KS_MAX_EVENTS];
	u32 period_step;
	u32 least_period;
	u32 batch;
	u32 divide;
	bool automatic;
	const char *(*missing)(void);
};

#define KS_AUTO		0	/* the first that works, of those that are automatic */

extern const struct ks_source ks_sources[];
extern const int ks_nr_sources;

#ifdef CONFIG_KSAMPLINGD_TEST_PMU
extern u64 ks_test_breakpoint;
#endif

const char *ks_pebs_missing(u32 vfm, bool hybrid);
void ks_ibs_tune(struct perf_event_attr *attr, u32 caps);
u32 ks_source_reads(const struct ks_source *source);
u32 ks_source_period(const struct ks_source *source, u32 period);
u32 ks_source_load_share(const struct ks_source *source, u32 permille);
struct perf_event *ks_source_open(const struct ks_source *source,
				  const struct ks_event *what, int cpu, u32 period);

#endif /* _MM_KSAMPLINGD_SOURCE_H */
