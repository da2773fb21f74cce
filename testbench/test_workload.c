/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_workload.c - the CPU of a host against a device that executes send queues at once
 *
 * The device stands for host_mem and the NIC: it does the stores, takes WQEs from the rings when
 * the doorbell rings, logs them, and writes CQEs for signaled ones.
 */
#include "testbench/tb.h"

#include <stdlib.h>

#include "tools/run/expect.h"
#include "models/verbs/wqe.h"
#include "models/workload.h"
#include "testbench/tb_system.h"

#define MAX_LOG 512u
#define NS(x) ((x)*PS_PER_NS)

struct done_wqe {
	uint64_t raddr, now_ps;
	uint32_t len;
	uint8_t opcode, first_inline;
};

struct device {
	struct host *h;
	struct tb_port *rsp;
	struct done_wqe log[MAX_LOG];
	uint32_t n_log, n_mmio, n_ci;
	uint16_t index[8];      /* next block of each QP */
	uint32_t pi[8];         /* CQEs written, per CQ */
	struct cpu_req poll[8]; /* polls that wait */
	bool has_poll[8];
	uint64_t now_cyc, delay_cyc; /* completions are seen so much later */
	uint32_t bad_at;             /* WQE of the log that fails, counted from 1; 0 = none */
	uint64_t foreign_ps; /* when the first poll came: then record 1 of h1 is completed */
};

struct bench {
	struct tb tb;
	struct tb_system sys;
	struct device dev;
	struct tb_port *mpt;
	struct op_row rows[MAX_LOG];
	uint32_t n_rows;
	struct oplog_sink sink;
};

static struct bench bench;

static void keep_row(struct oplog_sink *s, const struct op_row *r)
{
	(void)s;
	if (bench.n_rows < MAX_LOG)
		bench.rows[bench.n_rows++] = *r;
}

/* The row of a request of host h0. */
static const struct op_row *row_of(uint64_t id, uint64_t rep)
{
	static const struct op_row none;

	for (uint32_t i = 0; i < bench.n_rows; i++)
		if (bench.rows[i].id == id && bench.rows[i].rep == rep)
			return &bench.rows[i];
	CU_FAIL("no such row");
	return &none;
}

/* ---- the device ---- */

static void answer_poll(struct device *d, uint32_t cqi)
{
	const uint8_t *cqe = mem_at(d->h->mem, d->poll[cqi].addr);
	struct cpu_rsp rsp = { .tag = cqi };

	if (!d->has_poll[cqi] || cqe[63] >> 4 == CQE_INVALID || (cqe[63] & 1) != d->poll[cqi].owner)
		return;
	d->has_poll[cqi] = false;
	memcpy(rsp.data, cqe, 64);
	tb_send_at(d->rsp, d->now_cyc + d->delay_cyc, &rsp);
}

static void write_cqe(struct device *d, uint32_t qpi, uint16_t index, uint8_t syndrome)
{
	const struct qp_attr *q = &d->h->nic->qp[qpi];
	const struct cq_attr *cq = &d->h->nic->cq[q->scq];
	uint32_t pi = d->pi[q->scq]++;
	uint8_t cqe[64] = { 0 };

	cqe[55] = syndrome;
	store_be32(cqe + 56, q->qpn);
	store_be16(cqe + 60, index);
	cqe[63] = (uint8_t)((syndrome ? CQE_REQ_ERR : CQE_REQ) << 4 | ((pi & cq->depth) != 0));
	mem_write(d->h->mem, cq->pa + (pi & (cq->depth - 1)) * 64, cqe, 64);
	answer_poll(d, q->scq);
}

