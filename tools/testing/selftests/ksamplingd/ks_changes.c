// SPDX-License-Identifier: GPL-2.0
/*
 * promotion while everything around it changes: there is no room, pages come back,
 * others move them, and memory, groups and promotion itself go and come.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_promote_util.h"

/* As others could do. Return: how many have come there. */
static unsigned int move_to(int node, unsigned int first, unsigned int nr)
{
	unsigned int i, moved = 0;

	for (i = first; i < first + nr; i++) {
		void *at = page(i);
		int status = -1;

		syscall(SYS_move_pages, 0, 1, &at, &node, &status, MPOL_MF_MOVE);
		moved += status == node;
	}
	return moved;
}

static void move_all_back(void)
{
	EXPECT(move_to(SLOW, 0, mem.nr) == mem.nr, "move_pages");
}

/* As an administrator, or a program that knows better, could do */
static void move_to_and_fro(void *pid)
{
	void *pages[64];
	int nodes[64], status[64];
	unsigned int i, node = 0;

	/* Not what some share */
	munmap(mem.at, mem.nr * mem.size);
	for (;; node = !node) {
		for (i = 0; i < 64; i++) {
			pages[i] = page(random_below(mem.nr));
			nodes[i] = node;
		}
		syscall(SYS_move_pages, *(pid_t *)pid, 64, pages, nodes, status, MPOL_MF_MOVE);
		++*mem.uses;
		pause_us(2000);
	}
}

static void moved_by_others(void)
{
	struct account before, since;
	pid_t self = getpid();

	/* A page that is just being moved is dear to sample, so with a quota few are. */
	EXPECT(!set_knob("quota_permille", "0"), "quota_permille");
	EXPECT(!set_knob("load_period", "%d", PER_S / 1000), "load_period");
	mem.uses = shared_alloc(sizeof(*mem.uses));
	start_load(1, move_to_and_fro, &self);
	before = get_account();
	start();
	wait_slowly((since = account_since(&before)).promoted > mem.nr / 2 &&
		    since.returned > mem.nr / 4 && *mem.uses > 500, 60000);
	stop_all_loads();
	psi_note("%d times to and fro, %llu told, %llu promoted, %llu have returned", *mem.uses,
		 since.told, since.promoted, since.returned);
	EXPECT(*mem.uses > 500 && since.returned > mem.nr / 4, "nobody moves it");
	EXPECT(since.promoted > mem.nr / 2, "nothing is promoted");
	expect_written();
}

/* Told of again while they wait: the first one counts, the others find it gone. */
static void told_twice(void)
{
	struct account a = get_account();
	unsigned long long told;
	unsigned int i, up;

	/* 2 MiB go at once. */
	EXPECT(!set_knob("promote_mb_per_s", "1"), "promote_mb_per_s");
	start();
	for (i = 0; i < 16; i++) {
		told = get_account().told;
		wait_slowly(get_account().told > told, 400);
		EXPECT(!set_knob("promote_nodes", i % 2 ? "\n" : "1"), "promote_nodes");
	}
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	/* It takes long until the last one is hot, and longer in a kernel that checks itself. */
	expect_fast(mem.nr / 2, 40000);
	/* What is counted below must not change meanwhile. */
	stop();
	a = account_since(&a);
	up = count(FAST);
	psi_note("%u pages: %llu told, %llu promoted", mem.nr, a.told, a.promoted);
	EXPECT(a.told > up + mem.nr / 32, "nothing is told of twice");
	EXPECT(a.promoted == up, "%u are fast, %llu promoted", up, a.promoted);
}

/* ---------------------------------- No room ---------------------------------- */

static unsigned long free_kb(int node)
{
	char path[64], text[8192];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	EXPECT(read_text(path, text, sizeof(text)) > 0, "%s", path);
	EXPECT(strstr(text, "MemFree:"), "%s", text);
	return number_after(text, "MemFree:");
}

static char *fill(int mode, int node, size_t size)
{
	char *at = map(MAP_PRIVATE, size, false);

	set_policy(at, size, mode, node);
	memset(at, 1, size);
	return at;
}

