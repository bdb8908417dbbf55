// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that users and administrators can do with pressure, all at once and at random:
 * triggers, reads, moves, clone3() into a group, groups made and removed, cgroup.pressure of
 * each of them and of the root, limits, stalls, proc mounts of containers, and CPUs that go.
 * A kernel with CONFIG_PSI_DEBUG checks its accounting meanwhile; psi_splat, which has to be
 * run after this, finds what it says.
 *
 * Each racer is a process that does one thing for ever. Where a thing can fail because of the
 * others, that is no failure; any other error is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)
#define STORM_MS	20000
#define STALL_MB	12

enum {
	TRIGGERS, READS, TOGGLES, MAKES, REMOVALS, CLONES, MOVES, LIMITS, STALLS, MOUNTS,
	HOTPLUGS, NR_DEEDS
};

static const struct deed deeds[NR_DEEDS] = {
	[TRIGGERS]	= { "triggers", { ENOENT, ENODEV, EOPNOTSUPP } },
	[READS]		= { "reads", { ENOENT, ENODEV, EOPNOTSUPP } },
	[TOGGLES]	= { "groups off and on", { ENOENT, ENODEV } },
	[MAKES]		= { "groups made", { EEXIST, ENOENT, ENOMEM } },	/* of the parent */
	[REMOVALS]	= { "groups removed", { EBUSY, ENOENT } },
	[CLONES]	= { "clones", { ENOENT, ENODEV, EBUSY, EOPNOTSUPP } },
	[MOVES]		= { "moves", { ENOENT, ENODEV, ESRCH, EBUSY, EOPNOTSUPP } },
	[LIMITS]	= { "limits", { ENOENT, ENODEV } },
	[STALLS]	= { "stalls" },
	[MOUNTS]	= { "proc mounts" },
	[HOTPLUGS]	= { "CPUs off and on", { EBUSY } },
};

/* a, a/b and a/b/c, of which the last two come and go, and d, which does, too. */
static const char *group[4];
static const char * const places[] = { "a", "a/b", "a/b/c", "d" };

static int error_if(bool failed)
{
	return failed ? -errno : 0;
}

static const char *any_group(void)
{
	return group[random_below(ARRAY_SIZE(group))];
}

static void spin_us(unsigned int us)
{
	spin_until(now_ns() + us * NSEC_PER_USEC);
}

/* ------------------------------ Files ------------------------------ */

static const char *any_pressure_file(char *path)
{
	static const char * const names[] = { "cpu", "memory", "io" };
	const char *name = names[random_below(ARRAY_SIZE(names))];

	if (!random_below(3)) {
		snprintf(path, GROUP_PATH, "/proc/pressure/%s", name);
		return path;
	}
	snprintf(path, GROUP_PATH, "%s/%s.pressure", any_group(), name);
	return path;
}

static void have_triggers(void *unused)
{
	struct pollfd p = { .events = POLLPRI };
	char path[GROUP_PATH], text[256];
	int length;

	for (;;) {
		p.fd = open(any_pressure_file(path), O_RDWR | O_NONBLOCK);
		if (p.fd < 0) {
			did(TRIGGERS, -errno);
			pause_us(2000);
			continue;
		}
		length = snprintf(text, sizeof(text), "%s %u %u", random_below(2) ? "some" : "full",
				  1000 + random_below(200000), (1 + random_below(4)) * 500000);
		if (did(TRIGGERS, error_if(write(p.fd, text, length + 1) < 0)))
			poll(&p, 1, random_below(200));
		if (random_below(2) && pread(p.fd, text, sizeof(text), 0) < 0)
			did(READS, -errno);
		close(p.fd);
	}
}

static void read_files(void *unused)
{
	static const char * const names[] = {
		"pressure.causes", "cpu.pressure", "memory.pressure", "io.pressure",
	};
	char path[GROUP_PATH], text[4096];
	ssize_t ret;

	for (;;) {
		group_file(path, any_group(), names[random_below(ARRAY_SIZE(names))]);
		ret = read_text(path, text, sizeof(text));
		did(READS, ret < 0 ? ret : 0);
		pause_us(500);
	}
}

/* ------------------------------ Groups ------------------------------ */

static void toggle(void *unused)
{
	for (;;) {
		did(TOGGLES, set_pressure(random_below(8) ? any_group() : CGROUP_ROOT,
					  random_below(2)));
		pause_us(300);
	}
}

static void make_and_remove(void *unused)
{
	const char *path;

	for (;;) {
		path = group[1 + random_below(ARRAY_SIZE(group) - 1)];
		if (random_below(2)) {
			did(REMOVALS, error_if(rmdir(path)));
		} else {
			did(MAKES, error_if(mkdir(path, 0755)));
			set_cgroup(group[0], "cgroup.subtree_control", "+cpu +memory");
			set_cgroup(group[1], "cgroup.subtree_control",
				   random_below(2) ? "+cpu" : "-cpu");
		}
		pause_us(3000);
	}
}

