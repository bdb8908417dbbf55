// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring, while everything else goes on: whatever becomes of requests, what is counted of
 * them is uncounted; and what is counted is what is so, with everything that psi_live does.
 */
#include "psi_cgroup_util.h"
#include "psi_uring_util.h"

/* ---- what is counted is uncounted ---- */

/* All ways that a request can take; none stays in flight. */
static const struct way {
	__u8 opcode, flags;
	__u8 next;			/* if there is a chain */
	enum { DIRECT, CACHED, NO_FILE } file;
	__u64 off, addr;		/* other ones than usual */
} ways[] = {
	{ IORING_OP_READ },
	{ IORING_OP_WRITE },
	{ IORING_OP_READ, IOSQE_ASYNC },
	/* behind the end; neither aligned nor there */
	{ IORING_OP_READ, .off = (__u64)BLOCKS * BLOCK },
	{ IORING_OP_READ, .addr = 1 },
	{ IORING_OP_READ, .file = NO_FILE },
	{ IORING_OP_READ, .file = CACHED },
	{ IORING_OP_READ, IOSQE_ASYNC, .file = CACHED },
	/* a chain, the first of which fails, and one that does not */
	{ IORING_OP_READ, IOSQE_IO_LINK, IORING_OP_READ, .off = 1 },
	{ IORING_OP_READ, IOSQE_IO_HARDLINK, IORING_OP_READ },
	/* with a time limit that is too short, and by a worker */
	{ IORING_OP_READ, IOSQE_IO_LINK, IORING_OP_LINK_TIMEOUT },
	{ IORING_OP_READ, IOSQE_IO_LINK | IOSQE_ASYNC, IORING_OP_LINK_TIMEOUT },
	/* those before are cancelled, if that is possible */
	{ IORING_OP_ASYNC_CANCEL },
	{ IORING_OP_READ, IOSQE_IO_DRAIN },
	/* a worker begins the next of a link */
	{ IORING_OP_FSYNC, IOSQE_IO_LINK, IORING_OP_READ },
	{ IORING_OP_URING_CMD },
};

#define WAYS	ARRAY_SIZE(ways)

static void queue_any(struct psi_ring *ring, unsigned int n, int cached)
{
	const struct way *way = &ways[n % WAYS];
	struct io_uring_sqe sqe;

	n = n * 7919 % BLOCKS;
	prepare(&sqe, way->opcode, n);
	sqe.flags = way->flags;
	if (way->file != DIRECT)
		sqe.fd = way->file == CACHED ? cached : -1;
	if (way->off)
		sqe.off = way->off;
	if (way->addr)
		sqe.addr = way->addr;
	queue_request(ring, &sqe);
	if (way->next) {
		prepare(&sqe, way->next, n);
		queue_request(ring, &sqe);
	}
}

/* All that, and then nothing but a recv is in flight. */
static void use_all_ways(void *arg)
{
	unsigned int n, left = 0;
	struct io_uring_sqe sqe;
	struct io_uring_cqe cqe;
	struct task *task = arg;
	struct psi_ring ring;
	int cached;

	open_disk(task->disk, WRITES | BUFFERED);
	cached = disk_fd;
	open_disk(task->disk, WRITES);
	if (!open_ring(&ring, task->setup))
		return;
	for (n = 0; n < 40 * WAYS; ) {
		do
			queue_any(&ring, n, cached);
		while (++n % WAYS);
		/* One by one, as a drain and DEFER_TASKRUN might wait for each other. */
		for (left += ring.queued; left; left--)
			while (!take_completion(&ring, &cqe))
				if (enter_ring(&ring, 1))
					return;
	}
	prepare_other(&sqe, RECV);
	queue_request(&ring, &sqe);
	task->ready = 1;
	enter_ring(&ring, 1);
}

static enum psi_result uncounted(const void *setup)
{
	struct task *task = new_task(*(unsigned int *)setup);

	task->disk = slow_memory_disk(1);
	REQUIRE(task->disk, NO_DISK);
	start_load(last_cpu(), use_all_ways, task);
	EXPECT(wait_until(task->ready, 60000), "not all requests complete");
	sleep_ms(100);
	expect_some("a recv after all that", 0);
	return PSI_PASS;
}

/* ---- amid everything ---- */

static enum psi_result nothing_is_left(void)
{
	/* What ends is summed up together with up to 400 ms after that. */
	sleep_ms(400);
	expect_some("nothing", 0);
	return PSI_PASS;
}

static void read_on(void *arg)
{
	struct task *task = arg;
	struct io_uring_sqe sqe;
	struct psi_ring ring;
	unsigned int n;

	open_disk(task->disk, 0);
	if (!open_ring(&ring, task->setup))
		return;
	for (n = 0; n < BLOCKS; n++) {
		prepare(&sqe, IORING_OP_READ, n);
		if (do_request(&ring, &sqe) != BLOCK)
			return;
	}
}

/* With what psi_live does, and while they are moved from group to group. */
static enum psi_result live(void)
{
	struct task *reader = new_task(0), *other = new_task(0);
	const char *group[2];
	pid_t load[6];
	int i, round;

	reader->disk = slow_disk(2);
	REQUIRE(reader->disk, NO_DISK);
	require_facts();
	other->kind = RECV;
	group[0] = make_group(NULL, "a");
	group[1] = make_group(group[0], "b");
	for (i = 0; i < 6; i++)
		load[i] = start_in_group(group[i % 2], -1, i < 4 ? read_on : wait_for_other,
					 i < 4 ? reader : other);
	for (round = 0; round < 4; round++) {
		expect_facts();
		for (i = 0; i < 6; i++)
			EXPECT(!move_to_group(group[(i + round) % 2], load[i]), "cannot move");
		must_switch(group[1], round % 2);
	}
	stop_all_loads();
	EXPECT(!remove_all_groups(), "the groups cannot be removed");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-9 io_uring: each request is uncounted once", FLAGS(uncounted, 0) },
	{ "R-9 io_uring: nor more than once with DEFER_TASKRUN", FLAGS(uncounted, DEFERRED) },
	{ "R-14 what is counted is what is so, with io_uring", live },
	{ "R-14 after io_uring nothing is left", nothing_is_left },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
