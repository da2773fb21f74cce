/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_engine.c - moves data between the NIC's buffers and host memory
 *
 * Clients are granted round robin into two groups of queues (dma_queue.c): requests with a key are
 * translated page by page (dma_xlate.c), several requests ahead of the one that is being sent;
 * requests with bus addresses have queues of their own, so that the translation tables can be read
 * while requests wait for them. What a client asks for is sent in its order; a client that changes
 * groups waits until its requests left the other one.
 *
 * Modelled: cuts at the maximum read request and at 4 KiB, a tag and room in the completion buffer
 * for every read on the way, reassembly of completions that come in any order, times a segment and a request (as measured devices have): writes take theirs when
 * sent, reads when they are reassembled and handed over, one request after the other. Data path
 * width: writes take ceil(n / width) cycles when sent, reads when their completion arrives. A
 * write's answer comes when its last TLP entered the link, a read's when all of its bytes are
 * there. A request whose translation fails does nothing more and is answered with the status once its reads on the
 * way are back; of a write that fails on a later page, the pages before may have been written. Not
 * modelled: completion timeouts, poisoned data.
 *
 * Waiting is measured from the grant of a request (of its later trains: from when the one before
 * was sent) to the push to the link, and charged, for every class of traffic, to what keeps the first
 * request of its queue; pcie_link goes on from there to the first byte.
 *
 * A client has at most per_client requests between grant and answer: one that does not take its
 * answers cannot hold up the others. PCI Express Base Specification, 2.2.7, 2.3.1; pcie-bench
 * (SIGCOMM 2018).
 */
#include "models/dma_engine.h"

