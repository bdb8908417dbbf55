// SPDX-License-Identifier: GPL-2.0
/*
 * pressure.causes, and what it says of memory while tasks move, and groups go or are
 * switched off; and the events of all that. Each cause for itself is in psi_shortage.c, and
 * what it says of cpu in psi_quota.c.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_cause_util.h"

/* ---- format, modes, on and off ---- */

static enum psi_result format(void)
{
	static const char * const others[] = { "memory.pressure.causes", "cpu.pressure.causes" };
	const char * const groups[] = { CGROUP_ROOT, make_group(NULL, "g") };
	char path[GROUP_PATH];
	struct causes causes;
	struct stat st;
	size_t i;

	read_causes(NULL);
	causes = read_causes(groups[1]);
	EXPECT(!memcmp(&causes, &nothing, sizeof(causes)), "a new group has causes");
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		EXPECT(!stat(group_file(path, groups[i], GROUP_FILE), &st) &&
		       (st.st_mode & 07777) == 0444, "mode of %s is %o", path, st.st_mode);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		EXPECT(access(group_file(path, groups[1], others[i]), F_OK), "%s is there", path);
	return PSI_PASS;
}

/* The parser must be able to say no. */
static enum psi_result format_is_strict(void)
{
	struct causes causes;
	char good[2048], bad[2056];
	char *end = good;
	int c;

	for (c = 0; c < NR_CPU_CAUSES; c++)
		end += sprintf(end, "cpu.%s some=7 full=0\n", cpu_cause_names[c]);
	for (c = 0; c < NR_CAUSES; c++)
		end += sprintf(end, "memory.%s count=1 total=7 max=7\n", cause_names[c]);
	EXPECT(!parse_causes(good, &causes), "refused a good text");
	snprintf(bad, sizeof(bad), "%s\n", good);
	EXPECT(parse_causes(bad, &causes), "accepted one line more");
	snprintf(bad, sizeof(bad), "%.*s", (int)(end - good) - 1, good);
	EXPECT(parse_causes(bad, &causes), "accepted half a line");
	snprintf(bad, sizeof(bad), "%s", strchr(good, '\n') + 1);
	EXPECT(parse_causes(bad, &causes), "accepted one line less");
	snprintf(bad, sizeof(bad), "%s", good);
	*strstr(bad, "=7") = ' ';
	EXPECT(parse_causes(bad, &causes), "accepted another separator");
	return PSI_PASS;
}

static enum psi_result read_only(void)
{
	const char * const groups[] = { CGROUP_ROOT, make_group(NULL, "g") };
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		/* root may open what nobody may write */
		fd = open_in_group(groups[i], GROUP_FILE, O_WRONLY);
		EXPECT(fd < 0 || write(fd, "0", 1) < 0, "the file of %s can be written",
		       groups[i]);
		close(fd);
	}
	return PSI_PASS;
}

/* ---- a load that lasts: a task held back for two seconds at a time ---- */

static __u64 high_total(const char *group)
{
	return read_causes(group).of[MEMCG_HIGH].total;
}

/* A group with such a task. */
static const char *held_group(void)
{
	const char *group = memory_group(NULL, "g");

	start_held_back(0, group, top_group());
	return group;
}

/* While it is held back, the total goes on as the clock does. */
static enum psi_result total_goes_on(void)
{
	const char *group = held_group();
	struct causes from, to;
	__u64 began, us, most = 0, grown;
	int i;

	for (i = 0; i < 40; i++) {
		began = now_ns();
		from = read_causes(group);
		sleep_ms(50);
		to = read_causes(group);
		us = (now_ns() - began) / NSEC_PER_USEC;
		grown = to.of[MEMCG_HIGH].total - from.of[MEMCG_HIGH].total;
		EXPECT(grown <= us, "%llu us in %llu us", grown, us);
		if (to.of[MEMCG_HIGH].count == from.of[MEMCG_HIGH].count && grown > most)
			most = grown;
	}
	psi_note("at most %llu us in 50 ms within one section", most);
	EXPECT(most >= 49000, "it does not go on");
	return PSI_PASS;
}