static void execute(struct device *d, const uint8_t *qword, uint64_t now_ps)
{
	uint32_t qpi = nic_qpi(d->h->nic, load_be32(qword + 4) >> 8);
	const struct qp_attr *q = &d->h->nic->qp[qpi];
	uint16_t producer = (uint16_t)((load_be32(qword) >> 8) + wqe_send_bbs(qword));

	d->n_mmio++;
	while (d->index[qpi] != producer) {
		uint8_t p[VERBS_MAX_WQE];
		uint32_t bbs;
		struct wqe w = { .qpi = qpi };

		for (uint32_t i = 0; i < WQE_MAX_BB; i++)
			mem_read(d->h->mem, q->sq_pa + ((d->index[qpi] + i) & (q->sq_bb - 1)) * 64,
				 p + i * 64, 64);
		bbs = wqe_send_bbs(p);
		CU_ASSERT_EQUAL(load_be32(p) >> 8 & 0xffff, d->index[qpi]);
		wqe_send_decode(&w, p, QP_RC);
		if (d->n_log < MAX_LOG)
			d->log[d->n_log++] = (struct done_wqe){ .raddr = w.raddr,
								.now_ps = now_ps,
								.len = w.len,
								.opcode = w.opcode,
								.first_inline = p[w.seg_off] };
		if (w.signaled)
			write_cqe(d, qpi, d->index[qpi],
				  d->bad_at && d->n_log == d->bad_at ? 0x13 : 0);
		d->index[qpi] = (uint16_t)(d->index[qpi] + bbs);
	}
}

static void serve(struct tb *t, struct tb_port *p, const void *msg)
{
	struct device *d = p->arg;
	const struct cpu_req *r = msg;
	uint64_t from = 0;
	uint32_t ticket;
	uint8_t bytes[64];

	(void)t;
	d->now_cyc = p->b.cycle;
	switch (r->kind) {
	case CPU_STORE:
		CU_ASSERT_TRUE(mem_write(d->h->mem, r->addr, r->data, r->len));
		for (uint32_t i = 0; i < d->h->nic->n_cq; i++)
			d->n_ci += r->addr == d->h->nic->cq[i].dbr_pa;
		break;
	case CPU_COPY:
		for (unsigned i = 0; i < 8; i++)
			from |= (uint64_t)r->data[i] << 8 * i;
		CU_ASSERT_TRUE(mem_read(d->h->mem, from, bytes, r->len) &&
			       mem_write(d->h->mem, r->addr, bytes, r->len));
		break;
	case CPU_MMIO:
		execute(d, r->data, p->b.now_ps);
		break;
	default:
		CU_ASSERT_FALSE(d->has_poll[r->tag]);
		d->poll[r->tag] = *r;
		d->has_poll[r->tag] = true;
		answer_poll(d, r->tag);
		ticket = ticket_find(&d->h->system->recs, 1, 1);
		if (ticket == TICKET_NONE)
			return;
		d->foreign_ps = p->b.now_ps;
		system_outcome(d->h->system, ticket, OUTCOME_COMPLETED, WC_SUCCESS, &p->b);
	}
}

/* Host h0 of the trace that TB_TWO_HOSTS and 'records' make; its CPU at 1 GHz. */
static void start(const char *records, const char *const *sets)
{
	char *text = x_calloc(1, strlen(TB_TWO_HOSTS) + strlen(records) + 1);

	memset(&bench, 0, sizeof(bench));
	strcat(strcat(text, TB_TWO_HOSTS), records);
	tb_system_open(&bench.sys, text);
	free(text);
	bench.sink.take = keep_row;
	oplog_attach(bench.sys.s->oplog, &bench.sink);
	bench.dev.h = &bench.sys.s->hosts[0];
	tb_init(&bench.tb, &workload_class, bench.dev.h,
		sets ? sets : (const char *[]){ "workload.clock=1GHz", NULL });
	tb_source(&bench.tb, "rec");
	bench.dev.rsp = tb_source(&bench.tb, "cpu_rsp");
	tb_sink_react(&bench.tb, "cpu_req", serve, &bench.dev);
	bench.mpt = tb_sink(&bench.tb, "mpt_cmd");
	tb_sink(&bench.tb, "srq_cmd");
	tb_source(&bench.tb, "closed");
	tb_start(&bench.tb);
}

static void finish(void)
{
	tb_end(&bench.tb);
	tb_system_close(&bench.sys);
}

/* Run to the end: everything of h0 was done, and every `expect` held. */
static void run_all(void)
{
	struct expect_result res;
	struct err e = { 0 };

	tb_run(&bench.tb);
	oplog_flush(bench.sys.s->oplog);
	CU_ASSERT_TRUE(feed_blocked(bench.sys.s, &e));
	CU_ASSERT_TRUE_FATAL(expect_evaluate(bench.sys.s, &bench.tb.sim, &res, &e));
	for (uint32_t i = 0; i < res.n_failures; i++)
		CU_FAIL(res.failures[i].text);
	expect_release(&res);
}

/* ---- order and time ---- */

