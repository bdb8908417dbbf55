// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the thread.
 *
 * The thread drains the rings of all sampled CPUs in rounds and sleeps in between. At the
 * end of each window, quota.c compares the CPU time used with the quota and sets the
 * periods and the sleep for the next window.
 *
 * Only the thread touches events and rings, so they need no lock, and they have the
 * permissions of a kernel thread. Everybody else leaves a message and wakes the thread up:
 *
 *	a knob was written	ks_changed: reopen all rings with the new values
 *	other CPUs or nodes	ks_look: open and close what has changed. The thread sets it
 *	were chosen		itself when cpusets have isolated other CPUs.
 *	a CPU comes online	ks_up: the CPU can be sampled
 *	a CPU goes offline	cleared in ks_up and set in ks_gone: perf retires its events
 *				for good. Drain and release its rings, even if the CPU is back
 *				by then.
 *
 * Messages are needed because creating an event takes the CPU hotplug lock: a hotplug
 * callback that waited for the thread would deadlock.
 *
 * Locking: ks_control (a mutex, may sleep) serializes start and stop. There is no other lock.
 */
#define pr_fmt(fmt) "ksamplingd: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/memory-tiers.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/isolation.h>
#include <linux/vmstat.h>
#include <linux/wait.h>
#include <trace/events/ksamplingd.h>

#include "reads.h"
#include "record.h"
#include "thread.h"

#define IDLE_MS		1000	/* the sleep while nothing is sampled */

/* Permille of its enabled time that an event is counted: warn below, rearm above. */
#define FEW_PERMILLE	500
#define MOST_PERMILLE	750

struct ks_knobs ks_knobs = {
	.tuning = {
		.quota_permille = 30,
		.policy = KS_PROPORTIONAL,
		.sleep_us = 2000,
		.load_share_permille = 800,
		.record_cost_ns = 300,
	},
	.window_ms = 1000,
	.load_period = 1999,
	.store_period = 20011,
	.ring_pages = 32,
	.hot_samples = 2,
	.heat_memory_ppm = 2500,
	.nodes = NODE_MASK_NONE,
};

struct ks_status ks_status;
struct ks_counts ks_counts[KS_MAX_EVENTS];

static DEFINE_MUTEX(ks_control);
static struct task_struct *ks_task;
static struct ks_thread ks_thread;
static DECLARE_WAIT_QUEUE_HEAD(ks_wait);
static atomic_t ks_changed;
static atomic_t ks_look;
struct cpumask ks_up;
static struct cpumask ks_gone;

static u64 run_ns(void)
{
	return task_sched_runtime(current);
}

static void close_all(struct ks_thread *t)
{
	int cpu;

	for_each_cpu(cpu, &t->open)
		ks_close_cpu(t, cpu);
}

/* Return: number of records read so far. @records gets read and lost ones, by kind. */
static u64 sum_records(const struct ks_thread *t, u64 records[KS_NR_KINDS])
{
	const struct ks_counts *c = ks_counts;
	u64 read, sum = 0;
	int e, why;

	memset(records, 0, KS_NR_KINDS * sizeof(*records));
	for (e = 0; t->source && e < t->source->nr; e++, c++) {
		read = c->samples;
		for (why = KS_NOT_DISCARDED + 1; why < KS_NR_DISCARDS; why++)
			read += c->discarded[why];
		records[t->source->events[e].kind] += read + c->lost;
		sum += read;
	}
	return sum;
}

static void count_records(struct ks_thread *t)
{
	u64 records[KS_NR_KINDS], made = ks_sum_waiting(t);
	int kind;

	t->usage.read = sum_records(t, records) - t->read_records;
	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		t->usage.records[kind] = records[kind] - t->records[kind];
		made += t->usage.records[kind];
	}
	/* Those that waited at the start have been read or still wait. */
	t->usage.made = made - min(t->waited, made);
}