/* Percent of @ms by which the totals of two groups grow. */
static void expect_parts(const char *a, double share_a, const char *b, double share_b,
			 unsigned int ms)
{
	__u64 from_a = high_total(a), from_b = high_total(b), began = now_ns();
	double us, got_a, got_b;

	sleep_ms(ms);
	got_a = high_total(a) - from_a;
	got_b = high_total(b) - from_b;
	us = (now_ns() - began) / NSEC_PER_USEC;
	psi_note("%.1f %% and %.1f %%", 100 * got_a / us, 100 * got_b / us);
	EXPECT(close_to(100 * got_a / us, share_a, 3) && close_to(100 * got_b / us, share_b, 3),
	       "expected %.0f %% and %.0f %%", share_a, share_b);
}

static enum psi_result moved_within_a_section(void)
{
	const char *from = memory_group(NULL, "from"), *to = memory_group(NULL, "to");
	struct causes were, are;
	pid_t pid;

	pid = start_held_back(0, from, top_group());
	expect_parts(from, 100, to, 0, 3000);
	EXPECT(!move_to_group(to, pid), "it cannot be moved");
	were = read_causes(from);
	expect_parts(from, 0, to, 100, 3000);
	are = read_causes(from);
	EXPECT(!memcmp(&were, &are, sizeof(are)), "the group that it has left goes on");
	expect_parts(top_group(), 100, to, 100, 3000);
	EXPECT(!move_to_group(CGROUP_ROOT, pid), "it cannot be moved");
	expect_parts(top_group(), 0, to, 0, 500);
	return PSI_PASS;
}

static enum psi_result off_within_a_section(void)
{
	const char *group = held_group();
	__u64 before, after, top;

	expect_parts(group, 100, top_group(), 100, 3000);
	before = high_total(group);
	EXPECT(!set_pressure(group, false), "cannot switch off");
	top = high_total(top_group());
	sleep_ms(3000);
	top = high_total(top_group()) - top;
	EXPECT(!set_pressure(group, true), "cannot switch on");
	after = high_total(group);
	psi_note("off for 3 s: the group %llu us, the one above %llu us", after - before, top);
	EXPECT(after - before < 100000, "it counts what was while it was off");
	EXPECT(top > 2900000, "the group above does not");
	expect_parts(group, 100, top_group(), 100, 3000);
	return PSI_PASS;
}

static enum psi_result root_is_off(void)
{
	const char *group = held_group();
	__u64 before;

	undo_later(switch_root_on);
	before = high_total(NULL);
	EXPECT(!set_pressure(CGROUP_ROOT, false), "cannot switch off");
	EXPECT(access(CGROUP_ROOT "/" GROUP_FILE, F_OK), "its file is there");
	expect_parts(group, 100, top_group(), 100, 2500);
	EXPECT(!set_pressure(CGROUP_ROOT, true), "cannot switch on");
	EXPECT(high_total(NULL) - before < 100000, "the system does not stand still");
	return PSI_PASS;
}

static enum psi_result removed_group(void)
{
	const char *parent = memory_group(NULL, "parent");
	const char *child = memory_group(parent, "child");
	struct causes of_child, of_parent, of_system;

	start_held_back(0, child, parent);
	sleep_ms(1000);
	stop_all_loads();
	of_system = read_causes(NULL);
	EXPECT(!remove_group(child), "it cannot be removed");
	of_child = expect_growth(parent, &nothing, BIT(MEMCG_HIGH), 0);
	EXPECT(of_child.of[MEMCG_HIGH].total > 1000000, "nothing to be kept");
	sleep_ms(500);
	of_parent = read_causes(parent);
	EXPECT(!memcmp(&of_child, &of_parent, sizeof(of_parent)), "the group above goes on");
	EXPECT(!remove_group(parent), "it cannot be removed");
	sleep_ms(500);
	expect_growth(NULL, &of_system, 0, BIT(NR_CAUSES) - 1);
	return PSI_PASS;
}

/* ---- readers ---- */

#define READERS		4
#define GROUPS		6

struct watcher {
	const char *group[GROUPS];
	atomic_ullong readings;
	atomic_int wrong;
};

