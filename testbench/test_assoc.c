/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_assoc.c - the set-associative tag store: what it finds, replaces and forgets
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/assoc.h"
#include "sim/sim.h"

static struct sim s;
static struct assoc a;

static void build(uint32_t sets, uint32_t ways)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	sim_init(&s, 1);
	b.sim = &s;
	assoc_build(&a, &b, sets, ways);
	assoc_reset(&a);
}

static void tag_that_was_filled_is_found_in_its_set_only(void)
{
	build(4, 2);
	CU_ASSERT_EQUAL(assoc_find(&a, 1, 0), ASSOC_NONE);
	CU_ASSERT_EQUAL(assoc_fill(&a, 1, 0), 2);
	CU_ASSERT_EQUAL(assoc_find(&a, 1, 0), 2);
	CU_ASSERT_EQUAL(assoc_find(&a, 1, 1), ASSOC_NONE);
	CU_ASSERT_EQUAL(assoc_find(&a, 2, 0), ASSOC_NONE);
	sim_destroy(&s);
}

static void least_recently_used_line_is_replaced(void)
{
	build(1, 3);
	for (uint64_t tag = 10; tag < 13; tag++)
		assoc_fill(&a, 0, tag);
	assoc_touch(&a, assoc_find(&a, 0, 10));
	CU_ASSERT_EQUAL(assoc_fill(&a, 0, 13), 1); /* 11 goes */
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 11), ASSOC_NONE);
	CU_ASSERT_EQUAL(assoc_fill(&a, 0, 14), 2); /* then 12 */
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 10), 0);
	sim_destroy(&s);
}

static void fill_among_few_ways_leaves_the_others(void)
{
	build(1, 4);
	for (uint64_t tag = 0; tag < 4; tag++)
		assoc_fill(&a, 0, tag);
	assoc_touch(&a, assoc_find(&a, 0, 0));
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 10, 2), 1);
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 11, 2), 0);
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 12, 2), 1);
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 2), 2);
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 3), 3);
	assoc_drop(&a, assoc_find(&a, 0, 11));
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 13, 2), 0);
	sim_destroy(&s);
}

static void dropped_line_is_filled_first(void)
{
	build(1, 4);
	for (uint64_t tag = 0; tag < 4; tag++)
		assoc_fill(&a, 0, tag);
	assoc_drop(&a, 3); /* the most recent */
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 3), ASSOC_NONE);
	CU_ASSERT_EQUAL(assoc_fill(&a, 0, 9), 3);
	CU_ASSERT_EQUAL(assoc_fill(&a, 0, 8), 0);
	sim_destroy(&s);
}

static void ranks_stay_a_permutation(void)
{
	struct rng r;

	build(2, 5);
	rng_seed(&r, "assoc", 1);
	for (unsigned k = 0; k < 1000; k++) {
		uint32_t line = (uint32_t)rng_below(&r, 10), seen[2] = { 0, 0 };

		if (rng_below(&r, 3) == 0)
			assoc_drop(&a, line);
		else if (a.is_valid[line])
			assoc_touch(&a, line);
		else
			assoc_fill(&a, line / 5, k);
		for (uint32_t i = 0; i < 10; i++)
			seen[i / 5] |= 1u << a.rank[i];
		CU_ASSERT(seen[0] == 0x1f && seen[1] == 0x1f);
	}
	sim_destroy(&s);
}

CU_TestInfo test_assoc_tests[] = {
	{ "tag_that_was_filled_is_found_in_its_set_only",
	  tag_that_was_filled_is_found_in_its_set_only },
	{ "least_recently_used_line_is_replaced", least_recently_used_line_is_replaced },
	{ "fill_among_few_ways_leaves_the_others", fill_among_few_ways_leaves_the_others },
	{ "dropped_line_is_filled_first", dropped_line_is_filled_first },
	{ "ranks_stay_a_permutation", ranks_stay_a_permutation },
	CU_TEST_INFO_NULL
};
