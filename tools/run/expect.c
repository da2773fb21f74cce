/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect.c - did the run come out as the trace says it must
 */
#include "tools/run/expect.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/stats.h"

#define BLOCK 4096u

__attribute__((format(printf, 4, 5))) static void fail(struct expect_result *r,
						       const struct trace *t,
						       const struct trace_expect *x,
						       const char *fmt, ...)
{
	struct expect_failure *f;
	va_list ap;
	int n;

	if ((r->n_failures & (r->n_failures - 1)) == 0)
		r->failures = x_realloc(r->failures,
					(r->n_failures ? 2 * r->n_failures : 1) * sizeof(*f));
	f = &r->failures[r->n_failures++];
	f->line = x->line;
	n = snprintf(f->text, EXPECT_TEXT, "%s:%u: ", t->path, x->line);
	if (n < 0 || n >= (int)EXPECT_TEXT)
		return;
	va_start(ap, fmt);
	vsnprintf(f->text + n, EXPECT_TEXT - (size_t)n, fmt, ap);
	va_end(ap);
}

/* ---- completions ---- */

static const char *queue_name(const struct trace *t, const struct trace_expect *x)
{
	return x->qp == TRACE_NONE ? t->srqs[x->srq].name : t->qps[x->qp].name;
}

/* Which of several requests ended otherwise. */
static const char *which_request(const struct trace_expect *x, char text[40])
{
	text[0] = '\0';
	if (x->told > 1)
		snprintf(text, 40, " by request %" PRIu32 " of its repeat", x->got_nth);
	return text;
}

static void check_status(struct expect_result *r, const struct trace *t,
			 const struct trace_expect *x)
{
	const char *host = t->hosts[x->host].name, *qp = queue_name(t, x),
		   *want = wc_status_names[x->status];
	char which[40];

	if (x->was_seen && !x->has_failed)
		return;
	if (x->covered && (!x->seen || x->got == x->status))
		fail(r, t, x,
		     "expected %s.%s id=%" PRIu64
		     " status=%s, but %u of its requests had no completion of their own: "
		     "unsignaled, or lost in a full CQ",
		     host, qp, x->id, want, x->covered);
	else if (x->refused)
		fail(r, t, x,
		     "expected %s.%s id=%" PRIu64 " status=%s, but %u of its posts were refused",
		     host, qp, x->id, want, x->refused);
	else if (x->seen && x->has_failed)
		fail(r, t, x, "expected %s.%s id=%" PRIu64 " status=%s, got %s%s", host, qp, x->id,
		     want, wc_status_names[x->got], which_request(x, which));
	else if (x->seen)
		fail(r, t, x,
		     "expected %s.%s id=%" PRIu64
		     " status=%s, but not all of it was completed (%u were)",
		     host, qp, x->id, want, x->seen);
	else
		fail(r, t, x, "expected %s.%s id=%" PRIu64 " status=%s, got no completion", host,
		     qp, x->id, want);
}

static void check_error(struct expect_result *r, const struct trace *t,
			const struct trace_expect *x)
{
	if (!x->was_seen || x->has_failed)
		fail(r, t, x, "expected the post of %s.%s id=%" PRIu64 " to be refused, but %s",
		     t->hosts[x->host].name, queue_name(t, x), x->id,
		     x->seen ? "it was completed" : "it was not");
}

static void check_none(struct expect_result *r, const struct trace *t, const struct trace_expect *x)
{
	if (x->has_failed)
		fail(r, t, x, "expected no completion of %s.%s id=%" PRIu64 ", got %s",
		     t->hosts[x->host].name, queue_name(t, x), x->id, wc_status_names[x->got]);
}

/* ---- memory ---- */

/* The bytes that the left side is to have, from byte 'off' of it on. */
static void wanted_bytes(const struct system *s, const struct trace_expect *x, uint64_t off,
			 uint8_t *to, uint64_t n)
{
	const struct trace_mr *m = &s->trace->mrs[x->mr];

	if (x->kind == EXPECT_MEM_HEX)
		memcpy(to, x->bytes + off, n);
	else if (x->kind == EXPECT_MEM_FILL)
		trace_fill(m, x->off + off, to, n);
	else
		space_read(s->hosts[x->host2].space, s->mrs[x->mr2].va + x->off2 + off, to, n);
}

