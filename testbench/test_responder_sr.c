/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_sr.c - selective repeat at the responder: what stands behind a gap and does not
 * belong there is not written to memory, and buffers of what is held come back
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "models/packet/opcode.h"
#include "models/responder.h"
#include "testbench/tb_responder.h"

static const char *const sr[] = { "responder.recovery=sr", NULL };
static struct tb_responder s;

static const struct responder *start(void)
{
	memset(&s, 0, sizeof(s));
	tbs_init(&s);
	s.has_sacks = true;
	tbs_start(&s, sr);
	return (const struct responder *)(void *)s.t.dut;
}

/* A packet of MTU bytes unless 'len' says less; WRITEs go to the start of the memory. */
static void send(uint8_t operation, uint32_t at, uint32_t len, uint32_t message)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn_add(TBS_PSN, at),
					.len = len,
					.seed = (uint8_t)(1 + at),
					.ack_req = true,
					.va = TBS_BASE,
					.rkey = TBS_RKEY,
					.dma_len = message });
	tbs_settle(&s);
}

static bool is_blank(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (s.mem[i])
			return false;
	return true;
}

/*
 * The first packet of a message, then one behind a gap that no sender of this message sends, then
 * the missing one. MTU 256.
 */
struct stray {
	uint32_t message; /* bytes */
	uint8_t operation;
	uint32_t at, len; /* of the stray one */
	uint32_t fill_to; /* the packets up to here follow */
	bool is_late;     /* nobody can tell before the message has ended */
};

static void run_stray(const struct stray *c)
{
	const struct responder *r = start();
	uint32_t n = psn_count(c->message, TBS_MTU);

	send(IB_WRITE_FIRST, 0, TBS_MTU, c->message);
	send(c->operation, c->at, c->len, c->len);
	CU_ASSERT_EQUAL(r->placed, 0);
	CU_ASSERT_EQUAL(r->n_held, 1);
	CU_ASSERT(is_blank(TBS_MTU, TBS_MEM));
	for (uint32_t at = 1; at <= c->fill_to; at++)
		send(at + 1 == n ? IB_WRITE_LAST : IB_WRITE_MIDDLE, at,
		     at + 1 == n ? c->message - at * TBS_MTU : TBS_MTU, 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_INVALID_REQUEST);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, psn_add(TBS_PSN, c->at));
	CU_ASSERT_EQUAL(r->messages, c->is_late);
	CU_ASSERT(is_blank(c->is_late ? c->message : TBS_MTU * (c->fill_to + 1), TBS_MEM));
	CU_ASSERT_EQUAL(r->n_held, 0);
	tbs_end(&s);
}

static void packet_that_is_not_of_the_message_is_not_written(void)
{
	static const struct stray strays[] = {
		/* of three packets, the last of 88 bytes: a Middle, a Last behind its end */
		{ 600, IB_WRITE_MIDDLE, 3, TBS_MTU, 2, true },
		{ 600, IB_WRITE_MIDDLE, 5, TBS_MTU, 2, true },
		{ 600, IB_WRITE_LAST, 3, 88, 2, true },
		{ 600, IB_WRITE_LAST, 3, TBS_MTU, 2, true },
		/* a Middle in place of the last, which runs past the end; a Last too long, too short */
		{ 600, IB_WRITE_MIDDLE, 2, TBS_MTU, 1, false },
		{ 600, IB_WRITE_MIDDLE, 2, 88, 1, false },
		{ 600, IB_WRITE_LAST, 2, 200, 1, false },
		{ 600, IB_WRITE_LAST, 2, 40, 1, false },
		/* a Last in the middle; another message's start; another operation */
		{ 1000, IB_WRITE_LAST, 2, TBS_MTU, 1, false },
		{ 600, IB_WRITE_ONLY, 2, 88, 1, false },
		{ 1000, IB_WRITE_FIRST, 2, TBS_MTU, 1, false },
		{ 600, IB_SEND_LAST, 2, 88, 1, false },
		{ 1000, IB_SEND_MIDDLE, 2, TBS_MTU, 1, false },
	};

	for (uint32_t i = 0; i < ARRAY_LEN(strays); i++) {
		struct stray c = strays[i];

		/* one that is two behind the end waits for the one between */
		if (c.at > c.fill_to + 1) {
			const struct responder *r = start();

			send(IB_WRITE_FIRST, 0, TBS_MTU, c.message);
			send(c.operation, c.at, c.len, 0);
			CU_ASSERT_EQUAL(r->placed, 0);
			CU_ASSERT(is_blank(TBS_MTU, TBS_MEM));
			tb_send(s.peer_error, &(struct qp_error){ .kind = QP_FAILED });
			tbs_end(&s);
		} else {
			run_stray(&c);
		}
	}
}

