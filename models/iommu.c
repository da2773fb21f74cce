/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iommu.c - an IOMMU: the IOTLB and the walkers of its tables
 */
#include "models/iommu.h"

#include <string.h>

/* Bits of an address within a page, and levels of the table that lead to it. */
static const struct {
	uint32_t log, levels;
} pages[IOMMU_PAGES] = { { 12, 4 }, { 21, 3 }, { 30, 2 } };

void iommu_build(struct iommu *m, struct block *b)
{
	uint32_t levels = pages[m->page].levels;

	SIM_CHECK(m->page < IOMMU_PAGES && m->walkers > 0 && m->walkers <= IOMMU_MAX_WALKERS, b);
	m->page_log = pages[m->page].log;
	m->walk_cyc = m->access_cyc * (levels - min_u64(m->cached_levels, levels - 1));
	assoc_build(&m->tlb, b, "iotlb", m->sets, m->ways, ASSOC_LRU);
	m->ready_cyc = block_alloc(b, (size_t)m->sets * m->ways, sizeof(*m->ready_cyc));
}

void iommu_reset(struct iommu *m)
{
	assoc_reset(&m->tlb);
	memset(m->free_cyc, 0, sizeof(m->free_cyc));
}

/* Give a walk that is asked for at 'now' to the walker that is free first. Returns its end. */
static uint64_t walk(struct iommu *m, uint64_t now, struct iommu_look *look)
{
	uint32_t first = 0;
	uint64_t start;

	for (uint32_t i = 1; i < m->walkers; i++)
		if (m->free_cyc[i] < m->free_cyc[first])
			first = i;
	start = max_u64(now, m->free_cyc[first]);
	m->free_cyc[first] = start + m->walk_cyc;
	look->walks++;
	look->walker_wait_cyc += start - now;
	return m->free_cyc[first];
}

struct iommu_look iommu_translate(struct iommu *m, uint64_t pa, uint64_t len, uint64_t now)
{
	struct iommu_look look = { .ready_cyc = now };

	for (uint64_t p = pa >> m->page_log; p <= (pa + len - 1) >> m->page_log; p++) {
		uint32_t set = (uint32_t)(p & (m->tlb.n_sets - 1));
		uint32_t line = assoc_find(&m->tlb, set, p);

		assoc_note(&m->tlb, ASSOC_USED, p);
		if (line != ASSOC_NONE) {
			assoc_touch(&m->tlb, set, line);
			look.hits++;
		} else {
			line = assoc_fill(&m->tlb, set, p);
			m->ready_cyc[line] = walk(m, now, &look) + m->miss_cyc;
		}
		look.ready_cyc = max_u64(look.ready_cyc, m->ready_cyc[line]);
	}
	return look;
}
