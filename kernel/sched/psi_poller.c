// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: the threads that sample totals for triggers. Part of
 * psi_trigger.c, which describes the objects and the locks.
 */

static struct psi_monitors *monitors_of(const struct psi_monitor *m)
{
	return &m->group->monitors[m->poller - psi_pollers];
}

static bool is_resting(const struct psi_monitor *m)
{
	return monitors_of(m)->resting & BIT(m->state);
}

static void set_resting(const struct psi_monitor *m, bool rests)
{
	struct psi_monitors *ms = monitors_of(m);

	WRITE_ONCE(ms->resting, rests ? ms->resting | BIT(m->state) :
					ms->resting & ~BIT(m->state));
}

static bool is_queued(const struct psi_monitor *m)
{
	return !RB_EMPTY_NODE(&m->next_sample.node);
}

static void dequeue(struct psi_monitor *m)
{
	if (is_queued(m))
		timerqueue_del(&m->poller->queue, &m->next_sample);
}

/* All triggers have an event that nobody has taken. */
static bool is_idle(const struct psi_monitor *m)
{
	return list_empty(&m->triggers);
}

static ktime_t sample_time(const struct psi_monitor *m, u64 now)
{
	return ns_to_ktime(psi_track_next(&m->track, now, m->next_total, m->next_end));
}

static void queue_monitor(struct psi_monitor *m, u64 now)
{
	set_resting(m, false);
	dequeue(m);
	if (is_idle(m))
		return;
	m->next_sample.expires = sample_time(m, now);
	timerqueue_add(&m->poller->queue, &m->next_sample);
}

static void resume(struct psi_monitor *m, u64 now)
{
	psi_track_resume(&m->track, now);
	queue_monitor(m, now);
}

/*
 * Nothing has happened since the total was @seen. From now on, nodes notify when the
 * state begins. Return: false if it has begun already.
 */
static bool rearm_nodes(struct psi_group *group, struct psi_monitors *ms, enum psi_state state,
			u64 seen)
{
	u64 when;
	int cpu;

	/*
	 * A full barrier, which pairs with the one in psi_group_activate(): a CPU that is
	 * not yet in @active will notify. On any other, a state that has begun without
	 * notifying has done so before our turn with the rq lock: either it still lasts,
	 * or the total has grown.
	 */
	atomic_fetch_andnot(BIT(state), &ms->notified);
	for_each_cpu(cpu, group->active) {
		if (psi_cpu_watch(per_cpu_ptr(group->nodes, cpu), cpu, state))
			return false;
		cond_resched();
	}
	return psi_group_total(group, state, &when) <= seen;
}

/* The thread works on a monitor without the lock. */
static void drop_lock(struct psi_poller *p, struct psi_monitor *m)
	__releases(&p->lock)
{
	p->current_monitor = m;
	p->current_group = m->group;
	spin_unlock(&p->lock);
}

/* Return: false if the monitor has gone. */
static bool retake_lock(struct psi_poller *p)
	__acquires(&p->lock)
{
	bool stays;

	spin_lock(&p->lock);
	stays = p->current_monitor;
	p->current_monitor = NULL;
	p->current_group = NULL;
	return stays;
}

/* By the last point, so that the end of each window has been seen. */
static bool is_quiet(const struct psi_monitor *m)
{
	return m->track.point >= m->track.grown_at + m->size_max;
}

/* The monitor seems to have nothing more to see. Ask the CPUs. */
static void try_to_rest(struct psi_poller *p, struct psi_monitor *m, u64 now)
{
	struct psi_monitors *ms = monitors_of(m);
	struct psi_group *group = m->group;
	enum psi_state state = m->state;
	u64 seen = m->track.seen;
	bool over;

	drop_lock(p, m);
	over = rearm_nodes(group, ms, state, seen);
	if (!retake_lock(p))
		return;

	/* The state may have begun since then, or there is a new trigger. */
	if (over && !(atomic_read(&ms->notified) & BIT(state)) && is_quiet(m)) {
		set_resting(m, true);
		return;
	}
	/* Nodes that were made to notify need not wake the thread for that. */
	atomic_or(BIT(state), &ms->notified);
	resume(m, now);
}

static const char * const stall_names[PSI_NR_STALLS] = {
	[PSI_IO_SOME] = "io_some", [PSI_IO_FULL] = "io_full",
	[PSI_MEM_SOME] = "memory_some", [PSI_MEM_FULL] = "memory_full",
	[PSI_CPU_SOME] = "cpu_some", [PSI_CPU_FULL] = "cpu_full",
	[PSI_IRQ_FULL] = "irq_full",
};

