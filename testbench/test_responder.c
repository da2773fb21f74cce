/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder.c - each rule of the responder by a sequence made by hand
 */
#include <string.h>

#include "testbench/tb_responder.h"

#define ACK_31 (AETH_ACK | AETH_NO_CREDITS)

static struct tb_responder s;

static void start(const char *set)
{
	tbs_init(&s);
	tbs_start(&s, (const char *const[]){ "responder.credits=off", set, NULL });
}

/* A packet of QP 0 that asks for an ACK. */
static void send_pkt(uint8_t operation, uint32_t psn, uint32_t len)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.len = len,
					.ack_req = true,
					.seed = (uint8_t)psn,
					.va = TBS_BASE,
					.rkey = TBS_RKEY,
					.dma_len = len,
					.imm = 0xcafe,
					.solicited = true });
}

static void send_reth(uint8_t operation, uint32_t psn, uint32_t len, uint32_t off, uint32_t dma_len)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.len = len,
					.ack_req = true,
					.seed = (uint8_t)psn,
					.va = TBS_BASE + off,
					.rkey = TBS_RKEY,
					.dma_len = dma_len });
}

static void send_atomic(uint8_t operation, uint32_t psn, uint32_t off, uint64_t swap_add,
			uint64_t compare)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.ack_req = true,
					.va = TBS_BASE + off,
					.rkey = TBS_RKEY,
					.swap_add = swap_add,
					.compare = compare });
}

static void expect_ack(uint32_t i, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	CU_ASSERT_FATAL(i < s.n_acks);
	CU_ASSERT_EQUAL(s.acks[i].psn, psn);
	CU_ASSERT_EQUAL(s.acks[i].syndrome, syndrome);
	CU_ASSERT_EQUAL(s.acks[i].msn, msn);
}

static void expect_cqe(uint32_t i, uint16_t index, uint8_t opcode, uint32_t bytes, uint8_t syndrome)
{
	const struct cqe_req *c = tbs_cqe(&s, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->opcode, opcode);
	CU_ASSERT_EQUAL(c->syndrome, syndrome);
	CU_ASSERT_EQUAL(c->cqi, 7 + c->qpi);
	if (opcode != CQE_RESP_ERR)
		CU_ASSERT_EQUAL(c->byte_cnt, bytes);
}

/* Bytes of memory from 'off' on that are not what a packet of that seed carries. */
static uint32_t differs(uint32_t off, uint32_t len, uint32_t seed)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i++)
		n += s.mem[off + i] != (uint8_t)(seed + i);
	return n;
}

static void responder_send_fills_receive(void)
{
	start(NULL);
	tbs_recv(&s, 0, 1000, 700, 3);
	tbs_recv(&s, 0, 3000, 0, 0);
	send_pkt(IB_SEND_FIRST, 200, TBS_MTU);
	send_pkt(IB_SEND_MIDDLE, 201, TBS_MTU);
	send_pkt(IB_SEND_LAST_IMM, 202, 77);
	send_pkt(IB_SEND_ONLY, 203, 0);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(differs(1000, TBS_MTU, 200) + differs(1256, TBS_MTU, 201) +
				differs(1512, 77, 202),
			0);
	CU_ASSERT_EQUAL(s.mem[999] | s.mem[1589], 0);
	expect_cqe(0, 0, CQE_RESP_SEND_IMM, 589, 0);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->imm, 0xcafe);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->solicited, 1);
	expect_cqe(1, 1, CQE_RESP_SEND, 0, 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, 203);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].msn, 2);
	tbs_end(&s);
}

static void responder_write_with_imm_takes_receive_at_the_end(void)
{
	start(NULL);
	tbs_recv(&s, 0, 0, 0, 0);
	send_reth(IB_WRITE_FIRST, 200, TBS_MTU, 500, 2 * TBS_MTU + 3);
	send_pkt(IB_WRITE_MIDDLE, 201, TBS_MTU);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.rq_req->n_received, 0);
	send_pkt(IB_WRITE_LAST_IMM, 202, 3);
	send_reth(IB_WRITE_ONLY, 203, 5, 2000, 5);
	send_reth(IB_WRITE_ONLY, 204, 0, 1 << 30, 0); /* zero length: neither key nor range count */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(
		differs(500, TBS_MTU, 200) + differs(756, TBS_MTU, 201) + differs(1012, 3, 202), 0);
	CU_ASSERT_EQUAL(differs(2000, 5, 203), 0);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	expect_cqe(0, 0, CQE_RESP_WR_IMM, 2 * TBS_MTU + 3, 0);
	expect_ack(s.n_acks - 1, 204, ACK_31, 3);
	tbs_end(&s);
}

