/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_chan.c - latency, credits, order and stall times of channels, within a clock and across two
 */
#include <stdio.h>

#include "testbench/tb.h"

struct word {
	uint64_t v;
};
CHAN_OF(word)

#define N_WORDS 3000u

/* Sends N_WORDS numbers as fast as it may, after random pauses; writes down when. */
struct sender {
	struct block b;
	struct chan *out;
	uint64_t sent, pause_until, at_ps[N_WORDS];
	uint64_t pauses; /* 1 in 'pauses' words is followed by a pause; 0 = none */
	uint64_t delay;  /* cycles from a word's making, to its push; 0 = none */
	bool is_made;
	uint64_t due_cyc;
};

struct taker {
	struct block b;
	struct chan *in;
	uint64_t taken, pause_until, at_ps[N_WORDS], wrong;
	uint64_t pauses;
};

#define T struct sender
static const struct field sender_fields[] = { PORT_OUT(T, out, word, "numbers"), FIELDS_END };
#undef T
#define T struct taker
static const struct field taker_fields[] = { PORT_IN(T, in, word, "numbers"), FIELDS_END };
#undef T

/* Words that are made 'delay' cycles before they are pushed: ahead, when that is possible. */
static uint64_t delayed_step(struct sender *s)
{
	if (!s->is_made) {
		s->due_cyc = s->b.cycle + s->delay;
		if (word_push_ahead(s->out, &(struct word){ s->sent }, s->due_cyc)) {
			s->sent++;
			return s->due_cyc + 1;
		}
		s->is_made = true;
	}
	if (s->b.cycle < s->due_cyc)
		return s->due_cyc;
	if (!chan_can_push(s->out))
		return chan_stall(s->out);
	word_push(s->out, &(struct word){ s->sent++ });
	s->is_made = false;
	return s->b.cycle + 1;
}

static uint64_t sender_step(struct block *b)
{
	struct sender *s = (struct sender *)b;

	if (s->sent == N_WORDS)
		return CYCLE_NEVER;
	if (s->delay)
		return delayed_step(s);
	if (b->cycle < s->pause_until)
		return s->pause_until;
	if (!chan_can_push(s->out))
		return chan_stall(s->out);
	s->at_ps[s->sent] = b->now_ps;
	word_push(s->out, &(struct word){ s->sent++ });
	s->pause_until = b->cycle + 1;
	if (s->pauses && rng_below(&b->rng, s->pauses) == 0)
		s->pause_until += rng_below(&b->rng, 50);
	return s->pause_until;
}

static uint64_t taker_step(struct block *b)
{
	struct taker *t = (struct taker *)b;
	const struct word *w = word_peek(t->in);

	if (!w)
		return CYCLE_NEVER;
	if (b->cycle < t->pause_until)
		return t->pause_until;
	t->wrong += w->v != t->taken;
	t->at_ps[t->taken++] = b->now_ps;
	chan_pop(t->in);
	t->pause_until = b->cycle + 1;
	if (t->pauses && rng_below(&b->rng, t->pauses) == 0)
		t->pause_until += rng_below(&b->rng, 50);
	return t->pause_until;
}

static const struct block_class sender_class = { .name = "sender",
						 .impl = "c",
						 .size = sizeof(struct sender),
						 .fields = sender_fields,
						 .step = sender_step };
static const struct block_class taker_class = { .name = "taker",
						.impl = "c",
						.size = sizeof(struct taker),
						.fields = taker_fields,
						.step = taker_step };
static const struct block_class *const classes[] = { &sender_class, &taker_class, NULL };

struct pair {
	struct sim sim;
	struct config cfg;
	struct sender *s;
	struct taker *t;
	struct chan *c;
	struct checker *k;
};

static void pair_init(struct pair *p, uint64_t hz_s, uint64_t hz_t, uint32_t depth,
		      uint32_t latency, const char *set)
{
	struct err e = { 0 };

	config_init(&p->cfg);
	if (set)
		CU_ASSERT_TRUE_FATAL(config_set(&p->cfg, set, &e));
	sim_init(&p->sim, 5);
	p->s = (struct sender *)netlist_add(&p->sim, classes, "sender", "s", &p->cfg, hz_s, NULL,
					    &e);
	p->t = (struct taker *)netlist_add(&p->sim, classes, "taker", "t", &p->cfg, hz_t, NULL, &e);
	p->c = netlist_connect(&p->sim, &p->s->b, "out", &p->t->b, "in", depth, latency);
}

static void pair_run(struct pair *p)
{
	struct err e = { 0 };

	CU_ASSERT_TRUE_FATAL(netlist_finish(&p->sim, &e));
	CU_ASSERT_EQUAL(sim_run(&p->sim), SIM_END_IDLE);
	CU_ASSERT_EQUAL(p->t->taken, N_WORDS);
	CU_ASSERT_EQUAL(p->t->wrong, 0);
}

