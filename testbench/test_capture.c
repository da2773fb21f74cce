/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_capture.c - what a MAC sends and receives, stamped with first and last bit
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/capture.h"
#include "testbench/pcapng_in.h"
#include "testbench/pkt_util.h"
#include "testbench/tb.h"
#include "testbench/tb_file.h"

extern CU_TestInfo test_capture_tests[];
extern const struct block_class mac_class;

#define N_PKTS 25u

struct bench {
	struct tb t;
	struct pkt_bench packets;
	struct tb_port *tx_pkt, *rx_frame, *tx_frame, *rx_pkt;
	struct pool *pool;
	struct capture *capture;
};

static void bench_start(struct bench *b, const char *path, enum step_order order)
{
	struct err e = { 0 };

	pkt_bench_init(&b->packets, ENCAP_IPV6);
	tb_init(&b->t, &mac_class, &b->packets.nic, NULL);
	b->t.sim.order = order;
	b->tx_pkt = tb_source(&b->t, "tx_pkt");
	b->rx_frame = tb_source(&b->t, "rx_frame");
	b->tx_frame = tb_sink(&b->t, "tx_frame");
	b->rx_pkt = tb_sink(&b->t, "rx_pkt");
	b->pool = pool_create(&b->tx_pkt->b, 2 * N_PKTS, packet_buf_size(4096));
	b->capture = capture_open(path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->capture);
	capture_port(b->capture, "nic0", false, b->tx_frame->chan, b->rx_frame->chan);
	tb_start(&b->t);
	/* full duplex, in the same cycles */
	for (uint32_t i = 0; i < N_PKTS; i++) {
		uint32_t ack = pkt_in_pool(b->pool, &b->packets, 0, IB_ACKNOWLEDGE, i, 0);
		uint32_t data = pkt_in_pool(b->pool, &b->packets, 0, IB_SEND_ONLY, i, i);
		uint64_t at = 4000 * (uint64_t)i;

		tb_send(b->tx_pkt, &(struct pkt){ .buf = data });
		tb_send_at(b->rx_frame, i, &(struct frame){ at, at + 6000, ack });
	}
}

static void run(const char *path, enum step_order order)
{
	struct bench b;
	struct err e = { 0 };

	bench_start(&b, path, order);
	tb_run(&b.t);
	CU_ASSERT_EQUAL(capture_count(b.capture), 2 * N_PKTS);
	CU_ASSERT(capture_close(b.capture, &e));
	tb_end(&b.t);
}

static void both_directions_are_captured_in_order(void)
{
	const char *path = tb_path("capture.pcapng");
	struct pcapng_found r;
	uint64_t tx_ps = 4000;
	unsigned tx = 0, rx = 0;

	run(path, ORDER_FORWARD);
	pcapng_read(&r, path);
	CU_ASSERT_EQUAL(r.bad, 0);
	CU_ASSERT_EQUAL(r.interfaces, 1);
	CU_ASSERT_EQUAL_FATAL(r.packets, 2 * N_PKTS);
	for (unsigned i = 0; i < r.packets; i++) {
		CU_ASSERT(i == 0 || r.stamp[i] >= r.stamp[i - 1]);
		CU_ASSERT_EQUAL(r.len[i], r.wire_len[i]);
		if (r.flags[i] == 2) {
			/*
			 * sent: first bits, one frame behind the other; IPv6, BTH and ICRC are 78
			 * bytes
			 */
			CU_ASSERT_EQUAL(r.stamp[i], tx_ps);
			CU_ASSERT_EQUAL(r.len[i], 78 + (tx + 3) / 4 * 4);
			tx_ps += (r.len[i] + 24) * 80ull;
			tx++;
		} else {
			CU_ASSERT_EQUAL(r.stamp[i], 4000ull * rx + 6000);
			CU_ASSERT_EQUAL(r.len[i], 82);
			rx++;
		}
	}
	CU_ASSERT_EQUAL(tx, N_PKTS);
	CU_ASSERT_EQUAL(rx, N_PKTS);
}

static void step_order_does_not_show(void)
{
	const char *forward = tb_path("forward.pcapng"), *other = tb_path("other.pcapng");
	unsigned char *a, *b;
	size_t na, nb;

	run(forward, ORDER_FORWARD);
	a = pcapng_slurp(forward, &na);
	for (enum step_order o = ORDER_REVERSED; o <= ORDER_SHUFFLED; o++) {
		run(other, o);
		b = pcapng_slurp(other, &nb);
		CU_ASSERT_EQUAL(na, nb);
		CU_ASSERT_EQUAL(memcmp(a, b, na), 0);
		free(b);
	}
	free(a);
}

static void aborted_capture_leaves_no_file(void)
{
	const char *path = tb_path("aborted.pcapng");
	struct bench b;

	bench_start(&b, path, ORDER_FORWARD);
	tb_run(&b.t);
	capture_abort(b.capture);
	capture_abort(NULL);
	CU_ASSERT(access(path, F_OK) != 0);
	CU_ASSERT_EQUAL(tb_count_files("aborted"), 0);
	tb_end(&b.t);
}

CU_TestInfo test_capture_tests[] = {
	{ "both_directions_are_captured_in_order", both_directions_are_captured_in_order },
	{ "step_order_does_not_show", step_order_does_not_show },
	{ "aborted_capture_leaves_no_file", aborted_capture_leaves_no_file },
	CU_TEST_INFO_NULL
};
