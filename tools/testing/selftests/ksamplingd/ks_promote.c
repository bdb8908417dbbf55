// SPDX-License-Identifier: GPL-2.0
/*
 * hot pages of slow memory go to fast memory. In a guest whose node 1 has no CPU, and
 * is of a lower tier. The test PMU says which pages of this program are accessed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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
#define PAGE		4096UL
#define HUGE		(512 * PAGE)
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

/* All of it at one moment, and it adds up. */
static struct account get_account(void)
{
	char text[4096], word[32], *line, *save;
	struct account a = {};
	unsigned long long n;

	EXPECT(read_text(VIEWS "promotion", text, sizeof(text)) > 0, "no promotion");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		EXPECT(sscanf(line, "%31s %llu", word, &n) == 2, "promotion: %s", line);
		if (!strcmp(word, "told"))
			a.told = n;
		else if (!strcmp(word, "promoted"))
			a.promoted = n;
		else if (!strcmp(word, "queued"))
			a.queued = n;
		else if (!strcmp(word, "dropped"))
			a.dropped = n;
		else if (!strcmp(word, "returned"))
			a.returned = n;
		else if (!strncmp(word, "failed_", 7))
			a.failed += n;
	}
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

/* -------------------------------- Its memory -------------------------------- */

static long set_policy(char *mem, size_t size, int mode, unsigned long nodes)
{
	return syscall(SYS_mbind, mem, size, mode, mode == MPOL_DEFAULT ? NULL : &nodes,
		       mode == MPOL_DEFAULT ? 0 : 64, 0);
}

static int node_of(char *page)
{
	void *where = page;
	int node = -1;

	EXPECT(!syscall(SYS_move_pages, 0, 1, &where, NULL, &node, 0), "move_pages");
	return node;
}

static unsigned int count_on(int node, char *mem, unsigned int nr, size_t size)
{
	unsigned int i, found = 0;

	for (i = 0; i < nr; i++)
		found += node_of(mem + i * size) == node;
	return found;
}

static struct {
	char *mem;
	size_t size;
} mapped[8];

static void unmap_all(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mapped); i++) {
		if (mapped[i].mem)
			munmap(mapped[i].mem, mapped[i].size);
		mapped[i].mem = NULL;
	}
}

static void unmap(char *mem)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mapped); i++) {
		if (!mapped[i].mem || mem < mapped[i].mem || mem >= mapped[i].mem + mapped[i].size)
			continue;
		munmap(mapped[i].mem, mapped[i].size);
		mapped[i].mem = NULL;
	}
}