/* Anybody. No number may ever decrease. */
static void watch_at_random(void *arg)
{
	static struct causes last[GROUPS + 1];
	struct watcher *w = arg;
	unsigned int seed = getpid();
	char path[GROUP_PATH], text[2048];
	struct causes now;
	int i, c;

	if (setgid(65534) || setuid(65534))
		_exit(2);
	for (;;) {
		i = rand_r(&seed) % (GROUPS + 1);
		if (read_text(group_file(path, i < GROUPS ? w->group[i] : CGROUP_ROOT, GROUP_FILE),
			      text, sizeof(text)) <= 0 || parse_causes(text, &now))
			w->wrong |= 1;
		for (c = 0; c < NR_CAUSES; c++)
			if (is_less(&now.of[c], &last[i].of[c]))
				w->wrong |= 2;
		last[i] = now;
		w->readings++;
		if (!(rand_r(&seed) % 8))
			sleep_ms(rand_r(&seed) % 4);
	}
}

static __u64 max_count(const char *group)
{
	return read_causes(group).of[MEMCG_MAX].count;
}

static enum psi_result many_readers(void)
{
	static struct memory_user user[3];
	struct watcher *w = shared_alloc(sizeof(*w));
	__u64 sum, top;
	int i;

	w->group[0] = memory_group(NULL, "a");
	w->group[1] = memory_group(w->group[0], "b");
	w->group[2] = memory_group(w->group[1], "c");
	w->group[3] = memory_group(NULL, "d");
	w->group[4] = memory_group(w->group[3], "e");
	w->group[5] = top_group();
	REQUIRE(!zram_swap(128), NO_SWAP);
	EXPECT(!set_cgroup(w->group[5], "memory.max", "24M"), "memory.max");
	for (i = 0; i < 3; i++) {
		user[i].size = 12 * MB;
		/* A group whose children have the controller has no tasks. */
		user[i].cgroup = w->group[i == 1 ? 4 : 2];
		start_memory_user(i % online_cpus(), &user[i]);
	}
	for (i = 0; i < READERS; i++)
		start_load(i % online_cpus(), watch_at_random, w);
	sleep_ms(8000);
	psi_note("%llu readings", w->readings);
	EXPECT(w->readings > 200, "too few readings");
	EXPECT(!(w->wrong & 1), "a text was wrong");
	EXPECT(!(w->wrong & 2), "a number has decreased");
	stop_all_loads();
	sleep_ms(100);

	/* At rest: what is above is the sum of what is below. */
	sum = max_count(w->group[0]) + max_count(w->group[3]);
	top = max_count(w->group[5]);
	EXPECT(top > 10 && top == sum, "%llu sections above, %llu below", top, sum);
	EXPECT(max_count(w->group[0]) == max_count(w->group[2]), "a level has lost some");
	return PSI_PASS;
}

/* ---- tracepoints ---- */

static char trace[4 << 20];

static void start_tracing(const char *begin, const char *end)
{
	need_tracing();
	EXPECT(!write_text(TRACING "buffer_size_kb", "8192") &&
	       !write_text(begin, "1") && !write_text(end, "1"), "cannot trace");
}

static void read_trace(void)
{
	EXPECT(!write_text(PSI_EVENTS "enable", "0"), "cannot stop tracing");
	EXPECT(read_text(TRACING "trace", trace, sizeof(trace)) > 0, "no trace");
	EXPECT(strlen(trace) < sizeof(trace) - 1, "too much to be read");
}

/* What follows the name of the next such event. */
static const char *next_event(const char *at, const char *event)
{
	at = strstr(at, event);
	return at ? at + strlen(event) : NULL;
}

/* What the events of a group add up to is what its file says. */
static enum psi_result events_of_sections(void)
{
	const char *group = memory_group(NULL, "traced");
	__u64 id, us, longest = 0, sum = 0, begun = 0, ended = 0;
	struct cause_line line;
	const char *at;
	char cause[32];
	int pid;

