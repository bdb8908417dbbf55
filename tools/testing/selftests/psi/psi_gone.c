// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of cgroups, of root and of other users, and what becomes of them and of other open
 * files when their group is switched off or removed.
 *
 * The watcher is on the last CPU and the loads are on CPU 0, which is the
 * same one if there is only one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

/* A trigger that nothing here makes fire. */
#define QUIET_TRIGGER	"some 1000000 1000000"

/* ---- files ---- */

static short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	EXPECT(poll(&p, 1, 0) >= 0, "poll: %s", strerror(errno));
	return p.revents;
}

/* The file has gone from under it. */
static void expect_dead(int fd)
{
	char text[512];

	EXPECT(pread(fd, text, sizeof(text), 0) < 0 && errno == ENODEV,
	       "it can be read");
	EXPECT(write(fd, QUIET_TRIGGER, strlen(QUIET_TRIGGER)) < 0 &&
	       errno == ENODEV, "it can be written");
	EXPECT(poll_now(fd) & POLLERR, "poll has nothing to say");
}

static enum psi_result open_file_is_dead(void)
{
	const char *group = make_group(NULL, "g");
	struct psi_sample sample;
	int fds[3], causes, on;
	char text[512];
	size_t i;

	fds[0] = open_group(group, PSI_IO, O_RDWR);
	fds[1] = open_group(group, PSI_CPU, O_RDWR);
	fds[2] = add_trigger(group, PSI_MEMORY, QUIET_TRIGGER);
	causes = open_in_group(group, "pressure.causes", O_RDONLY);
	EXPECT(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0, "cannot open");
	EXPECT(!psi_read_fd(fds[1], PSI_CPU, &sample), "cannot read");
	EXPECT(!(poll_now(fds[2]) & (POLLERR | POLLPRI)), "it fires");
	EXPECT(pread(causes, text, sizeof(text), 0) > 0, "cannot read causes");

	for (on = 0; on <= 1; on++) {
		must_switch(group, on);
		for (i = 0; i < ARRAY_SIZE(fds); i++)
			expect_dead(fds[i]);
		EXPECT(pread(causes, text, sizeof(text), 0) < 0 && errno == ENODEV,
		       "causes can be read");
	}
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(causes);

	fds[0] = add_trigger(group, PSI_MEMORY, QUIET_TRIGGER);
	EXPECT(fds[0] >= 0, "no new trigger after on");
	EXPECT(!(poll_now(fds[0]) & POLLERR), "a new trigger is dead");
	close(fds[0]);
	return PSI_PASS;
}

/* ---- triggers ---- */

/* Has it fired within @ms? */
static bool fires(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	EXPECT(poll(&p, 1, ms) >= 0, "poll: %s", strerror(errno));
	EXPECT(!(p.revents & POLLERR), "the trigger has gone");
	return p.revents & POLLPRI;
}

static enum psi_result trigger_of_one_group(void)
{
	const char *busy = make_group(NULL, "busy");
	const char *idle = make_group(NULL, "idle");
	int busy_fd, idle_fd;

	watch_from_afar();
	busy_fd = add_trigger(busy, PSI_CPU, "some 100000 1000000");
	idle_fd = add_trigger(idle, PSI_CPU, "some 100000 1000000");
	EXPECT(busy_fd >= 0 && idle_fd >= 0, "no trigger");
	EXPECT(!fires(busy_fd, 2000), "it fires without load");
	start_spinners(busy, 2);
	EXPECT(fires(busy_fd, 2000), "it does not fire");
	EXPECT(!fires(idle_fd, 2000), "it fires for others");
	close(busy_fd);
	close(idle_fd);
	return PSI_PASS;
}

/* ---- delegation ---- */

#define NOBODY		65534

/* What an ordinary user may do; all of it 0 or -errno. */
struct delegated {
	const char *parent, *group;
	int off, on;
	int half_second, short_window;
	int parent_switch, parent_trigger;
	bool fired;
};

static void try_delegated(struct delegated *d)
{
	struct pollfd p = { .events = POLLPRI };

	d->off = set_pressure(d->group, false);
	d->on = set_pressure(d->group, true);
	d->short_window = add_trigger(d->group, PSI_CPU, "some 100000 499999");
	p.fd = add_trigger(d->group, PSI_CPU, "some 100000 500000");
	d->half_second = p.fd < 0 ? p.fd : 0;
	d->fired = poll(&p, 1, 8000) == 1 && p.revents & POLLPRI &&
		   !(p.revents & POLLERR);
	d->parent_switch = set_pressure(d->parent, false);
	d->parent_trigger = add_trigger(d->parent, PSI_CPU,
					"some 100000 2000000");
}

