// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_node.c.
 *
 * The heart is a comparison with a naive model, which keeps a set of tasks and knows nothing
 * of contributors, bits or trees of counts: after each event it walks over all tasks, counts
 * for each group the tasks in each state, applies the rules of as they are
 * written, and adds up the time in 64 bits. Histories are random, on random trees; the seed
 * of a failing one is printed, and the history itself, cut down to what it needs to fail.
 */
#include <kunit/test.h>
#include <linux/poison.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "psi_avgs.h"
#include "psi_node.h"
#include "psi_seed.h"

/* ------------------------- R-3, row by row ------------------------- */

struct rule_case {
	const char	*name;
	u8		tasks[4];	/* PSI_TASK_*, 0 ends the list */
	u16		states;
};

#define RUN	PSI_TASK_RUNNABLE
#define CPU	(PSI_TASK_RUNNABLE | PSI_TASK_ONCPU)
#define IO	PSI_TASK_IOWAIT
#define MEM	PSI_TASK_MEMSTALL
#define THROTTLED	(PSI_TASK_RUNNABLE | PSI_TASK_THROTTLED)
#define S(x)	BIT(PSI_##x)

static const struct rule_case rule_cases[] = {
	{ "R-3 nobody", { }, 0 },
	{ "R-3 one task alone on the CPU: no cpu stall", { CPU }, S(NONIDLE) },
	{ "R-3 one waits while one runs: CPU_SOME", { CPU, RUN },
	  S(NONIDLE) | S(CPU_SOME) },
	{ "R-3 one waits and none runs: CPU_FULL", { RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 all wait: CPU_FULL", { RUN, RUN, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 iowait and nobody runs: IO_FULL", { IO },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) },
	{ "R-3 iowait and one runs: IO_SOME", { IO, CPU },
	  S(NONIDLE) | S(IO_SOME) },
	{ "R-3 iowait and one is runnable: IO_SOME only", { IO, RUN },
	  S(NONIDLE) | S(IO_SOME) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 asleep in memstall: MEM_FULL", { MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 asleep in memstall, one productive: MEM_SOME", { MEM, CPU },
	  S(NONIDLE) | S(MEM_SOME) },
	{ "R-3 reclaiming on the CPU alone: MEM_FULL", { CPU | MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 reclaiming on the CPU, a productive one waits: MEM_FULL",
	  { CPU | MEM, RUN },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) | S(CPU_SOME) },
	{ "R-3 a productive one on the CPU, a reclaimer waits: MEM_SOME",
	  { CPU, RUN | MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(CPU_SOME) },
	{ "R-3 reclaimers wait, none productive: MEM_FULL",
	  { RUN | MEM, MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(MEM_FULL) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-3 iowait inside memstall: both", { IO | MEM },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) | S(MEM_SOME) | S(MEM_FULL) },
	{ "R-3 all at once", { IO, MEM, CPU, RUN },
	  S(NONIDLE) | S(IO_SOME) | S(MEM_SOME) | S(CPU_SOME) },
	{ "R-19 held back by a cpu.max: a quota", { THROTTLED },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) | S(QUOTA_FULL) },
	{ "R-19 one is held back while one runs: a quota, some", { THROTTLED, CPU },
	  S(NONIDLE) | S(CPU_SOME) | S(QUOTA_SOME) },
	{ "R-19 one is held back, one contends: contention", { THROTTLED, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
	{ "R-19 one is held back, one contends, one runs", { THROTTLED, RUN, CPU },
	  S(NONIDLE) | S(CPU_SOME) },
	{ "R-19 who has the CPU is not held back yet", { CPU | PSI_TASK_THROTTLED }, S(NONIDLE) },
	{ "R-19 who sleeps is not held back", { IO | PSI_TASK_THROTTLED },
	  S(NONIDLE) | S(IO_SOME) | S(IO_FULL) },
	{ "R-19 R-3 held back, it is runnable: no IO_FULL", { THROTTLED, IO },
	  S(NONIDLE) | S(IO_SOME) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) |
	  S(QUOTA_FULL) },
	{ "R-19 R-3 held back, it is productive: no MEM_FULL", { THROTTLED, MEM },
	  S(NONIDLE) | S(MEM_SOME) | S(CPU_SOME) | S(CPU_FULL) | S(QUOTA_SOME) |
	  S(QUOTA_FULL) },
	{ "R-5 an exempt task is nobody", { CPU | MEM | PSI_TASK_EXEMPT }, 0 },
	{ "R-5 waiting for an exempt task is waiting",
	  { CPU | PSI_TASK_EXEMPT, RUN },
	  S(NONIDLE) | S(CPU_SOME) | S(CPU_FULL) },
};

static void rule_name(const struct rule_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rule, rule_cases, rule_name);

static void rules(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	for (i = 0; i < ARRAY_SIZE(c->tasks) && c->tasks[i]; i++)
		psi_node_change((struct psi_change) {
			&node, 0, psi_task_contrib(c->tasks[i]) }, 0);
	KUNIT_EXPECT_EQ(test, node.states, c->states);

	/* And all of it goes away again. */
	while (i--)
		psi_node_change((struct psi_change) {
			&node, psi_task_contrib(c->tasks[i]), 0 }, 0);
	KUNIT_EXPECT_EQ(test, node.states, 0);
	KUNIT_EXPECT_EQ(test, node.contrib, 0);
}

static struct psi_group group_without_triggers;

/* ----------------------- Random histories ----------------------- */

#define MAX_GROUPS	12
#define MAX_TASKS	8
#define EPISODE		1000	/* events; then a new tree and new tasks */
#define EPISODES	1000

enum event_kind {
	WAKE, SWITCH, MEMSTALL, REGROUP, MIGRATE, IRQ, TURN, TRIGGER, IDLE, REPLACE,
	THROTTLE, NR_KINDS
};

static const char * const kind_name[] = {
	"wake", "switch", "memstall", "regroup", "migrate", "irq", "turn on or off",
	"trigger", "idle", "replace", "throttle"
};

/*
 * One event. It depends on a, b and the current state, and can happen in any state, so
 * that events can be left out of a history.
 */
struct event {
	u8	kind;
	u8	a;
	u8	b;
	bool	skip;
	u32	gap_ns;		/* time before it */
};

struct sim_task {
	int	group;
	bool	runnable, iowait, memstall;
	bool	here;		/* counted on this CPU; else migrating */
	u8	contrib;	/* what psi_node.c was told last, */
	int	where;		/* and of which group; -1 of none */
};

struct sim {
	int		nr_groups, nr_tasks;
	int		parent[MAX_GROUPS];
	bool		off[MAX_GROUPS];
	u8		notify[MAX_GROUPS];	/* what to notify of */
	bool		throttled[MAX_GROUPS];	/* its cpu.max is used up */
	struct sim_task	task[MAX_TASKS];
	int		curr;			/* a task, or -1 */
	u64		now;			/* ns */

	struct psi_node	node[MAX_GROUPS];
	unsigned int	following;		/* nodes that follow, after each event */
	/* events of a kind, at a node that followed or was followed */
	unsigned int	met[NR_KINDS];

	/* the model */
	u64		naive[MAX_GROUPS][PSI_NR_STATES];	/* units */
	u16		naive_states[MAX_GROUPS];
	bool		naive_notify;		/* has something begun? */
	bool		naive_irq;		/* is irq time to be notified of? */
	u64		naive_since;				/* units */
};

static void sim_init(struct sim *sim, u64 seed, u64 start)
{
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, seed);
	memset(sim, 0, sizeof(*sim));
	sim->curr = -1;
	sim->now = start;
	sim->naive_since = start >> PSI_UNIT_SHIFT;
	sim->nr_groups = 1 + prandom_u32_state(&rnd) % MAX_GROUPS;
	sim->nr_tasks = 1 + prandom_u32_state(&rnd) % MAX_TASKS;

	for (i = 0; i < sim->nr_groups; i++) {
		/* Chains and bushes: mostly below one of the last two. */
		int low = prandom_u32_state(&rnd) % 4 ? max(i - 2, 0) : 0;

		sim->parent[i] = i ? low + prandom_u32_state(&rnd) % (i - low) : -1;
		psi_node_init(&sim->node[i], i ? &sim->node[sim->parent[i]] : NULL);
		/* Some trees reach down to where levels are all the same. */
		if (!i && prandom_u32_state(&rnd) % 4 == 0)
			sim->node[i].level = U8_MAX - 3;
		sim->notify[i] = BIT(PSI_NONIDLE);
		sim->node[i].group = &group_without_triggers;
	}
	for (i = 0; i < sim->nr_tasks; i++) {
		sim->task[i].group = prandom_u32_state(&rnd) % sim->nr_groups;
		sim->task[i].here = true;
	}
}

static bool is_at_or_below(const struct sim *sim, int g, int above)
{
	while (g >= 0 && g != above)
		g = sim->parent[g];
	return g >= 0;
}

/* is a cpu.max of the task's group or of one above used up? Accounted or not. */
static bool is_throttled(const struct sim *sim, const struct sim_task *t)
{
	int g;

	for (g = 0; g < sim->nr_groups; g++)
		if (sim->throttled[g] && is_at_or_below(sim, t->group, g))
			return true;
	return false;
}

/* The model: check all tasks, apply the rules, add the time. */
static void naive_update(struct sim *sim)
{
	struct { int iowait, memstall, running, reclaiming, throttled; bool oncpu, oncpu_mem; }
		n[MAX_GROUPS] = { };
	u64 now = sim->now >> PSI_UNIT_SHIFT;
	int i, g, s;

	for (g = 0; g < sim->nr_groups; g++) {
		for (s = 0; s < PSI_NR_STATES; s++)
			if (sim->naive_states[g] & BIT(s))
				sim->naive[g][s] += now - sim->naive_since;
	}
	sim->naive_since = now;
	sim->naive_notify = false;

	for (i = 0; i < sim->nr_tasks; i++) {
		struct sim_task *t = &sim->task[i];

		if (!t->here)
			continue;
		for (g = t->group; g >= 0; g = sim->parent[g]) {
			n[g].iowait += t->iowait;
			n[g].memstall += t->memstall;
			n[g].running += t->runnable;
			n[g].reclaiming += t->runnable && t->memstall;
			n[g].throttled += t->runnable && i != sim->curr && is_throttled(sim, t);
			n[g].oncpu |= i == sim->curr;
			n[g].oncpu_mem |= i == sim->curr && t->memstall;
		}
	}

	for (g = 0; g < sim->nr_groups; g++) {
		bool st[PSI_NR_STATES] = { };
		u16 mask = 0;

		st[PSI_IO_SOME] = n[g].iowait > 0;
		st[PSI_IO_FULL] = n[g].iowait > 0 && n[g].running == 0;
		st[PSI_MEM_SOME] = n[g].memstall > 0;
		st[PSI_MEM_FULL] = n[g].memstall > 0 &&
				   (n[g].running == n[g].reclaiming || n[g].oncpu_mem);
		st[PSI_CPU_SOME] = n[g].running > n[g].oncpu;
		st[PSI_CPU_FULL] = n[g].running > 0 && !n[g].oncpu;
		/* All that wait are throttled. */
		st[PSI_QUOTA_SOME] = st[PSI_CPU_SOME] &&
				     n[g].running - n[g].oncpu == n[g].throttled;
		st[PSI_QUOTA_FULL] = st[PSI_QUOTA_SOME] && st[PSI_CPU_FULL];
		st[PSI_NONIDLE] = n[g].iowait + n[g].memstall + n[g].running > 0;
		for (s = 0; s < PSI_NR_STATES; s++)
			mask |= st[s] << s;
		if (sim->off[g])
			mask = 0;
		if (mask & ~sim->naive_states[g] & sim->notify[g])
			sim->naive_notify = true;
		sim->naive_states[g] = mask;
	}
}

static u8 sim_state(const struct sim *sim, int i)
{
	const struct sim_task *t = &sim->task[i];

	return (t->runnable ? PSI_TASK_RUNNABLE : 0) |
	       (t->iowait ? PSI_TASK_IOWAIT : 0) |
	       (t->memstall ? PSI_TASK_MEMSTALL : 0) |
	       (is_throttled(sim, t) ? PSI_TASK_THROTTLED : 0) |
	       (i == sim->curr ? PSI_TASK_ONCPU : 0);
}

/* Where a group's contents count: there, or above if it is off; -1: nowhere. */
static int acct_group(const struct sim *sim, int g)
{
	while (g >= 0 && sim->off[g])
		g = sim->parent[g];
	return g;
}

static struct psi_node *node_of(struct sim *sim, int g)
{
	return g < 0 ? NULL : &sim->node[g];
}

/* Report task i to psi_node.c, as psi.c would. */
static struct psi_change sim_change(struct sim *sim, int i)
{
	struct psi_change c = { };
	struct sim_task *t;

	if (i < 0)
		return c;
	t = &sim->task[i];
	c.old = t->contrib;
	c.new = t->here ? psi_task_contrib(sim_state(sim, i)) : 0;
	t->contrib = c.new;
	if (!c.old)
		t->where = acct_group(sim, t->group);
	if (c.old != c.new)
		c.node = node_of(sim, t->where);
	return c;
}

/* The task's group, or where that counts, has changed. */
static bool sim_recount(struct sim *sim, int i, u32 now)
{
	struct sim_task *t = &sim->task[i];
	struct psi_change from = { node_of(sim, t->where), t->contrib, 0 };
	struct psi_change to = { node_of(sim, acct_group(sim, t->group)), 0, t->contrib };

	if (!t->contrib || from.node == to.node)
		return false;
	t->where = acct_group(sim, t->group);
	return psi_node_switch(from, to, now);
}

/* Switch a group off or on, and move all that counts elsewhere now. */
static bool sim_turn(struct sim *sim, int g, u32 now)
{
	bool notify = false;
	int i;

	sim->off[g] = !sim->off[g];
	for (i = 0; i < sim->nr_tasks; i++)
		notify |= sim_recount(sim, i, now);
	for (i = 1; i < sim->nr_groups; i++)
		notify |= psi_node_set_parent(&sim->node[i],
				node_of(sim, acct_group(sim, sim->parent[i])), now);
	return notify;
}

/* There are triggers of all that its nodes notify of. */
static struct psi_group group_with_triggers = { .monitors[0].watched = BIT(PSI_NR_STALLS) - 1 };

/* A trigger appears or goes. */
static void sim_trigger(struct sim *sim, int g, enum psi_state state)
{
	sim->notify[g] ^= BIT(state);
	sim->node[g].group = &group_with_triggers;
	if (sim->notify[g] & BIT(state))
		psi_node_set_notify(&sim->node[g], BIT(state));
	else
		sim->node[g].notify &= ~BIT(state);
}

/* The scheduler reports that a cpu.max is used up, or not any more. */
static void sim_throttle(struct sim *sim, int g, u32 now)
{
	int i;

	sim->throttled[g] = !sim->throttled[g];
	for (i = 0; i < sim->nr_tasks; i++)
		psi_node_change(sim_change(sim, i), now);
}

/* Nothing happens in the group: let it notify when something does. */
static void sim_idle(struct sim *sim, int g)
{
	if (sim->naive_states[g])
		return;
	sim->notify[g] |= BIT(PSI_NONIDLE);
	psi_node_set_idle(&sim->node[g]);
}

static bool is_empty(const struct sim *sim, int g)
{
	int i;

	for (i = 0; i < sim->nr_tasks; i++)
		if (sim->task[i].group == g)
			return false;
	for (i = g + 1; i < sim->nr_groups; i++)
		if (sim->parent[i] == g)
			return false;
	return true;
}

/* A group that may be removed, preferably one that is followed; or 0. */
static int pick_empty(const struct sim *sim, unsigned int from)
{
	int n, g, empty = 0;

	for (n = 0; n < sim->nr_groups; n++) {
		g = (from + n) % sim->nr_groups;
		if (!g || !is_empty(sim, g))
			continue;
		empty = g;
		if (psi_node_is_followed(&sim->node[g]))
			break;
	}
	return empty;
}

/* Remove a group, and make another one in its place. */
static void sim_replace(struct sim *sim, int g, int parent)
{
	sim->met[REPLACE] += psi_node_is_followed(&sim->node[g]);
	psi_node_detach(&sim->node[g]);
	memset(&sim->node[g], POISON_FREE, sizeof(sim->node[g]));

	sim->parent[g] = parent;
	sim->off[g] = false;
	sim->throttled[g] = false;
	sim->notify[g] = BIT(PSI_NONIDLE);
	sim->naive_states[g] = 0;
	memset(sim->naive[g], 0, sizeof(sim->naive[g]));
	psi_node_init(&sim->node[g], node_of(sim, acct_group(sim, parent)));
	sim->node[g].level = min(sim->node[parent].level + 1, U8_MAX);
	sim->node[g].group = &group_without_triggers;
}

/* What psi.c does when it is notified. */
static void sim_take_notice(struct sim *sim)
{
	int g;

	for (g = 0; g < sim->nr_groups; g++) {
		if (!(psi_node_states(&sim->node[g]) & BIT(PSI_NONIDLE)))
			continue;
		sim->node[g].notify &= ~BIT(PSI_NONIDLE);
		sim->notify[g] &= ~BIT(PSI_NONIDLE);
	}
}

static int pick_runnable(struct sim *sim, unsigned int from)
{
	int n, i;

	for (n = 0; n < sim->nr_tasks; n++) {
		i = (from + n) % sim->nr_tasks;
		if (i != sim->curr && sim->task[i].here && sim->task[i].runnable)
			return i;
	}
	return -1;
}

/* A group to which something happens. */
static int pick_group(struct sim *sim, const struct event *e)
{
	int g = e->b % sim->nr_groups;

	sim->met[e->kind] += psi_node_follows(&sim->node[g]) || psi_node_is_followed(&sim->node[g]);
	return g;
}

/* Interrupts take time from the task on the CPU. Return: has psi_node.c notified of that? */
static bool sim_irq(struct sim *sim, u32 units)
{
	int g = acct_group(sim, sim->task[sim->curr].group);
	bool notified = psi_node_irq(node_of(sim, g), units);

	for (; g >= 0; g = sim->parent[g]) {
		if (sim->off[g])
			continue;
		sim->naive[g][PSI_IRQ_FULL] += units;
		sim->naive_irq |= sim->notify[g] & BIT(PSI_IRQ_FULL);
	}
	return notified;
}

/* Return: has psi_node.c notified that something begins? */
static bool sim_event(struct sim *sim, const struct event *e)
{
	int i = e->a % sim->nr_tasks, prev;
	struct sim_task *t = &sim->task[i];
	struct psi_change from;
	bool notify;
	u32 now;

	sim->now += e->gap_ns;
	now = psi_units(sim->now);

	switch (e->kind) {
	case WAKE:
		if (t->runnable || !t->here)
			return false;
		t->runnable = true;
		t->iowait = false;
		break;
	case SWITCH:
		prev = sim->curr;
		sim->curr = e->b % 5 ? pick_runnable(sim, e->a) : -1;
		if (sim->curr == prev)
			return false;
		if (prev >= 0 && e->b & 0x80) {
			sim->task[prev].runnable = false;
			sim->task[prev].iowait = e->b & 0x40;
		}
		from = sim_change(sim, prev);
		return psi_node_switch(from, sim_change(sim, sim->curr), now);
	case MEMSTALL:
		i = sim->curr;
		if (i < 0)
			return false;
		sim->task[i].memstall = !sim->task[i].memstall;
		break;
	case REGROUP:
		t->group = e->b % sim->nr_groups;
		notify = sim_recount(sim, i, now);
		/* Another cpu.max may throttle it there. */
		return notify | psi_node_change(sim_change(sim, i), now);
	case MIGRATE:
		if (i == sim->curr)
			return false;
		t->here = !t->here;
		break;
	case IRQ:
		return sim->curr >= 0 && sim_irq(sim, e->b);
	case TURN:
		return sim_turn(sim, pick_group(sim, e), now);
	case TRIGGER:
		sim_trigger(sim, pick_group(sim, e), e->a % PSI_NR_STALLS);
		return false;
	case IDLE:
		sim_idle(sim, pick_group(sim, e));
		return false;
	case REPLACE:
		i = pick_empty(sim, e->b);
		if (i)
			sim_replace(sim, i, e->a % i);
		return false;
	case THROTTLE:
		sim_throttle(sim, pick_group(sim, e), now);
		return false;
	}
	return psi_node_change(sim_change(sim, i), now);
}

/* Return: is every node what the model says, in states and in time? */
static bool sim_agrees(struct sim *sim)
{
	u32 times[PSI_NR_STATES];
	int g, s;

	for (g = 0; g < sim->nr_groups; g++) {
		if (psi_node_states(&sim->node[g]) != sim->naive_states[g])
			return false;
		psi_node_times(&sim->node[g], psi_units(sim->now), times);
		for (s = 0; s < PSI_NR_STATES; s++)
			if (times[s] != (u32)sim->naive[g][s])
				return false;
	}
	return true;
}

/*
 * Each state that is in psi_node::notify and begins has to be notified of. A state that is
 * notified of has begun; but a node may notify that it is not idle, or stalled, on behalf of
 * one that follows it or did, and too far down a state may begin and end in one step.
 */
static bool sim_notified_right(struct sim *sim, const u16 before[], bool notified)
{
	int g;

	if (!notified || sim->naive_notify || sim->node[0].level)
		return notified >= sim->naive_notify;
	for (g = 0; g < sim->nr_groups; g++)
		if ((sim->naive_states[g] && !before[g]) ||
		    sim->naive_states[g] & ~before[g] & PSI_SOME_STATES)
			return true;
	return false;
}

/* Return: number of events until model and nodes differ; 0 if they never do. */
static int replay(struct sim *sim, const struct event *events, int nr,
		  u64 seed, u64 start)
{
	u16 before[MAX_GROUPS];
	bool notified;
	int i, g;

	sim_init(sim, seed, start);
	for (i = 0; i < nr; i++) {
		if (events[i].skip)
			continue;
		sim->naive_irq = false;
		notified = sim_event(sim, &events[i]);
		if (events[i].kind == IRQ) {
			if (notified != sim->naive_irq)
				return i + 1;
			notified = false;
		}
		memcpy(before, sim->naive_states, sizeof(before));
		naive_update(sim);
		if (!sim_agrees(sim))
			return i + 1;
		/* In the middle of a turn, states may come and go. */
		if (!sim_notified_right(sim, before, notified) &&
		    (events[i].kind != TURN || !notified))
			return i + 1;
		if (notified)
			sim_take_notice(sim);
		for (g = 0; g < sim->nr_groups; g++)
			sim->following += psi_node_follows(&sim->node[g]);
	}
	return 0;
}

/* Leave out all events that the history does not need to fail. */
static int shrink(struct sim *sim, struct event *events, int nr, u64 seed, u64 start)
{
	int chunk, i, j, end;

	for (chunk = nr / 2; chunk; chunk /= 2) {
		for (i = 0; i < nr; i += chunk) {
			end = min(i + chunk, nr);
			for (j = i; j < end; j++)
				events[j].skip = true;
			j = replay(sim, events, nr, seed, start);
			if (j) {
				nr = j;
				continue;
			}
			for (j = i; j < end; j++)
				events[j].skip = false;
		}
	}
	return replay(sim, events, nr, seed, start);
}

static void print_history(struct kunit *test, struct sim *sim,
			  const struct event *events, int nr)
{
	int i, left = 0;

	for (i = 0; i < nr; i++)
		left += !events[i].skip;
	kunit_err(test, "%d groups, %d tasks, %d events:\n", sim->nr_groups,
		  sim->nr_tasks, left);
	for (i = 0; i < sim->nr_groups; i++)
		kunit_err(test, "group %d below %d: states %02x, model %02x\n", i,
			  sim->parent[i], psi_node_states(&sim->node[i]), sim->naive_states[i]);
	for (i = 0; i < nr; i++)
		if (!events[i].skip)
			kunit_err(test, "+%u ns %s a=%u b=%02x\n", events[i].gap_ns,
				  kind_name[events[i].kind], events[i].a, events[i].b);
}

static u32 random_gap(struct rnd_state *rnd)
{
	static const u32 gap[] = { 0, 1, 1000, 1024, 4000000 };

	return gap[prandom_u32_state(rnd) % ARRAY_SIZE(gap)] +
	       prandom_u32_state(rnd) % 3000;
}

/* Random events; as in life, most are about one task for a while. */
static void random_events(struct rnd_state *rnd, struct event *events, int nr)
{
	u8 one = 0;
	int i;

	for (i = 0; i < nr; i++) {
		struct event *e = &events[i];

		e->kind = prandom_u32_state(rnd) % 32;
		e->a = prandom_u32_state(rnd);
		e->b = prandom_u32_state(rnd);
		e->skip = false;
		e->gap_ns = random_gap(rnd);

		/* Wakeups and switches are the most frequent. */
		if (e->kind >= NR_KINDS)
			e->kind = e->kind % 2 ? WAKE : SWITCH;
		if (i % 64 == 0)
			one = prandom_u32_state(rnd);
		if (prandom_u32_state(rnd) % 8)
			e->a = one;
	}
}

static const struct start_case { const char *name; u64 start; } start_cases[] = {
	{ "R-3, R-19 tree against model, clock near 0", 0 },
	{ "R-3, R-19 tree against model, clock near 2^32 ns", BIT_ULL(32) - NSEC_PER_SEC / 2 },
	{ "R-3, R-19 tree against model, clock near 2^32 units",
	  BIT_ULL(32 + PSI_UNIT_SHIFT) - NSEC_PER_SEC / 2 },
	{ "R-3, R-19 tree against model, clock near 2^63 ns", BIT_ULL(63) - NSEC_PER_SEC / 2 },
};

static void start_name(const struct start_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(start, start_cases, start_name);

/* How often events have met a node that follows or is followed, in all histories so far. */
static unsigned int met_at_all[NR_KINDS];

static void random_histories(struct kunit *test)
{
	const struct start_case *c = test->param_value;
	int episodes = EPISODES / ARRAY_SIZE(start_cases);
	struct event *events;
	struct rnd_state rnd;
	struct sim *sim;
	unsigned int following = 0, met[NR_KINDS] = { };
	u64 seed, first;
	int n, failed, kind;

	sim = kunit_kzalloc(test, sizeof(*sim), GFP_KERNEL);
	events = kunit_kcalloc(test, EPISODE, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sim);
	KUNIT_ASSERT_NOT_NULL(test, events);

	first = new_seed(test);
	kunit_info(test, "%d events\n", episodes * EPISODE);

	for (n = 0; n < episodes; n++) {
		seed = first + n;
		prandom_seed_state(&rnd, ~seed);
		random_events(&rnd, events, EPISODE);
		failed = replay(sim, events, EPISODE, seed, c->start);
		if (!failed) {
			following += sim->following;
			for (kind = 0; kind < NR_KINDS; kind++)
				met[kind] += sim->met[kind];
			continue;
		}

		failed = shrink(sim, events, failed, seed, c->start);
		print_history(test, sim, events, failed);
		KUNIT_FAIL(test, "node and model differ, seed %llu", seed);
		return;
	}

	kunit_info(test, "%u nodes were following\n", following);
	KUNIT_EXPECT_GT(test, following, EPISODE);
	for (kind = TURN; kind < NR_KINDS; kind++)
		met_at_all[kind] += met[kind];
}

/* By chance, a quarter of the histories may never replace a group while it is followed. */
static void histories_meet_everything(struct kunit *test)
{
	int kind;

	if (!met_at_all[TURN])
		kunit_skip(test, "needs random_histories");
	for (kind = TURN; kind < NR_KINDS; kind++) {
		kunit_info(test, "%s: %u times there\n", kind_name[kind], met_at_all[kind]);
		KUNIT_EXPECT_GT(test, met_at_all[kind], 0);
	}
}

/* ----------------------------- Time ----------------------------- */

/*
 * Units cut off up to 1023 ns of every interval, and give it to its neighbour: the time
 * of a state is off by less than one unit in all, however often it was interrupted.
 */
static void units_have_no_bias(struct kunit *test)
{
	struct psi_change run = { .old = 0, .new = PSI_ONCPU | PSI_PRODUCTIVE };
	struct psi_change stop = { .old = run.new, .new = 0 };
	u64 now = 12345, busy = 0;
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	run.node = &node;
	stop.node = &node;

	for (i = 0; i < 100000; i++) {
		psi_node_change(run, psi_units(now));
		now += 700 + i % 13;		/* always less than a unit */
		busy += 700 + i % 13;
		psi_node_change(stop, psi_units(now));
		now += 11 * 1024 + i % 1024;
	}

	/* Random phase: the error is a random walk of sqrt(n) halves. */
	busy /= 1024;
	KUNIT_EXPECT_GE(test, (u64)node.times[PSI_NONIDLE], busy - 1000);
	KUNIT_EXPECT_LE(test, (u64)node.times[PSI_NONIDLE], busy + 1000);
}

static void adjoining_intervals_are_exact(struct kunit *test)
{
	struct psi_change a = { .old = 0, .new = PSI_IOWAIT };
	struct psi_change b = { .old = 0, .new = PSI_WAITING | PSI_PRODUCTIVE };
	u64 start = BIT_ULL(42) - 7777, now = start;
	u32 times[PSI_NR_STATES];
	struct psi_node node;
	int i;

	psi_node_init(&node, NULL);
	a.node = &node;
	b.node = &node;
	psi_node_change(a, psi_units(now));

	/* IO_SOME lasts, IO_FULL comes and goes */
	for (i = 0; i < 100001; i++) {
		now += 100 + i % 1500;
		psi_node_change(b, psi_units(now));
		swap(b.old, b.new);
	}
	psi_node_times(&node, psi_units(now), times);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_SOME],
			(u32)((now >> 10) - (start >> 10)));
	KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], times[PSI_IO_SOME]);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_FULL] + times[PSI_CPU_FULL],
			times[PSI_IO_SOME]);
}

