/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files to which records are appended, and which survive a crash.
 */
#ifndef PSI_TOOLS_JOURNAL_H
#define PSI_TOOLS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum record_kind {
	FIRST,			/* a whole round, the first one of a recorder */
	AGAIN,			/* the round before once more, whole */
	CHANGE,			/* a round, by what has changed since the record before */
	NR_RECORD_KINDS,
};

struct record {
	uint64_t		date_us;	/* since 1970 */
	off_t			offset;
	uint32_t		size;		/* in the file */
	uint8_t			file;
	uint8_t			kind;
};

#define NR_JOURNAL_FILES	2

/* The newer file has the name that the user gives; the older one is named so and ".old". */
struct journal {
	const char		*name;
	char			*old_name;
	int			fd[NR_JOURNAL_FILES];	/* the older one first; -1: not there */
	size_t			nr, max;
	struct record		*record;		/* those that are complete */
	off_t			end;			/* of the last one of the newer file */
};

const char *journal_read(struct journal *journal, const char *name);
uint8_t *journal_load(const struct journal *journal, size_t i, size_t *size);
const char *journal_extend(struct journal *journal, const char *name);
bool journal_append(struct journal *journal, enum record_kind kind, uint64_t date_us,
		    const uint8_t *byte, size_t size);
bool journal_sync(struct journal *journal);
bool journal_rotate(struct journal *journal);

#endif
