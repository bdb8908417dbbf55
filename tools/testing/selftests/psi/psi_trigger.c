// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers: what may be written, who may write it, and which events come of it
 * when.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <poll.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define CPU		"/proc/pressure/cpu"
#define MEMORY		"/proc/pressure/memory"
#define IO		"/proc/pressure/io"
#define IRQ		"/proc/pressure/irq"

/* Somebody without any privilege. */
#define NOBODY		65534

#define LATE_MS		10	/* ticks by which timers of the kernel are late */

/*
 * An event is seen some time after it has come, and the next one perhaps at once:
 * then they seem to be closer. Emulated CPUs take turns, which makes that longer.
 */
static double early_ms(void)
{
	return online_cpus() > 1 ? 50 : 5;
}

/* ---- texts ---- */

/* Some have zeros within, or at the end; not all end with one. */
struct text {
	const char *bytes;
	size_t length;
};

#define TEXT(s) { s, sizeof(s) - 1 }

static int open_cpu(int flags)
{
	int fd = open_pressure(CPU, flags);

	EXPECT(fd >= 0, "open: %s", strerror(-fd));
	return fd;
}

static const char good[] = "some 100000 1000000";

/* For whoever has CAP_SYS_RESOURCE. */
static const char short_window[] = "some 10000 100000";

/* A text as it can be printed. */
static const char *readable(const struct text *t)
{
	static char line[64];
	size_t i;

	for (i = 0; i < t->length && i < sizeof(line) - 1; i++)
		line[i] = t->bytes[i] < ' ' ? '.' : t->bytes[i];
	line[i] = '\0';
	return line;
}

/* Whether it is, and leaves the file as good as new. */
static bool is_refused(const struct text *t)
{
	int fd = open_cpu(O_RDWR);
	int ret = write_trigger(fd, t->bytes, t->length);
	int after = write_trigger(fd, good, sizeof(good));

	close(fd);
	if (ret == -EINVAL && !after)
		return true;
	psi_note("\"%s\" (%zu bytes) gives %d, a good text then %d",
		 readable(t), t->length, ret, after);
	return false;
}

static enum psi_result expect_all(bool (*is_good)(const struct text *t),
				  const struct text *texts, size_t count)
{
	unsigned int wrong = 0;
	size_t i;

	for (i = 0; i < count; i++)
		wrong += !is_good(&texts[i]);
	EXPECT(!wrong, "%u of %zu texts", wrong, count);
	return PSI_PASS;
}

static enum psi_result malformed(void)
{
	static char garbage[8192];
	const struct text texts[] = {
		{ "", 0 }, TEXT("\0"), TEXT("\n"), TEXT("\n\0"), TEXT(" "),
		TEXT("some\0"), TEXT("full\0"), TEXT("some \0"),
		TEXT("some 100000\0"), TEXT("some 100000 \0"),
		TEXT("100000 1000000\0"), TEXT(" 100000 1000000\0"),
		TEXT("Some 100000 1000000\0"), TEXT("SOME 100000 1000000\0"),
		TEXT("som 100000 1000000\0"), TEXT("somex 100000 1000000\0"),
		TEXT(" some 100000 1000000\0"), TEXT("\nsome 100000 1000000\0"),
		TEXT("some100000 1000000\0"), TEXT("some 1000001000000\0"),
		TEXT("none 100000 1000000\0"), TEXT("avg10 100000 1000000\0"),
		TEXT("some -100000 1000000\0"), TEXT("some 100000 -1000000\0"),
		TEXT("some +100000 1000000\0"), TEXT("some 100000 +1000000\0"),
		TEXT("some 0x100000 1000000\0"), TEXT("some a00000 1000000\0"),
		TEXT("some 100000 x\0"), TEXT("some 1e5 1000000\0"),
		TEXT("some 100000.0 1000000\0"), TEXT("some 100000,1000000\0"),
		TEXT("some 0 1000000\0"), TEXT("some 100000 0\0"),
		TEXT("full 0 0\0"), TEXT("some 1000001 1000000\0"),
		TEXT("some 10000000 1000000\0"), TEXT("some 1 10000001\0"),
		TEXT("full 1 20000000\0"), TEXT("some 1 4294967295\0"),
		TEXT("\0some 100000 1000000\0"), TEXT("some\0 100000 1000000"),
		TEXT("\1\2\3\4\5\6\7\10 \377\376\375\374"),
		{ garbage, 31 }, { garbage, 32 }, { garbage, 33 },
		{ garbage, 4096 }, { garbage, sizeof(garbage) },
	};

	memset(garbage, 'x', sizeof(garbage));
	return expect_all(is_refused, texts, ARRAY_SIZE(texts));
}

static enum psi_result garbage_after_the_window(void)
{
	static char longer[8192];
	const struct text texts[] = {
		TEXT("some 100000 1000000x\0"), TEXT("some 100000 1000000us\0"),
		TEXT("some 100000 1000000 x\0"),
		TEXT("some 100000 1000000.5\0"),
		TEXT("some 100000 1000000 5\0"),
		TEXT("some 100000 1000000 some\0"),
		TEXT("some 100000 1000000\nsome 1 1000000\n"),
		TEXT("some 100000 1000000\nx"),
		{ longer, sizeof(longer) },
	};

	memset(longer, 'x', sizeof(longer));
	memcpy(longer, good, strlen(good));
	return expect_all(is_refused, texts, ARRAY_SIZE(texts));
}

/* 2^32 and 2^64 more than what would be good. */
static enum psi_result overflow(void)
{
	static const struct text texts[] = {
		TEXT("some 4295067296 1000000\0"),
		TEXT("some 100000 4295967296\0"),
		TEXT("some 18446744073709651616 1000000\0"),
		TEXT("some 100000 18446744073710551616\0"),
		TEXT("some 99999999999999999999999999999999 1000000\0"),
	};

	return expect_all(is_refused, texts, ARRAY_SIZE(texts));
}

