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
 * Nodes that follow form a chain. It ends in one that counts for itself, and the
 * changes of that one go past all of them. The picture has all links that there
 * are; group c is switched off:
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
 * @parent is the hierarchy of groups without those that are switched off.
 * @acct_parent is the next node on the way up that counts. @followed is the child
 * whose state a node has. psi_group::acct_group is where a group's tasks count.
 *
 * When a second contributor appears (here: of a or b), the node takes over what
 * the end of the chain has, and counts for itself again, between that and what
 * comes above. It begins to follow after some changes in a row that all came
 * from the same contributor, so that two that take turns do not make it go back
 * and forth. A child that went idle goes on being followed. A chain has at most
 * PSI_CHAIN_MAX nodes, so that whoever walks along one is soon at its end.
 *
 * A task that waits does so for others, or because a cpu.max holds it back: it is
 * PSI_WAITING or PSI_THROTTLED. The scheduler knows which, and to nodes these are two bits like
 * all others. If a node has the second and not the first, what is waited for is a quota,
 * whosever it is.
 *
 * Functions called node_*() touch one node. Those called climb_*(), and the
 * interface, go up from there to the root.
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
 * readers psi_node::followed is one word, that says what it is, and a node that nobody
 * follows any more has to live until they are gone.
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

/* So many changes in a row make a node follow where they come from. */
#define PSI_STREAK	8

/* So many nodes in a row may follow. */
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

/* The rules for all that can be, so that a change need not go through them. */
static u8 psi_contrib_of[PSI_TASK_FLAGS + 1] __ro_after_init;
static u16 psi_states_of[PSI_CONTRIB_BITS + 1] __ro_after_init;

/**
 * psi_node_setup - to be called once, before all others
 */
void __init psi_node_setup(void)
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
 * psi_states - the rules
 * @contrib: what is contributed to a node
 *
 * Return: mask of enum psi_state.
 */
u16 psi_states(u8 contrib)
{
	return psi_states_of[contrib];
}

/* ------------------------------ Following ------------------------------ */

/* In the low bits of psi_node::source: how often before it was the same. */
#define SOURCE_STREAK	(PSI_STREAK - 1)

/* The others: enough to tell the children of a node apart nearly always. */
static u16 source_id(const struct psi_node *node)
{
	return ((uintptr_t)node >> 4) & ~SOURCE_STREAK;
}

/* The end of the chain: the node that counts. */
static struct psi_node *chain_end(struct psi_node *node)
{
	while (psi_node_follows(node))
		node = psi_node_followed(node);
	return node;
}

static void set_count(struct psi_node *node, int bit, u32 count)
{
	int shift = bit * PSI_RARE_SHIFT;

	if (bit >= PSI_NR_RARE)
		node->count[bit - PSI_NR_RARE] = count;
	else
		node->rare = (node->rare & ~((u64)PSI_RARE_MAX << shift)) | (u64)count << shift;
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
		if (psi_node_count(node, i) > 1)
			return false;
	return node->contrib && node->contrib == from->contrib;
}

/* If @node followed @from, how long would the chain be that it is in? */
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

/* @from, which is all that there is in @node, contributes past it from now on. */
static void follow(struct psi_node *node, struct psi_node *from)
{
	struct psi_node *child = from, *up = node->acct_parent;

	subtract_times(node->times, child->times);
	while (child->parent != node) {
		child = child->parent;
		subtract_times(node->times, child->times);
	}

	/* Pairs with the READ_ONCE() of readers: they see a node that is initialised. */
	smp_store_release(&node->followed, (unsigned long)child | PSI_FOLLOWED);
	node->flags |= PSI_NODE_FOLLOWS;
	from->acct_parent = up;

	/* For the next one it is the same contributor as before. */
	if (up && (up->source & ~SOURCE_STREAK) == source_id(node))
		up->source = source_id(from) | (up->source & SOURCE_STREAK);
}

/* Count again. What comes from the child is the node's one contributor so far. */
static noinline void unfollow(struct psi_node *node)
{
	struct psi_node *from = psi_node_followed(node);
	int i;

	add_times(node->times, from->times);
	while (psi_node_follows(from)) {
		from = psi_node_followed(from);
		add_times(node->times, from->times);
	}

	for (i = 0; i < PSI_NR_COUNTS; i++)
		set_count(node, i, !!(from->contrib & BIT(i)));
	node->contrib = from->contrib;
	node->states = from->states;
	WRITE_ONCE(node->acct_parent, from->acct_parent);
	from->acct_parent = node;

	/* Those that follow this node rely on it now. */
	node->notify |= from->notify & BIT(PSI_NONIDLE);

	node->source &= ~SOURCE_STREAK;
	node->flags &= ~PSI_NODE_FOLLOWS;
}

