/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_engine.c - moves data between the NIC's buffers and host memory
 *
 * Clients are granted round robin into two queues: requests with a key are translated page by page,
 * several requests ahead of the one that is being sent; requests with bus addresses have a queue of
 * their own, so that the translation tables can be read while requests wait for them. A queue is
 * sent in order: what a client writes lands in its order, and a client that changes queues waits
 * until its requests left the other one.
 *
 * Modelled: cuts at the maximum read request and at 4 KiB, a tag for every read on the way,
 * reassembly, times a segment and a request (as measured devices have): writes take theirs when
 * sent, reads when they are reassembled and handed over, one request after the other. Data path
 * width: writes take ceil(n / width) cycles when sent, reads when their completion arrives. A
 * write's answer comes when its last TLP entered the link, a read's when all of its bytes are
 * there. A request whose translation fails does nothing more and is answered with the status once its reads on the
 * way are back; of a write that fails on a later page, the pages before may have been written. Not
 * modelled: completion timeouts, poisoned data, relaxed ordering.
 *
 * A client has at most per_client requests between grant and answer: one that does not take its
 * answers cannot hold up the others. PCI Express Base Specification, 2.2.7, 2.3.1; pcie-bench
 * (SIGCOMM 2018).
 */
#include "models/dma_engine.h"

#include "sim/pool.h"

#define T struct dma_engine
static const struct field dma_engine_fields[] = {
	PARAM_BYTES(T, width, 64, 1, 1024, "data path", "documented: open 100G RNIC, 512 bits"),
	PARAM(T, tags, 64, 1, 1024, "tag", "reads on the way",
	      "documented: 64 in open RNIC RTL, 256 in others"),
	PARAM_BYTES(T, mrrs, 512, 128, 4096, "maximum read request", "measured: pcie-bench hosts"),
	PARAM(T, per_client, 32, 1, 1024, "req", "requests of a client between grant and answer",
	      "declared"),
	PARAM(T, ahead, 16, 1, 1024, "req", "requests translated ahead in the queue", "declared"),
	PARAM(T, pipeline, 4, 0, 1024, "cyc", "grant to first TLP at best", "declared"),
	PARAM_BYTES(T, seg_size, 128, 1, 4096, "segment",
		    "fitted: pcie-bench, dips past each 128 B"),
	PARAM_TIME(T, read_seg_time, 0, 0, PS_PER_US, "reads: time a segment to hand over",
		   "declared: off; 9 ns fits pcie-bench"),
	PARAM_TIME(T, write_seg_time, 0, 0, PS_PER_US,
		   "writes: time a segment, besides the data path",
		   "declared: off; 12.8 ns fits pcie-bench"),
	PARAM_TIME(T, read_req_time, 0, 0, PS_PER_US, "reads: time a request to hand over",
		   "declared: off; 3 ns fits pcie-bench"),
	PARAM_TIME(T, read_kib_time, 0, 0, PS_PER_US, "reads: time 1 KiB to hand over",
		   "declared: off; 82 ns fits pcie-bench"),
	PARAM_TIME(T, write_req_time, 0, 0, PS_PER_US, "writes: time a request",
		   "declared: off; 6.0 ns fits pcie-bench"),
	PORT_IN_N(T, req, DMA_CLIENTS, dma_req, "requests, one port a client"),
	PORT_OUT_N(T, rsp, DMA_CLIENTS, dma_rsp, "answers; of reads in any order"),
	PORT_OUT(T, xlate_req, xlate_req, "key checks and translations"),
	PORT_IN(T, xlate_rsp, xlate_rsp, "their answers"),
	PORT_OUT(T, tlp, tlp, "to the link"),
	PORT_IN(T, cpl, tlp, "completions of reads"),
	STAT(T, reads, "req", "reads done"),
	STAT(T, writes, "req", "writes done"),
	STAT(T, read_b, "B", "bytes read"),
	STAT(T, write_b, "B", "bytes written"),
	STAT(T, read_tlps, "TLP", "read requests sent"),
	STAT(T, write_tlps, "TLP", "trains of write TLPs sent"),
	STAT(T, xlates, "req", "pages translated"),
	STAT(T, errors, "req", "requests ended by a failed translation"),
	STAT(T, tag_wait_ps, "ps", "time without a tag for a translated read"),
	STAT(T, read_busy_ps, "ps", "time that handing over reads took"),
	HIST(T, read_time, "ps", "grant of a read to its last byte"),
	SIGNAL(T, in_phys, 16, "requests in the queue of bus addresses"),
	SIGNAL(T, in_virt, 16, "requests in the queue that is translated"),
	SIGNAL(T, tags_used, 16, "reads on the way"),
	FIELDS_END
};
#undef T

