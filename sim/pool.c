/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - reference-counted buffers passed between blocks by handle
 */
#include "sim/pool.h"

#define CACHE_LINE 64u

struct pool *pool_create(struct block *owner, uint32_t n, uint32_t size)
{
	struct sim *s = owner->sim;
	struct pool *p = block_alloc(owner, 1, sizeof(*p));

	SIM_CHECK(n > 0 && n < 1u << POOL_INDEX_BITS, owner);
	p->n = n;
	p->size = size;
	p->stride = (uint32_t)align_up(size, CACHE_LINE);
	p->mem = block_alloc(owner, n, p->stride);
	p->refs = block_alloc(owner, n, sizeof(*p->refs));
	p->link = block_alloc(owner, n, sizeof(*p->link));
	for (uint32_t i = 0; i < n; i++)
		p->link[i] = i + 1;
	p->ready = 0;
	p->fresh = n;
	p->owner = owner;
	p->id = s->n_pools;
	if (s->n_pools == s->cap_pools) {
		s->cap_pools = s->cap_pools ? 2 * s->cap_pools : 16;
		s->pools = x_realloc(s->pools, s->cap_pools * sizeof(struct pool *));
	}
	s->pools[s->n_pools++] = p;
	return p;
}

uint64_t pool_stall(struct pool *p)
{
	struct block *b = p->owner;

	p->is_starved = true;
	if (p->fresh != p->n)
		b->rearm_cyc = min_u64(b->rearm_cyc, block_cycle_at(b, p->fresh_ps + 1));
	return CYCLE_NEVER;
}

/* At 'now_ps' those that were dropped before may be taken. */
static void pool_ripen(struct pool *p, uint64_t now_ps)
{
	if (p->fresh == p->n || p->fresh_ps == now_ps)
		return;
	p->link[p->fresh_end] = p->ready;
	p->ready = p->fresh;
	p->fresh = p->n;
}

uint32_t pool_alloc(struct pool *p)
{
	uint32_t i;

	SIM_CHECK(pool_can_alloc(p), p->owner);
	pool_ripen(p, p->owner->now_ps);
	i = p->ready;
	p->ready = p->link[i];
	p->is_starved = false;
	p->refs[i] = 1;
	p->allocs++;
	p->in_use++;
	return (p->id << POOL_INDEX_BITS) + i + 1;
}

static struct pool *pool_of(const struct sim *s, uint32_t handle, uint32_t *i)
{
	*i = (handle & ((1u << POOL_INDEX_BITS) - 1)) - 1;
	return s->pools[handle >> POOL_INDEX_BITS];
}

void buf_ref(const struct sim *s, uint32_t handle)
{
	uint32_t i;
	struct pool *p = pool_of(s, handle, &i);

	SIM_CHECK(p->refs[i] > 0, p->owner);
	p->refs[i]++;
}

void buf_unref(struct block *by, uint32_t handle)
{
	uint32_t i;
	struct pool *p = pool_of(by->sim, handle, &i);

	SIM_CHECK(p->refs[i] > 0, by);
	if (--p->refs[i])
		return;
	p->in_use--;
	pool_ripen(p, by->now_ps);
	if (p->fresh == p->n)
		p->fresh_end = i;
	p->link[i] = p->fresh;
	p->fresh = i;
	p->fresh_ps = by->now_ps;
	if (p->is_starved)
		block_wake(p->owner, domain_cycle_at(p->owner->dom, by->now_ps + 1));
}

uint32_t buf_refs(const struct sim *s, uint32_t handle)
{
	uint32_t i;
	const struct pool *p = pool_of(s, handle, &i);

	return p->refs[i];
}
