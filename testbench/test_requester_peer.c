/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requester_peer.c - the requester against a peer as simple as the rules, over a path that
 * loses, repeats and swaps packets: every message arrives whole, in order and once, and every
 * completion comes, in order
 */
#include <string.h>

#include "testbench/tb_requester.h"

#define POSTS 120u /* per QP */
#define SLOT 2048u /* memory of a WQE */
#define RUN_CYCLES 3000000u
#define DELAY 60u /* cycles to the peer and back */

/* A packet that a peer with selective repeat got too early. */
struct early {
	struct tx_job job;
	uint32_t i, n;
	bool is_used;
};

/* The receive side of one QP. */
struct peer_qp {
	struct early early[SACK_WINDOW]; /* by PSN */
	uint32_t epsn, msn, off;         /* off: bytes of the message in progress */
	bool is_nak_sent;
	uint32_t n_done;           /* CQEs seen */
	uint32_t first_psn[POSTS]; /* of each message */
	uint32_t bytes[POSTS];
	uint8_t opcode[POSTS];
};

struct path {
	struct tb_requester r;
	struct peer_qp q[TBR_QPS];
	struct rng rng;
	uint64_t loss_ppb, rnr_ppb;
	uint32_t fault_at; /* job whose offset is falsified; 0 = none */
	uint32_t n_jobs;
	unsigned wrong;
	uint64_t n_resent;
	uint64_t digest; /* of the cycles and contents of all jobs and completions */
	bool is_sr;
	bool is_paced; /* DMA answers in order: disorder depends on step order */
	bool every_cycle;
};

static struct path x;

static bool is_lost(void)
{
	return rng_chance(&x.rng, x.loss_ppb);
}

/* The packet queued last to the requester changes places with the one before, now and then. */
static void maybe_swap(uint64_t cyc)
{
	struct tb_port *p = x.r.rx;
	struct rx_pkt *q = (struct rx_pkt *)(void *)p->queue, m;

	/* not those that the source may be sending at this very edge */
	if (p->n_queued < 2 || p->not_before[p->n_queued - 2] < cyc + DELAY / 2 ||
	    !rng_chance(&x.rng, x.loss_ppb))
		return;
	m = q[p->n_queued - 1];
	q[p->n_queued - 1] = q[p->n_queued - 2];
	q[p->n_queued - 2] = m;
}

static void reply(uint64_t cyc, uint32_t qpi, uint32_t psn, uint8_t syndrome)
{
	unsigned copies = is_lost() ? 0 : 1 + is_lost();

	while (copies--)
		tbr_ack(&x.r, cyc + DELAY, qpi, psn, syndrome, x.q[qpi].msn);
	maybe_swap(cyc);
}

static void answer_read(uint64_t cyc, const struct tx_job *j)
{
	uint32_t n = psn_count(j->dma_len, TBR_MTU);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t operation = n == 1       ? IB_READ_RSP_ONLY
				    : i == 0     ? IB_READ_RSP_FIRST
				    : i + 1 == n ? IB_READ_RSP_LAST
						 : IB_READ_RSP_MIDDLE;
		uint32_t len = i + 1 == n ? j->dma_len - i * TBR_MTU : TBR_MTU;

		if (!is_lost())
			tbr_read_rsp(&x.r, cyc + DELAY, j->qpi, operation, psn_add(j->psn, i), len,
				     AETH_NO_CREDITS);
		maybe_swap(cyc);
	}
}

static bool is_answered(const struct tx_job *j)
{
	return j->kind == JOB_READ_REQ || j->kind == JOB_CMP_SWAP || j->kind == JOB_FETCH_ADD;
}

/* READ or ATOMIC, new or repeated. */
static void take_answered(uint64_t cyc, const struct tx_job *j)
{
	struct peer_qp *q = &x.q[j->qpi];

	if (j->psn == q->epsn) {
		q->epsn = psn_add(q->epsn,
				  j->kind == JOB_READ_REQ ? psn_count(j->dma_len, TBR_MTU) : 1);
		q->msn++;
	}
	if (j->kind == JOB_READ_REQ)
		answer_read(cyc, j);
	else if (!is_lost())
		tbr_atomic_rsp(&x.r, cyc + DELAY, j->qpi, j->psn, j->psn);
}