static void list_put(struct dma_engine *d, struct dma_list *l, uint32_t i)
{
	d->ctx[i].next = DMA_CTX_NONE;
	if (l->head == DMA_CTX_NONE)
		l->head = i;
	else
		d->ctx[l->tail].next = i;
	l->tail = i;
}

static uint32_t list_take(struct dma_engine *d, struct dma_list *l)
{
	uint32_t i = l->head;

	l->head = d->ctx[i].next;
	return i;
}

static uint32_t queue_of(const struct dma_req *r)
{
	/* a program may write that number as its key: payload is always translated, and this key is no one's */
	bool is_payload =
		r->cls == DMA_PAYLOAD_READ || r->cls == DMA_PAYLOAD_WRITE || r->cls == DMA_ATOMIC;

	return r->key == KEY_PHYS && !is_payload ? DMA_PHYS : DMA_VIRT;
}

/* The answer of a request that is over. */
static void finish(struct dma_engine *d, uint32_t i)
{
	struct dma_ctx *c = &d->ctx[i];

	if (c->status != XLATE_OK) {
		d->errors++;
	} else if (c->req.is_write) {
		d->writes++;
		d->write_b += c->req.len;
	} else {
		d->reads++;
		d->read_b += c->req.len;
		hist_add(&d->read_time, d->b.now_ps - c->granted_ps);
	}
	list_put(d, &d->done[c->client], i);
	d->to_answer |= 1u << c->client;
}

/* A read that is reassembled is handed over, segment by segment, behind those before it. */
static void hand_over(struct dma_engine *d, uint32_t i)
{
	struct dma_ctx *c = &d->ctx[i];
	uint64_t time = d->read_req_time + ceil_div(c->req.len, d->seg_size) * d->read_seg_time +
			c->req.len * d->read_kib_time / KIB;

	d->over_ps = max_u64(d->over_ps, d->b.now_ps) + time;
	d->read_busy_ps += time;
	c->ready_cyc = domain_cycle_at(d->b.dom, d->over_ps);
	list_put(d, &d->handed, i);
}

/* Finish the reads that are handed over. Returns when the next one will be. */
static uint64_t finish_handed(struct dma_engine *d)
{
	while (d->handed.head != DMA_CTX_NONE) {
		if (d->ctx[d->handed.head].ready_cyc > d->b.cycle)
			return d->ctx[d->handed.head].ready_cyc;
		finish(d, list_take(d, &d->handed));
	}
	return CYCLE_NEVER;
}

/* What becomes of a request that is out of its queue and has nothing on the way. */
static void finish_if_over(struct dma_engine *d, uint32_t i)
{
	const struct dma_ctx *c = &d->ctx[i];

	if (c->is_queued || c->tags)
		return;
	if (d->hands_over && !c->req.is_write && c->status == XLATE_OK)
		hand_over(d, i);
	else
		finish(d, i);
}

static void leave_queue(struct dma_engine *d, uint32_t q)
{
	uint32_t i = list_take(d, &d->queue[q]);
	struct dma_ctx *c = &d->ctx[i];

	c->is_queued = false;
	d->queued[c->client][q]--;
	*(q == DMA_PHYS ? &d->in_phys : &d->in_virt) -= 1;
	finish_if_over(d, i);
}

/* A completion: its bytes are in the buffer already. Returns when the next one can be taken. */
static uint64_t take_cpl(struct dma_engine *d)
{
	const struct tlp *t = tlp_peek(d->cpl);
	struct dma_tag *tag;

	if (!t)
		return CYCLE_NEVER;
	if (d->b.cycle < d->cpl_free_cyc)
		return d->cpl_free_cyc;
	SIM_CHECK(t->kind == TLP_CPLD && t->tag < d->tags, d);
	tag = &d->tag[t->tag];
	SIM_CHECK(tag->ctx != DMA_CTX_NONE && t->len <= tag->left, d);
	tag->left -= t->len;
	d->cpl_free_cyc = d->b.cycle + ceil_div(t->len, d->width);
	if (tag->left == 0) {
		d->ctx[tag->ctx].tags--;
		finish_if_over(d, tag->ctx);
		tag->ctx = DMA_CTX_NONE;
		d->free_tag[d->n_free_tags++] = t->tag;
		d->tags_used--;
	}
	chan_pop(d->cpl);
	return CYCLE_NEVER;
}

