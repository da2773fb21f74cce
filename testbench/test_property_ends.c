/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_ends.c - the judge of random traces notices a wrong row, completion, time or buffer, and receives of UC, UD and SRQs
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/requester.h"
#include "testbench/tb_fault.h"

/* ---- runs, rows and completions ---- */

static bool get_stuck(struct tb_case *c)
{
	c->status = EXIT_STALLED;
	return true;
}

static bool fail(struct tb_case *c)
{
	c->status = EXIT_EXPECT;
	return true;
}

static bool run_on(struct tb_case *c)
{
	c->run.sc.until = 0;
	return true;
}

/* A channel has one message more than came out of it, which its checker knows of, or there is none. */
static bool leave_message(struct tb_case *c)
{
	c->run.r.sim.chans[0]->count++;
	return true;
}

static void take_message(struct tb_case *c)
{
	c->run.r.sim.chans[0]->count--;
}

static bool keep_buffer(struct tb_case *c)
{
	c->run.r.sim.pools[0]->in_use++;
	return true;
}

static bool unmap(struct tb_case *c)
{
	c->run.trace->mrs[0].va += 1ull << 60;
	return true;
}

static void name_no_request(struct tb_case *c)
{
	c->watch.rows[0].id = UINT64_MAX;
}

/* The last row, or CQE, of a queue of some QP of a kind. -1: none. */
static int32_t last_row(const struct tb_case *c, bool is_loose, bool is_recv)
{
	int32_t last = -1;

	for (uint32_t i = 0; i < c->watch.n_rows; i++) {
		const struct op_row *r = &c->watch.rows[i];

		if (r->is_recv != is_recv || c->ref.qp[r->qp].is_loose != is_loose ||
		    c->ref.qp[r->qp].is_reborn)
			continue;
		if (last < 0 || c->watch.rows[last].qp == r->qp)
			last = (int32_t)i;
	}
	return last;
}

static int32_t last_cqe(const struct tb_case *c, bool is_loose, bool is_recv)
{
	int32_t row = last_row(c, is_loose, is_recv), last = -1;

	for (uint32_t i = 0; row >= 0 && i < c->watch.n_cqes; i++)
		if (c->watch.cqes[i].qp == c->watch.rows[row].qp &&
		    c->watch.cqes[i].is_recv == is_recv)
			last = (int32_t)i;
	return last;
}

static struct ref_wr *request_of(struct tb_case *c, const struct op_row *row)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		if (c->ref.wr[i].r.host == row->host && c->ref.wr[i].r.id == row->id)
			return &c->ref.wr[i];
	return NULL;
}

static bool drop_row(struct tb_case *c, bool is_loose, bool is_recv)
{
	int32_t i = last_row(c, is_loose, is_recv);

	if (i >= 0)
		memmove(&c->watch.rows[i], &c->watch.rows[i + 1],
			(--c->watch.n_rows - (uint32_t)i) * sizeof(*c->watch.rows));
	return i >= 0;
}

static bool drop_cqe(struct tb_case *c, bool is_loose, bool is_recv)
{
	int32_t i = last_cqe(c, is_loose, is_recv);

	if (i >= 0)
		memmove(&c->watch.cqes[i], &c->watch.cqes[i + 1],
			(--c->watch.n_cqes - (uint32_t)i) * sizeof(*c->watch.cqes));
	return i >= 0;
}

static bool change_status(struct tb_case *c, bool is_recv)
{
	int32_t i = last_row(c, false, is_recv);

	if (i >= 0)
		request_of(c, &c->watch.rows[i])->status = WC_REM_OP_ERR;
	return i >= 0;
}

static bool drop_request_row(struct tb_case *c)
{
	return drop_row(c, false, false);
}
static bool drop_receive_row(struct tb_case *c)
{
	return drop_row(c, false, true);
}
static bool drop_request_cqe(struct tb_case *c)
{
	return drop_cqe(c, false, false);
}
static bool request_status(struct tb_case *c)
{
	return change_status(c, false);
}
static bool receive_status(struct tb_case *c)
{
	return change_status(c, true);
}

static bool swap_rows(struct tb_case *c)
{
	int32_t i = last_row(c, false, false);

	for (int32_t k = 0; k < i; k++) {
		struct op_row *a = &c->watch.rows[k], *b = &c->watch.rows[i], t = *a;

		if (a->qp != b->qp || a->is_recv)
			continue;
		*a = *b;
		*b = t;
		return true;
	}
	return false;
}

static bool cqe_status(struct tb_case *c)
{
	int32_t i = last_cqe(c, false, false);

	if (i >= 0)
		c->watch.cqes[i].status = WC_WR_FLUSH_ERR;
	return i >= 0;
}

/* ---- time ---- */

static bool end_late(struct tb_case *c)
{
	int32_t i = last_row(c, false, false);
	struct ref_wr *w = i < 0 ? NULL : request_of(c, &c->watch.rows[i]);

	if (w)
		w->t_poll += 1000 * PS_PER_S;
	return w && w->is_signaled;
}

