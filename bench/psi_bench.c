// SPDX-License-Identifier: GPL-2.0
/*
 * What the accounting of pressure costs. Nothing here passes or fails; each
 * figure is a line
 *
 *	bench BENCHMARK CASE N VALUE UNIT
 *
 * N being the depth of the groups, or their number. It is for a guest whose
 * clock counts instructions, and runs on any kernel, with pressure or without.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_ring.h"
#include "psi_trigger_util.h"

#define MAX_TASKS	32
#define SAMPLES		200
#define FORKS		2000
#define DRIVER		"/proc/psi_bench"

static const int depths[] = { 0, 1, 2, 4, 8, 16 };

/* ---- what all of them need ---- */

static void __noreturn die(const char *what)
{
	printf("psi_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (!good)
		die(what);
}

/* The console is to be quiet again when the next measurement begins. */
static void report(const char *name, const char *variant, int n, double value,
		   const char *unit)
{
	printf("bench %s %s %d %.3f %s\n", name, variant, n, value, unit);
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of most samples: without the tick, which comes now and then. */
static double median(double *samples, int count)
{
	qsort(samples, count, sizeof(*samples), compare);
	return samples[count / 2];
}

/*
 * A group below @depth others, made if it is not there. What is above level
 * @part is the same for every @branch; nothing is if that is 1.
 */
static const char *group_at(char *path, int depth, int part, int branch)
{
	int length = sprintf(path, "%s", CGROUP_ROOT);
	int level;

	for (level = 1; level <= depth; level++) {
		length += sprintf(path + length, "/%c",
				  level < part ? 'a' : 'b' + branch);
		check(!mkdir(path, 0755) || errno == EEXIST, path);
	}
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	if (type == FTW_DP && ftw->level)
		check(!remove_group(path), path);
	return 0;
}

static void remove_groups(void)
{
	nftw(CGROUP_ROOT, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void join(const char *group)
{
	errno = -join_cgroup(group);
	check(!errno, group);
}

/* A process in @group on @cpu. If it is killed, or we are, it is gone. */
static pid_t start(const char *group, int cpu, void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	check(pid >= 0, "fork");
	if (pid)
		return pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pin_to_cpu(cpu))
		die("sched_setaffinity");
	join(group);
	fn(arg);
	_exit(0);
}

static void finish(int tasks)
{
	int status;

	while (tasks--) {
		check(wait(&status) > 0, "wait");
		if (status)
			exit(1);
	}
}

static void use_fifo(void)
{
	struct sched_param param = { .sched_priority = 1 };

	check(!sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
}

/* ---- tasks that take turns ---- */

/* One byte goes round; the holder runs, and all others wait for it. */
struct ring {
	int tasks, per_sample;
	int fds[MAX_TASKS][2];
	int next;			/* the next one to start */
	double *ns;			/* of a switch, SAMPLES of them */
};

static void get(struct ring *ring, int task)
{
	char byte;

	check(read(ring->fds[task][0], &byte, 1) == 1, "read");
}

static void pass_on(struct ring *ring, int task)
{
	check(write(ring->fds[(task + 1) % ring->tasks][1], "", 1) == 1,
	      "write");
}

static void take_turn(struct ring *ring, int task)
{
	if (task)
		get(ring, task);
	pass_on(ring, task);
	if (!task)
		get(ring, task);
}

static void take_turns(void *arg)
{
	struct ring *ring = arg;
	int task = ring->next;
	int i, sample;
	__u64 from;

	/* The first ones are to warm up. */
	for (sample = -20; sample < SAMPLES; sample++) {
		from = now_ns();
		for (i = 0; i < ring->per_sample; i++)
			take_turn(ring, task);
		if (!task && sample >= 0)
			ring->ns[sample] = (double)(now_ns() - from) /
					   (ring->per_sample * ring->tasks);
	}
}

/* @tasks take turns; task i is on CPU i % @cpus and in branch i % @branches. */
static double run_ring(int tasks, int cpus, int branches, int depth, int part)
{
	struct ring ring = {
		.tasks = tasks,
		.per_sample = 100 / tasks,
		.ns = shared_alloc(SAMPLES * sizeof(double)),
	};
	char path[GROUP_PATH];
	int i;

	for (i = 0; i < tasks; i++)
		check(!pipe(ring.fds[i]), "pipe");
	for (i = 0; i < tasks; i++) {
		ring.next = i;
		start(group_at(path, depth, part, i % branches), i % cpus,
		      take_turns, &ring);
	}
	finish(tasks);
	for (i = 0; i < tasks; i++) {
		close(ring.fds[i][0]);
		close(ring.fds[i][1]);
	}
	remove_groups();
	return median(ring.ns, SAMPLES);
}

static void switches(const char *name, int cpus, int depth)
{
	report(name, "same", depth, run_ring(2, cpus, 1, depth, 1), "ns");
	if (depth >= 1)
		report(name, "root", depth, run_ring(2, cpus, 2, depth, 1),
		       "ns");
	if (depth >= 2)
		report(name, "leaf", depth, run_ring(2, cpus, 2, depth, depth),
		       "ns");
}

static void bench_switch(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(depths); i++)
		switches("switch", 1, depths[i]);
}

static void bench_wakeup(void)
{
	switches("wakeup", 2, 0);
	switches("wakeup", 2, 1);
	switches("wakeup", 2, 8);
}

/* Tasks that are always runnable; a real-time yield is always a switch. */
struct crowd {
	atomic_int ready, done;
	int tasks;
	double ns[SAMPLES];
};

static void yield_all_the_time(void *arg)
{
	struct crowd *crowd = arg;
	bool first = !crowd->ready++;
	__u64 from;
	int i;

	use_fifo();
	while (crowd->ready < crowd->tasks || (!first && !crowd->done))
		sched_yield();
	for (i = 0; first && i < SAMPLES; i++) {
		from = now_ns();
		sched_yield();
		crowd->ns[i] = (double)(now_ns() - from) / crowd->tasks;
	}
	crowd->done = 1;
}

static double run_crowd(int tasks, int branches, int depth)
{
	struct crowd *crowd = shared_alloc(sizeof(*crowd));
	char path[GROUP_PATH];
	int i;

	write_text("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	/* Ahead of them all, or there would be no end of starting them. */
	use_fifo();
	crowd->tasks = tasks;
	for (i = 0; i < tasks; i++)
		start(group_at(path, depth, 1, i % branches), 0,
		      yield_all_the_time, crowd);
	finish(tasks);
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	remove_groups();
	return median(crowd->ns, SAMPLES);
}

static void bench_turns(void)
{
	static const int at[] = { 1, 4 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		report("turns", "sleep", at[i],
		       run_ring(MAX_TASKS, 1, 8, at[i], 1), "ns");
		report("turns", "yield", at[i], run_crowd(MAX_TASKS, 8, at[i]),
		       "ns");
	}
}

/* ---- a task by itself ---- */

/* The median: now and then a fork has ticks and RCU callbacks in its way. */
static double forks(double *ns, int count)
{
	__u64 from;
	pid_t pid;
	int i;

	for (i = 0; i < count; i++) {
		from = now_ns();
		pid = fork();
		check(pid >= 0, "fork");
		if (!pid)
			_exit(0);
		check(waitpid(pid, NULL, 0) == pid, "waitpid");
		ns[i] = now_ns() - from;
	}
	return median(ns, count);
}

static void bench_fork(void)
{
	static const int at[] = { 0, 1, 8 };
	/* Shared: not to be copied when it is written to after a fork. */
	double *ns = shared_alloc(FORKS * sizeof(double));
	char path[GROUP_PATH];
	size_t d;

	for (d = 0; d < ARRAY_SIZE(at); d++) {
		join(group_at(path, at[d], 1, 0));
		forks(ns, FORKS / 4);
		report("fork", "exit", at[d], forks(ns, FORKS), "ns");
		join(CGROUP_ROOT);
		remove_groups();
	}
}

static double stall_ns(void)
{
	__u64 from = now_ns();

	check(!write_text(DRIVER, "stall 1000"), DRIVER);
	return (now_ns() - from) / 1000.0;
}

static void bench_stall(void)
{
	double ns[SAMPLES];
	char path[GROUP_PATH];
	size_t d;
	int i;

	if (access(DRIVER, F_OK))
		return;
	for (d = 0; d < ARRAY_SIZE(depths); d++) {
		join(group_at(path, depths[d], 1, 0));
		for (i = 0; i < SAMPLES; i++)
			ns[i] = stall_ns();
		report("stall", "section", depths[d], median(ns, SAMPLES), "ns");
		join(CGROUP_ROOT);
		remove_groups();
	}
}

static void sleep_for_good(void *unused)
{
	for (;;)
		pause();
}

/*
 * The CPU time of the writer is counted, because moving a task may wait for a
 * grace period.
 */
static double moves(const int fds[2], const char *who)
{
	double ns[SAMPLES];
	__u64 from;
	int i;

	for (i = 0; i < SAMPLES; i++) {
		from = thread_cpu_ns();
		check(write(fds[i % 2], who, strlen(who)) > 0, "move");
		ns[i] = thread_cpu_ns() - from;
	}
	return median(ns, SAMPLES);
}

static void bench_move(void)
{
	static const int at[] = { 1, 8 };
	char path[GROUP_PATH], who[16];
	int fds[2];
	pid_t pid;
	size_t d;
	int i;

	for (d = 0; d < ARRAY_SIZE(at); d++) {
		for (i = 0; i < 2; i++) {
			group_at(path, at[d], 1, i);
			fds[i] = open_in_group(path, "cgroup.procs", O_WRONLY);
			check(fds[i] >= 0, path);
		}
		report("move", "running", at[d], moves(fds, "0"), "ns");
		join(CGROUP_ROOT);

		pid = start(path, 0, sleep_for_good, NULL);
		sleep_ms(100);
		sprintf(who, "%d", pid);
		report("move", "asleep", at[d], moves(fds, who), "ns");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);

		close(fds[0]);
		close(fds[1]);
		remove_groups();
	}
}

/* ---- a group ---- */

#define GROUPS_BELOW	20

static void make_below(const char *group)
{
	char below[GROUP_PATH + 8];
	int i;

	for (i = 0; i < GROUPS_BELOW; i++) {
		sprintf(below, "%s/%d", group, i);
		check(!mkdir(below, 0755), below);
	}
}

/* One of two values after the other. */
static double writes(const char *group, const char *file, const char * const values[2])
{
	int fd = open_in_group(group, file, O_WRONLY), i;
	double ns[SAMPLES];
	__u64 from;

	check(fd >= 0, file);
	for (i = 0; i < SAMPLES; i++) {
		from = now_ns();
		check(pwrite(fd, values[i % 2], strlen(values[i % 2]), 0) > 0, file);
		ns[i] = now_ns() - from;
	}
	close(fd);
	return median(ns, SAMPLES);
}

static void bench_toggle(void)
{
	static const char * const values[2] = { "0", "1" };
	char path[GROUP_PATH];

	group_at(path, 1, 1, 0);
	if (access(strcat(path, "/cgroup.pressure"), W_OK))
		return;
	group_at(path, 1, 1, 0);
	report("mkdir", "toggle", 0, writes(path, "cgroup.pressure", values), "ns");
	make_below(path);
	report("mkdir", "toggle", GROUPS_BELOW, writes(path, "cgroup.pressure", values), "ns");
	remove_groups();
}

static void bench_mkdir(void)
{
	static const char path[] = CGROUP_ROOT "/made";
	__u64 from = 0;
	int i;

	for (i = 0; i < 300; i++) {
		if (i == 100)
			from = now_ns();
		check(!mkdir(path, 0755), path);
		check(!rmdir(path), path);
	}
	report("mkdir", "rmdir", 1, (now_ns() - from) / 200.0, "ns");
	bench_toggle();
}

/* ---- cpu.max ---- */

static void set_controller(const char *how)
{
	check(!write_text(CGROUP_ROOT "/cgroup.subtree_control", "%s", how), how);
}

#define MANY_HELD	1000
#define HELD_SAMPLES	9

/* The end of a throttling, with so many tasks that want to run: on this CPU, and no other. */
static double release(const char *group, int tasks)
{
	double ns[HELD_SAMPLES];
	__u64 from;
	int i;

	/* Or they would not let us start them all. */
	check(!set_cgroup(group, "cpu.max", "1000 1000000"), "cpu.max");
	for (i = 0; i < tasks; i++)
		start(group, 0, spin, NULL);
	sleep_ms(500);
	use_fifo();
	for (i = 0; i < HELD_SAMPLES; i++) {
		check(!set_cgroup(group, "cpu.max", "1000 1000000"), "cpu.max");
		sleep_ms(100);
		from = now_ns();
		check(!set_cgroup(group, "cpu.max", "max"), "cpu.max");
		ns[i] = now_ns() - from;
	}
	check(!set_cgroup(group, "cgroup.kill", "1"), "cgroup.kill");
	while (tasks--)
		check(wait(NULL) > 0, "wait");
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	return median(ns, HELD_SAMPLES);
}

/* The first level has the cpu controller, and a limit that is not used up, or none. */
static void bench_limits(void)
{
	static const char * const values[2] = { "max", "50000 100000" };
	static const int at[] = { 1, 4, 8 };
	char path[GROUP_PATH];
	size_t d;

	set_controller("+cpu");
	for (d = 0; d < ARRAY_SIZE(at); d++) {
		report("limits", "none", at[d], run_ring(2, 1, 1, at[d], 1), "ns");
		check(!set_cgroup(group_at(path, 1, 1, 0), "cpu.max", "200000 100000"), "cpu.max");
		report("limits", "unused", at[d], run_ring(2, 1, 1, at[d], 1), "ns");
	}

	group_at(path, 1, 1, 0);
	report("limits", "write", 0, writes(path, "cpu.max", values), "ns");
	make_below(path);
	report("limits", "write", GROUPS_BELOW, writes(path, "cpu.max", values), "ns");
	remove_groups();

	group_at(path, 1, 1, 0);
	report("limits", "release", 1, release(path, 1), "ns");
	report("limits", "release", MANY_HELD, release(path, MANY_HELD), "ns");
	remove_groups();
	set_controller("-cpu");
}

#define READS	500

/*
 * What most reads need, and what the first one does. Other CPUs get their turn
 * between two reads rather than within one.
 */
static void reads(const char *path, const char *variant, bool first)
{
	int fd = open_in_group(path, "cpu.pressure", O_RDONLY);
	static double ns[READS];
	char text[512];
	__u64 from;
	int i;

	check(fd >= 0, path);
	for (i = 0; i < READS; i++) {
		from = now_ns();
		check(pread(fd, text, sizeof(text), 0) > 0, path);
		ns[i] = now_ns() - from;
	}
	close(fd);
	if (first)
		report("read", "first", 1, ns[0], "ns");
	report("read", variant, 1, median(ns, READS), "ns");
}

static void burn_some(void *unused)
{
	burn_ms(5);
}

static void bench_read(void)
{
	int cpus = online_cpus();
	char path[GROUP_PATH];
	pid_t pids[CPU_SETSIZE];
	int cpu;

	group_at(path, 1, 1, 0);
	strcat(path, "/cpu.pressure");
	if (access(path, R_OK))
		return;
	group_at(path, 1, 1, 0);

	for (cpu = 0; cpu < cpus; cpu++)
		start(path, cpu, burn_some, NULL);
	finish(cpus);
	sleep_ms(8000);
	reads(path, "idle", true);

	for (cpu = 0; cpu < cpus; cpu++)
		pids[cpu] = start(path, cpu, spin, NULL);
	use_fifo();
	sleep_ms(1000);
	reads(path, "busy", false);
	for (cpu = 0; cpu < cpus; cpu++)
		kill(pids[cpu], SIGKILL);
}

static double memory_used(const char *what)
{
	char text[8192];
	char *line;

	check(read_text("/proc/meminfo", text, sizeof(text)) > 0, "/proc");
	line = strstr(text, what);
	return line ? atof(line + strlen(what)) * 1024 : 0;
}

static void make_many(int from, int to)
{
	char path[GROUP_PATH];
	int i;

	for (i = from; i < to; i++) {
		sprintf(path, "%s/%d", CGROUP_ROOT, i);
		check(!mkdir(path, 0755), path);
	}
}

static void bench_memory(void)
{
	static const int groups = 2000;
	double percpu, slab;

	make_many(0, 100);
	percpu = memory_used("Percpu:");
	slab = memory_used("Slab:");
	make_many(100, 100 + groups);
	report("memory", "percpu", groups, (memory_used("Percpu:") - percpu) / groups,
	       "bytes");
	report("memory", "slab", groups, (memory_used("Slab:") - slab) / groups,
	       "bytes");
}

/* ---- aggregation ---- */

enum mode { ALL, TENTH, NONE, NR_MODES };

static atomic_int *mode;

static void futex(int op, int value)
{
	syscall(SYS_futex, mode, op, value, NULL, NULL, 0);
}

static void sleep_in_a_loop(void *arg)
{
	int number = *(int *)arg;
	int now;

	/* They should not wake up all at once. */
	sleep_ms(number % 50);
	for (;;) {
		now = *mode;
		if (now == NONE || (now == TENTH && number % 10))
			futex(FUTEX_WAIT, now);
		else
			sleep_ms(50);
	}
}

/* CPU time of all kernel threads: those that were started by number 2; or of psi_*. */
struct kthread_ns {
	__u64 all, psi;
};

static struct kthread_ns kthread_ns(void)
{
	static struct { int pid; bool psi; } threads[32768];
	struct timespec ts;
	int i, n = 0, parent;
	char path[64], text[512];
	struct dirent *entry;
	struct kthread_ns sum = { 0 };
	clockid_t clock;
	__u64 ns;
	DIR *dir;

	dir = opendir("/proc");
	check(dir, "/proc");
	while ((entry = readdir(dir))) {
		if (!isdigit(*entry->d_name))
			continue;
		sprintf(path, "/proc/%.16s/stat", entry->d_name);
		if (read_text(path, text, sizeof(text)) > 0 &&
		    sscanf(strrchr(text, ')'), ") %*c %d", &parent) == 1 &&
		    parent == 2) {
			threads[n].psi = strstr(text, "(psi_");
			threads[n++].pid = atoi(entry->d_name);
		}
	}
	closedir(dir);

	for (i = 0; i < n; i++) {
		if (clock_getcpuclockid(threads[i].pid, &clock) ||
		    clock_gettime(clock, &ts))
			continue;
		ns = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
		sum.all += ns;
		if (threads[i].psi)
			sum.psi += ns;
	}
	return sum;
}

static void bench_aggregate(void)
{
	static const char * const names[NR_MODES][2] = {
		{ "all", "all/psi" }, { "tenth", "tenth/psi" }, { "none", "none/psi" }
	};
	static const int groups[] = { 1, 100, 400, 2000 };
	char path[GROUP_PATH];
	int cpus = online_cpus();
	struct kthread_ns ran, before;
	int i, made = 0;
	double seconds;
	__u64 from;
	size_t g;

	mode = shared_alloc(sizeof(*mode));
	for (g = 0; g < ARRAY_SIZE(groups); g++) {
		make_many(made, groups[g]);
		*mode = ALL;
		futex(FUTEX_WAKE, made);
		for (i = made; i < groups[g]; i++) {
			sprintf(path, "%s/%d", CGROUP_ROOT, i);
			start(path, i % cpus, sleep_in_a_loop, &i);
		}
		made = i;

		for (i = 0; i < NR_MODES; i++) {
			*mode = i;
			futex(FUTEX_WAKE, made);
			/* What rests may take some time to be found at rest. */
			sleep_ms(i == ALL ? 3000 : 8000);
			before = kthread_ns();
			from = now_ns();
			sleep_ms(10000);
			ran = kthread_ns();
			seconds = (now_ns() - from) / 1e9;
			report("aggregate", names[i][0], made,
			       (ran.all - before.all) / seconds, "ns/s");
			report("aggregate", names[i][1], made,
			       (ran.psi - before.psi) / seconds, "ns/s");
		}
	}
}

/* ---- triggers ---- */

/* Somebody without privilege has so many on one state of one file. */
static void open_triggers(int *fds, int from, int to, const char *text)
{
	int i;

	for (i = from; i < to; i++) {
		fds[i] = open_unprivileged("/proc/pressure/cpu", O_RDWR);
		/* Linux 6.12 takes the last byte for the end. */
		check(fds[i] >= 0 && !write_trigger(fds[i], text, strlen(text) + 1),
		      "trigger");
	}
}

static void bench_triggers(void)
{
	static const struct { const char *all, *psi, *text; } cases[] = {
		/* 2 % of the time somebody waits: never enough, or once a window */
		{ "look", "look/psi", "some 1900000 2000000" },
		{ "event", "event/psi", "some 10000 2000000" },
	};
	static const int numbers[] = { 1, 100, 1000, 10000 };
	struct rlimit files = { 20000, 20000 };
	static int fds[10000];
	struct kthread_ns before, ran;
	size_t c, n;
	int open;

	check(!setrlimit(RLIMIT_NOFILE, &files), "RLIMIT_NOFILE");
	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		open = 0;
		contend_in_bursts(0, now_ns() + 10 * NSEC_PER_MSEC, 2, 100);
		for (n = 0; n < ARRAY_SIZE(numbers); n++) {
			open_triggers(fds, open, numbers[n], cases[c].text);
			open = numbers[n];
			/* Windows that begin at different times soon are the same. */
			sleep_ms(8000);
			before = kthread_ns();
			sleep_ms(20000);
			ran = kthread_ns();
			report("triggers", cases[c].all, open, (ran.all - before.all) / 20.0,
			       "ns/s");
			report("triggers", cases[c].psi, open, (ran.psi - before.psi) / 20.0,
			       "ns/s");
		}
		while (open)
			close(fds[--open]);
		stop_all_loads();
		sleep_ms(5000);
	}
}

/* One is made and closed, again and again. */
static void bench_trigger(void)
{
	static const char text[] = "some 1000000 2000000";
	double ns[SAMPLES];
	__u64 from;
	int i, n, fd;

	for (i = -20; i < SAMPLES; i++) {
		from = now_ns();
		for (n = 0; n < 10; n++) {
			fd = open("/proc/pressure/cpu", O_RDWR);
			check(!write_trigger(fd, text, sizeof(text)), "trigger");
			close(fd);
		}
		if (i >= 0)
			ns[i] = (now_ns() - from) / 10.0;
	}
	report("trigger", "made", 1, median(ns, SAMPLES), "ns");
}

/* ---- io_uring ---- */

#define URING_DISK	"/dev/nullb0"
#define URING_BLOCK	4096

/* Of one io_uring_enter() that submits the request and waits until it is done. */
static double enter_ns(struct psi_ring *ring, const struct io_uring_sqe *sqe)
{
	double ns[SAMPLES];
	__u64 from;
	int i, n;

	for (i = -20; i < SAMPLES; i++) {
		from = now_ns();
		for (n = 0; n < 100; n++)
			check(do_request(ring, sqe) == (int)sqe->len, "io_uring");
		if (i >= 0)
			ns[i] = (now_ns() - from) / 100.0;
	}
	return median(ns, SAMPLES);
}

static void bench_uring(void)
{
	static alignas(URING_BLOCK) char block[URING_BLOCK];
	struct io_uring_sqe sqe = { .opcode = IORING_OP_NOP };
	struct psi_ring ring;

	if (!open_ring(&ring, 0))
		return;
	report("uring", "nop", 0, enter_ns(&ring, &sqe), "ns");
	sqe.opcode = IORING_OP_READ;
	sqe.addr = (uintptr_t)block;
	sqe.len = sizeof(block);
	sqe.fd = open(URING_DISK, O_RDONLY);
	if (sqe.fd < 0)
		return;
	report("uring", "cached", 0, enter_ns(&ring, &sqe), "ns");
	sqe.fd = open(URING_DISK, O_RDONLY | O_DIRECT);
	check(sqe.fd >= 0, URING_DISK);
	report("uring", "direct", 0, enter_ns(&ring, &sqe), "ns");
}

/* ---- which of them ---- */

static const struct {
	const char *name;
	void (*run)(void);
} benchmarks[] = {
	{ "switch", bench_switch },
	{ "wakeup", bench_wakeup },
	{ "turns", bench_turns },
	{ "fork", bench_fork },
	{ "stall", bench_stall },
	{ "move", bench_move },
	{ "read", bench_read },
	{ "mkdir", bench_mkdir },
	{ "limits", bench_limits },
	{ "memory", bench_memory },
	{ "aggregate", bench_aggregate },
	{ "trigger", bench_trigger },
	{ "triggers", bench_triggers },
	{ "uring", bench_uring },
};

int main(int argc, char **argv)
{
	size_t b;
	int i;

	if (pin_to_cpu(0))
		die("sched_setaffinity");
	sleep_ms(3000);		/* until the kernel has settled on a clock */
	for (i = 1; i < argc; i++)
		for (b = 0; b < ARRAY_SIZE(benchmarks); b++)
			if (!strcmp(argv[i], benchmarks[b].name))
				benchmarks[b].run();
	return 0;
}
