/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_feed.c - how many WQEs are fetched ahead: as many as hide the time of a fetch
 *
 * WQEs in the NIC are few (wqe_fetch.wqe_slots). A QP with a cap or with long messages, fetched as
 * far ahead as its credits go, would hold them for long while others wait for one. So a QP is fed,
 * and qp_sched orders nothing for it, while messages that it has not begun take 'ahead' bytes,
 * divided by the QPs that share the line, or while its cap keeps it busy for 'ahead_time': with what
 * it has to send, and with the pause behind what it sent last. For the end of such a pause it waits
 * in a timing wheel, as hardware has a QP scheduled before its WQEs are read.
 */
#include "models/requester.h"

/* Bytes that the QP has to send. */
static uint64_t backlog(const struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];
	const struct req_wqe *w = req_wqe(q, q->send);
	uint64_t rest = 0;

	if (q->send != q->issued && !req_op_of(w)->is_answered)
		rest = (uint64_t)(w->n_psn - ((q->send_psn - w->first_psn) & PSN_MASK)) *
		       req_attr(r, qpi)->mtu;
	return min_u64(q->unsent + rest, MIB); /* 'ahead' is no more */
}

/* The QP's cap keeps it busy for ahead_time. */
static bool is_paced(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	const struct tx_sched_qp *t = &r->tx.qp[qpi];
	uint64_t bytes = backlog(r, qpi), pause = t->due_ps - min_u64(t->due_ps, r->b.now_ps);

	if (q->is_error || pause + ps_of_bytes(bytes, t->rate_bps) <= r->ahead_time)
		return false;
	if (!bytes && !q->is_pausing) {
		q->is_pausing = true;
		pace_wheel_add(&r->pausing, qpi, t->due_ps - r->ahead_time, r->b.now_ps);
	}
	return true;
}

static bool is_fed(struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];

	if (q->unsent * (r->n_sharing ? r->n_sharing : 1) >= r->ahead)
		return true;
	return tx_sched_is_capped(&r->tx, qpi) && is_paced(r, qpi);
}

void req_feed_update(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	bool is_sharing = q->unsent && !tx_sched_is_capped(&r->tx, qpi);

	r->n_sharing += is_sharing;
	r->n_sharing -= q->is_sharing;
	q->is_sharing = is_sharing;
	q->is_fed = is_fed(r, qpi);
	if (q->is_fed != q->is_told_fed)
		qp_list_add(&r->feed, qpi);
}

uint64_t req_feed_wake(struct requester *r)
{
	uint64_t next_ps;
	uint32_t qpi;

	while (pace_wheel_take(&r->pausing, r->b.now_ps, &qpi)) {
		r->qp[qpi].is_pausing = false;
		req_feed_update(r, qpi);
	}
	next_ps = pace_wheel_next_ps(&r->pausing);
	return next_ps == UINT64_MAX ? CYCLE_NEVER : block_cycle_at(&r->b, next_ps);
}

void req_feed_add(struct requester *r, uint32_t qpi, uint32_t len)
{
	r->qp[qpi].unsent += len;
	req_feed_update(r, qpi);
}

void req_feed_remove(struct requester *r, uint32_t qpi, uint32_t len)
{
	r->qp[qpi].unsent -= len;
	req_feed_update(r, qpi);
}

static void tell(struct requester *r, uint32_t qpi, uint16_t n_wqe)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_told_fed = q->is_fed;
	sq_credit_push(r->credit,
		       &(struct sq_credit){ .qpi = qpi, .n_wqe = n_wqe, .is_fed = q->is_fed });
}

void req_feed_release(struct requester *r, uint32_t qpi)
{
	if (tx_sched_is_capped(&r->tx, qpi)) /* what was to be sent again may be acknowledged */
		req_feed_update(r, qpi);
	tell(r, qpi, 1);
}

uint64_t req_feed_step(struct requester *r, bool is_port_used)
{
	while (r->feed.n && r->qp[r->feed.head].is_fed == r->qp[r->feed.head].is_told_fed)
		qp_list_take(&r->feed);
	if (!r->feed.n)
		return CYCLE_NEVER;
	if (is_port_used)
		return r->b.cycle + 1;
	if (!chan_can_push(r->credit))
		return chan_stall(r->credit);
	tell(r, qp_list_take(&r->feed), 0);
	return r->feed.n ? r->b.cycle + 1 : CYCLE_NEVER;
}
