/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cqe_event.c - when a CQ gives an event, and what is written for it
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/cqe_writer.h"
#include "testbench/tb_dma.h"

extern const struct block_class cqe_writer_class;

#define N_CQ 2u
#define DEPTH 16u
#define EQ_PA 0x100000ull
#define EQ_DEPTH 4u

enum { W_CQE, W_EQE, W_MSI };

/* A write of the block. */
struct written {
	uint8_t kind, type, owner;
	uint32_t number;
	uint64_t cycle;
};

struct bench {
	struct nic nic;
	struct qp_attr qp[1];
	struct cq_attr cq[N_CQ];
	struct tb t;
	struct tb_port *rsp, *arm, *async, *dma_rsp;
	struct written w[256];
	uint32_t n;
};

static void serve(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct dma_req *d = msg;
	const uint8_t *b = buf_data(&t->sim, d->buf);
	struct written *w = &e->w[e->n];

	if (!d->is_write) { /* a doorbell record: nothing consumed */
		memset(buf_data(&t->sim, d->buf), 0, d->len);
		tb_send(e->dma_rsp, &(struct dma_rsp){ .tag = d->tag });
		return;
	}
	CU_ASSERT_FATAL(e->n < ARRAY_LEN(e->w));
	*w = (struct written){ .kind = W_CQE, .cycle = p->b.cycle };
	if (d->addr == MSIX_ADDR) {
		CU_ASSERT_EQUAL(d->len, 4);
		w->kind = W_MSI;
	} else if (d->addr >= EQ_PA && d->addr < EQ_PA + EQ_DEPTH * EQE_BYTES) {
		w->kind = W_EQE;
		w->type = b[1];
		w->owner = b[63];
		w->number = (uint32_t)hdr_get(b, (w->type == EQE_CQ_ERROR ? 32 : 56) * 8, 32);
	}
	e->n++;
	buf_unref(&p->b, d->buf);
	tb_send(e->dma_rsp, &(struct dma_rsp){ .tag = d->tag });
}

static void bench_start(struct bench *e)
{
	memset(e, 0, sizeof(*e));
	e->nic = (struct nic){ .qp = e->qp,
			       .n_qp = 1,
			       .cq = e->cq,
			       .n_cq = N_CQ,
			       .eq_pa = EQ_PA,
			       .eq_depth = EQ_DEPTH };
	e->qp[0].qpn = 0x40;
	for (uint32_t i = 0; i < N_CQ; i++)
		e->cq[i] = (struct cq_attr){
			.cqn = 0x400 + i, .depth = DEPTH, .pa = 0x10000 * (i + 1), .dbr_pa = 0x1000
		};
	tb_init(&e->t, &cqe_writer_class, &e->nic, NULL);
	tb_source(&e->t, "req");
	e->rsp = tb_source(&e->t, "rsp");
	e->arm = tb_source(&e->t, "arm");
	e->async = tb_source(&e->t, "async");
	tb_sink(&e->t, "error");
	tb_sink(&e->t, "closed");
	e->dma_rsp = tb_source(&e->t, "dma_rsp");
	tb_sink_react(&e->t, "cqc_req", tb_context_react, tb_source(&e->t, "cqc_rsp"));
	tb_sink_react(&e->t, "dma_req", serve, e);
	tb_start(&e->t);
}

static void complete(struct bench *e, uint32_t n, bool is_solicited)
{
	while (n--)
		tb_send(e->rsp, &(struct cqe_req){ .cqi = 0,
						   .opcode = CQE_RESP_SEND,
						   .solicited = is_solicited });
	tb_run_for(&e->t, 100);
}

static void arm(struct bench *e, uint32_t ci, bool is_solicited)
{
	tb_send(e->arm, &(struct cq_arm){ .cqi = 0, .ci = ci, .solicited_only = is_solicited });
	tb_run_for(&e->t, 20);
}

static uint32_t count(const struct bench *e, uint8_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->n; i++)
		n += e->w[i].kind == kind;
	return n;
}

