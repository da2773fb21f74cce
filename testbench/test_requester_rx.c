/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requester_rx.c - what acknowledgements, NAKs, timers and wrong packets make the requester do
 */
#include <string.h>

#include "testbench/tb_requester.h"

#define ACK_31 (AETH_ACK | AETH_NO_CREDITS)

static struct tb_requester e;

static void start_with(uint8_t timeout, uint8_t retry, uint8_t rnr_retry)
{
	tbr_init(&e);
	for (uint32_t i = 0; i < TBR_QPS; i++) {
		e.qp[i].timeout = timeout;
		e.qp[i].retry = retry;
		e.qp[i].rnr_retry = rnr_retry;
	}
	tbr_start(&e, (const char *const[]){ "requester.credits=off", NULL });
}

static void expect_cqe(uint32_t i, uint16_t index, uint8_t syndrome)
{
	const struct cqe_req *c = tbr_cqe(&e, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->syndrome, syndrome);
}

static void requester_sequence_nak_restarts_mid_message(void)
{
	const struct tx_job *j;

	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 4 * TBR_MTU, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 103, NAK_SEQUENCE, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0); /* the NAK acknowledges what is before */
	j = tbr_job(&e, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_EQUAL(j->psn, 103);
	CU_ASSERT_EQUAL(j->msg_off, 2 * TBR_MTU);
	CU_ASSERT_EQUAL(j->len, 2 * TBR_MTU);
	CU_ASSERT_EQUAL(j->is_first, 0);
	CU_ASSERT_EQUAL(j->is_last, 1);
	CU_ASSERT_EQUAL(j->is_retry, 1);
	tbr_ack(&e, 0, 0, 104, ACK_31, 2);
	tbr_settle(&e);
	expect_cqe(1, 1, 0);
	tbr_end(&e);
}

/* With one retry: the wire doubles a NAK, and the second is there before anything was sent again. */
static void requester_doubled_nak_spends_one_retry(void)
{
	start_with(14, 1, 7);
	e.done_delay = 500;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 4 * TBR_MTU, 0);
	tb_run_for(&e.t, 1000);
	for (unsigned i = 0; i < 2; i++)
		tbr_ack(&e, 0, 0, 100, NAK_SEQUENCE, 0);
	tb_run_for(&e.t, 1000);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	tbr_ack(&e, 0, 0, 100, NAK_SEQUENCE, 0); /* of what was sent again */
	tb_run_for(&e.t, 1000);
	expect_cqe(0, 0, CQE_SYNDROME_RETRY_EXC);
	tbr_end(&e);
}

/* Cycle at which the i-th job of a sequence came. */
static uint64_t job_cycle(uint32_t i)
{
	return i < e.job->n_received ? e.job->cycle[i] : 0;
}

/* retry 2: three transmissions, each between T and 4T after the one before, then the error. */
static void requester_timeouts_end_in_retry_exceeded(void)
{
	const uint64_t t_cyc = (4096ull << 4) / 4; /* 4.096 us x 2^4 in cycles of 4 ns */

	start_with(4, 2, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.job->n_received, 6);
	for (uint32_t i = 2; i < 6; i += 2) {
		CU_ASSERT(job_cycle(i) - job_cycle(i - 1) >= t_cyc);
		CU_ASSERT(job_cycle(i) - job_cycle(i - 1) <= 4 * t_cyc);
	}
	expect_cqe(0, 0, CQE_SYNDROME_RETRY_EXC);
	expect_cqe(1, 1, CQE_SYNDROME_WR_FLUSH);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 3);
	tbr_end(&e);
}

static void requester_timeout_zero_never_runs(void)
{
	start_with(0, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.job->n_received, 1);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	tbr_end(&e);
}

/*
 * Progress reloads the counter: with one retry, a timeout before and one after an ACK are survived.
 */
static void requester_progress_reloads_retries(void)
{
	start_with(4, 1, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tb_run_for(&e.t, 40000); /* 1 timeout */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 1);
	tbr_ack(&e, 0, 0, 100, ACK_31, 1);
	tb_run_for(&e.t, 40000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 2);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tb_run(&e.t);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 2);
	tbr_end(&e);
}

