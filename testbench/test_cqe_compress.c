/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cqe_compress.c - compressed completions are the same completions in the same order, in fewer bytes
 *
 * The block alone writes into rings that a reader takes apart by the description in models/cqe_compress.h; then whole
 * systems, whose programs have a reader of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "models/cqe_compress.h"
#include "models/packet/hdr.h"
#include "testbench/tb_cqe.h"
#include "testbench/tb_file.h"
#include "testbench/tb_judge.h"

#define CQES TB_CQE_MAX

/* ---- random completions ---- */

/* Runs of like completions, with errors, immediates and pauses between. */
static void send_random(struct tb_cqe_bench *e, uint64_t seed)
{
	struct rng r;
	uint16_t counter[TB_CQE_QPS][2] = { { 0 } };
	uint64_t at = 1;

	rng_seed(&r, "test_cqe_compress", seed);
	for (uint32_t i = 0; i < CQES;) {
		uint32_t qp = (uint32_t)rng_below(&r, TB_CQE_QPS),
			 is_recv = (uint32_t)rng_below(&r, 2);
		uint32_t n = 1 + (uint32_t)rng_below(&r, rng_below(&r, 4) ? 6 : 40);
		bool is_error = rng_below(&r, 12) == 0, is_imm = rng_below(&r, 4) == 0;
		struct cqe_req c = { .qpi = qp,
				     .cqi = qp & 1,
				     .opcode = is_recv ? CQE_RESP_SEND : CQE_REQ,
				     .solicited = is_recv && rng_below(&r, 5) == 0,
				     .imm = is_recv && is_imm ? (uint32_t)rng_below(&r, 3) : 0 };

		if (is_error) {
			c.opcode = is_recv ? CQE_RESP_ERR : CQE_REQ_ERR;
			c.syndrome = CQE_SYNDROME_WR_FLUSH;
		}
		for (; n && i < CQES; n--, i++) {
			c.wqe_counter = counter[qp][is_recv];
			counter[qp][is_recv] =
				(uint16_t)(counter[qp][is_recv] +
					   (qp == 2 && is_recv ? rng_below(&r, 9) : 1));
			c.byte_cnt =
				is_error ? 0 : (uint32_t)rng_below(&r, 1u << rng_below(&r, 32));
			c.wqe_opcode = is_recv ? 0 : (uint8_t)(8 + rng_below(&r, 9));
			tb_send_at(is_recv ? e->rsp : e->req, at, &c);
		}
		at += rng_below(&r, 3) ? 0 : rng_below(&r, 200);
	}
}

struct how {
	uint32_t depth, lag;
	const char *const *sets;
};

static const char *const off[] = { NULL };
static const char *const on[] = { "cqe_writer.compress=on", NULL };
static const char *const stridx[] = { "cqe_writer.compress=on",
				      "cqe_writer.mini_format=csum_stridx", NULL };
static const char *const narrow[] = { "cqe_writer.compress=on", "cqe_writer.compress_max=9",
				      "cqe_writer.compress_sessions=1",
				      "cqe_writer.compress_time=40ns", NULL };
static const char *const pairs[] = { "cqe_writer.compress=on", "cqe_writer.compress_max=2",
				     "cqe_writer.compress_time=2us", "cqe_writer.mini_format=csum",
				     NULL };
static const char *const stalled[] = { "cqe_writer.compress=on", "cqe_writer.stall_in=random",
				       "cqe_writer.stall_out=long", "cqe_writer.buffers=2", NULL };

static void run_random(struct tb_cqe_bench *e, const struct how *h, enum tb_cqe_fault fault,
		       uint64_t seed)
{
	tb_cqe_start(e, h->depth, h->sets);
	e->lag = h->lag;
	e->fault = fault;
	send_random(e, seed);
	tb_run(&e->t);
}

/* The first completion from number 'i' on that a port of a QP gave; n_seen when there is none. */
static uint32_t next_of(const struct tb_cqe_bench *e, uint32_t cq, uint32_t qp, bool is_recv,
			uint32_t i)
{
	for (; i < e->n_seen[cq]; i++) {
		const struct tb_cqe_seen *s = &e->seen[cq][i];

		if (s->qpn == 0x40 + qp &&
		    is_recv == (s->opcode != CQE_REQ && s->opcode != CQE_REQ_ERR))
			return i;
	}
	return i;
}

static bool is_same_stream(const struct tb_cqe_bench *a, const struct tb_cqe_bench *b, uint32_t qp,
			   bool is_recv)
{
	uint32_t cq = qp & 1;
	uint32_t i = next_of(a, cq, qp, is_recv, 0), k = next_of(b, cq, qp, is_recv, 0);

	while (i < a->n_seen[cq] && k < b->n_seen[cq]) {
		if (memcmp(&a->seen[cq][i], &b->seen[cq][k], sizeof(struct tb_cqe_seen)) != 0)
			return false;
		i = next_of(a, cq, qp, is_recv, i + 1);
		k = next_of(b, cq, qp, is_recv, k + 1);
	}
	return i == a->n_seen[cq] && k == b->n_seen[cq];
}

