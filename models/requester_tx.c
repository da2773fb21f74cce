/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_tx.c - from WQEs to jobs: turns, windows and limits, going back, failing
 *
 * Source: IBTA vol. 1, 9.7.5 to 9.7.7; protocol.md sections 2.3 and 10.
 */
#include "models/pktizer.h"
#include "models/requester.h"

#define OPCODES 0x1eu
#define RC (1u << QP_RC | 1u << QP_XRC)
#define CONNECTED (RC | 1u << QP_UC)
#define ALL (CONNECTED | 1u << QP_UD)
#define TAG_PASS_SHIFT 24u

static const struct req_op ops[OPCODES] = {
	[MLX5_OPCODE_RDMA_WRITE] = { CONNECTED, JOB_WRITE, false, false, false, false },
	[MLX5_OPCODE_RDMA_WRITE_IMM] = { CONNECTED, JOB_WRITE, true, true, false, false },
	[MLX5_OPCODE_SEND] = { ALL, JOB_SEND, false, true, false, false },
	[MLX5_OPCODE_SEND_IMM] = { ALL, JOB_SEND, true, true, false, false },
	[MLX5_OPCODE_SEND_INVAL] = { RC, JOB_SEND_INV, true, true, false, false },
	[MLX5_OPCODE_RDMA_READ] = { RC, JOB_READ_REQ, false, false, true, false },
	[MLX5_OPCODE_ATOMIC_CS] = { RC, JOB_CMP_SWAP, false, false, true, false },
	[MLX5_OPCODE_ATOMIC_FA] = { RC, JOB_FETCH_ADD, false, false, true, false },
	[MLX5_OPCODE_FLUSH] = { RC, JOB_FLUSH, false, false, true, false },
	[MLX5_OPCODE_ATOMIC_WRITE] = { RC, JOB_ATOMIC_WRITE, false, false, true, false },
	[MLX5_OPCODE_BIND_MW] = { .types = CONNECTED, .is_local = true },
	[MLX5_OPCODE_LOCAL_INVAL] = { .types = CONNECTED, .is_local = true },
};

const struct req_op *req_op_of(const struct req_wqe *w)
{
	return &ops[w->w.opcode < OPCODES ? w->w.opcode : MLX5_OPCODE_NOP];
}

bool req_returns_data(const struct req_wqe *w)
{
	return req_op_of(w)->is_answered && req_op_of(w)->kind < JOB_FLUSH;
}

/* Whether a QP that has no turn can have one; if not, what it waits for is counted from now on. */
static bool can_send(struct requester *r, uint32_t qpi)
{
	enum req_wait w = req_waits_for(r, qpi);

	/* it can, but for its cap */
	req_wait_note(r, qpi, w == WAIT_turn && tx_sched_is_paced(&r->tx, qpi) ? WAIT_rate : w);
	return w == WAIT_turn;
}

/* It can send: its cap may have to be waited for. */
static void note_pace(struct requester *r, uint32_t qpi)
{
	if (tx_sched_is_paced(&r->tx, qpi))
		req_wait_note(r, qpi, WAIT_rate);
}

void req_kick(struct requester *r, uint32_t qpi)
{
	if (!can_send(r, qpi))
		return;
	tx_sched_add(&r->tx, qpi, r->b.now_ps);
	note_pace(r, qpi);
}

void req_resume(struct requester *r, uint32_t qpi)
{
	if (!can_send(r, qpi))
		return;
	tx_sched_resume(&r->tx, qpi, r->b.now_ps);
	note_pace(r, qpi);
}

uint64_t req_pace_step(struct requester *r)
{
	uint64_t next_ps;
	uint32_t qpi;

	while ((qpi = tx_sched_release(&r->tx, r->b.now_ps)) != TX_SCHED_NONE)
		can_send(r, qpi); /* what it waits for from now on */
	next_ps = tx_sched_next_ps(&r->tx);
	return next_ps == UINT64_MAX ? CYCLE_NEVER : block_cycle_at(&r->b, next_ps);
}

uint32_t req_psns(const struct requester *r, const struct req_wqe *w)
{
	const struct req_op *op = req_op_of(w);

	return (op->is_answered && op->kind != JOB_READ_REQ) || req_is_unsent(r, w)
		       ? 1
		       : psn_count(w->w.len, req_attr(r, w->w.qpi)->mtu);
}

