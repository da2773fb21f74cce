/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assoc.c - tag store of a set-associative cache
 */
#include "models/assoc.h"

#include <string.h>

#include "sim/sim.h"

#define HASH_WAYS 8u /* up to here a set is searched way by way */

const char *const assoc_policies[4] = { "lru", "random", "plru", NULL };
const char *const assoc_set_counts[ASSOC_MAX_SETS_LOG + 2] = {
	"1",   "2",    "4",    "8",    "16",   "32",    "64",    "128",   "256",
	"512", "1024", "2048", "4096", "8192", "16384", "32768", "65536", NULL
};

const char *assoc_check(uint32_t n_sets, uint32_t n_ways, uint8_t policy)
{
	if ((uint64_t)n_sets * n_ways > ASSOC_MAX_LINES)
		return "too many lines; allowed: sets x ways up to 1048576";
	if (policy == ASSOC_PLRU && ((n_ways & (n_ways - 1)) || n_ways > ASSOC_MAX_TREE))
		return "no tree for that many ways; allowed with plru: a power of two up to 64";
	return NULL;
}

void assoc_build(struct assoc *a, struct block *b, const char *name, uint32_t n_sets,
		 uint32_t n_ways, uint8_t policy)
{
	size_t n = (size_t)n_sets * n_ways;
	uint32_t log = 1;

	SIM_CHECK(n_sets > 0 && (n_sets & (n_sets - 1)) == 0 && n_ways > 0 &&
			  (policy != ASSOC_PLRU || !assoc_check(1, n_ways, policy)),
		  b);
	a->n_sets = n_sets;
	a->n_ways = n_ways;
	a->policy = policy;
	a->tag = block_alloc(b, n, sizeof(*a->tag));
	a->is_valid = block_alloc(b, n, sizeof(*a->is_valid));
	if (policy == ASSOC_LRU) {
		a->next = block_alloc(b, n, sizeof(*a->next));
		a->prev = block_alloc(b, n, sizeof(*a->prev));
		a->first = block_alloc(b, n_sets, sizeof(*a->first));
	} else {
		a->n_used = block_alloc(b, n_sets, sizeof(*a->n_used));
		a->tree = block_alloc(b, n_sets, sizeof(*a->tree));
	}
	rng_seed(&a->seeded, b->name, b->sim->seed);
	rng_seed(&a->rng, name, rng_next(&a->seeded));
	a->seeded = a->rng;
	if (n_ways <= HASH_WAYS)
		return;
	while ((size_t)1 << log < 2 * n)
		log++;
	a->hash_shift = 64 - log;
	a->bucket = block_alloc(b, (size_t)1 << log, sizeof(*a->bucket));
	a->chain = block_alloc(b, n, sizeof(*a->chain));
}

void assoc_reset(struct assoc *a)
{
	uint32_t n = a->n_sets * a->n_ways;

	memset(a->is_valid, 0, n * sizeof(*a->is_valid));
	a->rng = a->seeded;
	a->draw = rng_next(&a->rng);
	for (uint32_t set = 0, base = 0; set < a->n_sets; set++, base += a->n_ways) {
		if (a->policy != ASSOC_LRU) {
			a->n_used[set] = 0;
			a->tree[set] = 0;
			continue;
		}
		for (uint32_t way = 0; way < a->n_ways; way++) { /* way 0 is last */
			a->prev[base + way] = base + (way + 1 == a->n_ways ? 0 : way + 1);
			a->next[base + way] = base + (way ? way - 1 : a->n_ways - 1);
		}
		a->first[set] = base + a->n_ways - 1;
	}
	if (a->hash_shift)
		memset(a->bucket, 0xff, ((size_t)1 << (64 - a->hash_shift)) * sizeof(*a->bucket));
}

/* ---- finding a tag ---- */

static uint32_t *bucket_of(const struct assoc *a, uint32_t set, uint64_t tag)
{
	uint64_t h = (tag ^ (uint64_t)set << 44) * 0x9e3779b97f4a7c15ull; /* Knuth's golden ratio */

	h ^= h >> 32;
	return &a->bucket[h * 0x9e3779b97f4a7c15ull >> a->hash_shift];
}

static void enter(struct assoc *a, uint32_t set, uint32_t line)
{
	uint32_t *at = bucket_of(a, set, a->tag[line]);

	a->chain[line] = *at;
	*at = line;
}

