// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure stall information: triggers.
 *
 * One thread polls for all triggers of the system. psi_window.c says when a
 * trigger wants to be looked at and when it has an event; here is what makes the
 * thread look only while there is something to see, and what makes it safe.
 *
 * A trigger that was quiet for a window is not looked at any more. Its nodes tell
 * when its state begins (psi_node::tell). That is in the scheduler, where nothing
 * can be woken, so the group is put on psi_begun and an irq_work wakes the
 * thread. While a state is set in psi_group::told, all triggers of that state
 * are being looked at or will be soon, and nobody needs to be told again:
 *
 *	set	by whoever tells, under a rq lock
 *	cleared	when a trigger is quiet. What happened on a CPU before its rq
 *		lock is taken next is found by looking once more; what happens
 *		after that finds the bit clear (stays_quiet()).
 *
 * Objects:
 *
 *	psi_listener	of an open file. Made at open. /proc: freed when the
 *			file is closed. cgroup: freed when it is closed, or when
 *			the cgroup is removed or switched off, whichever is
 *			first; kernfs has then waited for every operation on
 *			the file, and lets none begin after that.
 *	wait queue	of an open file. Lives as long as the file, in
 *			both cases, because epoll and poll() hold on to it.
 *	psi_trigger	made by write(), which publishes it in its listener;
 *			freed with the listener by psi_trigger_close(). For the
 *			thread it is alive while psi_poll_lock is held.
 *	psi_group	of a cgroup: lives until the cgroup is freed, which is
 *			after its files are gone and with them its triggers. It
 *			may then still be in psi_begun; psi_trigger_forget().
 *
 * Locking: psi_poll_lock for everything that the thread looks at: the queue, the
 * groups' lists of triggers, windows. psi_tell_lock (may sleep) for what nodes tell
 * of. Order: psi_poll_lock, psi_group::lock, rq lock; psi_poll_lock, wait queue;
 * psi_tell_lock, rq lock. A pointer to a trigger in its listener is set
 * once, by cmpxchg; files are not closed while they are written to or polled.
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
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
#include <linux/user_namespace.h>

#include "psi_avgs.h"
#include "psi_hooks.h"
#include "psi_trigger.h"
#include "psi_window.h"

#define PSI_WINDOW_MIN_US_LEAST		10000
#define PSI_WINDOW_MIN_US_MOST		500000
#define PSI_WINDOW_MAX_US		10000000

/* Without CAP_SYS_RESOURCE, windows are multiples of this. */
#define PSI_WINDOW_COMMON_US		2000000

/* kernel.psi_window_min_us */
static unsigned int psi_window_min_us = PSI_WINDOW_MIN_US_MOST;

/**
 * struct psi_trigger - a trigger
 * @group:  whose pressure
 * @state:  which stall
 * @event:  there is one that nobody has seen
 * @wait:   the listener's
 * @window: what it wants and what it has seen
 * @look:   in the queue, by the time of the next look, unless it is quiet
 * @member: of psi_group::triggers
 */
struct psi_trigger {
	struct psi_group	*group;
	enum psi_state		state;
	int			event;
	wait_queue_head_t	*wait;

	struct psi_window	window;
	struct timerqueue_node	look;
	struct list_head	member;
};

static DEFINE_SPINLOCK(psi_poll_lock);	/* triggers, but for their @event */
static struct timerqueue_head psi_poll_queue = {
	.rb_root = RB_ROOT_CACHED,
};

/* psi_group::nr_triggers, and that nodes tell accordingly. May sleep. */
static DEFINE_MUTEX(psi_tell_lock);

static struct task_struct *psi_poll_task;
static bool psi_poll_woken;

static LLIST_HEAD(psi_begun);

/* In psi_group::told: the group is in psi_begun. */
#define PSI_TOLD_LISTED		BIT(PSI_NONIDLE)

/* ------------------------- Told by the scheduler ------------------------- */

static void wake_poller(void)
{
	WRITE_ONCE(psi_poll_woken, true);
	wake_up_process(psi_poll_task);
}

