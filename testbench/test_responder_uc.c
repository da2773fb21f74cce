/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_uc.c - requests of unreliable connections and datagrams: what is executed, what is
 * dropped, and what the next message finds then; nothing is ever answered
 */
#include <string.h>

#include "testbench/tb_responder.h"

static struct tb_responder s;

static void start(uint8_t type, const char *set)
{
	tbs_init(&s);
	for (uint32_t i = 0; i < TBS_QPS; i++)
		s.qp[i].type = type;
	tbs_start(&s, (const char *const[]){ set ? set : "responder.credits=off", NULL });
}

/* Whatever came, no ACK, no NAK, no response, and no QP in Error. */
static void end(void)
{
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_acks, 0);
	CU_ASSERT_EQUAL(s.job->n_received, 0);
	CU_ASSERT_EQUAL(s.error->n_received, 0);
	tbs_end(&s);
}

static void send(uint8_t operation, uint32_t psn, uint32_t len)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.len = len,
					.seed = (uint8_t)(16 * psn),
					.ack_req = true,
					.imm = psn,
					.src_qp = 0x123456 });
}

static void send_write(uint8_t operation, uint32_t psn, uint32_t len, uint32_t rkey,
		       uint32_t dma_len)
{
	tbs_send(&s, &(struct tbs_pkt){ .operation = (uint8_t)(IB_UC | operation),
					.psn = psn,
					.len = len,
					.seed = (uint8_t)(16 * psn),
					.imm = psn,
					.va = TBS_BASE + 0x8000,
					.rkey = rkey,
					.dma_len = dma_len });
}

/* Bytes off .. off + n are payload bytes 0 .. n of packet 'psn'. */
static bool holds(uint32_t off, uint32_t n, uint32_t psn)
{
	for (uint32_t i = 0; i < n; i++)
		if (s.mem[off + i] != (uint8_t)(16 * psn + i))
			return false;
	return true;
}

static bool is_untouched(uint32_t off, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s.mem[off + i])
			return false;
	return true;
}

static void expect_recv(uint32_t i, uint16_t index, uint8_t opcode, uint32_t bytes)
{
	const struct cqe_req *c = tbs_cqe(&s, i);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->wqe_counter, index);
	CU_ASSERT_EQUAL(c->opcode, opcode);
	CU_ASSERT_EQUAL(c->byte_cnt, bytes);
}

/* ---- UC ---- */

static void uc_messages_in_sequence_are_executed_without_an_answer(void)
{
	start(QP_UC, NULL);
	tbs_recv(&s, 0, 0, 4096, 2);
	tbs_recv(&s, 0, 4096, 64, 1);
	send(IB_UC | IB_SEND_FIRST, 200, TBS_MTU);
	send(IB_UC | IB_SEND_MIDDLE, 201, TBS_MTU);
	send(IB_UC | IB_SEND_LAST_IMM, 202, 9);
	send_write(IB_WRITE_FIRST, 203, TBS_MTU, TBS_RKEY, TBS_MTU + 5);
	send_write(IB_WRITE_LAST_IMM, 204, 5, TBS_RKEY, 0);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 2);
	expect_recv(0, 0, CQE_RESP_SEND_IMM, 2 * TBS_MTU + 9);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->imm, 202);
	expect_recv(1, 1, CQE_RESP_WR_IMM, TBS_MTU + 5);
	CU_ASSERT(holds(0, TBS_MTU, 200) && holds(TBS_MTU, TBS_MTU, 201) &&
		  holds(2 * TBS_MTU, 9, 202));
	CU_ASSERT(holds(0x8000, TBS_MTU, 203) && holds(0x8000 + TBS_MTU, 5, 204));
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 0);
	end();
}

