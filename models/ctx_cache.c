/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_cache.c - caches of contexts: of queue pairs (send side, receive side, responder resources) and completion queues
 *
 * Hardware: a set-associative cache whose backing store is host memory, as in the open 200 MHz RNIC
 * (QPC: 256 sets of 2 ways, 192 B in a 256 B slot; CQC: 256 sets, 64 B; hit in 2 cycles). One class
 * for each kind of context, an instance for each user: qpc_tx, qpc_rx, cqc, rsc.
 *
 * Modelled: when the context is there, and the reads that bring it: real bytes by DMA, several
 * outstanding. Requests for a context that is on its way wait for that read. Answers come in the
 * order of the requests, so a hit waits behind an earlier miss. Every use changes a context (a QP's
 * PSNs, a CQ's producer), so the one that is replaced is written back, unless that is turned off:
 * before any later read, and in the buffer in which its successor came, so that an arrival never
 * waits for anything and the DMA engine's answers never for this block.
 *
 * Not modelled: the fields themselves, which blocks read from the NIC's set-up or hold as their own
 * state. In their place the last 8 bytes count the uses (big-endian), so that a write-back that got lost shows.
 *
 * Expected: one request a cycle while all hit, answered hit_cyc cycles later; a miss is answered
 * in the cycle after its read came back.
 */
#include "models/ctx_cache.h"

#include <string.h>

#define NO_MISS UINT32_MAX
#define TAG_WRITE_BACK UINT32_MAX

#define OPEN_RTL "documented: 200 MHz open RNIC, "
#define T struct ctx_cache
#define ROWS(n_sets, bytes, why_sets, why_bytes) \
	PARAM_ENUM(T, sets, n_sets, assoc_set_counts, "sets", OPEN_RTL why_sets), \
		PARAM(T, ways, 2, 1, ASSOC_MAX_LINES, "", "ways", OPEN_RTL "2-way LRU"), \
		PARAM_ENUM(T, policy, ASSOC_LRU, assoc_policies, \
			   "which line of a set is replaced", OPEN_RTL "2-way LRU"), \
		PARAM_BYTES(T, entry, bytes, 16, CTX_SLOT, \
			    "bytes of a context: read on a miss, written on a write-back", \
			    why_bytes), \
		PARAM(T, hit_cyc, 2, 1, 64, "cyc", "from a request to its answer on a hit", \
		      OPEN_RTL "hit 2 cycles"), \
		PARAM(T, queue, 16, 1, 1024, "req", "requests taken and not yet answered", \
		      "declared"), \
		PARAM(T, max_misses, 8, 1, 256, "", "context reads outstanding", "declared"), \
		PARAM_BOOL(T, write_back, 1, "write a context back when it is replaced", \
			   "declared"), \
		PARAM(T, write_backs, 8, 1, 256, "", "write-backs under way", "declared"), \
		PORT_IN(T, req, ctx_req, "contexts wanted"), \
		PORT_OUT(T, rsp, ctx_rsp, \
			 "contexts that are there, in the order of the requests"), \
		PORT_OUT(T, fill, dma_req, "reads and write-backs of contexts"), \
		PORT_IN(T, fill_rsp, dma_rsp, "their completions, in any order"), \
		STAT(T, requests, "req", "requests taken"), \
		STAT(T, hits, "req", "requests whose context was there"), \
		STAT(T, misses, "req", "contexts read"), \
		STAT(T, merges, "req", "requests whose context was on its way"), \
		STAT(T, evictions, "ctx", "contexts replaced by others"), \
		STAT(T, written_back, "ctx", "of these, written to host memory"), \
		STAT(T, miss_ps, "ps", "from the read of a context to its arrival, sum"), \
		STAT(T, slot_wait_ps, "ps", \
		     "time that the oldest request wanted a read and all were outstanding"), \
		SIGNAL(T, queued, 11, "requests not yet answered"), \
		SIGNAL(T, missing, 9, "reads outstanding"), \
		SIGNAL(T, index, 24, "QP or CQ of the request last taken"), \
		SIGNAL(T, is_hit, 1, "its context was there"), FIELDS_END

static const struct field qpc_fields[] = { ROWS(8, 256, "QPC 256 sets",
						OPEN_RTL "192 B in a 256 B slot of host memory") };
static const struct field rsc_fields[] = { ROWS(8, 64, "as its QPC",
						"declared: as mlx5's other small contexts") };
static const struct field cqc_fields[] = { ROWS(8, 64, "CQC 256 sets",
						OPEN_RTL "CQC 64 or 128 B") };
#undef T

/* ---- where contexts are ---- */

/* What the two sides of a QP change lies apart, so that their write-backs do not meet. */
static uint64_t qpc_pa(const struct ctx_cache *c, uint32_t qpi)
{
	const struct nic *nic = c->b.env;

	SIM_CHECK(qpi < nic->n_qp, &c->b);
	return nic->qp[qpi].qpc_pa + (c->is_rx ? CTX_SLOT : 0);
}

static uint64_t rsc_pa(const struct ctx_cache *c, uint32_t qpi)
{
	const struct nic *nic = c->b.env;

	SIM_CHECK(qpi < nic->n_qp, &c->b);
	return nic->qp[qpi].qpc_pa + 2 * CTX_SLOT;
}

static uint64_t cqc_pa(const struct ctx_cache *c, uint32_t cqi)
{
	const struct nic *nic = c->b.env;

	SIM_CHECK(cqi < nic->n_cq, &c->b);
	return nic->cq[cqi].cqc_pa;
}

static uint32_t set_of(const struct ctx_cache *c, uint32_t index)
{
	return index & (c->tags.n_sets - 1);
}

static void count_uses(struct ctx_cache *c, uint32_t line, uint32_t n)
{
	uint8_t *at = c->bytes + (size_t)(line + 1) * c->entry - sizeof(uint64_t);
	uint64_t uses;

	memcpy(&uses, at, sizeof(uses));
	uses = __builtin_bswap64(__builtin_bswap64(uses) + n);
	memcpy(at, &uses, sizeof(uses));
	c->is_dirty[line] = true;
}

/* ---- reads and write-backs, which share a port ---- */

/* One message a cycle: a port that is busy is free in the next. */
static bool can_push(struct ctx_cache *c)
{
	if (c->pushed_cyc == c->b.cycle)
		return false;
	if (chan_can_push(c->fill))
		return true;
	chan_stall(c->fill);
	return false;
}

static void push(struct ctx_cache *c, const struct dma_req *r)
{
	dma_req_push(c->fill, r);
	c->pushed_cyc = c->b.cycle;
}

/* The outstanding read of 'index', or, to find a free place, the first with is_used as asked. */
static uint32_t find_miss(const struct ctx_cache *c, bool is_used, uint32_t index)
{
	for (uint32_t i = 0; i < c->max_misses; i++)
		if (c->miss[i].is_used == is_used && (!is_used || c->miss[i].index == index))
			return i;
	return NO_MISS;
}

/* Start a read. False when there is no place or no room for it now. */
static bool start_miss(struct ctx_cache *c, uint32_t index, uint32_t *miss)
{
	uint32_t i = c->missing == c->max_misses ? NO_MISS : find_miss(c, false, 0);
	uint32_t buf;

	if (i == NO_MISS) { /* the next completion wakes the block */
		if (c->stalled_ps == TIME_NEVER)
			c->stalled_ps = c->b.now_ps;
		return false;
	}
	/* write-backs go first: a read of the same context comes behind */
	if (c->n_victims || !can_push(c))
		return false;
	if (!pool_can_alloc(c->pool)) {
		pool_stall(c->pool);
		return false;
	}
	if (c->stalled_ps != TIME_NEVER)
		c->slot_wait_ps += c->b.now_ps - c->stalled_ps;
	c->stalled_ps = TIME_NEVER;
	buf = pool_alloc(c->pool);
	push(c, &(struct dma_req){ .addr = c->context_pa(c, index),
				   .key = KEY_PHYS,
				   .len = c->entry,
				   .buf = buf,
				   .tag = i,
				   .cls = c->cls });
	c->miss[i] = (struct ctx_miss){
		.is_used = true, .index = index, .buf = buf, .from_ps = c->b.now_ps
	};
	c->missing++;
	c->misses++;
	*miss = i;
	return true;
}

/* Send the oldest write-back. False when it has to wait, or there is none. */
static bool write_back(struct ctx_cache *c)
{
	struct ctx_victim *v = &c->victim[c->victim_head];

	if (c->n_victims == 0 || !can_push(c))
		return false;
	push(c, &(struct dma_req){ .addr = c->context_pa(c, v->index),
				   .key = KEY_PHYS,
				   .len = c->entry,
				   .buf = v->buf,
				   .tag = TAG_WRITE_BACK,
				   .is_write = 1,
				   .cls = c->cls });
	c->victim_head = c->victim_head + 1 == c->max_misses ? 0 : c->victim_head + 1;
	c->n_victims--;
	c->written_back++;
	return true;
}

/* The context in 'buf' takes the place of another, whose bytes, if they have to be written, go into 'buf'. */
static uint32_t replace(struct ctx_cache *c, uint32_t index, uint32_t buf)
{
	uint32_t set = set_of(c, index), line = assoc_victim(&c->tags, set), at;
	uint8_t *bytes = c->bytes + (size_t)line * c->entry, old[CTX_SLOT];
	bool is_valid = c->tags.is_valid[line];
	uint32_t old_index = (uint32_t)c->tags.tag[line];

	c->evictions += is_valid;
	memcpy(old, bytes, c->entry);
	memcpy(bytes, buf_data(c->b.sim, buf), c->entry);
	if (is_valid && c->write_back && c->is_dirty[line]) {
		memcpy(buf_data(c->b.sim, buf), old, c->entry);
		at = c->victim_head + c->n_victims++;
		c->victim[at < c->max_misses ? at : at - c->max_misses] =
			(struct ctx_victim){ old_index, buf };
	} else {
		buf_unref(&c->b, buf);
	}
	return assoc_fill(&c->tags, set, index);
}

/* ---- what a step does ---- */

static void leave(struct ctx_cache *c)
{
	c->head = c->head + 1 == c->queue ? 0 : c->head + 1;
	c->queued--;
}

/* Answers that were given ahead, of cycles before 'end'. True when there were any. */
static bool leave_ahead(struct ctx_cache *c, uint64_t end)
{
	uint32_t before = c->ahead;

	while (c->ahead && c->wait[c->head].ready_cyc < end) {
		leave(c);
		c->ahead--;
	}
	return c->ahead != before;
}

/* The last of the queue has hit: answer it ahead if all before it were. */
static void answer_ahead(struct ctx_cache *c, struct ctx_wait *w)
{
	struct ctx_rsp rsp = { .index = w->req.index, .tag = w->req.tag };
	uint64_t cyc = max_u64(w->ready_cyc, c->last_cyc + 1);

	if (c->ahead + 1 != c->queued || !ctx_rsp_push_ahead(c->rsp, &rsp, cyc))
		return;
	w->ready_cyc = c->last_cyc = cyc;
	c->ahead++;
}

static bool take_request(struct ctx_cache *c)
{
	const struct ctx_req *req = ctx_req_peek(c->req);
	struct ctx_wait w = { .miss = NO_MISS, .ready_cyc = c->b.cycle + c->hit_cyc };
	uint32_t line, at;

	if (!req || c->queued == c->queue)
		return false;
	w.req = *req;
	line = assoc_find(&c->tags, set_of(c, req->index), req->index);
	if (line != ASSOC_NONE) {
		assoc_touch(&c->tags, set_of(c, req->index), line);
		count_uses(c, line, 1);
		c->hits++;
	} else {
		w.miss = find_miss(c, true, req->index);
		if (w.miss != NO_MISS)
			c->merges++;
		else if (!start_miss(c, req->index, &w.miss))
			return false;
	}
	assoc_note(&c->tags, ASSOC_USED, req->index);
	chan_pop(c->req);
	at = c->head + c->queued;
	at = at < c->queue ? at : at - c->queue;
	c->wait[at] = w;
	c->queued++;
	c->requests++;
	c->index = w.req.index;
	c->is_hit = line != ASSOC_NONE;
	if (c->is_hit)
		answer_ahead(c, &c->wait[at]);
	return true;
}

static bool answer(struct ctx_cache *c)
{
	const struct ctx_wait *w = &c->wait[c->head];
	struct ctx_rsp rsp;

	if (c->ahead)
		return leave_ahead(c, c->b.cycle + 1);
	if (c->queued == 0 || w->miss != NO_MISS || w->ready_cyc > c->b.cycle)
		return false;
	if (!chan_can_push(c->rsp)) {
		chan_stall(c->rsp);
		return false;
	}
	rsp = (struct ctx_rsp){ .index = w->req.index, .tag = w->req.tag };
	ctx_rsp_push(c->rsp, &rsp);
	leave(c);
	return true;
}

/* The read is over: those that wait for it are answered from the next cycle on. */
static uint32_t release(struct ctx_cache *c, uint32_t miss)
{
	uint32_t n = 0;

	for (uint32_t k = 0, at = c->head; k < c->queued; k++) {
		struct ctx_wait *w = &c->wait[at];

		if (w->miss == miss) {
			w->miss = NO_MISS;
			w->ready_cyc = c->b.cycle + 1;
			n++;
		}
		at = at + 1 == c->queue ? 0 : at + 1;
	}
	return n;
}

static bool take_fill(struct ctx_cache *c)
{
	const struct dma_rsp *rsp = dma_rsp_peek(c->fill_rsp);
	struct ctx_miss *m;
	uint32_t line;

	if (!rsp)
		return false;
	SIM_CHECK(rsp->status == XLATE_OK, &c->b);
	if (rsp->tag == TAG_WRITE_BACK) {
		chan_pop(c->fill_rsp);
		return true;
	}
	SIM_CHECK(rsp->tag < c->max_misses && c->miss[rsp->tag].is_used, &c->b);
	m = &c->miss[rsp->tag];
	line = replace(c, m->index, m->buf);
	count_uses(c, line, release(c, rsp->tag));
	c->miss_ps += c->b.now_ps - m->from_ps;
	m->is_used = false;
	c->missing--;
	chan_pop(c->fill_rsp);
	return true;
}

static uint64_t ctx_cache_step(struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;
	const struct ctx_wait *w;
	bool wrote, took, answered, filled;

	leave_ahead(c, b->cycle);
	wrote = write_back(c);
	took = take_request(c);
	answered = answer(c);
	filled = take_fill(c);

	/* what the answer, the completion or the write-back frees can be taken from the next cycle on */
	if (!took && (answered || filled || wrote) && ctx_req_peek(c->req))
		return b->cycle + 1;
	if (c->n_victims && (filled || wrote))
		return b->cycle + 1;
	w = &c->wait[c->head];
	if (!c->queued || w->miss != NO_MISS || (c->ahead == c->queued && c->queued < c->queue))
		return CYCLE_NEVER;
	if (answered || filled || w->ready_cyc > b->cycle)
		return max_u64(w->ready_cyc, b->cycle + 1);
	return CYCLE_NEVER; /* refused */
}

/* ---- the classes ---- */

static const char *check(const struct block *b, const char **param)
{
	const struct ctx_cache *c = (const struct ctx_cache *)b;

	*param = "ways";
	return assoc_check(1u << c->sets, c->ways, c->policy);
}

static void build(struct ctx_cache *c, struct block *b)
{
	size_t lines = (size_t)c->ways << c->sets;

	assoc_build(&c->tags, b, "contexts", 1u << c->sets, c->ways, c->policy);
	c->bytes = block_alloc(b, lines, c->entry);
	c->is_dirty = block_alloc(b, lines, sizeof(*c->is_dirty));
	c->wait = block_alloc(b, c->queue, sizeof(*c->wait));
	c->miss = block_alloc(b, c->max_misses, sizeof(*c->miss));
	c->victim = block_alloc(b, c->max_misses, sizeof(*c->victim));
	c->pool = pool_create(b, c->max_misses + c->write_backs, c->entry);
}

static void rsc_build(struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;

	c->context_pa = rsc_pa;
	c->cls = DMA_QPC;
	build(c, b);
}

static void qpc_build(struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;
	size_t n = strlen(b->name);

	c->context_pa = qpc_pa;
	c->cls = DMA_QPC;
	c->is_rx = n > 3 && strcmp(b->name + n - 3, "_rx") == 0;
	build(c, b);
}

static void cqc_build(struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;

	c->context_pa = cqc_pa;
	c->cls = DMA_CQC;
	build(c, b);
}

static void ctx_cache_reset(struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;

	assoc_reset(&c->tags);
	for (uint32_t i = 0; i < c->max_misses; i++)
		c->miss[i].is_used = false;
	c->head = c->queued = c->ahead = c->missing = c->index = 0;
	c->last_cyc = 0;
	c->victim_head = c->n_victims = 0;
	c->is_hit = false;
	c->pushed_cyc = CYCLE_NEVER;
	c->stalled_ps = TIME_NEVER;
}

const struct block_class qpc_cache_class = {
	.name = "qpc_cache",
	.impl = "c",
	.size = sizeof(struct ctx_cache),
	.fields = qpc_fields,
	.doc = "cache of queue pair contexts",
	.build = qpc_build,
	.reset = ctx_cache_reset,
	.step = ctx_cache_step,
	.check = check,
};

const struct block_class cqc_cache_class = {
	.name = "cqc_cache",
	.impl = "c",
	.size = sizeof(struct ctx_cache),
	.fields = cqc_fields,
	.doc = "cache of completion queue contexts",
	.build = cqc_build,
	.reset = ctx_cache_reset,
	.step = ctx_cache_step,
	.check = check,
};

const struct block_class rsc_cache_class = {
	.name = "rsc_cache",
	.impl = "c",
	.size = sizeof(struct ctx_cache),
	.fields = rsc_fields,
	.doc = "cache of responder resources: state of READs and ATOMICs to be answered",
	.build = rsc_build,
	.reset = ctx_cache_reset,
	.step = ctx_cache_step,
	.check = check,
};
