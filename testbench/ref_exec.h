/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_exec.h - a dumb executor of verbs traces: what memory must hold in the end
 *
 * Memory is byte arrays. Requests are executed one after the other in file order, each as a whole;
 * nothing is split, lost, retried or timed. It shares the trace reader with the simulator and
 * nothing else. At most 254 QPs, and MRs of a host that do not overlap. Executed are the requests of
 * RC QPs with receive queues of their own; of others ("loose" ones: UC, UD, and those with an SRQ)
 * what is delivered, and where, depends on the run: they are listed only (tb_judge_loose.c).
 *
 * Told how the requests of a run ended, it allows for those that ended in error: of the requests of
 * a QP behind the last one that is known to have been executed, the target may have executed the
 * first n for some n, and part of the one after; the same for what comes back to the requester, or,
 * where it keeps what comes behind a gap, any of it.
 * What was made of bytes so uncertain is not compared. Nor is what such a request writes through a
 * window that is taken back: that may happen between the look at its key and the write of its payload,
 * when those behind it are on their way to memory.
 */
#ifndef TESTBENCH_REF_EXEC_H
#define TESTBENCH_REF_EXEC_H

#include "models/oplog.h"
#include "models/trace/trace.h"

/* A work request, in the order of posting on its QP. */
struct ref_wr {
	struct trace_record r;
	uint64_t rep; /* of a record with repeat */
	uint32_t qp;  /* index in the trace; TRACE_NONE: a receive of an SRQ, until it is used */
	uint32_t len; /* message bytes */
	bool is_signaled;
	bool takes_recv;
	bool is_refused;        /* set by the caller: it does nothing */
	bool is_sure;           /* it was executed */
	bool has_row, is_error; /* how the run says it ended */
	uint8_t status;
	bool is_loose;
	bool is_former;          /* of a life of its QP that a reset ended: it counts for nothing */
	uint64_t t_post, t_poll; /* of its row */
	uint32_t from;           /* receive: index + 1 of the request that consumes it */
};

struct ref_qp {
	uint32_t *sends, *recvs; /* indices of its work requests */
	uint32_t n_sends, n_recvs;
	uint32_t peer;
	uint32_t n_sure;      /* sends that were executed for certain */
	bool is_reborn;       /* it was reset, and brought up again ... */
	uint32_t psn;         /* ... with this first PSN; without it, that of the set-up */
	bool is_killed;       /* the program puts it into Error */
	uint64_t t_modify_ps; /* the program's last change of its state, at the earliest */
	bool is_loose;
};

struct ref_mr {
	uint8_t *val;
	uint8_t *any;   /* not known, not compared */
	uint8_t *maybe; /* 1 + QP whose uncertain requests write here: the target's side, ... */
	uint8_t *maybe_local; /* ... the requester's */
};

struct ref_exec {
	struct trace *trace;
	struct ref_mr *mr;
	struct ref_wr *wr; /* in file order */
	uint32_t n_wr, cap_wr;
	struct ref_qp *qp;
	bool is_selective; /* set by the caller: requesters keep responses that overtook a lost one */
};

/* Read a trace. False with 'e' set; ref_close is due either way. */
bool ref_open(struct ref_exec *x, const char *path, struct err *e);
void ref_close(struct ref_exec *x);

/* The MR of a host by name, or TRACE_NONE. */
uint32_t ref_find_mr(const struct ref_exec *x, uint32_t host, const char *name);

/* Do not compare this MR. */
void ref_forget(struct ref_exec *x, uint32_t mr);

/* Tell how the work requests ended: rows of the op log, each for a record of the trace. False: a
 * row for none. */
bool ref_outcome(struct ref_exec *x, const struct op_row *rows, uint32_t n);

/* Execute everything. */
void ref_run(struct ref_exec *x);

/*
 * Compare with the memory of a run: actual[mr] are its bytes. NULL when they are as they must be,
 * else what differs, in a static buffer.
 */
const char *ref_compare(struct ref_exec *x, uint8_t *const *actual);

/* The key that a request names is that of a window that some request takes back. */
bool ref_may_lose_key(const struct ref_exec *x, const struct ref_wr *w);

/* ---- for ref_compare.c ---- */

struct ref_mr ref_new_mr(uint64_t len);
void ref_free_mr(struct ref_mr *m);
bool ref_is_atomic(enum wr_opcode op);

/* Execute a request in memory 'mem'. One whose key is nobody's does nothing. */
void ref_execute(const struct ref_exec *x, struct ref_mr *mem, const struct ref_wr *w);

#endif
