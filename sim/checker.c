/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checker.c - the rules of a channel, watched from outside with a copy of every message in it
 */
#include "sim/checker.h"

static void violate(struct checker *k, bool is_broken, const char *rule)
{
	if (is_broken && !k->violation)
		k->violation = rule;
}

static void checker_pushed(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct checker *k = (struct checker *)t;
	uint64_t slot = k->pushes % c->depth;

	violate(k, k->pushes - k->pops >= c->depth, "more messages than credits");
	memcpy(k->copies + slot * c->elem_size, msg, c->elem_size);
	k->pushed_ps[slot] = c->producer->now_ps;
	k->pushes++;
}

static void checker_popped(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct checker *k = (struct checker *)t;
	uint64_t slot = k->pops % c->depth;

	violate(k, k->pops == k->pushes, "a message that was never pushed");
	violate(k, memcmp(k->copies + slot * c->elem_size, msg, c->elem_size) != 0,
		"messages changed, lost or out of order");
	violate(k, c->consumer->now_ps <= k->pushed_ps[slot],
		"a message visible at the edge of its push");
	k->pops++;
}

struct checker *checker_attach(struct sim *s, struct chan *c)
{
	struct checker *k = sim_alloc(s, 1, sizeof(*k));

	k->chan = c;
	k->copies = sim_alloc(s, c->depth, c->elem_size);
	k->pushed_ps = sim_alloc(s, c->depth, sizeof(*k->pushed_ps));
	k->tap.pushed = checker_pushed;
	k->tap.popped = checker_popped;
	chan_attach(c, &k->tap);
	return k;
}

struct checker **checker_attach_all(struct sim *s)
{
	struct checker **all = sim_alloc(s, s->n_chans + 1, sizeof(struct checker *));

	for (uint32_t i = 0; i < s->n_chans; i++)
		all[i] = checker_attach(s, s->chans[i]);
	return all;
}

const char *checker_verdict(const struct checker *k)
{
	if (k->violation)
		return k->violation;
	return k->pushes - k->pops == k->chan->count ? NULL : "credits not conserved";
}
