// SPDX-License-Identifier: GPL-2.0
/*
 * hot pages of slow memory go to fast memory. In a guest whose node 1 has no CPU, and
 * is of a lower tier. The test PMU says which pages of this program are accessed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ks_util.h"

#define FAST		0
#define SLOW		1
#define HUGE		(512 * PAGE)
#define PER_S		20000000	/* accesses */
#define TRIES_MS	4000		/* 20 tries, one each 200 ms */
#define MOMENT_MS	3000
#define TIERS		"/sys/devices/virtual/memory_tiering/"
#define DEMOTION	"/sys/kernel/mm/numa/demotion_enabled"
#define NODE_GOES	"slow_node=goes"	/* all of its memory can go offline */

/* ------------------------------- What it says ------------------------------- */

struct account {
	unsigned long long told, promoted, queued, dropped, failed, returned;
};

static unsigned long long get_promotion(const char *word)
{
	return number_in(VIEWS "promotion", word);
}

static unsigned long long value_in(const char *text, const char *word)
{
	const char *at = find_value(text, word);

	EXPECT(at, "promotion: no %s", word);
	return strtoull(at, NULL, 10);
}

/* All of it at one moment, and it adds up. */
static struct account get_account(void)
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

static unsigned long long get_failed(const char *reason)
{
	char word[32];

	snprintf(word, sizeof(word), "failed_%s", reason);
	return get_promotion(word);
}

/* ------------------------------- What is accessed ------------------------------- */

/* In most cases: all of it slow at first, pages or huge pages */
static struct {
	char *at;
	unsigned int nr;
	size_t size;
	atomic_int *uses;	/* by others */
} mem;

static char *page(unsigned int i)
{
	return mem.at + i * mem.size;
}

static int node_of(void *page)
{
	int node = -1;

	EXPECT(!syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0), "move_pages");
	return node;
}

/* Of @nr pages, from the first one on */
static unsigned int count_part(int node, unsigned int first, unsigned int nr)
{
	unsigned int i, found = 0;

	for (i = first; i < first + nr; i++)
		found += node_of(page(i)) == node;
	return found;
}

static unsigned int count(int node)
{
	return count_part(node, 0, mem.nr);
}

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

static void set_policy(char *at, size_t size, int mode, int node)
{
	unsigned long nodes = 1UL << node;

	EXPECT(!syscall(SYS_mbind, at, size, mode, mode == MPOL_DEFAULT ? NULL : &nodes,
			mode == MPOL_DEFAULT ? 0 : 64, 0), "mbind");
}

static void usual_task_policy(void)
{
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}

/* Of this program, until the case ends */
static void set_task_policy(int mode, int node)
{
	unsigned long nodes = 1UL << node;

	undo_later(usual_task_policy);
	EXPECT(!syscall(SYS_set_mempolicy, mode, &nodes, 64), "set_mempolicy");
}

static struct {
	char *at;
	size_t size;
} mapped[8];

/* What is mapped from there, or all of it */
static void unmap(char *at)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mapped); i++) {
		if (!mapped[i].at || (at && (at < mapped[i].at ||
					     at >= mapped[i].at + mapped[i].size)))
			continue;
		munmap(mapped[i].at, mapped[i].size);
		mapped[i].at = NULL;
	}
}

static void unmap_all(void)
{
	unmap(NULL);
}

/* Until the case ends */
static char *map(int flags, size_t size, size_t align)
{
	char *at = mmap(NULL, size + align, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	size_t i;

	EXPECT(at != MAP_FAILED, "mmap");
	undo_later(unmap_all);
	for (i = 0; mapped[i].at; i++)
		EXPECT(i + 1 < ARRAY_SIZE(mapped), "too many");
	mapped[i].at = at;
	mapped[i].size = size + align;
	at = (char *)(((unsigned long)at + align - 1) / align * align);
	madvise(at, size, align == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return at;
}

/* It comes to be slow, and need not be. */
static void make_slow(void)
{
	unsigned int i;

	madvise(mem.at, mem.nr * mem.size, MADV_DONTNEED);
	set_policy(mem.at, mem.nr * mem.size, MPOL_BIND, SLOW);
	for (i = 0; i < mem.nr; i++)
		memset(page(i), i + 1, mem.size);
	set_policy(mem.at, mem.nr * mem.size, MPOL_DEFAULT, 0);
}

/* What make_slow() has written is there still. */
static void expect_written(void)
{
	unsigned int i;

	for (i = 0; i < mem.nr; i++)
		EXPECT(page(i)[0] == (char)(i + 1) && page(i + 1)[-1] == (char)(i + 1),
		       "page %u has something else in it", i);
}

/* Huge pages, if all of it is */
static bool is_huge(void)
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

static bool is_slow_node(void)
{
	char path[128], list[64];
	int tiers = 0, i;

	for (i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), TIERS "memory_tier%d/nodelist", i);
		tiers += read_text(path, list, sizeof(list)) > 0;
	}
	return tiers == 2;
}

