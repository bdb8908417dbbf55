/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All ways to wait for an event of a pressure file. A waiter is a process of its own.
 */
#ifndef PSI_WAYS_H
#define PSI_WAYS_H

#include <linux/aio_abi.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "psi_ring.h"

struct waiter {
	const struct way *way;
	int fd;				/* of the pressure file */
	int epoll, inner;
	unsigned int found_inside;	/* how often a set that was ready had something */
	struct psi_ring ring;
	bool queued;			/* a request is in the ring, or with aio */
	aio_context_t aio;
	struct iocb cb;
};

struct way {
	const char *name;
	int (*begin)(struct waiter *w);			/* 0 or -errno */
	/* Up to @ms. Return: what has happened, as in revents, or 0. */
	int (*wait)(struct waiter *w, int ms);
	__u32 events;			/* EPOLLPRI, and for epoll and rings more */
	__u32 setup;			/* IORING_SETUP_* */
	__u32 poll;			/* IORING_POLL_* */
	bool linked;			/* another request waits for this one */
};

extern const struct way ways[];
extern const size_t nr_ways;

/* Waits for something else, and exclusively; it leaves the events to others. */
extern const struct way bystander;

/* Closes everything. */
void end_waiting(struct waiter *w);

/* A new set with a file in it, for these events; 0 or -errno. */
int epoll_of(int fd, __u32 events, int *epoll);

#endif /* PSI_WAYS_H */
