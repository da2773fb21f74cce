/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder.c - the receive side of all QPs: execution of requests, acknowledgements, receives
 *
 * Hardware: the receive half of the transport engine: per QP the expected PSN, MSN and the message
 * in progress, the saved READs and ATOMICs (responder resources), and the receive WQE in use.
 *
 * Modelled: a pool of packet contexts. Packets of a QP execute one after the other; a QP that waits
 * for a receive WQE, a translation or an atomic does not hold up the others. An RDMA range is
 * checked once a message through the translation unit, SEND payload by the DMA engine as it is
 * written; an ACK leaves when all it speaks for is in the posted queue, so both faults are NAKed.
 * READs and ATOMICs execute after earlier writes of the QP were posted; responses of QPs take turns
 * by bytes of the line, with priorities and caps, and a repeated READ restarts its response. When every context is
 * taken the receive pipeline stops: no context waits for a packet to arrive.
 * Packets behind a gap are dropped (go-back-N) or wait for those before them (selective repeat).
 * Unreliable services answer nothing and drop what they cannot execute.
 *
 * Rate: one packet, one write and one acknowledgement a cycle; a packet takes a cycle at each port
 * it needs. Source: IBTA vol. 1, 9.7; protocol.md section 9.
 * Files: responder_exec.c (checks and execution; RC), responder_sr.c (selective repeat),
 * responder_uc.c, responder_ud.c, responder_ext.c (further operations), responder_state.c (Error,
 * reset), responder_commit.c (writes, order), responder_tx.c (ACKs, responses), responder.h (state).
 */
#include <string.h>

#include "models/packet/packet.h"
#include "models/responder.h"

#define MAX_MTU 4096u

static const char *const recovery_names[] = RECOVERY_NAMES;

