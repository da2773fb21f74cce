/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h - the verbs calls, as one C interface over the bytes that the device reads and writes
 *
 * Calls of the control path (reg_mr, create_cq, create_qp, modify_qp) act at once, on memory and on the NIC's
 * set-up, before time 0. Calls of the data path (post_send, post_recv, poll_cq, req_notify, dereg_mr) append
 * the CPU's accesses to a list, in program order, for the caller to push to host_mem one by one.
 *
 * All return 0 or an errno value: EINVAL (an argument), ENOMEM (the queue is full), EEXIST (a key or number is
 * taken), EFAULT (memory that is not mapped), ENOTSUP.
 */
#ifndef MODELS_VERBS_H
#define MODELS_VERBS_H

#include <errno.h>

#include "models/host.h"
#include "models/msg.h"
#include "models/packet/packet.h"

#define VERBS_MAX_WQE (WQE_MAX_BB * WQE_BB)
#define VERBS_MAX_MSG (1u << 31)
#define SQ_MAX_BB 32768u
/* 16 blocks of a WQE, its inline data cut at blocks and at the pages of 32 ranges, record and doorbell. */
#define CPU_LIST_MAX 128u

/* The CPU's accesses that a call makes. */
struct cpu_list {
	uint32_t n;
	struct cpu_req req[CPU_LIST_MAX];
};

struct verbs_mr {
	uint64_t va, len, page;
	uint32_t lkey, rkey; /* 0 = to be assigned, one key for both; set on return */
	uint16_t pd;
	uint8_t access; /* ACCESS_* */
};

struct verbs_mw {
	uint32_t rkey; /* 0 = to be assigned */
	uint8_t type;  /* 1, 2 */
	uint16_t pd;
	uint32_t mr; /* for the caller: what it was last bound to */
};

struct verbs_cq {
	uint32_t depth; /* CQEs at least, 1..2^22 */
	uint32_t moderate_count;
	uint64_t moderate_ps;
	bool is_event;
};

struct verbs_srq {
	uint32_t depth;   /* work requests, 1..32768 */
	uint32_t max_sge; /* 1..32 */
	uint32_t limit;   /* of the limit event, 0 = none */
	uint32_t trace_srq;
	uint16_t pd;
};

struct verbs_qp {
	uint8_t type;      /* enum qp_type */
	uint32_t qpn;      /* 0 = to be assigned */
	uint32_t scq, rcq; /* CQ indices */
	uint32_t srq;      /* SRQ index + 1; 0 = receives of its own */
	uint32_t sq, rq;   /* work requests, 1..32768 */
	uint32_t max_sge;  /* 1..32 */
	uint32_t max_inline;
	uint32_t trace_qp;
	uint16_t pd;
	bool sig_all;
};

/* Everything that modify_qp sets on the way from RESET to RTS. */
struct verbs_qp_state {
	uint8_t state; /* enum qp_state */
	uint32_t dest_qpn, sq_psn, rq_psn, mtu, qkey;
	uint16_t pkey;
	uint8_t access, rd_atomic, dest_rd_atomic, timeout, retry, rnr_retry, min_rnr, sl, prio;
	uint8_t weight; /* quanta of its turn among QPs that send; 0 = 1 */
	uint64_t rate_bps;
	const struct port_addr *to; /* the peer's port; UD: NULL */
	struct packet_path path;
};

struct sge {
	uint64_t addr;
	uint32_t len, lkey;
};

struct send_wr {
	uint64_t wr_id;
	const struct sge *sge;
	uint32_t n_sge;
	uint32_t flags; /* WR_* (trace.h); WR_MORE: the doorbell is left to a later post */
	uint8_t opcode; /* enum wr_opcode */
	uint32_t imm, inv_key;
	uint32_t rkey;
	uint64_t raddr;
	uint64_t compare_add, swap;
	const struct port_addr *to; /* UD: the destination's port, QPN and Q_Key */
	uint32_t dest_qpn, qkey;
	/* BIND_MW: range in raddr and compare_add, the region's lkey in rkey, the new key in inv_key */
	uint8_t bind_access;
	uint8_t flush_level; /* enum flush_level (trace.h) */
	uint32_t ticket;     /* kept for the caller until the request is retired */
};

struct recv_wr {
	uint64_t wr_id;
	const struct sge *sge;
	uint32_t n_sge;
	uint32_t ticket;
};

