/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_pack.c - what is kept of records: those that wait, and the ids of all
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace_reader.h"
#include "sim/rng.h"

static void trace_packed_record_comes_back(void)
{
	struct trace_record r, s;
	uint8_t packed[TRACE_PACKED_MAX];
	struct rng g;
	size_t n;

	rng_seed(&g, "pack", 1);
	trace_record_init(&r);
	n = trace_record_pack(&r, packed);
	CU_ASSERT_EQUAL(n, sizeof(uint64_t));
	for (int i = 0; i < 500; i++) {
		/* every byte of the fixed part but a pointer and the counts may be anything */
		for (size_t k = 0; k < offsetof(struct trace_record, after); k++)
			if (rng_below(&g, 3) == 0)
				((uint8_t *)&r)[k] = (uint8_t)rng_below(&g, 256);
		r.n_after = (uint32_t)rng_below(&g, MAX_AFTER + 1);
		r.n_sge = (uint32_t)rng_below(&g, MAX_SGE + 1);
		for (uint32_t k = 0; k < r.n_after; k++)
			r.after[k] = (struct rec_after){ (uint32_t)k, rng_next(&g) };
		for (uint32_t k = 0; k < r.n_sge; k++)
			r.sge[k] = (struct rec_sge){ rng_next(&g), k, k + 1, k + 2 };
		n = trace_record_pack(&r, packed);
		CU_ASSERT(n <= TRACE_PACKED_MAX);
		memset(&s, 0xaa, sizeof(s));
		CU_ASSERT_EQUAL(trace_record_unpack(&s, packed), n);
		CU_ASSERT(memcmp(&r, &s, offsetof(struct trace_record, after)) == 0);
		for (uint32_t k = 0; k < r.n_after; k++)
			CU_ASSERT(s.after[k].id == r.after[k].id &&
				  s.after[k].host == r.after[k].host);
		CU_ASSERT(memcmp(r.sge, s.sge, r.n_sge * sizeof(r.sge[0])) == 0);
	}
}

static void trace_typical_record_packs_small(void)
{
	uint8_t packed[TRACE_PACKED_MAX];
	struct trace_record r;

	/* a WRITE with one element and one dependency: 65,536 of these are below 10 MB */
	trace_record_init(&r);
	r.line = 70000;
	r.id = r.wr_id = 69990;
	r.qp = 3;
	r.flags = WR_SIGNALED;
	r.raddr = 0x200000001000;
	r.rmr = 1;
	r.n_sge = r.n_after = 1;
	r.sge[0] = (struct rec_sge){ .addr = 0x100000001000, .mr = 0, .len = 64 };
	r.after[0] = (struct rec_after){ .host = 0, .id = 69926 };
	CU_ASSERT(trace_record_pack(&r, packed) <= 120);
}

/*
 * Ids in the set are those of a plain list; a list with one id more must differ (the oracle can
 * fail).
 */
static void trace_id_set_agrees_with_a_list(void)
{
	enum { N = 4000 };
	bool *list = calloc(N + 1, sizeof(bool));
	struct id_set s = { 0 };
	struct rng g;
	uint64_t id = 0, differences = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	rng_seed(&g, "ids", 1);
	while (id < N) {
		uint64_t step = rng_below(&g, 4) + 1, run = rng_below(&g, 20);

		for (; run && id + step <= N; run--)
			list[id += step] = true;
		id += rng_below(&g, 3) + 1;
		if (id <= N)
			list[id] = true;
	}
	for (id = 1; id <= N; id++)
		if (list[id])
			id_set_add(&s, id);
	for (id = 0; id <= N; id++)
		CU_ASSERT_EQUAL(id_set_has(&s, id), list[id]);
	for (id = 1; id < N && list[id]; id++)
		;
	list[id] = true;
	for (id = 0; id <= N; id++)
		differences += id_set_has(&s, id) != list[id];
	CU_ASSERT_EQUAL(differences, 1);
	free(s.runs);
	free(list);
}

/* Regular ids cost nothing, however many. */
static void trace_id_set_stays_small_when_regular(void)
{
	struct id_set s = { 0 };

	for (uint64_t id = 7; id < 7000000; id += 7)
		id_set_add(&s, id);
	CU_ASSERT_EQUAL(s.n, 1);
	CU_ASSERT(id_set_has(&s, 6999993) && !id_set_has(&s, 6999994) && !id_set_has(&s, 7000000) &&
		  !id_set_has(&s, 0));
	free(s.runs);
}

CU_TestInfo test_trace_pack_tests[] = {
	{ "trace_packed_record_comes_back", trace_packed_record_comes_back },
	{ "trace_typical_record_packs_small", trace_typical_record_packs_small },
	{ "trace_id_set_agrees_with_a_list", trace_id_set_agrees_with_a_list },
	{ "trace_id_set_stays_small_when_regular", trace_id_set_stays_small_when_regular },
	CU_TEST_INFO_NULL
};
