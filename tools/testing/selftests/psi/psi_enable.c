// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.psi switches accounting on and off while the system runs. What is there at
 * that moment, tasks and sections of stalls, groups and limits, files and those who wait for
 * them, has to be as if it had always been on, or off.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)
#define TRIGGER		"some 1000000 2000000"

static bool is_on(void)
{
	char text[16] = "";

	read_text(KERNEL_PSI, text, sizeof(text));
	return atoi(text);
}

static bool was_on;

static void restore(void)
{
	write_text(KERNEL_PSI, "%d", was_on);
}

static void set_psi(bool on)
{
	int ret = write_text(KERNEL_PSI, "%d", on);

	EXPECT(!ret, "kernel.psi = %d: %s", on, strerror(-ret));
	EXPECT(is_on() == on, "kernel.psi is %d", is_on());
}

/* Every case begins like this. */
static void prepare(bool on)
{
	REQUIRE(!access(KERNEL_PSI, F_OK), "needs kernel.psi");
	was_on = is_on();
	undo_later(restore);
	set_psi(on);
}

/* Groups are made while it is on, because otherwise it is thought that there are none. */
static const char *prepare_group(const char *name)
{
	prepare(true);
	return make_group(NULL, name);
}

/* ---- the knob ---- */

static enum psi_result bad_values(void)
{
	static const char * const bad[] = { "2", "-1", "x", "1x", "4294967297", "0.5" };
	bool on;
	size_t i;
	int ret;

	prepare(false);
	for (on = false;; on = true) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			ret = write_text(KERNEL_PSI, "%s", bad[i]);
			EXPECT(ret == -EINVAL, "\"%s\": %s", bad[i], strerror(-ret));
			EXPECT(is_on() == on, "\"%s\" has changed it", bad[i]);
		}
		if (on)
			return PSI_PASS;
		set_psi(true);
	}
}

/* In a process of its own. */
static void write_without_privilege(void *result)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	atomic_int *ret = result;

	syscall(SYS_capget, &header, data);
	data[0].effective &= ~(1U << CAP_SYS_ADMIN);
	syscall(SYS_capset, &header, data);
	*ret = write_text(KERNEL_PSI, "1");
	if (setresuid(65534, 65534, 65534))
		return;
	ret[1] = write_text(KERNEL_PSI, "1");
	ret[2] = is_on() ? 2 : 1;
	for (;;)
		sleep_ms(1000);
}

static enum psi_result needs_privilege(void)
{
	atomic_int *ret = shared_alloc(3 * sizeof(*ret));

	prepare(false);
	start_load(-1, write_without_privilege, ret);
	wait_until(ret[2], 5000);
	EXPECT(ret[0] == -EPERM, "root without CAP_SYS_ADMIN: %s", strerror(-ret[0]));
	EXPECT(ret[1] == -EACCES, "nobody: %s", strerror(-ret[1]));
	EXPECT(ret[2] == 1 && !is_on(), "it is on");
	return PSI_PASS;
}

/* ---- files ---- */

static const char * const group_files[] = {
	"io.pressure", "memory.pressure", "cpu.pressure", "cgroup.pressure",
	"pressure.causes",
};

static void expect_files(const char *group, bool on)
{
	char path[GROUP_PATH];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(group_files); i++) {
		group_file(path, group, group_files[i]);
		EXPECT(!access(path, F_OK) == on, "%s is %s", path, on ? "missing" : "there");
	}
}

static void expect_pressure(const char *group)
{
	struct psi_sample sample;
	int res;

	for (res = 0; res < PSI_IRQ; res++)
		EXPECT(!psi_read(res, &sample) && !read_group(group, res, &sample),
		       "%s cannot be read", psi_name(res));
}

#define ROUNDS	3

/* In each round a group is made while it is off, and another one in that while it is on. */
static enum psi_result files_come_and_go(void)
{
	const char *group[2 + 2 * ROUNDS];
	char name[16];
	int nr = 0, round, i;