static enum psi_result below_minimum(void)
{
	static const struct text texts[] = {
		TEXT("some 1 1\0"), TEXT("some 1000 9999\0"), TEXT("full 9999 9999\0"),
	};

	return expect_all(is_refused, texts, ARRAY_SIZE(texts));
}

static bool is_accepted(const struct text *t)
{
	int fd = open_cpu(O_RDWR);
	int ret = write_trigger(fd, t->bytes, t->length);
	int revents = poll_event(fd, 0);

	close(fd);
	if (!ret && !revents)
		return true;
	psi_note("\"%s\" (%zu bytes) gives %d, poll says %#x",
		 readable(t), t->length, ret, revents);
	return false;
}

static enum psi_result well_formed(void)
{
	static const struct text texts[] = {
		TEXT("some 500000 500000\0"), TEXT("some 500000 500000\n"),
		TEXT("some 500000 500000\n\0"),
		TEXT("some 500000 500000\0\0\0\0\0\0\0\0\0\0\0\0"),
		TEXT("full 500000 500000\0"), TEXT("full 500000 500000\n"),
		TEXT("some 499999 500000\0"), TEXT("some 9999999 10000000\0"),
		TEXT("some 10000000 10000000\0"), TEXT("some 999999 1000001\n"),
		TEXT("some 10000 10000\0"), TEXT("full 10000 10000\0"),
		TEXT("some 123456 123456\0"),
	};

	return expect_all(is_accepted, texts, ARRAY_SIZE(texts));
}

/* Without their last digits the windows are shorter than the thresholds. */
static enum psi_result unterminated(void)
{
	static const struct text texts[] = {
		TEXT("some 500000 500000"), TEXT("full 500000 500000"),
		TEXT("some 10000000 10000000"),
	};

	return expect_all(is_accepted, texts, ARRAY_SIZE(texts));
}

/* ---- at the end of what is mapped ---- */

static char *page_end;		/* nothing is mapped from here on */
static long page_size;

static void map_a_page(void)
{
	char *page;

	page_size = sysconf(_SC_PAGESIZE);
	page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(page != MAP_FAILED, "mmap: %s", strerror(errno));
	page_end = page + page_size;
	EXPECT(!mprotect(page_end, page_size, PROT_NONE), "mprotect: %s",
	       strerror(errno));
}

#define MOST_CUT	3

/* The windows are others if one digit more is read, or one less: too long, or too short. */
struct cut_text {
	const char *bytes;
	bool privileged;
	int expected[MOST_CUT + 1];	/* if so many bytes are not written */
};

static const struct cut_text cut_texts[] = {
	{ "some 500000 500000", true, { 0, -EINVAL, -EINVAL, -EINVAL } },
	{ "full 5000000 5000000", true, { 0, -EINVAL, -EINVAL, -EINVAL } },
	{ "some 500000 5000000", true, { 0, 0, -EINVAL, -EINVAL } },
	{ "some 1 100000", true, { 0, 0, -EINVAL, -EINVAL } },
	{ "some 1 10000000", false, { 0, 0, -EINVAL, -EINVAL } },
	{ "some 1 4000000", false, { 0, -EINVAL, -EINVAL, -EINVAL } },
	{ "some 1 20000000", true, { -EINVAL, 0, 0, 0 } },
	{ "some 1 20000000", false, { -EINVAL, 0, -EINVAL, -EINVAL } },
};

static int write_once(const char *path, bool privileged, const void *text,
		      size_t length)
{
	int fd = privileged ? open_pressure(path, O_RDWR) :
			      open_unprivileged(path, O_RDWR);
	int ret;

	EXPECT(fd >= 0, "open: %d", fd);
	ret = write_trigger(fd, text, length);
	close(fd);
	return ret;
}

/* What is not written is beyond the page, and then before its end. */
static unsigned int wrong_cuts(const char *path, const struct cut_text *t)
{
	size_t cut, length = strlen(t->bytes);
	unsigned int wrong = 0;
	int at_end, before;

	for (cut = 0; cut <= MOST_CUT; cut++) {
		memcpy(page_end - length + cut, t->bytes, length - cut);
		at_end = write_once(path, t->privileged,
				    page_end - length + cut, length - cut);
		memcpy(page_end - length, t->bytes, length);
		before = write_once(path, t->privileged, page_end - length,
				    length - cut);
		if (at_end == t->expected[cut] && before == t->expected[cut])
			continue;
		psi_note("%s: \"%.*s\" gives %d and %d", path,
			 (int)(length - cut), t->bytes, at_end, before);
		wrong++;
	}
	return wrong;
}

static enum psi_result cut_at_page_end(void)
{
	char path[GROUP_PATH];
	unsigned int wrong = 0;
	size_t i;

	map_a_page();
	for (i = 0; i < ARRAY_SIZE(cut_texts); i++)
		wrong += wrong_cuts(CPU, &cut_texts[i]);
	if (have_groups()) {
		group_file(path, make_group(NULL, "g"), "cpu.pressure");
		for (i = 0; i < ARRAY_SIZE(cut_texts); i++)
			wrong += wrong_cuts(path, &cut_texts[i]);
	}
	EXPECT(!wrong, "%u texts", wrong);
	return PSI_PASS;
}

/* 500 ms, from a text that has another digit behind its end. */
static enum psi_result cut_window(void)
{
	static const char text[] = "some 50000 5000000";
	const char *disk = slow_disk(50);
	struct events events;
	int fd;

	REQUIRE(disk, "needs null_blk with configfs");
	map_a_page();
	memcpy(page_end - strlen(text), text, strlen(text));
	fd = open_pressure(IO, O_RDWR);
	EXPECT(!write_trigger(fd, page_end - strlen(text), strlen(text) - 1),
	       "it is refused");
	start_load(0, read_disk, (void *)disk);
	count_events(fd, 10200, &events);
	psi_note("%u events", events.count);
	EXPECT(events.count >= 19 && events.count <= 21,
	       "not a window of 500 ms");
	return PSI_PASS;
}