static bool complete_before_the_answer(struct tb_case *c)
{
	int32_t i = last_row(c, false, false);

	if (i >= 0)
		request_of(c, &c->watch.rows[i])->t_poll = 1;
	return i >= 0;
}

static bool time_out_once_more(struct tb_case *c)
{
	((struct requester *)(void *)netlist_find(&c->run.r.sim, "nic0.requester"))->timeouts++;
	return true;
}

const struct fault run_faults[] = {
	{ "stuck at ", .after = get_stuck, .want = &fault_clean },
	{ "the run ended with status ", .after = fail, .want = &fault_clean },
	{ "channel ", .after = leave_message, .want = &fault_clean, .mend = take_message },
	{ " holds messages", .after = leave_message, .want = &fault_clean, .mend = take_message },
	{ "the run did not end", .after = run_on, .want = &fault_clean },
	{ " keeps * of * buffers", .after = keep_buffer, .want = &fault_clean },
	{ "an MR that is not mapped", .after = unmap, .want = &fault_clean },
	{ "that is not in the trace", .want = &fault_clean, .rows = name_no_request },
	{ " where * is next", .after = swap_rows, .want = &fault_clean },
	{ ": no completion of request ", .after = drop_request_row, .want = &fault_clean },
	{ ": no completion of receive ", .after = drop_receive_row, .want = &fault_clean },
	{ ": status * of request ", .after = request_status, .want = &fault_clean },
	{ ": status * of receive ", .after = receive_status, .want = &fault_clean },
	{ ": not what is next", .after = cqe_status, .want = &fault_clean },
	{ ": no CQE for ", .after = drop_request_cqe, .want = &fault_clean },
	{ " ended at * ps, not by ", .after = end_late, .want = &fault_clean },
	{ " completed before its answer", .after = complete_before_the_answer,
	  .want = &fault_clean },
	{ " ACK timeouts for ", .after = time_out_once_more, .want = &fault_clean,
	  .sets = fault_patient_sr },
	{ .says = NULL },
};

/* ---- receives of UC, UD and SRQs ---- */

static const struct rec_sge *last_sge(const struct ref_wr *w)
{
	return &w->r.sge[w->r.n_sge - 1];
}

static bool fill_unused(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		const struct ref_wr *w = &c->ref.wr[i];

		if (w->r.kind != REC_RECV || !w->is_loose || w->is_former || w->has_row || !w->len)
			continue;
		/* the last byte: what is left of a message that was given up lies in front */
		fault_flip(c, last_sge(w)->mr, last_sge(w)->addr + last_sge(w)->len - 1);
		return true;
	}
	return false;
}

static bool write_behind(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->watch.n_rows; i++) {
		const struct op_row *row = &c->watch.rows[i];

		for (uint32_t k = 0; k < c->ref.n_wr; k++) {
			const struct ref_wr *w = &c->ref.wr[k];

			if (w->r.host != row->host || w->r.id != row->id || !w->is_loose ||
			    w->r.kind != REC_RECV || row->opcode != OP_RECV || w->len <= row->bytes)
				continue;
			fault_flip(c, last_sge(w)->mr, last_sge(w)->addr + last_sge(w)->len - 1);
			return true;
		}
	}
	return false;
}

static bool change_nobodys(struct tb_case *c)
{
	uint32_t mr = ref_find_mr(&c->ref, 1, "ltg0");

	if (mr == TRACE_NONE)
		return false;
	fault_flip(c, mr, c->run.trace->mrs[mr].va + c->run.trace->mrs[mr].len - 1);
	return true;
}

/* The receivers of datagrams turn out to be of another partition. */
static bool change_partition(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->ref.trace->qps[i].type == QP_UD && c->ref.trace->qps[i].host == 1)
			c->ref.trace->qps[i].pkey = 0x8001;
	return true;
}

static bool drop_loose_row(struct tb_case *c)
{
	return drop_row(c, true, true);
}
static bool drop_loose_cqe(struct tb_case *c)
{
	return drop_cqe(c, true, true);
}

/* A receive is flushed, and its QP is not in Error. */
static bool flush(struct tb_case *c)
{
	int32_t i = last_row(c, true, true);
	struct ref_wr *w = i < 0 ? NULL : request_of(c, &c->watch.rows[i]);

	if (w) {
		w->is_error = true;
		w->status = WC_WR_FLUSH_ERR;
	}
	return w != NULL;
}

static bool cqe_ends_badly(struct tb_case *c)
{
	int32_t i = last_cqe(c, true, true);

	if (i >= 0)
		c->watch.cqes[i].is_error ^= true;
	return i >= 0;
}

