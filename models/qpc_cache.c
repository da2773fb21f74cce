/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qpc_cache.c - cache of queue pair contexts
 *
 * Hardware: a set-associative LRU cache of 256 B contexts whose backing store is host memory, as
 * in the open 200 MHz RNIC (256 sets, 2 ways, hit in 2 cycles). The send side and the receive
 * side have one each.
 *
 * Modelled: when the context is there, and the reads that bring it: real bytes of qp_attr.qpc_pa
 * by DMA, several outstanding. Requests for a context that is on its way wait for that read.
 * Answers come in the order of the requests, so a hit waits behind an earlier miss.
 *
 * Not modelled: write-back of changed contexts (what changes during a run lives in the requester
 * and the responder), and the fields themselves, which every block reads from the NIC's set-up.
 *
 * Expected: one request a cycle while all hit, answered hit_cyc cycles later; a miss is answered
 * in the cycle after its read came back.
 */
#include "models/assoc.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

#define QPC_BYTES 256u
#define NO_MISS UINT32_MAX

/* A request that was taken and not yet answered. */
struct qpc_wait {
	struct qpc_req req;
	uint64_t ready_cyc; /* when miss is NO_MISS */
	uint32_t miss;      /* the read that it waits for */
};

/* An outstanding read. */
struct qpc_miss {
	bool is_used;
	uint32_t qpi, buf;
};

struct qpc_cache {
	struct block b;
	/* parameters */
	uint8_t sets; /* index in the list of powers of two, that is the logarithm */
	uint8_t ways, hit_cyc;
	uint32_t queue, max_misses;
	/* ports */
	struct chan *req, *rsp, *fill, *fill_rsp;
	/* state */
	struct assoc tags;
	struct qpc_wait *wait; /* ring of 'queue' */
	uint32_t head;
	struct qpc_miss *miss; /* max_misses */
	struct pool *pool;
	/* waves */
	uint32_t queued, missing, qpi;
	bool is_hit;
	/* statistics */
	uint64_t requests, hits, misses, merges;
};

static const char *const set_counts[] = { "1",    "2",    "4",     "8",   "16",   "32",
					  "64",   "128",  "256",   "512", "1024", "2048",
					  "4096", "8192", "16384", NULL };

#define OPEN_RTL "documented: 200 MHz open RNIC, "
#define T struct qpc_cache
static const struct field qpc_cache_fields[] = {
	PARAM_ENUM(T, sets, 8, set_counts, "sets", OPEN_RTL "QPC 256 sets"),
	PARAM(T, ways, 2, 1, 16, "", "ways", OPEN_RTL "2-way LRU"),
	PARAM(T, hit_cyc, 2, 1, 64, "cyc", "from a request to its answer on a hit",
	      OPEN_RTL "hit 2 cycles"),
	PARAM(T, queue, 16, 1, 256, "req", "requests taken and not yet answered", "declared"),
	PARAM(T, max_misses, 8, 1, 64, "", "context reads outstanding", "declared"),
	PORT_IN(T, req, qpc_req, "contexts wanted"),
	PORT_OUT(T, rsp, qpc_rsp, "contexts that are there, in the order of the requests"),
	PORT_OUT(T, fill, dma_req, "reads of contexts"),
	PORT_IN(T, fill_rsp, dma_rsp, "their completions, in any order"),
	STAT(T, requests, "req", "requests taken"),
	STAT(T, hits, "req", "requests whose context was there"),
	STAT(T, misses, "req", "contexts read"),
	STAT(T, merges, "req", "requests whose context was on its way"),
	SIGNAL(T, queued, 9, "requests not yet answered"),
	SIGNAL(T, missing, 7, "reads outstanding"),
	SIGNAL(T, qpi, 24, "QP of the request last taken"),
	SIGNAL(T, is_hit, 1, "its context was there"),
	FIELDS_END
};
#undef T

static uint32_t set_of(const struct qpc_cache *q, uint32_t qpi)
{
	return qpi & (q->tags.n_sets - 1);
}

/* The outstanding read of 'qpi', or, to find a free place, the first with is_used as asked. */
static uint32_t find_miss(const struct qpc_cache *q, bool is_used, uint32_t qpi)
{
	for (uint32_t i = 0; i < q->max_misses; i++)
		if (q->miss[i].is_used == is_used && (!is_used || q->miss[i].qpi == qpi))
			return i;
	return NO_MISS;
}

