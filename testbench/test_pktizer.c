/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pktizer.c - packets against a reference that cuts a message laid out in one piece, byte by
 * byte
 */
#include <stdlib.h>
#include <string.h>

#include "models/verbs/wqe.h"
#include "testbench/tb_pktizer.h"

#define NO_LIMIT UINT32_MAX

/* Jobs of every length from 0 to three MTUs and one more byte, cut into 1 to 4 segments. */
static void send_all_lengths(struct tb_pktizer *e, struct tx_job j, uint32_t step)
{
	for (uint32_t len = 0; len <= 3 * TB_PKTIZER_MTU + 1; len += step) {
		j.len = j.dma_len = len;
		j.psn = (0xfffff0 + len) & 0xffffff;
		tb_pktizer_put_segments(e, &j, len, 1 + len % 4);
		buf_ref(&e->t.sim, j.buf); /* the reference needs it */
		tb_pktizer_send_job(e, &j);
	}
}

static const struct tx_job write_job = {
	.raddr = 0x1122334455667788ull,
	.rkey = 0xcafe0001,
	.imm = 0x01020304,
	.qpi = QPI_RC,
	.kind = JOB_WRITE,
	.is_first = 1,
	.is_last = 1,
	.solicited = 1,
};

static void pktizer_every_length_equals_reference(void)
{
	static const struct {
		uint8_t kind, has_imm, qpi;
	} kinds[] = {
		{ JOB_WRITE, 0, QPI_RC }, { JOB_WRITE, 1, QPI_V6 },    { JOB_SEND, 0, QPI_UC },
		{ JOB_SEND, 1, QPI_RC },  { JOB_SEND_INV, 1, QPI_RC }, { JOB_WRITE, 1, QPI_UC },
	};

	for (unsigned k = 0; k < ARRAY_LEN(kinds); k++) {
		struct tx_job j = write_job;
		struct tb_pktizer e;

		tb_pktizer_start(&e, NULL, 20);
		j.kind = kinds[k].kind;
		j.has_imm = kinds[k].has_imm & 1;
		j.qpi = kinds[k].qpi;
		send_all_lengths(&e, j, 1);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
		CU_ASSERT_EQUAL(e.req_done->n_received, e.n_jobs);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "packets"), e.n_pkt);
		tb_pktizer_release_wqes(&e);
		tb_pktizer_end(&e);
	}
}

/* The oracle itself: one wrong byte, one wrong place to cut. */
static void pktizer_wrong_byte_and_wrong_cut_are_caught(void)
{
	struct tb_pktizer e;

	tb_pktizer_start(&e, NULL, 0);
	send_all_lengths(&e, write_job, 97);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
	CU_ASSERT(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU - 4) > 0);
	for (uint32_t i = TB_PKTIZER_MEM - 4200; i < TB_PKTIZER_MEM; i++)
		e.mem[i] ^= 1;
	CU_ASSERT(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU) > 0);
	tb_pktizer_release_wqes(&e);
	tb_pktizer_end(&e);
}

