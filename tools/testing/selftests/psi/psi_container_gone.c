// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers in /proc/pressure of a cgroup namespace, which takes what that of the system
 * takes; and what becomes of them and of all files there when the group is switched off or
 * goes, or has no pressure at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_container_util.h"

#define EAGER_TRIGGER	"some 50000 500000"

static int (* const ways[])(int fd, int ms) = {
	wait_by_poll, wait_by_epoll, wait_by_select,
};

/* ---- triggers ---- */

/* The first @length bytes, or all of a text. */
struct attempt {
	const char *text;
	size_t length;
	bool privileged;
};

static char long_text[3 * 4096];

static const struct attempt attempts[] = {
	{ QUIET_TRIGGER, 0, true },		{ QUIET_TRIGGER, 0, false },
	{ "some 1000 100000", 0, true },	{ "some 1000 100000", 0, false },
	{ "some 1000 2000000", 0, false },	{ "some 1000 2000000\n", 0, true },
	{ "full 1000 500000", 0, true },	{ "full 1000 500000", 0, false },
	{ "full 1000 10000000", 0, false },	{ "some 0 1000000", 0, true },
	{ "some 1000001 1000000", 0, true },	{ "some 1000 10000001", 0, true },
	{ "some 1000 9999", 0, true },		{ "half 1000 1000000", 0, true },
	{ "", 1, true },			{ "some", 0, true },
	{ long_text, 4095, true },		{ long_text, 4096, true },
	{ long_text, 4097, true },		{ long_text, sizeof(long_text), true },
	{ NULL, 10, true },
};

#define NR_RESULTS	7

/* Then there is one, and to ask for another tells that. */
static void attempt(const char *path, const struct attempt *a, int *result)
{
	int fd = a->privileged ? open_pressure(path, O_RDWR) : open_unprivileged(path, O_RDWR);
	size_t length = a->length ? a->length : strlen(a->text) + 1;

	EXPECT(fd >= 0, "cannot open: %s", strerror(-fd));
	result[0] = write_trigger(fd, a->text, length);
	result[1] = write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER));
	result[2] = write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER));
	result[3] = write(fd, "", 0) < 0 ? -errno : 0;
	result[4] = pwrite(fd, QUIET_TRIGGER, 10, 100) < 0 ? -errno : 0;
	result[5] = poll_event(fd, 0);
	result[6] = lseek(fd, 0, SEEK_CUR);
	close(fd);
}

/* Each answer is that of the system's file, and some are known. */
static void errnos(const char *proc)
{
	int ours[NR_RESULTS], systems[NR_RESULTS];
	bool busy = false, refused = false;
	size_t i, j;

	memset(long_text, 'x', sizeof(long_text));
	memcpy(long_text, QUIET_TRIGGER, sizeof(QUIET_TRIGGER) - 1);
	enter_idle_group();
	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		attempt(pressure_file(proc, "memory"), &attempts[i], ours);
		attempt(psi_path(PSI_MEMORY), &attempts[i], systems);
		for (j = 0; j < NR_RESULTS; j++)
			EXPECT(ours[j] == systems[j], "attempt %zu, %zu: %d instead of %d", i, j,
			       ours[j], systems[j]);
		busy |= !ours[0] && ours[1] == -EBUSY && !ours[5];
		refused |= ours[0] == -EINVAL && !ours[1] && ours[2] == -EBUSY;
	}
	EXPECT(busy && refused, "nothing was accepted, or refused");
}

static void events(const char *proc)
{
	const char *group = make_group(NULL, "ours");
	const char *other = make_group(NULL, "other");
	int fds[ARRAY_SIZE(ways)];
	size_t i;
	int got;

	pin_to_cpu(online_cpus() - 1);
	enter(group);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		fds[i] = must_open(proc, "cpu", O_RDWR | O_NONBLOCK);
		got = write_trigger(fds[i], EAGER_TRIGGER, sizeof(EAGER_TRIGGER));
		EXPECT(!got, "no trigger: %s", strerror(-got));
	}
	start_spinners(other, 2);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		got = ways[i](fds[i], 700);
		EXPECT(!got, "way %zu: %x for what others do", i, got);
	}
	start_spinners(group, 2);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		got = ways[i](fds[i], 3000);
		EXPECT((got & (POLLPRI | POLLERR)) == POLLPRI, "way %zu: %x", i, got);
	}
}

