/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_timer.c - ACK and RNR timers of all QPs, and the time that acting on a NAK takes
 *
 * All timers of a list run equally long (one list for each timeout exponent and each RNR code), so
 * appending keeps a list sorted: starting, stopping and expiry are O(1) whatever the number of QPs.
 * A QP has one timer: while it waits for an RNR time nothing is in flight that an ACK timer could
 * watch. The ACK timer runs while a packet that asks for an answer (AckReq, READ, ATOMIC) is without
 * one: from when the first of these left, or from the last acknowledgement. So a message that takes
 * long to leave does not time out before its last packet asks (IBTA vol. 1, 9.7.6.1.3). Local ACK
 * timeout: 4.096 us x 2^n is its minimum (ibidem); RNR codes: table 46, which from code 1 on is the
 * series of the credit codes in units of 10 us.
 *
 * Adaptive times: one of two, by packets in flight (IRN, 3.1); doubling from a fixed one (a
 * ConnectX-5 with adaptive retransmission: 2, 4, 8, 16 ms whatever the QP asks for); or estimated
 * from round trips (RFC 6298), rounded up to a grid of half powers of two, a list each.
 */
#include "models/packet/aeth.h"
#include "models/requester.h"

#define ACK_UNIT_PS (4096 * PS_PER_NS)
#define RNR_UNIT_PS (10 * PS_PER_US)
#define RNR_CODE_0 65536u /* units that code 0 stands for */

void req_timer_reset(struct requester *r)
{
	r->timers_used = 0;
	for (uint32_t i = 0; i < REQ_TIMER_LISTS; i++)
		r->timer[i].head = r->timer[i].tail = QPI_NONE;
}

void req_timer_stop(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	if (q->timer == REQ_NO_TIMER)
		return;
	if (q->timer_prev == QPI_NONE)
		r->timer[q->timer].head = q->timer_next;
	else
		r->qp[q->timer_prev].timer_next = q->timer_next;
	if (q->timer_next == QPI_NONE)
		r->timer[q->timer].tail = q->timer_prev;
	else
		r->qp[q->timer_next].timer_prev = q->timer_prev;
	if (r->timer[q->timer].head == QPI_NONE)
		r->timers_used &= ~(1ull << q->timer);
	q->timer = REQ_NO_TIMER;
}

static void start(struct requester *r, uint32_t qpi, uint32_t list, uint64_t ps)
{
	struct req_qp *q = &r->qp[qpi];

	req_timer_stop(r, qpi);
	q->timer = (uint8_t)list;
	q->deadline_ps = r->b.now_ps + ps;
	q->timer_prev = r->timer[list].tail;
	q->timer_next = QPI_NONE;
	if (q->timer_prev == QPI_NONE)
		r->timer[list].head = qpi;
	else
		r->qp[q->timer_prev].timer_next = qpi;
	r->timer[list].tail = qpi;
	r->timers_used |= 1ull << list;
}

/* RTO_ESTIMATED: time of list 1 .. 31, half a power of two apart from one to the next. */
static uint64_t grid_ps(const struct requester *r, uint32_t list)
{
	uint64_t ps = r->rto_min << (list - 1) / 2;

	return (list - 1) % 2 ? ps + ps / 2 : ps;
}

static uint32_t grid_list(const struct requester *r, uint64_t ps)
{
	uint32_t list = 1;

	ps = min_u64(ps, r->rto_max);
	while (list < REQ_RNR_LIST - 1 && grid_ps(r, list) < ps)
		list++;
	return list;
}

void req_timer_sample(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	uint64_t rtt, off;

	q->backoff = 0;
	if (!q->is_rtt_timed || psn_diff(q->una, q->rtt_psn) < 0)
		return;
	q->is_rtt_timed = false;
	rtt = r->b.now_ps - q->rtt_from_ps;
	if (q->srtt_ps == 0) {
		q->srtt_ps = rtt;
		q->rttvar_ps = rtt / 2;
		return;
	}
	off = rtt > q->srtt_ps ? rtt - q->srtt_ps : q->srtt_ps - rtt;
	q->rttvar_ps = q->rttvar_ps - q->rttvar_ps / 4 + off / 4;
	q->srtt_ps = q->srtt_ps - q->srtt_ps / 8 + rtt / 8;
}

