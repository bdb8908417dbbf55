// SPDX-License-Identifier: GPL-2.0
/*
 * What the ksamplingd selftests share. See ks_util.h.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_util.h"

static const struct {
	const char *name, *usual;
} knobs[] = {
	{ "quota_permille", "30" }, { "policy", "1" }, { "sleep_us", "2000" },
	{ "window_ms", "1000" }, { "cool_ms", "0" }, { "hot_target_mb", "0" },
	{ "load_period", "1999" }, { "store_period", "20011" }, { "ring_pages", "32" },
	{ "load_share_permille", "800" }, { "record_cost_ns", "300" },
	{ "quota_has_workload", "0" }, { "source", "auto" }, { "hot_samples", "2" },
	{ "heat_memory_ppm", "2500" },
};

int set_knob(const char *name, const char *format, ...)
{
	char path[128], text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(path, sizeof(path), KNOBS "%s", name);
	return write_text(path, "%s", text);
}

int set_test_pmu(const char *name, unsigned long long value)
{
	char path[128];

	snprintf(path, sizeof(path), TEST_PMU "%s", name);
	return write_text(path, "%llu", value);
}

void expect_checked(const char *name, const char *good, const char *const *bad)
{
	char path[128], before[256], after[256];

	snprintf(path, sizeof(path), KNOBS "%s", name);
	EXPECT(!set_knob(name, "%s", good), "%s: %s", name, good);
	EXPECT(read_text(path, before, sizeof(before)) > 0, "cannot read %s", path);
	EXPECT(!strncmp(before, good, strlen(good)), "%s is %s", name, before);
	for (; *bad; bad++) {
		EXPECT(set_knob(name, "%s", *bad) == -EINVAL, "%s takes %s", name, *bad);
		EXPECT(read_text(path, after, sizeof(after)) > 0 && !strcmp(before, after),
		       "%s: %s changes %s to %s", name, *bad, before, after);
	}
}

struct writer {
	const struct knob *knobs;
	size_t nr;
	bool is_user;
	atomic_int done, result[32];
};

/* The files are those of root, and that is not enough. */
static void write_knobs(void *writer)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};
	struct writer *w = writer;
	size_t i;

	if (w->is_user ? setresuid(1000, 1000, 1000) : syscall(SYS_capset, &header, none))
		return;
	for (i = 0; i < w->nr; i++)
		w->result[i] = set_knob(w->knobs[i].name, "%s", w->knobs[i].value);
	w->done = 1;
	for (;;)
		pause();
}

void expect_privileged(const struct knob *all, size_t nr)
{
	struct writer *w = shared_alloc(sizeof(*w));
	char before[32][64], after[64], path[128];
	size_t i;
	int who;

	EXPECT(nr <= ARRAY_SIZE(before), "too many knobs");
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), KNOBS "%s", all[i].name);
		EXPECT(read_text(path, before[i], sizeof(before[i])) > 0, "cannot read %s", path);
	}
	w->knobs = all;
	w->nr = nr;
	for (who = 0; who < 2; who++) {
		w->is_user = who;
		w->done = 0;
		start_load(-1, write_knobs, w);
		EXPECT(wait_until(w->done, 5000), "nobody writes");
		for (i = 0; i < nr; i++)
			EXPECT(w->result[i] == (w->is_user ? -EACCES : -EPERM), "%s: %s gets %d",
			       all[i].name, w->is_user ? "a user" : "root", w->result[i]);
	}
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), KNOBS "%s", all[i].name);
		EXPECT(read_text(path, after, sizeof(after)) > 0 && !strcmp(before[i], after),
		       "%s has changed to %s", all[i].name, after);
	}
}

static unsigned long long get_number(const char *dir, const char *name)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	EXPECT(read_text(path, text, sizeof(text)) > 0, "cannot read %s", path);
	return strtoull(text, NULL, 0);
}

unsigned long long get_knob(const char *name)
{
	return get_number(KNOBS, name);
}

unsigned long long get_test_pmu(const char *name)
{
	return get_number(TEST_PMU, name);
}

