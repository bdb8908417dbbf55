// SPDX-License-Identifier: GPL-2.0
/*
 * A ledger of the interface: does everything with pressure files that a user can, and
 * prints what came of it, one line each,
 *
 *	abi: WHAT WAS DONE: WHAT CAME OF IT
 *
 * the same each time. No WHAT WAS DONE occurs twice. scripts/test/abi holds the lines of
 * the kernel of the base against those of ours. Nothing here says what is right.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_abi.h"

/* ---- lines ---- */

void __printf(2, 3) say(const char *result, const char *format, ...)
{
	va_list args;

	printf("abi: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(": %s\n", result);
	fflush(stdout);
}

const char *error_name(int error)
{
	static char number[16];
	const char *name = strerrorname_np(error);

	if (name)
		return error ? name : "ok";
	snprintf(number, sizeof(number), "%d", error);
	return number;
}

/* What a system call returned that did not fail. */
const char *number(long value)
{
	static char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	return text;
}

/* The same, or why it failed. */
const char *outcome(long ret)
{
	return ret < 0 ? error_name(errno) : number(ret);
}

const char *success(long ret)
{
	return ret < 0 ? error_name(errno) : "ok";
}

const char *mask(int events)
{
	static const struct { int bit; const char *name; } bits[] = {
		{ POLLIN, "IN" }, { POLLPRI, "PRI" }, { POLLOUT, "OUT" }, { POLLERR, "ERR" },
		{ POLLHUP, "HUP" }, { POLLNVAL, "NVAL" }, { POLLRDNORM, "RDNORM" },
		{ POLLWRNORM, "WRNORM" },
	};
	static char text[64];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (events & bits[i].bit)
			sprintf(text + strlen(text), "%s%s", *text ? "|" : "", bits[i].name);
	return *text ? text : "nothing";
}

/* A text in one line, with an N for each number; long rows of a letter are cut. */
static const char *in_short(const char *text, size_t length, bool numbers)
{
	static char line[512];
	size_t i, n = 0, row = 0;

	for (i = 0; i < length && n < sizeof(line) - 8; i++) {
		row = i && text[i] == text[i - 1] && !isdigit(text[i]) ? row + 1 : 0;
		if (row > 3)
			continue;
		if (!text[i])
			n += sprintf(line + n, "\\0");
		else if (text[i] == '\n')
			n += sprintf(line + n, "\\n");
		else if (text[i] == '\t')
			n += sprintf(line + n, "\\t");
		else if (numbers && isdigit(text[i]))
			n += n && line[n - 1] == 'N' ? 0 : sprintf(line + n, "N");
		else
			line[n++] = text[i];
	}
	line[n] = '\0';
	return line;
}

const char *shape(const char *text, ssize_t length)
{
	return length < 0 ? error_name(errno) : in_short(text, length, true);
}

/* ---- places ---- */

char group[GROUP_PATH];

static const struct place places[] = { { "proc" }, { "group" } };

const struct place *proc_place = &places[0], *group_place = &places[1];

static bool is_there(const struct place *place)
{
	return place == proc_place ? !access("/proc/pressure", F_OK) : *group;
}

const char *path_of(const struct place *place, const char *resource)
{
	static char path[GROUP_PATH + 32];

	if (place == proc_place)
		snprintf(path, sizeof(path), "/proc/pressure/%s", resource);
	else
		snprintf(path, sizeof(path), "%s/%s.pressure", group, resource);
	return path;
}

int open_at(const struct place *place, const char *resource, int flags)
{
	return open(path_of(place, resource), flags | O_CLOEXEC);
}

/* For all places that there are. */
static void everywhere(void (*fn)(const struct place *place))
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (is_there(&places[i]))
			fn(&places[i]);
}

/* ---- users ---- */

enum who { ROOT, SOMEBODY, THEIR_ROOT };

static const char * const who_name[] = { "root", "nobody", "root of a user namespace" };

static void become(enum who who)
{
	if (who == SOMEBODY || who == THEIR_ROOT)
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
	if (who == THEIR_ROOT && unshare(CLONE_NEWUSER))
		_exit(1);
}

