/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_requester.c - what stands around a requester in its benches
 */
#include "testbench/tb_requester.h"

#include <string.h>

#define WQES 2048u
#define PKTS 40000u
#define SEG_OFF 16u

void tbr_init(struct tb_requester *e)
{
	memset(e, 0, sizeof(*e));
	for (uint32_t i = 0; i < TBR_QPS; i++)
		e->qp[i] = (struct qp_attr){ .qpn = 0x40 + i,
					     .sq_psn = 100,
					     .mtu = TBR_MTU,
					     .scq = 5 + i,
					     .pd = 3,
					     .rd_atomic = 16,
					     .timeout = 14,
					     .retry = 7,
					     .rnr_retry = 7,
					     .sq_bb = 64 };
	e->nic = (struct nic){ .qp = e->qp, .n_qp = TBR_QPS };
	e->done_delay = 1;
}

static void take_job(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_requester *e = p->arg;
	const struct tx_job *j = msg;

	buf_unref(&p->b, j->buf);
	if (!e->is_silent)
		tb_send_at(e->job_done, p->b.cycle + e->done_delay,
			   &(struct job_done){ .tag = j->tag,
					       .qpi = j->qpi,
					       .is_asked = j->is_last || j->ack_req,
					       .status = e->done_status });
	if (e->on_job)
		e->on_job(t, p, msg);
}

static void take_cqe(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_requester *e = p->arg;

	if (e->on_cqe)
		e->on_cqe(t, p, msg);
}

static void do_mpt_op(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_requester *e = p->arg;
	const struct mpt_op *o = msg;

	(void)t;
	tb_send_at(e->mpt_rsp, p->b.cycle + 40,
		   &(struct mpt_rsp){ .tag = o->tag, .status = e->mpt_status });
}

void tbr_start(struct tb_requester *e, const char *const *sets)
{
	e->nic.oplog = oplog_create();
	tb_init(&e->t, &requester_class, &e->nic, sets);
	e->wqe = tb_source(&e->t, "wqe");
	e->rx = tb_source(&e->t, "rx");
	e->job_done = tb_source(&e->t, "job_done");
	e->job = tb_sink_react(&e->t, "job", take_job, e);
	e->peer_error = tb_source(&e->t, "peer_error");
	e->mpt_op = tb_sink_react(&e->t, "mpt_op", do_mpt_op, e);
	e->mpt_rsp = tb_source(&e->t, "mpt_rsp");
	e->cmd = tb_source(&e->t, "cmd");
	tb_source(&e->t, "cq_error");
	tb_source(&e->t, "closed");
	e->error = tb_sink(&e->t, "error");
	e->credit = tb_sink(&e->t, "credit");
	e->cqe = tb_sink_react(&e->t, "cqe", take_cqe, e);
	e->dma = (struct tb_dma){ .rsp = tb_source(&e->t, "dma_rsp"),
				  .mem = e->mem,
				  .base = TBR_MEM_BASE,
				  .size = TBR_MEM,
				  .max_delay = 20 };
	rng_seed(&e->dma.rng, "requester", 1);
	tb_sink_react(&e->t, "dma_req", tb_dma_react, &e->dma);
	e->wqes = pool_create(&e->wqe->b, WQES, 256);
	e->pkts = pool_create(&e->rx->b, PKTS, packet_buf_size(TBR_MTU));
	tb_start(&e->t);
	e->wqe->b.now_ps = e->rx->b.now_ps = 1; /* buffers are taken before the run */
}

uint32_t tbr_released(const struct tb_requester *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->credit->n_received; i++)
		n += ((const struct sq_credit *)tb_got(e->credit, i))->n_wqe;
	return n;
}