static void psi_begun_fn(struct irq_work *unused)
{
	wake_poller();
}

static struct irq_work psi_begun_work = IRQ_WORK_INIT_HARD(psi_begun_fn);

/**
 * psi_trigger_begun - states have begun of which a node has to tell
 * @group:  the node's group
 * @states: mask of enum psi_state, stalls only
 *
 * Context: rq lock held.
 */
void psi_trigger_begun(struct psi_group *group, u8 states)
{
	/* Pairs with the one in stays_quiet(): the CPU is in @active before. */
	smp_mb();
	if (!(states & ~atomic_read(&group->told)))
		return;

	if (!(atomic_fetch_or(states | PSI_TOLD_LISTED, &group->told) & PSI_TOLD_LISTED))
		llist_add(&group->begun, &psi_begun);
	irq_work_queue(&psi_begun_work);
}

/* ------------------------------ The poller ------------------------------ */

static bool is_queued(const struct psi_trigger *t)
{
	return !RB_EMPTY_NODE(&t->look.node);
}

static void queue_look(struct psi_trigger *t, u64 now)
{
	t->look.expires = ns_to_ktime(psi_window_next_look(&t->window, now));
	timerqueue_add(&psi_poll_queue, &t->look);
}

static void resume_triggers(struct psi_group *group, int told, u64 now)
{
	struct psi_trigger *t;

	list_for_each_entry(t, &group->triggers, member) {
		if (is_queued(t) || !(told & BIT(t->state)))
			continue;
		psi_window_resume(&t->window, now);
		queue_look(t, now);
	}
}

/* Empty psi_begun. */
static void take_begun(u64 now)
{
	struct psi_group *group, *next;
	int told;

	lockdep_assert_held(&psi_poll_lock);

	llist_for_each_entry_safe(group, next, llist_del_all(&psi_begun), begun) {
		told = atomic_fetch_andnot(PSI_TOLD_LISTED, &group->told);
		resume_triggers(group, told, now);
	}
}

/* Nothing has happened. From now on, does whatever happens tell? */
static bool stays_quiet(struct psi_trigger *t)
{
	struct psi_group *group = t->group;
	struct psi_stall stall;
	int cpu;

	atomic_andnot(BIT(t->state), &group->told);

	/*
	 * Pairs with the one in psi_trigger_begun(): a CPU that is not yet in
	 * @active will tell. Of the others, a state that has begun without
	 * telling has done so before our turn with the rq lock: either it is
	 * still there, or the total has grown.
	 */
	smp_mb__after_atomic();
	for_each_cpu(cpu, group->active) {
		if (psi_cpu_is_in(per_cpu_ptr(group->nodes, cpu), cpu, t->state))
			return false;
	}
	psi_group_read(group, t->state, 1, &stall);
	return stall.total == t->window.seen;
}

static void look_at(struct psi_trigger *t, u64 now)
{
	u64 total = psi_group_total(t->group, t->state, now);

	timerqueue_del(&psi_poll_queue, &t->look);

	if (psi_window_look(&t->window, now, total)) {
		WRITE_ONCE(t->event, 1);
		wake_up_poll(t->wait, EPOLLPRI);
	}

	if (!psi_window_is_quiet(&t->window, now))
		queue_look(t, now);
	else if (!stays_quiet(t))
		/* Others may have been told of with the bit that is cleared now. */
		resume_triggers(t->group, BIT(t->state), now);
}

/* Return: true if there may be more to do at @now; else @next says when. */
static bool poll_one(u64 now, ktime_t *next)
{
	struct timerqueue_node *first;
	bool due;

	spin_lock(&psi_poll_lock);

	take_begun(now);
	first = timerqueue_getnext(&psi_poll_queue);
	*next = first ? first->expires : KTIME_MAX;
	due = *next <= ns_to_ktime(now);
	if (due)
		look_at(container_of(first, struct psi_trigger, look), now);

	spin_unlock(&psi_poll_lock);
	return due;
}

