/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_doorbell.c - register writes to send doorbells
 */
#include <stdio.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "testbench/tb.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

extern const struct block_class doorbell_class;

#define N_QP 3u
#define RING_BB 64u
#define BUFS 512u
#define RINGS 400u

static uint32_t dir[4096], sq_op[N_QP][RING_BB];

/* A NIC of N_QP QPs, QPN 0x40 onwards. */
struct bench {
	struct nic nic;
	struct qp_attr qp[N_QP];
	struct tb t;
	struct tb_port *mmio, *sq_db, *arm, *cmd;
	struct pool *pool;
	uint32_t buf;
};

static void bench_start(struct bench *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	memset(dir, 0, sizeof(dir));
	memset(sq_op, 0, sizeof(sq_op));
	e->nic = (struct nic){ .qp = e->qp, .n_qp = N_QP, .oplog = oplog_create() };
	e->nic.qp_dir[0] = dir;
	for (uint32_t i = 0; i < N_QP; i++) {
		e->qp[i] = (struct qp_attr){ .qpn = 0x40 + i, .sq_bb = RING_BB, .sq_op = sq_op[i] };
		dir[0x40 + i] = i + 1;
	}
	tb_init(&e->t, &doorbell_class, &e->nic, sets);
	e->mmio = tb_source(&e->t, "mmio");
	e->sq_db = tb_sink(&e->t, "sq_db");
	e->arm = tb_sink(&e->t, "arm");
	e->cmd = tb_sink(&e->t, "cmd");
	e->pool = pool_create(&e->mmio->b, BUFS, 64);
	tb_start(&e->t);
	e->mmio->b.now_ps = 1; /* buffers are taken before the run */
}

static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(e->pool->in_use, 0);
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

/* Queue a write of 'len' bytes at 'addr' that carries the control qword. */
static void ring_at(struct bench *e, uint64_t addr, uint32_t len, uint32_t qpn, uint16_t index,
		    uint8_t ds)
{
	struct tlp t = {
		.addr = addr, .len = len, .buf = pool_alloc(e->pool), .off = 8, .kind = TLP_MWR
	};
	uint8_t *ctrl = (uint8_t *)buf_data(&e->t.sim, t.buf) + t.off;

	memset(ctrl, 0, 8);
	hdr_put(ctrl, 8, 16, index);
	ctrl[3] = MLX5_OPCODE_SEND;
	hdr_put(ctrl, 32, 24, qpn);
	ctrl[7] = ds;
	tb_send(e->mmio, &t);
}

static void ring(struct bench *e, uint32_t qpi, uint16_t index, uint8_t ds)
{
	ring_at(e, index & 1 ? UAR_BLUEFLAME + 0x100 : UAR_BLUEFLAME, 8, 0x40 + qpi, index, ds);
}

static void doorbell_ring_gives_producer_behind_wqe(void)
{
	static const struct {
		uint16_t index;
		uint8_t ds;
		uint16_t producer;
	} want[] = { { 0, 1, 1 }, { 1, 4, 2 }, { 2, 5, 4 }, { 4, 63, 20 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct bench e;
		const struct sq_db *m;

		bench_start(&e, NULL);
		ring(&e, 1, want[i].index, want[i].ds);
		tb_run(&e.t);
		m = tb_got(e.sq_db, 0);
		CU_ASSERT_EQUAL_FATAL(e.sq_db->n_received, 1);
		CU_ASSERT_EQUAL(m->qpi, 1);
		CU_ASSERT_EQUAL(m->producer, want[i].producer);
		bench_end(&e);
	}
}

static void doorbell_bad_write_is_counted_and_dropped(void)
{
	struct bench e;

	bench_start(&e, NULL);
	ring_at(&e, UAR_BLUEFLAME, 8, 0x3f, 0, 1); /* no such QP */
	ring_at(&e, UAR_BLUEFLAME, 8, 0x5040, 0, 1);
	ring_at(&e, UAR_BLUEFLAME, 12, 0x40, 0, 1); /* wrong size */
	ring_at(&e, UAR_BLUEFLAME, 4, 0x40, 0, 1);
	ring_at(&e, 0x10, 8, 0x40, 0, 1); /* no register */
	ring_at(&e, (uint64_t)UAR_PAGE * UAR_PAGES + UAR_BLUEFLAME, 8, 0x40, 0, 1);
	ring_at(&e, UAR_CQ_DOORBELL, 8, 0x40, 0, 1);
	ring_at(&e, UAR_BLUEFLAME, 8, 0x40, 64, 1); /* 65 blocks in a ring of 64 */
	ring_at(&e, UAR_BLUEFLAME, 8, 0x40, 63, 1); /* just fits */
	ring_at(&e, UAR_BLUEFLAME, 8, 0x40, 63, 1); /* nothing new */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.sq_db->n_received, 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_qpn"), 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_size"), 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_addr"), 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "cq_rings"), 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_index"), 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "rings"), 1);
	bench_end(&e);
}

