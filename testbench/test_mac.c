/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mac.c - line times to the picosecond, buffers back at the last bit, the receive buffer; the
 * framing and VCRC of InfiniBand
 */
#include <stdio.h>

#include "models/packet/vcrc.h"
#include "testbench/pkt_util.h"
#include "testbench/tb.h"

extern CU_TestInfo test_mac_tests[];
extern const struct block_class mac_class;

#define N_FRAMES 150u
#define LINE_BYTES(len) (((len) < 60 ? 60 : (len)) + 24u)

struct bench {
	struct tb t;
	struct nic nic;
	struct tb_port *tx_pkt, *rx_frame, *tx_frame, *rx_pkt;
	struct pool *pool;
};

static void bench_start(struct bench *b, const char *const *sets, uint32_t buffers)
{
	b->nic = (struct nic){ .name = "nic0", .oplog = oplog_create() };
	tb_init(&b->t, &mac_class, &b->nic, sets);
	b->tx_pkt = tb_source(&b->t, "tx_pkt");
	b->rx_frame = tb_source(&b->t, "rx_frame");
	b->tx_frame = tb_sink(&b->t, "tx_frame");
	b->rx_pkt = tb_sink(&b->t, "rx_pkt");
	b->pool = pool_create(&b->tx_pkt->b, buffers, packet_buf_size(4096));
	tb_start(&b->t);
}

static void bench_end(struct bench *b)
{
	tb_end(&b->t);
	oplog_destroy(b->nic.oplog);
}

static void send(struct bench *b, uint32_t len)
{
	tb_send(b->tx_pkt, &(struct pkt){ .buf = frame_in_pool(b->pool, len) });
}

/* Picoseconds of 'bits' at 'rate', rounded up; up to 18 million bits. */
static uint64_t line_ps(uint64_t bits, uint64_t rate)
{
	return ceil_div(bits * PS_PER_S, rate);
}

/* Frames that do not follow each other exactly, when a byte more ('fault') is assumed for each. */
static unsigned misplaced_frames(const char *rate_set, uint64_t rate, const char *clock,
				 uint32_t len, unsigned fault)
{
	const char *const sets[] = { rate_set, clock, NULL };
	struct bench b;
	uint64_t bits = 8ull * (LINE_BYTES(len) + fault), first = 0;
	unsigned bad = 0;

	bench_start(&b, sets, N_FRAMES);
	for (unsigned i = 0; i < N_FRAMES; i++)
		send(&b, len);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.tx_frame->n_received, N_FRAMES);
	for (unsigned i = 0; i < N_FRAMES; i++) {
		const struct frame *f = tb_got(b.tx_frame, i);

		if (i == 0)
			first = f->first_ps;
		bad += f->first_ps != first + line_ps(i * bits, rate);
		/* the gap of 12 bytes is behind the last bit */
		bad += f->last_ps != first + line_ps((i + 1) * bits - 96, rate);
	}
	CU_ASSERT_EQUAL(tb_stat(&b.t, "tx_frames"), N_FRAMES);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "tx_line_bytes"), N_FRAMES * LINE_BYTES(len));
	bench_end(&b);
	return bad;
}

static const struct {
	const char *set, *clock;
	uint64_t rate;
} rates[] = {
	{ "mac.rate=10Gbps", "mac.clock=250MHz", 10 * GBPS },
	{ "mac.rate=25Gbps", "mac.clock=161132812Hz", 25 * GBPS },
	{ "mac.rate=56Gbps", "mac.clock=250MHz", 56 * GBPS },
	{ "mac.rate=100Gbps", "mac.clock=250MHz", 100 * GBPS },
	{ "mac.rate=100Gbps", "mac.clock=322265625Hz", 100 * GBPS },
	{ "mac.rate=400Gbps", "mac.clock=1GHz", 400 * GBPS },
};

static void tx_back_to_back_frames_fill_the_line_exactly(void)
{
	static const uint32_t lens[] = { 1,  58,  59,  60,  61,  62,   63,   64,  65,
					 74, 127, 128, 129, 314, 1082, 1500, 4154 };

	for (unsigned r = 0; r < ARRAY_LEN(rates); r++)
		for (unsigned i = 0; i < ARRAY_LEN(lens); i++)
			CU_ASSERT_EQUAL(misplaced_frames(rates[r].set, rates[r].rate,
							 rates[r].clock, lens[i], 0),
					0);
}

static void tx_every_size_fills_100g_exactly(void)
{
	for (uint32_t len = 58; len < 4200; len += 41)
		CU_ASSERT_EQUAL(misplaced_frames(rates[3].set, 100 * GBPS, rates[3].clock, len, 0),
				0);
}

