// SPDX-License-Identifier: GPL-2.0
/*
 * All ways to wait for an event of a pressure file. See psi_ways.h.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "psi_trigger_util.h"
#include "psi_ways.h"

static int nothing_to_begin(struct waiter *w)
{
	return 0;
}

static int by_poll(struct waiter *w, int ms)
{
	return poll_event(w->fd, ms);
}

static int by_ppoll(struct waiter *w, int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * NSEC_PER_MSEC };
	struct pollfd p = { .fd = w->fd, .events = POLLPRI };

	return ppoll(&p, 1, &left, NULL) > 0 ? p.revents : 0;
}

/* For select(), both an event and the end are an exceptional condition. */
static int by_select(struct waiter *w, int ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	struct timeval left = { ms / 1000, ms % 1000 * 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->fd, &set);
	if (select(w->fd + 1, NULL, NULL, &set, &left) <= 0)
		return 0;
	return POLLPRI | (poll(&p, 1, 0) > 0 ? p.revents & POLLERR : 0);
}

int epoll_of(int fd, __u32 events, int *epoll)
{
	struct epoll_event event = { .events = events };

	*epoll = epoll_create1(EPOLL_CLOEXEC);
	return epoll_ctl(*epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int wait_for_set(int epoll, int ms)
{
	struct epoll_event event = { 0 };

	return epoll_wait(epoll, &event, 1, ms) > 0 ? event.events : 0;
}

static int begin_epoll(struct waiter *w)
{
	return epoll_of(w->fd, w->way->events, &w->epoll);
}

static int by_epoll(struct waiter *w, int ms)
{
	struct epoll_event event = { .events = w->way->events };
	int got = wait_for_set(w->epoll, ms);

	if (got && w->way->events & EPOLLONESHOT)
		epoll_ctl(w->epoll, EPOLL_CTL_MOD, w->fd, &event);
	return got;
}

static int begin_nested(struct waiter *w)
{
	int ret = epoll_of(w->fd, EPOLLPRI, &w->inner);

	return ret ? ret : epoll_of(w->inner, w->way->events, &w->epoll);
}

/*
 * To ask whether a set has anything takes the event, and the set does not have it any
 * more when it is asked itself. So it is the outside that tells.
 */
static int look_into(struct waiter *w, int set)
{
	int got = wait_for_set(set, 0);

	w->found_inside += !!got;
	return POLLPRI | got;
}

static int by_nested(struct waiter *w, int ms)
{
	return wait_for_set(w->epoll, ms) ? look_into(w, w->inner) : 0;
}

static int by_poll_of_set(struct waiter *w, int ms)
{
	struct pollfd p = { .fd = w->epoll, .events = POLLIN };

	return poll(&p, 1, ms) > 0 ? look_into(w, w->epoll) : 0;
}

static int begin_ring(struct waiter *w)
{
	return open_ring(&w->ring, w->way->setup) ? 0 : -errno;
}

enum { POLLED = 1, LINKED };

static void queue_poll(struct waiter *w)
{
	const struct io_uring_sqe poll = {
		.opcode = IORING_OP_POLL_ADD,
		.flags = w->way->linked ? IOSQE_IO_LINK : 0,
		.fd = w->fd,
		.poll32_events = w->way->events,
		.len = w->way->poll,
		.user_data = POLLED,
	};
	const struct io_uring_sqe linked = { .opcode = IORING_OP_NOP, .user_data = LINKED };

	queue_request(&w->ring, &poll);
	if (w->way->linked)
		queue_request(&w->ring, &linked);
	w->queued = true;
}

static int by_ring(struct waiter *w, int ms)
{
	struct io_uring_cqe cqe;
	int got = 0;

	if (!w->queued)
		queue_poll(w);
	do {
		while (!take_completion(&w->ring, &cqe))
			if (enter_ring_for(&w->ring, 1, ms) < 0)
				return 0;
		if (cqe.user_data != LINKED) {
			got = cqe.res;
			w->queued = cqe.flags & IORING_CQE_F_MORE;
		}
	} while (w->way->linked && cqe.user_data != LINKED);
	return got > 0 ? got : 0;
}

static int begin_aio(struct waiter *w)
{
	return syscall(SYS_io_setup, 1, &w->aio) ? -errno : 0;
}

static int by_aio(struct waiter *w, int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * NSEC_PER_MSEC };
	struct iocb *list[] = { &w->cb };
	struct io_event event;

	if (!w->queued) {
		w->cb = (struct iocb) {
			.aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = w->fd, .aio_buf = POLLPRI,
		};
		if (syscall(SYS_io_submit, w->aio, 1, list) != 1)
			return 0;
		w->queued = true;
	}
	if (syscall(SYS_io_getevents, w->aio, 1, 1, &event, &left) != 1)
		return 0;
	w->queued = false;
	return event.res;
}

const struct way ways[] = {
	{ "poll", nothing_to_begin, by_poll },
	{ "ppoll", nothing_to_begin, by_ppoll },
	{ "select", nothing_to_begin, by_select },
	{ "epoll", begin_epoll, by_epoll, EPOLLPRI },
	{ "epoll, edges", begin_epoll, by_epoll, EPOLLPRI | EPOLLET },
	{ "epoll, once", begin_epoll, by_epoll, EPOLLPRI | EPOLLONESHOT },
	{ "epoll in epoll", begin_nested, by_nested, EPOLLIN },
	{ "poll of epoll", begin_epoll, by_poll_of_set, EPOLLPRI },
	{ "io_uring", begin_ring, by_ring, EPOLLPRI },
	{ "io_uring, multishot", begin_ring, by_ring, EPOLLPRI, .poll = IORING_POLL_ADD_MULTI },
	{ "io_uring, linked", begin_ring, by_ring, EPOLLPRI, .linked = true },
	{ "io_uring, exclusive", begin_ring, by_ring, EPOLLPRI | EPOLLEXCLUSIVE },
	{ "io_uring, SQPOLL", begin_ring, by_ring, EPOLLPRI, .setup = IORING_SETUP_SQPOLL },
	{ "aio", begin_aio, by_aio },
};

const size_t nr_ways = ARRAY_SIZE(ways);

const struct way bystander = {
	"EPOLLEXCLUSIVE", begin_epoll, by_epoll, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
};

void end_waiting(struct waiter *w)
{
	if (w->aio)
		syscall(SYS_io_destroy, w->aio);
	close_range(3, ~0U, 0);
}