/* From @text on for @length bytes; then the file must be as good as new. */
static void expect_write(const void *text, size_t length, int expected)
{
	int fd = open_cpu(O_RDWR);
	int ret = write_trigger(fd, text, length);

	EXPECT(ret == expected, "%zu bytes give %d, not %d", length, ret,
	       expected);
	ret = write_trigger(fd, good, sizeof(good));
	EXPECT(ret == (expected ? 0 : -EBUSY), "a good text then gives %d", ret);
	close(fd);
}

static enum psi_result lengths(void)
{
	char *two_pages;

	map_a_page();
	memcpy(page_end - page_size, good, sizeof(good));
	expect_write(page_end - page_size, page_size, 0);
	expect_write(page_end - page_size, page_size + 1, -EINVAL);
	expect_write(page_end - page_size, 0, -EINVAL);
	expect_write(page_end, 0, -EINVAL);

	two_pages = calloc(2, page_size);
	EXPECT(two_pages, "no memory");
	memcpy(two_pages, good, sizeof(good));
	expect_write(two_pages, page_size, 0);
	expect_write(two_pages, page_size + 1, -EINVAL);
	free(two_pages);
	return PSI_PASS;
}

/* All of it is there, then ever less of it, and nothing. */
static enum psi_result half_mapped(void)
{
	size_t length = strlen(good), i;

	map_a_page();
	memcpy(page_end - length, good, length);
	expect_write(page_end - length, length, 0);
	for (i = 1; i <= length; i++) {
		memcpy(page_end - length + i, good, length - i);
		expect_write(page_end - length + i, length, -EFAULT);
	}
	expect_write(page_end, 1, -EFAULT);
	expect_write((void *)-page_size, length, -EFAULT);
	return PSI_PASS;
}

static enum psi_result not_readable(void)
{
	int fd = open_cpu(O_RDWR);
	int ret = write_trigger(fd, (void *)8, sizeof(good));

	EXPECT(ret == -EFAULT, "write gives %d", ret);
	ret = write_trigger(fd, good, sizeof(good));
	EXPECT(!ret, "a good text then gives %d", ret);
	return PSI_PASS;
}

static enum psi_result second_write(void)
{
	int fd = open_trigger(CPU, good);
	int ret;

	EXPECT(fd >= 0, "the first write gives %d", fd);
	ret = write_trigger(fd, good, sizeof(good));
	EXPECT(ret == -EBUSY, "the second write gives %d", ret);
	ret = write_trigger(fd, "nonsense", 9);
	EXPECT(ret == -EBUSY || ret == -EINVAL, "nonsense gives %d", ret);
	EXPECT(!poll_event(fd, 0), "the first one is gone");
	return PSI_PASS;
}

static enum psi_result open_modes(void)
{
	int ret;

	ret = write_trigger(open_cpu(O_WRONLY), good, sizeof(good));
	EXPECT(!ret, "O_WRONLY: %d", ret);
	ret = write_trigger(open_cpu(O_RDWR), good, sizeof(good));
	EXPECT(!ret, "O_RDWR: %d", ret);
	ret = write_trigger(open_cpu(O_RDONLY), good, sizeof(good));
	EXPECT(ret == -EBADF, "O_RDONLY: %d", ret);
	return PSI_PASS;
}

static enum psi_result every_file(void)
{
	static const char * const files[] = {
		CPU, MEMORY, IO,
	};
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		fd = open_trigger(files[i], "some 100000 1000000");
		EXPECT(fd >= 0, "%s some: %d", files[i], fd);
		fd = open_trigger(files[i], "full 100000 1000000");
		EXPECT(fd >= 0, "%s full: %d", files[i], fd);
	}
	return PSI_PASS;
}

static enum psi_result irq_file(void)
{
	REQUIRE(!access(IRQ, F_OK), "no irq pressure");
	EXPECT(open_trigger(IRQ, "some 100000 1000000") == -EINVAL, "some is not refused");
	EXPECT(open_trigger(IRQ, "full 100000 1000000") >= 0, "full is refused");
	return PSI_PASS;
}

static enum psi_result cpu_full(void)
{
	struct events events;
	int fd;

	contend(0);
	fd = open_trigger(CPU, "full 1 500000");
	EXPECT(fd >= 0, "it is refused: %d", fd);
	count_events(fd, 3000, &events);
	EXPECT(!events.count, "%u events", events.count);
	return PSI_PASS;
}

/* ---- who may ---- */

/* 0 or -errno, when somebody without privileges does it all. */
static int write_as_nobody(const char *text)
{
	pid_t pid;
	int fd, status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(255);
		fd = open_trigger(CPU, text);
		_exit(fd < 0 ? -fd : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

static const char * const privileged_windows[] = {
	"some 1 10000", "full 10000 10000", "some 1000 100000", "some 100000 499999",
};

static const char * const free_windows[] = {
	"some 500000 500000", "full 1 500001", "some 100000 1000000",
	"some 100000 1999999", "full 100000 2000000", "full 100000 9000000",
	"some 10000000 10000000",
};

static enum psi_result nobody(void)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(privileged_windows); i++) {
		ret = write_as_nobody(privileged_windows[i]);
		EXPECT(ret == -EINVAL, "%s: %d", privileged_windows[i], ret);
	}
	for (i = 0; i < ARRAY_SIZE(free_windows); i++) {
		ret = write_as_nobody(free_windows[i]);
		EXPECT(!ret, "%s: %d", free_windows[i], ret);
	}
	return PSI_PASS;
}

static enum psi_result opened_unprivileged(void)
{
	int fd = open_unprivileged(CPU, O_RDWR);
	int ret;

	EXPECT(fd >= 0, "open: %d", fd);
	ret = write_trigger(fd, short_window, sizeof(short_window));
	EXPECT(ret == -EINVAL, "a window of 100 ms: %d", ret);
	ret = write_trigger(fd, good, sizeof(good));
	EXPECT(!ret, "a window of 1 s: %d", ret);
	return PSI_PASS;
}

