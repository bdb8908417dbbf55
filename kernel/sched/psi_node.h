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
 * There are three alphabets of bits:
 *
 *	flags	what is true of a task, PSI_TASK_*, in psi_task::flags
 *	contrib	what a contributor (a task, or the node of a child group) adds to
 *		a node: PSI_IOWAIT and so on, in psi_task::contrib and
 *		psi_node::contrib; and PSI_HELD, which stands in psi_change only
 *	states	in which stalls a node is, BIT(enum psi_state), in
 *		psi_node::states
 */

/* flags: what is true of one task */
#define PSI_TASK_RUNNABLE	BIT(0)	/* wants a CPU, has one or not */
#define PSI_TASK_ONCPU		BIT(1)	/* has one */
#define PSI_TASK_IOWAIT		BIT(2)	/* sleeps for io; never with RUNNABLE */
#define PSI_TASK_MEMSTALL	BIT(3)	/* is inside a memory stall section */
#define PSI_TASK_EXEMPT		BIT(4)	/* counts for nothing: idle, PSI's threads */
#define PSI_TASK_WORKER		BIT(5)	/* a thread of PSI itself */
#define PSI_TASK_PREEMPTED	BIT(6)	/* a PSI thread has its CPU for a moment */

#define PSI_TASK_FLAGS		(BIT(7) - 1)

/*
 * contrib: of the first PSI_NR_COUNTS a node has any number of contributors; of
 * the others at most one, because only one task is on the CPU.
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
#define PSI_CONTRIB_BITS	(PSI_COUNTED_BITS | PSI_SINGLE_BITS)

/*
 * With PSI_WAITING, of a child node: whatever waits there is held back by a cpu.max of
 * the child or below it. Only nodes with PSI_NODE_QUOTA are told of it.
 */
#define PSI_HELD		BIT(PSI_NR_COUNTS + 2)

/* states: those whose time a node measures */
enum psi_state {
	PSI_IO_SOME, PSI_IO_FULL,
	PSI_MEM_SOME, PSI_MEM_FULL,
	PSI_CPU_SOME, PSI_CPU_FULL,
	PSI_IRQ_FULL,		/* given as an amount of time, never in a mask */
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

/*
 * Of the time that a node is in PSI_CPU_SOME and PSI_CPU_FULL: for how long did all that
 * waited wait for a cpu.max, not for the CPU? The rest is contention.
 */
enum psi_quota_time {
	PSI_OWN_SOME, PSI_OWN_FULL,
	PSI_ANCESTOR_SOME, PSI_ANCESTOR_FULL,
	PSI_DESCENDANT_SOME, PSI_DESCENDANT_FULL,
	PSI_NR_QUOTA_TIMES,
};

/**
 * struct psi_quota - what a node has, because of a cpu.max at it, above or below it
 * @limit:	that of the node itself if its group has a task group, else that of the
 *		nearest one above that has; NULL if there is no cpu.max there or above.
 *		What holds back that task group holds back this one.
 * @nr_throttled: groups, of this one and those below, that are @throttled
 * @nr_held:	contributors that are PSI_HELD
 * @throttled:	the group's own cpu.max is used up on this CPU
 * @held:	that is so, or that of a group above is
 * @lasting:	mask of enum psi_quota_time: those of @times that go on
 * @own_clock:	time for which the group was @throttled, units modulo 2^32; as with
 *		psi_node::times, less the time at which it began if it still is
 * @ancestor_clock: the same, of @held without @throttled
 * @times:	time of each enum psi_quota_time, units modulo 2^32; of those that are
 *		@lasting, less what its clock was when it began
 * @folded:	@times as they were at the last fold; under psi_group::lock
 *
 * @throttled, @held and the clocks are those of a task group. They stand still where
 * @limit is another one's.
 *
 * Locking: as struct psi_node.
 */
struct psi_quota {
	struct psi_quota *limit;
	u32		nr_throttled;
	u32		nr_held;
	bool		throttled;
	bool		held;
	u8		lasting;
	u32		own_clock;
	u32		ancestor_clock;
	u32		times[PSI_NR_QUOTA_TIMES];
	u32		folded[PSI_NR_QUOTA_TIMES];
};

/* psi_node::flags: the node is not one of those that are quickly done with */
#define PSI_NODE_FOLLOWS	BIT(0)	/* see psi_node::followed */
#define PSI_NODE_QUOTA		BIT(1)	/* here a cpu.max may be what is waited for */
#define PSI_NODE_TRACED		BIT(2)	/* somebody wants to see its states change */
#define PSI_NODE_MISCOUNTED	BIT(3)	/* a count has been below zero, and was mended */

/* These count, each change by itself. */
#define PSI_NODE_SLOW		(PSI_NODE_QUOTA | PSI_NODE_TRACED)

/**
 * struct psi_node_debug - what psi_debug.c finds out about a node
 * @count:    what it should have counted
 * @held:     how many contributors should be PSI_HELD
 * @throttled: how many groups, of this one and those below, are out of their cpu.max
 * @contrib:  what should be contributed to it
 * @below:    what all tasks of the group and below it contribute
 * @contended: does one of them wait that no cpu.max below the group holds back?
 * @is_timed: @times, @quota_times and @at are valid
 * @at:       when it was looked at last, units
 * @times:    its times at that moment, units
 * @quota_times: the same
 *
 * Locking: the CPU's rq lock.
 */
struct psi_node_debug {
	u32		count[PSI_NR_COUNTS];
	u32		held;
	u32		throttled;
	u8		contrib;
	u8		below;
	bool		contended;
	bool		is_timed;
	u32		at;
	u32		times[PSI_NR_STATES];
	u32		quota_times[PSI_NR_QUOTA_TIMES];
};

/**
 * struct psi_node - one group on one CPU
 * @count:	contributors that have each of the PSI_COUNTED_BITS
 * @times:	time spent in each state, units modulo 2^32; of those that still last,
 *		less the time at which they began. While it follows, what has to be
 *		added to @followed's times to get the node's.
 * @acct_parent: the node that accounts for what this one contributes, or NULL; not
 *		valid while the node follows
 * @contrib:	PSI_* bits that at least one contributor has
 * @states:	mask of enum psi_state that follows from @contrib
 * @notify:	states of which the caller wants to know when they begin
 * @level:	distance from the root, 255 for all that are further away
 * @flags:	PSI_NODE_*; 0 of nearly all nodes. (Signed, or else the compiler keeps it in
 *		a register, as the 0 for @streak, and a change has to save one more.)
 * @streak:	how many changes in a row came from @source
 * @source:	which node was the last to contribute a change, as source_id() says
 * @followed:	the child whose state this node has, or NULL. With PSI_NODE_FOLLOWS it
 *		is the only contributor: whatever it is, the node is. @count, @contrib
 *		and @states are not valid then.
 * @parent:	node of the group above that is switched on, same CPU, or NULL
 * @group:	whose node it is; fixed
 * @folded:	times as they were at the last fold; under psi_group::lock
 * @quota:	NULL unless there is a cpu.max at the group, above or below it; once
 *		there, it stays
 * @debug:	with CONFIG_PSI_DEBUG
 *
 * All that a change touches stands in the first 64 bytes, one cache line.
 *
 * Locking: where no other lock is named, written under the CPU's rq lock inside of
 * its psi_seq, and read under either.
 */
struct psi_node {
	u32		count[PSI_NR_COUNTS];
	u32		times[PSI_NR_STATES];
	struct psi_node	*acct_parent;
	u8		contrib;
	u8		states;
	u8		notify;
	u8		level;
	s8		flags;
	u8		streak;
	u16		source;

