/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hist.c - log-linear histogram
 */
#include "sim/hist.h"
#include "sim/units.h"

static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < HIST_EXACT)
		return (unsigned)v;
	shift = 63u - (unsigned)__builtin_clzll(v) - HIST_SUB_BITS;
	return HIST_EXACT + (shift - 1) * HIST_SUB + ((unsigned)(v >> shift) & (HIST_SUB - 1));
}

/* Largest value that falls into bucket 'i'. */
static uint64_t bucket_top(unsigned i)
{
	unsigned shift, sub;

	if (i < HIST_EXACT)
		return i;
	shift = (i - HIST_EXACT) / HIST_SUB + 1;
	sub = (i - HIST_EXACT) % HIST_SUB;
	/* the last bucket's end wraps to 0, and 0 - 1 is the right answer */
	return ((uint64_t)(HIST_SUB + sub + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t v)
{
	if (h->n == 0 || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->n++;
	h->sum += v;
	h->bucket[bucket_of(v)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (from->n == 0)
		return;
	into->min = into->n ? min_u64(into->min, from->min) : from->min;
	into->max = max_u64(into->max, from->max);
	into->n += from->n;
	into->sum += from->sum;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t hist_quantile(const struct hist *h, uint64_t ppm)
{
	uint64_t rank, seen = 0;

	if (h->n == 0)
		return 0;
	rank = (uint64_t)(((u128)h->n * ppm + 999999) / 1000000);
	rank = max_u64(rank, 1);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return min_u64(bucket_top(i), h->max);
	}
	return h->max;
}

uint64_t hist_mean(const struct hist *h)
{
	return h->n ? h->sum / h->n : 0;
}
