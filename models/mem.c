/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.c - a host's physical memory and its virtual address space
 *
 * Modelled: bytes, 4 KiB frames in scattered order, contiguous ranges for rings and for large
 * pages. Not modelled: freeing, permissions (the keys of the NIC check those), NUMA nodes. Nothing
 * here takes time; the host_mem block does.
 */
#include "models/mem.h"

#include <stdlib.h>
#include <string.h>

#include "sim/err.h"
#include "sim/units.h"

#define FRAMES_PER_CHUNK (uint32_t)(MEM_CHUNK / PAGE_4K)
/* odd: frame k of a chunk is (k x SCATTER) mod 512, each once, never two in a row */
#define SCATTER 203u

void mem_init(struct mem *m)
{
	memset(m, 0, sizeof(*m));
	m->next_pa = MEM_CHUNK; /* address 0 is nobody's */
}

void mem_destroy(struct mem *m)
{
	for (uint64_t i = 0; i < m->n_chunk; i++)
		free(m->chunk[i]);
	free(m->chunk);
	free(m->frame_cq);
	memset(m, 0, sizeof(*m));
}

/* Make room in the tables for 'n' chunks. */
static void grow_tables(struct mem *m, uint64_t n)
{
	uint64_t old = m->n_chunk;

	if (n <= old)
		return;
	n = max_u64(n, 2 * old);
	m->chunk = x_realloc(m->chunk, n * sizeof(*m->chunk));
	memset(m->chunk + old, 0, (n - old) * sizeof(*m->chunk));
	m->frame_cq = x_realloc(m->frame_cq, n * FRAMES_PER_CHUNK * sizeof(*m->frame_cq));
	memset(m->frame_cq + old * FRAMES_PER_CHUNK, 0,
	       (n - old) * FRAMES_PER_CHUNK * sizeof(*m->frame_cq));
	m->n_chunk = n;
}

/* 'n' whole chunks in a row, starting at a multiple of 'align'. */
static uint64_t take_chunks(struct mem *m, uint64_t n, uint64_t align)
{
	uint64_t pa = align_up(m->next_pa, max_u64(align, MEM_CHUNK));
	uint64_t first = pa / MEM_CHUNK;

	grow_tables(m, first + n);
	for (uint64_t i = first; i < first + n; i++)
		m->chunk[i] = x_calloc(1, MEM_CHUNK);
	m->next_pa = pa + n * MEM_CHUNK;
	return pa;
}

uint64_t mem_alloc(struct mem *m, uint64_t len, uint64_t align)
{
	uint64_t pa;

	if (align >= PAGE_4K)
		len = align_up(len, PAGE_4K);
	if (len > MEM_CHUNK / 2 || align > MEM_CHUNK / 2)
		return take_chunks(m, ceil_div(len, MEM_CHUNK), align);
	pa = align_up(m->pack_pa, align);
	if (pa + len > m->pack_end) {
		pa = take_chunks(m, 1, MEM_CHUNK);
		m->pack_end = pa + MEM_CHUNK;
	}
	m->pack_pa = pa + len;
	return pa;
}

uint64_t mem_frame(struct mem *m)
{
	if (m->small_base == 0 || m->small_used == FRAMES_PER_CHUNK) {
		m->small_base = take_chunks(m, 1, MEM_CHUNK);
		m->small_used = 0;
	}
	return m->small_base + m->small_used++ * SCATTER % FRAMES_PER_CHUNK * PAGE_4K;
}

/* True when every byte of the range is there. */
static bool is_present(const struct mem *m, uint64_t pa, uint64_t len)
{
	if (len == 0)
		return true;
	if (pa + (len - 1) < pa)
		return false;
	for (uint64_t c = pa / MEM_CHUNK; c <= (pa + len - 1) / MEM_CHUNK; c++)
		if (c >= m->n_chunk || !m->chunk[c])
			return false;
	return true;
}

bool mem_read(const struct mem *m, uint64_t pa, void *to, uint64_t len)
{
	uint8_t *t = to;

	if (!is_present(m, pa, len))
		return false;
	while (len) {
		uint64_t n = min_u64(len, MEM_CHUNK - pa % MEM_CHUNK);

		memcpy(t, mem_at(m, pa), n);
		t += n;
		pa += n;
		len -= n;
	}
	return true;
}

