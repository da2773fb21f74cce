/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - chunks of anonymous memory, handed out from front to back
 */
#include "sim/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/err.h"
#include "sim/units.h"

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GUARD 32u /* bytes behind each piece that nobody may touch */
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define GUARD 0u
#endif

#define CACHE_LINE 64u
#define LARGE_PAGE (2ull * MIB)
#define CHUNK (32ull * MIB) /* of addresses; pages come as they are touched */

static void keep(void ***list, size_t *n, size_t *cap, void *p)
{
	if (*n == *cap) {
		*cap = *cap ? 2 * *cap : 16;
		*list = x_realloc(*list, *cap * sizeof(**list));
	}
	(*list)[(*n)++] = p;
}

static char *align_to(char *p, uintptr_t to)
{
	return p + (to - (uintptr_t)p % to) % to;
}

static void *alloc_alone(struct arena *a, size_t bytes)
{
	char *p = x_calloc(1, bytes + CACHE_LINE - 1);

	keep(&a->alone, &a->n_alone, &a->cap_alone, p);
	return align_to(p, CACHE_LINE);
}

static void new_chunk(struct arena *a)
{
	char *p = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		p = NULL;
	SIM_CHECK(p != NULL, NULL);
	keep(&a->chunk, &a->n_chunks, &a->cap_chunks, p);
	a->at = align_to(p, LARGE_PAGE);
	a->end = p + CHUNK;
	/* where it is refused, the run is slower */
	(void)madvise(a->at, (size_t)(a->end - a->at), MADV_HUGEPAGE);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	char *p;

	if (bytes >= ARENA_LARGE)
		return alloc_alone(a, bytes);
	bytes = align_up(bytes ? bytes : 1, 16);
	if (!a->at)
		new_chunk(a);
	p = align_to(a->at, bytes >= CACHE_LINE ? CACHE_LINE : 16);
	if (p + bytes + GUARD > a->end) {
		new_chunk(a);
		p = a->at;
	}
	ASAN_POISON_MEMORY_REGION(p + bytes, GUARD);
	a->at = p + bytes + GUARD;
	return p;
}

void arena_destroy(struct arena *a)
{
	for (size_t i = 0; i < a->n_chunks; i++) {
		ASAN_UNPOISON_MEMORY_REGION(a->chunk[i], CHUNK);
		munmap(a->chunk[i], CHUNK);
	}
	for (size_t i = 0; i < a->n_alone; i++)
		free(a->alone[i]);
	free(a->chunk);
	free(a->alone);
	memset(a, 0, sizeof(*a));
}
