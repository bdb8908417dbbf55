// SPDX-License-Identifier: GPL-2.0
/*
 * what a group says, held against what its one task, or another part of the
 * kernel, has measured. The task stays on a CPU, goes where the scheduler puts it, or is
 * moved; somebody reads all the time and has triggers, or nobody does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define WINDOW_MS	10000
#define MOVE_MS		50
#define POINTS		3

/* ---- where the task is ---- */

enum place { PINNED, FREE, MOVED };

static void move_around(void *task)
{
	pid_t pid = *(pid_t *)task;
	int cpu = 0;

	for (;;) {
		cpu = (cpu + 1 + random_below(online_cpus() - 1)) % online_cpus();
		pin_task(pid, cpu);
		sleep_ms(MOVE_MS);
	}
}

/* ---- what it does, and the truth about it ---- */

struct load {
	enum psi_resource res;
	const char *group;
	pid_t (*start)(struct load *l, int cpu);
	__u64 (*stalled_us)(const struct load *l);
	pid_t pid;
	const char *disk;
	__u64 *waited_ns;
};

static void read_and_burn(void *load)
{
	struct load *l = load;
	int fd = open(l->disk, O_RDONLY | O_DIRECT);
	__u64 from;
	void *buf;

	if (fd < 0 || posix_memalign(&buf, 4096, 4096))
		return;
	for (;;) {
		from = now_ns();
		if (pread(fd, buf, 4096, 0) != 4096)
			return;
		*l->waited_ns += now_ns() - from;
		burn_ms(2);
	}
}

static pid_t start_io(struct load *l, int cpu)
{
	l->disk = slow_disk(5);
	REQUIRE(l->disk, "needs null_blk with configfs");
	l->waited_ns = shared_alloc(sizeof(*l->waited_ns));
	return start_in_group(l->group, cpu, read_and_burn, l);
}

static __u64 io_stalled_us(const struct load *l)
{
	return *l->waited_ns / NSEC_PER_USEC;
}

/* Over its limit all the time: what the sections of memory stalls took. */
static pid_t start_memory(struct load *l, int cpu)
{
	static struct memory_user user;

	REQUIRE(!enable_controller(l->group, "+memory"), "needs the memory controller");
	REQUIRE(!zram_swap(64), "needs zram with swap");
	EXPECT(!set_cgroup(l->group, "memory.max", "16M"), "no limit");
	user = (struct memory_user) { .size = 24 << 20, .cgroup = l->group };
	return start_memory_user(cpu, &user);
}

static __u64 memory_stalled_us(const struct load *l)
{
	char path[GROUP_PATH], text[4096], *line = text;
	__u64 us = 0;

	EXPECT(read_text(group_file(path, l->group, "pressure.causes"), text, sizeof(text)) > 0,
	       "no causes");
	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "memory.", 7) && strncmp(line, "memory.requested", 16))
			us += number_after(line, "total=");
	}
	return us;
}

/* Each CPU has somebody else to run. */
static pid_t start_cpu(struct load *l, int cpu)
{
	const char *others = make_group(NULL, "others");
	int c;

	for (c = 0; c < online_cpus(); c++)
		start_in_group(others, c, spin, NULL);
	return start_in_group(l->group, cpu, spin, NULL);
}

static __u64 cpu_stalled_us(const struct load *l)
{
	return task_times(l->pid).waited_ns / NSEC_PER_USEC;
}

static const struct load loads[] = {
	{ PSI_IO, .start = start_io, .stalled_us = io_stalled_us },
	{ PSI_MEMORY, .start = start_memory, .stalled_us = memory_stalled_us },
	{ PSI_CPU, .start = start_cpu, .stalled_us = cpu_stalled_us },
};

/* In a group of its own, so that all of it is told from the beginning. */
static struct load *start_at(const struct load *load, enum place place)
{
	struct load *l = shared_alloc(sizeof(*l));

	*l = *load;
	l->group = make_group(NULL, "told");
	l->pid = l->start(l, place == PINNED ? 0 : -1);
	if (place == MOVED)
		start_load(-1, move_around, &l->pid);
	return l;
}

/* ---- readers and triggers ---- */

static void read_all_the_time(void *load)
{
	const struct load *l = load;
	struct psi_sample sample;
	__u64 last = 0;

	for (;;) {
		if (read_group(l->group, l->res, &sample) || sample.some.total < last)
			return;		/* a total that goes back ends the load, and the case */
		last = sample.some.total;
		psi_read(l->res, &sample);
		pause_us(3000);
	}
}

