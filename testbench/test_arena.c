/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_arena.c - pieces are zeroed, aligned and nobody else's, across chunks and sizes
 */
#include <CUnit/CUnit.h>
#include <stdint.h>
#include <string.h>

#include "sim/arena.h"
#include "sim/rng.h"
#include "sim/units.h"

#define PIECES 8000u
#define LINE 64u

struct piece {
	unsigned char *p;
	size_t n;
};

static bool is_all(const unsigned char *p, size_t n, unsigned char v)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != v)
			return false;
	return true;
}

/* Mostly small ones, some so large that a chunk does not hold many, some that are allocated alone. */
static size_t size_of(struct rng *r)
{
	switch (rng_below(r, 8)) {
	case 0:
		return (size_t)rng_below(r, ARENA_LARGE);
	case 1:
		return ARENA_LARGE - 1 + (size_t)rng_below(r, 3);
	default:
		return 1 + (size_t)rng_below(r, 200);
	}
}

static void arena_pieces_overlap_nowhere(void)
{
	static struct piece piece[PIECES];
	struct arena a = { 0 };
	struct rng r;
	unsigned bad = 0;

	rng_seed(&r, "arena", 1);
	for (unsigned i = 0; i < PIECES; i++) {
		struct piece *x = &piece[i];

		x->n = size_of(&r);
		x->p = arena_alloc(&a, x->n);
		bad += !is_all(x->p, x->n, 0);
		bad += (uintptr_t)x->p % (x->n >= LINE ? LINE : 16) != 0;
		memset(x->p, (int)(i % 255 + 1), x->n);
	}
	for (unsigned i = 0; i < PIECES; i++)
		bad += !is_all(piece[i].p, piece[i].n, (unsigned char)(i % 255 + 1));
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT(a.n_chunks > 1 && a.n_alone > 100); /* all three ways were taken */
	arena_destroy(&a);
}

static void arena_destroyed_can_be_used_again(void)
{
	struct arena a = { 0 };

	for (unsigned round = 0; round < 3; round++) {
		unsigned char *p = arena_alloc(&a, 1000);

		CU_ASSERT(is_all(p, 1000, 0));
		memset(p, 0xa5, 1000);
		arena_destroy(&a);
		CU_ASSERT_EQUAL(a.n_chunks, 0);
	}
}

CU_TestInfo test_arena_tests[] = {
	{ "arena_pieces_overlap_nowhere", arena_pieces_overlap_nowhere },
	{ "arena_destroyed_can_be_used_again", arena_destroyed_can_be_used_again },
	CU_TEST_INFO_NULL,
};
