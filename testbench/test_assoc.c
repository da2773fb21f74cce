/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_assoc.c - the tag store against dumb lists, for each policy, on random streams
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/assoc.h"
#include "sim/sim.h"

static struct sim s;
static struct assoc a;

static void build(uint32_t sets, uint32_t ways, uint8_t policy)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	sim_init(&s, 1);
	b.sim = &s;
	b.name = "bench";
	assoc_build(&a, &b, "tags", sets, ways, policy);
	assoc_reset(&a);
}

/* ---- the oracle: a set is an array of ways, searched from one end to the other ---- */

#define MAX_WAYS 256u

struct dumb_set {
	uint64_t tag[MAX_WAYS];
	bool is_valid[MAX_WAYS];
	uint64_t used[MAX_WAYS];       /* LRU: number of the last use */
	bool is_older_right[MAX_WAYS]; /* PLRU: by node, the root is 1 */
};
struct dumb {
	struct dumb_set set[8];
	uint32_t n_ways;
	uint8_t policy;
	uint64_t clock;
	struct rng rng;
	unsigned fault; /* seeded: every so many uses one is forgotten; 0 = none */
};

static void dumb_use(struct dumb *d, uint32_t set, uint32_t way)
{
	struct dumb_set *t = &d->set[set];
	uint32_t low = 0, n = d->n_ways, node = 1;

	d->clock++;
	if (d->fault && d->clock % d->fault == 0)
		return;
	t->used[way] = d->clock;
	while (d->policy == ASSOC_PLRU && n > 1) { /* from the root to the way */
		bool is_right = way >= low + n / 2;

		t->is_older_right[node] = !is_right;
		node = 2 * node + is_right;
		low += is_right ? n / 2 : 0;
		n /= 2;
	}
}

static uint32_t dumb_victim(struct dumb *d, uint32_t set)
{
	struct dumb_set *t = &d->set[set];
	uint32_t way, oldest = 0;

	for (way = 0; way < d->n_ways; way++)
		if (!t->is_valid[way])
			return way;
	if (d->policy == ASSOC_RANDOM) {
		way = (uint32_t)((rng_next(&d->rng) >> 32) * d->n_ways >> 32);
		return way;
	}
	if (d->policy == ASSOC_PLRU) {
		for (way = 1; way < d->n_ways;)
			way = 2 * way + t->is_older_right[way];
		return way - d->n_ways;
	}
	for (way = 1; way < d->n_ways; way++)
		if (t->used[way] < t->used[oldest])
			oldest = way;
	return oldest;
}

/* Use 'tag'; true when it was there. */
static bool dumb_access(struct dumb *d, uint32_t set, uint64_t tag)
{
	struct dumb_set *t = &d->set[set];
	uint32_t way;

	for (way = 0; way < d->n_ways; way++)
		if (t->is_valid[way] && t->tag[way] == tag) {
			dumb_use(d, set, way);
			return true;
		}
	way = dumb_victim(d, set);
	t->tag[way] = tag;
	t->is_valid[way] = true;
	dumb_use(d, set, way);
	return false;
}

static void dumb_drop(struct dumb *d, uint32_t set, uint64_t tag)
{
	for (uint32_t way = 0; way < d->n_ways; way++)
		if (d->set[set].tag[way] == tag)
			d->set[set].is_valid[way] = false;
}

static bool access_tag(uint32_t set, uint64_t tag)
{
	uint32_t line = assoc_find(&a, set, tag), victim;

	if (line != ASSOC_NONE) {
		assoc_touch(&a, set, line);
		return true;
	}
	victim = assoc_victim(&a, set);
	CU_ASSERT_EQUAL(assoc_fill(&a, set, tag), victim);
	return false;
}

/* Accesses of a random stream on which store and oracle differ. */
static unsigned differences(uint32_t sets, uint32_t ways, uint8_t policy, unsigned seed,
			    unsigned fault)
{
	static struct dumb d;
	struct rng r;
	unsigned n = 0;

	build(sets, ways, policy);
	memset(&d, 0, sizeof(d));
	d.n_ways = ways;
	d.policy = policy;
	d.fault = fault;
	d.rng = a.seeded;
	rng_seed(&r, "stream", seed);
	for (unsigned k = 0; k < 4000; k++) {
		uint32_t set = (uint32_t)rng_below(&r, sets);
		uint64_t tag = rng_below(&r, rng_below(&r, 2) ? ways : 2 * ways + 1);

		if (rng_below(&r, 50) == 0) {
			uint32_t line = assoc_find(&a, set, tag);

			/* where several are free, which is filled differs and does not matter to LRU */
			if (line != ASSOC_NONE)
				assoc_drop(&a, set, line);
			dumb_drop(&d, set, tag);
		} else {
			n += access_tag(set, tag) != dumb_access(&d, set, tag);
		}
	}
	sim_destroy(&s);
	return n;
}

