/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qp_sched.c - the scheduler of send queues between a doorbell ringer and a fetcher that
 * invents WQEs
 */
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"
#include "testbench/tb.h"

extern const struct block_class qp_sched_class;

#define MAX_QP 64u
#define RING_BB 64u

/* The fetcher's view of one QP, and what it must see next. */
struct fetch_qp {
	uint16_t posted, fetched;
	uint32_t to_post; /* basic blocks still to be posted */
	uint32_t wqe_bb;  /* basic blocks a WQE; 0 = 1 to 4 at random */
	uint32_t wqe_bytes;
	uint32_t held; /* WQEs not given back */
	uint64_t bytes, bb;
	bool is_fetching;
};

struct bench {
	struct nic nic;
	struct qp_attr qp[MAX_QP];
	struct tb t;
	struct tb_port *sq_db, *fetched, *credit, *fetch, *closed;
	struct fetch_qp f[MAX_QP];
	uint32_t wqe_per_qp, max_wqe; /* max_wqe: WQEs brought by one fetch at most */
	uint32_t delay;
	unsigned errors;
	struct rng rng;
	bool keeps;    /* no WQE is given back */
	bool is_blind; /* seeded fault: the fetcher forgets to take what it was told */
};

/* Post up to a ring's worth and ring the doorbell. */
static void post(struct bench *e, uint32_t qpi)
{
	struct fetch_qp *f = &e->f[qpi];
	uint32_t room = RING_BB - (uint16_t)(f->posted - f->fetched);
	uint32_t n = f->to_post < room ? f->to_post : room;

	if (n == 0)
		return;
	if (!f->wqe_bb)
		n = 1 + (uint32_t)rng_below(&e->rng, n);
	f->posted = (uint16_t)(f->posted + n);
	f->to_post -= n;
	tb_send(e->sq_db, &(struct sq_db){ .qpi = qpi, .producer = f->posted });
}

/* Cycles that the requester takes longer than it must. */
static uint64_t later(struct bench *e)
{
	return e->delay ? e->delay + rng_below(&e->rng, 3ull * e->delay) : 0;
}

/* Take some WQEs of the order, in pieces of 1 to 4 basic blocks. */
static void on_fetch(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct sq_fetch *m = msg;
	struct fetch_qp *f = &e->f[m->qpi];
	struct sq_fetched r = { .qpi = m->qpi };

	(void)t;
	e->errors += f->is_fetching || m->index != f->fetched || m->n_bb == 0 || m->max_wqe == 0;
	e->errors += m->n_bb > (uint16_t)(f->posted - f->fetched);
	e->errors += f->held + m->max_wqe > e->wqe_per_qp;
	while (r.n_bb < m->n_bb && r.n_wqe < m->max_wqe && r.n_wqe < e->max_wqe) {
		uint32_t n = f->wqe_bb ? f->wqe_bb : 1 + (uint32_t)rng_below(&e->rng, 4);

		n = n < (uint32_t)(m->n_bb - r.n_bb) ? n : (uint32_t)(m->n_bb - r.n_bb);
		r.n_bb = (uint16_t)(r.n_bb + n);
		r.bytes += f->wqe_bytes;
		r.n_wqe++;
	}
	if (!e->is_blind)
		f->fetched = (uint16_t)(f->fetched + r.n_bb);
	f->bb += r.n_bb;
	f->bytes += r.bytes;
	f->held += r.n_wqe;
	tb_send_at(e->fetched, p->b.cycle + 1 + (e->delay ? rng_below(&e->rng, e->delay) : 0), &r);
	post(e, m->qpi);
	/* The requester gives the WQEs back, some time later, in two parts. */
	for (unsigned part = 0; part < 2; part++) {
		uint16_t n = (uint16_t)(part ? r.n_wqe - r.n_wqe / 2 : r.n_wqe / 2);

		if (n && !e->keeps)
			tb_send_at(e->credit, p->b.cycle + 4 + later(e),
				   &(struct sq_credit){ .qpi = m->qpi, .n_wqe = n });
	}
}

