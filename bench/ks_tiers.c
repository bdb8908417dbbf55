// SPDX-License-Identifier: GPL-2.0
/*
 * What promotion achieves for real programs, on a processor that knows the truth
 * (ks_truth.h), in a guest whose node 1 is slow memory. The environment says what is to be
 * run and how:
 *
 *	ks_load=NAME	/loads/NAME-tiers; or zipf or scan, see ks_zipf.c
 *	ks_how=none	nothing is promoted
 *	ks_how=balancing	by NUMA balancing (kernel.numa_balancing 2)
 *	ks_how=N	by ksamplingd, with a quota of N permille
 *
 * All but FAST_MB of the fast node is taken first, and demotion is allowed. Then the load is
 * started, and when it is at work promotion is. After PHASE_S seconds it is told to do
 * something else, by SIGUSR1. For each second it prints
 *
 *	second S FAST ALL PLACE WORK SAMPLES UP DOWN FAULTS KERNEL_NS
 *
 * loads of user programs that missed the cache: served by the fast node, and by both; for how
 * many base pages the fast node has place; all loads and stores of user programs; samples;
 * base pages promoted and demoted; page faults; CPU time of kernel threads. And for each phase
 *
 *	hottest PHASE PAGES MISSES
 *
 * how many of these loads went to so many pages, the ones that most went to.
 */
#include <ctype.h>
#include <dirent.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ks_truth.h"
#include "ks_util.h"

#define PAGE_BYTES	4096UL
#define FAST		0
#define SLOW		1
#define FAST_MB		16
#define MIN_FREE_KB	4096
#define START_S		10
#define PHASE_S		60
#define STEP_MB		1
#define TLB_MS		20
#define ROUND_US	10000	/* as this CPU is so much slower than a real one */
#define REPORT_PAGES	128
#define NODE		"/sys/devices/system/node/node%d/"
#define FAST_ZONE	"Node 0, zone"	/* in /proc/zoneinfo, the first node there */

static pid_t load;
static struct truth *truth;
static __u64 next_second;

/* ---------------------------------- Memory ---------------------------------- */

/* Frames of a node: from the first to the one after the last. */
struct range {
	unsigned long first, end;
};

static struct range fast, slow;

/* In /proc/zoneinfo from there on */
static unsigned long zone_number(const char *zone, const char *word)
{
	char line[64], *at;

	snprintf(line, sizeof(line), " %s ", word);
	at = strstr(zone, line);
	EXPECT(at, "zoneinfo: no %s", word);
	return strtoul(at + strlen(line), NULL, 10);
}

/*
 * Pages of the fast node that are free or can be moved elsewhere, without the low watermarks.
 * (Files are in tmpfs, and so are counted as anonymous memory.)
 */
static unsigned long count_place(void)
{
	static char text[65536];
	unsigned long sum;
	char *zone;

	EXPECT(read_text("/proc/zoneinfo", text, sizeof(text)) > 0, "zoneinfo");
	sum = zone_number(text, "nr_inactive_anon") + zone_number(text, "nr_active_anon");
	for (zone = strstr(text, FAST_ZONE); zone; zone = strstr(zone + 1, FAST_ZONE))
		if (zone_number(zone, "managed"))
			sum += zone_number(zone, "pages free") - zone_number(zone, "low");
	return sum;
}

static struct range frames_of(int node)
{
	char path[128], text[64];
	unsigned long block, size;
	struct range r = { -1UL, 0 };
	struct dirent *entry;
	DIR *dir;

	EXPECT(read_text("/sys/devices/system/memory/block_size_bytes", text, sizeof(text)) > 0,
	       "needs memory hotplug");
	size = strtoul(text, NULL, 16) / PAGE_BYTES;
	snprintf(path, sizeof(path), NODE, node);
	dir = opendir(path);
	EXPECT(dir, "%s", path);
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "memory%lu", &block) != 1)
			continue;
		r.first = block * size < r.first ? block * size : r.first;
		r.end = (block + 1) * size > r.end ? (block + 1) * size : r.end;
	}
	closedir(dir);
	return r;
}

