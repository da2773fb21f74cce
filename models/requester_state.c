/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_state.c - what the program does to a QP: Error, reset, a drained send queue
 *
 * The program's commands come here, and the QPs whose completion found its CQ full: they go to Error.
 * The responder hears of those that concern it. In Error what is posted is flushed, however late it
 * is posted; a QP that was reset (or destroyed) is silent. A drained send queue (SQD) ends the
 * messages that it has begun; one that stopped for an error (SQE: UC, UD) goes on once what it holds
 * is flushed. Source: IBTA vol. 1, 10.3.1.
 */
#include "models/requester.h"
#include "models/trace/trace.h"

void req_enter_error(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_error = true;
	q->is_rnr_wait = false;
	q->top_psn = q->done_psn = q->una;
	req_timer_stop(r, qpi);
}

void req_tell(struct requester *r, uint32_t qpi, enum qp_change kind)
{
	r->told_cyc = r->b.cycle + 1;
	qp_error_push(r->error, &(struct qp_error){ .qpi = qpi, .kind = (uint8_t)kind });
}

/* Ready to send again: false when an error still has requests to flush. */
static bool resume(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_draining = false;
	if (q->is_error && q->is_unacked && !q->is_silent) {
		if (q->head != q->tail)
			return false;
		q->acked = q->send = q->issued = q->tail;
		q->una = q->top_psn = q->done_psn = q->restart_psn = q->send_psn;
		q->is_error = q->has_failed = false;
	}
	req_kick(r, qpi);
	return true;
}

static uint64_t take_cmd(struct requester *r, struct chan *port)
{
	const struct qp_cmd *m = qp_cmd_peek(port);
	struct req_qp *q;

	if (!m)
		return CYCLE_NEVER;
	if (r->told_cyc > r->b.cycle)
		return r->b.cycle + 1;
	if (!chan_can_push(r->error))
		return chan_stall(r->error);
	q = &r->qp[m->qpi];
	switch ((enum qp_state)m->state) {
	case QPS_RTR:
		req_tell(r, m->qpi, QP_OPENED);
		break;
	case QPS_RTS:
		if (!resume(r, m->qpi))
			return CYCLE_NEVER;
		break;
	case QPS_SQD:
		q->is_draining = true;
		break;
	case QPS_ERR:
	case QPS_RESET:
		q->is_silent = m->state == QPS_RESET;
		req_enter_error(r, m->qpi);
		req_try_retire(r, m->qpi);
		req_tell(r, m->qpi, q->is_silent ? QP_CLOSED : QP_FAILED);
		break;
	default:
		break;
	}
	chan_pop(port);
	return qp_cmd_peek(port) || r->retire.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

uint64_t req_take_cmd(struct requester *r)
{
	uint64_t next = take_cmd(r, r->cmd);
	const struct qp_cmd *m = qp_cmd_peek(r->cq_error);

	if (m && r->qp[m->qpi].is_error) { /* or reset: it needs no telling */
		chan_pop(r->cq_error);
		return r->b.cycle + 1;
	}
	return min_u64(next, take_cmd(r, r->cq_error));
}
