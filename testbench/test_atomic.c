/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_atomic.c - the read-modify-write unit against one that does everything at once, in order of
 * arrival
 */
#include <string.h>

#include "models/nic.h"
#include "testbench/tb_dma.h"

extern const struct block_class atomic_class;

#define BASE 0x10000ull
#define WORDS 6u
#define OPS 400u

struct bench {
	struct nic nic;
	struct tb t;
	struct tb_port *req, *rsp;
	struct tb_dma dma;
	uint8_t mem[WORDS * 8];
	uint64_t model[WORDS]; /* what the words should hold */
	uint64_t expect[OPS];  /* original values by tag */
	uint32_t n;
};

static void bench_start(struct bench *e, const char *const *sets, uint32_t max_delay)
{
	memset(e, 0, sizeof(*e));
	tb_init(&e->t, &atomic_class, &e->nic, sets);
	e->req = tb_source(&e->t, "req");
	e->rsp = tb_sink(&e->t, "rsp");
	e->dma = (struct tb_dma){ .rsp = tb_source(&e->t, "dma_rsp"),
				  .mem = e->mem,
				  .base = BASE,
				  .size = sizeof(e->mem),
				  .max_delay = max_delay };
	rng_seed(&e->dma.rng, "atomic", max_delay);
	tb_sink_react(&e->t, "dma_req", tb_dma_react, &e->dma);
	tb_start(&e->t);
}

/* Send one operation and do it in the model. */
static void operate(struct bench *e, uint32_t word, bool is_add, uint64_t operand, uint64_t compare)
{
	uint64_t *w = &e->model[word];

	e->expect[e->n] = *w;
	if (is_add)
		*w += operand;
	else if (*w == compare)
		*w = operand;
	tb_send(e->req, &(struct atomic_req){ .va = BASE + 8ull * word,
					      .swap_add = operand,
					      .compare = compare,
					      .rkey = 7,
					      .tag = e->n++,
					      .pd = 3,
					      .is_fetch_add = is_add });
}

static uint64_t word_of(const struct bench *e, uint32_t i)
{
	uint64_t v = 0;

	for (unsigned k = 8; k-- > 0;)
		v = v << 8 | e->mem[8 * i + k];
	return v;
}

/* Answers and memory that differ from the model. */
static unsigned differences(const struct bench *e)
{
	unsigned n = e->rsp->n_received != e->n;

	for (uint32_t i = 0; i < e->rsp->n_received; i++) {
		const struct atomic_rsp *m = tb_got(e->rsp, i);

		n += m->status != XLATE_OK || m->tag >= e->n || m->original != e->expect[m->tag];
	}
	for (uint32_t i = 0; i < WORDS; i++)
		n += word_of(e, i) != e->model[i];
	return n;
}

static void send_random(struct bench *e, uint32_t n)
{
	struct rng r;

	rng_seed(&r, "atomics", n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t w = (uint32_t)rng_below(&r, WORDS);
		bool guesses = rng_below(&r, 2);

		operate(e, w, rng_below(&r, 2), rng_next(&r), guesses ? e->model[w] : rng_next(&r));
	}
}

static void atomic_random_operations_equal_sequential_model(void)
{
	char in[64], out[64];
	static const char *const parallel[] = { "atomic.parallel=1", "atomic.parallel=4",
						"atomic.parallel=64" };
	static const char *const lock_cyc[] = { "atomic.lock_cyc=0", "atomic.lock_cyc=3" };

	for (unsigned k = 0; k < ARRAY_LEN(parallel) * 16; k++) {
		const char *sets[] = {
			in, out, parallel[k / 16], lock_cyc[k % 2], "atomic.locks=3", NULL
		};
		struct bench e;

		tb_stall_sets(&atomic_class, k / 4 % 4, k % 4, in, out);
		bench_start(&e, sets, k % 3 * 40);
		send_random(&e, OPS);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(&e), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "ops"), OPS);
		CU_ASSERT(k < 16 || tb_stat(&e.t, "lock_waits") > 0);
		tb_end(&e.t);
	}
}

/* The oracle itself: memory that another writer changed in the middle must be noticed. */
static void atomic_foreign_write_is_caught(void)
{
	struct bench e;

	bench_start(&e, NULL, 20);
	send_random(&e, OPS);
	tb_run_for(&e.t, 500);
	CU_ASSERT(e.rsp->n_received > 0 && e.rsp->n_received < OPS);
	e.mem[0] ^= 1;
	tb_run(&e.t);
	CU_ASSERT(differences(&e) > 0);
	tb_end(&e.t);
}

static void atomic_failed_compare_writes_nothing(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	operate(&e, 1, false, 99, 1);
	operate(&e, 1, false, 5, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e), 0);
	CU_ASSERT_EQUAL(e.dma.n_reads, 2);
	CU_ASSERT_EQUAL(e.dma.n_writes, 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "swaps_failed"), 1);
	CU_ASSERT_EQUAL(word_of(&e, 1), 5);
	tb_end(&e.t);
}