/* Until the case ends */
static char *map_as(int flags, size_t size, size_t align)
{
	char *mem = mmap(NULL, size + align, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	size_t i;

	EXPECT(mem != MAP_FAILED, "mmap");
	for (i = 0; mapped[i].mem; i++)
		EXPECT(i + 1 < ARRAY_SIZE(mapped), "too many");
	if (!i)
		undo_later(unmap_all);
	mapped[i].mem = mem;
	mapped[i].size = size + align;
	mem = (char *)(((unsigned long)mem + align - 1) / align * align);
	madvise(mem, size, align == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return mem;
}

static char *map(size_t size, size_t align)
{
	return map_as(MAP_PRIVATE, size, align);
}

/* Memory comes to be slow, and need not be: pages or huge pages. */
static void make_slow(char *mem, unsigned int nr, size_t size)
{
	unsigned int i;

	EXPECT(!set_policy(mem, nr * size, MPOL_BIND, 1UL << SLOW), "mbind");
	for (i = 0; i < nr; i++)
		memset(mem + i * size, i + 1, size);
	EXPECT(!set_policy(mem, nr * size, MPOL_DEFAULT, 0), "mbind");
}

/* What make_slow() has written is there still. */
static void expect_written(char *mem, unsigned int nr, size_t size)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		EXPECT(mem[i * size] == (char)(i + 1) && mem[(i + 1) * size - 1] == (char)(i + 1),
		       "page %u has something else in it", i);
}

static char *slow_memory(unsigned int nr, size_t size)
{
	char *mem = map(nr * size, size);

	make_slow(mem, nr, size);
	EXPECT(count_on(SLOW, mem, nr, size) == nr, "there is no place on the slow node");
	return mem;
}

static bool is_slow_node(void)
{
	char list[64];
	int tiers = 0, i;

	for (i = 0; i < 256; i++) {
		char path[128];

		snprintf(path, sizeof(path), TIERS "memory_tier%d/nodelist", i);
		if (read_text(path, list, sizeof(list)) > 0)
			tiers++;
	}
	return tiers == 2;
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
static void access_memory(char *mem, unsigned int nr, size_t size, unsigned long long per_s)
{
	undo_later(no_promotion);
	use_test_pmu(nr, per_s);
	if (size == HUGE) {
		EXPECT(!set_test_pmu("order", 9), "order");
		REQUIRE(!set_test_pmu("pages", nr), "no huge pages");
	}
	EXPECT(!set_test_pmu("user", (unsigned long)mem), "user");
	EXPECT(!set_knob("window_ms", "200"), "window_ms");
	EXPECT(!set_knob("cool_ms", "20000"), "cool_ms");
	/* As many samples as in another kernel */
	EXPECT(!set_knob("quota_permille", "%d", 30 * psi_slowness()), "quota_permille");
}

static void promote(bool on)
{
	EXPECT(!set_knob("promote", "%d", on), "promote %d", on);
}

static void require_tiers(void)
{
	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	REQUIRE(is_slow_node(), "there is no slow memory");
}

static void show_account(void)
{
	char text[4096], all[400] = "", *line, *save;
	size_t length = 0;

	EXPECT(read_text(VIEWS "promotion", text, sizeof(text)) > 0, "no promotion");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strcmp(strchr(line, ' ') ?: "", " 0") && length < sizeof(all))
			length += snprintf(all + length, sizeof(all) - length, " %s,", line);
	psi_note("since boot:%s", all);
}

/* Return: how many are fast in the end, or when it is that many. */
static unsigned int wait_fast(char *mem, unsigned int nr, size_t size, unsigned int enough,
			      unsigned int ms)
{
	unsigned int fast = 0, waited;

	for (waited = 0; waited < ms * psi_slowness(); waited += 100) {
		fast = count_on(FAST, mem, nr, size);
		get_account();
		if (fast >= enough)
			return fast;
		sleep_ms(100);
	}
	show_account();
	return fast;
}

/* ---------------------------------- Cases ---------------------------------- */

static enum psi_result hot_goes_up(void)
{
	unsigned long long promoted, counted, fast, slow, samples;
	unsigned int nr = 256, up;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	promoted = get_account().promoted;
	counted = get_vmstat("ksamplingd_promoted");
	fast = get_vmstat("ksamplingd_samples_fast");
	slow = get_vmstat("ksamplingd_samples_slow");
	samples = get_vmstat("ksamplingd_samples");
	promote(true);
	switch_on();
	up = wait_fast(mem, nr, PAGE, nr * 9 / 10, 30000);
	psi_note("%u of %u pages are promoted", up, nr);
	EXPECT(up >= nr * 9 / 10, "only %u of %u pages are fast", up, nr);
	switch_off();
	promote(false);
	up = count_on(FAST, mem, nr, PAGE);
	EXPECT(get_account().promoted - promoted == up, "%llu are said to be promoted, not %u",
	       get_account().promoted - promoted, up);
	EXPECT(get_vmstat("ksamplingd_promoted") - counted == up, "vmstat");
	EXPECT(!get_account().queued, "it is off, and some are queued");
	fast = get_vmstat("ksamplingd_samples_fast") - fast;
	slow = get_vmstat("ksamplingd_samples_slow") - slow;
	samples = get_vmstat("ksamplingd_samples") - samples;
	EXPECT(fast && slow && fast + slow == samples, "%llu samples fast, %llu slow of %llu",
	       fast, slow, samples);
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* However often: what is read from one end to the other is not hot when it has been promoted. */
static enum psi_result hot_for_a_moment(void)
{
	unsigned long long samples, told;
	unsigned int nr = 64, up;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 0);
	EXPECT(!set_knob("window_ms", "%d", MOMENT_MS), "window_ms");
	promote(true);
	switch_on();
	/* Until it is known what hot is */
	wait_windows(2);
	told = get_account().told;
	samples = get_status("samples");
	EXPECT(!set_test_pmu("accesses_per_s", 20000000), "accesses_per_s");
	sleep_ms(MOMENT_MS * 2 / 3);
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	samples = get_status("samples") - samples;
	EXPECT(samples > 8 * nr, "only %llu samples", samples);
	wait_windows(2);
	up = count_on(FAST, mem, nr, PAGE);
	psi_note("%llu samples, %u pages have moved", samples, up);
	/* What is read late is of the next window. */
	EXPECT(up < nr / 8, "%u of %u pages have moved for a moment's use", up, nr);
	EXPECT(get_account().told - told < nr / 8, "told of %llu pages",
	       get_account().told - told);

	EXPECT(!set_test_pmu("accesses_per_s", 20000000), "accesses_per_s");
	up = wait_fast(mem, nr, PAGE, nr * 9 / 10, 4 * MOMENT_MS);
	EXPECT(up >= nr * 9 / 10, "only %u of %u pages are fast", up, nr);
	return PSI_PASS;
}

static enum psi_result off_at_first(void)
{
	struct account before;
	unsigned int nr = 64;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	EXPECT(!get_knob("promote"), "it is on");
	before = get_account();
	switch_on();
	sleep_ms(3000);
	EXPECT(count_on(SLOW, mem, nr, PAGE) == nr, "pages have moved");
	EXPECT(get_account().told == before.told, "somebody was told");

	/* Nor from nodes that are not wanted; and fast memory is none of them. */
	EXPECT(!set_knob("promote_nodes", "%d", FAST), "promote_nodes");
	promote(true);
	sleep_ms(3000);
	EXPECT(count_on(SLOW, mem, nr, PAGE) == nr, "pages of another node have moved");
	EXPECT(get_account().told == before.told, "somebody was told");

	/* but what is hot already, as soon as they are. */
	EXPECT(!set_knob("promote_nodes", "%d", SLOW), "promote_nodes");
	EXPECT(wait_fast(mem, nr, PAGE, nr / 2, 20000) >= nr / 2, "nothing moves");
	return PSI_PASS;
}

/* Many pages, of which few are the hottest that fit. */
static enum psi_result cold_stays(void)
{
	unsigned int nr = 8192, hot = 256, up, tail;
	char *mem;

	require_tiers();
	REQUIRE(psi_slowness() == 1, "needs a kernel that does not check itself");
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	EXPECT(!set_knob("hot_target_mb", "1"), "hot_target_mb");
	switch_on();
	/* Before there is something to compare, two samples are many. */
	sleep_ms(15000);
	promote(true);
	sleep_ms(10000);
	up = count_on(FAST, mem, nr, PAGE);
	tail = count_on(FAST, mem + nr / 2 * PAGE, nr / 2, PAGE);
	psi_note("%u pages of %u are promoted, %u of the colder half", up, nr, tail);
	EXPECT(up >= hot / 4, "only %u pages are promoted", up);
	EXPECT(up <= hot * 4, "%u pages are promoted, where %u fit", up, hot);
	EXPECT(tail <= hot / 16, "%u of the colder half are promoted", tail);
	return PSI_PASS;
}

/* Huge pages in a range */
static unsigned long huge_kb(char *mem, size_t size)
{
	unsigned long from = 0, to = 0, kb, sum = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[256];

	EXPECT(file, "smaps");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			continue;
		if (sscanf(line, "AnonHugePages: %lu", &kb) == 1 &&
		    from < (unsigned long)mem + size && to > (unsigned long)mem)
			sum += kb;
	}
	fclose(file);
	return sum;
}

