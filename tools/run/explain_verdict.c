/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_verdict.c - what limits a run, from trials, busy units, waits, and what queue pairs waited for
 *
 * Losses come first, whose repeats keep units busy for nothing; then what gains most in trials. Where
 * there are none, or none gains, it is the innermost of what holds requests up, for what is behind it
 * waits less: a unit that is always busy; then what is not busy but used up (tags, credits, misses
 * outstanding), or at the end of a chain of waiting; then what the QPs themselves allow (window,
 * outstanding READs, rate). Where QPs are at such a limit, what is used up counts only if what is on the
 * way waits for that most of its time. Otherwise it is latency.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/explain_parts.h"
#include "tools/run/oplog_csv.h"

#define CRITICAL_LOSS_PPM 200000u /* of the time of QPs */

/* ---- losses ---- */

/* Where frames get lost, and what they meet there. */
static const struct {
	const char *stat, *what;
} drops[] = {
	{ "lost", "frames lost on the wire" },
	{ "corrupted", "frames damaged on the wire" },
	{ "overrun", "frames lost, the receivers hold too many" },
	{ "delayed", "frames out of order" },
	{ "rx_dropped", "frames dropped, the receive buffer is full" },
	{ "rnr_naks", "no receive WQE" },
};

/* The sum of statistic 'name' over all blocks that have it. */
static uint64_t sum_of(const struct sim *s, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct field *f = field_find(s->blocks[i]->cls->fields, FIELD_STAT, name);

		sum += f ? field_get(s->blocks[i], f) : 0;
	}
	return sum;
}

/* The block that lost most by the ways 'from' to before 'to' of drops[], or NULL; which way, how many. */
static const struct block *worst_drop(const struct sim *s, unsigned from, unsigned to,
				      unsigned *way, uint64_t *n)
{
	const struct block *worst = NULL;

	*n = 0;
	for (uint32_t i = 0; i < s->n_blocks; i++)
		for (unsigned k = from; k < to; k++) {
			const struct field *f =
				field_find(s->blocks[i]->cls->fields, FIELD_STAT, drops[k].stat);

			if (!f || field_get(s->blocks[i], f) <= *n)
				continue;
			worst = s->blocks[i];
			*way = k;
			*n = field_get(worst, f);
		}
	return worst;
}

static const struct wait *qp_wait(const struct evidence *e, const char *what)
{
	for (unsigned i = 0; i < e->n_qps; i++)
		if (strcmp(e->qps[i].what, what) == 0)
			return &e->qps[i];
	return NULL;
}

static void print_repeats(const struct evidence *e, FILE *f)
{
	const struct {
		const char *stat, *what;
	} counts[] = { { "resent_packets", "packets sent again" },
		       { "resent_b", "bytes sent again" },
		       { "timeouts", "timeouts" },
		       { "nak_sequence", "NAKs for a gap" },
		       { "implied_naks", "responses passed over" },
		       { "nak_rnr", "RNR NAKs" } };

	for (unsigned i = 0; i < ARRAY_LEN(counts); i++) {
		uint64_t n = sum_of(e->s, counts[i].stat);

		if (n)
			fprintf(f, "  %10" PRIu64 "  %s\n", n, counts[i].what);
	}
}

void print_losses(const struct evidence *e, FILE *f)
{
	if (!sum_of(e->s, "resent_packets") && !sum_of(e->s, "rx_dropped") && !sum_of(e->s, "lost"))
		return;
	fprintf(f, "\nwhat was lost, and what it took\n");
	for (unsigned k = 0; k < ARRAY_LEN(drops); k++)
		for (uint32_t i = 0; i < e->s->n_blocks; i++) {
			const struct block *b = e->s->blocks[i];
			const struct field *x =
				field_find(b->cls->fields, FIELD_STAT, drops[k].stat);

			if (x && field_get(b, x))
				fprintf(f, "  %10" PRIu64 "  %s: %s (%s)\n", field_get(b, x),
					b->name, drops[k].what, drops[k].stat);
		}
	print_repeats(e, f);
}

/* What is sent for nothing, and waiting for it; the block where it gets lost. False: it does not count. */
static bool name_losses(const struct evidence *e, const struct block **at, FILE *f)
{
	const unsigned rnr = ARRAY_LEN(drops) - 1;
	const struct wait *loss = qp_wait(e, "qp_loss_ps"), *none = qp_wait(e, "qp_rnr_ps");
	const struct wait *w = !loss || (none && none->ppm > loss->ppm) ? none : loss;
	unsigned way = 0;
	uint64_t n;

	if (!w || w->ppm < CRITICAL_LOSS_PPM)
		return false;
	*at = w == none ? worst_drop(e->s, rnr, rnr + 1, &way, &n)
			: worst_drop(e->s, 0, rnr, &way, &n);
	if (*at)
		fprintf(f, "%s%s: %s (%s, %" PRIu64 ")", e->intro, (*at)->name, drops[way].what,
			drops[way].stat, n);
	else
		fprintf(f, "%sthe peer's answers, which come too late", e->intro);
	fprintf(f, "; QPs of %s wait for that or send again for ", w->who);
	print_percent(f, 0, w->ppm);
	fprintf(f, " of their time (%s)\n", w->what);
	return true;
}

