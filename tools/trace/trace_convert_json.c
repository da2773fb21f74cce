/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert_json.c - recorded verbs calls to a trace: reading a call
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_convert.h"

/*
 * The JSON library reads integers of 63 bits only: write those of 64 bits as the negative number of
 * the same bits. Returns a copy, or NULL when there is nothing to change.
 */
static char *wrap_large(const char *line)
{
	char *copy = NULL;
	size_t len = 0;
	bool is_quoted = false;
	FILE *f = NULL;

	for (const char *p = line, *q, *done = line;; p = q) {
		uint64_t v;

		q = p;
		if (!is_quoted && record_number(&q, &v) && v > INT64_MAX) {
			f = f ? f : open_memstream(&copy, &len);
			fprintf(f, "%.*s%" PRId64, (int)(p - done), done, (int64_t)v);
			done = q;
		} else if (q == p) {
			is_quoted ^= *p == '"';
			q += *p == '\\' && p[1] ? 2 : 1;
		}
		if (!*p) {
			if (f)
				fputs(done, f);
			break;
		}
	}
	if (f)
		fclose(f);
	return copy;
}

json_t *conv_load(struct conv *c, const char *line)
{
	char *wrapped = wrap_large(line);
	json_error_t why;
	json_t *call = json_loads(wrapped ? wrapped : line, 0, &why);

	free(wrapped);
	if (!call)
		record_err(&c->rec, c->e, "not a JSON value: %s", why.text);
	return call;
}

uint64_t conv_u64(struct conv *c, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v)) {
		record_err(&c->rec, c->e, "'%s' is missing, or is no number", key);
		return 0;
	}
	return (uint64_t)json_integer_value(v);
}

uint64_t conv_u64_or(const json_t *o, const char *key, uint64_t other)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (uint64_t)json_integer_value(v) : other;
}

const char *conv_str(struct conv *c, const json_t *o, const char *key)
{
	const char *v = json_string_value(json_object_get(o, key));

	if (!v)
		record_err(&c->rec, c->e, "'%s' is missing, or is no string", key);
	return v ? v : "";
}

/* A number as a string of hex digits. */
uint64_t conv_hex(struct conv *c, const json_t *o, const char *key)
{
	const char *text = conv_str(c, o, key);
	char *end;
	uint64_t v = strtoull(text, &end, 16);

	if (end == text || *end)
		record_err(&c->rec, c->e, "'%s' must be hex digits", key);
	return v;
}

uint32_t conv_ep(struct conv *c, const json_t *o)
{
	const char *name = conv_str(c, o, "ep");

	for (uint32_t i = 0; i < c->n_ep; i++)
		if (strcmp(c->ep[i].name, name) == 0)
			return i;
	record_err(&c->rec, c->e, "no endpoint '%.20s' was opened before", name);
	return 0;
}

struct conv_qp *conv_qp(struct conv *c, const json_t *o)
{
	uint64_t number = conv_u64(c, o, "qp");

	for (uint32_t i = 0; i < c->n_qp; i++)
		if (c->qp[i].number == number)
			return &c->qp[i];
	record_err(&c->rec, c->e, "no QP %" PRIu64 " was created before", number);
	return NULL;
}

const struct conv_mr *conv_find_mr(const struct conv *c, uint32_t ep, bool is_remote, uint64_t key,
				   uint64_t va, uint64_t len)
{
	for (uint32_t i = 0; i < c->n_mr; i++) {
		const struct conv_mr *m = &c->mr[i];

		if (m->ep == ep && key && (is_remote ? m->rkey : m->lkey) == key && va >= m->va &&
		    va - m->va <= m->len && len <= m->len - (va - m->va))
			return m;
	}
	return NULL;
}