/* SENDs wait for their turn: what runs past the end of its receive is found then. */
static void send_past_its_receive_is_not_written(void)
{
	const struct responder *r = start();

	tbs_recv(&s, 0, 0, 600, 2);
	send(IB_SEND_FIRST, 0, TBS_MTU, 0);
	send(IB_SEND_LAST, 2, 200, 0);
	CU_ASSERT_EQUAL(r->n_held, 1);
	CU_ASSERT(is_blank(TBS_MTU, TBS_MEM));
	send(IB_SEND_MIDDLE, 1, TBS_MTU, 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_INVALID_REQUEST);
	CU_ASSERT(is_blank(2 * TBS_MTU, TBS_MEM));
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->syndrome, CQE_SYNDROME_LOCAL_LENGTH);
	tbs_end(&s);
}

/* The QP fails or is reset: what it holds for a peer that does not go on comes back. */
static void held_packets_are_released_with_their_qp(void)
{
	static const uint8_t ends[] = { QP_FAILED, QP_CLOSED };

	for (uint32_t i = 0; i < ARRAY_LEN(ends); i++) {
		const struct responder *r = start();

		for (uint32_t at = 1; at < 20; at += 1 + at % 3)
			send(IB_WRITE_ONLY, at, 100, 100);
		CU_ASSERT(r->n_held > 10 && r->hold_pool->in_use == r->n_held);
		tb_send(s.peer_error, &(struct qp_error){ .kind = ends[i] });
		tbs_settle(&s);
		CU_ASSERT_EQUAL(r->n_held, 0);
		CU_ASSERT_EQUAL(r->hold_pool->in_use, 0);
		send(IB_WRITE_ONLY, 21, 100, 100); /* nothing more is kept */
		CU_ASSERT_EQUAL(r->hold_pool->in_use, 0);
		tbs_end(&s);
	}
}

/* Without a gap only those that ask for an ACK get one; from a gap on, all until nothing is kept. */
static void acks_are_as_asked_for_but_around_a_gap(void)
{
	static const struct {
		uint8_t operation, at;
		bool is_answered;
		uint8_t syndrome, upto; /* of the last answer */
	} script[] = {
		{ IB_WRITE_FIRST, 0, false, 0, 0 },
		{ IB_WRITE_MIDDLE, 1, false, 0, 0 },
		{ IB_WRITE_MIDDLE, 3, true, NAK_SEQUENCE, 2 },
		{ IB_WRITE_MIDDLE, 5, true, NAK_SEQUENCE, 2 },
		{ IB_WRITE_MIDDLE, 2, true, AETH_ACK | AETH_NO_CREDITS, 3 },
		{ IB_WRITE_MIDDLE, 4, true, AETH_ACK | AETH_NO_CREDITS, 5 },
		{ IB_WRITE_MIDDLE, 6, false, 0, 0 },
	};

	memset(&s, 0, sizeof(s));
	tbs_init(&s);
	tbs_start(&s, (const char *const[]){ sr[0], "responder.credits=off", NULL });
	for (uint32_t i = 0; i < ARRAY_LEN(script); i++) {
		uint32_t before = s.n_acks;

		tbs_send(&s, &(struct tbs_pkt){ .operation = script[i].operation,
						.psn = TBS_PSN + script[i].at,
						.len = TBS_MTU,
						.va = TBS_BASE,
						.rkey = TBS_RKEY,
						.dma_len = 8 * TBS_MTU });
		tbs_settle(&s);
		CU_ASSERT_EQUAL_FATAL(s.n_acks > before, script[i].is_answered);
		if (!script[i].is_answered)
			continue;
		CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, TBS_PSN + script[i].upto);
		CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, script[i].syndrome);
	}
	tbs_end(&s);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_responder_sr_tests[] = {
	TEST(packet_that_is_not_of_the_message_is_not_written),
	TEST(send_past_its_receive_is_not_written),
	TEST(held_packets_are_released_with_their_qp),
	TEST(acks_are_as_asked_for_but_around_a_gap),
	CU_TEST_INFO_NULL,
};
