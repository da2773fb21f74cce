/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_mr.c - memory regions of a trace: the record, and the bytes that fill them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace_reader.h"
#include "sim/rng.h"

#define INC_PERIOD 251u   /* fill=inc */
#define RAND_BLOCK 65536u /* bytes of fill=rand that are one random stream */

#define T struct trace_mr

static bool mr_host(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	const char *p = text;

	(void)f;
	return trace_take_host(ctx, &p, &((T *)obj)->host, why) && *p == '\0';
}

static bool mr_pd(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	T *m = obj;
	const char *p = text;

	(void)f;
	return trace_take(ctx, &p, THING_PD, m->host, &m->pd, why) && *p == '\0';
}

/* zero | inc | lin:A,B,C,D | rand:SEED | hex:BYTES | keep */
static bool parse_fill(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	static const char *const words[] = { "zero", "inc", "lin:", "rand:", "hex:", "keep" };
	T *m = obj;
	const char *p = text;

	(void)f;
	(void)ctx;
	for (uint32_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (strncmp(text, words[i], n) == 0) {
			m->fill = (enum fill_kind)i;
			p = text + n;
			break;
		}
	}
	if (p == text)
		return false;
	switch (m->fill) {
	case FILL_LIN:
		for (uint32_t i = 0; i < 4; i++)
			if ((i && !record_char(&p, ',')) || !record_number(&p, &m->fill_arg[i]))
				return false;
		return *p == '\0';
	case FILL_RAND:
		return record_number(&p, &m->fill_arg[0]) && *p == '\0';
	case FILL_HEX:
		return trace_parse_hex(text, &m->fill_bytes, &m->fill_len, why);
	default:
		return *p == '\0';
	}
}

static const struct record_field mr_fields[] = {
	RECORD_ROW_CALL("HOST", mr_host, "must be the name of a host",
			RECORD_PLACE | RECORD_REQUIRED),
	RECORD_ROW_NAME(T, name, "NAME", RECORD_PLACE | RECORD_REQUIRED),
	RECORD_ROW_NUMBER(T, va, "va", 0, 0, UINT64_MAX, RECORD_REQUIRED),
	RECORD_ROW_SIZE(T, len, "len", 0, 1, 1ull << 48, RECORD_REQUIRED),
	RECORD_ROW_FLAGS(T, access, "access", trace_access_names, 1, 0),
	RECORD_ROW_SIZE(T, page, "page", 4096, 0, UINT64_MAX, 0),
	RECORD_ROW_NUMBER(T, lkey, "lkey", 0, 1, UINT32_MAX - 1, 0),
	RECORD_ROW_NUMBER(T, rkey, "rkey", 0, 1, UINT32_MAX - 1, 0),
	RECORD_ROW_CALL("pd", mr_pd, "must be the name of a PD of the same host", 0),
	RECORD_ROW_CALL("fill", parse_fill,
			"must be zero, inc, lin:A,B,C,D, rand:SEED, hex:BYTES or keep", 0),
};
const struct record_kind trace_mr_kind = { "mr", mr_fields, ARRAY_LEN(mr_fields) };
#undef T

/* Whether other MRs of the host cover all of this one. */
static bool is_covered(const struct trace *t, const struct trace_mr *m)
{
	uint64_t n = 0; /* bytes from its start on that are covered: MRs may end at 2^64 */

	for (uint32_t i = 0; i < t->n_mrs && n < m->len; i++) {
		const struct trace_mr *o = &t->mrs[i];

		if (o->host == m->host && m->va + n - o->va < o->len) {
			n += o->len - (m->va + n - o->va);
			i = UINT32_MAX; /* look again from the first */
		}
	}
	return n >= m->len;
}

