/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cqe_writer.c - CQE bytes, owner bits, fairness, and overflow against the doorbell record
 */
#include <string.h>

#include "models/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "testbench/tb_dma.h"

extern const struct block_class cqe_writer_class;

#define N_CQ 2u
#define DEPTH 8u
#define RING_PA(cq) (0x10000ull + 0x1000ull * (cq))
#define DBR_PA(cq) (0x100ull + 8ull * (cq))
#define CQES 300u

/* A CQE as the CPU reads it. */
struct seen {
	uint8_t opcode, syndrome, wqe_opcode;
	bool solicited;
	uint16_t counter;
	uint32_t byte_cnt, imm, qpn;
};

/* The memory and the CPU: rings of DEPTH CQEs, doorbell records, what was reaped. */
struct bench {
	struct nic nic;
	struct qp_attr qp[2];
	struct cq_attr cq[N_CQ];
	struct tb t;
	struct tb_port *req, *rsp, *dma_rsp, *dma_req;
	uint8_t ring[N_CQ][DEPTH * 64];
	uint32_t ci[N_CQ];      /* of the CPU */
	uint32_t seen_ci[N_CQ]; /* in the doorbell record */
	bool reaps;             /* the CPU takes each CQE at once */
	uint32_t lag;           /* and updates the doorbell record when it is this far behind */
	uint32_t n_seen[N_CQ], overwritten;
	struct seen seen[N_CQ][CQES];
	uint32_t flip_owner_at; /* seeded fault: this CQE lands with the wrong owner bit */
	uint32_t n_written;
};

/* Take what is valid in the ring of a CQ, as poll_cq does. */
static void reap(struct bench *e, uint32_t cq)
{
	for (;;) {
		const uint8_t *c = &e->ring[cq][e->ci[cq] % DEPTH * 64];

		if (c[63] >> 4 == CQE_INVALID || (c[63] & 1) != (e->ci[cq] / DEPTH & 1))
			return;
		if (e->n_seen[cq] < CQES)
			e->seen[cq][e->n_seen[cq]++] =
				(struct seen){ .opcode = c[63] >> 4,
					       .syndrome = c[55],
					       .wqe_opcode = c[56],
					       .solicited = c[63] >> 1 & 1,
					       .counter = (uint16_t)hdr_get(c, 60 * 8, 16),
					       .byte_cnt = (uint32_t)hdr_get(c, 44 * 8, 32),
					       .imm = (uint32_t)hdr_get(c, 36 * 8, 32),
					       .qpn = (uint32_t)hdr_get(c, 57 * 8, 24) };
		e->ci[cq]++;
		if (e->ci[cq] - e->seen_ci[cq] >= e->lag)
			e->seen_ci[cq] = e->ci[cq];
	}
}

/* The DMA engine and the memory. */
static void serve(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct dma_req *r = msg;
	uint8_t *buf = (uint8_t *)buf_data(&t->sim, r->buf) + r->off;

	CU_ASSERT_EQUAL(r->key, KEY_PHYS);
	if (r->is_write) {
		uint32_t cq = r->addr >= RING_PA(1), at = (uint32_t)(r->addr - RING_PA(cq));

		CU_ASSERT_FATAL(r->len == 64 && at % 64 == 0 && at < DEPTH * 64 &&
				r->cls == DMA_CQE);
		memcpy(&e->ring[cq][at], buf, 64);
		if (++e->n_written == e->flip_owner_at)
			e->ring[cq][at + 63] ^= 1;
		buf_unref(&p->b, r->buf);
		if (e->reaps)
			reap(e, cq);
	} else {
		uint32_t cq = r->addr == DBR_PA(1);

		CU_ASSERT_FATAL(r->len == 8 && r->addr == DBR_PA(cq) && r->cls == DMA_DBR);
		memset(buf, 0, 8);
		hdr_put(buf, 0, 32, e->seen_ci[cq] & 0xffffff);
	}
	tb_send_at(e->dma_rsp, p->b.cycle + 1, &(struct dma_rsp){ .tag = r->tag });
}

