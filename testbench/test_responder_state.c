/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_state.c - a QP's lives at the responder: what came before the next one begins is not
 * of it
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_responder.h"

#define PACKETS 8u
#define PSN 0xfffffcu /* of the life to come */
#define LEN 64u

static struct tb_responder s;

/* WRITE number i of a QP, not before cycle 'at': its bytes are seed + i, and those that follow. */
static void send(uint64_t at, uint32_t qpi, uint32_t psn, uint32_t i, uint32_t seed)
{
	tbs_send(&s, &(struct tbs_pkt){ .at = at,
					.qpi = qpi,
					.operation = IB_WRITE_ONLY,
					.psn = psn_add(psn, i),
					.len = LEN,
					.seed = (uint8_t)(seed + i),
					.ack_req = true,
					.va = TBS_BASE + (qpi * PACKETS + i) * LEN,
					.rkey = TBS_RKEY,
					.dma_len = LEN });
}

/* Packets of the other QP, which all become ready to run at 'from': each cycle there is one more in front. */
static void keep_busy(uint64_t from)
{
	for (uint32_t i = PACKETS; i-- > 0;)
		tb_send_at(s.xlate_rsp, from, &s.check[i]);
	s.n_held = 0;
	s.holds_checks = false;
}

/*
 * Packets with the PSNs of the next life come one a cycle, the word that it begins at cycle 'k' of them. Those
 * before it are dropped. Of those behind it the first is in order only when it is the first of all.
 */
static void begin_beside_packets(uint32_t k, const char *set)
{
	const struct responder *r;
	uint64_t from;
	uint32_t n;

	memset(&s, 0, sizeof(s));
	tbs_init(&s);
	tbs_start(&s, (const char *[]){ set, NULL });
	r = (const struct responder *)(void *)s.t.dut;
	tb_send(s.peer_error, &(struct qp_error){ .kind = QP_CLOSED });
	s.holds_checks = true;
	for (uint32_t i = 0; i < PACKETS; i++)
		send(0, 1, TBS_PSN, i, 101);
	tbs_settle(&s);
	CU_ASSERT_EQUAL_FATAL(s.n_held, PACKETS);
	from = s.t.dut->cycle + 10;
	keep_busy(from);
	for (uint32_t i = 0; i < PACKETS; i++)
		send(from + PACKETS + i, 0, PSN, i, 1);
	tb_send_at(s.peer_error, from + PACKETS + k,
		   &(struct qp_error){ .kind = QP_OPENED, .psn = PSN });
	tbs_settle(&s);
	CU_ASSERT_EQUAL(r->n_ctx, 0);
	CU_ASSERT_EQUAL(r->packets, 2 * PACKETS);
	n = psn_diff(r->qp[0].epsn, PSN) > 0 ? PACKETS : 0; /* all of them, or none */
	CU_ASSERT_EQUAL(r->qp[0].epsn, psn_add(PSN, n));
	for (uint32_t i = 0; i < PACKETS; i++)
		send(0, 0, PSN, i, 33);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(r->qp[0].epsn, psn_add(PSN, PACKETS));
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, psn_add(PSN, PACKETS - 1));
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome & AETH_KIND_MASK, AETH_ACK);
	for (uint32_t i = 0; i < PACKETS; i++) {
		CU_ASSERT_EQUAL(s.mem[i * LEN], i + (n ? 1 : 33));
		CU_ASSERT_EQUAL(s.mem[(PACKETS + i) * LEN], i + 101);
	}
	tbs_end(&s);
}

static void life_begins_behind_the_packets_that_came_before_it(void)
{
	for (uint32_t k = 0; k < 2 * PACKETS; k++) {
		begin_beside_packets(k, NULL);
		begin_beside_packets(k, "responder.pkt_cyc=3");
		begin_beside_packets(k, "responder.contexts=9");
	}
}

static void fetch_add(uint64_t at, uint32_t i)
{
	tbs_send(&s, &(struct tbs_pkt){ .at = at,
					.operation = IB_FETCH_ADD,
					.psn = TBS_PSN + i,
					.va = TBS_BASE + PACKETS * LEN,
					.rkey = TBS_RKEY,
					.swap_add = 1 });
}

/*
 * Two FETCH_ADDs of a QP whose cap holds the second's answer back for a while. The QP is reset while the
 * second is executed, and begins another life at cycle 'at': nothing of the old one is on its way then.
 * Returns how many answers went out.
 */
static uint32_t close_beside_atomic(uint64_t at)
{
	const struct responder *r;
	uint32_t n;

	memset(&s, 0, sizeof(s));
	tbs_init(&s);
	s.qp[0].rate_bps = GBPS; /* an answer takes 0.75 us, 188 cycles */
	tbs_start(&s, (const char *[]){ "responder.rate_burst=4KiB", NULL });
	r = (const struct responder *)(void *)s.t.dut;
	fetch_add(10, 0);
	fetch_add(200, 1);
	tb_send_at(s.peer_error, 220, &(struct qp_error){ .kind = QP_CLOSED });
	tb_send_at(s.peer_error, at, &(struct qp_error){ .kind = QP_OPENED, .psn = PSN });
	tbs_settle(&s);
	for (uint32_t i = 0; i < PACKETS; i++)
		send(0, 0, PSN, i, 1);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(r->qp[0].epsn, psn_add(PSN, PACKETS));
	CU_ASSERT_EQUAL(r->qp[0].jobs_out, 0);
	CU_ASSERT_FATAL(s.n_acks > 0);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].psn, psn_add(PSN, PACKETS - 1));
	n = s.job->n_received;
	tbs_end(&s);
	return n;
}

static void life_does_not_answer_what_the_last_one_executed(void)
{
	for (uint64_t at = 230; at < 320; at++)
		CU_ASSERT_EQUAL(close_beside_atomic(at), 1);
}

CU_TestInfo test_responder_state_tests[] = {
	{ "life_does_not_answer_what_the_last_one_executed",
	  life_does_not_answer_what_the_last_one_executed },
	{ "life_begins_behind_the_packets_that_came_before_it",
	  life_begins_behind_the_packets_that_came_before_it },
	CU_TEST_INFO_NULL,
};
