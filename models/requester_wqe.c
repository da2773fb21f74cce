/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_wqe.c - the cache of send WQEs: which of those held are in the NIC
 *
 * Hardware: WQEs that were fetched ahead, and those that wait for their responses, lie in a memory
 * that all queues share. One that is displaced is read again from its ring when it is needed:
 * before a job of its message goes out, and before the data of a READ or ATOMIC response can be
 * told where to go.
 *
 * Modelled: 'wqe_cache' basic blocks in 'wqe_sets' sets, replaced by 'wqe_policy'; a WQE is there
 * when all its blocks are. Blocks next to each other in a ring are in sets next to each other. One
 * that was read again stays until it is used. A response whose WQE is not there holds up those
 * behind it; a queue that wants to send only itself. The requester keeps the bytes (nothing may
 * change them before the completion), so what a read brings is dropped. Not modelled: what
 * selective repeat sends again finds its WQE.
 */
#include "models/requester.h"

/* A basic block of a ring, and where it may be. */
struct place {
	uint64_t tag;
	uint32_t set;
};

static struct place place_of(const struct requester *r, uint32_t qpi, const struct req_wqe *w,
			     uint32_t bb)
{
	uint32_t at = (w->w.index + bb) & (req_attr(r, qpi)->sq_bb - 1);
	uint32_t spread = qpi * 0x9e3779b1u >> 16; /* Knuth's golden ratio */

	return (struct place){ .tag = (uint64_t)qpi << 16 | at,
			       .set = (at + spread) & (r->cached.n_sets - 1) };
}

const char *req_cache_check(const struct requester *r, const char **param)
{
	uint32_t sets = 1u << r->wqe_sets;

	*param = "wqe_cache";
	if (r->wqe_cache % sets)
		return "the sets are not equal; allowed: a multiple of wqe_sets";
	*param = "wqe_policy";
	return r->wqe_cache ? assoc_check(sets, r->wqe_cache / sets, r->wqe_policy) : NULL;
}

void req_cache_build(struct requester *r)
{
	if (!r->wqe_cache)
		return;
	assoc_build(&r->cached, &r->b, "wqe_cache", 1u << r->wqe_sets, r->wqe_cache >> r->wqe_sets,
		    r->wqe_policy);
	r->refetch_pool = pool_create(&r->b, 2 * REQ_REFETCHES, WQE_MAX_BB * WQE_BB);
}

void req_cache_reset(struct requester *r)
{
	r->n_kept = 0;
	r->dma_cyc = 0;
	qp_list_init(&r->refetches, r->refetch_links, REQ_REFETCHES);
	for (uint32_t i = 0; i < REQ_REFETCHES; i++)
		r->refetch[i].is_used = false;
	if (r->wqe_cache)
		assoc_reset(&r->cached);
}

/* All blocks of the WQE are in the cache. */
static bool is_cached(const struct requester *r, uint32_t qpi, const struct req_wqe *w)
{
	for (uint32_t bb = 0; bb < w->w.n_bb; bb++) {
		struct place p = place_of(r, qpi, w, bb);

		if (assoc_find(&r->cached, p.set, p.tag) == ASSOC_NONE)
			return false;
	}
	return true;
}

/* Bring the blocks of a WQE in that are not there. */
static void insert(struct requester *r, uint32_t qpi, const struct req_wqe *w)
{
	for (uint32_t bb = 0; bb < w->w.n_bb; bb++) {
		struct place p = place_of(r, qpi, w, bb);

		if (assoc_find(&r->cached, p.set, p.tag) != ASSOC_NONE)
			continue;
		r->wqe_evictions += r->cached.is_valid[assoc_victim(&r->cached, p.set)];
		assoc_fill(&r->cached, p.set, p.tag);
	}
}

/* Whoever listens hears of it even when the cache has room for all. */
static void note(const struct requester *r, uint32_t qpi, const struct req_wqe *w,
		 enum assoc_event what)
{
	for (uint32_t bb = 0; r->cached.tap && bb < w->w.n_bb; bb++)
		assoc_note(&r->cached, what, place_of(r, qpi, w, bb).tag);
}

static void keep(struct requester *r, struct req_wqe *w, bool is_kept)
{
	r->n_kept += (uint32_t)is_kept - w->is_kept;
	w->is_kept = is_kept;
}

void req_cache_add(struct requester *r, uint32_t qpi, uint32_t pos)
{
	const struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	note(r, qpi, w, ASSOC_PUT);
	if (r->wqe_cache)
		insert(r, qpi, w);
}