static void pktizer_any_stalls_equal_reference(void)
{
	char in[64], out[64];

	for (unsigned k = 0; k < 32; k++) {
		const char *sets[] = { in,
				       out,
				       k < 16 ? "pktizer.inflight=1" : "pktizer.inflight=7",
				       "pktizer.req_packets=3",
				       "pktizer.rsp_packets=2",
				       NULL };
		struct tx_job j = write_job;
		struct tb_pktizer e;

		tb_stall_sets(&pktizer_class, k / 4 % 4, k % 4, in, out);
		tb_pktizer_start(&e, sets, 60);
		send_all_lengths(&e, write_job, 53);
		for (uint32_t len = 0; len <= 3 * TB_PKTIZER_MTU + 1; len += 67) {
			j = (struct tx_job){ .kind = JOB_READ_RSP,
					     .raddr = TB_PKTIZER_BASE + len,
					     .rkey = 5,
					     .len = len,
					     .psn = len,
					     .msn = 77,
					     .syndrome = 0x1f,
					     .is_first = 1,
					     .is_last = 1 };
			tb_pktizer_send_job(&e, &j);
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
		CU_ASSERT_EQUAL(tb_pktizer_differences(&e, true, TB_PKTIZER_MTU), 0);
		CU_ASSERT_EQUAL(e.req_done->n_received + e.n_rsp_done, e.n_jobs);
		tb_pktizer_release_wqes(&e);
		tb_pktizer_end(&e);
	}
}

/* A message in several runs, and a run that goes back into its middle. */
static void pktizer_runs_of_one_message_continue_it(void)
{
	struct tx_job j = write_job;
	uint32_t len = 5 * TB_PKTIZER_MTU + 17;
	struct tb_pktizer e;

	tb_pktizer_start(&e, NULL, 10);
	tb_pktizer_put_segments(&e, &j, len, 3);
	j.dma_len = len;
	j.psn = 100;
	static const struct {
		uint8_t from, n, retry;
	} runs[] = { { 0, 2, 0 }, { 2, 3, 0 }, { 5, 1, 0 }, { 3, 3, 1 } };
	for (unsigned i = 0; i < ARRAY_LEN(runs); i++) {
		struct tx_job r = j;

		r.msg_off = runs[i].from * TB_PKTIZER_MTU;
		r.psn = 100u + runs[i].from;
		r.len = runs[i].from + runs[i].n == 6 ? len - r.msg_off
						      : runs[i].n * TB_PKTIZER_MTU;
		r.is_first = runs[i].from == 0;
		r.is_last = runs[i].from + runs[i].n == 6;
		r.is_retry = runs[i].retry & 1;
		buf_ref(&e.t.sim, r.buf);
		tb_pktizer_send_job(&e, &r);
	}
	buf_unref(&e.req_job->b, j.buf);
	buf_ref(&e.t.sim, j.buf);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 9);
	CU_ASSERT(tb_pktizer_got(&e, 6)->is_msg_first); /* a pass begins */
	((struct packet *)(void *)(e.bytes + e.at[6]))->is_msg_first = false;
	CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "retry_packets"), 3);
	buf_unref(&e.req_job->b, j.buf);
	tb_pktizer_end(&e);
}

static void pktizer_inline_bytes_come_from_wqe(void)
{
	struct tx_job j = write_job;
	struct tb_pktizer e;

	tb_pktizer_start(&e, NULL, 0);
	j.is_inline = 1;
	j.seg_off = 36;
	for (uint32_t len = 0; len <= 700; len += 25) {
		j.buf = pool_alloc(e.wqes);
		for (uint32_t i = 0; i < 1024; i++)
			((uint8_t *)buf_data(&e.t.sim, j.buf))[i] = (uint8_t)(i * 7 + len);
		buf_ref(&e.t.sim, j.buf);
		j.len = j.dma_len = len;
		tb_pktizer_send_job(&e, &j);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
	CU_ASSERT_EQUAL(e.dma.n_reads, 0);
	tb_pktizer_release_wqes(&e);
	tb_pktizer_end(&e);
}

static void pktizer_requests_without_payload_equal_reference(void)
{
	static const uint8_t kinds[] = { JOB_READ_REQ, JOB_CMP_SWAP, JOB_FETCH_ADD,
					 JOB_ATOMIC_ACK };
	struct tb_pktizer e;

	tb_pktizer_start(&e, NULL, 0);
	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		struct tx_job j = { .kind = kinds[i],
				    .raddr = 0x0102030405060708ull,
				    .rkey = 0x99,
				    .psn = 0xffffff,
				    .swap_add = 0xf0e0d0c0b0a09080ull,
				    .compare = 0x1111222233334444ull,
				    .dma_len = kinds[i] == JOB_READ_REQ ? 1u << 31 : 0,
				    .msn = 0x123456,
				    .syndrome = 0x05,
				    .is_first = 1,
				    .is_last = 1 };

		tb_pktizer_send_job(&e, &j);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_pkt, 4);
	CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
	CU_ASSERT_EQUAL(tb_pktizer_differences(&e, true, TB_PKTIZER_MTU), 0);
	CU_ASSERT_EQUAL(e.dma.n_reads, 0);
	tb_pktizer_end(&e);
}

/* BTH.AckReq of packet i. */
static bool ack_req(const struct tb_pktizer *e, uint32_t i)
{
	struct packet_view v;

	return packet_parse(tb_pktizer_got(e, i), &v) == DROP_NONE && v.bth.ackreq;
}

static void send_long(struct tb_pktizer *e, uint32_t qpi, uint32_t packets)
{
	struct tx_job j = write_job;

	j.qpi = qpi;
	j.len = packets * TB_PKTIZER_MTU;
	tb_pktizer_put_segments(e, &j, j.len, 1);
	tb_pktizer_send_job(e, &j);
}

