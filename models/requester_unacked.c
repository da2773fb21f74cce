/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester_unacked.c - messages of UC and UD, which are done when their last packet was handed to
 * the port: nothing is waited for, timed or sent again (IBTA vol. 1, 9.8)
 */
#include "models/requester.h"

bool req_is_unsent(const struct requester *r, const struct req_wqe *w)
{
	const struct nic *nic = r->b.env;
	const struct qp_attr *a = &nic->qp[w->w.qpi];

	return nic->takes_long_ud && a->type == QP_UD && w->w.len > a->mtu;
}

void req_sent(struct requester *r, uint32_t qpi, uint32_t to)
{
	struct req_qp *q = &r->qp[qpi];

	req_acknowledge(r, qpi, to);
	while (q->acked != q->issued && req_is_unsent(r, req_wqe(q, q->acked)))
		req_acknowledge(r, qpi, psn_add(q->una, 1));
}