static void limit(void *unused)
{
	static const char * const values[] = { "2000 20000", "5000 20000", "15000 20000", "max" };
	char memory[16];

	for (;;) {
		if (random_below(2)) {
			did(LIMITS, set_cgroup(any_group(), "cpu.max",
					       values[random_below(ARRAY_SIZE(values))]));
		} else {
			snprintf(memory, sizeof(memory), "%uM", 2 + random_below(8));
			did(LIMITS, set_cgroup(any_group(), "memory.max",
					       random_below(3) ? memory : "max"));
		}
		pause_us(5000);
	}
}

/* ------------------------------ Tasks ------------------------------ */

static void __noreturn live_briefly(void)
{
	size_t size = 4 * MB;
	void *memory;

	spin_us(random_below(20000));
	if (!random_below(4)) {
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (memory != MAP_FAILED)
			memset(memory, 1, size);
	}
	_exit(0);
}

static void clone_into(void *unused)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	pid_t pid;
	int dir;

	for (;;) {
		dir = open(any_group(), O_DIRECTORY | O_RDONLY);
		if (dir < 0) {
			pause_us(1000);
			continue;
		}
		args.cgroup = dir;
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (!pid)
			live_briefly();
		did(CLONES, error_if(pid < 0));
		close(dir);
		if (pid < 0)
			continue;
		if (random_below(2))
			did(MOVES, move_to_group(any_group(), pid));
		waitpid(pid, NULL, 0);
	}
}

/* A child that does something there; it may be killed, as memory is short. */
static void in_child(unsigned int deed, void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		move_to_group(any_group(), getpid());
		fn();
		_exit(0);
	}
	did(deed, error_if(pid < 0));
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void use_more_than_there_is(void)
{
	__u64 end = now_ns() + 500 * NSEC_PER_MSEC;
	size_t size = STALL_MB * MB, i;
	char *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	while (now_ns() < end) {
		for (i = 0; i < size; i += 4096)
			memory[i]++;
		/* Each time, or the compiler adds it up. */
		asm volatile("" : : : "memory");
	}
}

static void stall(void *unused)
{
	for (;;)
		in_child(STALLS, use_more_than_there_is);
}

static void look_from_inside(void)
{
	char text[256];
	int fd;

	if (unshare(CLONE_NEWNS | (random_below(2) ? CLONE_NEWCGROUP : 0)) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/tmp", "proc", 0, random_below(2) ? "pressure=cgroup" : NULL))
		return;
	fd = open("/tmp/pressure/memory", O_RDWR);
	if (fd < 0)
		return;
	if (write(fd, "some 100000 1000000", 20) > 0)
		wait_by_poll(fd, random_below(20));
	while (read(fd, text, sizeof(text)) > 0)
		;
}

static void mount_proc(void *unused)
{
	for (;;)
		in_child(MOUNTS, look_from_inside);
}

/* ------------------------------ The system ------------------------------ */

static void all_on(void)
{
	stop_all_loads();
	set_pressure(CGROUP_ROOT, true);
	all_online();
	remove_all_groups();
}

/*
 * Two tasks want CPU 0, so one always waits. Both do only while neither runs: when the kernel's
 * own workers are on it, which may clean up after the storm for long. (Nor does one run in the
 * time of interrupts, which is not "full".)
 */
static void expect_contention(const char *where)
{
	pid_t one = start_in_group(where, 0, spin, NULL);
	pid_t other = start_in_group(where, 0, spin, NULL);
	struct psi_sample from, to;
	struct psi_share share;
	double neither;
	__u64 ran_ns;

	sleep_ms(200);
	ran_ns = task_times(one).ran_ns + task_times(other).ran_ns;
	EXPECT(!read_group(where, PSI_CPU, &from), "cannot be read");
	sleep_ms(1000);
	EXPECT(!read_group(where, PSI_CPU, &to), "cannot be read");
	ran_ns = task_times(one).ran_ns + task_times(other).ran_ns - ran_ns;

	share = psi_share(&from, &to);
	neither = 100 - ran_ns / 1e7 / share.seconds;
	psi_note("cpu some %.2f %% full %.2f %%, neither has run for %.2f %%", share.some,
		 share.full, neither);
	EXPECT(close_to(share.some, 100, 3) && share.full < neither + 3, "not the truth");
}

static enum psi_result everything_at_once(void)
{
	static void (* const racers[])(void *) = {
		have_triggers, have_triggers, read_files, toggle, make_and_remove, limit,
		clone_into, clone_into, stall, mount_proc,
	};
	unsigned int needed = DEED(NR_DEEDS) - 1;
	size_t i;

	undo_later(all_on);
	for (i = 0; i < ARRAY_SIZE(group); i++)
		group[i] = make_group(NULL, places[i]);
	REQUIRE(!enable_controller(group[0], "+cpu") && !enable_controller(group[0], "+memory"),
		"needs the cpu and the memory controller");
	begin_deeds(deeds, NR_DEEDS);
	for (i = 0; i < ARRAY_SIZE(racers); i++)
		start_load(-1, racers[i], NULL);
	if (have_hotplug())
		start_hotplug(HOTPLUGS, 200000);
	else
		needed &= ~DEED(HOTPLUGS);
	await_deeds(STORM_MS, needed);
	all_on();
	expect_deeds(needed);

	group[0] = make_group(NULL, "after");
	pin_to_cpu(online_cpus() - 1);
	expect_contention(group[0]);
	stop_all_loads();
	expect_still(group[0]);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-8 R-14 everything at once", everything_at_once },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
