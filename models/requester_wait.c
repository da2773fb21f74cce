/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_wait.c - what queue pairs with work wait for
 *
 * At any time a QP that holds WQEs waits for one thing (REQ_WAITS); the statistics qp_<what>_ps are the
 * sums over all QPs, and add up to the time that QPs held WQEs. What was sent for nothing is known
 * later only: when the requester goes back, the waiting since the peer last acknowledged something is
 * counted as lost, or as waiting for a receive WQE. So is all waiting, and going back's own packets,
 * until the peer has acknowledged what was in flight then.
 */
#include "models/requester.h"

/* What holds a message back before its first packet: fence, outstanding READs and ATOMICs, credits. */
static enum req_wait issue_waits_for(const struct requester *r, uint32_t qpi,
				     const struct req_wqe *w)
{
	const struct req_qp *q = &r->qp[qpi];
	const struct req_op *op = req_op_of(w);

	if (w->w.fence && (q->n_rd_atomic || q->n_writing))
		return WAIT_order;
	if (q->is_draining)
		return WAIT_order;
	if (op->is_local)
		return q->acked == q->send && !q->n_writing && !q->is_local_busy ? WAIT_turn
										 : WAIT_order;
	if (op->is_answered && q->n_rd_atomic >= req_attr(r, qpi)->rd_atomic)
		return WAIT_rd_atomic;
	if (op->is_answered && r->recovery == RECOVERY_SR && !req_sr_has_room(r, q, w))
		return WAIT_window;
	/* One message beyond the limit is the probe. */
	return !op->takes_rq || q->is_unlimited || psn_diff(q->ssn, q->lsn) <= 0 ? WAIT_turn
										 : WAIT_credit;
}

enum req_wait req_waits_for(const struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	const struct req_wqe *w = req_wqe(q, q->send);

	if (q->is_error)
		return WAIT_idle;
	if (q->is_rnr_wait)
		return WAIT_rnr;
	if (r->recovery == RECOVERY_SR && req_sr_has_hole(r, q))
		return WAIT_turn;
	if (q->send == q->tail || (q->has_failed && !pos_before(q->send, q->fail)))
		return q->head == q->tail ? WAIT_idle : WAIT_peer;
	if (psn_diff(q->send_psn, q->una) >= (int32_t)r->flight)
		return WAIT_window;
	if (w->is_refetching)
		return WAIT_wqe;
	if (q->send == q->issued)
		return issue_waits_for(r, qpi, w);
	/* The next part of a READ waits for the one before. */
	return !req_op_of(w)->is_answered || q->send_psn == w->first_psn || q->send_psn == q->una
		       ? WAIT_turn
		       : WAIT_order;
}

/* Waiting that is in vain when what was sent has to be sent again. */
static bool is_vain(enum req_wait w)
{
	return w == WAIT_peer || w == WAIT_window || w == WAIT_credit || w == WAIT_rd_atomic ||
	       w == WAIT_order;
}

void req_wait_note(struct requester *r, uint32_t qpi, enum req_wait w)
{
	struct req_qp *q = &r->qp[qpi];

	if (q->is_repeating &&
	    (is_vain(w) || (w == WAIT_turn && psn_diff(q->send_psn, q->lost_psn) < 0)))
		w = q->lost_for;
	if (w == q->wait)
		return;
	r->qp_ps[q->wait] += r->b.now_ps - q->wait_ps;
	q->wait = (uint8_t)w;
	q->wait_ps = r->b.now_ps;
}

void req_wait_lost(struct requester *r, uint32_t qpi, uint32_t end)
{
	struct req_qp *q = &r->qp[qpi];
	uint64_t from_ps = max_u64(q->wait_ps, q->progress_ps);

	q->is_repeating = true;
	q->lost_psn = end;
	q->lost_for = q->is_rnr_wait ? WAIT_rnr : WAIT_loss;
	if (!is_vain(q->wait))
		return;
	r->qp_ps[q->wait] += from_ps - q->wait_ps;
	q->wait = q->lost_for;
	q->wait_ps = from_ps;
}