/* A message's first packet goes out for the first time: it gets its PSNs. */
static void issue(struct requester *r, uint32_t qpi, struct req_wqe *w)
{
	struct req_qp *q = &r->qp[qpi];
	const struct req_op *op = req_op_of(w);

	w->first_psn = q->send_psn;
	w->n_psn = req_psns(r, w);
	q->issued++;
	q->ssn = psn_add(q->ssn, 1);
	if (!op->takes_rq)
		q->lsn = psn_add(q->lsn, 1);
	q->n_rd_atomic += op->is_answered;
	req_feed_remove(r, qpi, w->w.len);
}

uint32_t req_read_part(const struct req_wqe *w, uint32_t at)
{
	return (uint32_t)min_u64(w->n_psn - at, REQ_READ_PART - at % REQ_READ_PART);
}

/* PSNs that the next job of 'w' takes, its packet 'at' being the first. */
static uint32_t job_psns(const struct requester *r, uint32_t qpi, const struct req_wqe *w,
			 uint32_t at)
{
	const struct req_qp *q = &r->qp[qpi];
	uint32_t left = w->n_psn - at;
	uint32_t room = r->flight - (uint32_t)psn_diff(q->send_psn, q->una);

	if (req_op_of(w)->is_answered)
		return req_read_part(w, at);
	return (uint32_t)min_u64(
		left, min_u64(room, tx_sched_packets(&r->tx, req_attr(r, qpi)->mtu, r->burst)));
}

/*
 * Send PSNs 'psn' .. psn + n - 1 of message 'w', of which 'psn' is packet 'at'. Returns the byte times
 * that they take on the line.
 */
static uint64_t push_job(struct requester *r, uint32_t qpi, const struct req_wqe *w, uint32_t at,
			 uint32_t psn, uint32_t n)
{
	const struct req_qp *q = &r->qp[qpi];
	const struct req_op *op = req_op_of(w);
	const uint64_t mtu = req_attr(r, qpi)->mtu;
	uint64_t off = at * mtu;
	struct tx_job j = {
		.raddr = w->w.raddr,
		.swap_add = w->w.swap_add,
		.compare = w->w.compare,
		.qpi = qpi,
		.rkey = w->w.rkey,
		.imm = w->w.imm,
		.dma_len = w->w.len,
		.msg_off = (uint32_t)off,
		.psn = psn,
		.buf = w->w.buf,
		.op = w->w.op,
		.seg_off = w->w.seg_off,
		.n_sge = w->w.n_sge,
		.kind = op->kind,
		.is_inline = w->w.is_inline,
		.is_first = at == 0,
		.is_last = at + n == w->n_psn,
		.has_imm = op->has_imm,
		.solicited = w->w.solicited,
		.ack_req = psn_diff(psn, q->una) + (int32_t)n >= (int32_t)r->flight,
		.is_retry = psn_diff(psn, q->top_psn) < 0,
	};

	/* selective repeat: no other packet that follows may ask for it */
	j.ack_req |= r->recovery == RECOVERY_SR && j.is_retry;
	j.tag = psn_add(psn, n) | (uint32_t)q->pass << TAG_PASS_SHIFT;
	if (op->is_answered) {
		j.raddr += off;
		if (op->kind == JOB_READ_REQ)
			j.dma_len = (uint32_t)min_u64(w->w.len - off, n * mtu);
		j.len = op->kind == JOB_ATOMIC_WRITE ? w->w.len : 0;
		j.msg_off = 0;
		j.is_first = j.is_last = 1;
	} else {
		j.len = (uint32_t)min_u64(w->w.len - off, n * mtu);
	}
	if (!j.is_retry)
		oplog_mark_once(req_oplog(r), w->w.op, OP_ISSUE, r->b.now_ps);
	else if (at == 0 || psn == q->restart_psn)
		oplog_mark(req_oplog(r), w->w.op, OP_RETRY, r->b.now_ps);
	buf_ref(r->b.sim, j.buf);
	tx_job_push(r->job, &j);
	r->qp[qpi].n_jobs++;
	r->jobs++;
	r->packets += op->is_answered ? 1 : n;
	if (j.is_retry) {
		r->resent_packets += op->is_answered ? 1 : n;
		r->resent_b += j.len;
	}
	return pktizer_line_bytes(r->b.env, req_attr(r, qpi), &j);
}

