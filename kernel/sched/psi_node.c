// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: one group on one CPU.
 *
 * This file has the rules of what is a stall, and nothing else: no locks, no clock, no
 * per-CPU data, no tasks. The time @now is always an argument.
 *
 * The rules ask whether any task in the group or below it is in a state, never how many
 * are. So a node counts its *contributors*: each task of the group is one, and each child
 * node is one for each bit that it has itself. A change climbs to the parent only when a
 * count leaves or reaches zero, and most changes therefore end where they begin:
 *
 *	         root   WAITING 1   (from b; a contributes nothing)
 *	        /    \
 *	       a      b WAITING 3   (three tasks; one more or less changes the
 *	                             count here and is not seen above)
 *
 * A single busy task in a deep hierarchy would still be seen on every level each time it
 * sleeps. But each of its ancestors is in the state of its only contributor, and need not
 * keep its own: it *follows* that child. Nodes that follow form a chain. At the end of
 * the chain is a node that counts, and the changes of that node bypass the rest of the
 * chain. All links, with group c switched off:
 *
 *	root     counts
 *	 ^  ^
 *	 |  |      @parent         of a: root, of b: a, of d: b (past c), of e: root
 *	 a  e
 *	 ^         @followed       of a: b, of b: d; of the others NULL
 *	 |
 *	 b         @acct_parent    of d: root, past a and b which follow; of e: root
 *	 ^
 *	 |  (c)    @acct_group     of c's tasks (psi_group): b; of all the others
 *	 | /                       their own group
 *	 d
 *
 *	times(a) = own part + times(b);  times(b) = own part + times(d)
 *
 * @parent leaves out groups that are switched off, @acct_parent nodes that follow as well.
 * @followed is the child whose state a node has. @acct_group is where tasks count.
 *
 * When a second contributor appears (here: of a or b), the node takes over the state of
 * the chain's end, and counts again, between that end and the node above. A node begins
 * to follow only after a streak of changes from one contributor, so that two that take
 * turns do not make it go back and forth. It goes on following a child that goes idle. A
 * chain has at most PSI_CHAIN_MAX nodes, which bounds every walk along it.
 *
 * A task that waits is PSI_WAITING if it waits for other tasks, and PSI_THROTTLED if a
 * cpu.max holds it back. The scheduler knows which; nodes treat both bits like any other.
 * A node with only PSI_THROTTLED waits for a quota, of whatever group.
 *
 * node_*() functions touch one node; climb_*(), and the interface, go up to the root.
 *
 * Time is kept per state, not per bit, and needs no stamp: a state subtracts the clock
 * from its time when it begins, and adds it when it ends. A state that lasts is not
 * touched, whatever happens to the counts. The times of a chain can be added and
 * subtracted as they are, as all its nodes are in the same states.
 *
 * psi.c includes this file: a change is so little work that calls would be much of it.
 *
 * Locking: the caller of a function that changes a node has exclusive access to all nodes
 * of that CPU. psi_node_states() and psi_node_times() may run at the same time if the
 * caller notices that and retries. For such readers psi_node::followed is one word that
 * says by itself what it is, and a node that is not followed any more has to live until
 * they are gone.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <asm/barrier.h>

#include "psi_node.h"

/* This many changes in a row from one contributor make a node follow it. */
#define PSI_STREAK	8

/* Bounds walks along a chain, and with them the time that a lock is held. */
#define PSI_CHAIN_MAX	64

/* ------------------------------ The rules ------------------------------ */

/* What a task with these flags contributes to its group. */
static u8 __init rule_of_task(u8 flags)
{
	u8 contrib = 0;

	if (flags & PSI_TASK_EXEMPT)
		return 0;

	if (flags & PSI_TASK_IOWAIT)
		contrib |= PSI_IOWAIT;
	if (flags & PSI_TASK_MEMSTALL)
		contrib |= PSI_MEMSTALL;
	if (!(flags & PSI_TASK_RUNNABLE))
		return contrib;

	if (!(flags & PSI_TASK_MEMSTALL))
		contrib |= PSI_PRODUCTIVE;
	if (!(flags & PSI_TASK_ONCPU))
		contrib |= flags & PSI_TASK_THROTTLED ? PSI_THROTTLED : PSI_WAITING;
	else if (flags & PSI_TASK_MEMSTALL)
		contrib |= PSI_ONCPU | PSI_ONCPU_MEMSTALL;
	else
		contrib |= PSI_ONCPU;

	return contrib;
}

