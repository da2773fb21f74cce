/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder.h - the receive side of every QP, shared by the files of the responder block
 *
 * A packet gets a context. Contexts of one QP are executed one after the other, those of different
 * QPs side by side; a context is on the list of the port that it wants next. What a packet has done
 * takes effect (ACK, CQE) when it leaves the commit ring, which it does in order and after its
 * writes were posted.
 */
#ifndef MODELS_RESPONDER_H
#define MODELS_RESPONDER_H

#include "models/engine.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/packet/opcode.h"
#include "models/packet/psn.h"
#include "models/qp_list.h"
#include "models/recovery.h"
#include "models/tx_sched.h"
#include "sim/pool.h"

#define RSP_CTX_NONE UINT32_MAX
#define RSP_NO_MESSAGE 0xffu /* rsp_qp.in_msg: between messages */

/* Where a context stands. */
enum rsp_stage {
	RSP_NEW,    /* not looked at */
	RSP_RECV,   /* wants a receive WQE, or waits for it */
	RSP_XLATE,  /* wants its range checked, or waits for it */
	RSP_INVAL,  /* wants a key invalidated, or waits for it */
	RSP_READY,  /* checked; READ, ATOMIC: may wait for earlier writes or a free slot */
	RSP_ATOMIC, /* wants the atomic unit, or waits for it */
	RSP_WRITE   /* payload or outcome goes to the commit ring */
};

/* What becomes of a packet that is not executed. */
enum rsp_outcome {
	RSP_EXECUTE,
	RSP_ACK_AGAIN,
	RSP_NAK,  /* syndrome 0: nothing to say after all */
	RSP_PLACE /* selective repeat: payload is written ahead of its turn, at va */
};

/* The check of a packet's range that was asked for ahead of its turn. */
enum rsp_check {
	RSP_CHECK_NONE,
	RSP_CHECK_WANTED,
	RSP_CHECK_ASKED,
	RSP_CHECK_OK,
	RSP_CHECK_BAD,
	RSP_CHECK_LATE /* the packet is gone; its context waits for the answer */
};

#define RSP_GRH_BYTES 40u /* in front of a datagram in its receive buffer */

struct rsp_ctx {
	struct rx_pkt m;                /* m.buf: BUF_NONE once the last write took the reference */
	uint32_t next;                  /* of the same QP, or free */
	uint32_t op;                    /* oplog row of the request */
	uint64_t va, swap_add, compare; /* RETH, AtomicETH */
	uint32_t rkey, dma_len, imm;
	uint32_t off, left;  /* payload still to be written: offset in the buffer, bytes */
	uint32_t grh_left;   /* UD: of the network header in front of it */
	uint32_t flags_rqpn; /* UD: as in the CQE */
	uint32_t at; /* duplicate READ: first packet of its slot asked for; FLUSH: where it reads */
	uint8_t stage;    /* enum rsp_stage */
	uint8_t outcome;  /* enum rsp_outcome */
	uint8_t syndrome; /* RSP_NAK */
	uint8_t check;    /* enum rsp_check */
	uint8_t slot;     /* duplicate READ: its slot */
	bool is_dup;
	bool was_early;                   /* it came behind a gap */
	bool is_placed;                   /* its payload was written before its turn */
	bool is_region;                   /* FLUSH of all that the key opens */
	bool is_invalidated, has_bad_key; /* SEND with Invalidate: the key is gone; was none */
};

/* Selective repeat: a packet behind a gap. */
struct rsp_held {
	struct rx_pkt m; /* m.buf: of hold_pool, or BUF_NONE: the payload was written */
	uint32_t op, imm;
	bool is_used;
};

/* A pass over a response: packets 'start' to before 'stop', 'at' being the next. */
struct rsp_pass {
	uint32_t start, at, stop;
	uint32_t end_b; /* byte of the whole response at which it ends */
	bool is_here;   /* the state of the resource is in the NIC for it (rsc_cache) */
	bool is_cut;    /* what is behind 'stop' follows in another pass: no Last */
};

/* A responder resource: a READ or ATOMIC that can be answered again. */
struct rsp_slot {
	uint64_t va, result;
	uint32_t rkey, len, first_psn, n_psn;
	uint32_t op;
	struct rsp_pass pass;
	uint32_t n_jobs;  /* handed over and not reported done */
	uint32_t n_first; /* of these, such as were pushed before is_handed */
	uint8_t opcode;
	bool is_used;
	bool is_active;   /* on the QP's queue of responses */
	bool is_handed;   /* all of it was handed over at least once */
	bool is_answered; /* ... and has left */
};

