/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_out.h - writing a trace: to standard output, a file, or a gzip file when its name ends in
 * .gz
 */
#ifndef TOOLS_TRACE_TRACE_OUT_H
#define TOOLS_TRACE_TRACE_OUT_H

#include "sim/outfile.h"

struct trace_out {
	FILE *f; /* print to this */
	void *gz;
	struct outfile o;
};

/* 'path' NULL or "-": standard output. False with 'e' set. */
bool trace_out_open(struct trace_out *out, const char *path, struct err *e);

/*
 * Finish; the file gets its name only now. False with 'e' set, and no file left, when writing
 * failed.
 */
bool trace_out_commit(struct trace_out *out, struct err *e);
void trace_out_abort(struct trace_out *out);

/* The sub-commands of `rnicsim trace` in files of their own; argv[0] is their name. */
int cmd_trace_gen(int argc, char **argv, struct err *e);
int cmd_trace_convert(int argc, char **argv, struct err *e);

#endif
