// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: one group on one CPU.
 *
 * All rules of what is a stall are here, and nothing else: no locks, no clock,
 * no per-CPU data, no tasks. `now` is always an argument.
 *
 * None of the rules asks how many tasks are in a state, only whether there are
 * any in the group or below it. So a node counts its *contributors*: a task of
 * the group is one, and a child node is one for each bit that it has itself. A
 * change climbs to the parent only when a count leaves or reaches zero, and
 * most changes therefore end where they begin:
 *
 *	         root   WAITING 1   (from b; a contributes nothing)
 *	        /    \
 *	       a      b WAITING 3   (three tasks; one more or less changes the
 *	                             count here and is not seen above)
 *
 * What remains is the busy task alone in a deep hierarchy: each of its sleeps
 * would be seen on every level. There each ancestor is in the state that its
 * only contributor is in, so it need not keep its own: it *follows* that child.
 * Nodes that follow form a chain, which ends in one that counts for itself and
 * hands its changes up past all of them:
 *
 *	root   counts   <-----+---------.	times(a) = own part + times(b)
 *	  a      follows b    | up      |	times(b) = own part + times(c)
 *	    b      follows c  |         |
 *	      c      counts --'         | up
 *	  d      counts ----------------'
 *
 * When a second contributor appears (here: of a or b), the node takes over what
 * the end of the chain has, and counts for itself again, between that and what
 * comes above. It begins to follow after some changes in a row that all came
 * from the same contributor, so that two that take turns do not make it go back
 * and forth. A child that went idle goes on being followed.
 *
 * Time is kept per state, not per bit, and has no stamp: when a state begins the
 * clock is subtracted from its time, when it ends the clock is added. What lasts
 * is not touched, whatever happens to counts. Times of a chain can be added and
 * subtracted as they are, as all its nodes are in the same states.
 *
 * psi.c includes this file, because a change is so little work that calls would
 * be much of it.
 *
 * Locking: the caller keeps all nodes of one CPU to itself while it calls a
 * function that changes one of them. psi_node_states() and psi_node_times() may
 * be called at the same time, by somebody who tries again if they were. For such
 * readers psi_node::child is one word, and a node that nobody follows any more
 * has to live until they are gone.
 */
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <asm/barrier.h>

#include "psi_node.h"

/* So many changes in a row make a node follow where they come from. */
#define PSI_STREAK	8

/* ------------------------------ The rules ------------------------------ */

/* What a task in a PSI_TASK_* state contributes to its group. */
static u8 __init rule_of_task(u8 state)
{
	u8 bits = 0;

	if (state & PSI_TASK_EXEMPT)
		return 0;

	if (state & PSI_TASK_IOWAIT)
		bits |= PSI_IOWAIT;
	if (state & PSI_TASK_MEMSTALL)
		bits |= PSI_MEMSTALL;
	if (!(state & PSI_TASK_RUNNABLE))
		return bits;

	if (!(state & PSI_TASK_MEMSTALL))
		bits |= PSI_PRODUCTIVE;
	if (!(state & PSI_TASK_ONCPU))
		bits |= PSI_WAITING;
	else if (state & PSI_TASK_MEMSTALL)
		bits |= PSI_ONCPU | PSI_ONCPU_MEMSTALL;
	else
		bits |= PSI_ONCPU;

	return bits;
}

/* The states of a node with these PSI_* bits. */
static u8 __init rule_of_states(u8 bits)
{
	u8 states = 0;

	if (bits & PSI_IOWAIT) {
		states |= BIT(PSI_IO_SOME);
		if (!(bits & PSI_RUNNING_BITS))
			states |= BIT(PSI_IO_FULL);
	}

	if (bits & PSI_MEMSTALL) {
		states |= BIT(PSI_MEM_SOME);
		if (!(bits & PSI_PRODUCTIVE) || (bits & PSI_ONCPU_MEMSTALL))
			states |= BIT(PSI_MEM_FULL);
	}

	if (bits & PSI_WAITING) {
		states |= BIT(PSI_CPU_SOME);
		if (!(bits & PSI_ONCPU))
			states |= BIT(PSI_CPU_FULL);
	}

	if (bits & (PSI_IOWAIT | PSI_MEMSTALL | PSI_RUNNING_BITS))
		states |= BIT(PSI_NONIDLE);

	return states;
}

/* The rules for all that can be, so that a change need not go through them. */
static u8 psi_bits_of[PSI_TASK_BITS + 1] __ro_after_init;
static u8 psi_states_of[PSI_NODE_BITS + 1] __ro_after_init;

/**
 * psi_node_setup - to be called once, before all others
 */
void __init psi_node_setup(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(psi_bits_of); i++)
		psi_bits_of[i] = rule_of_task(i);
	for (i = 0; i < ARRAY_SIZE(psi_states_of); i++)
		psi_states_of[i] = rule_of_states(i);
}

