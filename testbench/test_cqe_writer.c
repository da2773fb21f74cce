/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cqe_writer.c - CQE bytes, owner bits, fairness, and overflow against the doorbell record
 */
#include "models/packet/hdr.h"
#include "testbench/tb_cqe.h"

#define N_CQ TB_CQE_CQS
#define DEPTH 8u
#define CQES 300u

static void cqe_writer_success_has_mlx5_layout(void)
{
	static struct tb_cqe_bench e;
	const struct tb_cqe_seen *s;

	tb_cqe_start(&e, DEPTH, NULL);
	tb_send(e.req, &(struct cqe_req){ .qpi = 0,
					  .cqi = 1,
					  .byte_cnt = 0x01020304,
					  .wqe_counter = 0xabcd,
					  .opcode = CQE_REQ,
					  .wqe_opcode = MLX5_OPCODE_RDMA_READ });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[1], 1);
	s = &e.seen[1][0];
	CU_ASSERT_EQUAL(s->opcode, CQE_REQ);
	CU_ASSERT_EQUAL(s->qpn, 0x40);
	CU_ASSERT_EQUAL(s->wqe_opcode, MLX5_OPCODE_RDMA_READ);
	CU_ASSERT_EQUAL(s->byte_cnt, 0x01020304);
	CU_ASSERT_EQUAL(s->counter, 0xabcd);
	CU_ASSERT_FALSE(s->solicited);
	CU_ASSERT_EQUAL(hdr_get(e.ring[1], 48 * 8, 64), 4); /* timestamp: the cycle */
	tb_cqe_end(&e);
}

static void cqe_writer_receive_carries_immediate_and_se(void)
{
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, DEPTH, NULL);
	tb_send(e.rsp, &(struct cqe_req){ .qpi = 1,
					  .cqi = 0,
					  .byte_cnt = 77,
					  .imm = 0xcafe0001,
					  .wqe_counter = 3,
					  .opcode = CQE_RESP_SEND_IMM,
					  .solicited = 1 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 1);
	CU_ASSERT_EQUAL(e.seen[0][0].opcode, CQE_RESP_SEND_IMM);
	CU_ASSERT_EQUAL(e.seen[0][0].imm, 0xcafe0001);
	CU_ASSERT_EQUAL(e.seen[0][0].qpn, 0x41);
	CU_ASSERT_TRUE(e.seen[0][0].solicited);
	tb_cqe_end(&e);
}

static void cqe_writer_error_carries_syndrome(void)
{
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, DEPTH, NULL);
	tb_send(e.req, &(struct cqe_req){ .qpi = 1,
					  .cqi = 0,
					  .wqe_counter = 9,
					  .opcode = CQE_REQ_ERR,
					  .syndrome = CQE_SYNDROME_RETRY_EXC,
					  .wqe_opcode = MLX5_OPCODE_SEND });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 1);
	CU_ASSERT_EQUAL(e.seen[0][0].opcode, CQE_REQ_ERR);
	CU_ASSERT_EQUAL(e.seen[0][0].syndrome, CQE_SYNDROME_RETRY_EXC);
	CU_ASSERT_EQUAL(e.seen[0][0].counter, 9);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 1);
	tb_cqe_end(&e);
}

static void cqe_writer_requests_and_receives_take_turns(void)
{
	static struct tb_cqe_bench e;
	uint32_t of_req = 0;

	tb_cqe_start(&e, DEPTH, NULL);
	for (uint16_t i = 0; i < 40; i++) {
		tb_send(e.req, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_REQ });
		tb_send(e.rsp, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_RESP_SEND });
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 80);
	for (uint32_t i = 0; i < 40; i++)
		of_req += e.seen[0][i].opcode == CQE_REQ;
	CU_ASSERT(of_req >= 19 && of_req <= 21);
	tb_cqe_end(&e);
}

/* What the CPU saw of a CQ: completions from each port in order, none lost. */
static bool is_in_order(const struct tb_cqe_bench *e, uint32_t cq, uint32_t n)
{
	uint16_t next[2] = { 0 };

	if (e->n_seen[cq] != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		bool is_rsp = e->seen[cq][i].opcode != CQE_REQ;

		if (e->seen[cq][i].counter != next[is_rsp]++)
			return false;
	}
	return true;
}