/*
 * A tap on the credit channel would see it sooner: what is held falls when the scheduler takes the
 * credit.
 */
static void on_credit(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	struct bench *e = *(struct bench **)(void *)(tap + 1);
	const struct sq_credit *m = msg;

	(void)c;
	e->f[m->qpi].held -= m->n_wqe;
}

struct credit_tap {
	struct chan_tap tap;
	struct bench *e;
};

/* All but the start: attributes of QPs can still be set. */
static void bench_init(struct bench *e, struct credit_tap *tap, const char *const *sets,
		       uint32_t n_qp)
{
	memset(e, 0, sizeof(*e));
	e->nic = (struct nic){ .qp = e->qp, .n_qp = n_qp };
	for (uint32_t i = 0; i < n_qp; i++)
		e->qp[i].sq_bb = RING_BB;
	e->max_wqe = 8;
	e->wqe_per_qp = 128;
	rng_seed(&e->rng, "qp_sched", n_qp);
	tb_init(&e->t, &qp_sched_class, &e->nic, sets);
	e->sq_db = tb_source(&e->t, "sq_db");
	e->fetched = tb_source(&e->t, "fetched");
	e->credit = tb_source(&e->t, "credit");
	e->fetch = tb_sink_react(&e->t, "fetch", on_fetch, e);
	e->closed = tb_sink(&e->t, "closed");
	*tap = (struct credit_tap){ .tap = { .popped = on_credit }, .e = e };
	chan_attach(e->credit->chan, &tap->tap);
}

static void bench_start(struct bench *e, struct credit_tap *tap, const char *const *sets,
			uint32_t n_qp)
{
	bench_init(e, tap, sets, n_qp);
	tb_start(&e->t);
}

static void start_posting(struct bench *e, uint32_t bb)
{
	for (uint32_t i = 0; i < e->nic.n_qp; i++) {
		e->f[i].to_post = bb;
		post(e, i);
	}
}

/* QPs of which not every posted block was fetched exactly once, and rules broken on the way. */
static unsigned differences(const struct bench *e, uint32_t bb)
{
	unsigned n = e->errors;

	for (uint32_t i = 0; i < e->nic.n_qp; i++)
		n += e->f[i].bb != bb || e->f[i].to_post != 0 || e->f[i].fetched != e->f[i].posted;
	return n;
}

/* More basic blocks than the 16-bit counters hold. */
static void qp_sched_counters_wrap_every_block_is_fetched_once(void)
{
	struct credit_tap tap;
	struct bench e;

	bench_start(&e, &tap, NULL, 3);
	start_posting(&e, 70000);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, 70000), 0);
	tb_end(&e.t);
}

static void qp_sched_any_stalls_every_block_is_fetched_once(void)
{
	char in[64], out[64];

	for (unsigned k = 0; k < 48; k++) {
		const char *sets[] = { in, out,
				       k < 16 ? "qp_sched.wqe_per_qp=1" : "qp_sched.wqe_per_qp=12",
				       NULL };
		struct credit_tap tap;
		struct bench e;

		tb_stall_sets(&qp_sched_class, k / 4 % 4, k % 4, in, out);
		bench_start(&e, &tap, sets, 8);
		e.wqe_per_qp = k < 16 ? 1 : 12;
		e.delay = k < 32 ? 30 : 0;
		for (uint32_t i = 0; i < 8; i++)
			e.f[i].wqe_bytes = 100 * i * i;
		start_posting(&e, 600);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(&e, 600), 0);
		for (uint32_t i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(e.f[i].held, 0);
		tb_end(&e.t);
	}
}

/*
 * Sixteen QPs with a ring full each, the second half of a higher priority: fetches of the first
 * half before the last of the second.
 */
