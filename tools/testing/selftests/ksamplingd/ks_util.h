/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the ksamplingd selftests share: its knobs and views, and the test PMU. Cases
 * come from ../psi/psi_util.h.
 */
#ifndef KS_UTIL_H
#define KS_UTIL_H

#include "../psi/psi_util.h"

#define KNOBS		"/proc/sys/vm/ksamplingd/"
#define VIEWS		"/sys/kernel/debug/ksamplingd/"
#define TRACING		"/sys/kernel/tracing/"
#define TEST_PMU	"/sys/kernel/debug/ksamplingd_test/"
#define PAGE		4096UL

/* wait_until() for what takes longer, or is dear to look at: ten times a second. */
#define wait_slowly(condition, ms)	wait_until(({ sleep_ms(99); (condition); }), ms)

/* 0 or -errno. */
int set_knob(const char *name, const char *format, ...) __printf(2, 3);
int set_test_pmu(const char *name, unsigned long long value);

/* The knob takes @good, and says so; it refuses all that is @bad, up to a NULL. */
void expect_checked(const char *name, const char *good, const char *const *bad);

struct knob {
	const char *name, *value;
};

/* Neither a user nor root without privileges may write them, and they stay as they are. */
void expect_privileged(const struct knob *all, size_t nr);

/* Ends the case if it is not there. */
unsigned long long get_knob(const char *name);
unsigned long long get_test_pmu(const char *name);
/* The number behind a word of the status; the sum, if there are some. */
unsigned long long get_status(const char *word);
/* The number behind a word of the line of an event. */
unsigned long long get_event(const char *event, const char *word);
/* What follows a word that begins a line, and a space; NULL: no line begins with it. */
const char *find_value(const char *text, const char *word);
/* As a number, of a text or a file; ends the case if it is not there. */
unsigned long long value_in(const char *text, const char *word);
unsigned long long number_in(const char *path, const char *word);
unsigned long long get_vmstat(const char *word);
/* There are so many within three seconds, as the thread sees changes of CPUs late. */
void expect_rings(unsigned long long rings);

/* A page that is said to be hot */
struct hot_page {
	int node;
	unsigned long pfn;
	unsigned int order, heat;
};

/* Up to @max of them. Return: how many */
unsigned int read_hot_pages(struct hot_page *pages, unsigned int max);
/* Base pages that have any heat, on a node, or on all of them if that is negative. */
unsigned long long warm_pages(int node);

/* What became of all samples that were read or lost. */
unsigned long long accounted(void);

/* All knobs as after boot, and off; so it is after the case. */
void reset_knobs(void);

/* The test PMU with a set of so many pages, and the source that samples it; off. */
void use_test_pmu(unsigned int pages, unsigned long long accesses_per_s);
void switch_on(void);
void switch_off(void);
/* On, and something is sampled; else the case cannot be run here. */
void start_sampling(void);

/* ------------------------- A page, sample for sample ------------------------- */

/* Each access to a variable is to be a sample, and none cools; off. */
void use_breakpoint(void *address);
/* A page for it, until the case ends. There is nothing in it. */
#define WATCHED	((char *)0x200000000000UL)
void map_watched(void);
/* Until the samples have been seen. */
void touch_watched(unsigned int times);
void wait_round(void);

/* The thread comes to be allowed on these CPUs, as in 0-2. */
void expect_affinity(const char *wanted);

/* A line in TRACING "trace" for each sample, until the case ends. */
void trace_samples(void);

/* The kernel log from now on. */
int open_new_log(void);
/* Return: how many lines since then, or since the last time, have @text. */
int count_in_log(int log, const char *text, char *last, size_t size);

/* Until so many windows have ended, the first of which has begun before. */
void wait_windows(unsigned int windows);

#endif /* KS_UTIL_H */
