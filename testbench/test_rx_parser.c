/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rx_parser.c - fields passed on, order, timing, and a reason for every drop
 */
#include <string.h>

#include "testbench/pkt_util.h"
#include "testbench/tb.h"

extern CU_TestInfo test_rx_parser_tests[];
extern const struct block_class rx_parser_class;

struct bench {
	struct tb t;
	struct tb_port *pkt, *qpc_req, *qpc_rsp, *to_responder, *to_requester;
	struct pool *pool;
	struct pkt_bench packets;
	uint32_t lookup_cyc; /* cycles that a context look-up takes */
};

/* The context cache: answers in order. */
static void answer(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *b = p->arg;
	const struct ctx_req *q = msg;

	(void)t;
	tb_send_at(b->qpc_rsp, p->b.cycle + b->lookup_cyc,
		   &(struct ctx_rsp){ .index = q->index, .tag = q->tag });
}

static void bench_start(struct bench *b, const char *const *sets, enum encap encap,
			uint32_t lookup_cyc)
{
	pkt_bench_init(&b->packets, encap);
	b->lookup_cyc = lookup_cyc;
	tb_init(&b->t, &rx_parser_class, &b->packets.nic, sets);
	b->pkt = tb_source(&b->t, "pkt");
	b->qpc_rsp = tb_source(&b->t, "qpc_rsp");
	b->qpc_req = tb_sink_react(&b->t, "qpc_req", answer, b);
	b->to_responder = tb_sink(&b->t, "to_responder");
	b->to_requester = tb_sink(&b->t, "to_requester");
	b->pool = pool_create(&b->pkt->b, 600, packet_buf_size(4096));
	tb_start(&b->t);
}

static struct packet *send(struct bench *b, unsigned qp, uint8_t opcode, uint32_t psn, uint32_t len)
{
	uint32_t h = pkt_in_pool(b->pool, &b->packets, qp, opcode, psn, len);

	tb_send(b->pkt, &(struct pkt){ .buf = h });
	return buf_data(&b->t.sim, h);
}

static void packets_are_passed_on_with_their_fields(void)
{
	static const uint16_t l4s[ENCAPS] = { 42, 62, 54, 8, 48 };

	for (enum encap encap = 0; encap < ENCAPS; encap++) {
		struct bench b;
		const struct rx_pkt *p;
		uint16_t l4 = l4s[encap];

		bench_start(&b, (const char *const[]){ "rx_parser.icrc_always=on", NULL }, encap,
			    1);
		send(&b, 0, IB_RC | IB_WRITE_ONLY_IMM, 0xabcdef, 101);
		send(&b, 0, IB_RC | IB_ACKNOWLEDGE, 7, 0);
		send(&b, 1, IB_UC | IB_SEND_FIRST, 8, 256);
		send(&b, 2, IB_UD | IB_SEND_ONLY, 9, 3);
		send(&b, 0, IB_RC | IB_READ_RSP_MIDDLE, 10, 4096);
		tb_run(&b.t);
		CU_ASSERT_EQUAL_FATAL(b.to_responder->n_received, 3);
		CU_ASSERT_EQUAL_FATAL(b.to_requester->n_received, 2);
		p = tb_got(b.to_responder, 0);
		CU_ASSERT_EQUAL(p->qpi, 0);
		CU_ASSERT_EQUAL(p->psn, 0xabcdef);
		CU_ASSERT_EQUAL(p->len, 101);
		CU_ASSERT_EQUAL(p->opcode, IB_WRITE_ONLY_IMM);
		CU_ASSERT_EQUAL(p->xeth, l4 + 12);
		CU_ASSERT_EQUAL(p->payload, l4 + 12 + 20);
		CU_ASSERT_EQUAL(p->ack_req, 1);
		CU_ASSERT_EQUAL(p->solicited, 0);
		p = tb_got(b.to_responder, 1);
		CU_ASSERT_EQUAL(p->qpi, 1);
		CU_ASSERT_EQUAL(p->len, 256);
		p = tb_got(b.to_responder, 2);
		CU_ASSERT_EQUAL(p->qpi, 2);
		CU_ASSERT_EQUAL(p->payload, l4 + 12 + 8);
		p = tb_got(b.to_requester, 0);
		CU_ASSERT_EQUAL(p->psn, 7);
		CU_ASSERT_EQUAL(p->len, 0);
		p = tb_got(b.to_requester, 1);
		CU_ASSERT_EQUAL(p->len, 4096);
		CU_ASSERT_EQUAL(p->payload, p->xeth);
		CU_ASSERT_EQUAL(tb_stat(&b.t, "packets"), 5);
		tb_end(&b.t);
	}
}

