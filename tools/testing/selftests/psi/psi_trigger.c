// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers: what may be written, and by which user. Which events come of it, and when,
 * is looked at in psi_events.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "psi_cgroup_util.h"
#include "psi_trigger_util.h"

#define CPU		"/proc/pressure/cpu"
#define MEMORY		"/proc/pressure/memory"
#define IO		"/proc/pressure/io"
#define IRQ		"/proc/pressure/irq"

/* Somebody without any privilege. */
#define NOBODY		65534

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

/* With CAP_SYS_RESOURCE. */
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

/* What becomes of a text, and those that it becomes of. */
struct texts {
	bool (*is_good)(const struct text *t);
	const struct text *text;
	size_t count;
};

static enum psi_result expect_all(const void *arg)
{
	const struct texts *texts = arg;
	unsigned int wrong = 0;
	size_t i;

	for (i = 0; i < texts->count; i++)
		wrong += !texts->is_good(&texts->text[i]);
	EXPECT(!wrong, "%u of %zu texts", wrong, texts->count);
	return PSI_PASS;
}

static char garbage[8192];	/* filled in by main(), as is the next one */

static const struct text malformed[] = {
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

static char longer[8192];

static const struct text garbage_after_the_window[] = {
	TEXT("some 100000 1000000x\0"), TEXT("some 100000 1000000us\0"),
	TEXT("some 100000 1000000 x\0"),
	TEXT("some 100000 1000000.5\0"),
	TEXT("some 100000 1000000 5\0"),
	TEXT("some 100000 1000000 some\0"),
	TEXT("some 100000 1000000\nsome 1 1000000\n"),
	TEXT("some 100000 1000000\nx"),
	{ longer, sizeof(longer) },
};

/* 2^32 and 2^64 more than what would be good. */
static const struct text overflow[] = {
	TEXT("some 4295067296 1000000\0"),
	TEXT("some 100000 4295967296\0"),
	TEXT("some 18446744073709651616 1000000\0"),
	TEXT("some 100000 18446744073710551616\0"),
	TEXT("some 99999999999999999999999999999999 1000000\0"),
};

static const struct text below_minimum[] = {
	TEXT("some 1 1\0"), TEXT("some 1000 9999\0"), TEXT("full 9999 9999\0"),
};

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

static const struct text well_formed[] = {
	TEXT("some 500000 500000\0"), TEXT("some 500000 500000\n"),
	TEXT("some 500000 500000\n\0"),
	TEXT("some 500000 500000\0\0\0\0\0\0\0\0\0\0\0\0"),
	TEXT("full 500000 500000\0"), TEXT("full 500000 500000\n"),
	TEXT("some 499999 500000\0"), TEXT("some 9999999 10000000\0"),
	TEXT("some 10000000 10000000\0"), TEXT("some 999999 1000001\n"),
	TEXT("some 10000 10000\0"), TEXT("full 10000 10000\0"),
	TEXT("some 123456 123456\0"),
};

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

static enum psi_result second_write(void)
{
	int fd = must_open_trigger(CPU, true, good);
	int ret;

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
	enum psi_resource res;

	for (res = PSI_CPU; res <= PSI_IO; res++) {
		must_open_trigger(psi_path(res), true, "some 100000 1000000");
		must_open_trigger(psi_path(res), true, "full 100000 1000000");
	}
	return PSI_PASS;
}

static enum psi_result irq_file(void)
{
	REQUIRE(!access(IRQ, F_OK), "no irq pressure");
	EXPECT(open_trigger(IRQ, "some 100000 1000000") == -EINVAL, "some is not refused");
	must_open_trigger(IRQ, true, "full 100000 1000000");
	return PSI_PASS;
}

static enum psi_result cpu_full(void)
{
	struct events events;
	int fd;

	contend(0);
	fd = must_open_trigger(CPU, true, "full 1 500000");
	count_events(fd, 3000, &events);
	EXPECT(!events.count, "%u events", events.count);
	return PSI_PASS;
}

/* ---- privilege ---- */

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

/* ---- nothing to tell ---- */

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
	int fd = must_open_trigger(MEMORY, true, "some 1 500000");
	int revents;

	revents = poll_event(fd, 3000);
	EXPECT(!revents, "poll says %#x", revents);
	return PSI_PASS;
}

#define TEXTS(...)	.run_with = expect_all, .arg = &(const struct texts){ __VA_ARGS__ }

static const struct psi_case cases[] = {
	{ "R-12 malformed texts are EINVAL and change nothing",
	  TEXTS(is_refused, malformed, ARRAY_SIZE(malformed)) },
	{ "R-12 nothing may follow the window",
	  TEXTS(is_refused, garbage_after_the_window, ARRAY_SIZE(garbage_after_the_window)) },
	{ "R-12 numbers that are too large are not cut",
	  TEXTS(is_refused, overflow, ARRAY_SIZE(overflow)) },
	{ "R-12 texts with a newline, a NUL, both, padding",
	  TEXTS(is_accepted, well_formed, ARRAY_SIZE(well_formed)) },
	{ "R-12 a text that ends where its page does", cut_at_page_end },
	{ "R-12 the window is what was written of it", cut_window },
	{ "R-12 a length of 0, a page, a page and one", lengths },
	{ "R-12 a text that is not all there is EFAULT", half_mapped },
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
	{ "D-4 R-12 a window below 10 ms is refused",
	  TEXTS(is_refused, below_minimum, ARRAY_SIZE(below_minimum)) },
	{ "R-12 poll without a trigger is an error, at once", no_trigger },
	{ "R-12 no stall, no event", no_stall },
};

int main(int argc, char **argv)
{
	memset(garbage, 'x', sizeof(garbage));
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, good, strlen(good));
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
