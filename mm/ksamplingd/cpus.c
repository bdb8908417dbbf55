// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: the rings of all CPUs, and the source that they are of.
 *
 * Locking: only the thread opens, reads, drains and closes rings.
 */
#define pr_fmt(fmt) "ksamplingd: " fmt

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/perf_kernel_ring.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/string.h>
#include <trace/events/ksamplingd.h>

#include "reads.h"
#include "thread.h"

/**
 * struct ks_cpu - the rings of a CPU
 * @ring:   one for each event of the source
 * @reads:  when its events are read
 * @event:  index of the one that is read next
 * @visits: how often the rings have been drained
 * @stale:  not 0: it was idle when the periods changed, and has the old ones. After so many
 *	    more visits that find records it is interrupted for the new ones.
 *
 * It has cache lines of its own: the CPU of the thread uses it, not the CPU it describes.
 */
struct ks_cpu {
	struct ks_ring ring[KS_MAX_EVENTS];
	struct ks_reads reads;
	u32 event;
	u32 visits;
	u8 stale;
} ____cacheline_aligned;

#define STALE_VISITS	16

static DEFINE_PER_CPU_ALIGNED(struct ks_cpu, ks_cpus);

static struct ks_ring *ring_of(int cpu, int event)
{
	return &per_cpu(ks_cpus, cpu).ring[event];
}

/* -------------------------------- Periods -------------------------------- */

static u32 period_of(const struct ks_thread *t, enum ks_kind kind)
{
	u32 fixed = READ_ONCE(*(kind == KS_LOADS ? &ks_knobs.load_period :
						   &ks_knobs.store_period));

	return ks_source_period(t->source, t->tuning.quota_permille ?
				ks_periods[kind][t->quota.level[kind]] : fixed);
}

/* A kind with a share of 0 is not sampled. */
static bool is_sampled(const struct ks_thread *t, enum ks_kind kind)
{
	u32 loads = ks_source_load_share(t->source, t->load_share_permille);

	return kind == KS_LOADS ? loads > 0 : loads < 1000;
}

/**
 * ks_show_periods - show the periods and the sleep in the status
 * @t: the thread
 *
 * Return: true if a period has changed.
 */
bool ks_show_periods(const struct ks_thread *t)
{
	bool changed = false;
	u32 period;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		period = t->source && is_sampled(t, kind) ? period_of(t, kind) : 0;
		changed |= period != ks_status.period[kind];
		WRITE_ONCE(ks_status.period[kind], period);
	}
	WRITE_ONCE(ks_status.sleep_us, t->quota.sleep_us);
	return changed;
}

static void give_periods(const struct ks_thread *t, int cpu)
{
	int e;

	per_cpu(ks_cpus, cpu).stale = 0;
	for (e = 0; e < t->source->nr; e++)
		ks_ring_set_period(ring_of(cpu, e), period_of(t, t->source->events[e].kind));
}

/**
 * ks_set_periods - give all CPUs the periods of the loop
 * @t: the thread
 *
 * An idle CPU gets them when it is busy again: it would have to wake up for that. One that
 * has records again and again, but is idle when it is looked at, is woken in the end.
 */
void ks_set_periods(struct ks_thread *t)
{
	u64 from = local_clock();
	int cpu;

	/* With few possible periods, several levels have the same one. */
	if (!ks_show_periods(t))
		return;
	for_each_cpu(cpu, &t->open) {
		if (!idle_cpu(cpu))
			give_periods(t, cpu);
		else if (!per_cpu(ks_cpus, cpu).stale)
			per_cpu(ks_cpus, cpu).stale = STALE_VISITS;
	}
	t->usage.look_ns += ks_since(from);
	trace_ksamplingd_period(ks_status.period[KS_LOADS], ks_status.period[KS_STORES]);
	WRITE_ONCE(ks_status.changes, ks_status.changes + 1);
}

/* --------------------------------- Rings --------------------------------- */

/**
 * ks_close_cpu - end sampling of a CPU, and take the remaining records
 * @t:   the thread
 * @cpu: the CPU; its rings may be open or not
 */
void ks_close_cpu(struct ks_thread *t, int cpu)
{
	int e;

	for (e = 0; e < KS_MAX_EVENTS; e++)
		ks_ring_close(ring_of(cpu, e));
	cpumask_clear_cpu(cpu, &t->open);
}

/* Opens all sampled events of a CPU, or none. */
static int open_cpu(struct ks_thread *t, const struct ks_source *source, int cpu)
{
	const struct ks_event *what;
	int e, err;

	for (e = 0; e < source->nr; e++) {
		what = &source->events[e];
		if (!is_sampled(t, what->kind))
			continue;
		err = ks_ring_open(ring_of(cpu, e), source, what, cpu,
				   period_of(t, what->kind), READ_ONCE(ks_knobs.ring_pages),
				   &ks_counts[e]);
		if (err) {
			ks_close_cpu(t, cpu);
			return err;
		}
	}
	per_cpu(ks_cpus, cpu).stale = 0;
	ks_reads_start(&per_cpu(ks_cpus, cpu).reads, cpu, ks_source_reads(source),
		       ks_knob_ns(&ks_knobs.window_ms));
	cpumask_set_cpu(cpu, &t->open);
	cpumask_clear_cpu(cpu, &t->failed);
	return 0;
}

