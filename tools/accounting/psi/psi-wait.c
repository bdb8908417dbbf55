// SPDX-License-Identifier: GPL-2.0
/*
 * psi-wait - wait until pressure reaches a threshold
 *
 * The kernel does the watching: psi-wait sets a trigger and sleeps until there is an event.
 * It only wakes up once per window to read the total, to be able to print what was measured.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "pressure.h"
#include "source.h"
#include "units.h"

/* The same as those of timeout(1), where timeout(1) has one. */
enum {
	EXIT_GONE	= 120,
	EXIT_PERMISSION	= 121,
	EXIT_NOT_HERE	= 122,
	EXIT_TIMEOUT	= 124,
	EXIT_USAGE	= 125,
	EXIT_CANNOT_RUN	= 126,
	EXIT_NO_COMMAND	= 127,
};

static const char usage[] =
"usage: psi-wait [option]... RESOURCE some|full THRESHOLD WINDOW [-- COMMAND...]\n"
"\n"
"Wait until tasks were stalled for at least THRESHOLD within WINDOW for lack of\n"
"RESOURCE: cpu, memory, io or irq. Then print what was measured, and run COMMAND.\n"
"Times need a unit: 150ms, 1s. THRESHOLD may be a percentage of WINDOW: 15%.\n"
"\n"
"  -g, --cgroup PATH      watch this cgroup instead of the system\n"
"  -t, --timeout TIME     give up after this time\n"
"  -r, --repeat           go on after the first event\n"
"  -q, --quiet            print nothing\n"
"      --pressure-dir DIR use DIR instead of /proc/pressure\n"
"      --cgroup-dir DIR   use DIR instead of the mount point of cgroup2\n"
"  -h, --help             print this summary\n"
"\n"
"WINDOW is 500ms to 10s, or 10ms to 10s with CAP_SYS_RESOURCE. Kernels without\n"
"/sys/module/psi take only 2s, 4s, 6s, 8s or 10s without CAP_SYS_RESOURCE.\n"
"\n"
"Exit status: 0 the threshold was reached (with COMMAND, its status);\n"
"120 the cgroup is gone; 121 no permission; 122 not measured here; 124 timeout;\n"
"125 wrong usage or another error; 126 COMMAND cannot be run; 127 not found.\n"
"\n"
"  psi-wait memory some 150ms 1s && echo short of memory\n"
"  psi-wait --repeat -g /build cpu full 50% 2s -- logger builds have to wait\n";

enum {
	PRESSURE_DIR = 256,
	CGROUP_DIR,
};

static const struct option long_options[] = {
	{ "cgroup",		required_argument,	NULL, 'g' },
	{ "timeout",		required_argument,	NULL, 't' },
	{ "repeat",		no_argument,		NULL, 'r' },
	{ "quiet",		no_argument,		NULL, 'q' },
	{ "pressure-dir",	required_argument,	NULL, PRESSURE_DIR },
	{ "cgroup-dir",		required_argument,	NULL, CGROUP_DIR },
	{ "help",		no_argument,		NULL, 'h' },
	{ }
};

/* What to wait for, and what to do then. */
struct wish {
	enum resource	resource;
	enum line	line;
	uint64_t	threshold_us;
	uint64_t	window_us;
	const char	*cgroup;
	const char	*pressure_dir;
	const char	*cgroup_dir;
	double		timeout_s;	/* INFINITY: none */
	bool		repeat;
	bool		quiet;
	char		**command;	/* NULL: none */
};

/* One reading of the pressure. */
struct sample {
	double		at_s;
	struct stall	stall;
};

static uint64_t time_of(const char *what, const char *text)
{
	uint64_t us;

	if (!time_parse(text, &us))
		errx(EXIT_USAGE, "%s %s: not a time with a unit, such as 150ms or 2s",
		     what, text);
	return us;
}

static void set_option(struct wish *wish, int option)
{
	switch (option) {
	case 'g':
		wish->cgroup = optarg;
		break;
	case 't':
		wish->timeout_s = (double)time_of("--timeout", optarg) / US_PER_S;
		break;
	case 'r':
		wish->repeat = true;
		break;
	case 'q':
		wish->quiet = true;
		break;
	case PRESSURE_DIR:
		wish->pressure_dir = optarg;
		break;
	case CGROUP_DIR:
		wish->cgroup_dir = optarg;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		exit(EXIT_USAGE);
	}
}

static uint64_t threshold_of(const char *text, uint64_t window_us)
{
	double percent;
	char *end;

	if (!strchr(text, '%'))
		return time_of("THRESHOLD", text);
	percent = strtod(text, &end);
	if (strcmp(end, "%") || !(percent > 0 && percent <= 100))
		errx(EXIT_USAGE, "THRESHOLD %s: must be more than 0%% and at most 100%%", text);
	return percent / 100 * window_us + 0.5;
}

