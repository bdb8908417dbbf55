// SPDX-License-Identifier: GPL-2.0
/*
 * The threads that look at triggers: when they look, and that they miss nothing while
 * triggers come and go.
 */
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "psi_trigger_util.h"

#define CPU		"/proc/pressure/cpu"
#define MEMORY		"/proc/pressure/memory"
#define IO		"/proc/pressure/io"

/* ---- what it costs to wait ---- */

static enum psi_result idle(void)
{
	unsigned long switches;

	must_open_trigger(MEMORY, true, "some 1000 500000");
	must_open_trigger(MEMORY, true, "full 1000 1000000");
	sleep_ms(3000);
	switches = switches_during(5000);
	EXPECT(!switches, "it has run");
	return PSI_PASS;
}

/* A stall of half of the time, and a trigger that it is not enough for. */
static int unreached_trigger(void)
{
	contend_in_bursts(0, now_ns(), 40, 80);
	return must_open_trigger(CPU, true, "some 490000 500000");
}

/* It looks often enough when there may be something to see, and not more often. */
static enum psi_result not_idle(void)
{
	unsigned long switches;

	unreached_trigger();
	sleep_ms(1000);
	switches = switches_during(5000);
	/* Ten windows. Before 240 ms of one have gone by it cannot be enough. */
	EXPECT(switches >= 20 && switches <= 80, "not 2 to 6 looks per window");
	return PSI_PASS;
}

/*
 * Whatever else runs for a moment makes it wait, or waits itself: that is a
 * stall, and is worth a window of looks. But a look itself is none. Where looks
 * never stop they are one per tick at least, 2500 and more; a short window lets
 * other tasks run 9 times a second.
 */
static enum psi_result busy_alone(void)
{
	unsigned long switches;

	start_load(online_cpus() - 1, spin, NULL);
	must_open_trigger(CPU, true, "some 19000 20000");
	sleep_ms(3000);
	switches = switches_during(10000);
	EXPECT(switches < 1000, "it has hardly ever stopped");
	return PSI_PASS;
}

static enum psi_result closed(void)
{
	int fd = unreached_trigger();

	sleep_ms(1000);
	EXPECT(switches_during(1000), "it does not look");
	close(fd);
	sleep_ms(1000);
	EXPECT(!switches_during(3000), "it still looks");
	return PSI_PASS;
}

/* A trigger with an event is not looked at until the event is taken. */
static enum psi_result untaken(void)
{
	int fd = contended_trigger();
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	sleep_ms(2000);
	EXPECT(!switches_during(3000), "it still looks");
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLPRI, "no event");
	EXPECT(poll(&p, 1, 0) == 0, "two events");
	EXPECT(poll(&p, 1, 1000) == 1, "no other event");
	return PSI_PASS;
}

/* ---- a poller that rests ---- */

/*
 * When the poller stops looking, the CPU is idle, and no fold visits it. When it leaves idleness,
 * and when "some" begins there, there is nothing to tell yet.
 */
static enum psi_result full_after_some(void)
{
	const char *disk = slow_disk(50);
	int cpu = online_cpus() - 1, fd;
	pid_t spinner;

	REQUIRE(cpu, "needs a second CPU");
	REQUIRE(disk, "needs null_blk with configfs");
	pin_to_cpu(0);
	sleep_ms(6000);
	fd = must_open_trigger(IO, true, "full 100000 500000");
	sleep_ms(1500);
	spinner = start_load(cpu, spin, NULL);
	sleep_ms(200);
	start_load(cpu, read_disk, (void *)disk);
	EXPECT(!poll_event(fd, 1000), "an event while the CPU is busy");
	stop_load(spinner);
	EXPECT(poll_event(fd, 2000) == POLLPRI, "no event");
	return PSI_PASS;
}

/* ---- triggers come and go ---- */

/* When nobody looks at the trigger any more, there is a stall on @cpu. */
static void expect_event_of(int fd, int cpu, const char *disk)
{
	sleep_ms(1500);
	poll_event(fd, 0);
	stall_on(cpu, disk, 1000);
	EXPECT(poll_event(fd, 0) == POLLPRI, "no event of CPU %d", cpu);
}

/*
 * When a trigger goes, CPUs go on telling of stalls until there is one. So a new trigger
 * finds some that tell, and some that do not.
 */
static enum psi_result made_anew(void)
{
	const char *disk = slow_disk(20);
	int last = online_cpus() - 1, cpu, fd;

