/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_state.c - the program changes the state of QPs and SRQs, and waits for events
 *
 * Such a record has its turn among those of its QP. The call takes cmd_cost, then the NIC is told;
 * the firmware behind such a call is not modelled. A reset holds up the QP's records until the NIC
 * has let go of the QP; the core does other things meanwhile. Receives that are posted to a QP which the program
 * knows to be in Error are told to the NIC, which flushes them.
 */
#include "models/workload.h"

static void end_record(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;

	workload_next(w, h, &w->wq[rec_at(r, handle)->qpi]);
	rec_free(r, handle, &w->b);
}

/* What the QP had posted is gone; the record stays until the NIC lets go of the QP. */
static void begin_reset(struct workload *w, struct host *h, struct rec *c, uint32_t sends,
			uint32_t recvs)
{
	c->is_told = true;
	w->open_sends -= sends;
	w->open_recvs -= recvs;
	workload_unpark(w, h, &w->wq[c->qpi]);
}

static void end_reset(struct workload *w, struct host *h, uint32_t handle)
{
	uint32_t qpi = rec_at(&h->system->recs, handle)->qpi;

	verbs_renew_qp(h, qpi, new_list(w));
	spend(w, 1);
	workload_want_poll(w, h, h->nic->qp[qpi].scq);
	workload_want_poll(w, h, h->nic->qp[qpi].rcq);
	end_record(w, h, handle);
}

void workload_take_closed(struct workload *w, struct host *h)
{
	const struct qp_closed *m = qp_closed_peek(w->closed);

	if (!m)
		return;
	if (verbs_half_closed(h, m->qpi, m->is_recv, m->cqes))
		workload_ready(w, h, w->wq[m->qpi].head);
	chan_pop(w->closed);
}

void workload_modify(struct workload *w, struct host *h, uint32_t handle)
{
	struct rec *c = rec_at(&h->system->recs, handle);
	const struct drv_qp *d = &h->qp[c->qpi];
	uint32_t sends = d->sq.head - d->sq.tail, recvs = d->rq.head - d->rq.tail;
	int err;

	if (c->is_told) {
		end_reset(w, h, handle);
		return;
	}
	spend(w, w->cmd_cyc);
	err = verbs_change_state(h, c->qpi, c->state, c->psn, new_list(w));
	if (err) {
		w->refused++;
		system_refused(h->system, c, err, &w->b);
	} else if (c->state == QPS_RESET) {
		begin_reset(w, h, c, sends, recvs);
		return;
	}
	end_record(w, h, handle);
}

void workload_destroy(struct workload *w, struct host *h, uint32_t handle)
{
	struct rec *c = rec_at(&h->system->recs, handle);
	const struct drv_qp *d = &h->qp[c->qpi];
	uint32_t sends = d->sq.head - d->sq.tail, recvs = d->rq.head - d->rq.tail;

	if (c->is_told) {
		end_reset(w, h, handle);
		return;
	}
	spend(w, w->cmd_cyc);
	if (d->is_destroyed) {
		w->refused++;
		system_refused(h->system, c, EINVAL, &w->b);
		end_record(w, h, handle);
		return;
	}
	verbs_destroy_qp(h, c->qpi, new_list(w));
	begin_reset(w, h, c, sends, recvs);
}

void workload_note_error(struct workload *w, struct host *h, const struct wc *wc)
{
	if (verbs_note_error(h, wc))
		verbs_fail_qp(h, wc->qpi, w->c->list);
}

void workload_note_recv(struct workload *w, struct host *h, uint32_t qpi)
{
	if (qpi < h->nic->n_qp && h->qp[qpi].state == QPS_ERR)
		verbs_fail_qp(h, qpi, w->c->list);
}

/* ---- events ---- */

void workload_serve_cq(struct workload *w, struct host *h, uint32_t cqi)
{
	struct drv_cq *d = &h->cq[cqi];
	struct cpu_list *l = new_list(w);

	if (d->is_draining) {
		verbs_peek_cq(h, cqi, l);
		return;
	}
	d->is_polling = false;
	d->is_armed = true;
	verbs_wait_event(h, l);
	verbs_req_notify(h, cqi, false, l);
}

/* A CQ was looked at and has no completion: it is empty. */
static void end_drain(struct workload *w, struct host *h, uint32_t cqi)
{
	h->cq[cqi].is_polling = h->cq[cqi].is_draining = false;
	spend(w, w->poll_cyc);
	workload_want_poll(w, h, cqi);
}

void workload_take_event(struct workload *w, struct host *h, const struct cpu_rsp *rsp)
{
	uint32_t cqi;
	uint8_t type;

	if (rsp->tag != verbs_eq_tag(h)) {
		end_drain(w, h, rsp->tag);
		return;
	}
	type = verbs_take_event(h, rsp->data, &cqi);
	w->events++;
	h->n_events[type % EQE_TYPES]++;
	verbs_wait_event(h, new_list(w));
	spend(w, w->irq_cyc);
	if (type != EQE_COMP)
		return;
	SIM_CHECK(cqi < h->nic->n_cq, w);
	h->cq[cqi].n_events++;
	h->cq[cqi].is_armed = false;
	h->cq[cqi].is_draining = h->nic->cq[cqi].is_event;
	if (h->nic->cq[cqi].is_event)
		workload_want_poll(w, h, cqi);
}

void workload_arm(struct workload *w, struct host *h, uint32_t handle)
{
	const struct rec *c = rec_at(&h->system->recs, handle);
	struct cpu_list *l = new_list(w);

	verbs_wait_event(h, l);
	verbs_req_notify(h, c->cqi, c->is_solicited, l);
	rec_free(&h->system->recs, handle, &w->b);
}

void workload_limit(struct workload *w, struct host *h, uint32_t handle)
{
	const struct rec *c = rec_at(&h->system->recs, handle);
	struct cpu_list *l = new_list(w);

	verbs_wait_event(h, l);
	w->c->limit = (struct srq_cmd){ .srqi = c->qpi - h->nic->n_qp, .limit = c->limit };
	w->c->has_limit = true;
	spend(w, w->cmd_cyc);
	rec_free(&h->system->recs, handle, &w->b);
}

uint64_t workload_push_limit(struct workload *w)
{
	if (!workload_may_push(w))
		return w->b.cycle + 1;
	if (!chan_can_push(w->srq_cmd))
		return chan_stall(w->srq_cmd);
	srq_cmd_push(w->srq_cmd, &w->c->limit);
	w->c->has_limit = false;
	spend(w, 1);
	return w->c->free_cyc;
}
