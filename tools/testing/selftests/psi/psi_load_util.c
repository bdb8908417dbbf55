// SPDX-License-Identifier: GPL-2.0
/*
 * Loads for the PSI selftests, what they need, and what they race for. See psi_util.h.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "psi_util.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"
#define CASE_CGROUP	CGROUP_ROOT "/psi_selftest"
#define NULLB_ROOT	"/sys/kernel/config/nullb"
#define CASE_NULLB	NULLB_ROOT "/psi_selftest"
#define CASE_DISK	"/dev/psi_selftest"
#define ZRAM		"zram0"
#define PAGE		4096UL

/* ---- load ---- */

/*
 * Lets other virtual CPUs go on where they share one real one. Else the first of them may
 * have it for as long as it spins (seen for 260 ms).
 */
static void relax(void)
{
#if __has_builtin(__builtin_ia32_pause)
	__builtin_ia32_pause();
#endif
}

/* That takes much longer than to look at a clock. */
static void relax_at_times(void)
{
	static unsigned int looks;

	if (!(++looks % 16))
		relax();
}

void spin_until(__u64 ns)
{
	while (now_ns() < ns)
		relax_at_times();
}

static pid_t loads[64];
static bool load_failed;	/* one that should have gone on has ended */

pid_t start_load(int cpu, void (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid();
	size_t slot;
	pid_t pid;

	for (slot = 0; loads[slot]; slot++)
		if (slot + 1 == ARRAY_SIZE(loads))
			ksft_exit_fail_msg("too many loads\n");

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_perror("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || (cpu >= 0 && pin_to_cpu(cpu)))
			_exit(1);
		fn(arg);
		ksft_print_msg("a load ends: %s\n", strerror(errno));
		_exit(1);
	}
	loads[slot] = pid;
	return pid;
}

void stop_load(pid_t pid)
{
	size_t slot;

	for (slot = 0; slot < ARRAY_SIZE(loads); slot++) {
		if (loads[slot] != pid)
			continue;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			load_failed = true;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		loads[slot] = 0;
	}
}

void stop_all_loads(void)
{
	size_t slot;

	for (slot = 0; slot < ARRAY_SIZE(loads); slot++)
		if (loads[slot])
			stop_load(loads[slot]);
}

bool has_load_ended(void)
{
	bool ended = load_failed;

	load_failed = false;
	return ended;
}

void spin(void *unused)
{
	int i;

	for (;;) {
		for (i = 0; i < 1000; i++)
			asm volatile("" : : : "memory");
		relax();
	}
}

static void do_nothing(int signal)
{
}

void spin_interrupted(void *unused)
{
	struct itimerval ms = {
		.it_interval.tv_usec = 1000,
		.it_value.tv_usec = 1000,
	};

	signal(SIGALRM, do_nothing);
	if (!setitimer(ITIMER_REAL, &ms, NULL))
		spin(NULL);
}

void burn_ms(unsigned int ms)
{
	__u64 end = thread_cpu_ns() + ms * NSEC_PER_MSEC;

	while (thread_cpu_ns() < end)
		relax_at_times();
}

const char *slow_disk(unsigned int ms)
{
	mount("configfs", "/sys/kernel/config", "configfs", 0, NULL);
	if (mkdir(CASE_NULLB, 0755))
		return NULL;
	/* irqmode 2: a request completes when a timer of that length ends; 0: at once. */
	if (write_text(CASE_NULLB "/irqmode", ms ? "2" : "0") ||
	    write_text(CASE_NULLB "/completion_nsec", "%llu", ms * NSEC_PER_MSEC) ||
	    write_text(CASE_NULLB "/size", "64") ||
	    write_text(CASE_NULLB "/power", "1") ||
	    access(CASE_DISK, R_OK))
		return NULL;
	return CASE_DISK;
}

static void remove_slow_disk(void)
{
	if (access(CASE_NULLB, F_OK))
		return;
	write_text(CASE_NULLB "/power", "0");
	rmdir(CASE_NULLB);
}

void read_disk(void *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT);
	void *buf;

	if (fd < 0 || posix_memalign(&buf, 4096, 4096))
		return;
	while (pread(fd, buf, 4096, 0) == 4096)
		;
}

