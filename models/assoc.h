/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assoc.h - tag store of a set-associative cache with true LRU replacement
 *
 * A line is a number (set x ways + way), by which the owner indexes what it stores beside the
 * tag. Every line of a set has a rank, 0 = used last; ranks of a set are always a permutation,
 * valid or not, so the hardware needs log2(ways) bits a line.
 */
#ifndef MODELS_ASSOC_H
#define MODELS_ASSOC_H

#include "sim/block.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASSOC_NONE UINT32_MAX

struct assoc {
	uint32_t n_sets; /* a power of two */
	uint32_t n_ways; /* 1..255 */
	uint64_t *tag;   /* by line */
	bool *is_valid;
	uint8_t *rank;
};

/* Allocate for block 'b'; from its build() only. */
void assoc_build(struct assoc *a, struct block *b, uint32_t n_sets, uint32_t n_ways);

/* Empty it. */
void assoc_reset(struct assoc *a);

/* The valid line of 'set' that holds 'tag', or ASSOC_NONE. Changes nothing. */
uint32_t assoc_find(const struct assoc *a, uint32_t set, uint64_t tag);

/* The line was used: it becomes the most recent of its set. */
void assoc_touch(struct assoc *a, uint32_t line);

/*
 * Put 'tag' in place of the first line of 'set' that is not valid, else of the least recently
 * used one. It becomes the most recent. Returns the line.
 */
uint32_t assoc_fill(struct assoc *a, uint32_t set, uint64_t tag);

/* The same in one of the first 'n_ways' ways of the set only, as masks of ways make it. */
uint32_t assoc_fill_among(struct assoc *a, uint32_t set, uint64_t tag, uint32_t n_ways);

/* Forget a line; its rank stays. */
void assoc_drop(struct assoc *a, uint32_t line);

#ifdef __cplusplus
}
#endif
#endif
