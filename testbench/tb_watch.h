/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_watch.h - what comes out of a run, seen from outside: rows of the op log, and CQEs as the CPUs
 * read them
 */
#ifndef TESTBENCH_TB_WATCH_H
#define TESTBENCH_TB_WATCH_H

#include "testbench/tb_run.h"

/* A completion queue entry. */
struct tb_cqe {
	uint32_t host, qp; /* qp: index in the trace */
	uint32_t byte_cnt, imm;
	uint32_t src_qp; /* of a datagram: index in the trace, or TRACE_NONE */
	uint16_t counter;
	uint8_t opcode; /* CQE_* */
	uint8_t status; /* of one with an error: enum wc_status */
	bool is_recv, is_error, has_grh, is_solicited;
};

struct tb_watch {
	struct oplog_sink sink; /* first member */
	struct tb_run *run;
	struct op_row *rows; /* in the order of closing */
	uint32_t n_rows;
	struct tb_cqe *cqes; /* in the order of reading */
	uint32_t n_cqes;
	/* called as each is read, if set after tb_watch() */
	void (*completed)(void *arg, const struct tb_cqe *e);
	void *arg;
};

/* Watch a run that is open and has not begun. It must stay where it is until the run is closed. */
void tb_watch(struct tb_watch *w, struct tb_run *t);
void tb_watch_release(struct tb_watch *w);

#endif