/* Huge pages go whole, and no more of them than the rate allows. */
static enum psi_result rate(void)
{
	unsigned int nr = 24, mb_per_s = 4, up;
	double seconds;
	__u64 from;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, HUGE);
	REQUIRE(huge_kb(mem, nr * HUGE) == nr * HUGE / 1024, "no huge pages");
	access_memory(mem, nr, HUGE, 20000000);
	EXPECT(!set_knob("promote_mb_per_s", "%u", mb_per_s), "promote_mb_per_s");
	switch_on();
	sleep_ms(2000);
	promote(true);
	from = now_ns();
	sleep_ms(8000);
	up = count_on(FAST, mem, nr, HUGE);
	seconds = (now_ns() - from) / 1e9;
	psi_note("%u MB in %.2f s at %u MB/s", 2 * up, seconds, mb_per_s);
	/* One at once, and one ahead of time */
	EXPECT(2 * up <= mb_per_s * seconds + 4, "too fast: %u MB in %.2f s", 2 * up, seconds);
	EXPECT(2 * up >= mb_per_s * seconds * 0.7, "too slow: %u MB in %.2f s", 2 * up,
	       seconds);
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	EXPECT(wait_fast(mem, nr, HUGE, nr, 20000) == nr, "not all are promoted");
	EXPECT(huge_kb(mem, nr * HUGE) == nr * HUGE / 1024, "some were split: %lu kB are left",
	       huge_kb(mem, nr * HUGE));
	return PSI_PASS;
}

static enum psi_result knobs(void)
{
	static const struct {
		const char *name;
		const char *good;
		const char *bad[5];
	} all[] = {
		{ "promote", "1", { "2", "-1", "x", "1x", "4294967297" } },
		{ "promote_mb_per_s", "7", { "0", "-1", "x", "100001", "4294967297" } },
		{ "promote_nodes", "1", { "1000", "0-1000", "x", "-1", "3-1" } },
	};
	char before[64], after[64], path[128];
	size_t i, k;

	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	undo_later(no_promotion);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		snprintf(path, sizeof(path), KNOBS "%s", all[i].name);
		EXPECT(!set_knob(all[i].name, "%s", all[i].good), "%s: %s", all[i].name,
		       all[i].good);
		EXPECT(read_text(path, before, sizeof(before)) > 0, "%s", path);
		EXPECT(atoi(before) == atoi(all[i].good), "%s is %s", all[i].name, before);
		for (k = 0; k < ARRAY_SIZE(all[i].bad); k++) {
			EXPECT(set_knob(all[i].name, "%s", all[i].bad[k]) == -EINVAL,
			       "%s takes %s", all[i].name, all[i].bad[k]);
			EXPECT(read_text(path, after, sizeof(after)) > 0 &&
			       !strcmp(before, after), "%s: %s changes %s to %s", all[i].name,
			       all[i].bad[k], before, after);
		}
	}
	return PSI_PASS;
}

/* Root without any privilege: the files are its own, and that is not enough. */
static void write_unprivileged(void *results)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};
	atomic_int *result = results;

	syscall(SYS_capset, &header, none);
	result[0] = set_knob("promote", "1");
	result[1] = set_knob("promote_mb_per_s", "3");
	result[2] = set_knob("promote_nodes", "%d", FAST);
	result[3] = 1;
	for (;;)
		pause();
}

static void write_as_user(void *results)
{
	atomic_int *result = results;

	if (setresuid(1000, 1000, 1000))
		_exit(1);
	result[0] = set_knob("promote", "1");
	result[1] = set_knob("promote_mb_per_s", "3");
	result[2] = set_knob("promote_nodes", "%d", FAST);
	result[3] = 1;
	for (;;)
		pause();
}

static enum psi_result privilege(void)
{
	atomic_int *result = shared_alloc(4 * sizeof(*result));
	atomic_int *of_user = shared_alloc(4 * sizeof(*of_user));
	int i;

	require_tiers();
	undo_later(no_promotion);
	start_load(-1, write_unprivileged, result);
	start_load(-1, write_as_user, of_user);
	while (!result[3] || !of_user[3])
		sleep_ms(5);
	for (i = 0; i < 3; i++) {
		EXPECT(result[i] == -EPERM, "knob %d: %d", i, result[i]);
		EXPECT(of_user[i] == -EACCES, "knob %d: a user gets %d", i, of_user[i]);
	}
	EXPECT(!get_knob("promote"), "it is on");
	EXPECT(get_knob("promote_mb_per_s") == 100, "the rate has changed");
	EXPECT(get_knob("promote_nodes") != FAST, "the nodes have changed");
	return PSI_PASS;
}

/* What is bound to the slow node stays, and so does what is locked or held. */
static enum psi_result who_stays(void)
{
	unsigned long long policy, pinned, busy;
	unsigned int nr = 32, i;
	int ends[2], fd;
	char *mem;

