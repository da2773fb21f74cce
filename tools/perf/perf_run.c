/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_run.c - a benchmark's trace, replayed; and when each of its requests was posted and completed
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/perf/perf.h"
#include "models/rnic.h"
#include "tools/run/run_report.h"
#include "sim/outfile.h"

#define PATH_LEN 4096u
#define STALL_PS \
	(100 * PS_PER_S) /* nothing gets done for so long: stuck; as a scenario's default */

/* Takes the rows of the op log. */
struct perf_sink {
	struct oplog_sink sink;
	struct perf_result *r;
};

/* One run. */
struct perf_run {
	const struct perf_spec *s;
	struct config cfg;
	char *text;
	size_t len;
	struct trace *trace;
	struct rnic r;
	bool is_built;
	struct perf_sink sink;
	struct run_report *report;
	struct perf_watch *watch;
};

static void take(struct oplog_sink *sink, const struct op_row *row)
{
	struct perf_result *r = ((struct perf_sink *)sink)->r;
	struct perf_times *t = &r->times[row->host];

	if (row->status != WC_SUCCESS && r->errors++ == 0)
		r->status = row->status;
	if (row->is_recv || row->status != WC_SUCCESS || t->n == t->cap)
		return;
	t->post_ps[t->n] = row->t_ps[OP_POST];
	t->poll_ps[t->n++] = row->t_ps[OP_POLL];
}

/* ---- set-up ---- */

/* Settings of the run by option, in order: of one section and key the last counts. */
struct perf_setting {
	const char *option;
	char text[PATH_LEN];
};
#define MAX_SETTINGS (PERF_MAX_SETS + 2)

static uint32_t list_settings(const struct perf_spec *s, struct perf_setting *v)
{
	uint32_t n = 0;

	v[n].option = "--nic";
	snprintf(v[n++].text, PATH_LEN, "nic.profile=%.4000s", s->nic);
	if (s->threads > 1) {
		v[n].option = "--threads";
		snprintf(v[n++].text, PATH_LEN, "workload.cores=%" PRIu64, s->threads);
	}
	for (uint32_t i = 0; i < s->n_sets; i++) {
		v[n].option = "--set";
		snprintf(v[n++].text, PATH_LEN, "%.4095s", s->sets[i]);
	}
	return n;
}

static bool configure(struct perf_run *u, struct err *e)
{
	struct perf_setting *v = x_calloc(MAX_SETTINGS, sizeof(*v));
	uint32_t n = list_settings(u->s, v);
	bool ok = true;

	for (uint32_t i = 0; i < n && ok; i++)
		ok = config_set_as(&u->cfg, v[i].option, v[i].text, e);
	free(v);
	return ok;
}

static bool write_file(const char *dir, const char *name, const char *text, struct err *e)
{
	char path[PATH_LEN];
	struct outfile o;

	snprintf(path, sizeof(path), "%.3000s/%s", dir, name);
	if (!outfile_open(&o, path, e))
		return false;
	fputs(text, o.f);
	return outfile_commit(&o, e);
}

/* A later setting is of the same section and key as 'v': what stands before '=' is the same. */
static bool is_replaced(const struct perf_setting *v, uint32_t n)
{
	size_t len = strcspn(v->text, "=") + 1;

	for (uint32_t i = 1; i < n; i++)
		if (strncmp(v->text, v[i].text, len) == 0)
			return true;
	return false;
}

/* The scenario with which `rnicsim run` repeats it: every setting in a section of its own. */
static bool write_scenario(const struct perf_spec *s, struct err *e)
{
	struct perf_setting *v = x_calloc(MAX_SETTINGS, sizeof(*v));
	uint32_t n = list_settings(s, v);
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool ok;

	fprintf(f,
		"; the benchmark again: rnicsim run perf.ini\n\n"
		"[scenario]\ntrace = perf.trace\nseed = %" PRIu64 "\n",
		s->seed);
	for (uint32_t i = 0; i < n; i++) {
		char *value = strchr(v[i].text, '=') + 1, *key;

		if (is_replaced(&v[i], n - i))
			continue;
		value[-1] = '\0';
		key = strrchr(v[i].text, '.') + 1;
		key[-1] = '\0';
		fprintf(f, "\n[%s]\n%s = %s\n", v[i].text, key, value);
		value[-1] = '=';
		key[-1] = '.';
	}
	fclose(f);
	ok = write_file(s->dir, "perf.ini", text, e);
	free(text);
	free(v);
	return ok;
}

static bool write_inputs(struct perf_run *u, struct err *e)
{
	return !u->s->dir || (outfile_make_dir(u->s->dir, "--out", e) && write_scenario(u->s, e) &&
			      write_file(u->s->dir, "perf.trace", u->text, e));
}

