/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_state.c - a QP's lives at the responder: what came before the next one begins is not
 * of it
 */
#include <CUnit/CUnit.h>
#include <string.h>

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

CU_TestInfo test_responder_state_tests[] = {
	{ "life_begins_behind_the_packets_that_came_before_it",
	  life_begins_behind_the_packets_that_came_before_it },
	CU_TEST_INFO_NULL,
};
