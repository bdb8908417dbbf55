// SPDX-License-Identifier: GPL-2.0
/*
 * What the PSI selftests share. See psi_util.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "psi_util.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"
#define CASE_CGROUP	CGROUP_ROOT "/psi_selftest"
#define NULLB_ROOT	"/sys/kernel/config/nullb"
#define CASE_NULLB	NULLB_ROOT "/psi_selftest"
#define CASE_DISK	"/dev/psi_selftest"
#define ZRAM		"zram0"
#define PAGE		4096UL

/* ---- small helpers ---- */

static __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

__u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

__u64 thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until(__u64 ns)
{
	struct timespec ts = {
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

void sleep_ms(unsigned int ms)
{
	sleep_until(now_ns() + ms * NSEC_PER_MSEC);
}

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

__u64 number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

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

int online_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

int pin_task(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

int pin_to_cpu(int cpu)
{
	return pin_task(0, cpu);
}

static void unpin(void)
{
	cpu_set_t set;
	int cpu;

	CPU_ZERO(&set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

ssize_t read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, length = 0;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + length, size - 1 - length);
		if (n < 0)
			n = -errno;
		else
			length += n;
	} while (n > 0);
	close(fd);
	buf[length] = '\0';
	return n < 0 ? n : length;
}

struct psi_task_times task_times(pid_t pid)
{
	struct psi_task_times times;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	REQUIRE(read_text(path, text, sizeof(text)) > 0 &&
		sscanf(text, "%llu %llu", &times.ran_ns, &times.waited_ns) == 2,
		"needs schedstat");
	return times;
}

int write_text(const char *path, const char *format, ...)
{
	int fd = open(path, O_WRONLY);
	int ret = 0;
	va_list args;

	if (fd < 0)
		return -errno;
	va_start(args, format);
	if (vdprintf(fd, format, args) < 0)
		ret = -errno;
	va_end(args);
	close(fd);
	return ret;
}

int set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	return write_text(path, "%d", online);
}

void *shared_alloc(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	return mem;
}

static bool is_named(const char *pid, const char *name)
{
	char path[300], comm[32];

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (read_text(path, comm, sizeof(comm)) <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, name);
}

size_t find_tasks(const char *name, pid_t *pids, size_t max)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	if (!proc)
		ksft_exit_fail_perror("/proc");
	while (count < max && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && is_named(entry->d_name, name))
			pids[count++] = atoi(entry->d_name);
	closedir(proc);
	return count;
}

pid_t find_task(const char *name)
{
	pid_t pid;

	return find_tasks(name, &pid, 1) ? pid : 0;
}

unsigned long voluntary_switches(pid_t pid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char path[32], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, key);
	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

int be_realtime(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int policy = priority ? SCHED_FIFO : SCHED_OTHER;

	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) ? -errno : 0;
}

bool booted_with(const char *word)
{
	char line[4096];
	char *save, *part;

	if (read_text("/proc/cmdline", line, sizeof(line)) < 0)
		return false;
	for (part = strtok_r(line, "\n ", &save); part;
	     part = strtok_r(NULL, "\n ", &save))
		if (!strcmp(part, word))
			return true;
	return false;
}

bool is_quick(void)
{
	return booted_with("quick");
}

int psi_slowness(void)
{
	const char *slow = getenv("PSI_SLOW");

	return slow ? atoi(slow) : 1;
}

bool close_to(double value, double expected, double tolerance)
{
	double from_end = fmin(expected, 100 - expected);
	double slow = tolerance * psi_slowness();

	/* Else nothing at all, or everything, would be close to a share. */
	if (from_end > 0)
		slow = fmin(slow, fmax(tolerance, from_end / 2));
	return fabs(value - expected) <= slow;
}

void psi_note(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ksft_print_msg("%s\n", line);
}

/* ---- pressure files ---- */

static const char * const names[] = {
	[PSI_CPU]	= "cpu",
	[PSI_MEMORY]	= "memory",
	[PSI_IO]	= "io",
	[PSI_IRQ]	= "irq",
};