/* The states of a node to which this is contributed. */
static u16 __init rule_of_states(u8 contrib)
{
	u16 states = 0;

	if (contrib & PSI_IOWAIT) {
		states |= BIT(PSI_IO_SOME);
		if (!(contrib & PSI_RUNNING_BITS))
			states |= BIT(PSI_IO_FULL);
	}

	if (contrib & PSI_MEMSTALL) {
		states |= BIT(PSI_MEM_SOME);
		if (!(contrib & PSI_PRODUCTIVE) || (contrib & PSI_ONCPU_MEMSTALL))
			states |= BIT(PSI_MEM_FULL);
	}

	if (contrib & (PSI_WAITING | PSI_THROTTLED)) {
		states |= BIT(PSI_CPU_SOME);
		if (!(contrib & PSI_ONCPU))
			states |= BIT(PSI_CPU_FULL);
	}

	if (contrib & PSI_THROTTLED && !(contrib & PSI_WAITING)) {
		states |= BIT(PSI_QUOTA_SOME);
		if (!(contrib & PSI_ONCPU))
			states |= BIT(PSI_QUOTA_FULL);
	}

	if (contrib & (PSI_IOWAIT | PSI_MEMSTALL | PSI_RUNNING_BITS))
		states |= BIT(PSI_NONIDLE);

	return states;
}

/* The rules as tables, so that a change need not evaluate them. */
static u8 psi_contrib_of[PSI_TASK_FLAGS + 1] __ro_after_init;
static u16 psi_states_of[PSI_CONTRIB_BITS + 1] __ro_after_init;

/* Before anything else is called. */
static void __init psi_node_setup(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(psi_contrib_of); i++)
		psi_contrib_of[i] = rule_of_task(i);
	for (i = 0; i < ARRAY_SIZE(psi_states_of); i++)
		psi_states_of[i] = rule_of_states(i);
}

/**
 * psi_task_contrib - what a task contributes to its group
 * @flags: PSI_TASK_* bits
 *
 * Return: contrib bits.
 */
u8 psi_task_contrib(u8 flags)
{
	return psi_contrib_of[flags];
}

/**
 * psi_states - the states that follow from contributions
 * @contrib: what is contributed to a node
 *
 * Return: mask of enum psi_state.
 */
u16 psi_states(u32 contrib)
{
	return psi_states_of[contrib];
}

/* ------------------------------ Following ------------------------------ */

/* The low bits of psi_node::source: how many changes before this one had that source. */
#define SOURCE_STREAK	(PSI_STREAK - 1)

/* The other bits: they nearly always tell the children of a node apart. */
static u16 source_id(const struct psi_node *node)
{
	return ((uintptr_t)node >> 4) & ~SOURCE_STREAK;
}

static struct psi_node *chain_end(struct psi_node *node)
{
	while (psi_node_follows(node))
		node = psi_node_followed(node);
	return node;
}

static void add_times(u32 sum[], const u32 times[])
{
	int s;

	for (s = 0; s < PSI_NR_STATES; s++)
		sum[s] += times[s];
}

static void subtract_times(u32 sum[], const u32 times[])
{
	int s;

	for (s = 0; s < PSI_NR_STATES; s++)
		sum[s] -= times[s];
}

/* Is the contributor @from all that there is in @node? */
static bool is_only_source(const struct psi_node *node, const struct psi_node *from)
{
	int i;

	for (i = 0; i < PSI_NR_COUNTS; i++)
		if (psi_node_count(node, i) > 1)
			return false;
	return node->contrib && node->contrib == from->contrib;
}

/* The length of @node's chain if @node followed @from. */
static int chain_length(const struct psi_node *node, const struct psi_node *from)
{
	const struct psi_node *child = from;
	int length = 1;

	for (; child->parent != node; child = child->parent)
		length++;
	for (; psi_node_is_followed(node); node = node->parent)
		length++;
	return length;
}

/* @from is all that there is in @node, and contributes past it from now on. */
static void follow(struct psi_node *node, struct psi_node *from)
{
	struct psi_node *child = from, *up = node->acct_parent;

	subtract_times(node->times, child->times);
	while (child->parent != node) {
		child = child->parent;
		subtract_times(node->times, child->times);
	}

	/* Pairs with the READ_ONCE() of readers, which see an initialised node. */
	smp_store_release(&node->followed, (unsigned long)child | PSI_FOLLOWED);
	node->flags |= PSI_NODE_FOLLOWS;
	from->acct_parent = up;

	/* @from takes the place of @node there: keep the streak. */
	if (up && (up->source & ~SOURCE_STREAK) == source_id(node))
		up->source = source_id(from) | (up->source & SOURCE_STREAK);
}