/* Each port of each QP gave the same completions in the same order; the two ports may take turns differently. */
static bool is_same(const struct tb_cqe_bench *a, const struct tb_cqe_bench *b)
{
	for (uint32_t qp = 0; qp < TB_CQE_QPS; qp++)
		if (!is_same_stream(a, b, qp, false) || !is_same_stream(a, b, qp, true))
			return false;
	return true;
}

static struct tb_cqe_bench plain, packed;

static void compressed_completions_are_those_written_alone(void)
{
	static const char *const *const sets[] = { on, stridx, narrow, pairs, stalled };

	for (uint64_t seed = 1; seed <= 12; seed++) {
		for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
			for (uint32_t depth = 2; depth <= TB_CQE_MAX_DEPTH;
			     depth *= depth == 2 ? 4 : 8) {
				struct how h = { .depth = depth,
						 .lag = 1 + (uint32_t)(seed % depth),
						 .sets = off };

				run_random(&plain, &h, TB_CQE_FAULT_NONE, seed);
				h.sets = sets[i];
				run_random(&packed, &h, TB_CQE_FAULT_NONE, seed);
				CU_ASSERT(plain.n_seen[0] + plain.n_seen[1] == CQES);
				CU_ASSERT(is_same(&plain, &packed));
				CU_ASSERT(packed.n_stale == 0 && packed.n_errors_in_blocks == 0);
				CU_ASSERT(plain.n_blocks == 0 && packed.n_blocks > 0);
				CU_ASSERT_EQUAL(tb_stat(&packed.t, "cqes"), CQES);
				CU_ASSERT_EQUAL(tb_stat(&packed.t, "blocks"), packed.n_blocks);
				CU_ASSERT_EQUAL(tb_stat(&packed.t, "overflows"), 0);
				CU_ASSERT_EQUAL(tb_stat(&plain.t, "cqe_b"), CQES * 64);
				CU_ASSERT(tb_stat(&packed.t, "cqe_b") <= CQES * 64);
				tb_cqe_end(&packed);
				tb_cqe_end(&plain);
			}
		}
	}
}

/* A reader of wrong bytes, or one that leaves stale entries behind, is noticed. */
static void compressed_completions_taken_wrongly_are_noticed(void)
{
	static const enum tb_cqe_fault faults[] = { TB_CQE_FAULT_MINI, TB_CQE_FAULT_OWNERS,
						    TB_CQE_FAULT_ARRAY };
	struct how h = { .depth = TB_CQE_MAX_DEPTH, .lag = 1, .sets = off };

	run_random(&plain, &h, TB_CQE_FAULT_NONE, 3);
	h.sets = on;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		run_random(&packed, &h, faults[i], 3);
		CU_ASSERT_FALSE(is_same(&plain, &packed) && packed.n_stale == 0);
		tb_cqe_end(&packed);
	}
	tb_cqe_end(&plain);
}

/* ---- one block ---- */

static void send_writes(struct tb_cqe_bench *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		tb_send(e->req, &(struct cqe_req){ .wqe_counter = (uint16_t)i,
						   .byte_cnt = 100u + i,
						   .opcode = CQE_REQ,
						   .wqe_opcode = MLX5_OPCODE_RDMA_WRITE });
	tb_run(&e->t);
}

static void compressed_block_has_title_and_arrays_where_mlx5_has_them(void)
{
	static struct tb_cqe_bench e;
	const uint8_t *title, *array;

	tb_cqe_start(&e, TB_CQE_MAX_DEPTH, on);
	e.reaps = false;
	send_writes(&e, 19);
	title = tb_cqe_entry(&e, 0, 0);
	CU_ASSERT_EQUAL(title[63], CQE_REQ << 4 | 3 << 2);
	CU_ASSERT_EQUAL(hdr_get(title, 44 * 8, 32), 19);
	CU_ASSERT_EQUAL(hdr_get(title, 57 * 8, 24), 0x40);
	for (uint32_t k = 0; k < 19; k++) {
		array = tb_cqe_entry(&e, 0, k < 8 ? 1 : k < 16 ? 8 : 16) + (size_t)(k % 8) * 8;
		CU_ASSERT_EQUAL(hdr_get(array, 0, 16), k);
		CU_ASSERT_EQUAL(array[2], MLX5_OPCODE_RDMA_WRITE);
		CU_ASSERT_EQUAL(hdr_get(array, 32, 32), 100 + k);
	}
	CU_ASSERT_EQUAL(tb_stat(&e.t, "cqe_b"), 4 * 64); /* against 19 x 64 */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "minis"), 19);
	for (uint32_t k = 2; k < 19; k++)
		CU_ASSERT_EQUAL(e.is_new[0][k], k == 8 || k == 16);
	tb_cqe_end(&e);
}