static void as_nobody(struct delegated *d)
{
	pid_t pid = fork();

	EXPECT(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		try_delegated(d);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void give_to_nobody(const char *group, const char *file)
{
	char path[GROUP_PATH];

	EXPECT(!chown(group_file(path, group, file), NOBODY, NOBODY),
	       "chown %s", path);
}

static enum psi_result delegation(void)
{
	struct delegated *d = shared_alloc(sizeof(*d));

	d->off = 1;	/* which is not what it will be */
	d->parent = make_group(NULL, "parent");
	d->group = make_group(d->parent, "child");
	give_to_nobody(d->group, "");
	give_to_nobody(d->group, "cgroup.pressure");
	give_to_nobody(d->group, "cpu.pressure");
	start_spinners(d->group, 2);
	settle();
	as_nobody(d);
	EXPECT(!d->off && !d->on, "the switch: %s, %s", strerror(-d->off),
	       strerror(-d->on));
	EXPECT(!d->half_second, "a window of 500 ms: %s", strerror(-d->half_second));
	EXPECT(d->fired, "the trigger does not fire");
	EXPECT(d->short_window == -EINVAL, "a shorter one: %d", d->short_window);
	EXPECT(d->parent_switch == -EACCES, "the parent's switch: %d",
	       d->parent_switch);
	EXPECT(d->parent_trigger == -EACCES, "the parent's trigger: %d",
	       d->parent_trigger);
	return PSI_PASS;
}

/* ---- groups that go away ---- */

struct waiter {
	const char *name;
	int (*wait)(int fd, int ms);
	int fd;
	int happened;
	atomic_bool woken;
	pthread_t thread;
};

static void *wait_for_trigger(void *waiter)
{
	struct waiter *w = waiter;

	w->happened = w->wait(w->fd, 20000);
	w->woken = true;
	return NULL;
}

#define NR_WAITERS	3

/* Not on the stack: if they are not woken they outlive the case. */
static struct waiter *start_waiters(const char *group)
{
	static const struct waiter ways[NR_WAITERS] = {
		{ "poll", wait_by_poll },
		{ "epoll", wait_by_epoll },
		{ "select", wait_by_select },
	};
	struct waiter *w = calloc(NR_WAITERS, sizeof(*w));
	int i;

	EXPECT(w, "no memory");
	for (i = 0; i < NR_WAITERS; i++) {
		w[i] = ways[i];
		w[i].fd = add_trigger(group, PSI_CPU, QUIET_TRIGGER);
		EXPECT(w[i].fd >= 0, "no trigger: %s", strerror(-w[i].fd));
		EXPECT(!pthread_create(&w[i].thread, NULL, wait_for_trigger,
				       &w[i]), "no thread");
	}
	sleep_ms(1500);
	for (i = 0; i < NR_WAITERS; i++)
		EXPECT(!w[i].woken, "%s returns: %x", w[i].name, w[i].happened);
	return w;
}

static void expect_woken(struct waiter *w)
{
	int i;

	for (i = 0; i < NR_WAITERS; i++) {
		EXPECT(wait_until(w[i].woken, 1000), "%s is not woken", w[i].name);
		pthread_join(w[i].thread, NULL);
		EXPECT(w[i].happened & POLLERR, "%s says %x", w[i].name,
		       w[i].happened);
		expect_dead(w[i].fd);
	}
}

static enum psi_result end_wakes(const void *removed)
{
	const char *group = make_group(NULL, "g");
	struct waiter *w = start_waiters(group);
	int i;

	if (*(const bool *)removed) {
		EXPECT(!remove_group(group), "it cannot be removed");
		expect_woken(w);
		/* Another one of that name is none of their business. */
		group = make_group(NULL, "g");
	} else {
		must_switch(group, false);
		expect_woken(w);
		must_switch(group, true);
		for (i = 0; i < NR_WAITERS; i++)
			expect_dead(w[i].fd);
		EXPECT(!remove_group(group), "it cannot be removed");
	}
	for (i = 0; i < NR_WAITERS; i++) {
		expect_dead(w[i].fd);
		close(w[i].fd);
	}
	free(w);
	return PSI_PASS;
}

/* The epoll set outlives the group, and the trigger's fd the removal. */
static enum psi_result epoll_after_removal(void)
{
	struct epoll_event event = { .events = EPOLLPRI };
	const char *group = make_group(NULL, "g");
	int deleted, closed, epfd;

	deleted = add_trigger(group, PSI_CPU, QUIET_TRIGGER);
	closed = add_trigger(group, PSI_IO, QUIET_TRIGGER);
	epfd = epoll_create1(0);
	EXPECT(deleted >= 0 && closed >= 0 && epfd >= 0, "cannot open");
	EXPECT(!epoll_ctl(epfd, EPOLL_CTL_ADD, deleted, &event) &&
	       !epoll_ctl(epfd, EPOLL_CTL_ADD, closed, &event), "epoll_ctl");
	EXPECT(!remove_group(group), "it cannot be removed");
	sleep_ms(1000);
	EXPECT(epoll_wait(epfd, &event, 1, 0) == 1 && event.events & EPOLLERR,
	       "no error");
	EXPECT(!epoll_ctl(epfd, EPOLL_CTL_DEL, deleted, NULL), "EPOLL_CTL_DEL");
	close(closed);
	EXPECT(!epoll_wait(epfd, &event, 1, 0), "still something to report");
	close(epfd);
	close(deleted);
	return PSI_PASS;
}

#define END_WAKES(r)	.run_with = end_wakes, .arg = &(const bool){ r }

static const struct psi_case cases[] = {
	{ "R-14 R-19 a file that was open when the group was off is dead",
	  open_file_is_dead },
	{ "R-12 R-14 a trigger of a group fires for that group",
	  trigger_of_one_group },
	{ "R-12 R-14 a user to whom a group is delegated", delegation },
	{ "R-14 removing a group wakes its pollers", END_WAKES(true) },
	{ "R-14 switching a group off wakes its pollers", END_WAKES(false) },
	{ "R-14 epoll after a group has been removed", epoll_after_removal },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
