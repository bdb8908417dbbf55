// SPDX-License-Identifier: GPL-2.0
/*
 * Lets files in a directory answer as pressure files of a kernel do: to be loaded before
 * psi-wait by LD_PRELOAD. What write() and poll() do is in the environment:
 *
 *	SHIM_TRIGGER=FILE	gets the trigger, which a pressure file would not keep either
 *	SHIM_WRITE=ERRNO	it is refused
 *	SHIM_POLL=EVENTS...	what each call of poll() returns, one letter each: e is an
 *				event, g that the group is gone, t that the time is over.
 *				After the last one nothing comes any more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	const char *error = getenv("SHIM_WRITE");

	if (fd <= STDERR_FILENO || (strncmp(buffer, "some ", 5) && strncmp(buffer, "full ", 5)))
		return real(fd, buffer, len);
	if (!error)
		return keep(getenv("SHIM_TRIGGER"), buffer, len);
	errno = atoi(error);
	return -1;
}

int poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	int (*real)(struct pollfd *fds, nfds_t nr, int timeout_ms) = dlsym(RTLD_NEXT, "poll");
	const char *events = getenv("SHIM_POLL");
	static size_t calls;

	if (!events || calls >= strlen(events))
		return real(NULL, 0, timeout_ms);
	fds[0].revents = 0;
	switch (events[calls++]) {
	case 'e':
		fds[0].revents = POLLPRI;
		return 1;
	case 'g':
		fds[0].revents = POLLERR | POLLPRI;
		return 1;
	}
	return 0;
}
