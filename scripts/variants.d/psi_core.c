// SPDX-License-Identifier: GPL-2.0
/*
 * A task that its core is kept from waits for a CPU, though the CPU is idle.
 */
#include <stdio.h>
#include <sys/prctl.h>

#include "psi_util.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE		62
#define PR_SCHED_CORE_CREATE	1
#endif

static bool cookies;

static void spin_with_cookie(void *unused)
{
	if (cookies && prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, NULL))
		return;
	spin(NULL);
}

/* The two last CPUs are one core. */
static double share_of_two(void)
{
	struct psi_share share;

	start_load(online_cpus() - 2, spin_with_cookie, NULL);
	start_load(online_cpus() - 1, spin_with_cookie, NULL);
	sleep_ms(200);
	share = psi_watch(PSI_CPU, 3000);
	stop_all_loads();
	return share.some;
}

static enum psi_result side_by_side(void)
{
	double some;

	cookies = false;
	some = share_of_two();
	EXPECT(close_to(some, 0, 3), "some %.1f %%, not 0", some);
	return PSI_PASS;
}

/* One of the two at a time, on two CPUs that are both not idle, as far as PSI goes. */
static enum psi_result in_turns(void)
{
	double some;

	cookies = true;
	some = share_of_two();
	psi_note("some %.1f %%", some);
	EXPECT(close_to(some, 50, 5), "not 50 %%");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-3 two tasks on the threads of one core do not wait", side_by_side, 2 },
	{ "R-3 with two cookies, one of them waits", in_turns, 2 },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