static void watch(struct load *l)
{
	int cpu = online_cpus() - 1;

	start_load(cpu, read_all_the_time, l);
	EXPECT(add_trigger(l->group, l->res, "some 300000 500000") >= 0 &&
	       add_trigger(l->group, l->res, "full 100000 1000000") >= 0, "no triggers");
}

/* ---- cases ---- */

struct truth_case {
	const struct load *load;
	enum place place;
	bool watched;
};

/* Percent of the time, by the group's file and by the load. */
static void measure(const struct load *l, double *told, double *truth)
{
	__u64 before = l->stalled_us(l);
	struct psi_sample from, to;
	double seconds;

	EXPECT(!read_group(l->group, l->res, &from), "cannot be read");
	sleep_ms(WINDOW_MS);
	*truth = l->stalled_us(l) - before;
	EXPECT(!read_group(l->group, l->res, &to), "cannot be read");

	seconds = (to.before - from.before) / 1e9;
	*told = (to.some.total - from.some.total) / seconds / 1e4;
	*truth = *truth / seconds / 1e4;
	psi_note("told %.1f %%, in truth %.1f %%", *told, *truth);
	EXPECT(*truth > 10, "too little happens to tell");
}

static enum psi_result told_truly(const void *arg)
{
	const struct truth_case *c = arg;
	struct load *l = start_at(c->load, c->place);
	double told, truth;

	if (c->watched)
		watch(l);

	measure(l, &told, &truth);
	EXPECT(close_to(told, truth, POINTS), "told %.1f %% of %.1f %%", told, truth);
	return PSI_PASS;
}

/*
 * As systemd-oomd does with a slice of which one service bloats, and wanders: each second the
 * slice's "full avg10", until that is over the limit. With a stall of p %, avg10 is
 * p * (1 - exp(-n * 2 s / 10 s)) at the end of the nth period. Periods have 2 s, the first
 * one of a group 1 to 3 s.
 */
#define OOMD_LIMIT	40

static double seconds_until_limit(double percent)
{
	return 2 * ceil(-5 * log(1 - OOMD_LIMIT / percent));
}

static enum psi_result killed_in_time(void)
{
	struct load *l = start_at(&loads[1], MOVED);
	double seconds = 0, before, first, last, truth;
	__u64 stalled_us = l->stalled_us(l);
	struct psi_sample from, to;

	EXPECT(!read_group(l->group, PSI_MEMORY, &from), "cannot be read");
	do {
		before = seconds;
		sleep_ms(1000);
		EXPECT(!read_group(l->group, PSI_MEMORY, &to), "cannot be read");
		seconds = (to.before - from.before) / 1e9;
	} while (to.full.avg[0] <= OOMD_LIMIT * 100 && seconds < 40);

	truth = (l->stalled_us(l) - stalled_us) / (seconds * 1e4);
	EXPECT(truth > OOMD_LIMIT + 10, "too little happens to tell: %.1f %%", truth);
	first = seconds_until_limit(truth + 1) - 1;
	last = seconds_until_limit(truth - 1) + 1;
	psi_note("over the limit after %.1f to %.1f s, due after %.1f to %.1f s at %.1f %%",
		 before, seconds, first, last, truth);
	EXPECT(seconds > first - 0.2 && before < last + 0.2, "not when it was due");
	return PSI_PASS;
}

/*
 * A system that is next to idle, and stalls for a moment each second, or so rarely that periods
 * go by without a stall: two tasks want the same CPU at once, one is on another CPU. Something
 * else may run besides, but not all the time.
 */
#define BLINKS		4
#define WINDOWS	5

static void blink(void *every_ms)
{
	__u64 every_ns = *(int *)every_ms * NSEC_PER_MSEC;

	for (;;) {
		sleep_until(now_ns() / every_ns * every_ns + every_ns);
		burn_ms(1);
	}
}

/*
 * Did psi's thread wake up more often than five times a second, at the end of each period, and
 * for a few samples more?
 */
static bool woken_often(unsigned int ms, unsigned long at_least)
{
	pid_t thread = find_task("psi_fold");
	unsigned long before = voluntary_switches(thread), woken;

	sleep_ms(ms);
	woken = voluntary_switches(thread) - before;
	psi_note("psi_fold has run %lu times in %u ms", woken, ms);
	EXPECT(woken >= at_least, "hardly ever");
	return woken > 5 * ms / 1000 + ms / 2000 + 5;
}

static enum psi_result sampled_rarely(const void *arg)
{
	int every_ms = *(const int *)arg, window_ms = BLINKS * every_ms, often = 0, i;
	struct psi_sample before, after;