static const char * const paths[] = {
	[PSI_CPU]	= "/proc/pressure/cpu",
	[PSI_MEMORY]	= "/proc/pressure/memory",
	[PSI_IO]	= "/proc/pressure/io",
	[PSI_IRQ]	= "/proc/pressure/irq",
};

const char *psi_name(enum psi_resource res)
{
	return names[res];
}

const char *psi_path(enum psi_resource res)
{
	return paths[res];
}

/* The part of a text that has not been looked at yet. */
struct cursor {
	const char *at, *end;
};

static bool take_word(struct cursor *c, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length))
		return false;
	c->at += length;
	return true;
}

static bool take_digit(struct cursor *c, unsigned int *digit)
{
	if (c->at == c->end || *c->at < '0' || *c->at > '9')
		return false;
	*digit = *c->at++ - '0';
	return true;
}

/* A number as printf would write it: no sign, no needless zero in front. */
static bool take_number(struct cursor *c, __u64 *value)
{
	const char *start = c->at;
	unsigned int digit;

	*value = 0;
	while (take_digit(c, &digit)) {
		if (*value > (ULLONG_MAX - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return c->at > start && (*start != '0' || c->at == start + 1);
}

static bool take_percent(struct cursor *c, unsigned int *hundredths)
{
	unsigned int tens, ones;
	__u64 whole;

	if (!take_number(c, &whole) || !take_word(c, ".") ||
	    !take_digit(c, &tens) || !take_digit(c, &ones))
		return false;
	*hundredths = whole * 100 + tens * 10 + ones;
	return whole < 100 || *hundredths == 10000;
}

static bool take_line(struct cursor *c, const char *kind, struct psi_line *line)
{
	return take_word(c, kind) &&
	       take_word(c, " avg10=") && take_percent(c, &line->avg[AVG10]) &&
	       take_word(c, " avg60=") && take_percent(c, &line->avg[AVG60]) &&
	       take_word(c, " avg300=") && take_percent(c, &line->avg[AVG300]) &&
	       take_word(c, " total=") && take_number(c, &line->total) &&
	       take_word(c, "\n");
}

const char *psi_parse(enum psi_resource res, const char *text, size_t length,
		      struct psi_sample *sample)
{
	struct cursor c = { text, text + length };

	memset(&sample->some, 0, sizeof(sample->some));
	if (res != PSI_IRQ && !take_line(&c, "some", &sample->some))
		return "no proper some line";
	if (!take_line(&c, "full", &sample->full))
		return "no proper full line";
	if (c.at != c.end)
		return "more than the lines that belong here";
	return NULL;
}

int psi_read_fd(int fd, enum psi_resource res, struct psi_sample *sample)
{
	const char *wrong;
	char text[512];
	ssize_t length;

	sample->before = now_ns();
	length = pread(fd, text, sizeof(text), 0);
	if (length < 0)
		return -errno;
	sample->after = now_ns();

	wrong = psi_parse(res, text, length, sample);
	if (wrong) {
		psi_note("%s: %s in \"%.*s\"", psi_path(res), wrong,
			 (int)length, text);
		return -EBADMSG;
	}
	return 0;
}

int psi_read(enum psi_resource res, struct psi_sample *sample)
{
	int fd = open(psi_path(res), O_RDONLY);
	int ret;

	if (fd < 0)
		return -errno;
	ret = psi_read_fd(fd, res, sample);
	close(fd);
	return ret;
}

/* The moment of a reading, as nearly as it is known. */
static double moment(const struct psi_sample *sample)
{
	return (sample->before + sample->after) / 2.0;
}

struct psi_share psi_share(const struct psi_sample *from,
			   const struct psi_sample *to)
{
	double ns = moment(to) - moment(from);

	return (struct psi_share) {
		.some = (to->some.total - from->some.total) * 1e5 / ns,
		.full = (to->full.total - from->full.total) * 1e5 / ns,
		.seconds = ns / NSEC_PER_SEC,
	};
}

struct psi_share psi_watch(enum psi_resource res, unsigned int ms)
{
	struct psi_sample from, to;
	struct psi_share share;

	if (psi_read(res, &from))
		ksft_exit_fail_msg("cannot read %s\n", psi_path(res));
	sleep_ms(ms);
	if (psi_read(res, &to))
		ksft_exit_fail_msg("cannot read %s\n", psi_path(res));
	share = psi_share(&from, &to);
	psi_note("%s: some %.2f %% full %.2f %% of %.2f s", psi_name(res),
		 share.some, share.full, share.seconds);
	/* Not so of what they have grown by: each may have been shown a little early before. */
	EXPECT(res == PSI_IRQ || to.full.total <= to.some.total, "more full than some");
	return share;
}

/* ---- load ---- */

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
	    write_text(CASE_NULLB "/completion_nsec", "%llu",
		       ms * NSEC_PER_MSEC) ||
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

	if (read_text(CGROUP_ROOT "/cgroup.controllers", text,
		      sizeof(text)) < 0 || !strstr(text, "memory"))
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
	int tries;

	for (tries = 0; tries < 100; tries++) {
		if (!rmdir(CASE_CGROUP) || errno != EBUSY)
			return;
		sleep_ms(10);
	}
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

/* ---- cases ---- */

void clean_up(void)
{
	stop_all_loads();
	remove_slow_disk();
	remove_memory_cgroup();
	remove_zram_swap();
	unpin();
}

static jmp_buf case_end;

void leave_case(enum psi_result result, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	psi_note("%s", line);
	longjmp(case_end, result);
}

int open_kernel_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	REQUIRE(log >= 0, "no /dev/kmsg");
	return log;
}

bool read_kernel_log(int log, char *record, size_t size)
{
	ssize_t n;

	do {
		n = read(log, record, size - 1);
	} while (n < 0 && errno == EPIPE);	/* the oldest have been overwritten */
	if (n <= 0)
		return false;
	record[n] = '\0';
	return true;
}

static void (*undo[8])(void);
static size_t undos;

void undo_later(void (*fn)(void))
{
	size_t i;

	for (i = 0; i < undos; i++)
		if (undo[i] == fn)
			return;
	EXPECT(undos < ARRAY_SIZE(undo), "too much to undo");
	undo[undos++] = fn;
}

static bool wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strncmp(name, argv[i], strlen(argv[i])))
			return true;
	return argc < 2;
}