static void require_tiers(void)
{
	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	REQUIRE(is_slow_node(), "there is no slow memory");
}

static void no_promotion(void)
{
	set_knob("enabled", "0");
	set_knob("promote", "0");
	set_knob("promote_mb_per_s", "100");
	write_text(KNOBS "promote_nodes", "\n");
	write_text(DEMOTION, "0");
	set_test_pmu("user", 0);
}

/* These pages are what is accessed, and all of them fit; nothing is on yet. */
static void access_memory(void)
{
	undo_later(no_promotion);
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

/* Slow memory, that would be promoted if anything were on. */
static void use_slow_as(int flags, unsigned int nr, size_t size)
{
	require_tiers();
	mem.at = map(flags, nr * size, size);
	mem.nr = nr;
	mem.size = size;
	make_slow();
	EXPECT(count(SLOW) == nr, "there is no place on the slow node");
	REQUIRE(size != HUGE || is_huge(), "no huge pages");
	access_memory();
}

static void use_slow(unsigned int nr, size_t size)
{
	use_slow_as(MAP_PRIVATE, nr, size);
}

static void promote(bool on)
{
	EXPECT(!set_knob("promote", "%d", on), "promote %d", on);
}

static void start(void)
{
	promote(true);
	switch_on();
}

static void stop(void)
{
	switch_off();
	promote(false);
}

/* So many of them become fast. */
static void expect_part_fast(unsigned int first, unsigned int nr, unsigned int enough,
			     unsigned int ms)
{
	struct account a = get_account();
	unsigned int fast;

	wait_slowly((get_account(), fast = count_part(FAST, first, nr)) >= enough, ms);
	psi_note("%u of %u pages are fast; told of %llu, %llu promoted, %llu failed", fast, nr,
		 get_account().told - a.told, get_account().promoted - a.promoted,
		 get_account().failed - a.failed);
	EXPECT(fast >= enough, "only %u of %u pages are fast", fast, nr);
}

/* And nothing else is written there. */
static void expect_fast(unsigned int enough, unsigned int ms)
{
	expect_part_fast(0, mem.nr, enough, ms);
	expect_written();
}

/* Pages that are listed as hot */
static unsigned int count_hot(void)
{
	FILE *file = fopen(VIEWS "hot_pages", "r");
	unsigned int lines = 0;
	char line[128];

	EXPECT(file, "hot_pages");
	while (fgets(line, sizeof(line), file))
		lines++;
	fclose(file);
	return lines;
}

/* ---------------------------------- Who goes ---------------------------------- */

static enum psi_result hot_goes_up(void)
{
	unsigned long long promoted, counted, fast, slow, samples;
	unsigned int up;

	use_slow(256, PAGE);
	promoted = get_account().promoted;
	counted = get_vmstat("ksamplingd_promoted");
	fast = get_vmstat("ksamplingd_samples_fast");
	slow = get_vmstat("ksamplingd_samples_slow");
	samples = get_vmstat("ksamplingd_samples");
	start();
	expect_fast(mem.nr * 9 / 10, 30000);
	stop();
	up = count(FAST);
	EXPECT(get_account().promoted - promoted == up, "%llu are said to be promoted, not %u",
	       get_account().promoted - promoted, up);
	EXPECT(get_vmstat("ksamplingd_promoted") - counted == up, "vmstat");
	EXPECT(!get_account().queued, "it is off, and some are queued");
	fast = get_vmstat("ksamplingd_samples_fast") - fast;
	slow = get_vmstat("ksamplingd_samples_slow") - slow;
	samples = get_vmstat("ksamplingd_samples") - samples;
	EXPECT(fast && slow && fast + slow == samples, "%llu samples fast, %llu slow of %llu",
	       fast, slow, samples);
	return PSI_PASS;
}

/* However often: what is read from one end to the other is not hot when it has been promoted. */
static enum psi_result hot_for_a_moment(void)
{
	unsigned long long samples, told;
	unsigned int nr = 64, up;

	use_slow(nr, PAGE);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	EXPECT(!set_knob("window_ms", "%d", MOMENT_MS * psi_slowness()), "window_ms");
	start();
	/* Until it is known what hot is */
	wait_windows(2);
	told = get_account().told;
	samples = get_status("samples");
	EXPECT(!set_test_pmu("accesses_per_s", PER_S), "accesses_per_s");
	EXPECT(wait_until(get_status("samples") - samples > 8 * nr, MOMENT_MS * 2 / 3),
	       "only %llu samples", get_status("samples") - samples);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	wait_windows(2);
	up = count(FAST);
	psi_note("%llu samples, %u pages have moved", get_status("samples") - samples, up);
	/* What is read late is of the next window. */
	EXPECT(up < nr / 8, "%u of %u pages have moved for a moment's use", up, nr);
	EXPECT(get_account().told - told < nr / 8, "told of %llu pages",
	       get_account().told - told);

	EXPECT(!set_test_pmu("accesses_per_s", PER_S), "accesses_per_s");
	expect_fast(nr * 9 / 10, 4 * MOMENT_MS);
	return PSI_PASS;
}

/* What is hot stays, and nobody is told of it. */
static void expect_nothing(unsigned long long told)
{
	EXPECT(wait_slowly(count_hot() >= mem.nr / 2, 20000), "only %u are hot", count_hot());
	wait_windows(3);
	EXPECT(count(SLOW) == mem.nr, "pages have moved");
	EXPECT(get_account().told == told, "somebody was told");
}

static enum psi_result off_at_first(void)
{
	unsigned long long told;

	use_slow(64, PAGE);
	EXPECT(!get_knob("promote"), "it is on");
	told = get_account().told;
	switch_on();
	expect_nothing(told);

	/* Nor from nodes that are not wanted; and fast memory is none of them. */
	EXPECT(!set_knob("promote_nodes", "%d", FAST), "promote_nodes");
	promote(true);
	expect_nothing(told);

	/* but what is hot already, as soon as they are. */
	EXPECT(!set_knob("promote_nodes", "%d", SLOW), "promote_nodes");
	expect_fast(mem.nr / 2, 20000);
	return PSI_PASS;
}

/* Many pages, of which few are the hottest that fit. */
static enum psi_result cold_stays(void)
{
	unsigned int hot = 256, up, tail;

	REQUIRE(psi_slowness() == 1, "needs a kernel that does not check itself");
	use_slow(8192, PAGE);
	EXPECT(!set_knob("hot_target_mb", "1"), "hot_target_mb");
	switch_on();
	/* Before there is something to compare, two samples are many; a sample is 512. */
	EXPECT(wait_slowly(number_in(VIEWS "histogram", "hot_from") >= 8 * 512, 30000),
	       "few samples are many still");
	promote(true);
	expect_part_fast(0, mem.nr, hot / 4, 10000);
	wait_windows(50);
	up = count(FAST);
	tail = count_part(FAST, mem.nr / 2, mem.nr / 2);
	psi_note("%u pages of %u are promoted, %u of the colder half", up, mem.nr, tail);
	EXPECT(up <= hot * 4, "%u pages are promoted, where %u fit", up, hot);
	EXPECT(tail <= hot / 16, "%u of the colder half are promoted", tail);
	return PSI_PASS;
}

/* Huge pages go whole, and no more of them than the rate allows. */
static enum psi_result rate(void)
{
	unsigned int nr = 24, mb_per_s = 4, up;
	double seconds;
	__u64 from;

	use_slow(nr, HUGE);
	EXPECT(!set_knob("promote_mb_per_s", "%u", mb_per_s), "promote_mb_per_s");
	switch_on();
	EXPECT(wait_slowly(count_hot() == nr, 20000), "only %u are hot", count_hot());
	promote(true);
	from = now_ns();
	sleep_ms(8000);
	up = count(FAST);
	seconds = (now_ns() - from) / 1e9;
	psi_note("%u MB in %.2f s at %u MB/s", 2 * up, seconds, mb_per_s);
	/* One at once, and one ahead of time */
	EXPECT(2 * up <= mb_per_s * seconds + 4, "too fast: %u MB in %.2f s", 2 * up, seconds);
	EXPECT(2 * up >= mb_per_s * seconds * 0.7, "too slow: %u MB in %.2f s", 2 * up,
	       seconds);
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	expect_fast(nr, 20000);
	EXPECT(is_huge(), "some were split");
	return PSI_PASS;
}

#define HUGE_PAGES	"/sys/kernel/mm/transparent_hugepage/enabled"

static void huge_pages_again(void)
{
	write_text(HUGE_PAGES, "always");
}

/*
 * A page that has just come is on no list before its CPU has some more of them. But when
 * khugepaged looks for huge pages, it puts all there, too.
 */
static enum psi_result few_pages(void)
{
	unsigned int round;

	EXPECT(!pin_to_cpu(online_cpus() - 1), "the last CPU");
	undo_later(huge_pages_again);
	write_text(HUGE_PAGES, "never");
	for (round = 0; round < 4; round++) {
		use_slow(4, PAGE);
		start();
		expect_fast(mem.nr, 5000);
		stop();
	}
	return PSI_PASS;
}

/* ----------------------------------- Knobs ----------------------------------- */

static enum psi_result knobs(void)
{
	static const struct {
		const char *name, *good, *bad[6];
	} all[] = {
		{ "promote", "1", { "2", "-1", "x", "1x", "4294967297" } },
		{ "promote_mb_per_s", "7", { "0", "-1", "x", "100001", "4294967297" } },
		{ "promote_nodes", "1", { "1000", "0-1000", "x", "-1", "3-1" } },
	};
	size_t i;

	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	undo_later(no_promotion);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		expect_checked(all[i].name, all[i].good, all[i].bad);
	return PSI_PASS;
}

static enum psi_result privilege(void)
{
	static const struct knob all[] = {
		{ "promote", "1" }, { "promote_mb_per_s", "3" }, { "promote_nodes", "0" },
	};

	require_tiers();
	undo_later(no_promotion);
	expect_privileged(all, ARRAY_SIZE(all));
	return PSI_PASS;
}

/* ---------------------------------- Who stays ---------------------------------- */

struct stayer {
	const char *reason;
	unsigned int first, nr;
	bool again;		/* as long as it is hot: what failed is told of anew */
};

/* They are tried, and stay; what is before the first of them goes. */
static void expect_stay(const struct stayer *s, size_t kinds)
{
	unsigned long long before[4], failed, most;
	__u64 from = now_ns();
	size_t i;

	for (i = 0; i < kinds; i++)
		before[i] = get_failed(s[i].reason);
	start();
	if (s[0].first)
		expect_part_fast(0, s[0].first, s[0].first, 30000);
	for (i = 0; i < kinds; i++)
		EXPECT(wait_slowly(get_failed(s[i].reason) - before[i] >= s[i].nr / 2, 30000),
		       "%s: only %llu of %u", s[i].reason, get_failed(s[i].reason) - before[i],
		       s[i].nr);
	/* None of them is tried again, but those for which there is hope. */
	sleep_ms(TRIES_MS);
	for (i = 0; i < kinds; i++) {
		failed = get_failed(s[i].reason) - before[i];
		most = s[i].nr;
		if (s[i].again)
			most *= (now_ns() - from) / NSEC_PER_MSEC / 3500 + 1;
		psi_note("%s: %u pages, %llu failures", s[i].reason, s[i].nr, failed);
		EXPECT(count_part(SLOW, s[i].first, s[i].nr) == s[i].nr, "%s: some have moved",
		       s[i].reason);
		EXPECT(failed <= most, "%s: %llu failures", s[i].reason, failed);
	}
	get_account();
}

static int ends[2] = { -1, -1 };

static void close_ends(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

/* A pipe has them. */
static void hold(unsigned int first, unsigned int nr)
{
	struct iovec pages;
	unsigned int i;

	undo_later(close_ends);
	EXPECT(!pipe(ends), "pipe");
	fcntl(ends[1], F_SETPIPE_SZ, nr * PAGE);
	for (i = first; i < first + nr; i++) {
		pages = (struct iovec) { page(i), PAGE };
		EXPECT(vmsplice(ends[1], &pages, 1, 0) == (ssize_t)PAGE, "vmsplice");
	}
}

/* What is bound to the slow node stays, and so does what is locked or held. */
static enum psi_result who_stays(void)
{
	static const struct stayer all[] = {
		{ "policy", 32, 32 }, { "pinned", 64, 32 }, { "busy", 96, 32, true },
	};

	use_slow(128, PAGE);
	set_policy(page(32), 32 * PAGE, MPOL_BIND, SLOW);
	EXPECT(!mlock(page(64), 32 * PAGE), "mlock");
	hold(96, 32);
	expect_stay(all, ARRAY_SIZE(all));
	/* and not for ever, but as long as it is hot. */
	close_ends();
	expect_part_fast(96, 32, 32, 20000);
	EXPECT(count_part(SLOW, 32, 64) == 64, "what has to stay has moved");
	expect_written();
	return PSI_PASS;
}

static enum psi_result task_policy(void)
{
	use_slow(32, PAGE);
	set_task_policy(MPOL_BIND, SLOW);
	expect_stay(&(struct stayer) { "policy", 0, 32 }, 1);
	return PSI_PASS;
}

static int ring = -1;

static void close_ring(void)
{
	close(ring);
}

/* Pinned for a ring, as for a device, and no more. */
static enum psi_result pinned_for_long(void)
{
	struct io_uring_params params = {};
	struct iovec buffer;

	require_tiers();
	ring = syscall(__NR_io_uring_setup, 4, &params);
	REQUIRE(ring >= 0, "needs io_uring");
	undo_later(close_ring);
	use_slow(64, PAGE);
	buffer = (struct iovec) { page(32), 32 * PAGE };
	EXPECT(!syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1),
	       "register: %d", errno);
	REQUIRE(count(SLOW) == 64, "slow memory cannot be pinned");
	expect_stay(&(struct stayer) { "pinned", 32, 32 }, 1);
	expect_written();
	return PSI_PASS;
}

/* ------------------------------- More than one user ------------------------------- */

static void use_common(void *unused)
{
	unsigned int i;

	for (i = 0; i < mem.nr; i++)
		__atomic_load_n(page(i), __ATOMIC_RELAXED);
	++*mem.uses;
	for (;;)
		pause();
}

/* Some others map what this program has. */
static void share(int others)
{
	int i;

	mem.uses = shared_alloc(sizeof(*mem.uses));
	for (i = 0; i < others; i++)
		start_load(-1, use_common, NULL);
	EXPECT(wait_until(*mem.uses == others, 10000), "only %d others use it", *mem.uses);
}

static enum psi_result shared_pages(void)
{
	use_slow_as(MAP_SHARED, 64, PAGE);
	share(9);
	expect_stay(&(struct stayer) { "shared", 0, 64 }, 1);
	promote(false);
	stop_all_loads();
	share(3);
	promote(true);
	expect_fast(64, 20000);
	return PSI_PASS;
}

static void drop_cache(void)
{
	write_text("/proc/sys/vm/drop_caches", "1");
}

static int sum_up(void)
{
	unsigned int i;
	int sum = 0;

	for (i = 0; i < mem.nr; i++)
		sum += __atomic_load_n(page(i), __ATOMIC_RELAXED);
	return sum;
}

static void unmap_file(void)
{
	munmap(mem.at, mem.nr * mem.size);
}

/* Pages of the page cache, clean ones, and who maps them finds what is on the disk. */
static enum psi_result file_pages(void)
{
	const char *disk;
	int fd, sum;

	require_tiers();
	REQUIRE(!booted_with(NODE_GOES), "the cache of a disk is not put where it may have to go");
	disk = slow_disk(0);
	REQUIRE(disk, "needs null_blk and configfs");
	fd = open(disk, O_RDONLY);
	EXPECT(fd >= 0, "%s", disk);
	undo_later(drop_cache);
	mem.nr = 64;
	mem.size = PAGE;
	mem.at = mmap(NULL, mem.nr * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	EXPECT(mem.at != MAP_FAILED, "mmap");
	undo_later(unmap_file);
	set_task_policy(MPOL_BIND, SLOW);
	sum = sum_up();
	usual_task_policy();
	EXPECT(count(SLOW) == mem.nr, "the cache is elsewhere");
	access_memory();
	share(2);
	start();
	expect_part_fast(0, mem.nr, mem.nr, 20000);
	EXPECT(sum_up() == sum, "there is something else in some page");
	return PSI_PASS;
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

static enum psi_result moved_by_others(void)
{
	struct account before, now;
	pid_t self = getpid();

	use_slow(512, PAGE);
	/* A page that is just being moved is dear to sample, so with a quota few are. */
	EXPECT(!set_knob("quota_permille", "0"), "quota_permille");
	EXPECT(!set_knob("load_period", "%d", PER_S / 1000), "load_period");
	mem.uses = shared_alloc(sizeof(*mem.uses));
	start_load(1, move_to_and_fro, &self);
	before = get_account();
	start();
	wait_slowly((now = get_account()).promoted - before.promoted > mem.nr / 2 &&
		    now.returned - before.returned > mem.nr / 4 && *mem.uses > 500, 60000);
	stop_all_loads();
	psi_note("%d times to and fro, %llu told, %llu promoted, %llu have returned", *mem.uses,
		 now.told - before.told, now.promoted - before.promoted,
		 now.returned - before.returned);
	EXPECT(*mem.uses > 500 && now.returned - before.returned > mem.nr / 4, "nobody moves it");
	EXPECT(now.promoted - before.promoted > mem.nr / 2, "nothing is promoted");
	expect_written();
	return PSI_PASS;
}

/* Told of again while they wait: the first one counts, the others find it gone. */
static enum psi_result told_twice(void)
{
	struct account before, after;
	unsigned int i, up;

	use_slow(1024, PAGE);
	/* 2 MiB go at once. */
	EXPECT(!set_knob("promote_mb_per_s", "1"), "promote_mb_per_s");
	before = get_account();
	start();
	for (i = 0; i < 8; i++) {
		after = get_account();
		wait_slowly(get_account().told > after.told, 400);
		EXPECT(!set_knob("promote_nodes", i % 2 ? "\n" : "1"), "promote_nodes");
	}
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	/* It takes long until the last one is hot, and longer in a kernel that checks itself. */
	expect_fast(mem.nr / 2, 40000);
	/* What is counted below must not change meanwhile. */
	stop();
	after = get_account();
	up = count(FAST);
	psi_note("%u pages: %llu told, %llu promoted", mem.nr, after.told - before.told,
		 after.promoted - before.promoted);
	EXPECT(after.told - before.told > up + mem.nr / 32, "nothing is told of twice");
	EXPECT(after.promoted - before.promoted == up, "%u are fast, %llu promoted", up,
	       after.promoted - before.promoted);
	return PSI_PASS;
}

/* ---------------------------------- No room ---------------------------------- */

static unsigned long free_kb(int node)
{
	char path[64], text[8192], *at;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	EXPECT(read_text(path, text, sizeof(text)) > 0, "%s", path);
	at = strstr(text, "MemFree:");
	EXPECT(at, "%s", text);
	return strtoul(at + strlen("MemFree:"), NULL, 10);
}

static char *fill(int mode, int node, size_t size)
{
	char *at = map(MAP_PRIVATE, size, PAGE);

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
	unsigned long long full, told;
	char *filling;
	__u64 from;

	use_slow(512, PAGE);
	filling = fill_fast_node();
	full = get_failed("full");
	told = get_account().told;
	from = now_ns();
	start();
	wait_slowly(get_failed("full") - full >= mem.nr, 30000);
	full = get_failed("full") - full;
	told = get_account().told - told;
	psi_note("%llu times told of %u pages, and %llu times they failed", told, mem.nr, full);
	EXPECT(full >= mem.nr, "only %llu have failed", full);
	EXPECT(told <= mem.nr * ((now_ns() - from) / NSEC_PER_MSEC / 3500 + 2),
	       "told of %llu times", told);
	EXPECT(count(FAST) <= mem.nr / 8, "%u are promoted where there is no room", count(FAST));
	return filling;
}

/* It may have given up while there was nobody to demote to, until somebody else finds room. */
static void revive_kswapd(void)
{
	fill(MPOL_BIND, FAST, 1 << 20);
}

/* With demotion, there comes to be room. */
static enum psi_result full(void)
{
	unsigned long long demoted;

	no_room();
	demoted = get_vmstat("pgdemote_kswapd");
	EXPECT(!write_text(DEMOTION, "1"), "demotion");
	revive_kswapd();
	promote(false);
	promote(true);
	expect_fast(mem.nr / 2, 60000);
	psi_note("%llu are demoted", get_vmstat("pgdemote_kswapd") - demoted);
	return PSI_PASS;
}

/* What stays hot until there is room is promoted then, though all tries had failed. */
static enum psi_result room_later(void)
{
	unmap(no_room());
	expect_fast(mem.nr * 9 / 10, 20000);
	return PSI_PASS;
}

/* What waits for room is freed, and other memory comes to be there. */
static enum psi_result freed_meanwhile(void)
{
	unsigned long long gone;
	unsigned int round;

	use_slow(512, PAGE);
	fill_fast_node();
	gone = get_failed("gone") + get_failed("cold");
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
	gone = get_failed("gone") + get_failed("cold") - gone;
	psi_note("gone or cold: %llu", gone);
	EXPECT(gone, "nothing was freed while it was queued");
	return PSI_PASS;
}

/* What is promoted makes room where it was. */
static enum psi_result source_is_full(void)
{
	unsigned long before;

	use_slow(512, PAGE);
	fill(MPOL_PREFERRED, SLOW, free_kb(SLOW) * 1024 - (8 << 20));
	before = free_kb(SLOW);
	start();
	expect_fast(mem.nr * 9 / 10, 20000);
	psi_note("%lu kB were free on the slow node, %lu are now", before, free_kb(SLOW));
	return PSI_PASS;
}

/* ------------------------------ What comes and goes ------------------------------ */

/* Everything on and off, while all else goes on. */
static enum psi_result on_and_off(void)
{
	struct account before, after;
	unsigned int i;

	use_slow(1024, PAGE);
	before = get_account();
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
	after = get_account();
	psi_note("%llu told, %llu promoted, %llu dropped", after.told - before.told,
		 after.promoted - before.promoted, after.dropped - before.dropped);
	EXPECT(after.promoted > before.promoted, "nothing was promoted meanwhile");
	EXPECT(!after.queued, "it is off, and some are queued");
	wait_windows(3);
	EXPECT(get_account().told == after.told && get_account().promoted == after.promoted,
	       "it is off, and goes on");
	if (find_task("kspromoted") || get_promotion("past_bytes"))
		psi_note("its thread is there still, or what it remembers");
	promote(true);
	expect_fast(mem.nr / 2, 60000);
	return PSI_PASS;
}

#define BALANCING	"/proc/sys/kernel/numa_balancing"

static void no_balancing(void)
{
	write_text(BALANCING, "0");
}

static enum psi_result with_balancing(void)
{
	unsigned int mode;
	__u64 end;

	REQUIRE(!access(BALANCING, F_OK), "no NUMA balancing");
	undo_later(no_balancing);
	use_slow(256, PAGE);
	for (mode = 1; mode <= 2; mode++) {
		psi_note("mode %u", mode);
		EXPECT(!write_text(BALANCING, "%u", mode), "mode %u", mode);
		make_slow();
		start();
		for (end = now_ns() + 5 * NSEC_PER_SEC; now_ns() < end; get_account())
			sum_up();
		expect_fast(mem.nr * 9 / 10, 10000);
		stop();
	}
	return PSI_PASS;
}

#define BLOCKS		"/sys/devices/system/memory/"
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

static void online_blocks(void)
{
	char path[128], state[32];
	unsigned int i;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), BLOCKS "memory%u/state", i);
		if (read_text(path, state, sizeof(state)) > 0 && !strncmp(state, "offline", 7))
			write_text(path, "online_movable");
	}
}