#define WAIT_STATS(c) \
	STAT(T, wait_##c##_xlate_ps, "ps", "waiting for translations, class " #c), \
		STAT(T, wait_##c##_ordering_ps, "ps", \
		     "waiting for older requests that go first, class " #c), \
		STAT(T, wait_##c##_tag_ps, "ps", "waiting for a tag, class " #c), \
		STAT(T, wait_##c##_cpl_buffer_ps, "ps", \
		     "waiting for room for completions, class " #c), \
		STAT(T, wait_##c##_engine_ps, "ps", \
		     "waiting for pipeline, data path or a turn, class " #c), \
		STAT(T, wait_##c##_link_ps, "ps", "waiting for the port to the link, class " #c),

#define T struct dma_engine
static const struct field dma_engine_fields[] = {
	PARAM_BYTES(T, width, 64, 1, 1024, "data path", "documented: open 100G RNIC, 512 bits"),
	PARAM(T, tags, 64, 1, 1024, "tag", "reads on the way",
	      "documented: 64 in open RNIC RTL, 256 in others"),
	PARAM_BYTES(T, cpl_buffer, 128 * KIB, 4096, 16 * MIB,
		    "data that reads on the way may bring: room is kept for all of it",
		    "declared: 256 tags of 512 B"),
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
	STAT(T, write_busy_ps, "ps", "time that sending writes took"),
	STAT(T, read_busy_ps, "ps", "time that handing over reads took"),
#define X(c) WAIT_STATS(c)
	DMA_CLASSES(X)
#undef X
		HIST(T, read_time, "ps", "grant of a read to its last byte"),
	SIGNAL(T, in_phys, 16, "requests in the queue of bus addresses"),
	SIGNAL(T, in_virt, 16, "requests in the queue that is translated"),
	SIGNAL(T, tags_used, 16, "reads on the way"),
	FIELDS_END
};
#undef T

void dma_list_put(struct dma_engine *d, struct dma_list *l, uint32_t i)
{
	d->ctx[i].next = DMA_CTX_NONE;
	if (l->head == DMA_CTX_NONE)
		l->head = i;
	else
		d->ctx[l->tail].next = i;
	l->tail = i;
}

uint32_t dma_list_take(struct dma_engine *d, struct dma_list *l)
{
	uint32_t i = l->head;

	l->head = d->ctx[i].next;
	return i;
}

static uint32_t group_of(const struct dma_req *r)
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
	dma_list_put(d, &d->done[c->client], i);
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
	dma_list_put(d, &d->handed, i);
}

/* Finish the reads that are handed over. Returns when the next one will be. */
static uint64_t finish_handed(struct dma_engine *d)
{
	while (d->handed.head != DMA_CTX_NONE) {
		if (d->ctx[d->handed.head].ready_cyc > d->b.cycle)
			return d->ctx[d->handed.head].ready_cyc;
		finish(d, dma_list_take(d, &d->handed));
	}
	return CYCLE_NEVER;
}

/* What becomes of a request that is out of its queue and has nothing on the way. */
void dma_finish_if_over(struct dma_engine *d, uint32_t i)
{
	const struct dma_ctx *c = &d->ctx[i];

	if (c->is_queued || c->tags)
		return;
	if (d->hands_over && !c->req.is_write && c->status == XLATE_OK)
		hand_over(d, i);
	else
		finish(d, i);
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
	d->cpl_room += t->len;
	d->has_changed = d->is_short;
	d->cpl_free_cyc = d->b.cycle + ceil_div(t->len, d->width);
	if (tag->left == 0) {
		d->ctx[tag->ctx].tags--;
		dma_finish_if_over(d, tag->ctx);
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
		i = dma_list_take(d, &d->done[k]);
		c = &d->ctx[i];
		dma_rsp_push(d->rsp[k],
			     &(struct dma_rsp){ .tag = c->req.tag, .status = c->status });
		dma_list_put(d, &d->free[k], i);
		if (d->done[k].head != DMA_CTX_NONE)
			next = d->b.cycle + 1;
		else
			d->to_answer &= ~(1u << k);
	}
	return next;
}

/* True when the head of client 'k' may be granted. */
static bool can_grant(const struct dma_engine *d, uint32_t k)
{
	const struct dma_req *r = dma_req_peek(d->req[k]);

	return r && d->free[k].head != DMA_CTX_NONE && d->queued[k][1 - group_of(r)] == 0;
}

/* The client whose turn it is among those that may be granted, or DMA_CLIENTS. */
static uint32_t next_client(const struct dma_engine *d)
{
	uint64_t pending = d->b.in_pending & d->req_bits;
	uint32_t asking = 0, later;

	for (; pending; pending &= pending - 1)
		asking |= 1u << d->client_of_bit[__builtin_ctzll(pending)];
	/* those behind the last one granted first */
	later = asking & ~((2u << d->last_client) - 1);
	for (; later; later &= later - 1)
		if (can_grant(d, (uint32_t)__builtin_ctz(later)))
			return (uint32_t)__builtin_ctz(later);
	for (; asking; asking &= asking - 1)
		if (can_grant(d, (uint32_t)__builtin_ctz(asking)))
			return (uint32_t)__builtin_ctz(asking);
	return DMA_CLIENTS;
}

/* Grant one request. Returns when to grant the next. */
static uint64_t grant(struct dma_engine *d)
{
	uint32_t k = next_client(d), i, group;
	struct dma_ctx *c;

	if (k == DMA_CLIENTS)
		return CYCLE_NEVER;
	i = dma_list_take(d, &d->free[k]);
	c = &d->ctx[i];
	*c = (struct dma_ctx){ .req = *dma_req_peek(d->req[k]),
			       .client = (uint8_t)k,
			       .is_queued = true,
			       .granted_ps = d->b.now_ps,
			       .ready_cyc = d->b.cycle + max_u64(d->pipeline, 1) };
	SIM_CHECK(c->req.len > 0, d);
	group = group_of(&c->req);
	dma_enqueue(d, i, group);
	if (group == DMA_PHYS)
		c->run[c->n_runs++] = (struct dma_run){ c->req.addr, c->req.len };
	else
		dma_xlate_add(d, i);
	d->last_client = k;
	chan_pop(d->req[k]);
	return next_client(d) == DMA_CLIENTS ? CYCLE_NEVER : d->b.cycle + 1;
}

static uint64_t dma_engine_step(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;
	uint64_t next = take_cpl(d);
	bool is_xlate_free;

	next = min_u64(next, finish_handed(d));
	if (chan_has(d->xlate_rsp))
		dma_take_xlate_rsp(d);
	/* what the queues wait for changes by what the block does, or ends at a known cycle */
	if (d->has_changed || d->is_refused || d->due_cyc <= b->cycle) {
		d->has_changed = true;
		dma_send_next(d);
	}
	is_xlate_free = !d->n_unasked || dma_ask(d);
	next = min_u64(next, answer(d));
	if (b->in_pending & d->req_bits)
		next = min_u64(next, grant(d));
	if (d->n_unasked && is_xlate_free && dma_wants_page(d))
		next = b->cycle + 1;
	if (d->has_changed)
		dma_queues_note(d);
	return min_u64(next, d->due_cyc);
}

static void dma_engine_build(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;

	d->hands_over = d->read_req_time || d->read_seg_time || d->read_kib_time;
	d->ctx = block_alloc(b, (size_t)DMA_CLIENTS * d->per_client, sizeof(*d->ctx));
	d->tag = block_alloc(b, d->tags, sizeof(*d->tag));
	d->free_tag = block_alloc(b, d->tags, sizeof(*d->free_tag));
	dma_xlate_build(d);
	for (uint32_t k = 0; k < DMA_CLIENTS; k++)
		if (d->req[k]) {
			d->req_bits |= 1ull << d->req[k]->in_bit;
			d->client_of_bit[d->req[k]->in_bit] = (uint8_t)k;
		}
}

static void dma_engine_reset(struct block *b)
{
	struct dma_engine *d = (struct dma_engine *)b;

	dma_queues_reset(d);
	dma_xlate_reset(d);
	for (uint32_t k = 0; k < DMA_CLIENTS; k++) {
		d->free[k].head = d->done[k].head = DMA_CTX_NONE;
		for (uint32_t i = 0; i < d->per_client; i++)
			dma_list_put(d, &d->free[k], k * d->per_client + i);
	}
	for (uint32_t i = 0; i < d->tags; i++) {
		d->tag[i] = (struct dma_tag){ DMA_CTX_NONE, 0 };
		d->free_tag[i] = d->tags - 1 - i;
	}
	d->n_free_tags = d->tags;
	d->cpl_room = d->cpl_buffer;
	d->to_answer = 0;
	d->last_client = DMA_CLIENTS - 1;
	d->cpl_free_cyc = d->over_ps = 0;
	d->handed.head = DMA_CTX_NONE;
	d->tags_used = 0;
}

/* PCI Express Base, 7.5.3.4: the sizes that the device control register can say. */
static const char *dma_engine_check(const struct block *b, const char **param)
{
	const struct dma_engine *d = (const struct dma_engine *)b;

	*param = "mrrs";
	return d->mrrs & (d->mrrs - 1)
		       ? "no maximum read request size; allowed: 128, 256, 512, 1024, 2048, 4096"
		       : NULL;
}

const struct block_class dma_engine_class = {
	.name = "dma_engine",
	.impl = "c",
	.size = sizeof(struct dma_engine),
	.fields = dma_engine_fields,
	.doc = "transfers between buffers and host memory: translation, splits, tags, reassembly",
	.build = dma_engine_build,
	.check = dma_engine_check,
	.reset = dma_engine_reset,
	.step = dma_engine_step,
};
