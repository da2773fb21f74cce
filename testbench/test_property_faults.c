/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_faults.c - the judge of random traces (tb_judge.h) notices what is wrong in a run
 *
 * A run in which everything is as it must be is spoilt in one thing.
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "testbench/tb_judge.h"

/* Of this seed: messages of all services, adders from both hosts. */
#define SEED 5u

static void run_clean(struct tb_case *c)
{
	CU_ASSERT_FATAL(tb_case_run(c, SEED, &(struct gen_want){ .is_clean = true }, NULL,
				    ORDER_FORWARD, false));
	CU_ASSERT_FATAL(c->watch.n_rows > 8 && c->watch.n_cqes > 8);
}

/* The case, judged as it is, is as it must be; after 'spoil' it is not. */
static bool is_noticed(void (*spoil)(struct tb_case *c), bool is_before)
{
	static struct tb_case c;
	bool noticed;

	run_clean(&c);
	if (is_before)
		spoil(&c);
	noticed = tb_case_refer(&c) != NULL;
	if (!is_before) {
		CU_ASSERT_PTR_NULL(tb_judge(&c));
		spoil(&c);
	}
	noticed |= tb_judge(&c) != NULL;
	tb_case_close(&c);
	return noticed;
}

/* ---- any service ---- */

static void flip_byte(struct tb_case *c, uint32_t mr, uint64_t off)
{
	const struct trace_mr *m = &c->run.trace->mrs[mr];
	const struct host *h = &c->run.r.system->hosts[m->host];
	uint8_t b;

	space_read(h->space, m->va + off, &b, 1);
	b ^= 0x80;
	space_write(h->space, m->va + off, &b, 1);
}

static void flip_memory(struct tb_case *c)
{
	flip_byte(c, ref_find_mr(&c->ref, 0, "rcv0"), 0);
}

static void drop_row(struct tb_case *c)
{
	memmove(&c->watch.rows[3], &c->watch.rows[4],
		(--c->watch.n_rows - 3) * sizeof(*c->watch.rows));
}

static void double_row(struct tb_case *c)
{
	c->watch.rows[4] = c->watch.rows[3];
}

static void repeat_last_row(struct tb_case *c)
{
	c->watch.rows[c->watch.n_rows - 1] = c->watch.rows[c->watch.n_rows - 2];
}

/* Two of one queue change places. */
static void swap_rows(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->watch.n_rows; i++)
		for (uint32_t k = i + 1; k < c->watch.n_rows; k++) {
			struct op_row *a = &c->watch.rows[i], *b = &c->watch.rows[k], t = *a;

			if (b->qp != a->qp || b->is_recv != a->is_recv)
				continue;
			*a = *b;
			*b = t;
			return;
		}
}

static void change_status(struct tb_case *c)
{
	c->watch.rows[5].status = WC_REM_ACCESS_ERR;
}

/* A request ends 1000 s later than it did. */
static void be_late(struct tb_case *c)
{
	uint32_t i = c->watch.n_rows - 1;

	while (c->watch.rows[i].is_recv)
		i--;
	c->watch.rows[i].t_ps[OP_POLL] += 1000 * PS_PER_S;
}

static void faults_are_noticed(void)
{
	CU_ASSERT(is_noticed(flip_memory, false));
	CU_ASSERT(is_noticed(drop_row, true));
	CU_ASSERT(is_noticed(double_row, true));
	CU_ASSERT(is_noticed(repeat_last_row, true));
	CU_ASSERT(is_noticed(swap_rows, true));
	CU_ASSERT(is_noticed(change_status, true));
	CU_ASSERT(is_noticed(be_late, true));
}

/* ---- UC, UD, SRQ ---- */

/* A completed receive of a loose QP: its row, its CQE and its request. */
struct receipt {
	struct op_row *row;
	struct tb_cqe *cqe;
	const struct ref_wr *w;
};

/* Number n among the receives of the first QP of this kind that took so many; they have bytes. */
static struct receipt find(struct tb_case *c, uint32_t type, bool is_shared, uint32_t n,
			   uint32_t of)
{
	for (uint32_t q = 0; q < c->run.trace->n_qps; q++) {
		const struct trace_qp *t = &c->run.trace->qps[q];
		struct receipt r[8];
		uint32_t k = 0, next = 0;

		if (!c->ref.qp[q].is_loose || t->type != type ||
		    (t->srq != TRACE_NONE) != is_shared)
			continue;
		for (uint32_t i = 0; i < c->watch.n_rows && k < of; i++) {
			struct op_row *row = &c->watch.rows[i];

			if (row->qp != q || !row->is_recv)
				continue;
			while (c->watch.cqes[next].qp != q || !c->watch.cqes[next].is_recv)
				next++;
			r[k] = (struct receipt){ row, &c->watch.cqes[next++], NULL };
			for (uint32_t m = 0; m < c->ref.n_wr; m++)
				if (c->ref.wr[m].r.host == row->host &&
				    c->ref.wr[m].r.id == row->id)
					r[k].w = &c->ref.wr[m];
			k += r[k].cqe->byte_cnt > 8 && row->opcode == OP_RECV;
		}
		if (k == of)
			return r[n];
	}
	CU_FAIL_FATAL("the trace has too few receives of that kind");
	return (struct receipt){ 0 };
}

static void flip_receive(struct tb_case *c, uint32_t type, bool is_shared, uint64_t off)
{
	const struct rec_sge *s = &find(c, type, is_shared, 0, 1).w->r.sge[0];

	flip_byte(c, s->mr, s->addr - c->run.trace->mrs[s->mr].va + off);
}

