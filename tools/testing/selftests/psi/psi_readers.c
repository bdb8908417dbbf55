// SPDX-License-Identifier: GPL-2.0
/*
 * Readers take nothing away, and each sees one moment (R-17, D-1, D-7).
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define WATCH_MS	6000

/* Percent of the growth without readers: what R-17 allows. */
#define READER_SHARE	2.0

/* ---- a reader that can be told to look away ---- */

/*
 * So that the CPU has the same to do either way, each turn takes the same time: what the
 * reading has left of it is spun away. And it begins when it is due, whatever runs, and ends
 * before anybody else runs: a lazy kernel lets a system call end first, but not a loop.
 */
#define TURN_NS		(300 * NSEC_PER_USEC)

struct reader {
	__u64 start;
	unsigned int period_ms;
	bool reads;
};

static void take_turns(void *arg)
{
	const struct reader *reader = arg;
	__u64 next = reader->start;
	struct psi_sample sample;
	__u64 end;

	be_realtime(1);
	for (;;) {
		next += reader->period_ms * NSEC_PER_MSEC;
		sleep_until(next);
		end = thread_cpu_ns() + TURN_NS;
		if (reader->reads && psi_read(PSI_CPU, &sample))
			return;
		while (thread_cpu_ns() < end)
			;
	}
}

/* ---- loads ---- */

static __u64 bursts_start;

/* Shorter than a tick, once in 10 ms. */
static void short_bursts(void *unused)
{
	__u64 next = bursts_start;

	for (;;) {
		sleep_until(next);
		burn_ms(1);
		next += 10 * NSEC_PER_MSEC;
	}
}

static void contend_in_bursts(void)
{
	bursts_start = now_ns();
	start_load(0, short_bursts, NULL);
	start_load(0, short_bursts, NULL);
	start_load(0, short_bursts, NULL);
}

static void contend_always(void)
{
	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
}

/* On four CPUs two, one, one and one. */
static void contend_on_one_of_all(void)
{
	int cpu;

	for (cpu = 0; cpu < online_cpus(); cpu++)
		start_load(cpu, spin, NULL);
	start_load(0, spin, NULL);
}

/* ---- D-1, R-17 ---- */

static struct psi_share watch_with_reader(void (*load)(void),
					  unsigned int period_ms, bool reads)
{
	struct reader reader = { now_ns(), period_ms, reads };
	struct psi_share share;

	load();
	start_load(0, take_turns, &reader);
	pin_to_cpu(0);
	sleep_ms(300);
	share = psi_watch(PSI_CPU, WATCH_MS);
	stop_all_loads();
	return share;
}

static enum psi_result compare(void (*load)(void), unsigned int period_ms)
{
	double without, with;

	without = watch_with_reader(load, period_ms, false).some;
	with = watch_with_reader(load, period_ms, true).some;
	EXPECT(without > 1, "that is no load");
	EXPECT(close_to(with, without, without * READER_SHARE / 100),
	       "a reader every %u ms sees %.2f %%, without it there is %.2f %%",
	       period_ms, with, without);
	return PSI_PASS;
}

static enum psi_result bursts_10ms(void)
{
	return compare(contend_in_bursts, 10);
}

static enum psi_result bursts_1ms(void)
{
	return compare(contend_in_bursts, 1);
}

static enum psi_result steady_1ms(void)
{
	return compare(contend_always, 1);
}

static enum psi_result one_of_all_1ms(void)
{
	return compare(contend_on_one_of_all, 1);
}

static enum psi_result steady_20ms(void)
{
	return compare(contend_always, 20);
}

/* ---- many readers at a time ---- */

struct hammer {
	enum psi_resource res;
	unsigned int pause_ms;		/* between two readings */
	atomic_ullong *newest;		/* total of some, of all readers */
	struct findings {
		atomic_ulong reads, failed, backwards, torn;
	} *findings;
};

/* Nobody may see less than what somebody else had seen before. */
static void check_order(const struct hammer *h, unsigned long long before,
			unsigned long long total)
{
	if (total < before)
		h->findings->backwards++;
	while (before < total &&
	       !atomic_compare_exchange_weak(h->newest, &before, total))
		;
}

/*
 * Whenever all are delayed, some are. So full never gains on some, except by
 * the one microsecond that two roundings make.
 */
static void check_moment(const struct hammer *h, __s64 *slack,
			 const struct psi_sample *sample)
{
	__s64 now = sample->some.total - sample->full.total;

	if (now < *slack - 1)
		h->findings->torn++;
	*slack = now;
}

static void hammer(void *arg)
{
	const struct hammer *h = arg;
	struct psi_sample sample;
	__s64 slack = LLONG_MIN;
	__u64 newest;
	int fd;

	fd = open(psi_path(h->res), O_RDONLY);
	for (;;) {
		newest = *h->newest;
		if (fd < 0 || psi_read_fd(fd, h->res, &sample)) {
			h->findings->failed++;
			return;
		}
		check_order(h, newest, sample.some.total);
		if (slack == LLONG_MIN)
			slack = sample.some.total - sample.full.total;
		check_moment(h, &slack, &sample);
		h->findings->reads++;
		if (h->pause_ms)
			sleep_ms(h->pause_ms);
	}
}

/* As spin(), but keeps other virtual CPUs waiting. */
static void spin_rudely(void *unused)
{
	for (;;)
		asm volatile("" : : : "memory");
}

static struct hammer new_hammer(enum psi_resource res)
{
	return (struct hammer) {
		.res = res,
		.newest = shared_alloc(sizeof(atomic_ullong)),
		.findings = shared_alloc(sizeof(struct findings)),
	};
}

