/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_tx.c - what the responder sends: ACKs and NAKs as packets of its own, READ and ATOMIC
 * responses as jobs for the packetizer
 *
 * An acknowledgement must not overtake a response to an earlier request: it waits while responses
 * of its QP are to be sent or with the packetizer. A QP has one acknowledgement pending at most; a
 * later one replaces it.
 *
 * Responses of different QPs take turns as requests do (tx_sched.h): by bytes of the line, so that a
 * long READ does not hold up short ones, with the priority and the cap of the QP that sends them. Its
 * requests keep to the same cap on their own. Source: IBTA vol. 1, 9.7.5 (coalescing: 9.7.5.1.2, AETH: 9.7.5.2).
 */
#include <string.h>

#include "models/packet/aeth.h"
#include "models/packet/packet.h"
#include "models/pktizer.h"
#include "models/responder.h"

#define TAG_SLOT_SHIFT 24u

uint8_t rsp_ack_syndrome(const struct responder *r, uint32_t qpi)
{
	if (!r->credits || rsp_attr(r, qpi)->srq != SRQ_NONE)
		return AETH_ACK | AETH_NO_CREDITS;
	return (uint8_t)(AETH_ACK | aeth_credit_code(r->qp[qpi].rq_free));
}

/*
 * Put the QP on the list of those whose acknowledgement may go, or of those that wait for company.
 */
static void consider_ack(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (!q->is_ack_due || rsp_is_answering(q))
		return;
	if (q->is_ack_now) {
		qp_list_add(&r->acks, qpi);
	} else if (!qp_list_has(&r->delayed, qpi)) {
		q->ack_deadline_ps = r->b.now_ps + r->ack_delay;
		qp_list_add(&r->delayed, qpi);
	}
}

void rsp_ack(struct responder *r, uint32_t qpi, uint32_t psn, uint32_t msn, uint8_t syndrome,
	     bool is_now)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (q->is_unacked)
		return;
	if (q->is_ack_due && q->ack_syndrome && !syndrome && psn_diff(psn, q->ack_psn) < 0)
		return;
	/* a selective one says all that an ACK says */
	if (q->is_ack_due && q->ack_syndrome == NAK_SEQUENCE && !syndrome &&
	    r->recovery == RECOVERY_SR)
		syndrome = NAK_SEQUENCE;
	q->is_ack_due = true;
	q->ack_psn = psn;
	q->ack_msn = msn;
	q->ack_syndrome = syndrome;
	q->ack_count++;
	if (is_now || !r->ack_delay || q->ack_count >= r->ack_count)
		q->is_ack_now = true;
	consider_ack(r, qpi);
}

void rsp_nak_gap(struct responder *r, uint32_t qpi, uint32_t psn, uint32_t msn)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (!qp_list_has(&r->naks, qpi))
		q->nak_due_ps = r->b.now_ps + r->nak_delay;
	q->nak_psn = psn;
	q->nak_msn = msn;
	qp_list_add(&r->naks, qpi);
}

/* Sequence NAKs whose delay is over become due. Returns the cycle of the next. */
static uint64_t end_nak_delays(struct responder *r)
{
	while (r->naks.n && r->qp[r->naks.head].nak_due_ps <= r->b.now_ps) {
		uint32_t qpi = qp_list_take(&r->naks);
		const struct rsp_qp *q = &r->qp[qpi];

		if (!q->is_error)
			rsp_ack(r, qpi, q->nak_psn, q->nak_msn, NAK_SEQUENCE, true);
	}
	return r->naks.n ? block_cycle_at(&r->b, r->qp[r->naks.head].nak_due_ps) : CYCLE_NEVER;
}

/*
 * What a selective acknowledgement says is what is so when it leaves: of all that is final, or, if
 * a gap is behind that, of what arrived behind it too.
 */
static uint32_t settle_sack(const struct responder *r, struct rsp_qp *q, uint8_t *map)
{
	uint32_t from = psn_add(q->commit_psn, 1), n;

	if (r->recovery != RECOVERY_SR || q->ack_syndrome != NAK_SEQUENCE)
		return 0;
	n = rsp_sr_map(r, q, from, map);
	q->is_gap_dropped = false;
	q->ack_syndrome = n ? NAK_SEQUENCE : 0;
	q->ack_psn = n ? from : q->commit_psn;
	q->ack_msn = q->commit_msn;
	return n;
}

/* The QP was reset; or it is a NAK that asks for a packet which came meanwhile. */
static bool is_obsolete(const struct responder *r, const struct rsp_qp *q)
{
	if (q->is_silent)
		return true;
	if (r->recovery == RECOVERY_SR && q->ack_syndrome == NAK_SEQUENCE)
		return false;
	return !q->is_error && q->ack_syndrome && q->ack_psn != q->epsn;
}

