/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog.h - when each work request passed each milestone
 *
 * Observation only: no model reads it. The workload opens a row at the post and closes it at the
 * poll; the blocks on the way mark milestones by the row's handle, which travels in messages and
 * packets beside the hardware's own fields. Rows are recycled after they were closed, so memory
 * follows the requests in flight. Marks at one edge from several blocks touch different milestones,
 * so step order cannot matter.
 */
#ifndef MODELS_OPLOG_H
#define MODELS_OPLOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In order; each is what the next stage of the request waited for.
 *   DOORBELL   its doorbell reached the NIC
 *   SCHED      the scheduler ordered its fetch
 *   CONTEXT    the QP's context was there
 *   FETCH      its WQE was decoded
 *   ISSUE      the requester handed its first packets on: window, credits and fences allowed it
 *   TRANSLATE  the last page of its payload was translated
 *   REQUEST    the last read request of its payload got its tag and left for the PCIe link
 *   PAYLOAD    all its payload was in: the end of the first pass
 *   RETRY      start of the final pass
 *   FIRST_BIT, LAST_BIT  on the line, of the final pass
 *   ARRIVE     its last packet was in the peer's port
 *   PARSE      that packet went to the responder: the QP's context was there
 *   REMOTE     the responder executed it (READ, ATOMIC: last bit of the last response is back)
 *   ACK        the requester took the acknowledgement (READ, ATOMIC: the response was put into the
 *              posted queue)
 *   CQE        its completion is in host memory
 */
enum milestone {
	OP_POST,
	OP_DOORBELL,
	OP_SCHED,
	OP_CONTEXT,
	OP_FETCH,
	OP_ISSUE,
	OP_TRANSLATE,
	OP_REQUEST,
	OP_PAYLOAD,
	OP_RETRY,
	OP_FIRST_BIT,
	OP_LAST_BIT,
	OP_ARRIVE,
	OP_PARSE,
	OP_REMOTE,
	OP_ACK,
	OP_CQE,
	OP_POLL,
	OP_MILESTONES
};

#define OP_RECV 0xffu          /* op_row.opcode of a receive ... */
#define OP_RECV_WITH_IMM 0xfeu /* ... and of one that an RDMA WRITE with immediate data consumed */

/* What only the NIC knows of a request that has no completion in host memory. */
enum op_fate {
	OP_OPEN, /* none yet, or its completion tells */
	OP_DONE, /* unsignaled, and done */
	OP_LOST  /* its completion found the CQ full: nobody can tell what became of it */
};

/* One work request, as it will stand in ops.csv or recvs.csv. Handles are opaque. */
struct op_row {
	uint64_t t_ps[OP_MILESTONES]; /* 0 = not reached */
	uint64_t wr_id, id, rep;
	uint32_t host, qp; /* indices for the names in the trace */
	uint32_t bytes;
	uint8_t opcode; /* enum wr_opcode (trace.h), or OP_RECV... */
	uint8_t status; /* enum wc_status (trace.h); OP_LOST: WC_GENERAL_ERR */
	uint8_t fate;   /* enum op_fate */
	bool is_recv;
};

struct oplog;

/* Something that takes rows when they are closed (ops.csv, the report). Kept by the caller. */
struct oplog_sink {
	/* Milestones are clamped: each at or after its predecessor, one not reached equal to it. */
	void (*take)(struct oplog_sink *s, const struct op_row *r);
	struct oplog_sink *next;
};

struct oplog *oplog_create(void);
void oplog_destroy(struct oplog *l);

/* Rows go to all attached sinks in the order of closing; those of one time stamp by host and QP. */
void oplog_attach(struct oplog *l, struct oplog_sink *s);

/*
 * A row for a request posted at 'now_ps': what is known of it is copied from *what (times are
 * ignored). Returns its handle. Memory grows with the rows open at a time.
 */
uint32_t oplog_open(struct oplog *l, const struct op_row *what, uint64_t now_ps);

/* An open row, to set what only its completion tells; good until the next call. */
struct op_row *oplog_row(struct oplog *l, uint32_t op);

/*
 * The completion was polled at 'now_ps'. Marks made at the same time stamp still count; later ones
 * are ignored.
 */
void oplog_close(struct oplog *l, uint32_t op, uint8_t status, uint64_t now_ps);

/* Hand what was closed last to the sinks; at the end of a run. */
void oplog_flush(struct oplog *l);

/*
 * Clamp the milestones of a row: after this the differences of neighbours sum to OP_POLL - OP_POST.
 */
void oplog_clamp(struct op_row *r);

/* Mark milestone 'm' of row 'op' at 'now_ps', replacing an earlier mark. OP_NONE is ignored. */
void oplog_mark(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps);

/* Settle the fate of row 'op', which has no completion in host memory; what it is. OP_NONE is ignored, and open. */
void oplog_settle(struct oplog *l, uint32_t op, enum op_fate fate);
enum op_fate oplog_fate(const struct oplog *l, uint32_t op);

/* Mark it unless it is marked already. */
void oplog_mark_once(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps);

/* Mark it unless the later milestone 'end' was before: what happens again afterwards does not count. Times decide, not
 * who is stepped first in a cycle. */
void oplog_mark_before(struct oplog *l, uint32_t op, enum milestone m, enum milestone end,
		       uint64_t now_ps);

#endif
