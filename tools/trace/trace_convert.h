/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert.h - the state of a conversion of recorded verbs calls to a trace
 */
#ifndef TOOLS_TRACE_TRACE_CONVERT_H
#define TOOLS_TRACE_TRACE_CONVERT_H

#include <jansson.h>
#include <stdio.h>

#include "models/trace/trace.h"
#include "sim/record.h"

#define CONV_MAX_EP 16u

struct conv_ep {
	char name[16]; /* as recorded; the host is "h" + name */
	uint8_t gid[16];
	uint32_t mtu;
	uint32_t ud_peer;                       /* where its last address handle points */
	uint64_t hop_limit, tclass, flow_label; /* of that handle */
	uint32_t n_mr, n_mw;
};

struct conv_mr {
	uint32_t ep, number; /* called "m" + number */
	uint64_t va, len, access;
	uint32_t lkey, rkey;
	bool is_other_pd;
	char fill[64];
};

struct conv_mw {
	uint32_t ep, number; /* called "w" + number */
	uint32_t rkey;
};

/* A work request that was posted. */
struct conv_wr {
	uint64_t id, wr_id;
	uint32_t index;  /* among the signaled ones of its queue, from 1 */
	uint64_t grh_va; /* UD receives: where the header goes; 0 = nowhere */
	uint32_t *past;  /* by queue: index of the last completion that was polled before this was
			   posted */
};

/* One of a QP's two queues. */
struct conv_queue {
	struct conv_wr *wait; /* signaled, completion not polled yet; oldest first, from 'first' */
	uint32_t first, n, cap;
	uint32_t n_signaled;
	struct conv_wr last; /* whose completion was polled last; index 0 = none */
	uint64_t polled_at;  /* line of that poll */
	bool is_armed;       /* its CQ is armed at some time, so it needs a name */
};

struct conv_qp {
	uint32_t ep;
	uint64_t number, qpn, peer_qpn;
	uint32_t peer_ep; /* CONV_MAX_EP = none */
	char type[4];
	uint32_t state; /* enum qp_state */
	uint64_t psn, mtu, sq, rq, max_sge, max_inline, rd_atomic, dest_rd_atomic, timeout, retry,
		rnr_retry, min_rnr;
	uint64_t sl, tclass, flow_label, hop_limit, qkey, access;
	struct conv_queue queue[2]; /* send, receive */
	uint32_t *known; /* by queue: completions that this QP's last record already waited for */
};

struct conv {
	struct record_reader rec;
	struct err *e;
	FILE *f;
	json_t *call;     /* the current line */
	json_t *pending;  /* a post_send whose return value comes next, or NULL */
	uint64_t gaps_ns; /* pauses from this on are kept; 0 = none */
	uint64_t last_ns, slept_ns, slept_at_poll;
	bool has_begun, has_polled;
	struct conv_ep ep[CONV_MAX_EP];
	uint32_t n_ep;
	struct conv_mr *mr;
	uint32_t n_mr;
	struct conv_mw *mw;
	uint32_t n_mw;
	struct conv_qp *qp;
	uint32_t n_qp;
	uint64_t last_id[CONV_MAX_EP];
	const char *final[CONV_MAX_EP]; /* "A=FILE": the final bytes of the first region of endpoint
					   A */
	uint32_t n_final;
	struct conv_mask { /* bytes whose final value is the network's */
		uint32_t ep;
		uint64_t va;
	} * mask;
	uint32_t n_mask;
};

/*
 * Convert recording 'in' (plain or gzip) without pauses and final images. False with 'e' set; what was
 * written by then is no trace.
 */
bool trace_convert(const char *in, FILE *to, struct err *e);

/* A line as a JSON value, or NULL with c->e set. Integers of 64 bits keep their bits. */
json_t *conv_load(struct conv *c, const char *line);

/*
 * Members of a call. What is missing or of another type is a mistake, kept in c->e, and reads as 0
 * or "".
 */
uint64_t conv_u64(struct conv *c, const json_t *o, const char *key);
uint64_t conv_u64_or(const json_t *o, const char *key, uint64_t other);
uint64_t conv_hex(struct conv *c, const json_t *o, const char *key);
const char *conv_str(struct conv *c, const json_t *o, const char *key);
uint32_t conv_ep(struct conv *c, const json_t *o);
struct conv_qp *conv_qp(struct conv *c, const json_t *o); /* NULL = a mistake */

/* The MR of an endpoint with this key that holds the range, or NULL. */
const struct conv_mr *conv_find_mr(const struct conv *c, uint32_t ep, bool is_remote, uint64_t key,
				   uint64_t va, uint64_t len);

void conv_put_access(struct conv *c, const char *key, uint64_t access);

/* First pass: collect what is set up. Second pass: see trace_convert.c. */
typedef void conv_fn(struct conv *c);
conv_fn conv_set_endpoint, conv_set_mr, conv_set_qp, conv_set_modify, conv_set_ah, conv_set_mw,
	conv_set_notify;

/*
 * Whether a modify_qp goes on from RESET to RTS as the set-up of a QP does; else it is a record of
 * the stream.
 */
bool conv_is_setup_step(const struct conv_qp *q, uint32_t state);

/*
 * Write after=, delay= or at= of a record of endpoint 'ep' that goes to QP 'q' (NULL = to no
 * queue), and the end of its line.
 */
void conv_put_when(struct conv *c, uint32_t ep, struct conv_qp *q);

/*
 * A signaled record of the QP's send (0) or receive (1) side was written: its completion is to
 * come.
 */
void conv_put_wait(struct conv *c, struct conv_qp *q, int side, struct conv_wr w);

/* Sends and receives. */
conv_fn conv_on_post_send, conv_on_post_send_ret, conv_on_wr_post, conv_on_post_recv;

/* Write all set-up records. */
void conv_put_setup(struct conv *c);

/* Write `expect mem` records for the final images that were given. */
void conv_put_final(struct conv *c);

#endif
