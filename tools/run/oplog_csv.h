/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog_csv.h - ops.csv and recvs.csv: a row for each work request that ended, as it ends
 *
 * ops.csv: host,qp,id,rep,opcode,bytes,status, t_*_ps of the twelve milestones (clamped, so in
 * order), latency_ps, stage_*_ps of the eleven stages, whose sum is latency_ps. A stage is named
 * after the milestone that ends it. recvs.csv: host,qp,id,opcode,bytes,status,
 * t_post_ps,t_cqe_ps,t_poll_ps; bytes are those received.
 */
#ifndef TOOLS_RUN_OPLOG_CSV_H
#define TOOLS_RUN_OPLOG_CSV_H

#include "models/oplog.h"
#include "models/trace/trace.h"
#include "sim/outfile.h"

/* "post", "doorbell", ... in the order of enum milestone. */
extern const char *const milestone_names[];

struct oplog_csv {
	struct oplog_sink sink;
	const struct trace *trace;
	struct outfile ops, recvs;
};

/* Start both files in folder 'dir'; attach c->sink to the oplog. Kept by the caller. */
bool oplog_csv_open(struct oplog_csv *c, const char *dir, const struct trace *t, struct err *e);

/* After oplog_flush(): give the files their names. */
bool oplog_csv_commit(struct oplog_csv *c, struct err *e);

/* Remove what was written. Harmless after a commit. */
void oplog_csv_abort(struct oplog_csv *c);

#endif
