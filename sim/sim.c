/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.c - the run loop over clock domains, and what a net-list owns
 */
#include "sim/sim.h"

#include <stdlib.h>

#include "sim/pool.h"

#define PROGRESS_STEPS (1ull << 18)

void sim_init(struct sim *s, uint64_t seed)
{
	*s = (struct sim){ .until_ps = TIME_NEVER, .seed = seed };
	rng_seed(&s->order_rng, "step order", seed);
}

void sim_destroy(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (s->blocks[i]->cls->destroy)
			s->blocks[i]->cls->destroy(s->blocks[i]);
	for (uint32_t i = 0; i < s->n_domains; i++) {
		free(s->domains[i]->soon);
		free(s->domains[i]->other);
		free(s->domains[i]);
	}
	arena_destroy(&s->arena);
	free(s->blocks);
	free(s->chans);
	free(s->pools);
	*s = (struct sim){ 0 };
}

void *sim_alloc(struct sim *s, size_t n, size_t size)
{
	size_t bytes;

	SIM_CHECK(!__builtin_mul_overflow(n, size, &bytes), NULL);
	return arena_alloc(&s->arena, bytes);
}

void *block_alloc(struct block *b, size_t n, size_t size)
{
	return sim_alloc(b->sim, n, size);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	return b ? gcd(b, a % b) : a;
}

struct domain *sim_domain(struct sim *s, uint64_t hz)
{
	struct domain *d;
	uint64_t g;

	for (uint32_t i = 0; i < s->n_domains; i++)
		if (s->domains[i]->hz == hz)
			return s->domains[i];
	SIM_CHECK(s->n_domains < SIM_MAX_DOMAINS && hz >= 1 && hz <= PS_PER_S, NULL);
	d = x_calloc(1, sizeof(*d));
	d->hz = hz;
	g = gcd(PS_PER_S, hz);
	d->period_num = PS_PER_S / g;
	d->period_den = hz / g;
	d->period_q = d->period_num / d->period_den;
	d->period_r = d->period_num % d->period_den;
	d->inv_num = UINT64_MAX / d->period_num;
	d->inv_den = UINT64_MAX / d->period_den;
	d->next_cyc = d->soon_cyc = CYCLE_NEVER;
	d->next_ps = TIME_NEVER;
	d->sim = s;
	return s->domains[s->n_domains++] = d;
}

static struct domain *earliest(const struct sim *s)
{
	struct domain *first = s->domains[0];
	uint64_t at = first->next_ps;

	for (uint32_t i = 1; i < s->n_domains; i++) {
		struct domain *d = s->domains[i];

		first = d->next_ps < at ? d : first;
		at = min_u64(at, d->next_ps);
	}
	return first;
}

uint64_t sim_next_ps(const struct sim *s)
{
	return earliest(s)->next_ps;
}

static struct domain *earliest_tick(const struct sim *s)
{
	struct domain *d = s->domains[0];

	for (uint32_t i = 1; i < s->n_domains; i++)
		if (s->domains[i]->tick_ps < d->tick_ps)
			d = s->domains[i];
	return d;
}

/* Nothing of this time stamp is left, and the next wake-up is at 'next_ps': does time go on? */
static enum sim_end next_time(struct sim *s, uint64_t next_ps)
{
	if (s->observer)
		s->observer->time_done(s->observer, s->now_ps);
	if (s->stop)
		return SIM_END_STOPPED;
	if (next_ps == TIME_NEVER)
		return SIM_END_IDLE;
	return next_ps > s->until_ps ? SIM_END_UNTIL : SIM_END_RUNNING;
}

enum sim_end sim_run(struct sim *s)
{
	uint64_t report_at = s->progress ? s->steps + PROGRESS_STEPS : UINT64_MAX;
	enum sim_end end = SIM_END_RUNNING;
	bool every_cycle = s->every_cycle;

	SIM_CHECK(s->n_domains > 0, NULL);
	s->runs_ahead = !s->observer && !s->every_cycle && !block_events_on;
	for (uint32_t i = 0; i < s->n_domains; i++)
		domain_reserve(s->domains[i], s->n_blocks);
	while (end == SIM_END_RUNNING) {
		struct domain *d = every_cycle ? earliest_tick(s) : earliest(s);
		uint64_t at = every_cycle ? d->tick_ps : d->next_ps;

		if (at > s->now_ps)
			end = next_time(s, every_cycle ? sim_next_ps(s) : at);
		if (end != SIM_END_RUNNING)
			break;
		s->now_ps = at;
		if (every_cycle)
			domain_run_tick(d);
		else
			domain_run_edge(d);
		if (s->steps >= report_at && s->progress) {
			s->progress(s, s->progress_arg);
			report_at = s->steps + PROGRESS_STEPS;
		}
	}
	return end;
}
