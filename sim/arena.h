/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is freed all at once
 *
 * Small pieces lie side by side in the order of their allocation, in chunks for which large pages are asked:
 * a system of a million blocks would spend more time on address translation than on its work. Pieces of
 * ARENA_LARGE bytes and more are allocated each by itself. AddressSanitizer sees a guard behind each piece.
 */
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ARENA_LARGE (64u << 10)

struct arena {
	char *at, *end; /* rest of the current chunk */
	void **chunk;
	size_t n_chunks, cap_chunks;
	void **alone;
	size_t n_alone, cap_alone;
};

/* Zeroed, never NULL; a piece that is as large as a cache line begins on one. 'a' starts zeroed. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Free everything; 'a' can be used again. */
void arena_destroy(struct arena *a);

#ifdef __cplusplus
}
#endif
#endif
