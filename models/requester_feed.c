/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_feed.c - how many WQEs are fetched ahead: as many as hide the time of a fetch
 *
 * WQEs in the NIC are few (wqe_fetch.wqe_slots). A QP with a cap or with long messages, fetched as
 * far ahead as its credits go, would hold them for long while others wait for one. So a QP is fed,
 * and qp_sched orders nothing for it, while messages that it has not begun take 'ahead' bytes,
 * divided by the QPs that share the line, or longer than 'ahead_time' at its cap.
 */
#include "models/requester.h"

static bool is_fed(const struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];
	uint64_t bps = r->tx.qp[qpi].rate_bps;

	if (q->unsent * (r->n_sharing ? r->n_sharing : 1) >= r->ahead)
		return true;
	return bps && q->unsent && ps_of_bytes(q->unsent, bps) >= r->ahead_time;
}

static void update(struct requester *r, uint32_t qpi)
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

void req_feed_add(struct requester *r, uint32_t qpi, uint32_t len)
{
	r->qp[qpi].unsent += len;
	update(r, qpi);
}

void req_feed_remove(struct requester *r, uint32_t qpi, uint32_t len)
{
	r->qp[qpi].unsent -= len;
	update(r, qpi);
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