static void pktizer_ack_req_follows_parameter(void)
{
	static const struct {
		const char *set;
		uint32_t first;
	} cases[] = {
		{ "pktizer.ack_req_every=65", 65 },
		{ "pktizer.ack_req_every=0", NO_LIMIT },
		{ "pktizer.ack_req_every=3", 3 },
	};

	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		uint32_t since = 0;
		struct tb_pktizer e;

		tb_pktizer_start(&e, (const char *[]){ cases[k].set, "pktizer.mig_req=off", NULL },
				 0);
		send_long(&e, QPI_RC, 150);
		send_long(&e, QPI_UC, 3);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(e.n_pkt, 153);
		for (uint32_t i = 0; i < 150; i++) {
			bool want = i == 149 || since == cases[k].first;

			CU_ASSERT_EQUAL(ack_req(&e, i), want);
			CU_ASSERT_EQUAL(tb_pktizer_got(&e, i)->data[tb_pktizer_got(&e, i)->l4 + 1] &
						0x40,
					0);
			since = want ? 0 : since + 1;
		}
		CU_ASSERT(!ack_req(&e, 150) && !ack_req(&e, 152)); /* UC */
		tb_pktizer_end(&e);
	}
}

/* Runs of a message in which every fourth packet asks, a READ, and a run in which none does. */
static void pktizer_tells_which_packets_asked(void)
{
	static const struct {
		bool is_asked;
		uint16_t n_unasked;
	} due[] = { { true, 2 }, { false, 0 }, { true, 0 }, { true, 0 } };
	static const uint32_t packets[] = { 6, 1, 1 };
	struct tx_job read = { .kind = JOB_READ_REQ,
			       .qpi = QPI_RC,
			       .dma_len = 9 * TB_PKTIZER_MTU,
			       .is_first = 1,
			       .is_last = 1 };
	struct tb_pktizer e;

	tb_pktizer_start(
		&e, (const char *[]){ "pktizer.ack_req_every=3", "pktizer.read_ack_req=off", NULL },
		0);
	for (uint32_t i = 0; i < ARRAY_LEN(packets); i++) {
		struct tx_job j = write_job;

		j.qpi = QPI_RC;
		j.len = packets[i] * TB_PKTIZER_MTU;
		j.is_last = 0;
		tb_pktizer_put_segments(&e, &j, j.len, 1);
		tb_pktizer_send_job(&e, &j);
	}
	read.buf = pool_alloc(e.wqes);
	tb_pktizer_send_job(&e, &read);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.req_done->n_received, ARRAY_LEN(due));
	for (uint32_t i = 0; i < ARRAY_LEN(due); i++) {
		const struct job_done *m = tb_got(e.req_done, i);

		CU_ASSERT_EQUAL(m->is_asked, due[i].is_asked);
		CU_ASSERT_EQUAL(m->n_unasked, due[i].n_unasked);
	}
	tb_pktizer_end(&e);
}

static void pktizer_payload_error_drops_rest_of_job_only(void)
{
	struct tx_job j = write_job;
	struct tb_pktizer e;
	unsigned n_bad = 0;

	tb_pktizer_start(&e, (const char *[]){ "pktizer.inflight=5", NULL }, 40);
	for (unsigned i = 0; i < 8; i++) {
		j.len = 10 * TB_PKTIZER_MTU;
		j.buf = pool_alloc(e.wqes);
		j.seg_off = 32;
		j.n_sge = 1;
		tb_pktizer_put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 32, 4, j.len);
		tb_pktizer_put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 36, 4, 0x77);
		tb_pktizer_put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 40, 8,
				  TB_PKTIZER_BASE + i * 4096);
		tb_pktizer_send_job(&e, &j);
	}
	e.dma.fail_at = TB_PKTIZER_BASE + 3 * 4096 + 4 * TB_PKTIZER_MTU + 9; /* packet 4 of job 3 */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.req_done->n_received, 8);
	for (uint32_t i = 0; i < e.req_done->n_received; i++) {
		const struct job_done *m = tb_got(e.req_done, i);

		CU_ASSERT_EQUAL(m->tag, i);
		CU_ASSERT_EQUAL(m->status, i == 3 ? XLATE_BAD_KEY : XLATE_OK);
		n_bad += m->status != XLATE_OK;
	}
	CU_ASSERT_EQUAL(n_bad, 1);
	CU_ASSERT_EQUAL(e.n_pkt, 7 * 10 + 4);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "failed_jobs"), 1);
	tb_pktizer_end(&e);
}

