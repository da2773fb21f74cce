/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_encap.c - whole NICs in every encapsulation: the same transport below each, the addresses of
 * the trace in its headers, ends that must agree
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/encap.h"
#include "testbench/tb_file.h"
#include "testbench/tb_oracle.h"
#include "testbench/tb_run.h"

extern CU_TestInfo test_encap_tests[];

static const char *const sets[] = { "nic.encap=roce2", "nic.encap=roce1", "nic.encap=ib",
				    "nic.encap=ib_grh" };
static const enum encap kinds[] = { ENCAP_IPV4, ENCAP_ROCE1, ENCAP_IB, ENCAP_IB_GRH };

static void demo_holds_in_every_encapsulation(void)
{
	bool has_tools = tb_has_capture_tools();

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *pcap = tb_path("demo.pcapng");
		/* every CRC of every packet is checked */
		const char *const how[] = { sets[i], "rx_parser.icrc_always=on",
					    "mac.vcrc_always=on", NULL };
		struct tb_run t;
		uint32_t n;

		tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace",
						    .sets = how,
						    .pcap = pcap,
						    .keep_packets = true });
		n = t.n_packets;
		CU_ASSERT(tb_run_stat(&t, "nic1.rx_parser.requests") > 100);
		CU_ASSERT(tb_run_stat(&t, "nic0.rx_parser.responses") > 100);
		CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.rx_parser.drop_icrc"), 0);
		CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.mac.rx_vcrc"), 0);
		tb_run_close(&t);
		CU_ASSERT(!has_tools || tb_capture_is_good(pcap, n));
	}
}

static void recordings_of_other_services_hold_in_every_encapsulation(void)
{
	static const char *const traces[] = { "traces/rxe_uc_sge3.trace.gz",
					      "traces/rxe_ud.trace.gz" };

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *const how[] = { sets[i], "nic.profile=softroce", NULL };

		for (size_t k = 0; k < ARRAY_LEN(traces); k++) {
			struct tb_run t;

			tb_run_ok(&t, &(struct tb_run_how){ .trace = traces[k], .sets = how });
			CU_ASSERT(tb_run_stat(&t, "nic1.rx_parser.requests") > 20);
			tb_run_close(&t);
		}
	}
}

static void demo_holds_on_a_bad_wire(void)
{
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *const how[] = { sets[i],
					    "link0.loss=0.01",
					    "link0.corrupt=0.01",
					    "link0.duplicate=0.01",
					    "link0.reorder=0.01",
					    NULL };
		uint64_t icrc, vcrc;
		struct tb_run t;

		tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = how });
		icrc = tb_run_stat(&t, "nic0.rx_parser.drop_icrc") +
		       tb_run_stat(&t, "nic1.rx_parser.drop_icrc");
		vcrc = tb_run_stat(&t, "nic0.mac.rx_vcrc") + tb_run_stat(&t, "nic1.mac.rx_vcrc");
		/* the first check on the way finds it */
		CU_ASSERT_EQUAL(vcrc > 0, encap_is_ib((uint8_t)kinds[i]));
		CU_ASSERT_EQUAL(icrc > 0, !encap_is_ib((uint8_t)kinds[i]));
		tb_run_close(&t);
	}
}

static void step_order_and_sleeping_change_nothing(void)
{
	static const struct {
		enum step_order order;
		bool every_cycle;
	} ways[] = { { ORDER_FORWARD, false },
		     { ORDER_REVERSED, false },
		     { ORDER_SHUFFLED, false },
		     { ORDER_FORWARD, true } };

	static const char *const how[] = { "nic.encap=ib", NULL };
	char *first = NULL;

	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct tb_run t;
		char *text;

		tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace",
						    .sets = how,
						    .order = ways[w].order,
						    .every_cycle = ways[w].every_cycle });
		text = tb_run_summary(&t);
		tb_run_close(&t);
		CU_ASSERT(!first || strcmp(text, first) == 0);
		free(first);
		first = text;
	}
	free(first);
}

