/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mtt.c - address translation, in C and in Verilog, against a linear page table and an exact
 * LRU list
 */
#include <stdio.h>
#include <string.h>

#include "models/mtt.h"
#include "testbench/tb_mtt.h"

extern const struct block_class *const block_classes[];

/* Every implementation that this build has. */
static const struct block_class *impl(unsigned i)
{
	return block_impl_names[i] ? class_find(block_classes, "mtt", block_impl_names[i]) : NULL;
}
#define EACH_IMPL(cls) for (unsigned i_ = 0; ((cls) = impl(i_)) != NULL; i_++)

static struct tb_mtt e;

static void mtt_random_requests_match_a_linear_table(void)
{
	const struct block_class *cls;
	char in[64], out[64];

	EACH_IMPL(cls)
	for (unsigned k = 0; k < 16; k++) {
		char ways[32], mpt_ways[32];

		tb_stall_sets(cls, k % 4, k / 4, in, out);
		snprintf(ways, sizeof(ways), "mtt.ways=%u", 1 + k % 4);
		snprintf(mpt_ways, sizeof(mpt_ways), "mtt.mpt_ways=%u", 4 - k % 4);
		tb_mtt_init(&e, cls,
			    TB_MTT_SETS(in, out, ways, mpt_ways, "mtt.sets=8", "mtt.mpt_sets=4"),
			    k * 5);
		tb_mtt_map_random(&e);
		tb_mtt_send_random(&e, 300);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "requests"), 600);
		CU_ASSERT(tb_stat(&e.t, "mtt_hits") > 0 && tb_stat(&e.t, "mtt_misses") > 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mpt_misses") + tb_stat(&e.t, "mtt_misses"),
				e.dma.n_reads);
		CU_ASSERT_EQUAL(e.dma.n_outside, 0);
		tb_end(&e.t);
	}
}

static void oracle_wrong_page_in_memory_is_noticed(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	{
		tb_mtt_init(&e, cls, NULL, 3);
		tb_mtt_add(&e, 3, 0x10000, 0x8000);
		e.mem[TB_MTT_KEYS * MPT_SIZE + 2 * MTT_ENTRY + 5] ^= 0x10; /* page 2, bit 20 */
		for (uint32_t p = 0; p < 8; p++)
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 3, p << 12));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 1);
		tb_end(&e.t);
	}
}

static void refused_request_tells_why(void)
{
	static const struct {
		struct xlate_req change; /* pd, access, key: XORed; va: added; len: set */
		enum xlate_status status;
	} cases[] = {
		{ { .len = 0x3000 }, XLATE_OK },
		{ { .len = 0x3001 }, XLATE_OUT_OF_RANGE },
		{ { .len = 1, .va = 0x2fff }, XLATE_OK },
		{ { .len = 2, .va = 0x2fff }, XLATE_OUT_OF_RANGE },
		{ { .len = 1, .va = 0x3000 }, XLATE_OUT_OF_RANGE },
		{ { .len = 1, .va = 0 - 1ull }, XLATE_OUT_OF_RANGE },
		{ { .len = 0x80000000, .va = 0 - 0x7ffff000ull }, XLATE_OUT_OF_RANGE },
		{ { .len = 0, .va = 0x123456789 }, XLATE_OK },
		{ { .len = 1, .key = 1 }, XLATE_BAD_KEY },
		{ { .len = 1, .key = 1u << 31 }, XLATE_BAD_KEY },
		{ { .len = 1, .key = TB_MTT_KEYS << 8 }, XLATE_BAD_KEY },
		{ { .len = 1, .pd = 1 }, XLATE_BAD_PD },
		{ { .len = 1, .access = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_READ }, XLATE_OK },
		{ { .len = 1, .access = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE },
		  XLATE_NO_ACCESS },
		{ { .len = 1, .key = 1, .pd = 1, .access = 2 }, XLATE_BAD_KEY },
		{ { .len = 0, .pd = 1, .access = 2 }, XLATE_BAD_PD },
		{ { .len = 0x4000, .access = 2 }, XLATE_NO_ACCESS },
	};
	const struct block_class *cls;

	EACH_IMPL(cls)
	{
		tb_mtt_init(&e, cls, NULL, 0);
		tb_mtt_add(&e, 2, 0xffffffffffffd000ull,
			   0x3000); /* ends at the top of the address space */
		for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
			struct xlate_req r = tb_mtt_request(&e, 2, cases[i].change.va);

			r.len = cases[i].change.len;
			r.key ^= cases[i].change.key;
			r.pd ^= cases[i].change.pd;
			r.access ^= cases[i].change.access;
			CU_ASSERT_EQUAL(tb_mtt_oracle(&e, &r).status, cases[i].status);
			tb_mtt_send(&e, 1, 0, r);
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 13);
		tb_end(&e.t);
	}
}

