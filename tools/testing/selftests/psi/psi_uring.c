// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that wait in io_uring_enter(). With storage in flight that is a stall on io, and
 * with nothing but connections, pipes, events and timers it is none. And they do so
 * while everything that psi_live does goes on.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/time_types.h>
#include <poll.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "psi_cgroup_util.h"
#include "psi_fuse.h"
#include "psi_ring.h"

#define BLOCK		4096
#define BLOCKS		16384		/* of a disk */
#define REQUEST_MS	50
#define WATCH_MS	1000
#define NULLB		"/sys/kernel/config/nullb/psi_selftest/"
#define LIVE_TEST	"/sys/kernel/debug/kunit/psi_live/"

/* Newer than the headers of some systems. */
#define DISCARD_COMMAND	0x1200		/* BLOCK_URING_CMD_DISCARD */

/*
 * Percent. What lies between two requests is less than 1 ms, or that of a worker which
 * has to be woken for each.
 */
#define TOLERANCE	6.0

#define NO_DISK		"needs null_blk and configfs"
#define NO_RING		"needs io_uring"

static alignas(BLOCK) char block[BLOCK];

/*
 * Where loads are. One that wanders from CPU to CPU would show less than it is stalled,
 * as either CPU counts by the time that it is not idle.
 */
static int last_cpu(void)
{
	return online_cpus() - 1;
}

static void require_rings(unsigned int flags)
{
	struct psi_ring ring;

	REQUIRE(open_ring(&ring, flags), NO_RING);
	close(ring.fd);
}

/* ---- waits that are not for storage ---- */

static int pair[2];			/* of sockets, or of a pipe's ends */
static struct iovec vector = { .iov_base = block, .iov_len = BLOCK };
static struct __kernel_timespec hour = { .tv_sec = 3600 };

static void nothing(struct io_uring_sqe *sqe)
{
	sqe->opcode = IORING_OP_NOP;
}

static void timer(struct io_uring_sqe *sqe)
{
	sqe->opcode = IORING_OP_TIMEOUT;
	sqe->addr = (uintptr_t)&hour;
	sqe->len = 1;
}

static void reading(struct io_uring_sqe *sqe, int fd)
{
	sqe->opcode = IORING_OP_READ;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)block;
	sqe->len = BLOCK;
}

static void event(struct io_uring_sqe *sqe)
{
	reading(sqe, eventfd(0, 0));
	sqe->len = 8;
}

static void of_pipe(struct io_uring_sqe *sqe)
{
	if (!pipe(pair))
		reading(sqe, pair[0]);
}

static void packets(struct io_uring_sqe *sqe)
{
	if (!pipe2(pair, O_DIRECT))
		reading(sqe, pair[0]);
}

static void by_worker(struct io_uring_sqe *sqe)
{
	of_pipe(sqe);
	sqe->flags = IOSQE_ASYNC;
}

static void vector_of_pipe(struct io_uring_sqe *sqe)
{
	of_pipe(sqe);
	sqe->opcode = IORING_OP_READV;
	sqe->addr = (uintptr_t)&vector;
	sqe->len = 1;
}

static void polling(struct io_uring_sqe *sqe)
{
	of_pipe(sqe);
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->addr = 0;
	sqe->len = 0;
	sqe->poll32_events = POLLIN;
}

static void receiving(struct io_uring_sqe *sqe)
{
	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		reading(sqe, pair[0]);
	sqe->opcode = IORING_OP_RECV;
}

static void accepting(struct io_uring_sqe *sqe)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* a name that the kernel gives */
	if (bind(fd, (void *)&name, sizeof(name.sun_family)) || listen(fd, 1))
		return;
	sqe->opcode = IORING_OP_ACCEPT;
	sqe->fd = fd;
}

static void between_pipes(struct io_uring_sqe *sqe)
{
	int from[2];

	if (pipe(from) || pipe(pair))
		return;
	sqe->opcode = IORING_OP_SPLICE;
	sqe->splice_fd_in = from[0];
	sqe->splice_off_in = -1;
	sqe->fd = pair[1];
	sqe->off = -1;
	sqe->len = BLOCK;
}