/* Selective repeat: what is missing goes before what is new. */
static uint64_t resend_job(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_run run = req_sr_hole(r, q);
	const struct req_wqe *w = req_wqe(q, run.pos);

	q->restart_psn = run.psn;
	return push_job(r, qpi, w, (run.psn - w->first_psn) & PSN_MASK, run.psn, run.n);
}

static uint64_t send_job(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_wqe *w = req_wqe(q, q->send);
	uint64_t bytes = 0;
	uint32_t at, n;

	if (q->send == q->issued)
		issue(r, qpi, w);
	at = (q->send_psn - w->first_psn) & PSN_MASK;
	n = job_psns(r, qpi, w, at);
	if (!q->is_unacked || !req_is_unsent(r, w))
		bytes = push_job(r, qpi, w, at, q->send_psn, n);
	if (r->rto == RTO_ESTIMATED && !q->is_rtt_timed && q->send_psn == q->top_psn &&
	    at + n == w->n_psn) { /* it asks for an answer */
		q->is_rtt_timed = true;
		q->rtt_psn = psn_add(q->send_psn, n);
		q->rtt_from_ps = r->b.now_ps;
	}
	q->send_psn = psn_add(q->send_psn, n);
	q->top_psn = psn_max(q->top_psn, q->send_psn);
	if (at + n == w->n_psn)
		q->send++;
	if (q->is_unacked && req_is_unsent(r, w))
		req_sent(r, qpi, q->una);
	return bytes;
}

static bool is_local_next(const struct req_qp *q)
{
	return q->acked == q->send && q->send == q->issued &&
	       req_op_of(req_wqe(q, q->send))->is_local;
}

/* Selective repeat: something is missing at the peer, and goes before what is new. */
static bool is_resend(const struct requester *r, uint32_t qpi)
{
	return r->recovery == RECOVERY_SR && req_sr_has_hole(r, &r->qp[qpi]);
}

/* The WQE that is to be sent is not in the NIC, and is being read or will be. */
static bool is_displaced(struct requester *r, uint32_t qpi)
{
	return !is_resend(r, qpi) && !req_cache_has(r, qpi, r->qp[qpi].send);
}

/* One job of the QP whose turn it is; a port has room and a unit is free. */
static void send_one(struct requester *r, uint32_t qpi)
{
	uint64_t bytes;

	engine_start(&r->tx_engine, r->b.cycle, r->units, r->job_cyc);
	r->tx_busy_ps = engine_busy_ps(&r->tx_engine, &r->b, r->units);
	if (is_resend(r, qpi)) {
		bytes = resend_job(r, qpi);
	} else {
		uint32_t pos = r->qp[qpi].send;

		bytes = send_job(r, qpi);
		req_cache_sent(r, qpi, pos);
	}
	if (can_send(r, qpi)) {
		tx_sched_sent(&r->tx, bytes, true, r->b.now_ps);
		note_pace(r, qpi);
	} else {
		tx_sched_sent(&r->tx, bytes, false, r->b.now_ps);
	}
	if (tx_sched_is_capped(&r->tx, qpi))
		req_feed_update(r, qpi);
}

/* Whose turn it is; those that cannot send any more are dropped on the way. */
static uint32_t whose_turn(struct requester *r)
{
	uint32_t qpi;

	while ((qpi = tx_sched_head(&r->tx)) != TX_SCHED_NONE && !can_send(r, qpi))
		tx_sched_drop(&r->tx);
	return qpi;
}

static uint64_t send_next(struct requester *r)
{
	uint32_t qpi = whose_turn(r);

	if (qpi == TX_SCHED_NONE)
		return CYCLE_NEVER;
	if (tx_sched_is_in_debt(&r->tx)) {
		tx_sched_pay(&r->tx);
	} else if (is_local_next(&r->qp[qpi])) {
		if (!req_send_local(r, qpi))
			return CYCLE_NEVER;
		req_wait_note(r, qpi, WAIT_order);
		tx_sched_drop(&r->tx);
	} else if (is_displaced(r, qpi)) {
		/* its turn comes when the WQE was read; in place when no read can be started */
		if (!req_wqe(&r->qp[qpi], r->qp[qpi].send)->is_refetching)
			return CYCLE_NEVER;
		req_wait_note(r, qpi, WAIT_wqe);
		tx_sched_drop(&r->tx);
	} else {
		if (!engine_is_free(&r->tx_engine, r->b.cycle, r->units))
			return engine_free_cyc(&r->tx_engine, r->units);
		if (!chan_can_push(r->job))
			return chan_stall(r->job);
		send_one(r, qpi);
	}
	/* the next one may need no unit: it is local, or its WQE is to be read */
	return tx_sched_head(&r->tx) != TX_SCHED_NONE ? r->b.cycle + 1 : CYCLE_NEVER;
}

