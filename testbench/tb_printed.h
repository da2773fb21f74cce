/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_printed.h - `rnicsim run` in a process of its own, and what it printed
 */
#ifndef TESTBENCH_TB_PRINTED_H
#define TESTBENCH_TB_PRINTED_H

#include <stdbool.h>
#include <stddef.h>

struct tb_printed {
	int status; /* exit status, or -1 */
	char *out, *err;
};

/* Run a trace given as text; 'args' are options with blanks between. Free it with tb_printed_free(). */
struct tb_printed tb_printed_run(const char *trace, const char *args);
void tb_printed_free(struct tb_printed *p);

/* Its status is 0 and its output has 'text'; says what it printed if not. */
bool tb_printed_says(const char *trace, const char *args, const char *text);

/* Run with '-o': summary.json. Free it. The other files are in tb_path("summary"). */
char *tb_printed_summary(const char *trace, const char *option);

/* The number behind "key": in a summary. */
unsigned long long tb_printed_number(const char *json, const char *key);

/* A column of ops.csv in 'dir', ascending; how many. */
size_t tb_printed_column(const char *dir, const char *name, unsigned long long *ps, size_t max);

#endif
