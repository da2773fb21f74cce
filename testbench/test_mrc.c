/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mrc.c - miss-ratio curves against a stack kept as a plain list, and against real caches of
 * many sizes: equal where the cache is fully associative, close where it has sets
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/ctx_cache.h"
#include "models/run/mrc.h"
#include "models/mtt.h"
#include "testbench/tb_file.h"
#include "testbench/tb_mtt.h"
#include "testbench/tb_run.h"

extern const struct block_class qpc_cache_class, mtt_class;

#define SETS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define SET_TOLERANCE 0.06 /* miss ratio: 4 ways in sets, against one set as large */
#define RUN_TOLERANCE 0.02 /* miss ratio: of a run, whose order of accesses is its own */

/* Some keys often, many seldom. */
static uint64_t random_key(struct rng *r, uint64_t n)
{
	return rng_below(r, 1 + rng_below(r, n));
}

/* ---- the dumb stack: most recent first ---- */

#define KEYS 300u

struct stack {
	uint64_t key[KEYS];
	uint32_t n;
	uint64_t misses[KEYS + 1]; /* by size */
};

static void stack_use(struct stack *s, uint64_t key)
{
	uint32_t at = 0;

	while (at < s->n && s->key[at] != key)
		at++;
	for (uint32_t size = 0; size <= KEYS; size++)
		s->misses[size] += at == s->n || size <= at;
	if (at == s->n)
		s->n++;
	memmove(s->key + 1, s->key, at * sizeof(*s->key));
	s->key[0] = key;
}

/* Sizes at which curve and stack differ; one use in 'fault' is kept from the stack, 0 = none. */
static unsigned differences(uint64_t n_keys, unsigned fault)
{
	static struct stack s;
	struct mrc_curve *c = mrc_curve_create();
	unsigned n = 0;
	struct rng r;

	memset(&s, 0, sizeof(s));
	rng_seed(&r, "mrc", n_keys);
	for (unsigned k = 1; k <= 6000; k++) {
		uint64_t key = random_key(&r, n_keys) * 0x10000000001ull;

		mrc_curve_use(c, key);
		if (!fault || k % fault)
			stack_use(&s, key);
	}
	for (uint32_t size = 0; size <= KEYS; size++)
		n += mrc_curve_misses(c, size) != s.misses[size];
	CU_ASSERT_EQUAL(mrc_curve_accesses(c), 6000);
	CU_ASSERT_EQUAL(mrc_curve_keys(c), s.n);
	mrc_curve_destroy(c);
	return n;
}

static void curve_is_that_of_a_plain_stack(void)
{
	static const uint64_t n_keys[] = { 1, 2, 17, KEYS };

	for (unsigned i = 0; i < ARRAY_LEN(n_keys); i++)
		CU_ASSERT_EQUAL(differences(n_keys[i], 0), 0);
}

static void access_that_the_stack_misses_is_noticed(void)
{
	CU_ASSERT(differences(17, 1000) > 0);
}

static void curve_of_many_keys_grows(void)
{
	struct mrc_curve *c = mrc_curve_create();

	for (unsigned round = 0; round < 3; round++)
		for (uint64_t key = 0; key < 50000; key++)
			mrc_curve_use(c, key << 40);
	CU_ASSERT_EQUAL(mrc_curve_misses(c, 49999), 150000); /* in a circle: all or nothing */
	CU_ASSERT_EQUAL(mrc_curve_misses(c, 50000), 50000);
	CU_ASSERT_EQUAL(mrc_curve_misses(c, 1u << 30), 50000);
	mrc_curve_destroy(c);
}

/* ---- a context cache ---- */

#define QPS 256u