/* One answer to each client. Returns when the next can be given. */
static uint64_t answer(struct dma_engine *d)
{
	uint64_t next = CYCLE_NEVER;

	for (uint32_t left = d->to_answer; left; left &= left - 1) {
		uint32_t k = (uint32_t)__builtin_ctz(left), i;
		const struct dma_ctx *c;

		if (!chan_can_push(d->rsp[k])) {
			chan_stall(d->rsp[k]);
			continue;
		}
		i = list_take(d, &d->done[k]);
		c = &d->ctx[i];
		dma_rsp_push(d->rsp[k],
			     &(struct dma_rsp){ .tag = c->req.tag, .status = c->status });
		list_put(d, &d->free[k], i);
		if (d->done[k].head != DMA_CTX_NONE)
			next = d->b.cycle + 1;
		else
			d->to_answer &= ~(1u << k);
	}
	return next;
}

static bool lacks_pages(const struct dma_ctx *c)
{
	return c->status == XLATE_OK && c->translated < c->req.len;
}

static void take_xlate_rsp(struct dma_engine *d)
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
	while (d->first_lacking != DMA_CTX_NONE && !lacks_pages(&d->ctx[d->first_lacking]))
		d->first_lacking = d->ctx[d->first_lacking].next;
	chan_pop(d->xlate_rsp);
}

/* The oldest request that lacks a page, among those that are looked at; or DMA_CTX_NONE. */
static uint32_t find_unasked(const struct dma_engine *d)
{
	uint32_t i = d->first_lacking;

	while (i != DMA_CTX_NONE &&
	       d->ctx[i].order - d->ctx[d->queue[DMA_VIRT].head].order < d->ahead) {
		const struct dma_ctx *c = &d->ctx[i];

		if (!c->is_asking && lacks_pages(c) && c->n_runs < DMA_RUNS)
			return i;
		i = c->next;
	}
	return DMA_CTX_NONE;
}

/* Ask for one page. False when the port refused. */
static bool ask(struct dma_engine *d)
{
	uint32_t i = find_unasked(d);
	struct dma_ctx *c;

	if (i == DMA_CTX_NONE)
		return true;
	if (!chan_can_push(d->xlate_req)) {
		chan_stall(d->xlate_req);
		return false;
	}
	c = &d->ctx[i];
	xlate_req_push(d->xlate_req, &(struct xlate_req){ .va = c->req.addr + c->translated,
							  .len = c->req.len - c->translated,
							  .key = c->req.key,
							  .tag = i,
							  .pd = c->req.pd,
							  .access = c->req.access });
	c->is_asking = true;
	return true;
}

/*
 * When the head of queue 'q' can be sent: now, a later cycle, or CYCLE_NEVER when it waits for
 * something else.
 */
static uint64_t sendable_at(const struct dma_engine *d, uint32_t q)
{
	const struct dma_ctx *c;

	if (d->queue[q].head == DMA_CTX_NONE)
		return CYCLE_NEVER;
	c = &d->ctx[d->queue[q].head];
	if (c->n_runs == 0 || (!c->req.is_write && d->n_free_tags == 0))
		return CYCLE_NEVER;
	return max_u64(max_u64(d->free_cyc[c->req.is_write], c->ready_cyc), d->b.cycle);
}

/* Occupy the sending side for 'n' bytes of request 'c'. */
static void occupy(struct dma_engine *d, const struct dma_ctx *c, uint32_t n)
{
	uint64_t *busy = &d->free_ps[c->req.is_write];

	*busy = max_u64(*busy, d->b.now_ps);
	if (c->req.is_write)
		*busy += ceil_div(n, d->seg_size) * d->write_seg_time +
			 (c->sent ? 0 : d->write_req_time) +
			 domain_edge(d->b.dom, d->b.cycle + ceil_div(n, d->width)) - d->b.now_ps;
	/* the first cycle whose end lies behind the end of what is being sent */
	d->free_cyc[c->req.is_write] = domain_cycle_at(d->b.dom, *busy + 1) - 1;
}