	require_tiers();
	mem = slow_memory(4 * nr, PAGE);
	/* The first part is free to go. */
	EXPECT(!set_policy(mem + nr * PAGE, nr * PAGE, MPOL_BIND, 1UL << SLOW), "mbind");
	EXPECT(!mlock(mem + 2 * nr * PAGE, nr * PAGE), "mlock");
	EXPECT(!pipe(ends), "pipe");
	fcntl(ends[1], F_SETPIPE_SZ, 4 * nr * PAGE);
	for (i = 3 * nr; i < 4 * nr; i++) {
		struct iovec page = { mem + i * PAGE, PAGE };

		fd = vmsplice(ends[1], &page, 1, 0);
		EXPECT(fd == (int)PAGE, "vmsplice");
	}
	access_memory(mem, 4 * nr, PAGE, 20000000);
	policy = get_failed("policy");
	pinned = get_failed("pinned");
	busy = get_failed("busy");
	promote(true);
	switch_on();
	EXPECT(wait_fast(mem, nr, PAGE, nr, 30000) == nr, "what is free to go is not promoted");
	sleep_ms(15000);
	EXPECT(count_on(SLOW, mem + nr * PAGE, nr, PAGE) == nr, "mbind() is not kept");
	EXPECT(count_on(SLOW, mem + 2 * nr * PAGE, nr, PAGE) == nr, "mlocked pages have moved");
	EXPECT(count_on(SLOW, mem + 3 * nr * PAGE, nr, PAGE) == nr, "pages in a pipe have moved");
	policy = get_failed("policy") - policy;
	pinned = get_failed("pinned") - pinned;
	busy = get_failed("busy") - busy;
	psi_note("policy %llu, pinned %llu, busy %llu", policy, pinned, busy);
	EXPECT(policy >= nr / 2 && policy <= nr, "policy: %llu", policy);
	EXPECT(pinned >= nr / 2 && pinned <= nr, "pinned: %llu", pinned);
	/* Once in 3.5 s at most */
	EXPECT(busy && busy <= 14 * nr, "busy: %llu", busy);
	/* and not for ever, but as long as it is hot. */
	close(ends[0]);
	close(ends[1]);
	EXPECT(wait_fast(mem + 3 * nr * PAGE, nr, PAGE, nr, 20000) == nr,
	       "what was in a pipe is not promoted");
	EXPECT(count_on(SLOW, mem + nr * PAGE, 2 * nr, PAGE) == 2 * nr,
	       "what has to stay has moved");
	expect_written(mem, 4 * nr, PAGE);
	return PSI_PASS;
}

static enum psi_result task_policy(void)
{
	unsigned long nodes = 1UL << SLOW;
	unsigned int nr = 32;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	EXPECT(!syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 64), "set_mempolicy");
	promote(true);
	switch_on();
	sleep_ms(5000);
	nr -= count_on(SLOW, mem, nr, PAGE);
	EXPECT(!syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0), "set_mempolicy");
	EXPECT(!nr, "%u pages have moved", nr);
	EXPECT(get_failed("policy") > 0, "the reason is another one");
	return PSI_PASS;
}

static unsigned long free_kb(int node)
{
	char path[64], text[8192], *at;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	EXPECT(read_text(path, text, sizeof(text)) > 0, "%s", path);
	at = strstr(text, "MemFree:");
	EXPECT(at, "%s", text);
	return strtoul(at + strlen("MemFree:"), NULL, 10);
}

/* Takes what there is on the fast node, which then has no room. */
static char *fill_fast_node(void)
{
	size_t size = (free_kb(FAST) + 1024) / 1024 * 1024 * 1024;
	char *mem;

	REQUIRE(!booted_with(NODE_GOES), "the kernel itself has no other memory");
	mem = map(size, PAGE);
	EXPECT(!set_policy(mem, size, MPOL_PREFERRED, 1UL << FAST), "mbind");
	memset(mem, 1, size);
	return mem;
}

/* What waits for room is freed, and other memory comes to be there. */
static enum psi_result freed_meanwhile(void)
{
	unsigned long long gone, full;
	unsigned int nr = 512, round;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	fill_fast_node();
	gone = get_failed("gone") + get_failed("cold");
	full = get_failed("full");
	promote(true);
	switch_on();
	for (round = 0; round < 10; round++) {
		sleep_ms(1000);
		madvise(mem, nr * PAGE, MADV_DONTNEED);
		EXPECT(!set_policy(mem, nr * PAGE, MPOL_BIND, 1UL << SLOW), "mbind");
		memset(mem, 1, nr * PAGE / 2);
		EXPECT(!set_policy(mem, nr * PAGE, MPOL_DEFAULT, 0), "mbind");
		get_account();
	}
	switch_off();
	sleep_ms(3000);
	EXPECT(!get_account().queued, "%llu are queued still", get_account().queued);
	gone = get_failed("gone") + get_failed("cold") - gone;
	psi_note("gone or cold %llu, full %llu", gone, get_failed("full") - full);
	EXPECT(gone, "nothing was freed while it was queued");
	return PSI_PASS;
}

/* Everything on and off, while all else goes on. */
static enum psi_result on_and_off(void)
{
	unsigned int nr = 1024, i, k;
	void *pages[64];
	int nodes[64], status[64];
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	switch_on();
	for (i = 0; i < 60; i++) {
		promote(i % 2 == 0);
		get_account();
		if (i % 5 == 4)
			switch_off();
		/* Back again, as others could do */
		for (k = 0; k < 64; k++) {
			pages[k] = mem + k * PAGE;
			nodes[k] = SLOW;
		}
		syscall(SYS_move_pages, 0, 64, pages, nodes, status, 2 /* MPOL_MF_MOVE */);
		sleep_ms(50);
		if (i % 5 == 4)
			switch_on();
	}
	promote(false);
	/* Whoever has ended is seen for a moment. */
	for (i = 0; find_task("kspromoted") && i < 100; i++)
		sleep_ms(10);
	EXPECT(!find_task("kspromoted"), "the thread is there still");
	EXPECT(!get_account().queued, "some are queued");
	EXPECT(!get_promotion("past_bytes"), "something is remembered");
	return PSI_PASS;
}

static enum psi_result full(void)
{
	unsigned long long failed, demoted;
	unsigned int nr = 512, up;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	fill_fast_node();
	failed = get_failed("full");
	promote(true);
	switch_on();
	sleep_ms(15000);
	up = count_on(FAST, mem, nr, PAGE);
	psi_note("%u are promoted, %llu not, %lu kB are free", up, get_failed("full") - failed,
		 free_kb(FAST));
	EXPECT(up <= nr / 8, "%u are promoted where there is no room", up);
	EXPECT(get_failed("full") > failed, "the reason is another one");