/* Misses of a cache of that geometry; 'c' (may be NULL) listens. */
static uint64_t context_misses(uint32_t log_sets, uint32_t ways, struct mrc_curve *c)
{
	static uint8_t mem[QPS * 256];
	static struct qp_attr qp[QPS];
	struct nic nic = { .qp = qp, .n_qp = QPS };
	struct tb_dma dma = { .mem = mem, .base = 0x1000, .size = sizeof(mem) };
	char sets[40], n_ways[40];
	struct tb_port *req;
	struct rng r;
	struct tb t;
	uint64_t n;

	for (uint32_t i = 0; i < QPS; i++)
		qp[i].qpc_pa = dma.base + i * 256;
	snprintf(sets, sizeof(sets), "qpc_cache.sets=%u", 1u << log_sets);
	snprintf(n_ways, sizeof(n_ways), "qpc_cache.ways=%u", ways);
	tb_init(&t, &qpc_cache_class, &nic, SETS(sets, n_ways));
	req = tb_source(&t, "req");
	tb_sink(&t, "rsp");
	dma.rsp = tb_source(&t, "fill_rsp");
	tb_sink_react(&t, "fill", tb_dma_react, &dma);
	tb_start(&t);
	if (c)
		((struct ctx_cache *)t.dut)->tags.tap = mrc_curve_tap(c);
	rng_seed(&r, "contexts", 1);
	for (unsigned i = 0; i < 3000; i++) /* one at a time */
		tb_send_at(req, 12ull * i,
			   &(struct ctx_req){ .index = (uint32_t)random_key(&r, QPS) });
	tb_run(&t);
	n = tb_stat(&t, "misses");
	CU_ASSERT_EQUAL(n + tb_stat(&t, "hits"), 3000);
	tb_end(&t);
	return n;
}

static void one_run_tells_the_misses_of_every_size(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 9, 16, 31, 64, 100, 255, 256 };
	struct mrc_curve *c = mrc_curve_create();

	context_misses(5, 2, c); /* whatever the cache is: the accesses are the same */
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++)
		CU_ASSERT_EQUAL(context_misses(0, sizes[i], NULL), mrc_curve_misses(c, sizes[i]));
	mrc_curve_destroy(c);
}

static void cache_with_sets_is_close_to_its_size(void)
{
	struct mrc_curve *c = mrc_curve_create();

	context_misses(3, 4, c);
	for (uint32_t log_sets = 1; log_sets < 6; log_sets++) {
		double real = (double)context_misses(log_sets, 4, NULL) / 3000,
		       curve = (double)mrc_curve_misses(c, 4u << log_sets) / 3000;

		CU_ASSERT(fabs(real - curve) < SET_TOLERANCE);
	}
	mrc_curve_destroy(c);
}

/* ---- the translation unit ---- */

static void translation_misses(uint32_t mpt_ways, uint32_t ways, struct mrc_curve *mpt,
			       struct mrc_curve *mtt, uint64_t misses[2])
{
	static struct tb_mtt e;
	char set[2][40];

	snprintf(set[0], sizeof(set[0]), "mtt.mpt_ways=%u", mpt_ways);
	snprintf(set[1], sizeof(set[1]), "mtt.ways=%u", ways);
	tb_mtt_init(&e, &mtt_class, SETS(set[0], set[1], "mtt.mpt_sets=1", "mtt.sets=1"), 0);
	if (mpt) {
		((struct mtt *)e.t.dut)->mpt_tags.tap = mrc_curve_tap(mpt);
		((struct mtt *)e.t.dut)->mtt_tags.tap = mrc_curve_tap(mtt);
	}
	for (uint32_t i = 0; i < TB_MTT_KEYS; i++) {
		e.region[i] = (struct tb_region){ .is_valid = true,
						  .key = i << 8,
						  .log_page = 12,
						  .start = (uint64_t)i << 32,
						  .len = 8 * PAGE_4K };
		tb_mtt_map(&e, i);
	}
	for (unsigned k = 0; k < 2000; k++) {
		uint64_t i = random_key(&e.rng, TB_MTT_KEYS), page = rng_below(&e.rng, 8);

		tb_mtt_send(&e, 0, 0,
			    (struct xlate_req){ .va = i << 32 | page << 12,
						.len = 1,
						.key = (uint32_t)i << 8 });
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	misses[0] = tb_stat(&e.t, "mpt_misses");
	misses[1] = tb_stat(&e.t, "mtt_misses");
	tb_end(&e.t);
}

static void key_and_translation_caches_have_their_curves(void)
{
	static const uint32_t sizes[] = { 1, 2, 5, 12, 24, 31, 64 };
	struct mrc_curve *mpt = mrc_curve_create(), *mtt = mrc_curve_create();
	uint64_t misses[2];

	translation_misses(8, 16, mpt, mtt, misses);
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		translation_misses(sizes[i], 3 * sizes[i], NULL, NULL, misses);
		CU_ASSERT_EQUAL(misses[0], mrc_curve_misses(mpt, sizes[i]));
		CU_ASSERT_EQUAL(misses[1], mrc_curve_misses(mtt, 3 * sizes[i]));
	}
	mrc_curve_destroy(mpt);
	mrc_curve_destroy(mtt);
}

/* ---- whole runs ---- */

