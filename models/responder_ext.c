/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_ext.c - SEND with Invalidate, FLUSH and ATOMIC WRITE
 *
 * The key of a SEND with Invalidate is taken away before the message's last bytes are handed over,
 * when all earlier writes of the QP are posted; so the receive's completion says that nobody has
 * the key any more. FLUSH and ATOMIC WRITE go to the atomic unit, hold a responder resource and are
 * answered by READ Response Only without payload.
 * A FLUSH of a whole region (SEL 1) has its key checked and no range; any read pushes what was
 * posted before it, so the key's table entry is read. Not modelled: the time until bytes in memory
 * are persistent.
 * Source: IBTA vol. 1, 9.4.1.1.2, 9.4.8, 9.4.9; protocol.md sections 2.1 and 10.
 */
#include "models/packet/aeth.h"
#include "models/packet/packet.h"
#include "models/responder.h"
#include "models/trace/trace.h"

#define STORE_BYTES 8u

void rsp_decode_extended(struct responder *r, struct rsp_ctx *c, const struct opcode_info *i)
{
	const struct packet *p = buf_data(r->b.sim, c->m.buf);
	const uint8_t *bth = p->data + p->l4, *payload = p->data + c->m.payload;
	struct hdr_ieth key;
	struct hdr_feth feth;

	if (opcode_has(i, X_IETH)) {
		hdr_ieth_decode(&key, bth + i->off[X_IETH]);
		c->imm = key.rkey;
	} else if (opcode_has(i, X_FETH)) {
		hdr_feth_decode(&feth, bth + i->off[X_FETH]);
		c->imm = feth.sel;
		c->is_region = feth.sel == FLUSH_MR;
		if (c->is_region) /* the packet's range has no meaning */
			c->dma_len = 0;
		/* the read that pushes ends where the range does */
		c->at = c->dma_len > STORE_BYTES ? c->dma_len - STORE_BYTES : 0;
	} else {
		/* bytes as they are: the atomic unit stores little-endian */
		for (unsigned k = c->m.len < STORE_BYTES ? 0 : STORE_BYTES; k-- > 0;)
			c->swap_add = c->swap_add << 8 | payload[k];
		c->left = 0;
	}
}

bool rsp_operands_ok(const struct rsp_ctx *c, const struct opcode_info *i)
{
	if (i->op_class == CLASS_FLUSH)
		return c->imm <= FLUSH_MR;
	return c->va % STORE_BYTES == 0 && c->dma_len == STORE_BYTES;
}

void rsp_invalidate(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c)
{
	if (q->n_commit) {
		q->is_parked = true;
		return;
	}
	c->stage = RSP_INVAL;
	qp_list_add(&r->want_inval, (uint32_t)(c - r->ctx));
}

uint64_t rsp_ask_mpt(struct responder *r)
{
	const struct rsp_ctx *c;
	uint32_t id;

	if (!chan_can_push(r->mpt_op))
		return chan_stall(r->mpt_op);
	id = qp_list_take(&r->want_inval);
	c = &r->ctx[id];
	mpt_op_push(r->mpt_op, &(struct mpt_op){ .key = c->imm,
						 .qpi = c->m.qpi,
						 .tag = id,
						 .pd = rsp_attr(r, c->m.qpi)->pd });
	return r->want_inval.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

void rsp_take_mpt(struct responder *r)
{
	const struct mpt_rsp *m = mpt_rsp_peek(r->mpt_rsp);
	struct rsp_ctx *c;

	if (!m)
		return;
	c = &r->ctx[m->tag];
	c->is_invalidated = true;
	c->has_bad_key = m->status != XLATE_OK;
	r->invalidations += !c->has_bad_key;
	if (c->has_bad_key && !r->inv_ack)
		rsp_refuse(r, c, NAK_REMOTE_ACCESS);
	else
		rsp_execute(r, &r->qp[c->m.qpi], c, &opcode_info[c->m.opcode]);
	chan_pop(r->mpt_rsp);
}

void rsp_end_inval(struct responder *r, const struct rsp_ctx *c, struct rsp_commit *e)
{
	e->cqe.opcode = CQE_RESP_SEND_INV;
	if (!c->has_bad_key)
		return;
	e->cqe.opcode = CQE_RESP_ERR;
	r->qp[c->m.qpi].recv_syndrome = CQE_SYNDROME_REMOTE_INVAL_REQ;
	/* acknowledged, but no message that counts */
	r->messages--;
	e->msn = r->qp[c->m.qpi].msn = psn_add(e->msn, PSN_MASK);
	rsp_enter_error(r, c->m.qpi);
}
