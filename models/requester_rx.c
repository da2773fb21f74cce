/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_rx.c - acknowledgements and responses: what they finish, what they make the requester
 * send again, and where response data go
 *
 * A packet whose PSN is not in flight (una .. top - 1) is a ghost and changes nothing, whatever it
 * says; the one exception is a repeated ACK of the last PSN, which may bring credits. Source: IBTA
 * vol. 1, 9.7.5.1, 9.7.7, 9.9.2; protocol.md section 10.
 */
#include "models/packet/aeth.h"
#include "models/packet/opcode.h"
#include "models/packet/packet.h"
#include "models/requester.h"
#include "models/verbs/wqe.h"

#define ATOMIC_BYTES 8u

/* Completion syndrome by NAK code; 0 = not an end, but a gap to fill. */
static const uint8_t nak_syndromes[] = { 0, CQE_SYNDROME_REMOTE_INVAL_REQ,
					 CQE_SYNDROME_REMOTE_ACCESS, CQE_SYNDROME_REMOTE_OP };

static bool in_flight(const struct req_qp *q, uint32_t psn)
{
	return psn_diff(psn, q->una) >= 0 && psn_diff(psn, q->top_psn) < 0;
}

/* The peer acknowledged something new: counters reload, timers restart, what was asked for again is
 * moot. */
static void progressed(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->retry_left = req_attr(r, qpi)->retry;
	q->rnr_left = req_attr(r, qpi)->rnr_retry;
	q->is_retrying = q->is_rnr_wait = q->is_head_lost = q->has_met_rnr = false;
	q->is_repeating = q->is_repeating && psn_diff(q->una, q->lost_psn) < 0;
	q->progress_ps = r->b.now_ps;
	req_timer_sample(r, qpi);
	q->done_psn = psn_max(q->done_psn, q->una);
	q->asked_psn = psn_max(q->asked_psn, q->una);
	if (psn_diff(q->una, q->send_psn) > 0) {
		q->send = q->acked;
		q->send_psn = q->una;
	}
	req_timer_stop(r, qpi);
	if (q->asked_psn != q->una)
		req_timer_ack(r, qpi);
	req_kick(r, qpi);
	req_try_retire(r, qpi);
}

/* What is before PSN 'to' of the oldest WQE is acknowledged or answered. */
static void move_on(struct requester *r, struct req_qp *q, uint32_t to)
{
	const struct req_wqe *w = req_wqe(q, q->acked);

	q->una = to;
	if (to != psn_add(w->first_psn, w->n_psn))
		return;
	q->acked++;
	q->n_rd_atomic -= req_op_of(w)->is_answered;
	if (!w->n_dma)
		oplog_mark(req_oplog(r), w->w.op, OP_ACK, r->b.now_ps);
}

bool req_acknowledge(struct requester *r, uint32_t qpi, uint32_t to)
{
	struct req_qp *q = &r->qp[qpi];
	uint32_t before = q->una;

	req_sr_received(r, qpi, to);
	while (q->una != to) {
		const struct req_wqe *w = req_wqe(q, q->acked);
		uint32_t upto = psn_min(psn_add(w->first_psn, w->n_psn), to);

		if (req_op_of(w)->is_answered)
			upto = req_sr_pass(r, q, upto);
		if (upto == q->una)
			break;
		move_on(r, q, upto);
	}
	if (q->una != before)
		progressed(r, qpi);
	return q->una == to;
}

bool req_spend_retry(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	if (q->retry_left == 0) {
		req_fail(r, qpi, q->acked, CQE_SYNDROME_RETRY_EXC);
		return false;
	}
	q->retry_left--;
	q->is_retrying = true;
	return true;
}

/*
 * While what is oldest is sent again: the answer to PSN 'psn' is to a packet of this pass, so that the
 * response missing before it was lost again. Of the attempt before only PSNs that it had sent are still
 * to come, and, as a path keeps order, behind the one that told of the loss. That may come again as an
 * ACK, which each duplicate gets with the PSN acknowledged last, but not as a response.
 */
static bool is_of_this_pass(const struct req_qp *q, uint32_t psn, bool is_response)
{
	return psn_diff(psn, q->told_psn) < (int32_t)is_response || psn_diff(psn, q->past_psn) >= 0;
}

/* A READ or ATOMIC was passed over by the answer to PSN 'psn': its response was lost. Every packet behind
 * says so; the first one of a pass counts. */
static void implied_nak(struct requester *r, uint32_t qpi, uint32_t psn, bool is_response)
{
	struct req_qp *q = &r->qp[qpi];

	r->implied_naks++;
	if (q->is_rnr_wait)
		return;
	if (!q->is_retrying || r->recovery == RECOVERY_SR || is_of_this_pass(q, psn, is_response))
		req_react(r, qpi, psn);
}

