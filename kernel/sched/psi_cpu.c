// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: what psi.c does for the rest of PSI, of which it is a part.
 *
 * Locking: each function that is not static takes the rq locks that it needs, one at a time,
 * or reads by rq->psi_seq.
 */

/* ------------------------------- Cgroups ------------------------------- */

/* Move what is counted of the task to the node where it belongs now. */
static void recount(struct rq *rq, struct task_struct *p, u32 now)
{
	struct psi_change from = { .node = p->psi.node, .old = p->psi.contrib };
	struct psi_change to = { .new = p->psi.contrib };

	if (!p->psi.contrib) {
		p->psi.cpu = -1;
		return;
	}

	/* Interrupt time so far belongs to the old group. */
	if (p->psi.contrib & PSI_ONCPU)
		take_irq_time(rq, p);
	find_node(p, cpu_of(rq));
	to.node = p->psi.node;
	if (to.node != from.node)
		write_switch(rq, from, to, now);
}

/**
 * psi_move_task - a task moves to another group and takes its state along
 * @p:     the task
 * @group: the group, which lives as long as @p is in it
 *
 * Context: any without p->pi_lock; nobody else moves the task.
 */
void psi_move_task(struct task_struct *p, struct psi_group *group)
{
	u32 now;

	scoped_guard(task_rq_lock, p)
		if (p->psi.group != group) {
			now = update_now(scope.rq);
			if (unlikely(p->psi.cause_shard))
				section_move(scope.rq, p, group);
			p->psi.group = group;
			recount(scope.rq, p, now);
		}
}

/**
 * psi_recount_task - psi_group::acct_group of a task's group has changed
 * @p: the task
 *
 * Context: any without p->pi_lock.
 */
void psi_recount_task(struct task_struct *p)
{
	scoped_guard(task_rq_lock, p)
		recount(scope.rq, p, update_now(scope.rq));
}

/* The old and the new parent may be NULL. */
static void set_node_parent(struct rq *rq, struct psi_node *node,
			    struct psi_node *parent, u32 now)
{
	struct psi_node *was = node->parent;
	bool notify;

	nodes_write_begin(rq, now);
	notify = psi_node_set_parent(node, parent, now);
	nodes_write_end(rq);
	/* With one contributor less, "full" may begin. */
	if (notify && was)
		notify_from(was, cpu_of(rq), 0);
	if (notify && parent)
		notify_from(parent, cpu_of(rq), 0);
}

static void set_parents_on(struct rq *rq, struct psi_group * const groups[], unsigned int nr,
			   struct psi_group *parent)
{
	int cpu = cpu_of(rq);
	unsigned int i;
	u32 now;

	guard(rq_lock_irq)(rq);
	now = update_now(rq);
	/* What interrupts have taken so far is not for the groups above from now on. */
	take_irq_time(rq, rq->psi.preempted ?: rcu_dereference_protected(rq->curr, true));
	for (i = 0; i < nr; i++)
		set_node_parent(rq, per_cpu_ptr(groups[i]->nodes, cpu),
				parent ? per_cpu_ptr(parent->nodes, cpu) : NULL, now);
}

/**
 * psi_set_parents - let groups contribute to another one
 * @groups: the groups
 * @nr:     how many, up to PSI_SET_PARENTS_MAX
 * @parent: an ancestor of all of them that is switched on, or NULL
 *
 * Context: may sleep; takes one rq lock after the other.
 */
void psi_set_parents(struct psi_group * const groups[], unsigned int nr,
		     struct psi_group *parent)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		set_parents_on(cpu_rq(cpu), groups, nr, parent);
		cond_resched();
	}
}

static void detach_node(struct rq *rq, struct psi_node *node)
{
	guard(rq_lock_irq)(rq);

	nodes_write_begin(rq, sched_now(rq));
	psi_node_detach(node);
	nodes_write_end(rq);
}

/**
 * psi_nodes_detach - make all but readers under RCU let go of a group's nodes
 * @group: the group, in which nothing can happen
 *
 * Context: may sleep; takes one rq lock after the other.
 */
