/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requester.c - each rule of the requester by a sequence made by hand
 */
#include <string.h>

#include "models/pktizer.h"
#include "testbench/tb_requester.h"

#define ACK_31 (AETH_ACK | AETH_NO_CREDITS)

static struct tb_requester e;

static void start2(const char *set, const char *set2)
{
	tbr_init(&e);
	tbr_start(&e, (const char *const[]){ "requester.credits=off", set, set2, NULL });
}

static void start(const char *set)
{
	start2(set, NULL);
}

/* Job i: PSN, bytes, offset, First, Last. */
static void expect_job(uint32_t i, uint32_t psn, uint32_t len, uint32_t off, bool is_first,
		       bool is_last)
{
	const struct tx_job *j = tbr_job(&e, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_EQUAL(j->psn, psn);
	CU_ASSERT_EQUAL(j->len, len);
	CU_ASSERT_EQUAL(j->msg_off, off);
	CU_ASSERT_EQUAL(j->is_first, is_first);
	CU_ASSERT_EQUAL(j->is_last, is_last);
}

static void expect_cqe(uint32_t i, uint16_t index, uint8_t syndrome)
{
	const struct cqe_req *c = tbr_cqe(&e, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->syndrome, syndrome);
	CU_ASSERT_EQUAL(c->opcode, syndrome ? CQE_REQ_ERR : CQE_REQ);
	CU_ASSERT_EQUAL(c->cqi, 5 + c->qpi);
}

static void requester_long_message_goes_in_bursts(void)
{
	start("requester.burst=16");
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE_IMM, 33 * TBR_MTU + 1, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL_FATAL(e.job->n_received, 3);
	expect_job(0, 100, 16 * TBR_MTU, 0, true, false);
	expect_job(1, 116, 16 * TBR_MTU, 16 * TBR_MTU, false, false);
	expect_job(2, 132, TBR_MTU + 1, 32 * TBR_MTU, false, true);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->raddr, TBR_RADDR);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->dma_len, 33 * TBR_MTU + 1);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->kind, JOB_WRITE);
	CU_ASSERT_EQUAL(tbr_job(&e, 2)->has_imm, 1);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	tbr_ack(&e, 0, 0, 132, ACK_31, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0); /* one packet is still missing */
	tbr_ack(&e, 0, 0, 133, ACK_31, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	tbr_end(&e);
}

/* QP 1 posts behind QP 0 with a higher priority; jobs of QP 0 before the last one of QP 1. */
static uint32_t jobs_before_urgent(const char *strict)
{
	uint32_t n = 0, before = 0;

	tbr_init(&e);
	e.qp[0].prio = 2;
	e.qp[1].prio = 5;
	tbr_start(&e, (const char *[]){ strict, "requester.burst=1", NULL });
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 40 * TBR_MTU, 0);
	tbr_post(&e, 1, MLX5_OPCODE_RDMA_WRITE, 40 * TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 80);
	for (uint32_t i = 0; i < e.job->n_received; i++) {
		n += tbr_job(&e, i)->qpi == 0;
		if (tbr_job(&e, i)->qpi == 1)
			before = n;
	}
	tbr_ack(&e, 0, 0, 139, ACK_31, 1);
	tbr_ack(&e, 0, 1, 139, ACK_31, 1);
	tbr_settle(&e);
	tbr_end(&e);
	return before;
}

static void requester_strict_priority_goes_first(void)
{
	CU_ASSERT(jobs_before_urgent("requester.strict=on") < 5);
	CU_ASSERT(jobs_before_urgent("requester.strict=off") > 35);
}

static void requester_psn_wraps_at_24_bits(void)
{
	tbr_init(&e);
	e.qp[0].sq_psn = 0xfffffe;
	tbr_start(&e, NULL);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 3 * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	tbr_settle(&e);
	expect_job(0, 0xfffffe, 3 * TBR_MTU, 0, true, true);
	expect_job(1, 1, 0, 0, true, true);
	tbr_ack(&e, 0, 0, 0xffffff, NAK_SEQUENCE, 0);
	tbr_settle(&e);
	expect_job(2, 0xffffff, 2 * TBR_MTU, TBR_MTU, false, true);
	tbr_ack(&e, 0, 0, 1, ACK_31, 2);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, 0);
	tbr_end(&e);
}