/* ---- chains, QPs ---- */

static bool name_end_of_chain(const struct evidence *e, FILE *f)
{
	const struct wait *port = port_wait(e->waits, e->n_waits, NULL);
	const char *end = end_of_chain(e);

	if (!end)
		return false;
	/* QPs with few WQEs on the way crowd before the fetch of the next */
	if (e->limit && strcmp(e->limit->what, "qp_fetch_ps") != 0 &&
	    ends_with(port->who, ".qp_sched"))
		return false;
	fprintf(f, "%s%s, at the end of the chain; %s waits ", e->intro, end, port->who);
	print_percent(f, 0, port->ppm);
	fprintf(f, " of the time\n");
	return true;
}

/* A turn, the peer's answer and that the requester has enough are others' doing. */
static bool is_limit(const char *what)
{
	return strcmp(what, "qp_turn_ps") != 0 && strcmp(what, "qp_peer_ps") != 0 &&
	       strcmp(what, "qp_fed_ps") != 0;
}

static uint64_t stage_ppm(const struct evidence *e, enum milestone end)
{
	return share_ppm(e->t->stage_ps[end - 1], e->t->latency_ps);
}

static bool is_all_sent(const struct evidence *e)
{
	const struct wait *peer = qp_wait(e, "qp_peer_ps");

	return peer && peer->ppm >= CRITICAL_WAIT_PPM;
}

/* The scheduler's limits count when requesters have sent all they have, and requests wait there. */
const struct wait *limit_of_qps(const struct evidence *e)
{
	bool is_starved = is_all_sent(e) && stage_ppm(e, OP_SCHED) >= CRITICAL_WAIT_PPM;

	for (unsigned i = 0; i < e->n_qps && e->qps[i].ppm >= CRITICAL_WAIT_PPM; i++) {
		const struct wait *w = &e->qps[i];

		if (is_limit(w->what) && (is_starved || ends_with(w->who, ".requester")))
			return w;
	}
	return NULL;
}

static bool name_limit_of_qps(const struct evidence *e, FILE *f)
{
	const struct wait *w = e->limit;

	if (!w)
		return false;
	fprintf(f, "%sQPs of %s wait for %s (%s), for ", e->intro, w->who, w->whom, w->what);
	print_percent(f, 0, w->ppm);
	fprintf(f, " of their time\n");
	return true;
}

/* Everything is on the way, and the way is long. */
static bool name_round_trip(const struct evidence *e, FILE *f)
{
	uint64_t ppm = share_ppm(e->t->flight_ps, e->t->latency_ps);

	if (!is_all_sent(e) || ppm < CRITICAL_WAIT_PPM)
		return false;
	fprintf(f, "%sround trip (propagation there and back, ", e->intro);
	print_percent(f, 0, ppm);
	fprintf(f, " of the time of requests): everything posted is sent; more outstanding "
		   "requests, or a shorter link\n");
	return true;
}

static void name_latency(const struct evidence *e, FILE *f)
{
	unsigned longest = 0;

	for (unsigned m = 1; m < REPORT_STAGES; m++)
		if (e->t->stage_ps[m] > e->t->stage_ps[longest])
			longest = m;
	fprintf(f, "no unit is the limit (the busiest for ");
	print_percent(f, 0, e->n_units ? e->units[0].ppm : 0);
	fprintf(f, "): requests wait for latency, most in %s (%s)\n", milestone_names[longest + 1],
		explain_stage(longest));
}

static bool name_unit(const struct evidence *e, FILE *f)
{
	const struct explain_unit *u = e->units;

	if (!e->n_units || u->ppm < EXPLAIN_CRITICAL_PPM)
		return false;
	fprintf(f, "%s%s%s (%s), busy for ", e->intro,
		ends_with(u->what, "miss_ps") ? "cache misses of " : "", u->b->name, u->what);
	print_percent(f, 0, u->ppm);
	fprintf(f, " of the time\n");
	return true;
}

/* What holds the NIC of block 'at' up, so that it loses what comes: a second line. */
static void print_behind(const struct evidence *e, const struct block *at, FILE *f)
{
	size_t nic = strcspn(at->name, ".") + 1;
	struct explain_unit *units = x_calloc(e->n_units + 1, sizeof(*units));
	struct wait *waits = x_calloc(e->n_waits + 1, sizeof(*waits));
	struct evidence there = {
		.s = e->s, .t = e->t, .intro = "behind it: ", .units = units, .waits = waits
	};

	for (unsigned i = 0; i < e->n_units; i++)
		if (strncmp(e->units[i].b->name, at->name, nic) == 0)
			units[there.n_units++] = e->units[i];
	for (unsigned i = 0; i < e->n_waits; i++)
		if (strncmp(e->waits[i].who, at->name, nic) == 0)
			waits[there.n_waits++] = e->waits[i];
	if (!name_unit(&there, f) && !name_pool(&there, f))
		name_end_of_chain(&there, f);
	free(units);
	free(waits);
}

