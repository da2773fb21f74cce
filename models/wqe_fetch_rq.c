/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe_fetch_rq.c - the receive half of wqe_fetch
 *
 * Every QP has a line of 'rq_prefetch' receive WQEs in the NIC. When the responder asks and the
 * line is empty, the doorbell record is read (receive WQEs are announced by it alone), then WQEs up
 * to the counter found. The line is filled again when half of it is used; the doorbell record is
 * read in passing when fewer than 'rq_low' posted WQEs are known, so that the credits in
 * acknowledgements stay fresh. "None posted" is answered only by a reading that began after the
 * question. Answers keep their order per QP only. A line, a doorbell record and two answers are
 * there for each QP, so no QP can take another's place and block it.
 */
#include "models/wqe_fetch.h"

#define DBR_BYTES 8u

void wqe_fetch_rq_build(struct wqe_fetch *w)
{
	struct block *b = &w->b;
	const struct nic *nic = b->env;
	uint32_t n = nic->n_qp ? nic->n_qp : 1;

	w->rq_stride = WQE_SEG;
	for (uint32_t i = 0; i < nic->n_qp; i++)
		if (nic->qp[i].rq_stride > w->rq_stride)
			w->rq_stride = nic->qp[i].rq_stride;
	w->lines = pool_create(b, n, w->rq_prefetch * w->rq_stride);
	w->dbrs = pool_create(b, n, DBR_BYTES);
	w->rq_pool = pool_create(b, (uint32_t)min_u64(2ull * n + 16, (1u << POOL_INDEX_BITS) - 1),
				 w->rq_stride);
	w->rq = block_alloc(b, n, sizeof(*w->rq));
	w->rq_read_links = block_alloc(b, n, sizeof(uint32_t));
	w->rq_answer_links = block_alloc(b, n, sizeof(uint32_t));
}

void wqe_fetch_rq_reset(struct wqe_fetch *w)
{
	const struct nic *nic = w->b.env;

	for (uint32_t i = 0; i < nic->n_qp; i++)
		w->rq[i] = (struct rq_qp){ .line = BUF_NONE };
	qp_list_init(&w->rq_read, w->rq_read_links, nic->n_qp);
	qp_list_init(&w->rq_answer, w->rq_answer_links, nic->n_qp);
}

static bool wants_wqes(const struct wqe_fetch *w, const struct rq_qp *q)
{
	return q->producer != q->read && !q->n_reading && q->n_held <= w->rq_prefetch / 2;
}

/* Put a QP on the lists that its state calls for. */
static void rq_consider(struct wqe_fetch *w, uint32_t qpi)
{
	struct rq_qp *q = &w->rq[qpi];
	bool is_dry = q->n_waiting && !q->n_held && q->producer == q->index;

	if (is_dry && !q->is_dbr_fresh && !q->is_reading_dbr && wqe_fetch_qp(w, qpi)->rq_wqe)
		q->wants_dbr = true;
	if ((q->wants_dbr && !q->is_reading_dbr) || wants_wqes(w, q))
		qp_list_add(&w->rq_read, qpi);
	if (q->n_waiting && (q->n_held || (is_dry && !q->is_reading_dbr && !q->wants_dbr)))
		qp_list_add(&w->rq_answer, qpi);
}

void wqe_fetch_rq_question(struct wqe_fetch *w)
{
	const struct rq_req *m = rq_req_peek(w->rq_req);
	struct rq_qp *q;

	if (!m)
		return;
	q = &w->rq[m->qpi];
	if (q->n_waiting++ == 0)
		q->is_dbr_fresh = false;
	if (q->line == BUF_NONE) {
		q->line = pool_alloc(w->lines);
		q->dbr_buf = pool_alloc(w->dbrs);
	}
	rq_consider(w, m->qpi);
	chan_pop(w->rq_req);
}

static void read_dbr(struct wqe_fetch *w, uint32_t qpi, struct rq_qp *q)
{
	dma_req_push(w->dma_req, &(struct dma_req){
		.addr = wqe_fetch_qp(w, qpi)->dbr_pa, .key = KEY_PHYS, .len = DBR_BYTES,
		.buf = q->dbr_buf, .tag = TAG_DBR | qpi, .cls = DMA_DBR, .op = OP_NONE });
	q->wants_dbr = false;
	q->is_reading_dbr = true;
	q->is_dbr_fresh = q->n_waiting > 0;
	w->dbr_reads++;
}

