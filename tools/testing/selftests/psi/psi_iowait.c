// SPDX-License-Identifier: GPL-2.0
/*
 * Which sleeps are a wait for io, and which are not though one might think so. These
 * are facts of the kernel's rather than of the accounting. An alarm on io relies
 * on them, so they are not to change unnoticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_fuse.h"

#define BLOCK		4096
#define REQUEST_MS	50
#define WATCH_MS	1000
#define TOLERANCE	8.0		/* percent */
#define NULLB		"/sys/kernel/config/nullb/psi_selftest/"
#define NO_DISK		"needs null_blk and configfs"

static alignas(BLOCK) char block[BLOCK];

/* A load is told what to use, and says when it is about to wait, and no longer does. */
struct task {
	const char *path;
	int fd;
	atomic_int ready, done;
	atomic_uint requests;		/* that a disk has served */
};

/* Where loads are: one that wanders would show less than it is stalled. */
static int last_cpu(void)
{
	return online_cpus() - 1;
}

static struct task *new_task(const char *path, int fd)
{
	struct task *task = shared_alloc(sizeof(*task));

	task->path = path;
	task->fd = fd;
	return task;
}

/* The load waits all the time: for io, for memory, or for neither. */
static void expect(struct task *task, double io, double memory)
{
	struct psi_sample before, after;
	struct psi_share share;

	EXPECT(wait_until(task->ready, 1000), "the load has not begun to wait");
	sleep_ms(100);
	task->requests = 0;
	EXPECT(!psi_read(PSI_MEMORY, &before), "cannot read");
	share = psi_watch(PSI_IO, WATCH_MS);
	EXPECT(!psi_read(PSI_MEMORY, &after), "cannot read");
	psi_note("io some %.1f %%, memory some %.1f %%", share.some,
		 psi_share(&before, &after).some);
	EXPECT(!task->done, "the load does not wait any more");
	EXPECT(close_to(share.some, io, TOLERANCE), "io some is not %.0f %%", io);
	EXPECT(close_to(psi_share(&before, &after).some, memory, TOLERANCE),
	       "memory some is not %.0f %%", memory);
}

static const char *changed_disk(unsigned int ms, const char *attribute, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), NULLB "%s", attribute);
	if (!slow_disk(ms) || write_text(NULLB "power", "0") || write_text(path, "%s", value) ||
	    write_text(NULLB "power", "1"))
		return NULL;
	return "/dev/psi_selftest";
}

/* ---- aio ---- */

/* One request, again and again. */
static void use_aio(struct task *task, struct iocb *iocb)
{
	struct io_event event;
	struct iocb *list[] = { iocb };
	aio_context_t ctx = 0;

	if (syscall(__NR_io_setup, 1, &ctx))
		return;
	do {
		if (syscall(__NR_io_submit, ctx, 1, list) != 1)
			return;
		task->ready = 1;
		if (syscall(__NR_io_getevents, ctx, 1, 1, &event, NULL) != 1)
			return;
		task->requests++;
	} while ((long)event.res == (long)iocb->aio_nbytes);
}

static void poll_by_aio(void *arg)
{
	struct iocb iocb = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = eventfd(0, 0),
		.aio_buf = POLLIN,
	};

	use_aio(arg, &iocb);
}

static void read_by_aio(void *arg)
{
	struct task *task = arg;
	struct iocb iocb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_buf = (uintptr_t)block,
		.aio_nbytes = BLOCK,
	};

	iocb.aio_fildes = open(task->path, O_RDONLY | O_DIRECT);
	use_aio(task, &iocb);
}

static enum psi_result aio_poll(void)
{
	struct task *task = new_task(NULL, -1);

	start_load(last_cpu(), poll_by_aio, task);
	expect(task, 0, 0);
	EXPECT(!task->requests, "there was something to be read");
	return PSI_PASS;
}

static enum psi_result aio_read(void)
{
	struct task *task = new_task(slow_disk(REQUEST_MS), -1);

