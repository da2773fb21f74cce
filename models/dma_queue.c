/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_queue.c - the DMA engine's queues: what is sent next, and what the others wait for
 *
 * Each group (bus addresses, translated) has a queue of reads and one of writes, both in order.
 * Reads do not pass older writes, as non-posted requests do not pass posted ones; writes pass reads that
 * cannot go, but not those of their own client (PCI Express Base Specification, 2.4.1). The groups
 * take turns.
 */
#include "models/dma_engine.h"
#include "sim/pool.h"

/* ---- what a queue waits for ---- */

/* Charge the time until now to what queue 'q' waited for. */
static void charge(const struct dma_engine *d, struct dma_queue *q)
{
	q->waited[q->cause] += d->b.now_ps - q->since_ps;
	q->since_ps = d->b.now_ps;
}

static bool is_used(const struct dma_engine *d, uint32_t q)
{
	return d->used >> q & 1;
}

static bool has_failed(const struct dma_engine *d, uint32_t q)
{
	return is_used(d, q) && d->ctx[d->queue[q].list.head].status != XLATE_OK;
}

/* Bytes of the next train of 'c', of which a piece is translated. */
static uint32_t next_len(const struct dma_engine *d, const struct dma_ctx *c)
{
	const struct dma_run *r = &c->run[0];
	uint64_t most = c->req.is_write ? PAGE_4K : d->mrrs;

	return (uint32_t)min_u64(min_u64(r->len, most), PAGE_4K - r->pa % PAGE_4K);
}

/* Older requests must go first: writes of the group; of a write, reads of its client. */
static bool is_held(const struct dma_engine *d, uint32_t q, const struct dma_ctx *c)
{
	const struct dma_queue *writes = &d->queue[q | 1];

	if (DMA_QUEUE_WRITES(q))
		return (int32_t)(d->reads_left[c->client] - c->reads_before) < 0;
	return is_used(d, q | 1) && (int32_t)(d->ctx[writes->list.head].order - c->order) < 0;
}

/* What queue 'q', which is not empty, waits for; 'at': until which cycle, if that is known. */
static enum dma_wait cause_of(const struct dma_engine *d, uint32_t q, uint64_t *at)
{
	const struct dma_ctx *c = &d->ctx[d->queue[q].list.head];

	*at = CYCLE_NEVER;
	if (c->n_runs == 0)
		return WAIT_XLATE;
	if (is_held(d, q, c))
		return WAIT_ORDER;
	if (!DMA_QUEUE_WRITES(q)) {
		if (d->n_free_tags == 0)
			return WAIT_TAG;
		if (next_len(d, c) > d->cpl_room)
			return WAIT_CPL;
	}
	*at = max_u64(d->free_cyc[DMA_QUEUE_WRITES(q)], c->ready_cyc);
	return WAIT_ENGINE;
}

static bool can_send(const struct dma_engine *d, uint32_t q)
{
	uint64_t at;

	if (!is_used(d, q))
		return false;
	cause_of(d, q, &at);
	return at <= d->b.cycle;
}

void dma_queues_note(struct dma_engine *d)
{
	uint64_t now = d->b.cycle;

	d->due_cyc = CYCLE_NEVER;
	d->has_changed = d->is_short = false;
	for (uint32_t left = d->used; left; left &= left - 1) {
		uint32_t q = (uint32_t)__builtin_ctz(left);
		struct dma_queue *queue = &d->queue[q];
		uint64_t at;
		enum dma_wait cause = cause_of(d, q, &at);

		if (at <= now && d->is_refused)
			cause = WAIT_LINK; /* its credit wakes the block */
		else if (at != CYCLE_NEVER)
			d->due_cyc = min_u64(d->due_cyc, max_u64(at, now + 1));
		else if (has_failed(d, q))
			d->due_cyc = now + 1;
		d->is_short |= cause == WAIT_TAG || cause == WAIT_CPL;
		if (queue->cause != cause) {
			charge(d, queue);
			queue->cause = (uint8_t)cause;
		}
	}
}

