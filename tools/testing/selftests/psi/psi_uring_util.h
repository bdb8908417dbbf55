/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of io_uring share: requests of all kinds, and loads that wait for them.
 */
#ifndef PSI_URING_UTIL_H
#define PSI_URING_UTIL_H

#include "psi_ring.h"
#include "psi_util.h"

#define BLOCK		4096
#define BLOCKS		16384		/* of a disk */
#define DEFERRED	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)
#define NO_DISK		"needs null_blk and configfs"

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

/* The case has to be skipped if there are no rings like that. */
struct task *new_task(unsigned int setup);

/*
 * Where loads are. One that wanders from CPU to CPU would show less than it is stalled,
 * as either CPU counts by the time that it is not idle.
 */
int last_cpu(void);

/*
 * Percent. What lies between two requests is less than 1 ms, or that of a worker which
 * has to be woken for each.
 */
#define TOLERANCE	6.0
#define WATCH_MS	1000

/* The case has failed if that is not what the system shows while @what goes on. */
struct psi_share expect_some(const char *what, double expected);

/* ---- requests that are not for storage ---- */

struct other {
	const char *name;
	__u8 opcode;
	int (*open)(void);		/* the file that it is for */
	void *data;
	__u32 len;
	__u8 flags;
};

extern const struct other others[];
extern const size_t nr_others;
#define NOTHING		0		/* of them */
#define RECV		8

/* These end the load if that is not possible. */
void prepare_other(struct io_uring_sqe *sqe, size_t kind);
/* A ring and one request that stays in flight. */
void open_with(struct psi_ring *ring, unsigned int setup, size_t kind);
/* A load that waits for it. */
void wait_for_other(void *task);

/* ---- requests for storage ---- */

/* A disk that has memory, and can discard what is there. */
const char *slow_memory_disk(unsigned int ms);

#define WRITES		1		/* opened to write */
#define BUFFERED	2		/* and not O_DIRECT */

extern char block[BLOCK];		/* what is read or written */
extern int disk_fd, drain[2];

void open_disk(const char *disk, int flags);
/* A request for block @n of the disk, or what belongs to one */
void prepare(struct io_uring_sqe *sqe, __u8 opcode, unsigned int n);

/* ---- cases ---- */

/* A case that is run with IORING_SETUP_* or IOSQE_*. */
#define FLAGS(fn, flags) .run_with = (fn), .arg = &(const unsigned int){ flags }

#endif /* PSI_URING_UTIL_H */
