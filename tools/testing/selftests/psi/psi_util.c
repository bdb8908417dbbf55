// SPDX-License-Identifier: GPL-2.0
/*
 * What the PSI selftests share, but for loads. See psi_util.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <time.h>

#include "psi_util.h"

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

__u64 number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
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

ssize_t read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, length = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + length, size - 1 - length)) > 0)
		length += n;
	buf[length] = '\0';
	if (n < 0)
		length = -errno;
	close(fd);
	return length;
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

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_text(path, "%d", online);
}

void *shared_alloc(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

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
	char path[32], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	return number_after(text, "\nvoluntary_ctxt_switches:");
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

static void note(const char *format, va_list args)
{
	char line[512];

	vsnprintf(line, sizeof(line), format, args);
	ksft_print_msg("%s\n", line);
}

void psi_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
}

/* ---- pressure files ---- */

#define PRESSURE	"/proc/pressure/"

static const char * const paths[] = {
	[PSI_CPU]	= PRESSURE "cpu",
	[PSI_MEMORY]	= PRESSURE "memory",
	[PSI_IO]	= PRESSURE "io",
	[PSI_IRQ]	= PRESSURE "irq",
};

const char *psi_path(enum psi_resource res)
{
	return paths[res];
}

const char *psi_name(enum psi_resource res)
{
	return psi_path(res) + strlen(PRESSURE);
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
		psi_note("%s: %s in \"%.*s\"", psi_path(res), wrong, (int)length, text);
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

struct psi_share psi_share(const struct psi_sample *from, const struct psi_sample *to)
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

/* ---- cases ---- */

static jmp_buf case_end;

void leave_case(enum psi_result result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
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

	result = setjmp(case_end);
	if (!result)
		result = c->run ? c->run() : c->run_with(c->arg);
	clean_up();
	while (undos)
		undo[--undos]();
	if (has_load_ended()) {
		psi_note("a load has ended by itself");
		result = PSI_FAIL;
	}
	if (result == PSI_SKIP)
		ksft_test_result_skip("%s\n", c->name);
	else
		ksft_test_result(result == PSI_PASS, "%s\n", c->name);
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
