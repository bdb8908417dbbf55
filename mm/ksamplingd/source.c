// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: what can be sampled.
 *
 * Of Intel's events, those are taken that tell of loads from memory behind the last
 * cache, and of all stores: they go with any counter, and PEBS may keep many of them
 * before it interrupts. The load latency event is not used. It would say more of each
 * load, but needs a group leader on Sapphire Rapids and later, which the kernel's own
 * events cannot have.
 *
 * AMD's IBS marks every n-th operation, whatever it does. Those that access no memory
 * have no address, and are discarded.
 *
 * Page faults work everywhere, and say which pages are new rather than which are hot.
 */
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>

#ifdef CONFIG_X86
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#endif

#include "record.h"
#include "source.h"

#if defined(CONFIG_X86) && defined(CONFIG_CPU_SUP_INTEL)
/* Of these the event codes below are known. */
static const struct x86_cpu_id intel_models[] = {
	X86_MATCH_VFM(INTEL_SKYLAKE_X, NULL),		/* and Cascade, Cooper Lake */
	X86_MATCH_VFM(INTEL_ICELAKE_X, NULL),
	X86_MATCH_VFM(INTEL_ICELAKE_D, NULL),
	X86_MATCH_VFM(INTEL_SAPPHIRERAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_EMERALDRAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_GRANITERAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_GRANITERAPIDS_D, NULL),
	{}
};

static bool is_intel(void)
{
	return x86_match_cpu(intel_models);
}
#else
static bool is_intel(void)
{
	return false;
}
#endif

#ifdef CONFIG_KSAMPLINGD_TEST_PMU
/* Of which a test knows every access that is made to it. */
u64 ks_test_breakpoint;

static void set_breakpoint(struct perf_event_attr *attr)
{
	attr->bp_addr = READ_ONCE(ks_test_breakpoint);
	attr->bp_type = HW_BREAKPOINT_RW;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
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
		.batch = 1024,		/* of 64 bytes, from Ice Lake on; fewer before */
		.is_here = is_intel,
	}, {
		.name = "ibs",
		.nr = 1,
		.events = {
			{
				.name = "ibs_op",
				.kind = KS_STORES,	/* as frequent */
				.pmu = "ibs_op",
				.config = BIT(19),	/* count operations, not cycles */
				.kernel = true,
			},
		},
		.period_step = 16,
		.least_period = 144,
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
		.divide = 199,	/* the shortest is 1 */
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
		.name = "test-half",	/* Of two events, it has one. */
		.nr = 2,
		.events = {
			{ .name = "test-loads", .kind = KS_LOADS, .pmu = "ks_test" },
			{ .name = "test-none", .kind = KS_STORES, .pmu = "ks_test",
			  .config = 3 },
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
 * ks_source_period - the period that a source can really have
 * @source: the source
 * @period: what is wanted, events
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

/**
 * ks_source_open - make an event, disabled, without a ring
 * @source: one of its
 * @what:   events
 * @cpu:    where
 * @period: as ks_source_period() says
 *
 * Context: process context; may sleep; its permissions are those of the caller.
 * Return: the event, or an error: -ENOENT: this machine has no such thing; -ENODEV: nor
 * the CPU; others of perf_event_create_kernel_counter().
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

	if (source->is_here && !source->is_here())
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
