/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qpc_cache.c - the QP context cache against an exact LRU list, and the order of its answers
 */
#include <stdio.h>
#include <string.h>

#include "models/ctx_cache.h"
#include "testbench/tb_dma.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

extern const struct block_class qpc_cache_class;

#define SETS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define QPS 64u
#define BASE 0x100000ull
#define CONTEXT 256u

struct bench {
	struct nic nic;
	struct qp_attr qp[QPS];
	struct tb t;
	struct tb_port *req, *rsp, *fill;
	struct tb_dma dma;
	struct rng rng;
	uint32_t sent[2048], n;
	uint8_t mem[QPS * CONTEXT];
};
static struct bench e;

/* Contexts lie in reversed order in memory. */
static uint64_t context_pa(uint32_t qpi)
{
	return BASE + (uint64_t)(QPS - 1 - qpi) * CONTEXT;
}

static void start(const char *const *sets, uint32_t max_delay)
{
	memset(&e, 0, sizeof(e));
	e.nic.qp = e.qp;
	e.nic.n_qp = QPS;
	for (uint32_t i = 0; i < QPS; i++)
		e.qp[i].qpc_pa = context_pa(i);
	tb_init(&e.t, &qpc_cache_class, &e.nic, sets);
	e.req = tb_source(&e.t, "req");
	e.rsp = tb_sink(&e.t, "rsp");
	e.dma = (struct tb_dma){ .rsp = tb_source(&e.t, "fill_rsp"),
				 .mem = e.mem,
				 .base = BASE,
				 .size = sizeof(e.mem),
				 .max_delay = max_delay };
	rng_seed(&e.dma.rng, "contexts", max_delay);
	rng_seed(&e.rng, "qpc", max_delay);
	e.fill = tb_sink_react(&e.t, "fill", tb_dma_react, &e.dma);
	tb_start(&e.t);
}

static void ask(uint32_t qpi, uint64_t at)
{
	e.sent[e.n] = qpi;
	tb_send_at(e.req, at, &(struct ctx_req){ .index = qpi, .tag = 1000 + e.n });
	e.n++;
}

/* Answers that are missing, wrong or out of order. */
static unsigned differences(void)
{
	unsigned n = e.rsp->n_received != e.n;

	for (uint32_t i = 0; i < e.rsp->n_received && i < e.n; i++) {
		const struct ctx_rsp *got = tb_got(e.rsp, i);

		n += got->index != e.sent[i] || got->tag != 1000 + i;
	}
	return n;
}

static void random_requests_are_answered_in_order(void)
{
	char in[64], out[64];

	for (unsigned k = 0; k < 16; k++) {
		tb_stall_sets(&qpc_cache_class, k % 4, k / 4, in, out);
		start(SETS(in, out, "qpc_cache.sets=4",
			   k & 1 ? "qpc_cache.queue=3" : "qpc_cache.max_misses=2"),
		      k * 10);
		for (unsigned i = 0; i < 600; i++)
			ask((uint32_t)rng_below(&e.rng, i < 300 ? 12 : QPS), 0);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(), 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "requests"), 600);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "hits") + tb_stat(&e.t, "misses") +
					tb_stat(&e.t, "merges"),
				600);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "misses"), e.dma.n_reads);
		CU_ASSERT(tb_stat(&e.t, "hits") > 0 && tb_stat(&e.t, "misses") > 0);
		tb_end(&e.t);
	}
}

static void miss_reads_the_whole_context_of_its_qp(void)
{
	const struct dma_req *r;

	start(NULL, 5);
	ask(17, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.fill->n_received, 1);
	r = tb_got(e.fill, 0);
	CU_ASSERT_EQUAL(r->addr, context_pa(17));
	CU_ASSERT_EQUAL(r->len, CONTEXT);
	CU_ASSERT_EQUAL(r->key, KEY_PHYS);
	CU_ASSERT_EQUAL(r->cls, DMA_QPC);
	CU_ASSERT_EQUAL(r->is_write, 0);
	tb_end(&e.t);
}