/* Keep a packet behind a gap, and say all that is kept. */
static void keep(uint64_t cyc, const struct tx_job *j, uint32_t psn, uint32_t i, uint32_t n)
{
	struct peer_qp *q = &x.q[j->qpi];
	uint8_t map[SACK_WINDOW / 8] = { 0 };
	uint32_t ahead = (uint32_t)psn_diff(psn, q->epsn);

	x.wrong += ahead >= SACK_WINDOW;
	q->early[psn % SACK_WINDOW] = (struct early){ *j, i, n, true };
	if (q->is_nak_sent || is_lost())
		return;
	for (uint32_t k = 1; k < SACK_WINDOW; k++)
		if (q->early[psn_add(q->epsn, k) % SACK_WINDOW].is_used)
			sack_set(map, k);
	tbr_sack(&x.r, cyc + DELAY, j->qpi, q->epsn, q->msn, map, (ahead / 32 + 1) * 4);
	maybe_swap(cyc);
}

/* Packet 'i' of 'n' of job 'j' arrives at the peer. */
static void take_packet(uint64_t cyc, const struct tx_job *j, uint32_t i, uint32_t n)
{
	struct peer_qp *q = &x.q[j->qpi];
	uint32_t psn = psn_add(j->psn, i), off = j->msg_off + i * TBR_MTU;
	uint32_t len = i + 1 == n ? j->len - i * TBR_MTU : TBR_MTU;
	int32_t ahead = psn_diff(psn, q->epsn);

	if (ahead > 0 && x.is_sr) {
		keep(cyc, j, psn, i, n);
		return;
	}
	if (ahead > 0) {
		if (!q->is_nak_sent)
			reply(cyc, j->qpi, q->epsn, NAK_SEQUENCE);
		q->is_nak_sent = true;
		return;
	}
	q->is_nak_sent = ahead < 0 && q->is_nak_sent;
	if (is_answered(j)) {
		take_answered(cyc, j);
		return;
	}
	if (ahead < 0) {
		reply(cyc, j->qpi, psn_add(q->epsn, PSN_MASK), AETH_NO_CREDITS);
		return;
	}
	if (j->kind == JOB_SEND && j->is_first && i == 0 && rng_chance(&x.rng, x.rnr_ppb)) {
		q->is_nak_sent = true;
		reply(cyc, j->qpi, psn, AETH_RNR_NAK | 1);
		return;
	}
	x.wrong += off != q->off || (q->off == 0) != (j->is_first && i == 0);
	q->off += len;
	q->epsn = psn_add(psn, 1);
	if (!j->is_last || i + 1 < n)
		return;
	x.wrong += q->off != x.q[j->qpi].bytes[q->msn];
	q->off = 0;
	q->msn++;
	reply(cyc, j->qpi, psn, AETH_NO_CREDITS);
}

/* The same, and what waited for it. */
static void arrive(uint64_t cyc, const struct tx_job *j, uint32_t i, uint32_t n)
{
	struct peer_qp *q = &x.q[j->qpi];
	struct early *e;

	take_packet(cyc, j, i, n);
	while ((e = &q->early[q->epsn % SACK_WINDOW])->is_used) {
		e->is_used = false;
		take_packet(cyc, &e->job, e->i, e->n);
	}
}

static void take_job(struct tb *t, struct tb_port *p, const void *msg)
{
	struct tx_job j = *(const struct tx_job *)msg;
	uint32_t n = is_answered(&j) ? 1 : psn_count(j.len, TBR_MTU);

	(void)t;
	if (!is_answered(&j) && j.len && ++x.n_jobs == x.fault_at)
		j.msg_off += TBR_MTU;
	for (uint32_t i = 0; i < n; i++)
		if (!is_lost())
			arrive(p->b.cycle, &j, i, n);
}

