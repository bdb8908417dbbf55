// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of io_uring share. See psi_uring_util.h.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdalign.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "psi_uring_util.h"

#define NULLB		"/sys/kernel/config/nullb/psi_selftest/"

/* Newer than the headers of some systems. */
#define DISCARD_COMMAND	0x1200		/* BLOCK_URING_CMD_DISCARD */

alignas(BLOCK) char block[BLOCK];
static struct iovec vector = { .iov_base = block, .iov_len = BLOCK };

int last_cpu(void)
{
	return online_cpus() - 1;
}

struct task *new_task(unsigned int setup)
{
	struct task *task = shared_alloc(sizeof(*task));
	struct psi_ring ring;

	REQUIRE(open_ring(&ring, setup), "needs io_uring");
	close(ring.fd);
	task->setup = setup;
	return task;
}

struct psi_share expect_some(const char *what, double expected)
{
	struct psi_share share = psi_watch(PSI_IO, WATCH_MS);

	EXPECT(share.full <= share.some + 0.1, "more full than some");
	EXPECT(close_to(share.some, expected, expected ? TOLERANCE : 1),
	       "%s: some %.1f %%, not %.0f", what, share.some, expected);
	return share;
}

/* ---- requests that are not for storage ---- */

/* Files that nothing comes from; -1 if there is none. */

static int an_event(void)
{
	return eventfd(0, 0);
}

static int a_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

static int packets(void)
{
	int ends[2];

	return pipe2(ends, O_DIRECT) ? -1 : ends[0];
}

static int a_socket(void)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? -1 : ends[0];
}

static int listener(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* a name that the kernel gives */
	return bind(fd, (void *)&name, sizeof(name.sun_family)) || listen(fd, 1) ? -1 : fd;
}

static struct __kernel_timespec hour = { .tv_sec = 3600 };

const struct other others[] = {
	{ "nothing in flight", IORING_OP_NOP },
	{ "a timer", IORING_OP_TIMEOUT, NULL, &hour, 1 },
	{ "an eventfd", IORING_OP_READ, an_event, block, 8 },
	{ "a pipe", IORING_OP_READ, a_pipe, block, BLOCK },
	{ "a pipe with packets (O_DIRECT)", IORING_OP_READ, packets, block, BLOCK },
	{ "a pipe, by a worker", IORING_OP_READ, a_pipe, block, BLOCK, IOSQE_ASYNC },
	{ "readv of a pipe", IORING_OP_READV, a_pipe, &vector, 1 },
	{ "poll", IORING_OP_POLL_ADD, a_pipe },
	{ "recv", IORING_OP_RECV, a_socket, block, BLOCK },
	{ "accept", IORING_OP_ACCEPT, listener },
	{ "splice from a pipe", IORING_OP_SPLICE, a_pipe, NULL, BLOCK },
};

const size_t nr_others = ARRAY_SIZE(others);

void prepare_other(struct io_uring_sqe *sqe, size_t kind)
{
	int fd = others[kind].open ? others[kind].open() : 0, to[2];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = others[kind].opcode;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)others[kind].data;
	sqe->len = others[kind].len;
	sqe->flags = others[kind].flags;
	if (sqe->opcode == IORING_OP_POLL_ADD)
		sqe->poll32_events = POLLIN;
	if (sqe->opcode == IORING_OP_SPLICE) {
		sqe->splice_fd_in = fd;
		sqe->splice_off_in = -1;
		sqe->fd = pipe(to) ? -1 : to[1];
		sqe->off = -1;
	}
	if (fd < 0 || sqe->fd < 0)
		_exit(1);
}

/* NOP is there to have used the ring. */
void open_with(struct psi_ring *ring, unsigned int setup, size_t kind)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_NOP };

	if (!open_ring(ring, setup) || do_request(ring, &sqe))
		_exit(1);
	prepare_other(&sqe, kind);
	if (kind != NOTHING)
		queue_request(ring, &sqe);
}

void wait_for_other(void *arg)
{
	struct task *task = arg;
	struct psi_ring ring;

	open_with(&ring, task->setup, task->kind);
	task->ready = 1;
	enter_ring(&ring, 1);
}

/* ---- requests for storage ---- */

int disk_fd, drain[2];

const char *slow_memory_disk(unsigned int ms)
{
	const char *disk = slow_disk(ms);

	if (!disk || write_text(NULLB "power", "0") || write_text(NULLB "memory_backed", "1") ||
	    write_text(NULLB "discard", "1") || write_text(NULLB "power", "1"))
		return NULL;
	return disk;
}

void open_disk(const char *disk, int flags)
{
	disk_fd = open(disk, (flags & WRITES ? O_RDWR : O_RDONLY) |
			     (flags & BUFFERED ? 0 : O_DIRECT));
	/* No readahead: each read is of what was not read before. */
	if (disk_fd < 0 || ioctl(disk_fd, BLKRASET, 0UL) || pipe(drain))
		_exit(1);
}

void prepare(struct io_uring_sqe *sqe, __u8 opcode, unsigned int n)
{
	static struct __kernel_timespec soon = { .tv_nsec = 500000 };
	static const __u64 length = BLOCK;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = opcode;
	sqe->fd = disk_fd;
	switch (opcode) {
	case IORING_OP_READ:
	case IORING_OP_WRITE:
		sqe->addr = (uintptr_t)block;
		sqe->len = BLOCK;
		sqe->off = (__u64)n * BLOCK;
		break;
	case IORING_OP_READV:
		sqe->addr = (uintptr_t)&vector;
		sqe->len = 1;
		sqe->off = (__u64)n * BLOCK;
		break;
	case IORING_OP_SPLICE:
		sqe->splice_fd_in = disk_fd;
		sqe->splice_off_in = (__u64)n * BLOCK;
		sqe->fd = drain[1];
		sqe->off = -1;
		sqe->len = BLOCK;
		break;
	case IORING_OP_URING_CMD:
		/* A command of the disk's own. The fields have names only in newer headers. */
		sqe->cmd_op = DISCARD_COMMAND;
		sqe->addr = (__u64)n * BLOCK;
		memcpy((char *)sqe + 48, &length, sizeof(length));	/* addr3 */
		break;
	case IORING_OP_LINK_TIMEOUT:
		sqe->fd = 0;
		sqe->addr = (uintptr_t)&soon;
		sqe->len = 1;
		break;
	case IORING_OP_ASYNC_CANCEL:
		sqe->fd = 0;
		sqe->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
	}
}
