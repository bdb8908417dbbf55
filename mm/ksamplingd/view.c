// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: /sys/kernel/debug/ksamplingd/. For root only, because it shows addresses.
 *
 * Locking: as documented at struct ks_status, struct ks_counts and in pages.c.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "internal.h"

static const char *const reasons[KS_NR_DISCARDS] = {
	[KS_NO_ADDRESS] = "no_address",
	[KS_NO_PAGE] = "no_page",
	[KS_NO_MEMORY] = "no_memory",
	[KS_BAD_RECORD] = "bad_record",
	[KS_NOT_MEMORY] = "not_memory",
	[KS_KERNEL] = "kernel",
};

static void show_event(struct seq_file *m, const struct ks_event *what,
		       const struct ks_counts *c)
{
	u64 enabled = READ_ONCE(c->enabled_ns), running = READ_ONCE(c->running_ns);
	int why;

	seq_printf(m, "event %s period %u samples %llu lost %llu throttled %llu broken %llu",
		   what->name, READ_ONCE(ks_status.period[what->kind]),
		   READ_ONCE(c->samples), READ_ONCE(c->lost), READ_ONCE(c->throttled),
		   READ_ONCE(c->broken));
	for (why = KS_NOT_DISCARDED + 1; why < KS_NR_DISCARDS; why++)
		seq_printf(m, " %s %llu", reasons[why], READ_ONCE(c->discarded[why]));
	seq_printf(m, " enabled_ns %llu running_ns %llu running_permille %u\n", enabled, running,
		   READ_ONCE(c->running_permille));
}

static int status_show(struct seq_file *m, void *unused)
{
	const struct ks_source *source = READ_ONCE(ks_status.source);
	int e;

	seq_printf(m, "enabled %d\n", ks_is_on());
	seq_printf(m, "source %s\n", source ? source->name : "none");
	seq_printf(m, "rings %u\n", READ_ONCE(ks_status.rings));
	seq_printf(m, "use_permille %u\n", READ_ONCE(ks_status.use_ppm) / KS_PERMILLE);
	seq_printf(m, "use_last_window_permille %u\n",
		   READ_ONCE(ks_status.now_ppm) / KS_PERMILLE);
	seq_printf(m, "workload_permille %u\n",
		   READ_ONCE(ks_status.workload_ppm) / KS_PERMILLE);
	seq_printf(m, "load_share_permille %u\n", READ_ONCE(ks_status.loads_ppm) / KS_PERMILLE);
	seq_printf(m, "sleep_us %u\n", READ_ONCE(ks_status.sleep_us));
	seq_printf(m, "rounds %llu\n", READ_ONCE(ks_status.rounds));
	seq_printf(m, "windows %llu\n", READ_ONCE(ks_status.windows));
	seq_printf(m, "period_changes %llu\n", READ_ONCE(ks_status.changes));
	seq_printf(m, "run_ns %llu\n", READ_ONCE(ks_status.run_ns));
	seq_printf(m, "wall_ns %llu\n", READ_ONCE(ks_status.wall_ns));
	seq_printf(m, "heat_bytes %lu\n", ks_pages_bytes());
	seq_printf(m, "heat_blocks_dropped %lu\n", ks_pages_dropped());
	seq_printf(m, "hot_target_kb %lu\n", ks_pages_target() * (PAGE_SIZE / SZ_1K));
	for (e = 0; source && e < source->nr; e++)
		show_event(m, &source->events[e], &ks_counts[e]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/*
 * The heat from which on pages are hot; then base pages by heat, one line for each node:
 * less than one sample of a base page, 1, 2 to 3, 4 to 7, and so on up to 16384 and more.
 */
#define SHOWN_BINS	16

static int histogram_show(struct seq_file *m, void *unused)
{
	unsigned long shown[SHOWN_BINS];
	struct ks_histogram hist;
	int nid, bin;

	seq_printf(m, "hot_from %u\n", ks_pages_threshold());
	for_each_node_state(nid, N_MEMORY) {
		ks_pages_histogram(nid, &hist);
		memset(shown, 0, sizeof(shown));
		for (bin = 0; bin < KS_NR_BINS; bin++)
			shown[clamp(bin - KS_MAX_ORDER + 1, 0, SHOWN_BINS - 1)] +=
				hist.bin[bin];
		seq_printf(m, "node %d pages", nid);
		for (bin = 0; bin < SHOWN_BINS; bin++)
			seq_printf(m, " %lu", shown[bin]);
		seq_putc(m, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(histogram);

DEFINE_SEQ_ATTRIBUTE(ks_hot_pages);

static int __init ks_view_init(void)
{
	struct dentry *dir = debugfs_create_dir("ksamplingd", NULL);

	debugfs_create_file("status", 0400, dir, NULL, &status_fops);
	debugfs_create_file("histogram", 0400, dir, NULL, &histogram_fops);
	debugfs_create_file("hot_pages", 0400, dir, NULL, &ks_hot_pages_fops);
	return 0;
}
late_initcall(ks_view_init);