static bool build(struct perf_run *u, struct err *e)
{
	FILE *f = open_memstream(&u->text, &u->len);

	perf_trace_write(u->s, f);
	fclose(f);
	if (!configure(u, e) || !write_inputs(u, e))
		return false;
	u->trace = trace_open_text("the benchmark's trace", u->text, u->len, e);
	if (!u->trace)
		return false;
	u->is_built = true;
	if (!rnic_build(&u->r, &u->cfg, u->trace, u->s->seed, e))
		return false;
	u->r.stall_ps = STALL_PS;
	u->sink.sink.take = take;
	oplog_attach(u->r.system->oplog, &u->sink.sink);
	u->report = run_report_open(&u->r, u->s->dir, NULL, e);
	if (u->s->drop)
		u->watch = perf_watch_open(&u->r, u->s->drop, &u->sink.r->repair);
	return u->report && netlist_finish(&u->r.sim, e);
}

static void init_result(const struct perf_spec *s, struct perf_result *r)
{
	*r = (struct perf_result){ 0 };
	for (unsigned h = 0; h < 2; h++) {
		struct perf_times *t = &r->times[h];

		t->cap = s->iters * s->qps;
		t->post_ps = x_calloc(t->cap, sizeof(*t->post_ps));
		t->poll_ps = x_calloc(t->cap, sizeof(*t->poll_ps));
	}
	r->ends = x_calloc(2 * s->qps, sizeof(*r->ends));
}

void perf_result_release(struct perf_result *r)
{
	for (unsigned h = 0; h < 2; h++) {
		free(r->times[h].post_ps);
		free(r->times[h].poll_ps);
	}
	free(r->ends);
	*r = (struct perf_result){ 0 };
}

/* ---- the end ---- */

static void describe_ends(const struct perf_run *u, struct perf_result *r)
{
	const struct perf_spec *s = u->s;
	const struct trace *t = u->trace;

	r->is_ethernet = !port_is_ib(&u->r.system->hosts[0].nic->addr);
	for (unsigned h = 0; h < 2; h++) {
		const struct host *host = &u->r.system->hosts[h];
		const struct verbs_mr *mr = &u->r.system->mrs[h];

		for (uint64_t i = 0; i < s->qps; i++) {
			struct perf_end *x = &r->ends[h * s->qps + i];
			const struct trace_qp *q = &t->qps[h * s->qps + i];

			x->qpn = host->nic->qp[u->r.system->qps[h * s->qps + i].qpi].qpn;
			x->psn = q->psn;
			x->rkey = mr->rkey;
			x->va = mr->va + i * PAGE_4K;
			x->lid = t->hosts[h].lid;
			memcpy(x->gid, t->hosts[h].gid, sizeof(x->gid));
		}
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int finish(struct perf_run *u, struct perf_result *r, struct perf_stat *stats,
		  uint32_t n_stats, struct err *e)
{
	const struct perf_spec *s = u->s;
	struct scenario sc = {
		.seed = s->seed, .trace = "perf.trace", .until = TIME_NEVER, .stall = STALL_PS
	};
	uint64_t want = s->iters * s->qps,
		 both = s->is_bidir ||
			(s->is_lat && s->verb != PERF_READ && s->verb != PERF_ATOMIC);
	bool held;

	if (u->r.system->err.is_set) {
		*e = u->r.system->err;
		return EXIT_BAD_INPUT;
	}
	if (!run_report_finish(u->report, &sc, &held, e))
		return EXIT_BAD_INPUT;
	describe_ends(u, r);
	for (uint32_t i = 0; i < n_stats; i++) {
		const struct block *b = netlist_find(&u->r.sim, stats[i].block);

		stats[i].value =
			field_get(b, field_find(b->cls->fields, FIELD_STAT, stats[i].name));
	}
	for (unsigned h = 0; h < 2; h++) {
		qsort(r->times[h].post_ps, r->times[h].n, sizeof(uint64_t), by_value);
		qsort(r->times[h].poll_ps, r->times[h].n, sizeof(uint64_t), by_value);
	}
	if (r->errors)
		return EXIT_EXPECT;
	if (r->times[0].n < want || (both && r->times[1].n < want))
		return EXIT_STALLED;
	return EXIT_OK;
}

int perf_measure_stats(const struct perf_spec *s, struct perf_result *r, struct perf_stat *stats,
		       uint32_t n_stats, struct err *e)
{
	struct perf_run u = { .s = s };
	struct timespec t0, t1;
	int status = EXIT_BAD_INPUT;

	init_result(s, r);
	u.sink.r = r;
	config_init(&u.cfg);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	if (build(&u, e)) {
		rnic_run(&u.r);
		status = finish(&u, r, stats, n_stats, e);
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	r->wall_s = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
	run_report_close(u.report);
	perf_watch_close(u.watch);
	if (u.is_built)
		rnic_destroy(&u.r);
	if (u.trace)
		trace_close(u.trace);
	free(u.text);
	config_destroy(&u.cfg);
	return status;
}

int perf_measure(const struct perf_spec *s, struct perf_result *r, struct err *e)
{
	return perf_measure_stats(s, r, NULL, 0, e);
}
