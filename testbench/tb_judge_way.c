/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_way.c - one direction of a connection: its requests by PSN
 */
#include "testbench/tb_judge_way.h"

#include <stdlib.h>

const struct ref_wr *way_request(const struct wire_judge *j, const struct way *w, uint32_t k)
{
	return &j->c->ref.wr[w->q->sends[k]];
}

bool way_is_answered(enum wr_opcode op)
{
	return op == WR_RDMA_READ || ref_is_atomic(op) || op == WR_FLUSH || op == WR_ATOMIC_WRITE;
}

static uint32_t packets_of(const struct way *w, const struct ref_wr *r)
{
	uint32_t n = (r->len + w->t->mtu - 1) / w->t->mtu;

	if (r->r.opcode == WR_LOCAL_INV || r->r.opcode == WR_BIND_MW)
		return 0;
	return r->r.opcode == WR_FLUSH || n == 0 ? 1 : n;
}

void way_open(struct wire_judge *j, uint32_t qp)
{
	struct way *w = &j->way[qp];
	uint32_t n;

	w->t = &j->c->run.trace->qps[qp];
	w->q = &j->c->ref.qp[qp];
	n = w->q->n_sends;
	w->first = x_calloc(n + 1, sizeof(*w->first));
	w->answered = x_calloc(n + 1, sizeof(*w->answered));
	w->original = x_calloc(n + 1, sizeof(*w->original));
	w->has_original = x_calloc(n + 1, sizeof(*w->has_original));
	w->most_rnr = x_calloc(n + 1, sizeof(*w->most_rnr));
	for (uint32_t k = 0; k < n; k++)
		w->first[k + 1] = w->first[k] + packets_of(w, way_request(j, w, k));
	w->n_sent = x_calloc(w->first[n] + 1, sizeof(*w->n_sent));
	w->came = x_calloc(w->first[n] + 1, sizeof(*w->came));
	w->came_back = x_calloc(w->first[n] + 1, sizeof(*w->came_back));
	w->is_named = x_calloc(w->first[n] + 1, sizeof(*w->is_named));
	w->is_end = x_calloc(w->first[n] + 1, sizeof(*w->is_end));
	w->gap.missed = x_calloc(w->first[n] + 1, sizeof(*w->gap.missed));
}

void way_close(struct way *w)
{
	free(w->first);
	free(w->answered);
	free(w->original);
	free(w->has_original);
	free(w->most_rnr);
	free(w->n_sent);
	free(w->came);
	free(w->came_back);
	free(w->is_named);
	free(w->is_end);
	free(w->gap.missed);
}

uint32_t way_total(const struct way *w)
{
	return w->first[w->q->n_sends];
}

uint32_t way_request_at(const struct way *w, uint32_t at)
{
	uint32_t k = 0;

	while (w->first[k + 1] <= at)
		k++;
	return k;
}

uint32_t way_requests_before(const struct way *w, uint32_t at)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < w->q->n_sends; k++)
		n += w->first[k + 1] <= at && w->first[k + 1] != w->first[k];
	return n;
}