/* In a process of its own. */
static void as(enum who who, void (*fn)(enum who who, const struct place *place),
	       const struct place *place)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		become(who);
		fn(who, place);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* ---- names, modes, owners ---- */

static void say_file(const char *what, const char *dir, const char *name)
{
	char path[600], text[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (lstat(path, &st))
		snprintf(text, sizeof(text), "%s", error_name(errno));
	else
		snprintf(text, sizeof(text), "%o, %u:%u, %ld bytes, %lu links", st.st_mode,
			 st.st_uid, st.st_gid, (long)st.st_size, (unsigned long)st.st_nlink);
	say(text, "file %s/%s", what, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char * const *)a, *(const char * const *)b);
}

/* Those with "pressure" in their path. */
static void list(const char *what, const char *dir)
{
	char *names[64];
	struct dirent *entry;
	size_t n = 0, i;
	DIR *d = opendir(dir);

	if (!d) {
		say(error_name(errno), "files of %s", what);
		return;
	}
	while (n < ARRAY_SIZE(names) && (entry = readdir(d)))
		if (*entry->d_name != '.' &&
		    (strstr(dir, "pressure") || strstr(entry->d_name, "pressure")))
			names[n++] = strdup(entry->d_name);
	closedir(d);
	qsort(names, n, sizeof(*names), by_name);
	for (i = 0; i < n; i++)
		say_file(what, dir, names[i]);
}

static void say_exists(const char *path)
{
	say(access(path, F_OK) ? error_name(errno) : "ok", "is there %s", path);
}

static void files(void)
{
	struct statfs fs;

	list("/proc/pressure", "/proc/pressure");
	list("the root group", CGROUP_ROOT);
	if (*group)
		list("a group", group);
	say_exists("/proc/sys/kernel/psi_window_min_us");
	say_exists("/sys/module/psi/version");
	say_exists("/sys/module/psi/parameters");
	say(success(statfs("/proc/pressure", &fs)), "statfs /proc/pressure");
}

/* What people trace. */
static void symbols(void)
{
	static const char * const names[] = {
		"psi_task_change", "psi_task_switch", "psi_group_change", "psi_avgs_work",
		"psi_trigger_create", "psi_trigger_destroy", "psi_trigger_poll", "psi_show",
		"psi_rtpoll_worker", "psi_memstall_enter", "psi_memstall_leave",
		"cgroup_move_task", "psi_account_irqtime",
	};
	char line[256], name[128], want[128];
	bool found[ARRAY_SIZE(names)] = { };
	FILE *f = fopen("/proc/kallsyms", "r");
	size_t i;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %127s", name) != 1)
			continue;
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			snprintf(want, sizeof(want), "%s.", names[i]);
			found[i] |= !strcmp(name, names[i]) ||
				    !strncmp(name, want, strlen(want));
		}
	}
	if (f)
		fclose(f);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		say(found[i] ? "yes" : "no", "symbol %s", names[i]);
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	say(access(PSI_EVENTS, F_OK) ? "no" : "yes", "trace events psi:*");
}

void threads(const char *when)
{
	static const char * const names[] = { "psimon", "psi_poll", "psi_poll_user", "psi_fold" };
	size_t i;
	pid_t pids[8];

	for (i = 0; i < ARRAY_SIZE(names); i++)
		say(find_tasks(names[i], pids, ARRAY_SIZE(pids)) ? "yes" : "no",
		    "thread %s %s", names[i], when);
}

/* ---- open ---- */