/* Takes what there is on the fast node, which then has no room. */
static char *fill_fast_node(void)
{
	REQUIRE(!booted_with(NODE_GOES), "the kernel itself has no other memory");
	return fill(MPOL_PREFERRED, FAST, (free_kb(FAST) + 1024) / 1024 * 1024 * 1024);
}

/* Hot memory that is slow because there is no room for it. Return: what takes the room */
static char *no_room(void)
{
	char *filling = fill_fast_node();
	unsigned long long full, told;
	__u64 from;

	full = get_promotion("failed_full");
	told = get_account().told;
	from = now_ns();
	start();
	wait_slowly(get_promotion("failed_full") - full >= mem.nr, 30000);
	full = get_promotion("failed_full") - full;
	told = get_account().told - told;
	psi_note("%llu times told of %u pages, and %llu times they failed", told, mem.nr, full);
	EXPECT(full >= mem.nr, "only %llu have failed", full);
	EXPECT(told <= mem.nr * ((now_ns() - from) / NSEC_PER_MSEC / 3500 + 2),
	       "told of %llu times", told);
	EXPECT(count(FAST) <= mem.nr / 8, "%u are promoted where there is no room", count(FAST));
	return filling;
}

/* With demotion, there comes to be room. */
static void full(void)
{
	unsigned long long demoted;

	no_room();
	demoted = get_vmstat("pgdemote_kswapd");
	EXPECT(!write_text(DEMOTION, "1"), "demotion");
	/* kswapd may have given up meanwhile, until somebody else finds room. */
	fill(MPOL_BIND, FAST, 1 << 20);
	promote(false);
	promote(true);
	expect_fast(mem.nr / 2, 60000);
	psi_note("%llu are demoted", get_vmstat("pgdemote_kswapd") - demoted);
}

/* What stays hot until there is room is promoted then, though all tries had failed. */
static void room_later(void)
{
	unmap_from(no_room());
}

static unsigned long long gone_or_cold(void)
{
	return get_promotion("failed_gone") + get_promotion("failed_cold");
}

/* What waits for room is freed, and other memory comes to be there. */
static void freed_meanwhile(void)
{
	unsigned long long gone;
	unsigned int round;

	fill_fast_node();
	gone = gone_or_cold();
	start();
	for (round = 0; round < 10; round++) {
		EXPECT(wait_slowly(get_account().queued, 10000), "nothing waits for room");
		make_slow();
		/* and half of it is not there */
		madvise(page(256), 256 * PAGE, MADV_DONTNEED);
	}
	switch_off();
	EXPECT(wait_slowly(!get_account().queued, 2 * TRIES_MS), "%llu are queued still",
	       get_account().queued);
	gone = gone_or_cold() - gone;
	psi_note("gone or cold: %llu", gone);
	EXPECT(gone, "nothing was freed while it was queued");
}

/* What is promoted makes room where it was. */
static void source_is_full(void)
{
	unsigned long before;

	fill(MPOL_PREFERRED, SLOW, free_kb(SLOW) * 1024 - (8 << 20));
	before = free_kb(SLOW);
	start();
	expect_fast(mem.nr * 9 / 10, 20000);
	psi_note("%lu kB were free on the slow node, %lu are now", before, free_kb(SLOW));
}

/* ------------------------------ What comes and goes ------------------------------ */

/* Everything on and off, while all else goes on. */
static void on_and_off(void)
{
	struct account before = get_account(), now, since;
	unsigned int i;

	switch_on();
	for (i = 0; i < 60; i++) {
		promote(i % 2 == 0);
		get_account();
		if (i % 5 == 4)
			switch_off();
		move_to(SLOW, 0, 64);
		sleep_ms(random_below(100));
		if (i % 5 == 4)
			switch_on();
	}
	promote(false);
	now = get_account();
	since = account_since(&before);
	psi_note("%llu told, %llu promoted, %llu dropped", since.told, since.promoted,
		 since.dropped);
	EXPECT(since.promoted, "nothing was promoted meanwhile");
	EXPECT(!since.queued, "it is off, and some are queued");
	wait_windows(3);
	since = account_since(&now);
	EXPECT(!since.told && !since.promoted, "it is off, and goes on");
	if (find_task("kspromoted") || get_promotion("past_bytes"))
		psi_note("its thread is there still, or what it remembers");
	promote(true);
}