static void doorbell_ring_marks_every_request_of_batch(void)
{
	struct bench e;
	uint32_t op[4];

	bench_start(&e, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		op[i] = oplog_open(e.nic.oplog, &(struct op_row){ .id = i }, 1);
		sq_op[2][i] = op[i];
	}
	ring(&e, 2, 2, 4); /* blocks 0 to 2, not 3 */
	tb_run(&e.t);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(oplog_row(e.nic.oplog, op[i])->t_ps[OP_DOORBELL], 4000);
	CU_ASSERT_EQUAL(oplog_row(e.nic.oplog, op[3])->t_ps[OP_DOORBELL], 0);
	bench_end(&e);
}

/* Write bytes [from, to) of the WQE of 'ds' segments at ring index 'index', 'unit' at a time. */
static void write_wqe(struct bench *e, uint64_t at, uint32_t from, uint32_t to, uint32_t unit,
		      uint16_t index, uint8_t ds)
{
	uint8_t wqe[UAR_BLUEFLAME_BYTES];

	for (uint32_t i = 0; i < sizeof(wqe); i++)
		wqe[i] = (uint8_t)(i * 7 + index);
	memset(wqe, 0, 8);
	hdr_put(wqe, 8, 16, index);
	hdr_put(wqe, 32, 24, 0x40);
	wqe[7] = ds;
	for (uint32_t off = from; off < to; off += unit) {
		struct tlp t = {
			.addr = at + off, .len = unit, .buf = pool_alloc(e->pool), .kind = TLP_MWR
		};

		memcpy(buf_data(&e->t.sim, t.buf), wqe + off, unit);
		tb_send(e->mmio, &t);
	}
}

/* Number 'i' of what came out brings the WQE at 'index'. */
static bool brings(struct bench *e, uint32_t i, uint16_t index, uint32_t bytes)
{
	const struct sq_db *m = tb_got(e->sq_db, i);
	const uint8_t *p;

	if (m->buf == BUF_NONE || m->index != index || m->n_bb != bytes / 64)
		return false;
	p = buf_data(&e->t.sim, m->buf);
	for (uint32_t k = 8; k < bytes; k++)
		if (p[k] != (uint8_t)(k * 7 + index))
			return false;
	return true;
}

static void release(struct bench *e, uint32_t i)
{
	const struct sq_db *m = tb_got(e->sq_db, i);

	if (m->buf != BUF_NONE)
		buf_unref(&e->sq_db->b, m->buf);
}

static void doorbell_blueflame_pieces_give_the_wqe(void)
{
	static const uint32_t unit[] = { 64, 32, 16 };

	for (size_t i = 0; i < ARRAY_LEN(unit); i++) {
		struct bench e;

		bench_start(&e, NULL);
		write_wqe(&e, UAR_BLUEFLAME, 0, 192, unit[i], 0, 11); /* 176 bytes, in 3 blocks */
		write_wqe(&e, 5 * UAR_PAGE + UAR_BLUEFLAME + 0x100, 0, 64, unit[i], 3, 2);
		tb_run(&e.t);
		CU_ASSERT_EQUAL_FATAL(e.sq_db->n_received, 2);
		CU_ASSERT_TRUE(brings(&e, 0, 0, 192));
		CU_ASSERT_TRUE(brings(&e, 1, 3, 64));
		CU_ASSERT_FALSE(brings(&e, 0, 3, 192)); /* the seeded fault: of another WQE */
		CU_ASSERT_EQUAL(tb_stat(&e.t, "bf_rings"), 2);
		release(&e, 0);
		release(&e, 1);
		bench_end(&e);
	}
}

