/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_wqe_fetch.c - WQEs written to rings in memory against what the block makes of them
 */
#include <stdlib.h>
#include <string.h>

#include "models/verbs/wqe.h"
#include "testbench/tb_dma.h"

extern const struct block_class wqe_fetch_class;

#define N_QP 3u
#define RING_BB 32u
#define RQ_WQES 8u
#define RQ_STRIDE 64u
#define BASE 0x100000ull
#define SQ_OFF(q) ((q)*0x1000u)
#define RQ_OFF(q) (0x8000u + (q)*0x1000u)
#define DBR_OFF(q) (0x10000u + (q)*64u)
#define MEM_BYTES 0x11000u
#define MAX_WQES 6000u

/* One WQE written, with what its message must say. */
struct written {
	struct wqe w;
	uint8_t bytes[1024];
};

struct send_queue {
	uint16_t posted, fetched;
	uint32_t to_write;       /* WQEs still to be written */
	struct written *written; /* in order */
	uint32_t n_written, n_seen, n_reported;
	bool is_ordered;
};

struct bench {
	struct nic nic;
	struct qp_attr qp[N_QP];
	struct tb t;
	struct tb_port *fetch, *rq_req, *qpc_rsp, *wqe, *rq_rsp;
	struct tb_dma dma;
	uint8_t mem[MEM_BYTES];
	uint32_t sq_op[N_QP][RING_BB], rq_op[N_QP][RQ_WQES];
	struct send_queue sq[N_QP];
	struct rng rng, qpc_rng, rq_rng; /* one a reaction: at one edge they come in any order */
	uint32_t max_bb, max_wqe;
	unsigned errors;
	bool is_alone; /* one order by hand, nothing to compare with */
	/* receive side */
	uint16_t rq_posted[N_QP], rq_seen[N_QP];
	uint32_t rq_asked[N_QP], rq_none;
	uint32_t rq_to_ask;
	bool posts_on; /* receives are posted while it runs */
};

static void put_be(uint8_t *p, unsigned n, uint64_t v)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static uint8_t coin(struct bench *e)
{
	return (uint8_t)rng_below(&e->rng, 2);
}

/* ---- send queues ---- */

/* Data segments or inline bytes to the end of a WQE of 'ds' segments, from segment 'at' on. */
static void write_data(struct bench *e, struct written *x, uint32_t at, uint32_t ds, bool is_inline)
{
	uint8_t *p = x->bytes + 16 * at;

	x->w.seg_off = (uint16_t)(16 * at + (is_inline ? 4 : 0));
	if (is_inline) {
		x->w.len = 16 * (ds - at) - 4 - (uint32_t)rng_below(&e->rng, 12);
		x->w.is_inline = true;
		put_be(p, 4, x->w.len | WQE_INLINE);
		for (uint32_t i = 0; i < x->w.len; i++)
			p[4 + i] = (uint8_t)rng_next(&e->rng);
		return;
	}
	for (uint32_t i = 0; i < ds - at; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&e->rng, 100000);

		put_be(p + 16 * i, 4, n);
		put_be(p + 16 * i + 4, 4, rng_next(&e->rng));
		put_be(p + 16 * i + 8, 8, rng_next(&e->rng));
		x->w.len += n;
		x->w.n_sge++;
	}
}