static void entry_not_valid_is_not_cached(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	for (unsigned k = 0; k < 5; k++) {
		tb_mtt_init(&e, cls, NULL, 0);
		tb_mtt_add(&e, 1, 0x1000, 0x2000);
		e.region[1].is_valid = k != 0;
		tb_mtt_write(&e, 1);
		if (k == 1)
			e.mem[MPT_SIZE + MPT_LOG_PAGE] = 11;
		if (k == 2)
			e.mem[MPT_SIZE + MPT_LOG_PAGE] = 32;
		if (k == 3)
			e.mem[MPT_SIZE + MPT_LEN + 1] = 8; /* 2^51 */
		if (k == 4)
			e.dma.fail_at = TB_MTT_BASE + MPT_SIZE;
		e.region[1].is_valid = false;
		for (unsigned i = 0; i < 3; i++)
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 1, 0));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mpt_misses"), 3);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mpt_hits"), 0);
		tb_end(&e.t);
	}
}

/* Most recent first. */
struct lru {
	uint64_t tag[4];
	unsigned n;
};

/* Use 'tag' in a list of 'ways'; true when it was there. */
static bool lru_use(struct lru *l, unsigned ways, uint64_t tag)
{
	unsigned i;
	bool was_there;

	for (i = 0; i < l->n && l->tag[i] != tag; i++)
		;
	was_there = i < l->n;
	if (!was_there) {
		if (l->n < ways)
			l->n++;
		i = l->n - 1;
	}
	memmove(l->tag + 1, l->tag, i * sizeof(*l->tag));
	l->tag[0] = tag;
	return was_there;
}

/* Random pages of a few keys; hits counted by lists of 'list_ways' against the block's own. */
static bool caches_agree_with_lists(const struct block_class *cls, unsigned ways,
				    unsigned list_ways)
{
	static struct lru mpt[2], mtt[4];
	uint64_t mpt_hits = 0, mtt_hits = 0;
	char set[2][32];
	bool is_equal;

	memset(mpt, 0, sizeof(mpt));
	memset(mtt, 0, sizeof(mtt));
	snprintf(set[0], sizeof(set[0]), "mtt.ways=%u", ways);
	snprintf(set[1], sizeof(set[1]), "mtt.mpt_ways=%u", ways);
	tb_mtt_init(&e, cls, TB_MTT_SETS(set[0], set[1], "mtt.mpt_sets=2", "mtt.sets=4"), 9);
	for (uint32_t i = 0; i < 10; i++)
		tb_mtt_add(&e, i, (uint64_t)i << 32, 3 * PAGE_4K);
	for (unsigned k = 0; k < 1500; k++) {
		uint32_t i = (uint32_t)rng_below(&e.rng, 10), page = (uint32_t)rng_below(&e.rng, 3);

		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, i, page * PAGE_4K));
		mpt_hits += lru_use(&mpt[i % 2], list_ways, i);
		mtt_hits += lru_use(&mtt[(e.region[i].first + page) % 4], list_ways, i * 3 + page);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	is_equal = tb_stat(&e.t, "mpt_hits") == mpt_hits && tb_stat(&e.t, "mtt_hits") == mtt_hits &&
		   tb_stat(&e.t, "mpt_misses") == 1500 - mpt_hits &&
		   tb_stat(&e.t, "mtt_misses") == 1500 - mtt_hits;
	tb_end(&e.t);
	return is_equal;
}

static void caches_replace_as_exact_lru_lists_do(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	{
		for (unsigned ways = 1; ways <= 4; ways++)
			CU_ASSERT(caches_agree_with_lists(cls, ways, ways));
		CU_ASSERT_FALSE(caches_agree_with_lists(cls, 4, 3)); /* the lists would notice */
	}
}

