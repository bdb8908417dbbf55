// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd-top on a kernel with two tiers, while pages are promoted: what it says is
 * what the files of the kernel say. It is beside this program, or in PATH. The test PMU says
 * which pages of this program are accessed.
 */
#include <linux/mempolicy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ks_util.h"

#define SLOW		1
#define NR_PAGES	4096U
#define MB_PER_S	2U
#define MAX_ROUNDS	16
#define NOBODY		65534

/* ------------------------------ What it prints ------------------------------ */

static struct output {
	char *line[64];
	int nr;
} output;

static void drop_output(void)
{
	while (output.nr)
		free(output.line[--output.nr]);
}

static const char *command_of(const char *args)
{
	static char command[512];
	char dir[256] = "";

	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) > 0 && strrchr(dir, '/'))
		*strrchr(dir, '/') = '\0';
	snprintf(command, sizeof(command), "PATH=%s:$PATH; export PATH; ksamplingd-top %s 2>&1",
		 dir, args);
	return command;
}

static void require_top(void)
{
	REQUIRE(!system(command_of("--help >/dev/null")), "there is no ksamplingd-top");
}

/* Its output, by lines, with what it says of errors. */
static void run_top(const char *args)
{
	size_t size = 0;
	FILE *pipe;

	undo_later(drop_output);
	drop_output();
	pipe = popen(command_of(args), "r");
	EXPECT(pipe, "popen");
	while (output.nr < (int)ARRAY_SIZE(output.line) - 1 &&
	       getline(&output.line[output.nr], &size, pipe) > 0) {
		output.nr++;
		output.line[output.nr] = NULL;
		size = 0;
	}
	EXPECT(!pclose(pipe), "ksamplingd-top %s: %s", args, output.nr ? output.line[0] : "");
}

/* What follows a key, of the first object of that name that has it. */
static const char *value_of(const char *json, const char *object, const char *key)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), "\"%s\":", object);
	at = *object ? strstr(json, word) : json;
	EXPECT(at, "no %s in %s", word, json);
	snprintf(word, sizeof(word), "\"%s\":", key);
	at = strstr(at, word);
	EXPECT(at, "no %s in %s", word, json);
	return at + strlen(word);
}

static bool is_null(const char *json, const char *object, const char *key)
{
	return !strncmp(value_of(json, object, key), "null", 4);
}

static double number_of(const char *json, const char *object, const char *key)
{
	const char *at = value_of(json, object, key);
	char *end;
	double number = strtod(at, &end);

	EXPECT(end > at, "%s of %s is %.20s", key, object, at);
	return number;
}

/* Rounds that are only partly known are of no use. */
static double rate_of(const char *json, const char *object, const char *key)
{
	return is_null(json, object, key) ? 0 : number_of(json, object, key);
}

/* ------------------------------ What is in files ------------------------------ */

struct files {
	char vmstat[16384], promotion[2048], status[8192], histogram[2048];
};

static void read_files(struct files *files)
{
	EXPECT(read_text("/proc/vmstat", files->vmstat, sizeof(files->vmstat)) > 0 &&
	       read_text(VIEWS "promotion", files->promotion, sizeof(files->promotion)) > 0 &&
	       read_text(VIEWS "status", files->status, sizeof(files->status)) > 0 &&
	       read_text(VIEWS "histogram", files->histogram, sizeof(files->histogram)) > 0,
	       "files");
}

static double line_of(const char *text, const char *name)
{
	const char *at = find_value(text, name);

	EXPECT(at, "no line %s", name);
	return strtod(at, NULL);
}

static const char *const totals[] = {
	"ksamplingd_samples", "ksamplingd_discarded", "ksamplingd_lost",
	"ksamplingd_samples_fast", "ksamplingd_samples_slow", "ksamplingd_told",
	"ksamplingd_promoted", "ksamplingd_dropped", "ksamplingd_returned",
	"ksamplingd_failed_gone", "ksamplingd_failed_cold", "ksamplingd_failed_barred",
	"ksamplingd_failed_order", "ksamplingd_failed_pinned", "ksamplingd_failed_special",
	"ksamplingd_failed_shared", "ksamplingd_failed_policy", "ksamplingd_failed_busy",
	"ksamplingd_failed_full", "pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged",
};

