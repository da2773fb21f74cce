/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe_fetch_rq.c - the receive half of wqe_fetch
 *
 * Every QP has a line of 'rq_prefetch' receive WQEs in the NIC. When the responder asks and the
 * line is empty, the doorbell record is read (receive WQEs are announced by it alone), then WQEs up
 * to the counter found. Each half of the line that is used is filled again at once, also while the
 * other half is on its way: a queue takes up to rq_prefetch WQEs a round trip. The doorbell record
 * is read in passing when fewer than 'rq_low' posted WQEs are known, before the line runs out of
 * them, and so that the credits in acknowledgements stay fresh. "None posted" is answered only by a reading that began after the
 * question. Answers keep their order per QP only. A line, a doorbell record and two answers are
 * there for each QP, so no QP can take another's place and block it.
 *
 * A shared receive queue is served in the same way, to the QPs in the order of their questions. Its
 * WQEs are a linked list: those that follow each other in memory are read at once, and what the
 * links do not visit is dropped. The queue of a QP that is reset starts anew, which is answered as
 * a question is. Its limit is compared when its doorbell record was read, which is
 * read after each WQE handed out while fewer than that are known.
 */
#include "models/wqe_fetch.h"

#define DBR_BYTES 8u

void wqe_fetch_rq_build(struct wqe_fetch *w)
{
	struct block *b = &w->b;
	const struct nic *nic = b->env;
	uint32_t n;

	w->n_rq = nic->n_qp + nic->n_srq;
	SIM_CHECK(w->n_rq < 1u << TAG_PART_SHIFT, b);
	n = w->n_rq ? w->n_rq : 1;
	w->rq_stride = WQE_SEG;
	for (uint32_t i = 0; i < nic->n_qp; i++)
		w->rq_stride = (uint32_t)max_u64(w->rq_stride, nic->qp[i].rq_stride);
	for (uint32_t i = 0; i < nic->n_srq; i++)
		w->rq_stride = (uint32_t)max_u64(w->rq_stride, nic->srq[i].stride);
	w->lines = pool_create(b, n, w->rq_prefetch * w->rq_stride);
	w->dbrs = pool_create(b, n, DBR_BYTES);
	w->rq_pool = pool_create(b, (uint32_t)min_u64(2ull * n + 16, (1u << POOL_INDEX_BITS) - 1),
				 w->rq_stride);
	w->rq = block_alloc(b, n, sizeof(*w->rq));
	w->rq_read_links = block_alloc(b, n, sizeof(uint32_t));
	w->rq_answer_links = block_alloc(b, n, sizeof(uint32_t));
	w->asker_links = block_alloc(b, n, sizeof(uint32_t));
	w->limit_links = block_alloc(b, n, sizeof(uint32_t));
}

void wqe_fetch_rq_reset(struct wqe_fetch *w)
{
	const struct nic *nic = w->b.env;

	for (uint32_t i = 0; i < nic->n_qp; i++) {
		const struct qp_attr *a = &nic->qp[i];

		w->rq[i] = (struct rq_qp){ .line = BUF_NONE,
					   .pa = a->rq_pa,
					   .dbr_pa = a->dbr_pa,
					   .op = a->rq_op,
					   .n_wqe = a->rq_wqe,
					   .stride = a->rq_stride,
					   .pd = a->pd };
	}
	for (uint32_t i = 0; i < nic->n_srq; i++) {
		const struct srq_attr *a = &nic->srq[i];
		struct rq_qp *q = &w->rq[nic->n_qp + i];

		*q = (struct rq_qp){ .line = BUF_NONE,
				     .pa = a->pa,
				     .dbr_pa = a->dbr_pa,
				     .op = a->op,
				     .n_wqe = a->n_wqe,
				     .stride = a->stride,
				     .pd = a->pd,
				     .is_shared = true,
				     .limit = a->limit };
		/* a QP has one question open: the lists share their links */
		qp_list_init(&q->asker, w->asker_links, nic->n_qp);
	}
	qp_list_init(&w->limit, w->limit_links, w->n_rq);
	qp_list_init(&w->rq_read, w->rq_read_links, w->n_rq);
	qp_list_init(&w->rq_answer, w->rq_answer_links, w->n_rq);
}