static void run_random(struct tb_cqe_bench *e, const char *const *sets, uint32_t lag,
		       enum tb_cqe_fault fault, uint32_t n[N_CQ])
{
	struct rng r;
	uint16_t counter[2][N_CQ] = { { 0 } };

	tb_cqe_start(e, DEPTH, sets);
	e->lag = lag;
	e->fault = fault;
	rng_seed(&r, "test_cqe_writer", lag);
	n[0] = n[1] = 0;
	for (uint32_t i = 0; i < CQES; i++) {
		uint32_t cq = (uint32_t)rng_below(&r, N_CQ), is_rsp = (uint32_t)rng_below(&r, 2);

		n[cq]++;
		tb_send(is_rsp ? e->rsp : e->req,
			&(struct cqe_req){ .cqi = cq,
					   .wqe_counter = counter[is_rsp][cq]++,
					   .opcode = is_rsp ? CQE_RESP_SEND : CQE_REQ });
	}
	tb_run(&e->t);
}

static void cqe_writer_random_load_reaches_cpu_in_order(void)
{
	static struct tb_cqe_bench e;
	uint32_t n[N_CQ];

	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++)
			for (uint32_t lag = 1; lag <= DEPTH; lag += 3) {
				char set_in[64], set_out[64];

				tb_stall_sets(&cqe_writer_class, in, out, set_in, set_out);
				run_random(&e, (const char *[]){ set_in, set_out, NULL }, lag,
					   TB_CQE_FAULT_NONE, n);
				CU_ASSERT_TRUE(is_in_order(&e, 0, n[0]));
				CU_ASSERT_TRUE(is_in_order(&e, 1, n[1]));
				CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 0);
				CU_ASSERT_EQUAL(tb_stat(&e.t, "cqes"), CQES);
				CU_ASSERT_EQUAL(tb_stat(&e.t, "cqe_b"), 64 * CQES);
				CU_ASSERT_EQUAL(e.n_written, CQES);
				CU_ASSERT(tb_stat(&e.t, "dbr_reads") >= CQES / DEPTH - N_CQ);
				tb_cqe_end(&e);
			}
}

static void cqe_writer_wrong_owner_bit_is_caught(void)
{
	static struct tb_cqe_bench e;
	uint32_t n[N_CQ];

	run_random(&e, NULL, 1, TB_CQE_FAULT_OWNER_100, n);
	CU_ASSERT_FALSE(is_in_order(&e, 0, n[0]) && is_in_order(&e, 1, n[1]));
	tb_cqe_end(&e);
}

static void cqe_writer_full_cq_loses_cqe_and_recovers(void)
{
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, DEPTH, NULL);
	e.reaps = false;
	for (uint16_t i = 0; i < DEPTH + 3; i++)
		tb_send(e.req, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_REQ });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "cqes"), DEPTH);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_waits"), 3);
	tb_cqe_reap(&e, 0);
	CU_ASSERT_EQUAL(e.n_seen[0], DEPTH);
	tb_send(e.req, &(struct cqe_req){ .wqe_counter = 500, .opcode = CQE_REQ });
	tb_run(&e.t);
	tb_cqe_reap(&e, 0);
	CU_ASSERT_EQUAL(e.n_seen[0], DEPTH + 1);
	CU_ASSERT_EQUAL(e.seen[0][DEPTH].counter, 500);
	tb_cqe_end(&e);
}

/*
 * The record is read ahead of need: no completion waits for it, however small the CQ, while the program
 * takes each at once. It does when the program takes them only when the CQ is full: the record was read before.
 */
static void cqe_writer_program_that_keeps_up_holds_up_no_completion(void)
{
	static struct tb_cqe_bench e;

	for (uint32_t depth = 2; depth <= TB_CQE_MAX_DEPTH; depth *= 2) {
		tb_cqe_start(&e, depth, NULL);
		for (uint16_t i = 0; i < 8 * depth; i++) {
			tb_send(e.req, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_REQ });
			tb_run(&e.t);
		}
		CU_ASSERT_TRUE(is_in_order(&e, 0, 8 * depth));
		CU_ASSERT(tb_stat(&e.t, "dbr_reads") >= 8);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_waits"), 0);
		e.reaps = false;
		for (uint16_t i = 0; i <= depth; i++) {
			tb_send(e.req, &(struct cqe_req){ .wqe_counter = (uint16_t)(8 * depth + i),
							  .opcode = CQE_REQ });
			tb_run(&e.t);
			if (i == depth - 1)
				tb_cqe_reap(&e, 0);
		}
		tb_cqe_reap(&e, 0);
		CU_ASSERT_TRUE(is_in_order(&e, 0, 9 * depth + 1));
		CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_waits"), 1);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 0);
		tb_cqe_end(&e);
	}
}

