/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - the struct of the CPU's block, shared by its two files: the core, and the calls it
 * makes
 */
#ifndef MODELS_WORKLOAD_H
#define MODELS_WORKLOAD_H

#include "models/msg.h"
#include "models/verbs/setup.h"

#define DROP_KEYS 34u /* of a region, and of windows that were bound to it */

/* A QP's records. */
struct work_queue {
	uint32_t head, tail;          /* in file order */
	uint32_t n_recvs;             /* among them: what receives must not pass */
	uint32_t parked, parked_tail; /* receives that wait for room */
	bool is_blocked;              /* the first waits for room or its window */
	bool is_parked_ready;         /* the first parked one is among those that can run */
};

/* A core: what it does, and what waits for it. */
struct core {
	uint32_t ready;                       /* heap of records that can run */
	struct cpu_list *list;                /* accesses of the call under way */
	uint32_t at;                          /* the next of them */
	uint64_t free_cyc;                    /* the core does something until then */
	uint32_t storing;                     /* MEM record under way, or REC_NONE */
	uint64_t stored;                      /* of its bytes */
	uint32_t drop_key[DROP_KEYS], n_drop; /* keys that the NIC is to forget */
	struct srq_cmd limit; /* has_limit: for the NIC, once the accesses are done */
	bool has_limit;
	uint32_t poll_head, poll_tail; /* CQs to be polled: index + 1 */
	uint32_t rsp_head, rsp_tail;   /* answers of polls, by tag + 1 */
	uint32_t unzip; /* CQ of a compressed block whose next completion is at hand: index + 1 */
};

struct workload {
	struct block b;
	/* parameters */
	uint64_t post_cost, doorbell_cost, poll_cost, dereg_cost, cmd_cost, irq_cost;
	uint64_t wc_cost, flush_cost;
	uint8_t post; /* enum post_mode */
	uint32_t wc_bytes;
	uint32_t ci_every, cores;
	/* ports */
	struct chan *rec, *cpu_rsp, *cpu_req, *mpt_cmd, *srq_cmd, *closed;
	/* state */
	struct work_queue *wq; /* by QP; then receives by SRQ */
	struct core *core;     /* 'cores' of them */
	struct core *c;        /* whose turn it is in this step */
	uint32_t turn;         /* the core that goes first */
	bool is_port_used;     /* in this cycle, by a core that went before */
	bool is_kicked;        /* a core gave another one something to do */
	struct cpu_rsp *rsp;   /* by tag: answers that wait for their core */
	uint32_t *rsp_next;    /* by tag: list of them, + 1 */
	uint64_t post_cyc, doorbell_cyc, wc_cyc, flush_cyc, poll_cyc, dereg_cyc, cmd_cyc, irq_cyc;
	/* statistics */
	uint64_t posts, recvs, refused, cqes, error_cqes, doorbells, mem_b, events, busy_ps;
	uint64_t busy_cyc; /* of all cores */
	/* waves */
	uint32_t open_sends, open_recvs; /* posted, not completed */
	bool is_busy;
};

/* The core is busy for so many cycles, at least one, from cycle 'at' on. */
static inline void spend_from(struct workload *w, uint64_t at, uint64_t cyc)
{
	uint64_t from = max_u64(w->c->free_cyc, at);

	w->c->free_cyc = at + max_u64(cyc, 1);
	w->busy_cyc += w->c->free_cyc - from;
	w->busy_ps = domain_edge(w->b.dom, w->busy_cyc) / w->cores;
}

static inline void spend(struct workload *w, uint64_t cyc)
{
	spend_from(w, w->b.cycle, cyc);
}

/* The core that a receive queue, or the send queue of the same index, belongs to. */
static inline struct core *core_of(struct workload *w, const struct host *h, uint32_t rqi)
{
	return &w->core[rqi < h->nic->n_qp ? h->qp[rqi].core : (rqi - h->nic->n_qp) % w->cores];
}

/* Start a call: its accesses follow when the core is free. */
static inline struct cpu_list *new_list(struct workload *w)
{
	w->c->list->n = 0;
	w->c->at = 0;
	return w->c->list;
}

extern const struct block_class workload_class;

/* ---- workload_records.c ---- */

/* A record of the trace is here. */
void workload_arrive(struct workload *w, struct host *h, uint32_t handle);

/*
 * Records whose last dependency was met at an earlier time stamp are ready; the others stay for the
 * next cycle.
 */
void workload_take_inbox(struct workload *w, struct host *h);

/* The record can run: it is the turn of its queue, if it has one. Others are the first core's. */
void workload_ready(struct workload *w, struct host *h, uint32_t handle);

/* ---- workload.c ---- */

/* A core pushes something to another block, one a cycle: false when another one did. */
bool workload_may_push(struct workload *w);

/* A CQ has something outstanding: poll it, unless that is being done. */
void workload_want_poll(struct workload *w, struct host *h, uint32_t cqi);

/* Run a record that was taken from the ready ones. */
void workload_run(struct workload *w, struct host *h, uint32_t handle);

/*
 * The answers to polls of a byte (poll=) have tags of their own, behind that of the event queue:
 * one a QP. The first post of QP 'qpi' may go on.
 */
static inline uint32_t workload_byte_tag(const struct host *h, uint32_t qpi)
{
	return verbs_eq_tag(h) + 1 + qpi;
}
void workload_byte_seen(struct workload *w, struct host *h, uint32_t qpi);

/* A receive is to be posted as soon as there is room, behind those that wait for it already. */
void workload_park(struct workload *w, struct host *h, uint32_t handle);

/* A receive of this QP was retired: the first parked one may have room now. */
void workload_unpark(struct workload *w, struct host *h, struct work_queue *q);

/* The next stores of the MEM record under way, as many as a list takes. */
void workload_store(struct workload *w, struct host *h);

/* ---- workload_cqe.c: completions ---- */

/* What a poll of a CQ found: a CQE, the title of a compressed block, or the array that such a one needs. */
void workload_take_cqe(struct workload *w, struct host *h, const struct cpu_rsp *rsp);

/* The next completion of the core's compressed block. */
void workload_unzip(struct workload *w, struct host *h);

/* ---- workload_state.c: records that change QPs and CQs ---- */

void workload_modify(struct workload *w, struct host *h, uint32_t handle);
void workload_destroy(struct workload *w, struct host *h, uint32_t handle);

/* A completion tells that its QP is in Error: receives that the NIC does not know are flushed. */
void workload_note_error(struct workload *w, struct host *h, const struct wc *wc);

/* A receive was posted: to a QP in Error the NIC has to be told. */
void workload_note_recv(struct workload *w, struct host *h, uint32_t qpi);

/* An answer about the event queue, or about a CQ that is emptied. */
void workload_take_event(struct workload *w, struct host *h, const struct cpu_rsp *rsp);

/* The next step for a CQ in event mode: arm it, or look for a completion. */
void workload_serve_cq(struct workload *w, struct host *h, uint32_t cqi);

void workload_arm(struct workload *w, struct host *h, uint32_t handle);
void workload_limit(struct workload *w, struct host *h, uint32_t handle);

/* Hand the SRQ's limit to the NIC. Returns when the core wants to go on. */
uint64_t workload_push_limit(struct workload *w);

/* The NIC holds no more of half a QP that is reset: with the second half the record can end. */
void workload_take_closed(struct workload *w, struct host *h);

/* The record of a QP is done: the next one's turn. */
void workload_next(struct workload *w, struct host *h, struct work_queue *q);

/* The stores of a dereg have landed by now: have the NIC forget the keys. */
uint64_t workload_drop_keys(struct workload *w);

#endif