/* Reject what no kernel accepts or serves, and what would never have an event. */
static void check(const struct wish *wish)
{
	if (wish->window_us < 10 * US_PER_MS || wish->window_us > 10 * US_PER_S)
		errx(EXIT_USAGE, "WINDOW: must be 10ms to 10s");
	if (!wish->threshold_us || wish->threshold_us > wish->window_us)
		errx(EXIT_USAGE, "THRESHOLD: must be more than 0 and at most WINDOW");
	if (wish->resource == IRQ && wish->line == SOME)
		errx(EXIT_USAGE, "irq has only full");
	if (wish->resource == CPU && wish->line == FULL && !wish->cgroup)
		errx(EXIT_USAGE, "cpu full of the system is always 0: use some, or --cgroup");
}

/* Cut off the command after "--". Return: the command; NULL if there is none. */
static char **cut_command(int *argc, char **argv)
{
	int i;

	for (i = 1; i < *argc && strcmp(argv[i], "--"); i++)
		;
	if (i == *argc)
		return NULL;
	if (i == *argc - 1)
		errx(EXIT_USAGE, "there is no COMMAND after --");
	*argc = i;
	argv[i] = NULL;
	return argv + i + 1;
}

static void parse(struct wish *wish, int argc, char **argv)
{
	int option;

	wish->timeout_s = INFINITY;
	wish->command = cut_command(&argc, argv);
	while ((option = getopt_long(argc, argv, "g:t:rqh", long_options, NULL)) >= 0)
		set_option(wish, option);
	argv += optind;
	if (argc - optind != 4)
		errx(EXIT_USAGE, "RESOURCE some|full THRESHOLD WINDOW are needed: see --help");
	wish->resource = argument_choice(EXIT_USAGE, "resource", argv[0], resource_names,
					 NR_RESOURCES);
	wish->line = argument_choice(EXIT_USAGE, "line", argv[1], line_names, NR_LINES);
	wish->window_us = time_of("WINDOW", argv[3]);
	wish->threshold_us = threshold_of(argv[2], wish->window_us);
	check(wish);
}

static int open_of_system(const struct wish *wish, const struct source *source)
{
	char reason[256];
	int fd;

	if (source_system_error(source, reason, sizeof(reason)))
		errx(source->system_error == EACCES ? EXIT_PERMISSION : EXIT_NOT_HERE, "%s",
		     reason);
	fd = open_below(source->system_fd, "", resource_names[wish->resource], O_RDWR);
	if (fd < 0 && errno == ENOENT)
		errx(EXIT_NOT_HERE, "%s/%s: not measured by this kernel", source->system_dir,
		     resource_names[wish->resource]);
	return fd;
}

static int open_of_cgroup(const struct wish *wish, const struct source *source)
{
	char *dir, file[32];
	int fd;

	if (source->cgroup_fd < 0)
		errx(EXIT_NOT_HERE, "no cgroup2 is mounted: mount -t cgroup2 none /sys/fs/cgroup");
	dir = source_cgroup(source, wish->cgroup);
	if (!dir)
		err(errno == EACCES ? EXIT_PERMISSION : EXIT_NOT_HERE,
		    "%s: no such cgroup below %s", wish->cgroup, source->cgroup_dir);
	snprintf(file, sizeof(file), "%s.pressure", resource_names[wish->resource]);
	fd = open_below(source->cgroup_fd, dir, file, O_RDWR);
	if (fd < 0 && errno == ENOENT && wish->resource == IRQ &&
	    source_has_pressure(source, dir))
		errx(EXIT_NOT_HERE, "%s: %s is not measured by this kernel", wish->cgroup,
		     resource_names[wish->resource]);
	if (fd < 0 && errno == ENOENT)
		errx(EXIT_NOT_HERE, "%s: no %s: write 1 to its cgroup.pressure, or boot with psi=1",
		     wish->cgroup, file);
	free(dir);
	return fd;
}

/* Open the file to which the trigger is written. */
static int open_file(const struct wish *wish)
{
	struct source source;
	int fd;

	source_open(&source, wish->pressure_dir, wish->cgroup_dir);
	fd = wish->cgroup ? open_of_cgroup(wish, &source) : open_of_system(wish, &source);
	if (fd >= 0)
		return fd;
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		err(EXIT_PERMISSION,
		    "a trigger needs write access to the %s pressure of %s: run as root",
		    resource_names[wish->resource], wish->cgroup ?: "the system");
	err(EXIT_USAGE, "cannot open the pressure of %s", wish->cgroup ?: "the system");
}

/* Say why the kernel has rejected the trigger, and exit. */
static void refused(const struct wish *wish)
{
	char window[32];

	switch (errno) {
	case EINVAL:
		if (!(wish->window_us % (2 * US_PER_S)))
			break;
		errx(EXIT_PERMISSION,
		     "a window of %s needs CAP_SYS_RESOURCE: run as root, or use 500ms to 10s; some kernels take only 2s, 4s, 6s, 8s or 10s",
		     time_text(wish->window_us, window, sizeof(window)));
	case EIO:
		errx(EXIT_NOT_HERE, "this kernel has no triggers: Linux 5.2 or newer is needed");
	case EPERM:
	case EACCES:
		err(EXIT_PERMISSION, "on this kernel, a trigger needs root or CAP_SYS_RESOURCE");
	case EOPNOTSUPP:
		errx(EXIT_NOT_HERE, "%s is not measured on this machine",
		     resource_names[wish->resource]);
	case ENODEV:
		errx(EXIT_GONE, "the cgroup is gone, or accounting was switched off");
	}
	err(EXIT_USAGE, "the kernel rejects the trigger");
}

