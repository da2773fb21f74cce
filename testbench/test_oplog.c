/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oplog.c - rows of milestones, ops.csv and the report made of them
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "tools/run/oplog_csv.h"
#include "tools/run/report.h"
#include "sim/rng.h"
#include "testbench/tb_file.h"

/* A sink that keeps what it takes. */
struct keep {
	struct oplog_sink sink;
	struct op_row rows[4096];
	uint32_t n;
};

static struct keep kept;

static void keep_row(struct oplog_sink *s, const struct op_row *r)
{
	struct keep *k = (struct keep *)s;

	if (k->n < ARRAY_LEN(k->rows))
		k->rows[k->n++] = *r;
}

static struct oplog *new_log(void)
{
	struct oplog *l = oplog_create();

	memset(&kept, 0, sizeof(kept));
	kept.sink.take = keep_row;
	oplog_attach(l, &kept.sink);
	return l;
}

static uint32_t open_row(struct oplog *l, uint32_t host, uint32_t qp, uint64_t id, uint64_t now_ps)
{
	return oplog_open(
		l,
		&(struct op_row){
			.host = host, .qp = qp, .id = id, .bytes = 100, .opcode = WR_SEND },
		now_ps);
}

/* Milestones in order, and stages that sum to the latency. */
static bool is_telescoping(const struct op_row *r)
{
	uint64_t sum = 0;

	for (unsigned m = 1; m < OP_MILESTONES; m++) {
		if (r->t_ps[m] < r->t_ps[m - 1])
			return false;
		sum += r->t_ps[m] - r->t_ps[m - 1];
	}
	return sum == r->t_ps[OP_POLL] - r->t_ps[OP_POST];
}

/* Random marks in any order, some missing, at most at the time of the poll. */
static void row_with_random_marks_telescopes(void)
{
	struct oplog *l = new_log();
	struct rng r;

	rng_seed(&r, "oplog", 1);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t t0 = rng_below(&r, 1000000), t1 = t0 + rng_below(&r, 1000000);
		uint32_t op = open_row(l, 0, 0, i, t0);

		for (unsigned k = 0; k < 15; k++) {
			enum milestone m = (enum milestone)(1 + rng_below(&r, OP_POLL - 1));
			uint64_t t = t0 + rng_below(&r, t1 - t0 + 1);

			if (rng_below(&r, 2))
				oplog_mark(l, op, m, t);
			else
				oplog_mark_once(l, op, m, t);
		}
		oplog_close(l, op, WC_SUCCESS, t1);
	}
	oplog_flush(l);
	CU_ASSERT_EQUAL_FATAL(kept.n, 2000);
	for (uint32_t i = 0; i < kept.n; i++)
		CU_ASSERT_TRUE(is_telescoping(&kept.rows[i]));
	/* the seeded fault: a milestone that is not clamped */
	kept.rows[7].t_ps[OP_REMOTE] = kept.rows[7].t_ps[OP_POLL] + 1;
	CU_ASSERT_FALSE(is_telescoping(&kept.rows[7]));
	oplog_destroy(l);
}

static void row_mark_replaces_and_mark_once_does_not(void)
{
	struct oplog *l = new_log();
	uint32_t op = open_row(l, 0, 0, 1, 10);

	oplog_mark(l, op, OP_LAST_BIT, 20);
	oplog_mark(l, op, OP_LAST_BIT, 30);
	oplog_mark_once(l, op, OP_FETCH, 12);
	oplog_mark_once(l, op, OP_FETCH, 15);
	oplog_mark(l, OP_NONE, OP_FETCH, 17);
	oplog_close(l, op, WC_REM_OP_ERR, 50);
	oplog_flush(l);
	CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_FETCH], 12);
	CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_DOORBELL], 10);
	CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_LAST_BIT], 30);
	CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_CQE], 30);
	CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_POLL], 50);
	CU_ASSERT_EQUAL(kept.rows[0].status, WC_REM_OP_ERR);
	oplog_destroy(l);
}

