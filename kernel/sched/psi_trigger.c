// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: triggers.
 *
 * psi_window.c decides when a trigger has an event. A monitor has the triggers of one group
 * and state whose openers are of one kind: a thread samples one total for all of them. Two
 * threads share nothing but code: psi_poll, of the lowest real-time priority, for triggers
 * whose opener had CAP_SYS_RESOURCE, and psi_poll_user, of normal priority, for all others.
 *
 * A monitor that was quiet for a window rests: it is not sampled until a node notifies
 * that the state begins (psi_node::notify). In the scheduler nothing can be woken, so the
 * group's psi_monitors go on the poller's list of those pending, and an irq_work wakes
 * the thread. While a state is set in psi_monitors::notified, all monitors of that state
 * are being sampled or will be soon, and no more notification is needed:
 *
 *	set	by psi_trigger_notify(), under a rq lock, or by the poller when a
 *		monitor does not rest after all
 *	cleared	by the poller, when a monitor is quiet. What happened on a CPU
 *		before its rq lock is taken next is found by one more sample;
 *		what happens after that finds the bit clear (rearm_nodes()), sets
 *		it, and that is seen before the monitor rests.
 *
 * Nodes are made to notify only then, once: nobody needs it while monitors are sampled,
 * and if making a trigger took rq locks, anybody could take them all day. CPUs in
 * psi_group::active are visited. Another CPU notifies when it leaves idleness, and then
 * of all states that have triggers:
 *
 *	the poller (rearm_nodes())		a CPU, its rq lock held (notify_from())
 *	psi_monitors::watched was set long ago	is put into @active
 *	  barrier				  barrier
 *	is the CPU in @active?			watched?
 *	then, with its rq lock:			then psi_node::notify is set
 *	  psi_node::notify is set
 *
 * At least one of the two finds what the other has written. Nobody visits the nodes when
 * a trigger goes: a node that notices stops notifying, as it might then follow another
 * one. A trigger that is made meanwhile rests only after it has visited that CPU, which
 * is after that.
 *
 * A sample visits the triggers of a monitor only if one of them may have an event, or a
 * window of theirs ends. Neighbours whose windows have become the same are visited as
 * one, until one of them may have an event. A trigger is not visited while nobody has
 * taken its event.
 *
 * A thread works in steps of limited size, one per hold of the lock: handle one group
 * that has notified, visit some triggers. Adding up and checking all CPUs takes longer,
 * and is done without the lock. The monitor may go meanwhile; its group stays
 * (psi_trigger_detach()).
 *
 * Objects:
 *
 *  - psi_listener: of an open file, made at open. Freed when the file is closed, or when its
 *    cgroup is removed or switched off, whichever is first. kernfs and procfs have then
 *    waited for every operation on the file, and let none begin after that.
 *  - wait queue: of an open file. Outlives the listener while epoll or poll() holds on to it.
 *  - psi_trigger: made by write(), which publishes it in its listener; freed with that by
 *    psi_trigger_close(). For the thread it is alive while psi_poller::lock is held.
 *  - psi_monitor: made with its first trigger, freed with its last one.
 *  - psi_group: freed after its files and triggers. It may still be pending then; see
 *    psi_trigger_detach().
 *
 * Calls: files, psi_fold.c and psi_group.c call down to here, psi.c and psi_node.c only
 * psi_trigger_notify() and psi_trigger_watched(). This file reads totals by psi_avgs.h,
 * and reaches nodes by psi_cpu.h.
 *
 * Locking: psi_poller::lock (interrupts on) for everything that a thread looks at: its queue,
 * the groups' monitors, and triggers except for their @event. Its holder does something of
 * limited size and does not sleep. Order: psi_poller::lock, wait queue. The trigger of a
 * listener is set once, by cmpxchg; files are not closed while they are written to or polled.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
#include <linux/user_namespace.h>

#include <trace/events/psi.h>

#include "psi_avgs.h"
#include "psi_cpu.h"
#include "psi_trigger.h"
#include "psi_window.h"

/* The shortest windows, with CAP_SYS_RESOURCE and without, and the longest one. */
#define PSI_WINDOW_MIN_US		10000
#define PSI_WINDOW_MIN_US_USER		500000
#define PSI_WINDOW_MAX_US		10000000

