// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: what can be sampled.
 *
 * On Intel, the events are loads that miss the last cache, and all stores. They work on
 * any counter, and PEBS can buffer many of them before it interrupts. The load latency
 * event would say more about each load, but needs a group leader on Sapphire Rapids and
 * later, which events of the kernel cannot have.
 *
 * AMD's IBS tags every n-th operation of any kind. From Zen 4 on, it can be told to keep
 * only those that miss the last cache. Before, each sample says where its data came from,
 * and what was not memory is discarded; for stores, IBS does not know. It cannot exclude
 * the kernel, so the kernel's samples are discarded by address. None of this has ever
 * run: no machine with IBS was at hand, and nothing emulates it.
 *
 * Page faults work everywhere, but say which pages are new rather than which are hot. So
 * they are only used on request.
 *
 * Locking: none. Everything here is constant, or belongs to the caller.
 */
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>

#ifdef CONFIG_X86
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#include <asm/perf_event.h>
#endif

#include "reads.h"
#include "record.h"
#include "source.h"

#ifdef CONFIG_X86
/* Processors for which the event codes below are known. */
static const u32 intel_models[] = {
	INTEL_SKYLAKE_X,		/* and Cascade, Cooper Lake */
	INTEL_ICELAKE_X,
	INTEL_ICELAKE_D,
	INTEL_SAPPHIRERAPIDS_X,
	INTEL_EMERALDRAPIDS_X,
	INTEL_GRANITERAPIDS_X,
	INTEL_GRANITERAPIDS_D,

	INTEL_SKYLAKE,
	INTEL_SKYLAKE_L,
	INTEL_KABYLAKE,			/* and Coffee Lake */
	INTEL_KABYLAKE_L,		/* and Amber, Coffee, Whiskey Lake */
	INTEL_COMETLAKE,
	INTEL_COMETLAKE_L,
	INTEL_ICELAKE,
	INTEL_ICELAKE_L,
	INTEL_TIGERLAKE,
	INTEL_TIGERLAKE_L,
	INTEL_ROCKETLAKE,
};

/**
 * ks_pebs_missing - tell why PEBS cannot be used on a processor
 * @vfm:    the processor, as in asm/intel-family.h
 * @hybrid: it has CPUs of several kinds
 *
 * The small cores of a hybrid have no such event of loads, and all CPUs are to have the
 * same events.
 *
 * Return: the reason in words, or NULL if PEBS can be used.
 */
const char *ks_pebs_missing(u32 vfm, bool hybrid)
{
	int i;

	if (hybrid)
		return "hybrid processors are not supported";
	for (i = 0; i < ARRAY_SIZE(intel_models); i++)
		if (vfm == intel_models[i])
			return NULL;
	return "its events are not known for this processor";
}

static const char *pebs_missing(void)
{
	return ks_pebs_missing(boot_cpu_data.x86_vfm,
			       boot_cpu_has(X86_FEATURE_HYBRID_CPU));
}

/**
 * ks_ibs_tune - sample memory only, or request the data source to filter by
 * @attr: of an event of ibs_op
 * @caps: as from get_ibs_caps()
 */
void ks_ibs_tune(struct perf_event_attr *attr, u32 caps)
{
	if (caps & IBS_CAPS_ZEN4)
		attr->config |= IBS_OP_L3MISSONLY;
	else
		attr->sample_type |= PERF_SAMPLE_DATA_SRC;
}

static void tune_ibs(struct perf_event_attr *attr)
{
	ks_ibs_tune(attr, get_ibs_caps());
}
#else
static const char *pebs_missing(void)
{
	return "only processors of Intel have it";
}

static void tune_ibs(struct perf_event_attr *attr)
{
}
#endif

#ifdef CONFIG_KSAMPLINGD_TEST_PMU
/* Address for the source "breakpoint": a test knows every access to it. */
u64 ks_test_breakpoint;

static void set_breakpoint(struct perf_event_attr *attr)
{
	attr->bp_addr = READ_ONCE(ks_test_breakpoint);
	attr->bp_type = HW_BREAKPOINT_RW;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
}

static void want_levels(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_DATA_SRC;
}
#endif