/*
 * No key, so that all waiters ask the file, and the first one gets the event: with
 * EPOLLPRI, io_uring would ignore the wakeup, and aio would not ask. And wake all: an
 * exclusive waiter for something else would keep the event from others.
 */
static void wake_waiters(wait_queue_head_t *wait)
{
	wake_up_all(wait);
}

static void fire(struct psi_trigger *t, u64 stall)
{
	struct psi_monitor *m = t->monitor;

	trace_psi_trigger_fire(m->group->id, stall_names[m->state], stall, t->window.threshold,
			       t->window.size);
	list_del_init(&t->link);
	WRITE_ONCE(t->event, 1);
	wake_waiters(t->wait);
}

/* Update which sample of the monitor will matter next. */
static void expect(struct psi_monitor *m, const struct psi_window *w)
{
	m->next_total = min(m->next_total, psi_window_least_total(w));
	m->next_end = min(m->next_end, w->end);
	m->next_size = min(m->next_size, w->size);
}

/* Give one of those that share @t's window its own, before @t in the list. */
static struct psi_trigger *part(struct psi_trigger *t)
{
	struct psi_trigger *other = list_first_entry(&t->same, struct psi_trigger, link);

	other->window = t->window;
	other->window.threshold = other->threshold;
	list_move_tail(&other->link, &t->link);
	return other;
}

/* Share the window of the trigger before, if the two are the same now. */
static void join_previous(struct psi_trigger *t)
{
	struct psi_trigger *prev = list_prev_entry(t, link);

	if (list_entry_is_head(prev, &t->monitor->triggers, link) ||
	    &prev->link == &t->monitor->poller->cursor ||
	    !psi_window_is_same(&prev->window, &t->window))
		return;
	prev->window.threshold = min(prev->window.threshold, t->window.threshold);
	list_splice_init(&t->same, &prev->same);
	list_move(&t->link, &prev->same);
}

/*
 * Return: the trigger to continue with after a pause, or NULL for no pause: @next after
 * an event, as it may have many waiters; @t while others share its window.
 */
static struct psi_trigger *visit(struct psi_trigger *t, struct psi_trigger *next)
{
	struct psi_monitor *m = t->monitor;
	struct psi_window w;
	bool event;
	u64 stall;

	if (list_empty(&t->same))
		t->window.threshold = t->threshold;
	w = t->window;
	event = psi_window_check(&w, &m->track, &stall);
	if (event && !list_empty(&t->same)) {
		visit(part(t), t);
		return t;
	}
	t->window = w;

	trace_psi_trigger_look(m->group->id, stall_names[m->state], stall, w.threshold, w.size);
	if (event) {
		fire(t, stall);
		return next;
	}
	expect(m, &t->window);
	join_previous(t);
	return NULL;
}

/* Triggers that are visited per hold of the lock. */
#define PSI_VISITS	32

/* New triggers are added at the end. Return: false if the monitor has gone. */
static bool visit_triggers(struct psi_poller *p, struct psi_monitor *m)
{
	struct psi_trigger *t, *next, *resume;
	bool more;
	int n;

	m->next_total = U64_MAX;
	m->next_end = U64_MAX;
	m->next_size = U64_MAX;
	list_add(&p->cursor, &m->triggers);
	do {
		n = 0;
		t = list_entry(&p->cursor, struct psi_trigger, link);
		list_for_each_entry_safe_continue(t, next, &m->triggers, link) {
			resume = visit(t, next);
			if (resume || ++n == PSI_VISITS)
				break;
		}
		more = !list_entry_is_head(t, &m->triggers, link);
		if (more) {
			list_move_tail(&p->cursor, resume ? &resume->link : &next->link);
			drop_lock(p, m);
			cond_resched();
			if (!retake_lock(p))
				return false;
		}
	} while (more);
	list_del_init(&p->cursor);
	if (!is_idle(m))
		m->track.step = div_u64(m->next_size, PSI_SAMPLES_PER_WINDOW);
	return true;
}

static bool is_due(const struct psi_monitor *m)
{
	return m->track.point_total >= m->next_total || m->track.point >= m->next_end ||
	       trace_psi_trigger_look_enabled();
}

