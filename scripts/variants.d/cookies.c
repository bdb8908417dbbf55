// SPDX-License-Identifier: GPL-2.0
/*
 * cookies - as long as it runs, the tests' processes get cookies and lose them
 *
 * With CONFIG_SCHED_CORE two tasks run on one core at the same time only if their
 * cookies are equal. Half of the processes get one of their own each time, the others
 * share one, or have none.
 */
#include <sys/prctl.h>

#include "bother.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE			62
#define PR_SCHED_CORE_CREATE		1
#define PR_SCHED_CORE_SHARE_TO		2
#define PR_SCHED_CORE_SHARE_FROM	3
#endif
#define THREAD_GROUP			1

static int core_sched(int what, int pid)
{
	return prctl(PR_SCHED_CORE, what, pid, THREAD_GROUP, NULL);
}

/* Our own cookie is the one that is shared. */
static int bother(int pid)
{
	switch (rand() % 8) {
	case 0:
		core_sched(PR_SCHED_CORE_SHARE_FROM, pid);
		return 0;
	case 1:
	case 2:
	case 3:
		core_sched(PR_SCHED_CORE_SHARE_TO, pid);
		return 0;
	default:
		return !core_sched(PR_SCHED_CORE_CREATE, pid);
	}
}

int main(void)
{
	/* Fails without a core that has two threads. */
	if (core_sched(PR_SCHED_CORE_CREATE, 0)) {
		perror("PR_SCHED_CORE_CREATE");
		return 1;
	}
	bother_tests(bother, "new cookies");
}
