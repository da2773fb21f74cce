/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_peer.c - the responder against a model that executes the same messages one by one,
 * while packets come twice, too early and again: memory, receives, atomics and the last
 * acknowledgement must be the model's
 */
#include <string.h>

#include "testbench/tb_responder.h"

#define MESSAGES 150u /* per QP */
#define PKTS (MESSAGES * 8)
#define HALF (TBS_MEM / TBS_QPS) /* each QP has its own half of memory: */
#define WRITES 8192u             /* WRITEs and READs here, */
#define ATOMICS 64u              /* then words for ATOMICs, */
#define RECVS (WRITES + ATOMICS) /* then receives in turn */
#define RECV_LEN 1100u
#define RECV_SLOTS 21u
#define RUN_CYCLES 400000u

/* One QP's packets in order, and what must come of them. */
struct script {
	struct tbs_pkt pkt[PKTS];
	uint64_t original[PKTS]; /* ATOMIC: result */
	uint32_t n, psn;
	struct cqe_req cqe[MESSAGES];
	uint32_t n_cqe, n_done, n_messages;
};

struct path {
	struct tb_responder r;
	struct script q[TBS_QPS];
	uint8_t mem[TBS_MEM];
	struct rng rng;
	uint64_t chaos_ppb;
	bool is_paced; /* DMA answers in order: disorder depends on step order */
	bool every_cycle;
	uint32_t fault_at; /* packet of QP 0 whose payload is falsified on the way; 0 = none */
	uint64_t digest;
	uint64_t n_placed, n_held;
};

static struct path x;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rng_below(&x.rng, n);
}

static struct tbs_pkt *add(struct script *q, uint32_t qpi, uint8_t operation, uint32_t len,
			   uint32_t n_psn)
{
	struct tbs_pkt *p = &q->pkt[q->n++];

	*p = (struct tbs_pkt){ .qpi = qpi,
			       .psn = q->psn,
			       .operation = operation,
			       .len = len,
			       .rkey = TBS_RKEY,
			       .seed = (uint8_t)below(256),
			       .ack_req = below(3) == 0 };
	q->psn = psn_add(q->psn, n_psn);
	return p;
}

/*
 * SEND or WRITE of 'len' bytes to memory offset 'to'. Rows of the table: First, Middle, Last, Only.
 */
static void add_message(struct script *q, uint32_t qpi, const uint8_t *ops, uint32_t len,
			uint32_t to)
{
	uint32_t n = psn_count(len, TBS_MTU);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t op = n == 1 ? ops[3] : i == 0 ? ops[0] : i + 1 == n ? ops[2] : ops[1];
		uint32_t part = i + 1 == n ? len - i * TBS_MTU : TBS_MTU;
		struct tbs_pkt *p = add(q, qpi, op, part, 1);

		p->va = TBS_BASE + to;
		p->dma_len = len;
		p->imm = q->n_messages;
		for (uint32_t k = 0; k < part; k++)
			x.mem[to + i * TBS_MTU + k] = (uint8_t)(p->seed + k);
	}
	q->n_messages++;
}

static void expect_recv(struct script *q, uint8_t opcode, uint32_t len, uint32_t imm)
{
	q->cqe[q->n_cqe] = (struct cqe_req){
		.wqe_counter = (uint16_t)q->n_cqe, .opcode = opcode, .byte_cnt = len, .imm = imm
	};
	q->n_cqe++;
}

static void add_send(struct script *q, uint32_t qpi)
{
	static const uint8_t ops[2][4] = {
		{ IB_SEND_FIRST, IB_SEND_MIDDLE, IB_SEND_LAST, IB_SEND_ONLY },
		{ IB_SEND_FIRST, IB_SEND_MIDDLE, IB_SEND_LAST_IMM, IB_SEND_ONLY_IMM }
	};
	uint32_t imm = below(2), len = below(RECV_LEN),
		 to = qpi * HALF + RECVS + q->n_cqe % RECV_SLOTS * RECV_LEN;

	tbs_recv(&x.r, qpi, to, RECV_LEN, 1 + q->n_cqe % 3);
	expect_recv(q, imm ? CQE_RESP_SEND_IMM : CQE_RESP_SEND, len, imm ? q->n_messages : 0);
	add_message(q, qpi, ops[imm], len, to);
}

