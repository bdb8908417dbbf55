/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory in pressure.causes, for the PSI selftests: reading it, and what has grown since.
 * Which cause is which number in the kernel is not known here, only the names.
 */
#ifndef PSI_CAUSE_UTIL_H
#define PSI_CAUSE_UTIL_H

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)
#define PAGE		4096
#define NO_SWAP		"needs zram"

#define GROUP_FILE	"pressure.causes"

/* ---- the file ---- */

enum cause {
	DIRECT_RECLAIM, DIRECT_COMPACTION, NODE_RECLAIM, MEMCG_MAX, MEMCG_HIGH, THRASHING,
	READBACK, SWAPIN, BLKCG_THROTTLE, OTHER, KSWAPD, KCOMPACTD, REQUESTED,
	NR_CAUSES
};

#define NR_CPU_CAUSES	2

extern const char * const cause_names[NR_CAUSES];
extern const char * const cpu_cause_names[NR_CPU_CAUSES];

struct cause_line {
	__u64 count, total, max;	/* the latter two in us */
};

struct causes {
	struct cause_line of[NR_CAUSES];
};

extern const struct causes nothing;

/* NULL if all is well, to the byte, else what is wrong. */
const char *parse_causes(const char *text, struct causes *causes);
/* NULL is the system, that is, the root. */
struct causes read_causes(const char *group);

/* A group with the memory controller. */
const char *memory_group(const char *parent, const char *name);

/* ---- what has grown ---- */

#define BIT(c)	(1u << (c))

bool is_less(const struct cause_line *line, const struct cause_line *before);
/* All of @must have grown since @from, and nothing else but what is in @may. */
struct causes expect_growth(const char *group, const struct causes *from,
			    unsigned int must, unsigned int may);
bool all_have_grown(const char *group, const struct causes *from, unsigned int must);

/* ---- a load ---- */

struct reader {
	const char *disk;
	size_t size;
	atomic_uint passes, done;	/* so many are wanted */
};

/* Waits until a load has done it so often. */
void await(atomic_uint *done, unsigned int nr);
/* A task in @group reads the first @size bytes of slow_disk(@ms); so often before it returns. */
struct reader *start_reader(const char *group, unsigned int ms, size_t size,
			    unsigned int passes);

#endif /* PSI_CAUSE_UTIL_H */