/*
 * A mark of the same time stamp counts whether it is made before or after the close; a later one
 * never.
 */
static void row_mark_at_its_end_counts_in_either_order(void)
{
	for (unsigned after = 0; after < 2; after++) {
		struct oplog *l = new_log();
		uint32_t op = open_row(l, 0, 0, 1, 10);

		if (!after)
			oplog_mark(l, op, OP_ACK, 50);
		oplog_close(l, op, WC_SUCCESS, 50);
		if (after)
			oplog_mark(l, op, OP_ACK, 50);
		oplog_mark(l, op, OP_REMOTE, 60);
		oplog_flush(l);
		CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_ACK], 50);
		CU_ASSERT_EQUAL(kept.rows[0].t_ps[OP_REMOTE], 10);
		oplog_destroy(l);
	}
}

/* A late packet's mark does not touch the row's next user. */
static void row_recycled_ignores_its_old_handle(void)
{
	struct oplog *l = new_log();
	uint32_t old = open_row(l, 0, 0, 1, 10), op;

	oplog_close(l, old, WC_SUCCESS, 20);
	op = open_row(l, 0, 0, 2, 30);
	CU_ASSERT_NOT_EQUAL(op, old);
	oplog_mark(l, old, OP_LAST_BIT, 35);
	oplog_close(l, op, WC_SUCCESS, 40);
	oplog_flush(l);
	CU_ASSERT_EQUAL(kept.n, 2);
	CU_ASSERT_EQUAL(kept.rows[1].id, 2);
	CU_ASSERT_EQUAL(kept.rows[1].t_ps[OP_LAST_BIT], 30);
	oplog_destroy(l);
}

