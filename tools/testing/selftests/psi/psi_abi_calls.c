// SPDX-License-Identifier: GPL-2.0
/*
 * The part of the ledger in which what was done is a system call. See psi_abi.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#include "psi_abi.h"
#include "psi_ways.h"

/* It is told that there is nothing, on purpose. */
#pragma GCC diagnostic ignored "-Wnonnull"

#define EAGER		"some 150000 500000"
#define WINDOW_MS	500
#define WINDOWS		8

/* ---- reading ---- */

#define DO(call)	say(success(call), "%s: %s", place->name, #call)
#define GET(call)	say(outcome(call), "%s: %s", place->name, #call)

static ssize_t read_by_aio(int fd, int opcode, void *buf, size_t size)
{
	struct iocb cb = {
		.aio_lio_opcode = opcode, .aio_fildes = fd, .aio_buf = (__u64)(unsigned long)buf,
		.aio_nbytes = size,
	}, *list[] = { &cb };
	aio_context_t context = 0;
	struct io_event event = { .res = -EIO };
	ssize_t ret;

	ret = syscall(SYS_io_setup, 1, &context);
	if (!ret)
		ret = syscall(SYS_io_submit, context, 1, list);
	if (ret == 1)
		ret = syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
	if (ret == 1 && event.res < 0)
		errno = -event.res;
	syscall(SYS_io_destroy, context);
	return ret == 1 ? (ssize_t)event.res : ret;
}

static ssize_t by_ring(int fd, int opcode, void *buf, size_t size)
{
	const struct io_uring_sqe sqe = {
		.opcode = opcode, .fd = fd, .addr = (unsigned long)buf, .len = size,
	};
	struct psi_ring ring;
	int ret;

	if (!open_ring(&ring, 0))
		return -1;
	ret = do_request(&ring, &sqe);
	close(ring.fd);
	errno = ret < 0 ? -ret : 0;
	return ret;
}