/* Two cores write at the same time, each to its page. */
static void doorbell_blueflame_of_two_pages_mix(void)
{
	struct bench e;

	bench_start(&e, NULL);
	write_wqe(&e, UAR_BLUEFLAME, 0, 64, 64, 0, 8);
	write_wqe(&e, UAR_PAGE + UAR_BLUEFLAME, 0, 64, 64, 2, 8);
	write_wqe(&e, UAR_BLUEFLAME, 64, 128, 64, 0, 8);
	write_wqe(&e, UAR_PAGE + UAR_BLUEFLAME, 64, 128, 64, 2, 8);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.sq_db->n_received, 2);
	CU_ASSERT_TRUE(brings(&e, 0, 0, 128));
	CU_ASSERT_TRUE(brings(&e, 1, 2, 128));
	release(&e, 0);
	release(&e, 1);
	bench_end(&e);
}

static void doorbell_blueflame_torn_or_without_buffer(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "doorbell.bf_buffers=1", NULL });
	write_wqe(&e, UAR_BLUEFLAME, 0, 64, 64, 0, 8);          /* its end never comes */
	write_wqe(&e, UAR_BLUEFLAME + 0x100, 0, 128, 64, 0, 8); /* no buffer: the doorbell */
	write_wqe(&e, UAR_BLUEFLAME, 0, 64, 64, 2, 2);
	write_wqe(&e, UAR_BLUEFLAME, 0, 64, 64, 3, 17); /* longer than the buffer */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bf_torn"), 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bf_full"), 2); /* what was dropped is free later */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_size"), 1);
	CU_ASSERT_EQUAL_FATAL(e.sq_db->n_received, 2);
	CU_ASSERT_EQUAL(((const struct sq_db *)tb_got(e.sq_db, 0))->producer, 2);
	CU_ASSERT_EQUAL(((const struct sq_db *)tb_got(e.sq_db, 1))->producer, 3);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(((const struct sq_db *)tb_got(e.sq_db, i))->buf, BUF_NONE);
	bench_end(&e);
}

/* What was rung and what came out. */
struct rung_out {
	uint16_t rung[N_QP]; /* last producer; all of them start at 0 and only grow */
	uint32_t n;
	struct sq_db got[RINGS];
};

/* Every QP's producers grow and end at the last one rung. */
static bool is_right(const struct rung_out *o)
{
	uint16_t last[N_QP] = { 0 };

	for (uint32_t i = 0; i < o->n; i++) {
		const struct sq_db *m = &o->got[i];

		if (m->qpi >= N_QP || m->producer <= last[m->qpi])
			return false;
		last[m->qpi] = m->producer;
	}
	return memcmp(last, o->rung, sizeof(last)) == 0;
}

static void run_random(unsigned in, unsigned out, const char *slots, struct rung_out *o)
{
	char set_in[64], set_out[64];
	struct bench e;
	struct rng r;

	tb_stall_sets(&doorbell_class, in, out, set_in, set_out);
	bench_start(&e, (const char *[]){ set_in, set_out, slots, NULL });
	memset(o, 0, sizeof(*o));
	rng_seed(&r, "test_doorbell", in * 4 + out);
	for (uint32_t i = 0; i < RINGS; i++) {
		uint32_t qpi = (uint32_t)rng_below(&r, N_QP);
		uint8_t ds = (uint8_t)(1 + rng_below(&r, 16));

		ring(&e, qpi, o->rung[qpi], ds);
		o->rung[qpi] = (uint16_t)(o->rung[qpi] + (ds + 3) / 4);
	}
	tb_run(&e.t);
	o->n = e.sq_db->n_received;
	CU_ASSERT_EQUAL(tb_stat(&e.t, "rings"), RINGS);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "rings") - tb_stat(&e.t, "coalesced"), o->n);
	for (uint32_t i = 0; i < o->n; i++)
		o->got[i] = *(const struct sq_db *)tb_got(e.sq_db, i);
	bench_end(&e);
}