/* --------------------------------- At work --------------------------------- */

static char *memory;

static void end_work(void)
{
	set_knob("enabled", "0");
	set_knob("promote", "0");
	set_knob("promote_mb_per_s", "100");
	set_test_pmu("user", 0);
	if (memory)
		munmap(memory, NR_PAGES * PAGE);
	memory = NULL;
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

/* Slow memory that is accessed, and promoted for some seconds; in huge pages if it may. */
static void begin_work(bool huge)
{
	unsigned long nodes = 1UL << SLOW;
	size_t size = NR_PAGES * PAGE;

	require_top();
	REQUIRE(!access(KNOBS "promote", F_OK), "no promotion");
	REQUIRE(!access("/sys/devices/system/node/node1/meminfo", F_OK) &&
		access("/sys/devices/system/node/node2/meminfo", F_OK), "no node of slow memory");
	undo_later(end_work);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(memory != MAP_FAILED, "mmap");
	EXPECT(huge || !prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "prctl");
	EXPECT(!syscall(SYS_mbind, memory, size, MPOL_BIND, &nodes, 64, 0), "mbind");
	memset(memory, 1, size);
	EXPECT(!syscall(SYS_mbind, memory, size, MPOL_DEFAULT, NULL, 0, 0), "mbind");

	use_test_pmu(NR_PAGES, 20000000);
	EXPECT(!set_test_pmu("user", (unsigned long)memory), "user");
	EXPECT(!set_knob("window_ms", "200"), "window_ms");
	EXPECT(!set_knob("cool_ms", "20000"), "cool_ms");
	EXPECT(!set_knob("promote_mb_per_s", "%u", MB_PER_S), "promote_mb_per_s");
	EXPECT(!set_knob("promote", "1"), "promote");
	switch_on();
}

/* ---------------------------------- Cases ---------------------------------- */

static double grown(const char *before, const char *json, const char *total)
{
	return number_of(json, "totals", total) - number_of(before, "totals", total);
}

static void expect_rate(const char *what, double per_s, double growth, double seconds)
{
	EXPECT(fabs(per_s * seconds - growth) <= 0.01 * growth + 0.02,
	       "%s: %.2f/s in %.6f s, and it grew by %.2f", what, per_s, seconds, growth);
}

static double seconds_between(const char *before, const char *json)
{
	return number_of(json, "", "time_s") - number_of(before, "", "time_s");
}

/* What it says of two rounds is what totals have grown by. Return: were there samples? */
static bool expect_rates(const char *before, const char *json)
{
	double seconds = seconds_between(before, json);
	double fast = grown(before, json, "ksamplingd_samples_fast");
	double slow = grown(before, json, "ksamplingd_samples_slow");

	expect_rate("samples", rate_of(json, "", "samples_per_s"),
		    grown(before, json, "ksamplingd_samples"), seconds);
	expect_rate("promoted", number_of(json, "promotion", "bytes_per_s"),
		    grown(before, json, "ksamplingd_promoted") * PAGE, seconds);
	expect_rate("told", number_of(json, "promotion", "told_bytes_per_s"),
		    grown(before, json, "ksamplingd_told") * PAGE, seconds);
	expect_rate("cold", number_of(json, "failed_bytes_per_s", "cold"),
		    grown(before, json, "ksamplingd_failed_cold") * PAGE, seconds);
	if (!(fast + slow))
		return false;
	EXPECT(fabs(number_of(json, "", "fast_pct") - fast / (fast + slow) * 100) < 0.02,
	       "%.0f samples fast, %.0f slow, and it says %.2f %%", fast, slow,
	       number_of(json, "", "fast_pct"));
	return true;
}

/* The rest of a line of JSON, from the second tier on. */
static const char *second_tier(const char *json)
{
	return value_of(value_of(json, "tiers", "tier"), "demoted_bytes_per_s", "khugepaged");
}

static enum psi_result promotion_is_seen(void)
{
	static struct files before, after;
	double first_pct = -1, last_pct = -1, pct, first_hot[2] = {}, last_hot[2] = {}, most = 0;
	double to_fast = 0, promoted;
	int i, compared = 0;
	const char *json;
	size_t t;

	begin_work(false);
	read_files(&before);
	run_top("--json -n 16 -d 500ms");
	read_files(&after);
	EXPECT(output.nr == MAX_ROUNDS, "%d lines: %s", output.nr, output.line[0]);
	for (i = 0; i < MAX_ROUNDS; i++) {
		json = output.line[i];
		for (t = 0; t < ARRAY_SIZE(totals); t++) {
			double low = i ? number_of(output.line[i - 1], "totals", totals[t]) :
				     line_of(before.vmstat, totals[t]);
			double high = line_of(after.vmstat, totals[t]);
			double now = number_of(json, "totals", totals[t]);

			EXPECT(low <= now && now <= high, "%s: %.0f, then %.0f, then %.0f",
			       totals[t], low, now, high);
		}
		if (i) {
			compared += expect_rates(output.line[i - 1], json);
			to_fast += number_of(json, "tiers", "promoted_bytes_per_s") *
				   seconds_between(output.line[i - 1], json);
		}
		pct = is_null(json, "", "fast_pct") ? -1 : number_of(json, "", "fast_pct");
		EXPECT(pct < 0 || (number_of(json, "tiers", "served_pct") == pct &&
				   fabs(number_of(second_tier(json), "", "served_pct") -
					(100 - pct)) < 0.011), "served: %s", json);
		if (pct >= 0 && first_pct < 0) {
			first_pct = pct;
			first_hot[0] = rate_of(json, "tiers", "hot_bytes");
			first_hot[1] = rate_of(second_tier(json), "", "hot_bytes");
		}
		last_pct = pct >= 0 ? pct : last_pct;
		most = fmax(most, number_of(json, "promotion", "bytes_per_s"));
	}
	last_hot[0] = number_of(json, "tiers", "hot_bytes");
	last_hot[1] = number_of(second_tier(json), "", "hot_bytes");
	promoted = grown(output.line[0], json, "ksamplingd_promoted");
	psi_note("%.0f pages are promoted, %.0f to the fast tier, %.0f kB/s at most", promoted,
		 to_fast / PAGE, most / 1024);
	/* Each CPU may keep some back from what is counted for a node. */
	EXPECT(fabs(to_fast / PAGE - promoted) <= 0.1 * promoted + 125 * online_cpus(),
	       "not all goes there");
	psi_note("fast memory serves %.1f %%, then %.1f %%", first_pct, last_pct);
	psi_note("hot there %.0f kB, then %.0f kB; slow %.0f kB, then %.0f kB",
		 first_hot[0] / 1024, last_hot[0] / 1024, first_hot[1] / 1024,
		 last_hot[1] / 1024);
	EXPECT(compared > MAX_ROUNDS / 2, "only %d rounds have samples", compared);
	EXPECT(most > 0, "nothing is promoted");
	EXPECT(first_pct >= 0 && last_pct > first_pct + 20, "fast memory serves no more");
	EXPECT(last_hot[0] > first_hot[0], "no more of it is hot");
	return PSI_PASS;
}

/* Where a number has not changed meanwhile it is known what it has to be. */
static int expect_same(const char *what, double said, double before, double after)
{
	if (before != after)
		return 0;
	EXPECT(fabs(said - before) < 0.001, "%s: %f, and it is %f", what, said, before);
	return 1;
}

/* What is listed on each of two nodes, in bytes */
static void read_hot(double *hot)
{
	FILE *file = fopen(VIEWS "hot_pages", "r");
	int node, order;
	char line[128];

	EXPECT(file, "hot_pages");
	hot[0] = 0;
	hot[1] = 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%d %*s %d", &node, &order) == 2 && node >= 0 && node < 2)
			hot[node] += PAGE << order;
	fclose(file);
}

/* What is hot by the list is between the two that come from the histogram. */
static void expect_hot(double hot, const char *json)
{
	double least = number_of(json, "", "hot_bytes");
	double most = number_of(json, "", "hot_most_bytes");

	psi_note("%.0f kB are hot: %.0f to %.0f", hot / 1024, least / 1024, most / 1024);
	EXPECT(least * 0.9 <= hot && hot <= most * 1.1, "%.0f are not from %.0f to %.0f", hot,
	       least, most);
}

static enum psi_result hot_by_tier(void)
{
	double hot[2], again[2];
	const char *json;
	int huge, tries;

	for (huge = 0; huge < 2; huge++) {
		begin_work(huge);
		sleep_ms(3000);
		EXPECT(!set_knob("promote", "0"), "promote");
		EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
		sleep_ms(1000);
		for (tries = 0; tries < 10; tries++) {
			read_hot(hot);
			run_top("--json -n 1 -d 20ms");
			read_hot(again);
			if (hot[0] == again[0] && hot[1] == again[1])
				break;
		}
		EXPECT(tries < 10, "it changes all the time");
		EXPECT(hot[0] && hot[1], "%.0f and %.0f are hot", hot[0], hot[1]);
		json = output.line[0];
		expect_hot(hot[0], json);
		expect_hot(hot[1], second_tier(json));
		end_work();
	}
	return PSI_PASS;
}

static enum psi_result files_agree(void)
{
	static const struct {
		const char *object, *key, *name;
		double unit;
	} told[] = {
		{ "promotion", "most_now_bytes_per_s", "promote_kb_per_s_now", 1024 },
		{ "promotion", "queued_bytes", "queued", PAGE },
		{ "promotion", "returned_pct", "returned_permille", 0.1 },
		{ "promotion", "past_bytes", "past_bytes", 1 },
	}, status[] = {
		{ "", "use_pct", "use_permille", 0.1 },
		{ "", "use_last_window_pct", "use_last_window_permille", 0.1 },
		{ "", "workload_pct", "workload_permille", 0.1 },
		{ "", "load_share_pct", "load_share_permille", 0.1 },
		{ "", "sleep_us", "sleep_us", 1 },
		{ "", "heat_bytes", "heat_bytes", 1 },
		{ "", "hot_target_bytes", "hot_target_kb", 1024 },
	};
	int compared = 0, wanted, tries;
	static struct files a, b;
	const char *json;
	size_t i;

	begin_work(true);
	sleep_ms(5000);
	/* What is there stays as it is, after some time. */
	EXPECT(!set_test_pmu("accesses_per_s", 0), "accesses_per_s");
	sleep_ms(12000);
	wanted = ARRAY_SIZE(totals) + ARRAY_SIZE(told) + ARRAY_SIZE(status) + 1;
	for (tries = 0; tries < 10 && compared < wanted; tries++) {
		read_files(&a);
		run_top("--json -n 1 -d 20ms");
		read_files(&b);
		EXPECT(output.nr == 1, "%d lines", output.nr);
		json = output.line[0];
		EXPECT(is_null(json, "", "note"), "%s", json);
		compared = 0;
		for (i = 0; i < ARRAY_SIZE(totals); i++)
			compared += expect_same(totals[i], number_of(json, "totals", totals[i]),
						line_of(a.vmstat, totals[i]),
						line_of(b.vmstat, totals[i]));
		for (i = 0; i < ARRAY_SIZE(told); i++)
			compared += expect_same(told[i].key,
				number_of(json, told[i].object, told[i].key) / told[i].unit,
				line_of(a.promotion, told[i].name),
				line_of(b.promotion, told[i].name));
		for (i = 0; i < ARRAY_SIZE(status); i++)
			compared += expect_same(status[i].key,
				number_of(json, status[i].object, status[i].key) / status[i].unit,
				line_of(a.status, status[i].name),
				line_of(b.status, status[i].name));
		compared += expect_same("hot_from", number_of(json, "", "hot_from"),
					line_of(a.histogram, "hot_from"),
					line_of(b.histogram, "hot_from"));
	}
	psi_note("%d numbers of %d are compared, in round %d", compared, wanted, tries);
	EXPECT(compared == wanted, "they never stay the same");
	EXPECT(number_of(json, "totals", "ksamplingd_promoted") > 0, "nothing is promoted");
	EXPECT(!strncmp(value_of(json, "promotion", "on"), "true", 4) &&
	       number_of(json, "promotion", "most_bytes_per_s") == MB_PER_S << 20,
	       "knobs: %s", json);
	return PSI_PASS;
}

static enum psi_result text_is_told(void)
{
	char promoted[16] = "", rate[16] = "";
	bool fast = false, slow = false, accesses = false, event = false, promotion = false;
	int i, number;
	char share[16], *line;

	begin_work(false);
	sleep_ms(1000);
	run_top("--batch -n 1 -d 3s");
	for (i = 0; i < output.nr; i++) {
		line = output.line[i];
		psi_note("%.*s", (int)strcspn(line, "\n"), line);
		fast |= sscanf(line, "%d fast 0 %15s", &number, share) == 2;
		slow |= sscanf(line, "%d slow 1 %15s", &number, share) == 2;
		accesses |= sscanf(line, "accesses fast %15[0-9.]%%", share) == 1;
		event |= sscanf(line, "test %15s", share) == 1;
		promotion |= sscanf(line, "promotion %*s in all ksamplingd %15[^/]/s of %15s",
				    promoted, rate) == 2;
	}
	EXPECT(strstr(output.line[0], " by test"), "%s", output.line[0]);
	EXPECT(fast && slow, "tiers");
	EXPECT(accesses, "accesses");
	EXPECT(event, "event");
	EXPECT(promotion && strcmp(promoted, "0") && !strcmp(rate, "2.0M/s"),
	       "promotion: %s of %s", promoted, rate);
	return PSI_PASS;
}

/* A user who may not read debugfs sees what any user may. */
static enum psi_result anybody_sees(void)
{
	const char *json;

	begin_work(true);
	sleep_ms(3000);
	EXPECT(!setegid(NOBODY) && !seteuid(NOBODY), "cannot be somebody");
	run_top("--json -n 1 -d 1s");
	EXPECT(!seteuid(0) && !setegid(0), "cannot be root again");
	EXPECT(output.nr == 2 && strstr(output.line[0], "as root"), "%d lines: %s", output.nr,
	       output.line[0]);
	json = output.line[1];
	EXPECT(is_null(json, "", "use_pct") && is_null(json, "promotion", "queued_bytes"),
	       "it is told what is for root: %s", json);
	EXPECT(number_of(json, "totals", "ksamplingd_samples") > 0 &&
	       number_of(json, "totals", "ksamplingd_promoted") > 0 &&
	       number_of(json, "promotion", "most_bytes_per_s") == MB_PER_S << 20 &&
	       number_of(json, "tiers", "total_bytes") > 0, "%s", json);
	return PSI_PASS;
}

static enum psi_result off_is_told(void)
{
	require_top();
	undo_later(reset_knobs);
	reset_knobs();
	run_top("--json -n 1 -d 20ms");
	EXPECT(output.nr == 2 && strstr(output.line[0], "is off") &&
	       !strncmp(value_of(output.line[1], "", "enabled"), "false", 5) &&
	       number_of(output.line[1], "tiers", "total_bytes") > 0, "%d lines: %s", output.nr,
	       output.line[0]);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-31 ksamplingd-top shows what is promoted as it is", promotion_is_seen },
	{ "R-31 ksamplingd-top says what the files say", files_agree },
	{ "R-29 ksamplingd-top knows what is hot in each tier", hot_by_tier },
	{ "R-31 ksamplingd-top tells it as text", text_is_told },
	{ "R-31 ksamplingd-top shows anybody what anybody may see", anybody_sees },
	{ "R-20 ksamplingd-top says that it is off", off_is_told },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