static const struct {
	const char *name;
	void (*prepare)(struct io_uring_sqe *sqe);
} others[] = {
	{ "nothing in flight", nothing },
	{ "a timer", timer },
	{ "an eventfd", event },
	{ "a pipe", of_pipe },
	{ "a pipe with packets (O_DIRECT)", packets },
	{ "a pipe, by a worker", by_worker },
	{ "readv of a pipe", vector_of_pipe },
	{ "poll", polling },
	{ "recv", receiving },
	{ "accept", accepting },
	{ "splice from a pipe", between_pipes },
};

/* What a load is told. */
struct task {
	unsigned int setup;		/* IORING_SETUP_* */
	size_t kind;
	const char *disk;
	atomic_int ready;
	atomic_uint requests;		/* that the disk has served */
	atomic_bool answered;
	bool stays;			/* where it is, and so do its workers */
};

/* A ring and one request that stays in flight. NOP is there to have used the ring. */
static void open_with(struct psi_ring *ring, unsigned int setup, size_t kind)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_LAST };
	struct io_uring_sqe nop = { .opcode = IORING_OP_NOP };

	if (!open_ring(ring, setup) || do_request(ring, &nop))
		_exit(1);
	others[kind].prepare(&sqe);
	if (sqe.opcode == IORING_OP_LAST)
		_exit(1);
	if (sqe.opcode != IORING_OP_NOP)
		queue_request(ring, &sqe);
}

static void wait_for_other(void *arg)
{
	struct task *task = arg;
	struct psi_ring ring;

	open_with(&ring, task->setup, task->kind);
	task->ready = 1;
	enter_ring(&ring, 1);
}

static struct task *new_task(unsigned int setup)
{
	struct task *task = shared_alloc(sizeof(*task));

	task->setup = setup;
	return task;
}

/* @ready: what it says when it has begun. */
static void await_begin(const struct task *task, int ready, const char *what)
{
	EXPECT(wait_until(task->ready == ready, 5000), "%s: has not begun", what);
	/* From there to where it waits */
	sleep_ms(100);
}

static double watch_some(void)
{
	struct psi_share share = psi_watch(PSI_IO, WATCH_MS);

	EXPECT(share.full <= share.some + 0.1, "more full than some");
	return share.some;
}

static enum psi_result others_with(unsigned int setup)
{
	struct task *task;
	double some;
	size_t i;

	require_rings(setup);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		task = new_task(setup);
		task->kind = i;
		start_load(last_cpu(), wait_for_other, task);
		await_begin(task, 1, others[i].name);
		some = watch_some();
		EXPECT(close_to(some, 0, 1), "%s: some %.1f %%, not 0", others[i].name, some);
		stop_all_loads();
	}
	return PSI_PASS;
}

static enum psi_result waits_for_others(void)
{
	return others_with(0);
}

