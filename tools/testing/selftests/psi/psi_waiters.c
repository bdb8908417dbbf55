// SPDX-License-Identifier: GPL-2.0
/*
 * All ways to wait for a pressure file. By each of them an event is told once, and so is
 * the end of the file's group: in /proc/pressure, for a group's file, and for the file of
 * a proc mount with pressure=cgroup in a container.
 *
 * What stalls waits for a disk, all the time, and nobody needs a CPU. So there is an
 * event in each window, and it is told when it comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"
#include "psi_ways.h"

#define WINDOW_MS	500
#define WINDOWS		8
#define TRIGGER		"some 150000 500000"
#define LATE_MS		100
#define END_MS		2000	/* nobody needs that long to tell of the end */

/* ---- places ---- */

enum place { OF_SYSTEM, OF_GROUP, OF_CONTAINER, NR_PLACES };

static const char * const places[NR_PLACES] = { "/proc", "a group", "a container" };

/* In a cgroup namespace that begins at @group; in no group of it any more. */
static int contain(const char *group)
{
	if (move_to_group(group, getpid()) || unshare(CLONE_NEWCGROUP | CLONE_NEWNS) ||
	    move_to_group(CGROUP_ROOT, getpid()))
		return -errno;
	return mount("proc", "/tmp", "proc", 0, "pressure=cgroup") ? -errno : 0;
}

static int open_place(enum place place, const char *group)
{
	int ret;

	switch (place) {
	case OF_GROUP:
		return add_trigger(group, PSI_IO, TRIGGER);
	case OF_CONTAINER:
		ret = contain(group);
		return ret ? ret : open_trigger("/tmp/pressure/io", TRIGGER);
	default:
		return open_trigger(psi_path(PSI_IO), TRIGGER);
	}
}

/* ---- waiters ---- */

/* A process that waits in one way for a file, and what it has seen. */
struct seat {
	const struct way *way;
	enum place place;
	const char *group;
	int fd;				/* one that is open already, or -1 */
	__u64 end;			/* of counting events */

	atomic_int error;
	struct events told;
	atomic_int end_told;		/* what it was told then */
	__u64 end_told_at;
	atomic_bool left;
};

static void sit(void *arg)
{
	struct seat *s = arg;
	struct waiter w = { .way = s->way, .fd = s->fd };
	__u64 now;
	int got;

	if (w.fd < 0)
		w.fd = open_place(s->place, s->group);
	got = w.fd < 0 ? w.fd : s->way->begin(&w);
	if (got) {
		s->error = -got;
		pause();
	}
	while (got = s->way->wait(&w, WINDOW_MS), now = now_ns(), !(got & POLLERR))
		if (got && now < s->end)
			note_event(&s->told, now);
	s->end_told_at = now;
	s->end_told = got;
	end_waiting(&w);
	s->left = true;
	for (;;)
		pause();
}

static void take_seat(struct seat *s, const struct way *way, enum place place, int fd,
		      const char *group, __u64 end)
{
	s->way = way;
	s->place = place;
	s->group = group;
	s->fd = fd;
	s->end = end;
	start_load(-1, sit, s);
}

/* What is asked for is not there in all kernels. */
static bool is_empty(const struct seat *s)
{
	if (!s->error)
		return false;
	psi_note("%s, %s: %s", places[s->place], s->way->name, strerror(s->error));
	return true;
}

static void expect_windows(unsigned int told, const struct seat *s)
{
	EXPECT(told + 1 >= WINDOWS && told <= WINDOWS + 1, "%s, %s: %u events in %d windows",
	       places[s->place], s->way->name, told, WINDOWS);
}

static void expect_told_once(const struct seat *s)
{
	psi_note("%s, %s: %u events, at least %.1f ms from one to the next", places[s->place],
		 s->way->name, s->told.count, shortest_gap(&s->told));
	expect_windows(s->told.count, s);
	EXPECT(shortest_gap(&s->told) > WINDOW_MS - LATE_MS, "%s, %s: told twice",
	       places[s->place], s->way->name);
}

