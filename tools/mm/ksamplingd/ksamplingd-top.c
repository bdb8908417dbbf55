// SPDX-License-Identifier: GPL-2.0
/*
 * ksamplingd-top - show how hot each memory tier is, and what finding that out costs
 */
#include <err.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

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
	ROOT = OWN_OPTIONS,
};

static const struct option own_options[] = {
	{ "root",	required_argument,	NULL, ROOT },
	{ }
};

static const char *parse(struct watch_options *options, int argc, char **argv)
{
	const char *root = "";
	int option;

	watch_defaults(options);
	while ((option = watch_getopt(argc, argv, "", own_options)) >= 0) {
		if (option == ROOT)
			root = optarg;
		else
			watch_option(options, option, usage);
	}
	return root;
}

static void text_round(const struct state *state)
{
	static struct report report;
	char clock[32];
	int i;

	date_text(state->date_s, "%F %T", clock, sizeof(clock));
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
static void print_rounds(struct state *state, const struct watch_options *options)
{
	unsigned long printed;

	for (printed = 0; !options->count || printed < options->count; printed++) {
		wait_until(state->round_s + options->delay_s);
		state_read(state);
		tell(state_note(state));
		if (options->json)
			json_round(state);
		else
			text_round(state);
		if (fflush(stdout))
			err(1, "cannot write");
	}
}

int main(int argc, char **argv)
{
	struct watch_options options;
	static struct state state;
	const char *root;

	setlocale(LC_CTYPE, "");
	root = parse(&options, argc, argv);
	state_init(&state, root);
	state_read(&state);
	if (!state.nr_tiers && !state.present)
		errx(1, "no memory nodes in %s/sys, and no ksamplingd", root);
	if (options.batch || options.json)
		print_rounds(&state, &options);
	else
		screen(&state, &options);
	return 0;
}
