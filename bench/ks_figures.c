// SPDX-License-Identifier: GPL-2.0
/*
 * How well real programs are sampled, on a processor that knows the truth (ks_truth.h).
 *
 * The environment says what is to be run and for which quota:
 *
 *	ks_load=NAME	/loads/NAME PHASE CPU, once for each CPU; phases are 1 and 2
 *	ks_quota=N	permille
 *
 * Phase 1 is started, and then sampling; when the quota is met everything is forgotten,
 * and for STEADY_S both sides count from zero. Then comes phase 2. It prints
 *
 *	window PHASE NUMBER PERIOD_LOADS PERIOD_STORES USE_PERMILLE SAMPLES ROUNDS
 *	figure NAME VALUE
 *
 * Or one thing of these alone, for scripts:
 *
 *	ks_figures forget	the processor counts the accesses to each page from zero
 *	ks_figures hottest N	the frames of the N pages that were accessed most since,
 *				with their share of them, ppm; loads that missed are 80 %
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ks_truth.h"
#include "ks_util.h"

#define MAX_CPUS	64
#define MOST_WINDOWS	25
#define STEADY_S	60
#define START_MS	15000	/* until programs do what they are for */
#define LOAD_SHARE	0.8	/* of samples, after boot */

static pid_t pids[MAX_CPUS];
static unsigned int quota;
static int phase, number;

static void report(const char *name, double value)
{
	printf("figure %s %.3f\n", name, value);
	fflush(stdout);
}

static void start_loads(const char *name)
{
	int cpus = online_cpus(), i;
	char path[64], what[8], cpu[8];

	snprintf(path, sizeof(path), "/loads/%s", name);
	snprintf(what, sizeof(what), "%d", phase);
	for (i = 0; i < cpus && i < MAX_CPUS; i++) {
		snprintf(cpu, sizeof(cpu), "%d", i);
		pids[i] = fork();
		if (!pids[i]) {
			setpgid(0, 0);
			execl(path, path, what, cpu, NULL);
			_exit(127);
		}
		EXPECT(pids[i] > 0, "fork");
	}
}

static void stop_loads(void)
{
	int i;

	for (i = 0; i < MAX_CPUS && pids[i]; i++) {
		kill(-pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		pids[i] = 0;
	}
}

/* Or what was measured means nothing. */
static void loads_run(void)
{
	int i;

	for (i = 0; i < MAX_CPUS && pids[i]; i++)
		EXPECT(!waitpid(pids[i], NULL, WNOHANG), "the load has ended");
}

static double band(void)
{
	return quota / 8.0 > 5 ? quota / 8.0 : 5;
}

static double one_window(void)
{
	unsigned long long run = get_status("run_ns"), wall = get_status("wall_ns");
	unsigned long long samples = get_status("samples"), rounds = get_status("rounds");
	double use;

	wait_windows(1);
	use = 1000.0 * (get_status("run_ns") - run) / (get_status("wall_ns") - wall);
	printf("window %d %d %llu %llu %.1f %llu %llu\n", phase, number++,
	       get_event("MEM_LOAD_RETIRED.L3_MISS", "period"),
	       get_event("MEM_INST_RETIRED.ALL_STORES", "period"), use,
	       get_status("samples") - samples, get_status("rounds") - rounds);
	fflush(stdout);
	return use;
}

/* Return: windows until the quota was met, and so for three; -1: not at all. */
static int settle(void)
{
	int w, good = 0;
	double use;

	for (w = 1; w <= MOST_WINDOWS; w++) {
		use = one_window();
		good = use >= quota - band() && use <= quota + band() ? good + 1 : 0;
		if (good == 3)
			return w - 2;
	}
	return -1;
}

/* There is nothing to be seen before the first round. */
static void begin_sampling(void)
{
	switch_on();
	while (!get_status("rounds"))
		sleep_ms(10);
}

static unsigned long long samples_of(const char *event)
{
	return get_event(event, "samples");
}

/* All that is known of a page: by us, and by the processor. */
struct page {
	double		heat, accesses;
	unsigned int	order;		/* of the folio that it is the first page of */
};

static int by_heat(const void *a, const void *b)
{
	const struct page *p = a, *q = b;

	return p->heat < q->heat ? 1 : p->heat > q->heat ? -1 : 0;
}

static int by_accesses(const void *a, const void *b)
{
	const struct page *p = a, *q = b;

	return p->accesses < q->accesses ? 1 : p->accesses > q->accesses ? -1 : 0;
}

static size_t read_heat(struct page *pages, size_t nr)
{
	unsigned long pfn, count = 0, i;
	unsigned int node, order, heat;
	char line[128];
	FILE *file = fopen(VIEWS "hot_pages", "re");

	EXPECT(file, "hot_pages");
	while (fgets(line, sizeof(line), file)) {
		EXPECT(sscanf(line, "%u %lx %u %u", &node, &pfn, &order, &heat) == 4, "%s", line);
		for (i = 0; i < 1UL << order && pfn + i < nr; i++)
			pages[pfn + i].heat = heat;
		if (pfn < nr)
			pages[pfn].order = order;
		count++;
	}
	fclose(file);
	return count;
}

/* The truth in the same unit: shares of all that is sampled. */
static void read_truth(struct page *pages, const struct truth_page *truth, size_t nr,
		       double load_share)
{
	double misses = 0, stores = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		misses += truth[i].misses;
		stores += truth[i].stores;
	}
	for (i = 0; i < nr; i++)
		pages[i].accesses = load_share * truth[i].misses / (misses ?: 1) +
				    (1 - load_share) * truth[i].stores / (stores ?: 1);
}

