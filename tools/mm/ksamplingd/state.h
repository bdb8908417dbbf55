/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel tells about ksamplingd and memory tiers, as of the last round.
 */
#ifndef KSAMPLINGD_TOP_STATE_H
#define KSAMPLINGD_TOP_STATE_H

#include "figures.h"

#define MAX_EVENTS	8
#define NR_BINS		16

/* Files in /proc/sys/vm/ksamplingd/. */
enum knob {
	ENABLED,
	QUOTA_PERMILLE,
	HOT_SAMPLES,
	PROMOTE,
	PROMOTE_MB_PER_S,
	NR_KNOBS,
};

/* Lines of the status. */
enum status {
	USE_PERMILLE,
	LAST_USE_PERMILLE,
	WORKLOAD_PERMILLE,
	LOADS_PERMILLE,
	SLEEP_US,
	HEAT_BYTES,
	HOT_TARGET_KB,
	NR_STATUS,
};

/* Lines of the file promotion, which a kernel may lack. */
enum promotion {
	KB_PER_S_NOW,
	RETURNED_PERMILLE,
	QUEUED,			/* base pages */
	PAST_BYTES,
	NR_PROMOTION,
};

/* Lines of /proc/vmstat; from TOLD on, in base pages. */
enum vm {
	SAMPLES,
	DISCARDED,
	LOST,
	FAST_SAMPLES,
	SLOW_SAMPLES,
	TOLD,
	PROMOTED,
	DROPPED,
	RETURNED,
	FAILED,
	FAILED_LAST = FAILED + 9,
	ALL_PROMOTED,		/* not only by ksamplingd */
	DEMOTED,
	DEMOTED_LAST = DEMOTED + 2,
	NR_VM,
};

#define NR_FAILED	(FAILED_LAST - FAILED + 1)
#define NR_DEMOTED	(DEMOTED_LAST - DEMOTED + 1)

extern const char *const vm_names[NR_VM];
extern const char *const failed_names[NR_FAILED], *const demoted_names[NR_DEMOTED];

/* Figures in a line "event" of the status. */
enum event_figure {
	PERIOD,
	EVENT_SAMPLES,
	EVENT_LOST,
	EVENT_THROTTLED,
	EVENT_BROKEN,
	EVENT_DISCARDED,
	EVENT_DISCARDED_LAST = EVENT_DISCARDED + 5,
	RUNNING_PERMILLE,
	NR_EVENT_FIGURES,
};

extern const char *const event_names[NR_EVENT_FIGURES];

struct event {
	char		name[32];
	struct figure	figure[NR_EVENT_FIGURES];
	struct history	running;
};

/* Histogram of a node: base pages by powers of two of their heat. */
struct heat {
	bool		known;
	uint64_t	bin[NR_BINS];
};

enum memory {
	TOTAL_KB,
	FREE_KB,
	NR_MEMORY,
};

struct node {
	int		id;
	struct file	meminfo, vmstat;
	struct figure	memory[NR_MEMORY];
	struct figure	move[1 + NR_DEMOTED];	/* promoted to here, demoted from here */
	struct heat	heat;
};

/* Unknown numbers are < 0. */
struct tier {
	int		number;		/* -1: the kernel has no tiers */
	bool		seen;
	bool		fast;		/* pages are promoted to it, not from it */
	char		nodes[128];
	struct file	nodelist;
	double		total_bytes, free_bytes;
	double		hot_bytes;	/* at least; hot_most_bytes: at most. See tiers.c */
	double		hot_most_bytes;
	double		served_pct;	/* of the accesses, by samples */
	double		promoted_per_s;	/* bytes, to this tier */
	double		demoted_per_s[NR_DEMOTED];	/* from this tier */
	struct history	hot;
};

enum history_of {
	USE_HISTORY,
	WORKLOAD_HISTORY,
	SAMPLES_HISTORY,
	FAST_HISTORY,
	PROMOTED_HISTORY,
	DEMOTED_HISTORY,
	NR_HISTORIES,
};

struct state {
	const char	*root;		/* directory to use as /, or "" */
	unsigned int	round;
	double		round_s;
	double		span_s;		/* since the previous round; 0: there is none */
	double		date_s;		/* of the round, in seconds since 1970 */
	double		had_counters_s, had_quota_s;	/* last time that there was enough */

	bool		present;	/* the kernel has ksamplingd */
	int		status_error;	/* errno of reading the status; 0: none */
	char		source[16];
	struct figure	knob[NR_KNOBS];
	struct figure	status[NR_STATUS];
	struct figure	promotion[NR_PROMOTION];
	struct figure	vm[NR_VM];
	int		nr_events;
	struct event	event[MAX_EVENTS];
	struct figure	hot_from;
	double		fast_pct;	/* share of the samples */
	double		promoted_per_s;	/* base pages, by ksamplingd and others */
	struct history	history[NR_HISTORIES];

	int		nr_tiers, nr_nodes;
	struct tier	*tier;		/* the fastest first */
	struct node	*node;

	struct file	knob_file[NR_KNOBS], status_file, promotion_file, histogram_file;
	struct file	vmstat_file, has_cpu_file;
	char		*tiers_dir;
};

/* state.c */
void state_init(struct state *state, const char *root);
void state_read(struct state *state);
bool state_is_on(const struct state *state);
double sum_per_s(const struct figure *figures, int nr);

/* note.c */
bool is_short_of_counters(const struct event *event);
void note_round(struct state *state);
const char *state_note(const struct state *state);

/* tiers.c */
void tiers_init(struct state *state);
void tiers_read(struct state *state);

#endif
