/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_responder.c - what stands around a responder in its benches
 */
#include "testbench/tb_responder.h"

#include <string.h>

#define PKTS 40000u
#define L4 42u /* offset of the BTH in packets by hand */
#define RECV_BYTES 64u

void tbs_init(struct tb_responder *s)
{
	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < TBS_QPS; i++)
		s->qp[i] = (struct qp_attr){ .qpn = 0x40 + i,
					     .dest_qpn = 0x80 + i,
					     .rq_psn = TBS_PSN,
					     .mtu = TBS_MTU,
					     .rcq = 7 + i,
					     .srq = SRQ_NONE,
					     .pd = TBS_PD,
					     .pkey = 0xffff,
					     .dest_rd_atomic = 4,
					     .min_rnr = 12,
					     .access = ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ |
						       ACCESS_REMOTE_ATOMIC,
					     .hdr_len = L4 };
	s->nic = (struct nic){ .qp = s->qp, .n_qp = TBS_QPS };
	s->access = ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;
}

static void give_recv(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	uint32_t qpi = ((const struct rq_req *)msg)->qpi;
	struct rq_rsp none = { .qpi = qpi, .buf = BUF_NONE };

	(void)t;
	if (s->is_mute[qpi])
		return;
	if (s->n_taken[qpi] == s->n_posted[qpi]) {
		tb_send(s->rq_rsp, &none);
		return;
	}
	s->recv[qpi][s->n_taken[qpi]].free_wqe = (uint16_t)(s->n_posted[qpi] - s->n_taken[qpi] - 1);
	tb_send(s->rq_rsp, &s->recv[qpi][s->n_taken[qpi]++]);
}

static void translate(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	const struct xlate_req *x = msg;
	struct xlate_rsp rsp = { .tag = x->tag, .status = XLATE_OK };

	(void)t;
	if (x->key != TBS_RKEY)
		rsp.status = XLATE_BAD_KEY;
	else if (x->pd != TBS_PD)
		rsp.status = XLATE_BAD_PD;
	else if (x->access & ~s->access)
		rsp.status = XLATE_NO_ACCESS;
	else if (x->va < TBS_BASE || x->va - TBS_BASE + x->len > TBS_MEM)
		rsp.status = XLATE_OUT_OF_RANGE;
	s->n_checks++;
	if (s->holds_checks)
		s->check[s->n_held++ % TBS_CHECKS] = rsp;
	else
		tb_send_at(s->xlate_rsp, p->b.cycle + 5, &rsp);
}

void tbs_answer_checks(struct tb_responder *s, uint32_t n)
{
	CU_ASSERT_FATAL(n <= s->n_held && s->n_held <= TBS_CHECKS);
	for (uint32_t i = n; i-- > 0;)
		tb_send(s->xlate_rsp, &s->check[i]);
	s->n_held -= n;
	memmove(s->check, s->check + n, s->n_held * sizeof(*s->check));
	tbs_settle(s);
}

