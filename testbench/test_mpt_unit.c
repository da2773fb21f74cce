/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mpt_unit.c - windows bound and invalidated in a table in memory, against the table as it must be
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "models/nic.h"
#include "testbench/tb_dma.h"

extern const struct block_class mpt_unit_class;

#define ENTRIES 8u
#define MPT_PA 0x10000ull
#define PD 3u
#define REGION 4u /* index of the region's key */
#define WINDOW 5u
#define START 0x10000000ull
#define LEN 0x10000ull
#define MTT_PA 0x8000ull

struct bench {
	struct nic nic;
	struct tb t;
	struct tb_port *op, *cmd, *rsp, *inv;
	struct tb_dma dma;
	uint8_t table[ENTRIES][MPT_SIZE];
};

static void put_entry(uint8_t *e, uint8_t flags, uint8_t access, uint8_t key8)
{
	e[MPT_FLAGS] = flags;
	e[MPT_ACCESS] = access;
	e[MPT_KEY8] = key8;
	e[MPT_LOG_PAGE] = 12;
	hdr_put(e, 8 * MPT_PD, 16, PD);
	hdr_put(e, 8 * MPT_START, 64, START);
	hdr_put(e, 8 * MPT_LEN, 64, LEN);
	hdr_put(e, 8 * MPT_MTT, 64, MTT_PA);
}

static void bench_start(struct bench *b, const char *const *sets)
{
	memset(b, 0, sizeof(*b));
	b->nic = (struct nic){ .mpt_pa = MPT_PA, .mpt_entries = ENTRIES };
	put_entry(b->table[REGION], MPT_VALID, ACCESS_LOCAL_WRITE | ACCESS_MW_BIND, 0x44);
	put_entry(b->table[WINDOW], MPT_WINDOW, 0, 0x50);
	tb_init(&b->t, &mpt_unit_class, &b->nic, sets);
	b->op = tb_source(&b->t, "op0");
	tb_source(&b->t, "op1");
	b->cmd = tb_source(&b->t, "cmd");
	b->rsp = tb_sink(&b->t, "rsp0");
	tb_sink(&b->t, "rsp1");
	b->inv = tb_sink(&b->t, "inv");
	b->dma = (struct tb_dma){ .rsp = tb_source(&b->t, "dma_rsp"),
				  .mem = b->table[0],
				  .base = MPT_PA,
				  .size = sizeof(b->table),
				  .max_delay = 9 };
	rng_seed(&b->dma.rng, "mpt_unit", 1);
	tb_sink_react(&b->t, "dma_req", tb_dma_react, &b->dma);
	tb_start(&b->t);
}

static const struct mpt_op good_bind = { .va = START + 0x1234,
					 .len = 0x100,
					 .key = WINDOW << 8 | 0x51,
					 .lkey = REGION << 8 | 0x44,
					 .tag = 7,
					 .pd = PD,
					 .access = ACCESS_REMOTE_WRITE,
					 .is_bind = 1 };

/* Run one operation: its status. */
static uint8_t run_op(struct bench *b, const struct mpt_op *op)
{
	uint32_t n = b->rsp->n_received;
	const struct mpt_rsp *r;

	tb_send(b->op, op);
	tb_run_for(&b->t, 200);
	CU_ASSERT_EQUAL_FATAL(b->rsp->n_received, n + 1);
	r = tb_got(b->rsp, n);
	CU_ASSERT_EQUAL(r->tag, op->tag);
	return r->status;
}

static void window_bound_and_invalidated_has_its_entry(void)
{
	struct mpt_op inv = { .key = WINDOW << 8 | 0x51, .tag = 9, .pd = PD };
	const uint8_t *e;
	struct bench b;

	bench_start(&b, NULL);
	CU_ASSERT_EQUAL(run_op(&b, &good_bind), XLATE_OK);
	e = b.table[WINDOW];
	CU_ASSERT_EQUAL(e[MPT_FLAGS], MPT_VALID | MPT_WINDOW);
	CU_ASSERT_EQUAL(e[MPT_ACCESS], ACCESS_REMOTE_WRITE);
	CU_ASSERT_EQUAL(e[MPT_KEY8], 0x51);
	CU_ASSERT_EQUAL(hdr_get(e, 8 * MPT_START, 64), START + 0x1234);
	CU_ASSERT_EQUAL(hdr_get(e, 8 * MPT_LEN, 64), 0x100);
	CU_ASSERT_EQUAL(hdr_get(e, 8 * MPT_MTT, 64), MTT_PA + MTT_ENTRY); /* its second page */
	CU_ASSERT_EQUAL(hdr_get(e, 8 * MPT_LKEY, 32), REGION << 8 | 0x44);
	CU_ASSERT_EQUAL(b.inv->n_received, 0);
	CU_ASSERT_EQUAL(run_op(&b, &inv), XLATE_OK);
	CU_ASSERT_EQUAL(e[MPT_FLAGS], MPT_WINDOW);
	CU_ASSERT_EQUAL_FATAL(b.inv->n_received, 1);
	CU_ASSERT_EQUAL(((const struct mpt_cmd *)tb_got(b.inv, 0))->key, inv.key);
	CU_ASSERT_EQUAL(run_op(&b, &inv), XLATE_BAD_KEY); /* not bound any more */
	tb_end(&b.t);
}

