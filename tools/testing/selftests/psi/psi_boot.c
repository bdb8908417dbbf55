// SPDX-License-Identifier: GPL-2.0
/*
 * what the boot parameter psi= and the kernel's default mean for
 * /proc/pressure.
 *
 * A program cannot see how CONFIG_PSI_DEFAULT_DISABLED was set, so whoever
 * starts this on a kernel that has it says PSI_DEFAULT=off in the environment.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "psi_util.h"

static bool should_be_on(void)
{
	const char *by_default = getenv("PSI_DEFAULT");

	if (booted_with("psi=0"))
		return false;
	if (booted_with("psi=1"))
		return true;
	return !by_default || strcmp(by_default, "off");
}

static enum psi_result directory_exists_when_on(void)
{
	bool there = !access("/proc/pressure", F_OK);

	psi_note("psi should be %s", should_be_on() ? "on" : "off");
	EXPECT(there == should_be_on(), "/proc/pressure is %s",
	       there ? "there" : "missing");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-10 /proc/pressure exists exactly when psi is on",
	  directory_exists_when_on },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