static void same_states_are_not_touched(struct kunit *test)
{
	struct psi_node node;
	struct psi_change c = { .node = &node, .new = psi_task_contrib(RUN) };
	u32 times[PSI_NR_STATES];

	psi_node_init(&node, NULL);
	psi_node_change(c, 100);
	memcpy(times, node.times, sizeof(times));
	psi_node_change(c, 200);
	psi_node_change(c, 300);
	KUNIT_EXPECT_MEMEQ(test, times, node.times, sizeof(times));
	KUNIT_EXPECT_EQ(test, psi_node_count(&node, PSI_COUNT_WAITING), 3);
}

/* what cancels out in a switch is not seen where the two paths meet. */
static void a_switch_cancels_out_above(struct kunit *test)
{
	static struct psi_node root, deep[3], flat;
	struct psi_change prev, next;
	int i;

	psi_node_init(&root, NULL);
	psi_node_init(&flat, &root);
	for (i = 0; i < 3; i++)
		psi_node_init(&deep[i], i ? &deep[i - 1] : &root);

	prev = (struct psi_change) { &deep[2], psi_task_contrib(CPU), psi_task_contrib(RUN) };
	next = (struct psi_change) { &flat, psi_task_contrib(RUN), psi_task_contrib(CPU) };
	psi_node_change((struct psi_change) { prev.node, 0, prev.old }, 100);
	psi_node_change((struct psi_change) { next.node, 0, next.old }, 100);

	for (i = 0; i < 10; i++) {
		struct psi_node before = root;

		psi_node_switch(prev, next, 200 + i);
		KUNIT_EXPECT_MEMEQ(test, &root, &before, sizeof(root));
		KUNIT_EXPECT_EQ(test, root.states, S(NONIDLE) | S(CPU_SOME));
		KUNIT_EXPECT_EQ(test, psi_node_states(&deep[0]) & S(CPU_SOME),
				i % 2 ? 0 : S(CPU_SOME));

		/* and back */
		swap(prev, next);
		swap(prev.old, prev.new);
		swap(next.old, next.new);
	}
}