/* What may come in place of the packets of a message, and how many of them are dropped. */
static void uc_gap_drops_until_the_next_first_or_only(void)
{
	static const struct {
		uint32_t psn[5];
		uint8_t operation[5];
		uint32_t n, dropped;
	} cases[] = {
		/* the Middle is lost */
		{ { 200, 202, 203 }, { IB_SEND_FIRST, IB_SEND_LAST, IB_SEND_ONLY }, 3, 1 },
		/* the First is */
		{ { 201, 202, 203 }, { IB_SEND_MIDDLE, IB_SEND_LAST, IB_SEND_ONLY }, 3, 2 },
		/* the Last is, and the next message starts behind the gap */
		{ { 200, 202 }, { IB_SEND_FIRST, IB_SEND_ONLY }, 2, 0 },
		/* a First in sequence ends a message that has no Last */
		{ { 200, 201, 202 }, { IB_SEND_FIRST, IB_SEND_FIRST, IB_SEND_ONLY }, 3, 0 },
		/* two Middles changed places */
		{ { 200, 202, 201, 203, 204 },
		  { IB_SEND_FIRST, IB_SEND_MIDDLE, IB_SEND_MIDDLE, IB_SEND_LAST, IB_SEND_ONLY },
		  5,
		  3 },
		/* of another operation than the message */
		{ { 200, 201, 202 }, { IB_SEND_FIRST, IB_WRITE_LAST, IB_SEND_ONLY }, 3, 1 },
		/* far ahead and far behind are all the same */
		{ { 0x900000, 5 }, { IB_SEND_MIDDLE, IB_SEND_ONLY }, 2, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t last = cases[i].n - 1;

		start(QP_UC, NULL);
		tbs_recv(&s, 0, 0, 4096, 2);
		tbs_recv(&s, 0, 4096, 64, 1);
		for (uint32_t k = 0; k <= last; k++)
			send(IB_UC | cases[i].operation[k], cases[i].psn[k],
			     k < last ? TBS_MTU : 20);
		tbs_settle(&s);
		/* the message that came whole has the receive that the broken one had begun to fill */
		CU_ASSERT_EQUAL(s.cqe->n_received, 1);
		expect_recv(0, 0, CQE_RESP_SEND, 20);
		CU_ASSERT(holds(0, 20, cases[i].psn[last]));
		CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), cases[i].dropped);
		end();
	}
}

static void uc_message_without_receive_is_lost_whole(void)
{
	start(QP_UC, NULL);
	send(IB_UC | IB_SEND_FIRST, 200, TBS_MTU);
	tbs_settle(&s);
	tbs_recv(&s, 0, 0, 4096, 1);
	send(IB_UC | IB_SEND_LAST, 201, 10); /* too late for this message */
	send(IB_UC | IB_SEND_ONLY, 202, 12);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	expect_recv(0, 0, CQE_RESP_SEND, 12);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 2);
	/* a WRITE needs one for its immediate data only */
	send_write(IB_WRITE_ONLY, 203, 8, TBS_RKEY, 8);
	send_write(IB_WRITE_ONLY_IMM, 204, 16, TBS_RKEY, 16);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	CU_ASSERT(holds(0x8000, 8, 203) && is_untouched(0x8008, 8));
	end();
}

static void uc_faults_are_dropped_and_the_next_message_works(void)
{
	start(QP_UC, "responder.keep_short_recv=on");
	s.qp[1].access = 0;
	tbs_recv(&s, 0, 0, 300, 1);
	send_write(IB_WRITE_FIRST, 200, TBS_MTU, TBS_RKEY + 1, TBS_MTU + 8); /* key */
	send_write(IB_WRITE_LAST, 201, 8, 0, 0);
	send_write(IB_WRITE_ONLY, 202, 8, TBS_RKEY, 1u << 20); /* length */
	send_write(IB_WRITE_ONLY, 203, 4, TBS_RKEY, 8);
	send(IB_UC | IB_SEND_FIRST, 204, TBS_MTU);  /* longer than */
	send(IB_UC | IB_SEND_MIDDLE, 205, TBS_MTU); /* its receive */
	send(IB_UC | IB_SEND_LAST, 206, 1);
	send(IB_UC | IB_SEND_ONLY, 207, 100);
	tbs_send(&s, &(struct tbs_pkt){ .operation = IB_UC | IB_WRITE_ONLY,
					.qpi = 1,
					.psn = 200,
					.va = TBS_BASE + 0x9000,
					.rkey = TBS_RKEY,
					.len = 4,
					.dma_len = 4,
					.seed = 1 }); /* right of the QP */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 7);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	expect_recv(0, 0, CQE_RESP_SEND, 100);
	CU_ASSERT(holds(0, 100, 207));
	CU_ASSERT(is_untouched(0x8000, TBS_MTU) && is_untouched(0x9000, 4));
	end();
}

