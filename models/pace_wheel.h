/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace_wheel.h - members (QPs) that wait for a time, in any number
 *
 * A timing wheel of three levels, as hardware paces (Carousel, SIGCOMM 2017): 256 slots of
 * 16.384 ns, 256 of 256 of these, 256 of 256 of those: 274 ms ahead; what is due later goes round
 * again. Adding and taking touch a slot and four words of bits, however many wait. A member is
 * taken at the first tick at or after its time, those of one tick in the order in which they came
 * to its slot.
 */
#ifndef MODELS_PACE_WHEEL_H
#define MODELS_PACE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_TICK_BITS 14u /* ps */
#define PACE_LEVELS 3u
#define PACE_SLOT_BITS 8u
#define PACE_SLOTS (1u << PACE_SLOT_BITS)

struct pace_member {
	uint64_t tick; /* at which it is due */
	uint32_t next; /* of its slot */
};

struct pace_slot {
	uint32_t head, tail;
};

struct pace_wheel {
	struct pace_member *member;
	struct pace_slot slot[PACE_LEVELS][PACE_SLOTS];
	uint64_t used[PACE_LEVELS][PACE_SLOTS / 64]; /* a bit for each slot that is not empty */
	uint64_t tick;                               /* looked at last */
	uint32_t n;                                  /* members that wait */
};

/* Make it empty; 'member' has an entry for every member and is kept. */
void pace_wheel_init(struct pace_wheel *w, struct pace_member *member);

/* 'i', which does not wait yet, waits for 'due_ps', later than 'now_ps'. */
void pace_wheel_add(struct pace_wheel *w, uint32_t i, uint64_t due_ps, uint64_t now_ps);

/* Take the next one whose time has come, into *i; false when there is none. */
bool pace_wheel_take(struct pace_wheel *w, uint64_t now_ps, uint32_t *i);

/* When pace_wheel_take() has something to do next, ps; UINT64_MAX when no one waits. */
uint64_t pace_wheel_next_ps(const struct pace_wheel *w);

#endif
