/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mem.c - physical memory, frames and address spaces, against flat arrays
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/mem.h"
#include "sim/rng.h"
#include "sim/units.h"

#define FLAT (600ull * 1024)
#define VA 0x7f0000000000ull

static void mem_alloc_is_aligned_zeroed_and_apart(void)
{
	static const struct {
		uint64_t len, align;
	} want[] = { { 64, 64 },    { 100, 256 },   { 8, 64 },         { 4096, 4096 },
		     { 64, 4096 },  { 64, 64 },     { 3 << 20, 4096 }, { 2 << 20, 2 << 20 },
		     { 65536, 64 }, { 2 << 20, 64 } };
	uint64_t pa[ARRAY_LEN(want)];
	struct mem m;

	mem_init(&m);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		pa[i] = mem_alloc(&m, want[i].len, want[i].align);
		CU_ASSERT_EQUAL(pa[i] % want[i].align, 0);
		CU_ASSERT_NOT_EQUAL(pa[i], 0);
		for (uint64_t k = 0; k < want[i].len; k++)
			if (*mem_at(&m, pa[i] + k))
				CU_FAIL("not zeroed");
		for (size_t k = 0; k < i; k++)
			CU_ASSERT(pa[k] + want[k].len <= pa[i] || pa[i] + want[i].len <= pa[k]);
	}
	/* a page-aligned range has its frames for itself */
	CU_ASSERT_NOT_EQUAL(pa[5] / PAGE_4K, pa[4] / PAGE_4K);
	mem_destroy(&m);
}

static void mem_frames_are_distinct_and_never_in_a_row(void)
{
	enum { N = 1500 };
	static uint64_t pa[N];
	struct mem m;

	mem_init(&m);
	for (int i = 0; i < N; i++) {
		pa[i] = mem_frame(&m);
		CU_ASSERT_EQUAL(pa[i] % PAGE_4K, 0);
		CU_ASSERT_PTR_NOT_NULL(mem_at(&m, pa[i]));
		if (i)
			CU_ASSERT_NOT_EQUAL(pa[i], pa[i - 1] + PAGE_4K);
		for (int k = 0; k < i; k++)
			if (pa[k] == pa[i])
				CU_FAIL("a frame was handed out twice");
	}
	mem_destroy(&m);
}

static void mem_copy_across_chunks_keeps_bytes(void)
{
	uint8_t out[8192], in[8192];
	uint64_t pa;
	struct mem m;

	mem_init(&m);
	pa = mem_alloc(&m, 2 * MEM_CHUNK, 64) + MEM_CHUNK - 4000;
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 7 + 1);
	CU_ASSERT_TRUE(mem_write(&m, pa, out, sizeof(out)));
	CU_ASSERT_TRUE(mem_read(&m, pa, in, sizeof(in)));
	CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
	mem_destroy(&m);
}

static void mem_absent_range_copies_nothing(void)
{
	uint8_t buf[256];
	uint64_t pa, end;
	struct mem m;

	mem_init(&m);
	pa = mem_alloc(&m, MEM_CHUNK, 64);
	end = pa + MEM_CHUNK;
	memset(buf, 0x55, sizeof(buf));
	CU_ASSERT_FALSE(mem_write(&m, end - 100, buf, sizeof(buf)));
	CU_ASSERT_EQUAL(*mem_at(&m, end - 100), 0);
	CU_ASSERT_FALSE(mem_read(&m, end - 100, buf, sizeof(buf)));
	CU_ASSERT_EQUAL(buf[0], 0x55);
	CU_ASSERT_FALSE(mem_read(&m, 0, buf, 1));
	CU_ASSERT_FALSE(mem_read(&m, UINT64_MAX - 1, buf, 16));
	CU_ASSERT_TRUE(mem_read(&m, 0, buf, 0));
	mem_destroy(&m);
}

/*
 * What a copy would do that took a whole range to be contiguous: the fault that scattered frames
 * must show.
 */
static bool write_unsplit(struct space *s, uint64_t va, const void *from, uint64_t len)
{
	return mem_write(s->mem, space_pa(s, va, NULL), from, len);
}

/* Random copies in and out of a space and a flat array. Returns the reads that differ. */
static int run_against_flat(uint64_t page,
			    bool (*write)(struct space *, uint64_t, const void *, uint64_t))
{
	static uint8_t flat[FLAT], buf[20000];
	struct mem m;
	struct space s;
	struct rng r;
	int differ = 0;

	memset(flat, 0, sizeof(flat));
	rng_seed(&r, "test_mem", page);
	mem_init(&m);
	space_init(&s, &m);
	CU_ASSERT_TRUE(space_map(&s, VA, FLAT, page));
	for (int i = 0; i < 400; i++) {
		uint64_t len = rng_below(&r, sizeof(buf)), off = rng_below(&r, FLAT - len);

		for (uint64_t k = 0; k < len; k++)
			buf[k] = (uint8_t)rng_next(&r);
		memcpy(flat + off, buf, len);
		write(&s, VA + off, buf, len);
		len = rng_below(&r, sizeof(buf));
		off = rng_below(&r, FLAT - len);
		CU_ASSERT_TRUE(space_read(&s, VA + off, buf, len));
		differ += memcmp(buf, flat + off, len) != 0;
	}
	space_destroy(&s);
	mem_destroy(&m);
	return differ;
}