uint64_t req_send(struct requester *r)
{
	uint64_t next = send_next(r);

	r->n_ready = r->tx.n_ready;
	return next;
}

void req_go_back(struct requester *r, uint32_t qpi, uint32_t told_psn)
{
	struct req_qp *q = &r->qp[qpi];

	q->told_psn = told_psn;
	q->past_psn = q->top_psn;
	q->is_rtt_timed = false;
	req_wait_lost(r, qpi, q->top_psn);
	q->pass++;
	if (r->recovery == RECOVERY_SR) {
		req_sr_lose_head(r, qpi);
	} else {
		q->send = q->acked;
		q->send_psn = q->restart_psn = q->done_psn = q->asked_psn = q->una;
	}
	req_timer_stop(r, qpi);
	req_kick(r, qpi);
}

void req_fail(struct requester *r, uint32_t qpi, uint32_t pos, uint8_t syndrome)
{
	struct req_qp *q = &r->qp[qpi];

	if (q->is_error || (q->has_failed && !pos_before(pos, q->fail)))
		return;
	q->has_failed = true;
	q->fail = pos;
	req_wqe(q, pos)->syndrome = syndrome;
	if (pos_before(pos, q->issued)) {
		uint32_t last = psn_max(req_wqe(q, pos)->first_psn, q->una);

		q->top_psn = psn_min(q->top_psn, last);
		q->done_psn = psn_min(q->done_psn, last);
		q->asked_psn = psn_min(q->asked_psn, last);
	}
	if (q->asked_psn == q->una && !q->is_rnr_wait)
		req_timer_stop(r, qpi);
	req_try_retire(r, qpi);
}

/* The packetizer could not read the payload of the message that holds PSN 'psn'. */
static void fail_at(struct requester *r, uint32_t qpi, uint32_t psn)
{
	uint32_t pos;

	if (req_find_message(&r->qp[qpi], psn, &pos))
		req_fail(r, qpi, pos, CQE_SYNDROME_LOCAL_PROT);
}

/* The run of packets before PSN 'end' left, in this pass or in the one before. */
static void run_left(struct requester *r, const struct job_done *m, uint32_t end, bool is_of_pass)
{
	struct req_qp *q = &r->qp[m->qpi];

	q->done_psn = psn_max(q->done_psn, psn_min(end, q->top_psn));
	if (m->is_asked) {
		uint32_t asked = psn_add(end, PSN_MASK + 1 - m->n_unasked);

		q->asked_psn = psn_max(q->asked_psn, psn_min(asked, q->top_psn));
	}
	if (is_of_pass && q->asked_psn != q->una && q->timer == REQ_NO_TIMER)
		req_timer_ack(r, m->qpi);
}

/*
 * A job ended. Go-back-N sends again all that was handed over before the restart; selective repeat what is
 * missing of it, and the oldest first: from when this leaves the timer runs.
 */
static void job_ended(struct requester *r, const struct job_done *m)
{
	struct req_qp *q = &r->qp[m->qpi];
	bool is_of_pass = m->tag >> TAG_PASS_SHIFT == q->pass;
	uint32_t end = m->tag & PSN_MASK;

	if (q->is_error || (!is_of_pass && r->recovery == RECOVERY_GBN))
		return;
	if (m->status != XLATE_OK)
		fail_at(r, m->qpi, psn_add(end, PSN_MASK));
	else if (q->is_unacked)
		req_sent(r, m->qpi, psn_min(end, q->top_psn));
	else
		run_left(r, m, end, is_of_pass);
}

void req_take_job_done(struct requester *r)
{
	const struct job_done *m = job_done_peek(r->job_done);

	if (!m)
		return;
	r->qp[m->qpi].n_jobs--;
	job_ended(r, m);
	chan_pop(r->job_done);
}