/* A WQE of 'ds' segments at least, as its opcode needs. */
static void make_wqe(struct bench *e, struct written *x, uint32_t qpi, uint16_t index)
{
	static const uint8_t opcodes[] = { 0x08, 0x09, 0x0a, 0x0b, 0x01, 0x10, 0x11, 0x12, 0x00 };
	uint8_t op = opcodes[rng_below(&e->rng, ARRAY_LEN(opcodes))];
	bool has_raddr = op == 0x08 || op == 0x09 || op >= 0x10,
	     is_atomic = op == 0x11 || op == 0x12;
	uint32_t fixed = 1u + has_raddr + is_atomic;
	uint32_t ds = fixed + (op ? (uint32_t)rng_below(&e->rng, 4 * e->max_bb - fixed) : 0);
	bool is_inline = op && op < 0x10 && ds > fixed && rng_below(&e->rng, 3) == 0;

	memset(x, 0, sizeof(*x));
	x->w = (struct wqe){ .qpi = qpi,
			     .index = index,
			     .opcode = op,
			     .n_bb = (uint8_t)ceil_div(ds, 4),
			     .imm = (uint32_t)rng_next(&e->rng),
			     .fence = coin(e),
			     .signaled = coin(e),
			     .solicited = coin(e) };
	put_be(x->bytes, 4, (uint32_t)index << 8 | op);
	put_be(x->bytes + 4, 4, 0x40u << 8 | ds);
	x->bytes[11] = (uint8_t)(x->w.fence * 0x80 | x->w.signaled * 0x08 | x->w.solicited * 0x02);
	put_be(x->bytes + 12, 4, x->w.imm);
	if (has_raddr) {
		x->w.raddr = rng_next(&e->rng);
		x->w.rkey = (uint32_t)rng_next(&e->rng);
		put_be(x->bytes + 16, 8, x->w.raddr);
		put_be(x->bytes + 24, 4, x->w.rkey);
	}
	if (is_atomic) {
		x->w.swap_add = rng_next(&e->rng);
		x->w.compare = rng_next(&e->rng);
		put_be(x->bytes + 32, 8, x->w.swap_add);
		put_be(x->bytes + 40, 8, x->w.compare);
	}
	if (op)
		write_data(e, x, fixed, ds, is_inline);
	else
		x->w.seg_off = 16;
}

static void put_blocks(struct bench *e, uint32_t qpi, const struct written *x)
{
	for (uint32_t i = 0; i < x->w.n_bb; i++) {
		uint32_t slot = (x->w.index + i) % RING_BB;

		memcpy(e->mem + SQ_OFF(qpi) + slot * 64, x->bytes + 64 * i, 64);
		e->sq_op[qpi][slot] = OP_NONE;
	}
}

/* Fill the ring and order what is in it. */
static void write_and_order(struct bench *e, uint32_t qpi, uint64_t at)
{
	struct send_queue *q = &e->sq[qpi];

	while (q->to_write) {
		struct written *x = &q->written[q->n_written];

		make_wqe(e, x, qpi, q->posted);
		if ((uint16_t)(q->posted - q->fetched) + x->w.n_bb > RING_BB)
			break;
		put_blocks(e, qpi, x);
		q->posted = (uint16_t)(q->posted + x->w.n_bb);
		q->n_written++;
		q->to_write--;
	}
	if (q->posted == q->fetched || q->is_ordered)
		return;
	q->is_ordered = true;
	tb_send_at(e->fetch, at,
		   &(struct sq_fetch){ .qpi = qpi,
				       .index = q->fetched,
				       .n_bb = (uint16_t)(q->posted - q->fetched),
				       .max_wqe = (uint16_t)(1 + rng_below(&e->rng, e->max_wqe)),
				       .want_bb = (uint8_t)rng_below(&e->rng, 7) });
}

static void on_fetched(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct sq_fetched *m = msg;
	struct send_queue *q = &e->sq[m->qpi];
	uint32_t bb = 0, bytes = 0;

	(void)t;
	for (uint32_t i = 0; i < m->n_wqe; i++) {
		bb += q->written[q->n_reported].w.n_bb;
		bytes += q->written[q->n_reported++].w.len;
	}
	e->errors += !q->is_ordered || m->n_wqe == 0 || bb != m->n_bb || bytes != m->bytes;
	if (e->is_alone)
		return;
	q->is_ordered = false;
	q->fetched = (uint16_t)(q->fetched + m->n_bb);
	write_and_order(e, m->qpi, p->b.cycle + 1);
}

static bool same(const struct wqe *a, const struct wqe *b)
{
	return a->raddr == b->raddr && a->swap_add == b->swap_add && a->compare == b->compare &&
	       a->rkey == b->rkey && a->imm == b->imm && a->len == b->len && a->index == b->index &&
	       a->seg_off == b->seg_off && a->n_bb == b->n_bb && a->n_sge == b->n_sge &&
	       a->opcode == b->opcode && a->is_inline == b->is_inline && a->fence == b->fence &&
	       a->signaled == b->signaled && a->solicited == b->solicited;
}

