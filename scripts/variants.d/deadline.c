// SPDX-License-Identifier: GPL-2.0
/*
 * deadline SECONDS - what some kernels do not survive, whatever their PSI
 *
 * Threads that are in and out of the kernel, most of the time throttled by the
 * deadline class, while their class and nice are changed and the last CPU comes and
 * goes. With core scheduling they get new cookies as well.
 *
 * Under PREEMPT_RT a task holds locks with its migration disabled. If it is throttled
 * then and its CPU goes, dl_task_offline_migration() moves it all the same.
 *
 * Ends with a line that begins with "deadline: done", unless the kernel is faster.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE	6
#endif

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE		62
#define PR_SCHED_CORE_CREATE	1
#endif

#define THREADS		14

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static pid_t tid[THREADS];
static unsigned long changes, refused, hotplugs;

static void pause_us(unsigned int us)
{
	struct timespec t = { 0, us * 1000L };

	nanosleep(&t, NULL);
}

/* As many locks of the kernel as come to mind. */
static void *live(void *number)
{
	char text[512];
	void *memory;
	int fd;

	tid[(long)number] = syscall(SYS_gettid);
	for (;;) {
		fd = open("/proc/self/status", O_RDONLY);
		if (fd >= 0 && read(fd, text, sizeof(text)) < 0)
			return NULL;
		close(fd);
		memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory != MAP_FAILED)
			munmap(memory, 65536);
		if (rand() % 4 == 0)
			pause_us(rand() % 500);
	}
}

static void bother(pid_t pid)
{
	struct attr attr = { .size = sizeof(attr) };

	if (rand() % 2)
		prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, pid, 0, NULL);
	switch (rand() % 4) {
	case 0:
		attr.policy = SCHED_FIFO;
		attr.priority = 1;
		break;
	case 1:
		attr.policy = SCHED_DEADLINE;
		attr.runtime = 50000;
		attr.deadline = 5000000;
		attr.period = 5000000;
		break;
	default:
		attr.policy = SCHED_OTHER;
		attr.nice = rand() % 40 - 20;
	}
	if (syscall(SYS_sched_setattr, pid, &attr, 0))
		refused++;
	else
		changes++;
}

static void toggle_cpu(void)
{
	static int off;
	char path[64];
	int cpu = sysconf(_SC_NPROCESSORS_CONF) - 1;
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, off ? "1" : "0", 1) == 1) {
		off = !off;
		hotplugs++;
	}
	close(fd);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	pthread_t thread;
	long i, round;

	setpriority(PRIO_PROCESS, 0, -20);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, live, (void *)i);
	pause_us(10000);
	for (round = 0; time(NULL) < end; round++) {
		for (i = 0; i < THREADS; i++)
			if (rand() % 8 == 0)
				bother(tid[i]);
		if (round % 10 == 5)
			toggle_cpu();
		pause_us(1000 + rand() % 9000);
	}
	printf("deadline: done, %lu changes of class, %lu refused, %lu times a CPU off or on\n",
	       changes, refused, hotplugs);
	_exit(0);
}
