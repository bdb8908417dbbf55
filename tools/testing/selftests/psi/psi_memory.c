// SPDX-License-Identifier: GPL-2.0
/*
 * Memory pressure.
 *
 * Two loads. A process that is far over its memory.high and asks for more is
 * held back by the kernel most of the time, for up to 2 s at a stretch, and all
 * of that is a stall: nearly 100 % is the known answer. A process that uses more
 * than its memory.max, with swap, works and reclaims by turns: only bounds are
 * known.
 */
#include <sched.h>
#include <stdlib.h>

#include "psi_cgroup_util.h"

#define MB		(1024UL * 1024)

/*
 * Percent. Once in 2 s, between two stalls, the process takes 64 more pages and
 * vainly looks for some to reclaim: a few ms.
 */
#define TOLERANCE	3.0

#define WATCH_MS	6000

#define NO_MEMCG	"needs the memory controller of cgroup2"

static bool wait_for(atomic_int *ready)
{
	int ms;

	for (ms = 0; !*ready && ms < 10000; ms++)
		sleep_ms(1);
	return *ready;
}

/* On the highest CPU; returns that CPU, or less than 0. */
static int start_held_back_task(void)
{
	static struct memory_user h = { .size = 32 * MB, .grow = true };
	int cpu = online_cpus() - 1;

	h.cgroup = memory_cgroup();
	if (!h.cgroup)
		return -1;
	h.ready = shared_alloc(sizeof(*h.ready));
	start_load(cpu, use_memory, &h);
	if (!wait_for(h.ready))
		return -1;
	/* The farther over the limit, the longer it is held back. */
	if (set_cgroup(h.cgroup, "memory.high", "4M"))
		return -1;
	sleep_ms(1000);
	return cpu;
}

static enum psi_result expect(double some, double full)
{
	struct psi_share share = psi_watch(PSI_MEMORY, WATCH_MS);

	EXPECT(close_to(share.some, some, TOLERANCE) &&
	       close_to(share.full, full, TOLERANCE),
	       "expected some %.0f %% full %.0f %%, +- %.0f", some, full,
	       TOLERANCE);
	EXPECT(share.full <= share.some, "more full than some");
	return PSI_PASS;
}

static enum psi_result held_back_alone(void)
{
	REQUIRE(start_held_back_task() >= 0, NO_MEMCG);
	return expect(100, 100);
}

/* Gives way at once, lest the other one's short turns become long ones. */
static void spin_idly(void *unused)
{
	struct sched_param param = { .sched_priority = 0 };

	if (!sched_setscheduler(0, SCHED_IDLE, &param))
		spin(NULL);
}

static enum psi_result held_back_beside_busy_task(void)
{
	int cpu = start_held_back_task();

	REQUIRE(cpu >= 0, NO_MEMCG);
	start_load(cpu, spin_idly, NULL);
	return expect(100, 0);
}

static enum psi_result held_back_and_three_busy_cpus(void)
{
	REQUIRE(start_held_back_task() >= 0, NO_MEMCG);
	start_load(0, spin, NULL);
	start_load(1, spin, NULL);
	start_load(2, spin, NULL);
	pin_to_cpu(0);
	return expect(25, 25);
}

/*
 * 24 MB within 16 MB: a third of every round comes from swap and pushes other
 * pages there, which takes far longer than to touch them. So there is a stall
 * for more than a twentieth of the time, but not for all of it.
 */
static enum psi_result swapping(void)
{
	static struct memory_user h = { .size = 24 * MB };
	struct psi_share share;

	REQUIRE(!zram_swap(64), "needs zram");
	h.cgroup = memory_cgroup();
	REQUIRE(h.cgroup, NO_MEMCG);
	EXPECT(!set_cgroup(h.cgroup, "memory.max", "16M"), "memory.max");
	h.ready = shared_alloc(sizeof(*h.ready));
	start_load(0, use_memory, &h);
	EXPECT(wait_for(h.ready), "the load does not start");

	share = psi_watch(PSI_MEMORY, WATCH_MS);
	EXPECT(share.some > 5 && share.some < 100, "some is not plausible");
	EXPECT(share.full > 5 && share.full <= share.some,
	       "full is not plausible");
	return PSI_PASS;
}

/* ---- who has others give up memory is not short of it ---- */

#define AGENT_MS	4000

/* Percent that an agent may be stalled: next to nothing. */
#define AGENT_SHARE	1.0

