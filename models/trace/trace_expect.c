/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_expect.c - what a trace expects of the run, and what it wants to happen on the wire
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace_reader.h"

const char *const wc_status_names[] = { "SUCCESS",
					"LOC_LEN_ERR",
					"LOC_QP_OP_ERR",
					"LOC_EEC_OP_ERR",
					"LOC_PROT_ERR",
					"WR_FLUSH_ERR",
					"MW_BIND_ERR",
					"BAD_RESP_ERR",
					"LOC_ACCESS_ERR",
					"REM_INV_REQ_ERR",
					"REM_ACCESS_ERR",
					"REM_OP_ERR",
					"RETRY_EXC_ERR",
					"RNR_RETRY_EXC_ERR",
					"LOC_RDD_VIOL_ERR",
					"REM_INV_RD_REQ_ERR",
					"REM_ABORT_ERR",
					"INV_EECN_ERR",
					"INV_EEC_STATE_ERR",
					"FATAL_ERR",
					"RESP_TIMEOUT_ERR",
					"GENERAL_ERR",
					NULL };
static const char *const none_names[] = { "none", NULL };
static const char *const error_names[] = { "EINVAL", "ENOMEM", NULL };
static const int error_numbers[] = { EINVAL, ENOMEM };
static const char *const equal_names[] = { "==", NULL };
static const char *const op_names[] = { "==", "!=", "<", "<=", ">", ">=", NULL };
static const char *const fault_names[] = { "drop", "dup", "corrupt", NULL };

_Static_assert(ARRAY_LEN(wc_status_names) == WC_STATUSES + 1, "a name for each status");

/* A line of `expect` while it is read. */
struct expect_line {
	struct trace_expect x;
	uint32_t word, op, error, srq;
	char name[NAME_MAX_LEN + 1];
};

static void *append(void *array, uint32_t n, size_t size, const void *value)
{
	if ((n & (n - 1)) == 0)
		array = x_realloc(array, (n ? 2 * (size_t)n : 1) * size);
	memcpy((char *)array + n * size, value, size);
	return array;
}

static bool call_host(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	const char *p = text;

	return trace_take_host(ctx, &p, (uint32_t *)(void *)((char *)obj + f->offset), why) &&
	       *p == '\0';
}

#define T struct expect_line
#define PLACE (RECORD_PLACE | RECORD_REQUIRED)
#define ROW_HOST(T, m) \
	{ \
		.key = "HOST", .form = RECORD_CALL, .flags = PLACE, .offset = offsetof(T, m), \
		.call = call_host, .expects = "must be the name of a host" \
	}

/* ---- expect HOST.QP id=N status=NAME | error=NAME | none ---- */

static bool call_queue(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	struct expect_line *l = obj;
	const struct trace *t = ctx;
	const char *p = text, *name, *q;
	uint32_t len;

	(void)f;
	if (!trace_take_host(t, &p, &l->x.host, why) || !record_char(&p, '.'))
		return false;
	q = p;
	l->x.qp = l->x.srq = TRACE_NONE;
	if (record_name(&q, &name, &len) && *q == '\0' && len <= NAME_MAX_LEN)
		l->x.srq = trace_lookup(t, THING_SRQ, l->x.host, name, len);
	if (l->x.srq != TRACE_NONE)
		return true; /* a receive of an SRQ: whichever QP takes it */
	return trace_take(t, &p, THING_QP, l->x.host, &l->x.qp, why) && *p == '\0';
}

enum { E_QUEUE, E_NONE, E_ID, E_STATUS, E_ERROR };
static const struct record_field status_fields[] = {
	[E_QUEUE] = RECORD_ROW_CALL("HOST.QP", call_queue, "must be HOST.QP, or mem, event or stat",
				    PLACE),
	[E_NONE] = RECORD_ROW_ENUM(T, word, "'none'", none_names, 0, RECORD_PLACE),
	[E_ID] = RECORD_ROW_NUMBER(T, x.id, "id", 0, 1, UINT64_MAX, RECORD_REQUIRED),
	[E_STATUS] = RECORD_ROW_ENUM(T, x.status, "status", wc_status_names, 0, 0),
	[E_ERROR] = RECORD_ROW_ENUM(T, error, "error", error_names, 0, 0),
};
const struct record_kind trace_expect_kind = { "expect", status_fields, ARRAY_LEN(status_fields) };

static bool read_status(struct trace *t, struct expect_line *l, struct err *e)
{
	struct record_reader *rec = &t->reader->rec;
	uint64_t given;

	if (!record_parse(rec, &trace_expect_kind, 1, l, t, &given, e))
		return false;
	given &= 1u << E_NONE | 1u << E_STATUS | 1u << E_ERROR;
	if (given == 0 || given & (given - 1))
		return record_err(rec, e, "expect one of status=NAME, error=NAME and none");
	l->x.kind = given & 1u << E_STATUS  ? EXPECT_STATUS
		    : given & 1u << E_ERROR ? EXPECT_ERROR
					    : EXPECT_NO_COMPLETION;
	if (l->x.kind == EXPECT_ERROR)
		l->x.value = (uint64_t)error_numbers[l->error];
	return true;
}

