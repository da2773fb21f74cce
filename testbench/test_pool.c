/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pool.c - buffers: references, back-pressure, and reuse only from a later edge on
 */
#include "testbench/tb.h"

/* Takes as many buffers as it can each cycle and drops those older than 'hold' cycles. */
struct holder {
	struct block b;
	struct pool *pool;
	uint32_t held[8], n_held;
	uint64_t since[8];
	uint64_t taken, reused_same_edge, stalls;
	uint64_t hold, last_drop_ps;
};

static const struct field holder_fields[] = { FIELDS_END };

static void holder_build(struct block *b)
{
	((struct holder *)b)->pool = pool_create(b, 3, 100);
}

static uint64_t holder_step(struct block *b)
{
	struct holder *h = (struct holder *)b;

	if (h->taken == 100)
		return CYCLE_NEVER;
	if (h->n_held && b->cycle >= h->since[0] + h->hold) {
		buf_unref(b, h->held[0]);
		h->last_drop_ps = b->now_ps;
		h->n_held--;
		memmove(h->held, h->held + 1, sizeof(h->held) - sizeof(h->held[0]));
		memmove(h->since, h->since + 1, sizeof(h->since) - sizeof(h->since[0]));
	}
	if (!pool_can_alloc(h->pool)) {
		h->stalls++;
		pool_stall(h->pool);
		return h->n_held ? max_u64(h->since[0] + h->hold, b->cycle + 1) : CYCLE_NEVER;
	}
	h->since[h->n_held] = b->cycle;
	h->held[h->n_held] = pool_alloc(h->pool);
	h->reused_same_edge += h->n_held == 2 && h->last_drop_ps == b->now_ps && h->taken > 3;
	h->n_held++;
	h->taken++;
	return b->cycle + 1;
}

static const struct block_class holder_class = { .name = "holder",
						 .impl = "c",
						 .size = sizeof(struct holder),
						 .fields = holder_fields,
						 .build = holder_build,
						 .step = holder_step };
static const struct block_class *const classes[] = { &holder_class, NULL };

static struct holder *start(struct sim *s, struct config *cfg)
{
	struct err e = { 0 };
	struct holder *h;

	config_init(cfg);
	sim_init(s, 1);
	h = (struct holder *)netlist_add(s, classes, "holder", "h", cfg, 250000000, NULL, &e);
	CU_ASSERT_TRUE_FATAL(netlist_finish(s, &e));
	return h;
}

static void pool_empty_is_back_pressure_and_wakes_its_owner(void)
{
	struct config cfg;
	struct sim s;
	struct holder *h = start(&s, &cfg);

	h->hold = 10;
	CU_ASSERT_EQUAL(sim_run(&s), SIM_END_IDLE);
	CU_ASSERT_EQUAL(h->taken, 100);
	CU_ASSERT_TRUE(h->stalls > 0);
	CU_ASSERT_EQUAL(h->reused_same_edge, 0);
	CU_ASSERT_EQUAL(h->pool->allocs, 100);
	sim_destroy(&s);
	config_destroy(&cfg);
}

static void buf_lives_until_its_last_reference(void)
{
	struct config cfg;
	struct sim s;
	struct holder *h = start(&s, &cfg);
	uint32_t a, b;

	a = pool_alloc(h->pool);
	b = pool_alloc(h->pool);
	CU_ASSERT_NOT_EQUAL(a, b);
	CU_ASSERT_NOT_EQUAL(a, BUF_NONE);
	CU_ASSERT_EQUAL(buf_size(&s, a), 100);
	memset(buf_data(&s, a), 1, 100);
	memset(buf_data(&s, b), 2, 100);
	CU_ASSERT_EQUAL(((unsigned char *)buf_data(&s, a))[99], 1);
	buf_ref(&s, a);
	CU_ASSERT_EQUAL(buf_refs(&s, a), 2);
	buf_unref(&h->b, a);
	CU_ASSERT_EQUAL(h->pool->in_use, 2);
	buf_unref(&h->b, a);
	CU_ASSERT_EQUAL(h->pool->in_use, 1);
	pool_alloc(h->pool);                      /* the third, never used */
	CU_ASSERT_FALSE(pool_can_alloc(h->pool)); /* 'a' came back at this very edge */
	h->b.now_ps++;
	CU_ASSERT_TRUE(pool_can_alloc(h->pool));
	CU_ASSERT_EQUAL(pool_alloc(h->pool), a);
	sim_destroy(&s);
	config_destroy(&cfg);
}

CU_TestInfo test_pool_tests[] = {
	{ "pool_empty_is_back_pressure_and_wakes_its_owner",
	  pool_empty_is_back_pressure_and_wakes_its_owner },
	{ "buf_lives_until_its_last_reference", buf_lives_until_its_last_reference },
	CU_TEST_INFO_NULL,
};
