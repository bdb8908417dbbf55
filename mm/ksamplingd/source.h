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
 * struct ks_event - an event whose samples have the address accessed
 * @name:   for users
 * @kind:   selects its table of periods
 * @pmu:    name of a PMU with a dynamic type, or NULL
 * @type:   perf_event_attr::type, if @pmu is NULL
 * @config: perf_event_attr::config
 * @skid:   0 if the address is always that of the event; otherwise the most precise
 *	    perf_event_attr::precise_ip to try. Lower ones are tried next, but never 0, because
 *	    then there would be no address.
 * @kernel: it cannot exclude the kernel. Samples with an address of the kernel are discarded.
 * @tune:   sets further attributes of the event, or NULL
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
 * @name:	    for users, and for vm.ksamplingd.source
 * @nr:		    number of @events
 * @events:	    the events
 * @period_step:    periods are multiples of this; 0: any
 * @least_period:   shortest period
 * @batch:	    maximum number of records that come at once with any period, because the
 *		    hardware has a buffer of its own; 0 if they come one by one
 * @divide:	    periods are divided by this, because the event is rare; 0: they are not
 * @automatic:	    "auto" may choose this source
 * @missing:	    returns what this machine lacks for it, in words, or NULL if nothing; a NULL
 *		    function: it lacks nothing if its events can be created
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

#define KS_AUTO		0	/* the first automatic one that works */

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
