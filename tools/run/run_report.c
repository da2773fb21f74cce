/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_report.c - what a run leaves
 */
#include "tools/run/run_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/expect.h"
#include "tools/run/explain.h"
#include "tools/run/oplog_csv.h"
#include "tools/run/report.h"
#include "sim/command.h"
#include "sim/stats.h"

/* Takes each closed row: a span over the whole request and one over each of its stages. */
struct span_sink {
	struct oplog_sink sink;
	struct evlog *log;
	const struct trace *trace;
	uint32_t *track; /* by QP of the trace */
	uint64_t n;
};

struct run_report {
	struct rnic *r;
	const char *dir;
	struct report report;
	struct oplog_csv csv;
	bool has_csv, has_expects;
	struct span_sink spans;
	struct expect_result expects;
};

/* ---- spans ---- */

static void span_take(struct oplog_sink *sink, const struct op_row *row)
{
	struct span_sink *s = (struct span_sink *)sink;
	uint64_t post = row->t_ps[OP_POST], poll = row->t_ps[OP_POLL];
	const char *name;
	uint32_t lane;
	char args[96];

	s->n++;
	if (!s->log || row->is_recv)
		return;
	name = wr_opcode_names[row->opcode];
	snprintf(args, sizeof(args), "\"id\":%" PRIu64 ",\"bytes\":%" PRIu32, row->id, row->bytes);
	lane = evlog_lane(s->log, s->track[row->qp], post, poll);
	evlog_span(s->log, lane, name, post, poll - post, args);
	for (unsigned m = 1; m < OP_MILESTONES; m++)
		if (row->t_ps[m] > row->t_ps[m - 1])
			evlog_span(s->log, lane, milestone_names[m], row->t_ps[m - 1],
				   row->t_ps[m] - row->t_ps[m - 1], NULL);
}

static void span_tracks(struct span_sink *s, const struct trace *t)
{
	s->trace = t;
	if (!s->log)
		return;
	s->track = x_calloc(t->n_qps + 1, sizeof(*s->track));
	for (uint32_t i = 0; i < t->n_qps; i++)
		s->track[i] = evlog_track(s->log, t->hosts[t->qps[i].host].name, t->qps[i].name);
}

/* ---- open, close ---- */

struct run_report *run_report_open(struct rnic *r, const char *dir, struct evlog *l, struct err *e)
{
	struct run_report *rp = x_calloc(1, sizeof(*rp));

	rp->r = r;
	rp->dir = dir;
	report_init(&rp->report);
	if (dir && !oplog_csv_open(&rp->csv, dir, r->system->trace, e)) {
		free(rp);
		return NULL;
	}
	rp->has_csv = dir != NULL;
	rp->spans.log = l;
	rp->spans.sink.take = span_take;
	span_tracks(&rp->spans, r->system->trace);
	oplog_attach(r->system->oplog, &rp->report.sink);
	oplog_attach(r->system->oplog, &rp->spans.sink);
	if (dir)
		oplog_attach(r->system->oplog, &rp->csv.sink);
	return rp;
}

uint64_t run_report_count(const struct run_report *rp)
{
	return rp->spans.n;
}

void run_report_close(struct run_report *rp)
{
	if (!rp)
		return;
	if (rp->has_csv)
		oplog_csv_abort(&rp->csv);
	if (rp->has_expects)
		expect_release(&rp->expects);
	free(rp->spans.track);
	free(rp);
}

/* ---- files ---- */

static bool open_json(const struct run_report *rp, const char *name, struct outfile *o,
		      struct json *j, struct err *e)
{
	size_t len = strlen(rp->dir) + strlen(name) + 2;
	char *path = x_calloc(1, len);
	bool ok;

	snprintf(path, len, "%s/%s", rp->dir, name);
	ok = outfile_open(o, path, e);
	free(path);
	if (!ok)
		return false;
	json_begin(j, o->f);
	json_open(j, NULL);
	json_str(j, "rnicsim", RNICSIM_VERSION);
	return true;
}

static bool close_json(struct outfile *o, struct json *j, struct err *e)
{
	json_close(j);
	fputc('\n', o->f);
	return outfile_commit(o, e);
}

static bool write_summary(const struct run_report *rp, const struct scenario *sc, struct err *e)
{
	struct outfile o;
	struct json j;

	if (!open_json(rp, "summary.json", &o, &j, e))
		return false;
	json_u64(&j, "seed", sc->seed);
	stats_write_params(&j, "scenario", scenario_fields, sc);
	json_open(&j, "expects");
	json_u64(&j, "n", rp->expects.n_expects);
	json_u64(&j, "failed", rp->expects.n_failures);
	json_close(&j);
	report_write(&rp->report, &j);
	stats_write(&j, &rp->r->sim);
	stats_write_config(&j, &rp->r->sim);
	return close_json(&o, &j, e);
}

bool run_report_finish(struct run_report *rp, const struct scenario *sc, bool *held, struct err *e)
{
	oplog_flush(rp->r->system->oplog);
	report_refused(&rp->report, &rp->r->system->refused, rp->r->system->trace->path);
	if (!expect_evaluate(rp->r->system, &rp->r->sim, &rp->expects, e))
		return false;
	rp->has_expects = true;
	*held = rp->expects.n_failures == 0;
	if (!rp->has_csv)
		return true;
	return write_summary(rp, sc, e) && oplog_csv_commit(&rp->csv, e);
}

bool run_report_how(const struct run_report *rp, const struct run_options *o,
		    const char *trace_path, double wall_s, struct err *e)
{
	static const char *const orders[] = { "forward", "reversed", "shuffled" };
	const struct sim *s = &rp->r->sim;
	struct outfile f;
	struct json j;

	if (!rp->dir)
		return true;
	if (!open_json(rp, "run.json", &f, &j, e))
		return false;
	json_str(&j, "scenario", o->scenario);
	json_str(&j, "trace", trace_path);
	json_str(&j, "wave", o->wave);
	json_str(&j, "pcap", o->pcap);
	json_str(&j, "timeline", o->timeline);
	json_str(&j, "step_order", orders[o->order]);
	json_bool(&j, "every_cycle", o->every_cycle);
	json_open(&j, "impl");
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (strcmp(s->blocks[i]->cls->impl, "c") != 0)
			json_str(&j, s->blocks[i]->name, s->blocks[i]->cls->impl);
	json_close(&j);
	json_u64(&j, "steps", s->steps);
	json_double(&j, "wall_s", wall_s);
	json_double(&j, "steps_per_s", wall_s > 0 ? (double)s->steps / wall_s : 0);
	return close_json(&f, &j, e);
}

void run_report_print(const struct run_report *rp, FILE *f)
{
	report_print(&rp->report, f);
}

void run_report_explain(const struct run_report *rp, int argc, char **argv, FILE *f)
{
	explain_print(&rp->r->sim, &rp->report, argc, argv, f);
}

void run_report_failures(const struct run_report *rp, FILE *f)
{
	for (uint32_t i = 0; i < rp->expects.n_failures; i++)
		fprintf(f, "%s\n", rp->expects.failures[i].text);
}
