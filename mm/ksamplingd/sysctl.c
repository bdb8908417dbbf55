// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: /proc/sys/vm/ksamplingd/.
 *
 * Anybody may read. Writing takes CAP_PERFMON besides the permissions of the file,
 * because samples show what programs of other users do. Invalid values are refused and
 * change nothing.
 *
 * Locking: lists_lock (a mutex) serializes reads and writes of the lists of CPUs and
 * nodes here. All other knobs are numbers, which need no lock. ksamplingd reads all of
 * them without a lock, see struct ks_knobs.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/sysctl.h>

#include "internal.h"

#define MAX_PERIOD	1000000000
#define MAX_RING_PAGES	4096
#define CPU_BITS	BITS_PER_TYPE(struct cpumask)

static DEFINE_MUTEX(lists_lock);

/**
 * ks_sysctl_number - read, or check and set, a knob that is a number
 * @table:  has the u32 and its bounds
 * @write:  it is written
 * @buffer: as of any proc_handler
 * @lenp:   likewise
 * @ppos:   likewise
 * @check:  may refuse a value; or NULL
 * @tell:   called after a change; or NULL
 *
 * Return: 0, -EPERM or -EINVAL.
 */
int ks_sysctl_number(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		     loff_t *ppos, bool (*check)(u32 value), void (*tell)(void))
{
	u32 *knob = table->data, before = READ_ONCE(*knob), value = before;
	const struct ctl_table copy = {
		.data = &value, .maxlen = sizeof(value),
		.extra1 = table->extra1, .extra2 = table->extra2,
	};
	int err;

	if (write && !perfmon_capable())
		return -EPERM;

	err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	/* Not every write has a value: it may be empty, or the end of a line. */
	if (err || !write || value == before)
		return err;
	if (check && !check(value))
		return -EINVAL;
	WRITE_ONCE(*knob, value);
	if (tell)
		tell();
	return 0;
}

/* For knobs that the thread polls. */
static int tune(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, NULL, NULL);
}

/* For knobs that need all rings to be reopened. */
static int change(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		  loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, NULL, ks_knobs_changed);
}

static bool is_power(u32 value)
{
	return is_power_of_2(value);
}

static int change_power_of_2(const struct ctl_table *table, int write, void *buffer,
			     size_t *lenp, loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, is_power, ks_knobs_changed);
}

/* An epoch of some ms would halve heat faster than samples come. */
static bool is_cool_time(u32 ms)
{
	return !ms || ms >= 100;
}

static int tune_cool_time(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			  loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, is_cool_time, NULL);
}

static int enable(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		  loff_t *ppos)
{
	u32 before = ks_is_on(), on = before;
	const struct ctl_table copy = {
		.data = &on, .maxlen = sizeof(on),
		.extra1 = table->extra1, .extra2 = table->extra2,
	};
	int err;

	if (write && !perfmon_capable())
		return -EPERM;

	err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (err || !write || on == before)
		return err;
	if (on)
		return ks_start();
	ks_stop();
	return 0;
}

static int change_source(const struct ctl_table *table, int write, void *buffer,
			 size_t *lenp, loff_t *ppos)
{
	u32 before = READ_ONCE(ks_knobs.source), i;
	char name[16];
	const struct ctl_table copy = { .data = name, .maxlen = sizeof(name) };
	int err;

	if (write && !perfmon_capable())
		return -EPERM;

	strscpy(name, ks_sources[before].name);
	err = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (err || !write)
		return err;

	for (i = 0; i < ks_nr_sources; i++)
		if (!strcmp(name, ks_sources[i].name))
			break;
	if (i == ks_nr_sources)
		return -EINVAL;
	if (i == before)
		return 0;
	WRITE_ONCE(ks_knobs.source, i);
	ks_knobs_changed();
	return 0;
}

static int set_nodes(unsigned long *list)
{
	if (bitmap_empty(list, MAX_NUMNODES) ||
	    !bitmap_subset(list, nodes_addr(node_possible_map), MAX_NUMNODES))
		return -EINVAL;
	if (!bitmap_equal(list, nodes_addr(ks_knobs.nodes), MAX_NUMNODES)) {
		bitmap_copy(nodes_addr(ks_knobs.nodes), list, MAX_NUMNODES);
		ks_cpus_changed();
	}
	return 0;
}

/* An empty list restores the default. */
static int set_cpus(unsigned long *list)
{
	bool named = !bitmap_empty(list, CPU_BITS);

	if (!bitmap_subset(list, cpumask_bits(cpu_possible_mask), CPU_BITS))
		return -EINVAL;
	if (named == ks_knobs.cpus_named &&
	    (!named || bitmap_equal(list, cpumask_bits(&ks_knobs.cpus), CPU_BITS)))
		return 0;
	if (named)
		bitmap_copy(cpumask_bits(&ks_knobs.cpus), list, CPU_BITS);
	/* After the list: pairs with ks_wanted_cpus(). */
	smp_store_release(&ks_knobs.cpus_named, named);
	ks_cpus_changed();
	return 0;
}

