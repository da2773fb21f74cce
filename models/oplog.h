/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog.h - when each work request passed each milestone
 *
 * Observation only: no model reads it. The workload opens a row at the post and closes it at the poll;
 * the blocks on the way mark milestones by the row's handle, which travels in messages and packets beside
 * the hardware's own fields. Rows are recycled after they were closed, so memory follows the requests in
 * flight. Marks at one edge from several blocks touch different milestones, so step order cannot matter.
 */
#ifndef MODELS_OPLOG_H
#define MODELS_OPLOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In order. PAYLOAD ends the first pass and RETRY starts the final one; FIRST_BIT and LAST_BIT are of the
 * final pass. REMOTE: the responder executed the last packet of the message (READ and ATOMIC: last bit of
 * the last response packet reached the requester). ACK: the requester took the acknowledgement (READ,
 * ATOMIC: the response was put into the posted queue).
 */
enum milestone {
	OP_POST,
	OP_DOORBELL,
	OP_FETCH,
	OP_TRANSLATE,
	OP_PAYLOAD,
	OP_RETRY,
	OP_FIRST_BIT,
	OP_LAST_BIT,
	OP_REMOTE,
	OP_ACK,
	OP_CQE,
	OP_POLL,
	OP_MILESTONES
};

/* One work request, as it will stand in ops.csv or recvs.csv. Handles are row numbers + 1. */
struct op_row {
	uint64_t t_ps[OP_MILESTONES];	/* 0 = not reached */
	uint64_t wr_id, id, rep;
	uint32_t host, qp;		/* indices for the names in the trace */
	uint32_t bytes;
	uint8_t opcode;			/* enum wr_opcode (trace.h); 0xff = receive */
	uint8_t status;			/* enum wc_status (trace.h) */
	bool is_recv, is_open;
	uint32_t link;			/* next free */
};

struct oplog;

/* Mark milestone 'm' of row 'op' at 'now_ps', replacing an earlier mark. OP_NONE is ignored. */
void oplog_mark(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps);

/* Mark it unless it is marked already. */
void oplog_mark_once(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps);

#endif