static void tx_wrong_overhead_is_caught(void)
{
	CU_ASSERT(misplaced_frames("mac.rate=100Gbps", 100 * GBPS, "mac.clock=250MHz", 100, 1) >
		  N_FRAMES / 2);
}

static void tx_idle_line_starts_at_the_edge(void)
{
	struct bench b;
	const struct frame *f;

	bench_start(&b, (const char *const[]){ "mac.tx_delay=7ns", NULL }, 2);
	tb_send_at(b.tx_pkt, 10, &(struct pkt){ .buf = frame_in_pool(b.pool, 100) });
	tb_send_at(b.tx_pkt, 1000, &(struct pkt){ .buf = frame_in_pool(b.pool, 100) });
	tb_run(&b.t);
	/* pushed at cycle 10, seen at 11; 4 ns a cycle */
	f = tb_got(b.tx_frame, 0);
	CU_ASSERT_EQUAL(f->first_ps, 44000 + 7000);
	CU_ASSERT_EQUAL(f->last_ps, 44000 + 7000 + 112 * 80);
	f = tb_got(b.tx_frame, 1);
	CU_ASSERT_EQUAL(f->first_ps, 4004000 + 7000);
	bench_end(&b);
}

static void tx_buffer_is_held_to_the_last_bit(void)
{
	struct bench b;
	const struct frame *f;

	bench_start(&b, NULL, 1);
	send(&b, 4000);
	/* starts at cycle 1, 4 ns; 4012 bytes take 320,960 ps: the last bit is before cycle 82 */
	b.t.sim.until_ps = 81 * 4000;
	sim_run(&b.t.sim);
	f = tb_got(b.tx_frame, 0);
	CU_ASSERT_EQUAL(f->last_ps, 324960);
	CU_ASSERT_EQUAL(buf_refs(&b.t.sim, f->buf), 2);
	b.t.sim.until_ps = 82 * 4000;
	sim_run(&b.t.sim);
	CU_ASSERT_EQUAL(buf_refs(&b.t.sim, f->buf), 1);
	bench_end(&b);
}

static void tx_any_stalls_same_frames_in_order(void)
{
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { set_in, set_out, NULL };
			struct bench b;
			uint64_t end = 0;

			tb_stall_sets(&mac_class, in, out, set_in, set_out);
			bench_start(&b, sets, N_FRAMES);
			for (unsigned i = 0; i < N_FRAMES; i++)
				send(&b, 60 + i);
			tb_run(&b.t);
			CU_ASSERT_EQUAL_FATAL(b.tx_frame->n_received, N_FRAMES);
			for (unsigned i = 0; i < N_FRAMES; i++) {
				const struct frame *f = tb_got(b.tx_frame, i);
				const struct packet *p = buf_data(&b.t.sim, f->buf);

				CU_ASSERT_EQUAL(p->len, 60 + i);
				/* never two on the line at once, and always the gap between */
				CU_ASSERT(f->first_ps >= end);
				CU_ASSERT_EQUAL(f->last_ps - f->first_ps, (p->len + 12u) * 80);
				CU_ASSERT_EQUAL(buf_refs(&b.t.sim, f->buf), 1);
				end = f->last_ps + 12 * 80;
			}
			bench_end(&b);
		}
}

static void tx_milestones_are_line_times(void)
{
	struct bench b;
	struct op_row what = { .bytes = 1 };
	const struct frame *f;
	uint32_t op, h[3];

	bench_start(&b, NULL, 3);
	op = oplog_open(b.nic.oplog, &what, 1);
	for (unsigned i = 0; i < 3; i++) {
		struct packet *p;

		h[i] = frame_in_pool(b.pool, 1000);
		p = buf_data(&b.t.sim, h[i]);
		p->op = op;
		p->is_msg_first = i == 0;
		p->is_msg_last = i == 2;
		tb_send(b.tx_pkt, &(struct pkt){ .buf = h[i] });
	}
	tb_run(&b.t);
	f = tb_got(b.tx_frame, 0);
	CU_ASSERT_EQUAL(oplog_row(b.nic.oplog, op)->t_ps[OP_FIRST_BIT], f->first_ps);
	f = tb_got(b.tx_frame, 2);
	CU_ASSERT_EQUAL(oplog_row(b.nic.oplog, op)->t_ps[OP_LAST_BIT], f->last_ps);
	CU_ASSERT_EQUAL(oplog_row(b.nic.oplog, op)->t_ps[OP_REMOTE], 0);
	bench_end(&b);
}

static void receive(struct bench *b, uint32_t len, uint64_t last_ps)
{
	struct frame f = { .buf = frame_in_pool(b->pool, len), .last_ps = last_ps };

	tb_send(b->rx_frame, &f);
}

