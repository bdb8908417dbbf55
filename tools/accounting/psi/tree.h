/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree of groups, with the last reading of each.
 */
#ifndef PSI_TOOLS_TREE_H
#define PSI_TOOLS_TREE_H

#include <sys/types.h>

#include "pressure.h"
#include "source.h"

#define HISTORY		48	/* rounds in the history of a group */
#define NR_WATCH_LISTS	1024

/* Instead of the descriptor of a file that is not open. */
#define NEVER_READ	(-1)
#define READ_TWICE	(-3)	/* at least; -2: once */

enum reading_state {
	UNREAD,
	ABSENT,				/* the file does not exist, or cannot be read */
	GOOD,
};

/* A pressure file. */
struct reading {
	int			fd;	/* see group_read() */
	enum reading_state	state;
	double			read_s;	/* time of the last read or attempt */
	double			at_s;	/* the totals are known up to then */
	struct pressure		pressure;
	bool			grew;	/* a total grew in this round */
	bool			unsettled;	/* averages may not show growth yet */
	bool			has_now;
	double			now_pct[NR_LINES];
	unsigned int		history_round;		/* of the newest entry */
	uint8_t			history_pct[HISTORY];	/* a ring, indexed by round */
};

/* A causes file, or one that tells something similar: the last two readings. */
struct causes {
	int			fd;		/* see group_read() */
	unsigned int		round;		/* of the last reading */
	double			absent_s;	/* when the file was missing; 0: it is not */
	double			at_s;
	double			span_s;		/* since the previous reading; 0: none */
	int			nr;
	int			nr_before;
	struct cause		*cause;
	struct cause		*before;
};

enum causes_file {
	ALL_CAUSES,
	CPU_STAT,		/* all kernels have this and the next; they tell less */
	MEMORY_EVENTS,
	NR_CAUSES_FILES,
};

struct group {
	char			*dir;		/* "" or "/a/b" */
	ino_t			ino;		/* of dir: a new group may reuse the name */
	const char		*name;		/* the last part of dir */
	bool			is_system;	/* its pressure is in /proc/pressure */
	bool			has_dir;	/* to be scanned for children */
	size_t			slot;		/* of coder.c, from 1 on; 0: none yet */
	bool			seen;		/* by the current scan */
	bool			folded;		/* this and the next two belong to view.c */
	bool			matches;
	double			key[3];
	int			watch;		/* of inotify; -1: none */
	struct group		*next_watch;
	struct group		*parent;
	int			nr_children;
	struct group		**child;
	struct reading		reading[NR_RESOURCES];
	struct causes		causes[NR_CAUSES_FILES];
};

struct tree {
	const struct source	*source;	/* NULL: a record is replayed */
	struct group		*root;
	int			nr_groups;	/* the system does not count */
	bool			incomplete;	/* a directory could not be read */
	int			inotify_fd;
	bool			unwatched;	/* inotify does not cover everything */
	struct group		*by_watch[NR_WATCH_LISTS];
	double			scanned_s;
	unsigned int		round;
	double			round_s;	/* when the round began */
	double			date_s;		/* the same, in seconds since 1970 */
	int			nr_open, max_open;	/* files */
	struct tasks		*tasks;		/* NULL until asked for */
};

/* tree.c */
void tree_init(struct tree *tree, const struct source *source, const char *top);
bool tree_update(struct tree *tree);
const char *tree_note(const struct tree *tree);
void tree_clear(struct tree *tree);
struct group *tree_plant(struct tree *tree, const char *top);
struct group *group_add(struct tree *tree, struct group *group, const char *name);
void group_remove(struct tree *tree, struct group *group);

/* sample.c */
void tree_sample(struct tree *tree);
void group_close(struct tree *tree, struct group *group);
void reading_keep(struct reading *reading, double at_s);
void reading_take(const struct tree *tree, struct reading *reading,
		  const struct pressure *pressure, double at_s);
int history_pct(const struct tree *tree, const struct reading *reading, unsigned int ago);

/* causes.c */
const struct causes *group_causes(struct tree *tree, struct group *group, enum causes_file which);
bool causes_take(const struct tree *tree, struct causes *causes, const struct cause *cause, int nr,
		 double at_s);
int find_cause(const struct causes *causes, const char *name);
double cause_rate(const struct causes *causes, int i, int value);
bool group_longest(struct tree *tree, struct group *group, uint64_t *us);
void tree_read_causes(struct tree *tree);
void group_free_causes(struct group *group);

/* files.c */
void files_init(struct tree *tree);
bool group_read(struct tree *tree, struct group *group, bool in_proc, const char *file,
		int *kept_fd, char *text);
void kept_close(struct tree *tree, int *kept_fd);

#endif
