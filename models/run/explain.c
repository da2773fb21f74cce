/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - which unit limits a run, and what waits for what
 */
#include "models/run/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/run/oplog_csv.h"
#include "sim/chan.h"

__extension__ typedef unsigned __int128 u128;

#define PPM 1000000u
#define SHOWN_UNITS 8u
#define SHOWN_WAITS 8u
#define MIN_WAIT_PPM 10000u /* less than 1 % is no news */
#define CRITICAL_WAIT_PPM \
	500000u /* of the time: who waits longer is held up by what it waits for */
/* of the requests' latencies: the same for what several wait for at once */
#define CRITICAL_POOL_PPM 200000u
#define MAX_CHAIN 16u

static uint64_t share_ppm(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((u128)part * PPM / whole) : 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

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

unsigned explain_units(const struct sim *s, uint64_t span_ps, struct explain_unit *u, unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];
		const struct field *f;

		FIELDS_EACH(f, b->cls->fields) {
			if (f->kind == FIELD_STAT && ends_with(f->name, "busy_ps"))
				rank_unit(
					u, &n, max,
					(struct explain_unit){
						b, f->name, share_ppm(field_get(b, f), span_ps) });
		}
		rank_unit(u, &n, max, port_use(s, b, span_ps));
	}
	return n;
}

/* ---- waits ---- */

/* 'who' waited for 'whom'. */
struct wait {
	const char *who, *whom, *what;
	uint64_t ppm;
};

static int by_share(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ppm != y->ppm)
		return x->ppm > y->ppm ? -1 : 1;
	return strcmp(x->who, y->who) ? strcmp(x->who, y->who) : strcmp(x->what, y->what);
}

/* All waits worth a line, longest first; free it. */
static struct wait *find_waits(const struct sim *s, uint64_t span_ps, unsigned *n)
{
	struct wait *w;
	size_t cap = s->n_chans;

	for (uint32_t i = 0; i < s->n_blocks; i++)
		cap += field_count(s->blocks[i]->cls->fields, FIELD_STAT);
	w = x_calloc(cap + 1, sizeof(*w));
	*n = 0;
	for (uint32_t i = 0; i < s->n_chans; i++) {
		const struct chan *c = s->chans[i];

		w[*n] = (struct wait){ c->producer->name, c->consumer->name, c->in->name,
				       share_ppm(c->stall_ps, span_ps) };
		*n += w[*n].ppm >= MIN_WAIT_PPM;
	}
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];
		const struct field *f;

		FIELDS_EACH(f, b->cls->fields) {
			if (f->kind != FIELD_STAT || !strstr(f->name, "wait") ||
			    !ends_with(f->name, "_ps"))
				continue;
			w[*n] = (struct wait){ b->name, NULL, f->name,
					       share_ppm(field_get(b, f), span_ps) };
			*n += w[*n].ppm >= MIN_WAIT_PPM;
		}
	}
	qsort(w, *n, sizeof(*w), by_share);
	return w;
}

static void print_percent(FILE *f, int width, uint64_t ppm)
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

/* The longest wait of 'who' (NULL: of any) for another block's port, or NULL. */
static const struct wait *port_wait(const struct wait *w, unsigned n, const char *who)
{
	for (unsigned i = 0; i < n; i++)
		if (w[i].whom && (!who || strcmp(w[i].who, who) == 0))
			return &w[i];
	return NULL;
}

/*
 * From the one that waits longest for another to the one that waits for nobody, which is returned
 * (NULL: none waits); printed if there is a file.
 */
static const char *follow_chain(const struct wait *w, unsigned n, FILE *f)
{
	const struct wait *at = port_wait(w, n, NULL);
	const char *end = NULL;

	if (at && f)
		fprintf(f, "\nchain: %s", at->who);
	for (unsigned len = 0; at && len < MAX_CHAIN; len++) {
		end = at->whom;
		if (f)
			fprintf(f, " > %s", end);
		at = port_wait(w, n, end);
	}
	if (end && f)
		fprintf(f, "\n");
	return end;
}