/* Start a read. False when there is no place, no buffer or no room for it now. */
static bool start_miss(struct qpc_cache *q, uint32_t qpi, uint32_t *miss)
{
	const struct nic *nic = q->b.env;
	struct dma_req rd = { .key = KEY_PHYS, .len = QPC_BYTES, .cls = DMA_QPC };
	uint32_t i = find_miss(q, false, 0);

	if (i == NO_MISS)
		return false; /* the next completion wakes the block */
	if (!chan_can_push(q->fill)) {
		chan_stall(q->fill);
		return false;
	}
	SIM_CHECK(qpi < nic->n_qp, &q->b);
	rd.addr = nic->qp[qpi].qpc_pa;
	rd.tag = i;
	rd.buf = pool_alloc(q->pool);
	q->miss[i] = (struct qpc_miss){ .is_used = true, .qpi = qpi, .buf = rd.buf };
	dma_req_push(q->fill, &rd);
	q->missing++;
	q->misses++;
	*miss = i;
	return true;
}

static bool take_request(struct qpc_cache *q)
{
	const struct qpc_req *req = qpc_req_peek(q->req);
	struct qpc_wait w = { .miss = NO_MISS, .ready_cyc = q->b.cycle + q->hit_cyc };
	uint32_t line;

	if (!req || q->queued == q->queue)
		return false;
	w.req = *req;
	line = assoc_find(&q->tags, set_of(q, req->qpi), req->qpi);
	if (line != ASSOC_NONE) {
		assoc_touch(&q->tags, line);
		q->hits++;
	} else {
		w.miss = find_miss(q, true, req->qpi);
		if (w.miss != NO_MISS)
			q->merges++;
		else if (!start_miss(q, req->qpi, &w.miss))
			return false;
	}
	chan_pop(q->req);
	q->wait[(q->head + q->queued) % q->queue] = w;
	q->queued++;
	q->requests++;
	q->qpi = w.req.qpi;
	q->is_hit = line != ASSOC_NONE;
	return true;
}

static bool answer(struct qpc_cache *q)
{
	const struct qpc_wait *w = &q->wait[q->head];
	struct qpc_rsp rsp;

	if (q->queued == 0 || w->miss != NO_MISS || w->ready_cyc > q->b.cycle)
		return false;
	if (!chan_can_push(q->rsp)) {
		chan_stall(q->rsp);
		return false;
	}
	rsp = (struct qpc_rsp){ .qpi = w->req.qpi, .tag = w->req.tag };
	qpc_rsp_push(q->rsp, &rsp);
	q->head = (q->head + 1) % q->queue;
	q->queued--;
	return true;
}

static bool take_fill(struct qpc_cache *q)
{
	const struct dma_rsp *rsp = dma_rsp_peek(q->fill_rsp);
	struct qpc_miss *m;
	uint32_t i;

	if (!rsp)
		return false;
	i = rsp->tag;
	SIM_CHECK(i < q->max_misses && q->miss[i].is_used && rsp->status == XLATE_OK, &q->b);
	m = &q->miss[i];
	assoc_fill(&q->tags, set_of(q, m->qpi), m->qpi);
	for (uint32_t k = 0; k < q->queued; k++) {
		struct qpc_wait *w = &q->wait[(q->head + k) % q->queue];

		if (w->miss == i) {
			w->miss = NO_MISS;
			w->ready_cyc = q->b.cycle + 1;
		}
	}
	buf_unref(&q->b, m->buf);
	m->is_used = false;
	q->missing--;
	chan_pop(q->fill_rsp);
	return true;
}

static void qpc_cache_build(struct block *b)
{
	struct qpc_cache *q = (struct qpc_cache *)b;

	assoc_build(&q->tags, b, 1u << q->sets, q->ways);
	q->wait = block_alloc(b, q->queue, sizeof(*q->wait));
	q->miss = block_alloc(b, q->max_misses, sizeof(*q->miss));
	q->pool = pool_create(b, q->max_misses, QPC_BYTES);
}

static void qpc_cache_reset(struct block *b)
{
	struct qpc_cache *q = (struct qpc_cache *)b;

	assoc_reset(&q->tags);
	for (uint32_t i = 0; i < q->max_misses; i++)
		q->miss[i].is_used = false;
	q->head = q->queued = q->missing = q->qpi = 0;
	q->is_hit = false;
}

static uint64_t qpc_cache_step(struct block *b)
{
	struct qpc_cache *q = (struct qpc_cache *)b;
	const struct qpc_wait *w;
	bool took = take_request(q), answered = answer(q), filled = take_fill(q);

	/* a place that the answer or the completion frees can be taken from the next cycle on */
	if (!took && (answered || filled) && qpc_req_peek(q->req))
		return b->cycle + 1;
	w = &q->wait[q->head];
	if (!q->queued || w->miss != NO_MISS)
		return CYCLE_NEVER;
	if (answered || filled || w->ready_cyc > b->cycle)
		return max_u64(w->ready_cyc, b->cycle + 1);
	return CYCLE_NEVER; /* refused */
}

const struct block_class qpc_cache_class = {
	.name = "qpc_cache",
	.impl = "c",
	.size = sizeof(struct qpc_cache),
	.fields = qpc_cache_fields,
	.doc = "cache of queue pair contexts",
	.build = qpc_cache_build,
	.reset = qpc_cache_reset,
	.step = qpc_cache_step,
};
