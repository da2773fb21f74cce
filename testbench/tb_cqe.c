/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_cqe.c - the completion writer with what stands around it
 */
#include "testbench/tb_cqe.h"

#include <string.h>

#include "models/cqe_compress.h"
#include "models/packet/hdr.h"

#define RING_PA(cq) (0x10000ull + 0x1000ull * (cq))
#define DBR_PA(cq) (0x100ull + 8ull * (cq))

/* ---- the program ---- */

uint8_t *tb_cqe_entry(struct tb_cqe_bench *e, uint32_t cq, uint32_t at)
{
	return &e->ring[cq][at % e->depth * 64];
}

static void take(struct tb_cqe_bench *e, uint32_t cq, const uint8_t *c)
{
	bool is_error = c[63] >> 4 == CQE_REQ_ERR || c[63] >> 4 == CQE_RESP_ERR;

	if (e->n_seen[cq] == TB_CQE_MAX)
		return;
	e->seen[cq][e->n_seen[cq]++] =
		(struct tb_cqe_seen){ .opcode = c[63] >> 4,
				      .syndrome = is_error ? c[55] : 0, /* else of the time stamp */
				      .wqe_opcode = c[56],
				      .solicited = c[63] >> 1 & 1,
				      .counter = (uint32_t)hdr_get(c, 60 * 8, 16),
				      .byte_cnt = (uint32_t)hdr_get(c, 44 * 8, 32),
				      .imm = (uint32_t)hdr_get(c, 36 * 8, 32),
				      .qpn = (uint32_t)hdr_get(c, 57 * 8, 24) };
}

/* Completion 'k' under a title, as a CQE of its own. */
static void take_mini(struct tb_cqe_bench *e, uint32_t cq, uint32_t first, uint32_t k)
{
	const uint8_t *title = tb_cqe_entry(e, cq, first);
	uint32_t at = first + (k < 8 ? 1 : k / 8 * 8 + (e->fault == TB_CQE_FAULT_ARRAY));
	const uint8_t *mini = tb_cqe_entry(e, cq, at) + (size_t)(k % 8) * 8;
	uint8_t c[64];

	memcpy(c, title, sizeof(c));
	memcpy(c + 44, mini + 4, 4);
	if (title[63] >> 4 == CQE_REQ) {
		memcpy(c + 60, mini, 2);
		c[56] = mini[2];
	} else if (e->nic.mini_format == MINI_CSUM_STRIDX) {
		memcpy(c + 60, mini + 2, 2);
	} else {
		uint16_t counter = (uint16_t)(hdr_get(title, 60 * 8, 16) + k);

		c[60] = (uint8_t)(counter >> 8);
		c[61] = (uint8_t)counter;
	}
	c[47] ^= e->fault == TB_CQE_FAULT_MINI && k == 1;
	e->n_stale += !e->is_new[cq][at % e->depth];
	take(e, cq, c);
}

static void take_block(struct tb_cqe_bench *e, uint32_t cq)
{
	uint32_t first = e->ci[cq];
	uint32_t n = (uint32_t)hdr_get(tb_cqe_entry(e, cq, first), 44 * 8, 32);
	uint8_t opcode = tb_cqe_entry(e, cq, first)[63] >> 4;

	e->n_blocks++;
	e->n_errors_in_blocks += opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR;
	CU_ASSERT_FATAL(n >= 2 && n <= e->depth);
	for (uint32_t k = 0; k < n; k++)
		take_mini(e, cq, first, k);
	for (uint32_t k = 0; k < n; k++, e->ci[cq]++)
		if (e->fault != TB_CQE_FAULT_OWNERS)
			tb_cqe_entry(e, cq, e->ci[cq])[63] = e->ci[cq] / e->depth & 1;
}

void tb_cqe_reap(struct tb_cqe_bench *e, uint32_t cq)
{
	for (;;) {
		const uint8_t *c = tb_cqe_entry(e, cq, e->ci[cq]);
		uint32_t from = e->ci[cq];

		if (c[63] >> 4 == CQE_INVALID || (c[63] & 1) != (e->ci[cq] / e->depth & 1) ||
		    e->n_seen[cq] == TB_CQE_MAX)
			return;
		if ((c[63] >> 2 & 3) == 3) {
			take_block(e, cq);
		} else {
			e->n_stale += !e->is_new[cq][from % e->depth];
			take(e, cq, c);
			e->ci[cq]++;
		}
		for (; from < e->ci[cq]; from++)
			e->is_new[cq][from % e->depth] = false;
		if (e->ci[cq] - e->seen_ci[cq] >= e->lag)
			e->seen_ci[cq] = e->ci[cq];
	}
}

