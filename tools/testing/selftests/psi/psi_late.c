// SPDX-License-Identifier: GPL-2.0
/*
 * Folding times into totals and averages, when it comes late.
 *
 * D-5: nothing is lost. Folding is the work of an ordinary task. Realtime tasks that
 * take every CPU keep it from running for as long as they like, once the kernel's
 * protection against such tasks has been switched off.
 *
 * averages are over when the stall is. For that, minutes have to go by without a
 * fold, and nobody should have to use up a CPU meanwhile. So the task that folds gets
 * a deadline with next to no time for it: it has used that up at once, and has to wait
 * for its next period.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "psi_util.h"

#define LATE_MS		10000
#define RT_LIMIT	"/proc/sys/kernel/sched_rt_runtime_us"
#define FAIR_SERVER	"/sys/kernel/debug/sched/fair_server"

/*
 * Percent. The realtime tasks start and end within some ms; that is all that may
 * be missing. A 32-bit count of ns would hold 4.3 s of 10.
 */
#define TOLERANCE	1.0

static bool set_realtime(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return !sched_setscheduler(0, policy, &param);
}

static void realtime_spin(void *unused)
{
	if (set_realtime(SCHED_RR, 1))
		spin(NULL);
}

/* What the kernel would give ordinary tasks beside realtime ones, in ns. */
static int set_fair_server(const char *runtime)
{
	char path[128];
	int cpu, ret;

	for (cpu = 0; cpu < online_cpus(); cpu++) {
		snprintf(path, sizeof(path), FAIR_SERVER "/cpu%d/runtime", cpu);
		ret = write_text(path, "%s", runtime);
		if (ret)
			return ret;
	}
	return 0;
}

static enum psi_result hold_up(void)
{
	struct psi_share share;
	int cpu;

	EXPECT(set_realtime(SCHED_FIFO, 2), "no realtime priority");
	for (cpu = 0; cpu < online_cpus(); cpu++) {
		start_load(cpu, realtime_spin, NULL);
		start_load(cpu, realtime_spin, NULL);
	}
	sleep_ms(200);
	share = psi_watch(PSI_CPU, LATE_MS);
	stop_all_loads();
	EXPECT(share.some > 100 - TOLERANCE, "lost %.2f s",
	       (100 - share.some) / 100 * share.seconds);
	EXPECT(share.some < 100 + TOLERANCE, "more than there was");
	return PSI_PASS;
}

static void protect_again(void)
{
	set_realtime(SCHED_OTHER, 0);
	write_text(RT_LIMIT, "950000");
	set_fair_server("50000000");
}

static enum psi_result late_fold(void)
{
	REQUIRE(!access(FAIR_SERVER, F_OK),
		"needs debugfs and CONFIG_SCHED_DEBUG");
	undo_later(protect_again);
	EXPECT(!write_text(RT_LIMIT, "-1") && !set_fair_server("0"),
	       "cannot let realtime tasks have all of the time");
	return hold_up();
}

/* ---- minutes without a fold ---- */

#define PERIOD_MS	2000
#define REQUEST_MS	50

/* Of the task that folds; and what limits periods. */
#define FOLDER		"psi_fold"
#define HOLD_S		3000
#define LONGEST_PERIOD	"/proc/sys/kernel/sched_deadline_period_max_us"

static const double factor = 1677 / 2048.0;	/* of avg10, for a period */

/* As the kernel has it; not every libc does. */
struct attributes {
	__u32 size, policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime, deadline, period;
};

static pid_t folder;

static int set_attributes(pid_t pid, struct attributes *a)
{
	a->size = sizeof(*a);
	return syscall(SYS_sched_setattr, pid, a, 0) ? -errno : 0;
}

static void let_folder_go(void)
{
	struct attributes ordinary = { .policy = SCHED_OTHER };

	set_attributes(folder, &ordinary);
	write_text(LONGEST_PERIOD, "4194304");
}