#define SLOW_NODE	"/sys/devices/system/node/node1/"

/* Blocks of memory of the slow node; return: how many have gone. */
static unsigned int offline_blocks(void)
{
	unsigned int i, gone = 0;
	char path[128];

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), SLOW_NODE "memory%u/state", i);
		gone += !access(path, F_OK) && !write_text(path, "offline");
	}
	return gone;
}

/* A node that loses memory, or all of it, while its pages are promoted */
static void memory_goes(void)
{
	unsigned int round, off = 0;
	bool gone = false;
	char text[64];

	REQUIRE(!access(BLOCKS, F_OK), "no memory hotplug");
	undo_later(online_blocks);
	EXPECT(!set_knob("promote_mb_per_s", "1"), "promote_mb_per_s");
	start();
	expect_part_fast(0, mem.nr, 1, 10000);
	for (round = 0; round < 4; round++) {
		sleep_ms(random_below(1000));
		off += offline_blocks();
		get_account();
		expect_written();
		EXPECT(read_text("/sys/devices/system/node/has_memory", text, sizeof(text)) > 0,
		       "has_memory");
		gone |= !strcmp(text, "0\n");
		sleep_ms(random_below(1000));
		online_blocks();
		move_to(SLOW, 0, mem.nr);
		get_account();
	}
	psi_note("%u blocks went, %s the whole node", off, gone ? "at times" : "but not");
	EXPECT(!booted_with(NODE_GOES) || gone, "the node is never without memory");
	REQUIRE(off, "no block of the slow node goes offline");
	expect_written();
	EXPECT(get_knob("promote"), "promotion has ended");
}

/* If much comes back, less is promoted; and that is seen. */
static void much_returns(void)
{
	unsigned long long before = get_account().returned, kb;

	promote(true);
	kb = get_promotion("promote_kb_per_s_now");
	EXPECT(kb == 100 * 1024, "the rate is %llu kB/s", kb);
	switch_on();
	expect_fast(mem.nr, 20000);
	/* No more of it */
	switch_off();
	EXPECT(get_account().returned == before, "some have returned by themselves");
	move_all_back();
	EXPECT(get_account().returned == before, "what nobody follows returns");

	switch_on();
	expect_fast(mem.nr, 20000);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	move_all_back();
	EXPECT(get_account().returned == before + mem.nr * 512, "%llu have returned",
	       get_account().returned - before);
	EXPECT(get_vmstat("ksamplingd_returned") >= mem.nr * 512, "vmstat");
	EXPECT(get_promotion("past_bytes"), "nothing is remembered");
	/* By half minutes, and for the one that was worst within a minute or two */
	EXPECT(wait_slowly(get_promotion("returned_permille") >= 300, 40000),
	       "%llu permille are said to return", get_promotion("returned_permille"));
	EXPECT(wait_slowly(get_promotion("promote_kb_per_s_now") <= kb / 2, 40000),
	       "the rate is %llu kB/s", get_promotion("promote_kb_per_s_now"));
	EXPECT(wait_slowly(get_promotion("promote_kb_per_s_now") == kb, 200000),
	       "the rate stays low");
	/* What is freed is forgotten. */
	unmap_from(mem.at);
	EXPECT(wait_slowly(!get_promotion("past_bytes"), 5000), "something is remembered");
}

/* What has just been mapped or moved waits until some more is, on this CPU. */
static void fill_lists(void)
{
	char *at = map(MAP_PRIVATE, 64 * PAGE, false);

	memset(at, 1, 64 * PAGE);
	unmap_from(at);
}

static enum psi_result earns_more(void)
{
	/* For each time that it came back */
	static const unsigned int wanted[] = { 2, 4, 8, 16, 16 };
	unsigned long long barred = 0, returned;
	unsigned int n, more, had = 0;