/* A turn is worth 512 bytes of the line: two packets, or one where the debt of the last is paid. */
static void requester_qps_take_turns_by_bytes(void)
{
	static const uint32_t sizes[] = { 9 * TBR_MTU, 1 };
	uint64_t line[2] = { 0 };
	uint32_t n[2] = { 0 };

	start2("requester.burst=2", "requester.quantum=512B");
	for (uint32_t i = 0; i < 30; i++)
		tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, sizes[0], 0);
	for (uint32_t i = 0; i < 30; i++)
		tbr_post(&e, 1, MLX5_OPCODE_RDMA_WRITE, sizes[1], 0);
	tbr_settle(&e);
	for (uint32_t i = 0; n[1] < 30; i++) {
		const struct tx_job *j = tbr_job(&e, i);

		CU_ASSERT_PTR_NOT_NULL_FATAL(j);
		CU_ASSERT(j->len <= 2 * TBR_MTU);
		if (j->qpi == 0 && n[1] == 0) /* it was there before the other */
			continue;
		line[j->qpi] += pktizer_line_bytes(&e.nic, &e.qp[j->qpi], j);
		n[j->qpi]++;
	}
	CU_ASSERT(line[1] > 2000 && line[0] < line[1] + 2000 && line[1] < line[0] + 2000);
	tbr_ack(&e, 0, 0, 100 + 9 * 30 - 1, ACK_31, 30);
	tbr_ack(&e, 0, 1, 100 + 30 - 1, ACK_31, 30);
	tbr_end(&e);
}

/* A QP with enough to send is fed, and is not when that is sent. */
static void requester_enough_waiting_is_fed(void)
{
	const struct sq_credit *c;

	start("requester.ahead=4KiB");
	e.is_silent = true;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 600 * TBR_MTU, 0); /* more than the window */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(((const struct requester *)(void *)e.t.dut)->qp[0].unsent, 0);
	for (uint32_t i = 0; i < 4; i++)
		tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 1024, 0);
	tbr_settle(&e);
	c = tb_got(e.credit, e.credit->n_received - 1);
	CU_ASSERT(e.credit->n_received > 0 && c->is_fed && c->n_wqe == 0);
	e.is_silent = false;
	tbr_ack(&e, 0, 0, 100 + 511, ACK_31, 0);
	tbr_settle(&e);
	c = tb_got(e.credit, e.credit->n_received - 1);
	CU_ASSERT(!c->is_fed);
	tbr_ack(&e, 0, 0, 100 + 600 + 4 * 4 - 1, ACK_31, 5);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(tbr_released(&e), 5);
	tbr_end(&e);
}

static void requester_window_holds_packets_back(void)
{
	start2("requester.window=8", "requester.burst=16");
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 20 * TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 1);
	expect_job(0, 100, 8 * TBR_MTU, 0, true, false);
	tbr_ack(&e, 0, 0, 102, ACK_31, 0);
	tbr_settle(&e);
	expect_job(1, 108, 3 * TBR_MTU, 8 * TBR_MTU, false, false);
	tbr_ack(&e, 0, 0, 110, ACK_31, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 119, ACK_31, 1); /* not sent yet: a ghost */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "ghosts"), 1);
	expect_job(2, 111, 8 * TBR_MTU, 11 * TBR_MTU, false, false);
	tbr_ack(&e, 0, 0, 118, ACK_31, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 119, ACK_31, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	tbr_end(&e);
}

/* READs take the PSNs of their responses; data go to the segments; the CQE waits for the last
 * write. */
