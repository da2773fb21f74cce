/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hist.h - log-linear histogram: integer, mergeable, no allocation
 *
 * Values 0..255 have a bucket each; above, every power of two is cut into 128 equal buckets, so a
 * quantile is at most 1/128 (0.8 %) too high, never too low. Exact minimum, maximum, sum and count are kept beside.
 */
#ifndef SIM_HIST_H
#define SIM_HIST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HIST_SUB_BITS 7u
#define HIST_SUB (1u << HIST_SUB_BITS) /* buckets a power of two */
#define HIST_EXACT (2u * HIST_SUB)     /* values below have a bucket each */
#define HIST_BUCKETS (HIST_EXACT + (63u - HIST_SUB_BITS) * HIST_SUB)

struct hist {
	uint64_t n, sum, min, max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t v);
void hist_merge(struct hist *into, const struct hist *from);

/* The value at or below which ppm / 10^6 of the samples lie (bucket's upper edge, at most max); 0 when empty. */
uint64_t hist_quantile(const struct hist *h, uint64_t ppm);

/* Integer mean, rounded down; 0 when empty. */
uint64_t hist_mean(const struct hist *h);

#ifdef __cplusplus
}
#endif
#endif