/**
 * psi_task_bits - what a task contributes to its group
 * @state: PSI_TASK_* bits
 *
 * Return: PSI_* bits.
 */
u8 psi_task_bits(u8 state)
{
	return psi_bits_of[state];
}

/**
 * psi_states - the rules
 * @bits: PSI_* bits of a node
 *
 * Return: mask of enum psi_state.
 */
u8 psi_states(u8 bits)
{
	return psi_states_of[bits];
}

/* ------------------------------ Following ------------------------------ */

/* Enough to tell the children of a node apart nearly always. */
static u16 source_id(const struct psi_node *node)
{
	return (uintptr_t)node >> 7;
}

/* The end of the chain: the node that counts. */
static struct psi_node *bottom(struct psi_node *node)
{
	while (node->following)
		node = node->child;
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

/* Is @from, one of its contributors, all that there is in @node? */
static bool is_only_source(const struct psi_node *node, const struct psi_node *from)
{
	int i;

	for (i = 0; i < PSI_NR_COUNTS; i++)
		if (node->count[i] > 1)
			return false;
	return node->bits && node->bits == from->bits;
}

/* @from, which is all that there is in @node, hands up past it from now on. */
static void follow(struct psi_node *node, struct psi_node *from)
{
	struct psi_node *child = from, *up = node->up;

	subtract_times(node->times, child->times);
	while (child->parent != node) {
		child = child->parent;
		subtract_times(node->times, child->times);
	}

	/* A reader that sees the pointer sees a node that is initialised. */
	smp_store_release(&node->child, child);
	node->following = true;
	from->up = up;

	/* For the next one it is the same contributor as before. */
	if (up && up->source == source_id(node))
		up->source = source_id(from);
}

/* Count again. What comes from the child is the node's one contributor so far. */
static noinline void unfollow(struct psi_node *node)
{
	struct psi_node *from = node->child;
	int i;

	add_times(node->times, from->times);
	while (from->following) {
		from = from->child;
		add_times(node->times, from->times);
	}

	for (i = 0; i < PSI_NR_COUNTS; i++)
		node->count[i] = !!(from->bits & BIT(i));
	node->bits = from->bits;
	node->states = from->states;
	node->up = from->up;
	from->up = node;

	/* Those that follow this node rely on it now. */
	node->tell |= from->tell & BIT(PSI_NONIDLE);

	node->streak = 0;
	node->following = false;
	WRITE_ONCE(node->child, NULL);
}

/* It is always @from that changes: follow it, if that is all there is. */
static noinline struct psi_node *try_follow(struct psi_node *node, struct psi_node *from)
{
	node->streak = 0;

	/* One with triggers has to see what happens. */
	if (node->tell & ~BIT(PSI_NONIDLE) || !is_only_source(node, from))
		return node;
	follow(node, from);
	return from;
}

/*
 * @from was the only one that has changed in @node. Return: the one that hands up
 * from now on.
 */
static __always_inline struct psi_node *consider(struct psi_node *node,
						 struct psi_node *from)
{
	u16 source = source_id(from);