/* What busy times and waits say, in one line. */
static void name_by_use(const struct evidence *e, FILE *f)
{
	if (!name_unit(e, f) && !name_pool(e, f) && !name_end_of_chain(e, f) &&
	    !name_limit_of_qps(e, f) && !name_round_trip(e, f))
		name_latency(e, f);
}

/* ---- what trials say ---- */

/* Who gains so much of what the best gains is named with it. */
#define CLOSE_PPM 750000u

static void print_trial(const struct trials *t, const struct trial *x, const char *intro, FILE *f)
{
	const struct lever *l = trial_lever(t, x);
	char name[128], now[64], then[64];

	fprintf(f, "%s%s", intro, trial_name(x, name, sizeof(name)));
	if (l)
		fprintf(f, " (%s): %s instead of %s", l->f->doc,
			value_format(l->f, l->then, then, sizeof(then)),
			value_format(l->f, l->now, now, sizeof(now)));
	else
		fprintf(f, " (several of its parameters): four times of all");
	fprintf(f, " gains ");
	print_percent(f, 0, trial_gain(t, x));
	fprintf(f, "\n");
}

static bool is_about(const struct trial *x, const char *text)
{
	return strstr(text, x->only ? x->only->path : x->part) != NULL;
}

/* The line for which 'name' is right, without an intro and its newline; "" if it finds nothing. Free it. */
static char *line_of(const struct evidence *e, void (*name)(const struct evidence *e, FILE *f))
{
	struct evidence plain = *e;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	SIM_CHECK(f, NULL);
	plain.intro = "";
	name(&plain, f);
	SIM_CHECK(fclose(f) == 0, NULL);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The best trial, those that come near, and what use says of the same. */
static void print_best(const struct evidence *e, FILE *f)
{
	const struct trials *t = e->trials;
	const struct trial *best = &t->found[0];
	const struct lever *l = trial_lever(t, best);
	char *use = line_of(e, name_by_use);

	print_trial(t, best, e->intro, f);
	for (unsigned i = 1; i < t->n; i++)
		if (share_ppm(trial_weight(t, &t->found[i]), trial_weight(t, best)) >= CLOSE_PPM)
			print_trial(t, &t->found[i], "  or as well: ", f);
	if (!is_about(best, use) && l && l->is_latency) {
		free(use);
		use = line_of(e, name_latency);
	}
	if (is_about(best, use) || (l && l->is_latency))
		fprintf(f, "  seen in: %s\n", use);
	free(use);
}

/* Nothing gains that there could be more of, only what shortens a request, and no unit is busy with that. */
static bool is_latency_bound(const struct evidence *e)
{
	const struct trials *t = e->trials;
	const struct explain_unit *u = e->units;

	for (unsigned i = 0; i < t->n; i++) {
		const struct lever *l = trial_lever(t, &t->found[i]);
		bool is_close = share_ppm(trial_weight(t, &t->found[i]),
					  trial_weight(t, &t->found[0])) >= CLOSE_PPM;
		bool is_busy = l && e->n_units && u->b == l->b && u->ppm >= EXPLAIN_CRITICAL_PPM;

		if (is_close && (!l || !l->is_latency || is_busy))
			return false;
	}
	return true;
}

/* The time of a request counts where few may be on the way: then that they are few is the limit, which the trace sets. */
static bool name_few(const struct evidence *e, FILE *f)
{
	if (!is_latency_bound(e))
		return false;
	return e->limit ? name_limit_of_qps(e, f) : name_round_trip(e, f);
}

static void print_gains(const struct trials *t, FILE *f)
{
	fprintf(f, "\nwhat gains %s (one change each, of %u tried%s)\n",
		t->by_latency ? "latency" : "requests a second", t->runs,
		t->is_cut ? ", in the first part of the run" : "");
	if (t->n == 0)
		fprintf(f, "  none gains 3 %%: several limit at once, or the trace does\n");
	for (unsigned i = 0; i < t->n; i++) {
		const struct trial *x = &t->found[i];
		const struct lever *l = trial_lever(t, x);
		char name[128], now[64], then[64];

		fprintf(f, "  ");
		print_percent(f, 4, trial_gain(t, x));
		fprintf(f, "  %s", trial_name(x, name, sizeof(name)));
		if (l)
			fprintf(f, "  %s > %s", value_format(l->f, l->now, now, sizeof(now)),
				value_format(l->f, l->then, then, sizeof(then)));
		fprintf(f, "\n");
	}
}

void print_verdict(const struct evidence *e, FILE *f)
{
	const struct trials *t = e->trials;
	const struct block *at = NULL;

	if (name_losses(e, &at, f)) {
		if (at)
			print_behind(e, at, f);
		return;
	}
	if (!t || t->n == 0 || t->by_latency)
		name_by_use(e, f);
	else if (!name_few(e, f))
		print_best(e, f);
	if (t && t->runs)
		print_gains(t, f);
}