/* a task that waits moves to where another one runs; above, nothing changes. */
static void moves_leave_the_running_task_alone(struct kunit *test)
{
	struct psi_node root, from, to;

	psi_node_init(&root, NULL);
	psi_node_init(&from, &root);
	psi_node_init(&to, &root);
	psi_node_change((struct psi_change) { &to, 0, psi_task_contrib(CPU) }, 100);
	psi_node_change((struct psi_change) { &from, 0, psi_task_contrib(RUN) }, 100);

	psi_node_switch((struct psi_change) { &from, psi_task_contrib(RUN), 0 },
			(struct psi_change) { &to, 0, psi_task_contrib(RUN) }, 200);
	KUNIT_EXPECT_EQ(test, psi_node_states(&root), S(NONIDLE) | S(CPU_SOME));
	KUNIT_EXPECT_EQ(test, psi_node_states(&to), S(NONIDLE) | S(CPU_SOME));
	KUNIT_EXPECT_EQ(test, psi_node_states(&from), 0);
}

/* -------------------------- Following -------------------------- */

#define DEEP	16
#define ENOUGH	40	/* turns until all nodes follow that may */

/* Two chains of nodes below a root, or one twice. */
struct forks {
	struct psi_node root, chain[2][DEEP];
	struct psi_node *leaf[2];
	u32 now;
};

