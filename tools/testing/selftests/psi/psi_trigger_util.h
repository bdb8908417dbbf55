/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of triggers share. Pressure files are given by their paths, so
 * that those of cgroups can be tested as well.
 */
#ifndef PSI_TRIGGER_UTIL_H
#define PSI_TRIGGER_UTIL_H

#include "psi_util.h"

/* ---- making triggers ---- */

/*
 * Opens a pressure file; a descriptor or -errno. When the case ends, all
 * descriptors from 3 on are closed.
 */
int open_pressure(const char *path, int flags);
/* The same without CAP_SYS_RESOURCE; the caller has it again afterwards. */
int open_unprivileged(const char *path, int flags);

/* 0 or -errno. */
int write_trigger(int fd, const void *text, size_t length);

/* Opens and writes @text with the NUL that ends it; a descriptor or -errno. */
int open_trigger(const char *path, const char *text);
/* The same, with CAP_SYS_RESOURCE or without; the case ends if that fails. */
int __printf(3, 4) must_open_trigger(const char *path, bool privileged,
				     const char *format, ...);

/* ---- waiting for events ---- */

/* What poll() says: POLLPRI, maybe with POLLERR, or 0 after @ms. */
int poll_event(int fd, unsigned int ms);

#define MAX_EVENTS	512

struct events {
	unsigned int count;
	__u64 at[MAX_EVENTS];		/* now_ns() */
};

void note_event(struct events *events, __u64 now);

/* The priority of the watcher of events. */
#define URGENT		10

/*
 * Watches @nr files until @end. Whatever else is busy, an event is seen when it
 * comes.
 */
void watch_events(const int *fds, unsigned int nr, __u64 end,
		  struct events *events);
void count_events(int fd, unsigned int ms, struct events *events);

/* The time between those two events that are closest, in ms. */
double shortest_gap(const struct events *events);

/* ---- load ---- */

/* The CPU always has somebody waiting. */
void contend(int cpu);
/* CPU 0 has, and a trigger of the system for it with a window of 500 ms. */
int contended_trigger(void);

/* From @start on, somebody waits for the first @ms of every @period_ms. */
void contend_in_bursts(int cpu, __u64 start, unsigned int ms,
		       unsigned int period_ms);

/* Only the task that waits for a disk stalls for it, and it needs no CPU. */
void stall_on(int cpu, const char *disk, unsigned int ms);

/* ---- the kernel's side ---- */

/*
 * Threads that look at triggers: psi_poll, and psi_poll_user for those of users
 * without privilege; or psimon of older kernels.
 */
#define MAX_POLLERS	2

struct pollers {
	unsigned int count;
	unsigned long switches;		/* how often they went to sleep */
};

struct pollers find_pollers(void);
/* How often all of them went to sleep; the case ends if they are not as many as before. */
unsigned long switches_during(unsigned int ms);

#endif /* PSI_TRIGGER_UTIL_H */