static void responder_gap_gets_one_nak(void)
{
	start(NULL);
	send_reth(IB_WRITE_ONLY, 201, 5, 100, 5);
	send_reth(IB_WRITE_ONLY, 202, 5, 100, 5);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_acks, 1);
	expect_ack(0, 200, NAK_SEQUENCE, 0);
	send_reth(IB_WRITE_ONLY, 200, 5, 200, 5);
	tbs_settle(&s);
	expect_ack(1, 200, ACK_31, 1);
	send_reth(IB_WRITE_ONLY, 203, 5, 100, 5);
	tbs_settle(&s);
	expect_ack(2, 201, NAK_SEQUENCE, 1);
	CU_ASSERT_EQUAL(s.mem[100], 0);
	CU_ASSERT_EQUAL(differs(200, 5, 200), 0);
	tbs_end(&s);
}

static void responder_psn_wraps_at_24_bits(void)
{
	tbs_init(&s);
	s.qp[0].rq_psn = 0xffffff;
	tbs_start(&s, NULL);
	send_reth(IB_WRITE_FIRST, 0xffffff, TBS_MTU, 0, TBS_MTU + 1);
	send_pkt(IB_WRITE_LAST, 0, 1);
	send_reth(IB_WRITE_ONLY, 0xffffff, 1, 0, 1); /* behind, not ahead */
	tbs_settle(&s);
	expect_ack(s.n_acks - 1, 0, AETH_ACK, 1);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "duplicates"), 1);
	tbs_end(&s);
}

static void responder_missing_receive_gets_rnr_nak(void)
{
	for (unsigned rxe = 0; rxe < 2; rxe++) {
		start(rxe ? "responder.nak_after_rnr=on" : NULL);
		send_pkt(IB_SEND_ONLY, 200, 8);
		send_pkt(IB_SEND_ONLY, 201, 8);
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.n_acks, 1 + rxe);
		expect_ack(0, 200, AETH_RNR_NAK | 12, 0);
		if (rxe)
			expect_ack(1, 200, NAK_SEQUENCE, 0);
		tbs_recv(&s, 0, 0, 8, 1);
		send_pkt(IB_SEND_ONLY, 200, 8);
		tbs_settle(&s);
		expect_ack(1 + rxe, 200, ACK_31, 1);
		expect_cqe(0, 0, CQE_RESP_SEND, 8, 0);
		tbs_end(&s);
	}
}

/* SEND and WRITE are acknowledged again with the most recent PSN, and not executed again. */
static void responder_duplicate_is_acknowledged_not_executed(void)
{
	start(NULL);
	tbs_recv(&s, 0, 0, 8, 1);
	tbs_recv(&s, 0, 100, 8, 1);
	send_pkt(IB_SEND_ONLY, 200, 8);
	send_reth(IB_WRITE_ONLY, 201, 8, 300, 8);
	tbs_settle(&s);
	s.mem[300] = 0;
	send_pkt(IB_SEND_ONLY, 200, 8);
	tbs_settle(&s);
	send_reth(IB_WRITE_ONLY, 201, 8, 300, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.mem[300], 0);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	expect_ack(s.n_acks - 2, 201, ACK_31, 2);
	expect_ack(s.n_acks - 1, 201, ACK_31, 2);
	tbs_end(&s);
}

static void responder_read_is_answered_in_bursts(void)
{
	start("responder.burst=2");
	send_reth(IB_READ_REQUEST, 200, 0, 64, 3 * TBS_MTU + 9);
	send_reth(IB_READ_REQUEST, 204, 0, 0, 0);
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 3);
	CU_ASSERT_EQUAL(tbs_job(&s, 0)->psn, 200);
	CU_ASSERT_EQUAL(tbs_job(&s, 0)->len, 2 * TBS_MTU);
	CU_ASSERT_EQUAL(tbs_job(&s, 0)->raddr, TBS_BASE + 64);
	CU_ASSERT(tbs_job(&s, 0)->is_first && !tbs_job(&s, 0)->is_last);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->psn, 202);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->len, TBS_MTU + 9);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->raddr, TBS_BASE + 64 + 2 * TBS_MTU);
	CU_ASSERT(!tbs_job(&s, 1)->is_first && tbs_job(&s, 1)->is_last);
	CU_ASSERT_EQUAL(tbs_job(&s, 2)->psn, 204);
	CU_ASSERT_EQUAL(tbs_job(&s, 2)->len, 0);
	CU_ASSERT_EQUAL(s.n_acks, 0);
	tbs_end(&s);
}

