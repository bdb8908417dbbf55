// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of containers share. See psi_container_util.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_container_util.h"

#define PLACE		"/tmp/psi_container."

/* ---- mounts ---- */

static char mounts[8][sizeof(PLACE) + 4];
static unsigned int nr_mounts;

static void unmount_all(void)
{
	while (nr_mounts) {
		umount2(mounts[--nr_mounts], MNT_DETACH);
		rmdir(mounts[nr_mounts]);
	}
}

int try_mount(const char *options)
{
	char *path = mounts[nr_mounts];
	int ret;

	EXPECT(nr_mounts < ARRAY_SIZE(mounts), "too many mounts");
	undo_later(unmount_all);
	snprintf(path, sizeof(mounts[0]), PLACE "%u", nr_mounts);
	mkdir(path, 0755);
	ret = mount("proc", path, "proc", 0, options) ? -errno : 0;
	if (ret)
		rmdir(path);
	else
		nr_mounts++;
	return ret;
}

const char *mount_proc(const char *options)
{
	int ret = try_mount(options);

	REQUIRE(ret != -EINVAL || !strstr(options, "pressure="), "needs pressure= of proc");
	EXPECT(!ret, "mount -o %s: %s", options, strerror(-ret));
	return mounts[nr_mounts - 1];
}

int remount(const char *proc, const char *options)
{
	return mount("proc", proc, "proc", MS_REMOUNT, options) ? -errno : 0;
}

/* ---- namespaces ---- */

static bool entered;

bool groups_are_used(void)
{
	return !access(CGROUP_ROOT "/cgroup.procs", F_OK);
}

void back_to_system(void)
{
	int fd;

	if (!entered)
		return;
	fd = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWCGROUP) ||
	    (groups_are_used() && move_to_group(CGROUP_ROOT, getpid())))
		psi_note("cannot go back: %s", strerror(errno));
	close(fd);
	entered = false;
}

int try_enter(const char *group)
{
	int ret = group ? move_to_group(group, getpid()) : 0, error = 0;

	if (ret)
		return ret;
	ret = unshare(CLONE_NEWCGROUP) ? -errno : 0;
	if (group)
		error = move_to_group(CGROUP_ROOT, getpid());
	return ret ? ret : error;
}

void enter(const char *group)
{
	int ret;

	undo_later(back_to_system);
	entered = true;
	ret = try_enter(group);
	EXPECT(!ret, "no namespace at %s: %s", group ?: "a group", strerror(-ret));
}

const char *enter_idle_group(void)
{
	const char *group;

	make_system_busy();
	group = make_group(NULL, "idle");
	enter(group);
	return group;
}

/* ---- files ---- */

const char *pressure_file(const char *proc, const char *name)
{
	static char path[GROUP_PATH];

	snprintf(path, sizeof(path), "%s/pressure/%s", proc, name);
	return path;
}

int open_in_proc(const char *proc, const char *name, int flags)
{
	return open_pressure(pressure_file(proc, name), flags);
}

int must_open(const char *proc, const char *name, int flags)
{
	int fd = open_in_proc(proc, name, flags);

	EXPECT(fd >= 0, "cannot open %s: %s", name, strerror(-fd));
	return fd;
}

void expect_opened(int fd, int expected, const char *format, ...)
{
	char when[128];
	va_list args;

	va_start(args, format);
	vsnprintf(when, sizeof(when), format, args);
	va_end(args);
	EXPECT(fd == expected || (!expected && fd >= 0), "%s: %s", when,
	       fd < 0 ? strerror(-fd) : "it is opened");
	if (fd >= 0)
		close(fd);
}

ssize_t read_proc(const char *proc, const char *name, char *text)
{
	return read_text(pressure_file(proc, name), text, MAX_TEXT);
}

__u64 some_total(const char *text)
{
	const char *at = strstr(text, "total=");

	return at ? strtoull(at + 6, NULL, 10) : ~0ULL;
}

/* What the cpu files say has grown since the system booted is never 0. */
__u64 cpu_total(const char *proc)
{
	char text[MAX_TEXT];
	ssize_t n = read_proc(proc, "cpu", text);

	EXPECT(n > 0, "cannot read %s: %s", proc, strerror(-n));
	return some_total(text);
}

void make_system_busy(void)
{
	contend(0);
	sleep_ms(100);
	stop_all_loads();
}

bool is_the_systems(const char *proc)
{
	__u64 before = cpu_total("/proc"), total = cpu_total(proc);

	return before <= total && total <= cpu_total("/proc");
}

bool is_idle(__u64 total)
{
	return total < 10000;
}

enum psi_result run_container_case(const void *container_case)
{
	const struct container_case *c = container_case;

	c->run(mount_proc("pressure=cgroup"));
	return PSI_PASS;
}
