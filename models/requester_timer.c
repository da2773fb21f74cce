/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_timer.c - ACK and RNR timers of all QPs
 *
 * All timers of a list run equally long (one list for each timeout exponent and each RNR code), so
 * appending keeps a list sorted: starting, stopping and expiry are O(1) whatever the number of QPs.
 * A QP has one timer: while it waits for an RNR time nothing is in flight that an ACK timer could
 * watch. Local ACK timeout: 4.096 us x 2^n is its minimum (IBTA vol. 1, 9.7.6.1.3); RNR codes:
 * table 46, which from code 1 on is the series of the credit codes in units of 10 us.
 */
#include "models/aeth.h"
#include "models/requester.h"

#define ACK_UNIT_PS (4096 * PS_PER_NS)
#define RNR_UNIT_PS (10 * PS_PER_US)
#define RNR_CODE_0 65536u	/* units that code 0 stands for */

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

void req_timer_ack(struct requester *r, uint32_t qpi)
{
	uint32_t n = req_attr(r, qpi)->timeout & 31;

	if (n)
		start(r, qpi, n, (ACK_UNIT_PS << n) * r->timeout_factor);
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
		req_kick(r, qpi);
		return;
	}
	r->timeouts++;
	req_retry(r, qpi);
}

uint64_t req_timer_step(struct requester *r)
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
	return block_cycle_at(&r->b, next);
}