static enum psi_result waits_deferred(void)
{
	return others_with(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
}

/* ---- waits for storage ---- */

#define WRITES		1		/* flags of a kind: opened to write */
#define BUFFERED	2		/* and not O_DIRECT */

static int disk_fd, drain[2];

static void direct_read(struct io_uring_sqe *sqe, unsigned int n)
{
	reading(sqe, disk_fd);
	sqe->off = (__u64)n * BLOCK;
}

static void queue_read(struct psi_ring *ring)
{
	struct io_uring_sqe sqe = { 0 };

	direct_read(&sqe, 0);
	queue_request(ring, &sqe);
}

static void direct_readv(struct io_uring_sqe *sqe, unsigned int n)
{
	direct_read(sqe, n);
	sqe->opcode = IORING_OP_READV;
	sqe->addr = (uintptr_t)&vector;
	sqe->len = 1;
}

static void direct_write(struct io_uring_sqe *sqe, unsigned int n)
{
	direct_read(sqe, n);
	sqe->opcode = IORING_OP_WRITE;
}

static void read_by_worker(struct io_uring_sqe *sqe, unsigned int n)
{
	direct_read(sqe, n);
	sqe->flags = IOSQE_ASYNC;
}

/* A command of the disk's own. The fields have names only in newer headers. */
static void discard(struct io_uring_sqe *sqe, unsigned int n)
{
	static const __u64 length = BLOCK;

	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = disk_fd;
	sqe->cmd_op = DISCARD_COMMAND;
	sqe->addr = (__u64)n * BLOCK;
	memcpy((char *)sqe + 48, &length, sizeof(length));	/* addr3 */
}

static void write_back(struct io_uring_sqe *sqe, unsigned int n)
{
	if (pwrite(disk_fd, block, BLOCK, (off_t)n * BLOCK) != BLOCK)
		_exit(1);
	sqe->opcode = IORING_OP_FSYNC;
	sqe->fd = disk_fd;
}

static void splice_out(struct io_uring_sqe *sqe, unsigned int n)
{
	if (n && read(drain[0], block, BLOCK) != BLOCK)
		_exit(1);
	sqe->opcode = IORING_OP_SPLICE;
	sqe->splice_fd_in = disk_fd;
	sqe->splice_off_in = (__u64)n * BLOCK;
	sqe->fd = drain[1];
	sqe->off = -1;
	sqe->len = BLOCK;
}

static const struct {
	const char *name;
	void (*prepare)(struct io_uring_sqe *sqe, unsigned int n);
	int result;
	int flags;
} kinds[] = {
	{ "a direct read", direct_read, BLOCK },
	{ "a direct readv", direct_readv, BLOCK },
	{ "a direct write", direct_write, BLOCK, WRITES },
	{ "a direct read that a worker begins", read_by_worker, BLOCK },
	{ "a buffered read", direct_read, BLOCK, BUFFERED },
	{ "a buffered read by a worker", read_by_worker, BLOCK, BUFFERED },
	{ "fsync", write_back, 0, WRITES | BUFFERED },
	{ "splice from a disk", splice_out, BLOCK, BUFFERED },
	{ "discard", discard, 0, WRITES },
};

static void open_disk(const char *disk, int flags)
{
	disk_fd = open(disk, (flags & WRITES ? O_RDWR : O_RDONLY) |
			     (flags & BUFFERED ? 0 : O_DIRECT));
	/* No readahead: each read is of what was not read before. */
	if (disk_fd < 0 || ioctl(disk_fd, BLKRASET, 0UL) || pipe(drain))
		_exit(1);
}

static void use_disk(void *arg)
{
	struct task *task = arg;
	struct io_uring_sqe sqe;
	struct psi_ring ring;
	unsigned int n;
	int ret;

	open_disk(task->disk, kinds[task->kind].flags);
	if (!open_ring(&ring, task->setup) || (task->stays && pin_workers(&ring, last_cpu())))
		return;
	for (n = 0; n < BLOCKS; n++) {
		memset(&sqe, 0, sizeof(sqe));
		kinds[task->kind].prepare(&sqe, n);
		ret = do_request(&ring, &sqe);
		if (ret != kinds[task->kind].result) {
			task->ready = ret < 0 ? ret : -EIO;
			return;
		}
		task->ready = 1;
		task->requests++;
	}
}

/* That has memory, and can discard what is there. */
static const char *slow_memory_disk(unsigned int ms)
{
	const char *disk = slow_disk(ms);

	if (!disk || write_text(NULLB "power", "0") || write_text(NULLB "memory_backed", "1") ||
	    write_text(NULLB "discard", "1") || write_text(NULLB "power", "1"))
		return NULL;
	return disk;
}

static enum psi_result storage_with(unsigned int setup, double some)
{
	const char *disk = slow_memory_disk(REQUEST_MS);
	struct psi_share share;
	struct task *task;
	size_t i;

	REQUIRE(disk, NO_DISK);
	require_rings(setup);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		task = new_task(setup);
		task->kind = i;
		task->disk = disk;
		task->stays = true;
		start_load(last_cpu(), use_disk, task);
		sleep_ms(4 * REQUEST_MS);
		EXPECT(task->ready == 1, "%s: error %d", kinds[i].name, task->ready);
		share = psi_watch(PSI_IO, WATCH_MS);
		psi_note("%s: some %.1f %%, full %.1f %%", kinds[i].name, share.some,
			 share.full);
		EXPECT(close_to(share.some, some, TOLERANCE), "%s: some is not %.0f %%",
		       kinds[i].name, some);
		EXPECT(close_to(share.full, some, TOLERANCE), "%s: full is not %.0f %%",
		       kinds[i].name, some);
		stop_all_loads();
	}
	return PSI_PASS;
}

