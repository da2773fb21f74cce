/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chan.h - registered, credit-limited channel between two blocks
 *
 * A bounded FIFO of fixed-size messages with one producer and one consumer. A message pushed at cycle c
 * of the producer may be popped at the consumer's first edge at or after edge c + latency of the
 * producer's clock; the slot it frees may be reused likewise, latency cycles of the consumer later. As
 * latency >= 1, nothing done at an edge is visible at that edge, so blocks may be stepped in any order.
 * Full rate needs depth >= 2 x latency.
 *
 * A step first looks at everything (peek, can_push), then acts (pop, push): a refused step leaves no
 * trace. Wake-ups: a push wakes the consumer when its message becomes the visible head; a pop re-arms the
 * consumer for the next head; chan_stall() asks to be woken when the credit returns. So a step that leaves
 * a visible head unpopped must either return the cycle at which it wants to look again or have stalled on
 * an output.
 */
#ifndef SIM_CHAN_H
#define SIM_CHAN_H

#include <string.h>

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something attached to a channel from outside: checker, packet capture, wave. Called after the fact. */
struct chan_tap {
	void (*pushed)(struct chan_tap *t, const struct chan *c, const void *msg); /* may be NULL */
	void (*popped)(struct chan_tap *t, const struct chan *c, const void *msg); /* may be NULL */
	struct chan_tap *next;
};

struct chan {
	/* hot: one cache line */
	struct block *producer, *consumer;
	uint64_t
		visible_cyc; /* of the consumer: its oldest message is there; CYCLE_NEVER: it is empty */
	uint64_t credit_cyc;  /* of the producer: it may push again; CYCLE_NEVER: it is full */
	unsigned char *slots; /* depth x stride bytes: a time stamp, then the message */
	uint32_t head, tail;  /* byte offsets of the oldest message and of the slot to fill next */
	uint32_t end;         /* = depth x stride */
	uint32_t count;       /* messages */
	uint16_t stride;
	uint16_t latency; /* cycles: of the producer for messages, of the consumer for credits */
	bool is_quiet;    /* no tap, no stall pattern */
	bool is_plain;    /* the same, and one clock: the fast path */
	bool is_stalled;  /* producer was refused and is waiting */
	uint8_t in_bit;   /* its bit in consumer->in_pending */
	/* statistics */
	uint64_t pushes;
	uint64_t wait_cyc; /* cycles of the consumer that messages waited, visible, to be popped */
	/* cold */
	uint64_t stall_ps; /* time from a refusal to the next push */
	uint64_t stall_from_ps;
	uint32_t depth; /* messages */
	uint32_t elem_size;
	const char *type;             /* message name, e.g. "dma_req" */
	const char *name;             /* "nic0.dma_engine.xlate>nic0.mtt.req" */
	const struct field *out, *in; /* rows of the two ports */
	uint32_t index;
	enum stall stall_msg, stall_credit;
	struct rng rng, rng_credit; /* of the random stall patterns */
	uint64_t last_ready_cyc;
	struct chan_tap *taps;
};

/*
 * The time stamp of a slot: of an occupied one, the consumer's cycle at which its message becomes visible; of
 * an empty one, the producer's cycle at which its credit is back.
 */
static inline uint64_t *chan_stamp(const struct chan *c, uint32_t slot)
{
	return (uint64_t *)(void *)(c->slots + slot);
}
static inline void *chan_msg(const struct chan *c, uint32_t slot)
{
	return c->slots + slot + sizeof(uint64_t);
}
static inline uint32_t chan_next(const struct chan *c, uint32_t slot)
{
	return slot + c->stride == c->end ? 0 : slot + c->stride;
}

/* True when the producer may push at its current edge. Pure. */
static inline bool chan_can_push(const struct chan *c)
{
	return c->credit_cyc <= c->producer->cycle;
}

/*
 * The producer wants to push now and was refused: opens the stall (the next push closes it) and asks to be
 * woken when the credit returns. Always returns CYCLE_NEVER, so that a step may end with
 * `return chan_stall(out);`. Calling it again while stalled changes nothing.
 */
uint64_t chan_stall(struct chan *c);

/* Commit the message that was written to chan_msg(c, c->tail). The caller has checked chan_can_push(). */
void chan_pushed(struct chan *c);

/* Copy one message in. The caller has checked chan_can_push(). 'size' is that of the channel's messages. */
static inline void chan_push(struct chan *c, const void *msg, size_t size)
{
	memcpy(chan_msg(c, c->tail), msg, size);
	chan_pushed(c);
}

/* Commit what was written to chan_msg(c, c->tail) as the push of a later cycle. The caller has looked whether it may. */
void chan_pushed_ahead(struct chan *c, uint64_t cyc);

/*
 * Push what the producer would push at its later cycle 'cyc', so that it need not step for that. Until
 * then it pushes nothing else into 'c'. False, with nothing done, when that could be seen (a tap, a
 * stall pattern, an observer, the end of the run) or the channel is full: then push at 'cyc'. What
 * else belongs to that cycle is for the producer to do when it steps next.
 */
static inline bool chan_push_ahead(struct chan *c, const void *msg, size_t size, uint64_t cyc)
{
	const struct block *p = c->producer;

	if (!c->is_quiet || !p->sim->runs_ahead || c->is_stalled || !chan_can_push(c) ||
	    domain_edge(p->dom, cyc) > p->sim->until_ps)
		return false;
	memcpy(chan_msg(c, c->tail), msg, size);
	chan_pushed_ahead(c, cyc);
	return true;
}

/* True when chan_peek() finds a message. Pure. */
static inline bool chan_has(const struct chan *c)
{
	return c->visible_cyc <= c->consumer->cycle;
}

/* Oldest message if it is visible to the consumer at its current edge, else NULL. Valid until chan_pop(). */
static inline const void *chan_peek(const struct chan *c)
{
	return chan_has(c) ? chan_msg(c, c->head) : NULL;
}

/* Release the message last peeked and return its credit. */
void chan_pop(struct chan *c);

/*
 * The same for a step that itself returns when it wants to look at the next head, if that is visible: it is not
 * woken for it.
 */
void chan_pop_only(struct chan *c);

/* Attach 't' (kept by the caller, which outlives the run). Allowed before the run only. */
void chan_attach(struct chan *c, struct chan_tap *t);

/* Typed verbs, so that a wrong message type does not compile: <msg>_push, <msg>_push_ahead, <msg>_peek. */
#define CHAN_OF(msg) \
	static inline void msg##_push(struct chan *c, const struct msg *m) \
	{ \
		chan_push(c, m, sizeof(*m)); \
	} \
	static inline bool msg##_push_ahead(struct chan *c, const struct msg *m, uint64_t cyc) \
	{ \
		return chan_push_ahead(c, m, sizeof(*m), cyc); \
	} \
	static inline const struct msg *msg##_peek(const struct chan *c) \
	{ \
		return (const struct msg *)chan_peek(c); \
	}

#ifdef __cplusplus
}
#endif
#endif
