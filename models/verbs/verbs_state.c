/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_state.c - states of a QP while the program runs (IBTA vol. 1, 10.3.1, figure 124)
 *
 * Attributes are those of the set-up; what changes is the state, and the first PSNs. A change is a
 * write to the NIC's command register, behind all doorbells before it. What a QP had posted when it
 * is reset has no completions: libmlx5 takes those that are in the CQs out of them, here they are
 * passed over by their number when it is their turn.
 */
#include "models/cpu_list.h"

#define TO(s) (1u << (s))
#define DOWN (TO(QPS_RESET) | TO(QPS_ERR))

static const uint8_t transitions[QPS_STATES] = {
	[QPS_RESET] = TO(QPS_RESET) | TO(QPS_INIT),
	[QPS_INIT] = DOWN | TO(QPS_INIT) | TO(QPS_RTR),
	[QPS_RTR] = DOWN | TO(QPS_RTS),
	[QPS_RTS] = DOWN | TO(QPS_RTS) | TO(QPS_SQD),
	[QPS_SQD] = DOWN | TO(QPS_RTS) | TO(QPS_SQD),
	[QPS_SQE] = DOWN | TO(QPS_RTS),
	[QPS_ERR] = DOWN,
};

/* Nothing of it completes any more. */
static void drop(struct host *h, uint32_t qpi)
{
	const struct qp_attr *q = &h->nic->qp[qpi];
	struct drv_qp *d = &h->qp[qpi];

	h->cq[q->scq].outstanding -= d->sq.head - d->sq.tail;
	h->cq[q->rcq].outstanding -= d->rq.head - d->rq.tail;
	d->sq.tail = d->sq.head;
	d->rq.tail = d->rq.head;
	d->n_closing = 2;
}

/* Write the command register. */
static void command(struct host *h, uint32_t qpi, uint8_t state, uint32_t psn, struct cpu_list *out)
{
	struct cpu_req *r = append(out, CPU_MMIO, UAR_COMMAND, 8, OP_NONE);

	memset(r->data, 0, sizeof(r->data));
	store_be32(r->data, h->nic->qp[qpi].qpn << 8 | state);
	store_be32(r->data + 4, psn);
}

int verbs_change_state(struct host *h, uint32_t qpi, uint8_t state, uint32_t psn,
		       struct cpu_list *out)
{
	const struct qp_attr *q = &h->nic->qp[qpi];
	struct drv_qp *d = &h->qp[qpi];

	if (state >= QPS_STATES || !(transitions[d->state] & TO(state)) || d->is_destroyed)
		return EINVAL;
	if (psn != VERBS_PSN && state == QPS_RTS && d->state != QPS_RTR)
		return EINVAL;
	if (psn == VERBS_PSN)
		psn = state == QPS_RTR ? q->rq_psn : q->sq_psn;
	if (state == QPS_RESET)
		drop(h, qpi);
	d->state = state;
	command(h, qpi, state, psn, out);
	return 0;
}

void verbs_destroy_qp(struct host *h, uint32_t qpi, struct cpu_list *out)
{
	verbs_change_state(h, qpi, QPS_RESET, VERBS_PSN, out);
	h->qp[qpi].is_destroyed = true;
}

void verbs_fail_qp(struct host *h, uint32_t qpi, struct cpu_list *out)
{
	command(h, qpi, QPS_ERR, 0, out);
}

bool verbs_half_closed(struct host *h, uint32_t qpi, bool is_recv, uint32_t cqes)
{
	const struct qp_attr *q = &h->nic->qp[qpi];
	struct drv_cq *cq = &h->cq[is_recv ? q->rcq : q->scq];
	struct drv_qp *d = &h->qp[qpi];

	SIM_CHECK(d->n_closing > 0, h->cpu);
	d->life[is_recv] = cqes;
	if ((int32_t)(cqes - cq->stale) > 0)
		cq->stale = cqes;
	return --d->n_closing == 0;
}

void verbs_renew_qp(struct host *h, uint32_t qpi, struct cpu_list *out)
{
	static const uint8_t zero[8] = { 0 };
	struct drv_qp *d = &h->qp[qpi];

	d->sq.head = d->sq.tail = d->rq.head = d->rq.tail = 0;
	d->sq_bb = d->sq_rung = 0;
	append_store(out, h->nic->qp[qpi].dbr_pa, zero, sizeof(zero), OP_NONE);
}

bool verbs_note_error(struct host *h, const struct wc *wc)
{
	const struct qp_attr *q = &h->nic->qp[wc->qpi];
	struct drv_qp *d = &h->qp[wc->qpi];
	bool is_reliable = q->type == QP_RC || q->type == QP_XRC;

	if (wc->status == WC_SUCCESS || d->state == QPS_ERR)
		return false;
	if (!is_reliable) {
		if (!wc->is_recv)
			d->state = QPS_SQE;
		return false;
	}
	d->state = QPS_ERR;
	return d->rq.head != d->rq.tail;
}
