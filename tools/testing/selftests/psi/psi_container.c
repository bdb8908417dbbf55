// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/pressure of a cgroup namespace: proc mounts with pressure=cgroup. It has to say
 * what the files of the namespace's group say, to take what that of the system takes, and
 * to be as ever wherever that is not asked for.
 *
 * A case puts itself into namespaces, and is in that of the system when it ends. Groups
 * are always seen through the mount of the system.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define QUIET_TRIGGER	"some 1000000 1000000"
#define EAGER_TRIGGER	"some 50000 500000"
#define SOMEBODY	1000		/* a uid without privileges */
#define PLACE		"/tmp/psi_container"
#define MAX_TEXT	2048
#define IRQ_FILE	3		/* which may be missing */

/* ---- mounts ---- */

static unsigned int nr_mounts;

static const char *mount_path(unsigned int nr)
{
	static char path[4][64];

	snprintf(path[nr % 4], sizeof(path[0]), "%s.%u", PLACE, nr);
	return path[nr % 4];
}

static void unmount_all(void)
{
	while (nr_mounts) {
		umount2(mount_path(--nr_mounts), MNT_DETACH);
		rmdir(mount_path(nr_mounts));
	}
}

/* A new proc mount; 0 or -errno. It is there until the case ends. */
static int try_mount(const char *options)
{
	const char *path = mount_path(nr_mounts);

	undo_later(unmount_all);
	mkdir(path, 0755);
	if (mount("proc", path, "proc", 0, options)) {
		int error = errno;

		rmdir(path);
		return -error;
	}
	nr_mounts++;
	return 0;
}

static const char *mount_proc(const char *options)
{
	int ret = try_mount(options);

	REQUIRE(ret != -EINVAL || !strstr(options, "pressure="), "needs pressure= of proc");
	EXPECT(!ret, "mount -o %s: %s", options, strerror(-ret));
	return mount_path(nr_mounts - 1);
}

static int remount(const char *proc, const char *options)
{
	return mount("proc", proc, "proc", MS_REMOUNT, options) ? -errno : 0;
}

/* Its options, as /proc/mounts has them. */
static const char *options_of(const char *proc)
{
	static char line[512];
	FILE *mounts = fopen("/proc/mounts", "r");
	char key[80];

	EXPECT(mounts, "no /proc/mounts");
	snprintf(key, sizeof(key), "proc %s proc ", proc);
	while (fgets(line, sizeof(line), mounts))
		if (!strncmp(line, key, strlen(key)))
			break;
	fclose(mounts);
	return line;
}

static bool has_option(const char *proc, const char *option)
{
	return strstr(options_of(proc), option);
}

/* ---- namespaces ---- */

static bool entered;

static bool groups_are_used(void)
{
	return !access(CGROUP_ROOT "/cgroup.procs", F_OK);
}

static int set_namespace(const char *path, int type)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = setns(fd, type) ? -errno : 0;
	close(fd);
	return ret;
}

static void back_to_system(void)
{
	if (!entered)
		return;
	if (set_namespace("/proc/1/ns/cgroup", CLONE_NEWCGROUP) ||
	    (groups_are_used() && move_to_group(CGROUP_ROOT, getpid())))
		psi_note("cannot go back: %s", strerror(errno));
	entered = false;
}

/* We are in a namespace that begins at @group, but in no group of it. 0 or -errno. */
static int try_enter(const char *group)
{
	int ret = move_to_group(group, getpid()), error;

	if (ret)
		return ret;
	ret = unshare(CLONE_NEWCGROUP) ? -errno : 0;
	error = move_to_group(CGROUP_ROOT, getpid());
	return ret ? ret : error;
}

static void enter(const char *group)
{
	int ret;

	undo_later(back_to_system);
	entered = true;
	ret = try_enter(group);
	EXPECT(!ret, "no namespace at %s: %s", group, strerror(-ret));
}

/* ---- files ---- */

/* Of /proc/pressure, and of a group. */
static const char * const files[][2] = {
	{ "cpu",		"cpu.pressure" },
	{ "memory",		"memory.pressure" },
	{ "io",			"io.pressure" },
	{ "irq",		"irq.pressure" },
};

