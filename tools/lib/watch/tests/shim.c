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
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