static void add_write(struct script *q, uint32_t qpi)
{
	static const uint8_t ops[2][4] = {
		{ IB_WRITE_FIRST, IB_WRITE_MIDDLE, IB_WRITE_LAST, IB_WRITE_ONLY },
		{ IB_WRITE_FIRST, IB_WRITE_MIDDLE, IB_WRITE_LAST_IMM, IB_WRITE_ONLY_IMM }
	};
	uint32_t imm = below(3) == 0, len = below(1300), to = qpi * HALF + below(WRITES - 1300);

	if (imm) {
		tbs_recv(&x.r, qpi, 0, 0, 0);
		expect_recv(q, CQE_RESP_WR_IMM, len, q->n_messages);
	}
	add_message(q, qpi, ops[imm], len, to);
}

static void add_read(struct script *q, uint32_t qpi)
{
	uint32_t len = below(1300);
	struct tbs_pkt *p = add(q, qpi, IB_READ_REQUEST, 0, psn_count(len, TBS_MTU));

	p->va = TBS_BASE + qpi * HALF + below(WRITES - 1300);
	p->dma_len = len;
	q->n_messages++;
}

static void add_atomic(struct script *q, uint32_t qpi)
{
	uint32_t off = qpi * HALF + WRITES + 8 * below(ATOMICS / 8);
	struct tbs_pkt *p = add(q, qpi, below(2) ? IB_FETCH_ADD : IB_CMP_SWAP, 0, 1);
	uint64_t v = 0;

	p->va = TBS_BASE + off;
	p->dma_len = 8;
	p->swap_add = rng_next(&x.rng);
	for (unsigned i = 8; i-- > 0;)
		v = v << 8 | x.mem[off + i];
	p->compare = below(2) ? v : 1;
	q->original[q->n - 1] = v;
	v = p->operation == IB_FETCH_ADD ? v + p->swap_add : v == p->compare ? p->swap_add : v;
	for (unsigned i = 0; i < 8; i++)
		x.mem[off + i] = (uint8_t)(v >> 8 * i);
	q->n_messages++;
}

static void write_script(struct script *q, uint32_t qpi)
{
	static void (*const kinds[])(struct script *, uint32_t) = { add_send, add_write, add_read,
								    add_atomic };

	q->psn = x.r.qp[qpi].rq_psn;
	while (q->n_messages < MESSAGES - 1)
		kinds[below(ARRAY_LEN(kinds))](q, qpi);
	add_message(q, qpi, (const uint8_t[]){ 0, 0, 0, IB_WRITE_ONLY }, 0, 0);
	q->pkt[q->n - 1].ack_req = true;
}

/* Send packet i of the script as it is; falsified when it is the one. */
static void send_one(const struct script *q, uint32_t i)
{
	struct tbs_pkt p = q->pkt[i];

	p.seed = (uint8_t)(p.seed + (x.fault_at && p.qpi == 0 && i >= x.fault_at));
	tbs_send(&x.r, &p);
}

/* All packets get through in the end; on the way some are early and some come again. */
static void send_all(void)
{
	uint32_t at[TBS_QPS] = { 0 };

	for (;;) {
		uint32_t i = below(TBS_QPS);
		struct script *q = &x.q[i];

		if (at[0] == x.q[0].n && at[1] == x.q[1].n)
			return;
		if (at[i] == q->n)
			continue;
		if (rng_chance(&x.rng, x.chaos_ppb))
			send_one(q, (uint32_t)min_u64(at[i] + 1 + below(4), q->n - 1));
		if (rng_chance(&x.rng, x.chaos_ppb) && at[i])
			send_one(q, at[i] - 1 - below((uint32_t)min_u64(at[i], 20)));
		send_one(q, at[i]++);
	}
}

static uint32_t wrong_cqes(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x.r.cqe->n_received; i++) {
		const struct cqe_req *c = tbs_cqe(&x.r, i);
		struct script *q = &x.q[c->qpi];
		const struct cqe_req *want = &q->cqe[q->n_done++];

		n += q->n_done > q->n_cqe || c->wqe_counter != want->wqe_counter ||
		     c->opcode != want->opcode || c->byte_cnt != want->byte_cnt ||
		     c->imm != want->imm;
	}
	return n;
}

/*
 * Every response speaks for a packet of the script: READ data from its range, the ATOMIC's result.
 */