static void modes(enum who who, const struct place *place)
{
	static const struct { const char *name; int flags; } how[] = {
		{ "O_RDONLY", O_RDONLY }, { "O_WRONLY", O_WRONLY }, { "O_RDWR", O_RDWR },
		{ "O_WRONLY|O_TRUNC|O_CREAT", O_WRONLY | O_TRUNC | O_CREAT },
		{ "O_RDWR|O_APPEND", O_RDWR | O_APPEND }, { "O_RDWR|O_EXCL", O_RDWR | O_EXCL },
		{ "O_RDWR|O_CREAT|O_EXCL", O_RDWR | O_CREAT | O_EXCL },
		{ "O_RDWR|O_NONBLOCK", O_RDWR | O_NONBLOCK }, { "O_RDWR|O_SYNC", O_RDWR | O_SYNC },
		{ "O_RDWR|O_DIRECT", O_RDWR | O_DIRECT }, { "O_RDONLY|O_DIRECTORY", O_DIRECTORY },
		{ "O_PATH", O_PATH }, { "O_RDWR|O_NOATIME", O_RDWR | O_NOATIME }, { "3", 3 },
	};
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		fd = open(path_of(place, "memory"), how[i].flags, 0666);
		say(success(fd), "%s, %s: open %s", place->name, who_name[who], how[i].name);
		close(fd);
	}
	say(success(access(path_of(place, "memory"), R_OK)), "%s, %s: access R_OK", place->name,
	    who_name[who]);
	say(success(access(path_of(place, "memory"), W_OK)), "%s, %s: access W_OK", place->name,
	    who_name[who]);
}

/* ---- texts ---- */

struct text {
	const char *bytes;
	size_t length;
};

#define T(s)		{ s, sizeof(s) - 1 }

static char spaces[8192], zeros[8192];

static const struct text texts[] = {
	/* ends */
	T("some 100000 2000000"), T("some 100000 2000000\0"), T("some 100000 2000000\n"),
	T("some 100000 2000000\n\0"), T("some 100000 2000000 "), T("some 100000 2000000\t\n"),
	T("some 100000 2000000\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	T("some 100000 2000000\0x"), T("some 100000 2000000\nx"),
	/* what follows */
	T("some 100000 2000000 x\0"), T("some 100000 2000000x\0"), T("some 100000 2000000us\0"),
	T("some 100000 2000000.5\0"), T("some 100000 2000000 5\0"),
	T("some 100000 2000000,full 1 2000000\0"), T("some 1 2000000\nfull 1 2000000\0"),
	/* what is between and before */
	T(" some 100000 2000000\0"), T("some  100000  2000000\0"), T("some\t100000\t2000000\0"),
	T("some\n100000\n2000000\0"), T("some100000 2000000\0"), T("\nsome 100000 2000000\0"),
	T("some 100000\0 2000000\0"), T("\0some 100000 2000000\0"),
	/* words */
	T("Some 100000 2000000\0"), T("SOME 100000 2000000\0"), T("som 100000 2000000\0"),
	T("somex 100000 2000000\0"), T("full 100000 2000000\0"), T("half 100000 2000000\0"),
	T("100000 2000000\0"), T("some\0"), T("some 100000\0"), T("full\0"), T("0\0"), T("1\0"),
	/* numbers */
	T("some +100000 2000000\0"), T("some 100000 +2000000\0"), T("some -100000 2000000\0"),
	T("some 100000 -2000000\0"), T("some 0100000 02000000\0"), T("some 0x100 2000000\0"),
	T("some 1e5 2000000\0"), T("some 100.5 2000000\0"), T("some 0000000100000 2000000\0"),
	T("some 4294967297 2000000\0"), T("some 1 4296967296\0"),
	T("some 18446744073709551617 2000000\0"), T("some 1 18446744073711551616\0"),
	T("some 4294967295 4294967295\0"),
	/* bounds */
	T("some 0 2000000\0"), T("some 1 2000000\0"), T("some 2000000 2000000\0"),
	T("some 2000001 2000000\0"), T("full 0 0\0"), T("some 1 0\0"), T("some 1 1\0"),
	T("some 1 9999\0"), T("some 1 10000\0"), T("some 1 100000\0"), T("some 1 499999\0"),
	T("some 1 500000\0"), T("some 1 1000000\0"), T("some 1 1999999\0"), T("some 1 2000001\0"),
	T("some 1 3000000\0"), T("some 1 4000000\0"), T("some 1 9999999\0"),
	T("some 1 10000000\0"), T("some 1 10000001\0"), T("full 1 10000000\0"),
	/* lengths; 31 and 32 bytes without an end */
	T(""), T("\0"), T("\n"), T(" "), T("some 000000000100000 0002000000"),
	T("some 0000000000100000 0002000000"), T("some 00000000000100000 0002000000"),
	{ spaces, 100 }, { spaces, 4095 }, { spaces, 4096 }, { spaces, 4097 },
	{ zeros, 100 }, { zeros, 4095 }, { zeros, 4096 }, { zeros, 4097 }, { zeros, 8192 },
};

/* "ok" is all of it. */
static const char *written(ssize_t ret, size_t length)
{
	return ret < 0 ? error_name(errno) : (size_t)ret == length ? "ok" : number(ret);
}

static void try_text(const char *who, const struct place *place, const char *resource,
		     const struct text *t, int fd)
{
	char result[64];
	bool refused;
	ssize_t ret;

	ret = write(fd, t->bytes, t->length);
	refused = ret < 0;
	snprintf(result, sizeof(result), "%s", written(ret, t->length));
	/* Is the file what it was? */
	ret = write(fd, GOOD, sizeof(GOOD));
	if (refused ? ret != sizeof(GOOD) : ret >= 0 || errno != EBUSY)
		sprintf(result + strlen(result), ", then %s", written(ret, sizeof(GOOD)));
	say(result, "%s, %s: %s: write \"%s\" (%zu)", place->name, who, resource,
	    in_short(t->bytes, t->length, false), t->length);
	close(fd);
}

static void try_texts(const struct place *place)
{
	size_t i;

	memset(spaces, ' ', sizeof(spaces));
	memcpy(spaces, GOOD, strlen(GOOD));
	memcpy(zeros, GOOD, strlen(GOOD));
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		try_text("root", place, "cpu", &texts[i], open_at(place, "cpu", O_RDWR));
		try_text("unprivileged", place, "cpu", &texts[i],
			 open_unprivileged(path_of(place, "cpu"), O_RDWR | O_CLOEXEC));
	}
}