static void space_random_copies_match_flat_array(void)
{
	CU_ASSERT_EQUAL(run_against_flat(PAGE_4K, space_write), 0);
	CU_ASSERT_EQUAL(run_against_flat(2 * MIB, space_write), 0);
}

static void space_missing_page_split_is_caught(void)
{
	CU_ASSERT(run_against_flat(PAGE_4K, write_unsplit) > 0);
}

static void space_overlapping_maps_share_pages(void)
{
	struct mem m;
	struct space s;
	uint64_t pa, run;

	mem_init(&m);
	space_init(&s, &m);
	CU_ASSERT_TRUE(space_map(&s, VA + 0x5000, 0x3000, PAGE_4K));
	CU_ASSERT_TRUE(space_map(&s, VA + 0xa800, 1, PAGE_4K));
	pa = space_pa(&s, VA + 0x6010, &run);
	CU_ASSERT_EQUAL(run, 0xff0);
	/* over both, and the holes between */
	CU_ASSERT_TRUE(space_map(&s, VA + 0x1234, 0xc000, PAGE_4K));
	CU_ASSERT_EQUAL(space_pa(&s, VA + 0x6010, NULL), pa);
	for (uint64_t o = 0x1000; o < 0xe000; o += 0x1000)
		CU_ASSERT_NOT_EQUAL(space_pa(&s, VA + o, NULL), UINT64_MAX);
	CU_ASSERT_EQUAL(space_pa(&s, VA + 0xfff, NULL), UINT64_MAX);
	CU_ASSERT_EQUAL(space_pa(&s, VA + 0xe000, NULL), UINT64_MAX);
	for (uint32_t i = 1; i < s.n; i++)
		CU_ASSERT(s.map[i - 1].va + s.map[i - 1].len <= s.map[i].va);
	space_destroy(&s);
	mem_destroy(&m);
}

static void space_mixed_page_sizes_follow_the_rule(void)
{
	struct mem m;
	struct space s;
	uint64_t run;

	mem_init(&m);
	space_init(&s, &m);
	CU_ASSERT_TRUE(space_map(&s, VA + 5, 4 * MIB, 2 * MIB));
	/* in larger pages: left alone */
	CU_ASSERT_TRUE(space_map(&s, VA + 100, 3 * MIB, PAGE_4K));
	CU_ASSERT_EQUAL(space_pa(&s, VA + 2 * MIB + 64, &run) % (2 * MIB), 64);
	CU_ASSERT_EQUAL(run, 2 * MIB - 64);
	CU_ASSERT_TRUE(space_map(&s, VA + 16 * MIB, 4096, PAGE_4K));
	/* a smaller page is in the way */
	CU_ASSERT_FALSE(space_map(&s, VA + 16 * MIB + 8192, 4096, 2 * MIB));
	CU_ASSERT_FALSE(space_map(&s, UINT64_MAX - 10, 100, PAGE_4K));
	/* up to the last byte of all, twice */
	CU_ASSERT_TRUE(space_map(&s, UINT64_MAX - 4095, 4096, PAGE_4K));
	CU_ASSERT_TRUE(space_map(&s, UINT64_MAX - 9999, 10000, PAGE_4K));
	CU_ASSERT_NOT_EQUAL(space_pa(&s, UINT64_MAX - 9999, NULL), UINT64_MAX);
	CU_ASSERT_NOT_EQUAL(space_pa(&s, UINT64_MAX, &run), UINT64_MAX);
	CU_ASSERT_EQUAL(run, 1);
	space_destroy(&s);
	mem_destroy(&m);
}

static void space_unmapped_part_copies_nothing(void)
{
	uint8_t buf[64] = { 1 };
	struct mem m;
	struct space s;

	mem_init(&m);
	space_init(&s, &m);
	CU_ASSERT_TRUE(space_map(&s, VA, 4096, PAGE_4K));
	CU_ASSERT_FALSE(space_write(&s, VA + 4090, buf, 16));
	CU_ASSERT_EQUAL(*mem_at(&m, space_pa(&s, VA + 4090, NULL)), 0);
	CU_ASSERT_FALSE(space_read(&s, VA + 4090, buf, 16));
	CU_ASSERT_EQUAL(buf[0], 1);
	CU_ASSERT_TRUE(space_read(&s, VA + 4090, buf, 6));
	space_destroy(&s);
	mem_destroy(&m);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_mem_tests[] = { TEST(mem_alloc_is_aligned_zeroed_and_apart),
				 TEST(mem_frames_are_distinct_and_never_in_a_row),
				 TEST(mem_copy_across_chunks_keeps_bytes),
				 TEST(mem_absent_range_copies_nothing),
				 TEST(space_random_copies_match_flat_array),
				 TEST(space_missing_page_split_is_caught),
				 TEST(space_overlapping_maps_share_pages),
				 TEST(space_mixed_page_sizes_follow_the_rule),
				 TEST(space_unmapped_part_copies_nothing),
				 CU_TEST_INFO_NULL };
