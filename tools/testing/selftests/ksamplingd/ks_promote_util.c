// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of promotion share. See ks_promote_util.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_promote_util.h"

#define TIERS		"/sys/devices/virtual/memory_tiering/"

/* ------------------------------- What it says ------------------------------- */

unsigned long long get_promotion(const char *word)
{
	return number_in(VIEWS "promotion", word);
}

struct account get_account(void)
{
	struct account a = {};
	char text[4096], *at;

	EXPECT(read_text(VIEWS "promotion", text, sizeof(text)) > 0, "no promotion");
	a.told = value_in(text, "told");
	a.promoted = value_in(text, "promoted");
	a.queued = value_in(text, "queued");
	a.dropped = value_in(text, "dropped");
	a.returned = value_in(text, "returned");
	for (at = text; (at = strstr(at, "failed_"));)
		a.failed += strtoull(at + strcspn(at, " "), &at, 10);
	EXPECT(a.told == a.promoted + a.queued + a.dropped + a.failed,
	       "told of %llu, promoted %llu, queued %llu, dropped %llu, failed %llu",
	       a.told, a.promoted, a.queued, a.dropped, a.failed);
	return a;
}

struct account account_since(const struct account *before)
{
	struct account a = get_account();

	a.told -= before->told;
	a.promoted -= before->promoted;
	a.dropped -= before->dropped;
	a.failed -= before->failed;
	a.returned -= before->returned;
	return a;
}

/* ------------------------------- What is accessed ------------------------------- */

struct memory mem;

char *page(unsigned int i)
{
	return mem.at + i * mem.size;
}

int node_of(void *page)
{
	int node = -1;

	EXPECT(!syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0), "move_pages");
	return node;
}

unsigned int count_part(int node, unsigned int first, unsigned int nr)
{
	unsigned int i, found = 0;

	for (i = first; i < first + nr; i++)
		found += node_of(page(i)) == node;
	return found;
}

unsigned int count(int node)
{
	return count_part(node, 0, mem.nr);
}

void set_policy(char *at, size_t size, int mode, int node)
{
	unsigned long nodes = 1UL << node;

	EXPECT(!syscall(SYS_mbind, at, size, mode, mode == MPOL_DEFAULT ? NULL : &nodes, 64, 0),
	       "mbind");
}

/* One mapping is behind the other, where there is nothing else. */
#define MAPPINGS	((char *)0x300000000000UL)

static char *next_map = MAPPINGS;

void unmap_from(char *at)
{
	munmap(at, next_map - at);
	next_map = at;
}

static void unmap_all(void)
{
	unmap_from(MAPPINGS);
}

char *map(int flags, size_t size, bool huge)
{
	char *at = mmap(next_map, size, PROT_READ | PROT_WRITE,
			flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	EXPECT(at != MAP_FAILED, "mmap");
	undo_later(unmap_all);
	next_map += (size / HUGE + 1) * HUGE;
	madvise(at, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return at;
}

void make_slow(void)
{
	unsigned int i;

	madvise(mem.at, mem.nr * mem.size, MADV_DONTNEED);
	set_policy(mem.at, mem.nr * mem.size, MPOL_BIND, SLOW);
	for (i = 0; i < mem.nr; i++)
		memset(page(i), i + 1, mem.size);
	set_policy(mem.at, mem.nr * mem.size, MPOL_DEFAULT, 0);
}

void expect_written(void)
{
	unsigned int i;

	for (i = 0; i < mem.nr; i++)
		EXPECT(page(i)[0] == (char)(i + 1) && page(i + 1)[-1] == (char)(i + 1),
		       "page %u has something else in it", i);
}

bool is_huge(void)
{
	unsigned long from = 0, to = 0, kb, sum = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[256];

	EXPECT(file, "smaps");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			continue;
		if (sscanf(line, "AnonHugePages: %lu", &kb) == 1 &&
		    from < (unsigned long)page(mem.nr) && to > (unsigned long)mem.at)
			sum += kb;
	}
	fclose(file);
	return sum * 1024 == mem.nr * mem.size;
}

/* ---------------------------------- Promotion ---------------------------------- */

void no_promotion(void)
{
	set_knob("enabled", "0");
	set_knob("promote", "0");
	set_knob("promote_mb_per_s", "100");
	write_text(KNOBS "promote_nodes", "\n");
	write_text(DEMOTION, "0");
	set_test_pmu("user", 0);
	write_text(BALANCING, "0");
	write_text(HUGE_PAGES, "always");
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	write_text(GROUPS "cgroup.procs", "0");
	rmdir(GROUP);
}

void require_tiers(void)
{
	char path[128], list[64];
	int tiers = 0, i;

	/* What is plugged in before the tables are read is taken for fast. */
	if (booted_with(NODE_GOES))
		online_blocks();
	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	for (i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), TIERS "memory_tier%d/nodelist", i);
		tiers += read_text(path, list, sizeof(list)) > 0;
	}
	REQUIRE(tiers == 2, "there is no slow memory");
	undo_later(no_promotion);
}

