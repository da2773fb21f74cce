/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - how often a pipelined engine of several like units starts something
 *
 * A unit is busy for so many cycles with each thing that it starts; the next thing goes to the unit
 * that is free first. With n units and things of c cycles, n start in c cycles. What a thing's
 * result is and when is the block's business; the engine only spaces the starts.
 */
#ifndef MODELS_ENGINE_H
#define MODELS_ENGINE_H

#include "sim/sim.h"

struct engine_rate {
	uint64_t work; /* behind the work given so far, in cycles of one unit */
	uint64_t done; /* cycles of work given, of all units */
};

/* A unit is free in this cycle. */
static inline bool engine_is_free(const struct engine_rate *e, uint64_t cycle, uint32_t units)
{
	return e->work < (cycle + 1) * units;
}

/* The first cycle in which a unit is free. */
static inline uint64_t engine_free_cyc(const struct engine_rate *e, uint32_t units)
{
	return e->work / units;
}

/* Start something of 'cyc' cycles now. */
static inline void engine_start(struct engine_rate *e, uint64_t cycle, uint32_t units, uint64_t cyc)
{
	e->work = max_u64(e->work, cycle * units) + cyc;
	e->done += cyc;
}

/* Time for which the units were busy, mean of them. */
static inline uint64_t engine_busy_ps(const struct engine_rate *e, const struct block *b,
				      uint32_t units)
{
	return domain_edge(b->dom, e->done) / units;
}

#endif
