/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rng.c - known answers of the generator, uniformity of what is made from it
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "sim/rng.h"
#include "sim/units.h"

/* The reference implementation's first outputs for the state 1, 2, 3, 4. */
static void rng_known_state_gives_reference_outputs(void)
{
	static const uint64_t want[] = { 11520u,
					 0u,
					 1509978240u,
					 1215971899390074240u,
					 1216172134540287360u,
					 607988272756665600u,
					 16172922978634559625u,
					 8476171486693032832u,
					 10595114339597558777u,
					 2904607092377533576u };
	struct rng r = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CU_ASSERT_EQUAL(rng_next(&r), want[i]);
}

static void rng_streams_depend_on_name_and_seed(void)
{
	struct rng a, b, c, d;

	rng_seed(&a, "nic0.mtt", 1);
	rng_seed(&b, "nic0.mtt", 1);
	rng_seed(&c, "nic1.mtt", 1);
	rng_seed(&d, "nic0.mtt", 2);
	CU_ASSERT(memcmp(&a, &b, sizeof(a)) == 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t x = rng_next(&a);

		CU_ASSERT_EQUAL(rng_next(&b), x);
		CU_ASSERT_NOT_EQUAL(rng_next(&c), x);
		CU_ASSERT_NOT_EQUAL(rng_next(&d), x);
	}
}

static uint64_t faulty_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

/* Of n = 3 x 2^62 values a third lies below 2^62; a remainder instead of rejection gives one half. */
static bool is_uniform(uint64_t (*below)(struct rng *r, uint64_t n))
{
	const uint64_t n = 3ull << 62;
	unsigned low = 0, draws = 30000;
	struct rng r;

	rng_seed(&r, "uniform", 7);
	for (unsigned i = 0; i < draws; i++) {
		uint64_t v = below(&r, n);

		if (v >= n)
			return false;
		low += v < n / 3;
	}
	return low > 9600 && low < 10400; /* 10000, five standard deviations of 82 */
}

static void rng_below_is_uniform_and_fault_is_caught(void)
{
	CU_ASSERT(is_uniform(rng_below));
	CU_ASSERT_FALSE(is_uniform(faulty_below));
}

static void rng_below_small_range_fills_every_value(void)
{
	unsigned count[10] = { 0 };
	struct rng r;

	rng_seed(&r, "small", 3);
	CU_ASSERT_EQUAL(rng_below(&r, 1), 0);
	for (unsigned i = 0; i < 100000; i++)
		count[rng_below(&r, 10)]++;
	for (unsigned i = 0; i < 10; i++)
		CU_ASSERT(count[i] > 9500 && count[i] < 10500);
}

static void rng_chance_keeps_its_rate(void)
{
	unsigned n = 0;
	struct rng r;

	rng_seed(&r, "chance", 5);
	for (unsigned i = 0; i < 100000; i++) {
		CU_ASSERT_FALSE(rng_chance(&r, 0));
		CU_ASSERT(rng_chance(&r, PPB_ONE));
		n += rng_chance(&r, PPB_ONE / 100);
	}
	CU_ASSERT(n > 840 && n < 1160);
}

CU_TestInfo test_rng_tests[] = {
	{ "known state gives reference outputs", rng_known_state_gives_reference_outputs },
	{ "streams depend on name and seed", rng_streams_depend_on_name_and_seed },
	{ "below is uniform, a biased one is caught", rng_below_is_uniform_and_fault_is_caught },
	{ "below fills every value", rng_below_small_range_fills_every_value },
	{ "chance keeps its rate", rng_chance_keeps_its_rate },
	CU_TEST_INFO_NULL
};
