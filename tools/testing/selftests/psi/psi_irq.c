// SPDX-License-Identifier: GPL-2.0
/*
 * IRQ pressure: time that interrupts take from a task. It needs a clock that is
 * fast enough to be read at every interrupt; without it nothing is known, and
 * there is no file (D-9).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

static bool have_clock(void)
{
	return !booted_with("tsc=noirqtime");
}

static enum psi_result not_without_clock(void)
{
	struct psi_sample sample;
	enum psi_resource res;

	REQUIRE(!have_clock(), "there is a clock (boot with tsc=noirqtime)");
	EXPECT(access(psi_path(PSI_IRQ), F_OK) && errno == ENOENT, "%s is there",
	       psi_path(PSI_IRQ));
	for (res = PSI_CPU; res <= PSI_IO; res++)
		EXPECT(!psi_read(res, &sample), "%s cannot be read",
		       psi_path(res));
	return PSI_PASS;
}

/* Nor does a cgroup have one, that of the root included. */
static enum psi_result no_group_without_clock(void)
{
	const char *group;
	char path[GROUP_PATH];

	REQUIRE(!have_clock(), "there is a clock (boot with tsc=noirqtime)");
	group = make_group(NULL, "g");
	EXPECT(access(CGROUP_ROOT "/irq.pressure", F_OK), "the root has irq.pressure");
	EXPECT(access(group_file(path, group, "irq.pressure"), F_OK), "%s is there", path);
	EXPECT(!access(group_file(path, group, "cpu.pressure"), R_OK), "no %s", path);
	EXPECT(!set_pressure(group, false) && !set_pressure(group, true), "it cannot be switched");
	EXPECT(access(group_file(path, group, "irq.pressure"), F_OK), "%s is there", path);
	EXPECT(!access(group_file(path, group, "cpu.pressure"), R_OK), "no %s", path);
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

static bool interrupt_every(unsigned int us)
{
	struct itimerval timer = {
		.it_interval.tv_usec = us,
		.it_value.tv_usec = us,
	};

	signal(SIGALRM, do_nothing);
	return !setitimer(ITIMER_REAL, &timer, NULL);
}

/* As many interrupts as there is time for, so that they take far more than that. */
static void spin_amid_interrupts(void *unused)
{
	if (interrupt_every(100))
		spin(NULL);
}

/* What interrupts take, in ms: of any task, by the pressure, and of the CPU, by /proc/stat. */
static long long watch_irq(void (*load)(void *), struct psi_line *full, long long *stat)
{
	struct psi_sample from, to;

	REQUIRE(have_clock(), "there is no clock");
	start_load(0, load, NULL);
	sleep_ms(100);

	*stat = irq_ms();
	EXPECT(*stat >= 0, "cannot read /proc/stat");
	EXPECT(!psi_read(PSI_IRQ, &from), "cannot read");
	sleep_ms(12000);
	EXPECT(!psi_read(PSI_IRQ, &to), "cannot read");
	*stat = irq_ms() - *stat;
	*full = to.full;
	psi_note("irq: %lld ms, in /proc/stat %lld ms",
		 (to.full.total - from.full.total) / 1000, *stat);
	EXPECT(*stat > 10 * STAT_MS, "too few interrupts to tell");
	return (to.full.total - from.full.total) / 1000;
}

static enum psi_result grows_with_interrupts(void)
{
	long long stat, pressure;
	struct psi_line full;

	pressure = watch_irq(spin_amid_interrupts, &full, &stat);
	EXPECT(llabs(pressure - stat) <= STAT_MS, "they differ");
	EXPECT(full.avg[AVG10], "nothing of it is in avg10");
	return PSI_PASS;
}

static void sleep_amid_interrupts(void *unused)
{
	while (interrupt_every(200))
		pause();
}

/* Also of the interrupt that wakes a task up: it has not run yet. */
static enum psi_result idle_cpu(void)
{
	long long stat, pressure;
	struct psi_line full;

	pressure = watch_irq(sleep_amid_interrupts, &full, &stat);
	EXPECT(pressure <= stat / 4, "it is no task's time");
	return PSI_PASS;
}

static const struct psi_case cases[] = {
	{ "R-3 irq: as much as interrupts take from a busy task",
	  grows_with_interrupts },
	{ "R-3 irq: an interrupt of an idle CPU is nobody's", idle_cpu },
	{ "D-9 R-11 without an irq clock there is no irq, and all others",
	  not_without_clock },
	{ "R-11 R-14 nor is there irq.pressure then", no_group_without_clock },
};

int main(int argc, char **argv)
{
	return psi_main(argc, argv, cases, ARRAY_SIZE(cases));
}
