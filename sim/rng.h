/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.h - one seeded random stream per block instance
 *
 * The state is seeded from the instance path and the global seed, so adding a block does not move
 * another's numbers. xoshiro256** 1.0 (Blackman, Vigna 2018), seeded by splitmix64.
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rng {
	uint64_t s[4];
};

/* Seed from a name (FNV-1a hash) and a number. */
void rng_seed(struct rng *r, const char *name, uint64_t seed);

/* The next 64 random bits. */
uint64_t rng_next(struct rng *r);

/* Uniform in 0 .. n-1; n >= 1. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* True with probability ppb / 10^9. */
bool rng_chance(struct rng *r, uint64_t ppb);

#ifdef __cplusplus
}
#endif
#endif
