/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iommu.h - an IOMMU: the IOTLB and the walkers of its tables
 *
 * Bus addresses are physical ones (identity mapping), so a translation is a delay. A hit costs
 * nothing beside the root complex' latency. A miss needs a walker: as many accesses to the table as
 * levels are not in the paging-structure cache, one after the other, during which that walker does
 * nothing else; the rest of a miss (queues, the request tried again) is a time that overlaps with
 * other misses. Misses of a page that is being walked wait for that walk.
 *
 * Times are worked out when a request comes, not stepped. A page is entered in the IOTLB when its
 * walk is given to a walker, not when it ends. Not modelled: faults, invalidation, table entries in
 * the last-level cache, context entries. Intel VT-d specification 3.6 (levels), 6.2 (caches).
 */
#ifndef MODELS_IOMMU_H
#define MODELS_IOMMU_H

#include "models/assoc.h"

#define IOMMU_MAX_WALKERS 64u

enum iommu_page { IOMMU_4K, IOMMU_2M, IOMMU_1G, IOMMU_PAGES };

struct iommu {
	/* set by the owner before iommu_build */
	uint32_t sets, ways; /* of the IOTLB; sets: a power of two */
	uint32_t page;       /* enum iommu_page */
	uint32_t walkers, cached_levels;
	uint64_t access_cyc; /* of a walker, for a level */
	uint64_t miss_cyc;   /* of a miss, besides its walk */
	/* state */
	struct assoc tlb;
	uint64_t *ready_cyc; /* by line: when its translation is there */
	uint64_t free_cyc[IOMMU_MAX_WALKERS];
	uint64_t walk_cyc; /* of a walker, for a page */
	uint32_t page_log;
};

/* What a translation met. */
struct iommu_look {
	uint64_t ready_cyc; /* when the request may go on; now, when it hit */
	uint32_t hits, walks;
	uint64_t walker_wait_cyc; /* walks waited so long for a walker */
};

/* Allocate for block 'b'; from its build() only. */
void iommu_build(struct iommu *m, struct block *b);

/* Empty the IOTLB, all walkers idle. */
void iommu_reset(struct iommu *m);

/* Translate [pa, pa + len) at cycle 'now'; len >= 1. Cycles never decrease from call to call. */
struct iommu_look iommu_translate(struct iommu *m, uint64_t pa, uint64_t len, uint64_t now);

#endif