struct rsp_qp {
	uint32_t epsn, msn;              /* expected next; messages completed */
	uint8_t type;                    /* enum qp_type */
	bool is_unacked;                 /* unreliable: nothing is acknowledged */
	bool is_shared;                  /* receives come from an SRQ */
	uint16_t recv_pd;                /* of its receives' keys */
	uint32_t commit_psn, commit_msn; /* of the last packet whose effects are final */
	/* message in progress */
	uint8_t in_msg; /* enum op_class, or RSP_NO_MESSAGE */
	uint64_t va;
	uint32_t rkey, left, msg_len;
	/* receive WQE in use */
	struct rq_rsp recv;
	uint32_t sge, sge_off;
	uint64_t room;    /* bytes of it not yet filled */
	uint16_t rq_free; /* receive WQEs posted behind it */
	bool has_recv;
	/* acknowledgement to be sent */
	bool is_ack_due, is_ack_now; /* now: neither delay nor count hold it back */
	uint8_t ack_syndrome;        /* NAK or RNR NAK; 0 = ACK */
	uint32_t ack_psn, ack_msn, ack_count;
	uint64_t ack_deadline_ps;
	bool is_nak_sent;          /* for this gap; selective repeat: RNR NAK */
	uint32_t nak_psn, nak_msn; /* sequence NAK that waits for nak_delay */
	uint64_t nak_due_ps;
	/* selective repeat */
	struct rsp_held *held; /* ring by PSN */
	uint32_t n_held;
	bool is_gap_dropped; /* a packet behind the gap was dropped and not reported */
	/* failure */
	bool is_error;         /* nothing more is executed */
	bool is_failed;        /* what is in the commit ring does not count either */
	bool is_silent;        /* the QP was reset: nothing of it is seen */
	bool is_flushed;       /* no receives are left that were posted before */
	bool is_flush_wait;    /* the flush asked for the next one */
	bool is_flush_stale;   /* and was told since then that there may be more */
	uint8_t recv_syndrome; /* CQE_SYNDROME_* of the next receive that ends with an error */
	/* packets */
	uint32_t ctx_head, ctx_tail;
	uint32_t n_commit;       /* entries in the ring */
	uint32_t n_ahead;        /* packets with a check asked for ahead */
	uint32_t n_invalidating; /* packets that take a key away */
	bool is_parked;          /* the packet at ctx_head waits for n_commit == 0 or a slot */
	/* responses */
	struct rsp_slot *slot;
	uint8_t *queue; /* slots to be answered, in order; a ring of n_slot */
	uint32_t n_slot, next_slot, q_head, q_len;
	uint32_t jobs_out;
	struct rsp_pass again; /* selective repeat: over packets of a response that were lost */
	uint8_t again_slot;
	/* look-ups not asked for; asked for; answered and not used */
	uint32_t rsc_wanted, rsc_asked, rsc_granted;
};

/* An entry of the commit ring: a write, the end of a packet, or an answer. */
struct rsp_commit {
	uint32_t qpi, psn, msn, op;
	bool is_done;    /* its write, if any, is posted */
	uint8_t status;  /* of the write */
	bool is_to_recv; /* the write goes to a receive WQE's buffer */
	bool is_end;     /* of a packet: psn and msn are valid */
	bool wants_ack;
	uint8_t syndrome; /* NAK to be sent; 0 = none */
	bool has_cqe;
	struct cqe_req cqe;
};

