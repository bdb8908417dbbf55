// SPDX-License-Identifier: GPL-2.0
/*
 * Memory pressure.
 *
 * Two loads. A process that is far over its memory.high and asks for more is
 * held back by the kernel most of the time, for up to 2 s at a stretch, and all
 * of that is a stall: nearly 100 % is the known answer. A process that uses more
 * than its memory.max, with swap, works and reclaims by turns: only bounds are
 * known. Each cause by itself, and what is no stall, is in psi_shortage.
 */
#include <sched.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)

/*
 * Percent. Once in 2 s, between two stalls, the process takes 64 more pages and
 * vainly looks for some to reclaim: a few ms.
 */
#define TOLERANCE	3.0

#define WATCH_MS	6000

#define NO_MEMCG	"needs the memory controller of cgroup2"

/* On the highest CPU, which is returned. */
static int start_held_back_task(void)
{
	const char *group = make_group(NULL, "held_back");
	int cpu = online_cpus() - 1;

	start_held_back(cpu, group, group);
	return cpu;
}

static enum psi_result expect(double some, double full)
{
	struct psi_share share = psi_watch(PSI_MEMORY, WATCH_MS);

	EXPECT(close_to(share.some, some, TOLERANCE) &&
	       close_to(share.full, full, TOLERANCE),
	       "expected some %.0f %% full %.0f %%, +- %.0f", some, full,
	       TOLERANCE);
	return PSI_PASS;
}

static enum psi_result held_back_alone(void)
{
	start_held_back_task();
	return expect(100, 100);
}

/* Gives way at once, lest the other one's short turns become long ones. */
static void spin_idly(void *unused)
{
	struct sched_param param = { .sched_priority = 0 };

	if (!sched_setscheduler(0, SCHED_IDLE, &param))
		spin(NULL);
}

static enum psi_result held_back_beside_busy_task(void)
{
	start_load(start_held_back_task(), spin_idly, NULL);
	return expect(100, 0);
}

static enum psi_result held_back_and_three_busy_cpus(void)
{
	start_held_back_task();
	start_load(0, spin, NULL);
	start_load(1, spin, NULL);
	start_load(2, spin, NULL);
	pin_to_cpu(0);
	return expect(25, 25);
}

/*
 * 24 MB within 16 MB: a third of every round comes from swap and pushes other
 * pages there, which takes far longer than to touch them. So there is a stall
 * for more than a twentieth of the time, but not for all of it.
 */
static enum psi_result swapping(void)
{
	struct memory_user h = { .size = 24 * MB };
	struct psi_share share;

	REQUIRE(!zram_swap(64), "needs zram");
	h.cgroup = make_group(NULL, "swaps");
	REQUIRE(!enable_controller(h.cgroup, "+memory"), NO_MEMCG);
	EXPECT(!set_cgroup(h.cgroup, "memory.max", "16M"), "memory.max");
	start_memory_user(0, &h);
	await_memory_user(&h);

	share = psi_watch(PSI_MEMORY, WATCH_MS);
	EXPECT(share.some > 5 && share.some < 100, "some is not plausible");
	EXPECT(share.full > 5 && share.full <= share.some,
	       "full is not plausible");
	return PSI_PASS;
}

static enum psi_result nobody(void)
{
	return expect(0, 0);
}

static const struct psi_case cases[] = {
	{ "R-3 memory: nobody is short of it", nobody },
	{ "R-3 memory: a task held back over memory.high is some and full",
	  held_back_alone },
	{ "R-3 memory: the same beside a busy task is some, not full",
	  held_back_beside_busy_task },
	{ "R-4 memory: the same and three busy CPUs are 25 %",
	  held_back_and_three_busy_cpus, 4, 4 },
	{ "R-3 memory: swapping within memory.max is some and full, in bounds",
	  swapping },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