static void rx_frame_goes_on_at_its_last_bit(void)
{
	struct bench b;

	bench_start(&b, (const char *const[]){ "mac.rx_delay=10ns", NULL }, 3);
	receive(&b, 100, 0);
	receive(&b, 100, 400001);
	receive(&b, 100, 400002);
	b.t.sim.until_ps = 400000;
	sim_run(&b.t.sim);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_frames"), 1);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.rx_pkt->n_received, 3);
	/* seen at cycle 1; 10 ns are 3 cycles after 0; then one cycle of the channel */
	CU_ASSERT_EQUAL(b.rx_pkt->cycle[0], 3 + 1);
	/* 410,001 ps: edge 103 */
	CU_ASSERT_EQUAL(b.rx_pkt->cycle[1], 103 + 1);
	CU_ASSERT_EQUAL(b.rx_pkt->cycle[2], 104 + 1);
	bench_end(&b);
}

static void rx_full_buffer_drops(void)
{
	struct bench b;

	bench_start(&b, (const char *const[]){ "mac.rx_delay=10us", "mac.rx_buffer=8192", NULL },
		    6);
	for (unsigned i = 0; i < 5; i++)
		receive(&b, 4000, 0);
	receive(&b, 60, 0);
	tb_run(&b.t);
	CU_ASSERT_EQUAL(b.rx_pkt->n_received, 3);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_frames"), 6);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_dropped"), 3);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_bytes_max"), 8060);
	/* what was dropped is back in its pool */
	CU_ASSERT_EQUAL(b.pool->in_use, 3);
	bench_end(&b);
}

static void rx_last_response_marks_remote(void)
{
	struct bench b;
	struct op_row what = { .bytes = 1 };
	struct packet *p;
	uint32_t op, h;

	bench_start(&b, NULL, 1);
	op = oplog_open(b.nic.oplog, &what, 1);
	h = frame_in_pool(b.pool, 100);
	p = buf_data(&b.t.sim, h);
	p->rsp_op = op;
	p->is_msg_last = true;
	tb_send(b.rx_frame, &(struct frame){ .buf = h, .last_ps = 123457 });
	tb_run(&b.t);
	CU_ASSERT_EQUAL(oplog_row(b.nic.oplog, op)->t_ps[OP_REMOTE], 123457);
	bench_end(&b);
}

/* ---- InfiniBand ---- */

static void ib_bench_start(struct bench *b, struct pkt_bench *packets, const char *const *sets)
{
	pkt_bench_init(packets, ENCAP_IB);
	b->nic = (struct nic){ .name = "nic0", .addr = packets->nic.addr, .oplog = oplog_create() };
	tb_init(&b->t, &mac_class, &b->nic, sets);
	b->tx_pkt = tb_source(&b->t, "tx_pkt");
	b->rx_frame = tb_source(&b->t, "rx_frame");
	b->tx_frame = tb_sink(&b->t, "tx_frame");
	b->rx_pkt = tb_sink(&b->t, "rx_pkt");
	b->pool = pool_create(&b->tx_pkt->b, N_FRAMES, packet_buf_size(4096));
	tb_start(&b->t);
}

static void ib_tx_adds_delimiters_and_vcrc(void)
{
	struct pkt_bench packets;
	struct bench b;
	uint64_t at = 0;

	ib_bench_start(&b, &packets, NULL);
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		/* at 100 Gb/s, 52 bytes with delimiters take longer than a cycle */
		uint32_t h = pkt_in_pool(b.pool, &packets, 0, IB_SEND_ONLY, i, 24 + i);
		struct packet *p = buf_data(&b.t.sim, h);

		vcrc_store(p->data + p->len - VCRC_BYTES, 0);
		tb_send(b.tx_pkt, &(struct pkt){ .buf = h });
	}
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.tx_frame->n_received, N_FRAMES);
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		const struct frame *f = tb_got(b.tx_frame, i);
		const struct packet *p = buf_data(&b.t.sim, f->buf);
		uint32_t len = p->len;

		/* LRH, BTH, ICRC and VCRC are 26 bytes */
		CU_ASSERT_EQUAL(len, 26 + align_up(24 + i, 4));
		CU_ASSERT_EQUAL(vcrc_load(p->data + len - 2), vcrc_of(p->data, len - 2));
		CU_ASSERT(i == 0 || f->first_ps == at);
		CU_ASSERT_EQUAL(f->last_ps, f->first_ps + (len + 2) * 80ull);
		at = f->last_ps;
	}
	bench_end(&b);
}