static const char *pressure_file(const char *proc, const char *name)
{
	static char path[8][GROUP_PATH];
	static unsigned int next;
	char *p = path[next++ % ARRAY_SIZE(path)];

	snprintf(p, GROUP_PATH, "%s/pressure/%s", proc, name);
	return p;
}

/* A descriptor or -errno. */
static int open_in_proc(const char *proc, const char *name, int flags)
{
	return open_pressure(pressure_file(proc, name), flags);
}

static int must_open(const char *proc, const char *name, int flags)
{
	int fd = open_in_proc(proc, name, flags);

	EXPECT(fd >= 0, "cannot open %s: %s", name, strerror(-fd));
	return fd;
}

/* As a user without privileges; a descriptor or -errno. */
static int open_as_somebody(const char *proc, const char *name, int flags)
{
	int fd;

	EXPECT(!setegid(SOMEBODY) && !seteuid(SOMEBODY), "cannot be somebody");
	fd = open_in_proc(proc, name, flags);
	EXPECT(!seteuid(0) && !setegid(0), "cannot be root again");
	return fd;
}

static void expect_open(const char *proc, const char *when, int flags, int expected)
{
	int fd = open_as_somebody(proc, "cpu", flags);

	EXPECT(fd == expected || (!expected && fd >= 0), "%s: %s", when,
	       fd < 0 ? strerror(-fd) : "it is opened");
	if (fd >= 0)
		close(fd);
}

static ssize_t read_proc(const char *proc, const char *name, char *text)
{
	return read_text(pressure_file(proc, name), text, MAX_TEXT);
}

static ssize_t read_of_group(const char *group, const char *file, char *text)
{
	char path[GROUP_PATH];

	return read_text(group_file(path, group, file), text, MAX_TEXT);
}

static __u64 some_total(const char *text)
{
	const char *at = strstr(text, "total=");

	return at ? strtoull(at + 6, NULL, 10) : ~0ULL;
}

/* What the cpu files say has grown since the system booted is never 0. */
static __u64 cpu_total(const char *proc)
{
	char text[MAX_TEXT];
	ssize_t n = read_proc(proc, "cpu", text);

	EXPECT(n > 0, "cannot read %s: %s", proc, strerror(-n));
	return some_total(text);
}

static void make_system_busy(void)
{
	contend(0);
	sleep_ms(100);
	stop_all_loads();
}

static bool is_the_systems(const char *proc)
{
	__u64 before = cpu_total("/proc"), total = cpu_total(proc);

	return before <= total && total <= cpu_total("/proc");
}

/* Of a group in which nobody was but we ourselves, on the way into its namespace. */
static bool is_idle(__u64 total)
{
	return total < 10000;
}

/* A group in which nothing has ever happened, and we are in its namespace. */
static const char *enter_idle_group(void)
{
	const char *group;

	make_system_busy();
	group = make_group(NULL, "idle");
	enter(group);
	return group;
}

/* ---- the option ---- */

static enum psi_result parsing(void)
{
	static const char * const bad[] = {
		"pressure", "pressure=", "pressure=1", "pressure=cgroups", "pressure=CGROUP",
		"pressure=cgroup ", "pressure=system,pressure=x", "hidepid=2,pressure=no",
	};
	const char *proc;
	size_t i;
	int ret;

	proc = mount_proc("pressure=cgroup");
	EXPECT(has_option(proc, ",pressure=cgroup 0 0"), "%s", options_of(proc));

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = try_mount(bad[i]);
		EXPECT(ret == -EINVAL, "mount -o %s: %d", bad[i], ret);
		ret = remount(proc, bad[i]);
		EXPECT(ret == -EINVAL, "remount,%s: %d", bad[i], ret);
		EXPECT(has_option(proc, ",pressure=cgroup") && !has_option(proc, "hidepid"),
		       "%s has changed it to %s", bad[i], options_of(proc));
	}

	EXPECT(!remount(proc, "hidepid=2") && has_option(proc, ",pressure=cgroup"),
	       "lost by another option: %s", options_of(proc));
	EXPECT(!remount(proc, "pressure=system") && !has_option(proc, "pressure") &&
	       has_option(proc, ",hidepid=invisible"), "%s", options_of(proc));
	EXPECT(!remount(proc, "pressure=system,pressure=cgroup") &&
	       has_option(proc, ",pressure=cgroup"), "the last one counts: %s", options_of(proc));
	proc = mount_proc("");
	EXPECT(!has_option(proc, "pressure"), "by default: %s", options_of(proc));
	proc = mount_proc("pressure=system");
	EXPECT(!has_option(proc, "pressure"), "for the default: %s", options_of(proc));
	return PSI_PASS;
}