static void on_wqe(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct wqe *m = msg;
	struct send_queue *q = &e->sq[m->qpi];
	const struct written *x = &q->written[q->n_seen++];

	e->errors += q->n_seen > q->n_written || !same(m, &x->w) ||
		     memcmp(buf_data(&t->sim, m->buf), x->bytes, 64u * x->w.n_bb) != 0;
	buf_unref(&p->b, m->buf);
}

static void on_qpc_req(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct ctx_req *m = msg;

	(void)t;
	tb_send_at(e->qpc_rsp, p->b.cycle + 1 + rng_below(&e->qpc_rng, 10),
		   &(struct ctx_rsp){ .index = m->index, .tag = m->tag });
}

/* ---- receive queues ---- */

/* Post receives: segments, then the counter in the doorbell record. */
static void post_receives(struct bench *e, uint32_t qpi, uint32_t n)
{
	while (n-- && (uint16_t)(e->rq_posted[qpi] - e->rq_seen[qpi]) < RQ_WQES) {
		uint16_t i = e->rq_posted[qpi]++;
		uint8_t *p = e->mem + RQ_OFF(qpi) + i % RQ_WQES * RQ_STRIDE;

		memset(p, 0, RQ_STRIDE);
		for (uint32_t s = 0; s < i % 5u; s++) {
			put_be(p + 16 * s, 4, i);
			put_be(p + 16 * s + 4, 4, 0x200 + s);
		}
		if (i % 5u < 4)
			put_be(p + 16 * (i % 5u) + 4, 4, WQE_INVALID_LKEY);
	}
	put_be(e->mem + DBR_OFF(qpi), 4, e->rq_posted[qpi]);
}

static void ask(struct bench *e, uint32_t qpi, uint64_t at)
{
	if (!e->rq_to_ask)
		return;
	e->rq_to_ask--;
	e->rq_asked[qpi]++;
	tb_send_at(e->rq_req, at, &(struct rq_req){ .qpi = qpi });
}

static void on_rq_rsp(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct rq_rsp *m = msg;
	uint16_t i = e->rq_seen[m->qpi];

	e->errors += e->rq_asked[m->qpi]-- == 0 || m->index != i;
	if (m->buf == BUF_NONE) {
		e->rq_none++;
	} else {
		const uint8_t *b = buf_data(&t->sim, m->buf);

		e->errors += m->n_sge != i % 5 ||
			     (m->n_sge && (load_be32(b) != i || load_be32(b + 4) != 0x200));
		e->rq_seen[m->qpi]++;
		e->errors += m->free_wqe > (uint16_t)(e->rq_posted[m->qpi] - e->rq_seen[m->qpi]);
		buf_unref(&p->b, m->buf);
	}
	if (e->posts_on && rng_below(&e->rq_rng, 4))
		post_receives(e, m->qpi, 1 + (uint32_t)rng_below(&e->rq_rng, 6));
	ask(e, m->qpi, p->b.cycle + 1);
}

/* ---- bench ---- */