/* What is waited for that is no unit with a busy time of its own: how the statistics end, and its name. */
static const struct {
	const char *ending, *name;
} pools[] = {
	{ "_tag_ps", "tags" },
	{ "_credit_ps", "flow-control credits" },
	{ "_cpl_buffer_ps", "completion buffer" },
	{ "slot_wait_ps", "misses outstanding" },
	{ "walker_wait_ps", "page walkers" },
	{ "_xlate_ps", "address translation" },
};

/* The longest of these waits, and the name of what it is for. */
static const struct wait *pool_wait(const struct wait *w, unsigned n, const char **name)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; !w[i].whom && k < ARRAY_LEN(pools); k++)
			if (ends_with(w[i].what, pools[k].ending)) {
				*name = pools[k].name;
				return &w[i];
			}
	return NULL;
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
	{ OP_POLL, "program finds it" },
};
_Static_assert(ARRAY_LEN(meaning) == REPORT_STAGES, "one a stage");

/* What all operations have in common. */
struct totals {
	uint64_t n, first_ps, last_ps, latency_ps;
	uint64_t stage_ps[REPORT_STAGES];
};

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

/* What is not busy, but makes others wait: a pool that is empty, or the end of a chain. False: nothing. */
static bool print_held_up(const struct wait *w, unsigned n, const struct totals *t, FILE *f)
{
	uint64_t span_ps = t->last_ps - t->first_ps;
	const char *name = NULL, *end = follow_chain(w, n, NULL);
	const struct wait *pool = pool_wait(w, n, &name), *port = port_wait(w, n, NULL);

	if (pool && share_ppm((uint64_t)((u128)pool->ppm * span_ps / PPM), t->latency_ps) >=
			    CRITICAL_POOL_PPM) {
		fprintf(f, "\ncritical resource: %s of %s (%s), waited for ", name, pool->who,
			pool->what);
		print_percent(f, 0, pool->ppm);
		fprintf(f, " of the time\n");
		return true;
	}
	if (!port || port->ppm < CRITICAL_WAIT_PPM)
		return false;
	fprintf(f, "\ncritical resource: %s, at the end of the chain; %s waits ", end, port->who);
	print_percent(f, 0, port->ppm);
	fprintf(f, " of the time\n");
	return true;
}

static void print_verdict(const struct explain_unit *u, unsigned n, const struct wait *w,
			  unsigned n_waits, const struct totals *t, FILE *f)
{
	unsigned longest = 0;

	if (n && u[0].ppm >= EXPLAIN_CRITICAL_PPM) {
		fprintf(f, "\ncritical resource: %s (%s), busy for ", u[0].b->name, u[0].what);
		print_percent(f, 0, u[0].ppm);
		fprintf(f, " of the time\n");
		return;
	}
	if (print_held_up(w, n_waits, t, f))
		return;
	for (unsigned m = 1; m < REPORT_STAGES; m++)
		if (t->stage_ps[m] > t->stage_ps[longest])
			longest = m;
	fprintf(f, "\nno unit is the limit (the busiest for ");
	print_percent(f, 0, n ? u[0].ppm : 0);
	fprintf(f, "): requests wait for latency, most in %s (%s)\n", milestone_names[longest + 1],
		meaning[longest].what);
}

void explain_print(const struct sim *s, const struct report *r, FILE *f)
{
	struct totals t = add_up(r);
	uint64_t span = t.n ? t.last_ps - t.first_ps : 0;
	struct explain_unit u[SHOWN_UNITS];
	struct wait *w;
	unsigned n, n_waits;

	if (span == 0) {
		fprintf(f, "\nnothing to explain: no request was successful\n");
		return;
	}
	n = explain_units(s, span, u, SHOWN_UNITS);
	w = find_waits(s, span, &n_waits);
	print_stages(&t, f);
	fprintf(f,
		"\nbusiest units (share of %.3f us from the first post to the last completion)\n",
		(double)span / 1e6);
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "  ");
		print_percent(f, 4, u[i].ppm);
		fprintf(f, "  %-24s %s\n", u[i].b->name, u[i].what);
	}
	print_waits(w, n_waits, f);
	follow_chain(w, n_waits, f);
	print_verdict(u, n, w, n_waits, &t, f);
	free(w);
}
