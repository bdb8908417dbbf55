// SPDX-License-Identifier: GPL-2.0
/*
 * A clock and a kernel that do what a test wants: to be loaded before a program by
 * LD_PRELOAD. The clock stands still while the program works. When it sleeps, the clock
 * goes on by as much as it wanted to sleep, and it takes no time. In the environment are:
 *
 *	SHIM_TICKS=FIFO		it sleeps until a byte comes from there. It says in the title of
 *				its terminal (which is in its output if there is none) that it
 *				is awake or asleep, how many bytes there were, and the size of
 *				the screen that it has drawn.
 *	SHIM_TRIGGER=FILE	gets the trigger, which a pressure file would not keep either
 *	SHIM_WRITE=ERRNO	it is refused
 *	SHIM_POLL=EVENTS...	what each call of poll() returns, one letter each: e is an
 *				event, g that the group is gone, both at the last moment; t
 *				that the time is over. After the last one nothing comes any
 *				more.
 *	SHIM_NETLINK=DIR	has the answers to requests by generic netlink: a file "family"
 *				to one for a family, and one named by the task that is asked
 *				for. They get the number of the request, unless they have one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	1000000000LL
#define DATE_S		1767225600LL		/* 2026-01-01, 00:00 UTC */

static long long now_ns = 1000 * NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	ts->tv_sec = now_ns / NS_PER_S + (clock == CLOCK_REALTIME ? DATE_S : 0);
	ts->tv_nsec = now_ns % NS_PER_S;
	return 0;
}

time_t time(time_t *copy)
{
	time_t now_s = now_ns / NS_PER_S + DATE_S;

	if (copy)
		*copy = now_s;
	return now_s;
}

static int of_ncurses(const char *name)
{
	const int *value = dlsym(RTLD_DEFAULT, name);

	return value ? *value : 0;
}

static void say(const char *state, unsigned int ticks)
{
	dprintf(STDOUT_FILENO, "\033]2;%s %u %dx%d\007", state, ticks, of_ncurses("COLS"),
		of_ncurses("LINES"));
}

/* Until a byte comes from the test, or there is something for @fd, which may be -1. */
static int wait_for_tick(struct pollfd *fd, const sigset_t *signals)
{
	struct pollfd fds[] = { { .fd = -1, .events = POLLIN }, *fd };
	int (*real)(struct pollfd *fds, nfds_t nr, const struct timespec *limit,
		    const sigset_t *signals) = dlsym(RTLD_NEXT, "ppoll");
	static int ticks_fd = -1;
	static unsigned int ticks;
	int ready;
	char tick;

	if (ticks_fd < 0)
		ticks_fd = open(getenv("SHIM_TICKS"), O_RDONLY | O_CLOEXEC);
	fds[0].fd = ticks_fd;
	say("asleep", ticks);
	ready = real(fds, 2, NULL, signals);
	if (ready > 0 && fds[0].revents) {
		if (read(ticks_fd, &tick, 1) != 1)
			_exit(1);			/* the test has ended */
		ticks++;
		ready = 0;
	}
	say("awake", ticks);
	*fd = fds[1];
	errno = EINTR;					/* if anything */
	return ready;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct pollfd none = { .fd = -1 };

	if (getenv("SHIM_TICKS") && wait_for_tick(&none, NULL) < 0)
		abort();
	now_ns += time->tv_sec * NS_PER_S + time->tv_nsec;
	if (left)
		*left = (struct timespec){ };
	return 0;
}

int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *limit, const sigset_t *signals)
{
	int ready = 0;

	if (nr != 1)
		abort();
	if (getenv("SHIM_TICKS"))
		ready = wait_for_tick(fds, signals);
	if (!ready)
		now_ns += limit->tv_sec * NS_PER_S + limit->tv_nsec;
	return ready;
}

static ssize_t keep(const char *file, const void *buffer, size_t len)
{
	FILE *kept = fopen(file, "w");

	if (!kept || fwrite(buffer, 1, len, kept) != len || fclose(kept))
		abort();
	return len;
}

ssize_t write(int fd, const void *buffer, size_t len)
{
	ssize_t (*real)(int fd, const void *buffer, size_t len) = dlsym(RTLD_NEXT, "write");
	const char *trigger = getenv("SHIM_TRIGGER"), *error = getenv("SHIM_WRITE");

	if (!trigger || fd <= STDERR_FILENO ||
	    (strncmp(buffer, "some ", 5) && strncmp(buffer, "full ", 5)))
		return real(fd, buffer, len);
	if (!error)
		return keep(trigger, buffer, len);
	errno = atoi(error);
	return -1;
}

int poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	int (*real)(struct pollfd *fds, nfds_t nr, int timeout_ms) = dlsym(RTLD_NEXT, "poll");
	const char *events = getenv("SHIM_POLL");
	static size_t calls;
	char event;

	if (!events)
		return real(fds, nr, timeout_ms);
	event = calls < strlen(events) ? events[calls++] : 't';
	now_ns += timeout_ms * (NS_PER_S / 1000);
	if (event == 't')
		return 0;
	fds[0].revents = event == 'g' ? POLLERR | POLLPRI : POLLPRI;
	return 1;
}

/* Requests that are not answered yet. */
static struct request {
	char		file[16];
	unsigned int	sequence;
} requests[64];

static size_t asked, answered;

int socket(int domain, int type, int protocol)
{
	int (*real)(int domain, int type, int protocol) = dlsym(RTLD_NEXT, "socket");

	if (domain != AF_NETLINK || !getenv("SHIM_NETLINK"))
		return real(domain, type, protocol);
	return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

ssize_t send(int fd, const void *buffer, size_t len, int flags)
{
	ssize_t (*real)(int fd, const void *buffer, size_t len, int flags) =
		dlsym(RTLD_NEXT, "send");
	const struct nlmsghdr *head;
	struct request *request;
	size_t at;

	if (!getenv("SHIM_NETLINK"))
		return real(fd, buffer, len, flags);
	asked = 0;
	answered = 0;
	for (at = 0; at < len; at += NLMSG_ALIGN(head->nlmsg_len)) {
		head = (const void *)((const char *)buffer + at);
		request = &requests[asked++];
		request->sequence = head->nlmsg_seq;
		if (head->nlmsg_type == GENL_ID_CTRL)
			strcpy(request->file, "family");
		else
			snprintf(request->file, sizeof(request->file), "%u", *(const unsigned int *)
				 ((const char *)NLMSG_DATA(head) + GENL_HDRLEN + NLA_HDRLEN));
	}
	return len;
}

/* An answer that is not there is none. */
static ssize_t read_answer(const struct request *request, void *buffer, size_t size)
{
	struct nlmsghdr *head = buffer;
	char path[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("SHIM_NETLINK"), request->file);
	fd = open(path, O_RDONLY);
	len = fd < 0 ? -1 : read(fd, buffer, size);
	if (fd >= 0)
		close(fd);
	if (len >= (ssize_t)sizeof(*head) && !head->nlmsg_seq)
		head->nlmsg_seq = request->sequence;
	return len;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	ssize_t (*real)(int fd, void *buffer, size_t size, int flags) = dlsym(RTLD_NEXT, "recv");
	ssize_t len = -1;

	if (!getenv("SHIM_NETLINK"))
		return real(fd, buffer, size, flags);
	while (len < 0 && answered < asked)
		len = read_answer(&requests[answered++], buffer, size);
	errno = EAGAIN;
	return len;
}
