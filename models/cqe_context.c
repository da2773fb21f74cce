/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_context.c - what a completion waits for before it is written: its CQ's context, and that CQ's
 * doorbell record
 *
 * Completions are taken from requester and responder in turn, at most 'ahead' at a time. Each asks
 * for its CQ's context; answers come in the order of the requests, and look-ups of many completions
 * overlap. Then it is written in its turn. One whose CQ seems full waits until the doorbell record
 * is read, and so do those of the same CQ that come behind it, in a list of that CQ; those of other
 * CQs go past. When the record has come, the list is dealt with before what came later. A reading that
 * began ahead of need may be older than the first that waits: if the CQ is full even so, it is read again.
 */
#include "models/cqe_writer.h"

void cqe_context_build(struct cqe_writer *w)
{
	w->waiting = block_alloc(&w->b, w->ahead, sizeof(*w->waiting));
	w->waiting_links = block_alloc(&w->b, w->ahead, sizeof(uint32_t));
	w->retry_links = block_alloc(&w->b, cqe_nic(w)->n_cq, sizeof(uint32_t));
	w->refresh_links = block_alloc(&w->b, cqe_nic(w)->n_cq, sizeof(uint32_t));
}

void cqe_context_reset(struct cqe_writer *w)
{
	uint32_t *links = w->waiting_links;

	qp_list_init(&w->free, links, w->ahead);
	qp_list_init(&w->asked, links, 0); /* the same links: a completion is on one list */
	qp_list_init(&w->ready, links, 0);
	for (uint32_t i = 0; i < w->ahead; i++)
		qp_list_add(&w->free, i);
	qp_list_init(&w->retry, w->retry_links, cqe_nic(w)->n_cq);
	qp_list_init(&w->refresh, w->refresh_links, cqe_nic(w)->n_cq);
	for (uint32_t i = 0; i < cqe_nic(w)->n_cq; i++) {
		qp_list_init(&w->cq[i].blocked, links, 0);
		w->cq[i].dbr_buf = BUF_NONE;
	}
	w->n_asked = 0;
	w->turn_rsp = false;
}

/* The port to serve: the one whose turn it is, unless only the other has something. */
static struct chan *pick(const struct cqe_writer *w)
{
	struct chan *first = w->turn_rsp ? w->rsp : w->req, *second = w->turn_rsp ? w->req : w->rsp;

	if (cqe_req_peek(first))
		return first;
	return cqe_req_peek(second) ? second : NULL;
}

bool cqe_context_has_more(const struct cqe_writer *w)
{
	return w->free.n && pick(w);
}

bool cqe_context_has_ready(const struct cqe_writer *w)
{
	return w->retry.n || w->ready.n;
}

uint64_t cqe_context_step(struct cqe_writer *w)
{
	struct chan *port = w->free.n ? pick(w) : NULL;
	const struct cqe_req *r;
	uint32_t slot;

	if (ctx_rsp_peek(w->cqc_rsp)) {
		qp_list_add(&w->ready, qp_list_take(&w->asked));
		chan_pop(w->cqc_rsp);
	}
	if (!port)
		return CYCLE_NEVER;
	r = cqe_req_peek(port);
	if (!chan_can_push(w->cqc_req))
		return chan_stall(w->cqc_req);
	ctx_req_push(w->cqc_req, &(struct ctx_req){ .index = r->cqi });
	slot = qp_list_take(&w->free);
	w->waiting[slot] = *r;
	qp_list_add(&w->asked, slot);
	w->turn_rsp = port == w->req;
	chan_pop(port);
	return cqe_context_has_more(w) ? w->b.cycle + 1 : CYCLE_NEVER;
}

/* Where the completion to go on with is the first. */
static struct qp_list *current(struct cqe_writer *w)
{
	return w->retry.n ? &w->cq[w->retry.head].blocked : &w->ready;
}

const struct cqe_req *cqe_context_ready(struct cqe_writer *w)
{
	struct qp_list *l = current(w);
	const struct cqe_req *r;

	if (!l->n)
		return NULL;
	r = &w->waiting[l->head];
	if (l != &w->ready || !w->cq[r->cqi].blocked.n)
		return r;
	qp_list_add(&w->cq[r->cqi].blocked, qp_list_take(l));
	return NULL;
}

void cqe_context_drop(struct cqe_writer *w)
{
	struct qp_list *l = current(w);
	uint32_t slot = qp_list_take(l);

	qp_list_add(&w->free, slot);
	w->cq[w->waiting[slot].cqi].is_dbr_fresh = false;
	if (l != &w->ready && !l->n)
		qp_list_take(&w->retry);
}

void cqe_context_block(struct cqe_writer *w)
{
	if (w->retry.n) { /* it is on its CQ's list */
		qp_list_take(&w->retry);
	} else {
		uint32_t slot = qp_list_take(&w->ready);

		qp_list_add(&w->cq[w->waiting[slot].cqi].blocked, slot);
	}
}

void cqe_context_unblock(struct cqe_writer *w, uint32_t cqi)
{
	qp_list_add(&w->retry, cqi);
}
