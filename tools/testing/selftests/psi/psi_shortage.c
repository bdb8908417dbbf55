// SPDX-License-Identifier: GPL-2.0
/*
 * what pressure.causes says of memory. Each cause is provoked for itself, as far as
 * that is possible from here, and then nothing but its line grows in the group. Lengths are
 * held against a stopwatch that the load has itself.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "psi_cause_util.h"

/* ---- memory.high, with a stopwatch ---- */

/* What a load that touches page after page has measured itself. */
struct watched {
	atomic_ullong stalled_us;	/* what took long, each time */
	atomic_ullong longest_us;
	atomic_ullong times;
	atomic_int stop;
};

#define LONG_US		3000		/* no page takes that long by itself */

static void touch_and_time(void *arg)
{
	struct watched *w = arg;
	char *mem = map_small_pages(512 * MB);
	__u64 begun, us;
	size_t offset;

	if (!mem)
		return;
	for (offset = 0; offset < 512 * MB && !w->stop; offset += PAGE) {
		begun = now_ns();
		mem[offset] = 1;
		us = (now_ns() - begun) / NSEC_PER_USEC;
		if (us < LONG_US)
			continue;
		w->stalled_us += us;
		w->times++;
		if (us > w->longest_us)
			w->longest_us = us;
	}
	for (;;)
		sleep_ms(1000);
}

/*
 * 8 MB over a limit of 4 MB, and more. What the stopwatch has and the group has not is
 * the rest of each page fault.
 */
static enum psi_result over_high(void)
{
	const char *parent = memory_group(NULL, "parent");
	const char *group = memory_group(parent, "high");
	struct watched *w = shared_alloc(sizeof(*w));
	struct causes to, above;
	struct cause_line *line;

	EXPECT(!set_cgroup(group, "memory.high", "4M"), "memory.high");
	start_in_group(group, 0, touch_and_time, w);
	sleep_ms(6000);
	w->stop = 1;
	sleep_ms(2500);			/* the longest that it is held back at once */

	to = expect_growth(group, &nothing, BIT(MEMCG_HIGH), 0);
	above = read_causes(parent);
	line = &to.of[MEMCG_HIGH];
	psi_note("stopwatch: %llu us in %llu times, the longest %llu us", w->stalled_us,
		 w->times, w->longest_us);
	EXPECT(w->stalled_us > 3000000, "it was hardly held back");
	EXPECT(close_to(100.0 * line->total / w->stalled_us, 100, 3),
	       "the total is not what the stopwatch has");
	EXPECT(line->max <= w->longest_us && close_to(100.0 * line->max / w->longest_us, 100, 3),
	       "the longest is not what the stopwatch has");
	EXPECT(line->count >= w->times, "fewer sections than page faults that were long");
	EXPECT(!memcmp(&to, &above, sizeof(to)), "the group above has something else");
	return PSI_PASS;
}

/* ---- one cause after the other ---- */

static __u64 number_in(const char *dir, const char *file, const char *key)
{
	char path[GROUP_PATH], text[16384];

	EXPECT(read_text(group_file(path, dir, file), text, sizeof(text)) > 0, "cannot read %s",
	       path);
	EXPECT(strstr(text, key), "no \"%s\" in %s", key, path);
	return number_after(text, key);
}

static __u64 pages_stolen(const char *group)
{
	return number_in(group, "memory.stat", "pgsteal ");
}

/* Each page once: nothing is read back, but the cache has to make room. */
static enum psi_result over_max(void)
{
	const char *group = memory_group(NULL, "max");

	EXPECT(!set_cgroup(group, "memory.max", "8M"), "memory.max");
	start_reader(group, 0, 48 * MB, 1);
	EXPECT(pages_stolen(group) > 1000, "nothing was reclaimed");
	expect_growth(group, &nothing, BIT(MEMCG_MAX), 0);
	return PSI_PASS;
}

/* How something is taken away, and what the other group has of that. */
struct agent_case {
	const char *file, *value, *then;
	enum cause must;
};

struct agent {
	const struct agent_case *how;
	const char *group, *victim;
	unsigned int pause_ms;
	atomic_uint rounds;
};

