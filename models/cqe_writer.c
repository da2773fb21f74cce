/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_writer.c - writes completion queue entries into rings in host memory
 *
 * Modelled: 64 B CQEs in the mlx5 shape (rdma-core mlx5dv.h, mlx5_cqe64 and mlx5_err_cqe;
 * big-endian), the owner bit, and overflow: the consumer index is known as of the last read of the
 * CQ's doorbell record. It is read again ahead of need, behind each quarter of the ring, when half the
 * ring seems full: nothing waits for that. Only when the ring seems full do the completions of that CQ
 * wait for a read, those of others go on. A CQE that finds the ring full even so is lost and counted,
 * and its QP goes to Error. What completions wait for, and the turns of requester and responder:
 * cqe_context.c. Compressed completions: cqe_compress.c. Events: cqe_event.c. One write a cycle.
 */
#include "models/cqe_writer.h"
#include "models/trace/trace.h"

#define DBR_BYTES 8u

static const char *const mini_formats[] = { "hash", "csum", "csum_stridx", NULL };

#define T struct cqe_writer
static const struct field cqe_writer_fields[] = {
	PARAM(T, buffers, 32, 2, 4096, "CQE", "CQEs between here and host memory", "declared"),
	PARAM(T, ahead, 16, 1, 256, "CQE",
	      "completions taken, which may wait for their CQ's context or doorbell record",
	      "declared"),
	PARAM(T, records, 8, 1, 256, "CQ", "doorbell records being read at a time", "declared"),
	PARAM_BOOL(
		T, compress, 0, "write completions of a CQ that are alike as one block",
		"documented: off unless asked for, mlx5dv_create_cq(3), MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE"),
	PARAM(T, compress_max, MINI_MAX, 2, MINI_MAX, "CQE", "completions in a block at most",
	      "declared: a capability of the device, cqe_compression_max_num of mlx5_ifc.h"),
	PARAM_TIME(T, compress_time, 200 * PS_PER_NS, 0, PS_PER_MS,
		   "a block is written when its first completion is so old",
		   "declared: a capability of the device, cqe_compression_timeout of mlx5_ifc.h"),
	PARAM(T, compress_sessions, 16, 1, 1024, "CQ", "CQs whose completions can wait for a block",
	      "declared"),
	PARAM_ENUM(T, mini_format, MINI_HASH, mini_formats,
		   "mini CQEs of receives; only with csum_stridx those of SRQs are compressed",
		   "documented: enum mlx5dv_cqe_comp_res_format of mlx5dv.h"),
	PORT_IN(T, req, cqe_req, "completions of requests"),
	PORT_IN(T, rsp, cqe_req, "completions of receives"),
	PORT_IN(T, cqc_rsp, ctx_rsp, "contexts of CQs that are there"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of own transfers"),
	PORT_IN(T, arm, cq_arm, "CQs to give an event"),
	PORT_IN(T, async, async_event, "events of other blocks"),
	PORT_OUT(T, cqc_req, ctx_req, "contexts of CQs wanted"),
	PORT_OUT(T, error, qp_cmd, "QPs whose completion was lost, which go to Error"),
	PORT_OUT(T, closed, qp_closed, "halves of QPs that are reset, to the program"),
	PORT_OUT(T, dma_req, dma_req, "CQE and EQE writes, interrupts, doorbell record reads"),
	STAT(T, cqes, "CQE", "completions written"),
	STAT(T, cqe_b, "B", "bytes written for them"),
	STAT(T, blocks, "blk", "compressed blocks"),
	STAT(T, minis, "CQE", "completions in them"),
	STAT(T, errors, "CQE", "completions with an error"),
	STAT(T, dbr_reads, "req",
	     "doorbell records read, ahead of need or because a CQ seemed full"),
	STAT(T, dbr_waits, "req", "those of them that completions waited for: the CQ seemed full"),
	STAT(T, overflows, "CQE", "completions lost: the CQ was full"),
	STAT(T, arms, "db", "doorbells of CQs"),
	STAT(T, events, "EQE", "completion events"),
	STAT(T, async_events, "EQE", "events of other kinds"),
	SIGNAL(T, n_asked, 9, "doorbell records being read"),
	FIELDS_END
};
#undef T

static bool is_error(const struct cqe_req *r)
{
	return r->opcode == CQE_REQ_ERR || r->opcode == CQE_RESP_ERR;
}

/* The 64 bytes; byte offsets as in protocol.md section 13. */
void cqe_build(const struct cqe_writer *w, const struct cqe_req *r, uint64_t cyc, uint8_t *cqe)
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
		hdr_put(cqe, 48 * 8, 64, cyc);
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

void cqe_write(struct cqe_writer *w, const struct cqe_req *r, uint64_t cyc)
{
	const struct nic *nic = w->b.env;
	const struct cq_attr *cq = &nic->cq[r->cqi];
	struct dma_req d = {
		.addr = cq->pa + (w->cq[r->cqi].pi & (cq->depth - 1)) * CQE_BYTES,
		.key = KEY_PHYS,
		.len = CQE_BYTES,
		.buf = pool_alloc(w->pool),
		.tag = CQE_TAG_CQE,
		.is_write = 1,
		.cls = DMA_CQE,
		.op = r->op,
	};

	cqe_build(w, r, cyc, buf_data(w->b.sim, d.buf));
	dma_req_push(w->dma_req, &d);
	w->cq[r->cqi].pi++;
	w->cqes++;
	w->cqe_b += CQE_BYTES;
	w->errors += is_error(r);
	cqe_event_completed(w, r->cqi, r->solicited || is_error(r));
}

/* Read the doorbell record of CQ 'cqi' anew: for its first completion that waits, or ahead of need. */
static void read_dbr(struct cqe_writer *w, uint32_t cqi, bool is_waited_for)
{
	struct cq_state *q = &w->cq[cqi];

	q->dbr_buf = pool_alloc(w->pool);
	q->is_dbr_fresh = is_waited_for;
	w->dbr_waits += is_waited_for;
	w->n_asked++;
	w->dbr_reads++;
	dma_req_push(w->dma_req, &(struct dma_req){ .addr = cqe_nic(w)->cq[cqi].dbr_pa,
						    .key = KEY_PHYS,
						    .len = DBR_BYTES,
						    .buf = q->dbr_buf,
						    .tag = CQE_TAG_DBR + cqi,
						    .cls = DMA_DBR,
						    .op = OP_NONE });
}

static void take_dbr(struct cqe_writer *w, uint32_t cqi)
{
	struct cq_state *q = &w->cq[cqi];
	uint32_t ci = (uint32_t)hdr_get(buf_data(w->b.sim, q->dbr_buf), 0, 32);

	/* the latest index with these 24 bits that is not ahead of the producer */
	q->ci = q->pi - ((q->pi - ci) & CI_MASK);
	buf_unref(&w->b, q->dbr_buf);
	q->dbr_buf = BUF_NONE;
	w->n_asked--;
	if (q->blocked.n)
		cqe_context_unblock(w, cqi);
}

static void take_dma_rsp(struct cqe_writer *w)
{
	const struct dma_rsp *r = dma_rsp_peek(w->dma_rsp);

	if (!r)
		return;
	if (r->tag >= CQE_TAG_DBR)
		take_dbr(w, r->tag - CQE_TAG_DBR);
	chan_pop(w->dma_rsp);
}

/* What the step can go on with in the next cycle. */
static bool has_more(const struct cqe_writer *w)
{
	return cqe_event_is_due(w) || w->moderated.n || w->n_open || w->refresh.n ||
	       cqe_context_has_more(w) || cqe_context_has_ready(w);
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

/* A session whose time has come is written, piece by piece. */
static uint64_t write_block(struct cqe_writer *w)
{
	if (!chan_can_push(w->dma_req))
		return chan_stall(w->dma_req);
	if (!pool_can_alloc(w->pool))
		return pool_stall(w->pool);
	cqe_compress_write(w);
	return has_more(w) ? w->b.cycle + 1 : CYCLE_NEVER;
}

/* Entries of a CQ that its completions take, as far as is known. */
static uint32_t n_taken(const struct cqe_writer *w, uint32_t cqi)
{
	const struct cq_state *q = &w->cq[cqi];

	return q->pi - q->ci + (w->compress ? cqe_compress_pending(w, cqi) : 0);
}

/* It has none left for another completion. */
static bool is_full(const struct cqe_writer *w, uint32_t cqi)
{
	return n_taken(w, cqi) >= cqe_nic(w)->cq[cqi].depth;
}

/* Behind a quarter of the ring and with half of it taken, its doorbell record is to be read ahead of need. */
static void consider_refresh(struct cqe_writer *w, uint32_t cqi)
{
	const struct cq_attr *cq = &cqe_nic(w)->cq[cqi];
	uint32_t quarter = cq->depth < 4 ? 1 : cq->depth / 4, n = n_taken(w, cqi);

	if (n >= cq->depth / 2 && ((w->cq[cqi].ci + n) & (quarter - 1)) == 0) /* depth: 2^n */
		qp_list_add(&w->refresh, cqi);
}

/* One such record; not where as many are being read as can be. */
static uint64_t refresh(struct cqe_writer *w)
{
	uint32_t cqi = w->refresh.head;

	if (w->n_asked < w->records && w->cq[cqi].dbr_buf == BUF_NONE) {
		if (!chan_can_push(w->dma_req))
			return chan_stall(w->dma_req);
		if (!pool_can_alloc(w->pool))
			return pool_stall(w->pool);
		read_dbr(w, cqi, false);
	}
	qp_list_take(&w->refresh);
	return has_more(w) ? w->b.cycle + 1 : CYCLE_NEVER;
}

/* A CQE that has room: written, or in a session. Returns false when it cannot go now; *next says when. */
static bool take_cqe(struct cqe_writer *w, const struct cqe_req *r, uint64_t *next)
{
	enum cqe_offer o = w->compress ? cqe_compress_offer(w, r) : CQE_ALONE;

	if (o == CQE_TAKEN)
		return true;
	if (o == CQE_WAITS) {
		*next = w->b.cycle + 1;
		return false;
	}
	if (!chan_can_push(w->dma_req)) {
		*next = min_u64(*next, chan_stall(w->dma_req));
		return false;
	}
	if (!pool_can_alloc(w->pool)) {
		*next = min_u64(*next, pool_stall(w->pool));
		return false;
	}
	cqe_write(w, r, w->b.cycle);
	return true;
}

/*
 * Before a CQE is given up as lost, or written to an entry that is not known to be free: it and those
 * of its CQ that come wait for the doorbell record. False when that cannot be asked for now.
 */
static bool ask_for_room(struct cqe_writer *w, uint32_t cqi)
{
	if (w->cq[cqi].dbr_buf != BUF_NONE) { /* it is on its way */
		cqe_context_block(w);
		return true;
	}
	if (w->n_asked == w->records) /* the next that comes wakes the block */
		return false;
	if (!chan_can_push(w->dma_req)) {
		chan_stall(w->dma_req);
		return false;
	}
	if (!pool_can_alloc(w->pool)) {
		pool_stall(w->pool);
		return false;
	}
	read_dbr(w, cqi, true);
	cqe_context_block(w);
	return true;
}

/* The CQ is full: the CQE is lost, and its QP goes to Error. False when that cannot be told now. */
static bool lose_cqe(struct cqe_writer *w, const struct cqe_req *r)
{
	if (!w->has_failed[r->qpi]) {
		if (!chan_can_push(w->error)) {
			chan_stall(w->error);
			return false;
		}
		qp_cmd_push(w->error, &(struct qp_cmd){ .qpi = r->qpi, .state = QPS_ERR });
		w->has_failed[r->qpi] = true;
	}
	w->overflows++;
	oplog_settle(cqe_nic(w)->oplog, r->op, OP_LOST);
	cqe_event_overflow(w, r->cqi);
	return true;
}

/*
 * A half of a QP that is reset has no more completions: where in its CQ they end. False when that
 * cannot be told now.
 */
static bool tell_end(struct cqe_writer *w, const struct cqe_req *r)
{
	uint32_t n = w->compress ? cqe_compress_pending(w, r->cqi) : 0;

	if (!chan_can_push(w->closed)) {
		chan_stall(w->closed);
		return false;
	}
	w->has_failed[r->qpi] = false;
	qp_closed_push(w->closed, &(struct qp_closed){ .qpi = r->qpi,
						       .cqes = w->cq[r->cqi].pi + n,
						       .is_recv = r->opcode != CQE_REQ });
	return true;
}

/* Write a completion, lose it, or ask for its CQ's doorbell record. False when that cannot be now. */
static bool deal_with(struct cqe_writer *w, const struct cqe_req *r, uint64_t *next)
{
	bool is_lost = !r->is_end && is_full(w, r->cqi);

	if (is_lost && !w->cq[r->cqi].is_dbr_fresh)
		return ask_for_room(w, r->cqi);
	if (r->is_end ? !tell_end(w, r) : is_lost ? !lose_cqe(w, r) : !take_cqe(w, r, next))
		return false;
	consider_refresh(w, r->cqi);
	cqe_context_drop(w);
	return true;
}

/* Go on with one completion. */
static uint64_t complete(struct cqe_writer *w, uint64_t next)
{
	const struct cqe_req *r;

	if (!cqe_context_has_ready(w))
		return next;
	r = cqe_context_ready(w);
	if (!r)
		return cqe_context_has_ready(w) ? w->b.cycle + 1 : next; /* one waits now */
	if (!deal_with(w, r, &next))
		return next;
	return has_more(w) ? w->b.cycle + 1 : next;
}

static uint64_t cqe_writer_step(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	uint64_t next;

	take_dma_rsp(w);
	if (chan_has(w->arm))
		cqe_event_arm(w);
	next = cqe_context_step(w);
	if (w->moderated.n)
		next = min_u64(next, cqe_event_time(w));
	if (cqe_event_is_due(w))
		return min_u64(next, write_event(w));
	if (w->n_open) {
		uint64_t due = cqe_compress_due(w);

		if (due <= b->cycle)
			return min_u64(next, write_block(w));
		next = min_u64(next, due);
	}
	if (w->refresh.n)
		return min_u64(next, refresh(w));
	return complete(w, next);
}

static void cqe_writer_build(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	struct nic *nic = b->env;

	w->pool = pool_create(b, w->buffers, w->compress ? 2 * CQE_BYTES : CQE_BYTES);
	nic->mini_format = w->mini_format;
	cqe_compress_build(w);
	w->cq = block_alloc(b, nic->n_cq, sizeof(*w->cq));
	cqe_context_build(w);
	w->has_failed = block_alloc(b, nic->n_qp + 1, sizeof(*w->has_failed));
	cqe_event_build(w);
}

static void cqe_writer_reset(struct block *b)
{
	struct cqe_writer *w = (struct cqe_writer *)b;
	const struct nic *nic = b->env;

	memset(w->cq, 0, nic->n_cq * sizeof(*w->cq));
	cqe_context_reset(w);
	cqe_event_reset(w);
	cqe_compress_reset(w);
	memset(w->has_failed, 0, nic->n_qp * sizeof(*w->has_failed));
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
