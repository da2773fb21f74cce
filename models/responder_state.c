/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_state.c - the receive half of a QP fails, is reset, begins another life
 *
 * In Error receives are flushed, also those that are posted later. A reset ends what is under way
 * without a trace: packets, writes, responses and acknowledgements are waited for, then wqe_fetch
 * forgets the receives that it read ahead, and behind the last completion the word goes on to the
 * program (requester_state.c). A receive taken from an SRQ is lost with its QP, as IBTA vol. 1,
 * 10.2.9.6 allows (a QP goes to Error first where that matters).
 */
#include <string.h>

#include "models/responder.h"

void rsp_begin_life(struct responder *r, uint32_t qpi, uint32_t psn)
{
	const struct nic *nic = r->b.env;
	const struct qp_attr *a = &nic->qp[qpi];
	struct rsp_qp *q = &r->qp[qpi], old = *q;

	psn &= PSN_MASK;
	*q = (struct rsp_qp){ .epsn = psn,
			      .type = a->type,
			      .is_unacked = a->type == QP_UC || a->type == QP_UD,
			      .is_shared = a->srq < nic->n_srq,
			      .recv_pd = a->srq < nic->n_srq ? nic->srq[a->srq].pd : a->pd,
			      .commit_psn = psn_add(psn, PSN_MASK),
			      .in_msg = RSP_NO_MESSAGE,
			      .recv_syndrome = CQE_SYNDROME_WR_FLUSH,
			      .ctx_head = RSP_CTX_NONE,
			      .ctx_tail = RSP_CTX_NONE,
			      .slot = old.slot,
			      .queue = old.queue,
			      .held = old.held,
			      .n_slot = old.n_slot };
	memset(q->slot, 0, q->n_slot * sizeof(*q->slot));
}

void rsp_enter_error(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (q->is_error)
		return;
	q->is_error = true;
	rsp_sr_forget(r, q);
	r->errors_found++;
	qp_list_add(&r->errors, qpi);
}

/*
 * The requester's half failed: the receive half follows, and need not say so. Said again: receives
 * may have been posted since.
 */
static void fail(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];

	q->is_error = true;
	q->is_flush_stale = q->is_flush_wait;
	q->is_flushed = q->is_flushed && rsp_attr(r, qpi)->srq != SRQ_NONE;
	rsp_sr_forget(r, q);
	rsp_unpark(r, qpi);
	rsp_try_flush(r, qpi);
}

/* The QP is reset: nothing of it is seen any more. */
static void begin_close(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];

	q->is_error = q->is_failed = q->is_silent = q->is_flushed = true;
	rsp_stop_answers(q);
	rsp_sr_forget(r, q);
	rsp_unpark(r, qpi);
	qp_list_add(&r->closing, qpi);
}

bool rsp_take_peer_error(struct responder *r)
{
	const struct qp_error *m = qp_error_peek(r->peer_error);

	if (!m)
		return false;
	if (m->kind == QP_FAILED)
		fail(r, m->qpi);
	else if (m->kind == QP_CLOSED)
		begin_close(r, m->qpi);
	else if (r->qp[m->qpi].ctx_head == RSP_CTX_NONE)
		rsp_begin_life(r, m->qpi, m->psn);
	else
		return true; /* packets that came before are dropped first */
	chan_pop(r->peer_error);
	return false;
}

uint64_t rsp_report_error(struct responder *r)
{
	if (!r->errors.n)
		return CYCLE_NEVER;
	if (!chan_can_push(r->error))
		return chan_stall(r->error);
	qp_error_push(r->error, &(struct qp_error){ .qpi = qp_list_take(&r->errors) });
	return r->errors.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

/* Nothing of the QP is on its way, and it is on no list. */
static bool is_quiet(const struct responder *r, uint32_t qpi)
{
	const struct rsp_qp *q = &r->qp[qpi];
	const struct qp_list *const lists[] = { &r->acks,     &r->delayed, &r->naks,
						&r->want_rsc, &r->flush,   &r->errors };

	if (q->ctx_head != RSP_CTX_NONE || q->n_commit || q->jobs_out || q->rsc_asked ||
	    q->is_flush_wait)
		return false;
	for (unsigned i = 0; i < ARRAY_LEN(lists); i++)
		if (qp_list_has(lists[i], qpi))
			return false;
	return true;
}

uint64_t rsp_close(struct responder *r)
{
	for (uint32_t n = r->closing.n; n > 0; n--) {
		uint32_t qpi = qp_list_take(&r->closing);
		struct rsp_qp *q = &r->qp[qpi];

		if (!is_quiet(r, qpi)) {
			qp_list_add(&r->closing, qpi);
		} else if (!chan_can_push(r->rq_req)) {
			chan_stall(r->rq_req);
			qp_list_add(&r->closing, qpi);
		} else {
			if (q->has_recv)
				buf_unref(&r->b, q->recv.buf);
			q->has_recv = false;
			rq_req_push(r->rq_req, &(struct rq_req){ .qpi = qpi, .is_reset = 1 });
		}
	}
	return CYCLE_NEVER;
}

void rsp_closed(struct responder *r, uint32_t qpi)
{
	struct rsp_commit *e = rsp_new_entry(r, qpi);

	e->is_done = e->has_cqe = true;
	e->cqe = (struct cqe_req){ .qpi = qpi,
				   .cqi = rsp_attr(r, qpi)->rcq,
				   .op = OP_NONE,
				   .opcode = CQE_RESP_SEND,
				   .is_end = 1 };
}
