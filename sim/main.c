/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the command line: picks a command, prints its mistake, exits
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "sim/command.h"

static void usage(FILE *to)
{
	fprintf(to, "usage: rnicsim COMMAND ...\n\n");
	for (const struct command *const *c = command_list; *c; c++)
		fprintf(to, "  rnicsim %s %s\n      %s\n", (*c)->name, (*c)->usage, (*c)->doc);
}

static const struct command *find(const char *name)
{
	for (const struct command *const *c = command_list; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* True when any of the arguments asks what there is. */
static bool wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (is_help(argv[i]))
			return true;
	return false;
}

static void unknown(const char *name)
{
	const char *names[32];
	const char *near;
	size_t n = 0;

	for (const struct command *const *c = command_list; *c && n < ARRAY_LEN(names); c++)
		names[n++] = (*c)->name;
	near = err_nearest(name, names, n);
	fprintf(stderr, "rnicsim: unknown command '%s'", name);
	if (near)
		fprintf(stderr, ", did you mean '%s'?", near);
	fprintf(stderr, "%s allowed:", near ? "" : ";");
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, " %s", names[i]);
	fprintf(stderr, "\n");
}

static int run(int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (argc < 2) {
		usage(stderr);
		return EXIT_BAD_INPUT;
	}
	if (strcmp(argv[1], "help") == 0 || is_help(argv[1])) {
		usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("rnicsim %s\n", RNICSIM_VERSION);
		return EXIT_OK;
	}
	c = find(argv[1]);
	if (!c) {
		unknown(argv[1]);
		return EXIT_BAD_INPUT;
	}
	if (wants_help(argc - 2, argv + 2)) {
		printf("usage: rnicsim %s %s\n  %s\n%s", c->name, c->usage, c->doc,
		       c->more ? c->more : "");
		return EXIT_OK;
	}
	return c->run(argc - 1, argv + 1, e);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int status;
	bool is_written;

	signal(SIGXFSZ, SIG_IGN); /* a file above the shell's limit is one that cannot be written */
	status = run(argc, argv, &e);
	is_written = fflush(stdout) == 0 && !ferror(stdout);

	if (e.is_set) {
		fprintf(stderr, "%s\n", e.text);
		return EXIT_BAD_INPUT;
	}
	if (!is_written) {
		fprintf(stderr, "rnicsim: cannot write to the standard output\n");
		return EXIT_BAD_INPUT;
	}
	return status;
}
