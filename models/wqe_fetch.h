/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe_fetch.h - state shared by the two halves of the block: wqe_fetch.c (send queues, ports,
 * table) and wqe_fetch_rq.c (receive queues)
 */
#ifndef MODELS_WQE_FETCH_H
#define MODELS_WQE_FETCH_H

#include "models/msg.h"
#include "models/nic.h"
#include "models/qp_list.h"
#include "models/verbs/wqe.h"
#include "sim/pool.h"

#define MAX_READS 256u
#define TAG_KIND 0xc0000000u /* what a DMA read was for; the rest is the slot or the queue */
#define TAG_SQ 0x00000000u
#define TAG_RQ 0x40000000u
#define TAG_DBR 0x80000000u
#define TAG_PART_SHIFT 28 /* TAG_RQ: which of the queue's reads, above the queue */
#define TAG_PART 0x30000000u

#define RQ_READS 4u /* of one receive queue outstanding */

/* An order of the scheduler under way. */
struct sq_slot {
	struct sq_fetch order;
	uint32_t buf;                  /* where its basic blocks are read to */
	uint32_t want, asked;          /* basic blocks: to be read in all, of these asked for */
	uint32_t reads;                /* outstanding */
	uint32_t done;                 /* basic blocks decoded */
	uint32_t bytes;                /* of the messages of these WQEs */
	uint64_t rate_bps;             /* of the QP; 0 = no cap */
	uint64_t taken_ps, context_ps; /* when the order came, when the context was there */
	uint16_t n_wqe;
	bool is_used;
};

/* A read of receive WQEs: outstanding, or done before one that was asked for earlier. */
struct rq_part {
	uint16_t n; /* WQEs */
	bool is_done;
};

/*
 * What the NIC knows of a receive queue, a QP's or an SRQ. Counters are those of WQEs, 16 bits. The
 * WQEs of an SRQ are linked: which one comes next is known only from the one before.
 */
struct rq_qp {
	/* the ring */
	uint64_t pa, dbr_pa;
	const uint32_t *op; /* oplog handles by place in the ring, or NULL */
	uint32_t n_wqe, stride;
	uint16_t pd;
	bool is_shared;
	/* SRQ: places in the ring of the first WQE held, of the next to read */
	uint16_t first_wqe, next_wqe;
	struct qp_list asker; /* SRQ: QPs that wait for an answer */
	uint32_t limit;       /* SRQ: fewer posted are an event, once; 0 = not armed */
	/* counters */
	uint16_t index;                    /* next to hand out */
	uint16_t read;                     /* next to read: index + n_held + n_reading */
	uint16_t producer;                 /* posted, as far as known */
	uint16_t n_waiting;                /* questions of the responder */
	uint16_t first, n_held, n_reading; /* places of the line */
	struct rq_part part[RQ_READS];     /* a ring: what n_reading is made of, oldest first */
	uint8_t part_head, n_parts;
	bool is_reading_dbr, wants_dbr;
	bool is_closing;   /* its QP is reset: it starts anew when nothing is read */
	bool is_dbr_fresh; /* the last reading began after the oldest question */
	uint32_t line, dbr_buf;
};

struct wqe_fetch {
	struct block b;
	/* parameters */
	bool exact;
	uint32_t prefetch, reads, width, wqe_slots, rq_prefetch, rq_low;
	uint64_t prefetch_time;
	/* ports */
	struct chan *fetch, *rq_req, *qpc_rsp, *dma_rsp, *fetched, *wqe, *rq_rsp;
	struct chan *qpc_req, *dma_req, *srq_cmd, *event;
	/* state: send queues */
	struct sq_slot slot[MAX_READS];
	struct qp_list sq_read, sq_decode; /* slots with reads to issue, with all their bytes */
	uint32_t sq_read_links[MAX_READS], sq_decode_links[MAX_READS];
	struct pool *blocks, *wqes_pool;
	uint64_t decode_free_cyc;
	uint32_t in_flight;
	/* state: receive queues */
	struct rq_qp *rq;                  /* by QP, then by SRQ */
	struct qp_list rq_read, rq_answer; /* queues with reads to issue, with an answer to give */
	uint32_t *rq_read_links, *rq_answer_links, *asker_links;
	uint32_t n_rq;
	struct qp_list limit; /* SRQs whose limit event is due; by queue */
	uint32_t *limit_links;
	struct pool *lines, *dbrs, *rq_pool;
	uint32_t rq_stride; /* of the largest receive WQE */
	bool is_rq_turn;    /* at dma_req */
	/* statistics */
	uint64_t fetches, sq_reads, bf_wqes, bbs, wqes, malformed, cut;
	uint64_t rq_reads, dbr_reads, rq_wqes, rq_none, srq_limits;
};

static inline const struct qp_attr *wqe_fetch_qp(const struct wqe_fetch *w, uint32_t qpi)
{
	return &((const struct nic *)w->b.env)->qp[qpi];
}

void wqe_fetch_rq_build(struct wqe_fetch *w);
void wqe_fetch_rq_reset(struct wqe_fetch *w);

/* Take one question of the responder. */
void wqe_fetch_rq_question(struct wqe_fetch *w);

/* Give one answer; false when the port or the pool refused. */
bool wqe_fetch_rq_answer(struct wqe_fetch *w);

/*
 * Start one read for the QP that has waited longest; dma_req can take it and rq_read is not empty.
 */
void wqe_fetch_rq_read(struct wqe_fetch *w);

/* Take one command, and give one limit event. Returns when to run again. */
uint64_t wqe_fetch_srq_step(struct wqe_fetch *w);

/* The read with tag 'tag' (TAG_RQ, TAG_DBR) ended. */
void wqe_fetch_rq_done(struct wqe_fetch *w, uint32_t tag);

#endif