/* From its next run on, it will have no other for HOLD_S. */
static void hold_folder(void)
{
	struct attributes a = {
		.policy = 6,	/* SCHED_DEADLINE */
		.runtime = 1024,
		.deadline = HOLD_S * NSEC_PER_SEC,
		.period = HOLD_S * NSEC_PER_SEC,
	};
	int ret;

	folder = find_task(FOLDER);
	REQUIRE(folder, "no thread " FOLDER);
	REQUIRE(!write_text(LONGEST_PERIOD, "%u", HOLD_S * 1000000U),
		"no knob for the longest period of a deadline");
	undo_later(let_folder_go);
	ret = set_attributes(folder, &a);
	REQUIRE(!ret, "no deadline for " FOLDER ": %s", strerror(-ret));
}

static unsigned int avg10_of_io(void)
{
	struct psi_sample sample;

	EXPECT(!psi_read(PSI_IO, &sample), "cannot read");
	return sample.some.avg[AVG10];
}

/* A reader shows what a fold would find. The first reader comes at the end of this. */
static void go_without_fold(unsigned int stall_s, unsigned int rest_s)
{
	const char *disk = slow_disk(REQUEST_MS);
	unsigned long runs;

	REQUIRE(disk, "needs null_blk with configfs");
	hold_folder();
	start_load(0, read_disk, (void *)disk);
	sleep_ms(2 * PERIOD_MS);
	avg10_of_io();
	runs = voluntary_switches(folder);
	sleep_ms(1000 * stall_s);
	stop_all_loads();
	sleep_ms(1000 * rest_s);
	runs = voluntary_switches(folder) - runs;
	REQUIRE(!runs, FOLDER " has run %lu times", runs);
}

/* What avg10 is after so long at 100 %, in hundredths of a percent. */
static double filled(double seconds)
{
	double periods = seconds * 1000 / PERIOD_MS;

	return 10000 * (1 - pow(factor, periods));
}

/*
 * The stall counts as the last of what was missed, so that much is shown first. Two
 * periods of it came before; another one more or less is due to where they begin, and
 * two percent of all that to the reader, which is not at a standstill all of the time.
 * The kernel may round up.
 */
static void expect_first_reading(unsigned int avg10, unsigned int stall_s)
{
	double least = filled(stall_s - PERIOD_MS / 1000.0) * 0.98;
	double most = filled(stall_s + 3 * PERIOD_MS / 1000.0) + 10;

	EXPECT(avg10 >= least && avg10 <= most, "avg10 %.2f, not %.2f to %.2f",
	       avg10 / 100.0, least / 100, most / 100);
}

/*
 * From the fold on, each period takes its share of it. The task may have been held within a
 * round, of which this group has had its fold: then the next one is at the end of the period.
 */
static void expect_decay(void)
{
	unsigned int avg10, next;
	int i;

	sleep_ms(PERIOD_MS + 20);
	avg10 = avg10_of_io();

	for (i = 0; i < 8; i++) {
		sleep_ms(PERIOD_MS + 20);
		next = avg10_of_io();
		psi_note("avg10 %.2f, then %.2f", avg10 / 100.0, next / 100.0);
		EXPECT(next < avg10 * (factor + 0.02), "it falls too slowly");
		avg10 = next;
	}
}

static enum psi_result late_average(unsigned int stall_s, unsigned int rest_s)
{
	go_without_fold(stall_s, rest_s);
	expect_first_reading(avg10_of_io(), stall_s);
	let_folder_go();
	expect_decay();
	return PSI_PASS;
}

static enum psi_result late_by_a_minute(void)
{
	return late_average(15, 45);
}

static enum psi_result late_by_ten_minutes(void)
{
	return late_average(60, 540);
}

static enum psi_result late_and_stalled_throughout(void)
{
	return late_average(120, 0);
}

static const struct psi_case cases[] = {
	{ "R-5 60 s without a fold, 15 of them stalled", late_by_a_minute },
	{ "R-5 600 s without a fold, 60 of them stalled", late_by_ten_minutes },
	{ "R-5 120 s without a fold, all of them stalled",
	  late_and_stalled_throughout },
	{ "D-5 nothing is lost when folding is 10 s late", late_fold },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
