/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_atomic.c - atomics on a counter that all QPs share are linearizable
 *
 * The counter is at 0 first. Every request either adds 1, or swaps c for c + 1: so it goes up by
 * steps of 1, what a request fetched is its place in the one order that there can be, and checking
 * that order is checking linearizability (IBTA vol. 1, 9.4.5; 9.7.5.1.7 for those sent again):
 * - exactly once: those that changed it fetched different values, which with those that ended in
 *   error (at most once each) are all from 0 up to the last;
 * - the order is that of real time: what one leaves is not above what another fetched that was
 *   posted after the first was polled; and of one QP, each is behind the one before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "testbench/tb_judge_parts.h"

/* A request that succeeded. */
struct atomic {
	const struct ref_wr *w;
	uint64_t before, after; /* the counter */
};

static uint64_t le64(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/*
 * Those that succeeded at the counter, in the order of posting. Of others, *n_maybe may have changed
 * it and *n_sure have: requests behind them were executed.
 */
static uint32_t collect(const struct tb_case *c, uint32_t cnt, uint32_t tkt, uint8_t *const *actual,
			struct atomic *a, uint64_t *n_maybe, uint64_t *n_sure)
{
	uint32_t n = 0;

	*n_maybe = *n_sure = 0;
	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		const struct ref_wr *w = &c->ref.wr[i];
		uint64_t got;

		if (w->r.kind != REC_POST || w->r.rmr != cnt)
			continue;
		if (!w->has_row || w->is_error) {
			++*n_maybe;
			*n_sure += w->is_sure && w->r.opcode == WR_ATOMIC_FETCH_AND_ADD;
			continue;
		}
		got = le64(actual[tkt] + (w->r.sge[0].addr - c->run.trace->mrs[tkt].va));
		a[n++] = (struct atomic){ w, got,
					  got + (w->r.opcode == WR_ATOMIC_FETCH_AND_ADD ||
						 got == w->r.compare_add) };
	}
	return n;
}

static const char *judge_values(uint32_t h, const struct atomic *a, uint32_t n, uint64_t n_maybe,
				uint64_t n_sure, uint64_t total)
{
	uint8_t *seen = x_calloc(1, n + n_maybe + 1);
	const char *what = NULL;
	uint64_t n_steps = 0;

	if (total > n + n_maybe)
		what = judge_wrong("counter of h%" PRIu32 " is %" PRIu64 ", of %" PRIu64
				   " steps at most",
				   h, total, n + n_maybe);
	for (uint32_t i = 0; i < n && !what; i++) {
		if (a[i].after > total || (a[i].after != a[i].before && seen[a[i].before]++))
			what = judge_wrong("counter of h%" PRIu32 ": %" PRIu64 " fetched %" PRIu64
					   " of %" PRIu64,
					   h, a[i].w->r.id, a[i].before, total);
		n_steps += a[i].after != a[i].before;
	}
	free(seen);
	if (!what && (total < n_steps + n_sure || total > n_steps + n_maybe))
		return judge_wrong("counter of h%" PRIu32 " is %" PRIu64 " after %" PRIu64
				   " to %" PRIu64 " steps",
				   h, total, n_steps + n_sure, n_steps + n_maybe);
	return what;
}

const char *judge_counter(const struct tb_case *c, uint32_t h, uint8_t *const *actual)
{
	uint32_t cnt = ref_find_mr(&c->ref, h, "cnt0"), tkt = ref_find_mr(&c->ref, 1 - h, "tkt0");
	struct atomic *a = x_calloc(c->ref.n_wr + 1, sizeof(*a));
	uint64_t n_maybe, n_sure;
	uint32_t n = collect(c, cnt, tkt, actual, a, &n_maybe, &n_sure);
	const char *what = judge_values(h, a, n, n_maybe, n_sure, le64(actual[cnt]));

	for (uint32_t i = 0; i < n && !what; i++)
		for (uint32_t k = 0; k < n && !what; k++)
			if ((a[i].w->t_poll < a[k].w->t_post ||
			     (i < k && a[i].w->qp == a[k].w->qp)) &&
			    a[i].after > a[k].before)
				what = judge_wrong("counter of h%" PRIu32 ": %" PRIu64
						   " came behind %" PRIu64 " and fetched less",
						   h, a[k].w->r.id, a[i].w->r.id);
	free(a);
	return what;
}