	/* With demotion, there comes to be room. */
	demoted = get_vmstat("pgdemote_kswapd");
	EXPECT(!write_text(DEMOTION, "1"), "demotion");
	promote(false);
	promote(true);
	up = wait_fast(mem, nr, PAGE, nr / 2, 60000);
	psi_note("%u are promoted, %llu demoted", up, get_vmstat("pgdemote_kswapd") - demoted);
	EXPECT(up >= nr / 2, "only %u are promoted", up);
	/* With more memory, so many have room between the high and the low watermark. */
	EXPECT(psi_slowness() > 1 || get_vmstat("pgdemote_kswapd") > demoted,
	       "nothing was demoted");
	return PSI_PASS;
}

/* What stays hot until there is room is promoted then, though all tries had failed. */
static enum psi_result room_later(void)
{
	unsigned long long failed, told;
	unsigned int nr = 512, ms;
	char *mem, *filling;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	filling = fill_fast_node();
	failed = get_failed("full");
	promote(true);
	told = get_account().told;
	switch_on();
	for (ms = 0; get_failed("full") - failed < nr && ms < 30000; ms += 100)
		sleep_ms(100);
	told = get_account().told - told;
	psi_note("%llu of %u pages were told of in %u ms, %llu failed", told, nr, ms,
		 get_failed("full") - failed);
	EXPECT(get_failed("full") - failed >= nr, "only %llu have failed",
	       get_failed("full") - failed);
	EXPECT(told <= nr * (ms / 3500 + 2ULL), "told of %llu times", told);
	EXPECT(count_on(FAST, mem, nr, PAGE) <= nr / 8, "there is room");
	unmap(filling);
	EXPECT(wait_fast(mem, nr, PAGE, nr * 9 / 10, 20000) >= nr * 9 / 10,
	       "only %u are promoted", count_on(FAST, mem, nr, PAGE));
	expect_written(mem, nr, PAGE);
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
	unsigned int nr = 4, round;
	char *mem;

	require_tiers();
	EXPECT(!pin_to_cpu(online_cpus() - 1), "the last CPU");
	undo_later(huge_pages_again);
	write_text(HUGE_PAGES, "never");
	for (round = 0; round < 4; round++) {
		mem = slow_memory(nr, PAGE);
		access_memory(mem, nr, PAGE, 20000000);
		promote(true);
		switch_on();
		EXPECT(wait_fast(mem, nr, PAGE, nr, 5000) == nr, "round %u: only %u are promoted",
		       round, count_on(FAST, mem, nr, PAGE));
		switch_off();
		promote(false);
	}
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
	unsigned long long pinned;
	struct iovec buffer;
	unsigned int nr = 64;
	char *mem;

	require_tiers();
	ring = syscall(__NR_io_uring_setup, 4, &params);
	REQUIRE(ring >= 0, "needs io_uring");
	undo_later(close_ring);
	mem = slow_memory(nr, PAGE);
	buffer = (struct iovec) { mem, nr / 2 * PAGE };
	EXPECT(!syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1),
	       "register: %d", errno);
	REQUIRE(count_on(SLOW, mem, nr, PAGE) == nr, "slow memory cannot be pinned");
	access_memory(mem, nr, PAGE, 20000000);
	pinned = get_failed("pinned");
	promote(true);
	switch_on();
	EXPECT(wait_fast(mem + nr / 2 * PAGE, nr / 2, PAGE, nr / 2, 20000) == nr / 2,
	       "what is not pinned is not promoted");
	sleep_ms(2000);
	EXPECT(count_on(SLOW, mem, nr / 2, PAGE) == nr / 2, "pinned pages have moved");
	pinned = get_failed("pinned") - pinned;
	EXPECT(pinned >= nr / 4 && pinned <= nr / 2, "pinned: %llu", pinned);
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* ------------------------------- More than one user ------------------------------- */

static struct {
	char *mem;
	unsigned int nr;
	atomic_int *users;
} common;

static void use_common(void *unused)
{
	unsigned int i, sum = 0;

	for (i = 0; i < common.nr; i++)
		sum += __atomic_load_n(&common.mem[i * PAGE], __ATOMIC_RELAXED);
	*common.users += 1 + (sum & 0);
	for (;;)
		pause();
}

/* Some others map what this program has. */
static void share(char *mem, unsigned int nr, int others)
{
	common.mem = mem;
	common.nr = nr;
	common.users = shared_alloc(sizeof(*common.users));
	while (others--)
		start_load(-1, use_common, NULL);
}

static void wait_users(int users)
{
	while (*common.users < users)
		sleep_ms(10);
}

static enum psi_result shared_pages(void)
{
	unsigned long long shared;
	unsigned int nr = 64, up;
	char *mem;