/* The output carries 'width' bytes a cycle, and both engines get their turn. */
static void pktizer_output_is_shared_packet_by_packet(void)
{
	struct tb_pktizer e;
	unsigned n_rsp = 0;
	uint64_t cycles;

	tb_pktizer_start(&e, (const char *[]){ "pktizer.width=16", NULL }, 0);
	send_long(&e, QPI_RC, 40);
	tb_pktizer_send_job(&e, &(struct tx_job){ .kind = JOB_READ_RSP,
						  .raddr = TB_PKTIZER_BASE,
						  .len = 40 * TB_PKTIZER_MTU,
						  .is_first = 1,
						  .is_last = 1,
						  .syndrome = 0x1f });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 80);
	for (uint32_t i = 0; i < 40; i++)
		n_rsp += tb_pktizer_is_answer(tb_pktizer_got(&e, i));
	CU_ASSERT(n_rsp >= 18 && n_rsp <= 22);
	cycles = e.pkt->cycle[79] - e.pkt->cycle[0];
	CU_ASSERT(cycles >= 79 * (TB_PKTIZER_MTU + 58) / 16 &&
		  cycles <= 80 * (TB_PKTIZER_MTU + 58 + 32) / 16);
	tb_pktizer_end(&e);
}

/*
 * Datagrams: path and destination from the address vector; extended RC: SRQ number from its
 * segment.
 */
static void pktizer_datagram_and_xrc_headers_come_from_wqe(void)
{
	struct tx_job j = { .qpi = QPI_UD,
			    .kind = JOB_SEND,
			    .is_first = 1,
			    .is_last = 1,
			    .has_imm = 1,
			    .imm = 0xabc,
			    .seg_off = 64,
			    .is_inline = 1,
			    .len = 5 };
	struct packet_view v;
	struct tb_pktizer e;
	uint8_t *av;

	tb_pktizer_start(&e, NULL, 0);
	j.buf = pool_alloc(e.wqes);
	av = (uint8_t *)buf_data(&e.t.sim, j.buf) + WQE_AV_OFF;
	memset(av - WQE_AV_OFF, 0, 1024);
	tb_pktizer_put_be(av, 4, 0x11223344);
	tb_pktizer_put_be(av + 8, 4, 0x80000042);
	tb_pktizer_put_be(av + 14, 2, 0xd123);
	tb_pktizer_put_be(av + 20, 6, 0x020000000077ull);
	av[26] = 0x22;
	av[27] = 33;
	tb_pktizer_put_be(av + 42, 6, 0xffff0a000005ull);
	tb_pktizer_send_job(&e, &j);
	j = (struct tx_job){ .qpi = QPI_XRC,
			     .kind = JOB_WRITE,
			     .is_first = 1,
			     .is_last = 1,
			     .raddr = 8,
			     .dma_len = 0 };
	j.buf = pool_alloc(e.wqes);
	tb_pktizer_put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 16, 4, 0x345);
	tb_pktizer_send_job(&e, &j);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 2);
	CU_ASSERT_EQUAL(packet_parse(tb_pktizer_got(&e, 0), &v), DROP_NONE);
	CU_ASSERT(packet_icrc_ok(tb_pktizer_got(&e, 0), &v));
	CU_ASSERT_EQUAL(v.bth.opcode, 0x65);
	CU_ASSERT_EQUAL(v.bth.destqp, 0x42);
	CU_ASSERT_EQUAL(tb_pktizer_got(&e, 0)->data[5], 0x77);    /* destination MAC */
	CU_ASSERT_EQUAL(tb_pktizer_got(&e, 0)->data[14 + 19], 5); /* destination IPv4 10.0.0.5 */
	CU_ASSERT_EQUAL(tb_pktizer_got(&e, 0)->data[14 + 8], 33);
	CU_ASSERT_EQUAL(load_be32(tb_pktizer_got(&e, 0)->data + v.l4 - UDP_BYTES) >> 16, 0xd123);
	CU_ASSERT_EQUAL(load_be32(tb_pktizer_got(&e, 0)->data + v.xeth), 0x11223344);
	CU_ASSERT_EQUAL(load_be32(tb_pktizer_got(&e, 0)->data + v.xeth + 4),
			TB_PKTIZER_QPN + QPI_UD);
	CU_ASSERT_EQUAL(load_be32(tb_pktizer_got(&e, 0)->data + v.xeth + 8), 0xabc);
	CU_ASSERT_EQUAL(packet_parse(tb_pktizer_got(&e, 1), &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.bth.opcode, 0xaa);
	CU_ASSERT_EQUAL(load_be32(tb_pktizer_got(&e, 1)->data + v.xeth), 0x345);
	tb_pktizer_end(&e);
}