	REQUIRE(disk, "needs null_blk with configfs");
	for (cpu = 0; cpu <= last; cpu += last ? last : 1) {
		close(must_open_trigger(IO, true, "some 50000 500000"));
		stall_on(cpu, disk, 200);
		fd = must_open_trigger(IO, true, "some 50000 500000");
		expect_event_of(fd, cpu, disk);
		expect_event_of(fd, last - cpu, disk);
		expect_event_of(fd, last / 2, disk);
		close(fd);
	}
	return PSI_PASS;
}

static void come_and_go(void *made)
{
	int fd;

	for (;;) {
		fd = open_trigger(IO, "some 500000 500000");
		if (fd < 0)
			return;
		(*(atomic_uint *)made)++;
		pause_us(300);
		close(fd);
		pause_us(300);
	}
}

static enum psi_result others_come_and_go(void)
{
	atomic_uint *made = shared_alloc(sizeof(*made));
	const char *disk = slow_disk(20);
	unsigned int i, rounds = is_quick() ? 3 : 10;
	int fd;

	REQUIRE(disk, "needs null_blk with configfs");
	for (i = 0; i < 3; i++)
		start_load(-1, come_and_go, made);
	for (i = 0; i < rounds; i++) {
		stall_on(random_below(online_cpus()), disk, random_below(100));
		fd = must_open_trigger(IO, i % 2, "some 50000 500000");
		expect_event_of(fd, random_below(online_cpus()), disk);
		close(fd);
	}
	psi_note("%u others were made", *made);
	EXPECT(*made > 100 * rounds, "that is not many");
	return PSI_PASS;
}

/* ---- many triggers ---- */

#define MANY		2000

static int open_many(int *fds)
{
	struct rlimit limit = { 2 * MANY, 2 * MANY };
	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLPRI };
	int i;

	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit), "cannot raise the limit");
	for (i = 0; i < MANY; i++) {
		fds[i] = must_open_trigger(CPU, true, "some 100000 500000");
		event.data.u32 = i;
		EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event),
		       "epoll_ctl %d", i);
	}
	return epoll;
}

/* How many of them have had an event before @end. */
static int wait_for_many(int epoll, __u64 end)
{
	static bool seen[MANY];
	struct epoll_event events[64];
	int i, n, count = 0;

	memset(seen, 0, sizeof(seen));
	while (count < MANY && now_ns() < end) {
		n = epoll_wait(epoll, events, ARRAY_SIZE(events), 100);
		for (i = 0; i < n; i++) {
			count += !seen[events[i].data.u32];
			seen[events[i].data.u32] = true;
		}
	}
	return count;
}

static void expect_pollers(unsigned int count)
{
	struct pollers pollers = find_pollers();

	EXPECT(pollers.count == count, "%u threads look at triggers, not %u",
	       pollers.count, count);
}

static enum psi_result many(void)
{
	static int fds[MANY];
	int i, fd, epoll, count;
	struct pollers one;

	fd = contended_trigger();
	one = find_pollers();
	EXPECT(one.count <= MAX_POLLERS, "%u threads for one trigger", one.count);
	close(fd);

	epoll = open_many(fds);
	count = wait_for_many(epoll, now_ns() + 5 * NSEC_PER_SEC);
	EXPECT(count == MANY, "%d of %d have had an event", count, MANY);
	count = wait_for_many(epoll, now_ns() + 5 * NSEC_PER_SEC);
	EXPECT(count == MANY, "%d of %d have had another", count, MANY);
	expect_pollers(one.count);

	for (i = 0; i < MANY; i++)
		close(fds[i]);
	fd = must_open_trigger(CPU, true, "some 100000 500000");
	EXPECT(poll_event(fd, 2000) == POLLPRI, "no event afterwards");
	expect_pollers(one.count);
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-12 a trigger goes when its file is closed", closed },
	{ "R-13 nothing looks at triggers without a stall", idle },
	{ "R-13 up to ten looks per window, where there may be an event", not_idle },
	{ "R-13 nothing looks at an event that is not taken", untaken },
	{ "R-13 a busy task alone is nothing to look at", busy_alone },
	{ "R-13 full that begins after some, where the poller rests", full_after_some,
	  .min_cpus = 2 },
	{ "R-13 a trigger that is made when the last one has gone", made_anew },
	{ "R-13 triggers amid others that come and go", others_come_and_go },
	{ "R-13 2000 triggers fire, and go", many },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