/* A node that loses memory, or all of it, while its pages are promoted */
static enum psi_result memory_goes(void)
{
	unsigned int round, off = 0;
	bool gone = false;
	char text[64];

	REQUIRE(!access(BLOCKS, F_OK), "no memory hotplug");
	use_slow(1024, PAGE);
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
	return PSI_PASS;
}

/* If much comes back, less is promoted; and that is seen. */
static enum psi_result much_returns(void)
{
	unsigned long long before, kb;

	use_slow(8, HUGE);
	before = get_account().returned;
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
	unmap(mem.at);
	EXPECT(wait_slowly(!get_promotion("past_bytes"), 5000), "something is remembered");
	return PSI_PASS;
}

/* What has just been mapped or moved waits until some more is, on this CPU. */
static void fill_lists(void)
{
	char *at = map(MAP_PRIVATE, 64 * PAGE, PAGE);

	memset(at, 1, 64 * PAGE);
	unmap(at);
}

/* After so many samples, in another window than the next ones, it is as slow as it was. */
static void expect_not_enough(unsigned int samples, unsigned int returns)
{
	touch_watched(samples);
	wait_windows(2);
	EXPECT(node_of(WATCHED) == SLOW, "%u samples more are enough after %u returns", samples,
	       returns);
}

static enum psi_result earns_more(void)
{
	/* For each time that it came back */
	static const unsigned int wanted[] = { 2, 4, 8, 16, 16 };
	unsigned long long barred = 0, returned;
	unsigned int n, had = 0;