static void bench_start(struct bench *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	e->nic = (struct nic){ .qp = e->qp, .n_qp = 2, .cq = e->cq, .n_cq = N_CQ };
	e->qp[0].qpn = 0x123456;
	e->qp[1].qpn = 0x40;
	for (uint32_t i = 0; i < N_CQ; i++) {
		e->cq[i] = (struct cq_attr){
			.cqn = i, .depth = DEPTH, .pa = RING_PA(i), .dbr_pa = DBR_PA(i)
		};
		for (uint32_t k = 0; k < DEPTH; k++)
			e->ring[i][k * 64 + 63] = CQE_INVALID << 4;
	}
	e->reaps = true;
	e->lag = 1;
	tb_init(&e->t, &cqe_writer_class, &e->nic, sets);
	e->req = tb_source(&e->t, "req");
	e->rsp = tb_source(&e->t, "rsp");
	tb_source(&e->t, "arm");
	tb_source(&e->t, "async");
	tb_sink(&e->t, "error");
	e->dma_rsp = tb_source(&e->t, "dma_rsp");
	tb_sink_react(&e->t, "cqc_req", tb_context_react, tb_source(&e->t, "cqc_rsp"));
	e->dma_req = tb_sink_react(&e->t, "dma_req", serve, e);
	tb_start(&e->t);
}

static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(e->t.sim.pools[0]->in_use, 0);
	tb_end(&e->t);
}

static void cqe_writer_success_has_mlx5_layout(void)
{
	struct bench e;
	const struct seen *s;

	bench_start(&e, NULL);
	tb_send(e.req, &(struct cqe_req){ .qpi = 0,
					  .cqi = 1,
					  .byte_cnt = 0x01020304,
					  .wqe_counter = 0xabcd,
					  .opcode = CQE_REQ,
					  .wqe_opcode = MLX5_OPCODE_RDMA_READ });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[1], 1);
	s = &e.seen[1][0];
	CU_ASSERT_EQUAL(s->opcode, CQE_REQ);
	CU_ASSERT_EQUAL(s->qpn, 0x123456);
	CU_ASSERT_EQUAL(s->wqe_opcode, MLX5_OPCODE_RDMA_READ);
	CU_ASSERT_EQUAL(s->byte_cnt, 0x01020304);
	CU_ASSERT_EQUAL(s->counter, 0xabcd);
	CU_ASSERT_FALSE(s->solicited);
	CU_ASSERT_EQUAL(hdr_get(e.ring[1], 48 * 8, 64), 4); /* timestamp: the cycle */
	bench_end(&e);
}

static void cqe_writer_receive_carries_immediate_and_se(void)
{
	struct bench e;

	bench_start(&e, NULL);
	tb_send(e.rsp, &(struct cqe_req){ .qpi = 1,
					  .cqi = 0,
					  .byte_cnt = 77,
					  .imm = 0xcafe0001,
					  .wqe_counter = 3,
					  .opcode = CQE_RESP_SEND_IMM,
					  .solicited = 1 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 1);
	CU_ASSERT_EQUAL(e.seen[0][0].opcode, CQE_RESP_SEND_IMM);
	CU_ASSERT_EQUAL(e.seen[0][0].imm, 0xcafe0001);
	CU_ASSERT_EQUAL(e.seen[0][0].qpn, 0x40);
	CU_ASSERT_TRUE(e.seen[0][0].solicited);
	bench_end(&e);
}

static void cqe_writer_error_carries_syndrome(void)
{
	struct bench e;

	bench_start(&e, NULL);
	tb_send(e.req, &(struct cqe_req){ .qpi = 1,
					  .cqi = 0,
					  .wqe_counter = 9,
					  .opcode = CQE_REQ_ERR,
					  .syndrome = CQE_SYNDROME_RETRY_EXC,
					  .wqe_opcode = MLX5_OPCODE_SEND });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 1);
	CU_ASSERT_EQUAL(e.seen[0][0].opcode, CQE_REQ_ERR);
	CU_ASSERT_EQUAL(e.seen[0][0].syndrome, CQE_SYNDROME_RETRY_EXC);
	CU_ASSERT_EQUAL(e.seen[0][0].counter, 9);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 1);
	bench_end(&e);
}

static void cqe_writer_requests_and_receives_take_turns(void)
{
	struct bench e;
	uint32_t of_req = 0;

	bench_start(&e, NULL);
	for (uint16_t i = 0; i < 40; i++) {
		tb_send(e.req, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_REQ });
		tb_send(e.rsp, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_RESP_SEND });
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_seen[0], 80);
	for (uint32_t i = 0; i < 40; i++)
		of_req += e.seen[0][i].opcode == CQE_REQ;
	CU_ASSERT(of_req >= 19 && of_req <= 21);
	bench_end(&e);
}

