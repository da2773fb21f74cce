/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_ahead.c - range checks that are asked for before the packet's turn
 *
 * Packets of a QP are executed one after the other, but the key and the range of a WRITE or READ do
 * not depend on those before it. So they are checked when the packet comes, for up to 'checks'
 * packets of a QP that wait behind others, and the answer is kept with the packet: the misses of the
 * translation overlap. What it says counts only when the packet's turn comes (IBTA vol. 1, 9.5:
 * requests are executed in order). Behind a SEND with Invalidate nothing is asked ahead, as the key
 * may go, nor with selective repeat, where contexts change their packets.
 */
#include "models/responder.h"

/* Its range is to be checked, and needs nothing but the packet itself. */
static bool is_checked(const struct rsp_ctx *c, const struct opcode_info *i)
{
	return (i->op_class == CLASS_WRITE || i->op_class == CLASS_READ) &&
	       i->place & OPCODE_FIRST && !i->is_response && c->m.buf != BUF_NONE;
}

static bool is_invalidating(uint8_t opcode)
{
	return opcode_has(&opcode_info[opcode], X_IETH);
}

void rsp_ahead_take(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c, bool is_first)
{
	const struct opcode_info *i = &opcode_info[c->m.opcode];

	if (!is_first && q->type == QP_RC && r->recovery != RECOVERY_SR && !q->n_invalidating &&
	    q->n_ahead < r->checks && i->name && is_checked(c, i)) {
		rsp_decode(r, c, i);
		if (c->dma_len) {
			c->check = RSP_CHECK_WANTED;
			q->n_ahead++;
			qp_list_add(&r->ahead, (uint32_t)(c - r->ctx));
		}
	}
	if (r->recovery != RECOVERY_SR)
		q->n_invalidating += is_invalidating(c->m.opcode);
}

bool rsp_ahead_release(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c)
{
	if (r->recovery != RECOVERY_SR)
		q->n_invalidating -= is_invalidating(c->m.opcode);
	q->n_ahead -= c->check != RSP_CHECK_NONE;
	if (c->check == RSP_CHECK_ASKED) {
		c->check = RSP_CHECK_LATE;
		return false;
	}
	c->check = RSP_CHECK_NONE;
	return true;
}

struct rsp_ctx *rsp_ahead_next(struct responder *r)
{
	while (r->ahead.n) {
		struct rsp_ctx *c = &r->ctx[qp_list_take(&r->ahead)];

		if (c->check == RSP_CHECK_WANTED) { /* its turn has not come meanwhile */
			c->check = RSP_CHECK_ASKED;
			return c;
		}
	}
	return NULL;
}

enum rsp_check rsp_ahead_use(struct rsp_qp *q, struct rsp_ctx *c)
{
	enum rsp_check was = (enum rsp_check)c->check;

	if (was == RSP_CHECK_ASKED)
		return was; /* until the answer comes */
	q->n_ahead -= was != RSP_CHECK_NONE;
	c->check = RSP_CHECK_NONE;
	return was;
}

bool rsp_ahead_answer(struct responder *r, struct rsp_ctx *c, bool is_ok)
{
	if (c->check == RSP_CHECK_LATE) {
		c->check = RSP_CHECK_NONE;
		rsp_ctx_free(r, c);
		return true;
	}
	if (c->check != RSP_CHECK_ASKED)
		return false;
	if (c->stage == RSP_XLATE) { /* its turn came */
		r->qp[c->m.qpi].n_ahead--;
		c->check = RSP_CHECK_NONE;
		return false;
	}
	c->check = is_ok ? RSP_CHECK_OK : RSP_CHECK_BAD;
	return true;
}
