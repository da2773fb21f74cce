/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_tx.c - from WQEs to jobs: turns, windows and limits, going back, failing
 *
 * Source: IBTA vol. 1, 9.7.5 to 9.7.7; protocol.md sections 2.3 and 10.
 */
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

	req_wait_note(r, qpi, w);
	return w == WAIT_turn;
}

static struct qp_list *ready_list(struct requester *r, uint32_t qpi)
{
	return &r->ready[r->strict ? req_attr(r, qpi)->prio % REQ_PRIOS : 0];
}

/* On a list of those that can send; the lists of priorities share their links. */
static bool is_listed(const struct requester *r, uint32_t qpi)
{
	return qp_list_has(&r->ready[0], qpi) || qp_list_has(&r->refilled, qpi);
}

void req_kick(struct requester *r, uint32_t qpi)
{
	if (is_listed(r, qpi) || !can_send(r, qpi))
		return;
	qp_list_add(ready_list(r, qpi), qpi);
	r->n_ready++;
}

void req_resume(struct requester *r, uint32_t qpi)
{
	if (is_listed(r, qpi) || !can_send(r, qpi))
		return;
	qp_list_add(&r->refilled, qpi);
	r->n_ready++;
}

/* A message's first packet goes out for the first time: it gets its PSNs. */
static void issue(struct requester *r, uint32_t qpi, struct req_wqe *w)
{
	struct req_qp *q = &r->qp[qpi];
	const struct req_op *op = req_op_of(w);

	w->first_psn = q->send_psn;
	w->n_psn = (op->is_answered && op->kind != JOB_READ_REQ) || req_is_unsent(r, w)
			   ? 1
			   : psn_count(w->w.len, req_attr(r, qpi)->mtu);
	q->issued++;
	q->ssn = psn_add(q->ssn, 1);
	if (!op->takes_rq)
		q->lsn = psn_add(q->lsn, 1);
	q->n_rd_atomic += op->is_answered;
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
	return (uint32_t)min_u64(left, min_u64(room, req_attr(r, qpi)->rate_bps ? 1 : r->burst));
}

/*
 * The QP sends or asks for 'bytes': nothing more goes out before they have passed at its rate. A
 * message may have 2^31 bytes, for which ps_of_bytes() has no room.
 */
static void pace(struct requester *r, uint32_t qpi, uint64_t bytes)
{
	struct req_qp *q = &r->qp[qpi];
	uint64_t bps = req_attr(r, qpi)->rate_bps;
	uint32_t *at = &r->paced;

	q->due_ps = max_u64(q->due_ps, r->b.now_ps) + ps_of_bytes(bytes % MIB, bps) +
		    bytes / MIB * ps_of_bytes(MIB, bps);
	if (q->due_ps <= r->b.now_ps)
		return;
	while (*at != QPI_NONE && r->qp[*at].due_ps <= q->due_ps)
		at = &r->qp[*at].next_paced;
	q->next_paced = *at;
	*at = qpi;
}

uint64_t req_pace_step(struct requester *r)
{
	while (r->paced != QPI_NONE && r->qp[r->paced].due_ps <= r->b.now_ps) {
		uint32_t qpi = r->paced;

		r->paced = r->qp[qpi].next_paced;
		req_kick(r, qpi);
	}
	return r->paced == QPI_NONE ? CYCLE_NEVER : block_cycle_at(&r->b, r->qp[r->paced].due_ps);
}

/* Send PSNs 'psn' .. psn + n - 1 of message 'w', of which 'psn' is packet 'at'. */
static void push_job(struct requester *r, uint32_t qpi, const struct req_wqe *w, uint32_t at,
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
	if (req_attr(r, qpi)->rate_bps)
		pace(r, qpi, op->kind == JOB_READ_REQ ? j.dma_len : j.len);
	buf_ref(r->b.sim, j.buf);
	tx_job_push(r->job, &j);
	r->qp[qpi].n_jobs++;
	r->jobs++;
	r->packets += op->is_answered ? 1 : n;
	if (j.is_retry) {
		r->resent_packets += op->is_answered ? 1 : n;
		r->resent_b += j.len;
	}
}

/* Selective repeat: what is missing goes before what is new. */
static void resend_job(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_run run = req_sr_hole(r, q);
	const struct req_wqe *w = req_wqe(q, run.pos);

	q->restart_psn = run.psn;
	push_job(r, qpi, w, (run.psn - w->first_psn) & PSN_MASK, run.psn, run.n);
}

