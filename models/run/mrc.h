/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc.h - `rnicsim run --mrc`: miss-ratio curves of the caches, at every size, from one run
 *
 * Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", 1970: under LRU a
 * fully associative cache of n entries misses an access exactly when n or more other keys were used
 * since that key's last use. A curve listens to the accesses of a cache (assoc_tap) and counts those
 * distances: O(log n) an access, memory by the number of keys. It changes no result.
 */
#ifndef MODELS_RUN_MRC_H
#define MODELS_RUN_MRC_H

#include <stdio.h>

#include "models/assoc.h"
#include "sim/sim.h"

/* ---- one stream of accesses ---- */

struct mrc_curve;

struct mrc_curve *mrc_curve_create(void);
void mrc_curve_destroy(struct mrc_curve *c);

/* An access to 'key'. */
void mrc_curve_use(struct mrc_curve *c, uint64_t key);

/* So many so far; so many keys. */
uint64_t mrc_curve_accesses(const struct mrc_curve *c);
uint64_t mrc_curve_keys(const struct mrc_curve *c);

/* Misses that a fully associative LRU cache of 'entries' would have had; it begins empty. */
uint64_t mrc_curve_misses(const struct mrc_curve *c, uint64_t entries);

/* Accesses whose distance was 'distance', below the number of keys: hits of every larger cache. */
uint64_t mrc_curve_at(const struct mrc_curve *c, uint64_t distance);

/* What to hang on a cache's tag store. */
struct assoc_tap *mrc_curve_tap(struct mrc_curve *c);

/* ---- those of a system ---- */

struct mrc;

/* Listen to every cache of 's', whose net-list is finished. */
struct mrc *mrc_open(struct sim *s);

/*
 * The curves as DIR/mrc.csv: a row for each size at which a cache's misses change. False with 'e' set
 * when it cannot be written.
 */
bool mrc_write(const struct mrc *m, const char *dir, struct err *e);

/* A line a cache: misses counted by the run, and ratios of the curve around its size. */
void mrc_print(const struct mrc *m, FILE *f);

/* NULL is ignored. */
void mrc_close(struct mrc *m);

#endif
