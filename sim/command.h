/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the commands of the program: main.c knows this list and nothing else of the models
 */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "sim/block.h"

#define RNICSIM_VERSION "1" /* of the results: summary.json, run.json and --version say it */

/* Exit statuses (the command-line contract). */
enum { EXIT_OK = 0, EXIT_EXPECT = 1, EXIT_BAD_INPUT = 2, EXIT_STALLED = 3 };

struct command {
	const char *name;
	const char *usage; /* arguments, one line */
	const char *doc;   /* one sentence */
	const char *more;  /* what --help prints besides, lines; may be NULL */

	/*
	 * Run with argv[0] = name. Results go to stdout; a user's mistake goes into *e with the return
	 * value EXIT_BAD_INPUT. Returns the exit status.
	 */
	int (*run)(int argc, char **argv, struct err *e);
};

/* Every command and every block class of the program; the models define both lists. Both end with NULL. */
extern const struct command *const command_list[];
extern const struct block_class *const block_classes[];

/* The sections of a scenario that are no blocks, as classes with PARAM rows only, for `describe`. Ends with NULL. */
extern const struct block_class *const section_classes[];

#endif
