/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_sr.c - selective repeat: what the peer has got, and which packets go out again
 *
 * After IRN (Mittal et al., SIGCOMM 2018, 3.1): a selective acknowledgement starts a recovery, in
 * which every packet that is missing below the highest one named goes out once more, before new
 * ones. The oldest goes out again whenever a new one came that was sent after it (RFC 8985 does so with
 * times); else what is lost twice is left to the timer, and so is the last of a burst. At most
 * 'sr_window' and 'bdp_cap' packets of a QP are in flight, but for a READ that is longer.
 *
 * READ and ATOMIC requests are packets like others, but the PSNs of a READ's response count as
 * the request's: only its first can be named. A READ waits until all its responses find room in
 * the window; a longer one, until nothing else is in flight. Their responses are kept like
 * packets at the responder, with the same map: one that overtook others is written to its place,
 * which its PSN tells, and those it overtook are asked for again at once, by a READ of these
 * PSNs only, or from the peer's resources of an ATOMIC; and once more when a later one that was
 * asked for again came before them; the oldest also when the map is full. So each is taken once,
 * whatever the order; messages end in order. A response is thrown away when it is further ahead than the map,
 * or when its request writes to bytes that an earlier one waits for (sr_ordered). IRN also has
 * the responses acknowledged, so that the peer paces them; here the peer sends a READ's as it is
 * asked.
 */
#include "models/packet/opcode.h"
#include "models/packet/packet.h"
#include "models/requester.h"
#include "models/verbs/wqe.h"

/* The map has a place for 'psn', which is not acknowledged. */
static bool is_near(const struct requester *r, const struct req_qp *q, uint32_t psn)
{
	return psn_diff(psn, q->una) <= (int32_t)r->sr_mask;
}

static bool has_come(const struct requester *r, const struct req_qp *q, uint32_t psn)
{
	return is_near(r, q, psn) && sack_has(q->came, psn & r->sr_mask);
}

/* The response with PSN 'psn' is here. */
static bool is_here(const struct requester *r, const struct req_qp *q, uint32_t psn)
{
	return psn_diff(psn, q->cum) < 0 && has_come(r, q, psn);
}

void req_sr_received(struct requester *r, uint32_t qpi, uint32_t to)
{
	struct req_qp *q = &r->qp[qpi];

	if (r->recovery != RECOVERY_SR || psn_diff(to, q->cum) <= 0)
		return;
	for (uint32_t psn = q->cum; psn != to && is_near(r, q, psn); psn = psn_add(psn, 1))
		sack_clear(q->came, psn & r->sr_mask);
	q->cum = to;
	q->high = psn_max(q->high, to);
}

static struct wqe_seg segment(const struct requester *r, const struct req_wqe *w, uint32_t i)
{
	const uint8_t *wqe = buf_data(r->b.sim, w->w.buf);

	return wqe_seg_at(wqe + w->w.seg_off + i * WQE_SEG);
}

/* Two WQEs with a common byte in their segments. */
static bool do_overlap(const struct requester *r, const struct req_wqe *a, const struct req_wqe *b)
{
	for (uint32_t i = 0; i < a->w.n_sge; i++) {
		struct wqe_seg x = segment(r, a, i);

		for (uint32_t k = 0; k < b->w.n_sge; k++) {
			struct wqe_seg y = segment(r, b, k);

			if (x.addr < y.addr + y.len && y.addr < x.addr + x.len)
				return true;
		}
	}
	return false;
}

/* Data of the WQE at 'pos' can go to memory before those of all before it. */
static bool may_overtake(const struct requester *r, const struct req_qp *q, uint32_t pos)
{
	const struct req_wqe *w = req_wqe(q, pos);

	for (uint32_t i = q->acked; r->sr_ordered && req_returns_data(w) && i != pos; i++)
		if (req_returns_data(req_wqe(q, i)) && do_overlap(r, req_wqe(q, i), w))
			return false;
	return true;
}

