// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd: a PMU for tests, which reports accesses that never happen.
 *
 * Each CPU "accesses" a set of pages at a chosen rate. The probability of the page of
 * rank n is proportional to 1/n (Zipf); the pages are spread over the nodes in turn. As
 * with PEBS, samples come in batches: all but the last are written to the ring, the last
 * one takes the path of an interrupt. All samples are counted, so that tests can account
 * for each of them. Event 2 is event 0 with a buffer: it makes samples when there are
 * 1000, or when it is read. Event 3 is event 0 with addresses of programs and of the
 * kernel, and with data sources: of four samples, one is a program's from memory, one
 * from a cache, one from an unknown source, and one is the kernel's from memory.
 *
 * Files in /sys/kernel/debug/ksamplingd_test/:
 *
 *	accesses_per_s	rate of each CPU, for event 0
 *	stores_per_s	likewise, for event 1
 *	pages, order	of the set; to be written while nothing is sampled
 *	user		an address, or 0. If not 0, the set is memory of the process that has
 *			written it, from that address on, wherever that is at the time. To be
 *			written after pages and order; truth does not apply to it.
 *	produced	samples so far
 *	truth		a line of pfn and probability (ppm) for each page, by rank
 *	consumer	1: the PMU is a consumer of hot pages
 *	told		number of its calls
 *	last		its last call: pfn, order, node, node of the CPU, heat, 1 for a store
 *	second		1: there is a second consumer
 *	later		Y: the second consumer answers KS_LATER
 *	asked		number of its calls
 *	stray		number of calls of either while it was not registered
 *	invites		Y: the next call of the first consumer registers the second one
 *	places		number of further consumers that can be registered
 *	strange		Y: some samples have no address, or one without memory
 *	throttle	Y: perf takes the interrupts for too many
 *	busy_only	Y: an idle CPU accesses nothing
 *	refuse		Y: no event is added, as if others had all counters
 *	breakpoint	address for the source of that name; not used by this PMU
 *
 * Locking: set_lock (a mutex, may sleep) protects the set, and the files of consumers. It
 * is not held while sampling: the set does not change while there are events, which are
 * counted under set_lock.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/ksamplingd.h>
#include <linux/math64.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/prandom.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include <asm/irq_regs.h>

#include "source.h"

#define BATCH		32		/* samples between two interrupts */
#define MAX_BATCH	1000		/* in one, if there are too many, or with a buffer */
#define MIN_TICK_NS	(100 * NSEC_PER_USEC)
#define MAX_TICK_NS	(10 * NSEC_PER_MSEC)
#define MAX_PAGES	BIT(16)
#define DRAWS		BIT(18)

/**
 * struct test_set - the pages that are accessed
 * @nr:	   number of pages
 * @order: of each
 * @page:  by rank
 * @draw:  ranks, each as often as it is likely. Drawing one at random is fast, as it must be:
 *	   it takes time from the programs that run.
 * @mm:    of a program whose memory is accessed instead, or NULL
 * @base:  start address of that memory
 */
struct test_set {
	u32 nr;
	u32 order;
	struct page **page;
	u32 *draw;
	struct mm_struct *mm;
	u64 base;
};

static struct test_set set;
static DEFINE_MUTEX(set_lock);
static int events;			/* using the set; under set_lock */
static bool throttle;
static bool strange;
static bool refuse;
static bool busy_only;
static u64 rate[2] = { 1000000, 1000000 };
static DEFINE_PER_CPU(u64, produced);
static DEFINE_PER_CPU(struct rnd_state, chance);

/* --------------------------------- The set --------------------------------- */

static void free_set(void)
{
	u32 i;

	for (i = 0; i < set.nr; i++)
		__free_pages(set.page[i], set.order);
	vfree(set.page);
	vfree(set.draw);
	if (set.mm)
		mmdrop(set.mm);
	set = (struct test_set) { .order = set.order };
}