static void ask_for_ever(void *arg)
{
	struct agent *a = arg;

	for (;;) {
		set_cgroup(a->victim, a->how->file, a->how->value);
		if (a->how->then)
			set_cgroup(a->victim, a->how->file, a->how->then);
		a->rounds++;
		sleep_ms(a->pause_ms);
	}
}

/*
 * Somebody takes away, by a file of another group, what that group uses in rounds with a
 * pause. That has a line of its own, and is no stall of the task that does it.
 */
static struct agent *start_agent(const struct agent_case *how, unsigned int user_pause_ms,
				 unsigned int pause_ms)
{
	struct memory_user user = { .size = 24 * MB, .pause_ms = user_pause_ms };
	struct agent *a = shared_alloc(sizeof(*a));

	a->victim = memory_group(NULL, "victim");
	REQUIRE(!zram_swap(64), NO_SWAP);
	user.cgroup = a->victim;
	start_memory_user(0, &user);
	await_memory_user(&user);
	a->group = memory_group(NULL, "agents");
	a->how = how;
	a->pause_ms = pause_ms;
	start_in_group(a->group, online_cpus() - 1, ask_for_ever, a);
	return a;
}

static enum psi_result asked_by(const void *agent_case)
{
	const struct agent_case *c = agent_case;
	struct agent *a = start_agent(c, 100, 20);
	struct psi_sample sample;

	EXPECT(wait_until(a->rounds > 2 && pages_stolen(a->victim) > 4000 &&
			  all_have_grown(a->victim, &nothing, BIT(c->must)) &&
			  all_have_grown(a->group, &nothing, BIT(REQUESTED)), 60000),
	       "too little is reclaimed to tell: %llu pages in %u rounds",
	       pages_stolen(a->victim), a->rounds);
	expect_growth(a->group, &nothing, BIT(REQUESTED), 0);
	EXPECT(!read_group(a->group, PSI_MEMORY, &sample), "cannot read");
	EXPECT(!sample.some.total && !sample.full.total, "it counts as a stall: %llu us",
	       sample.some.total);
	/* The task that has to get it back is another matter. */
	expect_growth(a->victim, &nothing, BIT(c->must), BIT(SWAPIN));
	return PSI_PASS;
}

/* Swapped out by somebody else, so that nothing but to read it back is left. */
static enum psi_result swapped_in(void)
{
	static const struct agent_case reclaim = { "memory.reclaim", "8M" };
	const char *victim = start_agent(&reclaim, 10, 100)->victim;
	struct causes to;

	wait_until(read_causes(victim).of[SWAPIN].count > 100, 60000);
	to = expect_growth(victim, &nothing, BIT(SWAPIN), 0);
	EXPECT(to.of[SWAPIN].count > 100, "too little to tell");
	return PSI_PASS;
}

/* Often enough that it is in use, and seen to be. */
#define PASSES	3
#define ROUNDS	200

/*
 * A file in the page cache of which somebody else takes away a part while nobody reads,
 * and that is then read back: at once, or from a disk that takes its time so that the
 * reader waits for the pages. (If all is taken away nothing says that it would have
 * fitted, and to read it is no refault.)
 */
struct read_back_case {
	unsigned int ms;
	size_t size;
	unsigned int must;
};

static enum psi_result read_back(const void *read_back_case)
{
	const struct read_back_case *c = read_back_case;
	const char *group = memory_group(NULL, "cache");
	struct reader *r = start_reader(group, c->ms, c->size, PASSES);
	struct causes from = read_causes(group);
	char quarter[24];
	int i;

	snprintf(quarter, sizeof(quarter), "%zu", c->size / 4);
	EXPECT(!memcmp(&from, &nothing, sizeof(from)), "to read for the first time is a stall");
	/* Which pages are taken is up to reclaim: until some are restored. */
	for (i = 0; i < ROUNDS && !all_have_grown(group, &nothing, c->must); i++) {
		set_cgroup(group, "memory.reclaim", quarter);
		r->passes += PASSES;
		await(&r->done, r->passes);
	}
	REQUIRE(number_in(group, "memory.stat", "workingset_restore_file "),
		"reclaim has taken no page that was in use");
	expect_growth(group, &nothing, c->must, 0);
	return PSI_PASS;
}