	group[nr++] = prepare_group("old");
	group[nr++] = make_group(group[0], "inner");
	for (round = 0; round < ROUNDS; round++) {
		set_psi(false);
		EXPECT(access("/proc/pressure", F_OK), "/proc/pressure is there");
		snprintf(name, sizeof(name), "off%d", round);
		group[nr++] = make_group(group[1], name);
		for (i = 0; i < nr; i++)
			expect_files(group[i], false);

		set_psi(true);
		EXPECT(!access(CGROUP_ROOT "/cpu.pressure", F_OK), "the root has none");
		group[nr] = make_group(group[nr - 1], "on");
		nr++;
		for (i = 0; i < nr; i++) {
			expect_files(group[i], true);
			expect_pressure(group[i]);
		}
	}
	while (nr--)
		EXPECT(!rmdir(group[nr]), "%s: %s", group[nr], strerror(errno));
	return PSI_PASS;
}

static enum psi_result files_have_owners(void)
{
	const char *group = prepare_group("owned");
	char path[GROUP_PATH], inner[GROUP_PATH];
	struct stat st;
	size_t i;

	set_psi(false);
	EXPECT(!chown(group, 1000, 1001), "chown");
	snprintf(inner, sizeof(inner), "%s/theirs", group);
	EXPECT(!setegid(1001) && !seteuid(1000), "seteuid");
	EXPECT(!mkdir(inner, 0755), "mkdir: %s", strerror(errno));
	EXPECT(!seteuid(0) && !setegid(0), "seteuid back");

	set_psi(true);
	for (i = 0; i < ARRAY_SIZE(group_files); i++) {
		EXPECT(!stat(group_file(path, inner, group_files[i]), &st), "stat %s", path);
		EXPECT(st.st_uid == 1000 && st.st_gid == 1001, "%s is of %u:%u", path,
		       st.st_uid, st.st_gid);
		EXPECT(!stat(group_file(path, group, group_files[i]), &st), "stat %s", path);
		EXPECT(!st.st_uid && !st.st_gid, "%s is of %u:%u", path, st.st_uid, st.st_gid);
	}
	rmdir(inner);
	return PSI_PASS;
}

/* They are on when all of it is, whatever they were before: the root as well. */
static enum psi_result groups_are_on(void)
{
	const char *group = prepare_group("switched"), *inner = make_group(group, "inner");

	EXPECT(!set_cgroup(CGROUP_ROOT, "cgroup.pressure", "0"), "root: off");
	EXPECT(!set_cgroup(group, "cgroup.pressure", "0"), "off");
	set_psi(false);
	set_psi(true);
	EXPECT(!set_cgroup(inner, "cgroup.pressure", "1"), "it cannot be switched");
	expect_files(group, true);
	EXPECT(!access(CGROUP_ROOT "/cpu.pressure", F_OK), "the root has none");
	start_in_group(inner, 0, spin, NULL);
	start_in_group(inner, 0, spin, NULL);
	expect_share(inner, PSI_CPU, 100, 0, 500, 3);
	expect_share(group, PSI_CPU, 100, 0, 500, 3);
	expect_share(CGROUP_ROOT, PSI_CPU, 100, 0, 500, 3);
	return PSI_PASS;
}

/* A reader whose buffer is on a page that does not come until it is asked for. */
struct stuck {
	void *page;
	int fd;
	atomic_int reads, come, got;
};

static void *read_into_page(void *arg)
{
	struct stuck *stuck = arg;

	stuck->reads = 1;
	stuck->got = read(stuck->fd, stuck->page, 512);
	return NULL;
}

static void read_into_missing_page(void *arg)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_zeropage zero = {};
	struct stuck *stuck = arg;
	pthread_t thread;
	int uffd;

	range.range.len = sysconf(_SC_PAGESIZE);
	stuck->page = mmap(NULL, range.range.len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)stuck->page;
	uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	stuck->fd = open("/proc/pressure/cpu", O_RDONLY);
	if (stuck->page == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, read_into_page, stuck))
		return;
	while (!stuck->come)
		sleep_ms(1);
	zero.range = range.range;
	ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	for (;;)
		sleep_ms(1000);
}

