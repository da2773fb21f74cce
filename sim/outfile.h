/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfile.h - a result file that appears whole or not at all
 *
 * Written under a temporary name beside the final one and renamed by outfile_commit.
 */
#ifndef SIM_OUTFILE_H
#define SIM_OUTFILE_H

#include <stdio.h>

#include "err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct outfile {
	FILE *f; /* NULL when nothing is open */
	char *path, *tmp;
};

/* Start writing 'path'. False with 'e' set when it cannot be created. */
bool outfile_open(struct outfile *o, const char *path, struct err *e);

/* Flush, close and give the file its name. False with 'e' set (and no file left) when anything went wrong. */
bool outfile_commit(struct outfile *o, struct err *e);

/* Close and remove. Harmless when nothing is open. */
void outfile_abort(struct outfile *o);

/* True when both names are those of one file, whether it is there yet or not. */
bool outfile_is_same(const char *a, const char *b);

/*
 * Make the folder 'path' and those above it, as far as they are not there. 'option' is what asked
 * for it, for messages. False with 'e' set.
 */
bool outfile_make_dir(const char *path, const char *option, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