struct responder {
	struct block b;
	/* parameters */
	uint32_t contexts, checks, writes, burst, quantum, rate_burst, ack_buffers, ack_count;
	uint32_t units, pkt_cyc, read_cyc, atomic_cyc;
	uint32_t recovery, sr_window, sr_hold;
	uint64_t ack_delay, nak_delay;
	bool strict, credits, mig_req, enforce_rd_atomic, nak_after_rnr, long_send_remote_op;
	bool recv_remote_access, dup_needs_ack_req, inv_ack, rsc_cache, uc_resync, keep_short_recv;
	/* ports */
	struct chan *rx, *rq_rsp, *xlate_rsp, *atomic_rsp, *job_done, *dma_rsp, *peer_error,
		*mpt_rsp, *rsc_rsp;
	struct chan *rq_req, *xlate_req, *atomic_req, *job, *ack, *cqe, *dma_req, *error, *mpt_op,
		*rsc_req;
	/* state */
	struct rsp_qp *qp;
	struct rsp_ctx *ctx;
	uint32_t free_ctx;
	struct qp_list run; /* QPs whose first packet is to be looked at */
	struct qp_list want_recv, want_xlate, want_atomic, want_write, want_inval; /* contexts */
	struct qp_list ahead;    /* contexts whose range is to be checked ahead of their turn */
	struct qp_list acks;     /* QPs with an ACK or NAK that may go */
	struct qp_list delayed;  /* QPs whose ACK waits for company */
	struct qp_list naks;     /* QPs whose sequence NAK waits for nak_delay */
	struct tx_sched tx;      /* QPs with responses to send */
	struct qp_list want_rsc; /* QPs whose responder resources are to be looked up */
	struct qp_list flush;    /* QPs in error with receives to flush */
	struct qp_list errors;   /* QPs in error that the requester does not know of */
	struct qp_list closing;  /* QPs that are reset, of which something is here */
	uint32_t *ahead_links, *rsc_links, *nak_links, *run_links, *ctx_links, *ack_links,
		*delayed_links, *flush_links, *error_links, *closing_links;
	struct rsp_commit *ring;
	uint32_t ring_head, ring_len;
	struct pool *ack_pool, *grh_pool, *hold_pool;
	uint32_t sr_mask; /* entries of rsp_qp.held, less 1 */
	uint32_t n_held;
	uint32_t n_ctx;
	struct engine_rate engine; /* packets taken */
	/* statistics */
	uint64_t busy_ps;
	uint64_t packets, messages, dropped, duplicates, gaps, acks_sent, naks_sent, rnr_naks;
	uint64_t held, placed, errors_found, reads, atomics, replays, flushed, invalidations;
};

static inline const struct qp_attr *rsp_attr(const struct responder *r, uint32_t qpi)
{
	return &((const struct nic *)r->b.env)->qp[qpi];
}
static inline struct oplog *rsp_oplog(const struct responder *r)
{
	return ((const struct nic *)r->b.env)->oplog;
}
/* Lost packets of a response are to be sent again. */
static inline bool rsp_is_replaying(const struct rsp_qp *q)
{
	return q->again.at != q->again.stop;
}
/* A response is to be sent, or with the packetizer. */
static inline bool rsp_is_answering(const struct rsp_qp *q)
{
	return q->q_len || q->jobs_out || rsp_is_replaying(q);
}
/* The same, of the n-th resource. */
static inline bool rsp_is_slot_busy(const struct rsp_qp *q, uint32_t n)
{
	return q->slot[n].is_active || q->slot[n].n_jobs ||
	       (rsp_is_replaying(q) && q->again_slot == n);
}
static inline struct rsp_ctx *rsp_first_ctx(const struct responder *r, const struct rsp_qp *q)
{
	return &r->ctx[q->ctx_head];
}

/* A context that is no QP's can be used again. */
static inline void rsp_ctx_free(struct responder *r, struct rsp_ctx *c)
{
	c->next = r->free_ctx;
	r->free_ctx = (uint32_t)(c - r->ctx);
	r->n_ctx--;
}

/* By class of the request (SEND to ATOMIC WRITE): the right that the QP and the key must have. */
#define RSP_CLASSES (CLASS_ATOMIC_WRITE + 1)
extern const uint8_t rsp_class_access[RSP_CLASSES];

/* What differs between the transport services. */
struct rsp_service {
	uint8_t transport; /* of the packets that it takes: IB_RC, ... */
	/* Look at a new packet: PSN, sequence, validity. It leaves for a port, or has its end. */
	void (*begin)(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		      const struct opcode_info *i);
	/* There is no receive WQE for it. */
	void (*no_recv)(struct responder *r, struct rsp_ctx *c);
	/* It cannot be executed: NAK code, and what a receive in use would end with. */
	void (*refuse)(struct responder *r, struct rsp_ctx *c, uint8_t syndrome,
		       uint8_t recv_syndrome);
};
extern const struct rsp_service rsp_service_uc, rsp_service_ud;
extern const struct rsp_service *const rsp_services[]; /* by enum qp_type */

/* ---- responder.c ---- */

/* The QP's first packet is finished: release it and look at the next one. */
void rsp_ctx_done(struct responder *r, struct rsp_ctx *c);

/* The QP's first packet, if it is parked, is looked at again. */
void rsp_unpark(struct responder *r, uint32_t qpi);

/* ---- responder_state.c: Error, reset ---- */

/* Start a life of the QP in which 'psn' is expected first; nothing of another is left. */
void rsp_begin_life(struct responder *r, uint32_t qpi, uint32_t psn);

