/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_exec.c - requests that must not be executed: what is answered, and what becomes of
 * the QP
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

static void send_reth(uint8_t operation, uint32_t psn, uint32_t len, uint64_t va, uint32_t rkey,
		      uint32_t dma_len)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.len = len,
					.ack_req = true,
					.seed = (uint8_t)psn,
					.va = va,
					.rkey = rkey,
					.dma_len = dma_len });
}

static void send_plain(uint8_t operation, uint32_t psn, uint32_t len)
{
	send_reth(operation, psn, len, TBS_BASE, TBS_RKEY, len);
}

/* The last answer is this NAK, and nothing is executed any more. */
static void expect_end(uint32_t psn, uint8_t syndrome)
{
	uint32_t n;

	CU_ASSERT_FATAL(s.n_acks > 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, psn);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, syndrome);
	n = s.n_acks;
	send_plain(IB_WRITE_ONLY, psn, 8);
	send_plain(IB_WRITE_ONLY, psn + 5, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_acks, n);
}

static void expect_recv_error(uint32_t i, uint16_t index, uint8_t syndrome)
{
	const struct cqe_req *c = tbs_cqe(&s, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->opcode, CQE_RESP_ERR);
	CU_ASSERT_EQUAL(c->syndrome, syndrome);
}

/* What may follow what: the first row's packet is accepted, the second's is an invalid request. */
static void responder_opcode_out_of_sequence_is_invalid(void)
{
	static const struct {
		uint8_t first; /* 0xff = none */
		uint8_t second;
	} bad[] = {
		{ 0xff, IB_SEND_MIDDLE },           { 0xff, IB_SEND_LAST },
		{ 0xff, IB_WRITE_MIDDLE },          { 0xff, IB_WRITE_LAST },
		{ 0xff, IB_WRITE_LAST_IMM },        { IB_SEND_FIRST, IB_SEND_FIRST },
		{ IB_SEND_FIRST, IB_SEND_ONLY },    { IB_SEND_FIRST, IB_WRITE_MIDDLE },
		{ IB_SEND_FIRST, IB_WRITE_LAST },   { IB_SEND_FIRST, IB_READ_REQUEST },
		{ IB_WRITE_FIRST, IB_WRITE_FIRST }, { IB_WRITE_FIRST, IB_WRITE_ONLY },
		{ IB_WRITE_FIRST, IB_SEND_LAST },   { IB_WRITE_FIRST, IB_SEND_MIDDLE },
		{ IB_WRITE_FIRST, IB_FETCH_ADD },   { IB_SEND_FIRST, IB_FLUSH },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint32_t psn = 200;

		start(NULL);
		tbs_recv(&s, 0, 0, 4096, 1);
		if (bad[i].first != 0xff)
			send_reth(bad[i].first, psn++, TBS_MTU, TBS_BASE, TBS_RKEY, 1000);
		send_reth(bad[i].second, psn, 0, TBS_BASE, TBS_RKEY, 0);
		tbs_settle(&s);
		expect_end(psn, NAK_INVALID_REQUEST);
		CU_ASSERT_EQUAL(s.cqe->n_received, 1);
		expect_recv_error(0, 0,
				  bad[i].first == IB_SEND_FIRST ? CQE_SYNDROME_REMOTE_INVAL_REQ
								: CQE_SYNDROME_WR_FLUSH);
		tbs_end(&s);
	}
}

static void responder_wrong_length_is_invalid(void)
{
	static const struct {
		uint8_t operation;
		uint32_t len, dma_len;
	} bad[] = {
		{ IB_SEND_FIRST, TBS_MTU - 4, 0 },
		{ IB_WRITE_FIRST, TBS_MTU - 1, 1000 },
		{ IB_WRITE_FIRST, TBS_MTU, TBS_MTU },
		{ IB_WRITE_ONLY, 8, 9 },
		{ IB_WRITE_ONLY, 9, 8 },
		{ IB_WRITE_ONLY, 0, 1 },
		{ IB_READ_REQUEST, 0, (1u << 31) + 1 },
		{ IB_WRITE_FIRST, TBS_MTU, 0xffffffff },
		{ IB_WRITE_ONLY_IMM, 0, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(NULL);
		tbs_recv(&s, 0, 0, 4096, 1);
		send_reth(bad[i].operation, 200, bad[i].len, TBS_BASE, TBS_RKEY, bad[i].dma_len);
		tbs_settle(&s);
		expect_end(200, NAK_INVALID_REQUEST);
		tbs_end(&s);
	}
}

/* The sum of a WRITE's packets is its length: more and less are invalid. */
static void responder_write_must_fill_its_length(void)
{
	for (int d = -1; d <= 1; d++) {
		start(NULL);
		send_reth(IB_WRITE_FIRST, 200, TBS_MTU, TBS_BASE, TBS_RKEY, TBS_MTU + 10);
		send_plain(IB_WRITE_LAST, 201, (uint32_t)(10 + d));
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, d ? NAK_INVALID_REQUEST : ACK_31);
		tbs_end(&s);
	}
	start(NULL);
	send_reth(IB_WRITE_FIRST, 200, TBS_MTU, TBS_BASE, TBS_RKEY, TBS_MTU + 10);
	send_plain(IB_WRITE_MIDDLE, 201, TBS_MTU);
	tbs_settle(&s);
	expect_end(201, NAK_INVALID_REQUEST);
	tbs_end(&s);
}