static struct forks *plant(struct kunit *test, bool one)
{
	struct forks *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, f);
	psi_node_init(&f->root, NULL);
	for (i = 0; i < 2; i++)
		for (j = 0; j < DEEP; j++)
			psi_node_init(&f->chain[i][j],
				      j ? &f->chain[i][j - 1] : &f->root);
	f->leaf[0] = &f->chain[0][DEEP - 1];
	f->leaf[1] = &f->chain[!one][DEEP - 1];

	/* the first one runs */
	psi_node_change((struct psi_change) { f->leaf[0], 0, psi_task_contrib(CPU) }, 0);
	return f;
}

/* Two tasks take turns to wake each other up, 10 units waiting and 10 without. */
static void take_turns(struct forks *f, int turns)
{
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	int i, a = 0;

	for (i = 0; i < 2 * turns; i++, a = !a) {
		psi_node_change((struct psi_change) { f->leaf[!a], 0, run }, f->now += 10);
		psi_node_switch((struct psi_change) { f->leaf[a], cpu, 0 },
				(struct psi_change) { f->leaf[!a], run, cpu }, f->now += 10);
	}
}

static int count_following(const struct forks *f, int i)
{
	int j, nr = 0;

	for (j = 0; j < DEEP; j++)
		nr += psi_node_follows(&f->chain[i][j]);
	return nr;
}

