// SPDX-License-Identifier: GPL-2.0
/*
 * pressure.causes, what it says of memory; and its format. What it says of cpu is
 * looked at in psi_quota.c.
 *
 * Each cause is provoked for itself, as far as that is possible from here, and then
 * nothing but its line grows in the group. Lengths are held against a stopwatch that
 * the load has itself. Which cause is which number is not known here, only the names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)
#define PAGE		4096
#define NO_MEMCG	"needs the memory controller of cgroup2"
#define NO_DISK		"needs null_blk with configfs"
#define NO_SWAP		"needs zram"

#define GROUP_FILE	"pressure.causes"
#define ROOT_FILE	CGROUP_ROOT "/" GROUP_FILE

/* ---- the file ---- */

enum cause {
	DIRECT_RECLAIM, DIRECT_COMPACTION, NODE_RECLAIM, MEMCG_MAX, MEMCG_HIGH, THRASHING,
	READBACK, SWAPIN, BLKCG_THROTTLE, OTHER, KSWAPD, KCOMPACTD, REQUESTED,
	NR_CAUSES
};

static const char * const names[NR_CAUSES] = {
	"direct_reclaim", "direct_compaction", "node_reclaim", "memcg_max", "memcg_high",
	"thrashing", "readback", "swapin", "blkcg_throttle", "other", "background_kswapd",
	"background_kcompactd", "requested_reclaim",
};

struct cause_line {
	__u64 count, total, max;	/* the latter two in us */
};

struct causes {
	struct cause_line of[NR_CAUSES];
};

static const char * const cpu_names[] = { "contention", "quota" };

/* Prints what was parsed again: it has to be the same, to the byte. */
static const char *parse(const char *text, struct causes *causes)
{
	char again[2048];
	size_t length = 0, i;
	const char *at = text;
	int c;

	for (i = 0; i < ARRAY_SIZE(cpu_names); i++) {
		__u64 some, full;
		char name[32];

		if (sscanf(at, "cpu.%31s some=%llu full=%llu", name, &some, &full) != 3)
			return "a line is missing, or malformed";
		if (strcmp(name, cpu_names[i]))
			return "another name was expected";
		length += snprintf(again + length, sizeof(again) - length,
				   "cpu.%s some=%llu full=%llu\n", name, some, full);
		at = strchr(at, '\n');
		if (!at++)
			return "no end of line";
	}
	for (c = 0; c < NR_CAUSES; c++) {
		struct cause_line *line = &causes->of[c];
		char name[32];

		if (sscanf(at, "memory.%31s count=%llu total=%llu max=%llu", name, &line->count,
			   &line->total, &line->max) != 4)
			return "a line is missing, or malformed";
		if (strcmp(name, names[c]))
			return "another name was expected";
		length += snprintf(again + length, sizeof(again) - length,
				   "memory.%s count=%llu total=%llu max=%llu\n", name,
				   line->count, line->total, line->max);
		at = strchr(at, '\n');
		if (!at++)
			return "no end of line";
		if (line->max > line->total && line->count == 1)
			return "one section, and longer than all of them";
	}
	return strcmp(text, again) ? "not to the byte" : NULL;
}

static void must_parse(const char *path, struct causes *causes)
{
	char text[2048];
	ssize_t length = read_text(path, text, sizeof(text));
	const char *wrong;

	EXPECT(length > 0, "cannot read %s: %s", path, strerror(-length));
	wrong = parse(text, causes);
	EXPECT(!wrong, "%s: %s:\n%s", path, wrong, text);
}

/* NULL is the system, that is, the root. */
static struct causes read_causes(const char *group)
{
	char path[GROUP_PATH];
	struct causes causes;

	must_parse(group_file(path, group ?: CGROUP_ROOT, GROUP_FILE), &causes);
	return causes;
}

static void need_causes(void)
{
	REQUIRE(have_groups(), NO_GROUPS);
}

/* A group with the memory controller. */
static const char *memory_group(const char *parent, const char *name)
{
	const char *group;

	need_causes();
	group = make_group(parent, name);
	REQUIRE(!enable_controller(group, "+memory"), NO_MEMCG);
	return group;
}

/* ---- what has grown ---- */

#define BIT(c)	(1u << (c))

static void note_growth(const struct causes *from, const struct causes *to)
{
	int c;

	for (c = 0; c < NR_CAUSES; c++)
		if (memcmp(&from->of[c], &to->of[c], sizeof(to->of[c])))
			psi_note("%s count +%llu total +%llu us, max %llu us", names[c],
				 to->of[c].count - from->of[c].count,
				 to->of[c].total - from->of[c].total, to->of[c].max);
}