static uint32_t build_ack(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];
	uint8_t map[SACK_MAX_BYTES];
	uint32_t n = settle_sack(r, q, map);
	const struct qp_attr *a = rsp_attr(r, qpi);
	uint32_t buf = pool_alloc(r->ack_pool);
	struct packet *p = buf_data(r->b.sim, buf);

	packet_begin(p, a,
		     &(struct hdr_bth){ .opcode = IB_RC | IB_ACKNOWLEDGE,
					.migreq = r->mig_req,
					.pkey = a->pkey,
					.destqp = a->dest_qpn,
					.psn = q->ack_psn });
	packet_add_aeth(p,
			&(struct hdr_aeth){ .syndrome = q->ack_syndrome ? q->ack_syndrome
									: rsp_ack_syndrome(r, qpi),
					    .msn = q->ack_msn });
	memcpy(packet_payload(p), map, n);
	packet_add_payload(p, n);
	packet_end(p);
	return buf;
}

/* Those whose delay is over may go. */
static uint64_t end_delays(struct responder *r)
{
	while (r->delayed.n && r->qp[r->delayed.head].ack_deadline_ps <= r->b.now_ps) {
		uint32_t qpi = qp_list_take(&r->delayed);

		r->qp[qpi].is_ack_now = r->qp[qpi].is_ack_due;
		consider_ack(r, qpi);
	}
	return r->delayed.n ? block_cycle_at(&r->b, r->qp[r->delayed.head].ack_deadline_ps)
			    : CYCLE_NEVER;
}

uint64_t rsp_send_ack(struct responder *r)
{
	uint64_t next = min_u64(end_nak_delays(r), end_delays(r));
	struct rsp_qp *q;
	uint32_t qpi;

	if (!r->acks.n)
		return next;
	qpi = r->acks.head;
	q = &r->qp[qpi];
	if (!is_obsolete(r, q)) {
		if (!chan_can_push(r->ack))
			return min_u64(next, chan_stall(r->ack));
		if (!pool_can_alloc(r->ack_pool))
			return min_u64(next, pool_stall(r->ack_pool));
		pkt_push(r->ack, &(struct pkt){ .buf = build_ack(r, qpi) });
		if (q->ack_syndrome)
			r->naks_sent++;
		else
			r->acks_sent++;
	}
	qp_list_take(&r->acks);
	q->is_ack_due = q->is_ack_now = false;
	q->ack_count = 0;
	return r->acks.n ? r->b.cycle + 1 : next;
}

void rsp_activate(struct responder *r, uint32_t qpi, uint32_t slot, uint32_t at)
{
	struct rsp_qp *q = &r->qp[qpi];
	struct rsp_slot *s = &q->slot[slot];

	s->pass.start = s->pass.at = at;
	s->pass.stop = s->n_psn;
	s->pass.end_b = s->len;
	if (!s->is_active) {
		s->is_active = true;
		s->pass.is_here = false;
		if (r->rsc_cache)
			rsp_want_rsc(r, qpi);
		q->queue[(q->q_head + q->q_len) % q->n_slot] = (uint8_t)slot;
		q->q_len++;
	}
	rsp_stream(r, qpi);
}

void rsp_stop_answers(struct rsp_qp *q)
{
	q->q_len = 0;
	q->again.at = q->again.stop;
	for (uint32_t i = 0; i < q->n_slot; i++)
		q->slot[i].is_active = false;
}

/* The next 'n' packets of a pass over the response of 'slot'. Returns the byte times that they take. */
static uint64_t push_job(struct responder *r, uint32_t qpi, uint32_t slot,
			 const struct rsp_pass *pass, uint32_t n)
{
	struct rsp_qp *q = &r->qp[qpi];
	struct rsp_slot *s = &q->slot[slot];
	const uint64_t mtu = rsp_attr(r, qpi)->mtu;
	uint64_t off = pass->at * mtu;
	uint32_t psn = psn_add(s->first_psn, pass->at);
	uint8_t op_class = opcode_info[s->opcode].op_class;
	bool is_read = op_class == CLASS_READ;

	struct tx_job j = { .raddr = s->va + off,
			    .swap_add = s->result,
			    .qpi = qpi,
			    .rkey = s->rkey,
			    .dma_len = s->len,
			    .len = is_read ? (uint32_t)min_u64(pass->end_b - off, n * mtu) : 0,
			    .psn = psn,
			    .msn = q->commit_msn,
			    .buf = BUF_NONE,
			    .tag = slot << TAG_SLOT_SHIFT | psn_add(psn, n - 1),
			    .op = s->op,
			    .kind = op_class == CLASS_ATOMIC ? JOB_ATOMIC_ACK : JOB_READ_RSP,
			    .syndrome = rsp_ack_syndrome(r, qpi),
			    .is_first = pass->at == pass->start,
			    .is_last = pass->at + n == pass->stop && !pass->is_cut,
			    .is_retry = s->is_answered || pass->start || pass == &q->again };

	tx_job_push(r->job, &j);
	s->n_jobs++;
	s->n_first += !s->is_handed;
	q->jobs_out++;
	return pktizer_line_bytes(r->b.env, rsp_attr(r, qpi), &j);
}