	REQUIRE(task->path, NO_DISK);
	start_load(last_cpu(), read_by_aio, task);
	expect(task, 0, 0);
	/* The disk has taken its time for each of them, and nearly all of the time. */
	psi_note("%u requests", task->requests);
	EXPECT(close_to(100.0 * task->requests * REQUEST_MS / WATCH_MS, 100, 10),
	       "not what a disk does that takes %d ms", REQUEST_MS);
	return PSI_PASS;
}

/* ---- io.max ---- */

static void read_in_group(void *arg)
{
	struct task *task = arg;
	int fd = open(task->path, O_RDONLY | O_DIRECT);

	while (pread(fd, block, BLOCK, 0) == BLOCK)
		task->ready = 1;
}

static enum psi_result io_max(void)
{
	struct task *task = new_task(slow_disk(0), -1);
	const char *group;
	struct stat st;
	char limit[64];

	REQUIRE(task->path, NO_DISK);
	group = make_group(NULL, "limited");
	REQUIRE(!enable_controller(group, "+io"), "needs the io controller");
	EXPECT(!stat(task->path, &st), "no disk");
	/* ten blocks in a second */
	snprintf(limit, sizeof(limit), "%u:%u rbps=%u", major(st.st_rdev), minor(st.st_rdev),
		 10 * BLOCK);
	REQUIRE(!set_cgroup(group, "io.max", limit), "needs BLK_DEV_THROTTLING");
	start_in_group(group, last_cpu(), read_in_group, task);
	expect(task, 100, 0);
	return PSI_PASS;
}

/* ---- what is served by another program ---- */

static void touch_missing_page(void *arg)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct task *task = arg;
	char *page;
	int fd;

	fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	page = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api))
		return;
	range.range.start = (uintptr_t)page;
	range.range.len = BLOCK;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		return;
	task->ready = 1;
	__atomic_load_n(page, __ATOMIC_RELAXED);
	task->done = 1;
}

static enum psi_result user_fault(void)
{
	struct task *task = new_task(NULL, -1);
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);

	REQUIRE(fd >= 0, "needs userfaultfd");
	close(fd);
	start_load(last_cpu(), touch_missing_page, task);
	expect(task, 0, 0);
	return PSI_PASS;
}

static void read_file(void *arg)
{
	int fd = open(FUSE_FILE, O_RDONLY);
	struct task *task = arg;

	if (fd >= 0)
		read(fd, block, BLOCK);
	task->done = 1;
	for (;;)			/* the server may be killed first */
		pause();
}

static enum psi_result read_fuse(__u32 flags, double io)
{
	struct fuse_server *server = start_fuse(flags);
	struct task *task = new_task(NULL, -1);

	start_load(last_cpu(), read_file, task);
	task->ready = wait_until(server->asked, 1000);
	expect(task, io, 0);
	stop_all_loads();
	return PSI_PASS;
}

static enum psi_result fuse_buffered(void)
{
	return read_fuse(0, 100);
}

static enum psi_result fuse_direct(void)
{
	return read_fuse(FOPEN_DIRECT_IO, 0);
}

/* ---- writing back ---- */

static void write_and_sync(void *arg)
{
	struct task *task = arg;
	int fd = open(task->path, O_WRONLY);

	while (pwrite(fd, block, BLOCK, 0) == BLOCK && !fsync(fd))
		task->ready = 1;
}

static enum psi_result fsyncs(void)
{
	struct task *task = new_task(slow_disk(REQUEST_MS), -1);

	REQUIRE(task->path, NO_DISK);
	start_load(last_cpu(), write_and_sync, task);
	expect(task, 100, 0);
	return PSI_PASS;
}

/* Pages that are not neighbours, so that each is a request. Nobody waits for them. */
static void write_and_rest(void *arg)
{
	struct task *task = arg;
	int fd = open(task->path, O_WRONLY), i;

	for (i = 0; i < 64; i++)
		if (pwrite(fd, block, BLOCK, i * 8L * BLOCK) != BLOCK)
			return;
	task->ready = 1;
	for (;;)
		pause();
}