void psi_nodes_detach(struct psi_group *group)
{
	struct psi_node *node;
	int cpu;

	for_each_possible_cpu(cpu) {
		node = per_cpu_ptr(group->nodes, cpu);
		if (psi_node_is_followed(node))
			detach_node(cpu_rq(cpu), node);
		cond_resched();
	}
}

/* ------------------------- Folds and triggers ------------------------- */

/**
 * psi_exempt_current - do not account the current task, a thread of PSI
 *
 * Context: process context, interrupts on, in no memory stall section; takes the rq lock.
 */
void psi_exempt_current(void)
{
	u32 now;

	scoped_guard(task_rq_lock, current) {
		now = update_now(scope.rq);
		take_irq_time(scope.rq, current);
		current->psi.flags |= PSI_TASK_EXEMPT | PSI_TASK_KTHREAD;
		account_task(scope.rq, current, now);
	}
}

/**
 * psi_cpu_times - times of a node, up to now
 * @node:  the node
 * @cpu:   its CPU
 * @times: PSI_NR_STATES of them, units modulo 2^32
 *
 * Context: any without the CPU's rq lock.
 * Return: mask of the states that the node is in.
 */
u16 psi_cpu_times(const struct psi_node *node, int cpu, u32 times[])
{
	seqcount_t *seq = &cpu_rq(cpu)->psi_seq;
	unsigned int start;
	u16 states;

	guard(rcu)();
	do {
		start = read_seqcount_begin(seq);
		states = psi_node_times(node, reader_now(cpu), times);
	} while (read_seqcount_retry(seq, start));

	return states;
}

/**
 * psi_cpu_is_busy - is the node not idle?
 * @node: the node
 * @cpu:  its CPU
 *
 * Context: any without the CPU's rq lock.
 * Return: true if it is not.
 */
bool psi_cpu_is_busy(const struct psi_node *node, int cpu)
{
	seqcount_t *seq = &cpu_rq(cpu)->psi_seq;
	unsigned int start;
	u16 states;

	guard(rcu)();
	do {
		start = read_seqcount_begin(seq);
		states = psi_node_states(node);
	} while (read_seqcount_retry(seq, start));

	return states;
}

/**
 * psi_cpu_idle - take a CPU out of psi_group::active, unless it is busy or not folded
 * @node: the group's node; then notifies of its next activity and first stall (notify_from())
 * @cpu:  its CPU
 *
 * Context: the thread that folds, interrupts on; takes the CPU's rq lock.
 */
void psi_cpu_idle(struct psi_node *node, int cpu)
{
	u32 times[PSI_NR_STATES];

	guard(rq_lock_irq)(cpu_rq(cpu));

	if (psi_node_states(node))
		return;
	psi_node_times(node, 0, times);		/* no state lasts */
	if (psi_elapsed(node->folded[PSI_NONIDLE], times[PSI_NONIDLE]))
		return;

	/* Under one rq lock: the node's next activity sets the bit again. */
	cpumask_clear_cpu(cpu, node->group->active);
	atomic_dec(&node->group->nr_active);
	psi_node_set_idle(node);
}

/**
 * psi_cpu_unstalled - let a node notify of the next stall
 * @node: the group's node, in which nothing has stalled for a period
 * @cpu:  its CPU
 *
 * Context: the thread that folds, interrupts on; takes the CPU's rq lock.
 * Return: false if it is stalled now.
 */
bool psi_cpu_unstalled(struct psi_node *node, int cpu)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	return psi_node_set_unstalled(node);
}

/**
 * psi_cpu_watch - call psi_trigger_notify() when a state begins
 * @node:  the node
 * @cpu:   its CPU
 * @state: the state, which has triggers
 *
 * Context: interrupts on; takes the CPU's rq lock, which orders this against changes of
 * the node.
 * Return: true if the node is in that state.
 */
bool psi_cpu_watch(struct psi_node *node, int cpu, enum psi_state state)
{
	guard(rq_lock_irq)(cpu_rq(cpu));

	if (!(node->notify & BIT(state)))
		watch_states(node, cpu, BIT(state));
	return psi_node_states(node) & BIT(state);
}
