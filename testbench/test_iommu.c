/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_iommu.c - the IOTLB against a list of pages in order of use, walkers against a queue
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/iommu.h"
#include "sim/sim.h"

#define ROUNDS 20000u
#define ACCESS 50u
#define MISS 200u

static struct sim s;
static struct iommu m;

static void start(struct iommu like)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	b.name = "iommu";
	sim_init(&s, 1);
	b.sim = &s;
	m = like;
	m.access_cyc = ACCESS;
	m.miss_cyc = MISS;
	iommu_build(&m, &b);
	iommu_reset(&m);
}

/* The oracle: all pages of a fully associative IOTLB, each with the time it was used and is there. */
struct page {
	uint64_t number, used, ready;
};

struct list {
	struct page *page;
	uint32_t n, size;
	uint64_t *walker_free;
	uint32_t walkers;
	bool is_fifo; /* a fault: use does not count */
};

static uint64_t list_walk(struct list *l, uint64_t now)
{
	uint64_t *first = l->walker_free;

	for (uint32_t i = 0; i < l->walkers; i++)
		if (l->walker_free[i] < *first)
			first = &l->walker_free[i];
	*first = (*first > now ? *first : now) + ACCESS;
	return *first + MISS;
}

static uint64_t list_translate(struct list *l, uint64_t number, uint64_t now, uint64_t k)
{
	struct page *oldest = l->page;

	for (uint32_t i = 0; i < l->n; i++) {
		if (l->page[i].number == number) {
			l->page[i].used = l->is_fifo ? l->page[i].used : k;
			return max_u64(now, l->page[i].ready);
		}
		if (l->page[i].used < oldest->used)
			oldest = &l->page[i];
	}
	if (l->n < l->size)
		oldest = &l->page[l->n++];
	*oldest = (struct page){ number, k, list_walk(l, now) };
	return oldest->ready;
}

/* Random pages; returns the translations whose time differs from the list's. */
static uint32_t run_random(uint32_t entries, uint32_t walkers, bool is_fifo)
{
	struct page pages[128];
	uint64_t walker_free[IOMMU_MAX_WALKERS] = { 0 }, now = 0;
	struct list l = { pages, 0, entries, walker_free, walkers, is_fifo };
	struct rng r;
	uint32_t differ = 0;

	start((struct iommu){ .sets = 1, .ways = entries, .walkers = walkers, .cached_levels = 3 });
	rng_seed(&r, "iommu", entries);
	for (uint64_t k = 1; k <= ROUNDS; k++) {
		uint64_t pa = rng_below(&r, 3ull * entries * 4096 / 2);
		struct iommu_look look = iommu_translate(&m, pa, 1, now);

		CU_ASSERT_EQUAL(look.hits + look.walks, 1);
		differ += look.ready_cyc != list_translate(&l, pa / 4096, now, k);
		now += rng_below(&r, 40);
	}
	sim_destroy(&s);
	return differ;
}

static void iommu_random_pages_match_list(void)
{
	CU_ASSERT_EQUAL(run_random(64, 1, false), 0);
	CU_ASSERT_EQUAL(run_random(16, 3, false), 0);
	CU_ASSERT_EQUAL(run_random(1, 2, false), 0);
}

static void iommu_list_in_order_of_entry_is_caught(void)
{
	CU_ASSERT(run_random(64, 1, true) > 0);
}

static void iommu_walks_are_serialised_by_walkers(void)
{
	for (uint32_t walkers = 1; walkers <= 4; walkers++) {
		start((struct iommu){
			.sets = 1, .ways = 64, .walkers = walkers, .cached_levels = 3 });
		for (uint32_t i = 0; i < 12; i++) {
			struct iommu_look look = iommu_translate(&m, i * 4096, 64, 1000);

			CU_ASSERT_EQUAL(look.ready_cyc, 1000 + (i / walkers + 1) * ACCESS + MISS);
			CU_ASSERT_EQUAL(look.walker_wait_cyc, i / walkers * ACCESS);
		}
		sim_destroy(&s);
	}
}

static void iommu_page_under_way_is_walked_once(void)
{
	struct iommu_look look;

	start((struct iommu){ .sets = 1, .ways = 4, .walkers = 1, .cached_levels = 3 });
	iommu_translate(&m, 0x5000, 64, 100);
	look = iommu_translate(&m, 0x5fc0, 64, 130);
	CU_ASSERT(look.hits == 1 && look.walks == 0);
	CU_ASSERT_EQUAL(look.ready_cyc, 100 + ACCESS + MISS);
	look = iommu_translate(&m, 0x5000, 64, 500);
	CU_ASSERT_EQUAL(look.ready_cyc, 500);
	look = iommu_translate(&m, 0x5fff, 2, 600); /* into the next page */
	CU_ASSERT(look.hits == 1 && look.walks == 1);
	CU_ASSERT_EQUAL(look.ready_cyc, 600 + ACCESS + MISS);
	sim_destroy(&s);
}

/* A walk reads the levels that are not cached: 4, 3, 2 of them for the three page sizes. */
static void iommu_walk_takes_the_levels_that_are_not_cached(void)
{
	static const struct {
		uint32_t page, cached, levels;
		uint64_t bytes;
	} want[] = { { IOMMU_4K, 0, 4, 4 * KIB }, { IOMMU_4K, 2, 2, 4 * KIB },
		     { IOMMU_4K, 3, 1, 4 * KIB }, { IOMMU_2M, 0, 3, 2 * MIB },
		     { IOMMU_2M, 3, 1, 2 * MIB }, { IOMMU_1G, 0, 2, 1 * GIB },
		     { IOMMU_1G, 1, 1, 1 * GIB } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct iommu_look look;

		start((struct iommu){ .sets = 2,
				      .ways = 2,
				      .walkers = 1,
				      .page = want[i].page,
				      .cached_levels = want[i].cached });
		look = iommu_translate(&m, want[i].bytes, 1, 0);
		CU_ASSERT_EQUAL(look.ready_cyc, want[i].levels * ACCESS + MISS);
		look = iommu_translate(&m, 2 * want[i].bytes - 1, 1, 1000);
		CU_ASSERT_EQUAL(look.hits, 1);
		look = iommu_translate(&m, 2 * want[i].bytes, 1, 1000);
		CU_ASSERT_EQUAL(look.walks, 1);
		sim_destroy(&s);
	}
}

CU_TestInfo test_iommu_tests[] = {
	{ "iommu_random_pages_match_list", iommu_random_pages_match_list },
	{ "iommu_list_in_order_of_entry_is_caught", iommu_list_in_order_of_entry_is_caught },
	{ "iommu_walks_are_serialised_by_walkers", iommu_walks_are_serialised_by_walkers },
	{ "iommu_page_under_way_is_walked_once", iommu_page_under_way_is_walked_once },
	{ "iommu_walk_takes_the_levels_that_are_not_cached",
	  iommu_walk_takes_the_levels_that_are_not_cached },
	CU_TEST_INFO_NULL
};