/* Runs the thread on the wanted nodes, or on all housekeeping CPUs if those have none. */
static void set_affinity(void)
{
	static struct cpumask usual, mask;	/* may be large */
	int node;

	/* On a CPU without load balancing, nothing would ever move the thread away again. */
	scoped_guard(rcu)	/* cpusets replace that of domains */
		cpumask_and(&usual, housekeeping_cpumask(HK_TYPE_KTHREAD),
			    housekeeping_cpumask(HK_TYPE_DOMAIN));
	cpumask_clear(&mask);
	for_each_node_mask(node, ks_knobs.nodes)
		cpumask_or(&mask, &mask, cpumask_of_node(node));
	cpumask_and(&mask, &mask, &usual);
	/* A CPU that is going offline is still online, but no longer up. */
	if (!cpumask_intersects(&mask, &ks_up) ||
	    set_cpus_allowed_ptr(current, &mask))
		set_cpus_allowed_ptr(current, &usual);
}

static void begin_window(struct ks_thread *t, u64 now, u64 run)
{
	int e;

	ks_begin_reads(t);
	for (e = 0; e < KS_MAX_EVENTS; e++) {
		t->enabled_ns[e] = ks_counts[e].enabled_ns;
		t->running_ns[e] = ks_counts[e].running_ns;
	}
	t->usage = (struct ks_usage) {};
	t->window_ns = now;
	t->run_ns = run;
	t->read_records = sum_records(t, t->records);
	t->waited = ks_sum_waiting(t);
}

static struct ks_tuning wanted_tuning(const struct ks_thread *t)
{
	u32 share = t->load_share_permille;

	return (struct ks_tuning) {
		.quota_permille = READ_ONCE(ks_knobs.tuning.quota_permille),
		.policy = READ_ONCE(ks_knobs.tuning.policy),
		.sleep_us = READ_ONCE(ks_knobs.tuning.sleep_us),
		.load_share_permille = t->source ? ks_source_load_share(t->source, share) :
						   share,
		.record_cost_ns = READ_ONCE(ks_knobs.tuning.record_cost_ns),
		.quota_has_workload = READ_ONCE(ks_knobs.tuning.quota_has_workload),
	};
}

/* These knobs take effect at once. The use measured so far says nothing about them. */
static void tune(struct ks_thread *t)
{
	struct ks_tuning tuning = wanted_tuning(t);

	if (!memcmp(&tuning, &t->tuning, sizeof(tuning)))
		return;
	t->tuning = tuning;
	ks_quota_tune(&t->quota, &tuning);
	if (t->source)
		ks_set_periods(t);
	begin_window(t, ktime_get_ns(), run_ns());
}

/* A knob was written that concerns the rings: start over with the new values. */
static void reconfigure(struct ks_thread *t)
{
	u8 level[KS_NR_KINDS];
	int cpu;

	/* All rings are closed below, including those of CPUs that have gone. */
	atomic_set(&ks_look, 0);
	for_each_cpu(cpu, &ks_gone)
		cpumask_test_and_clear_cpu(cpu, &ks_gone);
	close_all(t);
	cpumask_clear(&t->failed);
	ks_wanted_cpus(&t->want);
	t->load_share_permille = READ_ONCE(ks_knobs.tuning.load_share_permille);
	/* A new source may have other shares; tune() takes care of that. */
	t->tuning = wanted_tuning(t);
	level[KS_LOADS] = ks_level_of(KS_LOADS, READ_ONCE(ks_knobs.load_period));
	level[KS_STORES] = ks_level_of(KS_STORES, READ_ONCE(ks_knobs.store_period));
	ks_quota_start(&t->quota, &t->tuning, level);
	set_affinity();
	ks_choose_source(t);
	ks_open_missing(t);
	ks_show_periods(t);
	begin_window(t, ktime_get_ns(), run_ns());
}

/* Opens and closes what is no longer as it was: CPUs that come, go, or are chosen. */
static void follow_cpus(struct ks_thread *t)
{
	bool idle;
	int cpu;

	ks_wanted_cpus(&t->want);
	for_each_cpu(cpu, &ks_gone)
		if (cpumask_test_and_clear_cpu(cpu, &ks_gone))
			ks_close_cpu(t, cpu);
	for_each_cpu_andnot(cpu, &t->open, &t->want)
		ks_close_cpu(t, cpu);
	set_affinity();
	idle = cpumask_empty(&t->open);
	if (!t->source) {
		ks_choose_source(t);
		ks_show_periods(t);
	}
	ks_open_missing(t);
	/* The use measured while nothing was sampled says nothing about now. */
	if (idle)
		begin_window(t, ktime_get_ns(), run_ns());
}

