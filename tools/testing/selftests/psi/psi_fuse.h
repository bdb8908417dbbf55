/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file system (fuse) that consists of one file, and its server, which never gets round
 * to reads.
 */
#ifndef PSI_FUSE_H
#define PSI_FUSE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "psi_util.h"

#define FUSE_FILE	"/tmp/psi_fuse"

/* What the server is told; it says when there is a read that it will not answer. */
struct fuse_server {
	int fd;
	__u32 open_flags;		/* FOPEN_* */
	atomic_int asked;
};

static inline void answer_fuse(int fd, __u64 unique, const void *data, size_t size, int error)
{
	char reply[512];
	struct fuse_out_header *out = (void *)reply;

	out->len = sizeof(*out) + size;
	out->error = error;
	out->unique = unique;
	memcpy(out + 1, data, size);
	if (write(fd, reply, out->len) != (ssize_t)out->len)
		_exit(1);
}

static inline void serve_fuse(void *arg)
{
	static char request[65536 + 4096];
	struct fuse_in_header *in = (void *)request;
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = 65536,
		.flags = FUSE_ASYNC_READ | FUSE_ASYNC_DIO,	/* as nearly all have it */
		.max_write = 65536,
	};
	struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = { .ino = 1, .size = 1 << 20, .mode = S_IFREG | 0644, .nlink = 1 },
	};
	struct fuse_poll_out polled = { .revents = POLLIN };	/* "there is something" */
	struct fuse_server *server = arg;
	struct fuse_open_out opened = { .open_flags = server->open_flags };

	while (read(server->fd, request, sizeof(request)) > 0) {
		switch (in->opcode) {
		case FUSE_INIT:
			answer_fuse(server->fd, in->unique, &init, sizeof(init), 0);
			break;
		case FUSE_GETATTR:
			answer_fuse(server->fd, in->unique, &attr, sizeof(attr), 0);
			break;
		case FUSE_OPEN:
			answer_fuse(server->fd, in->unique, &opened, sizeof(opened), 0);
			break;
		case FUSE_POLL:		/* a ring does so first */
			answer_fuse(server->fd, in->unique, &polled, sizeof(polled), 0);
			break;
		case FUSE_READ:
			server->asked = 1;
			break;
		case FUSE_FORGET:
			break;
		default:
			answer_fuse(server->fd, in->unique, NULL, 0, -EOPNOTSUPP);
		}
	}
}

static inline void unmount_fuse(void)
{
	umount2(FUSE_FILE, MNT_DETACH);
	unlink(FUSE_FILE);
}

/*
 * Mounts it, and starts the server; until the case ends. Stop all loads before that: a
 * reader sleeps until the server is gone.
 */
static inline struct fuse_server *start_fuse(__u32 open_flags)
{
	struct fuse_server *server = shared_alloc(sizeof(*server));
	char options[64];
	int fd;

	server->fd = open("/dev/fuse", O_RDWR);
	REQUIRE(server->fd >= 0, "needs FUSE_FS");
	server->open_flags = open_flags;
	fd = open(FUSE_FILE, O_CREAT | O_WRONLY, 0644);
	EXPECT(fd >= 0, "no file");
	close(fd);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100000,user_id=0,group_id=0",
		 server->fd);
	EXPECT(!mount("psi", FUSE_FILE, "fuse", 0, options), "cannot mount: %s", strerror(errno));
	undo_later(unmount_fuse);
	start_load(-1, serve_fuse, server);
	close(server->fd);
	return server;
}

#endif /* PSI_FUSE_H */