/* Receive WQEs that follow each other in the ring and in the line. */
static void read_rq_wqes(struct wqe_fetch *w, uint32_t qpi, struct rq_qp *q)
{
	const struct qp_attr *qp = wqe_fetch_qp(w, qpi);
	uint32_t at = q->read & (qp->rq_wqe - 1);
	uint32_t place = (uint32_t)(q->first + q->n_held) % w->rq_prefetch;
	uint64_t n = min_u64((uint16_t)(q->producer - q->read), w->rq_prefetch - q->n_held);

	n = min_u64(n, min_u64(qp->rq_wqe - at, w->rq_prefetch - place));
	dma_req_push(w->dma_req, &(struct dma_req){
		.addr = qp->rq_pa + (uint64_t)at * qp->rq_stride, .key = KEY_PHYS,
		.len = (uint32_t)n * qp->rq_stride, .buf = q->line, .off = place * qp->rq_stride,
		.tag = TAG_RQ | qpi, .pd = qp->pd, .cls = DMA_RQ_WQE, .op = OP_NONE });
	q->n_reading = (uint16_t)n;
	q->read = (uint16_t)(q->read + n);
	w->rq_reads++;
}

void wqe_fetch_rq_read(struct wqe_fetch *w)
{
	uint32_t qpi = qp_list_take(&w->rq_read);
	struct rq_qp *q = &w->rq[qpi];

	if (wants_wqes(w, q))
		read_rq_wqes(w, qpi, q);
	else if (q->wants_dbr && !q->is_reading_dbr)
		read_dbr(w, qpi, q);
	rq_consider(w, qpi);
}

static void answer(struct wqe_fetch *w, uint32_t qpi)
{
	struct rq_qp *q = &w->rq[qpi];
	const struct qp_attr *qp = wqe_fetch_qp(w, qpi);
	struct rq_rsp m = { .qpi = qpi, .buf = BUF_NONE, .op = OP_NONE, .index = q->index };
	const uint8_t *p;

	q->n_waiting--;
	if (!q->n_held) {
		rq_rsp_push(w->rq_rsp, &m);
		q->is_dbr_fresh = false;
		w->rq_none++;
		return;
	}
	p = (const uint8_t *)buf_data(w->b.sim, q->line) + (size_t)q->first * qp->rq_stride;
	m.buf = pool_alloc(w->rq_pool);
	memcpy(buf_data(w->b.sim, m.buf), p, qp->rq_stride);
	m.n_sge = wqe_recv_sges(p, qp->rq_stride);
	m.op = qp->rq_op ? qp->rq_op[q->index & (qp->rq_wqe - 1)] : OP_NONE;
	q->index++;
	q->first = (uint16_t)((q->first + 1u) % w->rq_prefetch);
	q->n_held--;
	m.free_wqe = (uint16_t)(q->producer - q->index);
	q->wants_dbr = m.free_wqe < w->rq_low;
	rq_rsp_push(w->rq_rsp, &m);
	w->rq_wqes++;
}

bool wqe_fetch_rq_answer(struct wqe_fetch *w)
{
	uint32_t qpi;

	if (!w->rq_answer.n)
		return true;
	if (!chan_can_push(w->rq_rsp)) {
		chan_stall(w->rq_rsp);
		return false;
	}
	if (w->rq[w->rq_answer.head].n_held && !pool_can_alloc(w->rq_pool)) {
		pool_stall(w->rq_pool);
		return false;
	}
	qpi = qp_list_take(&w->rq_answer);
	answer(w, qpi);
	rq_consider(w, qpi);
	return true;
}

static void dbr_read(struct wqe_fetch *w, uint32_t qpi)
{
	struct rq_qp *q = &w->rq[qpi];
	uint16_t producer = (uint16_t)load_be32(buf_data(w->b.sim, q->dbr_buf));

	/* A counter beyond the ring is the program's mistake: it announces nothing. */
	if ((uint16_t)(producer - q->index) <= wqe_fetch_qp(w, qpi)->rq_wqe)
		q->producer = producer;
	q->is_reading_dbr = false;
	rq_consider(w, qpi);
}

void wqe_fetch_rq_done(struct wqe_fetch *w, uint32_t tag)
{
	uint32_t qpi = tag & ~TAG_KIND;
	struct rq_qp *q = &w->rq[qpi];

	if ((tag & TAG_KIND) == TAG_DBR) {
		dbr_read(w, qpi);
		return;
	}
	q->n_held = (uint16_t)(q->n_held + q->n_reading);
	q->n_reading = 0;
	rq_consider(w, qpi);
}