static void doorbell_random_rings_end_at_last_producer(void)
{
	static struct rung_out o;

	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			run_random(in, out, "doorbell.slots=64", &o);
			CU_ASSERT_TRUE(is_right(&o));
			run_random(in, out, "doorbell.slots=1", &o);
			CU_ASSERT_TRUE(is_right(&o));
		}
}

static void doorbell_waiting_ring_is_coalesced(void)
{
	static struct rung_out o;

	/* long stalls at the output: rings pile up */
	run_random(0, 3, "doorbell.slots=64", &o);
	CU_ASSERT(o.n < RINGS);
}

/*
 * In the NIC: a scheduler that takes a doorbell every microsecond, and programs that ring faster. What is
 * rung meanwhile for a QP that waits is one doorbell with it, and one order to fetch.
 */
static void doorbells_behind_a_slow_scheduler_are_coalesced(void)
{
	static const char hosts[] = "rnicsim-trace 1\nhost h0\nhost h1\n"
				    "mr h0 src va=0x10000000 len=1MiB\n"
				    "mr h1 dst va=0x20000000 len=1MiB access=lw,rw\n";
	static struct tb_run t;
	char text[8192];
	int n = sprintf(text, "%s", hosts);
	uint64_t rings, merged;

	for (unsigned i = 0; i < 32; i++)
		n += sprintf(text + n,
			     "qp h0 q%u type=RC peer=h1.q%u\nqp h1 q%u type=RC peer=h0.q%u\n", i, i,
			     i, i);
	for (unsigned i = 0; i < 32; i++)
		n += sprintf(text + n,
			     "post h0.q%u id=%u op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=20 "
			     "window=10\n",
			     i, i + 1);
	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("coalesce.trace", text, (size_t)n),
					    .sets = (const char *[]){ "nic0.qp_sched.clock=1MHz",
								      "workload.post=doorbell",
								      "workload.cores=8", NULL } });
	rings = tb_run_stat(&t, "nic0.doorbell.rings");
	merged = tb_run_stat(&t, "nic0.doorbell.coalesced");
	CU_ASSERT_EQUAL(rings, 32 * 20);
	CU_ASSERT(merged > rings / 4 && merged < rings);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.qp_sched.doorbells"), rings - merged);
	CU_ASSERT(tb_run_stat(&t, "nic0.qp_sched.fetches") < rings);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.wqe_fetch.wqes"), rings);
	tb_run_close(&t);
}

static void doorbell_lost_ring_is_caught(void)
{
	static struct rung_out o;

	run_random(0, 0, "doorbell.slots=64", &o);
	CU_ASSERT_TRUE(is_right(&o));
	o.n--;
	CU_ASSERT_FALSE(is_right(&o));
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_doorbell_tests[] = { TEST(doorbell_ring_gives_producer_behind_wqe),
				      TEST(doorbell_bad_write_is_counted_and_dropped),
				      TEST(doorbell_ring_marks_every_request_of_batch),
				      TEST(doorbell_blueflame_pieces_give_the_wqe),
				      TEST(doorbell_blueflame_of_two_pages_mix),
				      TEST(doorbell_blueflame_torn_or_without_buffer),
				      TEST(doorbell_random_rings_end_at_last_producer),
				      TEST(doorbell_waiting_ring_is_coalesced),
				      TEST(doorbells_behind_a_slow_scheduler_are_coalesced),
				      TEST(doorbell_lost_ring_is_caught),
				      CU_TEST_INFO_NULL };