/* Count again. So far, the node's one contributor is what comes from the child. */
static noinline void unfollow(struct psi_node *node)
{
	struct psi_node *from = psi_node_followed(node);
	int i;

	add_times(node->times, from->times);
	while (psi_node_follows(from)) {
		from = psi_node_followed(from);
		add_times(node->times, from->times);
	}

	node->rare = 0;
	for (i = 0; i < PSI_NR_RARE; i++)
		node->rare |= (u64)!!(from->contrib & BIT(i)) << (i * PSI_RARE_SHIFT);
	for (; i < PSI_NR_COUNTS; i++)
		node->count[i - PSI_NR_RARE] = !!(from->contrib & BIT(i));
	node->contrib = from->contrib;
	node->states = from->states;
	WRITE_ONCE(node->acct_parent, from->acct_parent);
	from->acct_parent = node;

	/* Nodes that follow this one rely on it now, and its own group. */
	node->notify |= from->notify & (BIT(PSI_NONIDLE) | PSI_SOME_STATES);

	node->source &= ~SOURCE_STREAK;
	node->flags &= ~PSI_NODE_FOLLOWS;
}

/* A streak of changes came from @from: follow it if it is all that there is in @node. */
static noinline struct psi_node *try_follow(struct psi_node *node, struct psi_node *from)
{
	u8 stalls = node->notify & ~BIT(PSI_NONIDLE);

	node->source &= ~SOURCE_STREAK;

	/* A node with triggers has to see what happens. */
	if (node->flags || (stalls && stalls & psi_trigger_watched(node->group)) ||
	    !is_only_source(node, from) || chain_length(node, from) > PSI_CHAIN_MAX)
		return node;

	/* From now on @from notifies of the next stall. The rest is of triggers that are gone. */
	from->notify |= stalls & PSI_SOME_STATES;
	node->notify &= BIT(PSI_NONIDLE);
	follow(node, from);
	return from;
}

/* Does this change complete a streak from @from, so that try_follow() is due? Rarely. */
static __always_inline bool is_streak(const struct psi_node *node, const struct psi_node *from)
{
	return node->source == (source_id(from) | SOURCE_STREAK);
}

/* Only @from has changed in @node, and that is no complete streak. */
static __always_inline void note_source(struct psi_node *node, const struct psi_node *from)
{
	u16 source = source_id(from);

	node->source = (node->source ^ source) <= SOURCE_STREAK ? node->source + 1 : source;
}

/* Only @from has changed. Return: which of the two contributes to the node above now. */
static __always_inline struct psi_node *maybe_follow(struct psi_node *node,
						     struct psi_node *from)
{
	if (unlikely(is_streak(node, from)))
		return try_follow(node, from);
	note_source(node, from);
	return node;
}

/* ------------------------------- Changes ------------------------------- */

/**
 * psi_node_init - an empty node below a parent
 * @node:   the node
 * @parent: node of the parent group on the same CPU, or NULL
 */
void psi_node_init(struct psi_node *node, struct psi_node *parent)
{
	memset(node, 0, sizeof(*node));
	node->parent = parent;
	node->acct_parent = parent;
	node->level = parent ? min(parent->level + 1, U8_MAX) : 0;
	node->notify = BIT(PSI_NONIDLE);
}

/* Count one bit. It stays in @gone only if no other contributor has it. */
static __always_inline void count_bit(struct psi_node *node, int bit, u32 come, u32 *gone)
{
	u32 *count = &node->count[bit - PSI_NR_RARE];

	if (come & BIT(bit)) {
		if (unlikely(!++*count)) {
			/* The count was below zero: begin again. */
			*count = 1;
			WRITE_ONCE(node->flags, PSI_NODE_MISCOUNTED);
		}
	} else if (*gone & BIT(bit)) {
		if (--*count) {
			*gone &= ~BIT(bit);
			/* Make the compiler jump: conditional moves cost more. */
			OPTIMIZER_HIDE_VAR(*gone);
		}
	}
}

