// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/pressure of a cgroup namespace: proc mounts with pressure=cgroup. It has to say
 * what the files of the namespace's group say, to all processes that see it, and to be as ever
 * wherever that is not asked for. Its triggers are in psi_container_gone.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_container_util.h"

#define SOMEBODY	1000		/* a uid without privileges */

/* ---- the option ---- */

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

static void parsing(const char *proc)
{
	static const char * const bad[] = {
		"pressure", "pressure=", "pressure=1", "pressure=cgroups", "pressure=CGROUP",
		"pressure=cgroup ", "pressure=system,pressure=x", "hidepid=2,pressure=no",
	};
	size_t i;
	int ret;

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
}

static enum psi_result without_files(void)
{
	const char *proc = mount_proc("hidepid=2,subset=pid,pressure=cgroup");

	EXPECT(has_option(proc, ",hidepid=invisible,subset=pid,pressure=cgroup"), "%s",
	       options_of(proc));
	enter(make_group(NULL, "g"));
	EXPECT(access(pressure_file(proc, "cpu"), F_OK) && errno == ENOENT, "it is there");
	return PSI_PASS;
}

static void side_by_side(const char *ours)
{
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
}

/* ---- permissions ---- */

/* As a user without privileges; a descriptor or -errno. */
static int open_as_somebody(const char *proc, int flags)
{
	int fd;

	EXPECT(!setegid(SOMEBODY) && !seteuid(SOMEBODY), "cannot be somebody");
	fd = open_in_proc(proc, "cpu", flags);
	EXPECT(!seteuid(0) && !setegid(0), "cannot be root again");
	return fd;
}

/* Everybody may open it, whatever the mode of the group's own file is. */
static void permissions(const char *proc)
{
	const char *group = enter_idle_group();
	char path[GROUP_PATH];
	int fd;

	EXPECT(!chmod(group_file(path, group, "cpu.pressure"), 0600) && !chmod(group, 0700),
	       "chmod: %s", strerror(errno));
	expect_opened(open_as_somebody(proc, O_RDONLY), 0, "to read");
	expect_opened(open_as_somebody(proc, O_WRONLY), 0, "only to write");
	expect_opened(open_as_somebody(proc, O_WRONLY | O_CREAT | O_TRUNC), 0, "as a shell does");

	fd = open_as_somebody(proc, O_RDWR);
	EXPECT(write_trigger(fd, "some 1000 100000", 17) == -EINVAL,
	       "root writes to a file of somebody, and the opener's privilege counts");
	EXPECT(!write_trigger(fd, "some 1000 500000", 17), "no trigger for somebody");
}

/* What went wrong, by a child of the case, as it cannot end the case. */
static struct report {
	char text[128];
	bool done, skip;
} *report;

#define REPORT_UNLESS(condition, ...)						\
	do {									\
		if (!(condition)) {						\
			snprintf(report->text, sizeof(report->text), __VA_ARGS__); \
			_exit(1);						\
		}								\
	} while (0)

/* The child runs @fn, and reports. It is in the namespace of an idle group. */
static void expect_report(void (*fn)(const char *proc, const char *group), const char *proc)
{
	const char *group;
	int status;
	pid_t pid;

	report = shared_alloc(sizeof(*report));
	group = enter_idle_group();
	pid = fork();
	if (!pid) {
		fn(proc, group);
		_exit(0);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
	REQUIRE(!report->skip, "needs user namespaces");
	EXPECT(report->done, "%s", *report->text ? report->text : "it has died");
}

/* The first process of a pid namespace of somebody's own. */
static void be_container(void)
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

static void make_container(const char *proc, const char *group)
{
	pid_t pid;

	/* It is in the group from now on, and hardly ever waits for others. */
	REPORT_UNLESS(!move_to_group(group, getpid()), "cannot move");
	REPORT_UNLESS(!setgid(SOMEBODY) && !setuid(SOMEBODY), "cannot be somebody");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWCGROUP)) {
		report->skip = errno == EINVAL || errno == EPERM;
		return;
	}
	pid = fork();
	if (!pid)
		be_container();
	waitpid(pid, NULL, 0);
}

static void user_namespace(const char *proc)
{
	expect_report(make_container, proc);
}

/* May read and write below @proc, and nothing else. */
static void be_sandboxed(const char *proc, const char *group)
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
}

/* Landlock and AppArmor keep a process from opening what none of its mounts leads to. */
static void sandboxed(const char *proc)
{
	REQUIRE(syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0,
		"needs Landlock");
	expect_report(be_sandboxed, proc);
}

/* ---- whose pressure ---- */

/* The namespace of the system, and one that begins at the root. */
static void of_system(const char *proc)
{
	int fd;

	make_system_busy();
	REQUIRE(have_groups() || booted_with("cgroup_disable=pressure"), NO_GROUPS);
	EXPECT(cpu_total(proc) && is_the_systems(proc), "in the initial namespace");
	fd = must_open(proc, "cpu", O_RDWR);
	EXPECT(!write_trigger(fd, QUIET_TRIGGER, sizeof(QUIET_TRIGGER)), "no trigger");
	enter(CGROUP_ROOT);
	EXPECT(cpu_total(proc) && is_the_systems(proc), "in a namespace that begins at the root");
	expect_opened(open_as_somebody(proc, O_RDWR), 0, "somebody's trigger of the system");
}