/* The QP executes nothing more. */
void rsp_enter_error(struct responder *r, uint32_t qpi);

/* The other half of a QP failed, was reset, or takes requests. True: the latter has to wait a cycle. */
bool rsp_take_peer_error(struct responder *r);

/* Tell the requester of one QP in error. Returns when to run again. */
uint64_t rsp_report_error(struct responder *r);

/* Receives of QPs that are reset, of which nothing else is here, are forgotten; when to run again. */
uint64_t rsp_close(struct responder *r);

/* They are: the commit ring, which has room, takes the word on. */
void rsp_closed(struct responder *r, uint32_t qpi);

/* ---- responder_ahead.c: range checks before a packet's turn ---- */

/* A packet came, as its QP's first or behind others. */
void rsp_ahead_take(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c, bool is_first);

/* It leaves: false when its context has to wait for an answer. */
bool rsp_ahead_release(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c);

/* The next packet whose check is to be asked for, which it is then; or NULL. */
struct rsp_ctx *rsp_ahead_next(struct responder *r);

/* Its turn has come: what is known. ASKED: the answer comes; OK, BAD: it came; else it is to be asked for. */
enum rsp_check rsp_ahead_use(struct rsp_qp *q, struct rsp_ctx *c);

/* An answer came. True: that was all; false: the packet waits for it. */
bool rsp_ahead_answer(struct responder *r, struct rsp_ctx *c, bool is_ok);

/* ---- responder_rsc.c: the cache of READ and ATOMIC state ---- */

/* Another response of the QP is to start: its state must be in the NIC. */
void rsp_want_rsc(struct responder *r, uint32_t qpi);

/* Pass 'p', the QP's next, may go on: takes the look-up that it waits for. */
bool rsp_has_rsc(struct responder *r, struct rsp_qp *q, struct rsp_pass *p);

/* Hand over one look-up. Returns when to run again. */
uint64_t rsp_ask_rsc(struct responder *r);

void rsp_take_rsc(struct responder *r);

/* ---- responder_exec.c: one packet ---- */

/* Look at the first packet of 'qpi': PSN, opcode, rights, lengths; or go on with a parked one. */
void rsp_run(struct responder *r, uint32_t qpi);

/* Fill the context from the packet's extended headers. */
void rsp_decode(struct responder *r, struct rsp_ctx *c, const struct opcode_info *i);

/* Everything about a request that needs neither memory nor a receive WQE. */
bool rsp_is_valid(const struct responder *r, const struct rsp_qp *q, const struct rsp_ctx *c,
		  const struct opcode_info *i);

/* A valid request goes for its receive WQE, if it needs one, and then for its range. */
void rsp_proceed(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i);

/* The receive WQE in use is to be filled from its first byte on. */
void rsp_rewind_recv(struct responder *r, struct rsp_qp *q);

void rsp_take_recv(struct responder *r);
void rsp_take_xlate(struct responder *r);
void rsp_take_atomic(struct responder *r);

/* End the packet with an answer, which takes its turn in the commit ring. */
void rsp_answer(struct responder *r, struct rsp_ctx *c, enum rsp_outcome outcome, uint8_t syndrome);

/* NAK the packet; the QP executes nothing more. */
void rsp_fatal(struct responder *r, struct rsp_ctx *c, uint8_t syndrome, uint8_t recv_syndrome);

/* ---- responder_uc.c, responder_ud.c: unreliable services ---- */

/*
 * The packet and the message that it belongs to are dropped; a receive WQE in use stays for the
 * next.
 */
void rsp_drop(struct responder *r, struct rsp_ctx *c);

/* What UC and UD do with a packet that cannot be executed. */
void rsp_refuse_unreliable(struct responder *r, struct rsp_ctx *c, uint8_t syndrome,
			   uint8_t recv_syndrome);

/* Write the next piece of the network header in front of a datagram; grh_pool has a buffer. */
void rsp_push_grh(struct responder *r, struct rsp_ctx *c, struct rsp_commit *e);

/* ---- responder_sr.c: selective repeat ---- */

/* Take a packet behind the expected PSN: write it to memory, keep it, or drop it. */
void rsp_sr_hold(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i);

/* If the expected packet is held, put it into 'c', the QP's first context, to be run. */
bool rsp_sr_next(struct responder *r, struct rsp_ctx *c);

/*
 * Send the packets of a response again that the duplicate request in 'c' names, before all that is
 * not sent yet. False if it has to wait until another response is through.
 */
bool rsp_sr_replay(struct responder *r, struct rsp_qp *q, const struct rsp_ctx *c);

