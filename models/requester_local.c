/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_local.c - work requests that send no packet: BIND_MW and LOCAL_INV
 *
 * Both change a key of this side, by the mpt_unit. They take no PSN. One starts when every request
 * before it in its queue is finished, and what stands behind it waits for its end: an order
 * stronger than IBTA vol. 1, 10.8.3.3 asks for. A refused one ends the QP with a memory window bind error.
 */
#include "models/requester.h"

bool req_send_local(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_wqe *w = req_wqe(q, q->send);

	if (!chan_can_push(r->mpt_op)) {
		chan_stall(r->mpt_op);
		return false;
	}
	mpt_op_push(r->mpt_op, &(struct mpt_op){ .va = w->w.raddr,
						 .len = w->w.swap_add,
						 .key = w->w.imm,
						 .lkey = w->w.rkey,
						 .qpi = qpi,
						 .tag = qpi,
						 .pd = req_attr(r, qpi)->pd,
						 .access = (uint8_t)w->w.compare,
						 .is_bind = w->w.opcode == MLX5_OPCODE_BIND_MW });
	w->n_dma++; /* keeps the WQE until the answer */
	q->is_local_busy = true;
	return true;
}

void req_take_mpt_rsp(struct requester *r)
{
	const struct mpt_rsp *m = mpt_rsp_peek(r->mpt_rsp);
	struct req_wqe *w;
	struct req_qp *q;

	if (!m)
		return;
	q = &r->qp[m->tag];
	w = req_wqe(q, q->send);
	q->is_local_busy = false;
	w->n_dma--;
	if (!q->is_error && m->status == XLATE_OK) {
		req_feed_remove(r, m->tag, w->w.len);
		q->issued++;
		q->send++;
		q->acked++;
		oplog_mark(req_oplog(r), w->w.op, OP_ACK, r->b.now_ps);
	} else {
		req_fail(r, m->tag, q->send, CQE_SYNDROME_MW_BIND);
	}
	req_kick(r, m->tag);
	req_try_retire(r, m->tag);
	chan_pop(r->mpt_rsp);
}