/* Code 1 = 10 us = 2500 cycles. rnr_retry 2: three transmissions. */
static void requester_rnr_nak_waits_and_counts(void)
{
	uint64_t nak_cyc = 0;

	start_with(14, 7, 2);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	for (uint32_t i = 0; i < 3; i++) {
		tb_run_for(&e.t, 3000);
		CU_ASSERT_EQUAL(e.job->n_received, i + 1);
		if (i)
			CU_ASSERT(job_cycle(i) >= nak_cyc + 2500 && job_cycle(i) < nak_cyc + 2520);
		nak_cyc = e.t.dut->cycle;
		tbr_ack(&e, 0, 0, 100, AETH_RNR_NAK | 1, 0);
	}
	tbr_settle(&e);
	expect_cqe(0, 0, CQE_SYNDROME_RNR_RETRY_EXC);
	tbr_end(&e);
}

static void requester_rnr_retry_7_is_without_end(void)
{
	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	for (uint32_t i = 0; i < 20; i++) {
		tb_run_for(&e.t, 3000);
		CU_ASSERT_EQUAL(e.job->n_received, i + 1);
		tbr_ack(&e, 0, 0, 100, AETH_RNR_NAK | 1, 0);
	}
	tb_run_for(&e.t, 3000);
	tbr_ack(&e, 0, 0, 100, ACK_31, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	tbr_end(&e);
}

/* What the peer sends behind an RNR NAK must not cut the wait short. */
static void requester_sequence_nak_during_rnr_wait_is_ignored(void)
{
	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 100, AETH_RNR_NAK | 4, 0);
	tbr_ack(&e, 0, 0, 100, NAK_SEQUENCE, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tb_run_for(&e.t, 12000); /* code 4: 40 us */
	CU_ASSERT_EQUAL(e.job->n_received, 4);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tbr_end(&e);
}

static void requester_fatal_naks_flush_the_rest(void)
{
	static const uint8_t ends[][2] = {
		{ NAK_INVALID_REQUEST, CQE_SYNDROME_REMOTE_INVAL_REQ },
		{ NAK_REMOTE_ACCESS, CQE_SYNDROME_REMOTE_ACCESS },
		{ NAK_REMOTE_OP, CQE_SYNDROME_REMOTE_OP },
		{ AETH_NAK | 9, CQE_SYNDROME_BAD_RESP },
		{ 0x40, CQE_SYNDROME_BAD_RESP },
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		start_with(14, 7, 7);
		for (uint32_t k = 0; k < 3; k++)
			tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
		tbr_settle(&e);
		tbr_ack(&e, 0, 0, 101, ends[i][0], 1);
		tbr_ack(&e, 0, 0, 102, ACK_31, 3);
		tbr_settle(&e);
		tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
		tbr_settle(&e);
		CU_ASSERT_EQUAL(e.cqe->n_received, 4);
		CU_ASSERT_EQUAL(e.error->n_received, 1); /* the responder is told */
		expect_cqe(0, 0, 0);
		expect_cqe(1, 1, ends[i][1]);
		expect_cqe(2, 2, CQE_SYNDROME_WR_FLUSH);
		expect_cqe(3, 3, CQE_SYNDROME_WR_FLUSH);
		tbr_end(&e);
	}
}

/* A lost READ response: the READ continues where it stopped; all later packets count as one NAK. */
static void requester_implied_nak_restarts_read(void)
{
	const struct tx_job *j;

	start_with(14, 1, 7);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 4 * TBR_MTU, 0);
	tbr_settle(&e);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 101, TBR_MTU, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_MIDDLE, 103, TBR_MTU, 0);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_LAST, 104, TBR_MTU, ACK_31);
	tbr_settle(&e);
	expect_cqe(0, 0, 0); /* a response acknowledges what is before */
	CU_ASSERT_EQUAL(e.job->n_received, 3);
	j = tbr_job(&e, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_EQUAL(j->psn, 102);
	CU_ASSERT_EQUAL(j->raddr, TBR_RADDR + TBR_MTU);
	CU_ASSERT_EQUAL(j->dma_len, 3 * TBR_MTU);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 102, TBR_MTU, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_MIDDLE, 103, TBR_MTU, 0);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_LAST, 104, TBR_MTU, ACK_31);
	tbr_settle(&e);
	expect_cqe(1, 1, 0);
	for (uint32_t i = 0; i < 4 * TBR_MTU; i++)
		CU_ASSERT_EQUAL(e.mem[i], (uint8_t)(101 + i / TBR_MTU + i % TBR_MTU));
	tbr_end(&e);
}

/*
 * A READ of three packets and a SEND, one retry: packet 101 is lost, packet 102 tells of it, and the READ is
 * asked for again. Then an answer to 'psn' comes. Returns whether the READ fails for want of retries: the answer
 * shows that what was asked for again was lost again.
 */