/* The QP is in error: what it holds is not needed. */
void rsp_sr_forget(struct responder *r, struct rsp_qp *q);

/*
 * Fill the map (SACK_MAX_BYTES) of what arrived from PSN 'from' on. Bytes of it to be sent; 0 when
 * there is no gap to be reported.
 */
uint32_t rsp_sr_map(const struct responder *r, const struct rsp_qp *q, uint32_t from, uint8_t *map);

/* All checks passed, or the packet waited: go on with it. */
void rsp_execute(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i);

/* NAK the packet for a fault of its own, with what a receive in use ends with then. */
void rsp_refuse(struct responder *r, struct rsp_ctx *c, uint8_t syndrome);

/* ---- responder_ext.c: SEND with Invalidate, FLUSH, ATOMIC WRITE ---- */

/* What only some opcodes have: key to invalidate, 8 bytes to be stored, kind of flush. */
static inline bool rsp_is_extended(const struct opcode_info *i)
{
	return (i->xeths & (1u << X_IETH | 1u << X_FETH)) || i->op_class == CLASS_ATOMIC_WRITE;
}
void rsp_decode_extended(struct responder *r, struct rsp_ctx *c, const struct opcode_info *i);

/* Operands of ATOMIC, FLUSH, ATOMIC WRITE that can be carried out. */
bool rsp_operands_ok(const struct rsp_ctx *c, const struct opcode_info *i);

/* Have the key of a SEND with Invalidate taken away, once earlier writes of the QP are posted. */
void rsp_invalidate(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c);

/* Hand one such key to the mpt_unit. Returns when to run again. */
uint64_t rsp_ask_mpt(struct responder *r);

void rsp_take_mpt(struct responder *r);

/* The receive of a SEND with Invalidate ends: what its CQE says. */
void rsp_end_inval(struct responder *r, const struct rsp_ctx *c, struct rsp_commit *e);

/* ---- responder_commit.c: writes and their order ---- */

/*
 * A write of at most 'n' bytes to where the receive WQE in use goes on: fills the address, key,
 * length and rights of *d, and moves on behind it.
 */
void rsp_recv_piece(struct responder *r, struct rsp_qp *q, struct rsp_commit *e, uint32_t n,
		    struct dma_req *d);

/* One step of the context whose turn it is: a piece of payload, or its outcome. Returns when to run
 * again. */
uint64_t rsp_write(struct responder *r);

/* Let the oldest entry of the ring take effect. Returns when to run again. */
uint64_t rsp_commit(struct responder *r);

void rsp_take_dma_rsp(struct responder *r);

/* Something that was acknowledged internally failed: NAK 'psn', stop the QP. */
void rsp_break(struct responder *r, uint32_t qpi, uint32_t psn, uint8_t syndrome,
	       uint8_t recv_syndrome);

/* An entry of the ring, which has room, to be filled. */
struct rsp_commit *rsp_new_entry(struct responder *r, uint32_t qpi);

/* Flush posted receives of QPs in error, one a cycle. Returns when to run again. */
uint64_t rsp_flush(struct responder *r);

/* Put 'qpi' on the flush list if it is time. */
void rsp_try_flush(struct responder *r, uint32_t qpi);

/* ---- responder_tx.c: acknowledgements and responses ---- */

/* An ACK of all up to psn, or (syndrome not 0) a NAK, is due. */
void rsp_ack(struct responder *r, uint32_t qpi, uint32_t psn, uint32_t msn, uint8_t syndrome,
	     bool is_now);

/* A NAK for a sequence error is due once nak_delay is over. */
void rsp_nak_gap(struct responder *r, uint32_t qpi, uint32_t psn, uint32_t msn);

/* Send one acknowledgement. Returns when to run again. */
uint64_t rsp_send_ack(struct responder *r);

/* Answer 'slot' from its packet 'at' on. */
void rsp_activate(struct responder *r, uint32_t qpi, uint32_t slot, uint32_t at);

/* No response of the QP is sent any more but for what the packetizer has. */
void rsp_stop_answers(struct rsp_qp *q);

/* The QP takes its turns if it has a response that can be sent. After what may let it. */
void rsp_stream(struct responder *r, uint32_t qpi);

/* Hand over one job of the responses of the QP whose turn it is. Returns when to run again. */
uint64_t rsp_send_job(struct responder *r);

void rsp_take_job_done(struct responder *r);

/* AETH syndrome of an acknowledgement now. */
uint8_t rsp_ack_syndrome(const struct responder *r, uint32_t qpi);

#endif