/* Rows of one time stamp come by host, then QP, then as they were closed. */
static void rows_of_one_time_come_in_order_of_host_and_qp(void)
{
	static const uint32_t order[5][3] = {
		{ 1, 0, 1 }, { 0, 2, 2 }, { 0, 1, 3 }, { 0, 2, 4 }, { 0, 0, 5 }
	};
	static const uint64_t want[5] = { 5, 3, 2, 4, 1 };
	struct oplog *l = new_log();
	uint32_t op[5];

	for (unsigned i = 0; i < 5; i++)
		op[i] = open_row(l, order[i][0], order[i][1], order[i][2], 1);
	for (unsigned i = 0; i < 5; i++)
		oplog_close(l, op[i], WC_SUCCESS, 9);
	CU_ASSERT_EQUAL(kept.n, 0);
	oplog_close(l, open_row(l, 0, 0, 6, 9), WC_SUCCESS, 10);
	CU_ASSERT_EQUAL_FATAL(kept.n, 5);
	for (unsigned i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(kept.rows[i].id, want[i]);
	oplog_flush(l);
	CU_ASSERT_EQUAL(kept.n, 6);
	oplog_destroy(l);
}

static const char text_trace[] = "rnicsim-trace 1\nhost h0\nhost h1\nqp h0 q0 type=RC peer=h1.q0\n"
				 "qp h1 q0 type=RC peer=h0.q0\n";

static void csv_holds_rows_and_sums(void)
{
	static const char want[] =
		"h0,q0,5,3,SEND,100,SUCCESS,1000,1000,1000,1000,2000,2000,2000,2000,2000,2000,2000,"
		"2000,2000,2000,2000,2000,2000,7000,6000,0,0,0,1000,0,0,0,0,0,0,0,0,0,0,0,0,5000\n";
	struct err e = { 0 };
	struct trace *t =
		trace_open(tb_write("oplog.trace", text_trace, sizeof(text_trace) - 1), &e);
	struct oplog *l = new_log();
	struct oplog_csv csv;
	char dir[256], *ops, *recvs;
	uint32_t op;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	snprintf(dir, sizeof(dir), "%s", tb_path("x"));
	*strrchr(dir, '/') = '\0';
	CU_ASSERT_TRUE_FATAL(oplog_csv_open(&csv, dir, t, &e));
	oplog_attach(l, &csv.sink);
	op = oplog_open(l, &(struct op_row){ .id = 5, .rep = 3, .bytes = 100, .opcode = WR_SEND },
			1000);
	oplog_mark(l, op, OP_FETCH, 2000);
	oplog_close(l, op, WC_SUCCESS, 7000);
	op = oplog_open(
		l,
		&(struct op_row){ .host = 1, .qp = 1, .id = 9, .opcode = OP_RECV, .is_recv = true },
		0);
	oplog_row(l, op)->bytes = 77;
	oplog_close(l, op, WC_WR_FLUSH_ERR, 7000);
	oplog_flush(l);
	CU_ASSERT_PTR_NULL(tb_read(tb_path("ops.csv"))); /* nothing half-written */
	CU_ASSERT_TRUE(oplog_csv_commit(&csv, &e));
	ops = tb_read(tb_path("ops.csv"));
	recvs = tb_read(tb_path("recvs.csv"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recvs);
	CU_ASSERT_EQUAL(
		strncmp(ops, "host,qp,id,rep,opcode,bytes,status,t_post_ps,t_doorbell_ps,", 59), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(strchr(ops, '\n'));
	CU_ASSERT_STRING_EQUAL(strchr(ops, '\n') + 1, want);
	CU_ASSERT_PTR_NOT_NULL(strstr(recvs, "\nh1,q0,9,RECV,77,WR_FLUSH_ERR,0,0,7000\n"));
	free(ops);
	free(recvs);
	oplog_destroy(l);
	trace_close(t);
}

/* Means are rounded so that they still add up. */
static void report_stage_means_sum_to_the_mean(void)
{
	static struct report rep;
	struct oplog *l = new_log();
	const struct report_op *o = &rep.ops[WR_SEND];
	uint64_t mean[REPORT_STAGES], sum = 0;
	struct rng r;

	report_init(&rep);
	oplog_attach(l, &rep.sink);
	rng_seed(&r, "report", 2);
	for (unsigned i = 0; i < 777; i++) {
		uint64_t t = 1 + rng_below(&r, 1000);
		uint32_t op = open_row(l, 0, 0, i, t);

		for (unsigned m = 1; m < OP_POLL; m++)
			oplog_mark(l, op, (enum milestone)m, t += rng_below(&r, 100));
		oplog_close(l, op, i % 10 == 0 ? WC_REM_OP_ERR : WC_SUCCESS, t + 5);
	}
	oplog_flush(l);
	CU_ASSERT_EQUAL(o->n, 777 - 78);
	CU_ASSERT_EQUAL(o->errors, 78);
	CU_ASSERT_EQUAL(o->bytes, o->n * 100);
	report_stage_means(o, mean);
	for (unsigned m = 0; m < REPORT_STAGES; m++)
		sum += mean[m];
	CU_ASSERT_EQUAL(sum, hist_mean(&o->latency));
	CU_ASSERT_EQUAL(report_goodput_bps(o),
			(uint64_t)((__extension__(unsigned __int128) o->bytes) * 8 * PS_PER_S /
				   (o->last_ps - o->first_ps)));
	oplog_destroy(l);
}

CU_TestInfo test_oplog_tests[] = {
	{ "row_with_random_marks_telescopes", row_with_random_marks_telescopes },
	{ "row_mark_replaces_and_mark_once_does_not", row_mark_replaces_and_mark_once_does_not },
	{ "row_mark_at_its_end_counts_in_either_order",
	  row_mark_at_its_end_counts_in_either_order },
	{ "row_recycled_ignores_its_old_handle", row_recycled_ignores_its_old_handle },
	{ "rows_of_one_time_come_in_order_of_host_and_qp",
	  rows_of_one_time_come_in_order_of_host_and_qp },
	{ "csv_holds_rows_and_sums", csv_holds_rows_and_sums },
	{ "report_stage_means_sum_to_the_mean", report_stage_means_sum_to_the_mean },
	CU_TEST_INFO_NULL,
};
