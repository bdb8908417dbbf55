/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the PSI selftests share: reading a pressure file, telling time, making
 * load and cleaning up after it. A test program is a table of cases that it
 * hands to psi_main(), which reports what they return.
 */
#ifndef PSI_UTIL_H
#define PSI_UTIL_H

#include <linux/types.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../kselftest.h"

/* Cases may leave out what comes last, and not every load needs an argument. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* ---- cases ---- */

enum psi_result { PSI_PASS, PSI_FAIL, PSI_SKIP };

struct psi_case {
	const char *name;		/* begins with the rule: "R-6 ..." */
	enum psi_result (*run)(void);
	int min_cpus;			/* 0: any number of CPUs will do */
	int max_cpus;			/* 0: no upper limit */
	enum psi_result (*run_with)(const void *arg);	/* if there is no @run */
	const void *arg;
};

/*
 * Runs the cases whose names begin with one of the words of @argv, all of them
 * if there are none. Whatever a case has started or set up is gone before the
 * next one begins. It runs none of them if it is not root.
 */
int psi_main(int argc, char **argv, const struct psi_case *cases, size_t count);

/* A line of diagnostics. */
void __printf(1, 2) psi_note(const char *format, ...);

/* Ends the case, from anywhere within it, but not from within a load. */
void __noreturn __printf(2, 3) leave_case(enum psi_result result, const char *format, ...);

/* The case has failed, and says why, unless @condition holds. */
#define EXPECT(condition, ...)					\
	do {							\
		if (!(condition))				\
			leave_case(PSI_FAIL, __VA_ARGS__);	\
	} while (0)

/* The case cannot be run here unless @condition holds. */
#define REQUIRE(condition, ...)					\
	do {							\
		if (!(condition))				\
			leave_case(PSI_SKIP, __VA_ARGS__);	\
	} while (0)

/* To be called once when the case has ended, however it has; the last one first. */
void undo_later(void (*fn)(void));

/* ---- small helpers ---- */

__u64 now_ns(void);			/* CLOCK_MONOTONIC */
__u64 thread_cpu_ns(void);		/* CPU time of the calling thread */
void sleep_until(__u64 ns);
void sleep_ms(unsigned int ms);
void spin_until(__u64 ns);

/* Does @condition hold within @ms milliseconds? In a slow kernel, that many times as much. */
#define wait_until(condition, ms)						\
	({									\
		__u64 deadline_ = now_ns() + (ms) * psi_slowness() * NSEC_PER_MSEC;	\
		unsigned int pause_ms_ = 1;					\
		bool holds_;							\
										\
		while (!(holds_ = (condition)) && now_ns() < deadline_) {	\
			sleep_ms(pause_ms_);					\
			pause_ms_ = pause_ms_ < 16 ? 2 * pause_ms_ : 16;	\
		}								\
		holds_;								\
	})

int online_cpus(void);
int pin_to_cpu(int cpu);
int pin_task(pid_t pid, int cpu);	/* 0 or -errno */
int set_online(int cpu, bool online);	/* 0 or -errno */

/* Is there a CPU that can go away? */
bool have_hotplug(void);
/* A load: one CPU after the other goes, and comes back; a deed each, for did(). Then it rests. */
pid_t start_hotplug(unsigned int deed, unsigned int rest_us);
/* Takes all CPUs back. Whatever takes them away has to be stopped before. */
void all_online(void);

/* How long a task was on a CPU, and how long it has waited for one. */
struct psi_task_times {
	__u64 ran_ns, waited_ns;
};

struct psi_task_times task_times(pid_t pid);

/* Length of what was read (@buf is terminated), or -errno. */
ssize_t read_text(const char *path, char *buf, size_t size);
/* 0 or -errno. */
int __printf(2, 3) write_text(const char *path, const char *format, ...);

/* Zeroed memory that child processes share with us. */
void *shared_alloc(size_t size);

/* Finds up to @max tasks of that name, as threads of the kernel have; how many. */
size_t find_tasks(const char *name, pid_t *pids, size_t max);
/* One of them, or 0. */
pid_t find_task(const char *name);
/* How often a task went to sleep. */
unsigned long voluntary_switches(pid_t pid);
/* Ahead of all that is ordinary, with 1 to 99; children are not. 0 is ordinary. */
int be_realtime(int priority);

/* ---- pressure files ---- */

enum psi_resource { PSI_CPU, PSI_MEMORY, PSI_IO, PSI_IRQ, PSI_NR_RESOURCES };

enum { AVG10, AVG60, AVG300, NR_AVGS };

struct psi_line {
	unsigned int avg[NR_AVGS];	/* hundredths of a percent */
	__u64 total;			/* us */
};

/* One reading. It was taken at some moment between @before and @after. */
struct psi_sample {
	struct psi_line some;		/* all 0 if the file has no such line */
	struct psi_line full;
	__u64 before, after;		/* now_ns() */
};