/* The child has our file, but not our rights. */
static enum psi_result opened_privileged(void)
{
	int fd = open_cpu(O_RDWR);
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(255);
		_exit(-write_trigger(fd, short_window, sizeof(short_window)));
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status),
	       "no child");
	EXPECT(!WEXITSTATUS(status), "errno %d", WEXITSTATUS(status));
	return PSI_PASS;
}

/* ---- root of a user namespace, as a container has ---- */

struct their_root {
	atomic_int error;
	int with_short_window;
	struct events events;
	atomic_bool over;
};

static void be_their_root(void *arg)
{
	struct their_root *r = arg;
	int fd;

	/* All of its privileges are in a namespace of its own. */
	if (setgid(NOBODY) || setuid(NOBODY) || unshare(CLONE_NEWUSER)) {
		r->error = errno;
		pause();
	}
	r->with_short_window = open_trigger(CPU, short_window);
	fd = open_trigger(CPU, "some 100000 1000000");
	r->error = fd < 0 ? -fd : 0;
	if (fd >= 0)
		count_events(fd, 5000, &r->events);
	r->over = true;
	pause();
}

/* It is served, and nothing is done for it at real-time priority. */
static enum psi_result root_of_user_namespace(void)
{
	struct their_root *r = shared_alloc(sizeof(*r));
	unsigned long before, urgent;
	pid_t poller;

	REQUIRE(!access("/proc/self/ns/user", F_OK), "needs user namespaces");
	poller = find_task("psi_poll");
	before = voluntary_switches(poller);
	contend(0);
	start_load(-1, be_their_root, r);
	EXPECT(wait_until(r->over || r->error, 10000), "it does not end");
	urgent = voluntary_switches(poller) - before;
	psi_note("%u events, psi_poll has looked %lu times", r->events.count, urgent);
	EXPECT(!r->error, "a window of 1 s: %s", strerror(r->error));
	EXPECT(r->with_short_window == -EINVAL, "a window of 100 ms: %d", r->with_short_window);
	EXPECT(r->events.count >= 4, "too few events");
	EXPECT(poller && urgent < 10, "at real-time priority");
	return PSI_PASS;
}

/* ---- ways to wait ---- */

static enum psi_result no_trigger(void)
{
	int fd = open_cpu(O_RDWR);
	__u64 before = now_ns();
	int revents = poll_event(fd, 5000);

	EXPECT(revents == (POLLERR | POLLPRI), "poll says %#x", revents);
	EXPECT(now_ns() - before < NSEC_PER_SEC, "but not at once");
	return PSI_PASS;
}

static enum psi_result no_stall(void)
{
	int fd = open_trigger(MEMORY, "some 1 500000");
	int revents;

	EXPECT(fd >= 0, "no trigger: %d", fd);
	revents = poll_event(fd, 3000);
	EXPECT(!revents, "poll says %#x", revents);
	return PSI_PASS;
}

static bool by_poll(int fd, unsigned int ms)
{
	return poll_event(fd, ms) == POLLPRI;
}

static int epoll_of(int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	int epoll = epoll_create1(0);

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		ksft_exit_fail_perror("epoll_ctl");
	return epoll;
}

static int contended_trigger(void)
{
	int fd;

	contend(0);
	fd = open_trigger(CPU, "some 100000 500000");
	EXPECT(fd >= 0, "no trigger: %d", fd);
	return fd;
}

static enum psi_result read_it_too(void)
{
	struct psi_sample a, b;
	int fd = contended_trigger();
	int i;

	EXPECT(!psi_read_fd(fd, PSI_CPU, &a), "cannot read");
	for (i = 0; i < 5; i++) {
		EXPECT(by_poll(fd, 1000), "no event %d", i);
		EXPECT(!psi_read_fd(fd, PSI_CPU, &b), "cannot read again");
		EXPECT(b.some.total > a.some.total, "total does not grow");
		a = b;
	}
	return PSI_PASS;
}

/* ---- who gets which event ---- */

struct waiter {
	int fd;
	struct events *events;
	__u64 end;
};

static void wait_for_events(void *arg)
{
	struct waiter *w = arg;

	watch_events(&w->fd, 1, w->end, w->events);
	for (;;)
		pause();
}

static enum psi_result two_waiters(void)
{
	struct waiter a = { .end = now_ns() + 10 * NSEC_PER_SEC };
	struct waiter b = a;
	struct events own;
	unsigned int sum;
	int fd;

	a.events = shared_alloc(sizeof(*a.events));
	b.events = shared_alloc(sizeof(*b.events));
	a.fd = contended_trigger();
	b.fd = a.fd;
	fd = open_trigger(CPU, "some 100000 500000");
	EXPECT(fd >= 0, "no second trigger");
	start_load(0, wait_for_events, &a);
	start_load(0, wait_for_events, &b);
	watch_events(&fd, 1, a.end, &own);
	sleep_ms(100);

	sum = a.events->count + b.events->count;
	psi_note("alone %u events, two waiters %u and %u", own.count,
		 a.events->count, b.events->count);
	EXPECT(own.count >= 17, "too few events");
	EXPECT(sum + 1 >= own.count, "events are lost");
	EXPECT(sum <= own.count + 1, "events are seen twice");
	return PSI_PASS;
}

/*
 * 200 ms of every second: with what is interpolated of the window before, never
 * 600 ms.
 */
static enum psi_result three_triggers(void)
{
	static const char * const texts[] = {
		"some 100000 1000000", "some 100000 1000000",
		"some 600000 1000000",
	};
	struct events events[3];
	int fds[3];
	int i;