/* ---- the whole system short of memory ---- */

#define NODES	"/sys/devices/system/node/"

static size_t free_bytes(const char *dir)
{
	return number_in(dir, "meminfo", "MemFree:") * 1024;
}

struct hog {
	size_t size;
	bool holes;			/* gives every second page back */
	bool one_node;			/* takes nothing but of node 0 */
	atomic_uint done;
};

static void hog_memory(void *arg)
{
	unsigned long nodes = 1;
	struct hog *h = arg;
	size_t offset;
	char *mem;
	int i;

	if (h->one_node &&
	    syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &nodes, 8 * sizeof(nodes)))
		_exit(2);
	mem = map_small_pages(h->size);
	if (!mem)
		_exit(2);
	for (offset = 0; offset < h->size; offset += PAGE)
		for (i = 0; i < PAGE; i += 64)
			*(size_t *)(mem + offset + i) = offset * 2654435761u + i;
	for (offset = 0; h->holes && offset < h->size; offset += 2 * PAGE)
		munmap(mem + offset, PAGE);
	h->done = 1;
	for (;;)
		sleep_ms(1000);
}

/* Until it has all of it. */
static void hog(const char *group, struct hog how)
{
	struct hog *h = shared_alloc(sizeof(*h));

	*h = how;
	start_in_group(group, 0, hog_memory, h);
	await(&h->done, 1);
}

/* More than there is, with swap for the rest. */
static enum psi_result direct_reclaim(void)
{
	const char *group = memory_group(NULL, "hog");
	struct causes from = read_causes(NULL);

	REQUIRE(!zram_swap(256), NO_SWAP);
	hog(group, (struct hog){ .size = free_bytes("/proc") + 64 * MB });
	expect_growth(group, &nothing, BIT(DIRECT_RECLAIM),
		      BIT(SWAPIN) | BIT(THRASHING) | BIT(READBACK) | BIT(DIRECT_COMPACTION));
	expect_growth(NULL, &from, BIT(DIRECT_RECLAIM) | BIT(KSWAPD),
		      BIT(SWAPIN) | BIT(THRASHING) | BIT(READBACK) | BIT(KCOMPACTD) |
		      BIT(DIRECT_COMPACTION));
	return PSI_PASS;
}

#define THP	"/sys/kernel/mm/transparent_hugepage/"

/* It would fill the holes before anybody needs them. */
#define PROACTIVE	"/proc/sys/vm/compaction_proactiveness"

static void huge_as_before(void)
{
	write_text(PROACTIVE, "20");
	write_text(THP "enabled", "never");
	write_text(THP "defrag", "madvise");
}

struct huge_user {
	size_t size;
	atomic_uint rounds;
};

/* Again and again, as it depends on the rest of the system what is done for it. */
static void touch_huge(void *arg)
{
	struct huge_user *user = arg;
	size_t size = user->size, offset;
	char *mem;

	for (;;) {
		mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		if (mem == MAP_FAILED)
			_exit(2);
		for (offset = 0; offset < size; offset += PAGE)
			mem[offset] = 1;
		munmap(mem, size);
		user->rounds++;
		sleep_ms(100);
	}
}

/* How often the kernel has had kcompactd do something. */
static __u64 kcompactd_wakes(void)
{
	return number_in("/proc", "vmstat", "compact_daemon_wake ");
}

/* Half of the memory is free, and no two pages of it in a row. */
struct compaction_case {
	const char *defrag;
	unsigned int must_group, must_system;
};

static enum psi_result compaction(const void *compaction_case)
{
	const struct compaction_case *c = compaction_case;
	unsigned int must = c->must_group | c->must_system;
	const unsigned int may = BIT(DIRECT_RECLAIM) | BIT(DIRECT_COMPACTION) | BIT(KSWAPD) |
				 BIT(KCOMPACTD) | BIT(SWAPIN) | BIT(THRASHING) | BIT(READBACK);
	struct huge_user *user = shared_alloc(sizeof(*user));
	const char *group;
	struct causes from;
	__u64 wakes;