static const char * const knobs[] = { "dirty_expire_centisecs", "dirty_writeback_centisecs" };
static char were[2][32];

static void reset_writeback(void)
{
	char path[64];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", knobs[i]);
		write_text(path, "%s", were[i]);
	}
}

static enum psi_result flusher(void)
{
	struct task *task;
	char path[64];
	int i;

	/* A request after the other: the flusher has to wait until it may begin one. */
	task = new_task(changed_disk(REQUEST_MS, "hw_queue_depth", "1"), -1);
	REQUIRE(task->path, NO_DISK);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", knobs[i]);
		REQUIRE(read_text(path, were[i], sizeof(were[i])) > 0, "no %s", path);
	}
	undo_later(reset_writeback);
	write_text("/proc/sys/vm/dirty_expire_centisecs", "1");
	write_text("/proc/sys/vm/dirty_writeback_centisecs", "5");
	start_load(last_cpu(), write_and_rest, task);
	expect(task, 100, 0);
	return PSI_PASS;
}

/* ---- swapoff ---- */

#define SWAP_MB		16

static void swap_out_slowly(void *arg)
{
	struct task *task = arg;
	char *memory;
	size_t i;

	memory = mmap(NULL, SWAP_MB << 19, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	for (i = 0; i < SWAP_MB << 19; i += BLOCK)
		memory[i] = i / BLOCK + 1;
	task->ready = 1;
	for (;;)
		pause();
}

static void switch_swap_off(void *arg)
{
	struct task *task = arg;

	task->ready = 1;
	swapoff(task->path);
	task->ready = 2;
	for (;;)
		pause();
}

static void end_swap(void)
{
	stop_all_loads();
	swapoff("/dev/psi_selftest");
	write_text("/proc/sys/vm/page-cluster", "3");
}

static enum psi_result swap_goes(void)
{
	struct task *user = new_task(NULL, -1), *off;
	const char *disk, *group;
	struct psi_share share;
	int ret, i;

	disk = changed_disk(5, "memory_backed", "1");
	REQUIRE(disk, NO_DISK);
	group = make_group(NULL, "swapped");
	REQUIRE(!enable_controller(group, "+memory"), "needs the memory controller");
	ret = swap_to(disk, SWAP_MB);
	REQUIRE(!ret, "cannot swap to it: %s", strerror(-ret));
	undo_later(end_swap);
	write_text("/proc/sys/vm/page-cluster", "0");
	start_in_group(group, last_cpu(), swap_out_slowly, user);
	wait_until(user->ready, 1000);
	for (i = 0; i < 8; i++)
		set_cgroup(group, "memory.reclaim", "4M");
	off = new_task(disk, -1);
	start_load(last_cpu(), switch_swap_off, off);
	sleep_ms(200);
	share = psi_watch(PSI_IO, WATCH_MS);
	psi_note("io some %.1f %%", share.some);
	EXPECT(off->ready == 1, "swapoff took no time");
	EXPECT(share.some > 80, "io some is not above 80 %%");
	end_swap();
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-9 aio: io_getevents() for a poll is no stall", aio_poll },
	{ "R-9 aio: nor is it for a disk", aio_read },
	{ "R-9 io.max: a task that it holds back is stalled on io, not memory", io_max },
	{ "R-9 userfaultfd: a task that waits for a page of it is not stalled", user_fault },
	{ "R-9 fuse: a task that waits for the page cache is stalled", fuse_buffered },
	{ "R-9 fuse: a task that waits for an answer is not", fuse_direct },
	{ "R-9 fsync: a task that waits for a disk is stalled", fsyncs },
	{ "R-9 writeback: a kernel thread that waits for a disk is stalled", flusher },
	{ "R-9 swapoff: a task that waits for the disk is stalled", swap_goes },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