static enum psi_result without_files(void)
{
	const char *proc = mount_proc("hidepid=2,subset=pid,pressure=cgroup");
	struct stat st;

	EXPECT(has_option(proc, ",hidepid=invisible,subset=pid,pressure=cgroup"), "%s",
	       options_of(proc));
	enter(make_group(NULL, "g"));
	EXPECT(stat(pressure_file(proc, "cpu"), &st) && errno == ENOENT, "it is there");
	return PSI_PASS;
}

static enum psi_result side_by_side(void)
{
	const char *ours = mount_proc("pressure=cgroup");
	const char *system = mount_proc("pressure=system");
	char text[MAX_TEXT];

	enter_idle_group();
	EXPECT(is_idle(cpu_total(ours)), "with the option: %s",
	       read_proc(ours, "cpu", text) > 0 ? text : "");
	/* If /proc is not the system's either, they agree. */
	EXPECT(is_the_systems(system) && !is_idle(cpu_total(system)), "without the option");

	EXPECT(!remount(ours, "pressure=system") && !remount(system, "pressure=cgroup"),
	       "cannot remount");
	EXPECT(is_the_systems(ours), "the option taken back");
	EXPECT(is_idle(cpu_total(system)), "the option given later");
	return PSI_PASS;
}

/* ---- whose pressure ---- */

/* The namespace of the system, and one that begins at the root. */
static enum psi_result of_system(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	int fd;

	make_system_busy();
	REQUIRE(have_groups() || booted_with("cgroup_disable=pressure"), NO_GROUPS);
	EXPECT(cpu_total(proc) && is_the_systems(proc), "in the initial namespace");
	fd = must_open(proc, "cpu", O_RDWR);
	EXPECT(!write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER)), "no trigger");
	enter(CGROUP_ROOT);
	EXPECT(cpu_total(proc) && is_the_systems(proc), "in a namespace that begins at the root");
	expect_open(proc, "everybody may have triggers of the system", O_RDWR, 0);
	return PSI_PASS;
}

/* Averages do not move while nobody does anything. */
static enum psi_result idle_text(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	char ours[MAX_TEXT], groups[MAX_TEXT];
	const char *group = enter_idle_group();
	size_t i;
	ssize_t n;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		n = read_proc(proc, files[i][0], ours);
		EXPECT(n == read_of_group(group, files[i][1], groups), "%s: length %zd",
		       files[i][0], n);
		EXPECT(n < 0 || !strcmp(ours, groups), "%s: %s instead of %s", files[i][0], ours,
		       groups);
		EXPECT(n > 0 || i == IRQ_FILE, "%s: %s", files[i][0], strerror(-n));
	}
	return PSI_PASS;
}

static void expect_in_between(const char *proc, const char *group, enum psi_resource res)
{
	struct psi_sample before, ours, after;
	char text[MAX_TEXT];
	const char *wrong;
	ssize_t n;

	EXPECT(!read_group(group, res, &before), "cannot read the group's");
	n = read_proc(proc, psi_name(res), text);
	EXPECT(n > 0, "cannot read %s: %s", psi_name(res), strerror(-n));
	wrong = psi_parse(res, text, n, &ours);
	EXPECT(!wrong, "%s: %s", psi_name(res), wrong);
	EXPECT(!read_group(group, res, &after), "cannot read the group's");
	EXPECT(before.some.total <= ours.some.total && ours.some.total <= after.some.total &&
	       before.full.total <= ours.full.total && ours.full.total <= after.full.total,
	       "%s: not what the group has", psi_name(res));
}

