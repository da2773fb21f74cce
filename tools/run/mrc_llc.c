/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc_llc.c - the last-level cache at other sizes: copies of its tags with other numbers of sets
 */
#include "tools/run/mrc.h"

#include <string.h>

#define LARGER 2u /* doublings beyond its own size */

struct mrc_llc {
	struct llc_tap tap;
	uint32_t n;
	struct llc size[ASSOC_MAX_SETS_LOG + 1];
	uint64_t entries[ASSOC_MAX_SETS_LOG + 1], misses[ASSOC_MAX_SETS_LOG + 1];
	uint64_t accesses;
};

/* Counted are the device's reads: what the block counts too. */
static void used(struct llc_tap *t, enum llc_use how, uint64_t pa)
{
	struct mrc_llc *m = (struct mrc_llc *)t;

	m->accesses += how == LLC_IO_READ;
	for (uint32_t i = 0; i < m->n; i++)
		m->misses[i] += !llc_use(&m->size[i], how, pa) && how == LLC_IO_READ;
}

struct mrc_llc *mrc_llc_create(struct llc *c, struct block *b)
{
	struct mrc_llc *m = x_calloc(1, sizeof(*m));
	const struct assoc *own = &c->slice[0];

	for (uint32_t sets = 1; sets <= own->n_sets << LARGER; sets *= 2) {
		if (m->n > ASSOC_MAX_SETS_LOG || assoc_check(sets, own->n_ways, ASSOC_LRU))
			break;
		m->entries[m->n] = (uint64_t)c->n_slices * sets * own->n_ways;
		llc_build(&m->size[m->n], b, c->n_slices, sets, own->n_ways, c->io_ways);
		llc_reset(&m->size[m->n++]);
	}
	m->tap.used = used;
	c->tap = &m->tap;
	return m;
}

uint32_t mrc_llc_sizes(const struct mrc_llc *m)
{
	return m->n;
}

uint64_t mrc_llc_entries(const struct mrc_llc *m, uint32_t i)
{
	return m->entries[i];
}

uint64_t mrc_llc_misses(const struct mrc_llc *m, uint32_t i)
{
	return m->misses[i];
}

uint64_t mrc_llc_accesses(const struct mrc_llc *m)
{
	return m->accesses;
}
