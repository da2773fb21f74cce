/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c - the run of a command line once more, with some settings changed, and how it went
 */
#include "tools/run/trial.h"

#include <stdlib.h>
#include <string.h>

#include "tools/run/report.h"
#include "tools/run/scenario.h"
#include "models/rnic.h"

#define SLICES 128u /* of a trial that is to end early */

static struct trial_result measure(const struct report *r)
{
	struct trial_result o = { 0 };
	uint64_t first = UINT64_MAX, last = 0;
	struct hist *all = x_calloc(1, sizeof(*all));

	for (unsigned i = 0; i < WR_OPCODES; i++) {
		const struct report_op *op = &r->ops[i];

		o.errors += op->errors;
		if (op->n == 0)
			continue;
		o.n += op->n;
		o.bytes += op->bytes;
		first = min_u64(first, op->first_ps);
		last = max_u64(last, op->last_ps);
		hist_merge(all, &op->latency);
	}
	o.span_ps = o.n ? last - first : 0;
	o.last_ps = last;
	o.mean_ps = hist_mean(all);
	o.p99_ps = hist_quantile(all, 990000);
	free(all);
	return o;
}

/* The sum of statistic 'name' over the blocks of class 'cls'. */
static uint64_t sum_of(const struct sim *s, const char *cls, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (strcmp(s->blocks[i]->cls->name, cls) == 0)
			sum += field_get(s->blocks[i],
					 field_find(s->blocks[i]->cls->fields, FIELD_STAT, name));
	return sum;
}

static uint64_t packets_of(const struct sim *s)
{
	return sum_of(s, "responder", "packets") + sum_of(s, "requester", "responses");
}

/* The time between t0 and t1 at which 'n' were reached, if they grew steadily from n0 to n1 >= n. */
static uint64_t time_between(uint64_t t0, uint64_t t1, uint64_t n0, uint64_t n1, uint64_t n)
{
	return n > n0 ? t0 + (uint64_t)((u128)(t1 - t0) * (n - n0) / (n1 - n0)) : t0;
}

/* In slices, after each of which packets are counted. Returns the time of the last of end->packets; 0: there were fewer. */
static uint64_t run_up_to(struct rnic *r, const struct trial_end *end, uint64_t limit_ps)
{
	uint64_t span_ps = end->until_ps - end->from_ps, t0 = end->from_ps, n0 = 0;

	for (unsigned i = 1; i <= SLICES; i++) {
		uint64_t t1 = end->from_ps + (uint64_t)((u128)span_ps * i / SLICES), n1;
		bool is_over;

		r->sim.until_ps = min_u64(t1, limit_ps);
		is_over = rnic_run(r) != SIM_END_UNTIL || t1 >= limit_ps;
		t1 = is_over ? max_u64(t0, min_u64(t1, r->sim.now_ps)) : t1;
		n1 = packets_of(&r->sim);
		if (n1 >= end->packets)
			return time_between(t0, t1, n0, n1, end->packets);
		if (is_over)
			return 0;
		t0 = t1;
		n0 = n1;
	}
	return 0;
}

/* Run it as it was built. */
static bool run(struct rnic *r, const struct trial_end *end, const struct scenario *sc,
		struct trial_result *o, struct err *e)
{
	uint64_t at_ps = 0;
	struct report *report = x_calloc(1, sizeof(*report));
	uint32_t host, qp;
	bool ok;

	report_init(report);
	r->sim.until_ps = sc->until;
	r->stall_ps = sc->stall;
	oplog_attach(r->system->oplog, &report->sink);
	ok = netlist_finish(&r->sim, e);
	if (ok) {
		if (end)
			at_ps = run_up_to(r, end, sc->until);
		else
			rnic_run(r);
		oplog_flush(r->system->oplog);
		*o = measure(report);
		o->packets = packets_of(&r->sim);
		o->is_done = system_unfinished(r->system, &host, &qp) == 0;
		if (end && !at_ps && o->is_done)
			at_ps = o->last_ps;
		o->took_ps = end && at_ps ? at_ps - end->from_ps : 0;
		if (r->system->err.is_set) {
			*e = r->system->err;
			ok = false;
		}
	}
	free(report);
	return ok;
}

bool trial_run(int argc, char **argv, trial_change *change, void *arg, const struct trial_end *end,
	       struct trial_result *o, struct err *e)
{
	struct run_options opt = { 0 };
	struct scenario sc;
	struct config cfg;
	struct rnic r;
	struct trace *t = NULL;
	char *path = NULL;
	bool ok;

	config_init(&cfg);
	ok = run_options_parse(argc, argv, &opt, &cfg, e) && (!change || change(&cfg, arg, e)) &&
	     scenario_apply(&cfg, &opt, &sc, &path, e) && (t = trace_open(path, e)) != NULL;
	if (ok) {
		ok = rnic_build(&r, &cfg, t, sc.seed, e) && (!o || run(&r, end, &sc, o, e));
		rnic_destroy(&r);
	}
	if (t)
		trace_close(t);
	free(path);
	run_options_free(&opt);
	config_destroy(&cfg);
	return ok;
}