/* What the CPU saw of a CQ: completions from each port in order, none lost. */
static bool is_in_order(const struct bench *e, uint32_t cq, uint32_t n)
{
	uint16_t next[2] = { 0 };

	if (e->n_seen[cq] != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		bool is_rsp = e->seen[cq][i].opcode != CQE_REQ;

		if (e->seen[cq][i].counter != next[is_rsp]++)
			return false;
	}
	return true;
}

static void run_random(struct bench *e, const char *const *sets, uint32_t lag,
		       uint32_t flip_owner_at, uint32_t n[N_CQ])
{
	struct rng r;
	uint16_t counter[2][N_CQ] = { { 0 } };

	bench_start(e, sets);
	e->lag = lag;
	e->flip_owner_at = flip_owner_at;
	rng_seed(&r, "test_cqe_writer", lag);
	n[0] = n[1] = 0;
	for (uint32_t i = 0; i < CQES; i++) {
		uint32_t cq = (uint32_t)rng_below(&r, N_CQ), is_rsp = (uint32_t)rng_below(&r, 2);

		n[cq]++;
		tb_send(is_rsp ? e->rsp : e->req,
			&(struct cqe_req){ .cqi = cq,
					   .wqe_counter = counter[is_rsp][cq]++,
					   .opcode = is_rsp ? CQE_RESP_SEND : CQE_REQ });
	}
	tb_run(&e->t);
}

static void cqe_writer_random_load_reaches_cpu_in_order(void)
{
	static struct bench e;
	uint32_t n[N_CQ];

	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++)
			for (uint32_t lag = 1; lag <= DEPTH; lag += 3) {
				char set_in[64], set_out[64];

				tb_stall_sets(&cqe_writer_class, in, out, set_in, set_out);
				run_random(&e, (const char *[]){ set_in, set_out, NULL }, lag, 0,
					   n);
				CU_ASSERT_TRUE(is_in_order(&e, 0, n[0]));
				CU_ASSERT_TRUE(is_in_order(&e, 1, n[1]));
				CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 0);
				CU_ASSERT_EQUAL(tb_stat(&e.t, "cqes"), CQES);
				CU_ASSERT(tb_stat(&e.t, "dbr_reads") >= CQES / DEPTH - N_CQ);
				bench_end(&e);
			}
}

static void cqe_writer_wrong_owner_bit_is_caught(void)
{
	static struct bench e;
	uint32_t n[N_CQ];

	run_random(&e, NULL, 1, 100, n);
	CU_ASSERT_FALSE(is_in_order(&e, 0, n[0]) && is_in_order(&e, 1, n[1]));
	bench_end(&e);
}

static void cqe_writer_full_cq_loses_cqe_and_recovers(void)
{
	struct bench e;

	bench_start(&e, NULL);
	e.reaps = false;
	for (uint16_t i = 0; i < DEPTH + 3; i++)
		tb_send(e.req, &(struct cqe_req){ .wqe_counter = i, .opcode = CQE_REQ });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "cqes"), DEPTH);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "dbr_reads"), 3);
	reap(&e, 0);
	CU_ASSERT_EQUAL(e.n_seen[0], DEPTH);
	tb_send(e.req, &(struct cqe_req){ .wqe_counter = 500, .opcode = CQE_REQ });
	tb_run(&e.t);
	reap(&e, 0);
	CU_ASSERT_EQUAL(e.n_seen[0], DEPTH + 1);
	CU_ASSERT_EQUAL(e.seen[0][DEPTH].counter, 500);
	bench_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_cqe_writer_tests[] = { TEST(cqe_writer_success_has_mlx5_layout),
					TEST(cqe_writer_receive_carries_immediate_and_se),
					TEST(cqe_writer_error_carries_syndrome),
					TEST(cqe_writer_requests_and_receives_take_turns),
					TEST(cqe_writer_random_load_reaches_cpu_in_order),
					TEST(cqe_writer_wrong_owner_bit_is_caught),
					TEST(cqe_writer_full_cq_loses_cqe_and_recovers),
					CU_TEST_INFO_NULL };