/* ---- there is nothing to show ---- */

static void expect_errno(const char *proc, const char *when, int expected)
{
	int res, fd;

	for (res = 0; res < PSI_NR_RESOURCES; res++) {
		fd = open_in_proc(proc, psi_name(res), O_RDONLY);
		if (fd != -ENOENT || res != PSI_IRQ)
			expect_opened(fd, expected, "%s: %s", when, psi_name(res));
	}
}

static void group_removed(const char *proc)
{
	const char *parent = make_group(NULL, "parent");
	const char *group = make_group(parent, "g");

	enter(group);
	expect_errno(proc, "before", 0);
	EXPECT(!remove_group(group), "cannot be removed");
	expect_errno(proc, "removed", -ENODEV);
	make_group(parent, "g");
	expect_errno(proc, "another one of that name", -ENODEV);
	EXPECT(!remove_group(group) && !remove_group(parent), "cannot be removed");
	expect_errno(proc, "and the one above", -ENODEV);
	back_to_system();
	EXPECT(is_the_systems(proc), "the system's");
}

static void group_off(const char *proc)
{
	const char *parent = make_group(NULL, "parent");
	const char *group = make_group(parent, "g");
	int ret;

	enter(group);
	must_switch(parent, false);
	expect_errno(proc, "the one above is off", 0);
	must_switch(group, false);
	expect_errno(proc, "off", -EOPNOTSUPP);
	ret = open_in_proc(proc, "cpu", O_WRONLY | O_CREAT | O_TRUNC);
	EXPECT(ret == -EOPNOTSUPP, "off, by a shell: %d", ret);
	must_switch(group, true);
	expect_errno(proc, "on again", 0);
	must_switch(group, false);
	EXPECT(!remove_group(group), "cannot be removed");
	expect_errno(proc, "off, and removed", -ENODEV);
}

/* A namespace of a group that has no pressure, or of a hierarchy that is not in use. */
static void not_accounted(const char *proc)
{
	const char *group = groups_are_used() ? CGROUP_ROOT "/psi_container" : NULL;

	REQUIRE(!access("/proc/pressure", F_OK), "needs psi=1");
	REQUIRE(!group || booted_with("cgroup_disable=pressure"),
		"needs cgroup_disable=pressure, or no cgroup2");
	if (group)
		mkdir(group, 0755);
	enter(group);
	expect_errno(proc, "not accounted", -EOPNOTSUPP);
	EXPECT(cpu_total("/proc") < ~0ULL, "the system's");
	back_to_system();
	if (group)
		rmdir(group);
	EXPECT(is_the_systems(proc), "in the initial namespace");
}

/* psi=0: no files, and the option changes nothing. */
static void without_psi(const char *proc)
{
	REQUIRE(access("/proc/pressure", F_OK), "needs psi=0");
	EXPECT(access(pressure_file(proc, "cpu"), F_OK) && errno == ENOENT, "it is there");
}

/* ---- the end of a group ---- */

struct ending {
	const char *group;
	bool removed;
};

static void end_it(void *ending)
{
	const struct ending *e = ending;

	sleep_ms(300);
	if (e->removed ? rmdir(e->group) : set_pressure(e->group, false))
		_exit(1);
	for (;;)
		pause();
}