static void atomic_operand_is_stored_little_endian(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	operate(&e, 0, true, 0x0102030405060708ull, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.mem[0], 8);
	CU_ASSERT_EQUAL(e.mem[7], 1);
	tb_end(&e.t);
}

static void atomic_refused_key_gives_status_and_frees_lock(void)
{
	struct bench e;
	const struct atomic_rsp *bad = NULL;

	bench_start(&e, NULL, 10);
	e.dma.fail_at = BASE + 8;
	tb_send(e.req, &(struct atomic_req){
			       .va = BASE + 8, .tag = 100, .is_fetch_add = 1, .swap_add = 1 });
	tb_send(e.req, &(struct atomic_req){
			       .va = BASE + 8, .tag = 101, .is_fetch_add = 1, .swap_add = 1 });
	tb_send(e.req,
		&(struct atomic_req){ .va = BASE, .tag = 102, .is_fetch_add = 1, .swap_add = 1 });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.rsp->n_received, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct atomic_rsp *m = tb_got(e.rsp, i);

		CU_ASSERT_EQUAL(m->status, m->tag == 102 ? XLATE_OK : XLATE_BAD_KEY);
		bad = m->tag == 101 ? m : bad;
	}
	CU_ASSERT_PTR_NOT_NULL(bad);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 2);
	CU_ASSERT_EQUAL(word_of(&e, 1), 0);
	CU_ASSERT_EQUAL(word_of(&e, 0), 1);
	tb_end(&e.t);
}

static void atomic_interval_spaces_operations(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "atomic.interval=100", NULL }, 0);
	for (uint32_t i = 0; i < 5; i++)
		operate(&e, i, true, 1, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e), 0);
	CU_ASSERT_EQUAL(e.rsp->cycle[4] - e.rsp->cycle[0], 400);
	tb_end(&e.t);
}

/* The time that one operation takes with these settings. */
static uint64_t time_of(bool is_fetch_add, const char *a, const char *b)
{
	struct bench e;
	uint64_t cyc;

	bench_start(&e, (const char *[]){ a, b, NULL }, 0);
	operate(&e, 0, is_fetch_add, 1, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e), 0);
	cyc = e.rsp->cycle[0];
	tb_end(&e.t);
	return cyc;
}

static void atomic_look_up_and_operation_take_their_cycles(void)
{
	uint64_t faa = time_of(true, "atomic.alu=1", "atomic.lock_cyc=0");
	uint64_t cas = time_of(false, "atomic.cas_alu=1", "atomic.lock_cyc=0");

	CU_ASSERT_EQUAL(time_of(true, "atomic.alu=31", "atomic.cas_alu=77"), faa + 30);
	CU_ASSERT_EQUAL(time_of(false, "atomic.alu=31", "atomic.cas_alu=77"), cas + 76);
	CU_ASSERT_EQUAL(time_of(true, "atomic.alu=1", "atomic.lock_cyc=9"), faa + 9);
}

/* All six words with 'locks' locks, all at once: how many operations found their lock taken. */
static uint64_t lock_waits(const char *locks)
{
	struct bench e;
	uint64_t waits;

	bench_start(&e, (const char *[]){ locks, "atomic.parallel=8", NULL }, 0);
	for (uint32_t i = 0; i < WORDS; i++)
		operate(&e, i, true, 1, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e), 0);
	waits = tb_stat(&e.t, "lock_waits");
	tb_end(&e.t);
	return waits;
}

static void atomic_words_that_share_a_lock_wait(void)
{
	CU_ASSERT_EQUAL(lock_waits("atomic.locks=0"), 0);
	CU_ASSERT_EQUAL(lock_waits("atomic.locks=6"), 0);
	CU_ASSERT_EQUAL(lock_waits("atomic.locks=4"), 2);
	CU_ASSERT_EQUAL(lock_waits("atomic.locks=1"), 5);
}

CU_TestInfo test_atomic_tests[] = {
	{ "random operations equal a sequential model",
	  atomic_random_operations_equal_sequential_model },
	{ "foreign write is caught", atomic_foreign_write_is_caught },
	{ "failed compare writes nothing", atomic_failed_compare_writes_nothing },
	{ "operand is stored little-endian", atomic_operand_is_stored_little_endian },
	{ "refused key gives status and frees the lock",
	  atomic_refused_key_gives_status_and_frees_lock },
	{ "interval spaces operations", atomic_interval_spaces_operations },
	{ "look-up and operation take their cycles",
	  atomic_look_up_and_operation_take_their_cycles },
	{ "words that share a lock wait", atomic_words_that_share_a_lock_wait },
	CU_TEST_INFO_NULL
};
