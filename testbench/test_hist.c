/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hist.c - histograms against a sorted array
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hist.h"
#include "sim/rng.h"
#include "sim/units.h"

#define N 20000u

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sample i of shape 'shape'. */
static uint64_t sample(struct rng *r, unsigned shape)
{
	switch (shape) {
	case 0:
		return rng_below(r, HIST_EXACT); /* exact buckets only */
	case 1:
		return rng_below(r, 5000000); /* a few us in ps */
	case 2:
		return rng_next(r) >> (20 + rng_below(r, 44)); /* all magnitudes */
	case 3:
		return rng_chance(r, PPB_ONE / 100) ? 900000000 : 2000000; /* a rare tail */
	default:
		return 777;
	}
}

/* The last value of the bucket of 'v', by its width, found by doubling. */
static uint64_t bucket_end(uint64_t v)
{
	uint64_t width = 1;

	while (v / width >= 256)
		width *= 2;
	return v / width * width + (width - 1);
}

/* True when 'h' tells about the samples v[n] (sorted here) what the array tells. */
static bool agrees(const struct hist *h, uint64_t *v, uint32_t n)
{
	static const uint64_t ppm[] = { 0,      1,      1000,   250000, 500000,
					900000, 990000, 999000, 999999, 1000000 };
	uint64_t sum = 0;

	qsort(v, n, sizeof(*v), by_value);
	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	if (h->n != n || h->min != v[0] || h->max != v[n - 1] || h->sum != sum ||
	    hist_mean(h) != sum / n)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ppm); i++) {
		uint64_t rank = max_u64(ceil_div((uint64_t)n * ppm[i], 1000000), 1),
			 exact = v[rank - 1];
		uint64_t q = hist_quantile(h, ppm[i]);

		if (q != min_u64(bucket_end(exact), h->max) || q < exact || q - exact > exact / 128)
			return false;
	}
	return true;
}

static void hist_random_samples_agree_with_sorted_array(void)
{
	static struct hist h;
	static uint64_t v[N];
	struct rng r;

	rng_seed(&r, "hist", 1);
	for (unsigned shape = 0; shape < 5; shape++) {
		memset(&h, 0, sizeof(h));
		for (uint32_t i = 0; i < N; i++) {
			v[i] = sample(&r, shape);
			hist_add(&h, v[i]);
		}
		CU_ASSERT(agrees(&h, v, N));
	}
}

/* A quantile that is off by one bucket, which is what a wrong bucket edge would give. */
static void hist_seeded_fault_is_caught(void)
{
	static struct hist h;
	static uint64_t v[N];
	struct rng r;

	rng_seed(&r, "hist", 2);
	for (uint32_t i = 0; i < N; i++) {
		v[i] = 1000 + rng_below(&r, 1000000);
		hist_add(&h, v[i]);
	}
	memmove(h.bucket + 1, h.bucket, sizeof(h.bucket) - sizeof(h.bucket[0]));
	CU_ASSERT_FALSE(agrees(&h, v, N));
}

static void hist_empty_is_zero(void)
{
	static const struct hist h;

	CU_ASSERT_EQUAL(hist_quantile(&h, 500000), 0);
	CU_ASSERT_EQUAL(hist_mean(&h), 0);
}

static void hist_extreme_values_have_buckets(void)
{
	static struct hist h;

	hist_add(&h, UINT64_MAX);
	CU_ASSERT_EQUAL(hist_quantile(&h, 500000), UINT64_MAX);
	CU_ASSERT_EQUAL(h.bucket[HIST_BUCKETS - 1], 1);
	hist_add(&h, 0);
	CU_ASSERT_EQUAL(h.min, 0);
	CU_ASSERT_EQUAL(hist_quantile(&h, 500000), 0);
	CU_ASSERT_EQUAL(hist_quantile(&h, 500001), UINT64_MAX);
}

static void hist_merged_equals_all_in_one(void)
{
	static struct hist all, part[3], merged;
	struct rng r;

	rng_seed(&r, "merge", 1);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t v = sample(&r, 2);

		hist_add(&all, v);
		hist_add(&part[i % 2], v); /* the third stays empty */
	}
	for (unsigned i = 0; i < 3; i++)
		hist_merge(&merged, &part[2 - i]);
	CU_ASSERT(memcmp(&all, &merged, sizeof(all)) == 0);
}

CU_TestInfo test_hist_tests[] = {
	{ "random samples agree with a sorted array", hist_random_samples_agree_with_sorted_array },
	{ "seeded fault is caught", hist_seeded_fault_is_caught },
	{ "empty is zero", hist_empty_is_zero },
	{ "extreme values have buckets", hist_extreme_values_have_buckets },
	{ "merged equals all in one", hist_merged_equals_all_in_one },
	CU_TEST_INFO_NULL
};