static uint16_t take_tag(struct dma_engine *d, uint32_t ctx, uint32_t len)
{
	uint32_t tag = d->free_tag[--d->n_free_tags];

	d->tag[tag] = (struct dma_tag){ ctx, len };
	d->ctx[ctx].tags++;
	d->tags_used++;
	d->read_tlps++;
	return (uint16_t)tag;
}

/* Send one TLP (reads) or train (writes) of the head of queue 'q'. */
static void send(struct dma_engine *d, uint32_t q)
{
	const struct nic *nic = d->b.env;
	uint32_t i = d->queue[q].head;
	struct dma_ctx *c = &d->ctx[i];
	struct dma_run *r = &c->run[0];
	uint64_t most = c->req.is_write ? PAGE_4K : d->mrrs;
	uint32_t n = (uint32_t)min_u64(min_u64(r->len, most), PAGE_4K - r->pa % PAGE_4K);
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
	d->last_queue = q;
	if (c->sent == c->req.len)
		leave_queue(d, q);
}

static bool has_failed(const struct dma_engine *d, uint32_t i)
{
	return i != DMA_CTX_NONE && d->ctx[i].status != XLATE_OK;
}

/* Drop the head of the translated queue when its translation failed. */
static void drop_failed(struct dma_engine *d)
{
	uint32_t i = d->queue[DMA_VIRT].head;

	if (!has_failed(d, i))
		return;
	if (d->ctx[i].req.is_write)
		buf_unref(&d->b, d->ctx[i].req.buf);
	leave_queue(d, DMA_VIRT);
}

/* A translated read has no tag. */
static bool lacks_tag(const struct dma_engine *d)
{
	bool is_lacking = false;

	for (uint32_t q = 0; q < DMA_QUEUES && d->n_free_tags == 0; q++) {
		uint32_t i = d->queue[q].head;

		is_lacking |= i != DMA_CTX_NONE && d->ctx[i].n_runs && !d->ctx[i].req.is_write;
	}
	return is_lacking;
}

static bool is_watching_tags(const struct dma_engine *d)
{
	return d->tag_wait_from_ps != TIME_NEVER;
}

/* Time without a tag: opened when a translated read has none, closed when there is one again. */
static void watch_tags(struct dma_engine *d)
{
	if (lacks_tag(d) == is_watching_tags(d))
		return;
	if (is_watching_tags(d)) {
		d->tag_wait_ps += d->b.now_ps - d->tag_wait_from_ps;
		d->tag_wait_from_ps = TIME_NEVER;
	} else {
		d->tag_wait_from_ps = d->b.now_ps;
	}
}

/* The queues take turns. False when the port refused. */
static bool send_next(struct dma_engine *d)
{
	uint32_t q = 1 - d->last_queue;

	drop_failed(d);
	if (sendable_at(d, q) > d->b.cycle)
		q = 1 - q;
	if (sendable_at(d, q) > d->b.cycle)
		return true;
	if (!chan_can_push(d->tlp)) {
		chan_stall(d->tlp);
		return false;
	}
	send(d, q);
	return true;
}

/* When to look at the queues again, as they are at the end of a step; ports that refused will wake. */
static uint64_t queues_next(const struct dma_engine *d, bool is_tlp_free, bool is_xlate_free)
{
	uint64_t at = CYCLE_NEVER;

	if (has_failed(d, d->queue[DMA_VIRT].head) || lacks_tag(d) != is_watching_tags(d) ||
	    (is_xlate_free && find_unasked(d) != DMA_CTX_NONE))
		return d->b.cycle + 1;
	if (is_tlp_free)
		at = min_u64(sendable_at(d, DMA_PHYS), sendable_at(d, DMA_VIRT));
	return max_u64(at, d->b.cycle + 1);
}

/* True when the head of client 'k' may be granted. */
static bool can_grant(const struct dma_engine *d, uint32_t k)
{
	const struct dma_req *r = d->req[k] ? dma_req_peek(d->req[k]) : NULL;

	return r && d->free[k].head != DMA_CTX_NONE && d->queued[k][1 - queue_of(r)] == 0;
}

/* The client whose turn it is among those that may be granted, or DMA_CLIENTS. */
static uint32_t next_client(const struct dma_engine *d)
{
	uint32_t k = d->last_client;

	if (!(d->b.in_pending & d->req_bits))
		return DMA_CLIENTS;
	for (uint32_t n = 0; n < DMA_CLIENTS; n++) {
		k = k + 1 == DMA_CLIENTS ? 0 : k + 1;
		if (can_grant(d, k))
			return k;
	}
	return DMA_CLIENTS;
}

