/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - reading a verbs trace: set-up into tables, then the stream one record at a time
 *
 * The file is read once for the set-up (up to the first record of the stream), once for `expect`
 * and `wire` records wherever they stand, and then goes on where the set-up ended. Reading costs
 * about a third of a microsecond a record, the pass over expects a tenth of that.
 */
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace_reader.h"

#define HEADER "rnicsim-trace"

/*
 * Every kind of record: its table, and the one of 'setup' (once a file) or 'stream' (as time goes
 * on) that reads it.
 */
static const struct {
	const struct record_kind *kind;
	trace_stream_fn *stream;
	trace_setup_fn *setup;
	bool is_anywhere; /* may stand among the stream's records */
} kinds[] = {
	{ &trace_post_kind, trace_read_post, NULL, true },
	{ &trace_recv_kind, trace_read_recv, NULL, true },
	{ &trace_expect_kind, NULL, trace_read_expect, true },
	{ &trace_mem_kind, trace_read_mem, NULL, true },
	{ &trace_modify_kind, trace_read_modify, NULL, true },
	{ &trace_destroy_kind, trace_read_destroy, NULL, true },
	{ &trace_dereg_kind, trace_read_dereg, NULL, true },
	{ &trace_arm_kind, trace_read_arm, NULL, true },
	{ &trace_wire_kind, NULL, trace_read_wire, true },
	{ &trace_host_kind, NULL, trace_read_host, false },
	{ &trace_pd_kind, NULL, trace_read_pd, false },
	{ &trace_mr_kind, NULL, trace_read_mr, false },
	{ &trace_mw_kind, NULL, trace_read_mw, false },
	{ &trace_cq_kind, NULL, trace_read_cq, false },
	{ &trace_srq_kind, NULL, trace_read_srq, false },
	{ &trace_qp_kind, NULL, trace_read_qp, false },
};

/* The row of 'kinds' for the current line, or -1. */
static int kind_of(const struct trace *t, struct err *e)
{
	const struct record_kind *all[ARRAY_LEN(kinds)];
	const char *word = t->reader->rec.words[0].text;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].kind->name, word) == 0)
			return (int)i;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		all[i] = kinds[i].kind;
	return record_find(&t->reader->rec, all, ARRAY_LEN(kinds), e);
}

/* Whether the current line is `expect HOST.QP id=...`. */
static bool is_of_record(const struct record_reader *rec)
{
	return strcmp(rec->words[0].text, trace_expect_kind.name) == 0 && rec->n_words > 1 &&
	       strchr(rec->words[1].text, '.');
}

static bool read_header(struct trace *t, struct err *e)
{
	struct record_reader *rec = &t->reader->rec;
	int got = record_next(rec, e);

	if (got < 0)
		return false;
	if (got == 0)
		return err_set(e, t->path, 1, "an empty file; a trace begins with '%s 1'", HEADER);
	if (strcmp(rec->words[0].text, HEADER) != 0)
		return record_err(rec, e, "this is no trace: the first record must be '%s 1'",
				  HEADER);
	if (rec->n_words != 2 || strcmp(rec->words[1].text, "1") != 0)
		return record_err(rec, e, "version '%.20s' of the trace format; known: 1",
				  rec->n_words > 1 ? rec->words[1].text : "");
	return true;
}

/* Set-up records, until one of the stream is the current line or the file ends. */
static bool read_setup(struct trace *t, struct err *e)
{
	struct trace_reader *tr = t->reader;
	int got, k;

	while ((got = record_next(&tr->rec, e)) == 1) {
		k = kind_of(t, e);
		if (k < 0)
			return false;
		if (kinds[k].stream) {
			tr->has_current = true;
			break;
		}
		if (is_of_record(&tr->rec))
			return record_err(&tr->rec, e,
					  "nothing was posted yet: an expect stands behind what it "
					  "speaks of");
		if (kinds[k].is_anywhere && tr->rec.is_regular)
			continue; /* collected by the second pass, when all names are known */
		if (!kinds[k].setup(t, e))
			return false;
	}
	return got >= 0 && trace_finish_setup(t, e);
}

static bool fail_late(const struct record_reader *rec, int k, struct err *e)
{
	return record_err(rec, e,
			  "'%s' stands behind the first record of the stream; set-up records come "
			  "first",
			  kinds[k].kind->name);
}

/* A line of the second pass; set-up records that come late are found before what speaks of them. */
static bool collect_line(struct trace *t, const struct record_reader *first, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	int k = kind_of(t, e);

	if (kinds[k].is_anywhere)
		return kinds[k].setup(t, e);
	return !t->reader->has_current || rec->line < first->line || fail_late(rec, k, e);
}