/* Has the node triggers? This is where it finds out that they are gone. */
static bool node_is_watched(struct psi_node *node)
{
	u8 stalls = node->notify & ~BIT(PSI_NONIDLE);

	if (stalls)
		node->notify &= BIT(PSI_NONIDLE) | psi_trigger_watched(node->group);
	return node->notify & ~BIT(PSI_NONIDLE);
}

/* It is always @from that changes: follow it, if that is all there is. */
static noinline struct psi_node *try_follow(struct psi_node *node, struct psi_node *from)
{
	node->source &= ~SOURCE_STREAK;

	/* One with triggers has to see what happens. */
	if (node->flags || node_is_watched(node) || !is_only_source(node, from) ||
	    chain_length(node, from) > PSI_CHAIN_MAX)
		return node;
	follow(node, from);
	return from;
}

/* Once more the same has changed in @node: is it time to try_follow()? Not yet, mostly. */
static __always_inline bool is_streak(const struct psi_node *node, const struct psi_node *from)
{
	return node->source == (source_id(from) | SOURCE_STREAK);
}

/* @from was the only one that has changed in @node, and it is not is_streak(). */
static __always_inline void note_source(struct psi_node *node, const struct psi_node *from)
{
	u16 source = source_id(from);

	node->source = (node->source ^ source) <= SOURCE_STREAK ? node->source + 1 : source;
}

/* The same. Return: the one that contributes to what is above from now on. */
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

/* One bit of a contributor. In @gone it stays only if nobody else has it. */
static __always_inline void count_bit(struct psi_node *node, int bit, u32 come, u32 *gone)
{
	u32 *count = &node->count[bit - PSI_NR_RARE];

	if (come & BIT(bit)) {
		if (unlikely(!++*count)) {
			/* More was taken away than there was. It mends here. */
			*count = 1;
			WRITE_ONCE(node->flags, PSI_NODE_MISCOUNTED);
		}
	} else if (*gone & BIT(bit)) {
		if (--*count) {
			*gone &= ~BIT(bit);
			/* Have the compiler jump: conditional moves are more work. */
			OPTIMIZER_HIDE_VAR(*gone);
		}
	}
}

/* The same for each of the PSI_RARE_BITS. What is below zero stays away from the others. */
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
 * Count one contributor; node->contrib is right afterwards. The node has no flags that
 * may not get lost, so that nothing has to be read for them here. May PSI_RARE_BITS
 * change (@rare)? If not, they do not in any node above, either.
 */
static __always_inline void node_count(struct psi_node *node, u32 old, u32 new, bool rare)
{
	u32 diff = old ^ new, come, gone;

	if (IS_ENABLED(CONFIG_PSI_DEBUG))
		WARN_ON_ONCE(!rare && diff & PSI_RARE_BITS);

	/* Otherwise it is taken apart again, into more than it was. */
	if (!__builtin_constant_p(diff))
		OPTIMIZER_HIDE_VAR(diff);
	come = diff & new;
	gone = diff & old;

	if (rare)
		count_rare(node, come, &gone);
	count_bit(node, PSI_COUNT_PRODUCTIVE, come, &gone);
	count_bit(node, PSI_COUNT_WAITING, come, &gone);

	node->contrib = (node->contrib & ~gone) | new;
}

/*
 * @contrib has changed: make the states follow from it. Return: those that begin
 * and are to be notified of. So do the next ones.
 */
static __always_inline u32 node_update_states(struct psi_node *node, u32 now)
{
	u32 was = node->states, is = psi_states(node->contrib);
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
	return begun & node->notify;
}

/* Does one of the PSI_RARE_BITS change? */
static __always_inline bool is_rare(u32 old, u32 new)
{
	return (old ^ new) & PSI_RARE_BITS;
}

/* A change of one contributor, in a node that counts, and only there. It is not rare. */
static __always_inline u32 node_account(struct psi_node *node, u32 old, u32 new, u32 now)
{
	u32 before = node->contrib;

	node_count(node, old, new, false);
	return node->contrib == before ? 0 : node_update_states(node, now);
}

/* ------------------------------- Climbing ------------------------------- */

/* Count a change, and turn @c into what the node itself has to contribute now. */
static __always_inline u32 node_pass_up(struct psi_change *c, u32 now)
{
	struct psi_node *node = c->node;
	u32 before;

	if (unlikely(psi_node_follows(node)))
		unfollow(node);

	before = node->contrib;
	node_count(node, c->old, c->new, true);
	if (node->contrib == before) {
		c->node = NULL;
		return 0;
	}

	c->old = before;
	c->new = node->contrib;
	c->node = node->acct_parent;
	return node_update_states(node, now);
}

