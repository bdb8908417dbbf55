// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that wait in io_uring_enter(). With storage in flight that is a stall on io, and
 * with nothing but connections, pipes, events and timers it is none.
 */
#include <fcntl.h>
#include <unistd.h>

#include "psi_fuse.h"
#include "psi_uring_util.h"

#define REQUEST_MS	50

static void await_begin(const struct task *task, const char *what)
{
	EXPECT(wait_until(task->ready == 1, 5000), "%s: has not begun", what);
	/* From there to where it waits */
	sleep_ms(100);
}

/* ---- waits that are not for storage ---- */

/* @setup: IORING_SETUP_*, as it is below */
static enum psi_result waits_for_others(const void *setup)
{
	struct task *task;
	size_t i;

	for (i = 0; i < nr_others; i++) {
		task = new_task(*(unsigned int *)setup);
		task->kind = i;
		start_load(last_cpu(), wait_for_other, task);
		await_begin(task, others[i].name);
		expect_some(others[i].name, 0);
		stop_all_loads();
	}
	return PSI_PASS;
}

/* ---- waits for storage ---- */

static const struct {
	const char *name;
	__u8 opcode, sqe_flags;
	int result;
	int flags;
} kinds[] = {
	{ "a direct read", IORING_OP_READ, 0, BLOCK },
	{ "a direct readv", IORING_OP_READV, 0, BLOCK },
	{ "a direct write", IORING_OP_WRITE, 0, BLOCK, WRITES },
	{ "a direct read that a worker begins", IORING_OP_READ, IOSQE_ASYNC, BLOCK },
	{ "a buffered read", IORING_OP_READ, 0, BLOCK, BUFFERED },
	{ "a buffered read by a worker", IORING_OP_READ, IOSQE_ASYNC, BLOCK, BUFFERED },
	{ "fsync", IORING_OP_FSYNC, 0, 0, WRITES | BUFFERED },
	{ "splice from a disk", IORING_OP_SPLICE, 0, BLOCK, BUFFERED },
	{ "discard", IORING_OP_URING_CMD, 0, 0, WRITES },
};

static void queue_read(struct psi_ring *ring)
{
	struct io_uring_sqe sqe;

	prepare(&sqe, IORING_OP_READ, 0);
	queue_request(ring, &sqe);
}

static void use_disk(void *arg)
{
	struct task *task = arg;
	__u8 opcode = kinds[task->kind].opcode;
	struct io_uring_sqe sqe;
	struct psi_ring ring;
	unsigned int n;
	int ret;

	open_disk(task->disk, kinds[task->kind].flags);
	if (!open_ring(&ring, task->setup) || (task->stays && pin_workers(&ring, last_cpu())))
		return;
	for (n = 0; n < BLOCKS; n++) {
		/* There is something to write back, and room in the pipe. */
		if (opcode == IORING_OP_FSYNC &&
		    pwrite(disk_fd, block, BLOCK, (off_t)n * BLOCK) != BLOCK)
			_exit(1);
		if (opcode == IORING_OP_SPLICE && n && read(drain[0], block, BLOCK) != BLOCK)
			_exit(1);
		prepare(&sqe, opcode, n);
		sqe.flags = kinds[task->kind].sqe_flags;
		ret = do_request(&ring, &sqe);
		if (ret != kinds[task->kind].result) {
			task->ready = ret < 0 ? ret : -EIO;
			return;
		}
		task->ready = 1;
		task->requests++;
	}
}

static enum psi_result waits_for_disk(const void *setup)
{
	const char *disk = slow_memory_disk(REQUEST_MS);
	struct psi_share share;
	struct task *task;
	size_t i;

	REQUIRE(disk, NO_DISK);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		task = new_task(*(unsigned int *)setup);
		task->kind = i;
		task->disk = disk;
		task->stays = true;
		start_load(last_cpu(), use_disk, task);
		sleep_ms(4 * REQUEST_MS);
		EXPECT(task->ready == 1, "%s: error %d", kinds[i].name, task->ready);
		share = expect_some(kinds[i].name, 100);
		psi_note("%s: some %.1f %%, full %.1f %%", kinds[i].name, share.some,
			 share.full);
		EXPECT(close_to(share.full, 100, TOLERANCE), "%s: full is not 100 %%",
		       kinds[i].name);
		stop_all_loads();
	}
	return PSI_PASS;
}

/* ---- both ---- */

/* A load that waits, with a disk that takes @ms for a request. */
struct wait_case {
	void (*wait)(void *task);
	unsigned int ms;
	double some;			/* percent */
	unsigned int setup;
	size_t kind;
};

static struct task *start_waiting(const struct wait_case *c)
{
	struct task *task = new_task(c->setup);

	task->kind = c->kind;
	task->disk = slow_disk(c->ms);
	REQUIRE(task->disk, NO_DISK);
	start_load(last_cpu(), c->wait, task);
	await_begin(task, "disk");
	return task;
}

static enum psi_result expect_wait(const void *wait_case)
{
	const struct wait_case *c = wait_case;

	start_waiting(c);
	expect_some("disk", c->some);
	return PSI_PASS;
}

/* With a recv in flight, direct reads, as many as @kind, or without an end if that is 0. */
static void read_beside_recv(void *arg)
{
	struct task *task = arg;
	struct io_uring_sqe sqe;
	struct psi_ring ring;
	unsigned int n;

	open_with(&ring, task->setup, RECV);
	open_disk(task->disk, 0);
	for (n = 0; !task->kind || n < task->kind; n++) {
		prepare(&sqe, IORING_OP_READ, n % BLOCKS);
		if (do_request(&ring, &sqe) != BLOCK)
			return;
		task->ready = !task->kind;
	}
	task->ready = 1;
	enter_ring(&ring, 1);
}

