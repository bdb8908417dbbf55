// SPDX-License-Identifier: GPL-2.0
/*
 * For tests of quota.c: the loop, closed over a thread, CPUs and loads that exist on paper
 * only.
 */
#include <kunit/test.h>
#include <linux/math.h>
#include <linux/string.h>

#include "quota_model.h"
#include "test_seed.h"

static u64 model_seed;

/**
 * model_init - begin a test with random numbers
 * @test: the test, which prints their seed
 *
 * Return: 0.
 */
int model_init(struct kunit *test)
{
	model_seed = ks_test_seed(test);
	return 0;
}

/**
 * holds_in_95_of_100 - did what loads may prevent by chance nearly always hold?
 * @test:   the test, which fails if not
 * @what:   was tried
 * @trials: so many times
 * @failed: of these
 */
void holds_in_95_of_100(struct kunit *test, const char *what, int trials, int failed)
{
	KUNIT_EXPECT_LE_MSG(test, 20 * failed, trials, "%s: %d of %d", what, failed, trials);
}

/* ------------------------ Records one by one ------------------------ */

#define PARTS		50		/* of a window, in which rings may fill up */

void start_at(struct ks_quota *q, const struct ks_tuning *t, u8 level)
{
	const u8 levels[KS_NR_KINDS] = { level, level };

	ks_quota_start(q, t, levels);
}

/* Of loads. */
bool ring_full(struct ks_quota *q, const struct ks_tuning *t, u64 part_ns, u32 fill_permille)
{
	const u32 fill[KS_NR_KINDS] = { [KS_LOADS] = fill_permille };

	return ks_quota_ring_full(q, t, part_ns, WINDOW_NS, fill);
}

/* One window of records; the use is told, and nothing else. */
bool tell_mix(struct ks_quota *q, const struct ks_tuning *t, u32 use_ppm, u64 loads, u64 stores)
{
	struct ks_usage u = {
		.wall_ns = WINDOW_NS,
		.run_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.drain_ns = use_ppm * (WINDOW_NS / KS_WHOLE),
		.rounds = 500,
		.records = { [KS_LOADS] = loads, [KS_STORES] = stores },
	};

	return ks_quota_window(q, t, &u);
}

struct plant new_plant(u32 quota_permille, u32 policy)
{
	struct plant p = {
		.base_ns = 8000,
		.record_ns = 1200,
		.ring = 2048,
		.noise_percent = 10,
		.tuning = {
			.quota_permille = quota_permille,
			.policy = policy,
			.sleep_us = 2000,
			.load_share_permille = 1000,
		},
	};

	prandom_seed_state(&p.rnd, model_seed++);
	start_at(&p.quota, &p.tuning, 17);
	return p;
}

/* So many accesses use up the quota with the period of a level. */
void set_load(struct plant *p, int level, u32 percent)
{
	u64 room = p->tuning.quota_permille * (NSEC_PER_SEC / 1000);

	room -= min(room / 2, p->base_ns * (NSEC_PER_SEC / 2000000ULL));
	p->accesses = div_u64(room * ks_periods[KS_LOADS][level] * percent,
			      100 * p->record_ns);
}

static u64 noisy(struct plant *p, u64 value)
{
	u32 percent = 100 - p->noise_percent +
		      prandom_u32_state(&p->rnd) % (2 * p->noise_percent + 1);

	return div_u64(value * percent, 100);
}

static u32 period_of(const struct plant *p)
{
	u32 period = ks_periods[KS_LOADS][p->quota.level[KS_LOADS]];

	return p->coarse ? rounddown(period, 199) : period;
}

/* Some rounds. Return: how full the ring was found, permille. */
static u32 run_plant_part(struct plant *p, struct ks_usage *u)
{
	u64 record_ns = p->record_ns;
	u64 round_ns = p->quota.sleep_us * NSEC_PER_USEC + p->base_ns;
	u64 rounds = div_u64(WINDOW_NS / PARTS, round_ns) + 1;
	u64 fit = div_u64(rounds * ks_quota_budget_ns(&p->quota, &p->tuning), p->record_ns);
	u64 came = noisy(p, div_u64(div_u64(p->accesses, PARTS), period_of(p)));
	/* What comes between two rounds. */
	u64 most = div64_u64(came, rounds);
	u64 taken, room, made = came;

	room = rounds * p->ring;
	if (came > room) {
		p->lost += came - room;
		came = room;
	}
	taken = min(p->waiting + came, min(fit, rounds * p->ring));
	p->waiting += came - taken;
	if (p->waiting > p->ring) {
		p->lost += p->waiting - p->ring;
		p->waiting = p->ring;
	}

	if (p->steep)
		record_ns = div_u64(record_ns * taken, 400);
	u->wall_ns += WINDOW_NS / PARTS;
	u->rounds += rounds;
	u->records[KS_LOADS] += taken;
	u->read += taken;
	u->made += made;
	u->drain_ns += taken * record_ns;
	u->run_ns += taken * record_ns + rounds * p->base_ns;
	return div_u64(most * 1000, p->ring);
}