/* One step of a climb from @below, or from a task if that is NULL. */
static __always_inline u32 climb_step(struct psi_change *c, struct psi_node **below, u32 now)
{
	struct psi_node *node = c->node;
	u32 notify = node_pass_up(c, now);

	/* The other change may have put something in between. */
	*below = *below && (*below)->acct_parent == node ? maybe_follow(node, *below) : node;
	return notify;
}

/*
 * As climb_from(), of what is not rare, as far as no node begins or ends to follow: nothing
 * is called here. Return: the node from which climb_from() has to go on, or NULL; @before is
 * what that one contributed before.
 */
static __always_inline struct psi_node *climb_quickly(struct psi_node *from, u32 *before,
						      u32 now, u32 *notify)
{
	struct psi_node *node;
	u32 was;

	while ((node = from->acct_parent)) {
		if (unlikely(node->flags || is_streak(node, from)))
			return from;

		was = node->contrib;
		node_count(node, *before, from->contrib, false);
		note_source(node, from);
		if (node->contrib == was)
			return NULL;

		*notify |= node_update_states(node, now);
		*before = was;
		from = node;
	}
	return NULL;
}

/* The rest of a change that has come up to @c from @from. */
static __always_inline u32 climb_on(struct psi_change c, struct psi_node *from, u32 now)
{
	u32 notify = 0;

	while (c.node)
		notify |= climb_step(&c, &from, now);
	return notify;
}

/* @from, which has no flags, contributed something else @before: what is above? */
static __always_inline u32 climb_from(struct psi_node *from, u32 before, u32 now)
{
	return climb_on((struct psi_change) { from->acct_parent, before, from->contrib },
			from, now);
}

/* The same, with less work if it can be; of what is not rare. */
static u32 climb(struct psi_node *from, u32 before, u32 now)
{
	u32 notify = 0;

	from = climb_quickly(from, &before, now, &notify);
	if (from)
		notify |= climb_from(from, before, now);
	return notify;
}

/**
 * psi_node_change - one contributor changes
 * @c:   where, from what, to what
 * @now: units
 *
 * Return: has a state begun, in @c.node or above, of which psi_node::notify says
 * that somebody wants to know?
 */
bool psi_node_change(struct psi_change c, u32 now)
{
	struct psi_node *node = c.node;
	u32 notify;

	if (!node)
		return false;

	notify = node_pass_up(&c, now);
	if (!c.node)
		return notify;
	if (unlikely(node->flags || is_rare(c.old, c.new)))
		return notify | climb_on(c, node, now);
	return notify | climb(node, c.old, now);
}

/* Of two paths to the root, is @a the one to climb for them to meet? */
static bool is_deeper(const struct psi_node *a, const struct psi_node *b)
{
	return a && (!b || a->level >= b->level);
}

/*
 * Two contributors of a node that counts change. Mostly the next one becomes what
 * the last one was; then it makes no difference who is who, and only the rest has
 * to be counted. Otherwise the last one goes first, as only one can be on the CPU.
 * @before is what the node contributed. Return: does something above see it change?
 */
static __always_inline bool node_account_both(struct psi_node *node, u32 prev_old, u32 prev_new,
					      u32 next_old, u32 next_new, bool rare, u32 now,
					      u32 *before, u32 *notify)
{
	*before = node->contrib;
	if (prev_old == next_new && next_old == prev_new)
		return false;

	if (likely(prev_old == next_new)) {
		node_count(node, next_old, prev_new, rare);
	} else {
		node_count(node, prev_old, prev_new, rare);
		node_count(node, next_old, next_new, rare);
	}
	if (node->contrib == *before)
		return false;

	*notify |= node_update_states(node, now);
	return node->acct_parent;
}

/*
 * Do both nodes count, and contribute to the same one? Then none is above the other. And is
 * nothing of it rare?
 */
static __always_inline bool are_siblings(struct psi_change prev, struct psi_change next)
{
	const struct psi_node *a = prev.node, *b = next.node;

	return a && b && a != b && !a->flags && !b->flags &&
	       a->acct_parent && a->acct_parent == b->acct_parent &&
	       !a->acct_parent->flags &&
	       !is_rare(prev.old, prev.new) && !is_rare(next.old, next.new);
}

/* A switch between such nodes, as two containers are. Return: as node_account_both(). */
static __always_inline bool switch_siblings(struct psi_change prev, struct psi_change next,
					    u32 now, u32 *before, u32 *notify)
{
	u32 prev_before = prev.node->contrib, next_before = next.node->contrib;

	*notify = node_account(prev.node, prev.old, prev.new, now);
	*notify |= node_account(next.node, next.old, next.new, now);
	return node_account_both(prev.node->acct_parent, prev_before, prev.node->contrib,
				 next_before, next.node->contrib, false, now, before, notify);
}