static void requester_read_scatters_responses(void)
{
	const uint32_t len = 2 * TBR_MTU + 77;

	start(NULL);
	tbr_post_sges(&e, 0, MLX5_OPCODE_RDMA_READ, len, 64, 3, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 5, 0);
	tbr_settle(&e);
	expect_job(0, 100, 0, 0, true, true);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->kind, JOB_READ_REQ);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->dma_len, len);
	expect_job(1, 103, 5, 0, true, true);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 100, TBR_MTU, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_MIDDLE, 101, TBR_MTU, 0);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_LAST, 102, 77, ACK_31);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	CU_ASSERT_EQUAL(tbr_cqe(&e, 0)->byte_cnt, len);
	for (uint32_t i = 0; i < len; i++)
		CU_ASSERT_EQUAL(e.mem[64 + i], (uint8_t)(100 + i / TBR_MTU + i % TBR_MTU));
	CU_ASSERT_EQUAL(e.mem[63] | e.mem[64 + len], 0);
	tbr_ack(&e, 0, 0, 103, ACK_31, 2);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 2);
	tbr_end(&e);
}

static void requester_atomic_result_is_little_endian(void)
{
	static const uint8_t want[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };

	start(NULL);
	tbr_post(&e, 0, MLX5_OPCODE_ATOMIC_FA, 8, 16);
	tbr_post(&e, 0, MLX5_OPCODE_ATOMIC_CS, 8, 24);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->kind, JOB_FETCH_ADD);
	CU_ASSERT_EQUAL(tbr_job(&e, 1)->kind, JOB_CMP_SWAP);
	CU_ASSERT_EQUAL(tbr_job(&e, 1)->swap_add, 11);
	CU_ASSERT_EQUAL(tbr_job(&e, 1)->compare, 22);
	tbr_atomic_rsp(&e, 0, 0, 100, 0x0102030405060708);
	tbr_atomic_rsp(&e, 0, 0, 101, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, 0);
	CU_ASSERT(memcmp(e.mem + 16, want, 8) == 0);
	CU_ASSERT_EQUAL(e.mem[24], 1);
	tbr_end(&e);
}

static void requester_outstanding_reads_are_limited(void)
{
	tbr_init(&e);
	e.qp[0].rd_atomic = 2;
	tbr_start(&e, NULL);
	for (uint32_t i = 0; i < 3; i++)
		tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 8 * i);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	for (uint32_t i = 0; i < 3; i++) {
		tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100 + i, 8, ACK_31);
		tbr_settle(&e);
	}
	CU_ASSERT_EQUAL(e.job->n_received, 3);
	CU_ASSERT_EQUAL(e.cqe->n_received, 3);
	tbr_end(&e);
}

static void requester_fence_waits_for_reads(void)
{
	start(NULL);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post_sges(&e, 0, MLX5_OPCODE_SEND, 8, 0, 1, TBR_FENCE);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100, 8, ACK_31);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 3);
	tbr_ack(&e, 0, 0, 102, ACK_31, 3);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 3);
	tbr_end(&e);
}

/* LSN 0: one SEND as the probe; WRITEs raise the limit themselves; then MSN + credits. */
static void requester_credits_limit_sends(void)
{
	tbr_init(&e);
	tbr_start(&e, NULL);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	for (uint32_t i = 0; i < 6; i++)
		tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tbr_ack(&e, 0, 0, 101, AETH_ACK | 2, 2); /* MSN 2, 2 credits: SENDs up to the 5th message */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 5);
	tbr_ack(&e, 0, 0, 104, AETH_ACK | 0, 5);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 6);
	tbr_ack(&e, 0, 0, 105, AETH_ACK | 0, 6);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 7);
	tbr_ack(&e, 0, 0, 106, ACK_31, 7);
	tbr_settle(&e);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 9); /* 31: no limit any more */
	tbr_ack(&e, 0, 0, 108, ACK_31, 9);
	tbr_end(&e);
}

/* A repeated ACK of the last PSN brings credits and nothing else. */
static void requester_repeated_ack_refreshes_credits(void)
{
	tbr_init(&e);
	tbr_start(&e, NULL);
	for (uint32_t i = 0; i < 4; i++)
		tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 100, AETH_ACK | 0, 1);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tbr_ack(&e, 0, 0, 100, AETH_ACK | 4, 1);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 4);
	CU_ASSERT_EQUAL(e.cqe->n_received, 1);
	tbr_ack(&e, 0, 0, 103, ACK_31, 4);
	tbr_end(&e);
}

static void requester_unsignaled_completes_silently(void)
{
	start(NULL);
	tbr_post_sges(&e, 0, MLX5_OPCODE_SEND, 8, 0, 1, TBR_SILENT);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 1);
	CU_ASSERT_EQUAL(tbr_released(&e), 2);
	expect_cqe(0, 1, 0);
	tbr_end(&e);
}

