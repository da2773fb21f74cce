/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester.c - the send side of all QPs: PSNs, windows, acknowledgements, retries, completions
 *
 * Hardware: the transmit half of the transport engine. It owns, of every QP, the outstanding WQEs,
 * the PSN to send next and the oldest not acknowledged, the limits (window, outstanding READs and
 * ATOMICs, end-to-end credits) and one timer.
 *
 * Modelled: WQEs arrive whole and are kept until they complete, so sending again refetches payload,
 * and a WQE only where the WQE cache is smaller than what is held. QPs that can send take turns by
 * bytes of the line, with priorities and caps of their rates (tx_sched.h), in jobs: runs of at most
 * 'burst' packets of one message, of one where the rate is capped. Go-back-N: a NAK, a timeout or an
 * implied NAK makes the QP continue at its oldest unacknowledged PSN, also in the middle of a
 * message; jobs already handed over still go out, the
 * peer drops them. READ and ATOMIC data are written to the WQE's segments, and a WQE completes when
 * the last of these writes is in the posted queue. Completions are in order; after an error the
 * rest is flushed. Selective repeat instead, if so set: only what is missing goes out again.
 * Messages of unreliable services are done when their last packet was handed to the port; an error
 * of theirs stops the send queue only. Binds and local invalidations wait until all before them in
 * their queue is finished, and are done before anything behind them goes out.
 * Not modelled: XRC.
 *
 * Rate: one WQE, one acknowledgement or response, one job and one completion a cycle; one write of
 * response data a cycle. Source: IBTA vol. 1, 9.7; protocol.md sections 2.3, 3, 10.
 * Files: requester_tx.c (jobs), requester_wait.c (what QPs wait for), requester_feed.c (WQEs fetched
 * ahead), requester_rx.c (acknowledgements), requester_sr.c (selective repeat), requester_wqe.c (WQE
 * cache), requester_unacked.c (UC, UD), requester_local.c (windows), requester_state.c (commands of
 * the program), requester_timer.c, requester.h (state).
 */
#include "models/requester.h"

#define MAX_MESSAGE (1u << 31)
#define RNR_25_PS (61440 * PS_PER_US)

static const char *const recovery_names[] = RECOVERY_NAMES;
static const char *const rto_names[] = { "fixed", "low_high", "doubling", "estimated", NULL };