/* What the load reads begins in slow memory, and there is nothing else that could be moved. */
static void move_data(const char *name)
{
	const char *data = !strcmp(name, "sqlite3") ? "table.db" :
			   !strcmp(name, "sort") ? "lines" : "";
	unsigned long node = 1UL << SLOW;
	char command[128];

	snprintf(command, sizeof(command),
		 "cp /data/%s /tmp; rm -f /data/* /usr/bin/perf /usr/bin/python*", data);
	EXPECT(!syscall(SYS_set_mempolicy, MPOL_BIND, &node, 64), "set_mempolicy");
	EXPECT(system(command) >= 0, "%s", command);
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}

/* What is left of the fast node is what the load and promotion have. */
static void take_fast_memory(void)
{
	unsigned long node = 1UL << FAST, wanted = ((FAST_MB + STEP_MB) << 20) / PAGE_BYTES;
	char *mem;

	while (count_place() > wanted) {
		mem = mmap(NULL, STEP_MB << 20, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		EXPECT(mem != MAP_FAILED, "mmap");
		EXPECT(!syscall(SYS_mbind, mem, STEP_MB << 20, MPOL_BIND, &node, 64, 0), "mbind");
		EXPECT(!mlock(mem, STEP_MB << 20), "mlock");
	}
}

/* ----------------------------------- Load ----------------------------------- */

static void begin_load(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/loads/%s-tiers", name);
	load = fork();
	EXPECT(load >= 0, "fork");
	if (load)
		return;
	setpgid(0, 0);
	if (!strcmp(name, "zipf"))
		execl("/psi/ks_zipf", "ks_zipf", "16384", NULL);
	else if (!strcmp(name, "scan"))
		execl("/psi/ks_zipf", "ks_zipf", "2048", "16384", NULL);
	else
		execl(path, path, NULL);
	_exit(127);
}

static void end_load(void)
{
	if (load > 0)
		kill(-load, SIGKILL);
	waitpid(load, NULL, 0);
}

static void start_promotion(const char *how)
{
	if (!strcmp(how, "none"))
		return;
	if (!strcmp(how, "balancing")) {
		EXPECT(!write_text("/proc/sys/kernel/numa_balancing", "2"), "NUMA balancing");
		return;
	}
	EXPECT(!set_knob("quota_permille", "%s", how), "quota");
	EXPECT(!set_knob("hot_target_mb", "%d", FAST_MB), "target");
	EXPECT(!set_knob("sleep_us", "%d", ROUND_US), "sleep_us");
	switch_on();
	EXPECT(!set_knob("promote", "1"), "promote");
}

/* ---------------------------------- Seconds ---------------------------------- */

static unsigned long number_of(const char *text, const char *word)
{
	const char *at = find_value(text, word);

	return at ? strtoul(at, NULL, 10) : 0;
}

static unsigned long long cpu_ns_of(const char *pid)
{
	static const char * const names[] = { "ksamplingd", "kspromoted", "kswapd", "kcompactd" };
	char path[300], text[64];
	size_t i;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			break;
	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	if (i == ARRAY_SIZE(names) || read_text(path, text, sizeof(text)) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static unsigned long long kernel_threads_ns(void)
{
	DIR *dir = opendir("/proc");
	unsigned long long sum = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]))
			sum += cpu_ns_of(entry->d_name);
	if (dir)
		closedir(dir);
	return sum;
}

/* Since boot */
struct counts {
	unsigned long long work, samples, up, down, faults, kernel_ns;
};

static struct counts count_now(void)
{
	static char text[65536];
	struct counts c = {
		.work = look_at(&truth->user[LOADS]) + look_at(&truth->user[STORES]),
		.kernel_ns = kernel_threads_ns(),
	};

	EXPECT(read_text("/proc/vmstat", text, sizeof(text)) > 0, "vmstat");
	c.samples = number_of(text, "ksamplingd_samples_fast") +
		    number_of(text, "ksamplingd_samples_slow");
	c.up = number_of(text, "pgpromote_success");
	c.down = number_of(text, "pgdemote_kswapd") + number_of(text, "pgdemote_direct");
	c.faults = number_of(text, "pgfault");
	return c;
}