/* Pages that it must have reclaimed: else a good result means nothing. */
#define AGENT_PAGES	4000

/* What an agent writes to the files of another group, again and again. */
struct agent {
	const char *file;
	const char *take, *give;	/* the latter may be missing */
	const char *victim;
	atomic_ullong rounds;
};

static void reclaim_for_ever(void *agent)
{
	struct agent *a = agent;

	for (;;) {
		/* EAGAIN: there was not so much to be had. */
		set_cgroup(a->victim, a->file, a->take);
		if (a->give && set_cgroup(a->victim, a->file, a->give))
			return;
		a->rounds++;
	}
}

static long long memory_stat(const char *group, const char *key)
{
	char path[GROUP_PATH], text[8192], word[64];
	const char *at;

	group_file(path, group, "memory.stat");
	EXPECT(read_text(path, text, sizeof(text)) > 0, "cannot read %s", path);
	snprintf(word, sizeof(word), "\n%s ", key);
	at = strstr(text, word);
	EXPECT(at, "no %s in %s", key, path);
	return atoll(at + strlen(word));
}

/* Somebody uses 24 MB there now and then, whatever has to come back for that. */
static const char *start_victim(void)
{
	static struct memory_user user = { .size = 24 * MB, .pause_ms = 100 };

	user.cgroup = make_group(NULL, "victim");
	user.ready = shared_alloc(sizeof(*user.ready));
	start_load(0, use_memory, &user);
	EXPECT(wait_for(user.ready), "the load does not start");
	return user.cgroup;
}

static struct psi_share watch_group(const char *group, unsigned int ms)
{
	struct psi_sample from, to;
	struct psi_share share;

	EXPECT(!read_group(group, PSI_MEMORY, &from), "cannot read");
	sleep_ms(ms);
	EXPECT(!read_group(group, PSI_MEMORY, &to), "cannot read");
	share = psi_share(&from, &to);
	psi_note("the agent: some %.2f %% full %.2f %% of %.2f s", share.some,
		 share.full, share.seconds);
	return share;
}

static enum psi_result agent(const char *file, const char *take,
			     const char *give)
{
	struct agent *a = shared_alloc(sizeof(*a));
	struct psi_share share;
	const char *group;
	long long from, pages;
	int tries = 0;

	REQUIRE(!zram_swap(64), "needs zram");
	group = make_group(NULL, "agent");
	REQUIRE(!enable_controller(group, "+memory"), NO_MEMCG);
	a->file = file;
	a->take = take;
	a->give = give;
	a->victim = start_victim();
	start_in_group(group, 0, reclaim_for_ever, a);
	sleep_ms(500);

	from = memory_stat(a->victim, "pgsteal");
	do {
		share = watch_group(group, AGENT_MS);
		EXPECT(share.some < AGENT_SHARE && share.full < AGENT_SHARE,
		       "it is held to be short of memory");
		pages = memory_stat(a->victim, "pgsteal") - from;
	} while (pages < AGENT_PAGES && ++tries < 10);
	psi_note("%llu rounds, %lld pages", a->rounds, pages);
	EXPECT(pages >= AGENT_PAGES, "too little is reclaimed to tell");
	return PSI_PASS;
}

static enum psi_result agent_reclaims(void)
{
	return agent("memory.reclaim", "4M", NULL);
}

static enum psi_result agent_lowers_high(void)
{
	return agent("memory.high", "12M", "max");
}

static enum psi_result agent_lowers_max(void)
{
	return agent("memory.max", "12M", "max");
}

static enum psi_result nobody(void)
{
	return expect(0, 0);
}

static const struct psi_case cases[] = {
	{ "R-3 memory: nobody is short of it", nobody },
	{ "R-3 memory: a task held back over memory.high is some and full",
	  held_back_alone },
	{ "R-3 memory: the same beside a busy task is some, not full",
	  held_back_beside_busy_task },
	{ "R-4 memory: the same and three busy CPUs are 25 %",
	  held_back_and_three_busy_cpus, 4, 4 },
	{ "R-16 memory: an agent that writes memory.reclaim is not stalled",
	  agent_reclaims },
	{ "R-16 memory: an agent that lowers memory.high is not stalled",
	  agent_lowers_high },
	{ "R-16 memory: an agent that lowers memory.max is not stalled",
	  agent_lowers_max },
	{ "R-3 memory: swapping within memory.max is some and full, in bounds",
	  swapping },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