	require_tiers();
	undo_later(no_promotion);
	use_breakpoint(WATCHED);
	EXPECT(!set_knob("window_ms", "500"), "window");
	map_watched();
	EXPECT(!pin_to_cpu(0), "CPU 0");
	set_policy(WATCHED, PAGE, MPOL_BIND, SLOW);
	WATCHED[0] = 1;
	set_policy(WATCHED, PAGE, MPOL_DEFAULT, 0);
	mem.at = WATCHED;
	mem.nr = 1;
	mem.size = PAGE;
	promote(true);
	start_sampling();
	wait_windows(2);
	returned = get_account().returned;
	for (n = 0; n < ARRAY_SIZE(wanted); had = wanted[n++]) {
		fill_lists();
		if (wanted[n] - 1 > had) {
			expect_not_enough(wanted[n] - 1 - had, n);
			EXPECT(!n || get_failed("barred") > barred, "the reason is another one");
		}
		touch_watched(1);
		EXPECT(wait_until(node_of(WATCHED) == FAST, 1500),
		       "%u samples are not enough after %u returns", wanted[n], n);
		/* It is asked about once in a window. */
		wait_windows(1);
		barred = get_failed("barred");
		move_all_back();
		EXPECT(get_account().returned == returned + n + 1, "%llu have returned",
		       get_account().returned - returned);
	}
	return PSI_PASS;
}

