/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe_fetch.c - reads send and receive WQEs from host memory
 *
 * Send queues: for each order of the scheduler the QP's context is brought in, then one DMA read
 * takes up to 'prefetch' basic blocks (two where the ring wraps), and the whole WQEs in them are
 * decoded, 'width' bytes a cycle. A WQE that is cut off is left for the next order, unless it is
 * the first: then the rest is read. Every WQE goes on in a buffer of its own, which lives until the
 * requester has completed it, so a retransmission reads no WQE again. 'reads' orders are under way
 * at once; they may overtake each other, one QP has only one. Of a QP with a rate cap an order
 * brings no WQE behind those that the cap keeps busy for 'prefetch_time'.
 *
 * Receive queues: wqe_fetch_rq.c.
 *
 * A WQE that came with its doorbell (BlueFlame) waits for the context only and is decoded from where
 * it is.
 *
 * Not modelled: a cache of send WQEs beyond the prefetch. A malformed WQE is passed on, for the requester to fail.
 *
 * Layouts: protocol.md section 13 (rdma-core mlx5dv.h). A block at most 16 basic blocks large.
 */
#include "models/wqe_fetch.h"

#define WQE_BYTES (WQE_MAX_BB * WQE_BB)

#define T struct wqe_fetch
static const struct field wqe_fetch_fields[] = {
	PARAM(T, prefetch, 8, 1, 64, "BB", "basic blocks read for one order", "declared"),
	PARAM_TIME(T, prefetch_time, 4 * PS_PER_US, PS_PER_NS, PS_PER_S,
		   "messages that one order brings of a QP with a rate cap: what it sends in this "
		   "time, at least one",
		   "declared: as requester.ahead_time"),
	PARAM(T, reads, 16, 1, MAX_READS, "req", "orders under way",
	      "fitted: 60 M WQEs a second need 16 at 1 us a read and 4 WQEs an order"),
	PARAM_BOOL(
		T, exact, 0,
		"the last WQE is read as long as its doorbell says, not to the end of its basic block",
		"declared: off; the doorbell's first qword has the length (mlx5, protocol.md 13)"),
	PARAM_BYTES(T, width, 64, 16, 1024, "WQE bytes decoded in a cycle",
		    "documented: open RNIC RTL, 512-bit datapath"),
	PARAM(T, wqe_slots, 4096, 16, 200000, "WQE", "send WQEs held until they are completed",
	      "declared: about 2 MB of on-chip state, as ConnectX-4/5"),
	PARAM(T, rq_prefetch, 16, 1, 64, "WQE", "receive WQEs held ready per QP",
	      "declared: a burst of small SENDs of one QP; 16 of 16 B are one read of 256 B"),
	PARAM(T, rq_low, 32, 0, 32768, "WQE",
	      "the doorbell record is read again when fewer posted receive WQEs are known",
	      "declared: those held and as many that are handed out while it is read"),
	PORT_IN(T, fetch, sq_fetch, "orders of the scheduler, one per QP at a time"),
	PORT_IN(T, rq_req, rq_req, "questions of the responder for receive WQEs"),
	PORT_IN(T, qpc_rsp, ctx_rsp, "the context of a QP is there"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of the reads, in any order"),
	PORT_IN(T, srq_cmd, srq_cmd, "limits that the program sets"),
	PORT_OUT(T, event, async_event, "shared receive queues that fell below their limit"),
	PORT_OUT(T, fetched, sq_fetched, "what an order brought"),
	PORT_OUT(T, wqe, wqe, "decoded send WQEs, in order per QP"),
	PORT_OUT(T, rq_rsp, rq_rsp, "receive WQEs, in order per QP"),
	PORT_OUT(T, qpc_req, ctx_req, "contexts wanted"),
	PORT_OUT(T, dma_req, dma_req, "reads of WQEs and doorbell records"),
	STAT(T, fetches, "req", "orders of the scheduler"),
	STAT(T, sq_reads, "req", "DMA reads of send WQEs"),
	STAT(T, bf_wqes, "WQE", "send WQEs that BlueFlame brought: no read"),
	STAT(T, bbs, "BB", "basic blocks read"),
	STAT(T, wqes, "WQE", "send WQEs delivered"),
	STAT(T, malformed, "WQE", "send WQEs of impossible length or segments"),
	STAT(T, cut, "WQE", "send WQEs cut off at the end of what was read"),
	STAT(T, rq_reads, "req", "DMA reads of receive WQEs"),
	STAT(T, dbr_reads, "req", "DMA reads of doorbell records"),
	STAT(T, rq_wqes, "WQE", "receive WQEs handed out"),
	STAT(T, rq_none, "req", "questions to which none was posted"),
	STAT(T, srq_limits, "event", "shared receive queues that fell below their limit"),
	SIGNAL(T, in_flight, 9, "orders under way"),
	FIELDS_END
};
#undef T

static void wqe_fetch_build(struct block *b)
{
	struct wqe_fetch *w = (struct wqe_fetch *)b;

	w->blocks = pool_create(b, w->reads, (uint32_t)max_u64(w->prefetch, WQE_MAX_BB) * WQE_BB);
	w->wqes_pool = pool_create(b, w->wqe_slots, WQE_BYTES);
	wqe_fetch_rq_build(w);
}

static void wqe_fetch_reset(struct block *b)
{
	struct wqe_fetch *w = (struct wqe_fetch *)b;

	for (uint32_t i = 0; i < w->reads; i++)
		w->slot[i].is_used = false;
	qp_list_init(&w->sq_read, w->sq_read_links, w->reads);
	qp_list_init(&w->sq_decode, w->sq_decode_links, w->reads);
	w->decode_free_cyc = 0;
	w->in_flight = 0;
	w->is_rq_turn = false;
	wqe_fetch_rq_reset(w);
}

static uint32_t free_slot(const struct wqe_fetch *w)
{
	for (uint32_t i = 0; i < w->reads && w->in_flight < w->reads; i++)
		if (!w->slot[i].is_used)
			return i;
	return MAX_READS;
}

/* Basic blocks that are read before any is looked at. */
static uint32_t first_blocks(const struct wqe_fetch *w, const struct sq_fetch *m)
{
	uint32_t n = m->want_bb && m->want_bb < w->prefetch ? m->want_bb : w->prefetch;

	return m->buf != BUF_NONE || m->n_bb < n ? m->n_bb : n;
}

/* Accept an order: ask for the context. False when that was refused. */
static bool take_order(struct wqe_fetch *w)
{
	const struct sq_fetch *m = sq_fetch_peek(w->fetch);
	uint32_t i = m ? free_slot(w) : MAX_READS;

	if (i == MAX_READS || (m->buf == BUF_NONE && !pool_can_alloc(w->blocks)))
		return true;
	if (!chan_can_push(w->qpc_req)) {
		chan_stall(w->qpc_req);
		return false;
	}
	SIM_CHECK(m->n_bb > 0 && m->max_wqe > 0, w);
	w->slot[i] = (struct sq_slot){
		.order = *m,
		.buf = m->buf != BUF_NONE ? m->buf : pool_alloc(w->blocks),
		.is_used = true,
		.want = first_blocks(w, m),
		.rate_bps = wqe_fetch_qp(w, m->qpi)->rate_bps,
		.taken_ps = w->b.now_ps,
	};
	w->bf_wqes += m->buf != BUF_NONE;
	ctx_req_push(w->qpc_req, &(struct ctx_req){ .index = m->qpi, .tag = i });
	chan_pop(w->fetch);
	w->fetches++;
	w->in_flight++;
	return true;
}

static void take_context(struct wqe_fetch *w)
{
	const struct ctx_rsp *m = ctx_rsp_peek(w->qpc_rsp);

	if (!m)
		return;
	SIM_CHECK(m->tag < w->reads && w->slot[m->tag].order.qpi == m->index, w);
	w->slot[m->tag].context_ps = w->b.now_ps;
	qp_list_add(w->slot[m->tag].order.buf != BUF_NONE ? &w->sq_decode : &w->sq_read, m->tag);
	chan_pop(w->qpc_rsp);
}

/* Issue the next read of the oldest order that has one, up to the end of the ring. */
static void read_blocks(struct wqe_fetch *w)
{
	uint32_t i = w->sq_read.head;
	struct sq_slot *s = &w->slot[i];
	const struct qp_attr *qp = wqe_fetch_qp(w, s->order.qpi);
	uint32_t at = (s->order.index + s->asked) & (qp->sq_bb - 1);
	uint32_t n = (uint32_t)min_u64(s->want - s->asked, qp->sq_bb - at), len = n * WQE_BB;

	if (w->exact && s->order.tail && s->asked + n == s->order.n_bb)
		len -= WQE_BB - s->order.tail * WQE_SEG;

	dma_req_push(w->dma_req, &(struct dma_req){ .addr = qp->sq_pa + (uint64_t)at * WQE_BB,
						    .key = KEY_PHYS,
						    .len = len,
						    .buf = s->buf,
						    .off = s->asked * WQE_BB,
						    .tag = TAG_SQ | i,
						    .pd = qp->pd,
						    .cls = DMA_WQE,
						    .op = OP_NONE });
	s->asked += n;
	s->reads++;
	w->sq_reads++;
	w->bbs += n;
	if (s->asked == s->want)
		qp_list_take(&w->sq_read);
}

/* The order is fulfilled as far as it goes: report it. */
static uint64_t end_order(struct wqe_fetch *w)
{
	uint32_t i = w->sq_decode.head;
	struct sq_slot *s = &w->slot[i];

	if (!chan_can_push(w->fetched))
		return chan_stall(w->fetched);
	sq_fetched_push(w->fetched, &(struct sq_fetched){ .qpi = s->order.qpi,
							  .bytes = s->bytes,
							  .n_bb = (uint16_t)s->done,
							  .n_wqe = s->n_wqe });
	buf_unref(&w->b, s->buf);
	s->is_used = false;
	w->in_flight--;
	qp_list_take(&w->sq_decode);
	return w->sq_decode.n ? w->b.cycle + 1 : CYCLE_NEVER;
}

/* Deliver the WQE at s->done, of n_bb basic blocks. */
static void deliver(struct wqe_fetch *w, struct sq_slot *s, uint32_t n_bb)
{
	const struct qp_attr *qp = wqe_fetch_qp(w, s->order.qpi);
	const uint8_t *p = (const uint8_t *)buf_data(w->b.sim, s->buf) + (size_t)s->done * WQE_BB;
	struct oplog *log = ((const struct nic *)w->b.env)->oplog;
	struct wqe m = {
		.qpi = s->order.qpi,
		.buf = pool_alloc(w->wqes_pool),
		.n_bb = (uint8_t)n_bb,
		.index = (uint16_t)(s->order.index + s->done),
	};

	memcpy(buf_data(w->b.sim, m.buf), p, (size_t)n_bb * WQE_BB);
	m.op = qp->sq_op ? qp->sq_op[m.index & (qp->sq_bb - 1)] : OP_NONE;
	wqe_send_decode(&m, p, qp->type);
	/* A length of 0, or one beyond what was posted: 'n_bb' is what is left of the order. */
	if (wqe_send_bbs(p) != n_bb) {
		m.opcode = WQE_OPCODE_BAD;
		m.n_sge = 0;
		m.len = 0;
		m.is_inline = false;
	}
	w->malformed += m.opcode == WQE_OPCODE_BAD;
	oplog_mark_once(log, m.op, OP_SCHED, s->taken_ps);
	oplog_mark_once(log, m.op, OP_CONTEXT, s->context_ps);
	oplog_mark_once(log, m.op, OP_FETCH, w->b.now_ps);
	wqe_push(w->wqe, &m);
	s->done += n_bb;
	s->n_wqe++;
	s->bytes = (uint32_t)min_u64((uint64_t)s->bytes + m.len, UINT32_MAX);
	w->wqes++;
	w->decode_free_cyc = w->b.cycle + ceil_div((uint64_t)n_bb * WQE_BB, w->width);
}

/* Basic blocks of the WQE at s->done; a length that cannot be is cut to what can. */
static uint32_t next_bbs(const struct wqe_fetch *w, const struct sq_slot *s)
{
	uint32_t left = s->order.n_bb - s->done;
	const uint8_t *blocks = buf_data(w->b.sim, s->buf);
	uint32_t n = wqe_send_bbs(blocks + (size_t)s->done * WQE_BB);

	if (n == 0)
		return 1;
	return n < left ? n : left;
}

/* The order has brought what was asked for, or what the QP's cap has use for. */
static bool is_fulfilled(const struct wqe_fetch *w, const struct sq_slot *s)
{
	if (s->done == s->want || s->n_wqe == s->order.max_wqe)
		return true;
	return s->rate_bps && s->n_wqe &&
	       ps_of_bytes(min_u64(s->bytes, MIB), s->rate_bps) >= w->prefetch_time;
}

/* One WQE of the oldest order whose bytes are there. */
static uint64_t decode(struct wqe_fetch *w)
{
	struct sq_slot *s;
	uint32_t n;

	if (!w->sq_decode.n)
		return CYCLE_NEVER;
	s = &w->slot[w->sq_decode.head];
	if (w->b.cycle < w->decode_free_cyc)
		return w->decode_free_cyc;
	if (is_fulfilled(w, s))
		return end_order(w);
	n = next_bbs(w, s);
	if (s->done + n > s->want) {
		w->cut++;
		if (s->n_wqe) {
			s->want = s->done; /* the next order begins with it */
		} else {
			s->want = n;
			qp_list_take(&w->sq_decode);
			qp_list_add(&w->sq_read, (uint32_t)(s - w->slot));
		}
		return w->b.cycle + 1;
	}
	if (!chan_can_push(w->wqe))
		return chan_stall(w->wqe);
	if (!pool_can_alloc(w->wqes_pool))
		return pool_stall(w->wqes_pool);
	deliver(w, s, n);
	return w->decode_free_cyc;
}

static void take_dma_rsp(struct wqe_fetch *w)
{
	const struct dma_rsp *m = dma_rsp_peek(w->dma_rsp);
	uint32_t i;

	if (!m)
		return;
	i = m->tag & ~TAG_KIND;
	SIM_CHECK(m->status == XLATE_OK, w); /* bus addresses of the set-up */
	if ((m->tag & TAG_KIND) != TAG_SQ)
		wqe_fetch_rq_done(w, m->tag);
	else if (--w->slot[i].reads == 0 && w->slot[i].asked == w->slot[i].want)
		qp_list_add(&w->sq_decode, i);
	chan_pop(w->dma_rsp);
}

/* One read a cycle, send and receive queues in turn. False when the port refused. */
static bool start_dma(struct wqe_fetch *w)
{
	if (!w->sq_read.n && !w->rq_read.n)
		return true;
	if (!chan_can_push(w->dma_req)) {
		chan_stall(w->dma_req);
		return false;
	}
	if (w->rq_read.n && (w->is_rq_turn || !w->sq_read.n)) {
		wqe_fetch_rq_read(w);
		w->is_rq_turn = false;
	} else {
		read_blocks(w);
		w->is_rq_turn = true;
	}
	return true;
}

static uint64_t wqe_fetch_step(struct block *b)
{
	struct wqe_fetch *w = (struct wqe_fetch *)b;
	uint64_t next = decode(w);
	bool was_empty = w->sq_decode.n == 0; /* then decode had no reason to return */
	bool is_rsp_free = !w->rq_answer.n || wqe_fetch_rq_answer(w);
	bool is_dma_free = start_dma(w);
	bool is_qpc_free = take_order(w);

	take_context(w);
	if (chan_has(w->rq_req))
		wqe_fetch_rq_question(w);
	take_dma_rsp(w);
	if (((const struct nic *)b->env)->n_srq)
		next = min_u64(next, wqe_fetch_srq_step(w));
	/* What became possible in this step is done in the next, unless something refused. */
	if (was_empty && w->sq_decode.n)
		next = max_u64(w->decode_free_cyc, b->cycle + 1);
	if (((w->sq_read.n || w->rq_read.n) && is_dma_free) || (w->rq_answer.n && is_rsp_free) ||
	    (w->in_flight < w->reads && is_qpc_free && sq_fetch_peek(w->fetch)))
		next = b->cycle + 1;
	return next;
}

const struct block_class wqe_fetch_class = {
	.name = "wqe_fetch",
	.impl = "c",
	.size = sizeof(struct wqe_fetch),
	.fields = wqe_fetch_fields,
	.doc = "reads send and receive WQEs from host memory",
	.build = wqe_fetch_build,
	.reset = wqe_fetch_reset,
	.step = wqe_fetch_step,
};