static void pair_end(struct pair *p)
{
	sim_destroy(&p->sim);
	config_destroy(&p->cfg);
}

static void chan_latency_is_exact_and_depth_twice_latency_runs_at_full_rate(void)
{
	for (uint32_t latency = 1; latency <= 5; latency++) {
		struct pair p;

		pair_init(&p, 250000000, 250000000, 2 * latency, latency, NULL);
		pair_run(&p);
		for (uint32_t i = 0; i < N_WORDS; i++) {
			CU_ASSERT_EQUAL(p.s->at_ps[i], i * 4000ull);
			CU_ASSERT_EQUAL(p.t->at_ps[i], (i + latency) * 4000ull);
		}
		CU_ASSERT_EQUAL(p.c->stall_ps, 0);
		pair_end(&p);
	}
}

/* One slot: a word every 2 x latency cycles; the producer is stalled all the time between. */
static void chan_single_slot_is_a_credit_loop(void)
{
	struct pair p;

	pair_init(&p, 250000000, 250000000, 1, 3, NULL);
	pair_run(&p);
	CU_ASSERT_EQUAL(p.s->at_ps[N_WORDS - 1], (N_WORDS - 1) * 6 * 4000ull);
	CU_ASSERT_EQUAL(p.c->stall_ps, (N_WORDS - 1) * 5 * 4000ull);
	pair_end(&p);
}

/* Visible at the consumer's first edge at or after the producer's edge push + latency. */
static void chan_two_clocks_visible_at_first_edge(void)
{
	static const uint64_t hz[] = { 250000000, 322265625, 1000000000, 333333333, 27000000 };

	for (size_t i = 0; i < ARRAY_LEN(hz); i++) {
		for (size_t j = 0; j < ARRAY_LEN(hz); j++) {
			struct pair p;

			pair_init(&p, hz[i], hz[j], 4096, 2, NULL);
			p.s->pauses = 2;
			pair_run(&p);
			for (uint32_t n = 1; n < N_WORDS; n++) {
				const struct domain *ds = p.s->b.dom, *dt = p.t->b.dom;
				uint64_t push = domain_cycle_at(ds, p.s->at_ps[n]);
				uint64_t ready = domain_cycle_at(dt, domain_edge(ds, push + 2));
				uint64_t after = domain_cycle_at(dt, p.t->at_ps[n - 1]) + 1;

				CU_ASSERT_EQUAL(p.t->at_ps[n],
						domain_edge(dt, max_u64(ready, after)));
			}
			pair_end(&p);
		}
	}
}

/* Random pauses at both ends, any depth, both clocks, every order: the same times at both ends. */
static void chan_step_order_changes_nothing(void)
{
	for (uint32_t depth = 1; depth <= 7; depth++) {
		for (unsigned clocks = 0; clocks < 2; clocks++) {
			struct pair p[4];

			for (unsigned k = 0; k < 4; k++) {
				pair_init(&p[k], 250000000, clocks ? 322265625 : 250000000, depth,
					  1 + depth % 3, NULL);
				p[k].s->pauses = 7;
				p[k].t->pauses = 5;
				p[k].sim.order = (enum step_order)(k % 3);
				p[k].sim.every_cycle = k == 3;
				if (k == 3) /* awake at every edge: ends by limit, not by itself */
					p[k].sim.until_ps = p[0].sim.now_ps + PS_PER_US;
				if (k < 3) {
					pair_run(&p[k]);
				} else {
					struct err e = { 0 };

					CU_ASSERT_TRUE_FATAL(netlist_finish(&p[k].sim, &e));
					CU_ASSERT_EQUAL(sim_run(&p[k].sim), SIM_END_IDLE);
				}
				CU_ASSERT_EQUAL(
					memcmp(p[k].s->at_ps, p[0].s->at_ps, sizeof(p[0].s->at_ps)),
					0);
				CU_ASSERT_EQUAL(
					memcmp(p[k].t->at_ps, p[0].t->at_ps, sizeof(p[0].t->at_ps)),
					0);
				CU_ASSERT_EQUAL(p[k].c->stall_ps, p[0].c->stall_ps);
				CU_ASSERT_EQUAL(p[k].c->wait_cyc, p[0].c->wait_cyc);
			}
			for (unsigned k = 0; k < 4; k++)
				pair_end(&p[k]);
		}
	}
}

