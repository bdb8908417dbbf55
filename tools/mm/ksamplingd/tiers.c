// SPDX-License-Identifier: GPL-2.0
/*
 * Memory tiers, and how much of each is hot.
 *
 * The histogram of each node counts base pages by powers of two of their heat, and pages are
 * hot from the heat hot_from on. Within the bin that contains hot_from, the number of pages
 * is assumed to fall with 1 / heat, as the kernel assumes to find hot_from. A base page also
 * needs the heat of hot_samples samples. A huge page needs less than a bin can tell: the
 * first bin has huge pages that are hot, and base pages that have cooled down. So there are
 * two numbers: one without that bin, and one with what may be hot in it.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define TIERS_DIR	"/sys/devices/virtual/memory_tiering"
#define NODES_DIR	"/sys/devices/system/node"
#define SAMPLE_HEAT	512.0	/* of a base page */
#define MAX_NODES	1024

static const char *const memory_names[NR_MEMORY] = {
	[TOTAL_KB]	= "MemTotal:",
	[FREE_KB]	= "MemFree:",
};

static const char *const move_names[1 + NR_DEMOTED] = {
	"pgpromote_success", "pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged",
};

static const char *const hot_from_name = "hot_from";

/**
 * tiers_init - set the paths of files that exist only once
 * @state: the state that has the files
 */
void tiers_init(struct state *state)
{
	file_init(&state->has_cpu_file, state->root, NODES_DIR "/has_cpu");
	if (asprintf(&state->tiers_dir, "%s" TIERS_DIR, state->root) < 0)
		err(1, "no memory");
}

/* Parse a list such as "0-3,8". */
static void parse_list(const char *text, bool *has)
{
	long i, last;
	char *end;

	memset(has, 0, MAX_NODES * sizeof(*has));
	for (; text; text = *end == ',' ? end + 1 : NULL) {
		i = strtol(text, &end, 10);
		last = i;
		if (end == text)
			return;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; i >= 0 && i <= last && i < MAX_NODES; i++)
			has[i] = true;
	}
}

static struct tier *find_tier(struct state *state, int number)
{
	struct tier *tier;
	int i;

	for (i = 0; i < state->nr_tiers; i++) {
		if (state->tier[i].number == number)
			return &state->tier[i];
	}
	state->tier = reallocarray(state->tier, state->nr_tiers + 1, sizeof(*tier));
	if (!state->tier)
		err(1, "no memory for the tiers");
	tier = &state->tier[state->nr_tiers++];
	*tier = (struct tier) { .number = number };
	if (number < 0)
		file_init(&tier->nodelist, state->root, NODES_DIR "/has_memory");
	else
		file_init(&tier->nodelist, state->root, TIERS_DIR "/memory_tier%d/nodelist",
			  number);
	return tier;
}

static struct node *find_node(struct state *state, int id)
{
	struct node *node;
	int i;

	for (i = 0; i < state->nr_nodes; i++) {
		if (state->node[i].id == id)
			return &state->node[i];
	}
	state->node = reallocarray(state->node, state->nr_nodes + 1, sizeof(*node));
	if (!state->node)
		err(1, "no memory for the nodes");
	node = &state->node[state->nr_nodes++];
	*node = (struct node) { .id = id };
	file_init(&node->meminfo, state->root, NODES_DIR "/node%d/meminfo", id);
	file_init(&node->vmstat, state->root, NODES_DIR "/node%d/vmstat", id);
	return node;
}

static int by_number(const void *left, const void *right)
{
	return ((const struct tier *)left)->number - ((const struct tier *)right)->number;
}

/* A tier without nodes does not count. */
static void read_nodelist(struct tier *tier)
{
	const char *nodes = file_text(&tier->nodelist) ?: "";

	snprintf(tier->nodes, sizeof(tier->nodes), "%.*s", (int)strcspn(nodes, "\n"), nodes);
	tier->seen = tier->nodes[0];
}

/* On a kernel without tiers, all nodes are in one. */
static void list_tiers(struct state *state)
{
	struct dirent *entry;
	bool any = false;
	int number;
	DIR *dir;

	dir = opendir(state->tiers_dir);
	while (dir && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "memory_tier%d", &number) == 1 && number >= 0) {
			read_nodelist(find_tier(state, number));
			any = true;
		}
	}
	if (dir)
		closedir(dir);
	if (!any)
		read_nodelist(find_tier(state, -1));
}

static void drop_unseen(struct state *state)
{
	int i, kept = 0;

	for (i = 0; i < state->nr_tiers; i++) {
		if (state->tier[i].seen)
			state->tier[kept++] = state->tier[i];
		else
			file_free(&state->tier[i].nodelist);
	}
	state->nr_tiers = kept;
}

/* The slowest tier with CPUs and all faster ones are fast. */
static void find_fast(struct state *state)
{
	bool has_cpu[MAX_NODES], has[MAX_NODES], fast = false;
	int i, id;

	parse_list(file_text(&state->has_cpu_file), has_cpu);
	for (i = state->nr_tiers - 1; i >= 0; i--) {
		parse_list(state->tier[i].nodes, has);
		for (id = 0; id < MAX_NODES; id++)
			fast |= has[id] && has_cpu[id];
		state->tier[i].fast = fast || !i;
	}
}