static void expect_end(const char *proc, int way, bool is_removed)
{
	struct ending e = { make_group(NULL, "g"), is_removed };
	char text[MAX_TEXT];
	int fd, reader, at_end, got;
	pid_t load;

	enter(e.group);
	fd = must_open(proc, "cpu", O_RDWR);
	reader = must_open(proc, "memory", O_RDONLY);
	at_end = must_open(proc, "io", O_RDONLY);
	while (read(at_end, text, sizeof(text)) > 0)
		;
	EXPECT(!write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER)), "no trigger");
	load = start_load(-1, end_it, &e);
	got = ways[way](fd, 10000);
	EXPECT((got & (POLLERR | POLLPRI)) == (POLLERR | POLLPRI), "way %d, %s: %x", way,
	       is_removed ? "removed" : "off", got);
	/* What wakes comes first. */
	sleep_ms(100);
	EXPECT(read(fd, text, 10) < 0 && errno == ENODEV, "it can be read");
	EXPECT(pread(reader, text, 10, 0) < 0 && errno == ENODEV, "another one can be read");
	EXPECT(read(at_end, text, 10) < 0 && errno == ENODEV, "one that was read can be read");
	EXPECT(poll_event(reader, 0) & POLLERR, "another one does not tell");
	EXPECT(write_trigger(fd, QUIET_TRIGGER, 10) == -ENODEV, "it can be written");
	stop_load(load);
	if (!is_removed) {
		must_switch(e.group, true);
		EXPECT(read(fd, text, 10) < 0 && errno == ENODEV, "it lives again");
		EXPECT(read_proc(proc, "cpu", text) > 0, "cannot be opened anew");
		EXPECT(!remove_group(e.group), "cannot be removed");
	}
	close(fd);
	close(reader);
	close(at_end);
}

static void end_is_told(const char *proc)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		expect_end(proc, i, true);
		expect_end(proc, i, false);
	}
}

/* ---- what is left ---- */

#define MANY_OPENS	(20000 / psi_slowness())
/* Each CPU may know of so many that the sum does not know of yet. */
#define FILES_OF_CPU	32
#define MANY_GROUPS	100

/* What the kernel counts, by the first number after @key. */
static struct count {
	const char *what, *path, *key;
	long more;		/* than before that is as good */
	long before;
} counts[] = {
	{ "open files", "/proc/sys/fs/file-nr", "", 8 * FILES_OF_CPU },
	{ "directory entries", "/proc/sys/fs/dentry-state", "", MANY_GROUPS / 2 },
	{ "dead groups", CGROUP_ROOT "/cgroup.stat", "nr_dying_descendants ", 5 },
	{ "kB of the kernel", "/proc/meminfo", "SUnreclaim:", 600 },
};

/* KASAN keeps back memory that is freed. */
#define NR_COUNTS	(ARRAY_SIZE(counts) - (psi_slowness() > 1))

static long count_now(const struct count *c)
{
	char text[4096];
	const char *at;

	write_text("/proc/sys/vm/drop_caches", "2");
	EXPECT(read_text(c->path, text, sizeof(text)) > 0, "no %s", c->path);
	at = strstr(text, c->key);
	EXPECT(at, "no %s in %s", c->key, c->path);
	return atol(at + strlen(c->key));
}

static void count_before(void)
{
	size_t i;

	sleep_ms(500);
	for (i = 0; i < NR_COUNTS; i++)
		counts[i].before = count_now(&counts[i]);
}

/* Much goes by way of RCU and of workers. */
static void expect_counts(const char *when)
{
	const struct count *c;
	int tries;
	long more;

	for (c = counts; c < counts + NR_COUNTS; c++) {
		for (tries = 0; (more = count_now(c) - c->before) > c->more && tries < 50; tries++)
			sleep_ms(100);
		EXPECT(more <= c->more, "%s: %ld more %s", when, more, c->what);
	}
}

/* All of the files but irq, by turns. */
static void open_often(const char *proc, int times, int expected)
{
	const char *name;

	while (times--) {
		name = psi_name(times % PSI_IRQ);
		expect_opened(open_in_proc(proc, name, O_RDWR), expected, "%s", name);
	}
}