void access_memory(void)
{
	use_test_pmu(mem.nr, PER_S);
	if (mem.size == HUGE) {
		EXPECT(!set_test_pmu("order", 9), "order");
		REQUIRE(!set_test_pmu("pages", mem.nr), "no huge pages");
	}
	EXPECT(!set_test_pmu("user", (unsigned long)mem.at), "user");
	EXPECT(!set_knob("window_ms", "200"), "window_ms");
	EXPECT(!set_knob("cool_ms", "20000"), "cool_ms");
	/* As many samples as in another kernel */
	EXPECT(!set_knob("quota_permille", "%d", 30 * psi_slowness()), "quota_permille");
}

void use_slow(int flags, unsigned int nr, size_t size)
{
	require_tiers();
	mem.at = map(flags, nr * size, size == HUGE);
	mem.nr = nr;
	mem.size = size;
	make_slow();
	EXPECT(count(SLOW) == nr, "there is no place on the slow node");
	REQUIRE(size != HUGE || is_huge(), "no huge pages");
	access_memory();
}

void promote(bool on)
{
	EXPECT(!set_knob("promote", "%d", on), "promote %d", on);
}

void start(void)
{
	promote(true);
	switch_on();
}

void stop(void)
{
	switch_off();
	promote(false);
}

void expect_part_fast(unsigned int first, unsigned int nr, unsigned int enough, unsigned int ms)
{
	struct account a = get_account();
	unsigned int fast;

	wait_slowly((get_account(), fast = count_part(FAST, first, nr)) >= enough, ms);
	a = account_since(&a);
	psi_note("%u of %u pages are fast; told of %llu, %llu promoted, %llu failed", fast, nr,
		 a.told, a.promoted, a.failed);
	EXPECT(fast >= enough, "only %u of %u pages are fast", fast, nr);
}

void expect_fast(unsigned int enough, unsigned int ms)
{
	expect_part_fast(0, mem.nr, enough, ms);
	expect_written();
}

enum psi_result run_promotion_case(const void *promotion_case)
{
	const struct promotion_case *c = promotion_case;

	require_tiers();
	if (c->controller)
		enter_group(c->controller);
	use_slow(c->shared ? MAP_SHARED : MAP_PRIVATE, c->nr, c->size ?: PAGE);
	c->run();
	if (c->percent)
		expect_fast(mem.nr * c->percent / 100, c->ms);
	return PSI_PASS;
}

/* ------------------------------- What it is in ------------------------------- */

void enter_group(const char *controller)
{
	write_text(GROUPS "cgroup.subtree_control", "+%s", controller);
	REQUIRE(!mkdir(GROUP, 0755), "no cgroup");
	EXPECT(!write_text(GROUP "/cgroup.procs", "0"), "cgroup.procs");
}

void online_blocks(void)
{
	char path[128], state[32];
	unsigned int i;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), BLOCKS "memory%u/state", i);
		if (read_text(path, state, sizeof(state)) > 0 && !strncmp(state, "offline", 7))
			write_text(path, "online_movable");
	}
}