static void any_stalls_keep_order(void)
{
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { set_in, set_out, "rx_parser.depth=5", NULL };
			struct bench b;
			uint32_t next = 0;

			tb_stall_sets(&rx_parser_class, in, out, set_in, set_out);
			bench_start(&b, sets, ENCAP_IPV4, 13);
			for (uint32_t i = 0; i < 400; i++)
				send(&b, 0, i % 3 ? IB_SEND_ONLY : IB_ACKNOWLEDGE, i,
				     i % 3 ? i : 0);
			tb_run(&b.t);
			CU_ASSERT_EQUAL(b.to_responder->n_received, 266);
			CU_ASSERT_EQUAL(b.to_requester->n_received, 134);
			for (uint32_t i = 0; i < b.to_responder->n_received; i++, next++) {
				const struct rx_pkt *p = tb_got(b.to_responder, i);

				next += next % 3 == 0;
				CU_ASSERT_EQUAL(p->psn, next);
				CU_ASSERT_EQUAL(buf_refs(&b.t.sim, p->buf), 1);
			}
			tb_end(&b.t);
		}
}

static void datapath_is_busy_for_the_length(void)
{
	struct bench b;
	/* 58, 314 and 4154 bytes on a path 64 B wide: 1, 5, 65 cycles */
	static const uint32_t lens[] = { 0, 256, 4096 }, cycles[] = { 1, 5, 65 };

	bench_start(&b, (const char *const[]){ "rx_parser.width=64", NULL }, ENCAP_IPV4, 1);
	for (uint32_t i = 0; i < 30; i++)
		send(&b, 0, IB_SEND_ONLY, i, lens[i / 10]);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.to_responder->n_received, 30);
	/* seen at cycle 1, 1 cycle of data, 4 of latency, 1 to arrive */
	CU_ASSERT_EQUAL(b.to_responder->cycle[0], 1 + 1 + 4 + 1);
	for (uint32_t i = 1; i < 30; i++)
		if (i % 10)
			CU_ASSERT_EQUAL(b.to_responder->cycle[i] - b.to_responder->cycle[i - 1],
					cycles[i / 10]);
	tb_end(&b.t);
}

static void lookups_are_pipelined(void)
{
	struct bench b;

	/* 100 cycles each, 32 at a time: 320 packets take about 10 look-ups, not 320 */
	bench_start(&b, NULL, ENCAP_IPV4, 100);
	for (uint32_t i = 0; i < 320; i++)
		send(&b, 0, IB_SEND_ONLY, i, 0);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.to_responder->n_received, 320);
	CU_ASSERT(b.to_responder->cycle[319] < 11 * 110);
	CU_ASSERT(b.to_responder->cycle[319] > 9 * 100);
	tb_end(&b.t);
}

/* Cycles of arrival and stalls as one number. */
static uint64_t digest(enum step_order order, bool every_cycle)
{
	static const char *const sets[] = { "rx_parser.stall_in=random",
					    "rx_parser.stall_out=random", "rx_parser.depth=3",
					    NULL };
	struct bench b;
	uint64_t d = 0;

	bench_start(&b, sets, ENCAP_IPV4, 9);
	b.t.sim.order = order;
	b.t.sim.every_cycle = every_cycle;
	for (uint32_t i = 0; i < 200; i++)
		send(&b, i % 5 ? 0 : 1, i % 2 ? IB_SEND_ONLY : IB_ACKNOWLEDGE, i, i % 2 ? i : 0);
	tb_run_for(&b.t, 5000);
	for (uint32_t i = 0; i < b.to_responder->n_received; i++)
		d = d * 31 + b.to_responder->cycle[i];
	for (uint32_t i = 0; i < b.to_requester->n_received; i++)
		d = d * 31 + b.to_requester->cycle[i];
	d = d * 31 + b.to_responder->chan->stall_ps;
	d = d * 31 + b.qpc_req->chan->stall_ps;
	tb_end(&b.t);
	return d;
}