/* -------------------------------- A group of its own -------------------------------- */

#define GROUPS	"/sys/fs/cgroup/"
#define GROUP	GROUPS "ks_promote"

static void leave_group(void)
{
	write_text(GROUPS "cgroup.procs", "0");
	rmdir(GROUP);
}

static void enter_group(const char *controller)
{
	write_text(GROUPS "cgroup.subtree_control", "+%s", controller);
	undo_later(leave_group);
	REQUIRE(!mkdir(GROUP, 0755), "no cgroup");
	EXPECT(!write_text(GROUP "/cgroup.procs", "0"), "cgroup.procs");
}

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
	at = at ? strstr(at, node) : NULL;
	EXPECT(at, "numa_stat: %s", text);
	return strtoull(at + strlen(node), NULL, 10);
}

/* What is counted on each CPU is summed up every two seconds, or later. */
static void expect_charged(const char *node, unsigned long long bytes)
{
	EXPECT(wait_slowly(group_bytes(node) >= bytes, 10000), "%s%llu is charged, not %llu",
	       node, group_bytes(node), bytes);
}

static enum psi_result stays_charged(void)
{
	require_tiers();
	enter_group("memory");
	REQUIRE(!access(GROUP "/memory.numa_stat", F_OK), "no memory cgroup");
	use_slow(512, PAGE);
	expect_charged("N1=", mem.nr * PAGE);
	start();
	expect_fast(mem.nr / 2, 30000);
	stop();
	expect_charged("N0=", count(FAST) * PAGE);
	return PSI_PASS;
}

