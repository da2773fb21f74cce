/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assoc.c - tag store of a set-associative cache with true LRU replacement
 */
#include "models/assoc.h"

void assoc_build(struct assoc *a, struct block *b, uint32_t n_sets, uint32_t n_ways)
{
	size_t n = (size_t)n_sets * n_ways;

	SIM_CHECK(n_sets > 0 && (n_sets & (n_sets - 1)) == 0 && n_ways > 0 && n_ways <= UINT8_MAX,
		  b);
	a->n_sets = n_sets;
	a->n_ways = n_ways;
	a->tag = block_alloc(b, n, sizeof(*a->tag));
	a->is_valid = block_alloc(b, n, sizeof(*a->is_valid));
	a->rank = block_alloc(b, n, sizeof(*a->rank));
}

void assoc_reset(struct assoc *a)
{
	for (uint32_t line = 0; line < a->n_sets * a->n_ways; line++) {
		a->is_valid[line] = false;
		a->rank[line] = (uint8_t)(line % a->n_ways);
	}
}

uint32_t assoc_find(const struct assoc *a, uint32_t set, uint64_t tag)
{
	uint32_t first = set * a->n_ways;

	for (uint32_t line = first; line < first + a->n_ways; line++)
		if (a->is_valid[line] && a->tag[line] == tag)
			return line;
	return ASSOC_NONE;
}

void assoc_touch(struct assoc *a, uint32_t line)
{
	uint32_t first = line - line % a->n_ways;
	uint8_t rank = a->rank[line];

	for (uint32_t other = first; other < first + a->n_ways; other++)
		if (a->rank[other] < rank)
			a->rank[other]++;
	a->rank[line] = 0;
}

uint32_t assoc_fill(struct assoc *a, uint32_t set, uint64_t tag)
{
	return assoc_fill_among(a, set, tag, a->n_ways);
}

uint32_t assoc_fill_among(struct assoc *a, uint32_t set, uint64_t tag, uint32_t n_ways)
{
	uint32_t first = set * a->n_ways, line = first;

	for (uint32_t other = first; other < first + n_ways; other++) {
		if (!a->is_valid[other]) {
			line = other;
			break;
		}
		if (a->rank[other] > a->rank[line])
			line = other;
	}
	a->tag[line] = tag;
	a->is_valid[line] = true;
	assoc_touch(a, line);
	return line;
}

void assoc_drop(struct assoc *a, uint32_t line)
{
	a->is_valid[line] = false;
}