/**
 * struct psi_poller - one of the two threads
 * @lock:    see above
 * @queue:   monitors by the time of their next sample
 * @current_monitor: what the thread works on without @lock; NULL if that has gone
 * @current_group: and its group, which has to stay
 * @cursor:  its place in psi_monitor::triggers of @current_monitor
 * @pending: groups in which states have begun, psi_monitors::pending; lockless
 * @work:    wakes the thread from where the scheduler's locks are held
 * @timer:   wakes it for the first of @queue
 * @task:    the thread
 * @woken:   it has to check @pending and @queue again
 */
struct psi_poller {
	spinlock_t		lock;	/* for all that follows, unless lockless */
	struct timerqueue_head	queue;
	struct psi_monitor	*current_monitor;
	struct psi_group	*current_group;
	struct list_head	cursor;

	struct llist_head	pending;
	struct irq_work		work;
	struct hrtimer		timer;
	struct task_struct	*task;
	bool			woken;
};

static struct psi_poller psi_pollers[PSI_NR_POLLERS];

/**
 * struct psi_monitor - the triggers of one group and state, with one poller
 * @track:    the total; psi_track::step is 0 until its first trigger is ready
 * @group:    whose pressure
 * @state:    which stall
 * @poller:   whose thread samples it
 * @nr:       number of triggers, in @triggers or with an event still to be taken
 * @triggers: those to be visited
 * @size_max: the longest window so far, ns
 * @next_total: none of @triggers has an event before the total is so high,
 * @next_end: or it is so late that a window of theirs ends, ns
 * @next_size: their shortest window, ns
 * @next_sample: of psi_poller::queue
 * @member:   of psi_monitors::monitors
 *
 * Locking: psi_poller::lock.
 */
struct psi_monitor {
	struct psi_track	track;
	struct psi_group	*group;
	enum psi_state		state;
	struct psi_poller	*poller;
	unsigned int		nr;
	struct list_head	triggers;
	u64			size_max;
	u64			next_total;
	u64			next_end;
	u64			next_size;
	struct timerqueue_node	next_sample;
	struct list_head	member;
};

/**
 * struct psi_trigger - a trigger
 * @window:  its window, with the lowest threshold of it and those in @same; not valid in @same
 * @threshold: its own threshold, ns
 * @monitor: where it belongs
 * @event:   it has an event that nobody has taken
 * @wait:    the listener's
 * @same:    triggers that have come to the same window
 * @link:    of psi_monitor::triggers, of another trigger's @same, or of none
 *
 * Locking: psi_poller::lock, but for @event.
 */
struct psi_trigger {
	struct psi_window	window;
	u64			threshold;
	struct psi_monitor	*monitor;
	int			event;
	wait_queue_head_t	*wait;
	struct list_head	same;
	struct list_head	link;
};

/* In psi_monitors::notified: these are in psi_poller::pending. */
#define PSI_NOTIFY_PENDING	BIT(PSI_NONIDLE)

/* ----------------------- Notified by the scheduler ----------------------- */

static void wake_poller(struct psi_poller *p)
{
	WRITE_ONCE(p->woken, true);
	wake_up_process(p->task);
}

static void poller_work_fn(struct irq_work *work)
{
	wake_poller(container_of(work, struct psi_poller, work));
}

static void notify(struct psi_poller *p, struct psi_monitors *ms, u8 states)
{
	if (!(states & ~atomic_read(&ms->notified)))
		return;

	if (!(atomic_fetch_or(states | PSI_NOTIFY_PENDING, &ms->notified) & PSI_NOTIFY_PENDING))
		llist_add(&ms->pending, &p->pending);
	irq_work_queue(&p->work);
}

/**
 * psi_trigger_watched - the states that have triggers
 * @group: a group
 *
 * Context: any; for nodes, the CPU's rq lock held.
 * Return: mask of enum psi_state, stalls only. Triggers need no notification of others.
 */
u8 psi_trigger_watched(const struct psi_group *group)
{
	u8 states = 0;
	int i;

	for (i = 0; i < PSI_NR_POLLERS; i++)
		/* Pairs with trigger_stop(). */
		states |= smp_load_acquire(&group->monitors[i].watched);
	return states;
}