/* IBTA vol. 1, 10.2.5; soft-RoCE sends what the request says. */
static void pktizer_qkey_with_its_high_bit_is_the_qps_own(void)
{
	const struct qp_attr qp = { .type = QP_UD, .qpn = 5, .qkey = 0x77, .mtu = 256 };
	const struct tx_job j = { .kind = JOB_SEND, .is_first = 1, .is_last = 1 };
	const struct pkt_place at = { .is_first = true, .is_last = true };
	static const uint32_t keys[][3] = {
		/* in the WQE, sent, sent by soft-RoCE */
		{ 0x80010000, 0x77, 0x80010000 },
		{ 0x7fffffff, 0x7fffffff, 0x7fffffff },
	};
	uint8_t wqe[64] = { 0 }, space[512] __attribute__((aligned(8)));
	struct packet *p = (struct packet *)(void *)space;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (unsigned is_plain = 0; is_plain < 2; is_plain++) {
			const struct nic nic = { .has_plain_qkey = is_plain };

			tb_pktizer_put_be(wqe + WQE_AV_OFF, 4, keys[i][0]);
			pktizer_headers(p, &nic, &qp, &j, &at, wqe, false, false);
			CU_ASSERT_EQUAL(load_be32(p->data + p->l4 + BTH_BYTES),
					keys[i][1 + is_plain]);
		}
}

/* Sleeping and the order of steps change nothing: same packets at the same cycles. */
static void pktizer_step_order_changes_nothing(void)
{
	const char *sets[] = { "pktizer.stall_out=random", "pktizer.stall_in=alternate",
			       "pktizer.req_packets=4", "pktizer.width=32", NULL };
	uint64_t hash[4];

	for (unsigned k = 0; k < 4; k++) {
		struct tb_pktizer e;

		tb_pktizer_start(&e, sets, 50);
		e.t.sim.every_cycle = k == 1;
		e.t.sim.order = k == 2 ? ORDER_REVERSED : k == 3 ? ORDER_SHUFFLED : ORDER_FORWARD;
		send_all_lengths(&e, write_job, 31);
		tb_pktizer_send_job(&e, &(struct tx_job){ .kind = JOB_READ_RSP,
							  .raddr = TB_PKTIZER_BASE,
							  .len = 40 * TB_PKTIZER_MTU,
							  .is_first = 1,
							  .is_last = 1 });
		tb_run_for(&e.t, 30000);
		CU_ASSERT_EQUAL(tb_pktizer_differences(&e, false, TB_PKTIZER_MTU), 0);
		CU_ASSERT_EQUAL(tb_pktizer_differences(&e, true, TB_PKTIZER_MTU), 0);
		hash[k] = e.pkt->chan->stall_ps;
		for (uint32_t i = 0; i < e.n_pkt; i++)
			hash[k] = (hash[k] ^ e.pkt->cycle[i] ^ tb_pktizer_got(&e, i)->len) *
				  0x100000001b3ull;
		CU_ASSERT_EQUAL(hash[k], hash[0]);
		tb_pktizer_release_wqes(&e);
		tb_pktizer_end(&e);
	}
}

CU_TestInfo test_pktizer_tests[] = {
	{ "every length equals the reference", pktizer_every_length_equals_reference },
	{ "wrong byte and wrong cut are caught", pktizer_wrong_byte_and_wrong_cut_are_caught },
	{ "any stalls equal the reference", pktizer_any_stalls_equal_reference },
	{ "runs of one message continue it", pktizer_runs_of_one_message_continue_it },
	{ "inline bytes come from the WQE", pktizer_inline_bytes_come_from_wqe },
	{ "requests without payload equal the reference",
	  pktizer_requests_without_payload_equal_reference },
	{ "AckReq follows its parameter", pktizer_ack_req_follows_parameter },
	{ "it tells which packets asked", pktizer_tells_which_packets_asked },
	{ "payload error drops the rest of its job only",
	  pktizer_payload_error_drops_rest_of_job_only },
	{ "output is shared packet by packet", pktizer_output_is_shared_packet_by_packet },
	{ "datagram and XRC headers come from the WQE",
	  pktizer_datagram_and_xrc_headers_come_from_wqe },
	{ "Q_Key with its high bit is the QP's own",
	  pktizer_qkey_with_its_high_bit_is_the_qps_own },
	{ "step order and sleeping change nothing", pktizer_step_order_changes_nothing },
	CU_TEST_INFO_NULL
};