static enum psi_result waits_for_disk(void)
{
	return storage_with(0, 100);
}

static enum psi_result waits_for_disk_deferred(void)
{
	return storage_with(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 100);
}

/* ---- both ---- */

/* With a recv in flight, direct reads, as many as @kind, or without an end if that is 0. */
static void read_beside_recv(void *arg)
{
	struct task *task = arg;
	struct io_uring_sqe sqe;
	struct psi_ring ring;
	unsigned int n;

	open_with(&ring, task->setup, 8);
	open_disk(task->disk, 0);
	for (n = 0; !task->kind || n < task->kind; n++) {
		memset(&sqe, 0, sizeof(sqe));
		direct_read(&sqe, n % BLOCKS);
		if (do_request(&ring, &sqe) != BLOCK)
			return;
		task->ready = 1;
	}
	task->ready = 2;
	enter_ring(&ring, 1);
}

static double beside_recv(size_t reads)
{
	const char *disk = slow_disk(REQUEST_MS);
	struct task *task = new_task(0);

	REQUIRE(disk, NO_DISK);
	require_rings(0);
	task->disk = disk;
	task->kind = reads;
	start_load(last_cpu(), read_beside_recv, task);
	await_begin(task, reads ? 2 : 1, "recv and read");
	return watch_some();
}

static enum psi_result both_in_flight(void)
{
	double some = beside_recv(0);

	EXPECT(close_to(some, 100, TOLERANCE), "some %.1f %%, not 100", some);
	return PSI_PASS;
}

static enum psi_result read_is_done(void)
{
	double some = beside_recv(1);

	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0", some);
	return PSI_PASS;
}

/* A read that is to begin when the recv before it is done, so it has not. */
static void link_read(void *arg)
{
	struct io_uring_sqe sqe = { 0 };
	struct task *task = arg;
	struct psi_ring ring;

	open_disk(task->disk, 0);
	if (!open_ring(&ring, 0))
		return;
	receiving(&sqe);
	sqe.flags = IOSQE_IO_LINK;
	queue_request(&ring, &sqe);
	queue_read(&ring);
	task->ready = 1;
	enter_ring(&ring, 1);
}

/* The read is in another ring than the one that is waited for. */
static void wait_elsewhere(void *arg)
{
	struct psi_ring ring, other;
	struct task *task = arg;

	open_disk(task->disk, 0);
	if (!open_ring(&other, 0))
		return;
	queue_read(&other);
	if (enter_ring(&other, 0))
		return;
	open_with(&ring, 0, 8);
	task->ready = 1;
	enter_ring(&ring, 1);
}

/* A load with a disk that takes @ms for a request. */
static struct task *start_with_disk(void (*fn)(void *task), unsigned int ms)
{
	struct task *task = new_task(0);

	task->disk = slow_disk(ms);
	REQUIRE(task->disk, NO_DISK);
	require_rings(0);
	start_load(last_cpu(), fn, task);
	await_begin(task, 1, "disk");
	return task;
}

static enum psi_result expect_none(void (*fn)(void *task), unsigned int ms)
{
	double some;

	start_with_disk(fn, ms);
	some = watch_some();
	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0", some);
	return PSI_PASS;
}

static enum psi_result expect_stall(void (*fn)(void *task), unsigned int ms)
{
	double some;

	start_with_disk(fn, ms);
	some = watch_some();
	EXPECT(close_to(some, 100, TOLERANCE), "some %.1f %%, not 100", some);
	return PSI_PASS;
}

static enum psi_result linked(void)
{
	return expect_none(link_read, REQUEST_MS);
}

static enum psi_result other_ring(void)
{
	return expect_none(wait_elsewhere, 4 * WATCH_MS);
}

