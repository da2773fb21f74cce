/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc_curve.c - stack distances of a stream of accesses
 *
 * Accesses are numbered; the last use of each key is a mark at its number. The distance of an access
 * is the number of marks behind the key's own, a suffix sum that a binary indexed tree (Fenwick 1994)
 * gives in O(log n). When the numbers are used up, marks are moved together, which costs a constant
 * time an access in the mean. A hole is a mark without a key; the topmost one is the first of a heap.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/run/mrc.h"

#define NO_KEY UINT32_MAX
#define DROPPED (UINT32_MAX - 1) /* a key that is on the stack no more */

/* A key that was seen, in an open hash. */
struct mrc_key {
	uint64_t key;
	uint32_t last; /* number of its last use, DROPPED, or NO_KEY: an empty place */
};

struct mrc_curve {
	struct assoc_tap tap;
	struct mrc_key *keys; /* 2 x cap, a power of two */
	uint32_t *marks;      /* the tree: 1 .. cap */
	uint64_t *distance;   /* accesses by distance, cap of them */
	uint32_t *holes;      /* their numbers: a heap, the highest first; cap of them */
	uint32_t cap, now, n_marks, n_holes, end;
	uint64_t accesses;
};

static void heard(struct assoc_tap *t, enum assoc_event what, uint64_t key)
{
	static void (*const does[])(struct mrc_curve * c, uint64_t key) = {
		[ASSOC_USED] = mrc_curve_use,
		[ASSOC_PUT] = mrc_curve_put,
		[ASSOC_DROPPED] = mrc_curve_drop,
	};

	does[what]((struct mrc_curve *)t, key);
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
	c->n_marks += n;
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
	c->holes = x_realloc(c->holes, cap * sizeof(*c->holes));
	memset(c->distance + old, 0, (cap - old) * sizeof(*c->distance));
	memset(c->keys, 0xff, 2 * (size_t)cap * sizeof(*c->keys));
	memset(c->marks, 0, ((size_t)cap + 1) * sizeof(*c->marks));
	c->cap = cap;
}

/* ---- holes ---- */

static void put_hole(struct mrc_curve *c, uint32_t number)
{
	uint32_t at = c->n_holes++;

	while (at && c->holes[(at - 1) / 2] < number) {
		c->holes[at] = c->holes[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	c->holes[at] = number;
}

static uint32_t take_top_hole(struct mrc_curve *c)
{
	uint32_t top = c->holes[0], last = c->holes[--c->n_holes], at = 0, son;

	while ((son = 2 * at + 1) < c->n_holes) {
		son += son + 1 < c->n_holes && c->holes[son + 1] > c->holes[son];
		if (c->holes[son] <= last)
			break;
		c->holes[at] = c->holes[son];
		at = son;
	}
	c->holes[at] = last;
	return top;
}

/* ---- the stack ---- */

/* Number the marks anew, in their order; make room when more than half is taken. */
static void renumber(struct mrc_curve *c)
{
	struct mrc_key *by_number = x_calloc(c->cap, sizeof(*by_number));
	uint32_t n = c->now;

	memset(by_number, 0xff, c->cap * sizeof(*by_number));
	for (uint32_t i = 0; i < 2 * c->cap; i++)
		if (c->keys[i].last < DROPPED)
			by_number[c->keys[i].last] = c->keys[i];
	while (c->n_holes)
		by_number[take_top_hole(c)].last = DROPPED;
	set_cap(c, c->n_marks > c->cap / 2 ? 2 * c->cap : c->cap);
	c->now = c->n_marks = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (by_number[i].last == NO_KEY)
			continue;
		if (by_number[i].last == DROPPED)
			put_hole(c, c->now);
		else
			*find(c, by_number[i].key) =
				(struct mrc_key){ .key = by_number[i].key, .last = c->now };
		add(c, c->now++, 1);
	}
	free(by_number);
}

struct mrc_curve *mrc_curve_create(void)
{
	struct mrc_curve *c = x_calloc(1, sizeof(*c));

	c->tap.heard = heard;
	set_cap(c, 1024);
	return c;
}

void mrc_curve_destroy(struct mrc_curve *c)
{
	free(c->keys);
	free(c->marks);
	free(c->distance);
	free(c->holes);
	free(c);
}

/*
 * Put 'key' on top. The topmost hole above its old place is filled by what moves down, and the hole
 * is where the key was; else the old place is closed.
 */
static void push(struct mrc_curve *c, uint64_t key, bool is_access)
{
	struct mrc_key *k;
	bool is_there;

	if (c->now == c->cap)
		renumber(c);
	k = find(c, key);
	is_there = k->last < DROPPED;
	if (is_there && is_access)
		c->distance[c->n_marks - marks_to(c, k->last)]++;
	if (c->n_holes && (!is_there || c->holes[0] > k->last)) {
		add(c, take_top_hole(c), UINT32_MAX); /* one less */
		if (is_there)
			put_hole(c, k->last);
	} else if (is_there) {
		add(c, k->last, UINT32_MAX);
	}
	*k = (struct mrc_key){ .key = key, .last = c->now };
	add(c, c->now++, 1);
	if (c->end < c->n_marks)
		c->end = c->n_marks;
	c->accesses += is_access;
}

void mrc_curve_use(struct mrc_curve *c, uint64_t key)
{
	push(c, key, true);
}

void mrc_curve_put(struct mrc_curve *c, uint64_t key)
{
	push(c, key, false);
}

void mrc_curve_drop(struct mrc_curve *c, uint64_t key)
{
	struct mrc_key *k = find(c, key);

	if (k->last >= DROPPED)
		return;
	put_hole(c, k->last);
	k->last = DROPPED;
}

uint64_t mrc_curve_accesses(const struct mrc_curve *c)
{
	return c->accesses;
}

uint64_t mrc_curve_end(const struct mrc_curve *c)
{
	return c->end;
}

uint64_t mrc_curve_misses(const struct mrc_curve *c, uint64_t entries)
{
	uint64_t n = c->accesses;

	for (uint64_t d = 0; d < entries && d < c->end; d++)
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