	require_tiers();
	use_breakpoint(WATCHED);
	EXPECT(!set_knob("window_ms", "500"), "window");
	map_watched();
	EXPECT(!pin_to_cpu(0), "CPU 0");
	mem = (struct memory) { WATCHED, 1, PAGE };
	make_slow();
	promote(true);
	start_sampling();
	wait_windows(2);
	returned = get_account().returned;
	for (n = 0; n < ARRAY_SIZE(wanted); had = wanted[n++]) {
		fill_lists();
		if (wanted[n] - 1 > had) {
			more = wanted[n] - 1 - had;
			/* They are in another window than the last one. */
			touch_watched(more);
			wait_windows(2);
			EXPECT(node_of(WATCHED) == SLOW,
			       "%u samples more are enough after %u returns", more, n);
			EXPECT(!n || get_promotion("failed_barred") > barred,
			       "the reason is another one");
		}
		touch_watched(1);
		EXPECT(wait_until(node_of(WATCHED) == FAST, 1500),
		       "%u samples are not enough after %u returns", wanted[n], n);
		/* It is asked about once in a window. */
		wait_windows(1);
		barred = get_promotion("failed_barred");
		move_all_back();
		EXPECT(get_account().returned == returned + n + 1, "%llu have returned",
		       get_account().returned - returned);
	}
	return PSI_PASS;
}

/* -------------------------------- A group of its own -------------------------------- */

/* It is gone, and what was charged to it is charged to what is left of it. */
static void remove_group(void)
{
	EXPECT(!write_text(GROUPS "cgroup.procs", "0"), "cgroup.procs");
	EXPECT(!rmdir(GROUP), "rmdir: %d", errno);
}

static unsigned long long group_bytes(const char *node)
{
	char text[8192], *at;

	EXPECT(read_text(GROUP "/memory.numa_stat", text, sizeof(text)) > 0, "numa_stat");
	at = strstr(text, "anon ");
	EXPECT(at && strstr(at, node), "numa_stat: %s", text);
	return number_after(at, node);
}

/* What is counted on each CPU is summed up every two seconds, or later. */
static void expect_charged(const char *node, unsigned long long bytes)
{
	EXPECT(wait_slowly(group_bytes(node) >= bytes, 10000), "%s%llu is charged, not %llu",
	       node, group_bytes(node), bytes);
}

static void stays_charged(void)
{
	REQUIRE(!access(GROUP "/memory.numa_stat", F_OK), "no memory cgroup");
	expect_charged("N1=", mem.nr * PAGE);
	start();
	expect_fast(mem.nr / 2, 30000);
	stop();
	expect_charged("N0=", count(FAST) * PAGE);
}

static void group_is_gone(void)
{
	start();
	expect_fast(1, 5000);
	remove_group();
}

/* Groups come and go with what they have. */
static void groups_come_and_go(void)
{
	unsigned int round;

	start();
	for (round = 0; round < 10; round++) {
		enter_group("memory");
		make_slow();
		sleep_ms(random_below(500));
		remove_group();
		get_account();
	}
}

static const struct psi_case cases[] = {
	{ "R-31 pages that are freed meanwhile", SLOW_MEMORY(freed_meanwhile, 512) },
	{ "R-31 pages stay hot until there is room",
	  SLOW_MEMORY(room_later, 512, .percent = 90, .ms = 20000) },
	{ "R-31 pages that others move", .min_cpus = 2, SLOW_MEMORY(moved_by_others, 512) },
	{ "R-31 pages that are told of twice", SLOW_MEMORY(told_twice, 1024) },
	{ "R-31 memory that goes offline", SLOW_MEMORY(memory_goes, 1024) },
	{ "R-31 slow memory that is full", SLOW_MEMORY(source_is_full, 512) },
	{ "R-31 a page that came back has to be hotter", earns_more },
	{ "R-31 much that comes back lowers the rate", SLOW_MEMORY(much_returns, 8, HUGE) },
	{ "R-31 on and off under load",
	  SLOW_MEMORY(on_and_off, 1024, .percent = 50, .ms = 60000) },
	{ "R-31 pages stay charged to their group",
	  SLOW_MEMORY(stays_charged, 512, .controller = "memory") },
	{ "R-31 pages of a group that is gone",
	  SLOW_MEMORY(group_is_gone, 256, .controller = "memory", .percent = 90, .ms = 20000) },
	{ "R-31 groups that come and go",
	  SLOW_MEMORY(groups_come_and_go, 128, .percent = 50, .ms = 20000) },
	{ "R-31 a full node", SLOW_MEMORY(full, 512) },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