static void each_file(const struct place *place)
{
	static const char * const resources[] = { "memory", "io", "irq" };
	static const struct text lines[] = { T("some 1 2000000\0"), T("full 1 2000000\0") };
	char text[512];
	size_t r, i;
	int fd;

	for (r = 0; r < ARRAY_SIZE(resources); r++) {
		fd = open_at(place, resources[r], O_RDONLY);
		say(shape(text, read(fd, text, sizeof(text))), "%s: read %s", place->name,
		    resources[r]);
		close(fd);
		for (i = 0; i < ARRAY_SIZE(lines); i++)
			try_text("root", place, resources[r], &lines[i],
				 open_at(place, resources[r], O_RDWR));
	}
}

/* ---- whose privilege counts ---- */

static void own_windows(enum who who, const struct place *place)
{
	static const char * const windows[] = {
		"some 1 100000", "some 1 500000", "some 1 1000000", "some 1 2000000",
	};
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		fd = open_at(place, "cpu", O_RDWR);
		say(success(write(fd, windows[i], strlen(windows[i]) + 1)), "%s, %s: \"%s\"",
		    place->name, who_name[who], windows[i]);
		close(fd);
	}
}

static int opened_before;

static void others_file(enum who who, const struct place *place)
{
	say(success(write(opened_before, "some 1 100000", 14)),
	    "%s: opened by root, \"some 1 100000\" by %s", place->name, who_name[who]);
}

static void give_to(uid_t uid, const struct place *place)
{
	if (place == group_place && chown(path_of(place, "cpu"), uid, uid))
		psi_note("chown: %s", strerror(errno));
}

static void privileges(const struct place *place)
{
	opened_before = open_at(place, "cpu", O_RDWR);
	as(SOMEBODY, others_file, place);
	close(opened_before);
	as(SOMEBODY, modes, place);
	as(ROOT, modes, place);
	/* Of a group they have to be given the file. */
	give_to(NOBODY, place);
	as(SOMEBODY, own_windows, place);
	as(THEIR_ROOT, own_windows, place);
	give_to(0, place);
}

/* ---- groups ---- */