static void uc_packet_of_another_service_is_dropped(void)
{
	start(QP_UC, NULL);
	tbs_recv(&s, 0, 0, 300, 1);
	send(IB_RC | IB_SEND_ONLY, 200, 8);
	send(IB_UD | IB_SEND_ONLY, 200, 8);
	send(IB_UC | IB_SEND_ONLY, 200, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 2);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1);
	end();
}

/* A receive whose memory cannot be written stops the QP, as on every service; still without a NAK. */
static void uc_bad_receive_buffer_is_an_error_of_the_qp(void)
{
	start(QP_UC, NULL);
	tbs_recv(&s, 0, TBS_MEM - 8, 64, 1); /* beyond the end of memory */
	tbs_recv(&s, 0, 0, 64, 1);
	send(IB_UC | IB_SEND_ONLY, 200, 20);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 2);
	expect_recv(0, 0, CQE_RESP_ERR, 20);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->syndrome, CQE_SYNDROME_LOCAL_PROT);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 1)->syndrome, CQE_SYNDROME_WR_FLUSH);
	CU_ASSERT_EQUAL(s.error->n_received, 1);
	CU_ASSERT_EQUAL(s.n_acks, 0);
	tbs_end(&s);
}

/* A receive that is too short ends, and the QP with it: kept, it would take nothing and hold up the next. */
static void unreliable_long_message_is_an_error_of_the_qp(void)
{
	static const struct {
		uint8_t type;
		const char *set;
		uint8_t syndrome;
	} cases[] = {
		{ QP_UC, NULL, CQE_SYNDROME_LOCAL_LENGTH },
		{ QP_UD, NULL, CQE_SYNDROME_LOCAL_LENGTH },
		{ QP_UC, "responder.long_send_remote_op=on", CQE_SYNDROME_LOCAL_QP_OP },
		{ QP_UD, "responder.long_send_remote_op=on", CQE_SYNDROME_LOCAL_QP_OP },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		start(cases[i].type, cases[i].set);
		tbs_recv(&s, 0, 0, 10, 1);
		tbs_recv(&s, 0, 64, 64, 1);
		send((cases[i].type == QP_UC ? IB_UC : IB_UD) | IB_SEND_ONLY, 200, 20);
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.cqe->n_received, 2);
		CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->syndrome, cases[i].syndrome);
		CU_ASSERT_EQUAL(tbs_cqe(&s, 1)->syndrome, CQE_SYNDROME_WR_FLUSH);
		CU_ASSERT_EQUAL(s.error->n_received, 1);
		CU_ASSERT_EQUAL(s.n_acks, 0);
		tbs_end(&s);
	}
}