/**
 * ks_sysctl_list - read, or set, a knob that is a list like 0-3,8
 * @table:  maxlen is the number of bits
 * @write:  it is written
 * @buffer: as of any proc_handler
 * @lenp:   likewise
 * @ppos:   likewise
 * @list:   present value
 * @set:    takes the written value, or refuses it
 *
 * Return: 0 or -errno.
 */
int ks_sysctl_list(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		   loff_t *ppos, unsigned long *list, int (*set)(unsigned long *list))
{
	const struct ctl_table copy = { .data = &list, .maxlen = table->maxlen };
	int err;

	/* An empty write is not an empty list. */
	if (write && !*lenp)
		return 0;
	err = proc_do_large_bitmap(&copy, write, buffer, lenp, ppos);
	return err || !write ? err : set(list);
}

static int change_cpus(const struct ctl_table *table, int write, void *buffer,
		       size_t *lenp, loff_t *ppos)
{
	unsigned long *list;
	int err;

	if (write && !perfmon_capable())
		return -EPERM;

	guard(mutex)(&lists_lock);
	list = bitmap_zalloc(CPU_BITS, GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	ks_wanted_cpus(to_cpumask(list));
	err = ks_sysctl_list(table, write, buffer, lenp, ppos, list, set_cpus);
	bitmap_free(list);
	return err;
}

static int change_nodes(const struct ctl_table *table, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	nodemask_t list;

	if (write && !perfmon_capable())
		return -EPERM;

	guard(mutex)(&lists_lock);
	list = ks_knobs.nodes;
	return ks_sysctl_list(table, write, buffer, lenp, ppos, nodes_addr(list), set_nodes);
}

static const unsigned int whole_permille = 1000, most_cost_ns = 100000;
static const unsigned int most_permille = 900, last_policy = KS_NR_POLICIES - 1;
static const unsigned int one = 1;
static const unsigned int second_us = 1000000, minute_ms = 60000, hour_ms = 3600000;
static const unsigned int most_period = MAX_PERIOD, most_pages = MAX_RING_PAGES;
static const unsigned int most_samples = 1000, most_heat_ppm = 10000;

#define NUMBER(name, member, handler, least, most)	\
	{						\
		.procname = name,			\
		.data = &ks_knobs.member,		\
		.maxlen = sizeof(unsigned int),		\
		.mode = 0644,				\
		.proc_handler = handler,		\
		.extra1 = least,			\
		.extra2 = (void *)&(most),		\
	}

static const struct ctl_table ks_sysctls[] = {
	{
		.procname = "enabled",
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = enable,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	},
	NUMBER("quota_permille", tuning.quota_permille, tune, SYSCTL_ZERO, most_permille),
	NUMBER("policy", tuning.policy, tune, SYSCTL_ZERO, last_policy),
	NUMBER("sleep_us", tuning.sleep_us, tune, SYSCTL_ONE_HUNDRED, second_us),
	NUMBER("window_ms", window_ms, tune, SYSCTL_ONE_HUNDRED, minute_ms),
	NUMBER("cool_ms", cool_ms, tune_cool_time, SYSCTL_ZERO, hour_ms),
	NUMBER("hot_target_mb", hot_target_mb, tune, SYSCTL_ZERO, most_period),
	NUMBER("hot_samples", hot_samples, tune, SYSCTL_ONE, most_samples),
	NUMBER("heat_memory_ppm", heat_memory_ppm, tune, SYSCTL_ONE, most_heat_ppm),
	NUMBER("load_share_permille", tuning.load_share_permille, change, SYSCTL_ZERO,
	       whole_permille),
	NUMBER("record_cost_ns", tuning.record_cost_ns, tune, SYSCTL_ZERO, most_cost_ns),
	NUMBER("quota_has_workload", tuning.quota_has_workload, tune, SYSCTL_ZERO, one),
	NUMBER("load_period", load_period, change, SYSCTL_ONE, most_period),
	NUMBER("store_period", store_period, change, SYSCTL_ONE, most_period),
	NUMBER("ring_pages", ring_pages, change_power_of_2, SYSCTL_ONE, most_pages),
	{
		.procname = "source",
		.mode = 0644,
		.proc_handler = change_source,
	}, {
		.procname = "cpus",
		.maxlen = NR_CPUS,
		.mode = 0644,
		.proc_handler = change_cpus,
	}, {
		.procname = "nodes",
		.maxlen = MAX_NUMNODES,
		.mode = 0644,
		.proc_handler = change_nodes,
	},
};

static int __init ks_sysctl_init(void)
{
	register_sysctl_init("vm/ksamplingd", ks_sysctls);
	return 0;
}
late_initcall(ks_sysctl_init);