/**
 * ks_open_missing - open the CPUs that are up and wanted but not sampled yet
 * @t: the thread
 */
void ks_open_missing(struct ks_thread *t)
{
	int cpu, err;

	if (!t->source)
		return;
	for_each_cpu_and(cpu, &ks_up, &t->want) {
		if (cpumask_test_cpu(cpu, &t->open))
			continue;
		err = open_cpu(t, t->source, cpu);
		/* A CPU that has just gone offline is no failure. */
		if (err && err != -ENODEV && !cpumask_test_and_set_cpu(cpu, &t->failed))
			pr_warn("CPU %d is not sampled: %s: error %d\n",
				cpu, t->source->name, err);
	}
}

/* Return: 0 or -errno. */
static int try_source(struct ks_thread *t, const struct ks_source *source)
{
	int cpu, err = -ENODEV;

	t->source = source;
	for_each_cpu_and(cpu, &ks_up, &t->want) {
		err = open_cpu(t, source, cpu);
		/* This CPU is going offline; the next one may stay. */
		if (err != -ENODEV)
			break;
	}
	if (err)
		t->source = NULL;
	return err;
}

/* Logs the sources that failed and the one in use. */
static void say_source(const struct ks_thread *t, const int err[], u32 first, u32 last)
{
	const char *missing;
	u32 i;

	for (i = first; i <= last && &ks_sources[i] != t->source; i++) {
		if (!err[i])
			continue;
		missing = ks_sources[i].missing ? ks_sources[i].missing() : NULL;
		pr_info("cannot sample by %s here (%pe)%s%s\n", ks_sources[i].name,
			ERR_PTR(err[i]), missing ? ": " : "", missing ?: "");
	}
	if (t->source)
		pr_info("samples by %s\n", t->source->name);
	else
		pr_info("waits for another source\n");
}

static void forget_counts(struct ks_thread *t)
{
	int e;

	memset(ks_counts, 0, sizeof(ks_counts));
	memset(t->starves, 0, sizeof(t->starves));
	for (e = 0; e < KS_MAX_EVENTS; e++)
		ks_counts[e].running_permille = KS_PERMILLE;
}

/**
 * ks_choose_source - pick the first source that works
 * @t: the thread, without a source
 *
 * That is of the automatic ones for "auto", else the wanted one. One CPU has been opened by
 * then. The log says so once for each wanted source, and again when the choice changes.
 */
void ks_choose_source(struct ks_thread *t)
{
	u32 wanted = READ_ONCE(ks_knobs.source);
	u32 first = wanted == KS_AUTO ? KS_AUTO + 1 : wanted;
	u32 last = wanted == KS_AUTO ? ks_nr_sources - 1 : wanted;
	int err[KS_MAX_SOURCES] = {};
	u32 i;

	for (i = first; i <= last; i++) {
		if (wanted == KS_AUTO && !ks_sources[i].automatic)
			continue;
		err[i] = try_source(t, &ks_sources[i]);
		/* Without a CPU to try it on, nothing is known; one may come online. */
		if (!err[i] || !cpumask_intersects(&ks_up, &t->want))
			break;
	}
	if (t->source && t->source != t->counted) {
		forget_counts(t);
		t->counted = t->source;
	}
	if ((t->source || i > last) &&
	    (t->tried != &ks_sources[wanted] || t->source != t->said)) {
		say_source(t, err, first, last);
		t->tried = &ks_sources[wanted];
		t->said = t->source;
	}
	WRITE_ONCE(ks_status.source, t->source);
}

/**
 * ks_nr_rings - get the number of open rings
 * @t: the thread
 *
 * Return: rings.
 */
u32 ks_nr_rings(const struct ks_thread *t)
{
	u32 events = 0;
	int e;

	for (e = 0; t->source && e < t->source->nr; e++)
		events += is_sampled(t, t->source->events[e].kind);
	return cpumask_weight(&t->open) * events;
}

static u64 waiting_of(const struct ks_thread *t, int cpu)
{
	u64 sum = 0;
	int e;

	for (e = 0; e < t->source->nr; e++)
		sum += ks_ring_waits(ring_of(cpu, e));
	return sum;
}

/**
 * ks_sum_waiting - get the number of samples that wait in the rings
 * @t: the thread
 *
 * Return: samples.
 */
u64 ks_sum_waiting(const struct ks_thread *t)
{
	u64 sum = 0;
	int cpu;

	for_each_cpu(cpu, &t->open)
		sum += waiting_of(t, cpu);
	return sum;
}

/**
 * ks_begin_reads - begin to count the reads of a window
 * @t: the thread
 */
