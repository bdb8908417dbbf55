// SPDX-License-Identifier: GPL-2.0
/*
 * hot pages of slow memory go to fast memory, and others stay. What goes on meanwhile
 * is in ks_changes.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ks_promote_util.h"

#define MOMENT_MS	3000

/* Of this program, until the case ends */
static void set_task_policy(int mode, int node)
{
	unsigned long nodes = 1UL << node;

	EXPECT(!syscall(SYS_set_mempolicy, mode, mode == MPOL_DEFAULT ? NULL : &nodes, 64),
	       "set_mempolicy");
}

/* Pages that are listed as hot */
static unsigned int count_hot(void)
{
	struct hot_page pages[256];

	return read_hot_pages(pages, ARRAY_SIZE(pages));
}

/* ------------------------------ Pages that go ------------------------------ */

static void hot_goes_up(void)
{
	struct account a = get_account();
	unsigned long long counted, fast, slow, samples;
	unsigned int up;

	counted = get_vmstat("ksamplingd_promoted");
	fast = get_vmstat("ksamplingd_samples_fast");
	slow = get_vmstat("ksamplingd_samples_slow");
	samples = get_vmstat("ksamplingd_samples");
	start();
	expect_fast(mem.nr * 9 / 10, 30000);
	stop();
	up = count(FAST);
	a = account_since(&a);
	EXPECT(a.promoted == up, "%llu are said to be promoted, not %u", a.promoted, up);
	EXPECT(get_vmstat("ksamplingd_promoted") - counted == up, "vmstat");
	EXPECT(!a.queued, "it is off, and some are queued");
	fast = get_vmstat("ksamplingd_samples_fast") - fast;
	slow = get_vmstat("ksamplingd_samples_slow") - slow;
	samples = get_vmstat("ksamplingd_samples") - samples;
	EXPECT(fast && slow && fast + slow == samples, "%llu samples fast, %llu slow of %llu",
	       fast, slow, samples);
}

/* However often: what is read from one end to the other is not hot when it has been promoted. */
static void hot_for_a_moment(void)
{
	unsigned long long samples, told;
	unsigned int nr = mem.nr, up;

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
}

/* What is hot stays, and nobody is told of it. */
static void expect_nothing(unsigned long long told)
{
	EXPECT(wait_slowly(count_hot() >= mem.nr / 2, 20000), "only %u are hot", count_hot());
	wait_windows(3);
	EXPECT(count(SLOW) == mem.nr, "pages have moved");
	EXPECT(get_account().told == told, "somebody was told");
}

static void off_at_first(void)
{
	unsigned long long told = get_account().told;

	EXPECT(!get_knob("promote"), "it is on");
	switch_on();
	expect_nothing(told);

	/* Nor from nodes that are not wanted; and fast memory is none of them. */
	EXPECT(!set_knob("promote_nodes", "%d", FAST), "promote_nodes");
	promote(true);
	expect_nothing(told);

	/* but what is hot already, as soon as they are. */
	EXPECT(!set_knob("promote_nodes", "%d", SLOW), "promote_nodes");
}

/* Many pages, of which few are the hottest that fit. */
static enum psi_result cold_stays(void)
{
	unsigned int hot = 256, up, tail;

	REQUIRE(psi_slowness() == 1, "needs a kernel that does not check itself");
	use_slow(MAP_PRIVATE, 8192, PAGE);
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
static void rate(void)
{
	unsigned int mb_per_s = 4, up;
	double seconds;
	__u64 from;

	EXPECT(!set_knob("promote_mb_per_s", "%u", mb_per_s), "promote_mb_per_s");
	switch_on();
	EXPECT(wait_slowly(count_hot() == mem.nr, 20000), "only %u are hot", count_hot());
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
	expect_fast(mem.nr, 20000);
	EXPECT(is_huge(), "some were split");
}

/*
 * A page that has just come is on no list before its CPU has some more of them. But when
 * khugepaged looks for huge pages, it puts all there, too.
 */
static enum psi_result few_pages(void)
{
	unsigned int round;