/*
 * The read is soon done, but that wakes nobody who asks for two completions. What it would
 * have changed is not known until then.
 */
static void wait_for_two(void *arg)
{
	struct task *task = arg;
	struct psi_ring ring;

	open_with(&ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 8);
	open_disk(task->disk, 0);
	queue_read(&ring);
	task->ready = 1;
	enter_ring(&ring, 2);
}

static enum psi_result not_woken(void)
{
	require_rings(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	return expect_stall(wait_for_two, REQUEST_MS);
}

/*
 * A worker begins the read, because it is linked to what the worker did before. Who is
 * asleep by then stays unmarked, so this one is late to wait.
 */
static void wait_for_worker(void *arg)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_FSYNC, .flags = IOSQE_IO_LINK };
	struct io_uring_cqe cqe;
	struct task *task = arg;
	struct psi_ring ring;

	open_disk(task->disk, WRITES);
	if (!open_ring(&ring, 0))
		return;
	sqe.fd = disk_fd;
	queue_request(&ring, &sqe);
	queue_read(&ring);
	if (enter_ring(&ring, 1) || !take_completion(&ring, &cqe) || cqe.res)
		return;
	sleep_ms(50);
	task->ready = 1;
	enter_ring(&ring, 1);
}

static enum psi_result linked_by_worker(void)
{
	return expect_stall(wait_for_worker, 4 * WATCH_MS);
}

/*
 * With a thread of the kernel's that submits (SQPOLL), requests are not those of the
 * task that waits, which therefore has never been in iowait.
 */
static void use_disk_by_thread(void *arg)
{
	struct task *task = arg;

	task->setup = IORING_SETUP_SQPOLL;
	task->kind = 0;
	use_disk(task);
}

static enum psi_result thread_submits(void)
{
	struct task *task;
	double some;

	require_rings(IORING_SETUP_SQPOLL);
	task = start_with_disk(use_disk_by_thread, REQUEST_MS);
	task->requests = 0;
	some = watch_some();
	psi_note("%u requests", task->requests);
	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0", some);
	EXPECT(close_to(100.0 * task->requests * REQUEST_MS / WATCH_MS, 100, 10),
	       "not what a disk does that takes %d ms", REQUEST_MS);
	return PSI_PASS;
}

/* But one that has used another ring is, and this is asked when the read has begun. */
static void wait_for_thread(void *arg)
{
	struct psi_ring ring, other;
	struct task *task = arg;

	open_with(&other, 0, 0);
	open_disk(task->disk, 0);
	if (!open_ring(&ring, IORING_SETUP_SQPOLL))
		return;
	queue_read(&ring);
	if (enter_ring(&ring, 0))
		return;
	sleep_ms(50);
	task->ready = 1;
	enter_ring(&ring, 1);
}

static enum psi_result thread_has_submitted(void)
{
	require_rings(IORING_SETUP_SQPOLL);
	return expect_stall(wait_for_thread, 4 * WATCH_MS);
}

/* ---- files that a program serves ---- */

/* Direct, as the page cache does not know who waits. */
static void read_served(void *arg)
{
	struct io_uring_sqe sqe = { 0 };
	struct task *task = arg;
	struct psi_ring ring;

	disk_fd = open(FUSE_FILE, O_RDONLY | O_DIRECT);
	if (disk_fd < 0 || !open_ring(&ring, 0))
		return;
	direct_read(&sqe, 0);
	sqe.flags = task->setup;
	queue_request(&ring, &sqe);
	enter_ring(&ring, 1);
	task->answered = true;
	for (;;)			/* the server may be killed first */
		pause();
}

/* @flags: of the request */
static enum psi_result served(unsigned int flags)
{
	struct fuse_server *server = start_fuse(0);
	struct task *task = new_task(flags);
	double some;

	require_rings(0);
	start_load(last_cpu(), read_served, task);
	EXPECT(wait_until(server->asked, 1000), "has not begun");
	sleep_ms(100);
	some = watch_some();
	EXPECT(!task->answered, "it does not wait any more");
	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0", some);
	stop_all_loads();
	return PSI_PASS;
}

static enum psi_result fuse(void)
{
	return served(0);
}