static void bench_start(struct bench *e, const char *const *sets, uint32_t max_delay)
{
	memset(e, 0, sizeof(*e));
	e->nic = (struct nic){ .qp = e->qp, .n_qp = N_QP, .oplog = oplog_create() };
	for (uint32_t i = 0; i < N_QP; i++) {
		e->qp[i] = (struct qp_attr){ .type = QP_RC,
					     .sq_pa = BASE + SQ_OFF(i),
					     .rq_pa = BASE + RQ_OFF(i),
					     .dbr_pa = BASE + DBR_OFF(i),
					     .sq_bb = RING_BB,
					     .rq_wqe = RQ_WQES,
					     .rq_stride = RQ_STRIDE,
					     .sq_op = e->sq_op[i],
					     .rq_op = e->rq_op[i] };
		e->sq[i].written = x_calloc(MAX_WQES, sizeof(struct written));
	}
	e->max_bb = 4;
	e->max_wqe = 40;
	rng_seed(&e->rng, "wqe_fetch", max_delay);
	rng_seed(&e->qpc_rng, "qpc", max_delay);
	rng_seed(&e->rq_rng, "rq", max_delay);
	tb_init(&e->t, &wqe_fetch_class, &e->nic, sets);
	tb_source(&e->t, "srq_cmd");
	tb_sink(&e->t, "event");
	e->fetch = tb_source(&e->t, "fetch");
	e->rq_req = tb_source(&e->t, "rq_req");
	e->qpc_rsp = tb_source(&e->t, "qpc_rsp");
	e->dma = (struct tb_dma){ .rsp = tb_source(&e->t, "dma_rsp"),
				  .mem = e->mem,
				  .base = BASE,
				  .size = MEM_BYTES,
				  .max_delay = max_delay };
	rng_seed(&e->dma.rng, "dma", max_delay);
	tb_sink_react(&e->t, "dma_req", tb_dma_react, &e->dma);
	tb_sink_react(&e->t, "qpc_req", on_qpc_req, e);
	tb_sink_react(&e->t, "fetched", on_fetched, e);
	e->wqe = tb_sink_react(&e->t, "wqe", on_wqe, e);
	e->rq_rsp = tb_sink_react(&e->t, "rq_rsp", on_rq_rsp, e);
	tb_start(&e->t);
}

static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(e->dma.n_outside, 0);
	for (uint32_t i = 0; i < N_QP; i++)
		free(e->sq[i].written);
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

static void start_sending(struct bench *e, uint32_t wqes)
{
	for (uint32_t i = 0; i < N_QP; i++) {
		e->sq[i].to_write = wqes;
		write_and_order(e, i, 0);
	}
}

/* Rules broken, and queues that were not delivered whole. */
static unsigned differences(const struct bench *e, uint32_t wqes)
{
	unsigned n = e->errors;

	for (uint32_t i = 0; i < N_QP; i++)
		n += e->sq[i].n_seen != wqes || e->sq[i].to_write ||
		     e->sq[i].fetched != e->sq[i].posted;
	return n;
}

/* ---- tests ---- */

static void wqe_fetch_any_stalls_deliver_every_wqe(void)
{
	static const char *const prefetch[] = { "wqe_fetch.prefetch=1", "wqe_fetch.prefetch=8",
						"wqe_fetch.prefetch=64" };
	char in[64], out[64];

	for (unsigned k = 0; k < 48; k++) {
		const char *sets[] = { in,
				       out,
				       prefetch[k / 16],
				       "wqe_fetch.reads=2",
				       "wqe_fetch.wqe_slots=16",
				       "wqe_fetch.rq_prefetch=3",
				       NULL };
		struct bench e;

		tb_stall_sets(&wqe_fetch_class, k / 4 % 4, k % 4, in, out);
		bench_start(&e, sets, k % 3 * 30);
		e.max_bb = k % 5 == 0 ? 16 : 3;
		e.rq_to_ask = 300;
		e.posts_on = true;
		for (uint32_t i = 0; i < N_QP; i++) {
			post_receives(&e, i, i);
			ask(&e, i, 0);
		}
		start_sending(&e, 120);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(&e, 120), 0);
		CU_ASSERT_EQUAL(e.rq_to_ask, 0);
		for (uint32_t i = 0; i < N_QP; i++)
			CU_ASSERT_EQUAL(e.rq_asked[i], 0);
		bench_end(&e);
	}
}

static void wqe_fetch_sixteen_blocks_are_read_on_beyond_prefetch(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "wqe_fetch.prefetch=4", NULL }, 0);
	e.max_bb = 16;
	start_sending(&e, 200);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, 200), 0);
	CU_ASSERT(tb_stat(&e.t, "cut") > 0);
	CU_ASSERT(tb_stat(&e.t, "sq_reads") > tb_stat(&e.t, "fetches"));
	bench_end(&e);
}

