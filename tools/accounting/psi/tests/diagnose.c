// SPDX-License-Identifier: GPL-2.0
/*
 * What ails five groups, as psitop --json tells it. They are made by psi_load, which has
 * to be in the same directory as psitop, psi-wait and this program. Prints TAP.
 *
 * It is known here what each group suffers from. What psitop says is taken as somebody
 * would who does not know: the cause for which it loses most of the time.
 */
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

struct group {
	const char *name;
	const char *cause, *or;		/* NULL: none */
	const char *what;
};

static const struct group groups[] = {
	{ "/shop/database", "memcg_high", NULL,	"a group over memory.high" },
	{ "/shop/import", "memcg_max", NULL,	"a group over memory.max, in reclaim" },
	{ "/shop/search", "thrashing", "readback", "a group that thrashes its page cache" },
	{ "/shop/report", "quota", NULL,	"a group that is throttled by cpu.max" },
	{ "/shop/web", "contention", NULL,	"a group that competes for a CPU" },
	{ "/shop/idle", NULL, NULL,		"a group that nothing ails" },
};

#define SHOP	"/shop"

static char dir[PATH_MAX - 64];
static int cases;

static void result(bool passed, const char *name)
{
	printf("%sok %d R-19 %s\n", passed ? "" : "not ", ++cases, name);
}

static double number(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_double(value) : 0;
}

static const char *text(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : "";
}

/* What is lost for a cause, in percent of the time of a task. */
static double loss_pct(struct json_object *cause)
{
	if (json_object_object_get_ex(cause, "kind", NULL))
		return strcmp(text(cause, "kind"), "tasks") ? 0 :
			number(cause, "now_ms_per_s") / 10;
	return number(cause, "some_now_pct");
}

/* Return: the cause for which most is lost, or NULL; @pct is how much that is. */
static const char *worst(struct json_object *group, double *pct)
{
	static const char * const keys[] = { "memory_causes", "cpu_causes" };
	struct json_object *causes;
	const char *found = NULL;
	size_t i;

	*pct = 5;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!json_object_object_get_ex(group, keys[i], &causes))
			continue;
		json_object_object_foreach(causes, name, cause) {
			if (loss_pct(cause) <= *pct)
				continue;
			*pct = loss_pct(cause);
			found = name;
		}
	}
	return found;
}

/* Return: the line of JSON of a group, in @lines; NULL if there is none. */
static struct json_object *line_of(struct json_object *lines, const char *group)
{
	size_t i;

	for (i = 0; i < json_object_array_length(lines); i++) {
		struct json_object *line = json_object_array_get_idx(lines, i);

		if (!strcmp(text(line, "group"), group))
			return line;
	}
	return NULL;
}

static bool is(const char *found, const char *cause)
{
	return found && cause ? !strcmp(found, cause) : found == cause;
}

static void diagnose(struct json_object *lines, const struct group *group)
{
	struct json_object *line = line_of(lines, group->name);
	const char *found = "no line";
	double pct = 0;

	if (line)
		found = worst(line, &pct);
	if (!found)
		printf("# %s: nothing ails it\n", group->name);
	else
		printf("# %s: %s, %.1f %% of the time\n", group->name, found, pct);
	result(is(found, group->cause) || (group->or && is(found, group->or)), group->what);
}

static double cpu_cause(struct json_object *lines, const char *group, const char *cause)
{
	struct json_object *line = line_of(lines, group), *causes, *of;

	if (!line || !json_object_object_get_ex(line, "cpu_causes", &causes) ||
	    !json_object_object_get_ex(causes, cause, &of))
		return -1;
	return number(of, "some_now_pct");
}

static bool between(double low, double value, double high)
{
	return low <= value && value <= high;
}

/*
 * One may use a fifth of a CPU, and interrupts are not charged to it. Two tasks of the other
 * have one CPU.
 */
static void diagnose_quota(struct json_object *lines)
{
	result(between(60, cpu_cause(lines, SHOP "/report", "quota"), 82),
	       "how much is lost to cpu.max");
	result(between(95, cpu_cause(lines, SHOP "/web", "contention"), 101),
	       "how much is lost to others");
	result(cpu_cause(lines, SHOP, "quota") > 1 && cpu_cause(lines, SHOP, "contention") > 1,
	       "the group above has both, a quota and contention");
}

/* Return: the objects that @command prints, one a line. */
static struct json_object *read_json(const char *command)
{
	struct json_object *lines = json_object_new_array(), *line;
	char *buf = NULL;
	size_t size = 0;
	FILE *out;

	out = popen(command, "r");
	while (out && getline(&buf, &size, out) > 0) {
		line = json_tokener_parse(buf);
		if (line)
			json_object_array_add(lines, line);
	}
	result(out && !pclose(out) && json_object_array_length(lines), "psitop prints JSON");
	free(buf);
	return lines;
}

static void exits(int status, const char *name, const char *program, const char *args)
{
	char command[PATH_MAX + 256];
	int ret;

	snprintf(command, sizeof(command), "%s/%s %s", dir, program, args);
	fflush(stdout);
	ret = system(command);
	result(WIFEXITED(ret) && WEXITSTATUS(ret) == status, name);
}

/* Until enough of the page cache was in use, taken away and read back. */
static void wait_for_thrashing(void)
{
	unsigned long pages = 0;
	char line[128];
	FILE *stat;
	int s;

	for (s = 0; s < 60 && pages < 500; s++) {
		sleep(1);
		stat = fopen("/sys/fs/cgroup/shop/search/memory.stat", "r");
		while (stat && fgets(line, sizeof(line), stat))
			sscanf(line, "workingset_restore_file %lu", &pages);
		if (stat)
			fclose(stat);
	}
	sleep(5);
	printf("# %lu pages were read back after %d s\n", pages, s + 5);
}

static pid_t start_load(void)
{
	char path[PATH_MAX];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/psi_load", dir);
	pid = fork();
	if (!pid) {
		execl(path, path, "groups", "180", NULL);
		_exit(127);
	}
	return pid;
}

int main(void)
{
	ssize_t length = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char command[PATH_MAX];
	struct json_object *lines;
	int status;
	size_t i;
	pid_t load;

	if (length < 0)
		return 1;
	*strrchr(dir, '/') = '\0';
	load = start_load();
	wait_for_thrashing();

	snprintf(command, sizeof(command), "%s/psitop --json --once --delay 5s", dir);
	lines = read_json(command);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		diagnose(lines, &groups[i]);
	diagnose_quota(lines);
	exits(0, "psi-wait is woken by a group over memory.high",
	      "psi-wait", "--cgroup " SHOP "/database --timeout 20s memory some 30% 2s");
	exits(124, "psi-wait is not woken by a group that nothing ails",
	      "psi-wait", "--cgroup " SHOP "/idle --timeout 4s cpu some 1% 2s");

	kill(load, SIGTERM);
	result(load > 0 && waitpid(load, &status, 0) == load && !status, "and the groups go");
	exits(1, "psitop says that a group has gone",
	      "psitop", "--json --once --cgroup " SHOP);
	printf("1..%d\n", cases);
	return 0;
}
