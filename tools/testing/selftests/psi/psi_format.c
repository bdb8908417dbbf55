// SPDX-License-Identifier: GPL-2.0
/*
 * the files of /proc/pressure, to the byte, and the ways of reading them.
 * psi_parse() holds the grammar.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "psi_util.h"

#define TEXT_SIZE	512

static bool have_irq_clock(void)
{
	return !booted_with("tsc=noirqtime");
}

static enum psi_result grammar(void)
{
	struct psi_sample sample;
	enum psi_resource res;

	for (res = 0; res < PSI_NR_RESOURCES; res++) {
		if (res == PSI_IRQ && !have_irq_clock())
			continue;
		EXPECT(!psi_read(res, &sample), "%s is not as it should be",
		       psi_path(res));
	}
	return PSI_PASS;
}

/* The parser must be able to say no, or the case above is worth nothing. */
static enum psi_result grammar_is_strict(void)
{
#define SOME "some avg10=0.00 avg60=1.23 avg300=100.00 total=0\n"
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n"
	static const char * const wrong[] = {
		"",
		SOME,
		FULL,
		FULL SOME,
		SOME FULL "\n",
		SOME FULL FULL,
		SOME "full avg10=0.00 avg60=0.00 avg300=0.00 total=0",
		SOME "full avg10=0.0 avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=0.000 avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=00.00 avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=100.01 avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=-1.00 avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=0.00 avg60=0.00 avg300=0.00 total=00\n",
		SOME "full avg10=0.00 avg60=0.00 avg300=0.00 total=\n",
		SOME "full avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551616\n",
		SOME "full avg10=0.00  avg60=0.00 avg300=0.00 total=0\n",
		SOME "full avg60=0.00 avg10=0.00 avg300=0.00 total=0\n",
		SOME "full avg10=0.00 avg60=0.00 avg300=0.00 total=0.\n",
	};
	struct psi_sample sample;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT(psi_parse(PSI_IO, wrong[i], strlen(wrong[i]), &sample),
		       "accepted: %s", wrong[i]);
	EXPECT(!psi_parse(PSI_IO, SOME FULL, strlen(SOME FULL), &sample),
	       "refused a good text");
	EXPECT(!psi_parse(PSI_IRQ, FULL, strlen(FULL), &sample),
	       "refused a good irq text");
	EXPECT(psi_parse(PSI_IRQ, SOME FULL, strlen(SOME FULL), &sample),
	       "accepted a some line for irq");
#undef SOME
#undef FULL
	return PSI_PASS;
}

static enum psi_result cpu_full_is_zero(void)
{
	struct psi_sample sample;
	int avg;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	sleep_ms(2500);		/* long enough for a period to end */

	EXPECT(!psi_read(PSI_CPU, &sample), "cannot read");
	EXPECT(sample.some.total && sample.some.avg[AVG10], "there is no load");
	EXPECT(!sample.full.total, "total of full is not 0");
	for (avg = 0; avg < NR_AVGS; avg++)
		EXPECT(!sample.full.avg[avg], "average of full is not 0");
	return PSI_PASS;
}

static enum psi_result directory(void)
{
	unsigned int seen = 0, nr = have_irq_clock() ? PSI_NR_RESOURCES : PSI_IRQ;
	enum psi_resource res;
	struct dirent *entry;
	DIR *dir;

	dir = opendir("/proc/pressure");
	EXPECT(dir, "no /proc/pressure");
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		for (res = 0; res < PSI_NR_RESOURCES; res++)
			if (!strcmp(entry->d_name, psi_name(res)))
				break;
		EXPECT(res < PSI_NR_RESOURCES, "%s does not belong here",
		       entry->d_name);
		seen |= 1u << res;
	}
	closedir(dir);
	EXPECT(seen == (1u << nr) - 1, "files are %x", seen);
	return PSI_PASS;
}

static void read_as_nobody(void *unused)
{
	struct psi_sample sample;
	enum psi_resource res;

	if (setgid(65534) || setuid(65534))
		_exit(2);
	for (res = PSI_CPU; res <= PSI_IO; res++)
		if (psi_read(res, &sample))
			_exit(1);
	_exit(0);
}

static enum psi_result unprivileged(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		read_as_nobody(NULL);
	EXPECT(waitpid(pid, &status, 0) == pid, "no child");
	EXPECT(!status, "an ordinary user cannot read (status %d)", status);
	return PSI_PASS;
}

static enum psi_result new_sample_from_start(void)
{
	struct psi_sample first, again, seek;
	char text[TEXT_SIZE];
	ssize_t length;
	int fd;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	fd = open(psi_path(PSI_CPU), O_RDONLY);
	EXPECT(fd >= 0, "cannot open");

	EXPECT(!psi_read_fd(fd, PSI_CPU, &first), "first read");
	sleep_ms(50);
	EXPECT(!psi_read_fd(fd, PSI_CPU, &again), "second read");
	EXPECT(again.some.total > first.some.total, "nothing new from pread");