static void send_job(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];
	struct req_wqe *w = req_wqe(q, q->send);
	uint32_t at, n;

	if (q->send == q->issued)
		issue(r, qpi, w);
	at = (q->send_psn - w->first_psn) & PSN_MASK;
	n = job_psns(r, qpi, w, at);
	if (!q->is_unacked || !req_is_unsent(r, w))
		push_job(r, qpi, w, at, q->send_psn, n);
	if (r->rto == RTO_ESTIMATED && !q->is_rtt_timed && q->send_psn == q->top_psn) {
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

static void take_ready(struct requester *r, struct qp_list *l)
{
	qp_list_take(l);
	r->n_ready--;
}

/* The list whose head is to send, or NULL. Those that cannot any more are dropped on the way. */
static struct qp_list *first_ready(struct requester *r)
{
	uint32_t i = r->strict ? REQ_PRIOS : 1;

	for (struct qp_list *l = &r->refilled; r->n_ready; l = &r->ready[--i]) {
		while (l->n && !can_send(r, l->head))
			take_ready(r, l);
		if (l->n)
			return l;
		if (i == 0)
			break;
	}
	return NULL;
}

/* The QP sent 'n' packets: it has the next turn too, or is the last. */
static void end_of_job(struct requester *r, uint32_t qpi, uint64_t n)
{
	if (r->turn_qpi != qpi)
		r->turn_left = r->turn;
	r->turn_qpi = qpi;
	r->turn_left -= (uint32_t)min_u64(r->turn_left, n);
	if (r->turn_left == 0) {
		r->turn_qpi = QPI_NONE;
		req_kick(r, qpi);
	} else if (!is_listed(r, qpi) && can_send(r, qpi)) {
		qp_list_add_first(ready_list(r, qpi), qpi);
		r->n_ready++;
	}
}

/* One job of the QP at the head of 'l'; a port has room and a unit is free. */
static void send_one(struct requester *r, struct qp_list *l)
{
	uint32_t qpi = l->head;
	uint64_t packets = r->packets;

	engine_start(&r->tx_engine, r->b.cycle, r->units, r->job_cyc);
	r->tx_busy_ps = engine_busy_ps(&r->tx_engine, &r->b, r->units);
	take_ready(r, l);
	if (is_resend(r, qpi)) {
		resend_job(r, qpi);
	} else {
		uint32_t pos = r->qp[qpi].send;

		send_job(r, qpi);
		req_cache_sent(r, qpi, pos);
	}
	end_of_job(r, qpi, r->packets - packets);
}

uint64_t req_send(struct requester *r)
{
	struct qp_list *l = first_ready(r);

	if (!l)
		return CYCLE_NEVER;
	if (is_local_next(&r->qp[l->head])) {
		if (!req_send_local(r, l->head))
			return CYCLE_NEVER;
		req_wait_note(r, l->head, WAIT_order);
		take_ready(r, l);
	} else if (is_displaced(r, l->head)) {
		/* its turn comes when the WQE was read; in place when no read can be started */
		if (!req_wqe(&r->qp[l->head], r->qp[l->head].send)->is_refetching)
			return CYCLE_NEVER;
		req_wait_note(r, l->head, WAIT_wqe);
		take_ready(r, l);
	} else {
		if (!engine_is_free(&r->tx_engine, r->b.cycle, r->units))
			return engine_free_cyc(&r->tx_engine, r->units);
		if (!chan_can_push(r->job))
			return chan_stall(r->job);
		send_one(r, l);
	}
	/* the next one may need no unit: it is local, or its WQE is to be read */
	return r->n_ready ? r->b.cycle + 1 : CYCLE_NEVER;
}

void req_go_back(struct requester *r, uint32_t qpi)
{
	struct req_qp *q = &r->qp[qpi];

	q->is_rtt_timed = false;
	req_wait_lost(r, qpi, q->top_psn);
	if (r->recovery == RECOVERY_SR) {
		req_sr_lose_head(r, qpi);
	} else {
		q->pass++;
		q->send = q->acked;
		q->send_psn = q->restart_psn = q->done_psn = q->una;
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
	}
	if (q->done_psn == q->una && !q->is_rnr_wait)
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

void req_take_job_done(struct requester *r)
{
	const struct job_done *m = job_done_peek(r->job_done);
	struct req_qp *q;
	uint32_t end;

	if (!m)
		return;
	q = &r->qp[m->qpi];
	q->n_jobs--;
	end = m->tag & PSN_MASK;
	if (m->tag >> TAG_PASS_SHIFT == q->pass && !q->is_error) {
		if (m->status != XLATE_OK) {
			fail_at(r, m->qpi, psn_add(end, PSN_MASK));
		} else if (q->is_unacked) {
			req_sent(r, m->qpi, psn_min(end, q->top_psn));
		} else {
			q->done_psn = psn_max(q->done_psn, psn_min(end, q->top_psn));
			if (q->done_psn != q->una && q->timer == REQ_NO_TIMER)
				req_timer_ack(r, m->qpi);
		}
	}
	chan_pop(r->job_done);
}