/**
 * psi_trigger_notify - states have begun of which a node has to notify
 * @group:  the node's group, whose monitors make it notify again when they rest
 * @states: mask of enum psi_state, stalls only
 *
 * Context: rq lock held.
 */
void psi_trigger_notify(struct psi_group *group, u8 states)
{
	int i;

	for (i = 0; i < PSI_NR_POLLERS; i++)
		notify(&psi_pollers[i], &group->monitors[i],
		       states & READ_ONCE(group->monitors[i].watched));
}

#ifdef CONFIG_PSI_DEBUG
/* The states of which an active node has to notify; its CPU's rq lock is held. */
u8 psi_trigger_resting(const struct psi_group *group)
{
	const struct psi_monitors *ms;
	u8 states = 0, notified;

	for (ms = group->monitors; ms < group->monitors + PSI_NR_POLLERS; ms++) {
		notified = atomic_read(&ms->notified);
		/* Before @resting: a notified monitor still rests until the poller comes. */
		smp_rmb();
		states |= READ_ONCE(ms->resting) & ~notified;
	}
	return states;
}
#endif

#include "psi_poller.c"

/* ------------------------------- Triggers ------------------------------- */

static struct psi_monitor *find_monitor(struct psi_monitors *ms, enum psi_state state)
{
	struct psi_monitor *m;

	list_for_each_entry(m, &ms->monitors, member)
		if (m->state == state)
			return m;
	return NULL;
}

/*
 * Add a trigger to the monitor of its state, which is @added if there is none. Return:
 * the monitor.
 */
static struct psi_monitor *join_monitor(struct psi_monitors *ms, struct psi_monitor *added)
{
	struct psi_poller *p = added->poller;
	enum psi_state state = added->state;
	struct psi_monitor *m;

	spin_lock(&p->lock);
	m = find_monitor(ms, state);
	if (!m) {
		m = added;
		list_add(&m->member, &ms->monitors);
		WRITE_ONCE(ms->watched, ms->watched | BIT(state));
	}
	m->nr++;
	spin_unlock(&p->lock);
	return m;
}

/* Nodes notice by themselves that a trigger is gone. */
static void trigger_stop(struct psi_trigger *t)
{
	struct psi_monitor *m = t->monitor;
	struct psi_poller *p = m->poller;
	struct psi_monitors *ms = monitors_of(m);
	struct psi_trigger *other;

	spin_lock(&p->lock);
	if (!list_empty(&t->same)) {
		other = part(t);
		other->window.threshold = t->window.threshold;
		list_splice_init(&t->same, &other->same);
	}
	list_del_init(&t->link);
	if (--m->nr) {
		m = NULL;
	} else {
		set_resting(m, false);
		/* A node that sees this stops notifying; psi_debug.c finds @resting clear. */
		smp_store_release(&ms->watched, ms->watched & ~BIT(m->state));
		list_del(&m->member);
		/* The thread need not wake up for it, either. */
		if (first_monitor(p) == m)
			wake_poller(p);
		dequeue(m);
		if (p->current_monitor == m) {
			p->current_monitor = NULL;
			list_del_init(&p->cursor);
		}
	}
	spin_unlock(&p->lock);
	kfree(m);
}

/* Visit the trigger from now on. */
static void trigger_join(struct psi_trigger *t, u64 now)
{
	struct psi_monitor *m = t->monitor;

	list_add_tail(&t->link, &m->triggers);
	m->size_max = max(m->size_max, t->window.size);
	expect(m, &t->window);
	m->track.step = min(m->track.step, div_u64(m->next_size, PSI_SAMPLES_PER_WINDOW));
	/* Nodes will notify, or the thread returns to it, early enough. */
	if (is_resting(m) || m == m->poller->current_monitor ||
	    (is_queued(m) && m->next_sample.expires <= sample_time(m, now)))
		return;
	queue_monitor(m, now);
	if (first_monitor(m->poller) == m)
		wake_poller(m->poller);
}

static void trigger_start(struct psi_trigger *t)
{
	struct psi_monitor *m = t->monitor;
	u64 total, when;

	/* Without the lock, as it may take a while. What comes after that counts. */
	total = psi_group_total(m->group, m->state, &when);

	spin_lock(&m->poller->lock);
	if (!m->track.step)
		psi_track_init(&m->track, div_u64(t->window.size, PSI_SAMPLES_PER_WINDOW), when,
			       total);
	psi_window_begin(&t->window, when, max(total, m->track.seen));
	trigger_join(t, when);
	spin_unlock(&m->poller->lock);
}