bool req_sr_may_take(const struct requester *r, struct req_qp *q, uint32_t psn, uint32_t pos)
{
	if (!is_near(r, q, psn)) {
		/* by now the oldest, asked for again when the map began to fill, should be here */
		if (psn_diff(q->una, q->ask.psn) < 0)
			q->anew.end = psn_max(q->anew.end, psn_add(q->una, 1));
		return false;
	}
	if (has_come(r, q, psn))
		return false;
	if (may_overtake(r, q, pos))
		return true;
	q->ask.end = q->top_psn; /* those behind it are not better off: ask now, not one by one */
	return false;
}

bool req_sr_has_room(const struct requester *r, const struct req_qp *q, const struct req_wqe *w)
{
	uint32_t in_flight = (uint32_t)psn_diff(q->send_psn, q->una);

	return in_flight == 0 || (uint64_t)in_flight + req_psns(r, w) <= r->flight;
}

/*
 * 'psn' is no longer missing. Retries are for want of progress (IBTA vol. 1, 9.9.2), and this is some,
 * though an older packet is lost again and again.
 */
static void came_new(struct requester *r, uint32_t qpi, uint32_t psn)
{
	struct req_qp *q = &r->qp[qpi];

	sack_set(q->came, psn & r->sr_mask);
	q->retry_left = req_attr(r, qpi)->retry;
}

void req_sr_answered(struct requester *r, uint32_t qpi, uint32_t psn)
{
	struct req_qp *q = &r->qp[qpi];

	came_new(r, qpi, psn);
	r->placed += psn != q->una;
	req_acknowledge(r, qpi, psn_min(q->cum, q->top_psn));
	/* it was asked for again, and so was, before it, what is still missing: that was lost twice */
	if (psn_diff(psn, q->una) > 0 && psn_diff(psn, q->ask.psn) < 0)
		q->anew.end = psn_max(q->anew.end, psn);
}

uint32_t req_sr_pass(const struct requester *r, struct req_qp *q, uint32_t to)
{
	uint32_t psn = q->una;

	if (r->recovery != RECOVERY_SR)
		return psn;
	for (; psn != to && has_come(r, q, psn); psn = psn_add(psn, 1))
		sack_clear(q->came, psn & r->sr_mask);
	return psn;
}

void req_sr_lose_head(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	if (req_op_of(req_wqe(q, q->acked))->is_answered) {
		q->ask = (struct req_mark){ .psn = q->una, .end = q->top_psn, .pos = q->acked };
		return;
	}
	q->is_head_lost = true;
	sack_clear(q->came, q->una & r->sr_mask);
}