#define T struct responder
static const struct field responder_fields[] = {
	PARAM(T, contexts, 32, 1, 4096, "pkt", "packets executed or waiting for their QP's turn",
	      "declared"),
	PARAM(T, checks, 16, 0, 4096, "pkt",
	      "packets of a QP whose key and range are checked while they wait for their turn; 0: in "
	      "their turn only",
	      "declared: as many as READs outstanding on ConnectX"),
	PARAM(T, units, 1, 1, 64, "unit", "processing units", "declared"),
	PARAM(T, pkt_cyc, 1, 1, 65536, "cyc", "cycles of a unit for a packet of a SEND or WRITE",
	      "declared: pipelined"),
	PARAM(T, read_cyc, 1, 1, 65536, "cyc", "cycles of a unit for a READ request",
	      "declared: pipelined"),
	PARAM(T, atomic_cyc, 1, 1, 65536, "cyc",
	      "cycles of a unit for an ATOMIC, ATOMIC WRITE or FLUSH",
	      "declared: pipelined; ConnectX-5: about three times those of a WRITE"),
	PARAM(T, writes, 256, 2, 65536, "entry",
	      "entries of the commit ring: payload writes under way", "declared"),
	PARAM(T, burst, 4, 1, 4096, "pkt", "packets of one response before the next QP's turn",
	      "declared"),
	PARAM_BYTES(T, quantum, 16 * KIB, 256, 1 * MIB,
		    "bytes of the line that responses of a QP take before the next one's turn",
		    "declared: four packets of 4 KiB, a job of burst packets"),
	PARAM_BOOL(T, strict, 0, "responses of QPs of a higher priority (prio) always go first",
		   "declared: off, one class of service"),
	PARAM_BYTES(T, rate_burst, 64 * KIB, 4096, 1 * MIB,
		    "responses that a QP with a rate cap makes up for when others held it up",
		    "declared: as requester.rate_burst; mlx5 paces send queues, and a response is "
		    "sent by the QP too"),
	PARAM(T, ack_buffers, 64, 1, 4096, "pkt", "acknowledgements between here and the line",
	      "declared"),
	PARAM(T, ack_count, 1, 1, 65535, "pkt",
	      "packets that ask for an ACK before a delayed one is sent", "declared"),
	PARAM_TIME(T, ack_delay, 0, 0, PS_PER_MS, "time that an ACK waits for more to acknowledge",
		   "declared"),
	PARAM_ENUM(
		T, recovery, RECOVERY_GBN, recovery_names,
		"what is done with packets behind a gap: go-back-N or selective repeat, the same at "
		"both ends",
		"documented: IBTA vol. 1 9.7; selective repeat: IRN, SIGCOMM 2018"),
	PARAM(T, sr_window, SACK_WINDOW, 8, SACK_MAX_WINDOW, "pkt",
	      "selective repeat: PSNs of a QP from the expected one on that are kept",
	      "documented: IRN, SIGCOMM 2018: bit maps of 128"),
	PARAM(T, sr_hold, 256, 1, 65536, "pkt",
	      "selective repeat: packets of all QPs that wait for one before them in the NIC",
	      "declared: 1 MiB at an MTU of 4 KiB; IRN keeps none and changes the packets instead"),
	PARAM_TIME(T, nak_delay, 0, 0, PS_PER_MS, "from a gap to its NAK",
		   "declared; Lumina measured about 2 us with ConnectX-5 and 6 Dx"),
	PARAM_BOOL(T, credits, true, "end-to-end credits in the AETH",
		   "documented: hardware captures have codes 5 and 6; rxe always sends 31"),
	PARAM_BOOL(T, mig_req, true, "MigReq in the BTH of acknowledgements",
		   "documented: hardware captures; rxe sends 0"),
	PARAM_BOOL(T, enforce_rd_atomic, true,
		   "NAK more outstanding READs and ATOMICs than dest_rd_atomic",
		   "documented: IBTA vol. 1 9.7.4.1.7; rxe does not"),
	PARAM_BOOL(T, nak_after_rnr, false, "NAK the packets behind one that met no receive WQE",
		   "documented: rxe does, IBTA vol. 1 9.7.5.2.8 does not"),
	PARAM_BOOL(T, long_send_remote_op, false,
		   "a SEND too long for its receive is a remote operational error (UC, UD: of "
		   "the receiver, a local QP operation error)",
		   "documented: rxe; IBTA vol. 1 9.7.4.1.6: invalid request (9.8.2.2: dropped)"),
	PARAM_BOOL(T, keep_short_recv, false,
		   "UC, UD: what is too long for its receive is dropped, and the next takes that "
		   "receive; off: the receive ends with a local length error, the QP goes to Error",
		   "documented: on by IBTA vol. 1 9.8.2.2, 9.9.3 class D; ConnectX gives the "
		   "completion, 10.10.2.3 the state"),
	PARAM_BOOL(T, recv_remote_access, false,
		   "a WRITE refused for its key gives the receive it took a remote access error",
		   "documented: rxe recordings; IBTA vol. 1 11.6.2: local access error"),
	PARAM_BOOL(T, dup_needs_ack_req, false, "acknowledge duplicates only when they ask for it",
		   "declared: IBTA vol. 1 C9-105 leaves both"),
	PARAM_BOOL(T, uc_resync, true,
		   "UC: behind a message that was cut off, the next that begins is taken",
		   "documented: IBTA vol. 1 9.8.2.2; rxe takes nothing more"),
	PARAM_BOOL(T, inv_ack, false,
		   "a SEND with Invalidate of a wrong key is acknowledged, and ends its receive",
		   "documented: rxe recordings; IBTA vol. 1 table 62: remote access error"),
	PARAM_BOOL(
		T, rsc_cache, false,
		"responder resources of READs and ATOMICs are looked up in the cache rsc; off: all "
		"are in the NIC",
		"declared"),
	PORT_IN(T, rx, rx_pkt, "requests"),
	PORT_IN(T, rq_rsp, rq_rsp, "receive WQEs"),
	PORT_IN(T, xlate_rsp, xlate_rsp, "checked ranges"),
	PORT_IN(T, atomic_rsp, atomic_rsp, "atomics done"),
	PORT_IN(T, job_done, job_done, "jobs whose last packet was handed over"),
	PORT_IN(T, dma_rsp, dma_rsp, "payload writes posted"),
	PORT_IN(T, rsc_rsp, ctx_rsp, "responder resources that are there"),
	PORT_IN(T, mpt_rsp, mpt_rsp, "keys invalidated"),
	PORT_IN(T, peer_error, qp_error, "QPs that the requester put into Error"),
	PORT_OUT(T, rq_req, rq_req, "receive WQEs wanted"),
	PORT_OUT(T, xlate_req, xlate_req, "ranges to be checked"),
	PORT_OUT(T, atomic_req, atomic_req, "atomics to be done"),
	PORT_OUT(T, job, tx_job, "READ and ATOMIC responses"),
	PORT_OUT(T, ack, pkt, "ACK and NAK packets"),
	PORT_OUT(T, cqe, cqe_req, "receive completions"),
	PORT_OUT(T, dma_req, dma_req, "payload writes"),
	PORT_OUT(T, rsc_req, ctx_req, "QPs whose responder resources are wanted"),
	PORT_OUT(T, mpt_op, mpt_op, "keys to be invalidated"),
	PORT_OUT(T, error, qp_error, "QPs that went into Error here"),
	STAT(T, busy_ps, "ps", "time for which units were busy with packets, mean of them"),
	STAT(T, packets, "pkt", "request packets taken"),
	STAT(T, messages, "msg", "messages completed"),
	STAT(T, dropped, "pkt",
	     "packets dropped: QP in error, not a request, or a duplicate no longer known"),
	STAT(T, duplicates, "pkt", "packets executed before"),
	STAT(T, gaps, "pkt", "packets ahead of the expected PSN"),
	STAT(T, placed, "pkt",
	     "of these, written to memory ahead of their turn (selective repeat)"),
	STAT(T, held, "pkt", "of these, kept in the NIC until their turn (selective repeat)"),
	STAT(T, acks_sent, "pkt", "ACKs sent"),
	STAT(T, naks_sent, "pkt", "NAKs sent, RNR NAKs among them"),
	STAT(T, rnr_naks, "pkt", "packets that met no receive WQE"),
	STAT(T, errors_found, "event", "errors that stopped a QP"),
	STAT(T, reads, "msg", "READs executed"),
	STAT(T, atomics, "msg", "ATOMICs executed"),
	STAT(T, replays, "msg", "READs and ATOMICs answered again"),
	STAT(T, invalidations, "msg", "SENDs with Invalidate whose key was taken away"),
	STAT(T, flushed, "WQE", "receives that ended with an error"),
	SIGNAL(T, n_ctx, 12, "contexts taken"),
	SIGNAL(T, n_held, 24, "packets behind gaps that arrived (selective repeat)"),
	SIGNAL(T, ring_len, 17, "entries of the commit ring"),
	FIELDS_END
};
#undef T