/* The draws of rank n end at the share of 1 + 1/2 + ... + 1/n in the sum for all ranks. */
static void share_draws(void)
{
	u64 all = 0, sum = 0;
	u32 rank, i = 0;

	for (rank = 0; rank < set.nr; rank++)
		all += BIT_ULL(32) / (rank + 1);
	for (rank = 0; rank < set.nr; rank++) {
		sum += BIT_ULL(32) / (rank + 1);
		while (i < mul_u64_u64_div_u64(sum, DRAWS, all))
			set.draw[i++] = rank;
	}
}

static int alloc_set(u32 nr)
{
	int cpu, nid = first_memory_node;
	u32 order = set.order;

	free_set();
	set.page = vcalloc(nr, sizeof(*set.page));
	set.draw = vcalloc(DRAWS, sizeof(*set.draw));
	if (!set.page || !set.draw)
		goto fail;

	for (set.nr = 0; set.nr < nr; set.nr++) {
		set.page[set.nr] = alloc_pages_node(nid, GFP_KERNEL | __GFP_NOWARN |
						    (order ? __GFP_COMP : 0), order);
		if (!set.page[set.nr])
			goto fail;
		nid = next_node_in(nid, node_states[N_MEMORY]);
		cond_resched();
	}
	share_draws();
	for_each_possible_cpu(cpu)
		prandom_seed_state(per_cpu_ptr(&chance, cpu), cpu + 1);
	return 0;

fail:
	free_set();
	return -ENOMEM;
}

/* Called with interrupts off, which keeps page tables. Return: 0 if nothing is mapped. */
static u64 phys_of(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgdp = pgd_offset(mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;
	pmd_t *pmdp, pmd;
	pte_t *ptep, pte;

	if (pgd_none(pgd))
		return 0;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (!p4d_present(p4d))
		return 0;
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (!pud_present(pud) || pud_leaf(pud))
		return 0;
	pmdp = pmd_offset_lockless(pudp, pud, addr);
	pmd = pmdp_get_lockless(pmdp);
	if (!pmd_present(pmd))
		return 0;
	if (pmd_leaf(pmd))
		return PFN_PHYS(pmd_pfn(pmd)) + (addr & ~PMD_MASK);
	ptep = pte_offset_kernel(&pmd, addr);
	pte = ptep_get_lockless(ptep);
	return pte_present(pte) ? PFN_PHYS(pte_pfn(pte)) + (addr & ~PAGE_MASK) : 0;
}

static u64 random_phys(void)
{
	struct rnd_state *rnd = this_cpu_ptr(&chance);
	u32 rank = set.draw[prandom_u32_state(rnd) % DRAWS];
	u64 size = PAGE_SIZE << set.order, at = prandom_u32_state(rnd) & (size - 8);

	if (set.mm)
		return phys_of(set.mm, set.base + rank * size + at);
	return page_to_phys(set.page[rank]) + at;
}

/* --------------------------------- The PMU --------------------------------- */

static bool has_levels(const struct perf_event *event)
{
	return event->attr.config == 3;
}

static void fill_level(struct perf_sample_data *data, u64 which)
{
	static const u64 from[] = {
		PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVLNUM, RAM),
		PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVLNUM, L3),
		PERF_MEM_S(OP, STORE) | PERF_MEM_S(LVLNUM, NA),
		PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVLNUM, RAM),
	};

	which %= ARRAY_SIZE(from);
	if (which != ARRAY_SIZE(from) - 1)
		data->addr = data->addr & (SZ_1G - 1);
	data->data_src.val = from[which];
	data->sample_flags |= PERF_SAMPLE_DATA_SRC;
}

static void fill(struct perf_event *event, struct perf_sample_data *data)
{
	u64 phys = random_phys();

	perf_sample_data_init(data, (u64)phys_to_virt(phys), event->hw.sample_period);
	if (READ_ONCE(strange) && phys & BIT(3))
		phys = phys & BIT(4) ? 0 : BIT_ULL(51);
	if (has_levels(event))
		fill_level(data, phys >> 3);
	data->phys_addr = phys;
	data->sample_flags |= PERF_SAMPLE_PHYS_ADDR;
	this_cpu_inc(produced);
}