static void sleep_unless_woken(ktime_t until)
{
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(psi_poll_woken))
		schedule_hrtimeout(until == KTIME_MAX ? NULL : &until,
				   HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
}

static int psi_poll_thread(void *unused)
{
	ktime_t next;
	u64 now;

	psi_observe();
	sched_set_fifo(current);

	for (;;) {
		/* Before a look into psi_begun: who comes later wakes us. */
		smp_store_mb(psi_poll_woken, false);

		now = ktime_get_ns();
		while (poll_one(now, &next))
			cond_resched();
		sleep_unless_woken(next);
	}
	return 0;
}

/* ------------------------------- Triggers ------------------------------- */

/* One trigger more, or less. Nodes tell of the state while there are any. */
static void set_tell(struct psi_group *group, enum psi_state state, int more)
{
	unsigned int before;
	int cpu;

	guard(mutex)(&psi_tell_lock);

	before = group->nr_triggers[state];
	group->nr_triggers[state] += more;
	if (before && group->nr_triggers[state])
		return;

	for_each_possible_cpu(cpu) {
		psi_cpu_tell(per_cpu_ptr(group->nodes, cpu), cpu, state, more > 0);
		cond_resched();
	}
}

static void trigger_start(struct psi_trigger *t, u64 threshold, u64 size)
{
	struct psi_group *group = t->group;
	u64 now;

	set_tell(group, t->state, 1);

	spin_lock(&psi_poll_lock);
	now = ktime_get_ns();
	psi_window_init(&t->window, threshold, size, now,
			psi_group_total(group, t->state, now));
	list_add(&t->member, &group->triggers);
	queue_look(t, now);
	spin_unlock(&psi_poll_lock);
}

static void trigger_stop(struct psi_trigger *t)
{
	spin_lock(&psi_poll_lock);
	list_del(&t->member);
	if (is_queued(t))
		timerqueue_del(&psi_poll_queue, &t->look);
	spin_unlock(&psi_poll_lock);

	set_tell(t->group, t->state, -1);
}

/* What has been written. */
struct psi_order {
	enum psi_state	state;
	unsigned int	threshold_us;
	unsigned int	window_us;
};

static int parse_words(char **word, enum psi_resource res, struct psi_order *o)
{
	if (!strcmp(word[0], "full"))
		o->state = psi_first_stall(res) + (res != PSI_IRQ);
	else if (!strcmp(word[0], "some") && res != PSI_IRQ)
		o->state = psi_first_stall(res);
	else
		return -EINVAL;

	/* No sign, which kstrtouint() would take. */
	if (!isdigit(*word[1]) || kstrtouint(word[1], 10, &o->threshold_us) ||
	    !isdigit(*word[2]) || kstrtouint(word[2], 10, &o->window_us))
		return -EINVAL;
	return 0;
}

static int parse(const char *text, enum psi_resource res, struct psi_order *o)
{
	int nr, ret = -EINVAL;
	char **words;

	words = argv_split(GFP_KERNEL, text, &nr);
	if (!words)
		return -ENOMEM;
	if (nr == 3)
		ret = parse_words(words, res, o);
	argv_free(words);
	return ret;
}

static bool is_allowed(const struct psi_order *o, struct file *file)
{
	if (!o->threshold_us || o->threshold_us > o->window_us ||
	    o->window_us < READ_ONCE(psi_window_min_us) ||
	    o->window_us > PSI_WINDOW_MAX_US)
		return false;

	return o->window_us % PSI_WINDOW_COMMON_US == 0 ||
	       file_ns_capable(file, &init_user_ns, CAP_SYS_RESOURCE);
}

/**
 * psi_trigger_write - make the trigger that was written to a file
 * @l:     the file
 * @group: whose pressure it shows
 * @res:   of what
 * @file:  whose opener's privileges count
 * @text:  "<some|full> <threshold us> <window us>"
 *
 * Context: may sleep. The group must not go away meanwhile, nor the file be
 * closed.
 * Return: 0; -EBUSY if there is a trigger already; -EINVAL for any other text, or
 * without CAP_SYS_RESOURCE for a window other than a multiple of 2 s; -EOPNOTSUPP
 * for PSI_IRQ without a clock for interrupts; -ENOMEM.
 */