#define WRITE(id) "post h0.q0 id=" #id " op=RDMA_WRITE sge=src:0:8 remote=dst:" #id " "

static void posts_run_in_file_order_with_costs(void)
{
	start(WRITE(1) "\n" WRITE(2) "at=1us\n" WRITE(3) "\n" WRITE(
		      4) "at=0ns\n"
			 "expect h0.q0 id=4 status=SUCCESS\n",
	      NULL);
	run_all();
	CU_ASSERT_EQUAL_FATAL(bench.dev.n_log, 4);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(bench.dev.log[i].raddr, 0x20000001 + i);
	CU_ASSERT_EQUAL(row_of(1, 0)->t_ps[OP_POST], 0);
	CU_ASSERT_EQUAL(row_of(2, 0)->t_ps[OP_POST], NS(1000));
	/* 40 ns, block and record, 20 ns, register */
	CU_ASSERT_EQUAL(bench.dev.log[0].now_ps, NS(40 + 1 + 20 + 1));
	CU_ASSERT_EQUAL(row_of(3, 0)->t_ps[OP_POST],
			NS(1000 + 40 + 1 + 20 + 1 + 1)); /* and a poll */
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "posts"), 4);
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "doorbells"), 4);
	finish();
}

static void post_after_starts_its_delay_behind_the_completion(void)
{
	uint64_t polled;

	start("qp h0 q1 type=RC peer=h1.q0\n" WRITE(
		      1) "at=500ns\n"
			 "post h0.q1 id=2 op=RDMA_WRITE remote=dst:2 after=1 delay=3us\n"
			 "post h0.q0 id=3 op=RDMA_WRITE remote=dst:3 after=1,2\n",
	      NULL);
	run_all();
	polled = row_of(1, 0)->t_ps[OP_POLL];
	CU_ASSERT_TRUE(polled > NS(500));
	CU_ASSERT_EQUAL(row_of(2, 0)->t_ps[OP_POST], polled + NS(3000));
	/* the CPU reads a completion for 20 ns before it goes on */
	CU_ASSERT_EQUAL(row_of(3, 0)->t_ps[OP_POST], row_of(2, 0)->t_ps[OP_POLL] + NS(20));
	finish();
}

/* Another host's completion counts from the next time stamp on, and wakes the CPU. */
static void post_after_another_host_starts_at_the_next_edge(void)
{
	start(WRITE(1) "flags=unsignaled\n"
		       "post h1.q0 id=1 op=RDMA_WRITE remote=va:0:rkey:0\n" WRITE(2) "after=h1:1\n",
	      NULL);
	tb_run(&bench.tb);
	oplog_flush(bench.sys.s->oplog);
	CU_ASSERT_TRUE(bench.dev.foreign_ps > 0);
	CU_ASSERT_EQUAL(row_of(2, 0)->t_ps[OP_POST], bench.dev.foreign_ps + NS(1));
	finish();
}

/*
 * Among QPs the earliest start goes first, then the file's order; a QP that waits holds up itself
 * only.
 */
static void queues_share_the_core_by_start_then_file(void)
{
	static const uint64_t want[] = { 2, 3, 1, 4, 5 };

	start("qp h0 q1 type=RC peer=h1.q0\n" WRITE(
		      1) "at=400ns\n"
			 "post h0.q1 id=2 op=RDMA_WRITE remote=dst:2\n"
			 "post h0.q1 id=3 op=RDMA_WRITE remote=dst:3\n"
			 "post h0.q1 id=4 op=RDMA_WRITE remote=dst:4 at=400ns\n" WRITE(
				 5) "at=400ns\n",
	      NULL);
	run_all();
	CU_ASSERT_EQUAL_FATAL(bench.dev.n_log, 5);
	for (unsigned i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(bench.dev.log[i].raddr, 0x20000000 + want[i]);
	CU_ASSERT_EQUAL(row_of(1, 0)->t_ps[OP_POST], NS(400));
	finish();
}

/* ---- windows, strides, batches, full queues ---- */

/* Requests of a record that were posted and not yet polled, at their most. */
static uint32_t most_in_flight(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < bench.n_rows; i++) {
		uint64_t t = bench.rows[i].t_ps[OP_POST];
		uint32_t n = 0;

		for (uint32_t k = 0; k < bench.n_rows; k++)
			n += bench.rows[k].t_ps[OP_POST] <= t && bench.rows[k].t_ps[OP_POLL] > t;
		most = n > most ? n : most;
	}
	return most;
}

