/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_state.c - the program changes the state of QPs and destroys them
 *
 * Such a record has its turn among those of its QP. The call takes cmd_cost, then the NIC is told;
 * the firmware behind such a call is not modelled. A QP that the program knows to be in Error: receives
 * posted to it are told to the NIC, which flushes them.
 */
#include "models/workload.h"

static void command(struct workload *w, uint32_t qpi, uint8_t state)
{
	SIM_CHECK(!w->has_cmd, w);
	w->cmd = (struct qp_cmd){ .qpi = qpi, .state = state };
	w->has_cmd = true;
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
			"a QP that was in use and was reset is not brought up again: not supported yet");
		sim_stop(w->b.sim);
	} else if (err) {
		w->refused++;
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

uint64_t workload_push_cmd(struct workload *w)
{
	if (!chan_can_push(w->qp_cmd))
		return chan_stall(w->qp_cmd);
	qp_cmd_push(w->qp_cmd, &w->cmd);
	w->has_cmd = false;
	spend(w, 1);
	return w->free_cyc;
}