static bool wants_wqes(const struct wqe_fetch *w, const struct rq_qp *q)
{
	uint32_t n_reads =
		q->is_shared ? 1 : RQ_READS; /* links: the next begins where this one ends */

	return q->producer != q->read && q->n_parts < n_reads &&
	       q->n_held + q->n_reading <= w->rq_prefetch / 2 && !q->is_closing;
}

/* Put a queue on the lists that its state calls for. */
static void rq_consider(struct wqe_fetch *w, uint32_t rqi)
{
	struct rq_qp *q = &w->rq[rqi];
	bool is_dry;

	if (q->is_closing) {
		if (!q->n_reading && !q->is_reading_dbr)
			qp_list_add(&w->rq_answer, rqi);
		return;
	}
	is_dry = q->n_waiting && !q->n_held && q->producer == q->index;

	if (is_dry && !q->is_dbr_fresh && !q->is_reading_dbr && q->n_wqe)
		q->wants_dbr = true;
	if ((q->wants_dbr && !q->is_reading_dbr) || wants_wqes(w, q))
		qp_list_add(&w->rq_read, rqi);
	if (q->n_waiting && (q->n_held || (is_dry && !q->is_reading_dbr && !q->wants_dbr)))
		qp_list_add(&w->rq_answer, rqi);
}

static void open_line(struct wqe_fetch *w, struct rq_qp *q)
{
	if (q->line != BUF_NONE)
		return;
	q->line = pool_alloc(w->lines);
	q->dbr_buf = pool_alloc(w->dbrs);
}

void wqe_fetch_rq_question(struct wqe_fetch *w)
{
	const struct rq_req *m = rq_req_peek(w->rq_req);
	const struct nic *nic = w->b.env;
	struct rq_qp *q;
	uint32_t rqi;

	if (!m)
		return;
	rqi = m->qpi;
	if (m->is_reset) {
		w->rq[rqi].is_closing = true;
		w->rq[rqi].wants_dbr = false;
		rq_consider(w, rqi);
		chan_pop(w->rq_req);
		return;
	}
	if (nic->qp[m->qpi].srq < nic->n_srq)
		rqi = nic->n_qp + nic->qp[m->qpi].srq;
	q = &w->rq[rqi];
	if (q->n_waiting++ == 0)
		q->is_dbr_fresh = false;
	if (q->is_shared)
		qp_list_add(&q->asker, m->qpi);
	open_line(w, q);
	rq_consider(w, rqi);
	chan_pop(w->rq_req);
}

static void read_dbr(struct wqe_fetch *w, uint32_t rqi, struct rq_qp *q)
{
	dma_req_push(w->dma_req, &(struct dma_req){ .addr = q->dbr_pa,
						    .key = KEY_PHYS,
						    .len = DBR_BYTES,
						    .buf = q->dbr_buf,
						    .tag = TAG_DBR | rqi,
						    .cls = DMA_DBR,
						    .op = OP_NONE });
	q->wants_dbr = false;
	q->is_reading_dbr = true;
	q->is_dbr_fresh = q->n_waiting > 0;
	w->dbr_reads++;
}