/* Return: true if the event is to be throttled. */
static bool make_samples(struct perf_event *event, u64 nr, struct pt_regs *regs)
{
	struct perf_sample_data data;

	while (--nr) {
		fill(event, &data);
		perf_event_output_forward(event, &data, regs);
	}
	fill(event, &data);
	/* Reset it here: an idle CPU has no tick that would do so. */
	event->hw.interrupts = READ_ONCE(throttle) ? U32_MAX : 0;
	return perf_event_overflow(event, &data, regs);
}

static bool has_buffer(const struct perf_event *event)
{
	return event->attr.config == 2;
}

static u64 rate_of(const struct perf_event *event)
{
	if (READ_ONCE(busy_only) && is_idle_task(current))
		return 0;
	return READ_ONCE(rate[event->attr.config == 1]);
}

/* Random, so that it does not run in step with periodic sleepers. */
static u64 tick_ns(const struct perf_event *event)
{
	u64 accesses = rate_of(event);
	u64 ns = MAX_TICK_NS;

	if (accesses)
		ns = clamp_t(u64, mul_u64_u64_div_u64(event->hw.sample_period * BATCH,
						      NSEC_PER_SEC, accesses),
			     MIN_TICK_NS, MAX_TICK_NS);
	return ns / 2 + prandom_u32_state(this_cpu_ptr(&chance)) % (u32)ns;
}

/* Samples due since the time in prev_count. With @full, a buffer makes them only when full. */
static u64 due_samples(struct perf_event *event, u64 now, bool full)
{
	struct hw_perf_event *hw = &event->hw;
	u64 accesses = local64_read(&hw->period_left) +
		       mul_u64_u64_div_u64(rate_of(event), now - local64_read(&hw->prev_count),
					   NSEC_PER_SEC);
	u64 nr = min_t(u64, div64_u64(accesses, hw->sample_period), MAX_BATCH);

	if (full && has_buffer(event) && nr < MAX_BATCH)
		nr = 0;
	local64_set(&hw->prev_count, now);
	local64_set(&hw->period_left, nr ? accesses % hw->sample_period : accesses);
	local64_add(nr * hw->sample_period, &event->count);
	return nr;
}

static enum hrtimer_restart test_tick(struct hrtimer *timer)
{
	struct perf_event *event = container_of(timer, struct perf_event, hw.hrtimer);
	struct pt_regs *regs = get_irq_regs();
	u64 nr;

	if (event->state != PERF_EVENT_STATE_ACTIVE || event->hw.state & PERF_HES_STOPPED)
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(tick_ns(event)));
	/* As perf does for PEBS, the CPU hands over what it has when it becomes idle. */
	nr = regs ? due_samples(event, ktime_get_ns(), !is_idle_task(current)) : 0;
	if (nr && make_samples(event, nr, regs))
		return HRTIMER_NORESTART;
	return HRTIMER_RESTART;
}

static void test_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, ktime_get_ns());
	hrtimer_start(&event->hw.hrtimer, ns_to_ktime(tick_ns(event)),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void test_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	/* Not if it is from test_tick() that perf stops it, to throttle; that ends then. */
	hrtimer_try_to_cancel(&event->hw.hrtimer);
}

static int test_add(struct perf_event *event, int flags)
{
	if (READ_ONCE(refuse))
		return -EAGAIN;
	if (flags & PERF_EF_START)
		test_start(event, flags);
	return 0;
}

static void test_del(struct perf_event *event, int flags)
{
	test_stop(event, flags);
}

/* As with PEBS, reading the event flushes the buffer. */
static void test_read(struct perf_event *event)
{
	struct perf_sample_data data;
	struct pt_regs regs;
	u64 nr;

	if (!has_buffer(event) || event->state != PERF_EVENT_STATE_ACTIVE)
		return;
	perf_fetch_caller_regs(&regs);
	for (nr = due_samples(event, ktime_get_ns(), false); nr; nr--) {
		fill(event, &data);
		perf_event_output_forward(event, &data, &regs);
	}
}

static void test_destroy(struct perf_event *event)
{
	guard(mutex)(&set_lock);
	events--;
}

