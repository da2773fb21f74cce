/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_rsc.c - responder resources that do not all fit the NIC
 *
 * What a READ or ATOMIC leaves to be answered (again) is state of its own: as many entries a QP as
 * max_dest_rd_atomic (IBTA vol. 1, 9.7.5.1.9). A NIC keeps those of few QPs; of the others they are
 * in host memory. With rsc_cache each response looks its QP up in a cache of contexts (instance rsc)
 * before it starts, in the order of the requests of the QP. Off: all are in the NIC. SENDs and
 * WRITEs have no such state.
 */
#include "models/responder.h"

void rsp_want_rsc(struct responder *r, uint32_t qpi)
{
	r->qp[qpi].rsc_wanted++;
	qp_list_add(&r->want_rsc, qpi);
}

bool rsp_has_rsc(struct responder *r, struct rsp_qp *q, struct rsp_pass *p)
{
	if (!r->rsc_cache || p->is_here)
		return true;
	if (!q->rsc_granted)
		return false;
	q->rsc_granted--;
	p->is_here = true;
	return true;
}

uint64_t rsp_ask_rsc(struct responder *r)
{
	uint32_t qpi = r->want_rsc.head;

	if (!r->want_rsc.n)
		return CYCLE_NEVER;
	if (!chan_can_push(r->rsc_req))
		return chan_stall(r->rsc_req);
	ctx_req_push(r->rsc_req, &(struct ctx_req){ .index = qpi });
	r->qp[qpi].rsc_asked++;
	qp_list_take(&r->want_rsc);
	if (--r->qp[qpi].rsc_wanted)
		qp_list_add(&r->want_rsc, qpi);
	return r->want_rsc.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

void rsp_take_rsc(struct responder *r)
{
	const struct ctx_rsp *m = ctx_rsp_peek(r->rsc_rsp);

	if (!m)
		return;
	r->qp[m->index].rsc_asked--;
	r->qp[m->index].rsc_granted++;
	rsp_stream(r, m->index);
	chan_pop(r->rsc_rsp);
}