void run_window(struct plant *p)
{
	struct ks_usage u = {};
	int part;
	u32 fill;

	for (part = 0; part < PARTS; part++) {
		fill = run_plant_part(p, &u);
		u.fill_permille[KS_LOADS] = max(u.fill_permille[KS_LOADS], fill);
		if (fill > KS_FULL)
			p->changes += ring_full(&p->quota, &p->tuning, u.wall_ns, fill);
	}
	p->use_ppm = div64_u64(u.run_ns * KS_WHOLE, u.wall_ns);
	p->changes += ks_quota_window(&p->quota, &p->tuning, &u);
}

bool is_settled(const struct plant *p)
{
	u32 quota = p->tuning.quota_permille * KS_PERMILLE;

	return abs_diff(p->use_ppm, quota) <= max(5 * KS_PERMILLE, quota / 8);
}

/* Return: after how many windows the use was at the quota, and stayed there for three. */
int settle(struct plant *p, int most)
{
	int windows, good = 0;

	for (windows = 0; windows < most; windows++) {
		run_window(p);
		good = is_settled(p) ? good + 1 : 0;
		if (good == 3)
			return windows - 2;
	}
	return most;
}

/* ------------------------- Records in batches ------------------------- */

#define HW_BATCH	1000	/* records that the hardware keeps back */
#define HAND_OVER_NS	250	/* for the CPU to hand over one of them */
#define INTERRUPT_NS	4000	/* to interrupt a CPU that is not idle */
#define ROUND_NS	5000	/* a round, */
#define ROUND_CPU_NS	60	/* and for each CPU */

/* What rings have no room for is lost. Return: number of records that were kept back. */
static u32 deliver(struct delivery *d, struct model_cpu *c, struct ks_usage *u)
{
	u32 room = d->cpus * d->plant.ring, sum = 0;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		sum += c->kept[kind];
		d->delivered[kind] += c->kept[kind];
		c->kept[kind] = 0;
		d->fill[kind] = max_t(u32, d->fill[kind],
				      div_u64(d->delivered[kind] * 1000ULL, room));
		if (d->delivered[kind] <= room)
			continue;
		u->records[kind] += d->delivered[kind] - room;
		d->lost += d->delivered[kind] - room;
		d->delivered[kind] = room;
	}
	return sum;
}

static u32 interrupt(struct delivery *d, struct model_cpu *c, struct ks_usage *u)
{
	u32 records = deliver(d, c, u);

	d->most = max(d->most, records);
	return (c->busy ? INTERRUPT_NS : d->idle_ns) + records * HAND_OVER_NS;
}

/* A change of the period stops the event, which empties its buffer. */
static void give_periods(struct delivery *d, struct model_cpu *c, struct ks_usage *u)
{
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		if (c->level[kind] == d->plant.quota.level[kind])
			continue;
		c->level[kind] = d->plant.quota.level[kind];
		d->look_ns += interrupt(d, c, u);
	}
}

static void change_periods(struct delivery *d, struct ks_usage *u)
{
	struct model_cpu *c;

	d->plant.changes++;
	for (c = d->cpu; c < d->cpu + d->cpus; c++)
		if (c->busy || d->wakes)
			give_periods(d, c, u);
}

static void read_cpu(struct delivery *d, struct model_cpu *c, u64 part_ns, struct ks_usage *u)
{
	u32 ns = 0, found = 0;

	if (c->busy || d->wakes) {
		give_periods(d, c, u);
		found = c->kept[KS_LOADS] + c->kept[KS_STORES];
		ns = interrupt(d, c, u);
	}
	ks_reads_done(&c->reads, found, part_ns, WINDOW_NS);
	if (ks_reads_is_look(found))
		d->look_ns += ns;
	else
		u->drain_ns += ns;
}

/* As a round does. */
static void look_at_rings(struct delivery *d, u64 part_ns, struct ks_usage *u)
{
	/* What comes at once with any period does not depend on the period. */
	u32 batch = HW_BATCH * 1000 / (d->plant.ring * d->cpus);
	u32 full[KS_NR_KINDS] = {};
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		d->fill[kind] -= min(d->fill[kind], batch);
		u->fill_permille[kind] = max(u->fill_permille[kind], d->fill[kind]);
		if (d->fill[kind] > KS_FULL)
			full[kind] = d->fill[kind];
		d->fill[kind] = 0;
	}
	if (ks_quota_ring_full(&d->plant.quota, &d->plant.tuning, part_ns, WINDOW_NS, full))
		change_periods(d, u);
}

static void make_records(struct delivery *d, struct model_cpu *c, const u64 rate[],
			 struct ks_usage *u)
{
	u32 kept = 0;
	u64 accesses;
	int kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++) {
		accesses = c->rest[kind] + noisy(&d->plant, div_u64(rate[kind], d->parts));
		c->kept[kind] += div_u64_rem(accesses, ks_periods[kind][c->level[kind]],
					     &c->rest[kind]);
		kept += c->kept[kind];
	}
	/* All events of a CPU share its buffer. */
	if (kept >= HW_BATCH)
		interrupt(d, c, u);
	else if (d->switches)
		deliver(d, c, u);
}

