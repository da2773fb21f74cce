/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer.c - turns runs of a message (jobs) into packets
 *
 * Hardware: two engines, one for requests and one for responses, that cut messages at the path MTU,
 * write headers, fetch payload by DMA into the packet buffer and hand whole packets, in order, to
 * the port. Each has 'inflight' packets under construction, to hide the latency of payload reads.
 *

 * Modelled: a packet costs one of its engine's 'units' 'hdr_cyc' cycles, inline bytes one cycle for each 'width'; a
 * piece of a data segment is a DMA read, one a cycle for both engines; the output moves 'width'
 * bytes a cycle and takes packets of the engines in turn. Passing over data segments to a job's
 * first byte costs a cycle for 'width' bytes of them. Each engine has packet buffers of its own, so
 * requests that wait for the peer to answer never keep responses from being sent.
 * A payload that cannot be read ends its job there and then (job_done with the status).
 * Not modelled: cut-through to the wire before the packet is whole (the ICRC stands at its end).
 *
 * IBTA vol. 1, 9.7; AckReq: 9.7.5.1.2. Rate 'width' x clock; latency: payload read and 2 cycles.
 */
#include "models/engine.h"
#include "models/pktizer.h"
#include "models/wqe.h"
#include "sim/pool.h"

enum { REQ, RSP, ENGINES };
#define MAX_FLIGHT 256u
#define NO_JOB 0u

/* A packet under construction. */
struct pkt_slot {
	uint32_t buf;
	uint32_t job;      /* sequence number of its job in the engine */
	uint32_t tag, qpi; /* of the job */
	uint32_t op;       /* row to mark with PAYLOAD, or OP_NONE */
	uint32_t reads;    /* outstanding */
	uint32_t len;      /* payload bytes */
	bool is_formed;    /* all reads are issued */
	bool is_run_last;
	uint8_t status;
};

struct engine {
	struct tx_job job;
	bool has_job, is_forming;
	uint32_t seq;          /* of 'job', from 1 */
	uint32_t failed;       /* job whose packets are dropped, or NO_JOB */
	uint32_t off, n_pkt;   /* of the job: payload bytes and packets formed */
	uint32_t left;         /* payload bytes of the packet being formed not asked for yet */
	uint32_t to;           /* where they go in its buffer */
	uint32_t seg, seg_pos; /* data segment and byte in it that come next */
	uint64_t free_cyc;     /* the engine is busy until then */
	struct engine_rate headers;
	struct pkt_slot slot[MAX_FLIGHT];
	uint32_t first, n, n_whole; /* ring of slots; n_whole from the first on have all bytes */
	uint32_t bytes;             /* payload of the packets in the ring */
	struct pool *pool;
};

struct pktizer {
	struct block b;
	/* parameters */
	uint32_t width, inflight, inflight_b, hdr_cyc, units, req_packets, rsp_packets,
		ack_req_every;
	bool mig_req, read_ack_req;
	/* ports */
	struct chan *req_job, *rsp_job, *dma_rsp, *req_done, *rsp_done, *dma_req, *pkt;
	/* state */
	struct engine engine[ENGINES];
	uint32_t *no_ack;   /* by QP: packets since the last one with AckReq */
	uint32_t *next_psn; /* by QP: behind the last job */
	uint64_t out_free_cyc;
	bool is_rsp_form_turn, is_rsp_emit_turn;
	uint32_t req_flight, rsp_flight;
	/* statistics */
	uint64_t req_busy_ps, rsp_busy_ps;
	uint64_t jobs, packets, payload_bytes, reads, retry_packets, failed_jobs, busy_ps;
};