/* ---- headers ---- */

static const char addresses[] =
	"rnicsim-trace 1\n"
	"host h0 ip=10.1.2.3 lid=0x1234 gid=fe80::1 mac=02:00:00:00:00:aa\n"
	"host h1 ip=10.1.2.4 lid=0x5678 gid=fe80::2 mac=02:00:00:00:00:bb\n"
	"mr h0 m len=4096 access=lw va=0x10000\n"
	"mr h1 m len=4096 access=lw,rw va=0x20000\n"
	"qp h0 q type=RC peer=h1.q sl=5 tclass=0x6a flow_label=0xabcde hop_limit=33\n"
	"qp h1 q type=RC peer=h0.q sl=6 tclass=0x6b flow_label=0x12345 hop_limit=34\n"
	"post h0.q id=1 op=RDMA_WRITE sge=m:0:100 remote=m:0\n"
	"expect h0.q id=1 status=SUCCESS\n";

/* The bytes of the first packet that a NIC sends. */
static const uint8_t *first_sent(const struct tb_run *t, uint32_t nic)
{
	for (uint32_t i = 0; i < t->n_packets; i++)
		if (t->packets[i].nic == nic && t->packets[i].is_tx)
			return t->packets[i].bytes;
	CU_FAIL_FATAL("nothing sent");
	return NULL;
}

static void check_lrh(const uint8_t *at, uint8_t sl, uint16_t slid, uint16_t dlid, uint8_t lnh)
{
	struct hdr_lrh h;

	hdr_lrh_decode(&h, at);
	CU_ASSERT_EQUAL(h.vl, 0);
	CU_ASSERT_EQUAL(h.lver, 0);
	CU_ASSERT_EQUAL(h.sl, sl);
	CU_ASSERT_EQUAL(h.lnh, lnh);
	CU_ASSERT_EQUAL(h.slid, slid);
	CU_ASSERT_EQUAL(h.dlid, dlid);
}

static void check_grh(const uint8_t *at, uint8_t tclass, uint32_t flow, uint8_t hop, uint8_t from,
		      uint8_t to)
{
	const uint8_t sgid[16] = { 0xfe, 0x80, [15] = from }, dgid[16] = { 0xfe, 0x80, [15] = to };
	struct hdr_grh h;

	hdr_grh_decode(&h, at);
	CU_ASSERT_EQUAL(h.version, 6);
	CU_ASSERT_EQUAL(h.tclass, tclass);
	CU_ASSERT_EQUAL(h.flow, flow);
	CU_ASSERT_EQUAL(h.hop, hop);
	CU_ASSERT_EQUAL(h.next, 0x1b);
	CU_ASSERT_EQUAL(memcmp(h.sgid, sgid, 16), 0);
	CU_ASSERT_EQUAL(memcmp(h.dgid, dgid, 16), 0);
}

static void run_addresses(struct tb_run *t, const char *const *how)
{
	const char *path = tb_write("addresses.trace", addresses, sizeof(addresses) - 1);

	tb_run_ok(t, &(struct tb_run_how){ .trace = path, .sets = how, .keep_packets = true });
}

