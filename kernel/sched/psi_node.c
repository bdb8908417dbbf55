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
 * Time is kept per state, not per bit. A node whose states stay the same takes
 * no time stamp, whatever happens to its counts.
 *
 * Locking: the caller keeps all nodes of one CPU to itself while it calls a
 * function that changes one of them.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "psi_node.h"

/**
 * psi_task_bits - what a task contributes to its group
 * @state: PSI_TASK_* bits
 *
 * Return: PSI_* bits.
 */
u8 psi_task_bits(u8 state)
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

/**
 * psi_states - the rules
 * @bits: PSI_* bits of a node
 *
 * Return: mask of enum psi_state.
 */
u8 psi_states(u8 bits)
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

/**
 * psi_node_init - an empty node below a parent
 * @node:   the node
 * @parent: node of the parent group on the same CPU, or NULL
 */
void psi_node_init(struct psi_node *node, struct psi_node *parent)
{
	memset(node, 0, sizeof(*node));
	node->parent = parent;
	node->level = parent ? min(parent->level + 1, U8_MAX) : 0;
	node->tell = BIT(PSI_NONIDLE);
}

/* Count one contributor; node->bits are right afterwards. */
static void node_count(struct psi_node *node, u8 old, u8 new)
{
	unsigned int diff, bit;

	for (diff = (old ^ new) & PSI_COUNTED_BITS; diff; diff &= diff - 1) {
		bit = __ffs(diff);
		if (new & BIT(bit)) {
			node->count[bit]++;
			node->bits |= BIT(bit);
		} else if (!node->count[bit]) {
			/* Somebody lied before; 0 is where the count mends. */
			printk_deferred_once("psi: count %u below zero\n", bit);
		} else if (!--node->count[bit]) {
			node->bits &= ~BIT(bit);
		}
	}

	node->bits &= ~(old & PSI_SINGLE_BITS);
	node->bits |= new & PSI_SINGLE_BITS;
}

/* Add the time that has gone by in the present states. */
static void add_time(u32 times[], u8 states, u32 units)
{
	unsigned int left;

	for (left = states; left; left &= left - 1)
		times[__ffs(left)] += units;
}

/*
 * The counts are right: make the states follow from them. Return: does one
 * begin that the caller wants to know of?
 */
static bool node_settle(struct psi_node *node, u32 now)
{
	u8 states = psi_states(node->bits);
	u8 begun = states & ~node->states;
	u32 units;

	if (states == node->states)
		return false;

	if (node->states) {
		units = psi_elapsed(node->since, now);
		add_time(node->times, node->states, units);
		node->since += units;
	} else {
		node->since = now;	/* the old one may be any time ago */
	}
	node->states = states;
	return begun & node->tell;
}

/* One level up: the node has become a contributor that changes, or has not. */
static void climb(struct psi_change *c, u8 before)
{
	c->old = before;
	c->new = c->node->bits;
	c->node = c->old == c->new ? NULL : c->node->parent;
}

static bool change_one(struct psi_change *c, u32 now)
{
	u8 before = c->node->bits;
	bool tell;

	node_count(c->node, c->old, c->new);
	tell = node_settle(c->node, now);
	climb(c, before);
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
	bool tell = false;

	while (c.node)
		tell |= change_one(&c, now);
	return tell;
}

/* Of two paths to the root, is @a the one to climb for them to meet? */
static bool is_deeper(const struct psi_change *a, const struct psi_change *b)
{
	if (!a->node || !b->node)
		return a->node;
	return a->node->level >= b->node->level;
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
	bool tell = false;
	u8 before;

	while (prev.node != next.node)
		tell |= change_one(is_deeper(&prev, &next) ? &prev : &next, now);

	if (!prev.node)
		return tell;

	before = prev.node->bits;
	node_count(prev.node, prev.old, prev.new);
	node_count(prev.node, next.old, next.new);
	tell |= node_settle(prev.node, now);
	climb(&prev, before);

	return psi_node_change(prev, now) || tell;
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

	for (; node; node = node->parent) {
		node->times[PSI_IRQ_FULL] += units;
		tell |= node->tell;
	}
	return tell & BIT(PSI_IRQ_FULL);
}

/**
 * psi_node_times - times of all states, those that still last included
 * @node:  the node
 * @now:   units
 * @times: PSI_NR_STATES of them, units modulo 2^32
 */
void psi_node_times(const struct psi_node *node, u32 now, u32 times[])
{
	memcpy(times, node->times, sizeof(node->times));
	add_time(times, node->states, psi_elapsed(node->since, now));
}