static enum psi_result busy_text(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *group = make_group(NULL, "busy");
	__u64 ours, other;
	int i, res;

	make_system_busy();
	start_in_group(group, 0, spin, NULL);
	start_in_group(group, 0, spin, NULL);
	enter(group);
	for (i = 0; i < 20; i++) {
		sleep_ms(100);
		for (res = 0; res < nr_resources(group); res++)
			expect_in_between(proc, group, res);
	}
	ours = cpu_total(proc);
	other = cpu_total("/proc");
	EXPECT(ours > 1000000 && ours < other, "ours %llu us, the system's %llu us", ours, other);
	return PSI_PASS;
}

/* In the others there is nothing to tell them by. */
static enum psi_result by_resource(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *group = make_group(NULL, "reader"), *disk = slow_disk(20);
	char text[MAX_TEXT];
	int res;

	REQUIRE(disk, "needs null_blk with configfs");
	start_in_group(group, 0, read_disk, (void *)disk);
	enter(group);
	sleep_ms(1000);
	for (res = 0; res < nr_resources(group); res++)
		expect_in_between(proc, group, res);
	EXPECT(read_proc(proc, "io", text) > 0 && some_total(text) > 500000, "io: %s", text);
	EXPECT(read_proc(proc, "memory", text) > 0 && is_idle(some_total(text)), "memory: %s",
	       text);
	return PSI_PASS;
}

static enum psi_result nested(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *parent = make_group(NULL, "parent");
	const char *child = make_group(parent, "child");
	const char *other = make_group(parent, "other");

	start_in_group(other, 0, spin, NULL);
	start_in_group(other, 0, spin, NULL);
	sleep_ms(300);
	enter(parent);
	EXPECT(!is_idle(cpu_total(proc)), "nothing of what is below");
	enter(child);
	EXPECT(is_idle(cpu_total(proc)), "something of what is beside");
	return PSI_PASS;
}

/* Where the opener goes, makes no difference to what he has opened. */
static enum psi_result stays(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *busy = make_group(NULL, "busy");
	char text[MAX_TEXT] = "";
	int idle_fd, busy_fd;

	enter_idle_group();
	idle_fd = must_open(proc, "cpu", O_RDONLY);
	start_in_group(busy, 0, spin, NULL);
	start_in_group(busy, 0, spin, NULL);
	sleep_ms(200);
	enter(busy);
	busy_fd = must_open(proc, "cpu", O_RDONLY);
	back_to_system();
	EXPECT(!remount(proc, "pressure=system"), "cannot remount");
	EXPECT(pread(idle_fd, text, sizeof(text) - 1, 0) > 0 && is_idle(some_total(text)),
	       "the idle one's shows %s", text);
	EXPECT(pread(busy_fd, text, sizeof(text) - 1, 0) > 0 && !is_idle(some_total(text)),
	       "the busy one's shows %s", text);
	EXPECT(is_the_systems(proc), "opened later");
	return PSI_PASS;
}

/* A thread can have a namespace of its own. */
static struct {
	const char *proc, *group;
	int entered;
	int fd;
} in_thread;

static void *open_in_thread(void *unused)
{
	in_thread.entered = try_enter(in_thread.group);
	in_thread.fd = open_in_proc(in_thread.proc, "cpu", O_RDONLY);
	return NULL;
}

static enum psi_result threads(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	char text[MAX_TEXT] = "";
	pthread_t thread;

	make_system_busy();
	in_thread.proc = proc;
	in_thread.group = make_group(NULL, "idle");
	undo_later(back_to_system);
	EXPECT(!pthread_create(&thread, NULL, open_in_thread, NULL) &&
	       !pthread_join(thread, NULL), "no thread");
	EXPECT(!in_thread.entered && in_thread.fd >= 0, "no namespace, or no file of it");
	EXPECT(pread(in_thread.fd, text, sizeof(text) - 1, 0) > 0 && is_idle(some_total(text)),
	       "the thread's shows %s", text);
	EXPECT(is_the_systems(proc), "the other one's");
	return PSI_PASS;
}

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