static void unreliable_long_message_ends_the_shared_receive_that_it_took(void)
{
	static const uint8_t types[] = { QP_UC, QP_UD };
	static struct srq_attr srq = { .pd = TBS_PD };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		uint8_t op = (types[i] == QP_UC ? IB_UC : IB_UD) | IB_SEND_ONLY;

		tbs_init(&s);
		s.qp[0].type = s.qp[1].type = types[i];
		s.qp[0].srq = s.qp[1].srq = 0;
		s.nic.srq = &srq;
		s.nic.n_srq = 1;
		tbs_start(&s, (const char *const[]){ NULL });
		tbs_recv(&s, 0, 0, 10, 1);
		tbs_recv(&s, 0, 64, 64, 1);
		send(op, 200, 20);
		send(op, 201, 20); /* to a QP in Error */
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.cqe->n_received, 1);
		CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->syndrome, CQE_SYNDROME_LOCAL_LENGTH);
		CU_ASSERT_EQUAL(s.rq_req->n_received, 1); /* the other is still in the SRQ */
		tbs_end(&s);
	}
}

/* ---- UD ---- */

#define GRH RSP_GRH_BYTES

static void ud_datagram_is_behind_its_network_header(void)
{
	start(QP_UD, NULL);
	tbs_recv(&s, 0, 0, 4096, 3);
	tbs_recv(&s, 0, 4096, GRH, 1);
	send(IB_UD | IB_SEND_ONLY, 7, TBS_MTU);
	send(IB_UD | IB_SEND_ONLY_IMM, 3, 0); /* the PSN says nothing */
	memset(s.mem, 0xee, 8192);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 2);
	expect_recv(0, 0, CQE_RESP_SEND, GRH + TBS_MTU);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->flags_rqpn, 0x123456);
	expect_recv(1, 1, CQE_RESP_SEND_IMM, GRH);
	CU_ASSERT_EQUAL(tbs_cqe(&s, 1)->imm, 3);
	CU_ASSERT(holds(GRH, TBS_MTU, 7));
	CU_ASSERT(is_untouched(0, GRH) &&
		  is_untouched(4096, GRH)); /* packets by hand have zeros there */
	CU_ASSERT_EQUAL(s.mem[GRH + TBS_MTU], 0xee);
	CU_ASSERT_EQUAL(s.mem[4096 + GRH], 0xee);
	end();
}

/* The 40 bytes with a real header: IPv4 in the last 20, IPv6 in all. */
static void ud_network_header_is_that_of_the_packet(void)
{
	for (unsigned is_v6 = 0; is_v6 < 2; is_v6++) {
		uint16_t l4 = (uint16_t)(ETH_BYTES + (is_v6 ? IPV6_BYTES : IPV4_BYTES) + UDP_BYTES);
		struct rx_pkt m = { .len = 4,
				    .xeth = (uint16_t)(l4 + BTH_BYTES),
				    .payload = (uint16_t)(l4 + BTH_BYTES + DETH_BYTES),
				    .opcode = IB_UD | IB_SEND_ONLY };
		struct packet *p;

		start(QP_UD, NULL);
		tbs_recv(&s, 0, 0, 64, 1);
		m.buf = pool_alloc(s.pkts);
		p = buf_data(&s.t.sim, m.buf);
		memset(p, 0, packet_buf_size(TBS_MTU));
		p->l4 = l4;
		for (uint32_t i = 0; i < m.payload + m.len; i++)
			p->data[i] = (uint8_t)(i + 1);
		p->len = 200;
		p->data[12] = is_v6 ? ETHERTYPE_IPV6 >> 8 : ETHERTYPE_IPV4 >> 8;
		p->data[13] = is_v6 ? ETHERTYPE_IPV6 & 0xff : ETHERTYPE_IPV4 & 0xff;
		tb_send(s.rx, &m);
		memset(s.mem, 0xee, 128);
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.cqe->n_received, 1);
		CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->flags_rqpn >> 24, CQE_HAS_GRH >> 24);
		if (is_v6) {
			CU_ASSERT(memcmp(s.mem, (uint8_t[]){ 15, 16, 17, 18 }, 4) == 0);
			CU_ASSERT_EQUAL(s.mem[39], ETH_BYTES + 40);
		} else {
			CU_ASSERT(is_untouched(0, 20));
			CU_ASSERT_EQUAL(s.mem[20], ETH_BYTES + 1);
			CU_ASSERT_EQUAL(s.mem[39], ETH_BYTES + 20);
		}
		CU_ASSERT_EQUAL(s.mem[40], (uint8_t)(m.payload + 1));
		CU_ASSERT_EQUAL(s.mem[44], 0xee);
		end();
	}
}

