/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requester_unacked.c - messages of UC and UD: done when they were sent, never sent again
 */
#include "testbench/tb_requester.h"

static struct tb_requester e;

static void start(uint8_t type)
{
	tbr_init(&e);
	for (uint32_t i = 0; i < TBR_QPS; i++)
		e.qp[i].type = type;
	tbr_start(&e, (const char *const[]){ "requester.burst=2", "requester.window=8", NULL });
}

static void expect_cqe(uint32_t i, uint16_t index, uint8_t syndrome)
{
	const struct cqe_req *c = tbr_cqe(&e, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->opcode, syndrome ? CQE_REQ_ERR : CQE_REQ);
	CU_ASSERT_EQUAL(c->syndrome, syndrome);
}

/* More messages than receives could be known of, and more packets than the window. */
static void uc_message_completes_when_its_last_packet_was_handed_over(void)
{
	uint32_t psn = 100;

	start(QP_UC);
	e.done_delay = 50;
	for (uint32_t i = 0; i < 10; i++)
		tbr_post(&e, 0, i & 1 ? MLX5_OPCODE_RDMA_WRITE_IMM : MLX5_OPCODE_SEND,
			 (2 + i) * TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 10);
	for (uint32_t i = 0; i < 10; i++)
		expect_cqe(i, (uint16_t)i, 0);
	for (uint32_t i = 0; i < e.job->n_received; i++) {
		const struct tx_job *j = tbr_job(&e, i);

		CU_ASSERT_EQUAL(j->psn, psn);
		psn += j->len / TBR_MTU;
		CU_ASSERT_FALSE(j->is_retry);
	}
	CU_ASSERT_EQUAL(psn, 100 + 65);
	tbr_end(&e);
}

/* As long as the packetizer holds packets nothing is done, and no timer starts. */
static void uc_message_not_handed_over_waits_without_a_timer(void)
{
	start(QP_UC);
	e.qp[0].timeout = 1;
	e.is_silent = true;
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 100, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	CU_ASSERT_EQUAL(e.job->n_received, 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	tbr_end(&e);
}

static void unreliable_operation_that_the_service_lacks_is_refused(void)
{
	static const struct {
		uint8_t type, opcode;
	} bad[] = {
		{ QP_UC, MLX5_OPCODE_RDMA_READ }, { QP_UC, MLX5_OPCODE_ATOMIC_FA },
		{ QP_UC, MLX5_OPCODE_ATOMIC_CS }, { QP_UD, MLX5_OPCODE_RDMA_WRITE },
		{ QP_UD, MLX5_OPCODE_RDMA_READ }, { QP_UD, MLX5_OPCODE_RDMA_WRITE_IMM },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(bad[i].type);
		tbr_post(&e, 0, bad[i].opcode, 8, 0);
		tbr_settle(&e);
		expect_cqe(0, 0, CQE_SYNDROME_LOCAL_QP_OP);
		CU_ASSERT_EQUAL(e.job->n_received, 0);
		tbr_end(&e);
	}
}

/* The send queue stops, the receive queue is not told (SQE state, IBTA vol. 1, 10.3.1.6). */
static void uc_payload_error_flushes_the_send_queue_only(void)
{
	start(QP_UC);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	e.done_status = XLATE_BAD_KEY;
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, CQE_SYNDROME_LOCAL_PROT);
	expect_cqe(2, 2, CQE_SYNDROME_WR_FLUSH);
	CU_ASSERT_EQUAL(e.error->n_received, 0);
	tbr_end(&e);
}

static void ud_datagram_longer_than_the_mtu_is_a_length_error(void)
{
	start(QP_UD);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, TBR_MTU + 1, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 1);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, CQE_SYNDROME_LOCAL_LENGTH);
	tbr_end(&e);
}

/* As soft-RoCE does: it takes a PSN and completes in its turn. */
static void ud_long_datagram_as_softroce_succeeds_unsent(void)
{
	start(QP_UD);
	e.nic.takes_long_ud = true;
	e.done_delay = 30;
	tbr_post(&e, 0, MLX5_OPCODE_SEND, TBR_MTU + 1, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 5 * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 5 * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 5 * TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	CU_ASSERT_EQUAL(tbr_job(&e, 0)->psn, 101);
	CU_ASSERT_EQUAL(tbr_job(&e, 1)->psn, 104);
	CU_ASSERT_EQUAL(e.cqe->n_received, 6);
	for (uint32_t i = 0; i < 6; i++)
		expect_cqe(i, (uint16_t)i, 0);
	tbr_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_requester_unacked_tests[] = {
	TEST(uc_message_completes_when_its_last_packet_was_handed_over),
	TEST(uc_message_not_handed_over_waits_without_a_timer),
	TEST(unreliable_operation_that_the_service_lacks_is_refused),
	TEST(uc_payload_error_flushes_the_send_queue_only),
	TEST(ud_datagram_longer_than_the_mtu_is_a_length_error),
	TEST(ud_long_datagram_as_softroce_succeeds_unsent),
	CU_TEST_INFO_NULL,
};
