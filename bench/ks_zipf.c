// SPDX-License-Identifier: GPL-2.0
/*
 * Reads memory with a hot set that can move, for ever.
 *
 *	ks_zipf PAGES [SCAN_PAGES]
 *
 * Of the pages, the one of rank n is read as often as 1 / n; which page has which rank has
 * nothing to do with where it is. SIGUSR1: all get another rank. With SCAN_PAGES, which are in
 * slow memory, that is when a scan begins instead: each line of them is read, once, between
 * reads of the others. SIGUSR2: it says how many of these pages are in fast memory.
 *
 * An emulator that counts instructions takes no time for a miss, so each read waits for as
 * long as one would take.
 */
#include <linux/mempolicy.h>
#include <linux/types.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES	4096
#define LINE_BYTES	64
#define LINES		(PAGE_BYTES / LINE_BYTES)
#define DRAWS		65536	/* of which one is taken by chance */
#define MISS		100	/* rounds of two instructions */
#define SCAN_EVERY	16	/* reads of the others */
#define SLOW		1	/* node */

static atomic_uint changes;
static atomic_bool asked;
static __u64 state = 1;

static void change(int unused)
{
	changes++;
}

static void ask(int unused)
{
	asked = true;
}

static __u32 draw(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 32;
}

static char *map(size_t pages)
{
	char *memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	/* One by one is what is hardest to find. */
	madvise(memory, pages * PAGE_BYTES, MADV_NOHUGEPAGE);
	return memory;
}

static void fill(char *memory, size_t pages)
{
	size_t i;

	for (i = 0; i < pages; i++)
		memory[i * PAGE_BYTES] = 1;
}

static long policy(int mode, unsigned long *nodes)
{
	return syscall(SYS_set_mempolicy, mode, nodes, nodes ? 64 : 0);
}

static void fill_slow(char *memory, size_t pages)
{
	unsigned long slow = 1UL << SLOW;

	if (policy(MPOL_BIND, &slow))
		exit(1);
	fill(memory, pages);
	policy(MPOL_DEFAULT, NULL);
}

static size_t count_fast(char *memory, size_t pages)
{
	size_t i, fast = 0;
	void *page;
	int node;

	for (i = 0; i < pages; i++) {
		page = memory + i * PAGE_BYTES;
		node = -1;
		syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0);
		fast += node >= 0 && node != SLOW;
	}
	return fast;
}

static void look(const char *at)
{
	int i;

	for (i = 0; i < MISS; i++)
		__asm__ volatile("");
	__asm__ volatile("" : : "r"(*at));
}

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	size_t scan_pages = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	size_t scanned = 0, page, reads;
	static __u32 ranks[DRAWS];
	char *memory, *scan;
	__u32 random, i;

	/* So that to multiply by an odd number puts them into another order. */
	if (!pages || pages & (pages - 1)) {
		fprintf(stderr, "usage: ks_zipf PAGES [SCAN_PAGES], PAGES a power of 2\n");
		return 2;
	}
	signal(SIGUSR1, change);
	signal(SIGUSR2, ask);
	for (i = 0; i < DRAWS; i++)
		ranks[i] = pow(pages, (i + 0.5) / DRAWS) - 1;
	memory = map(pages);
	fill(memory, pages);
	scan = map(scan_pages ?: 1);
	fill_slow(scan, scan_pages);

	for (reads = 0;; reads++) {
		random = draw();
		page = ranks[random % DRAWS] * 40503 + 12345;
		if (!scan_pages)
			page = page * (changes * 26544 + 1) + changes * 7777;
		look(memory + page % pages * PAGE_BYTES + (random >> 16) % LINES * LINE_BYTES);
		if (changes && scanned < scan_pages * LINES && reads % SCAN_EVERY == 0)
			look(scan + scanned++ * LINE_BYTES);
		if (asked) {
			printf("scan %zu %zu %zu\n", scan_pages, scanned / LINES,
			       count_fast(scan, scan_pages));
			fflush(stdout);
			asked = false;
		}
	}
}