	REQUIRE(find_task("psi_fold"), "no thread psi_fold");
	start_load(1, blink, &every_ms);
	start_load(1, blink, &every_ms);
	start_load(2, blink, &every_ms);
	sleep_ms(5000);
	for (i = 0; i < WINDOWS; i++) {
		EXPECT(!psi_read(PSI_CPU, &before), "cannot be read");
		often += woken_often(window_ms, 5 * BLINKS / 2);
		EXPECT(!psi_read(PSI_CPU, &after), "cannot be read");
		EXPECT(after.some.total - before.some.total >= BLINKS * 300, "no stall to tell");
	}
	EXPECT(often <= WINDOWS / 2, "not five times a second");
	return PSI_PASS;
}

/*
 * One task that runs or waits for a disk: some CPU is never idle, and not for long the same. A
 * sample may still meet the task between two CPUs, and those of the next 3 s are many then.
 */
static enum psi_result always_busy(void)
{
	int often = 0, i;

	REQUIRE(find_task("psi_fold"), "no thread psi_fold");
	start_at(&loads[0], MOVED);
	/*
	 * One sample in eight may be of an idle system before. These fade by an eighth in a
	 * period: to one in 128 within 42 s.
	 */
	sleep_ms(46000);
	for (i = 0; i < WINDOWS; i++)
		often += woken_often(4000, 5 * 4 / 2);
	EXPECT(often <= WINDOWS / 2, "not five times a second");
	return PSI_PASS;
}

/* For thresholds that were set by it: the sum that other kernels have, over 2 s. */
#define WEIGHTS	"/proc/sys/kernel/psi_interval_weights"

static enum psi_result the_usual_sum(void)
{
	double told, truth;
	struct load *l;

	EXPECT(write_text(WEIGHTS, "2") == -EINVAL && write_text(WEIGHTS, "-1") == -EINVAL,
	       "any number will do");
	EXPECT(!write_text(WEIGHTS, "1"), "cannot be set");
	l = start_at(&loads[0], MOVED);
	sleep_ms(5000);

	measure(l, &told, &truth);
	EXPECT(told > 5 && told < truth / 2, "not the usual one");
	EXPECT(!write_text(WEIGHTS, "0"), "cannot be set back");
	return PSI_PASS;
}

#define CASE(nr, where, seen)							\
	.run_with = told_truly, .arg = &(const struct truth_case) { &loads[nr], where, seen }

static const struct psi_case cases[] = {
	{ "R-4 io, one task that stays", CASE(0, PINNED, false) },
	{ "R-4 io, one task", CASE(0, FREE, false) },
	{ "R-4 io, one task that is moved", CASE(0, MOVED, false), .min_cpus = 2 },
	{ "R-4 R-17 io, one task that stays, watched", CASE(0, PINNED, true) },
	{ "R-4 R-17 io, one task that is moved, watched", CASE(0, MOVED, true), .min_cpus = 2 },
	{ "R-4 memory, one task that stays", CASE(1, PINNED, false) },
	{ "R-4 memory, one task", CASE(1, FREE, false) },
	{ "R-4 memory, one task that is moved", CASE(1, MOVED, false), .min_cpus = 2 },
	{ "R-4 R-17 memory, one task that stays, watched", CASE(1, PINNED, true) },
	{ "R-4 R-17 memory, one task that is moved, watched", CASE(1, MOVED, true), .min_cpus = 2 },
	{ "R-4 cpu, one task that stays", CASE(2, PINNED, false) },
	{ "R-4 cpu, one task", CASE(2, FREE, false) },
	{ "R-4 cpu, one task that is moved", CASE(2, MOVED, false), .min_cpus = 2 },
	{ "R-4 R-17 cpu, one task that stays, watched", CASE(2, PINNED, true) },
	{ "R-4 R-17 cpu, one task that is moved, watched", CASE(2, MOVED, true), .min_cpus = 2 },
	{ "R-4 R-5 a service that bloats and wanders is killed when it should be",
	  killed_in_time, 4 },
	{ "R-4 a system that hardly stalls is sampled five times a second",
	  .min_cpus = 3, .run_with = sampled_rarely, .arg = &(const int) { 1000 } },
	{ "R-4 the same, and not at all in every other period",
	  .min_cpus = 3, .run_with = sampled_rarely, .arg = &(const int) { 4500 } },
	{ "R-4 the same, and it stalls much, but some CPU is always busy", always_busy, 3 },
	{ "R-4 kernel.psi_interval_weights is 0 or 1, and 1 the usual sum", the_usual_sum, 4 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