	start_tracing(PSI_EVENTS "psi_stall_begin/enable", PSI_EVENTS "psi_stall_end/enable");
	EXPECT(!set_cgroup(group, "memory.max", "8M"), "memory.max");
	start_reader(group, 0, 32 * MB, 1);
	read_trace();

	for (at = trace; (at = next_event(at, " psi_stall_begin: "));)
		if (sscanf(at, "group=%llu pid=%d cause=%31s", &id, &pid, cause) == 3 &&
		    id == group_id(group) && !strcmp(cause, "memcg_max"))
			begun++;
	for (at = trace; (at = next_event(at, " psi_stall_end: "));) {
		if (sscanf(at, "group=%llu pid=%d cause=%31s duration_us=%llu", &id, &pid,
			   cause, &us) != 4 || id != group_id(group))
			continue;
		EXPECT(!strcmp(cause, "memcg_max"), "an event for %s", cause);
		ended++;
		sum += us;
		longest = us > longest ? us : longest;
	}
	line = read_causes(group).of[MEMCG_MAX];
	psi_note("events: %llu begin, %llu end, %llu us, the longest %llu us", begun, ended, sum,
		 longest);
	psi_note("file: %llu, %llu us, the longest %llu us", line.count, line.total, line.max);
	EXPECT(ended > 2 && begun == ended && ended == line.count, "not as many as in the file");
	/* The file adds up, and then cuts to us. */
	EXPECT(sum <= line.total && line.total <= sum + ended, "not as long as in the file");
	EXPECT(longest == line.max, "another longest one than in the file");
	return PSI_PASS;
}

/* Always of this group, and of the trigger that is made below. What it has grown by, us. */
static __u64 trigger_growth(const char *text, const char *group)
{
	__u64 id, growth, threshold, window;
	char state[32];

	EXPECT(sscanf(text, "group=%llu state=%31s growth_us=%llu threshold_us=%llu window_us=%llu",
		      &id, state, &growth, &threshold, &window) == 5, "malformed: %.100s", text);
	EXPECT(id == group_id(group) && !strcmp(state, "memory_some") &&
	       threshold == 1900000 && window == 2000000, "another one: %.100s", text);
	return growth;
}

static enum psi_result events_of_triggers(void)
{
	const char *group = held_group();
	unsigned int looks = 0, fires = 0;
	const char *at;
	__u64 growth;
	int fd;

	start_tracing(PSI_EVENTS "psi_trigger_look/enable",
		      PSI_EVENTS "psi_trigger_fire/enable");
	fd = add_trigger(group, PSI_MEMORY, "some 1900000 2000000");
	EXPECT(fd >= 0, "no trigger");
	sleep_ms(5000);
	read_trace();
	close(fd);

	for (at = trace; (at = next_event(at, " psi_trigger_look: ")); looks++)
		trigger_growth(at, group);
	for (at = trace; (at = next_event(at, " psi_trigger_fire: ")); fires++) {
		growth = trigger_growth(at, group);
		EXPECT(growth >= 1900000 && growth <= 2000000, "growth %llu us", growth);
	}
	psi_note("%u looks, %u events", looks, fires);
	/* Until 1.9 s are over there can be none, and nobody takes the event. */
	EXPECT(looks >= 1 && looks <= 3, "more looks than may find something");
	EXPECT(fires == 1, "not one event");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-19 causes: a file in each group, and the root, to the byte", format },
	{ "R-19 causes: what is read is looked at strictly", format_is_strict },
	{ "R-19 causes: the file can be read, and not written", read_only },

	{ "R-6 R-19 causes: a total goes on while a section lasts", total_goes_on },
	{ "R-14 R-19 causes: a task that moves within a section takes it along",
	  moved_within_a_section },
	{ "R-14 R-19 causes: a group that is off within a section", off_within_a_section },
	{ "R-14 R-19 causes: the system stands still while the root is off", root_is_off },
	{ "R-19 causes: what was in a group that is removed stays above it", removed_group },
	{ "R-8 R-19 causes: readers of all groups, at random", many_readers },
	{ "R-19 tracepoints: sections add up to what the file says", events_of_sections },
	{ "R-13 R-19 tracepoints: looks and events of a trigger", events_of_triggers },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
