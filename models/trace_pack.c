/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_pack.c - trace records in few bytes, while they wait
 *
 * The fixed part of a record is a row of 8-byte words, most of which are what trace_record_init
 * set. Packed: a bitmap of the words that differ, those words, then the dependencies and the
 * scatter/gather elements in use.
 */
#include <stdlib.h>
#include <string.h>

#include "models/trace.h"

#define FIXED offsetof(struct trace_record, after)
#define FIXED_WORDS (FIXED / sizeof(uint64_t))

_Static_assert(FIXED % sizeof(uint64_t) == 0, "the fixed part is whole words");
_Static_assert(FIXED_WORDS <= 64, "the fixed part has a bit for every word");

static const struct trace_record blank = {
	.qp = TRACE_NONE, .srq = TRACE_NONE, .cq = TRACE_NONE, .mr = TRACE_NONE,
	.rmr = TRACE_NONE, .inv_mr = TRACE_NONE, .inv_mw = TRACE_NONE,
	.dest_host = TRACE_NONE, .dest_qp = TRACE_NONE, .bind_mr = TRACE_NONE, .mw = TRACE_NONE,
	.repeat = 1, .window = 1,
};

void trace_record_init(struct trace_record *r)
{
	memcpy((void *)r, &blank, FIXED);
}

void trace_record_release(struct trace_record *r)
{
	free(r->mem_bytes);
	r->mem_bytes = NULL;
}

size_t trace_record_pack(const struct trace_record *r, uint8_t *to)
{
	const uint8_t *now = (const uint8_t *)r, *was = (const uint8_t *)&blank;
	uint8_t *at = to + sizeof(uint64_t);
	uint64_t map = 0;

	for (size_t i = 0; i < FIXED_WORDS; i++) {
		if (memcmp(now + 8 * i, was + 8 * i, 8) == 0)
			continue;
		map |= 1ull << i;
		memcpy(at, now + 8 * i, 8);
		at += 8;
	}
	memcpy(to, &map, sizeof(map));
	memcpy(at, r->after, r->n_after * sizeof(r->after[0]));
	at += r->n_after * sizeof(r->after[0]);
	memcpy(at, r->sge, r->n_sge * sizeof(r->sge[0]));
	at += r->n_sge * sizeof(r->sge[0]);
	return (size_t)(at - to);
}

size_t trace_record_unpack(struct trace_record *r, const uint8_t *from)
{
	const uint8_t *at = from + sizeof(uint64_t);
	uint64_t map;

	trace_record_init(r);
	for (memcpy(&map, from, sizeof(map)); map; map &= map - 1) {
		memcpy((uint8_t *)r + 8 * __builtin_ctzll(map), at, 8);
		at += 8;
	}
	memcpy(r->after, at, r->n_after * sizeof(r->after[0]));
	at += r->n_after * sizeof(r->after[0]);
	memcpy(r->sge, at, r->n_sge * sizeof(r->sge[0]));
	at += r->n_sge * sizeof(r->sge[0]);
	return (size_t)(at - from);
}
