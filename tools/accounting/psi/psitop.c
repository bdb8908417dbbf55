// SPDX-License-Identifier: GPL-2.0
/*
 * psitop - show which cgroups are stalled for lack of CPU, memory or I/O, and why
 */
#include <err.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "record.h"
#include "tasks.h"
#include "units.h"

static const char usage[] =
"usage: psitop [option]...\n"
"\n"
"Show which cgroups are stalled for lack of CPU, memory or I/O, those with the\n"
"most pressure first, and why. On the screen, h shows the keys.\n"
"\n"
"  -d, --delay TIME       time between two rounds, at least 20ms (default: 1s)\n"
"  -g, --cgroup PATH      show only this cgroup and its descendants\n"
"  -r, --resource NAME    show only cpu, memory, io or irq\n"
"  -s, --sort KEY         sort by now, avg10, total or name\n"
"  -l, --flat             show all groups in one list instead of the tree\n"
"  -f, --filter TEXT      show only groups with TEXT in their path\n"
"  -b, --batch            print text instead of showing a screen\n"
"  -j, --json             print JSON, one object per group and line\n"
"      --openmetrics      print one round as metrics for Prometheus\n"
"      --output FILE      with --openmetrics: replace FILE instead of printing\n"
"  -1, --once             print one round and exit\n"
"  -n, --count N          exit after N rounds\n"
"      --rows N           print at most N groups per round\n"
"      --no-causes        do not print the causes of the pressure\n"
"      --tasks            show which tasks of the groups are delayed\n"
"      --no-color         use bold instead of colours, as with NO_COLOR set\n"
"      --ascii            use only ASCII characters\n"
"      --pressure-dir DIR use DIR instead of /proc/pressure\n"
"      --cgroup-dir DIR   use DIR instead of the mount point of cgroup2\n"
"      --proc-dir DIR     use DIR instead of /proc for tasks\n"
"      --record FILE      append each round to FILE\n"
"      --keep TIME        keep at least that much in FILE and FILE.old, as in 7d\n"
"  -q, --quiet            with --record: show nothing\n"
"      --replay FILE      show what was recorded in FILE\n"
"      --at TIME          with --replay: begin at TIME, as in 03:15, or\n"
"                         \"2026-11-28 03:15\"\n"
"  -h, --help             print this summary\n"
"\n"
"Times need a unit, as in 100ms or 2s. Numbers are percent of the time: \"now\"\n"
"is the share since the previous round, avg10 the kernel's average over 10 s.\n"
"Exit status: 0; 1 if there is no pressure to show, or the cgroup is gone; 2 for\n"
"wrong usage.\n";

enum {
	ROWS = OWN_OPTIONS,
	NO_CAUSES,
	PRESSURE_DIR,
	CGROUP_DIR,
	PROC_DIR,
	TASKS_OPTION,
	OPENMETRICS,
	OUTPUT,
	RECORD,
	KEEP,
	REPLAY,
	AT,
};

static const struct option own_options[] = {
	{ "cgroup",		required_argument,	NULL, 'g' },
	{ "resource",		required_argument,	NULL, 'r' },
	{ "sort",		required_argument,	NULL, 's' },
	{ "flat",		no_argument,		NULL, 'l' },
	{ "filter",		required_argument,	NULL, 'f' },
	{ "rows",		required_argument,	NULL, ROWS },
	{ "tasks",		no_argument,		NULL, TASKS_OPTION },
	{ "no-causes",		no_argument,		NULL, NO_CAUSES },
	{ "pressure-dir",	required_argument,	NULL, PRESSURE_DIR },
	{ "cgroup-dir",		required_argument,	NULL, CGROUP_DIR },
	{ "proc-dir",		required_argument,	NULL, PROC_DIR },
	{ "openmetrics",	no_argument,		NULL, OPENMETRICS },
	{ "output",		required_argument,	NULL, OUTPUT },
	{ "record",		required_argument,	NULL, RECORD },
	{ "keep",		required_argument,	NULL, KEEP },
	{ "quiet",		no_argument,		NULL, 'q' },
	{ "replay",		required_argument,	NULL, REPLAY },
	{ "at",			required_argument,	NULL, AT },
	{ }
};