static void headers_carry_the_addresses_of_the_trace(void)
{
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *const how[] = { sets[i], NULL };
		const uint8_t *data, *ack;
		struct tb_run t;

		run_addresses(&t, how);
		data = first_sent(&t, 0);
		ack = first_sent(&t, 1);
		switch (kinds[i]) {
		case ENCAP_ROCE1:
			CU_ASSERT_EQUAL(data[5] << 8 | data[11], 0xbbaa);
			CU_ASSERT_EQUAL(data[12] << 8 | data[13], 0x8915);
			check_grh(data + 14, 0x6a, 0xabcde, 33, 1, 2);
			check_grh(ack + 14, 0x6b, 0x12345, 34, 2, 1);
			/* BTH, RETH, payload, ICRC */
			CU_ASSERT_EQUAL(data[19], 12 + 16 + 100 + 4);
			break;
		case ENCAP_IB:
			check_lrh(data, 5, 0x1234, 0x5678, 2);
			check_lrh(ack, 6, 0x5678, 0x1234, 2);
			/* an ACK is seven words, its VCRC aside */
			CU_ASSERT_EQUAL(ack[5], 7);
			break;
		case ENCAP_IB_GRH:
			check_lrh(data, 5, 0x1234, 0x5678, 3);
			check_lrh(ack, 6, 0x5678, 0x1234, 3);
			check_grh(data + 8, 0x6a, 0xabcde, 33, 1, 2);
			check_grh(ack + 8, 0x6b, 0x12345, 34, 2, 1);
			CU_ASSERT_EQUAL(ack[5], 17);
			break;
		default:
			CU_ASSERT_EQUAL(data[5] << 8 | data[11], 0xbbaa);
			CU_ASSERT_EQUAL(memcmp(data + 14 + 12, (uint8_t[]){ 10, 1, 2, 3 }, 4), 0);
			CU_ASSERT_EQUAL(data[14 + 8], 33);
		}
		tb_run_close(&t);
	}
}

static void fixed_path_shows_in_a_grh_too(void)
{
	const char *const how[] = { "nic.encap=ib_grh", "nic0.fixed_path=on", NULL };
	struct tb_run t;

	run_addresses(&t, how);
	check_grh(first_sent(&t, 0) + 8, 0x6a, 0, 64, 1, 2);
	check_grh(first_sent(&t, 1) + 8, 0x6b, 0x12345, 34, 2, 1);
	tb_run_close(&t);
}

/* ---- line times and mistakes ---- */

static void line_time_is_that_of_the_framing(void)
{
	/* of the WRITE of 100 bytes: headers, payload, CRCs, framing; and of its ACK */
	static const uint32_t bytes[2][4] = { { 42 + 28 + 100 + 4 + 24, 54 + 28 + 100 + 4 + 24,
						8 + 28 + 100 + 6 + 2, 48 + 28 + 100 + 6 + 2 },
					      { 42 + 16 + 4 + 24, 54 + 16 + 4 + 24, 8 + 16 + 6 + 2,
						48 + 16 + 6 + 2 } };

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *const how[] = { sets[i], NULL };
		struct tb_run t;

		run_addresses(&t, how);
		CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.mac.tx_line_bytes"), bytes[0][i]);
		CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.mac.tx_line_bytes"), bytes[1][i]);
		tb_run_close(&t);
	}
}

static void ends_that_disagree_are_refused(void)
{
	static const char *const cases[][2] = {
		{ "nic0.encap=ib", "whose encap is ib, with nic1, whose encap is roce2" },
		{ "nic1.encap=roce1", "whose encap is roce2, with nic1, whose encap is roce1" },
		{ "nic.encap=iwarp", "must be roce2, roce1, ib or ib_grh" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const how[] = { cases[i][0], NULL };
		struct tb_run t;

		CU_ASSERT_FALSE(tb_run_open(
			&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = how }));
		CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, cases[i][1]));
		if (!strstr(t.err.text, cases[i][1]))
			puts(t.err.text);
		tb_run_close(&t);
	}
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_encap_tests[] = {
	TEST(demo_holds_in_every_encapsulation),
	TEST(recordings_of_other_services_hold_in_every_encapsulation),
	TEST(demo_holds_on_a_bad_wire),
	TEST(step_order_and_sleeping_change_nothing),
	TEST(headers_carry_the_addresses_of_the_trace),
	TEST(fixed_path_shows_in_a_grh_too),
	TEST(line_time_is_that_of_the_framing),
	TEST(ends_that_disagree_are_refused),
	CU_TEST_INFO_NULL,
};