/* Hits of one-by-one requests in a cache of 'ways', against a list of 'list_ways' a set. */
static bool agrees_with_list(unsigned ways, unsigned list_ways)
{
	uint32_t list[2][16], len[2] = { 0, 0 };
	uint64_t hits = 0;
	char set[32];
	bool is_equal;

	snprintf(set, sizeof(set), "qpc_cache.ways=%u", ways);
	start(SETS(set, "qpc_cache.sets=2"), 0);
	for (unsigned k = 0; k < 1500; k++) {
		uint32_t qpi = (uint32_t)rng_below(&e.rng, 3 * ways), *l = list[qpi % 2], i;

		ask(qpi, 20ull * k);
		for (i = 0; i < len[qpi % 2] && l[i] != qpi; i++)
			;
		hits += i < len[qpi % 2];
		if (i == len[qpi % 2] && i < list_ways)
			len[qpi % 2]++;
		if (i == list_ways)
			i--;
		memmove(l + 1, l, i * sizeof(*l));
		l[0] = qpi;
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "merges"), 0);
	is_equal = tb_stat(&e.t, "hits") == hits && tb_stat(&e.t, "misses") == 1500 - hits;
	tb_end(&e.t);
	return is_equal;
}

static void cache_replaces_as_an_exact_lru_list_does(void)
{
	for (unsigned ways = 1; ways <= 16; ways *= 2)
		CU_ASSERT(agrees_with_list(ways, ways));
	CU_ASSERT_FALSE(agrees_with_list(4, 3)); /* the list would notice */
}

static void hits_are_answered_one_a_cycle(void)
{
	start(NULL, 0);
	ask(5, 0);
	for (unsigned i = 0; i < 20; i++)
		ask(5, 100);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(), 0);
	for (unsigned i = 0; i < 20;
	     i++) /* pushed at 100, taken at 101, answered 2 later, seen 1 later */
		CU_ASSERT_EQUAL(e.rsp->cycle[1 + i], 104 + i);
	tb_end(&e.t);
}

static void requests_for_a_context_on_its_way_share_its_read(void)
{
	start(NULL, 40);
	for (unsigned i = 0; i < 6; i++)
		ask(i % 2, 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "misses"), 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "hits") + tb_stat(&e.t, "merges"), 4);
	CU_ASSERT(tb_stat(&e.t, "merges") > 0);
	tb_end(&e.t);
}

static void step_order_and_sleeping_are_not_seen(void)
{
	static uint64_t cycle[400];
	uint64_t stall_ps = 0;

	for (unsigned k = 0; k < TB_MANNERS; k++) {
		start(SETS("qpc_cache.sets=4", "qpc_cache.stall_out=random",
			   "qpc_cache.max_misses=3"),
		      25);
		tb_behave(&e.t, k);
		for (unsigned i = 0; i < ARRAY_LEN(cycle); i++)
			ask((uint32_t)rng_below(&e.rng, 20), 0);
		tb_run_for(&e.t, 30000);
		CU_ASSERT_EQUAL(differences(), 0);
		if (k == 0) {
			memcpy(cycle, e.rsp->cycle, sizeof(cycle));
			stall_ps = e.fill->chan->stall_ps;
		}
		CU_ASSERT_EQUAL(memcmp(cycle, e.rsp->cycle, sizeof(cycle)), 0);
		CU_ASSERT_EQUAL(e.fill->chan->stall_ps, stall_ps);
		tb_end(&e.t);
	}
}

static uint64_t uses_in_memory(uint32_t qpi)
{
	const uint8_t *at = e.mem + (context_pa(qpi) - BASE) + CONTEXT - 8;
	uint64_t n = 0;

	for (unsigned i = 0; i < 8; i++)
		n = n << 8 | at[i];
	return n;
}

/*
 * Uses that memory and cache together do not know of. A context's uses are counted in its last 8
 * bytes, which come and go with it.
 */
static uint64_t lost_uses(const char *policy, const char *write_back, uint32_t max_delay)
{
	uint64_t n = 0;
	const struct ctx_cache *c;

	start(SETS("qpc_cache.sets=2", "qpc_cache.ways=4", "qpc_cache.write_backs=2", policy,
		   write_back),
	      max_delay);
	for (unsigned i = 0; i < 900; i++)
		ask((uint32_t)rng_below(&e.rng, i < 300 ? 12 : 40), 0);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "written_back"), e.dma.n_writes);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "evictions") + 8, tb_stat(&e.t, "misses"));
	c = (const struct ctx_cache *)e.t.dut;
	for (uint32_t qpi = 0; qpi < QPS; qpi++) {
		uint32_t line = assoc_find(&c->tags, qpi % 2, qpi);

		if (line == ASSOC_NONE) {
			n += uses_in_memory(qpi);
			continue;
		}
		for (unsigned i = 0; i < 8; i++)
			n += (uint64_t)c->bytes[(line + 1) * CONTEXT - 8 + i] << (56 - 8 * i);
	}
	tb_end(&e.t);
	return 900 - n;
}

