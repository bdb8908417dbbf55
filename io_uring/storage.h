/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does a ring have requests in flight for storage, that is, for a regular file or a block
 * device? If not, a task that waits for the ring is not stalled on io, and the io pressure
 * (CONFIG_PSI) does not count it.
 *
 * The count has the requests that are passed to the file and may complete later. Requests
 * that are known to complete at once are not counted. An io-wq worker that blocks does so in
 * a method of the file, which itself marks what it waits for; but a worker may also start
 * direct I/O or a command without waiting for it, and such a request is counted.
 *
 * With psi=0 nobody asks, and nothing is counted.
 *
 * Locking: ctx->uring_lock protects writes. A task that is about to wait reads without it.
 */
#ifndef IOU_STORAGE_H
#define IOU_STORAGE_H

#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/poll.h>
#include <linux/psi.h>
#include <linux/sched.h>

#include "io_uring.h"
#include "opdef.h"

int io_uring_cmd(struct io_kiocb *req, unsigned int issue_flags);	/* uring_cmd.h */

#ifdef CONFIG_PSI_IO_URING

/**
 * io_storage_enabled - are requests counted?
 *
 * Return: true if so, from boot on.
 */
static inline bool io_storage_enabled(void)
{
	return static_branch_unlikely(&psi_enabled);
}

/**
 * io_storage_by_type - check if a file is storage
 * @file: the file; it may be a pipe, where O_DIRECT selects packet mode
 *
 * A regular file that supports poll depends on the program that serves it (fuse), and is not
 * storage.
 *
 * Return: true if the file is any other regular file or a block device.
 */
static inline bool io_storage_by_type(struct file *file)
{
	umode_t mode = file_inode(file)->i_mode;

	return (S_ISREG(mode) || S_ISBLK(mode)) && !file_can_poll(file);
}

/**
 * io_storage_by_command - check if commands to a file (IORING_OP_URING_CMD) are for storage
 * @file: the file; the only character devices with polled commands are those of disks
 *
 * Return: true if so.
 */
static inline bool io_storage_by_command(struct file *file)
{
	return S_ISBLK(file_inode(file)->i_mode) || file->f_op->uring_cmd_iopoll;
}

/**
 * io_storage_begin - count a request that is about to be passed to a file that is storage
 * @req:         the request; nothing changes if it is already counted
 * @issue_flags: IO_URING_F_*
 *
 * Requests are counted (io_storage_enabled()). The caller must not have passed this one to the
 * file yet: from then on, an interrupt may change req->flags, too. For a worker this does
 * nothing: it has called io_storage_begin_worker().
 */
static inline void io_storage_begin(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;

	if (req->flags & REQ_F_STORAGE || issue_flags & IO_URING_F_UNLOCKED)
		return;
	req->flags |= REQ_F_STORAGE;
	WRITE_ONCE(ctx->nr_storage, ctx->nr_storage + 1);
}

/* A read or write is about to be passed to the file. For polled I/O, no task sleeps. */
static inline void io_storage_begin_rw(struct io_kiocb *req, const struct kiocb *kiocb,
				       unsigned int issue_flags)
{
	if (io_storage_enabled() && kiocb->ki_flags & IOCB_DIRECT &&
	    !(kiocb->ki_flags & IOCB_HIPRI) && io_storage_by_type(req->file))
		io_storage_begin(req, issue_flags);
}

/* A command that is not polled for is about to be passed to the file. */
static inline void io_storage_begin_command(struct io_kiocb *req, unsigned int issue_flags)
{
	if (io_storage_enabled() && io_storage_by_command(req->file))
		io_storage_begin(req, issue_flags);
}

/**
 * io_storage_begin_worker - count a request for storage that a worker issues
 * @req:         the request, with its file if the file is known already
 * @issue_flags: IO_URING_F_UNLOCKED if the caller is the worker
 *
 * By the time the worker issues the request, the waiting task may already sleep. So this is
 * called when the request is queued. The worker calls it, too, for requests that it finds
 * itself: the next one of a link.
 *
 * Context: ctx->uring_lock is held, or, with IO_URING_F_UNLOCKED, the caller may sleep.
 */
static inline void io_storage_begin_worker(struct io_kiocb *req, unsigned int issue_flags)
{
	const struct io_issue_def *def = &io_issue_defs[req->opcode];
	struct io_ring_ctx *ctx = req->ctx;
	struct file *file = req->file;

	/* Reads, writes and commands are those that plug and can be polled for. */
	if (!io_storage_enabled() || !file || !def->plug || !def->iopoll ||
	    req->flags & REQ_F_STORAGE || ctx->flags & IORING_SETUP_IOPOLL)
		return;
	if (def->issue == io_uring_cmd ? !io_storage_by_command(file) :
	    !(file->f_flags & O_DIRECT && io_storage_by_type(file)))
		return;
	io_ring_submit_lock(ctx, issue_flags);
	io_storage_begin(req, 0);
	io_ring_submit_unlock(ctx, issue_flags);
}

/**
 * io_storage_end - a request is complete: do not count it any more
 * @req: the request, counted or not; ctx->uring_lock is held
 */
static inline void io_storage_end(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	if (!io_storage_enabled() || !(req->flags & REQ_F_STORAGE))
		return;
	req->flags &= ~REQ_F_STORAGE;
	WRITE_ONCE(ctx->nr_storage, ctx->nr_storage - 1);
}

/**
 * io_storage_mark_wait - mark the current task, which is about to sleep in iowait
 * @ctx: the ring that it waits for
 *
 * While the task sleeps, the mark does not change: neither by requests that other tasks
 * submit, nor by completions that do not wake the task.
 */
static inline void io_storage_mark_wait(struct io_ring_ctx *ctx)
{
	if (io_storage_enabled())
		current->iowait_no_storage = !READ_ONCE(ctx->nr_storage);
}

/**
 * io_storage_unmark_wait - remove the mark after the sleep
 */
static inline void io_storage_unmark_wait(void)
{
	if (io_storage_enabled())
		current->iowait_no_storage = 0;
}

/**
 * io_storage_check_none - check that no freed request is still counted
 * @ctx: a ring that is about to be freed; all its requests have been freed
 */
static inline void io_storage_check_none(struct io_ring_ctx *ctx)
{
	WARN_ON_ONCE(IS_ENABLED(CONFIG_PSI_DEBUG) && ctx->nr_storage);
}

#else /* !CONFIG_PSI_IO_URING */

static inline bool io_storage_enabled(void) { return false; }
static inline void io_storage_begin(struct io_kiocb *req, unsigned int issue_flags) { }
static inline void io_storage_begin_rw(struct io_kiocb *req, const struct kiocb *kiocb,
				       unsigned int issue_flags) { }
static inline void io_storage_begin_command(struct io_kiocb *req, unsigned int issue_flags) { }
static inline void io_storage_begin_worker(struct io_kiocb *req, unsigned int issue_flags) { }
static inline void io_storage_end(struct io_kiocb *req) { }
static inline void io_storage_mark_wait(struct io_ring_ctx *ctx) { }
static inline void io_storage_unmark_wait(void) { }
static inline void io_storage_check_none(struct io_ring_ctx *ctx) { }

#endif /* CONFIG_PSI_IO_URING */

#endif