static void step_order_and_sleeping_change_nothing(void)
{
	uint64_t d = digest(ORDER_FORWARD, false);

	CU_ASSERT_EQUAL(digest(ORDER_REVERSED, false), d);
	CU_ASSERT_EQUAL(digest(ORDER_SHUFFLED, false), d);
	CU_ASSERT_EQUAL(digest(ORDER_FORWARD, true), d);
}

/* ---- drops ---- */

/* One packet, damaged by 'harm' and given a right ICRC again unless it is that which is wrong. */
static const char *reason_of(enum encap encap, unsigned qp, uint8_t opcode,
			     void (*harm)(struct bench *b, struct packet *p))
{
	static const char *const reasons[] = { "drop_short", "drop_ethertype", "drop_ip",
					       "drop_lrh",   "drop_grh",       "drop_port",
					       "drop_tver",  "drop_opcode",    "drop_length",
					       "drop_icrc",  "drop_address",   "drop_qp",
					       "drop_type",  "drop_pkey",      "drop_qkey" };
	const char *why = NULL;
	struct bench b;
	struct packet *p;

	bench_start(&b, NULL, encap, 1);
	p = send(&b, qp, opcode, 1, 0);
	harm(&b, p);
	tb_run(&b.t);
	for (unsigned i = 0; i < ARRAY_LEN(reasons); i++)
		if (tb_stat(&b.t, reasons[i])) {
			CU_ASSERT_PTR_NULL(why);
			why = reasons[i];
		}
	CU_ASSERT_EQUAL(b.to_responder->n_received + b.to_requester->n_received, why == NULL);
	/* what was dropped is back in its pool */
	CU_ASSERT_EQUAL(b.pool->in_use, why == NULL);
	tb_end(&b.t);
	return why ? why : "none";
}

static void no_harm(struct bench *b, struct packet *p)
{
	(void)b;
	(void)p;
}
static void cut(struct bench *b, struct packet *p)
{
	(void)b;
	p->len = (uint16_t)(p->len - 1);
}
static void arp(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[13] = 6;
}
static void unknown_opcode(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[p->l4] = 0x1e;
}
static void unaltered_icrc(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[p->len - 1] ^= 1;
}
static void altered_icrc(struct bench *b, struct packet *p)
{
	unaltered_icrc(b, p);
	p->is_altered = true;
}
static void raw_packet(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[1] &= 0xfc;
}
static void other_version(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[p->l4 - GRH_BYTES] = 0x40;
}
static void other_lid(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.nic.addr.lid[0] ^= 1;
}
static void other_gid(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.nic.addr.gid[15] ^= 1;
}
static void other_mac(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[5] ^= 1;
}
static void other_nic(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.nic.addr.ip[15] ^= 1;
}
static void other_peer(struct bench *b, struct packet *p)
{
	(void)p;
	/* the last byte of the destination address in the template: IPv4, IPv6, GRH, LRH */
	static const uint8_t at[ENCAPS] = { 14 + 19, 14 + 39, 14 + 39, 3, 8 + 39 };

	b->packets.qp[0].hdr[at[b->packets.qp[0].encap]] ^= 1;
}
static void other_encap(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.qp[0].encap = b->packets.qp[0].encap == ENCAP_IPV4 ? ENCAP_IPV6 : ENCAP_IPV4;
}
static void no_qp(struct bench *b, struct packet *p)
{
	(void)b;
	p->data[p->l4 + 5] = 0x77;
}
static void limited_members(struct bench *b, struct packet *p)
{
	p->data[p->l4 + 2] = 0x7f;
	b->packets.qp[0].pkey = 0x7fff;
}
static void one_limited_member(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.qp[0].pkey = 0x7fff;
}
static void other_qkey(struct bench *b, struct packet *p)
{
	(void)p;
	b->packets.qp[2].qkey++;
}