static uint32_t wrong_jobs(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x.r.job->n_received; i++) {
		const struct tx_job *j = tbs_job(&x.r, i);
		const struct script *q = &x.q[j->qpi];
		uint32_t k = 0;

		while (k + 1 < q->n && psn_diff(q->pkt[k + 1].psn, j->psn) <= 0)
			k++;
		if (j->kind == JOB_ATOMIC_ACK)
			n += j->psn != q->pkt[k].psn || j->swap_add != q->original[k];
		else
			n += q->pkt[k].operation != IB_READ_REQUEST ||
			     j->raddr != q->pkt[k].va +
						 (uint64_t)TBS_MTU *
							 (uint32_t)psn_diff(j->psn, q->pkt[k].psn);
	}
	return n;
}

static uint64_t digest_of(uint64_t h, const struct tb_port *p)
{
	for (uint32_t i = 0; i < p->n_received; i++)
		h = (h ^ p->cycle[i]) * 0x100000001b3ull;
	return h;
}

/* Differences from the model. */
static uint32_t run(uint64_t chaos_ppb, uint32_t fault_at, const char *const *sets)
{
	bool is_paced = x.is_paced, every_cycle = x.every_cycle;
	uint32_t wrong = 0;

	memset(&x, 0, sizeof(x));
	tbs_init(&x.r);
	x.r.qp[0].rq_psn = 0xffff00;
	rng_seed(&x.rng, "script", chaos_ppb);
	x.chaos_ppb = chaos_ppb;
	x.fault_at = fault_at;
	tbs_start(&x.r, sets);
	x.r.t.sim.every_cycle = every_cycle;
	if (is_paced)
		x.r.dma.max_delay = 0;
	for (uint32_t i = 0; i < TBS_QPS; i++)
		write_script(&x.q[i], i);
	send_all();
	tb_run_for(&x.r.t, RUN_CYCLES);
	x.r.t.sim.every_cycle = false;
	x.digest = digest_of(digest_of(digest_of(0xcbf29ce484222325, x.r.job), x.r.cqe), x.r.ack);
	wrong += memcmp(x.mem, x.r.mem, TBS_MEM) != 0;
	wrong += wrong_cqes() + wrong_jobs();
	for (uint32_t i = 0; i < TBS_QPS; i++) {
		const struct tbs_ack *a = NULL;

		wrong += x.q[i].n_done != x.q[i].n_cqe;
		for (uint32_t k = 0; k < x.r.n_acks; k++)
			if (x.r.acks[k].qpi == i)
				a = &x.r.acks[k];
		wrong += !a || a->psn != psn_add(x.q[i].psn, PSN_MASK) ||
			 a->msn != x.q[i].n_messages;
	}
	x.n_placed = tb_stat(&x.r.t, "placed");
	x.n_held = tb_stat(&x.r.t, "held");
	tbs_end(&x.r);
	return wrong;
}

static const char *const rxe[] = { "responder.enforce_rd_atomic=off", NULL };

static const char *const sr[] = { "responder.enforce_rd_atomic=off", "responder.recovery=sr",
				  NULL };

static void responder_selective_repeat_executes_script_like_model(void)
{
	char in[64], out[64];

	CU_ASSERT_EQUAL(run(0, 0, sr), 0);
	CU_ASSERT_EQUAL(run(100000000, 0, sr), 0);
	CU_ASSERT(x.n_placed > 0 && x.n_held > 0);
	CU_ASSERT_EQUAL(run(400000000, 0, sr), 0);
	for (unsigned i = 0; i < 16; i++) {
		tb_stall_sets(&responder_class, i / 4, i % 4, in, out);
		CU_ASSERT_EQUAL(
			run(100000000, 0, (const char *const[]){ sr[0], sr[1], in, out, NULL }), 0);
	}
	CU_ASSERT_EQUAL(run(400000000, 0,
			    (const char *const[]){ sr[0], sr[1], "responder.contexts=1",
						   "responder.writes=2", "responder.burst=1",
						   "responder.ack_buffers=1", "responder.sr_hold=1",
						   "responder.sr_window=8",
						   "responder.nak_delay=100ns", NULL }),
			0);
	CU_ASSERT(run(0, x.q[0].n / 2, sr) != 0);
}

static void responder_executes_script_like_model(void)
{
	CU_ASSERT_EQUAL(run(0, 0, rxe), 0);
	CU_ASSERT_EQUAL(run(100000000, 0, rxe), 0);
	CU_ASSERT_EQUAL(run(400000000, 0, rxe), 0);
}

