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

/* Run it as it was built. */
static bool run(struct rnic *r, uint64_t until_ps, uint64_t stall_ps, struct trial_result *o,
		struct err *e)
{
	struct report *report = x_calloc(1, sizeof(*report));
	uint32_t host, qp;
	bool ok;

	report_init(report);
	r->sim.until_ps = until_ps;
	r->stall_ps = stall_ps;
	oplog_attach(r->system->oplog, &report->sink);
	ok = netlist_finish(&r->sim, e);
	if (ok) {
		rnic_run(r);
		oplog_flush(r->system->oplog);
		*o = measure(report);
		o->packets = sum_of(&r->sim, "responder", "packets") +
			     sum_of(&r->sim, "requester", "responses");
		o->is_done = system_unfinished(r->system, &host, &qp) == 0;
		if (r->system->err.is_set) {
			*e = r->system->err;
			ok = false;
		}
	}
	free(report);
	return ok;
}

bool trial_run(int argc, char **argv, trial_change *change, void *arg, uint64_t until_ps,
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
		ok = rnic_build(&r, &cfg, t, sc.seed, e) &&
		     (!o || run(&r, min_u64(sc.until, until_ps), sc.stall, o, e));
		rnic_destroy(&r);
	}
	if (t)
		trace_close(t);
	free(path);
	run_options_free(&opt);
	config_destroy(&cfg);
	return ok;
}
