// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the knobs of promotion. See promote.c.
 *
 * Locking: control (a mutex, may sleep) serializes writes, and with them start and stop.
 */
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/sysctl.h>

#include "internal.h"
#include "promote.h"

static DEFINE_MUTEX(control);

struct ks_promote_knobs ks_promote_knobs = { .mb_per_s = 100 };

static int promote(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		   loff_t *ppos)
{
	u32 before, on = ks_promote_is_on();
	const struct ctl_table copy = {
		.data = &on, .maxlen = sizeof(on),
		.extra1 = table->extra1, .extra2 = table->extra2,
	};
	int err;

	if (!write)
		return proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (!perfmon_capable())
		return -EPERM;

	guard(mutex)(&control);
	before = ks_promote_is_on();
	on = before;
	err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (err || on == before)
		return err;
	if (on)
		return ks_promote_start();
	ks_promote_stop();
	return 0;
}

static int change_rate(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
		       loff_t *ppos)
{
	return ks_sysctl_number(table, write, buffer, lenp, ppos, NULL, NULL);
}

/* An empty list means all nodes of lower tiers. Registering anew offers all hot pages again. */
static int set_nodes(unsigned long *list)
{
	bool named = !bitmap_empty(list, MAX_NUMNODES);

	if (!bitmap_subset(list, nodes_addr(node_possible_map), MAX_NUMNODES))
		return -EINVAL;
	if (named == ks_promote_knobs.nodes_named &&
	    (!named || bitmap_equal(list, nodes_addr(ks_promote_knobs.nodes), MAX_NUMNODES)))
		return 0;
	if (ks_promote_is_on())
		ks_promote_pause();
	if (named)
		bitmap_copy(nodes_addr(ks_promote_knobs.nodes), list, MAX_NUMNODES);
	WRITE_ONCE(ks_promote_knobs.nodes_named, named);
	return ks_promote_is_on() ? ks_promote_resume() : 0;
}

static int change_nodes(const struct ctl_table *table, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	nodemask_t list = NODE_MASK_NONE;
	int nid;

	if (write && !perfmon_capable())
		return -EPERM;

	guard(mutex)(&control);
	if (ks_promote_knobs.nodes_named)
		list = ks_promote_knobs.nodes;
	else
		for_each_node_state(nid, N_MEMORY)
			if (ks_promote_is_source(nid))
				node_set(nid, list);
	return ks_sysctl_list(table, write, buffer, lenp, ppos, nodes_addr(list), set_nodes);
}

static const unsigned int most_mb_per_s = 100000;

static const struct ctl_table ks_promote_sysctls[] = {
	{
		.procname = "promote",
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = promote,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "promote_mb_per_s",
		.data = &ks_promote_knobs.mb_per_s,
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = change_rate,
		.extra1 = SYSCTL_ONE,
		.extra2 = (void *)&most_mb_per_s,
	}, {
		.procname = "promote_nodes",
		.maxlen = MAX_NUMNODES,
		.mode = 0644,
		.proc_handler = change_nodes,
	},
};

static int __init ks_promote_knobs_init(void)
{
	register_sysctl_init("vm/ksamplingd", ks_promote_sysctls);
	return 0;
}
late_initcall(ks_promote_knobs_init);