static void armed_cq_gives_one_event_behind_its_cqe(void)
{
	struct bench e;

	bench_start(&e);
	complete(&e, 2, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 0); /* not armed */
	arm(&e, 2, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 0); /* nothing new */
	complete(&e, 1, false);
	CU_ASSERT_EQUAL_FATAL(e.n, 5);
	CU_ASSERT_EQUAL(e.w[2].kind, W_CQE);
	CU_ASSERT_EQUAL(e.w[3].kind, W_EQE);
	CU_ASSERT_EQUAL(e.w[3].type, EQE_COMP);
	CU_ASSERT_EQUAL(e.w[3].number, 0x400);
	CU_ASSERT_EQUAL(e.w[3].owner, 0);
	CU_ASSERT_EQUAL(e.w[4].kind, W_MSI);
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1); /* one event an arming */
	arm(&e, 3, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 2); /* at once: one is not consumed */
	for (uint32_t k = 0; k < 3; k++)
		arm(&e, 3, false);
	CU_ASSERT_EQUAL(e.w[e.n - 2].owner, 1); /* the ring went round */
	tb_end(&e.t);
}

/* An interrupt is written between two events, so that a third arming meets the second's event. */
static void arming_beside_an_event_that_is_due_waits_for_it(void)
{
	struct bench e;

	bench_start(&e);
	complete(&e, 1, false);
	for (unsigned i = 0; i < 3; i++)
		tb_send(e.arm, &(struct cq_arm){ .cqi = 0, .ci = 0 });
	tb_send(e.arm, &(struct cq_arm){ .cqi = 0, .ci = 1 });
	tb_run_for(&e.t, 100);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 3);
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 4);
	tb_end(&e.t);
}

static void arming_for_any_outlives_one_for_solicited(void)
{
	struct bench e;

	bench_start(&e);
	arm(&e, 0, false);
	arm(&e, 0, true);
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1);
	arm(&e, 1, true); /* the event has ended both */
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1);
	arm(&e, 2, false);
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 2);
	tb_end(&e.t);
}

static void solicited_arming_ignores_what_is_not(void)
{
	struct bench e;

	bench_start(&e);
	complete(&e, 1, true);
	arm(&e, 1, true);
	complete(&e, 3, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 0);
	complete(&e, 1, true);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1);
	arm(&e, 5, true);
	tb_send(e.rsp, &(struct cqe_req){ .cqi = 0, .opcode = CQE_RESP_ERR });
	tb_run_for(&e.t, 100);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 2); /* errors count */
	tb_end(&e.t);
}

static void moderated_cq_waits_for_count_or_time(void)
{
	struct bench e;
	uint64_t from;

	bench_start(&e);
	e.cq[0].moderate_count = 3;
	e.cq[0].moderate_ps = 4 * PS_PER_US; /* 1000 cycles */
	arm(&e, 0, false);
	complete(&e, 2, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 0);
	complete(&e, 1, false);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1);
	arm(&e, 3, false);
	from = e.t.dut->cycle;
	complete(&e, 1, false);
	tb_run_for(&e.t, 800);
	CU_ASSERT_EQUAL(count(&e, W_EQE), 1);
	tb_run_for(&e.t, 1000);
	CU_ASSERT_EQUAL_FATAL(count(&e, W_EQE), 2);
	CU_ASSERT(e.w[e.n - 2].cycle >= from + 1000 && e.w[e.n - 2].cycle < from + 1100);
	tb_end(&e.t);
}

static void overflow_and_others_events_come_unarmed_and_once(void)
{
	struct bench e;

	bench_start(&e);
	complete(&e, DEPTH + 3, false);
	CU_ASSERT_EQUAL(count(&e, W_CQE), DEPTH);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 3);
	CU_ASSERT_EQUAL_FATAL(count(&e, W_EQE), 1);
	CU_ASSERT_EQUAL(e.w[e.n - 2].type, EQE_CQ_ERROR);
	CU_ASSERT_EQUAL(e.w[e.n - 2].number, 0x400);
	tb_send(e.async, &(struct async_event){ .type = EQE_SRQ_LIMIT, .number = 0x55 });
	tb_run_for(&e.t, 20);
	CU_ASSERT_EQUAL(e.w[e.n - 2].type, EQE_SRQ_LIMIT);
	CU_ASSERT_EQUAL(e.w[e.n - 2].number, 0x55);
	CU_ASSERT_EQUAL(e.w[e.n - 1].kind, W_MSI);
	tb_end(&e.t);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_cqe_event_tests[] = {
	TEST(armed_cq_gives_one_event_behind_its_cqe),
	TEST(arming_beside_an_event_that_is_due_waits_for_it),
	TEST(arming_for_any_outlives_one_for_solicited),
	TEST(solicited_arming_ignores_what_is_not),
	TEST(moderated_cq_waits_for_count_or_time),
	TEST(overflow_and_others_events_come_unarmed_and_once),
	CU_TEST_INFO_NULL,
};