/* All of @must have grown since @from, and nothing else but what is in @may. */
static struct causes expect_growth(const char *group, const struct causes *from,
				   unsigned int must, unsigned int may)
{
	struct causes to = read_causes(group);
	int c;

	note_growth(from, &to);
	for (c = 0; c < NR_CAUSES; c++) {
		bool grown = to.of[c].total > from->of[c].total;

		EXPECT(to.of[c].total >= from->of[c].total &&
		       to.of[c].count >= from->of[c].count &&
		       to.of[c].max >= from->of[c].max, "%s goes backwards", names[c]);
		EXPECT(grown || !(must & BIT(c)), "%s has not grown", names[c]);
		EXPECT(!grown || (must | may) & BIT(c), "%s has grown", names[c]);
	}
	return to;
}

static const struct causes nothing;

static bool all_have_grown(const char *group, const struct causes *from, unsigned int must)
{
	struct causes to = read_causes(group);
	int c;

	for (c = 0; c < NR_CAUSES; c++)
		if (must & BIT(c) && to.of[c].total == from->of[c].total)
			return false;
	return true;
}

/* ---- format, modes, on and off ---- */

static enum psi_result format(void)
{
	static const char * const others[] = { "memory.pressure.causes", "cpu.pressure.causes" };
	char path[GROUP_PATH];
	struct causes causes;
	const char *group;
	struct stat st;
	size_t i;

	need_causes();
	read_causes(NULL);
	group = make_group(NULL, "g");
	causes = read_causes(group);
	EXPECT(!memcmp(&causes, &nothing, sizeof(causes)), "a new group has causes");
	EXPECT(!stat(ROOT_FILE, &st) && (st.st_mode & 07777) == 0444, "mode of %s is %o",
	       ROOT_FILE, st.st_mode);
	EXPECT(!stat(group_file(path, group, GROUP_FILE), &st) && (st.st_mode & 07777) == 0444,
	       "mode of a group's file is %o", st.st_mode);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		EXPECT(access(group_file(path, group, others[i]), F_OK), "%s is there", path);
	return PSI_PASS;
}

/* The parser must be able to say no. */
static enum psi_result format_is_strict(void)
{
	struct causes causes;
	char good[2048], bad[2056];
	size_t length = 0, i;
	int c;

	for (i = 0; i < ARRAY_SIZE(cpu_names); i++)
		length += snprintf(good + length, sizeof(good) - length,
				   "cpu.%s some=7 full=0\n", cpu_names[i]);
	for (c = 0; c < NR_CAUSES; c++)
		length += snprintf(good + length, sizeof(good) - length,
				   "memory.%s count=1 total=7 max=7\n", names[c]);
	EXPECT(!parse(good, &causes), "refused a good text");
	snprintf(bad, sizeof(bad), "%s\n", good);
	EXPECT(parse(bad, &causes), "accepted one line more");
	snprintf(bad, sizeof(bad), "%.*s", (int)length - 1, good);
	EXPECT(parse(bad, &causes), "accepted half a line");
	snprintf(bad, sizeof(bad), "%s", strchr(good, '\n') + 1);
	EXPECT(parse(bad, &causes), "accepted one line less");
	snprintf(bad, sizeof(bad), "%s", good);
	*strstr(bad, "=7") = ' ';
	EXPECT(parse(bad, &causes), "accepted another separator");
	return PSI_PASS;
}

static enum psi_result read_only(void)
{
	int fd;

	need_causes();
	/* root may open what nobody may write */
	fd = open(ROOT_FILE, O_WRONLY);
	EXPECT(fd < 0 || write(fd, "0", 1) < 0, "the root's file can be written");
	close(fd);
	fd = open_in_group(make_group(NULL, "g"), GROUP_FILE, O_WRONLY);
	EXPECT(fd < 0 || write(fd, "0", 1) < 0, "a group's file can be written");
	close(fd);
	return PSI_PASS;
}

/* ---- memory.high, with a stopwatch ---- */

/* What a load that touches page after page has measured itself. */
struct watched {
	const char *group;
	atomic_ullong stalled_us;	/* what took long, each time */
	atomic_ullong longest_us;
	atomic_ullong times;
	atomic_int stop;
};

#define LONG_US		3000		/* no page takes that long by itself */

