// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that wait in io_uring_enter() for a slow disk: that is a stall on io. And they
 * do so while everything that psi_live does goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define BLOCK		4096
#define LIVE_TEST	"/sys/kernel/debug/kunit/psi_live/"

/* The rings of one process, as far as they are needed. */
struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *map(int fd, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

static bool open_ring(struct ring *r)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	r->fd = syscall(__NR_io_uring_setup, 8, &p);
	if (r->fd < 0)
		return false;
	sq = map(r->fd, p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes), IORING_OFF_CQ_RING);
	r->sqes = map(r->fd, p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || r->sqes == MAP_FAILED)
		return false;
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
	return true;
}

/* Hand one request in, and wait until it is done. */
static int do_request(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, slot = tail & *r->sq_mask;
	int ret;

	r->sqes[slot] = *sqe;
	r->sq_array[slot] = slot;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	do
		ret = syscall(__NR_io_uring_enter, r->fd, tail != *r->sq_tail, 1,
			      IORING_ENTER_GETEVENTS, NULL, 0);
	while (ret < 0 && errno == EINTR);
	if (ret < 0 || *r->cq_head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return -1;
	ret = r->cqes[*r->cq_head & *r->cq_mask].res;
	__atomic_store_n(r->cq_head, *r->cq_head + 1, __ATOMIC_RELEASE);
	return ret;
}

/* Read a disk, block after block. */
static void read_by_ring(void *disk)
{
	void *buffer = aligned_alloc(BLOCK, BLOCK);
	struct io_uring_sqe sqe = { .opcode = IORING_OP_READ, .len = BLOCK };
	struct ring ring;
	unsigned int n;

	sqe.fd = open(disk, O_RDONLY | O_DIRECT);
	sqe.addr = (uintptr_t)buffer;
	if (sqe.fd < 0 || !open_ring(&ring))
		return;
	for (n = 0; ; n++) {
		sqe.off = n % 256 * BLOCK;
		if (do_request(&ring, &sqe) != BLOCK)
			return;
	}
}

static enum psi_result waits_for_disk(void)
{
	const char *disk = slow_disk(20);
	struct psi_share share;

	REQUIRE(disk, "needs null_blk and configfs");
	start_load(-1, read_by_ring, (void *)disk);
	sleep_ms(200);
	share = psi_watch(PSI_IO, 3000);
	psi_note("some %.1f %%, full %.1f %%", share.some, share.full);
	EXPECT(close_to(share.some, 100, 5), "some is not 100 %%");
	EXPECT(close_to(share.full, 100, 5), "full is not 100 %%");
	return PSI_PASS;
}

static enum psi_result nothing_is_left(void)
{
	struct psi_share share;

	share = psi_watch(PSI_IO, 1000);
	EXPECT(close_to(share.some, 0, 5), "some %.1f %%, not 0", share.some);
	return PSI_PASS;
}

/* With what psi_live does, and while they are moved from group to group. */
static enum psi_result live(void)
{
	const char *disk = slow_disk(2), *group[2];
	char results[4096];
	pid_t load[6];
	int i, round;

	REQUIRE(disk, "needs null_blk and configfs");
	REQUIRE(!access(LIVE_TEST "run", W_OK), "needs kunit.enable=1");
	group[0] = make_group(NULL, "a");
	group[1] = make_group(group[0], "b");
	for (i = 0; i < 6; i++)
		load[i] = start_in_group(group[i % 2], -1, read_by_ring, (void *)disk);
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
	{ "R-2 who waits in io_uring_enter for a disk is stalled", waits_for_disk },
	{ "R-14 what is counted is what is so, with io_uring", live },
	{ "R-14 after io_uring nothing is left", nothing_is_left },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