static void switch_texts(void)
{
	static const struct text switches[] = {
		T("0"), T("1"), T("1\n"), T("0\0"), T(" 1 "), T("0x1"), T("01"), T("+1"), T("2"),
		T("-1"), T(""), T("\n"), T("x"), T("1 1"), T("4294967296"),
	};
	char path[GROUP_PATH], text[16];
	size_t i;
	int fd;

	group_file(path, group, "cgroup.pressure");
	say(shape(text, read_text(path, text, sizeof(text))), "group: read cgroup.pressure");
	for (i = 0; i < ARRAY_SIZE(switches); i++) {
		fd = open(path, O_RDWR);
		say(written(write(fd, switches[i].bytes, switches[i].length), switches[i].length),
		    "group: write \"%s\" to cgroup.pressure",
		    in_short(switches[i].bytes, switches[i].length, false));
		poll_event(fd, 0);
		close(fd);
	}
	write_text(path, "1");
}

static void use_after(const char *when, int fd)
{
	char text[64];

	say(success(pread(fd, text, 10, 0)), "group, %s: pread", when);
	say(success(write(fd, GOOD, sizeof(GOOD))), "group, %s: write", when);
	say(success(lseek(fd, 0, SEEK_SET)), "group, %s: lseek", when);
	say(mask(poll_event(fd, 0)), "group, %s: poll", when);
}

static void ends(void)
{
	int with, without, fresh;

	with = open_at(group_place, "memory", O_RDWR);
	without = open_at(group_place, "memory", O_RDWR);
	if (write(with, QUIET, sizeof(QUIET)) < 0)
		return;
	set_pressure(group, false);
	list("a group that is off", group);
	say(success(open_at(group_place, "memory", O_RDWR)), "group, off: open");
	use_after("off, with a trigger", with);
	use_after("off, without one", without);
	set_pressure(group, true);
	use_after("on again, with a trigger", with);
	use_after("on again, without one", without);
	fresh = open_at(group_place, "memory", O_RDWR);
	say(success(write(fresh, QUIET, sizeof(QUIET))), "group, on again: a new trigger");
	say(success(rmdir(group)), "group: rmdir with open files");
	say(success(open_at(group_place, "memory", O_RDWR)), "group, removed: open");
	use_after("removed", fresh);
	mkdir(group, 0755);
	use_after("another one of that name", fresh);
	close_range(3, ~0U, 0);
}

/* ---- namespaces ---- */

static void namespaces(void)
{
	char text[512];
	int fd, ret;

	if (unshare(CLONE_NEWNS | CLONE_NEWCGROUP))
		return;
	move_to_group(CGROUP_ROOT, getpid());
	say(success(mount("proc", "/tmp", "proc", 0, "pressure=cgroup")),
	    "mount -t proc -o pressure=cgroup");
	fd = open("/proc/pressure/memory", O_RDWR);
	say(shape(text, pread(fd, text, sizeof(text), 0)), "in a cgroup namespace: read /proc");
	say(success(write(fd, GOOD, sizeof(GOOD))), "in a cgroup namespace: write /proc");
	ret = mount("cgroup2", "/tmp", "cgroup2", 0, NULL);
	fd = open("/tmp/memory.pressure", O_RDWR);
	say(ret ? error_name(errno) : success(write(fd, GOOD, sizeof(GOOD))),
	    "in a cgroup namespace: write to the root's file");
}

static void in_namespaces(enum who who, const struct place *place)
{
	if (move_to_group(group, getpid()))
		return;
	namespaces();
}

static enum psi_result ledger(void)
{
	if (have_groups())
		snprintf(group, sizeof(group), "%s", make_group(NULL, "abi"));
	files();
	if (*group)
		symbols();
	threads("without triggers");
	everywhere(each_file);
	everywhere(try_texts);
	everywhere(privileges);
	everywhere(reads);
	everywhere(writes);
	everywhere(file_calls);
	everywhere(polls);
	if (*group) {
		everywhere(tell_events);
		switch_texts();
		ends();
		as(ROOT, in_namespaces, group_place);
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-11 R-12 R-14 the ledger has been written", ledger },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
