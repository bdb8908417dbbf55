/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is anything of a ring in flight for storage, that is, for a regular file or a block
 * device? If not, who waits for the ring is not short of io, and pressure on io
 * (CONFIG_PSI) does not count it.
 *
 * Counted are requests that are handed to the file and may complete later. Those of
 * which it is known beforehand that they complete at once go by uncounted. A worker of
 * io-wq that blocks does so in a call of the file's, which says for itself what it waits
 * for; but one may also begin direct I/O or a command, and not wait for that.
 *
 * Locking: ctx->uring_lock for what is written. Who is about to wait reads without.
 */
#ifndef IOU_STORAGE_H
#define IOU_STORAGE_H

#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "io_uring.h"
#include "opdef.h"

#ifdef CONFIG_PSI_IO_URING

/**
 * io_storage_by_type - is this file storage?
 * @file: the file; O_DIRECT may also be a pipe, where it keeps packets apart
 *
 * A file that can be polled for waits for a program, that which serves it (fuse).
 *
 * Return: true if it is another regular file or a block device.
 */
static inline bool io_storage_by_type(struct file *file)
{
	umode_t mode = file_inode(file)->i_mode;

	return (S_ISREG(mode) || S_ISBLK(mode)) && !file_can_poll(file);
}

/**
 * io_storage_by_command - are commands to this file (IORING_OP_URING_CMD) for storage?
 * @file: the file; of character devices, only those of disks let commands be polled for
 *
 * Return: true if so.
 */
static inline bool io_storage_by_command(struct file *file)
{
	return S_ISBLK(file_inode(file)->i_mode) || file->f_op->uring_cmd_iopoll;
}

/**
 * io_storage_begin - a request is about to be handed to a file that is storage
 * @req:         the request; if it is counted already, that remains so
 * @issue_flags: IO_URING_F_*
 *
 * Not later than that: from then on an interrupt may change req->flags as well. A worker
 * has called io_storage_begin_worker() before it issues.
 */
static inline void io_storage_begin(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;

	if (req->flags & REQ_F_STORAGE || issue_flags & IO_URING_F_UNLOCKED)
		return;
	req->flags |= REQ_F_STORAGE;
	WRITE_ONCE(ctx->nr_storage, ctx->nr_storage + 1);
}

/**
 * io_storage_begin_worker - a request is for a worker
 * @req:         the request, with its file if it has one already
 * @issue_flags: IO_URING_F_UNLOCKED if it is the worker that calls
 *
 * When the worker comes to it, whoever waits may be asleep. So this is called when it is
 * handed over, and by the worker for what it finds itself: the next of a link.
 *
 * Context: with ctx->uring_lock held, or may sleep.
 */
static inline void io_storage_begin_worker(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct file *file = req->file;

	if (!file || !io_issue_defs[req->opcode].iopoll_queue ||
	    req->flags & REQ_F_STORAGE || ctx->flags & IORING_SETUP_IOPOLL)
		return;
	if (req->opcode == IORING_OP_URING_CMD ? !io_storage_by_command(file) :
	    !(file->f_flags & O_DIRECT && io_storage_by_type(file)))
		return;
	io_ring_submit_lock(ctx, issue_flags);
	io_storage_begin(req, 0);
	io_ring_submit_unlock(ctx, issue_flags);
}

/**
 * io_storage_end - a request is complete
 * @req: the request, counted or not, with ctx->uring_lock held
 */
static inline void io_storage_end(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	if (!(req->flags & REQ_F_STORAGE))
		return;
	req->flags &= ~REQ_F_STORAGE;
	WRITE_ONCE(ctx->nr_storage, ctx->nr_storage - 1);
}

/**
 * io_storage_mark_wait - the current task is about to sleep in iowait
 * @ctx: the ring that it waits for
 *
 * What is submitted by others, or completes without waking it, while it sleeps, does
 * not change the mark.
 */
static inline void io_storage_mark_wait(struct io_ring_ctx *ctx)
{
	current->iowait_no_storage = !READ_ONCE(ctx->nr_storage);
}

/**
 * io_storage_unmark_wait - the current task has slept
 */
static inline void io_storage_unmark_wait(void)
{
	current->iowait_no_storage = 0;
}

/**
 * io_storage_check_none - is nothing counted that has gone?
 * @ctx: a ring that is about to be freed, all of whose requests have been
 */
static inline void io_storage_check_none(struct io_ring_ctx *ctx)
{
	WARN_ON_ONCE(IS_ENABLED(CONFIG_PSI_DEBUG) && ctx->nr_storage);
}

#else /* !CONFIG_PSI_IO_URING */

static inline bool io_storage_by_type(struct file *file) { return false; }
static inline bool io_storage_by_command(struct file *file) { return false; }
static inline void io_storage_begin(struct io_kiocb *req, unsigned int issue_flags) { }
static inline void io_storage_begin_worker(struct io_kiocb *req, unsigned int issue_flags) { }
static inline void io_storage_end(struct io_kiocb *req) { }
static inline void io_storage_mark_wait(struct io_ring_ctx *ctx) { }
static inline void io_storage_unmark_wait(void) { }
static inline void io_storage_check_none(struct io_ring_ctx *ctx) { }

#endif /* CONFIG_PSI_IO_URING */

#endif
