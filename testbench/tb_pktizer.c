/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_pktizer.c - a packetizer on its bench, and a reference for its packets
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/verbs/wqe.h"
#include "testbench/tb_pktizer.h"

static void on_pkt(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_pktizer *e = p->arg;
	const struct pkt *m = msg;
	const struct packet *from;
	uint32_t n;

	e->n_rsp_done += m->ends_job;
	if (m->buf == BUF_NONE)
		return;
	from = buf_data(&t->sim, m->buf);
	n = (uint32_t)sizeof(*from) + from->len;
	e->bytes = x_realloc(e->bytes, e->used + n + 8u);
	e->at = x_realloc(e->at, (e->n_pkt + 1) * sizeof(*e->at));
	memcpy(e->bytes + e->used, from, n);
	e->at[e->n_pkt++] = e->used;
	e->used += (uint32_t)align_up(n, 8);
	buf_unref(&p->b, m->buf);
}

const struct packet *tb_pktizer_got(const struct tb_pktizer *e, uint32_t i)
{
	return (const struct packet *)(const void *)(e->bytes + e->at[i]);
}

static void set_qps(struct tb_pktizer *e)
{
	static const uint8_t types[N_QP] = { QP_RC, QP_RC, QP_UC, QP_UD, QP_XRC };
	struct port_addr to = { .mac = { 2, 0, 0, 0, 0, 9 },
				.ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } };
	struct packet_path path = { .hop_limit = 64 };

	e->nic.addr = (struct port_addr){ .mac = { 2, 0, 0, 0, 0, 1 },
					  .ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } };
	for (uint32_t i = 0; i < N_QP; i++) {
		struct port_addr from = e->nic.addr, peer = to;

		from.is_v6 = peer.is_v6 = i == QPI_V6;
		e->qp[i] = (struct qp_attr){ .qpn = TB_PKTIZER_QPN + i,
					     .dest_qpn = TB_PKTIZER_DEST_QPN + i,
					     .mtu = TB_PKTIZER_MTU,
					     .pd = 3,
					     .pkey = 0xffff,
					     .qkey = 0x11111111,
					     .type = types[i] };
		packet_template(&e->qp[i], &from, &peer, &path);
	}
}

void tb_pktizer_start(struct tb_pktizer *e, const char *const *sets, uint32_t max_delay)
{
	memset(e, 0, sizeof(*e));
	set_qps(e);
	e->nic.qp = e->qp;
	e->nic.n_qp = N_QP;
	e->nic.oplog = oplog_create();
	rng_seed(&e->dma.rng, "pktizer", max_delay);
	for (uint32_t i = 0; i < TB_PKTIZER_MEM; i++)
		e->mem[i] = (uint8_t)rng_next(&e->dma.rng);
	tb_init(&e->t, &pktizer_class, &e->nic, sets);
	e->req_job = tb_source(&e->t, "req_job");
	e->rsp_job = tb_source(&e->t, "rsp_job");
	e->req_done = tb_sink(&e->t, "req_done");
	e->dma.rsp = tb_source(&e->t, "dma_rsp");
	e->dma.mem = e->mem;
	e->dma.base = TB_PKTIZER_BASE;
	e->dma.size = TB_PKTIZER_MEM;
	e->dma.max_delay = max_delay;
	tb_sink_react(&e->t, "dma_req", tb_dma_react, &e->dma);
	e->pkt = tb_sink_react(&e->t, "pkt", on_pkt, e);
	e->wqes = pool_create(&e->req_job->b, TB_PKTIZER_JOBS, 1024);
	tb_start(&e->t);
	e->req_job->b.now_ps = 1; /* buffers are taken before the run */
}