	EXPECT(!pin_to_cpu(online_cpus() - 1), "the last CPU");
	write_text(HUGE_PAGES, "never");
	for (round = 0; round < 4; round++) {
		use_slow(MAP_PRIVATE, 4, PAGE);
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
	expect_privileged(all, ARRAY_SIZE(all));
	return PSI_PASS;
}

/* ------------------------------ Pages that stay ------------------------------ */

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
		before[i] = get_promotion(s[i].reason);
	start();
	if (s[0].first)
		expect_part_fast(0, s[0].first, s[0].first, 30000);
	for (i = 0; i < kinds; i++)
		EXPECT(wait_slowly(get_promotion(s[i].reason) - before[i] >= s[i].nr / 2, 30000),
		       "%s: only %llu of %u", s[i].reason, get_promotion(s[i].reason) - before[i],
		       s[i].nr);
	/* None of them is tried again, but those for which there is hope. */
	sleep_ms(TRIES_MS);
	for (i = 0; i < kinds; i++) {
		failed = get_promotion(s[i].reason) - before[i];
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

/* All of it, for one reason */
static void expect_all_stay(const char *reason)
{
	expect_stay(&(struct stayer) { reason, 0, mem.nr }, 1);
}

/* What has the pages: a pipe, or a ring */
static int holders[2] = { -1, -1 };

static void close_holders(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (holders[i] >= 0)
			close(holders[i]);
		holders[i] = -1;
	}
}

static void hold(unsigned int first, unsigned int nr)
{
	struct iovec pages;
	unsigned int i;

	undo_later(close_holders);
	EXPECT(!pipe(holders), "pipe");
	fcntl(holders[1], F_SETPIPE_SZ, nr * PAGE);
	for (i = first; i < first + nr; i++) {
		pages = (struct iovec) { page(i), PAGE };
		EXPECT(vmsplice(holders[1], &pages, 1, 0) == (ssize_t)PAGE, "vmsplice");
	}
}

/* What is bound to the slow node stays, and so does what is locked or held. */
static void who_stays(void)
{
	static const struct stayer all[] = {
		{ "failed_policy", 32, 32 }, { "failed_pinned", 64, 32 },
		{ "failed_busy", 96, 32, true },
	};

	set_policy(page(32), 32 * PAGE, MPOL_BIND, SLOW);
	EXPECT(!mlock(page(64), 32 * PAGE), "mlock");
	hold(96, 32);
	expect_stay(all, ARRAY_SIZE(all));
	/* and not for ever, but as long as it is hot. */
	close_holders();
	expect_part_fast(96, 32, 32, 20000);
	EXPECT(count_part(SLOW, 32, 64) == 64, "what has to stay has moved");
	expect_written();
}

static void task_policy(void)
{
	set_task_policy(MPOL_BIND, SLOW);
	expect_all_stay("failed_policy");
}

static void stays_in_cpuset(void)
{
	enter_group("cpuset");
	REQUIRE(!write_text(GROUP "/cpuset.mems", "%d", SLOW), "no cpuset");
	expect_all_stay("failed_policy");
}

/* Pinned for a ring, as for a device, and no more. */
static void pinned_for_long(void)
{
	struct iovec buffer = { page(32), 32 * PAGE };
	struct io_uring_params params = {};

	undo_later(close_holders);
	holders[0] = syscall(__NR_io_uring_setup, 4, &params);
	REQUIRE(holders[0] >= 0, "needs io_uring");
	EXPECT(!syscall(__NR_io_uring_register, holders[0], IORING_REGISTER_BUFFERS, &buffer, 1),
	       "register: %d", errno);
	REQUIRE(count(SLOW) == mem.nr, "slow memory cannot be pinned");
	expect_stay(&(struct stayer) { "failed_pinned", 32, 32 }, 1);
	expect_written();
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

static void shared_pages(void)
{
	share(9);
	expect_all_stay("failed_shared");
	promote(false);
	stop_all_loads();
	share(3);
	promote(true);
}

static int sum_up(void)
{
	unsigned int i;
	int sum = 0;

	for (i = 0; i < mem.nr; i++)
		sum += __atomic_load_n(page(i), __ATOMIC_RELAXED);
	return sum;
}

static void drop_file(void)
{
	munmap(mem.at, mem.nr * mem.size);
	write_text("/proc/sys/vm/drop_caches", "1");
}

/* Clean pages of the page cache. Their mapping shows what is on the disk. */
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
	mem.nr = 64;
	mem.size = PAGE;
	mem.at = mmap(NULL, mem.nr * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	EXPECT(mem.at != MAP_FAILED, "mmap");
	undo_later(drop_file);
	set_task_policy(MPOL_BIND, SLOW);
	sum = sum_up();
	set_task_policy(MPOL_DEFAULT, FAST);
	EXPECT(count(SLOW) == mem.nr, "the cache is elsewhere");
	access_memory();
	share(2);
	start();
	expect_part_fast(0, mem.nr, mem.nr, 20000);
	EXPECT(sum_up() == sum, "there is something else in some page");
	return PSI_PASS;
}

static void with_balancing(void)
{
	unsigned int mode;
	__u64 end;

	REQUIRE(!access(BALANCING, F_OK), "no NUMA balancing");
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
}

static const struct psi_case cases[] = {
	{ "R-31 off until it is switched on, from nodes that are wanted",
	  SLOW_MEMORY(off_at_first, 64, .percent = 50, .ms = 20000) },
	{ "R-31 bounds of knobs", knobs },
	{ "R-31 knobs need a privilege", privilege },
	{ "R-31 hot pages of slow memory go to fast memory", SLOW_MEMORY(hot_goes_up, 256) },
	{ "R-31 cold pages stay", cold_stays },
	{ "R-31 pages that are hot for a moment stay",
	  SLOW_MEMORY(hot_for_a_moment, 64, .percent = 90, .ms = 4 * MOMENT_MS) },
	{ "R-31 huge pages go whole, at the rate", SLOW_MEMORY(rate, 24, HUGE) },
	{ "R-31 pages that are bound, locked or held stay", SLOW_MEMORY(who_stays, 128) },
	{ "R-31 pages stay where their task wants them", SLOW_MEMORY(task_policy, 32) },
	{ "R-31 few pages", few_pages },
	{ "R-31 pages that are pinned for long stay", SLOW_MEMORY(pinned_for_long, 64) },
	{ "R-31 pages that some programs share, or many",
	  SLOW_MEMORY(shared_pages, 64, .shared = true, .percent = 100, .ms = 20000) },
	{ "R-31 pages of the page cache", file_pages },
	{ "R-31 together with NUMA balancing", SLOW_MEMORY(with_balancing, 256) },
	{ "R-31 pages stay in the cpuset of their task", SLOW_MEMORY(stays_in_cpuset, 64) },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
