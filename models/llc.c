/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llc.c - the last-level cache of a host: which lines it holds
 */
#include "models/llc.h"

void llc_build(struct llc *c, struct block *b, uint32_t slices, uint32_t sets, uint32_t ways,
	       uint32_t io_ways)
{
	SIM_CHECK(slices > 0 && io_ways <= ways, b);
	c->n_slices = slices;
	c->io_ways = io_ways;
	c->slice = block_alloc(b, slices, sizeof(*c->slice));
	for (uint32_t i = 0; i < slices; i++)
		assoc_build(&c->slice[i], b, "llc", sets, ways, ASSOC_LRU);
}

void llc_reset(struct llc *c)
{
	for (uint32_t i = 0; i < c->n_slices; i++)
		assoc_reset(&c->slice[i]);
}

/* Where the line of 'pa' may be, and its tag there. */
static struct assoc *slice_of(struct llc *c, uint64_t pa, uint32_t *set, uint64_t *tag)
{
	uint64_t line = pa / LLC_LINE;
	struct assoc *a = &c->slice[line % c->n_slices];

	*tag = line / c->n_slices;
	*set = (uint32_t)(*tag & (a->n_sets - 1));
	return a;
}

bool llc_use(struct llc *c, enum llc_use how, uint64_t pa)
{
	uint64_t tag;
	uint32_t set, n_ways;
	struct assoc *a = slice_of(c, pa, &set, &tag);
	uint32_t line = assoc_find(a, set, tag);

	if (c->tap)
		c->tap->used(c->tap, how, pa);
	if (line != ASSOC_NONE) {
		assoc_touch(a, set, line);
		return true;
	}
	n_ways = how == LLC_CPU ? a->n_ways : how == LLC_IO_WRITE ? c->io_ways : 0;
	if (n_ways)
		assoc_fill_among(a, set, tag, n_ways);
	return false;
}

bool llc_has(struct llc *c, uint64_t pa)
{
	uint64_t tag;
	uint32_t set;
	const struct assoc *a = slice_of(c, pa, &set, &tag);

	return assoc_find(a, set, tag) != ASSOC_NONE;
}