#define RUN_QPS 24u

/* QPs of very different activity. */
static const char *write_trace(void)
{
	static char text[16384];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "rnicsim-trace 1\nhost h0\nhost h1\n"
				    "mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n"
				    "mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr fill=zero\n");

	for (unsigned i = 0; i < RUN_QPS; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"qp h0 q%u type=RC peer=h1.q%u\nqp h1 q%u type=RC peer=h0.q%u\n", i, i, i,
			i);
	for (unsigned i = 0; i < RUN_QPS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "post h0.q%u id=%u op=RDMA_WRITE sge=src:%u:64 remote=dst:%u "
				      "repeat=%u window=2 stride=4096 rstride=4096\n",
				      i, i + 1, 64 * i, 64 * i, 20 + 6 * i);
	return tb_write("mrc.trace", text, n);
}

/* Run with context caches of 'ways' entries; *m is what listened, or NULL for none. */
static char *whole_run(unsigned ways, struct mrc **m, double ratio[2])
{
	static const char *const names[2] = { "nic0.qpc_tx", "nic1.qpc_rx" };
	char set[40], path[64];
	struct tb_run t;
	char *summary;

	snprintf(set, sizeof(set), "qpc_cache.ways=%u", ways);
	CU_ASSERT_FATAL(tb_run_open(
		&t, &(struct tb_run_how){ .trace = write_trace(),
					  .sets = SETS("qpc_cache.sets=1", "qpc_cache.max_misses=1",
						       "qpc_cache.queue=1", set) }));
	if (m)
		*m = mrc_open(&t.r.sim);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n;

		snprintf(path, sizeof(path), "%s.misses", names[i]);
		ratio[i] = (double)tb_run_stat(&t, path);
		snprintf(path, sizeof(path), "%s.requests", names[i]);
		n = tb_run_stat(&t, path);
		ratio[i] /= (double)n;
	}
	summary = tb_run_summary(&t);
	tb_run_close(&t);
	return summary;
}

/* Miss ratio of mrc.csv for a cache and a size. */
static double csv_ratio(const char *csv, const char *cache, unsigned entries)
{
	double ratio = 1;

	for (const char *line = csv; line && *line; line = strchr(line, '\n')) {
		char name[64];
		unsigned size;
		double v;

		line += *line == '\n';
		if (sscanf(line, "%60[^,],%u,%*u,%*u,%*u,%lf", name, &size, &v) == 3 &&
		    strcmp(name, cache) == 0 && size <= entries)
			ratio = v;
	}
	return ratio;
}

static void curves_of_a_run_change_nothing_and_foretell_other_sizes(void)
{
	double base[2], ratio[2];
	struct mrc *m;
	char *with = whole_run(8, &m, base), *without = whole_run(8, NULL, ratio), *csv;
	struct err e = { 0 };

	CU_ASSERT_STRING_EQUAL(with, without);
	CU_ASSERT(mrc_write(m, tb_path("."), &e));
	csv = tb_read(tb_path("mrc.csv"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
	for (unsigned ways = 2; ways <= 32; ways *= 2) {
		free(whole_run(ways, NULL, ratio));
		CU_ASSERT(fabs(ratio[0] - csv_ratio(csv, "nic0.qpc_tx", ways)) < RUN_TOLERANCE);
		CU_ASSERT(fabs(ratio[1] - csv_ratio(csv, "nic1.qpc_rx", ways)) < RUN_TOLERANCE);
	}
	remove(tb_path("mrc.csv"));
	remove(tb_path("mrc.trace"));
	mrc_close(m);
	free(csv);
	free(with);
	free(without);
}

CU_TestInfo test_mrc_tests[] = {
	{ "curve_is_that_of_a_plain_stack", curve_is_that_of_a_plain_stack },
	{ "access_that_the_stack_misses_is_noticed", access_that_the_stack_misses_is_noticed },
	{ "curve_of_many_keys_grows", curve_of_many_keys_grows },
	{ "one_run_tells_the_misses_of_every_size", one_run_tells_the_misses_of_every_size },
	{ "cache_with_sets_is_close_to_its_size", cache_with_sets_is_close_to_its_size },
	{ "key_and_translation_caches_have_their_curves",
	  key_and_translation_caches_have_their_curves },
	{ "curves_of_a_run_change_nothing_and_foretell_other_sizes",
	  curves_of_a_run_change_nothing_and_foretell_other_sizes },
	CU_TEST_INFO_NULL
};
