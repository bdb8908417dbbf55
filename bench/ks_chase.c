// SPDX-License-Identifier: GPL-2.0
/*
 * Follows pointers for ever.
 *
 *	ks_chase PAGES [ROUNDS [STEPS]]
 *
 * for so many rounds, or for ever if that is 0; after each STEPS it lets others run.
 * Pages are in a chain as often as 1 / (rank + 32), each time at another place, in an
 * order that is random but always the same. So if what the chain touches does not fit into
 * the last cache, each step is a miss. An emulator that counts instructions takes no time
 * for that, so a step waits for as long as a miss would take.
 */
#include <linux/types.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES	4096
#define SLOTS		(PAGE_BYTES / sizeof(void *))
#define FLAT		32	/* ranks that are nearly equal */
#define MISS		150	/* rounds of two instructions */

static __u32 random_below(__u32 limit)
{
	static __u64 state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 32) % limit;
}

static size_t visits(size_t rank)
{
	return SLOTS * FLAT / (rank + FLAT);
}

static void shuffle(void **slots, size_t nr)
{
	size_t i, other;
	void *slot;

	for (i = nr - 1; i; i--) {
		other = random_below(i + 1);
		slot = slots[i];
		slots[i] = slots[other];
		slots[other] = slot;
	}
}

/* Return: one of the places in the chain. */
static void **make_chain(char *memory, size_t pages, size_t *length)
{
	size_t page, i, nr = 0;
	void **slots;

	for (page = 0; page < pages; page++)
		nr += visits(page);
	slots = malloc(nr * sizeof(*slots));
	for (page = 0, nr = 0; page < pages; page++)
		for (i = 0; i < visits(page); i++)
			/* Neighbours in time and place are in different lines. */
			slots[nr++] = memory + page * PAGE_BYTES +
				      (i * 8 + i / (SLOTS / 8)) % SLOTS * sizeof(void *);
	shuffle(slots, nr);
	for (i = 0; i < nr; i++)
		*(void **)slots[i] = slots[(i + 1) % nr];
	memory = slots[0];
	free(slots);
	*length = nr;
	return (void **)memory;
}

static void *follow(void **at)
{
	int i;

	for (i = 0; i < MISS; i++)
		__asm__ volatile("");
	return *at;
}

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 0) : 0, length, step;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 0, round;
	unsigned long steps = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	void *memory, **at;

	if (!pages) {
		fprintf(stderr, "usage: ks_chase PAGES [ROUNDS [STEPS]]\n");
		return 2;
	}
	memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	at = make_chain(memory, pages, &length);
	for (round = 0; !rounds || round < rounds; round++)
		for (step = 0; step < length; step++) {
			at = follow(at);
			if (steps && step % steps == 0)
				sched_yield();
		}
	return !at;
}