	if (node->source != source) {
		node->source = source;
		node->streak = 0;
	} else if (unlikely(++node->streak >= PSI_STREAK)) {
		return try_follow(node, from);
	}
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
	node->up = parent;
	node->level = parent ? min(parent->level + 1, U8_MAX) : 0;
	node->tell = BIT(PSI_NONIDLE);
}

/* More was taken away than there was; see psi_node_miscounted(). */
static bool psi_miscounted;

/* One bit of a contributor. In @gone it stays only if nobody else has it. */
static __always_inline void count_bit(struct psi_node *node, int bit, u32 come, u32 *gone)
{
	if (come & BIT(bit)) {
		if (unlikely(!++node->count[bit])) {
			node->count[bit] = 1;	/* it mends here */
			WRITE_ONCE(psi_miscounted, true);
		}
	} else if (*gone & BIT(bit)) {
		if (unlikely(--node->count[bit]))
			*gone &= ~BIT(bit);
	}
}

/* Count one contributor; node->bits are right afterwards. */
static __always_inline void node_count(struct psi_node *node, u32 old, u32 new)
{
	u32 diff = old ^ new, come, gone;

	/* Otherwise it is taken apart again, into more than it was. */
	OPTIMIZER_HIDE_VAR(diff);
	come = diff & new;
	gone = diff & old;

	if (unlikely(diff & (PSI_IOWAIT | PSI_MEMSTALL))) {
		count_bit(node, PSI_COUNT_IOWAIT, come, &gone);
		count_bit(node, PSI_COUNT_MEMSTALL, come, &gone);
	}
	count_bit(node, PSI_COUNT_PRODUCTIVE, come, &gone);
	count_bit(node, PSI_COUNT_WAITING, come, &gone);

	node->bits = (node->bits & ~gone) | new;
}

/*
 * The bits have changed: make the states follow from them. Return: those that
 * begin and are of interest. So do the next ones.
 */
static __always_inline u32 node_settle(struct psi_node *node, u32 now)
{
	u32 was = node->states, is = psi_states(node->bits);
	u32 diff = is ^ was, begun, left;

	if (!diff)
		return 0;
	OPTIMIZER_HIDE_VAR(diff);
	begun = diff & is;

	for (left = begun; left; left &= left - 1)
		node->times[__ffs(left)] -= now;
	for (left = diff & was; left; left &= left - 1)
		node->times[__ffs(left)] += now;

	node->states = is;
	return begun & node->tell;
}

/* A change of one contributor, in a node that counts. */
static __always_inline u32 change_here(struct psi_node *node, u32 old, u32 new, u32 now)
{
	u32 before = node->bits;

	node_count(node, old, new);
	return node->bits == before ? 0 : node_settle(node, now);
}

/* Count a change, and make it that of @c's node, for what is above. */
static __always_inline u32 change_one(struct psi_change *c, u32 now)
{
	struct psi_node *node = c->node;
	u32 before;

	if (unlikely(node->following))
		unfollow(node);

	before = node->bits;
	node_count(node, c->old, c->new);
	if (node->bits == before) {
		c->node = NULL;
		return 0;
	}

	c->old = before;
	c->new = node->bits;
	c->node = node->up;
	return node_settle(node, now);
}

/* One step of a climb from @below, or from a task if that is NULL. */
static __always_inline u32 climb(struct psi_change *c, struct psi_node **below, u32 now)
{
	struct psi_node *node = c->node;
	u32 tell = change_one(c, now);

	/* The other change may have put something in between. */
	*below = *below && (*below)->up == node ? consider(node, *below) : node;
	return tell;
}

/* @from had other bits @before: what is above? */
static __always_inline u32 change_above(struct psi_node *from, u32 before, u32 now)
{
	struct psi_change c = { from->up, before, from->bits };
	u32 tell = 0;

	while (c.node)
		tell |= climb(&c, &from, now);
	return tell;
}

/**
 * psi_node_change - one contributor changes
 * @c:   where, from what, to what
 * @now: units
 *
 * Return: has a state begun, in @c.node or above, of which psi_node::tell says
 * that it is of interest?
 */
bool psi_node_change(struct psi_change c, u32 now)
{
	struct psi_node *node = c.node;
	u32 tell;

	if (!node)
		return false;

	tell = change_one(&c, now);
	if (c.node)
		tell |= change_above(node, c.old, now);
	return tell;
}

/* Of two paths to the root, is @a the one to climb for them to meet? */
static bool is_deeper(const struct psi_node *a, const struct psi_node *b)
{
	return a && (!b || a->level >= b->level);
}

/*
 * Two contributors of one node change. Mostly the next one becomes what the last
 * one was; then it makes no difference who is who, and only the rest has to be
 * counted. Otherwise the last one goes first, as only one can be on the CPU.
 */
static __always_inline u32 change_two(struct psi_node *node, u32 prev_old, u32 prev_new,
				      u32 next_old, u32 next_new, u32 now)
{
	u32 before;

	if (prev_old == next_new && next_old == prev_new)
		return 0;

	if (unlikely(node->following))
		unfollow(node);

	before = node->bits;
	if (likely(prev_old == next_new)) {
		node_count(node, next_old, prev_new);
	} else {
		node_count(node, prev_old, prev_new);
		node_count(node, next_old, next_new);
	}
	if (node->bits == before)
		return 0;

	return node_settle(node, now) | change_above(node, before, now);
}

/* Do both count, and hand up to the same node? Then none is above the other. */
static __always_inline bool are_siblings(const struct psi_node *a, const struct psi_node *b)
{
	return a && b && a != b && !a->following && !b->following &&
	       a->up && a->up == b->up;
}

/* A switch between such nodes, as two containers are. */
static __always_inline u32 switch_siblings(struct psi_change prev, struct psi_change next,
					   u32 now)
{
	u32 prev_before = prev.node->bits, next_before = next.node->bits, tell = 0;

	tell |= change_here(prev.node, prev.old, prev.new, now);
	tell |= change_here(next.node, next.old, next.new, now);
	return tell | change_two(prev.node->up, prev_before, prev.node->bits,
				 next_before, next.node->bits, now);
}

/* A switch between any nodes. */
static noinline u32 climb_and_meet(struct psi_change prev, struct psi_change next, u32 now)
{
	struct psi_node *below_prev = NULL, *below_next = NULL;
	u32 tell = 0;

	while (prev.node != next.node) {
		if (is_deeper(prev.node, next.node))
			tell |= climb(&prev, &below_prev, now);
		else
			tell |= climb(&next, &below_next, now);
	}
	if (prev.node)
		tell |= change_two(prev.node, prev.old, prev.new, next.old, next.new, now);
	return tell;
}

/* See psi_node_switch(). */
static __always_inline u32 switch_nodes(struct psi_change prev, struct psi_change next,
					u32 now)
{
	if (likely(are_siblings(prev.node, next.node)))
		return switch_siblings(prev, next, now);
	return climb_and_meet(prev, next, now);
}

/**
 * psi_node_switch - the CPU goes from one contributor to another
 * @prev: the one that had the CPU
 * @next: the one that has it now
 * @now:  units
 *
 * Where the two paths to the root meet, both changes are counted before the
 * states are looked at: what cancels out there is not seen any further up. (Of
 * two that are too far down to know their level, one may pass that place alone.
 * That is just as right, and more work.)
 *
 * Return: as psi_node_change().
 */
bool psi_node_switch(struct psi_change prev, struct psi_change next, u32 now)
{
	return switch_nodes(prev, next, now);
}

/**
 * psi_node_irq - interrupts took time from the task on the CPU
 * @node:  its node
 * @units: how much
 *
 * Return: as psi_node_change(), of PSI_IRQ_FULL.
 */
bool psi_node_irq(struct psi_node *node, u32 units)
{
	u8 tell = 0;

	for (; node; node = node->up) {
		node->times[PSI_IRQ_FULL] += units;
		tell |= node->tell;
	}
	return tell & BIT(PSI_IRQ_FULL);
}

/* ------------------------- The tree, and readers ------------------------- */

/**
 * psi_node_set_parent - a node contributes to another one from now on
 * @node:   the node
 * @parent: the other one, or NULL; above @node, and in the tree
 * @now:    units
 *
 * Return: as psi_node_change().
 */
bool psi_node_set_parent(struct psi_node *node, struct psi_node *parent, u32 now)
{
	struct psi_change from = { .node = node->parent };
	struct psi_change to = { .node = parent };
	struct psi_node *end = bottom(node);

	if (from.node == to.node)
		return false;

	psi_node_forget(node);
	node->parent = parent;
	end->up = parent;

	from.old = end->bits;
	to.new = end->bits;
	return psi_node_switch(from, to, now);
}

/**
 * psi_node_set_tell - is a state of interest when it begins?
 * @node:  the node
 * @state: the state
 * @tell:  is it? If it is of a stall, the node counts for itself until no more
 *	   of them are of interest.
 */
void psi_node_set_tell(struct psi_node *node, enum psi_state state, bool tell)
{
	if (!tell) {
		node->tell &= ~BIT(state);
		return;
	}

	node->tell |= BIT(state);
	if (state == PSI_NONIDLE)
		bottom(node)->tell |= BIT(state);
	else if (node->following)
		unfollow(node);
}

/**
 * psi_node_is_followed - does the parent look at this node?
 * @node: the node
 *
 * May be called at any time for a node that has no bits: nobody begins to follow
 * such a one.
 *
 * Return: true if so.
 */
bool psi_node_is_followed(const struct psi_node *node)
{
	return node->parent && READ_ONCE(node->parent->child) == node;
}

/**
 * psi_node_forget - do not follow the node any more
 * @node: the node, which may then leave the tree if it has no bits
 */
void psi_node_forget(struct psi_node *node)
{
	if (psi_node_is_followed(node))
		unfollow(node->parent);
}

/**
 * psi_node_miscounted - has anybody lied about what changes?
 *
 * Return: true if a count has been below zero since the kernel started.
 */
bool psi_node_miscounted(void)
{
	return READ_ONCE(psi_miscounted);
}

/**
 * psi_node_states - in which states is the node?
 * @node: the node
 *
 * Return: mask of enum psi_state.
 */
u8 psi_node_states(const struct psi_node *node)
{
	const struct psi_node *child;

	while ((child = READ_ONCE(node->child)))
		node = child;
	return node->states;
}

/**
 * psi_node_times - times of all states, those that still last included
 * @node:  the node
 * @now:   units
 * @times: PSI_NR_STATES of them, units modulo 2^32
 *
 * A clock that is behind the one by which a state began makes its time go back
 * a little.
 *
 * Return: mask of the states that last.
 */
u8 psi_node_times(const struct psi_node *node, u32 now, u32 times[])
{
	const struct psi_node *child;
	u8 states;
	u32 left;

	memcpy(times, node->times, sizeof(node->times));
	while ((child = READ_ONCE(node->child))) {
		node = child;
		add_times(times, node->times);
	}

	states = READ_ONCE(node->states);
	for (left = states; left; left &= left - 1)
		times[__ffs(left)] += now;
	return states;
}