unsigned long long get_status(const char *word)
{
	char text[4096], *at = text;
	unsigned long long sum = 0;
	size_t length = strlen(word);
	bool found = false;

	EXPECT(read_text(VIEWS "status", text, sizeof(text)) > 0, "no status");
	while ((at = strstr(at, word))) {
		if ((at == text || isspace(at[-1])) && at[length] == ' ') {
			sum += strtoull(at + length, NULL, 10);
			found = true;
		}
		at += length;
	}
	EXPECT(found, "status: no %s", word);
	return sum;
}

unsigned long long get_event(const char *event, const char *word)
{
	char text[4096], line[64], *at;

	EXPECT(read_text(VIEWS "status", text, sizeof(text)) > 0, "no status");
	snprintf(line, sizeof(line), "event %s ", event);
	at = strstr(text, line);
	EXPECT(at, "status: no event %s", event);
	at[strcspn(at, "\n")] = '\0';
	snprintf(line, sizeof(line), " %s ", word);
	at = strstr(at, line);
	EXPECT(at, "status: no %s of %s", word, event);
	return strtoull(at + strlen(line), NULL, 10);
}

const char *find_value(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, word, length) && text[length] == ' ')
			return text + length + 1;
	}
	return NULL;
}

unsigned long long value_in(const char *text, const char *word)
{
	const char *at = find_value(text, word);

	EXPECT(at, "no %s", word);
	return strtoull(at, NULL, 10);
}

unsigned long long number_in(const char *path, const char *word)
{
	char text[32768];

	EXPECT(read_text(path, text, sizeof(text)) > 0, "no %s", path);
	return value_in(text, word);
}

unsigned long long get_vmstat(const char *word)
{
	return number_in("/proc/vmstat", word);
}

unsigned int read_hot_pages(struct hot_page *pages, unsigned int max)
{
	FILE *file = fopen(VIEWS "hot_pages", "r");
	unsigned int n = 0;

	EXPECT(file, "no hot_pages");
	while (n < max && fscanf(file, "%d 0x%lx %u %u\n", &pages[n].node, &pages[n].pfn,
				 &pages[n].order, &pages[n].heat) == 4)
		n++;
	fclose(file);
	return n;
}

unsigned long long warm_pages(int node)
{
	unsigned long long pages = 0, n;
	char text[4096], *at = text, *end;
	bool wanted;
	int bin;

	EXPECT(read_text(VIEWS "histogram", text, sizeof(text)) > 0, "no histogram");
	while ((at = strstr(at, "\nnode "))) {
		wanted = node < 0 || strtol(at + 6, NULL, 10) == node;
		at = strstr(at, "pages");
		EXPECT(at, "histogram: %s", text);
		at += strlen("pages");
		for (bin = 0; bin < 16; bin++, at = end) {
			n = strtoull(at, &end, 10);
			EXPECT(end != at, "bin %d of %s", bin, text);
			pages += wanted ? n : 0;
		}
	}
	return pages;
}

void expect_rings(unsigned long long rings)
{
	EXPECT(wait_until(get_status("rings") == rings, 3000), "%llu rings",
	       get_status("rings"));
}

unsigned long long accounted(void)
{
	return get_status("samples") + get_status("lost") + get_status("no_address") +
	       get_status("no_page") + get_status("no_memory") + get_status("bad_record") +
	       get_status("not_memory") + get_status("kernel");
}

void reset_knobs(void)
{
	size_t i;

	set_knob("enabled", "0");
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		set_knob(knobs[i].name, "%s", knobs[i].usual);
	set_knob("cpus", "\n");
	set_knob("nodes", "0");
}