/* The header may lie across segments. */
static void ud_network_header_is_spread_over_segments(void)
{
	start(QP_UD, NULL);
	tbs_recv(&s, 0, 0, 60, 3); /* 20, 21 and what is left */
	memset(s.mem, 0xee, 128);
	send(IB_UD | IB_SEND_ONLY, 1, 20);
	tbs_settle(&s);
	expect_recv(0, 0, CQE_RESP_SEND, 60);
	CU_ASSERT(is_untouched(0, GRH) && holds(GRH, 20, 1));
	end();
}

static void ud_what_cannot_be_taken_is_dropped(void)
{
	start(QP_UD, "responder.keep_short_recv=on");
	send(IB_UD | IB_SEND_ONLY, 0, 8); /* no receive */
	tbs_settle(&s);
	tbs_recv(&s, 0, 0, GRH + 8, 1);
	send(IB_UD | IB_SEND_ONLY, 1, 9); /* too long, with the header */
	send(IB_RC | IB_SEND_ONLY, 2, 8);
	send(IB_UD | IB_SEND_ONLY, 3, TBS_MTU + 1); /* longer than the MTU */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 0);
	CU_ASSERT_EQUAL(tb_stat(&s.t, "dropped"), 4);
	send(IB_UD | IB_SEND_ONLY, 4, 8); /* the receive is still there */
	tbs_settle(&s);
	expect_recv(0, 0, CQE_RESP_SEND, GRH + 8);
	CU_ASSERT(holds(GRH, 8, 4));
	end();
}

/* A QP in Error leaves what is in an SRQ to the others, and does not ask for more. */
static void shared_receives_stay_when_a_qp_fails(void)
{
	static struct srq_attr srq = { .pd = TBS_PD };

	tbs_init(&s);
	s.qp[0].srq = s.qp[1].srq = 0;
	s.nic.srq = &srq;
	s.nic.n_srq = 1;
	tbs_start(&s, (const char *const[]){ NULL });
	tbs_recv(&s, 0, 0, 512, 1);
	tbs_recv(&s, 0, 512, 512, 1);
	send(IB_SEND_FIRST, 200, TBS_MTU);
	send(IB_SEND_FIRST, 201, TBS_MTU); /* out of sequence: an error of the QP */
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.cqe->n_received, 1); /* the one in use */
	CU_ASSERT_EQUAL(tbs_cqe(&s, 0)->syndrome, CQE_SYNDROME_REMOTE_INVAL_REQ);
	CU_ASSERT_EQUAL(s.rq_req->n_received, 1);
	CU_ASSERT_EQUAL(s.acks[s.n_acks - 1].syndrome, NAK_INVALID_REQUEST);
	tbs_end(&s);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_responder_uc_tests[] = {
	TEST(uc_messages_in_sequence_are_executed_without_an_answer),
	TEST(uc_gap_drops_until_the_next_first_or_only),
	TEST(uc_message_without_receive_is_lost_whole),
	TEST(uc_faults_are_dropped_and_the_next_message_works),
	TEST(uc_packet_of_another_service_is_dropped),
	TEST(uc_bad_receive_buffer_is_an_error_of_the_qp),
	TEST(unreliable_long_message_is_an_error_of_the_qp),
	TEST(unreliable_long_message_ends_the_shared_receive_that_it_took),
	TEST(ud_datagram_is_behind_its_network_header),
	TEST(ud_network_header_is_that_of_the_packet),
	TEST(ud_network_header_is_spread_over_segments),
	TEST(ud_what_cannot_be_taken_is_dropped),
	TEST(shared_receives_stay_when_a_qp_fails),
	CU_TEST_INFO_NULL,
};