const char *memory_cgroup(void)
{
	char text[256];

	if (read_text(CGROUP_ROOT "/cgroup.controllers", text, sizeof(text)) < 0 ||
	    !strstr(text, "memory"))
		return NULL;
	if (write_text(CGROUP_ROOT "/cgroup.subtree_control", "+memory"))
		return NULL;
	if (mkdir(CASE_CGROUP, 0755) && errno != EEXIST)
		return NULL;
	return CASE_CGROUP;
}

int set_cgroup(const char *cgroup, const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	return write_text(path, "%s", value);
}

int join_cgroup(const char *cgroup)
{
	return set_cgroup(cgroup, "cgroup.procs", "0");
}

/* A killed process leaves its cgroup a little later than it is reaped. */
static void remove_memory_cgroup(void)
{
	wait_until(!rmdir(CASE_CGROUP) || errno != EBUSY, 1000);
}

/* A page that neither compresses away to nothing nor stays as it is. */
static void touch(char *page, unsigned int round)
{
	unsigned int i;

	for (i = 0; i < PAGE; i += 64)
		*(unsigned int *)(page + i) = (uintptr_t)page + i + round;
}

void *map_small_pages(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) ? NULL : mem;
}

void use_memory(void *memory_user)
{
	const struct memory_user *user = memory_user;
	size_t size = user->grow ? (size_t)1 << (sizeof(size_t) > 4 ? 32 : 30) : user->size;
	unsigned int round;
	size_t offset;
	char *mem;

	mem = map_small_pages(size);
	if (!mem || join_cgroup(user->cgroup))
		return;
	for (round = 0; ; round++) {
		for (offset = 0; offset < size; offset += PAGE) {
			if (offset >= user->size)
				*user->ready = 1;
			touch(mem + offset, round);
		}
		*user->ready = 1;
		if (user->pause_ms)
			sleep_ms(user->pause_ms);
	}
}

pid_t start_memory_user(int cpu, struct memory_user *user)
{
	user->ready = shared_alloc(sizeof(*user->ready));
	return start_load(cpu, use_memory, user);
}

void await_memory_user(const struct memory_user *user)
{
	EXPECT(wait_until(*user->ready, 10000), "the load does not start");
}

static bool have_swap;

int swap_to(const char *disk, unsigned int mb)
{
	/* What mkswap would write: version and last page, and the signature. */
	struct {
		char boot[1024];
		__u32 version, last_page, bad_pages;
		char unused[4096 - 1024 - 12 - 10];
		char signature[10];
	} head = {
		.version = 1,
		.last_page = mb * 256 - 1,
		.signature = "SWAPSPACE2",
	};
	int fd, ret;

	fd = open(disk, O_WRONLY);
	if (fd < 0)
		return -errno;
	ret = write(fd, &head, sizeof(head)) == sizeof(head) ? 0 : -EIO;
	if (fsync(fd) && !ret)
		ret = -errno;
	close(fd);
	if (!ret && swapon(disk, 0))
		ret = -errno;
	return ret;
}

int zram_swap(unsigned int mb)
{
	int ret;

	write_text("/sys/block/" ZRAM "/reset", "1");
	ret = write_text("/sys/block/" ZRAM "/disksize", "%uM", mb);
	if (!ret)
		ret = swap_to("/dev/" ZRAM, mb);
	have_swap = !ret;
	return ret;
}

static void remove_zram_swap(void)
{
	if (!have_swap)
		return;
	swapoff("/dev/" ZRAM);
	write_text("/sys/block/" ZRAM "/reset", "1");
	have_swap = false;
}