/* A switch between any nodes; see psi_node_switch(). */
static noinline u32 climb_and_meet(struct psi_change prev, struct psi_change next, u32 now)
{
	struct psi_node *below_prev = NULL, *below_next = NULL;
	u32 notify = 0, before;

	while (prev.node != next.node) {
		if (is_deeper(prev.node, next.node))
			notify |= climb_step(&prev, &below_prev, now);
		else
			notify |= climb_step(&next, &below_next, now);
	}
	if (!prev.node)
		return notify;

	if (unlikely(psi_node_follows(prev.node)))
		unfollow(prev.node);
	if (node_account_both(prev.node, prev.old, prev.new, next.old, next.new, true, now,
			      &before, &notify))
		notify |= climb_from(prev.node, before, now);
	return notify;
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
	u32 before, notify;

	if (!are_siblings(prev, next))
		return climb_and_meet(prev, next, now);

	if (switch_siblings(prev, next, now, &before, &notify))
		notify |= climb(prev.node->acct_parent, before, now);
	return notify;
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
	u8 notify = 0;

	for (; node; node = node->acct_parent) {
		node->times[PSI_IRQ_FULL] += units;
		notify |= node->notify;
	}
	return notify & BIT(PSI_IRQ_FULL);
}

/* ------------------------- The tree, and readers ------------------------- */

/**
 * psi_node_set_parent - a node contributes to another one from now on
 * @node:   the node
 * @parent: the other one, or NULL; above @node, and in the tree
 * @now:    units
 *
 * Return: as psi_node_change(), in or above the node to which it contributed before, or
 * @parent.
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
	/* Else there is nothing to take along: it is as a new one would be. */
	return end->contrib && psi_node_switch(from, to, now);
}

/**
 * psi_node_set_notify - stalls are of interest when they begin
 * @node:   the node, which counts for itself until psi_trigger_watched() says that no stall
 *	   is of interest any more
 * @stalls: mask of them
 */
void psi_node_set_notify(struct psi_node *node, u8 stalls)
{
	node->notify |= stalls;
	if (psi_node_follows(node))
		unfollow(node);
}

/**
 * psi_node_set_idle - it is of interest when the node gets busy, and then stalled
 * @node: an idle node
 *
 * Of the latter, that node notifies to which the first task comes.
 */
void psi_node_set_idle(struct psi_node *node)
{
	node->notify |= BIT(PSI_NONIDLE);
	chain_end(node)->notify |= BIT(PSI_NONIDLE) | PSI_SOME_STATES;
}

/**
 * psi_node_set_unstalled - it is of interest when the node gets stalled
 * @node: a node, idle or not
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
 * psi_node_is_followed - does the parent look at this node?
 * @node: the node
 *
 * May be called at any time for a node to which nothing is contributed: nobody
 * begins to follow such a one.
 *
 * Return: true if so.
 */
bool psi_node_is_followed(const struct psi_node *node)
{
	return node->parent && psi_node_followed(node->parent) == node;
}

/**
 * psi_node_detach - do not follow the node any more
 * @node: the node, which may then leave the tree if it is idle
 */
void psi_node_detach(struct psi_node *node)
{
	if (psi_node_is_followed(node))
		unfollow(node->parent);
}

/**
 * psi_node_states - in which states is the node?
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

/**
 * psi_growth - what the times of a node have grown by since they were folded
 * @folded: times as they were folded last, units modulo 2^32
 * @times:  the times now, units modulo 2^32; those of which the caller wants to know are
 *          turned into what they have grown by, if it is anything
 * @states: mask of them; what they are a part of as well
 *
 * A stall has not lasted for longer than the time not idle, "full" not for longer than
 * "some", and quotas not for longer than PSI_CPU_SOME and PSI_CPU_FULL: a reader's
 * clock may be a little ahead of the one by which a state began. The rest comes later, and
 * so does all if there is no time not idle yet.
 *
 * Return: mask of those that have grown, PSI_NONIDLE among them; 0 if nothing has.
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
	u16 grown = BIT(PSI_NONIDLE);
	u32 left;
	int s;

	times[PSI_NONIDLE] = psi_elapsed(folded[PSI_NONIDLE], times[PSI_NONIDLE]);
	if (!times[PSI_NONIDLE])
		return 0;

	/* What something is a part of comes before it. Most have not grown. */
	for (left = states & ~BIT(PSI_NONIDLE); left; left &= left - 1) {
		s = __ffs(left);
		if (times[s] == folded[s]) {
			times[s] = 0;
			continue;
		}
		times[s] = min(psi_elapsed(folded[s], times[s]), times[part_of[s]]);
		grown |= times[s] ? BIT(s) : 0;
	}
	return grown;
}