	REQUIRE(!access(THP "enabled", W_OK), "needs transparent huge pages");
	group = memory_group(NULL, "huge");
	undo_later(huge_as_before);
	EXPECT(!write_text(THP "enabled", "always") && !write_text(THP "defrag", "%s", c->defrag),
	       "cannot set up huge pages");
	EXPECT(!write_text(PROACTIVE, "0"), "cannot stop compaction ahead of need");
	hog(CGROUP_ROOT, (struct hog){ .size = free_bytes("/proc") - 32 * MB, .holes = true });
	psi_note("%zu MB free", free_bytes("/proc") / MB);
	/* Far more than what is free in one piece. */
	user->size = free_bytes("/proc") / 4 * 3;
	wakes = kcompactd_wakes();
	from = read_causes(NULL);
	start_in_group(group, 0, touch_huge, user);
	await(&user->rounds, 1);
	wait_until(all_have_grown(NULL, &from, must) &&
		   all_have_grown(group, &nothing, c->must_group), 60000);
	REQUIRE(!c->must_system || kcompactd_wakes() != wakes,
		"the kernel has left kcompactd alone");
	expect_growth(group, &nothing, c->must_group, may & ~BIT(KSWAPD) & ~BIT(KCOMPACTD));
	expect_growth(NULL, &from, must, may);
	return PSI_PASS;
}

#define NODE_RECLAIM_MODE	"/proc/sys/vm/zone_reclaim_mode"

static void no_node_reclaim(void)
{
	write_text(NODE_RECLAIM_MODE, "0");
}

/*
 * Clean pages fill the node of the CPU, and all of them could go. Another node has room, but not
 * for this task: else newer kernels take from there while kswapd is awake here.
 */
static enum psi_result node_reclaim(void)
{
	const char *group, *cache;

	REQUIRE(!access(NODES "node1", F_OK), "needs two nodes");
	group = memory_group(NULL, "node");
	cache = memory_group(NULL, "cache");
	undo_later(no_node_reclaim);
	EXPECT(!write_text(NODE_RECLAIM_MODE, "1"), "zone_reclaim_mode");
	start_reader(cache, 0, 60 * MB, 1);
	hog(group, (struct hog){ .size = free_bytes(NODES "node0") + 30 * MB, .one_node = true });
	expect_growth(group, &nothing, BIT(NODE_RECLAIM), BIT(DIRECT_RECLAIM));
	return PSI_PASS;
}

#define ASKED(...)	.run_with = asked_by, .arg = &(const struct agent_case){ __VA_ARGS__ }
#define READ_BACK(...)	.run_with = read_back, .arg = &(const struct read_back_case){ __VA_ARGS__ }
#define COMPACTION(...)	.run_with = compaction, \
			.arg = &(const struct compaction_case){ __VA_ARGS__ }

static const struct psi_case cases[] = {
	{ "R-19 memcg_high: total and max are those of a stopwatch", over_high },
	{ "R-19 memcg_max: a page cache that makes room", over_max },
	{ "R-16 R-19 requested_reclaim: a write to memory.reclaim is no stall",
	  ASKED("memory.reclaim", "4M", NULL, SWAPIN) },
	{ "R-16 R-19 requested_reclaim: a write to memory.high is no stall",
	  ASKED("memory.high", "12M", "max", MEMCG_HIGH) },
	{ "R-16 R-19 requested_reclaim: a write to memory.max is no stall",
	  ASKED("memory.max", "12M", "max", MEMCG_MAX) },
	{ "R-19 swapin: pages that somebody else has swapped out", swapped_in },
	{ "R-19 readback: a page cache that somebody else takes away",
	  READ_BACK(0, 16 * MB, BIT(READBACK)) },
	{ "R-19 thrashing: the same on a disk that takes its time",
	  READ_BACK(5, 4 * MB, BIT(READBACK) | BIT(THRASHING)) },
	{ "R-19 direct_reclaim, background_kswapd: more than there is", direct_reclaim, 0, 1 },
	{ "R-19 direct_compaction: huge pages and no room for them", .max_cpus = 1,
	  COMPACTION("always", BIT(DIRECT_COMPACTION), 0) },
	{ "R-19 background_kcompactd: the same, later", .max_cpus = 1,
	  COMPACTION("defer", 0, BIT(KCOMPACTD)) },
	{ "R-19 node_reclaim: a node full of clean pages", node_reclaim },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
