/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_wire.c - propagation to the picosecond, no throttling by length, and each impairment
 */
#include <stdlib.h>
#include <string.h>

#include "models/packet/vcrc.h"
#include "models/wire.h"
#include "testbench/pkt_util.h"
#include "testbench/tb.h"

extern CU_TestInfo test_wire_tests[];
extern const struct block_class wire_class;

struct bench {
	struct tb t;
	struct tb_port *a_in, *b_in, *a_out, *b_out;
	struct pool *pool;
	struct pkt_bench packets;
};

static uint64_t stream_seed = 1;

static void bench_start(struct bench *b, const char *const *sets, struct wire_env *env,
			uint32_t buffers)
{
	tb_init(&b->t, &wire_class, env, sets);
	rng_seed(&b->t.dut->rng, "wire", stream_seed);
	b->a_in = tb_source(&b->t, "a_in");
	b->b_in = tb_source(&b->t, "b_in");
	b->a_out = tb_sink(&b->t, "a_out");
	b->b_out = tb_sink(&b->t, "b_out");
	b->pool = pool_create(&b->a_in->b, buffers, packet_buf_size(4096));
	pkt_bench_init(&b->packets, env && env->is_ib ? ENCAP_IB : ENCAP_IPV4);
	tb_start(&b->t);
}

/*
 * Frame 'i' of those sent every 'cycles' cycles (4 ns): PSN i, starting at the edge at which it is
 * pushed.
 */
static void send(struct bench *b, struct tb_port *in, uint32_t i, uint32_t cycles, uint32_t len)
{
	uint64_t at = (uint64_t)i * cycles;
	uint32_t buf = pkt_in_pool(b->pool, &b->packets, 0, IB_RC | IB_SEND_ONLY, i, len);
	struct frame f = { .buf = buf };
	const struct packet *p = buf_data(&b->t.sim, f.buf);

	f.first_ps = at * 4000;
	f.last_ps = f.first_ps + (p->len + 12u) * 80;
	tb_send_at(in, at, &f);
}

static uint32_t psn_of(const struct bench *b, const struct frame *f)
{
	const struct packet *p = buf_data(&b->t.sim, f->buf);
	struct hdr_bth bth;

	hdr_bth_decode(&bth, p->data + p->l4);
	return bth.psn;
}

/* Whether the frame's bytes are those that were sent with its PSN. */
static bool is_intact(struct bench *b, const struct frame *f, uint32_t len)
{
	static union {
		struct packet p;
		uint8_t room[8192];
	} u;
	const struct packet *p = buf_data(&b->t.sim, f->buf);

	pkt_build(&u.p, &b->packets, 0, IB_RC | IB_SEND_ONLY, psn_of(b, f), len);
	return p->len == u.p.len && memcmp(p->data, u.p.data, p->len) == 0 && !p->is_altered;
}

static void frames_arrive_after_the_propagation_time(void)
{
	static const char *const sets[] = { "wire.length=100m", "wire.delay=33ns", NULL };
	struct bench b;

	bench_start(&b, sets, NULL, 40);
	for (uint32_t i = 0; i < 20; i++) {
		send(&b, b.a_in, i, 30, 100);
		send(&b, b.b_in, i, 30, 40);
	}
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 20);
	CU_ASSERT_EQUAL_FATAL(b.a_out->n_received, 20);
	for (uint32_t i = 0; i < 20; i++) {
		const struct frame *f = tb_got(b.b_out, i);

		CU_ASSERT_EQUAL(f->first_ps, i * 120000ull + 533000);
		CU_ASSERT_EQUAL(psn_of(&b, f), i);
		CU_ASSERT(is_intact(&b, f, 100));
		/* taken by the sink at the first edge at or after the last bit */
		CU_ASSERT_EQUAL(b.b_out->cycle[i], ceil_div(f->last_ps, 4000));
		CU_ASSERT(is_intact(&b, tb_got(b.a_out, i), 40));
	}
	/* the senders' buffers are free, the wire's are the receivers' now */
	CU_ASSERT_EQUAL(b.pool->in_use, 0);
	tb_end(&b.t);
}

