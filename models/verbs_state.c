/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_state.c - states of a QP while the program runs (IBTA vol. 1, 10.3.1, figure 124)
 *
 * Attributes are those of the set-up; what changes is the state alone. Not modelled: a QP that was
 * in use and reset is not brought up again.
 */
#include "models/verbs.h"

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
	d->was_dropped = true;
}

int verbs_change_state(struct host *h, uint32_t qpi, uint8_t state)
{
	struct drv_qp *d = &h->qp[qpi];

	if (state >= QPS_STATES || !(transitions[d->state] & TO(state)))
		return EINVAL;
	if (d->was_dropped && state == QPS_INIT)
		return ENOTSUP;
	if (state == QPS_RESET && d->state != QPS_RESET)
		drop(h, qpi);
	d->state = state;
	return 0;
}

void verbs_destroy_qp(struct host *h, uint32_t qpi)
{
	drop(h, qpi);
	h->qp[qpi].state = QPS_RESET;
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
