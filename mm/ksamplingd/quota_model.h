/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of quota.c: machines that exist on paper only. See quota_model.c.
 */
#ifndef _MM_KSAMPLINGD_QUOTA_MODEL_H
#define _MM_KSAMPLINGD_QUOTA_MODEL_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/time64.h>

#include "quota.h"
#include "reads.h"

#define WINDOW_NS	NSEC_PER_SEC

struct kunit;

/**
 * struct plant - a machine whose records come one by one
 * @accesses:  per second
 * @base_ns:   a round, whatever it finds
 * @record_ns: a record
 * @ring:      records that fit
 * @coarse:    several levels have the same period
 * @steep:     many records cost more each than few
 * @noise_percent: of the rate, in a part of a window
 * @rnd:       where that comes from
 * @tuning:    settings of the loop
 * @quota:     the loop
 * @waiting:   records in the ring
 * @use_ppm:   really used in the last window
 * @lost:      records
 * @changes:   of the level
 */
struct plant {
	u64 accesses;
	u32 base_ns;
	u32 record_ns;
	u32 ring;
	bool coarse;
	bool steep;
	u32 noise_percent;
	struct rnd_state rnd;
	struct ks_tuning tuning;
	struct ks_quota quota;
	u64 waiting;
	u32 use_ppm;
	u64 lost;
	int changes;
};

#define MODEL_CPUS	448

/* One CPU of a delivery. */
struct model_cpu {
	struct ks_reads reads;
	u32 rest[KS_NR_KINDS];		/* accesses since the last record */
	u32 kept[KS_NR_KINDS];		/* records that it keeps back */
	u8 level[KS_NR_KINDS];		/* of the periods that it has been given */
	bool busy;
};

/**
 * struct delivery - a machine that hands records over as PEBS does it
 * @cpu:       its CPUs
 * @cpus:      how many
 * @parts:     rounds of the model in a window
 * @reads:     events are read as reads.c says; otherwise never
 * @wakes:     idle CPUs are read and given periods as well
 * @switches:  programs sleep often, and perf empties buffers then
 * @idle_ns:   what it takes to interrupt an idle CPU
 * @accesses:  per second, of a CPU that is not idle
 * @window_percent: noise of the rate of a kind, in a window
 * @delivered: records in all rings
 * @fill:      permille, all rings together
 * @look_ns:   spent on CPUs with few records, and on changes, for the next window
 * @records:   since somebody has set it to 0
 * @lost:      records
 * @most:      records that one interrupt has emptied, likewise
 * @loads_ppm: of the records of the last window
 * @plant:     the loop, and what it is measured by
 */
struct delivery {
	struct model_cpu cpu[MODEL_CPUS];
	int cpus;
	int parts;
	bool reads;
	bool wakes;
	bool switches;
	u32 idle_ns;
	u64 accesses[KS_NR_KINDS];
	u32 window_percent;
	u32 delivered[KS_NR_KINDS];
	u32 fill[KS_NR_KINDS];
	u64 look_ns;
	u64 records[KS_NR_KINDS];
	u64 lost;
	u32 most;
	u32 loads_ppm;
	struct plant plant;
};

int model_init(struct kunit *test);
void holds_in_95_of_100(struct kunit *test, const char *what, int trials, int failed);
void start_at(struct ks_quota *q, const struct ks_tuning *t, u8 level);
bool ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns, u32 fill_permille);
bool tell_mix(struct ks_quota *q, const struct ks_tuning *t, u32 use_ppm, u64 loads, u64 stores);
struct plant new_plant(u32 quota_permille, u32 policy);
void set_load(struct plant *p, int level, u32 percent);
void run_window(struct plant *p);
bool is_settled(const struct plant *p);
int settle(struct plant *p, int most);
struct delivery *new_delivery(struct kunit *test, u32 quota_permille, int cpus, int busy);
void run_delivery(struct delivery *d);
void run_deliveries(struct delivery *d, int windows);
u32 mean_use(struct delivery *d, int windows);

#endif /* _MM_KSAMPLINGD_QUOTA_MODEL_H */
