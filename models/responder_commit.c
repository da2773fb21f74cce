/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_commit.c - payload writes, and the ring in which packets take effect in order
 *
 * Every write and every end of a packet is an entry of one ring. The oldest entry leaves it when
 * its write is posted; then its packet is acknowledged and its receive completed. So an ACK never
 * speaks for bytes that can still fail, and a CQE follows its payload.
 */
#include "models/packet/aeth.h"
#include "models/responder.h"
#include "models/verbs/wqe.h"

/* CQE opcode of a receive, by whether the message has immediate data. */
static const uint8_t send_cqes[2] = { CQE_RESP_SEND, CQE_RESP_SEND_IMM };

struct rsp_commit *rsp_new_entry(struct responder *r, uint32_t qpi)
{
	uint32_t at = r->ring_head + r->ring_len;
	struct rsp_commit *e = &r->ring[at >= r->writes ? at - r->writes : at];

	r->ring_len++;
	r->qp[qpi].n_commit++;
	*e = (struct rsp_commit){ .qpi = qpi, .psn = r->qp[qpi].epsn, .msn = r->qp[qpi].msn };
	return e;
}

/* The receive WQE in use ends: what its CQE says of it, whatever the outcome. */
static void end_recv(struct responder *r, uint32_t qpi, struct rsp_commit *e)
{
	struct rsp_qp *q = &r->qp[qpi];

	e->has_cqe = true;
	e->cqe = (struct cqe_req){ .qpi = qpi,
				   .cqi = rsp_attr(r, qpi)->rcq,
				   .op = q->recv.op,
				   .wqe_counter = q->recv.index,
				   .opcode = CQE_RESP_ERR };
	buf_unref(&r->b, q->recv.buf);
	q->has_recv = false;
}

/* The last byte of the packet at the head of its QP was handed over. */
static void end_packet(struct responder *r, struct rsp_ctx *c, struct rsp_commit *e)
{
	const struct opcode_info *i = &opcode_info[c->m.opcode];
	struct rsp_qp *q = &r->qp[c->m.qpi];

	q->epsn = psn_add(q->epsn, 1);
	if (c->is_placed) {
		q->va += c->m.len;
		q->left -= c->m.len;
	}
	if (i->place & OPCODE_LAST) {
		q->in_msg = RSP_NO_MESSAGE;
		q->msn = psn_add(q->msn, 1);
		r->messages++;
		e->op = c->op;
	}
	e->is_end = true;
	e->msn = q->msn;
	/* selective repeat: as far as the gap is filled is told at once */
	e->wants_ack = c->m.ack_req || c->was_early || q->n_held;
	if (i->place & OPCODE_LAST && (i->op_class == CLASS_SEND || opcode_has(i, X_IMMDT))) {
		end_recv(r, c->m.qpi, e);
		e->cqe.opcode = i->op_class == CLASS_SEND ? send_cqes[opcode_has(i, X_IMMDT)]
							  : CQE_RESP_WR_IMM;
		e->cqe.byte_cnt = q->msg_len;
		e->cqe.solicited = c->m.solicited;
		e->cqe.imm = c->imm;
		e->cqe.flags_rqpn = c->flags_rqpn;
		if (opcode_has(i, X_IETH))
			rsp_end_inval(r, c, e);
	}
	rsp_ctx_done(r, c);
}

void rsp_recv_piece(struct responder *r, struct rsp_qp *q, struct rsp_commit *e, uint32_t n,
		    struct dma_req *d)
{
	const uint8_t *segs = buf_data(r->b.sim, q->recv.buf);
	struct wqe_seg seg;

	for (;; q->sge++, q->sge_off = 0) {
		SIM_CHECK(q->sge < q->recv.n_sge, r);
		seg = wqe_seg_at(segs + q->sge * WQE_SEG);
		if (q->sge_off < seg.len)
			break;
	}
	d->addr = seg.addr + q->sge_off;
	d->key = seg.lkey;
	d->pd = q->recv_pd;
	d->len = (uint32_t)min_u64(n, seg.len - q->sge_off);
	d->access = ACCESS_LOCAL_WRITE;
	q->sge_off += d->len;
	q->room -= d->len;
	q->msg_len += d->len;
	e->is_to_recv = true;
}

/* Hand the next piece of payload to the DMA engine. */
static void push_piece(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		       struct rsp_commit *e)
{
	struct dma_req d = { .buf = c->m.buf,
			     .off = c->off,
			     .tag = (uint32_t)(e - r->ring),
			     .pd = rsp_attr(r, c->m.qpi)->pd,
			     .is_write = 1,
			     .cls = DMA_PAYLOAD_WRITE,
			     .op = OP_NONE };

	if (q->in_msg == CLASS_WRITE) {
		d.addr = c->outcome == RSP_PLACE ? c->va : q->va;
		d.key = q->rkey;
		d.len = c->left;
		d.access = ACCESS_REMOTE_WRITE;
		if (c->outcome != RSP_PLACE) {
			q->va += d.len;
			q->left -= d.len;
		}
	} else {
		rsp_recv_piece(r, q, e, c->left, &d);
	}
	c->off += d.len;
	c->left -= d.len;
	if (c->left)
		buf_ref(r->b.sim, c->m.buf);
	else
		c->m.buf = BUF_NONE;
	dma_req_push(r->dma_req, &d);
}