static void expect_end_told(const struct seat *s, __u64 ended)
{
	EXPECT(wait_until(s->end_told, END_MS), "%s, %s: nobody tells of the end",
	       places[s->place], s->way->name);
	psi_note("%s, %s: %x after %.1f ms", places[s->place], s->way->name, s->end_told,
		 ((double)s->end_told_at - ended) / NSEC_PER_MSEC);
	EXPECT(wait_until(s->left, END_MS), "%s, %s: cannot be closed", places[s->place],
	       s->way->name);
}

/* ---- cases ---- */

/* The group in which tasks stall for io; it is the only one. */
static const char *stalled_group(pid_t *reader)
{
	const char *disk = slow_disk(20), *group = NULL;

	REQUIRE(disk, "needs null_blk with configfs");
	if (have_groups()) {
		group = make_group(NULL, "stalled");
		*reader = start_in_group(group, 0, read_disk, (void *)disk);
	} else {
		*reader = start_load(0, read_disk, (void *)disk);
	}
	sleep_ms(2 * WINDOW_MS);
	return group;
}

static __u64 end_of_windows(void)
{
	return now_ns() + (WINDOWS * WINDOW_MS + LATE_MS) * NSEC_PER_MSEC;
}

static enum psi_result told_by(const void *arg)
{
	struct seat *seats = shared_alloc(NR_PLACES * sizeof(*seats));
	pid_t reader;
	const char *group = stalled_group(&reader);
	__u64 end = end_of_windows(), ended;
	int p, n = group ? NR_PLACES : 1;

	for (p = 0; p < n; p++)
		take_seat(&seats[p], arg, p, -1, group, end);
	sleep_until(end + LATE_MS * NSEC_PER_MSEC);
	REQUIRE(!is_empty(&seats[OF_SYSTEM]), "this kernel has no such way");
	for (p = 0; p < n; p++)
		if (!is_empty(&seats[p]))
			expect_told_once(&seats[p]);

	REQUIRE(group, NO_GROUPS);
	stop_load(reader);
	ended = now_ns();
	EXPECT(!remove_group(group), "it cannot be removed");
	for (p = OF_GROUP; p < n; p++)
		if (!is_empty(&seats[p]))
			expect_end_told(&seats[p], ended);
	return PSI_PASS;
}

/* The first poller gets the event, and all of them see the end. */
static enum psi_result one_file_in_all_ways(void)
{
	struct seat *seats = shared_alloc((nr_ways + 1) * sizeof(*seats)), *other;
	unsigned int told = 0;
	__u64 end, ended;
	const char *group;
	pid_t reader;
	size_t i;
	int fd;

	group = stalled_group(&reader);
	REQUIRE(group, NO_GROUPS);
	fd = add_trigger(group, PSI_IO, TRIGGER);
	EXPECT(fd >= 0, "no trigger: %s", strerror(-fd));
	end = end_of_windows();
	for (i = 0; i < nr_ways; i++)
		take_seat(&seats[i], &ways[i], OF_GROUP, fd, group, end);
	other = &seats[nr_ways];
	take_seat(other, &bystander, OF_GROUP, fd, group, end);
	sleep_until(end + LATE_MS * NSEC_PER_MSEC);
	close(fd);
	for (i = 0; i < nr_ways; i++) {
		psi_note("%s: %u", ways[i].name, seats[i].told.count);
		told += seats[i].told.count;
	}
	expect_windows(told, other);

	stop_load(reader);
	ended = now_ns();
	EXPECT(!remove_group(group), "it cannot be removed");
	for (i = 0; i <= nr_ways; i++)
		if (!is_empty(&seats[i]))
			expect_end_told(&seats[i], ended);
	return PSI_PASS;
}