static void start_estimated(struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];
	uint32_t list = grid_list(r, q->srtt_ps ? q->srtt_ps + 4 * q->rttvar_ps : r->rto_max);

	list = (uint32_t)min_u64(list + 2u * q->backoff, grid_list(r, r->rto_max));
	start(r, qpi, list, grid_ps(r, list));
}

void req_timer_ack(struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];
	uint32_t n = req_attr(r, qpi)->timeout & 31;
	uint32_t step = (uint32_t)min_u64(q->backoff, REQ_RTO_STEPS - 1);

	if (!n)
		return;
	if (r->rto == RTO_ESTIMATED)
		start_estimated(r, qpi);
	else if (r->rto == RTO_DOUBLING)
		start(r, qpi, 1 + step, r->rto_min << step);
	else if (r->rto == RTO_FIXED)
		start(r, qpi, n, (ACK_UNIT_PS << n) * r->timeout_factor);
	else if (psn_diff(q->send_psn, q->una) < (int32_t)r->rto_few)
		start(r, qpi, 1, r->rto_min);
	else
		start(r, qpi, 2, r->rto_max);
}

void req_timer_rnr(struct requester *r, uint32_t qpi, uint32_t code)
{
	uint64_t ps = (code ? aeth_credits(code) : RNR_CODE_0) * RNR_UNIT_PS;

	start(r, qpi, REQ_RNR_LIST + code, code == 25 ? r->rnr_25 : ps);
}

static void expire(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	req_timer_stop(r, qpi);
	if (q->is_rnr_wait) {
		q->is_rnr_wait = false;
		if (r->recovery == RECOVERY_SR)
			req_sr_recover(r, qpi);
		req_kick(r, qpi);
		return;
	}
	r->timeouts++;
	if (q->backoff < REQ_RNR_LIST)
		q->backoff++;
	if (r->recovery == RECOVERY_SR)
		req_sr_lose_all(r, qpi);
	if (req_spend_retry(r, qpi))
		req_go_back(r, qpi, q->top_psn);
}

uint64_t req_timer_expire(struct requester *r)
{
	uint64_t next = TIME_NEVER;

	for (uint64_t used = r->timers_used; used; used &= used - 1) {
		uint32_t list = (uint32_t)__builtin_ctzll(used), qpi;

		while ((qpi = r->timer[list].head) != QPI_NONE &&
		       r->qp[qpi].deadline_ps <= r->b.now_ps)
			expire(r, qpi);
		if (qpi != QPI_NONE)
			next = min_u64(next, r->qp[qpi].deadline_ps);
	}
	return next;
}

/*
 * Go-back-N: something was sent since the last restart. A NAK that comes before that is of the attempt
 * before, as is its double.
 */
static bool has_attempted(const struct req_qp *q)
{
	return !q->is_retrying || q->done_psn != q->una;
}

static void act(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	/* selective repeat spends no retry on a packet; on the oldest response it does */
	if (r->recovery == RECOVERY_SR) {
		if (req_sr_recover(r, qpi) && !q->is_retrying && req_spend_retry(r, qpi)) {
			q->pass++;
			req_timer_stop(r, qpi);
		}
		return;
	}
	if (has_attempted(q) && req_spend_retry(r, qpi))
		req_go_back(r, qpi, q->react_told_psn);
}

void req_react(struct requester *r, uint32_t qpi, uint32_t told_psn)
{
	struct req_qp *q = &r->qp[qpi];

	if (r->recovery == RECOVERY_GBN && !has_attempted(q))
		return;
	q->react_told_psn = told_psn;
	if (!r->react_delay) {
		act(r, qpi);
		return;
	}
	if (!qp_list_has(&r->react, qpi))
		q->react_ps = r->b.now_ps + r->react_delay;
	q->react_psn = q->una;
	qp_list_add(&r->react, qpi);
}

uint64_t req_react_step(struct requester *r)
{
	while (r->react.n && r->qp[r->react.head].react_ps <= r->b.now_ps) {
		uint32_t qpi = qp_list_take(&r->react);
		const struct req_qp *q = &r->qp[qpi];

		if (!q->is_error && !q->is_rnr_wait && q->una != q->top_psn &&
		    (r->recovery == RECOVERY_SR || q->una == q->react_psn))
			act(r, qpi);
	}
	return r->react.n ? block_cycle_at(&r->b, r->qp[r->react.head].react_ps) : CYCLE_NEVER;
}
