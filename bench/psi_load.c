// SPDX-License-Identifier: GPL-2.0
/*
 * Puts the system under pressure, for some time or until SIGTERM comes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define MB	(1024UL * 1024)

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

/* ---- groups that are held up, each by something else ---- */

#define SHOP		CGROUP_ROOT "/shop"
#define DATABASE	SHOP "/database"
#define IMPORT		SHOP "/import"
#define SEARCH		SHOP "/search"
#define REPORT		SHOP "/report"
#define WEB		SHOP "/web"
#define IDLE		SHOP "/idle"

static const char * const shop[] = { SHOP, DATABASE, IMPORT, SEARCH, REPORT, WEB, IDLE };

static const struct {
	const char *group, *file, *value;
} settings[] = {
	{ CGROUP_ROOT,	"cgroup.subtree_control", "+cpu +memory" },
	{ SHOP,		"cgroup.subtree_control", "+cpu +memory" },
	{ DATABASE,	"memory.high",		"4M" },
	{ DATABASE,	"memory.swap.max",	"0" },
	{ IMPORT,	"memory.max",		"12M" },
	{ SEARCH,	"memory.max",		"12M" },
	{ SEARCH,	"memory.swap.max",	"0" },
	{ REPORT,	"cpu.max",		"20000 100000" },
};

/* Reads here and there in more than the group may keep in memory. */
static void read_at_random(void *disk)
{
	static char buf[64 * 1024];
	const int blocks = 18 * MB / sizeof(buf);
	int fd = open(disk, O_RDONLY);

	while (pread(fd, buf, sizeof(buf), rand() % blocks * sizeof(buf)) == sizeof(buf))
		;
}

struct member {
	const char *group;
	int cpu;
	void (*fn)(void *arg);
	void *arg;
};

static void work(void *arg)
{
	const struct member *m = arg;

	if (!join_cgroup(m->group))
		m->fn(m->arg);
}

static void remove_shop(void)
{
	size_t i;

	for (i = ARRAY_SIZE(shop); i--; )
		remove_group(shop[i]);
}

/*
 * One uses ever more than memory.high, one more than memory.max, one has too little for the
 * part of a disk that it reads, one uses up its cpu.max, two tasks of one have one CPU.
 */
static bool load_groups(void)
{
	static struct memory_user database = { .cgroup = DATABASE, .size = 4 * MB, .grow = true };
	static struct memory_user import = { .cgroup = IMPORT, .size = 20 * MB };
	static struct member members[] = {
		{ DATABASE,	0, use_memory,		&database },
		{ SEARCH,	0, read_at_random,	NULL },
		{ IMPORT,	1, use_memory,		&import },
		{ REPORT,	2, spin,		NULL },
		{ WEB,		3, spin,		NULL },
		{ WEB,		3, spin,		NULL },
	};
	size_t i;

	members[1].arg = (void *)slow_disk(10);
	if (online_cpus() < 4 || !members[1].arg || zram_swap(64))
		return false;
	for (i = 0; i < ARRAY_SIZE(shop); i++)
		if (mkdir(shop[i], 0755))
			return false;
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		if (set_cgroup(settings[i].group, settings[i].file, settings[i].value))
			return false;
	database.ready = shared_alloc(sizeof(*database.ready));
	import.ready = shared_alloc(sizeof(*import.ready));
	for (i = 0; i < ARRAY_SIZE(members); i++)
		start_load(members[i].cpu, work, &members[i]);
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
	{ "groups", load_groups },
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
			remove_shop();
			return 1;
		}
		timeout.tv_sec = atoi(argv[2]);
		sigtimedwait(&signals, NULL, &timeout);
		clean_up();
		remove_shop();
		return 0;
	}
	fprintf(stderr, "usage: psi_load cpu|memory|io|irq|groups SECONDS\n");
	return 2;
}
