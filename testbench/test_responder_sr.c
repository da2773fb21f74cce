/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_sr.c - selective repeat at the responder: what stands behind a gap and does not
 * belong there is not written to memory, and buffers of what is held come back; and packets of a
 * response that the requester asks for again
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

/* A READ request for 'n' packets from that with number 'at' on, from packet 'from' of the memory on. */
static void ask(uint64_t cyc, uint32_t at, uint32_t from, uint32_t n)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = IB_READ_REQUEST,
					.at = cyc,
					.psn = psn_add(TBS_PSN, at),
					.va = TBS_BASE + from * TBS_MTU,
					.rkey = TBS_RKEY,
					.dma_len = n * TBS_MTU });
}

/* The jobs from the i-th on that answer again, together: packets 'at' to before at + n. */
static void expect_again(uint32_t i, uint32_t at, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		const struct tx_job *j = tbs_job(&s, i + k);

		CU_ASSERT_EQUAL(j->psn, psn_add(TBS_PSN, at + k));
		CU_ASSERT_EQUAL(j->raddr, TBS_BASE + (at + k) * TBS_MTU);
		CU_ASSERT_EQUAL(j->len, TBS_MTU);
		CU_ASSERT_EQUAL(j->is_first, k == 0);
		CU_ASSERT_EQUAL(j->is_last, k + 1 == n);
		CU_ASSERT(j->is_retry);
	}
}

static void start_single(const char *recovery)
{
	memset(&s, 0, sizeof(s));
	tbs_init(&s);
	tbs_start(&s, (const char *const[]){ recovery, "responder.burst=1", NULL });
}

/* While a long response goes out, two parts of one before it are asked for: they go first, in turn. */
static void parts_of_a_response_go_before_what_is_new(void)
{
	uint32_t i = 8, n_new;

	start_single(sr[0]);
	ask(0, 0, 0, 8);
	ask(0, 8, 8, 200);
	ask(100, 1, 1, 2);
	ask(100, 5, 5, 1);
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 8 + 200 + 3);
	while (tbs_job(&s, i)->psn == TBS_PSN + i)
		i++;
	n_new = i;
	CU_ASSERT(n_new > 8 && n_new < 208);
	expect_again(i, 1, 2);
	for (i += 2; tbs_job(&s, i)->psn == TBS_PSN + n_new; i++)
		n_new++;
	expect_again(i, 5, 1);
	for (i++; i < s.job->n_received; i++, n_new++) {
		CU_ASSERT_EQUAL(tbs_job(&s, i)->psn, TBS_PSN + n_new);
		CU_ASSERT_FALSE(tbs_job(&s, i)->is_first);
	}
	CU_ASSERT(tbs_job(&s, i - 1)->is_last);
	tbs_end(&s);
}

/* Of a response that still goes out: what was sent is sent again, what was not goes once. */
static void parts_that_were_not_sent_are_not_sent_twice(void)
{
	uint32_t n_sent[200] = { 0 };

	start_single(sr[0]);
	ask(0, 0, 0, 200);
	ask(100, 150, 150, 20); /* ahead of where it stands */
	ask(101, 2, 2, 3);      /* behind */
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 203);
	for (uint32_t i = 0; i < s.job->n_received; i++)
		n_sent[tbs_job(&s, i)->psn - TBS_PSN]++;
	for (uint32_t at = 0; at < 200; at++)
		CU_ASSERT_EQUAL(n_sent[at], 1 + (at >= 2 && at < 5));
	ask(0, 0, 0, 200); /* all of it, once it is out */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 403);
	tbs_end(&s);
}

/* A part that begins in what was sent and ends in what was not: it goes at once, up to there. */
static void part_that_was_sent_by_half_goes_by_half(void)
{
	uint32_t n_sent[200] = { 0 }, n_last = 0, n_twice = 0;

	start_single(sr[0]);
	ask(0, 0, 0, 200);
	ask(100, 2, 2, 190);
	tbs_settle(&s);
	for (uint32_t i = 0; i < s.job->n_received; i++) {
		n_sent[tbs_job(&s, i)->psn - TBS_PSN]++;
		n_last += tbs_job(&s, i)->is_last;
	}
	CU_ASSERT_EQUAL(n_last, 1);
	while (n_sent[2 + n_twice] == 2)
		n_twice++;
	CU_ASSERT(n_twice > 2 && n_twice < 190);
	CU_ASSERT_EQUAL(s.job->n_received, 200 + n_twice);
	tbs_end(&s);
}

/* Only within the READ that was executed; go-back-N knows no part that ends before its end. */
static void parts_that_were_not_read_are_dropped(void)
{
	start_single(sr[0]);
	ask(0, 0, 0, 8);
	tbs_settle(&s);
	ask(0, 4, 4, 5); /* past its end */
	ask(0, 4, 3, 1); /* not at its place */
	ask(0, 4, 4, 0);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 8);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 3);
	ask(0, 4, 4, 2);
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 10);
	expect_again(8, 4, 2);
	tbs_end(&s);
	start_single("responder.recovery=gbn");
	ask(0, 0, 0, 8);
	ask(0, 4, 4, 2);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.job->n_received, 8);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 1);
	tbs_end(&s);
}

/* However often its answer is asked for, an ATOMIC is executed once. */
static void atomic_is_answered_again_from_its_resource(void)
{
	struct tbs_pkt add = { .operation = IB_FETCH_ADD,
			       .psn = TBS_PSN,
			       .va = TBS_BASE,
			       .rkey = TBS_RKEY,
			       .swap_add = 3 };

	start_single(sr[0]);
	s.mem[0] = 5;
	for (uint32_t i = 0; i < 7; i++) { /* the first three times, then four others */
		add.psn = TBS_PSN + (i < 3 ? 0 : i - 2);
		tbs_send(&s, &add);
		tbs_settle(&s);
	}
	CU_ASSERT_EQUAL(s.mem[0], 5 + 5 * 3);
	CU_ASSERT_EQUAL_FATAL(s.job->n_received, 7);
	for (uint32_t i = 0; i < 7; i++) {
		CU_ASSERT_EQUAL(tbs_job(&s, i)->psn, TBS_PSN + (i < 3 ? 0 : i - 2));
		CU_ASSERT_EQUAL(tbs_job(&s, i)->swap_add, 5 + 3 * (i < 3 ? 0 : i - 2));
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
	TEST(parts_of_a_response_go_before_what_is_new),
	TEST(parts_that_were_not_sent_are_not_sent_twice),
	TEST(parts_that_were_not_read_are_dropped),
	TEST(part_that_was_sent_by_half_goes_by_half),
	TEST(atomic_is_answered_again_from_its_resource),
	CU_TEST_INFO_NULL,
};