static void repeat_keeps_its_window_and_wraps_in_the_mr(void)
{
	uint64_t off = 0xff00, roff = 0xfe80;

	start("post h0.q0 id=1 op=RDMA_WRITE sge=src:0xff00:0x80 remote=dst:0xfe80 repeat=50 "
	      "window=3 stride=0x40 rstride=0x100\n"
	      "post h0.q0 id=2 op=RDMA_WRITE remote=dst:0 after=1\n"
	      "expect h0.q0 id=1 status=SUCCESS\n",
	      NULL);
	bench.dev.delay_cyc = 500;
	run_all();
	CU_ASSERT_EQUAL_FATAL(bench.dev.n_log, 51);
	for (uint32_t i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(bench.dev.log[i].raddr, 0x20000000 + roff);
		CU_ASSERT_EQUAL(bench.dev.log[i].len, 0x80);
		CU_ASSERT_EQUAL(row_of(1, i)->status, WC_SUCCESS);
		off = off + 0x40 + 0x80 <= 0x10000 ? off + 0x40 : 0;
		roff = roff + 0x100 + 0x80 <= 0x10000 ? roff + 0x100 : 0x80;
	}
	CU_ASSERT_EQUAL(most_in_flight(), 3);
	CU_ASSERT_TRUE(row_of(2, 0)->t_ps[OP_POST] >= row_of(1, 49)->t_ps[OP_POLL]);
	finish();
}

static void queue_full_of_work_waits_for_room(void)
{
	char text[2048] = "";

	for (int i = 1; i <= 20; i++)
		sprintf(text + strlen(text),
			"post h0.q0 id=%d op=RDMA_WRITE remote=dst:%d flags=%s\n", i, i,
			i % 5 ? "unsignaled" : "signaled");
	start(text, NULL);
	run_all();
	CU_ASSERT_EQUAL(bench.dev.n_log, 20);
	CU_ASSERT_EQUAL(bench.n_rows, 20);
	CU_ASSERT_TRUE(most_in_flight() <= 8); /* sq=8 */
	/* an unsignaled request ends at the completion that covers it */
	CU_ASSERT_EQUAL(row_of(1, 0)->t_ps[OP_POLL], row_of(5, 0)->t_ps[OP_POLL]);
	finish();
}

static void queue_full_of_unsignaled_work_is_named(void)
{
	struct err e = { 0 };

	start("post h0.q0 id=1 op=RDMA_WRITE remote=dst:0 flags=unsignaled repeat=9 window=20\n",
	      NULL);
	tb_run(&bench.tb);
	CU_ASSERT_FALSE(feed_blocked(bench.sys.s, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "system.trace:8: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "8 of 9 are posted"));
	finish();
}

static void batch_rings_once_or_when_it_must_wait(void)
{
	start("post h0.q0 id=1 op=RDMA_WRITE remote=dst:1 flags=more,unsignaled\n"
	      "post h0.q0 id=2 op=RDMA_WRITE remote=dst:2 flags=more\n"
	      "post h0.q0 id=3 op=RDMA_WRITE remote=dst:3\n"
	      "post h0.q0 id=4 op=RDMA_WRITE remote=dst:4 flags=more repeat=20 window=30 at=1us\n"
	      "post h0.q0 id=5 op=RDMA_WRITE remote=dst:5\n",
	      NULL);
	run_all();
	CU_ASSERT_EQUAL(bench.dev.n_log, 24);
	CU_ASSERT_EQUAL(bench.dev.log[0].now_ps, bench.dev.log[2].now_ps);
	CU_ASSERT_EQUAL(bench.dev.log[3].now_ps,
			bench.dev.log[10].now_ps); /* the queue was full: 8 */
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "doorbells"), bench.dev.n_mmio);
	finish();
}

/* ---- refusals and errors ---- */

static void post_refused_counts_as_done(void)
{
	start("post h0.q0 id=1 op=RDMA_WRITE sge=src:0:65 remote=dst:0 flags=inline\n"
	      "post h0.q0 id=2 op=RDMA_WRITE remote=dst:2 after=1\n"
	      "expect h0.q0 id=1 error=EINVAL\n"
	      "expect h0.q0 id=1 none\n"
	      "expect h0.q0 id=2 status=SUCCESS\n",
	      NULL);
	run_all();
	CU_ASSERT_EQUAL(bench.dev.n_log, 1);
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "refused"), 1);
	finish();
}