void reads(const struct place *place)
{
	char text[512], more[512];
	struct iovec iov[2] = { { text, 3 }, { text + 3, 509 } };
	int fd = open_at(place, "memory", O_RDONLY), other, pipes[2], tmp;
	ssize_t n = 0, whole;

	whole = read(fd, text, sizeof(text));
	GET(read(fd, text, 512));
	GET(lseek(fd, 0, SEEK_SET));
	while (read(fd, more + n, 1) == 1)
		n++;
	say(n == whole ? "the same" : "something else", "%s: read byte by byte", place->name);
	GET(pread(fd, text, 4, 5));
	GET(pread(fd, text, 512, 10000));
	GET(pread(fd, text, 4, -1));
	GET(read(fd, text, 0));
	GET(pread(fd, NULL, 4, 0));
	GET(lseek(fd, 5, SEEK_SET));
	GET(lseek(fd, 3, SEEK_CUR));
	GET(lseek(fd, -100, SEEK_CUR));
	GET(lseek(fd, -1, SEEK_SET));
	GET(lseek(fd, 0, SEEK_END));
	GET(lseek(fd, 0, SEEK_DATA));
	GET(lseek(fd, 0, SEEK_HOLE));
	GET(lseek(fd, 0, 77));
	GET(lseek(fd, 1L << 40, SEEK_SET));
	lseek(fd, 5, SEEK_SET);
	other = dup(fd);
	GET(lseek(other, 0, SEEK_CUR));
	close(other);
	lseek(fd, 0, SEEK_SET);
	DO(readv(fd, iov, 2));
	DO(preadv(fd, iov, 2, 0));
	DO(preadv2(fd, iov, 2, 0, RWF_HIPRI));
	DO(preadv2(fd, iov, 2, 0, RWF_NOWAIT));
	DO(read_by_aio(fd, IOCB_CMD_PREAD, text, 512));
	DO(by_ring(fd, IORING_OP_READ, text, 512));
	tmp = open("/tmp/psi_abi", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (pipe(pipes))
		return;
	lseek(fd, 0, SEEK_SET);
	DO(splice(fd, NULL, pipes[1], NULL, 512, SPLICE_F_NONBLOCK));
	lseek(fd, 0, SEEK_SET);
	DO(sendfile(tmp, fd, NULL, 512));
	lseek(fd, 0, SEEK_SET);
	DO(copy_file_range(fd, NULL, tmp, NULL, 512, 0));
	DO(write(fd, GOOD, sizeof(GOOD)));
	close(fd);
	fd = open_at(place, "memory", O_WRONLY);
	DO(pread(fd, text, 4, 0));
	close_range(3, ~0U, 0);
}

/* A trigger is written in some way; the file is a new one each time. */
#define WRITE(call)								\
	do {									\
		fd = open_at(place, "memory", O_RDWR);				\
		say(outcome(call), "%s: %s", place->name, #call);		\
		close(fd);							\
	} while (0)

void writes(const struct place *place)
{
	struct iovec parts[2] = { { "some 100000 ", 12 }, { "2000000", 8 } };
	struct iovec whole[1] = { { GOOD, sizeof(GOOD) } };
	long page = sysconf(_SC_PAGESIZE);
	char *end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	int fd, other, pipes[2], tmp = open("/tmp/psi_abi", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char path[32];

	end += page;
	mprotect(end, page, PROT_NONE);
	memcpy(end - 19, GOOD, 19);
	if (write(tmp, GOOD, sizeof(GOOD)) < 0 || pipe(pipes))
		return;

	WRITE(pwrite(fd, GOOD, 20, 0));
	WRITE(pwrite(fd, GOOD, 20, 100));
	WRITE(lseek(fd, 100, SEEK_SET) < 0 ? -1 : write(fd, GOOD, 20));
	WRITE(writev(fd, whole, 1));
	WRITE(writev(fd, parts, 2));
	WRITE(pwritev2(fd, whole, 1, 0, RWF_APPEND));
	WRITE(pwritev2(fd, whole, 1, 0, RWF_NOWAIT));
	WRITE(read_by_aio(fd, IOCB_CMD_PWRITE, GOOD, 20));
	WRITE(by_ring(fd, IORING_OP_WRITE, GOOD, 20));
	WRITE(write(fd, NULL, 20));
	WRITE(write(fd, end - 19, 19));
	WRITE(write(fd, end - 19, 20));
	WRITE(write(fd, end - 19, 100));
	WRITE(write(fd, end - 19, 5000));
	WRITE(write(fd, (void *)-4096L, 20));
	WRITE(write(pipes[1], GOOD, 20) < 0 ? -1 : splice(pipes[0], NULL, fd, NULL, 20, 0));
	WRITE(lseek(tmp, 0, SEEK_SET) ? -1 : sendfile(fd, tmp, NULL, 20));
	WRITE(copy_file_range(tmp, NULL, fd, NULL, 20, 0));

	fd = open_at(place, "memory", O_RDWR);
	other = dup(fd);
	DO(write(fd, "some 1 2000000", 15));
	DO(write(other, GOOD, 20));
	DO(write(other, "nonsense", 9));
	DO(write(other, "", 0));
	close(fd);
	say(mask(poll_event(other, 0)), "%s: poll after one of two descriptors is closed",
	    place->name);
	if (!fork())
		_exit(write(other, GOOD, 20) < 0 ? errno : 0);
	wait(&tmp);
	say(error_name(WEXITSTATUS(tmp)), "%s: write(other, GOOD, 20) by a child", place->name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", other);
	fd = open(path, O_RDWR);
	say(success(write(fd, GOOD, 20)), "%s: write to what was opened by /proc/self/fd",
	    place->name);
	close_range(3, ~0U, 0);
}

void file_calls(const struct place *place)
{
	struct flock lock = { .l_type = F_WRLCK };
	const char *path = path_of(place, "memory");
	int fd = open(path, O_RDWR), value = 1;
	char text[64];
	struct stat st;

	say(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? error_name(errno) :
	    "ok", "%s: mmap", place->name);
	DO(ioctl(fd, FIONREAD, &value));
	DO(ioctl(fd, TCGETS, text));
	DO(ioctl(fd, FS_IOC_GETFLAGS, &value));
	DO(ioctl(fd, 0, 0));
	DO(ftruncate(fd, 0));
	DO(ftruncate(fd, 100));
	DO(truncate(path, 0));
	DO(fallocate(fd, 0, 0, 100));
	DO(fsync(fd));
	DO(fdatasync(fd));
	DO(readahead(fd, 0, 100));
	DO(flock(fd, LOCK_EX | LOCK_NB));
	DO(fcntl(fd, F_SETLK, &lock));
	DO(fcntl(fd, F_SETLEASE, F_WRLCK));
	DO(fcntl(fd, F_SETLEASE, F_UNLCK));
	DO(fcntl(fd, F_SETOWN, getpid()));
	DO(fcntl(fd, F_SETSIG, 0));
	DO(fcntl(fd, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK));
	say(fcntl(fd, F_GETFL) & O_ASYNC ? "yes" : "no", "%s: O_ASYNC is set", place->name);
	say(fcntl(fd, F_GETFL) & O_NONBLOCK ? "yes" : "no", "%s: O_NONBLOCK is set",
	    place->name);
	DO(fcntl(fd, F_GETPIPE_SZ));
	DO(fcntl(fd, F_ADD_SEALS, 0));
	DO(unlink(path));
	DO(rename(path, "/tmp/psi_abi"));
	DO(link(path, "/tmp/psi_abi_link"));
	DO(setxattr(path, "user.x", "x", 1, 0));
	DO(setxattr(path, "trusted.x", "x", 1, 0));
	DO(removexattr(path, "trusted.x"));
	DO(listxattr(path, text, sizeof(text)));
	DO(utimensat(AT_FDCWD, path, NULL, 0));
	DO(chown(path, NOBODY, NOBODY));
	DO(chmod(path, 0600));
	say(stat(path, &st) ? error_name(errno) : number(st.st_mode & 0777),
	    "%s: mode after chmod(path, 0600)", place->name);
	chown(path, 0, 0);
	chmod(path, place == proc_place ? 0666 : 0644);
	close_range(3, ~0U, 0);
}

/* ---- polling ---- */

static void poll_all(const char *when, const struct place *place, int fd)
{
	static const short wanted[] = { POLLIN, POLLOUT, 0, POLLPRI, POLLIN | POLLOUT | POLLPRI };
	struct pollfd p = { .fd = fd };
	char asked[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		p.events = wanted[i];
		p.revents = 0;
		poll(&p, 1, 0);
		snprintf(asked, sizeof(asked), "%s", mask(wanted[i]));
		say(mask(p.revents), "%s, %s: poll for %s", place->name, when, asked);
	}
}

void polls(const struct place *place)
{
	static const struct { const char *name; __u32 events; } sets[] = {
		{ "EPOLLPRI", EPOLLPRI }, { "EPOLLIN", EPOLLIN }, { "EPOLLET", EPOLLPRI | EPOLLET },
		{ "EPOLLONESHOT", EPOLLPRI | EPOLLONESHOT },
		{ "EPOLLPRI|EPOLLEXCLUSIVE", EPOLLPRI | EPOLLEXCLUSIVE },
		{ "EPOLLIN|EPOLLEXCLUSIVE", EPOLLIN | EPOLLEXCLUSIVE },
	};
	int fd = open_at(place, "memory", O_RDWR), set, ret;
	size_t i;

	poll_all("no trigger", place, fd);
	poll_all("read only", place, open_at(place, "memory", O_RDONLY));
	if (write(fd, QUIET, sizeof(QUIET)) < 0)
		return;
	poll_all("a trigger without event", place, fd);
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		ret = epoll_of(fd, sets[i].events, &set);
		say(error_name(-ret), "%s: epoll_ctl, %s", place->name, sets[i].name);
	}
	close_range(3, ~0U, 0);
}

/* ---- events ---- */

struct seen {
	const struct way *way;
	const struct place *place;
	int error;
	unsigned int events, inside;
};

static void watch_in_way(void *arg)
{
	struct seen *s = arg;
	struct waiter w = { .way = s->way };
	__u64 end = now_ns() + (WINDOWS * WINDOW_MS + 100) * NSEC_PER_MSEC;
	int got;

	w.fd = open_at(s->place, "io", O_RDWR);
	if (write(w.fd, EAGER, sizeof(EAGER)) < 0 || s->way->begin(&w)) {
		s->error = errno;
		pause();
	}
	while (got = s->way->wait(&w, WINDOW_MS / 5), now_ns() < end)
		s->events += !!(got & POLLPRI);
	s->inside = w.found_inside;
	pause();
}

static const char *how_often(unsigned int events)
{
	if (events < WINDOWS / 2)
		return events ? "too seldom" : "never";
	return events <= WINDOWS + 1 ? "once in a window" : "more often";
}

/* By whom are events seen, of a disk that all of the group waits for? */
void tell_events(const struct place *place)
{
	struct seen *seen = shared_alloc(nr_ways * sizeof(*seen));
	const char *disk = slow_disk(20);
	int notify, watch, fd;
	char buf[4096];
	size_t i;

	REQUIRE(disk, "needs null_blk with configfs");
	start_in_group(group, 0, read_disk, (void *)disk);
	sleep_ms(2 * WINDOW_MS);
	for (i = 0; i < nr_ways; i++) {
		seen[i].way = &ways[i];
		seen[i].place = place;
		start_load(-1, watch_in_way, &seen[i]);
	}
	fd = open_at(place, "io", O_RDWR);
	EXPECT(write(fd, EAGER, sizeof(EAGER)) > 0, "no trigger");
	sleep_ms(WINDOW_MS);
	notify = inotify_init1(IN_NONBLOCK);
	watch = inotify_add_watch(notify, path_of(place, "io"), IN_MODIFY);
	sleep_ms(2 * WINDOW_MS);
	threads(place == proc_place ? "with a trigger of the system" : "with one of a group");
	poll_all("an event for nobody but this one", place, fd);
	sleep_ms(2 * WINDOW_MS);
	say(mask(poll_event(fd, 0)), "%s: poll after an event", place->name);
	say(mask(poll_event(fd, 0)), "%s: poll once more", place->name);
	say(read(notify, buf, sizeof(buf)) > 0 ? "IN_MODIFY" : "nothing", "%s: inotify of events",
	    place->name);
	inotify_rm_watch(notify, watch);
	sleep_ms((WINDOWS - 3) * WINDOW_MS);
	clean_up();
	for (i = 0; i < nr_ways; i++)
		say(seen[i].error ? error_name(seen[i].error) : how_often(seen[i].events),
		    "%s: events by %s", place->name, ways[i].name);
	for (i = 0; i < nr_ways; i++)
		if (strstr(ways[i].name, "in epoll") || strstr(ways[i].name, "of epoll"))
			say(how_often(seen[i].inside), "%s: %s, and the set has it", place->name,
			    ways[i].name);
	close_range(3, ~0U, 0);
}