void req_cache_drop(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	note(r, qpi, w, ASSOC_DROPPED);
	if (!r->wqe_cache)
		return;
	keep(r, w, false);
	for (uint32_t bb = 0; bb < w->w.n_bb; bb++) {
		struct place p = place_of(r, qpi, w, bb);
		uint32_t line = assoc_find(&r->cached, p.set, p.tag);

		if (line != ASSOC_NONE)
			assoc_drop(&r->cached, p.set, line);
	}
}

/* Have a WQE read again, unless that is done or all reads are taken. */
static void want(struct requester *r, uint32_t qpi, uint32_t pos, bool is_response)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	for (uint32_t i = 0; i < REQ_REFETCHES && !w->is_refetching; i++) {
		if (r->refetch[i].is_used)
			continue;
		r->refetch[i] = (struct req_refetch){ .qpi = qpi,
						      .pos = pos,
						      .index = w->w.index,
						      .n_bb = w->w.n_bb,
						      .buf = pool_alloc(r->refetch_pool),
						      .is_used = true,
						      .is_response = is_response };
		qp_list_add(&r->refetches, i);
		w->is_refetching = true;
		r->wqe_refetches++;
		r->wqe_refetched_bb += w->w.n_bb;
	}
}

static bool has(struct requester *r, uint32_t qpi, uint32_t pos, bool is_response)
{
	const struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	if (!r->wqe_cache || w->is_kept || is_cached(r, qpi, w))
		return true;
	want(r, qpi, pos, is_response);
	return false;
}

bool req_cache_has(struct requester *r, uint32_t qpi, uint32_t pos)
{
	return has(r, qpi, pos, false);
}

void req_cache_use(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	note(r, qpi, w, ASSOC_USED);
	if (!r->wqe_cache)
		return;
	keep(r, w, false);
	for (uint32_t bb = 0; bb < w->w.n_bb; bb++) {
		struct place p = place_of(r, qpi, w, bb);
		uint32_t line = assoc_find(&r->cached, p.set, p.tag);

		if (line != ASSOC_NONE)
			assoc_touch(&r->cached, p.set, line);
	}
}

bool req_cache_use_for(struct requester *r, uint32_t qpi, uint32_t psn)
{
	const struct req_qp *q = &r->qp[qpi];

	if ((!r->wqe_cache && !r->cached.tap) || q->is_error)
		return true;
	for (uint32_t pos = q->acked; pos != q->issued; pos++) {
		const struct req_wqe *w = req_wqe(q, pos);

		if (((psn - w->first_psn) & PSN_MASK) >= w->n_psn)
			continue;
		if (!has(r, qpi, pos, true))
			return false;
		req_cache_use(r, qpi, pos);
		break;
	}
	return true;
}

uint64_t req_cache_step(struct requester *r)
{
	struct req_refetch *f;
	const struct qp_attr *a;
	uint32_t i = r->refetches.head, at, n;

	if (!r->refetches.n)
		return CYCLE_NEVER;
	if (r->dma_cyc == r->b.cycle + 1) /* the port was used in this cycle */
		return r->b.cycle + 1;
	if (!chan_can_push(r->dma_req))
		return chan_stall(r->dma_req);
	f = &r->refetch[i];
	a = req_attr(r, f->qpi);
	at = (f->index + f->asked) & (a->sq_bb - 1);
	n = (uint32_t)min_u64(f->n_bb - f->asked, a->sq_bb - at);
	dma_req_push(r->dma_req, &(struct dma_req){ .addr = a->sq_pa + (uint64_t)at * WQE_BB,
						    .key = KEY_PHYS,
						    .len = n * WQE_BB,
						    .buf = f->buf,
						    .off = f->asked * WQE_BB,
						    .tag = r->writes + i,
						    .pd = a->pd,
						    .cls = DMA_WQE,
						    .op = OP_NONE });
	f->asked += n;
	f->reads++;
	if (f->asked == f->n_bb)
		qp_list_take(&r->refetches);
	return r->refetches.n ? r->b.cycle + 1 : CYCLE_NEVER;
}

void req_cache_filled(struct requester *r, uint32_t i)
{
	struct req_refetch *f = &r->refetch[i];
	struct req_qp *q = &r->qp[f->qpi];
	struct req_wqe *w;

	if (--f->reads || qp_list_has(&r->refetches, i))
		return;
	buf_unref(&r->b, f->buf);
	f->is_used = false;
	if (f->pos - q->head >= q->tail - q->head)
		return; /* flushed */
	w = req_wqe(q, f->pos);
	w->is_refetching = false;
	insert(r, f->qpi, w);
	/* responses come one at a time: theirs must stay, or those that are kept might wait for them */
	keep(r, w, f->is_response || r->n_kept < REQ_REFETCHES);
	req_kick(r, f->qpi);
}