/* A completion. */
struct wc {
	uint32_t qpi;
	uint8_t status; /* enum wc_status */
	uint8_t opcode; /* CQE_* */
	bool is_recv;
	uint16_t index; /* WQE counter */
	uint32_t byte_len, imm;
	uint32_t src_qp; /* UD receives */
	uint32_t number; /* of the CQE in its CQ, running */
};

/* ---- control path ---- */

/*
 * Make the device: a memory protection table of 'mpt_entries' entries, room for QPs, CQs and SRQs.
 */
void verbs_open(struct host *h, uint32_t mpt_entries, uint32_t max_qp, uint32_t max_cq,
		uint32_t max_srq);
void verbs_close(struct host *h);

/*
 * Map the memory and write the table entries. EEXIST: the index (key >> 8) of a key is another's. Where lkey and
 * rkey differ, each has an entry with its own rights. ENOMEM: mapped already, with smaller pages.
 */
int verbs_reg_mr(struct host *h, struct verbs_mr *mr);

/* The tables above the MTT, so that there are 'levels' (1: none); after the last registration. */
void verbs_build_walk(struct host *h, uint32_t levels);

/* A window without a range. EEXIST, EINVAL as for a region; ENOMEM: no key is left. */
int verbs_alloc_mw(struct host *h, struct verbs_mw *mw);

int verbs_create_cq(struct host *h, const struct verbs_cq *a, uint32_t *cqi);
int verbs_create_srq(struct host *h, const struct verbs_srq *a, uint32_t *srqi);

/* EEXIST: the number is taken; EINVAL: a WQE of that many segments or inline bytes does not fit 16 blocks. */
int verbs_create_qp(struct host *h, const struct verbs_qp *a, uint32_t *qpi);

int verbs_modify_qp(struct host *h, uint32_t qpi, const struct verbs_qp_state *a);

/*
 * Change the state alone, during the run. To RTR: 'psn' is the first one expected; from RTR to RTS:
 * the first one sent; VERBS_PSN: that of the set-up. EINVAL: there is no such transition, or it takes
 * no PSN. A reset is over when both halves of the QP were closed (verbs_half_closed()).
 */
#define VERBS_PSN UINT32_MAX
int verbs_change_state(struct host *h, uint32_t qpi, uint8_t state, uint32_t psn,
		       struct cpu_list *out);

/* The QP goes: reset, and nothing else can be done with it. */
void verbs_destroy_qp(struct host *h, uint32_t qpi, struct cpu_list *out);

/* Have the NIC put a QP, or what of it the NIC does not know to be there, into Error. */
void verbs_fail_qp(struct host *h, uint32_t qpi, struct cpu_list *out);

/*
 * The NIC holds nothing more of a half of a QP that is reset: its completions are those before
 * number 'cqes' of its CQ. True when it was the second half: verbs_renew_qp() has its rings empty.
 */
bool verbs_half_closed(struct host *h, uint32_t qpi, bool is_recv, uint32_t cqes);
void verbs_renew_qp(struct host *h, uint32_t qpi, struct cpu_list *out);

/*
 * A completion with an error tells that the QP is in Error, or (UC, UD) its send queue. True when
 * the program learns it by this one and has receives posted.
 */
bool verbs_note_error(struct host *h, const struct wc *wc);

/* ---- data path ---- */

/* Receive queues by one index: those of the QPs (unused where a QP has an SRQ), then the SRQs. */
static inline uint32_t verbs_n_rq(const struct host *h)
{
	return h->nic->n_qp + h->nic->n_srq;
}
static inline uint32_t verbs_rqi(const struct host *h, uint32_t qpi)
{
	uint32_t srq = h->nic->qp[qpi].srq;

	return srq == SRQ_NONE ? qpi : h->nic->n_qp + srq;
}

/* What post_send would say. The same for post_recv. */
int verbs_check_send(const struct host *h, uint32_t qpi, const struct send_wr *wr);
int verbs_check_recv(const struct host *h, uint32_t rqi, const struct recv_wr *wr);

/* 'op': the request's oplog row, or OP_NONE. Nothing is appended unless 0 is returned. */
int verbs_post_send(struct host *h, uint32_t qpi, const struct send_wr *wr, uint32_t op,
		    struct cpu_list *out);
int verbs_post_recv(struct host *h, uint32_t rqi, const struct recv_wr *wr, uint32_t op,
		    struct cpu_list *out);