void tb_pktizer_end(struct tb_pktizer *e)
{
	CU_ASSERT_EQUAL(e->wqes->in_use, 0);
	CU_ASSERT_EQUAL(e->dma.n_outside, 0);
	free(e->bytes);
	free(e->at);
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

void tb_pktizer_put_be(uint8_t *p, unsigned n, uint64_t v)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static bool is_response(const struct tx_job *j)
{
	return j->kind >= JOB_READ_RSP;
}

void tb_pktizer_send_job(struct tb_pktizer *e, const struct tx_job *job)
{
	struct tx_job j = *job;

	j.tag = e->n_jobs;
	e->job[e->n_jobs++] = j;
	tb_send(is_response(&j) ? e->rsp_job : e->req_job, &j);
}

void tb_pktizer_put_segments(struct tb_pktizer *e, struct tx_job *j, uint32_t len, uint32_t n_sge)
{
	uint8_t *wqe;
	uint32_t end = TB_PKTIZER_MEM - (uint32_t)rng_below(&e->dma.rng, 4096), left = len;

	j->buf = pool_alloc(e->wqes);
	j->seg_off = 48;
	j->n_sge = (uint8_t)n_sge;
	wqe = buf_data(&e->t.sim, j->buf);
	for (uint32_t i = 0; i < n_sge; i++) {
		uint32_t n = i + 1 == n_sge ? left : (uint32_t)rng_below(&e->dma.rng, left + 1);

		end -= n;
		tb_pktizer_put_be(wqe + j->seg_off + 16 * i, 4, n);
		tb_pktizer_put_be(wqe + j->seg_off + 16 * i + 4, 4, 0x1000 + i);
		tb_pktizer_put_be(wqe + j->seg_off + 16 * i + 8, 8, TB_PKTIZER_BASE + end);
		left -= n;
	}
}

/* ---- the reference ---- */

/* Byte i of the message that the job is part of. */
static uint8_t message_byte(const struct tb_pktizer *e, const struct tx_job *j, uint32_t i)
{
	const uint8_t *wqe;

	if (j->kind == JOB_READ_RSP)
		return e->mem[j->raddr - TB_PKTIZER_BASE + i - j->msg_off];
	wqe = buf_data(&e->t.sim, j->buf);
	if (j->is_inline)
		return wqe[j->seg_off + i];
	for (uint32_t k = 0;; k++) {
		struct wqe_seg s = wqe_seg_at(wqe + j->seg_off + 16 * k);

		if (i < s.len)
			return e->mem[s.addr - TB_PKTIZER_BASE + i];
		i -= s.len;
	}
}

/* Opcode without transport, written down from the table of protocol.md section 2.1. */
static uint8_t reference_opcode(const struct tx_job *j, bool first, bool last)
{
	bool only = first && last, imm = j->has_imm;

	switch (j->kind) {
	case JOB_SEND:
		if (only)
			return imm ? 0x05 : 0x04;
		return last ? (imm ? 0x03 : 0x02) : first ? 0x00 : 0x01;
	case JOB_SEND_INV:
		return only ? 0x17 : last ? 0x16 : first ? 0x00 : 0x01;
	case JOB_WRITE:
		if (only)
			return imm ? 0x0b : 0x0a;
		return last ? (imm ? 0x09 : 0x08) : first ? 0x06 : 0x07;
	case JOB_READ_REQ:
		return 0x0c;
	case JOB_CMP_SWAP:
		return 0x13;
	case JOB_FETCH_ADD:
		return 0x14;
	case JOB_READ_RSP:
		return only ? 0x10 : last ? 0x0f : first ? 0x0d : 0x0e;
	default:
		return 0x12;
	}
}

/* The extended headers of the packet as bytes; returns how many. */
static uint32_t reference_xeth(const struct tx_job *j, uint8_t op, uint8_t *x)
{
	uint8_t *p = x;

	if (op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c) {
		tb_pktizer_put_be(p, 8, j->raddr);
		tb_pktizer_put_be(p + 8, 4, j->rkey);
		tb_pktizer_put_be(p + 12, 4, j->dma_len);
		p += 16;
	}
	if (op == 0x0d || op == 0x0f || op == 0x10 || op == 0x12) {
		tb_pktizer_put_be(p, 4, (uint32_t)j->syndrome << 24 | j->msn);
		p += 4;
	}
	if (op == 0x13 || op == 0x14) {
		tb_pktizer_put_be(p, 8, j->raddr);
		tb_pktizer_put_be(p + 8, 4, j->rkey);
		tb_pktizer_put_be(p + 12, 8, j->swap_add);
		tb_pktizer_put_be(p + 20, 8, j->compare);
		p += 28;
	}
	if (op == 0x12) {
		tb_pktizer_put_be(p, 8, j->swap_add);
		p += 8;
	}
	if (op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b || op == 0x16 || op == 0x17) {
		tb_pktizer_put_be(p, 4, j->imm);
		p += 4;
	}
	return (uint32_t)(p - x);
}

/*
 * Whether packet i is the one with payload bytes off .. off + n - 1 of the job (RC and UC QPs;
 * AckReq aside).
 */
static bool is_right(const struct tb_pktizer *e, uint32_t i, const struct tx_job *j, uint32_t off,
		     uint32_t n, uint32_t index, bool first, bool last)
{
	const struct packet *p = tb_pktizer_got(e, i);
	struct packet_view v;
	uint8_t op = reference_opcode(j, first, last), x[64];
	uint32_t n_x = reference_xeth(j, op, x);
	bool se = j->solicited && last && (op <= 0x05 || op >= 0x16 || op == 0x09 || op == 0x0b);

	if (packet_parse(p, &v) != DROP_NONE || !packet_icrc_ok(p, &v))
		return false;
	if (v.bth.opcode != (op | (j->qpi == QPI_UC ? 0x20 : 0)) ||
	    v.bth.psn != ((j->psn + index) & 0xffffff) ||
	    v.bth.destqp != TB_PKTIZER_DEST_QPN + j->qpi || v.bth.pkey != 0xffff ||
	    v.bth.se != se || v.bth.migreq != 1 || v.bth.pad != (4 - n % 4) % 4 ||
	    v.payload - v.xeth != (int)n_x || v.payload_len != n ||
	    v.encap != (j->qpi == QPI_V6 ? ENCAP_IPV6 : ENCAP_IPV4))
		return false;
	if (memcmp(p->data + v.xeth, x, n_x) != 0 || p->is_msg_last != last ||
	    p->is_msg_first != (index == 0 && first))
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (p->data[v.payload + k] != message_byte(e, j, j->msg_off + off + k))
			return false;
	for (uint32_t k = n; k % 4; k++)
		if (p->data[v.payload + k] != 0)
			return false;
	return true;
}

bool tb_pktizer_is_answer(const struct packet *p)
{
	return opcode_info[p->data[p->l4]].is_response;
}

unsigned tb_pktizer_differences(const struct tb_pktizer *e, bool responses, uint32_t mtu)
{
	uint32_t i = 0;
	unsigned n_bad = 0;

	for (uint32_t tag = 0; tag < e->n_jobs; tag++) {
		const struct tx_job *j = &e->job[tag];
		uint32_t off = 0, index = 0;

		if (is_response(j) != responses)
			continue;
		do {
			uint32_t n = j->len - off < mtu ? j->len - off : mtu;
			bool last = j->is_last && off + n == j->len;

			while (i < e->n_pkt &&
			       tb_pktizer_is_answer(tb_pktizer_got(e, i)) != responses)
				i++;
			if (i == e->n_pkt)
				return n_bad + 1;
			n_bad += !is_right(e, i++, j, off, n, index, index == 0 && j->is_first,
					   last);
			off += n;
			index++;
		} while (off < j->len);
	}
	return n_bad;
}

void tb_pktizer_release_wqes(struct tb_pktizer *e)
{
	for (uint32_t i = 0; i < e->n_jobs; i++)
		if (e->job[i].buf != BUF_NONE)
			buf_unref(&e->req_job->b, e->job[i].buf);
}