static void responder_bad_key_or_range_is_access_error(void)
{
	static const struct {
		uint8_t operation;
		uint64_t va;
		uint32_t len, rkey;
	} bad[] = {
		{ IB_WRITE_ONLY, TBS_BASE, 8, TBS_RKEY + 1 },
		{ IB_WRITE_ONLY, TBS_BASE - 1, 8, TBS_RKEY },
		{ IB_WRITE_ONLY_IMM, TBS_BASE + TBS_MEM - 7, 8, TBS_RKEY },
		{ IB_READ_REQUEST, TBS_BASE + TBS_MEM, 0, TBS_RKEY },
		{ IB_FETCH_ADD, TBS_BASE + TBS_MEM, 0, TBS_RKEY },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(NULL);
		tbs_recv(&s, 0, 0, 8, 1);
		send_reth(bad[i].operation, 200, bad[i].len, bad[i].va, bad[i].rkey, 8);
		tbs_settle(&s);
		expect_end(200, NAK_REMOTE_ACCESS);
		CU_ASSERT_EQUAL(s.job->n_received, 0);
		CU_ASSERT_EQUAL(s.dma.n_writes, 0);
		expect_recv_error(0, 0,
				  bad[i].operation == IB_WRITE_ONLY_IMM ? CQE_SYNDROME_LOCAL_ACCESS
									: CQE_SYNDROME_WR_FLUSH);
		CU_ASSERT_EQUAL(s.error->n_received, 1); /* the requester is told */
		tbs_end(&s);
	}
}

static void responder_right_missing_on_qp_is_invalid(void)
{
	static const struct {
		uint8_t operation, right;
		uint32_t len;
	} op[] = {
		{ IB_WRITE_ONLY, ACCESS_REMOTE_WRITE, 8 },
		{ IB_READ_REQUEST, ACCESS_REMOTE_READ, 0 },
		{ IB_CMP_SWAP, ACCESS_REMOTE_ATOMIC, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(op); i++) {
		tbs_init(&s);
		s.qp[0].access &= (uint8_t)~op[i].right;
		tbs_start(&s, NULL);
		send_reth(op[i].operation, 200, op[i].len, TBS_BASE, TBS_RKEY, 8);
		tbs_settle(&s);
		expect_end(200, NAK_INVALID_REQUEST);
		tbs_end(&s);
		/* the same right missing on the key alone */
		start(NULL);
		s.access &= (uint8_t)~op[i].right;
		send_reth(op[i].operation, 200, op[i].len, TBS_BASE, TBS_RKEY, 8);
		tbs_settle(&s);
		expect_end(200, NAK_REMOTE_ACCESS);
		tbs_end(&s);
	}
}

static void responder_unaligned_atomic_is_invalid(void)
{
	start(NULL);
	send_reth(IB_FETCH_ADD, 200, 0, TBS_BASE + 12, TBS_RKEY, 8);
	tbs_settle(&s);
	expect_end(200, NAK_INVALID_REQUEST);
	CU_ASSERT_EQUAL(s.job->n_received, 0);
	tbs_end(&s);
}

/* A SEND longer than its receive: invalid request, or as rxe has it. */
static void responder_short_receive_ends_the_qp(void)
{
	for (unsigned rxe = 0; rxe < 2; rxe++) {
		start(rxe ? "responder.long_send_remote_op=on" : NULL);
		tbs_recv(&s, 0, 0, TBS_MTU + 5, 2);
		tbs_recv(&s, 0, 0, 100, 1);
		send_plain(IB_SEND_FIRST, 200, TBS_MTU);
		send_plain(IB_SEND_LAST, 201, 6);
		tbs_settle(&s);
		expect_end(201, rxe ? NAK_REMOTE_OP : NAK_INVALID_REQUEST);
		expect_recv_error(0, 0, CQE_SYNDROME_LOCAL_LENGTH);
		expect_recv_error(1, 1, CQE_SYNDROME_WR_FLUSH);
		CU_ASSERT_EQUAL(s.cqe->n_received, 2);
		tbs_end(&s);
	}
}

/*
 * Receive memory that cannot be written: nothing from that packet on is acknowledged or completed.
 */
static void responder_receive_fault_is_never_acknowledged(void)
{
	start(NULL);
	tbs_recv(&s, 0, 0, 8, 1);
	tbs_recv(&s, 0, 100, 2 * TBS_MTU, 1);
	tbs_recv(&s, 0, 2000, 8, 1);
	tbs_recv(&s, 0, 3000, 8, 1);
	s.dma.fail_at = TBS_BASE + 100;
	send_plain(IB_SEND_ONLY, 200, 8);
	send_plain(IB_SEND_FIRST, 201, TBS_MTU);
	send_plain(IB_SEND_LAST, 202, 8);
	send_plain(IB_SEND_ONLY, 203, 8);
	tbs_settle(&s);
	expect_end(201, NAK_REMOTE_OP);
	for (uint32_t i = 0; i + 1 < s.n_acks; i++)
		CU_ASSERT(s.acks[i].psn <= 200);
	CU_ASSERT_EQUAL(s.cqe->n_received, 4);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->opcode, CQE_RESP_SEND);
	expect_recv_error(1, 1, CQE_SYNDROME_LOCAL_PROT);
	expect_recv_error(2, 2, CQE_SYNDROME_WR_FLUSH);
	expect_recv_error(3, 3, CQE_SYNDROME_WR_FLUSH);
	tbs_end(&s);
}