static void look_around(struct ks_thread *t)
{
	if (atomic_xchg(&ks_changed, 0))
		reconfigure(t);
	else if (atomic_xchg(&ks_look, 0))
		follow_cpus(t);
	WRITE_ONCE(ks_status.rings, ks_nr_rings(t));
}

/* --------------------------------- Rounds --------------------------------- */

/* The part of the fill level that depends on the period. */
static u32 without_batch(const struct ks_thread *t, u32 fill)
{
	u32 batch = t->source->batch * KS_SAMPLE_BYTES * 1000 /
		    (READ_ONCE(ks_knobs.ring_pages) * PAGE_SIZE);

	return fill - min(fill, batch);
}

/*
 * Rings that are too full lengthen the period before the window ends. So do @most records
 * of a CPU at once: they stop it for too long, and no kind is known to be the reason.
 */
static void look_at_fill(struct ks_thread *t, const u32 fill[KS_NR_KINDS], u32 most)
{
	u32 full[KS_NR_KINDS] = {}, steady;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		steady = max(without_batch(t, fill[kind]),
			     min(most, U16_MAX) * KS_FULL / KS_MOST_RECORDS);
		t->usage.fill_permille[kind] = max(t->usage.fill_permille[kind], steady);
		if (fill[kind] > KS_FULL || most)
			full[kind] = steady;
	}
	if ((full[KS_LOADS] || full[KS_STORES]) &&
	    ks_quota_ring_full(&t->quota, &t->tuning, ktime_get_ns() - t->window_ns,
			       ks_knob_ns(&ks_knobs.window_ms), full))
		ks_set_periods(t);
}

static void one_round(struct ks_thread *t)
{
	u64 from = local_clock(), from_run = run_ns(), until;
	u32 fill[KS_NR_KINDS] = {}, most;
	int cpu;

	most = ks_read_events(t);
	until = local_clock() + ks_quota_budget_ns(&t->quota, &t->tuning);
	/* Begin where the last round ran out of time. */
	for_each_cpu_wrap(cpu, &t->open, t->next) {
		ks_drain_cpu(t, cpu, until, fill);
		if (local_clock() >= until) {
			t->next = (cpu + 1) % nr_cpu_ids;
			break;
		}
	}

	t->usage.rounds++;
	WRITE_ONCE(ks_status.rounds, ks_status.rounds + 1);
	look_at_fill(t, fill, most);
	t->usage.round_ns += ks_since(from);
	t->usage.round_run_ns += run_ns() - from_run;
}

/* What could be replaced by hot pages: free, beyond the watermarks, or on an LRU list. */
static unsigned long usable_pages(int nid)
{
	struct zone *zones = NODE_DATA(nid)->node_zones, *zone;
	unsigned long pages = 0, free;
	enum lru_list lru;

	for (zone = zones; zone < zones + MAX_NR_ZONES; zone++) {
		free = zone_page_state(zone, NR_FREE_PAGES);
		pages += free - min(free, high_wmark_pages(zone));
		for_each_evictable_lru(lru)
			pages += zone_page_state(zone, NR_ZONE_LRU_BASE + lru);
	}
	return pages;
}

static unsigned long hot_target(void)
{
	unsigned long pages = READ_ONCE(ks_knobs.hot_target_mb) * (SZ_1M / PAGE_SIZE);
	int nid;

	if (pages)
		return pages;

	for_each_node_state(nid, N_MEMORY)
		if (node_is_toptier(nid))
			pages += usable_pages(nid);
	return pages;
}

static void limit_heat(void)
{
	ks_pages_limit(mul_u64_u32_div((u64)totalram_pages() << PAGE_SHIFT,
				       READ_ONCE(ks_knobs.heat_memory_ppm), 1000000));
}

