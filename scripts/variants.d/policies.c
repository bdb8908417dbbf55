// SPDX-License-Identifier: GPL-2.0
/*
 * policies - as long as it runs, the tests' processes change their scheduling policy
 *
 * SCHED_EXT is among them. Without a scheduler that is a BPF program the fair class has
 * them all the same.
 */
#include <sched.h>

#include "bother.h"

#ifndef SCHED_EXT
#define SCHED_EXT	7
#endif

static int set_policy(int pid, int policy)
{
	struct sched_param param = { .sched_priority = 0 };

	return sched_setscheduler(pid, policy, &param);
}

static int bother(int pid)
{
	if (rand() % 4)
		return !set_policy(pid, SCHED_EXT);
	set_policy(pid, rand() % 2 ? SCHED_OTHER : SCHED_BATCH);
	return 0;
}

int main(void)
{
	if (set_policy(0, SCHED_EXT)) {
		perror("SCHED_EXT");
		return 1;
	}
	bother_tests(bother, "times SCHED_EXT");
}
