/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two parts of the ledger share. See psi_abi.c.
 */
#ifndef PSI_ABI_H
#define PSI_ABI_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define NOBODY		65534
#define GOOD		"full 100000 2000000"	/* in each kernel, for everybody, of all files */
#define QUIET		"some 2000000 2000000"

/* ---- lines ---- */

/* "abi: ", then what was done, then @result. */
void __printf(2, 3) say(const char *result, const char *format, ...);

const char *error_name(int error);
/* What a system call returned, or why it failed. */
const char *outcome(long ret);
/* The same, but "ok" whatever it returned. */
const char *success(long ret);
const char *number(long value);
/* What poll() says. */
const char *mask(int events);
/* What was read: with an N for each number. */
const char *shape(const char *text, ssize_t length);

/* ---- places ---- */

extern char group[GROUP_PATH];		/* "" if there are none */

struct place {
	const char *name;
};

extern const struct place *proc_place, *group_place;

/* The file of a resource there; valid until the next call. */
const char *path_of(const struct place *place, const char *resource);
int open_at(const struct place *place, const char *resource, int flags);

/* Which threads of PSI are there? */
void threads(const char *when);

/* ---- psi_abi_calls.c ---- */

void reads(const struct place *place);
void writes(const struct place *place);
void file_calls(const struct place *place);
void polls(const struct place *place);
void tell_events(const struct place *place);

#endif /* PSI_ABI_H */
