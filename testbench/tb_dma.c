/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_dma.c - a DMA engine for benches
 */
#include "testbench/tb_dma.h"

/*
 * Queue an answer for some later cycle, none before that of the one in front of it, and let it
 * change places with one that is not due either. What is due may have been sent at this very edge,
 * or not yet, by the order of steps.
 */
static void answer(struct tb_dma *d, uint64_t now, const struct dma_rsp *m)
{
	struct tb_port *p = d->rsp;
	uint64_t at = now + 1 + (d->max_delay ? rng_below(&d->rng, d->max_delay) : 0);
	uint32_t first, last = p->n_queued, other;
	struct dma_rsp *q;

	if (last && p->not_before[last - 1] > at)
		at = p->not_before[last - 1];
	tb_send_at(p, at, m);
	if (!d->max_delay)
		return;
	for (first = last; first > 0 && p->not_before[first - 1] > now; first--)
		;
	q = (struct dma_rsp *)(void *)p->queue;
	other = first + (uint32_t)rng_below(&d->rng, last - first + 1);
	q[last] = q[other];
	q[other] = *m;
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
	answer(d, p->b.cycle, &rsp);
}

void tb_context_react(struct tb *t, struct tb_port *p, const void *msg)
{
	const struct ctx_req *r = msg;

	(void)t;
	tb_send_at(p->arg, p->b.cycle + 1, &(struct ctx_rsp){ .index = r->index, .tag = r->tag });
}