static void leave(struct assoc *a, uint32_t set, uint32_t line)
{
	uint32_t *at = bucket_of(a, set, a->tag[line]);

	while (*at != line)
		at = &a->chain[*at];
	*at = a->chain[line];
}

uint32_t assoc_find(const struct assoc *a, uint32_t set, uint64_t tag)
{
	uint32_t first = set * a->n_ways, line;

	if (a->hash_shift) {
		line = *bucket_of(a, set, tag);
		while (line != ASSOC_NONE && (a->tag[line] != tag || line - first >= a->n_ways))
			line = a->chain[line];
		return line;
	}
	for (line = first; line < first + a->n_ways; line++)
		if (a->tag[line] == tag && a->is_valid[line])
			return line;
	return ASSOC_NONE;
}

/* ---- the order of use ---- */

static void unlink_line(struct assoc *a, uint32_t line)
{
	a->next[a->prev[line]] = a->next[line];
	a->prev[a->next[line]] = a->prev[line];
}

static void link_before(struct assoc *a, uint32_t line, uint32_t other)
{
	a->prev[line] = a->prev[other];
	a->next[line] = other;
	a->next[a->prev[line]] = line;
	a->prev[other] = line;
}

/* Each node on the way up points to the half that was not used. */
static void touch_tree(struct assoc *a, uint32_t set, uint32_t way)
{
	for (uint32_t node = way + a->n_ways; node > 1; node >>= 1) {
		uint64_t bit = 1ull << (node >> 1);

		a->tree[set] = node & 1 ? a->tree[set] & ~bit : a->tree[set] | bit;
	}
}

void assoc_touch(struct assoc *a, uint32_t set, uint32_t line)
{
	uint32_t first;

	if (a->policy == ASSOC_PLRU)
		touch_tree(a, set, line - set * a->n_ways);
	if (a->policy != ASSOC_LRU)
		return;
	first = a->first[set];
	if (line == first)
		return;
	if (line != a->prev[first]) { /* the last one becomes the first by turning the ring */
		unlink_line(a, line);
		link_before(a, line, first);
	}
	a->first[set] = line;
}

uint32_t assoc_victim(const struct assoc *a, uint32_t set)
{
	uint32_t base = set * a->n_ways, way = 0;

	if (a->policy == ASSOC_LRU)
		return a->prev[a->first[set]];
	for (way = a->n_used[set]; way < a->n_ways; way++)
		if (!a->is_valid[base + way])
			return base + way;
	if (a->policy == ASSOC_RANDOM)
		return base + (uint32_t)((a->draw >> 32) * a->n_ways >> 32);
	for (way = 1; way < a->n_ways;)
		way = 2 * way + (a->tree[set] >> way & 1);
	return base + way - a->n_ways;
}

static uint32_t put(struct assoc *a, uint32_t set, uint32_t line, uint64_t tag)
{
	if (a->is_valid[line] && a->hash_shift)
		leave(a, set, line);
	if (a->policy != ASSOC_LRU) {
		if (a->is_valid[line])
			a->draw = rng_next(&a->rng);
		a->n_used[set] = a->is_valid[line] ? a->n_ways : line - set * a->n_ways + 1;
	}
	a->tag[line] = tag;
	a->is_valid[line] = true;
	if (a->hash_shift)
		enter(a, set, line);
	assoc_touch(a, set, line);
	return line;
}

uint32_t assoc_fill(struct assoc *a, uint32_t set, uint64_t tag)
{
	return put(a, set, assoc_victim(a, set), tag);
}

uint32_t assoc_fill_among(struct assoc *a, uint32_t set, uint64_t tag, uint32_t n_ways)
{
	uint32_t line = a->prev[a->first[set]];

	while (line - set * a->n_ways >= n_ways)
		line = a->prev[line];
	return put(a, set, line, tag);
}

void assoc_drop(struct assoc *a, uint32_t set, uint32_t line)
{
	uint32_t way = line - set * a->n_ways;

	if (!a->is_valid[line])
		return;
	if (a->hash_shift)
		leave(a, set, line);
	a->is_valid[line] = false;
	if (a->policy != ASSOC_LRU) {
		if (way < a->n_used[set])
			a->n_used[set] = way;
	} else if (line == a->first[set]) {
		a->first[set] = a->next[line];
	} else {
		unlink_line(a, line);
		link_before(a, line, a->first[set]);
	}
}
