// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a trigger and says when it has an event, for some time. For
 * demonstrations, and to try a trigger out.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "psi_trigger_util.h"

/* Exits when the file's cgroup is gone. */
static void say_events(int fd, unsigned int seconds)
{
	__u64 start = now_ns(), end = start + seconds * NSEC_PER_SEC, now;
	int events;

	for (now = start; now < end; now = now_ns()) {
		events = poll_event(fd, (end - now) / NSEC_PER_MSEC + 1);
		if (events & POLLERR) {
			fprintf(stderr, "psi_wait: there is no such group any more\n");
			exit(1);
		}
		if (events)
			printf("  %6.1f s: event\n", (now_ns() - start) / 1e9);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 4 || atoi(argv[3]) <= 0) {
		fprintf(stderr, "usage: psi_wait FILE \"some|full THRESHOLD WINDOW\" SECONDS\n"
				"both in microseconds, as in \"some 150000 1000000\"\n");
		return 2;
	}

	fd = open_trigger(argv[1], argv[2]);
	if (fd < 0) {
		fprintf(stderr, "psi_wait: %s: %s\n", argv[1], strerror(-fd));
		return 1;
	}
	say_events(fd, atoi(argv[3]));
	return 0;
}