static void invalidated_key_is_read_again(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	for (unsigned is_evicted = 0; is_evicted < 2; is_evicted++) {
		/* one MPT entry: key 5 evicts key 4, then all sets are walked */
		tb_mtt_init(&e, cls,
			    TB_MTT_SETS("mtt.sets=64",
					is_evicted ? "mtt.mpt_sets=1" : "mtt.mpt_sets=8",
					"mtt.mpt_ways=1"),
			    0);
		tb_mtt_add(&e, 4, 0x100000, 0x3000);
		tb_mtt_add(&e, 5, 0x200000, 0x3000);
		for (uint32_t p = 0; p < 3; p++) {
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 4, p << 12));
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 5, p << 12));
		}
		tb_run(&e.t);
		tb_mtt_add(&e, 4, 0x100000, 0x3000); /* other pages: other MTT entries */
		tb_send(e.inv, &(struct mpt_cmd){ .key = 4 << 8 });
		tb_run_for(&e.t, 200);
		for (uint32_t p = 0; p < 3; p++)
			tb_mtt_send(&e, 1, 0, tb_mtt_request(&e, 4, p << 12));
		for (uint32_t p = 0; p < 3; p++)
			tb_mtt_send(&e, 1, 0, tb_mtt_request(&e, 5, p << 12));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "invalidations"), 1);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_misses"), 9); /* key 5 is still cached */
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_hits"), 3);
		tb_end(&e.t);
	}
}

static void same_table_new_pages_need_an_invalidation(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	for (unsigned is_told = 0; is_told < 2; is_told++) {
		tb_mtt_init(&e, cls, NULL, 0);
		tb_mtt_add(&e, 4, 0x100000, 0x3000);
		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 4, 0x2000));
		tb_run(&e.t);
		e.page_pa[2] ^= 0x7000;
		tb_mtt_write(&e, 4);
		if (is_told)
			tb_send(e.inv, &(struct mpt_cmd){ .key = e.region[4].key });
		tb_run_for(&e.t, 100);
		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 4, 0x2000));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), is_told ? 0 : 1);
		tb_end(&e.t);
	}
}

static void hits_are_answered_one_in_three_cycles(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	{
		tb_mtt_init(&e, cls, NULL, 0);
		tb_mtt_add(&e, 0, 0, 0x1000);
		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 0));
		for (unsigned i = 0; i < 20; i++)
			tb_mtt_send(&e, i % 2, 1000, tb_mtt_request(&e, 0, i));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		/* pushed at 1000, taken at 1001, answered 2 later, seen 1 later */
		CU_ASSERT_EQUAL(e.rsp[1]->cycle[0], 1004);
		for (unsigned i = 1; i < 10; i++)
			CU_ASSERT_EQUAL(e.rsp[1]->cycle[i] - e.rsp[1]->cycle[i - 1], 6);
		CU_ASSERT_EQUAL(e.rsp[0]->cycle[10], 1004 + 57);
		tb_end(&e.t);
	}
}

/* Neither pushes nor pops: what a client does that waits for something else. */
static uint64_t asleep(struct block *b)
{
	(void)b;
	return CYCLE_NEVER;
}

static void client_that_takes_no_answers_does_not_hold_up_the_other(void)
{
	const struct block_class *cls;

	EACH_IMPL(cls)
	{
		tb_mtt_init(&e, cls, NULL, 0);
		tb_mtt_add(&e, 0, 0, 0x1000);
		for (unsigned i = 0; i < 40; i++) {
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, i));
			tb_mtt_send(&e, 1, 0, tb_mtt_request(&e, 0, i));
		}
		e.rsp[0]->b.step = asleep;
		tb_run_for(&e.t, 1000);
		CU_ASSERT_EQUAL(e.rsp[1]->n_received, 40);
		CU_ASSERT_EQUAL(e.rsp[0]->n_received, 0);
		e.rsp[0]->b.step = e.rsp[0]->b.cls->step;
		block_wake(&e.rsp[0]->b, 2000);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		tb_end(&e.t);
	}
}

CU_TestInfo test_mtt_tests[] = {
	{ "mtt_random_requests_match_a_linear_table", mtt_random_requests_match_a_linear_table },
	{ "oracle_wrong_page_in_memory_is_noticed", oracle_wrong_page_in_memory_is_noticed },
	{ "refused_request_tells_why", refused_request_tells_why },
	{ "entry_not_valid_is_not_cached", entry_not_valid_is_not_cached },
	{ "caches_replace_as_exact_lru_lists_do", caches_replace_as_exact_lru_lists_do },
	{ "invalidated_key_is_read_again", invalidated_key_is_read_again },
	{ "same_table_new_pages_need_an_invalidation", same_table_new_pages_need_an_invalidation },
	{ "hits_are_answered_one_in_three_cycles", hits_are_answered_one_in_three_cycles },
	{ "client_that_takes_no_answers_does_not_hold_up_the_other",
	  client_that_takes_no_answers_does_not_hold_up_the_other },
	CU_TEST_INFO_NULL
};
