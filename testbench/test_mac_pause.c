/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mac_pause.c - lossless Ethernet: a receiver that cannot follow stops its peer, for as long
 * as the frame says
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/pkt_util.h"
#include "testbench/tb.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

extern CU_TestInfo test_mac_pause_tests[];
extern const struct block_class mac_class;

/* Two megabytes into a host behind one lane of PCIe Gen1. */
static const char overload[] =
	"rnicsim-trace 1\nhost h0\nhost h1\n"
	"mr h0 src va=0x1000000 len=64KiB access=lw fill=inc\n"
	"mr h1 dst va=0x2000000 len=64KiB access=lw,rw fill=zero\n"
	"qp h0 q0 type=RC peer=h1.q0 mtu=1024 timeout=20\nqp h1 q0 type=RC peer=h0.q0 mtu=1024\n"
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64KiB remote=dst:0 repeat=32 window=32\n"
	"expect h0.q0 id=1 status=SUCCESS\nexpect mem h1 dst:0:64KiB == h0 src:0:64KiB\n";

static void run_overload(struct tb_run *t, const char *pause, bool every_cycle)
{
	const char *const sets[] = { "nic1.pcie_link.lanes=1", "nic1.pcie_link.gen=1", pause,
				     NULL };
	struct tb_run_how how = { .sets = sets, .every_cycle = every_cycle, .keep_packets = true };

	how.trace = tb_write("overload.trace", overload, sizeof(overload) - 1);
	tb_run_ok(t, &how);
}

/* The seeded fault: without PAUSE the same load loses packets. */
static void slow_receiver_pauses_instead_of_dropping(void)
{
	struct tb_run t;

	run_overload(&t, "mac.pause=on", false);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.mac.rx_dropped"), 0);
	CU_ASSERT(tb_run_stat(&t, "nic1.mac.rx_pauses") > 0);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.mac.rx_pauses"),
			tb_run_stat(&t, "nic0.mac.tx_pauses"));
	CU_ASSERT(tb_run_stat(&t, "nic0.mac.tx_pause_ps") > 0);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.requester.resent_packets"), 0);
	tb_run_close(&t);
	run_overload(&t, "mac.pause=off", false);
	CU_ASSERT(tb_run_stat(&t, "nic1.mac.rx_dropped") > 0);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.mac.rx_pauses"), 0);
	tb_run_close(&t);
}

/* IEEE 802.3, annex 31B: addresses, type, opcode, time. */
static void pause_frame_has_the_standards_bytes(void)
{
	static const uint8_t head[] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
	static const uint8_t body[] = { 0x88, 0x08, 0x00, 0x01, 0xff, 0xff };
	static const uint8_t go_on[] = { 0x88, 0x08, 0x00, 0x01, 0x00, 0x00 };
	unsigned n_stop = 0, n_go = 0;
	struct tb_run t;

	run_overload(&t, "mac.pause=on", false);
	for (uint32_t i = 0; i < t.n_packets; i++) {
		const struct tb_run_packet *p = &t.packets[i];

		if (p->nic != 1 || !p->is_tx || memcmp(p->bytes, head, sizeof(head)) != 0)
			continue;
		CU_ASSERT_EQUAL(p->len, 60);
		n_stop += memcmp(p->bytes + 12, body, sizeof(body)) == 0;
		n_go += memcmp(p->bytes + 12, go_on, sizeof(go_on)) == 0;
	}
	CU_ASSERT(n_stop > 0 && n_go > 0);
	CU_ASSERT_EQUAL(n_stop, tb_run_stat(&t, "nic1.mac.rx_pauses"));
	tb_run_close(&t);
}

static void pause_is_the_same_without_sleep(void)
{
	struct tb_run t;
	char *a, *b;

	run_overload(&t, "mac.pause=on", false);
	a = tb_run_summary(&t);
	tb_run_close(&t);
	run_overload(&t, "mac.pause=on", true);
	b = tb_run_summary(&t);
	tb_run_close(&t);
	CU_ASSERT_STRING_EQUAL(a, b);
	free(a);
	free(b);
}

/* 100 quanta of 512 bits at 100 Gb/s are 512 ns from the end of the frame. */
static void pause_stops_for_as_long_as_it_says(void)
{
	const char *const sets[] = { "mac.pause=on", NULL };
	struct nic nic = { .name = "nic0", .oplog = oplog_create() };
	struct tb_port *tx_pkt, *rx_frame, *tx_frame;
	struct packet *p;
	struct frame f = { .first_ps = 1000, .last_ps = 8000 };
	struct pool *pool, *peer;
	struct tb t;

	tb_init(&t, &mac_class, &nic, sets);
	tx_pkt = tb_source(&t, "tx_pkt");
	rx_frame = tb_source(&t, "rx_frame");
	tx_frame = tb_sink(&t, "tx_frame");
	tb_sink(&t, "rx_pkt");
	pool = pool_create(&tx_pkt->b, 4, packet_buf_size(4096));
	peer = pool_create(&rx_frame->b, 4, packet_buf_size(4096));
	tb_start(&t);
	f.buf = frame_in_pool(peer, 60);
	p = buf_data(&t.sim, f.buf);
	memcpy(p->data + 12, (const uint8_t[]){ 0x88, 0x08, 0x00, 0x01, 0x00, 100 }, 6);
	tb_send(rx_frame, &f);
	tb_run_for(&t, 10);
	tb_send(tx_pkt, &(struct pkt){ .buf = frame_in_pool(pool, 100) });
	tb_run(&t);
	CU_ASSERT_EQUAL_FATAL(tx_frame->n_received, 1);
	CU_ASSERT(((const struct frame *)tb_got(tx_frame, 0))->first_ps >= f.last_ps + 512000);
	CU_ASSERT(((const struct frame *)tb_got(tx_frame, 0))->first_ps < f.last_ps + 520000);
	CU_ASSERT_EQUAL(tb_stat(&t, "tx_pause_ps"), 512000);
	tb_end(&t);
	oplog_destroy(nic.oplog);
}

static void pause_limits_that_contradict_each_other_are_refused(void)
{
	static const struct {
		const char *sets[3], *why;
	} cases[] = {
		{ { "mac.rx_xon=64MiB", "mac.rx_xoff=4KiB" },
		  "mac.rx_xon = 64MiB: above where the peer is paused; allowed: up to rx_xoff" },
		{ { "mac.pause=on", "mac.rx_buffer=192KiB" },
		  "mac.rx_xoff: the buffer is full before the peer is paused" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tb_run t;

		CU_ASSERT_FALSE(tb_run_open(&t, &(struct tb_run_how){ .trace = "traces/demo.trace",
								      .sets = cases[i].sets }));
		CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, cases[i].why));
		tb_run_close(&t);
	}
}

CU_TestInfo test_mac_pause_tests[] = {
	{ "pause_limits_that_contradict_each_other_are_refused",
	  pause_limits_that_contradict_each_other_are_refused },
	{ "slow_receiver_pauses_instead_of_dropping", slow_receiver_pauses_instead_of_dropping },
	{ "pause_frame_has_the_standards_bytes", pause_frame_has_the_standards_bytes },
	{ "pause_is_the_same_without_sleep", pause_is_the_same_without_sleep },
	{ "pause_stops_for_as_long_as_it_says", pause_stops_for_as_long_as_it_says },
	CU_TEST_INFO_NULL
};