static void write_psi(void *value)
{
	write_text(KERNEL_PSI, "%s", (char *)value);
	for (;;)
		sleep_ms(1000);
}

/* Whoever wants it off can be killed, and it can be on again. */
static enum psi_result reader_that_is_stuck(void)
{
	struct stuck *stuck = shared_alloc(sizeof(*stuck));
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	struct psi_sample sample;
	pid_t off, on;

	REQUIRE(fd >= 0, "needs userfaultfd");
	close(fd);
	prepare(true);
	start_load(-1, read_into_missing_page, stuck);
	EXPECT(wait_until(stuck->reads, 5000), "it does not begin to read");
	sleep_ms(100);

	off = start_load(-1, write_psi, "0");
	sleep_ms(500);
	EXPECT(is_on(), "it is off while somebody reads");
	stop_load(off);		/* waits for its death */
	on = start_load(-1, write_psi, "1");
	sleep_ms(100);
	stop_load(on);
	EXPECT(!stuck->got && is_on(), "it is off");

	stuck->come = 1;
	set_psi(true);
	EXPECT(!psi_read(PSI_CPU, &sample), "/proc/pressure/cpu cannot be read");
	EXPECT(wait_until(stuck->got, 5000) && stuck->got > 0, "what was read: %d", stuck->got);
	set_psi(false);
	EXPECT(access("/proc/pressure", F_OK), "/proc/pressure is there");
	return PSI_PASS;
}

/* The first process of a namespace waits for all others there before it may exit. */
static void be_first_in_namespace(void *arg)
{
	atomic_int *first = arg;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return;
	pid = fork();
	if (pid && !fork()) {
		/* Not its child, and nobody waits for this one. */
		for (;;)
			pause();
	}
	if (pid)
		*first = pid;
	for (;;)
		pause();
}

static enum psi_result exit_that_waits(void)
{
	atomic_int *first = shared_alloc(sizeof(*first));

	prepare(true);
	start_load(-1, be_first_in_namespace, first);
	REQUIRE(wait_until(*first, 5000), "needs pid namespaces");
	sleep_ms(100);
	EXPECT(!kill(*first, SIGKILL), "kill: %s", strerror(errno));
	sleep_ms(100);
	EXPECT(!kill(*first, 0), "it has not waited");
	start_load(-1, write_psi, "0");
	EXPECT(wait_until(!is_on(), 5000), "it cannot be switched off");
	set_psi(true);
	return PSI_PASS;
}

/* ---- what is true at that moment ---- */

static void nap(void *unused)
{
	for (;;)
		sleep_ms(5);
}

static enum psi_result runnable_tasks(void)
{
	const char *group = prepare_group("busy"), *alone = make_group(NULL, "alone");

	set_psi(false);
	start_in_group(group, 0, spin, NULL);
	start_in_group(group, 0, spin, NULL);
	start_in_group(alone, 0, nap, NULL);
	set_psi(true);
	expect_shares((struct expected[]) {
		{ group, PSI_CPU, 100, 0 }, { group, PSI_IO, 0, 0 }, { group, PSI_MEMORY, 0, 0 },
	}, 3, 1000, 3);
	stop_all_loads();
	expect_still(group);
	expect_still(alone);
	return PSI_PASS;
}

/* A read that takes longer than switching on, begun before. */
static enum psi_result wait_for_io(void)
{
	const char *group = prepare_group("reader"), *disk = slow_disk(3000);

	REQUIRE(disk, "needs null_blk");
	set_psi(false);
	start_in_group(group, -1, read_disk, (void *)disk);
	sleep_ms(500);
	set_psi(true);
	expect_share(group, PSI_IO, 100, 100, 1000, 3);
	/* Nor does it ever end, if it is switched off in the middle. */
	set_psi(false);
	sleep_ms(100);
	set_psi(true);
	expect_share(group, PSI_IO, 100, 100, 1000, 3);
	stop_all_loads();
	sleep_ms(3000);
	expect_still(group);
	return PSI_PASS;
}