static void context_that_is_replaced_is_written_back(void)
{
	static const char *const policies[] = { "qpc_cache.policy=lru", "qpc_cache.policy=random",
						"qpc_cache.policy=plru" };

	for (unsigned i = 0; i < ARRAY_LEN(policies); i++)
		for (uint32_t delay = 0; delay < 40; delay += 13)
			CU_ASSERT_EQUAL(lost_uses(policies[i], "qpc_cache.write_back=on", delay),
					0);
}

static void write_back_that_is_lost_is_noticed(void)
{
	CU_ASSERT(lost_uses("qpc_cache.policy=lru", "qpc_cache.write_back=off", 0) > 0);
	start(SETS("qpc_cache.sets=1", "qpc_cache.ways=1"), 0);
	ask(1, 0);
	ask(2, 100);
	ask(1, 200);
	ask(3, 300);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(uses_in_memory(1), 2);
	CU_ASSERT_EQUAL(uses_in_memory(2), 1);
	tb_end(&e.t);
	start(SETS("qpc_cache.sets=1", "qpc_cache.ways=1", "qpc_cache.write_back=off"), 0);
	ask(1, 0);
	ask(2, 100);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(uses_in_memory(1), 0);
	CU_ASSERT_EQUAL(e.dma.n_writes, 0);
	tb_end(&e.t);
}

/* Answers are taken while reads and write-backs are refused: with one request at the DMA engine each waits for all. */
static void cache_of_one_line_behind_a_narrow_dma_engine_ends(void)
{
	static const char *const sets[] = { "qpc_cache.sets=1", "qpc_cache.ways=1",
					    "dma_engine.per_client=1", NULL };
	char text[8192];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "rnicsim-trace 1\nhost h0\nhost h1\n"
				    "mr h0 src va=0x10000000 len=4096 access=lw fill=inc\n"
				    "mr h1 dst va=0x20000000 len=4096 access=lw,rw fill=zero\n");
	struct tb_run t;

	for (unsigned i = 0; i < 24; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"qp h0 q%u type=RC peer=h1.q%u\nqp h1 q%u type=RC peer=h0.q%u\n", i, i, i,
			i);
	for (unsigned i = 0; i < 24; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"post h0.q%u id=%u op=RDMA_WRITE sge=src:0:64 remote=dst:%u repeat=4\n"
			"expect h0.q%u id=%u status=SUCCESS\n",
			i, i + 1, 64 * i, i, i + 1);
	CU_ASSERT_FATAL(n < sizeof(text));
	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("narrow.trace", text, n),
					    .ini = "",
					    .sets = sets });
	CU_ASSERT(tb_run_stat(&t, "nic0.qpc_tx.written_back") > 24);
	tb_run_close(&t);
}

CU_TestInfo test_qpc_cache_tests[] = {
	{ "context_that_is_replaced_is_written_back", context_that_is_replaced_is_written_back },
	{ "write_back_that_is_lost_is_noticed", write_back_that_is_lost_is_noticed },
	{ "cache_of_one_line_behind_a_narrow_dma_engine_ends",
	  cache_of_one_line_behind_a_narrow_dma_engine_ends },
	{ "random_requests_are_answered_in_order", random_requests_are_answered_in_order },
	{ "miss_reads_the_whole_context_of_its_qp", miss_reads_the_whole_context_of_its_qp },
	{ "cache_replaces_as_an_exact_lru_list_does", cache_replaces_as_an_exact_lru_list_does },
	{ "hits_are_answered_one_a_cycle", hits_are_answered_one_a_cycle },
	{ "requests_for_a_context_on_its_way_share_its_read",
	  requests_for_a_context_on_its_way_share_its_read },
	{ "step_order_and_sleeping_are_not_seen", step_order_and_sleeping_are_not_seen },
	CU_TEST_INFO_NULL
};