static void completion_with_error_reaches_row_and_expect(void)
{
	struct expect_result res;
	struct err e = { 0 };

	start(WRITE(1) "\n" WRITE(2) "flags=unsignaled\n" WRITE(
		      3) "\n"
			 "expect h0.q0 id=3 status=REM_ACCESS_ERR\n"
			 "expect h0.q0 id=2 none\n"
			 "expect h0.q0 id=1 status=REM_ACCESS_ERR\n",
	      NULL);
	bench.dev.bad_at = 3;
	tb_run(&bench.tb);
	oplog_flush(bench.sys.s->oplog);
	CU_ASSERT_EQUAL(row_of(3, 0)->status, WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(row_of(2, 0)->status, WC_SUCCESS);
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "error_cqes"), 1);
	/* the last `expect` is the seeded fault */
	CU_ASSERT_TRUE_FATAL(expect_evaluate(bench.sys.s, &bench.tb.sim, &res, &e));
	CU_ASSERT_EQUAL(res.n_failures, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "system.trace:13: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "got SUCCESS"));
	expect_release(&res);
	finish();
}

/* ---- receives ---- */

static uint32_t rq_producer(const struct host *h)
{
	return load_be32(mem_at(h->mem, h->nic->qp[0].dbr_pa));
}

static void receives_are_in_force_before_time_0(void)
{
	start(WRITE(1) "at=5us\n"
		       "recv h0.q0 id=2 sge=src:0:8\n"
		       "recv h0.q0 id=3 sge=src:8:8\n"
		       "recv h0.q0 id=4 sge=src:16:8 at=1us\n"
		       "recv h0.q0 id=5 sge=src:24:8\n",
	      NULL);
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 2);
	CU_ASSERT_EQUAL(mem_at(bench.dev.h->mem, bench.dev.h->nic->qp[0].rq_pa + 64)[15], 8);
	tb_run_for(&bench.tb, 4000); /* the QP waits for 5 us, so do receives behind it */
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 2);
	tb_run(&bench.tb);
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 4);
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "recvs"), 2);
	finish();
}

/* Six receives for a queue of four: the others wait for room and hold up nothing. */
static void receives_without_room_wait_apart(void)
{
	const struct qp_attr *q;
	uint8_t cqe[64] = { 0 };

	start("recv h0.q0 id=1\nrecv h0.q0 id=2\nrecv h0.q0 id=3\n"
	      "recv h0.q0 id=4\nrecv h0.q0 id=5\nrecv h0.q0 id=6\n" WRITE(7) "\n",
	      NULL);
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 4);
	tb_run(&bench.tb);
	CU_ASSERT_EQUAL(bench.dev.n_log, 1);
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 4);
	q = &bench.dev.h->nic->qp[0];
	store_be32(cqe + 44, 5);
	store_be32(cqe + 56, q->qpn);
	cqe[63] = CQE_RESP_SEND << 4;
	mem_write(bench.dev.h->mem, bench.dev.h->nic->cq[q->rcq].pa + bench.dev.pi[q->rcq]++ * 64,
		  cqe, 64);
	answer_poll(&bench.dev, q->rcq);
	tb_run(&bench.tb);
	oplog_flush(bench.sys.s->oplog);
	CU_ASSERT_EQUAL(rq_producer(bench.dev.h), 5);
	CU_ASSERT_EQUAL(row_of(1, 0)->bytes, 5);
	CU_ASSERT_TRUE(row_of(1, 0)->is_recv);
	finish();
}

/* ---- memory ---- */

static void inline_post_sees_the_store_before_it(void)
{
	uint8_t got[8];

	start("mem h0 src:100 hex:a1a2a3a4a5a6a7a8\n"
	      "mem h0 src:4090 set:7:200\n"
	      "post h0.q0 id=1 op=RDMA_WRITE sge=src:100:8 remote=dst:0 flags=inline\n",
	      NULL);
	run_all();
	CU_ASSERT_EQUAL(bench.dev.log[0].first_inline, 0xa1);
	CU_ASSERT_TRUE(space_read(bench.dev.h->space, 0x10000000 + 4089, got, 8));
	CU_ASSERT_EQUAL(got[0], 4089 % 251);
	CU_ASSERT_EQUAL(got[1], 7);
	CU_ASSERT_EQUAL(got[7], 7);
	CU_ASSERT_EQUAL(tb_stat(&bench.tb, "mem_b"), 208);
	finish();
}