static void expect_time(struct kunit *test, struct forks *f, struct psi_node *node,
			enum psi_state state, u32 time)
{
	u32 times[PSI_NR_STATES];

	psi_node_times(node, f->now, times);
	KUNIT_EXPECT_EQ(test, times[state], time);
}

/* Two tasks in one group: only that is visited, at any depth. */
static void one_busy_group_is_followed(struct kunit *test)
{
	struct forks *f = plant(test, true);
	struct psi_node above;

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	KUNIT_EXPECT_NULL(test, f->leaf[0]->acct_parent);

	above = f->chain[0][DEEP - 2];
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_MEMEQ(test, &above, &f->chain[0][DEEP - 2], sizeof(above));

	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	expect_time(test, f, &f->chain[0][7], PSI_CPU_SOME, f->now / 2);
}

/* In two groups: these, and the one where they part. */
static void two_busy_groups_meet_once(struct kunit *test)
{
	struct forks *f = plant(test, false);

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_EQ(test, count_following(f, 1), DEEP - 1);
	KUNIT_EXPECT_FALSE(test, psi_node_follows(&f->root));
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[0]->acct_parent, &f->root);
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[1]->acct_parent, &f->root);

	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	expect_time(test, f, &f->chain[1][7], PSI_CPU_SOME, f->now / 4);
}