static void run_case(const struct psi_case *c)
{
	int cpus = online_cpus();
	int result;

	if (cpus < c->min_cpus || (c->max_cpus && cpus > c->max_cpus)) {
		psi_note("not for %d CPUs", cpus);
		ksft_test_result_skip("%s\n", c->name);
		return;
	}

	load_failed = false;
	result = setjmp(case_end);
	if (!result)
		result = c->run ? c->run() : c->run_with(c->arg);
	clean_up();
	while (undos)
		undo[--undos]();
	if (load_failed) {
		psi_note("a load has ended by itself");
		result = PSI_FAIL;
	}
	switch (result) {
	case PSI_PASS:
		ksft_test_result_pass("%s\n", c->name);
		break;
	case PSI_FAIL:
		ksft_test_result_fail("%s\n", c->name);
		break;
	case PSI_SKIP:
		ksft_test_result_skip("%s\n", c->name);
		break;
	}
}

int psi_main(int argc, char **argv, const struct psi_case *cases, size_t count)
{
	unsigned int plan = 0;
	size_t i;

	for (i = 0; i < count; i++)
		plan += wanted(cases[i].name, argc, argv);
	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (!plan)
		ksft_exit_skip("no case of that name\n");
	ksft_set_plan(plan);

	for (i = 0; i < count; i++)
		if (wanted(cases[i].name, argc, argv))
			run_case(&cases[i]);
	ksft_finished();
}