static enum psi_result fuse_by_worker(void)
{
	return served(IOSQE_ASYNC);
}

/* ---- what is counted is uncounted ---- */

#define WAYS	16

/* One of all ways that a request can take; none stays in flight. */
static void queue_any(struct psi_ring *ring, unsigned int n, int buffered)
{
	static struct __kernel_timespec soon = { .tv_nsec = 500000 };
	struct io_uring_sqe sqe = { 0 };
	unsigned int way = n % WAYS;

	n = n * 7919 % BLOCKS;
	direct_read(&sqe, n);
	switch (way) {
	case 1:
		direct_write(&sqe, n);
		break;
	case 2:
		read_by_worker(&sqe, n);
		break;
	case 3:			/* behind the end */
		sqe.off = (__u64)BLOCKS * BLOCK;
		break;
	case 4:			/* neither aligned nor there */
		sqe.addr = 1;
		break;
	case 5:
		sqe.fd = -1;
		break;
	case 6:
		sqe.fd = buffered;
		break;
	case 7:
		sqe.fd = buffered;
		sqe.flags = IOSQE_ASYNC;
		break;
	case 8:			/* a chain, the first of which fails */
		sqe.off = 1;
		sqe.flags = IOSQE_IO_LINK;
		queue_request(ring, &sqe);
		sqe.off = 0;
		sqe.flags = 0;
		break;
	case 9:			/* a chain that does not fail */
		sqe.flags = IOSQE_IO_HARDLINK;
		queue_request(ring, &sqe);
		sqe.flags = 0;
		break;
	case 10:		/* with a time limit that is too short */
		sqe.flags = IOSQE_IO_LINK;
		queue_request(ring, &sqe);
		memset(&sqe, 0, sizeof(sqe));
		sqe.opcode = IORING_OP_LINK_TIMEOUT;
		sqe.addr = (uintptr_t)&soon;
		sqe.len = 1;
		break;
	case 11:		/* and by a worker */
		sqe.flags = IOSQE_IO_LINK | IOSQE_ASYNC;
		queue_request(ring, &sqe);
		memset(&sqe, 0, sizeof(sqe));
		sqe.opcode = IORING_OP_LINK_TIMEOUT;
		sqe.addr = (uintptr_t)&soon;
		sqe.len = 1;
		break;
	case 12:		/* those before are cancelled, if that is possible */
		memset(&sqe, 0, sizeof(sqe));
		sqe.opcode = IORING_OP_ASYNC_CANCEL;
		sqe.cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
		break;
	case 13:
		sqe.flags = IOSQE_IO_DRAIN;
		break;
	case 14:		/* a worker begins the next of a link */
		sqe.opcode = IORING_OP_FSYNC;
		sqe.flags = IOSQE_IO_LINK;
		sqe.off = 0;
		sqe.addr = 0;
		sqe.len = 0;
		queue_request(ring, &sqe);
		memset(&sqe, 0, sizeof(sqe));
		direct_read(&sqe, n);
		break;
	case 15:
		memset(&sqe, 0, sizeof(sqe));
		discard(&sqe, n);
		break;
	}
	queue_request(ring, &sqe);
}

/* All that, and then nothing but a recv is in flight. */
static void use_all_ways(void *arg)
{
	struct io_uring_sqe sqe = { 0 };
	unsigned int n, left = 0;
	struct io_uring_cqe cqe;
	struct task *task = arg;
	struct psi_ring ring;
	int buffered;

	open_disk(task->disk, WRITES | BUFFERED);
	buffered = disk_fd;
	open_disk(task->disk, WRITES);
	if (!open_ring(&ring, task->setup))
		return;
	for (n = 0; n < 40 * WAYS; ) {
		do
			queue_any(&ring, n, buffered);
		while (++n % WAYS);
		/* One by one, as a drain and DEFER_TASKRUN might wait for each other. */
		for (left += ring.queued; left; left--)
			while (!take_completion(&ring, &cqe))
				if (enter_ring(&ring, 1))
					return;
	}
	receiving(&sqe);
	queue_request(&ring, &sqe);
	task->ready = 1;
	enter_ring(&ring, 1);
}