/* ---- in and out ---- */

void dma_enqueue(struct dma_engine *d, uint32_t i, uint32_t group)
{
	struct dma_ctx *c = &d->ctx[i];
	uint32_t q = DMA_QUEUE(group, c->req.is_write);
	struct dma_queue *queue = &d->queue[q];

	c->order = d->grants[group]++;
	c->reads_before = d->reads_granted[c->client];
	d->reads_granted[c->client] += !c->req.is_write;
	if (is_used(d, q))
		charge(d, queue);
	else
		queue->since_ps = d->b.now_ps;
	memcpy(c->waited, queue->waited, sizeof(c->waited));
	dma_list_put(d, &queue->list, i);
	d->used |= 1u << q;
	d->queued[c->client][group]++;
	d->has_changed = true;
	*(group == DMA_PHYS ? &d->in_phys : &d->in_virt) += 1;
}

static void leave_queue(struct dma_engine *d, uint32_t q)
{
	uint32_t group = DMA_QUEUE_GROUP(q), i = dma_list_take(d, &d->queue[q].list);
	struct dma_ctx *c = &d->ctx[i];

	c->is_queued = false;
	d->reads_left[c->client] += !c->req.is_write;
	d->queued[c->client][group]--;
	*(group == DMA_PHYS ? &d->in_phys : &d->in_virt) -= 1;
	if (d->queue[q].list.head == DMA_CTX_NONE)
		d->used &= ~(1u << q);
	if (group == DMA_VIRT)
		dma_xlate_note(d, c);
	dma_finish_if_over(d, i);
}

/* Drop the head of a translated queue when its translation failed. */
static void drop_failed(struct dma_engine *d, uint32_t q)
{
	uint32_t i = d->queue[q].list.head;

	if (!has_failed(d, q))
		return;
	charge(d, &d->queue[q]);
	if (d->ctx[i].req.is_write)
		buf_unref(&d->b, d->ctx[i].req.buf);
	leave_queue(d, q);
}

/* ---- sending ---- */

/* Occupy the sending side for 'n' bytes of request 'c'. */
static void occupy(struct dma_engine *d, const struct dma_ctx *c, uint32_t n)
{
	uint64_t *busy = &d->free_ps[c->req.is_write];

	uint64_t time = 0;

	if (c->req.is_write)
		time = ceil_div(n, d->seg_size) * d->write_seg_time +
		       (c->sent ? 0 : d->write_req_time) +
		       domain_edge(d->b.dom, d->b.cycle + ceil_div(n, d->width)) - d->b.now_ps;
	*busy = max_u64(*busy, d->b.now_ps) + time;
	d->write_busy_ps += time;
	/* the first cycle whose end lies behind the end of what is being sent */
	d->free_cyc[c->req.is_write] = domain_cycle_at(d->b.dom, *busy + 1) - 1;
}

static uint16_t take_tag(struct dma_engine *d, uint32_t ctx, uint32_t len)
{
	uint32_t tag = d->free_tag[--d->n_free_tags];

	d->tag[tag] = (struct dma_tag){ ctx, len };
	d->ctx[ctx].tags++;
	d->cpl_room -= len;
	d->tags_used++;
	d->read_tlps++;
	return (uint16_t)tag;
}

/* What the train that is being sent waited for; the next one of the request is ready now. */
static void note_waits(struct dma_engine *d, struct dma_queue *q, struct dma_ctx *c)
{
	uint64_t *to = d->wait_ps[c->req.cls];

	charge(d, q);
	for (uint32_t k = 0; k < DMA_WAITS; k++) {
		to[k] += q->waited[k] - c->waited[k];
		c->waited[k] = q->waited[k];
	}
}