struct arguments {
	const char		*cgroup;
	const char		*pressure_dir;
	const char		*cgroup_dir;
	const char		*proc_dir;
	const char		*output;
	bool			openmetrics;
	const char		*record;
	double			keep_s;		/* 0: all */
	bool			quiet;
	const char		*replay;
	const char		*at;
	struct options		options;
};

static void set_filter(struct view *view, const char *text)
{
	if (strlen(text) >= FILTER_SIZE)
		errx(WRONG_USAGE, "--filter: longer than %d characters", FILTER_SIZE - 1);
	memcpy(view->filter, text, strlen(text) + 1);
}

/* Return: false if the option is not about records. */
static bool set_record_option(struct arguments *arguments, int option)
{
	switch (option) {
	case RECORD:
		arguments->record = optarg;
		return true;
	case KEEP:
		arguments->keep_s = argument_time_s("keep", optarg, 1);
		return true;
	case 'q':
		arguments->quiet = true;
		return true;
	case REPLAY:
		arguments->replay = optarg;
		return true;
	case AT:
		arguments->at = optarg;
		return true;
	}
	return false;
}

static void set_option(struct arguments *arguments, int option)
{
	struct options *options = &arguments->options;
	struct view *view = &options->view;

	switch (option) {
	case 'g':
		arguments->cgroup = optarg;
		break;
	case 'r':
		view->resource = argument_choice(WRONG_USAGE, "resource", optarg,
						 resource_names, NR_RESOURCES);
		break;
	case 's':
		view->sort = argument_choice(WRONG_USAGE, "sort key", optarg, sort_names,
					     NR_SORTS);
		break;
	case 'l':
		view->flat = true;
		break;
	case 'f':
		set_filter(view, optarg);
		break;
	case ROWS:
		options->rows = argument_number("rows", optarg);
		break;
	case NO_CAUSES:
		options->causes = false;
		break;
	case PRESSURE_DIR:
		arguments->pressure_dir = optarg;
		break;
	case CGROUP_DIR:
		arguments->cgroup_dir = optarg;
		break;
	case PROC_DIR:
		arguments->proc_dir = optarg;
		break;
	case OPENMETRICS:
		arguments->openmetrics = true;
		break;
	case OUTPUT:
		arguments->output = optarg;
		break;
	case TASKS_OPTION:
		options->tasks = true;
		break;
	default:
		if (!set_record_option(arguments, option))
			watch_option(&options->watch, option, usage);
	}
}

/* Metrics are those of one round, unless the user says how many, or how often. */
static void check(struct arguments *arguments)
{
	struct watch_options *watch = &arguments->options.watch;

	if (arguments->output && !arguments->openmetrics)
		errx(WRONG_USAGE, "--output: only with --openmetrics");
	if (arguments->openmetrics && (watch->json || arguments->options.tasks))
		errx(WRONG_USAGE, "--openmetrics: not with --json or --tasks");
	if (arguments->replay &&
	    (arguments->record || arguments->openmetrics || arguments->options.tasks))
		errx(WRONG_USAGE, "--replay: not with --record, --openmetrics or --tasks");
	if (arguments->keep_s && !arguments->record)
		errx(WRONG_USAGE, "--keep: only with --record");
	if (arguments->quiet && !arguments->record)
		errx(WRONG_USAGE, "--quiet: only with --record");
	if (arguments->at && !arguments->replay)
		errx(WRONG_USAGE, "--at: only with --replay");
	if (arguments->openmetrics && !watch->delay_s && !watch->count)
		watch->count = 1;
	watch->delay_s = watch->delay_s ?: 1;
}

static void parse(struct arguments *arguments, int argc, char **argv)
{
	int option;

	watch_defaults(&arguments->options.watch);
	arguments->options.watch.delay_s = 0;		/* not given */
	arguments->options.causes = true;
	arguments->options.view.resource = ALL;
	while ((option = watch_getopt(argc, argv, "g:r:s:lf:q", own_options)) >= 0)
		set_option(arguments, option);
	check(arguments);
}

/* Return: the top of the groups to show, which the caller frees; NULL for all groups. */
static char *find_top(const struct source *source, const char *cgroup)
{
	char *top, reason[256] = "";
	const char *wrong = source_system_error(source, reason, sizeof(reason));

	if (!cgroup && !wrong)
		return NULL;
	if (source->cgroup_fd < 0 && cgroup)
		errx(1, "no cgroup2 is mounted: mount -t cgroup2 none /sys/fs/cgroup");
	top = source_cgroup(source, cgroup ?: "/");
	if (cgroup && !top)
		err(1, "%s: no such cgroup below %s", cgroup, source->cgroup_dir);
	/* A container may see its own pressure, but not that of the system. */
	if (wrong && (!top || !source_has_pressure(source, top)))
		errx(1, "%s", reason);
	return top;
}