	require_tiers();
	mem = map_as(MAP_SHARED, nr * PAGE, PAGE);
	make_slow(mem, nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	share(mem, nr, 9);
	wait_users(9);
	shared = get_failed("shared");
	promote(true);
	switch_on();
	sleep_ms(5000);
	EXPECT(count_on(SLOW, mem, nr, PAGE) == nr, "what ten programs use has moved");
	shared = get_failed("shared") - shared;
	EXPECT(shared >= nr / 2 && shared <= nr, "shared: %llu", shared);

	promote(false);
	stop_all_loads();
	share(mem, nr, 3);
	wait_users(3);
	promote(true);
	up = wait_fast(mem, nr, PAGE, nr, 20000);
	EXPECT(up == nr, "of what four programs use, only %u are promoted", up);
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

static void drop_cache(void)
{
	write_text("/proc/sys/vm/drop_caches", "1");
}

/* Pages of the page cache, clean ones, and who maps them finds what is on the disk. */
static enum psi_result file_pages(void)
{
	unsigned long nodes = 1UL << SLOW;
	unsigned int nr = 64, i, up;
	const char *disk;
	int fd, sum = 0;
	char *mem;

	require_tiers();
	REQUIRE(!booted_with(NODE_GOES), "the cache of a disk is not put where it may have to go");
	disk = slow_disk(0);
	REQUIRE(disk, "needs null_blk and configfs");
	fd = open(disk, O_RDONLY);
	EXPECT(fd >= 0, "%s", disk);
	undo_later(drop_cache);
	mem = mmap(NULL, nr * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	EXPECT(mem != MAP_FAILED, "mmap");
	EXPECT(!syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 64), "set_mempolicy");
	for (i = 0; i < nr; i++)
		sum += __atomic_load_n(&mem[i * PAGE], __ATOMIC_RELAXED);
	EXPECT(!syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0), "set_mempolicy");
	EXPECT(count_on(SLOW, mem, nr, PAGE) == nr, "the cache is elsewhere");
	access_memory(mem, nr, PAGE, 20000000);
	share(mem, nr, 2);
	wait_users(2);
	promote(true);
	switch_on();
	up = wait_fast(mem, nr, PAGE, nr, 20000);
	for (i = 0; i < nr; i++)
		sum -= __atomic_load_n(&mem[i * PAGE], __ATOMIC_RELAXED);
	munmap(mem, nr * PAGE);
	EXPECT(up == nr, "only %u are promoted", up);
	EXPECT(!sum, "there is something else in some page");
	return PSI_PASS;
}

/* As an administrator, or a program that knows better, could do */
static void move_to_and_fro(void *pid)
{
	unsigned int i, node = 0, seed = 1;
	void *pages[64];
	int nodes[64], status[64];

	for (;; node = !node) {
		for (i = 0; i < 64; i++) {
			seed = seed * 1103515245 + 12345;
			pages[i] = common.mem + seed / 65536 % common.nr * PAGE;
			nodes[i] = node;
		}
		syscall(SYS_move_pages, *(pid_t *)pid, 64, pages, nodes, status, 2);
		++*common.users;
		usleep(1000);
	}
}

static enum psi_result moved_by_others(void)
{
	unsigned long long promoted = 0;
	pid_t self = getpid();
	unsigned int nr = 512, i;
	struct account before;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	common.mem = mem;
	common.nr = nr;
	common.users = shared_alloc(sizeof(*common.users));
	start_load(1, move_to_and_fro, &self);
	before = get_account();
	promote(true);
	switch_on();
	for (i = 0; i < 100 || (i < 1000 && promoted <= nr / 2); i++) {
		sleep_ms(50);
		promoted = get_account().promoted - before.promoted;
	}
	stop_all_loads();
	psi_note("%d times to and fro, %llu told, %llu promoted", *common.users,
		 get_account().told - before.told, get_account().promoted - before.promoted);
	EXPECT(*common.users > 10, "nobody moves it");
	EXPECT(get_account().promoted - before.promoted > nr / 2, "nothing is promoted");
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* Told of again while they wait: the first one counts, the others find it gone. */
static enum psi_result told_twice(void)
{
	unsigned int nr = 1024, i, up;
	struct account before, after;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	/* 2 MiB go at once. */
	EXPECT(!set_knob("promote_mb_per_s", "1"), "promote_mb_per_s");
	before = get_account();
	promote(true);
	switch_on();
	for (i = 0; i < 8; i++) {
		sleep_ms(400);
		EXPECT(!set_knob("promote_nodes", i % 2 ? "\n" : "1"), "promote_nodes");
		get_account();
	}
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	up = wait_fast(mem, nr, PAGE, nr, 40000);
	sleep_ms(2000);
	/* What is counted below must not change meanwhile. */
	switch_off();
	promote(false);
	after = get_account();
	psi_note("%u pages: %llu told, %llu promoted", nr, after.told - before.told,
		 after.promoted - before.promoted);
	/* It takes long until the last one is hot, and longer in a kernel that checks itself. */
	EXPECT(up >= nr / 2, "only %u are promoted", up);
	EXPECT(after.told - before.told > up + nr / 32, "nothing is told of twice");
	up = count_on(FAST, mem, nr, PAGE);
	EXPECT(after.promoted - before.promoted == up, "%u are fast, %llu promoted", up,
	       after.promoted - before.promoted);
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* ------------------------------ Others who move pages ------------------------------ */

#define BALANCING	"/proc/sys/kernel/numa_balancing"

static void no_balancing(void)
{
	write_text(BALANCING, "0");
}

static enum psi_result with_balancing(void)
{
	unsigned int nr = 256, mode, i, up, sum = 0;
	__u64 end;
	char *mem;

	require_tiers();
	REQUIRE(!access(BALANCING, F_OK), "no NUMA balancing");
	undo_later(no_balancing);
	mem = map(nr * PAGE, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	for (mode = 1; mode <= 2; mode++) {
		EXPECT(!write_text(BALANCING, "%u", mode), "mode %u", mode);
		madvise(mem, nr * PAGE, MADV_DONTNEED);
		make_slow(mem, nr, PAGE);
		promote(true);
		switch_on();
		for (end = now_ns() + 5 * NSEC_PER_SEC; now_ns() < end; get_account())
			for (i = 0; i < nr; i++)
				sum += __atomic_load_n(&mem[i * PAGE], __ATOMIC_RELAXED);
		up = wait_fast(mem, nr, PAGE, nr * 9 / 10, 10000);
		psi_note("mode %u: %u of %u are fast", mode, up, nr);
		EXPECT(up >= nr * 9 / 10, "mode %u: only %u are fast", mode, up);
		expect_written(mem, nr, PAGE);
		promote(false);
		switch_off();
	}
	return PSI_PASS;
}

#define SLOW_NODE	"/sys/devices/system/node/node1/"

/* Blocks of memory of the slow node; return: how many are now as they should be. */
static unsigned int set_blocks(const char *state)
{
	unsigned int i, done = 0;
	char path[128];

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), SLOW_NODE "memory%u/state", i);
		if (!access(path, F_OK))
			done += !write_text(path, "%s", state);
	}
	return done;
}

static void online_blocks(void)
{
	char path[128], state[32];
	unsigned int i;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%u/state", i);
		if (read_text(path, state, sizeof(state)) > 0 && !strncmp(state, "offline", 7))
			write_text(path, "online_movable");
	}
}