static unsigned low_before_high(const char *strict)
{
	unsigned low = 0, early = 0;
	struct credit_tap tap;
	struct bench e;

	bench_init(&e, &tap, (const char *[]){ strict, NULL }, 16);
	for (uint32_t i = 0; i < 16; i++)
		e.qp[i].prio = i < 8 ? 1 : 6;
	tb_start(&e.t);
	for (uint32_t i = 16; i-- > 0;) {
		e.f[i].wqe_bb = 1;
		e.f[i].to_post = RING_BB;
		post(&e, i);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, RING_BB), 0);
	for (uint32_t i = 0; i < e.fetch->n_received; i++) {
		const struct sq_fetch *m = tb_got(e.fetch, i);

		low += m->qpi < 8;
		if (m->qpi >= 8)
			early = low;
	}
	CU_ASSERT_EQUAL(low, 8 * RING_BB / 8);
	tb_end(&e.t);
	return early;
}

static void qp_sched_strict_priority_goes_first(void)
{
	CU_ASSERT_EQUAL(low_before_high("qp_sched.strict=on"), 0);
	CU_ASSERT(low_before_high("qp_sched.strict=off") > 8 * 4);
}

/* Fetches until QP 0 has all its WQEs, with a cap on the 63 other QPs, or none. */
static unsigned fetches_beside_many(uint64_t rate_bps)
{
	struct credit_tap tap;
	struct bench e;
	unsigned last = 0;

	bench_init(&e, &tap, NULL, MAX_QP);
	for (uint32_t i = 0; i < MAX_QP; i++) {
		e.qp[i].rate_bps = i ? rate_bps : 0;
		e.f[i].wqe_bb = 1;
	}
	tb_start(&e.t);
	start_posting(&e, RING_BB);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, RING_BB), 0);
	for (uint32_t i = 0; i < e.fetch->n_received; i++)
		if (((const struct sq_fetch *)tb_got(e.fetch, i))->qpi == 0)
			last = i;
	tb_end(&e.t);
	return last;
}

static void qp_sched_capped_qps_take_alternate_turns(void)
{
	CU_ASSERT(fetches_beside_many(1000000000) < 5 * RING_BB / 8);
	CU_ASSERT(fetches_beside_many(0) > 200); /* the oracle itself */
}

/* WQEs held of 63 QPs with a cap that give none back, beside one without. */
static uint32_t held_of_capped(const char *held_up)
{
	struct credit_tap tap;
	struct bench e;
	uint32_t held = 0;

	bench_init(&e, &tap, (const char *[]){ held_up, NULL }, MAX_QP);
	for (uint32_t i = 0; i < MAX_QP; i++) {
		e.qp[i].rate_bps = i ? 1000000000 : 0;
		e.f[i].wqe_bb = 1;
	}
	e.keeps = true;
	tb_start(&e.t);
	start_posting(&e, RING_BB);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.errors, 0);
	CU_ASSERT_EQUAL(e.f[0].bb, RING_BB);
	for (uint32_t i = 1; i < MAX_QP; i++)
		held += e.f[i].held;
	tb_end(&e.t);
	return held;
}

static void qp_sched_capped_qps_hold_so_many_wqes_in_all(void)
{
	CU_ASSERT_EQUAL(held_of_capped("qp_sched.held_up=16"), 16);
	CU_ASSERT_EQUAL(held_of_capped("qp_sched.held_up=101"), 101);
	CU_ASSERT_EQUAL(held_of_capped("qp_sched.held_up=200000"), (MAX_QP - 1) * RING_BB);
}

/* The oracle itself: a fetcher that loses count must be noticed. */
static void qp_sched_lost_count_is_caught(void)
{
	struct credit_tap tap;
	struct bench e;

	bench_start(&e, &tap, NULL, 2);
	start_posting(&e, 40);
	tb_run_for(&e.t, 8);
	e.is_blind = true;
	tb_run(&e.t);
	CU_ASSERT(differences(&e, 40) > 0);
	tb_end(&e.t);
}