static unsigned long long cause_count(const char *group, const char *cause, const char *key)
{
	char path[GROUP_PATH], text[2048], *line;

	if (read_text(group_file(path, group, "pressure.causes"), text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, cause);
	return line ? number_after(line, key) : 0;
}

/* Over memory.high, so that it is in sections most of the time, asleep. */
static enum psi_result memory_stall(void)
{
	const char *group = prepare_group("stalled");
	struct memory_user user = { .size = 8 * MB, .grow = true };
	unsigned long long begun, lasted, total;
	struct psi_sample from, to;
	int round;

	REQUIRE(!enable_controller(group, "+memory"), "needs the memory controller");
	user.cgroup = group;
	set_psi(false);
	/* On one CPU, as who wanders shows less than he is stalled. */
	start_memory_user(online_cpus() - 1, &user);
	await_memory_user(&user);
	EXPECT(!set_cgroup(group, "memory.high", "4M"), "memory.high");

	for (round = 0; round < 5; round++) {
		begun = now_ns();
		set_psi(true);
		EXPECT(!read_group(group, PSI_MEMORY, &from), "read");
		sleep_ms(1000);
		EXPECT(!read_group(group, PSI_MEMORY, &to), "read");
		total = cause_count(group, "memcg_high", "total=");
		lasted = (now_ns() - begun) / NSEC_PER_USEC;
		psi_note("memory some %.1f %%, memcg_high total %llu us of %llu",
			 psi_share(&from, &to).some, total, lasted);
		EXPECT(close_to(psi_share(&from, &to).some, 100, 3), "some %.1f",
		       psi_share(&from, &to).some);
		/* Not longer than it has been on. */
		EXPECT(total > (to.some.total - from.some.total) / 10 * 9 && total <= lasted,
		       "memcg_high total %llu", total);
		set_psi(false);
		sleep_ms(200);
	}

	/* One that ends while it is off is over, though its task goes on. */
	EXPECT(!set_cgroup(group, "memory.high", "max"), "memory.high");
	sleep_ms(4000);
	set_psi(true);
	expect_share(group, PSI_MEMORY, 0, 0, 1000, 5);
	stop_all_loads();
	expect_still(group);
	return PSI_PASS;
}

static unsigned long long limited_us(const char *group)
{
	char path[GROUP_PATH], text[2048];

	if (read_text(group_file(path, group, "pressure.causes"), text, sizeof(text)) < 0)
		return 0;
	return number_after(text, "cpu.quota some=");
}

static enum psi_result used_up(void)
{
	const char *group = prepare_group("limited");
	unsigned long long before;

	REQUIRE(!enable_controller(group, "+cpu"), "needs the cpu controller");
	set_psi(false);
	EXPECT(!set_cgroup(group, "cpu.max", "20000 100000"), "cpu.max");
	start_in_group(group, 0, spin, NULL);
	sleep_ms(300);
	set_psi(true);
	before = limited_us(group);
	sleep_ms(2000);
	psi_note("cpu.quota %llu us in 2 s", limited_us(group) - before);
	EXPECT(close_to((limited_us(group) - before) / 20000.0, 80, 6), "it should be 80 %%");
	/* One that is set or removed while it is off. */
	set_psi(false);
	EXPECT(!set_cgroup(group, "cpu.max", "max"), "cpu.max");
	set_psi(true);
	before = limited_us(group);
	sleep_ms(1000);
	EXPECT(limited_us(group) == before, "cpu.quota goes on");
	return PSI_PASS;
}

#define NR_CHILDREN	2000

struct parent {
	atomic_int children, may_exit;
};

/* Its children have to get another parent, which is nearly all that this task ever does. */
static void exit_with_children(void *arg)
{
	struct parent *parent = arg;
	int wanted = NR_CHILDREN / psi_slowness();
	pid_t pid = 1;

	while (parent->children < wanted && pid > 0) {
		pid = fork();
		if (!pid)
			for (;;)
				pause();
		parent->children++;
	}
	while (!parent->may_exit)
		sleep_ms(1);
	_exit(0);
}

/* Who exits runs, in its group, until the end: who waits meanwhile is not all there is. */
static enum psi_result exits(void)
{
	const char *group = prepare_group("exits");
	struct parent *parent = shared_alloc(sizeof(*parent));
	struct psi_sample from, to;
	unsigned long long some_us, full_us;
	int cpu = online_cpus() - 1;
	pid_t pid;

	set_psi(false);
	set_psi(true);
	pid = start_in_group(group, cpu, exit_with_children, parent);
	EXPECT(wait_until(parent->children >= NR_CHILDREN / psi_slowness(), 20000),
	       "too few children");
	start_in_group(group, cpu, spin, NULL);
	sleep_ms(100);
	EXPECT(!read_group(group, PSI_CPU, &from), "read");
	parent->may_exit = 1;
	EXPECT(waitpid(pid, NULL, 0) == pid, "waitpid: %s", strerror(errno));
	/* Until it has left its CPU; not longer, as both wait for whoever else comes. */
	sleep_ms(10);
	EXPECT(!read_group(group, PSI_CPU, &to), "read");
	full_us = to.full.total - from.full.total;
	some_us = to.some.total - from.some.total;
	psi_note("cpu some %llu us, full %llu us", some_us, full_us);
	EXPECT(full_us * 3 < some_us, "full %llu us of %llu", full_us, some_us);
	return PSI_PASS;
}

/* ---- those who wait ---- */

static int must_add(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	EXPECT(fd >= 0 && write(fd, TRIGGER, sizeof(TRIGGER)) > 0, "%s: %s", path,
	       strerror(errno));
	return fd;
}

struct waiter {
	int fd;
	int (*wait)(int fd, int ms);
	atomic_int begun, got;
};

static void wait_there(void *arg)
{
	struct waiter *w = arg;

	w->begun = 1;
	w->got = w->wait(w->fd, 20000) | 1 << 30;
	for (;;)
		sleep_ms(1000);
}

static void expect_told(int fd, const char *path)
{
	static int (* const ways[])(int, int) = { wait_by_poll, wait_by_epoll, wait_by_select };
	struct waiter *w = shared_alloc(sizeof(*w) * ARRAY_SIZE(ways));
	char text[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		w[i].fd = fd;
		w[i].wait = ways[i];
		start_load(-1, wait_there, &w[i]);
		EXPECT(wait_until(w[i].begun, 5000), "%s: way %zu: does not begin", path, i);
	}
	sleep_ms(100);
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		EXPECT(!w[i].got, "%s: way %zu: %#x, and nothing has happened", path, i,
		       w[i].got);
	set_psi(false);
	wait_until(w[0].got && w[1].got && w[2].got, 5000);
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		EXPECT(w[i].got & (ways[i] == wait_by_select ? POLLPRI | POLLERR : POLLERR),
		       "%s: way %zu: %#x", path, i, w[i].got);
	EXPECT(wait_by_poll(fd, 0) & POLLERR, "%s: another poll", path);
	EXPECT(pread(fd, text, sizeof(text), 0) < 0, "%s can be read", path);
	EXPECT(write(fd, TRIGGER, sizeof(TRIGGER)) < 0, "%s can be written", path);

	/* It does not come back to life. */
	set_psi(true);
	EXPECT(wait_by_poll(fd, 0) & POLLERR, "%s: poll after all", path);
	EXPECT(pread(fd, text, sizeof(text), 0) < 0, "%s can be read after all", path);
	stop_all_loads();
	close(fd);
}

static enum psi_result pollers_are_told(void)
{
	const char *group = prepare_group("polled");
	char path[GROUP_PATH];

	group_file(path, group, "memory.pressure");
	expect_told(must_add(path), path);
	expect_told(must_add("/proc/pressure/memory"), "/proc/pressure/memory");
	close(must_add("/proc/pressure/memory"));
	return PSI_PASS;
}

/* ---- many ---- */

#define NR_GROUPS	2000

/* A kernel that checks itself does so for each of them. */
static int nr_groups(void)
{
	return NR_GROUPS / psi_slowness() / psi_slowness();
}

static char (*many)[GROUP_PATH];

static void remove_many(void)
{
	int i;

	for (i = nr_groups() - 1; i >= 0; i--)
		rmdir(many[i]);
}

static long kernel_memory_kb(void)
{
	static const char * const fields[] = { "SUnreclaim:", "Percpu:" };
	char text[4096], *at;
	long kb = 0;
	size_t i;

	if (read_text("/proc/meminfo", text, sizeof(text)) < 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		at = strstr(text, fields[i]);
		if (at)
			kb += atol(at + strlen(fields[i]));
	}
	return kb;
}

static enum psi_result thousands_of_groups(void)
{
	const char *top = prepare_group("many");
	int nr = nr_groups(), i, round;
	__u64 on_ns = 0, off_ns = 0, begun;
	long off_kb = 0, on_kb = 0;

	many = shared_alloc(sizeof(*many) * nr);
	set_psi(false);
	for (i = 0; i < nr; i++) {
		/* In threes, one below the other. */
		snprintf(many[i], GROUP_PATH, "%s/g%d", i % 3 ? many[i - 1] : top, i);
		EXPECT(!mkdir(many[i], 0755), "mkdir %d: %s", i, strerror(errno));
	}
	undo_later(remove_many);
	for (round = 0; round < 3; round++) {
		begun = now_ns();
		set_psi(true);
		on_ns += now_ns() - begun;
		on_kb = kernel_memory_kb();
		expect_files(many[nr - 1], true);
		begun = now_ns();
		set_psi(false);
		off_ns += now_ns() - begun;
		expect_files(many[nr - 1], false);
		sleep_ms(300);		/* RCU */
		if (!round)
			off_kb = kernel_memory_kb();
	}
	psi_note("%d groups: on in %llu ms, off in %llu ms; %ld kB while it is on, %ld off",
		 nr, on_ns / 3 / NSEC_PER_MSEC, off_ns / 3 / NSEC_PER_MSEC, on_kb, off_kb);
	/* KASAN keeps back what is freed. */
	if (psi_slowness() > 1)
		return PSI_PASS;
	EXPECT(on_kb > off_kb + nr, "groups need no memory");
	/* RCU and workers take their time. */
	EXPECT(wait_until(kernel_memory_kb() <= off_kb + nr / 2, 10000), "%ld kB: memory is lost",
	       kernel_memory_kb());
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-10 kernel.psi takes 0 and 1", bad_values },
	{ "R-10 kernel.psi needs privilege", needs_privilege },
	{ "R-10 kernel.psi makes files and removes them", files_come_and_go },
	{ "R-10 files that kernel.psi makes have their owners", files_have_owners },
	{ "R-10 kernel.psi switches groups on that were off", groups_are_on },
	{ "R-10 kernel.psi and a reader that is stuck", reader_that_is_stuck },
	{ "R-10 kernel.psi and an exit that waits for others", exit_that_waits },
	{ "R-10 kernel.psi finds tasks that run and wait", runnable_tasks },
	{ "R-2 R-10 tasks that exit run until the end", exits },
	{ "R-10 kernel.psi finds who waits for io", wait_for_io },
	{ "R-10 kernel.psi in the middle of memory stalls", memory_stall },
	{ "R-10 R-19 kernel.psi finds quotas", used_up },
	{ "R-10 R-12 kernel.psi tells those who poll", pollers_are_told },
	{ "R-10 kernel.psi with thousands of groups", thousands_of_groups },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
