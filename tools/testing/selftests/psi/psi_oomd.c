// SPDX-License-Identifier: GPL-2.0
/*
 * Reads pressure as oomd does, Facebook's out of memory killer in user space:
 * by the position of lines and of the fields within them, for the system and for
 * a cgroup. It acts when avg10 has been above a threshold for a while.
 */
#include <stdlib.h>

#include "psi_trigger_util.h"

/* What oomd calls a resource pressure. */
struct pressure {
	double avg10, avg60, avg300;
	__u64 total;
};

enum line { SOME, FULL, NR_LINES };

/* ---- the parser, with the strictness of the original ---- */

/* Cuts @text at every @separator. The number of parts, of which @max are kept. */
static int split(char *text, char separator, char **parts, int max)
{
	int count = 0;

	while (text) {
		if (count < max)
			parts[count] = text;
		count++;
		text = strchr(text, separator);
		if (text)
			*text++ = '\0';
	}
	return count;
}

/* The value of field "name=value". */
static const char *value_of(char *field, const char *name)
{
	char *parts[2];

	if (split(field, '=', parts, 2) != 2 || strcmp(parts[0], name))
		return NULL;
	return parts[1];
}

static bool get_average(char *field, const char *name, double *average)
{
	const char *value = value_of(field, name);
	char *end;

	if (!value)
		return false;
	*average = strtod(value, &end);
	return end > value && !*end;
}

static bool get_total(char *field, __u64 *total)
{
	const char *value = value_of(field, "total");
	char *end;

	if (!value)
		return false;
	*total = strtoull(value, &end, 10);
	return end > value && !*end;
}

static bool parse_line(char *line, const char *name, struct pressure *p)
{
	char *fields[5];

	return split(line, ' ', fields, 5) == 5 && !strcmp(fields[0], name) &&
	       get_average(fields[1], "avg10", &p->avg10) &&
	       get_average(fields[2], "avg60", &p->avg60) &&
	       get_average(fields[3], "avg300", &p->avg300) &&
	       get_total(fields[4], &p->total);
}

static void read_pressure(const char *path, struct pressure *p)
{
	char text[512];
	char *lines[3];
	ssize_t length;

	length = read_text(path, text, sizeof(text));
	EXPECT(length > 0, "%s: %zd", path, length);
	EXPECT(split(text, '\n', lines, 3) == 3 && !*lines[2],
	       "%s: not two lines", path);
	EXPECT(parse_line(lines[0], "some", &p[SOME]), "%s: line 0", path);
	EXPECT(parse_line(lines[1], "full", &p[FULL]), "%s: line 1", path);
}

/* ---- the decision ---- */

#define THRESHOLD	30.0
#define DURATION_S	5
/* All loads take less than half of it to get above the threshold. */
#define LIMIT_S		30
/* What there is at the very least, when it has decided. */
#define STALL_US	2500000

/*
 * Looks once a second. True as soon as avg10 has been above the threshold (or
 * not above half of it, if @calm) for the duration, false if it has not been.
 */
static bool decide(const char *path, enum line line, bool calm)
{
	struct pressure p[NR_LINES];
	int second, since = 0;

	for (second = 0; second < LIMIT_S && since < DURATION_S; second++) {
		sleep_ms(1000);
		read_pressure(path, p);
		if (calm ? p[line].avg10 <= THRESHOLD / 2 :
			   p[line].avg10 > THRESHOLD)
			since++;
		else
			since = 0;
	}
	psi_note("%s: %s after %d s, some %.2f full %.2f", path,
		 since < DURATION_S ? "nothing" : calm ? "fallen" : "risen",
		 second, p[SOME].avg10, p[FULL].avg10);
	return since == DURATION_S;
}

static enum psi_result rise_and_fall(const char *path, enum line line)
{
	struct pressure before[NR_LINES], after[NR_LINES];

	read_pressure(path, before);
	EXPECT(decide(path, line, false), "it does not see the load");
	read_pressure(path, after);
	EXPECT(after[line].avg60 > before[line].avg60, "avg60 does not rise");
	EXPECT(after[line].avg300 > before[line].avg300,
	       "avg300 does not rise");
	EXPECT(after[line].total > before[line].total + STALL_US,
	       "total does not grow");
	stop_all_loads();
	EXPECT(decide(path, line, true), "it does not see the end of the load");
	return PSI_PASS;
}

/* ---- loads ---- */

static const char *cgroup;

/* The file of the cgroup that the loads of this case are in. */
static const char *cgroup_file(const char *resource)
{
	static char path[256];

	cgroup = memory_cgroup();
	REQUIRE(cgroup, "needs the memory controller of cgroup2");
	snprintf(path, sizeof(path), "%s/%s.pressure", cgroup, resource);
	REQUIRE(!access(path, F_OK), "cgroups have no pressure here");
	return path;
}

static void spin_in_cgroup(void *unused)
{
	if (!join_cgroup(cgroup))
		spin(NULL);
}

static void read_disk_in_cgroup(void *disk)
{
	if (!join_cgroup(cgroup))
		read_disk(disk);
}

static void start_io(void (*fn)(void *disk))
{
	const char *disk = slow_disk(50);

	REQUIRE(disk, "needs null_blk with configfs");
	start_load(online_cpus() - 1, fn, (void *)disk);
}

#define NO_THRASHING "needs the memory controller and zram"

static enum psi_result system_cpu(void)
{
	contend(0);
	return rise_and_fall("/proc/pressure/cpu", SOME);
}

static enum psi_result system_memory(void)
{
	REQUIRE(start_thrashing(), NO_THRASHING);
	return rise_and_fall("/proc/pressure/memory", FULL);
}

static enum psi_result system_io(void)
{
	start_io(read_disk);
	return rise_and_fall("/proc/pressure/io", FULL);
}

static enum psi_result cgroup_cpu(void)
{
	const char *path = cgroup_file("cpu");

	start_load(0, spin_in_cgroup, NULL);
	start_load(0, spin_in_cgroup, NULL);
	return rise_and_fall(path, SOME);
}

static enum psi_result cgroup_memory(void)
{
	const char *path = cgroup_file("memory");

	REQUIRE(start_thrashing(), NO_THRASHING);
	return rise_and_fall(path, FULL);
}

static enum psi_result cgroup_io(void)
{
	const char *path = cgroup_file("io");

	start_io(read_disk_in_cgroup);
	return rise_and_fall(path, FULL);
}

/* The load is outside; the cgroup waits for nothing. */
static enum psi_result other_cgroup(void)
{
	const char *path = cgroup_file("io");

	start_io(read_disk);
	EXPECT(!decide(path, SOME, false), "it sees the load of others");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-11 oomd: the system's cpu pressure rises and falls", system_cpu },
	{ "R-11 oomd: the system's memory pressure rises and falls",
	  system_memory },
	{ "R-11 oomd: the system's io pressure rises and falls", system_io },
	{ "R-14 oomd: a cgroup's cpu pressure rises and falls", cgroup_cpu },
	{ "R-14 oomd: a cgroup's memory pressure rises and falls",
	  cgroup_memory },
	{ "R-14 oomd: a cgroup's io pressure rises and falls", cgroup_io },
	{ "R-14 oomd: a cgroup does not feel the load of others",
	  other_cgroup },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