/* What is flushed behind a receive that was too short ended well. */
static bool end_well(struct tb_case *c)
{
	uint32_t qp = TRACE_NONE;

	for (uint32_t i = 0; i < c->watch.n_rows; i++) {
		const struct op_row *row = &c->watch.rows[i];

		if (row->is_recv && row->status == WC_LOC_LEN_ERR && c->ref.qp[row->qp].is_loose) {
			qp = row->qp;
		} else if (row->is_recv && row->qp == qp) {
			request_of(c, row)->is_error = false;
			return true;
		}
	}
	return false;
}

static const uint8_t *was(const struct tb_case *c, const struct ref_wr *w)
{
	const struct rec_sge *s = &w->r.sge[0];

	return c->ref.mr[s->mr].val + (s->addr - c->run.trace->mrs[s->mr].va);
}

/* A message never came: neither row nor completion, and its receive is as before. */
static bool lose(struct tb_case *c)
{
	int32_t i = last_row(c, true, true);
	const struct ref_wr *w = i < 0 ? NULL : request_of(c, &c->watch.rows[i]);

	if (!w || !w->r.n_sge)
		return false;
	space_write(c->run.r.system->hosts[w->r.host].space, w->r.sge[0].addr, was(c, w), w->len);
	return drop_loose_cqe(c) && drop_loose_row(c);
}

/* Two receives of a QP were taken in the wrong order: each has the other's message. */
static bool take_in_wrong_order(struct tb_case *c)
{
	int32_t i = last_row(c, true, true);

	for (int32_t k = i - 1; k >= 0; k--) {
		struct op_row *row[2] = { &c->watch.rows[k], &c->watch.rows[i] }, t = *row[0];
		const struct host *h = &c->run.r.system->hosts[t.host];
		const struct ref_wr *w[2];
		uint8_t bytes[2][8192];

		if (row[0]->qp != row[1]->qp || !row[0]->is_recv)
			continue;
		for (unsigned n = 0; n < 2; n++) {
			w[n] = request_of(c, row[n]);
			if (!w[n]->r.n_sge || w[n]->len > sizeof(bytes[n]))
				return false;
			space_read(h->space, w[n]->r.sge[0].addr, bytes[n], w[n]->len);
		}
		for (unsigned n = 0; n < 2; n++) {
			uint32_t used = (uint32_t)min_u64(row[n]->bytes, w[1 - n]->len);

			space_write(h->space, w[1 - n]->r.sge[0].addr, was(c, w[1 - n]),
				    w[1 - n]->len);
			space_write(h->space, w[1 - n]->r.sge[0].addr, bytes[n], used);
		}
		*row[0] = *row[1];
		*row[1] = t;
		return true;
	}
	return false;
}

static bool leave_out(struct tb_case *c)
{
	struct ref_wr *last = NULL;

	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		struct ref_wr *w = &c->ref.wr[i];

		if (w->r.kind != REC_RECV || w->r.srq != 0 || !w->has_row)
			continue;
		w->has_row = false;
		last = w;
	}
	if (last)
		last->has_row = true;
	return last != NULL;
}

static bool spoil_write(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		const struct ref_wr *w = &c->ref.wr[i];

		if (w->r.kind != REC_POST || !w->is_loose || w->r.opcode != WR_RDMA_WRITE ||
		    !w->len || w->r.rmr == TRACE_NONE)
			continue;
		fault_flip(c, w->r.rmr, w->r.raddr);
		return true;
	}
	return false;
}

const struct fault loose_faults[] = {
	{ ": receive * ended with ", .after = flush, .want = &fault_clean },
	{ ": CQE and row of receive ", .after = cqe_ends_badly, .want = &fault_clean },
	{ " has no CQE", .after = drop_loose_cqe, .want = &fault_clean },
	{ "a CQE of a receive without a row", .after = drop_loose_row, .want = &fault_clean },
	{ " ends well behind one that did not", .after = end_well, .want = &fault_any },
	{ " took receive * behind ", .after = take_in_wrong_order, .want = &fault_any },
	{ " receives were left out", .after = leave_out, .want = &fault_clean, .word = "srq h" },
	{ "holds bytes of no message", .after = fill_unused, .want = &fault_any },
	{ "was written behind its message", .after = write_behind, .want = &fault_clean },
	{ "holds no message that is due", .after = change_partition, .want = &fault_clean },
	{ ": message * came * times", .after = lose, .want = &fault_clean },
	{ " was not carried out", .after = spoil_write, .want = &fault_clean },
	{ "is nobody's and has changed", .after = change_nobodys, .want = &fault_clean },
	{ .says = NULL },
};

static void faults_of_runs_are_noticed_as_said(void)
{
	faults_are_noticed_as_said(run_faults);
}

static void faults_of_loose_receives_are_noticed_as_said(void)
{
	faults_are_noticed_as_said(loose_faults);
}

CU_TestInfo test_property_ends_tests[] = { { "faults_of_runs_are_noticed_as_said",
					     faults_of_runs_are_noticed_as_said },
					   { "faults_of_loose_receives_are_noticed_as_said",
					     faults_of_loose_receives_are_noticed_as_said },
					   CU_TEST_INFO_NULL };