/* We tell no parts of a huge page from each other. */
static void spread_over_folios(struct page *pages, size_t nr)
{
	size_t i, part, parts;
	double sum;

	for (i = 0; i < nr; i++) {
		parts = 1UL << pages[i].order;
		if (parts == 1 || i + parts > nr)
			continue;
		for (part = 0, sum = 0; part < parts; part++)
			sum += pages[i + part].accesses;
		for (part = 0; part < parts; part++)
			pages[i + part].accesses = sum / parts;
	}
}

static void report_of(const char *share, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%s", name, share);
	report(text, value);
}

/* Of the pages that hold the hottest share of all accesses, by either. */
static void compare(struct page *pages, size_t nr, double share, const char *name)
{
	double heat = 0, accesses = 0, sum, least_accesses, held = 0, best = 0;
	size_t i, is, should, right = 0;

	for (i = 0; i < nr; i++) {
		heat += pages[i].heat;
		accesses += pages[i].accesses;
	}
	qsort(pages, nr, sizeof(*pages), by_accesses);
	for (should = 0, sum = 0; should < nr && sum < share * accesses; should++)
		sum += pages[should].accesses;
	EXPECT(should, "there were no accesses");
	least_accesses = pages[should - 1].accesses;

	qsort(pages, nr, sizeof(*pages), by_heat);
	for (is = 0, sum = 0; is < nr && sum < share * heat; is++)
		sum += pages[is].heat;
	for (i = 0; i < is; i++)
		right += pages[i].accesses >= least_accesses;
	for (i = 0; i < should; i++)
		held += pages[i].accesses;
	qsort(pages, nr, sizeof(*pages), by_accesses);
	for (i = 0; i < should; i++)
		best += pages[i].accesses;

	report_of(name, "pages", should);
	report_of(name, "precision", is ? (double)right / is : 0);
	report_of(name, "recall", (double)right / should);
	/* Of the accesses that the same number of pages could have held. */
	report_of(name, "held", held / best);
}

static void compare_with_truth(struct truth *truth)
{
	double loads = samples_of("MEM_LOAD_RETIRED.L3_MISS");
	double stores = samples_of("MEM_INST_RETIRED.ALL_STORES");
	struct page *pages = calloc(truth->pages, sizeof(*pages));

	EXPECT(pages, "memory");
	report("sampled_pages", read_heat(pages, truth->pages));
	report("load_share", loads / (loads + stores));
	read_truth(pages, get_truth_pages(truth), truth->pages, loads / (loads + stores));
	spread_over_folios(pages, truth->pages);
	compare(pages, truth->pages, 0.1, "tenth");
	compare(pages, truth->pages, 0.5, "half");
	free(pages);
}

static void forget(struct truth *truth)
{
	memset(get_truth_pages(truth), 0, truth->pages * sizeof(struct truth_page));
}

/* What the program achieves in a second; what we do ourselves hardly misses the cache. */
static double misses_per_s(struct truth *truth, unsigned long long *from, __u64 *from_ns)
{
	unsigned long long misses = look_at(&truth->user[MISSES]) - *from;
	__u64 ns = now_ns() - *from_ns;

	*from += misses;
	*from_ns += ns;
	return misses * 1e9 / ns;
}