static void wqe_fetch_counters_wrap(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	e.max_bb = 16;
	e.sq[1].posted = e.sq[1].fetched = 65530;
	start_sending(&e, 60);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, 60), 0);
	CU_ASSERT(e.sq[1].fetched < 2000);
	bench_end(&e);
}

/* The oracle itself: a byte that changes in memory after it was recorded must be noticed. */
static void wqe_fetch_changed_byte_is_caught(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	start_sending(&e, 5);
	e.mem[SQ_OFF(1) + 5] ^= 1;
	tb_run(&e.t);
	CU_ASSERT(differences(&e, 5) > 0);
	bench_end(&e);
	bench_start(&e, NULL, 0);
	post_receives(&e, 2, 4);
	e.mem[RQ_OFF(2) + RQ_STRIDE + 3] ^= 1;
	e.rq_to_ask = 4;
	ask(&e, 2, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.rq_seen[2], 4);
	CU_ASSERT_EQUAL(e.errors, 1);
	bench_end(&e);
}

/* A lone order of the blocks at 'bytes'; what comes of its first WQE. */
static struct wqe decode_alone(const uint8_t *bytes, uint32_t n_bb, uint8_t qp_type,
			       uint64_t *malformed)
{
	struct wqe w = { .opcode = 0x55 };
	struct bench e;

	bench_start(&e, NULL, 0);
	e.qp[0].type = qp_type;
	memcpy(e.mem, bytes, 64 * n_bb);
	e.is_alone = true;
	tb_send(e.fetch,
		&(struct sq_fetch){ .qpi = 0, .index = 0, .n_bb = (uint16_t)n_bb, .max_wqe = 1 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.wqe->n_received, 1);
	if (e.wqe->n_received)
		w = *(const struct wqe *)tb_got(e.wqe, 0);
	*malformed = tb_stat(&e.t, "malformed");
	bench_end(&e);
	return w;
}

/* WQEs that an order brings of eight SENDs of 1000 B, from a QP with a cap, and the blocks read. */
static uint32_t bring(uint64_t rate_bps, uint8_t want_bb, uint64_t *bbs)
{
	struct bench e;
	uint32_t n;

	bench_start(&e, NULL, 0);
	e.qp[0].rate_bps = rate_bps;
	for (uint32_t i = 0; i < 8; i++) {
		put_be(e.mem + 64 * i, 4, i << 8 | MLX5_OPCODE_SEND);
		put_be(e.mem + 64 * i + 4, 4, 2);
		put_be(e.mem + 64 * i + 16, 4, 1000);
	}
	e.is_alone = true;
	tb_send(e.fetch,
		&(struct sq_fetch){ .qpi = 0, .n_bb = 8, .max_wqe = 8, .want_bb = want_bb });
	tb_run(&e.t);
	n = e.wqe->n_received;
	*bbs = tb_stat(&e.t, "bbs");
	bench_end(&e);
	return n;
}

static void wqe_fetch_cap_bounds_what_an_order_brings(void)
{
	uint64_t bbs;

	CU_ASSERT_EQUAL(bring(0, 0, &bbs), 8);
	CU_ASSERT_EQUAL(bring(6 * GBPS, 0, &bbs), 3); /* 3000 B in 4 us */
	CU_ASSERT_EQUAL(bbs, 8);
	CU_ASSERT_EQUAL(bring(1000, 0, &bbs), 1);
	CU_ASSERT_EQUAL(bring(6 * GBPS, 2, &bbs), 2);
	CU_ASSERT_EQUAL(bbs, 2);
}

static void wqe_fetch_malformed_wqe_is_delivered_as_bad(void)
{
	static const struct {
		uint8_t opcode, ds;
		uint32_t n_bb, first;
		uint8_t bad, bb;
	} cases[] = {
		{ MLX5_OPCODE_SEND, 0, 2, 0, WQE_OPCODE_BAD, 1 }, /* no length */
		{ MLX5_OPCODE_SEND, 9, 2, 8, WQE_OPCODE_BAD, 2 }, /* longer than what is posted */
		/* no room for the remote address, for the operands */
		{ MLX5_OPCODE_RDMA_WRITE, 1, 1, 0, WQE_OPCODE_BAD, 1 },
		{ MLX5_OPCODE_ATOMIC_CS, 2, 1, 0, WQE_OPCODE_BAD, 1 },
		/* inline bytes beyond the end; bytes behind inline data; as it should be */
		{ MLX5_OPCODE_SEND, 3, 1, WQE_INLINE | 40, WQE_OPCODE_BAD, 1 },
		{ MLX5_OPCODE_SEND, 4, 1, WQE_INLINE | 12, WQE_OPCODE_BAD, 1 },
		{ MLX5_OPCODE_SEND, 3, 1, WQE_INLINE | 28, MLX5_OPCODE_SEND, 1 },
		{ 0x77, 4, 1, 0, 0x77, 1 }, /* unknown: as it is */
		{ MLX5_OPCODE_UMR, 5, 2, 0, MLX5_OPCODE_UMR, 2 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		uint8_t b[128] = { [3] = cases[i].opcode, [7] = cases[i].ds };
		uint64_t malformed;
		struct wqe w;

		put_be(b + 16, 4, cases[i].first);
		w = decode_alone(b, cases[i].n_bb, QP_RC, &malformed);
		CU_ASSERT_EQUAL(w.opcode, cases[i].bad);
		CU_ASSERT_EQUAL(w.n_bb, cases[i].bb);
		CU_ASSERT_EQUAL(malformed, cases[i].bad == WQE_OPCODE_BAD);
		CU_ASSERT(w.opcode == MLX5_OPCODE_SEND || w.n_sge == 0);
	}
}

static void wqe_fetch_datagram_segments_follow_address_vector(void)
{
	uint8_t b[128] = { [3] = MLX5_OPCODE_SEND, [7] = 5, [67] = 7 };
	uint64_t malformed;
	struct wqe w = decode_alone(b, 2, QP_UD, &malformed);

	CU_ASSERT_EQUAL(w.seg_off, 64);
	CU_ASSERT_EQUAL(w.n_sge, 1);
	CU_ASSERT_EQUAL(w.len, 7);
	CU_ASSERT_EQUAL(malformed, 0);
	b[7] = 3;
	w = decode_alone(b, 2, QP_UD, &malformed);
	CU_ASSERT_EQUAL(malformed, 1);
}

/* As mlx5 has it: a segment's byte count has 31 bits, and no segment has no bytes. */
static void wqe_fetch_byte_count_of_zero_is_two_gibibytes(void)
{
	uint8_t b[128] = { [3] = MLX5_OPCODE_SEND, [7] = 2 };
	uint64_t malformed;
	struct wqe w = decode_alone(b, 2, QP_RC, &malformed);

	CU_ASSERT_EQUAL(w.len, 1u << 31);
	CU_ASSERT_EQUAL(w.n_sge, 1);
	CU_ASSERT_EQUAL(wqe_seg_at(b + 16).len, 1u << 31);
	b[19] = 1;
	CU_ASSERT_EQUAL(wqe_seg_at(b + 16).len, 1);
	CU_ASSERT_EQUAL(malformed, 0);
}

static void wqe_fetch_question_without_receive_reads_record_each_time(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "wqe_fetch.rq_low=0", NULL }, 0);
	for (unsigned i = 0; i < 3; i++) {
		e.rq_asked[0] = 1;
		tb_send(e.rq_req, &(struct rq_req){ .qpi = 0 });
		tb_run(&e.t);
	}
	CU_ASSERT_EQUAL(e.rq_none, 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_reads"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "rq_reads"), 0);
	post_receives(&e, 0, 2);
	e.rq_asked[0] = 1;
	tb_send(e.rq_req, &(struct rq_req){ .qpi = 0 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.rq_seen[0], 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_reads"), 4);
	CU_ASSERT_EQUAL(((const struct rq_rsp *)tb_got(e.rq_rsp, 3))->free_wqe, 1);
	CU_ASSERT_EQUAL(e.errors, 0);
	bench_end(&e);
}

static void wqe_fetch_low_water_keeps_credits_fresh(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	post_receives(&e, 0, 4);
	e.rq_asked[0] = 1;
	tb_send(e.rq_req, &(struct rq_req){ .qpi = 0 });
	tb_run_for(&e.t, 2000);
	post_receives(&e, 0, 3);
	for (unsigned i = 0; i < 2; i++) {
		e.rq_asked[0] = 1;
		tb_send(e.rq_req, &(struct rq_req){ .qpi = 0 });
		tb_run_for(&e.t, 2000);
	}
	/* The second question set off a reading of the record, so the third knows of all. */
	CU_ASSERT_EQUAL(((const struct rq_rsp *)tb_got(e.rq_rsp, 2))->free_wqe,
			(uint16_t)(e.rq_posted[0] - 3));
	CU_ASSERT_EQUAL(e.errors, 0);
	bench_end(&e);
}

/* Sleeping and the order of steps change nothing: same WQEs at the same cycles. */
static void wqe_fetch_step_order_changes_nothing(void)
{
	const char *sets[] = { "wqe_fetch.stall_out=random", "wqe_fetch.stall_in=alternate",
			       "wqe_fetch.width=16",         "wqe_fetch.reads=2",
			       "wqe_fetch.wqe_slots=16",     NULL };
	uint64_t hash[4];

	for (unsigned k = 0; k < 4; k++) {
		struct bench e;

		bench_start(&e, sets, 0);
		e.t.sim.every_cycle = k == 1;
		e.t.sim.order = k == 2 ? ORDER_REVERSED : k == 3 ? ORDER_SHUFFLED : ORDER_FORWARD;
		for (uint32_t i = 0; i < N_QP; i++) {
			post_receives(&e, i, 8);
			for (unsigned n = 0; n < 8; n++) {
				e.rq_asked[i]++;
				tb_send_at(e.rq_req, 10ull * n, &(struct rq_req){ .qpi = i });
			}
		}
		start_sending(&e, 40);
		tb_run_for(&e.t, 20000);
		hash[k] = e.wqe->chan->stall_ps;
		for (uint32_t i = 0; i < e.wqe->n_received; i++)
			hash[k] = (hash[k] ^ e.wqe->cycle[i] ^
				   ((const struct wqe *)tb_got(e.wqe, i))->index) *
				  0x100000001b3ull;
		for (uint32_t i = 0; i < e.rq_rsp->n_received; i++)
			hash[k] = (hash[k] ^ e.rq_rsp->cycle[i]) * 0x100000001b3ull;
		CU_ASSERT(e.wqe->n_received == 40 * N_QP && e.rq_rsp->n_received == 8 * N_QP);
		CU_ASSERT_EQUAL(hash[k], hash[0]);
		bench_end(&e);
	}
}

CU_TestInfo test_wqe_fetch_tests[] = {
	{ "any stalls deliver every WQE", wqe_fetch_any_stalls_deliver_every_wqe },
	{ "sixteen blocks are read on beyond the prefetch",
	  wqe_fetch_sixteen_blocks_are_read_on_beyond_prefetch },
	{ "counters wrap", wqe_fetch_counters_wrap },
	{ "changed byte is caught", wqe_fetch_changed_byte_is_caught },
	{ "cap bounds what an order brings", wqe_fetch_cap_bounds_what_an_order_brings },
	{ "malformed WQE is delivered as bad", wqe_fetch_malformed_wqe_is_delivered_as_bad },
	{ "datagram segments follow the address vector",
	  wqe_fetch_datagram_segments_follow_address_vector },
	{ "byte count of zero is two gibibytes", wqe_fetch_byte_count_of_zero_is_two_gibibytes },
	{ "question without receive reads the record each time",
	  wqe_fetch_question_without_receive_reads_record_each_time },
	{ "low water keeps credits fresh", wqe_fetch_low_water_keeps_credits_fresh },
	{ "step order and sleeping change nothing", wqe_fetch_step_order_changes_nothing },
	CU_TEST_INFO_NULL
};