/* Then there is one, and to ask for another tells that. */
static void attempt(int fd, const struct attempt *a, int *result)
{
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

#define NR_RESULTS	7

static int open_as(const char *path, const struct attempt *a)
{
	return a->privileged ? open_pressure(path, O_RDWR) : open_unprivileged(path, O_RDWR);
}

/* Each answer is that of the system's file, and some are known. */
static enum psi_result errnos(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	int ours[NR_RESULTS], systems[NR_RESULTS];
	bool busy = false, refused = false;
	size_t i, j;

	memset(long_text, 'x', sizeof(long_text));
	memcpy(long_text, QUIET_TRIGGER, sizeof(QUIET_TRIGGER) - 1);
	enter_idle_group();
	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		attempt(open_as(pressure_file(proc, "memory"), &attempts[i]), &attempts[i], ours);
		attempt(open_as(psi_path(PSI_MEMORY), &attempts[i]), &attempts[i], systems);
		for (j = 0; j < NR_RESULTS; j++)
			EXPECT(ours[j] == systems[j], "attempt %zu, %zu: %d instead of %d", i, j,
			       ours[j], systems[j]);
		busy |= !ours[0] && ours[1] == -EBUSY && !ours[5];
		refused |= ours[0] == -EINVAL && !ours[1] && ours[2] == -EBUSY;
	}
	EXPECT(busy && refused, "nothing was accepted, or refused");

	return PSI_PASS;
}

static int (* const ways[])(int fd, int ms) = {
	wait_by_poll, wait_by_epoll, wait_by_select,
};

static enum psi_result events(void)
{
	const char *proc = mount_proc("pressure=cgroup");
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
	start_in_group(other, 0, spin, NULL);
	start_in_group(other, 0, spin, NULL);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		got = ways[i](fds[i], 700);
		EXPECT(!got, "way %zu: %x for what others do", i, got);
	}
	start_in_group(group, 0, spin, NULL);
	start_in_group(group, 0, spin, NULL);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		got = ways[i](fds[i], 3000);
		EXPECT((got & (POLLPRI | POLLERR)) == POLLPRI, "way %zu: %x", i, got);
	}
	return PSI_PASS;
}

/* ---- permissions ---- */

/* Whatever those of the group's own file are. */
static enum psi_result permissions(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *group = enter_idle_group();
	char path[GROUP_PATH];
	int fd;

	EXPECT(!chmod(group_file(path, group, "cpu.pressure"), 0600) && !chmod(group, 0700),
	       "chmod: %s", strerror(errno));
	expect_open(proc, "to read", O_RDONLY, 0);
	expect_open(proc, "only to write", O_WRONLY, 0);
	expect_open(proc, "as a shell does", O_WRONLY | O_CREAT | O_TRUNC, 0);

	fd = open_as_somebody(proc, "cpu", O_RDWR);
	EXPECT(write_trigger(fd, "some 1000 100000", 17) == -EINVAL,
	       "root writes to a file of somebody, and the opener's privilege counts");
	EXPECT(!write_trigger(fd, "some 1000 500000", 17), "no trigger for somebody");
	return PSI_PASS;
}

/* What went wrong, by a child of the case, as it cannot end the case. */
static struct report {
	char text[128];
	bool done;
} *report;

#define REPORT_UNLESS(condition, ...)						\
	do {									\
		if (!(condition)) {						\
			snprintf(report->text, sizeof(report->text), __VA_ARGS__); \
			_exit(1);						\
		}								\
	} while (0)

/* The first process of a pid namespace of somebody's own. */
static void be_container(void *unused)
{
	char text[MAX_TEXT];
	int fd;

	REPORT_UNLESS(!mount("proc", "/tmp", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			     "pressure=cgroup"), "mount: %s", strerror(errno));
	REPORT_UNLESS(read_text("/tmp/pressure/cpu", text, sizeof(text)) > 0 &&
		      some_total(text) < 50000, "it reads %.60s", text);
	fd = open("/tmp/pressure/cpu", O_RDWR);
	REPORT_UNLESS(fd >= 0, "opened to write: %s", strerror(errno));
	REPORT_UNLESS(write_trigger(fd, "some 1000 100000", 17) == -EINVAL &&
		      !write_trigger(fd, "some 1000 500000", 17), "root of its namespace only");
	report->done = true;
	_exit(0);
}