static void store_hits_as_the_dumb_list_does(void)
{
	static const uint32_t ways[] = { 1, 2, 3, 4, 8, 9, 16, 31, 64, 200 };

	for (unsigned policy = ASSOC_LRU; policy <= ASSOC_PLRU; policy++)
		for (unsigned i = 0; i < ARRAY_LEN(ways); i++)
			for (unsigned seed = 0; seed < 4; seed++)
				if (!assoc_check(1, ways[i], (uint8_t)policy))
					CU_ASSERT_EQUAL(differences(1u << seed, ways[i],
								    (uint8_t)policy, seed, 0),
							0);
}

static void list_that_forgets_a_use_is_noticed(void)
{
	CU_ASSERT(differences(2, 4, ASSOC_LRU, 1, 97) > 0);
	CU_ASSERT(differences(2, 64, ASSOC_LRU, 1, 97) > 0);
	CU_ASSERT(differences(2, 4, ASSOC_PLRU, 1, 97) > 0);
}

static void random_draws_of_another_seed_are_noticed(void)
{
	struct rng r;
	uint64_t same = 0;

	build(1, 64, ASSOC_RANDOM);
	rng_seed(&r, "another", 1);
	for (uint64_t tag = 0; tag < 264; tag++) {
		uint32_t line = assoc_fill(&a, 0, tag);

		same += tag >= 64 && line == rng_next(&r) >> 58;
	}
	CU_ASSERT(same < 20);
	sim_destroy(&s);
}

static void tag_that_was_filled_is_found_in_its_set_only(void)
{
	for (uint32_t ways = 2; ways <= 32; ways *= 16) {
		build(4, ways, ASSOC_LRU);
		CU_ASSERT_EQUAL(assoc_find(&a, 1, 0), ASSOC_NONE);
		CU_ASSERT_EQUAL(assoc_fill(&a, 1, 0), ways);
		CU_ASSERT_EQUAL(assoc_find(&a, 1, 0), ways);
		CU_ASSERT_EQUAL(assoc_find(&a, 1, 1), ASSOC_NONE);
		CU_ASSERT_EQUAL(assoc_find(&a, 2, 0), ASSOC_NONE);
		sim_destroy(&s);
	}
}

static void fill_among_few_ways_leaves_the_others(void)
{
	build(1, 4, ASSOC_LRU);
	for (uint64_t tag = 0; tag < 4; tag++)
		assoc_fill(&a, 0, tag);
	assoc_touch(&a, 0, assoc_find(&a, 0, 0));
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 10, 2), 1);
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 11, 2), 0);
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 12, 2), 1);
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 2), 2);
	CU_ASSERT_EQUAL(assoc_find(&a, 0, 3), 3);
	assoc_drop(&a, 0, assoc_find(&a, 0, 11));
	CU_ASSERT_EQUAL(assoc_fill_among(&a, 0, 13, 2), 0);
	sim_destroy(&s);
}

static void dropped_line_is_filled_first(void)
{
	for (unsigned policy = ASSOC_LRU; policy <= ASSOC_PLRU; policy++) {
		build(1, 4, (uint8_t)policy);
		for (uint64_t tag = 0; tag < 4; tag++)
			assoc_fill(&a, 0, tag);
		assoc_drop(&a, 0, 3); /* the most recent */
		CU_ASSERT_EQUAL(assoc_find(&a, 0, 3), ASSOC_NONE);
		CU_ASSERT_EQUAL(assoc_fill(&a, 0, 9), 3);
		if (policy == ASSOC_LRU)
			CU_ASSERT_EQUAL(assoc_fill(&a, 0, 8), 0);
		sim_destroy(&s);
	}
}

static void ways_that_no_tree_has_are_refused(void)
{
	CU_ASSERT_PTR_NULL(assoc_check(16, 8, ASSOC_PLRU));
	CU_ASSERT_PTR_NOT_NULL(assoc_check(16, 3, ASSOC_PLRU));
	CU_ASSERT_PTR_NOT_NULL(assoc_check(1, 128, ASSOC_PLRU));
	CU_ASSERT_PTR_NULL(assoc_check(1, 1000, ASSOC_LRU));
	CU_ASSERT_PTR_NOT_NULL(assoc_check(65536, 17, ASSOC_LRU));
}

CU_TestInfo test_assoc_tests[] = {
	{ "store_hits_as_the_dumb_list_does", store_hits_as_the_dumb_list_does },
	{ "list_that_forgets_a_use_is_noticed", list_that_forgets_a_use_is_noticed },
	{ "random_draws_of_another_seed_are_noticed", random_draws_of_another_seed_are_noticed },
	{ "tag_that_was_filled_is_found_in_its_set_only",
	  tag_that_was_filled_is_found_in_its_set_only },
	{ "fill_among_few_ways_leaves_the_others", fill_among_few_ways_leaves_the_others },
	{ "dropped_line_is_filled_first", dropped_line_is_filled_first },
	{ "ways_that_no_tree_has_are_refused", ways_that_no_tree_has_are_refused },
	CU_TEST_INFO_NULL
};