	EXPECT(read(fd, text, sizeof(text)) > 0, "read");
	EXPECT(read(fd, text, sizeof(text)) == 0, "no end of file");
	sleep_ms(50);
	EXPECT(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	length = read(fd, text, sizeof(text));
	EXPECT(length > 0, "read after lseek");
	EXPECT(!psi_parse(PSI_CPU, text, length, &seek), "text after lseek");
	EXPECT(seek.some.total > again.some.total, "nothing new after lseek");
	close(fd);
	return PSI_PASS;
}

/*
 * A text and parts of it are read at different times. Nobody waits for io, so the totals
 * stand still, but an average may fall meanwhile, every 2 s.
 */
static bool has_changed(int fd, const char *text, ssize_t length)
{
	static unsigned int changes;
	char again[TEXT_SIZE];

	EXPECT(length > 0, "cannot read");
	if (pread(fd, again, sizeof(again), 0) == length && !memcmp(text, again, length))
		return false;
	EXPECT(++changes < 50, "it never stands still");
	return true;
}

static int open_io(void)
{
	int fd = open(psi_path(PSI_IO), O_RDONLY);

	EXPECT(fd >= 0, "cannot open");
	return fd;
}

static enum psi_result pread_at_offset(void)
{
	char text[TEXT_SIZE], part[TEXT_SIZE];
	ssize_t length, offset = 0, n;
	int fd = open_io();

	do {
		length = pread(fd, text, sizeof(text), 0);
		n = pread(fd, part, sizeof(part), offset);
		if (has_changed(fd, text, length))
			continue;
		EXPECT(n == length - offset, "%zd bytes at offset %zd", n,
		       offset);
		EXPECT(!memcmp(part, text + offset, n),
		       "another text at offset %zd", offset);
		offset++;
	} while (offset <= length);
	close(fd);
	return PSI_PASS;
}

/* In pieces, while the numbers move: still one text of one moment. */
static enum psi_result bytewise(void)
{
	struct psi_sample whole, sample;
	char text[TEXT_SIZE];
	size_t length = 0;
	const char *wrong;
	int fd;

	start_load(0, spin, NULL);
	start_load(0, spin, NULL);
	sleep_ms(100);
	EXPECT(!psi_read(PSI_CPU, &whole), "cannot read");
	fd = open(psi_path(PSI_CPU), O_RDONLY);
	EXPECT(fd >= 0, "cannot open");
	while (length < sizeof(text) && read(fd, text + length, 1) == 1) {
		length++;
		sleep_ms(1);
	}
	close(fd);

	wrong = psi_parse(PSI_CPU, text, length, &sample);
	EXPECT(!wrong, "%s", wrong);
	/* The text is of the first byte's moment, not of the last one's. */
	EXPECT(sample.some.total - whole.some.total < 60000,
	       "the text was made anew on the way");
	return PSI_PASS;
}

static enum psi_result seeking(void)
{
	char text[TEXT_SIZE], part[TEXT_SIZE], rest[TEXT_SIZE];
	ssize_t length, n, left;
	int fd = open_io();

	do {
		length = pread(fd, text, sizeof(text), 0);
		EXPECT(lseek(fd, 7, SEEK_SET) == 7, "SEEK_SET");
		n = read(fd, part, 5);
		EXPECT(lseek(fd, 3, SEEK_CUR) == 15, "SEEK_CUR");
		left = read(fd, rest, sizeof(rest));
	} while (has_changed(fd, text, length));
	EXPECT(n == 5 && !memcmp(part, text + 7, 5), "text after SEEK_SET");
	EXPECT(left == length - 15 && !memcmp(rest, text + 15, left),
	       "text after SEEK_CUR");
	EXPECT(lseek(fd, -1, SEEK_SET) < 0 && errno == EINVAL,
	       "a negative offset");
	close(fd);
	return PSI_PASS;
}

static enum psi_result many_opens(void)
{
	struct psi_sample sample;
	int fds[200];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = open(psi_path(i % 2 ? PSI_IO : PSI_MEMORY), O_RDONLY);
		EXPECT(fds[i] >= 0, "open number %zu", i);
	}
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		EXPECT(!psi_read_fd(fds[i], i % 2 ? PSI_IO : PSI_MEMORY,
				    &sample), "read number %zu", i);
		close(fds[i]);
	}
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-11 every file has its lines and nothing else", grammar },
	{ "R-11 the parser used here refuses other texts", grammar_is_strict },
	{ "R-11 the full line of cpu stays 0 under load", cpu_full_is_zero },
	{ "R-11 the directory has these four files and nothing else", directory },
	{ "R-11 an ordinary user may read", unprivileged },
	{ "R-11 reading from offset 0 is a new sample", new_sample_from_start },
	{ "R-11 pread at any offset continues the text", pread_at_offset },
	{ "R-11 read byte by byte it is one text", bytewise },
	{ "R-11 lseek moves within the text", seeking },
	{ "R-11 many open files", many_opens },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
