/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - which unit limits a run, and what waits for what
 */
#include "tools/run/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/explain_parts.h"
#include "tools/run/oplog_csv.h"
#include "sim/chan.h"

#define SHOWN_UNITS 8u
#define SHOWN_WAITS 8u

/* ---- units ---- */

/* Put 'x' in its place among the first 'max'. What went on behind the last completion counts too: all of the time at most. */
static void rank_unit(struct explain_unit *u, unsigned *n, unsigned max, struct explain_unit x)
{
	unsigned i = *n;

	x.ppm = min_u64(x.ppm, PPM);
	if (x.ppm == 0)
		return;
	while (i > 0 && u[i - 1].ppm < x.ppm) {
		if (i < max)
			u[i] = u[i - 1];
		i--;
	}
	if (i < max)
		u[i] = x;
	if (*n < max)
		++*n;
}

/* The share of its cycles in which the busiest port of 'b' moved a message. */
static struct explain_unit port_use(const struct sim *s, const struct block *b, uint64_t span_ps)
{
	struct explain_unit x = { .b = b, .what = "" };

	for (uint32_t i = 0; i < s->n_chans; i++) {
		const struct chan *c = s->chans[i];
		uint64_t ps = (uint64_t)((u128)c->pushes * PS_PER_S / b->clock_hz);
		uint64_t ppm = share_ppm(ps, span_ps);

		if ((c->producer == b || c->consumer == b) && ppm > x.ppm) {
			x.ppm = ppm;
			x.what = c->producer == b ? c->out->name : c->in->name;
		}
	}
	return x;
}

/* Reads outstanding of caches: how their statistic ends, and the parameter that says how many there may be. */
static const struct {
	const char *ending, *slots;
} reads[] = { { "wqe_miss_ps", "wqe_reads" }, { "miss_ps", "max_misses" } };

/* The share of the time for which field 'f' says that 'b' was busy; 0 if it says nothing of that. */
static uint64_t busy_of(const struct block *b, const struct field *f, uint64_t span_ps)
{
	if (f->kind != FIELD_STAT)
		return 0;
	if (ends_with(f->name, "busy_ps"))
		return share_ppm(field_get(b, f), span_ps);
	for (unsigned i = 0; i < ARRAY_LEN(reads); i++) {
		const struct field *p = field_find(b->cls->fields, FIELD_PARAM, reads[i].slots);

		if (p && ends_with(f->name, reads[i].ending))
			return share_ppm(field_get(b, f), span_ps * field_get(b, p));
	}
	return 0;
}

unsigned explain_units(const struct sim *s, uint64_t span_ps, struct explain_unit *u, unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];
		const struct field *f;

		FIELDS_EACH(f, b->cls->fields) {
			rank_unit(u, &n, max,
				  (struct explain_unit){ b, f->name, busy_of(b, f, span_ps) });
		}
		rank_unit(u, &n, max, port_use(s, b, span_ps));
	}
	return n;
}

/* ---- waits ---- */

void print_percent(FILE *f, int width, uint64_t ppm)
{
	fprintf(f, "%*" PRIu64 ".%" PRIu64 " %%", width, ppm / 10000, ppm / 1000 % 10);
}

static void print_waits(const struct wait *w, unsigned n, FILE *f)
{
	fprintf(f, "\nwhat waits for what (share of the time; several at once add up)\n");
	if (n == 0)
		fprintf(f, "  nothing waits for 1 %% of the time\n");
	for (unsigned i = 0; i < n && i < SHOWN_WAITS; i++) {
		fprintf(f, "  ");
		print_percent(f, 4, w[i].ppm);
		if (w[i].whom)
			fprintf(f, "  %s waits for %s to take its %s\n", w[i].who, w[i].whom,
				w[i].what);
		else
			fprintf(f, "  %s: %s\n", w[i].who, w[i].what);
	}
}

/* ---- stages ---- */

static const struct {
	enum milestone end;
	const char *what;
} meaning[] = {
	{ OP_DOORBELL, "the core's stores and register write, over PCIe" },
	{ OP_SCHED, "waits for its turn at the QP scheduler" },
	{ OP_CONTEXT, "QP context" },
	{ OP_FETCH, "WQE read from host memory" },
	{ OP_ISSUE, "waits for window, credits, fence or the requester" },
	{ OP_TRANSLATE, "key check and translation of the payload" },
	{ OP_REQUEST, "payload reads wait for tags and the PCIe link" },
	{ OP_PAYLOAD, "payload read from host memory" },
	{ OP_RETRY, "lost or refused passes" },
	{ OP_FIRST_BIT, "packets built, waits for the port" },
	{ OP_LAST_BIT, "on the line" },
	{ OP_ARRIVE, "cable and what is on it" },
	{ OP_PARSE, "peer: QP context" },
	{ OP_REMOTE, "peer: executed, READ and ATOMIC: answered" },
	{ OP_ACK, "acknowledgement, or placing of the response" },
	{ OP_CQE, "completion written" },
	{ OP_POLL, "program finds it, or the later, signaled one that tells of it" },
};
_Static_assert(ARRAY_LEN(meaning) == REPORT_STAGES, "one a stage");

