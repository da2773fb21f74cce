/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_writer.h - state shared by the parts of the block: cqe_context.c (what a completion waits for),
 * cqe_writer.c (completions), cqe_compress.c (several as one block) and cqe_event.c (events)
 */
#ifndef MODELS_CQE_WRITER_H
#define MODELS_CQE_WRITER_H

#include "models/cqe_compress.h"
#include "models/packet/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/qp_list.h"
#include "sim/pool.h"

#define CQE_BYTES 64u
#define CI_MASK 0xffffffu /* consumer indices of the program have 24 bits */

enum { CQE_TAG_CQE, CQE_TAG_EVENT, CQE_TAG_DBR }; /* CQE_TAG_DBR + CQ */
enum cq_armed { CQ_UNARMED, CQ_ARMED, CQ_ARMED_SOLICITED };

struct cq_state {
	uint32_t pi, ci;        /* CQEs written; consumer index last read */
	uint32_t solicited;     /* behind the last CQE that is solicited or an error */
	uint32_t from;          /* armed: an event is due for CQEs from here on */
	uint64_t due_ps;        /* moderated: the event waits until then */
	uint32_t session;       /* its open one, index + 1; 0 = none */
	uint8_t armed;          /* enum cq_armed */
	uint64_t lost;          /* CQEs that found no room */
	struct qp_list blocked; /* completions that wait for its doorbell record */
	uint32_t dbr_buf;       /* it is being read into; BUF_NONE = it is not */
	bool is_dbr_fresh;      /* its last reading began for the first of these */
};

/* Completions that wait to be written as one block. */
struct cqe_session {
	struct cqe_req first;
	uint64_t first_cyc, due_cyc; /* when it came; when the block is written */
	uint32_t n;                  /* 0: free */
	uint8_t mini[MINI_MAX][MINI_BYTES];
};

struct cqe_writer {
	struct block b;
	/* parameters */
	uint32_t buffers, ahead, records, compress_max, compress_sessions;
	uint64_t compress_time;
	uint8_t mini_format;
	bool compress;
	/* ports */
	struct chan *req, *rsp, *cqc_rsp, *dma_rsp, *arm, *async, *cqc_req, *dma_req, *error,
		*closed;
	/* state */
	struct pool *pool;
	struct cq_state *cq;
	bool *has_failed; /* by QP: its requester was told of a lost completion */
	/* completions: 'ahead' of them, each on one list */
	struct cqe_req *waiting;
	struct qp_list free, asked, ready; /* wait for their CQ's context; do not */
	struct qp_list
		retry; /* CQs whose doorbell record came, with completions that are blocked */
	struct qp_list refresh; /* CQs whose doorbell record is to be read ahead of need */
	uint32_t *waiting_links, *retry_links, *refresh_links;
	uint32_t n_asked; /* doorbell records being read */
	bool turn_rsp;    /* the responder goes first when both have something */
	/* compression */
	struct cqe_session *session;
	uint64_t compress_cyc;
	uint32_t n_open, writing,
		pieces; /* sessions; the one being written, and its arrays to go */
	/* events */
	struct qp_list fire;      /* CQs whose event is to be written */
	struct qp_list fail;      /* CQs that overflowed, and the program is to be told */
	struct qp_list moderated; /* CQs whose event waits for more completions */
	uint32_t *fire_links, *fail_links, *moderated_links;
	uint32_t eq_pi; /* EQEs written */
	bool owes_irq;  /* the last one's interrupt is to be written */
	/* statistics */
	uint64_t cqes, cqe_b, blocks, minis, errors, dbr_reads, dbr_waits, overflows, arms, events,
		async_events;
};

static inline const struct nic *cqe_nic(const struct cqe_writer *w)
{
	return w->b.env;
}

/* ---- cqe_context.c ---- */

void cqe_context_build(struct cqe_writer *w);
void cqe_context_reset(struct cqe_writer *w);

/* Take a completion and ask for its CQ's context; take an answer. Returns when to go on. */
uint64_t cqe_context_step(struct cqe_writer *w);

/* A completion can be taken in the next cycle; there is one to go on with. */
bool cqe_context_has_more(const struct cqe_writer *w);
bool cqe_context_has_ready(const struct cqe_writer *w);

/* The completion to go on with: its context is there, and none of its CQ is before it. NULL: none. */
const struct cqe_req *cqe_context_ready(struct cqe_writer *w);

/* That one was written or lost; it waits for its CQ's doorbell record, which is being read; the record came. */
void cqe_context_drop(struct cqe_writer *w);
void cqe_context_block(struct cqe_writer *w);
void cqe_context_unblock(struct cqe_writer *w, uint32_t cqi);

/* ---- cqe_writer.c ---- */

/* The 64 bytes of a completion that came in cycle 'cyc', for the CQ's next entry. */
void cqe_build(const struct cqe_writer *w, const struct cqe_req *r, uint64_t cyc, uint8_t *cqe);

/* Write it there; dma_req and the pool have room. */
void cqe_write(struct cqe_writer *w, const struct cqe_req *r, uint64_t cyc);

/* ---- cqe_compress.c ---- */

void cqe_compress_build(struct cqe_writer *w);
void cqe_compress_reset(struct cqe_writer *w);

/* Completions of a CQ that are in a session. */
uint32_t cqe_compress_pending(const struct cqe_writer *w, uint32_t cqi);

/* What becomes of a completion for which its CQ has room: is it in a session, to be written alone, or to wait? */
enum cqe_offer { CQE_TAKEN, CQE_ALONE, CQE_WAITS };
enum cqe_offer cqe_compress_offer(struct cqe_writer *w, const struct cqe_req *r);

/* The cycle in which a session is to be written, or goes on being written. */
uint64_t cqe_compress_due(const struct cqe_writer *w);

/* Write a piece of it; dma_req and the pool have room. */
void cqe_compress_write(struct cqe_writer *w);

/* ---- cqe_event.c ---- */

void cqe_event_build(struct cqe_writer *w);
void cqe_event_reset(struct cqe_writer *w);

/* A CQE was written to CQ 'cqi'. */
void cqe_event_completed(struct cqe_writer *w, uint32_t cqi, bool is_solicited);

/* A CQE found no room in CQ 'cqi'. */
void cqe_event_overflow(struct cqe_writer *w, uint32_t cqi);

/* Take one doorbell of a CQ. */
void cqe_event_arm(struct cqe_writer *w);

/* Something is to be written for an event. */
bool cqe_event_is_due(const struct cqe_writer *w);

/* Write an EQE or its interrupt; dma_req and the pool have room. */
void cqe_event_write(struct cqe_writer *w);

/* Moderated events whose time has come fire. Returns the cycle of the next. */
uint64_t cqe_event_time(struct cqe_writer *w);

#endif
