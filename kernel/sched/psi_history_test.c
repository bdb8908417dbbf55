// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of psi_node.c: random histories, against a naive model.
 *
 * The model keeps a set of tasks and knows nothing of contributors, bits or trees of counts:
 * after each event it walks over all tasks, counts for each group the tasks in each state,
 * applies the rules of as they are written, and adds up the time in 64 bits.
 * Histories are random, on random trees; the seed of a failing one is printed, and the
 * history itself, cut down to what it needs to fail.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "psi_avgs.h"
#include "psi_node.h"
#include "psi_seed.h"

static struct psi_group group_without_triggers;

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
 * one that follows it or did, and where one stops to follow a state may end and begin in a step.
 */
static bool sim_notified_right(struct sim *sim, const u16 before[], u32 followed, bool notified)
{
	u16 begun;
	int g;

	if (!notified || sim->naive_notify || sim->node[0].level)
		return notified >= sim->naive_notify;
	for (g = 0; g < sim->nr_groups; g++) {
		begun = sim->naive_states[g];
		if (!(followed & BIT(g)) || psi_node_follows(&sim->node[g]))
			begun &= ~before[g];
		if ((begun && !before[g]) || begun & PSI_SOME_STATES)
			return true;
	}
	return false;
}

/* Mask of the groups that follow a child. */
static u32 sim_following(const struct sim *sim)
{
	u32 mask = 0;

	for (int g = 0; g < sim->nr_groups; g++)
		mask |= psi_node_follows(&sim->node[g]) << g;
	return mask;
}

/* Return: number of events until model and nodes differ; 0 if they never do. */
static int replay(struct sim *sim, const struct event *events, int nr,
		  u64 seed, u64 start)
{
	u16 before[MAX_GROUPS];
	u32 followed;
	bool notified;
	int i;

	sim_init(sim, seed, start);
	for (i = 0; i < nr; i++) {
		if (events[i].skip)
			continue;
		sim->naive_irq = false;
		followed = sim_following(sim);
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
		if (!sim_notified_right(sim, before, followed, notified) &&
		    (events[i].kind != TURN || !notified))
			return i + 1;
		if (notified)
			sim_take_notice(sim);
		sim->following += hweight32(sim_following(sim));
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

static struct kunit_case psi_history_cases[] = {
	KUNIT_CASE_PARAM_ATTR(random_histories, start_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(histories_meet_everything),
	{ }
};

static struct kunit_suite psi_history_suite = {
	.name = "psi_history",
	.test_cases = psi_history_cases,
};

kunit_test_suite(psi_history_suite);

MODULE_DESCRIPTION("Pressure stall information: nodes against a naive model");
MODULE_LICENSE("GPL");
