/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic_run.c - when a built scenario is over
 */
#include <string.h>

#include "models/rnic.h"

#define QUIET_SLICE_PS (10 * PS_PER_US)
#define QUIET_SLICES 10u

/* True when no channel holds a message: with sleeping off, the sign that a run may be over. */
static bool is_drained(const struct sim *s)
{
	for (uint32_t i = 0; i < s->n_chans; i++)
		if (s->chans[i]->count)
			return false;
	return true;
}

/* Every request is done, and no record is left that starts later. */
static bool is_done(const struct rnic *r)
{
	uint32_t host, qp;

	return r->system->is_eof && system_unfinished(r->system, &host, &qp) == 0 &&
	       is_drained(&r->sim) && !system_has_future(r->system, r->sim.now_ps);
}

/* What only grows when something gets done: a sender that is told to wait over and over does not count. */
static uint64_t progress(const struct sim *s)
{
	static const char *const stats[][2] = {
		{ "host_mem", "write_b" },
		{ "responder", "messages" },
		{ "cqe_writer", "cqes" },
	};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];

		for (size_t k = 0; k < ARRAY_LEN(stats); k++)
			if (strcmp(b->cls->name, stats[k][0]) == 0)
				sum += field_get(
					b, field_find(b->cls->fields, FIELD_STAT, stats[k][1]));
	}
	return sum;
}

/*
 * Run on, as long as something gets done in every stall_ps of simulated time: retries for ever would never leave
 * the run idle.
 */
static enum sim_end run_while_progress(struct rnic *r)
{
	struct sim *s = &r->sim;
	uint64_t limit = s->until_ps, mark = 0, before, after = 0;
	enum sim_end end;

	do {
		before = after;
		mark = r->stall_ps < limit - mark ? mark + r->stall_ps : limit;
		s->until_ps = mark;
		end = sim_run(s);
		after = progress(s);
		if (end != SIM_END_UNTIL || mark == limit)
			return end;
	} while (after != before || system_has_future(r->system, s->now_ps));
	return SIM_END_STOPPED;
}

enum sim_end rnic_run(struct rnic *r)
{
	struct sim *s = &r->sim;
	uint64_t limit = s->until_ps;
	enum sim_end end;

	if (!s->every_cycle)
		return run_while_progress(r);
	for (unsigned quiet = 0; quiet < QUIET_SLICES;) {
		s->until_ps = min_u64(limit, s->now_ps + QUIET_SLICE_PS);
		end = sim_run(s);
		if (end != SIM_END_UNTIL || s->until_ps == limit)
			return end;
		quiet = is_done(r) ? quiet + 1 : 0;
	}
	return SIM_END_IDLE;
}
