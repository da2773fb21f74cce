/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_capture.c - what a MAC sends and receives, stamped with first and last bit; every
 * encapsulation read by other people's tools
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/run/capture.h"
#include "models/packet/encap.h"
#include "testbench/pcapng_in.h"
#include "testbench/pkt_util.h"
#include "testbench/tb.h"
#include "testbench/tb_file.h"
#include "testbench/tb_oracle.h"

extern CU_TestInfo test_capture_tests[];
extern const struct block_class mac_class;

#define N_PKTS 25u
#define MAX_PKTS 400u

struct bench {
	struct tb t;
	struct pkt_bench packets;
	struct tb_port *tx_pkt, *rx_frame, *tx_frame, *rx_pkt;
	struct pool *pool;
	struct capture *capture;
};

static void bench_start(struct bench *b, const char *path, enum encap encap, enum step_order order)
{
	struct err e = { 0 };

	pkt_bench_init(&b->packets, encap);
	tb_init(&b->t, &mac_class, &b->packets.nic, NULL);
	b->t.sim.order = order;
	b->tx_pkt = tb_source(&b->t, "tx_pkt");
	b->rx_frame = tb_source(&b->t, "rx_frame");
	b->tx_frame = tb_sink(&b->t, "tx_frame");
	b->rx_pkt = tb_sink(&b->t, "rx_pkt");
	b->pool = pool_create(&b->tx_pkt->b, MAX_PKTS, packet_buf_size(4096));
	b->capture = capture_open(path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->capture);
	capture_port(b->capture, "nic0", encap_is_ib((uint8_t)encap), b->tx_frame->chan,
		     b->rx_frame->chan);
	tb_start(&b->t);
}

static void send_both_ways(struct bench *b)
{
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

	bench_start(&b, path, ENCAP_IPV6, order);
	send_both_ways(&b);
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
			CU_ASSERT_EQUAL(r.stamp[i], tx_ps / 100 * 100);
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

	bench_start(&b, path, ENCAP_IPV6, ORDER_FORWARD);
	send_both_ways(&b);
	tb_run(&b.t);
	capture_abort(b.capture);
	capture_abort(NULL);
	CU_ASSERT(access(path, F_OK) != 0);
	CU_ASSERT_EQUAL(tb_count_files("aborted"), 0);
	tb_end(&b.t);
}

/* ---- encapsulations ---- */

/* tshark 4.0 knows all of RC, UC and UD but these. */
static bool is_news_to_tshark(unsigned opcode)
{
	return opcode == (IB_RC | IB_FLUSH) || opcode == (IB_RC | IB_ATOMIC_WRITE) ||
	       opcode == IB_OPCODE_CNP;
}

/* An ACK with another syndrome. */
static void set_syndrome(struct packet *p, uint8_t syndrome)
{
	const struct encap_info *e = &encaps[p->encap];
	size_t n = (size_t)(p->len - e->tail) - e->net - ICRC_BYTES;

	p->data[p->l4 + BTH_BYTES] = syndrome;
	icrc_store(p->data + e->net + n, icrc_of(e->icrc, p->data + e->net, n));
}

/* One packet to be sent, and the line that tshark must print for it. */
static void send_one(struct bench *b, FILE *expected, uint8_t opcode, uint32_t psn, uint32_t len,
		     int syndrome)
{
	unsigned transport = opcode & IB_TRANSPORT_MASK;
	unsigned qp = transport == IB_UC ? 1 : transport == IB_UD ? 2 : 0;
	const struct opcode_info *o = &opcode_info[opcode];
	uint32_t h = pkt_in_pool(b->pool, &b->packets, qp, opcode, psn, len);

	if (syndrome >= 0)
		set_syndrome(buf_data(&b->t.sim, h), (uint8_t)syndrome);
	tb_send(b->tx_pkt, &(struct pkt){ .buf = h });
	fprintf(expected, "%u,0x%06x,%" PRIu32 ",%" PRIu32 ",", opcode, 0x100 + qp, psn,
		(0u - len) & 3u);
	if (is_news_to_tshark(opcode))
		fputs(",,", expected);
	else if (opcode_has(o, X_AETH))
		fprintf(expected, "%d,,", syndrome < 0 ? 0x1f : syndrome);
	else
		fprintf(expected, ",%s,", opcode_has(o, X_RETH) ? "8" : "");
	fprintf(expected, "%s\n", opcode_has(o, X_IMMDT) ? "cafe0001" : "");
}

/*
 * Every opcode of RC, UC and UD, and CNP, that tshark knows or does not, each with a few payloads that
 * it may have, and ACKs of every kind. Returns how many packets; 'expected' is what tshark must print.
 */
static uint32_t capture_every_opcode(const char *path, enum encap encap, bool is_known,
				     FILE *expected)
{
	static const uint32_t lens[] = { 1, 63, 256, 0, 8, 16 };
	/* credits; RNR NAKs; the kinds of NAK */
	static const uint8_t syndromes[] = { 0x00, 0x0f, 0x20, 0x2c, 0x3f,
					     0x60, 0x61, 0x62, 0x63, 0x64 };
	struct bench b;
	struct err e = { 0 };
	uint32_t n = 0;

	bench_start(&b, path, encap, ORDER_FORWARD);
	for (unsigned op = 0; op < 256; op++) {
		const struct opcode_info *o = &opcode_info[op];
		unsigned transport = op & IB_TRANSPORT_MASK;

		if (!o->name || transport == IB_RD || transport == IB_XRC ||
		    is_news_to_tshark(op) == is_known)
			continue;
		for (unsigned i = 0; i < ARRAY_LEN(lens); i++)
			if (opcode_len_ok(o, lens[i], 256))
				send_one(&b, expected, (uint8_t)op, n++, lens[i], -1);
	}
	for (unsigned i = 0; is_known && i < ARRAY_LEN(syndromes); i++)
		send_one(&b, expected, IB_RC | IB_ACKNOWLEDGE, n++, 0, syndromes[i]);
	tb_run(&b.t);
	CU_ASSERT_EQUAL(capture_count(b.capture), n);
	CU_ASSERT(capture_close(b.capture, &e));
	tb_end(&b.t);
	return n;
}