static void note(const char *text)
{
	if (text)
		warnx("%s", text);
}

/* For their delays to be known in the next round. */
static void read_tasks(struct tree *tree, struct options *options)
{
	int i, nr = view_rows(&options->view, tree, options->rows);

	for (i = 0; i < nr; i++)
		group_tasks(tree, options->view.row[i].group);
	note(tasks_note(tree));
}

static void look(struct tree *tree, const struct options *options)
{
	tree_sample(tree);
	if (!record_round(options->recorder))
		err(1, "cannot record");
}

static void next_round(struct tree *tree, const struct options *options)
{
	wait_until(tree->round_s + options->watch.delay_s);
	if (!tree_update(tree))
		errx(1, "%s: the cgroup is gone", tree->root->dir);
	look(tree, options);
}

static void print_round(struct tree *tree, struct arguments *arguments)
{
	struct options *options = &arguments->options;

	if (arguments->quiet)
		return;
	if (arguments->output)
		openmetrics_write(tree, options, arguments->output);
	else if (arguments->openmetrics)
		openmetrics_round(tree, options, stdout);
	else if (options->watch.json)
		json_round(tree, options);
	else
		text_round(tree, options);
	if (fflush(stdout))
		err(1, "cannot write");
}

/* Without --at, begin at the first round. */
static void begin_replay(struct tree *tree, struct arguments *arguments)
{
	char *top = NULL;
	struct replay *replay;
	double date_s = 0;

	if (arguments->cgroup)
		top = cgroup_below(arguments->cgroup_dir ?: "/sys/fs/cgroup", arguments->cgroup);
	replay = replay_begin(tree, arguments->replay, top);
	if (arguments->at && !replay_date(replay, arguments->at, &date_s))
		errx(WRONG_USAGE, "--at %s: must be a time, as in 03:15 or \"2026-11-28 03:15\"",
		     arguments->at);
	if (!replay_go(replay, date_s, false))
		errx(WRONG_USAGE, "%s: no round with that group at that time or after it",
		     arguments->replay);
	arguments->options.replay = replay;
}

static void print_replay(struct tree *tree, struct arguments *arguments)
{
	const struct options *options = &arguments->options;
	unsigned long printed = 0;

	do
		print_round(tree, arguments);
	while (++printed != options->watch.count && replay_move(options->replay, 1));
}

/* Read one round more than is printed: "now" needs a previous one, metrics do not. */
static void print_rounds(struct tree *tree, struct arguments *arguments)
{
	struct options *options = &arguments->options;
	unsigned long printed, count = options->watch.count;

	look(tree, options);
	if (options->causes && !arguments->openmetrics)
		tree_read_causes(tree);
	if (options->tasks)
		read_tasks(tree, options);
	for (printed = 0; !count || printed < count; printed++) {
		if (printed || !arguments->openmetrics)
			next_round(tree, options);
		print_round(tree, arguments);
	}
}

static void begin_live(struct tree *tree, struct source *source, struct arguments *arguments)
{
	struct options *options = &arguments->options;

	source_open(source, arguments->pressure_dir, arguments->cgroup_dir);
	source->proc_dir = arguments->proc_dir ?: "/proc";
	tree_init(tree, source, find_top(source, arguments->cgroup));
	if (arguments->record)
		options->recorder = record_begin(tree, arguments->record, options->causes,
						 arguments->keep_s / options->watch.delay_s);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { };
	struct options *options = &arguments.options;
	struct source source;
	struct tree tree;

	setlocale(LC_CTYPE, "");
	parse(&arguments, argc, argv);
	if (arguments.replay)
		begin_replay(&tree, &arguments);
	else
		begin_live(&tree, &source, &arguments);
	if (!options->watch.batch && !options->watch.json && !arguments.openmetrics &&
	    !arguments.quiet) {
		screen(&tree, options);
		return 0;
	}
	note(tree_note(&tree));
	options->view.flat = true;
	if (arguments.replay)
		print_replay(&tree, &arguments);
	else
		print_rounds(&tree, &arguments);
	return 0;
}