/* ---- several CQs ---- */

static void send_to(struct tb_cqe_bench *e, uint32_t cqi, uint16_t counter)
{
	tb_send(e->req, &(struct cqe_req){ .cqi = cqi, .wqe_counter = counter, .opcode = CQE_REQ });
}

/*
 * CQ 0 is full and its doorbell record does not come: CQ 1, which is full from time to time too, goes
 * on; then CQ 0 does, in order. Returns completions that CQ 1 had meanwhile.
 */
static uint32_t seen_past_a_held_record(struct tb_cqe_bench *e, uint32_t n_behind,
					const char *const *sets)
{
	uint32_t n;

	tb_cqe_start(e, DEPTH, sets);
	e->holds[0] = true;
	for (uint32_t i = 0; i < DEPTH + n_behind; i++)
		send_to(e, 0, (uint16_t)i);
	for (uint16_t i = 0; i < 40; i++)
		send_to(e, 1, i);
	tb_run_for(&e->t, 2000);
	CU_ASSERT_EQUAL(e->n_seen[0], DEPTH);
	CU_ASSERT_EQUAL(e->n_asked[0], 1);
	n = e->n_seen[1];
	tb_cqe_release(e, 0);
	tb_run(&e->t);
	CU_ASSERT_TRUE(is_in_order(e, 0, DEPTH + n_behind));
	CU_ASSERT_TRUE(is_in_order(e, 1, 40));
	CU_ASSERT_EQUAL(tb_stat(&e->t, "overflows"), 0);
	tb_cqe_end(e);
	return n;
}

static void cqe_writer_cq_that_waits_for_its_record_holds_up_no_other(void)
{
	static const char *const one[] = { "cqe_writer.records=1", NULL };
	static struct tb_cqe_bench e;

	for (uint32_t n_behind = 1; n_behind < 16; n_behind += 2)
		CU_ASSERT_EQUAL(seen_past_a_held_record(&e, n_behind, NULL), 40);
	CU_ASSERT_EQUAL(seen_past_a_held_record(&e, 16, NULL), 0);   /* no place to go past */
	CU_ASSERT_EQUAL(seen_past_a_held_record(&e, 3, one), DEPTH); /* nor a second read */
}

static void cqe_writer_blocked_completions_are_lost_one_by_one(void)
{
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, DEPTH, NULL);
	e.reaps = false;
	e.holds[0] = true;
	for (uint16_t i = 0; i < DEPTH + 4; i++)
		send_to(&e, 0, i);
	tb_run_for(&e.t, 500);
	tb_cqe_reap(&e, 0); /* DEPTH completions: room again */
	send_to(&e, 1, 0);
	tb_cqe_release(&e, 0);
	tb_run(&e.t);
	tb_cqe_reap(&e, 0);
	CU_ASSERT_TRUE(is_in_order(&e, 0, DEPTH + 4));
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 0);
	for (uint16_t i = 0; i < DEPTH + 4; i++) /* 4 entries are known to be free, and 4 are */
		send_to(&e, 0, (uint16_t)(DEPTH + 4 + i));
	tb_run(&e.t);
	tb_cqe_reap(&e, 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 4);
	CU_ASSERT_TRUE(is_in_order(&e, 0, 2 * DEPTH + 4));
	tb_cqe_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_cqe_writer_tests[] = {
	TEST(cqe_writer_success_has_mlx5_layout),
	TEST(cqe_writer_receive_carries_immediate_and_se),
	TEST(cqe_writer_error_carries_syndrome),
	TEST(cqe_writer_requests_and_receives_take_turns),
	TEST(cqe_writer_random_load_reaches_cpu_in_order),
	TEST(cqe_writer_wrong_owner_bit_is_caught),
	TEST(cqe_writer_full_cq_loses_cqe_and_recovers),
	TEST(cqe_writer_program_that_keeps_up_holds_up_no_completion),
	TEST(cqe_writer_cq_that_waits_for_its_record_holds_up_no_other),
	TEST(cqe_writer_blocked_completions_are_lost_one_by_one),
	CU_TEST_INFO_NULL
};
