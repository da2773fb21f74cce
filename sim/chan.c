/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chan.c - the slow paths of a channel: two clocks, taps, stall patterns, stall times
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

void chan_pushed_slow(struct chan *c)
{
	struct block *p = c->producer;
	uint64_t extra = stall_cycles(c->stall_msg, c->pushes, &c->rng);
	uint64_t ready = other_cycle(p, c->consumer, p->cycle + c->latency + extra);
	const void *msg = chan_msg(c, c->tail);

	ready = max_u64(ready, c->last_ready_cyc); /* a stall holds back those behind it */
	c->last_ready_cyc = ready;
	*chan_stamp(c, c->tail) = ready;
	c->tail = chan_next(c, c->tail);
	if (c->count++ == 0) {
		c->consumer->in_pending |= 1ull << c->in_bit;
		block_wake(c->consumer, ready);
	}
	for (struct chan_tap *t = c->taps; t; t = t->next)
		if (t->pushed)
			t->pushed(t, c, msg);
}

void chan_popped_slow(struct chan *c)
{
	struct block *b = c->consumer;
	uint64_t extra = stall_cycles(c->stall_credit, c->pushes - c->count, &c->rng_credit);
	uint64_t back = other_cycle(b, c->producer, b->cycle + c->latency + extra);
	const void *msg = chan_msg(c, c->head);

	c->wait_cyc += b->cycle - *chan_stamp(c, c->head);
	*chan_stamp(c, c->head) = back;
	c->head = chan_next(c, c->head);
	if (--c->count == 0)
		b->in_pending &= ~(1ull << c->in_bit);
	else if (*chan_stamp(c, c->head) <= b->cycle)
		b->rearm_cyc = b->cycle + 1;
	if (c->is_stalled)
		block_wake(c->producer, back);
	for (struct chan_tap *t = c->taps; t; t = t->next)
		if (t->popped)
			t->popped(t, c, msg);
}

uint64_t chan_stall(struct chan *c)
{
	struct block *p = c->producer;

	if (!c->is_stalled) {
		c->is_stalled = true;
		c->stall_from_ps = p->now_ps;
	}
	if (c->count < c->depth) /* the slot is free, its credit on the way back */
		p->rearm_cyc = min_u64(p->rearm_cyc, *chan_stamp(c, c->tail));
	return CYCLE_NEVER;
}

void chan_stall_end(struct chan *c)
{
	c->is_stalled = false;
	c->stall_ps += c->producer->now_ps - c->stall_from_ps;
}

void chan_attach(struct chan *c, struct chan_tap *t)
{
	t->next = c->taps;
	c->taps = t;
	c->is_plain = false;
}
