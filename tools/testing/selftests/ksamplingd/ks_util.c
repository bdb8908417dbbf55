// SPDX-License-Identifier: GPL-2.0
/*
 * What the ksamplingd selftests share. See ks_util.h.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ks_util.h"

static const struct {
	const char *name, *usual;
} knobs[] = {
	{ "quota_permille", "30" }, { "policy", "1" }, { "sleep_us", "2000" },
	{ "window_ms", "1000" }, { "cool_ms", "10000" }, { "hot_target_mb", "0" },
	{ "load_period", "1999" }, { "store_period", "20011" }, { "ring_pages", "32" },
	{ "load_share_permille", "800" }, { "record_cost_ns", "300" },
	{ "quota_has_workload", "0" }, { "source", "auto" }, { "hot_samples", "2" },
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

unsigned long long number_in(const char *path, const char *word)
{
	const char *at;
	char text[32768];

	EXPECT(read_text(path, text, sizeof(text)) > 0, "no %s", path);
	at = find_value(text, word);
	EXPECT(at, "%s: no %s", path, word);
	return strtoull(at, NULL, 10);
}

unsigned long long get_vmstat(const char *word)
{
	return number_in("/proc/vmstat", word);
}

void expect_rings(unsigned long long rings)
{
	int ms;

	for (ms = 0; get_status("rings") != rings && ms < 3000; ms += 10)
		sleep_ms(10);
	EXPECT(get_status("rings") == rings, "%llu rings", get_status("rings"));
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
	set_knob("cpus", "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
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

void wait_windows(unsigned int windows)
{
	unsigned long long end = get_status("windows") + windows;

	while (get_status("windows") < end)
		sleep_ms(20);
}

/* CPUs that the thread may run on. */
static void read_affinity(char *list, size_t size)
{
	char path[300], text[4096], *at;
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	bool found = false;

	EXPECT(proc, "/proc");
	while (!found && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		found = read_text(path, text, sizeof(text)) > 0 &&
			strstr(text, "Name:\tksamplingd\n");
	}
	closedir(proc);
	at = found ? strstr(text, "Cpus_allowed_list:") : NULL;
	EXPECT(at, "no thread");
	snprintf(list, size, "%s", at + strlen("Cpus_allowed_list:\t"));
	list[strcspn(list, "\n")] = '\0';
}

void expect_affinity(const char *wanted)
{
	char list[64];
	int ms;

	for (ms = 0; ms < 1000; ms += 10) {
		read_affinity(list, sizeof(list));
		if (!strcmp(list, wanted))
			return;
		sleep_ms(10);
	}
	EXPECT(false, "it runs on %s, not on %s", list, wanted);
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