/* The same for PSI_RARE_BITS. A count below zero borrows nothing from its neighbours. */
static __always_inline void count_rare(struct psi_node *node, u32 come, u32 *gone)
{
	u32 left, bit;
	u64 one, all;

	for (left = (come | *gone) & PSI_RARE_BITS; left; left &= left - 1) {
		bit = __ffs(left);
		one = BIT_ULL(bit * PSI_RARE_SHIFT);
		all = one * PSI_RARE_MAX;
		if (come & BIT(bit)) {
			if (unlikely((node->rare & all) == all)) {
				node->rare -= all;
				WRITE_ONCE(node->flags, PSI_NODE_MISCOUNTED);
			}
			node->rare += one;
			continue;
		}
		if (likely(node->rare & all))
			node->rare -= one;
		else
			node->rare += all;
		if (node->rare & all)
			*gone &= ~BIT(bit);
	}
}

/*
 * Count one contributor. The node does not follow, so that its flags can be overwritten
 * without being read. @rare: PSI_RARE_BITS may change. If they do not, they do not change in
 * any node above, either. Return: the new node->contrib.
 */
static __always_inline u32 node_count(struct psi_node *node, u32 old, u32 new, bool rare)
{
	u32 diff = old ^ new, come, gone, contrib;

	if (IS_ENABLED(CONFIG_PSI_DEBUG))
		WARN_ON_ONCE(!rare && diff & PSI_RARE_BITS);

	/* Otherwise the compiler splits it up again, into more instructions. */
	if (!__builtin_constant_p(diff))
		OPTIMIZER_HIDE_VAR(diff);
	come = diff & new;
	gone = diff & old;

	if (rare)
		count_rare(node, come, &gone);
	count_bit(node, PSI_COUNT_PRODUCTIVE, come, &gone);
	count_bit(node, PSI_COUNT_WAITING, come, &gone);

	contrib = (node->contrib & ~gone) | new;
	node->contrib = contrib;
	return contrib;
}

/*
 * Derive the states from node->contrib, which is @contrib now. Return, here and below: mask of
 * states that begin and are in psi_node::notify.
 */
static __always_inline u32 node_update_states(struct psi_node *node, u32 contrib, u32 now)
{
	u32 was = node->states, is = psi_states(contrib), begun, diff, left;

	/* Keep the compiler from computing with 16 bits, which takes more instructions. */
	OPTIMIZER_HIDE_VAR(is);
	diff = is ^ was;
	if (!diff)
		return 0;
	begun = diff & is;

	for (left = begun; left; left &= left - 1)
		node->times[__ffs(left)] -= now;
	for (left = diff & was; left; left &= left - 1)
		node->times[__ffs(left)] += now;

	node->states = is;
	return begun & node->notify;
}

static __always_inline bool is_rare(u32 old, u32 new)
{
	return (old ^ new) & PSI_RARE_BITS;
}

/* Account a change of bits that are not rare in a node that counts, and only there. */
static __always_inline u32 node_account(struct psi_node *node, u32 old, u32 new, u32 now)
{
	u32 before = node->contrib, after = node_count(node, old, new, false);

	return after == before ? 0 : node_update_states(node, after, now);
}

#include "psi_climb.c"

/* ------------------------- The tree, and readers ------------------------- */

/**
 * psi_node_set_parent - let a node contribute to another one
 * @node:   the node
 * @parent: the other one, or NULL; above @node, and in the tree
 * @now:    units
 *
 * Return: as psi_node_change(), in or above the old parent or @parent.
 */
bool psi_node_set_parent(struct psi_node *node, struct psi_node *parent, u32 now)
{
	struct psi_node *end = chain_end(node);
	struct psi_change from = { .node = node->parent, .old = end->contrib };
	struct psi_change to = { .node = parent, .new = end->contrib };

	if (from.node == to.node)
		return false;

	psi_node_detach(node);
	node->parent = parent;
	end->acct_parent = parent;
	/* A node without contributors is like a new one: there is nothing to move. */
	return end->contrib && psi_node_switch(from, to, now);
}

/**
 * psi_node_set_notify - let a node notify when stalls begin
 * @node:   the node, which does not follow until psi_trigger_watched() reports no stalls
 * @stalls: mask of them
 */
void psi_node_set_notify(struct psi_node *node, u8 stalls)
{
	node->notify |= stalls;
	if (psi_node_follows(node))
		unfollow(node);
}

/**
 * psi_node_set_idle - let an idle node notify when it gets busy, and then stalled
 * @node: the node; of the latter, that one notifies to which the first task comes
 */
void psi_node_set_idle(struct psi_node *node)
{
	node->notify |= BIT(PSI_NONIDLE);
	chain_end(node)->notify |= BIT(PSI_NONIDLE) | PSI_SOME_STATES;
}