static void show_use(const struct ks_thread *t, u64 now, u64 run)
{
	WRITE_ONCE(ks_status.use_ppm, t->quota.use_ppm);
	WRITE_ONCE(ks_status.now_ppm, t->quota.now_ppm);
	WRITE_ONCE(ks_status.loads_ppm, t->quota.loads_now_ppm);
	WRITE_ONCE(ks_status.workload_ppm, t->quota.workload_ppm);
	WRITE_ONCE(ks_status.sleep_us, t->quota.sleep_us);
	WRITE_ONCE(ks_status.run_ns, run);
	WRITE_ONCE(ks_status.wall_ns, now - t->began_ns);
	WRITE_ONCE(ks_status.windows, ks_status.windows + 1);
}

/* Computes the part of the window that each event was counted; warns once if it is small. */
static void look_at_counters(struct ks_thread *t)
{
	struct ks_counts *counts;
	u64 enabled, running;
	u32 permille;
	bool starves;
	int e;

	for (e = 0; t->source && e < t->source->nr; e++) {
		counts = &ks_counts[e];
		enabled = counts->enabled_ns - t->enabled_ns[e];
		running = counts->running_ns - t->running_ns[e];
		if (!enabled)
			continue;
		permille = min(div64_u64(running * KS_PERMILLE, enabled), KS_PERMILLE);
		WRITE_ONCE(counts->running_permille, permille);
		starves = permille < (t->starves[e] ? MOST_PERMILLE : FEW_PERMILLE);
		if (starves && !t->starves[e])
			pr_info("%s is counted for %u permille of the time: others have the counters\n",
				t->source->events[e].name, permille);
		t->starves[e] = starves;
	}
}

/* Cpusets may isolate CPUs at any time and notify nobody. */
static void follow_isolation(const struct ks_thread *t)
{
	static struct cpumask want;	/* may be large */

	ks_wanted_cpus(&want);
	if (!cpumask_equal(&want, &t->want))
		ks_cpus_changed();
}

/* Outside of rounds; counted as if it were part of one. */
static void change_periods(struct ks_thread *t)
{
	u64 from = local_clock(), from_run = run_ns();

	ks_set_periods(t);
	t->usage.round_ns += ks_since(from);
	t->usage.round_run_ns += run_ns() - from_run;
}

static void end_window(struct ks_thread *t, u64 now)
{
	u64 run = run_ns();
	bool changed, over;

	count_records(t);
	t->usage.wall_ns = now - t->window_ns;
	t->usage.run_ns = run - t->run_ns;
	changed = !cpumask_empty(&t->open) && ks_quota_window(&t->quota, &t->tuning, &t->usage);
	show_use(t, now, run);
	trace_ksamplingd_window(t->quota.now_ppm, t->quota.use_ppm, t->quota.sleep_us,
				t->usage.rounds);

	look_at_counters(t);
	follow_isolation(t);
	limit_heat();
	over = ks_pages_window(hot_target(), READ_ONCE(ks_knobs.hot_samples), now);
	if (over && !READ_ONCE(ks_knobs.cool_ms)) {
		ks_pages_cool(now);
		t->cooled_ns = now;
	}
	/* Some rings may have failed for lack of memory. */
	ks_open_missing(t);
	WRITE_ONCE(ks_status.rings, ks_nr_rings(t));
	/* What has been done since @now counts for the next window. */
	begin_window(t, now, run);
	if (changed)
		change_periods(t);
}

/* With a time for it: a halving is never late by more than a round. */
static void cool_by_clock(struct ks_thread *t, u64 now)
{
	u64 epoch_ns = ks_knob_ns(&ks_knobs.cool_ms);

	if (!epoch_ns || now - t->cooled_ns < epoch_ns)
		return;
	ks_pages_cool(now);
	/* Keep in step with the clock, unless the thread has slept for longer than an epoch. */
	t->cooled_ns += epoch_ns;
	if (now - t->cooled_ns >= epoch_ns)
		t->cooled_ns = now;
}