/*
 * What no QP can do fails in its turn, and everything behind it is flushed, also what comes later.
 */
static void requester_local_errors_wait_their_turn(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t len, n_sge;
		unsigned flags;
		uint8_t syndrome;
	} bad[] = {
		{ MLX5_OPCODE_UMR, 8, 1, 0, CQE_SYNDROME_LOCAL_QP_OP },
		{ 0xff, 8, 1, 0, CQE_SYNDROME_LOCAL_QP_OP },
		{ MLX5_OPCODE_RDMA_READ, 8, 0, TBR_INLINE, CQE_SYNDROME_LOCAL_QP_OP },
		{ MLX5_OPCODE_ATOMIC_CS, 4, 1, TBR_SILENT, CQE_SYNDROME_LOCAL_LENGTH },
		{ MLX5_OPCODE_SEND, 0x80000001, 1, 0, CQE_SYNDROME_LOCAL_LENGTH },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(NULL);
		tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
		tbr_post_sges(&e, 0, bad[i].opcode, bad[i].len, 0, bad[i].n_sge, bad[i].flags);
		tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
		tbr_settle(&e);
		CU_ASSERT_EQUAL(e.cqe->n_received, 0);
		CU_ASSERT_EQUAL(e.job->n_received, 1);
		tbr_ack(&e, 0, 0, 100, ACK_31, 1);
		tbr_settle(&e);
		tbr_post_sges(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0, 1, TBR_SILENT);
		tbr_settle(&e);
		CU_ASSERT_EQUAL_FATAL(e.cqe->n_received, 4);
		expect_cqe(0, 0, 0);
		expect_cqe(1, 1, bad[i].syndrome);
		expect_cqe(2, 2, CQE_SYNDROME_WR_FLUSH);
		expect_cqe(3, 3, CQE_SYNDROME_WR_FLUSH);
		CU_ASSERT_EQUAL(e.job->n_received, 1);
		tbr_end(&e);
	}
}

/* Payload that cannot be read, and responses that cannot be written. */
static void requester_protection_faults_end_the_qp(void)
{
	start(NULL);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	e.done_status = XLATE_BAD_KEY;
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	tbr_ack(&e, 0, 0, 100, ACK_31, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, CQE_SYNDROME_LOCAL_PROT);
	tbr_end(&e);

	start(NULL);
	e.dma.fail_at = TBR_MEM_BASE + 300;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 2 * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 100, TBR_MTU, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_LAST, 101, TBR_MTU, ACK_31);
	tbr_ack(&e, 0, 0, 102, ACK_31, 2);
	tbr_settle(&e);
	expect_cqe(0, 0, CQE_SYNDROME_LOCAL_PROT);
	expect_cqe(1, 1, CQE_SYNDROME_WR_FLUSH);
	tbr_end(&e);
}

CU_TestInfo test_requester_tests[] = {
	{ "long message goes in bursts", requester_long_message_goes_in_bursts },
	{ "strict priority goes first", requester_strict_priority_goes_first },
	{ "PSN wraps at 24 bits", requester_psn_wraps_at_24_bits },
	{ "QPs take turns by bytes", requester_qps_take_turns_by_bytes },
	{ "enough waiting is fed", requester_enough_waiting_is_fed },
	{ "window holds packets back", requester_window_holds_packets_back },
	{ "READ scatters responses", requester_read_scatters_responses },
	{ "ATOMIC result is little-endian", requester_atomic_result_is_little_endian },
	{ "outstanding READs are limited", requester_outstanding_reads_are_limited },
	{ "fence waits for READs", requester_fence_waits_for_reads },
	{ "credits limit SENDs", requester_credits_limit_sends },
	{ "repeated ACK refreshes credits", requester_repeated_ack_refreshes_credits },
	{ "unsignaled completes silently", requester_unsignaled_completes_silently },
	{ "local errors wait their turn", requester_local_errors_wait_their_turn },
	{ "protection faults end the QP", requester_protection_faults_end_the_qp },
	CU_TEST_INFO_NULL
};