/* the first stall after idleness is notified of, and no other; nodes above follow. */
static void a_first_stall_is_told(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0], *middle = &f->chain[0][7];
	u8 run = psi_task_contrib(RUN);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, group);
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	for (i = 0; i < DEEP; i++)
		f->chain[0][i].group = group;
	leaf->group = group;
	leaf->notify = 0;
	middle->notify = 0;

	psi_node_set_idle(middle);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_EQ(test, leaf->notify, BIT(PSI_NONIDLE) | PSI_SOME_STATES);
	leaf->notify &= ~BIT(PSI_NONIDLE);
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);
	leaf->notify &= psi_trigger_watched(group);
	KUNIT_EXPECT_FALSE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	KUNIT_EXPECT_FALSE(test, psi_node_set_unstalled(middle));
	leaf->notify = 0;
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);

	/* A period without one, though never idle. */
	KUNIT_EXPECT_TRUE(test, psi_node_set_unstalled(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) { leaf, 0, run }, f->now));
	psi_node_change((struct psi_change) { leaf, run, 0 }, f->now);
}

/* a group with a trigger counts, until it has none. */
static void a_trigger_ends_following(struct kunit *test)
{
	struct psi_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct forks *f = plant(test, true);
	struct psi_node *middle = &f->chain[0][7];

	KUNIT_ASSERT_NOT_NULL(test, group);
	group->monitors[1].watched = BIT(PSI_CPU_SOME);
	middle->group = group;

	take_turns(f, ENOUGH);
	psi_node_set_notify(middle, BIT(PSI_CPU_SOME));
	KUNIT_EXPECT_FALSE(test, psi_node_follows(middle));
	KUNIT_EXPECT_PTR_EQ(test, f->leaf[0]->acct_parent, middle);
	KUNIT_EXPECT_TRUE(test, psi_node_change((struct psi_change) {
		f->leaf[0], 0, psi_task_contrib(RUN) }, f->now));
	psi_node_change((struct psi_change) { f->leaf[0], psi_task_contrib(RUN), 0 }, f->now);

	take_turns(f, ENOUGH);
	KUNIT_EXPECT_FALSE(test, psi_node_follows(middle));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	expect_time(test, f, middle, PSI_CPU_SOME, f->now / 2);

	group->monitors[1].watched = 0;
	take_turns(f, ENOUGH);
	KUNIT_EXPECT_EQ(test, middle->notify, BIT(PSI_NONIDLE));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(middle));
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	expect_time(test, f, middle, PSI_CPU_SOME, f->now / 2);
}

/* what a removed group did stays with the groups above. */
static void a_followed_group_can_go(struct kunit *test)
{
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0], *above = leaf->parent;
	const u8 cpu = psi_task_contrib(CPU);

	take_turns(f, ENOUGH);
	psi_node_change((struct psi_change) { leaf, cpu, 0 }, f->now);
	KUNIT_EXPECT_TRUE(test, psi_node_is_followed(leaf));

	psi_node_detach(leaf);
	KUNIT_EXPECT_FALSE(test, psi_node_is_followed(leaf));
	KUNIT_EXPECT_FALSE(test, psi_node_follows(above));
	KUNIT_EXPECT_TRUE(test, psi_node_follows(above->parent));
	memset(leaf, POISON_FREE, sizeof(*leaf));

	psi_node_change((struct psi_change) { above, 0, cpu }, f->now);
	expect_time(test, f, &f->root, PSI_NONIDLE, f->now);
	expect_time(test, f, &f->root, PSI_CPU_SOME, f->now / 2);
	KUNIT_EXPECT_EQ(test, psi_node_states(&f->root), S(NONIDLE));
}

/*
 * Two changes at once, the second of which makes a node count again that the first one
 * has bypassed. The top may be about to follow, at any of these times.
 */
static void following_ends_on_the_way(struct kunit *test)
{
	const u8 run = psi_task_contrib(CPU), wait = psi_task_contrib(RUN);
	static struct psi_node top, middle, aside, leaf[2];
	int turns, i;
	u8 now, then;

	for (turns = 0; turns < 40; turns++) {
		psi_node_init(&top, NULL);
		psi_node_init(&aside, &top);
		psi_node_init(&middle, &top);
		psi_node_init(&leaf[0], &middle);
		psi_node_init(&leaf[1], &middle);

		/* Both follow, and then the top not any more. */
		for (i = 0; i < ENOUGH; i++)
			psi_node_change((struct psi_change) {
				&leaf[0], i % 2 ? run : 0, i % 2 ? 0 : run }, 1);
		psi_node_change((struct psi_change) { &aside, 0, wait }, 2);
		psi_node_change((struct psi_change) { &aside, wait, 0 }, 2);

		now = turns % 2 ? run : wait;
		psi_node_change((struct psi_change) { &leaf[0], 0, now }, 3);
		for (i = 0; i < turns / 2; i++, now = then) {
			then = now == run ? wait : run;
			psi_node_change((struct psi_change) { &leaf[0], now, then }, 3);
		}

		then = now == run ? wait : run;
		psi_node_switch((struct psi_change) { &leaf[0], now, then },
				(struct psi_change) { &leaf[1], 0, wait }, 4);
		psi_node_change((struct psi_change) { &leaf[0], then, 0 }, 5);
		psi_node_change((struct psi_change) { &leaf[1], wait, 0 }, 6);
		KUNIT_EXPECT_EQ(test, psi_node_states(&middle), 0);
		KUNIT_EXPECT_EQ(test, psi_node_states(&top), 0);
	}
}

/* however deep a tree is, walks along a chain are short. */
static void chains_are_short(struct kunit *test)
{
	const int deep = 400;
	const u8 run = psi_task_contrib(CPU);
	int i, length, following = 0, longest = 0;
	struct psi_node *node, *n;
	u32 times[PSI_NR_STATES];

	node = kunit_kcalloc(test, deep, sizeof(*node), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, node);
	for (i = 0; i < deep; i++)
		psi_node_init(&node[i], i ? &node[i - 1] : NULL);

	/* From the end of the chain, later from a place higher up, and from the end again. */
	for (i = 0; i < 3000; i++) {
		n = &node[i < 1000 || i >= 2000 ? deep - 1 : deep / 2];
		psi_node_change((struct psi_change) { n, 0, run }, 20 * i);
		psi_node_change((struct psi_change) { n, run, 0 }, 20 * i + 10);
	}

	for (i = 0; i < deep; i++) {
		for (n = &node[i], length = 0; psi_node_follows(n); n = psi_node_followed(n))
			length++;
		longest = max(longest, length);
		following += length > 0;
		psi_node_times(&node[i], 20 * 3000, times);
		KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], i <= deep / 2 ? 30000 : 20000);
	}
	KUNIT_EXPECT_LE(test, longest, 64);
	KUNIT_EXPECT_GT(test, following, deep * 9 / 10);
}