uint64_t rsp_write(struct responder *r)
{
	struct rsp_commit *e;
	struct rsp_ctx *c;
	struct rsp_qp *q;
	uint32_t id;

	if (!r->want_write.n || r->ring_len == r->writes)
		return CYCLE_NEVER;
	id = r->want_write.head;
	c = &r->ctx[id];
	q = &r->qp[c->m.qpi];
	if (c->left + c->grh_left && !q->is_error && !chan_can_push(r->dma_req))
		return chan_stall(r->dma_req);
	if (c->grh_left && !q->is_error && !pool_can_alloc(r->grh_pool))
		return pool_stall(r->grh_pool);
	qp_list_take(&r->want_write);
	if ((c->outcome == RSP_EXECUTE || c->outcome == RSP_PLACE) && q->is_error) {
		rsp_ctx_done(r, c);
		return r->want_write.n ? r->b.cycle + 1 : CYCLE_NEVER;
	}
	e = rsp_new_entry(r, c->m.qpi);
	if (c->grh_left)
		rsp_push_grh(r, c, e);
	else if (c->left)
		push_piece(r, q, c, e);
	else
		e->is_done = true;
	if (c->left + c->grh_left) {
		qp_list_add(&r->want_write, id);
	} else if (c->outcome == RSP_EXECUTE) {
		end_packet(r, c, e);
	} else {
		e->syndrome = c->syndrome;
		e->wants_ack = e->is_end = c->outcome == RSP_ACK_AGAIN;
		if (e->is_end)
			e->psn = psn_add(q->epsn, PSN_MASK);
		rsp_ctx_done(r, c);
	}
	return r->want_write.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

void rsp_break(struct responder *r, uint32_t qpi, uint32_t psn, uint8_t syndrome,
	       uint8_t recv_syndrome)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (q->is_failed)
		return;
	rsp_enter_error(r, qpi);
	q->is_failed = true;
	q->recv_syndrome = recv_syndrome;
	rsp_stop_answers(q);
	rsp_ack(r, qpi, psn, q->commit_msn, syndrome, true);
	rsp_unpark(r, qpi);
	rsp_try_flush(r, qpi);
}

static void take_effect(struct responder *r, struct rsp_commit *e)
{
	struct rsp_qp *q = &r->qp[e->qpi];

	if (e->cqe.is_end) {
		cqe_req_push(r->cqe, &e->cqe);
		return;
	}
	if (e->status != XLATE_OK)
		rsp_break(r, e->qpi, e->psn, e->is_to_recv ? NAK_REMOTE_OP : NAK_REMOTE_ACCESS,
			  e->is_to_recv ? CQE_SYNDROME_LOCAL_PROT : CQE_SYNDROME_WR_FLUSH);
	if (e->has_cqe && (q->is_failed || e->cqe.opcode == CQE_RESP_ERR)) {
		e->cqe.opcode = CQE_RESP_ERR;
		e->cqe.syndrome = q->recv_syndrome;
		q->recv_syndrome = CQE_SYNDROME_WR_FLUSH;
		r->flushed++;
	}
	if (e->has_cqe && !q->is_silent)
		cqe_req_push(r->cqe, &e->cqe);
	if (q->is_failed)
		return;
	if (e->is_end) {
		q->commit_psn = e->psn;
		q->commit_msn = e->msn;
		oplog_mark(rsp_oplog(r), e->op, OP_REMOTE, r->b.now_ps);
	}
	if (e->syndrome == NAK_SEQUENCE && r->nak_delay)
		rsp_nak_gap(r, e->qpi, e->psn, e->msn);
	else if (e->syndrome || e->wants_ack)
		rsp_ack(r, e->qpi, e->psn, e->msn, e->syndrome, e->syndrome != 0);
}

uint64_t rsp_commit(struct responder *r)
{
	struct rsp_commit *e = &r->ring[r->ring_head];
	bool was_full = r->ring_len == r->writes;
	struct rsp_qp *q;

	if (!r->ring_len || !e->is_done)
		return CYCLE_NEVER;
	if (e->has_cqe && !chan_can_push(r->cqe))
		return chan_stall(r->cqe);
	q = &r->qp[e->qpi];
	take_effect(r, e);
	r->ring_head = r->ring_head + 1 == r->writes ? 0 : r->ring_head + 1;
	r->ring_len--;
	if (--q->n_commit == 0)
		rsp_unpark(r, e->qpi);
	return was_full || (r->ring_len && r->ring[r->ring_head].is_done) ? r->b.cycle + 1
									  : CYCLE_NEVER;
}

void rsp_take_dma_rsp(struct responder *r)
{
	const struct dma_rsp *m = dma_rsp_peek(r->dma_rsp);

	if (!m)
		return;
	r->ring[m->tag].is_done = true;
	r->ring[m->tag].status = m->status;
	chan_pop(r->dma_rsp);
}

void rsp_try_flush(struct responder *r, uint32_t qpi)
{
	const struct rsp_qp *q = &r->qp[qpi];

	/* what is left in an SRQ is for other QPs */
	if (q->is_error && q->ctx_head == RSP_CTX_NONE && !q->is_flushed && !q->is_flush_wait &&
	    (q->has_recv || !q->is_shared))
		qp_list_add(&r->flush, qpi);
}

uint64_t rsp_flush(struct responder *r)
{
	uint32_t qpi = r->flush.head;
	struct rsp_qp *q;
	struct rsp_commit *e;

	if (!r->flush.n)
		return CYCLE_NEVER;
	q = &r->qp[qpi];
	if (q->has_recv && r->ring_len == r->writes)
		return CYCLE_NEVER;
	if (!q->has_recv && !chan_can_push(r->rq_req))
		return chan_stall(r->rq_req);
	qp_list_take(&r->flush);
	if (q->has_recv) {
		e = rsp_new_entry(r, qpi);
		e->is_done = true;
		end_recv(r, qpi, e);
		rsp_try_flush(r, qpi);
	} else {
		rq_req_push(r->rq_req, &(struct rq_req){ .qpi = qpi });
		q->is_flush_wait = true;
	}
	return r->flush.n ? r->b.cycle + 1 : CYCLE_NEVER;
}
