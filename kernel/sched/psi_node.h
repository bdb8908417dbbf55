/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One group on one CPU. See psi_node.c.
 */
#ifndef _KERNEL_SCHED_PSI_NODE_H
#define _KERNEL_SCHED_PSI_NODE_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct psi_group;

/*
 * Three sets of bits:
 *
 *  - flags: what is true of a task, PSI_TASK_*, in psi_task::flags
 *  - contrib: what a contributor (a task, or the node of a child group) adds to a node,
 *    PSI_IOWAIT and so on, in psi_task::contrib and psi_node::contrib
 *  - states: the stalls that a node is in, BIT(enum psi_state), in psi_node::states
 */

/* flags */
#define PSI_TASK_RUNNABLE	BIT(0)	/* wants a CPU, has one or not */
#define PSI_TASK_ONCPU		BIT(1)	/* has one */
#define PSI_TASK_IOWAIT		BIT(2)	/* sleeps for io; never with RUNNABLE */
#define PSI_TASK_MEMSTALL	BIT(3)	/* is inside a memory stall section */
#define PSI_TASK_EXEMPT		BIT(4)	/* counts for nothing: idle, PSI's threads */
#define PSI_TASK_KTHREAD	BIT(5)	/* a thread of PSI itself */
#define PSI_TASK_PREEMPTED	BIT(6)	/* a PSI thread has its CPU for a moment */
#define PSI_TASK_THROTTLED	BIT(7)	/* a cpu.max keeps it from getting one */

#define PSI_TASK_FLAGS		(BIT(8) - 1)

/*
 * contrib: any number of contributors of a node can have each of the first PSI_NR_COUNTS
 * bits, but at most one the others, as only one task is on the CPU. The first PSI_NR_RARE
 * do not change at most switches.
 */
enum {
	PSI_COUNT_IOWAIT,
	PSI_COUNT_MEMSTALL,
	PSI_COUNT_THROTTLED,
	PSI_NR_RARE,
	PSI_COUNT_PRODUCTIVE = PSI_NR_RARE,
	PSI_COUNT_WAITING,
	PSI_NR_COUNTS,
};

#define PSI_IOWAIT		BIT(PSI_COUNT_IOWAIT)
#define PSI_MEMSTALL		BIT(PSI_COUNT_MEMSTALL)
#define PSI_THROTTLED		BIT(PSI_COUNT_THROTTLED)  /* RUNNABLE, THROTTLED, no ONCPU */
#define PSI_PRODUCTIVE		BIT(PSI_COUNT_PRODUCTIVE) /* RUNNABLE, no MEMSTALL */
#define PSI_WAITING		BIT(PSI_COUNT_WAITING)	  /* RUNNABLE, no THROTTLED, no ONCPU */
#define PSI_ONCPU		BIT(PSI_NR_COUNTS)
#define PSI_ONCPU_MEMSTALL	BIT(PSI_NR_COUNTS + 1)

#define PSI_COUNTED_BITS	(BIT(PSI_NR_COUNTS) - 1)
#define PSI_RARE_BITS		(BIT(PSI_NR_RARE) - 1)
#define PSI_SINGLE_BITS		(PSI_ONCPU | PSI_ONCPU_MEMSTALL)
#define PSI_RUNNING_BITS	(PSI_WAITING | PSI_THROTTLED | PSI_ONCPU)
#define PSI_CONTRIB_BITS	(PSI_COUNTED_BITS | PSI_SINGLE_BITS)

/*
 * states: those whose time a node measures. The last two are the part of PSI_CPU_SOME and
 * PSI_CPU_FULL in which a cpu.max throttles all tasks that wait; the rest is contention.
 * Nodes do not notify of them.
 */
