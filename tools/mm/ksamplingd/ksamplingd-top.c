// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd-top - show how hot each memory tier is, and what finding that out costs
 */
#include <err.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arguments.h"
#include "output.h"
#include "report.h"
#include "units.h"

static const char usage[] =
"usage: ksamplingd-top [option]...\n"
"\n"
"Show the memory tiers: how much of each is hot, which share of the accesses it\n"
"serves, and what is promoted and demoted; and what ksamplingd costs. On the\n"
"screen, h shows the keys.\n"
"\n"
"  -d, --delay TIME  time between two rounds, at least 20ms (default: 1s)\n"
"  -b, --batch       print text instead of showing a screen\n"
"  -j, --json        print JSON, one object per round and line\n"
"  -1, --once        print one round and exit\n"
"  -n, --count N     exit after N rounds\n"
"      --root DIR    read the kernel's files below DIR\n"
"      --no-color    use bold instead of colours, as with NO_COLOR set\n"
"      --ascii       use only ASCII characters\n"
"  -h, --help        print this summary\n"
"\n"
"Times need a unit, as in 100ms or 2s.\n"
"Exit status: 0; 1 if there is nothing to show; 2 for wrong usage.\n";

enum {
	ROOT = 256,
	NO_COLOR,
	ASCII,
};

static const struct option long_options[] = {
	{ "delay",		required_argument,	NULL, 'd' },
	{ "batch",		no_argument,		NULL, 'b' },
	{ "json",		no_argument,		NULL, 'j' },
	{ "once",		no_argument,		NULL, '1' },
	{ "count",		required_argument,	NULL, 'n' },
	{ "root",		required_argument,	NULL, ROOT },
	{ "no-color",		no_argument,		NULL, NO_COLOR },
	{ "ascii",		no_argument,		NULL, ASCII },
	{ "help",		no_argument,		NULL, 'h' },
	{ }
};

struct arguments {
	bool		batch;
	bool		json;
	const char	*root;
	struct options	options;
};

static void set_option(struct arguments *arguments, int option)
{
	struct options *options = &arguments->options;

	switch (option) {
	case 'd':
		options->delay_s = argument_delay_s(optarg);
		break;
	case 'b':
		arguments->batch = true;
		break;
	case 'j':
		arguments->json = true;
		break;
	case '1':
		arguments->batch = true;
		options->count = 1;
		break;
	case 'n':
		options->count = argument_number("count", optarg);
		break;
	case ROOT:
		arguments->root = optarg;
		break;
	case NO_COLOR:
		options->colour = false;
		break;
	case ASCII:
		options->ascii = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		exit(EXIT_USAGE);
	}
}

static void parse(struct arguments *arguments, int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	int option;

	arguments->root = "";
	arguments->options.delay_s = 1;
	arguments->options.colour = !no_color || !*no_color;
	while ((option = getopt_long(argc, argv, "d:bj1n:h", long_options, NULL)) >= 0)
		set_option(arguments, option);
	if (optind < argc)
		errx(EXIT_USAGE, "%s: unexpected argument: see --help", argv[optind]);
}

static void text_round(const struct state *state)
{
	static struct report report;
	time_t now = state->date_s;
	char clock[32];
	int i;

	strftime(clock, sizeof(clock), "%F %T", localtime(&now));
	printf("%s  %s%s\n", clock, state->source[0] ? "by " : "", state->source);
	report_build(&report, state, LINE_SIZE - 1);
	for (i = 0; i < report.nr; i++)
		puts(report.line[i].text);
	putchar('\n');
}

/* Print a note once, and again only after it has changed. */
static void tell(const char *note)
{
	static const char *told;

	if (note && note != told)
		warnx("%s", note);
	told = note;
}

/* Read one round more than is printed: rates need a previous one. */
static void print_rounds(struct state *state, const struct arguments *arguments)
{
	const struct options *options = &arguments->options;
	unsigned long printed;
	double spent_s;

	for (printed = 0; !options->count || printed < options->count; printed++) {
		spent_s = now_s() - state->round_s;
		if (spent_s < options->delay_s)
			wait_s(options->delay_s - spent_s);
		state_read(state);
		tell(state_note(state));
		if (arguments->json)
			json_round(state);
		else
			text_round(state);
		if (fflush(stdout))
			err(1, "cannot write");
	}
}

int main(int argc, char **argv)
{
	struct arguments arguments = { };
	static struct state state;

	setlocale(LC_CTYPE, "");
	parse(&arguments, argc, argv);
	state_init(&state, arguments.root);
	state_read(&state);
	if (!state.nr_tiers && !state.present)
		errx(1, "no memory nodes in %s/sys, and no ksamplingd", arguments.root);
	if (arguments.batch || arguments.json)
		print_rounds(&state, &arguments);
	else
		screen(&state, &arguments.options);
	return 0;
}
