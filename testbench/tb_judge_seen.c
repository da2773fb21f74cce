/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_seen.c - when the program reads a completion, what it tells of is in memory
 *
 * At each completion of a receive, a READ or an ATOMIC of RC its bytes are copied. In the end they must
 * be those in memory, but for bytes that a later request of the same queue brings (IBTA vol. 1,
 * 9.7.5.1.6, 10.8.3.3, 11.4.2.1).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "testbench/tb_judge_parts.h"

struct seen_bytes {
	uint32_t wr, qp, k; /* request k of its queue */
	uint8_t *bytes;
};

struct seen {
	struct tb_case *c;
	uint32_t *next_send, *next_recv; /* by QP: the next that may complete */
	struct seen_bytes *copy;
	uint32_t n;
};

static bool brings(const struct ref_wr *w)
{
	return w->r.kind == REC_RECV || w->r.opcode == WR_RDMA_READ || ref_is_atomic(w->r.opcode);
}

static void copy_bytes(struct seen *s, uint32_t qp, uint32_t k, uint32_t wr)
{
	const struct ref_wr *w = &s->c->ref.wr[wr];
	const struct host *h = &s->c->run.r.system->hosts[w->r.host];
	struct seen_bytes *to;
	uint32_t at = 0;

	if (!brings(w) || !w->len)
		return;
	if ((s->n & (s->n - 1)) == 0)
		s->copy = x_realloc(s->copy, (s->n ? 2 * (size_t)s->n : 1) * sizeof(*s->copy));
	to = &s->copy[s->n++];
	*to = (struct seen_bytes){ .wr = wr, .qp = qp, .k = k, .bytes = x_calloc(1, w->len) };
	for (uint32_t i = 0; i < w->r.n_sge; at += w->r.sge[i++].len)
		space_read(h->space, w->r.sge[i].addr, to->bytes + at, w->r.sge[i].len);
}

static void take_completion(void *arg, const struct tb_cqe *e)
{
	struct seen *s = arg;
	const struct ref_qp *q = e->qp == TRACE_NONE ? NULL : &s->c->ref.qp[e->qp];
	uint32_t *k;

	if (!q || q->is_loose ||
	    q->is_reborn) /* of which life a completion is only the end tells */
		return;
	if (e->is_recv) {
		k = &s->next_recv[e->qp];
		if (*k < q->n_recvs && !e->is_error)
			copy_bytes(s, e->qp, *k, q->recvs[*k]);
	} else {
		k = &s->next_send[e->qp];
		while (*k < q->n_sends && !s->c->ref.wr[q->sends[*k]].is_signaled && !e->is_error)
			++*k;
		if (*k < q->n_sends && !e->is_error)
			copy_bytes(s, e->qp, *k, q->sends[*k]);
	}
	*k = e->is_error ? UINT32_MAX : *k + 1;
}

struct seen *seen_watch(struct tb_case *c)
{
	struct seen *s = x_calloc(1, sizeof(*s));

	s->c = c;
	s->next_send = x_calloc(c->run.trace->n_qps + 1, sizeof(uint32_t));
	s->next_recv = x_calloc(c->run.trace->n_qps + 1, sizeof(uint32_t));
	c->watch.completed = take_completion;
	c->watch.arg = s;
	return s;
}

void seen_release(struct seen *s)
{
	for (uint32_t i = 0; s && i < s->n; i++)
		free(s->copy[i].bytes);
	if (s) {
		free(s->copy);
		free(s->next_send);
		free(s->next_recv);
	}
	free(s);
}

/* Whether a later request of the queue brings the byte at 'addr'. */
static bool is_overwritten(const struct seen *s, const struct seen_bytes *b, uint64_t addr)
{
	const struct ref_qp *q = &s->c->ref.qp[b->qp];
	bool is_recv = s->c->ref.wr[b->wr].r.kind == REC_RECV;
	const uint32_t *wr = is_recv ? q->recvs : q->sends;
	uint32_t n = is_recv ? q->n_recvs : q->n_sends;

	for (uint32_t k = b->k + 1; k < n; k++) {
		const struct ref_wr *w = &s->c->ref.wr[wr[k]];

		for (uint32_t i = 0; brings(w) && i < w->r.n_sge; i++)
			if (addr >= w->r.sge[i].addr && addr < w->r.sge[i].addr + w->r.sge[i].len)
				return true;
	}
	return false;
}

const char *judge_seen(const struct tb_case *c, uint8_t *const *actual)
{
	const struct seen *s = c->seen;

	for (uint32_t n = 0; n < s->n; n++) {
		const struct seen_bytes *b = &s->copy[n];
		const struct ref_wr *w = &c->ref.wr[b->wr];
		uint32_t at = 0;

		for (uint32_t i = 0; i < w->r.n_sge; at += w->r.sge[i++].len) {
			const struct rec_sge *g = &w->r.sge[i];
			uint64_t off = g->addr - c->run.trace->mrs[g->mr].va;

			for (uint32_t k = 0; k < g->len; k++)
				if (b->bytes[at + k] != actual[g->mr][off + k] &&
				    !is_overwritten(s, b, g->addr + k))
					return judge_wrong("h%" PRIu32 ".%s: %" PRIu64
							   " completed before its byte %" PRIu32
							   " was in memory",
							   w->r.host, c->run.trace->qps[b->qp].name,
							   w->r.id, at + k);
		}
	}
	return NULL;
}
