// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel complained about anything since it was booted? To be run after
 * all the others.
 */
#include <errno.h>
#include <fcntl.h>
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
	int found = 0;
	ssize_t n;
	int fd;

	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	REQUIRE(fd >= 0, "no /dev/kmsg");
	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)
			continue;	/* the oldest have been overwritten */
		if (n <= 0)
			break;
		record[n] = '\0';
		if (!is_complaint(record))
			continue;
		found++;
		psi_note("%.*s", (int)strcspn(record, "\n"), record);
	}
	close(fd);
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