/* Fetches of QP 0 before and after the requester says that it has enough, and then no more. */
static void qp_sched_fed_qp_is_not_fetched(void)
{
	struct credit_tap tap;
	struct bench e;
	uint32_t n;

	bench_start(&e, &tap, NULL, 2);
	e.f[0].wqe_bb = e.f[1].wqe_bb = 1;
	tb_send(e.credit, &(struct sq_credit){ .qpi = 0, .is_fed = 1 });
	tb_run(&e.t);
	start_posting(&e, 40);
	tb_run(&e.t);
	n = e.fetch->n_received;
	CU_ASSERT_EQUAL(e.f[0].bb, 0);
	CU_ASSERT_EQUAL(e.f[1].bb, 40);
	tb_send(e.credit, &(struct sq_credit){ .qpi = 0 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, 40), 0);
	CU_ASSERT(e.fetch->n_received > n);
	tb_end(&e.t);
}

static void qp_sched_stale_doorbell_is_ignored(void)
{
	struct credit_tap tap;
	struct bench e;

	bench_start(&e, &tap, NULL, 1);
	start_posting(&e, 10);
	tb_run(&e.t);
	tb_send(e.sq_db, &(struct sq_db){ .qpi = 0, .producer = 4 });
	tb_send(e.sq_db, &(struct sq_db){ .qpi = 0, .producer = e.f[0].posted });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "stale_doorbells"), 2);
	CU_ASSERT_EQUAL(e.errors, 0);
	tb_end(&e.t);
}

/* Sleeping and the order of steps change nothing: same orders at the same cycles. */
static void qp_sched_step_order_changes_nothing(void)
{
	const char *sets[] = { "qp_sched.stall_out=random", "qp_sched.wqe_per_qp=6", NULL };
	uint64_t hash[4];

	for (unsigned k = 0; k < 4; k++) {
		struct credit_tap tap;
		struct bench e;

		bench_start(&e, &tap, sets, 8);
		e.wqe_per_qp = 6;
		e.t.sim.every_cycle = k == 1;
		e.t.sim.order = k == 2 ? ORDER_REVERSED : k == 3 ? ORDER_SHUFFLED : ORDER_FORWARD;
		for (uint32_t i = 0; i < 8; i++) {
			e.f[i].wqe_bb = 1;
			e.f[i].wqe_bytes = 1000 * i;
		}
		start_posting(&e, 300);
		tb_run_for(&e.t, 40000);
		CU_ASSERT_EQUAL(differences(&e, 300), 0);
		hash[k] = e.fetch->chan->stall_ps;
		for (uint32_t i = 0; i < e.fetch->n_received; i++) {
			const struct sq_fetch *m = tb_got(e.fetch, i);

			hash[k] ^= e.fetch->cycle[i] ^ (uint64_t)m->qpi << 40 ^ m->index;
			hash[k] *= 0x100000001b3ull;
		}
		CU_ASSERT_EQUAL(hash[k], hash[0]);
		tb_end(&e.t);
	}
}

CU_TestInfo test_qp_sched_tests[] = {
	{ "counters wrap: every block is fetched once",
	  qp_sched_counters_wrap_every_block_is_fetched_once },
	{ "any stalls: every block is fetched once",
	  qp_sched_any_stalls_every_block_is_fetched_once },
	{ "strict priority goes first", qp_sched_strict_priority_goes_first },
	{ "capped QPs take alternate turns", qp_sched_capped_qps_take_alternate_turns },
	{ "capped QPs hold so many WQEs in all", qp_sched_capped_qps_hold_so_many_wqes_in_all },
	{ "lost count is caught", qp_sched_lost_count_is_caught },
	{ "fed QP is not fetched", qp_sched_fed_qp_is_not_fetched },
	{ "stale doorbell is ignored", qp_sched_stale_doorbell_is_ignored },
	{ "step order and sleeping change nothing", qp_sched_step_order_changes_nothing },
	CU_TEST_INFO_NULL
};