static int test_init_event(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.config > 3 || event->cpu < 0 || !is_sampling_event(event) ||
	    event->attr.freq)
		return -EINVAL;

	guard(mutex)(&set_lock);
	if (!set.nr)
		return -ENODATA;
	events++;
	event->destroy = test_destroy;
	hrtimer_setup(&event->hw.hrtimer, test_tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static struct pmu test_pmu = {
	.task_ctx_nr = perf_sw_context,
	.capabilities = PERF_PMU_CAP_NO_NMI,
	.event_init = test_init_event,
	.add = test_add,
	.del = test_del,
	.start = test_start,
	.stop = test_stop,
	.read = test_read,
};

/* -------------------------------- Consumers -------------------------------- */

/**
 * struct test_consumer - a consumer of hot pages
 * @consumer: as known to ksamplingd
 * @listens:  it is registered
 * @calls:    number of calls
 * @stray:    number of calls while it was not registered
 * @later:    it answers KS_LATER
 * @invites:  its next call registers the second consumer
 * @last:     the page of the last call
 *
 * Only ksamplingd calls it and writes the numbers; readers take no lock.
 */
struct test_consumer {
	struct ks_consumer consumer;
	bool listens;
	u64 calls;
	u64 stray;
	bool later;
	bool invites;
	struct ks_hot_page last;
};

static struct test_consumer first, second;
static int listen(struct test_consumer *c, bool listens);

static enum ks_answer take_note(struct ks_consumer *consumer, const struct ks_hot_page *page)
{
	struct test_consumer *c = container_of(consumer, struct test_consumer, consumer);

	/* ksamplingd holds none of the locks that a consumer may take. */
	cpus_read_lock();
	get_online_mems();
	put_online_mems();
	cpus_read_unlock();

	if (!READ_ONCE(c->listens))
		c->stray++;
	c->last = *page;
	c->calls++;
	if (READ_ONCE(c->invites)) {
		WRITE_ONCE(c->invites, false);
		listen(&second, true);
	}
	return READ_ONCE(c->later) ? KS_LATER : KS_DONE;
}

static struct test_consumer first = { .consumer.hot = take_note };
static struct test_consumer second = { .consumer.hot = take_note };

static int listen(struct test_consumer *c, bool listens)
{
	int err = 0;

	if (listens == c->listens)
		return 0;
	if (listens) {
		/* It may be called before this returns. */
		WRITE_ONCE(c->listens, true);
		err = ksamplingd_register(&c->consumer);
		if (err)
			WRITE_ONCE(c->listens, false);
	} else {
		ksamplingd_unregister(&c->consumer);
		WRITE_ONCE(c->listens, false);
	}
	return err;
}

static struct test_consumer crowd[8];

/* Registers as many as possible and unregisters them again. Return: their number. */
static u64 count_places(void)
{
	u64 nr, i;

	for (nr = 0; nr < ARRAY_SIZE(crowd); nr++) {
		crowd[nr].consumer.hot = take_note;
		if (listen(&crowd[nr], true) == -EBUSY)
			break;
	}
	for (i = 0; i < nr; i++)
		listen(&crowd[i], false);
	return nr;
}

/* ---------------------------------- Files ---------------------------------- */

static int get_rate(void *data, u64 *value)
{
	*value = READ_ONCE(*(u64 *)data);
	return 0;
}

static int set_rate(void *data, u64 value)
{
	/* Products of the rate must fit into 64 bits. */
	if ((value && value < 1000) || value > 1000000000000)
		return -EINVAL;
	WRITE_ONCE(*(u64 *)data, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(rate_fops, get_rate, set_rate, "%llu\n");

static int get_pages(void *data, u64 *value)
{
	*value = set.nr;
	return 0;
}

static int set_pages(void *data, u64 value)
{
	guard(mutex)(&set_lock);
	if (!value || value > MAX_PAGES)
		return -EINVAL;
	if (events)
		return -EBUSY;
	return alloc_set(value);
}
DEFINE_DEBUGFS_ATTRIBUTE(pages_fops, get_pages, set_pages, "%llu\n");

static int get_order_of_set(void *data, u64 *value)
{
	*value = set.order;
	return 0;
}

static int set_order_of_set(void *data, u64 value)
{
	guard(mutex)(&set_lock);
	if (value > MAX_PAGE_ORDER)
		return -EINVAL;
	if (events)
		return -EBUSY;
	free_set();
	set.order = value;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(order_fops, get_order_of_set, set_order_of_set, "%llu\n");

static int get_user_base(void *data, u64 *value)
{
	*value = set.base;
	return 0;
}

static int set_user_base(void *data, u64 value)
{
	guard(mutex)(&set_lock);
	if (!current->mm || value >= TASK_SIZE)
		return -EINVAL;
	if (events)
		return -EBUSY;
	if (set.mm)
		mmdrop(set.mm);
	set.mm = value ? current->mm : NULL;
	set.base = value;
	if (set.mm)
		mmgrab(set.mm);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(user_fops, get_user_base, set_user_base, "0x%llx\n");

static int get_consumer(void *data, u64 *value)
{
	*value = ((struct test_consumer *)data)->listens;
	return 0;
}

static int set_consumer(void *data, u64 value)
{
	guard(mutex)(&set_lock);
	if (value > 1)
		return -EINVAL;
	return listen(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(consumer_fops, get_consumer, set_consumer, "%llu\n");

static int get_places(void *data, u64 *value)
{
	guard(mutex)(&set_lock);
	*value = count_places();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(places_fops, get_places, NULL, "%llu\n");

static int get_stray(void *data, u64 *value)
{
	*value = first.stray + second.stray;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stray_fops, get_stray, NULL, "%llu\n");

static int last_show(struct seq_file *m, void *unused)
{
	const struct ks_hot_page *p = &first.last;

	seq_printf(m, "0x%lx %u %d %d %u %d\n", p->pfn, p->order, p->nid, p->from_nid,
		   p->heat, p->store);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(last);

static int get_produced(void *data, u64 *value)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(produced, cpu);
	*value = sum;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(produced_fops, get_produced, NULL, "%llu\n");

static int truth_show(struct seq_file *m, void *unused)
{
	u32 rank, draws, i = 0;

	guard(mutex)(&set_lock);
	for (rank = 0; rank < set.nr; rank++) {
		for (draws = 0; i < DRAWS && set.draw[i] == rank; i++)
			draws++;
		seq_printf(m, "0x%lx %llu\n", page_to_pfn(set.page[rank]),
			   draws * 1000000ULL / DRAWS);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(truth);

static int __init test_pmu_init(void)
{
	struct dentry *dir;
	int err = perf_pmu_register(&test_pmu, "ks_test", -1);

	if (err)
		return err;
	listen(&first, true);
	dir = debugfs_create_dir("ksamplingd_test", NULL);
	debugfs_create_file("accesses_per_s", 0600, dir, &rate[0], &rate_fops);
	debugfs_create_file("stores_per_s", 0600, dir, &rate[1], &rate_fops);
	debugfs_create_file("pages", 0600, dir, NULL, &pages_fops);
	debugfs_create_file("order", 0600, dir, NULL, &order_fops);
	debugfs_create_file("user", 0600, dir, NULL, &user_fops);
	debugfs_create_file("produced", 0400, dir, NULL, &produced_fops);
	debugfs_create_u64("told", 0400, dir, &first.calls);
	debugfs_create_file("last", 0400, dir, NULL, &last_fops);
	debugfs_create_file("consumer", 0600, dir, &first, &consumer_fops);
	debugfs_create_u64("asked", 0400, dir, &second.calls);
	debugfs_create_bool("later", 0600, dir, &second.later);
	debugfs_create_bool("invites", 0600, dir, &first.invites);
	debugfs_create_file("places", 0400, dir, NULL, &places_fops);
	debugfs_create_file("second", 0600, dir, &second, &consumer_fops);
	debugfs_create_file("stray", 0400, dir, NULL, &stray_fops);
	debugfs_create_bool("throttle", 0600, dir, &throttle);
	debugfs_create_bool("strange", 0600, dir, &strange);
	debugfs_create_bool("refuse", 0600, dir, &refuse);
	debugfs_create_bool("busy_only", 0600, dir, &busy_only);
	debugfs_create_file("truth", 0400, dir, NULL, &truth_fops);
	debugfs_create_u64("breakpoint", 0600, dir, &ks_test_breakpoint);
	return 0;
}
device_initcall(test_pmu_init);
