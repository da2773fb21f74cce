/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_outcome.c - what became of a request: the records that waited for it, and the expectations of it
 */
#include <stdlib.h>
#include "models/verbs/setup.h"

static int expect_order(const void *a, const void *b, void *arg)
{
	const struct trace *t = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct trace_expect *x = &t->expects[i], *y = &t->expects[k];

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return i < k ? -1 : 1;
}

void system_index_expects(struct system *s)
{
	struct trace *t = s->trace;
	struct recs *r = &s->recs;

	r->n_known = t->n_expects;
	r->expects = x_calloc(t->n_expects + 1, sizeof(*r->expects));
	for (uint32_t i = 0; i < t->n_expects; i++)
		if (t->expects[i].kind <= EXPECT_NO_COMPLETION)
			r->expects[r->n_expects++] = i;
	if (r->n_expects)
		qsort_r(r->expects, r->n_expects, sizeof(*r->expects), expect_order, t);
	for (uint32_t h = 0, i = 0; h < s->n_hosts; h++) {
		while (i < r->n_expects && t->expects[r->expects[i]].host < h)
			i++;
		r->expect_at[h] = i;
	}
}

/*
 * was_seen: it came out as expected as often as there are requests. 'got' is the first status that is
 * not as expected, if there is one.
 */
static void tell_expect(struct trace_expect *x, enum outcome o, uint8_t status, bool is_last)
{
	bool is_met;

	x->told++;
	if (o == OUTCOME_COVERED && x->kind == EXPECT_STATUS && !is_last)
		return; /* one of several (signal=): the completion that covers it tells */
	if (x->kind == EXPECT_NO_COMPLETION)
		is_met = o != OUTCOME_COMPLETED;
	else if (x->kind == EXPECT_ERROR)
		is_met = o == OUTCOME_REFUSED;
	else
		is_met = o == OUTCOME_COMPLETED && status == x->status;
	if (o == OUTCOME_COMPLETED) {
		x->seen++;
		if (x->seen == 1 || (!is_met && !x->got_nth))
			x->got = (enum wc_status)status;
		if (!is_met && !x->got_nth)
			x->got_nth = x->told;
	}
	x->covered += o == OUTCOME_COVERED || o == OUTCOME_LOST;
	x->refused += o == OUTCOME_REFUSED;
	x->has_failed |= !is_met;
	x->was_seen |= is_last;
}

/*
 * A dependency was met. With its last a record goes to its CPU, which looks from the next time
 * stamp on.
 */
static void release(struct system *s, uint32_t handle, const struct block *by)
{
	struct rec *c = rec_at(&s->recs, handle);
	struct host *h = &s->hosts[c->host];

	c->wait_ps = by ? by->now_ps : 0;
	if (--c->n_wait || !by)
		return;
	c->inbox = h->inbox;
	c->is_inboxed = true;
	h->inbox = handle;
	if (h->cpu && h->cpu != by)
		block_wake(h->cpu, domain_cycle_at(h->cpu->dom, by->now_ps + 1));
}

void system_outcome(struct system *s, uint32_t ticket, enum outcome o, uint8_t status,
		    const struct block *by)
{
	struct recs *r = &s->recs;
	struct ticket *t = &r->tickets[ticket];
	uint32_t node;

	for (uint32_t i = t->expect; i < r->n_expects; i++) {
		struct trace_expect *x = &s->trace->expects[r->expects[i]];

		if (x->host != t->host || x->id != t->id)
			break;
		tell_expect(x, o, status, t->left == 1);
	}
	for (uint32_t i = t->late; i; i = r->late[i - 1])
		tell_expect(&s->trace->expects[i - 1], o, status, t->left == 1);
	node = ticket_done(r, ticket);
	while (node)
		release(s, ticket_next_waiter(r, &node), by);
}

void system_refused(struct system *s, const struct rec *c, int err, const struct block *by)
{
	struct refusals *f = &s->refused;

	if (f->posts + f->recvs + f->modifies == 0 || c->line < f->line) {
		f->line = c->line;
		f->err = err;
	}
	if (c->kind == REC_MODIFY_QP || c->kind == REC_DESTROY) {
		f->modifies++;
		return;
	}
	if (c->kind == REC_RECV) {
		f->recvs++;
	} else {
		f->posts++;
		f->ops[c->opcode]++;
	}
	system_outcome(s, c->ticket, OUTCOME_REFUSED, 0, by);
}