/* Back to slow memory, where there is place */
static void move_some(char *mem, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		void *page = mem + i * PAGE;
		int node = SLOW, status;

		syscall(SYS_move_pages, 0, 1, &page, &node, &status, 2);
	}
}

/* A node that loses memory, or all of it, while its pages are promoted */
static enum psi_result memory_goes(void)
{
	unsigned int nr = 1024, round, off = 0;
	bool gone = false;
	char text[64];
	char *mem;

	require_tiers();
	REQUIRE(!access("/sys/devices/system/memory", F_OK), "no memory hotplug");
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	undo_later(online_blocks);
	EXPECT(!set_knob("promote_mb_per_s", "1"), "promote_mb_per_s");
	promote(true);
	switch_on();
	for (round = 0; round < 4; round++) {
		sleep_ms(500);
		off += set_blocks("offline");
		get_account();
		expect_written(mem, nr, PAGE);
		EXPECT(read_text("/sys/devices/system/node/has_memory", text, sizeof(text)) > 0,
		       "has_memory");
		gone |= !strcmp(text, "0\n");
		sleep_ms(500);
		online_blocks();
		move_some(mem, nr);
		get_account();
	}
	psi_note("%u blocks went, %s the whole node", off, gone ? "at times" : "but not");
	EXPECT(!booted_with(NODE_GOES) || gone, "the node is never without memory");
	REQUIRE(off, "no block of the slow node goes offline");
	EXPECT(!set_knob("promote_mb_per_s", "1000"), "promote_mb_per_s");
	expect_written(mem, nr, PAGE);
	EXPECT(get_knob("promote"), "promotion has ended");
	return PSI_PASS;
}

static void move_back(char *mem, unsigned int nr, size_t size)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		void *page = mem + i * size;
		int node = SLOW, status;

		EXPECT(!syscall(SYS_move_pages, 0, 1, &page, &node, &status, 2) &&
		       status == SLOW, "move_pages: %d", status);
	}
}

/* If much comes back, less is promoted; and that is seen. */
static enum psi_result much_returns(void)
{
	unsigned int nr = 8, kb;
	struct account before;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, HUGE);
	REQUIRE(huge_kb(mem, nr * HUGE) == nr * HUGE / 1024, "no huge pages");
	access_memory(mem, nr, HUGE, 20000000);
	before = get_account();
	promote(true);
	kb = get_promotion("promote_kb_per_s_now");
	EXPECT(kb == 100 * 1024, "the rate is %u kB/s", kb);
	switch_on();
	EXPECT(wait_fast(mem, nr, HUGE, nr, 20000) == nr, "not all are promoted");
	/* No more of it */
	switch_off();
	EXPECT(get_account().returned == before.returned, "some have returned by themselves");
	move_back(mem, nr, HUGE);
	EXPECT(get_account().returned == before.returned, "what nobody follows returns");

	switch_on();
	EXPECT(wait_fast(mem, nr, HUGE, nr, 20000) == nr, "not all are promoted");
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	move_back(mem, nr, HUGE);
	EXPECT(get_account().returned == before.returned + nr * 512, "%llu have returned",
	       get_account().returned - before.returned);
	EXPECT(get_vmstat("ksamplingd_returned") >= nr * 512, "vmstat");
	EXPECT(get_promotion("past_bytes"), "nothing is remembered");
	sleep_ms(32000);
	EXPECT(get_promotion("returned_permille") >= 300, "%llu permille are said to return",
	       get_promotion("returned_permille"));
	EXPECT(get_promotion("promote_kb_per_s_now") <= kb / 2, "the rate is %llu kB/s",
	       get_promotion("promote_kb_per_s_now"));
	sleep_ms(150000);
	EXPECT(get_promotion("promote_kb_per_s_now") == kb, "the rate stays low");
	/* What is freed is forgotten. */
	munmap(mem, nr * HUGE);
	sleep_ms(5000);
	EXPECT(!get_promotion("past_bytes"), "something is remembered");
	return PSI_PASS;
}

/* ------------------------- A page, sample for sample ------------------------- */

#define WATCHED	((char *)0x200000000000UL)

/* What has just been mapped or moved waits until some more is, on this CPU. */
static void fill_lists(void)
{
	char *mem = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(mem != MAP_FAILED, "mmap");
	madvise(mem, 64 * PAGE, MADV_NOHUGEPAGE);
	memset(mem, 1, 64 * PAGE);
	munmap(mem, 64 * PAGE);
}

static void touch(int times)
{
	while (times--)
		__atomic_store_n((long *)WATCHED, times, __ATOMIC_RELAXED);
	/* More than a window, in which it is asked about once */
	sleep_ms(700);
}

static bool gets_fast(void)
{
	int ms;

	for (ms = 0; ms < 1500 && node_of(WATCHED) != FAST; ms += 50)
		sleep_ms(50);
	return node_of(WATCHED) == FAST;
}

static enum psi_result earns_more(void)
{
	unsigned long long barred, returned;
	int n;

