/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_dma.c - a DMA engine for benches
 */
#include "testbench/tb_dma.h"

/* Let the answer queued last change places with one that was not sent. */
static void shuffle(struct tb_dma *d)
{
	struct dma_rsp *q = (struct dma_rsp *)(void *)d->rsp->queue;
	uint32_t last = d->rsp->n_queued - 1;
	uint32_t other = d->rsp->n_sent + (uint32_t)rng_below(&d->rng, d->rsp->n_queued - d->rsp->n_sent);
	struct dma_rsp m = q[last];

	q[last] = q[other];
	q[other] = m;
}

void tb_dma_react(struct tb *t, struct tb_port *p, const void *msg)
{
	const struct dma_req *r = msg;
	struct tb_dma *d = p->arg;
	struct dma_rsp rsp = { .tag = r->tag, .status = XLATE_OK };
	bool is_inside = r->addr >= d->base && r->addr - d->base + r->len <= d->size;

	if (!is_inside || (d->fail_at && r->addr <= d->fail_at && d->fail_at - r->addr < r->len))
		rsp.status = XLATE_BAD_KEY;
	d->n_outside += !is_inside;
	if (rsp.status == XLATE_OK) {
		uint8_t *buf = (uint8_t *)buf_data(&t->sim, r->buf) + r->off;
		uint8_t *mem = d->mem + (r->addr - d->base);

		CU_ASSERT(r->off + r->len <= buf_size(&t->sim, r->buf));
		memcpy(r->is_write ? mem : buf, r->is_write ? buf : mem, r->len);
	}
	d->n_writes += r->is_write;
	d->n_reads += !r->is_write;
	if (r->is_write)
		buf_unref(&p->b, r->buf);
	if (!d->max_delay) {
		tb_send(d->rsp, &rsp);
		return;
	}
	tb_send_at(d->rsp, p->b.cycle + 1 + rng_below(&d->rng, d->max_delay), &rsp);
	shuffle(d);
}