static uint32_t slot_of(uint32_t qpi, uint32_t k)
{
	return (qpi * POSTS + k) * SLOT;
}

/* A completion: the next of its QP, with success, and with its data. */
static void take_cqe(struct tb *t, struct tb_port *p, const void *msg)
{
	const struct cqe_req *c = msg;
	struct peer_qp *q = &x.q[c->qpi];
	uint32_t k = q->n_done++, off = slot_of(c->qpi, k), psn = q->first_psn[k];

	(void)t;
	(void)p;
	x.wrong += c->wqe_counter != k || c->syndrome;
	if (q->opcode[k] != MLX5_OPCODE_RDMA_READ)
		return;
	for (uint32_t i = 0; i < q->bytes[k]; i++)
		x.wrong += x.r.mem[off + i] != (uint8_t)(psn + i / TBR_MTU + i % TBR_MTU);
}

/* Post POSTS messages to each QP; PSNs follow from the lengths. */
static void post_all(void)
{
	static const uint8_t opcodes[] = { MLX5_OPCODE_SEND,       MLX5_OPCODE_SEND_IMM,
					   MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
					   MLX5_OPCODE_RDMA_READ,  MLX5_OPCODE_ATOMIC_FA };
	uint32_t psn[TBR_QPS];

	for (uint32_t i = 0; i < TBR_QPS; i++)
		psn[i] = x.r.qp[i].sq_psn;
	for (uint32_t k = 0; k < POSTS; k++) {
		for (uint32_t i = 0; i < TBR_QPS; i++) {
			struct peer_qp *q = &x.q[i];
			uint32_t off = slot_of(i, k);

			q->opcode[k] = opcodes[rng_below(&x.rng, ARRAY_LEN(opcodes))];
			q->bytes[k] = q->opcode[k] == MLX5_OPCODE_ATOMIC_FA
					      ? 8
					      : (uint32_t)rng_below(&x.rng, SLOT);
			q->first_psn[k] = psn[i];
			psn[i] = psn_add(psn[i], psn_count(q->bytes[k], TBR_MTU));
			tbr_post_sges(&x.r, i, q->opcode[k], q->bytes[k], off,
				      1 + (q->opcode[k] == MLX5_OPCODE_RDMA_READ ? k % 3 : 0), 0);
		}
	}
}

static uint64_t digest_of(uint64_t h, const struct tb_port *p)
{
	for (uint32_t i = 0; i < p->n_received; i++)
		h = (h ^ p->cycle[i]) * 0x100000001b3ull;
	return h;
}

static const char *const sr[] = { "requester.recovery=sr", NULL };

/* Differences found on a path with these faults. */
static unsigned run(uint64_t loss_ppb, uint64_t rnr_ppb, uint32_t fault_at, const char *const *sets)
{
	bool is_paced = x.is_paced, every_cycle = x.every_cycle, is_sr = x.is_sr;
	unsigned wrong;

	memset(&x, 0, sizeof(x));
	x.is_sr = is_sr;
	tbr_init(&x.r);
	for (uint32_t i = 0; i < TBR_QPS; i++) {
		x.r.qp[i].sq_psn = x.q[i].epsn = 0xffff80 + i;
		x.r.qp[i].timeout = 4;
		x.r.qp[i].rd_atomic = 3;
		x.r.qp[i].sq_bb = 128;
	}
	rng_seed(&x.rng, "peer", loss_ppb + rnr_ppb);
	x.loss_ppb = loss_ppb;
	x.rnr_ppb = rnr_ppb;
	x.fault_at = fault_at;
	x.r.on_job = take_job;
	x.r.on_cqe = take_cqe;
	tbr_start(&x.r, sets ? sets : x.is_sr ? sr : NULL);
	x.r.t.sim.every_cycle = every_cycle;
	if (is_paced)
		x.r.dma.max_delay = 0;
	post_all();
	tb_run_for(&x.r.t, RUN_CYCLES);
	x.r.t.sim.every_cycle = false;
	x.digest = digest_of(digest_of(0xcbf29ce484222325, x.r.job), x.r.cqe);
	wrong = x.wrong;
	for (uint32_t i = 0; i < TBR_QPS; i++)
		wrong += x.q[i].n_done != POSTS || x.q[i].msn != POSTS;
	x.n_resent = tb_stat(&x.r.t, "resent_packets");
	tbr_end(&x.r);
	return wrong;
}