void req_sr_lose_all(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->re = (struct req_mark){ .psn = q->una, .end = q->send_psn, .pos = q->acked };
	q->ask.end = q->una;
	q->anew = (struct req_mark){ .psn = q->una, .end = q->una, .pos = q->acked };
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

		if (!sack_has(map, k) || psn_diff(psn, q->cum) < 0 || !is_near(r, q, psn) ||
		    psn_diff(psn, q->top_psn) >= 0)
			continue;
		if (!has_come(r, q, psn))
			came_new(r, m->qpi, psn);
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

/*
 * How many responses to 'w', where the mark is, are asked for together. A request that the peer may
 * not have, or whose responses are all thrown away, goes out whole. Where the map ends, a run waits until it has grown to half of it.
 */
static uint32_t missing_len(const struct requester *r, const struct req_qp *q,
			    const struct req_mark *m, const struct req_wqe *w, uint32_t end)
{
	uint32_t at = (m->psn - w->first_psn) & PSN_MASK, most = req_read_part(w, at), n = 0;

	if (psn_diff(m->psn, q->cum) >= (int32_t)(at % REQ_READ_PART) ||
	    !may_overtake(r, q, m->pos))
		return most;
	most = (uint32_t)min_u64(most, (uint32_t)psn_diff(end, m->psn));
	while (n < most && is_near(r, q, psn_add(m->psn, n)) && !is_here(r, q, psn_add(m->psn, n)))
		n++;
	if (n < most && !is_near(r, q, psn_add(m->psn, n)) && n <= r->sr_mask / 2)
		return 0;
	return n;
}

/*
 * Move one of the QP's marks to the next response to be asked for again. Returns how many from there on; 0
 * if there is none.
 */
static uint32_t find_missing(const struct requester *r, struct req_qp *q, struct req_mark *m)
{
	uint32_t end = clip(q, m, q->una);

	while (psn_diff(m->psn, end) < 0) {
		const struct req_wqe *w = marked(q, m);

		if (!req_op_of(w)->is_answered)
			m->psn = psn_add(w->first_psn, w->n_psn);
		else if (is_here(r, q, m->psn))
			m->psn = psn_add(m->psn, 1);
		else
			return missing_len(r, q, m, w, end);
	}
	return 0;
}

/* The oldest packet was sent again, and lost again: one that was sent later is there. */
static bool is_lost_again(const struct requester *r, const struct req_qp *q)
{
	return q->cum == q->una && psn_diff(q->una, q->re.psn) < 0 &&
	       psn_diff(q->high, q->after[q->una & r->sr_mask]) > 0;
}

bool req_sr_recover(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_head_lost |= is_lost_again(r, q);
	q->re.end = psn_max(q->re.end, q->high);
	q->ask.end = psn_max(q->ask.end, q->cum);
	q->is_rtt_timed = false;
	req_wait_lost(r, qpi, q->re.end);
	req_kick(r, qpi);
	return find_missing(r, q, &q->ask) && q->ask.psn == q->una;
}

/* Move the QP's mark to the next packet to be sent again. False if there is none. */
static bool find_hole(const struct requester *r, struct req_qp *q)
{
	uint32_t end = clip(q, &q->re, psn_max(q->cum, q->una));

	while (psn_diff(q->re.psn, end) < 0) {
		const struct req_wqe *w = marked(q, &q->re);
		bool is_sent = has_come(r, q, q->re.psn);

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
	return (q->is_head_lost && psn_diff(q->una, q->top_psn) < 0) ||
	       find_missing(r, q, &q->anew) || find_missing(r, q, &q->ask) || find_hole(r, q);
}

/* How many packets from packet 'at' of 'w' on, where the mark is, go out again together. */
static uint32_t hole_len(const struct requester *r, const struct req_qp *q, const struct req_wqe *w,
			 uint32_t at)
{
	uint32_t end = psn_min(q->re.end, q->top_psn), n = 1;

	while (n < r->burst && at + n < w->n_psn && psn_diff(psn_add(q->re.psn, n), end) < 0 &&
	       !has_come(r, q, psn_add(q->re.psn, n)))
		n++;
	return n;
}

struct req_run req_sr_hole(const struct requester *r, struct req_qp *q)
{
	struct req_mark head = { .psn = q->una, .pos = q->acked }, *m = &q->re;
	uint32_t n_missing = 0, at;
	const struct req_wqe *w;
	struct req_run run;

	if (q->is_head_lost)
		m = &head;
	else if ((n_missing = find_missing(r, q, &q->anew)) != 0)
		m = &q->anew;
	else if ((n_missing = find_missing(r, q, &q->ask)) != 0)
		m = &q->ask;
	w = req_wqe(q, m->pos);
	at = (m->psn - w->first_psn) & PSN_MASK;
	run = (struct req_run){ .pos = m->pos, .psn = m->psn, .n = 1 };
	if (n_missing)
		run.n = n_missing;
	else if (req_op_of(w)->is_answered)
		run.n = req_read_part(w, at);
	else if (!q->is_head_lost)
		run.n = hole_len(r, q, w, at);
	for (uint32_t i = 0; i < (req_op_of(w)->is_answered ? 1 : run.n); i++)
		q->after[psn_add(run.psn, i) & r->sr_mask] = q->send_psn;
	m->psn = psn_add(m->psn, run.n);
	if (q->is_head_lost)
		q->re.psn = psn_max(q->re.psn, m->psn);
	q->is_head_lost = false;
	return run;
}
