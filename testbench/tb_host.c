/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_host.c - host memory between a CPU and a link, both played by the test
 */
#include "testbench/tb_host.h"

#include <string.h>

#define BUF_BYTES 4096u
#define BUFS 1200u

/*
 * The NIC's end of the link: compare a completion with what is expected, drop what comes with
 * register writes.
 */
static void take_down(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tb_host *e = p->arg;
	const struct tlp *m = msg;

	if (m->kind == TLP_MWR) {
		buf_unref(&p->b, m->buf);
		return;
	}
	CU_ASSERT_EQUAL(m->kind, TLP_CPLD);
	if (e->expected[m->tag])
		e->differ += memcmp((uint8_t *)buf_data(&t->sim, m->buf) + m->off,
				    e->expected[m->tag], m->len) != 0;
	e->n_cpl++;
	buf_unref(&p->b, m->buf);
}

void tb_host_start(struct tb_host *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	mem_init(&e->mem);
	e->nic.n_cq = TB_HOST_CQS;
	e->host = (struct host){ .nic = &e->nic, .mem = &e->mem, .oplog = oplog_create() };
	for (uint32_t i = 0; i < TB_HOST_CQS; i++) {
		e->ring[i] = mem_alloc(&e->mem, 512, PAGE_4K);
		e->mem.frame_cq[e->ring[i] / PAGE_4K] = i + 1;
		for (uint32_t k = 0; k < 8; k++)
			mem_at(&e->mem, e->ring[i])[k * 64 + 63] = CQE_INVALID << 4;
	}
	e->region = mem_alloc(&e->mem, TB_HOST_REGION, PAGE_4K);
	tb_init(&e->t, &host_mem_class, &e->host, sets);
	e->cpu_req = tb_source(&e->t, "cpu_req");
	e->up = tb_source(&e->t, "up");
	e->cpu_rsp = tb_sink(&e->t, "cpu_rsp");
	e->down = tb_sink_react(&e->t, "down", take_down, e);
	e->pool = pool_create(&e->up->b, BUFS, BUF_BYTES);
	tb_start(&e->t);
	e->up->b.now_ps = 1; /* buffers are taken before the run */
}

void tb_host_end(struct tb_host *e)
{
	for (uint32_t i = 0; i < e->t.sim.n_pools; i++)
		CU_ASSERT_EQUAL(e->t.sim.pools[i]->in_use, 0);
	tb_end(&e->t);
	oplog_destroy(e->host.oplog);
	mem_destroy(&e->mem);
}

void tb_host_dma(struct tb_host *e, uint64_t at, uint8_t kind, uint64_t pa, const void *bytes,
		 uint32_t len, uint16_t tag, uint8_t cls, uint32_t op)
{
	struct tlp t = { .addr = pa,
			 .len = len,
			 .buf = pool_alloc(e->pool),
			 .off = 5,
			 .kind = kind,
			 .tag = tag,
			 .cls = cls,
			 .op = op };

	if (kind == TLP_MWR)
		memcpy((uint8_t *)buf_data(&e->t.sim, t.buf) + t.off, bytes, len);
	tb_send_at(e->up, at, &t);
}

void tb_host_cpu(struct tb_host *e, uint64_t at, uint8_t kind, uint64_t addr, const void *bytes,
		 uint8_t len)
{
	struct cpu_req r = { .addr = addr, .kind = kind, .len = len };

	memcpy(r.data, bytes, len);
	tb_send_at(e->cpu_req, at, &r);
}

void tb_host_poll_cq(struct tb_host *e, uint64_t at, uint32_t cq, uint32_t index)
{
	tb_send_at(e->cpu_req, at,
		   &(struct cpu_req){ .addr = e->ring[cq] + index % 8 * 64,
				      .tag = cq,
				      .kind = CPU_POLL,
				      .len = 64,
				      .owner = index / 8 & 1 });
}

void tb_host_write_cqe(struct tb_host *e, uint64_t at, uint32_t cq, uint32_t index, uint32_t op)
{
	uint8_t cqe[64] = { [0] = (uint8_t)index, [63] = (uint8_t)(index / 8 & 1) };

	tb_host_dma(e, at, TLP_MWR, e->ring[cq] + index % 8 * 64, cqe, 64, 0, DMA_CQE, op);
}
