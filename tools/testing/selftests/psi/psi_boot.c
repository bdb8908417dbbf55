// SPDX-License-Identifier: GPL-2.0
/*
 * what the boot parameter psi= and the kernel's default mean for
 * /proc/pressure, and what is said of it.
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

/* People who do not know which PSI they run can see it in the log, and in /sys. */
static enum psi_result version_is_told(void)
{
	int log = open_kernel_log();
	char version[32], record[8192], line[128];
	bool told = false;

	EXPECT(read_text("/sys/module/psi/version", version, sizeof(version)) > 0,
	       "/sys/module/psi/version cannot be read");
	snprintf(line, sizeof(line), ";psi: series %.*s, accounting is %s\n",
		 (int)strcspn(version, "\n"), version, should_be_on() ? "on" : "off");
	while (!told && read_kernel_log(log, record, sizeof(record)))
		told = strstr(record, line);
	close(log);
	EXPECT(told, "not in the log: %s", line + 1);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-10 /proc/pressure exists exactly when psi is on",
	  directory_exists_when_on },
	{ "R-10 the log and /sys tell the version, and if psi is on",
	  version_is_told },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
