/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of io_uring as the PSI selftests need, by bare system calls. A ring belongs
 * to one thread.
 */
#ifndef PSI_RING_H
#define PSI_RING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct psi_ring {
	int fd;
	unsigned int queued;		/* not yet submitted */
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static inline void *map_ring(int fd, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

/* A ring for 64 requests, with IORING_SETUP_* of @flags. Return: false if there is none. */
static inline bool open_ring(struct psi_ring *r, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 1 };
	char *sq, *cq;

	r->queued = 0;
	r->fd = syscall(__NR_io_uring_setup, 64, &p);
	if (r->fd < 0)
		return false;
	sq = map_ring(r->fd, p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = map_ring(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes), IORING_OFF_CQ_RING);
	r->sqes = map_ring(r->fd, p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
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

/* From now on, the thread's workers are on that CPU; 0 or -1. */
static inline int pin_workers(const struct psi_ring *r, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return syscall(__NR_io_uring_register, r->fd, IORING_REGISTER_IOWQ_AFF, &set, sizeof(set));
}

/* To be submitted with the next enter_ring(). */
static inline void queue_request(struct psi_ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, slot = tail & *r->sq_mask;

	r->sqes[slot] = *sqe;
	r->sq_array[slot] = slot;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	r->queued++;
}

/* Submits what is queued, and sleeps until @complete completions are there; 0 or -errno. */
static inline int enter_ring(struct psi_ring *r, unsigned int complete)
{
	int ret;

	do {
		ret = syscall(__NR_io_uring_enter, r->fd, r->queued, complete,
			      IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, NULL, 0);
		if (ret > 0)
			r->queued -= ret;
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

/* The same, for up to @ms; -ETIME if they are not there by then. */
static inline int enter_ring_for(struct psi_ring *r, unsigned int complete, int ms)
{
	struct __kernel_timespec left = { ms / 1000, ms % 1000 * 1000000LL };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&left };
	int ret;

	ret = syscall(__NR_io_uring_enter, r->fd, r->queued, complete, IORING_ENTER_GETEVENTS |
		      IORING_ENTER_SQ_WAKEUP | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
	if (ret > 0)
		r->queued -= ret;
	return ret < 0 ? -errno : 0;
}

/* Takes a completion, if there is one. */
static inline bool take_completion(struct psi_ring *r, struct io_uring_cqe *cqe)
{
	unsigned int head = *r->cq_head;

	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	*cqe = r->cqes[head & *r->cq_mask];
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Hands one request in, and waits until one is done; its result, or -errno. */
static inline int do_request(struct psi_ring *r, const struct io_uring_sqe *sqe)
{
	struct io_uring_cqe cqe;
	int ret;

	queue_request(r, sqe);
	ret = enter_ring(r, 1);
	if (ret)
		return ret;
	return take_completion(r, &cqe) ? cqe.res : -ENODATA;
}

#endif /* PSI_RING_H */
