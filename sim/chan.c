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
	if (c->count++ == 0) {
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

bool chan_push_ahead(struct chan *c, const void *msg, size_t size, uint64_t cyc)
{
	const struct block *p = c->producer;

	if (!c->is_quiet || !p->sim->runs_ahead || c->is_stalled || !chan_can_push(c) ||
	    domain_edge(p->dom, cyc) > p->sim->until_ps)
		return false;
	SIM_CHECK(cyc > p->cycle, p);
	memcpy(chan_msg(c, c->tail), msg, size);
	c->pushes++;
	commit_push(c, other_cycle(p, c->consumer, cyc + c->latency));
	return true;
}

/* ---- pop ---- */

/* The credit of the message in the head slot is back at the producer's cycle 'back'. */
static inline void commit_pop(struct chan *c, uint64_t back)
{
	struct block *b = c->consumer;
	uint64_t *stamp = chan_stamp(c, c->head);

	SIM_CHECK(c->count > 0 && *stamp <= b->cycle, b);
	c->wait_cyc += b->cycle - *stamp;
	*stamp = back;
	c->head = chan_next(c, c->head);
	if (--c->count == 0)
		b->in_pending &= ~(1ull << c->in_bit);
	if (c->is_stalled)
		block_wake(c->producer, back);
}

static __attribute__((noinline)) void pop_slow(struct chan *c)
{
	const struct block *b = c->consumer;
	const void *msg = chan_msg(c, c->head);
	uint64_t extra = stall_cycles(c->stall_credit, c->pushes - c->count, &c->rng_credit);

	commit_pop(c, other_cycle(b, c->producer, b->cycle + c->latency + extra));
	for (struct chan_tap *t = c->taps; t; t = t->next)
		if (t->popped)
			t->popped(t, c, msg);
}

static inline void pop(struct chan *c)
{
	if (c->is_plain)
		commit_pop(c, c->consumer->cycle + c->latency);
	else
		pop_slow(c);
}

void chan_pop(struct chan *c)
{
	struct block *b = c->consumer;

	pop(c);
	if (c->count && *chan_stamp(c, c->head) <= b->cycle)
		b->rearm_cyc = b->cycle + 1;
}

void chan_pop_only(struct chan *c)
{
	pop(c);
}

/* ---- waiting for credits, watching ---- */

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

void chan_attach(struct chan *c, struct chan_tap *t)
{
	t->next = c->taps;
	c->taps = t;
	c->is_plain = c->is_quiet = false;
}