static void bad_response(struct requester *r, uint32_t qpi, uint32_t pos)
{
	r->bad_responses++;
	req_fail(r, qpi, pos, CQE_SYNDROME_BAD_RESP);
}

static void update_credits(struct requester *r, uint32_t qpi, const struct hdr_aeth *a)
{
	struct req_qp *q = &r->qp[qpi];
	uint32_t code = a->syndrome & AETH_VALUE_MASK;

	if (q->is_unlimited)
		return;
	q->is_unlimited = code == AETH_NO_CREDITS;
	if (!q->is_unlimited)
		q->lsn = psn_max(q->lsn, psn_add(a->msn, aeth_credits(code)));
	req_kick(r, qpi);
}

static void take_rnr_nak(struct requester *r, uint32_t qpi, uint32_t code)
{
	struct req_qp *q = &r->qp[qpi];

	r->nak_rnr++;
	q->has_met_rnr = true;
	if (q->is_rnr_wait)
		return;
	if (q->rnr_left == 0) {
		req_fail(r, qpi, q->acked, CQE_SYNDROME_RNR_RETRY_EXC);
		return;
	}
	if (req_attr(r, qpi)->rnr_retry != 7) /* 7 = without end */
		q->rnr_left--;
	q->is_rnr_wait = true;
	req_go_back(r, qpi, q->top_psn);
	req_timer_rnr(r, qpi, code);
}

static void take_nak(struct requester *r, uint32_t qpi, uint32_t psn, uint32_t syndrome)
{
	struct req_qp *q = &r->qp[qpi];
	uint32_t code = syndrome & AETH_VALUE_MASK;
	const struct req_wqe *w;

	req_acknowledge(r, qpi, psn);
	w = req_wqe(q, q->acked);
	if (((psn - w->first_psn) & PSN_MASK) >= w->n_psn) {
		implied_nak(r, qpi, psn, false);
	} else if ((syndrome & AETH_KIND_MASK) == AETH_RNR_NAK) {
		take_rnr_nak(r, qpi, code);
	} else if (syndrome == NAK_SEQUENCE) {
		r->nak_sequence++;
		if (!q->is_rnr_wait)
			req_react(r, qpi, q->top_psn);
	} else if ((syndrome & AETH_KIND_MASK) == AETH_NAK && code < ARRAY_LEN(nak_syndromes)) {
		r->nak_fatal++;
		req_fail(r, qpi, q->acked, nak_syndromes[code]);
	} else {
		bad_response(r, qpi, q->acked);
	}
}

static void take_ack(struct requester *r, uint32_t qpi, uint32_t psn, const struct hdr_aeth *a)
{
	struct req_qp *q = &r->qp[qpi];
	bool is_ack = (a->syndrome & AETH_KIND_MASK) == AETH_ACK;

	r->acks++;
	if (is_ack && (in_flight(q, psn) || psn_add(psn, 1) == q->una))
		update_credits(r, qpi, a);
	if (!in_flight(q, psn))
		r->ghosts++;
	else if (!is_ack)
		take_nak(r, qpi, psn, a->syndrome);
	else if (!req_acknowledge(r, qpi, psn_add(psn, 1)))
		implied_nak(r, qpi, psn, false);
}

/* Its answer carries a value. */
static bool is_atomic(const struct req_wqe *w)
{
	return w->w.opcode == MLX5_OPCODE_ATOMIC_CS || w->w.opcode == MLX5_OPCODE_ATOMIC_FA;
}

/*
 * Whether the packet is a response that WQE 'w', whose PSN it has, can get. What was asked for in
 * parts (selective repeat) ends more than once.
 */
static bool is_response_of(const struct requester *r, const struct req_wqe *w,
			   const struct rx_pkt *m, uint32_t operation)
{
	const uint64_t mtu = req_attr(r, m->qpi)->mtu;
	uint32_t at = (m->psn - w->first_psn) & PSN_MASK;
	bool is_end = at + 1 == w->n_psn || (at + 1) % REQ_READ_PART == 0;
	bool says_end = (opcode_info[m->opcode].place & OPCODE_LAST) != 0;

	if (is_atomic(w))
		return operation == IB_ATOMIC_ACK;
	if (operation == IB_ATOMIC_ACK || !req_op_of(w)->is_answered)
		return false;
	if (w->w.opcode != MLX5_OPCODE_RDMA_READ)
		return operation == IB_READ_RSP_ONLY && m->len == 0;
	return m->len == min_u64(w->w.len - at * mtu, mtu) &&
	       (is_end == says_end || (says_end && r->recovery == RECOVERY_SR));
}

