/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc.h - `rnicsim run --mrc`: miss-ratio curves of the caches, at every size, from one run
 *
 * Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", 1970: under LRU a
 * fully associative cache of n entries misses an access exactly when n or more other keys were used
 * since that key's last use. A curve listens to the accesses of a cache (assoc_tap) and counts those
 * distances: O(log n) an access, memory by the number of keys. It changes no result.
 *
 * What is dropped (an invalidation, a WQE that is done) leaves a hole in the stack, which the next
 * key that is pushed above it fills: a larger cache had a free place there (Thompson and Smith,
 * "Efficient (stack) algorithms for analysis of write-back and sector memories", 1989).
 *
 * The last-level cache is no stack: what devices write goes to a few ways only and what they read is
 * not brought in. For it caches of other numbers of sets are kept beside it, tags only.
 */
#ifndef TOOLS_RUN_MRC_H
#define TOOLS_RUN_MRC_H

#include <stdio.h>

#include "models/assoc.h"
#include "models/llc.h"
#include "sim/sim.h"

/* ---- one stream of accesses ---- */

struct mrc_curve;

struct mrc_curve *mrc_curve_create(void);
void mrc_curve_destroy(struct mrc_curve *c);

/* An access to 'key'; it is brought in, which is no access; it is dropped. */
void mrc_curve_use(struct mrc_curve *c, uint64_t key);
void mrc_curve_put(struct mrc_curve *c, uint64_t key);
void mrc_curve_drop(struct mrc_curve *c, uint64_t key);

/* Accesses so far; the size from which on the curve is flat. */
uint64_t mrc_curve_accesses(const struct mrc_curve *c);
uint64_t mrc_curve_end(const struct mrc_curve *c);

/* Misses that a fully associative LRU cache of 'entries' would have had; it begins empty. */
uint64_t mrc_curve_misses(const struct mrc_curve *c, uint64_t entries);

/* Accesses whose distance was 'distance', below mrc_curve_end(): hits of every larger cache. */
uint64_t mrc_curve_at(const struct mrc_curve *c, uint64_t distance);

/* What to hang on a cache's tag store. */
struct assoc_tap *mrc_curve_tap(struct mrc_curve *c);

/* ---- a last-level cache ---- */

struct mrc_llc;

/*
 * Listen to 'c', a cache of block 'b' that was reset, and keep caches of 1 set a slice to 4 times its
 * sets. It must not be destroyed before the last access to 'c'; what the caches take lives as long
 * as the net-list. Release with free().
 */
struct mrc_llc *mrc_llc_create(struct llc *c, struct block *b);

/* How many sizes; lines of one, rising, and the device's reads that missed it; all reads. */
uint32_t mrc_llc_sizes(const struct mrc_llc *m);
uint64_t mrc_llc_entries(const struct mrc_llc *m, uint32_t i);
uint64_t mrc_llc_misses(const struct mrc_llc *m, uint32_t i);
uint64_t mrc_llc_accesses(const struct mrc_llc *m);

/* ---- those of a system ---- */

struct mrc;

/* Listen to every cache of 's', whose net-list is finished. */
struct mrc *mrc_open(struct sim *s);

/*
 * The curves as DIR/mrc.csv: a row for each size at which a cache's misses change; of a last-level
 * cache, one for each of its sizes. False with 'e' set when it cannot be written.
 */
bool mrc_write(const struct mrc *m, const char *dir, struct err *e);

/* A line a cache: misses counted by the run, and ratios of the curve around its size. */
void mrc_print(const struct mrc *m, FILE *f);

/* NULL is ignored. */
void mrc_close(struct mrc *m);

#endif