void use_test_pmu(unsigned int pages, unsigned long long accesses_per_s)
{
	REQUIRE(!access(TEST_PMU "pages", F_OK), "no test PMU");
	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_test_pmu("order", 0), "order");
	EXPECT(!set_test_pmu("pages", pages), "pages");
	EXPECT(!set_test_pmu("accesses_per_s", accesses_per_s), "accesses_per_s");
	EXPECT(!set_test_pmu("stores_per_s", 0), "stores_per_s");
	EXPECT(!write_text(TEST_PMU "throttle", "N"), "throttle");
	EXPECT(!write_text(TEST_PMU "strange", "N"), "strange");
	EXPECT(!write_text(TEST_PMU "refuse", "N"), "refuse");
	EXPECT(!write_text(TEST_PMU "busy_only", "N"), "busy_only");
	EXPECT(!set_knob("source", "test"), "source");
}

void switch_on(void)
{
	EXPECT(!set_knob("enabled", "1"), "cannot switch it on");
}

void switch_off(void)
{
	EXPECT(!set_knob("enabled", "0"), "cannot switch it off");
}

void start_sampling(void)
{
	switch_on();
	REQUIRE(wait_until(get_status("rings") > 0, 1000), "it does not sample");
}

void use_breakpoint(void *address)
{
	REQUIRE(!access(TEST_PMU "breakpoint", F_OK), "no breakpoints");
	undo_later(reset_knobs);
	reset_knobs();
	EXPECT(!set_test_pmu("breakpoint", (unsigned long)address), "breakpoint");
	EXPECT(!set_knob("source", "breakpoint"), "source");
	EXPECT(!set_knob("quota_permille", "0"), "quota");
	EXPECT(!set_knob("load_period", "199"), "period");
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
}

static void unmap_watched(void)
{
	munmap(WATCHED, PAGE);
}

void map_watched(void)
{
	undo_later(unmap_watched);
	EXPECT(mmap(WATCHED, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == WATCHED, "mmap");
	madvise(WATCHED, PAGE, MADV_NOHUGEPAGE);
}

void wait_round(void)
{
	/* One may be at work already. */
	unsigned long long end = get_status("rounds") + 2;

	EXPECT(wait_until(get_status("rounds") >= end, 1000), "it does not look at rings");
}

void touch_watched(unsigned int times)
{
	unsigned long long end = get_status("samples") + times;

	while (times--)
		__atomic_store_n((long *)WATCHED, times, __ATOMIC_RELAXED);
	wait_round();
	EXPECT(get_status("samples") == end, "%lld samples too many",
	       (long long)(get_status("samples") - end));
}

void wait_windows(unsigned int windows)
{
	unsigned long long end = get_status("windows") + windows;

	EXPECT(wait_until(({ sleep_ms(19); get_status("windows") >= end; }),
			  10 * (windows + 1) * get_knob("window_ms")), "windows do not end");
}

/* CPUs that the thread may run on. */
static const char *read_affinity(void)
{
	static const char word[] = "Cpus_allowed_list:\t";
	static char text[4096];
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/status", find_task("ksamplingd"));
	at = read_text(path, text, sizeof(text)) > 0 ? strstr(text, word) : NULL;
	EXPECT(at, "no thread");
	at += strlen(word);
	at[strcspn(at, "\n")] = '\0';
	return at;
}

void expect_affinity(const char *wanted)
{
	EXPECT(wait_slowly(!strcmp(read_affinity(), wanted), 1000), "it runs on %s, not on %s",
	       read_affinity(), wanted);
}

static void stop_tracing(void)
{
	write_text(TRACING "events/ksamplingd/enable", "0");
	write_text(TRACING "trace", "\n");
	umount("/sys/kernel/tracing");
}

void trace_samples(void)
{
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	undo_later(stop_tracing);
	REQUIRE(!write_text(TRACING "events/ksamplingd/ksamplingd_sample/enable", "1"),
		"no tracing");
}

int open_new_log(void)
{
	int log = open_kernel_log();

	lseek(log, 0, SEEK_END);
	return log;
}

int count_in_log(int log, const char *text, char *last, size_t size)
{
	char record[8192], *at;
	int count = 0;

	while (read_kernel_log(log, record, sizeof(record))) {
		at = strstr(record, text);
		if (!at)
			continue;
		snprintf(last, size, "%s", at);
		count++;
	}
	return count;
}
