/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers as bytes: small ones, and what has not changed, take little room.
 */
#ifndef PSI_TOOLS_NUMBERS_H
#define PSI_TOOLS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What numbers were when they were last coded, by their place. */
struct numbers {
	size_t		nr;
	uint64_t	*value;
};

struct stream {
	bool		reading;	/* else writing */
	bool		bad;		/* it ended too early, or what it says cannot be */
	uint8_t		*byte;
	size_t		at;
	size_t		size;
	uint64_t	zeros;		/* still to be read or written */
};

uint64_t stream_number(struct stream *stream, uint64_t value);
int64_t stream_signed(struct stream *stream, int64_t value);
uint64_t stream_change(struct stream *stream, struct numbers *before, size_t place,
		       uint64_t value);
void stream_end(struct stream *stream);
void numbers_clear(struct numbers *numbers);

#endif
