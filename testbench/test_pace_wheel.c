/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pace_wheel.c - members come at the first tick at or after their time, whatever the distance
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/pace_wheel.h"
#include "sim/rng.h"

#define MEMBERS 512u
#define TICK_PS (1ull << PACE_TICK_BITS)

static struct pace_wheel w;
static struct pace_member member[MEMBERS];

/* The oracle: when each is due, or 0. */
static uint64_t due[MEMBERS];

static uint64_t up(uint64_t ps)
{
	return (ps + TICK_PS - 1) / TICK_PS * TICK_PS;
}

/* Times from one tick to beyond what the wheel reaches. */
static uint64_t distance(struct rng *r)
{
	return 1 + rng_below(r, 1ull << (10 + rng_below(r, 31)));
}

/*
 * 'n' turns of one member and another, with a look whenever the wheel asks for it; members that came
 * at another time than theirs, or that are left. 'lie': of the first member the oracle is told so
 * much later a time.
 */
static unsigned differences(uint64_t seed, unsigned n, uint64_t lie)
{
	uint64_t now = 12345, looks = 0;
	unsigned errors = 0, n_waiting = 0;
	struct rng r;
	uint32_t m;

	rng_seed(&r, "pace_wheel", seed);
	memset(due, 0, sizeof(due));
	pace_wheel_init(&w, member);
	while (n || n_waiting) {
		uint64_t next;

		while (n && n_waiting < MEMBERS && rng_below(&r, 4)) {
			uint64_t at = now + distance(&r);

			for (m = (uint32_t)rng_below(&r, MEMBERS); due[m];)
				m = (m + 1) % MEMBERS;
			pace_wheel_add(&w, m, at, now);
			due[m] = at + (m ? 0 : lie);
			n_waiting++;
			n--;
		}
		next = pace_wheel_next_ps(&w);
		errors += n_waiting ? next == UINT64_MAX || next + TICK_PS <= now
				    : next != UINT64_MAX;
		now = n_waiting && next > now ? next : now + 1;
		while (pace_wheel_take(&w, now, &m)) {
			errors += !due[m] || up(due[m]) != now / TICK_PS * TICK_PS;
			due[m] = 0;
			n_waiting--;
		}
		if (++looks > 4000000)
			return errors + n_waiting;
	}
	return errors;
}

static void pace_wheel_any_distance_comes_at_its_tick(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		CU_ASSERT_EQUAL(differences(seed, 3000, 0), 0);
}

static void pace_wheel_wrong_time_is_caught(void)
{
	CU_ASSERT(differences(1, 3000, 3 * TICK_PS) > 0);
}

/* An early look takes nothing and changes nothing: the same members at the same times. */
static void pace_wheel_early_looks_change_nothing(void)
{
	uint64_t took[2][64];

	for (unsigned k = 0; k < 2; k++) {
		uint32_t m, n = 0;

		pace_wheel_init(&w, member);
		for (uint32_t i = 0; i < 64; i++)
			pace_wheel_add(&w, i, 1 + i * i * 70001ull * (i % 3 ? 1 : 100), 0);
		for (uint64_t now = 0; n < 64;) {
			now = k ? now + TICK_PS / 3 : pace_wheel_next_ps(&w);
			while (n < 64 && pace_wheel_take(&w, now, &m))
				took[k][n++] = now / TICK_PS << 8 | m;
		}
	}
	CU_ASSERT_EQUAL(memcmp(took[0], took[1], sizeof(took[0])), 0);
}

CU_TestInfo test_pace_wheel_tests[] = {
	{ "any distance comes at its tick", pace_wheel_any_distance_comes_at_its_tick },
	{ "wrong time is caught", pace_wheel_wrong_time_is_caught },
	{ "early looks change nothing", pace_wheel_early_looks_change_nothing },
	CU_TEST_INFO_NULL
};
