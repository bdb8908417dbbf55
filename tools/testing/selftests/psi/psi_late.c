// SPDX-License-Identifier: GPL-2.0
/*
 * D-5: nothing is lost when times are folded into the totals late.
 *
 * Folding is the work of an ordinary task. Realtime tasks that take every CPU
 * keep it from running for as long as they like, once the kernel's protection
 * against such tasks has been switched off.
 */
#include <sched.h>
#include <string.h>
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

static const struct psi_case cases[] = {
	{ "D-5 nothing is lost when folding is 10 s late", late_fold },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