/* The last write of data for the WQE at 'pos' may have ended, and with it the WQE. */
static void write_ended(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_wqe *w = req_wqe(q, pos);

	if (--w->n_dma)
		return;
	q->n_writing--;
	if (pos_before(pos, q->acked))
		oplog_mark(req_oplog(r), w->w.op, OP_ACK, r->b.now_ps);
	req_kick(r, qpi);
	req_try_retire(r, qpi);
}

/* The buffer with an ATOMIC's result: 8 bytes as they go to memory, little-endian. */
static uint32_t atomic_result(struct requester *r, const uint8_t *ack)
{
	uint32_t buf = pool_alloc(r->atomic_pool);
	uint8_t *to = buf_data(r->b.sim, buf);

	for (uint32_t i = 0; i < ATOMIC_BYTES; i++)
		to[i] = ack[ATOMIC_BYTES - 1 - i];
	return buf;
}

/* Take a response of the WQE at 'pos': its PSN says where in the message its data go. */
static void accept_response(struct requester *r, const struct rx_pkt *m, const struct packet *p,
			    uint32_t pos)
{
	struct req_qp *q = &r->qp[m->qpi];
	struct req_scatter *s = &r->scatter;
	struct req_wqe *w = req_wqe(q, pos);

	*s = (struct req_scatter){ .is_busy = true,
				   .qpi = m->qpi,
				   .pos = pos,
				   .buf = m->buf,
				   .off = (uint32_t)offsetof(struct packet, data) + m->payload,
				   .left = m->len,
				   .sge_off = ((m->psn - w->first_psn) & PSN_MASK) *
					      req_attr(r, m->qpi)->mtu };
	if (!is_atomic(w)) {
		buf_ref(r->b.sim, m->buf);
	} else {
		s->buf = atomic_result(r, p->data + m->xeth + AETH_BYTES);
		s->off = 0;
		s->left = ATOMIC_BYTES;
	}
	q->n_writing += w->n_dma++ == 0;
	r->responses++;
	if (r->recovery == RECOVERY_SR) {
		req_sr_answered(r, m->qpi, m->psn);
	} else {
		move_on(r, q, psn_add(q->una, 1));
		progressed(r, m->qpi);
	}
	if (s->left == 0) {
		s->is_busy = false;
		buf_unref(&r->b, s->buf);
		write_ended(r, s->qpi, s->pos);
	}
}

/* The WQE at 'pos' gets a response with PSN m->psn, unless there is no use for it. */
static void take_response_of(struct requester *r, const struct rx_pkt *m, const struct packet *p,
			     uint32_t operation, uint32_t pos)
{
	struct hdr_aeth a = { .syndrome = AETH_NO_CREDITS };

	if (operation != IB_READ_RSP_MIDDLE)
		hdr_aeth_decode(&a, p->data + m->xeth);
	if ((a.syndrome & AETH_KIND_MASK) != AETH_ACK ||
	    !is_response_of(r, req_wqe(&r->qp[m->qpi], pos), m, operation)) {
		bad_response(r, m->qpi, pos);
		return;
	}
	if (operation != IB_READ_RSP_MIDDLE)
		update_credits(r, m->qpi, &a);
	accept_response(r, m, p, pos);
}

static void take_response(struct requester *r, const struct rx_pkt *m, const struct packet *p,
			  uint32_t operation)
{
	struct req_qp *q = &r->qp[m->qpi];
	bool is_next;
	uint32_t pos;

	if (!in_flight(q, m->psn)) {
		r->ghosts++;
		return;
	}
	is_next = req_acknowledge(r, m->qpi, m->psn);
	req_sr_received(r, m->qpi, psn_add(m->psn, 1));
	if (is_next)
		take_response_of(r, m, p, operation, q->acked);
	else if (r->recovery == RECOVERY_SR && req_find_message(q, m->psn, &pos) &&
		 req_sr_may_take(r, q, m->psn, pos))
		take_response_of(r, m, p, operation, pos);
	if (!is_next)
		implied_nak(r, m->qpi, m->psn, true);
}

/* A READ response that is not the first packet of its message. */
static bool follows_another(const struct rx_pkt *m)
{
	uint32_t operation = m->opcode & IB_OPERATION_MASK;

	return operation == IB_READ_RSP_MIDDLE || operation == IB_READ_RSP_LAST;
}