/* Its event has been taken. What it missed since the end of its window is lost. */
static void trigger_again(struct psi_trigger *t)
{
	struct psi_poller *p = t->monitor->poller;
	u64 now = ktime_get_ns();

	spin_lock(&p->lock);
	if (list_empty(&t->link)) {
		if (now >= t->window.end && is_resting(t->monitor))
			psi_window_begin(&t->window, now, t->monitor->track.seen);
		else if (now >= t->window.end)
			t->window.start = PSI_WINDOW_NEXT;
		trigger_join(t, now);
	}
	spin_unlock(&p->lock);
}

/* What was written to a pressure file. */
struct psi_trigger_spec {
	enum psi_state	state;
	unsigned int	threshold_us;
	unsigned int	window_us;
	bool		privileged;
};

static int parse_words(char **word, enum psi_resource res, struct psi_trigger_spec *spec)
{
	if (!strcmp(word[0], "full"))
		spec->state = psi_first_stall(res) + (res != PSI_IRQ);
	else if (!strcmp(word[0], "some") && res != PSI_IRQ)
		spec->state = psi_first_stall(res);
	else
		return -EINVAL;

	/* No sign, which kstrtouint() would take. */
	if (!isdigit(*word[1]) || kstrtouint(word[1], 10, &spec->threshold_us) ||
	    !isdigit(*word[2]) || kstrtouint(word[2], 10, &spec->window_us))
		return -EINVAL;
	return 0;
}

static int parse(const char *text, enum psi_resource res, struct psi_trigger_spec *spec)
{
	int nr, ret = -EINVAL;
	char **words;

	if (isspace(*text))
		return -EINVAL;
	words = argv_split(GFP_KERNEL, text, &nr);
	if (!words)
		return -ENOMEM;
	if (nr == 3)
		ret = parse_words(words, res, spec);
	argv_free(words);
	return ret;
}

static bool is_allowed(const struct psi_trigger_spec *spec)
{
	unsigned int least_us = spec->privileged ? PSI_WINDOW_MIN_US : PSI_WINDOW_MIN_US_USER;

	return spec->window_us >= least_us && spec->window_us <= PSI_WINDOW_MAX_US &&
	       spec->threshold_us && spec->threshold_us <= spec->window_us;
}

/* Without an audit record: callers without the privilege get a trigger, too. */
static bool is_privileged(const struct file *file)
{
	return !security_capable(file->f_cred, &init_user_ns, CAP_SYS_RESOURCE, CAP_OPT_NOAUDIT);
}

/* The caller's memcg is charged, as anybody may make triggers. */
static struct psi_trigger *new_trigger(struct psi_listener *l, struct psi_group *group,
				       const struct psi_trigger_spec *spec)
{
	enum psi_poller_kind kind = spec->privileged ? PSI_POLLER_PRIVILEGED : PSI_POLLER_USER;
	struct psi_trigger *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	struct psi_monitor *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	/* Without a task: no memory at boot. */
	if (!t || !m || !psi_pollers[kind].task) {
		kfree(m);
		kfree(t);
		return NULL;
	}

	m->group = group;
	m->state = spec->state;
	m->poller = &psi_pollers[kind];
	INIT_LIST_HEAD(&m->triggers);
	m->next_total = U64_MAX;
	m->next_end = U64_MAX;
	m->next_size = U64_MAX;
	timerqueue_init(&m->next_sample);

	t->wait = l->wait;
	t->window.size = (u64)spec->window_us * NSEC_PER_USEC;
	t->threshold = (u64)spec->threshold_us * NSEC_PER_USEC;
	t->window.threshold = t->threshold;
	INIT_LIST_HEAD(&t->same);
	INIT_LIST_HEAD(&t->link);
	t->monitor = join_monitor(&group->monitors[kind], m);
	if (t->monitor != m)
		kfree(m);
	trigger_start(t);
	return t;
}

