// SPDX-License-Identifier: GPL-2.0
/*
 * IRQ pressure: time that interrupts take from a task. It needs a clock that is
 * fast enough to be read at every interrupt; without it nothing is known, and
 * the file says so (D-9).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "psi_util.h"

static bool have_clock(void)
{
	return !booted_with("tsc=noirqtime");
}

static enum psi_result not_without_clock(void)
{
	struct psi_sample sample;
	enum psi_resource res;
	int ret;

	REQUIRE(!have_clock(), "there is a clock (boot with tsc=noirqtime)");
	ret = psi_read(PSI_IRQ, &sample);
	EXPECT(ret == -EOPNOTSUPP, "irq: %s", ret ? strerror(-ret) : "a text");
	for (res = PSI_CPU; res <= PSI_IO; res++)
		EXPECT(!psi_read(res, &sample), "%s cannot be read",
		       psi_path(res));
	return PSI_PASS;
}

/* The same, on a file that is kept open: the answer stays. */
static enum psi_result not_without_clock_later(void)
{
	struct psi_sample sample;
	int fd, i;

	REQUIRE(!have_clock(), "there is a clock (boot with tsc=noirqtime)");
	fd = open(psi_path(PSI_IRQ), O_RDONLY);
	if (fd < 0) {
		EXPECT(errno == EOPNOTSUPP, "open: %s", strerror(errno));
		return PSI_PASS;
	}
	start_load(0, spin, NULL);
	for (i = 0; i < 3; i++) {
		EXPECT(psi_read_fd(fd, PSI_IRQ, &sample) == -EOPNOTSUPP,
		       "read number %d", i);
		sleep_ms(1000);
	}
	close(fd);
	return PSI_PASS;
}

/* What the kernel's CPU accounting says: hard and soft interrupts of CPU 0. */
static long long irq_ms(void)
{
	unsigned long long hard, soft;
	static char text[65536];
	char *line;

	if (read_text("/proc/stat", text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, "\ncpu0 ");
	if (!line || sscanf(line, "\ncpu0 %*u %*u %*u %*u %*u %llu %llu",
			    &hard, &soft) != 2)
		return -1;
	return (hard + soft) * 1000 / sysconf(_SC_CLK_TCK);
}

/*
 * Two views of the same clock: each column of /proc/stat comes in units of
 * 10 ms, two columns at two ends; and pressure hears of it once in a tick.
 */
#define STAT_MS		50

static void do_nothing(int signal)
{
}

/* As many interrupts as there is time for, so that they take far more than that. */
static void spin_amid_interrupts(void *unused)
{
	struct itimerval us = {
		.it_interval.tv_usec = 100,
		.it_value.tv_usec = 100,
	};

	signal(SIGALRM, do_nothing);
	if (!setitimer(ITIMER_REAL, &us, NULL))
		spin(NULL);
}

static enum psi_result grows_with_interrupts(void)
{
	struct psi_sample from, to;
	long long stat, pressure;

	REQUIRE(have_clock(), "there is no clock");
	start_load(0, spin_amid_interrupts, NULL);
	sleep_ms(100);

	stat = irq_ms();
	EXPECT(stat >= 0, "cannot read /proc/stat");
	EXPECT(!psi_read(PSI_IRQ, &from), "cannot read");
	sleep_ms(12000);
	EXPECT(!psi_read(PSI_IRQ, &to), "cannot read");
	stat = irq_ms() - stat;
	pressure = (to.full.total - from.full.total) / 1000;

	psi_note("irq: %lld ms, in /proc/stat %lld ms", pressure, stat);
	EXPECT(stat > 10 * STAT_MS, "too few interrupts to tell");
	EXPECT(llabs(pressure - stat) <= STAT_MS, "they differ");
	EXPECT(to.full.avg[AVG10], "nothing of it is in avg10");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-3 irq: as much as interrupts take from a busy task",
	  grows_with_interrupts },
	{ "D-9 without an irq clock irq reads EOPNOTSUPP, the others do not",
	  not_without_clock },
	{ "D-9 without an irq clock that stays so", not_without_clock_later },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
