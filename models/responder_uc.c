/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_uc.c - the receive side of unreliable connections, and what UC and UD have in common
 *
 * Nothing is acknowledged. A packet whose PSN is not the expected one, or that does not go on with
 * the message in progress, is dropped with that message unless it starts another: then it is taken,
 * whatever its PSN. So is what cannot be executed. A message given up leaves its receive WQE with
 * the QP, whose next message fills it from the start (from an SRQ too: it cannot be given back). But one that is
 * too short for its message ends with a local length error, and the QP with it, unless keep_short_recv: kept, it
 * would stand before all others and take nothing for as long as the messages are longer.
 *
 * Source: IBTA vol. 1, 9.8.2 and 9.9.3 (classes D and E); protocol.md section 9.
 */
#include "models/packet/aeth.h"
#include "models/responder.h"

static void abandon(struct responder *r, struct rsp_qp *q)
{
	q->in_msg = RSP_NO_MESSAGE;
	if (q->has_recv)
		rsp_rewind_recv(r, q);
}

void rsp_drop(struct responder *r, struct rsp_ctx *c)
{
	struct rsp_qp *q = &r->qp[c->m.qpi];

	abandon(r, q);
	q->epsn = psn_add(c->m.psn, 1);
	r->dropped++;
	rsp_ctx_done(r, c);
}

void rsp_refuse_unreliable(struct responder *r, struct rsp_ctx *c, uint8_t syndrome,
			   uint8_t recv_syndrome)
{
	bool is_as_softroce = syndrome == NAK_REMOTE_OP; /* long_send_remote_op */

	if (recv_syndrome == CQE_SYNDROME_LOCAL_LENGTH && (is_as_softroce || !r->keep_short_recv)) {
		rsp_enter_error(r, c->m.qpi);
		r->qp[c->m.qpi].recv_syndrome =
			is_as_softroce ? CQE_SYNDROME_LOCAL_QP_OP : CQE_SYNDROME_LOCAL_LENGTH;
	}
	rsp_drop(r, c);
}

static void begin(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		  const struct opcode_info *i)
{
	if (c->m.psn != q->epsn)
		r->gaps++;
	if (!r->uc_resync && q->in_msg != RSP_NO_MESSAGE &&
	    (c->m.psn != q->epsn || i->place & OPCODE_FIRST)) {
		r->dropped++;
		rsp_ctx_done(r, c);
		return;
	}
	if (c->m.psn != q->epsn || i->place & OPCODE_FIRST)
		abandon(r, q);
	q->epsn = c->m.psn;
	rsp_decode(r, c, i);
	if (rsp_is_valid(r, q, c, i))
		rsp_proceed(r, q, c, i);
	else
		rsp_drop(r, c);
}

const struct rsp_service rsp_service_uc = {
	.transport = IB_UC, .begin = begin, .no_recv = rsp_drop, .refuse = rsp_refuse_unreliable
};
