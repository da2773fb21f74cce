/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what a run did, by operation: counts, latency, rates and the mean of each stage
 */
#ifndef TOOLS_RUN_REPORT_H
#define TOOLS_RUN_REPORT_H

#include <stdio.h>

#include "models/oplog.h"
#include "models/verbs/setup.h"
#include "sim/hist.h"
#include "sim/json.h"

#define REPORT_STAGES (OP_MILESTONES - 1u)

/* Requests of one operation. Latencies, bytes and stages are those of successful ones. */
struct report_op {
	uint64_t n, errors, bytes;
	uint64_t first_ps, last_ps;       /* first post, last poll */
	uint64_t stage_ps[REPORT_STAGES]; /* sums; that of stage_ps is the sum of latencies */
	struct hist latency;
};

struct report {
	struct oplog_sink sink; /* attach it to the oplog */
	struct report_op ops[WR_OPCODES];
	uint64_t recvs, recv_errors, recv_b;
	const struct refusals *refused; /* NULL: none */
	const char *trace;              /* its path */
};

void report_init(struct report *r);

/* The work requests that were refused (kept by the caller), for the two calls below. */
void report_refused(struct report *r, const struct refusals *f, const char *trace);

/* Means of the stages, rounded so that they sum to the mean latency (rounded down). */
void report_stage_means(const struct report_op *o, uint64_t mean_ps[REPORT_STAGES]);

/*
 * Payload bits and requests a second, from the first post to the last poll; 0 when no time passed.
 */
uint64_t report_goodput_bps(const struct report_op *o);
uint64_t report_rate_hz(const struct report_op *o);

/* The tables on the terminal. */
void report_print(const struct report *r, FILE *f);

/* Write "ops", "recvs" and "refused" into the open object of 'j'. Integers only. */
void report_write(const struct report *r, struct json *j);

#endif