static bool shows_a_second_loss(uint32_t psn)
{
	bool is_lost;

	start_with(14, 1, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 4 * TBR_MTU, 0);
	tbr_settle(&e);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 100, TBR_MTU, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_MIDDLE, 102, TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	if (psn < 104)
		tbr_read_rsp(&e, 0, 0, psn == 103 ? IB_READ_RSP_LAST : IB_READ_RSP_MIDDLE, psn,
			     TBR_MTU, ACK_31);
	else
		tbr_ack(&e, 0, 0, psn, ACK_31, 2);
	tbr_settle(&e);
	is_lost = e.cqe->n_received > 0;
	if (is_lost)
		expect_cqe(0, 0, CQE_SYNDROME_RETRY_EXC);
	tbr_end(&e);
	return is_lost;
}

/*
 * The rest of the READ's response was on its way when it was asked for again: it tells nothing new. That it
 * comes over, or the answer to what was not sent before, does.
 */
static void requester_second_loss_is_told_from_the_first(void)
{
	CU_ASSERT_FALSE(shows_a_second_loss(103));
	CU_ASSERT(shows_a_second_loss(102));
	CU_ASSERT(shows_a_second_loss(104));
}

/* What is lost again and again is asked for at once, as often as retries allow, without the ACK timer. */
static void requester_repeated_losses_are_not_left_to_the_timer(void)
{
	start_with(14, 3, 7);
	tbr_post(&e, 0, MLX5_OPCODE_ATOMIC_FA, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_ATOMIC_FA, 8, 8);
	tbr_settle(&e);
	for (uint32_t i = 1; i <= 3; i++) {
		tbr_atomic_rsp(&e, 0, 0, 101, 5);
		tbr_settle(&e);
		CU_ASSERT_EQUAL(e.job->n_received, 2 + 2 * i);
	}
	tbr_atomic_rsp(&e, 0, 0, 100, 4);
	tbr_atomic_rsp(&e, 0, 0, 101, 5);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	expect_cqe(1, 1, 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	tbr_end(&e);
}

static void requester_ack_past_a_read_is_an_implied_nak(void)
{
	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	CU_ASSERT_EQUAL(e.job->n_received, 4);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "implied_naks"), 1);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2); /* as a duplicate of a SEND gets it */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 4);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100, 8, ACK_31);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 2);
	tbr_end(&e);
}

static void requester_ghosts_change_nothing(void)
{
	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 0);
	tbr_settle(&e);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 99, 8, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 101, 8, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100 + (1 << 23), 8, ACK_31);
	tbr_atomic_rsp(&e, 0, 0, 101, 5);
	tbr_ack(&e, 0, 0, 99, NAK_REMOTE_ACCESS, 0);
	tbr_ack(&e, 0, 0, 101, AETH_RNR_NAK, 0);
	tbr_ack(&e, 0, 1, 100, ACK_31, 0); /* nothing is in flight there */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "ghosts"), 7);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	CU_ASSERT_EQUAL(e.job->n_received, 1);
	CU_ASSERT_EQUAL(e.mem[0], 0);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100, 8, ACK_31);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100, 8, ACK_31); /* twice */
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 1);
	tbr_end(&e);
}

/* Responses that cannot be the next one of the READ or ATOMIC they answer. */
static void requester_bad_responses_end_the_qp(void)
{
	static const struct {
		uint8_t opcode, operation;
		uint32_t len, rsp_len;
		uint8_t syndrome;
	} bad[] = {
		{ MLX5_OPCODE_RDMA_READ, IB_READ_RSP_ONLY, 8, 7, ACK_31 },
		{ MLX5_OPCODE_RDMA_READ, IB_READ_RSP_ONLY, 2 * TBR_MTU, TBR_MTU, ACK_31 },
		{ MLX5_OPCODE_RDMA_READ, IB_READ_RSP_FIRST, 2 * TBR_MTU, TBR_MTU - 4, ACK_31 },
		{ MLX5_OPCODE_RDMA_READ, IB_READ_RSP_MIDDLE, 8, 8, ACK_31 },
		{ MLX5_OPCODE_RDMA_READ, IB_READ_RSP_ONLY, 8, 8, NAK_REMOTE_OP },
		{ MLX5_OPCODE_ATOMIC_CS, IB_READ_RSP_ONLY, 8, 8, ACK_31 },
		{ MLX5_OPCODE_SEND, IB_READ_RSP_ONLY, 8, 8, ACK_31 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start_with(14, 7, 7);
		tbr_post(&e, 0, bad[i].opcode, bad[i].len, 0);
		tbr_settle(&e);
		tbr_read_rsp(&e, 0, 0, bad[i].operation, 100, bad[i].rsp_len, bad[i].syndrome);
		tbr_settle(&e);
		CU_ASSERT_EQUAL(e.cqe->n_received, 1);
		expect_cqe(0, 0, CQE_SYNDROME_BAD_RESP);
		tbr_end(&e);
	}
	start_with(14, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 0);
	tbr_settle(&e);
	tbr_atomic_rsp(&e, 0, 0, 100, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, CQE_SYNDROME_BAD_RESP);
	tbr_end(&e);
}

/* The job that was under way when the QP went back must not speak for packets sent again. */
static void requester_stale_job_done_starts_no_timer(void)
{
	start_with(4, 7, 7);
	e.is_silent = true;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 2 * TBR_MTU, 0);
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 100, NAK_SEQUENCE, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 0)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 100000);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 1)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 100000);
	CU_ASSERT_EQUAL(e.job->n_received, 3);
	tbr_ack(&e, 0, 0, 101, ACK_31, 1);
	tbr_end(&e);
}

