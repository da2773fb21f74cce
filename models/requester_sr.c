/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_sr.c - selective repeat: what the peer has got, and which packets go out again
 *
 * After IRN (Mittal et al., SIGCOMM 2018, 3.1): a selective acknowledgement starts a recovery, in
 * which every packet that is missing below the highest one named goes out once more, before new
 * ones; one that is lost twice is left to the timer, and so is the last of a burst. At most
 * 'sr_window' and 'bdp_cap' packets of a QP are in flight.
 *
 * READ and ATOMIC requests are packets like others, but the PSNs of a READ's response count as the
 * request's: only its first can be named. Responses are taken in order, as by go-back-N: behind a
 * lost one all are thrown away until it is there. So one that is missing makes every READ and
 * ATOMIC in flight a hole: all are asked for again at once, the oldest from its missing packet on
 * (restart of the READ, protocol.md section 10), and not again before a response is taken. The peer
 * replays ATOMICs from its resources. IRN's acknowledgement of responses, by which those behind a
 * gap are kept, is not modelled.
 */
#include "models/packet/opcode.h"
#include "models/packet/packet.h"
#include "models/requester.h"

static bool is_sacked(const struct requester *r, const struct req_qp *q, uint32_t psn)
{
	return sack_has(q->sacked, psn & r->sr_mask);
}

void req_sr_received(struct requester *r, uint32_t qpi, uint32_t to)
{
	struct req_qp *q = &r->qp[qpi];
	int32_t n = psn_diff(to, q->cum);

	if (r->recovery != RECOVERY_SR || n <= 0)
		return;
	for (uint32_t k = 0; k <= r->sr_mask && k < (uint32_t)n; k++)
		sack_clear(q->sacked, psn_add(q->cum, k) & r->sr_mask);
	q->cum = to;
	q->high = psn_max(q->high, to);
}

void req_sr_recover(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->re.end = psn_max(q->re.end, q->high);
	q->is_rtt_timed = false;
	req_wait_lost(r, qpi, q->re.end);
	req_kick(r, qpi);
}

void req_sr_lose_head(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	if (req_op_of(req_wqe(q, q->acked))->is_answered) {
		q->ask = (struct req_mark){ .psn = q->una, .end = q->top_psn, .pos = q->acked };
		return;
	}
	q->is_head_lost = true;
	sack_clear(q->sacked, q->una & r->sr_mask);
}

void req_sr_lose_all(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->re = (struct req_mark){ .psn = q->una, .end = q->send_psn, .pos = q->acked };
	q->ask.end = q->una;
}

void req_sr_take_sack(struct requester *r, const struct rx_pkt *m)
{
	struct req_qp *q = &r->qp[m->qpi];
	const struct packet *p = buf_data(r->b.sim, m->buf);
	const uint8_t *map = p->data + m->payload;
	uint32_t bits = (uint32_t)min_u64(m->len, SACK_MAX_BYTES) * 8;

	r->sacks++;
	req_sr_received(r, m->qpi, m->psn);
	for (uint32_t k = 0; k < bits; k++) {
		uint32_t psn = psn_add(m->psn, k);

		if (!sack_has(map, k) || psn_diff(psn, q->cum) < 0 ||
		    psn_diff(psn, q->cum) > (int32_t)r->sr_mask || psn_diff(psn, q->top_psn) >= 0)
			continue;
		sack_set(q->sacked, psn & r->sr_mask);
		q->high = psn_max(q->high, psn_add(psn, 1));
	}
	/* nothing named: the peer had no room for what came behind the gap */
	if (psn_diff(q->high, m->psn) <= 0)
		q->high = psn_add(m->psn, 1);
}

/* Move 'm' on, but not before 'from'. Returns the end of what it has in flight. */
static uint32_t clip(const struct req_qp *q, struct req_mark *m, uint32_t from)
{
	m->psn = psn_max(m->psn, from);
	m->end = psn_max(m->end, m->psn);
	if (pos_before(m->pos, q->acked))
		m->pos = q->acked;
	return psn_min(m->end, q->top_psn);
}

/* The WQE of the mark, which is in flight. */
static const struct req_wqe *marked(const struct req_qp *q, struct req_mark *m)
{
	const struct req_wqe *w = req_wqe(q, m->pos);

	while (((m->psn - w->first_psn) & PSN_MASK) >= w->n_psn)
		w = req_wqe(q, ++m->pos);
	return w;
}

/* Move the QP's mark to the next READ or ATOMIC to be asked for again. False if there is none. */
static bool find_unanswered(struct req_qp *q)
{
	uint32_t end = clip(q, &q->ask, q->una);

	while (psn_diff(q->ask.psn, end) < 0) {
		const struct req_wqe *w = marked(q, &q->ask);

		if (req_op_of(w)->is_answered)
			return true;
		q->ask.psn = psn_add(w->first_psn, w->n_psn);
	}
	return false;
}

/* Move the QP's mark to the next packet to be sent again. False if there is none. */
static bool find_hole(const struct requester *r, struct req_qp *q)
{
	uint32_t end = clip(q, &q->re, psn_max(q->cum, q->una));

	while (psn_diff(q->re.psn, end) < 0) {
		const struct req_wqe *w = marked(q, &q->re);
		bool is_sent = is_sacked(r, q, q->re.psn);

		if (!req_op_of(w)->is_answered) {
			if (!is_sent)
				return true;
			q->re.psn = psn_add(q->re.psn, 1);
			continue;
		}
		/* what is asked for is not asked for twice */
		is_sent |= q->re.psn != w->first_psn || psn_diff(q->re.psn, q->ask.end) < 0;
		if (!is_sent)
			return true;
		q->re.psn = psn_add(w->first_psn, w->n_psn);
	}
	return false;
}

bool req_sr_has_hole(const struct requester *r, struct req_qp *q)
{
	return (q->is_head_lost && psn_diff(q->una, q->top_psn) < 0) || find_unanswered(q) ||
	       find_hole(r, q);
}

/* How many packets from packet 'at' of 'w' on, where the mark is, go out again together. */
static uint32_t hole_len(const struct requester *r, const struct req_qp *q, const struct req_wqe *w,
			 uint32_t at)
{
	uint32_t end = psn_min(q->re.end, q->top_psn), n = 1;

	while (n < r->burst && at + n < w->n_psn && psn_diff(psn_add(q->re.psn, n), end) < 0 &&
	       !is_sacked(r, q, psn_add(q->re.psn, n)))
		n++;
	return n;
}

struct req_run req_sr_hole(const struct requester *r, struct req_qp *q)
{
	struct req_mark head = { .psn = q->una, .pos = q->acked }, *m = &q->re;
	const struct req_wqe *w;
	struct req_run run;
	uint32_t at;

	if (q->is_head_lost)
		m = &head;
	else if (find_unanswered(q))
		m = &q->ask;
	w = req_wqe(q, m->pos);
	at = (m->psn - w->first_psn) & PSN_MASK;
	run = (struct req_run){ .pos = m->pos, .psn = m->psn, .n = 1 };
	if (req_op_of(w)->is_answered)
		run.n = req_read_part(w, at);
	else if (!q->is_head_lost)
		run.n = hole_len(r, q, w, at);
	m->psn = psn_add(m->psn, run.n);
	if (q->is_head_lost)
		q->re.psn = psn_max(q->re.psn, m->psn);
	q->is_head_lost = false;
	return run;
}