/* Averages do not move while nobody does anything. */
static void idle_text(const char *proc)
{
	char ours[MAX_TEXT], groups[MAX_TEXT], path[GROUP_PATH];
	const char *group = enter_idle_group(), *name;
	ssize_t n;
	int res;

	for (res = 0; res < PSI_NR_RESOURCES; res++) {
		name = psi_name(res);
		snprintf(path, sizeof(path), "%s/%s.pressure", group, name);
		n = read_proc(proc, name, ours);
		EXPECT(n == read_text(path, groups, MAX_TEXT), "%s: length %zd", name, n);
		EXPECT(n < 0 || !strcmp(ours, groups), "%s: %s instead of %s", name, ours, groups);
		EXPECT(n > 0 || res == PSI_IRQ, "%s: %s", name, strerror(-n));
	}
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

static void expect_all_in_between(const char *proc, const char *group)
{
	int res;

	for (res = 0; res < nr_resources(group); res++)
		expect_in_between(proc, group, res);
}

static void busy_text(const char *proc)
{
	const char *group = make_group(NULL, "busy");
	__u64 ours, other;
	int i;

	make_system_busy();
	start_spinners(group, 2);
	enter(group);
	for (i = 0; i < 20; i++) {
		sleep_ms(100);
		expect_all_in_between(proc, group);
	}
	ours = cpu_total(proc);
	other = cpu_total("/proc");
	EXPECT(ours > 1000000 && ours < other, "ours %llu us, the system's %llu us", ours, other);
}

/* In the others there is nothing to tell them by. */
static void by_resource(const char *proc)
{
	const char *group = make_group(NULL, "reader"), *disk = slow_disk(20);
	char text[MAX_TEXT];

	REQUIRE(disk, "needs null_blk with configfs");
	start_in_group(group, 0, read_disk, (void *)disk);
	enter(group);
	sleep_ms(1000);
	expect_all_in_between(proc, group);
	EXPECT(read_proc(proc, "io", text) > 0 && some_total(text) > 500000, "io: %s", text);
	EXPECT(read_proc(proc, "memory", text) > 0 && is_idle(some_total(text)), "memory: %s",
	       text);
}

static void nested(const char *proc)
{
	const char *parent = make_group(NULL, "parent");
	const char *child = make_group(parent, "child");

	start_spinners(make_group(parent, "other"), 2);
	sleep_ms(300);
	enter(parent);
	EXPECT(!is_idle(cpu_total(proc)), "nothing of what is below");
	enter(child);
	EXPECT(is_idle(cpu_total(proc)), "something of what is beside");
}

/* What @fd shows is that of an idle group, or of one that is not. */
static void expect_idle(int fd, bool idle, const char *whose)
{
	char text[MAX_TEXT] = "";

	EXPECT(pread(fd, text, sizeof(text) - 1, 0) > 0 && is_idle(some_total(text)) == idle,
	       "%s shows %s", whose, text);
}

/* A file stays as it is wherever its opener goes. */
static void stays(const char *proc)
{
	const char *busy = make_group(NULL, "busy");
	int idle_fd, busy_fd;

	enter_idle_group();
	idle_fd = must_open(proc, "cpu", O_RDONLY);
	start_spinners(busy, 2);
	sleep_ms(200);
	enter(busy);
	busy_fd = must_open(proc, "cpu", O_RDONLY);
	back_to_system();
	EXPECT(!remount(proc, "pressure=system"), "cannot remount");
	expect_idle(idle_fd, true, "the idle one's");
	expect_idle(busy_fd, false, "the busy one's");
	EXPECT(is_the_systems(proc), "opened later");
}

/* A thread can have a namespace of its own. */
static const char *thread_group;
static int thread_fd;

static void *open_in_thread(void *proc)
{
	thread_fd = try_enter(thread_group);
	if (!thread_fd)
		thread_fd = open_in_proc(proc, "cpu", O_RDONLY);
	return NULL;
}

static void threads(const char *proc)
{
	pthread_t thread;

	make_system_busy();
	thread_group = make_group(NULL, "idle");
	undo_later(back_to_system);
	EXPECT(!pthread_create(&thread, NULL, open_in_thread, (void *)proc) &&
	       !pthread_join(thread, NULL), "no thread");
	EXPECT(thread_fd >= 0, "no namespace, or no file of it");
	expect_idle(thread_fd, true, "the thread's");
	EXPECT(is_the_systems(proc), "the other one's");
}

static const struct psi_case cases[] = {
	{ "R-14 proc's pressure=: what it takes, remount, /proc/mounts", CONTAINER(parsing) },
	{ "R-14 no /proc/pressure with subset=pid", without_files },
	{ "R-14 proc mounts with and without pressure=cgroup side by side",
	  CONTAINER(side_by_side) },
	{ "R-11 R-14 the system's pressure where no namespace is", CONTAINER(of_system) },
	{ "R-11 R-14 an idle container's text is its group's, to the byte", CONTAINER(idle_text) },
	{ "R-11 R-14 a busy container's totals are its group's", CONTAINER(busy_text) },
	{ "R-11 R-14 each file of a container is of its resource", CONTAINER(by_resource) },
	{ "R-14 namespaces in namespaces", CONTAINER(nested) },
	{ "R-14 an open file of a container keeps its group", CONTAINER(stays) },
	{ "R-14 threads in namespaces of their own", CONTAINER(threads) },
	{ "R-14 a container's file is everybody's, as the system's", CONTAINER(permissions) },
	{ "R-14 a sandbox that leaves /proc leaves a container's pressure", CONTAINER(sandboxed) },
	{ "R-14 pressure=cgroup in somebody's own user namespace", CONTAINER(user_namespace) },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