static void come_and_go(const char *proc)
{
	const char *group = make_group(NULL, "g");
	char text[MAX_TEXT];
	int fd;

	enter(group);
	fd = must_open(proc, "cpu", O_RDWR);
	EXPECT(!write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER)) &&
	       !poll_event(fd, 0) && read(fd, text, sizeof(text)) > 0, "it cannot be used");
	EXPECT(!rmdir(group) && !mkdir(group, 0755), "cannot make another one");
	close(fd);
	open_often(proc, 1, -ENODEV);
	EXPECT(!rmdir(group), "cannot be removed");
	back_to_system();
}

static void nothing_is_left(const char *proc)
{
	const char *group = make_group(NULL, "often");
	int i;

	come_and_go(proc);
	enter(group);
	open_often(proc, 1000, 0);
	count_before();
	open_often(proc, MANY_OPENS, 0);
	expect_counts("opened often");

	must_switch(group, false);
	open_often(proc, MANY_OPENS, -EOPNOTSUPP);
	expect_counts("not opened as often");
	back_to_system();

	count_before();
	for (i = 0; i < MANY_GROUPS; i++)
		come_and_go(proc);
	expect_counts("groups come and go");
}

/* ---- everything at once ---- */

#define RACE_MS		5000
#define NR_GROUPS	4
#define FAST_TRIGGER	"some 2000 20000"

enum { ENTERS, OPENS, READS, WRITES, FIRES, ENDS, REMOVALS, TOGGLES, REMOUNTS, NR_DEEDS };

static const struct deed deeds[NR_DEEDS] = {
	[ENTERS]	= { "namespaces entered", { ENOENT, ENODEV } },
	[OPENS]		= { "opens", { ENODEV, EOPNOTSUPP } },
	[READS]		= { "reads", { ENODEV } },
	[WRITES]	= { "triggers", { ENODEV, EBUSY } },
	[FIRES]		= { "events" },
	[ENDS]		= { "ends told" },
	[REMOVALS]	= { "groups removed", { EBUSY } },
	[TOGGLES]	= { "toggles", { ENOENT, ENODEV } },
	[REMOUNTS]	= { "remounts" },
};

/* Set before loads begin */
static struct {
	const char *proc;
	const char *group[NR_GROUPS];
} race;

static int or_errno(ssize_t ret)
{
	return ret < 0 ? -errno : 0;
}

static const char *any_group(void)
{
	return race.group[random_below(NR_GROUPS)];
}

/* One descriptor for all threads; there is always something behind it. */
static int shared_fd;

static bool listen_to(int fd, int ms)
{
	int got = ways[random_below(ARRAY_SIZE(ways))](fd, ms);

	if (got & POLLERR)
		return did(ENDS, 0);
	if (got & POLLPRI)
		did(FIRES, 0);
	return false;
}

static void use_file(int fd)
{
	const char *trigger = random_below(2) ? FAST_TRIGGER : QUIET_TRIGGER;
	char text[MAX_TEXT];

	switch (random_below(4)) {
	case 0:
		did(WRITES, or_errno(write(fd, trigger, strlen(trigger))));
		break;
	case 1:
		listen_to(fd, random_below(20));
		break;
	default:
		did(READS, or_errno(pread(fd, text, sizeof(text), 0)));
	}
}

static void *use_shared(void *unused)
{
	for (;;) {
		use_file(shared_fd);
		pause_us(200);
	}
	return NULL;
}

/* Only this thread changes its namespace, and opens. */
static void contain(void *shares)
{
	pthread_t thread;
	int i, fd;

	shared_fd = open("/proc/pressure/io", O_RDWR);
	if (shares && (shared_fd < 0 || pthread_create(&thread, NULL, use_shared, NULL) ||
		       pthread_create(&thread, NULL, use_shared, NULL)))
		return;
	for (;;) {
		/* A process with threads is moved as one, and threads have namespaces. */
		if (!did(ENTERS, try_enter(any_group())))
			pause_us(1000);
		for (i = random_below(20); i >= 0; i--) {
			fd = open_in_proc(race.proc, psi_name(random_below(3)), O_RDWR);
			if (!did(OPENS, fd))
				continue;
			if (shares)
				dup2(fd, shared_fd);
			use_file(fd);
			use_file(fd);
			pause_us(300);
			close(fd);
		}
	}
}

