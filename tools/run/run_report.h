/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_report.h - everything that a run leaves: the tables, summary.json, run.json, ops.csv, the timeline's spans
 */
#ifndef TOOLS_RUN_RUN_REPORT_H
#define TOOLS_RUN_RUN_REPORT_H

#include <stdio.h>

#include "models/rnic.h"
#include "tools/run/scenario.h"
#include "sim/evlog.h"

struct run_report;

/*
 * Attach to the op log of 'r' (kept by the caller, which outlives the report). 'dir' NULL: no files; 'l' NULL: no
 * spans. Before the run; NULL with 'e' set when a file cannot be written.
 */
struct run_report *run_report_open(struct rnic *r, const char *dir, struct evlog *l, struct err *e);

/* Requests and receives that have ended so far. */
uint64_t run_report_count(const struct run_report *rp);

/*
 * After the run: evaluate the trace's `expect`s (*held: every one came true), write summary.json and give the CSV
 * files their names. False with 'e' set on a mistake.
 */
bool run_report_finish(struct run_report *rp, const struct scenario *sc, bool *held, struct err *e);

/* Write run.json: how it was run, which may not change a result. */
bool run_report_how(const struct run_report *rp, const struct run_options *o,
		    const char *trace_path, double wall_s, struct err *e);

/* What limited the run that argc, argv ask for, and what waited for what; argc 0: it cannot be had again. */
void run_report_explain(const struct run_report *rp, int argc, char **argv, FILE *f);

/* The timing tables; each `expect` that failed. */
void run_report_print(const struct run_report *rp, FILE *f);
void run_report_failures(const struct run_report *rp, FILE *f);

/* Release it; files that were not finished are removed. NULL is ignored. */
void run_report_close(struct run_report *rp);

#endif