/*
 * The highest CPU does nothing but wait for the disk, so both totals grow at the
 * same pace. One reader never stops, so that it is somewhere between the two
 * lines when its CPU is held up, as virtual CPUs are. (The busy one makes that
 * last for longer than a tick.) The other reader moves the totals meanwhile.
 * A text that is put together from two moments shows full ahead.
 */
static enum psi_result one_moment(void)
{
	const char *disk = slow_disk(50);
	struct hammer h = new_hammer(PSI_IO);
	struct hammer other = h;

	REQUIRE(disk, "needs null_blk with configfs");
	start_load(3, read_disk, (void *)disk);
	start_load(0, hammer, &h);
	start_load(1, spin_rudely, NULL);
	other.pause_ms = 8;
	start_load(2, hammer, &other);
	sleep_ms(6000);
	stop_all_loads();
	psi_note("%lu reads, %lu of two moments", h.findings->reads,
		 h.findings->torn);
	EXPECT(h.findings->reads > 1000, "too few reads to tell");
	EXPECT(!h.findings->torn, "full gained on some");
	EXPECT(!h.findings->failed, "a reading failed");
	return PSI_PASS;
}

static void hammer_for_a_while(enum psi_resource res, const char *disk)
{
	struct hammer h = new_hammer(res);
	int cpu;

	start_load(online_cpus() - 1, spin, NULL);
	if (disk)
		start_load(0, read_disk, (void *)disk);
	for (cpu = 0; cpu < online_cpus(); cpu++)
		start_load(cpu, hammer, &h);
	sleep_ms(2000);
	stop_all_loads();
	psi_note("%s: %lu reads, %lu backwards", psi_name(res),
		 h.findings->reads, h.findings->backwards);
	EXPECT(h.findings->reads > 1000, "too few reads to tell");
	EXPECT(!h.findings->backwards, "total went backwards");
	EXPECT(!h.findings->failed, "a reading failed");
}

static enum psi_result never_backwards(void)
{
	const char *disk = slow_disk(5);

	hammer_for_a_while(PSI_CPU, disk);
	hammer_for_a_while(PSI_IO, disk);
	return PSI_PASS;
}

/* ---- readers that get no CPU ---- */

/* To open a file takes locks that are not psi's, and sleep with PREEMPT_RT: once is enough. */
static void read_on(void *unused)
{
	struct psi_sample sample;
	int fd = open(psi_path(PSI_CPU), O_RDONLY);

	while (!psi_read_fd(fd, PSI_CPU, &sample))
		;
}

static void read_as_idle(void *unused)
{
	struct sched_param param = { };

	if (!sched_setscheduler(0, SCHED_IDLE, &param))
		read_on(unused);
}

static void stop_and_go(void *reader)
{
	pid_t pid = *(pid_t *)reader;

	for (;;) {
		kill(pid, SIGSTOP);
		pause_us(20000);
		kill(pid, SIGCONT);
		pause_us(2000);
	}
}

/* What a task holds that waits for its CPU: seconds, where that is a lock. */
static enum psi_result nobody_waits(void)
{
	__u64 end = now_ns() + WATCH_MS * NSEC_PER_MSEC, from, worst = 0;
	int fd = open(psi_path(PSI_CPU), O_RDONLY);
	struct psi_sample sample;

	do {
		from = now_ns();
		EXPECT(!psi_read_fd(fd, PSI_CPU, &sample), "cannot read");
		from = now_ns() - from;
		worst = from > worst ? from : worst;
		sleep_ms(1);
	} while (now_ns() < end);
	close(fd);
	psi_note("%.1f ms at most", worst / 1e6);
	EXPECT(worst < 50 * NSEC_PER_MSEC, "somebody holds a lock");
	return PSI_PASS;
}

static enum psi_result starved_readers(void)
{
	int i;

	for (i = 0; i < 8; i++)
		start_load(1, read_as_idle, NULL);
	sleep_ms(100);
	start_load(1, spin, NULL);
	return nobody_waits();
}

static enum psi_result readers_with_a_quota(void)
{
	const char *group;
	int i;

	REQUIRE(have_groups(), "needs cgroup2");
	group = make_group(NULL, "readers");
	REQUIRE(!enable_controller(group, "+cpu"), "needs the cpu controller");
	EXPECT(!set_cgroup(group, "cpu.max", "1000 100000"), "no limit");
	for (i = 0; i < 4; i++)
		start_in_group(group, 1, read_on, NULL);
	return nobody_waits();
}

static enum psi_result stopped_readers(void)
{
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		pids[i] = start_load(1, read_on, NULL);
		start_load(0, stop_and_go, &pids[i]);
	}
	return nobody_waits();
}

static const struct psi_case cases[] = {
	{ "R-8 R-17 eight readers that get no CPU keep nobody waiting", starved_readers, 2 },
	{ "R-8 R-17 nor do readers with a quota", readers_with_a_quota, 2 },
	{ "R-8 R-17 nor do readers that are stopped", stopped_readers, 2 },
	{ "R-17 a reader every 20 ms of steady contention changes nothing",
	  steady_20ms, 0, 1 },
	{ "R-17 total never goes backwards for any of many readers",
	  never_backwards },
	{ "D-1 a reader every 10 ms takes nothing from short bursts",
	  bursts_10ms, 0, 1 },
	{ "D-1 a reader every ms takes nothing from short bursts",
	  bursts_1ms, 0, 1 },
	{ "D-1 R-17 a reader every ms of steady contention changes nothing",
	  steady_1ms, 0, 1 },
	{ "D-1 R-17 a reader every ms of 25 % contention changes nothing",
	  one_of_all_1ms, 4, 4 },
	{ "D-7 a reading is of one moment", one_moment, 4 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