static void infiniband_is_captured_as_erf(void)
{
	const char *path = tb_path("erf.pcapng");
	static struct pcapng_found r;
	struct bench b;
	struct err e = { 0 };

	bench_start(&b, path, ENCAP_IB, ORDER_FORWARD);
	send_both_ways(&b);
	tb_run(&b.t);
	CU_ASSERT(capture_close(b.capture, &e));
	tb_end(&b.t);
	pcapng_read(&r, path);
	CU_ASSERT_EQUAL(r.bad, 0);
	CU_ASSERT_EQUAL_FATAL(r.packets, 2 * N_PKTS);
	for (unsigned i = 0; i < r.packets; i++) {
		const unsigned char *h = r.head[i];
		uint64_t ts = 0;

		/* in units of 2^-32 s, cut off; the stamp beside it lacks up to 99 ps */
		for (unsigned k = 8; k-- > 0;)
			ts = ts << 8 | h[k];
		CU_ASSERT(ts >= (uint64_t)((double)r.stamp[i] * 4294967296e-12));
		CU_ASSERT(ts <= (uint64_t)((double)(r.stamp[i] + 99) * 4294967296e-12));
		CU_ASSERT_EQUAL(h[8], 21);
		CU_ASSERT_EQUAL(h[10] << 8 | h[11], (int)r.len[i]);
		CU_ASSERT_EQUAL(h[14] << 8 | h[15], (int)r.len[i] - 16);
	}
}

/* One bit of the PSN of the last packet, number n - 1, flipped: its ICRC is wrong then. */
static void spoil_file(const char *path, uint32_t n)
{
	const uint8_t psn[] = { 0x80, 0, 0, (uint8_t)(n - 1) }; /* behind AckReq */
	size_t len, at;
	unsigned char *data = pcapng_slurp(path, &len);
	FILE *f = fopen(path, "r+b");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (at = len - sizeof(psn); at > 0 && memcmp(data + at, psn, sizeof(psn)) != 0; at--)
		;
	CU_ASSERT(at > 0);
	fseek(f, (long)at + 3, SEEK_SET);
	fputc(psn[3] ^ 1, f);
	fclose(f);
	free(data);
}

static void every_encapsulation_is_read_by_other_tools(void)
{
	bool has_scapy = tb_has_scapy();

	if (!tb_has_capture_tools())
		return;
	for (enum encap e = 0; e < ENCAPS; e++) {
		const char *path = tb_path("encap.pcapng");
		char *expected = NULL;
		size_t len;
		FILE *f = open_memstream(&expected, &len);
		uint32_t n = capture_every_opcode(path, e, true, f);

		fclose(f);
		/* 20 opcodes of RC, 12 of UC, 2 of UD, with two or more payloads most of them */
		CU_ASSERT(n > 100);
		CU_ASSERT(tb_capture_is_good(path, n));
		CU_ASSERT(tb_tshark_reads(path, expected));
		CU_ASSERT(e != ENCAP_IPV4 || !has_scapy || tb_scapy_agrees(path, n));
		CU_ASSERT_FALSE(tb_capture_is_good(path, n - 1));
		spoil_file(path, n);
		CU_ASSERT_FALSE(tb_capture_is_good(path, n));
		CU_ASSERT_FALSE(tb_tshark_reads(path, expected));
		CU_ASSERT(e != ENCAP_IPV4 || !has_scapy || !tb_scapy_agrees(path, n));
		free(expected);
	}
}

static void opcodes_that_are_news_to_tshark_have_right_crcs(void)
{
	bool has_scapy = tb_has_scapy();

	if (!tb_has_capture_tools())
		return;
	for (enum encap e = 0; e < ENCAPS; e++) {
		const char *path = tb_path("news.pcapng");
		char *expected = NULL;
		size_t len;
		FILE *f = open_memstream(&expected, &len);
		uint32_t n = capture_every_opcode(path, e, false, f);

		fclose(f);
		CU_ASSERT_EQUAL(n, 3);
		CU_ASSERT(tb_crcs_are_good(path, n));
		CU_ASSERT(tb_tshark_reads(path, expected));
		CU_ASSERT(e != ENCAP_IPV4 || !has_scapy || tb_scapy_agrees(path, n));
		spoil_file(path, n);
		CU_ASSERT_FALSE(tb_crcs_are_good(path, n));
		free(expected);
	}
}

CU_TestInfo test_capture_tests[] = {
	{ "both_directions_are_captured_in_order", both_directions_are_captured_in_order },
	{ "step_order_does_not_show", step_order_does_not_show },
	{ "aborted_capture_leaves_no_file", aborted_capture_leaves_no_file },
	{ "infiniband_is_captured_as_erf", infiniband_is_captured_as_erf },
	{ "every_encapsulation_is_read_by_other_tools",
	  every_encapsulation_is_read_by_other_tools },
	{ "opcodes_that_are_news_to_tshark_have_right_crcs",
	  opcodes_that_are_news_to_tshark_have_right_crcs },
	CU_TEST_INFO_NULL
};
