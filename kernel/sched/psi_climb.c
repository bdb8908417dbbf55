// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: how a change of a task reaches the nodes above. Part of
 * psi_node.c, which says what a node is.
 *
 * What a node contributes to its parent may change with what it counts, and then the parent
 * changes, up to the first one that contributes the same as before: nearly always at once. A
 * context switch is two changes, which climb until they meet.
 *
 * Locking: the caller has the CPU's rq lock, and is between nodes_write_begin() and
 * nodes_write_end().
 */

/* Count a change, and turn @c into the node's own change for the node above. */
static __always_inline u32 node_pass_up(struct psi_change *c, u32 now)
{
	struct psi_node *node = c->node;
	u32 before, after;

	if (unlikely(psi_node_follows(node)))
		unfollow(node);

	before = node->contrib;
	after = node_count(node, c->old, c->new, true);
	if (after == before) {
		c->node = NULL;
		return 0;
	}

	*c = (struct psi_change) { node->acct_parent, before, after };
	return node_update_states(node, after, now);
}

/* One step of a climb from @below, which is NULL for a task. */
static __always_inline u32 climb_step(struct psi_change *c, struct psi_node **below, u32 now)
{
	struct psi_node *node = c->node;
	u32 notify = node_pass_up(c, now);

	/* The other path may have put a node in between. */
	*below = *below && (*below)->acct_parent == node ? maybe_follow(node, *below) : node;
	return notify;
}

/*
 * climb_from() for bits that are not rare, as far as no node begins or ends to follow: it
 * makes no call. Return: the node from which climb_from() has to go on, or NULL; @before
 * is what that node contributed before.
 */
static __always_inline struct psi_node *climb_quickly(struct psi_node *from, u32 *before,
						      u32 now, u32 *notify)
{
	struct psi_node *node;
	u32 was, is;

	while ((node = from->acct_parent)) {
		if (unlikely(node->flags || is_streak(node, from)))
			return from;

		was = node->contrib;
		is = node_count(node, *before, from->contrib, false);
		note_source(node, from);
		if (is == was)
			return NULL;

		*notify |= node_update_states(node, is, now);
		*before = was;
		from = node;
	}
	return NULL;
}

/* The rest of a climb from @from; @c is the next change to count. */
static __always_inline u32 climb_on(struct psi_change c, struct psi_node *from, u32 now)
{
	u32 notify = 0;

	while (c.node)
		notify |= climb_step(&c, &from, now);
	return notify;
}

/* Climb from @from, which has no flags and contributed @before until now. */
static __always_inline u32 climb_from(struct psi_node *from, u32 before, u32 now)
{
	return climb_on((struct psi_change) { from->acct_parent, before, from->contrib },
			from, now);
}

/* The same for bits that are not rare, with less work where possible. */
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
 * Return: true if a state has begun, in @c.node or above, that is in psi_node::notify.
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

/* Two paths to the root climb until they meet: is it @a's turn? */
static bool is_deeper(const struct psi_node *a, const struct psi_node *b)
{
	return a && (!b || a->level >= b->level);
}

/*
 * Two contributors of a node that counts change. Mostly @next becomes what @prev was;
 * then it makes no difference which is which, and only the rest is counted. Otherwise
 * @prev goes first, as only one can be on the CPU. @before is what the node contributed.
 * Return: true if a node above has to count the change.
 */
static __always_inline bool node_account_both(struct psi_node *node, u32 prev_old, u32 prev_new,
					      u32 next_old, u32 next_new, bool rare, u32 now,
					      u32 *before, u32 *notify)
{
	u32 after;

	*before = node->contrib;
	if (prev_old == next_new && next_old == prev_new)
		return false;

	if (likely(prev_old == next_new)) {
		after = node_count(node, next_old, prev_new, rare);
	} else {
		node_count(node, prev_old, prev_new, rare);
		after = node_count(node, next_old, next_new, rare);
	}
	if (after == *before)
		return false;

	*notify |= node_update_states(node, after, now);
	return node->acct_parent;
}

/* Do both nodes count and contribute to the same one, so that neither is above the other? */
static __always_inline bool are_siblings(struct psi_change prev, struct psi_change next)
{
	const struct psi_node *a = prev.node, *b = next.node;

	return a && b && a != b && !a->flags && !b->flags &&
	       a->acct_parent && a->acct_parent == b->acct_parent &&
	       !a->acct_parent->flags &&
	       !is_rare(prev.old, prev.new) && !is_rare(next.old, next.new);
}

/* A switch between siblings, such as two containers. Return: as node_account_both(). */
static __always_inline bool switch_siblings(struct psi_change prev, struct psi_change next,
					    u32 now, u32 *before, u32 *notify)
{
	u32 prev_before = prev.node->contrib, next_before = next.node->contrib;

	*notify = node_account(prev.node, prev.old, prev.new, now);
	*notify |= node_account(next.node, next.old, next.new, now);
	return node_account_both(prev.node->acct_parent, prev_before, prev.node->contrib,
				 next_before, next.node->contrib, false, now, before, notify);
}

/* A switch between any two nodes; see psi_node_switch(). */
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
 * Where the two paths to the root meet, both changes are counted before the states are
 * derived: what cancels out is not seen further up. (Of two paths that are too deep to
 * know their level, one may pass that place alone. That is as right, and more work.)
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