/* Packets that pass when byte 'at' of each is changed; 'is_altered': the wire says so. */
static uint32_t ib_passed(const char *const *sets, uint32_t at, bool is_altered)
{
	struct pkt_bench packets;
	struct bench b;
	uint32_t n;

	ib_bench_start(&b, &packets, sets);
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t h = pkt_in_pool(b.pool, &packets, 0, IB_SEND_ONLY, i, 8);
		struct packet *p = buf_data(&b.t.sim, h);

		p->is_altered = is_altered;
		if (at < p->len)
			p->data[at] ^= (uint8_t)(1 << i % 8);
		tb_send(b.rx_frame, &(struct frame){ .buf = h });
	}
	tb_run(&b.t);
	n = b.rx_pkt->n_received;
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_frames"), 10);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "rx_vcrc"), 10 - n);
	/* what was dropped is back in its pool */
	CU_ASSERT_EQUAL(b.pool->in_use, n);
	bench_end(&b);
	return n;
}

static void ib_rx_wrong_vcrc_drops(void)
{
	static const char *const always[] = { "mac.vcrc_always=on", NULL };

	/* LRH, BTH, payload, ICRC, VCRC */
	for (uint32_t at = 0; at < 34; at++) {
		CU_ASSERT_EQUAL(ib_passed(NULL, at, true), 0);
		CU_ASSERT_EQUAL(ib_passed(always, at, false), 0);
	}
	CU_ASSERT_EQUAL(ib_passed(always, 34, true), 10);
	/* the sender's verdict is reused: only the wire can make a VCRC wrong */
	CU_ASSERT_EQUAL(ib_passed(NULL, 20, false), 10);
}

/* Line times, cycles of arrival, stalls and buffers in use, as one number. */
static uint64_t digest(enum step_order order, bool every_cycle)
{
	static const char *const sets[] = { "mac.stall_in=random", "mac.stall_out=random",
					    "mac.rx_delay=30ns", "mac.rx_buffer=8192", NULL };
	struct bench b;
	uint64_t d = 0;

	bench_start(&b, sets, 2 * N_FRAMES);
	b.t.sim.order = order;
	b.t.sim.every_cycle = every_cycle;
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		send(&b, 60 + 3 * i);
		receive(&b, 1500, 5000ull * i);
	}
	tb_run_for(&b.t, 3000);
	for (uint32_t i = 0; i < b.tx_frame->n_received; i++)
		d = d * 31 + ((const struct frame *)tb_got(b.tx_frame, i))->first_ps;
	for (uint32_t i = 0; i < b.rx_pkt->n_received; i++)
		d = d * 31 + b.rx_pkt->cycle[i];
	d = d * 31 + b.tx_frame->chan->stall_ps;
	d = d * 31 + b.rx_pkt->chan->stall_ps;
	d = d * 31 + tb_stat(&b.t, "rx_dropped");
	d = d * 31 + b.pool->in_use;
	bench_end(&b);
	return d;
}

static void step_order_and_sleeping_change_nothing(void)
{
	uint64_t d = digest(ORDER_FORWARD, false);

	CU_ASSERT_EQUAL(digest(ORDER_REVERSED, false), d);
	CU_ASSERT_EQUAL(digest(ORDER_SHUFFLED, false), d);
	CU_ASSERT_EQUAL(digest(ORDER_FORWARD, true), d);
}

CU_TestInfo test_mac_tests[] = {
	{ "tx_back_to_back_frames_fill_the_line_exactly",
	  tx_back_to_back_frames_fill_the_line_exactly },
	{ "tx_every_size_fills_100g_exactly", tx_every_size_fills_100g_exactly },
	{ "tx_wrong_overhead_is_caught", tx_wrong_overhead_is_caught },
	{ "tx_idle_line_starts_at_the_edge", tx_idle_line_starts_at_the_edge },
	{ "tx_buffer_is_held_to_the_last_bit", tx_buffer_is_held_to_the_last_bit },
	{ "tx_any_stalls_same_frames_in_order", tx_any_stalls_same_frames_in_order },
	{ "tx_milestones_are_line_times", tx_milestones_are_line_times },
	{ "rx_frame_goes_on_at_its_last_bit", rx_frame_goes_on_at_its_last_bit },
	{ "rx_full_buffer_drops", rx_full_buffer_drops },
	{ "rx_last_response_marks_remote", rx_last_response_marks_remote },
	{ "ib_tx_adds_delimiters_and_vcrc", ib_tx_adds_delimiters_and_vcrc },
	{ "ib_rx_wrong_vcrc_drops", ib_rx_wrong_vcrc_drops },
	{ "step_order_and_sleeping_change_nothing", step_order_and_sleeping_change_nothing },
	CU_TEST_INFO_NULL
};