const char *explain_stage(unsigned stage)
{
	return meaning[stage].what;
}

/* The way there, and back, which is part of 'remote' (READ, ATOMIC) or of 'ack'; UC and UD have none. */
static uint64_t flight_of(const struct report_op *o)
{
	uint64_t there_ps = o->stage_ps[OP_ARRIVE - 1];

	return there_ps + min_u64(there_ps, o->stage_ps[OP_REMOTE - 1] + o->stage_ps[OP_ACK - 1]);
}

static struct totals add_up(const struct report *r)
{
	struct totals t = { .first_ps = UINT64_MAX };

	for (unsigned i = 0; i < WR_OPCODES; i++) {
		const struct report_op *o = &r->ops[i];

		if (o->n == 0)
			continue;
		t.n += o->n;
		t.first_ps = min_u64(t.first_ps, o->first_ps);
		t.last_ps = max_u64(t.last_ps, o->last_ps);
		t.latency_ps += o->latency.sum;
		for (unsigned m = 0; m < REPORT_STAGES; m++)
			t.stage_ps[m] += o->stage_ps[m];
		for (unsigned m = OP_TRANSLATE; m <= OP_ACK; m++)
			t.served_ps += o->stage_ps[m - 1];
		t.flight_ps += flight_of(o);
	}
	return t;
}

static void print_stages(const struct totals *t, FILE *f)
{
	fprintf(f, "\nwhere the time of a request goes (all requests)\n");
	for (unsigned m = 0; m < REPORT_STAGES; m++) {
		uint64_t ppm = share_ppm(t->stage_ps[m], t->latency_ps);

		if (ppm < MIN_WAIT_PPM)
			continue;
		fprintf(f, "  ");
		print_percent(f, 4, ppm);
		fprintf(f, "  %-10s %s\n", milestone_names[m + 1], meaning[m].what);
	}
}

static void print_qps(const struct wait *w, unsigned n, FILE *f)
{
	fprintf(f, "\nwhat queue pairs wait for (share of the time that they hold requests)\n");
	for (unsigned i = 0; i < n && i < SHOWN_WAITS; i++) {
		fprintf(f, "  ");
		print_percent(f, 4, w[i].ppm);
		fprintf(f, "  %-18s %-16s %s\n", w[i].who, w[i].what, w[i].whom);
	}
}

static void print_units(const struct explain_unit *u, unsigned n, uint64_t span_ps, FILE *f)
{
	fprintf(f,
		"\nbusiest units (share of %.3f us from the first post to the last completion)\n",
		(double)span_ps / 1e6);
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "  ");
		print_percent(f, 4, u[i].ppm);
		fprintf(f, "  %-24s %s\n", u[i].b->name, u[i].what);
	}
}

/* Only one that holds the run up: its end is busy, or its head waits most of the time. */
static void print_chain_up(const struct evidence *e, FILE *f)
{
	const struct wait *head = port_wait(e->waits, e->n_waits, NULL);
	const char *end = follow_chain(e, NULL);
	bool is_shown = head && head->ppm >= CRITICAL_WAIT_PPM;

	for (unsigned i = 0; end && i < e->n_units; i++)
		is_shown |= strcmp(e->units[i].b->name, end) == 0 &&
			    e->units[i].ppm >= EXPLAIN_CRITICAL_PPM;
	if (is_shown)
		follow_chain(e, f);
}

void explain_print(const struct sim *s, const struct report *r, int argc, char **argv, FILE *f)
{
	struct trials trials;
	struct totals t = add_up(r);
	uint64_t span_ps = t.n ? t.last_ps - t.first_ps : 0;
	struct explain_unit u[SHOWN_UNITS];
	struct evidence e = { .s = s, .t = &t, .intro = "critical resource: ", .units = u };
	struct wait *waits, *qps;

	if (span_ps == 0) {
		fprintf(f, "\nnothing to explain: no request was successful\n");
		return;
	}
	e.n_units = explain_units(s, span_ps, u, SHOWN_UNITS);
	e.waits = waits = find_waits(s, span_ps, &e.n_waits);
	e.qps = qps = find_qp_waits(s, &e.n_qps);
	e.limit = limit_of_qps(&e);
	if (argc) {
		trials_make(&trials, s, argc, argv, &t);
		e.trials = &trials;
	}
	fprintf(f, "\n");
	print_verdict(&e, f);
	print_stages(&t, f);
	print_qps(qps, e.n_qps, f);
	print_units(u, e.n_units, span_ps, f);
	print_waits(waits, e.n_waits, f);
	print_chain_up(&e, f);
	print_losses(&e, f);
	free(waits);
	free(qps);
	if (argc)
		trials_free(&trials);
}