/* Everybody has a file, and it ends while the group goes on. */
static enum psi_result group_switched_off(void)
{
	struct seat *seats = shared_alloc(nr_ways * sizeof(*seats));
	const char *group;
	pid_t reader;
	__u64 ended;
	size_t i;

	group = stalled_group(&reader);
	REQUIRE(group, NO_GROUPS);
	for (i = 0; i < nr_ways; i++)
		take_seat(&seats[i], &ways[i], OF_GROUP, -1, group, now_ns());
	sleep_ms(WINDOW_MS);
	ended = now_ns();
	EXPECT(!set_pressure(group, false), "it cannot be switched off");
	for (i = 0; i < nr_ways; i++)
		if (!is_empty(&seats[i]))
			expect_end_told(&seats[i], ended);
	return PSI_PASS;
}

/* The kernel takes it for what can be read and written, and for nothing else. */
static enum psi_result exclusive(void)
{
	int fd = open_trigger(psi_path(PSI_IO), TRIGGER), epoll, ret;

	EXPECT(fd >= 0, "no trigger: %s", strerror(-fd));
	ret = epoll_of(fd, EPOLLPRI | EPOLLEXCLUSIVE, &epoll);
	EXPECT(ret == -EINVAL, "%d", ret);
	return PSI_PASS;
}

static atomic_int signals;

static void count_signal(int signal)
{
	signals++;
}

/* Files of which nobody is told by signals take O_ASYNC all the same, and ignore it. */
static enum psi_result by_signal(void)
{
	pid_t reader;
	int fd, flags;

	stalled_group(&reader);
	fd = open_trigger(psi_path(PSI_IO), TRIGGER);
	EXPECT(fd >= 0, "no trigger: %s", strerror(-fd));
	signal(SIGIO, count_signal);
	flags = fcntl(fd, F_GETFL);
	EXPECT(!fcntl(fd, F_SETOWN, getpid()) && !fcntl(fd, F_SETFL, flags | O_ASYNC),
	       "O_ASYNC: %s", strerror(errno));
	EXPECT(!(fcntl(fd, F_GETFL) & O_ASYNC), "O_ASYNC is set");
	sleep_until(now_ns() + 2 * WINDOW_MS * NSEC_PER_MSEC);
	signal(SIGIO, SIG_DFL);
	EXPECT(!signals, "%d signals", signals);
	EXPECT(poll_event(fd, 0) == POLLPRI, "no event");
	return PSI_PASS;
}

#define BY(nr)		.run_with = told_by, .arg = &ways[nr]

static const struct psi_case cases[] = {
	{ "R-12 R-14 told once by poll()", BY(0) },
	{ "R-12 R-14 told once by ppoll()", BY(1) },
	{ "R-12 R-14 told once by select()", BY(2) },
	{ "R-12 R-14 told once by epoll", BY(3) },
	{ "R-12 R-14 told once by epoll, EPOLLET", BY(4) },
	{ "R-12 R-14 told once by epoll, EPOLLONESHOT", BY(5) },
	{ "R-12 R-14 told once by an epoll set in another", BY(6) },
	{ "R-12 R-14 told once by poll() of an epoll set", BY(7) },
	{ "R-12 R-14 told once by io_uring", BY(8) },
	{ "R-12 R-14 told once by io_uring, multishot", BY(9) },
	{ "R-12 R-14 told once by io_uring, with a request linked to it", BY(10) },
	{ "R-12 R-14 told once by io_uring, EPOLLEXCLUSIVE", BY(11) },
	{ "R-12 R-14 told once by io_uring, SQPOLL", BY(12) },
	{ "R-12 R-14 told once by aio", BY(13) },
	{ "R-12 R-14 one file in all of these ways", one_file_in_all_ways },
	{ "R-12 R-14 a group that is switched off tells in all of these ways",
	  group_switched_off },
	{ "R-12 EPOLLEXCLUSIVE is not for EPOLLPRI", exclusive },
	{ "R-12 nobody is told by a signal", by_signal },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