static enum psi_result user_namespace(void)
{
	const char *group;
	pid_t pid;
	int status;

	mount_proc("pressure=cgroup");
	report = shared_alloc(sizeof(*report));
	group = enter_idle_group();
	pid = fork();
	if (!pid) {
		/* It is in the group from now on, and hardly ever waits for others. */
		REPORT_UNLESS(!move_to_group(group, getpid()), "cannot move");
		REPORT_UNLESS(!setgid(SOMEBODY) && !setuid(SOMEBODY), "cannot be somebody");
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWCGROUP))
			_exit(errno == EINVAL || errno == EPERM ? KSFT_SKIP : 1);
		pid = fork();
		if (!pid)
			be_container(NULL);
		waitpid(pid, &status, 0);
		_exit(status ? 1 : 0);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
	REQUIRE(!WIFEXITED(status) || WEXITSTATUS(status) != KSFT_SKIP, "needs user namespaces");
	EXPECT(report->done, "%s", *report->text ? report->text : "it has died");
	return PSI_PASS;
}

/* May read and write below @proc, and nothing else. */
static void be_sandboxed(const char *proc)
{
	struct landlock_ruleset_attr rules = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
	};
	struct landlock_path_beneath_attr below = {
		.allowed_access = rules.handled_access_fs,
		.parent_fd = open(proc, O_PATH | O_CLOEXEC),
	};
	int set = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0), fd;

	REPORT_UNLESS(below.parent_fd >= 0 && set >= 0 &&
		      !syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &below, 0) &&
		      !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		      !syscall(SYS_landlock_restrict_self, set, 0), "sandbox: %s", strerror(errno));
	fd = open("/proc/pressure/cpu", O_RDONLY);
	REPORT_UNLESS(fd < 0 && errno == EACCES, "it is no sandbox");
	fd = open_in_proc(proc, "cpu", O_RDWR);
	REPORT_UNLESS(fd >= 0, "%s", strerror(-fd));
	report->done = true;
	_exit(0);
}

/* Neither Landlock nor AppArmor let anybody open what no mount of his leads to. */
static enum psi_result sandboxed(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	int status;
	pid_t pid;

	REQUIRE(syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0,
		"needs Landlock");
	report = shared_alloc(sizeof(*report));
	enter_idle_group();
	pid = fork();
	if (!pid)
		be_sandboxed(proc);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
	EXPECT(report->done, "%s", *report->text ? report->text : "it has died");
	return PSI_PASS;
}

/* ---- there is nothing to show ---- */

static void expect_errno(const char *proc, const char *when, int expected)
{
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		fd = open_in_proc(proc, files[i][0], O_RDONLY);
		if (fd == -ENOENT && i == IRQ_FILE)
			continue;
		EXPECT(fd == expected || (!expected && fd >= 0), "%s: %s: %s", when, files[i][0],
		       fd < 0 ? strerror(-fd) : "it is opened");
		if (fd >= 0)
			close(fd);
	}
}

static enum psi_result group_removed(void)
{
	const char *proc = mount_proc("pressure=cgroup");
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
	return PSI_PASS;
}

static enum psi_result group_off(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *parent = make_group(NULL, "parent");
	const char *group = make_group(parent, "g");
	int ret;

	enter(group);
	EXPECT(!set_pressure(parent, false), "cannot switch");
	expect_errno(proc, "the one above is off", 0);
	EXPECT(!set_pressure(group, false), "cannot switch");
	expect_errno(proc, "off", -EOPNOTSUPP);
	ret = open_in_proc(proc, "cpu", O_WRONLY | O_CREAT | O_TRUNC);
	EXPECT(ret == -EOPNOTSUPP, "off, by a shell: %d", ret);
	EXPECT(!set_pressure(group, true), "cannot switch");
	expect_errno(proc, "on again", 0);
	EXPECT(!set_pressure(group, false) && !remove_group(group), "cannot be removed");
	expect_errno(proc, "off, and removed", -ENODEV);
	return PSI_PASS;
}