	struct psi_node	*followed;
	struct psi_node	*parent;
	struct psi_group *group;
	u32		folded[PSI_NR_STATES];
	struct psi_quota *quota;
#ifdef CONFIG_PSI_DEBUG
	struct psi_node_debug debug;
#endif
} __aligned(64);

/**
 * struct psi_change - one contributor of a node changes
 * @node: the node, or NULL: there is nothing to do
 * @old:  contrib bits that the contributor had
 * @new:  those that it has now
 */
struct psi_change {
	struct psi_node	*node;
	u32		old;
	u32		new;
};

/**
 * psi_node_follows - has the node the state of psi_node::followed?
 * @node: the node
 *
 * Return: true if so; false if it counts.
 */
static inline bool psi_node_follows(const struct psi_node *node)
{
	return node->flags & PSI_NODE_FOLLOWS;
}

void psi_node_setup(void);
u8 psi_task_contrib(u8 flags);
u8 psi_states(u8 contrib);
void psi_node_init(struct psi_node *node, struct psi_node *parent);
bool psi_node_change(struct psi_change c, u32 now);
bool psi_node_switch(struct psi_change prev, struct psi_change next, u32 now);
bool psi_node_irq(struct psi_node *node, u32 units);
bool psi_take_growth(u32 folded[], u32 times[]);
bool psi_node_set_parent(struct psi_node *node, struct psi_node *parent, u32 now);
void psi_node_set_notify(struct psi_node *node, enum psi_state state);
bool psi_node_is_followed(const struct psi_node *node);
void psi_node_forget(struct psi_node *node);
u8 psi_node_states(const struct psi_node *node);
u8 psi_node_times(const struct psi_node *node, u32 now, u32 times[]);
void psi_node_set_traced(struct psi_node *node, bool traced);
void psi_node_set_limit(struct psi_node *node, struct psi_quota *limit, u32 now);
void psi_node_set_throttled(struct psi_node *node, bool throttled, bool held, u32 now);
void psi_node_quota_times(const struct psi_node *node, u32 now, u32 times[]);
void psi_take_quota_growth(u32 folded[], u32 times[], const u32 growth[]);

/* psi_trace.c */
void psi_trace_states(const struct psi_node *node, u8 was);

/* psi_trigger.c */
u8 psi_trigger_unwatched(struct psi_group *group, u8 states);

#endif /* _KERNEL_SCHED_PSI_NODE_H */
