/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_llc.c - the last-level cache against a list of lines in order of use
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/llc.h"
#include "sim/sim.h"

#define SLICES 3u
#define SETS 4u
#define WAYS 5u
#define ROUNDS 20000u

static struct sim s;
static struct llc c;

static void start(uint32_t io_ways)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	b.name = "llc";
	sim_init(&s, 1);
	b.sim = &s;
	llc_build(&c, &b, SLICES, SETS, WAYS, io_ways);
	llc_reset(&c);
}

/* Ways of a set: each a line and when it was used; 0 = empty. */
struct way {
	uint64_t line, used;
};

/* The oracle: the first empty of the first n ways, else the one that was used least recently. */
static bool list_use(struct way *set, uint64_t line, uint32_t n, uint64_t now)
{
	struct way *victim = set;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (set[i].used && set[i].line == line) {
			set[i].used = now;
			return true;
		}
	}
	for (uint32_t i = 1; i < n; i++)
		if (victim->used && (!set[i].used || set[i].used < victim->used))
			victim = &set[i];
	if (n)
		*victim = (struct way){ line, now };
	return false;
}

/*
 * Random reads and writes of CPU and device; returns answers that differ from the list's. A wrong
 * list takes the device's writes for the CPU's.
 */
static uint32_t run_random(uint32_t io_ways, bool is_list_wrong)
{
	struct way set[SLICES * SETS][WAYS];
	struct rng r;
	uint32_t differ = 0, hits = 0;

	memset(set, 0, sizeof(set));
	rng_seed(&r, "llc", io_ways);
	start(io_ways);
	for (uint64_t k = 1; k <= ROUNDS; k++) {
		uint64_t line = rng_below(&r, 100), pa = line * LLC_LINE + rng_below(&r, LLC_LINE);
		uint64_t who = rng_below(&r, 3);
		bool got, want;

		got = who == 0   ? llc_use(&c, LLC_CPU, pa)
		      : who == 1 ? llc_use(&c, LLC_IO_READ, pa)
				 : llc_use(&c, LLC_IO_WRITE, pa);
		want = list_use(set[line % (SLICES * SETS)], line,
				who == 0 || (is_list_wrong && who == 2) ? WAYS
				: who == 1                              ? 0
									: io_ways,
				k);
		differ += got != want;
		hits += want;
	}
	CU_ASSERT(hits > ROUNDS / 10);
	sim_destroy(&s);
	return differ;
}

static void llc_random_accesses_match_list(void)
{
	for (uint32_t io_ways = 0; io_ways <= WAYS; io_ways++)
		CU_ASSERT_EQUAL(run_random(io_ways, false), 0);
}

static void llc_list_without_way_limit_is_caught(void)
{
	CU_ASSERT(run_random(2, true) > 0);
}

static void llc_device_read_does_not_allocate(void)
{
	start(2);
	CU_ASSERT_FALSE(llc_use(&c, LLC_IO_READ, 640));
	CU_ASSERT_FALSE(llc_use(&c, LLC_IO_READ, 640));
	CU_ASSERT_FALSE(llc_use(&c, LLC_CPU, 640));
	CU_ASSERT(llc_use(&c, LLC_IO_READ, 703));
	CU_ASSERT_FALSE(llc_use(&c, LLC_IO_READ, 704));
	sim_destroy(&s);
}

/* What a device writes pushes out no more than its ways of each set; the CPU's lines stay. */
static void llc_device_writes_leave_the_cpu_its_ways(void)
{
	const uint64_t lines = SLICES * SETS * (WAYS - 2), others = 1000 * SLICES * SETS;
	uint32_t kept = 0;

	start(2);
	for (uint64_t i = 0; i < SLICES * SETS * WAYS; i++)
		llc_use(&c, LLC_CPU, i * LLC_LINE);
	for (uint64_t i = 0; i < others; i++)
		llc_use(&c, LLC_IO_WRITE, (10000 + i) * LLC_LINE);
	for (uint64_t i = 0; i < SLICES * SETS * WAYS; i++)
		kept += llc_use(&c, LLC_IO_READ, i * LLC_LINE);
	CU_ASSERT_EQUAL(kept, lines);
	sim_destroy(&s);
}

CU_TestInfo test_llc_tests[] = {
	{ "llc_random_accesses_match_list", llc_random_accesses_match_list },
	{ "llc_list_without_way_limit_is_caught", llc_list_without_way_limit_is_caught },
	{ "llc_device_read_does_not_allocate", llc_device_read_does_not_allocate },
	{ "llc_device_writes_leave_the_cpu_its_ways", llc_device_writes_leave_the_cpu_its_ways },
	CU_TEST_INFO_NULL
};