/* What of the QP goes on, or starts: packets that were lost, or the response to its next request. */
static struct rsp_pass *next_pass(struct rsp_qp *q, uint32_t *slot)
{
	if (rsp_is_replaying(q)) {
		*slot = q->again_slot;
		return &q->again;
	}
	*slot = q->queue[q->q_head];
	return q->q_len ? &q->slot[*slot].pass : NULL;
}

/* Not of a QP that was reset, whose last packets may still be executed. */
static bool can_stream(struct responder *r, struct rsp_qp *q)
{
	uint32_t slot;
	struct rsp_pass *pass = q->is_silent ? NULL : next_pass(q, &slot);

	return pass && rsp_has_rsc(r, q, pass);
}

/* All of the pass was handed over. */
static void end_pass(struct responder *r, uint32_t qpi, struct rsp_slot *s,
		     const struct rsp_pass *pass)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (pass == &q->again) {
		rsp_unpark(r, qpi); /* another may wait to be repeated */
		return;
	}
	s->is_active = false;
	s->is_handed = true;
	q->q_head = q->q_head + 1 == q->n_slot ? 0 : q->q_head + 1;
	q->q_len--;
}

void rsp_stream(struct responder *r, uint32_t qpi)
{
	if (can_stream(r, &r->qp[qpi]))
		tx_sched_add(&r->tx, qpi, r->b.now_ps);
}

/* One job of the QP whose turn it is. */
static uint64_t send_next(struct responder *r)
{
	struct rsp_pass *pass;
	struct rsp_qp *q;
	uint32_t qpi, slot, n;
	uint64_t bytes;

	while ((qpi = tx_sched_head(&r->tx)) != TX_SCHED_NONE && !can_stream(r, &r->qp[qpi]))
		tx_sched_drop(&r->tx);
	if (qpi == TX_SCHED_NONE)
		return CYCLE_NEVER;
	if (tx_sched_is_in_debt(&r->tx)) {
		tx_sched_pay(&r->tx);
		return r->b.cycle + 1;
	}
	if (!chan_can_push(r->job))
		return chan_stall(r->job);
	q = &r->qp[qpi];
	pass = next_pass(q, &slot);
	n = (uint32_t)min_u64(pass->stop - pass->at,
			      tx_sched_packets(&r->tx, rsp_attr(r, qpi)->mtu, r->burst));
	bytes = push_job(r, qpi, slot, pass, n);
	pass->at += n;
	if (pass->at == pass->stop)
		end_pass(r, qpi, &q->slot[slot], pass);
	tx_sched_sent(&r->tx, bytes, can_stream(r, q), r->b.now_ps);
	return tx_sched_head(&r->tx) != TX_SCHED_NONE ? r->b.cycle + 1 : CYCLE_NEVER;
}

uint64_t rsp_send_job(struct responder *r)
{
	uint64_t next, next_ps;

	while (tx_sched_release(&r->tx, r->b.now_ps) != TX_SCHED_NONE)
		;
	next = send_next(r);
	next_ps = tx_sched_next_ps(&r->tx);
	return next_ps == UINT64_MAX ? next : min_u64(next, block_cycle_at(&r->b, next_ps));
}

void rsp_take_job_done(struct responder *r)
{
	const struct job_done *m = job_done_peek(r->job_done);
	struct rsp_slot *s;
	struct rsp_qp *q;
	bool is_first;

	if (!m)
		return;
	q = &r->qp[m->qpi];
	s = &q->slot[m->tag >> TAG_SLOT_SHIFT];
	s->n_jobs--;
	q->jobs_out--;
	is_first = s->n_first > 0;
	s->n_first -= is_first;
	/* a second answer may have lost its key since: what is left of it goes unsent */
	if (m->status != XLATE_OK && is_first)
		rsp_break(r, m->qpi, m->tag & PSN_MASK, NAK_REMOTE_ACCESS, CQE_SYNDROME_WR_FLUSH);
	s->is_answered = s->is_handed && !s->n_first;
	if (!s->is_active && !s->n_jobs)
		rsp_unpark(r, m->qpi);
	consider_ack(r, m->qpi);
	chan_pop(r->job_done);
}