/**
 * psi_trigger_write - make the trigger that was written to a file
 * @l:     the file
 * @group: whose pressure it shows
 * @res:   of what
 * @file:  whose opener's privileges count
 * @text:  "<some|full> <threshold us> <window us>"
 *
 * Context: may sleep. The group must not go away, and the file not be closed, meanwhile.
 * Return: 0; -ENODEV if the file has ended; -EBUSY if it has a trigger; -EINVAL for any
 * other text, or a window that is too short for @file's opener; -EOPNOTSUPP for PSI_IRQ
 * without a clock for interrupts; -ENOMEM.
 */
int psi_trigger_write(struct psi_listener *l, struct psi_group *group,
		      enum psi_resource res, struct file *file, char *text)
{
	struct psi_trigger *t;
	struct psi_trigger_spec spec;
	int ret;

	if (READ_ONCE(l->ended))
		return -ENODEV;
	if (READ_ONCE(l->trigger))
		return -EBUSY;
	if (res == PSI_IRQ && !irqtime_is_measured())
		return -EOPNOTSUPP;

	ret = parse(text, res, &spec);
	if (ret)
		return ret;
	spec.privileged = is_privileged(file);
	if (!is_allowed(&spec))
		return -EINVAL;

	t = new_trigger(l, group, &spec);
	if (!t)
		return -ENOMEM;

	if (cmpxchg_release(&l->trigger, NULL, t)) {
		/* Another write was faster. */
		trigger_stop(t);
		kfree(t);
		return -EBUSY;
	}
	return 0;
}

/**
 * psi_trigger_poll - poll() of a pressure file
 * @l:    the file
 * @file: the file
 * @pt:   as poll() has it
 *
 * Return: EPOLLPRI if there was an event since the last call, to one of several waiters;
 * EPOLLERR if there is no trigger, or it has ended.
 */
__poll_t psi_trigger_poll(struct psi_listener *l, struct file *file,
			  poll_table *pt)
{
	/* Pairs with the cmpxchg of psi_trigger_write(): the trigger is complete. */
	struct psi_trigger *t = smp_load_acquire(&l->trigger);

	poll_wait(file, l->wait, pt);
	if (!t || READ_ONCE(l->ended))
		return DEFAULT_POLLMASK | EPOLLERR | EPOLLPRI;

	/* A caller that waits for something else leaves the event alone. */
	if (!(poll_requested_events(pt) & EPOLLPRI) || !xchg(&t->event, 0))
		return DEFAULT_POLLMASK;
	trigger_again(t);
	return DEFAULT_POLLMASK | EPOLLPRI;
}

/**
 * psi_trigger_close - remove the trigger of a listener, and wake its waiters
 * @l: the listener, which nobody uses any more, except for waiters
 *
 * Context: may sleep.
 */
void psi_trigger_close(struct psi_listener *l)
{
	struct psi_trigger *t = l->trigger;

	if (!t)
		return;

	trigger_stop(t);
	l->trigger = NULL;
	wake_waiters(l->wait);
	kfree(t);
}

/**
 * psi_monitors_init - a new group has no triggers
 * @group: the group
 */
void psi_monitors_init(struct psi_group *group)
{
	int i;

	for (i = 0; i < PSI_NR_POLLERS; i++)
		INIT_LIST_HEAD(&group->monitors[i].monitors);
}

/**
 * psi_trigger_detach - let pollers drop a group that is about to be freed
 * @group: the group, without triggers
 *
 * If it is still pending, handle those before it. If a poller works on it, wait for
 * current_group to be cleared; after that it uses the group only under its lock, which
 * keeps the memory (call_rcu()).
 *
 * Context: may sleep.
 */
void psi_trigger_detach(struct psi_group *group)
{
	struct psi_monitors *ms;
	struct psi_poller *p;
	bool more, busy;
	int i;

	for (i = 0; i < PSI_NR_POLLERS; i++) {
		ms = &group->monitors[i];
		p = &psi_pollers[i];
		WARN_ON_ONCE(ms->watched);
		if (!(atomic_read(&ms->notified) & PSI_NOTIFY_PENDING) &&
		    !READ_ONCE(p->current_group))
			continue;
		do {
			spin_lock(&p->lock);
			more = atomic_read(&ms->notified) & PSI_NOTIFY_PENDING;
			if (more)
				take_one_pending(p);
			busy = p->current_group == group;
			spin_unlock(&p->lock);
			if (busy)
				schedule_timeout_uninterruptible(1);
			cond_resched();
		} while (more || busy);
	}
}