/* ---- the DMA engine and the memory ---- */

static void answer_dbr(struct tb_cqe_bench *e, const struct dma_req *r, uint32_t cq)
{
	uint8_t *buf = (uint8_t *)buf_data(&e->t.sim, r->buf) + r->off;

	memset(buf, 0, r->len);
	hdr_put(buf, 0, 32, e->seen_ci[cq] & 0xffffff);
}

static void land(struct tb_cqe_bench *e, const struct dma_req *r, const uint8_t *bytes)
{
	uint32_t cq = r->addr >= RING_PA(1), at = (uint32_t)(r->addr - RING_PA(cq));

	CU_ASSERT_FATAL(r->cls == DMA_CQE && r->len && r->len % 64 == 0 && at % 64 == 0 &&
			at + r->len <= e->depth * 64);
	memcpy(&e->ring[cq][at], bytes, r->len);
	for (uint32_t k = 0; k < r->len; k += 64)
		e->is_new[cq][(at + k) / 64] = true;
	if (++e->n_written == 100 && e->fault == TB_CQE_FAULT_OWNER_100)
		e->ring[cq][at + 63] ^= 1;
	if (e->reaps)
		tb_cqe_reap(e, cq);
}

static void serve(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_cqe_bench *e = p->arg;
	const struct dma_req *r = msg;

	CU_ASSERT_EQUAL(r->key, KEY_PHYS);
	if (r->is_write) {
		land(e, r, (const uint8_t *)buf_data(&t->sim, r->buf) + r->off);
		buf_unref(&p->b, r->buf);
	} else {
		uint32_t cq = r->addr == DBR_PA(1);

		CU_ASSERT_FATAL(r->len == 8 && r->addr == DBR_PA(cq) && r->cls == DMA_DBR);
		e->n_asked[cq]++;
		e->held[cq] = *r;
		if (e->holds[cq])
			return;
		answer_dbr(e, r, cq);
	}
	tb_send_at(e->dma_rsp, p->b.cycle + 1, &(struct dma_rsp){ .tag = r->tag });
}

void tb_cqe_release(struct tb_cqe_bench *e, uint32_t cq)
{
	e->holds[cq] = false;
	answer_dbr(e, &e->held[cq], cq);
	tb_send(e->dma_rsp, &(struct dma_rsp){ .tag = e->held[cq].tag });
}

void tb_cqe_start(struct tb_cqe_bench *e, uint32_t depth, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	e->depth = depth;
	e->nic = (struct nic){ .qp = e->qp,
			       .n_qp = TB_CQE_QPS,
			       .cq = e->cq,
			       .n_cq = TB_CQE_CQS,
			       .srq = &e->srq,
			       .n_srq = 1 };
	for (uint32_t i = 0; i < TB_CQE_QPS; i++)
		e->qp[i] = (struct qp_attr){ .qpn = 0x40 + i, .srq = i == 2 ? 0 : SRQ_NONE };
	for (uint32_t i = 0; i < TB_CQE_CQS; i++) {
		e->cq[i] = (struct cq_attr){
			.cqn = i, .depth = depth, .pa = RING_PA(i), .dbr_pa = DBR_PA(i)
		};
		for (uint32_t k = 0; k < depth; k++)
			e->ring[i][k * 64 + 63] = CQE_INVALID << 4;
	}
	e->reaps = true;
	e->lag = 1;
	tb_init(&e->t, &cqe_writer_class, &e->nic, sets);
	e->req = tb_source(&e->t, "req");
	e->rsp = tb_source(&e->t, "rsp");
	tb_source(&e->t, "arm");
	tb_source(&e->t, "async");
	tb_sink(&e->t, "error");
	tb_sink(&e->t, "closed");
	tb_sink_react(&e->t, "cqc_req", tb_context_react, tb_source(&e->t, "cqc_rsp"));
	e->dma_rsp = tb_source(&e->t, "dma_rsp");
	e->dma_req = tb_sink_react(&e->t, "dma_req", serve, e);
	tb_start(&e->t);
}

void tb_cqe_end(struct tb_cqe_bench *e)
{
	CU_ASSERT_EQUAL(e->t.sim.pools[0]->in_use, 0);
	tb_end(&e->t);
}
