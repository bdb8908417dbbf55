// SPDX-License-Identifier: GPL-2.0
/*
 * what the boot parameter psi= and the kernel's default mean for
 * /proc/pressure, what is said of it, and R-15: what can be traced.
 *
 * A program cannot see how CONFIG_PSI_DEFAULT_DISABLED was set. On a
 * kernel that has it, PSI_DEFAULT=off has to be in the environment.
 */
#include <stdio.h>
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

/* The log and /sys say which PSI it is. */
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

/* Where memory stalls begin and end, which bpftrace scripts and agents hook. */
static enum psi_result traced_functions_exist(void)
{
	static const char * const names[] = { "psi_memstall_enter", "psi_memstall_leave" };
	char line[256], name[128], type;
	size_t i, found = 0;
	FILE *symbols;

	symbols = fopen("/proc/kallsyms", "r");
	REQUIRE(symbols, "needs /proc/kallsyms");
	while (fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*x %c %127s", &type, name) != 2 || type != 'T')
			continue;
		for (i = 0; i < ARRAY_SIZE(names); i++)
			found += !strcmp(name, names[i]);
	}
	fclose(symbols);
	EXPECT(found == ARRAY_SIZE(names), "%zu of %zu", found, ARRAY_SIZE(names));
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-10 /proc/pressure exists exactly when psi is on",
	  directory_exists_when_on },
	{ "R-10 the log and /sys tell the version, and if psi is on",
	  version_is_told },
	{ "R-15 sections of memory stalls begin and end in functions that can be traced",
	  traced_functions_exist },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