static void responder_build(struct block *b)
{
	struct responder *r = (struct responder *)b;
	const struct nic *nic = b->env;
	size_t n = nic->n_qp ? nic->n_qp : 1;

	r->qp = block_alloc(b, n, sizeof(*r->qp));
	for (uint32_t i = 0; i < nic->n_qp; i++) {
		struct rsp_qp *q = &r->qp[i];

		q->n_slot = nic->qp[i].dest_rd_atomic ? nic->qp[i].dest_rd_atomic : 1;
		q->slot = block_alloc(b, q->n_slot, sizeof(*q->slot));
		q->queue = block_alloc(b, q->n_slot, sizeof(*q->queue));
	}
	r->ctx = block_alloc(b, r->contexts, sizeof(*r->ctx));
	r->ring = block_alloc(b, r->writes, sizeof(*r->ring));
	r->run_links = block_alloc(b, n, sizeof(uint32_t));
	r->ack_links = block_alloc(b, n, sizeof(uint32_t));
	r->delayed_links = block_alloc(b, n, sizeof(uint32_t));
	tx_sched_build(&r->tx, b, nic->n_qp);
	r->rsc_links = block_alloc(b, n, sizeof(uint32_t));
	r->flush_links = block_alloc(b, n, sizeof(uint32_t));
	r->error_links = block_alloc(b, n, sizeof(uint32_t));
	r->closing_links = block_alloc(b, n, sizeof(uint32_t));
	r->ctx_links = block_alloc(b, r->contexts, sizeof(uint32_t));
	r->ahead_links = block_alloc(b, r->contexts, sizeof(uint32_t));
	r->nak_links = block_alloc(b, n, sizeof(uint32_t));
	r->ack_pool = pool_create(b, r->ack_buffers,
				  packet_buf_size(r->recovery == RECOVERY_SR ? SACK_MAX_BYTES : 0));
	if (r->recovery == RECOVERY_SR) {
		r->hold_pool = pool_create(b, r->sr_hold, packet_buf_size(MAX_MTU));
		r->sr_mask = sack_ring(r->sr_window) - 1;
		for (uint32_t i = 0; i < nic->n_qp; i++)
			r->qp[i].held = block_alloc(b, r->sr_mask + 1, sizeof(struct rsp_held));
	}
	r->grh_pool = pool_create(b, r->contexts, RSP_GRH_BYTES);
}

