// SPDX-License-Identifier: GPL-2.0
/*
 * Puts the system under pressure, for some time or until SIGTERM comes.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "psi_util.h"

/* Two tasks for every CPU. */
static bool load_cpu(void)
{
	int i;

	for (i = 0; i < 2 * online_cpus(); i++)
		start_load(-1, spin, NULL);
	return true;
}

/* A task for every CPU, each with 24 MB, and 16 MB for each. */
static bool load_memory(void)
{
	static struct memory_user user = { .size = 24 << 20 };
	char limit[32];
	int i;

	user.cgroup = memory_cgroup();
	user.ready = shared_alloc(sizeof(*user.ready));
	snprintf(limit, sizeof(limit), "%dM", 16 * online_cpus());
	if (!user.cgroup || zram_swap(256) ||
	    set_cgroup(user.cgroup, "memory.max", limit))
		return false;
	for (i = 0; i < online_cpus(); i++)
		start_load(i, use_memory, &user);
	return true;
}

/* Two tasks that read from a disk which takes 20 ms for every request. */
static bool load_io(void)
{
	const char *disk = slow_disk(20);

	if (!disk)
		return false;
	start_load(-1, read_disk, (void *)disk);
	start_load(-1, read_disk, (void *)disk);
	return true;
}

/* A busy task on every CPU, with timers that keep interrupting it. */
static bool load_irq(void)
{
	int i;

	for (i = 0; i < online_cpus(); i++)
		start_load(i, spin_interrupted, NULL);
	return true;
}

static const struct {
	const char *name;
	bool (*start)(void);
} kinds[] = {
	{ "cpu", load_cpu },
	{ "memory", load_memory },
	{ "io", load_io },
	{ "irq", load_irq },
};

int main(int argc, char **argv)
{
	struct timespec timeout = { 0 };
	sigset_t signals;
	size_t i;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	for (i = 0; argc == 3 && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		if (!kinds[i].start()) {
			fprintf(stderr, "psi_load: this kernel cannot do that\n");
			clean_up();
			return 1;
		}
		timeout.tv_sec = atoi(argv[2]);
		sigtimedwait(&signals, NULL, &timeout);
		clean_up();
		return 0;
	}
	fprintf(stderr, "usage: psi_load cpu|memory|io|irq SECONDS\n");
	return 2;
}
