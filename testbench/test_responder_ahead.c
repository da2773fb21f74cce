/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_ahead.c - range checks of packets that wait for their turn: how many, and that what
 * is done stays in order
 */
#include "testbench/tb_responder.h"

#define MAX_SENT 12u

static struct tb_responder s;

/* Checks stay unanswered from the start. */
static void start(const char *set)
{
	tbs_init(&s);
	s.holds_checks = true;
	tbs_start(&s, (const char *const[]){ "responder.credits=off", set, NULL });
}

static void send(uint8_t operation, uint32_t n, uint32_t rkey)
{
	bool has_payload = operation == IB_WRITE_ONLY || operation == IB_SEND_ONLY_INV;

	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = TBS_PSN + n,
					.len = has_payload ? 8 : 0,
					.ack_req = true,
					.va = TBS_BASE + 64 * n,
					.rkey = rkey,
					.dma_len = 8 });
}

/* The last answer says that all before PSN number 'n' was done. */
static void expect_done(uint32_t n)
{
	CU_ASSERT_FATAL(s.n_acks > 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, TBS_PSN + n - 1);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].msn, n);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, AETH_ACK | AETH_NO_CREDITS);
}

static void checks_of_writes_that_wait_overlap_up_to_their_number(void)
{
	static const struct {
		const char *set;
		uint32_t n_ahead;
	} want[] = { { "responder.checks=0", 0 },
		     { "responder.checks=3", 3 },
		     { "responder.checks=16", MAX_SENT - 1 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		start(want[i].set);
		for (uint32_t n = 0; n < MAX_SENT; n++)
			send(IB_WRITE_ONLY, n, TBS_RKEY);
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.n_checks, 1 + want[i].n_ahead);
		CU_ASSERT_EQUAL(s.n_acks, 0);
		s.holds_checks = false;
		tbs_answer_checks(&s, s.n_held);
		CU_ASSERT_EQUAL(s.n_checks, MAX_SENT); /* each once */
		expect_done(MAX_SENT);
		tbs_end(&s);
	}
}

static void reads_checked_out_of_order_are_answered_in_order(void)
{
	start(NULL);
	for (uint32_t n = 0; n < 4; n++)
		send(IB_READ_REQUEST, n, TBS_RKEY);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_checks, 4);
	CU_ASSERT_EQUAL(s.job->n_received, 0);
	s.holds_checks = false;
	tbs_answer_checks(&s, 4); /* the last one first */
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 4);
	for (uint32_t n = 0; n < 4; n++)
		CU_ASSERT_EQUAL(tbs_job(&s, n)->raddr, TBS_BASE + 64 * n);
	tbs_end(&s);
}

/* A wrong key stops the QP in its turn, not before; what was checked behind it is dropped. */
static void check_that_fails_counts_when_its_turn_comes(void)
{
	start(NULL);
	for (uint32_t n = 0; n < 6; n++)
		send(IB_WRITE_ONLY, n, n == 3 ? TBS_RKEY + 1 : TBS_RKEY);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_checks, 6);
	tbs_answer_checks(&s, 6);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, TBS_PSN + 3);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_REMOTE_ACCESS);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].msn, 3);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 2);
	tbs_end(&s);
}

static void nothing_is_checked_behind_an_invalidation(void)
{
	start(NULL);
	tbs_recv(&s, 0, 32768, 64, 1);
	send(IB_WRITE_ONLY, 0, TBS_RKEY);
	send(IB_SEND_ONLY_INV, 1, 0);
	send(IB_WRITE_ONLY, 2, TBS_RKEY);
	send(IB_WRITE_ONLY, 3, TBS_RKEY);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_checks, 1);
	tbs_answer_checks(&s, 1); /* the SEND takes the key, and then the next WRITE's turn comes */
	CU_ASSERT_EQUAL(tb_stat(&s.t, "invalidations"), 1);
	CU_ASSERT_EQUAL(s.n_checks, 2);
	s.holds_checks = false;
	tbs_answer_checks(&s, 1);
	expect_done(4);
	tbs_end(&s);
}

/* A packet that is dropped while it is checked: its context is used again when the answer came. */
static void context_of_a_dropped_packet_waits_for_its_answer(void)
{
	start("responder.contexts=2");
	send(IB_WRITE_ONLY, 0, TBS_RKEY);
	send(IB_WRITE_ONLY, 5, TBS_RKEY); /* behind a gap */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_checks, 2);
	tbs_answer_checks(&s, 1);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_SEQUENCE);
	CU_ASSERT_EQUAL(((const struct responder *)(void *)s.t.dut)->n_ctx, 1);
	for (uint32_t n = 1; n < 6; n++) /* one at a time in the other context */
		send(IB_WRITE_ONLY, n, TBS_RKEY);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_checks, 3);
	tbs_answer_checks(&s, 1); /* the late one: both contexts are in use */
	CU_ASSERT_EQUAL(s.n_checks, 4);
	s.holds_checks = false;
	tbs_answer_checks(&s, 2);
	expect_done(6);
	tbs_end(&s);
}

/* The bench would notice an order that is not the packets'. */
static void answers_to_a_wrong_order_are_noticed(void)
{
	start("responder.checks=0");
	send(IB_READ_REQUEST, 0, TBS_RKEY);
	send(IB_READ_REQUEST, 2, TBS_RKEY);
	s.holds_checks = false;
	tbs_settle(&s);
	tbs_answer_checks(&s, s.n_held);
	CU_ASSERT_EQUAL(s.job->n_received, 1);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_SEQUENCE);
	tbs_end(&s);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_responder_ahead_tests[] = {
	TEST(checks_of_writes_that_wait_overlap_up_to_their_number),
	TEST(reads_checked_out_of_order_are_answered_in_order),
	TEST(check_that_fails_counts_when_its_turn_comes),
	TEST(nothing_is_checked_behind_an_invalidation),
	TEST(context_of_a_dropped_packet_waits_for_its_answer),
	TEST(answers_to_a_wrong_order_are_noticed),
	CU_TEST_INFO_NULL
};