static void responder_reset(struct block *b)
{
	struct responder *r = (struct responder *)b;
	const struct nic *nic = b->env;

	for (uint32_t i = 0; i < nic->n_qp; i++) {
		rsp_begin_life(r, i, nic->qp[i].rq_psn);
		r->qp[i].is_error = r->qp[i].is_flushed = nic->qp[i].is_closed;
		r->qp[i].rq_free = nic->qp[i].rq_known;
	}
	for (uint32_t i = 0; r->recovery == RECOVERY_SR && i < nic->n_qp; i++)
		memset(r->qp[i].held, 0, (r->sr_mask + 1) * sizeof(struct rsp_held));
	for (uint32_t i = 0; i < r->contexts; i++)
		r->ctx[i].next = i + 1;
	r->free_ctx = 0;
	qp_list_init(&r->run, r->run_links, nic->n_qp);
	qp_list_init(&r->acks, r->ack_links, nic->n_qp);
	qp_list_init(&r->naks, r->nak_links, nic->n_qp);
	qp_list_init(&r->delayed, r->delayed_links, nic->n_qp);
	tx_sched_reset(&r->tx, r->quantum, r->rate_burst);
	tx_sched_set_qps(&r->tx, nic, r->strict);
	qp_list_init(&r->want_rsc, r->rsc_links, nic->n_qp);
	qp_list_init(&r->flush, r->flush_links, nic->n_qp);
	qp_list_init(&r->errors, r->error_links, nic->n_qp);
	qp_list_init(&r->closing, r->closing_links, nic->n_qp);
	/* a context wants one port at a time: the lists share their links */
	qp_list_init(&r->want_recv, r->ctx_links, r->contexts);
	qp_list_init(&r->want_xlate, r->ctx_links, r->contexts);
	qp_list_init(&r->want_atomic, r->ctx_links, r->contexts);
	qp_list_init(&r->want_write, r->ctx_links, r->contexts);
	qp_list_init(&r->want_inval, r->ctx_links, r->contexts);
	qp_list_init(&r->ahead, r->ahead_links, r->contexts);
	r->ring_head = r->ring_len = r->n_ctx = r->n_held = 0;
	r->engine = (struct engine_rate){ 0 };
}

void rsp_ctx_done(struct responder *r, struct rsp_ctx *c)
{
	struct rsp_qp *q = &r->qp[c->m.qpi];
	bool is_free = rsp_ahead_release(r, q, c);

	if (c->m.buf != BUF_NONE)
		buf_unref(&r->b, c->m.buf);
	if (rsp_sr_next(r, c))
		return;
	q->ctx_head = c->next;
	if (q->ctx_head != RSP_CTX_NONE)
		qp_list_add(&r->run, c->m.qpi);
	else
		rsp_try_flush(r, c->m.qpi);
	if (is_free)
		rsp_ctx_free(r, c);
}