/* Receive WQEs that follow each other in the ring and in the line. */
static void read_rq_wqes(struct wqe_fetch *w, uint32_t rqi, struct rq_qp *q)
{
	uint32_t at = q->is_shared ? q->next_wqe : q->read & (q->n_wqe - 1);
	uint32_t used = (uint32_t)q->n_held + q->n_reading;
	uint32_t place = (q->first + used) % w->rq_prefetch;
	uint32_t part = (q->part_head + q->n_parts++) % RQ_READS;
	uint64_t n = min_u64((uint16_t)(q->producer - q->read), w->rq_prefetch - used);

	n = min_u64(n, min_u64(q->n_wqe - at, w->rq_prefetch - place));
	dma_req_push(w->dma_req, &(struct dma_req){ .addr = q->pa + (uint64_t)at * q->stride,
						    .key = KEY_PHYS,
						    .len = (uint32_t)n * q->stride,
						    .buf = q->line,
						    .off = place * q->stride,
						    .tag = TAG_RQ | part << TAG_PART_SHIFT | rqi,
						    .pd = q->pd,
						    .cls = DMA_RQ_WQE,
						    .op = OP_NONE });
	q->part[part] = (struct rq_part){ .n = (uint16_t)n };
	q->n_reading = (uint16_t)(q->n_reading + n);
	q->read = (uint16_t)(q->read + n);
	w->rq_reads++;
}

void wqe_fetch_rq_read(struct wqe_fetch *w)
{
	uint32_t rqi = qp_list_take(&w->rq_read);
	struct rq_qp *q = &w->rq[rqi];

	if (wants_wqes(w, q))
		read_rq_wqes(w, rqi, q);
	else if (q->wants_dbr && !q->is_reading_dbr)
		read_dbr(w, rqi, q);
	rq_consider(w, rqi);
}

/* The WQE in a place of the queue's line; of an SRQ's, the one that it links to. */
static const uint8_t *line_at(const struct wqe_fetch *w, const struct rq_qp *q, uint32_t place)
{
	return (const uint8_t *)buf_data(w->b.sim, q->line) + (size_t)place * q->stride;
}

static uint16_t link_of(const struct rq_qp *q, const uint8_t *wqe)
{
	return (uint16_t)((load_be32(wqe + WQE_NEXT) >> 16) & (q->n_wqe - 1));
}

static void answer_reset(struct wqe_fetch *w, uint32_t rqi)
{
	struct rq_qp *q = &w->rq[rqi];

	q->index = q->read = q->producer = q->first = q->n_held = 0;
	q->is_closing = q->is_dbr_fresh = false;
	rq_rsp_push(w->rq_rsp, &(struct rq_rsp){ .qpi = rqi, .op = OP_NONE, .is_reset = 1 });
}

static void answer(struct wqe_fetch *w, uint32_t rqi)
{
	struct rq_qp *q = &w->rq[rqi];
	struct rq_rsp m = { .qpi = q->is_shared ? qp_list_take(&q->asker) : rqi,
			    .buf = BUF_NONE,
			    .op = OP_NONE,
			    .index = q->is_shared ? q->first_wqe : q->index };
	uint32_t head = q->is_shared ? WQE_SEG : 0;
	const uint8_t *p;

	q->n_waiting--;
	if (!q->n_held) {
		rq_rsp_push(w->rq_rsp, &m);
		q->is_dbr_fresh = false;
		w->rq_none++;
		return;
	}
	p = line_at(w, q, q->first);
	m.buf = pool_alloc(w->rq_pool);
	memcpy(buf_data(w->b.sim, m.buf), p + head, q->stride - head);
	m.n_sge = wqe_recv_sges(p + head, q->stride - head);
	m.op = q->op ? q->op[m.index & (q->n_wqe - 1)] : OP_NONE;
	if (q->is_shared)
		q->first_wqe = link_of(q, p);
	q->index++;
	q->first = (uint16_t)((q->first + 1u) % w->rq_prefetch);
	q->n_held--;
	m.free_wqe = (uint16_t)(q->producer - q->index);
	q->wants_dbr = m.free_wqe < max_u64(w->rq_low, q->limit);
	rq_rsp_push(w->rq_rsp, &m);
	w->rq_wqes++;
}