#define T struct requester
static const struct field requester_fields[] = {
	PARAM(T, window, 512, 1, 1u << 22, "pkt", "packets of a QP that may be unacknowledged",
	      "declared: covers 100 Gbit/s x 20 us at 512 B; rxe has 128"),
	PARAM(T, burst, 4, 1, 4096, "pkt", "packets of one message before the next QP's turn",
	      "declared"),
	PARAM_BYTES(
		T, quantum, 4096, 256, 1 * MIB,
		"bytes of the line that a QP sends before the next one's turn; shared fairly while what is "
		"fetched of a QP (qp_sched.wqe_per_qp, ahead) covers it",
		"declared: four packets of 1 KiB, a job of burst packets"),
	PARAM_BOOL(T, strict, 0, "QPs of a higher priority (prio) always send first",
		   "declared: off, one class of service"),
	PARAM_BYTES(T, rate_burst, 64 * KIB, 4096, 1 * MIB,
		    "what a QP with a rate cap makes up for when others held it up",
		    "declared; mlx5 packet pacing has a burst of its own (max_burst_sz)"),
	PARAM_BYTES(T, ahead, 64 * KIB, 4096, 1 * MIB,
		    "messages not begun for which WQEs are fetched ahead, of all QPs",
		    "declared: 100 Gb/s x 5 us"),
	PARAM_TIME(T, ahead_time, 4 * PS_PER_US, PS_PER_NS, PS_PER_S,
		   "the same of a QP with a rate cap: what it sends in this time",
		   "declared: some reads of a WQE"),
	PARAM(T, writes, 64, 2, 4096, "req", "writes of response data under way", "declared"),
	PARAM(T, units, 1, 1, 64, "unit", "processing units, of each direction", "declared"),
	PARAM(T, job_cyc, 1, 1, 65536, "cyc", "cycles of a unit for a job: a small message",
	      "declared: pipelined"),
	PARAM(T, rsp_cyc, 1, 1, 65536, "cyc",
	      "cycles of a unit for a packet of a READ response, an ATOMIC acknowledge",
	      "declared: pipelined"),
	PARAM(T, rsp_chain_cyc, 1, 1, 65536, "cyc",
	      "from a packet of a READ response until it is known where the next one of the message goes",
	      "declared: pipelined"),
	PARAM(T, wqe_cache, 0, 0, 1u << 20, "BB",
	      "basic blocks of send WQEs held; others are read again when needed; 0 = all that "
	      "wqe_fetch holds",
	      "declared; the open RNIC RTL has 16 x 64 x 16 B: 256"),
	PARAM_ENUM(T, wqe_sets, 0, assoc_set_counts, "sets of that cache, a basic block a line",
		   "declared: one; the open RNIC RTL has 16 or 64"),
	PARAM_ENUM(T, wqe_policy, ASSOC_LRU, assoc_policies, "which line of a set is replaced",
		   "declared"),
	PARAM_BOOL(T, wqe_cache_sends, 1,
		   "the WQE cache holds also those that wait to be sent; off: only READs and "
		   "ATOMICs that wait for their responses",
		   "declared"),
	PARAM(T, wqe_reads, 16, 1, 256, "WQE", "displaced WQEs being read again", "declared"),
	PARAM(T, rsp_ahead, 16, 1, 1024, "pkt",
	      "with a WQE cache: packets of the peer in the line in which WQEs are read ahead",
	      "declared"),
	PARAM_ENUM(T, recovery, RECOVERY_GBN, recovery_names,
		   "repair of losses: go-back-N or selective repeat, the same at both ends",
		   "documented: IBTA vol. 1 9.7; selective repeat: IRN, SIGCOMM 2018"),
	PARAM(T, sr_window, SACK_WINDOW, 8, SACK_MAX_WINDOW, "pkt",
	      "selective repeat: packets of a QP in flight, READ responses too, at most the "
	      "responder's; a longer READ goes alone",
	      "documented: IRN, SIGCOMM 2018: bit maps of 128"),
	PARAM_BOOL(
		T, sr_ordered, true,
		"selective repeat: a response that would overtake one to an earlier request in "
		"the same bytes of memory is not kept",
		"declared: IBTA vol. 1 10.8.3.3 keeps the order of READs; IRN places all as they "
		"come"),
	PARAM(T, bdp_cap, 0, 0, 1u << 22, "pkt",
	      "packets of a QP in flight: bandwidth-delay product of the longest path; 0 = no cap",
	      "declared: IRN, SIGCOMM 2018, has one, other NICs none"),
	PARAM_TIME(T, react_delay, 0, 0, PS_PER_MS, "from a NAK of a gap to sending again",
		   "declared; Lumina measured 2 to 6 us with ConnectX-5 and 6 Dx"),
	PARAM_ENUM(
		T, rto, RTO_FIXED, rto_names,
		"ACK timeout: the QP's; rto_min or rto_max by packets in flight; 1, 2, 4, 8 times "
		"rto_min; or by round trips, within rto_min and rto_max",
		"documented: IBTA vol. 1 9.7.6.1.3; adaptive ones: IRN, ConnectX-5, RFC 6298"),
	PARAM_TIME(T, rto_min, 100 * PS_PER_US, PS_PER_US, PS_PER_S,
		   "adaptive timeout: the shortest", "documented: IRN's RTO_low; ConnectX-5: 2 ms"),
	PARAM_TIME(T, rto_max, 320 * PS_PER_US, PS_PER_US, PS_PER_S,
		   "adaptive timeout: the longest", "documented: IRN's RTO_high"),
	PARAM(T, rto_few, 3, 0, 65535, "pkt", "low_high: rto_min with fewer packets in flight",
	      "documented: IRN, SIGCOMM 2018, N = 3"),
	PARAM(T, timeout_factor, 2, 1, 4, "", "ACK timeout in units of 4.096 us x 2^timeout",
	      "documented: IBTA vol. 1 9.7.6.1.3 allows 1 to 4; silicon averages 2"),
	PARAM_TIME(T, rnr_25, RNR_25_PS, 1, 4 * RNR_25_PS, "RNR time of code 25",
		   "documented: IBTA vol. 1 table 46; rxe waits 61.41 ms"),
	PARAM_BOOL(T, credits, true, "heed end-to-end credits of the AETH",
		   "documented: IBTA vol. 1 9.7.7.2"),
	PORT_IN(T, wqe, wqe, "WQEs, in order per QP"),
	PORT_IN(T, rx, rx_pkt, "acknowledgements and responses"),
	PORT_IN(T, job_done, job_done, "jobs whose last packet was handed over"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of writes of response data"),
	PORT_IN(T, mpt_rsp, mpt_rsp, "binds and invalidations done"),
	PORT_IN(T, peer_error, qp_error, "QPs that the responder put into Error"),
	PORT_IN(T, cmd, qp_cmd, "states that the program asks for"),
	PORT_IN(T, cq_error, qp_cmd, "QPs that go to Error: a completion of theirs was lost"),
	PORT_IN(T, closed, qp_closed, "QPs that are reset, none of whose WQEs is on its way"),
	PORT_OUT(T, job, tx_job, "runs of packets"),
	PORT_OUT(T, credit, sq_credit, "WQEs released, to the scheduler"),
	PORT_OUT(T, cqe, cqe_req, "completions"),
	PORT_OUT(T, dma_req, dma_req, "writes of response data"),
	PORT_OUT(T, mpt_op, mpt_op, "binds and invalidations"),
	PORT_OUT(T, error, qp_error, "QPs that went into Error here"),
	STAT(T, wqe_evictions, "BB", "displaced from the WQE cache before they were completed"),
	STAT(T, wqe_refetches, "WQE", "WQEs read again"),
	STAT(T, wqe_refetched_bb, "BB", "basic blocks of these"),
	STAT(T, wqe_miss_ps, "ps", "from the order to read a WQE again to its arrival, sum"),
	STAT(T, tx_busy_ps, "ps", "time for which sending units were busy, mean of them"),
	STAT(T, rx_busy_ps, "ps", "time for which receiving units were busy, mean of them"),
	STAT(T, wqes, "WQE", "WQEs taken"),
	STAT(T, jobs, "job", "jobs sent"),
	STAT(T, packets, "pkt", "packets in these jobs"),
	STAT(T, resent_packets, "pkt", "of these, not for the first time"),
	STAT(T, resent_b, "B", "payload in these"),
	STAT(T, acks, "pkt", "ACKs and NAKs received"),
	STAT(T, responses, "pkt", "READ and ATOMIC responses accepted"),
	STAT(T, placed, "pkt", "of these, before one that was lost was there (selective repeat)"),
	STAT(T, ghosts, "pkt", "packets ignored because their PSN was not in flight"),
	STAT(T, nak_sequence, "pkt", "NAKs for a PSN sequence error"),
	STAT(T, nak_rnr, "pkt", "receiver-not-ready NAKs"),
	STAT(T, nak_fatal, "pkt", "NAKs that ended a QP"),
	STAT(T, sacks, "pkt", "of these, selective acknowledgements"),
	STAT(T, implied_naks, "pkt", "packets that showed a READ or ATOMIC response to be lost"),
	STAT(T, timeouts, "event", "ACK timeouts"),
	STAT(T, bad_responses, "pkt", "responses that did not fit the request"),
	STAT(T, errors, "WQE", "WQEs that ended with an error of their own"),
	STAT(T, flushed, "WQE", "WQEs flushed after an error"),
#define X(c, d) STAT(T, qp_##c##_ps, "ps", "time that QPs with WQEs waited for " d),
	REQ_WAITS(X)
#undef X
		SIGNAL(T, n_ready, 20, "QPs that can send"),
	SIGNAL(T, n_held, 24, "WQEs held"),
	FIELDS_END
};
#undef T

static void requester_build(struct block *b)
{
	struct requester *r = (struct requester *)b;
	const struct nic *nic = b->env;
	size_t n = nic->n_qp ? nic->n_qp : 1;

	r->qp = block_alloc(b, n, sizeof(*r->qp));
	for (uint32_t i = 0; i < nic->n_qp; i++) {
		uint32_t bb = nic->qp[i].sq_bb ? nic->qp[i].sq_bb : 1;

		r->qp[i].ring = block_alloc(b, bb, sizeof(struct req_wqe));
		r->qp[i].mask = bb - 1;
	}
	tx_sched_build(&r->tx, b, nic->n_qp);
	r->pausing_qp = block_alloc(b, n, sizeof(*r->pausing_qp));
	r->feed_links = block_alloc(b, n, sizeof(uint32_t));
	r->retire_links = block_alloc(b, n, sizeof(uint32_t));
	r->react_links = block_alloc(b, n, sizeof(uint32_t));
	r->flight = (uint32_t)min_u64(r->window, r->bdp_cap ? r->bdp_cap : r->window);
	if (r->recovery == RECOVERY_SR) {
		r->flight = (uint32_t)min_u64(r->flight, r->sr_window);
		r->sr_mask = sack_ring(r->sr_window) - 1;
		for (uint32_t i = 0; i < nic->n_qp; i++) {
			r->qp[i].came = block_alloc(b, (r->sr_mask + 1) / 8, 1);
			r->qp[i].after = block_alloc(b, r->sr_mask + 1, sizeof(uint32_t));
		}
	}
	r->write = block_alloc(b, r->writes, sizeof(*r->write));
	r->atomic_pool = pool_create(b, r->writes, sizeof(uint64_t));
	req_cache_build(r);
}

static void requester_reset(struct block *b)
{
	struct requester *r = (struct requester *)b;
	const struct nic *nic = b->env;

	tx_sched_reset(&r->tx, r->quantum, r->rate_burst);
	tx_sched_set_qps(&r->tx, nic, r->strict);
	pace_wheel_init(&r->pausing, r->pausing_qp);
	for (uint32_t i = 0; i < nic->n_qp; i++) {
		const struct qp_attr *a = &nic->qp[i];
		struct req_qp *q = &r->qp[i];

		*q = (struct req_qp){
			.ring = q->ring, .mask = q->mask, .came = q->came, .after = q->after
		};
		req_begin_life(r, i, a->sq_psn);
		q->is_error = q->is_silent = a->is_idle;
		q->is_rtr = a->is_idle && !a->is_closed;
	}
	qp_list_init(&r->feed, r->feed_links, nic->n_qp);
	qp_list_init(&r->retire, r->retire_links, nic->n_qp);
	qp_list_init(&r->react, r->react_links, nic->n_qp);
	r->scatter = (struct req_scatter){ 0 };
	for (uint32_t i = 0; i < r->writes; i++)
		r->write[i].next_free = i + 1;
	r->free_write = 0;
	r->told_cyc = 0;
	req_cache_reset(r);
	r->tx_engine = r->rx_engine = (struct engine_rate){ 0 };
	r->n_ready = r->n_held = r->n_sharing = 0;
	req_timer_reset(r);
}

/* What a WQE asks for that no QP can do: the syndrome it ends with, or 0. */
static uint8_t local_error(const struct requester *r, const struct req_wqe *w)
{
	const struct qp_attr *a = req_attr(r, w->w.qpi);
	const struct req_op *op = req_op_of(w);
	bool is_write = op->kind == JOB_ATOMIC_WRITE;
	bool is_8 = is_write || op->kind == JOB_CMP_SWAP || op->kind == JOB_FETCH_ADD;

	if (!(op->types >> a->type & 1) ||
	    (op->is_answered && ((w->w.is_inline && !is_write) || !a->rd_atomic)))
		return CQE_SYNDROME_LOCAL_QP_OP;
	if (a->type == QP_UD && w->w.len > a->mtu && !((const struct nic *)r->b.env)->takes_long_ud)
		return CQE_SYNDROME_LOCAL_LENGTH;
	if (w->w.len > MAX_MESSAGE || (is_8 && w->w.len != sizeof(uint64_t)))
		return CQE_SYNDROME_LOCAL_LENGTH;
	return 0;
}

static void take_wqe(struct requester *r)
{
	const struct wqe *m = wqe_peek(r->wqe);
	struct req_qp *q;
	struct req_wqe *w;
	uint8_t syndrome;

	if (!m)
		return;
	q = &r->qp[m->qpi];
	SIM_CHECK(q->tail - q->head <= q->mask, r);
	w = req_wqe(q, q->tail++);
	*w = (struct req_wqe){ .w = *m };
	r->wqes++;
	r->n_held++;
	req_cache_add(r, m->qpi, q->tail - 1);
	req_feed_add(r, m->qpi, m->len);
	syndrome = local_error(r, w);
	if (syndrome)
		req_fail(r, m->qpi, q->tail - 1, syndrome);
	req_kick(r, m->qpi);
	req_try_retire(r, m->qpi);
	chan_pop(r->wqe);
}

void req_try_retire(struct requester *r, uint32_t qpi)
{
	const struct req_qp *q = &r->qp[qpi];

	if (q->head == q->tail || req_wqe(q, q->head)->n_dma)
		return;
	if (q->is_error || q->head != q->acked || (q->has_failed && q->head == q->fail))
		qp_list_add(&r->retire, qpi);
}

static void push_cqe(struct requester *r, uint32_t qpi, const struct req_wqe *w, uint8_t syndrome)
{
	cqe_req_push(r->cqe, &(struct cqe_req){ .qpi = qpi,
						.cqi = req_attr(r, qpi)->scq,
						.byte_cnt = req_returns_data(w) ? w->w.len : 0,
						.op = w->w.op,
						.wqe_counter = w->w.index,
						.opcode = syndrome ? CQE_REQ_ERR : CQE_REQ,
						.syndrome = syndrome,
						.wqe_opcode = w->w.opcode });
}

/* Complete one WQE of the QP whose turn it is: completion entry, credit, buffer. */
static uint64_t retire(struct requester *r)
{
	uint32_t qpi = r->retire.head;
	struct req_qp *q;
	struct req_wqe *w;
	uint8_t syndrome = 0;
	bool is_news; /* for the responder */

	if (!r->retire.n)
		return CYCLE_NEVER;
	q = &r->qp[qpi];
	w = req_wqe(q, q->head);
	if (q->is_error)
		syndrome = CQE_SYNDROME_WR_FLUSH;
	else if (q->has_failed && q->head == q->fail)
		syndrome = w->syndrome;
	if ((w->w.signaled || syndrome) && !chan_can_push(r->cqe))
		return chan_stall(r->cqe);
	if (!chan_can_push(r->credit))
		return chan_stall(r->credit);
	is_news = syndrome && !q->is_error && !q->is_unacked;
	if (is_news && !chan_can_push(r->error))
		return chan_stall(r->error);
	if (!w->w.signaled && !syndrome)
		oplog_settle(req_oplog(r), w->w.op, OP_DONE);
	else if (!q->is_silent)
		push_cqe(r, qpi, w, syndrome);
	if (!pos_before(q->head, q->issued))
		req_feed_remove(r, qpi, w->w.len);
	req_feed_release(r, qpi);
	buf_unref(&r->b, w->w.buf);
	req_cache_drop(r, qpi, q->head);
	r->flushed += q->is_error;
	if (syndrome && !q->is_error) {
		r->errors++;
		req_enter_error(r, qpi);
		if (is_news)
			req_tell(r, qpi, QP_FAILED, 0);
	}
	q->head++;
	r->n_held--;
	if (q->head == q->tail)
		req_wait_note(r, qpi, WAIT_idle);
	qp_list_take(&r->retire);
	req_try_retire(r, qpi);
	return r->retire.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

/* What else arrived: one of these at most, as a rule. */
static void take_answers(struct requester *r)
{
	if (chan_has(r->peer_error))
		req_take_peer_error(r);
	if (chan_has(r->dma_rsp))
		req_take_dma_rsp(r);
	if (chan_has(r->mpt_rsp))
		req_take_mpt_rsp(r);
	if (chan_has(r->job_done))
		req_take_job_done(r);
}

static uint64_t requester_step(struct block *b)
{
	struct requester *r = (struct requester *)b;
	uint64_t next;
	bool is_idle, is_cqe_free;
	uint32_t n_held;

	req_timer_expire(r);
	if (b->in_pending)
		take_answers(r);
	if (r->wqe_cache)
		req_rx_enter(r);
	next = req_take_rx(r);
	take_wqe(r);
	if (r->scatter.is_busy)
		next = min_u64(next, req_scatter(r));
	is_cqe_free = r->retire.n == 0;
	n_held = r->n_held;
	next = min_u64(next, retire(r));
	if (chan_has(r->cmd) || chan_has(r->cq_error))
		next = min_u64(next, req_take_cmd(r));
	if (r->react.n)
		next = min_u64(next, req_react_step(r));
	if (chan_has(r->closed))
		next = min_u64(next, req_take_closed(r, is_cqe_free));
	if (r->tx.paced.n)
		req_pace_step(r);
	is_idle = r->retire.n == 0;
	next = min_u64(next, req_send(r));
	if (r->pausing.n)
		next = min_u64(next, req_feed_wake(r));
	if (r->feed.n) /* with those whose messages this step began */
		next = min_u64(next, req_feed_step(r, r->n_held != n_held));
	if (r->refetches.n)
		next = min_u64(next, req_cache_step(r));
	if (is_idle && r->retire.n) /* a datagram that is done without being sent */
		next = b->cycle + 1;
	if (r->tx.paced.n)
		next = min_u64(next, req_pace_step(r));
	if (r->wqe_cache)
		next = min_u64(next, req_rx_next(r));
	/* with the timers that this step started */
	return min_u64(next, block_cycle_at(b, req_timer_expire(r)));
}

static const char *requester_check(const struct block *b, const char **param)
{
	return req_cache_check((const struct requester *)b, param);
}

const struct block_class requester_class = {
	.name = "requester",
	.impl = "c",
	.size = sizeof(struct requester),
	.fields = requester_fields,
	.doc = "send side of all QPs: PSNs, window, acknowledgements, retries, completions",
	.build = requester_build,
	.reset = requester_reset,
	.step = requester_step,
	.check = requester_check,
};