	contend_in_bursts(0, now_ns() + 100 * NSEC_PER_MSEC, 200, 1000);
	for (i = 0; i < 3; i++) {
		fds[i] = open_trigger(CPU, texts[i]);
		EXPECT(fds[i] >= 0, "no trigger %d", i);
	}
	watch_events(fds, 3, now_ns() + 10 * NSEC_PER_SEC, events);
	psi_note("%u, %u and %u events", events[0].count, events[1].count,
		 events[2].count);
	EXPECT(events[0].count >= 9 && events[0].count <= 10,
	       "the first trigger");
	EXPECT(events[1].count >= 9 && events[1].count <= 10,
	       "the second trigger");
	EXPECT(!events[2].count, "a threshold that is not reached");
	return PSI_PASS;
}

/* ---- what was before ---- */

static int new_trigger(bool privileged, const char *text)
{
	return must_open_trigger(CPU, privileged, text);
}

/* Stalls of 60 ms afterwards, so that there is something to look at. */
static enum psi_result expect_no_event(int fd)
{
	struct events events;
	__u64 start = now_ns();

	contend_in_bursts(0, start + 100 * NSEC_PER_MSEC, 60, 2500);
	count_events(fd, 9000, &events);
	EXPECT(!events.count, "an event after %.0f ms",
	       (events.at[0] - start) / 1e6);
	return PSI_PASS;
}

static enum psi_result after_long_stall(bool privileged)
{
	contend(0);
	sleep_ms(3000);
	stop_all_loads();
	sleep_ms(100);
	return expect_no_event(new_trigger(privileged, "some 1900000 2000000"));
}

static enum psi_result after_long_stall_privileged(void)
{
	return after_long_stall(true);
}

static enum psi_result after_long_stall_unprivileged(void)
{
	return after_long_stall(false);
}

/*
 * The stall goes on for another 60 ms, and so long is the next one. Because of
 * another trigger the kernel looks at stalls already, but rarely.
 */
static enum psi_result amid_stall(void)
{
	__u64 start = now_ns() + 100 * NSEC_PER_MSEC;
	int fd;

	new_trigger(true, "some 10000000 10000000");
	contend_in_bursts(0, start, 300, 60000);
	watch_events(NULL, 0, start + 240 * NSEC_PER_MSEC, NULL);
	fd = new_trigger(true, "some 150000 1000000");
	EXPECT(now_ns() < start + 290 * NSEC_PER_MSEC, "too late");
	return expect_no_event(fd);
}

/* ---- what was before, for somebody without any privilege ---- */

#define OLD_STALL_MS	65000

/* What the user does, and what comes of it. */
struct user_story {
	atomic_int error;
	atomic_bool opened, quiet_over;
	struct events quiet, stalled;
};

static void wait_as_nobody(void *user_story)
{
	struct user_story *s = user_story;
	int fd;

	if (setgid(NOBODY) || setuid(NOBODY)) {
		s->error = errno;
		return;
	}
	fd = open_trigger(IO, "some 150000 2000000");
	s->error = fd < 0 ? -fd : 0;
	s->opened = true;
	if (fd < 0)
		return;
	count_events(fd, 10000, &s->quiet);
	s->quiet_over = true;
	count_events(fd, 4000, &s->stalled);
	for (;;)
		pause();
}

/* Who waits for a disk needs no CPU for it. */
static void stall_for(const char *disk, unsigned int ms)
{
	pid_t reader = start_load(0, read_disk, (void *)disk);

	sleep_ms(ms);
	stop_load(reader);
}

static enum psi_result nobody_after_a_minute(void)
{
	struct user_story *s = shared_alloc(sizeof(*s));
	const char *disk = slow_disk(50);
	struct psi_sample from, to;

	REQUIRE(disk, "needs null_blk with configfs");
	EXPECT(!psi_read(PSI_IO, &from), "cannot read");
	stall_for(disk, OLD_STALL_MS);
	sleep_ms(1000);
	EXPECT(!psi_read(PSI_IO, &to), "cannot read");
	EXPECT(psi_share(&from, &to).some > 90, "that was no stall");

	start_load(-1, wait_as_nobody, s);
	sleep_ms(10500);
	EXPECT(s->opened && !s->error, "no trigger: %s", strerror(s->error));
	EXPECT(s->quiet_over, "it does not wait");
	EXPECT(!s->quiet.count, "an event without a stall");
	stall_for(disk, 300);
	sleep_ms(4000);
	EXPECT(s->stalled.count == 1, "%u events of a stall of 300 ms",
	       s->stalled.count);
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

/* ---- how many events ---- */

#define STEADY_WINDOWS	12

static void read_every_ms(void *path)
{
	int fd = open(path, O_RDONLY);
	__u64 next = now_ns();
	char text[512];

	while (pread(fd, text, sizeof(text), 0) > 0) {
		next += NSEC_PER_MSEC;
		sleep_until(next);
	}
}

static enum psi_result steady(bool privileged, bool reader, unsigned int window_ms)
{
	struct events events;
	char text[64];
	double gap;
	int fd;