bool wqe_fetch_rq_answer(struct wqe_fetch *w)
{
	uint32_t rqi;

	if (!w->rq_answer.n)
		return true;
	if (!chan_can_push(w->rq_rsp)) {
		chan_stall(w->rq_rsp);
		return false;
	}
	if (w->rq[w->rq_answer.head].n_held && !w->rq[w->rq_answer.head].is_closing &&
	    !pool_can_alloc(w->rq_pool)) {
		pool_stall(w->rq_pool);
		return false;
	}
	rqi = qp_list_take(&w->rq_answer);
	if (w->rq[rqi].is_closing)
		answer_reset(w, rqi);
	else
		answer(w, rqi);
	rq_consider(w, rqi);
	return true;
}

/* The program sets a limit. An event that the one before it gave goes out first. */
static void take_limit(struct wqe_fetch *w)
{
	const struct nic *nic = w->b.env;
	const struct srq_cmd *m = srq_cmd_peek(w->srq_cmd);
	struct rq_qp *q;

	if (!m || qp_list_has(&w->limit, nic->n_qp + m->srqi))
		return;
	q = &w->rq[nic->n_qp + m->srqi];
	open_line(w, q);
	q->limit = m->limit;
	q->wants_dbr |= m->limit != 0;
	rq_consider(w, nic->n_qp + m->srqi);
	chan_pop(w->srq_cmd);
}

uint64_t wqe_fetch_srq_step(struct wqe_fetch *w)
{
	const struct nic *nic = w->b.env;

	take_limit(w);
	if (!w->limit.n)
		return CYCLE_NEVER;
	if (!chan_can_push(w->event))
		return chan_stall(w->event);
	async_event_push(w->event,
			 &(struct async_event){
				 .type = EQE_SRQ_LIMIT,
				 .number = nic->srq[qp_list_take(&w->limit) - nic->n_qp].srqn });
	return w->limit.n || srq_cmd_peek(w->srq_cmd) ? w->b.cycle + 1 : CYCLE_NEVER;
}

static void dbr_read(struct wqe_fetch *w, uint32_t rqi)
{
	struct rq_qp *q = &w->rq[rqi];
	uint16_t producer = (uint16_t)load_be32(buf_data(w->b.sim, q->dbr_buf));

	/* A counter beyond the ring is the program's mistake: it announces nothing. */
	if ((uint16_t)(producer - q->index) <= q->n_wqe)
		q->producer = producer;
	q->is_reading_dbr = false;
	if ((uint16_t)(q->producer - q->index) < q->limit) {
		q->limit = 0;
		w->srq_limits++;
		qp_list_add(&w->limit, rqi);
	}
	rq_consider(w, rqi);
}

/* What was read of an SRQ, at once: keep as many as the links visit one after the other. */
static void follow_links(struct wqe_fetch *w, struct rq_qp *q)
{
	uint32_t place = (uint32_t)(q->first + q->n_held) % w->rq_prefetch, n = 0;
	uint16_t at;

	do {
		at = q->next_wqe;
		q->next_wqe = link_of(q, line_at(w, q, place + n++));
	} while (n < q->n_reading && q->next_wqe == at + 1);
	q->read = (uint16_t)(q->read - (q->n_reading - n));
	q->n_reading = q->part[q->part_head].n = (uint16_t)n;
}

void wqe_fetch_rq_done(struct wqe_fetch *w, uint32_t tag)
{
	uint32_t rqi = tag & ~(TAG_KIND | TAG_PART);
	struct rq_qp *q = &w->rq[rqi];

	if ((tag & TAG_KIND) == TAG_DBR) {
		dbr_read(w, rqi);
		return;
	}
	if (q->is_shared)
		follow_links(w, q);
	q->part[(tag & TAG_PART) >> TAG_PART_SHIFT].is_done = true;
	while (q->n_parts && q->part[q->part_head].is_done) {
		uint16_t n = q->part[q->part_head].n;

		q->n_held = (uint16_t)(q->n_held + n);
		q->n_reading = (uint16_t)(q->n_reading - n);
		q->part_head = (q->part_head + 1) % RQ_READS;
		q->n_parts--;
	}
	rq_consider(w, rqi);
}
