/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_records.c - records of the trace from their arrival until they can run: their place among
 * those of their queue, what they wait for, and their core
 */
#include "models/workload.h"

static bool is_queued(const struct rec *c)
{
	return c->kind == REC_POST || c->kind == REC_RECV || c->kind == REC_MODIFY_QP ||
	       c->kind == REC_DESTROY;
}

void workload_ready(struct workload *w, struct host *h, uint32_t handle)
{
	const struct rec *rec = rec_at(&h->system->recs, handle);
	struct core *c = is_queued(rec) ? core_of(w, h, rec->qpi) : w->core;

	ready_push(&h->system->recs, &c->ready, handle);
	w->is_kicked |= c != w->c;
}

static void make_ready(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, handle);
	uint64_t from = max_u64(c->at_ps, c->n_dep ? c->wait_ps : 0);

	c->start_ps = from + c->delay_ps < from ? TIME_NEVER - 1 : from + c->delay_ps;
	c->is_ready = true;
	if (!is_queued(c) || w->wq[c->qpi].head == handle)
		workload_ready(w, h, handle);
}

/* A receive that is in force from the start, unless one before it in its QP waits. */
static bool is_in_force(const struct work_queue *q, const struct rec *c)
{
	return c->kind == REC_RECV && q->n_recvs == 0 && !c->n_dep && !c->at_ps && !c->delay_ps;
}

void workload_arrive(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, handle);

	c->is_here = true;
	c->next = REC_NONE;
	if (is_queued(c)) {
		struct work_queue *q = &w->wq[c->qpi];

		if (is_in_force(q, c)) {
			workload_park(w, h, handle);
			return;
		}
		if (q->head)
			rec_at(r, q->tail)->next = handle;
		else
			q->head = handle;
		q->tail = handle;
		q->n_recvs += c->kind != REC_POST;
	}
	if (c->n_wait == 0 && !c->is_inboxed)
		make_ready(w, h, handle);
}

void workload_take_inbox(struct workload *w, struct host *h)
{
	struct recs *r = &h->system->recs;
	uint32_t handle = h->inbox;

	h->inbox = REC_NONE;
	while (handle) {
		struct rec *c = rec_at(r, handle);
		uint32_t next = c->inbox;

		if (c->wait_ps >= w->b.now_ps) {
			c->inbox = h->inbox;
			h->inbox = handle;
		} else {
			c->is_inboxed = false;
			if (c->is_here)
				make_ready(w, h, handle);
		}
		handle = next;
	}
}