static enum psi_result all_ways(unsigned int setup)
{
	struct task *task = new_task(setup);
	double some;

	task->disk = slow_memory_disk(1);
	REQUIRE(task->disk, NO_DISK);
	require_rings(setup);
	start_load(last_cpu(), use_all_ways, task);
	EXPECT(wait_until(task->ready, 60000), "not all requests complete");
	sleep_ms(100);
	some = watch_some();
	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0: some are still counted", some);
	return PSI_PASS;
}

static enum psi_result uncounted(void)
{
	return all_ways(0);
}

static enum psi_result uncounted_deferred(void)
{
	return all_ways(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
}

/* ---- amid everything ---- */

static void read_by_ring(void *disk)
{
	struct task *task = new_task(0);

	task->disk = disk;
	use_disk(task);
}

static enum psi_result nothing_is_left(void)
{
	double some;

	/* What ends is summed up together with up to 400 ms after that. */
	sleep_ms(400);
	some = watch_some();
	EXPECT(close_to(some, 0, 1), "some %.1f %%, not 0", some);
	return PSI_PASS;
}

/* With what psi_live does, and while they are moved from group to group. */
static enum psi_result live(void)
{
	const char *disk = slow_disk(2), *group[2];
	struct task *task = new_task(0);
	char results[4096];
	pid_t load[6];
	int i, round;

	REQUIRE(disk, NO_DISK);
	REQUIRE(!access(LIVE_TEST "run", W_OK), "needs CONFIG_PSI_DEBUG and kunit.enable=1");
	require_rings(0);
	task->kind = 8;
	group[0] = make_group(NULL, "a");
	group[1] = make_group(group[0], "b");
	for (i = 0; i < 6; i++)
		load[i] = start_in_group(group[i % 2], -1, i < 4 ? read_by_ring : wait_for_other,
					 i < 4 ? (void *)disk : task);
	for (round = 0; round < 4; round++) {
		EXPECT(!write_text(LIVE_TEST "run", "1"), "cannot run psi_live");
		EXPECT(read_text(LIVE_TEST "results", results, sizeof(results)) > 0,
		       "psi_live has no results");
		if (strstr(results, "not ok") || !strstr(results, "ok 1 "))
			leave_case(PSI_FAIL, "psi_live says: %s", results);
		for (i = 0; i < 6; i++)
			EXPECT(!move_to_group(group[(i + round) % 2], load[i]), "cannot move");
		EXPECT(!set_pressure(group[1], round % 2), "cannot switch");
	}
	stop_all_loads();
	EXPECT(!remove_all_groups(), "the groups cannot be removed");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-9 io_uring: to wait for a disk is a stall", waits_for_disk },
	{ "R-9 io_uring: the same with DEFER_TASKRUN", waits_for_disk_deferred },
	{ "R-9 io_uring: to wait for other than storage is none", waits_for_others },
	{ "R-9 io_uring: nor is it with DEFER_TASKRUN", waits_deferred },
	{ "R-9 io_uring: a read beside a recv is a stall", both_in_flight },
	{ "R-9 io_uring: no more when the read is done", read_is_done },
	{ "R-9 io_uring: but so it remains to who is not woken", not_woken },
	{ "R-9 io_uring: a read that has not begun is none", linked },
	{ "R-9 io_uring: nor is one in another ring", other_ring },
	{ "R-9 io_uring: one that a worker begins, linked, is a stall", linked_by_worker },
	{ "R-9 io_uring: one that a thread submits (SQPOLL) is none", thread_submits },
	{ "R-9 io_uring: but it is to who has used another ring", thread_has_submitted },
	{ "R-9 io_uring: direct I/O of fuse is none", fuse },
	{ "R-9 io_uring: nor is it if a worker begins it", fuse_by_worker },
	{ "R-9 io_uring: each request is uncounted once", uncounted },
	{ "R-9 io_uring: nor more than once with DEFER_TASKRUN", uncounted_deferred },
	{ "R-14 what is counted is what is so, with io_uring", live },
	{ "R-14 after io_uring nothing is left", nothing_is_left },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