static void touch_and_time(void *arg)
{
	struct watched *w = arg;
	__u64 begun, us;
	size_t offset;
	char *mem;

	mem = mmap(NULL, 512 * MB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
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
	w->group = group;
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

/* ---- a load that lasts: a task held back for two seconds at a time ---- */

static __u64 high_total(const char *group)
{
	return read_causes(group).of[MEMCG_HIGH].total;
}

/* While it is held back, the total goes on as the clock does. */
static enum psi_result total_goes_on(void)
{
	const char *group = memory_group(NULL, "g");
	struct causes from, to;
	__u64 began, us, most = 0, grown;
	int i;

	start_held_back(0, group, top_group());
	for (i = 0; i < 40; i++) {
		began = now_ns();
		from = read_causes(group);
		sleep_ms(50);
		to = read_causes(group);
		us = (now_ns() - began) / NSEC_PER_USEC;
		grown = to.of[MEMCG_HIGH].total - from.of[MEMCG_HIGH].total;
		EXPECT(grown <= us, "%llu us in %llu us", grown, us);
		if (to.of[MEMCG_HIGH].count == from.of[MEMCG_HIGH].count && grown > most)
			most = grown;
	}
	psi_note("at most %llu us in 50 ms within one section", most);
	EXPECT(most >= 49000, "it does not go on");
	return PSI_PASS;
}

/* Percent of @ms by which the totals of two groups grow. */
static void expect_parts(const char *a, double share_a, const char *b, double share_b,
			 unsigned int ms)
{
	__u64 from_a = high_total(a), from_b = high_total(b), began = now_ns();
	double us, got_a, got_b;

	sleep_ms(ms);
	got_a = high_total(a) - from_a;
	got_b = high_total(b) - from_b;
	us = (now_ns() - began) / NSEC_PER_USEC;
	psi_note("%.1f %% and %.1f %%", 100 * got_a / us, 100 * got_b / us);
	EXPECT(close_to(100 * got_a / us, share_a, 3) && close_to(100 * got_b / us, share_b, 3),
	       "expected %.0f %% and %.0f %%", share_a, share_b);
}

static enum psi_result moved_within_a_section(void)
{
	const char *from = memory_group(NULL, "from"), *to = memory_group(NULL, "to");
	struct causes were, are;
	pid_t pid;

	pid = start_held_back(0, from, top_group());
	expect_parts(from, 100, to, 0, 3000);
	EXPECT(!move_to_group(to, pid), "it cannot be moved");
	were = read_causes(from);
	expect_parts(from, 0, to, 100, 3000);
	are = read_causes(from);
	EXPECT(!memcmp(&were, &are, sizeof(are)), "the group that it has left goes on");
	expect_parts(top_group(), 100, to, 100, 3000);
	EXPECT(!move_to_group(CGROUP_ROOT, pid), "it cannot be moved");
	expect_parts(top_group(), 0, to, 0, 500);
	return PSI_PASS;
}

static enum psi_result off_within_a_section(void)
{
	const char *group = memory_group(NULL, "g");
	__u64 before, after, top;

	start_held_back(0, group, top_group());
	expect_parts(group, 100, top_group(), 100, 3000);
	before = high_total(group);
	EXPECT(!set_pressure(group, false), "cannot switch off");
	top = high_total(top_group());
	sleep_ms(3000);
	top = high_total(top_group()) - top;
	EXPECT(!set_pressure(group, true), "cannot switch on");
	after = high_total(group);
	psi_note("off for 3 s: the group %llu us, the one above %llu us", after - before, top);
	EXPECT(after - before < 100000, "it counts what was while it was off");
	EXPECT(top > 2900000, "the group above does not");
	expect_parts(group, 100, top_group(), 100, 3000);
	return PSI_PASS;
}

static enum psi_result root_is_off(void)
{
	const char *group = memory_group(NULL, "g");
	struct causes from, to;

	start_held_back(0, group, top_group());
	undo_later(switch_root_on);
	from = read_causes(NULL);
	EXPECT(!set_pressure(CGROUP_ROOT, false), "cannot switch off");
	EXPECT(access(ROOT_FILE, F_OK), "its file is there");
	expect_parts(group, 100, top_group(), 100, 2500);
	EXPECT(!set_pressure(CGROUP_ROOT, true), "cannot switch on");
	to = read_causes(NULL);
	EXPECT(to.of[MEMCG_HIGH].total - from.of[MEMCG_HIGH].total < 100000,
	       "the system does not stand still");
	return PSI_PASS;
}

static enum psi_result removed_group(void)
{
	const char *parent = memory_group(NULL, "parent");
	const char *child = memory_group(parent, "child");
	struct causes of_child, of_parent, of_system;

	start_held_back(0, child, parent);
	sleep_ms(1000);
	stop_all_loads();
	of_system = read_causes(NULL);
	EXPECT(!remove_group(child), "it cannot be removed");
	of_child = expect_growth(parent, &nothing, BIT(MEMCG_HIGH), 0);
	EXPECT(of_child.of[MEMCG_HIGH].total > 1000000, "nothing to be kept");
	sleep_ms(500);
	of_parent = read_causes(parent);
	EXPECT(!memcmp(&of_child, &of_parent, sizeof(of_parent)), "the group above goes on");
	EXPECT(!remove_group(parent), "it cannot be removed");
	sleep_ms(500);
	expect_growth(NULL, &of_system, 0, BIT(NR_CAUSES) - 1);
	return PSI_PASS;
}

/* ---- one cause after the other ---- */

static __u64 memory_stat(const char *group, const char *key)
{
	char path[GROUP_PATH], text[8192], word[64];
	const char *at;

	EXPECT(read_text(group_file(path, group, "memory.stat"), text, sizeof(text)) > 0,
	       "cannot read %s", path);
	snprintf(word, sizeof(word), "\n%s ", key);
	at = strstr(text, word);
	EXPECT(at, "no %s in %s", key, path);
	return atoll(at + strlen(word));
}

static __u64 pages_stolen(const char *group)
{
	return memory_stat(group, "pgsteal");
}

struct reader {
	const char *disk;
	size_t size;
	atomic_uint passes, done;	/* so many are wanted */
};

static void read_file(void *arg)
{
	struct reader *r = arg;
	static char buf[64 * 1024];
	int fd = open(r->disk, O_RDONLY);
	size_t at;

	if (fd < 0)
		_exit(2);
	for (;;) {
		while (r->done >= r->passes)
			sleep_ms(1);
		for (at = 0; at < r->size; at += sizeof(buf))
			if (pread(fd, buf, sizeof(buf), at) != sizeof(buf))
				_exit(3);
		r->done++;
	}
}

static void await(atomic_uint *done, unsigned int nr)
{
	EXPECT(wait_until(*done >= nr, 60000), "the load does not get on");
}

/* Each page once: nothing is read back, but the cache has to make room. */
static enum psi_result over_max(void)
{
	const char *group = memory_group(NULL, "max");
	struct reader *r = shared_alloc(sizeof(*r));

	r->disk = slow_disk(0);
	REQUIRE(r->disk, NO_DISK);
	r->size = 48 * MB;
	r->passes = 1;
	EXPECT(!set_cgroup(group, "memory.max", "8M"), "memory.max");
	start_in_group(group, 0, read_file, r);
	await(&r->done, 1);
	EXPECT(pages_stolen(group) > 1000, "nothing was reclaimed");
	expect_growth(group, &nothing, BIT(MEMCG_MAX), 0);
	return PSI_PASS;
}

struct agent {
	const char *group, *victim, *file, *value, *then;
	unsigned int pause_ms;
	atomic_uint rounds;
};

static void ask_for_ever(void *arg)
{
	struct agent *a = arg;

	for (;;) {
		set_cgroup(a->victim, a->file, a->value);
		if (a->then)
			set_cgroup(a->victim, a->file, a->then);
		a->rounds++;
		sleep_ms(a->pause_ms);
	}
}

/*
 * Somebody takes away, by @file of another group, what that group uses. What he does has
 * a line of its own, and he is not stalled.
 */
static struct agent *start_agent(const char *victim, const char *file, const char *value,
				 const char *then, unsigned int pause_ms)
{
	struct agent *a = shared_alloc(sizeof(*a));

	a->group = memory_group(NULL, "agents");
	a->victim = victim;
	a->file = file;
	a->value = value;
	a->then = then;
	a->pause_ms = pause_ms;
	start_in_group(a->group, online_cpus() - 1, ask_for_ever, a);
	return a;
}

/* How it is taken away, and what the other group has of that. */
struct agent_case {
	const char *file, *value, *then;
	enum cause must;
};

static enum psi_result asked_by(const void *agent_case)
{
	const struct agent_case *c = agent_case;
	enum cause must = c->must;
	struct memory_user user = { .size = 24 * MB, .pause_ms = 100 };
	const char *victim = memory_group(NULL, "victim");
	struct psi_sample sample;
	struct agent *a;

	REQUIRE(!zram_swap(64), NO_SWAP);
	user.cgroup = victim;
	start_memory_user(0, &user);
	await_memory_user(&user);
	a = start_agent(victim, c->file, c->value, c->then, 20);
	EXPECT(wait_until(a->rounds > 2 && pages_stolen(victim) > 4000 &&
			  all_have_grown(victim, &nothing, BIT(must)) &&
			  all_have_grown(a->group, &nothing, BIT(REQUESTED)), 60000),
	       "too little is reclaimed to tell: %llu pages in %u rounds",
	       pages_stolen(victim), a->rounds);
	expect_growth(a->group, &nothing, BIT(REQUESTED), 0);
	EXPECT(!read_group(a->group, PSI_MEMORY, &sample), "cannot read");
	EXPECT(!sample.some.total && !sample.full.total, "it counts as a stall: %llu us",
	       sample.some.total);
	/* He who has to get it back is another matter. */
	expect_growth(victim, &nothing, BIT(must), BIT(SWAPIN));
	return PSI_PASS;
}

/* Swapped out by somebody else, so that nothing but to read it back is left. */
static enum psi_result swapped_in(void)
{
	struct memory_user user = { .size = 24 * MB, .pause_ms = 10 };
	const char *victim = memory_group(NULL, "victim");
	struct causes to;

	REQUIRE(!zram_swap(64), NO_SWAP);
	user.cgroup = victim;
	start_memory_user(0, &user);
	await_memory_user(&user);
	start_agent(victim, "memory.reclaim", "8M", NULL, 100);
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
	struct reader *r = shared_alloc(sizeof(*r));
	struct causes from;
	char quarter[24];
	int i;

	snprintf(quarter, sizeof(quarter), "%zu", c->size / 4);
	r->disk = slow_disk(c->ms);
	REQUIRE(r->disk, NO_DISK);
	r->size = c->size;
	r->passes = PASSES;
	start_in_group(group, 0, read_file, r);
	await(&r->done, r->passes);
	from = read_causes(group);
	EXPECT(!memcmp(&from, &nothing, sizeof(from)), "to read for the first time is a stall");
	/* Which pages are taken is up to reclaim: until some are restored. */
	for (i = 0; i < ROUNDS && !all_have_grown(group, &nothing, c->must); i++) {
		set_cgroup(group, "memory.reclaim", quarter);
		r->passes += PASSES;
		await(&r->done, r->passes);
	}
	REQUIRE(memory_stat(group, "workingset_restore_file"),
		"reclaim has taken no page that was in use");
	expect_growth(group, &nothing, c->must, 0);
	return PSI_PASS;
}

/* ---- the whole system short of memory ---- */

static size_t free_bytes_of(const char *meminfo)
{
	char text[4096];
	const char *at;

	EXPECT(read_text(meminfo, text, sizeof(text)) > 0, "no %s", meminfo);
	at = strstr(text, "MemFree:");
	return at ? atoll(at + 8) * 1024 : 0;
}

static size_t free_bytes(void)
{
	return free_bytes_of("/proc/meminfo");
}

struct hog {
	size_t size;
	bool holes;			/* gives every second page back */
	atomic_uint done;
};

static void hog_memory(void *arg)
{
	struct hog *h = arg;
	size_t offset;
	char *mem;
	int i;

	mem = mmap(NULL, h->size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
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

/* More than there is, with swap for the rest. */
static enum psi_result direct_reclaim(void)
{
	const char *group = memory_group(NULL, "hog");
	struct hog *h = shared_alloc(sizeof(*h));
	struct causes from = read_causes(NULL);

	REQUIRE(!zram_swap(256), NO_SWAP);
	h->size = free_bytes() + 64 * MB;
	start_in_group(group, 0, hog_memory, h);
	await(&h->done, 1);
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
	char text[16384];
	const char *at;

	EXPECT(read_text("/proc/vmstat", text, sizeof(text)) > 0, "no vmstat");
	at = strstr(text, "compact_daemon_wake ");
	return at ? atoll(at + 20) : 0;
}

/* Half of the memory is free, and no two pages of it in a row. */
struct compaction_case {
	const char *defrag;
	unsigned int must_group, must_system;
};

static enum psi_result compaction(const void *compaction_case)
{
	const struct compaction_case *c = compaction_case;
	unsigned int must_group = c->must_group, must_system = c->must_system;
	const unsigned int may = BIT(DIRECT_RECLAIM) | BIT(DIRECT_COMPACTION) | BIT(KSWAPD) |
				 BIT(KCOMPACTD) | BIT(SWAPIN) | BIT(THRASHING) | BIT(READBACK);
	struct huge_user *user = shared_alloc(sizeof(*user));
	struct hog *h = shared_alloc(sizeof(*h));
	const char *group;
	struct causes from;
	__u64 wakes;

	REQUIRE(!access(THP "enabled", W_OK), "needs transparent huge pages");
	group = memory_group(NULL, "huge");
	undo_later(huge_as_before);
	EXPECT(!write_text(THP "enabled", "always") && !write_text(THP "defrag", "%s", c->defrag),
	       "cannot set up huge pages");
	EXPECT(!write_text(PROACTIVE, "0"), "cannot stop compaction ahead of need");
	h->size = free_bytes() - 32 * MB;
	h->holes = true;
	start_load(0, hog_memory, h);
	await(&h->done, 1);
	psi_note("%zu MB free", free_bytes() / MB);
	/* Far more than what is free in one piece. */
	user->size = free_bytes() / 4 * 3;
	wakes = kcompactd_wakes();
	from = read_causes(NULL);
	start_in_group(group, 0, touch_huge, user);
	await(&user->rounds, 1);
	wait_until(all_have_grown(NULL, &from, must_group | must_system) &&
		   all_have_grown(group, &nothing, must_group), 60000);
	REQUIRE(!must_system || kcompactd_wakes() != wakes,
		"the kernel has left kcompactd alone");
	expect_growth(group, &nothing, must_group, may & ~BIT(KSWAPD) & ~BIT(KCOMPACTD));
	expect_growth(NULL, &from, must_group | must_system, may);
	return PSI_PASS;
}

static void no_node_reclaim(void)
{
	write_text("/proc/sys/vm/zone_reclaim_mode", "0");
}

static void hog_one_node(void *hog)
{
	unsigned long nodes = 1;

	if (syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &nodes, 8 * sizeof(nodes)))
		_exit(2);
	hog_memory(hog);
}

/*
 * Clean pages fill the node of the CPU, and all of them could go. Another node has room, but not
 * for this task: else newer kernels take from there while kswapd is awake here.
 */
static enum psi_result node_reclaim(void)
{
	struct reader *r = shared_alloc(sizeof(*r));
	struct hog *h = shared_alloc(sizeof(*h));
	const char *group, *cache;

	REQUIRE(!access("/sys/devices/system/node/node1", F_OK), "needs two nodes");
	group = memory_group(NULL, "node");
	cache = memory_group(NULL, "cache");
	undo_later(no_node_reclaim);
	EXPECT(!write_text("/proc/sys/vm/zone_reclaim_mode", "1"), "zone_reclaim_mode");
	r->disk = slow_disk(0);
	REQUIRE(r->disk, NO_DISK);
	r->size = 60 * MB;
	r->passes = 1;
	start_in_group(cache, 0, read_file, r);
	await(&r->done, 1);
	h->size = free_bytes_of("/sys/devices/system/node/node0/meminfo") + r->size / 2;
	start_in_group(group, 0, hog_one_node, h);
	await(&h->done, 1);
	expect_growth(group, &nothing, BIT(NODE_RECLAIM), BIT(DIRECT_RECLAIM));
	return PSI_PASS;
}

/* ---- readers ---- */

#define READERS		4
#define GROUPS		6

struct watcher {
	const char *group[GROUPS];
	atomic_ullong readings;
	atomic_int wrong;
};

/* Anybody. No number may ever decrease. */
static void watch_at_random(void *arg)
{
	static struct causes last[GROUPS + 1];
	struct watcher *w = arg;
	unsigned int seed = getpid();
	char path[GROUP_PATH], text[2048];
	struct causes now;
	int i, c;

	if (setgid(65534) || setuid(65534))
		_exit(2);
	for (;;) {
		i = rand_r(&seed) % (GROUPS + 1);
		if (read_text(group_file(path, i < GROUPS ? w->group[i] : CGROUP_ROOT, GROUP_FILE),
			      text, sizeof(text)) <= 0 || parse(text, &now))
			w->wrong |= 1;
		for (c = 0; c < NR_CAUSES; c++)
			if (now.of[c].total < last[i].of[c].total ||
			    now.of[c].count < last[i].of[c].count ||
			    now.of[c].max < last[i].of[c].max)
				w->wrong |= 2;
		last[i] = now;
		w->readings++;
		if (!(rand_r(&seed) % 8))
			sleep_ms(rand_r(&seed) % 4);
	}
}

static enum psi_result many_readers(void)
{
	static struct memory_user user[3];
	struct watcher *w = shared_alloc(sizeof(*w));
	__u64 sum = 0, top;
	int i;

	w->group[0] = memory_group(NULL, "a");
	w->group[1] = memory_group(w->group[0], "b");
	w->group[2] = memory_group(w->group[1], "c");
	w->group[3] = memory_group(NULL, "d");
	w->group[4] = memory_group(w->group[3], "e");
	w->group[5] = top_group();
	REQUIRE(!zram_swap(128), NO_SWAP);
	EXPECT(!set_cgroup(w->group[5], "memory.max", "24M"), "memory.max");
	for (i = 0; i < 3; i++) {
		user[i].size = 12 * MB;
		/* A group whose children have the controller has no tasks. */
		user[i].cgroup = w->group[i == 1 ? 4 : 2];
		start_memory_user(i % online_cpus(), &user[i]);
	}
	for (i = 0; i < READERS; i++)
		start_load(i % online_cpus(), watch_at_random, w);
	sleep_ms(8000);
	psi_note("%llu readings", w->readings);
	EXPECT(w->readings > 200, "too few readings");
	EXPECT(!(w->wrong & 1), "a text was wrong");
	EXPECT(!(w->wrong & 2), "a number has decreased");
	stop_all_loads();
	sleep_ms(100);

	/* At rest: what is above is the sum of what is below. */
	sum = read_causes(w->group[0]).of[MEMCG_MAX].count +
	      read_causes(w->group[3]).of[MEMCG_MAX].count;
	top = read_causes(w->group[5]).of[MEMCG_MAX].count;
	EXPECT(top > 10 && top == sum, "%llu sections above, %llu below", top, sum);
	EXPECT(read_causes(w->group[0]).of[MEMCG_MAX].count ==
	       read_causes(w->group[2]).of[MEMCG_MAX].count, "a level has lost some");
	return PSI_PASS;
}

/* ---- tracepoints ---- */

static char trace[4 << 20];

static void start_tracing(const char *begin, const char *end)
{
	need_tracing();
	EXPECT(!write_text(TRACING "buffer_size_kb", "8192") &&
	       !write_text(begin, "1") && !write_text(end, "1"), "cannot trace");
}

static void read_trace(void)
{
	EXPECT(!write_text(PSI_EVENTS "enable", "0"), "cannot stop tracing");
	EXPECT(read_text(TRACING "trace", trace, sizeof(trace)) > 0, "no trace");
	EXPECT(strlen(trace) < sizeof(trace) - 1, "too much to be read");
}

/* The next line of an event after *at, which moves on; what follows the event's name. */
static const char *next_event(const char **at, const char *event)
{
	char word[64];
	const char *found;

	snprintf(word, sizeof(word), " %s: ", event);
	found = strstr(*at, word);
	if (!found)
		return NULL;
	found += strlen(word);
	*at = found;
	return found;
}

/* What the events of a group add up to is what its file says. */
static enum psi_result events_of_sections(void)
{
	const char *group = memory_group(NULL, "traced");
	struct reader *r = shared_alloc(sizeof(*r));
	__u64 id, us, longest = 0, sum = 0, begun = 0, ended = 0;
	struct cause_line line;
	const char *at, *event;
	char cause[32];
	int pid;

	start_tracing(PSI_EVENTS "psi_stall_begin/enable", PSI_EVENTS "psi_stall_end/enable");
	r->disk = slow_disk(0);
	REQUIRE(r->disk, NO_DISK);
	r->size = 32 * MB;
	r->passes = 1;
	EXPECT(!set_cgroup(group, "memory.max", "8M"), "memory.max");
	start_in_group(group, 0, read_file, r);
	await(&r->done, 1);
	read_trace();

	for (at = trace; (event = next_event(&at, "psi_stall_begin"));)
		if (sscanf(event, "group=%llu pid=%d cause=%31s", &id, &pid, cause) == 3 &&
		    id == group_id(group) && !strcmp(cause, "memcg_max"))
			begun++;
	for (at = trace; (event = next_event(&at, "psi_stall_end"));) {
		if (sscanf(event, "group=%llu pid=%d cause=%31s duration_us=%llu", &id, &pid,
			   cause, &us) != 4 || id != group_id(group))
			continue;
		EXPECT(!strcmp(cause, "memcg_max"), "an event for %s", cause);
		ended++;
		sum += us;
		longest = us > longest ? us : longest;
	}
	line = read_causes(group).of[MEMCG_MAX];
	psi_note("events: %llu begin, %llu end, %llu us, the longest %llu us", begun, ended, sum,
		 longest);
	psi_note("file: %llu, %llu us, the longest %llu us", line.count, line.total, line.max);
	EXPECT(ended > 2 && begun == ended && ended == line.count, "not as many as in the file");
	/* The file adds up, and then cuts to us. */
	EXPECT(sum <= line.total && line.total <= sum + ended, "not as long as in the file");
	EXPECT(longest == line.max, "another longest one than in the file");
	return PSI_PASS;
}

struct trigger_event {
	__u64 id, growth, threshold, window;
	char state[32];
};

static void parse_trigger_event(const char *text, struct trigger_event *e)
{
	int end = 0;

	EXPECT(sscanf(text, "group=%llu state=%31s growth_us=%llu %n", &e->id, e->state,
		      &e->growth, &end) == 3 &&
	       sscanf(text + end, "threshold_us=%llu window_us=%llu", &e->threshold,
		      &e->window) == 2, "malformed: %.100s", text);
}

/* Always of this group, and of the trigger that is made below. */
static void expect_trigger_event(const char *text, const char *group, struct trigger_event *e)
{
	parse_trigger_event(text, e);
	EXPECT(e->id == group_id(group) && !strcmp(e->state, "memory_some") &&
	       e->threshold == 1900000 && e->window == 2000000, "another one: %.100s", text);
}

static enum psi_result events_of_triggers(void)
{
	const char *group = memory_group(NULL, "g");
	unsigned int looks = 0, fires = 0;
	struct trigger_event e;
	const char *at, *event;
	int fd;

	start_held_back(0, group, top_group());
	start_tracing(PSI_EVENTS "psi_trigger_look/enable",
		      PSI_EVENTS "psi_trigger_fire/enable");
	fd = add_trigger(group, PSI_MEMORY, "some 1900000 2000000");
	EXPECT(fd >= 0, "no trigger");
	sleep_ms(5000);
	read_trace();
	close(fd);

	for (at = trace; (event = next_event(&at, "psi_trigger_look")); looks++)
		expect_trigger_event(event, group, &e);
	for (at = trace; (event = next_event(&at, "psi_trigger_fire")); fires++) {
		expect_trigger_event(event, group, &e);
		EXPECT(e.growth >= e.threshold && e.growth <= e.window, "growth %llu us", e.growth);
	}
	psi_note("%u looks, %u events", looks, fires);
	/* Until 1.9 s are over there can be none, and nobody takes the event. */
	EXPECT(looks >= 1 && looks <= 3, "more looks than may find something");
	EXPECT(fires == 1, "not one event");
	return PSI_PASS;
}

#define ASKED(...)	.run_with = asked_by, .arg = &(const struct agent_case){ __VA_ARGS__ }
#define READ_BACK(...)	.run_with = read_back, .arg = &(const struct read_back_case){ __VA_ARGS__ }
#define COMPACTION(...)	.run_with = compaction, \
			.arg = &(const struct compaction_case){ __VA_ARGS__ }

static const struct psi_case cases[] = {
	{ "R-19 causes: a file in each group, and the root, to the byte", format },
	{ "R-19 causes: what is read is looked at strictly", format_is_strict },
	{ "R-19 causes: the file can be read, and not written", read_only },

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

	{ "R-6 R-19 causes: a total goes on while a section lasts", total_goes_on },
	{ "R-14 R-19 causes: a task that moves within a section takes it along",
	  moved_within_a_section },
	{ "R-14 R-19 causes: a group that is off within a section", off_within_a_section },
	{ "R-14 R-19 causes: the system stands still while the root is off", root_is_off },
	{ "R-19 causes: what was in a group that is removed stays above it", removed_group },
	{ "R-8 R-19 causes: readers of all groups, at random", many_readers },
	{ "R-19 tracepoints: sections add up to what the file says", events_of_sections },
	{ "R-13 R-19 tracepoints: looks and events of a trigger", events_of_triggers },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