static enum psi_result stays_in_cpuset(void)
{
	use_slow(64, PAGE);
	enter_group("cpuset");
	REQUIRE(!write_text(GROUP "/cpuset.mems", "%d", SLOW), "no cpuset");
	expect_stay(&(struct stayer) { "policy", 0, 64 }, 1);
	return PSI_PASS;
}

static enum psi_result group_is_gone(void)
{
	require_tiers();
	enter_group("memory");
	use_slow(256, PAGE);
	start();
	expect_fast(1, 5000);
	remove_group();
	expect_fast(mem.nr * 9 / 10, 20000);
	return PSI_PASS;
}

/* Groups come and go with what they have. */
static enum psi_result groups_come_and_go(void)
{
	unsigned int round;

	use_slow(128, PAGE);
	start();
	for (round = 0; round < 10; round++) {
		enter_group("memory");
		make_slow();
		sleep_ms(random_below(500));
		remove_group();
		get_account();
	}
	expect_fast(mem.nr / 2, 20000);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-31 off until it is switched on, from nodes that are wanted", off_at_first },
	{ "R-31 bounds of knobs", knobs },
	{ "R-31 knobs need a privilege", privilege },
	{ "R-31 hot pages of slow memory go to fast memory", hot_goes_up },
	{ "R-31 cold pages stay", cold_stays },
	{ "R-31 pages that are hot for a moment stay", hot_for_a_moment },
	{ "R-31 huge pages go whole, at the rate", rate },
	{ "R-31 pages that are bound, locked or held stay", who_stays },
	{ "R-31 pages stay where their task wants them", task_policy },
	{ "R-31 pages that are freed meanwhile", freed_meanwhile },
	{ "R-31 pages stay hot until there is room", room_later },
	{ "R-31 few pages", few_pages },
	{ "R-31 pages that are pinned for long stay", pinned_for_long },
	{ "R-31 pages that some programs share, or many", shared_pages },
	{ "R-31 pages of the page cache", file_pages },
	{ "R-31 pages that others move", moved_by_others, 2 },
	{ "R-31 pages that are told of twice", told_twice },
	{ "R-31 together with NUMA balancing", with_balancing },
	{ "R-31 memory that goes offline", memory_goes },
	{ "R-31 slow memory that is full", source_is_full },
	{ "R-31 a page that came back has to be hotter", earns_more },
	{ "R-31 much that comes back lowers the rate", much_returns },
	{ "R-31 on and off under load", on_and_off },
	{ "R-31 pages stay charged to their group", stays_charged },
	{ "R-31 pages of a group that is gone", group_is_gone },
	{ "R-31 groups that come and go", groups_come_and_go },
	{ "R-31 pages stay in the cpuset of their task", stays_in_cpuset },
	{ "R-31 a full node", full },
};

int main(int argc, char **argv)
{
	/* What is plugged in before the tables are read is taken for fast. */
	if (booted_with(NODE_GOES))
		online_blocks();
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
