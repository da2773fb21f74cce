/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.c - xoshiro256** 1.0 seeded by splitmix64 (Blackman, Vigna: Scrambled linear pseudorandom
 * number generators, 2018; both generators are in the public domain)
 */
#include "sim/err.h"
#include "sim/rng.h"
#include "sim/units.h"

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t rotl(uint64_t x, unsigned k)
{
	return x << k | x >> (64 - k);
}

void rng_seed(struct rng *r, const char *name, uint64_t seed)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a, 64 bits */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	/* the seed goes through the mixer once, so that it cannot cancel against a name */
	h ^= splitmix64(&seed);
	for (unsigned i = 0; i < 4; i++)
		r->s[i] = splitmix64(&h);
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Lemire, Fast random integer generation in an interval, 2019: biased draws are drawn again. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
	u128 m;

	SIM_CHECK(n > 0, NULL);
	m = (u128)rng_next(r) * n;
	if ((uint64_t)m < n) {
		uint64_t reject = (0 - n) % n;

		while ((uint64_t)m < reject)
			m = (u128)rng_next(r) * n;
	}
	return (uint64_t)(m >> 64);
}

bool rng_chance(struct rng *r, uint64_t ppb)
{
	if (ppb == 0)
		return false;
	return rng_below(r, PPB_ONE) < ppb;
}
