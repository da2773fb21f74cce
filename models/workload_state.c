/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_state.c - the program changes the state of QPs and SRQs, and waits for events
 *
 * Such a record has its turn among those of its QP. The call takes cmd_cost, then the NIC is told;
 * the firmware behind such a call is not modelled. Receives that are posted to a QP which the program
 * knows to be in Error are told to the NIC, which flushes them.
 */
#include "models/workload.h"

static void command(struct workload *w, uint32_t qpi, uint8_t state)
{
	SIM_CHECK(!w->c->has_cmd, w);
	w->c->cmd = (struct qp_cmd){ .qpi = qpi, .state = state };
	w->c->has_cmd = true;
}

static void end_record(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;

	workload_next(w, h, &w->wq[rec_at(r, handle)->qpi]);
	rec_free(r, handle, &w->b);
}

/* What the QP had posted is gone. */
static void count_drop(struct workload *w, struct host *h, uint32_t qpi, uint32_t n_sends,
		       uint32_t n_recvs)
{
	w->open_sends -= n_sends;
	w->open_recvs -= n_recvs;
	workload_unpark(w, h, &w->wq[qpi]);
}

void workload_modify(struct workload *w, struct host *h, uint32_t handle)
{
	const struct rec *c = rec_at(&h->system->recs, handle);
	const struct drv_qp *d = &h->qp[c->qpi];
	uint32_t sends = d->sq.head - d->sq.tail, recvs = d->rq.head - d->rq.tail;
	int err = verbs_change_state(h, c->qpi, c->state);

	spend(w, w->cmd_cyc);
	if (err == ENOTSUP) {
		err_set(&h->system->err, h->trace->path, c->line,
			"a QP that was in use and reset is not brought up again: not supported yet");
		sim_stop(w->b.sim);
	} else if (err) {
		w->refused++;
		system_refused(h->system, c, err, &w->b);
	} else {
		command(w, c->qpi, c->state);
		if (c->state == QPS_RESET)
			count_drop(w, h, c->qpi, sends, recvs);
	}
	end_record(w, h, handle);
}

void workload_destroy(struct workload *w, struct host *h, uint32_t handle)
{
	const struct rec *c = rec_at(&h->system->recs, handle);
	const struct drv_qp *d = &h->qp[c->qpi];
	uint32_t sends = d->sq.head - d->sq.tail, recvs = d->rq.head - d->rq.tail;

	spend(w, w->cmd_cyc);
	verbs_destroy_qp(h, c->qpi);
	command(w, c->qpi, QPS_RESET);
	count_drop(w, h, c->qpi, sends, recvs);
	end_record(w, h, handle);
}

void workload_note_error(struct workload *w, struct host *h, const struct wc *wc)
{
	if (verbs_note_error(h, wc))
		command(w, wc->qpi, QPS_ERR);
}

void workload_note_recv(struct workload *w, struct host *h, uint32_t qpi)
{
	if (qpi < h->nic->n_qp && h->qp[qpi].state == QPS_ERR)
		command(w, qpi, QPS_ERR);
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

uint64_t workload_push_cmd(struct workload *w)
{
	if (!workload_may_push(w))
		return w->b.cycle + 1;
	if (w->c->has_limit) {
		if (!chan_can_push(w->srq_cmd))
			return chan_stall(w->srq_cmd);
		srq_cmd_push(w->srq_cmd, &w->c->limit);
		w->c->has_limit = false;
		spend(w, 1);
		return w->c->free_cyc;
	}
	if (!chan_can_push(w->qp_cmd))
		return chan_stall(w->qp_cmd);
	qp_cmd_push(w->qp_cmd, &w->c->cmd);
	w->c->has_cmd = false;
	spend(w, 1);
	return w->c->free_cyc;
}
