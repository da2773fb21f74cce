/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - the units of the simulator and the only constants that convert them
 *
 * Time is uint64_t picoseconds (`_ps`), block time is cycles (`_cyc`), rates are bits a second
 * (`_bps`), frequencies hertz (`_hz`), probabilities parts in a billion (`_ppb`).
 */
#ifndef SIM_UNITS_H
#define SIM_UNITS_H

#include <stdint.h>

/* Products of two such numbers. */
__extension__ typedef unsigned __int128 u128;

#define PS_PER_NS 1000ull
#define PS_PER_US 1000000ull
#define PS_PER_MS 1000000000ull
#define PS_PER_S 1000000000000ull
#define PPB_ONE 1000000000ull /* certainty, as a probability */

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)
#define KBPS 1000ull
#define MBPS (1000ull * KBPS)
#define GBPS (1000ull * MBPS)
#define MHZ 1000000ull
#define GHZ (1000ull * MHZ)

#define TIME_NEVER UINT64_MAX  /* ps */
#define CYCLE_NEVER UINT64_MAX /* cycles */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}
static inline uint64_t align_up(uint64_t a, uint64_t to)
{
	return ceil_div(a, to) * to;
}

/* Picoseconds that 'bytes' take at 'rate_bps', rounded up; bytes below 2 MiB never overflow. */
static inline uint64_t ps_of_bytes(uint64_t bytes, uint64_t rate_bps)
{
	return ceil_div(bytes * 8 * PS_PER_S, rate_bps);
}

#endif