static void requester_clean_path_sends_nothing_twice(void)
{
	CU_ASSERT_EQUAL(run(0, 0, 0, NULL), 0);
	CU_ASSERT_EQUAL(x.n_resent, 0);
}

static void requester_lossy_path_delivers_in_order(void)
{
	static const uint64_t loss[] = { 2000000, 10000000, 50000000 };

	for (size_t i = 0; i < ARRAY_LEN(loss); i++) {
		CU_ASSERT_EQUAL(run(loss[i], i * 20000000, 0, NULL), 0);
		CU_ASSERT(x.n_resent > 0);
	}
}

static void requester_stalls_change_no_result(void)
{
	char in[64], out[64];

	for (unsigned i = 0; i < 16; i++) {
		tb_stall_sets(&requester_class, i / 4, i % 4, in, out);
		CU_ASSERT_EQUAL(run(10000000, 10000000, 0, (const char *const[]){ in, out, NULL }),
				0);
	}
}

static void requester_small_limits_do_not_wedge(void)
{
	CU_ASSERT_EQUAL(run(10000000, 0, 0,
			    (const char *const[]){ "requester.window=3", "requester.burst=2",
						   "requester.writes=2", NULL }),
			0);
}

static void requester_sleeping_changes_nothing(void)
{
	uint64_t digest;

	x.is_paced = true;
	run(20000000, 20000000, 0, NULL);
	digest = x.digest;
	x.is_paced = x.every_cycle = true;
	run(20000000, 20000000, 0, NULL);
	CU_ASSERT_EQUAL(x.digest, digest);
	x.every_cycle = false;
	x.is_sr = true;
	run(20000000, 20000000, 0, NULL);
	digest = x.digest;
	x.every_cycle = true;
	run(20000000, 20000000, 0, NULL);
	CU_ASSERT_EQUAL(x.digest, digest);
	x.is_paced = x.every_cycle = x.is_sr = false;
}

/*
 * Selective repeat: the same guarantees, each way of timing out, and only what is missing goes out
 * again.
 */
static void requester_selective_repeat_delivers_in_order(void)
{
	static const uint64_t loss[] = { 2000000, 10000000, 50000000, 150000000 };
	static const char *const rto[] = { "requester.rto=low_high", "requester.rto=estimated",
					   "requester.rto=doubling", "requester.react_delay=1us" };

	x.is_sr = true;
	CU_ASSERT_EQUAL(run(0, 0, 0, NULL), 0);
	CU_ASSERT_EQUAL(x.n_resent, 0);
	for (size_t i = 0; i < ARRAY_LEN(loss); i++) {
		uint64_t n_gbn;

		x.is_sr = false;
		run(loss[i], i * 20000000, 0, NULL);
		n_gbn = x.n_resent;
		x.is_sr = true;
		CU_ASSERT_EQUAL(run(loss[i], i * 20000000, 0, NULL), 0);
		CU_ASSERT(x.n_resent > 0 && x.n_resent < n_gbn);
		CU_ASSERT_EQUAL(
			run(loss[i], i * 20000000, 0,
			    (const char *const[]){ sr[0], rto[i], "requester.rto_min=10us", NULL }),
			0);
	}
	x.is_sr = false;
}

static void requester_selective_repeat_stalls_change_no_result(void)
{
	char in[64], out[64];

	x.is_sr = true;
	for (unsigned i = 0; i < 16; i++) {
		tb_stall_sets(&requester_class, i / 4, i % 4, in, out);
		CU_ASSERT_EQUAL(
			run(10000000, 10000000, 0, (const char *const[]){ sr[0], in, out, NULL }),
			0);
	}
	CU_ASSERT_EQUAL(
		run(10000000, 0, 0,
		    (const char *const[]){ sr[0], "requester.bdp_cap=3", "requester.burst=2",
					   "requester.writes=2", NULL }),
		0);
	x.is_sr = false;
}

