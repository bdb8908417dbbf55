/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a processor that an emulator makes knows: how many loads, loads that miss the last
 * cache and stores there have been, by user programs and in all, those of user programs
 * for each page of memory as well; and how many records of PEBS it has written.
 */
#ifndef KS_TRUTH_H
#define KS_TRUTH_H

#include <stdint.h>

#define NO_TRUTH	"needs the emulated processor"

enum { LOADS, MISSES, STORES, NR_KINDS };

/* In the memory of a PCI device, as the emulator has it. */
struct truth {
	char		magic[8];
	uint64_t	pages;
	uint64_t	user[NR_KINDS];
	uint64_t	written, dropped, interrupts;
	uint64_t	all[NR_KINDS];
};

struct truth_page {
	uint32_t	misses, stores;
};

/* NULL: it is some other machine. */
struct truth *get_truth(void);

/* By page frame number, truth::pages of them. */
struct truth_page *get_truth_pages(struct truth *truth);

/* It goes on counting. */
static inline uint64_t look_at(uint64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

#endif /* KS_TRUTH_H */