static unsigned long long context_switches(void)
{
	char text[65536], *at;

	EXPECT(read_text("/proc/stat", text, sizeof(text)) > 0, "/proc/stat");
	at = strstr(text, "\nctxt ");
	return at ? strtoull(at + 6, NULL, 10) : 0;
}

static void steady(struct truth *truth)
{
	double least = 1000, most = 0, use, sum = 0, alone, sampled;
	unsigned long long changes, written, dropped, samples, switches, misses = 0;
	__u64 ns = 0;
	int s;

	/* Nothing cools, and everything that was sampled is shown. */
	EXPECT(!set_knob("cool_ms", "3600000"), "cool_ms");
	EXPECT(!set_knob("hot_target_mb", "100000"), "hot_target_mb");
	set_knob("hot_samples", "1");
	EXPECT(!set_knob("load_period", "%llu",
			 get_event("MEM_LOAD_RETIRED.L3_MISS", "period")), "load_period");
	switch_off();
	misses_per_s(truth, &misses, &ns);
	sleep_ms(10000);
	alone = misses_per_s(truth, &misses, &ns);
	written = look_at(&truth->written);
	dropped = look_at(&truth->dropped);
	forget(truth);
	begin_sampling();
	settle();

	misses_per_s(truth, &misses, &ns);
	samples = accounted();
	changes = get_status("period_changes");
	switches = context_switches();
	for (s = 0; s < STEADY_S; s++) {
		use = one_window();
		least = use < least ? use : least;
		most = use > most ? use : most;
		sum += use;
	}
	sampled = misses_per_s(truth, &misses, &ns);
	samples = accounted() - samples;
	report("samples_per_s", (double)samples / STEADY_S);
	report("switches_per_s", (double)(context_switches() - switches) / STEADY_S);
	/* Of all CPUs together. If the program does always the same, that is the price. */
	report("workload_permille", 1000 * (1 - sampled / alone));
	report("changes_in_60_s", get_status("period_changes") - changes);
	report("use_permille", sum / STEADY_S);
	report("use_least", least);
	report("use_most", most);
	compare_with_truth(truth);

	/* To the last one. */
	switch_off();
	samples = accounted();
	report("samples", get_status("samples"));
	report("lost", get_status("lost"));
	report("written", look_at(&truth->written) - written);
	report("dropped", look_at(&truth->dropped) - dropped);
	report("unaccounted", (double)(look_at(&truth->written) - written) - samples);
	begin_sampling();
	settle();
}

static enum psi_result figures(void)
{
	const char *load = getenv("ks_load"), *permille = getenv("ks_quota");
	struct truth *truth = get_truth();

	REQUIRE(truth, NO_TRUTH);
	REQUIRE(load, "needs a load");
	quota = permille ? atoi(permille) : 30;
	undo_later(reset_knobs);
	reset_knobs();
	undo_later(stop_loads);
	EXPECT(!set_knob("quota_permille", "%u", quota), "quota");

	phase = 1;
	start_loads(load);
	sleep_ms(START_MS);
	begin_sampling();
	report("windows_after_start", settle());
	steady(truth);
	loads_run();

	stop_loads();
	phase = 2;
	start_loads(load);
	report("windows_after_change", settle());
	loads_run();
	return PSI_PASS;
}

static int by_place(const void *a, const void *b)
{
	return by_accesses(*(const struct page * const *)a, *(const struct page * const *)b);
}

static int print_hottest(struct truth *truth, size_t nr)
{
	struct page *pages = calloc(truth->pages, sizeof(*pages)), **order;
	size_t i;

	order = calloc(truth->pages, sizeof(*order));
	if (!pages || !order)
		return 1;
	read_truth(pages, get_truth_pages(truth), truth->pages, LOAD_SHARE);
	for (i = 0; i < truth->pages; i++)
		order[i] = &pages[i];
	qsort(order, truth->pages, sizeof(*order), by_place);
	for (i = 0; i < nr && i < truth->pages; i++)
		printf("0x%tx %.0f\n", order[i] - pages, order[i]->accesses * 1e6);
	return 0;
}

static const struct psi_case cases[] = {
	{ "figures", figures },
};

int main(int argc, char **argv)
{
	struct truth *truth = argc > 1 ? get_truth() : NULL;

	if (truth && !strcmp(argv[1], "forget")) {
		forget(truth);
		return 0;
	}
	if (truth && argc > 2 && !strcmp(argv[1], "hottest"))
		return print_hottest(truth, strtoul(argv[2], NULL, 0));
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