static void long_cable_does_not_throttle(void)
{
	static const char *const sets[] = { "wire.length=20km", NULL };
	struct bench b;
	const uint32_t n = 5000;

	/* 84 bytes every 8 ns: 100 us hold 12,500 of them */
	bench_start(&b, sets, NULL, n);
	for (uint32_t i = 0; i < n; i++)
		send(&b, b.a_in, i, 2, 0);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = tb_got(b.b_out, i);

		CU_ASSERT_EQUAL(b.b_out->cycle[i], ceil_div(f->last_ps, 4000));
		CU_ASSERT_EQUAL(f->first_ps, i * 8000ull + 100000000);
	}
	tb_end(&b.t);
}

static void any_stalls_lose_nothing(void)
{
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { set_in, set_out, NULL };
			struct bench b;

			tb_stall_sets(&wire_class, in, out, set_in, set_out);
			bench_start(&b, sets, NULL, 200);
			for (uint32_t i = 0; i < 100; i++) {
				send(&b, b.a_in, i, 3, 0);
				send(&b, b.b_in, i, 3, 0);
			}
			tb_run(&b.t);
			CU_ASSERT_EQUAL(b.a_out->n_received, 100);
			CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 100);
			for (uint32_t i = 0; i < 100; i++)
				CU_ASSERT_EQUAL(psn_of(&b, tb_got(b.b_out, i)), i);
			tb_end(&b.t);
		}
}

/* Cycles at which frames arrive, and stalls of the channels, as one number. */
static uint64_t arrival_digest(enum step_order order, bool every_cycle)
{
	static const char *const sets[] = { "wire.loss=0.1",         "wire.duplicate=0.1",
					    "wire.reorder=0.2",      "wire.stall_in=random",
					    "wire.stall_out=random", NULL };
	struct bench b;
	uint64_t d = 0;

	bench_start(&b, sets, NULL, 400);
	b.t.sim.order = order;
	b.t.sim.every_cycle = every_cycle;
	for (uint32_t i = 0; i < 200; i++) {
		send(&b, b.a_in, i, 3, 0);
		send(&b, b.b_in, i, 3, 500);
	}
	tb_run_for(&b.t, 5000);
	for (uint32_t i = 0; i < b.b_out->n_received; i++)
		d = d * 31 + b.b_out->cycle[i];
	for (uint32_t i = 0; i < b.a_out->n_received; i++)
		d = d * 31 + b.a_out->cycle[i];
	d = d * 31 + b.b_out->chan->stall_ps;
	d = d * 31 + b.a_out->chan->stall_ps;
	tb_end(&b.t);
	return d;
}

static void step_order_and_sleeping_change_nothing(void)
{
	uint64_t d = arrival_digest(ORDER_FORWARD, false);

	CU_ASSERT_EQUAL(arrival_digest(ORDER_REVERSED, false), d);
	CU_ASSERT_EQUAL(arrival_digest(ORDER_SHUFFLED, false), d);
	CU_ASSERT_EQUAL(arrival_digest(ORDER_FORWARD, true), d);
}

/* ---- rules of the trace ---- */