static uint64_t load_le(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 8; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void do_atomic(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	const struct atomic_req *a = msg;
	struct atomic_rsp rsp = { .tag = a->tag, .status = XLATE_OK };
	uint8_t *at = s->mem + (a->va - TBS_BASE);
	uint64_t v;

	(void)t;
	rsp.original = load_le(at);
	v = a->is_fetch_add              ? rsp.original + a->swap_add
	    : rsp.original == a->compare ? a->swap_add
					 : rsp.original;
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(v >> 8 * i);
	tb_send_at(s->atomic_rsp, p->b.cycle + 30, &rsp);
}

/* The cache of responder resources: there after 40 cycles. */
static void look_up(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	const struct ctx_req *m = msg;

	(void)t;
	s->n_lookups++;
	tb_send_at(s->rsc_rsp, p->b.cycle + 40, &(struct ctx_rsp){ .index = m->index });
}

static void take_job(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	const struct tx_job *j = msg;

	(void)t;
	if (!s->is_silent)
		tb_send_at(s->job_done, p->b.cycle + 10,
			   &(struct job_done){
				   .tag = j->tag, .qpi = j->qpi, .status = s->done_status });
}

static void take_ack(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	uint32_t buf = ((const struct pkt *)msg)->buf;
	const struct packet *k = buf_data(&t->sim, buf);
	struct hdr_aeth a;
	struct hdr_bth h;
	uint32_t map = 0;

	hdr_bth_decode(&h, k->data + k->l4);
	hdr_aeth_decode(&a, k->data + k->l4 + BTH_BYTES);
	CU_ASSERT_EQUAL(h.opcode, IB_RC | IB_ACKNOWLEDGE);
	CU_ASSERT_EQUAL(h.pkey, 0xffff);
	if (a.syndrome == NAK_SEQUENCE && s->has_sacks)
		map = k->len - (L4 + BTH_BYTES + AETH_BYTES + ICRC_BYTES);
	CU_ASSERT(map <= SACK_MAX_BYTES && map % 4 == 0);
	CU_ASSERT_EQUAL(k->len, L4 + BTH_BYTES + AETH_BYTES + map + ICRC_BYTES);
	if (s->n_acks < TBS_ACKS)
		s->acks[s->n_acks++] =
			(struct tbs_ack){ h.destqp - 0x80, h.psn, a.msn, a.syndrome };
	buf_unref(&p->b, buf);
}

static void do_mpt_op(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_responder *s = p->arg;
	const struct mpt_op *o = msg;

	(void)t;
	tb_send_at(s->mpt_rsp, p->b.cycle + 40,
		   &(struct mpt_rsp){ .tag = o->tag, .status = s->mpt_status });
}

void tbs_start(struct tb_responder *s, const char *const *sets)
{
	s->nic.oplog = oplog_create();
	tb_init(&s->t, &responder_class, &s->nic, sets);
	s->has_sacks = ((struct responder *)(void *)s->t.dut)->recovery == RECOVERY_SR;
	s->rx = tb_source(&s->t, "rx");
	s->rq_rsp = tb_source(&s->t, "rq_rsp");
	s->xlate_rsp = tb_source(&s->t, "xlate_rsp");
	s->atomic_rsp = tb_source(&s->t, "atomic_rsp");
	s->job_done = tb_source(&s->t, "job_done");
	s->dma = (struct tb_dma){ .rsp = tb_source(&s->t, "dma_rsp"),
				  .mem = s->mem,
				  .base = TBS_BASE,
				  .size = TBS_MEM,
				  .max_delay = 20 };
	rng_seed(&s->dma.rng, "responder", 1);
	s->rq_req = tb_sink_react(&s->t, "rq_req", give_recv, s);
	tb_sink_react(&s->t, "xlate_req", translate, s);
	tb_sink_react(&s->t, "atomic_req", do_atomic, s);
	s->job = tb_sink_react(&s->t, "job", take_job, s);
	s->ack = tb_sink_react(&s->t, "ack", take_ack, s);
	s->cqe = tb_sink(&s->t, "cqe");
	s->peer_error = tb_source(&s->t, "peer_error");
	s->mpt_op = tb_sink_react(&s->t, "mpt_op", do_mpt_op, s);
	s->mpt_rsp = tb_source(&s->t, "mpt_rsp");
	s->rsc_rsp = tb_source(&s->t, "rsc_rsp");
	tb_sink_react(&s->t, "rsc_req", look_up, s);
	s->error = tb_sink(&s->t, "error");
	tb_sink_react(&s->t, "dma_req", tb_dma_react, &s->dma);
	s->pkts = pool_create(&s->rx->b, PKTS, packet_buf_size(TBS_MTU));
	s->recvs = pool_create(&s->rq_rsp->b, TBS_QPS * TBS_RECVS, RECV_BYTES);
	tb_start(&s->t);
	s->rx->b.now_ps = s->rq_rsp->b.now_ps = 1; /* buffers are taken before the run */
}

void tbs_settle(struct tb_responder *s)
{
	tb_run_for(&s->t, 4000);
}

void tbs_end(struct tb_responder *s)
{
	const struct responder *r = (const struct responder *)(void *)s->t.dut;
	uint32_t unused = 0;

	tb_run(&s->t);
	for (uint32_t i = 0; i < TBS_QPS; i++)
		unused += s->n_posted[i] - s->n_taken[i] + r->qp[i].has_recv;
	CU_ASSERT_EQUAL(s->recvs->in_use, unused);
	CU_ASSERT_EQUAL(r->ring_len, 0);
	CU_ASSERT_EQUAL(s->pkts->in_use, r->n_ctx);
	CU_ASSERT_EQUAL(r->ack_pool->in_use, 0);
	tb_end(&s->t);
	oplog_destroy(s->nic.oplog);
}

/* Extended headers in the order of their offsets. */
static void put_headers(uint8_t *bth, const struct opcode_info *i, const struct tbs_pkt *p)
{
	if (opcode_has(i, X_RETH))
		hdr_reth_encode(
			bth + i->off[X_RETH],
			&(struct hdr_reth){ .va = p->va, .rkey = p->rkey, .dmalen = p->dma_len });
	if (opcode_has(i, X_ATOMICETH))
		hdr_atomiceth_encode(bth + i->off[X_ATOMICETH],
				     &(struct hdr_atomiceth){ .va = p->va,
							      .rkey = p->rkey,
							      .swap_add = p->swap_add,
							      .compare = p->compare });
	if (opcode_has(i, X_DETH))
		hdr_deth_encode(bth + i->off[X_DETH], &(struct hdr_deth){ .srcqp = p->src_qp });
	if (opcode_has(i, X_IMMDT))
		hdr_immdt_encode(bth + i->off[X_IMMDT], &(struct hdr_immdt){ .imm = p->imm });
}

void tbs_send(struct tb_responder *s, const struct tbs_pkt *p)
{
	const struct opcode_info *i = &opcode_info[p->operation];
	struct rx_pkt m = { .buf = pool_alloc(s->pkts),
			    .qpi = p->qpi,
			    .psn = p->psn & PSN_MASK,
			    .len = p->len,
			    .xeth = L4 + BTH_BYTES,
			    .payload = (uint16_t)(L4 + BTH_BYTES + i->xeth_bytes),
			    .opcode = p->operation,
			    .ack_req = p->ack_req,
			    .solicited = p->solicited };
	struct packet *k = buf_data(&s->t.sim, m.buf);

	memset(k, 0, packet_buf_size(TBS_MTU));
	k->l4 = L4;
	put_headers(k->data + L4, i, p);
	for (uint32_t n = 0; n < p->len; n++)
		k->data[m.payload + n] = (uint8_t)(p->seed + n);
	tb_send_at(s->rx, p->at, &m);
}

void tbs_recv(struct tb_responder *s, uint32_t qpi, uint32_t off, uint32_t len, uint32_t n_sge)
{
	uint32_t k = s->n_posted[qpi]++;
	struct rq_rsp *m = &s->recv[qpi][k];
	uint8_t *p;

	*m = (struct rq_rsp){ .qpi = qpi,
			      .buf = pool_alloc(s->recvs),
			      .index = (uint16_t)k,
			      .n_sge = (uint8_t)n_sge };
	p = buf_data(&s->t.sim, m->buf);
	memset(p, 0, RECV_BYTES);
	for (uint32_t i = 0; i < n_sge; i++, p += WQE_SEG) {
		uint32_t part = i + 1 == n_sge ? len : len / 3 + (i & 1);

		hdr_put(p, 0, 32, part);
		hdr_put(p, 32, 32, TBS_LKEY);
		hdr_put(p, 64, 64, TBS_BASE + off);
		off += part;
		len -= part;
	}
}
