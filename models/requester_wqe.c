/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_wqe.c - the cache of send WQEs: which of those held are in the NIC
 *
 * Hardware: WQEs that were fetched ahead, and those that wait for their responses, lie in a memory
 * that all queues share. One that is displaced is read again from its ring when it is needed:
 * before a job of its message goes out, and before the data of a READ or ATOMIC response can be
 * told where to go.
 *
 * Modelled: the least recently used of all queues goes first, whole WQEs, 'wqe_cache' basic blocks
 * in all. One that was read again stays until it is used. A response whose WQE is not there holds
 * up those behind it; a queue that wants to send only itself. The requester keeps the bytes
 * (nothing may change them before the completion), so what a read brings is dropped. Not modelled:
 * what selective repeat sends again finds its WQE.
 */
#include "models/requester.h"

#define NODE_NONE 0u /* also the list's ends */

static struct req_node *node_of(struct requester *r, uint32_t i)
{
	return &r->node[i];
}

static void unlink_node(struct requester *r, uint32_t i)
{
	struct req_node *n = node_of(r, i);

	node_of(r, n->prev)->next = n->next;
	node_of(r, n->next)->prev = n->prev;
}

/* Put it in front: the most recently used. */
static void link_node(struct requester *r, uint32_t i)
{
	struct req_node *n = node_of(r, i), *ends = node_of(r, NODE_NONE);

	n->prev = NODE_NONE;
	n->next = ends->next;
	node_of(r, n->next)->prev = i;
	ends->next = i;
}

static void drop_node(struct requester *r, uint32_t i)
{
	struct req_node *n = node_of(r, i);
	struct req_wqe *w = req_wqe(&r->qp[n->qpi], n->pos);

	unlink_node(r, i);
	r->n_kept -= n->is_kept;
	w->node = NODE_NONE;
	r->cached_bb -= w->w.n_bb;
	n->next = r->free_node;
	r->free_node = i;
}

void req_cache_build(struct requester *r)
{
	if (!r->wqe_cache)
		return;
	r->n_nodes = r->wqe_cache + REQ_REFETCHES + 2; /* the ends; kept until used; one more */
	r->node = block_alloc(&r->b, r->n_nodes, sizeof(*r->node));
	r->refetch_pool = pool_create(&r->b, 2 * REQ_REFETCHES, WQE_MAX_BB * WQE_BB);
}

void req_cache_reset(struct requester *r)
{
	r->cached_bb = r->n_kept = 0;
	r->dma_cyc = 0;
	qp_list_init(&r->refetches, r->refetch_links, REQ_REFETCHES);
	for (uint32_t i = 0; i < REQ_REFETCHES; i++)
		r->refetch[i].is_used = false;
	if (!r->wqe_cache)
		return;
	r->node[NODE_NONE] = (struct req_node){ 0 };
	for (uint32_t i = 1; i < r->n_nodes; i++)
		r->node[i].next = i + 1 < r->n_nodes ? i + 1 : NODE_NONE;
	r->free_node = 1;
}

/* The least recently used one that need not stay, or NODE_NONE. */
static uint32_t victim(struct requester *r)
{
	uint32_t i = node_of(r, NODE_NONE)->prev;

	while (i != NODE_NONE && node_of(r, i)->is_kept)
		i = node_of(r, i)->prev;
	return i;
}

/* Bring a WQE in; 'is_kept' until it is used. */
static void insert(struct requester *r, uint32_t qpi, uint32_t pos, bool is_kept)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);
	uint32_t i;

	while (r->cached_bb + w->w.n_bb > r->wqe_cache && (i = victim(r)) != NODE_NONE) {
		drop_node(r, i);
		r->wqe_evictions++;
	}
	i = r->free_node;
	SIM_CHECK(i != NODE_NONE, r);
	r->free_node = node_of(r, i)->next;
	*node_of(r, i) = (struct req_node){ .qpi = qpi, .pos = pos, .is_kept = is_kept };
	link_node(r, i);
	r->n_kept += is_kept;
	w->node = i;
	r->cached_bb += w->w.n_bb;
}

void req_cache_add(struct requester *r, uint32_t qpi, uint32_t pos)
{
	if (r->wqe_cache)
		insert(r, qpi, pos, false);
}

void req_cache_drop(struct requester *r, struct req_wqe *w)
{
	if (w->node != NODE_NONE)
		drop_node(r, w->node);
}

/* Have a WQE read again, unless that is done or all reads are taken. */
static void want(struct requester *r, uint32_t qpi, uint32_t pos)
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
						      .is_used = true };
		qp_list_add(&r->refetches, i);
		w->is_refetching = true;
		r->wqe_refetches++;
	}
}

bool req_cache_has(struct requester *r, uint32_t qpi, uint32_t pos)
{
	if (!r->wqe_cache || req_wqe(&r->qp[qpi], pos)->node != NODE_NONE)
		return true;
	want(r, qpi, pos);
	return false;
}

void req_cache_use(struct requester *r, uint32_t qpi, uint32_t pos)
{
	struct req_wqe *w = req_wqe(&r->qp[qpi], pos);

	if (w->node == NODE_NONE)
		return;
	r->n_kept -= node_of(r, w->node)->is_kept;
	node_of(r, w->node)->is_kept = false;
	unlink_node(r, w->node);
	link_node(r, w->node);
}

bool req_cache_use_for(struct requester *r, uint32_t qpi, uint32_t psn)
{
	const struct req_qp *q = &r->qp[qpi];

	if (!r->wqe_cache || q->is_error)
		return true;
	for (uint32_t pos = q->acked; pos != q->issued; pos++) {
		const struct req_wqe *w = req_wqe(q, pos);

		if (((psn - w->first_psn) & PSN_MASK) >= w->n_psn)
			continue;
		if (!req_cache_has(r, qpi, pos))
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

	if (--f->reads || qp_list_has(&r->refetches, i))
		return;
	buf_unref(&r->b, f->buf);
	f->is_used = false;
	if (f->pos - q->head >= q->tail - q->head)
		return; /* flushed */
	req_wqe(q, f->pos)->is_refetching = false;
	insert(r, f->qpi, f->pos, r->n_kept < REQ_REFETCHES);
	req_kick(r, f->qpi);
}
