/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_xlate.c - the DMA engine's translations: page by page, several requests ahead of the one being
 * sent
 */
#include "models/dma_engine.h"

/* The queued request with this order of grant, or NULL when it is out of its queue. */
static struct dma_ctx *queued_at(const struct dma_engine *d, uint32_t order)
{
	struct dma_ctx *c = &d->ctx[d->ring[order & d->ring_mask]];

	return c->order == order && c->is_queued ? c : NULL;
}

/* Orders from first_lacking on that are looked at: 'ahead' requests from the oldest one queued. */
static uint32_t count_seen(const struct dma_engine *d)
{
	uint32_t oldest = d->first_lacking, seen;

	for (uint32_t w = 0; w < 2; w++) {
		const struct dma_list *l = &d->queue[DMA_QUEUE(DMA_VIRT, w)].list;

		if (l->head != DMA_CTX_NONE && (int32_t)(d->ctx[l->head].order - oldest) < 0)
			oldest = d->ctx[l->head].order;
	}
	seen = d->first_lacking - oldest;
	if (seen >= d->ahead)
		return 0;
	return (uint32_t)min_u64(d->ahead - seen, d->grants[DMA_VIRT] - d->first_lacking);
}

/* Of the ring, the first bit set among 'n' from 'from' on, counted from there; n when there is none. */
static uint32_t first_unasked(const struct dma_engine *d, uint32_t from, uint32_t n)
{
	for (uint32_t k = 0; k < n;) {
		uint32_t at = (from + k) & d->ring_mask;
		uint64_t bits = d->unasked[at / 64] >> at % 64;

		if (bits)
			return (uint32_t)min_u64(n, k + (uint32_t)__builtin_ctzll(bits));
		k += 64 - at % 64;
	}
	return n;
}

/* The oldest request of which a page can be asked for, among those that are looked at; or NULL. */
static struct dma_ctx *find_unasked(const struct dma_engine *d)
{
	uint32_t n, k;

	if (d->n_unasked == 0)
		return NULL;
	n = count_seen(d);
	k = first_unasked(d, d->first_lacking, n);
	return k < n ? &d->ctx[d->ring[(d->first_lacking + k) & d->ring_mask]] : NULL;
}

void dma_xlate_note(struct dma_engine *d, const struct dma_ctx *c)
{
	uint32_t at = c->order & d->ring_mask;
	bool was = d->unasked[at / 64] >> at % 64 & 1;
	bool is = c->is_queued && !c->is_asking && dma_lacks_pages(c) && c->n_runs < DMA_RUNS;

	d->unasked[at / 64] ^= (uint64_t)(was != is) << at % 64;
	d->n_unasked += (uint32_t)is - was;
}

void dma_take_xlate_rsp(struct dma_engine *d)
{
	const struct nic *nic = d->b.env;
	const struct xlate_rsp *r = xlate_rsp_peek(d->xlate_rsp);
	struct dma_ctx *c;

	if (!r)
		return;
	c = &d->ctx[r->tag];
	SIM_CHECK(c->is_asking && (r->status != XLATE_OK || r->len > 0), d);
	c->is_asking = false;
	c->status = r->status;
	if (r->status == XLATE_OK) {
		uint32_t n = (uint32_t)min_u64(r->len, c->req.len - c->translated);

		c->run[c->n_runs++] = (struct dma_run){ r->pa, n };
		c->translated += n;
		d->xlates++;
		if (c->translated == c->req.len && c->req.cls == DMA_PAYLOAD_READ)
			oplog_mark(nic->oplog, c->req.op, OP_TRANSLATE, d->b.now_ps);
	}
	dma_xlate_note(d, c);
	d->has_changed = true;
	while (d->first_lacking != d->grants[DMA_VIRT]) {
		c = queued_at(d, d->first_lacking);
		if (c && dma_lacks_pages(c))
			break;
		d->first_lacking++;
	}
	chan_pop(d->xlate_rsp);
}

bool dma_ask(struct dma_engine *d)
{
	struct dma_ctx *c = find_unasked(d);

	if (!c)
		return true;
	if (!chan_can_push(d->xlate_req)) {
		chan_stall(d->xlate_req);
		return false;
	}
	xlate_req_push(d->xlate_req, &(struct xlate_req){ .va = c->req.addr + c->translated,
							  .len = c->req.len - c->translated,
							  .key = c->req.key,
							  .tag = (uint32_t)(c - d->ctx),
							  .pd = c->req.pd,
							  .access = c->req.access });
	c->is_asking = true;
	dma_xlate_note(d, c);
	return true;
}

bool dma_wants_page(const struct dma_engine *d)
{
	return find_unasked(d) != NULL;
}

void dma_xlate_add(struct dma_engine *d, uint32_t i)
{
	d->ring[d->ctx[i].order & d->ring_mask] = i;
	dma_xlate_note(d, &d->ctx[i]);
}

void dma_xlate_build(struct dma_engine *d)
{
	/* those that overtook the oldest are 'ahead' at most, the others are all queued */
	uint32_t most = DMA_CLIENTS * d->per_client + d->ahead, size = 64;

	while (size < most)
		size *= 2;
	d->ring = block_alloc(&d->b, size, sizeof(*d->ring));
	d->unasked = block_alloc(&d->b, size / 64, sizeof(*d->unasked));
	d->ring_mask = size - 1;
}

void dma_xlate_reset(struct dma_engine *d)
{
	memset(d->unasked, 0, (d->ring_mask + 1) / 64 * sizeof(*d->unasked));
	d->n_unasked = d->first_lacking = 0;
}