static void rules_hit_exactly_the_nth_frames(void)
{
	static const uint64_t drop[] = { 1, 4 }, dup[] = { 2 }, corrupt[] = { 5 }, delay[] = { 6 };
	static const struct wire_rule rules[] = { { WIRE_DROP, 0, drop, 2 },
						  { WIRE_DUP, 0, dup, 1 },
						  { WIRE_CORRUPT, 0, corrupt, 1 },
						  { WIRE_DELAY, 2 * PS_PER_US, delay, 1 } };
	/* PSNs from 0: frame n has PSN n - 1 */
	static const uint32_t want[] = { 1, 1, 2, 4, 6, 7, 5 };
	struct wire_env env = { .rules = { rules, NULL }, .n_rules = { 4, 0 } };
	struct bench b;

	bench_start(&b, NULL, &env, 16);
	for (uint32_t i = 0; i < 8; i++) {
		send(&b, b.a_in, i, 30, 100);
		send(&b, b.b_in, i, 30, 100);
	}
	tb_run(&b.t);
	CU_ASSERT_EQUAL(b.a_out->n_received, 8);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, ARRAY_LEN(want));
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		const struct frame *f = tb_got(b.b_out, i);
		const struct packet *p = buf_data(&b.t.sim, f->buf);

		CU_ASSERT_EQUAL(psn_of(&b, f), want[i]);
		CU_ASSERT_EQUAL(p->is_altered, want[i] == 4);
		CU_ASSERT_EQUAL(is_intact(&b, f, 100), want[i] != 4);
	}
	CU_ASSERT_EQUAL(((const struct frame *)tb_got(b.b_out, 6))->first_ps,
			5 * 120000 + 10000 + 2 * PS_PER_US);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "lost"), 2);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "duplicated"), 1);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "corrupted"), 1);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "delayed"), 1);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "frames_ab"), 8);
	tb_end(&b.t);
}

static void frame_that_arrives_with_another_goes_behind(void)
{
	static const uint64_t nth[] = { 1 };
	/* frames follow each other every 30 cycles: the first is held back by as much */
	static const struct wire_rule rules[] = { { WIRE_DELAY, 120000, nth, 1 } };
	struct wire_env env = { .rules = { rules, NULL }, .n_rules = { 1, 0 } };
	struct bench b;

	bench_start(&b, NULL, &env, 3);
	for (uint32_t i = 0; i < 3; i++)
		send(&b, b.a_in, i, 30, 100);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 3);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(psn_of(&b, tb_got(b.b_out, i)), i);
	tb_end(&b.t);
}

static void damaged_frame_always_fails_the_icrc(void)
{
	static const char *const sets[] = { "wire.corrupt=1", NULL };
	struct bench b;
	unsigned caught = 0;

	bench_start(&b, sets, NULL, 500);
	for (uint32_t i = 0; i < 500; i++)
		send(&b, b.a_in, i, 30, i % 100);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 500);
	for (uint32_t i = 0; i < 500; i++) {
		const struct frame *f = tb_got(b.b_out, i);
		const struct packet *p = buf_data(&b.t.sim, f->buf);
		struct packet_view v;

		CU_ASSERT(p->is_altered);
		caught += packet_parse(p, &v) != DROP_NONE || !packet_icrc_ok(p, &v);
	}
	CU_ASSERT_EQUAL(caught, 500);
	tb_end(&b.t);
}

static void damaged_infiniband_packet_always_fails_the_vcrc(void)
{
	static const char *const sets[] = { "wire.corrupt=1", NULL };
	struct wire_env env = { .is_ib = true };
	unsigned caught = 0, first = 0, last = 0;
	struct bench b;

	bench_start(&b, sets, &env, 500);
	for (uint32_t i = 0; i < 500; i++)
		send(&b, b.a_in, i, 30, i % 100);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 500);
	for (uint32_t i = 0; i < 500; i++) {
		const struct frame *f = tb_got(b.b_out, i);
		const struct packet *p = buf_data(&b.t.sim, f->buf);
		uint32_t n = p->len - VCRC_BYTES;
		struct packet *good = pkt_room();

		pkt_build(good, &b.packets, 0, IB_RC | IB_SEND_ONLY, i, i % 100);
		first += memcmp(p->data, good->data, LRH_BYTES) != 0;
		last += memcmp(p->data + n, good->data + n, VCRC_BYTES) != 0;
		caught += p->is_altered && vcrc_load(p->data + n) != vcrc_of(p->data, n);
		free(good);
	}
	CU_ASSERT_EQUAL(caught, 500);
	/* any byte may be hit */
	CU_ASSERT(first > 20 && last > 4);
	tb_end(&b.t);
}

