/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - a host's physical memory (sparse, real bytes) and its virtual address space
 *
 * Memory is allocated while the system is set up and lives as long as the host. During a run only the
 * host_mem block reads or writes bytes. Physical addresses are in chunks of 2 MiB, made on demand; a 4 KiB
 * frame is never contiguous with its neighbour by accident (frames are handed out in scattered order), so
 * that a missing page split shows as wrong bytes.
 */
#ifndef MODELS_MEM_H
#define MODELS_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_4K 4096ull
#define MEM_CHUNK (2ull << 20)

/* Physical memory. */
struct mem {
	uint8_t **chunk; /* by address / MEM_CHUNK; NULL = nothing there */
	uint32_t *
		frame_cq; /* by address / 4 KiB: 1 + index of the CQ whose ring lies in that frame, 0 = none */
	uint64_t n_chunk;
	uint64_t next_pa;           /* first address never handed out, multiple of MEM_CHUNK */
	uint64_t pack_pa, pack_end; /* rest of the chunk that small contiguous ranges share */
	uint64_t small_base;        /* current chunk of scattered 4 KiB frames */
	uint32_t small_used;
};

void mem_init(struct mem *m);
void mem_destroy(struct mem *m);

/*
 * Physically contiguous, zeroed, aligned to 'align' (a power of two, at least 64). Small ranges share chunks;
 * with an 'align' of a page or more, the range has its 4 KiB frames for itself. Returns the address.
 */
uint64_t mem_alloc(struct mem *m, uint64_t len, uint64_t align);

/* One zeroed 4 KiB frame, in scattered order. */
uint64_t mem_frame(struct mem *m);

/* The bytes at 'pa', good up to the end of its 4 KiB frame; NULL when nothing is there. */
static inline uint8_t *mem_at(const struct mem *m, uint64_t pa)
{
	uint64_t c = pa / MEM_CHUNK;

	return c < m->n_chunk && m->chunk[c] ? m->chunk[c] + pa % MEM_CHUNK : NULL;
}

/* Copy across frames and chunks. False when part of the range is not there (nothing is copied then). */
bool mem_read(const struct mem *m, uint64_t pa, void *to, uint64_t len);
bool mem_write(struct mem *m, uint64_t pa, const void *from, uint64_t len);

/* A mapped range of virtual addresses: pages of one size, each at its own physical address. */
struct mapping {
	uint64_t va, len, page; /* va and len rounded out to whole pages */
	uint64_t *pa;           /* one a page */
};

/* A process's address space: mappings sorted by va, not overlapping. */
struct space {
	struct mem *mem;
	struct mapping *map;
	uint32_t n, cap;
};

void space_init(struct space *s, struct mem *m);
void space_destroy(struct space *s);

/*
 * Map [va, va+len) with pages of 'page' bytes (4 KiB, 2 MiB, 1 GiB), leaving alone what is mapped already
 * (memory regions may overlap). False when an overlapping mapping has a smaller page than asked for.
 */
bool space_map(struct space *s, uint64_t va, uint64_t len, uint64_t page);

/* Physical address of 'va', and in *run (may be NULL) how many bytes follow within its page; UINT64_MAX when unmapped. */
uint64_t space_pa(const struct space *s, uint64_t va, uint64_t *run);

/* Copy by virtual address; false when part of it is not mapped. */
bool space_read(const struct space *s, uint64_t va, void *to, uint64_t len);
bool space_write(struct space *s, uint64_t va, const void *from, uint64_t len);

#endif