static void dereg_clears_the_entry_then_tells_the_nic(void)
{
	const struct mpt_cmd *cmd;

	start("dereg h0 src at=2us\n", NULL);
	run_all();
	CU_ASSERT_EQUAL(
		mem_at(bench.dev.h->mem, bench.dev.h->nic->mpt_pa + 0x12 * MPT_SIZE)[MPT_FLAGS], 0);
	cmd = tb_got(bench.mpt, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cmd);
	CU_ASSERT_EQUAL(cmd->key, 0x1234);
	CU_ASSERT_TRUE(bench.mpt->cycle[0] >= 3000);
	CU_ASSERT_EQUAL(bench.mpt->n_received, 1);
	finish();
}

/* A CQ of 16: the owner bit turns over, and the consumer index is stored at least every quarter. */
static void completions_beyond_the_ring_are_read(void)
{
	start("post h0.q0 id=1 op=RDMA_WRITE remote=dst:0 repeat=100 window=8\n", NULL);
	run_all();
	CU_ASSERT_EQUAL(bench.n_rows, 100);
	CU_ASSERT_EQUAL(bench.dev.n_ci, 25);
	finish();
}

/* ---- stalls ---- */

static uint64_t work_done(void)
{
	uint64_t h = 1;

	for (uint32_t i = 0; i < bench.dev.n_log; i++)
		h = h * 1000003 + bench.dev.log[i].raddr;
	return h * 1000003 + bench.n_rows;
}

static void stalls_change_times_only(void)
{
	uint64_t want = 0;

	for (unsigned in = 0; in < 4; in++) {
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { "workload.clock=1GHz", set_in, set_out, NULL };

			tb_stall_sets(&workload_class, in, out, set_in, set_out);
			start("post h0.q0 id=1 op=RDMA_WRITE remote=dst:0 repeat=60 "
			      "window=5 rstride=8\n"
			      "mem h0 src:0 set:1:3000\n"
			      "post h0.q0 id=2 op=RDMA_WRITE sge=src:0:30 remote=dst:0 "
			      "flags=inline after=1\n",
			      sets);
			run_all();
			if (in + out == 0)
				want = work_done();
			CU_ASSERT_EQUAL(work_done(), want);
			finish();
		}
	}
}

CU_TestInfo test_workload_tests[] = {
	{ "posts_run_in_file_order_with_costs", posts_run_in_file_order_with_costs },
	{ "post_after_starts_its_delay_behind_the_completion",
	  post_after_starts_its_delay_behind_the_completion },
	{ "post_after_another_host_starts_at_the_next_edge",
	  post_after_another_host_starts_at_the_next_edge },
	{ "queues_share_the_core_by_start_then_file", queues_share_the_core_by_start_then_file },
	{ "repeat_keeps_its_window_and_wraps_in_the_mr",
	  repeat_keeps_its_window_and_wraps_in_the_mr },
	{ "queue_full_of_work_waits_for_room", queue_full_of_work_waits_for_room },
	{ "queue_full_of_unsignaled_work_is_named", queue_full_of_unsignaled_work_is_named },
	{ "batch_rings_once_or_when_it_must_wait", batch_rings_once_or_when_it_must_wait },
	{ "post_refused_counts_as_done", post_refused_counts_as_done },
	{ "completion_with_error_reaches_row_and_expect",
	  completion_with_error_reaches_row_and_expect },
	{ "receives_are_in_force_before_time_0", receives_are_in_force_before_time_0 },
	{ "receives_without_room_wait_apart", receives_without_room_wait_apart },
	{ "inline_post_sees_the_store_before_it", inline_post_sees_the_store_before_it },
	{ "dereg_clears_the_entry_then_tells_the_nic", dereg_clears_the_entry_then_tells_the_nic },
	{ "completions_beyond_the_ring_are_read", completions_beyond_the_ring_are_read },
	{ "stalls_change_times_only", stalls_change_times_only },
	CU_TEST_INFO_NULL,
};