static void short_infiniband_packets_fill_a_long_line(void)
{
	static const char *const sets[] = { "wire.length=20km", "wire.clock=400MHz",
					    "wire.buffer=64KiB", NULL };
	struct wire_env env = { .is_ib = true };
	struct bench b;

	/* 28 bytes at 100 Gb/s take 2.24 ns: with a frame a cycle, 40,000 are on 20 km */
	bench_start(&b, sets, &env, 50000);
	for (uint32_t i = 0; i < 50000; i++) {
		struct frame f = { .buf = pkt_in_pool(b.pool, &b.packets, 0, IB_SEND_ONLY, i, 0),
				   .first_ps = 2500ull * i,
				   .last_ps = 2500ull * i + 2240 };

		tb_send_at(b.a_in, i, &f);
	}
	tb_run(&b.t);
	CU_ASSERT_EQUAL(b.b_out->n_received, 50000);
	CU_ASSERT_EQUAL(b.a_in->chan->stall_ps, 0);
	tb_end(&b.t);
}

/* The receiver gives nothing back: what it has no room for is lost, and nothing waits at the entrance. */
static void frames_beyond_what_receivers_can_hold_are_lost(void)
{
	static const char *const sets[] = { "wire.buffer=64KiB", NULL };
	struct bench b;

	bench_start(&b, sets, NULL, 100);
	for (uint32_t i = 0; i < 40; i++)
		send(&b, b.a_in, i, 100, 4096);
	tb_run(&b.t);
	CU_ASSERT(b.b_out->n_received >= 15 && b.b_out->n_received < 40);
	CU_ASSERT_EQUAL(b.b_out->n_received + tb_stat(&b.t, "overrun"), 40);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "lost"), 0);
	CU_ASSERT_EQUAL(b.a_in->chan->stall_ps, 0);
	tb_end(&b.t);
}

/* ---- probabilities ---- */

struct outcome {
	uint32_t n, psn[2200];
	uint64_t lost, duplicated, delayed;
};

static void run_lossy(const char *const *sets, uint32_t n_back, struct outcome *o)
{
	struct bench b;

	bench_start(&b, sets, NULL, 1000 + n_back);
	for (uint32_t i = 0; i < 1000; i++)
		send(&b, b.a_in, i, 30, 0);
	for (uint32_t i = 0; i < n_back; i++)
		send(&b, b.b_in, i, 30, 0);
	tb_run(&b.t);
	memset(o, 0, sizeof(*o));
	o->n = b.b_out->n_received;
	for (uint32_t i = 0; i < o->n; i++)
		o->psn[i] = psn_of(&b, tb_got(b.b_out, i));
	o->lost = tb_stat(&b.t, "lost");
	o->duplicated = tb_stat(&b.t, "duplicated");
	o->delayed = tb_stat(&b.t, "delayed");
	tb_end(&b.t);
}

static void probabilities_hit_about_as_often_as_asked(void)
{
	static const char *const sets[] = { "wire.loss=0.1", "wire.duplicate=0.05",
					    "wire.reorder=0.2", NULL };
	static struct outcome o;
	unsigned backwards = 0;

	run_lossy(sets, 0, &o);
	/* five standard deviations around the mean */
	CU_ASSERT(o.lost > 52 && o.lost < 148);
	CU_ASSERT(o.duplicated > 10 && o.duplicated < 90);
	CU_ASSERT(o.delayed > 115 && o.delayed < 250);
	CU_ASSERT_EQUAL(o.n, 1000 - o.lost + o.duplicated);
	for (uint32_t i = 1; i < o.n; i++)
		backwards += o.psn[i] < o.psn[i - 1];
	CU_ASSERT(backwards > 50);
}