	contend(0);
	if (reader)
		start_load(0, read_every_ms, CPU);
	sleep_ms(100);
	snprintf(text, sizeof(text), "some %u %u", window_ms * 500, window_ms * 1000);
	fd = new_trigger(privileged, text);
	count_events(fd, STEADY_WINDOWS * window_ms, &events);
	gap = shortest_gap(&events);
	psi_note("%u events, at least %.1f ms from one to the next",
		 events.count, gap);
	EXPECT(events.count + 1 >= STEADY_WINDOWS && events.count <= STEADY_WINDOWS + 1,
	       "not %d events", STEADY_WINDOWS);
	EXPECT(gap >= window_ms - early_ms(), "more than one event in a window");
	return PSI_PASS;
}

static enum psi_result steady_privileged(const void *window_ms)
{
	return steady(true, false, *(const unsigned int *)window_ms);
}

static enum psi_result steady_unprivileged(const void *window_ms)
{
	return steady(false, false, *(const unsigned int *)window_ms);
}

static enum psi_result steady_privileged_reader(void)
{
	return steady(true, true, 2000);
}

static enum psi_result steady_unprivileged_reader(void)
{
	return steady(false, true, 2000);
}

/* ---- exact stalls ---- */

/*
 * A realtime task takes the CPU from an ordinary one for TAKEN_MS of every period, by
 * the clock. So much is stalled, evenly, and nothing else is. A window is 50 periods.
 */
#define EXACT_PERIODS	50
#define TAKEN_MS	3
#define TAKER		20	/* its priority */

/* The ordinary one is there from a little earlier until a little later. */
#define MARGIN_NS	(300 * NSEC_PER_USEC)

static __u64 exact_start, exact_period;

static void take_the_cpu(void *unused)
{
	__u64 next = exact_start;

	if (be_realtime(TAKER))
		return;
	for (;; next += exact_period) {
		sleep_until(next);
		spin_until(next + TAKEN_MS * NSEC_PER_MSEC);
	}
}

static void lose_the_cpu(void *unused)
{
	__u64 next = exact_start;

	for (;; next += exact_period) {
		sleep_until(next - MARGIN_NS);
		spin_until(next + TAKEN_MS * NSEC_PER_MSEC + MARGIN_NS);
	}
}

/* The next multiple of @ns, by the clock. */
static __u64 next_point(__u64 ns)
{
	return (now_ns() / ns + 1) * ns;
}

/*
 * Looks are due at multiples of a tenth of a window. A stall never goes on then, so
 * that no part of it is counted or not, depending on how late somebody is.
 */
static const char *start_exact_stalls(unsigned int window_ms)
{
	const char *group = make_group(NULL, "exact");

	exact_period = window_ms * NSEC_PER_MSEC / EXACT_PERIODS;
	exact_start = next_point(10 * exact_period) + exact_period / 2;
	start_in_group(group, 0, take_the_cpu, NULL);
	start_in_group(group, 0, lose_the_cpu, NULL);
	sleep_until(exact_start);
	sleep_ms(500);
	return group;
}

static double stalled_us(int fd)
{
	struct psi_sample sample;

	EXPECT(!psi_read_fd(fd, PSI_CPU, &sample), "cannot read");
	return sample.some.total;
}

/*
 * What is stalled in @ms: to wake up, and to fall asleep, takes both tasks some us
 * more than they are asked for. That is measured, and must be next to nothing.
 */
static double exact_stall_us(int fd, unsigned int ms)
{
	double expected = EXACT_PERIODS * TAKEN_MS * 1000.0;
	__u64 start = now_ns();
	double us = stalled_us(fd);

	sleep_until(start + ms * NSEC_PER_MSEC);
	us = stalled_us(fd) - us;
	psi_note("%.1f ms stalled of %u", us / 1000, ms);
	EXPECT(close_to(us, expected, expected * 0.05), "that is not %.1f",
	       expected / 1000);
	return us;
}

/* A trigger for which @us are so many percent of the threshold. */
static int percent_trigger(const char *path, bool privileged, double us,
			   int percent, unsigned int window_ms)
{
	int fd = privileged ? open_pressure(path, O_RDWR) :
			      open_unprivileged(path, O_RDWR);
	char text[64];
	int ret;

	EXPECT(fd >= 0, "open: %d", fd);
	snprintf(text, sizeof(text), "some %.0f %u", us * 100 / percent,
		 window_ms * 1000);
	ret = write_trigger(fd, text, strlen(text) + 1);
	EXPECT(!ret, "%s: %d", text, ret);
	return fd;
}

#define EXACT_WINDOWS	20

static enum psi_result exact(const char *path, bool privileged,
			     unsigned int window_ms)
{
	static const int percent[] = { 92, 97, 103 };
	struct events events[ARRAY_SIZE(percent)];
	int fds[ARRAY_SIZE(percent)];
	double us;
	size_t i;

	sleep_until(next_point(window_ms * NSEC_PER_MSEC / 10));
	us = exact_stall_us(open_pressure(path, O_RDONLY), window_ms);
	sleep_until(next_point(window_ms * NSEC_PER_MSEC / 10));
	for (i = 0; i < ARRAY_SIZE(percent); i++)
		fds[i] = percent_trigger(path, privileged, us, percent[i],
					 window_ms);
	watch_events(fds, ARRAY_SIZE(percent), now_ns() +
		     EXACT_WINDOWS * window_ms * NSEC_PER_MSEC, events);
	for (i = 0; i < ARRAY_SIZE(percent); i++)
		psi_note("%d %% of the threshold: %u events", percent[i],
			 events[i].count);
	EXPECT(!events[0].count && !events[1].count,
	       "events below the threshold");
	EXPECT(events[2].count >= EXACT_WINDOWS - 1 &&
	       events[2].count <= EXACT_WINDOWS, "not an event per window");
	EXPECT(shortest_gap(&events[2]) >= window_ms - early_ms(),
	       "more than one event in a window");
	return PSI_PASS;
}

static enum psi_result exact_system(void)
{
	start_exact_stalls(500);
	return exact(CPU, true, 500);
}

static enum psi_result exact_group(bool privileged, unsigned int window_ms)
{
	char path[GROUP_PATH];

	group_file(path, start_exact_stalls(window_ms), "cpu.pressure");
	return exact(path, privileged, window_ms);
}

static enum psi_result exact_group_privileged(void)
{
	return exact_group(true, 500);
}

static enum psi_result exact_group_unprivileged(void)
{
	return exact_group(false, 1000);
}

/* ---- an event among many other wakeups ---- */

#define STORM_WINDOWS	20

static void ring(void *bell)
{
	__u64 next, one = 1;

	for (next = now_ns();; next += NSEC_PER_MSEC) {
		sleep_until(next);
		if (write(*(int *)bell, &one, sizeof(one)) < 0)
			return;
	}
}

/* Asks for something else, so that no event may go to this one. */
static void ask_for_input(void *fd)
{
	struct pollfd p = { .fd = *(int *)fd, .events = POLLIN };

	while (poll(&p, 1, 0) >= 0)
		sleep_ms(1);
}

static int start_storm(int fd, int *bell)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_of(fd, EPOLLPRI);