enum psi_state {
	PSI_IO_SOME, PSI_IO_FULL,
	PSI_MEM_SOME, PSI_MEM_FULL,
	PSI_CPU_SOME, PSI_CPU_FULL,
	PSI_IRQ_FULL,		/* accounted as an amount of time, never in a mask */
	PSI_NR_STALLS,
	PSI_NONIDLE = PSI_NR_STALLS,	/* the weight of the others */
	PSI_QUOTA_SOME, PSI_QUOTA_FULL,
	PSI_NR_STATES,
};

#define PSI_ALL_STATES		((u16)GENMASK(PSI_NR_STATES - 1, 0))
#define PSI_STALLS		((u16)GENMASK(PSI_NR_STALLS - 1, 0))

/* A stalled task is in one of these, except for interrupts. */
#define PSI_SOME_STATES		(BIT(PSI_IO_SOME) | BIT(PSI_MEM_SOME) | BIT(PSI_CPU_SOME))

/*
 * Nodes count time in units of 1024 ns in 32 bits: enough for 68 minutes between two folds.
 * Stamps are cut to units before they are added, so what one interval loses the next gains.
 */
#define PSI_UNIT_SHIFT		10

/**
 * psi_units - convert a time stamp to the units of nodes
 * @ns: a clock, ns
 *
 * Return: the clock in units of 1024 ns, modulo 2^32.
 */
static inline u32 psi_units(u64 ns)
{
	return ns >> PSI_UNIT_SHIFT;
}

/*
 * A write may be older than a time that has been read already, by up to this many units
 * (275 s): clocks of two CPUs differ a little, and a virtual CPU may be stopped between
 * reading the clock and writing.
 */
#define PSI_CLOCK_SKEW		BIT(28)

/**
 * psi_elapsed - units from one stamp, or one running time, to a later one
 * @from: the earlier, units
 * @to:   the later, units
 *
 * Return: the difference; 0 if @to is a little before @from, as stamps of two CPUs can be.
 */
static inline u32 psi_elapsed(u32 from, u32 to)
{
	u32 units = to - from;

	return units >= -(u32)PSI_CLOCK_SKEW ? 0 : units;
}

/* psi_node::flags: with any of these, a change has to take the slow path */
#define PSI_NODE_FOLLOWS	BIT(0)	/* see psi_node_followed() */
#define PSI_NODE_MISCOUNTED	BIT(1)	/* a count was below zero, and was corrected */

/**
 * struct psi_node_debug - what psi_debug.c finds out about a node
 * @count:    what it should have counted
 * @contrib:  what should be contributed to it
 * @below:    what all tasks of the group and below it contribute
 * @is_timed: @times and @at are valid
 * @at:       time of the last check, units
 * @times:    the node's times then, units
 *
 * Locking: the CPU's rq lock.
 */
struct psi_node_debug {
	u32		count[PSI_NR_COUNTS];
	u8		contrib;
	u8		below;
	bool		is_timed;
	u32		at;
	u32		times[PSI_NR_STATES];
};

/*
 * Bits of psi_node::rare for each count that rarely changes: enough for two million
 * contributors on one CPU, of the four million tasks that there can be.
 */
#define PSI_RARE_SHIFT		21
#define PSI_RARE_MAX		(BIT(PSI_RARE_SHIFT) - 1)

/**
 * struct psi_node - one group on one CPU
 * @rare:	contributors that have each of the PSI_RARE_BITS
 * @count:	the same of the other PSI_COUNTED_BITS; use psi_node_count() for all of them
 * @acct_parent: the node that accounts for what this one contributes, or NULL
 * @followed:	with PSI_NODE_FOLLOWS instead of that: the child whose state this node has,
 *		see psi_node_followed(). That is the only contributor; counts, @contrib and
 *		@states are not valid then.
 * @contrib:	PSI_* bits that at least one contributor has
 * @notify:	states whose begin the caller wants to know of
 * @level:	distance from the root, at most 255
 * @flags:	PSI_NODE_*; 0 for nearly all nodes. (Signed, or else the compiler keeps it in
 *		a register, and a change has to save one more.)
 * @states:	mask of enum psi_state that follows from @contrib
 * @source:	the node that contributed the last change, and how many changes in a row,
 *		see source_id()
 * @times:	time spent in each state, units modulo 2^32; less the time of its begin if
 *		it still lasts. While the node follows, what to add to the times of the
 *		followed one.
 * @folded:	@times at the last fold; under psi_group::seq
 * @parent:	node of the group above that is switched on, same CPU, or NULL
 * @group:	whose node it is; fixed
 * @debug:	with CONFIG_PSI_DEBUG
 *
 * A change touches only the first 64 bytes, one cache line, except for the time of quotas.
 *
 * Locking: unless noted otherwise, written under the CPU's rq lock inside of its psi_seq,
 * and read under either.
 */