uint64_t req_take_rx(struct requester *r)
{
	const struct rx_pkt *m = req_rx_head(r);
	const struct packet *p;
	struct hdr_aeth a;
	uint32_t operation;

	if (!m || r->scatter.is_busy)
		return CYCLE_NEVER;
	p = buf_data(r->b.sim, m->buf);
	operation = m->opcode & IB_OPERATION_MASK;
	if (operation != IB_ACKNOWLEDGE && !engine_is_free(&r->rx_engine, r->b.cycle, r->units))
		return engine_free_cyc(&r->rx_engine, r->units);
	if (follows_another(m) && r->qp[m->qpi].place_cyc > r->b.cycle)
		return r->qp[m->qpi].place_cyc;
	if (operation == IB_ATOMIC_ACK && !pool_can_alloc(r->atomic_pool))
		return pool_stall(r->atomic_pool);
	if (operation != IB_ACKNOWLEDGE && !req_cache_use_for(r, m->qpi, m->psn))
		return CYCLE_NEVER; /* the end of the read wakes the block */
	if (operation == IB_ACKNOWLEDGE) {
		hdr_aeth_decode(&a, p->data + m->xeth);
		if (r->recovery == RECOVERY_SR && a.syndrome == NAK_SEQUENCE &&
		    in_flight(&r->qp[m->qpi], m->psn))
			req_sr_take_sack(r, m);
		take_ack(r, m->qpi, m->psn, &a);
	} else {
		engine_start(&r->rx_engine, r->b.cycle, r->units, r->rsp_cyc);
		r->rx_busy_ps = engine_busy_ps(&r->rx_engine, &r->b, r->units);
		r->qp[m->qpi].place_cyc = r->b.cycle + r->rsp_chain_cyc;
		take_response(r, m, p, operation);
	}
	buf_unref(&r->b, m->buf);
	req_rx_pop(r);
	/* the next one wakes the block, or is here */
	return r->wqe_cache && req_rx_head(r) ? r->b.cycle + 1 : CYCLE_NEVER;
}

uint64_t req_scatter(struct requester *r)
{
	struct req_scatter *s = &r->scatter;
	struct req_wqe *w = req_wqe(&r->qp[s->qpi], s->pos);
	const uint8_t *segs = buf_data(r->b.sim, w->w.buf);
	struct wqe_seg seg;
	uint32_t tag = r->free_write, n;

	if (tag == r->writes)
		return CYCLE_NEVER;
	if (!chan_can_push(r->dma_req))
		return chan_stall(r->dma_req);
	for (;; s->sge_off -= seg.len, s->sge++) {
		SIM_CHECK(s->sge < w->w.n_sge, r);
		seg = wqe_seg_at(segs + w->w.seg_off + s->sge * WQE_SEG);
		if (s->sge_off < seg.len)
			break;
	}
	n = (uint32_t)min_u64(s->left, seg.len - s->sge_off);
	r->free_write = r->write[tag].next_free;
	r->write[tag] = (struct req_write){ .qpi = s->qpi, .pos = s->pos };
	w->n_dma++;
	if (n < s->left)
		buf_ref(r->b.sim, s->buf);
	dma_req_push(r->dma_req, &(struct dma_req){ .addr = seg.addr + s->sge_off,
						    .key = seg.lkey,
						    .len = n,
						    .buf = s->buf,
						    .off = s->off,
						    .tag = tag,
						    .pd = req_attr(r, s->qpi)->pd,
						    .access = ACCESS_LOCAL_WRITE,
						    .is_write = 1,
						    .cls = DMA_PAYLOAD_WRITE,
						    .op = OP_NONE });
	r->dma_cyc = r->b.cycle + 1;
	s->sge_off += n;
	s->off += n;
	s->left -= n;
	if (s->left)
		return r->b.cycle + 1;
	s->is_busy = false;
	write_ended(r, s->qpi, s->pos);
	return req_rx_head(r) ? r->b.cycle + 1 : CYCLE_NEVER;
}

void req_take_dma_rsp(struct requester *r)
{
	const struct dma_rsp *m = dma_rsp_peek(r->dma_rsp);
	uint32_t qpi, pos;

	if (!m)
		return;
	if (m->tag >= r->writes) {
		req_cache_filled(r, m->tag - r->writes);
		chan_pop(r->dma_rsp);
		return;
	}
	qpi = r->write[m->tag].qpi;
	pos = r->write[m->tag].pos;
	r->write[m->tag].next_free = r->free_write;
	r->free_write = m->tag;
	if (m->status != XLATE_OK)
		req_fail(r, qpi, pos, CQE_SYNDROME_LOCAL_PROT);
	write_ended(r, qpi, pos);
	chan_pop(r->dma_rsp);
}