static void set_trigger(const struct wish *wish, int fd)
{
	char text[64];
	int len;

	len = snprintf(text, sizeof(text), "%s %llu %llu", line_names[wish->line],
		       (unsigned long long)wish->threshold_us,
		       (unsigned long long)wish->window_us);
	/* Include the NUL, which the kernel counts as well. */
	if (write(fd, text, len + 1) < 0)
		refused(wish);
}

static bool take(const struct wish *wish, int fd, struct sample *sample)
{
	struct pressure pressure;
	char text[TEXT_SIZE];

	sample->at_s = now_s();
	if (!read_whole(fd, text) || !pressure_parse(text, &pressure))
		return false;
	sample->stall = pressure.line[wish->line];
	return true;
}

/* For a missing line, the kernel would only say EINVAL: say more. */
static void check_line(const struct wish *wish, int fd)
{
	struct sample now;

	if (!take(wish, fd, &now))
		err(errno == ENODEV ? EXIT_GONE : EXIT_NOT_HERE, "cannot read the pressure");
	if (!now.stall.present)
		errx(EXIT_NOT_HERE, "%s %s is not measured by this kernel",
		     resource_names[wish->resource], line_names[wish->line]);
}

/* Print the growth since an older reading. */
static void print_measured(const struct wish *wish, int fd, const struct sample *from)
{
	char held_up[32], span[32], threshold[32], window[32];
	struct sample now;

	if (wish->quiet || !take(wish, fd, &now))
		return;
	printf("%s %s: %s held up in the last %s, avg10=%.2f (threshold %s in %s)\n",
	       resource_names[wish->resource], line_names[wish->line],
	       time_text(now.stall.total_us - from->stall.total_us, held_up, sizeof(held_up)),
	       time_text((now.at_s - from->at_s) * US_PER_S, span, sizeof(span)),
	       now.stall.avg_pct[AVG10],
	       time_text(wish->threshold_us, threshold, sizeof(threshold)),
	       time_text(wish->window_us, window, sizeof(window)));
	fflush(stdout);
}

/* Run the command. Return: its exit status, as a shell reports it. */
static int run_command(char **command)
{
	pid_t child = fork(), ended;
	int status;

	if (child < 0)
		err(EXIT_USAGE, "cannot run %s", command[0]);
	if (!child) {
		execvp(command[0], command);
		warn("%s", command[0]);
		_exit(errno == ENOENT ? EXIT_NO_COMMAND : EXIT_CANNOT_RUN);
	}
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended < 0)
		err(EXIT_USAGE, "cannot wait for %s", command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Wait for an event until @until_s, or less: an hour at most, or until a signal. */
static bool wait_for_event(int fd, double until_s)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLPRI };
	double left_s = until_s - now_s();
	int ready;

	left_s = left_s < 0 ? 0 : left_s < 3600 ? left_s : 3600;
	ready = poll(&poll_fd, 1, ceil(left_s * 1000));
	if (ready < 0 && errno != EINTR)
		err(EXIT_USAGE, "cannot wait");
	if (ready > 0 && poll_fd.revents & (POLLERR | POLLNVAL | POLLHUP))
		errx(EXIT_GONE, "the cgroup is gone, or accounting was switched off");
	return ready > 0;
}

static int wait_for_pressure(const struct wish *wish, int fd)
{
	double window_s = (double)wish->window_us / US_PER_S, end_s = now_s() + wish->timeout_s;
	/* The reading before the last one: at least a window old, once a window has passed. */
	struct sample last, before;
	int status = EXIT_TIMEOUT;
	double until_s;

	if (!take(wish, fd, &last))
		err(EXIT_NOT_HERE, "cannot read the pressure");
	before = last;
	while (now_s() < end_s) {
		until_s = wish->quiet ? INFINITY : last.at_s + window_s;
		if (wait_for_event(fd, fmin(until_s, end_s))) {
			print_measured(wish, fd, &before);
			status = wish->command ? run_command(wish->command) : 0;
			if (!wish->repeat)
				return status;
		}
		if (now_s() >= last.at_s + window_s) {
			before = last;
			take(wish, fd, &last);
		}
	}
	return status;
}

int main(int argc, char **argv)
{
	struct wish wish = { };
	int fd;

	/* A parent that ignores SIGCHLD passes that on, and waitpid() would fail. */
	signal(SIGCHLD, SIG_DFL);
	parse(&wish, argc, argv);
	fd = open_file(&wish);
	check_line(&wish, fd);
	set_trigger(&wish, fd);
	return wait_for_pressure(&wish, fd);
}