static void responder_stalls_change_no_result(void)
{
	char in[64], out[64];

	for (unsigned i = 0; i < 16; i++) {
		tb_stall_sets(&responder_class, i / 4, i % 4, in, out);
		CU_ASSERT_EQUAL(run(100000000, 0, (const char *const[]){ rxe[0], in, out, NULL }),
				0);
	}
}

static void responder_small_limits_do_not_wedge(void)
{
	CU_ASSERT_EQUAL(run(100000000, 0,
			    (const char *const[]){
				    rxe[0], "responder.contexts=1", "responder.writes=2",
				    "responder.burst=1", "responder.ack_buffers=1",
				    "responder.ack_delay=1us", "responder.ack_count=3", NULL }),
			0);
}

static void responder_sleeping_changes_nothing(void)
{
	uint64_t digest;

	x.is_paced = true;
	run(100000000, 0, rxe);
	digest = x.digest;
	x.is_paced = x.every_cycle = true;
	run(100000000, 0, rxe);
	CU_ASSERT_EQUAL(x.digest, digest);
	x.every_cycle = false;
	run(100000000, 0, sr);
	digest = x.digest;
	x.every_cycle = true;
	run(100000000, 0, sr);
	CU_ASSERT_EQUAL(x.digest, digest);
	x.is_paced = x.every_cycle = false;
}

static void responder_model_catches_seeded_fault(void)
{
	CU_ASSERT(run(0, x.q[0].n / 2, rxe) != 0);
}

/* Packets of any kind around the expected PSN: nothing crashes, nothing is left over, the other QP
 * still works. */
static void responder_survives_garbage(void)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		const struct responder *r;

		memset(&x, 0, sizeof(x));
		tbs_init(&x.r);
		rng_seed(&x.rng, "garbage", seed);
		tbs_start(&x.r, seed % 2 ? NULL : &sr[1]);
		r = (const struct responder *)(void *)x.r.t.dut;
		x.r.dma.fail_at = seed % 3 ? 0 : TBS_BASE + below(600);
		for (uint32_t k = 0; k < 12; k++)
			tbs_recv(&x.r, 0, below(400), below(700), 1 + below(3));
		for (uint32_t k = 0; k < 120; k++) {
			uint32_t off = seed % 2 ? below(8) : 0;

			tbs_send(&x.r,
				 &(struct tbs_pkt){ .operation = (uint8_t)below(0x18),
						    .psn = r->qp[0].epsn + off - (off > 6 ? 8 : 0),
						    .len = below(2) ? TBS_MTU : below(TBS_MTU + 1),
						    .ack_req = below(2),
						    .va = TBS_BASE + 8 * below(8192),
						    .rkey = TBS_RKEY,
						    .dma_len = below(2) ? TBS_MTU : below(2000) });
			tb_run_for(&x.r.t, 1 + below(40));
		}
		tbs_send(&x.r, &(struct tbs_pkt){ .qpi = 1,
						  .operation = IB_WRITE_ONLY,
						  .psn = TBS_PSN,
						  .len = 4,
						  .ack_req = true,
						  .va = TBS_BASE + 60000,
						  .rkey = TBS_RKEY,
						  .dma_len = 4 });
		tb_run(&x.r.t);
		CU_ASSERT_EQUAL(r->n_ctx, 0);
		CU_ASSERT_EQUAL(r->qp[1].msn, 1);
		/* what waits behind a gap goes with the QP */
		tb_send(x.r.peer_error, &(struct qp_error){ .qpi = 0 });
		tb_run(&x.r.t);
		CU_ASSERT_EQUAL(r->n_held, 0);
		tbs_end(&x.r);
	}
}

CU_TestInfo test_responder_peer_tests[] = {
	{ "executes a script like the model", responder_executes_script_like_model },
	{ "selective repeat executes a script like the model",
	  responder_selective_repeat_executes_script_like_model },
	{ "stalls change no result", responder_stalls_change_no_result },
	{ "small limits do not wedge", responder_small_limits_do_not_wedge },
	{ "sleeping changes nothing", responder_sleeping_changes_nothing },
	{ "model catches a seeded fault", responder_model_catches_seeded_fault },
	{ "garbage never wedges", responder_survives_garbage },
	CU_TEST_INFO_NULL
};