static bool check_mr(struct trace *t, const struct trace_mr *m, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	uint32_t len = (uint32_t)strlen(m->name);

	if (trace_lookup(t, THING_MR, m->host, m->name, len) != TRACE_NONE ||
	    trace_lookup(t, THING_MW, m->host, m->name, len) != TRACE_NONE)
		return record_err(rec, e, "a second MR or window '%s' on host %s", m->name,
				  t->hosts[m->host].name);
	if (strcmp(m->name, "va") == 0)
		return record_err(
			rec, e,
			"an MR cannot be called 'va': va: begins an address in sge= and remote=");
	if (m->va + (m->len - 1) < m->va)
		return record_err(rec, e,
				  "va=0x%llx and len=%llu reach over the end of the address space",
				  (unsigned long long)m->va, (unsigned long long)m->len);
	if (m->page != 4096 && m->page != 2 * MIB && m->page != GIB)
		return record_err(rec, e, "page=%llu: must be 4KiB, 2MiB or 1GiB",
				  (unsigned long long)m->page);
	if (m->fill == FILL_HEX && m->fill_len > m->len)
		return record_err(rec, e, "fill=hex: holds %llu bytes, the MR only %llu",
				  (unsigned long long)m->fill_len, (unsigned long long)m->len);
	if (m->fill == FILL_KEEP && !is_covered(t, m))
		return record_err(rec, e, "fill=keep: other MRs of host %s do not cover this one",
				  t->hosts[m->host].name);
	return true;
}

bool trace_read_mr(struct trace *t, struct err *e)
{
	struct trace_mr m = { .pd = TRACE_NONE };
	uint64_t given;

	record_defaults(&trace_mr_kind, &m);
	if (!record_parse(&t->reader->rec, &trace_mr_kind, 1, &m, t, &given, e) ||
	    !check_mr(t, &m, e)) {
		free(m.fill_bytes);
		return false;
	}
	m.access = trace_access(m.access);
	m.line = t->reader->rec.line;
	if ((t->n_mrs & (t->n_mrs - 1)) == 0)
		t->mrs = x_realloc(t->mrs, (t->n_mrs ? 2 * (size_t)t->n_mrs : 1) * sizeof(*t->mrs));
	t->mrs[t->n_mrs++] = m;
	trace_enter(t, THING_MR, m.host, t->n_mrs - 1);
	return true;
}

/* Bytes off .. off+len-1 of one block's stream. */
static void fill_rand_block(uint64_t seed, uint64_t off, uint8_t *to, uint64_t len)
{
	struct rng g;
	uint64_t word = 0, at = 0;

	rng_seed(&g, "fill", seed);
	for (; at < off + len; at++) {
		if (at % 8 == 0)
			word = rng_next(&g);
		if (at >= off)
			to[at - off] = (uint8_t)(word >> 8 * (at % 8));
	}
}

/* Each block has a stream of its own, so that every place of a region is as near as its beginning. */
static void fill_rand(uint64_t seed, uint64_t off, uint8_t *to, uint64_t len)
{
	while (len) {
		uint64_t block = off / RAND_BLOCK, in = off % RAND_BLOCK;
		uint64_t n = min_u64(len, RAND_BLOCK - in);

		fill_rand_block(seed + block * 0x9e3779b97f4a7c15ull, in, to, n);
		off += n;
		to += n;
		len -= n;
	}
}

/* The first period byte by byte, then what is there is doubled. */
static void fill_inc(uint64_t off, uint8_t *to, uint64_t len)
{
	for (uint64_t i = 0; i < min_u64(len, INC_PERIOD); i++)
		to[i] = (uint8_t)((off + i) % INC_PERIOD);
	for (uint64_t done = INC_PERIOD; done < len; done *= 2)
		memcpy(to + done, to, min_u64(done, len - done));
}

void trace_fill(const struct trace_mr *m, uint64_t off, uint8_t *to, uint64_t len)
{
	const uint64_t *a = m->fill_arg;

	switch (m->fill) {
	case FILL_INC:
		fill_inc(off, to, len);
		break;
	case FILL_LIN:
		for (uint64_t k = off, i = 0; i < len; i++, k++)
			to[i] = (uint8_t)(a[0] * k + a[1] + a[2] * (k >> 8) + a[3] * (k >> 16));
		break;
	case FILL_RAND:
		fill_rand(a[0], off, to, len);
		break;
	case FILL_HEX:
		for (uint64_t i = 0; i < len; i++)
			to[i] = off + i < m->fill_len ? m->fill_bytes[off + i] : 0;
		break;
	default:
		memset(to, 0, len);
	}
}