static void chan_stall_patterns_change_times_not_order(void)
{
	static const char *const sets[] = { "s.stall_out=alternate", "s.stall_out=random",
					    "s.stall_out=long",      "t.stall_in=alternate",
					    "t.stall_in=random",     "t.stall_in=long" };
	struct pair plain;

	pair_init(&plain, 250000000, 250000000, 4, 1, NULL);
	pair_run(&plain);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		struct pair p;

		pair_init(&p, 250000000, 250000000, 4, 1, sets[i]);
		p.k = checker_attach(&p.sim, p.c);
		pair_run(&p);
		CU_ASSERT_PTR_NULL(checker_verdict(p.k));
		CU_ASSERT_TRUE(p.t->at_ps[N_WORDS - 1] > plain.t->at_ps[N_WORDS - 1]);
		pair_end(&p);
	}
	pair_end(&plain);
}

/* A checker must see a message changed, a message too many, and a credit gone. */
static void checker_faults_are_caught(void)
{
	for (unsigned fault = 0; fault < 3; fault++) {
		struct pair p;

		pair_init(&p, 250000000, 250000000, 4, 1, NULL);
		p.k = checker_attach(&p.sim, p.c);
		if (fault == 0) {
			struct err e = { 0 };

			CU_ASSERT_TRUE_FATAL(netlist_finish(&p.sim, &e));
			p.sim.until_ps = 4000;
			sim_run(&p.sim);
			((struct word *)chan_msg(p.c, p.c->head))->v ^= 1;
			p.sim.until_ps = TIME_NEVER;
			sim_run(&p.sim);
		} else {
			pair_run(&p);
			if (fault == 1)
				p.k->pops++;
			else
				p.c->count++;
		}
		CU_ASSERT_PTR_NOT_NULL(checker_verdict(p.k));
		pair_end(&p);
	}
}

/* With a tap, which would see it, nothing is pushed ahead: the same times, in more steps. */
static void chan_pushed_ahead_arrives_when_it_would(void)
{
	static struct chan_tap tap;
	static const uint32_t depths[] = { 1, 2, 16 };

	for (uint32_t i = 0; i < ARRAY_LEN(depths) * 2; i++) {
		struct pair p[2];

		for (uint32_t k = 0; k < 2; k++) {
			pair_init(&p[k], 250000000, i & 1 ? 322265625 : 250000000, depths[i / 2], 2,
				  NULL);
			p[k].s->delay = 3;
			p[k].t->pauses = 4;
			if (k)
				chan_attach(p[k].c, &tap);
			pair_run(&p[k]);
		}
		CU_ASSERT_EQUAL(memcmp(p[0].t->at_ps, p[1].t->at_ps, sizeof(p[0].t->at_ps)), 0);
		CU_ASSERT_EQUAL(p[0].c->wait_cyc, p[1].c->wait_cyc);
		CU_ASSERT_EQUAL(p[0].c->stall_ps, p[1].c->stall_ps);
		CU_ASSERT_TRUE(p[0].sim.steps < p[1].sim.steps);
		pair_end(&p[0]);
		pair_end(&p[1]);
	}
}

/* What lies behind the time limit of a run is not pushed in it. */
static void chan_push_ahead_stays_within_the_run(void)
{
	struct pair p;
	struct err e = { 0 };

	pair_init(&p, 250000000, 250000000, 16, 1, NULL);
	p.s->delay = 3;
	CU_ASSERT_TRUE_FATAL(netlist_finish(&p.sim, &e));
	p.sim.until_ps = 11999;
	CU_ASSERT_EQUAL(sim_run(&p.sim), SIM_END_UNTIL);
	CU_ASSERT_EQUAL(p.c->pushes, 0);
	p.sim.until_ps = 12000;
	sim_run(&p.sim);
	CU_ASSERT_EQUAL(p.c->pushes, 1);
	CU_ASSERT_EQUAL(p.t->taken, 0);
	pair_end(&p);
}

CU_TestInfo test_chan_tests[] = {
	{ "chan_latency_is_exact_and_depth_twice_latency_runs_at_full_rate",
	  chan_latency_is_exact_and_depth_twice_latency_runs_at_full_rate },
	{ "chan_single_slot_is_a_credit_loop", chan_single_slot_is_a_credit_loop },
	{ "chan_two_clocks_visible_at_first_edge", chan_two_clocks_visible_at_first_edge },
	{ "chan_step_order_changes_nothing", chan_step_order_changes_nothing },
	{ "chan_stall_patterns_change_times_not_order",
	  chan_stall_patterns_change_times_not_order },
	{ "chan_pushed_ahead_arrives_when_it_would", chan_pushed_ahead_arrives_when_it_would },
	{ "chan_push_ahead_stays_within_the_run", chan_push_ahead_stays_within_the_run },
	{ "checker_faults_are_caught", checker_faults_are_caught },
	CU_TEST_INFO_NULL,
};
