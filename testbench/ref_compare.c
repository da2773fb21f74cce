/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_compare.c - memory of a run against that of the dumb executor
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/ref_exec.h"

#define TEXT_LEN 256u

bool ref_may_lose_key(const struct ref_exec *x, const struct ref_wr *w)
{
	for (uint32_t i = 0; w->r.rkey && i < x->n_wr; i++)
		if (x->wr[i].r.kind == REC_POST && x->wr[i].r.inv_key == w->r.rkey)
			return true;
	return false;
}

static struct ref_mr *clone(const struct ref_exec *x, const struct ref_mr *mem)
{
	struct ref_mr *c = x_calloc(x->trace->n_mrs + 1, sizeof(*c));

	for (uint32_t i = 0; i < x->trace->n_mrs; i++) {
		uint64_t n = x->trace->mrs[i].len;

		c[i] = ref_new_mr(n);
		memcpy(c[i].val, mem[i].val, n);
		memcpy(c[i].any, mem[i].any, n);
		memcpy(c[i].maybe, mem[i].maybe, n);
		memcpy(c[i].maybe_local, mem[i].maybe_local, n);
	}
	return c;
}

static void free_clone(const struct ref_exec *x, struct ref_mr *c)
{
	for (uint32_t i = 0; i < x->trace->n_mrs; i++)
		ref_free_mr(&c[i]);
	free(c);
}

/* The bytes of one side that QP 'qp' may have written are as in 'a' or, where 'b' is given, as in
 * 'b'. */
static bool is_state(const struct ref_exec *x, uint8_t *const *actual, uint32_t qp, bool is_local,
		     const struct ref_mr *a, const struct ref_mr *b)
{
	for (uint32_t i = 0; i < x->trace->n_mrs; i++) {
		const uint8_t *by = is_local ? a[i].maybe_local : a[i].maybe;

		for (uint64_t k = 0; k < x->trace->mrs[i].len; k++)
			if (by[k] == qp + 1 && !a[i].any[k] && actual[i][k] != a[i].val[k] &&
			    !(b && (b[i].any[k] || actual[i][k] == b[i].val[k])))
				return false;
	}
	return true;
}

/*
 * Selective repeat: each byte of the requester's side is as it was behind some of the uncertain requests;
 * responses to those behind may be there without the one that was lost.
 */
static bool is_placed(const struct ref_exec *x, uint8_t *const *actual, uint32_t qp)
{
	const struct ref_qp *q = &x->qp[qp];
	struct ref_mr *a = clone(x, x->mr), *is_known = clone(x, x->mr);
	bool ok = true;

	for (uint32_t k = q->n_sure; k <= q->n_sends; k++) {
		for (uint32_t i = 0; i < x->trace->n_mrs; i++)
			for (uint64_t n = 0; n < x->trace->mrs[i].len; n++)
				is_known[i].any[n] |= a[i].any[n] || actual[i][n] == a[i].val[n];
		if (k < q->n_sends)
			ref_execute(x, a, &x->wr[q->sends[k]]);
	}
	for (uint32_t i = 0; i < x->trace->n_mrs; i++)
		for (uint64_t n = 0; n < x->trace->mrs[i].len; n++)
			ok &= a[i].maybe_local[n] != qp + 1 || is_known[i].any[n];
	free_clone(x, a);
	free_clone(x, is_known);
	return ok;
}

/* For some n, both sides hold what n of the uncertain requests made, and part of the one after. */
static bool is_possible(const struct ref_exec *x, uint8_t *const *actual, uint32_t qp)
{
	const struct ref_qp *q = &x->qp[qp];
	struct ref_mr *a = clone(x, x->mr), *b = clone(x, x->mr);
	bool ok[2] = { false, false };

	for (uint32_t k = q->n_sure; k <= q->n_sends; k++) {
		const struct ref_wr *next = k < q->n_sends ? &x->wr[q->sends[k]] : NULL;
		bool is_split = next && !ref_is_atomic(next->r.opcode);

		if (next)
			ref_execute(x, b, next);
		for (unsigned side = 0; side < 2; side++)
			ok[side] |= is_state(x, actual, qp, side == 1, a, is_split ? b : NULL);
		if (next)
			ref_execute(x, a, next);
	}
	free_clone(x, a);
	free_clone(x, b);
	return ok[0] && (x->is_selective ? is_placed(x, actual, qp) : ok[1]);
}

const char *ref_compare(struct ref_exec *x, uint8_t *const *actual)
{
	static char text[TEXT_LEN];

	for (uint32_t i = 0; i < x->trace->n_mrs; i++) {
		const struct trace_mr *m = &x->trace->mrs[i];
		const struct ref_mr *r = &x->mr[i];

		if (memcmp(actual[i], r->val, m->len) == 0)
			continue;
		for (uint64_t k = 0; k < m->len; k++) {
			if (r->any[k] || r->maybe[k] || r->maybe_local[k] ||
			    actual[i][k] == r->val[k])
				continue;
			snprintf(text, sizeof(text),
				 "h%" PRIu32 " %s:%" PRIu64 " is %02x, not %02x", m->host, m->name,
				 k, actual[i][k], r->val[k]);
			return text;
		}
	}
	for (uint32_t i = 0; i < x->trace->n_qps; i++) {
		if (x->qp[i].is_loose || x->qp[i].n_sure == x->qp[i].n_sends ||
		    is_possible(x, actual, i))
			continue;
		snprintf(text, sizeof(text),
			 "h%" PRIu32
			 ".%s: memory is not what any part of its failed requests makes",
			 x->trace->qps[i].host, x->trace->qps[i].name);
		return text;
	}
	return NULL;
}
