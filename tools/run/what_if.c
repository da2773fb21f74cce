/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.c - the same run with each of some changes, side by side
 */
#include "tools/run/what_if.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/report.h"
#include "models/rnic.h"

#define MAX_ENTRY 512u

/* What is compared, over all operations. */
struct what_result {
	uint64_t n, errors, bytes, span_ps, mean_ps, p99_ps;
	bool is_done; /* the run came to its end */
};

/* Copy the entry at *at up to 'end' (a character, or the end of the text); moves *at behind it. */
static bool next_part(const char **at, char end, char part[MAX_ENTRY], struct err *e)
{
	size_t n = strcspn(*at, (char[]){ end, '\0' });

	if (n == 0 || n >= MAX_ENTRY || ((*at)[n] == end && (*at)[n + 1] == '\0'))
		return err_set(
			e, NULL, 0,
			"--what-if %s: allowed: key=value, several separated by commas, changes of one "
			"run joined by '+'",
			*at);
	memcpy(part, *at, n);
	part[n] = '\0';
	*at += n + ((*at)[n] == end);
	return true;
}

static bool set_all(struct config *cfg, const char *entry, struct err *e)
{
	char one[MAX_ENTRY] = "";

	while (*entry)
		if (!next_part(&entry, '+', one, e) || !config_set_as(cfg, "--what-if", one, e))
			return false;
	return true;
}

static struct what_result measure(const struct report *r)
{
	struct what_result o = { 0 };
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

/* Run it as it was built. */
static bool run(struct rnic *r, const struct scenario *sc, struct what_result *o, struct err *e)
{
	struct report *report = x_calloc(1, sizeof(*report));
	uint32_t host, qp;
	bool ok;

	report_init(report);
	r->sim.until_ps = sc->until;
	r->stall_ps = sc->stall;
	oplog_attach(r->system->oplog, &report->sink);
	ok = netlist_finish(&r->sim, e);
	if (ok) {
		rnic_run(r);
		oplog_flush(r->system->oplog);
		*o = measure(report);
		o->is_done = system_unfinished(r->system, &host, &qp) == 0;
		if (r->system->err.is_set) {
			*e = r->system->err;
			ok = false;
		}
	}
	free(report);
	return ok;
}

/* The run of argc, argv with the changes of 'entry' (NULL: none): built only when 'o' is NULL. */
static bool try(int argc, char **argv, const char *entry, struct what_result *o, struct err *e)
{
	struct run_options opt = { 0 };
	struct scenario sc;
	struct config cfg;
	struct rnic r;
	struct trace *t = NULL;
	char *path = NULL;
	bool ok;

	config_init(&cfg);
	ok = run_options_parse(argc, argv, &opt, &cfg, e) && (!entry || set_all(&cfg, entry, e)) &&
	     scenario_apply(&cfg, &opt, &sc, &path, e) && (t = trace_open(path, e)) != NULL;
	if (ok) {
		ok = rnic_build(&r, &cfg, t, sc.seed, e) && (!o || run(&r, &sc, o, e));
		rnic_destroy(&r);
	}
	if (t)
		trace_close(t);
	free(path);
	run_options_free(&opt);
	config_destroy(&cfg);
	return ok;
}

/* Call try() for each entry. 'f' NULL: build only. */
typedef bool entry_fn(const char *entry, void *arg, struct err *e);

static bool each_entry(const struct run_options *o, entry_fn *fn, void *arg, struct err *e)
{
	char entry[MAX_ENTRY] = "";

	for (uint32_t i = 0; i < o->n_what_if; i++) {
		const char *at = o->what_if[i];

		do
			if (!next_part(&at, ',', entry, e) || !fn(entry, arg, e))
				return false;
		while (*at);
	}
	return true;
}

struct call {
	int argc;
	char **argv;
	FILE *f;
	struct what_result base;
};

static bool check_entry(const char *entry, void *arg, struct err *e)
{
	const struct call *c = arg;

	return try(c->argc, c->argv, entry, NULL, e);
}

bool what_if_check(const struct run_options *o, int argc, char **argv, struct err *e)
{
	struct call c = { argc, argv, NULL, { 0 } };

	return each_entry(o, check_entry, &c, e);
}

/* ---- the table ---- */

#define FACTOR 10.0 /* a gain from here on is no percentage */

/* Change of 'now' against 'base' in percent; more is better when 'is_rate'. */
static void print_gain(FILE *f, double now, double base)
{
	char times[32] = "-";

	if (base > 0 && now > 0 && now < base * FACTOR) {
		fprintf(f, " %+7.1f %%", (now / base - 1) * 100);
		return;
	}
	if (base > 0 && now > 0)
		snprintf(times, sizeof(times), now < base * 1e7 ? "x %.0f" : "x %.0e", now / base);
	fprintf(f, " %9s", times);
}

static double gbps(const struct what_result *o)
{
	return o->span_ps ? (double)o->bytes * 8e3 / (double)o->span_ps : 0;
}

static double mops(const struct what_result *o)
{
	return o->span_ps ? (double)o->n * 1e6 / (double)o->span_ps : 0;
}

static void print_outcome(FILE *f, const char *name, const struct what_result *o,
			  const struct what_result *base)
{
	fprintf(f, "%-40s %8" PRIu64 " %7" PRIu64 " %11.3f", name, o->n, o->errors,
		(double)o->mean_ps / 1e6);
	print_gain(f, (double)o->mean_ps, (double)base->mean_ps);
	fprintf(f, " %11.3f", (double)o->p99_ps / 1e6);
	print_gain(f, (double)o->p99_ps, (double)base->p99_ps);
	fprintf(f, " %11.3f %9.3f", gbps(o), mops(o));
	print_gain(f, mops(o), mops(base));
	fprintf(f, "%s\n", o->is_done ? "" : "  (did not come to its end)");
}

static bool run_entry(const char *entry, void *arg, struct err *e)
{
	const struct call *c = arg;
	struct what_result o;

	if (!try(c->argc, c->argv, entry, &o, e))
		return false;
	print_outcome(c->f, entry, &o, &c->base);
	return true;
}

bool what_if_print(const struct run_options *o, int argc, char **argv, FILE *f, struct err *e)
{
	struct call c = { argc, argv, f, { 0 } };

	if (!try(argc, argv, NULL, &c.base, e))
		return false;
	fprintf(f, "\n%-40s %8s %7s %11s %9s %11s %9s %11s %9s %9s\n", "what if", "requests",
		"errors", "mean [us]", "change", "p99 [us]", "change", "Gb/s", "M/s", "change");
	print_outcome(f, "as it is", &c.base, &c.base);
	return each_entry(o, run_entry, &c, e);
}
