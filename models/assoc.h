/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assoc.h - tag store of a set-associative cache
 *
 * A line is a number (set x ways + way), by which the owner indexes what it stores beside the tag.
 * Replacement: true LRU; random, from a seeded stream of its own; or a binary tree of bits
 * (pseudo-LRU, ways - 1 bits a set). A line that is not valid is filled before any that is.
 *
 * Look-up, use and LRU replacement take constant time for any number of ways: beyond a few, tags
 * are found by a hash, and the order of use is a list.
 */
#ifndef MODELS_ASSOC_H
#define MODELS_ASSOC_H

#include "sim/block.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASSOC_NONE UINT32_MAX
#define ASSOC_MAX_LINES (1u << 20)
#define ASSOC_MAX_TREE 64u /* ways of a set with a tree */

enum assoc_policy { ASSOC_LRU, ASSOC_RANDOM, ASSOC_PLRU };
extern const char *const assoc_policies[4]; /* their names, NULL-terminated */

/* Numbers of sets by logarithm, NULL-terminated: for PARAM_ENUM rows. */
#define ASSOC_MAX_SETS_LOG 16u
extern const char *const assoc_set_counts[ASSOC_MAX_SETS_LOG + 2];

/* What a cache tells whoever listens, in order; it changes nothing. */
enum assoc_event {
	ASSOC_USED,   /* an access, which hits or misses */
	ASSOC_PUT,    /* brought in without being asked for */
	ASSOC_DROPPED /* not needed any more, wherever it is */
};
struct assoc_tap {
	void (*heard)(struct assoc_tap *t, enum assoc_event what, uint64_t key);
};

struct assoc {
	uint32_t n_sets; /* a power of two */
	uint32_t n_ways;
	uint64_t *tag; /* by line */
	bool *is_valid;
	struct assoc_tap *tap; /* NULL = none */
	uint8_t policy;        /* enum assoc_policy */
	/* LRU: a ring of the lines of each set, most recent first; not valid ones are last */
	uint32_t *next, *prev; /* by line */
	uint32_t *first;       /* by set */
	/* the others: no way below is free; a tree's bits (1 = the right half is older), or the draw */
	uint32_t *n_used; /* by set */
	uint64_t *tree;   /* by set; node n in bit n, root 1, sons of n: 2n, 2n + 1 */
	uint64_t draw;    /* decides the next victim */
	struct rng rng, seeded;
	/* many ways: lines by hash of set and tag */
	uint32_t *bucket, *chain;
	uint32_t hash_shift; /* 0 = no hash */
};

/* What is wrong with that many ways, or NULL: for the check() of an owner's class. */
const char *assoc_check(uint32_t n_sets, uint32_t n_ways, uint8_t policy);

/* Allocate for block 'b'; from its build() only. 'name' tells apart the tag stores of a block. */
void assoc_build(struct assoc *a, struct block *b, const char *name, uint32_t n_sets,
		 uint32_t n_ways, uint8_t policy);

/* Empty it. */
void assoc_reset(struct assoc *a);

/* The valid line of 'set' that holds 'tag', or ASSOC_NONE. Changes nothing. */
uint32_t assoc_find(const struct assoc *a, uint32_t set, uint64_t tag);

/* The line of 'set' was used. */
void assoc_touch(struct assoc *a, uint32_t set, uint32_t line);

/* The line that assoc_fill would take now. Changes nothing. */
uint32_t assoc_victim(const struct assoc *a, uint32_t set);

/*
 * Put 'tag', which is not there, in place of a line of 'set' that is not valid, else of the one
 * that the policy gives. It counts as used. Returns the line.
 */
uint32_t assoc_fill(struct assoc *a, uint32_t set, uint64_t tag);

/* The same in one of the first 'n_ways' ways of the set only, as masks of ways make it; LRU only. */
uint32_t assoc_fill_among(struct assoc *a, uint32_t set, uint64_t tag, uint32_t n_ways);

/* Forget a line of 'set'. */
void assoc_drop(struct assoc *a, uint32_t set, uint32_t line);

/* Tell of what happens to what 'key' names, once each. */
static inline void assoc_note(const struct assoc *a, enum assoc_event what, uint64_t key)
{
	if (__builtin_expect(a->tap != NULL, 0))
		a->tap->heard(a->tap, what, key);
}

#ifdef __cplusplus
}
#endif
#endif
