/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - hands the records of the trace to the hosts, as they are read
 *
 * No hardware: the program text that the CPUs run. One record a cycle, in file order, to the host
 * that it is for; records are held in slots (recs.h) until their last post, at most TRACE_WINDOW of
 * them, so the trace is read as far ahead as that. What was read before time 0 does not come this
 * way (setup.c). A mistake in the trace stops the run.
 */
#include "models/msg.h"
#include "models/verbs/setup.h"

struct feed {
	struct block b;
	/* ports */
	struct chan *rec[MAX_HOSTS];
	/* state */
	uint32_t held;   /* read, and refused by its host's channel; REC_NONE = none */
	bool is_starved; /* no room for another record */
	uint64_t starved_from_ps;
	/* statistics */
	uint64_t records, starved_ps;
};

#define T struct feed
static const struct field feed_fields[] = {
	PORT_OUT_N(T, rec, MAX_HOSTS, trace_rec, "records, a port for each host"),
	STAT(T, records, "rec", "records handed out"),
	STAT(T, starved_ps, "ps", "time with no room for another record"),
	SIGNAL(T, is_starved, 1, "no room for another record"), FIELDS_END
};
#undef T

static void feed_build(struct block *b)
{
	struct system *s = b->env;

	s->recs.feed = b;
}

static void feed_reset(struct block *b)
{
	struct feed *f = (struct feed *)b;

	f->held = REC_NONE;
	f->is_starved = false;
}

/* Read a record when there is room for it. */
static uint64_t read_one(struct feed *f, struct system *s)
{
	if (!recs_can_alloc(&s->recs, f->b.now_ps)) {
		if (!f->is_starved)
			f->starved_from_ps = f->b.now_ps;
		f->is_starved = s->recs.is_starved = true;
		/* a slot that came free at this very time stamp is good at the next cycle */
		return s->recs.in_use < s->recs.window ? f->b.cycle + 1 : CYCLE_NEVER;
	}
	if (f->is_starved)
		f->starved_ps += f->b.now_ps - f->starved_from_ps;
	f->is_starved = s->recs.is_starved = false;
	if (system_read(s, f->b.now_ps, &f->held) < 0)
		sim_stop(f->b.sim);
	return CYCLE_NEVER;
}

static uint64_t feed_step(struct block *b)
{
	struct feed *f = (struct feed *)b;
	struct system *s = b->env;
	uint64_t next = CYCLE_NEVER;
	struct chan *to;

	if (f->held == REC_NONE && !s->is_eof)
		next = read_one(f, s);
	if (f->held == REC_NONE)
		return next;
	to = f->rec[rec_at(&s->recs, f->held)->host];
	if (!chan_can_push(to))
		return chan_stall(to);
	trace_rec_push(to, &(struct trace_rec){ .rec = f->held });
	f->held = REC_NONE;
	f->records++;
	return s->is_eof ? CYCLE_NEVER : b->cycle + 1;
}

const struct block_class feed_class = {
	.name = "feed",
	.impl = "c",
	.size = sizeof(struct feed),
	.fields = feed_fields,
	.doc = "reads the trace and hands its records to the hosts",
	.build = feed_build,
	.reset = feed_reset,
	.step = feed_step,
};
