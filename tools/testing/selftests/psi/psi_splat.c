// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel complained about anything since it was booted? To be run after
 * all the others.
 */
#include <string.h>
#include <unistd.h>

#include "psi_util.h"

static const char * const complaints[] = {
	"WARNING:", "BUG:", "Oops", "Call Trace:", "general protection",
	"detected stall", "self-detected", "blocked for more than",
	"possible circular locking", "suspicious RCU usage", "UBSAN:",
	"inconsistent", "psi:",
};

static bool is_complaint(const char *record)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(complaints); i++)
		if (strstr(record, complaints[i]))
			return true;
	return false;
}

static enum psi_result no_complaint(void)
{
	char record[8192];
	int log = open_kernel_log();
	int found = 0;

	while (read_kernel_log(log, record, sizeof(record))) {
		if (!is_complaint(record))
			continue;
		found++;
		psi_note("%.*s", (int)strcspn(record, "\n"), record);
	}
	close(log);
	EXPECT(!found, "%d lines", found);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-15 the kernel has not complained since it was booted",
	  no_complaint },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
