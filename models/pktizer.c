/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer.c - turns runs of a message (jobs) into packets
 *
 * Hardware: two engines, one for requests and one for responses, that cut messages at the path MTU,
 * write headers, fetch payload by DMA into the packet buffer and hand whole packets, in order, to
 * the port. Each has 'inflight' packets under construction, to hide the latency of payload reads.
 *
 * Modelled: a packet costs one of its engine's 'units' 'hdr_cyc' cycles, inline bytes one cycle for
 * each 'width'; a piece of a data segment is a DMA read, one a cycle for both engines; the output
 * moves 'width' bytes a cycle and takes packets of the engines in turn. Passing over data segments to a job's
 * first byte costs a cycle for 'width' bytes of them. Each engine has packet buffers of its own, so
 * requests that wait for the peer to answer never keep responses from being sent.
 * A payload that cannot be read ends its job there and then (job_done with the status).
 * Not modelled: cut-through to the wire before the packet is whole (the ICRC stands at its end).
 *
 * IBTA vol. 1, 9.7; AckReq: 9.7.5.1.2. Rate 'width' x clock; latency: payload read and 2 cycles.
 */
#include "models/pktizer_engine.h"

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

static void pktizer_build(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;
	size_t n = pktizer_nic(z)->n_qp ? pktizer_nic(z)->n_qp : 1;
	uint32_t mtu = 256;

	for (uint32_t i = 0; i < pktizer_nic(z)->n_qp; i++)
		if (pktizer_nic(z)->qp[i].mtu > mtu)
			mtu = pktizer_nic(z)->qp[i].mtu;
	z->engine[REQ].pool = pool_create(b, z->req_packets, packet_buf_size(mtu));
	z->engine[RSP].pool = pool_create(b, z->rsp_packets, packet_buf_size(mtu));
	z->no_ack = block_alloc(b, n, sizeof(uint32_t));
	z->next_psn = block_alloc(b, n, sizeof(uint32_t));
}

static void pktizer_reset(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;

	for (uint32_t i = 0; i < pktizer_nic(z)->n_qp; i++) {
		z->no_ack[i] = 0;
		z->next_psn[i] = UINT32_MAX;
	}
	for (unsigned i = 0; i < ENGINES; i++)
		z->engine[i] = (struct engine){ .pool = z->engine[i].pool };
	z->out_free_cyc = 0;
	z->is_rsp_form_turn = z->is_rsp_emit_turn = false;
	z->req_flight = z->rsp_flight = 0;
}

static void drop_first(struct pktizer *z, struct engine *e)
{
	e->bytes -= pktizer_slot(z, e, 0)->len;
	e->first = e->first + 1 == z->inflight ? 0 : e->first + 1;
	e->n--;
	e->n_whole--;
}

/* The port that tells of the end of the engine's job. */
static struct chan *done_port(const struct pktizer *z, const struct engine *e)
{
	return e == &z->engine[REQ] ? z->req_done : z->pkt;
}

/* Requests: the requester is told; responses: the port tells when it grants their last packet. */
static void push_done(struct pktizer *z, const struct engine *e, const struct pkt_slot *s,
		      uint32_t buf)
{
	if (e == &z->engine[REQ])
		job_done_push(z->req_done, &(struct job_done){ .tag = s->tag,
							       .qpi = s->qpi,
							       .n_unasked = s->n_unasked,
							       .is_asked = s->is_asked,
							       .status = s->status });
	else
		pkt_push(z->pkt, &(struct pkt){ .buf = buf,
						.tag = s->tag,
						.qpi = s->qpi,
						.status = s->status,
						.ends_job = 1 });
}

/* The payload of the engine's first packet could not be read: the rest of its job is dropped. */
static void fail_job(struct pktizer *z, struct engine *e)
{
	const struct pkt_slot *s = pktizer_slot(z, e, 0);

	push_done(z, e, s, BUF_NONE);
	e->failed = s->job;
	if (e->has_job && e->seq == s->job) {
		if (e->is_forming)
			pktizer_slot(z, e, e->n - 1)->is_formed = true;
		e->left = 0;
		pktizer_end_job(z, e);
		pktizer_count_whole(z, e);
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

static void send(struct pktizer *z, struct engine *e)
{
	const struct pkt_slot *s = pktizer_slot(z, e, 0);
	struct packet *p = buf_data(z->b.sim, s->buf);

	packet_end(p);
	z->out_free_cyc = z->b.cycle + ceil_div(p->len, z->width);
	z->busy_ps += domain_edge(z->b.dom, z->out_free_cyc) - z->b.now_ps;
	if (e == &z->engine[REQ] || !s->is_run_last)
		pkt_push(z->pkt, &(struct pkt){ .buf = s->buf });
	if (s->is_run_last)
		push_done(z, e, s, s->buf);
	drop_first(z, e);
	z->packets++;
}

/* Deal with the engine's first packet, if it is whole. False when a port refused. */
static bool emit(struct pktizer *z, struct engine *e)
{
	struct chan *done = done_port(z, e);
	enum outcome o = outcome(e);
	const struct pkt_slot *s = pktizer_slot(z, e, 0);

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
		fail_job(z, e); /* the packet itself is dropped with its job */
		return true;
	}
	if (!chan_can_push(z->pkt)) {
		chan_stall(z->pkt);
		return false;
	}
	send(z, e);
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
	pktizer_count_whole(z, e);
	chan_pop(z->dma_rsp);
}

static uint64_t pktizer_step(struct block *b)
{
	struct pktizer *z = (struct pktizer *)b;
	struct chan *const jobs[ENGINES] = { z->req_job, z->rsp_job };
	unsigned first = z->is_rsp_emit_turn ? RSP : REQ;
	uint64_t next = CYCLE_NEVER;
	bool may_read = true, is_free[ENGINES];

	for (unsigned k = 0; k < ENGINES; k++) {
		unsigned i = first ^ k;

		is_free[i] = !z->engine[i].n_whole || emit(z, &z->engine[i]);
	}
	first = z->is_rsp_form_turn ? RSP : REQ;
	for (unsigned k = 0; k < ENGINES; k++) {
		unsigned i = first ^ k;
		bool could_read = may_read;

		if (!z->engine[i].has_job && !chan_has(jobs[i]))
			continue;
		next = min_u64(next, pktizer_form(z, &z->engine[i], jobs[i], &may_read));
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