	*bell = eventfd(0, EFD_NONBLOCK);
	event.data.fd = *bell;
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, *bell, &event), "epoll_ctl");
	start_load(-1, ring, bell);
	start_load(-1, ring, bell);
	start_load(-1, ask_for_input, &fd);
	return epoll;
}

/* Return: how often the bell rang. */
static unsigned int watch_amid_storm(int epoll, int bell, __u64 end,
				     struct events *events)
{
	struct epoll_event event;
	unsigned int rung = 0;
	__u64 count;

	events->count = 0;
	be_realtime(URGENT);
	while (now_ns() < end) {
		if (epoll_wait(epoll, &event, 1, 100) != 1)
			continue;
		if (event.data.fd != bell)
			note_event(events, now_ns());
		else if (read(bell, &count, sizeof(count)) == sizeof(count))
			rung += count;
	}
	be_realtime(0);
	return rung;
}

static enum psi_result epoll_in_a_storm(void)
{
	struct events events;
	unsigned int rung;
	int epoll, bell;

	epoll = start_storm(contended_trigger(), &bell);
	rung = watch_amid_storm(epoll, bell, now_ns() +
				STORM_WINDOWS * 500 * NSEC_PER_MSEC, &events);
	psi_note("%u events, at least %.1f ms apart, and %u other wakeups",
		 events.count, shortest_gap(&events), rung);
	EXPECT(rung >= STORM_WINDOWS * 500, "that is no storm");
	EXPECT(events.count >= STORM_WINDOWS - 1 &&
	       events.count <= STORM_WINDOWS + 1, "not an event per window");
	EXPECT(shortest_gap(&events) >= 500 - early_ms(),
	       "more than one event in a window");
	return PSI_PASS;
}

/* ---- D-4: short windows ---- */

#define BURSTS		40
#define BURST_MS	3
/* No multiple of a tick, so that bursts begin anywhere within one. */
#define PERIOD_MS	101

static int burst_trigger(unsigned int window_ms)
{
	char text[64];
	int fd;

	snprintf(text, sizeof(text), "some 2000 %u", window_ms * 1000);
	fd = open_trigger(CPU, text);
	EXPECT(fd >= 0, "\"%s\": %d", text, fd);
	return fd;
}

static void watch_bursts(unsigned int window_ms, __u64 *start,
			 struct events *events)
{
	int fd = burst_trigger(window_ms);
	double gap;

	*start = now_ns() + 200 * NSEC_PER_MSEC;
	contend_in_bursts(0, *start, BURST_MS, PERIOD_MS);
	watch_events(&fd, 1, *start + BURSTS * PERIOD_MS * NSEC_PER_MSEC,
		     events);
	gap = shortest_gap(events);
	psi_note("%u events of %d bursts, at least %.1f ms apart",
		 events->count, BURSTS, gap);
	EXPECT(gap >= window_ms - early_ms(), "more than one event in a window");
}

static enum psi_result every_burst(const void *window_ms)
{
	bool seen[BURSTS] = { false };
	unsigned int i, count = 0;
	struct events events;
	__u64 start, at;

	watch_bursts(*(const unsigned int *)window_ms, &start, &events);
	for (i = 0; i < events.count; i++) {
		if (events.at[i] < start)
			continue;
		at = (events.at[i] - start) / (PERIOD_MS * NSEC_PER_MSEC);
		if (at < BURSTS && !seen[at]) {
			seen[at] = true;
			count++;
		}
	}
	EXPECT(count >= BURSTS * 9 / 10, "%u bursts are seen", count);
	return PSI_PASS;
}

/* One less, because the first and the last window may not be whole. */
static enum psi_result every_window(const void *arg)
{
	unsigned int window_ms = *(const unsigned int *)arg;
	unsigned int windows = BURSTS * PERIOD_MS / window_ms;
	struct events events;
	__u64 start;

	watch_bursts(window_ms, &start, &events);
	EXPECT(events.count + 1 >= windows * 9 / 10,
	       "%u windows are seen of %u", events.count, windows);
	return PSI_PASS;
}

/* ---- when events come ---- */

/*
 * Two bursts, 500 ms from one to the next, then nothing for long. The first
 * event comes within the first one, or soon after. The second one may be late by
 * the time from one look to the next.
 */
static enum psi_result held_back(void)
{
	__u64 start = now_ns() + 200 * NSEC_PER_MSEC;
	int fd = new_trigger(true, "some 50000 1000000");
	struct events events;
	double first, gap;

	contend_in_bursts(0, start, 100, 500);
	watch_events(&fd, 1, start + 650 * NSEC_PER_MSEC, &events);
	EXPECT(events.count == 1, "%u events of the first burst", events.count);
	stop_all_loads();
	first = events.at[0] / 1e6;
	count_events(fd, 3000, &events);
	EXPECT(events.count == 1, "%u events of the second burst",
	       events.count);
	gap = events.at[0] / 1e6 - first;
	psi_note("%.1f ms from one to the next", gap);
	EXPECT(gap >= 1000 - early_ms(), "too early");
	EXPECT(gap <= 1000 + 100 + LATE_MS, "too late");
	return PSI_PASS;
}

/* ---- what it costs to wait ---- */

static enum psi_result idle(void)
{
	unsigned long switches;

	EXPECT(open_trigger(MEMORY, "some 1000 500000") >= 0, "no trigger");
	EXPECT(open_trigger(MEMORY, "full 1000 1000000") >= 0, "no trigger");
	sleep_ms(3000);
	switches = switches_during(5000);
	EXPECT(!switches, "it has run");
	return PSI_PASS;
}

