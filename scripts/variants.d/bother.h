/* SPDX-License-Identifier: GPL-2.0 */
/* What programs that disturb the tests have in common. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Is it one of the tests? Some need what they have, and others are PSI's own threads. */
static int is_test(const char *pid)
{
	static const char * const others[] = {
		"psi_core", "psi_fold", "psi_poll", "psi_throttled",
	};
	char path[300], name[32] = "";
	FILE *file;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(name, sizeof(name), file))
		name[0] = 0;
	fclose(file);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return 0;
	return !strncmp(name, "psi_", 4);
}

/*
 * For ever: do something to a fourth of the tests' processes, which returns whether it
 * was of the kind @what. Processes that are just gone do not matter.
 */
static void bother_tests(int (*bother)(int pid), const char *what)
{
	struct timespec pause = { 0, 10 * 1000000L };
	unsigned long done = 0;
	struct dirent *entry;
	DIR *proc;
	int round;

	for (round = 0; ; round++) {
		proc = opendir("/proc");
		while (proc && (entry = readdir(proc)))
			if (atoi(entry->d_name) && rand() % 4 == 0 && is_test(entry->d_name))
				done += bother(atoi(entry->d_name));
		closedir(proc);
		if (round % 1000 == 0) {
			printf("%lu %s\n", done, what);
			fflush(stdout);
		}
		nanosleep(&pause, NULL);
	}
}