struct psi_node {
	u64		rare;
	u32		count[PSI_NR_COUNTS - PSI_NR_RARE];
	union {
		struct psi_node	*acct_parent;
		unsigned long	followed;
	};
	u8		contrib;
	u8		notify;
	u8		level;
	s8		flags;
	u16		states;
	u16		source;
	u32		times[PSI_NR_STATES];

	u32		folded[PSI_NR_STATES];
	struct psi_node	*parent;
	struct psi_group *group;
#ifdef CONFIG_PSI_DEBUG
	struct psi_node_debug debug;
#endif
} __aligned(64);

/**
 * struct psi_change - one contributor of a node changes
 * @node: the node; NULL: there is nothing to do
 * @old:  contrib bits that the contributor had
 * @new:  those that it has now
 */
struct psi_change {
	struct psi_node	*node;
	u32		old;
	u32		new;
};

/**
 * psi_node_follows - does the node have the state of a child?
 * @node: the node
 *
 * Return: true if so; false if it counts.
 */
static inline bool psi_node_follows(const struct psi_node *node)
{
	return node->flags & PSI_NODE_FOLLOWS;
}

/* In psi_node::followed; no bit of a pointer. */
#define PSI_FOLLOWED		1UL

/**
 * psi_node_followed - the child whose state the node has
 * @node: the node
 *
 * Return: the child, or NULL.
 */
static inline struct psi_node *psi_node_followed(const struct psi_node *node)
{
	unsigned long followed = READ_ONCE(node->followed);

	return followed & PSI_FOLLOWED ? (struct psi_node *)(followed - PSI_FOLLOWED) : NULL;
}

/**
 * psi_node_count - contributors that have a bit
 * @node: the node, which counts
 * @bit:  PSI_COUNT_*
 *
 * Return: how many.
 */
static inline u32 psi_node_count(const struct psi_node *node, int bit)
{
	if (bit >= PSI_NR_RARE)
		return node->count[bit - PSI_NR_RARE];
	return (node->rare >> (bit * PSI_RARE_SHIFT)) & PSI_RARE_MAX;
}

u8 psi_task_contrib(u8 flags);
u16 psi_states(u32 contrib);
void psi_node_init(struct psi_node *node, struct psi_node *parent);
bool psi_node_change(struct psi_change c, u32 now);
bool psi_node_switch(struct psi_change prev, struct psi_change next, u32 now);
bool psi_node_irq(struct psi_node *node, u32 units);
u16 psi_growth(const u32 folded[], u32 times[], u16 states);
bool psi_node_set_parent(struct psi_node *node, struct psi_node *parent, u32 now);
void psi_node_set_notify(struct psi_node *node, u8 stalls);
void psi_node_set_idle(struct psi_node *node);
bool psi_node_set_unstalled(struct psi_node *node);
bool psi_node_is_followed(const struct psi_node *node);
void psi_node_detach(struct psi_node *node);
u16 psi_node_states(const struct psi_node *node);
u16 psi_node_times(const struct psi_node *node, u32 now, u32 times[]);

/* psi_trigger.c */
u8 psi_trigger_watched(const struct psi_group *group);

#endif /* _KERNEL_SCHED_PSI_NODE_H */
