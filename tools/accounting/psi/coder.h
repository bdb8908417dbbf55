/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rounds as bytes, and back.
 */
#ifndef PSI_TOOLS_CODER_H
#define PSI_TOOLS_CODER_H

#include "numbers.h"
#include "tree.h"

struct slot;

struct coder {
	struct tree	*tree;
	bool		causes;		/* record them */
	size_t		nr_slots, max_slots;
	struct slot	*slot;		/* groups, in the order in which they came */
	struct stream	stream;
	bool		whole;		/* the round is coded without those before */
	uint64_t	last_us;	/* the time that was coded last */
};

void coder_write(struct coder *coder, bool whole);
bool coder_read(struct coder *coder, bool whole, uint8_t *byte, size_t size);
void coder_drop_dead(struct coder *coder);
void coder_clear(struct coder *coder);

#endif
