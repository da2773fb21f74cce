/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_writer.c - writes completion queue entries into rings in host memory
 *
 * Modelled: 64 B CQEs in the mlx5 shape (rdma-core mlx5dv.h, mlx5_cqe64 and mlx5_err_cqe;
 * big-endian), the owner bit, and overflow: the consumer index is known as of the last read of the
 * CQ's doorbell record, which is read again when the ring seems full; everything waits for that
 * read. A CQE that finds the ring full even so is lost and counted. Contexts of CQs and the turns of
 * requester and responder: cqe_context.c. Events: cqe_event.c. Not modelled: CQE compression. One CQE, EQE or interrupt a cycle.
 */
#include "models/cqe_writer.h"

#define DBR_BYTES 8u

#define T struct cqe_writer
static const struct field cqe_writer_fields[] = {
	PARAM(T, buffers, 32, 2, 4096, "CQE", "CQEs between here and host memory", "declared"),
	PARAM(T, ahead, 16, 1, 256, "CQE", "completions taken, whose CQ's context may be missing",
	      "declared"),
	PORT_IN(T, req, cqe_req, "completions of requests"),
	PORT_IN(T, rsp, cqe_req, "completions of receives"),
	PORT_IN(T, cqc_rsp, ctx_rsp, "contexts of CQs that are there"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of own transfers"),
	PORT_IN(T, arm, cq_arm, "CQs to give an event"),
	PORT_IN(T, async, async_event, "events of other blocks"),
	PORT_OUT(T, cqc_req, ctx_req, "contexts of CQs wanted"),
	PORT_OUT(T, dma_req, dma_req, "CQE and EQE writes, interrupts, doorbell record reads"),
	STAT(T, cqes, "CQE", "completions written"),
	STAT(T, errors, "CQE", "of these, with an error"),
	STAT(T, dbr_reads, "req", "doorbell records read because a CQ seemed full"),
	STAT(T, overflows, "CQE", "completions lost: the CQ was full"),
	STAT(T, arms, "db", "doorbells of CQs"),
	STAT(T, events, "EQE", "completion events"),
	STAT(T, async_events, "EQE", "events of other kinds"),
	SIGNAL(T, dbr_busy, 1, "a doorbell record is being read"),
	FIELDS_END
};
#undef T

static bool is_error(const struct cqe_req *r)
{
	return r->opcode == CQE_REQ_ERR || r->opcode == CQE_RESP_ERR;
}

/* The 64 bytes; byte offsets as in protocol.md section 13. */
static void build_cqe(const struct cqe_writer *w, const struct cqe_req *r, uint8_t *cqe)
{
	const struct nic *nic = w->b.env;
	const struct cq_attr *cq = &nic->cq[r->cqi];
	const struct qp_attr *qp = &nic->qp[r->qpi];
	bool owner = (w->cq[r->cqi].pi & cq->depth) != 0;
	bool is_recv = r->opcode != CQE_REQ && r->opcode != CQE_REQ_ERR;

	memset(cqe, 0, CQE_BYTES);
	if (is_error(r)) {
		cqe[55] = r->syndrome;
	} else {
		hdr_put(cqe, 36 * 8, 32, r->imm);
		hdr_put(cqe, 44 * 8, 32, r->byte_cnt);
		hdr_put(cqe, 48 * 8, 64, w->b.cycle);
	}
	if (is_recv && qp->type == QP_UD)
		hdr_put(cqe, 24 * 8, 32, r->flags_rqpn);
	if (is_recv && qp->srq < nic->n_srq)
		hdr_put(cqe, 32 * 8, 32, nic->srq[qp->srq].srqn);
	cqe[56] = r->wqe_opcode;
	hdr_put(cqe, 57 * 8, 24, qp->qpn);
	hdr_put(cqe, 60 * 8, 16, r->wqe_counter);
	cqe[63] = (uint8_t)(r->opcode << 4 | r->solicited << 1 | owner);
}

static void write_cqe(struct cqe_writer *w, const struct cqe_req *r)
{
	const struct nic *nic = w->b.env;
	const struct cq_attr *cq = &nic->cq[r->cqi];
	struct dma_req d = {
		.addr = cq->pa + (w->cq[r->cqi].pi & (cq->depth - 1)) * CQE_BYTES,
		.key = KEY_PHYS,
		.len = CQE_BYTES,
		.buf = pool_alloc(w->pool),
		.tag = TAG_CQE,
		.is_write = 1,
		.cls = DMA_CQE,
		.op = r->op,
	};

	build_cqe(w, r, buf_data(w->b.sim, d.buf));
	dma_req_push(w->dma_req, &d);
	w->cq[r->cqi].pi++;
	w->cqes++;
	w->errors += is_error(r);
	cqe_event_completed(w, r->cqi, r->solicited || is_error(r));
}

/* Read the doorbell record of CQ 'cqi' anew. */
static void read_dbr(struct cqe_writer *w, uint32_t cqi)
{
	const struct nic *nic = w->b.env;

	w->dbr_buf = pool_alloc(w->pool);
	w->dbr_cqi = cqi;
	w->dbr_busy = true;
	w->dbr_reads++;
	dma_req_push(w->dma_req, &(struct dma_req){ .addr = nic->cq[cqi].dbr_pa,
						    .key = KEY_PHYS,
						    .len = DBR_BYTES,
						    .buf = w->dbr_buf,
						    .tag = TAG_DBR,
						    .cls = DMA_DBR,
						    .op = OP_NONE });
}

static void take_dma_rsp(struct cqe_writer *w)
{
	const struct dma_rsp *r = dma_rsp_peek(w->dma_rsp);

	if (!r)
		return;
	if (r->tag == TAG_DBR) {
		const uint8_t *dbr = buf_data(w->b.sim, w->dbr_buf);
		uint32_t pi = w->cq[w->dbr_cqi].pi;

		/* the latest index with these 24 bits that is not ahead of the producer */
		w->cq[w->dbr_cqi].ci = pi - ((pi - (uint32_t)hdr_get(dbr, 0, 32)) & CI_MASK);
		buf_unref(&w->b, w->dbr_buf);
		w->dbr_busy = false;
		w->dbr_fresh = true;
	}
	chan_pop(w->dma_rsp);
}

/* What the step can go on with in the next cycle. */
static bool has_more(const struct cqe_writer *w)
{
	return cqe_event_is_due(w) || w->moderated.n || cqe_context_has_more(w) ||
	       (!w->dbr_busy && cqe_context_ready(w));
}

/* Events go first: they speak of CQEs that are written. */
static uint64_t write_event(struct cqe_writer *w)
{
	if (!chan_can_push(w->dma_req))
		return chan_stall(w->dma_req);
	if (!pool_can_alloc(w->pool))
		return pool_stall(w->pool);
	cqe_event_write(w);
	return has_more(w) ? w->b.cycle + 1 : CYCLE_NEVER;
}

static uint64_t cqe_writer_step(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	const struct nic *nic = b->env;
	const struct cqe_req *r;
	uint64_t next;
	bool is_full;

	take_dma_rsp(w);
	cqe_event_arm(w);
	next = cqe_context_step(w);
	if (w->moderated.n)
		next = min_u64(next, cqe_event_time(w));
	if (cqe_event_is_due(w))
		return min_u64(next, write_event(w));
	r = w->dbr_busy ? NULL : cqe_context_ready(w);
	if (!r)
		return next;
	is_full = w->cq[r->cqi].pi - w->cq[r->cqi].ci >= nic->cq[r->cqi].depth;
	if (is_full && w->dbr_fresh) {
		w->overflows++;
		cqe_event_overflow(w, r->cqi);
	} else {
		if (!chan_can_push(w->dma_req))
			return min_u64(next, chan_stall(w->dma_req));
		if (!pool_can_alloc(w->pool))
			return min_u64(next, pool_stall(w->pool));
		if (is_full) {
			read_dbr(w, r->cqi);
			return next;
		}
		write_cqe(w, r);
	}
	w->dbr_fresh = false;
	cqe_context_drop(w);
	return has_more(w) ? b->cycle + 1 : next;
}

static void cqe_writer_build(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	const struct nic *nic = b->env;

	w->pool = pool_create(b, w->buffers, CQE_BYTES);
	w->cq = block_alloc(b, nic->n_cq, sizeof(*w->cq));
	cqe_context_build(w);
	cqe_event_build(w);
}

static void cqe_writer_reset(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	const struct nic *nic = b->env;

	memset(w->cq, 0, nic->n_cq * sizeof(*w->cq));
	cqe_context_reset(w);
	cqe_event_reset(w);
	w->dbr_busy = w->dbr_fresh = false;
	w->dbr_buf = BUF_NONE;
	w->dbr_cqi = CQI_NONE;
}

const struct block_class cqe_writer_class = {
	.name = "cqe_writer",
	.impl = "c",
	.size = sizeof(struct cqe_writer),
	.fields = cqe_writer_fields,
	.doc = "writes completions into rings in host memory, watching for overflow",
	.build = cqe_writer_build,
	.reset = cqe_writer_reset,
	.step = cqe_writer_step,
};
