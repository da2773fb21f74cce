/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_context.c - what comes before a completion is written: its CQ's context is brought in
 *
 * A completion is taken from requester or responder in turn, its CQ's context asked for, and then it
 * waits in a ring of 'ahead' for the answer. Answers come in the order of the requests, so the ring
 * is written in order, and look-ups of many completions overlap.
 */
#include "models/cqe_writer.h"

void cqe_context_build(struct cqe_writer *w)
{
	w->waiting = block_alloc(&w->b, w->ahead, sizeof(*w->waiting));
}

void cqe_context_reset(struct cqe_writer *w)
{
	w->first = w->n_waiting = w->n_ready = 0;
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
	return w->n_waiting < w->ahead && pick(w);
}

uint64_t cqe_context_step(struct cqe_writer *w)
{
	struct chan *port = w->n_waiting < w->ahead ? pick(w) : NULL;
	uint32_t at = w->first + w->n_waiting;
	const struct cqe_req *r;

	if (ctx_rsp_peek(w->cqc_rsp)) {
		w->n_ready++;
		chan_pop(w->cqc_rsp);
	}
	if (!port)
		return CYCLE_NEVER;
	r = cqe_req_peek(port);
	if (!chan_can_push(w->cqc_req))
		return chan_stall(w->cqc_req);
	ctx_req_push(w->cqc_req, &(struct ctx_req){ .index = r->cqi });
	w->waiting[at < w->ahead ? at : at - w->ahead] = *r;
	w->n_waiting++;
	w->turn_rsp = port == w->req;
	chan_pop(port);
	return cqe_context_has_more(w) ? w->b.cycle + 1 : CYCLE_NEVER;
}

const struct cqe_req *cqe_context_ready(const struct cqe_writer *w)
{
	return w->n_ready ? &w->waiting[w->first] : NULL;
}

void cqe_context_drop(struct cqe_writer *w)
{
	w->first = w->first + 1 == w->ahead ? 0 : w->first + 1;
	w->n_waiting--;
	w->n_ready--;
}