const char *psi_name(enum psi_resource res);
const char *psi_path(enum psi_resource res);

/*
 * Takes @text apart. It must be what R-11 says to the byte, for this resource:
 * anything missing, additional or out of range is an error. NULL if all is
 * well, else what is wrong.
 */
const char *psi_parse(enum psi_resource res, const char *text, size_t length,
		      struct psi_sample *sample);

/* Reads and parses; 0 or -errno, -EBADMSG (and a note) for a wrong text. */
int psi_read(enum psi_resource res, struct psi_sample *sample);
/* The same from a file that is already open. */
int psi_read_fd(int fd, enum psi_resource res, struct psi_sample *sample);

/*
 * Growth between two readings as a share of the time between them, in percent.
 */
struct psi_share {
	double some, full;
	double seconds;
};

struct psi_share psi_share(const struct psi_sample *from, const struct psi_sample *to);

/*
 * Reads, sleeps, reads; exits the program if that is not possible. The case has failed if
 * there was more full than some.
 */
struct psi_share psi_watch(enum psi_resource res, unsigned int ms);

/* The kernel log since boot. Ends the case if there is none. */
int open_kernel_log(void);
/* The next record, as a line and what belongs to it. Return: false if there is none yet. */
bool read_kernel_log(int log, char *record, size_t size);

/* PSI_SLOW of the environment, or 1: for a kernel that is slow because it checks itself. */
int psi_slowness(void);

/* The number after the first @key in @text; 0 if there is none. */
__u64 number_after(const char *text, const char *key);

/*
 * Is @value within @tolerance of @expected? In a slow kernel that many times as much is
 * good, but not half of the way from a share in percent to 0 or 100.
 */
bool close_to(double value, double expected, double tolerance);

/* ---- load ---- */

/*
 * Starts a process that runs @fn(@arg) on @cpu (any, if negative). It is killed
 * when the case ends, or when we die. A case fails if @fn has returned by then.
 */
pid_t start_load(int cpu, void (*fn)(void *arg), void *arg);
void stop_load(pid_t pid);
void stop_all_loads(void);

/* Has any of them ended before it was stopped, since this was last asked? */
bool has_load_ended(void);
/* All loads, and what they needed. After a case this is done for it. */
void clean_up(void);

/* Loads for start_load(). */
void spin(void *unused);
void spin_interrupted(void *unused);	/* 1000 times a second */
void burn_ms(unsigned int ms);		/* until so much CPU time is used up */

/*
 * A disk every request of which takes @ms milliseconds; with 0, it is done when it is
 * submitted. NULL if the kernel has no null_blk with configfs.
 */
const char *slow_disk(unsigned int ms);
void read_disk(void *path);		/* direct reads, one after the other */

/* A memory cgroup for the case; NULL if there are none. */
const char *memory_cgroup(void);
int join_cgroup(const char *cgroup);
int set_cgroup(const char *cgroup, const char *file, const char *value);
int zram_swap(unsigned int mb);		/* 0 or -errno */
int swap_to(const char *disk, unsigned int mb);

/* Joins a cgroup and uses memory there, round after round. */
struct memory_user {
	const char *cgroup;
	size_t size;
	bool grow;		/* and then more and more */
	unsigned int pause_ms;	/* between two rounds */
	atomic_int *ready;	/* @size bytes are in use */
};

void use_memory(void *memory_user);
/* Memory of the caller's own, and never a huge page in it from then on; NULL if there is none. */
void *map_small_pages(size_t size);
/* Starts it; it may take a while until it is ready, for which the latter waits. */
pid_t start_memory_user(int cpu, struct memory_user *user);
void await_memory_user(const struct memory_user *user);

/* ---- chance ---- */

/* By the kernel's random numbers: a guest with another seed sees others. */
unsigned int random_below(unsigned int limit);
void pause_us(unsigned int most);	/* for less than that */

/* ---- races ---- */

/* Something that loads do all the time. */
struct deed {
	const char *name;
	int errors[5];		/* what may come of it, apart from success */
};

#define MAX_DEEDS	16
#define DEED(d)		(1u << (d))

/* Those of the case; loads share what has been done. */
void begin_deeds(const struct deed *deeds, size_t nr);
/* @ret: 0 or more, or -errno. Return: has it succeeded? */
bool did(unsigned int deed, int ret);
/* Waits for @ms, and up to 30 s more until each deed of @needed has been done often enough. */
void await_deeds(unsigned int ms, unsigned int needed);
/* The case has failed if one has not, or if something came of any that may not. */
void expect_deeds(unsigned int needed);

/* The kernel's own test has all counts compared with what the tasks are doing. */
void require_facts(void);
void expect_facts(void);

/* Is @word one of the words of the kernel command line? */
bool booted_with(const char *word);
/* Are tests that could go on for long to be short? There are others that run them for longer. */
bool is_quick(void);

#endif /* PSI_UTIL_H */