/* Ring for what was posted with WR_MORE; nothing when the doorbell has been rung. */
void verbs_ring(struct host *h, uint32_t qpi, struct cpu_list *out);

/* Look for the next CQE of a CQ; the answer is a cpu_rsp. */
void verbs_poll_cq(struct host *h, uint32_t cqi, struct cpu_list *out);

/* Look at the next CQE without waiting for it. verbs_peeked(): there was one. */
void verbs_peek_cq(struct host *h, uint32_t cqi, struct cpu_list *out);
bool verbs_peeked(const struct host *h, uint32_t cqi, const uint8_t *cqe);

/* ---- the event queue ---- */

/* Once, when all other memory is given out. */
void verbs_create_eq(struct host *h);

/* Wait for the next event; the answer has the tag verbs_eq_tag(). Nothing when it waits already. */
void verbs_wait_event(struct host *h, struct cpu_list *out);
static inline uint32_t verbs_eq_tag(const struct host *h)
{
	return h->nic->n_cq;
}

/* Take apart the EQE that was waited for: its type; *cqi is the CQ of a completion event. */
uint8_t verbs_take_event(struct host *h, const uint8_t *eqe, uint32_t *cqi);

/* Take apart the CQE that a poll found, and go on to the next. */
void verbs_consume(struct host *h, uint32_t cqi, const uint8_t *cqe, struct wc *wc);

/* ---- compressed completions: a title, whose completions come one by one (verbs_unzip.c) ---- */

/* The CQE that a poll found is one. */
bool verbs_is_title(const uint8_t *cqe);
void verbs_unzip(struct host *h, uint32_t cqi, const uint8_t *title);

/* Read the next array of mini CQEs; the answer is a cpu_rsp, for verbs_unzip_array(). */
void verbs_unzip_read(struct host *h, uint32_t cqi, struct cpu_list *out);
void verbs_unzip_array(struct host *h, uint32_t cqi, const uint8_t *array);

/*
 * The next completion as a CQE of its own (64 B), for verbs_consume(). Behind it: another one, one whose array has to
 * be read, or none: then the entries are to be made good for the next round before the consumer index is stored.
 */
enum unzip_next { UNZIP_MORE, UNZIP_READ, UNZIP_OVER };
enum unzip_next verbs_unzip_next(struct host *h, uint32_t cqi, uint8_t *cqe);
void verbs_unzip_end(struct host *h, uint32_t cqi, struct cpu_list *out);

/* The completion is of something that went when its QP was reset. */
bool verbs_is_stale(const struct host *h, const struct wc *wc);

/*
 * The next work request that completion 'wc' ends, oldest first, into *e. True when it is the one that completed;
 * before it come those that the completion covers: unsignaled ones, and signaled ones whose completion was lost in a
 * CQ that overflowed.
 */
bool verbs_retire(struct host *h, const struct wc *wc, struct wr_entry *e);

/* Tell the device how far a CQ has been consumed. */
void verbs_update_ci(struct host *h, uint32_t cqi, struct cpu_list *out);

/* The same, if what was read and not told leaves no room for all completions that may come. */
void verbs_make_room(struct host *h, uint32_t cqi, struct cpu_list *out);

int verbs_req_notify(struct host *h, uint32_t cqi, bool solicited_only, struct cpu_list *out);

/* Mark the table entries as invalid. The caller has the NIC forget the keys (mpt_cmd) when that has landed. */
void verbs_dereg_mr(struct host *h, const struct verbs_mr *mr, struct cpu_list *out);

/* What stands in the receive queue and is not retired. */
uint32_t verbs_posted(const struct host *h, uint32_t rqi);

/* The same for the range of a window, whose region goes: it is not bound then. */
void verbs_unbind_mw(struct host *h, const struct verbs_mw *mw, struct cpu_list *out);

/* Do the stores of a list at once: before time 0 only. */
void verbs_apply(struct host *h, const struct cpu_list *l);

/* Big-endian stores, as everything that the device reads. */
static inline void store_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static inline void store_be32(uint8_t *p, uint32_t v)
{
	store_be16(p, (uint16_t)(v >> 16));
	store_be16(p + 2, (uint16_t)v);
}
static inline void store_be64(uint8_t *p, uint64_t v)
{
	store_be32(p, (uint32_t)(v >> 32));
	store_be32(p + 4, (uint32_t)v);
}

/* Message bytes of a list of segments. */
uint64_t sge_bytes(const struct sge *sge, uint32_t n);

#endif