/* A response whose bytes cannot be read. */
static void responder_failing_response_is_access_error(void)
{
	start(NULL);
	s.done_status = XLATE_BAD_KEY;
	send_reth(IB_READ_REQUEST, 200, 0, TBS_BASE, TBS_RKEY, 3 * TBS_MTU);
	send_plain(IB_WRITE_ONLY, 203, 8);
	tbs_settle(&s);
	expect_end(202, NAK_REMOTE_ACCESS);
	tbs_end(&s);
}

static void responder_resources_are_enforced(void)
{
	for (unsigned rxe = 0; rxe < 2; rxe++) {
		tbs_init(&s);
		s.qp[0].dest_rd_atomic = 2;
		tbs_start(&s, (const char *const[]){ rxe ? "responder.enforce_rd_atomic=off" : NULL,
						     NULL });
		s.is_silent = true;
		for (uint32_t i = 0; i < 3; i++)
			send_reth(IB_READ_REQUEST, 200 + i, 0, TBS_BASE, TBS_RKEY, 8);
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.job->n_received, 2);
		s.is_silent = false;
		for (uint32_t i = 0; i < 2; i++)
			tb_send(s.job_done, &(struct job_done){ .tag = tbs_job(&s, i)->tag });
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.job->n_received, 2 + rxe); /* rxe: it only had to wait */
		if (!rxe)
			expect_end(202, NAK_INVALID_REQUEST);
		tbs_end(&s);
	}
}

/* The requester's half failed: posted receives are flushed, packets dropped, and nothing is told
 * back. */
static void responder_follows_the_requester_into_error(void)
{
	start(NULL);
	tbs_recv(&s, 0, 0, 8, 1);
	tbs_recv(&s, 0, 0, 8, 1);
	send_plain(IB_SEND_ONLY, 200, 8);
	tbs_settle(&s);
	tb_send(s.peer_error, &(struct qp_error){ .qpi = 0 });
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 2);
	expect_recv_error(1, 1, CQE_SYNDROME_WR_FLUSH);
	send_plain(IB_WRITE_ONLY, 201, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_acks, 1);
	CU_ASSERT_EQUAL(s.error->n_received, 0);
	tbs_end(&s);
}

CU_TestInfo test_responder_exec_tests[] = {
	{ "opcode out of sequence is invalid", responder_opcode_out_of_sequence_is_invalid },
	{ "wrong length is invalid", responder_wrong_length_is_invalid },
	{ "WRITE must fill its length", responder_write_must_fill_its_length },
	{ "bad key or range is an access error", responder_bad_key_or_range_is_access_error },
	{ "right missing on the QP is invalid", responder_right_missing_on_qp_is_invalid },
	{ "unaligned ATOMIC is invalid", responder_unaligned_atomic_is_invalid },
	{ "short receive ends the QP", responder_short_receive_ends_the_qp },
	{ "receive fault is never acknowledged", responder_receive_fault_is_never_acknowledged },
	{ "failing response is an access error", responder_failing_response_is_access_error },
	{ "responder follows the requester into Error",
	  responder_follows_the_requester_into_error },
	{ "responder resources are enforced", responder_resources_are_enforced },
	CU_TEST_INFO_NULL
};