/*
 * What was counted in this phase, by frame. There is place for it behind the memory of this
 * machine: what is kept elsewhere would be counted as well.
 */
static __u64 *in_phase(unsigned long frame)
{
	return (__u64 *)get_truth_pages(truth) + slow.end + frame;
}

/* And forget it */
static unsigned long sum_up(struct range r)
{
	__u64 *page = (__u64 *)get_truth_pages(truth);
	unsigned long sum = 0, i;
	__u32 misses;

	for (i = r.first; i < r.end; i++) {
		if (!page[i])
			continue;
		misses = page[i];
		page[i] = 0;
		sum += misses;
		*in_phase(i) += misses;
	}
	return sum;
}

static int most_first(const void *a, const void *b)
{
	const __u32 *p = a, *q = b;

	return *p < *q ? 1 : *p > *q ? -1 : 0;
}

/* And begin another phase */
static void report_hottest(int phase)
{
	__u32 *misses = calloc(slow.end, sizeof(*misses));
	unsigned long i, nr = 0;
	__u64 sum = 0;

	EXPECT(misses, "memory");
	for (i = 0; i < slow.end; i++) {
		if (*in_phase(i))
			misses[nr++] = *in_phase(i);
		*in_phase(i) = 0;
	}
	qsort(misses, nr, sizeof(*misses), most_first);
	for (i = 0; i < nr; i++) {
		sum += misses[i];
		if ((i + 1) % REPORT_PAGES == 0 || i + 1 == nr)
			printf("hottest %d %lu %llu\n", phase, i + 1, (unsigned long long)sum);
	}
	free(misses);
}

/*
 * Where the emulator has looked up a page in page tables it does so again only after another
 * process has run. A processor would do that much earlier, and what has not been accessed
 * since reclaim looked last is what is demoted.
 */
static void sleep_lightly(__u64 until)
{
	while (now_ns() < until)
		sleep_ms(TLB_MS);
}

static void one_second(int s)
{
	static struct counts before;
	unsigned long of_fast, of_slow, place;
	struct counts now;

	next_second += NSEC_PER_SEC;
	sleep_lightly(next_second);
	of_fast = sum_up(fast);
	of_slow = sum_up(slow);
	place = count_place();
	now = count_now();
	if (s)
		printf("second %d %lu %lu %lu %llu %llu %llu %llu %llu %llu\n", s, of_fast,
		       of_fast + of_slow, place, now.work - before.work,
		       now.samples - before.samples, now.up - before.up, now.down - before.down,
		       now.faults - before.faults, now.kernel_ns - before.kernel_ns);
	fflush(stdout);
	before = now;
}

static enum psi_result tiers(void)
{
	const char *name = getenv("ks_load"), *how = getenv("ks_how");
	int s;

	truth = get_truth();
	REQUIRE(truth, NO_TRUTH);
	REQUIRE(name && how, "needs a load, and a way");
	undo_later(reset_knobs);
	undo_later(end_load);
	EXPECT(!write_text("/sys/kernel/mm/numa/demotion_enabled", "1"), "demotion");
	/* As without huge pages, for which that is raised: there is not so much memory. */
	EXPECT(!write_text("/proc/sys/vm/min_free_kbytes", "%d", MIN_FREE_KB), "min_free_kbytes");
	fast = frames_of(FAST);
	slow = frames_of(SLOW);
	EXPECT(slow.first >= fast.end && 2 * slow.end <= truth->pages, "where is the memory?");
	move_data(name);
	take_fast_memory();

	begin_load(name);
	sleep_ms(START_S * 1000);
	next_second = now_ns();
	one_second(0);
	memset(in_phase(0), 0, slow.end * sizeof(__u64));
	start_promotion(how);
	for (s = 1; s <= 2 * PHASE_S; s++) {
		one_second(s);
		EXPECT(!waitpid(load, NULL, WNOHANG), "the load has ended");
		if (s % PHASE_S)
			continue;
		kill(-load, SIGUSR1);
		report_hottest(s / PHASE_S);
		next_second = now_ns();
	}
	kill(-load, SIGUSR2);
	sleep_ms(1000);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "tiers", tiers },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