static void sample_monitor(struct psi_poller *p, struct psi_monitor *m)
{
	struct psi_group *group = m->group;
	enum psi_state state = m->state;
	u64 when, total;

	dequeue(m);
	drop_lock(p, m);
	total = psi_group_total(group, state, &when);
	if (!retake_lock(p))
		return;

	if (psi_track_sample(&m->track, when, total) && is_due(m) && !visit_triggers(p, m))
		return;
	if (is_quiet(m))
		try_to_rest(p, m, when);
	else
		queue_monitor(m, when);
}

static void resume_notified(struct psi_monitors *ms)
{
	int notified = atomic_fetch_andnot(PSI_NOTIFY_PENDING, &ms->notified);
	struct psi_monitor *m;

	list_for_each_entry(m, &ms->monitors, member)
		if (is_resting(m) && notified & BIT(m->state))
			resume(m, ktime_get_ns());
}

static bool take_one_pending(struct psi_poller *p)
{
	struct llist_node *node = llist_del_first(&p->pending);

	if (node)
		resume_notified(llist_entry(node, struct psi_monitors, pending));
	return node;
}

static struct psi_monitor *first_monitor(struct psi_poller *p)
{
	struct timerqueue_node *node = timerqueue_getnext(&p->queue);

	return node ? container_of(node, struct psi_monitor, next_sample) : NULL;
}

/* May drop the lock for a while. Return: false if there is nothing to do at @now. */
static bool poll_one(struct psi_poller *p, u64 now)
{
	struct psi_monitor *m;

	if (take_one_pending(p))
		return true;
	m = first_monitor(p);
	if (!m || m->next_sample.expires > ns_to_ktime(now))
		return false;
	sample_monitor(p, m);
	return true;
}

/* Return: true if there may be more to do at @now; else @next says when. */
static bool poll_step(struct psi_poller *p, u64 now, ktime_t *next)
{
	struct psi_monitor *first;
	bool more;

	spin_lock(&p->lock);
	more = poll_one(p, now);
	first = first_monitor(p);
	*next = first ? first->next_sample.expires : KTIME_MAX;
	spin_unlock(&p->lock);

	return more;
}

/* Hard, because a soft one may need another thread, which would be activity. */
static enum hrtimer_restart poller_timer_fn(struct hrtimer *timer)
{
	wake_poller(container_of(timer, struct psi_poller, timer));
	return HRTIMER_NORESTART;
}

static void sleep_unless_woken(struct psi_poller *p, ktime_t until)
{
	if (until == KTIME_MAX)
		hrtimer_cancel(&p->timer);
	else
		hrtimer_start(&p->timer, until, HRTIMER_MODE_ABS_HARD);

	set_current_state(TASK_IDLE);
	if (!READ_ONCE(p->woken))
		schedule();
	__set_current_state(TASK_RUNNING);
}

static int psi_poll_thread(void *poller)
{
	struct psi_poller *p = poller;
	ktime_t next;
	u64 now;

	psi_exempt_current();
	if (p == &psi_pollers[PSI_POLLER_PRIVILEGED])
		sched_set_fifo_low(current);

	for (;;) {
		/* Before checking what is pending: what comes later wakes the thread. */
		smp_store_mb(p->woken, false);

		now = ktime_get_ns();
		while (poll_step(p, now, &next))
			cond_resched();
		sleep_unless_woken(p, next);
	}
	return 0;
}

static const char * const poller_names[PSI_NR_POLLERS] __initconst = {
	[PSI_POLLER_PRIVILEGED]	= "psi_poll",
	[PSI_POLLER_USER]	= "psi_poll_user",
};

static int __init poller_start(struct psi_poller *p, const char *name)
{
	struct task_struct *task;

	spin_lock_init(&p->lock);
	timerqueue_init_head(&p->queue);
	INIT_LIST_HEAD(&p->cursor);
	init_llist_head(&p->pending);
	p->work = IRQ_WORK_INIT_HARD(poller_work_fn);
	hrtimer_setup(&p->timer, poller_timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);

	task = kthread_create(psi_poll_thread, p, "%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	p->task = task;
	wake_up_process(task);
	return 0;
}

static int __init psi_trigger_init(void)
{
	int i, ret = 0;

	if (!static_key_enabled(&psi_enabled))
		return 0;
	for (i = 0; i < PSI_NR_POLLERS; i++)
		ret = poller_start(&psi_pollers[i], poller_names[i]) ?: ret;
	return ret;
}
subsys_initcall(psi_trigger_init);