void rsp_unpark(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];

	if (q->is_parked)
		qp_list_add(&r->run, qpi);
	q->is_parked = false;
}

static uint32_t packet_cyc(const struct responder *r, uint8_t opcode)
{
	uint8_t op_class = opcode_info[opcode].op_class;

	if (op_class == CLASS_SEND || op_class == CLASS_WRITE)
		return r->pkt_cyc;
	return op_class == CLASS_READ ? r->read_cyc : r->atomic_cyc;
}

/* Give the next packet a context, behind those of its QP. Returns when to run again. */
static uint64_t take_rx(struct responder *r)
{
	const struct rx_pkt *m = rx_pkt_peek(r->rx);
	uint32_t id = r->free_ctx;
	struct rsp_qp *q;

	if (!m || id == r->contexts)
		return CYCLE_NEVER;
	if (!engine_is_free(&r->engine, r->b.cycle, r->units))
		return engine_free_cyc(&r->engine, r->units);
	engine_start(&r->engine, r->b.cycle, r->units, packet_cyc(r, m->opcode));
	r->busy_ps = engine_busy_ps(&r->engine, &r->b, r->units);
	q = &r->qp[m->qpi];
	r->free_ctx = r->ctx[id].next;
	r->ctx[id] = (struct rsp_ctx){ .m = *m, .next = RSP_CTX_NONE };
	if (q->ctx_head == RSP_CTX_NONE) {
		q->ctx_head = id;
		qp_list_add(&r->run, m->qpi);
	} else {
		r->ctx[q->ctx_tail].next = id;
	}
	q->ctx_tail = id;
	rsp_ahead_take(r, q, &r->ctx[id], q->ctx_head == id);
	r->packets++;
	r->n_ctx++;
	chan_pop(r->rx);
	return CYCLE_NEVER; /* the next one wakes the block */
}

static void ask_xlate(struct responder *r, const struct rsp_ctx *c, uint32_t id)
{
	xlate_req_push(r->xlate_req,
		       &(struct xlate_req){
			       .va = c->va,
			       .len = c->dma_len,
			       .key = c->rkey,
			       .tag = id,
			       .pd = rsp_attr(r, c->m.qpi)->pd,
			       .access = rsp_class_access[opcode_info[c->m.opcode].op_class] });
}

static const uint8_t atomic_kinds[RSP_CLASSES] = { [CLASS_ATOMIC] = ATOMIC_RMW,
						   [CLASS_FLUSH] = ATOMIC_TOUCH,
						   [CLASS_ATOMIC_WRITE] = ATOMIC_STORE };

static void ask_atomic(struct responder *r, const struct rsp_ctx *c, uint32_t id)
{
	const struct opcode_info *i = &opcode_info[c->m.opcode];
	const struct nic *nic = r->b.env;

	if (c->is_region) {
		atomic_req_push(r->atomic_req,
				&(struct atomic_req){ .va = nic->mpt_pa +
							    (uint64_t)(c->rkey >> 8) * MPT_SIZE,
						      .tag = id,
						      .kind = ATOMIC_PUSH });
		return;
	}
	atomic_req_push(r->atomic_req,
			&(struct atomic_req){ .va = c->va + c->at,
					      .swap_add = c->swap_add,
					      .compare = c->compare,
					      .rkey = c->rkey,
					      .tag = id,
					      .pd = rsp_attr(r, c->m.qpi)->pd,
					      .kind = atomic_kinds[i->op_class],
					      .len = (uint8_t)min_u64(c->dma_len, 8),
					      .is_fetch_add = (c->m.opcode & IB_OPERATION_MASK) ==
							      IB_FETCH_ADD });
}

