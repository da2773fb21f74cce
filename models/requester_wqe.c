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
 * when all its blocks are. Blocks next to each other in a ring are in sets next to each other. All
 * that are held are there, or (wqe_cache_sends off) only READs and ATOMICs that were sent. One
 * that was read again stays until it is used. A response whose WQE is not there holds up those
 * behind it, whose WQEs are read meanwhile ('rsp_ahead' packets, 'wqe_reads' reads); a queue that
 * wants to send holds up only itself. The requester keeps the bytes (nothing may change them before
 * the completion), so what a read brings is dropped. Not modelled: what selective repeat sends
 * again finds its WQE.
 */
#include "models/packet/opcode.h"
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
	r->refetch = block_alloc(&r->b, r->wqe_reads, sizeof(*r->refetch));
	r->refetch_links = block_alloc(&r->b, r->wqe_reads, sizeof(*r->refetch_links));
	r->refetch_pool = pool_create(&r->b, 2 * r->wqe_reads, WQE_MAX_BB * WQE_BB);
	r->waiting.at = block_alloc(&r->b, r->rsp_ahead, sizeof(*r->waiting.at));
}

void req_cache_reset(struct requester *r)
{
	r->dma_cyc = 0;
	qp_list_init(&r->refetches, r->refetch_links, r->wqe_cache ? r->wqe_reads : 0);
	if (!r->wqe_cache)
		return;
	for (uint32_t i = 0; i < r->wqe_reads; i++)
		r->refetch[i].next_free = i + 1;
	r->free_refetch = 0;
	r->waiting.head = r->waiting.n = r->waiting.asked = 0;
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

void req_cache_add(struct requester *r, uint32_t qpi, uint32_t pos)
{
	const struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	if (!r->wqe_cache_sends)
		return;
	note(r, qpi, w, ASSOC_PUT);
	if (r->wqe_cache)
		insert(r, qpi, w);
}

static void touch(struct requester *r, uint32_t qpi, const struct req_wqe *w)
{
	for (uint32_t bb = 0; bb < w->w.n_bb; bb++) {
		struct place p = place_of(r, qpi, w, bb);
		uint32_t line = assoc_find(&r->cached, p.set, p.tag);

		if (line != ASSOC_NONE)
			assoc_touch(&r->cached, p.set, line);
	}
}

static void use(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	note(r, qpi, w, ASSOC_USED);
	if (!r->wqe_cache)
		return;
	w->is_kept = false;
	touch(r, qpi, w);
}

void req_cache_sent(struct requester *r, uint32_t qpi, uint32_t pos)
{
	const struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	if (r->wqe_cache_sends) {
		use(r, qpi, pos);
	} else if (req_op_of(w)->is_answered) {
		note(r, qpi, w, ASSOC_PUT);
		if (r->wqe_cache && !w->is_refetching)
			insert(r, qpi, w);
	}
}

void req_cache_drop(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	note(r, qpi, w, ASSOC_DROPPED);
	if (!r->wqe_cache)
		return;
	w->is_kept = false;
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
	uint32_t i = r->free_refetch;

	if (w->is_refetching || i == r->wqe_reads)
		return;
	r->free_refetch = r->refetch[i].next_free;
	r->refetch[i] = (struct req_refetch){ .qpi = qpi,
					      .pos = pos,
					      .index = w->w.index,
					      .n_bb = w->w.n_bb,
					      .buf = pool_alloc(r->refetch_pool),
					      .from_ps = r->b.now_ps,
					      .is_response = is_response };
	qp_list_add(&r->refetches, i);
	w->is_refetching = true;
	r->wqe_refetches++;
	r->wqe_refetched_bb += w->w.n_bb;
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
	return !r->wqe_cache_sends || has(r, qpi, pos, false);
}

bool req_find_message(const struct req_qp *q, uint32_t psn, uint32_t *pos)
{
	for (*pos = q->acked; *pos != q->issued; ++*pos) {
		const struct req_wqe *w = req_wqe(q, *pos);

		if (((psn - w->first_psn) & PSN_MASK) < w->n_psn)
			return true;
	}
	return false;
}

bool req_cache_use_for(struct requester *r, uint32_t qpi, uint32_t psn)
{
	const struct req_qp *q = &r->qp[qpi];
	uint32_t pos;

	if ((!r->wqe_cache && !r->cached.tap) || q->is_error || !req_find_message(q, psn, &pos))
		return true;
	if (!has(r, qpi, pos, true))
		return false;
	use(r, qpi, pos);
	return true;
}

/* ---- packets of the peer that wait for their turn ---- */

static const struct rx_pkt *waiting_at(const struct requester *r, uint32_t i)
{
	uint32_t at = r->waiting.head + i;

	return &r->waiting.at[at < r->rsp_ahead ? at : at - r->rsp_ahead];
}

/* The packet needs a WQE; it is that at 'pos'. */
static bool needs_wqe(const struct requester *r, const struct rx_pkt *m, uint32_t *pos)
{
	const struct req_qp *q = &r->qp[m->qpi];

	return (m->opcode & IB_OPERATION_MASK) != IB_ACKNOWLEDGE && !q->is_error &&
	       req_find_message(q, m->psn, pos);
}

/* The first packet of the line whose WQE was not looked for can have that now. */
static bool can_ask(const struct requester *r)
{
	const struct req_waiting *l = &r->waiting;
	const struct req_wqe *w;
	const struct rx_pkt *m;
	uint32_t pos;

	if (l->asked == l->n)
		return false;
	m = waiting_at(r, l->asked);
	if (r->free_refetch != r->wqe_reads || !needs_wqe(r, m, &pos))
		return true;
	w = req_wqe(&r->qp[m->qpi], pos);
	return w->is_refetching || w->is_kept || is_cached(r, m->qpi, w);
}

void req_rx_enter(struct requester *r)
{
	struct req_waiting *l = &r->waiting;
	const struct rx_pkt *m;
	uint32_t pos, at;

	if (!r->wqe_cache)
		return;
	m = rx_pkt_peek(r->rx);
	if (m && l->n < r->rsp_ahead) {
		at = l->head + l->n++;
		l->at[at < r->rsp_ahead ? at : at - r->rsp_ahead] = *m;
		chan_pop(r->rx);
	}
	if (!can_ask(r))
		return;
	m = waiting_at(r, l->asked++);
	if (needs_wqe(r, m, &pos) && has(r, m->qpi, pos, true)) {
		touch(r, m->qpi, req_wqe(&r->qp[m->qpi], pos));
		req_wqe(&r->qp[m->qpi], pos)->is_kept = true;
	}
}

const struct rx_pkt *req_rx_head(const struct requester *r)
{
	if (!r->wqe_cache)
		return rx_pkt_peek(r->rx);
	return r->waiting.n ? waiting_at(r, 0) : NULL;
}

void req_rx_pop(struct requester *r)
{
	struct req_waiting *l = &r->waiting;

	if (!r->wqe_cache) {
		chan_pop(r->rx);
		return;
	}
	l->head = l->head + 1 == r->rsp_ahead ? 0 : l->head + 1;
	l->n--;
	l->asked -= l->asked > 0;
}

uint64_t req_rx_next(const struct requester *r)
{
	if (!r->wqe_cache)
		return CYCLE_NEVER;
	if (r->waiting.n < r->rsp_ahead && rx_pkt_peek(r->rx))
		return r->b.cycle + 1;
	return can_ask(r) ? r->b.cycle + 1 : CYCLE_NEVER;
}

/* ---- reads ---- */

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
	r->wqe_miss_ps += r->b.now_ps - f->from_ps;
	f->next_free = r->free_refetch;
	r->free_refetch = i;
	if (f->pos - q->head >= q->tail - q->head)
		return; /* flushed */
	w = req_wqe(q, f->pos);
	w->is_refetching = false;
	insert(r, f->qpi, w);
	/* what is needed next stays, or a WQE larger than the cache would never be there */
	w->is_kept = f->is_response || f->pos == q->send;
	req_resume(r, f->qpi);
}