void tbr_end(struct tb_requester *e)
{
	const struct requester *r = (const struct requester *)(void *)e->t.dut;

	tb_run(&e->t);
	CU_ASSERT_EQUAL(e->wqes->in_use, r->n_held);
	CU_ASSERT_EQUAL(e->pkts->in_use, 0);
	CU_ASSERT_EQUAL(r->atomic_pool->in_use, 0);
	CU_ASSERT_EQUAL(tbr_released(e) + r->n_held, tb_stat(&e->t, "wqes"));
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

void tbr_settle(struct tb_requester *e)
{
	tb_run_for(&e->t, 2000);
}

static void put_seg(uint8_t *p, uint32_t len, uint64_t addr)
{
	hdr_put(p, 0, 32, len);
	hdr_put(p, 32, 32, TBR_LKEY);
	hdr_put(p, 64, 64, addr);
}

void tbr_post_sges(struct tb_requester *e, uint32_t qpi, uint8_t opcode, uint32_t len, uint32_t off,
		   uint32_t n_sge, unsigned flags)
{
	struct wqe w = { .raddr = TBR_RADDR + off,
			 .swap_add = 11,
			 .compare = 22,
			 .qpi = qpi,
			 .rkey = TBR_RKEY,
			 .imm = 0xabcd,
			 .len = len,
			 .index = e->index[qpi]++,
			 .seg_off = SEG_OFF,
			 .n_bb = 1,
			 .n_sge = (uint8_t)n_sge,
			 .opcode = opcode,
			 .signaled = !(flags & TBR_SILENT),
			 .fence = (flags & TBR_FENCE) != 0,
			 .is_inline = (flags & TBR_INLINE) != 0 };
	uint64_t addr = TBR_MEM_BASE + off;
	uint8_t *p;

	w.buf = pool_alloc(e->wqes);
	p = buf_data(&e->t.sim, w.buf);
	memset(p, 0, 256);
	for (uint32_t i = 0; i < n_sge; i++) {
		uint32_t part =
			i + 1 == n_sge ? len : len / 2 + (i & 1); /* halves, then what is left */

		put_seg(p + SEG_OFF + i * WQE_SEG, part, addr);
		addr += part;
		len -= part;
	}
	tb_send(e->wqe, &w);
}

void tbr_post(struct tb_requester *e, uint32_t qpi, uint8_t opcode, uint32_t len, uint32_t off)
{
	tbr_post_sges(e, qpi, opcode, len, off, len ? 1 : 0, 0);
}

/* A response packet with room for 'xeth' bytes of extended headers and 'len' of payload. */
static struct packet *new_rsp(struct tb_requester *e, struct rx_pkt *m, uint32_t qpi,
			      uint8_t operation, uint32_t psn, uint32_t xeth, uint32_t len)
{
	struct packet *p;

	*m = (struct rx_pkt){ .buf = pool_alloc(e->pkts),
			      .qpi = qpi,
			      .psn = psn & PSN_MASK,
			      .len = len,
			      .xeth = TBR_XETH,
			      .payload = (uint16_t)(TBR_XETH + xeth),
			      .opcode = operation };
	p = buf_data(&e->t.sim, m->buf);
	memset(p, 0, packet_buf_size(TBR_MTU));
	return p;
}

void tbr_ack(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn, uint8_t syndrome,
	     uint32_t msn)
{
	struct rx_pkt m;
	struct packet *p = new_rsp(e, &m, qpi, IB_ACKNOWLEDGE, psn, AETH_BYTES, 0);

	hdr_aeth_encode(p->data + TBR_XETH, &(struct hdr_aeth){ .syndrome = syndrome, .msn = msn });
	tb_send_at(e->rx, at, &m);
}

void tbr_sack(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn, uint32_t msn,
	      const uint8_t *map, uint32_t n)
{
	struct rx_pkt m;
	struct packet *p = new_rsp(e, &m, qpi, IB_ACKNOWLEDGE, psn, AETH_BYTES, n);

	hdr_aeth_encode(p->data + TBR_XETH,
			&(struct hdr_aeth){ .syndrome = NAK_SEQUENCE, .msn = msn });
	memcpy(p->data + m.payload, map, n);
	tb_send_at(e->rx, at, &m);
}

void tbr_read_rsp(struct tb_requester *e, uint64_t at, uint32_t qpi, uint8_t operation,
		  uint32_t psn, uint32_t len, uint8_t syndrome)
{
	bool has_aeth = operation != IB_READ_RSP_MIDDLE;
	struct rx_pkt m;
	struct packet *p = new_rsp(e, &m, qpi, operation, psn, has_aeth ? AETH_BYTES : 0, len);

	if (has_aeth)
		hdr_aeth_encode(p->data + TBR_XETH,
				&(struct hdr_aeth){ .syndrome = syndrome, .msn = 1 });
	for (uint32_t i = 0; i < len; i++)
		p->data[m.payload + i] = (uint8_t)(psn + i);
	tb_send_at(e->rx, at, &m);
}

void tbr_atomic_rsp(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn,
		    uint64_t original)
{
	struct rx_pkt m;
	struct packet *p = new_rsp(e, &m, qpi, IB_ATOMIC_ACK, psn, AETH_BYTES + ATOMICACK_BYTES, 0);

	hdr_aeth_encode(p->data + TBR_XETH,
			&(struct hdr_aeth){ .syndrome = AETH_NO_CREDITS, .msn = 1 });
	hdr_put(p->data + TBR_XETH + AETH_BYTES, 0, 64, original);
	tb_send_at(e->rx, at, &m);
}
