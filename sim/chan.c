/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chan.c - a channel's push and pop: visibility on two clocks, taps, stall patterns, stall times
 */
#include "sim/chan.h"

#define STALL_RANDOM_MAX 8u  /* RANDOM: 0..7 extra cycles for each message */
#define STALL_LONG_EVERY 32u /* LONG: one message in 32 waits 1000 cycles more */
#define STALL_LONG_CYCLES 1000u

/* Extra cycles that the pattern puts on message (or credit) number n. */
static uint64_t stall_cycles(enum stall kind, uint64_t n, struct rng *r)
{
	switch (kind) {
	case STALL_NONE:
		return 0;
	case STALL_ALTERNATE:
		return n & 1;
	case STALL_RANDOM:
		return rng_below(r, STALL_RANDOM_MAX);
	case STALL_LONG:
		return n % STALL_LONG_EVERY == STALL_LONG_EVERY - 1 ? STALL_LONG_CYCLES : 0;
	}
	return 0;
}

/* The first cycle of 'to' whose edge is at or after that of cycle 'cyc' of 'from'. */
static uint64_t other_cycle(const struct block *from, const struct block *to, uint64_t cyc)
{
	return from->dom == to->dom ? cyc : domain_cycle_at(to->dom, domain_edge(from->dom, cyc));
}

/* ---- push ---- */

/* The message in the tail slot becomes visible at the consumer's cycle 'ready'. */
static inline void commit_push(struct chan *c, uint64_t ready)
{
	*chan_stamp(c, c->tail) = ready;
	c->tail = chan_next(c, c->tail);
	c->credit_cyc = c->tail == c->head ? CYCLE_NEVER : *chan_stamp(c, c->tail);
	if (c->count++ == 0) {
		c->visible_cyc = ready;
		c->consumer->in_pending |= 1ull << c->in_bit;
		block_wake(c->consumer, ready);
	}
}

static __attribute__((noinline)) void pushed_slow(struct chan *c)
{
	struct block *p = c->producer;
	const void *msg = chan_msg(c, c->tail);
	uint64_t extra = stall_cycles(c->stall_msg, c->pushes, &c->rng);
	uint64_t ready = other_cycle(p, c->consumer, p->cycle + c->latency + extra);

	if (c->is_stalled) {
		c->is_stalled = false;
		c->stall_ps += p->now_ps - c->stall_from_ps;
	}
	c->last_ready_cyc =
		max_u64(ready, c->last_ready_cyc); /* a stall holds back those behind it */
	commit_push(c, c->last_ready_cyc);
	for (struct chan_tap *t = c->taps; t; t = t->next)
		if (t->pushed)
			t->pushed(t, c, msg);
}

void chan_pushed(struct chan *c)
{
	SIM_CHECK(chan_can_push(c), c->producer);
	c->pushes++;
	if (c->is_plain && !c->is_stalled)
		commit_push(c, c->producer->cycle + c->latency);
	else
		pushed_slow(c);
}

void chan_pushed_ahead(struct chan *c, uint64_t cyc)
{
	SIM_CHECK(cyc > c->producer->cycle, c->producer);
	c->pushes++;
	commit_push(c, other_cycle(c->producer, c->consumer, cyc + c->latency));
}

/* ---- pop ---- */

/* The credit of the message in the head slot is back at the producer's cycle 'back'. */
static inline void commit_pop(struct chan *c, uint64_t back)
{
	struct block *b = c->consumer;

	SIM_CHECK(c->visible_cyc <= b->cycle, b);
	c->wait_cyc += b->cycle - c->visible_cyc;
	*chan_stamp(c, c->head) = back;
	if (c->head == c->tail) /* it was full */
		c->credit_cyc = back;
	c->head = chan_next(c, c->head);
	c->visible_cyc = *chan_stamp(c, c->head);
	if (--c->count == 0) {
		c->visible_cyc = CYCLE_NEVER;
		b->in_pending &= ~(1ull << c->in_bit);
	}
}

/* With all that may be looked at or waited for. */
static __attribute__((noinline)) void pop_slow(struct chan *c)
{
	const struct block *b = c->consumer;
	const void *msg = chan_msg(c, c->head);
	uint64_t extra = stall_cycles(c->stall_credit, c->pushes - c->count, &c->rng_credit);
	uint64_t back = other_cycle(b, c->producer, b->cycle + c->latency + extra);

	commit_pop(c, back);
	if (c->is_stalled)
		block_wake(c->producer, back);
	for (struct chan_tap *t = c->taps; t; t = t->next)
		if (t->popped)
			t->popped(t, c, msg);
}

void chan_pop_only(struct chan *c)
{
	if (c->is_plain && !c->is_stalled)
		commit_pop(c, c->consumer->cycle + c->latency);
	else
		pop_slow(c);
}

/* Wakes the consumer for the next head, if that is visible. */
static inline void look_again(const struct chan *c)
{
	struct block *b = c->consumer;

	if (c->visible_cyc <= b->cycle)
		b->rearm_cyc = b->cycle + 1;
}

static __attribute__((noinline)) void pop_slow_and_look(struct chan *c)
{
	pop_slow(c);
	look_again(c);
}

void chan_pop(struct chan *c)
{
	if (c->is_plain && !c->is_stalled) {
		commit_pop(c, c->consumer->cycle + c->latency);
		look_again(c);
	} else {
		pop_slow_and_look(c);
	}
}

/* ---- waiting for credits, watching ---- */

uint64_t chan_stall(struct chan *c)
{
	struct block *p = c->producer;

	if (!c->is_stalled) {
		c->is_stalled = true;
		c->stall_from_ps = p->now_ps;
	}
	p->rearm_cyc = min_u64(p->rearm_cyc, c->credit_cyc); /* if that is on the way back */
	return CYCLE_NEVER;
}

void chan_attach(struct chan *c, struct chan_tap *t)
{
	t->next = c->taps;
	c->taps = t;
	c->is_plain = c->is_quiet = false;
}
