/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One group on one CPU. See psi_node.c.
 */
#ifndef _KERNEL_SCHED_PSI_NODE_H
#define _KERNEL_SCHED_PSI_NODE_H

#include <linux/bits.h>
#include <linux/types.h>

struct psi_group;

/*
 * What is true of one task, as its psi_task keeps it.
 */
#define PSI_TASK_RUNNABLE	BIT(0)	/* wants a CPU, has one or not */
#define PSI_TASK_ONCPU		BIT(1)	/* has one */
#define PSI_TASK_IOWAIT		BIT(2)	/* sleeps for io; never with RUNNABLE */
#define PSI_TASK_MEMSTALL	BIT(3)	/* is inside a memory stall section */
#define PSI_TASK_EXEMPT		BIT(4)	/* counts for nothing: idle, observers */
#define PSI_TASK_OBSERVER	BIT(5)	/* a thread of PSI itself */
#define PSI_TASK_LENT		BIT(6)	/* an observer has its CPU for a moment */

#define PSI_TASK_BITS		(BIT(7) - 1)

/*
 * What one contributor (a task, or a child node) adds to a node. Of the first
 * PSI_NR_COUNTS a node has any number; of the others at most one contributor,
 * because only one task is on the CPU.
 */
enum {
	PSI_COUNT_IOWAIT,
	PSI_COUNT_MEMSTALL,
	PSI_COUNT_PRODUCTIVE,
	PSI_COUNT_WAITING,
	PSI_NR_COUNTS,
};

#define PSI_IOWAIT		BIT(PSI_COUNT_IOWAIT)
#define PSI_MEMSTALL		BIT(PSI_COUNT_MEMSTALL)
#define PSI_PRODUCTIVE		BIT(PSI_COUNT_PRODUCTIVE) /* RUNNABLE, no MEMSTALL */
#define PSI_WAITING		BIT(PSI_COUNT_WAITING)	  /* RUNNABLE, no ONCPU */
#define PSI_ONCPU		BIT(PSI_NR_COUNTS)
#define PSI_ONCPU_MEMSTALL	BIT(PSI_NR_COUNTS + 1)

#define PSI_COUNTED_BITS	(BIT(PSI_NR_COUNTS) - 1)
#define PSI_SINGLE_BITS		(PSI_ONCPU | PSI_ONCPU_MEMSTALL)
#define PSI_RUNNING_BITS	(PSI_WAITING | PSI_ONCPU)
#define PSI_NODE_BITS		(PSI_COUNTED_BITS | PSI_SINGLE_BITS)

/* The states whose time a node measures. */
enum psi_state {
	PSI_IO_SOME, PSI_IO_FULL,
	PSI_MEM_SOME, PSI_MEM_FULL,
	PSI_CPU_SOME, PSI_CPU_FULL,
	PSI_IRQ_FULL,		/* told as an amount of time, never in a mask */
	PSI_NR_STALLS,
	PSI_NONIDLE = PSI_NR_STALLS,	/* the weight of the others */
	PSI_NR_STATES,
};

/*
 * Times of a node are counted in units of 1024 ns in 32 bits: enough for 68
 * minutes between two folds. Time stamps are cut to units before they are
 * added, so what one interval loses the next one gains.
 */
#define PSI_UNIT_SHIFT		10

/**
 * psi_units - cut a time stamp to the unit that nodes count in
 * @ns: a clock, ns
 *
 * Return: the clock in units of 1024 ns, modulo 2^32.
 */
static inline u32 psi_units(u64 ns)
{
	return ns >> PSI_UNIT_SHIFT;
}

/*
 * What is written down with an older time than somebody has already read may be
 * this much older (275 s), in units: clocks of two CPUs differ a little, and a
 * virtual CPU may be stopped between looking at the clock and writing.
 */
#define PSI_CLOCK_SKEW		BIT(28)

/**
 * psi_elapsed - units from one stamp, or one running time, to a later one
 * @from: the earlier, units
 * @to:   the later, units
 *
 * Return: the difference; 0 if @to is a little before @from, as stamps of two
 * CPUs can be.
 */
static inline u32 psi_elapsed(u32 from, u32 to)
{
	u32 units = to - from;

	return units >= -(u32)PSI_CLOCK_SKEW ? 0 : units;
}

/**
 * struct psi_node - one group on one CPU
 * @count:	contributors that have each of the PSI_COUNTED_BITS
 * @times:	time spent in each state, units modulo 2^32; of those that still last,
 *		less the time at which they began. While @following, what has to be
 *		added to @child's times to get the node's.
 * @up:		the node that this one hands its bits up to, or NULL; not valid
 *		while @following
 * @bits:	PSI_* bits that at least one contributor has
 * @states:	mask of enum psi_state that follows from @bits
 * @tell:	states of which the caller wants to know when they begin
 * @level:	distance from the root, 255 for all that are further away
 * @following:	@child is the only contributor: whatever it is, the node is.
 *		@count, @bits and @states are not valid then.
 * @streak:	how many changes in a row came from @source
 * @source:	which node was the last to hand something up, as source_id() says
 * @child:	the child that is followed, or NULL
 * @parent:	node of the parent group on the same CPU, or NULL
 * @group:	whose node it is
 * @folded:	times as they were at the last fold; belongs to the folder
 *
 * All that a change touches stands in the first 64 bytes, one cache line.
 */
struct psi_node {
	u32		count[PSI_NR_COUNTS];
	u32		times[PSI_NR_STATES];
	struct psi_node	*up;
	u8		bits;
	u8		states;
	u8		tell;
	u8		level;
	bool		following;
	u8		streak;
	u16		source;

	struct psi_node	*child;
	struct psi_node	*parent;
	struct psi_group *group;
	u32		folded[PSI_NR_STATES];
} __aligned(64);

/**
 * struct psi_change - one contributor of a node changes
 * @node: the node, or NULL: there is nothing to do
 * @old:  PSI_* bits that the contributor had
 * @new:  PSI_* bits that it has now
 */
struct psi_change {
	struct psi_node	*node;
	u32		old;
	u32		new;
};

void psi_node_setup(void);
u8 psi_task_bits(u8 state);
u8 psi_states(u8 bits);
void psi_node_init(struct psi_node *node, struct psi_node *parent);
bool psi_node_change(struct psi_change c, u32 now);
bool psi_node_switch(struct psi_change prev, struct psi_change next, u32 now);
bool psi_node_irq(struct psi_node *node, u32 units);
bool psi_node_set_parent(struct psi_node *node, struct psi_node *parent, u32 now);
void psi_node_set_tell(struct psi_node *node, enum psi_state state, bool tell);
bool psi_node_is_followed(const struct psi_node *node);
void psi_node_forget(struct psi_node *node);
bool psi_node_miscounted(void);
u8 psi_node_states(const struct psi_node *node);
u8 psi_node_times(const struct psi_node *node, u32 now, u32 times[]);

#endif /* _KERNEL_SCHED_PSI_NODE_H */