/* Partial repeats end where the original ended; what does not fit the original is dropped. */
static void responder_duplicate_read_is_executed_again(void)
{
	uint32_t n_acks;

	start(NULL);
	send_reth(IB_READ_REQUEST, 200, 0, 64, 3 * TBS_MTU);
	send_reth(IB_WRITE_ONLY, 203, 1, 0, 1);
	tbs_settle(&s);
	send_reth(IB_READ_REQUEST, 201, 0, 64 + TBS_MTU, 2 * TBS_MTU);
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 2);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->psn, 201);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->len, 2 * TBS_MTU);
	CU_ASSERT(tbs_job(&s, 1)->is_first && tbs_job(&s, 1)->is_last && tbs_job(&s, 1)->is_retry);
	send_reth(IB_READ_REQUEST, 201, 0, 64 + TBS_MTU, 3 * TBS_MTU); /* too long */
	send_reth(IB_READ_REQUEST, 201, 0, 64, 2 * TBS_MTU);           /* elsewhere */
	send_reth(IB_READ_REQUEST, 150, 0, 64, 2 * TBS_MTU);           /* never seen */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 2);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 3);
	s.access =
		ACCESS_REMOTE_WRITE; /* the key is checked again, but the READ was executed once */
	n_acks = s.n_acks;
	send_reth(IB_READ_REQUEST, 200, 0, 64, 3 * TBS_MTU);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 2);
	CU_ASSERT_EQUAL(s.n_acks, n_acks);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 4);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "errors_found"), 0);
	tbs_end(&s);
}

static void responder_duplicate_atomic_is_replayed(void)
{
	start(NULL);
	s.mem[8] = 5;
	send_atomic(IB_FETCH_ADD, 200, 8, 10, 0);
	send_atomic(IB_CMP_SWAP, 201, 8, 99, 15);
	tbs_settle(&s);
	send_atomic(IB_FETCH_ADD, 200, 8, 10, 0);
	send_atomic(IB_FETCH_ADD, 201, 8, 10, 0); /* another opcode than the one saved: dropped */
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 3);
	CU_ASSERT_EQUAL(tbs_job(&s, 0)->swap_add, 5);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->swap_add, 15);
	CU_ASSERT_EQUAL(tbs_job(&s, 2)->psn, 200);
	CU_ASSERT_EQUAL(tbs_job(&s, 2)->swap_add, 5);
	CU_ASSERT_EQUAL(tbs_job(&s, 2)->kind, JOB_ATOMIC_ACK);
	CU_ASSERT_EQUAL(s.mem[8], 99);
	tbs_end(&s);
}

static void responder_ack_waits_for_responses_before_it(void)
{
	start(NULL);
	s.is_silent = true;
	send_reth(IB_READ_REQUEST, 200, 0, 0, 8);
	send_reth(IB_WRITE_ONLY, 201, 8, 300, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 1);
	CU_ASSERT_EQUAL(differs(300, 8, 201), 0);
	CU_ASSERT_EQUAL(s.n_acks, 0);
	tb_send(s.job_done, &(struct job_done){ .tag = tbs_job(&s, 0)->tag });
	tbs_settle(&s);
	expect_ack(0, 201, ACK_31, 2);
	tbs_end(&s);
}

/* The READ's bytes are fetched when its job is carried out: what comes behind must not be among them. */
static void responder_atomic_waits_until_reads_have_their_bytes(void)
{
	start(NULL);
	s.is_silent = true;
	s.mem[8] = 5;
	send_reth(IB_READ_REQUEST, 200, 0, 0, 16);
	send_atomic(IB_FETCH_ADD, 201, 8, 10, 0);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.mem[8], 5);
	CU_ASSERT_EQUAL(s.job->n_received, 1);
	tb_send(s.job_done, &(struct job_done){ .tag = tbs_job(&s, 0)->tag });
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.mem[8], 15);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 2);
	CU_ASSERT_EQUAL(tbs_job(&s, 1)->swap_add, 5);
	tb_send(s.job_done, &(struct job_done){ .tag = tbs_job(&s, 1)->tag });
	tbs_end(&s);
}