static void every_drop_has_its_reason(void)
{
	static const struct {
		enum encap encap;
		unsigned qp;
		uint8_t opcode;
		void (*harm)(struct bench *b, struct packet *p);
		const char *reason;
	} cases[] = {
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_IPV6, 0, IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, cut, "drop_short" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, arp, "drop_ethertype" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, unknown_opcode, "drop_opcode" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, altered_icrc, "drop_icrc" },
		/* the sender's verdict is reused: only the wire can make an ICRC wrong */
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, unaltered_icrc, "none" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, other_mac, "drop_address" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, other_nic, "drop_address" },
		{ ENCAP_IPV6, 0, IB_SEND_ONLY, other_nic, "drop_address" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, other_peer, "drop_address" },
		{ ENCAP_IPV6, 0, IB_SEND_ONLY, other_peer, "drop_address" },
		{ ENCAP_IPV6, 0, IB_SEND_ONLY, other_encap, "drop_address" },
		/* datagrams come from anywhere */
		{ ENCAP_IPV4, 2, IB_UD | IB_SEND_ONLY, other_peer, "none" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, no_qp, "drop_qp" },
		{ ENCAP_IPV4, 0, IB_UC | IB_SEND_ONLY, no_harm, "drop_type" },
		{ ENCAP_IPV4, 1, IB_SEND_ONLY, no_harm, "drop_type" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, limited_members, "drop_pkey" },
		{ ENCAP_IPV4, 0, IB_SEND_ONLY, one_limited_member, "none" },
		{ ENCAP_IPV4, 2, IB_UD | IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_IPV4, 2, IB_UD | IB_SEND_ONLY, other_qkey, "drop_qkey" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, cut, "drop_short" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_version, "drop_grh" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, altered_icrc, "drop_icrc" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_mac, "drop_address" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_gid, "drop_address" },
		/* neither the IP address nor the LID stands in it */
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_nic, "none" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_lid, "none" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_peer, "drop_address" },
		{ ENCAP_ROCE1, 0, IB_SEND_ONLY, other_encap, "drop_address" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, cut, "drop_short" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, raw_packet, "drop_lrh" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, unknown_opcode, "drop_opcode" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, other_lid, "drop_address" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, other_gid, "none" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, other_peer, "drop_address" },
		{ ENCAP_IB, 0, IB_SEND_ONLY, other_encap, "drop_address" },
		{ ENCAP_IB, 2, IB_UD | IB_SEND_ONLY, other_peer, "none" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, no_harm, "none" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, cut, "drop_short" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, raw_packet, "drop_lrh" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, other_version, "drop_grh" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, other_lid, "drop_address" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, other_gid, "drop_address" },
		{ ENCAP_IB_GRH, 0, IB_SEND_ONLY, other_peer, "drop_address" },
	};

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++)
		CU_ASSERT_STRING_EQUAL(
			reason_of(cases[i].encap, cases[i].qp, cases[i].opcode, cases[i].harm),
			cases[i].reason);
}

static void good_packets_between_bad_ones_all_pass(void)
{
	struct bench b;

	bench_start(&b, (const char *const[]){ "rx_parser.icrc_always=on", NULL }, ENCAP_IPV4, 3);
	for (uint32_t i = 0; i < 300; i++) {
		struct packet *p = send(&b, 0, IB_SEND_ONLY, i, i);

		if (i % 3 == 1)
			unaltered_icrc(&b, p);
	}
	tb_run(&b.t);
	CU_ASSERT_EQUAL(b.to_responder->n_received, 200);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "drop_icrc"), 100);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "requests"), 200);
	CU_ASSERT_EQUAL(b.qpc_req->n_received, 200);
	tb_end(&b.t);
}

CU_TestInfo test_rx_parser_tests[] = {
	{ "packets_are_passed_on_with_their_fields", packets_are_passed_on_with_their_fields },
	{ "any_stalls_keep_order", any_stalls_keep_order },
	{ "datapath_is_busy_for_the_length", datapath_is_busy_for_the_length },
	{ "lookups_are_pipelined", lookups_are_pipelined },
	{ "step_order_and_sleeping_change_nothing", step_order_and_sleeping_change_nothing },
	{ "every_drop_has_its_reason", every_drop_has_its_reason },
	{ "good_packets_between_bad_ones_all_pass", good_packets_between_bad_ones_all_pass },
	CU_TEST_INFO_NULL
};