/* A stall of half of the time, and a trigger that it is not enough for. */
static int unreached_trigger(void)
{
	int fd;

	contend_in_bursts(0, now_ns(), 40, 80);
	fd = open_trigger(CPU, "some 490000 500000");
	EXPECT(fd >= 0, "no trigger: %d", fd);
	return fd;
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
	EXPECT(open_trigger(CPU, "some 19000 20000") >= 0, "no trigger");
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

/* Who has an event to take is not looked at, until he does. */
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

/* ---- triggers come and go ---- */

/* Who waits for a disk is the only one to stall for it. */
static void stall_on(int cpu, const char *disk, unsigned int ms)
{
	pid_t reader = start_load(cpu, read_disk, (void *)disk);

	sleep_ms(ms);
	stop_load(reader);
}

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

#define ROUNDS		10

static enum psi_result others_come_and_go(void)
{
	atomic_uint *made = shared_alloc(sizeof(*made));
	const char *disk = slow_disk(20);
	int i, fd;

	REQUIRE(disk, "needs null_blk with configfs");
	for (i = 0; i < 3; i++)
		start_load(-1, come_and_go, made);
	for (i = 0; i < ROUNDS; i++) {
		stall_on(random_below(online_cpus()), disk, random_below(100));
		fd = must_open_trigger(IO, i % 2, "some 50000 500000");
		expect_event_of(fd, random_below(online_cpus()), disk);
		close(fd);
	}
	psi_note("%u others were made", *made);
	EXPECT(*made > 100 * ROUNDS, "that is not many");
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
		fds[i] = open_trigger(CPU, "some 100000 500000");
		EXPECT(fds[i] >= 0, "trigger %d: %d", i, fds[i]);
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
	fd = open_trigger(CPU, "some 100000 500000");
	EXPECT(fd >= 0, "no trigger afterwards: %d", fd);
	EXPECT(by_poll(fd, 2000), "no event afterwards");
	expect_pollers(one.count);
	return PSI_PASS;
}

#define WINDOW(fn, ms)	.run_with = (fn), .arg = &(const unsigned int){ ms }

static const struct psi_case cases[] = {
	{ "R-12 malformed texts are EINVAL and change nothing", malformed },
	{ "R-12 nothing may follow the window", garbage_after_the_window },
	{ "R-12 numbers that are too large are not cut", overflow },
	{ "R-12 texts with a newline, a NUL, both, padding", well_formed },
	{ "R-12 texts that nothing ends", unterminated },
	{ "R-12 a text that ends where its page does", cut_at_page_end },
	{ "R-12 the window is what was written of it", cut_window },
	{ "R-12 a length of 0, a page, a page and one", lengths },
	{ "R-12 a text that is not all there is EFAULT", half_mapped },
	{ "R-12 a text that is not there is EFAULT", not_readable },
	{ "R-12 a second write is EBUSY", second_write },
	{ "R-12 written to what is open for writing", open_modes },
	{ "R-12 every file takes some and full", every_file },
	{ "R-12 irq takes full, if it is there", irq_file },
	{ "R-12 cpu full of the system is accepted and never fires", cpu_full },
	{ "R-12 nobody may use windows of 500 ms and more", nobody },
	{ "R-12 what nobody has opened is not privileged",
	  opened_unprivileged },
	{ "R-12 what root has opened is privileged", opened_privileged },
	{ "R-12 root of a user namespace is nobody", root_of_user_namespace },
	{ "D-4 R-12 a window below 10 ms is refused", below_minimum },
	{ "R-12 poll without a trigger is an error, at once", no_trigger },
	{ "R-12 no stall, no event", no_stall },
	{ "R-12 events of a file that is read as well", read_it_too },
	{ "R-12 of two waiters one gets each event", two_waiters },
	{ "R-12 triggers do not share their events", three_triggers },
	{ "R-12 a trigger goes when its file is closed", closed },
	{ "R-18 a new trigger ignores 3 s of stall before it",
	  after_long_stall_privileged },
	{ "D-3 R-18 an unprivileged one does, too",
	  after_long_stall_unprivileged },
	{ "D-3 R-18 a trigger made amid a stall counts the rest of it",
	  amid_stall },
	{ "R-18 R-12 nobody hears of a minute of stall that is over",
	  nobody_after_a_minute },
	{ "R-13 100 % contention is an event per window", WINDOW(steady_privileged, 2000) },
	{ "R-13 the same with a reader every ms", steady_privileged_reader },
	{ "R-13 unprivileged, windows of 500 ms", WINDOW(steady_unprivileged, 500) },
	{ "R-13 unprivileged, windows of 1 s", WINDOW(steady_unprivileged, 1000) },
	{ "R-13 unprivileged, the same on one CPU", .max_cpus = 1,
	  WINDOW(steady_unprivileged, 2000) },
	{ "D-2 R-13 unprivileged, the same on four CPUs", .min_cpus = 4,
	  WINDOW(steady_unprivileged, 2000) },
	{ "D-2 R-13 unprivileged, the same with a reader every ms",
	  steady_unprivileged_reader },
	{ "D-4 R-13 short bursts, a window of 10 ms", WINDOW(every_burst, 10) },
	{ "D-4 R-13 short bursts, a window of 20 ms", WINDOW(every_burst, 20) },
	{ "D-4 R-13 short bursts, a window of 50 ms", WINDOW(every_burst, 50) },
	{ "D-4 R-13 short bursts, a window of 100 ms", WINDOW(every_burst, 100) },
	{ "D-4 R-13 short bursts, a window of 200 ms", WINDOW(every_window, 200) },
	{ "D-4 R-13 short bursts, a window of 500 ms", WINDOW(every_window, 500) },
	{ "R-13 exact stalls of the system, windows of 500 ms", exact_system, 0, 1 },
	{ "R-13 exact stalls of a group, windows of 500 ms",
	  exact_group_privileged },
	{ "R-13 exact stalls of a group, unprivileged, windows of 1 s",
	  exact_group_unprivileged },
	{ "R-13 an epoll client in a storm", epoll_in_a_storm },
	{ "R-13 an event is held back, not lost", held_back },
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
