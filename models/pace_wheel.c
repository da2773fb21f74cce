/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace_wheel.c - a timing wheel for paced QPs
 */
#include "models/pace_wheel.h"

#include <string.h>

#define MASK (PACE_SLOTS - 1)

void pace_wheel_init(struct pace_wheel *w, struct pace_member *member)
{
	w->member = member;
	memset(w->used, 0, sizeof(w->used));
	w->tick = 0;
	w->n = 0;
}

static bool is_used(const struct pace_wheel *w, unsigned level, uint32_t slot)
{
	return w->used[level][slot / 64] >> slot % 64 & 1;
}

/* Units of 'level' from the wheel's tick to tick 't'. */
static uint64_t distance(const struct pace_wheel *w, uint64_t t, unsigned level)
{
	unsigned shift = level * PACE_SLOT_BITS;

	return (t >> shift) - (w->tick >> shift);
}

/* Put 'm' into the finest slot that reaches as far as its tick. */
static void place(struct pace_wheel *w, uint32_t m)
{
	uint64_t t = w->member[m].tick > w->tick ? w->member[m].tick : w->tick;
	unsigned level = 0;
	struct pace_slot *s;
	uint32_t i;

	while (level < PACE_LEVELS - 1 && distance(w, t, level) >= PACE_SLOTS)
		level++;
	if (distance(w, t, level) < PACE_SLOTS)
		i = (uint32_t)(t >> level * PACE_SLOT_BITS) & MASK;
	else /* the last slot of all */
		i = (uint32_t)((w->tick >> level * PACE_SLOT_BITS) - 1) & MASK;
	s = &w->slot[level][i];
	if (is_used(w, level, i))
		w->member[s->tail].next = m;
	else
		s->head = m;
	s->tail = m;
	w->used[level][i / 64] |= 1ull << i % 64;
}

void pace_wheel_add(struct pace_wheel *w, uint32_t i, uint64_t due_ps, uint64_t now_ps)
{
	if (w->n++ == 0)
		w->tick = now_ps >> PACE_TICK_BITS;
	w->member[i].tick = (due_ps + (1u << PACE_TICK_BITS) - 1) >> PACE_TICK_BITS;
	place(w, i);
}

/* The oldest member of a slot that is not empty. */
static uint32_t pop(struct pace_wheel *w, unsigned level, uint32_t slot)
{
	struct pace_slot *s = &w->slot[level][slot];
	uint32_t m = s->head;

	if (m == s->tail)
		w->used[level][slot / 64] &= ~(1ull << slot % 64);
	else
		s->head = w->member[m].next;
	return m;
}

/* Slots from 'from' round to the first used one, below PACE_SLOTS; PACE_SLOTS when all are empty. */
static uint32_t to_used(const uint64_t *used, uint32_t from)
{
	uint64_t word = used[from / 64] >> from % 64;

	if (word)
		return (uint32_t)__builtin_ctzll(word);
	for (uint32_t d = 64 - from % 64; d < PACE_SLOTS; d += 64) {
		word = used[(from + d) % PACE_SLOTS / 64];
		if (word)
			return d + (uint32_t)__builtin_ctzll(word);
	}
	return PACE_SLOTS;
}

/* The next tick at which a slot is due: its members are, or go to finer slots. */
static uint64_t next_tick(const struct pace_wheel *w)
{
	uint64_t next = UINT64_MAX;

	if (is_used(w, 0, (uint32_t)w->tick & MASK))
		return w->tick;
	for (unsigned level = 0; level < PACE_LEVELS; level++) {
		uint64_t unit = (w->tick >> level * PACE_SLOT_BITS) + 1;
		uint32_t d = to_used(w->used[level], (uint32_t)unit & MASK);
		uint64_t t = (unit + d) << level * PACE_SLOT_BITS;

		if (d < PACE_SLOTS && t < next)
			next = t;
	}
	return next;
}

/* The wheel is at its tick: what coarser slots begin there is dealt out to finer ones. */
static void deal_out(struct pace_wheel *w)
{
	for (unsigned level = PACE_LEVELS - 1; level > 0; level--) {
		unsigned shift = level * PACE_SLOT_BITS;
		uint32_t i = (uint32_t)(w->tick >> shift) & MASK;

		if (w->tick & ((1ull << shift) - 1) || !is_used(w, level, i))
			continue;
		for (uint32_t last = w->slot[level][i].tail, m = last + 1; m != last;) {
			m = pop(w, level, i);
			place(w, m);
		}
	}
}

bool pace_wheel_take(struct pace_wheel *w, uint64_t now_ps, uint32_t *i)
{
	while (w->n) {
		uint64_t t = next_tick(w);

		if (t > now_ps >> PACE_TICK_BITS)
			return false;
		if (t == w->tick) {
			*i = pop(w, 0, (uint32_t)t & MASK);
			w->n--;
			return true;
		}
		w->tick = t;
		deal_out(w);
	}
	return false;
}

uint64_t pace_wheel_next_ps(const struct pace_wheel *w)
{
	return w->n ? next_tick(w) << PACE_TICK_BITS : UINT64_MAX;
}
