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
 * request's: only its first can be named. A response that is missing is asked for again from there
 * on (restart of the READ, protocol.md section 10); IRN's acknowledgement of responses is not
 * modelled.
 */
#include "models/opcode.h"
#include "models/packet.h"
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

	q->re_end = psn_max(q->re_end, q->high);
	q->is_rtt_timed = false;
	req_kick(r, qpi);
}

void req_sr_lose_head(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_head_lost = true;
	sack_clear(q->sacked, q->una & r->sr_mask);
}

void req_sr_lose_all(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->re_psn = q->una;
	q->re_pos = q->acked;
	q->re_end = q->send_psn;
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

/* Move the QP's mark to the next packet to be sent again. False if there is none. */
static bool find_hole(const struct requester *r, struct req_qp *q)
{
	uint32_t end;

	q->re_psn = psn_max(q->re_psn, psn_max(q->cum, q->una));
	q->re_end = psn_max(q->re_end, q->re_psn);
	end = psn_min(q->re_end, q->top_psn);
	if (pos_before(q->re_pos, q->acked))
		q->re_pos = q->acked;
	while (psn_diff(q->re_psn, end) < 0) {
		const struct req_wqe *w = req_wqe(q, q->re_pos);

		if (((q->re_psn - w->first_psn) & PSN_MASK) >= w->n_psn) {
			q->re_pos++;
		} else if (!req_op_of(w)->is_answered) {
			if (!is_sacked(r, q, q->re_psn))
				return true;
			q->re_psn = psn_add(q->re_psn, 1);
		} else if (q->re_psn == w->first_psn && !is_sacked(r, q, q->re_psn)) {
			return true;
		} else {
			q->re_psn = psn_add(w->first_psn, w->n_psn); /* the peer has it */
		}
	}
	return false;
}

bool req_sr_has_hole(const struct requester *r, struct req_qp *q)
{
	return (q->is_head_lost && psn_diff(q->una, q->top_psn) < 0) || find_hole(r, q);
}

struct req_run req_sr_hole(const struct requester *r, struct req_qp *q)
{
	struct req_run run = { .pos = q->re_pos, .psn = q->re_psn, .n = 1 };
	const struct req_wqe *w;
	uint32_t at;

	if (q->is_head_lost)
		run = (struct req_run){ .pos = q->acked, .psn = q->una, .n = 1 };
	w = req_wqe(q, run.pos);
	at = (run.psn - w->first_psn) & PSN_MASK;
	if (req_op_of(w)->is_answered) {
		run.n = req_read_part(w, at);
	} else if (!q->is_head_lost) {
		uint32_t end = psn_min(q->re_end, q->top_psn);

		while (run.n < r->burst && at + run.n < w->n_psn &&
		       psn_diff(psn_add(run.psn, run.n), end) < 0 &&
		       !is_sacked(r, q, psn_add(run.psn, run.n)))
			run.n++;
	}
	q->is_head_lost = false;
	q->re_psn = psn_max(q->re_psn, psn_add(run.psn, run.n));
	return run;
}
