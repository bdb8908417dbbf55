// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_avgs.c: R-4 for loads of all kinds, against the truth.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/math.h>
#include <linux/prandom.h>

#include "psi_avgs.h"
#include "psi_seed.h"

#define MODEL_CPUS	64
#define MODEL_TASKS	64
#define MODEL_PERIOD	2000		/* ms, as all here */

enum { IDLE, BUSY, STALLED };

struct model_task {
	int		cpu, state;
	unsigned int	until;
};

/* What runs, in steps of 1 ms. */
struct model {
	struct rnd_state rnd;
	struct model_task task[MODEL_TASKS];
	u8		cpu[MODEL_CPUS];	/* the worst that is there */
};

struct model_load {
	const char	*name;
	void		(*step)(struct model *m, const struct model_load *l, unsigned int t);
	int		cpus, tasks;
	int		busy, stalled, move;	/* percent */
	unsigned int	mean, turn, rest;	/* ms */
};

static unsigned int model_random(struct model *m, unsigned int below)
{
	return prandom_u32_state(&m->rnd) % below;
}

static bool model_chance(struct model *m, int percent)
{
	return model_random(m, 100) < percent;
}

/* From 1 to twice the mean. */
static unsigned int model_while(struct model *m, unsigned int mean)
{
	return 1 + model_random(m, 2 * mean - 1);
}

/* One task that always runs, stalled for a part of each 10 ms, and walks over CPUs. */
static void model_wander(struct model *m, const struct model_load *l, unsigned int t)
{
	struct model_task *task = &m->task[0];

	if (t >= task->until) {
		task->cpu = (task->cpu + 1 + model_random(m, l->cpus - 1)) % l->cpus;
		task->until = t + model_while(m, l->mean);
	}
	m->cpu[task->cpu] = t % 10 < l->stalled / 10 ? STALLED : BUSY;
}

/*
 * In every other turn it is stalled in one of @rest ms, so little that samples make no
 * difference; or not at all, and is not sampled, either.
 */
static void model_by_turns(struct model *m, const struct model_load *l, unsigned int t)
{
	model_wander(m, l, t);
	if (t / l->turn % 2 && (!l->rest || t % l->rest))
		m->cpu[m->task[0].cpu] = BUSY;
}

/* All CPUs are busy at the same time, one of them stalled. */
static void model_bursts(struct model *m, const struct model_load *l, unsigned int t)
{
	int c;

	for (c = 0; t % l->mean < l->mean * l->busy / 100 && c < l->cpus; c++)
		m->cpu[c] = c == t / l->mean % l->cpus ? STALLED : BUSY;
}

/* Tasks that are independent of each other. */
static void model_tasks(struct model *m, const struct model_load *l, unsigned int t)
{
	struct model_task *task;
	int i, was;

	for (i = 0; i < l->tasks; i++) {
		task = &m->task[i];
		if (t >= task->until) {
			was = task->state;
			task->state = !model_chance(m, l->busy) ? IDLE :
				      model_chance(m, l->stalled) ? STALLED : BUSY;
			task->until = t + model_while(m, l->mean);
			if (!t || (was == IDLE && task->state && model_chance(m, l->move)))
				task->cpu = model_random(m, l->cpus);
		}
		m->cpu[task->cpu] = max(m->cpu[task->cpu], task->state);
	}
}

/* Much for five seconds, then hardly anything. */
static void model_tasks_by_turns(struct model *m, const struct model_load *l, unsigned int t)
{
	struct model_load now = *l;

	if (t / 5000 % 2)
		now.busy = 3;
	model_tasks(m, &now, t);
}

static void model_hog(struct model *m, const struct model_load *l, unsigned int t)
{
	m->cpu[0] = BUSY;
	if (t % l->mean < l->mean * l->busy / 100)
		m->cpu[1] = STALLED;
}

static void model_pinned(struct model *m, const struct model_load *l, unsigned int t)
{
	int c;

	for (c = 0; c < l->cpus; c++)
		m->cpu[c] = c < l->cpus * l->stalled / 100 ? STALLED : BUSY;
}

static const struct model_load model_loads[] = {
	{ "R-4 one that wanders, 8 moves a second", model_wander, 4, .stalled = 70, .mean = 125 },
	{ "R-4 one that wanders, 200 moves a second", model_wander, 4, .stalled = 70, .mean = 5 },
	{ "R-4 one that wanders over 64 CPUs", model_wander, 64, .stalled = 70, .mean = 125 },
	{ "R-4 one that stalls by turns, and wanders", model_by_turns, 4,
	  .stalled = 70, .mean = 50, .turn = 10000, .rest = 200 },
	{ "R-4 one that stalls now and then, and wanders", model_by_turns, 4,
	  .stalled = 70, .mean = 50, .turn = 10000 },
	{ "R-4 the same, 200 moves a second, every 5 s", model_by_turns, 4,
	  .stalled = 70, .mean = 5, .turn = 2500 },
	{ "R-4 4 CPUs in bursts together", model_bursts, 4, .busy = 10, .mean = 200 },
	{ "R-4 16 tasks on 16 CPUs, 10 % busy", model_tasks, 16, 16, 10, 30, 30, 20 },
	{ "R-4 16 tasks on 16 CPUs, 25 % busy", model_tasks, 16, 16, 25, 30, 30, 20 },
	{ "R-4 16 tasks, 16 CPUs, 25 and 3 % busy", model_tasks_by_turns, 16, 16, 25, 20, 30, 20 },
	{ "R-4 a hog, and bursts on another CPU", model_hog, .busy = 5, .mean = 200 },
	{ "R-4 4 pinned, one stalled", model_pinned, 4, .stalled = 25 },
	{ "R-4 32 tasks on 64 CPUs, 90 % busy", model_tasks, 64, 32, 90, 5, 50, 20 },
	{ "R-4 8 tasks on 64 CPUs, 30 % busy", model_tasks, 64, 8, 30, 80, 100, 5 },
	{ "R-4 2 tasks on 4 CPUs, 60 % busy", model_tasks, 4, 2, 60, 50, 50, 30 },
	{ "R-4 64 tasks on 64 CPUs, 50 % busy", model_tasks, 64, 64, 50, 1, 20, 10 },
	{ "R-4 64 tasks on 64 CPUs, 90 and 3 % busy", model_tasks_by_turns, 64, 64,
	  .busy = 90, .stalled = 30, .move = 20, .mean = 20 },
};

