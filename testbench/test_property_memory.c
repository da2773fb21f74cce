/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_memory.c - the judge of random traces notices wrong bytes in memory and wrong values of atomics
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "testbench/tb_fault.h"

static bool flip_target(struct tb_case *c)
{
	uint32_t mr = ref_find_mr(&c->ref, 1, "tgt0");

	if (mr != TRACE_NONE)
		fault_flip(c, mr, c->run.trace->mrs[mr].va);
	return mr != TRACE_NONE;
}

/* A byte that a request which may not have been executed writes at its peer holds what nobody wrote. */
static bool flip_uncertain(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_mrs; i++)
		for (uint64_t k = 0; k < c->run.trace->mrs[i].len; k++)
			if (c->ref.mr[i].maybe[k] && !c->ref.mr[i].any[k]) {
				fault_flip(c, i, c->run.trace->mrs[i].va + k);
				return true;
			}
	return false;
}

static void add(struct tb_case *c, uint8_t n)
{
	for (uint32_t h = 0; h < 2; h++) {
		const struct trace_mr *m = &c->run.trace->mrs[ref_find_mr(&c->ref, h, "cnt0")];
		uint8_t v;

		space_read(c->run.r.system->hosts[h].space, m->va, &v, 1);
		v = (uint8_t)(v + n);
		space_write(c->run.r.system->hosts[h].space, m->va, &v, 1);
	}
}

static bool add_many(struct tb_case *c)
{
	add(c, 100);
	return true;
}

/* Seen where a swap found another value than it compared with: it was no step. */
static bool add_once_more(struct tb_case *c)
{
	add(c, 1);
	return true;
}

/* Two additions of one QP: the later fetched what the former did; or both are exchanged. */
static bool change_fetched(struct tb_case *c, bool is_swap)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		for (uint32_t k = i + 1; k < c->ref.n_wr; k++) {
			const struct ref_wr *a = &c->ref.wr[i], *b = &c->ref.wr[k];
			const struct host *h = &c->run.r.system->hosts[a->r.host];
			uint8_t v[2][8];

			if (a->qp != b->qp || a->r.opcode != WR_ATOMIC_FETCH_AND_ADD ||
			    b->r.opcode != WR_ATOMIC_FETCH_AND_ADD || a->r.rmr != b->r.rmr ||
			    strcmp(c->run.trace->mrs[a->r.rmr].name, "cnt0") != 0)
				continue;
			space_read(h->space, a->r.sge[0].addr, v[0], 8);
			space_read(h->space, b->r.sge[0].addr, v[1], 8);
			space_write(h->space, b->r.sge[0].addr, v[0], 8);
			if (is_swap)
				space_write(h->space, a->r.sge[0].addr, v[1], 8);
			return true;
		}
	return false;
}

static bool fetch_twice(struct tb_case *c)
{
	return change_fetched(c, false);
}
static bool fetch_in_wrong_order(struct tb_case *c)
{
	return change_fetched(c, true);
}

const struct fault memory_faults[] = {
	{ " is *, not ", .after = flip_target, .want = &fault_clean },
	{ ": memory is not what any part", .after = flip_uncertain, .want = &fault_any },
	{ " steps at most", .after = add_many, .want = &fault_clean },
	{ " after * to * steps", .after = add_once_more, .want = &fault_clean },
	{ " fetched * of ", .after = fetch_twice, .want = &fault_clean },
	{ " and fetched less", .after = fetch_in_wrong_order, .want = &fault_clean },
	{ .says = NULL },
};

static void faults_of_memory_are_noticed_as_said(void)
{
	faults_are_noticed_as_said(memory_faults);
}

CU_TestInfo test_property_memory_tests[] = { { "faults_of_memory_are_noticed_as_said",
					       faults_of_memory_are_noticed_as_said },
					     CU_TEST_INFO_NULL };