/* A read that is to begin when the recv before it is done, so it has not. */
static void link_read(void *arg)
{
	struct io_uring_sqe sqe;
	struct task *task = arg;
	struct psi_ring ring;

	open_disk(task->disk, 0);
	if (!open_ring(&ring, 0))
		return;
	prepare_other(&sqe, RECV);
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
	open_with(&ring, 0, RECV);
	task->ready = 1;
	enter_ring(&ring, 1);
}

/*
 * The read is soon done, but that wakes nobody who asks for two completions. What it would
 * have changed is not known until then.
 */
static void wait_for_two(void *arg)
{
	struct task *task = arg;
	struct psi_ring ring;

	open_with(&ring, task->setup, RECV);
	open_disk(task->disk, 0);
	queue_read(&ring);
	task->ready = 1;
	enter_ring(&ring, 2);
}

/*
 * A worker begins the read, because it is linked to what the worker did before. A task
 * that is asleep by then stays unmarked, so this one is late to wait.
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

/* But one that has used another ring is, and this is asked when the read has begun. */
static void wait_for_thread(void *arg)
{
	struct psi_ring ring, other;
	struct task *task = arg;

	open_with(&other, 0, NOTHING);
	open_disk(task->disk, 0);
	if (!open_ring(&ring, task->setup))
		return;
	queue_read(&ring);
	if (enter_ring(&ring, 0))
		return;
	sleep_ms(50);
	task->ready = 1;
	enter_ring(&ring, 1);
}

/*
 * With a thread of the kernel's that submits (SQPOLL), requests are not those of the
 * task that waits, which therefore has never been in iowait.
 */
static enum psi_result thread_submits(void)
{
	struct task *task = start_waiting(&(const struct wait_case) {
		use_disk, REQUEST_MS, .setup = IORING_SETUP_SQPOLL });

	task->requests = 0;
	expect_some("disk", 0);
	psi_note("%u requests", task->requests);
	EXPECT(close_to(100.0 * task->requests * REQUEST_MS / WATCH_MS, 100, 10),
	       "not what a disk does that takes %d ms", REQUEST_MS);
	return PSI_PASS;
}

/* ---- files that a program serves ---- */

/* Direct, as the page cache does not know which task waits. */
static void read_served(void *arg)
{
	struct io_uring_sqe sqe;
	struct task *task = arg;
	struct psi_ring ring;

	disk_fd = open(FUSE_FILE, O_RDONLY | O_DIRECT);
	if (disk_fd < 0 || !open_ring(&ring, 0))
		return;
	prepare(&sqe, IORING_OP_READ, 0);
	sqe.flags = task->kind;
	queue_request(&ring, &sqe);
	enter_ring(&ring, 1);
	task->answered = true;
	for (;;)			/* the server may be killed first */
		pause();
}

/* @flags: of the request */
static enum psi_result served(const void *flags)
{
	struct fuse_server *server = start_fuse(0);
	struct task *task = new_task(0);

	task->kind = *(unsigned int *)flags;
	start_load(last_cpu(), read_served, task);
	EXPECT(wait_until(server->asked, 1000), "has not begun");
	sleep_ms(100);
	expect_some("fuse", 0);
	EXPECT(!task->answered, "it does not wait any more");
	stop_all_loads();
	return PSI_PASS;
}

#define WAIT(...)	.run_with = expect_wait, .arg = &(const struct wait_case){ __VA_ARGS__ }

static const struct psi_case cases[] = {
	{ "R-9 io_uring: to wait for a disk is a stall", FLAGS(waits_for_disk, 0) },
	{ "R-9 io_uring: the same with DEFER_TASKRUN", FLAGS(waits_for_disk, DEFERRED) },
	{ "R-9 io_uring: to wait for other than storage is none", FLAGS(waits_for_others, 0) },
	{ "R-9 io_uring: nor is it with DEFER_TASKRUN", FLAGS(waits_for_others, DEFERRED) },
	{ "R-9 io_uring: a read beside a recv is a stall",
	  WAIT(read_beside_recv, REQUEST_MS, 100) },
	{ "R-9 io_uring: no more when the read is done",
	  WAIT(read_beside_recv, REQUEST_MS, 0, .kind = 1) },
	{ "R-9 io_uring: but so it remains to a task that is not woken",
	  WAIT(wait_for_two, REQUEST_MS, 100, DEFERRED) },
	{ "R-9 io_uring: a read that has not begun is none", WAIT(link_read, REQUEST_MS, 0) },
	{ "R-9 io_uring: nor is one in another ring", WAIT(wait_elsewhere, 4 * WATCH_MS, 0) },
	{ "R-9 io_uring: one that a worker begins, linked, is a stall",
	  WAIT(wait_for_worker, 4 * WATCH_MS, 100) },
	{ "R-9 io_uring: one that a thread submits (SQPOLL) is none", thread_submits },
	{ "R-9 io_uring: but it is to a task that has used another ring",
	  WAIT(wait_for_thread, 4 * WATCH_MS, 100, IORING_SETUP_SQPOLL) },
	{ "R-9 io_uring: direct I/O of fuse is none", FLAGS(served, 0) },
	{ "R-9 io_uring: nor is it if a worker begins it", FLAGS(served, IOSQE_ASYNC) },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
