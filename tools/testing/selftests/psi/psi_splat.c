// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel complained about anything since it was booted? To be run after
 * all the others.
 */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "psi_util.h"

static const char * const complaints[] = {
	"WARNING:", "BUG:", "Oops", "Call Trace:", "general protection",
	"detected stall", "self-detected", "blocked for more than",
	"possible circular locking", "suspicious RCU usage", "UBSAN:",
	"inconsistent",
};

/*
 * Where 6.12's deadline class, which serves fair tasks as well, warns about its own
 * accounting when CPUs come and go, also in a kernel without PSI.
 */
static const char * const not_ours[] = {
	" at dequeue_task_dl+", " at dl_server_start+", " at dl_task_timer+",
	" at inactive_task_timer+", " at replenish_dl_entity+", " at task_contending+",
	" at task_non_contending+",
};

static bool has_any(const char *record, const char * const *texts, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (strstr(record, texts[i]))
			return true;
	return false;
}

/* What PSI says when it is well is at a lower level, as which version it is. */
static bool psi_warns(const char *record)
{
	return strstr(record, "psi:") && (atoi(record) & LOG_PRIMASK) <= LOG_WARNING;
}

static bool is_complaint(const char *record)
{
	return has_any(record, complaints, ARRAY_SIZE(complaints)) || psi_warns(record);
}

static bool is_not_ours(const char *record)
{
	return strstr(record, "WARNING:") && has_any(record, not_ours, ARRAY_SIZE(not_ours));
}

/* A record begins with its level and its number, which is 0 for the first one. */
static unsigned long long number_of(const char *record)
{
	return strtoull(record + strcspn(record, ",") + 1, NULL, 10);
}

/* With CONFIG_PSI_DEBUG there are these. */
#define CHECKS		"/sys/kernel/debug/psi/checks"
#define FAILURES	"/sys/kernel/debug/psi/failures"

/* It has looked, and found nothing. */
static void expect_checks(void)
{
	char checks[32], failures[32];

	EXPECT(read_text(CHECKS, checks, sizeof(checks)) > 0 &&
	       read_text(FAILURES, failures, sizeof(failures)) > 0, "they cannot be read");
	psi_note("%d checks, %d failures", atoi(checks), atoi(failures));
	EXPECT(atoi(checks) > 0 || access("/proc/pressure", F_OK), "it has not looked");
	EXPECT(!atoi(failures), "it has found something");
}

static enum psi_result no_complaint(void)
{
	bool checks = !access(CHECKS, R_OK);
	int log = open_kernel_log();
	char record[8192], before[256] = "";
	unsigned long long next = 0, lost = 0;
	bool skip_trace = false;
	int found = 0;

	/* Then what was found is in the log. */
	if (checks)
		sleep_ms(5000);
	for (; read_kernel_log(log, record, sizeof(record));
	     snprintf(before, sizeof(before), "%.*s", (int)strcspn(record, "\n"), record)) {
		lost += number_of(record) - next;
		next = number_of(record) + 1;
		/* A group that is out of memory is no fault of the kernel. */
		if (strstr(record, " invoked oom-killer: ") ||
		    strstr(record, "oom_reaper: unable to reap"))
			skip_trace = true;
		if (!is_complaint(record))
			continue;
		if (is_not_ours(record)) {
			psi_note("not ours: %.*s", (int)strcspn(record, "\n"), record);
			skip_trace = true;
			continue;
		}
		if (skip_trace && strstr(record, "Call Trace:")) {
			skip_trace = false;
			continue;
		}
		if (!found++)
			psi_note("%s", before);
		psi_note("%.*s", (int)strcspn(record, "\n"), record);
	}
	close(log);
	EXPECT(!found, "%d lines", found);
	EXPECT(!lost, "%llu records are lost, it takes a larger log_buf_len", lost);
	if (checks)
		expect_checks();
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
