/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc_curve.c - stack distances of a stream of accesses
 *
 * Accesses are numbered; the last use of each key is a mark at its number. The distance of an access
 * is the number of marks behind the key's own, a suffix sum that a binary indexed tree (Fenwick 1994)
 * gives in O(log n). When the numbers are used up, marks are moved together, which costs a constant
 * time an access in the mean.
 */
#include <stdlib.h>
#include <string.h>

#include "models/run/mrc.h"

#define NO_KEY UINT32_MAX

/* A key that was seen, in an open hash. */
struct mrc_key {
	uint64_t key;
	uint32_t last; /* number of its last access, or NO_KEY */
};

struct mrc_curve {
	struct assoc_tap tap;
	struct mrc_key *keys; /* 2 x cap, a power of two */
	uint32_t *marks;      /* the tree: 1 .. cap */
	uint64_t *distance;   /* accesses by distance, cap of them */
	uint32_t cap, now, n_keys;
	uint64_t accesses;
};

static void tapped(struct assoc_tap *t, uint64_t key)
{
	mrc_curve_use((struct mrc_curve *)t, key);
}

static struct mrc_key *find(const struct mrc_curve *c, uint64_t key)
{
	uint32_t mask = 2 * c->cap - 1;
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & mask;

	while (c->keys[at].last != NO_KEY && c->keys[at].key != key)
		at = (at + 1) & mask;
	return &c->keys[at];
}

static void add(struct mrc_curve *c, uint32_t number, uint32_t n)
{
	for (uint32_t i = number + 1; i <= c->cap; i += i & -i)
		c->marks[i] += n;
}

/* Marks at numbers up to and with 'number'. */
static uint32_t marks_to(const struct mrc_curve *c, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = number + 1; i > 0; i -= i & -i)
		n += c->marks[i];
	return n;
}

static void set_cap(struct mrc_curve *c, uint32_t cap)
{
	uint32_t old = c->cap;

	c->keys = x_realloc(c->keys, 2 * (size_t)cap * sizeof(*c->keys));
	c->marks = x_realloc(c->marks, ((size_t)cap + 1) * sizeof(*c->marks));
	c->distance = x_realloc(c->distance, cap * sizeof(*c->distance));
	memset(c->distance + old, 0, (cap - old) * sizeof(*c->distance));
	memset(c->keys, 0xff, 2 * (size_t)cap * sizeof(*c->keys));
	memset(c->marks, 0, ((size_t)cap + 1) * sizeof(*c->marks));
	c->cap = cap;
}

/* Number the keys anew, in the order of their last uses; make room when more than half is taken. */
static void renumber(struct mrc_curve *c)
{
	struct mrc_key *by_number = x_calloc(c->cap, sizeof(*by_number));
	uint32_t n = 2 * c->cap;

	memset(by_number, 0xff, c->cap * sizeof(*by_number));
	for (uint32_t i = 0; i < n; i++)
		if (c->keys[i].last != NO_KEY)
			by_number[c->keys[i].last] = c->keys[i];
	n = c->now;
	set_cap(c, c->n_keys > c->cap / 2 ? 2 * c->cap : c->cap);
	c->now = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct mrc_key *k;

		if (by_number[i].last == NO_KEY)
			continue;
		k = find(c, by_number[i].key);
		*k = (struct mrc_key){ .key = by_number[i].key, .last = c->now };
		add(c, c->now++, 1);
	}
	free(by_number);
}

struct mrc_curve *mrc_curve_create(void)
{
	struct mrc_curve *c = x_calloc(1, sizeof(*c));

	c->tap.used = tapped;
	set_cap(c, 1024);
	return c;
}

void mrc_curve_destroy(struct mrc_curve *c)
{
	free(c->keys);
	free(c->marks);
	free(c->distance);
	free(c);
}

void mrc_curve_use(struct mrc_curve *c, uint64_t key)
{
	struct mrc_key *k;

	if (c->now == c->cap)
		renumber(c);
	k = find(c, key);
	if (k->last != NO_KEY) {
		c->distance[c->n_keys - marks_to(c, k->last)]++;
		add(c, k->last, UINT32_MAX); /* one less */
	} else {
		k->key = key;
		c->n_keys++;
	}
	k->last = c->now;
	add(c, c->now++, 1);
	c->accesses++;
}

uint64_t mrc_curve_accesses(const struct mrc_curve *c)
{
	return c->accesses;
}

uint64_t mrc_curve_keys(const struct mrc_curve *c)
{
	return c->n_keys;
}

uint64_t mrc_curve_misses(const struct mrc_curve *c, uint64_t entries)
{
	uint64_t n = c->accesses;

	for (uint64_t d = 0; d < entries && d < c->n_keys; d++)
		n -= c->distance[d];
	return n;
}

uint64_t mrc_curve_at(const struct mrc_curve *c, uint64_t distance)
{
	return c->distance[distance];
}

struct assoc_tap *mrc_curve_tap(struct mrc_curve *c)
{
	return &c->tap;
}