/* Code 4 = 4 receives, code 5 = 6: the largest that is not too much. */
static void responder_ack_carries_credits(void)
{
	tbs_init(&s);
	s.qp[1].srq = 0;
	tbs_start(&s, NULL);
	for (uint32_t i = 0; i < 6; i++)
		tbs_recv(&s, 0, 0, 8, 1);
	tbs_recv(&s, 1, 0, 8, 1);
	send_pkt(IB_SEND_ONLY, 200, 8);
	tbs_send(&s, &(struct tbs_pkt){
			     .qpi = 1, .operation = IB_SEND_ONLY, .psn = 200, .ack_req = true });
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.n_acks, 2);
	CU_ASSERT_EQUAL(s.acks[0].syndrome, AETH_ACK | 4);
	CU_ASSERT_EQUAL(s.acks[1].syndrome, ACK_31);
	CU_ASSERT_EQUAL(s.acks[1].qpi, 1);
	tbs_end(&s);
}

static void responder_delayed_acks_coalesce(void)
{
	tbs_init(&s);
	tbs_start(&s, (const char *const[]){ "responder.ack_delay=10us", "responder.ack_count=4",
					     NULL });
	for (uint32_t i = 0; i < 6; i++)
		send_reth(IB_WRITE_ONLY, 200 + i, 8, 8 * i, 8);
	tb_run_for(&s.t, 1000);
	CU_ASSERT_EQUAL(s.n_acks, 1);
	CU_ASSERT_EQUAL(s.acks[0].psn, 203);
	tb_run_for(&s.t, 4000);
	CU_ASSERT_EQUAL(s.n_acks, 2);
	CU_ASSERT_EQUAL(s.acks[1].psn, 205);
	CU_ASSERT(s.ack->cycle[1] >= 2500);
	tbs_end(&s);
}

/* A QP that waits for a receive WQE does not hold up the other. */
static void responder_qps_do_not_wait_for_each_other(void)
{
	start(NULL);
	s.is_mute[0] = true;
	send_pkt(IB_SEND_ONLY, 200, 8);
	send_reth(IB_WRITE_ONLY, 201, 8, 0, 8);
	tbs_send(&s, &(struct tbs_pkt){ .qpi = 1,
					.operation = IB_WRITE_ONLY,
					.psn = 200,
					.len = 8,
					.ack_req = true,
					.va = TBS_BASE + 400,
					.rkey = TBS_RKEY,
					.dma_len = 8,
					.seed = 1 });
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_acks, 1);
	CU_ASSERT_EQUAL(differs(400, 8, 1), 0);
	tb_send(s.rq_rsp, &(struct rq_rsp){ .buf = BUF_NONE });
	tbs_settle(&s);
	expect_ack(1, 200, AETH_RNR_NAK | 12, 0);
	tbs_end(&s);
}

CU_TestInfo test_responder_tests[] = {
	{ "SEND fills a receive", responder_send_fills_receive },
	{ "WRITE with immediate takes a receive at the end",
	  responder_write_with_imm_takes_receive_at_the_end },
	{ "gap gets one NAK", responder_gap_gets_one_nak },
	{ "PSN wraps at 24 bits", responder_psn_wraps_at_24_bits },
	{ "missing receive gets an RNR NAK", responder_missing_receive_gets_rnr_nak },
	{ "duplicate is acknowledged, not executed",
	  responder_duplicate_is_acknowledged_not_executed },
	{ "READ is answered in bursts", responder_read_is_answered_in_bursts },
	{ "duplicate READ is executed again", responder_duplicate_read_is_executed_again },
	{ "duplicate ATOMIC is replayed", responder_duplicate_atomic_is_replayed },
	{ "ATOMIC waits until READs have their bytes",
	  responder_atomic_waits_until_reads_have_their_bytes },
	{ "ACK waits for responses before it", responder_ack_waits_for_responses_before_it },
	{ "ACK carries credits", responder_ack_carries_credits },
	{ "delayed ACKs coalesce", responder_delayed_acks_coalesce },
	{ "QPs do not wait for each other", responder_qps_do_not_wait_for_each_other },
	CU_TEST_INFO_NULL
};