/* Grant one request. Returns when to grant the next. */
static uint64_t grant(struct dma_engine *d)
{
	uint32_t k = next_client(d), i, q;
	struct dma_ctx *c;

	if (k == DMA_CLIENTS)
		return CYCLE_NEVER;
	i = list_take(d, &d->free[k]);
	c = &d->ctx[i];
	*c = (struct dma_ctx){ .req = *dma_req_peek(d->req[k]),
			       .client = (uint8_t)k,
			       .is_queued = true,
			       .granted_ps = d->b.now_ps,
			       .ready_cyc = d->b.cycle + max_u64(d->pipeline, 1) };
	SIM_CHECK(c->req.len > 0, d);
	q = queue_of(&c->req);
	if (q == DMA_PHYS) {
		c->run[c->n_runs++] = (struct dma_run){ c->req.addr, c->req.len };
	} else {
		c->order = d->virt_grants++;
		if (d->first_lacking == DMA_CTX_NONE)
			d->first_lacking = i;
	}
	list_put(d, &d->queue[q], i);
	d->queued[k][q]++;
	*(q == DMA_PHYS ? &d->in_phys : &d->in_virt) += 1;
	d->last_client = k;
	chan_pop(d->req[k]);
	return next_client(d) == DMA_CLIENTS ? CYCLE_NEVER : d->b.cycle + 1;
}

static uint64_t dma_engine_step(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;
	uint64_t next = take_cpl(d);
	bool is_tlp_free, is_xlate_free;

	next = min_u64(next, finish_handed(d));
	take_xlate_rsp(d);
	is_tlp_free = send_next(d);
	watch_tags(d);
	is_xlate_free = ask(d);
	next = min_u64(next, answer(d));
	next = min_u64(next, grant(d));
	return min_u64(next, queues_next(d, is_tlp_free, is_xlate_free));
}

static void dma_engine_build(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;

	d->hands_over = d->read_req_time || d->read_seg_time || d->read_kib_time;
	d->ctx = block_alloc(b, (size_t)DMA_CLIENTS * d->per_client, sizeof(*d->ctx));
	d->tag = block_alloc(b, d->tags, sizeof(*d->tag));
	d->free_tag = block_alloc(b, d->tags, sizeof(*d->free_tag));
	for (uint32_t k = 0; k < DMA_CLIENTS; k++)
		if (d->req[k])
			d->req_bits |= 1ull << d->req[k]->in_bit;
}

static void dma_engine_reset(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;

	for (uint32_t q = 0; q < DMA_QUEUES; q++)
		d->queue[q].head = DMA_CTX_NONE;
	for (uint32_t k = 0; k < DMA_CLIENTS; k++) {
		d->free[k].head = d->done[k].head = DMA_CTX_NONE;
		for (uint32_t i = 0; i < d->per_client; i++)
			list_put(d, &d->free[k], k * d->per_client + i);
		d->queued[k][DMA_PHYS] = d->queued[k][DMA_VIRT] = 0;
	}
	for (uint32_t i = 0; i < d->tags; i++) {
		d->tag[i] = (struct dma_tag){ DMA_CTX_NONE, 0 };
		d->free_tag[i] = d->tags - 1 - i;
	}
	d->n_free_tags = d->tags;
	d->first_lacking = DMA_CTX_NONE;
	d->virt_grants = d->to_answer = 0;
	d->last_client = DMA_CLIENTS - 1;
	d->last_queue = DMA_VIRT;
	d->free_ps[0] = d->free_ps[1] = d->free_cyc[0] = d->free_cyc[1] = 0;
	d->cpl_free_cyc = d->over_ps = 0;
	d->handed.head = DMA_CTX_NONE;
	d->tag_wait_from_ps = TIME_NEVER;
	d->in_phys = d->in_virt = d->tags_used = 0;
}

const struct block_class dma_engine_class = {
	.name = "dma_engine",
	.impl = "c",
	.size = sizeof(struct dma_engine),
	.fields = dma_engine_fields,
	.doc = "transfers between buffers and host memory: translation, splits, tags, reassembly",
	.build = dma_engine_build,
	.reset = dma_engine_reset,
	.step = dma_engine_step,
};