void clean_up(void)
{
	cpu_set_t all;

	stop_all_loads();
	remove_slow_disk();
	remove_memory_cgroup();
	remove_zram_swap();
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

/* ---- chance ---- */

unsigned int random_below(unsigned int limit)
{
	unsigned int number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	return number % limit;
}

void pause_us(unsigned int most)
{
	sleep_until(now_ns() + random_below(most) * NSEC_PER_USEC);
}

/* ---- races ---- */

/* Of all deeds; few enough for those that are rare. */
#define ENOUGH	10

static const struct deed *deeds;
static size_t nr_deeds;

/* Shared by all loads. */
static struct {
	atomic_ulong times;
	atomic_int error;
} *done;

void begin_deeds(const struct deed *of_case, size_t nr)
{
	deeds = of_case;
	nr_deeds = nr;
	done = shared_alloc(MAX_DEEDS * sizeof(*done));
}

bool did(unsigned int deed, int ret)
{
	size_t i;

	if (ret >= 0) {
		done[deed].times++;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(deeds->errors); i++)
		if (ret == -deeds[deed].errors[i])
			return false;
	done[deed].error = -ret;
	return false;
}

static struct {
	int last_cpu;
	unsigned int deed, rest_us;
} hotplug;

bool have_hotplug(void)
{
	return online_cpus() > 1 && !access("/sys/devices/system/cpu/cpu1/online", W_OK);
}

static void plug(void *unused)
{
	int cpu;

	for (;;) {
		cpu = 1 + random_below(hotplug.last_cpu);
		did(hotplug.deed, set_online(cpu, false));
		pause_us(20000);
		did(hotplug.deed, set_online(cpu, true));
		pause_us(hotplug.rest_us);
	}
}

pid_t start_hotplug(unsigned int deed, unsigned int rest_us)
{
	hotplug.last_cpu = online_cpus() - 1;
	hotplug.deed = deed;
	hotplug.rest_us = rest_us;
	return start_load(-1, plug, NULL);
}

/* A CPU that is online already stays so. */
void all_online(void)
{
	int cpu;

	for (cpu = 1; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		set_online(cpu, true);
}

static bool enough_is_done(unsigned int needed)
{
	size_t i;

	for (i = 0; i < nr_deeds; i++)
		if (needed & DEED(i) && done[i].times < ENOUGH)
			return false;
	return true;
}

/* Some kernels need more time for it than others. */
void await_deeds(unsigned int ms, unsigned int needed)
{
	sleep_ms(is_quick() ? ms / 4 : ms);
	wait_until(enough_is_done(needed), 30000);
}

void expect_deeds(unsigned int needed)
{
	size_t i;

	for (i = 0; i < nr_deeds; i++)
		if (done[i].times)
			psi_note("%lu %s", done[i].times, deeds[i].name);
	for (i = 0; i < nr_deeds; i++) {
		EXPECT(!done[i].error, "%s: %s", deeds[i].name, strerror(done[i].error));
		EXPECT(!(needed & DEED(i)) || done[i].times >= ENOUGH, "too few %s to tell",
		       deeds[i].name);
	}
}

#define LIVE_TEST	"/sys/kernel/debug/kunit/psi_live/"

void require_facts(void)
{
	REQUIRE(!access(LIVE_TEST "run", W_OK),
		"needs CONFIG_PSI_DEBUG, CONFIG_PSI_KUNIT_TEST and kunit.enable=1");
}

void expect_facts(void)
{
	char results[4096];

	EXPECT(!write_text(LIVE_TEST "run", "1"), "cannot run psi_live");
	EXPECT(read_text(LIVE_TEST "results", results, sizeof(results)) > 0,
	       "psi_live has no results");
	EXPECT(!strstr(results, "not ok") && strstr(results, "ok 1 "), "psi_live says: %s",
	       results);
}