/* It never came: neither row nor completion, and its bytes are as before. */
static void lose(struct tb_case *c, uint32_t type, bool is_shared)
{
	struct receipt r = find(c, type, is_shared, 0, 1);
	const struct rec_sge *s = &r.w->r.sge[0];
	uint32_t i = (uint32_t)(r.row - c->watch.rows), k = (uint32_t)(r.cqe - c->watch.cqes);
	uint64_t off = s->addr - c->run.trace->mrs[s->mr].va;

	space_write(c->run.r.system->hosts[r.w->r.host].space, s->addr, c->ref.mr[s->mr].val + off,
		    r.w->len);
	memmove(r.row, r.row + 1, (--c->watch.n_rows - i) * sizeof(*r.row));
	memmove(r.cqe, r.cqe + 1, (--c->watch.n_cqes - k) * sizeof(*r.cqe));
}

/* The second receive got what the first did, or both are exchanged. */
static void mix(struct tb_case *c, uint32_t type, bool is_shared, bool is_swap)
{
	struct receipt a = find(c, type, is_shared, 0, 2), b = find(c, type, is_shared, 1, 2);
	const struct host *h = &c->run.r.system->hosts[a.w->r.host];
	struct tb_cqe of_a = *a.cqe, of_b = *b.cqe;
	uint8_t bytes[2][8192];

	c->gen.is_sure = false;
	CU_ASSERT_FATAL(a.w->len < sizeof(bytes[0]) && b.w->len < sizeof(bytes[1]));
	space_read(h->space, a.w->r.sge[0].addr, bytes[0], of_a.byte_cnt);
	space_read(h->space, b.w->r.sge[0].addr, bytes[1], of_b.byte_cnt);
	CU_ASSERT_FATAL(of_a.byte_cnt <= b.w->len && of_b.byte_cnt <= a.w->len);
	space_write(h->space, b.w->r.sge[0].addr, bytes[0], of_a.byte_cnt);
	*b.cqe = of_a;
	if (!is_swap)
		return;
	space_write(h->space, a.w->r.sge[0].addr, bytes[1], of_b.byte_cnt);
	*a.cqe = of_b;
}

/* A WRITE over UC lacks its first packet and has the second. */
static void cut_write(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		const struct ref_wr *w = &c->ref.wr[i];
		const struct trace_qp *q = &c->run.trace->qps[w->qp];
		const struct trace_mr *m;

		if (w->r.kind != REC_POST || q->type != QP_UC || w->r.opcode != WR_RDMA_WRITE ||
		    w->len <= q->mtu)
			continue;
		m = &c->run.trace->mrs[w->r.rmr];
		space_write(c->run.r.system->hosts[m->host].space, w->r.raddr,
			    c->ref.mr[w->r.rmr].val + (w->r.raddr - m->va), q->mtu);
		c->gen.is_sure = false;
		return;
	}
	CU_FAIL_FATAL("the trace has no such WRITE");
}

static void uc_flip(struct tb_case *c)
{
	flip_receive(c, QP_UC, false, 3);
}
static void uc_lose(struct tb_case *c)
{
	lose(c, QP_UC, false);
}
static void uc_swap(struct tb_case *c)
{
	mix(c, QP_UC, false, true);
}
static void uc_double(struct tb_case *c)
{
	mix(c, QP_UC, false, false);
}
static void ud_flip(struct tb_case *c)
{
	flip_receive(c, QP_UD, false, 43);
}
static void ud_header(struct tb_case *c)
{
	flip_receive(c, QP_UD, false, 39);
}
static void ud_lose(struct tb_case *c)
{
	lose(c, QP_UD, false);
}
static void ud_swap(struct tb_case *c)
{
	mix(c, QP_UD, false, true);
}
static void ud_double(struct tb_case *c)
{
	mix(c, QP_UD, false, false);
}
static void ud_source(struct tb_case *c)
{
	find(c, QP_UD, false, 0, 1).cqe->src_qp = 0;
}
static void srq_flip(struct tb_case *c)
{
	flip_receive(c, QP_RC, true, 3);
}
static void srq_lose(struct tb_case *c)
{
	lose(c, QP_RC, true);
}
static void srq_swap(struct tb_case *c)
{
	mix(c, QP_RC, true, true);
}

/* A receive that its message fits into ends as if it did not. */
static void ud_short(struct tb_case *c)
{
	struct receipt r = find(c, QP_UD, false, 0, 1);

	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		if (&c->ref.wr[i] == r.w) {
			c->ref.wr[i].is_error = true;
			c->ref.wr[i].status = WC_LOC_LEN_ERR;
		}
	r.row->status = r.cqe->status = WC_LOC_LEN_ERR;
	r.cqe->is_error = true;
	c->gen.is_sure = false;
}

/* Two receives were taken in the wrong order. */
static void srq_order(struct tb_case *c)
{
	struct receipt a = find(c, QP_RC, true, 0, 2), b = find(c, QP_RC, true, 1, 2);
	struct op_row row = *a.row;
	struct tb_cqe cqe = *a.cqe;

	*a.row = *b.row;
	*b.row = row;
	*a.cqe = *b.cqe;
	*b.cqe = cqe;
	c->gen.is_sure = false;
}

static void faults_of_uc_ud_and_srq_are_noticed(void)
{
	static void (*const faults[])(struct tb_case *) = {
		uc_flip, uc_lose,   uc_swap,   uc_double, cut_write, ud_flip,  ud_header, ud_lose,
		ud_swap, ud_double, ud_source, ud_short,  srq_flip,  srq_lose, srq_swap,  srq_order,
	};

	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		CU_ASSERT(is_noticed(faults[i], false));
}

CU_TestInfo test_property_faults_tests[] = { { "faults_are_noticed", faults_are_noticed },
					     { "faults_of_uc_ud_and_srq_are_noticed",
					       faults_of_uc_ud_and_srq_are_noticed },
					     CU_TEST_INFO_NULL };