bool trace_check_expect_id(struct trace *t, struct err *e)
{
	struct expect_line l = { .x.qp = TRACE_NONE };

	if (!read_status(t, &l, e))
		return false;
	if (!id_set_has(&t->reader->ids[l.x.host].all, l.x.id))
		return record_err(&t->reader->rec, e,
				  "record %llu of host %s does not stand before this one",
				  (unsigned long long)l.x.id, t->hosts[l.x.host].name);
	return true;
}

/* ---- expect mem HOST MR:OFF:LEN == HOST MR:OFF:LEN | fill | hex:BYTES ---- */

static bool call_left(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_expect *x = &((struct expect_line *)obj)->x;
	const char *p = text;

	(void)f;
	return trace_take_mr_range(ctx, &p, x->host, &x->mr, &x->off, &x->len, why) && *p == '\0';
}

static bool call_right(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	struct trace_expect *x = &((struct expect_line *)obj)->x;
	const char *p = text;
	uint64_t n;

	(void)f;
	x->kind = EXPECT_MEM_FILL;
	if (strcmp(text, "fill") == 0)
		return true;
	x->kind = EXPECT_MEM_HEX;
	if (strncmp(text, "hex:", 4) == 0) {
		if (!trace_parse_hex(text, &x->bytes, &n, why))
			return false;
		if (n != x->len)
			snprintf(why, RECORD_WHY, "%llu bytes, but the left side has %llu",
				 (unsigned long long)n, (unsigned long long)x->len);
		return n == x->len;
	}
	x->kind = EXPECT_MEM;
	return trace_take_host(ctx, &p, &x->host2, why) && *p == '\0';
}

static bool call_right_range(const struct record_field *f, const char *text, void *obj, void *ctx,
			     char *why)
{
	struct trace_expect *x = &((struct expect_line *)obj)->x;
	const char *p = text;
	uint64_t n;

	(void)f;
	if (x->kind != EXPECT_MEM ||
	    !trace_take_mr_range(ctx, &p, x->host2, &x->mr2, &x->off2, &n, why) || *p)
		return false;
	if (n != x->len)
		snprintf(why, RECORD_WHY, "%llu bytes, but the left side has %llu",
			 (unsigned long long)n, (unsigned long long)x->len);
	return n == x->len;
}

static const struct record_field mem_fields[] = {
	ROW_HOST(T, x.host),
	RECORD_ROW_CALL("MR:OFF:LEN", call_left, "must be MR:OFFSET:LEN", PLACE),
	RECORD_ROW_ENUM(T, word, "==", equal_names, 0, PLACE),
	RECORD_ROW_CALL("HOST MR:OFF:LEN, fill or hex:BYTES", call_right,
			"must be HOST MR:OFFSET:LEN, fill or hex:BYTES", PLACE),
	RECORD_ROW_CALL("MR:OFF:LEN", call_right_range, "must be MR:OFFSET:LEN", RECORD_PLACE),
};
static const struct record_kind mem_kind = { "expect mem", mem_fields, ARRAY_LEN(mem_fields) };

static bool read_mem(struct trace *t, struct expect_line *l, struct err *e)
{
	uint64_t given;

	if (!record_parse(&t->reader->rec, &mem_kind, 2, l, t, &given, e))
		return false;
	if (l->x.kind == EXPECT_MEM && l->x.mr2 == TRACE_NONE)
		return record_err(&t->reader->rec, e,
				  "'expect mem' lacks MR:OFF:LEN on its right side");
	if (l->x.kind == EXPECT_MEM_FILL && t->mrs[l->x.mr].fill == FILL_KEEP)
		return record_err(&t->reader->rec, e,
				  "MR %s has fill=keep: it has no fill of its own",
				  t->mrs[l->x.mr].name);
	return true;
}

/* ---- expect event HOST NAME; expect stat PATH OP VALUE ---- */

static const struct record_field event_fields[] = { ROW_HOST(T, x.host),
						    RECORD_ROW_NAME(T, name, "NAME", PLACE) };
static const struct record_kind event_kind = { "expect event", event_fields,
					       ARRAY_LEN(event_fields) };

static bool read_event(struct trace *t, struct expect_line *l, struct err *e)
{
	uint64_t given;

	if (!record_parse(&t->reader->rec, &event_kind, 2, l, t, &given, e))
		return false;
	l->x.kind = EXPECT_EVENT;
	l->x.text = x_strdup(l->name);
	return true;
}

