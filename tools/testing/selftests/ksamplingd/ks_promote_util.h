/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of promotion share: memory that is slow, accesses to it, and what
 * becomes of it. They are for a guest whose node 1 has no CPU, and is of a lower tier. The
 * test PMU says which pages of the program are accessed.
 */
#ifndef KS_PROMOTE_UTIL_H
#define KS_PROMOTE_UTIL_H

#include <linux/mempolicy.h>

#include "ks_util.h"

#define FAST		0
#define SLOW		1
#define HUGE		(512 * PAGE)
#define PER_S		20000000	/* accesses */
#define TRIES_MS	4000		/* 20 tries, one each 200 ms */
#define DEMOTION	"/sys/kernel/mm/numa/demotion_enabled"
#define BALANCING	"/proc/sys/kernel/numa_balancing"
#define HUGE_PAGES	"/sys/kernel/mm/transparent_hugepage/enabled"
#define NODE_GOES	"slow_node=goes"	/* all of its memory can go offline */

/* ---- what it says ---- */

struct account {
	unsigned long long told, promoted, queued, dropped, failed, returned;
};

unsigned long long get_promotion(const char *word);
/* All of it at one moment, and it adds up. */
struct account get_account(void);
/* The same, since @before; but those are queued that are now. */
struct account account_since(const struct account *before);

/* ---- what is accessed ---- */

/* In most cases: all of it slow at first, pages or huge pages */
struct memory {
	char *at;
	unsigned int nr;
	size_t size;
	atomic_int *uses;	/* by others */
};

extern struct memory mem;

char *page(unsigned int i);
int node_of(void *page);
unsigned int count(int node);
/* Of @nr pages, from the first one on */
unsigned int count_part(int node, unsigned int first, unsigned int nr);
void set_policy(char *at, size_t size, int mode, int node);

/* Until the case ends, or what was mapped from there on is unmapped. */
char *map(int flags, size_t size, bool huge);
void unmap_from(char *at);

/* All of @mem comes to be slow, and need not be; each page has something else in it. */
void make_slow(void);
/* That is there still. */
void expect_written(void);
/* Huge pages, if all of it is */
bool is_huge(void);

/* ---- promotion ---- */

/* Undoes all that cases change, and does so after each that requires tiers. */
void no_promotion(void);
void require_tiers(void);
/* @mem is what is accessed, and all of it fits; nothing is on yet. */
void access_memory(void);
/* Slow memory, that would be promoted if anything were on. */
void use_slow(int flags, unsigned int nr, size_t size);

void promote(bool on);
void start(void);
void stop(void);

/* So many of them become fast. */
void expect_part_fast(unsigned int first, unsigned int nr, unsigned int enough, unsigned int ms);
/* And nothing else is written there. */
void expect_fast(unsigned int enough, unsigned int ms);

/* A case with slow memory. @nr pages; those of 4 kB unless it says otherwise */
struct promotion_case {
	void (*run)(void);
	unsigned int nr;
	size_t size;
	bool shared;
	/* In a group of its own, with this controller, before there is any memory */
	const char *controller;
	/* In the end, so many percent of it are fast within @ms. */
	unsigned int percent, ms;
};

enum psi_result run_promotion_case(const void *promotion_case);

#define SLOW_MEMORY(...)	.run_with = run_promotion_case, \
				.arg = &(const struct promotion_case){ __VA_ARGS__ }

/* ---- what it is in ---- */

#define GROUPS		"/sys/fs/cgroup/"
#define GROUP		GROUPS "ks_promote"
#define BLOCKS		"/sys/devices/system/memory/"

/* Until the case ends */
void enter_group(const char *controller);
/* Blocks of memory that are offline come back. */
void online_blocks(void);

#endif /* KS_PROMOTE_UTIL_H */