/* To the one that stays, until it is switched off. */
static void listen_for_long(void *unused)
{
	char text[MAX_TEXT];
	int fd, reader;

	for (;;) {
		did(ENTERS, try_enter(race.group[0]));
		reader = open_in_proc(race.proc, "memory", O_RDWR);
		fd = open_in_proc(race.proc, "cpu", O_RDWR);
		if (did(OPENS, fd)) {
			did(WRITES, or_errno(write(fd, FAST_TRIGGER, strlen(FAST_TRIGGER))));
			while (!listen_to(fd, 1000))
				if (reader >= 0)
					did(READS, or_errno(pread(reader, text, MAX_TEXT, 0)));
			close(fd);
		}
		close(reader);
	}
}

static void remove_and_make(void *unused)
{
	const char *group;

	for (;;) {
		group = any_group();
		if (did(REMOVALS, or_errno(rmdir(group)))) {
			pause_us(1000);
			mkdir(group, 0755);
		}
		pause_us(2000);
	}
}

static void toggle(void *unused)
{
	const char *group;

	for (;;) {
		group = race.group[random_below(50) ? 1 + random_below(NR_GROUPS - 1) : 0];
		did(TOGGLES, set_pressure(group, false));
		pause_us(1000);
		did(TOGGLES, set_pressure(group, true));
		pause_us(5000);
	}
}

static void remount_it(void *unused)
{
	for (;;) {
		did(REMOUNTS, remount(race.proc, "pressure=system"));
		pause_us(1000);
		did(REMOUNTS, remount(race.proc, "pressure=cgroup"));
		pause_us(20000);
	}
}

/* The first group stays, and has something to tell. */
static void amid_everything(const char *proc)
{
	static const char * const names[NR_GROUPS] = { "a", "b", "c", "d" };
	unsigned int i;

	begin_deeds(deeds, NR_DEEDS);
	race.proc = proc;
	for (i = 0; i < NR_GROUPS; i++)
		race.group[i] = make_group(NULL, names[i]);
	start_spinners(race.group[0], 2);
	for (i = 0; i < 4; i++)
		start_load(-1, contain, i % 2 ? &race : NULL);
	start_load(-1, listen_for_long, NULL);
	start_load(-1, remove_and_make, NULL);
	start_load(-1, toggle, NULL);
	start_load(-1, remount_it, NULL);

	await_deeds(RACE_MS, DEED(NR_DEEDS) - 1);
	stop_all_loads();
	expect_deeds(DEED(NR_DEEDS) - 1);
	EXPECT(!remove_all_groups(), "groups cannot be removed");
	/* What is left of them would be seen here. */
	EXPECT(is_the_systems(proc), "the system's");
}

static const struct psi_case cases[] = {
	{ "R-12 R-14 a container's file takes triggers as the system's does", CONTAINER(errnos) },
	{ "R-12 R-14 a container's triggers tell of its group alone", CONTAINER(events) },
	{ "R-14 ENODEV if a container's group was removed", CONTAINER(group_removed) },
	{ "R-14 EOPNOTSUPP if a container's group is off", CONTAINER(group_off) },
	{ "R-14 EOPNOTSUPP where no group is accounted", CONTAINER(not_accounted) },
	{ "R-10 pressure=cgroup makes no files with psi=0", CONTAINER(without_psi) },
	{ "R-12 R-14 a container is told of the end of its group", CONTAINER(end_is_told) },
	{ "R-14 nothing is left of a container and its files", CONTAINER(nothing_is_left) },
	{ "R-14 containers against everything", CONTAINER(amid_everything) },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