static bool call_path(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	const char *p = text, *name;
	uint32_t len;

	(void)f;
	(void)ctx;
	(void)why;
	do {
		if (!record_name(&p, &name, &len))
			return false;
	} while (record_char(&p, '.'));
	if (*p)
		return false;
	((struct expect_line *)obj)->x.text = x_strdup(text);
	return true;
}

/* A number, or a time or a size with its unit. */
static bool call_value(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	uint64_t *v = &((struct expect_line *)obj)->x.value;
	const char *p = text;

	(void)f;
	(void)ctx;
	(void)why;
	return (record_size(&p, v) || record_time(&p, v)) && *p == '\0';
}

static const struct record_field stat_fields[] = {
	RECORD_ROW_CALL("PATH", call_path,
			"must be the path of a statistic: names with '.' between", PLACE),
	RECORD_ROW_ENUM(T, op, "OP", op_names, 0, PLACE),
	RECORD_ROW_CALL("VALUE", call_value, "must be a number, a time (ps ns us ms s) or a size",
			PLACE),
};
static const struct record_kind stat_kind = { "expect stat", stat_fields, ARRAY_LEN(stat_fields) };

static bool read_stat(struct trace *t, struct expect_line *l, struct err *e)
{
	uint64_t given;

	if (!record_parse(&t->reader->rec, &stat_kind, 2, l, t, &given, e))
		return false;
	l->x.kind = EXPECT_STAT;
	memcpy(l->x.op, op_names[l->op], strlen(op_names[l->op]) + 1);
	return true;
}

bool trace_read_expect(struct trace *t, struct err *e)
{
	static const struct {
		const char *word;
		bool (*read)(struct trace *t, struct expect_line *l, struct err *e);
	} forms[] = { { "mem", read_mem }, { "event", read_event }, { "stat", read_stat } };
	struct record_reader *rec = &t->reader->rec;
	struct expect_line l = { .x = { .host = TRACE_NONE,
					.qp = TRACE_NONE,
					.mr = TRACE_NONE,
					.mr2 = TRACE_NONE,
					.host2 = TRACE_NONE } };
	bool (*read)(struct trace *, struct expect_line *, struct err *) = read_status;

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (rec->n_words > 1 && strcmp(rec->words[1].text, forms[i].word) == 0)
			read = forms[i].read;
	l.x.line = rec->line;
	if (!read(t, &l, e)) {
		free(l.x.bytes);
		free(l.x.text);
		return false;
	}
	t->expects = append(t->expects, t->n_expects, sizeof(l.x), &l.x);
	t->n_expects++;
	return true;
}
#undef T

/* ---- wire A B drop|dup|corrupt nth=N,...; wire A B delay=TIME nth=N,... ---- */

static bool call_nth(const struct record_field *f, const char *text, void *obj, void *ctx,
		     char *why)
{
	struct trace_wire *w = obj;
	const char *p = text;
	uint64_t n;

	(void)f;
	(void)ctx;
	(void)why;
	do {
		if (!record_number(&p, &n) || n <= (w->n_nth ? w->nth[w->n_nth - 1] : 0))
			return false;
		w->nth = append(w->nth, w->n_nth, sizeof(n), &n);
		w->n_nth++;
	} while (record_char(&p, ','));
	return *p == '\0';
}

#define T struct trace_wire
enum { W_A, W_B, W_KIND, W_DELAY, W_NTH };
static const struct record_field wire_fields[] = {
	[W_A] = ROW_HOST(T, a),
	[W_B] = ROW_HOST(T, b),
	[W_KIND] = RECORD_ROW_ENUM(T, kind, "fault", fault_names, 0, RECORD_PLACE),
	[W_DELAY] = RECORD_ROW_TIME(T, delay_ps, "delay", 0, 0),
	[W_NTH] = RECORD_ROW_CALL("nth", call_nth, "must be a list of rising numbers from 1",
				  RECORD_REQUIRED),
};
#undef T
const struct record_kind trace_wire_kind = { "wire", wire_fields, ARRAY_LEN(wire_fields) };

static bool check_wire(struct trace *t, struct trace_wire *w, uint64_t given, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;

	if ((given >> W_KIND & 1) == (given >> W_DELAY & 1))
		return record_err(rec, e, "'wire' needs one of drop, dup, corrupt and delay=TIME");
	if (w->a == w->b)
		return record_err(rec, e, "'wire' needs two hosts");
	if (given >> W_DELAY & 1)
		w->kind = WIRE_DELAY;
	return true;
}

bool trace_read_wire(struct trace *t, struct err *e)
{
	struct trace_wire w = { .line = t->reader->rec.line };
	uint64_t given;

	record_defaults(&trace_wire_kind, &w);
	if (!record_parse(&t->reader->rec, &trace_wire_kind, 1, &w, t, &given, e) ||
	    !check_wire(t, &w, given, e)) {
		free(w.nth);
		return false;
	}
	t->wires = append(t->wires, t->n_wires, sizeof(w), &w);
	t->n_wires++;
	return true;
}
