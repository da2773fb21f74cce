/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_stream.c - the records of a trace that happen in time, but for posts and receives
 * (trace_post.c)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/nic.h"
#include "models/trace/trace_stream.h"

static const char *const state_names[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", NULL
};

/* ---- what several kinds share ---- */

/* HOST.QP, HOST.SRQ or HOST.CQ: tries the things one after the other. */
static bool take_at_host(const struct trace *t, const char *text, struct trace_record *r,
			 const enum trace_thing *things, uint32_t n, char *why)
{
	const char *p = text, *name;
	uint32_t len, index;

	if (!trace_take_host(t, &p, &r->host, why) || !record_char(&p, '.'))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const char *q = p;

		if (!record_name(&q, &name, &len) || *q || len > NAME_MAX_LEN)
			return false;
		index = trace_lookup(t, things[i], r->host, name, len);
		if (index == TRACE_NONE)
			continue;
		if (things[i] == THING_QP)
			r->qp = index;
		else if (things[i] == THING_SRQ)
			r->srq = index;
		else
			r->cq = index;
		return true;
	}
	return trace_take(t, &p, things[0], r->host, &index, why);
}

bool trace_call_qp(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	(void)f;
	return take_at_host(ctx, text, obj, (const enum trace_thing[]){ THING_QP }, 1, why);
}

bool trace_call_qp_or_srq(const struct record_field *f, const char *text, void *obj, void *ctx,
			  char *why)
{
	(void)f;
	return take_at_host(ctx, text, obj, (const enum trace_thing[]){ THING_QP, THING_SRQ }, 2,
			    why);
}

static bool call_cq(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	(void)f;
	return take_at_host(ctx, text, obj, (const enum trace_thing[]){ THING_CQ }, 1, why);
}

/* ID or HOST:ID, separated by commas. */
bool trace_call_after(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_record *r = obj;
	const struct trace *t = ctx;
	const char *p = text;

	(void)f;
	do {
		struct rec_after *a = &r->after[r->n_after];

		if (r->n_after == MAX_AFTER) {
			snprintf(why, RECORD_WHY, "more than %u records to wait for", MAX_AFTER);
			return false;
		}
		a->host = r->host;
		if (!record_number(&p, &a->id) &&
		    (!trace_take_host(t, &p, &a->host, why) || !record_char(&p, ':') ||
		     !record_number(&p, &a->id)))
			return false;
		if (!id_set_has(&t->reader->ids[a->host].signaled, a->id)) {
			snprintf(why, RECORD_WHY, "record %llu of host %s %s",
				 (unsigned long long)a->id, t->hosts[a->host].name,
				 id_set_has(&t->reader->ids[a->host].all, a->id)
					 ? "is unsignaled: its completion is never polled"
					 : "does not stand before this one");
			return false;
		}
		r->n_after++;
	} while (record_char(&p, ','));
	return *p == '\0';
}

bool trace_check_when(const struct record_reader *rec, const struct trace_record *r, bool has_at,
		      struct err *e)
{
	if (has_at && r->n_after)
		return record_err(rec, e,
				  "at= and after= exclude each other (after=ID delay=TIME is later "
				  "than a completion)");
	if (r->at_ps > TIME_NEVER - 1 - r->delay_ps)
		return record_err(rec, e,
				  "at= and delay= together are beyond the end of time (%llu ps)",
				  (unsigned long long)TIME_NEVER);
	return true;
}

/* ---- mem ---- */

static bool call_host(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	const char *p = text;

	(void)f;
	return trace_take_host(ctx, &p, &((struct trace_record *)obj)->host, why) && *p == '\0';
}

static bool call_mr_at(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	struct trace_record *r = obj;
	const char *p = text;

	(void)f;
	return trace_take_mr_at(ctx, &p, r->host, &r->mr, &r->mem_off, why) && *p == '\0';
}

static bool call_bytes(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	struct trace_record *r = obj;
	const struct trace_mr *m = &((const struct trace *)ctx)->mrs[r->mr];
	const char *p = text + 4;
	uint64_t byte;

	(void)f;
	if (strncmp(text, "hex:", 4) == 0) {
		if (!trace_parse_hex(text, &r->mem_bytes, &r->mem_len, why))
			return false;
	} else if (strncmp(text, "set:", 4) != 0 || !record_number(&p, &byte) || byte > 255 ||
		   !record_char(&p, ':') || !record_size(&p, &r->mem_len) || *p) {
		return false;
	} else {
		r->mem_byte = (uint8_t)byte;
	}
	if (r->mem_len > m->len - r->mem_off) {
		snprintf(why, RECORD_WHY,
			 "%llu bytes from offset %llu reach outside of MR %s (%llu bytes)",
			 (unsigned long long)r->mem_len, (unsigned long long)r->mem_off, m->name,
			 (unsigned long long)m->len);
		return false;
	}
	return true;
}

#define T struct trace_record
#define ROW_HOST \
	RECORD_ROW_CALL("HOST", call_host, "must be the name of a host", \
			RECORD_PLACE | RECORD_REQUIRED)

enum { M_HOST, M_AT, M_BYTES, M_WHEN };
static const struct record_field mem_fields[] = {
	[M_HOST] = ROW_HOST,
	[M_AT] = RECORD_ROW_CALL("MR:OFF", call_mr_at, "must be MR:OFFSET",
				 RECORD_PLACE | RECORD_REQUIRED),
	[M_BYTES] = RECORD_ROW_CALL("hex:BYTES or set:BYTE:LEN", call_bytes,
				    "must be hex:BYTES or set:BYTE:LEN",
				    RECORD_PLACE | RECORD_REQUIRED),
	[M_WHEN] = TRACE_ROWS_WHEN,
};
const struct record_kind trace_mem_kind = { "mem", mem_fields, ARRAY_LEN(mem_fields) };

