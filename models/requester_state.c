/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_state.c - what the program does to a QP: Error, reset, a drained send queue
 *
 * The program's commands come here, and the QPs whose completion found its CQ full: they go to Error.
 * The responder hears of those that concern it. In Error what is posted is flushed, however late it
 * is posted. A drained send queue (SQD) ends the messages that it has begun; one that stopped for an
 * error (SQE: UC, UD) goes on once what it holds is flushed. Source: IBTA vol. 1, 10.3.1.
 *
 * Reset (and destruction): the QP is silent from now on, and the NIC lets go of it before the program
 * goes on, so that nothing of a former life can reach the next one. Each half is closed block by
 * block, a block passing the word on when it holds nothing of the QP and nothing comes to it any more:
 *	send half: doorbell - qp_sched (all WQEs released) - requester (all jobs done) - cqe_writer
 *	receive half: responder (packets, writes, responses, acknowledgements) - wqe_fetch (receives
 *	read ahead) - responder - cqe_writer
 * The writer tells the program where in its CQs the former life ends. Packets on the wire are beyond
 * that: they are judged by their PSN, as on hardware. The next life begins with RTR and RTS, which
 * bring the first PSNs.
 */
#include "models/requester.h"

#include <string.h>

#include "models/trace/trace.h"

void req_begin_life(struct requester *r, uint32_t qpi, uint32_t psn)
{
	const struct qp_attr *a = req_attr(r, qpi);
	struct req_qp *q = &r->qp[qpi], old = *q;
	bool is_unacked = a->type == QP_UC || a->type == QP_UD;

	psn &= PSN_MASK;
	*q = (struct req_qp){ .ring = old.ring,
			      .mask = old.mask,
			      .came = old.came,
			      .after = old.after,
			      .head = old.tail, /* positions go on: none is met twice */
			      .acked = old.tail,
			      .send = old.tail,
			      .issued = old.tail,
			      .tail = old.tail,
			      .is_told_fed = old.is_told_fed,
			      .is_pausing = old.is_pausing,
			      .wait = old.wait,
			      .wait_ps = old.wait_ps,
			      .una = psn,
			      .send_psn = psn,
			      .top_psn = psn,
			      .done_psn = psn,
			      .asked_psn = psn,
			      .restart_psn = psn,
			      .cum = psn,
			      .high = psn,
			      .re = { .psn = psn, .end = psn, .pos = old.tail },
			      .ask = { .psn = psn, .end = psn, .pos = old.tail },
			      .anew = { .psn = psn, .end = psn, .pos = old.tail },
			      .retry_left = a->retry,
			      .rnr_left = a->rnr_retry,
			      .timer = REQ_NO_TIMER,
			      .is_unlimited = !r->credits || is_unacked,
			      .is_unacked = is_unacked };
	if (q->came)
		memset(q->came, 0, (r->sr_mask + 1) / 8);
}

void req_enter_error(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_error = true;
	q->is_rtr = q->is_rnr_wait = false;
	q->top_psn = q->done_psn = q->asked_psn = q->una;
	req_timer_stop(r, qpi);
	if (tx_sched_is_capped(&r->tx, qpi))
		req_feed_update(r, qpi);
}

void req_tell(struct requester *r, uint32_t qpi, enum qp_change kind, uint32_t psn)
{
	r->told_cyc = r->b.cycle + 1;
	qp_error_push(r->error,
		      &(struct qp_error){ .qpi = qpi, .psn = psn, .kind = (uint8_t)kind });
}

/* An error is news to the QP: it is not in Error, nor being reset. */
static bool can_fail(const struct req_qp *q)
{
	return !q->is_error || q->is_rtr;
}

void req_take_peer_error(struct requester *r)
{
	const struct qp_error *m = qp_error_peek(r->peer_error);
	struct req_qp *q;

	if (!m)
		return;
	q = &r->qp[m->qpi];
	if (can_fail(q)) {
		q->is_silent = false;
		req_enter_error(r, m->qpi);
		req_try_retire(r, m->qpi);
	}
	chan_pop(r->peer_error);
}

/*
 * Ready to send, for the first time or again: false when an error still has requests to flush.
 */
static bool resume(struct requester *r, uint32_t qpi, uint32_t psn)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_draining = false;
	if (q->is_rtr) {
		req_begin_life(r, qpi, psn);
	} else if (q->is_error && q->is_unacked) {
		if (q->head != q->tail)
			return false;
		q->acked = q->send = q->issued = q->tail;
		q->una = q->top_psn = q->done_psn = q->asked_psn = q->restart_psn = q->send_psn;
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
		q->is_rtr = true;
		req_tell(r, m->qpi, QP_OPENED, m->psn);
		break;
	case QPS_RTS:
		if (!resume(r, m->qpi, m->psn))
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
		req_tell(r, m->qpi, q->is_silent ? QP_CLOSED : QP_FAILED, 0);
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

	if (m && !can_fail(&r->qp[m->qpi])) { /* it needs no telling */
		chan_pop(r->cq_error);
		return r->b.cycle + 1;
	}
	return min_u64(next, take_cmd(r, r->cq_error));
}

uint64_t req_take_closed(struct requester *r, bool is_cqe_free)
{
	const struct qp_closed *m = qp_closed_peek(r->closed);

	if (!m || r->qp[m->qpi].n_jobs)
		return CYCLE_NEVER;
	if (!is_cqe_free || qp_list_has(&r->react, m->qpi))
		return r->b.cycle + 1;
	if (!chan_can_push(r->cqe))
		return chan_stall(r->cqe);
	cqe_req_push(r->cqe, &(struct cqe_req){ .qpi = m->qpi,
						.cqi = req_attr(r, m->qpi)->scq,
						.op = OP_NONE,
						.opcode = CQE_REQ,
						.is_end = 1 });
	chan_pop(r->closed);
	return qp_closed_peek(r->closed) ? r->b.cycle + 1 : CYCLE_NEVER;
}
