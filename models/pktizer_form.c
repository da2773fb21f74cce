/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer_form.c - packets under construction: jobs, headers, inline bytes, payload reads
 */
#include "models/pktizer_engine.h"

static struct wqe_seg segment(const struct pktizer *z, const struct tx_job *j, uint32_t i)
{
	const uint8_t *wqe = buf_data(z->b.sim, j->buf);

	SIM_CHECK(i < j->n_sge, z);
	return wqe_seg_at(wqe + j->seg_off + (size_t)i * WQE_SEG);
}

/* Set (seg, seg_pos) to the job's first byte. Returns the cycles it takes. */
static uint64_t find_first_byte(const struct pktizer *z, struct engine *e)
{
	const struct tx_job *j = &e->job;

	e->seg = 0;
	e->seg_pos = j->msg_off;
	if (!pktizer_has_payload(j->kind) || j->kind == JOB_READ_RSP || j->is_inline || !j->len)
		return 0;
	while (segment(z, j, e->seg).len <= e->seg_pos)
		e->seg_pos -= segment(z, j, e->seg++).len;
	return (uint64_t)e->seg * WQE_SEG / z->width;
}

static bool take_job(struct pktizer *z, struct engine *e, struct chan *jobs)
{
	const struct tx_job *j = tx_job_peek(jobs);

	if (!j)
		return false;
	SIM_CHECK(j->is_last || j->len % pktizer_nic(z)->qp[j->qpi].mtu == 0, z);
	e->job = *j;
	e->has_job = true;
	e->is_forming = false;
	e->seq = e->seq == UINT32_MAX ? 1 : e->seq + 1;
	e->off = e->n_pkt = 0;
	e->free_cyc = max_u64(e->free_cyc, z->b.cycle + find_first_byte(z, e));
	z->jobs++;
	chan_pop(jobs);
	return true;
}

void pktizer_end_job(struct pktizer *z, struct engine *e)
{
	if (e->job.buf != BUF_NONE)
		buf_unref(&z->b, e->job.buf);
	e->has_job = e->is_forming = false;
}

/* Observation: rows and marks of the packet just begun. */
static void set_marks(struct pktizer *z, struct engine *e, struct packet *p, struct pkt_slot *s,
		      const struct pkt_place *at)
{
	const struct tx_job *j = &e->job;
	bool is_response = e == &z->engine[RSP];

	*(is_response ? &p->rsp_op : &p->op) = j->op;
	/* A retry's pass begins where the job does not follow the QP's last one. */
	p->is_msg_first =
		e->n_pkt == 0 && (j->is_first || (j->is_retry && j->psn != z->next_psn[j->qpi]));
	p->is_msg_last = at->is_last;
	if (at->is_last && !is_response && !j->is_retry && !j->is_inline && at->len)
		s->op = j->op;
	if (!is_response)
		z->next_psn[j->qpi] = (at->psn + 1) & PSN_MASK;
}

/* The last packet of the job begins, after 'since' without AckReq: what the requester is told of it. */
static void set_asked(struct pkt_slot *s, const struct engine *e, uint32_t since)
{
	if (e->job.kind == JOB_READ_REQ) /* it is answered anyway */
		since = 0;
	s->is_asked = since <= e->n_pkt;
	s->n_unasked = (uint16_t)(s->is_asked ? since : 0);
}

/* Start the next packet of the job: buffer, headers, inline payload. */
static void begin_packet(struct pktizer *z, struct engine *e)
{
	const struct tx_job *j = &e->job;
	const struct qp_attr *qp = &pktizer_nic(z)->qp[j->qpi];
	struct pkt_place at = pktizer_place(j, e->off, e->n_pkt, qp->mtu);
	const uint8_t *wqe = j->buf != BUF_NONE ? buf_data(z->b.sim, j->buf) : NULL;
	struct pkt_slot *s = pktizer_slot(z, e, e->n++);
	struct packet *p;
	bool ack_req;

	*s = (struct pkt_slot){ .buf = pool_alloc(e->pool),
				.job = e->seq,
				.tag = j->tag,
				.qpi = j->qpi,
				.is_run_last = at.is_run_last };
	p = buf_data(z->b.sim, s->buf);
	ack_req = pktizer_ack_req(j, &at, qp->type, z->ack_req_every, z->read_ack_req,
				  &z->no_ack[j->qpi]);
	if (at.is_run_last)
		set_asked(s, e, z->no_ack[j->qpi]);
	pktizer_headers(p, pktizer_nic(z), qp, j, &at, wqe, z->mig_req, ack_req);
	set_marks(z, e, p, s, &at);
	e->to = packet_payload_off(p);
	e->left = at.len;
	engine_start(&e->headers, z->b.cycle, z->units, z->hdr_cyc);
	e->free_cyc = max_u64(engine_free_cyc(&e->headers, z->units), z->b.cycle + 1);
	*(e == &z->engine[RSP] ? &z->rsp_busy_ps : &z->req_busy_ps) =
		engine_busy_ps(&e->headers, &z->b, z->units);
	if (j->is_inline && at.len) {
		SIM_CHECK(wqe != NULL, z);
		memcpy(packet_payload(p), wqe + j->seg_off + j->msg_off + e->off, at.len);
		e->free_cyc = max_u64(e->free_cyc, z->b.cycle + ceil_div(at.len, z->width));
		e->left = 0;
	}
	packet_add_payload(p, at.len);
	e->off += at.len;
	e->n_pkt++;
	e->is_forming = true;
	s->len = at.len;
	e->bytes += at.len;
	z->payload_bytes += at.len;
	z->retry_packets += j->is_retry;
}