bool trace_read_mem(struct trace *t, struct trace_record *r, struct err *e)
{
	uint64_t given;

	r->kind = REC_MEM;
	if (record_parse(&t->reader->rec, &trace_mem_kind, 1, r, t, &given, e) &&
	    trace_check_when(&t->reader->rec, r, given >> M_WHEN & 1, e))
		return true;
	trace_record_release(r);
	return false;
}

/* ---- modify, destroy, dereg, arm ---- */

enum { MOD_TARGET, MOD_STATE, MOD_RQ_PSN, MOD_SQ_PSN, MOD_LIMIT, MOD_WHEN };
static const struct record_field modify_fields[] = {
	[MOD_TARGET] =
		RECORD_ROW_CALL("HOST.QP or HOST.SRQ", trace_call_qp_or_srq,
				"must be HOST.QP or HOST.SRQ", RECORD_PLACE | RECORD_REQUIRED),
	[MOD_STATE] = RECORD_ROW_ENUM(T, state, "state", state_names, 0, 0),
	[MOD_RQ_PSN] = RECORD_ROW_NUMBER(T, psn, "rq_psn", TRACE_NONE, 0, 0xffffff, 0),
	[MOD_SQ_PSN] = RECORD_ROW_NUMBER(T, psn, "sq_psn", TRACE_NONE, 0, 0xffffff, 0),
	[MOD_LIMIT] = RECORD_ROW_NUMBER(T, limit, "limit", 0, 0, 32768, 0),
	[MOD_WHEN] = TRACE_ROWS_WHEN,
};
const struct record_kind trace_modify_kind = { "modify", modify_fields, ARRAY_LEN(modify_fields) };

bool trace_read_modify(struct trace *t, struct trace_record *r, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	uint64_t given;

	if (!record_parse(&t->reader->rec, &trace_modify_kind, 1, r, t, &given, e))
		return false;
	r->kind = r->qp != TRACE_NONE ? REC_MODIFY_QP : REC_MODIFY_SRQ;
	if (r->kind == REC_MODIFY_QP && (given >> MOD_LIMIT & 1 || !(given >> MOD_STATE & 1)))
		return record_err(rec, e, "'modify' of a QP takes state=");
	if ((given >> MOD_RQ_PSN & 1 && r->state != QPS_RTR) ||
	    (given >> MOD_SQ_PSN & 1 && r->state != QPS_RTS))
		return record_err(rec, e,
				  "rq_psn= goes with state=RTR, sq_psn= with state=RTS only");
	if (r->kind == REC_MODIFY_SRQ && (given >> MOD_STATE & 1 || !(given >> MOD_LIMIT & 1)))
		return record_err(rec, e, "'modify' of an SRQ takes limit=");
	return trace_check_when(rec, r, given >> MOD_WHEN & 1, e);
}

static const struct record_field destroy_fields[] = {
	RECORD_ROW_CALL("HOST.QP", trace_call_qp, "must be HOST.QP",
			RECORD_PLACE | RECORD_REQUIRED),
	TRACE_ROWS_WHEN,
};
const struct record_kind trace_destroy_kind = { "destroy", destroy_fields,
						ARRAY_LEN(destroy_fields) };

bool trace_read_destroy(struct trace *t, struct trace_record *r, struct err *e)
{
	uint64_t given;

	r->kind = REC_DESTROY;
	return record_parse(&t->reader->rec, &trace_destroy_kind, 1, r, t, &given, e) &&
	       trace_check_when(&t->reader->rec, r, given >> 1 & 1, e);
}

static bool call_mr(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	struct trace_record *r = obj;
	const char *p = text;

	(void)f;
	return trace_take(ctx, &p, THING_MR, r->host, &r->mr, why) && *p == '\0';
}

static const struct record_field dereg_fields[] = {
	ROW_HOST,
	RECORD_ROW_CALL("MR", call_mr, "must be the name of an MR", RECORD_PLACE | RECORD_REQUIRED),
	TRACE_ROWS_WHEN,
};
const struct record_kind trace_dereg_kind = { "dereg", dereg_fields, ARRAY_LEN(dereg_fields) };

bool trace_read_dereg(struct trace *t, struct trace_record *r, struct err *e)
{
	uint64_t given;

	r->kind = REC_DEREG;
	return record_parse(&t->reader->rec, &trace_dereg_kind, 1, r, t, &given, e) &&
	       trace_check_when(&t->reader->rec, r, given >> 2 & 1, e);
}

static const struct record_field arm_fields[] = {
	RECORD_ROW_CALL("HOST.CQ", call_cq, "must be HOST.CQ", RECORD_PLACE | RECORD_REQUIRED),
	TRACE_ROWS_WHEN,
	RECORD_ROW_BOOL(T, solicited_only, "solicited", 0, 0),
};
const struct record_kind trace_arm_kind = { "arm", arm_fields, ARRAY_LEN(arm_fields) };

bool trace_read_arm(struct trace *t, struct trace_record *r, struct err *e)
{
	uint64_t given;

	r->kind = REC_ARM;
	return record_parse(&t->reader->rec, &trace_arm_kind, 1, r, t, &given, e) &&
	       trace_check_when(&t->reader->rec, r, given >> 1 & 1, e);
}