/* The second pass: `expect` and `wire`, wherever they stand. */
static bool collect(struct trace *t, struct err *e)
{
	static const char *const names[] = { "expect", "wire", "host", "pd", "mr",
					     "mw",     "cq",   "srq",  "qp", NULL };
	struct trace_reader *tr = t->reader;
	struct record_reader first = tr->rec;
	bool ok;
	int got = 0;

	if (!first.is_regular)
		return true; /* collected on the way */
	ok = record_open(&tr->rec, t->path, e);
	while (ok && (got = record_next_of(&tr->rec, names, e)) == 1)
		ok = collect_line(t, &first, e);
	record_close(&tr->rec);
	tr->rec = first;
	tr->has_collected = true;
	return ok && got == 0;
}

struct trace *trace_open(const char *path, struct err *e)
{
	struct trace *t = x_calloc(1, sizeof(*t));

	t->path = x_strdup(path);
	t->reader = x_calloc(1, sizeof(*t->reader));
	if (record_open(&t->reader->rec, path, e) && read_header(t, e) && read_setup(t, e) &&
	    collect(t, e))
		return t;
	trace_close(t);
	return NULL;
}

struct trace *trace_open_text(const char *path, const char *text, size_t len, struct err *e)
{
	struct trace *t = x_calloc(1, sizeof(*t));

	t->path = x_strdup(path);
	t->reader = x_calloc(1, sizeof(*t->reader));
	record_open_text(&t->reader->rec, path, text, len);
	if (read_header(t, e) && read_setup(t, e))
		return t;
	trace_close(t);
	return NULL;
}

static void free_reader(struct trace *t)
{
	struct trace_reader *tr = t->reader;

	record_close(&tr->rec);
	for (uint32_t i = 0; tr->ids && i < t->n_hosts; i++) {
		free(tr->ids[i].all.runs);
		free(tr->ids[i].signaled.runs);
	}
	free(tr->ids);
	free(tr->names);
	free(tr);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	free_reader(t);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		free(t->mrs[i].fill_bytes);
	for (uint32_t i = 0; i < t->n_wires; i++)
		free(t->wires[i].nth);
	for (uint32_t i = 0; i < t->n_expects; i++) {
		free(t->expects[i].bytes);
		free(t->expects[i].text);
	}
	free(t->hosts);
	free(t->pds);
	free(t->mrs);
	free(t->mws);
	free(t->cqs);
	free(t->srqs);
	free(t->qps);
	free(t->wires);
	free(t->expects);
	free(t->path);
	free(t);
}

/* A line of the stream that is no record of the stream. */
static bool read_aside(struct trace *t, int k, struct err *e)
{
	struct trace_reader *tr = t->reader;
	const struct record_reader *rec = &tr->rec;

	if (!kinds[k].is_anywhere)
		return fail_late(rec, k, e);
	if (!tr->has_collected && !kinds[k].setup(t, e))
		return false;
	return !is_of_record(rec) || trace_check_expect_id(t, e);
}

void trace_record_init(struct trace_record *r)
{
	static const struct trace_record blank = {
		.qp = TRACE_NONE,
		.srq = TRACE_NONE,
		.cq = TRACE_NONE,
		.mr = TRACE_NONE,
		.rmr = TRACE_NONE,
		.inv_mr = TRACE_NONE,
		.inv_mw = TRACE_NONE,
		.dest_host = TRACE_NONE,
		.dest_qp = TRACE_NONE,
		.bind_mr = TRACE_NONE,
		.mw = TRACE_NONE,
		.poll_mr = TRACE_NONE,
		.psn = TRACE_NONE,
		.repeat = 1,
		.window = 1,
		.signal = 1,
		.batch = 1,
	};

	memcpy(r, &blank, offsetof(struct trace_record, after));
}

void trace_record_release(struct trace_record *r)
{
	free(r->mem_bytes);
	r->mem_bytes = NULL;
}

int trace_next(struct trace *t, struct trace_record *r, struct err *e)
{
	struct trace_reader *tr = t->reader;

	for (;;) {
		int got = tr->has_current ? 1 : record_next(&tr->rec, e), k;

		tr->has_current = false;
		if (got != 1)
			return got;
		k = kind_of(t, e);
		if (k < 0)
			return -1;
		if (!kinds[k].stream) {
			if (!read_aside(t, k, e))
				return -1;
			continue;
		}
		trace_record_init(r);
		r->line = tr->rec.line;
		return kinds[k].stream(t, r, e) ? 1 : -1;
	}
}