/* A message that takes longer to leave than the timer runs is timed from its last packet on, which asks. */
static void requester_timer_waits_until_an_answer_is_asked_for(void)
{
	start_with(4, 7, 7);
	e.is_silent = true;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 12 * TBR_MTU, 0);
	tbr_settle(&e);
	CU_ASSERT_EQUAL_FATAL(e.job->n_received, 3);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 0)->tag });
	tb_run_for(&e.t, 100000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	/* of the second run the first packet but one asks: 105 */
	tb_send(e.job_done,
		&(struct job_done){ .tag = tbr_job(&e, 1)->tag, .is_asked = 1, .n_unasked = 2 });
	tbr_settle(&e);
	tbr_ack(&e, 0, 0, 105, ACK_31, 0);
	tb_run_for(&e.t, 100000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 2)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 100000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 1);
	tbr_ack(&e, 0, 0, 111, ACK_31, 1);
	tbr_settle(&e);
	expect_cqe(0, 0, 0);
	tbr_end(&e);
}

/* The responder's half failed: what is held is flushed, what is in flight ignored, and nothing is
 * told back. */
static void requester_follows_the_responder_into_error(void)
{
	start_with(4, 7, 7);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 0);
	tbr_settle(&e);
	tb_send(e.peer_error, &(struct qp_error){ .qpi = 0 });
	tbr_settle(&e);
	expect_cqe(0, 0, CQE_SYNDROME_WR_FLUSH);
	expect_cqe(1, 1, CQE_SYNDROME_WR_FLUSH);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_ONLY, 100, 8, ACK_31);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.job->n_received, 2);
	CU_ASSERT_EQUAL(e.error->n_received, 0);
	tbr_end(&e);
}

CU_TestInfo test_requester_rx_tests[] = {
	{ "sequence NAK restarts mid-message", requester_sequence_nak_restarts_mid_message },
	{ "doubled NAK spends one retry", requester_doubled_nak_spends_one_retry },
	{ "timeouts end in retry exceeded", requester_timeouts_end_in_retry_exceeded },
	{ "timeout 0 never runs", requester_timeout_zero_never_runs },
	{ "progress reloads retries", requester_progress_reloads_retries },
	{ "RNR NAK waits and counts", requester_rnr_nak_waits_and_counts },
	{ "RNR retry 7 is without end", requester_rnr_retry_7_is_without_end },
	{ "sequence NAK during an RNR wait is ignored",
	  requester_sequence_nak_during_rnr_wait_is_ignored },
	{ "fatal NAKs flush the rest", requester_fatal_naks_flush_the_rest },
	{ "implied NAK restarts a READ", requester_implied_nak_restarts_read },
	{ "second loss is told from the first", requester_second_loss_is_told_from_the_first },
	{ "repeated losses are not left to the timer",
	  requester_repeated_losses_are_not_left_to_the_timer },
	{ "ACK past a READ is an implied NAK", requester_ack_past_a_read_is_an_implied_nak },
	{ "ghosts change nothing", requester_ghosts_change_nothing },
	{ "bad responses end the QP", requester_bad_responses_end_the_qp },
	{ "requester follows the responder into Error",
	  requester_follows_the_responder_into_error },
	{ "timer waits until an answer is asked for",
	  requester_timer_waits_until_an_answer_is_asked_for },
	{ "stale job_done starts no timer", requester_stale_job_done_starts_no_timer },
	CU_TEST_INFO_NULL
};
