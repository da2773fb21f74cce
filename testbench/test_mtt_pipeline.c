/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mtt_pipeline.c - address translation with many look-ups under way, which the Verilog does not have
 */
#include <stdio.h>
#include <string.h>

#include "models/mtt.h"
#include "testbench/tb_mtt.h"

extern const struct block_class mtt_class;

static struct tb_mtt e;

static const char *const shapes[][8] = {
	{ "mtt.window=16", "mtt.max_misses=4", "mtt.sets=8", "mtt.mpt_sets=4", NULL },
	{ "mtt.window=2", "mtt.max_misses=2", "mtt.line=64", "mtt.sets=2", "mtt.mpt_sets=2", NULL },
	{ "mtt.window=64", "mtt.max_misses=1", "mtt.line=16", "mtt.sets=4", "mtt.mpt_ways=1",
	  "mtt.mpt_sets=2", "mtt.issue_cyc=3", NULL },
	{ "mtt.window=256", "mtt.max_misses=64", "mtt.line=32", "mtt.sets=1", "mtt.ways=40",
	  "mtt.mpt_sets=1", "mtt.mpt_ways=12", NULL },
	{ "mtt.window=32", "mtt.max_misses=8", "mtt.policy=plru", "mtt.ways=8", "mtt.sets=2",
	  "mtt.mpt_policy=random", "mtt.mpt_sets=4", NULL },
	{ "mtt.levels=4", "mtt.walk_entries=1", "mtt.window=16", "mtt.max_misses=4", "mtt.sets=8",
	  "mtt.line=64", NULL },
	{ "mtt.levels=2", "mtt.walk_entries=4", "mtt.sets=2", NULL },
	{ "mtt.window=1", "mtt.max_misses=8", "mtt.policy=random", "mtt.line=64", "mtt.sets=4",
	  NULL },
};

static void pipeline_answers_as_the_linear_table_does(void)
{
	char in[64], out[64];

	for (unsigned k = 0; k < 16 * ARRAY_LEN(shapes); k++) {
		const char *const *shape = shapes[k / 16];
		const char *sets[ARRAY_LEN(shapes[0]) + 2] = { in, out };

		tb_stall_sets(&mtt_class, k % 4, k / 4 % 4, in, out);
		memcpy(sets + 2, shape, sizeof(shapes[0]));
		tb_mtt_init(&e, &mtt_class, sets, k % 16 * 5);
		tb_mtt_map_random(&e);
		tb_mtt_send_random(&e, 300);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "requests"), 600);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mpt_misses") + tb_stat(&e.t, "mtt_misses") +
					tb_stat(&e.t, "walk_reads"),
				e.dma.n_reads);
		CU_ASSERT_EQUAL(e.dma.n_outside, 0);
		tb_end(&e.t);
	}
}

/* Pages 0 to 511 of a region share the entries above theirs, which are read once, top first. */
static void walk_reads_each_level_that_is_not_cached(void)
{
	const struct dma_req *r;

	for (unsigned is_wrong = 0; is_wrong < 2; is_wrong++) {
		tb_mtt_init(&e, &mtt_class, TB_MTT_SETS("mtt.levels=4", "mtt.walk_entries=3"), 0);
		tb_mtt_add(&e, 0, 0, 1024 * PAGE_4K);
		if (is_wrong) /* the table of level 1 is said to be elsewhere */
			e.mem[TB_MTT_TABLES + PAGE_4K + 6] ^= 0x10;
		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 0));
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), is_wrong);
		if (!is_wrong) {
			CU_ASSERT_EQUAL(tb_stat(&e.t, "walk_reads"), 3);
			for (uint32_t level = 3; level > 0; level--) {
				r = tb_got(e.fill, 4 - level);
				CU_ASSERT_EQUAL(r->addr,
						mtt_walk_pa(&e.nic, level,
							    TB_MTT_BASE + TB_MTT_KEYS * MPT_SIZE));
				CU_ASSERT(r->len == MTT_ENTRY && r->cls == DMA_MTT);
			}
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 1 << 12)); /* beside it */
			tb_run(&e.t);
			CU_ASSERT_EQUAL(tb_stat(&e.t, "walk_reads"), 3);
			tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 600 << 12)); /* another table */
			tb_run(&e.t);
			CU_ASSERT_EQUAL(tb_stat(&e.t, "walk_reads"), 4);
			CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_misses"), 3);
			CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		}
		tb_end(&e.t);
	}
}

/* Requests for random pages of the first 'n_keys' keys but one. */
static void send_pages(uint32_t n_keys, uint32_t but)
{
	for (unsigned n = 0; n < 12; n++) {
		uint32_t i = (uint32_t)rng_below(&e.rng, n_keys);

		if (i != but)
			tb_mtt_send(&e, n & 1, 0,
				    tb_mtt_request(&e, i, rng_below(&e.rng, 16) << 12));
	}
}

static void keys_forgotten_under_way_are_never_stale(void)
{
	for (unsigned k = 0; k < 8; k++) {
		tb_mtt_init(&e, &mtt_class, shapes[k % 4], k * 9);
		for (uint32_t i = 0; i < 8; i++)
			tb_mtt_add(&e, i, (uint64_t)i << 32, 16 * PAGE_4K);
		for (unsigned round = 0; round < 30; round++) {
			uint32_t i = (uint32_t)rng_below(&e.rng, 8);

			send_pages(8, TB_MTT_KEYS);
			tb_run(&e.t);
			send_pages(8, i); /* under way when key i is forgotten */
			tb_run_for(&e.t, rng_below(&e.rng, 40));
			for (uint32_t p = 0; p < 16; p++)
				e.page_pa[e.region[i].first + p] ^= 0x1000ull << p % 8;
			tb_mtt_write(&e, i);
			tb_send(e.inv, &(struct mpt_cmd){ .key = e.region[i].key });
			tb_run_for(&e.t, 3); /* it is seen before what is sent now */
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "invalidations"), 30);
		tb_end(&e.t);
	}
}