/**
 * psi_node_set_unstalled - let a node notify when it gets stalled
 * @node: the node, idle or not
 *
 * Return: false if it is stalled already.
 */
bool psi_node_set_unstalled(struct psi_node *node)
{
	node = chain_end(node);
	node->notify |= PSI_SOME_STATES;
	return !(node->states & PSI_SOME_STATES);
}

/**
 * psi_node_is_followed - does the parent follow this node?
 * @node: the node; at any time if it has no contributors, as no node begins to follow it
 *
 * Return: true if so.
 */
bool psi_node_is_followed(const struct psi_node *node)
{
	return node->parent && psi_node_followed(node->parent) == node;
}

/**
 * psi_node_detach - make the parent stop following a node
 * @node: the node, which may then leave the tree if it is idle
 */
void psi_node_detach(struct psi_node *node)
{
	if (psi_node_is_followed(node))
		unfollow(node->parent);
}

/**
 * psi_node_states - the states that a node is in
 * @node: the node
 *
 * Return: mask of enum psi_state.
 */
u16 psi_node_states(const struct psi_node *node)
{
	const struct psi_node *child;

	while ((child = psi_node_followed(node)))
		node = child;
	return node->states;
}

/**
 * psi_node_times - times of all states, including those that still last
 * @node:  the node
 * @now:   units; if it is behind the clock by which a state began, its time goes back a bit
 * @times: PSI_NR_STATES of them, units modulo 2^32
 *
 * Return: mask of the states that last.
 */
u16 psi_node_times(const struct psi_node *node, u32 now, u32 times[])
{
	const struct psi_node *child;
	u16 states;
	u32 left;

	memcpy(times, node->times, sizeof(node->times));
	while ((child = psi_node_followed(node))) {
		node = child;
		add_times(times, node->times);
	}

	states = READ_ONCE(node->states);
	for (left = states; left; left &= left - 1)
		times[__ffs(left)] += now;
	return states;
}

/* Which times may differ from @folded? Most do not, so two at a time. */
static u32 changed_times(const u32 folded[], const u32 times[])
{
	u32 changed = 0;
	int s;

	BUILD_BUG_ON(PSI_NR_STATES % 2);
	for (s = 0; s < PSI_NR_STATES; s += 2)
		if (memcmp(&times[s], &folded[s], 2 * sizeof(times[s])))
			changed |= 3 << s;
	return changed;
}

/**
 * psi_growth - how much the times of a node have grown since the last fold
 * @folded: times at the last fold, units modulo 2^32
 * @times:  times now, units modulo 2^32; becomes the growth of those that have grown, others
 *	    are of no use then
 * @states: mask of the states to look at, including those that they are a part of
 *
 * No stall lasts longer than the time not idle, "full" no longer than "some", and quotas
 * no longer than PSI_CPU_SOME and PSI_CPU_FULL. A reader's clock may be a little ahead of
 * the one by which a state began, so growth is cut to that; the rest comes later. All of
 * it does if there is no time not idle yet.
 *
 * Return: mask of the states that have grown, PSI_NONIDLE among them; 0 if none has.
 */
u16 psi_growth(const u32 folded[], u32 times[], u16 states)
{
	static const u8 part_of[PSI_NR_STATES] = {
		[PSI_IO_SOME] = PSI_NONIDLE,	[PSI_IO_FULL] = PSI_IO_SOME,
		[PSI_MEM_SOME] = PSI_NONIDLE,	[PSI_MEM_FULL] = PSI_MEM_SOME,
		[PSI_CPU_SOME] = PSI_NONIDLE,	[PSI_CPU_FULL] = PSI_CPU_SOME,
		[PSI_IRQ_FULL] = PSI_NONIDLE,
		[PSI_QUOTA_SOME] = PSI_CPU_SOME, [PSI_QUOTA_FULL] = PSI_CPU_FULL,
	};
	u32 left = changed_times(folded, times) & states & ~BIT(PSI_NONIDLE);
	u16 grown = BIT(PSI_NONIDLE);
	int s;

	times[PSI_NONIDLE] = psi_elapsed(folded[PSI_NONIDLE], times[PSI_NONIDLE]);
	if (!times[PSI_NONIDLE])
		return 0;

	/* A state comes after the one that it is a part of. */
	for (; left; left &= left - 1) {
		s = __ffs(left);
		if (!(grown & BIT(part_of[s])))
			continue;
		times[s] = min(psi_elapsed(folded[s], times[s]), times[part_of[s]]);
		grown |= times[s] ? BIT(s) : 0;
	}
	return grown;
}