static void read_histogram(struct state *state)
{
	const char *text = NULL;
	struct heat *heat;
	int i, id, used;

	for (i = 0; i < state->nr_nodes; i++)
		state->node[i].heat.known = false;
	if (state_is_on(state))
		text = file_text(&state->histogram_file);
	figures_read(&state->hot_from, &hot_from_name, 1, text, 0);
	for (text = text ? strstr(text, "\nnode ") : NULL; text; text = strstr(text, "\nnode ")) {
		if (sscanf(text, " node %d pages%n", &id, &used) != 1 || id < 0 || id >= MAX_NODES)
			return;
		heat = &find_node(state, id)->heat;
		for (i = 0, text += used; i < NR_BINS; i++)
			heat->bin[i] = strtoull(text, (char **)&text, 10);
		heat->known = true;
	}
}

/* Return: the number of base pages with at least this heat. */
static double pages_from(const struct heat *heat, double from)
{
	double pages = 0, low = SAMPLE_HEAT, share;
	int i;

	for (i = 1; i < NR_BINS; i++, low *= 2) {
		share = 2 * low / from - 1;
		pages += heat->bin[i] * (share < 0 ? 0 : share > 1 ? 1 : share);
	}
	return from < SAMPLE_HEAT ? pages + heat->bin[0] : pages;
}

/* A sum is unknown if any part of it is. */
static void add(double *sum, double value)
{
	*sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

static void add_hot(const struct state *state, struct tier *tier, const struct heat *heat,
		    double page)
{
	double from = state->hot_from.value, least;

	if (!heat->known || !state->hot_from.known) {
		add(&tier->hot_bytes, -1);
		add(&tier->hot_most_bytes, -1);
		return;
	}
	least = SAMPLE_HEAT * (state->knob[HOT_SAMPLES].known ? state->knob[HOT_SAMPLES].value : 1);
	add(&tier->hot_bytes, pages_from(heat, from > least ? from : least) * page);
	add(&tier->hot_most_bytes, pages_from(heat, from > 1 ? from : 1) * page);
}

static void add_node(const struct state *state, struct tier *tier, const struct node *node)
{
	double page = sysconf(_SC_PAGESIZE);
	int i;

	add(&tier->total_bytes, figure_value(&node->memory[TOTAL_KB]) * 1024);
	add(&tier->free_bytes, figure_value(&node->memory[FREE_KB]) * 1024);
	add(&tier->promoted_per_s, node->move[0].per_s * page);
	for (i = 0; i < NR_DEMOTED; i++)
		add(&tier->demoted_per_s[i], node->move[1 + i].per_s * page);
	add_hot(state, tier, &node->heat, page);
}

static void read_nodes(struct state *state)
{
	bool has[MAX_NODES];
	struct node *node;
	int i, id;

	for (i = 0; i < state->nr_tiers; i++) {
		parse_list(state->tier[i].nodes, has);
		for (id = 0; id < MAX_NODES; id++) {
			if (!has[id])
				continue;
			node = find_node(state, id);
			figures_read(node->memory, memory_names, NR_MEMORY,
				     file_text(&node->meminfo), 0);
			figures_read(node->move, move_names, 1 + NR_DEMOTED,
				     file_text(&node->vmstat), state->span_s);
		}
	}
}

/* Figures of all fast or all slow memory are those of a tier only if it is the only one. */
static bool is_only_one(const struct state *state, const struct tier *tier)
{
	int i, nr = 0;

	for (i = 0; i < state->nr_tiers; i++)
		nr += state->tier[i].fast == tier->fast;
	return nr == 1;
}

static double served_pct(const struct state *state, const struct tier *tier)
{
	if (!is_only_one(state, tier) || state->fast_pct < 0)
		return -1;
	return tier->fast ? state->fast_pct : 100 - state->fast_pct;
}

/* For kernels that do not count promotions by node, as without NUMA balancing. */
static double promoted_per_s(const struct state *state, const struct tier *tier)
{
	if (!is_only_one(state, tier) || state->promoted_per_s < 0)
		return -1;
	return tier->fast ? state->promoted_per_s * sysconf(_SC_PAGESIZE) : 0;
}

static void sum_up(struct state *state, struct tier *tier)
{
	bool has[MAX_NODES];
	int i, id;

	tier->total_bytes = 0;
	tier->free_bytes = 0;
	tier->hot_bytes = 0;
	tier->hot_most_bytes = 0;
	tier->promoted_per_s = 0;
	for (i = 0; i < NR_DEMOTED; i++)
		tier->demoted_per_s[i] = 0;
	parse_list(tier->nodes, has);
	for (id = 0; id < MAX_NODES; id++) {
		if (has[id])
			add_node(state, tier, find_node(state, id));
	}
	if (tier->promoted_per_s < 0)
		tier->promoted_per_s = promoted_per_s(state, tier);
	tier->served_pct = served_pct(state, tier);
	history_add(&tier->hot, state->round, tier->hot_most_bytes);
}

/**
 * tiers_read - read the files of tiers and nodes
 * @state: the other files have been read in this round
 */
void tiers_read(struct state *state)
{
	int i;

	for (i = 0; i < state->nr_tiers; i++)
		state->tier[i].seen = false;
	list_tiers(state);
	drop_unseen(state);
	if (state->nr_tiers)
		qsort(state->tier, state->nr_tiers, sizeof(*state->tier), by_number);
	find_fast(state);
	read_nodes(state);
	read_histogram(state);
	for (i = 0; i < state->nr_tiers; i++)
		sum_up(state, &state->tier[i]);
}