/* Send one TLP (reads) or train (writes) of the head of queue 'q'. */
static void send(struct dma_engine *d, uint32_t q)
{
	const struct nic *nic = d->b.env;
	uint32_t i = d->queue[q].list.head;
	struct dma_ctx *c = &d->ctx[i];
	struct dma_run *r = &c->run[0];
	uint32_t n = next_len(d, c);
	struct tlp t = {
		.addr = r->pa,
		.len = n,
		.buf = c->req.buf,
		.off = c->req.off + c->sent,
		.kind = c->req.is_write ? TLP_MWR : TLP_MRD,
		.cls = c->req.cls,
		.op = c->req.op,
		.ready_ps = domain_edge(d->b.dom, d->b.cycle + 1),
	};

	occupy(d, c, n);
	note_waits(d, &d->queue[q], c);
	c->sent += n;
	if (!c->req.is_write)
		t.tag = take_tag(d, i, n);
	else
		d->write_tlps++;
	if (c->req.is_write && c->sent < c->req.len)
		/* each train has a reference of its own; the last takes the request's */
		buf_ref(d->b.sim, t.buf);
	tlp_push(d->tlp, &t);
	if (t.cls == DMA_PAYLOAD_READ)
		oplog_mark(nic->oplog, t.op, OP_REQUEST, d->b.now_ps);
	r->pa += n;
	r->len -= n;
	if (r->len == 0)
		c->run[0] = c->run[--c->n_runs];
	d->last_group = DMA_QUEUE_GROUP(q);
	if (c->sent == c->req.len)
		leave_queue(d, q);
	else if (d->last_group == DMA_VIRT)
		dma_xlate_note(d, c);
}

/* The queue of a group that can send, the one with the older request if both can; or DMA_QUEUES. */
static uint32_t sender_of(const struct dma_engine *d, uint32_t group)
{
	uint32_t rd = DMA_QUEUE(group, 0), wr = DMA_QUEUE(group, 1);
	bool can_read, can_write;

	if (!(d->used >> rd & 3))
		return DMA_QUEUES;
	can_read = can_send(d, rd);
	can_write = can_send(d, wr);
	if (can_read && can_write) {
		const struct dma_ctx *r = &d->ctx[d->queue[rd].list.head];
		const struct dma_ctx *w = &d->ctx[d->queue[wr].list.head];

		return (int32_t)(r->order - w->order) < 0 ? rd : wr;
	}
	return can_read ? rd : can_write ? wr : DMA_QUEUES;
}

void dma_send_next(struct dma_engine *d)
{
	uint32_t q;

	drop_failed(d, DMA_QUEUE(DMA_VIRT, 0));
	drop_failed(d, DMA_QUEUE(DMA_VIRT, 1));
	q = sender_of(d, 1 - d->last_group);
	if (q == DMA_QUEUES)
		q = sender_of(d, d->last_group);
	d->is_refused = q != DMA_QUEUES && !chan_can_push(d->tlp);
	if (d->is_refused)
		chan_stall(d->tlp);
	else if (q != DMA_QUEUES)
		send(d, q);
}

void dma_queues_reset(struct dma_engine *d)
{
	for (uint32_t q = 0; q < DMA_QUEUES; q++) {
		memset(&d->queue[q], 0, sizeof(d->queue[q]));
		d->queue[q].list.head = DMA_CTX_NONE;
	}
	for (uint32_t k = 0; k < DMA_CLIENTS; k++) {
		d->queued[k][DMA_PHYS] = d->queued[k][DMA_VIRT] = 0;
		d->reads_granted[k] = d->reads_left[k] = 0;
	}
	d->used = 0;
	d->has_changed = d->is_refused = d->is_short = false;
	d->due_cyc = CYCLE_NEVER;
	d->grants[DMA_PHYS] = d->grants[DMA_VIRT] = 0;
	d->last_group = DMA_VIRT;
	d->free_ps[0] = d->free_ps[1] = d->free_cyc[0] = d->free_cyc[1] = 0;
	d->in_phys = d->in_virt = 0;
}