	require_tiers();
	REQUIRE(!access(TEST_PMU "breakpoint", F_OK), "no breakpoints");
	undo_later(no_promotion);
	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_test_pmu("breakpoint", (unsigned long)WATCHED), "breakpoint");
	EXPECT(!set_knob("source", "breakpoint"), "source");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "199"), "period");
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	EXPECT(!set_knob("window_ms", "500"), "window");
	EXPECT(mmap(WATCHED, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == WATCHED, "mmap");
	madvise(WATCHED, PAGE, MADV_NOHUGEPAGE);
	EXPECT(!set_policy(WATCHED, PAGE, MPOL_BIND, 1UL << SLOW), "mbind");
	EXPECT(!pin_to_cpu(0), "CPU 0");
	WATCHED[0] = 1;
	fill_lists();
	EXPECT(!set_policy(WATCHED, PAGE, MPOL_DEFAULT, 0), "mbind");
	promote(true);
	switch_on();
	sleep_ms(100);
	REQUIRE(get_status("rings") > 0, "it does not sample");
	wait_windows(2);
	barred = get_failed("barred");
	returned = get_account().returned;

	touch(1);
	EXPECT(node_of(WATCHED) == SLOW, "one sample is enough");
	touch(1);
	EXPECT(gets_fast(), "two samples are not enough");
	/* From then on it takes 4, 8, 16 and 16 of them. */
	for (n = 2; n <= 5; n++) {
		int wanted = 1 << (n < 4 ? n : 4), had = n < 3 ? 2 : 1 << (n - 1 < 4 ? n - 1 : 4);

		move_back(WATCHED, 1, PAGE);
		fill_lists();
		EXPECT(get_account().returned == returned + n - 1, "%llu have returned",
		       get_account().returned - returned);
		if (wanted - 1 > had) {
			touch(wanted - 1 - had);
			EXPECT(node_of(WATCHED) == SLOW, "%d samples are enough after %d returns",
			       wanted - 1, n - 1);
			EXPECT(get_failed("barred") > barred, "the reason is another one");
		}
		touch(1);
		EXPECT(gets_fast(), "%d samples are not enough after %d returns",
		       wanted, n - 1);
		barred = get_failed("barred");
	}
	return PSI_PASS;
}

/* -------------------------------- A group of its own -------------------------------- */

#define GROUP	"/sys/fs/cgroup/ks_promote"

static void leave_group(void)
{
	write_text("/sys/fs/cgroup/cgroup.procs", "0");
	rmdir(GROUP);
}

static void enter_group(const char *controller)
{
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+%s", controller);
	undo_later(leave_group);
	REQUIRE(!mkdir(GROUP, 0755), "no cgroup");
	EXPECT(!write_text(GROUP "/cgroup.procs", "0"), "cgroup.procs");
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
	int i;

	for (i = 0; group_bytes(node) < bytes && i < 100; i++)
		sleep_ms(100);
	EXPECT(group_bytes(node) >= bytes, "%s%llu is charged, not %llu", node,
	       group_bytes(node), bytes);
}

static enum psi_result stays_charged(void)
{
	unsigned int nr = 512;
	char *mem;

	require_tiers();
	enter_group("memory");
	REQUIRE(!access(GROUP "/memory.numa_stat", F_OK), "no memory cgroup");
	mem = slow_memory(nr, PAGE);
	expect_charged("N1=", nr * PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	promote(true);
	switch_on();
	EXPECT(wait_fast(mem, nr, PAGE, nr / 2, 30000) >= nr / 2, "not promoted");
	switch_off();
	promote(false);
	expect_charged("N0=", count_on(FAST, mem, nr, PAGE) * PAGE);
	return PSI_PASS;
}

static enum psi_result stays_in_cpuset(void)
{
	unsigned int nr = 64;
	unsigned long long policy;
	char *mem;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	enter_group("cpuset");
	REQUIRE(!write_text(GROUP "/cpuset.mems", "%d", SLOW), "no cpuset");
	policy = get_failed("policy");
	promote(true);
	switch_on();
	sleep_ms(5000);
	EXPECT(count_on(SLOW, mem, nr, PAGE) == nr, "pages have moved");
	EXPECT(get_failed("policy") > policy, "the reason is another one");
	return PSI_PASS;
}

/* Its group is gone, and the page charged to what is left of it. */
static enum psi_result group_is_gone(void)
{
	unsigned int nr = 256;
	char *mem;

	require_tiers();
	enter_group("memory");
	mem = slow_memory(nr, PAGE);
	EXPECT(!write_text("/sys/fs/cgroup/cgroup.procs", "0"), "cgroup.procs");
	access_memory(mem, nr, PAGE, 20000000);
	promote(true);
	switch_on();
	wait_fast(mem, nr, PAGE, 1, 5000);
	EXPECT(!rmdir(GROUP), "rmdir: %d", errno);
	EXPECT(wait_fast(mem, nr, PAGE, nr * 9 / 10, 20000) >= nr * 9 / 10, "not promoted");
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* Groups come and go with what they have. */
static enum psi_result groups_come_and_go(void)
{
	unsigned int nr = 128, round;
	char *mem;

	require_tiers();
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mem = map(nr * PAGE, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	undo_later(leave_group);
	promote(true);
	switch_on();
	for (round = 0; round < 10; round++) {
		REQUIRE(!mkdir(GROUP, 0755), "no cgroup");
		EXPECT(!write_text(GROUP "/cgroup.procs", "0"), "cgroup.procs");
		madvise(mem, nr * PAGE, MADV_DONTNEED);
		make_slow(mem, nr, PAGE);
		EXPECT(!write_text("/sys/fs/cgroup/cgroup.procs", "0"), "cgroup.procs");
		sleep_ms(round * 50);
		EXPECT(!rmdir(GROUP), "rmdir: %d", errno);
		get_account();
	}
	EXPECT(wait_fast(mem, nr, PAGE, nr / 2, 20000) >= nr / 2, "not promoted");
	expect_written(mem, nr, PAGE);
	return PSI_PASS;
}

/* What is promoted makes room where it was. */
static enum psi_result source_is_full(void)
{
	unsigned int nr = 512, up;
	unsigned long before;
	size_t size;
	char *mem, *filling;

	require_tiers();
	mem = slow_memory(nr, PAGE);
	access_memory(mem, nr, PAGE, 20000000);
	size = free_kb(SLOW) * 1024 - (8 << 20);
	filling = map(size, PAGE);
	EXPECT(!set_policy(filling, size, MPOL_PREFERRED, 1UL << SLOW), "mbind");
	memset(filling, 1, size);
	before = free_kb(SLOW);
	promote(true);
	switch_on();
	up = wait_fast(mem, nr, PAGE, nr * 9 / 10, 20000);
	psi_note("%lu kB were free on the slow node, %lu are now", before, free_kb(SLOW));
	EXPECT(up >= nr * 9 / 10, "only %u are promoted", up);
	expect_written(mem, nr, PAGE);
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