/* A namespace of a group that has no pressure, or of a hierarchy that is not in use. */
static enum psi_result not_accounted(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	bool used = groups_are_used();

	REQUIRE(!access("/proc/pressure", F_OK), "needs psi=1");
	REQUIRE(!used || booted_with("cgroup_disable=pressure"),
		"needs cgroup_disable=pressure, or no cgroup2");
	undo_later(back_to_system);
	if (used) {
		mkdir(CGROUP_ROOT "/psi_container", 0755);
		enter(CGROUP_ROOT "/psi_container");
	} else {
		entered = !unshare(CLONE_NEWCGROUP);
		EXPECT(entered, "no namespace");
	}
	expect_errno(proc, "not accounted", -EOPNOTSUPP);
	EXPECT(cpu_total("/proc") < ~0ULL, "the system's");
	back_to_system();
	if (used)
		rmdir(CGROUP_ROOT "/psi_container");
	EXPECT(is_the_systems(proc), "in the initial namespace");
	return PSI_PASS;
}

/* psi=0: no files, and the option changes nothing. */
static enum psi_result without_psi(void)
{
	const char *proc;
	struct stat st;

	REQUIRE(access("/proc/pressure", F_OK), "needs psi=0");
	proc = mount_proc("pressure=cgroup");
	EXPECT(stat(pressure_file(proc, "cpu"), &st) && errno == ENOENT, "it is there");
	return PSI_PASS;
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
		EXPECT(!set_pressure(e.group, true), "cannot switch");
		EXPECT(read(fd, text, 10) < 0 && errno == ENODEV, "it lives again");
		EXPECT(read_proc(proc, "cpu", text) > 0, "cannot be opened anew");
		EXPECT(!remove_group(e.group), "cannot be removed");
	}
	close(fd);
	close(reader);
	close(at_end);
}

static enum psi_result end_is_told(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		expect_end(proc, i, true);
		expect_end(proc, i, false);
	}
	return PSI_PASS;
}

/* ---- what is left ---- */

#define MANY_OPENS	(20000 / psi_slowness())
/* Each CPU may know of so many that the sum does not know of yet. */
#define FILES_OF_CPU	32
#define MANY_GROUPS	100

/* What the kernel counts, by the first number after @key. */
struct count {
	const char *what, *path, *key;
	long more;		/* than before that is as good */
	long before;
};

static struct count counts[] = {
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

	EXPECT(read_text(c->path, text, sizeof(text)) > 0, "no %s", c->path);
	at = strstr(text, c->key);
	EXPECT(at, "no %s in %s", c->key, c->path);
	return atol(at + strlen(c->key));
}

static void count_before(void)
{
	size_t i;

	sleep_ms(500);
	write_text("/proc/sys/vm/drop_caches", "2");
	for (i = 0; i < NR_COUNTS; i++)
		counts[i].before = count_now(&counts[i]);
}

/* Much goes by way of RCU and of workers. */
static void expect_counts(const char *when)
{
	long more = 0;
	size_t i;
	int tries;

	for (i = 0; i < NR_COUNTS; i++) {
		for (tries = 0; tries < 50; tries++) {
			write_text("/proc/sys/vm/drop_caches", "2");
			more = count_now(&counts[i]) - counts[i].before;
			if (more <= counts[i].more)
				break;
			sleep_ms(100);
		}
		EXPECT(more <= counts[i].more, "%s: %ld more %s", when, more, counts[i].what);
	}
}