static void one_direction_does_not_move_the_others_fate(void)
{
	static const char *const sets[] = { "wire.loss=0.1", "wire.duplicate=0.05",
					    "wire.reorder=0.2", NULL };
	static struct outcome one, both;

	run_lossy(sets, 0, &one);
	run_lossy(sets, 700, &both);
	CU_ASSERT_EQUAL(one.n, both.n);
	CU_ASSERT_EQUAL(memcmp(one.psn, both.psn, sizeof(one.psn)), 0);
	/* and the comparison can fail: another rate, another stream, another fate */
	run_lossy((const char *const[]){ "wire.loss=0.11", NULL }, 0, &both);
	CU_ASSERT_NOT_EQUAL(memcmp(one.psn, both.psn, sizeof(one.psn)), 0);
	stream_seed = 2;
	run_lossy(sets, 0, &both);
	stream_seed = 1;
	CU_ASSERT_NOT_EQUAL(memcmp(one.psn, both.psn, sizeof(one.psn)), 0);
}

/* Late frames are behind their time, those that follow them too, and none passes another. */
static void jitter_delays_and_keeps_the_order(void)
{
	static const char *const sets[] = { "wire.jitter=0.1", "wire.jitter_delay=10us", NULL };
	unsigned waited = 0;
	struct bench b;

	bench_start(&b, sets, NULL, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		send(&b, b.a_in, i, 30, 0);
	tb_run(&b.t);
	CU_ASSERT_EQUAL_FATAL(b.b_out->n_received, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct frame *f = tb_got(b.b_out, i);
		uint64_t due_ps = i * 120000ull + 10000;

		CU_ASSERT_EQUAL(psn_of(&b, f), i);
		CU_ASSERT(f->first_ps >= due_ps && f->first_ps <= due_ps + 10 * PS_PER_US);
		waited += f->first_ps > due_ps;
	}
	CU_ASSERT(tb_stat(&b.t, "late") > 52 && tb_stat(&b.t, "late") < 148);
	CU_ASSERT(waited > 3 * tb_stat(&b.t, "late"));
	tb_end(&b.t);
}

static void clean_wire_alters_nothing(void)
{
	static struct outcome o;

	run_lossy(NULL, 0, &o);
	CU_ASSERT_EQUAL(o.n, 1000);
	CU_ASSERT_EQUAL(o.lost + o.duplicated + o.delayed, 0);
	for (uint32_t i = 0; i < o.n; i++)
		CU_ASSERT_EQUAL(o.psn[i], i);
}

CU_TestInfo test_wire_tests[] = {
	{ "frames_arrive_after_the_propagation_time", frames_arrive_after_the_propagation_time },
	{ "long_cable_does_not_throttle", long_cable_does_not_throttle },
	{ "any_stalls_lose_nothing", any_stalls_lose_nothing },
	{ "step_order_and_sleeping_change_nothing", step_order_and_sleeping_change_nothing },
	{ "rules_hit_exactly_the_nth_frames", rules_hit_exactly_the_nth_frames },
	{ "frame_that_arrives_with_another_goes_behind",
	  frame_that_arrives_with_another_goes_behind },
	{ "damaged_frame_always_fails_the_icrc", damaged_frame_always_fails_the_icrc },
	{ "damaged_infiniband_packet_always_fails_the_vcrc",
	  damaged_infiniband_packet_always_fails_the_vcrc },
	{ "short_infiniband_packets_fill_a_long_line", short_infiniband_packets_fill_a_long_line },
	{ "frames_beyond_what_receivers_can_hold_are_lost",
	  frames_beyond_what_receivers_can_hold_are_lost },
	{ "probabilities_hit_about_as_often_as_asked", probabilities_hit_about_as_often_as_asked },
	{ "one_direction_does_not_move_the_others_fate",
	  one_direction_does_not_move_the_others_fate },
	{ "jitter_delays_and_keeps_the_order", jitter_delays_and_keeps_the_order },
	{ "clean_wire_alters_nothing", clean_wire_alters_nothing },
	CU_TEST_INFO_NULL
};
