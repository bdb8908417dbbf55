// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.psi when there is no memory. Each allocation that is made for it fails once.
 * Either it is not needed, or accounting stays off, and nothing of it is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_util.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define FAILSLAB	"/sys/kernel/debug/failslab/"
#define GROUP		"/sys/fs/cgroup/psi_nomem"

static void end(void)
{
	rmdir(GROUP "/inner");
	rmdir(GROUP);
	write_text(KERNEL_PSI, "1");
}

static int switch_on_with_failure(int fd, int nth, bool *failed)
{
	char left[16] = "";
	ssize_t n;

	EXPECT(!write_text(FAIL_NTH, "%d", nth), "%s cannot be written", FAIL_NTH);
	n = pwrite(fd, "1", 1, 0);
	if (n < 0)
		n = -errno;
	/* What is left of it is not for us. */
	read_text(FAIL_NTH, left, sizeof(left));
	write_text(FAIL_NTH, "0");
	*failed = !atoi(left);
	return n;
}

static void expect_off(int nth)
{
	char text[16] = "";

	read_text(KERNEL_PSI, text, sizeof(text));
	EXPECT(!atoi(text), "allocation %d: it is on", nth);
	EXPECT(access("/proc/pressure", F_OK), "allocation %d: /proc/pressure is there", nth);
	EXPECT(access("/sys/fs/cgroup/cpu.pressure", F_OK) &&
	       access(GROUP "/inner/cpu.pressure", F_OK) &&
	       access(GROUP "/inner/cgroup.pressure", F_OK),
	       "allocation %d: files of cgroups are there", nth);
}

static enum psi_result each_allocation_fails(void)
{
	int fd = open(KERNEL_PSI, O_WRONLY), nth, ret, refused = 0;
	bool failed = true;

	REQUIRE(fd >= 0, "needs kernel.psi");
	REQUIRE(!access(FAIL_NTH, W_OK), "needs CONFIG_FAULT_INJECTION");
	EXPECT(!write_text(FAILSLAB "ignore-gfp-wait", "N") &&
	       !write_text(FAILSLAB "verbose", "0"), "failslab");
	undo_later(end);
	EXPECT(!mkdir(GROUP, 0755) && !mkdir(GROUP "/inner", 0755), "mkdir");
	EXPECT(pwrite(fd, "0", 1, 0) == 1, "off");

	for (nth = 1; failed && nth < 5000; nth++) {
		ret = switch_on_with_failure(fd, nth, &failed);
		if (ret < 0) {
			EXPECT(ret == -ENOMEM, "allocation %d: %s", nth, strerror(-ret));
			expect_off(nth);
			refused++;
		}
		EXPECT(pwrite(fd, "0", 1, 0) == 1, "off again");
	}
	psi_note("%d allocations, %d of them are needed", nth - 2, refused);
	EXPECT(!failed, "there is no end to it");
	EXPECT(refused >= 10, "too few");

	EXPECT(pwrite(fd, "1", 1, 0) == 1, "on at last");
	EXPECT(!access(GROUP "/inner/cpu.pressure", F_OK), "no files");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-10 kernel.psi without memory", each_allocation_fails },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