static void hits_in_the_pipeline_are_answered_one_a_cycle(void)
{
	tb_mtt_init(&e, &mtt_class, TB_MTT_SETS("mtt.window=16"), 0);
	tb_mtt_add(&e, 0, 0, 0x1000);
	tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 0));
	for (unsigned i = 0; i < 40; i++)
		tb_mtt_send(&e, 0, 1000, tb_mtt_request(&e, 0, i));
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	CU_ASSERT_EQUAL(e.rsp[0]->cycle[1], 1004);
	for (unsigned i = 1; i < 40; i++)
		CU_ASSERT_EQUAL(e.rsp[0]->cycle[1 + i], 1004 + i);
	tb_end(&e.t);
}

/* Hits of either client are answered while client 0 waits for its reads. */
static void hits_pass_misses(void)
{
	uint64_t from;

	tb_mtt_init(&e, &mtt_class, TB_MTT_SETS("mtt.window=16", "mtt.max_misses=4"), 0);
	tb_mtt_add(&e, 0, 0, 0x10000);
	tb_mtt_add(&e, 1, 0x100000, 0x10000);
	tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, 0));
	tb_run(&e.t);
	from = 1000;
	for (unsigned i = 0; i < 3; i++)
		tb_mtt_send(&e, 0, from, tb_mtt_request(&e, 1, i << 12));
	tb_mtt_send(&e, 0, from, tb_mtt_request(&e, 0, 0));
	tb_mtt_send(&e, 1, from + 4, tb_mtt_request(&e, 0, 1));
	e.dma.max_delay = 200;
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	CU_ASSERT_EQUAL(((const struct xlate_rsp *)tb_got(e.rsp[0], 1))->tag, 4);
	CU_ASSERT(e.rsp[1]->cycle[0] < e.rsp[0]->cycle[2]);
	CU_ASSERT(e.rsp[0]->cycle[1] + 20 < e.rsp[0]->cycle[2]);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "mpt_misses"), 2);
	CU_ASSERT(tb_stat(&e.t, "merges") >= 2); /* of key 1 */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_misses"), 4);
	tb_end(&e.t);
}

static void line_of_eight_entries_is_one_read(void)
{
	const struct dma_req *r;

	tb_mtt_init(&e, &mtt_class, TB_MTT_SETS("mtt.line=64"), 0);
	tb_mtt_add(&e, 0, 0, 64 * PAGE_4K);
	for (uint32_t p = 0; p < 64; p++)
		tb_mtt_send(&e, 0, 0, tb_mtt_request(&e, 0, p << 12));
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_misses"), 8);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "mtt_hits"), 56);
	r = tb_got(e.fill, 1);
	CU_ASSERT(r->len == 64 && r->addr % 64 == 0 && r->cls == DMA_MTT);
	tb_end(&e.t);
}

static void pipeline_step_order_and_sleeping_are_not_seen(void)
{
	static uint64_t cycle[2][300];
	uint64_t stall_ps = 0;

	for (unsigned k = 0; k < 3 * TB_MANNERS; k++) {
		unsigned how = k % TB_MANNERS;
		const char *sets[ARRAY_LEN(shapes[0]) + 1] = { "mtt.stall_out=random" };

		memcpy(sets + 1, shapes[k / TB_MANNERS], sizeof(shapes[0]));
		tb_mtt_init(&e, &mtt_class, sets, 30);
		tb_mtt_map_random(&e);
		tb_behave(&e.t, how);
		for (unsigned i = 0; i < 300; i++)
			for (unsigned c = 0; c < 2; c++)
				tb_mtt_send(&e, c, i * 7, tb_mtt_random(&e, TB_MTT_KEYS));
		for (unsigned i = 0; i < 20; i++)
			tb_send_at(e.inv, i * 100, &(struct mpt_cmd){ .key = i % 8 << 8 });
		tb_run_for(&e.t, 60000);
		CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
		for (unsigned c = 0; c < 2; c++) {
			if (how == 0)
				memcpy(cycle[c], e.rsp[c]->cycle, sizeof(cycle[c]));
			CU_ASSERT_EQUAL(memcmp(cycle[c], e.rsp[c]->cycle, sizeof(cycle[c])), 0);
		}
		if (how == 0)
			stall_ps = e.fill->chan->stall_ps + e.rsp[0]->chan->stall_ps;
		CU_ASSERT_EQUAL(e.fill->chan->stall_ps + e.rsp[0]->chan->stall_ps, stall_ps);
		tb_end(&e.t);
	}
}

CU_TestInfo test_mtt_pipeline_tests[] = {
	{ "pipeline_answers_as_the_linear_table_does", pipeline_answers_as_the_linear_table_does },
	{ "walk_reads_each_level_that_is_not_cached", walk_reads_each_level_that_is_not_cached },
	{ "keys_forgotten_under_way_are_never_stale", keys_forgotten_under_way_are_never_stale },
	{ "hits_in_the_pipeline_are_answered_one_a_cycle",
	  hits_in_the_pipeline_are_answered_one_a_cycle },
	{ "hits_pass_misses", hits_pass_misses },
	{ "line_of_eight_entries_is_one_read", line_of_eight_entries_is_one_read },
	{ "pipeline_step_order_and_sleeping_are_not_seen",
	  pipeline_step_order_and_sleeping_are_not_seen },
	CU_TEST_INFO_NULL
};