static void operation_that_a_check_refuses_changes_nothing(void)
{
	static const struct {
		struct mpt_op op;
		uint8_t want;
	} cases[] = {
		{ { .key = WINDOW << 8 | 0x50, .pd = PD }, XLATE_BAD_KEY }, /* not bound */
		{ { .key = REGION << 8 | 0x44, .pd = PD }, XLATE_BAD_KEY }, /* no window */
		{ { .key = ENTRIES << 8, .pd = PD }, XLATE_BAD_KEY },
		{ { .va = START,
		    .len = 1,
		    .key = WINDOW << 8,
		    .lkey = REGION << 8 | 0x44,
		    .pd = 4,
		    .is_bind = 1 },
		  XLATE_BAD_PD },
		{ { .va = START,
		    .len = 1,
		    .key = WINDOW << 8,
		    .lkey = REGION << 8 | 0x45,
		    .pd = PD,
		    .is_bind = 1 },
		  XLATE_BAD_KEY },
		{ { .va = START,
		    .len = 1,
		    .key = WINDOW << 8,
		    .lkey = WINDOW << 8 | 0x50,
		    .pd = PD,
		    .is_bind = 1 },
		  XLATE_BAD_KEY },
		{ { .va = START,
		    .len = 1,
		    .key = WINDOW << 8,
		    .lkey = ENTRIES << 8,
		    .pd = PD,
		    .is_bind = 1 },
		  XLATE_BAD_KEY },
		{ { .va = START - 1,
		    .len = 2,
		    .key = WINDOW << 8,
		    .lkey = REGION << 8 | 0x44,
		    .pd = PD,
		    .is_bind = 1 },
		  XLATE_OUT_OF_RANGE },
		{ { .va = START + 1,
		    .len = LEN,
		    .key = WINDOW << 8,
		    .lkey = REGION << 8 | 0x44,
		    .pd = PD,
		    .is_bind = 1 },
		  XLATE_OUT_OF_RANGE },
	};
	uint8_t before[sizeof(((struct bench *)0)->table)];
	struct bench b;

	bench_start(&b, NULL);
	memcpy(before, b.table, sizeof(before));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CU_ASSERT_EQUAL(run_op(&b, &cases[i].op), cases[i].want);
		CU_ASSERT_EQUAL(memcmp(before, b.table, sizeof(before)), 0);
	}
	b.table[REGION][MPT_ACCESS] = ACCESS_LOCAL_WRITE; /* no binds */
	CU_ASSERT_EQUAL(run_op(&b, &good_bind), XLATE_NO_ACCESS);
	b.table[REGION][MPT_ACCESS] = ACCESS_MW_BIND; /* no writes */
	CU_ASSERT_EQUAL(run_op(&b, &good_bind), XLATE_NO_ACCESS);
	b.table[REGION][MPT_ACCESS] |= ACCESS_LOCAL_WRITE;
	CU_ASSERT_EQUAL(run_op(&b, &good_bind), XLATE_OK);
	CU_ASSERT_EQUAL(run_op(&b, &good_bind), XLATE_BAD_KEY); /* bound already */
	CU_ASSERT_EQUAL(tb_stat(&b.t, "refused"), ARRAY_LEN(cases) + 3);
	tb_end(&b.t);
}

static void keys_of_the_cpu_pass_while_an_operation_runs(void)
{
	struct bench b;

	bench_start(&b, NULL);
	tb_send(b.op, &good_bind);
	for (uint32_t k = 0; k < 20; k++)
		tb_send(b.cmd, &(struct mpt_cmd){ .key = k });
	tb_run_for(&b.t, 400);
	CU_ASSERT_EQUAL_FATAL(b.inv->n_received, 20);
	for (uint32_t k = 0; k < 20; k++)
		CU_ASSERT_EQUAL(((const struct mpt_cmd *)tb_got(b.inv, k))->key, k);
	CU_ASSERT_EQUAL(b.rsp->n_received, 1);
	tb_end(&b.t);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_mpt_unit_tests[] = {
	TEST(window_bound_and_invalidated_has_its_entry),
	TEST(operation_that_a_check_refuses_changes_nothing),
	TEST(keys_of_the_cpu_pass_while_an_operation_runs),
	CU_TEST_INFO_NULL,
};
