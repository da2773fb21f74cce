/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mrc.c - miss-ratio curves against plain lists, and against real caches of many sizes: equal
 * where the cache is fully associative, close where it has sets. Whole runs: test_mrc_run.c
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/ctx_cache.h"
#include "models/mtt.h"
#include "tools/run/mrc.h"
#include "testbench/tb_mtt.h"

extern const struct block_class qpc_cache_class, mtt_class;

#define SETS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define SET_TOLERANCE 0.06 /* miss ratio: 4 ways in sets, against one set as large */

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
	CU_ASSERT_EQUAL(mrc_curve_end(c), s.n);
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

/* ---- what is brought in unasked, and what is dropped ---- */

#define LISTS 60u

/* Caches of every size up to LISTS, each a list of its keys, most recent first. */
struct lists {
	uint64_t key[LISTS + 1][LISTS];
	uint32_t n[LISTS + 1];
	uint64_t misses[LISTS + 1];
};

static void list_event(struct lists *l, uint32_t size, enum assoc_event what, uint64_t key)
{
	uint64_t *k = l->key[size];
	uint32_t at = 0;

	while (at < l->n[size] && k[at] != key)
		at++;
	if (what == ASSOC_DROPPED) {
		if (at < l->n[size])
			memmove(k + at, k + at + 1, (--l->n[size] - at) * sizeof(*k));
		return;
	}
	l->misses[size] += what == ASSOC_USED && at == l->n[size];
	if (at == l->n[size])
		at = l->n[size] < size ? l->n[size]++ : size - 1; /* a free place, or the last */
	memmove(k + 1, k, at * sizeof(*k));
	k[0] = key;
}

/* Sizes at which curve and lists differ; a wrong curve is not told of what is dropped. */
static unsigned list_differences(uint64_t n_keys, bool is_wrong)
{
	static struct lists l;
	struct mrc_curve *c = mrc_curve_create();
	struct assoc_tap *tap = mrc_curve_tap(c);
	unsigned n = 0;
	struct rng r;

	memset(&l, 0, sizeof(l));
	rng_seed(&r, "mrc_lists", n_keys);
	for (unsigned k = 0; k < 12000; k++) {
		uint64_t key = random_key(&r, n_keys), draw = rng_below(&r, 10);
		enum assoc_event what = draw < 6   ? ASSOC_USED
					: draw < 8 ? ASSOC_PUT
						   : ASSOC_DROPPED;

		for (uint32_t size = 1; size <= LISTS; size++)
			list_event(&l, size, what, key);
		if (what != ASSOC_DROPPED || !is_wrong)
			tap->heard(tap, what, key);
	}
	for (uint32_t size = 1; size <= LISTS; size++)
		n += mrc_curve_misses(c, size) != l.misses[size];
	mrc_curve_destroy(c);
	return n;
}

static void curve_with_drops_is_that_of_caches_with_free_places(void)
{
	static const uint64_t n_keys[] = { 1, 3, 20, 200 };

	for (unsigned i = 0; i < ARRAY_LEN(n_keys); i++)
		CU_ASSERT_EQUAL(list_differences(n_keys[i], false), 0);
}

static void curve_that_is_not_told_of_drops_is_noticed(void)
{
	CU_ASSERT(list_differences(20, true) > 0);
}

/* ---- a last-level cache ---- */

#define LLC_SIZES 6u

/* Reads that missed a cache of 3 slices of 'sets' sets; 'm' listens when it is asked for. */
static uint64_t llc_misses(uint32_t sets, uint32_t io_ways, struct mrc_llc **m)
{
	struct sim s;
	struct block b;
	struct llc c;
	uint64_t misses = 0;
	struct rng r;

	memset(&b, 0, sizeof(b));
	memset(&c, 0, sizeof(c));
	b.name = "llc";
	sim_init(&s, 1);
	b.sim = &s;
	llc_build(&c, &b, 3, sets, 4, io_ways);
	llc_reset(&c);
	if (m)
		*m = mrc_llc_create(&c, &b);
	rng_seed(&r, "llc", 7);
	for (unsigned i = 0; i < 20000; i++) {
		enum llc_use how = (enum llc_use)rng_below(&r, 3);
		bool hit = llc_use(&c, how, random_key(&r, 2000) * LLC_LINE);

		misses += how == LLC_IO_READ && !hit;
	}
	sim_destroy(&s);
	return misses;
}

static void one_run_tells_the_reads_that_miss_every_llc(void)
{
	for (uint32_t io_ways = 0; io_ways <= 4; io_ways += 2) {
		struct mrc_llc *m;
		uint64_t own = llc_misses(8, io_ways, &m);

		CU_ASSERT_EQUAL_FATAL(mrc_llc_sizes(m), LLC_SIZES); /* 1 to 32 sets */
		CU_ASSERT_EQUAL(mrc_llc_misses(m, 3), own);
		for (uint32_t i = 0; i < LLC_SIZES; i++) {
			CU_ASSERT_EQUAL(mrc_llc_entries(m, i), 12u << i);
			CU_ASSERT_EQUAL(mrc_llc_misses(m, i), llc_misses(1u << i, io_ways, NULL));
			CU_ASSERT(i == 0 || mrc_llc_misses(m, i) < mrc_llc_misses(m, i - 1));
		}
		/* other ways for the device's writes are another cache */
		CU_ASSERT_NOT_EQUAL(mrc_llc_misses(m, 2),
				    llc_misses(4, io_ways ? io_ways - 1 : 1, NULL));
		free(m);
	}
}

CU_TestInfo test_mrc_tests[] = {
	{ "curve_is_that_of_a_plain_stack", curve_is_that_of_a_plain_stack },
	{ "access_that_the_stack_misses_is_noticed", access_that_the_stack_misses_is_noticed },
	{ "curve_of_many_keys_grows", curve_of_many_keys_grows },
	{ "one_run_tells_the_misses_of_every_size", one_run_tells_the_misses_of_every_size },
	{ "cache_with_sets_is_close_to_its_size", cache_with_sets_is_close_to_its_size },
	{ "key_and_translation_caches_have_their_curves",
	  key_and_translation_caches_have_their_curves },
	{ "curve_with_drops_is_that_of_caches_with_free_places",
	  curve_with_drops_is_that_of_caches_with_free_places },
	{ "curve_that_is_not_told_of_drops_is_noticed",
	  curve_that_is_not_told_of_drops_is_noticed },
	{ "one_run_tells_the_reads_that_miss_every_llc",
	  one_run_tells_the_reads_that_miss_every_llc },
	CU_TEST_INFO_NULL
};