int psi_trigger_write(struct psi_listener *l, struct psi_group *group,
		      enum psi_resource res, struct file *file, char *text)
{
	struct psi_trigger *t;
	struct psi_order o;
	int ret;

	if (!psi_poll_task)
		return -ENOMEM;
	if (READ_ONCE(l->trigger))
		return -EBUSY;
	if (res == PSI_IRQ && !irqtime_is_measured())
		return -EOPNOTSUPP;

	ret = parse(text, res, &o);
	if (ret)
		return ret;
	if (!is_allowed(&o, file))
		return -EINVAL;

	/* Anybody may make one, so it is theirs to pay for. */
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->group = group;
	t->state = o.state;
	t->wait = l->wait;
	timerqueue_init(&t->look);
	trigger_start(t, (u64)o.threshold_us * NSEC_PER_USEC,
		      (u64)o.window_us * NSEC_PER_USEC);

	if (cmpxchg_release(&l->trigger, NULL, t)) {
		/* Somebody else was faster. */
		trigger_stop(t);
		kfree(t);
		return -EBUSY;
	}
	wake_poller();
	return 0;
}

/**
 * psi_trigger_poll - poll() of a pressure file
 * @l:    the file
 * @file: the file
 * @pt:   as poll() has it
 *
 * Of several who wait for one file, one gets the event; the others go on waiting.
 *
 * Return: EPOLLPRI if there was an event since it was last asked for; EPOLLERR if
 * there is no trigger.
 */
__poll_t psi_trigger_poll(struct psi_listener *l, struct file *file,
			  poll_table *pt)
{
	/* Pairs with the cmpxchg of psi_trigger_write(): all of it is there. */
	struct psi_trigger *t = smp_load_acquire(&l->trigger);

	poll_wait(file, l->wait, pt);
	if (!t)
		return DEFAULT_POLLMASK | EPOLLERR | EPOLLPRI;

	/* Who waits for something else does not take the event away. */
	if ((poll_requested_events(pt) & EPOLLPRI) && xchg(&t->event, 0))
		return DEFAULT_POLLMASK | EPOLLPRI;
	return DEFAULT_POLLMASK;
}

/**
 * psi_trigger_close - the end of a listener
 * @l: the listener; nobody uses it, but somebody may wait
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
	wake_up_poll(l->wait, EPOLLERR | EPOLLPRI);
	kfree(t);
}

/**
 * psi_trigger_forget - a group without triggers is about to be freed
 * @group: the group
 */
void psi_trigger_forget(struct psi_group *group)
{
	WARN_ON_ONCE(!list_empty(&group->triggers));

	spin_lock(&psi_poll_lock);
	take_begun(ktime_get_ns());
	spin_unlock(&psi_poll_lock);
}

/* -------------------------------- Set-up -------------------------------- */

#ifdef CONFIG_SYSCTL
static const unsigned int psi_window_min_us_least = PSI_WINDOW_MIN_US_LEAST;
static const unsigned int psi_window_min_us_most = PSI_WINDOW_MIN_US_MOST;

static struct ctl_table psi_sysctls[] = {
	{
		.procname	= "psi_window_min_us",
		.data		= &psi_window_min_us,
		.maxlen		= sizeof(psi_window_min_us),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= (void *)&psi_window_min_us_least,
		.extra2		= (void *)&psi_window_min_us_most,
	},
};

static void __init add_sysctls(void)
{
	register_sysctl_init("kernel", psi_sysctls);
}
#else
static void __init add_sysctls(void) { }
#endif

static int __init psi_trigger_init(void)
{
	struct task_struct *task;

	if (!static_branch_unlikely(&psi_enabled))
		return 0;

	add_sysctls();
	task = kthread_run(psi_poll_thread, NULL, "psi_poll");
	if (IS_ERR(task))
		return PTR_ERR(task);

	psi_poll_task = task;
	return 0;
}
subsys_initcall(psi_trigger_init);