bool mem_write(struct mem *m, uint64_t pa, const void *from, uint64_t len)
{
	const uint8_t *f = from;

	if (!is_present(m, pa, len))
		return false;
	while (len) {
		uint64_t n = min_u64(len, MEM_CHUNK - pa % MEM_CHUNK);

		memcpy(mem_at(m, pa), f, n);
		f += n;
		pa += n;
		len -= n;
	}
	return true;
}

void space_init(struct space *s, struct mem *m)
{
	memset(s, 0, sizeof(*s));
	s->mem = m;
}

void space_destroy(struct space *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->map[i].pa);
	free(s->map);
	memset(s, 0, sizeof(*s));
}

/* Index of the first mapping that ends beyond 'va'. */
static uint32_t find_from(const struct space *s, uint64_t va)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->map[mid].va + (s->map[mid].len - 1) < va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Insert a mapping of [va, last], whole pages with nothing mapped there, before index 'at'. */
static void insert_map(struct space *s, uint32_t at, uint64_t va, uint64_t last, uint64_t page)
{
	uint64_t n = (last - va) / page + 1;
	struct mapping *p;

	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 8;
		s->map = x_realloc(s->map, s->cap * sizeof(*s->map));
	}
	p = &s->map[at];
	memmove(p + 1, p, (s->n - at) * sizeof(*p));
	s->n++;
	*p = (struct mapping){
		.va = va, .len = n * page, .page = page, .pa = x_calloc(n, sizeof(*p->pa))
	};
	for (uint64_t i = 0; i < n; i++)
		p->pa[i] = page == PAGE_4K ? mem_frame(s->mem) : mem_alloc(s->mem, page, page);
}

bool space_map(struct space *s, uint64_t va, uint64_t len, uint64_t page)
{
	uint64_t first = va / page * page, last = (va + len - 1) | (page - 1);
	uint32_t at;

	if (len == 0)
		return true;
	if (last < va)
		return false;
	for (at = find_from(s, first); at < s->n && s->map[at].va <= last; at++)
		if (s->map[at].page < page)
			return false;
	for (at = find_from(s, first);; at++) {
		bool is_mapped = at < s->n && s->map[at].va <= first;
		uint64_t to = is_mapped   ? s->map[at].va + (s->map[at].len - 1)
			      : at < s->n ? min_u64(last, s->map[at].va - 1)
					  : last;

		if (!is_mapped)
			insert_map(s, at, first, to, page);
		if (to >= last) /* which may be the last byte of all */
			return true;
		first = to + 1;
	}
}

uint64_t space_pa(const struct space *s, uint64_t va, uint64_t *run)
{
	uint32_t i = find_from(s, va);
	const struct mapping *p = &s->map[i];
	uint64_t off;

	if (i == s->n || va < p->va)
		return UINT64_MAX;
	off = (va - p->va) % p->page;
	if (run)
		*run = p->page - off;
	return p->pa[(va - p->va) / p->page] + off;
}

/* True when all of the range is mapped. */
static bool is_mapped(const struct space *s, uint64_t va, uint64_t len)
{
	for (uint32_t i = find_from(s, va); len; i++) {
		uint64_t n;

		if (i == s->n || va < s->map[i].va)
			return false;
		n = min_u64(len, s->map[i].len - (va - s->map[i].va));
		va += n;
		len -= n;
	}
	return true;
}

bool space_read(const struct space *s, uint64_t va, void *to, uint64_t len)
{
	uint8_t *t = to;

	if (!is_mapped(s, va, len))
		return false;
	while (len) {
		uint64_t n = 0, pa = space_pa(s, va, &n);

		n = min_u64(n, len);
		mem_read(s->mem, pa, t, n);
		t += n;
		va += n;
		len -= n;
	}
	return true;
}

bool space_write(struct space *s, uint64_t va, const void *from, uint64_t len)
{
	const uint8_t *f = from;

	if (!is_mapped(s, va, len))
		return false;
	while (len) {
		uint64_t n = 0, pa = space_pa(s, va, &n);

		n = min_u64(n, len);
		mem_write(s->mem, pa, f, n);
		f += n;
		va += n;
		len -= n;
	}
	return true;
}