/* Two nodes that take turns are not followed: that would be more work. */
static void alternating_groups_are_not_followed(struct kunit *test)
{
	const u8 run = psi_task_contrib(CPU);
	struct forks *f = plant(test, false);
	int i;

	psi_node_change((struct psi_change) { f->leaf[0], run, 0 }, 1);
	for (i = 0; i < ENOUGH; i++) {
		psi_node_change((struct psi_change) { f->leaf[i % 2], 0, run }, 2 * i);
		psi_node_change((struct psi_change) { f->leaf[i % 2], run, 0 }, 2 * i + 1);
		KUNIT_EXPECT_FALSE(test, psi_node_follows(&f->root));
	}
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_EQ(test, count_following(f, 1), DEEP - 1);
}

/* ------------------------ Time, once more ------------------------ */

static void long_states_last_68_minutes(struct kunit *test)
{
	u64 start = 5ULL * NSEC_PER_SEC, minutes68 = 68ULL * 60 * NSEC_PER_SEC;
	u32 times[PSI_NR_STATES];
	struct psi_node node;

	psi_node_init(&node, NULL);
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT },
			psi_units(start));
	psi_node_times(&node, psi_units(start + minutes68), times);
	KUNIT_EXPECT_EQ(test, (u64)psi_elapsed(0, times[PSI_IO_FULL]),
			(start + minutes68) / 1024 - start / 1024);
}

static void clocks_may_disagree(struct kunit *test)
{
	u32 times[PSI_NR_STATES];
	struct psi_node node;

	psi_node_init(&node, NULL);
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);

	/* A reader, then a writer, whose clocks are behind: nothing to fold yet. */
	psi_node_times(&node, 998, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 0);
	psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 }, 999);
	psi_node_times(&node, 1000, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 0);

	/* The error does not grow. */
	psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);
	psi_node_times(&node, 2000, times);
	KUNIT_EXPECT_EQ(test, psi_elapsed(0, times[PSI_IO_SOME]), 999);
}

/* What a node did before it went idle does not matter, however long ago. */
static void idle_nodes_keep_no_time(struct kunit *test)
{
	static const u32 later[] = { 1, BIT(31), -(u32)PSI_CLOCK_SKEW, -5 };
	struct psi_node node;
	int i;

	for (i = 0; i < ARRAY_SIZE(later); i++) {
		psi_node_init(&node, NULL);
		psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT }, 1000);
		psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 }, 1010);
		psi_node_change((struct psi_change) { &node, 0, PSI_IOWAIT },
				1010 + later[i]);
		psi_node_change((struct psi_change) { &node, PSI_IOWAIT, 0 },
				1010 + later[i] + 7);
		KUNIT_EXPECT_EQ(test, node.times[PSI_IO_SOME], 17);
	}
}

static void a_wrong_count_mends(struct kunit *test)
{
	static const u8 flags[] = { RUN, THROTTLED, IO, MEM };
	struct psi_change c;
	struct psi_node node;
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		/* Taken away though it never came. */
		psi_node_init(&node, NULL);
		c = (struct psi_change) { &node, psi_task_contrib(flags[i]), 0 };
		psi_node_change(c, 10);
		KUNIT_EXPECT_EQ(test, node.states, 0);
		for (bit = 0; bit < PSI_NR_COUNTS; bit++)
			KUNIT_EXPECT_TRUE(test, !psi_node_count(&node, bit) || c.old & BIT(bit));
		swap(c.old, c.new);
		psi_node_change(c, 20);
		KUNIT_EXPECT_EQ(test, node.states, psi_states(c.new));
		for (bit = 0; bit < PSI_NR_COUNTS; bit++)
			KUNIT_EXPECT_EQ(test, psi_node_count(&node, bit), !!(c.new & BIT(bit)));
		swap(c.old, c.new);
		psi_node_change(c, 30);
		KUNIT_EXPECT_EQ(test, node.states, 0);

		/* Only this node has it noted. */
		KUNIT_EXPECT_TRUE(test, node.flags & PSI_NODE_MISCOUNTED);
	}
}

/* As many as there is room for, and none is taken for one of another kind. */
static void rare_counts_do_not_touch_each_other(struct kunit *test)
{
	static const u8 bits[] = { PSI_IOWAIT, PSI_MEMSTALL, PSI_THROTTLED };
	struct psi_node node;
	int i, n;

	psi_node_init(&node, NULL);
	for (n = 0; n < PSI_RARE_MAX - 1; n++)
		for (i = 0; i < ARRAY_SIZE(bits); i++)
			psi_node_change((struct psi_change) { &node, 0, bits[i] }, 0);
	for (i = 0; i < PSI_NR_RARE; i++)
		KUNIT_EXPECT_EQ(test, psi_node_count(&node, i), PSI_RARE_MAX - 1);

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		for (n = 0; n < PSI_RARE_MAX - 1; n++)
			psi_node_change((struct psi_change) { &node, bits[i], 0 }, 0);
		KUNIT_EXPECT_FALSE(test, node.contrib & bits[i]);
	}
	KUNIT_EXPECT_EQ(test, node.contrib, 0);
	KUNIT_EXPECT_EQ(test, node.rare, 0);
	KUNIT_EXPECT_FALSE(test, node.flags);
}

/* Times of a node that grow by so much. */
static void add_growth(u32 times[], u32 io_some, u32 io_full, u32 irq, u32 nonidle)
{
	times[PSI_IO_SOME] += io_some;
	times[PSI_IO_FULL] += io_full;
	times[PSI_IRQ_FULL] += irq;
	times[PSI_NONIDLE] += nonidle;
}

/* As the fold does. */
static bool take_growth(u32 folded[], u32 times[])
{
	u32 grown = psi_growth(folded, times, PSI_ALL_STATES), left;

	for (left = grown; left; left &= left - 1)
		folded[__ffs(left)] += times[__ffs(left)];
	return grown;
}

static void expect_growth(struct kunit *test, u32 folded[], const u32 now[], u32 io_some,
			  u32 io_full, u32 irq, u32 nonidle)
{
	u32 times[PSI_NR_STATES];

	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_EQ(test, take_growth(folded, times), nonidle > 0);
	if (!nonidle)
		return;
	KUNIT_EXPECT_EQ(test, times[PSI_IO_SOME], io_some);
	KUNIT_EXPECT_EQ(test, times[PSI_IO_FULL], io_full);
	KUNIT_EXPECT_EQ(test, times[PSI_IRQ_FULL], irq);
	KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], nonidle);
}

/* what has no weight yet is not lost, but left for the next fold. */
static void growth_without_weight_stays(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, now[PSI_NR_STATES] = { };

	add_growth(now, 0, 0, 5, 0);
	expect_growth(test, folded, now, 0, 0, 0, 0);
	add_growth(now, 0, 0, 2, 10);
	expect_growth(test, folded, now, 0, 0, 7, 10);
	expect_growth(test, folded, now, 0, 0, 0, 0);
}