static void check_mem(struct expect_result *r, const struct system *s, const struct trace_expect *x)
{
	uint64_t n_bad = 0, first = 0;
	uint8_t got[BLOCK], want[BLOCK], got1 = 0, want1 = 0;

	for (uint64_t off = 0; off < x->len; off += BLOCK) {
		uint64_t n = min_u64(BLOCK, x->len - off);

		space_read(s->hosts[x->host].space, s->mrs[x->mr].va + x->off + off, got, n);
		wanted_bytes(s, x, off, want, n);
		if (memcmp(got, want, n) == 0)
			continue;
		for (uint64_t i = 0; i < n; i++) {
			if (got[i] == want[i])
				continue;
			if (n_bad++ == 0) {
				first = off + i;
				got1 = got[i];
				want1 = want[i];
			}
		}
	}
	if (n_bad)
		fail(r, s->trace, x,
		     "memory of host %s, %s:%" PRIu64 ":%" PRIu64 ": %" PRIu64
		     " bytes differ, first at %s:%" PRIu64 ": 0x%02x, expected 0x%02x",
		     s->trace->hosts[x->host].name, s->trace->mrs[x->mr].name, x->off, x->len,
		     n_bad, s->trace->mrs[x->mr].name, x->off + first, got1, want1);
}

/* ---- statistics ---- */

static bool compare(uint64_t a, const char *op, uint64_t b)
{
	bool with_equal = op[1] == '=';

	switch (op[0]) {
	case '<':
		return a < b || (with_equal && a == b);
	case '>':
		return a > b || (with_equal && a == b);
	case '!':
		return a != b;
	default:
		return a == b;
	}
}

static bool check_stat(struct expect_result *r, const struct system *s, const struct sim *sim,
		       const struct trace_expect *x, struct err *e)
{
	uint64_t v;

	if (!stats_find(sim, x->text, &v))
		return stats_unknown(sim, x->text, s->trace->path, x->line, e);
	if (!compare(v, x->op, x->value))
		fail(r, s->trace, x, "expected %s %s %" PRIu64 ", got %" PRIu64, x->text, x->op,
		     x->value, v);
	return true;
}

/* ---- events ---- */

/* NAME is a CQ's, for its completion event, or that of an asynchronous event (ibv_event_type). */
static bool check_event(struct expect_result *r, const struct system *s,
			const struct trace_expect *x, struct err *e)
{
	static const struct {
		const char *name;
		uint8_t type;
	} types[] = { { "CQ_ERR", EQE_CQ_ERROR }, { "SRQ_LIMIT_REACHED", EQE_SRQ_LIMIT } };
	const struct host *h = &s->hosts[x->host];
	uint64_t n = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, x->text) == 0)
			n = h->n_events[types[i].type];
	for (uint32_t i = 0; i < s->trace->n_cqs; i++)
		if (s->trace->cqs[i].host == x->host && strcmp(s->trace->cqs[i].name, x->text) == 0)
			n = h->cq[s->cqs[i]].n_events;
	if (n == UINT64_MAX)
		return err_set(e, s->trace->path, x->line,
			       "event %s: allowed: a CQ of host %s, CQ_ERR, SRQ_LIMIT_REACHED",
			       x->text, s->trace->hosts[x->host].name);
	if (n == 0)
		fail(r, s->trace, x, "expected event %s on host %s, which did not come", x->text,
		     s->trace->hosts[x->host].name);
	return true;
}

/* ---- all ---- */

static bool check_one(struct expect_result *r, const struct system *s, const struct sim *sim,
		      const struct trace_expect *x, struct err *e)
{
	switch (x->kind) {
	case EXPECT_STATUS:
		check_status(r, s->trace, x);
		return true;
	case EXPECT_ERROR:
		check_error(r, s->trace, x);
		return true;
	case EXPECT_NO_COMPLETION:
		check_none(r, s->trace, x);
		return true;
	case EXPECT_MEM:
	case EXPECT_MEM_FILL:
	case EXPECT_MEM_HEX:
		check_mem(r, s, x);
		return true;
	case EXPECT_STAT:
		return check_stat(r, s, sim, x, e);
	default:
		return check_event(r, s, x, e);
	}
}

static int by_line(const void *a, const void *b)
{
	const struct expect_failure *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

bool expect_evaluate(const struct system *s, const struct sim *sim, struct expect_result *out,
		     struct err *e)
{
	*out = (struct expect_result){ .n_expects = s->trace->n_expects };
	for (uint32_t i = 0; i < s->trace->n_expects; i++) {
		if (!check_one(out, s, sim, &s->trace->expects[i], e)) {
			expect_release(out);
			return false;
		}
	}
	if (out->n_failures)
		qsort(out->failures, out->n_failures, sizeof(*out->failures), by_line);
	return true;
}

void expect_release(struct expect_result *r)
{
	free(r->failures);
	*r = (struct expect_result){ 0 };
}