static void compressed_block_waits_for_its_time_and_no_longer(void)
{
	static const char *const slow[] = { "cqe_writer.compress=on",
					    "cqe_writer.compress_time=1us", NULL };
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, TB_CQE_MAX_DEPTH, slow);
	tb_send_at(e.req, 10, &(struct cqe_req){ .opcode = CQE_REQ });
	tb_send_at(e.req, 100, &(struct cqe_req){ .opcode = CQE_REQ, .wqe_counter = 1 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_seen[0], 2);
	CU_ASSERT(e.dma_req->cycle[0] >= 10 + 250 &&
		  e.dma_req->cycle[0] < 10 + 250 + 12); /* 1 us */
	CU_ASSERT_EQUAL(e.n_blocks, 1);
	tb_cqe_end(&e);
}

static void compressed_cq_that_is_full_loses_what_has_no_room(void)
{
	static struct tb_cqe_bench e;

	tb_cqe_start(&e, 8, on);
	e.reaps = false;
	send_writes(&e, 11);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "cqes"), 8);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "overflows"), 3);
	tb_cqe_reap(&e, 0);
	CU_ASSERT_EQUAL(e.n_seen[0], 8);
	for (uint16_t i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(e.seen[0][i].counter, i);
	tb_cqe_end(&e);
}

/* ---- whole systems ---- */

static void random_traces_with_compression_end_as_the_reference(void)
{
	static const char *const *const sets[] = { on, stridx, narrow, pairs };
	static struct tb_case c;
	uint64_t blocks = 0;

	for (uint64_t seed = 1; seed <= 120; seed++) {
		const char *what = "it cannot be run";

		if (tb_case_run(&c, seed, &(struct gen_want){ 0 }, sets[seed % ARRAY_LEN(sets)],
				ORDER_FORWARD, false)) {
			what = tb_case_refer(&c);
			what = what ? what : tb_judge(&c);
			blocks += tb_run_stat(&c.run, "nic0.cqe_writer.blocks") +
				  tb_run_stat(&c.run, "nic1.cqe_writer.blocks");
		}
		CU_ASSERT_PTR_NULL(what);
		if (what)
			printf("seed %u: %s\n", (unsigned)seed, what);
		tb_case_close(&c);
	}
	CU_ASSERT(blocks > 100);
}

#define FLOOD \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw,rw fill=zero\n" \
	"cq h0 c depth=128%s\n" \
	"qp h0 q0 type=RC peer=h1.q0 scq=c\nqp h1 q0 type=RC peer=h0.q0\n" \
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=2000 window=64\n" \
	"expect h0.q0 id=1 status=SUCCESS\n"

static void flood(struct tb_run *t, const char *cq, const char *const *sets)
{
	char text[800];

	snprintf(text, sizeof(text), FLOOD, cq);
	tb_run_ok(t, &(struct tb_run_how){ .trace = tb_write("flood.trace", text, strlen(text)),
					   .sets = sets });
	CU_ASSERT_EQUAL(tb_run_stat(t, "host0.workload.cqes"), 2000);
	CU_ASSERT_EQUAL(tb_run_stat(t, "nic0.cqe_writer.cqes"), 2000);
}

static void flood_of_writes_takes_a_third_of_the_bytes(void)
{
	uint64_t bytes[2], up[2];
	struct tb_run t;

	for (unsigned i = 0; i < 2; i++) {
		flood(&t, "", i ? on : off);
		bytes[i] = tb_run_stat(&t, "nic0.cqe_writer.cqe_b");
		up[i] = tb_run_stat(&t, "nic0.cqe_writer.blocks");
		tb_run_close(&t);
	}
	CU_ASSERT_EQUAL(bytes[0], 2000 * 64);
	CU_ASSERT(bytes[1] * 3 < bytes[0]);
	CU_ASSERT(up[0] == 0 && up[1] >= 2000 / 64);
}

static void program_that_waits_for_events_gets_compressed_completions(void)
{
	struct tb_run t;

	flood(&t, " mode=event moderate=16:10us", on);
	CU_ASSERT(tb_run_stat(&t, "nic0.cqe_writer.events") > 0);
	CU_ASSERT(tb_run_stat(&t, "nic0.cqe_writer.blocks") > 0);
	tb_run_close(&t);
	flood(&t, " mode=event", on);
	tb_run_close(&t);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_cqe_compress_tests[] = {
	TEST(compressed_completions_are_those_written_alone),
	TEST(compressed_completions_taken_wrongly_are_noticed),
	TEST(compressed_block_has_title_and_arrays_where_mlx5_has_them),
	TEST(compressed_block_waits_for_its_time_and_no_longer),
	TEST(compressed_cq_that_is_full_loses_what_has_no_room),
	TEST(random_traces_with_compression_end_as_the_reference),
	TEST(flood_of_writes_takes_a_third_of_the_bytes),
	TEST(program_that_waits_for_events_gets_compressed_completions),
	CU_TEST_INFO_NULL
};