static void model_name(const struct model_load *l, char *desc)
{
	strscpy(desc, l->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(model, model_loads, model_name);

/* @busy is set to the number of busy CPUs. Return: permille of these that are stalled. */
static int model_count(const struct model *m, int *busy)
{
	int c, stalled = 0;

	*busy = 0;
	for (c = 0; c < MODEL_CPUS; c++) {
		*busy += !!m->cpu[c];
		stalled += m->cpu[c] == STALLED;
	}
	return *busy ? stalled * 1000 / *busy : 0;
}

/* 1000 units are 1 ms. */
static u64 model_ns(unsigned int t)
{
	return (u64)t * 1000 << PSI_UNIT_SHIFT;
}

/* One fold, as psi_fold.c has it. */
static void model_fold(struct psi_fold *fold, u32 times[][PSI_NR_STATES], unsigned int t)
{
	int c;

	for (c = 0; c < MODEL_CPUS; c++)
		psi_sum_add(&fold->sum, times[c], PSI_ALL_STATES);
	psi_fold_end(fold, model_ns(t));
	memset(times, 0, MODEL_CPUS * sizeof(*times));
}

/* Within 3 points of the truth over each 10 s, from the first one on. */
static void pressure_is_the_truth(struct kunit *test)
{
	const struct model_load *l = test->param_value;
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 (*times)[PSI_NR_STATES] = kunit_kcalloc(test, MODEL_CPUS, sizeof(*times), GFP_KERNEL);
	u64 truth = 0, total, seed = new_seed(test);
	struct psi_fold fold = { };
	unsigned int t, step, sample = 20, active;
	u64 active_cpus = 0;		/* in this period */
	int c, busy, stalled;
	bool sampled = false;		/* from the first stall on, until a period without */
	bool is_sample, is_fold;

	KUNIT_ASSERT_NOT_NULL(test, m);
	KUNIT_ASSERT_NOT_NULL(test, times);
	prandom_seed_state(&m->rnd, seed);
	fold.avgs_due = U64_MAX;

	for (t = 0; t < 60000;) {
		memset(m->cpu, IDLE, sizeof(m->cpu));
		l->step(m, l, t);
		stalled = model_count(m, &busy);
		truth += stalled * 1000;	/* ns of 1 ms */
		sampled |= stalled;
		for (c = 0; c < MODEL_CPUS; c++) {
			times[c][PSI_NONIDLE] += m->cpu[c] ? 1000 : 0;
			times[c][PSI_MEM_SOME] += m->cpu[c] == STALLED ? 1000 : 0;
			active_cpus |= m->cpu[c] ? BIT_ULL(c) : 0;
		}
		t++;
		active = hweight64(active_cpus);
		is_sample = t == sample && sampled;
		is_fold = is_sample && (psi_sample_is_rare(&fold) ||
					psi_sample_is_fold(&fold, active, model_ns(t), 0));
		if (is_sample)
			psi_fold_sample(&fold, busy);
		if (is_fold || !(t % MODEL_PERIOD))
			model_fold(&fold, times, t);
		if (!(t % MODEL_PERIOD)) {
			sampled = fold.stalled;
			psi_fold_next(&fold, sampled);
			active_cpus = 0;
		}
		step = psi_sample_is_rare(&fold) ? 200 : 25;
		if (sample <= t || (t % MODEL_PERIOD == 0 && sample > t + 50))
			sample = (t / step + 1) * step + model_random(m, step);
		if (t % 10000)
			continue;

		truth /= 1000;
		total = fold.stall[PSI_MEM_SOME].total >> PSI_UNIT_SHIFT;
		kunit_info(test, "%u s: %llu.%llu %%, in truth %llu.%llu %%\n", t / 1000,
			   total / 100000, total / 10000 % 10, truth / 100000,
			   truth / 10000 % 10);
		KUNIT_EXPECT_LE(test, abs_diff(total, truth), 300000);
		fold.stall[PSI_MEM_SOME].total = 0;
		truth = 0;
	}
}

static struct kunit_case psi_loads_cases[] = {
	KUNIT_CASE_PARAM(pressure_is_the_truth, model_gen_params),
	{ }
};

static struct kunit_suite psi_loads_suite = {
	.name = "psi_loads",
	.test_cases = psi_loads_cases,
};

kunit_test_suite(psi_loads_suite);

MODULE_DESCRIPTION("Pressure stall information: loads of all kinds, against the truth");
MODULE_LICENSE("GPL");