/* Ask for a check ahead of its packet's turn. */
static uint64_t ask_ahead(struct responder *r)
{
	const struct rsp_ctx *c;

	if (!r->ahead.n)
		return CYCLE_NEVER;
	if (!chan_can_push(r->xlate_req))
		return chan_stall(r->xlate_req);
	c = rsp_ahead_next(r);
	if (c)
		ask_xlate(r, c, (uint32_t)(c - r->ctx));
	return r->ahead.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

/*
 * Ask for the receive WQE, the translation, the atomic that the oldest context of each list wants.
 */
static uint64_t ask(struct responder *r)
{
	struct qp_list *lists[] = { &r->want_recv, &r->want_xlate, &r->want_atomic };
	struct chan *ports[] = { r->rq_req, r->xlate_req, r->atomic_req };
	uint64_t next = r->want_xlate.n ? CYCLE_NEVER : ask_ahead(r);

	for (unsigned i = 0; i < ARRAY_LEN(lists); i++) {
		const struct rsp_ctx *c;
		uint32_t id;

		if (!lists[i]->n)
			continue;
		if (!chan_can_push(ports[i])) {
			chan_stall(ports[i]);
			continue;
		}
		id = qp_list_take(lists[i]);
		c = &r->ctx[id];
		if (c->stage == RSP_RECV)
			rq_req_push(r->rq_req, &(struct rq_req){ .qpi = c->m.qpi });
		else if (c->stage == RSP_XLATE)
			ask_xlate(r, c, id);
		else
			ask_atomic(r, c, id);
		if (lists[i]->n || (lists[i] == &r->want_xlate && r->ahead.n))
			next = r->b.cycle + 1;
	}
	return next;
}

/* What arrived besides packets: one of these at most, as a rule. True when a QP's next life has to wait. */
static bool take_answers(struct responder *r)
{
	bool is_life_waiting = chan_has(r->peer_error) && rsp_take_peer_error(r);

	if (chan_has(r->job_done))
		rsp_take_job_done(r);
	if (chan_has(r->dma_rsp))
		rsp_take_dma_rsp(r);
	if (chan_has(r->rq_rsp))
		rsp_take_recv(r);
	if (chan_has(r->xlate_rsp))
		rsp_take_xlate(r);
	if (chan_has(r->atomic_rsp))
		rsp_take_atomic(r);
	if (chan_has(r->mpt_rsp))
		rsp_take_mpt(r);
	if (chan_has(r->rsc_rsp))
		rsp_take_rsc(r);
	return is_life_waiting;
}

static uint64_t responder_step(struct block *b)
{
	struct responder *r = (struct responder *)b;
	bool was_full = r->free_ctx == r->contexts;
	bool is_life_waiting = b->in_pending && take_answers(r);
	uint64_t next = take_rx(r);

	if (r->run.n)
		rsp_run(r, qp_list_take(&r->run));
	if (r->want_write.n)
		next = min_u64(next, rsp_write(r));
	if (r->want_recv.n || r->want_xlate.n || r->want_atomic.n || r->ahead.n)
		next = min_u64(next, ask(r));
	if (r->want_inval.n)
		next = min_u64(next, rsp_ask_mpt(r));
	if (r->flush.n)
		next = min_u64(next, rsp_flush(r));
	if (r->ring_len)
		next = min_u64(next, rsp_commit(r)); /* behind what makes entries */
	if (r->errors.n)
		next = min_u64(next, rsp_report_error(r));
	if (r->tx.n_ready || r->tx.paced.n)
		next = min_u64(next, rsp_send_job(r));
	if (r->want_rsc.n)
		next = min_u64(next, rsp_ask_rsc(r));
	if (r->acks.n || r->naks.n || r->delayed.n)
		next = min_u64(next, rsp_send_ack(r));
	if (r->run.n || r->flush.n || is_life_waiting ||
	    (was_full && r->free_ctx != r->contexts && rx_pkt_peek(r->rx)))
		next = b->cycle + 1;
	return r->closing.n ? min_u64(next, rsp_close(r)) : next;
}

const struct block_class responder_class = {
	.name = "responder",
	.impl = "c",
	.size = sizeof(struct responder),
	.fields = responder_fields,
	.doc = "receive side of all QPs: execution, acknowledgements, receive completions",
	.build = responder_build,
	.reset = responder_reset,
	.step = responder_step,
};