static void sleep(const struct ks_thread *t)
{
	u64 us = cpumask_empty(&t->open) ? IDLE_MS * USEC_PER_MSEC : t->quota.sleep_us;

	wait_event_interruptible_hrtimeout(ks_wait,
					   kthread_should_stop() || atomic_read(&ks_changed) ||
					   atomic_read(&ks_look),
					   ns_to_ktime(us * NSEC_PER_USEC));
}

/* Logs the total CPU time when the thread ends. */
static void report(const struct ks_thread *t)
{
	u64 run = run_ns(), wall = ktime_get_ns() - t->began_ns;

	pr_info("has run for %llu ms of %llu ms, %llu permille of a CPU\n",
		div_u64(run, NSEC_PER_MSEC), div_u64(wall, NSEC_PER_MSEC),
		div64_u64(run, div_u64(wall, 1000) ?: 1));
}

static int ksamplingd(void *data)
{
	struct ks_thread *t = data;
	u64 now;

	t->began_ns = ktime_get_ns();
	t->cooled_ns = t->began_ns;
	atomic_set(&ks_changed, 1);

	while (!kthread_should_stop()) {
		look_around(t);
		tune(t);
		if (!cpumask_empty(&t->open))
			one_round(t);

		now = ktime_get_ns();
		if (now - t->window_ns >= ks_knob_ns(&ks_knobs.window_ms))
			end_window(t, now);
		cool_by_clock(t, now);
		sleep(t);
	}

	close_all(t);
	report(t);
	return 0;
}

/* ----------------------------- Start and stop ----------------------------- */

/**
 * ks_is_on - tell whether the thread exists
 *
 * Return: true if it does.
 */
bool ks_is_on(void)
{
	return READ_ONCE(ks_task);
}

/**
 * ks_start - start the thread, unless it runs already
 *
 * Context: process context.
 * Return: 0, -ENOMEM, or the error of kthread_run().
 */
int ks_start(void)
{
	struct task_struct *task;

	guard(mutex)(&ks_control);
	if (ks_task)
		return 0;

	limit_heat();
	if (ks_pages_start())
		return -ENOMEM;
	ks_thread = (struct ks_thread) {};
	memset(ks_counts, 0, sizeof(ks_counts));
	ks_status = (struct ks_status) {};

	task = kthread_run(ksamplingd, &ks_thread, "ksamplingd");
	if (IS_ERR(task)) {
		ks_pages_stop();
		return PTR_ERR(task);
	}
	WRITE_ONCE(ks_task, task);
	return 0;
}

/**
 * ks_stop - stop the thread; the counters stay readable
 *
 * Context: process context.
 */
void ks_stop(void)
{
	guard(mutex)(&ks_control);
	if (!ks_task)
		return;

	kthread_stop(ks_task);
	WRITE_ONCE(ks_task, NULL);
	WRITE_ONCE(ks_status.rings, 0);
	ks_pages_stop();
}

/* The release makes what was written before visible to the thread when it sees the message. */
static void leave_message(atomic_t *message)
{
	atomic_set_release(message, 1);
	wake_up(&ks_wait);
}

/**
 * ks_knobs_changed - make the thread reopen its rings with the new knobs
 *
 * Context: any.
 */
void ks_knobs_changed(void)
{
	leave_message(&ks_changed);
}

/**
 * ks_cpus_changed - make the thread follow the knobs of CPUs and nodes
 *
 * Context: any.
 */
void ks_cpus_changed(void)
{
	leave_message(&ks_look);
}

static int cpu_comes(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &ks_up);
	ks_cpus_changed();
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &ks_up);
	/* Clear before set: a thread that saw the CPU up, and opens its rings, sees it gone. */
	smp_mb__after_atomic();
	cpumask_set_cpu(cpu, &ks_gone);
	ks_cpus_changed();
	return 0;
}

static int __init ks_init(void)
{
	int state;

	node_set(first_online_node, ks_knobs.nodes);

	/* After perf's own state, so that events can be created. */
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "mm/ksamplingd:online",
				  cpu_comes, cpu_goes);
	return state < 0 ? state : 0;
}
late_initcall(ks_init);