/* no stall is longer than the time not idle, nor "full" than "some". */
static void growth_is_no_longer_than_what_it_is_part_of(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, now[PSI_NR_STATES] = { };

	/* A reader's clock was a little ahead of the one by which a state then began. */
	add_growth(now, 7, 12, 0, 10);
	expect_growth(test, folded, now, 7, 7, 0, 10);
	add_growth(now, 25, 1, 30, 20);
	expect_growth(test, folded, now, 20, 6, 20, 20);
	add_growth(now, 0, 0, 0, 100);
	expect_growth(test, folded, now, 5, 0, 10, 100);

	/* Times go back a little; that must not look like 73 minutes. */
	add_growth(now, -3, 0, 0, 4);
	expect_growth(test, folded, now, 0, 0, 0, 4);
}

/* quotas are no longer than the stall that they are a part of; the rest stays. */
static void quota_growth_is_no_longer_than_the_stall(struct kunit *test)
{
	u32 folded[PSI_NR_STATES] = { }, times[PSI_NR_STATES];
	u32 now[PSI_NR_STATES] = {
		[PSI_CPU_SOME] = 10, [PSI_CPU_FULL] = 4, [PSI_NONIDLE] = 20,
		[PSI_QUOTA_SOME] = 13, [PSI_QUOTA_FULL] = 5,
	};

	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_TRUE(test, take_growth(folded, times));
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 10);
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 4);

	now[PSI_CPU_SOME] += 5;
	now[PSI_CPU_FULL] += 5;
	now[PSI_NONIDLE] += 5;
	memcpy(times, now, sizeof(times));
	KUNIT_EXPECT_TRUE(test, take_growth(folded, times));
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 3);
	KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 1);
}

/* groups whose cpu.max is used up follow, and are followed, like all others. */
static void groups_that_are_held_back_are_followed(struct kunit *test)
{
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	const u8 throttled = psi_task_contrib(THROTTLED);
	struct forks *f = plant(test, true);
	struct psi_node *leaf = f->leaf[0];
	u32 times[PSI_NR_STATES];
	int i;

	/* 10 units on the CPU, 5 throttled, 5 in contention. */
	for (i = 0; i < ENOUGH; i++) {
		psi_node_change((struct psi_change) { leaf, cpu, throttled }, f->now += 10);
		psi_node_change((struct psi_change) { leaf, throttled, run }, f->now += 5);
		psi_node_change((struct psi_change) { leaf, run, cpu }, f->now += 5);
	}
	KUNIT_EXPECT_EQ(test, count_following(f, 0), DEEP - 1);
	KUNIT_EXPECT_TRUE(test, psi_node_follows(&f->root));
	for (i = 0; i < DEEP; i++) {
		psi_node_times(&f->chain[0][i], f->now, times);
		KUNIT_EXPECT_EQ(test, times[PSI_NONIDLE], 20 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_FULL], 10 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_SOME], 5 * ENOUGH);
		KUNIT_EXPECT_EQ(test, times[PSI_QUOTA_FULL], 5 * ENOUGH);
	}
}

/* Further down than a node can tell its level. */
static void very_deep_trees_count_right(struct kunit *test)
{
	const int deep = 300, fork = 280;
	const u8 run = psi_task_contrib(RUN), cpu = psi_task_contrib(CPU);
	u32 times[PSI_NR_STATES], waits;
	struct psi_node *node, *leaf[2];
	int i;

	/* A chain, and a second leaf that branches off where levels are the same. */
	node = kunit_kcalloc(test, deep + 1, sizeof(*node), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, node);
	for (i = 0; i < deep; i++)
		psi_node_init(&node[i], i ? &node[i - 1] : NULL);
	psi_node_init(&node[deep], &node[fork]);
	leaf[0] = &node[deep - 1];
	leaf[1] = &node[deep];

	/* Two tasks take turns, 100 units each; the first begins. */
	psi_node_change((struct psi_change) { leaf[0], 0, cpu }, 100);
	psi_node_change((struct psi_change) { leaf[1], 0, run }, 100);
	for (i = 0; i < 99; i++)
		psi_node_switch((struct psi_change) { leaf[i % 2], cpu, run },
				(struct psi_change) { leaf[!(i % 2)], run, cpu },
				200 + 100 * i);

	for (i = 0; i <= deep; i++) {
		psi_node_times(&node[i], 10100, times);
		waits = i <= fork ? 10000 : 5000;
		KUNIT_EXPECT_EQ(test, psi_node_count(&node[i], PSI_COUNT_PRODUCTIVE),
				i == fork ? 2 : 1);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_SOME], waits);
		KUNIT_EXPECT_EQ(test, times[PSI_CPU_FULL], i <= fork ? 0 : waits);
	}
}

static void changes_touch_one_cache_line(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, offsetof(struct psi_node, times[PSI_QUOTA_SOME]), 64);
	if (!IS_ENABLED(CONFIG_PSI_DEBUG))
		KUNIT_EXPECT_LE(test, sizeof(struct psi_node), 128);
}

static struct kunit_case psi_node_cases[] = {
	KUNIT_CASE_PARAM(rules, rule_gen_params),
	KUNIT_CASE_PARAM_ATTR(random_histories, start_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(histories_meet_everything),
	KUNIT_CASE(groups_that_are_held_back_are_followed),
	KUNIT_CASE(quota_growth_is_no_longer_than_the_stall),
	KUNIT_CASE(units_have_no_bias),
	KUNIT_CASE(adjoining_intervals_are_exact),
	KUNIT_CASE(same_states_are_not_touched),
	KUNIT_CASE(a_switch_cancels_out_above),
	KUNIT_CASE(moves_leave_the_running_task_alone),
	KUNIT_CASE(one_busy_group_is_followed),
	KUNIT_CASE(two_busy_groups_meet_once),
	KUNIT_CASE(a_trigger_ends_following),
	KUNIT_CASE(a_followed_group_can_go),
	KUNIT_CASE(following_ends_on_the_way),
	KUNIT_CASE(a_first_stall_is_told),
	KUNIT_CASE(chains_are_short),
	KUNIT_CASE(alternating_groups_are_not_followed),
	KUNIT_CASE(long_states_last_68_minutes),
	KUNIT_CASE(clocks_may_disagree),
	KUNIT_CASE(idle_nodes_keep_no_time),
	KUNIT_CASE(a_wrong_count_mends),
	KUNIT_CASE(rare_counts_do_not_touch_each_other),
	KUNIT_CASE(growth_without_weight_stays),
	KUNIT_CASE(growth_is_no_longer_than_what_it_is_part_of),
	KUNIT_CASE(very_deep_trees_count_right),
	KUNIT_CASE(changes_touch_one_cache_line),
	{ }
};

static struct kunit_suite psi_node_suite = {
	.name = "psi_node",
	.test_cases = psi_node_cases,
};

kunit_test_suite(psi_node_suite);

MODULE_DESCRIPTION("Pressure stall information: nodes against a naive model");
MODULE_LICENSE("GPL");
