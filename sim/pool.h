/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - reference-counted buffers (packets, WQEs, CQEs) passed between blocks by handle
 *
 * A pool belongs to the one block that allocates from it; any block may add or drop references. A buffer
 * whose last reference is dropped at one edge can be allocated from the next time stamp on, so the order
 * of steps within an edge cannot matter. Handles are opaque: no result, signal or statistic may depend on
 * their value. An empty pool is back-pressure: pool_stall() asks for a wake-up when a buffer comes back.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BUF_NONE 0u         /* no buffer */
#define POOL_INDEX_BITS 18u /* buffers a pool: up to 2^18 - 1; pools: up to 2^14 */

struct pool {
	unsigned char *mem; /* n x stride, cache-line aligned */
	uint32_t *refs;     /* per buffer */
	uint32_t *link;     /* per buffer: next free */
	uint32_t n, stride, size;
	uint32_t id; /* in sim->pools */
	/* free buffers, those dropped last first, as they are in the processor's caches; n = none */
	uint32_t ready;            /* may be taken */
	uint32_t fresh, fresh_end; /* dropped at fresh_ps: may be taken at later times */
	uint64_t fresh_ps;
	uint32_t in_use;
	bool is_starved;
	struct block *owner;
	/* statistics */
	uint64_t allocs;
};

/*
 * A pool of 'n' buffers of 'size' bytes for 'owner'; from its build() only. Lives as long as the net-list.
 */
struct pool *pool_create(struct block *owner, uint32_t n, uint32_t size);

/* True when a buffer can be taken at the owner's current edge. Pure. */
static inline bool pool_can_alloc(const struct pool *p)
{
	return p->ready != p->n || (p->fresh != p->n && p->fresh_ps < p->owner->now_ps);
}

/* Ask to be woken when a buffer can be taken; returns CYCLE_NEVER, as chan_stall does. */
uint64_t pool_stall(struct pool *p);

/* Take a buffer with one reference; the caller has checked pool_can_alloc(). Contents are undefined. */
uint32_t pool_alloc(struct pool *p);

/* The bytes of a buffer. */
static inline void *buf_data(const struct sim *s, uint32_t handle)
{
	const struct pool *p = s->pools[handle >> POOL_INDEX_BITS];
	uint32_t i = (handle & ((1u << POOL_INDEX_BITS) - 1)) - 1;

	return p->mem + (size_t)i * p->stride;
}

/* Bytes that a buffer can hold. */
static inline uint32_t buf_size(const struct sim *s, uint32_t handle)
{
	return s->pools[handle >> POOL_INDEX_BITS]->size;
}

/* One more reference. */
void buf_ref(const struct sim *s, uint32_t handle);

/* One reference less; at zero the buffer goes back to its pool. 'by' is the block that drops it. */
void buf_unref(struct block *by, uint32_t handle);

/* References of a buffer. Only its last holder may write to it (copy on write when > 1). */
uint32_t buf_refs(const struct sim *s, uint32_t handle);

#ifdef __cplusplus
}
#endif
#endif