#define T struct pktizer
static const struct field pktizer_fields[] = {
	PARAM_BYTES(T, width, 64, 8, 1024, "bytes that the datapath moves in a cycle",
		    "documented: open RNIC RTL, 512-bit datapath"),
	PARAM(T, inflight, 64, 1, MAX_FLIGHT, "pkt", "packets under construction in each engine",
	      "declared: 100 Gb/s x 1 us of payload reads at an MTU of 256 B takes 49"),
	PARAM_BYTES(
		T, inflight_b, 32 * KIB, 4 * KIB, 16 * MIB,
		"payload of the packets under construction in each engine",
		"declared: 126 Gb/s x 2 us; more only queues in front of other readers of the host"),
	PARAM(T, hdr_cyc, 1, 1, 1024, "cyc", "cycles that a unit takes for a packet's headers",
	      "declared"),
	PARAM(T, units, 1, 1, 64, "unit", "header units of an engine", "declared"),
	PARAM(T, req_packets, 512, 2, 65536, "pkt", "packet buffers for requests",
	      "documented: ConnectX-5 ingress buffer of 262,016 B, in packets of half a KiB"),
	PARAM(T, rsp_packets, 512, 2, 65536, "pkt", "packet buffers for responses",
	      "declared: as for requests"),
	PARAM(T, ack_req_every, 63, 0, 65535, "pkt",
	      "AckReq in a packet after so many without, besides Last and Only; 0 = only there",
	      "declared: below the requester's window; mlx5 log_ack_req_freq; rxe 65"),
	PARAM_BOOL(T, mig_req, 1, "MigReq in the BTH",
		   "documented: hardware captures have 1, rxe 0"),
	PARAM_BOOL(T, read_ack_req, 1, "AckReq in READ requests", "documented: rxe captures"),
	PORT_IN(T, req_job, tx_job, "runs of requests"),
	PORT_IN(T, rsp_job, tx_job, "runs of READ responses, ATOMIC acknowledges"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of payload reads, in any order"),
	PORT_OUT(T, req_done, job_done, "request runs handed to the port, or failed"),
	PORT_OUT(T, rsp_done, job_done, "response runs handed to the port, or failed"),
	PORT_OUT(T, dma_req, dma_req, "payload reads"),
	PORT_OUT(T, pkt, pkt, "packets, in order per engine"),
	STAT(T, jobs, "job", "runs taken"),
	STAT(T, packets, "pkt", "packets handed to the port"),
	STAT(T, payload_bytes, "B", "payload in them, without pad"),
	STAT(T, reads, "req", "payload reads"),
	STAT(T, retry_packets, "pkt", "packets of runs that are not the first pass"),
	STAT(T, failed_jobs, "job", "runs whose payload could not be read"),
	STAT(T, busy_ps, "ps", "time for which packets used the datapath"),
	STAT(T, req_busy_ps, "ps", "time that headers of requests took, mean of the units"),
	STAT(T, rsp_busy_ps, "ps", "time that headers of responses took, mean of the units"),
	SIGNAL(T, req_flight, 9, "request packets under construction"),
	SIGNAL(T, rsp_flight, 9, "response packets under construction"),
	FIELDS_END
};
#undef T

static const struct nic *nic_of(const struct pktizer *z)
{
	return z->b.env;
}

static void pktizer_build(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;
	size_t n = nic_of(z)->n_qp ? nic_of(z)->n_qp : 1;
	uint32_t mtu = 256;

	for (uint32_t i = 0; i < nic_of(z)->n_qp; i++)
		if (nic_of(z)->qp[i].mtu > mtu)
			mtu = nic_of(z)->qp[i].mtu;
	z->engine[REQ].pool = pool_create(b, z->req_packets, packet_buf_size(mtu));
	z->engine[RSP].pool = pool_create(b, z->rsp_packets, packet_buf_size(mtu));
	z->no_ack = block_alloc(b, n, sizeof(uint32_t));
	z->next_psn = block_alloc(b, n, sizeof(uint32_t));
}

static void pktizer_reset(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;

	for (uint32_t i = 0; i < nic_of(z)->n_qp; i++) {
		z->no_ack[i] = 0;
		z->next_psn[i] = UINT32_MAX;
	}
	for (unsigned i = 0; i < ENGINES; i++)
		z->engine[i] = (struct engine){ .pool = z->engine[i].pool };
	z->out_free_cyc = 0;
	z->is_rsp_form_turn = z->is_rsp_emit_turn = false;
	z->req_flight = z->rsp_flight = 0;
}

static struct pkt_slot *slot_at(struct pktizer *z, struct engine *e, uint32_t i)
{
	return &e->slot[(e->first + i) % z->inflight];
}

static struct wqe_seg segment(const struct pktizer *z, const struct tx_job *j, uint32_t i)
{
	const uint8_t *wqe = buf_data(z->b.sim, j->buf);

	SIM_CHECK(i < j->n_sge, z);
	return wqe_seg_at(wqe + j->seg_off + (size_t)i * WQE_SEG);
}

/* ---- forming packets ---- */

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
	SIM_CHECK(j->is_last || j->len % nic_of(z)->qp[j->qpi].mtu == 0, z);
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

static void end_job(struct pktizer *z, struct engine *e)
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

/* Start the next packet of the job: buffer, headers, inline payload. */
static void begin_packet(struct pktizer *z, struct engine *e)
{
	const struct tx_job *j = &e->job;
	const struct qp_attr *qp = &nic_of(z)->qp[j->qpi];
	struct pkt_place at = pktizer_place(j, e->off, e->n_pkt, qp->mtu);
	const uint8_t *wqe = j->buf != BUF_NONE ? buf_data(z->b.sim, j->buf) : NULL;
	struct pkt_slot *s = slot_at(z, e, e->n++);
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
	pktizer_headers(p, nic_of(z), qp, j, &at, wqe, z->mig_req, ack_req);
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
	struct pkt_slot *s = slot_at(z, e, e->n - 1);
	struct dma_req r = {
		.addr = j->raddr + (e->off - e->left),
		.key = j->rkey,
		.len = e->left,
		.buf = s->buf,
		.off = e->to,
		.tag = (uint32_t)(e - z->engine) * MAX_FLIGHT + (uint32_t)(s - e->slot),
		.pd = nic_of(z)->qp[j->qpi].pd,
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

/* Packets from the first on whose bytes are all there: the message's last byte marks PAYLOAD. */
static void count_whole(struct pktizer *z, struct engine *e)
{
	while (e->n_whole < e->n) {
		const struct pkt_slot *s = slot_at(z, e, e->n_whole);

		if (!s->is_formed || s->reads)
			return;
		oplog_mark_once(nic_of(z)->oplog, s->op, OP_PAYLOAD, z->b.now_ps);
		e->n_whole++;
	}
}

/* The packet being formed has all its reads out and its time is over. */
static void end_packet(struct pktizer *z, struct engine *e)
{
	struct pkt_slot *s = slot_at(z, e, e->n - 1);

	s->is_formed = true;
	e->is_forming = false;
	if (s->is_run_last)
		end_job(z, e);
	count_whole(z, e);
}

/*
 * One cycle of an engine. 'may_read': the port for reads was not used in this cycle. Returns when
 * to look again; CYCLE_NEVER when there is no job, or a port, the pool or the ring refused.
 */
static uint64_t form(struct pktizer *z, struct engine *e, struct chan *jobs, bool *may_read)
{
	uint64_t now = z->b.cycle;

	if (!e->has_job && !take_job(z, e, jobs))
		return CYCLE_NEVER;
	if (!e->is_forming) {
		if (now < e->free_cyc)
			return e->free_cyc;
		if (e->n == z->inflight || e->bytes >= z->inflight_b)
			return CYCLE_NEVER; /* emit() goes first and makes room */
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
	return max_u64(e->free_cyc, now + 1);
}

/* ---- handing packets on ---- */

static void drop_first(struct pktizer *z, struct engine *e)
{
	e->bytes -= slot_at(z, e, 0)->len;
	e->first = (e->first + 1) % z->inflight;
	e->n--;
	e->n_whole--;
}

static void push_done(struct chan *done, const struct pkt_slot *s)
{
	job_done_push(done,
		      &(struct job_done){ .tag = s->tag, .qpi = s->qpi, .status = s->status });
}

/* The payload of the engine's first packet could not be read: the rest of its job is dropped. */
static void fail_job(struct pktizer *z, struct engine *e, struct chan *done)
{
	const struct pkt_slot *s = slot_at(z, e, 0);

	push_done(done, s);
	e->failed = s->job;
	if (e->has_job && e->seq == s->job) {
		if (e->is_forming)
			slot_at(z, e, e->n - 1)->is_formed = true;
		e->left = 0;
		end_job(z, e);
		count_whole(z, e);
	}
	z->failed_jobs++;
}

/* What is to be done with the engine's first packet. */
enum outcome { NOTHING, DROP, FAIL, SEND };

static enum outcome outcome(const struct engine *e)
{
	const struct pkt_slot *s = &e->slot[e->first];

	if (!e->n_whole)
		return NOTHING;
	if (s->job == e->failed)
		return DROP;
	return s->status == XLATE_OK ? SEND : FAIL;
}

static void send(struct pktizer *z, struct engine *e, struct chan *done)
{
	const struct pkt_slot *s = slot_at(z, e, 0);
	struct packet *p = buf_data(z->b.sim, s->buf);

	packet_end(p);
	z->out_free_cyc = z->b.cycle + ceil_div(p->len, z->width);
	z->busy_ps += domain_edge(z->b.dom, z->out_free_cyc) - z->b.now_ps;
	pkt_push(z->pkt, &(struct pkt){ .buf = s->buf });
	if (s->is_run_last)
		push_done(done, s);
	drop_first(z, e);
	z->packets++;
}

/* Deal with the engine's first packet, if it is whole. False when a port refused. */
static bool emit(struct pktizer *z, struct engine *e, struct chan *done)
{
	enum outcome o = outcome(e);
	const struct pkt_slot *s = slot_at(z, e, 0);

	if (o == NOTHING || (o == SEND && z->b.cycle < z->out_free_cyc))
		return true;
	if (o == DROP) {
		buf_unref(&z->b, s->buf);
		drop_first(z, e);
		return true;
	}
	if ((o == FAIL || s->is_run_last) && !chan_can_push(done)) {
		chan_stall(done);
		return false;
	}
	if (o == FAIL) {
		fail_job(z, e, done); /* the packet itself is dropped with its job */
		return true;
	}
	if (!chan_can_push(z->pkt)) {
		chan_stall(z->pkt);
		return false;
	}
	send(z, e, done);
	z->is_rsp_emit_turn = e == &z->engine[REQ];
	return true;
}

/* When the engine's first packet can be dealt with, if no port refuses. */
static uint64_t next_emit(const struct pktizer *z, const struct engine *e)
{
	enum outcome o = outcome(e);

	if (o == NOTHING)
		return CYCLE_NEVER;
	return o == SEND ? max_u64(z->out_free_cyc, z->b.cycle + 1) : z->b.cycle + 1;
}

static void take_dma_rsp(struct pktizer *z)
{
	const struct dma_rsp *m = dma_rsp_peek(z->dma_rsp);
	struct engine *e;
	struct pkt_slot *s;

	if (!m)
		return;
	SIM_CHECK(m->tag < ENGINES * MAX_FLIGHT, z);
	e = &z->engine[m->tag / MAX_FLIGHT];
	s = &e->slot[m->tag % MAX_FLIGHT];
	SIM_CHECK(s->reads > 0, z);
	s->reads--;
	if (s->status == XLATE_OK)
		s->status = m->status;
	count_whole(z, e);
	chan_pop(z->dma_rsp);
}

static uint64_t pktizer_step(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;
	struct chan *const jobs[ENGINES] = { z->req_job, z->rsp_job };
	struct chan *const done[ENGINES] = { z->req_done, z->rsp_done };
	unsigned first = z->is_rsp_emit_turn ? RSP : REQ;
	uint64_t next = CYCLE_NEVER;
	bool may_read = true, is_free[ENGINES];

	is_free[first] = emit(z, &z->engine[first], done[first]);
	is_free[first ^ 1] = emit(z, &z->engine[first ^ 1], done[first ^ 1]);
	first = z->is_rsp_form_turn ? RSP : REQ;
	for (unsigned k = 0; k < ENGINES; k++) {
		unsigned i = first ^ k;
		bool could_read = may_read;

		next = min_u64(next, form(z, &z->engine[i], jobs[i], &may_read));
		if (could_read && !may_read)
			z->is_rsp_form_turn = i == REQ;
	}
	take_dma_rsp(z);
	for (unsigned i = 0; i < ENGINES; i++)
		if (is_free[i])
			next = min_u64(next, next_emit(z, &z->engine[i]));
	z->req_flight = z->engine[REQ].n;
	z->rsp_flight = z->engine[RSP].n;
	return next;
}

const struct block_class pktizer_class = {
	.name = "pktizer",
	.impl = "c",
	.size = sizeof(struct pktizer),
	.fields = pktizer_fields,
	.doc = "cuts messages into packets: headers, payload reads, ICRC",
	.build = pktizer_build,
	.reset = pktizer_reset,
	.step = pktizer_step,
};