const struct ks_source ks_sources[] = {
	[KS_AUTO] = { .name = "auto" },
	{
		.name = "pebs",
		.nr = 2,
		.events = {
			{
				.name = "MEM_LOAD_RETIRED.L3_MISS",
				.kind = KS_LOADS,
				.type = PERF_TYPE_RAW,
				.config = 0x20d1,
				.skid = 2,
			}, {
				.name = "MEM_INST_RETIRED.ALL_STORES",
				.kind = KS_STORES,
				.type = PERF_TYPE_RAW,
				.config = 0x82d0,
				.skid = 2,
			},
		},
		.batch = 1024,		/* records of 64 bytes, from Ice Lake on; fewer before */
		.automatic = true,
		.missing = pebs_missing,
	}, {
		.name = "ibs",
		.nr = 1,
		.events = {
			{
				.name = "ibs_op",
				.kind = KS_STORES,	/* about as frequent */
				.pmu = "ibs_op",
				.config = BIT(19),	/* count operations, not cycles */
				.kernel = true,
				.tune = tune_ibs,
			},
		},
		.period_step = 16,
		.least_period = 144,
		.automatic = true,
	}, {
		.name = "faults",
		.nr = 2,
		.events = {
			{
				.name = "minor-faults",
				.kind = KS_LOADS,
				.type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
			}, {
				.name = "major-faults",
				.kind = KS_LOADS,
				.type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
			},
		},
		.divide = 199,	/* the shortest period is 1 */
	},
#ifdef CONFIG_KSAMPLINGD_TEST_PMU
	{
		.name = "test",
		.nr = 2,
		.events = {
			{ .name = "test-loads", .kind = KS_LOADS, .pmu = "ks_test" },
			{ .name = "test-stores", .kind = KS_STORES, .pmu = "ks_test",
			  .config = 1 },
		},
	}, {
		.name = "test-batches",
		.nr = 1,
		.events = {
			{ .name = "test-loads", .kind = KS_LOADS, .pmu = "ks_test",
			  .config = 2 },
		},
		.batch = 1024,
	}, {
		.name = "test-levels",	/* as IBS before Zen 4 */
		.nr = 1,
		.events = {
			{ .name = "test-levels", .kind = KS_LOADS, .pmu = "ks_test",
			  .config = 3, .kernel = true, .tune = want_levels },
		},
	}, {
		.name = "test-half",	/* has one of its two events */
		.nr = 2,
		.events = {
			{ .name = "test-loads", .kind = KS_LOADS, .pmu = "ks_test" },
			{ .name = "test-none", .kind = KS_STORES, .pmu = "ks_test",
			  .config = 4 },
		},
	}, {
		.name = "breakpoint",
		.nr = 1,
		.events = {
			{ .name = "breakpoint", .kind = KS_LOADS,
			  .type = PERF_TYPE_BREAKPOINT, .tune = set_breakpoint },
		},
		.divide = 199,
	},
#endif
};

const int ks_nr_sources = ARRAY_SIZE(ks_sources);
static_assert(ARRAY_SIZE(ks_sources) <= KS_MAX_SOURCES);

/**
 * ks_source_reads - get how often a CPU is to be read in a window, at least
 * @source: the source
 *
 * Where the hardware keeps records back, they are got from there. Events that may have to
 * share a counter are read once, to find that out. Software events never share.
 *
 * Return: as for ks_reads_start().
 */
u32 ks_source_reads(const struct ks_source *source)
{
	const struct ks_event *what = &source->events[0];

	if (source->batch)
		return KS_READS_LEAST;
	return what->pmu || what->type != PERF_TYPE_SOFTWARE;
}

/**
 * ks_source_period - round a period to one that the source supports
 * @source: the source
 * @period: wanted period, events
 *
 * Return: events.
 */
u32 ks_source_period(const struct ks_source *source, u32 period)
{
	if (source->divide)
		return max(period / source->divide, 1);
	if (source->period_step)
		period = rounddown(period, source->period_step);
	return max(period, source->least_period);
}

static bool has_kind(const struct ks_source *source, enum ks_kind kind)
{
	int e;

	for (e = 0; e < source->nr; e++)
		if (source->events[e].kind == kind)
			return true;
	return false;
}

/**
 * ks_source_load_share - limit the share of loads to what the source supports
 * @source:   the source
 * @permille: wanted share of the samples
 *
 * Return: permille; 1000 if the source has no stores, 0 if it has no loads.
 */
u32 ks_source_load_share(const struct ks_source *source, u32 permille)
{
	if (!has_kind(source, KS_STORES))
		return 1000;
	return has_kind(source, KS_LOADS) ? permille : 0;
}

/**
 * ks_source_open - create an event, disabled and without a ring
 * @source: the source
 * @what:   an event of @source
 * @cpu:    the CPU
 * @period: as from ks_source_period()
 *
 * Context: process context; may sleep; the event has the permissions of the caller.
 * Return: the event, or an ERR_PTR(): -ENOENT if this machine lacks it, -ENODEV if the
 * CPU is not online, or another error of perf_event_create_kernel_counter().
 */
struct perf_event *ks_source_open(const struct ks_source *source,
				  const struct ks_event *what, int cpu, u32 period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = what->type,
		.config = what->config,
		.sample_period = period,
		.sample_type = KS_SAMPLE_TYPE,
		.precise_ip = what->skid,
		.disabled = 1,
		.exclude_kernel = !what->kernel,
		.exclude_hv = !what->kernel,
	};
	struct perf_event *event;
	int type;

	if (source->missing && source->missing())
		return ERR_PTR(-ENOENT);
	if (what->pmu) {
		type = perf_pmu_type(what->pmu);
		if (type < 0)
			return ERR_PTR(type);
		attr.type = type;
	}
	if (what->tune)
		what->tune(&attr);

	do {
		event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	} while (IS_ERR(event) && attr.precise_ip-- > 1);
	return event;
}
