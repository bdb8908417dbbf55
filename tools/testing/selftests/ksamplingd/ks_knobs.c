// SPDX-License-Identifier: GPL-2.0
/*
 * what can be written to the knobs, by whom.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ks_util.h"

static const struct {
	const char *name;
	unsigned long long least, most;
} numbers[] = {
	{ "enabled", 0, 1 },
	{ "quota_permille", 0, 900 },
	{ "policy", 0, 1 },
	{ "sleep_us", 100, 1000000 },
	{ "window_ms", 100, 60000 },
	{ "cool_ms", 0, 3600000 },
	{ "hot_target_mb", 0, 1000000000 },
	{ "hot_samples", 1, 1000 },
	{ "heat_memory_ppm", 1, 10000 },
	{ "load_share_permille", 0, 1000 },
	{ "record_cost_ns", 0, 100000 },
	{ "quota_has_workload", 0, 1 },
	{ "load_period", 1, 1000000000 },
	{ "store_period", 1, 1000000000 },
	{ "ring_pages", 1, 4096 },
};

static enum psi_result bounds(void)
{
	static const char * const nonsense[] = { "-1", "x", "1x", "4294967297", "0x", "1.5" };
	unsigned long long before;
	size_t i, n;

	undo_later(reset_knobs);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		const char *name = numbers[i].name;

		EXPECT(!set_knob(name, "%llu", numbers[i].least), "%s: least", name);
		EXPECT(get_knob(name) == numbers[i].least, "%s: not the least", name);
		EXPECT(!set_knob(name, "%llu", numbers[i].most), "%s: most", name);
		EXPECT(get_knob(name) == numbers[i].most, "%s: not the most", name);

		before = get_knob(name);
		EXPECT(set_knob(name, "%llu", numbers[i].most + 1) == -EINVAL,
		       "%s: more than the most", name);
		if (numbers[i].least)
			EXPECT(set_knob(name, "%llu", numbers[i].least - 1) == -EINVAL,
			       "%s: less than the least", name);
		for (n = 0; n < ARRAY_SIZE(nonsense); n++)
			EXPECT(set_knob(name, "%s", nonsense[n]) < 0, "%s: %s", name,
			       nonsense[n]);
		EXPECT(get_knob(name) == before, "%s has changed", name);
		set_knob("enabled", "0");
	}
	return PSI_PASS;
}

static enum psi_result words(void)
{
	static const struct { const char *name, *good, *bad[5]; } lists[] = {
		{ "source", "faults", { "fault", "faultsx", "all", "a_name_that_is_too_long" } },
		{ "cpus", "0", { "4000", "0-4000", "x", "3-1" } },
		{ "nodes", "0", { "1000", "0-1000", "x", "-1" } },
		{ "cool_ms", "100", { "1", "99" } },
		{ "ring_pages", "8", { "3", "12", "4095", "7" } },
	};
	size_t i;

	undo_later(reset_knobs);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		expect_checked(lists[i].name, lists[i].good, lists[i].bad);
	return PSI_PASS;
}

static enum psi_result privilege(void)
{
	static char most[ARRAY_SIZE(numbers)][16];
	struct knob all[ARRAY_SIZE(numbers) + 3] = {
		{ "source", "faults" }, { "cpus", "0" }, { "nodes", "0" },
	};
	size_t i;

	undo_later(reset_knobs);
	reset_knobs();
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(most[i], sizeof(most[i]), "%llu", numbers[i].most);
		all[3 + i] = (struct knob) { numbers[i].name, most[i] };
	}
	expect_privileged(all, ARRAY_SIZE(all));
	return PSI_PASS;
}

static enum psi_result off_at_boot(void)
{
	EXPECT(!get_knob("enabled"), "enabled");
	EXPECT(!find_task("ksamplingd"), "there is a thread");
	EXPECT(get_status("enabled") == 0, "status");
	EXPECT(get_status("rings") == 0, "rings");
	return PSI_PASS;
}

/* Addresses are for root. */
static enum psi_result views_are_private(void)
{
	static const char * const files[] = { "status", "histogram", "hot_pages" };
	struct stat st;
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), VIEWS "%s", files[i]);
		EXPECT(!stat(path, &st), "no %s", files[i]);
		EXPECT((st.st_mode & 0777) == 0400 && !st.st_uid, "%s: mode %o", files[i],
		       st.st_mode & 0777);
	}
	return PSI_PASS;
}

/* In a guest whose nodes are all of one tier. */
static enum psi_result nothing_to_promote(void)
{
	int ret;

	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	ret = set_knob("promote", "1");
	EXPECT(ret == -ENODEV, "promote: %s", strerror(-ret));
	EXPECT(!get_knob("promote"), "it promotes");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-20 off until it is switched on", off_at_boot },
	{ "R-26 bounds of numbers", bounds },
	{ "R-26 words, lists, and numbers with gaps", words },
	{ "R-26 privilege", privilege },
	{ "R-26 views are for root", views_are_private },
	{ "R-31 where all nodes are of one tier, nothing is to be promoted", nothing_to_promote },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