/* Issue one read for the packet being formed: up to the end of the data segment. */
static void read_piece(struct pktizer *z, struct engine *e)
{
	const struct tx_job *j = &e->job;
	struct pkt_slot *s = pktizer_slot(z, e, e->n - 1);
	struct dma_req r = {
		.addr = j->raddr + (e->off - e->left),
		.key = j->rkey,
		.len = e->left,
		.buf = s->buf,
		.off = e->to,
		.tag = (uint32_t)(e - z->engine) * MAX_FLIGHT + (uint32_t)(s - e->slot),
		.pd = pktizer_nic(z)->qp[j->qpi].pd,
		.access = ACCESS_REMOTE_READ,
		.cls = DMA_PAYLOAD_READ,
		.op = OP_NONE,
	};

	if (e == &z->engine[REQ]) {
		struct wqe_seg g = segment(z, j, e->seg);

		r.addr = g.addr + e->seg_pos;
		r.key = g.lkey;
		r.len = (uint32_t)min_u64(e->left, g.len - e->seg_pos);
		r.access = 0;
		r.op = j->is_retry ? OP_NONE : j->op;
		e->seg_pos += r.len;
		/* Behind the job's last byte no segment need follow. */
		while ((e->left > r.len || e->off < j->len) &&
		       segment(z, j, e->seg).len == e->seg_pos) {
			e->seg++;
			e->seg_pos = 0;
		}
	}
	dma_req_push(z->dma_req, &r);
	e->left -= r.len;
	e->to += r.len;
	s->reads++;
	z->reads++;
}

void pktizer_count_whole(struct pktizer *z, struct engine *e)
{
	while (e->n_whole < e->n) {
		const struct pkt_slot *s = pktizer_slot(z, e, e->n_whole);

		if (!s->is_formed || s->reads)
			return;
		oplog_mark_once(pktizer_nic(z)->oplog, s->op, OP_PAYLOAD, z->b.now_ps);
		e->n_whole++;
	}
}

/* The packet being formed has all its reads out and its time is over. */
static void end_packet(struct pktizer *z, struct engine *e)
{
	struct pkt_slot *s = pktizer_slot(z, e, e->n - 1);

	s->is_formed = true;
	e->is_forming = false;
	if (s->is_run_last)
		pktizer_end_job(z, e);
	pktizer_count_whole(z, e);
}

/* No packet can begin before one leaves: emit() goes first in a step, and makes room. */
static bool is_full(const struct pktizer *z, const struct engine *e)
{
	return e->n == z->inflight || e->bytes >= z->inflight_b;
}

uint64_t pktizer_form(struct pktizer *z, struct engine *e, struct chan *jobs, bool *may_read)
{
	uint64_t now = z->b.cycle;

	if (!e->has_job && !take_job(z, e, jobs))
		return CYCLE_NEVER;
	if (!e->is_forming) {
		if (now < e->free_cyc)
			return e->free_cyc;
		if (is_full(z, e))
			return CYCLE_NEVER;
		if (!pool_can_alloc(e->pool))
			return pool_stall(e->pool);
		begin_packet(z, e);
	}
	if (e->left) {
		if (!*may_read)
			return now + 1;
		if (!chan_can_push(z->dma_req))
			return chan_stall(z->dma_req);
		read_piece(z, e);
		*may_read = false;
	}
	if (e->left)
		return now + 1;
	if (now + 1 < e->free_cyc)
		return e->free_cyc - 1;
	end_packet(z, e);
	return e->has_job && is_full(z, e) ? CYCLE_NEVER : max_u64(e->free_cyc, now + 1);
}
