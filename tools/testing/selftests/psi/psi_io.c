// SPDX-License-Identifier: GPL-2.0
/*
 * IO pressure of a disk every request of which takes a known time: a process
 * that reads from it, one request after the other, waits for all of the time. One that is
 * alone, or beside a busy task, psi_cgroup has for groups.
 */
#include "psi_util.h"

#define REQUEST_MS	50

/*
 * Percent. Between two requests the process runs for less than 1 ms, that is 2 %
 * of a request on a slow machine; anything else that runs here is as short.
 */
#define TOLERANCE	3.0

#define WATCH_MS	4000

static enum psi_result expect(double some, double full)
{
	struct psi_share share;

	sleep_ms(4 * REQUEST_MS);
	share = psi_watch(PSI_IO, WATCH_MS);
	EXPECT(close_to(share.some, some, TOLERANCE) &&
	       close_to(share.full, full, TOLERANCE),
	       "expected some %.0f %% full %.0f %%, +- %.0f", some, full,
	       TOLERANCE);
	return PSI_PASS;
}

#define NO_DISK "needs null_blk with configfs"

static enum psi_result no_reader(void)
{
	return expect(0, 0);
}

static enum psi_result reader_and_three_busy_cpus(void)
{
	const char *disk = slow_disk(REQUEST_MS);

	REQUIRE(disk, NO_DISK);
	start_load(3, read_disk, (void *)disk);
	start_load(0, spin, NULL);
	start_load(1, spin, NULL);
	start_load(2, spin, NULL);
	pin_to_cpu(0);
	return expect(25, 25);
}

/* Many waiting tasks are no more than one. */
static enum psi_result many_readers(void)
{
	const char *disk = slow_disk(REQUEST_MS);
	int i;

	REQUIRE(disk, NO_DISK);
	for (i = 0; i < 8; i++)
		start_load(0, read_disk, (void *)disk);
	return expect(100, 100);
}

/* A single wait, longer than the time between the two readings. */
static enum psi_result total_grows(void)
{
	struct psi_sample a, b;
	const char *disk = slow_disk(1000);
	int i;

	REQUIRE(disk, NO_DISK);
	start_load(online_cpus() - 1, read_disk, (void *)disk);
	sleep_ms(300);
	for (i = 0; i < 20; i++) {
		EXPECT(!psi_read(PSI_IO, &a), "cannot read");
		sleep_ms(20);
		EXPECT(!psi_read(PSI_IO, &b), "cannot read");
		EXPECT(psi_share(&a, &b).some > 50, "%.1f %% of %.3f s",
		       psi_share(&a, &b).some, psi_share(&a, &b).seconds);
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-3 io: nobody waits", no_reader },
	{ "R-3 io: eight readers are no more than one", many_readers },
	{ "R-4 io: a reader and three busy CPUs are 25 %",
	  reader_and_three_busy_cpus, 4, 4 },
	{ "R-6 io: total grows during a single wait", total_grows },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