/* All of the files, by turns. */
static void open_often(const char *proc, int times, int expected)
{
	int i, fd;

	for (i = 0; i < times; i++) {
		fd = open_in_proc(proc, files[i % IRQ_FILE][0], O_RDWR);
		EXPECT(fd == expected || (!expected && fd >= 0), "%s: %s",
		       files[i % IRQ_FILE][0], fd < 0 ? strerror(-fd) : "it is opened");
		if (fd >= 0)
			close(fd);
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

static enum psi_result nothing_is_left(void)
{
	const char *proc = mount_proc("pressure=cgroup");
	const char *group = make_group(NULL, "often");
	int i;

	come_and_go(proc);
	enter(group);
	open_often(proc, 1000, 0);
	count_before();
	open_often(proc, MANY_OPENS, 0);
	expect_counts("opened often");

	EXPECT(!set_pressure(group, false), "cannot switch");
	open_often(proc, MANY_OPENS, -EOPNOTSUPP);
	expect_counts("not opened as often");
	back_to_system();

	count_before();
	for (i = 0; i < MANY_GROUPS; i++)
		come_and_go(proc);
	expect_counts("groups come and go");
	return PSI_PASS;
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

static struct race {
	const char *proc;
	const char *group[NR_GROUPS];
} *race;

static int or_errno(ssize_t ret)
{
	return ret < 0 ? -errno : 0;
}

static const char *any_group(void)
{
	return race->group[random_below(NR_GROUPS)];
}

static int open_file(const char *name)
{
	char path[GROUP_PATH];
	int fd;

	snprintf(path, sizeof(path), "%s/pressure/%s", race->proc, name);
	fd = open(path, O_RDWR);
	return fd < 0 ? -errno : fd;
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
			fd = open_file(files[random_below(3)][0]);
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
		did(ENTERS, try_enter(race->group[0]));
		reader = open_file("memory");
		fd = open_file("cpu");
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
		group = race->group[random_below(50) ? 1 + random_below(NR_GROUPS - 1) : 0];
		did(TOGGLES, set_pressure(group, false));
		pause_us(1000);
		did(TOGGLES, set_pressure(group, true));
		pause_us(5000);
	}
}

static void remount_it(void *unused)
{
	for (;;) {
		did(REMOUNTS, remount(race->proc, "pressure=system"));
		pause_us(1000);
		did(REMOUNTS, remount(race->proc, "pressure=cgroup"));
		pause_us(20000);
	}
}

/* The first group stays, and has something to tell. */
static enum psi_result amid_everything(void)
{
	static const char * const names[NR_GROUPS] = { "a", "b", "c", "d" };
	const char *top = top_group(), *proc = mount_proc("pressure=cgroup");
	unsigned int i;

	begin_deeds(deeds, NR_DEEDS);
	race = shared_alloc(sizeof(*race));
	race->proc = proc;
	for (i = 0; i < NR_GROUPS; i++)
		race->group[i] = make_group(top, names[i]);
	start_in_group(race->group[0], 0, spin, NULL);
	start_in_group(race->group[0], 0, spin, NULL);
	for (i = 0; i < 4; i++)
		start_load(-1, contain, i % 2 ? race : NULL);
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
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-14 proc's pressure=: what it takes, remount, /proc/mounts", parsing },
	{ "R-14 no /proc/pressure with subset=pid", without_files },
	{ "R-14 proc mounts with and without pressure=cgroup side by side", side_by_side },
	{ "R-11 R-14 the system's pressure where no namespace is", of_system },
	{ "R-11 R-14 an idle container's text is its group's, to the byte", idle_text },
	{ "R-11 R-14 a busy container's totals are its group's", busy_text },
	{ "R-11 R-14 each file of a container is of its resource", by_resource },
	{ "R-14 namespaces in namespaces", nested },
	{ "R-14 an open file of a container keeps its group", stays },
	{ "R-14 threads in namespaces of their own", threads },
	{ "R-12 R-14 a container's file takes triggers as the system's does", errnos },
	{ "R-12 R-14 a container's triggers tell of its group alone", events },
	{ "R-14 a container's file is everybody's, as the system's", permissions },
	{ "R-14 a sandbox that leaves /proc leaves a container's pressure", sandboxed },
	{ "R-14 pressure=cgroup in somebody's own user namespace", user_namespace },
	{ "R-14 ENODEV if a container's group was removed", group_removed },
	{ "R-14 EOPNOTSUPP if a container's group is off", group_off },
	{ "R-14 EOPNOTSUPP where no group is accounted", not_accounted },
	{ "R-10 pressure=cgroup makes no files with psi=0", without_psi },
	{ "R-12 R-14 a container is told of the end of its group", end_is_told },
	{ "R-14 nothing is left of a container and its files", nothing_is_left },
	{ "R-14 containers against everything", amid_everything },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