/* The peer's bookkeeping notices one wrong offset in a thousand. */
static void requester_peer_catches_seeded_fault(void)
{
	CU_ASSERT(run(0, 0, 57, NULL) != 0);
}

/* Nonsense for one QP, then silence: nothing crashes, and every WQE still ends. */
static void requester_survives_garbage(void)
{
	static const uint8_t operations[] = { IB_ACKNOWLEDGE,    IB_ACKNOWLEDGE,
					      IB_READ_RSP_FIRST, IB_READ_RSP_MIDDLE,
					      IB_READ_RSP_LAST,  IB_READ_RSP_ONLY,
					      IB_ATOMIC_ACK };

	for (uint64_t seed = 1; seed <= 60; seed++) {
		memset(&x, 0, sizeof(x));
		tbr_init(&x.r);
		x.r.qp[0].timeout = x.r.qp[1].timeout = 3;
		rng_seed(&x.rng, "garbage", seed);
		tbr_start(&x.r, seed % 2 ? NULL : sr);
		for (uint32_t k = 0; k < 30; k++) {
			static const uint8_t opcodes[] = { MLX5_OPCODE_SEND, MLX5_OPCODE_RDMA_READ,
							   MLX5_OPCODE_ATOMIC_CS };
			uint8_t opcode = opcodes[rng_below(&x.rng, 3)];

			tbr_post(&x.r, k & 1, opcode, opcode == MLX5_OPCODE_ATOMIC_CS ? 8 : 600, 0);
		}
		for (uint32_t k = 0; k < 300; k++) {
			uint8_t op = operations[rng_below(&x.rng, ARRAY_LEN(operations))];
			uint32_t psn = 100 + (uint32_t)rng_below(&x.rng, 60);
			uint8_t syndrome =
				rng_below(&x.rng, 4) ? AETH_NO_CREDITS : (uint8_t)rng_next(&x.rng);

			uint64_t map = rng_next(&x.rng);

			if (op == IB_ACKNOWLEDGE && syndrome == AETH_NO_CREDITS && map % 4 == 0)
				tbr_sack(&x.r, 40 * k, k & 1, psn, psn - 100, (uint8_t *)&map, 8);
			else if (op == IB_ACKNOWLEDGE)
				tbr_ack(&x.r, 40 * k, k & 1, psn, syndrome, psn - 100);
			else if (op == IB_ATOMIC_ACK)
				tbr_atomic_rsp(&x.r, 40 * k, k & 1, psn, 1);
			else
				tbr_read_rsp(&x.r, 40 * k, k & 1, op, psn,
					     rng_below(&x.rng, 3)
						     ? TBR_MTU
						     : (uint32_t)rng_below(&x.rng, TBR_MTU),
					     syndrome);
		}
		tb_run(&x.r.t);
		CU_ASSERT_EQUAL(((struct requester *)(void *)x.r.t.dut)->n_held, 0);
		tbr_end(&x.r);
	}
}

CU_TestInfo test_requester_peer_tests[] = {
	{ "clean path sends nothing twice", requester_clean_path_sends_nothing_twice },
	{ "lossy path delivers in order", requester_lossy_path_delivers_in_order },
	{ "stalls change no result", requester_stalls_change_no_result },
	{ "small limits do not wedge", requester_small_limits_do_not_wedge },
	{ "sleeping changes nothing", requester_sleeping_changes_nothing },
	{ "selective repeat delivers in order", requester_selective_repeat_delivers_in_order },
	{ "selective repeat: stalls change no result",
	  requester_selective_repeat_stalls_change_no_result },
	{ "peer catches a seeded fault", requester_peer_catches_seeded_fault },
	{ "garbage never wedges", requester_survives_garbage },
	CU_TEST_INFO_NULL
};