void ks_begin_reads(const struct ks_thread *t)
{
	int cpu;

	for_each_cpu(cpu, &t->open)
		ks_reads_window(&per_cpu(ks_cpus, cpu).reads, ks_source_reads(t->source),
				ks_knob_ns(&ks_knobs.window_ms));
}

/* ------------------------------ Reading and draining ------------------------------ */

/*
 * Reads one event, which makes the CPU hand over what the hardware has of all of them.
 * Return: number of records.
 */
static u32 read_event(const struct ks_thread *t, int cpu)
{
	struct ks_cpu *c = per_cpu_ptr(&ks_cpus, cpu);
	u64 before = waiting_of(t, cpu);
	struct ks_ring *ring;
	int i;

	if (c->stale)
		give_periods(t, cpu);
	for (i = 0; i < t->source->nr; i++) {
		ring = &c->ring[c->event++ % t->source->nr];
		if (ring->event)
			break;
	}
	ks_ring_read(ring);
	return waiting_of(t, cpu) - before;
}

/*
 * An idle CPU has handed over its records when it became idle. Return: number of records
 * that there were, if they are too many and reads cannot come more often; else 0.
 */
static u32 read_cpu(struct ks_thread *t, int cpu, u64 part_ns)
{
	struct ks_reads *r = &per_cpu(ks_cpus, cpu).reads;
	u64 from = local_clock();
	u32 found;

	found = idle_cpu(cpu) ? 0 : read_event(t, cpu);
	ks_reads_done(r, found, part_ns, ks_knob_ns(&ks_knobs.window_ms));
	/* Most of this time, the other CPU writes its records to the rings. */
	*(ks_reads_is_look(found) ? &t->usage.look_ns : &t->usage.drain_ns) += ks_since(from);
	return r->late && found > KS_MOST_RECORDS ? found : 0;
}

/**
 * ks_read_events - read the CPUs that are due
 * @t: the thread
 *
 * Return: the most records that there were on one CPU, if that is too many and reads cannot
 * come more often; else 0.
 */
u32 ks_read_events(struct ks_thread *t)
{
	u64 part_ns = ktime_get_ns() - t->window_ns;
	u32 most = 0;
	int cpu;

	for_each_cpu(cpu, &t->open) {
		if (part_ns < per_cpu(ks_cpus, cpu).reads.next)
			continue;
		most = max(most, read_cpu(t, cpu, part_ns));
		cond_resched();
	}
	return most;
}

/**
 * ks_drain_cpu - drain the rings of a CPU, as one round does
 * @t:     the thread
 * @cpu:   the CPU
 * @until: local_clock(), ns, from which on nothing more is taken
 * @fill:  fill level of the fullest ring of each kind, permille; is raised
 */
void ks_drain_cpu(struct ks_thread *t, int cpu, u64 until, u32 fill[KS_NR_KINDS])
{
	int nr = t->source->nr, i, e;
	struct ks_ring *ring;
	enum ks_kind kind;
	/* Events take turns at being first: there may be no time for the others. */
	struct ks_cpu *c = per_cpu_ptr(&ks_cpus, cpu);
	u32 first = c->visits++;
	bool has_records = false;
	unsigned long used;
	u64 from;

	for (i = 0; i < nr; i++) {
		e = (first + i) % nr;
		kind = t->source->events[e].kind;
		ring = ring_of(cpu, e);
		used = ring->event ? perf_kernel_ring_used(ring->event) : 0;
		if (!used)
			continue;
		/* More than what the last round has left */
		has_records |= used > ring->left;
		from = local_clock();
		fill[kind] = max(fill[kind], ks_ring_drain(ring, until));
		t->usage.drain_ns += ks_since(from);
	}
	/* It has been busy, and may be so for long before it is read. */
	if (has_records && c->stale && (!idle_cpu(cpu) || !--c->stale)) {
		from = local_clock();
		give_periods(t, cpu);
		t->usage.look_ns += ks_since(from);
	}
}

/**
 * ks_wanted_cpus - get the CPUs that are to be sampled, online or not
 * @mask: for the result
 *
 * These are the CPUs of the knob. If it is unset, all but those that are isolated by
 * isolcpus=, nohz_full= or a cpuset.
 *
 * Context: any. A list that is written concurrently may be torn; its writer calls
 * ks_cpus_changed() afterwards.
 */
void ks_wanted_cpus(struct cpumask *mask)
{
	int cpu;

	/* Pairs with the release in set_cpus(): the flag is set after the list. */
	if (smp_load_acquire(&ks_knobs.cpus_named)) {
		cpumask_copy(mask, &ks_knobs.cpus);
		return;
	}
	cpumask_clear(mask);
	guard(rcu)();
	for_each_possible_cpu(cpu)
		if (!cpu_is_isolated(cpu) && housekeeping_cpu(cpu, HK_TYPE_TICK))
			cpumask_set_cpu(cpu, mask);
}

