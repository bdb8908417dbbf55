// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into QEMU by scripts/boot: its two threads take turns.
 *
 * With -icount sleep=off, the thread of the main loop moves the guest's clock to the next timer
 * when all CPUs have halted. It may see that the last one has before the thread of the CPUs has
 * told how many instructions it executed until then, and moves the clock too far by that many.
 *
 * Here the main loop goes on after ppoll() only if the CPUs' thread sleeps. Only the main loop
 * wakes that thread, so it still does when the main loop looks at the clock. What the main loop
 * is needed for meanwhile (a signal, a terminal) waits for a second at most.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* The C library's own. On x86 it has an older pthread_cond_*() as well, that nobody uses. */
static void *find(const char *name)
{
	return dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") ?: dlsym(RTLD_NEXT, name);
}

#define REAL(name) ((typeof(name) *)find(#name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slept = PTHREAD_COND_INITIALIZER;
static pthread_cond_t *waits_for;	/* that the CPUs' thread sleeps on, or NULL; under lock */

static bool is_main_thread(void)
{
	return gettid() == getpid();
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (!is_main_thread()) {
		pthread_mutex_lock(&lock);
		waits_for = cond;
		REAL(pthread_cond_signal)(&slept);
		pthread_mutex_unlock(&lock);
	}
	return REAL(pthread_cond_wait)(cond, mutex);
}

static void is_woken(pthread_cond_t *cond)
{
	pthread_mutex_lock(&lock);
	if (waits_for == cond)
		waits_for = NULL;
	pthread_mutex_unlock(&lock);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	is_woken(cond);
	return REAL(pthread_cond_signal)(cond);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	is_woken(cond);
	return REAL(pthread_cond_broadcast)(cond);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	int ready = REAL(ppoll)(fds, count, timeout, mask), error = errno;
	struct timespec until;

	if (!is_main_thread())
		return ready;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&lock);
	while (!waits_for && !pthread_cond_timedwait(&slept, &lock, &until))
		;
	pthread_mutex_unlock(&lock);
	errno = error;
	return ready;
}