static void take_records(struct delivery *d, int part, struct ks_usage *u)
{
	u32 time = div_u64(WINDOW_NS / d->parts / 2, d->plant.record_ns), taken;
	int i, kind;

	/* Each of them is the first one in turn. */
	for (i = 0; i < KS_NR_KINDS; i++) {
		kind = (part + i) % KS_NR_KINDS;
		taken = min(d->delivered[kind], time);
		time -= taken;
		d->delivered[kind] -= taken;
		u->records[kind] += taken;
		u->drain_ns += taken * d->plant.record_ns;
	}
}

static void run_part(struct delivery *d, int part, const u64 rate[], struct ks_usage *u)
{
	u64 part_ns = div_u64((u64)WINDOW_NS * part, d->parts);
	struct model_cpu *c;

	for (c = d->cpu; c < d->cpu + d->cpus; c++) {
		if (c->busy)
			make_records(d, c, rate, u);
		if (d->reads && part_ns >= c->reads.next)
			read_cpu(d, c, part_ns, u);
	}
	look_at_rings(d, part_ns, u);
	take_records(d, part, u);
}

static u64 waiting(const struct delivery *d)
{
	return d->delivered[KS_LOADS] + d->delivered[KS_STORES];
}

/**
 * run_delivery - one window of a machine with batches
 * @d: the machine
 */
void run_delivery(struct delivery *d)
{
	u64 round_ns = ROUND_NS + ROUND_CPU_NS * d->cpus, rate[KS_NR_KINDS];
	struct plant *p = &d->plant;
	struct ks_usage u = { .wall_ns = WINDOW_NS };
	struct model_cpu *c;
	u64 waited = waiting(d);
	int part, kind;

	for (kind = 0; kind < KS_NR_KINDS; kind++)
		rate[kind] = div_u64(d->accesses[kind] *
				     (100 - d->window_percent +
				      prandom_u32_state(&p->rnd) % (2 * d->window_percent + 1)),
				     100);
	for (part = 1; part <= d->parts; part++)
		run_part(d, part, rate, &u);

	u.rounds = div_u64(WINDOW_NS, p->quota.sleep_us * NSEC_PER_USEC + round_ns);
	u.look_ns = d->look_ns;
	u.run_ns = u.drain_ns + u.look_ns + u.rounds * round_ns;
	u.round_ns = u.run_ns;
	d->look_ns = 0;
	p->use_ppm = div64_u64(u.run_ns * KS_WHOLE, u.wall_ns);
	d->loads_ppm = div64_u64(u.records[KS_LOADS] * KS_WHOLE,
				 max(u.records[KS_LOADS] + u.records[KS_STORES], 1));
	for (kind = 0; kind < KS_NR_KINDS; kind++)
		d->records[kind] += u.records[kind];
	u.read = u.records[KS_LOADS] + u.records[KS_STORES];
	u.made = u.read + waiting(d) - waited;
	for (c = d->cpu; c < d->cpu + d->cpus; c++)
		ks_reads_window(&c->reads, KS_READS_LEAST, WINDOW_NS);
	if (ks_quota_window(&p->quota, &p->tuning, &u))
		change_periods(d, &u);
}

/**
 * run_deliveries - some windows, from which on changes and records are counted
 * @d:	     the machine
 * @windows: how many
 */
void run_deliveries(struct delivery *d, int windows)
{
	d->plant.changes = 0;
	d->most = 0;
	memset(d->records, 0, sizeof(d->records));
	while (windows--)
		run_delivery(d);
}

/**
 * mean_use - some windows, and what was used in them
 * @d:	     the machine
 * @windows: how many
 *
 * Return: ppm.
 */
u32 mean_use(struct delivery *d, int windows)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < windows; i++) {
		run_delivery(d);
		sum += d->plant.use_ppm;
	}
	return div_u64(sum, windows);
}

/**
 * new_delivery - a machine with batches
 * @test:  the test, which frees it
 * @quota_permille: for the loop
 * @cpus:  of the machine
 * @busy:  how many of them are not idle
 *
 * Return: the machine, for ever.
 */
struct delivery *new_delivery(struct kunit *test, u32 quota_permille, int cpus, int busy)
{
	struct delivery *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, d);
	d->plant = new_plant(quota_permille, KS_PROPORTIONAL);
	d->plant.noise_percent = 5;
	d->plant.record_ns = 450;
	d->cpus = cpus;
	d->parts = busy > 64 ? 20 : busy > 16 ? 50 : busy > 2 ? 250 : 500;
	d->reads = true;
	for (cpu = 0; cpu < cpus; cpu++) {
		ks_reads_start(&d->cpu[cpu].reads, cpu, KS_READS_LEAST, WINDOW_NS);
		d->cpu[cpu].busy = cpu * busy / cpus != (cpu + 1) * busy / cpus;
		memcpy(d->cpu[cpu].level, d->plant.quota.level, sizeof(d->plant.quota.level));
	}
	return d;
}
